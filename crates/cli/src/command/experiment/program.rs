//! The program under test.
//!
//! The sensors of the program are found by its process ID, so its process has to exist before the
//! program runs. perfhive therefore starts itself as its child, which waits on a socket and then
//! becomes the program (`execve` keeps process ID and start time). The socket closes when that
//! succeeds and brings the error otherwise.

use crate::failure::Failure;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first argument of the child, in the place of a command. No help lists it: only perfhive starts the child.
pub(crate) const HOLD: &str = "experiment-hold";

/// The longest time that the child may take to connect to its socket, and again to become the
/// program.
const COMING: Duration = Duration::from_secs(10);

/// A program that waits for its start. It is killed if this value is dropped before the start.
pub(super) struct HeldProgram {
    child: OwnedChild,
    name: String,
    stream: UnixStream,
}

/// A running program.
pub(super) struct Program {
    child: Child,
    name: String,
    /// Whether the process has been waited for, so that its process ID may belong to another
    /// process by now.
    reaped: Arc<Mutex<bool>>,
}

/// A child process, which is killed when this value is dropped with the child still in it.
struct OwnedChild(Option<Child>);

impl Drop for OwnedChild {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl HeldProgram {
    /// Starts the child and returns once it has connected to `socket`, where it waits for [`begin`](Self::begin).
    /// `words` are the program and its arguments; `variables` are added to its environment.
    pub(super) fn new(
        socket: &Path,
        words: &[OsString],
        variables: &[(&str, OsString)],
    ) -> Result<Self, Failure> {
        let name = words.first().map(|word| word.display().to_string()).unwrap_or_default();
        let failed =
            |error: io::Error| Failure::Source(format!("{name} cannot be started: {error}"));
        let listener = UnixListener::bind(socket).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg(HOLD).arg(socket).args(words);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().map_err(failed)?;
        let until = Instant::now() + COMING;
        let mut ended = false;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break Ok(stream),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => break Err(error),
                Err(_) if ended => break Err(io::Error::other("its process ended too early")),
                Err(_) if Instant::now() > until => break Err(io::ErrorKind::TimedOut.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
            ended = child.try_wait().is_ok_and(|status| status.is_some());
        };
        let child = OwnedChild(Some(child));
        let stream = stream.map_err(failed)?;
        stream.set_nonblocking(false).map_err(failed)?;
        stream.set_read_timeout(Some(COMING)).map_err(failed)?;
        Ok(Self { child, name, stream })
    }

    /// The process ID of the program.
    pub(super) fn process(&self) -> u32 {
        self.child.0.as_ref().map(Child::id).unwrap_or_default()
    }

    /// Lets the program begin. If it cannot, the error is that of its `execve`.
    pub(super) fn begin(self) -> Result<Program, Failure> {
        let Self { mut child, name, mut stream } = self;
        let mut number = [0; 4];
        let begins = stream.write_all(&[1]);
        let mut read = || loop {
            // A signal interrupts the read: it may be an event of the experiment.
            match stream.read(&mut number) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                answer => return answer,
            }
        };
        let answer = begins.and_then(|()| read());
        let error = match (answer, child.0.take()) {
            // Closed by execve.
            (Ok(0), Some(child)) => return Ok(Program { child, name, reaped: Arc::default() }),
            (Ok(_), left) => {
                child.0 = left;
                io::Error::from_raw_os_error(i32::from_ne_bytes(number))
            }
            (Err(error), left) => {
                child.0 = left;
                error
            }
        };
        let way_out = match error.kind() {
            io::ErrorKind::NotFound if !name.contains('/') => "; it is in no folder of PATH",
            _ => "",
        };
        Err(Failure::Usage(format!("{name} cannot be started: {error}{way_out}")))
    }
}

/// A handle with which another thread can end a running program.
pub(super) struct ProgramEnder {
    process: u32,
    reaped: Arc<Mutex<bool>>,
}

impl ProgramEnder {
    /// Waits for `patience`, then asks the program to end, and kills it five seconds later; a
    /// program that has ended by then is left alone.
    pub(super) fn end(&self, patience: Duration) {
        std::thread::sleep(patience);
        self.send(Signal::SIGTERM);
        std::thread::sleep(Duration::from_secs(5));
        self.send(Signal::SIGKILL);
    }

    /// Sends a signal to the program, unless the program was waited for already. An error is
    /// ignored.
    fn send(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if let (false, Ok(process)) = (*reaped, i32::try_from(self.process)) {
            let _ = kill(Pid::from_raw(process), signal);
        }
    }
}

impl Program {
    /// A handle with which another thread can end the program.
    pub(super) fn ender(&self) -> ProgramEnder {
        ProgramEnder { process: self.child.id(), reaped: Arc::clone(&self.reaped) }
    }

    /// Waits for the end of the program; returns its exit code as a shell has it: after a signal,
    /// 128 and the signal's number.
    pub(super) fn wait(mut self) -> Result<i32, Failure> {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(i32::MAX));
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        // The ended program stays a zombie until it is waited for below, and no other process gets its ID.
        while waitid(Id::Pid(process), flags) == Err(nix::errno::Errno::EINTR) {}
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.child.wait();
        *reaped = true;
        drop(reaped);
        let status = status.map_err(|error| Failure::Source(format!("{}: {error}", self.name)))?;
        let signal = status.signal().map(|signal| 128 + signal);
        Ok(status.code().or(signal).unwrap_or(1))
    }
}

/// Runs the child: waits for the start and becomes the program. Returns only if that fails; its parent reports it.
pub(crate) fn hold(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let become_program = || -> io::Result<()> {
        let missing = || io::Error::from(io::ErrorKind::InvalidInput);
        let socket = words.next().ok_or_else(missing)?;
        let program = words.next().ok_or_else(missing)?;
        let mut stream = UnixStream::connect(socket)?;
        // If the parent has ended meanwhile, this fails and the program does not begin.
        stream.read_exact(&mut [0])?;
        let error = Command::new(program).args(words).exec();
        stream.write_all(&error.raw_os_error().unwrap_or_default().to_ne_bytes())
    };
    let _ = become_program();
    ExitCode::FAILURE
}
