//! The source over a made-up registry, and over a recorded Windows.

mod allocations;
mod asked;
mod far;
mod hanging;
mod recorded;
mod renamed;
mod silent;

use crate::codes::{MORE_DATA, NOT_FOUND, SUCCESS};
use crate::registry::{LastTitles, PerfRegistry, RegistryKey, RegistryPart, ValueName};
use crate::service::Service;
use crate::source::{RegistrySource, Timeouts};
use perfhive_engine::{Ask, ObjectQuery, ProviderState, Snapshot, Source, SourceErrorKind};
use perfhive_format::{CounterSpec, CounterType, LanguageId, TitleIndex};
use perfhive_testkit::script::block;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

fn names(source: &mut dyn Source) -> Vec<u32> {
    source
        .catalogue(&Ask::everything())
        .unwrap()
        .objects
        .iter()
        .map(|object| object.name.0)
        .collect()
}

/// Waits until a condition becomes true; `false` if it does not within some ten seconds.
fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
    (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        is_so()
    })
}

/// The contents of the made-up registry; a test changes them while the source reads.
#[derive(Default)]
struct World {
    data: HashMap<String, Vec<u8>>,
    /// Titles by place (`text`, `nls`, or a language's key) and value name.
    titles: HashMap<(String, String), Vec<u8>>,
    languages: Vec<String>,
    user: u16,
    last: LastTitles,
    /// The error code with which reading data fails, if it does.
    code: Option<u32>,
    /// How many times `ERROR_BUSY` is returned before an answer.
    busy: u32,
    host: Option<String>,
    /// The value names that were read.
    asked: Vec<String>,
    /// The providers that answer for values that `data` lacks, with their error codes.
    providers: Vec<(Service, u32)>,
    /// For each service, the number that its registration has now.
    changed: HashMap<String, u64>,
    /// The unreadable parts that were not reported yet.
    unreadable: Vec<(RegistryPart, u32)>,
    /// How often the providers were listed.
    listed: u32,
}

impl World {
    /// The answer of the providers to a query, or the code of the first that fails.
    fn compose(&self, query: &str) -> Result<Vec<u8>, u32> {
        let list: Vec<u32> = query.split(' ').filter_map(|index| index.parse().ok()).collect();
        let mut names: Vec<TitleIndex> = Vec::new();
        for (service, code) in &self.providers {
            let is_asked = |name: &&TitleIndex| query == "Global" || list.contains(&name.0);
            let asked: Vec<_> = service.objects.iter().filter(is_asked).collect();
            if !asked.is_empty() && *code != SUCCESS {
                return Err(*code);
            }
            names.extend(asked.into_iter().copied());
        }
        let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let specs: Vec<_> =
            names.iter().map(|name| [CounterSpec::new(TitleIndex(name.0 + 2), kind)]).collect();
        let rows: &[_] = &[("one", None, &[7u64][..])];
        let objects: Vec<_> =
            names.iter().zip(&specs).map(|(name, specs)| (*name, &specs[..], rows)).collect();
        Ok(block("BOX", 1, &objects))
    }
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<World>>, Option<String>, Arc<Gate>);

/// A gate at which calls for these objects wait until it is opened: their providers hang.
#[derive(Default)]
struct Gate(Mutex<Vec<u32>>, Condvar);

impl Gate {
    fn close(&self, objects: &[u32]) {
        *self.0.lock().unwrap() = objects.to_vec();
        self.1.notify_all();
    }

    fn is_closed(&self) -> bool {
        !self.0.lock().unwrap().is_empty()
    }

    fn pass(&self, is_asked: impl Fn(u32) -> bool) {
        let closed = self.0.lock().unwrap();
        drop(self.1.wait_while(closed, |closed| closed.iter().any(|one| is_asked(*one))).unwrap());
    }
}

impl Fake {
    fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn at(&self, host: Option<String>) -> Self {
        Self(Arc::clone(&self.0), host, Arc::clone(&self.2))
    }

