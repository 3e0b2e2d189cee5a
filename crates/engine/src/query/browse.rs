//! Machines, objects, counters and instances of a query's sources, and the paths that a
//! wildcard stands for.

use super::Query;
use super::error::QueryError;
use super::lookup::Directory;
use super::names::unknown_object;
use super::resolve::objects_named;
use super::sample::ObjectSample;
use super::sources::QuerySource;
use crate::ask::Ask;
use crate::error::SourceError;
use crate::frame::{Snapshot, SnapshotObject};
use crate::label::InstanceLabel;
use crate::path::{CounterPath, NamePattern};
use crate::source::Source;
use perfhive_format::TitleIndex;

/// The counters and instances of an object; see [`Query::items`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectItems {
    /// The object's name in the shown language or, without a name, its title index.
    pub object: String,
    /// The names of the object's counters in their order; bases are left out. A counter without a
    /// name is shown by its title index.
    pub counters: Vec<String>,
    /// The labels of the present instances, in their order.
    pub instances: Vec<InstanceLabel>,
    /// Whether the object can have instances.
    pub has_instances: bool,
}

/// Methods to browse machines, objects, counters and instances.
///
/// ```
/// # let recording = perfhive_testkit::script::recording();
/// use perfhive_engine::Query;
/// let mut query = Query::new(recording)?;
/// assert_eq!(query.machines(), ["HOST"]);
/// for object in query.objects(None)? {
///     let items = query.items(None, &object)?;
///     assert_eq!((items.object.as_str(), items.has_instances), ("System", false));
///     assert_eq!(items.counters, ["Context Switches/sec"]);
/// }
/// for path in query.expand(r"\*\context*")? {
///     assert_eq!(path.to_string(), r"\System\Context Switches/sec");
///     query.add_path(path)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Query {
    /// The machines of the query, as paths name them, that of the default source first. A source
    /// that was not asked yet may have no name of a machine; it is left out.
    #[must_use]
    pub fn machines(&self) -> Vec<&str> {
        let slots = (0..self.sources.len()).filter_map(|number| self.sources.slot(number).ok());
        slots.map(QuerySource::shown_name).filter(|name| !name.is_empty()).collect()
    }

    /// The names of the objects of a machine, or of the default source for `None`, in the shown
    /// language and in the source's order. Objects that the source cannot list now are left out.
    ///
    /// # Errors
    /// [`QueryError::UnknownMachine`]; the failure of the source if it is asked for the first time,
    /// and its catalogue or titles cannot be read.
    pub fn objects(&mut self, machine: Option<&str>) -> Result<Vec<String>, QueryError> {
        let number = self.slot_of(machine)?;
        let slot = self.sources.slot_mut(number)?;
        // Objects that cannot be listed now are left out.
        let _ = slot.lookup.list();
        let Directory { catalogue, titles, .. } = slot.directory();
        Ok(catalogue.objects.iter().map(|object| titles.name_or_index(object.name)).collect())
    }

    /// The counters and the present instances of an object. `object` is its name in any language of
    /// the source, or its title index. Of several objects of one name, it means the one with the
    /// smallest title index.
    ///
    /// For the instances, a sample of a live source is taken. The instances of a recording are
    /// those of the sample that was taken last, or else of the first sample; the recording then
    /// stands again where this query left it. Other readers of the same recording through a cache
    /// are moved there too.
    ///
    /// # Errors
    /// [`QueryError::UnknownMachine`], [`QueryError::UnknownObject`], or the failure of the source.
    pub fn items(
        &mut self,
        machine: Option<&str>,
        object: &str,
    ) -> Result<ObjectItems, QueryError> {
        let number = self.slot_of(machine)?;
        let pattern = NamePattern::literal(object);
        let slot = self.sources.slot_mut(number)?;
        slot.note_change()?;
        let find = |directory: &Directory| {
            let found = objects_named(directory, &pattern)?;
            found
                .first()
                .map(|first| (*first).clone())
                .ok_or_else(|| unknown_object(&directory.catalogue, &directory.titles, object))
        };
        let entry = slot.lookup.find_or_suggest(&pattern, find)?;
        let titles = &slot.directory().titles;
        let (name, has_instances) = (entry.name, entry.has_instances);
        let mut items = ObjectItems {
            object: titles.name_or_index(name),
            counters: entry.counters.iter().map(|c| titles.name_or_index(c.name)).collect(),
            instances: Vec::new(),
            has_instances,
        };
        if has_instances {
            let seen = peek(slot, &[name])?;
            items.instances = seen.object(name).map(SnapshotObject::labels).unwrap_or_default();
        }
        Ok(items)
    }

    /// The paths without wildcards that a path means now, in the shown language: one for each match
    /// of machine, object, instance and counter.
    ///
    /// A query with the returned paths reads the present instances only. A query with the path
    /// itself, wildcards and all, also reads those that come later. The instances are read as by
    /// [`items`](Self::items).
    ///
    /// # Errors
    /// As [`add`](Query::add).
    pub fn expand(&mut self, path: &str) -> Result<Vec<CounterPath>, QueryError> {
        let path: CounterPath = path.parse()?;
        let slots = self.sources.select(path.machine.as_ref(), self.language)?;
        let mut paths = Vec::new();
        let mut failure = None;
        for number in slots {
            let slot = self.sources.slot_mut(number)?;
            if let Err(error) = slot.note_change() {
                failure = failure.or(Some(error.into()));
                continue;
            }
            match slot.resolve_or_suggest(&path) {
                Ok(targets) => expand_in(slot, &path, &targets, &mut paths)?,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match failure {
            Some(error) if paths.is_empty() => Err(error),
            _ => Ok(paths),
        }
    }

    fn slot_of(&mut self, machine: Option<&str>) -> Result<usize, QueryError> {
        let pattern = machine.map(|name| NamePattern::literal(name.trim_start_matches('\\')));
        let slots = self.sources.select(pattern.as_ref(), self.language)?;
        Ok(slots.first().copied().unwrap_or(0))
    }
}

type Targets = [(TitleIndex, crate::source::CatalogueCounter)];

/// Adds to `paths` the paths without wildcards that `path` means in one source. `targets` are the
/// counters that it means there.
fn expand_in(
    slot: &mut QuerySource,
    path: &CounterPath,
    targets: &Targets,
    paths: &mut Vec<CounterPath>,
) -> Result<(), QueryError> {
    let mut wanted: Vec<TitleIndex> = targets.iter().map(|(object, _)| *object).collect();
    wanted.dedup();
    let seen = if path.instance.is_some() { peek(slot, &wanted)? } else { Snapshot::new() };
    let machine = path.machine.as_ref().map(|_| NamePattern::literal(&slot.machine));
    let titles = &slot.directory().titles;
    let mut push = |object: TitleIndex, instance, counter: TitleIndex| {
        let (object, counter) = (titles.name_or_index(object), titles.name_or_index(counter));
        let machine = machine.clone();
        paths.push(CounterPath { machine, ..CounterPath::new(&object, instance, &counter) });
    };
    // The targets of an object stand together.
    let mut sampled = None;
    for (object, counter) in targets {
        let Some(pattern) = &path.instance else {
            push(*object, None, counter.name);
            continue;
        };
        if sampled.as_ref().is_none_or(|(of, _)| of != object) {
            sampled = Some((*object, seen.object(*object).map(ObjectSample::of)));
        }
        let sample = sampled.as_ref().and_then(|(_, sample)| sample.as_ref());
        let labels = sample.map_or(&[][..], ObjectSample::labels);
        let identities = sample.map_or(&[][..], |sample| sample.identities().identities());
        for (_, label, _) in pattern.among(labels, identities) {
            push(*object, Some(label.pattern()), counter.name);
        }
    }
    Ok(())
}

/// A sample of the wanted objects: a new one of a live source; of a recording, the sample that was
/// taken last or, before any was taken, the first. The recording is put back to its position, so
/// that browsing consumes no sample.
fn peek(slot: &mut QuerySource, wanted: &[TitleIndex]) -> Result<Snapshot, QueryError> {
    let mut snapshot = Snapshot::new();
    let request = Ask::objects(wanted);
    let taken = slot.taken;
    if slot.is_live {
        slot.lookup.source.collect(&request, &mut snapshot)?;
    } else {
        let (reached, source) = (slot.reached, &mut *slot.lookup.source);
        let is_reached = |seen: &Snapshot| {
            let time = seen.frames().first().map(|frame| frame.time());
            reached.is_none() || time.is_none() || time == reached
        };
        // This collects the sample that was taken last or, if none was, the first.
        let counted = skip(source, &request, taken.saturating_sub(1))
            .and_then(|()| Ok(source.collect(&request, &mut snapshot)?));
        if reached.is_none() {
            counted?;
        } else if counted.is_err() || !is_reached(&snapshot) {
            // The recording was also moved by others, so that the samples do not count.
            source.recording().map_or(Ok(()), |recording| recording.seek(reached))?;
            source.collect(&request, &mut snapshot)?;
            while !is_reached(&snapshot) {
                source.collect(&request, &mut snapshot)?;
            }
        }
        if taken == 0 {
            rewind(source)?;
        }
    }
    Ok(snapshot)
}

fn rewind(source: &mut dyn Source) -> Result<(), SourceError> {
    source.recording().map_or(Ok(()), |recording| recording.seek(None))
}

/// Moves a recording behind its first `count` samples, whatever its position is. An empty request
/// would be cheaper, but a cache answers it without its source.
fn skip(source: &mut dyn Source, request: &Ask, count: u64) -> Result<(), QueryError> {
    rewind(source)?;
    let mut snapshot = Snapshot::new();
    for _ in 0..count {
        source.collect(request, &mut snapshot)?;
    }
    Ok(())
}
