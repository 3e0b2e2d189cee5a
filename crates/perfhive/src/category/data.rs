//! The data of a category in one sample.

use super::instances::{InstanceMatch, find};
use super::sample::CounterSample;
use perfhive_engine::{
    Directory, Identity, InstanceLabel, NoValue, ObjectSample, SampledCounter, TitleSet, same_name,
};
use perfhive_format::{CalendarTime, CookedValue, CounterType, TitleIndex};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// All counters of all instances of a category, from one sample: the result of
/// [`Category::read`](crate::Category::read).
///
/// It is read by instance, by counter, or both at once. Several instances of one name are
/// distinguished by `#n`. A category without instances has one instance with an empty name.
///
/// ```ignore-windows,ignore-macos
/// use perfhive::Category;
/// let data = Category::new("Process")?.read()?;
/// for process in &data.by_instance() {
///     let set = process.get("Working Set").and_then(|data| data.value().ok());
///     println!("{}: {set:?}", process.name());
/// }
/// // As .NET has it: the counter first.
/// let by_counter = data.by_counter();
/// let sets = by_counter.get("working set").unwrap();
/// assert_eq!(sets.len(), data.by_instance().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CategoryData {
    directory: Directory,
    /// The titles in every language, with which counters are found by name.
    all_titles: Arc<TitleSet>,
    object: TitleIndex,
    sample: ObjectSample,
    counters: Vec<(TitleIndex, CounterType)>,
}

impl CategoryData {
    pub(super) fn new(
        directory: Directory,
        all_titles: Arc<TitleSet>,
        object: TitleIndex,
        sample: ObjectSample,
    ) -> Self {
        // Of several counters with one title index, the first is meant.
        let mut seen = HashSet::new();
        let counters = sample.counters().filter(|plan| seen.insert(plan.name));
        let counters = counters.map(|plan| (plan.name, plan.counter_type)).collect();
        Self { directory, all_titles, object, sample, counters }
    }

    /// The category's name in the shown language, or its title index.
    #[must_use]
    pub fn category_name(&self) -> String {
        self.directory.titles.name_or_index(self.object)
    }

    /// The calendar time at which the sample was taken, in UTC.
    #[must_use]
    pub fn time(&self) -> CalendarTime {
        self.sample.system_time()
    }

    /// The data by instance, with the counters of each.
    #[must_use]
    pub fn by_instance(&self) -> DataByInstance<'_> {
        DataByInstance { data: self }
    }

    /// The data by counter, with the instances of each: .NET's
    /// `InstanceDataCollectionCollection`.
    #[must_use]
    pub fn by_counter(&self) -> DataByCounter<'_> {
        DataByCounter { data: self }
    }

    /// The data of one counter of one instance, both found as [`DataByCounter::get`] and
    /// [`DataByInstance::get`] find them. `None` if either is not found.
    ///
    /// ```ignore-windows,ignore-macos
    /// let data = perfhive::Category::new("Memory")?.read()?;
    /// let free = data.get("Available Bytes", "").unwrap();
    /// assert!(free.value()? > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, counter: &str, instance: &str) -> Option<InstanceData<'_>> {
        self.by_instance().get(instance)?.get(counter)
    }

    fn place_of_instance(&self, name: &str) -> Option<usize> {
        if !self.sample.has_instances() {
            return name.is_empty().then_some(0);
        }
        match find(self.sample.labels(), name) {
            InstanceMatch::One(place) => Some(place),
            InstanceMatch::Nothing | InstanceMatch::Several => None,
        }
    }

    fn place_of_counter(&self, name: &str) -> Option<usize> {
        self.counters.iter().position(|(index, _)| {
            self.all_titles.names(*index).any(|known| same_name(known, name))
                || index.to_string() == name
        })
    }

    fn counter_name(&self, place: usize) -> String {
        let counter = self.counters.get(place).map(|(index, _)| *index);
        counter.map(|index| self.directory.titles.name_or_index(index)).unwrap_or_default()
    }

    fn counter_type(&self, place: usize) -> CounterType {
        let counter = self.counters.get(place);
        counter.map_or(CounterType::PERF_COUNTER_NODATA, |(_, kind)| *kind)
    }

    fn instance_name(&self, place: usize) -> String {
        self.sample.labels().get(place).map(ToString::to_string).unwrap_or_default()
    }
}

