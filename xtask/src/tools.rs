//! The tools that stages need: each is found or installed, and a line says what is installed.
//!
//! `cargo xtask test` must work in a fresh clone on a machine that has only
//! Rust, git and the right to install. An installed tool is used as it is,
//! whatever its version, and never upgraded.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::command::{self, nightly};
use crate::workspace;

/// The time that xtask waits for another package manager to release the lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(600);
/// The pause before the next try while another package manager holds the lock.
const LOCK_PAUSE: Duration = Duration::from_secs(5);

/// A program (or file) that a stage needs, and the Debian package that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemTool {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

/// strace, for the tests that count the program's system calls.
pub(crate) const STRACE: SystemTool = SystemTool { program: "strace", package: "strace" };
/// valgrind, for the test that the program runs in it.
pub(crate) const VALGRIND: SystemTool = SystemTool { program: "valgrind", package: "valgrind" };
/// The compilers for C and C++ with C's headers, for the providers of the tests and for the check
/// of the C header.
pub(crate) const CC: &[SystemTool] = &[
    SystemTool { program: "cc", package: "gcc" },
    SystemTool { program: "g++", package: "g++" },
    SystemTool { program: "/usr/include/stdio.h", package: "libc6-dev" },
];
/// The C++ compiler that libFuzzer is built with.
pub(crate) const CXX: SystemTool = SystemTool { program: "g++", package: "g++" };
/// The peer of `perfhive ps`.
pub(crate) const PS: SystemTool = SystemTool { program: "ps", package: "procps" };

/// The C compiler for Windows, which links Rust's programs for it too.
pub(crate) const MINGW: &str = "x86_64-w64-mingw32-gcc";
/// The tools that run and compile programs for Windows.
pub(crate) const WINE: &[SystemTool] = &[
    SystemTool { program: "/usr/lib/wine/wine64", package: "wine64" },
    SystemTool { program: MINGW, package: "gcc-mingw-w64-x86-64-win32" },
];

/// pidstat, a peer that reads processes.
pub(crate) const PIDSTAT: SystemTool = SystemTool { program: "pidstat", package: "sysstat" };
/// Python, for peers that are written in it or driven by it.
pub(crate) const PYTHON: SystemTool = SystemTool { program: "python3", package: "python3" };
/// zstandard for Python, for the test that reads a recording by its specification alone.
pub(crate) const ZSTANDARD: SystemTool = SystemTool {
    program: "/usr/lib/python3/dist-packages/zstandard/__init__.py",
    package: "python3-zstandard",
};
/// tmux for terminals of any size, and the shells in which completion is tested.
pub(crate) const TERMINALS: &[SystemTool] = &[
    SystemTool { program: "tmux", package: "tmux" },
    SystemTool { program: "bash", package: "bash" },
    SystemTool { program: "zsh", package: "zsh" },
    SystemTool { program: "fish", package: "fish" },
];
/// The compiler with which the BPF reader of processes is built.
pub(crate) const BPF: &[SystemTool] = &[SystemTool { program: "clang", package: "clang" }];

/// The tools and libraries that below is built with. The package of a library has no program, so a
/// header stands for it; an absolute path is not searched on the PATH.
pub(crate) const BELOW: &[SystemTool] = &[
    SystemTool { program: "gcc", package: "gcc" },
    SystemTool { program: "make", package: "make" },
    SystemTool { program: "pkg-config", package: "pkg-config" },
    SystemTool { program: "/usr/include/libelf.h", package: "libelf-dev" },
    SystemTool { program: "/usr/include/zlib.h", package: "zlib1g-dev" },
];

/// The clang for the BPF programs of below, which version 14 cannot compile.
pub(crate) const CLANG_16: SystemTool = SystemTool { program: "clang-16", package: "clang-16" };
/// The JDK, and JUnit with the packages that its console needs.
pub(crate) const JAVA: &[SystemTool] = &[
    SystemTool { program: "javac", package: "openjdk-17-jdk-headless" },
    SystemTool { program: "/usr/share/java/junit-platform-console.jar", package: "junit5" },
];

