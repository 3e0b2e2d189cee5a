//! What is said where a counter, a value or a sample is missing, and the names of lines.

use super::*;

#[test]
fn counters_that_do_not_exist_show_why_in_place_of_a_chart() {
    for kind in [Kind::Chart, Kind::Histogram, Kind::Table] {
        let mut view = view();
        view.panes = vec![pane("", kind, &[r"\Nope\Nix"])];
        let mut model = model(view, 0);
        assert!(letters(&model, Theme::True, 80, 24).contains("waiting for the first sample"));
        let why = "no object \"Nope\"".to_string();
        model.update(Event::Problem { path: r"\Nope\Nix".into(), why });
        let screen = letters(&model, Theme::True, 80, 24);
        let reason = screen.lines().nth(if kind == Kind::Table { 3 } else { 2 }).unwrap();
        assert!(reason.contains("no object \"Nope\""), "{screen}");
        assert!(!screen.contains("waiting"), "{screen}");
        // Without a sample there is no time for the names of files.
        let record = Effect::Record { source: 0, file: Some("perfhive.phr".into()) };
        assert_eq!(press(&mut model, KeyCode::Char('r')), [record]);
        assert_eq!(
            press(&mut model, KeyCode::Char('p')),
            [Effect::Screenshot("perfhive.svg".into(), Existing::Numbered)]
        );
    }
}

#[test]
fn a_value_that_a_log_left_blank_is_told_in_a_narrow_legend() {
    let mut view = view();
    view.panes.truncate(1);
    let mut script = Script::new();
    let mut model = model_of(view, &mut script, 3);
    let mut sample = script.sample(3);
    let why = perfhive::format::CookError::NotFinite;
    sample.values[0].value = Err(NoValue::Cook(why));
    model.update(Event::Samples(vec![sample], Duration::ZERO));
    let screen = letters(&model, Theme::True, 60, 24);
    assert!(screen.contains("no value was recorded"), "{screen}");
}

#[test]
fn a_path_that_has_no_instance_at_first_goes_on_in_the_line_of_its_first() {
    let mut view = view();
    let (cpu, java) = (PROCESSES[0], r"\Process(java)\% Processor Time");
    view.panes = vec![pane("", Kind::Chart, &[cpu, java])];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    let lacking = |script: &mut Script, path, why: NoValue| {
        let mut value = script.value((path, 6, "%"), None, None);
        (value.identity, value.value) = (None, Err(why));
        value
    };
    let mut note = |second: i64, values| {
        let time = FileTime(NOON + second * FileTime::PER_SECOND);
        model.update(Event::Samples(vec![Sample { time, values }], Duration::ZERO));
        letters(&model, Theme::True, 80, 24)
    };
    let paths = [cpu, java];
    let none = paths.map(|path| lacking(&mut script, path, NoValue::NoSuchInstance)).to_vec();
    let screen = note(0, none);
    assert_eq!(screen.matches("no such instance").count(), 2, "{screen}");
    let some = [(cpu, "java", 40), (cpu, "bash", 20), (java, "java", 40)];
    let some =
        some.map(|(path, name, id)| script.value((path, 6, "%"), Some((name, id)), Some(5.0)));
    let screen = note(1, some.to_vec());
    assert_eq!(screen.matches("5.0 %").count(), 3 + 4, "{screen}");
    assert_eq!(
        (screen.matches("gone").count(), screen.matches(" java ").count()),
        (0, 2),
        "{screen}"
    );
    // A reason that all instances share is shown for each.
    let all = lacking(&mut script, cpu, NoValue::ObjectMissing(None));
    let screen = note(2, vec![all]);
    assert_eq!(screen.matches("the object is not in this sample").count(), 2, "{screen}");
}

#[test]
fn a_legend_of_one_instance_names_it() {
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[r"\Process(*)\Working Set"])];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    for second in 0..3 {
        let mut sample = script.sample(second);
        sample
            .values
            .retain(|one| one.instance.as_ref().is_none_or(|label| &*label.name == "bash"));
        model.update(Event::Samples(vec![sample], Duration::ZERO));
    }
    let screen = letters(&model, Theme::True, 80, 24);
    assert!(screen.contains("bash  Working Set"), "{screen}");
}

