//! The entries of a legend: the lines of a pane, their order, looks and names.

use super::layout::{Counter, Kind, MOST_COUNTERS};
use super::looks::Looks;
use super::model::Model;
use crate::text::escape::Escaped;
use perfhive_view::axis::{Axis, Scaled};
use perfhive_view::past::{Line, LineSummary, Past, Window};
use std::collections::HashSet;
use std::sync::Arc;

/// The most lines of a pane for which the look (colour and marker) is kept, including lines that are not shown at
/// present. If there are more, the looks of those that are not shown are forgotten.
const MOST_KNOWN: usize = 1024;

/// The most bars or numbers of a pane that keep their places while their values change. If there are more, they are
/// sorted by value.
const MOST_STEADY: usize = 32;

/// The key of a line: the line's number, and before it `true` if the line is only in a part of a recording that was
/// read again with more of its samples.
pub(crate) type LineKey = (bool, u64);

/// An entry of a legend: a line through samples, or a path without a line yet.
pub(crate) struct Entry<'a> {
    /// The place of the entry's counter in the pane.
    pub(crate) counter: usize,
    /// The number of the line's source; 0 for an entry without a line.
    pub(crate) source: usize,
    /// The number of the line's source, and the line's key, by which the line is found again; `None`
    /// for an entry without a line.
    pub(crate) key: Option<(usize, LineKey)>,
    /// The samples to which the line belongs; `None` for an entry without a line.
    pub(crate) past: Option<&'a Past>,
    pub(crate) line: Option<&'a Line>,
    pub(crate) colour: u8,
    pub(crate) marker: char,
    /// The entry's name: the part by which the lines of a pane differ.
    pub(crate) name: String,
    pub(crate) is_visible: bool,
}

impl<'a> Entry<'a> {
    fn of(
        (number, counter): (usize, &Counter),
        source: usize,
        found: Option<(LineKey, &'a Past, &'a Line)>,
    ) -> Self {
        Self {
            counter: number,
            source,
            key: found.map(|(key, ..)| (source, key)),
            past: found.map(|(_, past, _)| past),
            line: found.map(|(.., line)| line),
            colour: counter.colour,
            marker: counter.marker,
            name: found.map_or_else(|| counter.path.clone(), |_| String::new()),
            is_visible: counter.is_visible,
        }
    }
}

