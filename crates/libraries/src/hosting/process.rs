//! A host process, as its reader drives it.

use crate::hosting::area::{front, rear};
use crate::hosting::options::{HostCommand, THIS_PROGRAM};
use crate::hosting::wire::{LONGEST, Request, Response};
use crate::store::{Refusal, Trust};
use perfhive_engine::GuardedBuffer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, pread};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a supervisor may take to end all processes below it, and itself.
const TERM_PATIENCE: Duration = Duration::from_secs(10);

/// A host process with its socket and shared memory. Dropping it ends the process.
pub(crate) struct HostProcess {
    child: Option<Child>,
    /// Whether the process has a supervisor, which ends all other processes when told to.
    is_supervised: bool,
    /// Whether the process was told to end.
    is_closing: bool,
    socket: OwnedFd,
    memory: OwnedFd,
    packet: Vec<u8>,
}

/// The reason why a host process did not answer.
#[derive(Debug)]
pub(crate) enum HostSilence {
    /// The deadline passed without an answer, or the host does not take requests.
    Late,
    /// The process has ended, or cannot be used any more; the text says how.
    Gone(String),
}

impl HostProcess {
    /// Starts a process for a library. `processes` says whether the library may start other
    /// processes. Nothing is loaded yet.
    ///
    /// # Errors
    /// A text that says why the process cannot be started.
    pub(crate) fn start(command: &HostCommand, processes: bool) -> Result<Self, String> {
        let failed = |what: &'static str| move |error: Errno| format!("{what}: {error}");
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed("no pair of sockets"))?;
        let memory = crate::hosting::area::memory().map_err(failed("no shared memory"))?;
        let shared = memory.try_clone().map_err(|error| format!("no shared memory: {error}"))?;
        let mut process = Command::new(trusted(&command.program)?);
        process
            .args(&command.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(shared))
            .stderr(Stdio::null());
        let child = nursery(process)
            .map_err(|error| format!("{} cannot be started: {error}", command.program.display()))?;
        let is_supervised = crate::hosting::host::is_supervised(processes);
        let (packet, is_closing) = (vec![0; LONGEST], false);
        Ok(Self { child: Some(child), is_supervised, is_closing, socket, memory, packet })
    }

    /// Copies the guards of a buffer of `room` bytes, and its first `data` bytes, out of the shared
    /// memory into `whole`. Returns `false` if that is not possible, such as when the memory lacks
    /// some of these bytes.
    pub(crate) fn copy(&mut self, room: usize, data: usize, whole: &mut [u8]) -> bool {
        const GUARD: usize = GuardedBuffer::GUARD;
        let Some((body, behind)) = whole.split_at_mut_checked(GUARD + room) else { return false };
        let body = body.get_mut(..GUARD + data).unwrap_or_default();
        let memory = &self.memory;
        read_all(memory, body, front(room)).is_ok() && read_all(memory, behind, rear(room)).is_ok()
    }

    /// Sends a request to the host process, without waiting for the answer. The error `Late` means
    /// that the host does not take requests, `Gone` that it has ended.
    pub(crate) fn send(&mut self, request: &Request) -> Result<(), HostSilence> {
        // If the socket has no room for the packet, the host has not taken earlier packets.
        match send(&self.socket, &request.encode(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(_) => Ok(()),
            Err(Errno::AGAIN) => Err(HostSilence::Late),
            Err(_) => Err(HostSilence::Gone(self.how_it_went(Instant::now()))),
        }
    }

    /// Waits until `deadline` for the answer to the request `id`. Late answers to earlier requests
    /// are discarded; an invalid answer ends the process.
    pub(crate) fn wait(&mut self, id: u32, deadline: Instant) -> Result<Response, HostSilence> {
        loop {
            let flags = RecvFlags::DONTWAIT;
            match recv(&self.socket, &mut self.packet[..], flags) {
                Ok((0, _)) => return Err(HostSilence::Gone(self.how_it_went(deadline))),
                Ok((length, _)) => {
                    let response = self.packet.get(..length).and_then(Response::decode);
                    match response {
                        Some(response) if response.id == id => return Ok(response),
                        // A library that finds the socket may send answers without end.
                        Some(_) if Instant::now() < deadline => continue,
                        Some(_) => return Err(HostSilence::Late),
                        None => {
                            self.end();
                            let text = "overwrote its host's answer, and was ended";
                            return Err(HostSilence::Gone(text.to_string()));
                        }
                    }
                }
                Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return Err(HostSilence::Gone(self.how_it_went(deadline))),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(HostSilence::Late);
            }
            let left = Timespec::try_from(left).ok();
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], left.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(HostSilence::Gone(error.to_string())),
            }
        }
    }

    /// Makes the process close the library and end by itself; a process that still runs after about
    /// half a second is ended. The caller waits only for a part of this time, which is enough for most
    /// libraries; a thread waits for the rest.
    pub(crate) fn close(mut self) {
        const AT_ONCE: Duration = Duration::from_millis(5);
        const MOMENT: Duration = Duration::from_millis(500);
        self.is_closing = true;
        if self.send(&Request::Close).is_err() {
            return;
        }
        // No answer has this number: the wait lasts until the end of the process.
        if let Err(HostSilence::Late) = self.wait(u32::MAX, Instant::now() + AT_ONCE) {
            let later = thread::Builder::new().name("perfhive closing".to_string());
            let _ = later.spawn(move || {
                let _ = self.wait(u32::MAX, Instant::now() + MOMENT);
            });
        }
    }

    /// Ends the process, and the processes that its library started.
    pub(crate) fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let is_signalled =
            self.is_supervised && kill_process(Pid::from_child(&child), Signal::TERM).is_ok();
        if !is_signalled {
            end_group(&child);
        }
        // A process may be held up in the kernel: the reader does not wait for its end.
        let reaper = thread::Builder::new().name("perfhive reaper".to_string());
        let _ = reaper.spawn(move || {
            let start = Instant::now();
            while is_signalled
                && start.elapsed() < TERM_PATIENCE
                && matches!(child.try_wait(), Ok(None))
            {
                thread::sleep(Duration::from_millis(5));
            }
            if is_signalled && matches!(child.try_wait(), Ok(None)) {
                end_group(&child);
            }
            child.wait()
        });
    }

    /// A text that says how a process ended that no longer answers. Waits for its end until
    /// `deadline`, but not for less than 20 or more than 100 ms; while it is closing, up to 100 ms. A
    /// process that still runs then is ended.
    fn how_it_went(&mut self, deadline: Instant) -> String {
        /// The longest wait for the end of the process, which is known a little later than its
        /// socket is closed. A library may close the socket and go on: its reader must not wait for
        /// long.
        const PATIENCE: Duration = Duration::from_millis(100);
        /// The shortest wait, also after the deadline.
        const AT_LEAST: Duration = Duration::from_millis(20);
        let start = Instant::now();
        let latest = start + PATIENCE;
        // A closing process still has work to do after its socket is closed.
        let end = if self.is_closing { latest } else { deadline.clamp(start + AT_LEAST, latest) };
        let Some(child) = &mut self.child else { return "is gone".to_string() };
        while Instant::now() < end {
            // NOWAIT keeps the process' number, and that of its group, from being reused.
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(Pid::from_child(child)), look) {
                Ok(Some(_)) => {
                    end_group(child);
                    let status = child.wait();
                    self.child = None;
                    return status.map_or_else(|_| "is gone".to_string(), describe);
                }
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Err(error) => return format!("is gone: {error}"),
            }
        }
        self.end();
        "closed the connection to its host, and was ended".to_string()
    }
}

