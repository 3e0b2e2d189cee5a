//! What becomes of the records.

use super::{Burst, context, context_of, shown};
use perfhive_experiment::{
    Delivery, EventFilter, EventKind, Experiment, ExperimentEnd, Interval, JsonLines, PerfEvent,
    RecordBatch, Section, SocketLines, ThresholdCrossing,
};
use perfhive_format::{CounterSpec, CounterType, TitleIndex};
use perfhive_testkit::alloc;
use perfhive_testkit::script::{Row, block};
use perfhive_testkit::shown::ShownBlock;
use std::io::{self, Write};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn lines(&self) -> Vec<serde_json::Value> {
        let bytes = self.0.lock().unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_warm_event_allocates_nothing() {
    let (sender, counts) = channel();
    let mut burst = Burst::new(500);
    let mut seen = Vec::with_capacity(1000);
    burst.before = Box::new(move || {
        seen.push(alloc::thread().count);
        if seen.len() == 501 {
            sender.send(std::mem::take(&mut seen)).unwrap();
        }
    });
    // Delivered in several batches.
    let experiment = Experiment::builder().capacity(100_000).start().unwrap();
    let filter: EventFilter = "name = bur* and pid = 0 and 'Speed' > 41".parse().unwrap();
    experiment.bind_where(burst, context(shown()), filter).unwrap();
    let counts = counts.recv_timeout(Duration::from_secs(60)).unwrap();
    let end = experiment.end();
    assert_eq!(end.bindings[0].events, 500);
    assert!(counts[0] > 0, "the counting allocator counts");
    let per_event: Vec<u64> = counts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(per_event[10..].iter().sum::<u64>(), 0, "{per_event:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_records_is_there_before_the_first_event() {
    let page_faults = || -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit(')').next().unwrap().split(' ').nth(8).unwrap().parse().unwrap()
    };
    let (sender, faults) = channel();
    let mut burst = Burst::new(4000);
    let mut calls = 0;
    burst.before = Box::new(move || {
        calls += 1;
        if [1000, 4000].contains(&calls) {
            sender.send(page_faults()).unwrap();
        }
    });
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(burst, context(shown())).unwrap();
    assert_eq!(experiment.end().bindings[0].events, 4000);
    let faults: Vec<u64> = faults.iter().collect();
    // The records are of more than 100 pages.
    assert!(faults[1] - faults[0] < 20, "{faults:?}");
}

#[test]
fn records_reach_callback_channel_and_file() {
    let (sender, receiver) = sync_channel(1000);
    let memory = Memory::default();
    let counted = Arc::new(Mutex::new(0));
    let theirs = Arc::clone(&counted);
    let callback = move |batch: &RecordBatch<'_>, _: &[Section]| {
        assert_eq!(batch.source(), "burst");
        *theirs.lock().unwrap() += batch.len();
    };
    let builder = Experiment::builder().deliver(callback).deliver(sender);
    let experiment = builder.deliver(JsonLines::new(memory.clone())).start().unwrap();
    experiment.bind(Burst::new(300), context(shown())).unwrap();
    let end = experiment.end();
    assert_eq!((end.bindings[0].events, end.bindings[0].lost), (300, 0));
    assert_eq!(*counted.lock().unwrap(), 300);
    let records: Vec<_> = receiver.iter().collect();
    assert_eq!(records.len(), 300);
    for record in &records {
        assert_eq!((record.readings[0].value, record.readings[0].raw), (Some(42.0), Some(42)));
        let event = &record.event;
        assert!(event.time <= record.sampled && record.sampled <= record.done);
    }
    let lines = memory.lines();
    let kinds = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((kinds("source"), kinds("record"), kinds("end")), (1, 300, 1));
    let record = lines.iter().find(|line| line["kind"] == "record").unwrap();
    assert_eq!(record["values"]["test.host/Engine/Speed#main"], 42.0);
    let summary = &end.summary.events[0];
    assert_eq!((summary.count, summary.time.count()), (300, 300));
    assert_eq!(summary.sensors[0].1.mean(), Some(42.0));
}

