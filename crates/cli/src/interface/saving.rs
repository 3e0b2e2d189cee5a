//! The files that the interface writes: settings, values as CSV, recordings.

use super::files::Existing;
use super::layout::Kind;
use super::model::{Effect, Model};
use crate::args::value::foreign_form;
use crate::text::escape::Escaped;
use perfhive::FileTime;
use perfhive_view::past::Past;
use std::path::Path;

impl Model {
    /// The name of a new file with the extension `end`, such as `perfhive.csv`, or with `time` in the user's time
    /// zone `perfhive-20261124-033512.csv`.
    pub(super) fn name_at(&self, time: Option<FileTime>, end: &str) -> String {
        match time {
            Some(time) => format!("perfhive-{}.{end}", self.formatted(time, "%Y%m%d-%H%M%S")),
            None => format!("perfhive.{end}"),
        }
    }

    pub(super) fn save(&mut self, file: &str, effects: &mut Vec<Effect>) {
        self.view.seconds = self.seconds;
        effects.push(Effect::Write {
            file: file.to_string(),
            text: self.view.to_toml(),
            existing: Existing::Settings,
        });
    }

    /// Saves what the focused pane shows as CSV. Without a name the file is named by the times of its samples in UTC.
    pub(super) fn save_csv(&mut self, file: Option<&str>, effects: &mut Vec<Effect>) {
        let Some(pane) = self.view.panes.get(self.focus) else { return };
        let (span, text) = if pane.kind == Kind::Table {
            let time = self.shown_time();
            (time.map(|time| (time, time)), self.table_csv())
        } else {
            self.lines_csv()
        };
        let Some((from, to)) = span else {
            self.message = "there is no sample to save".to_string();
            return;
        };
        let stamp = |time: FileTime| {
            // The names of spans shorter than a second would be equal without milliseconds.
            let format = if to.0 - from.0 < FileTime::PER_SECOND {
                "%Y%m%dT%H%M%S%.3fZ"
            } else {
                "%Y%m%dT%H%M%SZ"
            };
            let time = jiff::Timestamp::from_nanosecond(time.to_unix_nanos());
            time.map(|time| time.strftime(format).to_string()).unwrap_or_default()
        };
        let name = match from == to {
            true => format!("perfhive-{}.csv", stamp(to)),
            false => format!("perfhive-{}-{}.csv", stamp(from), stamp(to)),
        };
        let (file, existing) = match file {
            Some(file) => (file.to_string(), Existing::Refused),
            None => (name, Existing::Numbered),
        };
        effects.push(Effect::Write { file, text, existing });
    }

    /// The lines of the focused pane in the shown time as CSV, and the times of the first and the last sample;
    /// `None` in place of the times if there is no sample.
    fn lines_csv(&self) -> (Option<(FileTime, FileTime)>, String) {
        let Some(window) = self.window() else { return (None, String::new()) };
        let entries = self.entries(self.focus);
        let inside = |past: &Past| {
            let times = past.times();
            let begin = times.partition_point(|time| *time < window.from);
            let end = times.partition_point(|time| *time <= window.to);
            Some((*times.get(begin).filter(|_| begin < end)?, *times.get(end.checked_sub(1)?)?))
        };
        let spans = entries.iter().filter(|entry| entry.line.is_some());
        let spans = spans.filter_map(|entry| inside(entry.past?));
        let span = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let lines: Vec<_> = entries
            .iter()
            .filter_map(|entry| {
                let (line, seen) = (entry.line?, self.source(entry.source)?);
                let past = entry.past?;
                let name = past.full_name(line, window);
                let name = match self.has_several() {
                    true => format!(r"\\{}\{name}", seen.label),
                    false => name,
                };
                Some((past, line, name))
            })
            .collect();
        (span, perfhive_view::past::csv(&lines, window))
    }

    /// The rows of the focused table as CSV, as they are shown: sorted and filtered.
    fn table_csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let Some(pane) = self.view.panes.get(self.focus) else { return String::new() };
        let mut out =
            String::from(if self.has_several() { "machine,instance" } else { "instance" });
        for counter in &pane.counters {
            out.push(',');
            out.push_str(&quoted(&counter.path));
        }
        out.push('\n');
        for row in self.rows(self.focus) {
            if let Some(seen) = self.source(row.source).filter(|_| self.has_several()) {
                out.push_str(&quoted(&seen.label));
                out.push(',');
            }
            out.push_str(&quoted(&row.name));
            for cell in &row.cells {
                out.push(',');
                if let Some(number) = cell.and_then(perfhive_view::Value::number) {
                    out.push_str(&number.to_string());
                }
            }
            out.push('\n');
        }
        out
    }

    /// The files of the recordings that are in progress.
    pub(crate) fn recordings(&self) -> Vec<&str> {
        self.sources.iter().filter_map(|one| one.recording.as_deref()).collect()
    }

    /// Records each live source to a file. Of several sources each has a file of its own, with its label in the
    /// name. If no source is live, or the file has the ending of a log of perfmon, only a message is shown.
    pub(super) fn record(&mut self, file: &str, effects: &mut Vec<Effect>) {
        if let Some(why) = foreign_form(Path::new(file)) {
            self.message = Escaped(&why).to_string();
            return;
        }
        let live = self.sources.iter().enumerate().filter(|(_, seen)| seen.is_live);
        let orders: Vec<Effect> = live
            .map(|(source, seen)| {
                let file = match self.has_several() {
                    true => with_label(file, &seen.label),
                    false => file.to_string(),
                };
                Effect::Record { source, file: Some(file) }
            })
            .collect();
        if orders.is_empty() {
            self.message =
                "only live sources are recorded; perfhive relog copies recordings".into();
        }
        effects.extend(orders);
    }
}

/// A text that can be a part of a file name: `_` replaces each character that is no letter, digit, blank, `-`, `_`
/// or `.`. So a name from elsewhere leads to no other folder.
pub(super) fn file_part(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The name of a file with the label of a source before its extension.
fn with_label(file: &str, label: &str) -> String {
    let label = file_part(label);
    let path = Path::new(file);
    match (path.file_stem(), path.extension()) {
        (Some(stem), Some(end)) => {
            let name = format!("{}-{label}.{}", stem.to_string_lossy(), end.to_string_lossy());
            path.with_file_name(name).to_string_lossy().into_owned()
        }
        _ => format!("{file}-{label}"),
    }
}
