//! One provider of a broker, with its session and its account.

use super::registry::Registered;
use crate::ask::{Ask, ObjectQuery};
use crate::collect_tests::{TestLevel, check_objects};
use crate::error::{Fault, FaultKind, ProviderError};
use crate::growth::{KeptFaults, note_growth};
use crate::provider::{
    Collection, ObjectDescription, ObjectWriter, OpenContext, Provider, Session, object_heads,
};
use crate::source::Cost;
use crate::status::{ProviderState, ProviderStatus};
use perfhive_format::{BlockWriter, TitleIndex};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Entry {
    pub(super) provider: Arc<dyn Provider>,
    /// The roster it came from; `None` for one that stays.
    pub(super) roster: Option<usize>,
    pub(super) registered: Registered,
    pub(super) session: Option<Box<dyn Session>>,
    pub(super) status: ProviderStatus,
    /// Why it has nothing to offer, from the start.
    refusal: Option<Fault>,
    /// Whether it used up a reader's deadline and did not succeed in time since.
    pub(super) is_late: bool,
    /// The last answer that it had its turn in.
    pub(super) turn: u64,
    /// Objects wanted of it in this collection; kept for its allocation.
    pub(super) wanted: Vec<TitleIndex>,
    is_selected: bool,
    /// Whether it has made a start and goes on with it.
    pub(super) goes_on: bool,
    /// Objects that it offers and another provider has.
    pub(super) lost: Vec<ObjectDescription>,
}

/// What a provider is asked, until when, and how its answer is tested.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) ask: &'a Ask,
    pub(super) until: Option<Instant>,
    pub(super) level: TestLevel,
}

/// Where it goes that a provider tells beside its objects.
pub(super) struct Told<'a> {
    pub(super) faults: &'a mut Vec<Fault>,
    pub(super) kept: &'a mut KeptFaults,
    pub(super) foreign: &'a mut Vec<Vec<u8>>,
}

/// How far a collection by several providers side by side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Begin,
    GoOn,
}

impl Entry {
    pub(super) fn new((provider, registered): (Arc<dyn Provider>, Registered)) -> Self {
        let mut status = provider.account().unwrap_or_else(|| ProviderStatus::new(provider.name()));
        let refusal = provider.refusal().map(|(state, why)| {
            let kind = match state {
                ProviderState::Quarantined => FaultKind::Quarantined,
                _ => FaultKind::OpenFailed,
            };
            let fault = Fault::new(kind, &status.name, why);
            (status.state, status.last_fault) = (state, Some(fault.clone()));
            fault
        });
        status.names = registered.names();
        Self {
            provider,
            roster: None,
            registered,
            session: None,
            status,
            refusal,
            is_late: false,
            turn: 0,
            wanted: Vec::new(),
            is_selected: false,
            goes_on: false,
            lost: Vec::new(),
        }
    }

    /// How the provider is doing, and which objects it has.
    pub(super) fn status(&self) -> ProviderStatus {
        let objects = self.registered.description.objects.iter();
        let objects = objects.map(|object| object.spec.name).collect();
        ProviderStatus { objects, ..self.status.clone() }
    }

    /// Notes which of this provider's objects a query wants; answers whether
    /// it wants any.
    pub(super) fn select(&mut self, query: &ObjectQuery) -> bool {
        self.wanted.clear();
        let objects = &self.registered.description.objects;
        let wanted = |cost: Cost, name: TitleIndex| match query {
            ObjectQuery::Global => cost == Cost::Global,
            ObjectQuery::Costly => cost == Cost::Costly,
            ObjectQuery::Foreign(_) => cost == Cost::Foreign,
            ObjectQuery::Indexes(list) => list.contains(&name),
        };
        for object in objects.iter().filter(|object| wanted(object.cost, object.spec.name)) {
            for name in object.brings.iter().chain([&object.spec.name]) {
                if !self.wanted.contains(name) {
                    self.wanted.push(*name);
                }
            }
        }
        self.is_selected = !self.wanted.is_empty()
            || (matches!(query, ObjectQuery::Foreign(_)) && self.provider.answers_foreign());
        self.is_selected
    }

