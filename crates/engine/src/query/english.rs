//! Names, paths and units that do not depend on the language in which a query shows names.

use super::Query;
use super::reading::Reading;
use crate::path::{CounterPath, NamePattern};
use crate::unit::unit_of;

impl Query {
    /// The English names of a reading's object and of its counter, in this order. A name that does
    /// not exist in English is replaced by the name in the shown language
    /// ([`names_of`](Self::names_of)).
    #[must_use]
    pub fn english_names_of(&self, reading: &Reading) -> (String, String) {
        let mut items = self.items.iter().filter(|item| item.id == reading.path);
        // The indexes of a lost target have the names of others now.
        if items.any(|item| item.has_lost(reading)) {
            return self.names_of(reading);
        }
        let titles = self.titles(reading.source);
        let english = |index| titles?.english_name(index).map(str::to_string);
        let (object, counter) = (english(reading.object), english(reading.counter));
        match (object, counter) {
            (Some(object), Some(counter)) => (object, counter),
            (object, counter) => {
                let shown = self.names_of(reading);
                (object.unwrap_or(shown.0), counter.unwrap_or(shown.1))
            }
        }
    }

    /// The path of a reading as [`path_of`](Self::path_of) returns it, but with English names in
    /// place of those of the shown language. Wildcards stay.
    #[must_use]
    pub fn english_path_of(&self, reading: &Reading) -> CounterPath {
        let mut path = self.path_of(reading);
        let (object, counter) = self.english_names_of(reading);
        if !path.object.is_wild() {
            path.object = NamePattern::literal(&object);
        }
        if !path.counter.is_wild() {
            path.counter = NamePattern::literal(&counter);
        }
        path
    }

    /// The unit of a reading's value, found by [`unit_of`]; empty for counts, and if the unit is
    /// not known.
    #[must_use]
    pub fn unit_of(&self, reading: &Reading) -> &'static str {
        let titles = self.titles(reading.source);
        let english =
            |index| titles.and_then(|titles| titles.english_name(index)).unwrap_or_default();
        unit_of(reading.counter_type, english(reading.object), english(reading.counter))
    }
}