    fn source(&self) -> RegistrySource {
        let host = self.with(|world| world.host.clone());
        RegistrySource::over("test:", Box::new(self.at(host)))
    }
}

impl PerfRegistry for Fake {
    fn host(&self) -> Option<&str> {
        self.1.as_deref()
    }

    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        let query = name.text();
        let all = self.with(|world| {
            let objects = world.providers.iter().flat_map(|(service, _)| &service.objects);
            objects.map(|object| object.0).collect::<Vec<u32>>()
        });
        self.2.pass(|object| {
            query == "Global" && all.contains(&object)
                || query.split(' ').any(|index| index == object.to_string())
        });
        self.with(|world| {
            let name = name.text();
            let place = match place {
                RegistryKey::Data => "data",
                RegistryKey::Text => "text",
                RegistryKey::NlsText => "nls",
                RegistryKey::Language(key) => key,
            };
            let titles = world.titles.get(&(place.to_string(), name.clone()));
            let found = match titles {
                Some(titles) => Some(titles.clone()),
                None if place == "data" => {
                    if let Some(code) = world.code {
                        return code;
                    }
                    world.asked.push(name.clone());
                    if world.busy > 0 {
                        world.busy -= 1;
                        return 170;
                    }
                    match world.data.get(&name) {
                        None if !world.providers.is_empty() => match world.compose(&name) {
                            Ok(block) => Some(block),
                            Err(code) => return code,
                        },
                        // An index without an object is not an error.
                        None if name.split(' ').all(|one| one.parse::<u32>().is_ok()) => {
                            Some(block("BOX", 1, &[]))
                        }
                        found => found.cloned(),
                    }
                }
                None => None,
            };
            let Some(found) = found else { return NOT_FOUND };
            if found.len() > reply.capacity() {
                return MORE_DATA;
            }
            reply.clear();
            reply.extend_from_slice(&found);
            SUCCESS
        })
    }

    fn last_titles(&mut self) -> LastTitles {
        self.with(|world| world.last)
    }

    fn language_keys(&mut self) -> Vec<String> {
        self.with(|world| world.languages.clone())
    }

    fn services(&mut self) -> Vec<Service> {
        self.with(|world| {
            world.listed += 1;
            world.providers.iter().map(|(service, _)| service.clone()).collect()
        })
    }

    fn unreadable(&mut self) -> Vec<(RegistryPart, u32)> {
        self.with(|world| std::mem::take(&mut world.unreadable))
    }

    fn user_language(&self) -> u16 {
        self.with(|world| world.user)
    }

    fn registration(&mut self, service: &str) -> Option<u64> {
        self.with(|world| world.changed.get(service).copied())
    }
}

