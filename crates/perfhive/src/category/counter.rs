//! One counter of one instance, read again and again.

use super::follow::TrackedCategory;
use super::instances::{InstanceMatch, find, may_mean, wishes};
use super::sample::CounterSample;
use crate::shared_source::SharedSource;
use perfhive_engine::{
    Ask, CatalogueCounter, CatalogueObject, Directory, Fault, Identity, InstanceWish, NoValue,
    QueryError, SampledCounter,
};
use perfhive_format::{CookedValue, CounterType};
use std::fmt;
use std::time::Duration;

/// One counter of one instance (.NET: `PerformanceCounter`, for reading).
///
/// The counter selects its instance by name at each sample, and remembers the identity of that
/// instance. If another process has taken the name since the last sample, a counter that takes two
/// samples has no value this time: no value is calculated from samples of two processes. The next
/// sample has a value again.
///
/// A source that can read single instances (`Process` and others on Linux) may leave out the other
/// instances. With [`SharedSource::max_age`] all instances are read, since other counters take the
/// kept data too.
///
/// ```ignore-windows,ignore-macos
/// use perfhive::{NoValue, PerformanceCounter};
/// let mut busy = PerformanceCounter::new("Processor", "% Processor Time", "_Total")?;
/// // A share of time takes two samples. The first has no value, rather than 0.
/// assert!(matches!(busy.next_value(), Err(NoValue::NeedsTwoSamples)));
/// std::thread::sleep(std::time::Duration::from_millis(50));
/// println!("{:.1} %", busy.next_value()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PerformanceCounter {
    source: SharedSource,
    tracked: TrackedCategory,
    /// The catalogue's entry of the counter, as of the last time its name was found.
    counter: CatalogueCounter,
    instance: String,
    /// What selects the instance in a source that reads single instances; empty if all instances
    /// are to be read.
    wishes: Vec<InstanceWish>,
    /// The older of the two samples of the next `next_value`; `None` before the first call, after
    /// [`reset`](Self::reset), and after a call that got no sample. A call in which the source or
    /// the instance failed leaves the sample as it is.
    last: Option<SampledCounter>,
    /// `true` until a sample has shown for the first time that the instance is there or is missing.
    is_new: bool,
}

impl PerformanceCounter {
    /// A counter of this machine: category, counter, instance. Category and counter are names in any
    /// language, without regard to case, or title indexes as text. The instance is empty for a
    /// category without instances.
    ///
    /// Nothing is sampled yet. A missing instance is not an error: it may come later.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::PerformanceCounter;
    /// PerformanceCounter::new("Memory", "Available Bytes", "")?;
    /// PerformanceCounter::new("arbeitsspeicher", "available bytes", "")?; // German and English
    /// PerformanceCounter::new("4", "24", "")?;
    /// let error = PerformanceCounter::new("Memory", "Available Byte", "").unwrap_err();
    /// assert!(error.to_string().contains(r#"did you mean "Available Bytes""#));
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// A category or counter that does not exist, with the nearest names; an instance's name for a
    /// category without instances, or no name for a category with instances; a source that cannot
    /// list its objects.
    pub fn new(category: &str, counter: &str, instance: &str) -> Result<Self, QueryError> {
        Self::new_in(&SharedSource::local()?, category, counter, instance)
    }

