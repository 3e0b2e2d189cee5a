//! `cargo xtask bench`: measures perfhive for BENCHMARKS.md, and beside it a comparable program
//! (its peer) where there is one.
//!
//! An absolute time says more about a machine than about a program. So each whole-process benchmark
//! runs the program and a common peer, in turn, many times, and reports the median of the ratios of
//! the rounds: a slow second on a busy machine hits both sides of its round alike. The load average
//! is printed with the numbers, since it shows how far they can be trusted.

mod peers;
mod record;
mod report;
mod screens;
mod statistics;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::java::Java;
use crate::wine::{self, Wine};
use crate::{command, tools, workspace};
use statistics::Comparison;

pub(crate) const HELP: &str = "\
Measures, and prints Markdown tables that can be pasted into BENCHMARKS.md.

Usage: cargo xtask bench [OPTIONS] [NAME]...

Names (default: all):
  decode    Walking, extracting and cooking real-sized data blocks
  collect   Processes and threads of this machine against bare reads of /proc
  cache     Taking what is kept in the shared cache against Arc and RwLock
  sharing   One cache for many consumers, and what measuring costs others
  extension A provider in Rust, in a library, and in a process of its own
  publish   Counting in published counters against crates that count
  one       A program that measures itself alone, against procfs
  record    Recordings against those of below, atop and PCP's pmlogger
  report    The whole process `perfhive report` of 100 MB of perfmon's log against `cksum`
  peers     The same against sysinfo, procfs, PCP, psutil, ps and pidstat
  java      What crosses to Java, and a snapshot of all processes from there
  wine      A query of Windows' registry against the bare call, under Wine
  view      A frame, and the processor's share of `perfhive view`, btop, bottom, htop and top
  ps        The whole process `perfhive ps` against `ps -e`
  get       The whole process `perfhive get` of one counter against `true`

Options:
  --rounds N   Rounds of a whole-process comparison (default: 101)
  --list       Lists the names and ends

Everything is built with optimisation first. Measure on a quiet machine.
";

const DEFAULT_ROUNDS: usize = 101;
/// The number of rounds before measuring, which fill the page cache and wake the processor.
const WARM_UP: usize = 5;

/// One benchmark.
struct Bench {
    name: &'static str,
    kind: Kind,
}

/// What a benchmark runs.
enum Kind {
    /// A bench target of a crate, which prints a table itself.
    Target { package: &'static str, bench: &'static str },
    /// The comparison with other readers of /proc, which prints tables itself.
    Peers,
    /// The part of the comparison [`Peers`](Self::Peers) that is about a program measuring its own process.
    One,
    /// Recordings beside those of other programs; its program prints the tables.
    Record,
    /// A report of a large log, which prints a table itself.
    Report,
    /// A program with a workspace of its own, which prints tables itself.
    Program { manifest: &'static str },
    /// The comparison of programs that show processes on a terminal, which prints a table itself.
    Screens,
    /// The Java side, which prints a table itself.
    Java,
    /// Reading the registry under Wine, which prints a table itself.
    Wine,
    /// The `perfhive` command with these arguments, against a peer in the same rounds.
    Process { args: &'static [&'static str], peer: &'static [&'static str], goal: Goal },
}

/// The most time that perfhive may take: the peer's time multiplied by `factor`, and `plus` more.
#[derive(Clone, Copy)]
struct Goal {
    text: &'static str,
    factor: f64,
    plus: Duration,
}

