//! The list of processes and threads of `SystemProcessInformation`.
//!
//! The list is a chain of `SYSTEM_PROCESS_INFORMATION`, each with its threads behind it
//! (`SYSTEM_THREAD_INFORMATION`). `NextEntryOffset` leads from one structure to the next, and is 0
//! in the last. The image's name lies somewhere in the buffer, and a pointer in the structure leads
//! to it. The first 8 bytes behind the number of threads have been in use since Windows Vista, and
//! the 16 bytes behind these since Windows 7; all other fields have been the same since Windows
//! 2000.
//!
//! | field | 64-bit | 32-bit |
//! |---|---|---|
//! | `NextEntryOffset`, `NumberOfThreads` | 0, 4 | 0, 4 |
//! | `WorkingSetPrivateSize` | 8 | 8 |
//! | `CreateTime`, `UserTime`, `KernelTime` | 32, 40, 48 | 32, 40, 48 |
//! | `ImageName`: `Length`, `Buffer` | 56, 64 | 56, 60 |
//! | `BasePriority`, `UniqueProcessId` | 72, 80 | 64, 68 |
//! | `InheritedFromUniqueProcessId`, `HandleCount` | 88, 96 | 72, 76 |
//! | `PeakVirtualSize`, `VirtualSize`, `PageFaultCount` | 112, 120, 128 | 88, 92, 96 |
//! | `PeakWorkingSetSize`, `WorkingSetSize` | 136, 144 | 100, 104 |
//! | `QuotaPagedPoolUsage`, `QuotaNonPagedPoolUsage` | 160, 176 | 112, 120 |
//! | `PagefileUsage`, `PeakPagefileUsage`, `PrivatePageCount` | 184, 192, 200 | 124, 128, 132 |
//! | six I/O counts and sizes | 208 | 136 |
//! | threads, each | 256, 80 | 184, 64 |
//!
//! `PrivatePageCount` is in bytes, despite its name. A 32-bit program gets the 32-bit structures on
//! 64-bit Windows too, so the width is the program's own.

use super::information::{u32_at, u64_at};
use std::fmt;

/// The width of the program's pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Bits32,
    Bits64,
}

impl Width {
    /// The width of this program.
    pub(super) const NATIVE: Self =
        if size_of::<usize>() == 8 { Self::Bits64 } else { Self::Bits32 };

    /// The size in bytes of the structure of a process, without the structures of its threads.
    pub(super) fn process(self) -> usize {
        self.of(184, 256)
    }

    /// The size in bytes of the structure of a thread.
    pub(super) fn thread(self) -> usize {
        self.of(64, 80)
    }

    fn of(self, bits32: usize, bits64: usize) -> usize {
        match self {
            Self::Bits32 => bits32,
            Self::Bits64 => bits64,
        }
    }
}

/// The fields of a structure by offset. All offsets in use were tested to lie inside the structure.
#[derive(Clone, Copy, Debug)]
struct Fields<'a> {
    bytes: &'a [u8],
    width: Width,
}

impl Fields<'_> {
    fn u32(self, bits32: usize, bits64: usize) -> u32 {
        u32_at(self.bytes, self.width.of(bits32, bits64)).unwrap_or(0)
    }

    fn u64(self, bits32: usize, bits64: usize) -> u64 {
        u64_at(self.bytes, self.width.of(bits32, bits64)).unwrap_or(0)
    }

    /// A pointer, handle or size at one of two offsets: `bits32` in a 32-bit structure, `bits64` in
    /// a 64-bit one.
    fn word(self, bits32: usize, bits64: usize) -> u64 {
        match self.width {
            Width::Bits32 => u64::from(self.u32(bits32, 0)),
            Width::Bits64 => self.u64(0, bits64),
        }
    }
}

/// A process of the list, with its values.
#[derive(Clone, Debug)]
pub(super) struct Process<'a> {
    pub(super) id: u64,
    pub(super) parent: u64,
    /// The image's name in UTF-16, low byte first, up to the first NUL; empty without a name.
    pub(super) name: &'a [u8],
    pub(super) priority: u32,
    pub(super) handles: u32,
    /// The start time as a FILETIME; 0 for a process that started with the machine.
    pub(super) start: u64,
    pub(super) user: u64,
    pub(super) kernel: u64,
    pub(super) page_faults: u32,
    pub(super) memory: Memory,
    /// The numbers of reads, of writes and of other operations, then the bytes of reads, of writes
    /// and of other operations.
    pub(super) io: [u64; 6],
    /// The number of threads according to the structure of the process.
    pub(super) thread_count: u32,
    pub(super) threads: Threads<'a>,
}

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) virtual_peak: u64,
    pub(super) virtual_size: u64,
    pub(super) working_set_peak: u64,
    pub(super) working_set: u64,
    pub(super) working_set_private: u64,
    pub(super) paged_pool: u64,
    pub(super) nonpaged_pool: u64,
    pub(super) page_file: u64,
    pub(super) page_file_peak: u64,
    pub(super) private: u64,
}