impl Model {
    /// The entries of a pane's legend: its counters in their order, and the lines of each with the largest value at the
    /// shown time first. The lines of a timeline, and up to [`MOST_STEADY`] bars or numbers, keep the order in which
    /// they came. Instances that have ended, and were not there in the shown time, are left out; if this is so for all
    /// instances of a counter, the first one stays.
    pub(crate) fn entries(&self, place: usize) -> Vec<Entry<'_>> {
        self.entries_and_rest(place).0
    }

    /// The entries of a pane's legend, as [`entries`](Self::entries) returns them, and how many lines are left out:
    /// of each path only the [`MOST_COUNTERS`] largest lines are entries, except in a timeline.
    pub(crate) fn entries_and_rest(&self, place: usize) -> (Vec<Entry<'_>>, usize) {
        let Some(pane) = self.view.panes.get(place) else { return Default::default() };
        let mut rest = 0;
        let window = self.window();
        let mut entries: Vec<Entry<'_>> = Vec::new();
        let mut further = Vec::new();
        for (number, counter) in pane.counters.iter().enumerate() {
            let sources = self.sources.iter().enumerate();
            let all = sources.flat_map(|(source, one)| {
                let lines = one.lines_in(window).into_iter().enumerate();
                lines.map(move |(age, found)| (age, source, found))
            });
            let lines: Vec<_> = all.filter(|(.., found)| *found.2.path == *counter.path).collect();
            let is_seen =
                |past: &Past, line: &Line| window.is_none_or(|window| past.is_seen(line, window));
            // Instances that have ended before the shown time are left out, unless all have.
            let some = lines.iter().any(|(.., (_, past, line))| is_seen(past, line));
            let is_shown =
                |(ordinal, (.., (_, past, line))): (usize, &(_, _, (_, &Past, &Line)))| {
                    if some { is_seen(past, line) } else { ordinal == 0 }
                };
            let mut shown: Vec<bool> = lines.iter().enumerate().map(is_shown).collect();
            // A timeline has a lane for each event.
            if let Some(window) = window.filter(|_| pane.kind != Kind::Timeline) {
                let most = |(.., (_, past, line)): &(_, _, (_, &Past, &Line))| {
                    past.summary(line, window).map(|summary| summary.maximum)
                };
                rest += keep_largest(&mut shown, |place| lines.get(place).and_then(most));
            }
            if lines.is_empty() {
                entries.push(Entry::of((number, counter), 0, None));
            }
            for (ordinal, (age, source, found)) in lines.into_iter().enumerate() {
                if shown.get(ordinal) == Some(&true) {
                    if ordinal > 0 {
                        further.push((age, source, entries.len()));
                    }
                    entries.push(Entry::of((number, counter), source, Some(found)));
                }
            }
        }
        further.sort_unstable();
        let further: Vec<usize> = further.into_iter().map(|(.., place)| place).collect();
        self.give_looks(place, &mut entries, &further);
        let is_steady = match pane.kind {
            Kind::Chart | Kind::Table => false,
            Kind::Histogram | Kind::Report => entries.len() <= MOST_STEADY,
            Kind::Timeline => true,
        };
        if !is_steady {
            self.largest_first(&mut entries);
        }
        let names: Vec<String> = entries.iter().map(|entry| self.instance_of(entry)).collect();
        name_entries(&mut entries, &names);
        self.name_sources(&mut entries);
        (entries, rest)
    }

    /// Gives the lines of each path, except its first one, a look (colour and marker). `further` has the places of
    /// these lines in `entries`, the oldest line first. Each gets the look that it had before if that is free, else one
    /// that the fewest lines have. A new line thus changes the look of no other.
    fn give_looks(&self, place: usize, entries: &mut [Entry<'_>], further: &[usize]) {
        let (Some(pane), Some(state)) = (self.view.panes.get(place), self.states.get(place)) else {
            return;
        };
        let mut known = state.looks.borrow_mut();
        let mut looks = Looks::of(pane.counters.iter().map(|one| (one.colour, one.marker)));
        let mut new = Vec::new();
        for place in further {
            let Some(entry) = entries.get_mut(*place) else { continue };
            match entry.key.and_then(|key| known.get(&key)).filter(|look| looks.is_free(**look)) {
                Some(look) => {
                    looks.take(*look);
                    (entry.colour, entry.marker) = *look;
                }
                None => new.push(*place),
            }
        }
        if known.len() > MOST_KNOWN {
            known.retain(|key, _| entries.iter().any(|entry| entry.key == Some(*key)));
        }
        for place in new {
            let Some(entry) = entries.get_mut(place) else { continue };
            (entry.colour, entry.marker) = looks.take_next(entry.colour);
            known.extend(entry.key.map(|key| (key, (entry.colour, entry.marker))));
        }
    }

    /// Sorts the entries of each counter by their value at the shown time, the largest first and
    /// those without a value last; the counters keep their order.
    fn largest_first(&self, entries: &mut Vec<Entry<'_>>) {
        let value = |entry: &Entry<'_>| self.value(entry).and_then(Result::ok);
        let mut all: Vec<_> = entries
            .drain(..)
            .map(|entry| (value(&entry).unwrap_or(f64::NEG_INFINITY), entry))
            .collect();
        all.sort_by(|(a, one), (b, other)| {
            one.counter.cmp(&other.counter).then_with(|| b.total_cmp(a))
        });
        entries.extend(all.into_iter().map(|(_, entry)| entry));
    }

    /// The place of the selected entry of a pane in `entries`: that of the line which the user has chosen, wherever
    /// it is in the order, or the same place as before if the line is gone.
    pub(crate) fn selected(&self, place: usize, entries: &[Entry<'_>]) -> usize {
        let Some(state) = self.states.get(place) else { return 0 };
        let is_picked = |entry: &Entry<'_>| state.line.is_some() && entry.key == state.line;
        let found = entries.iter().position(is_picked);
        found.unwrap_or(state.selected).min(entries.len().saturating_sub(1))
    }

    /// The name that an entry's instance has at the shown time. Before the instance has a name, it is the instance as
    /// the path writes it. Empty for an entry without a line or an instance.
    fn instance_of(&self, entry: &Entry<'_>) -> String {
        let (Some(past), Some(line)) = (entry.past, entry.line) else { return String::new() };
        let place = self.place_in(past);
        let name = place.map_or(line.instance.as_deref(), |place| past.name_at(line, place));
        let of_path = || {
            let path: perfhive::CounterPath = line.path.parse().ok()?;
            path.instance.map(|instance| instance.to_string())
        };
        name.map(str::to_string).or_else(of_path).unwrap_or_default()
    }

    /// The axis of a pane for the visible entries of its legend, and the statistics of all entries.
    pub(crate) fn axis(
        &self,
        place: usize,
        entries: &[Entry<'_>],
        window: Window,
    ) -> (Axis, Vec<Option<LineSummary>>) {
        let summaries: Vec<Option<LineSummary>> =
            entries.iter().map(|entry| self.summary(entry, window)).collect();
        let pane = self.view.panes.get(place);
        let mut scaled = Vec::new();
        for (entry, summary) in entries.iter().zip(&summaries) {
            let counter = pane.and_then(|pane| pane.counters.get(entry.counter));
            if let (Some(line), Some(counter)) = (entry.line, counter) {
                scaled.push(Scaled {
                    path: &line.path,
                    quantity: &line.what.quantity,
                    default: line.what.scale,
                    scale: counter.scale,
                    // A hidden line does not affect the axis.
                    summary: summary.filter(|_| entry.is_visible),
                });
            }
        }
        (Axis::of(&scaled), summaries)
    }

    /// Puts the name of its source before the name of each entry with a line, if there are several sources. If these
    /// entries differ only in their sources, each is named by its source alone.
    fn name_sources(&self, entries: &mut [Entry<'_>]) {
        if !self.has_several() {
            return;
        }
        let named: Vec<(usize, String)> = entries
            .iter()
            .filter(|entry| entry.line.is_some())
            .map(|entry| (entry.source, entry.name.clone()))
            .collect();
        let names: HashSet<&String> = named.iter().map(|(_, name)| name).collect();
        let sources: HashSet<usize> = named.iter().map(|(source, _)| *source).collect();
        let differ_only = names.len() == 1 && named.len() > 1 && sources.len() == named.len();
        for entry in entries.iter_mut().filter(|entry| entry.line.is_some()) {
            let label = self.source(entry.source).map_or("", |one| &one.label);
            let label = Escaped(label).to_string();
            entry.name = match differ_only {
                true => format!(r"\\{label}"),
                false => format!(r"\\{label}\{}", entry.name),
            };
        }
    }

    /// The statistics of an entry's line in a window; `None` without values.
    pub(crate) fn summary(&self, entry: &Entry<'_>, window: Window) -> Option<LineSummary> {
        entry.past?.summary(entry.line?, window)
    }

    /// The value of an entry at the shown time, or why there is none; `None` for an entry without a line.
    pub(crate) fn value(&self, entry: &Entry<'_>) -> Option<Result<f64, Arc<str>>> {
        let (past, line) = (entry.past?, entry.line?);
        let Some(place) = self.place_in(past) else {
            return Some(Err("no sample at this time".into()));
        };
        Some(past.value_at(line, place))
    }
}

/// Unmarks lines in `shown` until [`MOST_COUNTERS`] are left: those with the largest values, and of equal values the
/// first ones. Returns how many were unmarked.
fn keep_largest(shown: &mut [bool], value: impl Fn(usize) -> Option<f64>) -> usize {
    let places = || shown.iter().enumerate().filter(|(_, is_shown)| **is_shown);
    let rest = places().count().saturating_sub(MOST_COUNTERS);
    if rest == 0 {
        return 0;
    }
    let mut values: Vec<(usize, f64)> =
        places().map(|(place, _)| (place, value(place).unwrap_or(f64::NEG_INFINITY))).collect();
    values.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    for (place, _) in values.into_iter().skip(MOST_COUNTERS) {
        if let Some(is_shown) = shown.get_mut(place) {
            *is_shown = false;
        }
    }
    rest
}

/// Names entries by their differences; `names` has the name of each entry's instance. Entries of several instances of
/// one counter have the name of the instance alone. All others have the name of the counter, with that of the instance
/// in front of it unless there is none or only `_Total`, and that of the object if the entries are of several objects.
fn name_entries(entries: &mut [Entry<'_>], names: &[String]) {
    let whats: Vec<_> = entries.iter().filter_map(|entry| Some(&entry.line?.what)).collect();
    let Some(first) = whats.first() else { return };
    let one_object = whats.iter().all(|what| what.object == first.object);
    let one_counter = one_object && whats.iter().all(|what| what.counter == first.counter);
    let mut named = entries.iter().zip(names).filter(|(entry, _)| entry.line.is_some());
    let first_instance = named.next().map(|(_, name)| name);
    let one_instance = named.all(|(_, name)| Some(name) == first_instance);
    let several = entries.len() > 1;
    for (entry, instance) in entries.iter_mut().zip(names) {
        let Some(line) = entry.line else { continue };
        entry.name = match (one_counter, one_object) {
            (true, _) if several && !one_instance && !instance.is_empty() => instance.clone(),
            (_, true) if instance.is_empty() || one_instance && instance == "_Total" => {
                line.what.counter.clone()
            }
            (_, true) => format!("{instance}  {}", line.what.counter),
            _ if instance.is_empty() => line.full_name(),
            _ => format!(r"{}({instance})\{}", line.what.object, line.what.counter),
        };
        entry.name = Escaped(&entry.name).to_string();
    }
}
