//! Compares recordings with live sources, both read by the thread that samples.

use super::*;

/// A source that hides that it is a recording.
struct Live(Box<dyn Source>);

impl Source for Live {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.0.collect(ask, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.0.catalogue(ask)
    }
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.0.titles(language, ask)
    }
}

/// The model of a view with one counter after at least so many samples of a source.
fn read(source: Box<dyn Source>, samples: usize) -> Model {
    let path = r"\System\Context Switches/sec".to_string();
    let (events, messages) = sync_channel(32);
    let session = Session::of(source);
    let reader = Reader::new(session, Duration::from_millis(1), events).unwrap();
    let view = View::of_paths(std::slice::from_ref(&path));
    let mut model = Model::new(view, vec![Seen::new("x", "", true)], Duration::from_secs(1));
    let (orders, ordered) = channel();
    let thread = std::thread::spawn(move || reader.run(&ordered));
    orders.send(Order::Paths(vec![path])).unwrap();
    while model.sources[0].past.times().len() < samples || model.is_loading() {
        if let Ok(Message::Source(_, event)) = messages.recv_timeout(Duration::from_secs(20)) {
            model.update(event);
        } else {
            panic!("the reader says nothing more");
        }
    }
    drop((orders, messages));
    thread.join().unwrap();
    model.zone = TimeZone::UTC;
    model
}

#[test]
fn a_replay_shows_each_sample_at_its_time() {
    use perfhive::format::CounterSpec;
    use perfhive_testkit::script::{block, titles};
    let path = r"\System(*)\Context Switches/sec".to_string();
    let (events, messages) = sync_channel(32);
    let counters = [CounterSpec::new(TitleIndex(146), CounterType::PERF_COUNTER_BULK_COUNT)];
    let blocks = [0, 2, 4].map(|second| {
        let rows = [("a", None, &[second as u64][..])];
        (second.to_string(), block("HOST", second, &[(TitleIndex(2), &counters, &rows)]))
    });
    let names = titles(&[(2, "System"), (146, "Context Switches/sec")]);
    let recording = perfhive::recording::ReplaySource::new("recording", blocks).unwrap();
    let session = Session::of(Box::new(recording.with_titles(LanguageId::ENGLISH, &names)));
    let replay = crate::replay::Replay::with_speed(20.0);
    let reader = Reader::new(session, Duration::from_secs(1), events).unwrap();
    let reader = reader.with_replay(Some(replay));
    let (orders, ordered) = channel();
    let thread = std::thread::spawn(move || reader.run(&ordered));
    // The second time there is no pause, since all samples have been shown already.
    for pauses in [200, 0] {
        let begun = std::time::Instant::now();
        orders.send(Order::Paths(vec![path.clone()])).unwrap();
        let mut seen = Vec::new();
        loop {
            match messages.recv_timeout(Duration::from_secs(20)) {
                Ok(Message::Source(_, Event::Samples(samples, _))) => {
                    seen.extend(samples.iter().map(|_| begun.elapsed()));
                }
                Ok(Message::Source(_, Event::Loaded { .. })) => break,
                Ok(_) => {}
                Err(_) => panic!("the reader says nothing more"),
            }
        }
        assert_eq!(seen.len(), 3);
        assert!(seen[2] >= Duration::from_millis(pauses), "{seen:?}");
    }
    drop((orders, messages));
    thread.join().unwrap();
}

