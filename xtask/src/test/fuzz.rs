//! The fuzz stage: runs every fuzz target for a short time.
//!
//! A short run does not find everything that a run over night finds. It finds recent mistakes, and
//! shows that the targets still build. `PERFHIVE_FUZZ_SECONDS=7200` gives each target two hours.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::stages::Result;
use crate::{command, tools, workspace};

/// The limits of libFuzzer for one input: a decoder must not answer a small input with a large allocation
/// or much work. libFuzzer's own time limit is twenty minutes.
const LIMITS: &[&str] = &["-rss_limit_mb=1024", "-malloc_limit_mb=256", "-timeout=10"];

/// The seconds for which each target runs, unless `PERFHIVE_FUZZ_SECONDS` names others.
const SECONDS: u32 = 10;

pub(super) fn fuzz() -> Result {
    tools::system(&[tools::CXX])?;
    tools::nightly_components(&["rust-src"])?;
    tools::cargo_tool("fuzz")?;
    let seconds = match std::env::var("PERFHIVE_FUZZ_SECONDS") {
        Ok(text) => text.parse().context("PERFHIVE_FUZZ_SECONDS is not a number")?,
        Err(_) => SECONDS,
    };
    let list = command::output(&mut command::nightly_cargo(&["fuzz", "list"]))?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let targets: Vec<&str> = list.split_whitespace().collect();
    if targets.is_empty() {
        bail!("`cargo fuzz list` shows no target");
    }
    let mut note = None;
    let mut sanitizer = "address";
    if command::run(&mut build(sanitizer)).is_err() {
        say!("this does not build with the address sanitizer: trying without a sanitizer");
        note = Some("fuzzed without the address sanitizer".to_owned());
        sanitizer = "none";
        command::run(&mut build(sanitizer)).context("the fuzz targets do not build")?;
    }
    for target in &targets {
        let corpus = corpus(target);
        std::fs::create_dir_all(workspace::root()?.join(&corpus))
            .with_context(|| format!("cannot create {corpus}"))?;
    }
    // Each target keeps one processor busy. All targets run, since one finding must not hide another.
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let failed: Vec<&str> = targets
        .chunks(at_once)
        .flat_map(|targets| at_the_same_time(targets, sanitizer, seconds))
        .collect();
    if !failed.is_empty() {
        bail!("findings of {} (each is in fuzz/artifacts)", failed.join(", "));
    }
    Ok(note)
}

fn build(sanitizer: &str) -> Command {
    command::nightly_cargo(&["fuzz", "build", "--sanitizer", sanitizer])
}

/// A command that runs a target for so many seconds, with its corpus and seeds.
fn run(target: &str, sanitizer: &str, seconds: u32) -> Command {
    let mut cargo = command::nightly_cargo(&["fuzz", "run", "--sanitizer", sanitizer, target]);

    // libFuzzer writes new inputs to the first folder, and only reads the others.
    cargo.arg(corpus(target)).args(seeds(target));
    cargo.arg("--").arg(format!("-max_total_time={seconds}"));
    cargo.arg(format!("-max_len={}", longest(target)));
    cargo.args(LIMITS);
    cargo
}

/// Runs targets at the same time; returns the targets that failed.
fn at_the_same_time<'a>(targets: &[&'a str], sanitizer: &str, seconds: u32) -> Vec<&'a str> {
    std::thread::scope(|scope| {
        let start = |target: &'a str| {
            let mut command = run(target, sanitizer, seconds);
            (target, scope.spawn(move || quietly(target, &mut command)))
        };
        let running: Vec<_> = targets.iter().copied().map(start).collect();
        let mut failed = Vec::new();
        for (target, run) in running {
            let ended = run.join().unwrap_or_else(|_| Err(anyhow::anyhow!("its thread panicked")));
            if let Err(error) = ended {
                say!("{target}: {error:#}");
                failed.push(target);
            }
        }
        failed
    })
}

