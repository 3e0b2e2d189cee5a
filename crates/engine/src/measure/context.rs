//! The context of a measurement: sensors of several data sources, sampled
//! together.

use super::error::MeasureError;
use super::source::{DataSources, ProbeContext, SelectedSensor, SensorInstances, SensorSelection};
use super::state::{Operation, State, StateMonitor};
use super::{Anomaly, SensorName, SensorReading, SensorSlot, TimeSource};
use crate::query::NoValue;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// A list of readings that the caller keeps and [`MeasurementContext::decode`] fills.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    list: Vec<SensorReading>,
}

impl Readings {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The readings, in the order of the requested sensors.
    pub fn iter(&self) -> impl Iterator<Item = &SensorReading> {
        self.list.iter()
    }

    /// The number of readings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no readings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// The settings of a measurement context: its clocks, the time limit for each data source, and the
/// greatest age of data.
#[derive(Default)]
pub struct MeasurementOptions {
    times: Vec<Box<dyn TimeSource>>,
    patience: Option<Duration>,
    max_age: Duration,
}

impl MeasurementOptions {
    /// Options without clocks and without a time limit, with data collected anew for each sample.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a clock that is read before and after each sample.
    #[must_use]
    pub fn time(mut self, source: impl TimeSource + 'static) -> Self {
        self.times.push(Box::new(source));
        self
    }

    /// Sets how long each data source may take for a sample; by default there is no limit. The
    /// sensors of a data source that takes longer may have no values in this sample. The limit has
    /// an effect only on data sources that keep to deadlines.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Sets how old the data of a sample may be if other readers of the program share the data
    /// source. With zero, the default, data is collected for each sample, so that the values are
    /// those of the measured section. Data that is older than the sample is an anomaly
    /// ([`Anomaly::Aged`]).
    #[must_use]
    pub fn max_age(mut self, limit: Duration) -> Self {
        self.max_age = limit;
        self
    }
}

/// The readings of one clock before and after a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeReading {
    /// The clock's name.
    pub name: Arc<str>,
    /// The clock's time before the sample, in ns since the beginning of the clock; `None` if there
    /// is no such reading.
    pub before: Option<i64>,
    /// The clock's time after the sample, in ns since the beginning of the clock; `None` if there
    /// is no such reading.
    pub after: Option<i64>,
}

/// The record of the newest sample: clocks, duration, age of the data, anomalies.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SampleRecord {
    /// The readings of the clocks around the sample.
    pub times: Vec<TimeReading>,
    /// The time that the sample stage took for the data of all data sources, without the readings
    /// of the clocks.
    pub duration: Duration,
    /// How long before the sample the collection of its oldest data began; zero if all data was
    /// collected for this sample.
    pub age: Duration,
    /// The anomalies of the sample. The first sample also has the faults of the baseline
    /// ([`Anomaly::Partial`]). After decoding, the list also says how many instances came or went,
    /// and which groups changed their structure.
    pub anomalies: Vec<Anomaly>,
}

/// The largest number of anomalies that the sample stage reports for one data source, apart from
/// the failure of the source.
const ANOMALIES: usize = 64;

/// The largest number of items that the sample stage adds to a record for one data source: its
/// anomalies, and its own failure.
const PLACES: usize = ANOMALIES + 1;

/// One data source of a measurement context, with its probe context.
struct SourceProbe {
    name: Arc<str>,
    probe: Box<dyn ProbeContext>,
    /// For each sensor that the probe context measures, its index among all requested sensors. An
    /// empty list means that the probe context measures exactly the requested sensors.
    asked: Vec<usize>,
    failed: Option<MeasureError>,
    /// The anomalies that this data source has reported, until they are moved to the record. Each
    /// data source has its own list, so that many anomalies of one do not push out the anomalies of
    /// another.
    anomalies: Vec<Anomaly>,
}

/// Measures sensors of several data sources together, in three stages: prepare, sample, decode. See
/// the [module](super).
pub struct MeasurementContext {
    state: Arc<AtomicU8>,
    parts: Vec<SourceProbe>,
    times: Vec<Box<dyn TimeSource>>,
    patience: Option<Duration>,
    record: SampleRecord,
    values: Readings,
    /// For each requested sensor, whether it was selected with all its instances. An empty list
    /// means that each one was.
    of_all: Vec<bool>,
}

