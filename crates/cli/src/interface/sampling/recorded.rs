//! Reads a recording: all of it, a part, one sample, or what was appended.

use super::{Ended, Event, Growth, Order, Reader, Recent};
use crate::replay::Replay;
use perfhive::{
    Ask, FileTime, Query, QueryError, Recording as _, Snapshot, Source as _, SourceError, SourceSet,
};
use perfhive_view::Sample;
use perfhive_view::past::Window;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The number of readings at which a message with samples is full, which bounds the memory of messages that wait.
/// Only the last sample of a message may exceed it.
const MOST_VALUES: usize = 20_000;

/// The part of a recording that is read.
#[derive(Clone, Copy)]
pub(super) enum Reach {
    Nothing,
    Whole,
    /// The part with this window, and about the number of samples that the part has.
    Part(Window, u64),
    /// The samples from the recording's present place on. The number says how many of them were read before.
    On(usize),
}

impl Reader {
    /// Reads a recording to its end, again each time the shown counters change, and a part of it when the interface
    /// asks for the part. Reads on where the recording grows. Returns only once the interface has ended.
    pub(super) fn recorded(&mut self, orders: &Receiver<Order>) -> Result<(), Ended> {
        let mut waiting = None;
        loop {
            let order = match waiting.take() {
                Some(order) => Some(order),
                None => self.wait(orders)?,
            };
            let reach = match &order {
                None => match self.grow()? {
                    Some(reach) => reach,
                    None => continue,
                },
                Some(Order::Paths(_)) => Reach::Whole,
                Some(Order::Near { window, samples }) => Reach::Part(*window, *samples),
                Some(_) => Reach::Nothing,
            };
            if let Some(order) = order {
                self.follow(order)?;
            }
            let read = self.read(orders, reach)?;
            self.tell_faults()?;
            match read {
                Ok(order) => waiting = order,
                Err(error) => self.fail(error.to_string())?,
            }
        }
    }

