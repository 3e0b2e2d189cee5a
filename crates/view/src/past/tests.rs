use super::*;
use crate::scale::Quantity;
use perfhive_engine::{InstanceLabel, InstanceRole, NoValue};
use perfhive_format::CookedValue;

fn what() -> Arc<What> {
    Arc::new(What {
        machine: String::new(),
        object: "Process".into(),
        counter: "Working Set".into(),
        index: perfhive_format::TitleIndex(180),
        quantity: Quantity { counter_type: None, unit: "B", is_identifier: false },
        scale: 0,
    })
}

fn value(what: &Arc<What>, is_wild: bool, name: &str, order: u32, id: u64, value: f64) -> Value {
    Value {
        path: r"\Process(*)\Working Set".into(),
        what: Arc::clone(what),
        is_wild,
        instance: Some(InstanceLabel { parent: None, name: name.into(), order }),
        identity: Some(Identity::Process { id, start: id }),
        role: InstanceRole::Single,
        process: Some(id as u32),
        text: None,
        value: if value.is_nan() { Err(NoValue::Vanished) } else { Ok(CookedValue::Float(value)) },
        weight: 1.0,
    }
}

fn note(past: &mut Past, second: i64, values: Vec<Value>) {
    past.note(&Sample { time: FileTime(second * FileTime::PER_SECOND), values }, |_| true);
}

fn all(past: &Past, line: usize) -> Vec<Option<f64>> {
    let line = &past.lines()[line];
    let points = past.points(line, past.span().unwrap(), 1000);
    points.into_iter().map(|point| point.value).collect()
}

#[test]
fn a_process_that_gets_another_number_stays_in_its_line() {
    let (mut past, what) = (Past::default(), what());
    let v = |name, order, id, number| value(&what, true, name, order, id, number);
    note(&mut past, 1, vec![v("java", 0, 7, 1.0), v("java", 1, 8, 2.0)]);
    note(&mut past, 2, vec![v("java", 0, 8, 3.0), v("java", 0, 7, f64::NAN)]);
    note(&mut past, 3, vec![v("java", 0, 8, 4.0)]);
    assert_eq!(past.lines().len(), 2);
    assert_eq!(all(&past, 0), [Some(1.0), None, None]);
    assert_eq!(all(&past, 1), [Some(2.0), Some(3.0), Some(4.0)]);
    let why = |place| past.value_at(&past.lines()[0], place).unwrap_err().to_string();
    assert_eq!([why(1), why(2)], ["gone since the last sample", "gone"]);
}

#[test]
fn samples_that_were_forgotten_are_noted_again_with_those_between_them() {
    let what = what();
    let v = |name, id, number| value(&what, true, name, 0, id, number);
    let sample = |second: i64| match second {
        0..3 => vec![v("a", 1, second as f64), v("b", 2, 5.0)],
        3 => vec![v("a", 1, 3.0), v("b", 2, f64::NAN)],
        4 => vec![v("a", 1, 4.0)],
        _ => vec![v("a", 1, second as f64), v("b", 3, 6.0), v("c", 4, 7.0)],
    };
    let seen = |past: &Past| -> Vec<_> {
        let places = 0..past.times().len();
        let values = |line| places.clone().map(move |place| past.value_at(line, place));
        let lines = past.lines().iter();
        lines.map(|line| (line.instance.clone(), values(line).collect::<Vec<_>>())).collect()
    };
    let mut whole = Past::default();
    (0..8).for_each(|second| note(&mut whole, second, sample(second)));
    let mut past = Past::default();
    [0, 1, 3, 4, 6].into_iter().for_each(|second| note(&mut past, second, sample(second)));
    past.forget_newest(3);
    assert_eq!(past.times().len(), 2);
    (2..8).for_each(|second| note(&mut past, second, sample(second)));
    assert_eq!(seen(&past), seen(&whole));
    past.forget_newest(100);
    assert!(past.times().is_empty());
}

#[test]
fn a_takeover_in_forgotten_samples_leaves_no_gap_before_it() {
    let (mut past, what) = (Past::default(), what());
    let v = |id, number| value(&what, true, "java", 0, id, number);
    let sample = |second: i64| if second < 3 { v(7, 1.0) } else { v(9, 5.0) };
    (0..5).for_each(|second| note(&mut past, second, vec![sample(second)]));
    past.forget_newest(3);
    (2..5).for_each(|second| note(&mut past, second, vec![sample(second)]));
    assert_eq!(past.lines().len(), 1);
    assert_eq!(all(&past, 0), [Some(1.0), Some(1.0), Some(1.0), None, Some(5.0), Some(5.0)]);
}