fn multi_sz(pairs: &[(u32, &str)]) -> Vec<u8> {
    let text: String = pairs.iter().map(|(index, text)| format!("{index}\0{text}\0")).collect();
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn object(names: &[u32], seconds: i64) -> Vec<u8> {
    let counters: Vec<_> = names
        .iter()
        .skip(1)
        .map(|name| CounterSpec::new(TitleIndex(*name), CounterType::PERF_COUNTER_LARGE_RAWCOUNT))
        .collect();
    let values: Vec<u64> = (1..).take(counters.len()).collect();
    let rows: &[_] = &[("one", None, &values[..])];
    block("BOX", seconds, &[(TitleIndex(names[0]), &counters, rows)])
}

/// A machine with one object, 230, and titles in English and German.
fn world() -> Fake {
    let fake = Fake::default();
    fake.with(|world| {
        for query in ["Global", "230"] {
            world.data.insert(query.to_string(), object(&[230, 6], 1));
        }
        let english = multi_sz(&[(6, "% Processor Time"), (230, "Process")]);
        let german = multi_sz(&[(6, "Prozessorzeit (%)"), (230, "Prozess")]);
        world.titles.insert(("data".into(), "Counter 009".into()), english);
        world.titles.insert(("data".into(), "Counter 007".into()), german);
        let help = multi_sz(&[(7, "How busy."), (231, "Programs.")]);
        world.titles.insert(("data".into(), "Explain 009".into()), help);
        world.languages = ["009", "007", "CurrentLanguage"].map(str::to_string).to_vec();
        world.user = 0x0407;
        world.last = LastTitles { counter: Some(230), help: Some(231), written: Some(1) };
    });
    fake
}

fn collect(source: &mut dyn Source, query: ObjectQuery) -> Snapshot {
    let mut snapshot = Snapshot::new();
    source.collect(&Ask::new(query), &mut snapshot).unwrap();
    snapshot
}

#[test]
fn the_users_language_comes_first_and_english_is_always_there() {
    let fake = world();
    let mut source = fake.source();
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.languages, [LanguageId::GERMAN, LanguageId::ENGLISH]);
    assert_eq!(catalogue.machine, "BOX");
    let german = source.titles(LanguageId::GERMAN, &Ask::nothing()).unwrap();
    assert_eq!(german.name(TitleIndex(230)), Some("Prozess"));
    let english = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(english.name(TitleIndex(230)), Some("Process"));
    assert_eq!(english.help(TitleIndex(231)), Some("Programs."), "`Explain` stands for `Help`");
    let error = source.titles(LanguageId(0x00c), &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::NotFound, "{error}");
    // A French user of this machine reads English rather than German.
    fake.with(|world| world.user = 0x040c);
    let catalogue = fake.source().catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.languages, [LanguageId::ENGLISH, LanguageId::GERMAN]);
}

#[test]
fn a_library_shows_the_users_language_and_takes_english() {
    let mut query = perfhive_engine::Query::new(world().source()).unwrap();
    for path in [r"\Process(*)\% Processor Time", r"\Prozess(one)\Prozessorzeit (%)"] {
        query.add(path).unwrap();
    }
    query.collect().unwrap();
    let shown: Vec<_> =
        query.readings().iter().map(|reading| query.path_of(reading).to_string()).collect();
    assert_eq!(shown, [r"\Prozess(one)\Prozessorzeit (%)"; 2]);
    // A chosen language is shown.
    let sources = perfhive_engine::SourceSet::new(world().source());
    let mut query = perfhive_engine::Query::over(sources, LanguageId::ENGLISH).unwrap();
    assert_eq!(query.objects(None).unwrap(), ["Process"]);
}

/// Damages the lists of a language: texts that are not pairs.
fn damage(world: &mut World, language: &str) {
    let garbage: Vec<u8> = "no pairs\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for place in ["data", "nls", "text", language] {
        for value in [format!("Counter {language}"), "Counter".to_string()] {
            world.titles.insert((place.to_string(), value), garbage.clone());
        }
    }
}

#[test]
fn a_damaged_language_leaves_the_other_and_unknown_names_say_damaged() {
    for (damaged, sound, lost) in [
        ("007", r"\Process(*)\% Processor Time", r"\Prozess(*)\Prozessorzeit (%)"),
        ("009", r"\Prozess(*)\Prozessorzeit (%)", r"\Process(*)\% Processor Time"),
    ] {
        let fake = world();
        fake.with(|world| damage(world, damaged));
        let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
        query.add(sound).unwrap();
        query.collect().unwrap();
        assert!(query.readings()[0].instance.is_some(), "{:?}", query.readings());
        // The lost name is not reported as missing.
        let error = query.add(lost).unwrap_err().to_string();
        assert!(error.contains("is not known") && error.contains("damaged"), "{error}");
    }
    // A removed language that left a key makes no name unknown.
    let fake = world();
    fake.with(|world| world.languages.push("00C".to_string()));
    let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
    let error = query.add(r"\Proces(*)\% Processor Time").unwrap_err().to_string();
    assert_eq!(error, "no object \"Proces\"");
    // A list that is damaged below its key only.
    let fake = world();
    fake.with(|world| {
        world.languages.push("00C".to_string());
        damage(world, "00C");
        world.titles.remove(&("data".to_string(), "Counter 00C".to_string()));
    });
    let error = fake.source().titles(LanguageId(0x00c), &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}");
    let fake = world();
    fake.with(|world| ["007", "009"].into_iter().for_each(|language| damage(world, language)));
    let error = perfhive_engine::Query::new(fake.source()).err().unwrap().to_string();
    assert!(error.contains("damaged"), "{error}");
}

