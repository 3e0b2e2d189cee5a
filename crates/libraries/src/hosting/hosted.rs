//! A library in its host process, as the reader drives it: the process is started, called with
//! deadlines, ended and started again.

mod conduct;

use crate::hosting::options::{HostCommand, HostOptions};
use crate::hosting::pause;
use crate::hosting::process::{HostProcess, HostSilence};
use crate::hosting::wire::{LONGEST, Lane, OpenRequest, Request, Response};
use perfhive_contract::Registration;
use perfhive_contract::abi::ERROR_SUCCESS;
use perfhive_engine::{GuardedBuffer, RawClaim};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest pause after a crash, before the process is started again.
const LONGEST_AFTER_CRASH: Duration = Duration::from_secs(60);
/// The number of collections without a failure after which the pauses begin anew.
const CALM: u32 = 10;

/// The time that a reader waits for a call. The function's own timeout also limits both the
/// deadline and the usual time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// The reader's deadline; `None` for a reader without one.
    pub(crate) deadline: Option<Instant>,
    /// The time after the beginning of a call from which the call is overdue. A reader without a
    /// deadline then stops waiting. Once a reader has waited until then, no reader waits for that
    /// call again. `None` for the function's own timeout.
    pub(crate) usual: Option<Duration>,
}

/// The result of a call of Collect.
pub(crate) struct Call {
    /// The error code that the function returned.
    pub(crate) code: u32,
    pub(crate) claim: RawClaim,
    /// The messages that the provider reported during the call or since the call before it.
    pub(crate) reports: Vec<String>,
    /// A note about the confinement of the process, such as a restriction that failed. Only the first
    /// result of a process has it.
    pub(crate) note: Option<String>,
    /// The buffer that the library wrote, copied into this process' own memory; to be
    /// [given back](HostedLibrary::give_back).
    pub(crate) buffer: GuardedBuffer,
    /// The time that the call of the function took.
    pub(crate) took: Duration,
}

/// The reason why a call has no result.
#[derive(Debug)]
pub(crate) enum CallFault {
    /// The library failed; the text says why.
    Failed(String),
    /// The function did not come back within its own timeout, and the process was ended. The text
    /// says so.
    TimedOut(String),
    /// The library is still at work, or in a pause after a failure. The text says which.
    NotYet(String),
    /// The host process cannot be started, so that the library was not called; the text says why.
    NoHost(String),
}

impl CallFault {
    fn is_failure(&self) -> bool {
        !matches!(self, Self::NotYet(_))
    }

    /// The message that says why the call has no result.
    pub(crate) fn into_message(self) -> String {
        let (Self::Failed(message)
        | Self::TimedOut(message)
        | Self::NotYet(message)
        | Self::NoHost(message)) = self;
        message
    }
}

/// The result of collecting from several threads at once.
pub(crate) struct TogetherResult {
    pub(crate) calls: u32,
    pub(crate) wrong: u32,
    /// The request with the first wrong answer, and what was wrong with the answer. `None` if all
    /// answers were right.
    pub(crate) first_wrong: Option<(String, String)>,
}

/// A library that runs in a host process.
pub(crate) struct HostedLibrary {
    registration: Arc<Registration>,
    command: HostCommand,
    memory_limit: u64,
    /// The pause after the second crash in a row, since the first has none.
    crash_pause: Duration,
    /// The pause after the first hang.
    hang_pause: Duration,
    process: Option<HostProcess>,
    /// The call at which the process is still at work; `None` if there is no such call.
    in_flight: Option<CallInFlight>,
    /// The collection that [`begin`](Self::begin) or [`go_on`](Self::go_on) sent, and that
    /// [`collect`](Self::collect) has not waited for yet; `None` if there is none.
    begun: Option<BegunCall>,
    /// The failure of [`begin`](Self::begin) or [`go_on`](Self::go_on), which the next
    /// [`collect`](Self::collect) returns; `None` if they did not fail.
    early: Option<CallFault>,
    /// The note of the last Open about the confinement of the process, until a [`Call`] takes it;
    /// `None` if there is none.
    note: Option<String>,
    /// The messages that the provider reported during the last Open, which succeeded, until
    /// [`take_open_reports`](Self::take_open_reports) takes them.
    open_reports: Vec<String>,
    /// The time that the last call of Collect took, or has taken so far.
    took: Duration,
    next_id: u32,
    /// The number of failures of this library, added to those in a row that other readers had met before
    /// ([`after`](Self::after)). [`CALM`] collections in a row without a failure set it to 0.
    failures: u32,
    /// The number of collections since the last failure.
    good: u32,
    not_before: Option<Instant>,
    last_failure: String,
    /// The buffer for the next call; `None` while the last [`Call`] has it.
    buffer: Option<GuardedBuffer>,
}