#[test]
fn a_reason_that_is_no_longer_kept_is_not_that_the_line_was_not_seen_yet() {
    let (mut past, what) = (Past::default(), what());
    note(&mut past, 0, vec![value(&what, true, "a", 0, 1, 1.0)]);
    let reasons = [NoValue::Born, NoValue::Vanished];
    for second in 1..=2 * MOST_REASONS {
        let mut missing = value(&what, true, "b", 0, 2, f64::NAN);
        missing.value = Err(reasons[second % 2].clone());
        note(&mut past, second as i64, vec![missing]);
    }
    let line = past.lines().iter().find(|line| line.instance.as_deref() == Some("b")).unwrap();
    let why = |place| past.value_at(line, place).unwrap_err().to_string();
    let kept = "the reason is no longer kept";
    assert_eq!([why(0), why(1), why(MOST_REASONS)], ["not seen yet", kept, kept]);
    assert_eq!(why(2 * MOST_REASONS), reasons[0].to_string());
    assert!(line.reasons.len() <= MOST_REASONS);
}

#[test]
fn a_process_that_comes_back_goes_on_in_its_line_with_a_gap() {
    for is_wild in [true, false] {
        let (mut past, what) = (Past::default(), what());
        let v = |id, number| value(&what, is_wild, "java", 0, id, number);
        note(&mut past, 1, vec![v(7, 1.0)]);
        note(&mut past, 2, vec![v(7, f64::NAN)]);
        note(&mut past, 3, vec![v(9, 5.0)]);
        assert_eq!(past.lines().len(), 1, "{is_wild}");
        // The break is a point without a value before the value of the new instance.
        assert_eq!(all(&past, 0), [Some(1.0), None, None, Some(5.0)]);
    }
    // Between two samples: the line of a path without wildcards has a gap, too.
    let (mut past, what) = (Past::default(), what());
    note(&mut past, 1, vec![value(&what, false, "java", 0, 7, 1.0)]);
    note(&mut past, 2, vec![value(&what, false, "java", 0, 9, 5.0)]);
    assert_eq!(all(&past, 0), [Some(1.0), None, Some(5.0)]);
}

#[test]
fn memory_is_bounded_and_lines_that_are_over_make_room() {
    let (mut past, what) = (Past::new(1), what());
    for second in 0..2000 {
        let of = |id: u64| value(&what, true, &format!("p{id}"), 0, id, 1.0);
        note(&mut past, second, vec![of(2 * second as u64), of(2 * second as u64 + 1)]);
    }
    assert_eq!(past.times().len(), 600);
    assert!(past.lines().len() <= MOST_LINES, "{}", past.lines().len());
    let newest = past.lines().iter().any(|line| line.instance.as_deref() == Some("p3999"));
    // 1,200 processes lived one after the other in the last 600 samples, more than there are lines.
    assert!(newest || past.left_out() >= 1);
}

#[test]
fn of_more_instances_than_lines_those_with_the_largest_values_have_lines() {
    let (mut past, what) = (Past::default(), what());
    let other = Arc::new(What { counter: "Handles".into(), ..(*what).clone() });
    let count = 2 * MOST_LINES as u64;
    // The largest are the last in the first two samples, and the first in the third.
    for second in 0..3 {
        let number = |id: u64| if second < 2 { id as f64 } else { (3 * count - id) as f64 };
        let of = |what, path: &str, id: u64| Value {
            path: path.into(),
            ..value(what, true, &format!("p{id}"), 0, id, number(id))
        };
        let mut values: Vec<Value> = (0..count).map(|id| of(&what, "one", id)).collect();
        values.extend((0..count).map(|id| of(&other, "other", id)));
        values.push(Value { is_wild: false, ..of(&what, "single", 1) });
        note(&mut past, second, values);
        assert_eq!(past.lines().len(), MOST_LINES);
        assert_eq!(past.left_out(), 2 * count as usize + 1 - MOST_LINES);
        for path in ["one", "other"] {
            let names: std::collections::HashSet<&str> = past
                .lines()
                .iter()
                .filter(|line| &*line.path == path)
                .filter_map(|line| line.instance.as_deref())
                .collect();
            assert!(names.len() >= MOST_LINES / 2 - 1, "{path} has {}", names.len());
            for rank in 0..names.len() as u64 {
                let id = if second < 2 { count - 1 - rank } else { rank };
                assert!(names.contains(&*format!("p{id}")), "{path} p{id} in {second}");
            }
        }
        assert!(past.lines().iter().any(|line| &*line.path == "single"));
    }
    // An instance whose line is new has none of its earlier values.
    let first = past.lines().iter().position(|line| line.instance.as_deref() == Some("p0"));
    assert_eq!(all(&past, first.unwrap()), [None, None, Some(3.0 * count as f64)]);
}

#[test]
fn many_samples_are_thinned_to_extremes_and_few_are_not() {
    let (mut past, what) = (Past::default(), what());
    for second in 0..1000 {
        let number = if second == 500 { 99.0 } else { 1.0 };
        note(&mut past, second, vec![value(&what, true, "a", 0, 1, number)]);
    }
    let line = &past.lines()[0];
    let points = past.points(line, past.span().unwrap(), 100);
    assert!(points.len() <= 102, "{}", points.len());
    assert!(points.iter().any(|point| point.value == Some(99.0)));
    let summary = past.summary(line, past.span().unwrap()).unwrap();
    assert_eq!((summary.maximum, summary.minimum, summary.count), (99.0, 1.0, 1000));
    let window = Window { from: FileTime(0), to: FileTime(10 * FileTime::PER_SECOND) };
    assert_eq!(past.points(line, window, 100).len(), 12);
    assert_eq!(past.nearest(FileTime(3 * FileTime::PER_SECOND + 1)), Some(3));
    assert_eq!(past.nearest(FileTime(i64::MAX)), Some(999));
}