#[test]
fn a_delivery_and_an_event_source_that_panic_are_failures_and_take_no_other_records_with_them() {
    let memory = Memory::default();
    let callback = |_: &RecordBatch<'_>, _: &[Section]| panic!("no such shop");
    let builder = Experiment::builder().deliver(callback);
    let experiment = builder.deliver(JsonLines::new(memory.clone())).start().unwrap();
    experiment.bind(Burst::new(30), context(shown())).unwrap();
    let mut burst = Burst::new(70);
    let mut left = 20;
    burst.before = Box::new(move || {
        left -= 1;
        assert_ne!(left, 0, "no more");
    });
    experiment.bind(burst, context(shown())).unwrap();
    let end = experiment.end();
    assert_eq!((end.bindings[0].events, end.bindings[1].events), (30, 19));
    assert_eq!(end.bindings[0].failure, None);
    let failure = end.bindings[1].failure.as_deref().unwrap();
    assert!(failure.contains("no more") && end.bindings[1].ended, "{failure}");
    assert_eq!(end.summary.events[0].count, 49);
    assert_eq!(end.failures.len(), 1, "{:?}", end.failures);
    assert!(end.failures[0].contains("no such shop"), "{:?}", end.failures);
    let lines = memory.lines();
    assert_eq!(lines.iter().filter(|line| line["kind"] == "record").count(), 49);
    assert_eq!(lines.last().unwrap()["kind"], "end");
}

/// A delivery that panics at the end of the experiment.
struct EndsBadly;

impl Delivery for EndsBadly {
    fn deliver(&mut self, _: &RecordBatch<'_>, _: &[Section]) -> std::io::Result<u64> {
        Ok(0)
    }

    fn end(&mut self, _: &ExperimentEnd) -> std::io::Result<()> {
        panic!("no such shop");
    }
}

#[test]
fn a_delivery_that_panics_at_the_end_is_a_failure_and_others_get_the_end() {
    let memory = Memory::default();
    let builder = Experiment::builder().deliver(EndsBadly);
    let experiment = builder.deliver(JsonLines::new(memory.clone())).start().unwrap();
    experiment.bind(Burst::new(3), context(shown())).unwrap();
    experiment.handle().deliver(EndsBadly).unwrap();
    let end = experiment.end();
    let [failure] = end.failures.as_slice() else { panic!("{:?}", end.failures) };
    assert!(failure.contains("no such shop"), "{failure}");
    assert_eq!(memory.lines().last().unwrap()["kind"], "end");
}

#[test]
fn a_binding_ends_with_its_event_source() {
    let experiment = Experiment::builder().start().unwrap();
    let handle = experiment.handle();
    handle.bind(Burst::new(3), context(shown())).unwrap();
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while handle.bindings()[0].running {
        assert!(std::time::Instant::now() < end, "{:?}", handle.bindings());
        std::thread::sleep(Duration::from_millis(1));
    }
    let binding = &handle.bindings()[0];
    assert_eq!((binding.events, binding.failure.as_deref()), (3, None));
    assert!(handle.replace("burst", Burst::new(3)).is_err());
    let _ = experiment.end();
}

#[test]
fn deliveries_have_the_same_lines_and_no_record_is_later_than_the_end() {
    let (memory, other) = (Memory::default(), Memory::default());
    let builder = Experiment::builder().deliver(JsonLines::new(memory.clone()));
    // The file takes its time before the experiment starts.
    std::thread::sleep(Duration::from_millis(50));
    let experiment = builder.deliver(JsonLines::new(other.clone())).start().unwrap();
    experiment.bind(Burst::new(3), context(shown())).unwrap();
    let _ = experiment.end();
    let lines = memory.lines();
    assert_eq!(lines, other.lines());
    let end = lines.last().unwrap()["seconds"].as_f64().unwrap();
    assert!(lines.iter().filter_map(|line| line["time"].as_f64()).all(|time| time <= end), "{end}");
}

