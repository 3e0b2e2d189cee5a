//! A library in the reader's own process, for those that are trusted. A thread calls
//! it, so that a reader goes on when it does not come back; nothing can end it then,
//! and its thread stays with it.

use crate::caller::{Call, CallFault, Patience};
use crate::calls::on_low_priority;
use crate::library::{Loaded, Names, Returned};
use crate::provider::lock;
use crate::wire::Lane;
use perfhive_contract::Registration;
use perfhive_contract::abi::{ERROR_SUCCESS, wide};
use perfhive_engine::{Collecting, Desk, GuardedBuffer, NoAnswer, RawClaim};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A library that this process has loaded, once one of its threads did.
pub(crate) type LoadedOnce = Arc<Mutex<Option<Arc<Loaded>>>>;

/// How long a reader that goes waits for Close, of all libraries together.
const MOMENT: Duration = Duration::from_millis(500);

/// A library at work on a thread of its own: Open and Close are called once for each
/// of these.
pub(crate) struct InProcess {
    desk: Arc<WorkDesk>,
    /// What the thread is at work on.
    pending: Option<Pending>,
    /// What of that is the collection that is to follow.
    begun: Option<Asked>,
    /// With the thread while it is at work, or with who has the answer.
    pub(crate) buffer: Option<GuardedBuffer>,
    took: Duration,
    failed: bool,
    /// Until when it is left alone, and what it did.
    pause: Option<(Instant, String)>,
    closing: Arc<Closing>,
}

/// Libraries that were told to call Close, for a reader that goes to wait for them all
/// at once.
#[derive(Default)]
pub(crate) struct Closing(Mutex<Vec<(Arc<WorkDesk>, Instant)>>);

impl Closing {
    /// Tells a library's thread to call Close and to end, without waiting for it.
    fn begin(&self, desk: Arc<WorkDesk>) {
        desk.close();
        let mut desks = lock(&self.0);
        let now = Instant::now();
        desks.retain(|(desk, _)| !has_ended(desk, now));
        desks.push((desk, now + MOMENT));
    }

    /// Waits until all have come back, for half a second at the most; answers how many
    /// did not.
    pub(crate) fn wait(&self) -> usize {
        let desks = std::mem::take(&mut *lock(&self.0));
        desks.iter().filter(|(desk, end)| !has_ended(desk, *end)).count()
    }
}

/// Waits for the end of a library's thread; whether it came in time.
fn has_ended(desk: &WorkDesk, end: Instant) -> bool {
    matches!(desk.answer(Some(end)), Err(NoAnswer::Ended))
}

struct Pending {
    since: Instant,
    is_late: bool,
    is_told: bool,
}

/// A call of Collect, as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    value: String,
    lane: Lane,
    room: usize,
}

struct Job {
    asked: Asked,
    buffer: GuardedBuffer,
    behalf: Collecting,
}

struct Answer {
    buffer: GuardedBuffer,
    returned: Done,
    took: Duration,
}

type WorkDesk = Desk<Job, Answer>;

