//! The benchmark `record`: gets the peers and starts `benches/record` with them.
//!
//! As in `peers`, a peer that cannot be installed is a row with the reason.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::peers::found;
use crate::{command, tools, workspace};

const MANIFEST: &str = "benches/record/Cargo.toml";
/// The version of below that BENCHMARKS.md has figures of.
const BELOW: &str = "0.9.0";
/// The Debian packages of pmlogger, with the library that reads processes.
const PCP: &[&str] = &["pcp", "pcp-conf", "libpcp3", "libpcp-pmda3", "libpcp-archive1"];

pub(super) fn run() -> Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("the benchmark `record` is about /proc: it takes Linux");
    }
    let target = workspace::target_directory()?.join("peers");
    let mut arguments = vec![format!("folder={}", target.join("recordings").display())];
    for (name, packages) in [("atop", &["atop"][..]), ("pcp", PCP)] {
        let folder = target.join(format!("{name}-recorder"));
        let unpacked = tools::unpack(packages, &folder);
        arguments
            .extend(found(name, unpacked.map(|()| vec![format!("{name}={}", folder.display())])));
    }
    arguments.extend(found("below", below(&target)));
    let built = target.to_string_lossy();
    let build = ["build", "--release", "--locked", "--manifest-path", MANIFEST, "--target-dir"];
    command::run(command::cargo(&build).arg(&*built))?;
    let program = target.join("release/perfhive-record-bench");
    // In a process namespace of its own, the recorded machine has only the processes of the load, and
    // none of these is left behind. The first process is a shell, since a first process ignores Ctrl-C.
    let isolated =
        ["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", "\"$@\"; exit $?"];
    let mut unshare = command::program("unshare", &isolated);
    command::run(unshare.arg("sh").arg(program).args(arguments)).context(
        "the recorders run in a process namespace, which takes root and unshare of util-linux",
    )
}

#[cfg(unix)]
fn make_link(target: &Path, link: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(target, link)?)
}

#[cfg(not(unix))]
fn make_link(_: &Path, link: &Path) -> Result<()> {
    bail!("{} cannot be a link", link.display())
}

/// The argument for below, which is built from crates.io. Its BPF programs need a newer clang than Debian's usual
/// one.
fn below(target: &Path) -> Result<Vec<String>> {
    let root = target.join("below");
    if !root.join("bin/below").is_file() {
        tools::system(tools::BELOW)?;
        tools::system(&[tools::CLANG_16])?;
        let clang = tools::find(tools::CLANG_16.program).context("no clang-16")?;
        let folder = target.join("below-clang");
        std::fs::create_dir_all(&folder)?;
        let link = folder.join("clang");
        let _ = std::fs::remove_file(&link);
        make_link(&clang, &link)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        let (version, folder) = (format!("below@{BELOW}"), root.to_string_lossy());
        let mut cargo = command::cargo(&["install", "--locked", &version, "--root", &folder]);
        cargo.env("PATH", std::env::join_paths(folders)?);
        cargo.env("CARGO_TARGET_DIR", target.join("below-build"));
        command::run(&mut cargo)?;
    }
    Ok(vec![format!("below={}", root.display())])
}
