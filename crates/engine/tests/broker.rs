//! The embedded performance library: selection, indexes, tests, quarantine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::*;
use perfhive_format::{
    CounterSpec, CounterType, InstanceHead, LanguageId, ObjectSpec, ObjectTemplate, TitleIndex,
};
use perfhive_testkit::conformance;
use perfhive_testkit::script::{ScriptProvider, titles};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn template(object: u32, counter: u32) -> ObjectTemplate {
    ObjectTemplate::new(
        &ObjectSpec::new(TitleIndex(object)),
        &[CounterSpec::new(TitleIndex(counter), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)],
    )
    .unwrap()
}

/// A provider of one object with one counter, whose value is 7.
fn sound(name: &str, object: u32) -> ScriptProvider {
    let names = [(object, name), (object + 2, "Value")];
    let template = template(object, object + 2);
    ScriptProvider::new(name, Numbering::Windows, &names, move |collection, out| {
        assert!(collection.wants(TitleIndex(object)), "asked for what it has not got");
        out.object(&template)?.values(&[7])?.finish()?;
        Ok(())
    })
}

fn failing(
    name: &str,
    object: u32,
    script: impl Fn(&Collection<'_>, &mut ObjectWriter<'_>) -> Result<(), ProviderError>
    + Send
    + Sync
    + 'static,
) -> ScriptProvider {
    ScriptProvider::new(name, Numbering::Windows, &[(object, name), (object + 2, "V")], script)
}

fn broker(providers: Vec<ScriptProvider>) -> Broker {
    let providers = providers.into_iter().map(|p| Arc::new(p) as Arc<dyn Provider>);
    Broker::builder("test:", "HOST").providers(providers).build()
}

fn collect(broker: &mut Broker, query: &str) -> Snapshot {
    let mut snapshot = Snapshot::new();
    broker.collect(&Ask::new(query.parse().unwrap()), &mut snapshot).unwrap();
    snapshot
}

fn names(snapshot: &Snapshot) -> Vec<u32> {
    snapshot.objects().map(|object| object.view().name_index().0).collect()
}

#[test]
fn a_broker_passes_the_conformance_suite_of_sources() {
    conformance::source(|| Box::new(broker(vec![sound("A", 100), sound("B", 200)])));
}

#[test]
fn global_costly_and_indexes_select_their_objects() {
    let mut costly = sound("Costly thing", 300);
    costly.description.objects[0].cost = Cost::Costly;
    let mut foreign = sound("Far away", 400);
    foreign.description.objects[0].cost = Cost::Foreign;
    let mut broker = broker(vec![sound("A", 100), sound("B", 200), costly, foreign]);
    assert_eq!(names(&collect(&mut broker, "Global")), [100, 200]);
    assert_eq!(names(&collect(&mut broker, "Costly")), [300]);
    assert_eq!(names(&collect(&mut broker, "Foreign HOST")), [400]);
    assert_eq!(names(&collect(&mut broker, "200")), [200]);
    assert_eq!(names(&collect(&mut broker, "300 100")), [100, 300]);
    assert_eq!(names(&collect(&mut broker, "999")), [] as [u32; 0]);
}

#[test]
fn edge_case_19_an_ask_for_process_brings_thread_along() {
    let counter = CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
    let object = |name, brings: Vec<TitleIndex>| {
        ObjectDescription::new(ObjectSpec::new(TitleIndex(name)), vec![counter]).with_brings(brings)
    };
    let mut provider = failing("Processes", 230, |collection, out| {
        for name in [230, 232] {
            if collection.wants(TitleIndex(name)) {
                out.object(&template(name, 6))?.values(&[1])?.finish()?;
            }
        }
        Ok(())
    });
    provider.description.objects = vec![object(230, vec![]), object(232, vec![TitleIndex(230)])];
    let mut broker = broker(vec![provider]);
    assert_eq!(names(&collect(&mut broker, "232")), [230, 232]);
    assert_eq!(names(&collect(&mut broker, "230")), [230]);
}