/// The programs with output to which the values of this machine are compared.
pub(crate) const VALUES: &[SystemTool] = &[
    SystemTool { program: "free", package: "procps" },
    SystemTool { program: "vmstat", package: "procps" },
    SystemTool { program: "iostat", package: "sysstat" },
    SystemTool { program: "ip", package: "iproute2" },
    SystemTool { program: "ss", package: "iproute2" },
    SystemTool { program: "numastat", package: "numactl" },
];

/// Makes sure that all of these programs and files are installed; does nothing on other systems
/// than Linux.
pub(crate) fn system(tools: &[SystemTool]) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(()); // The stages that use these tools are about Linux.
    }
    let missing: Vec<SystemTool> = tools.iter().copied().filter(|t| !exists(t.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    say!("installing the Debian packages {} (apt-get)", packages.join(" "));
    if !exists("apt-get") {
        bail!(
            "{} missing, and there is no apt-get to install with: install them by this system's \
             own means and start again",
            packages.join(" ")
        );
    }
    // The commonest reason to fail is an outdated list of packages, so a failure is followed by an
    // update and a second try.
    if apt_get(&["install", "--yes", "--no-install-recommends"], &packages).is_err() {
        apt_get(&["update"], &[])?;
        apt_get(&["install", "--yes", "--no-install-recommends"], &packages)?;
    }
    for tool in missing {
        if !exists(tool.program) {
            bail!("package {} is installed, but there is no `{}`", tool.package, tool.program);
        }
    }
    Ok(())
}

/// Unpacks Debian packages, and the packages they need that are not installed, into
/// a folder, without installing anything: for programs that an installation
/// would start as services, or that are needed for one comparison only.
pub(crate) fn unpack(packages: &[&str], folder: &Path) -> Result<()> {
    let done = folder.join("unpacked");
    if done.is_file() {
        return Ok(());
    }
    if !exists("apt-get") || !exists("dpkg-deb") {
        bail!("there is no apt-get to get {} with", packages.join(" "));
    }
    let archives = folder.join("archives");
    std::fs::create_dir_all(archives.join("partial"))
        .with_context(|| format!("cannot make {}", archives.display()))?;
    let option = format!("Dir::Cache::archives={}", archives.display());
    let download = ["-o", &option, "install", "--yes", "--no-install-recommends"];
    let download = [&download[..], &["--reinstall", "--download-only"]].concat();
    if apt_get(&download, packages).is_err() {
        apt_get(&["update"], &[])?;
        apt_get(&download, packages)?;
    }
    for file in std::fs::read_dir(&archives)? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            let (file, folder) = (file.to_string_lossy(), folder.to_string_lossy());
            command::run(&mut command::program("dpkg-deb", &["-x", &file, &folder]))?;
        }
    }
    std::fs::write(&done, "").with_context(|| format!("cannot write {}", done.display()))
}

/// The path of a Python with these packages, in an environment of its own into which pip installs them once.
pub(crate) fn python(packages: &[&str]) -> Result<PathBuf> {
    system(&[PYTHON])?;
    let folder = workspace::target_directory()?.join("python");
    let bin = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = folder.join(bin);
    let (name, place) = (python.to_string_lossy(), folder.to_string_lossy());
    if !exists(&name)
        && !command::succeeds(&mut command::program("python3", &["-m", "venv", &place]))
    {
        // Debian has the module venv in a package of its own.
        apt_get(&["install", "--yes", "--no-install-recommends"], &["python3-venv"])?;
        command::run(&mut command::program("python3", &["-m", "venv", "--clear", &place]))?;
    }
    let import = format!("import {}", packages.join(", "));
    if !command::succeeds(&mut command::program(&name, &["-c", &import])) {
        say!("installing {} (pip)", packages.join(" "));
        let install = [&["-m", "pip", "install", "--quiet"], packages].concat();
        command::run(&mut command::program(&name, &install))?;
    }
    Ok(python)
}

/// Makes sure that `cargo SUBCOMMAND` works, by adding the component `name` to the toolchain if necessary.
pub(crate) fn component(name: &str, subcommand: &str) -> Result<()> {
    if command::succeeds(&mut command::cargo(&[subcommand, "--version"])) {
        return Ok(());
    }
    say!("adding the component {name} to the toolchain");
    command::run(&mut command::program("rustup", &["component", "add", name]))
        .with_context(|| format!("the toolchain lacks {name}"))
}

