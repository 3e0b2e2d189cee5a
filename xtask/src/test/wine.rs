//! The Wine stage: the Windows side, built on Linux and run for real.
//!
//! Wine runs the whole path of a read of `HKEY_PERFORMANCE_DATA`, with a
//! registry of its own in which the tests register providers. What it cannot
//! test is listed in the manual.

use super::stages::Result;
use crate::wine::{self, Wine, cargo};
use crate::{command, tools};
use anyhow::{Context as _, bail};
use serde_json::Value;

pub(super) fn wine() -> Result {
    if !cfg!(target_os = "linux") {
        return Ok(Some("Linux only: on Windows the tests run without Wine".to_owned()));
    }
    wine::install()?;
    // One command for all, since another choice of crates has other features of what they depend on, and builds it
    // anew. The other benchmarks are for Linux.
    let all = ["--workspace", "--lib", "--bins", "--tests", "--examples"];
    let benches = ["--bench", "extension", "--bench", "registry", "--", "-D", "warnings"];
    command::run(cargo(&["clippy"]).args(all).args(benches))?;
    // Built before Wine starts, which is up for the tests only. The same crates
    // each time, lest what they share be built anew for each choice.
    let examples = ["--example", "print_shop", "--example", "zoo", "--example", "publish"];
    command::run(cargo(&["build"]).args(packages()).args(examples))?;
    command::run(cargo(&["test", "--no-run"]).args(packages()).args(KINDS))?;

    let wine = Wine::start()?;
    // The registry is one for all tests, which therefore run one by one.
    if tools::has_nextest() {
        run_with_nextest(&wine)?
    } else {
        run_with_cargo(&wine)?
    }
    wine.stop()?;
    Ok(None)
}

const KINDS: [&str; 3] = ["--lib", "--bins", "--tests"];

/// Tests that run under Wine: all tests of a crate, the tests of one of its test programs, or the tests with a text
/// in their name.
struct Part {
    package: &'static str,
    program: Option<&'static str>,
    name: Option<&'static str>,
}

/// All tests of a crate.
const fn all(package: &'static str) -> Part {
    Part { package, program: None, name: None }
}

/// The tests of one test program of a crate.
const fn program(package: &'static str, program: &'static str) -> Part {
    Part { package, program: Some(program), name: None }
}

/// The tests of a crate with `name` in their names.
const fn named(package: &'static str, name: &'static str) -> Part {
    Part { package, program: None, name: Some(name) }
}

/// The tests that run under Wine. Of the crates `perfhive-cli` and `perfhive` only the tests about Windows are
/// listed; their other tests give the same result on Linux. The tests of the format are left out, because it has no
/// system below it, and so are those of the portable reader of a registry, which make up their registries. Hives of
/// registrations do not exist on Windows.
const PARTS: [Part; 19] = [
    all("perfhive-engine"),
    all("perfhive-contract"),
    all("perfhive-windows"),
    all("perfhive-shm"),
    named("perfhive-libraries", "hosting::"),
    named("perfhive-libraries", "definition::"),
    named("perfhive-libraries", "functions::"),
    program("perfhive-libraries", "round_trip"),
    program("perfhive", "capture"),
    program("perfhive", "local_memory"),
    program("perfhive", "native"),
    program("perfhive", "provided"),
    program("perfhive", "published"),
    named("perfhive", "measure::time::"),
    named("perfhive-cli", "windows::"),
    named("perfhive-cli", "published::"),
    named("perfhive-cli", "capture::"),
    named("perfhive-cli", "recordings::"),
    program("perfhive-recording", "phr"),
];

/// Whether the tests of a module run under Wine. `module` has `::` behind it and belongs to the test program
/// `program` of the crate `package`.
pub(crate) fn runs(package: &str, program: &str, module: &str) -> bool {
    PARTS.iter().any(|part| {
        part.package == package
            && part.program.is_none_or(|own| own == program)
            && part.name.is_none_or(|own| module.contains(own))
    })
}

