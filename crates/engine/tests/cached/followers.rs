//! Consumers that take what is new of one object.

use super::source::{Numbered, request};
use super::{Hand, ask, cache};
use perfhive_engine::{
    Cached, Follower, Frame, Request, Snapshot, Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::alloc::{self, count};
use perfhive_testkit::script::{Row, block};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

#[test]
fn a_follower_takes_what_is_new() {
    let clock = Hand::default();
    let mut first = cache(Numbered::new(), &clock);
    let mut follower = first.follow(TitleIndex(1));
    let limit = Duration::from_millis(500);
    assert!(follower.take(first.now(), limit).is_none());
    ask(&mut first, &request(&[1]));
    clock.forward(20);
    let taken = follower.take(first.now(), limit).unwrap();
    assert_eq!(taken.age(first.now()), Duration::from_millis(20));
    assert_eq!(taken.object().unwrap().generation(), 1);
    drop(taken);
    assert!(follower.take(first.now(), limit).is_none());
    ask(&mut first, &request(&[1]));
    let taken = follower.take(first.now(), limit).unwrap();
    for _ in 0..20 {
        ask(&mut first, &request(&[1]));
    }
    // What was taken stays.
    assert_eq!(taken.object().unwrap().generation(), 2);
    drop(taken);
    clock.forward(501);
    assert!(follower.take(first.now(), limit).is_none());
}

#[test]
fn a_limit_of_zero_takes_nothing_kept_for_a_follower_either() {
    let clock = Hand::default();
    let mut first = cache(Numbered::new(), &clock);
    let mut follower = first.follow(TitleIndex(1));
    ask(&mut first, &request(&[1]));
    assert!(follower.take(first.now(), Duration::ZERO).is_none());
    assert!(follower.take(first.now(), Duration::from_nanos(1)).is_some());
}

/// Each object asked for by itself, and followed by several.
fn followed(
    objects: u32,
    clock: &Hand,
) -> (Cached<Numbered>, impl FnMut(&mut Cached<Numbered>) -> bool) {
    let cache = cache(Numbered::new().pooled(), clock);
    let requests: Vec<_> = (1..=objects).map(|object| request(&[object])).collect();
    let follow = |object| [cache.follow(TitleIndex(object)), cache.follow(TitleIndex(object))];
    let mut followers: Vec<[Follower; 2]> = (1..=objects).map(follow).collect();
    let (clock, mut out) = (clock.clone(), Snapshot::new());
    let mut is_first = true;
    let round = move |cache: &mut Cached<Numbered>| {
        clock.forward(1000);
        let mut grown = false;
        for (request, followers) in requests.iter().zip(&mut followers) {
            let before = alloc::thread();
            cache.collect(request, &mut out).unwrap();
            let taken = alloc::thread().since(before).count;
            // Of its own memory the source says nothing.
            assert!(is_first || taken == 0 || out.has_grown());
            grown |= out.has_grown();
            for follower in followers {
                assert!(follower.take(cache.now(), Duration::from_secs(1)).is_some());
            }
        }
        is_first = false;
        grown
    };
    (cache, round)
}

#[test]
fn warm_they_allocate_nothing_either() {
    // With many objects there would be more replies to let go of than are kept.
    for objects in [1, 3, 40] {
        let clock = Hand::default();
        let (mut cache, mut round) = followed(objects, &clock);
        assert!(round(&mut cache));
        for _ in 0..40 {
            round(&mut cache);
        }
        for _ in 0..40 {
            let (grown, allocations) = count(|| round(&mut cache));
            assert_eq!((grown, allocations.count), (false, 0), "{objects} objects");
        }
    }
}

#[test]
fn they_leave_memory_for_others_who_hold_what_they_got() {
    let clock = Hand::default();
    let (mut cache, mut round) = followed(3, &clock);
    // Each of another answer.
    let mut held: Vec<Snapshot> = Vec::new();
    for _ in 0..32 {
        round(&mut cache);
        clock.forward(1000);
        let mut out = Snapshot::new();
        cache.clone().collect(&request(&[1]), &mut out).unwrap();
        held.push(out);
    }
    for _ in 0..40 {
        round(&mut cache);
    }
    for _ in 0..40 {
        let (grown, allocations) = count(|| round(&mut cache));
        assert_eq!((grown, allocations.count), (false, 0));
    }
}

/// Answers blocks that may be large, and knows which are still there.
struct Large {
    bytes: Arc<Mutex<Vec<u8>>>,
    made: Arc<Mutex<Vec<Weak<Frame>>>>,
}

impl Source for Large {
    fn name(&self) -> &str {
        "large"
    }

    fn collect(&mut self, _: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let frame = Arc::new(Frame::new(self.bytes.lock().unwrap().clone(), 1).unwrap());
        self.made.lock().unwrap().push(Arc::downgrade(&frame));
        out.push_frame(frame, "large");
        Ok(())
    }

    fn titles(&mut self, _: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "large", "has no titles"))
    }
}

