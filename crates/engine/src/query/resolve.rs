//! The counters and objects that a path means.

use super::error::QueryError;
use super::lookup::Directory;
use super::names::{names_match, unknown_counter, unknown_object};
use super::sources::QuerySource;
use crate::path::{CounterPath, NamePattern};
use crate::source::{CatalogueCounter, CatalogueObject};
use perfhive_format::TitleIndex;
use std::collections::HashSet;
use std::time::Instant;

/// Counters that a path means, each with the title index of its object.
pub(super) type ResolvedCounters = Vec<(TitleIndex, CatalogueCounter)>;

impl QuerySource {
    /// The counters that a path means in this source; an error if there are none. `until` is the deadline for
    /// requests to the source.
    pub(super) fn resolve(
        &mut self,
        path: &CounterPath,
        until: Option<Instant>,
    ) -> Result<ResolvedCounters, QueryError> {
        let look = |directory: &Directory| resolve(directory, path);
        self.lookup.find(&path.object, until, look)
    }

    /// As [`resolve`](Self::resolve), but the error for an unknown object lists the nearest names
    /// of existing objects.
    pub(super) fn resolve_or_suggest(
        &mut self,
        path: &CounterPath,
    ) -> Result<ResolvedCounters, QueryError> {
        let look = |directory: &Directory| resolve(directory, path);
        self.lookup.find_or_suggest(&path.object, look)
    }
}

/// Finds the counters that a path means, among the objects of a directory. An error only if none
/// are found.
fn resolve(directory: &Directory, path: &CounterPath) -> Result<ResolvedCounters, QueryError> {
    let titles = &directory.titles;
    let objects = objects_named(directory, &path.object)?;
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut failure = None;
    for object in &objects {
        let own_name = || titles.name_or_index(object.name);
        let misfit = match (&path.instance, object.has_instances) {
            (None, true) => Some(QueryError::NeedsInstance { object: own_name() }),
            (Some(_), false) => Some(QueryError::HasNoInstances { object: own_name() }),
            _ => None,
        };
        if let Some(error) = misfit {
            failure.get_or_insert(error);
            continue;
        }
        let before = found.len();
        let counters =
            object.counters.iter().filter(|c| names_match(titles, &path.counter, c.name));
        for counter in counters {
            if seen.insert((object.name, counter.name)) {
                found.push((object.name, *counter));
            }
        }
        if found.len() == before {
            let error = || unknown_counter(object, titles, &format!("{}", path.counter));
            failure.get_or_insert_with(error);
        }
    }
    match (found.is_empty(), failure) {
        (true, Some(error)) => Err(error),
        _ => Ok(found),
    }
}

/// The objects of a directory with names that match a pattern, in the order of the catalogue; for a
/// pattern without a wildcard, in the order of their title indexes. An error if there are none.
pub(super) fn objects_named<'a>(
    directory: &'a Directory,
    pattern: &NamePattern,
) -> Result<Vec<&'a CatalogueObject>, QueryError> {
    let Directory { catalogue, titles, .. } = directory;
    let mut found = Vec::new();
    for (place, object) in (0..).zip(&catalogue.objects) {
        if names_match(titles, pattern, object.name) {
            found.push((object.name, place));
        }
    }
    if found.is_empty() {
        return Err(unknown_object(catalogue, titles, &format!("{pattern}")));
    }
    if pattern.as_literal().is_some() {
        // The order in which a source lists objects with the same name does not matter.
        found.sort_unstable();
    }
    Ok(found.into_iter().filter_map(|(_, place)| catalogue.objects.get(place)).collect())
}