#[test]
fn indexes_are_allotted_behind_last_counter() {
    let own = |name: &str| {
        let counter = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let mut provider =
            ScriptProvider::new(name, Numbering::Allotted, &[(0, name), (2, "Value")], |_, _| {
                Ok(())
            });
        provider.titles[0].help = titles(&[(0, "What it is."), (2, "What it says.")]);
        // Offsets of help texts count from First Help.
        provider.description.objects[0].spec.help = TitleIndex(0);
        provider.description.objects[0].counters =
            vec![CounterSpec::new(TitleIndex(2), counter).help(TitleIndex(2))];
        provider
    };
    let mut broker = broker(vec![own("One"), sound("Windows", 2000), own("Two")]);
    let catalogue = broker.catalogue(&Ask::everything()).unwrap();
    let titles = broker.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    let find = |name: &str| titles.indexes(name)[0];
    // 2003 is the highest index of the fixed provider (the help of 2002).
    assert_eq!(find("One"), TitleIndex(2004));
    assert_eq!(find("Two"), TitleIndex(2008));
    let two = catalogue.object(find("Two")).unwrap();
    assert_eq!((two.help, two.counters[0].name), (TitleIndex(2009), TitleIndex(2010)));
    assert_eq!(titles.help(two.help), Some("What it is."));
    assert_eq!(titles.help(two.counters[0].help), Some("What it says."));
    assert_eq!(titles.indexes("value").len(), 3, "one name, three indexes");
}

#[test]
fn edge_case_25_one_bad_provider_never_fails_the_rest() {
    let mut refuses = sound("Refuses", 500);
    refuses.refuse = Some("no such device".to_string());
    let mut broker = broker(vec![
        failing("Fails", 100, |_, _| Err(ProviderError::Failed("out of order".into()))),
        failing("Panics", 200, |_, _| panic!("at the disco")),
        failing("Half", 300, |_, out| {
            out.object(&template(300, 302))?.values(&[1])?.finish()?;
            Err(ProviderError::Failed("then fell over".into()))
        }),
        sound("Sound", 400),
        refuses,
    ]);
    let snapshot = collect(&mut broker, "Global");
    assert_eq!(names(&snapshot), [400], "what a failing provider wrote is taken back");
    let states: Vec<_> = broker.providers().map(|one| (one.state, one.bytes > 0)).collect();
    use ProviderState::{Failed, Open};
    // A session is closed behind a panic.
    assert_eq!(
        states,
        [(Open, false), (Failed, false), (Open, false), (Open, true), (Failed, false)]
    );
    let kind = |object| {
        let fault = snapshot.faults().iter().find(|f| f.object == Some(TitleIndex(object)));
        let fault = fault.unwrap();
        (fault.kind, fault.message.to_string())
    };
    assert_eq!(kind(100), (FaultKind::CollectFailed, "out of order".into()));
    let (panicked, message) = kind(200);
    assert_eq!(panicked, FaultKind::Panicked);
    assert!(message.contains("at the disco"));
    assert_eq!(kind(300).0, FaultKind::CollectFailed);
    assert_eq!(kind(500), (FaultKind::OpenFailed, "no such device".into()));
}

