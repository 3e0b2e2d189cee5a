//! Readings around events: what the sensors of intervals read shortly before and after.
//!
//! *Before* is the mean of the readings that came less than a given time before an event of a name, *after* that of
//! the readings that came less than this time after the event; for a section, before its start and after its end. A
//! reading near two events counts for both. *Overall* is the mean of all readings.

use super::figures::{Scale, titled};
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::experiment::{EventKind, SummaryFigures};
use perfhive_view::number::push_float;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The most readings that are kept, and the most events. Further ones are only counted.
const MOST: usize = 4 << 20;
/// The most pairs of an event's name and a sensor; also the most names of events, and the most sensors.
const MOST_PAIRS: usize = 4096;

/// The name and the kind of events; the kind is `None` for sections.
type Name = (String, Option<EventKind>);

/// The readings of intervals, and the events.
#[derive(Default)]
pub(in crate::command) struct Around {
    /// The time before and after an event in which readings count, in seconds.
    seconds: f64,
    /// The time and the value of each reading, by sensor.
    readings: BTreeMap<String, Vec<(f64, f64)>>,
    kept: usize,
    /// The names of events, in the order in which they first came.
    names: Vec<Name>,
    places: HashMap<Name, usize>,
    /// The events: the place of the name in `names`, the beginning and the end in seconds.
    events: Vec<(usize, f64, f64)>,
    left_out: u64,
}

/// The sum and the number of some readings, for their mean.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    /// The mean of the readings; `None` without readings. `sum` is the sum of the differences between
    /// the readings and `middle`.
    fn value(self, middle: f64) -> Option<f64> {
        (self.count > 0).then(|| middle + self.sum / self.count as f64)
    }
}

/// The means of a sensor's readings before and after the events of a name, each with the number of its readings,
/// and the mean of all readings of the sensor.
pub(in crate::command) struct AroundRow {
    event: Name,
    sensor: String,
    before: (Option<f64>, u64),
    after: (Option<f64>, u64),
    overall: Option<f64>,
}

impl Around {
    /// An empty collection of readings and events; a reading counts if it is less than `window`
    /// before or after an event.
    pub(in crate::command) fn new(window: Duration) -> Self {
        Self { seconds: window.as_secs_f64(), ..Self::default() }
    }

    /// Adds the value that a sensor had at an event of an interval (a source of events at fixed distances),
    /// with the time of that event in seconds. Without room for it, it is only counted as left out; with room, a value
    /// that is not finite is ignored.
    pub(in crate::command) fn add_reading(&mut self, sensor: &str, time: f64, value: f64) {
        let is_full = self.kept >= MOST
            || !self.readings.contains_key(sensor) && self.readings.len() >= MOST_PAIRS;
        if is_full || !value.is_finite() {
            self.left_out += u64::from(is_full);
            return;
        }
        self.kept += 1;
        match self.readings.get_mut(sensor) {
            Some(known) => known.push((time, value)),
            None => drop(self.readings.insert(sensor.to_string(), vec![(time, value)])),
        }
    }

    /// Adds an event of a source that is no interval, with its time as `from` and as `to`, or a section (from a start
    /// to its end; `kind` is `None`) with the times of its start and end. What finds no room is only counted as left
    /// out.
    pub(in crate::command) fn add_event(
        &mut self,
        name: &str,
        kind: Option<EventKind>,
        from: f64,
        to: f64,
    ) {
        let key = (name.to_string(), kind);
        let known = self.places.get(&key).copied();
        if self.events.len() >= MOST || known.is_none() && self.names.len() >= MOST_PAIRS {
            self.left_out += 1;
            return;
        }
        let place = known.unwrap_or_else(|| {
            self.names.push(key.clone());
            self.places.insert(key, self.names.len() - 1);
            self.names.len() - 1
        });
        self.events.push((place, from, to));
    }

