//! A library at work for one reader.

use crate::area::larger;
use crate::caller::{Call, CallFault, Caller, Patience};
use crate::describe::{News, name_of, objects};
use crate::provider::{Shared, lock};
use crate::wire::Lane;
use perfhive_contract::abi::{ERROR_MORE_DATA, ERROR_SUCCESS};
use perfhive_engine::{
    Collection, Cost, Fault, ObjectQuery, ObjectWriter, ProviderError, RawClaim, Session,
    note_growth,
};
use perfhive_format::{BlockHead, BlockWriter, TitleIndex};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What Collect claims that has nothing to give.
const NOTHING: RawClaim = RawClaim { moved: 0, bytes: 0, objects: 0 };

/// One request of a library.
struct Asked<'a> {
    value: &'a str,
    lane: Lane,
    cost: Cost,
    /// Whether it was begun with.
    is_begun: bool,
}

/// A session of an extension provider.
pub(crate) struct ExtensionSession {
    shared: Arc<Shared>,
    /// `None` only once it is dropped.
    caller: Option<Caller>,
    /// Objects of the answer at hand; kept for its allocation.
    delivered: Vec<TitleIndex>,
    failed: bool,
    /// How long the library was at work for the last collection.
    took: Duration,
    /// The next collection, if it was begun with.
    begun: Option<Begun>,
}

/// A collection that was begun with: when, and the requests that it comes to.
struct Begun {
    since: Instant,
    requests: Vec<(String, Lane)>,
    /// What became of the first ones. The next one was made.
    answers: Vec<Result<Call, ProviderError>>,
    /// Whether the library was waited for until it is open.
    is_open: bool,
}

impl ExtensionSession {
    pub(crate) fn open(shared: &Arc<Shared>) -> Result<Self, ProviderError> {
        let caller = Some(shared.caller()?);
        Ok(Self {
            shared: Arc::clone(shared),
            caller,
            delivered: Vec::new(),
            failed: false,
            took: Duration::ZERO,
            begun: None,
        })
    }

