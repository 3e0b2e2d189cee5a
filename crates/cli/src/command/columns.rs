//! The columns of a text log: counters of instances, in the order in which they appear.

use crate::args::Global;
use perfhive::{Query, Reading, TitleIndex};
use std::collections::HashMap;

/// What identifies a column: machine, object, instance with its number, counter.
type Key = (String, TitleIndex, Option<String>, TitleIndex);

/// The columns of a text log, which its first line names.
pub(super) struct Columns {
    /// Whether names are of the language that the command line asks for; English otherwise, so that
    /// the environment does not change the data.
    localised: bool,
    places: HashMap<Key, usize>,
    paths: Vec<String>,
    row: Vec<Option<f64>>,
}

impl Columns {
    /// No columns yet.
    pub(super) fn new(global: &Global) -> Self {
        let localised = global.language.is_some();
        Self { localised, places: HashMap::new(), paths: Vec::new(), row: Vec::new() }
    }

    fn key(reading: &Reading) -> Key {
        let instance = reading.instance.as_ref().map(ToString::to_string);
        (reading.machine.to_string(), reading.object, instance, reading.counter)
    }

    /// Adds the column of a reading, if it is a new one.
    pub(super) fn add(&mut self, query: &Query, reading: &Reading) {
        let next = self.paths.len();
        self.places.entry(Self::key(reading)).or_insert_with(|| {
            self.paths.push(path(query, reading, self.localised));
            next
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The paths of the columns.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// The values of the newest sample; `None` where a counter has none.
    pub(super) fn row(&mut self, query: &Query) -> &[Option<f64>] {
        self.row.clear();
        self.row.resize(self.paths.len(), None);
        for reading in query.readings() {
            let place = self.places.get(&Self::key(reading));
            if let Some(cell) = place.and_then(|place| self.row.get_mut(*place)) {
                *cell = reading.value.as_ref().ok().map(|value| value.as_f64());
            }
        }
        &self.row
    }
}

/// A path as PDH prints it, which has no escapes: brackets stand for parentheses in names.
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
