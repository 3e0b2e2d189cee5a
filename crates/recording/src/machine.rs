//! [`MachinePart`] and [`MachineParts`]: what a recording has of single machines.

use perfhive_engine::{
    Ask, Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Recording, Snapshot, Source,
    SourceError, Span, TitleDatabase,
};
use perfhive_format::{FileTime, LanguageId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The samples of one machine, taken from a recording with blocks of several machines, such as a log of the counters of
/// several machines. The recording itself answers an ask for objects by their title indexes with those of its first
/// machine only. This source answers every ask with all objects of the machine that [`new`](Self::new) names.
pub struct MachinePart {
    source: Box<dyn Source>,
    machine: String,
    /// The sample with the objects of all machines.
    whole: Snapshot,
}

impl MachinePart {
    /// The part of the recording `source` with blocks of the machine called `machine`, in the spelling of the blocks.
    #[must_use]
    pub fn new(source: Box<dyn Source>, machine: &str) -> Self {
        Self { source, machine: machine.to_string(), whole: Snapshot::new() }
    }
}

impl Source for MachinePart {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let mut ask = ask.clone();
        ask.objects = ObjectQuery::Global;
        self.source.collect(&ask, &mut self.whole)?;
        push_own(&self.whole, &self.machine, self.source.name(), out);
        Ok(())
    }

    /// The catalogue with the objects of all machines, since a recording lists them together.
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(of_machine(&self.source.catalogue(ask)?, &self.machine))
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.source.providers(ask)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.source.recording()
    }
}

/// Adds the frames of a machine to `out`, and the faults of the sample. Faults that are about the contents of a frame
/// are made anew from the machine's own frames.
fn push_own(whole: &Snapshot, machine: &str, name: &str, out: &mut Snapshot) {
    let own = whole.frames().iter().filter(|frame| frame.machine() == machine);
    out.push_frames(own.cloned(), name);
    let is_of_frame = |fault: &&Fault| {
        matches!(fault.kind, FaultKind::DamagedObject(_) | FaultKind::DamagedName(_))
    };
    let others = whole.faults().iter().filter(|fault| !is_of_frame(fault));
    others.for_each(|fault| out.push_fault(fault.clone()));
}

/// A copy of a catalogue that states `machine` as its machine; the objects stay those of all machines.
fn of_machine(catalogue: &Arc<Catalogue>, machine: &str) -> Arc<Catalogue> {
    let mut catalogue = Catalogue::clone(catalogue);
    catalogue.machine = machine.to_string();
    Arc::new(catalogue)
}

/// A function that opens the recording once more.
type Open = dyn Fn() -> Result<Box<dyn Source>, SourceError> + Send + Sync;

/// The parts of one recording, each about a single machine as a [`MachinePart`] is. As long as the parts are read in
/// step, as a query does it, they share one reading of the recording: a log of 60 machines is not read 60 times. A part
/// that is moved by itself opens the recording once more.
pub struct MachineParts {
    open: Arc<Open>,
    reading: Arc<Mutex<Reading>>,
    machines: Vec<String>,
}

/// The recording that the parts read together.
struct Reading {
    source: Box<dyn Source>,
    /// The number of answers that were read.
    count: u64,
    /// The last answer: the objects of all machines, and the error if it was one.
    last: (Snapshot, Result<(), SourceError>),
}

impl MachineParts {
    /// The parts of the recording `source`, which has these machines. `open` opens the same recording once more.
    pub fn new(
        source: Box<dyn Source>,
        machines: Vec<String>,
        open: impl Fn() -> Result<Box<dyn Source>, SourceError> + Send + Sync + 'static,
    ) -> Self {
        let reading = Reading { source, count: 0, last: (Snapshot::new(), Ok(())) };
        Self { open: Arc::new(open), reading: Arc::new(Mutex::new(reading)), machines }
    }

    /// The part that is about a machine, named without regard to case; `None` if the recording does not have it.
    #[must_use]
    pub fn part(&self, machine: &str) -> Option<Box<dyn Source>> {
        let known = self.machines.iter().find(|known| known.eq_ignore_ascii_case(machine))?;
        let name = locked(&self.reading).source.name().to_string();
        Some(Box::new(Part {
            machine: known.clone(),
            name,
            reading: Arc::clone(&self.reading),
            open: Arc::clone(&self.open),
            taken: 0,
            own: None,
        }))
    }
}

fn locked(reading: &Mutex<Reading>) -> MutexGuard<'_, Reading> {
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The part of the recording that is about a machine.
struct Part {
    machine: String,
    name: String,
    reading: Arc<Mutex<Reading>>,
    open: Arc<Open>,
    /// The number of answers that this part took.
    taken: u64,
    /// The recording as this part alone reads it, once it was out of step with the others; `None` before that.
    own: Option<MachinePart>,
}

impl Part {
    /// The recording as this part alone reads it, at its beginning if it is not open yet.
    fn own(&mut self) -> Result<&mut MachinePart, SourceError> {
        let own = match self.own.take() {
            Some(own) => own,
            None => MachinePart::new((self.open)()?, &self.machine),
        };
        Ok(self.own.insert(own))
    }
}

