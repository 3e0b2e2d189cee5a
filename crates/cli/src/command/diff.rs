//! `perfhive diff`: compares two recordings, or parts of them.

use super::report::json::{summary, time as time_of};
use super::report::text::{duration, grouped, shown, time};
use super::report::{Wanted, choice, of_recording, source_of};
use crate::args::{Diff as Args, FileSpan, Format, Global};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::text::records::push_value;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive_view::report::{CounterChange, Differences, ProcessChange, Report, compare};
use perfhive_view::{Detail, Field};
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let read = |span: &FileSpan| -> Result<(String, Report), Failure> {
        let mut global = global.clone();
        global.source = source_of(Path::new(&span.file));
        (global.begin, global.end) = (span.begin.or(global.begin), span.end.or(global.end));
        let (choice, machine) = choice(args.all_counters, &args.paths, args.machine.as_deref())?;
        let wanted = Wanted { choice, rules: None, top: args.top, machine };
        let report = of_recording(&global, &wanted)?;
        Ok((global.source, report))
    };
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    let differences = compare(&first.1, &second.1);
    let output = Output::new(global);
    let mut text = String::new();
    match global.format {
        Format::Table => page(&mut text, [&first, &second], &differences, &output, args),
        Format::Json => push_json(&mut text, [&first, &second], &differences),
        Format::Csv | Format::Tsv => push_rows(&mut text, &differences, &output),
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

fn page(
    text: &mut String,
    sides: [&(String, Report); 2],
    differences: &Differences,
    output: &Output,
    args: &Args,
) {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left)]);
    for (name, (source, report)) in ["first", "second"].into_iter().zip(sides) {
        table.text(Style::Name, name);
        table.text(Style::Plain, source);
        let times = report.timeline.times();
        let span = times.first().zip(times.last()).map(|(begin, end)| {
            let (samples, length) = (grouped(times.len() as u64), duration(end.0 - begin.0));
            let samples =
                if times.len() == 1 { "1 sample".into() } else { format!("{samples} samples") };
            format!("{}, {length}, {samples} of {}", time(*begin), report.machine)
        });
        table.text(Style::Faint, &span.unwrap_or_default());
    }
    table.render(text, output.layout(false));
    let detail = output.detail(Detail::Brief);
    counters(text, differences, output, args, detail);
    processes(text, &differences.processes, output, args, detail);
    for (name, only) in ["first", "second"].into_iter().zip(&differences.only) {
        if only.is_empty() {
            continue;
        }
        heading(text, output, &format!("Only in the {name}"));
        only.iter().take(args.top).for_each(|path| {
            output.palette.push(text, Style::Plain, path);
            text.push('\n');
        });
        more(text, only.len().saturating_sub(args.top), "counters");
    }
}

fn heading(text: &mut String, output: &Output, heading: &str) {
    text.push('\n');
    output.palette.push(text, Style::Heading, heading);
    text.push('\n');
}

/// Appends the line that says how many more rows there are; nothing for 0.
fn more(text: &mut String, count: usize, what: &str) {
    if count > 0 {
        text.push_str(&format!("{} more {what}; --top shows them\n", grouped(count as u64)));
    }
}

/// A difference with its sign in front (`+` for 0); `show` writes the amount.
fn signed(value: f64, show: impl Fn(f64) -> String) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", show(value.abs()))
}

/// The change of a mean as text: a percentage, from ten times on a factor (`12 times`), and words if the first mean
/// is 0.
fn ratio(change: &CounterChange) -> String {
    let (first, second) = (change.first.mean, change.second.mean);
    if first == 0.0 {
        return if second == 0.0 { "same".to_string() } else { "from nothing".to_string() };
    }
    let part = second / first - 1.0;
    if part >= 9.0 {
        return format!("{:.0} times", second / first);
    }
    format!("{:+.1} %", part * 100.0)
}

