//! A check that a wrapper around a [`Source`] hands every call through, with its ask.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_engine::{
    Ask, Catalogue, Identity, InstanceReader, InstanceWish, ObjectQuery, ProviderStatus, Recording,
    Snapshot, Source, SourceError, Span, TitleDatabase,
};
use perfhive_format::{FileTime, LanguageId, TitleIndex};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A call of a source: the method, and the objects, the deadline and the conditions of its
/// ask.
type Call = (&'static str, ObjectQuery, Option<Instant>, Conditions);

/// The conditions of an ask: its `extra_counters`, `instances` and `enough`.
type Conditions = (Counters, Vec<(TitleIndex, InstanceWish)>, Counters);
type Counters = Vec<(TitleIndex, TitleIndex)>;

/// A recording that notes every call.
struct Noting(Arc<Mutex<Vec<Call>>>);

impl Noting {
    fn note(&self, method: &'static str, ask: &Ask) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let conditions = (ask.extra_counters.clone(), ask.instances.clone(), ask.enough.clone());
        calls.push((method, ask.objects.clone(), ask.until, conditions));
    }
}

impl Source for Noting {
    fn name(&self) -> &str {
        "noting:"
    }
    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.note("collect", ask);
        out.clear();
        Ok(())
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.note("catalogue", ask);
        Ok(Arc::default())
    }
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.note("titles", ask);
        Ok(Arc::new(TitleDatabase::from_lists(language, [], [])))
    }
    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.note("providers", ask);
        Ok(vec![ProviderStatus::new("noting")])
    }
    fn instance_reader(
        &mut self,
        object: TitleIndex,
        _: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        let asked: Vec<_> = std::iter::once(object).chain(counters.iter().copied()).collect();
        self.note("instance_reader", &Ask::objects(&asked));
        None
    }
    fn recording(&mut self) -> Option<&mut dyn Recording> {
        Some(self)
    }
}

impl Recording for Noting {
    fn seek(&mut self, _: Option<FileTime>) -> Result<(), SourceError> {
        self.note("seek", &Ask::nothing());
        Ok(())
    }
    fn span(&mut self) -> Result<Span, SourceError> {
        self.note("span", &Ask::nothing());
        Ok(Span::new(FileTime(1), FileTime(2), 3))
    }
}

/// Makes a wrapper with `wrap`, asks the wrapper for a reader of one instance, and panics if the
/// wrapped source did not get the question. Not every wrapper has to hand this question through.
pub fn instance_reader(wrap: impl FnOnce(Box<dyn Source>) -> Box<dyn Source>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let mut wrapper = wrap(Box::new(Noting(Arc::clone(&calls))));
    let reader = wrapper.instance_reader(TitleIndex(230), &Identity::Single, &[TitleIndex(6)]);
    assert!(reader.is_none());
    let calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = ObjectQuery::Indexes(vec![TitleIndex(230), TitleIndex(6)]);
    assert!(calls.contains(&("instance_reader", asked, None, Conditions::default())), "{calls:?}");
}

/// Makes a wrapper with `wrap`, asks the wrapper for catalogue, sample, titles, providers and
/// recording, and panics if the wrapped source did not get each call with its ask. `collected`
/// turns the objects for which the wrapper is asked to collect into those for which it asks the
/// wrapped source; with most wrappers they are the same.
pub fn source(
    wrap: impl FnOnce(Box<dyn Source>) -> Box<dyn Source>,
    collected: impl Fn(ObjectQuery) -> ObjectQuery,
) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let mut wrapper = wrap(Box::new(Noting(Arc::clone(&calls))));
    let got = |call: Call| {
        let calls = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
        assert!(calls.contains(&call), "{call:?} was not handed through: {calls:?}");
    };
    let until = Some(Instant::now() + Duration::from_secs(3600));
    let objects = ObjectQuery::Indexes(vec![TitleIndex(2), TitleIndex(4)]);
    // The first ask for nothing: a wrapper may know the catalogue after that.
    for query in [
        ObjectQuery::Indexes(Vec::new()),
        objects.clone(),
        ObjectQuery::Costly,
        ObjectQuery::Global,
    ] {
        wrapper.catalogue(&Ask::new(query.clone()).until(until)).expect("a catalogue");
        got(("catalogue", query, until, Conditions::default()));
    }
    let extra = vec![(TitleIndex(4), TitleIndex(24))];
    let wish = InstanceWish::Process(7);
    let mut ask = Ask::new(objects.clone()).until(until).with_instance(TitleIndex(4), wish);
    ask.extra_counters.clone_from(&extra);
    ask.enough.clone_from(&extra);
    let conditions = (extra.clone(), ask.instances.clone(), extra);
    wrapper.collect(&ask, &mut Snapshot::new()).expect("a sample");
    got(("collect", collected(objects), until, conditions));
    let ask = Ask::nothing().until(until);
    wrapper.titles(LanguageId::ENGLISH, &ask).expect("titles");
    got(("titles", ask.objects.clone(), until, Conditions::default()));
    assert_eq!(wrapper.providers(&ask).expect("providers").len(), 1);
    got(("providers", ask.objects, until, Conditions::default()));
    let recording = wrapper.recording().expect("the wrapped source is a recording");
    assert_eq!(recording.span().expect("a span").samples, 3);
    got(("span", ObjectQuery::Indexes(Vec::new()), None, Conditions::default()));
    recording.seek(None).expect("rewound");
    got(("seek", ObjectQuery::Indexes(Vec::new()), None, Conditions::default()));
}
