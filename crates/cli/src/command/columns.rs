//! The columns of a text log that is written, each for one counter of one instance. If what is read is a text log,
//! its columns keep their order, since scripts find columns by their place; otherwise the samples give the order.

use crate::args::Global;
use perfhive::{CounterPath, InstanceLabel, OrderNumber, PathId, Query, Reading, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The identity of a column: its machine, object, instance (with the instance's number; `None` without instances)
/// and counter.
type Key = (Arc<str>, TitleIndex, Option<InstanceLabel>, TitleIndex);

/// The identity of a reading of the previous sample, and the place of its column; `None` for a
/// reading without a column.
type Known = (Key, Option<usize>);

/// The columns of a log. A text log has their paths in its first line.
pub(super) struct Columns {
    /// Whether names are in the language of the option `--language`; without the option they are English, so
    /// that the environment does not change the data.
    localised: bool,
    places: HashMap<Key, usize>,
    /// The places of the columns of counters that were missing when they were asked for, by the ID of their path.
    awaited: HashMap<PathId, usize>,
    paths: Vec<String>,
    /// The places of the columns of the text logs that are read, by path; a path may have several columns.
    known: HashMap<String, Vec<usize>>,
    /// The columns in the order in which they are written, as places in `paths`.
    order: Vec<usize>,
    values: Vec<Option<f64>>,
    row: Vec<Option<f64>>,
    /// The readings of the previous sample in their order. The order of the next sample is nearly
    /// always the same.
    before: Vec<Known>,
}

impl Columns {
    /// An empty list, to which [`add`](Self::add) adds columns.
    pub(super) fn new(global: &Global) -> Self {
        let localised = global.language.is_some();
        let (places, known) = (HashMap::new(), HashMap::new());
        let (awaited, paths, order) = (HashMap::new(), Vec::new(), Vec::new());
        let (values, row, before) = (Vec::new(), Vec::new(), Vec::new());
        Self { localised, places, awaited, paths, known, order, values, row, before }
    }

    /// An empty list for the counters of text logs; `logs` has the column paths of each log. A counter that is
    /// added gets the path and, by [`arrange`](Self::arrange), the place that its column has in the logs.
    pub(super) fn of_text_logs(global: &Global, logs: Vec<Vec<String>>) -> Self {
        let mut columns = Self::new(global);
        let mut next = 0;
        for log in logs {
            let mut counts: HashMap<String, usize> = HashMap::new();
            for path in log {
                let count = counts.entry(path.clone()).or_default();
                *count += 1;
                let places = columns.known.entry(path).or_default();
                if places.len() < *count {
                    places.push(next);
                    next += 1;
                }
            }
        }
        columns
    }

    /// The path of a reading's column in the text logs that are read; `None` if they have no column for the reading.
    fn known_path(&self, query: &Query, reading: &Reading) -> Option<&str> {
        if self.known.is_empty() {
            return None;
        }
        let (object, counter) = query.english_names_of(reading);
        let instance = reading.instance.as_ref().map(|label| match label.order {
            0 => format!("({})", label.name),
            order => format!("({}#{order})", label.name),
        });
        let path = format!(r"\{object}{}\{counter}", instance.unwrap_or_default());
        let full = format!(r"\\{}{path}", reading.machine);
        // A log of one machine may leave the machine out of its paths.
        [full, path].iter().find_map(|path| Some(self.known.get_key_value(path)?.0.as_str()))
    }

    /// Puts the columns of text logs in the order of the logs, before all others. A column that a log has twice
    /// is there twice. With `keeps_blank`, columns that are blank in all lines are added: no sample has their instances.
    pub(super) fn arrange(&mut self, keeps_blank: bool) {
        if keeps_blank {
            let added: HashSet<String> =
                self.paths.iter().map(|path| path.to_lowercase()).collect();
            let is_blank = |path: &&String| {
                path.parse::<CounterPath>().is_ok() && !added.contains(&path.to_lowercase())
            };
            self.paths.extend(self.known.keys().filter(is_blank).cloned());
        }
        let mut order = Vec::new();
        for (column, path) in self.paths.iter().enumerate() {
            let places = self.known.get(path).map_or(&[usize::MAX][..], Vec::as_slice);
            order.extend(places.iter().map(|place| (*place, column)));
        }
        order.sort_unstable();
        self.order = order.into_iter().map(|(_, column)| column).collect();
    }

    fn key(reading: &Reading) -> Key {
        (Arc::clone(&reading.machine), reading.object, reading.instance.clone(), reading.counter)
    }

    /// Whether a reading belongs to the column with this identity.
    fn is_of((machine, object, instance, counter): &Key, reading: &Reading) -> bool {
        (*object, *counter) == (reading.object, reading.counter)
            && *instance == reading.instance
            && *machine == reading.machine
    }

    /// The place of a reading's column, or `None` if it has no column; `number` is the reading's
    /// place in the sample.
    fn place(&mut self, number: usize, reading: &Reading) -> Option<usize> {
        if let Some((_, place)) =
            self.before.get(number).filter(|(key, _)| Self::is_of(key, reading))
        {
            return *place;
        }
        let key = Self::key(reading);
        let place = self.places.get(&key).or_else(|| self.awaited.get(&reading.path)).copied();
        self.before.truncate(number);
        self.before.push((key, place));
        place
    }

    /// Adds the column of a reading, unless it exists. Where text logs are read, none is added for a
    /// reading that has neither a value nor a column in a log.
    pub(super) fn add(&mut self, query: &Query, reading: &Reading) {
        let (key, next) = (Self::key(reading), self.paths.len());
        if !self.places.contains_key(&key) {
            let known = self.known_path(query, reading).map(str::to_string);
            // Logs are read as blocks, in which each instance has each counter; in the log some may be missing.
            if known.is_none() && !self.known.is_empty() && reading.value.is_err() {
                return;
            }
            let (object, _) = query.english_names_of(reading);
            let label = reading.instance.as_ref().map(|label| plain_label(label, &object));
            self.paths.push(known.unwrap_or_else(|| path(query, reading, label, self.localised)));
            self.places.insert(key, next);
            self.order.push(next);
        }
    }

    /// Adds the column of a path that no counter of the sample matches, with the instance as it was asked for. A path
    /// with a wildcard may match any number of counters, and gets no column.
    pub(super) fn await_counter(&mut self, query: &Query, reading: &Reading) {
        let Some(asked) = query.path(reading.path).filter(|path| !path.is_wild()) else { return };
        let label = asked.instance.as_ref().map(|instance| {
            let parent = instance.parent.as_ref().and_then(|parent| parent.as_literal());
            let order = if let OrderNumber::Nth(order) = instance.order { order } else { 0 };
            plain_name(parent, instance.name.as_literal().unwrap_or_default(), order)
        });
        self.awaited.insert(reading.path, self.paths.len());
        self.order.push(self.paths.len());
        self.paths.push(path(query, reading, label, self.localised));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The paths of the columns, in their order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.order.iter().filter_map(|column| self.paths.get(*column)).map(String::as_str)
    }

    /// The values of the query's newest sample, one for each column; `None` where a counter has no value.
    pub(super) fn row(&mut self, query: &Query) -> &[Option<f64>] {
        self.values.clear();
        self.values.resize(self.paths.len(), None);
        for (number, reading) in query.readings().iter().enumerate() {
            let place = self.place(number, reading);
            // The reading of an ended instance may follow that of the instance with the same number now. It has no
            // value and leaves the cell as it is.
            if let (Some(cell), Ok(value)) =
                (place.and_then(|place| self.values.get_mut(place)), &reading.value)
            {
                *cell = Some(value.as_f64());
            }
        }
        self.row.clear();
        let value = |column: &usize| self.values.get(*column).copied().flatten();
        self.row.extend(self.order.iter().map(value));
        &self.row
    }
}

/// An instance as PDH prints it, `(parent/name#1)`: without escapes, with square brackets for parentheses, and with
/// underscores for slashes and backslashes in its name. The number is left out if `order` is 0.
fn plain_name(parent: Option<&str>, name: &str, order: u32) -> String {
    let plain = |name: &str| name.replace('(', "[").replace(')', "]");
    let parent = parent.map(|parent| format!("{}/", plain(parent))).unwrap_or_default();
    let order = if order > 0 { format!("#{order}") } else { String::new() };
    format!("({parent}{}{order})", plain(name).replace(['\\', '/'], "_"))
}

fn plain_label(label: &InstanceLabel, object: &str) -> String {
    // A log of single counters has no parents: there, a thread's name begins with its process.
    let (parent, name) = match (&label.parent, label.name.rsplit_once('/')) {
        (None, Some((process, thread))) if object == "Thread" => (Some(process), thread),
        (parent, _) => (parent.as_deref(), &*label.name),
    };
    plain_name(parent, name, label.order)
}

/// The path of a reading's counter, `\\machine\object(instance)\counter`. `instance` has its parentheses already;
/// `None` leaves it out. The names are English unless `localised`.
fn path(query: &Query, reading: &Reading, instance: Option<String>, localised: bool) -> String {
    let (object, counter) = match localised {
        true => query.names_of(reading),
        false => query.english_names_of(reading),
    };
    format!(r"\\{}\{object}{}\{counter}", reading.machine, instance.unwrap_or_default())
}
