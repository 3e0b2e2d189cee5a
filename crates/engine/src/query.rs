//! Counter paths in, values out, over any source.
//!
//! A query is opened on a [`Source`](crate::Source), or on a [`SourceSet`]: the machine in a path
//! selects the sources of the set.

mod browse;
pub(crate) mod column;
mod english;
mod error;
mod follow;
mod format;
pub(crate) mod lookup;
mod matching;
mod names;
mod no_value;
mod reading;
mod resolve;
pub(crate) mod sample;
mod sampled;
mod sources;
mod statistics;
pub(crate) mod wishes;

pub use browse::ObjectItems;
pub use error::QueryError;
pub use format::{FormattedValue, NoFormat, NumberFormat, ValueFormat};
pub use lookup::{Directory, Lookup};
pub use no_value::NoValue;
pub use reading::{PathId, Reading};
pub use sample::ObjectSample;
pub use sampled::SampledCounter;
pub use sources::SourceSet;
pub use statistics::{RunningStatistics, SampleRing, Statistics, oldest_first};

use crate::ask::Ask;
use crate::error::{Fault, SourceError};
use crate::followed::INDEX_TAKEN;
use crate::frame::Snapshot;
use crate::label::{InstanceLabel, InstanceRole};
use crate::path::{CounterPath, InstancePattern, NamePattern};
use crate::source::{Catalogue, CatalogueCounter};
use crate::status::ProviderStatus;
use crate::titles::TitleSet;
use perfhive_format::{CalendarTime, FileTime, LanguageId, TitleIndex};
use resolve::ResolvedCounters;
use sample::ObjectState;
use sources::QuerySource;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One path that was added to a query, and the counters that the path means.
struct AddedPath {
    id: PathId,
    path: CounterPath,
    targets: Vec<Target>,
    /// The label of the first instance that the path meant. `None` for a path with wildcards or by process
    /// ID, and before an instance was found.
    last: Option<InstanceLabel>,
}

impl AddedPath {
    /// The target of this path with the source, object and counter of a reading; `None` if the path has no such
    /// target.
    fn target(&self, reading: &Reading) -> Option<&Target> {
        let indexes = [reading.object, reading.counter];
        let is_it = |target: &&Target| target.slot == reading.source && target.indexes() == indexes;
        self.targets.iter().find(is_it)
    }

    /// Whether the label of the first instance is kept as the instance of the path: `false` for a
    /// path with wildcards, and for one by process ID.
    fn keeps_label(&self) -> bool {
        let has_id = self.path.instance.as_ref().is_some_and(|it| it.process_id().is_some());
        !has_id && !self.path.is_wild()
    }

    /// Whether the title indexes of a reading of this path belong to another object or counter now.
    fn has_lost(&self, reading: &Reading) -> bool {
        self.target(reading).is_some_and(|target| target.lost)
    }
}

/// One counter of one object of one source, for which a path has readings.
struct Target {
    slot: usize,
    object: TitleIndex,
    counter: CatalogueCounter,
    /// The names of the object and the counter when the path was resolved; `None` in place of a
    /// name that did not exist.
    names: [Option<Arc<str>>; 2],
    /// Whether the indexes now belong to another object or counter than the path means.
    lost: bool,
    /// The index that the last found instance had in its sample. Without it, the time to read many single
    /// instances grows with the square of their number.
    likely: usize,
}

impl Target {
    fn indexes(&self) -> [TitleIndex; 2] {
        [self.object, self.counter.name]
    }
}

impl QuerySource {
    /// Makes a target for each of the counters `found` in the source with the index `number`. A
    /// target keeps the names that object and counter have now.
    fn targets(&self, number: usize, found: ResolvedCounters) -> Vec<Target> {
        let name = |index| self.directory().titles.name(index).map(Arc::from);
        let mut targets = Vec::with_capacity(found.len());
        for (object, counter) in found {
            let names = [name(object), name(counter.name)];
            targets.push(Target { slot: number, object, counter, names, lost: false, likely: 0 });
        }
        targets
    }
}

