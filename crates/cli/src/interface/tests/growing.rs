//! Recordings that are written while they are shown.

use super::recorded::records;
use super::*;
use crate::interface::sampling::Growth;
use perfhive::format::CounterSpec;
use perfhive::recording::{RecordingOptions, RecordingWriter, ReplaySource};
use perfhive_testkit::script::{block, titles};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};

/// A view of a file in a test: the model, the thread that reads the file, and the channels between them.
struct Viewed {
    model: Model,
    orders: Sender<Order>,
    messages: Receiver<Message>,
    thread: std::thread::JoinHandle<()>,
}

impl Viewed {
    fn new(file: &std::path::Path, view: View) -> Self {
        let (events, messages) = sync_channel(32);
        let address = format!("file:{}", file.display());
        let again = address.clone();
        let open = move || perfhive::open(&again).map_err(|error| error.to_string());
        let growth = Growth::of(vec![file.to_path_buf()], Box::new(open));
        let session = Session::of(perfhive::open(&address).unwrap());
        let reader = Reader::new(session, Duration::from_secs(1), events).unwrap();
        let reader = reader.with_growth(growth);
        let (orders, ordered) = channel();
        let thread = std::thread::spawn(move || reader.run(&ordered));
        orders.send(Order::Paths(view.paths())).unwrap();
        let seen = Seen::new("x", "", false);
        let mut model = Model::new(view, vec![seen], Duration::from_secs(1));
        model.zone = TimeZone::UTC;
        let mut viewed = Self { model, orders, messages, thread };
        viewed.until(|model| !model.is_loading());
        viewed
    }

    /// Passes requests of the model for paths and for samples on to the thread; others are ignored.
    fn order(&self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Look { from, at, every, .. } => {
                    self.orders.send(Order::Look { from, at, every }).unwrap();
                }
                Effect::Paths(paths) => self.orders.send(Order::Paths(paths)).unwrap(),
                _ => {}
            }
        }
    }

    #[track_caller]
    fn until(&mut self, is_it: impl Fn(&Model) -> bool) {
        while !is_it(&self.model) {
            match self.messages.recv_timeout(Duration::from_secs(20)) {
                Ok(Message::Source(_, event)) => {
                    let effects = self.model.update(event);
                    self.order(effects);
                }
                _ => panic!("the reader says nothing more: {}", self.model.message),
            }
        }
    }

    fn times(model: &Model) -> usize {
        model.sources[0].past.times().len()
    }

    /// The number of samples, the lines with the number of their values, and the newest values.
    fn seen(&self) -> (usize, Vec<(String, usize, Option<f64>)>) {
        let past = &self.model.sources[0].past;
        let whole = perfhive_view::past::Window { from: FileTime(0), to: FileTime(i64::MAX) };
        let lines = past.lines().iter().map(|line| {
            let count = past.summary(line, whole).map_or(0, |one| one.count);
            (format!("{} {}", line.path, line.full_name()), count, line.last())
        });
        (past.times().len(), lines.collect())
    }

    fn end(self) {
        drop((self.orders, self.messages));
        self.thread.join().unwrap();
    }
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("perfhive-growing-{}-{name}", std::process::id()))
}

#[test]
fn records_of_an_experiment_under_way_are_followed_to_its_end() {
    let path = file("records.jsonl");
    let text = records();
    let lines: Vec<&str> = text.lines().collect();
    // The beginning, and a part of a line.
    let begin = lines[..12].join("\n") + "\n" + &lines[12][..20];
    std::fs::write(&path, &begin).unwrap();
    let sensor = ("Working Set".to_string(), r"\Process(*)\Working Set".to_string());
    let view = View::of_experiment([sensor].into_iter());
    let mut viewed = Viewed::new(&path, view.clone());
    let before = Viewed::times(&viewed.model);
    let mut out = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    // A cursor, which reads the recording at another place, does not disturb what is read on.
    let effects = press(&mut viewed.model, KeyCode::Left);
    viewed.order(effects);
    out.write_all(&text.as_bytes()[begin.len()..text.len() - 80]).unwrap();
    viewed.until(|model| Viewed::times(model) > before);
    out.write_all(&text.as_bytes()[text.len() - 80..]).unwrap();
    let fresh = Viewed::new(&path, view);
    let whole = fresh.seen();
    viewed.until(|model| Viewed::times(model) >= whole.0);
    assert_eq!(viewed.seen(), whole);
    fresh.end();
    viewed.end();
    std::fs::remove_file(&path).unwrap();
}

