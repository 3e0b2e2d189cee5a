//! Views that are left and shown again.

use super::*;

/// The paths that the effects ask for.
fn paths(effects: &[Effect]) -> Vec<String> {
    let found = effects.iter().find_map(|effect| match effect {
        Effect::Paths(paths) => Some(paths.clone()),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn a_look_at_another_view_and_back_keeps_what_was_seen() {
    let mut script = Script::new();
    let mut model = model_of(view(), &mut script, 30);
    command(&mut model, "span 20s");
    press(&mut model, KeyCode::Char('h'));
    // The other view has these counters, too, so that a sample has all of them.
    let asked = paths(&press(&mut model, KeyCode::Char('4')));
    assert_eq!(model.view.name, "disk");
    let disk = View::built_in("disk").unwrap().paths();
    assert!(disk.iter().chain(&view().paths()).all(|path| asked.contains(path)), "{asked:?}");
    // What it lacks is taken out of it, and not told once it is left.
    model.update(Event::Problem { path: disk[0].clone(), why: "no disk".into() });
    for second in 30..40 {
        model.update(Event::Samples(vec![script.sample(second)], Duration::ZERO));
    }
    assert_eq!(paths(&press(&mut model, KeyCode::Backspace))[..2], [CPU, MEMORY]);
    model.update(Event::Problem { path: disk[1].clone(), why: "no disk".into() });
    assert_eq!((model.view.name.as_str(), model.message.as_str()), ("mine", ""));
    assert!(model.states[0].is_highlighted);
    assert_eq!(model.seconds, Some(20.0));
    let window = model.span().unwrap();
    let entries = model.entries(0);
    // The first sample has no value, since it takes two.
    assert_eq!(model.summary(&entries[0], window).unwrap().count, 39);
    command(&mut model, "jump 12:00:35");
    assert_eq!(model.rows(2).len(), 5);
    press(&mut model, KeyCode::End);
    // The view with a name of its own is found by it; that of a key is shown anew by pressing it twice.
    command(&mut model, "view disk");
    command(&mut model, "view mine");
    assert_eq!(model.view.name, "mine");
    press(&mut model, KeyCode::Char('1'));
    press(&mut model, KeyCode::Char('d'));
    let changed = model.view.clone();
    press(&mut model, KeyCode::Char('4'));
    press(&mut model, KeyCode::Char('1'));
    assert_eq!(model.view, changed);
    press(&mut model, KeyCode::Char('1'));
    assert_eq!(model.view, View::built_in("overview").unwrap());
    command(&mut model, "view mne");
    assert!(model.message.contains("containers, mine"), "{}", model.message);
    // Only the shown view is collected for once all is forgotten; the others stay.
    let asked = paths(&press(&mut model, KeyCode::Char('x')));
    assert_eq!(asked, model.view.paths());
    press(&mut model, KeyCode::Backspace);
    assert_eq!(model.view.name, "disk");
}

#[test]
fn views_that_were_left_give_their_room_to_the_shown_one() {
    let path = PROCESSES[0];
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[path])];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    let many = |script: &mut Script, path, second| {
        let value = |id: u64| {
            let name = format!("process {id}");
            script.value((path, 6, "%"), Some((&name, id)), Some(1.0))
        };
        let values = (1..perfhive_view::past::MOST_LINES as u64).map(value).collect();
        Sample { time: FileTime(NOON + second * FileTime::PER_SECOND), values }
    };
    model.update(Event::Samples(vec![many(&mut script, path, 0)], Duration::ZERO));
    // One that lacks lines itself takes nothing of the shown one.
    press(&mut model, KeyCode::Char('4'));
    let mut sample = many(&mut script, path, 0);
    sample.values.extend(many(&mut script, path, 0).values);
    sample.values.iter_mut().zip(1..).for_each(|(value, id)| {
        value.identity = script.value((path, 6, "%"), Some(("other", id)), Some(1.0)).identity;
    });
    assert!(model.update(Event::Samples(vec![sample], Duration::ZERO)).is_empty());
    press(&mut model, KeyCode::Char('5'));
    let other = r"\Network Interface(*)\Bytes Received/sec";
    let mut asked = None;
    for second in 1..3 {
        let sample = many(&mut script, other, second);
        let effects = model.update(Event::Samples(vec![sample], Duration::ZERO));
        asked = asked.or((!effects.is_empty()).then(|| paths(&effects)));
        // Until the next sample is there, both views have lines, and those without one are counted.
        let screen = letters(&model, Theme::True, 80, 24);
        assert_eq!(screen.contains("383 lines not kept"), second == 1, "{screen}");
    }
    assert!(!asked.unwrap().iter().any(|asked| asked == path));
    let lines = model.sources[0].past.lines();
    assert_eq!(lines.len(), perfhive_view::past::MOST_LINES - 1);
    assert!(lines.iter().all(|line| *line.path == *other));
    // The view is there all the same.
    command(&mut model, "view mine");
    assert_eq!(paths(&model.update(Event::Key(KeyCode::Char('x').into()))), [path]);
}