/// A set of counter paths with their values, read from one source or several machines.
///
/// Paths are added, samples collected, and values read; each value has a status of its own. A path
/// selects instances by name at each sample, so it continues when a process of that name comes
/// back. The sample before is looked up by [`Identity`](crate::Identity), not by name.
///
/// ```
/// use perfhive_engine::Query;
/// use perfhive_recording::ReplaySource;
/// use perfhive_format::{BlockHead, BlockWriter, CounterSpec, CounterType};
/// use perfhive_format::{ObjectSpec, ObjectTemplate, TitleIndex};
///
/// // A recording of one sample: object 4 with counter 24, nameless.
/// let memory = ObjectTemplate::new(
///     &ObjectSpec::new(TitleIndex(4)),
///     &[CounterSpec::new(TitleIndex(24), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)],
/// )?;
/// let mut writer = BlockWriter::new();
/// writer.start(&BlockHead { system_name: "HOST", ..BlockHead::default() });
/// writer.object(&memory)?.values(&[1 << 30])?.finish()?;
/// let block = writer.finish().to_vec();
///
/// let source = ReplaySource::new("recording", [("first".to_string(), block)])?;
/// let mut query = Query::new(source)?;
/// query.add(r"\4\24")?;
/// query.collect()?;
/// let reading = &query.readings()[0];
/// assert_eq!(reading.value.as_ref().map(|value| value.as_f64()).ok(), Some(1073741824.0));
/// assert!(query.collect().is_err_and(|error| error.is_end_of_data()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Query {
    sources: SourceSet,
    language: Option<LanguageId>,
    items: Vec<AddedPath>,
    next_id: u32,
    objects: HashMap<(usize, TitleIndex), ObjectState>,
    readings: Vec<Reading>,
    snapshot: Snapshot,
    /// The faults of the last collection, each list with the index of its source.
    faults: Vec<(usize, Vec<Fault>)>,
    /// The time of the last collection; `None` if no source answered with a block.
    time: Option<CalendarTime>,
    file_time: Option<FileTime>,
    max_age: Option<Duration>,
}

impl Query {
    /// A query over one source. Names are shown in the language that the source prefers
    /// ([`Catalogue::preferred_language`]), such as the user's own on Windows. Names are recognised
    /// in every language that the source has, whichever is shown.
    ///
    /// # Errors
    /// The source's error if it does not return its catalogue or titles.
    pub fn new(source: impl crate::Source + 'static) -> Result<Self, QueryError> {
        Self::of(SourceSet::new(source), None)
    }

    /// A query over several sources. The names of each source are shown in `language`, or in
    /// English if the source does not have that language.
    ///
    /// # Errors
    /// The default source's error if it does not return its catalogue or titles.
    pub fn over(sources: SourceSet, language: LanguageId) -> Result<Self, QueryError> {
        Self::of(sources, Some(language))
    }

    fn of(mut sources: SourceSet, language: Option<LanguageId>) -> Result<Self, QueryError> {
        sources.prepare(0, language)?;
        Ok(Self {
            sources,
            language,
            items: Vec::new(),
            next_id: 0,
            objects: HashMap::new(),
            readings: Vec::new(),
            snapshot: Snapshot::new(),
            faults: Vec::new(),
            time: None,
            file_time: None,
            max_age: None,
        })
    }

    /// The same query with a limit to the age of the data that a cache gives it
    /// ([`Ask::max_age`](crate::Ask::max_age)); without it, the cache's own limit applies.
    #[must_use]
    pub fn max_age(mut self, limit: Duration) -> Self {
        self.max_age = Some(limit);
        self
    }

    /// Adds a path given as text, and returns its handle. A pattern of machines means the machines that the query
    /// knows when the path is added; for a machine that is opened later, the path must be added again.
    ///
    /// # Errors
    /// [`QueryError::Path`] for a text that is not a path; [`QueryError::UnknownMachine`]; an error
    /// with the nearest names for an object or counter that does not exist;
    /// [`QueryError::NeedsInstance`] and [`QueryError::HasNoInstances`]; the failure of a source.
    /// An instance that does not exist is no error, since it may come later.
    pub fn add(&mut self, path: &str) -> Result<PathId, QueryError> {
        self.add_path(path.parse()?)
    }