/// The lists of a language may take hundreds of MiB.
#[test]
fn of_700_languages_64_are_listed() {
    let fake = world();
    fake.with(|world| world.languages.extend((0x100..0x400).map(|id| format!("{id:03x}"))));
    let catalogue = fake.source().catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.languages[..2], [LanguageId::GERMAN, LanguageId::ENGLISH]);
    assert_eq!(catalogue.languages.len(), 64);
}

/// On another machine, a missing list of the user's language is not damage.
#[test]
fn a_missing_list_of_the_users_language_is_damaged() {
    let fake = world();
    fake.with(|world| drop(world.titles.remove(&("data".to_string(), "Counter 007".to_string()))));
    let error = fake.source().titles(LanguageId::GERMAN, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}");
    fake.with(|world| world.host = Some("BOX".to_string()));
    let error = fake.source().titles(LanguageId::GERMAN, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::NotFound, "{error}");
}

#[test]
fn a_path_in_a_language_that_is_damaged_later_keeps_its_object() {
    let fake = world();
    let sources = perfhive_engine::SourceSet::new(fake.source());
    let mut query = perfhive_engine::Query::over(sources, LanguageId::ENGLISH).unwrap();
    query.add(r"\Prozess(one)\Prozessorzeit (%)").unwrap();
    for round in 0..3 {
        query.collect().unwrap();
        assert!(query.readings()[0].value.is_ok(), "{round}: {:?}", query.readings());
        fake.with(|world| {
            damage(world, "007");
            world.last.counter = world.last.counter.map(|last| last + 2);
        });
    }
}

#[test]
fn titles_missing_in_the_data_key_come_from_the_other_keys() {
    let fake = world();
    fake.with(|world| {
        world.titles.clear();
        // As under Wine: a list with its end marker only.
        let end = multi_sz(&[(1, "1847"), (1846, "End Marker")]);
        world.titles.insert(("data".into(), "Counter 009".into()), end);
        let written = multi_sz(&[(5000, "Beekeeping"), (5002, "Bees")]);
        world.titles.insert(("009".into(), "Counter".into()), written);
        world.last.counter = Some(5002);
        // The user's language has no key below Perflib.
        world.languages = vec!["009".to_string()];
        world.titles.insert(("nls".into(), "Counter".into()), multi_sz(&[(230, "Prozess")]));
    });
    let mut source = fake.source();
    assert_eq!(
        source.catalogue(&Ask::everything()).unwrap().languages,
        [LanguageId::GERMAN, LanguageId::ENGLISH]
    );
    let english = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(english.name(TitleIndex(5002)), Some("Bees"));
    assert_eq!(english.name(TitleIndex(1846)), Some("End Marker"));
    let german = source.titles(LanguageId::GERMAN, &Ask::nothing()).unwrap();
    assert_eq!(german.name(TitleIndex(230)), Some("Prozess"));
}

#[test]
fn a_registration_is_noticed_by_last_counter() {
    let fake = world();
    let mut source = fake.source();
    let first = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(first.generation, source.catalogue(&Ask::nothing()).unwrap().generation);
    assert!(
        source
            .titles(LanguageId::ENGLISH, &Ask::nothing())
            .unwrap()
            .name(TitleIndex(5000))
            .is_none()
    );
    fake.with(|world| {
        let more = multi_sz(&[(230, "Process"), (5000, "Beekeeping")]);
        world.titles.insert(("data".into(), "Counter 009".into()), more);
        world.last.counter = Some(5000);
    });
    assert_ne!(first.generation, source.catalogue(&Ask::nothing()).unwrap().generation);
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(TitleIndex(5000)), Some("Beekeeping"));
}

