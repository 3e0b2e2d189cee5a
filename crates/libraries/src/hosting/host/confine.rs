//! The rights that the host process gives up before it loads a library.
//!
//! A library has the rights of its reader's user, with these exceptions: no capabilities (root's
//! library may read files that it is registered to read), no access to root's own files, and no
//! right to write files, to trace other processes and to read their memory. Only a library that is
//! registered to start processes may start processes and signal others. A library does not outlive
//! its reader.

use super::supervise;
use crate::hosting::wire::OpenRequest;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, path_beneath_rules,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Gid, PidfdFlags, Resource, Rlimit, Signal, Uid, pidfd_open,
};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::fs::File;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::thread;

/// The most files that a library may have open.
const MOST_FILES: u64 = 1024;
/// The most threads of a library. With `--processes` all its processes together may have so many.
const MOST_THREADS: u64 = 512;
/// The number of the user and of the group that own no files.
const NOBODY: u32 = 65_534;
/// The capability to read files of any owner. The restriction of files
/// ([`restrict_files`]) still applies.
const READS_ALL: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;
/// The number of the system call `fchmodat2` on every architecture with a filter. The call exists
/// since Linux 6.6.
const FCHMODAT2: i64 = 452;
/// The number of the system call `setxattrat`, which exists since Linux 6.13, as `removexattrat`
/// does.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
/// The number of the system call `file_setattr`, which exists since Linux 6.17.
const FILE_SETATTR: i64 = 469;
/// The command of `ioctl` that sets the flags of a file (`linux/fs.h`). `FS_IOC_FSSETXATTR` sets
/// further attributes.
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;
/// The command of `fcntl` that sets which process gets the signals of a descriptor. `FIOSETOWN` and
/// `SIOCSPGRP` are commands of `ioctl` that do so, too.
const F_SETOWN_EX: u64 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
/// The paths of the system's libraries, and of the files that these libraries read.
const SYSTEM: [&str; 8] = [
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/dev",
];

/// Gives up the rights that a provider does not need. Returns a note for the user, such as one about a
/// right that could not be given up or a library that cannot be read; `None` if there is nothing to
/// note. The process must have one thread. From Linux 5.3 on, a second one is started, which ends the
/// process with its reader. An error means that the reader has ended, or that a step failed without
/// which the library must not be loaded.
pub(super) fn confine(request: &OpenRequest) -> Result<Option<String>, Errno> {
    let parent = rustix::process::getppid();
    // Kernels before 5.3 have no such descriptor.
    let reader = parent.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if parent.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()) != Some(request.reader) {
        // The reader has ended already.
        return Err(Errno::SRCH);
    }
    rustix::thread::set_no_new_privs(true)?;
    let limit = |resource, most: u64| {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        rustix::process::setrlimit(resource, limit)
    };
    // A core file of each crash would fill the disk.
    limit(Resource::Core, 0)?;
    // When memory runs short, this process is to be killed first. Where the system does not
    // allow that, nothing is lost.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let mut notes = Vec::new();
    let is_root = rustix::process::geteuid().is_root();
    // Root's library reads the files that it is registered for, whatever user owns them.
    let reads_all = is_root && !request.reads.is_empty();
    if is_root && let Err(error) = become_nobody(reads_all) {
        notes.push(format!("it may read root's own files ({error})"));
    }
    // Set after the change of the user, which would switch it off.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != parent {
        return Err(Errno::SRCH);
    }
    if is_supervised(request.processes) {
        supervise::split()?;
    }
    // Threads can be limited if the count has those of the library and few others. That is so in a
    // user namespace of its own, which newer kernels count by itself, and for the user `nobody`.
    // With `reads_all` there is no namespace, since it would take the capability away.
    let is_counted = reads_all || own_user_namespace().is_ok() && counts_by_namespace();
    limit(Resource::As, request.memory_limit)?;
    // Limits files in memory, which the address space does not count. A library that writes
    // past the limit gets an error, as on a full disk.
    limit(Resource::Fsize, request.memory_limit)?;
    // Each file may be that long, so their number is limited too.
    let files = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    limit(Resource::Nofile, files.min(MOST_FILES))?;
    // SAFETY: no handler of this process's own is replaced; there is none.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    keep_capabilities(if reads_all { READS_ALL } else { CapabilitySet::empty() })?;
    let is_enforced =
        restrict_files(request).is_ok_and(|status| status != RulesetStatus::NotEnforced);
    if !is_enforced {
        // With the capability and without the restriction, the library would read every file.
        keep_capabilities(CapabilitySet::empty())?;
        let beside = match request.reads.is_empty() {
            true => "",
            false => ", and read others than it is registered for",
        };
        notes.push(format!("it may write files{beside}, since this system has no Landlock"));
    }
    notes.extend(unreadable(&request.library));
    reader.map_or(Ok(()), end_with_reader)?;
    if is_counted {
        limit(Resource::Nproc, MOST_THREADS)?;
    }
    let mut filtered = nothing_of_others(std::env::consts::ARCH);
    if !request.processes {
        filtered = filtered.and_then(|()| one_process(std::env::consts::ARCH));
        notes.extend(filtered.err().map(|why| not_refused(&*why)));
    }
    Ok(Some(notes.join("; ")).filter(|notes| !notes.is_empty()))
}

