//! Queries to the kernel: classes of information, and growing buffers.

use std::fmt;

/// A class of `NtQuerySystemInformation`, under its number in
/// `SYSTEM_INFORMATION_CLASS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// `SystemPerformanceInformation`: counts of the whole system.
    Performance = 2,
    /// `SystemTimeOfDayInformation`: the time, and the start of the machine.
    TimeOfDay = 3,
    /// `SystemProcessInformation`: every process and thread.
    Process = 5,
    /// `SystemProcessorPerformanceInformation`: the times of each processor.
    ProcessorPerformance = 8,
    /// `SystemExceptionInformation`: exceptions and emulations.
    Exception = 33,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Performance => "SystemPerformanceInformation",
            Self::TimeOfDay => "SystemTimeOfDayInformation",
            Self::Process => "SystemProcessInformation",
            Self::ProcessorPerformance => "SystemProcessorPerformanceInformation",
            Self::Exception => "SystemExceptionInformation",
        })
    }
}

/// An `NTSTATUS`: the result code of a native function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// `STATUS_SUCCESS`.
    pub const SUCCESS: Self = Self(0);
    /// `STATUS_INFO_LENGTH_MISMATCH`: the buffer has a wrong size.
    pub const INFO_LENGTH_MISMATCH: Self = Self(0xC000_0004);
    /// `STATUS_BUFFER_TOO_SMALL`.
    pub const BUFFER_TOO_SMALL: Self = Self(0xC000_0023);
    /// `STATUS_BUFFER_OVERFLOW`.
    pub const BUFFER_OVERFLOW: Self = Self(0x8000_0005);

    /// Whether the status is a success or an information, not a warning or an error
    /// (`NT_SUCCESS`).
    #[must_use]
    pub fn is_success(self) -> bool {
        self.0 < 0x8000_0000
    }

    /// Whether the status says that the buffer has a wrong size, so that another size may help.
    fn is_about_size(self) -> bool {
        matches!(self, Self::INFO_LENGTH_MISMATCH | Self::BUFFER_TOO_SMALL | Self::BUFFER_OVERFLOW)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({:#010X})", self.0)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = match self.0 {
            0xC000_0002 => " (not implemented)",
            0xC000_0003 => " (no such class of information)",
            0xC000_0004 => " (the buffer's size does not fit)",
            0xC000_0017 => " (no memory)",
            0xC000_0022 => " (access denied)",
            0xC000_009A => " (no resources)",
            _ => "",
        };
        write!(f, "status {:#010X}{meaning}", self.0)
    }
}

/// The result of a query: a status and a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryReply {
    /// The status of the call.
    pub status: Status,
    /// The number of bytes that the call wrote, or that it needs if the buffer has a wrong size.
    pub length: u32,
}

/// The native function [`NtQuerySystemInformation`](Self::query), or a test's replacement for it.
pub trait SystemInformation: Send + Sync {
    /// `NtQuerySystemInformation`: fills `buffer`, which begins at a multiple
    /// of 8, with information of a class.
    fn query(&self, class: Class, buffer: &mut [u8]) -> QueryReply;
}

/// The reason why a query has no usable result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoInformation {
    Failed(Class, Status),
    TooLarge(Class),
    /// The reply to a query of this class has this number of bytes, fewer than its structure.
    Short(Class, usize),
}

impl fmt::Display for NoInformation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(class, status) => {
                write!(f, "NtQuerySystemInformation({class}) answered {status}")
            }
            Self::TooLarge(class) => write!(
                f,
                "NtQuerySystemInformation({class}) needs a buffer above the limit of {} MiB",
                LARGEST >> 20
            ),
            Self::Short(class, length) => write!(
                f,
                "NtQuerySystemInformation({class}) answered {length} bytes, fewer than its \
                 structure has"
            ),
        }
    }
}

/// The largest size of the buffer for a list, in bytes. A list that needs more is an error.
const LARGEST: usize = 64 << 20;

/// The greatest length in bytes of a reply that is one structure and no list.
const LONGEST: usize = 0x1000;

/// The alignment in bytes that the native functions require of a buffer.
const ALIGNMENT: usize = 8;

/// A reply, and the address at which the system wrote it: pointers in the reply are absolute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Information<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) address: u64,
}

/// A buffer for replies. It never shrinks.
pub(super) struct Buffer {
    memory: Vec<u8>,
    /// The number of bytes of the buffer that the next query of a list is made with.
    size: usize,
}

impl Buffer {
    pub(super) fn new(size: usize) -> Self {
        Self { memory: Vec::new(), size }
    }

