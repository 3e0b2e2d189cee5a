//! [`InstanceReader`]: counters of one instance without a data block.

use crate::query::NoValue;
use perfhive_format::RawSample;
use std::time::Duration;

/// Reads counters of one instance of a live source.
///
/// A data block carries definitions, names and identities, which a reader of a few counters of one
/// known instance does not need: at an event of a program, or a hundred times a second, they cost more
/// than the values. [`Source::instance_reader`](crate::Source::instance_reader) makes one.
pub trait InstanceReader: Send {
    /// Reads the counters, in the order in which they were asked for: the same raw data that a block
    /// has. `None` is a counter that has no value now. Returns how far apart at most the moment of a value that rates are
    /// made of and that of its clocks were: over a time that is not long beside it there is no rate.
    ///
    /// Once warm it should not allocate. What `out` holds after an error has no meaning.
    ///
    /// # Errors
    /// [`NoValue::Vanished`] if the instance is gone; it does not come back. Any other reason if it
    /// could not be read this time.
    fn read(&mut self, out: &mut [Option<RawSample>]) -> Result<Duration, NoValue>;
}
