//! Deadlines that are too short for an answer, and what they say of the registry: nothing.

use super::*;
use crate::relay::HANGS;

/// Too soon for any answer.
fn at_once(query: &str) -> Ask {
    Ask::new(query.parse().unwrap()).until(Instant::now())
}

/// Asks in a hurry, whatever is said.
fn hurry(source: &mut Fallback<Broker>, query: &str) -> SourceError {
    let error = source.collect(&at_once(query), &mut Snapshot::new()).unwrap_err();
    assert!(error.is_transient(), "{error}");
    error
}

/// Asks until an earlier request has come back, which nobody waits for any more.
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
fn whoever_is_in_a_hurry_at_first_leaves_it_undecided() {
    let mut parts = patient(&WINDOWS, Some(FOR_EVER));
    parts.orders.tell(|told| told.hangs = true);
    for _ in 0..3 {
        hurry(&mut parts.source, "230");
        // Nor do they wait who ask for something else by then.
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
    parts.orders.tell(|told| told.hangs = false);
    // It is the registry's from the first sample on, and nothing was ever another's.
    let snapshot = collect_once_it_is_free(&mut parts.source, "230");
    assert_eq!(origins(&snapshot), [(230, 1)]);
    assert!(snapshot.faults().is_empty(), "{:?}", snapshot.faults());
    assert!(parts.source.undecided.is_none());
}

/// One that hangs is found out by those as well.
#[test]
fn many_short_waits_are_a_long_one() {
    let mut parts = patient(&WINDOWS, Some(FOR_EVER));
    parts.orders.tell(|told| told.hangs = true);
    hurry(&mut parts.source, "230");
    hurry(&mut parts.source, "230");
    let since = parts.source.undecided.as_mut().unwrap();
    *since = since.checked_sub(HANGS).unwrap();
    let soon = Ask::new("230".parse().unwrap()).until(Instant::now() + FOR_EVER);
    let mut snapshot = Snapshot::new();
    parts.source.collect(&soon, &mut snapshot).unwrap();
    assert_eq!(origins(&snapshot), [(230, 2)]);
    assert!(snapshot.faults()[0].message.contains("by native functions"));
    parts.orders.tell(|told| told.hangs = false);
}

#[test]
fn whoever_is_in_a_hurry_later_changes_nothing() {
    let mut parts = patient(&[(2, "System"), (4, "Memory"), (230, "Process")], Some(FOR_EVER));
    assert_eq!(origins(&collect(&mut parts.source, "2 4")), [(2, 1), (4, 1)]);
    let decisions = parts.source.decisions;
    parts.orders.tell(|told| told.hangs = true);
    for _ in 0..5 {
        hurry(&mut parts.source, "2 4");
        // Something else is wanted of it, which is to be looked at first.
        hurry(&mut parts.source, "238");
        let at_once = Ask::nothing().until(Instant::now());
        let error = parts.source.titles(LanguageId::ENGLISH, &at_once).unwrap_err();
        assert!(error.is_transient(), "{error}: not the names of what native functions have");
    }
    assert_eq!((parts.source.decisions, parts.source.failures), (decisions, 0));
    parts.orders.tell(|told| told.hangs = false);
    let snapshot = collect_once_it_is_free(&mut parts.source, "2 4");
    assert_eq!((origins(&snapshot), snapshot.faults().len()), (vec![(2, 1), (4, 1)], 0));
    // What nobody had time for is looked at still.
    let snapshot = collect(&mut parts.source, "238");
    assert_eq!(origins(&snapshot), [(238, 2)]);
    assert!(snapshot.faults()[0].message.starts_with("Processor by native"));
}

/// Native functions answer while it is tried, in the other half of the time.
#[test]
fn a_trial_leaves_time_for_who_stands_in() {
    let mut parts = patient(&WINDOWS, Some(FOR_EVER));
    parts.orders.tell(|told| told.fails = Some(SourceErrorKind::Unavailable));
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 2)]);
    parts.orders.tell(|told| (told.fails, told.hangs) = (None, true));
    for _ in 0..3 {
        parts.pass(FIRST_PAUSE);
        // Less than a trial may take; half of it is enough on any machine to fill one object.
        let mut snapshot = Snapshot::new();
        let soon = Instant::now() + Duration::from_millis(480);
        let request = Ask::new("230".parse().unwrap()).until(soon);
        parts.source.collect(&request, &mut snapshot).unwrap();
        assert_eq!(origins(&snapshot), [(230, 2)], "{:?}", snapshot.faults());
    }
    parts.orders.tell(|told| told.hangs = false);
}

/// Not as if its providers failed, and not twice in a row.
#[test]
fn who_is_denied_is_told_so_at_once() {
    for (query, both) in [("230", &[(230, 2)][..]), ("230 238", &[(230, 2), (238, 2)])] {
        let mut parts = parts(&WINDOWS);
        assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
        parts.orders.tell(|told| told.fails = Some(SourceErrorKind::Denied));
        let snapshot = collect(&mut parts.source, query);
        assert_eq!(origins(&snapshot), both);
        let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
        assert!(fault.message.ends_with("cannot be read: out of order"), "{fault}");
    }
}
