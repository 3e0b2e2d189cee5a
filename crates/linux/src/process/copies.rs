//! The written instances of processes, kept from run to run. Most processes do nothing between two
//! runs: the bytes of their instances are copied, those of neighbours at once, and their values are
//! in the sums already.

use super::columns::ProcessColumns;
use super::sample::{MOST, Sample, Sum};
use perfhive_format::{ObjectWriting, WriteError};

/// The multiple of bytes to which instances are padded; the padding depends on an instance's
/// position.
const ALIGNMENT: usize = 8;

/// The written instance of a process. Its index in [`Copies::cells`] is the number of the slot in
/// which the BPF program has the process.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The position of the instance in `bytes`.
    at: usize,
    length: usize,
    /// The position of the instance in its block, modulo [`ALIGNMENT`].
    phase: usize,
    /// The number ([`Copies::run`]) of the last run in which the instance was written or found
    /// unchanged; 0 for none.
    run: u64,
    /// Whether the values of the instance are in the sums.
    counted: bool,
}

/// The written instances of processes, as bytes and as sums. An instance of a process that is
/// unchanged since the previous run of the BPF program is copied.
pub(super) struct Copies {
    /// The counters of the written instances; `None` before the first.
    wanted: Option<ProcessColumns>,
    /// The number of the newest run of the BPF program that was written completely; `None` if there
    /// was none, or while another run is being written.
    ended: Option<u64>,
    /// The number of the run of the BPF program that is being written.
    newest: u64,
    /// The number of this run, by which cells are compared. It grows by 1 if this run follows the
    /// run that was written last. Otherwise it grows by 2, so that no cell counts as written in the
    /// run before.
    run: u64,
    bytes: Vec<u8>,
    /// The number of bytes in `bytes` that belong to the instances of `cells`; the others are
    /// holes.
    live: usize,
    cells: Vec<Cell>,
    /// The values of the processes, by slot.
    samples: Vec<Sample>,
    sums: [u128; MOST],
    /// The number of processes in the sums that lack each value.
    lacking: [usize; MOST],
    /// The number of values that each process has, values that it lacks included.
    width: usize,
    /// The number of processes in the sums. Until the run ends, it includes processes of the run
    /// before that have ended.
    counted: usize,
    /// The number of processes that were written or copied so far in this run.
    met: usize,
    /// The instances that wait to be copied: the beginning and the end of their bytes, and their
    /// number.
    waiting: (usize, usize, u32),
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            wanted: None,
            ended: None,
            newest: 0,
            run: 0,
            bytes: Vec::new(),
            live: 0,
            cells: Vec::new(),
            samples: Vec::new(),
            sums: [0; MOST],
            lacking: [0; MOST],
            width: 0,
            counted: 0,
            met: 0,
            waiting: (0, 0, 0),
        }
    }
}

impl Copies {
    /// Begins to write a run of the BPF program, given by its number. The copies are emptied if
    /// `wanted` differs from the run before, or if most of their bytes are unused.
    pub(super) fn begin(&mut self, run: u64, wanted: ProcessColumns) {
        let follows = self.ended.take().is_some_and(|ended| ended + 1 == run);
        self.newest = run;
        self.run += if follows { 1 } else { 2 };
        // Instances that were written anew leave holes.
        if self.wanted != Some(wanted) || self.bytes.len() > 2 * self.live + 4096 {
            self.bytes.clear();
            self.live = 0;
            self.cells.clear();
            self.samples.clear();
            self.sums = [0; MOST];
            self.lacking = [0; MOST];
            self.counted = 0;
            self.wanted = Some(wanted);
        }
        // Room for writing all of it anew behind the existing bytes.
        self.bytes.reserve((3 * self.live + 8192).saturating_sub(self.bytes.len()));
        self.met = 0;
        self.waiting = (0, 0, 0);
    }