impl InProcess {
    /// Starts the thread, which opens the library when it is asked for the first time.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub(crate) fn start(
        registration: Arc<Registration>,
        loaded: LoadedOnce,
        closing: Arc<Closing>,
    ) -> Result<Self, String> {
        let desk = Arc::new(WorkDesk::default());
        let ending = Ending(Arc::clone(&desk));
        let body = move || work(&ending.0, &registration, &loaded);
        let thread = thread::Builder::new().name("perfhive library".to_string()).spawn(body);
        thread.map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self {
            desk,
            pending: None,
            begun: None,
            buffer: None,
            took: Duration::ZERO,
            failed: false,
            pause: None,
            closing,
        })
    }

    /// Leaves it alone for as long as is left of a pause, for what it did last.
    pub(crate) fn after(mut self, last: &str, left: Option<Duration>) -> Self {
        let last = last.strip_prefix("it ").unwrap_or(last);
        self.pause = left.map(|left| (Instant::now() + left, last.to_string()));
        self
    }

    /// That it is left alone at the moment.
    fn pausing(&self) -> Option<CallFault> {
        let (end, last) = self.pause.as_ref()?;
        let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
        let message = || format!("will be asked again in {left:.1} s; it {last}");
        (left > 0.0).then(|| CallFault::NotYet(message()))
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.pending.is_none() && !self.failed
    }

    /// How long the last call of Collect took, or has taken so far.
    pub(crate) fn took(&self) -> Duration {
        self.took
    }

    /// Whether a call is overdue now that was not when this was asked before.
    pub(crate) fn is_newly_late(&mut self) -> bool {
        let pending = self.pending.as_mut().filter(|pending| pending.is_late);
        pending.is_some_and(|pending| !std::mem::replace(&mut pending.is_told, true))
    }

    /// Has Collect called, without waiting for it.
    pub(crate) fn begin(&mut self, value: &str, lane: Lane, room: usize) {
        self.forget_begun();
        if self.pending.is_none() && self.pausing().is_none() {
            self.ask(Asked { value: value.to_string(), lane, room });
        }
    }

    /// What was begun is not what is to follow.
    pub(crate) fn forget_begun(&mut self) {
        self.begun = None;
    }

    fn ask(&mut self, asked: Asked) {
        let buffer = self.buffer.take().unwrap_or_else(|| GuardedBuffer::new(asked.room));
        self.begun = Some(asked.clone());
        self.pending = Some(Pending { since: Instant::now(), is_late: false, is_told: false });
        self.desk.ask(Job { asked, buffer, behalf: Collecting::current() });
    }

    pub(crate) fn collect(
        &mut self,
        value: &str,
        lane: Lane,
        room: usize,
        patience: Patience,
    ) -> Result<Call, CallFault> {
        let asked = Asked { value: value.to_string(), lane, room };
        self.took = Duration::ZERO;
        if let Some(fault) = self.pausing() {
            return Err(fault);
        }
        if self.begun.take().is_none_or(|begun| begun != asked) {
            // What it is at work on from before is nobody's.
            if self.pending.is_some() {
                let _ = self.wait(patience)?;
            }
            self.ask(asked);
            self.begun = None;
        }
        let (returned, said) = self.wait(patience)??;
        let claim =
            RawClaim { moved: returned.moved, bytes: returned.bytes, objects: returned.objects };
        let (code, took) = (returned.code, self.took);
        let buffer = self.buffer.take().unwrap_or_else(|| GuardedBuffer::new(0));
        Ok(Call { code, claim, said, note: None, buffer, took })
    }

    /// Waits for what the thread is at work on.
    fn wait(&mut self, patience: Patience) -> Result<Done, CallFault> {
        let Some(pending) = &mut self.pending else {
            return Err(CallFault::NotYet("was not asked".to_string()));
        };
        let overdue = patience.usual.and_then(|usual| pending.since.checked_add(usual));
        let until = match patience.deadline {
            // Of one that is late already it is only looked whether it came back.
            Some(deadline) if !pending.is_late => Some(deadline),
            _ => overdue,
        };
        match self.desk.answer(until) {
            Ok(answer) => {
                self.pending = None;
                (self.buffer, self.took) = (Some(answer.buffer), answer.took);
                self.failed = answer.returned.is_err();
                Ok(answer.returned)
            }
            Err(NoAnswer::Ended) => {
                (self.pending, self.failed) = (None, true);
                Err(CallFault::Failed("ended the thread that called it".to_string()))
            }
            Err(NoAnswer::Late) => {
                pending.is_late |= overdue.is_some_and(|overdue| Instant::now() >= overdue);
                self.took = pending.since.elapsed();
                let message = match (patience.deadline, pending.is_late) {
                    (Some(_), false) => "is still at work at the reader's deadline".to_string(),
                    _ => format!(
                        "did not come back in {:.1} s; nothing can end it, as it is trusted to \
                         run in its reader",
                        self.took.as_secs_f64()
                    ),
                };
                Err(CallFault::NotYet(message))
            }
        }
    }

    /// Calls Close and waits for it, for half a second at the most; answers whether it
    /// came back.
    pub(crate) fn close(&mut self) -> bool {
        self.desk.close();
        // One that is at work calls Close when it comes back, if ever.
        self.pending.is_none() && has_ended(&self.desk, Instant::now() + MOMENT)
    }
}

/// What Collect did, or why it was not called.
type Done = Result<(Returned, Vec<String>), CallFault>;

impl Drop for InProcess {
    fn drop(&mut self) {
        match self.pending {
            Some(_) => self.desk.close(),
            None => self.closing.begin(Arc::clone(&self.desk)),
        }
    }
}