impl fmt::Debug for CategoryData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CategoryData")
            .field("category", &self.category_name())
            .field("time", &self.time())
            .field("instances", &self.by_instance().len())
            .finish_non_exhaustive()
    }
}

/// One counter of one instance in a [`CategoryData`] (.NET: `InstanceData`).
///
/// ```ignore-windows,ignore-macos
/// use perfhive::{Category, Identity};
/// let data = Category::new("Process")?.read()?;
/// let me = u64::from(std::process::id());
/// let mine = |data: &perfhive::InstanceData<'_>| {
///     matches!(data.identity(), Some(Identity::Process { id, .. }) if *id == me)
/// };
/// let sets = data.by_counter().get("Working Set").unwrap();
/// let own = sets.iter().find(mine).unwrap();
/// println!("{}: {} = {}", own.instance_name(), own.counter_name(), own.value()?);
/// assert_eq!(own.raw_value()?, own.sample()?.raw_value());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct InstanceData<'a> {
    data: &'a CategoryData,
    instance: usize,
    counter: usize,
}

impl<'a> InstanceData<'a> {
    /// The instance's name with its parent and `#n`, as
    /// [`InstanceLabel`] prints it; empty for a category without instances.
    #[must_use]
    pub fn instance_name(&self) -> String {
        self.data.instance_name(self.instance)
    }

    /// The counter's name in the shown language, or its title index.
    #[must_use]
    pub fn counter_name(&self) -> String {
        self.data.counter_name(self.counter)
    }

    /// The counter type, which decides how the value is calculated.
    #[must_use]
    pub fn counter_type(&self) -> CounterType {
        self.data.counter_type(self.counter)
    }

    /// The identity of the instance; [`Identity::Single`] for a category without instances.
    #[must_use]
    pub fn identity(&self) -> Option<&'a Identity> {
        self.data.sample.identities().identity(self.instance)
    }

    /// The counter's raw value; its unit depends on the counter type.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn raw_value(&self) -> Result<u64, NoValue> {
        Ok(self.sample()?.raw_value())
    }

    /// The raw sample of the counter: raw value, base, clocks.
    ///
    /// # Errors
    /// The reason why there is no sample: this instance has no data of the counter, or the counter
    /// is not a number.
    pub fn sample(&self) -> Result<CounterSample, NoValue> {
        let sampled = self.sampled()?;
        Ok(CounterSample::of(sampled.counter_type(), *sampled.raw()?))
    }

    /// The text of a text counter; `None` for any other counter, and if the instance has no data of
    /// the counter.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.sampled().ok()?.text().map(str::to_string)
    }

    /// The value that this sample alone gives, in the unit of the counter type.
    ///
    /// # Errors
    /// The reason why there is no value. A type of two samples has a value only
    /// [since](Self::value_since) an older sample.
    pub fn value(&self) -> Result<f64, NoValue> {
        self.sampled()?.value(None).map(CookedValue::as_f64)
    }

    /// The value calculated from an older sample of the category and this one, or, for a type of
    /// one sample, from this one alone. The instance is found in the older sample by its identity.
    ///
    /// ```ignore-windows,ignore-macos
    /// let mut category = perfhive::Category::new("Process")?;
    /// let older = category.read()?;
    /// std::thread::sleep(std::time::Duration::from_millis(50));
    /// let newer = category.read()?;
    /// let mut busiest = None;
    /// for process in &newer.by_instance() {
    ///     let Some(time) = process.get("% Processor Time") else { continue };
    ///     // A process that is new has no value yet.
    ///     let Ok(percent) = time.value_since(&older) else { continue };
    ///     if busiest.as_ref().is_none_or(|(_, most)| percent > *most) {
    ///         busiest = Some((process.name(), percent));
    ///     }
    /// }
    /// assert!(busiest.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The reason why there is no value: [`NoValue::Born`] for an instance that the older sample
    /// lacks, if the counter's type takes two samples; [`NoValue::DifferentTypes`] for a sample of
    /// another category or machine, or one in which the title index belongs to another category or
    /// counter.
    pub fn value_since(&self, older: &CategoryData) -> Result<f64, NoValue> {
        let newer = self.sampled()?;
        let machine = |data: &CategoryData| data.directory.catalogue.machine.clone();
        // The index may have belonged to another category when the older data was read.
        let is_other = |index: TitleIndex| {
            let names = |data: &CategoryData| data.directory.titles.clone();
            let (old, new) = (names(older), names(self.data));
            let is_new = |name| new.names(index).all(|other| other != name);
            old.name(index).is_some() && new.name(index).is_some() && old.names(index).all(is_new)
        };
        let is_same = older.object == self.data.object && machine(older) == machine(self.data);
        if !is_same || is_other(self.data.object) {
            return Err(NoValue::DifferentTypes);
        }
        let place = older.sample.identities().place(newer.identity()).ok_or(NoValue::Born);
        let counter = self.data.counters.get(self.counter).map(|(index, _)| *index);
        if counter.is_some_and(is_other) {
            return Err(NoValue::DifferentTypes);
        }
        let sampled = |place| counter.and_then(|index| older.sample.counter(place, index));
        let older: Option<SampledCounter> = match newer.samples() {
            2 => sampled(newer.raw().and(place)?),
            _ => None,
        };
        newer.value(older.as_ref()).map(CookedValue::as_f64)
    }

    fn sampled(&self) -> Result<SampledCounter, NoValue> {
        let counter = self.data.counters.get(self.counter);
        let sampled =
            counter.and_then(|(index, _)| self.data.sample.counter(self.instance, *index));
        sampled.ok_or(NoValue::CounterMissing)
    }
}

