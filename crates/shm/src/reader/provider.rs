//! The provider of a published category.

use super::contents::{Contents, Names, Values};
use super::definition::{FileDefinition, PublishedCounter};
use super::indexes::CategoryIndexes;
use super::published_file::{FileKey, PublishedFile};
use super::share::{self, Turn};
use crate::definition::nanoseconds_per_tick;
use crate::layout::READY;
use crate::os::User;
use perfhive_engine::{
    Collection, Numbering, ObjectDescription, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{
    CounterSpec, FileTime, InstanceHead, LanguageId, NameRef, ObjectSpec, ObjectTemplate,
    TitleIndex, WriteError,
};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// The files of a category, which its provider and sessions share with the roster.
pub(super) struct Members {
    /// The files with the instances that are shown, by rank.
    pub(super) files: Vec<Arc<PublishedFile>>,
    /// The reason for each other file why it is not shown.
    pub(super) left_out: Vec<String>,
    /// The turn of each file, in the order of `files`.
    turns: Vec<Turn>,
}

impl Members {
    pub(super) fn new(files: Vec<Arc<PublishedFile>>, left_out: Vec<String>) -> Self {
        let turns = Turn::of(files.iter().map(|file| (&file.user, file.length)));
        Self { files, left_out, turns }
    }
}

/// A category published by one or more processes.
pub(super) struct CategoryProvider {
    name: String,
    /// The definition with the counters that all shown files have.
    pub(super) definition: FileDefinition,
    pub(super) indexes: Arc<CategoryIndexes>,
    pub(super) members: Arc<Mutex<Arc<Members>>>,
    next_number: Arc<AtomicI32>,
    /// Whether the object was that of another provider before.
    replaces: bool,
}

impl CategoryProvider {
    /// A provider of the category with these indexes. `before` is the provider that is replaced
    /// because the category had other counters until now.
    pub(super) fn new(
        definition: FileDefinition,
        indexes: Arc<CategoryIndexes>,
        members: Members,
        before: Option<&Self>,
    ) -> Self {
        let before = before.filter(|before| before.indexes.object == indexes.object);
        Self {
            name: format!("published: {}", definition.name),
            definition,
            indexes,
            members: Arc::new(Mutex::new(Arc::new(members))),
            // Instances of both must not have the same number.
            next_number: before.map(|before| Arc::clone(&before.next_number)).unwrap_or_default(),
            replaces: before.is_some(),
        }
    }

    /// Sets the files that are shown. Returns the owner of the first file that was shown before;
    /// `None` if there was no file.
    pub(super) fn set_members(&self, members: Members) -> Option<User> {
        let mut now = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *now, Arc::new(members));
        before.files.first().map(|file| file.user.clone())
    }

    /// The definition of the category's object.
    fn object(&self) -> ObjectSpec {
        let mut spec = ObjectSpec::new(self.indexes.object);
        spec.detail = self.definition.detail;
        spec.has_instances = self.definition.has_instances;
        spec.default_counter = self.definition.default_counter.map(|place| {
            // The position in the object counts bases, too.
            let before = self.definition.counters.iter().take(place as usize);
            place + before.filter(|counter| counter.base_type.is_some()).count() as u32
        });
        spec
    }

    /// The definitions of the counters and bases. All counters have 8 bytes, so that none wraps: a
    /// wrap could not be told from a restarted program.
    fn counters(&self) -> Vec<CounterSpec> {
        let of = |(counter, name): (&PublishedCounter, &TitleIndex)| {
            let spec = |kind| {
                let spec = CounterSpec::new(*name, kind).detail(counter.detail).size(8);
                spec.scale(counter.scale)
            };
            let base = counter.base_type.map(|base| spec(base).scale(0));
            [Some(spec(counter.counter_type)), base]
        };
        self.definition.counters.iter().zip(&self.indexes.counters).flat_map(of).flatten().collect()
    }
}

impl Provider for CategoryProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> ProviderDescription {
        ProviderDescription::new(
            Numbering::Windows,
            vec![ObjectDescription::new(self.object(), self.counters())],
        )
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        let mut names = TitleList::from(Vec::new());
        let mut help = names.clone();
        let counters = self.definition.counters.iter().map(|c| (&c.name, &c.help));
        let all = [(&self.definition.name, &self.definition.help)].into_iter().chain(counters);
        let indexes =
            [self.indexes.object].into_iter().chain(self.indexes.counters.iter().copied());
        for (index, (name, text)) in indexes.zip(all) {
            names.titles.push(Title { index, text: name.clone() });
            if !text.is_empty() {
                help.titles.push(Title { index: TitleIndex(index.0 + 1), text: text.clone() });
            }
        }
        vec![ProvidedTitles::new(LanguageId::ENGLISH, names, help)]
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let template = ObjectTemplate::new(&self.object(), &self.counters())?;
        Ok(Box::new(CategorySession {
            template,
            index: self.indexes.object,
            members: Arc::clone(&self.members),
            next_number: Arc::clone(&self.next_number),
            contents: Contents::default(),
            names: HashMap::new(),
            // Numbers of the programs before must not be subtracted from those of the present one.
            shown: self.replaces.then(FileKey::default),
            row: Vec::new(),
        }))
    }
}