    /// A counter of another source, or of this machine with other settings.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{PerformanceCounter, SharedSource};
    /// let machine = SharedSource::of_machine(".")?;
    /// let mut processes = PerformanceCounter::new_in(&machine, "System", "Processes", "")?;
    /// assert!(processes.raw_value()? > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_in(
        source: &SharedSource,
        category: &str,
        counter: &str,
        instance: &str,
    ) -> Result<Self, QueryError> {
        let look = |directory: &Directory| resolve(directory, category, counter, instance);
        let (directory, (object, found)) = source.find(category, look)?;
        Ok(Self::asked(source, &directory, (&object, category), (&found, counter), instance))
    }

    /// A reader of a counter that was found in a directory, with its object.
    pub(super) fn of(
        source: &SharedSource,
        directory: &Directory,
        object: &CatalogueObject,
        counter: &CatalogueCounter,
        instance: &str,
    ) -> Self {
        let name = |index| directory.titles.name_or_index(index);
        let asked = (name(object.name), name(counter.name));
        Self::asked(source, directory, (object, &asked.0), (counter, &asked.1), instance)
    }

    /// A reader of a counter that was found in a directory. `category` and `name` are the names
    /// that the caller gave for the category and for the counter.
    fn asked(
        source: &SharedSource,
        directory: &Directory,
        (object, category): (&CatalogueObject, &str),
        (counter, name): (&CatalogueCounter, &str),
        instance: &str,
    ) -> Self {
        Self {
            source: source.clone(),
            tracked: TrackedCategory::new(directory, object, category, Some((counter, name))),
            counter: *counter,
            instance: instance.to_string(),
            wishes: wishes(object.name, instance),
            last: None,
            is_new: true,
        }
    }

    /// The category's name in the shown language, or its title index.
    ///
    /// ```ignore-windows,ignore-macos
    /// let free = perfhive::PerformanceCounter::new("4", "24", "")?;
    /// assert_eq!(free.category_name(), "Memory");
    /// assert_eq!(free.counter_name(), "Available Bytes");
    /// assert_eq!(free.instance_name(), "");
    /// assert!(free.counter_help().is_some());
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    #[must_use]
    pub fn category_name(&self) -> String {
        self.tracked.directory.titles.name_or_index(self.tracked.object.name)
    }

    /// The counter's name in the shown language, or its title index.
    #[must_use]
    pub fn counter_name(&self) -> String {
        self.tracked.directory.titles.name_or_index(self.counter.name)
    }

    /// The instance's name as the caller gave it; empty for a category without
    /// instances.
    #[must_use]
    pub fn instance_name(&self) -> &str {
        &self.instance
    }

    /// The counter's help text in the shown language; `None` where the source
    /// has no help text for it.
    #[must_use]
    pub fn counter_help(&self) -> Option<&str> {
        self.tracked.directory.titles.help(self.counter.help)
    }

    /// The counter type, which decides how values are calculated. Its [unit](CounterType::unit) does not
    /// tell bytes from other counts; [`unit_of`](crate::unit_of) recognises them by the counter's name.
    ///
    /// ```ignore-windows,ignore-macos
    /// let busy = perfhive::PerformanceCounter::new("Process", "% User Time", "init")?;
    /// assert_eq!(busy.counter_type().dotnet_name(), Some("Timer100Ns"));
    /// assert_eq!(busy.counter_type().unit(), "%");
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    #[must_use]
    pub fn counter_type(&self) -> CounterType {
        self.counter.counter_type
    }

    /// The identity of the instance at the last [`next_value`](Self::next_value); `None` if there
    /// was no such call since the beginning or since [`reset`](Self::reset), or if that call got no
    /// sample of the counter. A call in which the source or the instance failed does not count.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Identity, PerformanceCounter};
    /// let mut threads = PerformanceCounter::new("System", "Threads", "")?;
    /// assert!(threads.identity().is_none());
    /// threads.next_value()?;
    /// assert_eq!(threads.identity(), Some(&Identity::Single));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.last.as_ref().map(SampledCounter::identity)
    }

    /// The faults of the last collection: what could not be read, and warnings. A counter without a
    /// value often has its reason there.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        self.source.faults()
    }

    /// The raw value of a sample that is taken now. Its unit depends on the counter type.
    ///
    /// ```ignore-windows,ignore-macos
    /// let mut up = perfhive::PerformanceCounter::new("System", "System Up Time", "")?;
    /// assert!(up.raw_value()? > 0); // when the machine started, in clock ticks
    /// assert!(up.next_value()? > 0.0); // seconds
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`next_sample`](Self::next_sample).
    pub fn raw_value(&mut self) -> Result<u64, NoValue> {
        Ok(self.next_sample()?.raw_value())
    }

    /// A sample that is taken now: raw value, base, clocks. The sample that
    /// [`next_value`](Self::next_value) calculates against stays the same. Counter types without a
    /// formula have samples too.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{CounterSample, PerformanceCounter};
    /// let mut switches = PerformanceCounter::new("System", "Context Switches/sec", "")?;
    /// let old = switches.next_sample()?;
    /// std::thread::sleep(std::time::Duration::from_millis(50));
    /// let new = switches.next_sample()?;
    /// assert!(new.time_stamp() > old.time_stamp());
    /// assert!(CounterSample::calculate_between(old, new)? >= 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The reason why there is no sample: the source failed; the category, the counter or the
    /// instance is missing; several instances match the name; or the counter is not a number
    /// ([`next_text`](Self::next_text)).
    pub fn next_sample(&mut self) -> Result<CounterSample, NoValue> {
        let sampled = self.take()?;
        Ok(CounterSample::of(sampled.counter_type(), *sampled.raw()?))
    }

    /// The text of a text counter, from a sample that is taken now.
    ///
    /// ```ignore-windows,ignore-macos
    /// let mut threads = perfhive::PerformanceCounter::new("System", "Threads", "")?;
    /// assert!(threads.next_text().is_err()); // a number
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// As [`next_sample`](Self::next_sample); [`NoValue::CounterMissing`] for a counter that is not
    /// text.
    pub fn next_text(&mut self) -> Result<String, NoValue> {
        let sampled = self.take()?;
        sampled.text().map(str::to_string).ok_or(NoValue::CounterMissing)
    }

    /// The counter's value, from a sample that is taken now, in the unit of the counter type. If
    /// the type takes two samples, the value is calculated from the sample of the last call and the
    /// new one. Whole numbers above 2^53 are rounded.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{NoValue, PerformanceCounter};
    /// let mut time = PerformanceCounter::new("Process", "% User Time", "no such program")?;
    /// match time.next_value() {
    ///     Ok(percent) => println!("{percent} %"),
    ///     Err(NoValue::Vanished | NoValue::NoSuchInstance) => println!("not there"),
    ///     Err(why) => println!("no value this time: {why}"),
    /// }
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// The reason why there is no value. A type of two samples has [`NoValue::NeedsTwoSamples`] at
    /// the first call, and [`NoValue::Born`] when another instance has taken the name. When the
    /// instance is gone, the error is [`NoValue::Vanished`] once, and then
    /// [`NoValue::NoSuchInstance`] until there is an instance of that name again.
    pub fn next_value(&mut self) -> Result<f64, NoValue> {
        let sampled = match self.take() {
            Ok(sampled) => sampled,
            Err(why) => {
                let had = self.last.is_some();
                // A new instance may have the same name later. A failure of the source or of the
                // instance does not show that the instance is gone.
                let stays = matches!(
                    why,
                    NoValue::SourceFailed(_) | NoValue::Busy(_) | NoValue::InstanceFailed(_)
                );
                if !stays {
                    self.last = None;
                }
                let gone = had && matches!(why, NoValue::NoSuchInstance);
                return Err(if gone { NoValue::Vanished } else { why });
            }
        };
        let value = sampled.value(self.last.as_ref());
        if matches!(value, Err(NoValue::Data(_)))
            && let Some(busy @ NoValue::Busy(_)) = self.failed(&|name| name.is_none())
        {
            return Err(busy);
        }
        self.last = Some(sampled);
        value.map(CookedValue::as_f64)
    }

    /// Forgets the last sample: the next value of a type that takes two samples is
    /// [`NoValue::NeedsTwoSamples`].
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{NoValue, PerformanceCounter};
    /// let mut busy = PerformanceCounter::new("Processor", "% User Time", "_Total")?;
    /// assert!(matches!(busy.next_value(), Err(NoValue::NeedsTwoSamples)));
    /// busy.reset();
    /// assert!(matches!(busy.next_value(), Err(NoValue::NeedsTwoSamples)));
    /// # Ok::<(), perfhive::QueryError>(())
    /// ```
    pub fn reset(&mut self) {
        self.last = None;
    }

    /// Takes a sample, and returns the counter of the instance in it. If the sample lacks the
    /// instance, but may lack it although the instance exists ([`Lacks`](crate::shared_source::Lacks)),
    /// a second sample with all instances is collected anew. Once an instance was found or missed,
    /// kept data without the instance is believed.
    fn take(&mut self) -> Result<SampledCounter, NoValue> {
        // Kept data is for other readers too, and has all instances.
        let mut found = self.find_in_sample(!self.source.may_give_kept());
        let lacks = self.source.lacks();
        let is_missing = matches!(found, Err(NoValue::NoSuchInstance));
        if is_missing && (lacks.others || lacks.young && self.is_new) {
            let limit = self.source.replace_max_age(Duration::ZERO);
            found = self.find_in_sample(false);
            self.source.replace_max_age(limit);
        }
        self.is_new &= !matches!(found, Ok(_) | Err(NoValue::NoSuchInstance));
        found
    }

    /// Takes a sample, and returns the counter of the instance in it. If `alone` is true, the source may leave out
    /// other instances.
    fn find_in_sample(&mut self, alone: bool) -> Result<SampledCounter, NoValue> {
        let wished: &[InstanceWish] = if alone { &self.wishes } else { &[] };
        let want = |tracked: &TrackedCategory, object| {
            let mut ask = Ask::objects(&[object]);
            if let Some(counter) = tracked.counter {
                if counter.on_request {
                    ask = ask.with_counter(object, counter.name);
                }
                if !wished.is_empty() {
                    ask = ask.with_enough(object, counter.name);
                }
            }
            ask.instances.extend(wished.iter().map(|wish| (object, wish.clone())));
            ask
        };
        let sampled = self.tracked.sample(&mut self.source, want);
        self.counter = self.tracked.counter.unwrap_or(self.counter);
        let (sample, moved) = sampled.map_err(NoValue::SourceFailed)?;
        if moved {
            // The last sample may be of another object or counter.
            self.last = None;
            self.wishes = wishes(self.tracked.object_index.last_index(), &self.instance);
        }
        let sample = sample.map_err(NoValue::ObjectMissing)?;
        let counter = self.tracked.counter_index().ok_or(NoValue::CounterMissing)?;
        let place = match sample.has_instances() {
            false if self.instance.is_empty() => 0,
            // The category had no instances when the counter was made.
            false => return Err(NoValue::NoSuchInstance),
            true => match find(sample.labels(), &self.instance) {
                InstanceMatch::One(place) => place,
                InstanceMatch::Several => return Err(NoValue::AmbiguousInstance),
                InstanceMatch::Nothing => {
                    let failed = self
                        .failed(&|name| name.is_some_and(|name| may_mean(&self.instance, name)));
                    return Err(failed.unwrap_or(NoValue::NoSuchInstance));
                }
            },
        };
        sample.counter(place, counter).ok_or(NoValue::CounterMissing)
    }

    /// The reason in the faults of the last collection why the instance has no value; `None` if no fault tells it.
    /// `is_it` gets the instance that a fault names; see [`NoValue::of_fault`].
    fn failed(&self, is_it: &dyn Fn(Option<&str>) -> bool) -> Option<NoValue> {
        let object = self.tracked.object_index.last_index();
        NoValue::of_fault(self.source.faults(), object, is_it)
    }
}

