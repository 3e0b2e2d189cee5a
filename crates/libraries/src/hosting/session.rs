//! The session of one reader with a library.

use crate::hosting::area::larger;
use crate::hosting::describe::{News, name_of, objects};
use crate::hosting::hosted::{Call, CallFault, HostedLibrary, Patience};
use crate::hosting::lock::lock;
use crate::hosting::state::LibraryState;
use crate::hosting::wire::Lane;
use perfhive_contract::abi::{ERROR_MORE_DATA, ERROR_SUCCESS};
use perfhive_engine::{
    Collection, Cost, Fault, ObjectQuery, ObjectWriter, ProviderError, RawClaim, Session,
};
use perfhive_format::{BlockHead, BlockWriter, TitleIndex};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The claim of a Collect that delivers no objects.
const NOTHING: RawClaim = RawClaim { moved: 0, bytes: 0, objects: 0 };

/// A request of a reader to a library.
struct LibraryRequest<'a> {
    value: &'a str,
    lane: Lane,
    cost: Cost,
    /// Whether the call of Collect was begun ahead, so that only its answer is waited for.
    is_begun: bool,
}

/// A session of an extension provider.
pub(crate) struct ExtensionSession {
    state: Arc<LibraryState>,
    /// The library; `None` only while the session is dropped.
    library: Option<HostedLibrary>,
    /// The objects of the current answer; kept for its allocation.
    delivered: Vec<TitleIndex>,
    /// Whether the last collection, or a request of it, failed.
    failed: bool,
    /// The time that the library worked for the last collection.
    took: Duration,
    /// The next collection; `None` unless it was begun.
    begun: Option<BegunCollection>,
}

/// A collection that was begun, with its requests.
struct BegunCollection {
    since: Instant,
    requests: Vec<(String, Lane)>,
    /// The answers to the first requests. The request after them is in flight.
    answers: Vec<Result<Call, ProviderError>>,
    /// Whether the wait for the library's Open is over, so that only answers of Collect are waited
    /// for.
    is_open: bool,
}

impl ExtensionSession {
    /// A session with the library that the last session left running, or with one that starts when
    /// it is first called. It is an error if there is no host program.
    pub(crate) fn open(state: &Arc<LibraryState>) -> Result<Self, ProviderError> {
        let library = Some(state.library()?);
        Ok(Self {
            state: Arc::clone(state),
            library,
            delivered: Vec::new(),
            failed: false,
            took: Duration::ZERO,
            begun: None,
        })
    }

    /// Finds the objects that the library offers: the objects that it gives for `Global` and for
    /// `Costly`, and the other objects of its `Object List`.
    ///
    /// # Errors
    /// If the request `Global` fails; faults of other requests only go to the log.
    pub(crate) fn discover(&mut self) -> Result<(), ProviderError> {
        let name = self.state.registration.name.clone();
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let (mut faults, mut foreign): (Vec<Fault>, _) = (Vec::new(), Vec::new());
        let level = self.state.level;
        let mut out = ObjectWriter::new(&mut block, &name, level, &mut faults, &mut foreign);
        let ask = |value, lane, cost| LibraryRequest { value, lane, cost, is_begun: false };
        let long = Patience::default();
        let outcome = self.ask(&ask("Global", Lane::Usual, Cost::Global), long, &mut out);
        self.note(outcome.as_ref().err());
        outcome?;
        let outcome = self.ask(&ask("Costly", Lane::Costly, Cost::Costly), long, &mut out);
        self.note(outcome.as_ref().err());
        let listed = &self.state.registration.objects;
        let known = lock(&self.state.known);
        let missing: Vec<_> =
            listed.iter().copied().filter(|name| known.cost(*name).is_none()).collect();
        drop(known);
        if !missing.is_empty() {
            let value = ObjectQuery::Indexes(missing).to_string();
            let outcome = self.ask(&ask(&value, Lane::Costly, Cost::Costly), long, &mut out);
            self.note(outcome.as_ref().err());
        }
        Ok(())
    }

    /// Notes whether the last request failed with `error` (`None` if it did not), and writes the
    /// failure to the log, since the broker does not get it. If the library is still at work or in
    /// a pause, nothing is logged.
    fn note(&mut self, error: Option<&ProviderError>) {
        self.failed = error.is_some();
        // The reason of a pause was logged when it began.
        if let Some(error) = error.filter(|error| !matches!(error, ProviderError::NotYet(_))) {
            self.state.log(&error.to_string());
        }
    }

    /// Calls the library and passes on the objects that it delivers.
    fn ask(
        &mut self,
        request: &LibraryRequest<'_>,
        patience: Patience,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let call = self.call(request, patience)?;
        self.take(call, request.cost, out)
    }

    /// Passes on to `out` the objects that a call delivered.
    fn take(
        &mut self,
        call: Call,
        cost: Cost,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let taken = take(&self.state, &call, cost, &mut self.delivered, out);
        if let Some(library) = &mut self.library {
            library.give_back(call.buffer);
        }
        taken
    }

