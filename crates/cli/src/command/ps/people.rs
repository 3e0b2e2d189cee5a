//! Facts about this machine's processes that no counter has: the owner and the command line.

use crate::args::Global;

/// Whether owners and command lines can be looked up: on Linux, if the source is this machine.
pub(super) fn are_known(global: &Global) -> bool {
    let address = global.source.parse::<perfhive::SourceAddress>();
    cfg!(target_os = "linux") && address.is_ok_and(|address| address.is_this_machine())
}

/// The name of the user that a process runs as, or the user's number if it has no name; `None` if the process
/// cannot be read, as when it has ended.
#[cfg(target_os = "linux")]
pub(super) fn owner(pid: u64) -> Option<String> {
    let status = std::fs::read(format!("/proc/{pid}/status")).ok()?;
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
    // The numbers are those of the real, effective, saved and file system user.
    let effective = std::str::from_utf8(line).ok()?.split_ascii_whitespace().nth(1)?;
    let number: u32 = effective.parse().ok()?;
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(number)).ok().flatten();
    Some(user.map_or_else(|| number.to_string(), |user| user.name))
}

/// The command line of a process, its arguments separated by blanks; for a process without one, such as
/// a kernel thread, the name in brackets. `None` if the process cannot be read, as when it has ended.
#[cfg(target_os = "linux")]
pub(super) fn command(pid: u64) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = line.strip_suffix(&[0]).unwrap_or(&line);
    if line.is_empty() {
        let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
        return Some(format!("[{}]", String::from_utf8_lossy(name.trim_ascii_end())));
    }
    Some(String::from_utf8_lossy(line).replace('\0', " "))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn owner(_: u64) -> Option<String> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn command(_: u64) -> Option<String> {
    None
}
