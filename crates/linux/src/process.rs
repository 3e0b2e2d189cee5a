//! The provider `linux-process`: Process, Thread, and what memory maps tell,
//! whose instances point to those of Process.

mod read;
mod sums;
mod thread;
mod wanted;

use crate::clock::TimeBase;
use crate::cpus::{SystemStat, Ticks, Totals};
use crate::files::Reader;
use crate::layout::Layouts;
use crate::maps::{self, Maps};
use crate::root::ProcRoot;
use crate::table::{ADDRESS_SPACE, FULL_IMAGE, IMAGE, Object, PROCESS, THREAD, THREAD_DETAILS};
use crate::titles;
use perfhive_engine::{
    Collection, Numbering, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::{FileTime, InstanceHead, NameRef, TitleIndex};
use read::{BATCH, ProcessReader, Sample, Slot, Tracked, TrackedThread, follow};
use rustix::fd::OwnedFd;
use rustix::param::page_size;
use wanted::{ThreadWanted, Wanted};

/// The objects of the provider.
const OBJECTS: [&Object; 6] =
    [&PROCESS, &THREAD, &IMAGE, &FULL_IMAGE, &ADDRESS_SPACE, &THREAD_DETAILS];

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
            objects: OBJECTS.map(|object| object.description()).into(),
        }
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        titles::of_objects(&OBJECTS)
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
            maps: Maps::new(),
            threads_before: Vec::new(),
            process: Layouts::new(&PROCESS),
            thread: Layouts::new(&THREAD),
        }))
    }
}

/// A process that was written, for its threads.
struct Owner {
    /// Place among the processes known.
    known: usize,
    /// Place among the instances of Process.
    place: u32,
    threads: u64,
    /// Its one thread, if that was read with it.
    first: Option<thread::Sample>,
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
    maps: Maps,
    /// Those of it that were known before; empty between processes.
    threads_before: Vec<TrackedThread>,
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
        let maps = maps::Wanted::of(collection);
        if !threads && !maps.any() && !collection.wants(TitleIndex(PROCESS.index)) {
            return Ok(());
        }
        let of_threads = threads.then(|| ThreadWanted::new(collection, &mut self.reader));
        let plain = of_threads.is_some_and(ThreadWanted::is_plain);
        let wanted = Wanted::new(collection, plain, &mut self.reader);
        self.maps.begin(maps);
        self.reader
            .numbers(&mut self.pids)
            .map_err(|error| ProviderError::io("the list of processes", error.into()))?;
        let number = |known: &Tracked| known.pid;
        let buffers = &mut self.reader.buffers;
        let gone = |gone: Tracked| buffers.take_back(gone.sums);
        follow(&self.pids, &mut self.tracked, &mut self.before, number, Tracked::new, gone);
        self.reader.idle(&mut self.stat_file, &mut self.stat);
        self.totals.update(&self.stat.cpus);

        let written = self.write_processes(wanted, out);
        self.reader.faults.report(PROCESS.index, out);
        let places = written?;
        if let Some(wanted) = of_threads {
            let written = self.write_threads(places, wanted, out);
            self.reader.faults.report(THREAD.index, out);
            written?;
        }
        self.maps.write(self.reader.files(), out)
    }
}

impl ProcessSession {
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
        for (batch, known) in self.tracked.chunks_mut(BATCH).enumerate() {
            self.reader.read(known, wanted);
            for (Slot { at, sample, thread, .. }, name) in self.reader.processes() {
                let place = object.instance_count();
                let head =
                    InstanceHead { name: NameRef::Utf16(name), unique_id: None, parent: None };
                object.instance_prefix(&head, sample.values())?;
                total.add(sample);
                let pid = known.get(*at).map_or(0, |known| known.pid);
                self.maps.add(pid, place, name);
                let (known, threads) = (batch * BATCH + at, sample.threads());
                self.owners.push(Owner { known, place, threads, first: *thread });
            }
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
