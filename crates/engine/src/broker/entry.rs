//! One provider of a broker, with its session and its account.

use super::registry::Registered;
use crate::ask::{Ask, ObjectQuery};
use crate::collect_tests::{TestLevel, check_objects};
use crate::error::{Fault, FaultKind, ProviderError};
use crate::kept_faults::KeptFaults;
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

/// One provider of a broker, with its session and its account.
pub(super) struct Entry {
    pub(super) provider: Arc<dyn Provider>,
    /// The index of the roster that the provider came from; `None` for a provider that stays as
    /// long as the broker.
    pub(super) roster: Option<usize>,
    pub(super) registered: Registered,
    pub(super) session: Option<Box<dyn Session>>,
    pub(super) status: ProviderStatus,
    /// The fault that says why the provider offers nothing from the start; `None` for a provider
    /// that offers objects.
    refusal: Option<Fault>,
    /// Whether the provider used up a deadline and has not succeeded in time since.
    pub(super) is_late: bool,
    /// The generation of the last collection in which the provider had its turn, even if it was
    /// then passed over; 0 before the first.
    pub(super) turn: u64,
    /// The wanted objects of this collection; kept for its allocation.
    pub(super) wanted: Vec<TitleIndex>,
    is_selected: bool,
    /// Whether the session began this collection and wants another step.
    pub(super) goes_on: bool,
    /// Objects that the provider offers but does not serve; see `Members::claim`.
    pub(super) lost: Vec<ObjectDescription>,
    /// The reason why the provider does not serve the `lost` objects; `None` if no object is lost.
    pub(super) lost_fault: Option<Fault>,
    /// The last fault of the provider itself, while its account has `lost_fault` in the place of it.
    pub(super) covered: Option<Fault>,
}

/// The order to a provider: what is wanted, until when, and how thoroughly its data is tested.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) ask: &'a Ask,
    pub(super) until: Option<Instant>,
    pub(super) level: TestLevel,
}

/// Lists of the broker to which a provider's collection adds faults, foreign blocks and partial
/// objects.
pub(super) struct Extras<'a> {
    pub(super) faults: &'a mut Vec<Fault>,
    pub(super) kept: &'a mut KeptFaults,
    pub(super) foreign: &'a mut Vec<Vec<u8>>,
    pub(super) partial: &'a mut Vec<TitleIndex>,
}

