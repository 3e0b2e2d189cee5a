//! Categories and counters in .NET's form.
//!
//! docs/manual/dotnet.md lists each member of .NET's classes with its counterpart here, and the
//! deliberate differences.

mod counter;
mod data;
mod follow;
mod instances;
mod sample;

pub use counter::PerformanceCounter;
pub use data::{
    CategoryData, CounterColumn, DataByCounter, DataByInstance, InstanceData, InstanceRow,
};
pub use sample::CounterSample;

use crate::shared_source::{SampledObject, SharedSource};
use counter::check_instance;
use follow::TrackedCategory;
use instances::{InstanceMatch, find};
use perfhive_engine::{
    Ask, CatalogueObject, Directory, InstanceLabel, NoValue, ObjectSample, QueryError, SourceError,
    TitleSet,
};
use perfhive_format::TitleIndex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A performance object: the counters of one kind of thing (.NET: `PerformanceCounterCategory`).
///
/// The functions without `_in` are for categories of this machine, the source of which is opened
/// once in a program; those that end in `_in` are for categories of any source.
///
/// ```ignore-windows,ignore-macos
/// use perfhive::Category;
/// for category in Category::all()? {
///     println!("{}: {} counters", category.name(), category.counter_names().len());
/// }
/// let process = Category::new("Process")?;
/// assert!(process.instance_names()?.contains(&"_Total".to_string()));
/// assert!(process.has_counter("% user time"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Category {
    source: SharedSource,
    tracked: TrackedCategory,
    /// The titles in every language, with the generation of the catalogue that they belong to;
    /// `None` while none are kept.
    all_titles: Option<(u64, Arc<TitleSet>)>,
}

/// Categories of this machine.
impl Category {
    /// The categories of this machine (.NET: `GetCategories`).
    ///
    /// ```ignore-windows,ignore-macos
    /// let names: Vec<String> = perfhive::Category::all()?.iter().map(|c| c.name()).collect();
    /// assert!(names.contains(&"Process".to_string()));
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A source that cannot list its objects.
    pub fn all() -> Result<Vec<Self>, QueryError> {
        Self::all_in(&SharedSource::local()?)
    }

