//! Records of the kernel's perf events, of all processors, in the order of time.
//!
//! The kernel writes the records of a perf event to a ring of each processor, in memory that it shares with this
//! process. Records that belong together are spread over several rings, since threads move between processors, so the
//! rings are merged. Before each round the time is taken, then all rings are read. Records from before that time are
//! then complete and in order: a record that must come before another one was in its ring when the other one was made.
#![allow(unsafe_code, reason = "perf-event2 lends its descriptors as numbers")]

mod tears;

use crate::clock;
use crate::event::Closer;
use crate::spin::Spin;
use perf_event::events::Software;
use perf_event::{Builder, Clock, ReadFormat, SampleFlag, Sampler};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tears::{Span, Tears, united};

/// The most records that wait in memory, beside the few that each round reads in any case.
const MOST_WAITING: usize = 1 << 16;
/// The smallest limit to the number of records that a round reads of one ring.
const LEAST: usize = 16;
/// The size in bytes of all rings of probes of one processor. The kernel lets a user have 516 KiB
/// for each processor.
const PROBE_BYTES: usize = 384 << 10;
/// The greatest size in bytes of one probe's ring: 8,192 events.
const MOST_BYTES: usize = 256 << 10;
/// The size in bytes of a ring that reports threads; it has room for more than 1,000 records.
const THREAD_BYTES: usize = 64 << 10;
/// The free space in bytes at or below which a ring may have lost a record.
const FULL: usize = 128;
/// The length of a record's header, in bytes.
const HEADER: usize = 8;
/// The length in bytes of the longest record that is read, without its header: a record of a name.
const RECORD_BYTES: usize = 40;

/// The number of the stack pointer among the registers that the kernel tells (`asm/perf_regs.h`).
const STACK_POINTER: u32 = if cfg!(target_arch = "x86_64") {
    7
} else if cfg!(target_arch = "aarch64") {
    31
} else {
    2 // RISC-V
};

const PROCESSORS: &str = "/sys/devices/system/cpu/online";

/// What a record reports. Of records of one time, those of earlier variants are returned first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PerfTold {
    /// A thread was made. The first thread of a process has the process's number.
    Fork,
    /// A process became another program.
    Exec,
    /// A probe was met; the field is the probe's number.
    Hit(usize),
    /// A thread ends.
    Exit,
}

/// A record of a perf event of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PerfRecord {
    /// The time of the record, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) time: u64,
    pub(crate) told: PerfTold,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    /// The thread's stack pointer at a hit; `None` for a program of 32 bits, and unless
    /// [`PerfPlace::has_stack`] asked for it.
    pub(crate) stack: Option<u64>,
}

/// A probed place in a program file, in the form that the kernel takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerfPlace<'a> {
    /// The number of the kernel's event source of probes.
    pub(crate) source: u32,
    pub(crate) path: &'a CStr,
    /// The offset of the probed instruction in the file, in bytes.
    pub(crate) offset: u64,
    /// The offset in the file of the counter that the kernel raises while the place is probed; 0
    /// without such a counter.
    pub(crate) semaphore: u32,
    /// Whether the probe is at the return of the function that begins at `offset`.
    pub(crate) at_return: bool,
    /// Whether the records have the stack pointer, which takes room.
    pub(crate) has_stack: bool,
}

/// The rings of all processors that the machine had when this value was made.
pub(crate) struct PerfRings {
    rings: Vec<Ring>,
    processors: Vec<usize>,
    /// The size of a probe's ring in bytes.
    probe_bytes: usize,
    /// The records that were read and not yet returned, the latest first.
    waiting: Vec<PerfRecord>,
    /// The time before which the waiting records are complete and in order.
    until: u64,
    /// The time at which the rings were closed, from which on records are not returned; `u64::MAX` before.
    end: u64,
    epoll: OwnedFd,
    closed: Arc<AtomicBool>,
    woken: Arc<OwnedFd>,
    lost: u64,
    tears: Tears,
    spin: Spin,
}

struct Ring {
    sampler: Sampler,
    /// The number of the ring's probe; `None` for a ring that reports threads.
    probe: Option<usize>,
    /// Whether the kernel counts the ring's lost records (since Linux 6.0), and was not yet asked
    /// for their number.
    counts_lost: bool,
    /// The number of lost records that the ring's own records have reported.
    lost: u64,
    /// The time of the last record that was read.
    last: u64,
    /// The ring's size in bytes.
    room: usize,
    /// The number of bytes read since the ring was last seen empty.
    read: usize,
}