const BENCHES: &[Bench] = &[
    Bench { name: "decode", kind: Kind::Target { package: "perfhive-format", bench: "decode" } },
    Bench { name: "collect", kind: Kind::Target { package: "perfhive-linux", bench: "collect" } },
    Bench { name: "cache", kind: Kind::Target { package: "perfhive-engine", bench: "cache" } },
    Bench { name: "sharing", kind: Kind::Target { package: "perfhive", bench: "sharing" } },
    Bench {
        name: "extension",
        kind: Kind::Target { package: "perfhive-libraries", bench: "extension" },
    },
    Bench { name: "publish", kind: Kind::Program { manifest: "benches/publish/Cargo.toml" } },
    Bench { name: "one", kind: Kind::One },
    Bench { name: "peers", kind: Kind::Peers },
    Bench { name: "java", kind: Kind::Java },
    Bench { name: "record", kind: Kind::Record },
    Bench { name: "report", kind: Kind::Report },
    Bench { name: "wine", kind: Kind::Wine },
    Bench { name: "view", kind: Kind::Screens },
    Bench {
        name: "ps",
        kind: Kind::Process {
            // Without rates, which take two samples a second apart; `ps -e` shows none.
            args: &["ps", "-o", "pid,elapsed,name"],
            peer: &["ps", "-e"],
            goal: Goal { text: "no slower", factor: 1.0, plus: Duration::ZERO },
        },
    },
    Bench {
        name: "get",
        kind: Kind::Process {
            args: &["get", r"\Memory\Available Bytes"],
            // `true` does nothing: its time is what starting a process costs.
            peer: &["true"],
            goal: Goal { text: "2 × plus 5 ms", factor: 2.0, plus: Duration::from_millis(5) },
        },
    },
];

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    rounds: usize,
    list: bool,
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    let options = parse(args)?;
    if options.list {
        for bench in BENCHES {
            say!("{}", bench.name);
        }
        return Ok(());
    }
    let chosen = BENCHES.iter().filter(|bench| {
        options.names.is_empty() || options.names.iter().any(|name| name == bench.name)
    });
    let mut rows = Vec::new();
    let mut names = Vec::new();
    let mut before = String::new();
    for bench in chosen {
        match &bench.kind {
            Kind::Target { package, bench } => {
                if *package == "perfhive-libraries" {
                    tools::system(tools::CC)?;
                }
                let args = ["bench", "--locked", "-p", package, "--bench", bench];
                command::run(&mut command::cargo(&args))?;
            }
            Kind::Peers => peers::run()?,
            Kind::One => peers::one()?,
            Kind::Record => record::run()?,
            Kind::Report => report::run(options.rounds)?,
            Kind::Program { manifest } => program(manifest)?,
            Kind::Java => Java::build(true)?.bench()?,
            Kind::Wine => under_wine()?,
            Kind::Screens => screens::run(options.rounds)?,
            Kind::Process { args, peer, goal } => {
                if names.is_empty() {
                    before = load_average();
                }
                rows.push(compare(args, peer, *goal, options.rounds)?);
                names.push(bench.name);
            }
        }
    }
    if !rows.is_empty() {
        let rounds = match options.rounds {
            DEFAULT_ROUNDS => String::new(),
            rounds => format!(" --rounds {rounds}"),
        };
        say!("\n`cargo xtask bench {}{rounds}`", names.join(" "));
        let table = table(&rows, options.rounds, &before, &load_average());
        say!("{}", table.trim_end());
    }
    Ok(())
}

/// Builds and runs a program that has a workspace of its own.
fn program(manifest: &str) -> Result<()> {
    let target = workspace::target_directory()?.join("peers");
    let target = target.to_string_lossy();
    let args = ["run", "--release", "--locked", "--manifest-path", manifest];
    let mut cargo = command::cargo(&args);
    command::run(cargo.args(["--target-dir", &target]))
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options { names: Vec::new(), rounds: DEFAULT_ROUNDS, list: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.split_once('=').unwrap_or((arg, "")) {
            ("--rounds", attached) => {
                let text = match attached {
                    "" => args.next().context("--rounds needs a number")?.as_str(),
                    text => text,
                };
                options.rounds = text.parse().with_context(|| format!("`{text}` rounds"))?;
                if options.rounds == 0 {
                    bail!("--rounds needs a number above 0");
                }
            }
            ("--list", "") => options.list = true,
            _ if BENCHES.iter().any(|bench| bench.name == arg) => options.names.push(arg.clone()),
            _ => bail!("bench does not know `{arg}`\n\n{HELP}"),
        }
    }
    Ok(options)
}

/// One row of the table: a command and its peer, the goal, and the measured times.
struct Row {
    command: String,
    peer: String,
    goal: Goal,
    comparison: Comparison,
}

/// Runs both programs in turn and compares their times.
fn compare(args: &[&str], peer: &[&str], goal: Goal, rounds: usize) -> Result<Row> {
    let Some((peer_program, peer_args)) = peer.split_first() else { bail!("no peer") };
    if *peer_program == tools::PS.program {
        tools::system(&[tools::PS])?;
    }
    let perfhive = workspace::release_binary()?;
    let mut own = silent(command::program(&perfhive.to_string_lossy(), args));
    // The peer is started by its path, as our own program is, since the search for a name takes time.
    let peer_path = tools::find(peer_program).with_context(|| format!("no `{peer_program}`"))?;
    let mut other = silent(command::program(&peer_path.to_string_lossy(), peer_args));
    let shown = format!("perfhive {}", shown(args));
    say!("{rounds} rounds of `{shown}` and `{}`", peer.join(" "));
    let mut times = Vec::with_capacity(rounds);
    for round in 0..WARM_UP + rounds {
        // The order alternates, in case the first run of a round affects the second.
        let pair = if round % 2 == 0 {
            let own = time(&mut own)?;
            (own, time(&mut other)?)
        } else {
            let other = time(&mut other)?;
            (time(&mut own)?, other)
        };
        if round >= WARM_UP {
            times.push(pair);
        }
    }
    let comparison = Comparison::of(&times).context("no rounds")?;
    Ok(Row { command: shown, peer: peer.join(" "), goal, comparison })
}