    /// Whether the unchanged process of a slot was written in the run before, and would be written
    /// as the same bytes now.
    pub(super) fn has(&self, slot: u32, object: &ObjectWriting<'_, '_>) -> bool {
        let Some(cell) = self.cells.get(slot as usize) else { return false };
        let (start, end, _) = self.waiting;
        let phase = (object.position() + end - start) % ALIGNMENT;
        cell.counted && cell.run != 0 && cell.run + 1 == self.run && cell.phase == phase
    }

    /// Adds the instance of a slot for which [`has`](Self::has) is true to the waiting instances,
    /// which the next [`flush`](Self::flush) copies. If its bytes do not follow the bytes of the
    /// waiting instances, those are copied first.
    pub(super) fn again(
        &mut self,
        slot: u32,
        object: &mut ObjectWriting<'_, '_>,
    ) -> Result<(), WriteError> {
        let Some(cell) = self.cells.get_mut(slot as usize) else { return Ok(()) };
        cell.run = self.run;
        let (at, end) = (cell.at, cell.at + cell.length);
        self.met += 1;
        if at != self.waiting.1 || self.waiting.2 == 0 {
            self.flush(object)?;
            self.waiting = (at, at, 0);
        }
        self.waiting.1 = end;
        self.waiting.2 += 1;
        Ok(())
    }

    /// The number of instances that wait to be copied.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting.2
    }

    /// Copies the waiting instances into the object; must be called before anything else is
    /// written.
    pub(super) fn flush(&mut self, object: &mut ObjectWriting<'_, '_>) -> Result<(), WriteError> {
        let (start, end, count) = std::mem::take(&mut self.waiting);
        match count {
            0 => Ok(()),
            _ => {
                let bytes = self.bytes.get(start..end).unwrap_or_default();
                object.instances_as_written(bytes, count)
            }
        }
    }

    /// Keeps the instance that was written since `position` for the process of a slot, and adds its
    /// values to the sums.
    pub(super) fn put(
        &mut self,
        slot: u32,
        sample: &Sample,
        position: usize,
        object: &ObjectWriting<'_, '_>,
    ) {
        let written = object.since(position);
        let place = slot as usize;
        if self.cells.len() <= place {
            self.cells.resize(place + 1, Cell::default());
            self.samples.resize(place + 1, Sample::default());
        }
        self.leave_out(place);
        let (Some(cell), Some(known)) = (self.cells.get_mut(place), self.samples.get_mut(place))
        else {
            return;
        };
        if cell.length != written.len() {
            self.live = self.live - cell.length + written.len();
            (cell.at, cell.length) = (self.bytes.len(), written.len());
            self.bytes.extend_from_slice(written);
        } else if let Some(bytes) = self.bytes.get_mut(cell.at..cell.at + cell.length) {
            bytes.copy_from_slice(written);
        }
        (cell.run, cell.counted) = (self.run, true);
        cell.phase = position % ALIGNMENT;
        *known = *sample;
        for (sum, value) in self.sums.iter_mut().zip(sample.values()) {
            *sum += u128::from(*value);
        }
        lacked(&mut self.lacking, sample).for_each(|count| *count += 1);
        self.width = sample.len();
        self.counted += 1;
        self.met += 1;
    }

    /// Subtracts the values of the process of a slot from the sums.
    fn leave_out(&mut self, place: usize) {
        let (Some(cell), Some(sample)) = (self.cells.get_mut(place), self.samples.get(place))
        else {
            return;
        };
        if !std::mem::take(&mut cell.counted) {
            return;
        }
        for (sum, value) in self.sums.iter_mut().zip(sample.values()) {
            *sum -= u128::from(*value);
        }
        lacked(&mut self.lacking, sample).for_each(|count| *count -= 1);
        self.counted -= 1;
    }

    /// Ends a run: processes that were not met have ended. Adds the sums over the others to
    /// `total`.
    pub(super) fn end(&mut self, total: &mut Sum) {
        self.ended = Some(self.newest);
        if self.met != self.counted {
            for place in 0..self.cells.len() {
                if self.cells.get(place).is_some_and(|cell| cell.run != self.run) {
                    self.leave_out(place);
                }
            }
        }
        let lacking = self.lacking.iter().take(self.width).enumerate();
        let told = lacking.filter(|(_, count)| **count < self.counted);
        total.add_sums(&self.sums, told.fold(0, |told, (place, _)| told | 1 << place));
    }
}

