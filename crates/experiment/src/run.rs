//! Experiments: bindings at work, and the delivery of their records.

mod binding;
mod delivering;
mod gaps;

use crate::clock;
use crate::deliver::Delivery;
use crate::event::{EventSource, locked};
use crate::filter::{BadFilter, EventFilter};
use crate::record::{CAPACITY, Half, RecordColumn, RecordStore};
use crate::section::Sections;
use crate::summary::ExperimentSummary;
use binding::Bound;
pub(crate) use binding::columns_of;
use perfhive_engine::measure::{MeasureError, MeasurementContext};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A running experiment.
///
/// ```
/// use perfhive_engine::measure::{MeasurementContext, MeasurementOptions};
/// use perfhive_experiment::{Experiment, Interval};
/// # use perfhive_engine::measure::{CounterSource, DataSources};
/// # use std::time::Duration;
/// # let mut sources = DataSources::new();
/// # let recording = perfhive_testkit::script::recording();
/// # sources.add(CounterSource::new("log.box", perfhive_engine::Cached::new(recording)))?;
/// # let names = [];
///
/// let context = MeasurementContext::new(&mut sources, &names)?;
/// let experiment = Experiment::builder().start()?;
/// experiment.bind(Interval::new("interval 1ms", Duration::from_millis(1)), context)?;
/// // ... what is to be measured ...
/// # std::thread::sleep(Duration::from_millis(20));
/// let end = experiment.end();
/// for event in &end.summary.events {
///     println!("{}: {} times, p99 {:?} s", event.name, event.count, event.time.quantile(0.99));
/// }
/// # assert!(end.summary.events[0].count > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Experiment {
    handle: ExperimentHandle,
    delivery: Option<JoinHandle<DeliveryOutcome>>,
}

/// Controls an experiment, from any thread.
#[derive(Clone)]
pub struct ExperimentHandle(Arc<Shared>);

/// The result of the thread that delivers.
#[derive(Default)]
struct DeliveryOutcome {
    summary: ExperimentSummary,
    /// For each delivery that failed, except those that were added later, the reason and the number
    /// of records since then. These include the records of the batch that failed, of which some may
    /// have arrived.
    failures: Vec<(String, u64)>,
    deliveries: Vec<Box<dyn Delivery>>,
    /// The deliveries that were added later. Their errors do not fail the experiment.
    guests: Vec<Box<dyn Delivery>>,
}

/// The parts of an experiment before it starts.
pub struct ExperimentBuilder {
    /// The time at which the builder was made, on the clock of events. Times in deliveries count
    /// from this time.
    begin: u64,
    deliveries: Vec<Box<dyn Delivery>>,
    capacity: usize,
}

/// The counts of a binding's events, and its state.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BindingCounts {
    /// The name of the event source.
    pub source: Arc<str>,
    /// The number of events that were measured and that the filter let through, including those
    /// that were then lost.
    pub events: u64,
    /// The number of events that the filter left out.
    pub filtered: u64,
    /// The number of events that were measured and then lost, since memory had no room for their
    /// records. They are in no figure and in no delivery.
    pub lost: u64,
    /// The number of records for which a delivery, such as a socket with a slow receiver, had no room. Other
    /// deliveries and the figures have these records. Losses of deliveries that were added later do not count.
    pub undelivered: u64,
    /// The number of events that the event source knows it missed.
    pub missed: u64,
    /// The time between two lists in which the event source looks for its events
    /// ([`EventSource::listed_every`]): what begins and ends between two lists is in no count. `None`
    /// for a source that is told of each event.
    pub listed_every: Option<Duration>,
    /// The number of events that came while the binding was stopped or had reached its limit.
    pub skipped: u64,
    /// The sum of the times from when the source returned an event until its record was complete.
    pub busy: Duration,
    /// Whether the binding records events: `false` if it is stopped, has reached its limit or has
    /// failed, or if its event source has ended.
    pub running: bool,
    /// Whether the event source has ended or failed, so that the binding cannot be started again.
    pub ended: bool,
    /// The number of events after which the binding records no more; `None` for no limit.
    pub limit: Option<u64>,
    /// The sensors that are read at each event.
    pub columns: Vec<RecordColumn>,
    /// The error or panic with which the binding ended before the experiment; `None` if there was none.
    pub failure: Option<String>,
}

