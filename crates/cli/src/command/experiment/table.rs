//! The figures of an experiment for people.

use super::around::Around;
use super::figures::{self, SensorFigures, short, titled};
use crate::args::Global;
use crate::output::Output;
use crate::text::escape::Escaped;
use crate::text::style::{Palette, Style};
use crate::text::table::Table;
use perfhive::experiment::{EventSummary, ExperimentEnd};
use perfhive_view::number::push_float;
use std::time::Duration;

/// The result of an experiment as text for people. `elapsed` is how long the program ran, and `busy` how long
/// events were measured meanwhile. With `around` it has the means of readings around events.
pub(super) fn page(
    global: &Global,
    end: &ExperimentEnd,
    program: &str,
    (elapsed, busy): (Duration, Duration),
    around: Option<&mut Around>,
) -> String {
    let layout = Output::layout_of_error(global);
    let palette = layout.palette;
    let mut text = String::new();
    let mut head = format!("{} ran ", Escaped(program));
    push_float(&mut head, elapsed.as_secs_f64(), 3);
    head.push_str(" s");
    palette.push(&mut text, Style::Heading, &head);
    text.push('\n');
    if !end.summary.events.is_empty() {
        figures(&end.summary.events).render(&mut text, layout);
    }
    if let Some(around) = around {
        let rows = around.rows();
        let about = |name: &str| {
            let mut columns = end.bindings.iter().flat_map(|one| &one.columns);
            let column = columns.find(|column| column.name.to_string() == name);
            column.map_or((name.to_string(), String::new()), |one| {
                (short(&one.name), one.unit.to_string())
            })
        };
        if !rows.is_empty() {
            around.table(&rows, about).render(&mut text, layout);
        }
        if let Some(note) = around.note(&rows) {
            palette.push(&mut text, Style::Attention, &format!("! {note}"));
            text.push('\n');
        }
    }
    cost(&mut text, end, elapsed, busy);
    losses(&mut text, palette, end);
    text
}

/// The figures by event.
fn figures(events: &[EventSummary]) -> Table {
    let mut table = figures::table();
    for event in events {
        let sensors = event.sensors.iter().map(|(column, figures)| SensorFigures {
            sensor: short(&column.name),
            unit: &column.unit,
            counts_time: column.raw_per_second.is_some_and(|unit| unit > 0),
            figures,
        });
        figures::add(
            &mut table,
            &titled(&event.name, event.kind),
            event.kind,
            [&event.time, &event.part],
            sensors,
        );
    }
    table
}

/// Appends the cost of measuring, or that no event came.
fn cost(text: &mut String, end: &ExperimentEnd, elapsed: Duration, busy: Duration) {
    let summary = &end.summary;
    let Some(mean) = summary.overhead.mean() else {
        text.push_str("No event came.\n");
        return;
    };
    let share = busy.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
    figures::push_cost(
        text,
        mean,
        (share, "program's run"),
        summary.calls.mean().map(|time| time.as_secs_f64()),
    );
}

/// Appends lines about events that were lost, missed, filtered or skipped. The line that no event was lost is appended
/// only if none was, nothing failed, and no event source finds its events by listing processes or threads.
fn losses(text: &mut String, palette: Palette, end: &ExperimentEnd) {
    let mut attention = |line: String| {
        palette.push(text, Style::Attention, &line);
        text.push('\n');
    };
    // What a delivery or an event source lost by its failure is told with the failure.
    let mut whole = end.failures.is_empty() && end.bindings.iter().all(|one| one.failure.is_none());
    for one in &end.bindings {
        if one.lost > 0 {
            attention(format!(
                "! {}: {} records found no room in memory; --capacity gives more",
                Escaped(&one.source),
                one.lost
            ));
            whole = false;
        }
        if one.undelivered > 0 {
            attention(figures::undelivered(&one.source, one.undelivered));
            whole = false;
        }
        if let Some(every) = one.listed_every {
            attention(figures::listed(&one.source, every.as_secs_f64()));
            whole = false;
        }
        if one.missed > 0 {
            attention(format!(
                "! {}: {} events were missed, because they came faster than they were measured{}",
                Escaped(&one.source),
                one.missed,
                match &*one.source {
                    "call" => ", or have too many names",
                    "process" => {
                        "; of any process of the machine: one with an unknown name counts once for start and end"
                    }
                    _ => "",
                }
            ));
            whole = false;
        }
    }
    let (unmatched, unnamed) = (end.summary.unmatched, end.summary.unnamed);
    if unmatched > 0 {
        attention(figures::unmatched(unmatched));
    }
    if unnamed > 0 {
        attention(format!("! {unnamed} events have no figures: there are too many names"));
    }
    for one in end.bindings.iter().filter(|one| one.filtered > 0) {
        let name = Escaped(&one.source).to_string();
        text.push_str(&format!("{name}: {} events were filtered.\n", one.filtered));
    }
    for one in end.bindings.iter().filter(|one| one.skipped > 0) {
        let name = Escaped(&one.source).to_string();
        let what = "events came while it was stopped, or beyond its limit";
        text.push_str(&format!("{name}: {} {what}.\n", one.skipped));
    }
    if whole {
        text.push_str("No event was lost.\n");
    }
}
