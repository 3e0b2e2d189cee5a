//! Published names while the first source cannot tell its objects.

use super::*;
use perfhive_format::titles::{Title, TitleList};

/// How the first source reacts to questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// The source answers.
    Well,
    /// The source answers no question in time.
    Late,
    /// The source does not answer for Web Shop in time: that provider hangs.
    HangsForOne,
    /// The source answers for Processor only, as native functions do while the registry hangs,
    /// and has no other names.
    Broken,
    /// The source answers, but its title list is damaged.
    Damaged,
    /// The source answers, but its title list is late.
    HangsForNames,
    /// The source answers with errors.
    Gone,
}

const PROCESSOR: TitleIndex = TitleIndex(238);
const WEB_SHOP: TitleIndex = TitleIndex(4000);

/// A registry with a few objects, which reacts according to its mood and counts the questions for
/// Web Shop.
struct Moody {
    broker: Broker,
    mood: Arc<Mutex<Mood>>,
    asked: Arc<AtomicUsize>,
    known: Mood,
    changes: u64,
}

impl Moody {
    fn mood(&self) -> Mood {
        *self.mood.lock().unwrap()
    }

    fn fails(&self, kind: SourceErrorKind) -> SourceError {
        SourceError::new(kind, "moody:", "out of order")
    }

    fn check(&self) -> Result<(), SourceError> {
        match self.mood() {
            Mood::Late => Err(self.fails(SourceErrorKind::Deadline)),
            Mood::Gone => Err(self.fails(SourceErrorKind::Unavailable)),
            _ => Ok(()),
        }
    }
}

