//! One sample as a table for people.

use crate::output::Output;
use crate::paths::Absent;
use crate::text::escape::{Escaped, clip, width};
use crate::text::style::Style;
use crate::text::table::{Align, Layout, Table, shortened};
use crate::text::time::local;
use crate::text::wide::has_several_machines;
use perfhive::{Query, Reading};
use perfhive_view::{Arrangement, Detail, History, Row, RowValue, Selection, TopProcesses};
use std::fmt::Write as _;
use std::time::Duration;

/// A sample as a title and tables, to be printed in a window of any size.
pub(super) struct View {
    title: String,
    table: Table,
    /// The number of rows that are not in the table.
    left_out: usize,
    processes: Option<Table>,
}

/// The widths that the columns had in earlier views.
#[derive(Default)]
pub(super) struct Widths {
    table: Vec<(usize, usize)>,
    processes: Vec<(usize, usize)>,
}

/// A sample, and the settings by which it is shown.
pub(super) struct Sample<'a> {
    pub(super) query: &'a Query,
    pub(super) selection: &'a Selection,
    pub(super) arrangement: &'a Arrangement,
    pub(super) absent: &'a [Absent],
    pub(super) detail: Detail,
    /// The width of the terminal in columns.
    pub(super) width: usize,
    /// The time between samples; `None` for a recording that is read without a pause.
    pub(super) interval: Option<Duration>,
}

/// The window width in columns below which names that all rows share are moved to the title.
const NARROW: usize = 60;

impl View {
    /// The view of a sample's selected readings. With a `screen` (history and number of lines) the readings
    /// have curves, and instances for which there are no lines are left out. With `first`, as for the first sample
    /// of a live source, missing values are shown without the reason.
    pub(super) fn new(sample: &Sample<'_>, screen: Option<(&History, usize)>, first: bool) -> Self {
        let narrow = sample.width < NARROW;
        let query = sample.query;
        let summary = sample.selection.summary(query);
        let any = summary.first().copied().or_else(|| query.readings().first());
        // Of several machines, each row names its own.
        let machine = any.filter(|_| !has_several_machines(query));
        let machine = machine.map_or("", |reading| &*reading.machine);
        let time = any.and_then(|reading| query.time_of(reading)).or(query.time());
        let time = time.and_then(|time| local(time, sample.interval));
        let mut title = machine.to_string();
        if let Some(time) = time {
            let gap = if title.is_empty() { "" } else { "  " };
            let _ = write!(title, "{gap}{time}");
        }
        let processes = sample.selection.top.map(|top| processes(query, &top, sample));
        // The title and an empty line, the line on what is left out, and the list of processes below
        // an empty line and its titles.
        let others = 3 + sample.absent.len() + processes.as_ref().map_or(0, |list| list.rows() + 2);
        let room = screen.map(|(_, lines)| lines.saturating_sub(others).max(1));
        let arranged = sample.arrangement.of(query, summary, room);
        let history = screen.map(|(history, _)| history);
        let common = narrow.then(|| common(query, &arranged.readings)).flatten();
        if let Some(common) = common.as_ref().filter(|_| sample.absent.is_empty()) {
            title = format!("{common}  {title}");
        }
        let common = common.filter(|_| sample.absent.is_empty());
        Self {
            title,
            table: table(sample, &arranged.readings, history, (first, common.is_some())),
            left_out: arranged.left_out,
            processes,
        }
    }

    /// Makes the columns at least as wide as they were in earlier views.
    pub(super) fn keep_widths(&mut self, widths: &mut Widths) {
        self.table.keep_widths(&mut widths.table);
        if let Some(processes) = &mut self.processes {
            processes.keep_widths(&mut widths.processes);
        }
    }

    /// Prints the view. With a `screen` (number of lines and interval), the view is cut to this number of lines,
    /// and the title has the interval.
    pub(super) fn render(
        &self,
        out: &mut String,
        output: &Output,
        screen: Option<(usize, Option<Duration>)>,
    ) {
        let palette = output.palette;
        // A line that is too long would take two lines of the screen.
        let room = output.screen_width();
        let title = Escaped(&self.title).to_string();
        palette.push(out, Style::Heading, clip(&title, room).0);
        if let Some((_, interval)) = screen {
            let every = match interval {
                Some(interval) => format!("  every {} s, Ctrl-C ends", interval.as_secs_f64()),
                None => "  Ctrl-C ends".to_string(),
            };
            if width(&title) + width(&every) <= room {
                palette.push(out, Style::Faint, &every);
            }
        }
        out.push_str("\n\n");
        let layout = Layout { width: output.screen_width(), ..output.layout(false) };
        let mut text = String::new();
        self.table.render(&mut text, layout);
        if self.left_out > 0 {
            let line =
                format!("… {} more rows; --sort, --filter and --top show others", self.left_out);
            palette.push(&mut text, Style::Faint, clip(&line, layout.width).0);
            text.push('\n');
        }
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
        // If rows were left out, the last line is not a row: it gives their number.
        let hidden = lines + 1 - room + self.left_out - usize::from(self.left_out > 0);
        let more = format!("… {hidden} more lines than the window has");
        palette.push(out, Style::Faint, clip(&more, output.screen_width()).0);
        out.push('\n');
    }
}