/// The command with no input and no visible output, without `RUST_BACKTRACE`, and without
/// `LD_LIBRARY_PATH`, which cargo extends: the dynamic linker would look in more places.
fn silent(mut command: Command) -> Command {
    command.env_remove("LD_LIBRARY_PATH").env_remove("RUST_BACKTRACE");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The time that a command takes from its start to its end; an error if it does not succeed.
fn time(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let status = command.status();
    let time = start.elapsed();
    let status = status.with_context(|| format!("cannot start `{}`", command::display(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status}): there is nothing to measure", command::display(command));
    }
    Ok(time)
}

fn shown(args: &[&str]) -> String {
    args.iter().map(|arg| command::quote(arg)).collect::<Vec<_>>().join(" ")
}

/// The results as a Markdown table, followed by a line on rounds, processors and load.
fn table(rows: &[Row], rounds: usize, before: &str, after: &str) -> String {
    let mut text = String::from(
        "\n| command | median | peer | median | ratio | middle half | goal | |\n\
         |---|---:|---|---:|---:|---|---|---|\n",
    );
    for Row { command, peer, goal, comparison } in rows {
        let Comparison { own, peer: other, ratio, low, high } = comparison;
        let allowed = other.mul_f64(goal.factor) + goal.plus;
        let reached = if *own <= allowed { "reached" } else { "MISSED" };
        text += &format!(
            "| `{command}` | {} | `{peer}` | {} | {ratio:.2} | {low:.2} to {high:.2} | {} | {reached} |\n",
            milliseconds(*own),
            milliseconds(*other),
            goal.text,
        );
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    text += &format!(
        "\n{rounds} interleaved rounds; ratio is the median of the rounds' ratios; \
         {cores} processors; load average {before} before, {after} after.\n"
    );
    text
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// The three load averages as text; `unknown` where the system has none.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first: Vec<&str> = text.split_whitespace().take(3).collect();
    if first.is_empty() { "unknown".to_owned() } else { first.join(" ") }
}

fn under_wine() -> Result<()> {
    wine::install()?;
    let library = ["-p", "perfhive-windows", "--release", "--example", "zoo"];
    command::run(wine::cargo(&["build"]).args(library))?;
    let (package, bench) = (["-p", "perfhive"], ["--bench", "registry"]);
    command::run(wine::cargo(&["bench", "--no-run"]).args(package).args(bench))?;
    let wine = Wine::start()?;
    let mut cargo = wine::cargo(&["bench"]);
    wine.runs(&mut cargo);
    command::run(cargo.args(package).args(bench))?;
    say!("\nLoad average {}.", load_average());
    wine.stop()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(args: &[&str]) -> Vec<String> {
        args.iter().map(|arg| (*arg).to_owned()).collect()
    }

    #[test]
    fn arguments_are_read() -> Result<()> {
        let options = parse(&strings(&["ps", "--rounds", "11", "get"]))?;
        assert_eq!(options, Options { names: strings(&["ps", "get"]), rounds: 11, list: false });
        assert_eq!(parse(&strings(&["--rounds=7"]))?.rounds, 7);
        assert_eq!(parse(&[])?.rounds, DEFAULT_ROUNDS);
        for args in [&["pss"][..], &["--rounds"], &["--rounds", "0"], &["--rounds=x"]] {
            assert!(parse(&strings(args)).is_err(), "{args:?}");
        }
        Ok(())
    }

    #[test]
    fn the_table_says_whether_the_goal_was_reached() {
        let row = |own: u64, factor: f64, plus: u64| Row {
            command: "perfhive x".to_owned(),
            peer: "true".to_owned(),
            goal: Goal { text: "goal", factor, plus: Duration::from_millis(plus) },
            comparison: Comparison {
                own: Duration::from_millis(own),
                peer: Duration::from_millis(2),
                ratio: 1.5,
                low: 1.25,
                high: 2.0,
            },
        };
        let text = table(&[row(3, 1.0, 0), row(9, 2.0, 5), row(10, 2.0, 5)], 7, "0.1", "0.2");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[3],
            "| `perfhive x` | 3.00 ms | `true` | 2.00 ms | 1.50 | 1.25 to 2.00 | goal | MISSED |"
        );
        assert!(lines[4].ends_with("| reached |"));
        assert!(lines[5].ends_with("| MISSED |"));
        assert!(text.contains("7 interleaved rounds") && text.contains("0.1 before, 0.2 after"));
    }

    #[test]
    fn a_program_that_fails_is_not_measured() {
        assert!(time(&mut silent(command::program("false", &[]))).is_err());
        assert!(time(&mut silent(command::program("true", &[]))).is_ok());
    }
}
