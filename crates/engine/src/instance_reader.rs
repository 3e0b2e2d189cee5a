//! [`InstanceReader`]: counters of one instance without a data block.

use crate::query::NoValue;
use perfhive_format::RawSample;
use std::time::Duration;

/// A reader of counters of one instance of a live source, without data blocks.
///
/// A data block carries definitions, names and identities, which a reader of a few counters of one
/// known instance does not need: at an event of a program, or a hundred times a second, they cost more
/// than the values. [`Source::instance_reader`](crate::Source::instance_reader) makes one.
pub trait InstanceReader: Send {
    /// Reads the counters into `out`, in the order in which they were listed when the reader was made: the
    /// same raw data as in a block; `None` for a counter that has no value now. Returns the inexactness
    /// of the times: of the values that rates are made of, the largest distance between the time at
    /// which a value was read and the clocks of its sample. Two readings give no rate if the time
    /// between them is not long compared with the inexactness of both.
    ///
    /// Once its buffers are large enough, a reader should not allocate here. After an error, the
    /// contents of `out` have no meaning.
    ///
    /// # Errors
    /// [`NoValue::Vanished`] if the instance is gone; the instance does not come back. Any other
    /// reason if the instance could not be read this time.
    fn read(&mut self, out: &mut [Option<RawSample>]) -> Result<Duration, NoValue>;
}
