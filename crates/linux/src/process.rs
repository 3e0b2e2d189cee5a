//! The provider `linux-process`: Process, Thread, and the objects of memory maps, with instances
//! that refer to those of Process.
//!
//! From the bottom up; a file imports only from lines above its own:
//!
//! | file | what |
//! |---|---|
//! | `few.rs` | the processes of a collection that does not want all |
//! | `order.rs`, `shown.rs` | sorting by number; processor times that were shown before |
//! | `kernel.rs`, `columns.rs` | features of this kernel; the counters that a collection fills |
//! | `sample.rs`, `thread_sample.rs`, `instances.rs` | the values of a process and of a thread; written instances |
//! | `proc_files.rs` | files of processes, units, faults |
//! | `thread_counts.rs`, `rest.rs` | sums over threads; processes that need not be read again |
//! | `tracked.rs`, `copies.rs`, `ended.rs` | processes from one collection to the next; instances that are copied as bytes; the counts of ended processes and threads |
//! | `read_thread.rs`, `read.rs` | threads and processes from `/proc` |
//! | `bpf_reader.rs` | processes and threads through BPF |
//! | `bpf_slot.rs` | the values of the BPF program's slots |
//! | `cpu_clock.rs`, `one.rs` | one process without a data block |
//! | `write.rs`, `write_bpf.rs`, `write_threads.rs` | the objects, written from either reader |
//! | `by_number.rs` | Process V2 and Thread V2, copied from Process and Thread |

mod bpf_reader;
mod bpf_slot;
mod by_number;
mod columns;
mod copies;
mod cpu_clock;
mod ended;
mod few;
mod instances;
mod kernel;
mod one;
mod order;
mod proc_files;
mod read;
mod read_thread;
mod rest;
mod sample;
mod shown;
mod thread_counts;
mod thread_sample;
mod tracked;
mod write;
mod write_bpf;
mod write_threads;

use crate::bpf::Wants;
use crate::choice::{LinuxOptions, ReaderChoice};
use crate::clock::TimeBase;
use crate::cpus::{SystemStat, Ticks, Totals};
use crate::files::Reader;
use crate::maps::{self, Maps};
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::{
    ADDRESS_SPACE, FULL_IMAGE, IMAGE, Object, PROCESS, PROCESS_V2, THREAD, THREAD_DETAILS,
    THREAD_V2,
};
use bpf_reader::BpfReader;
use by_number::ByNumber;
use columns::{ProcessColumns, ThreadColumns};
use copies::Copies;
use ended::{Ended, Times};
use few::Few;
use instances::{Owner, Places};
use one::OneProcess;
use perfhive_engine::standard::Layouts;
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::{FileTime, InstanceHead, TitleIndex};
use proc_files::ProcFiles;
use read::ProcessReader;
use rustix::fd::OwnedFd;
use rustix::param::page_size;
use sample::{COMMON, GROWING, Sample, Sum, growing};
use thread_sample::SUMS as THREAD_SUMS;
use tracked::{Tracked, follow};
use write::Writing;
use write_threads::{Lists, ThreadWriter};

/// The objects of the provider.
static OBJECTS: [&Object; 8] = [
    &PROCESS,
    &THREAD,
    &PROCESS_V2,
    &THREAD_V2,
    &IMAGE,
    &FULL_IMAGE,
    &ADDRESS_SPACE,
    &THREAD_DETAILS,
];

/// The provider `linux-process` for the machine below `root`.
pub(crate) fn provider(root: &ProcRoot, options: &LinuxOptions) -> impl Provider + use<> {
    let (choice, skip) = (options.chosen(), options.skips_resting());
    let provider = LinuxProvider::new("linux-process", &OBJECTS, root, move |root, reader| {
        ProcessSession::open(root, reader, choice, skip)
    });
    match choice {
        ReaderChoice::Bpf => provider,
        _ => provider.with_instance_reader(|root, object, identity, counters| {
            Some(Box::new(OneProcess::open(root, object, identity, counters)?))
        }),
    }
}

struct ProcessSession {
    root: ProcRoot,
    /// The session for collections that do not want all processes; `None` until the first such
    /// collection. It is separate because the outer session keeps the state of all processes from
    /// one collection to the next.
    of_few: Option<Box<Self>>,
    few: Few,
    reader: ProcessReader,
    choice: ReaderChoice,
    bpf: BpfReader,
    /// Whether a process that has not run since the sample before may be read in part.
    skip: bool,
    base: TimeBase,
    stat_file: Option<OwnedFd>,
    stat: SystemStat,
    totals: Totals,
    pids: Vec<u32>,
    /// The processes that are read from `/proc`, by ascending number.
    tracked: Vec<Tracked>,
    /// The processes of the previous collection; empty between collections.
    before: Vec<Tracked>,
    owners: Vec<Owner>,
    copies: Copies,
    maps: Maps,
    threads: Lists,
    ended: Ended<GROWING>,
    /// Whether all processes of the machine are seen, and not only those of a namespace.
    sees_all: bool,
    /// The processes that this collection could not read, by ascending number.
    unread: Vec<u32>,
    ended_threads: Ended<THREAD_SUMS>,
    process: Layouts,
    thread: Layouts,
    by_number: ByNumber,
    process_v2: Layouts,
    thread_v2: Layouts,
}