#[test]
fn a_table_of_a_recording_follows_the_cursor() {
    use perfhive::format::CounterSpec;
    use perfhive_testkit::script::{block, titles};
    let path = r"\System(*)\Context Switches/sec".to_string();
    let (events, messages) = sync_channel(32);
    let counters = [CounterSpec::new(TitleIndex(146), CounterType::PERF_COUNTER_BULK_COUNT)];
    let blocks = [(0, 100), (2, 150)].map(|(second, count)| {
        let rows = [("a", None, &[count][..])];
        (second.to_string(), block("HOST", second, &[(TitleIndex(2), &counters, &rows)]))
    });
    let names = titles(&[(2, "System"), (146, "Context Switches/sec")]);
    let recording = perfhive::recording::ReplaySource::new("recording", blocks).unwrap();
    let session = Session::of(Box::new(recording.with_titles(LanguageId::ENGLISH, &names)));
    let reader = Reader::new(session, Duration::from_secs(1), events).unwrap();
    let mut view = View::of_paths(std::slice::from_ref(&path));
    view.panes[0].kind = Kind::Table;
    let mut model = Model::new(view, vec![Seen::new("x", "", false)], Duration::from_secs(1));
    let (orders, ordered) = channel();
    let thread = std::thread::spawn(move || reader.run(&ordered));
    let until = |model: &mut Model, is_it: &dyn Fn(&Model) -> bool| {
        while !is_it(model) {
            match messages.recv_timeout(Duration::from_secs(20)) {
                Ok(Message::Source(_, event)) => drop(model.update(event)),
                _ => panic!("the reader says nothing more"),
            }
        }
    };
    orders.send(Order::Paths(vec![path])).unwrap();
    until(&mut model, &|model| !model.is_loading());
    let value = |model: &Model| model.rows(0)[0].cells[0].and_then(Value::number);
    assert_eq!(value(&model), Some(25.0));
    for (key, expected) in [(KeyCode::Left, Some(25.0)), (KeyCode::Left, None)] {
        let effects = press(&mut model, key);
        let [Effect::Look { from, at, every, .. }] = effects[..] else { panic!("{effects:?}") };
        orders.send(Order::Look { from, at, every }).unwrap();
        until(&mut model, &|model| model.sources[0].looked.is_some());
        assert_eq!(value(&model), expected);
    }
    press(&mut model, KeyCode::Esc);
    assert!(model.sources[0].looked.is_none());
    // A table that becomes a chart has the lines of the whole recording.
    for effect in command(&mut model, "kind chart") {
        let Effect::Paths(paths) = effect else { panic!("{effect:?}") };
        orders.send(Order::Paths(paths)).unwrap();
    }
    until(&mut model, &|model| !model.is_loading() && !model.entries(0).is_empty());
    until(&mut model, &|model| model.entries(0)[0].line.is_some());
    assert_eq!(model.value(&model.entries(0)[0]), Some(Ok(25.0)));
    drop((orders, messages));
    thread.join().unwrap();
}

#[test]
fn a_recording_looks_as_it_did_live() {
    let recording = || Box::new(perfhive_testkit::script::recording());
    let live = read(Box::new(Live(recording())), 2);
    let mut recorded = read(recording(), 2);
    recorded.sources[0].took = live.sources[0].took;
    assert_eq!(live.sources[0].past.lines().len(), 1);
    assert_eq!(live.sources[0].past.lines()[0].last(), Some(25.0));
    let screen_of = |model: &Model| letters(model, Theme::True, 80, 24);
    assert_eq!(screen_of(&live), screen_of(&recorded));
}