    /// Adds a path, and returns its handle.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_path(&mut self, path: CounterPath) -> Result<PathId, QueryError> {
        let slots = self.sources.select(path.machine.as_ref(), self.language)?;
        let mut targets = Vec::new();
        let mut failure = None;
        for number in slots {
            let slot = self.sources.slot_mut(number)?;
            match slot.resolve_or_suggest(&path) {
                Ok(found) => targets.extend(slot.targets(number, found)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if let (true, Some(error)) = (targets.is_empty(), failure) {
            return Err(error);
        }
        let id = PathId(self.next_id);
        self.next_id += 1;
        for target in &targets {
            let slot = self.sources.slot_mut(target.slot)?;
            slot.want(target.object, &target.counter, path.instance.as_ref());
            self.objects.entry((target.slot, target.object)).or_default();
        }
        self.items.push(AddedPath { id, path, targets, last: None });
        Ok(id)
    }

    /// Removes a path and its readings. The path's objects are no longer collected, unless another
    /// path needs them. `false` if the query has no such path.
    pub fn remove(&mut self, id: PathId) -> bool {
        let before = self.items.len();
        self.items.retain(|item| item.id != id);
        self.sources.clear_wants();
        for item in &self.items {
            for target in &item.targets {
                if let Ok(slot) = self.sources.slot_mut(target.slot) {
                    slot.want(target.object, &target.counter, item.path.instance.as_ref());
                }
            }
        }
        let items = &self.items;
        self.objects.retain(|key, _| {
            items.iter().flat_map(|item| &item.targets).any(|t| (t.slot, t.object) == *key)
        });
        self.readings.retain(|reading| reading.path != id);
        self.items.len() < before
    }

    /// The path as it was added; `None` if the query has no such path.
    #[must_use]
    pub fn path(&self, id: PathId) -> Option<&CounterPath> {
        self.items.iter().find(|item| item.id == id).map(|item| &item.path)
    }

    /// Takes a sample of every source that a path needs, and makes the readings. If a source fails,
    /// the readings of that source have no value, and those of the others are made all the same.
    ///
    /// # Errors
    /// The first failure if every source that a path needs fails; there are then no readings.
    /// [`QueryError::is_end_of_data`] recognises the end of a recording.
    pub fn collect(&mut self) -> Result<(), QueryError> {
        self.collect_until(None)
    }

    /// As [`collect`](Self::collect), with a deadline for the sources. The deadline also covers the
    /// other requests of a collection, such as those for a catalogue that changed. The next
    /// collection repeats what was late.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub fn collect_until(&mut self, deadline: Option<Instant>) -> Result<(), QueryError> {
        self.readings.clear();
        self.faults.clear();
        (self.time, self.file_time) = (None, None);
        let mut errors: Vec<(usize, SourceError)> = Vec::new();
        let mut good = 0;
        let mut first_error = None;
        for number in 0..self.sources.len() {
            if self.sources.slot(number).is_ok_and(|slot| slot.wanted.is_empty()) {
                continue;
            }
            match self.collect_slot(number, deadline) {
                Ok(()) => {
                    good += 1;
                    if let Some(frame) =
                        self.snapshot.frames().first().filter(|_| self.time.is_none())
                    {
                        self.time = Some(frame.system_time());
                        self.file_time = frame.system_file_time();
                    }
                    self.faults.push((number, self.snapshot.faults().to_vec()));
                    for ((_, object), state) in
                        self.objects.iter_mut().filter(|((slot, _), _)| *slot == number)
                    {
                        state.advance(*object, &self.snapshot);
                    }
                }
                Err(error) => {
                    let states = self.objects.iter_mut().filter(|((s, _), _)| *s == number);
                    states.for_each(|(_, state)| state.skip());
                    first_error.get_or_insert_with(|| error.clone());
                    errors.push((number, error));
                }
            }
        }
        if let (0, Some(error)) = (good, first_error) {
            return Err(QueryError::Source(error));
        }
        let mut nothing = ObjectState::default();
        let mut targets = self.items.iter().flat_map(|item| &item.targets);
        nothing.missing = targets.any(|target| target.lost).then(|| INDEX_TAKEN.into());
        for item in &mut self.items {
            for target in &mut item.targets {
                let state = match self.objects.get(&(target.slot, target.object)) {
                    _ if target.lost => &nothing,
                    Some(state) => state,
                    None => continue,
                };
                let Ok(slot) = self.sources.slot(target.slot) else {
                    continue;
                };
                let context = reading::TargetReader {
                    path: item.id,
                    source: target.slot,
                    machine: &slot.machine,
                    object: target.object,
                    counter: target.counter.name,
                    definition: target.counter,
                    error: errors
                        .iter()
                        .find(|(slot, _)| *slot == target.slot)
                        .map(|(_, error)| error),
                    faults: faults_of(&self.faults, target.slot),
                    any_counter: item.path.counter.is_wild(),
                };
                let pattern = item.path.instance.as_ref();
                if target.lost && target.keeps_object(slot.directory()) {
                    let lost = context.reading(None, None, Err(NoValue::CounterMissing));
                    self.readings.push(lost);
                    continue;
                }
                context.read(pattern, state, &mut target.likely, &mut self.readings);
            }
        }
        self.keep_labels();
        Ok(())
    }

    /// Keeps the label of the first instance that each path means, except paths with wildcards and
    /// those by process ID. So the readings keep their path when the instance is gone.
    fn keep_labels(&mut self) {
        // Both are in the order of the paths.
        let mut readings = self.readings.iter().peekable();
        for item in &mut self.items {
            while let Some(reading) = readings.next_if(|reading| reading.path <= item.id) {
                if let Some(label) = reading.instance.as_ref().filter(|_| item.keeps_label()) {
                    item.last.get_or_insert_with(|| label.clone());
                }
            }
        }
    }

    /// The readings of the last collection, in the order of the paths.
    #[must_use]
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// The readings of one path in the last collection; none if the query has no such path.
    pub fn readings_of(&self, id: PathId) -> impl Iterator<Item = &Reading> {
        let begin = self.readings.partition_point(|reading| reading.path < id);
        let readings = self.readings.get(begin..).unwrap_or_default();
        readings.iter().take_while(move |reading| reading.path == id)
    }

    /// The faults of a source in the last collection: what could not be read, and warnings. Source
    /// 0 is the default source. Empty for a source that failed, that no path needs, or that does
    /// not exist.
    #[must_use]
    pub fn faults(&self, source: usize) -> &[Fault] {
        faults_of(&self.faults, source)
    }

    /// The `count` readings of a path with the largest values, the largest first; fewer if the path
    /// has fewer. Readings without a number are left out, and so are readings of sums (`_Total`)
    /// and of idle time.
    #[must_use]
    pub fn top(&self, id: PathId, count: usize) -> Vec<&Reading> {
        let number =
            |reading: &&Reading| reading.value.as_ref().is_ok_and(|v| v.as_f64().is_finite());
        let single = |reading: &&Reading| reading.role() == InstanceRole::Single;
        let value = |reading: &Reading| reading.value.as_ref().map_or(0.0, |value| value.as_f64());
        let top = self.readings_of(id).filter(single).filter(number);
        let mut top: Vec<_> = top.enumerate().map(|(at, one)| (value(one), at, one)).collect();
        top.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        top.into_iter().take(count).map(|(.., reading)| reading).collect()
    }

    /// The calendar time of the last collection in UTC: the time of the first source that answered
    /// with a block, whether or not the block has the objects. `None` without such a source. A
    /// [`Cached`](crate::Cached) answers without a block if it has none of the objects.
    #[must_use]
    pub fn time(&self) -> Option<CalendarTime> {
        self.time
    }

    /// The time of [`time`](Self::time), to 100 ns where the source has it
    /// ([`Frame::system_file_time`](crate::Frame::system_file_time)); `None` without a valid date.
    #[must_use]
    pub fn file_time(&self) -> Option<FileTime> {
        self.file_time
    }

    /// Calendar time of the sample that a reading comes from, UTC; `None` if the newest sample
    /// lacks the object.
    #[must_use]
    pub fn time_of(&self, reading: &Reading) -> Option<CalendarTime> {
        let state = self.objects.get(&(reading.source, reading.object))?;
        state.current().map(sample::ObjectSample::system_time)
    }

    /// The path of one reading, in the shown language, with the object, instance and counter of the reading in
    /// place of wildcards. It names the machine only if the added path does. A reading without an instance gets the
    /// label of the first instance that the added path meant or, if none is known, the instance part of the added
    /// path, wildcards included. If the added path names a process by its ID, the returned path does, too. If the
    /// title indexes belong to other objects or counters now, the added path is returned, unless its object or
    /// counter has wildcards.
    #[must_use]
    pub fn path_of(&self, reading: &Reading) -> CounterPath {
        let named = self.items.iter().find(|item| item.id == reading.path);
        let is_wild = |path: &CounterPath| path.object.is_wild() || path.counter.is_wild();
        if let Some(item) = named.filter(|item| item.has_lost(reading) && !is_wild(&item.path)) {
            return item.path.clone();
        }
        let (object, counter) = self.names_of(reading);
        let instance = match &reading.instance {
            Some(label) => {
                let asked = named.and_then(|item| item.path.instance.as_ref()?.process_id());
                Some(match asked {
                    // If only one process was asked for, its order among the processes of the same
                    // name is not known.
                    Some(_) => InstancePattern::of_process(reading.identity.as_ref(), label),
                    None => label.pattern(),
                })
            }
            None => named.and_then(|item| match &item.last {
                Some(label) => Some(label.pattern()),
                None => item.path.instance.clone(),
            }),
        };
        let machine = named
            .and_then(|item| item.path.machine.as_ref())
            .map(|_| NamePattern::literal(&reading.machine));
        CounterPath { machine, ..CounterPath::new(&object, instance, &counter) }
    }

    /// The names of a reading's object and of its counter, in this order, in the shown language. If a title index
    /// has no name now, or belongs to another object or counter, its last known name is returned. An index without
    /// any known name is returned as text.
    #[must_use]
    pub fn names_of(&self, reading: &Reading) -> (String, String) {
        let mut items = self.items.iter().filter(|item| item.id == reading.path);
        let target = items.find_map(|item| item.target(reading));
        let name = |place: usize, index: TitleIndex| {
            let now = self.titles(reading.source).and_then(|titles| titles.name(index));
            let former = target.and_then(|target| target.names.get(place)?.as_deref());
            let is_lost = target.is_some_and(|target| target.lost);
            let name = if is_lost { former.or(now) } else { now.or(former) };
            name.map_or_else(|| format!("{index}"), str::to_string)
        };
        (name(0, reading.object), name(1, reading.counter))
    }

    /// The labels of the instances of a reading's object in the newest sample that has it, as paths
    /// write them, to suggest one when a name is mistyped.
    #[must_use]
    pub fn instance_names(&self, reading: &Reading) -> Vec<String> {
        let state = self.objects.get(&(reading.source, reading.object));
        state.map(ObjectState::labels).unwrap_or_default()
    }

    /// The catalogue of a source, as far as it is known. Source 0 is the default source; `None` if
    /// there is no such source.
    #[must_use]
    pub fn catalogue(&self, source: usize) -> Option<&Catalogue> {
        self.sources.slot(source).ok().map(|slot| &*slot.directory().catalogue)
    }

    /// The titles of a source. Source 0 is the default source; `None` if there is no such source.
    #[must_use]
    pub fn titles(&self, source: usize) -> Option<&TitleSet> {
        self.sources.slot(source).ok().map(|slot| &*slot.directory().titles)
    }

    /// The state of the providers of a source. Source 0 is the default source.
    ///
    /// # Errors
    /// If there is no such source, or if it does not return the state of its providers
    /// ([`Source::providers`](crate::Source::providers)).
    pub fn providers(&mut self, source: usize) -> Result<Vec<ProviderStatus>, QueryError> {
        Ok(self.sources.slot_mut(source)?.lookup.source.providers(&Ask::nothing())?)
    }

    /// Whether waiting brings new samples: `false` if every source that the paths need is a
    /// recording, `true` without any path.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let mut slots = (0..self.sources.len()).filter_map(|n| self.sources.slot(n).ok());
        self.items.is_empty() || slots.any(|s| !s.wanted.is_empty() && s.is_live)
    }

    /// The number of samples after which every path can have a value: 2 if any path means a counter
    /// of a type that takes two samples, else 1.
    #[must_use]
    pub fn samples_needed(&self) -> u8 {
        let targets = self.items.iter().flat_map(|item| &item.targets);
        let needed = |target: &Target| target.counter.counter_type.samples();
        targets.map(needed).max().unwrap_or(1).max(1)
    }
}

fn faults_of(faults: &[(usize, Vec<Fault>)], source: usize) -> &[Fault] {
    let of_source = faults.iter().find(|(number, _)| *number == source);
    of_source.map_or(&[], |(_, faults)| faults)
}
