//! What is measured within this process.

use anyhow::{Result, anyhow};
use perfhive_engine::{
    Ask, Broker, Collection, ObjectQuery, ObjectWriter, OpenContext, Session, Snapshot, Source,
    TestLevel,
};
use perfhive_format::{BlockHead, BlockWriter, DataBlock, TitleIndex};
use perfhive_linux::{
    LinuxClock, LinuxOptions, ProcRoot, ReaderChoice, machine_name, providers_with,
};
use procfs::process::all_processes;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

pub const PROCESS: &[u32] = &[230];
pub const THREAD: &[u32] = &[230, 232];

fn numbers(path: &str) -> Vec<u32> {
    let names = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut numbers: Vec<_> =
        names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The `stat` files of all processes, or of all threads, kept open: reading
/// and parsing these is REF, the least that a reader of /proc can pay.
pub struct Bare {
    files: Vec<File>,
    buffer: Vec<u8>,
}

impl Bare {
    pub fn new(threads: bool) -> Self {
        let mut files = Vec::new();
        for pid in numbers("/proc") {
            if !threads {
                files.extend(File::open(format!("/proc/{pid}/stat")));
                continue;
            }
            let task = format!("/proc/{pid}/task");
            let open = |tid| File::open(format!("{task}/{tid}/stat")).ok();
            files.extend(numbers(&task).into_iter().filter_map(open));
        }
        Self { files, buffer: vec![0; 4096] }
    }

    pub fn read(&mut self) -> usize {
        let (mut sum, mut count) = (0, 0);
        for file in &self.files {
            let Ok(length) = file.read_at(&mut self.buffer, 0) else { continue };
            let text = &self.buffer[..length];
            let Some(close) = text.iter().rposition(|byte| *byte == b')') else { continue };
            for word in text[close + 1..].split(|byte| *byte == b' ').skip(2).take(21) {
                sum = word.iter().fold(sum, |number: u64, byte| {
                    number.wrapping_mul(10).wrapping_add(u64::from(byte.wrapping_sub(b'0')))
                });
            }
            count += 1;
        }
        black_box(sum);
        count
    }
}

/// perfhive's providers, and the block that they fill.
pub struct Perfhive {
    sessions: Vec<Box<dyn Session>>,
    writer: BlockWriter,
    request: Ask,
    wanted: Vec<TitleIndex>,
}

impl Perfhive {
    pub fn new(objects: &[u32], reader: ReaderChoice) -> Result<Self> {
        let wanted: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
        let options = LinuxOptions::new().reader(reader);
        let sessions = providers_with(&ProcRoot::default(), &options).into_iter();
        let sessions = sessions.map(|provider| provider.open(&OpenContext::default()));
        Ok(Self {
            sessions: sessions.collect::<Result<_, _>>().map_err(|error| anyhow!("{error}"))?,
            writer: BlockWriter::new(),
            request: Ask::new(ObjectQuery::Indexes(wanted.clone())),
            wanted,
        })
    }

    /// Asks for the nice value as well, which comes from `stat`: so every file of
    /// every process is read.
    pub fn in_full(mut self) -> Self {
        self.request.extra_counters = vec![(TitleIndex(230), TitleIndex(105_002))];
        self
    }

    pub fn read(&mut self) -> Result<usize> {
        let (mut faults, mut foreign) = (Vec::new(), Vec::new());
        self.writer.start(&BlockHead::default());
        for session in &mut self.sessions {
            let mut out = ObjectWriter::new(
                &mut self.writer,
                "linux",
                TestLevel::None,
                &mut faults,
                &mut foreign,
            );
            session
                .collect(&Collection::new(&self.request, &self.wanted), &mut out)
                .map_err(|error| anyhow!("{error}"))?;
        }
        black_box(self.writer.finish());
        Ok(0)
    }

    /// Instances of the object asked for last.
    pub fn count(&mut self) -> Result<usize> {
        self.read()?;
        let block = DataBlock::parse(self.writer.finish()).map_err(|error| anyhow!("{error:?}"))?;
        let last = self.wanted.last().copied();
        let object = block.objects().find(|object| Some(object.name_index()) == last);
        Ok(object.map_or(0, |object| object.instances().count()))
    }
}

/// Everything that is Global, as a consumer gets it: a snapshot of the broker.
pub struct Global {
    broker: Broker,
    snapshot: Snapshot,
}

impl Global {
    pub fn new() -> Self {
        let broker = Broker::builder("local:", &machine_name())
            .clock(LinuxClock::of(&ProcRoot::default()))
            .providers(providers_with(
                &ProcRoot::default(),
                &LinuxOptions::new().reader(ReaderChoice::Proc),
            ))
            .build();
        Self { broker, snapshot: Snapshot::new() }
    }

    /// Answers the number of objects.
    pub fn read(&mut self) -> Result<usize> {
        self.broker
            .collect(&Ask::new(ObjectQuery::Global), &mut self.snapshot)
            .map_err(|error| anyhow!("{error}"))?;
        Ok(self.snapshot.objects().count())
    }
}

/// The crate sysinfo: processor time, memory and I/O.
pub struct Sysinfo {
    system: System,
    kind: ProcessRefreshKind,
}

impl Sysinfo {
    pub fn new(threads: bool) -> Result<Self> {
        let kind = ProcessRefreshKind::nothing().with_cpu().with_memory().with_disk_usage();
        let kind = if threads { kind.with_tasks() } else { kind.without_tasks() };
        Ok(Self { system: System::new().map_err(|error| anyhow!("{error:?}"))?, kind })
    }

    pub fn read(&mut self) -> usize {
        self.system.refresh_processes_specifics(ProcessesToUpdate::All, true, self.kind)
    }
}

/// The crate procfs: `stat`, `statm` and `io`, or `stat` of all threads.
pub fn procfs(threads: bool) -> Result<usize> {
    let mut count = 0;
    for process in all_processes()?.flatten() {
        if threads {
            for task in process.tasks().into_iter().flatten().flatten() {
                count += usize::from(black_box(task.stat()).is_ok());
            }
            continue;
        }
        let (stat, statm, io) = (process.stat(), process.statm(), process.io());
        count += usize::from(stat.is_ok() && statm.is_ok());
        let _ = black_box((stat, statm, io));
    }
    Ok(count)
}

/// Processor time of a piece of work. Nothing here waits for anything, so that
/// this is its whole time on a quiet machine, and on a busy one the part that
/// is its own.
pub fn time(work: impl FnOnce() -> Result<usize>) -> Result<(f64, usize)> {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    let count = work()?;
    Ok((now() - start, count))
}
