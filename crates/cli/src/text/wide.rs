//! A line for each sample, with a column for each counter.

use super::escape::width;
use super::records::Records;
use super::style::Style;
use super::table::{Align, Layout, Table, shortened};
use super::time::local_clock;
use crate::failure::warn;
use crate::output::Output;
use perfhive::{CookedValue, SystemTime};
use perfhive_view::time::rfc3339;
use perfhive_view::{Detail, Field, Row, RowValue};
use std::collections::HashMap;
use std::time::Duration;

/// Samples in lines. The columns are the counters of the first sample.
pub(crate) struct Wide {
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    records: Option<Records>,
    /// Whether the reader was told of counters without a column.
    said: bool,
    /// Lines since the titles were printed.
    lines: usize,
    interval: Option<Duration>,
}

/// A column for people: its two lines of title, and the width of its widest value.
struct Column {
    of: String,
    counter: String,
    width: usize,
}

/// The widest title, and the narrowest column.
const TITLE: usize = 16;
const NARROWEST: usize = 8;

impl Wide {
    /// No line yet. `interval` is the time between live samples.
    pub(crate) fn new(interval: Option<Duration>) -> Self {
        let (columns, places) = (Vec::new(), HashMap::new());
        Self { columns, places, records: None, said: false, lines: 0, interval }
    }

    /// Adds the line of a sample.
    pub(crate) fn push(
        &mut self,
        out: &mut String,
        output: &Output,
        rows: &[Row],
        time: Option<SystemTime>,
    ) {
        let is_first = self.places.is_empty();
        if is_first {
            for row in rows {
                let next = self.places.len();
                self.places.entry(row.path.clone()).or_insert_with(|| {
                    self.columns.push(Column::of(row));
                    next
                });
            }
        }
        let mut cells: Vec<Option<&Row>> = vec![None; self.places.len()];
        let mut more = 0;
        for row in rows {
            match self.places.get(&row.path).and_then(|place| cells.get_mut(*place)) {
                Some(cell) => *cell = Some(row),
                None => more += 1,
            }
        }
        if more > 0 && !std::mem::replace(&mut self.said, true) {
            warn(&format!("{more} counters appeared after the first sample and have no column"));
        }
        if output.is_table() {
            self.line_for_people(out, output, &cells, time);
            return;
        }
        let records = self.records.get_or_insert_with(|| {
            let mut paths = vec![""; self.places.len()];
            for (path, place) in &self.places {
                if let Some(slot) = paths.get_mut(*place) {
                    *slot = path;
                }
            }
            output.stream(std::iter::once("time").chain(paths), out)
        });
        let time = time.and_then(rfc3339);
        let values = cells.iter().map(|cell| match cell.map(|row| &row.value) {
            Some(RowValue::Number(CookedValue::Integer(value))) => Field::Unsigned(*value),
            Some(RowValue::Number(CookedValue::Float(value))) => Field::Float(*value),
            Some(RowValue::Text(text)) => Field::Text(text),
            Some(RowValue::None(_)) | None => Field::None,
        });
        records.row(out, std::iter::once(Field::text(time.as_deref())).chain(values));
    }

    /// As vmstat prints it, with the titles again for each page.
    fn line_for_people(
        &mut self,
        out: &mut String,
        output: &Output,
        cells: &[Option<&Row>],
        time: Option<SystemTime>,
    ) {
        let detail = output.detail(Detail::Brief);
        let shown = |cell: &Option<&Row>| match cell {
            Some(row) => match (row.shown(detail), &row.value) {
                (Some(shown), _) if shown.unit.is_empty() => shown.number,
                // The title says the rest of the unit.
                (Some(shown), _) if matches!(shown.unit.as_str(), "%" | "/s" | "s") => shown.number,
                (Some(shown), _) => format!("{} {}", shown.number, shown.unit),
                (None, RowValue::Text(text)) => text.clone(),
                (None, _) => "-".to_string(),
            },
            None => "-".to_string(),
        };
        let values: Vec<String> = cells.iter().map(shown).collect();
        for (column, value) in self.columns.iter_mut().zip(&values) {
            column.width = column.width.max(width(value));
        }
        let clock = time.and_then(|time| local_clock(time, self.interval)).unwrap_or_default();
        let room = output.screen_width().saturating_sub(width(&clock)) / self.columns.len().max(1);
        let title = room.saturating_sub(2).clamp(NARROWEST, TITLE);
        let page = output.size().map_or(usize::MAX, |(_, lines)| lines.saturating_sub(3).max(1));
        let mut table = Table::new(&[("", Align::Left)]);
        for _ in &self.columns {
            table.column("", Align::Right);
        }
        if self.lines.is_multiple_of(page) {
            for (style, text) in [
                (Style::Faint, Column::of_what as fn(&Column) -> &str),
                (Style::Heading, Column::counter),
            ] {
                table.text(style, "");
                for column in &self.columns {
                    table.text(style, &shortened(text(column), title.max(column.width)));
                }
            }
        }
        self.lines += 1;
        table.text(Style::Faint, &clock);
        values.iter().for_each(|value| table.text(Style::Plain, value));
        let mut floors: Vec<(usize, usize)> = vec![(width(&clock), 0)];
        floors.extend(self.columns.iter().map(|column| {
            let titles = width(&column.of).max(width(&column.counter)).min(title);
            (column.width.max(titles), 0)
        }));
        table.keep_widths(&mut floors);
        let layout = Layout { width: output.screen_width(), ..output.layout(false) };
        table.render(out, layout);
    }
}

impl Column {
    fn of(row: &Row) -> Self {
        let (object, counter) = row.local_names.clone();
        let of = match &row.instance {
            Some(instance) => format!("{object}({instance})"),
            None => object,
        };
        Self { of, counter, width: NARROWEST }
    }

    fn of_what(&self) -> &str {
        &self.of
    }

    fn counter(&self) -> &str {
        &self.counter
    }
}