#[test]
fn what_finds_no_room_is_counted() {
    // The delivery waits until the burst is over.
    let (go_on, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let hold = move |_: &RecordBatch<'_>, _: &[Section]| {
        let _ = wait.lock().unwrap().recv_timeout(Duration::from_secs(60));
    };
    let (sender, receiver) = sync_channel(5);
    let builder = Experiment::builder().capacity(10).deliver(sender).deliver(hold);
    let experiment = builder.start().unwrap();
    let (over, is_over) = channel();
    let mut burst = Burst::new(1000);
    let mut called = 0;
    burst.before = Box::new(move || {
        called += 1;
        if called == 1001 {
            over.send(()).unwrap();
        }
    });
    experiment.bind(burst, context(shown())).unwrap();
    is_over.recv_timeout(Duration::from_secs(60)).unwrap();
    drop(go_on);
    let end = experiment.end();
    let counts = &end.bindings[0];
    assert_eq!(counts.events, 1000);
    // Every event is in the figures or was lost on the way there; the channel lost some more.
    let kept = end.summary.events[0].count;
    assert!((10..=30).contains(&kept), "{kept}");
    let received = receiver.iter().count() as u64;
    assert_eq!(received, 5);
    assert_eq!((counts.lost, counts.undelivered), (1000 - kept, kept - received));
}

#[test]
fn delivery_that_fails_gets_no_more_and_is_named() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let experiment = Experiment::builder().deliver(JsonLines::new(Full)).start().unwrap();
    experiment.bind(Burst::new(3), context(shown())).unwrap();
    let end = experiment.end();
    assert_eq!(end.failures.len(), 1);
    assert_eq!(end.summary.events[0].count, 3);
}

#[test]
fn events_are_without_values_where_the_source_fails() {
    use perfhive_engine::{SourceError, SourceErrorKind};
    let source = shown();
    let context = context(source.clone());
    source.fail(Some(SourceError::new(SourceErrorKind::Internal, "test", "broken")));
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(Burst::new(5), context).unwrap();
    let end = experiment.end();
    let summary = &end.summary.events[0];
    assert_eq!((summary.count, summary.sensors[0].1.count()), (5, 0));
}

#[test]
fn interval_and_burst_run_side_by_side() {
    let experiment = Experiment::builder().start().unwrap();
    let interval = Interval::new("interval 1ms", Duration::from_millis(1));
    experiment.bind(interval, context(shown())).unwrap();
    experiment.bind(Burst::new(10), context(shown())).unwrap();
    while experiment.bindings()[0].events < 20 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let end = experiment.end();
    let names: Vec<&str> = end.summary.events.iter().map(|event| &*event.name).collect();
    assert!(names.contains(&"interval 1ms") && names.contains(&"burst"), "{names:?}");
}

/// The counts of a burst of 300 events with a filter, and the number of lines with records.
fn filtered(filter: &str) -> (perfhive_experiment::BindingCounts, usize) {
    let memory = Memory::default();
    let experiment = Experiment::builder().deliver(JsonLines::new(memory.clone())).start().unwrap();
    let filter: EventFilter = filter.parse().unwrap();
    experiment.bind_where(Burst::new(300), context(shown()), filter).unwrap();
    let end = experiment.end();
    let lines = memory.lines();
    let records = lines.iter().filter(|line| line["kind"] == "record").count();
    assert_eq!(lines.last().unwrap()["sources"][0]["filtered"], end.bindings[0].filtered);
    (end.bindings[0].clone(), records)
}

#[test]
fn events_that_a_filter_leaves_out_are_counted_as_filtered() {
    for (filter, kept) in [
        ("every 10", 30),
        ("pid = 1", 0),
        ("'Speed' > 41", 300),
        ("'Engine/Speed' >= 42.5", 0),
        ("name = burst and 'test.host/Engine/Speed#main' = 42 and every 3", 100),
        // A point has no duration.
        ("seconds > 0", 0),
    ] {
        let (counts, records) = filtered(filter);
        assert_eq!(
            (counts.events, counts.filtered, counts.lost),
            (kept, 300 - kept, 0),
            "{filter}"
        );
        assert_eq!(records as u64, kept, "{filter}");
    }
    let experiment = Experiment::builder().start().unwrap();
    // Each tenth event leaves no pair of a start and an end, which sections are made of.
    let error = "seconds > 1 and every 10".parse::<EventFilter>().unwrap_err().to_string();
    assert!(error.contains("every takes away"), "{error}");
    "every 1 and seconds > 1".parse::<EventFilter>().unwrap();
    let of = |text: &str| text.parse::<EventFilter>().unwrap();
    let both = of("every 10").and(&of("seconds > 1"));
    let error = experiment.bind_where(Burst::new(1), context(shown()), both).unwrap_err();
    assert!(error.to_string().contains("every takes away"), "{error}");
    let unknown: EventFilter = "'Torque' > 1".parse().unwrap();
    let error = experiment.bind_where(Burst::new(1), context(shown()), unknown).unwrap_err();
    assert!(error.to_string().contains("test.host/Engine/Speed#main"), "{error}");
}

