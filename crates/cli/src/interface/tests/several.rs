//! Several sources side by side.

use super::*;

/// A model of two machines that have both seen so many seconds of the script, the second half a second later.
pub(super) fn model_of_two(view: View, seconds: i64) -> Model {
    let sources = vec![Seen::new("local:", "WEB-01", true), Seen::new("file:b.phr", "DB-02", true)];
    let mut model = Model::new(view, sources, Duration::from_secs(1));
    model.zone = TimeZone::UTC;
    let mut scripts = [Script::new(), Script::new()];
    for second in 0..seconds {
        for (number, script) in scripts.iter_mut().enumerate() {
            let mut sample = script.sample(second);
            sample.time.0 += number as i64 * FileTime::PER_SECOND / 2;
            model.update_from(number, Event::Samples(vec![sample], Duration::from_millis(1)));
        }
    }
    model
}

#[test]
fn two_machines_are_seen_side_by_side_under_their_names() {
    let mut view = view();
    view.panes[1].counters.push(Counter::new(CPU, 1));
    let mut model = model_of_two(view, 61);
    compare("two-machines.txt", &letters(&model, Theme::True, 100, 24));
    // The cursor goes through the samples of both.
    press(&mut model, KeyCode::Left);
    press(&mut model, KeyCode::Left);
    assert_eq!(model.cursor, Some(FileTime(NOON + 60 * FileTime::PER_SECOND)));
    // What one machine lacks is shown of the other, what both lack is a problem.
    let refuse = |model: &mut Model, source| {
        model.update_from(source, Event::Problem { path: CPU.into(), why: "no Processor".into() });
        model.problems.len()
    };
    assert_eq!(refuse(&mut model, 1), 0);
    assert_eq!(model.message, "DB-02: no Processor");
    assert_eq!(refuse(&mut model, 0), 1);
    let other = r"\\MAIL-03\Memory\Available Bytes".to_string();
    for source in [0, 1] {
        model.update_from(source, Event::Elsewhere(other.clone()));
    }
    assert!(model.message.contains("there are WEB-01, DB-02"), "{}", model.message);
    // The list has the objects of both, and those of each.
    assert_eq!(press(&mut model, KeyCode::Char('a')), [Effect::Browse]);
    for source in [0, 1] {
        model.update_from(source, Event::Tree(tree()));
    }
    types(&mut model, "avail");
    compare("two-machines-choose.txt", &letters(&model, Theme::True, 80, 12));
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Down);
    let chosen = r"\\DB-02\Memory\Available Bytes".to_string();
    assert_eq!(press(&mut model, KeyCode::Enter), [Effect::Try(chosen.clone())]);
    model.update_from(0, Event::Elsewhere(chosen.clone()));
    model.update_from(1, Event::Ready(chosen.clone()));
    assert!(model.view.paths().contains(&chosen));
    // The columns of a CSV file have the names of the machines, and a row for the time of each sample.
    let effects = command(&mut model, "csv out.csv");
    let [Effect::Write { text, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    let cpu = r"Processor\% Processor Time";
    assert_eq!(head, format!(r#"time,"\\WEB-01\{cpu}","\\DB-02\{cpu}""#));
    assert!(lines.next().unwrap().ends_with(','));
}

#[test]
fn each_live_source_is_recorded_to_a_file_of_its_own() {
    let mut model = model_of_two(view(), 3);
    model.sources[1].label = "DB/02".into();
    let effects = command(&mut model, "record x/all.phr");
    let order = |source, file: &str| Effect::Record { source, file: Some(file.into()) };
    assert_eq!(effects, [order(0, "x/all-WEB-01.phr"), order(1, "x/all-DB_02.phr")]);
    for (source, file) in [(0, "a.phr"), (1, "b.phr")] {
        model.update_from(source, Event::Recording(Some(file.into())));
    }
    assert_eq!(model.message, "recording to a.phr, b.phr");
    assert!(letters(&model, Theme::True, 100, 24).contains("recording 2 files"));
    // The same key ends both.
    let end = |source| Effect::Record { source, file: None };
    assert_eq!(press(&mut model, KeyCode::Char('r')), [end(0), end(1)]);
    model.update_from(0, Event::Recording(None));
    model.update_from(1, Event::Recording(None));
    assert_eq!(model.message, "recorded: perfhive view a.phr b.phr");
    // A recording is not recorded.
    model.sources[1].is_live = false;
    let effects = press(&mut model, KeyCode::Char('r'));
    let [Effect::Record { source: 0, file: Some(file) }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(file.ends_with("-WEB-01.phr"), "{file}");
    model.sources[0].is_live = false;
    assert_eq!(press(&mut model, KeyCode::Char('r')), []);
    assert!(model.message.contains("only live"), "{}", model.message);
}

#[test]
fn a_log_of_another_day_has_no_values_at_the_time_of_live_samples() {
    let mut view = view();
    view.panes.remove(1);
    let mut model = model_of_two(view, 0);
    let mut script = Script::new();
    for second in 0..10 {
        model.update_from(0, Event::Samples(vec![script.sample(second)], Duration::ZERO));
        let mut sample = script.sample(second);
        sample.time.0 -= 86_400 * FileTime::PER_SECOND;
        model.update_from(1, Event::Samples(vec![sample], Duration::ZERO));
    }
    let values = |model: &Model| -> Vec<bool> {
        let mut all: Vec<_> = model
            .entries(0)
            .iter()
            .map(|entry| (entry.source, model.value(entry).unwrap().is_ok()))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, is_there)| is_there).collect()
    };
    let machines = |model: &Model| -> Vec<usize> {
        model
            .rows(1)
            .iter()
            .map(|row| row.source)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    assert_eq!((values(&model), machines(&model)), (vec![true, false], vec![0]));
    command(&mut model, "jump 2026-11-23 12:00:05");
    assert_eq!((values(&model), machines(&model)), (vec![false, true], vec![1]));
    // A table of the other machine alone has no sample to wait for.
    let path = r"\\DB-02\Process(*)\% Processor Time";
    model.view.panes[1] = pane("Processes", Kind::Table, &[path]);
    press(&mut model, KeyCode::End);
    let screen = letters(&model, Theme::True, 100, 24);
    assert!(screen.contains("no sample at this time"), "{screen}");
    assert!(!screen.contains("waiting"), "{screen}");
}

#[test]
fn a_log_that_is_read_anew_beside_live_samples_keeps_the_shown_time() {
    let mut model = model_of_two(view(), 0);
    let mut script = Script::new();
    let mut old = script.sample(0);
    old.time.0 -= 86_400 * FileTime::PER_SECOND;
    let shown = old.time;
    let live = |second| Script::new().sample(second);
    model.sources[1].is_live = false;
    model.update_from(0, Event::Samples(vec![live(1)], Duration::ZERO));
    model.update_from(1, Event::Samples(vec![old.clone()], Duration::ZERO));
    model.update_from(1, Event::Loaded { every: 1 });
    (model.end, model.cursor) = (Some(shown), Some(shown));
    model.update_from(1, Event::Rewound);
    model.update_from(0, Event::Samples(vec![live(2)], Duration::ZERO));
    model.update_from(1, Event::Samples(vec![old], Duration::ZERO));
    model.update_from(1, Event::Loaded { every: 1 });
    model.update_from(0, Event::Samples(vec![live(3)], Duration::ZERO));
    assert_eq!((model.end, model.cursor), (Some(shown), Some(shown)));
}
