//! A library in a host process, which is started, asked by deadlines, ended
//! and started again.

use crate::account;
use crate::caller::{Call, CallFault, Patience};
use crate::in_process::open_failed;
use crate::options::{HostCommand, Options};
use crate::process::{HostProcess, NoAnswer};
use crate::wire::{LONGEST, Lane, OpenRequest, Request, Response};
use perfhive_contract::Registration;
use perfhive_contract::abi::ERROR_SUCCESS;
use perfhive_engine::{GuardedBuffer, RawClaim};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After so many collections without a failure the pauses begin anew.
const CALM: u32 = 10;

/// A library that runs in a process of its own.
pub(crate) struct Isolated {
    registration: Arc<Registration>,
    command: HostCommand,
    memory_limit: u64,
    /// The first pause before a process is started again, and before one that hung.
    pause: Duration,
    hang_pause: Duration,
    process: Option<HostProcess>,
    /// What the process is still at work on.
    pending: Option<Pending>,
    /// What of that is the collection that is to follow, and why there will be
    /// none.
    begun: Option<Begun>,
    early: Option<CallFault>,
    /// What is to be said of the process that was opened last, once.
    note: Option<String>,
    /// How long the last call of Collect took, or has taken so far.
    took: Duration,
    next_id: u32,
    /// Failures since the last calm, and collections since the last failure.
    failures: u32,
    good: u32,
    not_before: Option<Instant>,
    last_failure: String,
    /// With who has the last answer, if it was not given back.
    pub(crate) buffer: Option<GuardedBuffer>,
}

#[derive(Clone, Copy)]
struct Pending {
    id: u32,
    function: Function,
    since: Instant,
    /// Whether it was waited for until it was overdue, and whether that was told.
    is_late: bool,
    is_told: bool,
}

/// A call of Collect that was made before its answer is waited for.
struct Begun {
    id: u32,
    value: String,
    lane: Lane,
    room: usize,
}

/// What the process was asked to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Open,
    Collect,
    Close,
}

impl Isolated {
    pub(crate) fn new(
        registration: Arc<Registration>,
        command: HostCommand,
        options: &Options,
    ) -> Self {
        Self {
            memory_limit: registration.memory_limit.unwrap_or(options.memory_limit),
            registration,
            command,
            pause: options.pause,
            hang_pause: options.first_pause(),
            process: None,
            pending: None,
            begun: None,
            early: None,
            note: None,
            took: Duration::ZERO,
            next_id: 0,
            failures: 0,
            good: 0,
            not_before: None,
            last_failure: String::new(),
            buffer: None,
        }
    }

    /// Goes on from failures in a row that there were before, and the rest of
    /// the pause that is due for them.
    pub(crate) fn after(mut self, failures: (u32, String), left: Option<Duration>) -> Self {
        let (count, last) = failures;
        self.failures = count;
        self.last_failure = last.strip_prefix("it ").unwrap_or(&last).to_string();
        self.not_before = left.map(|left| Instant::now() + left);
        self
    }

    /// How long the library is still left alone.
    pub(crate) fn pause_left(&self) -> Option<Duration> {
        let left = self.not_before?.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then_some(left)
    }

    /// Calls Close and waits for it, for half a second at the most.
    pub(crate) fn close(&mut self) -> bool {
        let process = self.process.take().filter(|_| self.pending.is_none());
        process.is_none_or(HostProcess::close_and_wait)
    }

    /// Calls Open once more; answers its code.
    pub(crate) fn open_again(&mut self) -> Result<u32, CallFault> {
        let linkage = self.registration.linkage.clone();
        let answer = self.special(Function::Open, |id| Request::OpenAgain { id, linkage })?;
        Ok(answer.code)
    }

    /// Calls Close, without the process leaving.
    pub(crate) fn close_once(&mut self) -> Result<(), CallFault> {
        self.special(Function::Close, |id| Request::CloseOnce { id }).map(drop)
    }

    /// Collects from several threads at once, for half of the time that Collect has
    /// at the most: how often it was called, how often wrong, what was wrong first.
    pub(crate) fn together(
        &mut self,
        threads: u32,
        times: u32,
        values: Vec<String>,
    ) -> Result<(u32, u32, Option<String>), CallFault> {
        const MOST: Duration = Duration::from_secs(5);
        let budget = (self.registration.collect_timeout / 2).min(MOST).as_millis() as u32;
        let answer = self.special(Function::Collect, |id| Request::Together {
            id,
            threads,
            times,
            millis: budget,
            values,
        })?;
        Ok((answer.bytes, answer.objects, answer.failure))
    }

    fn special(
        &mut self,
        function: Function,
        request: impl FnOnce(u32) -> Request,
    ) -> Result<Response, CallFault> {
        self.make_ready(Patience::default())?;
        self.next_id = self.next_id.wrapping_add(1) & 0x7fff_ffff;
        let request = request(self.next_id);
        let pending = self.send(&request, function)?;
        self.wait(pending, Patience::default())
    }

