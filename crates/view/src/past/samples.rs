//! Whole samples in a ring of bounded size, for tables of an earlier time.
//!
//! A sample of many processes is mostly names. These are kept once, as columns; a sample keeps its numbers.
//! Successive samples with the same instances share their list of columns, too.

use crate::sample::{Sample, Value};
use perfhive_engine::{Identity, NoValue};
use perfhive_format::{CookedValue, FileTime};
use std::collections::{HashMap, VecDeque};

/// The bytes that default [`Samples`] take at most, unless the newest sample alone takes more:
/// enough for 20 minutes of 500 processes with five counters at one sample a second, while
/// processes come and go.
pub const MOST_SAMPLE_BYTES: usize = 32 << 20;

/// Past samples in a ring of bounded size, which can be read again.
#[derive(Clone, Debug)]
pub struct Samples {
    kept: VecDeque<Kept>,
    /// The lists of columns, in the order of the samples. Successive samples with the same columns share a list.
    lists: VecDeque<List>,
    columns: Vec<Option<Column>>,
    free: Vec<u32>,
    places: HashMap<Key, u32>,
    bytes: usize,
    most_bytes: usize,
}

/// The numbers of one sample.
#[derive(Clone, Debug)]
struct Kept {
    time: FileTime,
    /// The values in the order of the list of columns; NaN where there is no value.
    numbers: Box<[f64]>,
    /// The reasons why values are missing, each with the place of its value in `numbers`.
    reasons: Box<[(u32, NoValue)]>,
}

/// The columns, by number, that some successive samples have in common; `samples` is how many samples these are.
#[derive(Clone, Debug)]
struct List {
    columns: Box<[u32]>,
    samples: usize,
}

/// The path, names and instance that all values of one counter of one instance share.
#[derive(Clone, Debug)]
struct Column {
    /// A value of the column with all but its number, in place of which it has an error.
    value: Value,
    /// How many of [`Samples::lists`] name the column.
    lists: usize,
}

/// The addresses of the path and of the names, which all values of a counter share, and the instance.
type Key = (usize, usize, Option<Identity>);

fn key(value: &Value) -> Key {
    let path = value.path.as_ptr() as usize;
    (path, std::sync::Arc::as_ptr(&value.what) as usize, value.identity.clone())
}

impl Default for Samples {
    fn default() -> Self {
        Self::new(MOST_SAMPLE_BYTES)
    }
}