fn counters(
    text: &mut String,
    differences: &Differences,
    output: &Output,
    args: &Args,
    detail: Detail,
) {
    heading(text, output, "Counters");
    if differences.counters.is_empty() {
        text.push_str("the two have no counter in common\n");
        return;
    }
    let is_shown = |change: &&CounterChange| args.all || change.is_clear;
    let shown_changes: Vec<_> = differences.counters.iter().filter(is_shown).collect();
    let columns = [
        ("counter", Align::Left),
        ("first", Align::Right),
        ("second", Align::Right),
        ("change", Align::Right),
        ("", Align::Right),
        ("95th percentile of first", Align::Right),
        ("of second", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for change in shown_changes.iter().take(args.top) {
        let value = |value: f64| shown(value, change.unit, Some(change.counter_type), detail);
        let style = if change.is_clear { Style::Name } else { Style::Faint };
        table.text(style, &change.path);
        table.text(Style::Plain, &value(change.first.mean));
        table.text(Style::Plain, &value(change.second.mean));
        table.text(Style::Plain, &signed(change.difference(), value));
        table.text(Style::Plain, &ratio(change));
        table.text(Style::Plain, &value(change.first.percentile_95));
        table.text(Style::Plain, &value(change.second.percentile_95));
    }
    if !shown_changes.is_empty() {
        table.render(text, output.layout(true));
    }
    more(text, shown_changes.len().saturating_sub(args.top), "changes");
    let rest = differences.counters.len() - shown_changes.len();
    if rest > 0 {
        let rest = grouped(rest as u64);
        text.push_str(&format!(
            "{rest} counters are as before, or differ no more than by chance\n"
        ));
    }
}

fn processes(
    text: &mut String,
    changes: &[ProcessChange],
    output: &Output,
    args: &Args,
    detail: Detail,
) {
    let is_change = |change: &&ProcessChange| {
        change.processor[0] != change.processor[1] || change.working_set[0] != change.working_set[1]
    };
    let changes: Vec<_> = changes.iter().filter(is_change).collect();
    if changes.is_empty() {
        return;
    }
    heading(text, output, "Processes by name");
    let columns = [
        ("process", Align::Left),
        ("CPU of first", Align::Right),
        ("of second", Align::Right),
        ("change", Align::Right),
        ("memory of first", Align::Right),
        ("of second", Align::Right),
        ("change", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for change in changes.iter().take(args.top) {
        table.text(Style::Name, &change.name);
        for (unit, [first, second]) in [("%", change.processor), ("B", change.working_set)] {
            let value = |value: f64| match unit {
                "%" => format!("{value:.1} %"),
                unit => shown(value, unit, None, detail),
            };
            let difference = first.zip(second).map(|(first, second)| second - first);
            for amount in [first, second] {
                table.text(Style::Plain, &amount.map_or("-".to_string(), value));
            }
            let difference = difference.map_or("-".to_string(), |one| signed(one, value));
            table.text(Style::Plain, &difference);
        }
    }
    table.render(text, output.layout(true));
    more(text, changes.len().saturating_sub(args.top), "names");
}

/// What a report is about, for JSON: its source, machine, time and number of samples.
fn side((source, report): &(String, Report)) -> Value {
    let times = report.timeline.times();
    json!({
        "source": source,
        "machine": report.machine,
        "begin": times.first().and_then(|one| time_of(*one)),
        "end": times.last().and_then(|one| time_of(*one)),
        "samples": times.len(),
    })
}

fn push_json(text: &mut String, sides: [&(String, Report); 2], differences: &Differences) {
    let counters: Vec<Value> = differences
        .counters
        .iter()
        .map(|change| {
            json!({
                "path": change.english,
                "object_index": change.indexes.0.0,
                "counter_index": change.indexes.1.0,
                "unit": change.unit,
                "first": summary(&change.first),
                "second": summary(&change.second),
                "change": change.difference(),
                "part": change.part(),
                "is_clear": change.is_clear,
            })
        })
        .collect();
    let processes: Vec<Value> = differences
        .processes
        .iter()
        .map(|change| {
            json!({
                "name": change.name,
                "processor_time_of_all": change.processor,
                "working_set": change.working_set,
            })
        })
        .collect();
    let [only_first, only_second] = &differences.only;
    let value = json!({
        "first": side(sides[0]),
        "second": side(sides[1]),
        "counters": counters,
        "processes": processes,
        "only_first": only_first,
        "only_second": only_second,
    });
    push_value(text, &value);
    text.push('\n');
}

fn push_rows(text: &mut String, differences: &Differences, output: &Output) {
    let keys = [
        "path",
        "unit",
        "first_mean",
        "second_mean",
        "change",
        "part",
        "is_clear",
        "first_95",
        "second_95",
        "first_maximum",
        "second_maximum",
        "first_count",
        "second_count",
        "object_index",
        "counter_index",
    ];
    let local = output.local(["local_path"]);
    let mut records = output.records(keys.into_iter().chain(local), text);
    for change in &differences.counters {
        let (first, second) = (&change.first, &change.second);
        let fields = [
            Field::Text(&change.english),
            Field::Text(change.unit),
            Field::Float(first.mean),
            Field::Float(second.mean),
            Field::Float(change.difference()),
            Field::Float(change.part()),
            Field::Bool(change.is_clear),
            Field::Float(first.percentile_95),
            Field::Float(second.percentile_95),
            Field::Float(first.maximum),
            Field::Float(second.maximum),
            Field::Unsigned(first.count),
            Field::Unsigned(second.count),
            Field::Unsigned(change.indexes.0.0.into()),
            Field::Unsigned(change.indexes.1.0.into()),
        ];
        let local = output.local([Field::Text(&change.path)]);
        records.row(text, fields.into_iter().chain(local));
    }
    records.end(text);
}