    /// How long the last call of Collect took, which may have begun before it was
    /// waited for.
    pub(crate) fn took(&self) -> Duration {
        self.took
    }

    /// Whether a call is overdue now that was not when this was asked before.
    pub(crate) fn is_newly_late(&mut self) -> bool {
        let pending = self.pending.as_mut().filter(|pending| pending.is_late);
        pending.is_some_and(|pending| !std::mem::replace(&mut pending.is_told, true))
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.process.is_some() && self.pending.is_none()
    }

    /// Begins with a collection: starts the process, or has it call Collect,
    /// without waiting for either.
    pub(crate) fn begin(&mut self, value: &str, lane: Lane, room: usize) {
        self.forget_begun();
        // What it is at work on is waited for when its turn comes.
        if self.pending.is_none() && value.len() <= LONGEST / 2 {
            let done = match self.process {
                None => self.start(),
                Some(_) => self.begin_collect(value, lane, room),
            };
            self.early = done.err().filter(CallFault::is_failure);
        }
    }

    /// Waits until the library is open, which was begun with, and has Collect
    /// called.
    pub(crate) fn go_on(&mut self, value: &str, lane: Lane, room: usize, patience: Patience) {
        if self.pending.is_some_and(|pending| pending.function == Function::Open) {
            let ready = self.make_ready(patience);
            let done = ready.and_then(|()| self.begin_collect(value, lane, room));
            self.early = done.err().filter(CallFault::is_failure);
        }
    }

    /// What was begun is not what is to follow.
    pub(crate) fn forget_begun(&mut self) {
        (self.begun, self.early) = (None, None);
    }

    fn begin_collect(&mut self, value: &str, lane: Lane, room: usize) -> Result<(), CallFault> {
        let Pending { id, .. } = self.send_collect(value, lane, room)?;
        self.begun = Some(Begun { id, value: value.to_string(), lane, room });
        Ok(())
    }

    fn send_collect(&mut self, value: &str, lane: Lane, room: usize) -> Result<Pending, CallFault> {
        self.next_id = self.next_id.wrapping_add(1) & 0x7fff_ffff;
        let id = self.next_id;
        let request = Request::Collect { id, lane, room: room as u32, value: value.to_string() };
        self.send(&request, Function::Collect)
    }