impl MeasurementContext {
    /// A context for sensors by name. It takes a first sample, the baseline, so that the first
    /// cycle has rates.
    ///
    /// # Errors
    /// A name that means no data source, sensor or instance, or a name without an instance for a
    /// sensor with instances and the reverse; the failure of a data source.
    pub fn new(sources: &mut DataSources, names: &[SensorName]) -> Result<Self, MeasureError> {
        Self::with_options(sources, names, MeasurementOptions::new())
    }

    /// A context for sensors by name, with options. It takes a first sample, the baseline, so that
    /// the first cycle has rates.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(
        sources: &mut DataSources,
        names: &[SensorName],
        options: MeasurementOptions,
    ) -> Result<Self, MeasureError> {
        let mut selections: Vec<(String, Vec<usize>, Vec<SelectedSensor>)> = Vec::new();
        let mut of_all = Vec::with_capacity(names.len());
        for (number, name) in names.iter().enumerate() {
            let wanted = sources.find(name)?;
            of_all.push(wanted.instances == SensorInstances::All);
            let source = sources.get(name.source())?.name();
            let place = selections.iter().position(|(known, ..)| known == source);
            let place = place.unwrap_or_else(|| {
                selections.push((source.to_string(), Vec::new(), Vec::new()));
                selections.len() - 1
            });
            if let Some((_, asked, list)) = selections.get_mut(place) {
                asked.push(number);
                list.push(wanted);
            }
        }
        let mut parts = Vec::new();
        for (source, asked, list) in selections {
            let probe =
                sources.get(&source)?.probe(&SensorSelection::Custom(list), options.max_age)?;
            parts.push(SourceProbe::new(&source, probe, asked));
        }
        Ok(Self { of_all, ..Self::of_parts(parts, options) })
    }

    /// A context for a selection of one data source: its global sensors, its costly ones, or
    /// sensors by number.
    ///
    /// # Errors
    /// A data source, sensor or instance that does not exist; the failure of the data source.
    pub fn of_selection(
        sources: &mut DataSources,
        source: &str,
        selection: &SensorSelection,
        options: MeasurementOptions,
    ) -> Result<Self, MeasureError> {
        let probe = sources.get(source)?.probe(selection, options.max_age)?;
        let of_all = match selection {
            SensorSelection::Custom(list) => {
                list.iter().map(|sensor| sensor.instances == SensorInstances::All).collect()
            }
            _ => Vec::new(),
        };
        let part = SourceProbe::new(source, probe, Vec::new());
        Ok(Self { of_all, ..Self::of_parts(vec![part], options) })
    }

    fn of_parts(parts: Vec<SourceProbe>, options: MeasurementOptions) -> Self {
        let MeasurementOptions { times, patience, max_age: _ } = options;
        let readings = times.iter().map(|time| TimeReading {
            name: time.name().into(),
            before: None,
            after: None,
        });
        let record = SampleRecord {
            times: readings.collect(),
            duration: Duration::ZERO,
            age: Duration::ZERO,
            anomalies: Vec::with_capacity(PLACES * parts.len()),
        };
        let mut context = Self {
            state: Arc::new(AtomicU8::new(State::Initialized as u8)),
            parts,
            times,
            patience,
            record,
            values: Readings::new(),
            of_all: Vec::new(),
        };
        let Self { parts, record, values, .. } = &mut context;
        gather(parts, &mut values.list, &mut record.anomalies, |part, out| {
            part.probe.baseline(out)
        });
        context
    }

    /// Whether a requested sensor was selected with all its instances, of which more may appear
    /// later; also `true` for a selected sensor without instances. `asked` is the sensor's index
    /// among the requested ones, as in [`SensorReading::asked`].
    #[must_use]
    pub fn is_of_all_instances(&self, asked: usize) -> bool {
        self.of_all.get(asked).copied().unwrap_or(self.of_all.is_empty())
    }

    /// The number of requested sensors, some of which may have no readings; `None` for a context of a
    /// whole data source or group.
    #[must_use]
    pub fn requested(&self) -> Option<usize> {
        Some(self.of_all.len()).filter(|count| *count > 0)
    }

    /// The state of the context: which operation is possible next.
    #[must_use]
    pub fn state(&self) -> State {
        State::of(self.state.load(Ordering::Acquire))
    }

    /// A handle that shows the state to another thread.
    #[must_use]
    pub fn monitor(&self) -> StateMonitor {
        StateMonitor(Arc::clone(&self.state))
    }

    /// Makes everything ready for a sample, and drops the anomalies of the sample before from the
    /// [record](Self::record). The sensors of a data source that fails here have no values in the
    /// sample.
    ///
    /// # Errors
    /// [`MeasureError::State`] in any state but [`State::Initialized`], [`State::Prepared`] and
    /// [`State::Sampled`]; the first failure if every data source fails, which leads back to
    /// [`State::Initialized`].
    pub fn prepare(&mut self) -> Result<(), MeasureError> {
        let possible = [State::Initialized, State::Prepared, State::Sampled];
        let stage =
            ActiveStage::enter(&self.state, Operation::Prepare, &possible, State::Preparing)?;
        self.record.anomalies.clear();
        self.record.anomalies.reserve(PLACES * self.parts.len());
        let mut good = self.parts.is_empty();
        for part in &mut self.parts {
            part.anomalies.clear();
            part.anomalies.reserve(ANOMALIES);
            part.failed = part.probe.prepare().err();
            good |= part.failed.is_none();
        }
        if !good {
            return Err(first_failure(&self.parts));
        }
        stage.leads_to(State::Prepared);
        Ok(())
    }

    /// Takes the data of all sensors. If a data source is late or fails, its own sensors may have
    /// no values, and the sample has an anomaly.
    ///
    /// # Errors
    /// [`MeasureError::State`] in any state but [`State::Prepared`]; the first failure if every data
    /// source fails, which leads back to [`State::Initialized`].
    pub fn sample(&mut self) -> Result<&SampleRecord, MeasureError> {
        let stage = ActiveStage::enter(
            &self.state,
            Operation::Sample,
            &[State::Prepared],
            State::Sampling,
        )?;
        // These are reset first, so that nothing of the sample before is left even if a probe
        // panics.
        (self.record.duration, self.record.age) = (Duration::ZERO, Duration::ZERO);
        for (reading, time) in self.record.times.iter_mut().zip(&mut self.times) {
            reading.after = None;
            reading.before = time.now();
        }
        let begun = Instant::now();
        let mut good = self.parts.is_empty();
        for part in self.parts.iter_mut().filter(|part| part.failed.is_none()) {
            // Each source has its own deadline, so that a source that hangs does not take the time
            // of the others.
            let patience = self.patience;
            let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
            part.failed = part.probe.sample(deadline, &mut part.anomalies).err();
            good |= part.failed.is_none();
        }
        self.record.duration = begun.elapsed();
        let times = self.record.times.iter_mut().zip(&mut self.times);
        // The clocks are read in the opposite order, so that the readings of the first clock
        // enclose all others.
        for (reading, time) in times.rev() {
            reading.after = time.now();
        }
        for part in &mut self.parts {
            part.report(&mut self.record.anomalies);
        }
        let ages = self.record.anomalies.iter().filter_map(|anomaly| match anomaly {
            Anomaly::Aged { age, .. } => Some(*age),
            _ => None,
        });
        self.record.age = ages.max().unwrap_or_default();
        if !good {
            return Err(first_failure(&self.parts));
        }
        stage.leads_to(State::Sampled);
        Ok(&self.record)
    }

    /// Makes values of the sample and puts them into the caller's list, in place of what it held.
    ///
    /// # Errors
    /// [`MeasureError::State`] in any state but [`State::Sampled`].
    pub fn decode(&mut self, readings: &mut Readings) -> Result<&SampleRecord, MeasureError> {
        let values = self.decode_in_place()?;
        readings.list.clone_from(&values.list);
        Ok(&self.record)
    }

    /// Makes values of the sample and returns them, without a copy for the caller. Until the next
    /// [`prepare`](Self::prepare), [`values`](Self::values) returns them, too.
    ///
    /// # Errors
    /// [`MeasureError::State`] in any state but [`State::Sampled`].
    pub fn decode_in_place(&mut self) -> Result<&Readings, MeasureError> {
        let stage =
            ActiveStage::enter(&self.state, Operation::Decode, &[State::Sampled], State::Decoding)?;
        gather(&mut self.parts, &mut self.values.list, &mut self.record.anomalies, |part, out| {
            part.probe.decode(part.failed.as_ref(), &mut part.anomalies, out);
        });
        stage.leads_to(State::Initialized);
        Ok(&self.values)
    }

    /// Measures a section of code: takes a sample, calls `work`, takes a second sample, and puts
    /// the readings of the second sample into the caller's list. Returns the result of `work`.
    /// [`SensorReading::difference`] of a reading is what the section added to a count. The
    /// [record](Self::record) has the greater age of both samples, and the anomalies of both: data
    /// that was old at the first sample counts work before the section.
    ///
    /// ```
    /// # use perfhive_engine::measure::{CounterSource, DataSources, MeasurementContext, Readings};
    /// # let mut sources = DataSources::new();
    /// # let recording = perfhive_testkit::script::recording();
    /// # sources.add(CounterSource::new("log.box", perfhive_engine::Cached::new(recording)))?;
    /// # let names = [];
    /// let mut context = MeasurementContext::new(&mut sources, &names)?;
    /// let mut readings = Readings::new();
    /// let sum = context.section(&mut readings, || (1..=1000).sum::<u64>())?;
    /// assert_eq!(sum, 500_500);
    /// for reading in readings.iter() {
    ///     println!("{}: {:?} more", reading.slot.name, reading.difference());
    /// }
    /// # Ok::<(), perfhive_engine::measure::MeasureError>(())
    /// ```
    ///
    /// # Errors
    /// [`MeasureError::State`] in a state in which [`prepare`](Self::prepare) is not possible; the
    /// failure of any data source in the first sample, in which case `work` is not called; the
    /// first failure if every data source fails for the second sample, before or after `work`.
    pub fn section<T>(
        &mut self,
        readings: &mut Readings,
        work: impl FnOnce() -> T,
    ) -> Result<T, MeasureError> {
        self.prepare()?;
        self.sample()?;
        // If the first sample lacks a source's data, an older sample would be taken for the
        // beginning of the section.
        let failed = self.parts.iter().find_map(|part| part.failed.clone());
        self.decode(readings)?;
        if let Some(error) = failed {
            return Err(error);
        }
        let has_begun = |one: &SensorReading| one.raw.map(|_| Arc::as_ptr(&one.slot));
        let begun: HashSet<*const SensorSlot> = readings.iter().filter_map(has_begun).collect();
        let age = self.record.age;
        let mut anomalies = std::mem::take(&mut self.record.anomalies);
        self.prepare()?;
        let done = work();
        self.sample()?;
        self.decode(readings)?;
        // These would count from a sample before the section.
        let counts_more = |one: &&mut SensorReading| {
            one.before.is_some() && !begun.contains(&Arc::as_ptr(&one.slot))
        };
        let lists = readings.list.iter_mut().chain(&mut self.values.list);
        for one in lists.filter(counts_more) {
            (one.before, one.value) = (None, Err(NoValue::NeedsTwoSamples));
        }
        self.record.age = self.record.age.max(age);
        anomalies.append(&mut self.record.anomalies);
        self.record.anomalies = anomalies;
        Ok(done)
    }

    /// The readings that were decoded last or, if none were, those of the baseline. The slots of
    /// the readings show which values the context measures.
    ///
    /// # Errors
    /// [`MeasureError::State`] in any state but [`State::Initialized`].
    pub fn values(&self) -> Result<&Readings, MeasureError> {
        match self.state() {
            State::Initialized => Ok(&self.values),
            state => Err(MeasureError::State { operation: Operation::Read, state }),
        }
    }

    /// The record of the newest sample: clocks, duration, anomalies. Before the first sample, the
    /// record has the names of the clocks and nothing else.
    ///
    /// # Errors
    /// [`MeasureError::State`] in any state but [`State::Initialized`] and [`State::Sampled`].
    pub fn record(&self) -> Result<&SampleRecord, MeasureError> {
        match self.state() {
            State::Initialized | State::Sampled => Ok(&self.record),
            state => Err(MeasureError::State { operation: Operation::Read, state }),
        }
    }
}

