//! A host process, as its reader drives it.

use crate::hosting::area::LAST_ROOM;
use crate::hosting::host::{OTHER_VERSION, PIPES};
use crate::hosting::options::HostCommand;
use crate::hosting::wire::{LONGEST, OpenRequest, Request, Response};
use perfhive_engine::GuardedBuffer;
use std::io::{self, PipeReader, PipeWriter, Read, Write as _};
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use windows_sys::Win32::Foundation::{
    CloseHandle, HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

/// A host process with its pipes and its job object. Dropping it ends the process.
pub(crate) struct HostProcess {
    child: Option<Child>,
    job: Job,
    /// The channel to a thread that writes requests into the pipe, so that a full pipe does not
    /// block the caller of [`send`](Self::send). `None` until that thread is started.
    requests: Option<Sender<Vec<u8>>>,
    /// The channel from a thread that reads answers; `None` in place of an invalid answer.
    answers: Receiver<Option<HostAnswer>>,
    /// The buffer that came with the answer that was last waited for, guards included.
    data: Vec<u8>,
}

/// An answer of the host, and the buffer that came with it, guards included.
type HostAnswer = (Response, Vec<u8>);

/// The reason why the host did not answer.
#[derive(Debug)]
pub(crate) enum HostSilence {
    /// The deadline passed without an answer.
    Late,
    /// The process has ended, or cannot be used; the text says how.
    Gone(String),
}

impl HostProcess {
    /// Starts a host process. No library is loaded yet. The flag, whether the library may start
    /// processes, has no effect here: the job gets its limits when the request Open is sent.
    ///
    /// # Errors
    /// A text that says why the process cannot be started.
    pub(crate) fn start(command: &HostCommand, _: bool) -> Result<Self, String> {
        let no_pipe = |error: io::Error| format!("no pipe: {error}");
        let (their_requests, mut requests) = io::pipe().map_err(no_pipe)?;
        let (mut answers, their_answers) = io::pipe().map_err(no_pipe)?;
        let job = Job::new().map_err(|error| format!("no job: {error}"))?;
        let child = spawn(command, their_requests, their_answers)
            .map_err(|error| format!("{} cannot be started: {error}", command.program.display()))?;
        let mut process = Self {
            child: Some(child),
            job,
            requests: None,
            answers: channel().1,
            data: Vec::new(),
        };
        if let Some(child) = &process.child {
            process.job.take(child).map_err(|error| format!("no job: {error}"))?;
        }
        let (sender, queue) = channel::<Vec<u8>>();
        let write = move || {
            for packet in queue {
                if requests.write_all(&packet).is_err() {
                    return;
                }
            }
        };
        // The channel holds one answer: a host that sends answers without requests has to wait.
        let (reply, answers_read) = sync_channel(1);
        let read = move || {
            while let Ok(answer) = read_answer(&mut answers) {
                let is_one = answer.is_some();
                if reply.send(answer).is_err() || !is_one {
                    return;
                }
            }
        };
        let thread = |name: &str| thread::Builder::new().name(name.to_string());
        let started = thread("perfhive asking").spawn(write).map(drop);
        let started = started.and_then(|()| thread("perfhive hearing").spawn(read).map(drop));
        started.map_err(|error| format!("no thread for it: {error}"))?;
        (process.requests, process.answers) = (Some(sender), answers_read);
        Ok(process)
    }

    /// Copies the buffer that came with the last answer into `whole`, guards included. Returns
    /// `false` if `whole` is not a buffer of `room` bytes, if another number of bytes came, or if
    /// `data` exceeds `room`.
    pub(crate) fn copy(&mut self, room: usize, data: usize, whole: &mut [u8]) -> bool {
        const GUARD: usize = GuardedBuffer::GUARD;
        if self.data.len() != whole.len() || data > room || whole.len() != GUARD + room + GUARD {
            return false;
        }
        whole.copy_from_slice(&self.data);
        true
    }

    /// Sends a request to the host. Before an Open, the job's limits are set. An error means that
    /// the process has ended or cannot be limited.
    pub(crate) fn send(&mut self, request: &Request) -> Result<(), HostSilence> {
        if let Request::Open(open) = request {
            let limited = self.job.limit(open);
            limited.map_err(|error| HostSilence::Gone(format!("cannot be limited: {error}")))?;
        }
        let packet = request.encode();
        let packet = [&(packet.len() as u32).to_le_bytes(), &*packet].concat();
        match self.requests.as_ref().map(|requests| requests.send(packet)) {
            Some(Ok(())) => Ok(()),
            _ => Err(HostSilence::Gone(self.how_it_went())),
        }
    }

    /// Waits until `deadline` for the answer to the request `id`. Late answers to earlier requests
    /// are discarded.
    pub(crate) fn wait(&mut self, id: u32, deadline: Instant) -> Result<Response, HostSilence> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok(Some((response, data))) if response.id == id => {
                    self.data = data;
                    return Ok(response);
                }
                Ok(Some(_)) if Instant::now() < deadline => {}
                Ok(Some(_)) | Err(RecvTimeoutError::Timeout) => return Err(HostSilence::Late),
                Ok(None) => {
                    self.end();
                    let text = "overwrote its host's answer, and was ended";
                    return Err(HostSilence::Gone(text.to_string()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(HostSilence::Gone(self.how_it_went()));
                }
            }
        }
    }

    /// Makes the process close the library and end by itself, and waits for the end, but not for long.
    /// A process that still runs then is ended.
    pub(crate) fn close(mut self) {
        if self.send(&Request::Close).is_ok() {
            // No answer has this number: the wait lasts until the end of the process.
            let _ = self.wait(u32::MAX, Instant::now() + Duration::from_millis(500));
        }
    }

    /// Ends the process, if it still runs.
    pub(crate) fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // Fails only where the process has ended.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// The text that says how a process ended that no longer answers. A process that still runs
    /// after a second is ended.
    fn how_it_went(&mut self) -> String {
        /// The longest wait for the end of the process, which is known a little later than the end
        /// of its pipe.
        const PATIENCE: Duration = Duration::from_millis(1000);
        let start = Instant::now();
        let Some(child) = &mut self.child else { return "is gone".to_string() };
        while start.elapsed() < PATIENCE {
            match child.try_wait() {
                Ok(Some(status)) => {
                    self.child = None;
                    return describe(status);
                }
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Err(error) => return format!("is gone: {error}"),
            }
        }
        self.end();
        "closed the connection to its host, and was ended".to_string()
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts a host process with its ends of the pipes, which this process closes afterwards.
fn spawn(command: &HostCommand, requests: PipeReader, answers: PipeWriter) -> io::Result<Child> {
    /// The lock that keeps a host that is started at the same time from inheriting these handles.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let handles = [requests.as_raw_handle(), answers.as_raw_handle()];
    for handle in handles {
        // SAFETY: an open handle of this process.
        if unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) } == 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let [requests, answers] = handles.map(|handle| handle.addr());
    Command::new(&command.program)
        .args(&command.arguments)
        .env(PIPES, format!("{requests},{answers}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .creation_flags(CREATE_NO_WINDOW)
        .spawn()
}

/// Reads an answer and the buffer that follows it; `None` for an invalid answer.
fn read_answer(from: &mut impl Read) -> io::Result<Option<HostAnswer>> {
    let Some(packet) = read_part(from, LONGEST)? else { return Ok(None) };
    let Some(response) = Response::decode(&packet) else { return Ok(None) };
    let data = read_part(from, LAST_ROOM + 2 * GuardedBuffer::GUARD)?;
    Ok(data.map(|data| (response, data)))
}

/// Reads a length and this number of bytes; `None` for a length of more than `most`.
fn read_part(from: &mut impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Ok(None);
    }
    // Memory is taken as the bytes come.
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() == length { Ok(Some(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A job object. Once its limits are set, the processes in the job keep to them, and end when the job
/// object is closed.
struct Job(HANDLE);

// SAFETY: a handle is a number that belongs to the process.
unsafe impl Send for Job {}

impl Job {
    fn new() -> io::Result<Self> {
        // SAFETY: neither security attributes nor a name are given, which NULL says.
        let job = unsafe { CreateJobObjectW(core::ptr::null(), core::ptr::null()) };
        if job.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self(job)) }
    }

    /// Puts a process into the job.
    fn take(&self, child: &Child) -> io::Result<()> {
        // SAFETY: both are open.
        match unsafe { AssignProcessToJobObject(self.0, child.as_raw_handle()) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Sets the limits of the processes in the job from the request: memory, and one process unless
    /// the library may start others.
    fn limit(&self, open: &OpenRequest) -> io::Result<()> {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let basic = &mut limits.BasicLimitInformation;
        basic.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
            | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
            | JOB_OBJECT_LIMIT_PROCESS_MEMORY;
        if !open.processes {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
            basic.ActiveProcessLimit = 1;
        }
        limits.ProcessMemoryLimit = usize::try_from(open.memory_limit).unwrap_or(usize::MAX);
        let size = size_of_val(&limits) as u32;
        let class = JobObjectExtendedLimitInformation;
        let place = (&raw const limits).cast();
        // SAFETY: the job is open; the structure is the one of its class and has as
        // many bytes as the call is told.
        match unsafe { SetInformationJobObject(self.0, class, place, size) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: made by `new` and closed once.
        unsafe { CloseHandle(self.0) };
    }
}

/// A text that says how a process ended.
fn describe(status: ExitStatus) -> String {
    const NAMES: &[(u32, &str)] = &[
        (0x8000_0003, "breakpoint"),
        (0xC000_0005, "access outside of its memory"),
        (0xC000_0006, "a page could not be read"),
        (0xC000_0017, "no memory"),
        (0xC000_001D, "illegal instruction"),
        (0xC000_0094, "division by zero"),
        (0xC000_00FD, "stack overflow"),
        (0xC000_0374, "damaged heap"),
        (0xC000_0409, "abort"),
    ];
    let Some(code) = status.code() else { return "is gone".to_string() };
    if code == OTHER_VERSION {
        return "cannot be run: its host is another version of perfhive".to_string();
    }
    let exception = code.cast_unsigned();
    match NAMES.iter().find(|(number, _)| *number == exception) {
        Some((_, name)) => format!("crashed with exception {exception:#X} ({name})"),
        None if exception >= 0xC000_0000 => format!("crashed with exception {exception:#X}"),
        None => format!("left its process with exit status {code}"),
    }
}
