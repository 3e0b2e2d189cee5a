//! Instances as they were written, for processes that did nothing since: most
//! of them, most of the time. Their bytes are copied, whole rows of neighbours
//! at once, and their values stand in the sums already.
//!
//! While nobody comes or goes, what is kept is a picture of all instances as they
//! stood in the last block: then only those that changed are looked at, and the
//! picture is copied around them.

mod picture;

use super::sample::{MOST, Sample};
use super::wanted::Wanted;
use perfhive_format::{ObjectWriting, WriteError};
use picture::Row;

/// What instances are padded to: how, depends on where they stand.
const ALIGNMENT: usize = 8;

/// One process, by the number of its slot.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Where its instance is in `bytes`.
    at: usize,
    length: usize,
    /// Where it was in its block, modulo [`ALIGNMENT`].
    phase: usize,
    /// The run in which it was written, or found to be the same; 0 for none.
    run: u64,
    /// Whether the sums have its values.
    counted: bool,
    /// Its place in the picture.
    row: u32,
}

/// What was written of the processes.
pub(super) struct Kept {
    /// What they were written for.
    wanted: Option<Wanted>,
    /// The newest run of the reader that all was written of.
    ended: Option<u64>,
    /// The run of the reader that is written.
    newest: u64,
    /// Counts them, and those between them that were not written as one.
    run: u64,
    bytes: Vec<u8>,
    /// How many of them are some process's.
    live: usize,
    cells: Vec<Cell>,
    /// The values of each, by slot.
    samples: Vec<Sample>,
    sums: [u128; MOST],
    /// How many processes have how many values, of those in the sums.
    with_values: Vec<u32>,
    /// How many are in the sums, and how many were met in this run.
    counted: usize,
    met: usize,
    /// Instances that are to be copied, from where to where and how many.
    waiting: (usize, usize, u32),
    /// All instances in their order, if `bytes` is the picture of them.
    rows: Vec<Row>,
    is_picture: bool,
    /// Where in the block the picture begins, modulo [`ALIGNMENT`].
    phase: usize,
    /// Rows of the picture that are written already.
    passed: usize,
    /// Rows that are to be written anew.
    anew: Vec<u32>,
    /// Whether the picture is what is written.
    goes_on: bool,
}

impl Default for Kept {
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
            with_values: Vec::new(),
            counted: 0,
            met: 0,
            waiting: (0, 0, 0),
            rows: Vec::new(),
            is_picture: false,
            phase: 0,
            passed: 0,
            anew: Vec::new(),
            goes_on: false,
        }
    }
}

impl Kept {
    /// Begins with what a run of the reader brought.
    pub(super) fn begin(&mut self, run: u64, wanted: Wanted) {
        let follows = self.ended.take().is_some_and(|ended| ended + 1 == run);
        self.newest = run;
        self.run += if follows { 1 } else { 2 };
        self.is_picture &= follows;
        self.goes_on = false;
        // What was written anew leaves holes.
        if self.wanted != Some(wanted) || self.bytes.len() > 2 * self.live + 4096 {
            self.bytes.clear();
            self.live = 0;
            self.cells.clear();
            self.samples.clear();
            self.sums = [0; MOST];
            self.with_values.clear();
            self.with_values.resize(MOST + 1, 0);
            self.counted = 0;
            self.wanted = Some(wanted);
            self.is_picture = false;
        }
        // Room for all of it to be written anew behind what is there.
        self.bytes.reserve((3 * self.live + 8192).saturating_sub(self.bytes.len()));
        self.met = 0;
        self.waiting = (0, 0, 0);
    }

    /// Whether the process of a slot that is the same as in the run before was
    /// written in that, and would be written to the same bytes now.
    pub(super) fn has(&self, slot: u32, object: &ObjectWriting<'_, '_>) -> bool {
        let Some(cell) = self.cells.get(slot as usize) else { return false };
        let (start, end, _) = self.waiting;
        let phase = (object.position() + end - start) % ALIGNMENT;
        cell.counted && cell.run != 0 && cell.run + 1 == self.run && cell.phase == phase
    }

    /// Writes a process again that [`has`](Self::has) was true of.
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

