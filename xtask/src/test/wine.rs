//! The Wine stage: the Windows side, built on Linux and run for real.
//!
//! Wine runs the whole path of a read of `HKEY_PERFORMANCE_DATA`, with a
//! registry of its own in which the tests register providers. What it cannot
//! test is listed in the manual.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

use super::stages::Result;
use crate::{command, tools, workspace};

const TARGET: &str = "x86_64-pc-windows-gnu";
const RUNNER: &str = "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER";
/// What stands for a library that Wine lacks.
const PROCESS_PRNG: &str = include_str!("wine/process_prng.c");

pub(super) fn wine() -> Result {
    if !cfg!(target_os = "linux") {
        return Ok(Some("Linux only: on Windows the tests run without Wine".to_owned()));
    }
    tools::system(tools::WINE)?;
    if !tools::target(TARGET) {
        bail!("there is no standard library for {TARGET}: rustup target add {TARGET}");
    }
    // All of the workspace, and the tests of what is for Windows.
    command::run(cargo(&["clippy"]).args(["--workspace", "--", "-D", "warnings"]))?;
    let windows = ["-p", "perfhive-windows", "--all-targets", "--", "-D", "warnings"];
    command::run(cargo(&["clippy"]).args(windows))?;
    // Built before Wine starts, which is up for the tests only. The same crates
    // each time, lest what they share be built anew for each choice.
    let examples = ["-p", "perfhive", "--example", "print_shop", "--example", "zoo"];
    command::run(cargo(&["build"]).args(PACKAGES).args(examples))?;
    command::run(cargo(&["test", "--no-run"]).args(PACKAGES).args(["--lib", "--bins", "--tests"]))?;

    let wine = Wine::start()?;
    // The registry is one for all tests, which therefore run one by one. Of the
    // command those that are about Windows; the others are the same on Linux.
    wine.run(&["perfhive-windows"], "", Some("1"))?;
    wine.run(&["perfhive-cli", "perfhive"], "windows::", Some("1"))?;
    wine.run(&["perfhive-format", "perfhive-engine"], "", None)?;
    wine.stop()?;
    Ok(None)
}

/// The crates whose tests run under Wine.
const PACKAGES: [&str; 10] = [
    "-p",
    "perfhive-format",
    "-p",
    "perfhive-engine",
    "-p",
    "perfhive-windows",
    "-p",
    "perfhive",
    "-p",
    "perfhive-cli",
];

/// Cargo, for Windows.
fn cargo(args: &[&str]) -> Command {
    let mut cargo = command::cargo(args);
    // Wine reads a library whole whenever it loads it, and half of each would
    // be what a debugger wants.
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "false").args(["--locked", "--target", TARGET]);
    cargo
}

const WINE: &str = "/usr/lib/wine/wine64";
const WINESERVER: &str = "/usr/lib/wine/wineserver64";

/// A Wine with a prefix of its own, which ends with this.
struct Wine {
    prefix: PathBuf,
    /// A process that waits for its input: as long as it lives, Wine's services
    /// do, which would otherwise be started by some test, and keep its output open.
    idle: Option<Child>,
}

impl Wine {
    fn start() -> anyhow::Result<Self> {
        let prefix = workspace::target_directory()?.join("wine").join("prefix");
        let mut wine = Self { prefix, idle: None };
        // What a run that was killed may have left.
        wine.end()?;
        if wine.prefix.exists() {
            fs::remove_dir_all(&wine.prefix).context("the old prefix cannot be removed")?;
        }
        fs::create_dir_all(&wine.prefix).context("there is no room for Wine's prefix")?;
        // Nothing of this inherits our output: Wine's services outlive it.
        wine.quietly(WINESERVER, &["-p"])?;
        wine.quietly(WINE, &["hostname"]).context("Wine does not start")?;
        let mut idle = wine.command(WINE, &["cmd.exe", "/c", "pause"]);
        idle.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        wine.idle = Some(idle.spawn().context("Wine does not start")?);
        wine.add_process_prng()?;
        Ok(wine)
    }