/// Writes a recording of three samples, with the object Process from the first sample on, and the object Processor from
/// the second. Returns the length of its file before each sample.
fn process_then_processor(path: &std::path::Path) -> Vec<u64> {
    let process = [CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let processor = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_RAWCOUNT)];
    let names =
        [(230, "Process"), (180, "Working Set"), (238, "Processor"), (6, "% Processor Time")];
    let titles = titles(&names);
    let titles = perfhive::TitleDatabase::new(LanguageId::ENGLISH, &titles, &titles);
    let titles = [Arc::new(titles)];
    let blocks = [0, 1, 2].map(|second| {
        let (set, busy) = ([("a", None, &[1 << 30][..])], [("_Total", None, &[3][..])]);
        let objects = [
            (TitleIndex(230), &process[..], &set[..]),
            (TitleIndex(238), &processor[..], &busy[..]),
        ];
        let count = if second == 0 { 1 } else { 2 };
        (second.to_string(), block("HOST", second, &objects[..count]))
    });
    let mut source = ReplaySource::new("x", blocks).unwrap();
    let mut writer = RecordingWriter::open(path, "x", &RecordingOptions::new()).unwrap();
    let mut snapshot = Snapshot::new();
    let lengths = (0..3).map(|_| {
        let length = std::fs::metadata(path).unwrap().len();
        source.collect(&Ask::everything(), &mut snapshot).unwrap();
        writer.add(&snapshot, &titles).unwrap();
        length
    });
    let lengths = lengths.collect();
    writer.finish().unwrap();
    lengths
}

