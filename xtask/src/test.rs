//! `cargo xtask test`: everything that must pass before a change is good.
//!
//! The stages go from quick to slow, so that a spelling mistake is reported at once and not after a
//! quarter of an hour. Some stages run beside the others, in a process of their own. A developer and continuous integration run the
//! same command; a tool that a stage needs and does not find is installed.

mod api;
mod fuzz;
mod package;
mod stages;
pub(crate) mod wine;

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::workspace;
pub(crate) use stages::FEATURES;
use stages::{STAGES, Stage};

pub(crate) const HELP: &str = "\
Runs everything that must pass, installing what it needs (and saying so).

Usage: cargo xtask test [OPTIONS]

Options:
  --quick                   Runs the stages for every change: fmt, tidy, clippy, docs,
                            test and doctest (under four minutes once built)
  --only STAGE[,STAGE]...   Runs these stages only
  --skip STAGE[,STAGE]...   Runs all stages but these
  --keep-going              Goes on after a stage that failed
  --list                    Lists the stages and ends

Environment:
  PERFHIVE_REAL_DATA        Folder of real Windows data (default: ../shared/data)
  PERFHIVE_NIGHTLY          The toolchain for Miri and fuzzing (default: nightly)
  PERFHIVE_FUZZ_SECONDS     Time for each fuzz target (default: 10)

The stages under Miri set PERFHIVE_MIRI=1, which tells tests to do less.

Exit code 0: every stage that ran passed, 1: one failed or could not run.
";

/// The options of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    only: Option<Vec<String>>,
    skip: Vec<String>,
    keep_going: bool,
    list: bool,
}

/// The result of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// The stage passed, but a part of it was left out; the text names the part.
    PassedBut(String),
    Failed(String),
    NotRun,
}

/// The result and the time of a stage, or of all stages that ran beside the others.
struct Report {
    /// The name of the stage, or several names with commas between them.
    name: String,
    outcome: Outcome,
    time: Duration,
}

impl Report {
    fn not_run(stage: &Stage) -> Self {
        Self { name: stage.name.to_owned(), outcome: Outcome::NotRun, time: Duration::ZERO }
    }

    fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    let options = parse(args)?;
    let chosen = choose(STAGES, &options)?;
    if options.list {
        for stage in &chosen {
            say!("{:<12}{}", stage.name, stage.about);
        }
        return Ok(());
    }
    say!("{}", workspace::real_data_line());
    let reports = match chosen.iter().position(|stage| stage.beside) {
        Some(first) if !chosen.iter().all(|stage| stage.beside) => {
            let (before, rest) = chosen.split_at(first);
            let mut reports = run(before, options.keep_going);
            if reports.iter().any(Report::failed) && !options.keep_going {
                reports.extend(rest.iter().map(|stage| Report::not_run(stage)));
            } else {
                let (beside, rest): (Vec<&Stage>, Vec<&Stage>) =
                    rest.iter().partition(|stage| stage.beside);
                let beside = Beside::start(&beside, options.keep_going)?;
                reports.extend(run(&rest, options.keep_going));
                reports.push(beside.end()?);
            }
            reports
        }
        _ => run(&chosen, options.keep_going),
    };
    say!("\n{}", summary(&reports).trim_end());
    let failed: Vec<_> = reports
        .iter()
        .filter(|report| report.failed())
        .map(|report| report.name.as_str())
        .collect();
    if !failed.is_empty() {
        bail!("failed: {0}; to repeat: cargo xtask test --only {0}", failed.join(","));
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (name, attached) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let mut names = || -> Result<Vec<String>> {
            let Some(list) = attached.clone().or_else(|| args.next().cloned()) else {
                bail!("{name} needs the names of stages (--list shows them)");
            };
            Ok(list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
        };
        match name {
            "--only" => options.only.get_or_insert_default().extend(names()?),
            "--skip" => options.skip.extend(names()?),
            "--quick" => {
                let quick = STAGES.iter().filter(|stage| stage.quick);
                let names = quick.map(|stage| stage.name.to_owned());
                options.only.get_or_insert_default().extend(names);
            }
            "--keep-going" => options.keep_going = true,
            "--list" => options.list = true,
            other => bail!("test does not know `{other}`\n\n{HELP}"),
        }
    }
    Ok(options)
}

/// The chosen stages, in the order of `stages`; an error for a name that no stage has.
fn choose<'a>(stages: &'a [Stage], options: &Options) -> Result<Vec<&'a Stage>> {
    let named = options.only.iter().flatten().chain(&options.skip);
    for name in named {
        if !stages.iter().any(|stage| stage.name == name) {
            let all: Vec<_> = stages.iter().map(|stage| stage.name).collect();
            bail!("there is no stage `{name}`, only {}", all.join(", "));
        }
    }
    let wanted = |stage: &&Stage| {
        let is = |name: &String| name == stage.name;
        options.only.as_ref().is_none_or(|only| only.iter().any(is)) && !options.skip.iter().any(is)
    };
    Ok(stages.iter().filter(wanted).collect())
}