#[test]
fn objects_of_foreign_code_are_tested_at_the_broker_s_level() {
    let bytes = |object| {
        let mut block = perfhive_format::BlockWriter::new();
        block.start(&perfhive_format::BlockHead::default());
        let mark = block.mark();
        block.object(&template(object, 302)).unwrap().values(&[9]).unwrap().finish().unwrap();
        block.since(mark).to_vec()
    };
    let lies = |name: &str, object: u32, claim: fn(usize) -> RawClaim, at: usize| {
        let data = bytes(object);
        failing(name, object, move |_, out| {
            out.guarded(4096, |buffer| {
                let whole = buffer.whole_mut();
                whole[at..at + data.len()].copy_from_slice(&data);
                claim(data.len())
            })
        })
    };
    const BODY: usize = GuardedBuffer::GUARD;
    let honest = |n: usize| RawClaim { moved: n as isize, bytes: n as u32, objects: 1 };
    let providers = || {
        vec![
            lies("Honest", 100, honest, BODY),
            lies("Miscounts", 200, |n| RawClaim { bytes: 4, ..honest_claim(n) }, BODY),
            lies("Underruns", 300, honest, BODY - 8),
            lies("Overruns", 400, |n| RawClaim { moved: 4100, ..honest_claim(n) }, BODY),
            lies("Flies", 500, |n| RawClaim { moved: 40_960, ..honest_claim(n) }, BODY),
            lies("Cuts", 600, |n| RawClaim { moved: n as isize - 8, ..honest_claim(n) }, BODY),
        ]
    };
    let at_level = |level| {
        let providers = providers().into_iter().map(|p| Arc::new(p) as Arc<dyn Provider>);
        let mut broker =
            Broker::builder("test:", "HOST").providers(providers).test_level(level).build();
        let snapshot = collect(&mut broker, "Global");
        let faults: Vec<_> =
            snapshot.faults().iter().map(|f| (f.provider.to_string(), f.kind)).collect();
        (names(&snapshot), faults)
    };
    let failed = |name: &str| (name.to_string(), FaultKind::TestFailed);
    let warned = |name: &str| (name.to_string(), FaultKind::Warning);
    let (objects, faults) = at_level(TestLevel::All);
    assert_eq!(objects, [100, 200]);
    assert_eq!(faults.len(), 5, "{faults:?}");
    assert!(faults.contains(&warned("Miscounts")));
    for name in ["Underruns", "Overruns", "Flies", "Cuts"] {
        assert!(faults.contains(&failed(name)), "{name}: {faults:?}");
    }
    // Level 2 tests no lengths, level 3 no guards; bytes that cannot be decoded are refused at any level.
    for level in [TestLevel::Basic, TestLevel::None] {
        let (objects, _) = at_level(level);
        assert_eq!(objects, [100, 200], "{level:?}");
    }
}

fn honest_claim(n: usize) -> RawClaim {
    RawClaim { moved: n as isize, bytes: n as u32, objects: 1 }
}

#[test]
fn a_provider_with_repeated_faults_is_quarantined_and_tried_again() {
    let broken = Arc::new(AtomicBool::new(true));
    let asked = Arc::new(AtomicU64::new(0));
    let (state, count) = (Arc::clone(&broken), Arc::clone(&asked));
    let provider = failing("Shaky", 100, move |_, out| {
        count.fetch_add(1, Ordering::Relaxed);
        if state.load(Ordering::Relaxed) {
            return Err(ProviderError::Failed("not today".into()));
        }
        out.object(&template(100, 102))?.values(&[1])?.finish()?;
        Ok(())
    });
    let provider: Arc<dyn Provider> = Arc::new(provider);
    let mut broker =
        Broker::builder("test:", "HOST").provider(provider).quarantine_after(3).build();
    for _ in 0..3 {
        let snapshot = collect(&mut broker, "Global");
        assert_eq!(snapshot.faults()[0].kind, FaultKind::CollectFailed);
    }
    let status = broker.providers().next().unwrap();
    assert_eq!((status.state, status.faults), (ProviderState::Quarantined, 3));
    let snapshot = collect(&mut broker, "Global");
    assert_eq!(snapshot.faults()[0].kind, FaultKind::Quarantined);
    assert_eq!(asked.load(Ordering::Relaxed), 3, "a quarantined provider is not asked");

    broken.store(false, Ordering::Relaxed);
    assert!(broker.release("Shaky"));
    assert!(!broker.release("Shaky"), "it is out already");
    assert_eq!(names(&collect(&mut broker, "Global")), [100]);
    let status = broker.providers().next().unwrap();
    assert_eq!((status.state, status.collections), (ProviderState::Open, 4));
}