/// A clone is another reader of the same counter, without a sample so far.
impl Clone for PerformanceCounter {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            tracked: self.tracked.clone(),
            counter: self.counter,
            instance: self.instance.clone(),
            wishes: self.wishes.clone(),
            last: None,
            is_new: true,
        }
    }
}

fn resolve(
    directory: &Directory,
    category: &str,
    counter: &str,
    instance: &str,
) -> Result<(CatalogueObject, CatalogueCounter), QueryError> {
    let object = directory.catalogue.object_named(&directory.titles, category)?;
    check_instance(directory, object, instance)?;
    let counter = object.counter_named(&directory.titles, counter)?;
    Ok((object.clone(), *counter))
}

/// Checks that an instance's name is given if the category has instances, and that none is given if it has no
/// instances; an error otherwise.
pub(super) fn check_instance(
    directory: &Directory,
    object: &CatalogueObject,
    instance: &str,
) -> Result<(), QueryError> {
    let own_name = || directory.titles.name_or_index(object.name);
    match (object.has_instances, instance.is_empty()) {
        (true, true) => Err(QueryError::NeedsInstance { object: own_name() }),
        (false, false) => Err(QueryError::HasNoInstances { object: own_name() }),
        _ => Ok(()),
    }
}

impl fmt::Debug for PerformanceCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerformanceCounter")
            .field("category", &self.category_name())
            .field("counter", &self.counter_name())
            .field("instance", &self.instance)
            .field("source", &self.source)
            .field("last", &self.last)
            .finish()
    }
}