/// A session that reads the files of a category.
struct CategorySession {
    template: ObjectTemplate,
    index: TitleIndex,
    members: Arc<Mutex<Arc<Members>>>,
    next_number: Arc<AtomicI32>,
    contents: Contents,
    names: HashMap<FileKey, Names>,
    /// The key of the file from which a category without instances was last read; `None` if there
    /// was no file at the last collection. Before the first collection it is `None`, or the key of
    /// no file if the provider replaces another.
    shown: Option<FileKey>,
    row: Vec<u64>,
}

impl Session for CategorySession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let members = Arc::clone(&*self.members.lock().unwrap_or_else(PoisonError::into_inner));
        for why in &members.left_out {
            out.fault(self.index, None, why);
        }
        if self.names.len() > 2 * members.files.len() + 8 {
            self.names.retain(|key, _| members.files.iter().any(|file| file.key == *key));
        }
        if self.template.has_instances() {
            self.collect_instances(&members, collection, out)
        } else {
            self.collect_single(&members, out)
        }
    }
}

/// The time of the object's clock and its frequency: calendar time, as a FILETIME, in which
/// programs give the time when something began.
fn now() -> (i64, i64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = FileTime::from_unix_nanos(i128::try_from(now.as_nanos()).unwrap_or(0));
    (now.0, FileTime::PER_SECOND)
}

impl CategorySession {
    /// Writes the wanted instances, as far as time and room allow. Instances that are left out for
    /// lack of time or room are a fault.
    fn collect_instances(
        &mut self,
        members: &Members,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let until = collection.deadline();
        let wanted = |name: &str| collection.wants_instance(self.index, name);
        let wants_all = collection.wants_all_of(self.index);
        if !wants_all {
            out.partial(self.index);
        }
        let (mut failed, mut busy) = (Vec::new(), Vec::new());
        let mut written = 0;
        let is_over = |end: Option<Instant>| end.is_some_and(|end| Instant::now() >= end);
        let mut is_cut = false;
        let (time, frequency) = now();
        let mut object = out.object(&self.template)?.clock(time, frequency);
        for (file, turn) in members.files.iter().zip(&members.turns) {
            if is_over(until) {
                is_cut = true;
                break;
            }
            let end = until.map(|until| turn.until(until, Instant::now()));
            if file.file.is_abandoned() {
                continue; // Its process died since files were last looked at.
            }
            let names = self.names.entry(file.key).or_default();
            let read = match wants_all {
                true => self.contents.read(&file.file, &file.definition),
                false => self.contents.read_named(&file.file, &file.definition, names, wanted),
            };
            if let Err(error) = read {
                failed.push(format!("{}: {error}", file.path.display()));
                continue;
            }
            if self.contents.state() != READY {
                continue;
            }
            let share = file.share.load(Ordering::Relaxed);
            let Some(mut room) = share.checked_sub(share::without_instances(&file.definition))
            else {
                failed.push(file.cut("left out"));
                continue;
            };
            let (before, mut cut, mut late) = (written, false, false);
            let (row, next) = (&mut self.row, &self.next_number);
            let mut done = Ok(());
            let mut untried = 0;
            self.contents.each_named(&file.file, &file.definition, names, wanted, |instance| {
                late = is_over(end);
                if late {
                    return ControlFlow::Break(());
                }
                let values = match instance.values {
                    Values::Whole(values) => values,
                    Values::Torn => {
                        busy.push(instance.name.to_string());
                        return ControlFlow::Continue(());
                    }
                    Values::Untried => {
                        untried += 1;
                        return ControlFlow::Continue(());
                    }
                };
                let size = share::of_instance(&file.definition, instance.name.len());
                let Some(left) = room.checked_sub(size) else {
                    cut = true;
                    return ControlFlow::Break(());
                };
                in_ticks(&file.definition, values, row);
                let number = instance.unique_id.map(|id| id as i32);
                let number =
                    number.unwrap_or_else(|| file.number(instance.slot, instance.state, next));
                let head = InstanceHead {
                    name: NameRef::Text(instance.name),
                    unique_id: Some(number),
                    parent: None,
                };
                done = object.instance(&head, row);
                if done.is_err() {
                    return ControlFlow::Break(());
                }
                (room, written) = (left, written + 1);
                ControlFlow::Continue(())
            });
            let instances = written - before;
            match done {
                Ok(()) if cut => {
                    let what = format!("cut short after {instances} instances");
                    failed.push(file.cut(what));
                }
                Ok(()) if late && is_over(until) => is_cut = true,
                Ok(()) if late => {
                    let path = file.path.display();
                    let what = "its share of the time until the deadline had passed";
                    let message = format!("{path}: cut short after {instances} instances: {what}");
                    failed.push(message);
                }
                Ok(()) => {}
                Err(error @ WriteError::Full { .. }) => {
                    let path = file.path.display();
                    let message = format!("{path}: cut short after {instances} instances: {error}");
                    failed.push(message);
                }
                Err(error) => failed.push(format!("{}: {error}", file.path.display())),
            }
            if untried > 0 {
                let what = "more instances left out: too many values changed too fast to be told";
                failed.push(format!("{}: {untried} {what}", file.path.display()));
            }
        }
        object.finish()?;
        if is_cut {
            let message = format!("cut short after {written} instances: the deadline had passed");
            failed.push(message);
        }
        for instance in busy {
            let why = "a value and its base changed too fast to be read together";
            out.busy(self.index, Some(&instance), why);
        }
        for message in failed {
            out.fault(self.index, None, message);
        }
        Ok(())
    }

