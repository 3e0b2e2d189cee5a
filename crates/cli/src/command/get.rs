//! `perfhive get`: prints one cooked value for each path.

use crate::args::{Get, Global};
use crate::command::following;
use crate::failure::{Exit, Failure, Outcome, complain};
use crate::output::Output;
use crate::paths::{Added, add_paths, fail_if_all_absent, missing_instances, with_syntax};
use crate::session::Session;
use crate::text::escape::clip;
use crate::text::records::{Records, Shape};
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use crate::text::wide::Wide;
use perfhive::{CookedValue, CounterType, NoValue, Query, QueryError, Reading, ValueError};
use perfhive_view::{Arrangement, Detail, Field, History, Order, Row, RowValue};
use std::time::{Duration, Instant};

/// The rows of one collection, and the number of rows that were left out.
struct Rows {
    rows: Vec<Row>,
    /// The curve of each row; empty texts without `--spark`.
    curves: Vec<String>,
    left_out: usize,
}

pub(super) fn run(global: &Global, args: &Get) -> Outcome {
    let session = Session::open(global).map_err(|failure| with_syntax(failure, &args.paths))?;
    let faults = session.faults.clone();
    let mut query = session.query()?;
    let paths = fail_if_all_absent(add_paths(&mut query, global, &args.paths)?)?;
    let output = Output::to(global, args.choice.output.as_deref())?;
    let rows_of =
        |query: &Query, history: Option<&History>| rows_of(query, &paths, args, &output, history);

    let start = Instant::now();
    match query.collect() {
        // The source is still searching for the provider that hangs; the next request gets the result.
        Err(QueryError::Source(error)) if error.is_transient() => query.collect()?,
        collected => collected?,
    }
    let mut all = rows_of(&query, None);
    let mut notes = missing_instances(&query);
    // A provider makes some gauges, such as the power of an energy meter, from two samples.
    let needs_two = query.samples_needed() > 1;
    if needs_two || may_have_more(&query, &paths) {
        if query.is_live() {
            std::thread::sleep(args.interval.saturating_sub(start.elapsed()));
        }
        match query.collect() {
            Ok(()) => {
                all = rows_of(&query, None);
                notes = missing_instances(&query);
            }
            Err(error) if error.is_end_of_data() => {
                let note = || format!("{error}, and some of these counters need two");
                notes.extend(needs_two.then(note));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(length) = args.spark {
        let curves = curves(&mut query, args.interval, length.into(), |query, history| {
            all = rows_of(query, Some(history));
        });
        notes.extend(curves?);
    }
    faults.report();
    args.choice.check_order(&query)?;
    let unmatched = args.choice.without_match(&query);

    let mut text = String::new();
    if args.bare {
        push_bare(&mut text, &all.rows, output.terminal);
    } else if args.choice.wide {
        let mut wide = Wide::single();
        let chosen = chosen(&query, &paths, &args.choice.arrangement(output.is_terminal_table()));
        let absent = absent_rows(&query, &paths).collect();
        wide.push(&mut text, &output, &query, (&chosen, absent), faults.time());
        wide.end(&mut text);
    } else if output.is_table() {
        let layout = output.layout_of_labels();
        output.push_moment(&mut text, query.is_live(), faults.time());
        table(&all, output.detail(Detail::Full)).render(&mut text, layout);
        if all.left_out > 0 {
            let more = format!(
                "… {} more rows than the window has lines; pipe into cat to see all",
                all.left_out
            );
            let shown = clip(&more, layout.width).0;
            output.palette.push(&mut text, Style::Faint, shown);
            text.push('\n');
        }
    } else {
        let mut records = output.records(output.row_keys(), &mut text);
        output.readings(&mut records, &mut text, &mut all.rows);
        records.end(&mut text);
    }
    output.write_whole(&text)?;
    let complete = unmatched.is_none() && all.rows.iter().all(Row::has_value);
    for note in notes.into_iter().chain(unmatched) {
        complain(&note);
    }
    Ok(if complete { Exit::Done } else { Exit::NoValue })
}

/// Takes the further samples that curves of this length (`--spark`) need; of a recording, all further samples. Calls
/// `seen` for the present sample and after each further one. If a transient error ends a live source's samples early,
/// returns its message; otherwise `None`.
fn curves(
    query: &mut Query,
    interval: Duration,
    length: usize,
    mut seen: impl FnMut(&Query, &History),
) -> Result<Option<String>, Failure> {
    let is_live = query.is_live();
    let mut history = History::default();
    let mut next = Instant::now();
    let mut samples = 1;
    loop {
        history.note(query, length);
        seen(query, &history);
        if is_live {
            if samples >= length {
                return Ok(None);
            }
            samples += 1;
            next = following(next, interval, Instant::now());
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        match query.collect() {
            Ok(()) => {}
            Err(error) if error.is_end_of_data() => return Ok(None),
            Err(QueryError::Source(error)) if is_live && error.is_transient() => {
                return Ok(Some(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether the next sample may have values that this one lacks. With a live source this is so if all values of a path
/// are absent from the sample, as with counters that are made from two samples; with a text log, if any value is
/// missing, since rates are blank in its first line.
fn may_have_more(query: &Query, paths: &[Added]) -> bool {
    let is_live = query.is_live();
    let is_lacking = |reading: &Reading| match &reading.value {
        Err(NoValue::Data(ValueError::OutsideBlock { .. } | ValueError::Absent)) if is_live => true,
        Err(_) => !is_live && reading.counter_type == CounterType::PERF_DOUBLE_RAW,
        Ok(_) => false,
    };
    paths.iter().flatten().any(|id| {
        let mut readings = query.readings_of(*id).peekable();
        match is_live {
            true => readings.peek().is_some() && readings.all(is_lacking),
            false => readings.any(is_lacking),
        }
    })
}

/// The readings of the paths, chosen and ordered by an arrangement.
fn chosen<'q>(query: &'q Query, paths: &[Added], arrangement: &Arrangement) -> Vec<&'q Reading> {
    let readings = paths.iter().flatten().flat_map(|id| query.readings_of(*id)).collect();
    arrangement.of(query, readings, None).readings
}

/// The rows of the paths to objects that cannot be read at the moment.
fn absent_rows(query: &Query, paths: &[Added]) -> impl Iterator<Item = Row> {
    let absent = paths.iter().filter_map(|path| path.as_ref().err());
    absent.map(move |one| Row::absent(query, &one.path, &one.why))
}

/// The rows of the last collection. `--sort` gives their order. Without it they are sorted by value if `--top` is
/// given, or if a table on a terminal has a path with a wildcard; otherwise they keep the order of the paths. Sorted
/// rows of such a table that the window has no room for are left out, unless `--top` is given.
fn rows_of(
    query: &Query,
    paths: &[Added],
    args: &Get,
    output: &Output,
    history: Option<&History>,
) -> Rows {
    let on_terminal = output.is_terminal_table() && !args.bare && !args.choice.wide;
    let is_wild = |id: &perfhive::PathId| query.path(*id).is_some_and(|path| path.is_wild());
    let sorts = on_terminal && paths.iter().flatten().any(is_wild);
    let absent = || paths.iter().filter_map(|path| path.as_ref().err());
    let arrangement = args.choice.arrangement(sorts);
    // One line says how many are left out, and the next prompt takes another; the time of a recording takes two.
    let others = 2 + absent().count() + if query.is_live() { 0 } else { 2 };
    let lines = output.size().map(|(_, lines)| lines.saturating_sub(others));
    let room = lines.filter(|_| sorts && args.choice.top.is_none()).map(|lines| lines.max(1));
    let curve = |reading: &&Reading| history.map(|one| one.curve(reading)).unwrap_or_default();
    if arrangement.order == Order::Source {
        // The order of the source includes the order of the paths.
        let mut all = Rows { rows: Vec::new(), curves: Vec::new(), left_out: 0 };
        for path in paths {
            match path {
                Ok(id) => {
                    let readings = query.readings_of(*id).collect();
                    let arranged = arrangement.of(query, readings, None).readings;
                    all.curves.extend(arranged.iter().map(curve));
                    all.rows.extend(arranged.into_iter().map(|one| Row::new(query, one)));
                }
                Err(absent) => {
                    all.curves.push(String::new());
                    all.rows.push(Row::absent(query, &absent.path, &absent.why));
                }
            }
        }
        return all;
    }
    let readings = paths.iter().flatten().flat_map(|id| query.readings_of(*id)).collect();
    let arranged = arrangement.of(query, readings, room);
    let mut curves: Vec<String> = arranged.readings.iter().map(curve).collect();
    let rows = arranged.readings.into_iter().map(|reading| Row::new(query, reading));
    let mut rows: Vec<Row> = rows.collect();
    let mut left_out = if args.choice.top.is_none() { arranged.left_out } else { 0 };
    // One instance may have more counters than the window has lines.
    if let Some(room) = room.filter(|room| rows.len() > *room) {
        left_out += rows.len() - room;
        rows.truncate(room);
        curves.truncate(room);
    }
    rows.extend(absent_rows(query, paths));
    Rows { rows, curves, left_out }
}

fn table(all: &Rows, detail: Detail) -> Table {
    let mut table = Table::new(&[("", Align::Label), ("", Align::Point), ("", Align::Left)]);
    let has_curves = all.curves.iter().any(|curve| !curve.is_empty());
    if has_curves {
        table.column("", Align::Left);
    }
    for (place, row) in all.rows.iter().enumerate() {
        table.text(Style::Plain, &row.local_path);
        match (&row.value, row.shown(detail)) {
            (_, Some(shown)) => {
                table.text(Style::Heading, &shown.number);
                table.text(Style::Faint, &shown.unit);
            }
            (RowValue::Text(text), _) => {
                table.text(Style::Plain, "");
                table.text(Style::Heading, text);
            }
            (why, _) => {
                table.text(Style::Faint, "-");
                let why =
                    if let RowValue::None(why) = why { why.to_string() } else { String::new() };
                table.text(Style::Attention, &why);
            }
        }
        if has_curves {
            let curve = all.curves.get(place).map(String::as_str);
            table.text(Style::Curve, curve.unwrap_or_default());
        }
    }
    table
}

/// Appends the values alone, as [`Shape::Tsv`] writes them; an empty line for a missing value.
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
