//! A reader of processes and threads from the slots that the BPF program fills, with the values
//! that `/proc` shows.

use super::bpf_slot::{from_slot, name_of, needs_proc, thread_from_slot};
use super::columns::{ProcessColumns, ThreadColumns};
use super::few::Few;
use super::order::sort_by_number;
use super::proc_files::ProcFiles;
use super::read::ProcessReader;
use super::sample::Sample;
use super::shown::{CpuTimes, ShownTask, ShownTasks, time};
use super::thread_sample;
use super::tracked::Tracked;
use crate::bpf::{
    self, Chosen, MARK_NO_RESIDENT, MARK_TORN, ProcessSlot, Program, Refusal, Room, ThreadSlot,
    Wants,
};
use crate::choice::ReaderChoice;
use crate::cpus::SystemStat;
use crate::root::ProcRoot;

/// With [`ReaderChoice::Auto`], the number of collections from `/proc` after which the program is
/// loaded. A collection that wants a counter that BPF does not give is not counted. Loading takes
/// longer than a few readings of `/proc`, which a session of one or two collections would not gain
/// back.
const FIRST: u32 = 3;

/// The most times that the program is run for one reading: if there was too little room for slots,
/// it is run again with more. If there is still too little room, BPF is refused.
const ENLARGEMENTS: u32 = 3;

/// The number of processors that is assumed if it is not known: more than any kernel has.
const MOST_PROCESSORS: u32 = 8192;

enum State {
    /// The program is not loaded yet.
    Waiting,
    Loaded(Program),
    /// BPF was refused; `/proc` is read from then on.
    Refused,
}

/// The state of a session's BPF reader.
pub(super) struct BpfReader {
    choice: ReaderChoice,
    root: ProcRoot,
    state: State,
    collections: u32,
    /// The number and the slot of each process, by ascending number.
    order: Vec<(u32, u32)>,
    /// The processes of `/proc` that are not in the kernel's list: some kernels keep the first
    /// process off the list, so that it is not ended by accident.
    missing: Vec<u32>,
    /// The number and the slot of each thread of one process.
    threads: Vec<(u32, u32)>,
    /// Memory for sorting, kept between collections.
    room: Vec<(u32, u32)>,
    shown: ShownTasks,
    shown_threads: ShownTasks,
    name: Vec<u8>,
    /// The processes that a run reads if it does not read all processes.
    chosen: Chosen,
    /// Whether the program must also be able to run for chosen processes only.
    may_choose: bool,
    /// The number of runs of the program so far.
    runs: u64,
    /// Whether `order` has the processes of the last run.
    ordered: bool,
}

impl BpfReader {
    pub(super) fn new(choice: ReaderChoice, root: ProcRoot) -> Self {
        Self {
            choice,
            root,
            state: State::Waiting,
            collections: 0,
            order: Vec::new(),
            missing: Vec::new(),
            threads: Vec::new(),
            room: Vec::new(),
            shown: ShownTasks::default(),
            shown_threads: ShownTasks::default(),
            name: Vec::new(),
            chosen: Chosen::default(),
            may_choose: false,
            runs: 0,
            ordered: false,
        }
    }

    /// Runs the program for all processes, or with `few` at least for these. Returns `false` if
    /// `/proc` must be read instead. `count` is the number of processes that is expected.
    ///
    /// # Errors
    /// If BPF was chosen explicitly and is refused.
    pub(super) fn sample(
        &mut self,
        wants: Wants,
        stat: &SystemStat,
        count: usize,
        few: Option<&Few>,
        reader: &mut ProcessReader,
    ) -> Result<bool, Refusal> {
        let only = self.choice == ReaderChoice::Bpf;
        match self.state {
            State::Refused => return Ok(false),
            State::Waiting => {
                self.collections += 1;
                if !only {
                    return Ok(false);
                }
            }
            State::Loaded(_) => {}
        }
        let loads = matches!(self.state, State::Waiting);
        let is_chosen = few.is_some_and(|few| self.chosen.set(&few.pids, few.names()));
        self.may_choose = few.is_some();
        let mut done = Ok(());
        if loads {
            // Only a run for all processes shows which processes the program does not meet.
            done = self.run(wants, stat, count, false);
            done = done.and_then(|()| self.find_missing(wants, stat, reader));
        }
        if !loads || is_chosen {
            done = done.and_then(|()| self.run(wants, stat, count, is_chosen));
        }
        let Err(refusal) = done else {
            return Ok(true);
        };
        self.leave_out();
        if only {
            self.state = State::Waiting;
            return Err(refusal);
        }
        self.refuse(&refusal, reader);
        Ok(false)
    }

