//! The colours and the markers of lines.

use super::several::model_of_two;
use super::*;
use std::collections::HashSet;

/// A line by its counter, instance and source, and its look.
type Looked = ((String, Option<String>, usize), (u8, char));

/// The lines of the first pane, each with its look, in the order of the legend.
fn looks(model: &Model) -> Vec<Looked> {
    let entries = model.entries(0).into_iter();
    let looks = entries.filter_map(|entry| {
        let line = entry.line?;
        let key = (line.path.to_string(), line.instance.clone(), entry.source);
        Some((key, (entry.colour, entry.marker)))
    });
    looks.collect()
}

#[track_caller]
fn differ(model: &Model, lines: usize) {
    let looks = looks(model);
    let different: HashSet<_> = looks.iter().map(|(_, look)| look).collect();
    assert_eq!((looks.len(), different.len()), (lines, lines), "{looks:?}");
}

#[test]
fn no_line_of_a_chart_looks_like_another() {
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[PROCESSES[0], PROCESSES[1], CPU])];
    let mut script = Script::new();
    let mut model = model_of(view.clone(), &mut script, 3);
    differ(&model, 11);
    // A line that comes later changes no other one.
    let before = looks(&model);
    let mut sample = script.sample(3);
    let value = script.value((PROCESSES[0], 6, "%"), Some(("late", 99)), Some(1.0));
    sample.values.insert(0, value);
    model.update(Event::Samples(vec![sample], Duration::ZERO));
    differ(&model, 12);
    assert!(before.iter().all(|one| looks(&model).contains(one)), "{before:?}");
    // The lines of two machines differ, too.
    differ(&model_of_two(view.clone(), 3), 22);
    // Nor does a counter that is added, as long as there is a colour for it.
    view.panes[0].counters.truncate(1);
    let mut model = model_of(view, &mut script, 3);
    let before = looks(&model);
    model.update(Event::Ready(MEMORY.into()));
    model.update(Event::Samples(vec![script.sample(4)], Duration::ZERO));
    let colours = |model: &Model| -> HashSet<u8> {
        looks(model).into_iter().map(|(_, look)| look.0).collect()
    };
    assert_eq!(colours(&model).len(), 6);
    assert!(before.iter().all(|one| looks(&model).contains(one)), "{before:?}");
    // A colour that a counter gets is left by the line that had it.
    press(&mut model, KeyCode::Char('o'));
    assert_eq!((model.view.panes[0].counters[0].colour, colours(&model).len()), (1, 6));
}

#[test]
fn instances_that_ended_before_the_shown_time_make_room_for_others() {
    let path = PROCESSES[0];
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[path])];
    view.seconds = Some(10.0);
    let (mut script, mut model) = (Script::new(), model(view, 0));
    let mut before = None;
    for second in 0..100 {
        // One process in each second, and one that stays.
        let names = [("stays".to_string(), 1), (format!("short {second}"), second + 2)];
        let value = |(name, id): &(String, u64)| {
            script.value((path, 6, "%"), Some((name.as_str(), *id)), Some(1.0))
        };
        let values = names.iter().map(value).collect();
        let time = FileTime(NOON + second as i64 * FileTime::PER_SECOND);
        model.update(Event::Samples(vec![Sample { time, values }], Duration::ZERO));
        // The line of a process keeps its look.
        let all = looks(&model);
        let newest = all.iter().find(|((_, name, _), _)| *name == Some(format!("short {second}")));
        assert!(newest.is_some() && before.is_none_or(|before| all.contains(&before)), "{all:?}");
        before = newest.cloned();
    }
    // Those of the last eleven seconds, the one that has just ended before, and the one that stays.
    assert_eq!(looks(&model).len(), 13);
    command(&mut model, "jump 12:00:20");
    assert!(letters(&model, Theme::True, 80, 40).contains("short 20"));
    // Only the lines of those that are there are left when all is forgotten.
    press(&mut model, KeyCode::End);
    press(&mut model, KeyCode::Char('x'));
    let mut end = |second: i64| {
        let time = FileTime(NOON + second * FileTime::PER_SECOND);
        model.update(Event::Samples(vec![Sample { time, values: Vec::new() }], Duration::ZERO));
        looks(&model).len()
    };
    // The first line says that all have ended.
    assert_eq!((end(100), end(150)), (2, 1));
    assert!(letters(&model, Theme::True, 80, 40).contains("gone"));
}