/// Makes sure that `cargo NAME` works, by building it if it is missing.
pub(crate) fn cargo_tool(name: &str) -> Result<()> {
    if command::succeeds(&mut command::cargo(&[name, "--version"])) {
        return Ok(());
    }
    let package = format!("cargo-{name}");
    say!("installing {package}: built from source once, which takes some minutes");
    command::run(&mut command::cargo(&["install", "--locked", &package]))
        .with_context(|| format!("cannot install {package}"))
}

/// Whether `cargo nextest` is installed. Tests run without it, too; with it they are faster and have
/// a time limit each.
pub(crate) fn has_nextest() -> bool {
    command::succeeds(&mut command::cargo(&["nextest", "--version"]))
}

/// Makes sure that the nightly toolchain is installed and has these components.
pub(crate) fn nightly_components(components: &[&str]) -> Result<()> {
    if !exists("rustup") {
        bail!("this needs the nightly toolchain, hence rustup (https://rustup.rs)");
    }
    let nightly = nightly();
    // Stages that run at the same time install one after the other.
    let lock = workspace::target_directory()?.join("rustup.lock");
    let lock = std::fs::File::create(&lock).with_context(|| lock.display().to_string())?;
    lock.lock()?;
    let list = Command::new("rustup")
        .args(["component", "list", "--installed", "--toolchain", &nightly])
        .output()
        .context("cannot start rustup")?;
    let installed = String::from_utf8_lossy(&list.stdout).into_owned();
    let missing: Vec<&str> =
        components.iter().copied().filter(|name| !has_component(&installed, name)).collect();
    if list.status.success() && missing.is_empty() {
        return Ok(());
    }
    say!("installing the toolchain {nightly} with {}", components.join(", "));
    let mut rustup =
        command::program("rustup", &["toolchain", "install", &nightly, "--profile", "minimal"]);
    for component in components {
        rustup.args(["-c", component]);
    }
    command::run(&mut rustup)
}

/// The compiler of a toolchain, which is installed if it is missing; `None` without rustup.
pub(crate) fn rustc(toolchain: &str) -> Result<Option<PathBuf>> {
    if !exists("rustup") {
        return Ok(None);
    }
    let list = Command::new("rustup").args(["toolchain", "list"]).output();
    let list = list.context("cannot start rustup")?;
    if !String::from_utf8_lossy(&list.stdout).lines().any(|line| line.starts_with(toolchain)) {
        say!("installing the toolchain {toolchain}");
        let install = ["toolchain", "install", toolchain, "--profile", "minimal"];
        command::run(&mut command::program("rustup", &install))?;
    }
    let which = ["which", "rustc", "--toolchain", toolchain];
    let found = command::output(&mut command::program("rustup", &which))?;
    Ok(Some(PathBuf::from(String::from_utf8_lossy(&found).trim())))
}

/// Whether the toolchain that runs xtask has the standard library of a target, which is added if
/// possible.
pub(crate) fn target(name: &str) -> bool {
    if !exists("rustup") {
        return false;
    }
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let installed = installed.map(|list| String::from_utf8_lossy(&list.stdout).into_owned());
    if installed.is_ok_and(|list| list.lines().any(|line| line == name)) {
        return true;
    }
    say!("adding the target {name} to the toolchain");
    command::run(&mut command::program("rustup", &["target", "add", name])).is_ok()
}

/// Whether a component is in the output of `component list`, which appends the host, such as
/// `-x86_64-unknown-linux-gnu`, to most names.
fn has_component(installed: &str, name: &str) -> bool {
    installed.lines().any(|line| {
        line.strip_prefix(name).is_some_and(|rest| {
            rest.is_empty() || (rest.starts_with('-') && rest.matches('-').count() >= 3)
        })
    })
}

/// Whether a program of this name is on the PATH, or a file at this absolute path.
fn exists(program: &str) -> bool {
    find(program).is_some()
}

/// The path of the first program with this name on the PATH, or an absolute path itself; `None` if
/// there is no such file.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(&file)).find(|file| file.is_file())
}