/// The crates of [`PARTS`], as options `-p` of cargo.
fn packages() -> Vec<&'static str> {
    let mut names: Vec<&str> = PARTS.iter().map(|part| part.package).collect();
    names.dedup();
    names.into_iter().flat_map(|name| ["-p", name]).collect()
}

impl Part {
    /// The part as a filter expression of nextest.
    fn filter(&self) -> String {
        let mut filter = format!("package(={})", self.package);
        if let Some(program) = self.program {
            filter += &format!(" and binary(={program})");
        }
        if let Some(name) = self.name {
            filter += &format!(" and test({name})");
        }
        format!("({filter})")
    }

    /// Whether the list that nextest printed has a test of this part that is not ignored.
    fn has_any(&self, listed: &Value) -> bool {
        let suites = listed["rust-suites"].as_object().into_iter().flat_map(|all| all.values());
        let of_part = |suite: &&Value| {
            suite["package-name"] == self.package
                && self.program.is_none_or(|program| suite["binary-name"] == program)
        };
        let tests = suites.filter(of_part).filter_map(|suite| suite["testcases"].as_object());
        tests.flatten().any(|(name, test)| {
            test["ignored"] != true && self.name.is_none_or(|part| name.contains(part))
        })
    }

    /// Adds the arguments by which `cargo test` runs this part.
    fn choose(&self, cargo: &mut std::process::Command) {
        cargo.args(["-p", self.package]);
        match self.program {
            Some(program) => cargo.args(["--test", program]),
            None => cargo.args(KINDS),
        };
        cargo.arg("--").args(self.name);
    }
}

/// The error for a part that matches no test: the tests were renamed, and the part would test nothing.
fn is_empty(part: &Part) -> anyhow::Error {
    anyhow::anyhow!("no test under Wine is {}: mend the list of what runs there", part.filter())
}

fn run_with_nextest(wine: &Wine) -> anyhow::Result<()> {
    let filter = PARTS.iter().map(Part::filter).collect::<Vec<_>>().join(" or ");
    let chosen = |how: &[&str]| -> anyhow::Result<_> {
        let mut cargo = cargo(how);
        wine.runs_tests(&mut cargo)?;
        // Starting a process takes some 60 ms under Wine, so that property tests try few cases; on Linux they try all.
        cargo.args(KINDS).args(packages()).args(["-E", &filter]).env("PERFHIVE_CASES", "8");
        Ok(cargo)
    };
    let listed = command::output(chosen(&["nextest", "list"])?.args(["--message-format", "json"]))?;
    let listed = serde_json::from_slice(&listed).context("nextest's list of tests")?;
    if let Some(part) = PARTS.iter().find(|part| !part.has_any(&listed)) {
        bail!(is_empty(part));
    }
    command::run(chosen(&["nextest", "run"])?.arg("-j1"))
}

fn run_with_cargo(wine: &Wine) -> anyhow::Result<()> {
    for part in &PARTS {
        let chosen = || -> anyhow::Result<_> {
            let mut cargo = cargo(&["test"]);
            wine.runs_tests(&mut cargo)?;
            part.choose(&mut cargo);
            cargo.env("PERFHIVE_CASES", "8");
            Ok(cargo)
        };
        let listed = command::output(chosen()?.arg("--list"))?;
        if !String::from_utf8_lossy(&listed).lines().any(|line| line.trim_end().ends_with(": test"))
        {
            bail!(is_empty(part));
        }
        command::run(chosen()?.arg("--test-threads=1"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_no_test_is_noticed() {
        let listed = serde_json::json!({"rust-suites": {
            "perfhive::capture": {
                "package-name": "perfhive",
                "binary-name": "capture",
                "testcases": {"taken": {"ignored": false}, "slow::one": {"ignored": true}},
            },
        }});
        assert!(all("perfhive").has_any(&listed));
        assert!(program("perfhive", "capture").has_any(&listed));
        assert!(named("perfhive", "take").has_any(&listed));
        assert!(!all("perfhive-cli").has_any(&listed));
        assert!(!program("perfhive", "captured").has_any(&listed));
        assert!(!named("perfhive", "slow::").has_any(&listed), "it is not run");
    }
}
