//! The process above that of a library which may start others. It calls nothing
//! foreign; it is there to end with all that the library leaves behind, in whatever
//! session that is: the kernel gives it the children of those that end.

use rustix::fs::{Dir, Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

/// How long it tries to end what does not end, such as processes that are held up in
/// the kernel.
const PATIENCE: Duration = Duration::from_secs(5);

/// Splits this process, which must have one thread: the caller goes on in a new one,
/// and the old one stays above it. The reader's process ID is the old one's parent.
pub(super) fn split() -> Result<(), Errno> {
    let above = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(above))?;
    // What is to end it, it hears of when it waits for it.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    let before = block_all();
    // SAFETY: nothing but this thread is in the process, so that the new one has all
    // that any lock belongs to; each goes on with memory of its own.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: the mask that this thread had before.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, core::ptr::null_mut()) };
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            if rustix::process::getppid() != Some(above) {
                return Err(Errno::SRCH);
            }
            // Its reader ends the old one alone, which then ends all the others.
            rustix::process::setpgid(None, None)
        }
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN)),
        child => match Pid::from_raw(child) {
            Some(child) => supervise(child),
            None => Err(Errno::SRCH),
        },
    }
}

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

/// Waits until the library's process ends, or this one is to end; then ends whatever
/// is left, and itself as the library's process did.
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
            // The orphans among them are nobody else's to wait for.
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

/// Ends every process below this one. Who loses its parent comes here, and is ended
/// with the next round.
fn end_all() {
    let end = Instant::now() + PATIENCE;
    loop {
        for child in children() {
            // It is not waited for so far, so that its number is its own.
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                // There is none any more.
                Err(_) => return,
            }
        }
        if Instant::now() >= end {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The processes whose parent this one is.
fn children() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = open("/proc", flags, Mode::empty()) else { return Vec::new() };
    let Ok(folder) = Dir::new(proc) else { return Vec::new() };
    let numbers = folder.flatten().filter_map(|entry| {
        let name = entry.file_name().to_str().ok()?;
        name.parse::<i32>().ok()
    });
    // Processes go while they are looked at.
    let is_ours = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| parent_of(&stat) == Some(own))
    };
    numbers.filter(is_ours).filter_map(Pid::from_raw).collect()
}

/// The parent that a process's `stat` tells. Its name may hold anything.
fn parent_of(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Ends this process as the library's did, which is what its reader is told.
fn end_like(status: Option<WaitStatus>) -> ! {
    if let Some(signal) = status.and_then(WaitStatus::terminating_signal) {
        // SAFETY: the usual action of a signal, which then is not blocked any more,
        // for this process alone.
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
    fn whose_child_a_process_is() {
        assert_eq!(parent_of("12 (a) b (c)) S 34 12 0"), Some(34));
        for none in ["", "12 (a", "12 (a) S", "12 (a) S x"] {
            assert_eq!(parent_of(none), None);
        }
    }
}
