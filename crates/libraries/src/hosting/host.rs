//! The process that a library runs in.
//!
//! It starts with one end of a pair of sockets as its standard input and the shared memory
//! as its standard output. Before it loads a library it gives up what a provider does not
//! need: other descriptors, further privileges, unlimited memory, and a life longer than its
//! reader's.

mod supervise;

use crate::hosting::area::Area;
use crate::hosting::calls;
use crate::hosting::library::LoadedLibrary;
use crate::hosting::wire::{LONGEST, Lane, OpenRequest, Request, Response};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{PidfdFlags, Resource, Rlimit, Signal, pidfd_open};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::fs::File;
use std::process::ExitCode;
use std::thread;

/// Files that a library may have open.
const MOST_FILES: u64 = 1024;

/// Runs the host until its reader is gone. A program that is its own host calls this first
/// in `main` and returns the result.
#[must_use]
pub fn main() -> ExitCode {
    if rustix::net::sockopt::socket_type(rustix::stdio::stdin()).is_err() {
        eprintln!("perfhive starts this program itself, to run providers in");
        return ExitCode::from(2);
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        // The reader sees that the host is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

/// The exit status of a host of another version than its reader.
pub(crate) const OTHER_VERSION: i32 = 86;

fn serve() -> Result<(), Errno> {
    let mut first = true;
    let (socket, memory) = take_over()?;
    let mut packet = vec![0u8; LONGEST];
    let mut library: Option<LoadedLibrary> = None;
    let mut area: Option<Area> = None;
    loop {
        let length = match recv(&socket, &mut packet[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let request = packet.get(..length).and_then(Request::decode);
        let response = match (request, &library) {
            (Some(Request::Open(request)), None) => {
                let note = confine(&request)?;
                let (response, loaded) = calls::open(&request);
                library = loaded;
                Response { note, ..response }
            }
            (Some(Request::Collect { id, lane, room, value }), Some(library)) => {
                collect(library, &mut area, &memory, (id, lane, &value), room)
            }
            (Some(Request::Close), Some(library)) => {
                library.close();
                return Ok(());
            }
            (None, _) if first && length > 0 => std::process::exit(OTHER_VERSION),
            (Some(request), Some(library)) => match calls::conduct(&request, library) {
                Some(response) => response,
                None => return Ok(()),
            },
            // The reader is gone, or its request is invalid.
            _ => return Ok(()),
        };
        first = false;
        send(&socket, &response.encode(), SendFlags::NOSIGNAL)?;
    }
}

/// Moves the socket and the memory to descriptors that no library writes to by mistake, and
/// closes all others.
fn take_over() -> Result<(OwnedFd, OwnedFd), Errno> {
    // A session of its own: Ctrl-C at a terminal is for the reader, and where the kernel
    // shares processors between sessions (autogroup), all threads of a library together get
    // no more of them than the reader. It fails only for a process that leads one already.
    let _ = rustix::process::setsid();
    // Started by its descriptor, the process would be called `exe`.
    let _ = rustix::thread::set_name(c"perfhive-host");
    let socket = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let memory = fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    rustix::stdio::dup2_stdin(null.as_fd())?;
    rustix::stdio::dup2_stdout(null.as_fd())?;
    rustix::stdio::dup2_stderr(null.as_fd())?;
    drop(null);
    // Closes descriptors that the reader left open for its children.
    use std::os::fd::AsRawFd as _;
    let mut from = 3u32;
    let mut ours = [socket.as_raw_fd(), memory.as_raw_fd()].map(|fd| fd.unsigned_abs());
    ours.sort_unstable();
    for fd in ours.into_iter().chain([u32::MAX]) {
        if from < fd {
            // SAFETY: nothing in this process knows any of these descriptors:
            // it has just begun, and its own two are left out.
            unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, 0) };
        }
        from = fd.saturating_add(1);
    }
    Ok((socket, memory))
}

/// Gives up what a provider does not need; a note about what could not be given up.
fn confine(request: &OpenRequest) -> Result<Option<String>, Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = rustix::process::getppid();
    // Kernels before 5.3 have no such descriptor.
    let reader = parent.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let number = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if number != Some(request.reader) {
        // The reader ended before the line above: no signal would end this process.
        return Err(Errno::SRCH);
    }
    rustix::thread::set_no_new_privs(true)?;
    // Root's capabilities reach every file and process.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, none)?;
    let limit = |resource, most: u64| {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        rustix::process::setrlimit(resource, limit)
    };
    // A core file of each crash would fill the disk.
    limit(Resource::Core, 0)?;
    if is_supervised(request.processes) {
        supervise::split()?;
    }
    limit(Resource::As, request.memory_limit)?;
    // Limits files in memory, which the address space does not count. A library that writes
    // past the limit gets an error, as on a full disk.
    limit(Resource::Fsize, request.memory_limit)?;
    // Each file may be that long, so their number is limited too.
    let files = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    limit(Resource::Nofile, files.min(MOST_FILES))?;
    // SAFETY: no handler of this process's own is replaced; there is none.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    // When memory runs short, this process is to be killed first. Where the system does not
    // allow that, nothing is lost.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    reader.map_or(Ok(()), end_with_reader)?;
    let filtered = no_foreign_memory(std::env::consts::ARCH);
    if request.processes {
        return Ok(None);
    }
    let filtered = filtered.and_then(|()| one_process(std::env::consts::ARCH));
    Ok(filtered.err().map(|why| not_refused(&*why)))
}

/// Starts a thread that ends this process with its reader. A library may switch the parent-death signal
/// off, by intent or by changing its user.
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

/// Whether a supervisor process stands above the library's, which ends all processes that
/// the library starts: where it may start others, or no filter can refuse them.
pub(crate) fn is_supervised(processes: bool) -> bool {
    const FILTERED: bool =
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
    processes || !FILTERED
}

/// The note where a library cannot be kept from starting processes.
fn not_refused(why: &dyn std::error::Error) -> String {
    format!(
        "it may start processes, each with limits of its own, since this system cannot refuse \
         them ({why}); register it with --processes if it is meant to"
    )
}

/// Has the kernel refuse system calls with an error.
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

/// Has the kernel refuse to trace other processes, and to read or write their memory.
fn no_foreign_memory(arch: &str) -> Result<(), Box<dyn std::error::Error>> {
    let calls = [libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev];
    refuse(calls.map(|call| (call, vec![])).into(), libc::EPERM, arch)
}

/// Has the kernel refuse to start processes, which would have the memory limit each and
/// could outlive this one. Threads are allowed. The kernel also refuses to signal other processes: a
/// library whose fork failed may `kill` the process -1, which means all processes of the user.
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
    // Of `kill`, 0 is the group, and of `prlimit64` the process itself.
    calls.extend([
        (libc::SYS_kill, other(Some(0))?),
        (libc::SYS_prlimit64, other(Some(0))?),
        (libc::SYS_tgkill, other(None)?),
        (libc::SYS_rt_sigqueueinfo, other(None)?),
        (libc::SYS_rt_tgsigqueueinfo, other(None)?),
        (libc::SYS_pidfd_send_signal, vec![]),
    ]);
    // It names no process; musl signals its own threads with it.
    #[cfg(not(target_env = "musl"))]
    calls.push((libc::SYS_tkill, vec![]));
    #[cfg(target_arch = "x86_64")]
    calls.extend([(libc::SYS_fork, vec![]), (libc::SYS_vfork, vec![])]);
    refuse(calls, libc::EPERM, arch)?;
    // The flags of clone3 lie in memory, which a filter cannot read. C libraries use the older
    // call where the kernel does not know this one.
    refuse(vec![(libc::SYS_clone3, vec![])], libc::ENOSYS, arch)
}

fn collect(
    library: &LoadedLibrary,
    area: &mut Option<Area>,
    memory: &OwnedFd,
    asked: (u32, Lane, &str),
    room: u32,
) -> Response {
    if area.as_ref().is_none_or(|area| area.room() != room as usize) {
        // The old mapping goes first: both together might exceed the limit.
        *area = None;
        *area = Area::map(memory, room as usize).ok();
    }
    let Some(area) = area else {
        return calls::failed(asked.0, "there is no memory for a buffer of this size");
    };
    area.renew();
    // SAFETY: the buffer is mapped, and `room` bytes long.
    let response = unsafe { calls::collect(library, asked, area.start(), room) };
    area.note_used(isize::try_from(response.moved).unwrap_or(isize::MAX));
    response
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
