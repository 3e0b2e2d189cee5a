//! Templates of an object for different sets of its counters.

use super::Object;
use crate::error::ProviderError;
use crate::provider::ObjectWriter;
use perfhive_format::{CounterSpec, CounterType, FileTime, ObjectTemplate, WriteError};

/// The largest number of counters that an object may have, bases included.
pub const MOST: usize = 64;

/// The templates of an object: one for each set of its counters, made when it is first needed. The set
/// depends on the fields that the kernel has and on the counters that are asked for; it seldom
/// changes between two collections.
#[derive(Debug)]
pub struct Layouts {
    object: &'static Object,
    made: Vec<(u64, ObjectTemplate)>,
    tells_absent: bool,
}

/// The largest number of templates that are kept. When one more is needed, all are dropped. In
/// practice there are fewer sets of counters.
const KEPT: usize = 16;

impl Layouts {
    /// An empty set of templates of `object`.
    #[must_use]
    pub fn new(object: &'static Object) -> Self {
        Self { object, made: Vec::new(), tells_absent: false }
    }

    /// The same templates with one more counter behind the others, of type
    /// [`CounterType::ABSENT_VALUES`]. In each instance, this counter marks the counters without a
    /// value.
    #[must_use]
    pub fn telling_absent(mut self) -> Self {
        self.tells_absent = true;
        self
    }

    /// The template with the counters that `mask` has a bit for: bit N is that of the counter with
    /// the index N in the object's table.
    ///
    /// # Errors
    /// If no template can be made of the table, which is a mistake in the table.
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
            // Like a base, it has the name of the counter before it.
            counters.push(CounterSpec::new(last.name, CounterType::ABSENT_VALUES).help(last.help));
        }
        ObjectTemplate::new(&self.object.spec(), &counters)
    }
}

/// The values of one instance, or of an object without instances: one place for each counter of the
/// object's table. A place may be empty.
#[derive(Debug)]
pub struct CounterValues {
    object: &'static Object,
    values: [u64; MOST],
    mask: u64,
}

impl CounterValues {
    /// A set of values for `object`, in which no counter has a value.
    #[must_use]
    pub fn new(object: &'static Object) -> Self {
        Self { object, values: [0; MOST], mask: 0 }
    }

    /// The object to which the values belong.
    #[must_use]
    pub fn object(&self) -> &'static Object {
        self.object
    }

    /// Removes every value.
    pub fn clear(&mut self) {
        self.mask = 0;
    }

    /// Sets the value of a counter, which is found by the title index of its name; a value that is
    /// too large is [fitted](super::Counter::fit). A counter that the object's table lacks is
    /// ignored.
    pub fn set(&mut self, counter: u32, value: u64) {
        if let Some(place) = self.object.place(counter) {
            self.put(place, value);
        }
    }

    /// Sets the value of a counter; for `None`, the counter stays as it is.
    pub fn set_some(&mut self, counter: u32, value: Option<u64>) {
        if let Some(value) = value {
            self.set(counter, value);
        }
    }

    /// Sets the value of a counter, as [`set`](Self::set) does, and that of its base, the next row
    /// of the table, to `base`.
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

    /// A mask of the counters that have a value: bit N is set for the counter with the index N in
    /// the object's table.
    #[must_use]
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Puts the values of the counters that `mask` has a bit for into `out`, one after the other,
    /// and returns the filled part of `out`. The part ends before the first of these counters
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

/// Writes an object without instances, with only those counters that have a value. `clock` becomes
/// the object's clock, which is 0 with `None`. Counters without a value are left out of the
/// definition.
///
/// # Errors
/// [`ProviderError::Full`] if the block would exceed its limit; the error of [`Layouts::template`].
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
