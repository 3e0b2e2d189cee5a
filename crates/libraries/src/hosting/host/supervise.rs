//! The supervisor: the process above the process of a library that may start other processes.
//! The supervisor calls no foreign code. It ends all processes that the library leaves behind, in
//! whatever session they are: the kernel makes the supervisor the parent of orphans.

use rustix::fs::{Dir, Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

/// The time for which the supervisor tries to end processes. Some of them may be held up in the
/// kernel.
const PATIENCE: Duration = Duration::from_secs(5);

/// Splits this process, which must have one thread: the caller goes on in a new process, and the
/// old process, a child of the reader, becomes its supervisor.
pub(super) fn split() -> Result<(), Errno> {
    let above = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(above))?;
    // The signal is received by `sigwait`.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    let before = block_all();
    // SAFETY: the process has this thread alone, so that no other thread can hold a lock in
    // the new process.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: `before` is a valid mask, of this thread.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, core::ptr::null_mut()) };
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            if rustix::process::getppid() != Some(above) {
                return Err(Errno::SRCH);
            }
            // The reader ends the supervisor, which ends all others.
            rustix::process::setpgid(None, None)
        }
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN)),
        child => match Pid::from_raw(child) {
            Some(child) => supervise(child),
            None => Err(Errno::SRCH),
        },
    }
}

/// Blocks all signals of this thread. Returns the mask from before.
fn block_all() -> libc::sigset_t {
    // SAFETY: a set is filled before it is used, and the old mask is written by the
    // call; both are plain data.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        before
    }
}

/// Waits until the library's process ends, or this process is told to end. Then ends all remaining
/// processes below this one, and itself as [`end_like`] does.
fn supervise(child: Pid) -> ! {
    let mut status = None;
    loop {
        let mut signal = 0;
        // SAFETY: a set is filled before it is used.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::sigwait(&all, &mut signal);
        }
        if signal == libc::SIGCHLD {
            // Orphans must be waited for too.
            while let Ok(Some((pid, ended))) = rustix::process::wait(WaitOptions::NOHANG) {
                if pid == child {
                    status = Some(ended);
                }
            }
        }
        let is_end = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT].contains(&signal);
        if is_end || status.is_some() {
            end_all();
            end_like(status);
        }
    }
}

/// Ends every process below this one. Orphans become children of this process and end in the next
/// round. Gives up after [`PATIENCE`].
fn end_all() {
    let end = Instant::now() + PATIENCE;
    loop {
        for child in children() {
            // The child was not waited for, so that its number cannot be reused.
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                // No child is left.
                Err(_) => return,
            }
        }
        if Instant::now() >= end {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The process IDs of the children of this process; empty if `/proc` cannot be read.
fn children() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = open("/proc", flags, Mode::empty()) else { return Vec::new() };
    let Ok(folder) = Dir::new(proc) else { return Vec::new() };
    let numbers = folder.flatten().filter_map(|entry| {
        let name = entry.file_name().to_str().ok()?;
        name.parse::<i32>().ok()
    });
    // A process may end at any moment.
    let is_ours = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| parent_of(&stat) == Some(own))
    };
    numbers.filter(is_ours).filter_map(Pid::from_raw).collect()
}

/// The process ID of a process's parent, from the text of the process's `/proc/PID/stat`; `None` if
/// the text has none. The name that stands before it may hold any character.
fn parent_of(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Ends this process as the library's process ended, so that the reader sees the cause; if that is
/// not known (`None`), with exit status 0.
fn end_like(status: Option<WaitStatus>) -> ! {
    if let Some(signal) = status.and_then(WaitStatus::terminating_signal) {
        // SAFETY: the default action of an unblocked signal, for this process alone.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            let mut none: libc::sigset_t = core::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::raise(signal);
            libc::sigprocmask(libc::SIG_SETMASK, &none, core::ptr::null_mut());
        }
    }
    exit(status.and_then(WaitStatus::exit_status).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::parent_of;

    #[test]
    fn parent_is_found_behind_a_name_with_brackets() {
        assert_eq!(parent_of("12 (a) b (c)) S 34 12 0"), Some(34));
        for none in ["", "12 (a", "12 (a) S", "12 (a) S x"] {
            assert_eq!(parent_of(none), None);
        }
    }
}
