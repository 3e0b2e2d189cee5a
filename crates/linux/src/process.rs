//! The provider `linux-process`: Process, and Thread, whose instances point to
//! those of Process.

mod read;
mod second;
mod thread;

use crate::bpf::Wants;
use crate::choice::ReaderChoice;
use crate::clock::TimeBase;
use crate::cpus::{SystemStat, Ticks, Totals};
use crate::files::Reader;
use crate::layout::Layouts;
use crate::root::ProcRoot;
use crate::table::{PROCESS, THREAD};
use crate::titles;
use perfhive_engine::{
    Collection, Numbering, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::{FileTime, InstanceHead, NameRef, TitleIndex};
use read::{ProcessReader, Sample, Tracked, Wanted};
use rustix::fd::OwnedFd;
use rustix::param::page_size;
use second::Second;

/// Process 230, Handle Count.
const HANDLES: u32 = 952;
/// Process 230, Virtual Bytes Peak and Working Set Peak.
const PEAKS: [u32; 2] = [172, 178];
/// Thread 232, Context Switches/sec.
const SWITCHES: u32 = 146;

pub(crate) struct ProcessProvider {
    root: ProcRoot,
    choice: ReaderChoice,
}

impl ProcessProvider {
    pub(crate) fn new(root: ProcRoot, choice: ReaderChoice) -> Self {
        Self { root, choice }
    }
}

impl Provider for ProcessProvider {
    fn name(&self) -> &str {
        "linux-process"
    }

    fn describe(&self) -> ProviderDescription {
        ProviderDescription {
            numbering: Numbering::Windows,
            objects: [&PROCESS, &THREAD].map(|object| object.description()).into(),
        }
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        titles::of_objects(&[&PROCESS, &THREAD])
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let reader = Reader::open(self.root.proc()).map_err(|error| {
            ProviderError::io(self.root.proc().display().to_string(), error.into())
        })?;
        let base = TimeBase::process();
        Ok(Box::new(ProcessSession {
            reader: ProcessReader::new(reader, Ticks::of_system(), page_size() as u64, base),
            second: Second::new(self.choice, self.root.clone()),
            base,
            stat_file: None,
            stat: SystemStat::default(),
            totals: Totals::default(),
            pids: Vec::new(),
            tracked: Vec::new(),
            before: Vec::new(),
            owners: Vec::new(),
            threads: Vec::new(),
            process: Layouts::new(&PROCESS),
            thread: Layouts::new(&THREAD),
        }))
    }
}

/// Who knows a process, and at what place in its list.
#[derive(Clone, Copy)]
enum Known {
    /// It is read from `/proc`.
    Tracked(usize),
    /// The second reader has it.
    Second(usize),
}

/// A process that was written, for its threads.
struct Owner {
    pid: u32,
    known: Known,
    /// Place among the instances of Process.
    place: u32,
    threads: u64,
}

/// Where the two instances stand that are no processes.
#[derive(Clone, Copy)]
struct Places {
    idle: Option<u32>,
    total: u32,
}

struct ProcessSession {
    reader: ProcessReader,
    second: Second,
    base: TimeBase,
    stat_file: Option<OwnedFd>,
    stat: SystemStat,
    totals: Totals,
    pids: Vec<u32>,
    /// The processes known, by ascending number.
    tracked: Vec<Tracked>,
    /// Those of the collection before; empty between collections.
    before: Vec<Tracked>,
    owners: Vec<Owner>,
    /// Numbers of the threads of one process.
    threads: Vec<u32>,
    process: Layouts,
    thread: Layouts,
}

impl Session for ProcessSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let threads = collection.wants(TitleIndex(THREAD.index));
        if !threads && !collection.wants(TitleIndex(PROCESS.index)) {
            return Ok(());
        }
        let asked =
            |object, counter| collection.wants_extra(TitleIndex(object), TitleIndex(counter));
        let wanted = Wanted {
            handles: asked(PROCESS.index, HANDLES) && self.reader.has_handles(),
            peaks: PEAKS.iter().any(|counter| asked(PROCESS.index, *counter)),
        };
        self.reader.idle(&mut self.stat_file, &mut self.stat);
        let wants = Wants { threads, handles: wanted.handles, schedule: false };
        let by_second = self
            .second
            .sample(wants, &self.stat, self.pids.len(), &mut self.reader)
            .map_err(|refusal| ProviderError::Failed(format!("BPF: {refusal}")))?;
        match by_second {
            true => self.second.missing(&mut self.pids),
            false => self
                .reader
                .numbers(&mut self.pids)
                .map_err(|error| ProviderError::io("the list of processes", error.into()))?,
        }
        self.follow();
        self.totals.update(&self.stat.cpus);

        let written = self.write_processes(wanted, out);
        self.reader.faults.report(PROCESS.index, out);
        let places = written?;
        if threads {
            let switches = asked(THREAD.index, SWITCHES);
            let written = self.write_threads(places, switches, out);
            self.reader.faults.report(THREAD.index, out);
            written?;
        }
        Ok(())
    }
}

