//! `cargo xtask bench peers`: what reading processes and threads costs, side by
//! side with the programs that do the same.
//!
//! Arguments are `KEY=VALUE` and tell where the peers are that are not crates:
//! `psutil=PYTHON`, `pcp=FOLDER` with PCP's unpacked packages, `perfhive=PATH`
//! of the command, and `missing-PEER=REASON` for one that could not be had.

mod children;
mod one;
mod readers;
mod rounds;

use anyhow::{Context, Result, bail};
use children::{Server, Sleepers};
use perfhive_linux::ReaderChoice;
use readers::{Bare, Global, PROCESS, Perfhive, Sysinfo, THREAD, procfs, time};
use rounds::{Goal, Row, Run, measure, print};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Processes that sleep, and rounds of each turn.
const PROCESSES: [(usize, usize); 2] = [(500, 15), (2000, 7)];
/// Processes with so many threads each, all with no other purpose.
const THREADS: (usize, usize) = (8, 500);
/// How long the command is watched.
const WATCHED: Duration = Duration::from_secs(20);
/// The limit of open files that most systems have.
const FEW_FILES: u64 = 1024;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hold-threads", count] => children::hold_threads(count.parse()?),
        ["one"] => one::bench(),
        ["serve-with-few-files"] => serve_with_few_files(),
        ["global-rounds", rounds] => global_rounds(rounds.parse()?),
        _ => bench(&arguments),
    }
}

/// Where the peers are.
struct Peers(HashMap<String, String>);

impl Peers {
    fn get(&self, name: &str) -> Result<&str, String> {
        let missing = self.0.get(&format!("missing-{name}"));
        match (self.0.get(name), missing) {
            (Some(path), _) => Ok(path),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => Err("its path was not given".to_string()),
        }
    }

    /// A row for a program that is asked again and again.
    fn server(&self, name: &str, peer: &str, command: impl Fn(&str) -> Command + 'static) -> Row {
        match self.get(peer).map(str::to_string) {
            Ok(path) => Row::new(name, move || {
                let mut server = Server::start(&mut command(&path))?;
                Ok(Box::new(move || server.ask()))
            }),
            Err(why) => Row::missing(name, &why),
        }
    }

    fn psutil(&self, what: &'static str) -> Row {
        let name = match what {
            "threads" => "psutil, `threads()`",
            _ => "psutil, 10 attributes",
        };
        let packages = self.0.get("psutil-path").cloned();
        self.server(name, "psutil", move |python| {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/psutil_peer.py");
            let mut command = Command::new(python);
            command.args([script, what]);
            if let Some(path) = &packages {
                command.env("PYTHONPATH", path);
            }
            command
        })
    }

    fn pcp(&self) -> Row {
        self.server("PCP's pmdaproc, 19 metrics", "pcp", |root| {
            let mut command = Command::new("python3");
            command.args([concat!(env!("CARGO_MANIFEST_DIR"), "/pcp_peer.py"), root]);
            command.env("LD_LIBRARY_PATH", Path::new(root).join("usr/lib"));
            command
        })
    }

    /// A row for a program that is started anew each time.
    fn program(&self, peer: &str, arguments: &'static [&'static str]) -> Row {
        let name = format!("`{} {}`, the whole command", peer, arguments.join(" "));
        match self.get(peer).map(str::to_string) {
            Ok(path) => Row::new(&name, move || {
                let path = path.clone();
                Ok(Box::new(move || children::run(&path, arguments)))
            }),
            Err(why) => Row::missing(&name, &why),
        }
    }
}