    /// Queries a class with a reply that is a list. The buffer is enlarged, up to [`LARGEST`]
    /// bytes, until the list fits.
    pub(super) fn ask(
        &mut self,
        information: &dyn SystemInformation,
        class: Class,
    ) -> Result<Information<'_>, NoInformation> {
        loop {
            let room = self.room();
            let length = room.len();
            let QueryReply { status, length: told } = information.query(class, room);
            let told = told as usize;
            if status.is_success() {
                let told = told.min(length);
                let start = self.start();
                let room = self.memory.get(start..).unwrap_or_default();
                let address = room.as_ptr().addr() as u64;
                let bytes = room.get(..told).unwrap_or_default();
                return Ok(Information { bytes, address });
            }
            if !status.is_about_size() {
                return Err(NoInformation::Failed(class, status));
            }
            if length >= LARGEST {
                return Err(NoInformation::TooLarge(class));
            }
            // An eighth more than was needed, since further processes may start before the next
            // call.
            let wanted = told.saturating_add(told / 8);
            self.size = wanted.max(length.saturating_mul(2)).min(LARGEST);
        }
    }

    /// Queries a class with a reply that is a structure of `size` bytes, and returns these bytes;
    /// of the longer structure of a later system, the first `size` bytes. Several classes refuse a
    /// buffer that is longer than their structure. A shorter reply is an error.
    pub(super) fn ask_for(
        &mut self,
        information: &dyn SystemInformation,
        class: Class,
        size: usize,
    ) -> Result<&[u8], NoInformation> {
        self.size = self.size.max(size);
        let mut answer = self.call(information, class, size);
        let told = answer.length as usize;
        if answer.status.is_about_size() && (size + 1..=LONGEST).contains(&told) {
            self.size = self.size.max(told);
            answer = self.call(information, class, told);
        }
        if !answer.status.is_success() {
            return Err(NoInformation::Failed(class, answer.status));
        }
        let length = answer.length as usize;
        if length < size {
            return Err(NoInformation::Short(class, length));
        }
        let start = self.start();
        Ok(self.memory.get(start..start + size).unwrap_or_default())
    }

    fn call(
        &mut self,
        information: &dyn SystemInformation,
        class: Class,
        size: usize,
    ) -> QueryReply {
        let room = self.room().get_mut(..size).unwrap_or_default();
        information.query(class, room)
    }

    /// The offset in the buffer of the first byte with the required alignment.
    fn start(&self) -> usize {
        self.memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT)
    }

    fn room(&mut self) -> &mut [u8] {
        let needed = self.size + ALIGNMENT;
        if self.memory.len() < needed {
            self.memory.resize(needed, 0);
        }
        let start = self.start();
        self.memory.get_mut(start..start + self.size).unwrap_or_default()
    }
}

/// The 32-bit number at an offset; `None` if it does not lie inside the bytes.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The 64-bit number at an offset; `None` if it does not lie inside the bytes.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Answers with a length that grows with every call, and notes the given sizes.
    struct Growing {
        needed: usize,
        sizes: Mutex<Vec<usize>>,
        fails: Option<Status>,
    }

    impl Growing {
        fn new(needed: usize, fails: Option<Status>) -> Self {
            Self { needed, sizes: Mutex::default(), fails }
        }
    }

    impl SystemInformation for Growing {
        fn query(&self, _: Class, buffer: &mut [u8]) -> QueryReply {
            assert_eq!(buffer.as_ptr().addr() % 8, 0);
            self.sizes.lock().unwrap().push(buffer.len());
            let length = u32::try_from(self.needed).unwrap_or(u32::MAX);
            let status = match self.fails {
                Some(status) => status,
                None if buffer.len() < self.needed => Status::INFO_LENGTH_MISMATCH,
                None => Status::SUCCESS,
            };
            QueryReply { status, length }
        }
    }

    #[test]
    fn a_buffer_grows_once_and_stays() {
        let growing = Growing::new(100_000, None);
        let mut buffer = Buffer::new(64);
        for _ in 0..3 {
            let got = buffer.ask(&growing, Class::Process).unwrap();
            assert_eq!(got.bytes.len(), 100_000);
            assert_eq!(got.address, got.bytes.as_ptr().addr() as u64);
        }
        // With room for growth until the next call.
        assert_eq!(*growing.sizes.lock().unwrap(), [64, 112_500, 112_500, 112_500]);
    }

    #[test]
    fn a_query_that_always_needs_more_is_an_error() {
        // A function that always needs more, and one that states no length.
        for needed in [usize::MAX, 0] {
            let growing = Growing::new(needed, Some(Status::INFO_LENGTH_MISMATCH));
            let mut buffer = Buffer::new(64);
            let failed = buffer.ask(&growing, Class::Process).unwrap_err();
            assert_eq!(failed, NoInformation::TooLarge(Class::Process));
            let sizes = growing.sizes.lock().unwrap();
            assert_eq!(sizes.iter().max(), Some(&LARGEST));
            assert!(sizes.len() < 32);
        }
    }

    #[test]
    fn errors_that_no_buffer_size_avoids_are_returned() {
        let denied = Growing::new(0, Some(Status(0xC000_0022)));
        let mut buffer = Buffer::new(64);
        let failed = buffer.ask(&denied, Class::Exception).unwrap_err();
        assert_eq!(
            failed.to_string(),
            "NtQuerySystemInformation(SystemExceptionInformation) answered status 0xC0000022 \
             (access denied)"
        );
        let short = Growing::new(4, None);
        let failed = buffer.ask_for(&short, Class::TimeOfDay, 32).unwrap_err();
        assert!(failed.to_string().contains("answered 4 bytes"), "{failed}");
        // A structure is first requested with its own size.
        let longer = Growing::new(48, None);
        assert_eq!(buffer.ask_for(&longer, Class::TimeOfDay, 32).unwrap().len(), 32);
        assert_eq!(*longer.sizes.lock().unwrap(), [32, 48]);
        let greedy = Growing::new(1 << 20, None);
        assert!(buffer.ask_for(&greedy, Class::TimeOfDay, 32).is_err());
        // A function that claims more bytes than the buffer has.
        let liar = Growing::new(1 << 30, Some(Status::SUCCESS));
        assert_eq!(buffer.ask(&liar, Class::Process).unwrap().bytes.len(), 64);
    }
}