impl ProcessSession {
    /// Makes `tracked` agree with `pids`: what is known of a process stays
    /// with its number, for as long as that is there.
    fn follow(&mut self) {
        std::mem::swap(&mut self.tracked, &mut self.before);
        self.tracked.clear();
        let mut before = self.before.drain(..).peekable();
        for pid in &self.pids {
            while before.next_if(|known| known.pid < *pid).is_some() {}
            let known = before.next_if(|known| known.pid == *pid);
            self.tracked.push(known.unwrap_or_else(|| Tracked::new(*pid)));
        }
    }

    fn write_processes(
        &mut self,
        wanted: Wanted,
        out: &mut ObjectWriter<'_>,
    ) -> Result<Places, ProviderError> {
        let mut mask = PROCESS.standard();
        if wanted.handles {
            mask |= PROCESS.bits(HANDLES);
        }
        if wanted.peaks {
            mask |= PEAKS.iter().fold(0, |mask, counter| mask | PROCESS.bits(*counter));
        }
        let mut object = out.object(self.process.template(mask)?)?;
        let mut total = Sample::default();
        let mut idle_place = None;
        if !self.stat.cpus.is_empty() {
            let idle = self.totals.sum.idle;
            let sample = Sample::idle(idle, self.stat.cpus.len() as u64, self.base, wanted);
            idle_place = Some(object.instance_count());
            object.instance_prefix(&InstanceHead::named("Idle"), sample.values())?;
            total.add_values(&sample);
        }
        self.owners.clear();
        let (mut tracked, mut second) = (0, 0);
        let mut sample = Sample::default();
        loop {
            // By ascending number, whoever knows the next one.
            let (pid, known, there) = match (self.tracked.get_mut(tracked), self.second.pid(second))
            {
                (None, None) => break,
                (Some(known), pid) if pid.is_none_or(|pid| known.pid < pid) => {
                    let read = self.reader.process(known, wanted);
                    let there = read.map(|read| sample = read).is_some();
                    tracked += 1;
                    (known.pid, Known::Tracked(tracked - 1), there)
                }
                (_, pid) => {
                    let place = second;
                    let there = self.second.process(place, wanted, &mut self.reader, &mut sample);
                    second += 1;
                    (pid.unwrap_or(0), Known::Second(place), there)
                }
            };
            if !there {
                continue;
            }
            let place = object.instance_count();
            let name = NameRef::Utf16(self.reader.name());
            let head = InstanceHead { name, unique_id: None, parent: None };
            object.instance_prefix(&head, sample.values())?;
            total.add(&sample);
            let threads = sample.threads();
            self.owners.push(Owner { pid, known, place, threads });
        }
        // Read when all is read, the clock is behind every start time.
        let now = self.base.now();
        total.make_total(now);
        let places = Places { idle: idle_place, total: object.instance_count() };
        object.instance_prefix(&InstanceHead::named("_Total"), total.values())?;
        object.clock(now.0, FileTime::PER_SECOND).finish()?;
        Ok(places)
    }
}