/// The path by which a host program is started: without symbolic links, and only root and this user
/// can change what it leads to. [`THIS_PROGRAM`] is returned as it is.
///
/// # Errors
/// A text that says why the program is not trusted.
fn trusted(program: &Path) -> Result<PathBuf, String> {
    if program == Path::new(THIS_PROGRAM) {
        return Ok(program.into());
    }
    let opened = Trust::of_caller().open(program);
    opened.map(|(_, path)| path).map_err(|refusal| match refusal {
        Refusal::NotFound => format!("{} is not there", program.display()),
        refusal => format!("{} is not started: {refusal}", program.display()),
    })
}

/// Kills a process that was not waited for yet, and all processes of its group.
fn end_group(child: &Child) {
    let process = Pid::from_child(child);
    // The group exists once the process has run its first lines; before that the process is alone.
    // Both calls fail only where no process is left.
    let _ = kill_process_group(process, Signal::KILL);
    let _ = kill_process(process, Signal::KILL);
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// A text that says how a process ended.
fn describe(status: ExitStatus) -> String {
    const NAMES: &[(i32, &str)] = &[
        (libc::SIGILL, "illegal instruction"),
        (libc::SIGABRT, "abort"),
        (libc::SIGBUS, "bus error"),
        (libc::SIGFPE, "arithmetic error"),
        (libc::SIGKILL, "killed"),
        (libc::SIGSEGV, "access outside of its memory"),
        (libc::SIGTERM, "terminated"),
    ];
    match (status.signal(), status.code()) {
        (Some(signal), _) => match NAMES.iter().find(|(number, _)| *number == signal) {
            Some((_, name)) => format!("crashed with signal {signal} ({name})"),
            None => format!("crashed with signal {signal}"),
        },
        (None, Some(crate::hosting::host::OTHER_VERSION)) => {
            "cannot be run: its host is another version of perfhive".to_string()
        }
        (None, Some(code)) => format!("left its process with exit status {code}"),
        (None, None) => "is gone".to_string(),
    }
}

/// A program to start, and the channel for the result.
type Job = (Command, Sender<io::Result<Child>>);

/// Starts a process from a thread that lives as long as this process, because the kernel ends a
/// host when the *thread* that started it ends.
fn nursery(command: Command) -> io::Result<Child> {
    static NURSERY: Mutex<Option<Sender<Job>>> = Mutex::new(None);
    let start = |body: Box<dyn FnOnce() + Send>| {
        thread::Builder::new().name("perfhive hosts".to_string()).spawn(body).map(drop)
    };
    let mut nursery = NURSERY.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = hand_over(&mut nursery, command, start)?;
    drop(nursery);
    answer.recv().map_err(|_| no_nursery())?
}

fn no_nursery() -> io::Error {
    io::Error::other("the thread that starts processes is gone")
}

/// Hands a program over to the thread of `nursery`. If there is none, `start` has to start one with
/// the body that it is given; where that fails, at the limit of threads, the next call tries again.
fn hand_over(
    nursery: &mut Option<Sender<Job>>,
    command: Command,
    start: impl FnOnce(Box<dyn FnOnce() + Send>) -> io::Result<()>,
) -> io::Result<Receiver<io::Result<Child>>> {
    let (reply, answer) = channel();
    let jobs = match nursery.take() {
        Some(jobs) => jobs,
        None => {
            let (jobs, queue) = channel::<Job>();
            start(Box::new(move || {
                for (mut command, reply) in queue {
                    // Without a receiver the process ends by itself: its socket is closed.
                    let _ = reply.send(command.spawn());
                }
            }))?;
            jobs
        }
    };
    jobs.send((command, reply)).map_err(|_| no_nursery())?;
    *nursery = Some(jobs);
    Ok(answer)
}

/// Fills `to` with the bytes of the shared memory from the offset `from` on. It is an error if the
/// memory has fewer bytes.
fn read_all(memory: impl rustix::fd::AsFd, to: &mut [u8], from: usize) -> Result<(), Errno> {
    let mut done = 0;
    while let Some(rest) = to.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match pread(&memory, rest, (from + done) as u64) {
            Ok(0) => return Err(Errno::INVAL),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_could_not_be_started_is_tried_again() {
        let (mut nursery, mut started) = (None, 0);
        let mut hand = |is_full: bool| {
            let answer = hand_over(&mut nursery, Command::new("/bin/true"), |body| {
                started += 1;
                match is_full {
                    true => Err(io::ErrorKind::WouldBlock.into()),
                    false => thread::Builder::new().spawn(body).map(drop),
                }
            });
            answer.map(|answer| answer.recv().unwrap().unwrap().wait().unwrap().success())
        };
        for _ in 0..2 {
            assert_eq!(hand(true).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
        // The thread stays for the programs after the first.
        assert!(hand(false).unwrap() && hand(true).unwrap());
        assert_eq!(started, 3);
    }

    #[test]
    fn a_thread_that_is_gone_is_an_error_and_then_replaced() {
        let (jobs, _) = channel();
        let mut nursery = Some(jobs);
        let unused = |_| panic!("there is a thread, as far as is known");
        assert!(hand_over(&mut nursery, Command::new("/bin/true"), unused).is_err());
        let start = |body| thread::Builder::new().spawn(body).map(drop);
        let answer = hand_over(&mut nursery, Command::new("/bin/true"), start).unwrap();
        assert!(answer.recv().unwrap().unwrap().wait().unwrap().success());
    }
}