fn bench(arguments: &[String]) -> Result<()> {
    let peers = arguments.iter().map(|argument| {
        let (key, value) = argument.split_once('=').context("KEY=VALUE")?;
        Ok((key.to_string(), value.to_string()))
    });
    let own = std::env::current_exe()?.to_string_lossy().into_owned();
    let peers = peers.chain([Ok(("self".to_string(), own))]);
    let peers = Peers(peers.collect::<Result<_>>()?);
    // The bare reads keep every file open, whatever the limit is.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    println!("Load average {} at the beginning.", load_average());
    let mut sleepers = Sleepers::new()?;
    for (count, rounds) in PROCESSES {
        sleepers.grow(count)?;
        // They start up.
        std::thread::sleep(Duration::from_millis(500));
        processes(&peers, count, rounds)?;
        if count == PROCESSES[0].0 {
            let calls = calls().unwrap_or_else(|error| format!("not counted: {error:#}"));
            println!("\nSystem calls of one Global with these processes: {calls}.");
            watch(&peers);
        }
    }
    drop(sleepers);
    let mut sleepers = Sleepers::new()?;
    for _ in 0..THREADS.0 {
        sleepers.threads(THREADS.1)?;
    }
    threads(&peers)?;
    drop(sleepers);
    println!("\nLoad average {} at the end.", load_average());
    Ok(())
}

fn processes(peers: &Peers, count: usize, rounds: usize) -> Result<()> {
    let most = if count < 1000 { 2.2 } else { 2.6 };
    let few_files = |program: &str| {
        let mut command = Command::new(program);
        command.arg("serve-with-few-files");
        command
    };
    let mut rows = [
        Row::new("REF: kept `stat`, read and parsed", || bare(false)),
        Row::new("**perfhive**, Process", || perfhive(PROCESS)).goal(Goal::AtMost(most)),
        Row::new("perfhive, Process with Nice Level: all files of those that rest too", || {
            own(Perfhive::new(PROCESS, ReaderChoice::Proc)?.in_full())
        })
        .goal(Goal::AtMost(most)),
        Row::new("perfhive, Process and Thread", || perfhive(THREAD)),
        Row::new("perfhive, Process through BPF", || by_bpf(PROCESS))
            .goal(Goal::FasterThan("crate sysinfo", 80.0)),
        Row::new("perfhive, everything Global, a snapshot of the broker", global),
        peers.server("perfhive, Process, with 1024 files that may be open", "self", few_files),
        Row::new("crate procfs 0.18, `stat`, `statm`, `io`", || {
            Ok(Box::new(|| time(|| procfs(false))))
        })
        .goal(Goal::Slower(2.6)),
        Row::new("crate sysinfo 0.40, cpu, memory, disk", || sysinfo(false))
            .goal(Goal::Slower(3.7)),
        peers.pcp().goal(Goal::Slower(4.5)),
        peers.psutil("processes").goal(Goal::Slower(18.0)),
        peers.program("ps", &["-eo", "pid,ppid,nlwp,cputimes,min_flt,maj_flt,vsz,rss,etimes,comm"]),
        peers.program("pidstat", &["-p", "ALL", "-u", "-r", "-d", "-h"]),
    ];
    measure(&mut rows, false, rounds);
    print(&format!("Processes: {count} that sleep, and others"), &rows);
    println!("\nLoad average {}.", load_average());
    Ok(())
}

fn threads(peers: &Peers) -> Result<()> {
    let mut rows = [
        Row::new("REF: kept `stat` of each thread, read and parsed", || bare(true)),
        Row::new("**perfhive**, Thread, with Process", || perfhive(THREAD)).goal(Goal::AtMost(1.7)),
        Row::new("perfhive, Thread through BPF, with Process", || by_bpf(THREAD)),
        Row::new("crate procfs 0.18, `stat` of each thread", || {
            Ok(Box::new(|| time(|| procfs(true))))
        }),
        Row::new("crate sysinfo 0.40, with tasks", || sysinfo(true)),
        peers.psutil("threads"),
        peers.program("ps", &["-eLo", "pid,lwp,time,state,comm"]),
    ];
    measure(&mut rows, true, PROCESSES[1].1);
    let (processes, each) = THREADS;
    print(&format!("Threads: {processes} processes with {each} each, and others"), &rows);
    println!("\nLoad average {}.", load_average());
    Ok(())
}

