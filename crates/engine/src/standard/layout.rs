//! Templates of an object for the counters that are there at the moment.

use super::Object;
use crate::error::ProviderError;
use crate::provider::ObjectWriter;
use perfhive_format::{CounterSpec, CounterType, FileTime, ObjectTemplate, WriteError};

/// Most counters that an object may have, bases included.
pub const MOST: usize = 64;

/// Templates by the counters in them: which fields a kernel tells, and which
/// counters are asked for, seldom changes between two collections.
#[derive(Debug)]
pub struct Layouts {
    object: &'static Object,
    made: Vec<(u64, ObjectTemplate)>,
    tells_absent: bool,
}

/// The most templates that are kept: more different sets of counters than ever come up
/// together.
const KEPT: usize = 16;

impl Layouts {
    /// No templates so far.
    #[must_use]
    pub fn new(object: &'static Object) -> Self {
        Self { object, made: Vec::new(), tells_absent: false }
    }

    /// The same layouts with [`CounterType::ABSENT_VALUES`] behind the counters, for instances
    /// that lack the values of any of them.
    #[must_use]
    pub fn telling_absent(mut self) -> Self {
        self.tells_absent = true;
        self
    }

    /// The template with the counters at the set bits of `mask`, as places in
    /// the object's table.
    ///
    /// # Errors
    /// Where the table makes no template, which is a mistake in it.
    pub fn template(&mut self, mask: u64) -> Result<&ObjectTemplate, ProviderError> {
        let place = match self.made.iter().position(|(made, _)| *made == mask) {
            Some(place) => place,
            None => {
                let template = self.make(mask)?;
                if self.made.len() >= KEPT {
                    self.made.clear();
                }
                self.made.push((mask, template));
                self.made.len() - 1
            }
        };
        match self.made.get(place) {
            Some((_, template)) => Ok(template),
            None => Err(ProviderError::Failed("no template".to_string())),
        }
    }

    fn make(&self, mask: u64) -> Result<ObjectTemplate, WriteError> {
        let mut counters: Vec<_> = (0..)
            .zip(self.object.counters)
            .filter(|(place, _)| mask & (1 << place) != 0)
            .map(|(_, counter)| counter.spec())
            .collect();
        if let Some(last) = counters.last().filter(|_| self.tells_absent) {
            // As that of a base, its name is the one of the counter before.
            counters.push(CounterSpec::new(last.name, CounterType::ABSENT_VALUES).help(last.help));
        }
        ObjectTemplate::new(&self.object.spec(), &counters)
    }
}

/// The values of one instance by counter, in the order of the object's table; a counter may be
/// without a value.
#[derive(Debug)]
pub struct CounterValues {
    object: &'static Object,
    values: [u64; MOST],
    mask: u64,
}

impl CounterValues {
    /// A row without values.
    #[must_use]
    pub fn new(object: &'static Object) -> Self {
        Self { object, values: [0; MOST], mask: 0 }
    }

    /// The object that the values are of.
    #[must_use]
    pub fn object(&self) -> &'static Object {
        self.object
    }

    /// Forgets every value.
    pub fn clear(&mut self) {
        self.mask = 0;
    }

    /// Sets the value of a counter.
    pub fn set(&mut self, counter: u32, value: u64) {
        if let Some(place) = self.object.place(counter) {
            self.put(place, value);
        }
    }

    /// Sets the value of a counter, if there is one.
    pub fn set_some(&mut self, counter: u32, value: Option<u64>) {
        if let Some(value) = value {
            self.set(counter, value);
        }
    }

    /// Sets the values of a counter and of the base behind it.
    pub fn set_with_base(&mut self, counter: u32, value: u64, base: u64) {
        if let Some(place) = self.object.place(counter) {
            self.put(place, value);
            self.put(place + 1, base);
        }
    }

    fn put(&mut self, place: usize, value: u64) {
        if let (Some(slot), Some(counter)) =
            (self.values.get_mut(place), self.object.counters.get(place))
        {
            *slot = counter.fit(value);
            self.mask |= 1 << place;
        }
    }

    /// The places of the counters that have a value, as set bits.
    #[must_use]
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// The values of the counters in `mask`, one after the other, up to the first counter
    /// without a value.
    #[must_use]
    pub fn values<'a>(&self, mask: u64, out: &'a mut [u64; MOST]) -> &'a [u64] {
        let mut count = 0;
        for (place, value) in self.values.iter().enumerate() {
            if mask & (1 << place) == 0 {
                continue;
            }
            if self.mask & (1 << place) == 0 {
                break;
            }
            if let Some(slot) = out.get_mut(count) {
                *slot = *value;
                count += 1;
            }
        }
        out.get(..count).unwrap_or_default()
    }
}

/// Writes an object without instances, with the counters that have a value.
///
/// # Errors
/// Where the block is full.
pub fn write_single(
    layouts: &mut Layouts,
    row: &CounterValues,
    clock: Option<FileTime>,
    out: &mut ObjectWriter<'_>,
) -> Result<(), ProviderError> {
    let mut object = out.object(layouts.template(row.mask())?)?;
    if let Some(clock) = clock {
        object = object.clock(clock.0, FileTime::PER_SECOND);
    }
    let mut values = [0; MOST];
    object.values(row.values(row.mask(), &mut values))?.finish()?;
    Ok(())
}