/// An operation in progress. When this is dropped, the context gets the state that was given to
/// [`leads_to`](Self::leads_to) or, after a failure or panic, Initialized.
struct ActiveStage<'a> {
    state: &'a AtomicU8,
    next: State,
}

impl<'a> ActiveStage<'a> {
    /// Sets the state to `working` for as long as the returned value lives. [`MeasureError::State`]
    /// if the present state is not one of `possible`.
    fn enter(
        state: &'a AtomicU8,
        operation: Operation,
        possible: &[State],
        working: State,
    ) -> Result<Self, MeasureError> {
        let now = State::of(state.load(Ordering::Acquire));
        if !possible.contains(&now) {
            return Err(MeasureError::State { operation, state: now });
        }
        state.store(working as u8, Ordering::Release);
        Ok(Self { state, next: State::Initialized })
    }

    fn leads_to(mut self, state: State) {
        self.next = state;
    }
}

impl Drop for ActiveStage<'_> {
    fn drop(&mut self) {
        self.state.store(self.next as u8, Ordering::Release);
    }
}

impl SourceProbe {
    fn new(source: &str, probe: Box<dyn ProbeContext>, asked: Vec<usize>) -> Self {
        let anomalies = Vec::with_capacity(ANOMALIES);
        Self { name: source.into(), probe, asked, failed: None, anomalies }
    }

