//! The counters of Process (230) of a single process, read without a data block.

use super::columns::ProcessColumns;
use super::cpu_clock::{CpuClock, Usage};
use super::few::Few;
use super::proc_files::ProcFiles;
use super::read::ProcessReader;
use super::sample::{ALL, MEMORY, Sample, USED};
use super::tracked::Tracked;
use crate::clock::{LinuxClock, TimeBase, monotonic};
use crate::cpus::Ticks;
use crate::files::Reader;
use crate::root::ProcRoot;
use crate::table::{Counter, PROCESS, SCHEDULE_COUNTERS};
use perfhive_engine::{Ask, Collection, Identity, InstanceReader, InstanceWish, NoValue};
use perfhive_format::{FileTime, RawSample, TitleIndex};
use rustix::param::page_size;
use std::ops::Range;
use std::time::Duration;

/// The longest time in nanoseconds from reading the clocks of a sample to reading its processor
/// time: many times what reading takes. After a longer time both are read once more.
const LONGEST: i64 = 30_000;

/// A reader of counters of one process.
pub(super) struct OneProcess {
    reader: ProcessReader,
    known: Tracked,
    few: Few,
    wanted: ProcessColumns,
    /// The wanted counters: for each the position of its value in the sample, its width in bytes,
    /// and its row of the table.
    places: Vec<(usize, u8, &'static Counter)>,
    /// The identity's start time, as the raw value of Elapsed Time.
    start: u64,
    base: TimeBase,
    clock: LinuxClock,
    used: Option<Used>,
    /// Whether a counter from `statm` is wanted.
    memory: bool,
    /// The positions of the values from `statm`.
    memory_at: Range<usize>,
    /// The values that were read last.
    sample: Sample,
    /// The highest processor time that was read so far, in 100 ns units. A later time from `stat`,
    /// which rounds down, may be lower and is raised to it.
    least: u64,
    /// The time at which the last of the values that only grow was read, in nanoseconds of the
    /// monotonic clock.
    read_at: i64,
    /// Whether the values that were read last are the final ones of a process that has ended.
    has_ended: bool,
    /// Whether the process had ended or was about to end at the last reading.
    is_ending: bool,
}

/// The source of the counters from `stat`, if they are read without that file.
enum Used {
    /// The clock of the process: of the counters from `stat`, only the processor time is wanted.
    Clock(CpuClock),
    /// The kernel's sums over this program, which is the process: of the counters from `stat`, only
    /// processor times and page faults are wanted.
    Own,
}

impl OneProcess {
    /// A reader of these counters of the process with an identity; `None` if the object is not
    /// Process, a counter is not filled, the process cannot be read, or `root` is a copy.
    pub(super) fn open(
        root: &ProcRoot,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Self> {
        let Identity::Process { start, .. } = *identity else { return None };
        let pid = identity.process_id().filter(|_| object.0 == PROCESS.index)?;
        let files = Reader::open(root.proc()).ok().filter(Reader::is_procfs)?;
        let base = TimeBase::of(root);
        let files = ProcFiles::new(files, Ticks::of_system(), page_size() as u64, base.clone());
        let mut reader = ProcessReader::new(files);
        let mut ask = Ask::objects(&[object]).with_instance(object, InstanceWish::Process(pid));
        ask.enough.extend(counters.iter().map(|counter| (object, *counter)));
        ask.extra_counters.clone_from(&ask.enough);
        let asked = [object];
        let collection = Collection::new(&ask, &asked);
        let wanted = ProcessColumns::new(&collection, true, false, &mut reader.probe());
        let mut few = Few::default();
        let is_few = few.set(&collection, &[PROCESS.index]);
        let place = |counter: &TitleIndex| {
            let row = PROCESS.counters.iter().position(|row| row.index == counter.0)?;
            let filled = wanted.mask();
            let is_filled = filled & (1 << row) != 0;
            let before = (filled & ((1 << row) - 1)).count_ones() as usize;
            let row = PROCESS.counters.get(row)?;
            is_filled.then_some((before, u8::try_from(row.spec().size).ok()?, row))
        };
        let places: Vec<_> = counters.iter().map(place).collect::<Option<_>>()?;
        let before = if wanted.schedule { SCHEDULE_COUNTERS } else { 0 };
        let memory_at = MEMORY.start + before..MEMORY.end + before;
        let memory = places.iter().any(|(at, ..)| memory_at.contains(at));
        let all_in = |few: &[usize]| {
            places.iter().all(|(at, ..)| few.contains(at) || memory_at.contains(at))
        };
        // Only the file `stat` has the schedule.
        let may_do_without = !wanted.schedule;
        let (time_only, used_only) =
            (may_do_without && all_in(&[ALL]), may_do_without && all_in(&USED));
        let clock = LinuxClock::of(root);
        let known = Tracked::new(pid);
        let (used, sample, least) = (None, Sample::default(), 0);
        let mut one = Self {
            reader,
            known,
            few,
            wanted,
            places,
            start,
            base,
            clock,
            used,
            memory,
            memory_at,
            sample,
            least,
            read_at: 0,
            has_ended: false,
            is_ending: false,
        };
        one.read_files().filter(|_| is_few)?;
        // The clock's number is that of the process in this program's own namespace.
        let own = std::fs::read_link(root.proc().join("self")).ok()?;
        let is_own = own.to_str().and_then(|own| own.parse().ok()) == Some(std::process::id());
        one.used = match () {
            () if !is_own => None,
            () if time_only => CpuClock::of(pid).map(Used::Clock),
            () if used_only && pid == std::process::id() => Some(Used::Own),
            () => None,
        };
        Some(one)
    }

    /// Reads the values from the files into the sample; `None` if the process no longer exists, or its
    /// `stat` cannot be read.
    fn read_files(&mut self) -> Option<()> {
        let Self { reader, known, few, wanted, start, .. } = self;
        reader.files.faults.clear();
        reader.begin(1, false);
        reader.read(std::slice::from_mut(known), *wanted, Some(few));
        let (slot, _) = reader.processes().next()?;
        self.sample = slot.sample;
        (self.has_ended, self.is_ending) = (known.has_ended, known.is_ending);
        self.read_at = monotonic();
        (self.sample.identity().1 == *start).then_some(())
    }

    /// The reason why the last [`read_files`](Self::read_files) read nothing.
    fn missing(&self) -> NoValue {
        match self.known.is_unread {
            true => NoValue::InstanceFailed("its stat could not be read".into()),
            false => NoValue::Vanished,
        }
    }

    /// Reads the values into the sample from the source that is read in place of `stat` ([`Used`]);
    /// `None` if there is no such source, or if it gives no values.
    fn read_used(&mut self) -> Option<()> {
        let usage = match self.used.as_ref()? {
            // If the open `statm` still shows memory afterwards, the process lived when its clock was
            // read, and need not be polled.
            Used::Clock(clock) => {
                let is_proved = self.memory && self.known.statm.fd().is_some();
                let time = clock.read();
                self.read_at = monotonic();
                let time = time.filter(|_| is_proved || !clock.has_ended())?;
                Usage { times: [time, 0], faults: [0; 2] }
            }
            Used::Own => {
                let usage = Usage::of_this_program()?;
                self.read_at = monotonic();
                usage
            }
        };
        self.sample.begin_used();
        if self.memory && !self.reader.memory_of(&mut self.known, &mut self.sample) {
            self.read_files()?;
        }
        self.sample.set_used(usage.times, usage.faults);
        Some(())
    }
}

impl InstanceReader for OneProcess {
    /// Reads the counters into `out`: `None` for a counter that has no value now. Returns the time
    /// from reading the clocks to reading the values. A process that has ended gives one more
    /// sample while it is a zombie: the times and faults of its whole life, without memory, handles
    /// and threads. After that the error is [`NoValue::Vanished`].
    fn read(&mut self, out: &mut [Option<RawSample>]) -> Result<Duration, NoValue> {
        if self.has_ended {
            return Err(NoValue::Vanished);
        }
        self.is_ending = false;
        let mut clocks = self.clock.clocks();
        let mut used = self.read_used();
        // If this program did not run for a while between reading the clocks and the processor time,
        // they do not fit together.
        if used.is_some() && self.read_at - clocks.perf_time > LONGEST {
            clocks = self.clock.clocks();
            used = self.read_used();
        }
        (clocks.object_time, clocks.object_freq) = (clocks.time_100ns, FileTime::PER_SECOND);
        if used.is_none() {
            let last = match &self.used {
                Some(Used::Clock(clock)) => clock.read(),
                _ => None,
            };
            self.read_files().ok_or_else(|| self.missing())?;
            // The process may have begun to end after `stat`, which has its state, was read.
            let memory = self.sample.values().get(self.memory_at.clone()).unwrap_or_default();
            if self.memory && !self.is_ending && memory.iter().all(|value| *value == 0) {
                self.read_files().ok_or_else(|| self.missing())?;
            }
            // `stat` is still that of the same process, so the clock's time was its time, too.
            self.least = self.least.max(last.unwrap_or(0));
            // The clock is read after the process, as for a block.
            clocks.object_time = self.base.now().0;
        }
        for ((place, value_size, row), out) in self.places.iter().zip(out) {
            let value = self.sample.told(*place).map(|value| match *place {
                ALL => {
                    self.least = self.least.max(value);
                    self.least
                }
                _ => row.fit(value),
            });
            let value = value.filter(|_| !self.is_ending || row.kind.samples() == 2);
            *out = value.map(|value| {
                let value = if *value_size == 4 { value & 0xffff_ffff } else { value };
                RawSample { value_size: *value_size, ..RawSample::new(value, clocks) }
            });
        }
        let inexact = self.read_at.saturating_sub(clocks.perf_time);
        Ok(Duration::from_nanos(u64::try_from(inexact).unwrap_or(0)))
    }
}
