//! The Wine stage: the Windows side, built on Linux and run for real.
//!
//! Wine runs the whole path of a read of `HKEY_PERFORMANCE_DATA`, with a
//! registry of its own in which the tests register providers. What it cannot
//! test is listed in the manual.

use super::stages::Result;
use crate::wine::{self, Wine, cargo};
use crate::{command, tools};

pub(super) fn wine() -> Result {
    if !cfg!(target_os = "linux") {
        return Ok(Some("Linux only: on Windows the tests run without Wine".to_owned()));
    }
    wine::install()?;
    // All of the workspace, and the tests of what is for Windows.
    command::run(cargo(&["clippy"]).args(["--workspace", "--", "-D", "warnings"]))?;
    let windows = ["-p", "perfhive-windows", "-p", "perfhive-shm", "-p", "perfhive-extension"];
    let all = ["--all-targets", "--", "-D", "warnings"];
    command::run(cargo(&["clippy"]).args(windows).args(all))?;
    // Built before Wine starts, which is up for the tests only. The same crates
    // each time, lest what they share be built anew for each choice.
    let examples = ["--example", "print_shop", "--example", "zoo", "--example", "publish"];
    command::run(cargo(&["build"]).args(PACKAGES).args(examples))?;
    command::run(cargo(&["test", "--no-run"]).args(PACKAGES).args(["--lib", "--bins", "--tests"]))?;

    let wine = Wine::start()?;
    // The registry is one for all tests, which therefore run one by one. Of the
    // command those that are about Windows; the others are the same on Linux.
    run(&wine, &["perfhive-windows", "perfhive-shm", "perfhive-extension"], &[])?;
    let of_windows = ["windows::", "published::", "machines_own_objects", "measure::time::"];
    run(&wine, &["perfhive-cli", "perfhive"], &of_windows)?;
    run(&wine, &["perfhive-format", "perfhive-engine"], &[])?;
    wine.stop()?;
    Ok(None)
}

/// The crates whose tests run under Wine.
const PACKAGES: [&str; 14] = [
    "-p",
    "perfhive-format",
    "-p",
    "perfhive-engine",
    "-p",
    "perfhive-windows",
    "-p",
    "perfhive-shm",
    "-p",
    "perfhive-extension",
    "-p",
    "perfhive",
    "-p",
    "perfhive-cli",
];

/// Runs the tests of some crates, one at a time: those whose names hold one of
/// `names`, or all.
fn run(wine: &Wine, crates: &[&str], names: &[&str]) -> anyhow::Result<()> {
    let nextest = tools::has_nextest();
    let how: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
    let mut cargo = cargo(how);
    wine.runs(&mut cargo);
    cargo.args(["--lib", "--bins", "--tests"]);
    if nextest {
        let crates: Vec<String> = crates.iter().map(|name| format!("package({name})")).collect();
        let mut filter = format!("({})", crates.join(" or "));
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| format!("test({name})")).collect();
            filter += &format!(" and ({})", names.join(" or "));
        }
        cargo.args(PACKAGES).args(["-E", &filter]);
        cargo.arg("-j1");
    } else {
        cargo.args(crates.iter().flat_map(|name| ["-p", name])).arg("--").args(names);
        cargo.arg("--test-threads=1");
    }
    // A process takes some 60 ms: properties are tried in full on Linux.
    cargo.env("PERFHIVE_CASES", "8");
    command::run(&mut cargo)
}