    /// The category with this name, in any language and without regard to case, or with this title
    /// index as text.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::Category;
    /// assert_eq!(Category::new("PROZESSOR")?.name(), "Processor");
    /// assert_eq!(Category::new("238")?.name(), "Processor");
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::UnknownObject`] with the nearest names; a source that cannot list its objects.
    pub fn new(category: &str) -> Result<Self, QueryError> {
        Self::new_in(&SharedSource::local()?, category)
    }

    /// Whether this machine has a category with this name in any language, or with this title index
    /// as text (.NET: `Exists`).
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::Category;
    /// assert!(Category::exists("memory")?);
    /// assert!(!Category::exists("No Such Thing")?);
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A source that cannot list its objects.
    pub fn exists(category: &str) -> Result<bool, QueryError> {
        Self::exists_in(&SharedSource::local()?, category)
    }

    /// Whether a category of this machine has an instance of this name now (.NET: `InstanceExists`,
    /// with the same order of arguments).
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::Category;
    /// assert!(Category::instance_exists("_Total", "Process")?);
    /// assert!(!Category::instance_exists("no such program", "Process")?);
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A category that does not exist; a source that fails.
    pub fn instance_exists(instance: &str, category: &str) -> Result<bool, QueryError> {
        Self::instance_exists_in(&SharedSource::local()?, instance, category)
    }

    /// Whether a category of this machine has a counter with this name in any language, or with this
    /// title index as text (.NET: `CounterExists`, with the same order of arguments).
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::Category;
    /// assert!(Category::counter_exists("Working Set", "Process")?);
    /// assert!(!Category::counter_exists("Working Set", "Processor")?);
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A category that does not exist; a source that cannot list its objects.
    pub fn counter_exists(counter: &str, category: &str) -> Result<bool, QueryError> {
        Self::counter_exists_in(&SharedSource::local()?, counter, category)
    }
}

/// Categories of any source.
impl Category {
    /// The categories of a source.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Category, SharedSource};
    /// let source = SharedSource::local()?;
    /// assert_eq!(Category::all_in(&source)?.len(), Category::all()?.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn all_in(source: &SharedSource) -> Result<Vec<Self>, QueryError> {
        let directory = source.list()?;
        let objects = directory.catalogue.objects.iter();
        let category = |object: &CatalogueObject| Self::of(source, &directory, object);
        Ok(objects.map(category).collect())
    }

    /// The category of a source with this name; see [`new`](Self::new).
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Category, SharedSource};
    /// let source = SharedSource::of_machine("localhost")?;
    /// assert!(Category::new_in(&source, "Thread")?.has_instances());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_in(source: &SharedSource, category: &str) -> Result<Self, QueryError> {
        let look = |directory: &Directory| {
            directory.catalogue.object_named(&directory.titles, category).cloned()
        };
        let (directory, object) = source.find(category, look)?;
        Ok(Self::of(source, &directory, &object))
    }

    fn of(source: &SharedSource, directory: &Directory, object: &CatalogueObject) -> Self {
        let asked = directory.titles.name_or_index(object.name);
        let tracked = TrackedCategory::new(directory, object, &asked, None);
        Self { source: source.clone(), tracked, all_titles: None }
    }

    /// Whether a source has a category with this name in any language, or with this title index as
    /// text.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Category, SharedSource};
    /// assert!(Category::exists_in(&SharedSource::local()?, "Thread")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`exists`](Self::exists).
    pub fn exists_in(source: &SharedSource, category: &str) -> Result<bool, QueryError> {
        match Self::new_in(source, category) {
            Ok(_) => Ok(true),
            Err(QueryError::UnknownObject { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a category of a source has an instance of this name now.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Category, SharedSource};
    /// assert!(Category::instance_exists_in(&SharedSource::local()?, "_total", "Process")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`instance_exists`](Self::instance_exists).
    pub fn instance_exists_in(
        source: &SharedSource,
        instance: &str,
        category: &str,
    ) -> Result<bool, QueryError> {
        Self::new_in(source, category)?.has_instance(instance)
    }

    /// Whether a category of a source has a counter with this name in any language, or with this
    /// title index as text.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Category, SharedSource};
    /// assert!(Category::counter_exists_in(&SharedSource::local()?, "Threads", "System")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`counter_exists`](Self::counter_exists).
    pub fn counter_exists_in(
        source: &SharedSource,
        counter: &str,
        category: &str,
    ) -> Result<bool, QueryError> {
        Ok(Self::new_in(source, category)?.has_counter(counter))
    }
}

/// The members of one category.
impl Category {
    /// The category's name in the shown language, or its title index where the source has no name.
    #[must_use]
    pub fn name(&self) -> String {
        self.tracked.directory.titles.name_or_index(self.tracked.object.name)
    }

    /// The title index of the category's name.
    #[must_use]
    pub fn index(&self) -> TitleIndex {
        self.tracked.object.name
    }

    /// The category's help text in the shown language; `None` where the source has no help text.
    ///
    /// ```ignore-windows,ignore-macos
    /// let memory = perfhive::Category::new("Memory")?;
    /// println!("{} ({}): {}", memory.name(), memory.index(), memory.help().unwrap_or("?"));
    /// assert!(!memory.has_instances());
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.tracked.directory.titles.help(self.tracked.object.help)
    }

    /// Whether the category can have instances (.NET: `CategoryType`).
    #[must_use]
    pub fn has_instances(&self) -> bool {
        self.tracked.object.has_instances
    }

    /// The names of the present instances in the order of the data, as [`InstanceLabel`] prints
    /// them: `name` or `parent/name`. Where several instances have the same name, all but the first
    /// have `#n` behind the name. Every name in the list finds its own instance. The list is empty
    /// for a category without instances.
    ///
    /// ```ignore-windows,ignore-macos
    /// let threads = perfhive::Category::new("Thread")?.instance_names()?;
    /// assert!(threads.iter().any(|thread| thread.contains('/')));
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A source that fails, or has no data of the category.
    pub fn instance_names(&self) -> Result<Vec<String>, QueryError> {
        Ok(self.instances()?.iter().map(ToString::to_string).collect())
    }

    /// The present instances in the order of the data, each as the parts of its name; empty for a
    /// category without instances. Instances of one parent share the parent's name in memory.
    ///
    /// ```ignore-windows,ignore-macos
    /// let threads = perfhive::Category::new("Thread")?.instances()?;
    /// assert!(threads.iter().any(|thread| thread.parent.is_some()));
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A source that fails, or has no data of the category.
    pub fn instances(&self) -> Result<Vec<InstanceLabel>, QueryError> {
        if !self.tracked.object.has_instances {
            return Ok(Vec::new());
        }
        // A copy of this reader takes the sample, so that this reader can still have the same one.
        self.clone().next_labels()
    }

    fn next_labels(&mut self) -> Result<Vec<InstanceLabel>, QueryError> {
        let (sample, _) =
            self.tracked.sample(&mut self.source, |_, object| Ask::objects(&[object]))?;
        Ok(self.present(sample)?.labels().to_vec())
    }

    /// Whether the category has an instance of this name now; `true` also if several instances
    /// match. For a category without instances only the empty name exists. If kept data lacks the
    /// name, data is collected anew before the answer is `false`.
    ///
    /// # Errors
    /// A source that fails, or has no data of the category.
    pub fn has_instance(&self, instance: &str) -> Result<bool, QueryError> {
        if !self.tracked.object.has_instances {
            return Ok(instance.is_empty());
        }
        let mut reader = self.clone();
        let found = find(&reader.next_labels()?, instance) != InstanceMatch::Nothing;
        if found || !reader.source.lacks().young {
            return Ok(found);
        }
        reader.source.replace_max_age(Duration::ZERO);
        Ok(find(&reader.next_labels()?, instance) != InstanceMatch::Nothing)
    }

    /// Whether the category has a counter with this name in any language, or with this title index
    /// as text. If the source fails, the catalogue that was read last decides. `false` while the
    /// category's title index belongs to another category.
    ///
    /// ```ignore-windows,ignore-macos
    /// let process = perfhive::Category::new("Process")?;
    /// assert!(process.has_counter("working set") && process.has_counter("180"));
    /// assert!(process.has_instance("_Total")? && !process.has_instance("no such program")?);
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    #[must_use]
    pub fn has_counter(&self, counter: &str) -> bool {
        let mut now = self.clone();
        // If the source does not answer, the names that were known last decide.
        let _ = now.tracked.follow(&mut now.source);
        let TrackedCategory { object, directory, .. } = &now.tracked;
        let index = object.name.to_string();
        let look = |directory: &Directory| {
            let object = directory.catalogue.object_named(&directory.titles, &index)?;
            object.counter_named(&directory.titles, counter).map(|_| ())
        };
        now.tracked.is_there()
            && (object.counter_named(&directory.titles, counter).is_ok()
                || now.source.find(&index, look).is_ok())
    }

    /// The names of the counters in the shown language, in the order of the counters. Bases are
    /// left out. For a counter without a name, its title index is in the list.
    ///
    /// ```ignore-windows,ignore-macos
    /// let names = perfhive::Category::new("System")?.counter_names();
    /// assert!(names.contains(&"Processes".to_string()));
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    #[must_use]
    pub fn counter_names(&self) -> Vec<String> {
        let counters = self.tracked.object.counters.iter();
        counters.map(|counter| self.tracked.directory.titles.name_or_index(counter.name)).collect()
    }

    /// A reader of each counter of an instance (.NET: `GetCounters`). The instance's name is empty
    /// for a category without instances. An instance that is missing now is not an error: it may
    /// come later.
    ///
    /// ```ignore-windows,ignore-macos
    /// for mut counter in perfhive::Category::new("Memory")?.counters("")? {
    ///     match counter.next_value() {
    ///         Ok(value) => println!("{}: {value}", counter.counter_name()),
    ///         Err(why) => println!("{}: {why}", counter.counter_name()),
    ///     }
    /// }
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// An empty name for a category with instances, or a name for a category without.
    pub fn counters(&self, instance: &str) -> Result<Vec<PerformanceCounter>, QueryError> {
        check_instance(&self.tracked.directory, &self.tracked.object, instance)?;
        let counters = self.tracked.object.counters.iter();
        let make = |counter| {
            PerformanceCounter::of(
                &self.source,
                &self.tracked.directory,
                &self.tracked.object,
                counter,
                instance,
            )
        };
        Ok(counters.map(make).collect())
    }

    /// All data of the category in one sample (.NET: `ReadCategory`), including counters that
    /// are filled only on request. Each call takes another sample.
    ///
    /// ```ignore-windows,ignore-macos
    /// let data = perfhive::Category::new("System")?.read()?;
    /// for counter in &data.by_counter() {
    ///     let value = counter.get("").and_then(|data| data.value().ok());
    ///     println!("{}: {value:?}", counter.name());
    /// }
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A source that fails, or has no data of the category; the end of a
    /// recording.
    pub fn read(&mut self) -> Result<CategoryData, QueryError> {
        let everything =
            |_: &_, object: TitleIndex| Ask::objects(&[object]).with_all_counters_of(object);
        let (sample, _) = self.tracked.sample(&mut self.source, everything)?;
        let sample = self.present(sample)?;
        let all_titles = self.all_titles();
        let TrackedCategory { directory, object, .. } = &self.tracked;
        Ok(CategoryData::new(directory.clone(), all_titles, object.name, sample))
    }

    /// The titles in every language. If the source cannot list them now, or lists them for another
    /// catalogue than the one in use, only the titles that are already known.
    fn all_titles(&mut self) -> Arc<TitleSet> {
        let Directory { generation, titles, .. } = &self.tracked.directory;
        if let Some((_, all)) = self.all_titles.as_ref().filter(|(of, _)| of == generation) {
            return Arc::clone(all);
        }
        match self.source.all_titles() {
            Ok((of, all)) if of == *generation => {
                self.all_titles = Some((of, Arc::clone(&all)));
                all
            }
            _ => Arc::clone(titles),
        }
    }

    /// The object of a sample; an error if the sample has no data of the category.
    fn present(&self, sample: SampledObject) -> Result<ObjectSample, QueryError> {
        sample.map_err(|why| {
            let message = format!("{}: {}", self.name(), NoValue::ObjectMissing(why));
            let source = self.source.name();
            let kind = perfhive_engine::SourceErrorKind::NotFound;
            QueryError::Source(SourceError::new(kind, &source, message))
        })
    }
}

impl fmt::Debug for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Category")
            .field("name", &self.name())
            .field("index", &self.tracked.object.name)
            .field("source", &self.source)
            .finish()
    }
}