    /// Runs the tests of some crates whose names hold `name`, so many at a time.
    fn run(&self, crates: &[&str], name: &str, threads: Option<&str>) -> anyhow::Result<()> {
        let nextest = tools::has_nextest();
        let how: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
        let mut cargo = cargo(how);
        cargo.args(["--lib", "--bins", "--tests"]);
        if nextest {
            let crates: Vec<String> =
                crates.iter().map(|name| format!("package({name})")).collect();
            let mut filter = format!("({})", crates.join(" or "));
            if !name.is_empty() {
                filter += &format!(" and test({name})");
            }
            cargo.args(PACKAGES).args(["-E", &filter]);
            cargo.args(threads.map(|threads| format!("-j{threads}")));
        } else {
            cargo.args(crates.iter().flat_map(|name| ["-p", name])).args(["--", name]);
            cargo.args(threads.map(|threads| format!("--test-threads={threads}")));
        }
        self.environment(&mut cargo);
        cargo.env(RUNNER, WINE);
        // A process takes some 60 ms: properties are tried in full on Linux.
        cargo.env("PERFHIVE_CASES", "8");
        command::run(&mut cargo)
    }

    fn add_process_prng(&self) -> anyhow::Result<()> {
        let source = self.prefix.join("process_prng.c");
        fs::write(&source, PROCESS_PRNG).context("there is no room for a small file")?;
        let library = self.prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
        let (source, library) = (source.display().to_string(), library.display().to_string());
        let what = ["-O2", "-shared", "-nostartfiles", "-Wl,-e,DllMain"];
        let files = [&source, "-o", &library, "-ladvapi32"];
        command::run(command::program(tools::MINGW, &what).args(files))
    }

    /// What a program needs to know of this Wine.
    fn environment(&self, command: &mut Command) {
        command
            .env("WINEPREFIX", &self.prefix)
            .env("WINEDEBUG", "-all")
            // Nobody is asked whether to install Mono or Gecko.
            .env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=")
            .env_remove("DISPLAY");
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = command::program(program, args);
        self.environment(&mut command);
        command
    }

    fn quietly(&self, program: &str, args: &[&str]) -> anyhow::Result<()> {
        let mut command = self.command(program, args);
        say!("$ {}", command::display(&command));
        if !command::succeeds(&mut command) {
            bail!("`{}` failed", command::display(&command));
        }
        Ok(())
    }

    /// Ends the Wine of this prefix, and says so if that fails.
    fn stop(mut self) -> anyhow::Result<()> {
        self.end()?;
        if let Some(left) = processes_of(&self.prefix)?.first() {
            bail!("a process of Wine is left: {left}");
        }
        Ok(())
    }

    /// Ends every process of this prefix and waits for their end.
    fn end(&mut self) -> anyhow::Result<()> {
        if self.prefix.is_dir() {
            // Both fail where there is no server, which is as well.
            command::succeeds(&mut self.command(WINESERVER, &["-k"]));
            command::succeeds(&mut self.command(WINESERVER, &["-w"]));
        }
        if let Some(mut idle) = self.idle.take() {
            drop(idle.stdin.take());
            idle.kill().ok();
            idle.wait().context("Wine's idle process")?;
        }
        Ok(())
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            say!("Wine may still run: {error:#}");
        }
    }
}

/// The processes that run in a prefix.
fn processes_of(prefix: &Path) -> anyhow::Result<Vec<String>> {
    let wanted = format!("WINEPREFIX={}", prefix.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("there is no /proc")? {
        let Ok(path) = entry.map(|entry| entry.path()) else { continue };
        // Processes of others, and those that ended since, are not ours.
        let Ok(environment) = fs::read(path.join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes()) {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            found.push(format!("{} ({})", name.trim(), path.display()));
        }
    }
    Ok(found)
}