    /// Loads the program at the end of a collection, if loading is due: with
    /// [`ReaderChoice::Auto`], after [`FIRST`] collections. If it were loaded before the processes
    /// are read, their times would be much later than the sample's clocks.
    pub(super) fn get_ready(
        &mut self,
        wants: Wants,
        stat: &SystemStat,
        count: usize,
        reader: &mut ProcessReader,
    ) {
        let is_due = self.choice == ReaderChoice::Auto && self.collections >= FIRST;
        if !is_due || !matches!(self.state, State::Waiting) {
            return;
        }
        // Only a run for all processes shows which processes the program does not meet.
        let done = self.run(wants, stat, count, false);
        let done = done.and_then(|()| self.find_missing(wants, stat, reader));
        self.leave_out();
        if let Err(refusal) = done {
            self.refuse(&refusal, reader);
        }
    }

    fn refuse(&mut self, refusal: &Refusal, reader: &mut ProcessReader) {
        self.state = State::Refused;
        if refusal.is_surprising() {
            reader.files.faults.object(format_args!("/proc is read from now on: {refusal}"));
        }
    }

    /// Makes this reader, which is for collections of few processes, load the program once `of_all`,
    /// the reader of all processes, has loaded its own. Until this reader has loaded the program, it
    /// takes over the processor times that `of_all` has shown.
    pub(super) fn follow(&mut self, of_all: &Self) {
        if matches!(self.state, State::Waiting) {
            let is_loaded = matches!(of_all.state, State::Loaded(_));
            self.collections = if is_loaded { FIRST - 1 } else { 0 };
            // A process must have the same time, whichever of the two readers reads it.
            self.shown.now.clone_from(&of_all.shown.now);
        }
    }

    /// The part of a task's times that is never shown ([`ShownTask::cut`]): what `/proc` left out
    /// of the times `user` and `kernel`, which are given in nanoseconds. 0 if BPF was chosen
    /// explicitly: such a session shows times of `/proc` only if a counter is wanted that BPF does
    /// not give.
    fn cut(&self, user: u64, kernel: u64, files: &ProcFiles) -> CpuTimes {
        match self.choice {
            ReaderChoice::Bpf => CpuTimes::default(),
            ReaderChoice::Auto | ReaderChoice::Proc => {
                CpuTimes::behind_ticks(user, kernel, files.units(1))
            }
        }
    }

    /// Makes this collection read `/proc` instead of the slots.
    pub(super) fn leave_out(&mut self) {
        self.order.clear();
        self.ordered = false;
    }

    /// Begins to read the processes of the last run.
    pub(super) fn begin(&mut self) {
        self.shown.begin();
    }

    /// Runs the program once more, and notes in `missing` the processes that `/proc` lists and the
    /// program does not meet.
    fn find_missing(
        &mut self,
        wants: Wants,
        stat: &SystemStat,
        reader: &mut ProcessReader,
    ) -> Result<(), Refusal> {
        let failed = |error| Refusal::surprise(format!("the list of processes: {error}"));
        reader.files.numbers(&mut self.missing).map_err(failed)?;
        // Missing are those that were listed, are not met now, and are still there.
        self.run(wants, stat, self.order.len(), false)?;
        let order = &self.order;
        self.missing.retain(|pid| {
            order.binary_search_by_key(pid, |(pid, _)| *pid).is_err() && reader.files.is_there(*pid)
        });
        Ok(())
    }

