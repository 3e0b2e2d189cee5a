//! A binding: an event source at work with a context, and the records of its events.

use super::gaps::Gaps;
use super::{BindingCounts, Shared};
use crate::clock;
use crate::event::{Closer, EventSource, locked};
use crate::filter::{BoundFilter, Choice};
use crate::record::{Kept, RecordColumn, RecordHead, RecordStore};
use crate::section::Halves;
use perfhive_engine::measure::{MeasureError, MeasurementContext, Readings};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The state of a binding, which its threads share.
pub(super) struct Bound {
    pub(super) source: Arc<str>,
    pub(super) interval: Option<Duration>,
    pub(super) listed_every: Option<Duration>,
    pub(super) columns: Vec<RecordColumn>,
    pub(super) store: RecordStore,
    pub(super) closer: Mutex<Closer>,
    /// The event source with which the binding goes on once its present one is closed; `None` to
    /// end.
    pub(super) next: Mutex<Option<Box<dyn EventSource>>>,
    pub(super) halves: Mutex<Halves>,
    pub(super) events: AtomicU64,
    pub(super) missed: AtomicU64,
    pub(super) skipped: AtomicU64,
    pub(super) undelivered: AtomicU64,
    pub(super) busy: AtomicU64,
    /// The number of events that the filter left out before they had a record.
    pub(super) filtered: AtomicU64,
    /// The number of events that the filter left out by the durations of their sections, after they
    /// had got a record.
    pub(super) filtered_late: AtomicU64,
    pub(super) filter: Mutex<Option<BoundFilter>>,
    /// Whether the filter has a term `seconds`.
    by_seconds: AtomicBool,
    /// The number of delivered events, which is compared with the limit where the filter is by
    /// `seconds`: only at the delivery is it known whether such a filter lets an event through.
    chosen: AtomicU64,
    /// Whether there is a filter: without one, an event takes no lock for it.
    pub(super) has_filter: AtomicBool,
    /// The number of times that the filter was changed.
    pub(super) filters: AtomicU64,
    pub(super) stopped: AtomicBool,
    /// Whether the event source has no more events.
    pub(super) ended: AtomicBool,
    pub(super) limit: AtomicU64,
    pub(super) failure: Mutex<Option<String>>,
}

/// The sensors of a context; an error where one of them is of all instances, even if there is only
/// one instance now.
pub(crate) fn columns_of(context: &MeasurementContext) -> Result<Vec<RecordColumn>, MeasureError> {
    let mut columns = Vec::new();
    let lacks_instance = |columns: &[RecordColumn]| {
        let what = format!("sensor {} of the context has no instance", columns.len() + 1);
        Err(MeasureError::Refused(what.into()))
    };
    for reading in context.values()?.iter() {
        // A sensor without an instance has no reading: this one is of a sensor behind it.
        if reading.asked > columns.len() {
            return lacks_instance(&columns);
        }
        let name = &reading.slot.name;
        // Values of an instance that appears later would stand in the column of this one.
        let is_of_all = name.instance().is_some() && context.is_of_all_instances(reading.asked);
        if is_of_all || reading.asked != columns.len() {
            let name = name.clone().with_instance("*");
            let what =
                format!("{name}: an experiment measures one instance at a time; name it behind #");
            return Err(MeasureError::Refused(what.into()));
        }
        columns.push(RecordColumn {
            name: reading.slot.name.clone(),
            unit: Arc::clone(&reading.slot.unit),
            raw_per_second: reading.raw_per_second,
        });
    }
    match context.requested() {
        Some(count) if count > columns.len() => lacks_instance(&columns),
        _ => Ok(columns),
    }
}

impl Bound {
    pub(super) fn new(
        source: &dyn EventSource,
        columns: Vec<RecordColumn>,
        store: RecordStore,
        filter: Option<BoundFilter>,
    ) -> Self {
        let bound = Self {
            source: source.name().into(),
            interval: source.interval(),
            listed_every: source.listed_every(),
            columns,
            store,
            closer: Mutex::new(source.closer()),
            next: Mutex::default(),
            halves: Mutex::new(Halves::new(source.halves())),
            events: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            undelivered: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            filtered: AtomicU64::new(0),
            filtered_late: AtomicU64::new(0),
            by_seconds: AtomicBool::new(false),
            chosen: AtomicU64::new(0),
            has_filter: AtomicBool::new(false),
            filter: Mutex::default(),
            filters: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            limit: AtomicU64::new(u64::MAX),
            failure: Mutex::new(None),
        };
        bound.set_filter(filter);
        bound
    }

    pub(super) fn set_filter(&self, filter: Option<BoundFilter>) {
        self.has_filter.store(filter.is_some(), Ordering::Relaxed);
        let by_seconds = filter.as_ref().is_some_and(BoundFilter::is_by_seconds);
        let mut place = locked(&self.filter);
        self.by_seconds.store(by_seconds, Ordering::Relaxed);
        *place = filter;
    }

    /// Whether the binding has as many events as its limit.
    fn is_full(&self) -> bool {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let events = match self.by_seconds.load(Ordering::Relaxed) {
            true => load(&self.chosen),
            false => load(&self.events).saturating_sub(load(&self.filtered_late)),
        };
        events >= load(&self.limit)
    }