/// The counts in `lacking` for the values that a process lacks.
fn lacked<'a>(
    lacking: &'a mut [usize; MOST],
    sample: &Sample,
) -> impl Iterator<Item = &'a mut usize> {
    let absent = sample.absent();
    let all = lacking.iter_mut().enumerate();
    all.filter(move |(place, _)| absent & (1 << place) != 0).map(|(_, count)| count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::{
        BlockHead, BlockWriter, CounterSpec, CounterType, FileTime, InstanceHead, NameRef,
        ObjectSpec, ObjectTemplate, TitleIndex,
    };

    /// A process of the test: its state in one run.
    #[derive(Clone, Copy)]
    struct Process {
        pid: u32,
        steps: u32,
        /// Whether the reader finds the process unchanged since the run before.
        same: bool,
        /// Whether the process has ended when the reader asks for it.
        gone: bool,
    }

    impl Process {
        /// Whether the process is read from `/proc`: its instance is written without being kept for
        /// copying.
        fn is_plain(&self) -> bool {
            self.pid % 11 == 5
        }
    }

    fn template() -> ObjectTemplate {
        let counter = |at| CounterSpec::new(TitleIndex(at), CounterType::PERF_COUNTER_RAWCOUNT);
        let counters: Vec<_> = (10..11 + MOST as u32).map(counter).collect();
        ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)).with_instances(), &counters).unwrap()
    }

    fn sample(process: &Process) -> Sample {
        let mut sample = Sample::default();
        let number = u64::from(process.pid) << 10;
        sample.begin([number, number, 1], [process.pid, 0], [7, 3], u64::MAX / 1000, 1);
        // Some do not tell the last ones.
        match process.pid.is_multiple_of(3) {
            true => sample.push_absent(6),
            false => sample.push_io(u64::from(process.steps), 2, 3, 4),
        }
        sample
    }

    /// The values in the counter block of `_Total`.
    fn told(sum: Sum) -> Vec<u64> {
        let mut total = sum.into_total(FileTime(1), ProcessColumns::default(), 16);
        total.block().to_vec()
    }

    fn name(process: &Process) -> Vec<u16> {
        // One that changes its length.
        format!("p{}", 10u32.pow(process.steps % 4)).encode_utf16().collect()
    }

    fn write_one(object: &mut ObjectWriting<'_, '_>, process: &Process) {
        let name = name(process);
        let head = InstanceHead { name: NameRef::Utf16(&name), unique_id: None, parent: None };
        object.instance_prefix(&head, sample(process).block()).unwrap();
    }

    /// The block that is written with copies of kept instances, the values of `_Total`, and the
    /// number of instances that were copied.
    fn by_copies(
        copies: &mut Copies,
        (run, wanted): (u64, ProcessColumns),
        slots: &[Process],
        order: &[u32],
        template: &ObjectTemplate,
    ) -> (Vec<u8>, Vec<u64>, u32) {
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let mut object = block.object(template).unwrap();
        let (mut total, mut copied) = (Sum::default(), 0);
        copies.begin(run, wanted);
        for slot in order {
            let process = &slots[*slot as usize];
            if process.same && !process.is_plain() && copies.has(*slot, &object) {
                copies.again(*slot, &mut object).unwrap();
                copied += 1;
                continue;
            }
            copies.flush(&mut object).unwrap();
            if process.gone {
                continue;
            }
            let position = object.position();
            write_one(&mut object, process);
            match process.is_plain() {
                true => total.add(&sample(process)),
                false => copies.put(*slot, &sample(process), position, &object),
            }
        }
        copies.flush(&mut object).unwrap();
        copies.end(&mut total);
        object.finish().unwrap();
        (block.finish().to_vec(), told(total), copied)
    }

    #[test]
    fn copied_instances_are_the_bytes_and_sums_that_would_be_written() {
        let template = template();
        let mut state = 1u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) as u32) % below
        };
        let mut copies = Copies::default();
        let mut slots: Vec<Process> = Vec::new();
        let (mut next, mut run) = (0, 0);
        let mut copied = 0;
        let mut order: Vec<u32> = Vec::new();
        let mut wanted = ProcessColumns::default();
        for _ in 0..4000 {
            // Births, at the end; deaths, behind which all move up.
            for slot in &mut slots {
                // A process that was gone when it was read may be read again.
                (slot.same, slot.gone) = (!slot.gone, false);
            }
            let stirs = random(4) == 0;
            if stirs {
                for _ in 0..random(3) {
                    next += 1 + random(3);
                    slots.push(Process { pid: next, steps: 0, same: false, gone: false });
                }
            }
            let moved = stirs && (slots.len() > 30 || random(4) == 0) && !slots.is_empty();
            if moved {
                let gone = random(slots.len() as u32) as usize;
                slots.remove(gone);
                slots[gone..].iter_mut().for_each(|slot| slot.same = false);
            }
            for slot in &mut slots {
                if random(if stirs { 6 } else { 20 }) == 0 {
                    (slot.steps, slot.same) = (slot.steps + 1, false);
                    slot.gone = random(30) == 0;
                }
            }
            if moved || order.len() != slots.len() {
                order = (0..slots.len() as u32).collect();
                // A process with a number that a later one has as well is left out.
                if random(5) == 0 {
                    order.retain(|slot| slot % 7 != 3);
                }
                let third = order.len() / 3;
                order.rotate_left(third);
            }
            run += 1;
            // Sometimes a run is not written.
            if random(10) == 0 {
                continue;
            }
            // Or other counters are wanted.
            if random(40) == 0 {
                wanted.swap = !wanted.swap;
            }
            let (got, total, again) =
                by_copies(&mut copies, (run, wanted), &slots, &order, &template);
            copied += again;

            let mut block = BlockWriter::new();
            block.start(&BlockHead::default());
            let mut object = block.object(&template).unwrap();
            let mut expected = Sum::default();
            let there = order.iter().map(|slot| &slots[*slot as usize]);
            for process in there.filter(|process| !process.gone) {
                write_one(&mut object, process);
                expected.add(&sample(process));
            }
            object.finish().unwrap();
            assert!(got == block.finish(), "run {run} of {order:?}");
            let expected = told(expected);
            // Of no processes at all there are the values that all have.
            assert!(total == expected || order.is_empty(), "{total:?} {expected:?}");
        }
        assert!(copied > 5_000, "{copied}");
    }

    #[test]
    fn a_sum_beyond_64_bits_is_shown_as_the_largest_value_and_recovers() {
        let template = template();
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let object = block.object(&template).unwrap();
        let mut copies = Copies::default();
        copies.begin(1, ProcessColumns::default());
        let mut sample = Sample::default();
        sample.begin([u64::MAX; 3], [1, 0], [0; 2], u64::MAX, 1);
        copies.put(0, &sample, object.position(), &object);
        copies.put(1, &sample, object.position(), &object);
        let mut total = Sum::default();
        copies.end(&mut total);
        assert_eq!(told(total)[0], u64::MAX);
        // The sum has the values of the remaining process.
        copies.begin(2, ProcessColumns::default());
        sample.begin([5, 5, 5], [1, 0], [0; 2], 5, 1);
        copies.put(0, &sample, object.position(), &object);
        let mut total = Sum::default();
        copies.end(&mut total);
        assert_eq!(told(total)[0], 10);
    }
}
