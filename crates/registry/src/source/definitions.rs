//! The objects that were in any answer of a registry, with their definitions.

use perfhive_format::{PerfObject, TitleIndex};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The largest number of objects that are remembered; an object beyond this number makes all others
/// forgotten. A machine has some hundred objects.
const OBJECTS: usize = 16 << 10;
/// The largest number of definitions that are remembered of an object, which usually has one.
const DEFINITIONS: usize = 16;
/// The shortest time between two new definitions of an object that count as news, once
/// [`DEFINITIONS`] of them are remembered. A provider may change the definition with each sample,
/// and catalogue and titles would be made again as often. Values are not affected, since they are
/// found by the definition in their own sample.
const AGAIN: Duration = Duration::from_secs(60);

/// A fingerprint of the counters of an object: of their number, and of their title indexes in
/// order. It changes when the provider adds, removes or exchanges counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Definition {
    counters: usize,
    /// FNV-1a over the title indexes of the counters' names.
    names: u64,
}

impl Definition {
    fn of(object: PerfObject<'_>) -> Self {
        let start = Self { counters: 0, names: 0xcbf2_9ce4_8422_2325 };
        object.counters().fold(start, |so_far, counter| Self {
            counters: so_far.counters + 1,
            names: (so_far.names ^ u64::from(counter.name_index().0))
                .wrapping_mul(0x0100_0000_01b3),
        })
    }
}

/// An object that was in an answer.
#[derive(Debug)]
struct Seen {
    /// The definitions that were seen, the newest last.
    definitions: Vec<Definition>,
    /// The time at which the newest definition was added.
    since: Instant,
}

/// The news in an answer about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing is new, or a new definition came too soon to count as news.
    Nothing,
    /// The object or the definition is new.
    Defined,
    /// The object or the definition is new, and all that was known before is forgotten.
    Forgotten,
}

/// The objects that were in any answer, each with its definitions.
#[derive(Debug)]
pub(super) struct Definitions {
    objects: HashMap<TitleIndex, Seen>,
    again: Duration,
}

impl Default for Definitions {
    fn default() -> Self {
        Self { objects: HashMap::new(), again: AGAIN }
    }
}

impl Definitions {
    pub(super) fn contains(&self, name: TitleIndex) -> bool {
        self.objects.contains_key(&name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = TitleIndex> {
        self.objects.keys().copied()
    }

    /// Notes an object. Returns what is new about it. An object that alternates between a few
    /// definitions is news once for each.
    pub(super) fn learn(&mut self, object: PerfObject<'_>) -> News {
        let (name, definition) = (object.name_index(), Definition::of(object));
        if let Some(seen) = self.objects.get_mut(&name) {
            if seen.definitions.contains(&definition) {
                return News::Nothing;
            }
            if seen.definitions.len() >= DEFINITIONS {
                if seen.since.elapsed() < self.again {
                    return News::Nothing;
                }
                seen.definitions.remove(0);
            }
        }
        let mut news = News::Defined;
        if self.objects.len() >= OBJECTS && !self.contains(name) {
            self.objects.clear();
            news = News::Forgotten;
        }
        let now = Instant::now();
        let new = || Seen { definitions: Vec::new(), since: now };
        let seen = self.objects.entry(name).or_insert_with(new);
        seen.definitions.push(definition);
        seen.since = now;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::{Frame, Snapshot};
    use perfhive_format::{CounterSpec, CounterType};
    use perfhive_testkit::script::block;

    /// What `learn` returns for an object with one counter of this name.
    fn learn(all: &mut Definitions, object: u32, counter: u32) -> News {
        let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let counters = [CounterSpec::new(TitleIndex(counter), kind)];
        let rows: &[_] = &[("one", None, &[1u64][..])];
        let block = block("BOX", 1, &[(TitleIndex(object), &counters, rows)]);
        let mut snapshot = Snapshot::new();
        snapshot.push_frame(Frame::new(block, 1).unwrap().into(), "test:");
        let object = snapshot.object(TitleIndex(object)).unwrap();
        all.learn(object.view())
    }

    #[test]
    fn a_definition_is_news_once_and_beyond_the_limit_once_a_minute() {
        let mut all = Definitions::default();
        for round in 0..3 {
            let expected = if round == 0 { News::Defined } else { News::Nothing };
            assert_eq!(learn(&mut all, 230, 6), expected);
        }
        let news = (8..200).filter(|name| learn(&mut all, 230, *name) != News::Nothing).count();
        assert_eq!(news, DEFINITIONS - 1);
        assert_eq!(learn(&mut all, 232, 6), News::Defined, "another object");
        // After the pause further ones are news again, and the remembered ones are not.
        all.again = Duration::ZERO;
        assert_eq!(learn(&mut all, 230, 500), News::Defined);
        assert_eq!([500, 22].map(|name| learn(&mut all, 230, name)), [News::Nothing; 2]);
        assert_eq!(learn(&mut all, 230, 6), News::Defined, "the oldest was forgotten");
        assert_eq!(all.objects[&TitleIndex(230)].definitions.len(), DEFINITIONS);
    }
}