/// Runs stages one after another. After one that failed, the others are not run, unless
/// `keep_going` is true.
fn run(stages: &[&Stage], keep_going: bool) -> Vec<Report> {
    let mut reports = Vec::new();
    let mut stop = false;
    for stage in stages {
        if stop {
            reports.push(Report::not_run(stage));
            continue;
        }
        say!("\n==> {}: {}", stage.name, stage.about);
        let (start, before) = (Instant::now(), children_time());
        let outcome = match (stage.run)() {
            Ok(None) => Outcome::Passed,
            Ok(Some(note)) => Outcome::PassedBut(note),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        };
        let time = start.elapsed();
        let worked = match children_time().zip(before) {
            Some((now, before)) => {
                format!(", {} of processors", seconds(now.saturating_sub(before)))
            }
            None => String::new(),
        };
        say!("<== {}: {} in {}{worked}", stage.name, word(&outcome), seconds(time));
        stop = matches!(outcome, Outcome::Failed(_)) && !keep_going;
        reports.push(Report { name: stage.name.to_owned(), outcome, time });
    }
    reports
}

/// The stages that run beside the others: another process of xtask. Its output is kept until it ends.
struct Beside {
    names: String,
    child: Child,
    output: PathBuf,
    start: Instant,
}

impl Beside {
    /// Starts the stages in another process of xtask, with their output in a file.
    fn start(stages: &[&Stage], keep_going: bool) -> Result<Self> {
        let names = stages.iter().map(|stage| stage.name).collect::<Vec<_>>().join(",");
        let output = workspace::target_directory()?.join("test-beside.log");
        let file = File::create(&output).with_context(|| output.display().to_string())?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["test", "--only", &names]).args(keep_going.then_some("--keep-going"));
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        say!("\n==> {names}: at the same time as what follows, with their output at the end");
        let child = command.spawn().context("cannot start xtask")?;
        Ok(Self { names, child, output, start: Instant::now() })
    }

    /// Waits for the stages and prints what they printed.
    fn end(mut self) -> Result<Report> {
        say!("\nwaiting for {}", self.names);
        let status = self.child.wait()?;
        std::io::copy(&mut File::open(&self.output)?, &mut std::io::stdout())?;
        let outcome = match status.success() {
            true => Outcome::Passed,
            false => Outcome::Failed("see their summary above".to_owned()),
        };
        Ok(Report { name: self.names, outcome, time: self.start.elapsed() })
    }
}

