//! A value that crosses a threshold.

use super::{context, shown, shows};
use perfhive_engine::{SourceError, SourceErrorKind};
use perfhive_experiment::{EventKind, EventSource as _, Experiment, Interval, ThresholdCrossing};
use std::time::Duration;

#[test]
fn value_between_the_limits_is_no_event() {
    let source = shown();
    let every = Duration::from_micros(200);
    let mut threshold =
        ThresholdCrossing::new("above 50", context(source.clone()), every, 50.0, 40.0).unwrap();
    let close = threshold.closer();
    let (sender, events) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        while let Some(event) = threshold.wait().unwrap() {
            sender.send(event.kind).unwrap();
        }
    });
    let long = Duration::from_secs(60);
    let looks = |count: u64| {
        let until = source.taken() + count;
        while source.taken() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    // It begins at 42: neither.
    looks(3);
    source.show(shows(50));
    assert_eq!(events.recv_timeout(long), Ok(EventKind::Start));
    for trembling in [45, 55, 40, 60] {
        source.show(shows(trembling));
        looks(3);
    }
    // A source that fails has no value, which is neither high nor low.
    source.fail(Some(SourceError::new(SourceErrorKind::Internal, "test", "broken")));
    std::thread::sleep(Duration::from_millis(5));
    source.fail(None);
    assert!(events.try_recv().is_err());
    source.show(shows(39));
    assert_eq!(events.recv_timeout(long), Ok(EventKind::End));
    source.show(shows(45));
    looks(3);
    assert!(events.try_recv().is_err());
    source.show(shows(51));
    assert_eq!(events.recv_timeout(long), Ok(EventKind::Start));
    close();
    waiting.join().unwrap();
}

#[test]
fn limits_the_wrong_way_round_are_refused() {
    let every = Duration::from_millis(1);
    for (above, below) in [(40.0, 50.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0)] {
        assert!(ThresholdCrossing::new("above", context(shown()), every, above, below).is_err());
    }
}

/// Events at the end of a recording would have no values, for ever.
#[test]
fn the_end_of_a_recording_ends_its_bindings_with_the_reason() {
    let (source, every) = (shown(), Duration::from_millis(1));
    let threshold =
        ThresholdCrossing::new("above 50", context(source.clone()), every, 50.0, 40.0).unwrap();
    let experiment = Experiment::builder().start().unwrap();
    let handle = experiment.handle();
    handle.bind(Interval::new("interval 1ms", every), context(source.clone())).unwrap();
    handle.bind(threshold, context(shown())).unwrap();
    source.fail(Some(SourceError::new(SourceErrorKind::EndOfData, "log", "no more samples")));
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while handle.bindings().iter().any(|one| one.running) {
        assert!(std::time::Instant::now() < end, "{:?}", handle.bindings());
        std::thread::sleep(Duration::from_millis(1));
    }
    for binding in experiment.end().bindings {
        assert_eq!(binding.failure.as_deref(), Some("log: no more samples"), "{}", binding.source);
    }
}
