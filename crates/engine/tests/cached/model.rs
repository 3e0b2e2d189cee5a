//! The cache against a simple single-threaded model of it.

use crate::source::{Numbered, numbers, request};
use crate::{Hand, cache};
use perfhive_engine::{Ask, Cached, ObjectQuery, Snapshot, Source};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    /// A consumer asks for objects, with a limit to their age in ms; `None` is the default
    /// limit.
    Ask {
        consumer: usize,
        objects: Vec<u32>,
        limit: Option<u64>,
    },
    /// A consumer asks for Global.
    Whole {
        consumer: usize,
        limit: Option<u64>,
    },
    Wait(u64),
    Forget,
    Fail(bool),
}

const CONSUMERS: usize = 3;
const GLOBAL: [u32; 3] = [1, 2, 3];
/// The objects of the source. Object 4 is not part of Global, and brings object 1 along.
const OBJECTS: [u32; 4] = [1, 2, 3, 4];

fn step() -> impl Strategy<Value = Step> {
    let limit = || prop_oneof![Just(None), Just(Some(0)), Just(Some(50)), Just(Some(5000))];
    let objects = prop::collection::vec(prop::sample::select(&OBJECTS[..]), 1..4);
    prop_oneof![
        6 => (0..CONSUMERS, objects, limit())
            .prop_map(|(consumer, objects, limit)| Step::Ask { consumer, objects, limit }),
        2 => (0..CONSUMERS, limit()).prop_map(|(consumer, limit)| Step::Whole { consumer, limit }),
        3 => prop_oneof![Just(0u64), Just(1), Just(49), Just(50), Just(51), Just(400), Just(501)]
            .prop_map(Step::Wait),
        1 => Just(Step::Forget),
        1 => any::<bool>().prop_map(Step::Fail),
    ]
}

#[derive(Clone, Copy)]
struct Kept {
    number: u64,
    begun: u64,
}

/// The model: a cache without threads, slots or pools.
#[derive(Default)]
struct Model {
    now: u64,
    number: u64,
    fails: bool,
    objects: BTreeMap<u32, Kept>,
    whole: Option<Kept>,
    seen: [BTreeMap<u32, u64>; CONSUMERS],
}

impl Model {
    fn young(&self, kept: Kept, limit: u64) -> bool {
        limit > 0 && self.now - kept.begun <= limit
    }

    fn collect(&mut self, objects: &BTreeSet<u32>) -> Kept {
        self.number += 1;
        let kept = Kept { number: self.number, begun: self.now };
        for object in objects {
            self.objects.insert(*object, kept);
            if *object == 4 {
                self.objects.insert(1, kept);
            }
        }
        kept
    }

    /// The objects of the answer and the collection of each; `None` for an
    /// error.
    fn ask(&mut self, consumer: usize, objects: &[u32], limit: u64) -> Option<BTreeMap<u32, u64>> {
        let wanted: BTreeSet<u32> = objects.iter().copied().collect();
        let mut answer = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for object in &wanted {
            let had = self.seen[consumer].get(object).copied().unwrap_or(0);
            match self.objects.get(object) {
                Some(kept) if self.young(*kept, limit) && kept.number > had => {
                    answer.insert(*object, kept.number);
                }
                _ => {
                    missing.insert(*object);
                }
            }
        }
        if !missing.is_empty() && !self.fails {
            let kept = self.collect(&missing);
            answer.extend(missing.iter().map(|object| (*object, kept.number)));
        }
        if answer.is_empty() {
            return None;
        }
        self.seen[consumer].extend(answer.iter().map(|(object, number)| (*object, *number)));
        Some(answer)
    }

    fn whole(&mut self, consumer: usize, limit: u64) -> Option<BTreeMap<u32, u64>> {
        let had = GLOBAL.iter().filter_map(|object| self.seen[consumer].get(object));
        let had = had.copied().max().unwrap_or(0);
        let kept = match self.whole {
            Some(kept) if self.young(kept, limit) && kept.number > had => kept,
            _ if self.fails => return None,
            _ => {
                let kept = self.collect(&GLOBAL.into_iter().collect());
                self.whole = Some(kept);
                kept
            }
        };
        let answer: BTreeMap<_, _> = GLOBAL.iter().map(|object| (*object, kept.number)).collect();
        self.seen[consumer].extend(answer.iter().map(|(object, number)| (*object, *number)));
        Some(answer)
    }
}

fn answer_of(
    consumer: &mut Cached<Numbered>,
    mut request: Ask,
    limit: Option<u64>,
) -> Option<BTreeMap<u32, u64>> {
    request.max_age = limit.map(Duration::from_millis);
    let mut out = Snapshot::new();
    consumer.collect(&request, &mut out).ok()?;
    Some(numbers(&out).into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_the_model_s(steps in prop::collection::vec(step(), 1..60)) {
        let clock = Hand::default();
        let source = Numbered::new().global(&GLOBAL).brings(4, 1);
        let first = cache(source.clone(), &clock);
        let mut consumers: Vec<_> = (0..CONSUMERS).map(|_| first.clone()).collect();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Ask { consumer, objects, limit } => {
                    let expected = model.ask(consumer, &objects, limit.unwrap_or(500));
                    let found = answer_of(&mut consumers[consumer], request(&objects), limit);
                    prop_assert_eq!(found, expected);
                }
                Step::Whole { consumer, limit } => {
                    let expected = model.whole(consumer, limit.unwrap_or(500));
                    let global = Ask::new(ObjectQuery::Global);
                    let found = answer_of(&mut consumers[consumer], global, limit);
                    prop_assert_eq!(found, expected);
                }
                Step::Wait(time) => {
                    model.now += time;
                    clock.forward(time);
                }
                Step::Forget => {
                    model.objects.clear();
                    model.whole = None;
                    first.forget();
                }
                Step::Fail(fails) => {
                    model.fails = fails;
                    source.fail(fails);
                }
            }
            prop_assert_eq!(source.collections(), model.number);
        }
    }
}
