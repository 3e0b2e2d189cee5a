//! Benchmarks a warm collection against the least that reading `/proc` can
//! cost: one read of an open `stat` file for each process, and its parsing.
//!
//! `cargo bench -p perfhive-linux --bench collect [-- --quick]` prints one Markdown table. Each
//! round of a row runs the reference and the row's reader once, so that other load on the machine
//! affects both; the figures are medians over the rounds, the ratios medians of the rounds' ratios.
//! With `--features bpf`, further rows show the BPF reader against the same reference.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use perfhive_engine::{
    Ask, Collection, ObjectQuery, ObjectWriter, OpenContext, Provider, Session, TestLevel,
};
use perfhive_format::{BlockHead, BlockWriter, TitleIndex};
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice, providers_with};
use perfhive_testkit::alloc;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// Sleeping child processes, which end when this is dropped.
struct Sleepers(Vec<Child>);

impl Sleepers {
    fn grow(&mut self, count: usize) {
        while self.0.len() < count {
            self.0.push(Command::new("sleep").arg("3600").stdin(Stdio::null()).spawn().unwrap());
        }
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// The open `stat` files of all processes, or of all threads.
fn open_all(threads: bool) -> Vec<File> {
    let numbers = |path: &str| {
        let names = std::fs::read_dir(path).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.parse::<u32>().is_ok()).collect::<Vec<_>>()
    };
    let mut files = Vec::new();
    for pid in numbers("/proc") {
        if threads {
            let task = format!("/proc/{pid}/task");
            let open = |tid| File::open(format!("{task}/{tid}/stat")).ok();
            files.extend(numbers(&task).into_iter().filter_map(open));
        } else {
            files.extend(File::open(format!("/proc/{pid}/stat")));
        }
    }
    files
}

/// Reads and parses all files; returns a sum of their numbers, so that the work is not optimised away.
fn read_all(files: &[File], buffer: &mut [u8]) -> u64 {
    let mut sum = 0u64;
    for file in files {
        let Ok(length) = file.read_at(buffer, 0) else { continue };
        let text = &buffer[..length];
        let Some(close) = text.iter().rposition(|byte| *byte == b')') else { continue };
        for word in text[close + 1..].split(|byte| *byte == b' ').skip(2).take(21) {
            sum = sum.wrapping_add(word.iter().fold(0u64, |number, byte| {
                number.wrapping_mul(10).wrapping_add(u64::from(byte.wrapping_sub(b'0')))
            }));
        }
    }
    sum
}

/// Open providers, and the block that they fill.
struct Machine {
    sessions: Vec<Box<dyn Session>>,
    writer: BlockWriter,
}

impl Machine {
    fn new(reader: ReaderChoice) -> Self {
        let open = |provider: Arc<dyn Provider>| provider.open(&OpenContext::default()).unwrap();
        let options = LinuxOptions::new().reader(reader);
        let providers = providers_with(&ProcRoot::default(), &options);
        let sessions = providers.into_iter().map(open).collect();
        Self { sessions, writer: BlockWriter::new() }
    }

    fn collect(&mut self, request: &Ask, wanted: &[TitleIndex]) {
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
            session.collect(&Collection::new(request, wanted), &mut out).unwrap();
        }
        black_box(self.writer.finish());
    }
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn request(objects: &[u32], extra: &[(u32, u32)]) -> (Ask, Vec<TitleIndex>) {
    let wanted: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
    let mut request = Ask::new(ObjectQuery::Indexes(wanted.clone()));
    request.extra_counters = extra.iter().map(|(o, c)| (TitleIndex(*o), TitleIndex(*c))).collect();
    (request, wanted)
}

/// One row of the table: what is collected, by which reader, and the reference.
struct Row<'a> {
    name: &'a str,
    objects: &'a [u32],
    extra: &'a [(u32, u32)],
    reader: ReaderChoice,
    reference: &'a [File],
    /// The number by which the time is divided: of processes, or of threads in the rows of one
    /// process with many.
    number: usize,
    goal: &'a str,
}

