//! The benchmark `peers`: gets the peers and starts `benches/peers` with them.
//!
//! A peer that cannot be installed is a row of the table that gives the reason; the others are still
//! measured.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{command, tools, workspace};

const MANIFEST: &str = "benches/peers/Cargo.toml";
/// The folder below the target directory where the program is built and the peers are unpacked.
const FOLDER: &str = "peers";
/// The Debian packages of Performance Co-Pilot: its library, and pmdaproc, which reads /proc.
const PCP: &[&str] = &["pcp", "pcp-conf", "libpcp3", "libpcp-pmda3"];

/// The benchmark `one`: builds `benches/peers` and runs its part about a program that measures its
/// own process.
pub(super) fn one() -> Result<()> {
    let target = workspace::target_directory()?.join(FOLDER);
    let target = target.to_string_lossy();
    let mut cargo = command::cargo(&["run", "--release", "--locked", "--manifest-path", MANIFEST]);
    command::run(cargo.args(["--target-dir", &target, "--", "one"]))
}

pub(super) fn run() -> Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("the benchmark `peers` is about /proc: it takes Linux");
    }
    let target = workspace::target_directory()?.join(FOLDER);
    let perfhive = workspace::release_binary()?;
    let mut arguments = vec![format!("perfhive={}", perfhive.display())];
    for tool in [tools::PS, tools::PIDSTAT] {
        let name = tool.program;
        let path = tools::system(&[tool]).and_then(|()| {
            let path = tools::find(name).with_context(|| format!("no `{name}`"))?;
            Ok(vec![format!("{name}={}", path.display())])
        });
        arguments.extend(found(name, path));
    }
    arguments.extend(found("psutil", psutil(&target)));
    arguments.extend(found("pcp", pcp(&target)));
    if let Err(error) = tools::system(&[tools::STRACE]) {
        say!("system calls will not be counted: {error:#}");
    }
    let with_bpf = tools::system(tools::BPF);
    if let Err(error) = &with_bpf {
        say!("nothing will be read through BPF: {error:#}");
    }
    let target = target.to_string_lossy();
    let mut cargo = command::cargo(&["run", "--release", "--locked", "--manifest-path", MANIFEST]);
    if with_bpf.is_ok() {
        cargo.args(["--features", "bpf"]);
    }
    cargo.args(["--target-dir", &target, "--"]).args(arguments);
    command::run(&mut cargo)
}

/// The arguments with the place of a peer, or one argument `missing-NAME=REASON` where it was not found.
pub(super) fn found(name: &str, arguments: Result<Vec<String>>) -> Vec<String> {
    arguments.unwrap_or_else(|error| {
        let why = format!("{error:#}").replace(['\n', '|'], " ");
        vec![format!("missing-{name}={why}")]
    })
}

/// The argument for psutil: the newest one in a Python environment of its own, or else Debian's.
fn psutil(target: &Path) -> Result<Vec<String>> {
    tools::system(&[tools::PYTHON])?;
    let folder = target.join("psutil");
    let python = folder.join("bin/python3").to_string_lossy().into_owned();
    let works = || command::succeeds(&mut command::program(&python, &["-c", "import psutil"]));
    let install = || -> Result<()> {
        let folder = folder.to_string_lossy();
        command::run(&mut command::program("python3", &["-m", "venv", &folder]))?;
        let pip = ["-m", "pip", "install", "--quiet", "psutil"];
        command::run(&mut command::program(&python, &pip))
    };
    if !works() && install().is_err() {
        let folder = target.join("psutil-debian");
        tools::unpack(&["python3-psutil"], &folder)?;
        let path = folder.join("usr/lib/python3/dist-packages");
        return Ok(vec![
            "psutil=/usr/bin/python3".to_owned(),
            format!("psutil-path={}", path.display()),
        ]);
    }
    Ok(vec![format!("psutil={python}")])
}

/// The argument for PCP. It is unpacked and not installed: the installation fails where there is no
/// systemd, and starts daemons where there is.
fn pcp(target: &Path) -> Result<Vec<String>> {
    tools::system(&[tools::PYTHON])?;
    let folder = target.join("pcp");
    tools::unpack(PCP, &folder)?;
    Ok(vec![format!("pcp={}", folder.display())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn missing_peer_has_its_reason() {
        let why = found("x", Err(anyhow!("a|b\nc").context("no x")));
        assert_eq!(why, ["missing-x=no x: a b c"]);
        assert_eq!(found("x", Ok(vec!["x=/x".to_owned()])), ["x=/x"]);
    }
}