    /// Calls the library, with a larger buffer each time it answers that it needs one.
    fn call(
        &mut self,
        request: &LibraryRequest<'_>,
        patience: Patience,
    ) -> Result<Call, ProviderError> {
        let LibraryRequest { value, lane, mut is_begun, .. } = *request;
        let state = &self.state;
        let gone = || ProviderError::Failed("the session is closed".to_string());
        let library = self.library.as_mut().ok_or_else(gone)?;
        let mut room = state.room.load(Ordering::Relaxed);
        loop {
            let is_begun = std::mem::take(&mut is_begun);
            if !is_begun {
                library.forget_begun();
            }
            let called = library.collect(value, lane, room, patience);
            self.took += library.took();
            library.take_open_reports().iter().for_each(|message| state.log(message));
            let call = match called {
                Ok(call) => call,
                Err(CallFault::Failed(message) | CallFault::TimedOut(message)) => {
                    if let Some(left) = library.pause_left() {
                        state.account.pause(left);
                    }
                    return Err(ProviderError::Failed(message));
                }
                Err(CallFault::NotYet(message)) => {
                    if library.is_newly_late() {
                        state.late(&message);
                    }
                    return Err(ProviderError::NotYet(message));
                }
                // Other programs may have a host: the account must not count this as a failure.
                Err(CallFault::NoHost(message)) => {
                    state.log(&message);
                    return Err(ProviderError::NotYet(message));
                }
            };
            state.account.came_back(call.took);
            if let Some(note) = call.note.clone() {
                state.log(&note);
                *lock(&state.note) = Some(note);
            }
            if call.code == ERROR_MORE_DATA {
                if call.claim != NOTHING {
                    state.log("answered ERROR_MORE_DATA without setting its counts to 0");
                }
                library.give_back(call.buffer);
                room = larger(room).ok_or_else(|| {
                    ProviderError::Failed(format!("the library asks for more than {room} bytes"))
                })?;
                state.room.store(room, Ordering::Relaxed);
                continue;
            }
            return Ok(call);
        }
    }

    /// A collection that begins now, with its requests; no request was sent yet.
    fn new_begun(&mut self, collection: &Collection<'_>) -> BegunCollection {
        self.took = Duration::ZERO;
        BegunCollection {
            since: Instant::now(),
            requests: self.requests(collection),
            answers: Vec::new(),
            is_open: false,
        }
    }

    /// Calls `make` with the library and a request of a collection. Without a request it does
    /// nothing.
    fn make(
        &mut self,
        request: Option<&(String, Lane)>,
        make: impl FnOnce(&mut HostedLibrary, &str, Lane, usize),
    ) {
        let room = self.state.room.load(Ordering::Relaxed);
        if let (Some((value, lane)), Some(library)) = (request, &mut self.library) {
            make(library, value, *lane, room);
        }
    }

    /// The requests of a collection: the value string of each, and the thread for it.
    fn requests(&self, collection: &Collection<'_>) -> Vec<(String, Lane)> {
        let list = match collection.query() {
            ObjectQuery::Global => return vec![("Global".to_string(), Lane::Usual)],
            ObjectQuery::Costly => return vec![("Costly".to_string(), Lane::Costly)],
            // The text is passed on as the reader gave it.
            foreign @ ObjectQuery::Foreign(_) => return vec![(foreign.to_string(), Lane::Usual)],
            ObjectQuery::Indexes(list) => list,
        };
        // A library with an Object List is asked for these objects alone.
        let own = &self.state.registration.objects;
        let mut usual = Vec::new();
        let mut costly = Vec::new();
        let known = lock(&self.state.known);
        for name in list {
            if collection.wants(*name) && (own.is_empty() || own.contains(name)) {
                match known.cost(*name) {
                    Some(Cost::Costly) => costly.push(*name),
                    _ => usual.push(*name),
                }
            }
        }
        drop(known);
        [(usual, Lane::Usual), (costly, Lane::Costly)]
            .into_iter()
            .filter(|(list, _)| !list.is_empty())
            .map(|(list, lane)| (ObjectQuery::Indexes(list).to_string(), lane))
            .collect()
    }

    /// The time that a reader waits for a request of a collection. A reader without a deadline has one
    /// time for all requests of the collection; each request gets at least a quarter of it.
    fn patience(&self, collection: &Collection<'_>, began: Instant) -> Patience {
        let usual = self.state.account.patience(self.state.options.patience);
        let left = usual.saturating_sub(began.elapsed()).max(usual / 4);
        Patience { deadline: collection.deadline(), usual: Some(left) }
    }
}

impl Session for ExtensionSession {
    fn took(&self) -> Option<Duration> {
        Some(self.took)
    }

    fn begin(&mut self, collection: &Collection<'_>) {
        let begun = self.new_begun(collection);
        self.make(begun.requests.first(), HostedLibrary::begin);
        self.begun = Some(begun);
    }