    /// Adds the failure of this data source to the record, and moves its anomalies there. The
    /// record has room for [`PLACES`] items of each data source and does not grow: anomalies that
    /// find no room are only counted.
    fn report(&mut self, record: &mut Vec<Anomaly>) {
        let source = || Arc::clone(&self.name);
        record.extend(self.failed.as_ref().map(|error| match error.is_transient() {
            true => Anomaly::Late { source: source() },
            false => Anomaly::Failed { source: source(), error: error.clone() },
        }));
        let list = &mut self.anomalies;
        if list.len() > ANOMALIES {
            // An allocation is the one anomaly that must not be left out.
            let grown = |anomaly: &Anomaly| matches!(anomaly, Anomaly::BufferGrown { .. });
            if let Some(place) = list.iter().position(grown) {
                list.swap(0, place);
            }
            let kept = ANOMALIES - 1;
            let count = list.len() - kept;
            list.truncate(kept);
            list.push(Anomaly::More { source: source(), count });
        }
        record.append(list);
    }
}

/// Fills `readings` with what `read` adds for each data source, in the order of the requested
/// sensors. The anomalies that `read` leaves in the data source are moved to `anomalies`.
fn gather(
    parts: &mut [SourceProbe],
    readings: &mut Vec<SensorReading>,
    anomalies: &mut Vec<Anomaly>,
    mut read: impl FnMut(&mut SourceProbe, &mut Vec<SensorReading>),
) {
    readings.clear();
    for part in parts {
        part.anomalies.clear();
        let mut at = readings.len();
        read(part, readings);
        anomalies.append(&mut part.anomalies);
        for reading in readings.iter_mut().skip(at) {
            if let Some(asked) = part.asked.get(reading.asked) {
                reading.asked = *asked;
            }
        }
        // The readings of the first data source are in order already. Those of the next data source
        // are moved between them, into the order in which the sensors were asked for.
        while at > 0
            && let Some(asked) = readings.get(at).map(|reading| reading.asked)
        {
            let same = readings.iter().skip(at).take_while(|reading| reading.asked == asked);
            let end = at + same.count();
            let place = readings.iter().take(at).filter(|r| r.asked <= asked).count();
            if let Some(moved) = readings.get_mut(place..end) {
                moved.rotate_right(end - at);
            }
            at = end;
        }
    }
}

fn first_failure(parts: &[SourceProbe]) -> MeasureError {
    let failed = parts.iter().find_map(|part| part.failed.clone());
    failed.unwrap_or_else(|| MeasureError::Other("no data source".into()))
}