#[test]
fn an_object_beyond_the_block_s_limit_becomes_a_fault() {
    let provider = failing("Large", 100, |_, out| {
        let spec = ObjectSpec::new(TitleIndex(100)).with_instances();
        let counter = CounterSpec::new(TitleIndex(102), CounterType::PERF_COUNTER_RAWCOUNT);
        let template = ObjectTemplate::new(&spec, &[counter])?;
        let mut object = out.object(&template)?;
        loop {
            object.instance(&InstanceHead::named("again"), &[1])?;
        }
    });
    let sound: Arc<dyn Provider> = Arc::new(sound("Small", 200));
    let mut broker = Broker::builder("test:", "HOST")
        .provider(Arc::new(provider))
        .provider(sound)
        .limit(64 << 10)
        .build();
    let snapshot = collect(&mut broker, "Global");
    assert_eq!(names(&snapshot), [200]);
    assert!(snapshot.faults()[0].message.contains("size limit"), "{}", snapshot.faults()[0]);
}

#[test]
fn a_foreign_machine_s_block_is_a_frame_of_its_own() {
    let far = perfhive_testkit::script::block("FAR", 1, &[]);
    let mut provider = failing("Gateway", 100, move |_, out| {
        out.foreign_block(far.clone());
        out.foreign_block(vec![0; 8]);
        Ok(())
    });
    provider.description.objects[0].cost = Cost::Foreign;
    let mut broker = broker(vec![provider]);
    let snapshot = collect(&mut broker, "Foreign FAR");
    let machines: Vec<_> = snapshot.frames().iter().map(|f| f.machine().to_string()).collect();
    assert_eq!(machines, ["HOST", "FAR"]);
    assert_eq!(snapshot.faults().len(), 1, "the malformed one is a fault");
}

/// A provider that answers for other machines and describes no object of them.
struct Gateway(ScriptProvider);

impl Provider for Gateway {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn describe(&self) -> ProviderDescription {
        self.0.describe()
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        self.0.titles()
    }
    fn answers_foreign(&self) -> bool {
        true
    }
    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        self.0.open(context)
    }
}

#[test]
fn a_foreign_ask_tells_of_a_provider_that_describes_no_foreign_object() {
    let gateway = failing("Gateway", 100, |_, _| Err(ProviderError::Failed("no route".into())));
    let broker =
        Broker::builder("test:", "HOST").provider(Arc::new(Gateway(gateway))).quarantine_after(1);
    let mut broker = broker.build();
    let foreign = Ask::new(ObjectQuery::Foreign("FAR".to_string()));
    let over = foreign.clone().until(Instant::now());
    for (ask, kind, words) in [
        (&over, FaultKind::NotYet, "deadline"),
        (&foreign, FaultKind::CollectFailed, "no route"),
        (&foreign, FaultKind::Quarantined, "no route"),
    ] {
        let mut snapshot = Snapshot::new();
        broker.collect(ask, &mut snapshot).unwrap();
        let [fault] = snapshot.faults() else { panic!("{words}: {:?}", snapshot.faults()) };
        assert_eq!((fault.kind, fault.object), (kind, None), "{fault}");
        assert_eq!(&*fault.provider, "Gateway");
        assert!(fault.message.contains(words), "{fault}");
    }
}

#[test]
fn after_its_deadline_an_ask_reaches_no_provider() {
    let mut broker = broker(vec![sound("A", 100)]);
    let request = Ask::new(ObjectQuery::Global).until(Instant::now());
    let mut snapshot = Snapshot::new();
    broker.collect(&request, &mut snapshot).unwrap();
    assert!(names(&snapshot).is_empty());
    assert!(snapshot.faults()[0].message.contains("deadline"));
    // It does not count as a fault of the provider.
    assert_eq!(snapshot.faults()[0].kind, FaultKind::NotYet);
}