impl Source for Moody {
    fn name(&self) -> &str {
        "moody:"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.check()?;
        self.broker.collect(request, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.changes += u64::from(self.mood() != self.known);
        self.known = self.mood();
        self.check()?;
        let mut catalogue = Catalogue::clone(&*self.broker.catalogue(ask)?);
        catalogue.generation = self.changes;
        let list = match &ask.objects {
            ObjectQuery::Indexes(list) if !list.is_empty() => list,
            _ => return Ok(Arc::new(catalogue)),
        };
        let is_asked = list.contains(&WEB_SHOP);
        self.asked.fetch_add(usize::from(is_asked), Ordering::Relaxed);
        match self.mood() {
            Mood::HangsForOne if is_asked => Err(self.fails(SourceErrorKind::Deadline)),
            Mood::Broken if !list.contains(&PROCESSOR) => {
                Err(self.fails(SourceErrorKind::Deadline))
            }
            Mood::Broken => {
                catalogue.objects.retain(|object| object.name == PROCESSOR);
                Ok(Arc::new(catalogue))
            }
            _ => Ok(Arc::new(catalogue)),
        }
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        self.check()?;
        let titles = self.broker.titles(language, &Ask::nothing())?;
        let kind = match self.mood() {
            Mood::Broken | Mood::HangsForNames => SourceErrorKind::Deadline,
            Mood::Damaged => SourceErrorKind::Malformed,
            _ => return Ok(titles),
        };
        // The name of the object that native functions fill.
        let processor = |(index, _): &(TitleIndex, &str)| *index == PROCESSOR;
        let text = |(index, text): (_, &str)| Title { index, text: text.to_string() };
        let known = titles.all().into_iter().filter(processor).map(text);
        let known = TitleList::from(known.collect::<Vec<_>>());
        let known = TitleDatabase::new(language, &known, &TitleList::default());
        Ok(Arc::new(known.lacking(self.fails(kind))))
    }
}

/// A first source that has the object Web Shop or only the name, and programs that publish under
/// that name, under the name Processor, and under a free name.
struct Parts {
    source: Beside<Moody, Broker>,
    mood: Arc<Mutex<Mood>>,
    asked: Arc<AtomicUsize>,
}

const OWN: u32 = PUBLISHED + 100;

fn parts(has_it: bool, mood: Mood) -> Parts {
    let nobody = Arc::default();
    let registry = match has_it {
        true => provider(WEB_SHOP.0, "Web Shop", 1, &nobody),
        // The title list has the name of a provider without objects.
        false => {
            let names = [(WEB_SHOP.0, "Web Shop"), (WEB_SHOP.0 + 10_000, "Nothing")];
            let mut provider =
                ScriptProvider::new("gone", Numbering::Windows, &names, |_, _| Ok(()));
            provider.description.objects.clear();
            Arc::new(provider)
        }
    };
    let broker = Broker::builder("moody:", "HOST")
        .providers([registry, provider(PROCESSOR.0, "Processor", 5, &nobody)])
        .build();
    let programs = [(PUBLISHED, "Web Shop"), (OWN, "Own Shop"), (PUBLISHED + 200, "Processor")];
    let programs = programs.map(|(index, name)| provider(index, name, 9, &nobody));
    let published =
        Broker::builder("local:", "HOST").roster(PublishedOnce(Some(programs.to_vec()))).build();
    let (mood, asked) = (Arc::new(Mutex::new(mood)), Arc::<AtomicUsize>::default());
    let known = *mood.lock().unwrap();
    let moody =
        Moody { broker, mood: Arc::clone(&mood), asked: Arc::clone(&asked), known, changes: 0 };
    Parts { source: Beside::new(moody, published), mood, asked }
}

impl Parts {
    fn becomes(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// The published objects in a sample of a reader that checks the generation first.
    fn served(&mut self) -> Vec<u32> {
        let _ = self.source.catalogue(&Ask::nothing());
        let list = [PUBLISHED, OWN, PUBLISHED + 200].map(TitleIndex);
        let mut snapshot = Snapshot::new();
        self.source.collect(&Ask::objects(&list), &mut snapshot).unwrap();
        snapshot.objects().map(|object| object.view().name_index().0).collect()
    }

    fn look(&mut self) {
        let _ = self.source.catalogue(&Ask::everything());
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

#[test]
fn a_name_with_a_hanging_provider_is_refused_and_asked_for_by_catalogues_only() {
    let mut parts = parts(false, Mood::HangsForOne);
    // The free name is served, Processor is the first source's.
    assert_eq!(parts.served(), [OWN]);
    let status = parts
        .source
        .providers(&Ask::nothing())
        .unwrap()
        .into_iter()
        .find(|one| one.name == "Web Shop");
    let why = status.unwrap().last_fault.unwrap().to_string();
    assert!(why.contains("does not answer"), "{why}");
    parts.asked();
    for _ in 0..5 {
        assert_eq!(parts.served(), [OWN]);
    }
    assert_eq!(parts.asked(), 0);
    // Each look at the catalogue asks again, until there is an answer.
    parts.look();
    assert_eq!((parts.asked(), parts.served()), (1, vec![OWN]));
    let generation = parts.source.catalogue(&Ask::nothing()).unwrap().generation;
    parts.becomes(Mood::Well);
    parts.source.first.known = Mood::Well;
    parts.look();
    assert_eq!(parts.asked(), 1);
    assert_ne!(parts.source.catalogue(&Ask::nothing()).unwrap().generation, generation);
    assert_eq!(parts.served(), [PUBLISHED, OWN]);
    let mut all = parts.source.providers(&Ask::nothing()).unwrap().into_iter();
    assert!(all.find(|one| one.name == "Web Shop").unwrap().last_fault.is_none());
    parts.look();
    assert_eq!(parts.asked(), 0, "it is known");
}

#[test]
fn no_name_is_served_before_the_first_source_answered() {
    for has_it in [true, false] {
        let mut parts = parts(has_it, Mood::Late);
        assert!(parts.served().is_empty());
        let error = parts.source.catalogue(&Ask::nothing()).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Deadline, "half of it is not an answer");
        assert!(
            parts.source.titles(LanguageId::ENGLISH, &Ask::nothing()).is_err(),
            "nor half of the names"
        );
        parts.becomes(Mood::Well);
        assert_eq!(parts.served(), if has_it { vec![OWN] } else { vec![PUBLISHED, OWN] });
    }
}

#[test]
fn names_are_free_where_the_first_source_is_broken() {
    for mood in [Mood::Broken, Mood::Gone] {
        let mut parts = parts(true, mood);
        let served = parts.served();
        let processor = PUBLISHED + 200;
        match mood {
            // It answers for Processor.
            Mood::Broken => assert_eq!(served, [PUBLISHED, OWN]),
            _ => assert_eq!(served, [PUBLISHED, OWN, processor]),
        }
        parts.becomes(Mood::Well);
        assert_eq!(parts.served(), [OWN], "{mood:?}");
    }
}

#[test]
fn a_verdict_stays_while_the_first_source_cannot_tell() {
    for has_it in [true, false] {
        let mut parts = parts(has_it, Mood::Well);
        let before = if has_it { vec![OWN] } else { vec![PUBLISHED, OWN] };
        assert_eq!(parts.served(), before);
        let all = [Mood::Late, Mood::HangsForOne, Mood::Broken, Mood::Gone];
        let names = [Mood::HangsForNames, Mood::Damaged, Mood::Well];
        for mood in all.into_iter().chain(names) {
            parts.becomes(mood);
            assert_eq!(parts.served(), before, "{mood:?}");
            parts.look();
            assert_eq!(parts.served(), before, "{mood:?}");
        }
    }
}

#[test]
fn a_late_title_list_frees_no_name_and_a_damaged_one_does() {
    for mood in [Mood::HangsForNames, Mood::Damaged] {
        let mut parts = parts(true, mood);
        match mood {
            Mood::HangsForNames => assert!(parts.served().is_empty()),
            // No path finds the registry's object by that name.
            _ => assert_eq!(parts.served(), [PUBLISHED, OWN]),
        }
        parts.becomes(Mood::Well);
        assert_eq!(parts.served(), [OWN], "{mood:?}");
        parts.becomes(mood);
        assert_eq!(parts.served(), [OWN], "{mood:?}");
    }
}
