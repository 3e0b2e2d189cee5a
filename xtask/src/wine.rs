//! Wine with a prefix of its own, in which programs for Windows run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{command, tools, workspace};

const TARGET: &str = "x86_64-pc-windows-gnu";
/// The C source of a substitute for a library that Wine lacks.
const PROCESS_PRNG: &str = include_str!("wine/process_prng.c");

/// The script that runs a test program, and runs it again if Wine did not start it.
const RUN: &str = include_str!("wine/run.sh");

/// Makes sure that programs for Windows can be built and run; an error if not.
pub(crate) fn install() -> Result<()> {
    tools::system(tools::WINE)?;
    if !tools::target(TARGET) {
        bail!("there is no standard library for {TARGET}: rustup target add {TARGET}");
    }
    Ok(())
}

/// A command that runs cargo for the Windows target.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut cargo = command::cargo(args);
    // Wine reads a whole library each time it loads it, and debug information would be half of each.
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "false").args(["--locked", "--target", TARGET]);
    // Under Wine, property tests try few cases: optimising what makes these up takes longer than it saves.
    for package in ["proptest", "perfhive-testkit", "zstd-sys"] {
        cargo.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    cargo
}

const WINE: &str = "/usr/lib/wine/wine64";
const WINESERVER: &str = "/usr/lib/wine/wineserver64";

/// A running Wine with a prefix of its own; dropping it ends its processes.
pub(crate) struct Wine {
    prefix: PathBuf,
    /// A process that waits for its input. As long as it runs, Wine's services run. Otherwise a
    /// test would start the services, and they would keep the test's output open.
    idle: Option<Child>,
}

impl Wine {
    pub(crate) fn start() -> Result<Self> {
        let prefix = workspace::target_directory()?.join("wine").join("prefix");
        let mut wine = Self { prefix, idle: None };
        // A run that was killed may have left processes.
        wine.end()?;
        if wine.prefix.exists() {
            fs::remove_dir_all(&wine.prefix).context("the old prefix cannot be removed")?;
        }
        fs::create_dir_all(&wine.prefix).context("there is no room for Wine's prefix")?;
        // These commands do not inherit xtask's output, since Wine's services outlive them.
        wine.quietly(WINESERVER, &["-p"])?;
        wine.quietly(WINE, &["hostname"]).context("Wine does not start")?;
        let mut idle = wine.command(WINE, &["cmd.exe", "/c", "pause"]);
        idle.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        wine.idle = Some(idle.spawn().context("Wine does not start")?);
        wine.add_process_prng()?;
        Ok(wine)
    }

    fn add_process_prng(&self) -> Result<()> {
        let source = self.prefix.join("process_prng.c");
        fs::write(&source, PROCESS_PRNG).context("there is no room for a small file")?;
        let library = self.prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
        let (source, library) = (source.display().to_string(), library.display().to_string());
        let what = ["-O2", "-shared", "-nostartfiles", "-Wl,-e,DllMain"];
        let files = [&source, "-o", &library, "-ladvapi32"];
        command::run(command::program(tools::MINGW, &what).args(files))
    }

    /// Makes cargo run the programs that it built under this Wine. The setting is an option of cargo, and must come
    /// before any `--`. The programs run one after another: when two start at the same time, Wine now
    /// and then fails to start one (`STATUS_DLL_INIT_FAILED`, exit code 66), and nextest lists the tests of
    /// several programs at the same time, whatever `-j` says.
    pub(crate) fn runs(&self, cargo: &mut Command) {
        self.environment(cargo);
        // Programs that Wine starts do not inherit the lock (`-o`), which would outlive them.
        let lock = self.prefix.with_file_name("lock");
        run_by(cargo, &["/usr/bin/flock", "-o", &lock.display().to_string(), WINE]);
    }