    fn go_on(&mut self, collection: &Collection<'_>) -> bool {
        let Some(mut begun) = self.begun.take() else { return false };
        let patience = self.patience(collection, begun.since);
        // The last request is waited for in `collect`.
        let place = begun.answers.len();
        if !std::mem::replace(&mut begun.is_open, true) {
            self.make(begun.requests.first(), |library, value, lane, room| {
                library.go_on(value, lane, room, patience);
            });
        } else if let [(value, lane), next, ..] = begun.requests.get(place..).unwrap_or_default() {
            let request = LibraryRequest { value, lane: *lane, cost: Cost::Costly, is_begun: true };
            let answer = self.call(&request, patience);
            self.make(Some(next), HostedLibrary::begin);
            begun.answers.push(answer);
        }
        let more = begun.answers.len() + 1 < begun.requests.len();
        self.begun = Some(begun);
        more
    }

    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        self.delivered.clear();
        self.failed = false;
        let foreign = matches!(collection.query(), ObjectQuery::Foreign(_));
        // New objects in an answer by index count as costly: the answer to `Global` may lack them.
        let cost = match collection.query() {
            ObjectQuery::Global => Cost::Global,
            ObjectQuery::Foreign(_) => Cost::Foreign,
            ObjectQuery::Costly | ObjectQuery::Indexes(_) => Cost::Costly,
        };
        let mut is_begun = self.begun.is_some();
        let begun = self.begun.take();
        let begun = begun.unwrap_or_else(|| self.new_begun(collection));
        let BegunCollection { since, requests, answers, .. } = begun;
        let mut answers = answers.into_iter();
        let mut first: Result<(), ProviderError> = Ok(());
        for (place, (value, lane)) in requests.iter().enumerate() {
            let outcome = match answers.next() {
                Some(answer) => answer.and_then(|call| self.take(call, cost, out)),
                None => {
                    let patience = self.patience(collection, since);
                    let is_begun = std::mem::take(&mut is_begun);
                    let request = LibraryRequest { value, lane: *lane, cost, is_begun };
                    self.ask(&request, patience, out)
                }
            };
            match outcome {
                Err(error) if place == 0 => first = Err(error),
                Err(error) => {
                    // What the first request delivered stays.
                    self.note(Some(&error));
                    for object in collection.wanted() {
                        if !self.delivered.contains(object) {
                            out.fault(*object, None, &error);
                        }
                    }
                }
                Ok(()) => {}
            }
        }
        if let Some(note) = lock(&self.state.note).take() {
            out.warning(None, &note);
        }
        self.failed |= first.is_err();
        if !foreign && !self.failed {
            for object in collection.wanted() {
                if !self.delivered.contains(object) {
                    out.fault(*object, None, "the provider gave no data for this object");
                }
            }
        }
        first
    }
}

/// Adds the objects that Collect delivered to `out`. Objects that the provider may not give are left
/// out with a warning. Adds the indexes of the others to `delivered`. It is an error if Collect
/// returned an error code, if it gave no objects and a report, or if the objects do not pass the tests.
fn take(
    state: &LibraryState,
    call: &Call,
    cost: Cost,
    delivered: &mut Vec<TitleIndex>,
    out: &mut ObjectWriter<'_>,
) -> Result<(), ProviderError> {
    let reports = || call.reports.join("; ");
    if call.code != ERROR_SUCCESS {
        let mut message = format!("Collect answered with error {}", call.code);
        if !call.reports.is_empty() {
            message = format!("{message}: {}", reports());
        }
        return Err(ProviderError::Failed(message));
    }
    if call.claim == NOTHING {
        // Nothing to give is not a failure, unless the library reports one.
        return if call.reports.is_empty() {
            Ok(())
        } else {
            Err(ProviderError::Failed(reports()))
        };
    }
    call.reports.iter().for_each(|message| state.log(message));
    if cost == Cost::Foreign {
        return out.take_foreign(&call.buffer, &call.claim);
    }
    let (bytes, warnings) = out.take_if(&call.buffer, &call.claim, |name| state.may_give(name))?;
    warnings.iter().for_each(|warning| state.log(&warning.to_string()));
    let mut known = lock(&state.known);
    for object in objects(bytes) {
        if !state.may_give(name_of(object)) {
            let message = state.left_out(name_of(object));
            out.warning(Some(name_of(object)), &message);
            state.log(&message);
            continue;
        }
        delivered.push(name_of(object));
        let Some(news) = known.note(object, cost) else { continue };
        state.has_news.store(true, Ordering::Relaxed);
        // Readers must find their counters anew, which the library's author should know.
        let name = name_of(object);
        match news {
            News::ProviderDefinition => {
                state.log(&format!("the counters of object {name} are not those of before"));
            }
            News::Object if state.is_settled.load(Ordering::Relaxed) => {
                state.log(&format!("gives object {name}, which it did not have before"));
            }
            News::Object => {}
        }
    }
    Ok(())
}

impl Drop for ExtensionSession {
    fn drop(&mut self) {
        // After a failure the next session starts a new process.
        if let Some(library) = self.library.take()
            && !self.failed
        {
            self.state.park(library);
        }
    }
}