impl PerfRings {
    /// A value without rings, to which rings of at most `probes` probes may be added.
    pub(crate) fn new(probes: usize) -> io::Result<Self> {
        let failed = |kind, why: &str| io::Error::new(kind, format!("{PROCESSORS}: {why}"));
        let text = std::fs::read_to_string(PROCESSORS)
            .map_err(|error| failed(error.kind(), &error.to_string()))?;
        let processors = processors(text.trim())
            .ok_or_else(|| failed(io::ErrorKind::InvalidData, "not understood"))?;
        let woken = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &woken, EventData::new_u64(u64::MAX), EventFlags::IN)?;
        let room = (PROBE_BYTES / probes.max(1)).clamp(4096, MOST_BYTES);
        Ok(Self {
            rings: Vec::new(),
            processors,
            // The kernel takes powers of two.
            probe_bytes: 1 << room.ilog2(),
            waiting: Vec::with_capacity(MOST_WAITING),
            until: 0,
            end: u64::MAX,
            epoll,
            closed: Arc::default(),
            woken: Arc::new(woken),
            lost: 0,
            tears: Tears::new(),
            spin: Spin::default(),
        })
    }

    /// Makes [`next`](Self::next) look for a record for this long before it sleeps.
    pub(crate) fn set_spin(&mut self, time: Duration) {
        self.spin = Spin::new(time);
    }

    /// Adds rings that report, of a process and the processes that it starts, each thread that they make, each
    /// `execve`, and the ends of threads. If the process already has several threads, only what its first thread
    /// makes is reported.
    pub(crate) fn add_threads(&mut self, process: u32) -> io::Result<()> {
        let mut builder = Builder::new(Software::DUMMY);
        builder.observe_pid(process.cast_signed()).inherit(true).task(true);
        builder.comm(true).comm_exec(true).sample_id_all(true);
        self.add(&mut builder, None)
    }

    /// Adds rings that report each time that any process of the machine meets a place. `probe` is
    /// the number that the records have in [`PerfTold::Hit`].
    pub(crate) fn add_probe(&mut self, probe: usize, place: PerfPlace<'_>) -> io::Result<()> {
        let mut builder = Builder::new(Software::DUMMY);
        let attributes = builder.attrs_mut();
        attributes.type_ = place.source;
        // As in `/sys/bus/event_source/devices/uprobe/format`.
        attributes.config = u64::from(place.semaphore) << 32 | u64::from(place.at_return);
        // The kernel reads the path when it makes the event.
        attributes.uprobe_path = place.path.as_ptr().expose_provenance() as u64;
        attributes.probe_offset = place.offset;
        builder.any_pid().include_kernel().include_hv().sample_period(1);
        if place.has_stack {
            builder.sample(SampleFlag::REGS_USER).sample_regs_user(1 << STACK_POINTER);
        }
        self.add(&mut builder, Some(probe))
    }

    fn add(&mut self, builder: &mut Builder<'_>, probe: Option<usize>) -> io::Result<()> {
        builder.sample(SampleFlag::TID | SampleFlag::TIME).clockid(Clock::MONOTONIC);
        // Each record wakes the waiting thread.
        builder.wakeup_watermark(1).enabled(true).read_format(ReadFormat::LOST);
        let size = if probe.is_some() { self.probe_bytes } else { THREAD_BYTES };
        for processor in &self.processors {
            builder.one_cpu(*processor);
            let mut counts_lost = true;
            let opened = match builder.build() {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    counts_lost = false;
                    builder.clone().read_format(ReadFormat::empty()).build()
                }
                opened => opened,
            };
            let sampler = opened?.sampled(size)?;
            let place = EventData::new_u64(self.rings.len() as u64);
            epoll::add(&self.epoll, borrowed(&sampler), place, EventFlags::IN)?;
            self.rings.push(Ring {
                sampler,
                probe,
                counts_lost,
                lost: 0,
                last: 0,
                room: size,
                read: 0,
            });
        }
        Ok(())
    }

    /// Waits for the next record and returns it; `None` once the rings were closed and all their earlier records were
    /// returned.
    pub(crate) fn next(&mut self) -> io::Result<Option<PerfRecord>> {
        loop {
            let complete = self.until.min(self.end);
            if let Some(record) = self.waiting.pop_if(|record| record.time < complete) {
                self.spin.begin();
                return Ok(Some(record));
            }
            if self.end == u64::MAX && self.closed.load(Ordering::Acquire) {
                self.end = clock::now();
            }
            if self.until >= self.end {
                self.ask_for_lost();
                return Ok(None);
            }
            let is_empty = self.drain() && self.waiting.is_empty();
            if is_empty && self.end == u64::MAX && !self.spin.goes_on() {
                self.sleep()?;
            }
        }
    }

    /// Reads all rings once; returns whether all rings were read until they were empty.
    fn drain(&mut self) -> bool {
        self.until = clock::now();
        let room = MOST_WAITING.saturating_sub(self.waiting.len());
        let most = (room / self.rings.len().max(1)).max(LEAST);
        let (mut is_all, mut torn) = (true, None);
        for ring in &mut self.rings {
            let (count, lost, tear) = ring.drain(most, &mut self.waiting);
            self.lost += lost;
            torn = united(torn, tear);
            if count < most {
                ring.read = 0;
            } else {
                self.until = self.until.min(ring.last);
                is_all = false;
            }
        }
        self.waiting.sort_unstable_by(|one, other| other.cmp(one));
        if let Some((from, to)) = torn {
            let earliest = self.waiting.last().map(|record| record.time);
            self.tears.add((from, to.min(clock::now())), earliest);
        }
        is_all
    }

    fn sleep(&mut self) -> io::Result<()> {
        let none = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [none; 8];
        let count = match epoll::wait(&self.epoll, &mut events, None) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in events.iter().take(count) {
            let flags = event.flags;
            let place = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            // The last process that the ring reports has ended, and the ring would wake this thread for ever.
            let ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
            if let Some(ring) = self.rings.get(place).filter(|_| ended) {
                epoll::delete(&self.epoll, borrowed(&ring.sampler))?;
            }
        }
        Ok(())
    }

    /// Adds to `lost` the number of lost records that no record has reported, because none came
    /// after them.
    fn ask_for_lost(&mut self) {
        for ring in self.rings.iter_mut().filter(|ring| ring.counts_lost) {
            let counted = ring.sampler.read_full().ok().and_then(|read| read.lost()).unwrap_or(0);
            self.lost += counted.saturating_sub(ring.lost);
            ring.counts_lost = false;
        }
    }

    /// The number of records known so far for which the kernel had no room.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The [`gap`](crate::PerfEvent::gap) of the record that was returned last; `time` is its time.
    pub(crate) fn gap(&mut self, time: u64) -> u64 {
        self.tears.gap(time)
    }

    /// A function that closes the rings, as an event source's [`closer`](crate::EventSource::closer) does.
    pub(crate) fn closer(&self) -> Closer {
        let (closed, woken) = (Arc::clone(&self.closed), Arc::clone(&self.woken));
        Box::new(move || {
            closed.store(true, Ordering::Release);
            let _ = rustix::io::write(&*woken, &1u64.to_ne_bytes());
        })
    }
}

