//! A warm sample allocates nothing. The made-up registry allocates nothing itself, so that every
//! allocation is the source's.

use super::*;
use perfhive_engine::Cached;
use perfhive_testkit::alloc;
use std::time::Duration;

/// A registry with prepared answers, and one number for every registration.
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

/// The number of allocations of a sample.
fn sample(source: &mut dyn Source, query: &ObjectQuery, snapshot: &mut Snapshot) -> u64 {
    let request = Ask::new(query.clone()).max_age(Duration::ZERO);
    let (done, taken) = alloc::count(|| source.collect(&request, snapshot));
    done.unwrap();
    taken.count
}

/// A step of the test: its name, the change of the registry, and the query.
type Step<'a> = (&'a str, &'a dyn Fn(), ObjectQuery);

fn run(source: &mut dyn Source, steps: &[Step<'_>]) {
    let mut snapshot = Snapshot::new();
    for (step, happens, query) in steps {
        happens();
        for round in 0..8 {
            let taken = sample(source, query, &mut snapshot);
            assert!(taken == 0 && !snapshot.has_grown() || round < 6, "{step}, {round}: {taken}");
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
        answers.say(crate::parts::NO_OBJECT_NAME, Ok(blocks(&[], 1)));
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
fn warm_samples_allocate_nothing_whatever_changed_before() {
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
        ("first", &|| {}, one(230)),
        // With a fault of the provider without objects in each sample.
        ("another request", &|| {}, global()),
        ("more instances", &say("230", Ok(blocks(&[230], 90_000))), one(230)),
        ("a new object", &say("230", Ok(blocks(&[230, 500], 1))), one(230)),
        ("an object that stays away", &say("230", Ok(blocks(&[500], 1))), one(230)),
        ("a provider that fails", &say("Global", Err(31)), global()),
        ("its registration changes", &|| still.with(|all| all.registration += 1), global()),
        ("its part fails, too", &say("230 4000", Err(31)), global()),
        ("all answer again", &say("Global", Ok(blocks(&[230, 4000], 1))), global()),
    ];
    run(&mut source, &steps[..5]);
    still.with(|all| all.say("230", Ok(blocks(&[230], 1))));
    still.with(|all| all.say("4000", Err(31)));
    run(&mut source, &steps[5..]);
}

#[test]
fn warm_samples_with_timeouts_allocate_nothing() {
    let still = machine();
    let other = still.clone();
    let make = Box::new(move || -> Box<dyn PerfRegistry> { Box::new(other.clone()) });
    let limit = Duration::from_secs(600);
    let source = RegistrySource::with_timeouts("test:", Timeouts::all(limit), make);
    let mut source = Cached::new(source);
    let steps: [Step<'_>; 2] =
        [("first", &|| {}, one(230)), ("another", &|| {}, ObjectQuery::Global)];
    run(&mut source, &steps);
    // Two value names in turn use one allocation.
    let mut snapshot = Snapshot::new();
    for round in 0..8 {
        for query in [one(230), ObjectQuery::Global] {
            let taken = sample(&mut source, &query, &mut snapshot);
            assert!(taken == 0 || round < 4, "{query:?} in turns: {taken}");
        }
    }
}