/// Runs a target and passes on its messages, except those about progress.
fn quietly(target: &str, command: &mut Command) -> anyhow::Result<()> {
    let shown = command::display(command);
    say!("$ {shown}");
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if let Some(stderr) = child.stderr.take() {
        let mut stderr = BufReader::new(stderr);
        let mut chatter = Chatter::default();
        let mut line = Vec::new();
        // The lines are bytes: a failure may show the input, which need not be UTF-8.
        while stderr.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
            if !chatter.is(&line) {
                let text = [target.as_bytes(), b": ", &line].concat();
                std::io::stderr().write_all(&text)?;
            }
            line.clear();
        }
    }
    let status = child.wait().with_context(|| format!("lost `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Distinguishes libFuzzer's messages about progress from its findings.
#[derive(Default)]
struct Chatter {
    in_dictionary: bool,
}

impl Chatter {
    /// Whether a line is about progress, or belongs to the dictionary that libFuzzer recommends.
    fn is(&mut self, line: &[u8]) -> bool {
        if line.starts_with(b"###### Recommended dictionary") {
            self.in_dictionary = true;
        } else if line.starts_with(b"###### End of recommended dictionary") {
            self.in_dictionary = false;
            return true;
        }
        // Progress is such as `#1234  NEW    cov: 80 ...`; the first and the last such line are kept.
        let progress = line.first() == Some(&b'#')
            && line.get(1).is_some_and(u8::is_ascii_digit)
            && ![&b"INITED"[..], b"DONE"]
                .iter()
                .any(|word| line.windows(word.len()).any(|part| part == *word));
        self.in_dictionary
            || progress
            || line.starts_with(b"INFO: ")
            || line.trim_ascii_start().starts_with(b"NEW_FUNC[")
    }
}

/// The folder in which inputs that reach new code are kept from run to run.
fn corpus(target: &str) -> String {
    format!("fuzz/corpus/{target}")
}

/// The length of the longest input, in bytes. In a short time, many small inputs find more
/// than a few large ones.
fn longest(target: &str) -> usize {
    match target {
        "parse_block" | "roundtrip" | "query" | "blg" => 32 << 10,
        _ => 4 << 10,
    }
}

/// Folders with valid inputs, which lead a target deeper into a decoder than random bytes.
fn seeds(target: &str) -> Vec<String> {
    let (own, real): (&str, &[&str]) = match target {
        "parse_block" | "roundtrip" | "query" => ("block", &["windows-vista", "samba"]),
        "titles" => ("titles", &["samba"]),
        "blg" => ("blg", &["logs"]),
        "definition" => ("definition", &["providers"]),
        other => (other, &[]),
    };
    let own = workspace::root().map(|root| root.join("fuzz/seeds").join(own));
    let real = real.iter().filter_map(|name| Some(workspace::real_data()?.join(name)));
    own.into_iter()
        .chain(real)
        .filter(|folder| folder.is_dir())
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_blocks_begin_from_blocks() {
        for target in ["parse_block", "roundtrip"] {
            assert!(seeds(target).iter().any(|folder| folder.ends_with("fuzz/seeds/block")));
        }
        assert!(seeds("titles").iter().any(|folder| folder.ends_with("fuzz/seeds/titles")));
        assert_eq!(seeds("no_such_target"), Vec::<String>::new());
    }

    #[test]
    fn progress_is_told_from_findings() {
        let mut chatter = Chatter::default();
        for (line, is) in [
            ("INFO: Seed: 1", true),
            ("#2\tINITED cov: 8 ft: 9", false),
            ("#1234\tNEW    cov: 80 ft: 90", true),
            ("#2048\tpulse  cov: 80", true),
            ("\tNEW_FUNC[1/1]: 0x56 in f", true),
            ("thread '<unnamed>' panicked at fuzz_targets/x.rs:1:1:", false),
            ("    #4 0x55 in perfhive_format::x", false),
            ("==1== ERROR: libFuzzer: deadly signal", false),
            ("#5000\tDONE   cov: 80", false),
            ("###### Recommended dictionary. ######", true),
            ("\"All\" # Uses: 3", true),
            ("###### End of recommended dictionary. ######", true),
            ("Done 5000 runs in 2 second(s)", false),
        ] {
            assert_eq!(chatter.is(line.as_bytes()), is, "{line}");
        }
    }

    #[test]
    fn findings_go_to_the_corpus() -> anyhow::Result<()> {
        let command = command::display(&run("titles", "address", 3));
        let corpus = command.find("fuzz/corpus/titles").context("no corpus")?;
        assert!(command.find("fuzz/seeds/titles").is_some_and(|seeds| corpus < seeds));
        assert!(command.contains(" -- -max_total_time=3 -max_len=4096 -rss_limit_mb=1024 -malloc"));
        Ok(())
    }
}