    /// Like [`runs`](Self::runs), for tests: a test program that Wine ended before it began is started again.
    pub(crate) fn runs_tests(&self, cargo: &mut Command) -> Result<()> {
        self.environment(cargo);
        let (script, lock) = (self.prefix.join("run.sh"), self.prefix.with_file_name("lock"));
        fs::write(&script, RUN).context("there is no room for a small file")?;
        let (script, lock) = (script.display().to_string(), lock.display().to_string());
        run_by(cargo, &["/bin/sh", &script, &lock, WINE]);
        Ok(())
    }

    /// Sets the variables by which a program finds this Wine.
    fn environment(&self, command: &mut Command) {
        command
            .env("WINEPREFIX", &self.prefix)
            .env("WINEDEBUG", "-all")
            // Wine does not ask whether to install Mono or Gecko.
            .env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=")
            .env_remove("DISPLAY");
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = command::program(program, args);
        self.environment(&mut command);
        command
    }

    fn quietly(&self, program: &str, args: &[&str]) -> Result<()> {
        let mut command = self.command(program, args);
        say!("$ {}", command::display(&command));
        if !command::succeeds(&mut command) {
            bail!("`{}` failed", command::display(&command));
        }
        Ok(())
    }

    /// Ends the Wine of this prefix; an error if one of its processes is left.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.end()?;
        if let Some(left) = processes_of(&self.prefix)?.first() {
            bail!("a process of Wine is left: {left}");
        }
        Ok(())
    }

    /// Ends every process of this prefix, and waits for the end.
    fn end(&mut self) -> Result<()> {
        if self.prefix.is_dir() {
            // Both commands fail where no server runs; that is no error.
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

/// Makes cargo run the programs that it built for Windows by this command and its arguments.
fn run_by(cargo: &mut Command, runner: &[&str]) {
    cargo.args(["--config", &format!("target.{TARGET}.runner={runner:?}")]);
}

/// The processes that run in a prefix, each as its name and folder in /proc.
fn processes_of(prefix: &Path) -> Result<Vec<String>> {
    let wanted = format!("WINEPREFIX={}", prefix.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("there is no /proc")? {
        let Ok(path) = entry.map(|entry| entry.path()) else { continue };
        // Processes of other users cannot be read, and some ended since: neither counts.
        let Ok(environment) = fs::read(path.join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes()) {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            found.push(format!("{} ({})", name.trim(), path.display()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `body` in place of Wine; returns the exit code, the output, and how often it
    /// was started.
    fn run(folder: &Path, body: &str) -> (Option<i32>, String, usize) {
        let (script, wine) = (folder.join("run.sh"), folder.join("wine.sh"));
        let starts = folder.join("starts");
        fs::write(&script, RUN).unwrap();
        fs::write(&wine, format!("echo >>{}\n{body}", starts.display())).unwrap();
        let _ = fs::remove_file(&starts);
        let mut sh = Command::new("/bin/sh");
        sh.args([&script, &folder.join("lock"), Path::new("/bin/sh"), &wine]);
        let output = sh.output().unwrap();
        let starts = fs::read_to_string(&starts).unwrap().lines().count();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), starts)
    }

    #[test]
    fn only_what_never_began_is_started_again() {
        let folder = std::env::temp_dir().join(format!("xtask-wine-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mark = folder.join("mark").display().to_string();
        let second = format!("if [ -e {mark} ]; then echo running; else touch {mark}; exit 1; fi");
        assert_eq!(run(&folder, &second), (Some(0), "running\n".to_string(), 2));
        assert_eq!(run(&folder, "echo running; exit 101"), (Some(101), "running\n".into(), 1));
        assert_eq!(run(&folder, "echo gone >&2; exit 3"), (Some(3), String::new(), 1));
        assert_eq!(run(&folder, "exit 0"), (Some(0), String::new(), 1));
        assert_eq!(run(&folder, "exit 66"), (Some(66), String::new(), 3), "and not for ever");
        let left = fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, 5, "its own files are gone: script, wine, starts, mark and lock");
        fs::remove_dir_all(&folder).unwrap();
    }
}