/// The processor time of all programs that this one has started and waited for; `None` where the system does not
/// show it in `/proc`.
fn children_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // In hundredths of a second, user and kernel, behind the name in brackets.
    let fields = stat.rsplit_once(") ")?.1.split(' ').skip(13).take(2);
    let hundredths: u64 = fields.map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    Some(Duration::from_millis(hundredths * 10))
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed | Outcome::PassedBut(_) => "passed",
        Outcome::Failed(_) => "FAILED",
        Outcome::NotRun => "not run",
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A table of the stages: result, time and note.
fn summary(reports: &[Report]) -> String {
    let mut table = format!("{:<12}{:<10}{:>10}\n", "stage", "result", "time");
    for report in reports {
        let time = match report.outcome {
            Outcome::NotRun => "-".to_owned(),
            _ => seconds(report.time),
        };
        let note = match &report.outcome {
            Outcome::PassedBut(note) | Outcome::Failed(note) => format!("  {note}"),
            _ => String::new(),
        };
        let word = word(&report.outcome);
        table += &format!("{:<12}{word:<10}{time:>10}{note}\n", report.name);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(args: &[&str]) -> Vec<String> {
        args.iter().map(|arg| (*arg).to_owned()).collect()
    }

    fn stage(name: &'static str, run: fn() -> stages::Result) -> Stage {
        Stage { name, about: "about", quick: false, beside: false, run }
    }

    #[test]
    fn arguments_are_read() -> Result<()> {
        let options = parse(&strings(&["--only", "fmt,tidy", "--only=test", "--keep-going"]))?;
        assert_eq!(options.only, Some(strings(&["fmt", "tidy", "test"])));
        assert!(options.keep_going && !options.list);
        assert_eq!(parse(&strings(&["--skip=deny"]))?.skip, ["deny"]);
        Ok(())
    }

    #[test]
    fn quick_runs_the_stages_for_every_change() -> Result<()> {
        let options = parse(&strings(&["--quick"]))?;
        let names: Vec<_> = choose(STAGES, &options)?.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["fmt", "tidy", "clippy", "docs", "test", "doctest"]);
        Ok(())
    }

    #[test]
    fn wrong_arguments_are_errors() {
        for args in [&["--only"][..], &["--fast"], &["fmt"]] {
            assert!(parse(&strings(args)).is_err(), "{args:?}");
        }
        let options = Options { skip: strings(&["fmt", "fnt"]), ..Options::default() };
        assert!(choose(STAGES, &options).is_err_and(|e| e.to_string().contains("`fnt`")));
    }

    #[test]
    fn stages_are_chosen_in_their_own_order() -> Result<()> {
        let options = Options { only: Some(strings(&["test", "fmt"])), ..Options::default() };
        let names: Vec<_> = choose(STAGES, &options)?.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["fmt", "test"]);
        assert_eq!(choose(STAGES, &Options::default())?.len(), STAGES.len());
        let options = Options { skip: strings(&["fmt"]), ..Options::default() };
        assert_eq!(choose(STAGES, &options)?.len(), STAGES.len() - 1);
        Ok(())
    }

    #[test]
    fn a_failure_stops_unless_told_otherwise() {
        let (good, bad) = (stage("good", || Ok(None)), stage("bad", || bail!("broken")));
        let outcomes = |keep_going| -> Vec<Outcome> {
            run(&[&good, &bad, &good], keep_going).into_iter().map(|r| r.outcome).collect()
        };
        let failed = Outcome::Failed("broken".to_owned());
        assert_eq!(outcomes(false), [Outcome::Passed, failed.clone(), Outcome::NotRun]);
        assert_eq!(outcomes(true), [Outcome::Passed, failed, Outcome::Passed]);
    }

    #[test]
    fn the_summary_tells_what_was_left_out() {
        let report = |name: &str, outcome| Report {
            name: name.to_owned(),
            outcome,
            time: Duration::from_millis(1250),
        };
        let text = summary(&[
            report("fmt", Outcome::Passed),
            report("deny", Outcome::PassedBut("advisories NOT checked".to_owned())),
            report("test", Outcome::Failed("`cargo` failed".to_owned())),
            report("miri", Outcome::NotRun),
        ]);
        assert_eq!(
            text,
            "stage       result          time\n\
             fmt         passed         1.2 s\n\
             deny        passed         1.2 s  advisories NOT checked\n\
             test        FAILED         1.2 s  `cargo` failed\n\
             miri        not run            -\n"
        );
    }
}
