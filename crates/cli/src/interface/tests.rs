//! Tests of the interface without a terminal: whole screens, every key in every state, recordings compared
//! with live sources.

mod charts;
mod driver;
mod growing;
mod looks;
mod panes;
mod reasons;
mod recorded;
mod several;
mod time;
mod views;

use super::files::Existing;
use super::keys::BINDINGS;
use super::layout::{BUILT_IN, Counter, Kind, Pane, View};
use super::model::{Effect, Event, Mode, Model};
use super::sampling::{Order, Reader};
use super::seen::Seen;
use super::terminal::{Message, picture, screen};
use super::theme::Theme;
use super::tree::{Tree, TreeCounter, TreeObject};
use crate::session::Session;
use jiff::tz::TimeZone;
use perfhive::{
    Ask, Catalogue, CookedValue, CounterType, FileTime, Identity, InstanceLabel, InstanceRole,
    LanguageId, NoValue, Snapshot, Source, SourceError, TitleDatabase, TitleIndex,
};
use perfhive_view::axis::LineScale;
use perfhive_view::{Quantity, Sample, Value, What};
use ratatui_crossterm::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::time::Duration;

#[track_caller]
fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/golden/view").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).expect("the golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("the golden file");
    assert_eq!(text, expected, "{} (UPDATE=1 writes it anew)", path.display());
}

