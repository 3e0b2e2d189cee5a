//! Connections to another machine that are made late, break, or are never made.

use super::*;
use crate::connect::{Dialer, Remote};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A network that delays connections until [`let_go`](Self::let_go), as a firewall does that drops
/// packets.
#[derive(Clone, Default)]
struct Network(Arc<(Mutex<bool>, Condvar)>);

impl Network {
    fn drops(&self) -> Self {
        *self.0.0.lock().unwrap() = true;
        self.clone()
    }

    fn let_go(&self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let drops = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(drops, |drops| *drops).unwrap());
    }
}

/// A machine with two providers behind a network: its made-up registry, the network, the number of
/// connections that were tried, and a source of the machine.
fn machine(limit: Duration) -> (Fake, Network, Arc<AtomicUsize>, RegistrySource) {
    let fake = Fake::default();
    fake.with(|world| {
        world.providers =
            vec![service("PerfProc", &[230], SUCCESS), service("Shop", &[5000], SUCCESS)];
        world.last.counter = Some(5000);
    });
    let (network, attempts) = (Network::default(), Arc::new(AtomicUsize::new(0)));
    let (far, way, dialed) = (fake.clone(), network.clone(), Arc::clone(&attempts));
    let connect = move |host: &str| {
        assert_eq!(host, "BOX");
        dialed.fetch_add(1, Ordering::Relaxed);
        way.pass();
        Ok(far.at(None))
    };
    let dialer = Arc::new(Dialer::new("BOX", limit, Arc::new(connect)));
    let make =
        move || -> Box<dyn PerfRegistry> { Box::new(Remote::new(Arc::clone(&dialer), 0x0409)) };
    let source =
        RegistrySource::with_timeouts("registry://BOX", Timeouts::all(limit), Box::new(make));
    (fake, network, attempts, source)
}

/// A timeout that is long enough to connect on any machine.
const SOON: Duration = Duration::from_secs(1);

fn is_not_reached(error: &perfhive_engine::SourceError) {
    assert_eq!(error.kind(), SourceErrorKind::Unavailable, "{error}");
    for words in ["BOX cannot be reached", "TCP port 445"] {
        assert!(error.message().contains(words), "{words}: {error}");
    }
    assert!(!error.message().contains("hangs"), "{error}");
}

#[test]
fn a_machine_not_reached_is_an_error_that_blames_no_provider() {
    let (fake, network, attempts, mut source) = machine(SOON);
    network.drops();
    is_not_reached(&source.catalogue(&Ask::everything()).unwrap_err());
    // The same for every question.
    is_not_reached(&source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap_err());
    is_not_reached(&source.catalogue(&Ask::new(ObjectQuery::Costly)).unwrap_err());
    for query in [ObjectQuery::Global, ObjectQuery::one(TitleIndex(5000))] {
        let error = source.collect(&Ask::new(query), &mut Snapshot::new()).unwrap_err();
        is_not_reached(&error);
    }
    is_not_reached(&source.providers(&Ask::nothing()).unwrap_err());
    assert!(fake.with(|world| world.asked.is_empty()));
    assert_eq!(attempts.load(Ordering::Relaxed), 1, "one thread waits for it");
    // The late connection serves the next question.
    network.let_go();
    assert!(comes_true(|| source.catalogue(&Ask::everything()).is_ok()));
    assert_eq!(names(&mut source), [230, 5000]);
    assert_eq!(attempts.load(Ordering::Relaxed), 2, "one for values, one for the keys beside them");
}

#[test]
fn a_broken_connection_is_made_anew_with_the_same_timeout() {
    let (fake, network, attempts, mut source) = machine(SOON);
    assert_eq!(names(&mut source), [230, 5000]);
    fake.with(|world| world.code = Some(64));
    let everything = Ask::new(ObjectQuery::Global);
    let error = source.collect(&everything, &mut Snapshot::new()).unwrap_err();
    assert!(error.message().contains("the connection to BOX broke"), "{error}");
    fake.with(|world| world.code = None);
    network.drops();
    is_not_reached(&source.collect(&everything, &mut Snapshot::new()).unwrap_err());
    network.let_go();
    assert!(comes_true(|| source.collect(&everything, &mut Snapshot::new()).is_ok()));
    assert_eq!(attempts.load(Ordering::Relaxed), 4);
}

/// Each thread has a connection of its own, which may fail later than another.
#[test]
fn a_hanging_provider_is_left_out_once_the_machine_is_reached() {
    for is_gone in [false, true] {
        let (fake, network, _, mut source) = machine(SOON);
        assert_eq!(names(&mut source), [230, 5000]);
        fake.2.close(&[5000]);
        if is_gone {
            network.drops();
            let mut ask = || source.collect(&Ask::new(ObjectQuery::Global), &mut Snapshot::new());
            is_not_reached(&ask().unwrap_err());
            is_not_reached(&ask().unwrap_err());
            network.let_go();
        }
        assert!(comes_true(|| {
            let mut answer = Snapshot::new();
            source.collect(&Ask::new(ObjectQuery::Global), &mut answer).is_ok_and(|()| {
                let [fault] = answer.faults() else { return false };
                &*fault.provider == "Shop" && answer.objects().count() == 1
            })
        }));
        fake.2.close(&[]);
    }
}