    /// Counts an event that is about to be delivered. With a filter by `seconds`, more events than
    /// the limit may have got a record: beyond the limit, the result is `false` and the event is
    /// not counted.
    pub(super) fn is_within_limit(&self) -> bool {
        let is_beyond = self.by_seconds.load(Ordering::Relaxed) && self.is_full();
        self.chosen.fetch_add(u64::from(!is_beyond), Ordering::Relaxed);
        !is_beyond
    }

    /// Takes a record at each event, until the event source and those that replace it have no more.
    pub(super) fn work(
        &self,
        mut source: Box<dyn EventSource>,
        mut context: MeasurementContext,
        shared: &Shared,
    ) -> Result<(), String> {
        // The number of events that earlier event sources of the binding missed, the time of the
        // last event of these sources, and the time of the binding's last event.
        let (mut missed, mut told, mut last) = (0, 0, 0);
        let mut gaps = Gaps::default();
        let none = Readings::new();
        loop {
            // The context is prepared before the event, so that the sample is taken at once. Where
            // all data sources fail, the event has no values; the next event may have some.
            let mut is_ready = context.prepare().is_ok();
            let event = source.wait();
            let taken = clock::now();
            self.missed.store(missed + source.missed(), Ordering::Relaxed);
            let Some(mut event) = event.map_err(|error| error.to_string())? else {
                let mut next = locked(&self.next);
                let Some(next) = next.take() else {
                    // Decided under the lock, so that no source is given to a binding that has ended.
                    self.ended.store(true, Ordering::Release);
                    return Ok(());
                };
                missed += source.missed();
                gaps.end_source(missed);
                (source, told) = (next, last);
                continue;
            };
            // Both event sources were open for a moment, so the event may have come twice.
            if event.time <= told {
                continue;
            }
            last = event.time;
            gaps.of_source(event.gap, missed + source.missed());
            if self.is_full() || self.stopped.load(Ordering::Relaxed) {
                self.skipped.fetch_add(1, Ordering::Relaxed);
                gaps.leave_out(&event);
                continue;
            }
            // The filter is not locked while the event is measured: the delivery uses it, too.
            let has_filter = self.has_filter.load(Ordering::Relaxed);
            let wanted = match has_filter {
                true => locked(&self.filter).as_mut().map(|filter| filter.wants(&event)),
                false => None,
            };
            if let Some(wanted @ (Choice::NotNow | Choice::Never)) = wanted {
                self.filtered.fetch_add(1, Ordering::Relaxed);
                // Events that are never recorded leave no gap: the other halves of their sections
                // are left out, too.
                if wanted == Choice::NotNow {
                    gaps.leave_out(&event);
                }
                continue;
            }
            let mut sample = Duration::ZERO;
            if is_ready {
                match context.sample() {
                    Ok(record) => sample = record.duration,
                    // A recording has nothing for later events either.
                    Err(MeasureError::Source(error)) if error.is_end_of_data() => {
                        return Err(error.to_string());
                    }
                    Err(_) => is_ready = false,
                }
            }
            let sampled = clock::now();
            let decoded = if is_ready { context.decode_in_place().ok() } else { None };
            let readings = decoded.unwrap_or(&none);
            let wants = |filter: &mut BoundFilter| filter.wants_readings(&event, readings);
            if has_filter && !locked(&self.filter).as_mut().is_none_or(wants) {
                self.filtered.fetch_add(1, Ordering::Relaxed);
                gaps.leave_out(&event);
                continue;
            }
            event.gap = gaps.of(&event) + self.filters.load(Ordering::Relaxed);
            let head = RecordHead { event, taken, sample, sampled, done: 0 };
            let (kept, done) = self.store.keep(head, readings);
            self.events.fetch_add(1, Ordering::Relaxed);
            self.busy.fetch_add(done.saturating_sub(taken), Ordering::Relaxed);
            match kept {
                Kept::Stored => {}
                Kept::HalfFull => {
                    locked(&shared.wanted).now = true;
                    shared.woken.notify_one();
                }
                Kept::Lost(event) => gaps.leave_out(&event),
            }
        }
    }

    pub(super) fn counts(&self) -> BindingCounts {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let ended = self.ended.load(Ordering::Acquire);
        let failure = locked(&self.failure).clone();
        BindingCounts {
            source: Arc::clone(&self.source),
            events: load(&self.events).saturating_sub(load(&self.filtered_late)),
            filtered: load(&self.filtered) + load(&self.filtered_late),
            lost: self.store.lost(),
            undelivered: load(&self.undelivered),
            missed: load(&self.missed),
            listed_every: self.listed_every,
            skipped: load(&self.skipped),
            busy: Duration::from_nanos(load(&self.busy)),
            limit: Some(load(&self.limit)).filter(|limit| *limit < u64::MAX),
            columns: self.columns.clone(),
            running: !ended && !self.stopped.load(Ordering::Relaxed) && !self.is_full(),
            ended,
            failure,
        }
    }
}