/// The text of a screen, without colours.
fn letters(model: &Model, theme: Theme, width: u16, height: u16) -> String {
    let buffer = screen(model, theme, width, height);
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer.cell((x, y)).map_or(" ", |cell| cell.symbol());
            line.push_str(symbol);
            x += crate::text::escape::width(symbol).max(1) as u16;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// 2026-11-24 12:00:00 UTC.
const NOON: i64 = 134_399_952_000_000_000;

/// A machine with values that this test determines.
struct Script {
    whats: Vec<(String, Arc<What>)>,
}

impl Script {
    fn new() -> Self {
        Self { whats: Vec::new() }
    }

    fn what(&mut self, path: &str, index: u32, unit: &'static str) -> Arc<What> {
        if let Some((_, what)) = self.whats.iter().find(|(known, _)| known == path) {
            return Arc::clone(what);
        }
        let parsed: perfhive::CounterPath = path.parse().unwrap();
        let counter_type = match unit {
            "B" => CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            "%" => CounterType::PERF_100NSEC_TIMER,
            _ => CounterType::PERF_COUNTER_RAWCOUNT,
        };
        let what = Arc::new(What {
            machine: "HOST".into(),
            object: parsed.object.to_string(),
            counter: parsed.counter.to_string(),
            index: TitleIndex(index),
            quantity: Quantity { counter_type: Some(counter_type), unit, is_identifier: false },
            scale: 0,
        });
        self.whats.push((path.to_string(), Arc::clone(&what)));
        what
    }

    fn value(
        &mut self,
        (path, index, unit): (&str, u32, &'static str),
        instance: Option<(&str, u64)>,
        number: Option<f64>,
    ) -> Value {
        let label =
            instance.map(|(name, _)| InstanceLabel { parent: None, name: name.into(), order: 0 });
        let identity = match instance {
            Some((_, id)) => Identity::Process { id, start: id },
            None => Identity::Single,
        };
        Value {
            path: path.into(),
            what: self.what(path, index, unit),
            is_wild: path.contains('*'),
            process: instance.map(|(_, id)| id as u32),
            instance: label,
            identity: Some(identity),
            role: InstanceRole::Single,
            text: None,
            value: number.map(CookedValue::Float).ok_or(NoValue::NeedsTwoSamples),
            weight: 1.0,
        }
    }

    /// The sample of a second: two totals and four processes, of which one ends and comes back.
    fn sample(&mut self, second: i64) -> Sample {
        let wave = |period: f64| (second as f64 / period * std::f64::consts::TAU).sin();
        let first = second > 0;
        let time = |number: f64| first.then_some(number);
        let cpu = (r"\Processor(_Total)\% Processor Time", 6, "%");
        let memory = (r"\Memory\Available Bytes", 24, "B");
        let mut values = vec![
            self.value(cpu, None, time(50.0 + 40.0 * wave(30.0))),
            self.value(memory, None, Some((6.0 + 2.0 * wave(50.0)) * 1e9)),
        ];
        let mut processes = vec![
            ("init", 1, 0, 0.5),
            ("bash", 20, 1, 5.0 + wave(20.0)),
            ("日本語ブラウザ", 31, 20, 64.25),
            ("esc\u{1b}[2J", 32, 20, 12.0),
        ];
        if !(20..30).contains(&second) {
            processes.push((
                "java",
                if second < 20 { 40 } else { 50 },
                1,
                30.0 + 10.0 * wave(15.0),
            ));
        }
        for (path, index, unit) in [
            (r"\Process(*)\% Processor Time", 6, "%"),
            (r"\Process(*)\Working Set", 180, "B"),
            (r"\Process(*)\Creating Process ID", 1410, ""),
        ] {
            for (name, id, parent, busy) in &processes {
                let number = match index {
                    6 => time(*busy),
                    180 => Some(*id as f64 * 1e6),
                    _ => Some(f64::from(*parent)),
                };
                values.push(self.value((path, index, unit), Some((*name, *id)), number));
            }
        }
        Sample { time: FileTime(NOON + second * FileTime::PER_SECOND), values }
    }
}

fn pane(title: &str, kind: Kind, paths: &[&str]) -> Pane {
    let counters = paths.iter().enumerate().map(|(place, path)| Counter::new(path, place));
    Pane { title: title.into(), kind, counters: counters.collect(), ..Pane::default() }
}

const CPU: &str = r"\Processor(_Total)\% Processor Time";
const MEMORY: &str = r"\Memory\Available Bytes";
const PROCESSES: [&str; 3] = [
    r"\Process(*)\% Processor Time",
    r"\Process(*)\Working Set",
    r"\Process(*)\Creating Process ID",
];

fn view() -> View {
    View {
        name: "mine".into(),
        seconds: Some(60.0),
        panes: vec![
            pane("Processor", Kind::Chart, &[CPU]),
            pane("Memory", Kind::Chart, &[MEMORY]),
            Pane { sort: Some(0), ..pane("Processes", Kind::Table, &PROCESSES) },
        ],
        ..View::default()
    }
}

/// A model that has seen so many seconds of the script.
fn model(view: View, seconds: i64) -> Model {
    model_of(view, &mut Script::new(), seconds)
}

fn model_of(view: View, script: &mut Script, seconds: i64) -> Model {
    let mut model = Model::new(view, vec![Seen::new("local:", "", true)], Duration::from_secs(1));
    model.zone = TimeZone::UTC;
    for second in 0..seconds {
        model.update(Event::Samples(vec![script.sample(second)], Duration::from_micros(1500)));
    }
    model
}

fn press(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    model.update(Event::Key(KeyEvent::from(code)))
}

fn types(model: &mut Model, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|c| press(model, KeyCode::Char(c))).collect()
}

fn command(model: &mut Model, text: &str) -> Vec<Effect> {
    types(model, &format!(":{text}"));
    press(model, KeyCode::Enter)
}

fn tree() -> Arc<Tree> {
    let counter = |name: &str, search: &str, help: &str| TreeCounter {
        name: name.into(),
        search: search.into(),
        help: help.into(),
        facts: vec!["Unit     %".into()],
        on_request: false,
    };
    let object = |name: &str, has_instances, is_costly, counters| TreeObject {
        source: None,
        name: name.into(),
        search: name.to_lowercase(),
        help: format!("The object {name}."),
        is_costly,
        has_instances,
        counters,
    };
    Arc::new(Tree {
        objects: vec![
            object(
                "Memory",
                false,
                false,
                vec![counter(
                    "Available Bytes",
                    "available bytes\nverfügbare bytes",
                    "Memory that programs can have without swapping.",
                )],
            ),
            object(
                "Process",
                true,
                false,
                vec![counter(
                    "% Processor Time",
                    "% processor time\nprozessorzeit",
                    "Processor time of all threads of the process.",
                )],
            ),
            object(
                "Process Address Space",
                true,
                true,
                vec![counter("Bytes Image Free", "bytes image free", "")],
            ),
        ],
    })
}

#[test]
fn charts_and_tables_share_the_screen() {
    let mut model = model(view(), 61);
    compare("three-panes-80x24.txt", &letters(&model, Theme::True, 80, 24));
    compare("three-panes-120x40.txt", &letters(&model, Theme::True, 120, 40));
    compare("three-panes-40x12.txt", &letters(&model, Theme::Sixteen, 40, 12));
    compare("three-panes-plain.txt", &letters(&model, Theme::Plain, 80, 24));
    press(&mut model, KeyCode::Enter);
    press(&mut model, KeyCode::Left);
    for _ in 0..20 {
        press(&mut model, KeyCode::Left);
    }
    compare("full-with-cursor.txt", &letters(&model, Theme::True, 80, 24));
}

#[test]
fn a_process_that_comes_back_goes_on_in_its_line() {
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &PROCESSES[..1])];
    let mut model = model(view, 61);
    let entries = model.entries(0);
    let java: Vec<_> = entries.iter().filter(|entry| entry.name == "java").collect();
    assert_eq!(java.len(), 1);
    compare("comes-back.txt", &letters(&model, Theme::True, 80, 24));
    // While the process is away, the reason stands in place of its value.
    model.cursor = Some(FileTime(NOON + 25 * FileTime::PER_SECOND));
    for _ in 0..4 {
        press(&mut model, KeyCode::Down);
    }
    let screen = letters(&model, Theme::True, 80, 24);
    let line = screen.lines().find(|line| line.contains("java")).unwrap();
    assert!(line.ends_with("gone"), "{screen}");
}