    /// Whether the last query that it was [`select`](Self::select)ed by wants
    /// anything of it.
    pub(super) fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// That a provider which offers nothing is missing in an answer that is to
    /// have everything.
    pub(super) fn refused(&self, query: &ObjectQuery) -> Option<Fault> {
        let everything = matches!(query, ObjectQuery::Global | ObjectQuery::Costly);
        // Who is disabled is not missed.
        let missed = everything && self.status.state != ProviderState::Disabled;
        self.refusal.clone().filter(|_| missed)
    }

    /// What is told of a provider in quarantine that is wanted.
    pub(super) fn quarantined(&self, kept: &mut KeptFaults) -> Option<Fault> {
        if self.status.state != ProviderState::Quarantined {
            return None;
        }
        let name = &self.status.name;
        Some(match &self.status.last_fault {
            Some(fault) if fault.kind == FaultKind::Quarantined => fault.clone(),
            Some(fault) => {
                let message = &fault.message;
                let message = format_args!("disabled after repeated faults, at last: {message}");
                kept.make(FaultKind::Quarantined, name, (None, None), message)
            }
            None => {
                let message = "disabled after repeated faults";
                kept.make(FaultKind::Quarantined, name, (None, None), message)
            }
        })
    }

    /// Lets the provider out of quarantine; `false` if it is not in it.
    pub(super) fn release(&mut self) -> bool {
        if self.status.state != ProviderState::Quarantined {
            return false;
        }
        self.status.state = ProviderState::Idle;
        self.status.in_a_row = 0;
        let provider = &self.provider;
        // An account that panics is not worth the reader's data.
        let _ = catch_unwind(AssertUnwindSafe(|| provider.released()));
        true
    }

    /// The session, taken out of its place; a new one where there is none.
    fn opened(&mut self) -> Result<Box<dyn Session>, Fault> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        note_growth();
        let fault =
            |kind, message: &dyn std::fmt::Display| Fault::new(kind, &self.status.name, message);
        let context = OpenContext {
            linkage: None,
            first_counter: self.registered.first_counter,
            first_help: self.registered.first_help,
        };
        let provider = &self.provider;
        catch_unwind(AssertUnwindSafe(|| provider.open(&context)))
            .map_err(|panic| fault(FaultKind::Panicked, &panic_text(&*panic)))?
            .map_err(|error| fault(FaultKind::OpenFailed, &error))
    }

    /// Whether it is asked side by side with others.
    pub(super) fn may_begin(&self) -> bool {
        self.roster.is_some() && self.is_selected && self.status.state != ProviderState::Quarantined
    }

    /// Makes a start at a collection, or goes on with one. What fails here fails
    /// again where it is told.
    pub(super) fn begin(&mut self, ask: &Ask, until: Option<Instant>, step: Step) {
        let session = self.session.take().or_else(|| self.begun(step));
        self.goes_on = false;
        let Some(mut session) = session else { return };
        let collection = Collection::new(ask, &self.wanted).until(until);
        let done = catch_unwind(AssertUnwindSafe(|| match step {
            Step::Begin => {
                session.begin(&collection);
                true
            }
            Step::GoOn => session.go_on(&collection),
        }));
        match done {
            Ok(more) => (self.session, self.goes_on) = (Some(session), more),
            Err(_) => close(Some(session)),
        }
    }

    /// How long it was at work for the last collection before that was waited
    /// for; zero where nobody knows.
    pub(super) fn took(&self) -> Duration {
        let session = self.session.as_ref();
        let took = catch_unwind(AssertUnwindSafe(|| session.and_then(|session| session.took())));
        took.ok().flatten().unwrap_or_default()
    }

    fn begun(&mut self, step: Step) -> Option<Box<dyn Session>> {
        if step == Step::Begin { self.opened().ok() } else { None }
    }

    /// Asks the provider; what it wrote is tested, and taken back if it fails.
    pub(super) fn collect(
        &mut self,
        asked: Asked<'_>,
        owners: &Owners,
        block: &mut BlockWriter,
        told: Told<'_>,
    ) -> Result<(), Fault> {
        let Told { faults, kept, foreign } = told;
        let Asked { ask, until, level } = asked;
        let mut session = self.opened()?;
        let name: &str = &self.status.name;
        let fault = |kind, message: &dyn std::fmt::Display| Fault::new(kind, name, message);
        let mark = block.mark();
        let collection = Collection::new(ask, &self.wanted).until(until);
        let foreign_before = foreign.len();
        let faults_before = faults.len();
        let mut writer = ObjectWriter::new(block, name, level, faults, foreign).with_kept(kept);
        let outcome = catch_unwind(AssertUnwindSafe(|| session.collect(&collection, &mut writer)));
        let failed_test = writer.take_failed();
        let verdict = match outcome {
            Ok(Ok(())) if level == TestLevel::All => check_objects(block.since(mark))
                .map(drop)
                .map_err(|error| fault(FaultKind::TestFailed, &error)),
            Ok(Ok(())) => Ok(()),
            Ok(Err(ProviderError::NotYet(why))) => Err(fault(FaultKind::NotYet, &why)),
            Ok(Err(error)) => Err(match &failed_test {
                Some(failed) => fault(FaultKind::TestFailed, failed),
                None => fault(FaultKind::CollectFailed, &error),
            }),
            Err(panic) => Err(fault(FaultKind::Panicked, &panic_text(&*panic))),
        };
        let verdict = verdict.and_then(|()| {
            // An object of another provider would be read in its place.
            let mut names = object_heads(block.since(mark)).map(|(name, _)| name);
            let stolen =
                names.find(|object| owners.get(object).is_some_and(|owner| **owner != *name));
            stolen.map_or(Ok(()), |object| {
                let owner = owners.get(&object).map_or("", |owner| owner);
                let message = format!("wrote object {object}, which is {owner}'s");
                Err(fault(FaultKind::TestFailed, &message))
            })
        });
        let panicked = verdict.as_ref().is_err_and(|fault| fault.kind == FaultKind::Panicked);
        if verdict.is_err() {
            block.rewind(mark);
            foreign.truncate(foreign_before);
            // Partial faults of data that is not there would only confuse.
            faults.truncate(faults_before);
        }
        if panicked {
            // Whatever state the panic left behind is not trusted again.
            close(Some(session));
        } else {
            self.session = Some(session);
        }
        self.status.bytes = block.since(mark).len();
        verdict
    }
}