/// A provider that hangs until the deadline does not delay the providers behind it, in the first answer
/// either.
#[test]
fn a_provider_that_hangs_leaves_time_for_the_others() {
    let hangs = |name: &str, object| {
        failing(name, object, |collection, _| {
            let left = collection.deadline().unwrap().saturating_duration_since(Instant::now());
            std::thread::sleep(left);
            Err(ProviderError::NotYet("is still at work".into()))
        })
    };
    let mut broker = broker(vec![hangs("Late", 100), hangs("Later", 300), sound("Good", 200)]);
    let mut snapshot = Snapshot::new();
    for round in 0..3 {
        // Long enough for the good provider on any machine.
        let end = Instant::now() + Duration::from_secs(2);
        broker.collect(&Ask::new(ObjectQuery::Global).until(end), &mut snapshot).unwrap();
        assert_eq!(names(&snapshot), [200], "{round}");
        let faults = snapshot.faults().iter().map(|fault| (&*fault.provider, fault.kind));
        let late = [("Late", FaultKind::NotYet), ("Later", FaultKind::NotYet)];
        assert_eq!(faults.collect::<Vec<_>>(), late);
    }
}

/// A provider that can be opened only from the third time on.
struct OpensLate(ScriptProvider, AtomicU64);

impl Provider for OpensLate {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn describe(&self) -> ProviderDescription {
        self.0.describe()
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        self.0.titles()
    }
    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        match self.1.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Err(ProviderError::NotYet("is being started".into())),
            _ => self.0.open(context),
        }
    }
}

#[test]
fn a_provider_that_cannot_be_opened_yet_has_not_failed() {
    let late = OpensLate(sound("Late", 100), AtomicU64::new(0));
    let mut broker =
        Broker::builder("test:", "HOST").provider(Arc::new(late)).quarantine_after(1).build();
    for _ in 0..2 {
        let snapshot = collect(&mut broker, "100");
        let fault = &snapshot.faults()[0];
        assert_eq!((fault.kind, &*fault.message), (FaultKind::NotYet, "is being started"));
        let status = broker.providers().next().unwrap();
        assert_eq!((status.collections, status.faults, status.in_a_row), (0, 0, 0));
        assert_ne!(status.state, ProviderState::Quarantined);
    }
    let snapshot = collect(&mut broker, "100");
    assert_eq!((names(&snapshot), snapshot.faults().len()), (vec![100], 0));
    let status = broker.providers().next().unwrap();
    assert_eq!((status.state, status.collections), (ProviderState::Open, 1));
}

/// A provider whose account outlives its broker.
struct Accounted {
    inner: ScriptProvider,
    account: std::sync::Mutex<ProviderStatus>,
    released: AtomicBool,
}

impl Provider for Accounted {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn describe(&self) -> ProviderDescription {
        self.inner.describe()
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        self.inner.titles()
    }
    fn account(&self) -> Option<ProviderStatus> {
        Some(self.account.lock().unwrap().clone())
    }
    fn collected(&self, status: &ProviderStatus, fault: Option<&Fault>) {
        let same = status.last_fault.as_ref().map(|one| &one.message);
        assert!(fault.is_none_or(|fault| same == Some(&fault.message)));
        *self.account.lock().unwrap() = status.clone();
    }
    fn released(&self) {
        self.released.store(true, Ordering::Relaxed);
    }
    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        self.inner.open(context)
    }
}