/// A step of a collection by several providers side by side: `Begin` starts the collection, and
/// `GoOn` takes its next step.
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
            lost_fault: None,
            covered: None,
        }
    }

    /// Notes why the provider does not serve its lost objects; `None` if it serves all of its objects. A new reason
    /// becomes the last fault in the account, unless the provider is in quarantine, disabled or refused. Once all
    /// objects are served, the account gets back the fault from before, unless the provider had another fault since.
    pub(super) fn tell_lost(&mut self, fault: Option<Fault>) {
        let is_same = |one: &Option<Fault>, other: &Option<Fault>| match (one, other) {
            (Some(one), Some(other)) => {
                (one.object, &one.message) == (other.object, &other.message)
            }
            (one, other) => one.is_none() && other.is_none(),
        };
        let is_stopped = matches!(
            self.status.state,
            ProviderState::Quarantined | ProviderState::Disabled | ProviderState::Refused
        );
        let last = &mut self.status.last_fault;
        let is_told = self.lost_fault.is_some() && is_same(last, &self.lost_fault);
        if is_told {
            *last = if fault.is_some() { fault.clone() } else { self.covered.take() };
        } else if fault.is_some() && !is_stopped && !is_same(&fault, &self.lost_fault) {
            self.covered = std::mem::replace(last, fault.clone());
        }
        self.lost_fault = fault;
    }

    /// The account of the provider, with the title indexes of its objects.
    pub(super) fn status(&self) -> ProviderStatus {
        let objects = self.registered.description.objects.iter();
        let mut status = self.status.clone();
        status.objects = objects.map(|object| object.spec.name).collect();
        status
    }

    /// Notes which of this provider's objects a query wants, with the objects that come along with
    /// them. Returns whether the provider is to be asked: the query wants an object of it, or is
    /// `Foreign` and the provider answers such queries.
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

    /// Whether the provider offers an object and is not in quarantine, so that the object can be
    /// collected.
    pub(super) fn serves(&self, object: TitleIndex) -> bool {
        let objects = &self.registered.description.objects;
        self.status.state != ProviderState::Quarantined
            && objects.iter().any(|offered| offered.spec.name == object)
    }

    /// Whether the last [`select`](Self::select) wanted anything of the provider.
    pub(super) fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// Adds the faults of a provider that offers nothing: one to an answer to `Global` or `Costly`, unless
    /// the provider is disabled, and one for each object that a query names, that the provider registered,
    /// and that no other provider offers. A provider that offers objects has none.
    pub(super) fn refused(&self, query: &ObjectQuery, owners: &Owners, faults: &mut Vec<Fault>) {
        let Some(refusal) = &self.refusal else { return };
        match query {
            ObjectQuery::Global | ObjectQuery::Costly => {
                let is_missed = self.status.state != ProviderState::Disabled;
                faults.extend(is_missed.then(|| refusal.clone()));
            }
            ObjectQuery::Indexes(list) => {
                let registered = &self.registered.objects;
                let missed = |o: &&TitleIndex| registered.contains(o) && !owners.contains_key(o);
                faults.extend(list.iter().filter(missed).map(|o| refusal.clone().of_object(*o)));
            }
            ObjectQuery::Foreign(_) => {}
        }
    }

    /// The fault of a provider that is in quarantine; `None` for any other provider.
    pub(super) fn quarantined(&self, kept: &mut KeptFaults) -> Option<Fault> {
        if self.status.state != ProviderState::Quarantined {
            return None;
        }
        let name = &self.status.name;
        Some(match &self.status.last_fault {
            Some(fault) if fault.kind == FaultKind::Quarantined => fault.clone(),
            Some(fault) => {
                let last = &fault.message;
                let words = format_args!("disabled after repeated faults, at last: {last}");
                kept.make(FaultKind::Quarantined, name, (None, None), &words)
            }
            None => {
                let message = "disabled after repeated faults";
                kept.make(FaultKind::Quarantined, name, (None, None), &message)
            }
        })
    }

    /// Releases the provider from quarantine; `false` if the provider was not in quarantine.
    pub(super) fn release(&mut self) -> bool {
        if self.status.state != ProviderState::Quarantined {
            return false;
        }
        self.status.state = ProviderState::Idle;
        self.status.in_a_row = 0;
        let provider = &self.provider;
        // If the provider panics here, the reader must still get its data.
        let _ = catch_unwind(AssertUnwindSafe(|| provider.released()));
        true
    }

    /// Takes the session out of the entry. If there is none, opens a new session. The error is the
    /// fault that says why the provider could not be opened.
    fn opened(&mut self) -> Result<Box<dyn Session>, Fault> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
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
            .map_err(|error| match error {
                ProviderError::NotYet(why) => fault(FaultKind::NotYet, &why),
                error => fault(FaultKind::OpenFailed, &error),
            })
    }

    /// Whether the provider begins the current collection side by side with others: it came from a
    /// roster, is wanted, and is not in quarantine.
    pub(super) fn may_begin(&self) -> bool {
        self.roster.is_some() && self.is_selected && self.status.state != ProviderState::Quarantined
    }

    /// Begins a collection, or takes its next step. A failure is not reported here;
    /// [`collect`](Self::collect) tries again, and reports its own failure.
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

    /// The duration of the last collection according to the session; zero if the session does not
    /// state it.
    pub(super) fn took(&self) -> Duration {
        let session = self.session.as_ref();
        let took = catch_unwind(AssertUnwindSafe(|| session.and_then(|session| session.took())));
        took.ok().flatten().unwrap_or_default()
    }

    /// A session for the first step of a collection; `None` for a later step, and if no session can
    /// be opened.
    fn begun(&mut self, step: Step) -> Option<Box<dyn Session>> {
        if step == Step::Begin { self.opened().ok() } else { None }
    }

    /// Has the provider collect into `block`, and tests the data. After a failure, which the
    /// returned fault describes, nothing of the provider is left in `block` and in the lists of
    /// `extras`.
    pub(super) fn collect(
        &mut self,
        turn: Turn<'_>,
        owners: &Owners,
        block: &mut BlockWriter,
        extras: Extras<'_>,
    ) -> Result<(), Fault> {
        let Extras { faults, kept, foreign, partial } = extras;
        let Turn { ask, until, level } = turn;
        self.status.bytes = 0;
        let mut session = self.opened()?;
        let name: &str = &self.status.name;
        let fault = |kind, message: &dyn std::fmt::Display| Fault::new(kind, name, message);
        let mark = block.mark();
        let collection = Collection::new(ask, &self.wanted).until(until);
        let foreign_before = foreign.len();
        let faults_before = faults.len();
        let partial_before = partial.len();
        let mut writer = ObjectWriter::new(block, name, level, faults, foreign)
            .with_kept(kept)
            .with_partial(&mut *partial);
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
            // Readers would take the object for that of its owner.
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
            // Partial faults are about data that was removed.
            faults.truncate(faults_before);
            partial.truncate(partial_before);
        }
        if panicked {
            // The state that a panic leaves behind is not trusted.
            close(Some(session));
        } else {
            self.session = Some(session);
        }
        self.status.bytes = block.since(mark).len();
        verdict
    }
}

impl Entry {
    /// Updates the provider's account after a collection, and puts the provider into quarantine
    /// after `quarantine_after` failures in a row (0 for never). A fault in `verdict` is added to
    /// `faults` ([`add_fault`](Self::add_fault)). A provider that was not ready ([`FaultKind::NotYet`])
    /// counts neither as failed nor as having collected.
    pub(super) fn note(
        &mut self,
        verdict: Result<(), Fault>,
        took: Duration,
        quarantine_after: u32,
        faults: &mut Vec<Fault>,
    ) {
        let status = &mut self.status;
        let fault = verdict.err();
        // A provider that is not ready has not collected: its counts stay. Only the duration of its
        // slowest collection becomes at least `took`.
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
                    _ if self.session.is_none() => ProviderState::Failed,
                    _ => ProviderState::Open,
                };
                status.last_fault = Some(fault.clone());
            }
        }
        let (provider, status) = (&self.provider, &self.status);
        // If the provider panics here, the reader must still get its data.
        let _ = catch_unwind(AssertUnwindSafe(|| provider.collected(status, fault.as_ref())));
        if status.state == ProviderState::Quarantined {
            close(self.session.take());
        }
        if let Some(fault) = fault {
            self.add_fault(&fault, faults);
        }
    }

    /// Adds a fault of this collection to `faults`: for each wanted object, or once for the whole
    /// provider if it is asked without any, as for the objects of another machine.
    pub(super) fn add_fault(&self, fault: &Fault, faults: &mut Vec<Fault>) {
        if self.wanted.is_empty() {
            faults.push(fault.clone());
        }
        faults.extend(self.wanted.iter().map(|object| fault.clone().of_object(*object)));
    }
}

/// For each object, the name of the provider that owns it.
pub(super) type Owners = HashMap<TitleIndex, Arc<str>>;

/// Closes a session. A panic while it closes is ignored.
pub(super) fn close(session: Option<Box<dyn Session>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the provider panicked: {}", text.unwrap_or("no message"))
}
