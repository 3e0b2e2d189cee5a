//! The stages of `cargo xtask test`, each with the reason it exists.

use anyhow::Context;

use super::api::api;
use super::fuzz::fuzz;
use super::package::{BENCHES, package};
use super::wine::wine;
use crate::java::Java;
use crate::{command, tidy, tools, workspace};

/// The result of a stage: `None`, or a note for the summary; an error if the stage failed.
pub(super) type Result = anyhow::Result<Option<String>>;

/// One check that must pass.
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Whether `--quick` runs the stage.
    pub(super) quick: bool,
    /// Whether the stage runs at the same time as the stages that are not so marked. It builds in target
    /// directories that no other stage uses.
    pub(super) beside: bool,
    pub(super) run: fn() -> Result,
}

/// A stage that `--quick` runs.
const fn quick(name: &'static str, about: &'static str, run: fn() -> Result) -> Stage {
    Stage { name, about, quick: true, beside: false, run }
}

/// A stage that `--quick` leaves out.
const fn whole(name: &'static str, about: &'static str, run: fn() -> Result) -> Stage {
    Stage { name, about, quick: false, beside: false, run }
}

/// A stage that `--quick` leaves out and that runs beside the others: on two processors the whole takes two thirds of
/// the time, since most stages keep one processor busy.
const fn beside(name: &'static str, about: &'static str, run: fn() -> Result) -> Stage {
    Stage { name, about, quick: false, beside: true, run }
}

/// All stages in their order. The stages that run beside the others start at the place of the first of them.
pub(super) const STAGES: &[Stage] = &[
    quick("fmt", "the sources are formatted by rustfmt", fmt),
    quick("tidy", "the rules of the house", tidy),
    quick("clippy", "no lint warns", clippy),
    quick("docs", "the documentation builds without warnings", docs),
    beside("wine", "the Windows side, built for it and run under Wine", wine),
    beside("package", "the crates can be published, and the library alone is small", package),
    beside("fuzz", "each fuzz target for a short time", fuzz),
    quick("test", "unit, integration and property tests", test),
    quick("doctest", "the examples of the documentation run", doctest),
    whole("java", "the Java side against the native library, checked by the JVM", java),
    whole("release", "the command builds with optimisation", release),
    whole("api", "what is public is as listed for review", api),
    whole("no-std", "the format builds where there is no std", no_std),
    whole("deny", "licences, sources and advisories of dependencies", deny),
    whole("miri", "pointers of libraries, and what threads share without locks, under Miri", miri),
    whole("big-endian", "values and golden blocks as a big-endian machine reads them", big_endian),
    whole("loom", "models of threads, in every interleaving", loom),
];

/// A big-endian target that Miri can interpret without its linker or C library.
const BIG_ENDIAN: &str = "s390x-unknown-linux-gnu";

/// The option of cargo that builds `perfhive-shm` without its reader, as for a program that only
/// publishes.
const WRITER: &str = "--no-default-features";

/// A target without std, which shows that a crate does not use it.
const NO_STD: &str = "x86_64-unknown-none";

fn fmt() -> Result {
    tools::component("rustfmt", "fmt")?;
    command::run(&mut command::cargo(&["fmt", "--all", "--check"]))?;
    // These have workspaces of their own, which --all does not reach.
    for manifest in BENCHES.iter().copied().chain(["fuzz/Cargo.toml"]) {
        let args = ["fmt", "--manifest-path", manifest, "--check"];
        command::run(&mut command::cargo(&args))?;
    }
    Ok(None)
}

fn tidy() -> Result {
    tidy::main(&[])?;
    Ok(None)
}

/// The features of the command and of the Java library that are off by default, because they take long to
/// build, or clang. All stages that build for debugging have the same ones, so that nothing is built twice.
pub(crate) const FEATURES: [&str; 2] = match cfg!(target_os = "linux") {
    true => ["--features", "perfhive-cli/bpf,perfhive-cli/parquet,perfhive-jni/bpf"],
    false => ["--features", "perfhive-cli/parquet"],
};