#[test]
fn the_panes_of_a_recording_follow_the_names_that_come_with_its_samples() {
    let path = file("names.phr");
    let lengths = process_then_processor(&path);
    let bytes = std::fs::read(&path).unwrap();
    let is_empty = |length: &usize| {
        std::fs::write(&path, &bytes[..*length]).unwrap();
        perfhive::open(&format!("file:{}", path.display())).is_ok_and(|mut source| {
            source.recording().is_some_and(|one| one.span().is_ok_and(|span| span.samples == 0))
        })
    };
    // The head of the file, and nothing more.
    let head = (0..bytes.len()).find(is_empty).unwrap();
    std::fs::write(&path, &bytes[..head]).unwrap();
    let overview = View::built_in("overview").unwrap();
    let mut viewed = Viewed::new(&path, overview.clone());
    let screen = letters(&viewed.model, Theme::True, 80, 24);
    assert!(screen.contains("no sample in the time that is read"), "{screen}");
    assert_eq!(viewed.model.view, overview);
    let titles = |model: &Model| -> Vec<String> {
        model.view.panes.iter().map(|pane| pane.title.clone()).collect()
    };
    std::fs::write(&path, &bytes[..lengths[1] as usize]).unwrap();
    viewed.until(|model| titles(model) == ["Processes"] && Viewed::times(model) == 1);
    std::fs::write(&path, &bytes).unwrap();
    let busy = |model: &Model| model.sources[0].past.lines().first().and_then(|line| line.last());
    viewed.until(|model| busy(model) == Some(3.0) && Viewed::times(model) == 3);
    assert_eq!(titles(&viewed.model), ["Processor", "Processes"]);
    assert_eq!(viewed.model.message, "");
    viewed.end();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_message_about_a_torn_sample_goes_when_it_is_whole() {
    let path = file("torn.phr");
    let lengths = process_then_processor(&path);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..lengths[2] as usize - 3]).unwrap();
    let mut viewed = Viewed::new(&path, View::of_paths(&[PROCESSES[1].to_string()]));
    viewed.until(|model| model.sources[0].failure.is_some());
    let screen = letters(&viewed.model, Theme::True, 200, 24);
    assert!(screen.contains("not a complete sample"), "{screen}");
    std::fs::write(&path, &bytes).unwrap();
    viewed.until(|model| model.sources[0].failure.is_none());
    assert_eq!(Viewed::times(&viewed.model), 3);
    // A key takes it away, too.
    viewed.model.update(Event::Failed(Some("damaged".into())));
    assert!(letters(&viewed.model, Theme::True, 80, 24).contains("damaged"));
    press(&mut viewed.model, KeyCode::Esc);
    assert!(!letters(&viewed.model, Theme::True, 80, 24).contains("damaged"));
    viewed.end();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_recording_that_is_being_written_is_followed_and_one_that_is_replaced_read_anew() {
    let counter = r"\System(*)\Context Switches/sec".to_string();
    let path = file("a.phr");
    let counters = [CounterSpec::new(TitleIndex(146), CounterType::PERF_COUNTER_BULK_COUNT)];
    let blocks = |machine: &str, from: u32| {
        let blocks: Vec<_> = (from..20)
            .map(|second| {
                let count = u64::from(second) * u64::from(second);
                let rows = [("a", None, &[count][..])];
                let block = block(machine, second.into(), &[(TitleIndex(2), &counters, &rows)]);
                (second.to_string(), block)
            })
            .collect();
        ReplaySource::new("x", blocks).unwrap()
    };
    let names = titles(&[(2, "System"), (146, "Context Switches/sec")]);
    let names = perfhive::TitleDatabase::new(LanguageId::ENGLISH, &names, &names);
    let names = [Arc::new(names)];
    let write = |source: &mut ReplaySource, writer: &mut RecordingWriter, samples: usize| {
        let mut snapshot = Snapshot::new();
        for _ in 0..samples {
            source.collect(&Ask::everything(), &mut snapshot).unwrap();
            writer.add(&snapshot, &names).unwrap();
        }
    };
    let mut source = blocks("HOST", 0);
    let mut writer = RecordingWriter::open(&path, "x", &RecordingOptions::new()).unwrap();
    write(&mut source, &mut writer, 5);
    let mut view = View::of_paths(std::slice::from_ref(&counter));
    view.panes.push(pane("Table", Kind::Table, &[&counter]));
    let mut viewed = Viewed::new(&path, view);
    assert_eq!(Viewed::times(&viewed.model), 5);
    write(&mut source, &mut writer, 6);
    viewed.until(|model| Viewed::times(model) == 11);
    // The first rate behind the old end is one since the sample before.
    assert_eq!(
        viewed.seen().1,
        [(format!("{counter} System(a)\\Context Switches/sec"), 10, Some(19.0))]
    );
    assert_eq!(viewed.model.rows(1)[0].cells[0].and_then(Value::number), Some(19.0));
    // The table stays at the cursor.
    let effects = press(&mut viewed.model, KeyCode::Left);
    viewed.order(effects);
    viewed.until(|model| model.sources[0].looked.is_some());
    write(&mut source, &mut writer, 2);
    viewed.until(|model| Viewed::times(model) == 13);
    assert_eq!(viewed.model.rows(1)[0].cells[0].and_then(Value::number), Some(19.0));
    press(&mut viewed.model, KeyCode::End);
    assert_eq!(viewed.model.rows(1)[0].cells[0].and_then(Value::number), Some(23.0));
    drop(writer);
    // Another recording of this name has other times.
    let mut options = RecordingOptions::new();
    options.replaces = true;
    let mut writer = RecordingWriter::open(&path, "x", &options).unwrap();
    write(&mut blocks("HOST", 16), &mut writer, 3);
    viewed.until(|model| Viewed::times(model) == 3);
    assert_eq!(viewed.seen().1[0].2, Some(35.0));
    viewed.end();
    drop(writer);
    std::fs::remove_file(&path).unwrap();
}