/// A call that the process has not answered yet.
#[derive(Clone, Copy)]
struct CallInFlight {
    id: u32,
    function: Function,
    since: Instant,
    /// Whether a reader waited until the call was overdue.
    is_late: bool,
    /// Whether it was reported that the call is overdue.
    is_reported: bool,
}

/// A call of Collect that was sent before its answer is waited for.
struct BegunCall {
    id: u32,
    value: String,
    lane: Lane,
    room: usize,
}

/// A function of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Open,
    Collect,
    Close,
}

impl HostedLibrary {
    /// A library that has no process yet; the first call starts it.
    pub(crate) fn new(
        registration: Arc<Registration>,
        command: HostCommand,
        options: &HostOptions,
    ) -> Self {
        Self {
            memory_limit: registration.memory_limit.unwrap_or(options.memory_limit),
            registration,
            command,
            crash_pause: options.pause,
            hang_pause: options.first_pause(),
            process: None,
            in_flight: None,
            begun: None,
            early: None,
            note: None,
            open_reports: Vec::new(),
            took: Duration::ZERO,
            next_id: 0,
            failures: 0,
            good: 0,
            not_before: None,
            last_failure: String::new(),
            buffer: None,
        }
    }

    /// The same library after `failures` that other readers met, given as their number in a row and
    /// the last message, with `left` as the rest of the pause that follows them.
    pub(crate) fn after(mut self, failures: (u32, String), left: Option<Duration>) -> Self {
        (self.failures, self.last_failure) = failures;
        self.not_before = left.map(|left| Instant::now() + left);
        self
    }

    /// The rest of the pause in which the library must not be called; `None` without a pause.
    pub(crate) fn pause_left(&self) -> Option<Duration> {
        let left = self.not_before?.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then_some(left)
    }

    /// The time that the last call of Collect took, or has taken so far.
    pub(crate) fn took(&self) -> Duration {
        self.took
    }

    /// Whether a reader has waited until the call in flight was overdue. Returns `true` only once
    /// for each call; `false` also if there is no call in flight.
    pub(crate) fn is_newly_late(&mut self) -> bool {
        let call = self.in_flight.as_mut().filter(|call| call.is_late);
        call.is_some_and(|call| !std::mem::replace(&mut call.is_reported, true))
    }

    /// Whether the library can be collected from again without a restart or a wait.
    pub(crate) fn is_sound(&self) -> bool {
        self.process.is_some() && self.in_flight.is_none()
    }

    /// Takes the messages that the provider reported during an Open that succeeded; empty if they
    /// were taken before. The messages of an Open that failed are in its fault.
    pub(crate) fn take_open_reports(&mut self) -> Vec<String> {
        std::mem::take(&mut self.open_reports)
    }

    /// Takes the buffer of a call back, for the next one.
    pub(crate) fn give_back(&mut self, buffer: GuardedBuffer) {
        self.buffer = Some(buffer);
    }