impl Ring {
    /// Reads up to `most` records. Returns their number, the number of lost records that they
    /// report, and the span of time in which records may have been lost; `None` instead of the span
    /// if no record can have been lost.
    fn drain(&mut self, most: usize, out: &mut Vec<PerfRecord>) -> (usize, u64, Option<Span>) {
        let (mut count, mut lost, mut torn, mut lost_behind) = (0, 0, None, None);
        while count < most {
            let Some(record) = self.sampler.next_record() else { break };
            count += 1;
            // A record that reaches over the end of the ring is in two parts.
            let mut bytes = [0; RECORD_BYTES];
            let length = record.len();
            self.read += HEADER + length;
            let parts = record.data().iter().copied().flatten();
            bytes.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
            let bytes = bytes.get(..length).unwrap_or(&bytes);
            match Told::read((record.ty(), record.misc()), self.probe, bytes) {
                Told::Record(record) => {
                    self.last = record.time;
                    torn = united(torn, lost_behind.take().map(|from| (from, record.time)));
                    out.push(record);
                }
                Told::Lost(more) => {
                    lost += more;
                    lost_behind.get_or_insert(self.last);
                }
                Told::Other => {}
            }
        }
        self.lost += lost;
        // The kernel reports a loss only with the next record of the same processor.
        if self.read + FULL >= self.room {
            lost_behind.get_or_insert(self.last);
        }
        torn = united(torn, lost_behind.map(|from| (from, u64::MAX)));
        (count, lost, torn)
    }
}