    /// Runs the program, for the chosen processes if `is_chosen`, otherwise for all. Loads the
    /// program before if it is not loaded; if the slots do not suffice, loads it with more room and
    /// runs it again. `count` is the number of processes that is expected. After an error the
    /// program is not loaded.
    fn run(
        &mut self,
        wants: Wants,
        stat: &SystemStat,
        count: usize,
        is_chosen: bool,
    ) -> Result<(), Refusal> {
        let too_many = || Refusal::surprise("there are more processes or threads than it can hold");
        let mut program = match std::mem::replace(&mut self.state, State::Waiting) {
            State::Loaded(program) => {
                bpf::may_go_on()?;
                program
            }
            _ => {
                let room = Room::of(count, 0).ok_or_else(too_many)?;
                Program::load(&self.root, room, self.may_choose)?
            }
        };
        // Processors that are off count nothing. If no processor is known, all possible processors
        // are read.
        let processors = stat.cpus.iter().map(|cpu| cpu.number.saturating_add(1)).max();
        for _ in 0..ENLARGEMENTS {
            self.runs += 1;
            let chosen = is_chosen.then_some(&self.chosen);
            let there = program.run(wants, processors.unwrap_or(MOST_PROCESSORS), chosen)?;
            let room = program.room();
            if there.processes <= room.processes && there.threads <= room.threads {
                if !self.ordered || program.moved() {
                    self.sort(program.processes());
                    self.ordered = true;
                }
                self.state = State::Loaded(program);
                return Ok(());
            }
            let room = Room::of(
                there.processes.max(room.processes / 2) as usize,
                there.threads.max(room.threads / 2) as usize,
            );
            let room = room.ok_or_else(too_many)?;
            program = Program::load(&self.root, room, self.may_choose)?;
        }
        Err(too_many())
    }

