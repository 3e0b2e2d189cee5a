//! Checks whether the BPF reader may be used: it must work, and show no more than `/proc` would.

use super::Refusal;
use crate::root::ProcRoot;
use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, major, minor, open};
use rustix::thread::CapabilitySet;
use std::path::Path;

/// The kinds of namespaces that are checked, each with the name of its first namespace, which is
/// the same on every machine.
const NAMESPACES: [(&str, &str); 3] =
    [("pid", "pid:[4026531836]"), ("user", "user:[4026531837]"), ("time", "time:[4026531834]")];

/// Checks all that can be checked before the program is loaded; the error is the first check that
/// fails.
pub(super) fn check(root: &ProcRoot) -> Result<(), Refusal> {
    capabilities()?;
    own_proc(root.proc())?;
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    if version(&release).is_some_and(|version| version < (6, 7)) {
        return Err(Refusal::new(format!("takes Linux 6.7 or later, this is {release}")));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Refusal::new(
            "this kernel does not describe its structures (no /sys/kernel/btf/vmlinux)",
        ));
    }
    if lockdown() {
        return Err(Refusal::new("the kernel is locked down (confidentiality)"));
    }
    Ok(())
}

/// Checks the capabilities of this thread: `CAP_SYS_PTRACE`, and either `CAP_SYS_ADMIN` or both
/// `CAP_BPF` and `CAP_PERFMON`. If some are missing, the error names them. This is checked before
/// each run, since a program may give up capabilities.
pub(crate) fn capabilities() -> Result<(), Refusal> {
    let sets = rustix::thread::capabilities(None)
        .map_err(|error| Refusal::new(format!("capabilities: {error}")))?;
    let has = |one| sets.effective.contains(one);
    let bpf = |one| has(one) || has(CapabilitySet::SYS_ADMIN);
    // Without CAP_SYS_PTRACE, `/proc` would not show every process in full.
    let needed = [
        ("CAP_BPF", bpf(CapabilitySet::BPF)),
        ("CAP_PERFMON", bpf(CapabilitySet::PERFMON)),
        ("CAP_SYS_PTRACE", has(CapabilitySet::SYS_PTRACE)),
    ];
    let mut missing = needed.iter().filter(|(_, has)| !has).map(|(name, _)| *name).peekable();
    if missing.peek().is_none() {
        return Ok(());
    }
    let missing: Vec<_> = missing.collect();
    Err(Refusal::new(format!("takes the capability {}", missing.join(" and "))))
}

/// Checks that the folder is this program's own `/proc`, that the program is in the first
/// namespaces, and that no processes are hidden; the error names the first of these that is not so.
fn own_proc(proc: &Path) -> Result<(), Refusal> {
    let name = proc.display();
    let not_own = || Refusal::new(format!("{name} is not this system's own /proc"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = open(proc, flags, Mode::empty()).map_err(|_| not_own())?;
    let is_procfs = fstatfs(&dir).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC);
    let own = std::fs::read_link(proc.join("self")).map_err(|_| not_own())?;
    if !is_procfs || own.to_str() != Some(std::process::id().to_string().as_str()) {
        return Err(not_own());
    }
    for (kind, first) in NAMESPACES {
        // A kernel without such namespaces has no link.
        let link = std::fs::read_link(proc.join("self/ns").join(kind));
        if link.is_ok_and(|link| link.as_os_str() != first) {
            return Err(Refusal::new(format!("runs in a {kind} namespace of its own")));
        }
    }
    let device = fstat(&dir).map_err(|_| not_own())?.st_dev;
    let device = format!("{}:{}", major(device), minor(device));
    let mounts = std::fs::read(proc.join("self/mountinfo")).map_err(|_| not_own())?;
    match hides(&String::from_utf8_lossy(&mounts), &device) {
        Some(false) => Ok(()),
        Some(true) => Err(Refusal::new(format!("{name} hides processes (hidepid or subset)"))),
        None => Err(not_own()),
    }
}

/// Whether any mount of the procfs with this device number hides processes (`hidepid`, `subset`),
/// from the text of `mountinfo`. `None` if the procfs is not mounted.
fn hides(mounts: &str, device: &str) -> Option<bool> {
    let mut found = None;
    for line in mounts.lines() {
        let mut words = line.split(' ').skip(2);
        if words.next() != Some(device) {
            continue;
        }
        let options = line.rsplit(' ').next().unwrap_or_default().split(',');
        let mut hiding = options.filter(|o| o.starts_with("hidepid=") || o.starts_with("subset="));
        let hides = hiding.any(|option| !matches!(option, "hidepid=0" | "hidepid=off"));
        found = Some(found.unwrap_or(false) || hides);
    }
    found
}

/// The major and the minor number of a kernel release; `None` for a text of another form.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Whether the kernel is locked down so far that programs may not read its memory.
fn lockdown() -> bool {
    std::fs::read_to_string("/sys/kernel/security/lockdown")
        .is_ok_and(|modes| modes.contains("[confidentiality]"))
}

/// The refusal of a kernel that did not load the program although all checks passed.
pub(super) fn failed(error: &str) -> Refusal {
    Refusal::surprise(format!("the kernel does not take the BPF program: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(version("6.18.44-fc"), Some((6, 18)));
        assert_eq!(version("5.10"), Some((5, 10)));
        assert_eq!(version("7.0-rc1+"), Some((7, 0)));
        assert_eq!(version("x"), None);
    }

    #[test]
    fn mounts_that_hide_processes() {
        let line = |device: &str, options: &str| {
            format!("24 30 {device} / /proc rw,nosuid - proc proc {options}\n")
        };
        let mounts = line("0:22", "rw") + &line("0:40", "rw,gid=4,hidepid=invisible");
        assert_eq!(hides(&mounts, "0:22"), Some(false));
        assert_eq!(hides(&mounts, "0:40"), Some(true));
        assert_eq!(hides(&mounts, "0:4"), None);
        assert_eq!(hides(&line("0:5", "rw,subset=pid"), "0:5"), Some(true));
        assert_eq!(hides(&line("0:5", "rw,hidepid=off"), "0:5"), Some(false));
    }
}