impl Source for Part {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        if let Some(own) = &mut self.own {
            return own.collect(ask, out);
        }
        let mut reading = locked(&self.reading);
        let Reading { source, count, last: (whole, answer) } = &mut *reading;
        if self.taken == *count {
            *answer = source.collect(&Ask::everything().until(ask.until), whole);
            *count += 1;
        } else if self.taken + 1 != *count {
            drop(reading);
            let taken = self.taken;
            let own = self.own()?;
            for _ in 0..taken {
                // An error here was the answer to an ask before.
                let _ = own.collect(ask, out);
            }
            return own.collect(ask, out);
        }
        self.taken += 1;
        out.clear();
        push_own(whole, &self.machine, &self.name, out);
        answer.clone()
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(of_machine(&locked(&self.reading).source.catalogue(ask)?, &self.machine))
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        locked(&self.reading).source.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        locked(&self.reading).source.providers(ask)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        Some(self)
    }
}

impl Recording for Part {
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        // Before the second sample is read the part can be put back without another reader.
        if self.own.is_none() && to.is_none() && locked(&self.reading).count <= 1 {
            self.taken = 0;
            return Ok(());
        }
        self.own()?.recording().map_or(Ok(()), |own| own.seek(to))
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        let none = Span::new(FileTime(0), FileTime(0), 0);
        match &mut self.own {
            Some(own) => own.recording().map_or(Ok(none), |own| own.span()),
            None => locked(&self.reading).source.recording().map_or(Ok(none), |own| own.span()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReplaySource;
    use perfhive_format::{CounterSpec, CounterType, TitleIndex};
    use perfhive_testkit::script::block;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_question_is_handed_through() {
        let wrap = |source| -> Box<dyn Source> { Box::new(MachinePart::new(source, "B")) };
        perfhive_testkit::forwarding::source(wrap, |_| ObjectQuery::Global);
    }

    /// A recording of three samples, each with the machines A and B.
    fn recording() -> Box<dyn Source> {
        let sample = |second| {
            ["A", "B"]
                .map(|machine| (format!("{machine}{second}"), block(machine, second, &[])).into())
        };
        let samples = (1..=3).map(|second| sample(second).to_vec());
        Box::new(ReplaySource::of_samples("file:log", samples).unwrap())
    }

    /// The machine and the second of an answer; `None` for an error.
    fn answer(part: &mut dyn Source) -> Option<(String, i64)> {
        let mut out = Snapshot::new();
        part.collect(&Ask::everything(), &mut out).ok()?;
        assert_eq!(out.frames().len(), 1);
        let frame = out.frames().first()?;
        Some((frame.machine().to_string(), frame.clocks().perf_time / frame.clocks().perf_freq))
    }

    #[test]
    fn parts_in_step_read_the_recording_once_and_others_have_their_own_samples() {
        let opened = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&opened);
        let open = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(recording())
        };
        let machines = ["A", "B"].map(str::to_string).to_vec();
        let parts = MachineParts::new(recording(), machines, open);
        assert!(parts.part("C").is_none());
        let [mut a, mut b] = ["a", "B"].map(|name| parts.part(name).unwrap());
        let of = |machine: &str, second| Some((machine.to_string(), second));
        // Browsing looks at the first sample and goes back.
        assert_eq!(answer(&mut *b), of("B", 1));
        b.recording().unwrap().seek(None).unwrap();
        for second in 1..=3 {
            assert_eq!((answer(&mut *a), answer(&mut *b)), (of("A", second), of("B", second)));
        }
        assert_eq!((answer(&mut *a), answer(&mut *b)), (None, None));
        assert_eq!((a.recording().unwrap().span().unwrap().samples), 3);
        assert_eq!(opened.load(Ordering::Relaxed), 0);
        // A part that comes later begins at the beginning; one that is put back goes on from there.
        let mut late = parts.part("A").unwrap();
        b.recording().unwrap().seek(None).unwrap();
        for second in 1..=3 {
            assert_eq!((answer(&mut *late), answer(&mut *b)), (of("A", second), of("B", second)));
        }
        assert_eq!((answer(&mut *late), answer(&mut *b), answer(&mut *a)), (None, None, None));
        assert_eq!(opened.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_part_that_falls_behind_goes_on_with_its_own_next_sample() {
        let machines = ["A", "B"].map(str::to_string).to_vec();
        let parts = MachineParts::new(recording(), machines, || Ok(recording()));
        let [mut a, mut b] = ["A", "B"].map(|name| parts.part(name).unwrap());
        let second = |part: &mut dyn Source| answer(part).map(|(_, second)| second);
        assert_eq!((second(&mut *a), second(&mut *b)), (Some(1), Some(1)));
        assert_eq!((second(&mut *a), second(&mut *a)), (Some(2), Some(3)));
        assert_eq!((second(&mut *b), second(&mut *b), second(&mut *b)), (Some(2), Some(3), None));
    }

    #[test]
    fn damage_is_told_once_and_by_the_part_of_its_machine() {
        let counter = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_RAWCOUNT)];
        let damaged = |machine: &str, object| {
            let objects = [(TitleIndex(object), &counter[..], &[("p", None, &[1][..])][..])];
            let mut bytes = block(machine, 1, &objects);
            // The only instance claims to be longer than the block.
            let word =
                |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            let at = word(24) + word(word(24) + 4);
            bytes[at..at + 4].copy_from_slice(&9999u32.to_le_bytes());
            (machine.to_string(), bytes).into()
        };
        let sample = vec![damaged("A", 10), damaged("B", 20)];
        let source = ReplaySource::of_samples("file:log", [sample]).unwrap();
        let mut out = Snapshot::new();
        MachinePart::new(Box::new(source), "B").collect(&Ask::everything(), &mut out).unwrap();
        let objects: Vec<_> = out.faults().iter().map(|fault| fault.object).collect();
        assert_eq!(objects, [Some(TitleIndex(20))], "{:?}", out.faults());
    }
}