    /// Begins a collection without waiting: starts the process if there is none, and otherwise
    /// makes it call Collect. Does nothing while a call is in flight, or if the value is too long
    /// for a packet. A failure is returned by the next [`collect`](Self::collect).
    pub(crate) fn begin(&mut self, value: &str, lane: Lane, room: usize) {
        self.forget_begun();
        // An older call in flight is waited for by `collect`.
        if self.in_flight.is_none() && value.len() <= LONGEST / 2 {
            let done = match self.process {
                None => self.start(),
                Some(_) => self.begin_collect(value, lane, room),
            };
            self.early = done.err().filter(CallFault::is_failure);
        }
    }

    /// If [`begin`](Self::begin) started the process, waits until the library is open and makes it
    /// call Collect; otherwise does nothing.
    pub(crate) fn go_on(&mut self, value: &str, lane: Lane, room: usize, patience: Patience) {
        if self.in_flight.is_some_and(|call| call.function == Function::Open) {
            let ready = self.make_ready(patience);
            let done = ready.and_then(|()| self.begin_collect(value, lane, room));
            self.early = done.err().filter(CallFault::is_failure);
        }
    }

    /// Drops the collection that was begun, because another collection follows.
    pub(crate) fn forget_begun(&mut self) {
        (self.begun, self.early) = (None, None);
    }

    fn begin_collect(&mut self, value: &str, lane: Lane, room: usize) -> Result<(), CallFault> {
        let CallInFlight { id, .. } = self.send_collect(value, lane, room)?;
        self.begun = Some(BegunCall { id, value: value.to_string(), lane, room });
        Ok(())
    }

    fn send_collect(
        &mut self,
        value: &str,
        lane: Lane,
        room: usize,
    ) -> Result<CallInFlight, CallFault> {
        let id = self.new_id();
        let request = Request::Collect { id, lane, room: room as u32, value: value.to_string() };
        self.send(&request, Function::Collect)
    }

    /// Calls Collect for `value` with a buffer of `room` bytes and waits for the answer, or only
    /// waits if the same call was begun. Starts the process and opens the library if need be. The
    /// error says why there is no answer.
    pub(crate) fn collect(
        &mut self,
        value: &str,
        lane: Lane,
        room: usize,
        patience: Patience,
    ) -> Result<Call, CallFault> {
        // A longer list of indexes does not fit a packet: the host would get half of it.
        if value.len() > LONGEST / 2 {
            let message = format!("{} bytes of indexes are too many at once", value.len());
            return Err(CallFault::Failed(message));
        }
        self.took = Duration::ZERO;
        if let Some(fault) = self.early.take() {
            return Err(fault);
        }
        let begun = self.begun.take();
        let is_this =
            |begun: &BegunCall| (&*begun.value, begun.lane, begun.room) == (value, lane, room);
        let begun = begun.filter(is_this).map(|begun| begun.id);
        let call = match self.in_flight.filter(|call| Some(call.id) == begun) {
            Some(call) => call,
            None => {
                self.make_ready(patience)?;
                self.send_collect(value, lane, room)?
            }
        };
        let answered = self.wait(call, patience);
        self.took = match &answered {
            Ok(response) => Duration::from_nanos(response.took).min(call.since.elapsed()),
            Err(_) => call.since.elapsed(),
        };
        let response = answered?;
        if let Some(failure) = response.failure {
            return Err(self.fail(failure));
        }
        let claim = RawClaim {
            moved: isize::try_from(response.moved).unwrap_or(isize::MIN),
            bytes: response.bytes,
            objects: response.objects,
        };
        if response.code == ERROR_SUCCESS {
            self.read(room, &claim)?;
        }
        self.good = self.good.saturating_add(1);
        if self.good >= CALM {
            self.failures = 0;
        }
        let (code, reports, took) = (response.code, response.reports, self.took);
        let note = self.note.take();
        let buffer = self.buffer.take().unwrap_or_else(|| GuardedBuffer::new(0));
        Ok(Call { code, claim, reports, note, buffer, took })
    }