#[test]
fn a_table_says_why_the_selected_row_lacks_a_value() {
    let mut view = view();
    view.panes = vec![pane("", Kind::Table, &[r"\Process(*)\% Processor Time"])];
    let mut model = model(view, 1);
    let screen = letters(&model, Theme::True, 80, 24);
    let why = format!("-: {}", NoValue::NeedsTwoSamples);
    assert!(screen.contains(&why), "{screen}");
    model.update(Event::Samples(vec![Script::new().sample(1)], Duration::ZERO));
    let screen = letters(&model, Theme::True, 80, 24);
    assert!(!screen.contains("-: "), "{screen}");
}

#[test]
fn a_recording_without_samples_or_counters_says_so() {
    for kind in [Kind::Chart, Kind::Table] {
        let mut view = view();
        view.panes = vec![pane("", kind, &[CPU])];
        let mut model = model(view, 0);
        (model.sources[0].is_live, model.sources[0].is_loading) = (false, true);
        assert!(letters(&model, Theme::True, 80, 24).contains("waiting for the first sample"));
        model.update(Event::Loaded { every: 1 });
        let screen = letters(&model, Theme::True, 80, 24);
        assert!(screen.contains("no sample in the time"), "{screen}");
    }
    let mut model = model(View::built_in("memory").unwrap(), 0);
    for path in model.view.paths() {
        model.update(Event::Problem { path, why: "no object".into() });
    }
    press(&mut model, KeyCode::Down);
    let screen = letters(&model, Theme::True, 80, 24);
    assert!(screen.contains("none of this view's counters is in the source"), "{screen}");
}

#[test]
fn lines_without_an_instance_are_named_by_their_paths() {
    let paths = [r"\Process(aaa)\Working Set", r"\Process(bbb)\Working Set"];
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &paths)];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    let values = paths.map(|path| Value {
        value: Err(NoValue::NoSuchInstance),
        identity: None,
        ..script.value((path, 180, "B"), None, None)
    });
    let sample = Sample { time: FileTime(NOON), values: values.into() };
    model.update(Event::Samples(vec![sample], Duration::ZERO));
    let names: Vec<String> = model.entries(0).into_iter().map(|entry| entry.name).collect();
    assert!(names[0].contains("aaa") && names[1].contains("bbb"), "{names:?}");
}

#[test]
fn a_table_of_a_path_to_several_counters_has_a_row_for_each() {
    let path = r"\Processor(*)\% * Time";
    let mut view = view();
    view.panes = vec![pane("", Kind::Table, &[path])];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    let mut values = Vec::new();
    for (place, counter) in ["% User Time", "% Idle Time"].into_iter().enumerate() {
        let own = format!(r"\Processor(*)\{counter}");
        for (name, id) in [("0", 1), ("1", 2)] {
            let number = (10 * (place as u64 + 1) + id) as f64;
            let value = script.value((&own, place as u32, "%"), Some((name, id)), Some(number));
            values.push(Value { path: path.into(), ..value });
        }
    }
    let sample = Sample { time: FileTime(NOON), values };
    model.update(Event::Samples(vec![sample], Duration::ZERO));
    let effects = command(&mut model, "csv out.csv");
    let [Effect::Write { text, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    let mut rows: Vec<&str> = text.lines().collect();
    rows[1..].sort_unstable();
    let expected = [
        r#"instance,"\Processor(*)\% * Time""#,
        r#""0  % Idle Time",21"#,
        r#""0  % User Time",11"#,
        r#""1  % Idle Time",22"#,
        r#""1  % User Time",12"#,
    ];
    assert_eq!(rows, expected);
    assert!(letters(&model, Theme::True, 80, 24).contains("% * Time"));
    // Each row can be selected.
    for _ in 0..9 {
        press(&mut model, KeyCode::Down);
    }
    assert_eq!(model.states[0].selected, 3);
}

#[test]
fn a_legend_has_the_names_of_the_shown_time() {
    let path = PROCESSES[0];
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[path])];
    let (mut script, mut model) = (Script::new(), model(view, 0));
    for (second, name) in ["java#1", "java"].into_iter().enumerate() {
        let values = [("init", 1), (name, 2)]
            .map(|instance| script.value((path, 6, "%"), Some(instance), Some(1.0)));
        let time = FileTime(NOON + second as i64 * FileTime::PER_SECOND);
        let sample = Sample { time, values: values.into() };
        model.update(Event::Samples(vec![sample], Duration::ZERO));
    }
    let name = |model: &Model| model.entries(0)[1].name.clone();
    assert_eq!(name(&model), "java");
    model.cursor = Some(FileTime(NOON));
    assert_eq!(name(&model), "java#1");
}