impl ProcessSession {
    fn open(root: &ProcRoot, reader: Reader, choice: ReaderChoice, skip: bool) -> Self {
        let base = TimeBase::of(root);
        let files = ProcFiles::new(reader, Ticks::of_system(), page_size() as u64, base.clone());
        Self {
            root: root.clone(),
            of_few: None,
            few: Few::default(),
            reader: ProcessReader::new(files),
            choice,
            bpf: BpfReader::new(choice, root.clone()),
            skip,
            base,
            stat_file: None,
            stat: SystemStat::default(),
            totals: Totals::default(),
            pids: Vec::new(),
            tracked: Vec::new(),
            before: Vec::new(),
            owners: Vec::new(),
            copies: Copies::default(),
            maps: Maps::new(),
            threads: Lists::default(),
            ended: Ended::default(),
            sees_all: false,
            unread: Vec::new(),
            ended_threads: Ended::default(),
            process: Layouts::new(&PROCESS).telling_absent(),
            thread: Layouts::new(&THREAD),
            by_number: ByNumber::default(),
            process_v2: Layouts::new(&PROCESS_V2).telling_absent(),
            thread_v2: Layouts::new(&THREAD_V2),
        }
    }
}

impl Session for ProcessSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let of_processes = OBJECTS.map(|object| object.index);
        if !self.few.set(collection, &of_processes) {
            return self.run(collection, false, out);
        }
        let session = match &mut self.of_few {
            Some(session) => session,
            none => {
                let proc = self.root.proc();
                let reader = Reader::open(proc)
                    .map_err(|error| ProviderError::io(proc.display().to_string(), error.into()))?;
                none.insert(Box::new(Self::open(&self.root, reader, self.choice, false)))
            }
        };
        session.bpf.follow(&self.bpf);
        std::mem::swap(&mut self.few, &mut session.few);
        session.run(collection, true, out)?;
        collection.wanted().iter().for_each(|object| out.partial(*object));
        Ok(())
    }
}

impl ProcessSession {
    /// Collects all processes, or with `is_few` the processes of `few`.
    fn run(
        &mut self,
        collection: &Collection<'_>,
        is_few: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wants = |object: &Object| collection.wants(TitleIndex(object.index));
        let threads = wants(&THREAD);
        let maps = maps::WantedMaps::of(collection);
        if !threads && !maps.any() && !wants(&PROCESS) {
            return Ok(());
        }
        self.reader.files.reader.set_deadline(collection.deadline());
        let of_threads = threads.then(|| ThreadColumns::new(collection, &mut self.reader.probe()));
        let plain = of_threads.is_some_and(ThreadColumns::is_plain);
        let wanted = ProcessColumns::new(collection, is_few, plain, &mut self.reader.probe());
        self.maps.begin(maps);
        if !is_few {
            self.reader.files.idle(&mut self.stat_file, &mut self.stat);
        }
        let of_bpf = Wants::of(wanted, of_threads);
        let by_bpf = match of_bpf {
            Some(wants) => {
                let (few, count) = (is_few.then_some(&self.few), self.pids.len());
                let done = self.bpf.sample(wants, &self.stat, count, few, &mut self.reader);
                done.map_err(|refusal| ProviderError::Failed(format!("BPF: {refusal}")))?
            }
            // If BPF does not give a wanted counter, all processes are read from `/proc`.
            None => {
                self.bpf.leave_out();
                false
            }
        };
        match by_bpf {
            true => {
                self.bpf.missing(&mut self.pids);
                if is_few && !self.few.has_names() {
                    self.pids.retain(|pid| self.few.pids.binary_search(pid).is_ok());
                }
            }
            // Processes that are wanted by number need no list of all processes.
            false if is_few && !self.few.has_names() => {
                self.pids.clone_from(&self.few.pids);
                let Self { pids, tracked, reader, .. } = self;
                pids.retain(|pid| {
                    let known = tracked.binary_search_by_key(pid, |known| known.pid);
                    known.is_ok() || reader.files.is_process(*pid)
                });
            }
            false => self
                .reader
                .files
                .numbers(&mut self.pids)
                .map_err(|error| ProviderError::io("the list of processes", error.into()))?,
        }
        let number = |known: &Tracked| known.pid;
        let ProcessReader { buffers, .. } = &mut self.reader;
        let gone = |gone: Tracked| buffers.take_back(gone.sums);
        follow(&self.pids, &mut self.tracked, &mut self.before, number, Tracked::new, gone);
        self.totals.update(&self.stat.cpus);
        self.reader.begin(self.tracked.len(), self.skip && !by_bpf && wanted.is_plain());

        let mark = out.mark();
        let written = self.write_processes(wanted, by_bpf, is_few, of_threads.is_some(), out);
        self.reader.files.faults.report(PROCESS.index, out);
        let (places, total) = written?;
        if wants(&PROCESS_V2) {
            self.by_number.write(mark, self.process_v2.template(wanted.mask())?, out)?;
        }
        if let Some(wanted) = of_threads {
            let mark = out.mark();
            let object = out.object(self.thread.template(wanted.mask())?)?;
            let writer = ThreadWriter {
                files: &mut self.reader.files,
                bpf: &mut self.bpf,
                tracked: &mut self.tracked,
                owners: &self.owners,
                unread: &self.unread,
                lists: &mut self.threads,
                stat: &self.stat,
                totals: &self.totals,
                base: &self.base,
                ended: &mut self.ended_threads,
                of_processes: COMMON.map(|place| total.told(place).unwrap_or(0)),
            };
            let written = writer.write(object, places, wanted);
            self.reader.files.faults.report(THREAD.index, out);
            written?;
            if wants(&THREAD_V2) {
                self.by_number.write(mark, self.thread_v2.template(wanted.mask())?, out)?;
            }
        }
        if let Some(wants) = of_bpf {
            self.bpf.get_ready(wants, &self.stat, self.pids.len(), &mut self.reader);
            self.reader.files.faults.report(PROCESS.index, out);
        }
        self.maps.write(&mut self.reader.files.reader, out)
    }
}