/// A block with so many instances.
fn block_of(object: TitleIndex, instances: u32) -> Vec<u8> {
    let names: Vec<String> = (0..instances).map(|number| format!("instance {number}")).collect();
    let row = |name| (name, None, &[][..]);
    let rows: Vec<Row<'_>> = names.iter().map(String::as_str).map(row).collect();
    block("host", 1, &[(object, &[], &rows)])
}

#[test]
fn large_answers_go_as_soon_as_nobody_looks_at_them() {
    let object = TitleIndex(230);
    let large = block_of(object, 10_000);
    assert!(large.len() > 300_000, "{}", large.len());
    let room = (1 << 20) / large.len() + 1;
    // With small ones before there is memory for many.
    for small_before in [0, 100] {
        let bytes = Arc::new(Mutex::new(block_of(object, 1)));
        let made = Arc::default();
        let source = Large { bytes: Arc::clone(&bytes), made: Arc::clone(&made) };
        let mut cache = Cached::new(source);
        let mut follower = cache.follow(object);
        let fresh = Request::objects(&[object]).max_age(Duration::ZERO);
        let is_there = |frame: &Arc<Frame>| frame.as_bytes().len() == large.len();
        let there = || {
            let made = made.lock().unwrap();
            made.iter().filter_map(Weak::upgrade).filter(is_there).count()
        };
        let mut most = 0;
        for number in 0..small_before + 100 {
            if number == small_before {
                bytes.lock().unwrap().clone_from(&large);
            }
            cache.collect(&fresh, &mut Snapshot::new()).unwrap();
            assert!(follower.take(cache.now(), Duration::MAX).is_some());
            most = most.max(there());
        }
        // The newest, and the one that is being made, come on top.
        assert!(most <= room + 2, "{most} blocks, room for {room}, {small_before} small before");
        drop(follower);
        cache.forget();
        assert_eq!(there(), 0, "{small_before} small before");
    }
}

#[test]
fn what_many_followers_look_at_takes_no_memory_unsaid() {
    let clock = Hand::default();
    let mut cache = cache(Numbered::new().pooled(), &clock);
    // Each of another answer. For those of the second object there are answers
    // already, but there never were so many of it to be kept.
    for object in [1, 2] {
        let follow = |_| cache.follow(TitleIndex(object));
        let mut followers: Vec<Follower> = (0..48).map(follow).collect();
        let (wanted, mut out) = (request(&[object]), Snapshot::new());
        cache.collect(&wanted, &mut out).unwrap();
        let mut held = Vec::new();
        for follower in &mut followers {
            clock.forward(1000);
            let (done, allocations) = count(|| cache.collect(&wanted, &mut out));
            done.unwrap();
            let number = held.len();
            assert!(out.has_grown() || allocations.count == 0, "object {object}, {number} held");
            held.push(follower.take(cache.now(), Duration::from_secs(1)).unwrap());
        }
    }
}