/// Switches from root to the user and the group that own no files. Root could read its own files
/// without any capability, as their owner. With `keeps` the capabilities stay, so that a later step
/// can choose from them.
fn become_nobody(keeps: bool) -> Result<(), Errno> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_keep_capabilities(keeps)?;
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    // Otherwise `/proc/self` belongs to root.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
}

/// A note that this process cannot open the file of the library for reading, with the reason;
/// `None` if it can.
fn unreadable(library: &Path) -> Option<String> {
    let error = File::open(library).err()?;
    Some(format!(
        "the host process cannot open the library ({error}): if it may not, let others read the library and its \
         folders, or name what it reads with --reads PATH"
    ))
}

/// Moves this process to a user namespace of its own, in which only its own user exists. It is an
/// error if the user is root, or if the system does not allow it.
fn own_user_namespace() -> Result<(), Errno> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() {
        return Err(Errno::PERM);
    }
    // SAFETY: a user namespace changes neither memory nor descriptors, which other threads might
    // share; and the process has this thread alone.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?;
    // Without the maps, the user is shown as nobody, and has the same rights.
    let _ = std::fs::write("/proc/self/setgroups", "deny");
    let _ = std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()));
    let _ = std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()));
    Ok(())
}

/// Whether the kernel counts the threads of a user separately in each user namespace (Linux 5.14
/// and later). Before that, a limit of threads would apply to all threads of the user.
fn counts_by_namespace() -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let mut next = || numbers.next().flatten().unwrap_or(0u32);
    (next(), next()) >= (5, 14)
}

/// Gives up all capabilities but `kept`: root's capabilities reach every file and process, and the
/// capabilities in a namespace reach everything in it.
fn keep_capabilities(kept: CapabilitySet) -> Result<(), Errno> {
    let inheritable = CapabilitySet::empty();
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable };
    rustix::thread::set_capabilities(None, sets)
}

/// Forbids the process to write files other than character devices. If the registration lists files
/// to read, the process may read only these, the library's folder, the paths in [`SYSTEM`] and
/// `/proc/self`. Kernels before 5.13 and kernels without Landlock forbid nothing. Kernels before
/// 6.2 do not forbid to empty a file by opening it for reading with `O_TRUNC`. Returns how much of
/// this the kernel enforces.
fn restrict_files(request: &OpenRequest) -> Result<RulesetStatus, RulesetError> {
    let writes = AccessFs::from_write(ABI::V3);
    let reads = AccessFs::ReadFile | AccessFs::ReadDir;
    let is_limited = !request.reads.is_empty();
    let handled = if is_limited { writes | reads } else { writes };
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(handled)?
        .create()?
        .add_rules(path_beneath_rules(devices(), (reads & handled) | AccessFs::WriteFile))?;
    if !is_limited {
        return Ok(rules.restrict_self()?.ruleset);
    }
    let own = ["/proc/self"].into_iter().chain(SYSTEM).map(PathBuf::from);
    let folder = request.library.parent().map(Path::to_path_buf);
    let paths = own.chain(folder).chain(request.reads.iter().cloned());
    Ok(rules.add_rules(path_beneath_rules(paths, reads))?.restrict_self()?.ruleset)
}

/// The character devices in `/dev` and its folders. Their own permissions decide about writing.
fn devices() -> Vec<PathBuf> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries(Path::new("/dev")) {
        let Ok(kind) = entry.file_type() else { continue };
        let inner = kind.is_dir().then(|| entries(&entry.path()).collect::<Vec<_>>());
        let all = inner.unwrap_or_else(|| vec![entry]);
        let is_device =
            |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_char_device());
        found.extend(all.into_iter().filter(is_device).map(|entry| entry.path()));
    }
    found
}

/// Starts a thread that ends this process when its reader ends. The parent-death signal does this too,
/// but a library may switch the signal off, by intent or by changing its user.
fn end_with_reader(reader: OwnedFd) -> Result<(), Errno> {
    const STACK: usize = 64 << 10;
    let watch = move || {
        // Returns when the reader has ended.
        while poll(&mut [PollFd::new(&reader, PollFlags::IN)], None) != Ok(1) {}
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    };
    let thread = thread::Builder::new().name("perfhive watch".to_string()).stack_size(STACK);
    let error = |error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
    thread.spawn(watch).map(drop).map_err(error)
}

/// Whether a supervisor process above the library's process ends all processes that the library
/// starts. There is one if the library may start processes, or if no filter can refuse them.
pub(crate) fn is_supervised(processes: bool) -> bool {
    const FILTERED: bool =
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
    processes || !FILTERED
}