/// The names, numbers and reasons of a kept sample.
fn read(samples: &Samples, second: i64) -> Option<Vec<(String, Result<f64, &'static str>)>> {
    let sample = samples.at(FileTime(second * FileTime::PER_SECOND))?;
    let shown = |value: &Value| {
        let name = value.instance.as_ref().unwrap().plain();
        (name, value.value.as_ref().map(|one| one.as_f64()).map_err(NoValue::code))
    };
    Some(sample.values.iter().map(shown).collect())
}

#[test]
fn a_kept_sample_has_the_instances_and_values_of_its_time() {
    let (mut samples, what) = (Samples::default(), what());
    let path: Arc<str> = r"\Process(*)\Working Set".into();
    let v = |name, order, id, number| Value {
        path: Arc::clone(&path),
        ..value(&what, true, name, order, id, number)
    };
    let mut note = |second: i64, values: Vec<Value>| {
        let time = FileTime(second * FileTime::PER_SECOND);
        samples.note(time, &Sample { time, values });
    };
    let born = Value { value: Err(NoValue::Born), ..v("bash", 0, 9, 0.0) };
    note(1, vec![v("java", 0, 7, 1.0), v("java", 1, 8, 2.0)]);
    note(2, vec![v("java", 0, 8, 3.0), v("java", 1, 7, f64::NAN), born]);
    note(3, vec![v("java", 0, 8, 4.0), v("bash", 0, 9, 5.0)]);
    let named = |name: &str, value| (name.to_string(), value);
    assert_eq!(read(&samples, 1).unwrap(), [named("java", Ok(1.0)), named("java#1", Ok(2.0))]);
    assert_eq!(read(&samples, 2).unwrap(), [named("java", Ok(3.0)), named("bash", Err("born"))]);
    assert_eq!(read(&samples, 3).unwrap(), [named("java", Ok(4.0)), named("bash", Ok(5.0))]);
    assert_eq!(read(&samples, 4), None);
}

#[test]
fn kept_samples_stay_within_their_bytes_while_instances_come_and_go() {
    const MOST: usize = 200_000;
    let (mut samples, what) = (Samples::new(MOST), what());
    let path: Arc<str> = r"\Process(*)\Working Set".into();
    for second in 0..3000 {
        // Of a hundred processes, one ends and one begins with each sample.
        let processes = (0..100).map(|place| {
            let id = second as u64 + place;
            let name = format!("process {id}");
            Value { path: Arc::clone(&path), ..value(&what, true, &name, 0, id, id as f64) }
        });
        let time = FileTime(second * FileTime::PER_SECOND);
        samples.note(time, &Sample { time, values: processes.collect() });
        assert!(samples.sizes().0 <= MOST);
        assert_eq!(read(&samples, second).unwrap().len(), 100);
    }
    let oldest = samples.oldest().unwrap().0 / FileTime::PER_SECOND;
    assert!((2800..2950).contains(&oldest), "{oldest}");
    assert_eq!(read(&samples, oldest).unwrap()[0].1, Ok(oldest as f64));
    assert_eq!(read(&samples, oldest - 1), None);
    // Columns that no sample has are forgotten, so that the counted bytes are those in use.
    let in_use = (3000 - oldest + 99) as usize;
    assert_eq!((samples.sizes().1, samples.sizes().2), (in_use, in_use));
}

#[test]
fn a_path_that_is_sampled_again_after_a_pause_stays_in_its_line() {
    for is_wild in [false, true] {
        let mut past = Past::default();
        note(&mut past, 1, vec![value(&what(), is_wild, "java", 0, 7, 1.0)]);
        note(&mut past, 2, vec![]);
        // The names were looked up anew.
        let again = what();
        note(&mut past, 3, vec![value(&again, is_wild, "java", 0, 7, 3.0)]);
        note(&mut past, 4, vec![value(&again, is_wild, "java", 0, 7, 4.0)]);
        assert_eq!(past.lines().len(), 1);
        assert_eq!(all(&past, 0), [Some(1.0), None, Some(3.0), Some(4.0)]);
    }
}

#[test]
fn a_column_has_the_last_name_of_its_instance_in_the_time() {
    let (mut past, what) = (Past::default(), what());
    let v = |order, id| value(&what, true, "java", order, id, 1.0);
    note(&mut past, 1, vec![v(0, 7), v(1, 8)]);
    note(&mut past, 2, vec![v(0, 8)]);
    let at = |second: i64| FileTime(second * FileTime::PER_SECOND);
    let head = |to: i64| {
        let window = Window { from: at(0), to: at(to) };
        let line = &past.lines()[1];
        let text = csv(&[(&past, line, past.full_name(line, window))], window);
        text.lines().next().unwrap().to_string()
    };
    assert_eq!(head(1), r#"time,"Process(java#1)\Working Set""#);
    assert_eq!(head(2), r#"time,"Process(java)\Working Set""#);
}