    fn sort(&mut self, slots: &[ProcessSlot]) {
        self.order.clear();
        self.order.extend((0..).zip(slots).map(|(place, slot)| (slot.pid, place)));
        sort_by_number(&mut self.order, &mut self.room);
        // If a process ended and another process got its number, the later process counts.
        self.order.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 = if same { later.1 } else { kept.1 };
            same
        });
    }

    /// Lists in `pids` the processes that the program does not meet, which must be read from
    /// `/proc`.
    pub(super) fn missing(&self, pids: &mut Vec<u32>) {
        let is_met = |pid: &u32| self.order.binary_search_by_key(pid, |(pid, _)| *pid).is_ok();
        pids.clear();
        pids.extend(self.missing.iter().filter(|pid| !is_met(pid)));
    }

    /// The number of the process at a position in the order; `None` behind the last.
    pub(super) fn pid(&self, place: usize) -> Option<u32> {
        self.order.get(place).map(|(pid, _)| *pid)
    }

    /// The number of the newest run of the program; 0 before the first.
    pub(super) fn run_number(&self) -> u64 {
        self.runs
    }

    /// The slot of the process at a position in the order; `None` behind the last.
    pub(super) fn slot(&self, place: usize) -> Option<u32> {
        self.order.get(place).map(|(_, slot)| *slot)
    }

    /// The number of threads of the process at a position, if the process is unchanged; its shown
    /// times are kept. `None` if a value changed or is missing, or if the process was not shown in
    /// the collection before. Must be called in ascending order of positions, before
    /// [`process`](Self::process).
    pub(super) fn is_same(&mut self, place: usize) -> Option<u64> {
        let State::Loaded(program) = &self.state else { return None };
        let (pid, slot) = *self.order.get(place)?;
        let slot = program.processes().get(slot as usize)?;
        if slot.same == 0 || slot.marks & (MARK_TORN | MARK_NO_RESIDENT) != 0 {
            return None;
        }
        let shown = self.shown.of((pid, 0), slot.start)?;
        self.shown.now.push(shown);
        Some(u64::from(slot.threads))
    }

    /// Whether the slot of the process at a position has all values.
    pub(super) fn is_whole(&self, place: usize) -> bool {
        let State::Loaded(program) = &self.state else { return false };
        let slot = self.slot(place).and_then(|slot| program.processes().get(slot as usize));
        slot.is_some_and(|slot| slot.marks & (MARK_TORN | MARK_NO_RESIDENT) == 0)
    }

    /// Reads the process at a position into `sample`, and sets its name in `reader`; returns
    /// `false` if the process no longer exists or cannot be read. Must be called in ascending
    /// order.
    pub(super) fn process(
        &mut self,
        place: usize,
        wanted: ProcessColumns,
        reader: &mut ProcessReader,
        sample: &mut Sample,
    ) -> bool {
        let (Some((pid, slot)), State::Loaded(program)) =
            (self.order.get(place).copied(), &self.state)
        else {
            return false;
        };
        let place = slot as usize;
        let (Some(slot), Some(detail)) =
            (program.processes().get(place), program.details().get(place))
        else {
            return false;
        };
        let (id, start) = ((pid, 0), slot.start);
        let known = self.shown.of(id, start);
        // A security module may refuse `io` in spite of the capabilities; each process is tried once.
        let open = known.map_or_else(|| reader.files.tells_io(pid), |shown| shown.open);
        let (user, kernel) = (detail.user_told, detail.kernel_told);
        let told = CpuTimes::from_nanos(user, kernel);
        let cut = known.map_or_else(|| self.cut(user, kernel, &reader.files), |shown| shown.cut);
        let there = if !needs_proc(slot.marks, slot.threads, wanted) {
            name_of(slot, detail, &mut self.name);
            reader.set_name(&self.name, pid);
            let least = known.map_or(told, |shown| shown.times);
            let time = time(detail.user, detail.kernel, detail.runtime, least);
            from_slot((slot, detail), time.minus(cut), wanted, open, reader, sample)
        } else {
            reader.process(&mut Tracked::new(pid), wanted, sample)
        };
        if !there {
            return false;
        }
        let least = known.map(|shown| shown.times.minus(cut));
        let (user, kernel) = sample.raise_times(least.map(|least| (least.user, least.kernel)));
        let times = CpuTimes { user, kernel }.plus(cut);
        self.shown.now.push(ShownTask { id, start, times, cut, open });
        true
    }

    /// Begins to read the threads of the last run.
    pub(super) fn begin_threads(&mut self) {
        self.shown_threads.begin();
    }

    /// Hands each thread of the process at a position to `write`, until that returns an error. Must
    /// be called in ascending order.
    pub(super) fn threads<E>(
        &mut self,
        place: usize,
        wanted: ThreadColumns,
        files: &ProcFiles,
        mut write: impl FnMut(&thread_sample::Sample) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Some((pid, slot)), State::Loaded(program)) = (self.order.get(place), &self.state)
        else {
            return Ok(());
        };
        let Some(process) = program.processes().get(*slot as usize) else {
            return Ok(());
        };
        let first = process.first_thread as usize;
        let slots = program.threads().get(first..).unwrap_or_default();
        let slots = slots.get(..process.thread_slots as usize).unwrap_or_default();
        self.threads.clear();
        self.threads.extend((0..).zip(slots).map(|(place, slot)| (slot.tid, place)));
        sort_by_number(&mut self.threads, &mut self.room);
        for (tid, place) in &self.threads {
            let Some(slot) = slots.get(*place as usize) else {
                continue;
            };
            let ThreadSlot { start, user, kernel, runtime, .. } = *slot;
            let id = (*pid, *tid);
            let known = self.shown_threads.of(id, start);
            let told = CpuTimes::from_nanos(slot.user_told, slot.kernel_told);
            let cut = || self.cut(slot.user_told, slot.kernel_told, files);
            let cut = known.map_or_else(cut, |shown| shown.cut);
            let times = time(user, kernel, runtime, known.map_or(told, |shown| shown.times));
            self.shown_threads.now.push(ShownTask { id, start, times, cut, open: true });
            let start = files.start_time_of_nanos(start);
            write(&thread_from_slot(slot, times.minus(cut), start, id, wanted))?;
        }
        Ok(())
    }
}

impl Wants {
    /// The values that the program must read; `None` if BPF does not give a wanted counter, or does
    /// not give it as `/proc` does: sums over the threads of a process begin anew with each reader.
    pub(super) fn of(wanted: ProcessColumns, threads: Option<ThreadColumns>) -> Option<Self> {
        let of_threads = threads.unwrap_or_default();
        if wanted.counts.any() || of_threads.counts.delay || of_threads.processor {
            return None;
        }
        Some(Self {
            threads: threads.is_some(),
            handles: wanted.handles || wanted.descriptors,
            schedule: wanted.schedule || of_threads.schedule || of_threads.counts.waiting,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_bpf_met_are_not_missing() {
        let mut second = BpfReader::new(ReaderChoice::Bpf, ProcRoot::default());
        second.missing = vec![4, 5, 6];
        second.order = vec![(1, 0), (5, 1), (9, 2)];
        let mut missing = vec![7];
        second.missing(&mut missing);
        assert_eq!(missing, [4, 6]);
    }
}
