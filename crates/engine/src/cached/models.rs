//! Loom models of lanes and slots: every interleaving of a few threads.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p perfhive-engine --lib models --release`

use super::lane::{Lane, Outcome, Wishes};
use super::reply::{Key, Reply, Slots};
use crate::ask::{Ask, ObjectQuery};
use crate::error::{SourceError, SourceErrorKind};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use perfhive_format::TitleIndex;
use std::time::Duration;

/// A set of up to 32 things.
#[derive(Clone, Copy, Default)]
struct Bits(u32);

impl Wishes for Bits {
    fn merge(&mut self, other: &Self) {
        self.0 |= other.0;
    }
    fn overlaps(&self, other: &Self) -> bool {
        self.0 & other.0 != 0
    }
    fn clear(&mut self) {
        self.0 = 0;
    }
}

/// A lane with a source that is the number of its runs. An answer is the set that was collected.
type TestLane = Lane<u32, Bits, u32>;

fn ask(lane: &TestLane, wants: u32, joins: bool, runs: &AtomicUsize) -> Outcome<u32> {
    let run = |source: &mut u32, wants: &mut Bits| {
        *source += 1;
        runs.fetch_add(1, Ordering::Relaxed);
        Ok(wants.0)
    };
    lane.request(&Bits(wants), |_| joins, || Duration::ZERO, None, run).unwrap()
}

fn model(check: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn three_simultaneous_requests_each_get_what_they_wanted() {
    model(|| {
        let lane: Arc<TestLane> = Arc::new(Lane::new("source", 0));
        let runs = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = [1, 2]
            .into_iter()
            .map(|wants| {
                let (lane, runs) = (Arc::clone(&lane), Arc::clone(&runs));
                thread::spawn(move || {
                    let outcome = ask(&lane, wants, false, &runs);
                    assert!(outcome.in_full);
                    assert_eq!(outcome.result.unwrap() & wants, wants);
                })
            })
            .collect();
        let outcome = ask(&lane, 4, false, &runs);
        assert_eq!(outcome.result.unwrap() & 4, 4);
        for thread in threads {
            thread.join().unwrap();
        }
        let count = runs.load(Ordering::Relaxed);
        assert!((1..=3).contains(&count));
        // The source is back in the lane.
        assert_eq!(lane.with(None, |source| *source as usize).unwrap(), count);
    });
}

#[test]
fn a_request_during_a_run_joins_it_or_makes_another() {
    model(|| {
        let lane: Arc<TestLane> = Arc::new(Lane::new("source", 0));
        let runs = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (lane, runs) = (Arc::clone(&lane), Arc::clone(&runs));
                thread::spawn(move || {
                    let outcome = ask(&lane, 1, true, &runs);
                    assert_eq!(outcome.result.unwrap() & 1, 1);
                })
            })
            .collect();
        assert_eq!(ask(&lane, 3, true, &runs).result.unwrap() & 1, 1);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_failed_run_fails_the_requests_that_waited_and_no_other() {
    model(|| {
        let lane: Arc<TestLane> = Arc::new(Lane::new("source", 0));
        let fail = |lane: &TestLane| {
            let outcome = lane.request(
                &Bits(1),
                |_| false,
                || Duration::ZERO,
                None,
                |source, _| {
                    *source += 1;
                    // Only the first run fails.
                    match *source {
                        1 => Err(SourceError::new(SourceErrorKind::Unavailable, "source", "no")),
                        number => Ok(number),
                    }
                },
            );
            outcome.unwrap().result
        };
        let other = Arc::clone(&lane);
        let thread = thread::spawn(move || fail(&other).is_err());
        let (mine, theirs) = (fail(&lane).is_err(), thread.join().unwrap());
        let runs = lane.with(None, |source| *source).unwrap();
        // One common run fails for both requests; of two runs, the first fails.
        assert_eq!(usize::from(mine) + usize::from(theirs), if runs == 1 { 2 } else { 1 });
        assert!(fail(&lane).is_ok());
    });
}

#[test]
fn a_run_and_an_exclusive_use_of_the_source_both_end() {
    model(|| {
        let lane: Arc<TestLane> = Arc::new(Lane::new("source", 0));
        let runs = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&lane);
        let thread = thread::spawn(move || other.with(None, |source| *source += 10).unwrap());
        ask(&lane, 1, true, &runs).result.unwrap();
        thread.join().unwrap();
        assert_eq!(lane.with(None, |source| *source).unwrap(), 11);
    });
}

const OBJECT: TitleIndex = TitleIndex(1);

/// Slots that hold the replies of these numbers, put in one after another.
fn slots_with(numbers: &[u64]) -> std::sync::Arc<Slots> {
    let slots = std::sync::Arc::new(Slots::default());
    numbers.iter().for_each(|number| publish(&slots, *number));
    slots
}

fn publish(slots: &Slots, number: u64) {
    let request = Ask::new(ObjectQuery::Indexes(vec![OBJECT]));
    let reply = Reply { number, request, ..Reply::default() };
    slots.publish(&std::sync::Arc::new(reply), |_| true, || true);
}

/// The number of the newest reply in the slot; 0 if there is no reply.
fn newest(slots: &Slots) -> u64 {
    let slot = slots.get(&Key::Object(OBJECT)).unwrap();
    slot.load().map_or(0, |reply| reply.number)
}

#[test]
fn a_reply_dropped_by_clear_never_comes_back() {
    model(|| {
        let slots = slots_with(&[1]);
        let other = std::sync::Arc::clone(&slots);
        let thread = thread::spawn(move || publish(&other, 2));
        slots.clear();
        assert_ne!(newest(&slots), 1);
        thread.join().unwrap();
        assert_ne!(newest(&slots), 1);
    });
}

#[test]
fn of_two_replies_published_at_once_the_newer_one_stays() {
    model(|| {
        let slots = slots_with(&[1]);
        let other = std::sync::Arc::clone(&slots);
        let thread = thread::spawn(move || publish(&other, 3));
        publish(&slots, 2);
        thread.join().unwrap();
        assert_eq!(newest(&slots), 3);
    });
}
