//! The time that charts show: cursor, scrolling, zoom, marked spans.

use super::commands::seconds_of;
use super::model::{Mode, Model};
use crate::args::value::moment;
use perfhive::FileTime;
use perfhive_view::past::Window;

/// The shortest time that charts show, in seconds.
pub(super) const SHORTEST: f64 = 1e-4;
/// The longest time that charts show, in seconds.
pub(super) const LONGEST: f64 = 1e8;

impl Model {
    /// The place of the time bar in a chart: 0 is the left edge, 1 the right one. `None` where the chart scrolls.
    pub(crate) fn bar(&self, window: Window) -> Option<f64> {
        self.seconds.filter(|_| self.view.wraps)?;
        let width = window.width();
        Some(window.to.0.rem_euclid(width) as f64 / width as f64)
    }
    /// Moves the cursor to the next sample (`forward`), or to the last sample before the cursor; without a cursor,
    /// sets it to the sample nearest to the window's end. The window moves so that it has the cursor.
    pub(super) fn move_cursor(&mut self, forward: bool) {
        let Some(window) = self.window() else { return };
        let next = match self.cursor {
            None => self.nearest(window.to),
            Some(cursor) => self.neighbour(cursor, forward),
        };
        let Some(time) = next else { return };
        self.cursor = Some(time);
        // The window moves so that it contains the cursor.
        if time < window.from {
            self.end = Some(FileTime(time.0 + window.width()));
        } else if time > window.to {
            self.end = Some(time);
        }
    }

    /// Moves the window, and the cursor if there is one, by so many steps of 100 ns, within the time of the samples. At
    /// the end of that time the window follows new samples, and a cursor there is removed, unless the charts are
    /// frozen. If the window cannot move further back, the view has a table, and there is no cursor, a cursor is set,
    /// by which the table goes on to earlier samples.
    pub(super) fn scroll(&mut self, by: i64) {
        let (Some(window), Some(span)) = (self.window(), self.span()) else { return };
        let end = window.to.0.saturating_add(by);
        if end >= span.to.0 {
            self.end = self.is_frozen.then_some(span.to);
        } else {
            // The window stays within the time of the samples.
            let earliest = (span.from.0 + window.width()).min(span.to.0);
            self.end = Some(FileTime(end.max(earliest)));
            // At the beginning the window cannot move further; a table, which shows one time, goes on to the
            // first sample.
            if self.has_table() && self.cursor.is_none() && end < earliest {
                self.cursor = Some(FileTime(end.max(span.from.0)));
                return;
            }
        }
        if let Some(cursor) = self.cursor {
            let moved = FileTime(cursor.0.saturating_add(by).clamp(span.from.0, span.to.0));
            // At the newest sample the display follows new samples again, as without a cursor.
            let follows = moved == span.to && self.end.is_none();
            self.cursor = Some(moved).filter(|_| !follows);
        }
    }

    /// Multiplies the length of the time that charts show by a factor, with [`SHORTEST`] and [`LONGEST`] as limits. A
    /// cursor in the window keeps its place in it, unless the window would then end after the newest sample; without
    /// such a cursor the window keeps its end.
    pub(super) fn zoom(&mut self, factor: f64) {
        let Some(window) = self.window() else { return };
        let seconds = (window.seconds() * factor).clamp(SHORTEST, LONGEST);
        if let Some(cursor) = self.cursor.filter(|at| window.from <= *at && *at <= window.to) {
            let part = (cursor.0 - window.from.0) as f64 / window.width() as f64;
            let after = (seconds * (1.0 - part) * FileTime::PER_SECOND as f64) as i64;
            let newest = self.newest().unwrap_or(cursor);
            self.end = Some(FileTime(cursor.0.saturating_add(after).min(newest.0)));
        }
        self.seconds = Some(seconds);
    }

    /// Begins a span at the cursor, or without a cursor at the end of the window. A second call ends the span
    /// there.
    pub(super) fn set_mark(&mut self) {
        let Some(window) = self.window() else { return };
        let at = self.cursor.unwrap_or(window.to);
        match self.mark.take() {
            None => {
                self.mark = Some(at);
                self.message = "a span begins here; m ends it".to_string();
            }
            Some(from) => self.set_span(from, at),
        }
    }

    /// Marks the span between two times as the first or the second; a further span replaces both.
    pub(super) fn set_span(&mut self, from: FileTime, to: FileTime) {
        let (from, to) = (from.min(to), from.max(to));
        if from == to {
            self.message = "a span has a beginning and an end".to_string();
            return;
        }
        let span = Some(Window { from, to });
        match &mut self.spans {
            [one @ None, _] => *one = span,
            [_, other @ None] => *other = span,
            both => *both = [span, None],
        }
        self.message = match self.spans {
            [_, Some(_)] => "two spans are marked; = compares them".to_string(),
            _ => "a span is marked; = compares it with what is seen".to_string(),
        };
    }