/// Runs clippy with all features of the command at once. Code that exists only without them is checked by the
/// stage `package`.
fn clippy() -> Result {
    tools::component("clippy", "clippy")?;
    tools::system(tools::BPF)?;
    let mut cargo = command::cargo(&["clippy", "--workspace", "--all-targets", "--locked"]);
    command::run(cargo.args(FEATURES).args(["--", "-D", "warnings"]))?;
    Ok(None)
}

fn docs() -> Result {
    let mut cargo = command::cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    command::run(cargo.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(None)
}

/// Runs the tests with all features. Where the kernel or the account does not allow BPF, its tests say so, and sessions
/// go on reading `/proc`; other programs read the Parquet files and the traces. Without these features the crates are
/// built by the stages `release` and `package`, and tested on Windows by `wine`.
fn test() -> Result {
    tools::system(&[tools::STRACE, tools::PS, tools::VALGRIND, tools::ZSTANDARD])?;
    tools::system(tools::BPF)?;
    tools::system(tools::VALUES)?;
    tools::system(tools::TERMINALS)?;
    tools::system(tools::CC)?;
    let python = tools::python(&["dissect.etl", "duckdb", "pyarrow", "pytz"])?;
    let mut cargo = tests();
    cargo.env("PERFHIVE_PARQUET_PYTHON", &python).env("PERFHIVE_TRACE_PYTHON", &python);
    // The module for Python was installed above, so the test that needs it must not be left out.
    cargo.env("PERFHIVE_PYTHON_HAS_ZSTANDARD", "1");
    command::run(cargo.args(["--workspace", "--locked"]).args(FEATURES))?;
    Ok(workspace::real_data().is_none().then(|| "without real data".to_owned()))
}

/// The command that runs tests: nextest, with twice as many tests at once as there are processors, since every third
/// test waits most of its time; or `cargo test` where nextest is missing.
fn tests() -> std::process::Command {
    if !tools::has_nextest() {
        return command::cargo(&["test"]);
    }
    let mut cargo = command::cargo(&["nextest", "run"]);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    cargo.arg(format!("--test-threads={}", 2 * processors));
    cargo
}

/// Runs the doctests, a stage of their own because nextest runs none.
fn doctest() -> Result {
    let mut cargo = command::cargo(&["test", "--doc", "--workspace", "--locked"]);
    command::run(cargo.args(FEATURES))?;
    Ok(None)
}

/// Tests the jar that users get, with the native library that cargo has just built.
fn java() -> Result {
    if !cfg!(target_os = "linux") {
        return Ok(Some("Linux only".to_owned()));
    }
    let java = Java::build(false)?;
    java.documents()?;
    java.test()?;
    Ok(None)
}

/// Runs the models of the hand-over between threads.
fn loom() -> Result {
    // Of the published counters only the writer, which must build without the reader as well.
    for (package, more) in [("perfhive-engine", None), ("perfhive-shm", Some(WRITER))] {
        if package == "perfhive-shm" && !cfg!(target_os = "linux") {
            continue;
        }
        let args = ["test", "--locked", "--release", "-p", package, "--lib", "models"];
        // The target directory is another, since the flag would have everything else built anew.
        let mut cargo = command::cargo(&args);
        cargo.args(more).args(["--target-dir", "target/loom"]).env("RUSTFLAGS", "--cfg loom");
        // The programs run for seconds only: optimising them further would take longer. What runs most, the engine
        // and the shared memory, has a level of its own in Cargo.toml.
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
        cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        command::run(&mut cargo)?;
    }
    Ok(None)
}

fn release() -> Result {
    workspace::release_binary()?;
    Ok(None)
}

fn no_std() -> Result {
    let build = ["build", "--locked", "-p", "perfhive-format", "--lib", "--target", NO_STD];
    if tools::target(NO_STD) {
        command::run(&mut command::cargo(&build))?;
    } else {
        say!("no {NO_STD} for this toolchain: nightly builds core and alloc from source");
        tools::nightly_components(&["rust-src"])?;
        let mut cargo = command::nightly_cargo(&build);
        command::run(cargo.args(["-Zbuild-std=core,alloc", "--target-dir", "target/no-std"]))?;
    }
    Ok(None)
}

/// Checks licences and advisories. The advisories come from a database on the network; without it a note
/// says that they were not checked.
fn deny() -> Result {
    tools::cargo_tool("deny")?;
    let mut fetch = command::cargo(&["deny", "fetch", "db"]);
    say!("$ {}", command::display(&fetch));
    let fetched = fetch.output().context("cannot start cargo-deny")?;
    if fetched.status.success() {
        command::run(&mut command::cargo(&["deny", "check"]))?;
        return Ok(None);
    }
    let errors = String::from_utf8_lossy(&fetched.stderr).into_owned();
    let reason = fetch_failure(&errors);
    say!("advisories were NOT checked: the RustSec database cannot be fetched: {reason}");
    command::run(&mut command::cargo(&["deny", "check", "bans", "licenses", "sources"]))?;
    Ok(Some("advisories NOT checked (no RustSec database)".to_owned()))
}

/// The line in git's messages that says why git could not fetch: the last one with `fatal:`, or
/// else the first one that is not blank.
fn fetch_failure(errors: &str) -> &str {
    let line = errors.lines().map(str::trim).rfind(|line| line.starts_with("fatal: "));
    line.or_else(|| errors.lines().map(str::trim).find(|line| !line.is_empty()))
        .unwrap_or("cargo-deny does not say why")
}

/// Runs tests of unsafe code, and of what threads share without locks. The format has no unsafe code; its tests run
/// in the stage `big-endian`.
fn miri() -> Result {
    // The functions that a library calls from outside: their pointers, and their failures.
    let contract = [
        "null_pointers_are_refused",
        "panics_and_errors_of_a_provider_are_reported",
        "host_passes_indexes_and_receives_reports",
    ];
    run_miri(&[&["-p", "perfhive-contract", "--lib", "--"], &contract[..]].concat())?;
    if !cfg!(target_os = "linux") {
        return Ok(Some("Linux only: perfhive-shm".to_owned()));
    }
    // Miri cannot map files; this tests the protocol without them.
    run_miri(&["-p", "perfhive-shm", "--lib", "pair::"])
}

/// Runs tests on a big-endian machine, which Miri interprets. Everything in a block is little-endian;
/// a decoder that ignores this works by chance on most machines.
fn big_endian() -> Result {
    let programs = ["--lib", "--test", "golden", "--test", "cases", "--test", "types"];
    run_miri(&[&["-p", "perfhive-format"], &programs[..], &["--target", BIG_ENDIAN]].concat())
}

fn run_miri(what: &[&str]) -> Result {
    tools::nightly_components(&["miri", "rust-src"])?;
    // Not nextest, which starts Miri for each test: a start takes longer than most tests.
    let mut cargo = command::nightly_cargo(&["miri", "test", "--no-fail-fast", "--locked"]);
    cargo.args(what);
    // Tests read golden files and real data from disk.
    cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    // Miri is some hundred times slower than the machine, so that tests with many inputs try a few of them.
    cargo.env("PERFHIVE_MIRI", "1").env("PROPTEST_CASES", "4");
    command::run(&mut cargo)?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failed_fetch_is_one_line() {
        let errors = "2026 [ERROR] failed to fetch\nCloning into 'x'...\n\
                      fatal: unable to access 'https://x/': Could not resolve host: x\n\n";
        assert_eq!(
            fetch_failure(errors),
            "fatal: unable to access 'https://x/': Could not resolve host: x"
        );
        assert_eq!(fetch_failure("\n  only this\n"), "only this");
        assert_eq!(fetch_failure(""), "cargo-deny does not say why");
    }

    #[test]
    fn stages_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = STAGES.iter().map(|stage| stage.name).collect();
        assert_eq!(names.len(), STAGES.len());
    }
}
