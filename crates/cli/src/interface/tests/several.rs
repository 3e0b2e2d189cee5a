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
    // A recording would mix the machines.
    assert_eq!(press(&mut model, KeyCode::Char('r')), []);
    assert!(model.message.contains("one source"), "{}", model.message);
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
        model.entries(0).iter().map(|entry| model.value(entry).unwrap().is_ok()).collect()
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
}