impl Samples {
    /// An empty ring that takes at most `most_bytes` bytes. The newest sample is kept, however
    /// large it is.
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            lists: VecDeque::new(),
            columns: Vec::new(),
            free: Vec::new(),
            places: HashMap::new(),
            bytes: 0,
            most_bytes,
        }
    }

    /// Adds a sample under a time, which is later than that of the sample before. Instances that have ended are
    /// left out.
    pub fn note(&mut self, time: FileTime, sample: &Sample) {
        let mut columns = Vec::with_capacity(sample.values.len());
        let mut numbers = Vec::with_capacity(sample.values.len());
        let mut reasons = Vec::new();
        for value in &sample.values {
            if matches!(value.value, Err(NoValue::Vanished)) {
                continue;
            }
            columns.push(self.column(value));
            match &value.value {
                Ok(value) => numbers.push(value.as_f64()),
                Err(why) => {
                    reasons.push((numbers.len() as u32, why.clone()));
                    numbers.push(f64::NAN);
                }
            }
        }
        match self.lists.back_mut() {
            Some(list) if *list.columns == *columns => list.samples += 1,
            _ => {
                for number in &columns {
                    if let Some(Some(column)) = self.columns.get_mut(*number as usize) {
                        column.lists += 1;
                    }
                }
                let list = List { columns: columns.into(), samples: 1 };
                self.bytes += list.bytes();
                self.lists.push_back(list);
            }
        }
        let kept = Kept { time, numbers: numbers.into(), reasons: reasons.into() };
        self.bytes += kept.bytes();
        self.kept.push_back(kept);
        while self.bytes > self.most_bytes && self.kept.len() > 1 {
            self.drop_oldest();
        }
    }

    /// The number of the column for a value. A value without a column gets a new one, and so does a
    /// value with another name, text, role or process than its column.
    fn column(&mut self, value: &Value) -> u32 {
        let key = key(value);
        let is_same = |column: &Column| {
            let known = &column.value;
            known.instance == value.instance
                && known.text == value.text
                && known.role == value.role
                && known.process == value.process
        };
        if let Some(number) = self.places.get(&key)
            && let Some(Some(column)) = self.columns.get(*number as usize)
            && is_same(column)
        {
            return *number;
        }
        let value = Value { value: Err(NoValue::NeedsTwoSamples), ..value.clone() };
        let column = Column { value, lists: 0 };
        self.bytes += column.bytes();
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.columns.push(None);
                (self.columns.len() - 1) as u32
            }
        };
        if let Some(place) = self.columns.get_mut(number as usize) {
            *place = Some(column);
        }
        self.places.insert(key, number);
        number
    }

    /// Removes the oldest sample, and the lists and columns that only it used.
    fn drop_oldest(&mut self) {
        let Some(kept) = self.kept.pop_front() else { return };
        self.bytes -= kept.bytes();
        let Some(list) = self.lists.front_mut() else { return };
        list.samples -= 1;
        if list.samples > 0 {
            return;
        }
        let Some(list) = self.lists.pop_front() else { return };
        self.bytes -= list.bytes();
        for number in list.columns {
            let Some(place) = self.columns.get_mut(number as usize) else { continue };
            let Some(column) = place else { continue };
            column.lists -= 1;
            if column.lists == 0 {
                self.bytes -= column.bytes();
                let key = key(&column.value);
                *place = None;
                self.free.push(number);
                if self.places.get(&key) == Some(&number) {
                    self.places.remove(&key);
                }
            }
        }
    }

    /// The sample of exactly this time, with whole numbers as floats; `None` if the ring does not
    /// have it.
    #[must_use]
    pub fn at(&self, time: FileTime) -> Option<Sample> {
        let place = self.kept.partition_point(|kept| kept.time < time);
        let kept = self.kept.get(place).filter(|kept| kept.time == time)?;
        let mut before = 0;
        let list = self.lists.iter().find(|list| {
            before += list.samples;
            place < before
        })?;
        let mut reasons = kept.reasons.iter().peekable();
        let mut values = Vec::with_capacity(kept.numbers.len());
        for (place, (number, column)) in kept.numbers.iter().zip(&list.columns).enumerate() {
            let reason = reasons.next_if(|(of, _)| *of as usize == place);
            let Some(Some(column)) = self.columns.get(*column as usize) else { continue };
            let value = reason.map_or(Ok(CookedValue::Float(*number)), |(_, why)| Err(why.clone()));
            values.push(Value { value, ..column.value.clone() });
        }
        Some(Sample { time, values })
    }

    /// The time of the oldest sample that is kept; `None` if there is none.
    #[must_use]
    pub fn oldest(&self) -> Option<FileTime> {
        self.kept.front().map(|kept| kept.time)
    }

    /// The bytes, the columns in use, and the columns that can be found.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize, usize) {
        (self.bytes, self.columns.iter().flatten().count(), self.places.len())
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        *self = Self::new(self.most_bytes);
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.numbers) + size_of_val(&*self.reasons)
    }
}

impl List {
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.columns)
    }
}

impl Column {
    /// The bytes of the column and of its entry in the map, with the texts that may be its own.
    fn bytes(&self) -> usize {
        let label = self.value.instance.as_ref();
        let name = label.map_or(0, |label| {
            label.name.len() + label.parent.as_ref().map_or(0, |parent| parent.len())
        });
        let text = self.value.text.as_ref().map_or(0, String::len);
        size_of::<Self>() + size_of::<Key>() + 2 * name + text + size_of::<usize>()
    }
}