#[test]
fn of_many_instances_the_largest_have_lines() {
    let path = PROCESSES[0];
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[path])];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    let mut value = |id: u64, busy| {
        let name = format!("process {id}");
        script.value((path, 6, "%"), Some((&name, id)), Some(busy))
    };
    let values = (1..101).map(|id| value(id, if id == 90 { 80.0 } else { 0.0 })).collect();
    model.update(Event::Samples(vec![Sample { time: FileTime(NOON), values }], Duration::ZERO));
    let all = looks(&model);
    let names: Vec<&str> = all.iter().filter_map(|((_, name, _), _)| name.as_deref()).collect();
    assert_eq!((names.len(), names[0], names[63]), (64, "process 90", "process 63"));
    let screen = letters(&model, Theme::True, 80, 24);
    assert!(screen.contains(" 36 smaller not shown "), "{screen}");
    // A histogram of so many has the largest first, too; few bars keep their places.
    model.view.panes[0].kind = Kind::Histogram;
    let screen = letters(&model, Theme::True, 80, 24);
    assert!(screen.contains(" 43 more, 36 smaller not shown "), "{screen}");
    assert!(screen.lines().nth(2).unwrap().contains("process 90 "), "{screen}");
    model.view.panes[0].kind = Kind::Chart;
    // Those that are not shown have no looks, from the first sample on and once others are the largest.
    differ(&model, 64);
    let before = looks(&model);
    let values: Vec<_> = (1..101).map(|id| value(id, if id < 80 { 0.0 } else { 1.0 })).collect();
    let time = FileTime(NOON + FileTime::PER_SECOND);
    model.update(Event::Samples(vec![Sample { time, values }], Duration::ZERO));
    differ(&model, 64);
    let stay = looks(&model).iter().filter(|one| before.contains(one)).count();
    assert_eq!(stay, 44);
}

#[test]
fn lines_of_one_colour_have_their_markers_in_the_chart() {
    let path = r"\Process(*)\% Processor Time";
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[path])];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    for second in 0..61 {
        let value = |id: u64| {
            let name = format!("process {id}");
            script.value((path, 6, "%"), Some((&name, id + 1)), Some(id as f64))
        };
        let values = (0..10).map(value).collect();
        let time = FileTime(NOON + second * FileTime::PER_SECOND);
        model.update(Event::Samples(vec![Sample { time, values }], Duration::ZERO));
    }
    let buffer = screen(&model, Theme::True, 80, 24);
    let cells = (2..15).flat_map(|y| (12..79).map(move |x| (x, y)));
    let drawn: Vec<&str> = cells.filter_map(|at| Some(buffer.cell(at)?.symbol())).collect();
    let count = |marker: &str| drawn.iter().filter(|symbol| **symbol == marker).count();
    // The ninth and the tenth line have the colours of the first and the second, which the legend has below them.
    assert!(count("*") > 3 && count("+") > 3, "{}", letters(&model, Theme::True, 80, 24));
    assert_eq!(["o", "x", "#", "%", "@", "="].map(count), [0; 6]);
}

#[test]
fn a_message_that_is_cut_off_ends_with_an_ellipsis() {
    let mut model = model(view(), 31);
    let last = |model: &Model| {
        letters(model, Theme::True, 80, 24).lines().last().unwrap_or_default().to_string()
    };
    model.message = "word ".repeat(4 * 16).trim_end().into();
    assert!(last(&model).ends_with("word"), "{}", last(&model));
    model.message += " end";
    assert!(last(&model).ends_with(" word…"), "{}", last(&model));
    // A line without room for a further character gives up its last one.
    model.message = "0123456789".repeat(33);
    assert!(last(&model).ends_with("678…"), "{}", last(&model));
}
