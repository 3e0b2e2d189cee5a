//! The columns of a text log, each a counter of an instance, in the order in which they appear.

use crate::args::Global;
use perfhive::{Query, Reading, TitleIndex};
use std::collections::HashMap;

/// The identity of a column: machine, object, instance with its number, counter.
type Key = (String, TitleIndex, Option<String>, TitleIndex);

/// The columns of a log, whose paths a text log has in its first line.
pub(super) struct Columns {
    /// Whether names are in the language of the option `--language`; without the option they are English, so
    /// that the environment does not change the data.
    localised: bool,
    places: HashMap<Key, usize>,
    paths: Vec<String>,
    row: Vec<Option<f64>>,
}

impl Columns {
    /// An empty list, to which [`add`](Self::add) adds columns.
    pub(super) fn new(global: &Global) -> Self {
        let localised = global.language.is_some();
        Self { localised, places: HashMap::new(), paths: Vec::new(), row: Vec::new() }
    }

    fn key(reading: &Reading) -> Key {
        let instance = reading.instance.as_ref().map(ToString::to_string);
        (reading.machine.to_string(), reading.object, instance, reading.counter)
    }

    /// Adds the column of a reading, unless it exists.
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

    /// The paths of the columns, in their order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// The values of the query's newest sample, one for each column; `None` where a counter has no value.
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