    pub(crate) fn collect(
        &mut self,
        value: &str,
        lane: Lane,
        room: usize,
        patience: Patience,
    ) -> Result<Call, CallFault> {
        // A list of indexes that is longer than a packet: the host would get
        // half of it.
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
            |begun: &Begun| (&*begun.value, begun.lane, begun.room) == (value, lane, room);
        let begun = begun.filter(is_this).map(|begun| begun.id);
        let pending = match self.pending.filter(|pending| Some(pending.id) == begun) {
            Some(pending) => pending,
            None => {
                self.make_ready(patience)?;
                self.send_collect(value, lane, room)?
            }
        };
        let answered = self.wait(pending, patience);
        self.took = match &answered {
            Ok(response) => Duration::from_nanos(response.took).min(pending.since.elapsed()),
            Err(_) => pending.since.elapsed(),
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
        let (code, said, took) = (response.code, response.said, self.took);
        let note = self.note.take();
        let buffer = self.buffer.take().unwrap_or_else(|| GuardedBuffer::new(0));
        Ok(Call { code, claim, said, note, buffer, took })
    }

    /// Starts a process and has it open the library, without waiting for that.
    fn start(&mut self) -> Result<(), CallFault> {
        let now = Instant::now();
        if let Some(not_before) = self.not_before
            && now < not_before
        {
            let left = not_before.duration_since(now).as_secs_f64();
            let last = &self.last_failure;
            let message = format!("will be started again in {left:.1} s; it {last}");
            return Err(CallFault::NotYet(message));
        }
        match HostProcess::start(&self.command, self.registration.processes) {
            Ok(process) => self.process = Some(process),
            Err(message) => return Err(self.fail(message)),
        }
        self.next_id = self.next_id.wrapping_add(1) & 0x7fff_ffff;
        let of = &self.registration;
        // On Windows a library that is registered finds its indexes in the
        // registry, or does not: that is to be seen as its readers see it.
        let told = !cfg!(windows) || of.last_counter < of.first_counter;
        let [first_counter, first_help] =
            [of.first_counter, of.first_help].map(|first| if told { first } else { 0 });
        let request = Request::Open(Box::new(OpenRequest {
            id: self.next_id,
            reader: std::process::id(),
            memory_limit: self.memory_limit,
            processes: of.processes,
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

    /// Sees to it that there is a process with the library open and at work on
    /// nothing else.
    fn make_ready(&mut self, patience: Patience) -> Result<(), CallFault> {
        if self.process.is_none() {
            self.start()?;
        }
        let Some(pending) = self.pending else { return Ok(()) };
        let response = self.wait(pending, patience)?;
        // What Collect answers too late is nobody's.
        if pending.function == Function::Open { self.opened(&response) } else { Ok(()) }
    }

    fn opened(&mut self, response: &Response) -> Result<(), CallFault> {
        if let Some(failure) = &response.failure {
            return Err(self.fail(failure.clone()));
        }
        self.note.clone_from(&response.note);
        if response.code != ERROR_SUCCESS {
            return Err(self.fail(open_failed(response.code, &response.said)));
        }
        Ok(())
    }

    fn send(&mut self, request: &Request, function: Function) -> Result<Pending, CallFault> {
        let (id, since) = (self.next_id, Instant::now());
        let pending = Pending { id, function, since, is_late: false, is_told: false };
        let sent = match &mut self.process {
            Some(process) => process.send(request),
            None => Err(NoAnswer::Gone("is gone".to_string())),
        };
        match sent {
            Ok(()) => {
                self.pending = Some(pending);
                Ok(pending)
            }
            Err(NoAnswer::Gone(how)) => Err(self.fail(how)),
            Err(NoAnswer::Late) => Err(self.fail("does not take requests any more".to_string())),
        }
    }

    /// Waits for an answer: until the reader's deadline or as long as its patience
    /// lasts, and no longer than the function may take at all.
    fn wait(&mut self, pending: Pending, patience: Patience) -> Result<Response, CallFault> {
        self.pending = Some(pending);
        let Pending { function, since, .. } = pending;
        let timeout = match function {
            Function::Open => self.registration.open_timeout,
            Function::Collect | Function::Close => self.registration.collect_timeout,
        };
        // A time-out beyond all time is none that anybody would see the end of.
        let far = Duration::from_secs(24 * 3600);
        let end = since + timeout.min(far);
        let overdue = patience.usual.map_or(end, |usual| since + usual.min(far)).min(end);
        let until = match patience.deadline {
            // Of one that is late already it is only looked whether it came back.
            Some(deadline) if !pending.is_late => deadline.min(end),
            _ => overdue,
        };
        let Some(process) = &mut self.process else {
            return Err(self.fail("is gone".to_string()));
        };
        match process.wait(pending.id, until) {
            Ok(response) => {
                self.pending = None;
                Ok(response)
            }
            Err(NoAnswer::Gone(how)) => Err(self.fail(format!("{how} in {function:?}"))),
            Err(NoAnswer::Late) if Instant::now() >= end => {
                let message = format!(
                    "did not come back from {function:?} within {timeout:?}: its process was ended"
                );
                Err(self.hung(message))
            }
            Err(NoAnswer::Late) => {
                let is_late = Instant::now() >= overdue;
                self.pending = Some(Pending { is_late, ..pending });
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

    /// Copies what the provider wrote, with the guards, out of the memory that
    /// it still has access to. What is tested afterwards cannot change.
    fn read(&mut self, room: usize, claim: &RawClaim) -> Result<(), CallFault> {
        let buffer = self.buffer.get_or_insert_with(|| GuardedBuffer::new(room));
        if buffer.len() != room {
            buffer.reset(room);
        }
        let Some(process) = &mut self.process else { return Ok(()) };
        // Of data that would not fit, the guards are all that matters.
        let data = usize::try_from(claim.moved).ok().filter(|moved| *moved <= room).unwrap_or(0);
        if process.copy(room, data, buffer.whole_mut()) {
            return Ok(());
        }
        Err(self.fail("cut off the buffer that it shares".to_string()))
    }

    /// Ends the process and notes why; the next one may have to wait.
    fn fail(&mut self, message: String) -> CallFault {
        // The first time it is started again at once.
        let doubled = |more: u32| self.pause.saturating_mul(1 << (more - 1).min(16));
        let pause = if self.failures == 0 { Duration::ZERO } else { doubled(self.failures) };
        self.end(message, pause.min(LONGEST_PAUSE))
    }

    /// The same of one that hung: that cost its readers time, and the next one would
    /// very likely cost it again.
    fn hung(&mut self, message: String) -> CallFault {
        let pause = self.hang_pause.saturating_mul(1 << self.failures.min(16));
        self.end(message, pause.min(account::LONGEST_PAUSE))
    }

    fn end(&mut self, message: String, pause: Duration) -> CallFault {
        if let Some(mut process) = self.process.take() {
            process.end();
        }
        self.pending = None;
        self.good = 0;
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
        self.last_failure.clone_from(&message);
        CallFault::Failed(message)
    }
}

impl Drop for Isolated {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // One that is at work would not hear of it, and is ended at once.
            if self.pending.is_none() {
                process.close();
            }
        }
    }
}