#[test]
fn the_next_broker_takes_over_a_provider_s_account() {
    let shaky = failing("Shaky", 100, |_, _| Err(ProviderError::Failed("not today".into())));
    let mut account = ProviderStatus::new("Shaky");
    (account.collections, account.faults, account.in_a_row) = (10, 4, 4);
    account.worst = Duration::from_secs(3600);
    let provider = Arc::new(Accounted {
        inner: shaky,
        account: account.into(),
        released: AtomicBool::new(false),
    });
    let one = || Broker::builder("test:", "HOST").provider(provider.clone()).build();
    let mut first = one();
    let snapshot = collect(&mut first, "Global");
    assert_eq!(snapshot.faults()[0].kind, FaultKind::CollectFailed);
    // The fifth fault in a row, four of which happened in another broker.
    let mut second = one();
    let status = second.providers().next().unwrap().clone();
    assert_eq!((status.collections, status.faults, status.in_a_row), (11, 5, 5));
    assert_eq!(status.worst, Duration::from_secs(3600));
    assert_eq!(status.names, Some(100..=102));
    let fault = collect(&mut second, "100").faults()[0].clone();
    assert_eq!(fault.kind, FaultKind::Quarantined);
    assert!(fault.message.ends_with("not today"), "{fault}");
    assert_eq!(second.providers().next().unwrap().collections, 11);
    assert!(second.release("Shaky"));
    assert!(provider.released.load(Ordering::Relaxed));
}

#[test]
fn a_worker_over_a_slow_source_answers_by_the_deadline() {
    let release = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&release);
    let provider = failing("Slow", 100, move |_, out| {
        while !gate.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        out.object(&template(100, 102))?.values(&[1])?.finish()?;
        Ok(())
    });
    let mut worker = Worker::new(broker(vec![provider]), None).unwrap();
    let mut snapshot = Snapshot::new();
    let soon = Ask::new(ObjectQuery::Global).until(Instant::now() + Duration::from_millis(20));
    let error = worker.collect(&soon, &mut snapshot).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Deadline);
    assert!(error.is_transient());
    let error = worker.collect(&soon, &mut snapshot).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Busy);

    release.store(true, Ordering::Release);
    // The late answer is dropped; then the worker answers again.
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match worker.collect(&Ask::new(ObjectQuery::Global), &mut snapshot) {
            Ok(()) => break,
            Err(error) => assert!(error.is_transient() && Instant::now() < end, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(names(&snapshot), [100]);
}

#[test]
fn a_worker_passes_the_conformance_suite_of_sources() {
    conformance::source(|| Box::new(Worker::new(broker(vec![sound("A", 100)]), None).unwrap()));
}

#[test]
fn the_error_for_a_missing_language_lists_the_available_ones() {
    let mut broker = broker(vec![sound("A", 100)]);
    let error = broker.titles(LanguageId::GERMAN, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::NotFound);
    assert!(error.to_string().contains("English"), "{error}");
}

/// A session that panics when it collects, and again when it is closed.
struct Stubborn;

impl Drop for Stubborn {
    fn drop(&mut self) {
        panic!("closing");
    }
}

impl Session for Stubborn {
    fn collect(
        &mut self,
        _: &Collection<'_>,
        _: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        panic!("collecting");
    }
}

impl Provider for Stubborn {
    fn name(&self) -> &str {
        "stubborn"
    }
    fn describe(&self) -> ProviderDescription {
        sound("stubborn", 100).describe()
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        Vec::new()
    }
    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        Ok(Box::new(Stubborn))
    }
}

#[test]
fn a_panic_in_a_session_s_drop_does_not_affect_other_providers() {
    // The provider itself is never dropped: its panic would end the test.
    let stubborn: Arc<dyn Provider> = Arc::new(Stubborn);
    std::mem::forget(Arc::clone(&stubborn));
    let mut broker = Broker::builder("test:", "HOST")
        .provider(stubborn)
        .provider(Arc::new(sound("B", 200)))
        .quarantine_after(2)
        .build();
    for _ in 0..3 {
        assert_eq!(names(&collect(&mut broker, "Global")), [200]);
    }
    assert_eq!(broker.providers().next().unwrap().state, ProviderState::Quarantined);
}