    /// Writes the values of the first file of a category without instances. Without a file or
    /// values, and at the first collection from another file than before, the object is written
    /// without values. If the file's share of the block is too small, the object is left out, with
    /// a fault.
    fn collect_single(
        &mut self,
        members: &Members,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let (time, frequency) = now();
        self.row.clear();
        let (mut failed, mut busy) = (None, false);
        if let Some(file) = members.files.first() {
            if file.share.load(Ordering::Relaxed) < share::without_instances(&file.definition) {
                out.fault(self.index, None, file.cut("left out"));
                return Ok(());
            }
            let names = self.names.entry(file.key).or_default();
            let row = &mut self.row;
            let mut told = false;
            match self.contents.read(&file.file, &file.definition) {
                _ if file.file.is_abandoned() => told = true,
                Ok(()) if self.contents.state() != READY => told = true,
                Ok(()) => {
                    let all = |_: &str| true;
                    self.contents.each_named(&file.file, &file.definition, names, all, |instance| {
                        if let Values::Whole(values) = instance.values {
                            in_ticks(&file.definition, values, row);
                        }
                        ControlFlow::Continue(())
                    })
                }
                Err(error) => {
                    failed = Some(format!("{}: {error}", file.path.display()));
                }
            }
            busy = self.row.is_empty() && failed.is_none() && !told;
            // Numbers of two processes must not be subtracted from each other: a sample without
            // values comes between them.
            if self.shown.replace(file.key).is_some_and(|shown| shown != file.key) {
                self.row.clear();
            }
        } else {
            self.shown = None;
        }
        let object = out.object(&self.template)?.clock(time, frequency);
        object.values_prefix(&self.row)?.finish()?;
        if let Some(message) = failed {
            out.fault(self.index, None, message);
        }
        if busy {
            out.busy(self.index, None, "its values changed too fast to be read together");
        }
        Ok(())
    }
}

/// The ticks per second of the performance counter in blocks of published categories: brokers take it
/// from Linux's clock or from the standard library's, which both count nanoseconds.
const PERFORMANCE_FREQUENCY: u64 = 1_000_000_000;

/// Copies the values of an instance into `row`, with times in nanoseconds converted to the unit of
/// the counter's type.
fn in_ticks(definition: &FileDefinition, values: &[u64], row: &mut Vec<u64>) {
    row.clear();
    row.extend(values);
    let mut place = 0;
    for counter in &definition.counters {
        if let (true, Some(value)) = (counter.nanoseconds, row.get_mut(place)) {
            *value = match nanoseconds_per_tick(counter.counter_type) {
                None | Some(0) => floor_of(*value, 1_000_000_000 / PERFORMANCE_FREQUENCY),
                Some(nanoseconds) => floor_of(*value, nanoseconds),
            };
        }
        place += 1 + usize::from(counter.base_type.is_some());
    }
}

/// A signed number divided by `by` and rounded down, so that a time below zero stays below zero and
/// the steps across zero are right.
fn floor_of(number: u64, by: u64) -> u64 {
    i64::try_from(by).map_or(0, |by| (number as i64).div_euclid(by.max(1)) as u64)
}