#[test]
fn batches_of_which_a_filter_leaves_nothing_are_not_delivered() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&sizes);
    let callback = move |batch: &RecordBatch<'_>, _: &[Section]| {
        theirs.lock().unwrap().push(batch.len());
    };
    let experiment = Experiment::builder().deliver(callback).start().unwrap();
    // A point has no duration, which is known only when the records are delivered.
    let filter: EventFilter = "seconds > 0".parse().unwrap();
    experiment.bind_where(Burst::new(300), context(shown()), filter).unwrap();
    experiment.bind_where(Burst::new(0), context(shown()), EventFilter::default()).unwrap();
    assert_eq!(experiment.end().bindings[0].filtered, 300);
    assert!(sizes.lock().unwrap().is_empty(), "{sizes:?}");
}

/// An event source with these events, the last one first.
struct Sections(Vec<PerfEvent>);

impl perfhive_experiment::EventSource for Sections {
    fn name(&self) -> &str {
        "sections"
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        Ok(self.0.pop())
    }

    fn closer(&self) -> perfhive_experiment::Closer {
        Box::new(|| {})
    }

    fn missed(&self) -> u64 {
        0
    }
}

/// `count` events of one name, in turn a start and an end, each a millisecond behind the event
/// before it.
fn starts_and_ends(count: u64) -> Vec<PerfEvent> {
    let name: Arc<str> = "work".into();
    let events = (1..=count).map(|number| {
        let mut event = PerfEvent::now(&name);
        event.kind = if number % 2 == 0 { EventKind::End } else { EventKind::Start };
        event.time = 1_000_000 * number;
        event
    });
    events.collect()
}

#[test]
fn events_that_are_left_out_lengthen_no_section() {
    for (filter, gap_at, found) in [
        ("name = work", None, 150),
        ("every 3", None, 0),
        // What an event source missed: a start and an end.
        ("name = work", Some(151), 149),
    ] {
        let filter: EventFilter = filter.parse().unwrap();
        let mut events = starts_and_ends(300);
        if let Some(at) = gap_at {
            events.iter_mut().skip(at).for_each(|event| event.gap = 2);
        }
        events.reverse();
        let (sender, sections) = channel();
        let deliver = move |_: &RecordBatch<'_>, sections: &[Section]| {
            sections.iter().for_each(|one| sender.send(one.duration).unwrap());
        };
        let experiment = Experiment::builder().deliver(deliver).start().unwrap();
        experiment.bind_where(Sections(events), context(shown()), filter).unwrap();
        let end = experiment.end();
        let sections: Vec<Duration> = sections.iter().collect();
        assert_eq!(sections, vec![Duration::from_millis(1); found]);
        let kept = end.bindings[0].events;
        assert_eq!(end.summary.unmatched, kept - 2 * found as u64);
    }
}

/// An event source with these events, each with a function that is called before the event is
/// returned.
struct Scripted(std::collections::VecDeque<(Box<dyn FnOnce() + Send>, PerfEvent)>);

impl perfhive_experiment::EventSource for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        let Some((before, event)) = self.0.pop_front() else { return Ok(None) };
        before();
        Ok(Some(event))
    }

    fn closer(&self) -> perfhive_experiment::Closer {
        Box::new(|| {})
    }

    fn missed(&self) -> u64 {
        0
    }
}