impl Entry {
    /// Keeps the provider's account after a collection.
    pub(super) fn note(
        &mut self,
        verdict: Result<(), Fault>,
        took: Duration,
        quarantine_after: u32,
        faults: &mut Vec<Fault>,
    ) {
        let status = &mut self.status;
        let fault = verdict.err();
        // Who waits is neither better nor worse for it, nor was that a collection;
        // but one that takes longer than this there is.
        let waits = fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::NotYet);
        status.worst = status.worst.max(took);
        if !waits {
            status.collections += 1;
            status.last = took;
            status.total = status.total.saturating_add(took);
        }
        match &fault {
            None => {
                status.state = ProviderState::Open;
                status.in_a_row = 0;
            }
            Some(fault) => {
                status.faults += u64::from(!waits);
                status.in_a_row = status.in_a_row.saturating_add(u32::from(!waits));
                let full = quarantine_after > 0 && status.in_a_row >= quarantine_after;
                status.state = match fault.kind {
                    _ if full && !waits => ProviderState::Quarantined,
                    FaultKind::OpenFailed => ProviderState::Failed,
                    _ => ProviderState::Open,
                };
                status.last_fault = Some(fault.clone());
            }
        }
        let (provider, status) = (&self.provider, &self.status);
        // An account that panics is not worth the reader's data.
        let _ = catch_unwind(AssertUnwindSafe(|| provider.collected(status, fault.as_ref())));
        if status.state == ProviderState::Quarantined {
            close(self.session.take());
        }
        if let Some(fault) = fault {
            faults.extend(self.wanted.iter().map(|object| fault.clone().of_object(*object)));
        }
    }
}

/// The provider to which each object is registered.
pub(super) type Owners = HashMap<TitleIndex, Arc<str>>;

/// Closes a session. One that panics on the way is closed all the same.
pub(super) fn close(session: Option<Box<dyn Session>>) {
    // Its last fault tells of it already: only those that failed are closed.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the provider panicked: {}", text.unwrap_or("no message"))
}
