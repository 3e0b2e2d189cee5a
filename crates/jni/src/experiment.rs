//! Experiments of a Java program.

use crate::failure::{Failure, Kind};
use crate::handles::{self, Object};
use crate::outbox::{self, Outbox, Outboxes};
use crate::points::CallQueue;
use crate::wire::{Answer, Request};
use perfhive::experiment::{
    BindingCounts, EventSource, EventSummary, Experiment, ExperimentEnd, ExperimentHandle,
    Interval, JsonLines, SummaryFigures, ThresholdCrossing,
};
use perfhive::measure::{DataSources, MeasureError, MeasurementContext, SensorName};
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The shares of values that lie at or below each percentile of Java's `SummaryFigures`.
const SHARES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// The most records of one binding that may wait for delivery.
const MOST_CAPACITY: usize = 1 << 20;

/// The number that stands for sections, where other kinds are positions in Java's `EventKind`.
const SECTION: u8 = 3;

/// An experiment of a Java program, with its listeners and its queue of calls.
pub(crate) struct JavaExperiment {
    /// The running experiment; `None` after its end.
    running: Mutex<Option<Experiment>>,
    handle: ExperimentHandle,
    outboxes: Outboxes,
    capacity: usize,
    /// The queue of the program's calls; `None` until calls are bound.
    calls: Mutex<Option<Arc<CallQueue>>>,
}

impl JavaExperiment {
    /// Starts an experiment with room for `capacity` records of each binding, at least 2 and at
    /// most [`MOST_CAPACITY`]. With a path, its records are also written to that file, as JSON
    /// lines.
    ///
    /// # Errors
    /// If the file cannot be created, or no thread can be started.
    pub(crate) fn start(capacity: usize, path: Option<&str>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::new(Kind::Other, error.to_string());
        let (capacity, outboxes) = (capacity.clamp(2, MOST_CAPACITY), Outboxes::default());
        let mut builder = Experiment::builder().capacity(capacity).deliver(outboxes.clone());
        if let Some(path) = path {
            let file = File::create(path).map_err(|error| {
                Failure::new(Kind::Other, format!("cannot make {path}: {error}"))
            })?;
            builder = builder.deliver(JsonLines::new(file));
        }
        let experiment = builder.start().map_err(failed)?;
        Ok(Self {
            handle: experiment.handle(),
            running: Mutex::new(Some(experiment)),
            outboxes,
            capacity,
            calls: Mutex::default(),
        })
    }

    /// Binds the event source in the request to a measurement context of the sensors in the
    /// request. The answer is the handle of the queue if calls are bound, and 0 otherwise.
    pub(crate) fn bind(
        &self,
        request: &mut Request<'_>,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        let (kind, name, every) = (request.i32()?, request.text()?, request.i64()?);
        let every = Duration::from_nanos(every.max(0).cast_unsigned());
        let limits =
            [request.i64()?, request.i64()?].map(|bits| f64::from_bits(bits.cast_unsigned()));
        let watched = request.list(Request::text)?;
        let calls = request.list(Request::text)?;
        let mut sources = DataSources::new();
        for handle in request.list(Request::i64)? {
            sources.add(handles::source(handle, |source| source.another())?)?;
        }
        let names = request.list(Request::text)?;
        self.expect_running()?;
        let context = context(&mut sources, &names)?;
        match kind {
            0 => self.add(Interval::new(&name, every), context)?,
            1 => {
                let [above, below] = limits;
                let watched = self::context(&mut sources, &watched)?;
                self.add(ThresholdCrossing::new(&name, watched, every, above, below)?, context)?;
            }
            _ => {
                let mut bound = lock(&self.calls);
                if bound.is_some() {
                    let what = "an experiment has one binding of calls; name all calls in it";
                    return Err(Failure::new(Kind::State, what));
                }
                let queue = CallQueue::new(self.capacity);
                calls.iter().try_for_each(|name| queue.name(name).map(drop))?;
                self.add(queue.source(), context)?;
                answer.i64(handles::insert(Object::Calls(Arc::clone(&queue)))?);
                *bound = Some(queue);
                return Ok(());
            }
        }
        answer.i64(0);
        Ok(())
    }

    fn add(
        &self,
        source: impl EventSource + 'static,
        context: MeasurementContext,
    ) -> Result<(), Failure> {
        Ok(self.handle.bind(source, context)?)
    }

    /// Adds a listener, and returns the outbox that gets the batches from now on.
    ///
    /// # Errors
    /// If the experiment has ended.
    pub(crate) fn listen(&self) -> Result<Arc<Outbox>, Failure> {
        // Held, so that an outbox is not added after the others have ended.
        let running = lock(&self.running);
        if running.is_none() {
            return Err(ended());
        }
        let outbox = Arc::new(Outbox::new(self.capacity.saturating_mul(2)));
        self.outboxes.add(Arc::clone(&outbox));
        Ok(outbox)
    }

    pub(crate) fn bindings(&self, answer: &mut Answer) {
        bindings(&self.handle.bindings(), answer);
    }

    /// Ends the experiment, and puts its figures into the answer.
    ///
    /// # Errors
    /// If it has ended before.
    pub(crate) fn end(&self, answer: &mut Answer) -> Result<(), Failure> {
        let running = lock(&self.running).take();
        let result = running.ok_or_else(ended)?.end();
        self.outboxes.end();
        figures_of(&result, answer);
        Ok(())
    }

    fn expect_running(&self) -> Result<(), Failure> {
        lock(&self.running).as_ref().map(drop).ok_or_else(ended)
    }
}

impl Drop for JavaExperiment {
    fn drop(&mut self) {
        drop(lock(&self.running).take());
        self.outboxes.end();
    }
}

fn ended() -> Failure {
    Failure::new(Kind::State, "the experiment has ended")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn context(sources: &mut DataSources, names: &[String]) -> Result<MeasurementContext, Failure> {
    let names: Result<Vec<SensorName>, _> = names.iter().map(|name| name.parse()).collect();
    let names = names.map_err(MeasureError::from)?;
    Ok(MeasurementContext::new(sources, &names)?)
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

fn bindings(bindings: &[BindingCounts], answer: &mut Answer) {
    answer.count(bindings.len());
    for one in bindings {
        answer.text(&one.source);
        for number in [one.events, one.lost, one.missed] {
            answer.bits(number);
        }
        answer.i64(nanos(one.busy)).optional_text(one.failure.as_deref());
    }
}

fn figures_of(end: &ExperimentEnd, answer: &mut Answer) {
    answer.i64(nanos(end.elapsed)).bits(end.summary.unmatched).bits(end.summary.unnamed);
    figures(&end.summary.overhead, answer);
    answer.count(end.summary.events.len());
    end.summary.events.iter().for_each(|event| summary(event, answer));
    bindings(&end.bindings, answer);
    answer.texts(end.failures.iter());
}

fn summary(event: &EventSummary, answer: &mut Answer) {
    answer.text(&event.source).text(&event.name);
    answer.u8(event.kind.map_or(SECTION, outbox::kind)).bits(event.count);
    figures(&event.time, answer);
    figures(&event.part, answer);
    answer.count(event.sensors.len());
    for (column, of_sensor) in &event.sensors {
        outbox::column(column, answer);
        figures(of_sensor, answer);
    }
}

fn figures(figures: &SummaryFigures, answer: &mut Answer) {
    answer.bits(figures.count()).bits(figures.sum().to_bits());
    let shares = SHARES.iter().map(|share| figures.quantile(*share));
    for number in [figures.min(), figures.max()].into_iter().chain(shares) {
        answer.bits(number.unwrap_or(f64::NAN).to_bits());
    }
}