#[test]
fn events_without_room_lengthen_no_section() {
    let (held, is_held) = channel();
    let (go_on, wait) = channel::<()>();
    let (held, wait) = (Mutex::new(held), Mutex::new(wait));
    let delivered = Arc::new(Mutex::new(0));
    let (theirs, counted) = (Arc::clone(&delivered), Arc::clone(&delivered));
    let deliver = move |batch: &RecordBatch<'_>, sections: &[Section]| {
        assert!(sections.is_empty(), "{sections:?}");
        let _ = held.lock().unwrap().send(());
        let _ = wait.lock().unwrap().recv_timeout(Duration::from_secs(60));
        *theirs.lock().unwrap() += batch.len();
    };
    let experiment = Experiment::builder().capacity(2).deliver(deliver).start().unwrap();
    let hold = move || is_held.recv_timeout(Duration::from_secs(60)).unwrap();
    let release = move || {
        drop(go_on);
        while *counted.lock().unwrap() < 3 {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let nothing = || Box::new(|| {}) as Box<dyn FnOnce() + Send>;
    let mut events = starts_and_ends(6);
    // While the first start is delivered, two others take the room, and an end and a start are lost.
    (events[1].kind, events[2].kind) = (EventKind::Point, EventKind::Point);
    events[3].kind = EventKind::End;
    events[4].kind = EventKind::Start;
    let before = [nothing(), Box::new(hold), nothing(), nothing(), nothing(), Box::new(release)];
    let script = before.into_iter().zip(events).collect();
    experiment.bind(Scripted(script), context(shown())).unwrap();
    let end = experiment.end();
    assert_eq!((end.bindings[0].lost, end.summary.unmatched), (2, 2));
}

#[test]
fn filter_that_was_changed_meanwhile_lengthens_no_section() {
    let experiment = Experiment::builder().start().unwrap();
    let other: EventFilter = "name = other".parse().unwrap();
    let handles = [experiment.handle(), experiment.handle()];
    let [first, second] = handles;
    let narrow = move || assert_eq!(first.set_filter(None, Some(&other)).unwrap(), 1);
    let widen = move || assert_eq!(second.set_filter(None, None).unwrap(), 1);
    let nothing = || Box::new(|| {}) as Box<dyn FnOnce() + Send>;
    let before = [nothing(), Box::new(narrow), nothing(), Box::new(widen)];
    let script = before.into_iter().zip(starts_and_ends(4)).collect();
    experiment.bind(Scripted(script), context(shown())).unwrap();
    let end = experiment.end();
    assert!(end.summary.events.iter().all(|one| one.kind.is_some()), "no section");
    assert_eq!((end.bindings[0].filtered, end.summary.unmatched), (2, 2));
}

#[test]
fn sections_are_chosen_by_their_seconds() {
    let name: Arc<str> = "work".into();
    let mut events = Vec::new();
    for number in 1..=20 {
        for (kind, time) in [(EventKind::Start, 0), (EventKind::End, number * 1_000_000)] {
            let mut event = PerfEvent::now(&name);
            (event.kind, event.time) = (kind, 1_000_000_000 * number + time);
            events.push(event);
        }
    }
    events.reverse();
    for (filter, kept) in [
        ("seconds > 0.0155", 5),
        // The other terms are about the ends, too.
        ("type = end and seconds > 0.0155", 5),
        ("seconds > 0.0155 and 'Speed' = 42 and type != start", 5),
        ("'Speed' > 42 and seconds > 0.0155", 0),
        ("type = start and seconds > 0.0155", 0),
    ] {
        let memory = Memory::default();
        let builder = Experiment::builder().deliver(JsonLines::new(memory.clone()));
        let experiment = builder.start().unwrap();
        let long: EventFilter = filter.parse().unwrap();
        experiment.bind_where(Sections(events.clone()), context(shown()), long).unwrap();
        let end = experiment.end();
        let lines = memory.lines();
        let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count() as u64;
        assert_eq!((of("record"), of("section")), (kept, kept), "{filter}");
        assert!(lines.iter().all(|line| line["type"] != "start"));
        let counts = &end.bindings[0];
        assert_eq!((counts.events, counts.filtered), (kept, 40 - kept), "{filter}");
        assert_eq!(end.summary.unmatched, 0, "{filter}");
        let section = end.summary.events.iter().find(|one| one.kind.is_none());
        let times = section.map(|section| (section.count, section.time.min()));
        assert_eq!(times, (kept > 0).then_some((5, Some(0.016))), "{filter}");
    }
}

#[test]
fn limit_counts_no_events_that_seconds_leave_out() {
    let memory = Memory::default();
    let experiment = Experiment::builder().deliver(JsonLines::new(memory.clone())).start().unwrap();
    let handle = experiment.handle();
    let limit = move || {
        while handle.set_limit(None, Some(5)) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let before = [Box::new(limit) as Box<dyn FnOnce() + Send>];
    let nothing = std::iter::repeat_with(|| Box::new(|| {}) as Box<dyn FnOnce() + Send>);
    let script = before.into_iter().chain(nothing).zip(starts_and_ends(40)).collect();
    let long: EventFilter = "seconds > 0.0005".parse().unwrap();
    experiment.bind_where(Scripted(script), context(shown()), long).unwrap();
    let end = experiment.end();
    let lines = memory.lines();
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((of("record"), of("section")), (5, 5));
    let counts = &end.bindings[0];
    assert_eq!((counts.events, counts.filtered + counts.skipped, counts.running), (5, 35, false));
}

#[test]
fn line_that_is_longer_than_the_room_reaches_a_socket_that_waits_for_nothing() {
    use std::io::Read as _;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp:{}", listener.local_addr().unwrap());
    let mut lines = SocketLines::connect(&address).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let receiving = std::thread::spawn(move || {
        let mut text = Vec::new();
        receiver.read_to_end(&mut text).unwrap();
        text.len()
    });
    let long = "x".repeat(17 << 20);
    lines.line(&serde_json::json!(long)).unwrap();
    drop(lines);
    assert_eq!(receiving.join().unwrap(), long.len() + 3);
}

#[test]
fn records_reach_a_socket() {
    use std::io::Read as _;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp:{}", listener.local_addr().unwrap());
    let lines = SocketLines::connect(&address).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let experiment = Experiment::builder().deliver(lines).start().unwrap();
    experiment.bind(Burst::new(300), context(shown())).unwrap();
    let end = experiment.end();
    assert_eq!((end.bindings[0].lost, end.failures), (0, Vec::new()));
    let mut text = String::new();
    receiver.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches(r#""kind":"record""#).count(), 300);
    assert!(text.trim_end().lines().last().unwrap().contains(r#""kind":"end""#));
}

#[test]
fn receiver_that_hangs_or_goes_away_is_counted_as_loss() {
    for hangs in [true, false] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp:{}", listener.local_addr().unwrap());
        let lines = SocketLines::connect(&address).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        let receiver = hangs.then_some(receiver);
        let experiment = Experiment::builder().capacity(20_000).deliver(lines).start().unwrap();
        let handle = experiment.handle();
        let begun = std::time::Instant::now();
        // Some 25 MB of lines, more than the memory for lines and the system's have room for.
        for _ in 0..if hangs { 10 } else { 2 } {
            handle.bind(Burst::new(10_000), context(shown())).unwrap();
        }
        let end = experiment.end();
        let counts = end.bindings.iter();
        let lost: u64 = counts.clone().map(|one| one.undelivered).sum();
        assert!(end.bindings.iter().all(|one| one.lost == 0));
        let sent: u64 = counts.map(|one| one.events).sum();
        assert!(sent >= 20_000);
        assert!(lost > 0, "{hangs}: {lost}");
        assert_eq!(end.failures.len(), 1, "{:?}", end.failures);
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        drop(receiver);
    }
    for wrong in ["udp:127.0.0.1:1", "tcp:127.0.0.1", "tcp:192.0.2.1:80"] {
        assert_eq!(SocketLines::connect(wrong).err().unwrap().kind(), io::ErrorKind::InvalidInput);
    }
}

/// A second instance that appears would have its values in the column of the first.
#[test]
fn all_instances_are_refused_even_if_there_is_one() {
    let experiment = Experiment::builder().start().unwrap();
    let refused = experiment.bind(Burst::new(1), context_of(shown(), "*"));
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("test.host/Engine/Speed#*"), "{message}");
    assert!(experiment.bind(Burst::new(1), context_of(shown(), "main")).is_ok());
    let every = Duration::from_millis(1);
    assert!(ThresholdCrossing::new("x", context_of(shown(), "*"), every, 2.0, 1.0).is_err());
    // Without an instance now there is no column.
    let gauge = CounterSpec::new(TitleIndex(12), CounterType::PERF_COUNTER_RAWCOUNT);
    let rows: &[Row<'_>] = &[];
    let none = block("HOST", 1, &[(TitleIndex(10), &[gauge], rows)]);
    let empty = ShownBlock::new(&[(10, "Engine"), (12, "Speed")], none).pooled();
    let refused = experiment.bind(Burst::new(1), context_of(empty, "*"));
    assert!(refused.unwrap_err().to_string().contains("sensor 1 of the context has no instance"));
}