impl Row<'_> {
    fn measure(&self, rounds: usize) {
        let (request, wanted) = request(self.objects, self.extra);
        let mut buffer = vec![0; 4096];
        let mut machine = Machine::new(self.reader);
        for _ in 0..3 {
            machine.collect(&request, &wanted);
        }
        let (mut times, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let least = time(|| {
                black_box(read_all(self.reference, &mut buffer));
            });
            let own = time(|| machine.collect(&request, &wanted));
            times.push(own);
            ratios.push(own / least);
        }
        let allocated = (0..5)
            .map(|_| alloc::count(|| machine.collect(&request, &wanted)).1.count)
            .min()
            .unwrap();
        let (time, ratio) = (median(&mut times), median(&mut ratios));
        let Self { name, number, goal, .. } = self;
        println!(
            "| {name} | {number} | {:.2} ms | {:.2} µs | {ratio:.3} | {goal} | {allocated} |",
            time * 1e3,
            time * 1e6 / *number as f64,
        );
    }
}

/// Whether the table has rows for the BPF reader. Prints the reason if it has none although the
/// feature `bpf` is set.
fn with_bpf() -> bool {
    let refusal = perfhive_linux::bpf_refusal(&ProcRoot::default());
    if let Some(why) = refusal.as_ref().filter(|_| cfg!(feature = "bpf")) {
        eprintln!("no rows of the BPF reader: {why}");
    }
    refusal.is_none()
}

const THREADS: &str = "PERFHIVE_BENCH_THREADS";

/// Starts sleeping threads, and sleeps until the benchmark ends this process.
fn be_threads(count: usize) {
    for _ in 0..count {
        let sleep = || std::thread::sleep(Duration::from_secs(3600));
        std::thread::Builder::new().stack_size(16 << 10).spawn(sleep).unwrap();
    }
    std::thread::sleep(Duration::from_secs(3600));
}

fn main() {
    if let Ok(count) = std::env::var(THREADS) {
        return be_threads(count.parse().unwrap());
    }
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let (counts, rounds): (&[usize], usize) =
        if quick { (&[100], 11) } else { (&[500, 2000], 101) };
    let bpf = with_bpf();
    println!("| objects | processes, threads | time | each | x REF | goal | allocations |");
    println!("|---|---|---|---|---|---|---|");
    let mut sleepers = Sleepers(Vec::new());
    for count in counts {
        sleepers.grow(*count);
        // Waits until the children have started.
        std::thread::sleep(Duration::from_millis(500));
        let processes = open_all(false);
        let threads = open_all(true);
        let row = |name, objects, reference, goal| Row {
            name,
            objects,
            extra: &[],
            reader: ReaderChoice::Proc,
            reference,
            number: processes.len(),
            goal,
        };
        let goal = if *count < 1000 { "2.2" } else { "2.6" };
        row("Process", &[230], &processes, goal).measure(rounds);
        row("Process, Thread", &[230, 232], &threads, "").measure(rounds);
        row("all", &[2, 4, 230, 232, 238], &processes, "").measure(rounds);
        let extra = &[(230, 0)];
        let name = "Process with all that is on request";
        Row { extra, ..row(name, &[230], &processes, "") }.measure(rounds);
        if bpf {
            let reader = ReaderChoice::Bpf;
            Row { reader, ..row("Process, BPF", &[230], &processes, "0.1") }.measure(rounds);
            let name = "Process, Thread, BPF";
            Row { reader, ..row(name, &[230, 232], &threads, "") }.measure(rounds);
        }
    }
    if bpf {
        drop(sleepers);
        let count = if quick { 400 } else { 4000 };
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        let child = command.env(THREADS, count.to_string()).stdin(Stdio::null()).spawn().unwrap();
        let _child = Sleepers(vec![child]);
        std::thread::sleep(Duration::from_millis(1500));
        let threads = open_all(true);
        for (name, reader) in [
            ("Process, Thread, one process of many threads", ReaderChoice::Proc),
            ("Process, Thread, one process of many threads, BPF", ReaderChoice::Bpf),
        ] {
            let (objects, extra) = (&[230, 232], &[]);
            let (reference, number) = (&threads, threads.len());
            Row { name, objects, extra, reader, reference, number, goal: "" }.measure(rounds);
        }
    }
}