/// A thread of a process, with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) id: u64,
    pub(super) process: u64,
    pub(super) start: u64,
    pub(super) user: u64,
    pub(super) kernel: u64,
    pub(super) start_address: u64,
    pub(super) priority: u32,
    pub(super) base_priority: u32,
    pub(super) switches: u32,
    pub(super) state: u32,
    pub(super) wait_reason: u32,
}

/// The fault of a damaged list of processes, and the byte at which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    at: usize,
    what: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the list of processes is damaged at byte {}: {}", self.at, self.what)
    }
}

/// The processes of a list, one after the other. A damaged entry is returned as an error and ends
/// the walk. The walk ends in any case, since each entry lies behind the one before.
#[derive(Clone, Debug)]
pub(super) struct Processes<'a> {
    bytes: &'a [u8],
    /// The address of the bytes when the system wrote them, since pointers in them are absolute.
    address: u64,
    width: Width,
    next: Option<usize>,
}

impl<'a> Processes<'a> {
    pub(super) fn new(bytes: &'a [u8], address: u64, width: Width) -> Self {
        Self { bytes, address, width, next: Some(0) }
    }

    fn read(&self, at: usize) -> Result<(Process<'a>, Option<usize>), Damage> {
        let damage = |what| Damage { at, what };
        let rest = self.bytes.get(at..).unwrap_or_default();
        let header = self.width.process();
        if rest.len() < header {
            return Err(damage("the buffer ends within a process"));
        }
        let offset = u32_at(rest, 0).unwrap_or(0) as usize;
        let (entry, next) = match offset {
            0 => (rest, None),
            _ if offset < header => return Err(damage("NextEntryOffset leads into the entry")),
            _ => match rest.get(..offset) {
                Some(entry) => (entry, Some(at + offset)),
                None => return Err(damage("NextEntryOffset leads out of the buffer")),
            },
        };
        let fields = Fields { bytes: entry, width: self.width };
        let thread_count = fields.u32(4, 4);
        let size = (thread_count as usize).checked_mul(self.width.thread());
        let threads = size
            .and_then(|size| entry.get(header..header.checked_add(size)?))
            .ok_or(damage("there are fewer threads than NumberOfThreads says"))?;
        let name =
            self.name(fields).ok_or(damage("the name of the image lies outside of the buffer"))?;
        let io = |place: usize| fields.u64(136 + 8 * place, 208 + 8 * place);
        let process = Process {
            id: fields.word(68, 80),
            parent: fields.word(72, 88),
            name,
            priority: fields.u32(64, 72),
            handles: fields.u32(76, 96),
            start: fields.u64(32, 32),
            user: fields.u64(40, 40),
            kernel: fields.u64(48, 48),
            page_faults: fields.u32(96, 128),
            memory: Memory {
                virtual_peak: fields.word(88, 112),
                virtual_size: fields.word(92, 120),
                working_set_peak: fields.word(100, 136),
                working_set: fields.word(104, 144),
                working_set_private: fields.u64(8, 8),
                paged_pool: fields.word(112, 160),
                nonpaged_pool: fields.word(120, 176),
                page_file: fields.word(124, 184),
                page_file_peak: fields.word(128, 192),
                private: fields.word(132, 200),
            },
            io: [io(0), io(1), io(2), io(3), io(4), io(5)],
            thread_count,
            threads: Threads { bytes: threads, width: self.width },
        };
        Ok((process, next))
    }

    /// The bytes of the image's name up to its first NUL, empty without a name; `None` if they lie
    /// outside the list.
    fn name(&self, fields: Fields<'_>) -> Option<&'a [u8]> {
        let length = (fields.u32(56, 56) & 0xFFFF) as usize;
        if length == 0 {
            return Some(&[]);
        }
        let start = fields.word(60, 64).checked_sub(self.address)?;
        let start = usize::try_from(start).ok()?;
        let name = self.bytes.get(start..start.checked_add(length)?)?;
        // An odd byte at the end is not half of a character.
        let (units, _) = name.as_chunks::<2>();
        let end = units.iter().position(|unit| *unit == [0, 0]).unwrap_or(units.len());
        name.get(..2 * end)
    }
}

impl<'a> Iterator for Processes<'a> {
    type Item = Result<Process<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next.take()?;
        match self.read(at) {
            Ok((process, next)) => {
                self.next = next;
                Some(Ok(process))
            }
            Err(damage) => Some(Err(damage)),
        }
    }
}

/// The threads of a process, in the order of the list.
#[derive(Clone, Debug)]
pub(super) struct Threads<'a> {
    bytes: &'a [u8],
    width: Width,
}

impl Iterator for Threads<'_> {
    type Item = Thread;

    fn next(&mut self) -> Option<Thread> {
        let (bytes, rest) = self.bytes.split_at_checked(self.width.thread())?;
        self.bytes = rest;
        let fields = Fields { bytes, width: self.width };
        Some(Thread {
            kernel: fields.u64(0, 0),
            user: fields.u64(8, 8),
            start: fields.u64(16, 16),
            start_address: fields.word(28, 32),
            process: fields.word(32, 40),
            id: fields.word(36, 48),
            priority: fields.u32(40, 56),
            base_priority: fields.u32(44, 60),
            switches: fields.u32(48, 64),
            state: fields.u32(52, 68),
            wait_reason: fields.u32(56, 72),
        })
    }
}