    /// Shows the averages and maxima of the focused pane's lines in both spans side by side, or in
    /// one span and the window.
    pub(super) fn compare(&mut self) {
        let (Some(window), [Some(one), other]) = (self.window(), self.spans) else {
            self.message = "nothing is marked: m begins a span at the cursor, m ends it".into();
            return;
        };
        let entries = self.entries(self.focus);
        if entries.iter().all(|entry| entry.line.is_none()) {
            self.message = "this pane has no lines to compare; Tab goes to the next pane".into();
            return;
        }
        let other = other.unwrap_or(window);
        let clock = |span: Window| {
            format!("{} to {}", self.clock(span.from, window), self.clock(span.to, window))
        };
        let mut lines = vec![
            format!("A  {}", clock(one)),
            format!("B  {}", clock(other)),
            String::new(),
            format!(
                "{:>12} {:>12} {:>9} {:>12} {:>12}  counter",
                "average A", "average B", "B to A", "maximum A", "maximum B"
            ),
        ];
        for entry in entries {
            let Some(line) = entry.line else { continue };
            let (a, b) = (self.summary(&entry, one), self.summary(&entry, other));
            let shown = |value: Option<f64>| {
                value.map_or("-".to_string(), |value| {
                    perfhive_view::chart::shown(&line.what.quantity, value)
                })
            };
            let change = match (a, b) {
                (Some(a), Some(b)) if a.average != 0.0 => {
                    format!("{:+.1} %", (b.average / a.average - 1.0) * 100.0)
                }
                _ => "-".to_string(),
            };
            lines.push(format!(
                "{:>12} {:>12} {change:>9} {:>12} {:>12}  {}",
                shown(a.map(|a| a.average)),
                shown(b.map(|b| b.average)),
                shown(a.map(|a| a.maximum)),
                shown(b.map(|b| b.maximum)),
                entry.name
            ));
        }
        self.mode = Mode::Text("Two spans".to_string(), lines, 0);
    }

    /// Moves the cursor to a typed time, and the window so that it contains that time. The error is a message for
    /// people.
    pub(super) fn jump(&mut self, text: &str) -> Result<(), String> {
        let expected = || {
            "jump takes 14:05, 14:05:30.25, 2026-11-23 14:05, 2026-11-23T14:05:00Z, -10m, or +2.5s from the beginning"
                .to_string()
        };
        let span = self.span().ok_or("nothing was seen yet")?;
        let steps =
            |text| Ok::<_, String>((seconds_of(text)? * FileTime::PER_SECOND as f64) as i64);
        let to = match (text.strip_prefix('-'), text.strip_prefix('+')) {
            (Some(ago), _) => FileTime(span.to.0.saturating_sub(steps(ago)?)),
            (_, Some(after)) => FileTime(span.from.0.saturating_add(steps(after)?)),
            (None, None) => {
                let at = |text: &str| moment(text, self.zone.clone());
                // A time without a day is the last one that was seen: behind midnight, 23:55 is yesterday's.
                let on = |day| at(&format!("{} {text}", self.formatted(day, "%F")));
                let yesterday = FileTime(span.to.0.saturating_sub(86_400 * FileTime::PER_SECOND));
                let found = match text.contains('-') {
                    true => at(text),
                    false => on(span.to).filter(|time| *time <= span.to).or_else(|| on(yesterday)),
                };
                found.ok_or_else(expected)?
            }
        };
        if to < span.from || to > span.to {
            let clock = |time| self.formatted(time, "%F %T");
            return Err(format!("seen were {} to {}", clock(span.from), clock(span.to)));
        }
        // The time is in the middle of the window, if there are samples on both sides.
        let width = self.window().map_or(0, |window| window.width());
        let latest = span.to.0.min(to.0 + width / 2);
        self.end = Some(FileTime(latest.max((span.from.0 + width).min(span.to.0))));
        self.cursor = Some(to);
        Ok(())
    }
}

/// The place in a chart, from 0 (left) to 1 (right), of a time at `part` of the window. With a `bar`, the newest time
/// is drawn at the bar and the oldest one just right of it.
pub(super) fn wrapped(bar: Option<f64>, part: f64) -> f64 {
    match bar {
        Some(bar) if part + bar > 1.0 => part + bar - 1.0,
        Some(bar) => part + bar,
        None => part,
    }
}

/// The part of the window, from 0 to 1, that is drawn at a place of a chart: the inverse of [`wrapped`].
pub(super) fn unwrapped(bar: Option<f64>, place: f64) -> f64 {
    match bar {
        Some(bar) if place <= bar => place + 1.0 - bar,
        Some(bar) => place - bar,
        None => place,
    }
}