    /// The means by event name and sensor; pairs that find no room are only counted as left out.
    pub(in crate::command) fn rows(&mut self) -> Vec<AroundRow> {
        let mut rows: Vec<(usize, AroundRow)> = Vec::new();
        for (sensor, readings) in &mut self.readings {
            readings.sort_by(|one, other| one.0.total_cmp(&other.0));
            let middle = readings.iter().map(|one| one.1 / readings.len() as f64).sum::<f64>();
            // For each reading, the sum of all before it, each with the mean subtracted so that little is rounded off.
            let mut sums = vec![0.0];
            for (_, value) in &*readings {
                sums.push(sums.last().copied().unwrap_or_default() + (value - middle));
            }
            let place = |is_before: &dyn Fn(f64) -> bool| {
                readings.partition_point(|(time, _)| is_before(*time))
            };
            let between = |from: usize, to: usize| {
                let sum = |place: usize| sums.get(place).copied().unwrap_or_default();
                let to = to.max(from);
                Mean { sum: sum(to) - sum(from), count: (to - from) as u64 }
            };
            let mut means = vec![(Mean::default(), Mean::default()); self.names.len()];
            for (name, from, to) in &self.events {
                let Some((before, after)) = means.get_mut(*name) else { continue };
                let (earliest, latest) = (from - self.seconds, to + self.seconds);
                let near = between(place(&|t| t <= earliest), place(&|t| t < *from));
                (before.sum, before.count) = (before.sum + near.sum, before.count + near.count);
                let near = between(place(&|t| t <= *to), place(&|t| t < latest));
                (after.sum, after.count) = (after.sum + near.sum, after.count + near.count);
            }
            for (number, (name, (before, after))) in self.names.iter().zip(means).enumerate() {
                if rows.len() >= MOST_PAIRS {
                    self.left_out += 1;
                    continue;
                }
                let row = AroundRow {
                    event: name.clone(),
                    sensor: sensor.clone(),
                    before: (before.value(middle), before.count),
                    after: (after.value(middle), after.count),
                    overall: Some(middle),
                };
                rows.push((number, row));
            }
        }
        rows.sort_by_key(|(number, _)| *number);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// The table of rows for people. `about` returns the name of a sensor for people, and its unit.
    pub(in crate::command) fn table(
        &self,
        rows: &[AroundRow],
        about: impl Fn(&str) -> (String, String),
    ) -> Table {
        let title = format!("AROUND {:?}", Duration::from_secs_f64(self.seconds));
        let mut table = Table::new(&[
            (&title, Align::Left),
            ("", Align::Left),
            ("BEFORE", Align::Point),
            ("AFTER", Align::Point),
            ("OVERALL", Align::Point),
            ("", Align::Left),
        ]);
        let mut last: Option<&Name> = None;
        for row in rows {
            let is_new = last != Some(&row.event);
            last = Some(&row.event);
            let (sensor, unit) = about(&row.sensor);
            let mut figures = SummaryFigures::default();
            let values = [row.before.0, row.after.0, row.overall];
            values.into_iter().flatten().for_each(|value| figures.add(value));
            let scale = Scale::of(&unit, &figures);
            let (name, kind) = &row.event;
            table.text(Style::Name, &if is_new { titled(name, *kind) } else { String::new() });
            table.text(Style::Plain, &sensor);
            for value in values {
                table.cell(Style::Plain, |out| match value {
                    Some(value) => push_float(out, value / scale.divisor, 2),
                    None => out.push('-'),
                });
            }
            table.text(Style::Faint, &scale.unit);
        }
        table
    }

    /// A note if events or readings were left out, or if there are no rows; otherwise `None`.
    pub(in crate::command) fn note(&self, rows: &[AroundRow]) -> Option<String> {
        if self.left_out > 0 {
            return Some(format!("{} events and readings are not in it", self.left_out));
        }
        let what = "no readings around events: it takes an interval's readings and other events";
        rows.is_empty().then(|| what.to_string())
    }

    /// The rows as JSON, for programs.
    pub(in crate::command) fn json(&self, rows: &[AroundRow]) -> Value {
        let rows = rows.iter().map(|row| {
            let mean = |(mean, count): (Option<f64>, u64)| json!({"mean": mean, "count": count});
            json!({
                "event": row.event.0,
                "type": row.event.1.map_or("section", EventKind::code),
                "sensor": row.sensor,
                "before": mean(row.before),
                "after": mean(row.after),
                "overall_mean": row.overall,
            })
        });
        json!({
            "seconds": self.seconds,
            "left_out": self.left_out,
            "readings": rows.collect::<Vec<Value>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_before_and_after_events_are_means_of_their_own() {
        let mut around = Around::new(Duration::from_secs(2));
        for (time, value) in [(4.0, 40.0), (1.0, 10.0), (3.0, 30.0), (2.0, 20.0), (9.0, 100.0)] {
            around.add_reading("s", time, value);
        }
        around.add_reading("s", 5.0, f64::NAN);
        around.add_event("point", Some(EventKind::Point), 3.0, 3.0);
        around.add_event("point", Some(EventKind::Point), 4.0, 4.0);
        around.add_event("section", None, 2.5, 7.5);
        around.add_event("alone", Some(EventKind::Point), 50.0, 50.0);
        let rows = around.rows();
        let row = |place: usize| {
            let AroundRow { before, after, overall, .. } = &rows[place];
            (*before, *after, overall.unwrap())
        };
        // Before 3: 2; before 4: 3. After 3: 4. What is two seconds away does not count.
        assert_eq!(row(0), ((Some(25.0), 2), (Some(40.0), 1), 40.0));
        assert_eq!(row(1), ((Some(15.0), 2), (Some(100.0), 1), 40.0));
        assert_eq!(row(2), ((None, 0), (None, 0), 40.0));
        assert_eq!(around.note(&rows), None);
        assert!(Around::new(Duration::ZERO).note(&[]).is_some());
    }
}