impl ProcessSession {
    fn write_processes(
        &mut self,
        wanted: ProcessColumns,
        by_bpf: bool,
        is_few: bool,
        threads: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(Places, Sample), ProviderError> {
        let mut object = out.object(self.process.template(wanted.mask())?)?;
        let mut total = Sum::default();
        let mut idle_place = None;
        let processors = self.stat.cpus.len() as u64;
        let mut idle = Sample::idle(self.totals.sum.idle, processors, &self.base, wanted);
        if processors > 0 {
            idle_place = Some(object.instance_count());
            object.instance_prefix(&InstanceHead::named("Idle"), idle.block())?;
        }
        // If the processors cannot be read now, the sum keeps the idle time that they had before.
        total.add_values(&idle);
        self.owners.clear();
        self.unread.clear();
        let Self { reader, bpf, tracked, owners, maps, copies, ended, sees_all, few, .. } = self;
        if !is_few {
            ended.begin();
        }
        let mut writing = Writing {
            object,
            total,
            reader,
            owners: threads.then_some(owners),
            maps,
            ended,
            growing: growing(wanted),
            unread: &mut self.unread,
            sees_all,
            complete: true,
            few: is_few.then_some(few),
        };
        match by_bpf {
            true => writing.by_bpf(tracked, bpf, copies, wanted)?,
            false => writing.by_proc(tracked, wanted)?,
        }
        let Writing { mut object, mut total, ended, growing, sees_all, complete, .. } = writing;
        let kernel = sees_all.then_some((&self.stat, &self.totals));
        if !is_few {
            add_ended(&mut total, ended, growing, complete, kernel);
        }
        // The clock is read after all processes, so that it is later than every start time.
        let now = self.base.now();
        let mut total = total.into_total(now, wanted, idle.len());
        let total_place = (!is_few).then_some(object.instance_count());
        let places = Places { idle: idle_place, total: total_place };
        if !is_few {
            object.instance_prefix(&InstanceHead::named("_Total"), total.block())?;
        }
        object.clock(now.0, FileTime::PER_SECOND).finish()?;
        Ok((places, total))
    }
}

/// Adds to `total` the counts that ended processes had when they were last seen, and the processor
/// time that they used between then and their end. That time is added only if all processes were
/// met (`complete`) and read, and `kernel` has the kernel's own sums over them.
fn add_ended(
    total: &mut Sum,
    ended: &mut Ended<GROWING>,
    growing: [Option<usize>; GROWING],
    complete: bool,
    kernel: Option<(&SystemStat, &Totals)>,
) {
    let born = ended.born();
    for (place, missing) in growing.into_iter().zip(ended.end(complete)) {
        place.into_iter().for_each(|place| total.add_at(place, missing));
    }
    // The kernel's sums include what unread processes have used meanwhile.
    let is_whole = complete && ended.all_read();
    let Some((stat, totals)) = kernel.filter(|_| is_whole) else { return };
    let Some(made) = stat.made else { return };
    let of_all = totals.sum;
    // Interrupts take time of whatever process they meet.
    let soft = of_all.soft_interrupt.unwrap_or(0);
    let others = of_all.interrupt.unwrap_or(0).saturating_add(soft);
    let kernel = [of_all.user, of_all.privileged.saturating_sub(others)];
    let [user, in_kernel] = total.times();
    let parts = [user, in_kernel.saturating_sub(of_all.idle)];
    let unseen = ended.unseen(born, Times { kernel, parts, made });
    for (place, more) in [1, 2].into_iter().zip(unseen) {
        for place in [0, place] {
            total.add_at(place, more);
            ended.lose(place, more);
        }
    }
}
