//! A value that crosses a threshold.

use super::{context, shown, shows};
use perfhive_engine::{SourceError, SourceErrorKind};
use perfhive_experiment::{EventKind, EventSource as _, ThresholdCrossing};
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