impl fmt::Debug for InstanceData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceData")
            .field("instance", &self.instance_name())
            .field("counter", &self.counter_name())
            .field("sample", &self.sample())
            .finish()
    }
}

/// Defines a type that shows part of [`CategoryData`] as an ordered list, with its iterators.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident { $($field:ident),* } of $item:ident, $count:expr, $make:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'a> {
            data: &'a CategoryData,
            $($field: usize,)*
        }

        impl<'a> $name<'a> {
            /// The number of entries.
            #[must_use]
            pub fn len(&self) -> usize {
                $count(self.data)
            }

            /// Whether the list is empty.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The entries, in the order of the sample.
            pub fn iter(&self) -> impl Iterator<Item = $item<'a>> + use<'a> {
                let view = *self;
                (0..self.len()).map(move |place| view.at(place))
            }

            fn at(self, place: usize) -> $item<'a> {
                $make(self, place)
            }
        }

        impl<'a> IntoIterator for &$name<'a> {
            type Item = $item<'a>;
            type IntoIter = Box<dyn Iterator<Item = $item<'a>> + 'a>;

            fn into_iter(self) -> Self::IntoIter {
                Box::new(self.iter())
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }
    };
}

fn instance_count(data: &CategoryData) -> usize {
    // The one instance of a category without instances has an empty name.
    if data.sample.has_instances() { data.sample.labels().len() } else { 1 }
}

fn counter_count(data: &CategoryData) -> usize {
    data.counters.len()
}

list! {
    /// The instances of a category in one sample, with the counters of each.
    ///
    /// ```ignore-windows,ignore-macos
    /// let data = perfhive::Category::new("Processor")?.read()?;
    /// let processors = data.by_instance();
    /// assert!(processors.len() >= 2 && processors.get("_TOTAL").is_some());
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    DataByInstance {} of InstanceRow, instance_count,
    |view: Self, instance| InstanceRow { data: view.data, instance }
}