#[test]
fn a_table_is_sorted_filtered_and_shown_as_a_tree() {
    let mut view = view();
    view.panes = vec![Pane { sort: Some(0), ..pane("Processes", Kind::Table, &PROCESSES) }];
    let mut model = model(view, 31);
    model.view.panes[0].counters[0].threshold = Some(50.0);
    compare("table.txt", &letters(&model, Theme::True, 80, 12));
    let names = |model: &Model| -> Vec<String> {
        model.rows(0).iter().map(|row| format!("{}{}", "  ".repeat(row.depth), row.name)).collect()
    };
    press(&mut model, KeyCode::Char('R'));
    assert_eq!(names(&model)[0], "init");
    press(&mut model, KeyCode::Char('t'));
    assert_eq!(
        names(&model),
        ["init", "  bash", "    esc\\x1b[2J", "    日本語ブラウザ", "  java",]
    );
    compare("tree.txt", &letters(&model, Theme::True, 80, 12));
    types(&mut model, "/ja");
    assert_eq!(names(&model), ["java"]);
    press(&mut model, KeyCode::Enter);
    assert!(matches!(model.mode, Mode::Normal));
    press(&mut model, KeyCode::Esc);
    // The largest two, also in a tree.
    press(&mut model, KeyCode::Char('R'));
    command(&mut model, "top 2");
    assert_eq!(names(&model), ["日本語ブラウザ", "java"]);
    command(&mut model, "top x");
    assert!(model.message.contains("1 at least"), "{}", model.message);
    // A chart that is made of a row has the path of the row's instance.
    press(&mut model, KeyCode::Char('g'));
    let effects = press(&mut model, KeyCode::Char('l'));
    let paths = effects.into_iter().find_map(|effect| match effect {
        Effect::Paths(paths) => Some(paths),
        _ => None,
    });
    assert_eq!(paths.unwrap().last().unwrap(), r"\Process(日本語ブラウザ)\% Processor Time");
    assert_eq!(model.view.panes[1].title, "Chosen");
}