/// Runs apt-get as root, waiting while another process holds its lock.
fn apt_get(args: &[&str], packages: &[&str]) -> Result<()> {
    let mut words: Vec<&str> = Vec::new();
    if !is_root() {
        if !exists("sudo") {
            bail!(
                "{} must be installed, but this is not root and there is no sudo: run `apt-get \
                 install {}` as root",
                packages.join(" "),
                packages.join(" ")
            );
        }
        words.extend(["sudo", "-n"]);
    }
    // `env` sets the variables, because sudo does not pass on its own.
    words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get"]);
    words.extend(args);
    words.extend(packages);
    let Some((program, rest)) = words.split_first() else { bail!("nothing to run") };
    retry_while_locked(LOCK_PATIENCE, LOCK_PAUSE, || {
        let mut command = command::program(program, rest);
        say!("$ {}", command::display(&command));
        let output = command.output().with_context(|| format!("cannot start `{program}`"))?;
        std::io::stdout().write_all(&output.stdout)?;
        if output.status.success() {
            return Ok(Attempt::Done);
        }
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(if is_locked(&errors) { Attempt::Locked } else { Attempt::Failed(errors) })
    })
    .with_context(|| format!("`{}` failed", words.join(" ")))
}

/// The result of one call of a package manager.
enum Attempt {
    Done,
    Locked,
    Failed(String),
}

/// Repeats `attempt` while another process holds the lock; an error if an attempt fails, or if the
/// lock is held longer than `patience`.
fn retry_while_locked(
    patience: Duration,
    pause: Duration,
    mut attempt: impl FnMut() -> Result<Attempt>,
) -> Result<()> {
    let start = Instant::now();
    loop {
        match attempt()? {
            Attempt::Done => return Ok(()),
            Attempt::Failed(errors) => bail!("{}", errors.trim()),
            Attempt::Locked if start.elapsed() >= patience => {
                bail!("another program held the package manager's lock for {patience:?}")
            }
            Attempt::Locked => {
                say!("another program holds the package manager's lock: waiting");
                std::thread::sleep(pause);
            }
        }
    }
}

/// Whether these messages of apt-get say that another package manager holds the lock.
fn is_locked(errors: &str) -> bool {
    errors.contains("Could not get lock")
        || errors.contains("Unable to acquire the dpkg frontend lock")
        || errors.contains("Unable to lock")
        || errors.contains("dpkg status database is locked")
}

/// Whether xtask runs as root. It asks the program `id`: std has no function for it, and neither a
/// dependency nor unsafe code is worth it.
fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_told_from_other_failures() {
        assert!(is_locked(
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt)"
        ));
        assert!(is_locked("E: Unable to lock directory /var/lib/apt/lists/"));
        assert!(!is_locked("E: Unable to locate package strace"));
    }

    #[test]
    fn a_lock_is_waited_for() -> Result<()> {
        let mut tries = 0;
        retry_while_locked(Duration::from_secs(5), Duration::ZERO, || {
            tries += 1;
            Ok(if tries < 4 { Attempt::Locked } else { Attempt::Done })
        })?;
        assert_eq!(tries, 4);
        Ok(())
    }

    #[test]
    fn a_lock_is_not_waited_for_without_end() {
        let locked = || Ok(Attempt::Locked);
        let result = retry_while_locked(Duration::ZERO, Duration::ZERO, locked);
        assert!(result.is_err_and(|e| e.to_string().contains("lock")));
    }

    #[test]
    fn another_failure_is_not_retried() {
        let mut tries = 0;
        let result = retry_while_locked(Duration::from_secs(5), Duration::ZERO, || {
            tries += 1;
            Ok(Attempt::Failed("E: no such package\n".to_owned()))
        });
        assert!(result.is_err_and(|e| e.to_string() == "E: no such package"));
        assert_eq!(tries, 1);
    }

    #[test]
    fn components_are_recognised_with_and_without_host() {
        let list = "miri-x86_64-unknown-linux-gnu\nrust-src\n";
        assert!(has_component(list, "miri"));
        assert!(has_component(list, "rust-src"));
        assert!(!has_component(list, "rust"), "a prefix is not the name");
        assert!(!has_component(list, "clippy"));
    }

    #[test]
    fn programs_are_looked_up_on_the_path() {
        assert!(exists("git"));
        let absolute = find("git").map(|path| path.display().to_string()).unwrap_or_default();
        assert!(exists(&absolute), "{absolute}");
        assert!(!exists("perfhive-no-such-program"));
    }
}