    /// Starts a process and makes it open the library, without waiting for that. In a pause it
    /// starts nothing and returns [`CallFault::NotYet`].
    fn start(&mut self) -> Result<(), CallFault> {
        if let Some(left) = self.pause_left() {
            let left = left.as_secs_f64();
            let last = &self.last_failure;
            let message = format!("will be started again in {left:.1} s; it {last}");
            return Err(CallFault::NotYet(message));
        }
        match HostProcess::start(&self.command, self.registration.processes) {
            Ok(process) => self.process = Some(process),
            // This is no failure of the library: there is no pause.
            Err(message) => return Err(CallFault::NoHost(message)),
        }
        let id = self.new_id();
        let of = &self.registration;
        // On Windows a registered library reads its indexes from the registry. They are
        // passed only where there is no registration, so that `check` sees what readers see.
        let passed = !cfg!(windows) || of.last_counter < of.first_counter;
        let [first_counter, first_help] =
            [of.first_counter, of.first_help].map(|first| if passed { first } else { 0 });
        let request = Request::Open(Box::new(OpenRequest {
            id,
            reader: std::process::id(),
            memory_limit: self.memory_limit,
            processes: of.processes,
            reads: of.reads.clone(),
            library: of.library.clone(),
            open: of.open.clone(),
            collect: of.collect.clone(),
            close: of.close.clone(),
            linkage: of.linkage.clone(),
            first_counter,
            first_help,
        }));
        self.send(&request, Function::Open).map(drop)
    }

    /// Waits until the library is open and no call is in flight; starts the process if
    /// there is none.
    fn make_ready(&mut self, patience: Patience) -> Result<(), CallFault> {
        if self.process.is_none() {
            self.start()?;
        }
        let Some(call) = self.in_flight else { return Ok(()) };
        let response = self.wait(call, patience)?;
        // The late answer of an older Collect is discarded.
        if call.function == Function::Open { self.opened(response) } else { Ok(()) }
    }

    /// Takes the answer to Open; an Open that failed ends the process.
    fn opened(&mut self, response: Response) -> Result<(), CallFault> {
        if let Some(failure) = response.failure {
            return Err(self.fail(failure));
        }
        self.note = response.note;
        if response.code != ERROR_SUCCESS {
            return Err(self.fail(open_failed(response.code, &response.reports)));
        }
        self.open_reports = response.reports;
        Ok(())
    }

    fn new_id(&mut self) -> u32 {
        self.next_id = self.next_id.wrapping_add(1) & 0x7fff_ffff;
        self.next_id
    }

    fn send(&mut self, request: &Request, function: Function) -> Result<CallInFlight, CallFault> {
        let (id, since) = (self.next_id, Instant::now());
        let call = CallInFlight { id, function, since, is_late: false, is_reported: false };
        let sent = match &mut self.process {
            Some(process) => process.send(request),
            None => Err(HostSilence::Gone("is gone".to_string())),
        };
        match sent {
            Ok(()) => {
                self.in_flight = Some(call);
                Ok(call)
            }
            Err(HostSilence::Gone(how)) => Err(self.fail(how)),
            Err(HostSilence::Late) => Err(self.fail("does not take requests any more".to_string())),
        }
    }