/// The result of an experiment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExperimentEnd {
    /// The figures of the events, by name.
    pub summary: ExperimentSummary,
    /// The time from when the builder was made until the last records were delivered.
    pub elapsed: Duration,
    /// The counts of each binding.
    pub bindings: Vec<BindingCounts>,
    /// A text for each delivery that could not go on, except those that were added later: the error,
    /// and the number of records of which all or some are missing there. If the delivery failed at the
    /// end, the error alone.
    pub failures: Vec<String>,
}

/// The state that bindings and delivery share.
struct Shared {
    bound: Mutex<Vec<Delivered>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Deliveries that were added and wait for the thread that delivers.
    guests: Mutex<Vec<Box<dyn Delivery>>>,
    /// The time at which the experiment began, on the clock of events.
    begin: u64,
    capacity: usize,
    wanted: Mutex<Wanted>,
    woken: Condvar,
}

/// A binding, with the half of its memory that is with the delivery.
struct Delivered {
    bound: Arc<Bound>,
    empty: Half,
    sections: Sections,
}

/// What the delivery is asked to do.
#[derive(Default)]
struct Wanted {
    /// Whether a binding's memory is half full, so that records are delivered now.
    now: bool,
    /// Whether the experiment takes no more bindings.
    closed: bool,
    /// Whether the experiment is over.
    end: bool,
}

impl Default for ExperimentBuilder {
    fn default() -> Self {
        Self { begin: clock::now(), deliveries: Vec::new(), capacity: CAPACITY }
    }
}

impl ExperimentBuilder {
    /// Adds a delivery, which gets the experiment's records. The [`ExperimentSummary`] is made even
    /// without a delivery.
    #[must_use]
    pub fn deliver(mut self, delivery: impl Delivery + 'static) -> Self {
        self.deliveries.push(Box::new(delivery));
        self
    }

    /// Sets how many records of each binding may wait for delivery, at least 2. When the binding is
    /// made, memory for twice as many is allocated, since as many again may be under delivery.
    #[must_use]
    pub fn capacity(mut self, records: usize) -> Self {
        self.capacity = records;
        self
    }

    /// Starts the experiment, without any binding yet.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(self) -> std::io::Result<Experiment> {
        let shared = Arc::new(Shared {
            bound: Mutex::default(),
            threads: Mutex::default(),
            guests: Mutex::default(),
            begin: self.begin,
            capacity: self.capacity,
            wanted: Mutex::default(),
            woken: Condvar::new(),
        });
        let (theirs, deliveries) = (Arc::clone(&shared), self.deliveries);
        let work = move || delivering::deliver_all(&theirs, deliveries);
        let delivery = std::thread::Builder::new().name("perfhive-deliver".into()).spawn(work)?;
        Ok(Experiment { handle: ExperimentHandle(shared), delivery: Some(delivery) })
    }
}

impl Experiment {
    /// A builder for an experiment. The experiment's times count from here on.
    #[must_use]
    pub fn builder() -> ExperimentBuilder {
        ExperimentBuilder::default()
    }

    /// A handle with which any thread can control the experiment.
    #[must_use]
    pub fn handle(&self) -> ExperimentHandle {
        self.handle.clone()
    }

    /// Binds an event source to a context: at each event the sensors of the context are read. Each
    /// sensor must be of one instance, or of an object without instances.
    ///
    /// # Errors
    /// A context that is already measuring, or that has a sensor of all instances; where no thread
    /// can be started, or the experiment has ended.
    pub fn bind(
        &self,
        source: impl EventSource + 'static,
        context: MeasurementContext,
    ) -> Result<(), MeasureError> {
        self.handle.bind(source, context)
    }

    /// Binds an event source as [`bind`](Self::bind) does, and records only the events that a
    /// filter lets through.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); a filter that [`EventFilter::check`] refuses.
    pub fn bind_where(
        &self,
        source: impl EventSource + 'static,
        context: MeasurementContext,
        filter: EventFilter,
    ) -> Result<(), MeasureError> {
        self.handle.bind_where(source, context, filter)
    }

    /// The counts of all bindings at this moment.
    #[must_use]
    pub fn bindings(&self) -> Vec<BindingCounts> {
        self.handle.bindings()
    }