list! {
    /// One instance of a category in one sample, with its counters.
    ///
    /// ```ignore-windows,ignore-macos
    /// let data = perfhive::Category::new("Processor")?.read()?;
    /// let total = data.by_instance().get("_Total").unwrap();
    /// assert_eq!(total.name(), "_Total");
    /// for counter in &total {
    ///     println!("{}: {:?}", counter.counter_name(), counter.raw_value());
    /// }
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    InstanceRow { instance } of InstanceData, counter_count,
    |view: Self, counter| InstanceData { data: view.data, instance: view.instance, counter }
}

list! {
    /// The counters of a category in one sample, with the instances of each
    /// (.NET: `InstanceDataCollectionCollection`).
    ///
    /// ```ignore-windows,ignore-macos
    /// let data = perfhive::Category::new("Processor")?.read()?;
    /// let names: Vec<String> = data.by_counter().iter().map(|counter| counter.name()).collect();
    /// assert!(names.contains(&"% User Time".to_string()));
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    DataByCounter {} of CounterColumn, counter_count,
    |view: Self, counter| CounterColumn { data: view.data, counter }
}

list! {
    /// One counter of a category in one sample, with its instances (.NET:
    /// `InstanceDataCollection`).
    ///
    /// ```ignore-windows,ignore-macos
    /// let data = perfhive::Category::new("Processor")?.read()?;
    /// let user = data.by_counter().get("% user time").unwrap();
    /// assert_eq!(user.name(), "% User Time");
    /// assert!(user.get("_Total").is_some() && user.get("no such processor").is_none());
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    CounterColumn { counter } of InstanceData, instance_count,
    |view: Self, instance| InstanceData { data: view.data, instance, counter: view.counter }
}

impl<'a> DataByInstance<'a> {
    /// The instance with this name, without regard to case. The name is in the form in which
    /// [`InstanceLabel`] prints it, with or without carets and `#0`, or without the parent if only
    /// one instance has that name. It is empty for a category without instances. `None` if no
    /// instance matches, or if several match and none exactly.
    #[must_use]
    pub fn get(&self, instance: &str) -> Option<InstanceRow<'a>> {
        self.data.place_of_instance(instance).map(|place| self.at(place))
    }
}

impl<'a> InstanceRow<'a> {
    /// The instance's name with its parent and `#n`, as [`InstanceLabel`]
    /// prints it; empty for a category without instances.
    #[must_use]
    pub fn name(&self) -> String {
        self.data.instance_name(self.instance)
    }

    /// The parts of the instance's name; `None` for a category without instances.
    #[must_use]
    pub fn label(&self) -> Option<&'a InstanceLabel> {
        self.data.sample.labels().get(self.instance)
    }

    /// The identity of the instance; [`Identity::Single`] for a category without instances.
    #[must_use]
    pub fn identity(&self) -> Option<&'a Identity> {
        self.data.sample.identities().identity(self.instance)
    }

    /// The counter with this name, in any language and without regard to case, or with this title
    /// index as text. `None` if the category has no such counter.
    #[must_use]
    pub fn get(&self, counter: &str) -> Option<InstanceData<'a>> {
        self.data.place_of_counter(counter).map(|place| self.at(place))
    }
}

impl<'a> DataByCounter<'a> {
    /// The counter with this name, in any language and without regard to case, or with this title
    /// index as text. `None` if the category has no such counter.
    #[must_use]
    pub fn get(&self, counter: &str) -> Option<CounterColumn<'a>> {
        self.data.place_of_counter(counter).map(|place| self.at(place))
    }
}

impl<'a> CounterColumn<'a> {
    /// The counter's name in the shown language, or its title index.
    #[must_use]
    pub fn name(&self) -> String {
        self.data.counter_name(self.counter)
    }

    /// The counter type, which decides how values are calculated.
    #[must_use]
    pub fn counter_type(&self) -> CounterType {
        self.data.counter_type(self.counter)
    }

    /// The counter's data of one instance, which is found by name as [`DataByInstance::get`] finds
    /// it.
    #[must_use]
    pub fn get(&self, instance: &str) -> Option<InstanceData<'a>> {
        self.data.place_of_instance(instance).map(|place| self.at(place))
    }
}
