//! `perfhive get`: one cooked value for each path.

use crate::args::{Get, Global};
use crate::failure::{Exit, Outcome, complain};
use crate::output::Output;
use crate::paths::{Added, add_paths, fail_if_all_absent, missing_instances, with_syntax};
use crate::session::Session;
use crate::text::records::{Records, Shape};
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::{CookedValue, CounterType, NoValue, Query, QueryError, ValueError};
use perfhive_view::number::{push_typed, unit_for_people};
use perfhive_view::{Field, KEYS, Row, RowValue};
use std::time::Instant;

pub(super) fn run(global: &Global, args: &Get) -> Outcome {
    let session = Session::open(global).map_err(|failure| with_syntax(failure, &args.paths))?;
    let faults = session.faults.clone();
    let mut query = session.query()?;
    let paths = fail_if_all_absent(add_paths(&mut query, global, &args.paths)?)?;

    let start = Instant::now();
    match query.collect() {
        // A search for the provider that hangs goes on, and the next request has its result.
        Err(QueryError::Source(error)) if error.is_transient() => query.collect()?,
        collected => collected?,
    }
    let mut rows = rows_of(&query, &paths);
    let mut notes = missing_instances(&query);
    // Some gauges, such as the power of an energy meter, are made of two samples by their provider.
    if query.samples_needed() > 1 || query.is_live() && lacks_a_whole_path(&query, &paths) {
        if query.is_live() {
            std::thread::sleep(args.interval.saturating_sub(start.elapsed()));
        }
        match query.collect() {
            Ok(()) => {
                rows = rows_of(&query, &paths);
                notes = missing_instances(&query);
            }
            Err(error) if error.is_end_of_data() => {
                notes.push(format!("{error}, and some of these counters need two"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    faults.report();

    let output = Output::new(global);
    let mut text = String::new();
    if args.bare {
        push_bare(&mut text, &rows, output.terminal);
    } else if output.is_table() {
        table(&rows).render(&mut text, output.layout(false));
    } else {
        let mut records = output.records(KEYS, &mut text);
        records.readings(&mut text, &rows);
        records.end(&mut text);
    }
    output.write(&text)?;
    for note in notes {
        complain(&note);
    }
    let complete = rows.iter().all(Row::has_value);
    Ok(if complete { Exit::Done } else { Exit::NoValue })
}

/// Whether all instances of a path lack the value.
fn lacks_a_whole_path(query: &Query, paths: &[Added]) -> bool {
    paths.iter().flatten().any(|id| {
        let mut readings = query.readings_of(*id).peekable();
        let is_lacking = |why: &NoValue| {
            matches!(why, NoValue::Data(ValueError::OutsideBlock { .. } | ValueError::Absent))
        };
        readings.peek().is_some()
            && readings.all(|reading| reading.value.as_ref().is_err_and(is_lacking))
    })
}

/// The rows of the last collection, in the order of the paths.
fn rows_of(query: &Query, paths: &[Added]) -> Vec<Row> {
    let mut rows = Vec::new();
    for path in paths {
        match path {
            Ok(id) => rows.extend(query.readings_of(*id).map(|reading| Row::new(query, reading))),
            Err(absent) => rows.push(Row::absent(&absent.path, &absent.why)),
        }
    }
    rows
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Point), ("", Align::Left)]);
    for row in rows {
        table.text(Style::Plain, &row.path);
        match &row.value {
            RowValue::Number(value) => {
                table.cell(Style::Heading, |out| push_typed(out, *value, row.counter_type));
                let unit = row.counter_type.map_or("", CounterType::unit);
                table.text(Style::Faint, unit_for_people(unit));
            }
            RowValue::Text(text) => {
                table.text(Style::Plain, "");
                table.text(Style::Heading, text);
            }
            RowValue::None(why) => {
                table.text(Style::Faint, "-");
                table.cell(Style::Attention, |out| out.push_str(&why.to_string()));
            }
        }
    }
    table
}

/// Values alone, as [`Shape::Tsv`] writes them; an empty line for a missing value.
fn push_bare(out: &mut String, rows: &[Row], terminal: bool) {
    let mut head = String::new();
    let mut records = Records::begin(Shape::Tsv, terminal, ["value"], &mut head);
    for row in rows {
        let field = match &row.value {
            RowValue::Number(CookedValue::Integer(value)) => Field::Unsigned(*value),
            RowValue::Number(CookedValue::Float(value)) => Field::Float(*value),
            RowValue::Text(text) => Field::Text(text),
            RowValue::None(_) => Field::None,
        };
        records.row(out, [field]);
    }
}
