//! Charts and bars: order, scales, the time bar, and the time of a frame.

use super::*;

#[test]
fn a_legend_has_the_largest_first_and_keeps_what_is_selected() {
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &PROCESSES[..1])];
    let mut script = Script::new();
    let mut model = model_of(view, &mut script, 16);
    let names = |model: &Model| -> Vec<String> {
        model.entries(0).into_iter().map(|entry| entry.name).collect()
    };
    assert_eq!(names(&model), ["日本語ブラウザ", "java", r"esc\x1b[2J", "bash", "init"]);
    press(&mut model, KeyCode::Down);
    let selected = |model: &Model| {
        let entries = model.entries(0);
        entries[model.selected(0, &entries)].name.clone()
    };
    assert_eq!(selected(&model), "java");
    for second in 16..26 {
        model.update(Event::Samples(vec![script.sample(second)], Duration::ZERO));
    }
    assert_eq!((selected(&model).as_str(), names(&model)[4].as_str()), ("java", "java"));
}

#[test]
fn bars_of_one_path_have_one_power_of_ten_and_say_what_does_not_fit() {
    let mut view = view();
    view.panes = vec![pane("Bars", Kind::Histogram, &[PROCESSES[1], PROCESSES[0]])];
    let mut model = model(view, 31);
    compare("histogram-units.txt", &letters(&model, Theme::True, 80, 14));
    compare("histogram-more.txt", &letters(&model, Theme::True, 80, 8));
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Char('<'));
    let powers = model.axis(0, &model.entries(0), model.window().unwrap()).0.powers;
    assert_eq!(powers, [-7, -7, -7, -7, -7, 0, 0, 0, 0, 0]);
}

#[test]
fn charts_stand_still_behind_a_time_bar() {
    let mut view = view();
    view.panes.truncate(1);
    view.seconds = Some(50.0);
    let mut model = model(view, 81);
    press(&mut model, KeyCode::Char('b'));
    compare("time-bar.txt", &letters(&model, Theme::True, 80, 16));
    // The cursor, a mark and a span stand where their values are.
    command(&mut model, "jump 12:00:45");
    press(&mut model, KeyCode::End);
    model.cursor = Some(FileTime(NOON + 45 * FileTime::PER_SECOND));
    let window = model.window().unwrap();
    let at = |second: i64| FileTime(NOON + second * FileTime::PER_SECOND);
    model.set_span(at(42), at(57));
    compare("time-bar-span.txt", &letters(&model, Theme::Plain, 80, 16));
    for (place, part) in [(0.0, 1.0 - 0.6), (0.6, 1.0), (0.7, 0.1), (1.0, 0.4)] {
        let bar = Some(0.6);
        assert!((crate::interface::time::unwrapped(bar, place) - part).abs() < 1e-9, "{place}");
        let wide = crate::interface::time::wrapped(bar, part);
        assert!((wide - place).rem_euclid(1.0).min(1.0 - (wide - place).abs()).abs() < 1e-9);
    }
    assert!(model.bar(window).is_some());
    let effects = command(&mut model, "save x.toml");
    let [Effect::Write { text, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(text.contains("wrap = true") && View::parse(text).unwrap().wraps, "{text}");
    command(&mut model, "wrap");
    assert_eq!(model.bar(window), None);
}

/// 20 lines of 600 points fill at least 20 cells of a column. `cargo xtask bench view` makes this test draw more often
/// (`FRAMES`) and print the time of a frame.
#[test]
fn twenty_lines_are_drawn() {
    use ratatui_core::{backend::TestBackend, terminal::Terminal};
    const LINES: u64 = 20;
    let frames = std::env::var("FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let path = r"\Process(*)\% Processor Time";
    let mut view = view();
    view.panes = vec![pane("", Kind::Chart, &[path])];
    view.seconds = Some(600.0);
    let mut model = Model::new(view, vec![Seen::new("local:", "", true)], Duration::from_secs(1));
    let mut script = Script::new();
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
    let mut times = Vec::new();
    for second in 0..600 + frames {
        let values = (0..LINES).map(|id| {
            let name = format!("process {id}");
            let wave = 2.0 * ((second as f64 + 17.0 * id as f64) / 30.0).sin();
            let number = Some(2.5 + 5.0 * id as f64 + wave);
            script.value((path, 6, "%"), Some((&name, id + 1)), number)
        });
        let values = values.collect();
        let time = FileTime(NOON + second * FileTime::PER_SECOND);
        model.update(Event::Samples(vec![Sample { time, values }], Duration::ZERO));
        if second >= 600 {
            let start = std::time::Instant::now();
            terminal
                .draw(|frame| drop(crate::interface::draw::draw(&model, Theme::True, frame)))
                .unwrap();
            times.push(start.elapsed());
        }
    }
    // These lines are far apart; where they share a colour, some cells have a marker.
    let buffer = terminal.backend().buffer();
    let is_of_line =
        |c| ('\u{2801}'..='\u{28ff}').contains(&c) || perfhive_view::palette::MARKERS.contains(&c);
    let is_dots = |symbol: &str| symbol.starts_with(is_of_line);
    let column = (0..60).filter_map(|y| buffer.cell((100, y)));
    let dots = column.filter(|cell| is_dots(cell.symbol())).count();
    assert!(dots >= 20, "{dots}");
    times.sort();
    println!(
        "a frame of {LINES} lines of 600 points on 200 x 60 cells: median {:.2} ms, 95 of 100 within {:.2} ms",
        times[times.len() / 2].as_secs_f64() * 1e3,
        times[times.len() * 95 / 100].as_secs_f64() * 1e3
    );
}
