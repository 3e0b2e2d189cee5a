//! Reads a value of unknown length with buffers that grow.

use crate::codes::{MORE_DATA, SUCCESS, TIMEOUT, is_busy};
use perfhive_engine::ObjectQuery;
use std::time::{Duration, Instant};

/// The size of the first buffer, in bytes: large enough for a few objects.
const FIRST: usize = 64 << 10;
/// The size of the first buffer for all objects, in bytes: a machine at work fills one to four
/// megabytes, and each buffer that is too small costs a collection.
const FIRST_OF_ALL: usize = 1 << 20;
/// The size of the largest buffer, in bytes. A machine with ten thousand threads fills some
/// megabytes; a provider that wants more than this is assumed to want more without end.
pub(crate) const LARGEST: usize = 64 << 20;
/// The size of the largest list of names that is read, in bytes. A list takes nine times as much
/// memory after reading, and the same again for lookups by name. A real list has one megabyte, or a
/// few megabytes with many providers.
pub(crate) const LONGEST: usize = 16 << 20;
/// The number of attempts to read from a performance library that is busy. The first pause between
/// two attempts is `PAUSE`, and each further pause is twice as long. All pauses together are 63 ms.
const TRIES: u32 = 7;
/// The first pause between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// The reason why a value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The last call returned this error code.
    Code(u32),
    /// Even the largest buffer was too small.
    TooLarge,
    /// The deadline of the caller passed.
    Deadline,
    /// The call timed out.
    Hangs,
    /// The value is not a list of names, or is an empty list of English names, although every
    /// machine has English names.
    NoTitles,
    /// The list of names is longer than 16 MiB, which no real list is.
    EndlessTitles,
}

/// The size in bytes of the buffer with which a query is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(usize);

impl Size {
    /// The size for the first read of a query: 64 KiB for a list of indexes, 1 MiB otherwise.
    pub fn first_for(query: &ObjectQuery) -> Self {
        match query {
            ObjectQuery::Indexes(_) => Self::default(),
            ObjectQuery::Global | ObjectQuery::Costly | ObjectQuery::Foreign(_) => {
                Self(FIRST_OF_ALL)
            }
        }
    }
}

impl Default for Size {
    fn default() -> Self {
        Self(FIRST)
    }
}