#[test]
fn a_new_counter_in_a_reply_outdates_the_catalogue_once() {
    let fake = world();
    let mut source = fake.source();
    let generation = source.catalogue(&Ask::everything()).unwrap().generation;
    collect(&mut source, ObjectQuery::Global);
    assert_eq!(source.catalogue(&Ask::nothing()).unwrap().generation, generation, "nothing is new");
    // One more counter, and Last Counter as before.
    fake.with(|world| world.data.insert("Global".into(), object(&[230, 6, 142], 2)));
    collect(&mut source, ObjectQuery::Global);
    assert_ne!(source.catalogue(&Ask::nothing()).unwrap().generation, generation);
    let all = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(all.objects[0].counters.len(), 2);
    let second = all.generation;
    // Known definitions in turn are not news.
    for names in [&[230, 6][..], &[230, 6, 142]] {
        fake.with(|world| world.data.insert("Global".into(), object(names, 3)));
        collect(&mut source, ObjectQuery::Global);
    }
    assert_eq!(source.catalogue(&Ask::nothing()).unwrap().generation, second);
}

#[test]
fn error_codes_and_garbage_give_their_error_kinds() {
    let fake = world();
    let mut source = fake.source();
    let mut snapshot = Snapshot::new();
    let request = Ask::new(ObjectQuery::Global);
    for (code, kind) in [
        (5, SourceErrorKind::Denied),
        (170, SourceErrorKind::Busy),
        (MORE_DATA, SourceErrorKind::Malformed),
        (1005, SourceErrorKind::Unavailable),
    ] {
        fake.with(|world| world.code = Some(code));
        let error = source.collect(&request, &mut snapshot).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(snapshot.objects().count(), 0, "no object of before");
    }
    fake.with(|world| world.code = None);
    assert!(source.collect(&request, &mut snapshot).is_ok(), "an answer after errors");
    for garbage in [Vec::new(), vec![0; 20], vec![0xff; 200]] {
        fake.with(|world| world.data.insert("Global".into(), garbage));
        let error = source.collect(&request, &mut snapshot).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}");
    }
    // The errors of another machine name it.
    fake.with(|world| (world.host, world.code) = (Some("BOX".into()), Some(53)));
    let error = fake.source().collect(&request, &mut snapshot).unwrap_err();
    assert!(error.to_string().contains("BOX cannot be reached"), "{error}");
}

/// A service with an `Object List`, which fails with a code.
fn service(name: &str, objects: &[u32], code: u32) -> (Service, u32) {
    let service = Service {
        name: name.to_string(),
        library: format!(r"C:\{name}.dll"),
        objects: objects.iter().copied().map(TitleIndex).collect(),
        ..Service::default()
    };
    (service, code)
}

#[test]
fn a_failing_provider_is_left_out_until_a_registration() {
    for code in [MORE_DATA, 31, 1005] {
        let fake = Fake::default();
        fake.with(|world| {
            world.providers = vec![
                service("PerfProc", &[230, 232], SUCCESS),
                service("Broken", &[4000, 4010], code),
                service("Shop", &[5000], SUCCESS),
            ];
            world.last.counter = Some(5000);
        });
        let mut source = fake.source();
        let names: Vec<_> = source
            .catalogue(&Ask::everything())
            .unwrap()
            .objects
            .iter()
            .map(|o| o.name.0)
            .collect();
        assert_eq!(names, [230, 232, 5000], "{code}");
        let answer = collect(&mut source, ObjectQuery::Global);
        let [fault] = answer.faults() else { panic!("{:?}", answer.faults()) };
        assert_eq!((&*fault.provider, fault.object), ("Broken", Some(TitleIndex(4000))));
        assert!(fault.message.contains(r"C:\Broken.dll"), "{fault}");
        assert!(fault.message.contains("perfhive check Broken"), "{fault}");
        // One query a sample, for the other providers.
        fake.with(|world| world.asked.clear());
        for _ in 0..3 {
            assert_eq!(collect(&mut source, ObjectQuery::Global).objects().count(), 3);
        }
        assert_eq!(fake.with(|world| world.asked.clone()), ["230 232 5000"; 3]);
        // In a list it is a fault, alone an error that names it.
        let both = ObjectQuery::Indexes(vec![TitleIndex(4010), TitleIndex(5000)]);
        let answer = collect(&mut source, both);
        assert_eq!(answer.objects().count(), 1);
        assert_eq!(answer.faults()[0].object, Some(TitleIndex(4010)));
        let alone = Ask::new(ObjectQuery::one(TitleIndex(4000)));
        let error = source.collect(&alone, &mut Snapshot::new()).unwrap_err();
        assert!(error.message().contains(r"Broken: C:\Broken.dll fails"), "{error}");
        // After a registration the whole is tried again.
        fake.with(|world| {
            world.providers[1].1 = SUCCESS;
            world.last.counter = Some(5002);
        });
        assert_eq!(source.catalogue(&Ask::everything()).unwrap().objects.len(), 5);
        assert!(collect(&mut source, ObjectQuery::Global).faults().is_empty());
    }
}