/// The contents of a record's bytes: a record, the number of lost records, or anything else.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Record(PerfRecord),
    Lost(u64),
    Other,
}

impl Told {
    /// Reads the bytes of a record (`linux/perf_event.h`) behind its header, by the kind and flags in the header and
    /// the probe of the record's ring.
    fn read((kind, flags): (u32, u16), probe: Option<usize>, bytes: &[u8]) -> Self {
        const NAME: u32 = 3;
        const BY_EXEC: u16 = 1 << 13;
        const LOST: u32 = 2;
        const EXIT: u32 = 4;
        const FORK: u32 = 7;
        const SAMPLE: u32 = 9;
        let number4 = |at: usize| {
            let chunk = bytes.get(at..).and_then(<[u8]>::first_chunk);
            chunk.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
        };
        let number8 = |at: usize| {
            let chunk = bytes.get(at..).and_then(<[u8]>::first_chunk);
            chunk.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
        };
        // Behind the process is its parent, behind the thread the parent's.
        let task = |told| PerfRecord {
            time: number8(16),
            told,
            process: number4(0),
            thread: number4(8),
            stack: None,
        };
        // Behind the time is what kind of registers follows: none, or those of a program of 32 or 64 bits.
        const OF_64_BITS: u64 = 2;
        let stack = || (number8(16) == OF_64_BITS).then(|| number8(24));
        match (kind, probe) {
            (LOST, _) => Self::Lost(number8(8)),
            (FORK, None) => Self::Record(task(PerfTold::Fork)),
            // The name has a variable length; behind it are process, thread and time.
            (NAME, None) if flags & BY_EXEC != 0 => Self::Record(PerfRecord {
                time: number8(bytes.len().saturating_sub(8)),
                told: PerfTold::Exec,
                process: number4(0),
                thread: number4(4),
                stack: None,
            }),
            (EXIT, None) => Self::Record(task(PerfTold::Exit)),
            (SAMPLE, Some(probe)) => Self::Record(PerfRecord {
                time: number8(8),
                told: PerfTold::Hit(probe),
                process: number4(0),
                thread: number4(4),
                stack: stack(),
            }),
            _ => Self::Other,
        }
    }
}

fn borrowed(sampler: &Sampler) -> BorrowedFd<'_> {
    // SAFETY: the sampler has the descriptor open for as long as it is borrowed.
    unsafe { BorrowedFd::borrow_raw(sampler.as_raw_fd()) }
}

/// The numbers in a list such as `0-3,8`; `None` where the list is damaged, or has a number above
/// 65,535.
fn processors(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        all.extend((first..=last).map(usize::from));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!(processors("0"), Some(vec![0]));
        assert_eq!(processors("0-2,8"), Some(vec![0, 1, 2, 8]));
        for wrong in ["", "0-", "a", "0-70000"] {
            assert_eq!(processors(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn records_are_read_by_kind_and_ring() {
        let mut bytes = [0; 24];
        for (at, number) in (0..).step_by(4).zip([7u32, 6, 9, 8, 5, 0]) {
            bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        let record = |told, time, thread| {
            Told::Record(PerfRecord { time, told, process: 7, thread, stack: None })
        };
        assert_eq!(Told::read((7, 0), None, &bytes), record(PerfTold::Fork, 5, 9));
        assert_eq!(Told::read((4, 0), None, &bytes), record(PerfTold::Exit, 5, 9));
        let time = 9 | 8 << 32;
        assert_eq!(Told::read((9, 2), Some(3), &bytes), record(PerfTold::Hit(3), time, 6));
        let with = |kind: u64| [&bytes[..16], &kind.to_ne_bytes(), &77u64.to_ne_bytes()].concat();
        for (kind, stack) in [(0, None), (1, None), (2, Some(77))] {
            let told = PerfTold::Hit(3);
            let record = PerfRecord { time, told, process: 7, thread: 6, stack };
            assert_eq!(Told::read((9, 2), Some(3), &with(kind)), Told::Record(record));
        }
        assert_eq!(Told::read((2, 0), Some(3), &bytes), Told::Lost(time));
        assert_eq!(Told::read((3, 1 << 13), None, &bytes), record(PerfTold::Exec, 5, 6));
        assert_eq!(Told::read((3, 0), None, &bytes), Told::Other);
        assert_eq!(Told::read((9, 2), None, &bytes), Told::Other);
        assert_eq!(Told::read((1, 0), None, &bytes), Told::Other);
    }
}
