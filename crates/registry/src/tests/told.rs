//! What a sample takes is told with it: a registry that takes no memory itself is read,
//! and whatever is taken is the source's.

use super::*;
use crate::watched::Watched;
use perfhive_engine::Cached;
use perfhive_testkit::alloc;
use std::time::Duration;

/// Answers that lie ready, and what a service's registration is now.
#[derive(Default)]
struct Answers {
    blocks: Vec<(ValueName, Result<Vec<u8>, u32>)>,
    services: Vec<Service>,
    registration: u64,
}

impl Answers {
    fn say(&mut self, query: &str, answer: Result<Vec<u8>, u32>) {
        let name = ValueName::new(query);
        self.blocks.retain(|(known, _)| *known != name);
        self.blocks.push((name, answer));
    }
}

#[derive(Clone, Default)]
struct Still(Arc<Mutex<Answers>>);

impl Still {
    fn with<T>(&self, act: impl FnOnce(&mut Answers) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PerfRegistry for Still {
    fn host(&self) -> Option<&str> {
        None
    }

    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        if place != RegistryKey::Data {
            return NOT_FOUND;
        }
        self.with(|answers| {
            let found = answers.blocks.iter().find(|(known, _)| known == name);
            let Some((_, answer)) = found else { return NOT_FOUND };
            match answer {
                Err(code) => *code,
                Ok(bytes) if bytes.len() > reply.capacity() => MORE_DATA,
                Ok(bytes) => {
                    reply.clear();
                    reply.extend_from_slice(bytes);
                    SUCCESS
                }
            }
        })
    }

    fn last_titles(&mut self) -> LastTitles {
        LastTitles::default()
    }

    fn language_keys(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn services(&mut self) -> Vec<Service> {
        self.with(|answers| answers.services.clone())
    }

    fn registration(&mut self, _: &str) -> Option<u64> {
        Some(self.with(|answers| answers.registration))
    }

    fn user_language(&self) -> u16 {
        0x0409
    }
}

fn blocks(names: &[u32], instances: usize) -> Vec<u8> {
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let specs: Vec<_> =
        names.iter().map(|name| [CounterSpec::new(TitleIndex(name + 2), kind)]).collect();
    let rows = vec![("one", None, &[7u64][..]); instances];
    let objects =
        names.iter().zip(&specs).map(|(name, specs)| (TitleIndex(*name), &specs[..], &rows[..]));
    block("BOX", 1, &objects.collect::<Vec<_>>())
}

/// A sample: what it took without saying so, and whether it said so.
fn sample(source: &mut dyn Source, query: &ObjectQuery, snapshot: &mut Snapshot) -> (u64, bool) {
    let request = Ask::new(query.clone()).max_age(Duration::ZERO);
    let (done, taken) = alloc::count(|| source.collect(&request, snapshot));
    done.unwrap();
    (if snapshot.has_grown() { 0 } else { taken.count }, snapshot.has_grown())
}

/// A step: what it is called, what happens, what is asked for, and whether that takes
/// memory.
type Step<'a> = (&'a str, &'a dyn Fn(), ObjectQuery, bool);

fn run(source: &mut dyn Source, steps: &[Step<'_>]) {
    let mut snapshot = Snapshot::new();
    for (step, happens, query, takes) in steps {
        happens();
        for round in 0..8 {
            let (untold, told) = sample(source, query, &mut snapshot);
            assert!(!told && untold == 0 || round < 6, "{step}, {round}: takes memory {takes}");
        }
    }
}

fn one(name: u32) -> ObjectQuery {
    ObjectQuery::one(TitleIndex(name))
}

fn machine() -> Still {
    let still = Still::default();
    still.with(|answers| {
        answers.say("Global", Ok(blocks(&[230, 4000], 1)));
        answers.say("230", Ok(blocks(&[230], 1)));
        answers.say("4000", Ok(blocks(&[4000], 1)));
        answers.say("230 4000", Ok(blocks(&[230, 4000], 1)));
        answers.say(crate::parts::NOBODY, Ok(blocks(&[], 1)));
        answers.say("6000 6002", Ok(blocks(&[], 1)));
        let silent = |name: &str, first| Service {
            first: Some(first),
            last: Some(first + 2),
            ours: true,
            ..service(name, &[], SUCCESS).0
        };
        answers.services = vec![service("Stays", &[230], SUCCESS).0];
        answers.services.push(service("Goes", &[4000], SUCCESS).0);
        answers.services.push(silent("Mute", 6000));
    });
    still
}

#[test]
fn whatever_a_registry_does() {
    let still = machine();
    let mut source = RegistrySource::over("test:", Box::new(still.clone()));
    source.look_often();
    let mut source = Cached::new(source);
    let say = |query: &'static str, answer: Result<Vec<u8>, u32>| {
        let still = still.clone();
        move || still.with(|answers| answers.say(query, answer.clone()))
    };
    let global = || ObjectQuery::Global;
    let steps: [Step<'_>; 9] = [
        ("first", &|| {}, one(230), true),
        // With a word about the provider that gives nothing, each time.
        ("another request", &|| {}, global(), true),
        ("more instances", &say("230", Ok(blocks(&[230], 90_000))), one(230), true),
        ("a new object", &say("230", Ok(blocks(&[230, 500], 1))), one(230), true),
        ("an object that stays away", &say("230", Ok(blocks(&[500], 1))), one(230), true),
        ("one that fails", &say("Global", Err(31)), global(), true),
        ("and is changed", &|| still.with(|all| all.registration += 1), global(), true),
        ("the other, too", &say("230 4000", Err(31)), global(), false),
        ("not any more", &say("Global", Ok(blocks(&[230, 4000], 1))), global(), false),
    ];
    run(&mut source, &steps[..5]);
    still.with(|all| all.say("230", Ok(blocks(&[230], 1))));
    still.with(|all| all.say("4000", Err(31)));
    run(&mut source, &steps[5..]);
}

#[test]
fn definitions_that_are_remembered() {
    let still = machine();
    let mut source = Cached::new(RegistrySource::over(
        "test:",
        Box::new(still.clone()) as Box<dyn PerfRegistry>,
    ));
    let mut snapshot = Snapshot::new();
    for _ in 0..4 {
        sample(&mut source, &one(230), &mut snapshot);
    }
    for counters in 2..12 {
        let names: Vec<u32> = [230].into_iter().chain(1000..1000 + counters).collect();
        still.with(|answers| answers.say("230", Ok(object(&names, 1))));
        for _ in 0..2 {
            assert_eq!(sample(&mut source, &one(230), &mut snapshot).0, 0, "{counters} counters");
        }
    }
}

#[test]
fn whatever_a_careful_reader_does() {
    let still = machine();
    let other = still.clone();
    let make = Box::new(move || -> Box<dyn PerfRegistry> { Box::new(other.clone()) });
    let limit = Duration::from_secs(600);
    let source = RegistrySource::carefully("test:", Watched::new(make, limit), limit, None);
    let mut source = Cached::new(source);
    let steps: [Step<'_>; 2] =
        [("first", &|| {}, one(230), true), ("another", &|| {}, ObjectQuery::Global, true)];
    run(&mut source, &steps);
    // One name is kept to be sent again, not two.
    let mut snapshot = Snapshot::new();
    for _ in 0..4 {
        for query in [one(230), ObjectQuery::Global] {
            assert_eq!(sample(&mut source, &query, &mut snapshot).0, 0, "{query:?} in turns");
        }
    }
}