fn bare(threads: bool) -> Result<Run> {
    let mut bare = Bare::new(threads);
    Ok(Box::new(move || time(|| Ok(bare.read()))))
}

fn perfhive(objects: &[u32]) -> Result<Run> {
    own(Perfhive::new(objects, ReaderChoice::Proc)?)
}

fn by_bpf(objects: &[u32]) -> Result<Run> {
    if let Some(why) = perfhive_linux::bpf_refusal(&perfhive_linux::ProcRoot::default()) {
        bail!("{why}");
    }
    own(Perfhive::new(objects, ReaderChoice::Bpf)?)
}

fn own(mut own: Perfhive) -> Result<Run> {
    let instances = own.count()?;
    Ok(Box::new(move || time(|| own.read().map(|_| instances))))
}

fn global() -> Result<Run> {
    let (mut global, mut processes) = (Global::new(), Perfhive::new(PROCESS, ReaderChoice::Proc)?);
    let instances = processes.count()?;
    drop(processes);
    Ok(Box::new(move || time(|| global.read().map(|_| instances))))
}

fn sysinfo(threads: bool) -> Result<Run> {
    let mut sysinfo = Sysinfo::new(threads)?;
    Ok(Box::new(move || time(|| Ok(sysinfo.read()))))
}

fn global_rounds(rounds: usize) -> Result<()> {
    let mut global = Global::new();
    for _ in 0..rounds {
        global.read()?;
    }
    Ok(())
}

/// System calls of one Global: those of 25 less those of 5, by 20.
fn calls() -> Result<String> {
    let count = |rounds: &str| -> Result<u64> {
        let report = std::env::temp_dir().join(format!("perfhive-peers-{}", std::process::id()));
        let status = Command::new("strace")
            .args(["-f", "-c", "-o"])
            .arg(&report)
            .arg(std::env::current_exe()?)
            .args(["global-rounds", rounds])
            .stderr(Stdio::null())
            .status()
            .context("strace")?;
        let text = std::fs::read_to_string(&report);
        let _ = std::fs::remove_file(&report);
        if !status.success() {
            bail!("strace failed ({status})");
        }
        let text = text?;
        let total = text.lines().find(|line| line.ends_with(" total")).context("no total")?;
        Ok(total.split_whitespace().nth(3).context("no calls")?.parse()?)
    };
    let (few, many) = (count("5")?, count("25")?);
    Ok(format!("{}", many.saturating_sub(few) / 20))
}

/// What watching all processes once a second costs: the command's processor
/// time as the kernel's scheduler tells it.
fn watch(peers: &Peers) {
    let counter = r"\Process(*)\% Processor Time";
    let measured = peers.get("perfhive").map_err(anyhow::Error::msg).and_then(|path| {
        let mut command = Command::new(path);
        command.args(["watch", "-i", "1", counter]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.spawn()?;
        let measured = share(child.id());
        child.kill()?;
        child.wait()?;
        measured
    });
    match measured {
        Ok(share) => println!(
            "\n`perfhive watch -i 1 '{counter}'` with these processes takes {:.2} % of one \
             processor (over {} s).",
            share * 100.0,
            WATCHED.as_secs()
        ),
        Err(error) => println!("\n`perfhive watch`: not measured: {error:#}"),
    }
}

fn share(pid: u32) -> Result<f64> {
    let spent = || children::spent(pid);
    // The first sample opens everything.
    std::thread::sleep(Duration::from_millis(2500));
    let (start, before) = (Instant::now(), spent()?);
    std::thread::sleep(WATCHED);
    Ok((spent()? - before) / start.elapsed().as_secs_f64())
}

/// perfhive in a process that may open few files.
fn serve_with_few_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(FEW_FILES), ..limit })?;
    let mut own = Perfhive::new(PROCESS, ReaderChoice::Proc)?;
    let instances = own.count()?;
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        line?;
        let (seconds, count) = time(|| own.read().map(|_| instances))?;
        writeln!(output, "{seconds} {count}")?;
        output.flush()?;
    }
    Ok(())
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
