//! The time that charts and tables show.

use super::*;

#[test]
fn time_is_zoomed_scrolled_frozen_and_marked() {
    let mut model = model(view(), 301);
    let window = |model: &Model| {
        let window = model.window().unwrap();
        let seconds = |time: FileTime| (time.0 - NOON) / FileTime::PER_SECOND;
        (seconds(window.from), seconds(window.to))
    };
    assert_eq!(window(&model), (240, 300));
    press(&mut model, KeyCode::PageUp);
    assert_eq!(window(&model), (210, 270));
    press(&mut model, KeyCode::Char('-'));
    assert_eq!(window(&model), (150, 270));
    press(&mut model, KeyCode::Home);
    assert_eq!(window(&model), (0, 120));
    press(&mut model, KeyCode::PageUp);
    assert_eq!(window(&model), (0, 120));
    command(&mut model, "jump 12:04:00");
    assert_eq!((window(&model), model.message.as_str()), ((180, 300), ""));
    command(&mut model, "jump 11:00");
    assert!(model.message.contains("seen were 2026-11-24 12:00:00"), "{}", model.message);
    press(&mut model, KeyCode::End);
    press(&mut model, KeyCode::Char(' '));
    let mut script = Script::new();
    model.update(Event::Samples(vec![script.sample(400)], Duration::ZERO));
    assert_eq!(window(&model), (180, 300));
    assert_eq!(model.shown_time(), Some(FileTime(NOON + 300 * FileTime::PER_SECOND)));
    press(&mut model, KeyCode::Char(' '));
    assert_eq!(window(&model).1, 400);
    // Two spans are marked with the cursor, and compared.
    press(&mut model, KeyCode::Esc);
    for (from, to) in [(10, 20), (40, 70)] {
        for second in [from, to] {
            model.cursor = Some(FileTime(NOON + second * FileTime::PER_SECOND));
            press(&mut model, KeyCode::Char('m'));
        }
    }
    press(&mut model, KeyCode::Char('='));
    compare("compared.txt", &letters(&model, Theme::True, 100, 16));
    // On a narrow screen the numbers stay in their columns.
    let screen = letters(&model, Theme::True, 74, 16);
    assert!(screen.contains("50.0 %       51.1 %    +2.2 %"), "{screen}");
    press(&mut model, KeyCode::Esc);
    // Tables have no lines.
    (model.focus, model.message) = (2, String::new());
    press(&mut model, KeyCode::Char('='));
    assert!(model.message.contains("no lines to compare"), "{}", model.message);
    // A cursor that is left behind is told, since the legend has its values.
    press(&mut model, KeyCode::End);
    press(&mut model, KeyCode::Left);
    assert!(!letters(&model, Theme::True, 80, 24).contains("at the cursor"));
    model.update(Event::Samples(vec![script.sample(600)], Duration::ZERO));
    assert!(letters(&model, Theme::True, 80, 24).contains("  at the cursor  "));
}

#[test]
fn live_tables_show_the_time_to_which_charts_are_scrolled() {
    let mut script = Script::new();
    let mut model = model_of(view(), &mut script, 301);
    let java = |model: &Model| {
        let rows = model.rows(2);
        let java = rows.iter().find(|row| row.name == "java")?;
        Some((java.process?, java.cells[0]?.number()?))
    };
    let newest = java(&model).unwrap();
    assert_eq!(newest.0, 50);
    // As `--json` and `--begin` have times, too.
    for text in ["2026-11-24T12:00:08.000Z", "2026-11-24 08:00:08-04:00", "12:00:08"] {
        command(&mut model, "jump 12:00:07");
        command(&mut model, &format!("jump {text}"));
        assert_eq!(model.shown_time(), Some(FileTime(NOON + 8 * FileTime::PER_SECOND)), "{text}");
    }
    let (process, busy) = java(&model).unwrap();
    let expected = 30.0 + 10.0 * (8.0 / 15.0 * std::f64::consts::TAU).sin();
    assert_eq!(process, 40);
    assert!((busy - expected).abs() < 1e-9, "{busy} {expected}");
    compare("table-scrolled.txt", &letters(&model, Theme::True, 80, 24));
    command(&mut model, "jump 12:00:25");
    assert_eq!(java(&model), None);
    press(&mut model, KeyCode::Esc);
    // The charts are at their beginning: the table alone goes on to the first sample.
    press(&mut model, KeyCode::PageUp);
    assert_eq!(model.shown_time(), Some(FileTime(NOON + 30 * FileTime::PER_SECOND)));
    press(&mut model, KeyCode::Home);
    assert_eq!(model.shown_time(), model.oldest());
    press(&mut model, KeyCode::End);
    assert_eq!(java(&model), Some(newest));
    // Scrolled forward to the newest sample, the table follows again.
    press(&mut model, KeyCode::Left);
    press(&mut model, KeyCode::PageUp);
    assert_ne!(java(&model), Some(newest));
    press(&mut model, KeyCode::PageDown);
    assert_eq!((model.cursor, model.end, java(&model)), (None, None, Some(newest)));
    // A frozen view shows the sample at which it was frozen, and scrolls from there.
    press(&mut model, KeyCode::Char(' '));
    model.update(Event::Samples(vec![script.sample(307)], Duration::ZERO));
    assert_eq!(java(&model), Some(newest));
    press(&mut model, KeyCode::PageUp);
    assert_eq!(model.shown_time(), Some(FileTime(NOON + 270 * FileTime::PER_SECOND)));
    press(&mut model, KeyCode::Left);
    press(&mut model, KeyCode::Char(' '));
    assert_eq!(model.cursor, None);
    assert_ne!(java(&model), Some(newest));
    // Beyond the samples that are kept for tables there is a message in place of rows.
    model.sources[0].samples = perfhive_view::past::Samples::new(20_000);
    for second in 308..400 {
        model.update(Event::Samples(vec![script.sample(second)], Duration::ZERO));
    }
    command(&mut model, "jump 12:00:08");
    assert_eq!(java(&model), None);
    compare("table-not-kept.txt", &letters(&model, Theme::True, 80, 24));
}

