//! One sample as a table for people.

use super::history::History;
use crate::instances::plain;
use crate::output::Output;
use crate::text::escape::{Escaped, clip, width};
use crate::text::number::{bytes_scaled, push_brief, push_bytes, push_float, unit_for_people};
use crate::text::style::Style;
use crate::text::table::{Align, Layout, Table};
use crate::text::time::for_people;
use perfhive::{CookedValue, Identity, LanguageId, NoValue, PathId, Query, Reading};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

/// What is to be shown: some paths, and perhaps the busiest processes.
/// Without any, every reading of the query.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) summary: Vec<PathId>,
    pub(super) top: Option<Top>,
}

/// The paths of the list of processes.
#[derive(Clone, Copy)]
pub(super) struct Top {
    pub(super) time: PathId,
    pub(super) id: PathId,
    pub(super) working_set: PathId,
}

/// How many processes are shown.
const PROCESSES: usize = 10;

impl Wanted {
    fn is_everything(&self) -> bool {
        self.summary.is_empty() && self.top.is_none()
    }

    fn summary<'q>(&self, query: &'q Query) -> Vec<&'q Reading> {
        let all = self.is_everything();
        let wanted = |reading: &&Reading| all || self.summary.contains(&reading.path);
        query.readings().iter().filter(wanted).collect()
    }

    /// The readings for programs: the same that people see.
    pub(super) fn readings<'q>(&self, query: &'q Query) -> Vec<&'q Reading> {
        let mut readings = self.summary(query);
        if let Some(top) = &self.top {
            for process in top.busiest(query) {
                readings.push(process.time);
                readings.extend(process.id);
                readings.extend(process.working_set);
            }
        }
        readings
    }
}

/// One process of one sample.
struct Busy<'q> {
    time: &'q Reading,
    id: Option<&'q Reading>,
    working_set: Option<&'q Reading>,
}

fn number(reading: &Reading) -> Option<CookedValue> {
    reading.value.as_ref().ok().copied()
}

impl Top {
    /// The processes that used most processor time.
    fn busiest<'q>(&self, query: &'q Query) -> Vec<Busy<'q>> {
        let by_identity = |path: PathId| -> HashMap<&'q Identity, &'q Reading> {
            let readings = query.readings_of(path);
            readings.filter_map(|reading| Some((reading.identity.as_ref()?, reading))).collect()
        };
        let (ids, working_sets) = (by_identity(self.id), by_identity(self.working_set));
        let is_process = |reading: &&Reading| {
            let name = reading.instance.as_ref().map_or("", |label| label.name.as_str());
            let gone = matches!(reading.value, Err(NoValue::Vanished));
            !gone && !matches!(name, "_Total" | "Idle" | "")
        };
        let busy = query.readings_of(self.time).filter(is_process).filter_map(|time| {
            let identity = time.identity.as_ref()?;
            let id = ids.get(identity).copied();
            Some(Busy { time, id, working_set: working_sets.get(identity).copied() })
        });
        let mut busy: Vec<Busy<'q>> = busy.collect();
        let size =
            |reading: Option<&Reading>| reading.and_then(number).map_or(-1.0, CookedValue::as_f64);
        busy.sort_by(|a, b| {
            let by = |x: Option<&Reading>, y: Option<&Reading>| -> Ordering {
                size(y).total_cmp(&size(x))
            };
            by(Some(a.time), Some(b.time)).then_with(|| by(a.working_set, b.working_set))
        });
        busy.truncate(PROCESSES);
        busy
    }
}

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
    /// Takes what is wanted out of a query. In the first sample of a live
    /// source values that take two are still to come.
    pub(super) fn new(
        query: &Query,
        wanted: &Wanted,
        history: Option<&History>,
        first: bool,
    ) -> Self {
        let summary = wanted.summary(query);
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
            table: table(query, &summary, history, first),
            processes: wanted.top.map(|top| processes(query, &top)),
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
fn table(query: &Query, readings: &[&Reading], history: Option<&History>, first: bool) -> Table {
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
            (Ok(value), _) => match amount(query, reading) {
                Some(suffix) => {
                    let (scaled, unit) = bytes_scaled(value.as_f64());
                    let decimals = usize::from(unit != "B");
                    table.cell(Style::Heading, |out| push_float(out, scaled, decimals));
                    table.cell(Style::Faint, |out| {
                        out.push_str(unit);
                        out.push_str(suffix);
                    });
                }
                None => {
                    table.cell(Style::Heading, |out| push_brief(out, *value));
                    table.text(Style::Faint, unit_for_people(reading.counter_type.unit()));
                }
            },
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
    table
}

/// Whether a counter is an amount of memory or data, which its type does not
/// say: then what stands behind the unit.
fn amount(query: &Query, reading: &Reading) -> Option<&'static str> {
    const WORKING_SETS: [u32; 3] = [178, 180, 1478];
    let suffix = match reading.counter_type.unit() {
        "" => "",
        "1/s" => "/s",
        _ => return None,
    };
    let databases = query.titles(reading.source)?.databases();
    let english = databases.iter().find(|d| d.language() == LanguageId::ENGLISH)?;
    let name = english.name(reading.counter)?;
    let is_bytes = name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Bytes");
    let is_working_set =
        WORKING_SETS.contains(&reading.counter.0) && name.starts_with("Working Set");
    (is_bytes || is_working_set).then_some(suffix)
}

/// The busiest processes.
fn processes(query: &Query, top: &Top) -> Table {
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