/// Reads a value into `reply`. `call` makes one call of `RegQueryValueExW`: it replaces the
/// contents of the buffer, within its capacity, and returns the error code. `wait` is called with
/// each pause before a busy library is asked again, and sleeps.
///
/// `ERROR_MORE_DATA` does not tell the size that is needed, so the buffer is doubled, and `size`
/// keeps the result. So the next read of a value that has not grown takes one call, unless the library
/// is busy. The deadline is tested between calls; it does not end a call.
///
/// # Errors
/// [`ReadError::Code`], [`ReadError::TooLarge`], [`ReadError::Deadline`], and [`ReadError::Hangs`]
/// if a call returns `ERROR_TIMEOUT`. `reply` is then empty.
pub fn read(
    size: &mut Size,
    reply: &mut Vec<u8>,
    deadline: Option<Instant>,
    wait: &mut dyn FnMut(Duration),
    mut call: impl FnMut(&mut Vec<u8>) -> u32,
) -> Result<(), ReadError> {
    let mut tries = 0;
    loop {
        if reply.capacity() < size.0 {
            *reply = vec![0; size.0];
        }
        match call(reply) {
            SUCCESS => {
                // The next buffer has room for growth, which would otherwise cost a second
                // collection.
                if reply.len() > size.0 / 4 * 3 {
                    size.0 = (size.0 * 2).min(LARGEST);
                }
                return Ok(());
            }
            MORE_DATA if size.0 >= LARGEST => {
                *reply = Vec::new();
                return Err(ReadError::TooLarge);
            }
            // A reused buffer may be larger than what this value needed before.
            MORE_DATA => size.0 = (reply.capacity().max(size.0) * 2).min(LARGEST),
            TIMEOUT => {
                reply.clear();
                return Err(ReadError::Hangs);
            }
            code if is_busy(code) && tries + 1 < TRIES => {
                wait(PAUSE * 2u32.pow(tries));
                tries += 1;
            }
            code => {
                reply.clear();
                return Err(ReadError::Code(code));
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            reply.clear();
            return Err(ReadError::Deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        size: &mut Size,
        reply: &mut Vec<u8>,
        call: impl FnMut(&mut Vec<u8>) -> u32,
    ) -> (Result<(), ReadError>, Duration) {
        let mut waited = Duration::ZERO;
        let result = read(size, reply, None, &mut |pause| waited += pause, call);
        (result, waited)
    }

    /// A made-up call that fills in a value of `length` bytes, as Windows hands it out, and counts
    /// its calls.
    fn value(length: usize, calls: &mut u32) -> impl FnMut(&mut Vec<u8>) -> u32 {
        move |reply| {
            *calls += 1;
            if reply.capacity() < length {
                return MORE_DATA;
            }
            reply.resize(length, 7);
            SUCCESS
        }
    }

    #[test]
    fn the_buffer_doubles_and_its_size_is_remembered() {
        let (mut size, mut reply, mut calls) = (Size::default(), Vec::new(), 0);
        let length = 900 << 10;
        assert_eq!(run(&mut size, &mut reply, value(length, &mut calls)).0, Ok(()));
        assert_eq!((reply.len(), calls), (length, 5), "64, 128, 256, 512, 1024 KiB");
        // Nearly full: the next buffer is larger.
        assert_eq!(size, Size(2 << 20));
        let mut calls = 0;
        assert_eq!(run(&mut size, &mut reply, value(length, &mut calls)).0, Ok(()));
        let buffer = (reply.as_ptr(), reply.capacity());
        assert_eq!(run(&mut size, &mut reply, value(length, &mut calls)).0, Ok(()));
        assert_eq!(calls, 2, "one call each");
        assert_eq!(buffer, (reply.as_ptr(), reply.capacity()), "and the same buffer");
    }

    #[test]
    fn all_objects_begin_with_a_larger_buffer() {
        let needed = |query: ObjectQuery, length| {
            let (mut size, mut reply, mut calls) = (Size::first_for(&query), Vec::new(), 0);
            assert_eq!(run(&mut size, &mut reply, value(length, &mut calls)).0, Ok(()));
            calls
        };
        let one = ObjectQuery::Indexes(Vec::new());
        assert_eq!([needed(ObjectQuery::Global, 1 << 20), needed(one, 1 << 20)], [1, 5]);
        assert_eq!(needed(ObjectQuery::Global, 4 << 20), 3);
    }

    #[test]
    fn a_value_without_end_fails_at_the_largest_buffer() {
        let (mut size, mut reply, mut calls) = (Size::default(), Vec::new(), 0);
        let without_end = |calls: &mut u32| {
            *calls += 1;
            MORE_DATA
        };
        let result = run(&mut size, &mut reply, |_| without_end(&mut calls)).0;
        assert_eq!((result, calls), (Err(ReadError::TooLarge), 11));
        assert_eq!(reply.capacity(), 0, "the buffer is freed");
        // The next read fails at once.
        calls = 0;
        let result = run(&mut size, &mut reply, |_| without_end(&mut calls)).0;
        assert_eq!((result, calls), (Err(ReadError::TooLarge), 1));
        // A shorter value is read again.
        assert_eq!(run(&mut size, &mut reply, value(10, &mut calls)).0, Ok(()));
    }

    #[test]
    fn a_busy_library_is_asked_seven_times_in_63_ms() {
        let (mut size, mut reply) = (Size::default(), Vec::new());
        let mut left = 3;
        let (result, waited) = run(&mut size, &mut reply, |reply| {
            if left > 0 {
                left -= 1;
                return 170;
            }
            reply.truncate(1);
            SUCCESS
        });
        assert_eq!((result, waited), (Ok(()), Duration::from_millis(7)));
        let mut calls = 0;
        let (result, waited) = run(&mut size, &mut reply, |_| {
            calls += 1;
            170
        });
        assert_eq!((result, calls), (Err(ReadError::Code(170)), 7));
        assert_eq!(waited, Duration::from_millis(63));
    }

    #[test]
    fn a_passed_deadline_ends_trying() {
        let (mut size, mut reply, mut calls) = (Size::default(), Vec::new(), 0);
        let result = read(&mut size, &mut reply, Some(Instant::now()), &mut |_| {}, |_| {
            calls += 1;
            MORE_DATA
        });
        assert_eq!((result, calls), (Err(ReadError::Deadline), 1));
    }

    #[test]
    fn any_other_failure_is_told_at_once() {
        let (mut size, mut reply, mut calls) = (Size::default(), Vec::new(), 0);
        let result = run(&mut size, &mut reply, |_| {
            calls += 1;
            5
        });
        assert_eq!((result.0, calls), (Err(ReadError::Code(5)), 1));
        assert!(reply.is_empty());
    }
}