/// The text `OBJECT COUNTER`, if every reading is of an instance and all are of one counter of one
/// source. `None` otherwise, and without readings.
fn common(query: &Query, readings: &[&Reading]) -> Option<String> {
    let first = readings.first()?;
    let is_like = |one: &&Reading| {
        let same = (one.source, one.object, one.counter);
        one.instance.is_some() && same == (first.source, first.object, first.counter)
    };
    let (object, counter) = query.names_of(first);
    readings.iter().all(is_like).then(|| format!("{object} {counter}"))
}

/// The table of readings: object, counter, value, unit and, with a history, a curve. With `instances_alone` the
/// title has the object and the counter, and only instances are named. With `first` missing values are shown
/// without the reason.
fn table(
    sample: &Sample<'_>,
    readings: &[&Reading],
    history: Option<&History>,
    (first, instances_alone): (bool, bool),
) -> Table {
    let query = sample.query;
    let columns = [Align::Label, Align::Label, Align::Point, Align::Left];
    let mut table = Table::new(&columns.map(|align| ("", align)));
    if history.is_some() {
        table.column("", Align::Left);
    }
    let names_machines = has_several_machines(query);
    let mut last = String::new();
    for reading in readings {
        let (mut label, counter) = query.names_of(reading);
        if let Some(instance) = reading.instance.as_ref().filter(|_| instances_alone) {
            label = instance.plain();
        } else if let Some(instance) = &reading.instance {
            let _ = write!(label, "({})", instance.plain());
        } else if let Some(asked) = query.path(reading.path).and_then(|p| p.instance.as_ref()) {
            let _ = write!(label, "({asked})");
        }
        if names_machines && !reading.machine.is_empty() {
            label = format!(r"\\{}\{label}", reading.machine);
        }
        // The name of an object stands only before its first counter.
        table.text(Style::Name, if label == last { "" } else { &label });
        last = label;
        table.text(Style::Plain, if instances_alone { "" } else { &counter });
        let row = Row::new(query, reading);
        match (&row.value, row.shown(sample.detail)) {
            (_, Some(shown)) => {
                table.text(Style::Heading, &shown.number);
                table.text(Style::Faint, &shown.unit);
            }
            (RowValue::Text(text), _) => {
                table.text(Style::Plain, "");
                table.text(Style::Heading, text);
            }
            (RowValue::None(why), _) if !first && history.is_none() => {
                table.text(Style::Faint, "-");
                table.text(Style::Attention, &why.to_string());
            }
            _ => {
                table.text(Style::Faint, "-");
                table.text(Style::Plain, "");
            }
        }
        match (history, &row.value) {
            // On a screen, the reason stands in the column of the curves, which has the rest of the width.
            (Some(_), RowValue::None(why)) if !first => {
                table.text(Style::Attention, &why.to_string());
            }
            (Some(history), _) => table.text(Style::Curve, &history.curve(reading)),
            (None, _) => {}
        }
    }
    for one in sample.absent {
        let row = Row::absent(sample.query, &one.path, &one.why);
        let instance = row.instance.map(|instance| format!("({instance})")).unwrap_or_default();
        table.text(Style::Name, &format!("{}{instance}", row.object));
        table.text(Style::Plain, &row.counter);
        table.text(Style::Faint, "-");
        if history.is_some() {
            table.text(Style::Plain, "");
        }
        table.text(Style::Attention, &one.why);
    }
    table
}

/// The table of the busiest processes.
fn processes(query: &Query, top: &TopProcesses, sample: &Sample<'_>) -> Table {
    let detail = sample.detail;
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
    for title in [time, working_set].map(Option::unwrap_or_default) {
        let room = if sample.width < NARROW { NARROW / 5 } else { usize::MAX };
        table.column(&shortened(&title, room), Align::Point);
    }
    table.column(&process.unwrap_or_default(), Align::Left);
    for busy in &busiest {
        for (style, reading) in [
            (Style::Plain, busy.id),
            (Style::Heading, Some(busy.time)),
            (Style::Plain, busy.working_set),
        ] {
            match reading.and_then(|reading| Row::new(query, reading).shown(detail)) {
                // The unit of a percentage is in the title.
                Some(shown) if matches!(shown.unit.as_str(), "" | "%") => {
                    table.text(style, &shown.number);
                }
                Some(shown) => table.text(style, &format!("{} {}", shown.number, shown.unit)),
                None => table.text(Style::Faint, "-"),
            }
        }
        let name = busy.time.instance.as_ref().map(|label| &*label.name);
        table.text(Style::Name, name.unwrap_or_default());
    }
    table
}
