//! The columns of a text log, each a counter of an instance, in the order in which they appear: in the
//! text log that is read, if it is one, since scripts find columns by their place, or else in the samples.

use crate::args::Global;
use perfhive::{InstanceLabel, Query, Reading, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// The identity of a column: machine, object, instance with its number, counter.
type Key = (Arc<str>, TitleIndex, Option<InstanceLabel>, TitleIndex);

/// A reading of the sample before, and the place of its column.
type Known = (Key, Option<usize>);

/// The columns of a log, whose paths a text log has in its first line.
pub(super) struct Columns {
    /// Whether names are in the language of the option `--language`; without the option they are English, so
    /// that the environment does not change the data.
    localised: bool,
    places: HashMap<Key, usize>,
    paths: Vec<String>,
    /// The columns of the text logs that are read, with their places.
    known: HashMap<String, usize>,
    row: Vec<Option<f64>>,
    /// The readings of the sample before in their order, which is nearly always that of the next one.
    before: Vec<Known>,
}

impl Columns {
    /// An empty list, to which [`add`](Self::add) adds columns.
    pub(super) fn new(global: &Global) -> Self {
        let localised = global.language.is_some();
        let (places, known) = (HashMap::new(), HashMap::new());
        let (row, before) = (Vec::new(), Vec::new());
        Self { localised, places, paths: Vec::new(), known, row, before }
    }

    /// An empty list for what is read of these columns of text logs: they have the order and the paths of
    /// the logs.
    pub(super) fn of_text_logs(global: &Global, paths: impl IntoIterator<Item = String>) -> Self {
        let mut columns = Self::new(global);
        for path in paths {
            let next = columns.known.len();
            columns.known.entry(path).or_insert(next);
        }
        columns
    }

    /// The path that a text log has for a reading.
    fn known_path(&self, query: &Query, reading: &Reading) -> Option<&str> {
        let label = reading.instance.as_ref();
        if self.known.is_empty() || label.is_some_and(|label| label.order > 0) {
            return None;
        }
        let (object, counter) = query.english_names_of(reading);
        let instance = label.map(|label| format!("({})", label.name));
        let path = format!(r"\{object}{}\{counter}", instance.unwrap_or_default());
        let full = format!(r"\\{}{path}", reading.machine);
        // A log of one machine may leave it out.
        [full, path].iter().find_map(|path| Some(self.known.get_key_value(path)?.0.as_str()))
    }

    /// Puts the columns of text logs in the order of the logs, before all others.
    pub(super) fn arrange(&mut self) {
        let place = |path: &String| self.known.get(path).copied().unwrap_or(usize::MAX);
        let mut order: Vec<usize> = (0..self.paths.len()).collect();
        order.sort_by_key(|at| self.paths.get(*at).map(place));
        let mut moved = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            if let Some(place) = moved.get_mut(*old) {
                *place = new;
            }
        }
        self.paths = order.iter().filter_map(|old| self.paths.get(*old).cloned()).collect();
        for place in self.places.values_mut() {
            *place = moved.get(*place).copied().unwrap_or(*place);
        }
    }

    fn key(reading: &Reading) -> Key {
        (Arc::clone(&reading.machine), reading.object, reading.instance.clone(), reading.counter)
    }

    /// Whether a key is that of a reading.
    fn is_of((machine, object, instance, counter): &Key, reading: &Reading) -> bool {
        (*object, *counter) == (reading.object, reading.counter)
            && *instance == reading.instance
            && *machine == reading.machine
    }

    /// The place of a reading's column; `number` is the reading's place in the sample.
    fn place(&mut self, number: usize, reading: &Reading) -> Option<usize> {
        if let Some((_, place)) =
            self.before.get(number).filter(|(key, _)| Self::is_of(key, reading))
        {
            return *place;
        }
        let key = Self::key(reading);
        let place = self.places.get(&key).copied();
        self.before.truncate(number);
        self.before.push((key, place));
        place
    }

    /// Adds the column of a reading, unless it exists.
    pub(super) fn add(&mut self, query: &Query, reading: &Reading) {
        let (key, next) = (Self::key(reading), self.paths.len());
        if !self.places.contains_key(&key) {
            let known = self.known_path(query, reading).map(str::to_string);
            // In blocks each instance has each counter, and in a log it need not.
            if known.is_none() && !self.known.is_empty() && reading.value.is_err() {
                return;
            }
            self.paths.push(known.unwrap_or_else(|| path(query, reading, self.localised)));
            self.places.insert(key, next);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The paths of the columns, in their order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// The values of the query's newest sample, one for each column; `None` where a counter has no value.
    pub(super) fn row(&mut self, query: &Query) -> &[Option<f64>] {
        self.row.clear();
        self.row.resize(self.paths.len(), None);
        for (number, reading) in query.readings().iter().enumerate() {
            let place = self.place(number, reading);
            if let Some(cell) = place.and_then(|place| self.row.get_mut(place)) {
                *cell = reading.value.as_ref().ok().map(|value| value.as_f64());
            }
        }
        &self.row
    }
}

/// The path of a reading as PDH prints it: without escapes, with brackets for parentheses in names,
/// and with underscores for slashes in the name of an instance. The names are English unless
/// `localised`.
fn path(query: &Query, reading: &Reading, localised: bool) -> String {
    let (object, counter) = match localised {
        true => query.names_of(reading),
        false => query.english_names_of(reading),
    };
    let plain = |name: &str| name.replace('(', "[").replace(')', "]");
    let instance = reading.instance.as_ref().map_or(String::new(), |label| {
        let parent = label.parent.as_ref().map(|parent| format!("{}/", plain(parent)));
        let order = (label.order > 0).then(|| format!("#{}", label.order));
        let (parent, order) = (parent.unwrap_or_default(), order.unwrap_or_default());
        format!("({parent}{}{order})", plain(&label.name).replace(['\\', '/'], "_"))
    });
    format!(r"\\{}\{object}{instance}\{counter}", reading.machine)
}