/// The note that a library cannot be kept from starting processes, with the reason.
fn not_refused(why: &dyn std::error::Error) -> String {
    format!(
        "it may start processes, each with limits of its own, since this system cannot refuse \
         them ({why}); register it with --processes if it is meant to"
    )
}

/// Makes the kernel refuse these system calls of this process with the error number `error`. A call
/// with rules is refused only if it matches one of them. `arch` is the processor architecture; it
/// is an error if there are no filters for it.
fn refuse(
    calls: Vec<(i64, Vec<SeccompRule>)>,
    error: i32,
    arch: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let answer = SeccompAction::Errno(error.unsigned_abs());
    let arch = TargetArch::try_from(arch)?;
    let calls = calls.into_iter().collect();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, answer, arch)?;
    Ok(seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?)
}

/// Makes the kernel refuse to trace other processes, to read or write their memory, to change
/// namespaces, to open files by handle, and to change owners, modes, times and attributes of files.
/// It is an error if the kernel or the architecture `arch` has no filters.
fn nothing_of_others(arch: &str) -> Result<(), Box<dyn std::error::Error>> {
    let calls = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        // A namespace would have capabilities of its own.
        libc::SYS_unshare,
        libc::SYS_setns,
        // Files without a path, which the restriction of files does not know.
        libc::SYS_open_by_handle_at,
        // Modes, owners and attributes, which the restriction of files does not cover.
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        FCHMODAT2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        SETXATTRAT,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        REMOVEXATTRAT,
        FILE_SETATTR,
        libc::SYS_utimensat,
        // Landlock covers it since Linux 6.2.
        libc::SYS_truncate,
        // Its operations are no system calls, so that no filter sees them.
        libc::SYS_io_uring_setup,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat,
    ];
    let mut calls: Vec<_> = calls.map(|call| (call, vec![])).into();
    calls.push((libc::SYS_ioctl, commands(&[FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR])?));
    refuse(calls, libc::EPERM, arch)
}

/// Rules for a call with one of these commands as its second argument.
fn commands(numbers: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let rule = |number: &u64| {
        let is = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *number)?;
        SeccompRule::new(vec![is])
    };
    numbers.iter().map(rule).collect()
}

/// Makes the kernel refuse to start processes, each of which would have the memory limit for itself
/// and could outlive this one. Threads are allowed. The kernel also refuses to signal other
/// processes and to change their limits: after a failed fork a library may `kill` the process -1,
/// which means all processes of the user. It is an error if the kernel or the architecture `arch`
/// has no filters.
fn one_process(arch: &str) -> Result<(), Box<dyn std::error::Error>> {
    let thread = libc::CLONE_THREAD as u64;
    let no_thread =
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)?;
    let mut calls = vec![(libc::SYS_clone, vec![SeccompRule::new(vec![no_thread])?])];
    let me = u64::from(std::process::id());
    let other = |also: Option<u64>| {
        let not =
            |number| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, number);
        let numbers = [Some(me), also].into_iter().flatten();
        Ok::<_, seccompiler::BackendError>(vec![SeccompRule::new(
            numbers.map(not).collect::<Result<_, _>>()?,
        )?])
    };
    // The number 0 means the own group in `kill`, and the process itself in `prlimit64`.
    calls.extend([
        (libc::SYS_kill, other(Some(0))?),
        (libc::SYS_prlimit64, other(Some(0))?),
        (libc::SYS_tgkill, other(None)?),
        (libc::SYS_rt_sigqueueinfo, other(None)?),
        (libc::SYS_rt_tgsigqueueinfo, other(None)?),
        (libc::SYS_pidfd_send_signal, vec![]),
        // The owner of a descriptor gets a signal of the library's choice when data comes.
        (libc::SYS_fcntl, commands(&[libc::F_SETOWN as u64, F_SETOWN_EX])?),
        (libc::SYS_ioctl, commands(&[FIOSETOWN, SIOCSPGRP])?),
    ]);
    // `tkill` names a thread without its process; musl signals its own threads with it.
    #[cfg(not(target_env = "musl"))]
    calls.push((libc::SYS_tkill, vec![]));
    #[cfg(target_arch = "x86_64")]
    calls.extend([(libc::SYS_fork, vec![]), (libc::SYS_vfork, vec![])]);
    refuse(calls, libc::EPERM, arch)?;
    // The flags of clone3 lie in memory, which a filter cannot read. C libraries use the older
    // call where the kernel does not know this one.
    refuse(vec![(libc::SYS_clone3, vec![])], libc::ENOSYS, arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Filters exist for some processors only.
    #[test]
    fn architecture_without_filter_gets_a_note() {
        let why = one_process("s390x").unwrap_err();
        let said = not_refused(&*why);
        assert!(said.contains("cannot refuse them (") && said.contains("s390x"), "{said}");
        assert!(said.ends_with("register it with --processes if it is meant to"), "{said}");
        assert_eq!(TargetArch::try_from(std::env::consts::ARCH).is_ok(), !is_supervised(false));
    }
}