/// Records of two seconds: a section of 0.4 s twice, each with a point in it, and an interval.
pub(super) fn records() -> String {
    let sensor = "linux.procfs/Process/Working Set#7";
    let record = |source: &str, event: &str, kind: &str, time: f64, value: f64| {
        serde_json::json!({"kind": "record", "source": source, "event": event, "type": kind,
            "time": time, "pid": 7, "tid": 7, "delay": 0, "sample": 0, "values": {sensor: value}, "raw": {}})
    };
    let mut lines =
        vec![serde_json::json!({"kind": "experiment", "version": 1, "program": ["shop"],
        "machine": "box", "pid": 7, "started": "2026-11-24T10:00:00Z"})];
    let sensors = serde_json::json!([{"name": sensor, "unit": "B", "raw_per_second": null}]);
    for (source, interval) in [("calls", None), ("interval 100ms", Some(0.1))] {
        lines.push(serde_json::json!({"kind": "source", "source": source, "interval": interval,
            "sensors": sensors}));
    }
    for begin in [0.25, 1.25] {
        for (event, kind, after) in [
            ("checkout", "start", 0.0),
            ("paid \u{1b}[31m", "point", 0.2),
            ("checkout", "end", 0.4),
        ] {
            lines.push(record("calls", event, kind, begin + after, 0.0));
        }
    }
    for step in 1..=20 {
        let (time, size) = (f64::from(step) * 0.1, f64::from(step) * 1_048_576.0);
        lines.push(record("interval 100ms", "interval 100ms", "point", time, size));
    }
    lines.push(serde_json::json!({"kind": "end", "seconds": 2.0, "unmatched": 0, "sources": []}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The model of the view of an experiment's records, read in full; `name` is a part of the name of their file.
fn seen(name: &str, records: &str) -> Model {
    let name = format!("perfhive-view-{name}-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, records).unwrap();
    let source = perfhive::open(&format!("file:{}", file.display())).unwrap();
    std::fs::remove_file(&file).unwrap();
    let sensor = (r"Process  Working Set".to_string(), r"\Process(*)\Working Set".to_string());
    let view = View::of_experiment([sensor].into_iter());
    let (events, messages) = sync_channel(32);
    let reader = Reader::new(Session::of(source), Duration::from_secs(1), events).unwrap();
    let (orders, ordered) = channel();
    let thread = std::thread::spawn(move || reader.run(&ordered));
    orders.send(Order::Paths(view.paths())).unwrap();
    let mut model =
        Model::new(view, vec![Seen::new("records.jsonl", "", false)], Duration::from_secs(1));
    model.zone = TimeZone::UTC;
    while model.is_loading() {
        match messages.recv_timeout(Duration::from_secs(20)) {
            Ok(Message::Source(_, event)) => drop(model.update(event)),
            _ => panic!("the reader says nothing more"),
        }
    }
    drop((orders, messages));
    thread.join().unwrap();
    model
}

#[test]
fn readings_are_seen_below_as_many_event_names_as_there_may_be() {
    let mut text = records();
    // Three names are there by now.
    for number in 3..perfhive::measure::MOST_EVENT_NAMES {
        let line = serde_json::json!({"kind": "record", "source": "calls", "event": format!("a{number}"),
            "type": "point", "time": 1.0, "pid": 7, "tid": 7, "delay": 0, "sample": 0, "values": {}, "raw": {}});
        text.push_str(&format!("{line}\n"));
    }
    let screen = letters(&seen("many-names", &text), Theme::True, 100, 20);
    assert!(screen.contains(" 249 more "), "{screen}");
    let mut rows = screen.lines();
    let is_legend = |line: &str| line.contains("*━ 7  Working Set ") && line.contains("20.0 MiB");
    assert!(rows.any(is_legend), "{screen}");
}

#[test]
fn records_of_an_experiment_are_a_timeline_with_readings_below() {
    let mut model = seen("records", &records());
    compare("experiment.txt", &letters(&model, Theme::True, 100, 20));
    compare("experiment-plain.txt", &letters(&model, Theme::Plain, 60, 14));
    // The second section alone, with the cursor in it.
    model.jump("+1.5s").unwrap();
    for _ in 0..2 {
        press(&mut model, KeyCode::Char('+'));
    }
    compare("experiment-zoomed.txt", &letters(&model, Theme::True, 100, 20));
}

#[test]
fn events_within_a_millisecond_have_times_of_their_own() {
    let lines = records();
    let mut lines: Vec<&str> = lines.lines().filter(|line| !line.contains("record\"")).collect();
    let event = |time: f64| {
        let event = serde_json::json!({"kind": "record", "source": "calls", "event": "checkout",
            "type": "point", "time": time, "pid": 7, "tid": 7, "delay": 0, "sample": 0, "values": {}, "raw": {}});
        event.to_string()
    };
    let events = [event(1.0001), event(1.0002), event(1.0006)];
    let end = lines.pop().unwrap();
    lines.extend(events.iter().map(String::as_str).chain([end]));
    let model = seen("near", &lines.join("\n"));
    let (oldest, newest) = (model.oldest().unwrap(), model.newest().unwrap());
    assert_eq!(newest.0 - oldest.0, 5000);
}

#[test]
fn a_zoom_into_a_thinned_recording_shows_each_sample_of_the_part() {
    use perfhive::format::CounterSpec;
    use perfhive_testkit::script::{block, titles};
    let path = r"\System(*)\Context Switches/sec".to_string();
    let (events, messages) = sync_channel(32);
    let counters = [CounterSpec::new(TitleIndex(146), CounterType::PERF_COUNTER_BULK_COUNT)];
    // A burst of 100 within one second of 400, and an instance that lives for three seconds.
    let blocks = (0..400).map(|second| {
        let count = if second < 205 { 0 } else { 100 };
        let a = ("a", None, &[count][..]);
        let short = ("short", None, &[second as u64][..]);
        let rows = if (207..210).contains(&second) { vec![a, short] } else { vec![a] };
        (second.to_string(), block("HOST", second, &[(TitleIndex(2), &counters, &rows)]))
    });
    let names = titles(&[(2, "System"), (146, "Context Switches/sec")]);
    let recording = perfhive::recording::ReplaySource::new("recording", blocks).unwrap();
    let session = Session::of(Box::new(recording.with_titles(LanguageId::ENGLISH, &names)));
    let reader = Reader::new(session, Duration::from_secs(1), events).unwrap().with_most(120);
    let mut view = View::of_paths(std::slice::from_ref(&path));
    view.panes.push(pane("Table", Kind::Table, &[&path]));
    let mut model = Model::new(view, vec![Seen::new("x", "", false)], Duration::from_secs(1));
    model.zone = TimeZone::UTC;
    let (orders, ordered) = channel();
    let thread = std::thread::spawn(move || reader.run(&ordered));
    let order = |effects: Vec<Effect>| {
        for effect in effects {
            let order = match effect {
                Effect::Look { from, at, every, .. } => Order::Look { from, at, every },
                Effect::Near { window, samples, .. } => Order::Near { window, samples },
                _ => continue,
            };
            orders.send(order).unwrap();
        }
    };
    let until = |model: &mut Model, is_it: &dyn Fn(&Model) -> bool| {
        while !is_it(model) {
            match messages.recv_timeout(Duration::from_secs(20)) {
                Ok(Message::Source(_, event)) => order(model.update(event)),
                _ => panic!("the reader says nothing more"),
            }
        }
    };
    orders.send(Order::Paths(vec![path])).unwrap();
    until(&mut model, &|model| !model.is_loading());
    let every = |model: &Model| model.sources[0].past_in(model.window()).1;
    let largest = |model: &Model| {
        let (window, entries) = (model.window().unwrap(), model.entries(0));
        let all = entries.iter().filter_map(|entry| model.summary(entry, window));
        all.map(|one| one.maximum).fold(0.0, f64::max)
    };
    assert_eq!((every(&model), largest(&model), model.entries(0).len()), (4, 25.0, 2));
    let time = model.oldest().unwrap().0 + 205 * FileTime::PER_SECOND;
    model.cursor = Some(FileTime(time));
    for _ in 0..3 {
        order(press(&mut model, KeyCode::Char('+')));
    }
    until(&mut model, &|model| every(model) == 1);
    assert_eq!((largest(&model), model.entries(0).len()), (100.0, 2));
    assert!(!letters(&model, Theme::True, 80, 24).contains("every 4th"));
    // The cursor goes from second to second, and the table has the rate of that second.
    model.cursor = Some(FileTime(time - FileTime::PER_SECOND));
    let effects = press(&mut model, KeyCode::Right);
    assert_eq!(model.cursor, Some(FileTime(time)));
    order(effects);
    until(&mut model, &|model| {
        model.sources[0].looked.as_ref().is_some_and(|sample| sample.time.0 == time)
    });
    assert_eq!(model.rows(1)[0].cells[0].and_then(Value::number), Some(100.0));
    // The whole recording is thinned as before.
    order(press(&mut model, KeyCode::Char('0')));
    assert_eq!((every(&model), largest(&model)), (4, 25.0));
    drop((orders, messages));
    thread.join().unwrap();
}

#[test]
fn a_recording_without_the_wanted_counters_is_not_read_without_end() {
    use perfhive_testkit::script::block;
    let counters =
        [perfhive::format::CounterSpec::new(TitleIndex(146), CounterType::PERF_COUNTER_BULK_COUNT)];
    let rows = [("a", None, &[1_u64][..])];
    let blocks = [(0.to_string(), block("HOST", 0, &[(TitleIndex(2), &counters, &rows)]))];
    let source = Box::new(perfhive::recording::ReplaySource::new("recording", blocks).unwrap());
    let view = View::of_paths(&[r"\Nope(*)\Nix".to_string()]);
    let (events, messages) = sync_channel(32);
    let reader = Reader::new(Session::of(source), Duration::from_secs(1), events).unwrap();
    let (orders, ordered) = channel();
    let thread = std::thread::spawn(move || reader.run(&ordered));
    orders.send(Order::Paths(view.paths())).unwrap();
    let mut model = Model::new(view, vec![Seen::new("x", "", false)], Duration::from_secs(1));
    while model.is_loading() {
        match messages.recv_timeout(Duration::from_secs(20)) {
            Ok(Message::Source(_, event)) => drop(model.update(event)),
            _ => panic!("the reader says nothing more"),
        }
    }
    assert_eq!(model.oldest(), None);
    drop((orders, messages));
    thread.join().unwrap();
}

#[test]
fn a_file_that_cannot_be_recorded_to_ends_the_recording_that_is_shown() {
    let folder = std::env::temp_dir().join(format!("perfhive-recorded-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| Some(folder.join(name).display().to_string());
    let source = Box::new(perfhive_testkit::script::recording());
    let (events, messages) = sync_channel(32);
    let reader = Reader::new(Session::of(source), Duration::from_secs(1), events).unwrap();
    let (orders, ordered) = channel();
    let thread = std::thread::spawn(move || reader.run(&ordered));
    let view = View::of_paths(&[]);
    let mut model = Model::new(view, vec![Seen::new("x", "", false)], Duration::from_secs(1));
    for (name, words, recording) in
        [("a.phr", "recording to", file("a.phr")), ("none/b.phr", "cannot be written", None)]
    {
        orders.send(Order::Record(file(name))).unwrap();
        while !model.message.contains(words) {
            match messages.recv_timeout(Duration::from_secs(20)) {
                Ok(Message::Source(_, event)) => drop(model.update(event)),
                _ => panic!("the reader says nothing more: {}", model.message),
            }
        }
        assert_eq!(model.sources[0].recording, recording, "{}", model.message);
    }
    drop((orders, messages));
    thread.join().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