#[test]
fn if_every_query_fails_the_error_names_the_suspects() {
    let fake = Fake::default();
    fake.with(|world| {
        world.code = Some(1005);
        world.providers = vec![service("Broken", &[], 1005)];
    });
    let error = fake.source().catalogue(&Ask::everything()).unwrap_err();
    let message = error.message();
    assert!(message.contains(r"Broken (C:\Broken.dll)"), "{message}");
}

#[test]
fn objects_behind_a_damaged_one_are_found() {
    let fake = Fake::default();
    let whole = |bad: usize| {
        let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let specs = [CounterSpec::new(TitleIndex(4), kind)];
        let rows: &[_] = &[("one", None, &[7u64][..])];
        let objects = [2, 230, 5000].map(|name| (TitleIndex(name), &specs[..], rows));
        let mut bytes = block("BOX", 1, &objects);
        // The length of the object at this place.
        let mut at = 0x60.min(bytes.len());
        let field =
            |bytes: &[u8], at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        at = at.max(field(&bytes, 24) as usize);
        for _ in 0..bad {
            at += field(&bytes, at) as usize;
        }
        bytes[at..at + 4].fill(0xff);
        bytes
    };
    fake.with(|world| {
        world.data.insert("Global".into(), whole(1));
        world.providers = vec![
            service("PerfOS", &[2], SUCCESS),
            service("PerfProc", &[230], MORE_DATA),
            service("Shop", &[5000], SUCCESS),
        ];
    });
    let mut source = fake.source();
    let names: Vec<_> =
        source.catalogue(&Ask::everything()).unwrap().objects.iter().map(|o| o.name.0).collect();
    assert_eq!(names, [2, 5000]);
    let answer = collect(&mut source, ObjectQuery::Global);
    assert_eq!(&*answer.faults()[0].provider, "PerfProc");
    // If the parts have no more than the damaged whole, the whole is read.
    fake.with(|world| world.data.insert("Global".into(), whole(2)));
    let mut source = fake.source();
    fake.with(|world| world.providers.truncate(1));
    for _ in 0..3 {
        fake.with(|world| world.asked.clear());
        let answer = collect(&mut source, ObjectQuery::Global);
        assert_eq!((answer.objects().count(), answer.faults().len()), (2, 1));
    }
    assert_eq!(fake.with(|world| world.asked.clone()), ["Global"]);
}

#[test]
fn the_rules_of_a_source_are_kept() {
    let fake = world();
    fake.with(|world| {
        let german = multi_sz(&[(6, "Prozessorzeit (%)"), (230, "Prozess")]);
        world.titles.insert(("data".into(), "Counter 007".into()), german);
        world.data.insert("2147483632".into(), object(&[240, 6], 1));
    });
    perfhive_testkit::conformance::source(|| Box::new(fake.source()));
    perfhive_testkit::conformance::source(|| Box::new(perfhive_engine::Cached::new(fake.source())));
}