/// Says that the thread ended, however it did.
struct Ending(Arc<WorkDesk>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The thread: opens the library with the first job, and closes it when there are no
/// more.
fn work(desk: &WorkDesk, registration: &Registration, loaded: &LoadedOnce) {
    let mut library: Option<Arc<Loaded>> = None;
    while let Some(Job { asked, mut buffer, behalf }) = desk.job() {
        let _entered = behalf.enter();
        let opened = match &library {
            Some(library) => Ok(Arc::clone(library)),
            None => open(registration, loaded),
        };
        let began = Instant::now();
        let returned = match &opened {
            Ok(opened) => {
                let returned = call(opened, &asked, &mut buffer);
                library.get_or_insert_with(|| Arc::clone(opened));
                returned
            }
            Err(message) => Err(CallFault::Failed(message.clone())),
        };
        let took = began.elapsed();
        desk.reply(Answer { buffer, returned, took });
    }
    if let Some(library) = library {
        library.close();
    }
}

/// Loads the library, unless another thread did, and calls Open.
#[allow(unsafe_code, reason = "its registration says that the library is trusted")]
fn open(registration: &Registration, loaded: &LoadedOnce) -> Result<Arc<Loaded>, String> {
    let mut loaded = lock(loaded);
    let library = match &*loaded {
        Some(library) => Arc::clone(library),
        None => {
            let names = Names {
                library: &registration.library,
                open: registration.open.as_deref(),
                collect: &registration.collect,
                close: registration.close.as_deref(),
                first_counter: registration.first_counter,
                first_help: registration.first_help,
            };
            // SAFETY: whoever registered the library as trusted promises that it keeps
            // to the contract; its file is nobody else's to write.
            let library = unsafe { Loaded::load(&names) }?;
            Arc::clone(loaded.insert(Arc::new(library)))
        }
    };
    drop(loaded);
    match library.open(registration.linkage.as_deref()) {
        (ERROR_SUCCESS, _) => Ok(library),
        (code, said) => Err(open_failed(code, &said)),
    }
}

#[allow(unsafe_code, reason = "calls a trusted library")]
fn call(library: &Loaded, asked: &Asked, buffer: &mut GuardedBuffer) -> Done {
    buffer.reset(asked.room);
    let mut value = wide(&asked.value);
    // A pointer to the whole, guards included: what a library writes there
    // by mistake is then found, not undefined.
    let address = buffer.whole_mut().as_mut_ptr().expose_provenance();
    let mut call = || {
        let whole = core::ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: the buffer has `room` bytes behind its first guard, and
        // nobody else uses it meanwhile.
        unsafe { library.collect(&mut value, whole.add(GuardedBuffer::GUARD), asked.room as u32) }
    };
    match asked.lane {
        Lane::Usual => Ok(call()),
        Lane::Costly => on_low_priority(call).ok_or_else(|| {
            CallFault::NotYet("no thread can be started for what is expensive".to_string())
        }),
    }
}

/// That Open answered with an error.
pub(crate) fn open_failed(code: u32, said: &[String]) -> String {
    let name = match code {
        2 => " (not found)",
        8 => " (no memory)",
        _ => "",
    };
    let mut text = format!("Open answered with error {code}{name}");
    for message in said {
        text.push_str(": ");
        text.push_str(message);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Libraries of which each comes back from Close once the others are in it, too:
    /// whoever waited for one after the other would wait in vain.
    #[test]
    fn those_that_close_are_waited_for_together() {
        let closing = Closing::default();
        let (told, hears) = channel();
        let (go, goes): (Vec<_>, Vec<_>) = (0..3).map(|_| channel::<()>()).unzip();
        let desks: Vec<Arc<WorkDesk>> = goes
            .into_iter()
            .map(|goes| {
                let desk = Arc::new(WorkDesk::default());
                let (theirs, told) = (Arc::clone(&desk), told.clone());
                thread::spawn(move || {
                    assert!(theirs.job().is_none());
                    told.send(()).unwrap();
                    let _ = goes.recv();
                    theirs.end();
                });
                desk
            })
            .collect();
        let others = thread::spawn(move || {
            for _ in 0..3 {
                hears.recv().unwrap();
            }
            drop(go);
        });
        desks.iter().for_each(|desk| closing.begin(Arc::clone(desk)));
        // Beginning did not wait: otherwise this would never come about.
        others.join().unwrap();
        assert_eq!(closing.wait(), 0);
        let never = Arc::new(WorkDesk::default());
        closing.begin(Arc::clone(&never));
        assert_eq!(closing.wait(), 1);
        // Each is waited for once.
        assert_eq!(closing.wait(), 0);
    }
}
