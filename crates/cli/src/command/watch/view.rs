//! One sample as a table for people.

use crate::output::Output;
use crate::paths::Absent;
use crate::text::escape::{Escaped, clip, width};
use crate::text::style::Style;
use crate::text::table::{Align, Layout, Table};
use perfhive::{CookedValue, Query, Reading};
use perfhive_view::label::plain;
use perfhive_view::number::{push_brief, push_bytes};
use perfhive_view::time::for_people;
use perfhive_view::{History, Row, Selection, TopProcesses, shown};
use std::fmt::Write as _;
use std::time::Duration;

/// A sample, ready to be printed in any size.
pub(super) struct View {
    title: String,
    table: Table,
    processes: Option<Table>,
}

/// How wide the columns of a view were.
#[derive(Default)]
pub(super) struct Widths {
    table: Vec<(usize, usize)>,
    processes: Vec<(usize, usize)>,
}

impl View {
    /// The selected readings of a query. In the first sample of a live source
    /// (`first`), values that need two samples are shown without a reason.
    pub(super) fn new(
        query: &Query,
        selection: &Selection,
        absent: &[Absent],
        history: Option<&History>,
        first: bool,
    ) -> Self {
        let summary = selection.summary(query);
        let any = summary.first().copied().or_else(|| query.readings().first());
        let machine = any.map_or("", |reading| &*reading.machine);
        let time = any.and_then(|reading| query.time_of(reading)).and_then(for_people);
        let mut title = machine.to_string();
        if let Some(time) = time {
            let gap = if title.is_empty() { "" } else { "  " };
            let _ = write!(title, "{gap}{time}");
        }
        Self {
            title,
            table: table(query, &summary, absent, history, first),
            processes: selection.top.map(|top| processes(query, &top)),
        }
    }

    /// Makes the columns as wide as they were in the views before.
    pub(super) fn keep_widths(&mut self, widths: &mut Widths) {
        self.table.keep_widths(&mut widths.table);
        if let Some(processes) = &mut self.processes {
            processes.keep_widths(&mut widths.processes);
        }
    }

    /// Prints the view; on a screen in no more lines than it has.
    pub(super) fn render(
        &self,
        out: &mut String,
        output: &Output,
        screen: Option<(usize, Duration)>,
    ) {
        let palette = output.palette;
        // A line that wrapped would take two of the screen's.
        let room = output.screen_width();
        let title = Escaped(&self.title).to_string();
        palette.push(out, Style::Heading, clip(&title, room).0);
        if let Some((_, interval)) = screen {
            let every = format!("  every {} s, Ctrl-C ends", interval.as_secs_f64());
            if width(&title) + width(&every) <= room {
                palette.push(out, Style::Faint, &every);
            }
        }
        out.push_str("\n\n");
        let layout = Layout { width: output.screen_width(), ..output.layout(false) };
        let mut text = String::new();
        self.table.render(&mut text, layout);
        if let Some(processes) = &self.processes {
            if self.table.rows() > 0 {
                text.push('\n');
            }
            processes.render(&mut text, Layout { titles: true, ..layout });
        }
        let room = screen.map_or(usize::MAX, |(lines, _)| lines.saturating_sub(2).max(1));
        let lines = text.lines().count();
        if lines <= room {
            out.push_str(&text);
            return;
        }
        for line in text.lines().take(room - 1) {
            out.push_str(line);
            out.push('\n');
        }
        let more = format!("… {} more lines than the window has", lines + 1 - room);
        palette.push(out, Style::Faint, clip(&more, output.screen_width()).0);
        out.push('\n');
    }
}

/// Object, counter, value, unit, curve.
fn table(
    query: &Query,
    readings: &[&Reading],
    absent: &[Absent],
    history: Option<&History>,
    first: bool,
) -> Table {
    let mut table =
        Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Point), ("", Align::Left)]);
    if history.is_some() {
        table.column("", Align::Left);
    }
    let mut last = String::new();
    for reading in readings {
        let (mut label, counter) = query.names_of(reading);
        if let Some(instance) = &reading.instance {
            let _ = write!(label, "({})", plain(instance));
        } else if let Some(asked) = query.path(reading.path).and_then(|p| p.instance.as_ref()) {
            let _ = write!(label, "({asked})");
        }
        // The name of an object stands where its counters begin.
        table.text(Style::Name, if label == last { "" } else { &label });
        last = label;
        table.text(Style::Plain, &counter);
        match (&reading.value, &reading.text) {
            (Ok(value), _) => {
                let shown = shown(query, reading, *value);
                table.text(Style::Heading, &shown.number);
                table.text(Style::Faint, &shown.unit);
            }
            (Err(_), Some(text)) => {
                table.text(Style::Plain, "");
                table.text(Style::Heading, text);
            }
            (Err(why), None) => {
                table.text(Style::Faint, "-");
                let words = if first { String::new() } else { why.to_string() };
                table.text(Style::Attention, &words);
            }
        }
        if let Some(history) = history {
            table.text(Style::Curve, &history.curve(reading));
        }
    }
    for one in absent {
        let row = Row::absent(&one.path, &one.why);
        let instance = row.instance.map(|instance| format!("({instance})")).unwrap_or_default();
        table.text(Style::Name, &format!("{}{instance}", row.object));
        table.text(Style::Plain, &row.counter);
        table.text(Style::Faint, "-");
        table.text(Style::Attention, &one.why);
        if history.is_some() {
            table.text(Style::Curve, "");
        }
    }
    table
}

fn number(reading: &Reading) -> Option<CookedValue> {
    reading.value.as_ref().ok().copied()
}

/// The busiest processes.
fn processes(query: &Query, top: &TopProcesses) -> Table {
    let busiest = top.busiest(query);
    let title = |reading: Option<&Reading>, object: bool| {
        let reading = reading?;
        let names = query.titles(reading.source)?;
        Some(names.name_or_index(if object { reading.object } else { reading.counter }))
    };
    let first = busiest.first();
    let time = title(first.map(|busy| busy.time), false);
    let working_set = title(first.and_then(|busy| busy.working_set), false);
    let process = title(first.map(|busy| busy.time), true);
    let mut table = Table::default();
    table.column("PID", Align::Right);
    table.column(&time.unwrap_or_default(), Align::Point);
    table.column(&working_set.unwrap_or_default(), Align::Point);
    table.column(&process.unwrap_or_default(), Align::Left);
    for busy in &busiest {
        let id = busy.id.and_then(number).and_then(CookedValue::as_u64);
        table.cell(Style::Plain, |out| {
            let _ = match id {
                Some(id) => write!(out, "{id}"),
                None => write!(out, "-"),
            };
        });
        match number(busy.time) {
            Some(value) => {
                table.cell(Style::Heading, |out| {
                    push_brief(out, value);
                });
            }
            None => table.text(Style::Faint, "-"),
        }
        match busy.working_set.and_then(number) {
            Some(value) => table.cell(Style::Plain, |out| push_bytes(out, value.as_f64())),
            None => table.text(Style::Faint, "-"),
        }
        let name = busy.time.instance.as_ref().map(|label| label.name.as_str());
        table.text(Style::Name, name.unwrap_or_default());
    }
    table
}
