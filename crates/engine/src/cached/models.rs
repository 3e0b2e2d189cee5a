//! Loom models of the hand-over: every interleaving of a few threads.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p perfhive-engine --lib models --release`

use super::lane::{Lane, Outcome, Wishes};
use super::place::{Place, Reader};
use super::reply::{Key, Reply, Slots};
use crate::error::{SourceError, SourceErrorKind};
use crate::request::{ObjectQuery, Request};
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

/// A source that counts its runs; an answer is what was collected.
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
fn everybody_is_served_and_gets_what_was_wanted() {
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
        // The source is there for the next.
        assert_eq!(lane.with(None, |source| *source as usize).unwrap(), count);
    });
}

#[test]
fn a_run_on_its_way_is_joined_or_another_is_made() {
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
fn a_failure_reaches_all_who_waited_and_nobody_else() {
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
        // One run for both failed for both; of two, one.
        assert_eq!(usize::from(mine) + usize::from(theirs), if runs == 1 { 2 } else { 1 });
        assert!(fail(&lane).is_ok());
    });
}

#[test]
fn who_uses_the_source_alone_and_who_collects_take_turns() {
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

/// Loom reports it if one thread writes while another one reads.
struct Watched(loom::cell::UnsafeCell<u64>);

// SAFETY: the models are there to show that it is so: loom looks at every
// access.
#[allow(unsafe_code, reason = "what is modelled is who may access it")]
unsafe impl Sync for Watched {}

impl Watched {
    fn get(&self) -> u64 {
        #[allow(unsafe_code, reason = "as above")]
        // SAFETY: loom's own pointer to a value that lives as long as `self`.
        self.0.with(|value| unsafe { *value })
    }
}

/// A reader looks at values while others are put in their place, and those that
/// nobody looks at are used again, as the hub does with replies.
fn values_are_not_changed_while_looked_at(readers: usize, looks: u64, puts: u64) {
    model(move || {
        type Shared = std::sync::Arc<Place<Watched>>;
        let new = |number| std::sync::Arc::new(Watched(loom::cell::UnsafeCell::new(number)));
        let place = Shared::default();
        let mut pool = vec![new(1)];
        // It does not look, and what others do goes on beside it.
        let idle = Reader::new(Shared::clone(&place), || None);
        let threads: Vec<_> = (0..readers)
            .map(|_| {
                let mut reader = Reader::new(Shared::clone(&place), || Some((1, pool[0].clone())));
                thread::spawn(move || {
                    let mut last = 0;
                    for _ in 0..looks {
                        if let Some(value) = reader.newer_than(last) {
                            let number = value.get();
                            assert!(number > last && number == value.get());
                            last = number;
                        }
                    }
                    assert!(last > 0, "there was a value from the beginning");
                })
            })
            .collect();
        for number in 2..2 + puts {
            place.let_go();
            let free = pool.iter_mut().position(|value| std::sync::Arc::get_mut(value).is_some());
            let value = free.map_or_else(|| new(0), |at| pool.swap_remove(at));
            #[allow(unsafe_code, reason = "as above")]
            // SAFETY: loom's own pointer; that nobody else uses it is modelled.
            value.0.with_mut(|place| unsafe { *place = number });
            place.put(number, &value);
            pool.push(value);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        drop(idle);
    });
}

#[test]
fn one_reader_and_values_used_again() {
    values_are_not_changed_while_looked_at(1, 2, 3);
}

#[test]
fn a_reader_that_leaves_and_values_used_again() {
    values_are_not_changed_while_looked_at(1, 1, 4);
}

#[test]
fn two_readers_and_values_used_again() {
    values_are_not_changed_while_looked_at(2, 1, 1);
}

#[test]
fn who_lets_go_need_not_be_who_put() {
    model(|| {
        let new = |number| std::sync::Arc::new(Watched(loom::cell::UnsafeCell::new(number)));
        let place = std::sync::Arc::new(Place::<Watched>::default());
        let mut first = new(1);
        let now = || Some((1, std::sync::Arc::clone(&first)));
        let mut reader = Reader::new(std::sync::Arc::clone(&place), now);
        let reader = thread::spawn(move || {
            let number = reader.newer_than(0).map(|value| value.get());
            assert!(matches!(number, Some(1 | 2)));
        });
        let other = std::sync::Arc::clone(&place);
        let writer = thread::spawn(move || other.put(2, &new(2)));
        place.let_go();
        if let Some(first) = std::sync::Arc::get_mut(&mut first) {
            #[allow(unsafe_code, reason = "as above")]
            // SAFETY: loom's own pointer; that nobody else uses it is modelled.
            first.0.with_mut(|place| unsafe { *place = 3 });
        }
        reader.join().unwrap();
        writer.join().unwrap();
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
    let request = Request::new(ObjectQuery::Indexes(vec![OBJECT]));
    let reply = Reply { number, request, ..Reply::default() };
    slots.publish(&std::sync::Arc::new(reply), |_| true, || true);
}

/// What one who asks finds, and what one who begins to follow takes; 0 for
/// nothing.
fn kept(slots: &Slots) -> (u64, u64) {
    let slot = slots.get(&Key::Object(OBJECT)).unwrap();
    let found = slot.load().map_or(0, |reply| reply.number);
    let mut follower = slots.follow(&Key::Object(OBJECT)).unwrap();
    (found, follower.newer_than(0).map_or(0, |reply| reply.number))
}

#[test]
fn what_is_forgotten_while_another_is_put_in_is_gone_for_all() {
    model(|| {
        let slots = slots_with(&[1]);
        let other = std::sync::Arc::clone(&slots);
        let thread = thread::spawn(move || publish(&other, 2));
        let mut follower = slots.follow(&Key::Object(OBJECT)).unwrap();
        slots.clear();
        // The one before it never comes back.
        assert_ne!(follower.newer_than(0).map_or(0, |reply| reply.number), 1);
        thread.join().unwrap();
        let (found, taken) = kept(&slots);
        assert!(found == taken && found != 1, "{found} {taken}");
        assert_eq!(follower.newer_than(0).map_or(0, |reply| reply.number), found);
    });
}

#[test]
fn who_begins_to_follow_misses_nothing_and_sees_the_newest_in_the_end() {
    model(|| {
        let slots = slots_with(&[1]);
        let other = std::sync::Arc::clone(&slots);
        let thread = thread::spawn(move || publish(&other, 3));
        let mut follower = slots.follow(&Key::Object(OBJECT)).unwrap();
        let first = follower.newer_than(0).map(|reply| reply.number);
        let first = first.expect("there was one from the beginning");
        publish(&slots, 2);
        thread.join().unwrap();
        assert_eq!(kept(&slots), (3, 3));
        let last = follower.newer_than(first).map_or(first, |reply| reply.number);
        assert_eq!(last, 3);
    });
}