    /// Reads as much of the recording as `reach` says. Returns the order that ended reading; `None` if none did.
    /// The inner error is one of the recording; the outer one is that the interface has ended.
    fn read(
        &mut self,
        orders: &Receiver<Order>,
        reach: Reach,
    ) -> Result<Result<Option<Order>, SourceError>, Ended> {
        let part = match reach {
            Reach::Part(window, _) => Some(window),
            _ => None,
        };
        let most = self.most_read;
        let every = |samples: u64| samples.div_ceil(most).max(1);
        let begun = match reach {
            Reach::Nothing => return Ok(Ok(None)),
            Reach::On(_) => Ok(self.every),
            Reach::Part(window, samples) => {
                if let Err(error) = self.renew() {
                    return self.send(Event::Note(error.to_string())).map(|()| Ok(None));
                }
                self.steered.seek(Some(window.from)).map(|()| every(samples))
            }
            Reach::Whole => {
                self.send(Event::Rewound)?;
                self.recent = Recent::default();
                self.steered.span().and_then(|span| {
                    self.steered.seek(None)?;
                    Ok(every(span.samples))
                })
            }
        };
        let every = match begun {
            Ok(every) => every,
            Err(error) => return Ok(Err(error)),
        };
        if part.is_none() {
            self.every = every;
        }
        let goes_on = matches!(reach, Reach::On(_));
        let mut again = match reach {
            Reach::On(again) => again,
            _ => 0,
        };
        let mut some = |samples: Vec<Sample>| match part {
            Some(window) => Event::Near(window, samples),
            None if goes_on => Event::Later(std::mem::take(&mut again), samples),
            None => Event::Samples(samples, Duration::ZERO),
        };
        let mut next = None;
        let mut skipped = Snapshot::new();
        let mut samples: Vec<Sample> = Vec::new();
        let mut values = 0;
        let mut is_first = !goes_on;
        let mut flushed = Instant::now();
        // The sample that was read last, and the moment when it is due to be shown.
        let (mut held, mut due): (Option<Sample>, _) = (None, Instant::now());
        let outcome = loop {
            // A query without paths asks the recording for nothing and would never come to its end.
            if self.sampler.paths().next().is_none() {
                // Where a recording has no names yet, its bytes may be an incomplete sample, which collecting
                // reports.
                if self.is_nameless() {
                    let _ = self.steered.collect(&Ask::everything(), &mut skipped);
                }
                break None;
            }
            match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
                // The appended samples read so far are shown; later ones are read at the next look.
                Ok(order) if goes_on => {
                    self.growth.iter_mut().for_each(Growth::look_again);
                    next = Some(order);
                    break None;
                }
                // Such an order is ignored, since the recording is at another place.
                Ok(Order::Look { .. }) => continue,
                Ok(order @ Order::Paths(_)) => return Ok(Ok(Some(order))),
                Ok(order @ Order::Near { .. }) if part.is_some() => return Ok(Ok(Some(order))),
                // The part was asked for before the recording was read anew.
                Ok(Order::Near { .. }) => continue,
                Ok(order) => {
                    self.follow(order)?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Ended),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(sample) = held.take() {
                values += sample.values.len();
                samples.push(sample);
            }
            if !std::mem::take(&mut is_first)
                && let Err(error) = (1..every)
                    .try_for_each(|_| self.steered.collect(&Ask::everything(), &mut skipped))
            {
                break Some(error);
            }
            match self.query.collect() {
                Ok(()) => {}
                Err(QueryError::Source(error)) => break Some(error),
                Err(error) => {
                    self.send(Event::Note(error.to_string()))?;
                    continue;
                }
            }
            let sample = self.sampler.sample(&self.query);
            if part.is_some_and(|window| sample.time > window.to) {
                samples.push(sample);
                break None;
            }
            // After a change of the counters, the samples that were shown before are read again without pauses.
            let is_new =
                |replay: &&mut Replay| part.is_none() && replay.reached() < Some(sample.time);
            if let Some(replay) = self.replay.as_mut().filter(is_new) {
                due = replay.due(sample.time, Instant::now());
            }
            if part.is_none() {
                self.recent.push(self.steered.reached(), sample.time);
            }
            held = Some(sample);
            let waits = due > Instant::now() && !samples.is_empty();
            if waits || values >= MOST_VALUES || flushed.elapsed() > Duration::from_millis(100) {
                self.send(some(std::mem::take(&mut samples)))?;
                (values, flushed) = (0, Instant::now());
            }
        };
        samples.extend(held);
        if !samples.is_empty() || goes_on {
            self.send(some(samples))?;
        }
        match part {
            Some(window) => self.send(Event::NearLoaded(window, every))?,
            None if goes_on => {}
            None => self.send(Event::Loaded { every })?,
        }
        Ok(outcome.filter(|error| !error.is_end_of_data()).map_or(Ok(next), Err))
    }

    /// Makes a new query with the same paths, so that no rate is calculated from the sample that was read last.
    pub(super) fn renew(&mut self) -> Result<(), QueryError> {
        let mut query = Query::over(SourceSet::new(self.steered.clone()), self.language)?;
        let paths: Vec<String> = self.sampler.paths().map(str::to_string).collect();
        let add = |path: &String| query.add(&self.own(path).unwrap_or_default());
        let ids = paths.iter().map(add).collect::<Result<Vec<_>, _>>()?;
        self.sampler.renumber(&ids);
        self.query = query;
        Ok(())
    }

    /// The sample of a recording at the time `at`, with rates since the sample at `from`, which is `every` samples
    /// before; without rates if both times are the same.
    pub(super) fn look(
        &mut self,
        from: FileTime,
        at: FileTime,
        every: u64,
    ) -> Result<Sample, QueryError> {
        self.renew()?;
        self.steered.seek(Some(from))?;
        self.query.collect()?;
        if from < at {
            let mut skipped = Snapshot::new();
            for _ in 1..every {
                self.steered.collect(&Ask::everything(), &mut skipped)?;
            }
            self.query.collect()?;
        }
        Ok(self.sampler.sample(&self.query))
    }
}
