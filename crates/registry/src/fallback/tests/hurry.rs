//! Deadlines that are too short for an answer: they decide nothing.

use super::*;
use crate::fallback::health::State;
use crate::relay::HANGS;

/// Too soon for any answer.
fn at_once(query: &str) -> Ask {
    Ask::new(query.parse().unwrap()).until(Instant::now())
}

/// Asks with a deadline that has passed; answers the error.
fn hurry(source: &mut Fallback<Broker>, query: &str) -> SourceError {
    let error = source.collect(&at_once(query), &mut Snapshot::new()).unwrap_err();
    assert!(error.is_transient(), "{error}");
    error
}

/// Asks until the worker has ended an earlier ask.
fn collect_once_it_is_free(source: &mut Fallback<Broker>, query: &str) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let request = Ask::new(query.parse().unwrap());
    while let Err(error) = source.collect(&request, &mut snapshot) {
        assert_eq!(error.kind(), SourceErrorKind::Busy, "{error}");
        std::thread::yield_now();
    }
    snapshot
}

#[test]
fn short_deadlines_at_first_leave_the_registry_undecided() {
    let mut parts = patient(&WINDOWS, Some(FOR_EVER));
    parts.orders.give(|order| order.hangs = true);
    for _ in 0..3 {
        hurry(&mut parts.source, "230");
        // Other questions do not wait either.
        let at_once = Ask::nothing().until(Instant::now());
        let failed = [
            parts.source.catalogue(&Ask::everything().until(at_once.until)).err(),
            parts.source.catalogue(&at_once).err(),
            parts.source.titles(LanguageId::ENGLISH, &at_once).err(),
            parts.source.catalogue(&Ask::new(ObjectQuery::Costly).until(at_once.until)).err(),
            parts.source.providers(&at_once).err(),
        ];
        let is_late = |error: &Option<SourceError>| error.as_ref().unwrap().is_transient();
        assert!(failed.iter().all(is_late), "{failed:?}");
        assert!(parts.source.decision.is_none());
    }
    parts.orders.give(|order| order.hangs = false);
    // The first sample comes from the registry.
    let snapshot = collect_once_it_is_free(&mut parts.source, "230");
    assert_eq!(origins(&snapshot), [(230, 1)]);
    assert!(snapshot.faults().is_empty(), "{:?}", snapshot.faults());
    assert_eq!(parts.source.health.state, State::Good);
}

#[test]
fn short_waits_for_a_whole_timeout_break_the_registry() {
    let mut parts = patient(&WINDOWS, Some(FOR_EVER));
    parts.orders.give(|order| order.hangs = true);
    hurry(&mut parts.source, "230");
    hurry(&mut parts.source, "230");
    parts.pass(HANGS);
    let soon = Ask::new("230".parse().unwrap()).until(Instant::now() + FOR_EVER);
    let mut snapshot = Snapshot::new();
    parts.source.collect(&soon, &mut snapshot).unwrap();
    assert_eq!(origins(&snapshot), [(230, 2)]);
    assert!(snapshot.faults()[0].message.contains("by native functions"));
    parts.orders.give(|order| order.hangs = false);
}

#[test]
fn short_deadlines_later_change_no_decision() {
    let mut parts = patient(&[(2, "System"), (4, "Memory"), (230, "Process")], Some(FOR_EVER));
    assert_eq!(origins(&collect(&mut parts.source, "2 4")), [(2, 1), (4, 1)]);
    let (decisions, health) = (parts.source.decisions, parts.source.health);
    parts.orders.give(|order| order.hangs = true);
    for _ in 0..5 {
        hurry(&mut parts.source, "2 4");
        // An object that was not looked for yet.
        hurry(&mut parts.source, "238");
        let at_once = Ask::nothing().until(Instant::now());
        let error = parts.source.titles(LanguageId::ENGLISH, &at_once).unwrap_err();
        assert!(error.is_transient(), "{error}: not the native names alone");
    }
    assert_eq!((parts.source.decisions, parts.source.health), (decisions, health));
    parts.orders.give(|order| order.hangs = false);
    let snapshot = collect_once_it_is_free(&mut parts.source, "2 4");
    assert_eq!((origins(&snapshot), snapshot.faults().len()), (vec![(2, 1), (4, 1)], 0));
    // The object is looked for with the next ask.
    let snapshot = collect(&mut parts.source, "238");
    assert_eq!(origins(&snapshot), [(238, 2)]);
    assert!(snapshot.faults()[0].message.starts_with("Processor by native"));
}

/// A trial has half of the time, native functions the other half.
#[test]
fn a_trial_leaves_time_for_the_native_functions() {
    let mut parts = patient(&WINDOWS, Some(FOR_EVER));
    parts.orders.give(|order| order.fails = Some(SourceErrorKind::Unavailable));
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 2)]);
    parts.orders.give(|order| (order.fails, order.hangs) = (None, true));
    for _ in 0..3 {
        parts.pass(FIRST_PAUSE);
        // Less than a trial may take; half of it is enough to fill one object.
        let mut snapshot = Snapshot::new();
        let soon = Instant::now() + Duration::from_millis(480);
        let request = Ask::new("230".parse().unwrap()).until(soon);
        parts.source.collect(&request, &mut snapshot).unwrap();
        assert_eq!(origins(&snapshot), [(230, 2)], "{:?}", snapshot.faults());
    }
    parts.orders.give(|order| order.hangs = false);
}

#[test]
fn denied_access_breaks_the_registry_at_the_first_error() {
    for (query, both) in [("230", &[(230, 2)][..]), ("230 238", &[(230, 2), (238, 2)])] {
        let mut parts = parts(&WINDOWS);
        assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
        parts.orders.give(|order| order.fails = Some(SourceErrorKind::Denied));
        let snapshot = collect(&mut parts.source, query);
        assert_eq!(origins(&snapshot), both);
        let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
        assert!(fault.message.ends_with("cannot be read: out of order"), "{fault}");
    }
}