    /// Finds out what the library has: everything that it gives for `Global`,
    /// for `Costly`, and what its `Object List` names beyond.
    ///
    /// # Errors
    /// Where it does not answer `Global`; what is wrong with the others is
    /// only written to the log.
    pub(crate) fn discover(&mut self) -> Result<(), ProviderError> {
        let name = self.shared.registration.name.clone();
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let (mut faults, mut foreign): (Vec<Fault>, _) = (Vec::new(), Vec::new());
        let level = self.shared.level;
        let mut out = ObjectWriter::new(&mut block, &name, level, &mut faults, &mut foreign);
        let ask = |value, lane, cost| Asked { value, lane, cost, is_begun: false };
        let long = Patience::default();
        let outcome = self.ask(&ask("Global", Lane::Usual, Cost::Global), long, &mut out);
        self.note(outcome.as_ref().err());
        outcome?;
        let outcome = self.ask(&ask("Costly", Lane::Costly, Cost::Costly), long, &mut out);
        self.note(outcome.as_ref().err());
        let listed = &self.shared.registration.objects;
        let known = lock(&self.shared.known);
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

    /// Writes a failure to the log that no broker tells of.
    fn note(&mut self, error: Option<&ProviderError>) {
        self.failed = error.is_some();
        // Of one that has to wait it is known why.
        if let Some(error) = error.filter(|error| !matches!(error, ProviderError::NotYet(_))) {
            self.shared.log(&error.to_string());
        }
    }

    /// Asks the library, and takes what it delivers.
    fn ask(
        &mut self,
        asked: &Asked<'_>,
        patience: Patience,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let call = self.call(asked, patience)?;
        self.take(call, asked.cost, out)
    }

    /// Takes what a call delivered.
    fn take(
        &mut self,
        call: Call,
        cost: Cost,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let taken = take(&self.shared, &call, cost, &mut self.delivered, out);
        if let Some(caller) = &mut self.caller {
            caller.give_back(call.buffer);
        }
        taken
    }

    /// Has the library called, with a larger buffer as long as that is what it wants.
    fn call(&mut self, asked: &Asked<'_>, patience: Patience) -> Result<Call, ProviderError> {
        let Asked { value, lane, mut is_begun, .. } = *asked;
        let shared = &self.shared;
        let gone = || ProviderError::Failed("the session is closed".to_string());
        let caller = self.caller.as_mut().ok_or_else(gone)?;
        let mut room = shared.room.load(Ordering::Relaxed);
        loop {
            let is_begun = std::mem::take(&mut is_begun);
            let called = caller.collect(value, lane, room, patience, is_begun);
            self.took += caller.took();
            let call = match called {
                Ok(call) => call,
                Err(CallFault::Failed(message)) => {
                    if let Some(left) = caller.pause_left() {
                        shared.account.pause(left);
                    }
                    return Err(ProviderError::Failed(message));
                }
                Err(CallFault::NotYet(message)) => {
                    if caller.is_newly_late() {
                        shared.late(&message);
                    }
                    return Err(ProviderError::NotYet(message));
                }
            };
            shared.account.came_back(call.took);
            if let Some(note) = call.note.clone() {
                shared.log(&note);
                *lock(&shared.note) = Some(note);
            }
            if call.code == ERROR_MORE_DATA {
                if call.claim != NOTHING {
                    shared.log("answered ERROR_MORE_DATA without setting its counts to 0");
                }
                caller.give_back(call.buffer);
                room = larger(room).ok_or_else(|| {
                    ProviderError::Failed(format!("{room} bytes are not enough for it"))
                })?;
                shared.room.store(room, Ordering::Relaxed);
                continue;
            }
            return Ok(call);
        }
    }

    /// A collection that begins.
    fn new_begun(&mut self, collection: &Collection<'_>) -> Begun {
        self.took = Duration::ZERO;
        Begun {
            since: Instant::now(),
            requests: self.requests(collection),
            answers: Vec::new(),
            is_open: false,
        }
    }

    /// Makes a request that was begun with, or goes on with it.
    fn make(
        &mut self,
        request: Option<&(String, Lane)>,
        make: impl FnOnce(&mut Caller, &str, Lane, usize),
    ) {
        let room = self.shared.room.load(Ordering::Relaxed);
        if let (Some((value, lane)), Some(caller)) = (request, &mut self.caller) {
            make(caller, value, *lane, room);
        }
    }

    /// The requests that a collection comes to, as value strings.
    fn requests(&self, collection: &Collection<'_>) -> Vec<(String, Lane)> {
        // Texts and lists are made for each collection.
        note_growth();
        let list = match collection.query() {
            ObjectQuery::Global => return vec![("Global".to_string(), Lane::Usual)],
            ObjectQuery::Costly => return vec![("Costly".to_string(), Lane::Costly)],
            // The whole text, as the reader gave it.
            foreign @ ObjectQuery::Foreign(_) => return vec![(foreign.to_string(), Lane::Usual)],
            ObjectQuery::Indexes(list) => list,
        };
        // What is listed as its objects is all that it is asked for.
        let own = &self.shared.registration.objects;
        let mut usual = Vec::new();
        let mut costly = Vec::new();
        let known = lock(&self.shared.known);
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

    /// How long a request of a collection that began then is waited for. All of them
    /// share the time that a reader without a deadline has, but none is left without.
    fn patience(&self, collection: &Collection<'_>, began: Instant) -> Patience {
        let usual = self.shared.account.patience(self.shared.options.patience);
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
        self.make(begun.requests.first(), Caller::begin);
        self.begun = Some(begun);
    }

    fn go_on(&mut self, collection: &Collection<'_>) -> bool {
        let Some(mut begun) = self.begun.take() else { return false };
        let patience = self.patience(collection, begun.since);
        // Of several requests the last one is waited for where it is told.
        let place = begun.answers.len();
        if !std::mem::replace(&mut begun.is_open, true) {
            self.make(begun.requests.first(), |caller, value, lane, room| {
                caller.go_on(value, lane, room, patience);
            });
        } else if let [(value, lane), next, ..] = begun.requests.get(place..).unwrap_or_default() {
            let asked = Asked { value, lane: *lane, cost: Cost::Costly, is_begun: true };
            let answer = self.call(&asked, patience);
            self.make(Some(next), Caller::begin);
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
        // What comes along with a request by index is known to be had so.
        let cost = match collection.query() {
            ObjectQuery::Global => Cost::Global,
            ObjectQuery::Foreign(_) => Cost::Foreign,
            ObjectQuery::Costly | ObjectQuery::Indexes(_) => Cost::Costly,
        };
        let mut is_begun = self.begun.is_some();
        let begun = self.begun.take();
        let begun = begun.unwrap_or_else(|| self.new_begun(collection));
        let Begun { since, requests, answers, .. } = begun;
        let mut answers = answers.into_iter();
        let mut first: Result<(), ProviderError> = Ok(());
        for (place, (value, lane)) in requests.iter().enumerate() {
            let outcome = match answers.next() {
                Some(answer) => answer.and_then(|call| self.take(call, cost, out)),
                None => {
                    let patience = self.patience(collection, since);
                    let is_begun = std::mem::take(&mut is_begun);
                    let asked = Asked { value, lane: *lane, cost, is_begun };
                    self.ask(&asked, patience, out)
                }
            };
            match outcome {
                Err(error) if place == 0 => first = Err(error),
                Err(error) => {
                    // Half of it is there, and stays.
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
        if let Some(note) = lock(&self.shared.note).take() {
            out.warning(None, &note);
        }
        self.failed |= first.is_err();
        if !foreign && !self.failed {
            for object in collection.wanted() {
                if !self.delivered.contains(object) {
                    out.fault(*object, None, "its provider gave no data for it");
                }
            }
        }
        first
    }
}

/// Takes what Collect delivered, once it stands the tests.
fn take(
    shared: &Shared,
    call: &Call,
    cost: Cost,
    delivered: &mut Vec<TitleIndex>,
    out: &mut ObjectWriter<'_>,
) -> Result<(), ProviderError> {
    let said = || call.said.join("; ");
    if call.code != ERROR_SUCCESS {
        let mut message = format!("Collect answered with error {}", call.code);
        if !call.said.is_empty() {
            message = format!("{message}: {}", said());
        }
        return Err(ProviderError::Failed(message));
    }
    if call.claim == NOTHING {
        // Not its, or it failed and said so.
        return if call.said.is_empty() { Ok(()) } else { Err(ProviderError::Failed(said())) };
    }
    call.said.iter().for_each(|message| shared.log(message));
    if cost == Cost::Foreign {
        return out.take_foreign(&call.buffer, &call.claim);
    }
    let (bytes, warnings) = out.take_if(&call.buffer, &call.claim, |name| shared.may_give(name))?;
    warnings.iter().for_each(|warning| shared.log(&warning.to_string()));
    let mut known = lock(&shared.known);
    for object in objects(bytes) {
        if !shared.may_give(name_of(object)) {
            let message = shared.left_out(name_of(object));
            out.warning(Some(name_of(object)), &message);
            shared.log(&message);
            continue;
        }
        delivered.push(name_of(object));
        let Some(news) = known.note(object, cost) else { continue };
        shared.news.store(true, Ordering::Relaxed);
        // Readers that looked for counters find them anew: their author should know.
        let name = name_of(object);
        match news {
            News::Definition => {
                shared.log(&format!("the counters of object {name} are not those of before"));
            }
            News::Object if shared.settled.load(Ordering::Relaxed) => {
                shared.log(&format!("gives object {name}, which it did not have before"));
            }
            News::Object => {}
        }
    }
    Ok(())
}

impl Drop for ExtensionSession {
    fn drop(&mut self) {
        // One that failed last begins anew.
        if let Some(caller) = self.caller.take()
            && !self.failed
        {
            self.shared.park(caller);
        }
    }
}
