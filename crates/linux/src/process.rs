//! The provider `linux-process`: Process, Thread, and what memory maps tell,
//! whose instances point to those of Process.

mod by_second;
mod kept;
mod order;
mod read;
mod rest;
mod sample;
mod second;
mod sums;
mod thread;
mod told;
mod tracked;
mod wanted;

use crate::bpf::Wants;
use crate::choice::ReaderChoice;
use crate::clock::TimeBase;
use crate::cpus::{SystemStat, Ticks, Totals};
use crate::files::Reader;
use crate::maps::{self, Maps};
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::{ADDRESS_SPACE, FULL_IMAGE, IMAGE, Object, PROCESS, THREAD, THREAD_DETAILS};
use kept::Kept;
use perfhive_engine::standard::Layouts;
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::{FileTime, InstanceHead, NameRef, ObjectWriting, TitleIndex};
use read::{BATCH, ProcessReader, Slot};
use rustix::fd::OwnedFd;
use rustix::param::page_size;
use sample::Sample;
use second::Second;
use tracked::{Tracked, TrackedThread, follow};
use wanted::{ThreadWanted, Wanted};

/// The objects of the provider.
static OBJECTS: [&Object; 6] =
    [&PROCESS, &THREAD, &IMAGE, &FULL_IMAGE, &ADDRESS_SPACE, &THREAD_DETAILS];

/// The provider.
pub(crate) fn provider(root: &ProcRoot, choice: ReaderChoice) -> impl Provider + use<> {
    LinuxProvider::new("linux-process", &OBJECTS, root, move |root, reader| {
        ProcessSession::open(root, reader, choice)
    })
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
    known: Known,
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
    kept: Kept,
    /// Numbers of the threads of one process.
    threads: Vec<u32>,
    maps: Maps,
    /// Those of it that were known before; empty between processes.
    threads_before: Vec<TrackedThread>,
    process: Layouts,
    thread: Layouts,
}

impl ProcessSession {
    fn open(root: &ProcRoot, reader: Reader, choice: ReaderChoice) -> Self {
        let base = TimeBase::process();
        Self {
            reader: ProcessReader::new(reader, Ticks::of_system(), page_size() as u64, base),
            second: Second::new(choice, root.clone()),
            base,
            stat_file: None,
            stat: SystemStat::default(),
            totals: Totals::default(),
            pids: Vec::new(),
            tracked: Vec::new(),
            before: Vec::new(),
            owners: Vec::new(),
            kept: Kept::default(),
            threads: Vec::new(),
            maps: Maps::new(),
            threads_before: Vec::new(),
            process: Layouts::new(&PROCESS),
            thread: Layouts::new(&THREAD),
        }
    }
}

// `tracked` and `threads_before` change places with others; `follow` tells of them.
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
        self.reader.files().set_deadline(collection.deadline());
        let of_threads = threads.then(|| ThreadWanted::new(collection, &mut self.reader));
        let plain = of_threads.is_some_and(ThreadWanted::is_plain);
        let wanted = Wanted::new(collection, plain, &mut self.reader);
        self.maps.begin(maps);
        self.reader.idle(&mut self.stat_file, &mut self.stat);
        let by_second = match Wants::of(wanted, of_threads) {
            Some(wants) => {
                let done = self.second.sample(wants, &self.stat, self.pids.len(), &mut self.reader);
                done.map_err(|refusal| ProviderError::Failed(format!("BPF: {refusal}")))?
            }
            // What it does not tell is read from `/proc`, for all processes.
            None => {
                self.second.leave_out();
                false
            }
        };
        match by_second {
            true => self.second.missing(&mut self.pids),
            false => self
                .reader
                .numbers(&mut self.pids)
                .map_err(|error| ProviderError::io("the list of processes", error.into()))?,
        }
        let number = |known: &Tracked| known.pid;
        let ProcessReader { buffers, resting, .. } = &mut self.reader;
        let gone = |gone: Tracked| {
            buffers.take_back(gone.sums);
            resting.take_back(gone.rest);
        };
        follow(&self.pids, &mut self.tracked, &mut self.before, number, Tracked::new, gone);
        self.totals.update(&self.stat.cpus);
        self.reader.begin(self.tracked.len(), !by_second && wanted.is_plain());

        let written = self.write_processes(wanted, by_second, of_threads.is_some(), out);
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
        by_second: bool,
        threads: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<Places, ProviderError> {
        let mut object = out.object(self.process.template(wanted.mask())?)?;
        let mut total = Sample::default();
        let mut idle_place = None;
        let processors = self.stat.cpus.len() as u64;
        let idle = Sample::idle(self.totals.sum.idle, processors, self.base, wanted);
        if processors > 0 {
            idle_place = Some(object.instance_count());
            object.instance_prefix(&InstanceHead::named("Idle"), idle.values())?;
        }
        // Where the processors are not known now, the sum keeps what they did.
        total.add_values(&idle);
        self.owners.clear();
        let Self { reader, second, tracked, owners, maps, kept, .. } = self;
        let owners = threads.then_some(owners);
        let mut writing = Writing { object, total, reader, owners, maps };
        match by_second {
            true => writing.by_second(tracked, second, kept, wanted)?,
            false => writing.by_proc(tracked, wanted)?,
        }
        let Writing { mut object, mut total, .. } = writing;
        // Read when all is read, the clock is behind every start time.
        let now = self.base.now();
        total.make_total(now, wanted);
        let places = Places { idle: idle_place, total: object.instance_count() };
        object.instance_prefix(&InstanceHead::named("_Total"), total.values())?;
        object.clock(now.0, FileTime::PER_SECOND).finish()?;
        Ok(places)
    }
}

/// Process while it is written.
struct Writing<'a, 'w, 't> {
    object: ObjectWriting<'w, 't>,
    total: Sample,
    reader: &'a mut ProcessReader,
    /// For Thread, if that is wanted: they take several cache lines each.
    owners: Option<&'a mut Vec<Owner>>,
    maps: &'a mut Maps,
}

impl Writing<'_, '_, '_> {
    /// The processes as `/proc` tells them, in batches.
    fn by_proc(&mut self, tracked: &mut [Tracked], wanted: Wanted) -> Result<(), ProviderError> {
        let all = tracked.len();
        for (batch, known) in tracked.chunks_mut(BATCH).enumerate() {
            if self.reader.files().is_late() {
                let left = all.saturating_sub(batch * BATCH);
                let what = format_args!("{left} processes were not read");
                self.reader.faults.object(format_args!("the deadline passed: {what}"));
                break;
            }
            self.reader.read(known, wanted);
            for (Slot { at, sample, thread, .. }, name) in self.reader.processes() {
                let place = self.object.instance_count();
                let head =
                    InstanceHead { name: NameRef::Utf16(name), unique_id: None, parent: None };
                self.object.instance_prefix(&head, sample.values())?;
                self.total.add(sample);
                let pid = known.get(*at).map_or(0, |known| known.pid);
                self.maps.add(pid, place, name);
                if let Some(owners) = &mut self.owners {
                    let (known, threads) = (Known::Tracked(batch * BATCH + at), sample.threads());
                    owners.push(Owner { known, place, threads, first: *thread });
                }
            }
        }
        Ok(())
    }
}