#[test]
fn histogram_report_and_overlays() {
    let mut view = view();
    view.panes = vec![
        pane("Bars", Kind::Histogram, &PROCESSES[..1]),
        pane("Numbers", Kind::Report, &[CPU, MEMORY, r"\No\Such"]),
    ];
    let mut model = model(view, 31);
    model.update(Event::Problem { path: r"\No\Such".into(), why: "no object \"No\"".into() });
    press(&mut model, KeyCode::Tab);
    compare("histogram-report.txt", &letters(&model, Theme::True, 80, 24));
    press(&mut model, KeyCode::Char('?'));
    compare("keys.txt", &letters(&model, Theme::True, 80, 24));
    press(&mut model, KeyCode::Esc);
    assert_eq!(press(&mut model, KeyCode::Char('a')), [Effect::Browse]);
    model.update(Event::Tree(tree()));
    compare("choose.txt", &letters(&model, Theme::True, 80, 12));
    types(&mut model, "prozessorzeit");
    compare("choose-found.txt", &letters(&model, Theme::True, 80, 12));
    // Help texts go back to the list.
    press(&mut model, KeyCode::Tab);
    assert!(matches!(model.mode, Mode::Text(..)));
    press(&mut model, KeyCode::Esc);
    compare("choose-found.txt", &letters(&model, Theme::True, 80, 12));
    assert_eq!(press(&mut model, KeyCode::Enter), [Effect::Instances(1, "Process".into(), None)]);
    model.update(Event::Instances(1, vec!["bash".into(), "java#1".into()]));
    compare("choose-instance.txt", &letters(&model, Theme::True, 80, 12));
    press(&mut model, KeyCode::End);
    let effects = press(&mut model, KeyCode::Enter);
    assert_eq!(effects, [Effect::Try(r"\Process(java#1)\% Processor Time".into())]);
    // A costly path is added only after its cost was shown.
    model.update(Event::Costly {
        path: r"\Costly\X".into(),
        object: "Costly".into(),
        took: Duration::from_millis(50),
        values: 1234,
    });
    compare("costly.txt", &letters(&model, Theme::True, 80, 12));
    press(&mut model, KeyCode::Char('n'));
    assert!(!model.view.paths().contains(&r"\Costly\X".to_string()));
    // Paths to one object are one question, which waits until a command is typed.
    types(&mut model, ":top");
    for (path, object) in [(r"\A\X", "A"), (r"\B\X", "B"), (r"\A\Y", "A")] {
        let (path, object) = (path.to_string(), object.to_string());
        model.update(Event::Costly { path, object, took: Duration::from_millis(1), values: 1 });
    }
    press(&mut model, KeyCode::Enter);
    let screen = letters(&model, Theme::True, 80, 12);
    assert!(screen.contains(r"\A\X") && screen.contains(r"\A\Y"), "{screen}");
    press(&mut model, KeyCode::Char('y'));
    press(&mut model, KeyCode::Char('n'));
    let paths = model.view.paths();
    assert_eq!(paths[paths.len() - 2..], [r"\A\X", r"\A\Y"]);
    assert!(matches!(model.mode, Mode::Normal));
    model.update(Event::Ready(r"\Costly\X".into()));
    assert!(model.view.paths().contains(&r"\Costly\X".to_string()));
}

#[test]
fn the_selected_counter_is_explained() {
    let mut model = model(view(), 3);
    press(&mut model, KeyCode::Tab);
    assert_eq!(press(&mut model, KeyCode::Char('e')), [Effect::Browse]);
    model.update(Event::Tree(tree()));
    let Mode::Text(title, lines, _) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(title, r"Memory\Available Bytes");
    assert_eq!(lines[0], "Memory that programs can have without swapping.");
}