#[test]
fn times_of_another_day_have_their_date() {
    let mut view = view();
    view.panes.remove(1);
    let mut script = Script::new();
    let mut model = model_of(view, &mut script, 3);
    for second in [86_400, 86_401] {
        model.update(Event::Samples(vec![script.sample(second)], Duration::ZERO));
    }
    let title = |model: &Model| {
        let screen = letters(model, Theme::True, 100, 24);
        screen.lines().find(|line| line.contains(" Processes ")).unwrap().to_string()
    };
    press(&mut model, KeyCode::Left);
    let text = title(&model);
    assert!(text.contains("  at 12:00:01, kept from 2026-11-24 12:00:00 "), "{text}");
    command(&mut model, "jump 2026-11-24 12:00:01");
    let text = title(&model);
    assert!(text.contains("  at 2026-11-24 12:00:01, kept from 2026-11-24 12:00:00 "), "{text}");
    // The day of a time is the last one on which it was seen.
    for (text, time) in [("12:00:00", "2026-11-25 12:00:00"), ("12:00:02", "2026-11-24 12:00:02")] {
        command(&mut model, &format!("jump {text}"));
        assert_eq!(model.formatted(model.cursor.unwrap(), "%F %T"), time);
    }
    command(&mut model, "jump 2026-11-24 12:00:01");
    // A recording is read again at each time: nothing is kept of it. No day is today's.
    model.sources[0].is_live = false;
    let text = title(&model);
    assert!(text.contains("  at 2026-11-24 12:00:01 ─"), "{text}");
}

#[test]
fn a_table_that_is_new_shows_the_time_of_the_cursor() {
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &PROCESSES)];
    let java = |model: &Model| model.rows(0).iter().find(|row| row.name == "java")?.process;
    let mut live = model(view.clone(), 61);
    command(&mut live, "jump 12:00:08");
    command(&mut live, "kind table");
    assert_eq!(java(&live), Some(40));
    assert!(letters(&live, Theme::True, 80, 24).contains("  at 12:00:08, kept"));
    // A recording is read again there, and once more after it was read with other counters.
    let mut recorded = model(view, 61);
    (recorded.sources[0].is_live, recorded.sources[0].is_loading) = (false, false);
    command(&mut recorded, "jump 12:00:08");
    let at = FileTime(NOON + 8 * FileTime::PER_SECOND);
    let looks = |effects: &[Effect]| {
        effects.iter().any(|one| matches!(one, Effect::Look { at: time, .. } if *time == at))
    };
    assert!(looks(&command(&mut recorded, "kind table")));
    recorded.update(Event::Rewound);
    let mut script = Script::new();
    let samples = (0..61).map(|second| script.sample(second)).collect();
    assert!(!looks(&recorded.update(Event::Samples(samples, Duration::ZERO))));
    assert!(looks(&recorded.update(Event::Loaded { every: 3 })));
    assert!(letters(&recorded, Theme::True, 80, 24).contains("  every 3rd sample  "));
}