    /// Ends the experiment: closes the event sources, waits for the events that they still have and
    /// for the last delivery, and returns the result.
    #[must_use]
    pub fn end(mut self) -> ExperimentEnd {
        let DeliveryOutcome { summary, failures, mut deliveries, mut guests } = self.finish();
        // On the clock of the records, none of which is later.
        let elapsed = Duration::from_nanos(clock::now().saturating_sub(self.handle.0.begin));
        let bindings = self.bindings();
        let failures = failures.into_iter().map(|(why, missing)| {
            format!("{why}; the last {missing} records are missing there, or some of them")
        });
        let failures = failures.collect();
        let mut end = ExperimentEnd { summary, elapsed, bindings, failures };
        for delivery in &mut deliveries {
            if let Err(error) = delivering::caught(|| delivery.end(&end)) {
                end.failures.push(error.to_string());
            }
        }
        guests.iter_mut().for_each(|guest| drop(delivering::caught(|| guest.end(&end))));
        end
    }

    fn finish(&mut self) -> DeliveryOutcome {
        let shared = &self.handle.0;
        // From now on no event source is bound.
        let bound: Vec<_> = {
            let list = locked(&shared.bound);
            locked(&shared.wanted).closed = true;
            list.iter().map(|one| Arc::clone(&one.bound)).collect()
        };
        // The list is not locked: a closer may use the handle.
        bound.iter().for_each(|bound| locked(&bound.closer)());
        let threads = std::mem::take(&mut *locked(&shared.threads));
        for thread in threads {
            // A panic is the failure of its binding.
            let _ = thread.join();
        }
        locked(&shared.wanted).end = true;
        shared.woken.notify_all();
        self.delivery.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Experiment {
    fn drop(&mut self) {
        if self.delivery.is_some() {
            self.finish();
        }
    }
}

impl ExperimentHandle {
    /// Binds an event source to a context, as [`Experiment::bind`] does.
    ///
    /// # Errors
    /// As [`Experiment::bind`].
    pub fn bind(
        &self,
        source: impl EventSource + 'static,
        context: MeasurementContext,
    ) -> Result<(), MeasureError> {
        self.bind_where(source, context, EventFilter::default())
    }

    /// Binds an event source to a context with a filter, as [`Experiment::bind_where`] does.
    ///
    /// # Errors
    /// As [`Experiment::bind_where`].
    pub fn bind_where(
        &self,
        source: impl EventSource + 'static,
        context: MeasurementContext,
        filter: EventFilter,
    ) -> Result<(), MeasureError> {
        self.bind_boxed(Box::new(source), context, filter)
    }

    /// [`bind_where`](Self::bind_where), compiled once for all types of event sources.
    fn bind_boxed(
        &self,
        source: Box<dyn EventSource>,
        context: MeasurementContext,
        filter: EventFilter,
    ) -> Result<(), MeasureError> {
        let columns = columns_of(&context)?;
        let filter = filter.bound(&columns);
        let filter = Some(filter.map_err(|why| MeasureError::Refused(why.to_string().into()))?);
        let (store, empty) = RecordStore::new(self.0.capacity, columns.len());
        let bound = Arc::new(Bound::new(&*source, columns, store, filter));
        let (theirs, shared) = (Arc::clone(&bound), Arc::clone(&self.0));
        let work = move || {
            let worked = catch_unwind(AssertUnwindSafe(|| theirs.work(source, context, &shared)));
            let worked = worked.unwrap_or_else(|panic| Err(panicked(&*panic)));
            if let Err(error) = worked {
                *locked(&theirs.failure) = Some(error);
            }
            // Set after the failure, so that a reader that sees the end sees the failure, too.
            theirs.ended.store(true, Ordering::Release);
        };
        let mut list = locked(&self.0.bound);
        if locked(&self.0.wanted).closed {
            return Err(MeasureError::Other("the experiment has ended".into()));
        }
        let thread = std::thread::Builder::new().name("perfhive-event".into()).spawn(work);
        let thread = thread.map_err(|error| MeasureError::Other(error.to_string().into()))?;
        locked(&self.0.threads).push(thread);
        list.push(Delivered { bound, empty, sections: Sections::default() });
        Ok(())
    }

    /// Replaces the event source of a binding by another one, which has the same events and more:
    /// for example the ends that belong to the starts of the replaced source, so that both make
    /// sections. Sensors, filter, counts and the source's name stay. The binding is the first one with
    /// this name whose event source has not ended.
    ///
    /// # Errors
    /// Where there is no such binding, or its event source or the experiment has ended.
    pub fn replace(
        &self,
        source: &str,
        with: impl EventSource + 'static,
    ) -> Result<(), MeasureError> {
        let (halves, closer) = (with.halves(), with.closer());
        let failed = |what: &str| Err(MeasureError::Other(format!("{source}: {what}").into()));
        let close = {
            let list = locked(&self.0.bound);
            let mut named = list.iter().filter(|one| *one.bound.source == *source).peekable();
            if named.peek().is_none() {
                return failed("there is no such event source");
            }
            let is_closed = locked(&self.0.wanted).closed;
            let running = named.filter(|_| !is_closed).find_map(|one| {
                let next = locked(&one.bound.next);
                // Looked at under the lock, under which the binding decides that it ends.
                (!one.bound.ended.load(Ordering::Acquire)).then_some((one, next))
            });
            let Some((one, mut next)) = running else { return failed("it has ended") };
            locked(&one.bound.halves).change(halves);
            *next = Some(Box::new(with));
            std::mem::replace(&mut *locked(&one.bound.closer), closer)
        };
        // Nothing is locked: a closer may use the handle.
        close();
        Ok(())
    }

    /// The counts of all bindings at this moment, as [`Experiment::bindings`] returns them.
    #[must_use]
    pub fn bindings(&self) -> Vec<BindingCounts> {
        locked(&self.0.bound).iter().map(|one| one.bound.counts()).collect()
    }

    /// Adds a delivery, which gets the records that are not delivered yet and all later ones. An
    /// error of this delivery does not fail the experiment.
    ///
    /// # Errors
    /// Where the experiment has ended.
    pub fn deliver(&self, delivery: impl Delivery + 'static) -> Result<(), MeasureError> {
        let wanted = locked(&self.0.wanted);
        if wanted.closed {
            return Err(MeasureError::Other("the experiment has ended".into()));
        }
        // Under the lock, so that the last delivery, which comes after the end, has it.
        locked(&self.0.guests).push(Box::new(delivery));
        Ok(())
    }

    /// Starts (`true`) or stops recording in the bindings of this event source, or in all bindings
    /// if `source` is `None`. Returns the number of these bindings, which includes bindings with an
    /// event source that has ended: these are not started again. Events of a stopped binding are
    /// counted as skipped.
    pub fn set_running(&self, source: Option<&str>, running: bool) -> usize {
        self.each(source, |bound| bound.stopped.store(!running, Ordering::Relaxed))
    }

    /// Sets the number of events, counted since a binding was made, after which the binding
    /// records no more; `None` for no limit. Events that a filter leaves out do not count. The bindings are those of
    /// this event source, or all bindings if `source` is `None`. Returns the number of these bindings.
    pub fn set_limit(&self, source: Option<&str>, events: Option<u64>) -> usize {
        let events = events.unwrap_or(u64::MAX);
        self.each(source, |bound| bound.limit.store(events, Ordering::Relaxed))
    }

    /// Sets the filter of the bindings of this event source. If `source` is `None`, these are all
    /// bindings except those with an [interval](EventSource::interval). The filter `None` records
    /// every event. Returns the number of these bindings.
    ///
    /// # Errors
    /// A filter with a sensor that one of the bindings does not have; then no binding is changed.
    pub fn set_filter(
        &self,
        source: Option<&str>,
        filter: Option<&EventFilter>,
    ) -> Result<usize, BadFilter> {
        let list = locked(&self.0.bound);
        let of_source = list.iter().filter(|one| match source {
            Some(source) => source == &*one.bound.source,
            None => one.bound.interval.is_none(),
        });
        let mut new = Vec::new();
        for one in of_source {
            let filter =
                filter.map(|filter| filter.clone().bound(&one.bound.columns)).transpose()?;
            new.push((&one.bound, filter));
        }
        let count = new.len();
        for (bound, filter) in new {
            bound.set_filter(filter);
            bound.filters.fetch_add(1, Ordering::Relaxed);
        }
        Ok(count)
    }

    fn each(&self, source: Option<&str>, mut change: impl FnMut(&Bound)) -> usize {
        let list = locked(&self.0.bound);
        let of_source = list.iter().filter(|one| source.is_none_or(|it| it == &*one.bound.source));
        of_source.inspect(|one| change(&one.bound)).count()
    }
}

/// What is said of an event source, a sensor or a delivery that panicked, with the panic's message.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    match text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)) {
        Some(text) => format!("panicked: {text}"),
        None => "panicked".to_string(),
    }
}
