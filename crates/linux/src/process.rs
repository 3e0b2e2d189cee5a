//! The provider `linux-process`: Process, and Thread, whose instances point to
//! those of Process.

mod read;
mod sums;
mod thread;
mod wanted;

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
use read::{ProcessReader, Sample, Tracked};
use rustix::fd::OwnedFd;
use rustix::param::page_size;
use wanted::{ThreadWanted, Wanted};

pub(crate) struct ProcessProvider {
    root: ProcRoot,
}

impl ProcessProvider {
    pub(crate) fn new(root: ProcRoot) -> Self {
        Self { root }
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

/// A process that was written, for its threads.
struct Owner {
    pid: u32,
    /// Place among the processes known.
    known: usize,
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
        let wanted = Wanted::new(collection, &mut self.reader);
        self.reader
            .numbers(&mut self.pids)
            .map_err(|error| ProviderError::io("the list of processes", error.into()))?;
        self.follow();
        self.reader.idle(&mut self.stat_file, &mut self.stat);
        self.totals.update(&self.stat.cpus);

        let written = self.write_processes(wanted, out);
        self.reader.faults.report(PROCESS.index, out);
        let places = written?;
        if threads {
            let wanted = ThreadWanted::new(collection, &mut self.reader);
            let written = self.write_threads(places, wanted, out);
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
            while let Some(gone) = before.next_if(|known| known.pid < *pid) {
                self.reader.buffers.take_back(gone.sums);
            }
            let known = before.next_if(|known| known.pid == *pid);
            self.tracked.push(known.unwrap_or_else(|| Tracked::new(*pid)));
        }
        for gone in before {
            self.reader.buffers.take_back(gone.sums);
        }
    }

    fn write_processes(
        &mut self,
        wanted: Wanted,
        out: &mut ObjectWriter<'_>,
    ) -> Result<Places, ProviderError> {
        let mut object = out.object(self.process.template(wanted.mask())?)?;
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
        for (at, known) in self.tracked.iter_mut().enumerate() {
            let Some(sample) = self.reader.process(known, wanted) else {
                continue;
            };
            let place = object.instance_count();
            let name = NameRef::Utf16(self.reader.name());
            let head = InstanceHead { name, unique_id: None, parent: None };
            object.instance_prefix(&head, sample.values())?;
            total.add(&sample);
            let threads = sample.threads();
            self.owners.push(Owner { pid: known.pid, known: at, place, threads });
        }
        // Read when all is read, the clock is behind every start time.
        let now = self.base.now();
        total.make_total(now, wanted);
        let places = Places { idle: idle_place, total: object.instance_count() };
        object.instance_prefix(&InstanceHead::named("_Total"), total.values())?;
        object.clock(now.0, FileTime::PER_SECOND).finish()?;
        Ok(places)
    }
}