    /// Instances that wait to be copied.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting.2
    }

    /// How many bytes these have.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.1 - self.waiting.0
    }

    /// Copies what waits, before anything else is written.
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

    /// Keeps what was written of the process of a slot, at this position.
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
        if let Some(count) = self.with_values.get_mut(sample.values().len()) {
            *count += 1;
        }
        self.counted += 1;
        self.met += 1;
    }

    /// Takes the values of a slot out of the sums.
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
        if let Some(count) = self.with_values.get_mut(sample.values().len()) {
            *count -= 1;
        }
        self.counted -= 1;
    }

    /// Ends a run: who was not met in it is gone. Adds the sums over the others
    /// to `total`.
    pub(super) fn end(&mut self, total: &mut Sample) {
        self.ended = Some(self.newest);
        if self.met != self.counted && !self.goes_on {
            for place in 0..self.cells.len() {
                if self.cells.get(place).is_some_and(|cell| cell.run != self.run) {
                    self.leave_out(place);
                }
            }
        }
        let most = self.with_values.iter().rposition(|count| *count > 0).unwrap_or(0);
        total.add_sums(&self.sums, most);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Known;
    use super::*;
    use perfhive_format::{
        BlockHead, BlockWriter, CounterSpec, CounterType, InstanceHead, NameRef, ObjectSpec,
        ObjectTemplate, TitleIndex,
    };

    /// A process: what changes with each step that it does.
    #[derive(Clone, Copy)]
    struct Process {
        pid: u32,
        steps: u32,
        /// As of the run before, what the reader finds out.
        same: bool,
        /// Gone when it is asked for.
        gone: bool,
    }

    impl Process {
        /// Some are not told by a slot.
        fn known(&self, slot: u32) -> Known {
            match self.pid % 11 {
                5 => Known::Tracked(slot as usize),
                _ => Known::Second(slot as usize),
            }
        }
    }

    fn template() -> ObjectTemplate {
        let counter = |at| CounterSpec::new(TitleIndex(at), CounterType::PERF_COUNTER_RAWCOUNT);
        let counters: Vec<_> = (10..10 + MOST as u32).map(counter).collect();
        ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)).with_instances(), &counters).unwrap()
    }

    fn sample(process: &Process) -> Sample {
        let mut sample = Sample::default();
        let number = u64::from(process.pid) << 10;
        sample.begin([number, number, 1], [process.pid, 0], [7, 3], u64::MAX / 1000, 1);
        // Some do not tell the last ones.
        if !process.pid.is_multiple_of(3) {
            sample.push_io(u64::from(process.steps), 2, 3, 4);
        }
        sample
    }

    fn name(process: &Process) -> Vec<u16> {
        // One that changes its length.
        format!("p{}", 10u32.pow(process.steps % 4)).encode_utf16().collect()
    }

    fn write_one(object: &mut ObjectWriting<'_, '_>, process: &Process) {
        let name = name(process);
        let head = InstanceHead { name: NameRef::Utf16(&name), unique_id: None, parent: None };
        object.instance_prefix(&head, sample(process).values()).unwrap();
    }

    /// How often was what done.
    #[derive(Default)]
    struct Done {
        copied: u32,
        pictures: u32,
        /// Of pictures.
        anew: u32,
    }

    /// Writes one, and has it kept.
    fn keep_one(
        kept: &mut Kept,
        object: &mut ObjectWriting<'_, '_>,
        total: &mut Sample,
        (known, process): (Known, &Process),
    ) {
        let position = object.position();
        if !process.gone {
            write_one(object, process);
        }
        match known {
            Known::Second(slot) if !process.gone => {
                kept.put(slot as u32, &sample(process), position, object);
            }
            Known::Second(slot) => kept.forget(slot as u32),
            Known::Tracked(_) if !process.gone => total.add(&sample(process)),
            Known::Tracked(_) => {}
        }
    }

    /// The block and the values of `_Total`, with what is kept. `settled`: all are
    /// where they were in the run before.
    fn by_kept(
        kept: &mut Kept,
        (run, wanted, settled): (u64, Wanted, bool),
        slots: &[Process],
        order: &[u32],
        template: &ObjectTemplate,
        done: &mut Done,
    ) -> (Vec<u8>, Vec<u64>) {
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let mut object = block.object(template).unwrap();
        let mut total = Sample::default();
        kept.begin(run, wanted);
        if settled && kept.may_go_on(&object) {
            done.pictures += 1;
            let changes = (0..).zip(slots).filter(|(_, process)| !process.same);
            kept.go_on(changes.map(|(slot, _)| slot));
            let mut passed = 0;
            while let Some(known) = kept.next_anew(&mut passed, &mut object).unwrap() {
                done.anew += 1;
                let (Known::Second(slot) | Known::Tracked(slot)) = known;
                let position = object.position();
                keep_one(kept, &mut object, &mut total, (known, &slots[slot]));
                kept.redone(position, &object);
            }
        } else {
            kept.begin_rows();
            let start = object.position();
            let mut whole = settled;
            for slot in order {
                let process = &slots[*slot as usize];
                let known = process.known(*slot);
                let is_slot = matches!(known, Known::Second(_));
                if process.same && is_slot && kept.has(*slot, &object) {
                    kept.row(known, object.position() + kept.waiting_bytes());
                    kept.again(*slot, &mut object).unwrap();
                    done.copied += 1;
                    continue;
                }
                kept.flush(&mut object).unwrap();
                whole &= !process.gone;
                if !process.gone {
                    kept.row(known, object.position());
                }
                keep_one(kept, &mut object, &mut total, (known, process));
            }
            kept.flush(&mut object).unwrap();
            if whole {
                kept.end_rows(start, &object, |known| match known {
                    Known::Second(slot) => Some(slot as u32),
                    Known::Tracked(_) => None,
                });
            }
        }
        kept.end(&mut total);
        object.finish().unwrap();
        (block.finish().to_vec(), total.values().to_vec())
    }

    #[test]
    fn what_is_kept_is_what_would_be_written() {
        let template = template();
        let mut state = 1u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) as u32) % below
        };
        let mut kept = Kept::default();
        let mut slots: Vec<Process> = Vec::new();
        let (mut next, mut run) = (0, 0);
        let mut done = Done::default();
        let mut order: Vec<u32> = Vec::new();
        let mut wanted = Wanted::default();
        for _ in 0..4000 {
            // Births, at the end; deaths, behind which all move up.
            for slot in &mut slots {
                // Who was gone when it was looked at may be looked at again.
                (slot.same, slot.gone) = (!slot.gone, false);
            }
            let before = slots.len();
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
            let mut settled = !moved && slots.len() == before;
            if !settled {
                order = (0..slots.len() as u32).collect();
                // One whose number another has is left out.
                if random(5) == 0 {
                    order.retain(|slot| slot % 7 != 3);
                }
                let third = order.len() / 3;
                order.rotate_left(third);
            }
            run += 1;
            // Sometimes nobody asks for what a run brought.
            if random(10) == 0 {
                continue;
            }
            // Or wants something else.
            if random(40) == 0 {
                wanted.swap = !wanted.swap;
            }
            // Or wants more, for which all are looked at.
            settled &= random(10) != 0;
            let asked = (run, wanted, settled);
            let (got, total) = by_kept(&mut kept, asked, &slots, &order, &template, &mut done);

            let mut block = BlockWriter::new();
            block.start(&BlockHead::default());
            let mut object = block.object(&template).unwrap();
            let mut expected = Sample::default();
            let there = order.iter().map(|slot| &slots[*slot as usize]);
            for process in there.filter(|process| !process.gone) {
                write_one(&mut object, process);
                expected.add(&sample(process));
            }
            object.finish().unwrap();
            assert!(got == block.finish(), "run {run} of {order:?}");
            let expected = expected.values();
            // Of no processes at all there are the values that all have.
            assert!(total == expected || order.is_empty(), "{total:?} {expected:?}");
        }
        let Done { copied, pictures, anew } = done;
        assert!(copied > 5_000 && pictures > 500 && anew > 500, "{copied} {pictures} {anew}");
    }

    #[test]
    fn sums_are_no_less_than_they_can_be_told() {
        let template = template();
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let object = block.object(&template).unwrap();
        let mut kept = Kept::default();
        kept.begin(1, Wanted::default());
        let mut sample = Sample::default();
        sample.begin([u64::MAX; 3], [1, 0], [0; 2], u64::MAX, 1);
        kept.put(0, &sample, object.position(), &object);
        kept.put(1, &sample, object.position(), &object);
        let mut total = Sample::default();
        kept.end(&mut total);
        assert_eq!(total.values()[0], u64::MAX);
        // The one that stays is told as it is.
        kept.begin(2, Wanted::default());
        sample.begin([5, 5, 5], [1, 0], [0; 2], 5, 1);
        kept.put(0, &sample, object.position(), &object);
        let mut total = Sample::default();
        kept.end(&mut total);
        assert_eq!(total.values()[0], 10);
    }
}