#[test]
fn a_counter_has_colour_marker_scale_and_visibility() {
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[CPU, MEMORY])];
    let mut model = model(view, 31);
    let screen_of = |model: &Model| letters(model, Theme::True, 80, 24);
    assert!(screen_of(&model).contains("×10^-8"), "{}", screen_of(&model));
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Char('<'));
    assert_eq!(model.view.panes[0].counters[1].scale, LineScale::Power(-9));
    assert!(screen_of(&model).contains("×10^-9"));
    command(&mut model, "colour green");
    command(&mut model, "marker @");
    press(&mut model, KeyCode::Char('v'));
    let counter = model.view.panes[0].counters[1].clone();
    assert_eq!((counter.colour, counter.marker, counter.is_visible), (2, '@', false));
    command(&mut model, "colour mauve");
    assert!(model.message.contains("orange"), "{}", model.message);
    press(&mut model, KeyCode::Char('h'));
    assert!(model.states[0].is_highlighted);
    // The settings are saved, and read again.
    let effects = command(&mut model, "save x.toml");
    let [Effect::Write { text, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(View::parse(text).unwrap().panes[0].counters[1], counter);
    // The name of a view from elsewhere is no path.
    model.view.name = "../a/b".into();
    assert_eq!(press(&mut model, KeyCode::Char('w')), []);
    let effects = press(&mut model, KeyCode::Enter);
    let [Effect::Write { file, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(file, ".._a_b.toml");
    press(&mut model, KeyCode::Delete);
    assert_eq!(model.view.paths(), [CPU]);
}

#[test]
fn counters_are_copied_pasted_and_saved_as_csv() {
    let mut model = model(view(), 5);
    assert_eq!(press(&mut model, KeyCode::Char('y')), [Effect::Copy(CPU.into())]);
    assert_eq!(model.message, "copied 1 counter");
    let effects = model.update(Event::Paste("\"\\A\\B\"\r\n# not this\ncpu\n".into()));
    assert_eq!(effects, [Effect::Try(r"\A\B".into()), Effect::Try(CPU.into())]);
    // Terminals send a carriage return at the end of a line.
    let effects = model.update(Event::Paste("\\A\\B\rcpu\r".into()));
    assert_eq!(effects, [Effect::Try(r"\A\B".into()), Effect::Try(CPU.into())]);
    // One message tells what became of all of them.
    model.update(Event::Problem { path: r"\A\B".into(), why: "no object \"A\"".into() });
    model.update(Event::Ready(CPU.into()));
    let says = r#"1 of 2 pasted counters are in this pane; one is not: no object "A""#;
    assert_eq!(model.message, says);
    let many: Vec<String> = (0..70).map(|number| format!("\\A\\{number}\n")).collect();
    assert_eq!(model.update(Event::Paste(many.concat())).len(), 64);
    for number in 0..64 {
        model.update(Event::Problem { path: format!(r"\A\{number}"), why: "no".into() });
    }
    assert!(model.message.starts_with("0 of 70 pasted"), "{}", model.message);
    assert!(model.message.contains("; 70 are not, the first: a pane has"), "{}", model.message);
    types(&mut model, ":");
    model.update(Event::Paste("zz\rcpu".into()));
    assert!(matches!(&model.mode, Mode::Prompt(prompt) if prompt.text == "zz"));
    // One limit, in characters, holds for what is typed and what is pasted.
    types(&mut model, &"ä".repeat(500));
    model.update(Event::Paste("ä".repeat(2000)));
    types(&mut model, "z");
    let is_full = |text: &str| text.chars().count() == 1000 && text.ends_with('ä');
    assert!(matches!(&model.mode, Mode::Prompt(prompt) if is_full(&prompt.text)));
    press(&mut model, KeyCode::Esc);
    let effects = command(&mut model, "csv out.csv");
    let [Effect::Write { text, existing: Existing::Refused, .. }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], [r#"time,"Processor\% Processor Time""#, "2026-11-24T12:00:00.000Z,",]);
    assert_eq!(lines.len(), 6);
    // Without a name, the file has the times of its first and last sample, as they stand in it.
    let file = |effects: Vec<Effect>| match effects.as_slice() {
        [Effect::Write { file, text, .. }] => (file.clone(), text.lines().count()),
        _ => panic!("{effects:?}"),
    };
    let saved = file(press(&mut model, KeyCode::Char('W')));
    assert_eq!(saved, ("perfhive-20261124T120000Z-20261124T120004Z.csv".into(), 6));
    press(&mut model, KeyCode::Left);
    command(&mut model, "span 2s");
    let saved = file(press(&mut model, KeyCode::Char('W')));
    assert_eq!(saved, ("perfhive-20261124T120002Z-20261124T120004Z.csv".into(), 4));
    // A table has the rows of one time.
    press(&mut model, KeyCode::BackTab);
    press(&mut model, KeyCode::Left);
    let saved = file(press(&mut model, KeyCode::Char('W')));
    assert_eq!(saved, ("perfhive-20261124T120003.000Z.csv".into(), 6));
    // What is forgotten of a recording would not be read again.
    model.sources[0].is_live = false;
    press(&mut model, KeyCode::Char('x'));
    assert!(model.message.contains("live sources"), "{}", model.message);
    assert_eq!(model.sources[0].past.times().len(), 5);
    model.sources[0].is_live = true;
    press(&mut model, KeyCode::Char('x'));
    assert_eq!((model.message.as_str(), model.sources[0].past.times().len()), ("", 0));
    model.sources[0].latest = Sample::default();
    assert_eq!(press(&mut model, KeyCode::Char('W')), []);
    assert!(model.message.contains("no sample"), "{}", model.message);
}

#[test]
fn a_settings_file_that_cannot_be_read_is_shown_with_the_place() {
    let mut model = model(view(), 3);
    let text = "name = 'x'\n\n[[pane]]\nkind = \"pie\"\n";
    let why = View::parse(text).unwrap_err();
    model.update(Event::Refused { file: "mine.toml".into(), why });
    let screen = letters(&model, Theme::True, 80, 24);
    for part in ["mine.toml", "line 4, column 8", "4 | kind = \"pie\"", "^^^^^"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

#[test]
fn commands_are_completed_and_mistakes_are_told() {
    let mut model = model(view(), 3);
    types(&mut model, ":vi");
    press(&mut model, KeyCode::Tab);
    types(&mut model, "ew d");
    // Tab takes the first completion: view, then disk.
    press(&mut model, KeyCode::Esc);
    types(&mut model, ":view d");
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.view.name, "disk");
    command(&mut model, "vew");
    assert!(model.message.contains("did you mean \"view\""), "{}", model.message);
    // A long message has several lines, so that its end can be read.
    model.update(Event::Note(format!("{}the end", "a long message ".repeat(9))));
    let screen = letters(&model, Theme::True, 80, 24);
    let last: Vec<&str> = screen.lines().skip(22).collect();
    assert!(last[0].starts_with("a long message a") && last[1].ends_with("the end"), "{screen}");
    for (wrong, why) in [("1ms", "at least 50 ms"), ("100000", "at most"), ("nan", "expected")] {
        command(&mut model, &format!("interval {wrong}"));
        assert!(model.message.contains(why), "{}", model.message);
    }
    // Each further Tab takes the next completion, and begins anew behind the last.
    types(&mut model, ":co");
    for expected in ["colour", "compare", "copy", "colour"] {
        press(&mut model, KeyCode::Tab);
        assert!(matches!(&model.mode, Mode::Prompt(prompt) if prompt.text == expected));
    }
    types(&mut model, " gre");
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.view.panes[0].counters[0].colour, 2, "{}", model.message);
    // The names of the source are asked for where a path begins, and found in any case.
    assert_eq!(types(&mut model, ":add "), [Effect::Browse]);
    types(&mut model, r"\proc");
    model.update(Event::Tree(tree()));
    press(&mut model, KeyCode::Tab);
    types(&mut model, "% p");
    press(&mut model, KeyCode::Tab);
    assert_eq!(press(&mut model, KeyCode::Enter), [Effect::Try(PROCESSES[0].into())]);
    // No shell puts the home folder in place of a tilde.
    if let Some(home) = std::env::home_dir() {
        let effects = command(&mut model, "screenshot ~/a.svg");
        let file = home.join("a.svg").display().to_string();
        assert_eq!(effects, [Effect::Screenshot(file, Existing::Refused)]);
    }
    let effects = command(&mut model, "screenshot ~a.svg");
    assert_eq!(effects, [Effect::Screenshot("~a.svg".into(), Existing::Refused)]);
    assert_eq!(
        command(&mut model, "interval 250ms"),
        [Effect::Interval(Duration::from_millis(250))]
    );
}

#[test]
fn a_built_in_view_leaves_out_what_the_source_lacks() {
    for name in BUILT_IN {
        let view = View::built_in(name).unwrap();
        for path in view.paths() {
            assert!(path.parse::<perfhive::CounterPath>().is_ok(), "{path}");
        }
        let mut model = model(view.clone(), 1);
        let all = view.paths();
        for path in &all[1..] {
            model.update(Event::Problem { path: path.clone(), why: "no".into() });
        }
        assert_eq!(model.view.paths(), all[..1]);
        // A counter that the user types is none of the view's.
        model.update(Event::Problem { path: r"\Nope\Nix".into(), why: "no object".into() });
        assert_eq!((model.message.as_str(), model.view.paths().len()), ("no object", 1));
        letters(&model, Theme::True, 80, 24);
        model.update(Event::Problem { path: all[0].clone(), why: "no".into() });
        assert!(model.message.contains("none of the counters"), "{}", model.message);
        letters(&model, Theme::True, 80, 24);
    }
}

#[test]
fn the_mouse_selects_sorts_marks_and_scrolls() {
    let mut model = model(view(), 301);
    let draw = |model: &mut Model| {
        use ratatui_core::{backend::TestBackend, terminal::Terminal};
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let mut hits = Vec::new();
        terminal.draw(|frame| hits = super::draw::draw(model, Theme::True, frame)).unwrap();
        model.hits = hits;
    };
    let mouse = |model: &mut Model, kind, column, row| {
        draw(model);
        let modifiers = KeyModifiers::NONE;
        model.update(Event::Mouse(MouseEvent { kind, column, row, modifiers }))
    };
    let click = MouseEventKind::Down(MouseButton::Left);
    // A drag in the first chart marks a span.
    mouse(&mut model, click, 15, 3);
    assert!(model.cursor.is_some());
    mouse(&mut model, MouseEventKind::Drag(MouseButton::Left), 25, 3);
    mouse(&mut model, MouseEventKind::Up(MouseButton::Left), 25, 3);
    assert!(model.spans[0].is_some());
    mouse(&mut model, MouseEventKind::ScrollUp, 15, 3);
    assert!(model.end.is_some());
    // The title of a column sorts the table, a click selects a row, a click on a key at the bottom presses it.
    let screen = letters(&model, Theme::True, 80, 24);
    let (line, text) =
        screen.lines().enumerate().find(|(_, line)| line.contains("Working Set")).unwrap();
    let column = crate::text::escape::width(&text[..text.find("Working Set").unwrap()]) as u16;
    mouse(&mut model, click, column, line as u16);
    assert_eq!((model.focus, model.view.panes[2].sort), (2, Some(1)));
    mouse(&mut model, click, 10, line as u16 + 2);
    assert_eq!(model.states[2].selected, 1);
    mouse(&mut model, click, 0, 23);
    assert!(matches!(model.mode, Mode::Help(_)));
}

#[test]
fn a_screenshot_has_the_words_of_the_screen() {
    let model = model(view(), 31);
    let svg = picture(&screen(&model, Theme::Indexed, 80, 24)).svg();
    for word in ["perfhive", "Processor", "日本語ブラウザ", "12:00:30"] {
        assert!(svg.contains(word), "{word}");
    }
    assert!(!svg.contains('\u{1b}'));
}