#[test]
fn a_provider_cannot_write_an_object_registered_by_another() {
    let thief = failing("Thief", 400, |_, out| {
        out.object(&template(500, 502))?.values(&[999])?.finish()?;
        Ok(())
    });
    // An object that no provider registered may be written.
    let late = failing("Late", 600, |_, out| {
        out.object(&template(700, 702))?.values(&[1])?.finish()?;
        Ok(())
    });
    let mut broker = broker(vec![thief, sound("Owner", 500), late]);
    let snapshot = collect(&mut broker, "Global");
    assert_eq!(names(&snapshot), [500, 700]);
    let fault = &snapshot.faults()[0];
    assert_eq!(fault.kind, FaultKind::TestFailed);
    assert!(fault.message.contains("500") && fault.message.contains("Owner"), "{fault}");
}

#[test]
fn an_object_registered_twice_belongs_to_the_first_provider() {
    let mut broker = broker(vec![sound("First", 100), sound("Second", 100)]);
    assert_eq!(broker.catalogue(&Ask::everything()).unwrap().objects.len(), 1);
    assert_eq!(names(&collect(&mut broker, "100")), [100]);
    let second = broker.providers().nth(1).unwrap();
    assert!(second.last_fault.as_ref().unwrap().message.contains("First"));
}

/// A source that closes a channel when it is dropped.
struct Mortal {
    _life: std::sync::mpsc::Sender<()>,
    panics: bool,
}

impl Source for Mortal {
    fn name(&self) -> &str {
        "mortal:"
    }
    fn collect(&mut self, _: &Ask, _: &mut Snapshot) -> Result<(), SourceError> {
        assert!(!self.panics, "the source panics, as it was told to");
        Ok(())
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::default())
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        let empty = titles(&[]);
        Ok(Arc::new(TitleDatabase::new(language, &empty, &empty)))
    }
}

#[test]
fn a_worker_reports_a_panicked_source_and_drops_it_with_itself() {
    let request = Ask::new(ObjectQuery::Global);
    let mut snapshot = Snapshot::new();
    // The source panics: this request and the next one get an error.
    let (life, death) = std::sync::mpsc::channel();
    let mut worker = Worker::new(Mortal { _life: life, panics: true }, None).unwrap();
    for _ in 0..2 {
        let error = worker.collect(&request, &mut snapshot).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Internal, "{error}");
    }
    assert!(death.recv().is_err());
    // The worker is dropped: the thread ends, and the source with it.
    let (life, death) = std::sync::mpsc::channel();
    let mut worker = Worker::new(Mortal { _life: life, panics: false }, None).unwrap();
    worker.collect(&request, &mut snapshot).unwrap();
    drop(worker);
    assert!(death.recv().is_err());
}

/// A provider whose sessions claim that a collection took `Duration::MAX`.
struct Endless;

impl Provider for Endless {
    fn name(&self) -> &str {
        "endless"
    }
    fn describe(&self) -> ProviderDescription {
        sound("endless", 600).description
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        Vec::new()
    }
    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        Ok(Box::new(Self))
    }
}

impl Session for Endless {
    fn collect(
        &mut self,
        _: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        out.object(&template(600, 602))?.values(&[7])?.finish()?;
        Ok(())
    }
    fn took(&self) -> Option<Duration> {
        Some(Duration::MAX)
    }
}

#[test]
fn a_claimed_time_beyond_duration_max_does_not_overflow() {
    let mut broker = Broker::builder("test:", "HERE").provider(Arc::new(Endless)).build();
    for _ in 0..3 {
        let snapshot = collect(&mut broker, "Global");
        assert_eq!(names(&snapshot), [600], "{:?}", snapshot.faults());
    }
    let status = broker.providers().next().unwrap();
    assert_eq!((status.collections, status.total), (3, Duration::MAX));
}
