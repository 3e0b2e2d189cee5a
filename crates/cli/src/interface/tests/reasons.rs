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
