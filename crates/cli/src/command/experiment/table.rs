//! The figures of an experiment for people.

use crate::args::Global;
use crate::output::Output;
use crate::text::escape::Escaped;
use crate::text::style::{Palette, Style};
use crate::text::table::{Align, Table};
use perfhive::experiment::{EventKind, EventSummary, ExperimentEnd, SummaryFigures};
use perfhive::measure::SensorName;
use perfhive_view::number::{bytes_scaled, push_float, push_grouped};
use std::time::Duration;

/// The result of an experiment, `elapsed` after the program began.
pub(super) fn page(
    global: &Global,
    end: &ExperimentEnd,
    program: &str,
    elapsed: Duration,
) -> String {
    let output = Output::to_error(global);
    let palette = output.palette;
    let mut text = String::new();
    let mut head = format!("{} ran ", Escaped(program));
    push_float(&mut head, elapsed.as_secs_f64(), 3);
    head.push_str(" s");
    palette.push(&mut text, Style::Heading, &head);
    text.push('\n');
    if !end.summary.events.is_empty() {
        figures(&end.summary.events).render(&mut text, output.layout(true));
    }
    cost(&mut text, end, elapsed);
    losses(&mut text, palette, end);
    text
}

/// The figures by event, each group of lines with the name of its event.
fn figures(events: &[EventSummary]) -> Table {
    let mut table = Table::new(&[
        ("EVENT", Align::Left),
        ("", Align::Left),
        ("COUNT", Align::Right),
        ("MEAN", Align::Point),
        ("P50", Align::Point),
        ("P95", Align::Point),
        ("P99", Align::Point),
        ("MIN", Align::Point),
        ("MAX", Align::Point),
        ("", Align::Left),
    ]);
    for event in events {
        let (name, [time, part]) = match event.kind {
            Some(EventKind::Point) => (event.name.to_string(), ["delay", "sample"]),
            Some(kind) => (format!("{} {}", event.name, kind.code()), ["delay", "sample"]),
            None => (format!("{} section", event.name), ["time", "thread time"]),
        };
        row(&mut table, &name, time, &event.time, Scale::TIME);
        if event.part.count() > 0 {
            row(&mut table, "", part, &event.part, Scale::TIME);
        }
        for (column, figures) in &event.sensors {
            let mut sensor = short(&column.name);
            let counts_time = column.raw_per_second.is_some_and(|unit| unit > 0);
            let scale = match (event.kind, counts_time) {
                (None, true) => Scale::TIME,
                (None, false) => Scale::growth(&column.unit, figures),
                (Some(_), _) => Scale::of(&column.unit, figures),
            };
            if event.kind.is_none() {
                sensor.insert(0, '+');
            }
            row(&mut table, "", &sensor, figures, scale);
        }
    }
    table
}

/// A sensor's name without its source.
fn short(name: &SensorName) -> String {
    let instance = name.instance().map(|instance| format!("#{instance}")).unwrap_or_default();
    format!("{}/{}{instance}", name.group(), name.sensor())
}

/// The unit of a line and what its numbers are divided by.
struct Scale {
    unit: String,
    divisor: f64,
}

impl Scale {
    const TIME: Self = Self { unit: String::new(), divisor: 1e-6 };

    fn of(unit: &str, figures: &SummaryFigures) -> Self {
        let bytes = unit.strip_prefix('B').filter(|rest| rest.is_empty() || *rest == "/s");
        match (bytes, figures.max().filter(|max| *max > 0.0)) {
            (Some(rest), Some(max)) => {
                let (scaled, unit) = bytes_scaled(max);
                Self { unit: format!("{unit}{rest}"), divisor: max / scaled }
            }
            _ => Self { unit: unit.to_string(), divisor: 1.0 },
        }
    }

    /// The scale of the growth of raw values: what a rate counts, and bytes.
    fn growth(unit: &str, figures: &SummaryFigures) -> Self {
        match unit {
            "B" | "B/s" => Self::of("B", figures),
            _ => Self { unit: String::new(), divisor: 1.0 },
        }
    }
}

fn row(table: &mut Table, event: &str, what: &str, figures: &SummaryFigures, scale: Scale) {
    table.text(Style::Name, event);
    table.text(Style::Plain, what);
    table.cell(Style::Plain, |out| push_grouped(out, figures.count()));
    let shares = [0.5, 0.95, 0.99].map(|share| figures.quantile(share));
    let numbers = [figures.mean()].into_iter().chain(shares);
    for number in numbers.chain([figures.min(), figures.max()]) {
        table.cell(Style::Plain, |out| match number {
            Some(number) => push_float(out, number / scale.divisor, 2),
            None => out.push('-'),
        });
    }
    let unit = if scale.unit.is_empty() && scale.divisor < 1.0 { "µs" } else { &scale.unit };
    table.text(Style::Faint, unit);
}

/// What measuring cost.
fn cost(text: &mut String, end: &ExperimentEnd, elapsed: Duration) {
    let summary = &end.summary;
    let Some(mean) = summary.overhead.mean() else {
        text.push_str("No event came.\n");
        return;
    };
    text.push_str("Cost: ");
    push_float(text, mean * 1e6, 2);
    text.push_str(" µs for an event in perfhive, in all ");
    let share = summary.overhead.sum() / elapsed.as_secs_f64().max(1e-9) * 100.0;
    push_float(text, share, 2);
    text.push_str(" % of the program's run time");
    if !summary.call.is_zero() {
        text.push_str("; a call costs the program ");
        push_float(text, summary.call.as_secs_f64() * 1e6, 2);
        text.push_str(" µs");
    }
    text.push_str(".\n");
}

/// What is missing.
fn losses(text: &mut String, palette: Palette, end: &ExperimentEnd) {
    let mut attention = |line: String| {
        palette.push(text, Style::Attention, &line);
        text.push('\n');
    };
    let mut whole = true;
    for one in &end.bindings {
        if one.lost > 0 {
            attention(format!(
                "! {}: {} records found no room and are not in the file; --capacity gives more",
                Escaped(&one.source),
                one.lost
            ));
            whole = false;
        }
        if one.missed > 0 {
            attention(format!(
                "! {}: {} events were missed, because they came faster than they were measured",
                Escaped(&one.source),
                one.missed
            ));
            whole = false;
        }
    }
    let (unmatched, unnamed) = (end.summary.unmatched, end.summary.unnamed);
    if unmatched > 0 {
        attention(format!("! {unmatched} starts without an end, or ends without a start"));
    }
    if unnamed > 0 {
        attention(format!("! {unnamed} events have no figures: there are too many names"));
    }
    if whole {
        text.push_str("No event was lost.\n");
    }
}