    /// Waits for the answer to a call: until the reader's deadline, or without a deadline until the
    /// call is overdue, but no longer than the function's own timeout. A call for which a reader
    /// waited until it was overdue is not waited for again. A call that exceeds this timeout ends
    /// the process.
    fn wait(&mut self, call: CallInFlight, patience: Patience) -> Result<Response, CallFault> {
        self.in_flight = Some(call);
        let CallInFlight { function, since, .. } = call;
        let timeout = match function {
            Function::Open => self.registration.open_timeout,
            Function::Collect | Function::Close => self.registration.collect_timeout,
        };
        // Keeps the sum below the largest time that there is.
        let day = Duration::from_secs(24 * 3600);
        let end = since + timeout.min(day);
        let overdue = patience.usual.map_or(end, |usual| since + usual.min(day)).min(end);
        let until = match patience.deadline {
            // An overdue call gets no further wait, only a check whether it came back.
            Some(deadline) if !call.is_late => deadline.min(end),
            _ => overdue,
        };
        let Some(process) = &mut self.process else {
            return Err(self.fail("is gone".to_string()));
        };
        match process.wait(call.id, until) {
            Ok(response) => {
                self.in_flight = None;
                Ok(response)
            }
            Err(HostSilence::Gone(how)) => Err(self.fail(format!("{how} in {function:?}"))),
            Err(HostSilence::Late) if Instant::now() >= end => {
                let message = format!(
                    "did not come back from {function:?} within {timeout:?}: its process was ended"
                );
                Err(self.timed_out(message))
            }
            Err(HostSilence::Late) => {
                let is_late = Instant::now() >= overdue;
                self.in_flight = Some(CallInFlight { is_late, ..call });
                let message = match patience.deadline {
                    Some(_) if !is_late => {
                        format!("is still at work in {function:?} at the reader's deadline")
                    }
                    _ => {
                        let so_far = since.elapsed().as_secs_f64();
                        format!("did not come back from {function:?} in {so_far:.1} s")
                    }
                };
                Err(CallFault::NotYet(message))
            }
        }
    }

    /// Copies the bytes that the provider wrote (`claim`), and the guards of the buffer of `room`
    /// bytes, out of the shared memory. The copy is tested afterwards, when the library can no
    /// longer change it. It is a failure if the memory is shorter.
    fn read(&mut self, room: usize, claim: &RawClaim) -> Result<(), CallFault> {
        let buffer = self.buffer.get_or_insert_with(|| GuardedBuffer::new(room));
        if buffer.len() != room {
            buffer.reset(room);
        }
        let Some(process) = &mut self.process else { return Ok(()) };
        // Where the claim exceeds the buffer, the guards are all that matters.
        let data = usize::try_from(claim.moved).ok().filter(|moved| *moved <= room).unwrap_or(0);
        if process.copy(room, data, buffer.whole_mut()) {
            return Ok(());
        }
        Err(self.fail("cut off the buffer that it shares".to_string()))
    }

    /// Ends the process after a failure, and returns `message` as the fault. After the first
    /// failure it may be started again at once, after later ones only after a pause.
    fn fail(&mut self, message: String) -> CallFault {
        let doubled = |more: u32| self.crash_pause.saturating_mul(1 << (more - 1).min(16));
        let pause = if self.failures == 0 { Duration::ZERO } else { doubled(self.failures) };
        self.end(&message, pause.min(LONGEST_AFTER_CRASH));
        CallFault::Failed(message)
    }

    /// Ends the process after a hang, and returns `message` as the fault. A hang costs readers time
    /// and is likely to happen again, so that even the first restart waits.
    fn timed_out(&mut self, message: String) -> CallFault {
        self.end(&message, pause::after_failures(self.hang_pause, self.failures + 1));
        CallFault::TimedOut(message)
    }

    /// Ends the process, counts a failure, and begins a pause.
    fn end(&mut self, message: &str, pause: Duration) {
        if let Some(mut process) = self.process.take() {
            process.end();
        }
        self.in_flight = None;
        self.good = 0;
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
        self.last_failure = message.to_string();
    }
}

impl Drop for HostedLibrary {
    fn drop(&mut self) {
        // A process that is at work would not take the request to close: it is ended instead,
        // since a dropped `HostProcess` ends its process.
        if let Some(process) = self.process.take().filter(|_| self.in_flight.is_none()) {
            process.close();
        }
    }
}

/// The message for an Open that returned an error.
fn open_failed(code: u32, reports: &[String]) -> String {
    let name = match code {
        2 => " (not found)",
        8 => " (no memory)",
        _ => "",
    };
    let mut text = format!("Open answered with error {code}{name}");
    for report in reports {
        text.push_str(": ");
        text.push_str(report);
    }
    text
}
