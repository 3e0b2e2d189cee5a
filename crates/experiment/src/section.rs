//! Sections: the parts of a program's run between a start and its end.
//!
//! Between a start and an end with different [`gap`](PerfEvent::gap)s there may have been other starts and ends, so
//! the two make no section. Nor do a start and an end of different calls of a function, as their
//! [`frame`](PerfEvent::frame)s tell.

use crate::EventKind;
use crate::event::PerfEvent;
use crate::record::{EventRecord, RecordedReading};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The most threads with open sections that are followed; starts on further threads make no
/// sections.
const MOST_THREADS: usize = 4096;
/// The most open sections of one thread that are followed; a further start drops the oldest one.
const MOST_OPEN: usize = 256;

/// A section of a program: from a start to the end of the same name on the same thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The section's name.
    pub name: Arc<str>,
    /// The number of the process in which the section ran.
    pub process: u32,
    /// The number of the thread on which the section ran.
    pub thread: u32,
    /// The time at which the section started, in nanoseconds of the clock of events.
    pub start: u64,
    /// The time from the start to the end, including the calls in the section;
    /// [`corrected`](Self::corrected) subtracts these.
    pub duration: Duration,
    /// The processor time that the thread used in the section; `None` unless the thread itself
    /// reported it at both start and end.
    pub thread_time: Option<Duration>,
    /// The number of calls in the section: its own start, and those of the recorded events in it on its thread. An
    /// event that the thread did not report itself is no call.
    pub calls: u64,
    /// The time that the thread's calls in the section took, as the thread itself measured it, including calls that are
    /// not recorded. Zero if neither start nor end has totals of calls. `None` if the totals cannot be compared:
    /// because start and end came from two libraries, each of which counts its own calls, because only one of the two
    /// has totals, or because the totals shrank.
    pub call_time: Option<Duration>,
    /// The processor time that the thread used in its calls in the section; `None` in the same
    /// cases as [`call_time`](Self::call_time).
    pub call_thread_time: Option<Duration>,
    /// How much the raw value of each sensor grew from the sample at the start to the sample at the end. Both samples
    /// are late by the [delay](EventRecord::delay) of their record. Negative for a gauge that shows its raw value and
    /// shrank, such as memory that the section freed. `None` without two raw values, and where the raw value of a
    /// sensor that is not such a gauge shrank, since its counter was begun anew.
    pub growth: Vec<Option<i64>>,
}

impl Section {
    /// The duration without the calls in the section; `None` if the time of the calls is not known,
    /// or is longer than the section.
    #[must_use]
    pub fn corrected(&self) -> Option<Duration> {
        self.duration.checked_sub(self.call_time?)
    }

    /// The thread's processor time without the calls in the section; `None` if this time or that of
    /// the calls is not known, or the calls took longer.
    #[must_use]
    pub fn corrected_thread_time(&self) -> Option<Duration> {
        self.thread_time?.checked_sub(self.call_thread_time?)
    }
}

/// A section that has not ended.
#[derive(Debug)]
struct OpenSection {
    start: EventRecord,
    calls: u64,
}

/// Finds the sections in records.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    threads: HashMap<(u32, u32), Vec<OpenSection>>,
    unmatched: u64,
    pub(crate) halves: Halves,
}

/// The names of events of which the event source has only starts or only ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halves {
    names: Vec<Arc<str>>,
    /// The time until which the names in `before` were valid, on the clock of events.
    until: u64,
    /// The names up to the time `until`; empty if the names were never changed.
    before: Vec<Arc<str>>,
}

impl Halves {
    pub(crate) fn new(names: Vec<Arc<str>>) -> Self {
        Self { names, ..Self::default() }
    }

    /// Sets the names from now on.
    pub(crate) fn change(&mut self, names: Vec<Arc<str>>) {
        self.before = std::mem::replace(&mut self.names, names);
        self.until = crate::clock::now();
    }

    fn has(&self, event: &PerfEvent) -> bool {
        let names = if event.time <= self.until { &self.before } else { &self.names };
        names.contains(&event.name)
    }
}

impl Sections {
    /// Adds a record; returns the section that it ends, or `None` if it ends none.
    pub(crate) fn add(&mut self, record: &EventRecord) -> Option<Section> {
        let event = &record.event;
        let key = (event.process, event.thread);
        // An event that the thread did not report itself is none of its calls.
        let calls = u64::from(event.thread_time.is_some());
        if let Some(open) = self.threads.get_mut(&key).filter(|_| event.kind != EventKind::Point) {
            let before = open.len();
            open.retain(|one| {
                one.start.event.name != event.name || one.start.event.gap == event.gap
            });
            self.unmatched += (before - open.len()) as u64;
            // A thread without open sections takes no place of other threads.
            if open.is_empty() {
                self.threads.remove(&key);
            }
        }
        match event.kind {
            _ if self.halves.has(event) => {
                self.count_call(key, calls);
                None
            }
            EventKind::Point => {
                self.count_call(key, calls);
                None
            }
            EventKind::Start => {
                self.count_call(key, calls);
                let room = self.threads.len() < MOST_THREADS || self.threads.contains_key(&key);
                let Some(open) = room.then(|| self.threads.entry(key).or_default()) else {
                    self.unmatched += 1;
                    return None;
                };
                if open.len() >= MOST_OPEN {
                    open.remove(0);
                    self.unmatched += 1;
                }
                // The start's own call goes on after the time of the event, and so lies within the section.
                open.push(OpenSection { start: record.clone(), calls });
                None
            }
            EventKind::End => {
                let open = self.threads.get_mut(&key);
                let place = open.as_ref().and_then(|open| {
                    open.iter().rposition(|section| is_pair(&section.start.event, event))
                });
                let (Some(open), Some(place)) = (open, place) else {
                    self.unmatched += 1;
                    self.count_call(key, calls);
                    return None;
                };
                // Sections may overlap: what started later and is open goes on.
                let section = open.remove(place);
                if open.is_empty() {
                    self.threads.remove(&key);
                }
                self.count_call(key, calls);
                Some(ended(section, record))
            }
        }
    }

    fn count_call(&mut self, key: (u32, u32), calls: u64) {
        for section in self.threads.get_mut(&key).into_iter().flatten() {
            section.calls += calls;
        }
    }

    /// The number of starts without an end and ends without a start, including the sections that are open now.
    pub(crate) fn unmatched(&self) -> u64 {
        let open: usize = self.threads.values().map(Vec::len).sum();
        self.unmatched + open as u64
    }
}

/// Whether a start and an end on one thread may be those of one section, where nothing of their name was lost between
/// them.
fn is_pair(start: &PerfEvent, end: &PerfEvent) -> bool {
    let frames = start.frame.zip(end.frame);
    start.name == end.name && frames.is_none_or(|(start, end)| start == end)
}

/// How much a raw value grew, negative for a gauge that shrank; `None` where a value is missing or
/// a counter shrank.
fn growth(start: &RecordedReading, end: &RecordedReading) -> Option<i64> {
    let grown = i64::try_from(i128::from(end.raw?) - i128::from(start.raw?)).ok()?;
    // The value of a counter is made of two samples, and there is none where it shrank.
    let is_gauge = |one: &RecordedReading| one.value == one.raw.map(|raw| raw as f64);
    (grown >= 0 || is_gauge(start) && is_gauge(end)).then_some(grown)
}

/// The time and the processor time that the calls between two events of a thread took, in
/// nanoseconds; zeros if neither event has totals of calls, and `None` if only one has, or the two
/// are of different counts or shrank.
fn call_times(start: &PerfEvent, end: &PerfEvent) -> Option<(u64, u64)> {
    match (start.calls, end.calls) {
        (None, None) => Some((0, 0)),
        (Some(start), Some(end)) if start.counter == end.counter => Some((
            end.time.checked_sub(start.time)?,
            end.thread_time.checked_sub(start.thread_time)?,
        )),
        _ => None,
    }
}

fn ended(open: OpenSection, end: &EventRecord) -> Section {
    let start = &open.start;
    let call_times = call_times(&start.event, &end.event);
    let nanos = end.event.time.saturating_sub(start.event.time);
    let thread_time = end.event.thread_time.zip(start.event.thread_time);
    let pairs = start.readings.iter().zip(&end.readings);
    Section {
        name: Arc::clone(&end.event.name),
        process: end.event.process,
        thread: end.event.thread,
        start: start.event.time,
        duration: Duration::from_nanos(nanos),
        thread_time: thread_time
            .and_then(|(end, start)| end.checked_sub(start))
            .map(Duration::from_nanos),
        calls: open.calls,
        call_time: call_times.map(|(time, _)| Duration::from_nanos(time)),
        call_thread_time: call_times.map(|(_, time)| Duration::from_nanos(time)),
        growth: pairs.map(|(start, end)| growth(start, end)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallTotals;

    fn record(kind: EventKind, name: &str, thread: u32, time: u64) -> EventRecord {
        let event = PerfEvent::now(&name.into());
        EventRecord {
            event: PerfEvent { kind, thread, time, thread_time: Some(time / 2), ..event },
            taken: time,
            sample: Duration::ZERO,
            sampled: time,
            done: time,
            readings: vec![RecordedReading { value: None, raw: Some(time) }],
        }
    }

    #[test]
    fn gauge_that_shrinks_has_a_negative_growth_and_a_counter_none() {
        let gauge = |raw: u64| RecordedReading { value: Some(raw as f64), raw: Some(raw) };
        let counter = |raw| RecordedReading { value: None, raw: Some(raw) };
        let mut sections = Sections::default();
        let mut of = |first: u64, last: u64| {
            let with = |kind, time, raw| EventRecord {
                readings: vec![gauge(raw), counter(raw)],
                ..record(kind, "a", 1, time)
            };
            sections.add(&with(EventKind::Start, 10, first));
            sections.add(&with(EventKind::End, 20, last)).unwrap().growth
        };
        assert_eq!(of(4096, 8192), [Some(4096), Some(4096)]);
        assert_eq!(of(8192, 4096), [Some(-4096), None]);
        assert_eq!(of(0, u64::MAX), [None, None]);
        assert_eq!(of(7, 7), [Some(0), Some(0)]);
    }

    #[test]
    fn nested_and_overlapping_sections_of_several_threads_are_matched() {
        use EventKind::{End, Point, Start};
        let mut sections = Sections::default();
        let events = [
            (Start, "outer", 1, 100),
            (Start, "outer", 2, 110),
            (Start, "inner", 1, 120),
            (Point, "point", 1, 130),
            (Start, "inner", 1, 140),
            (End, "inner", 1, 150),
            (End, "outer", 2, 160),
            (End, "inner", 1, 170),
            (End, "outer", 1, 200),
            (Start, "first", 1, 300),
            (Start, "second", 1, 310),
            (End, "first", 1, 320),
            (End, "second", 1, 330),
        ];
        let found: Vec<_> = (events.iter())
            .filter_map(|(kind, name, thread, time)| {
                sections.add(&record(*kind, name, *thread, *time))
            })
            .map(|s| (s.name.to_string(), s.thread, s.start, s.duration.as_nanos(), s.calls))
            .collect();
        let expected = [
            ("inner", 1, 140, 10, 1),
            ("outer", 2, 110, 50, 1),
            ("inner", 1, 120, 50, 4),
            ("outer", 1, 100, 100, 6),
            ("first", 1, 300, 20, 2),
            ("second", 1, 310, 20, 2),
        ];
        let expected = expected.map(|(name, t, s, d, c)| (name.to_string(), t, s, d, c));
        assert_eq!(found, expected);
        assert_eq!(sections.unmatched(), 0);
    }

    #[test]
    fn end_of_a_call_is_that_of_its_own_start() {
        use EventKind::{End, Start};
        let mut sections = Sections::default();
        let mut add = |kind, time, frame| {
            let record = record(kind, "a", 1, time);
            let event = PerfEvent { frame, ..record.event };
            let section = sections.add(&EventRecord { event, ..record });
            section.map(|section| section.start)
        };
        // Two calls within the first one do not return.
        for (time, frame) in [(10, 900), (20, 800), (30, 700)] {
            add(Start, time, Some(frame));
        }
        assert_eq!(add(End, 40, Some(900)), Some(10));
        assert_eq!(add(End, 50, Some(600)), None);
        // A later call at the same place is another one.
        add(Start, 60, Some(700));
        assert_eq!(add(End, 70, Some(700)), Some(60));
        assert_eq!(add(End, 80, None), Some(30));
        assert_eq!(sections.unmatched(), 2);
    }

    #[test]
    fn calls_are_taken_off_where_one_count_has_them() {
        let of = |start: Option<CallTotals>, end: Option<CallTotals>| {
            let mut sections = Sections::default();
            let with = |kind, time, calls| {
                let record = record(kind, "a", 1, time);
                EventRecord { event: PerfEvent { calls, ..record.event }, ..record }
            };
            sections.add(&with(EventKind::Start, 100, start));
            let section = sections.add(&with(EventKind::End, 200, end)).unwrap();
            let nanos = |time: Option<Duration>| time.map(|time| time.as_nanos());
            (nanos(section.corrected()), nanos(section.corrected_thread_time()))
        };
        let totals =
            |time, counter| Some(CallTotals { count: 1, time, thread_time: time / 2, counter });
        assert_eq!(of(totals(10, 7), totals(40, 7)), (Some(70), Some(35)));
        assert_eq!(of(None, None), (Some(100), Some(50)));
        // Two libraries, and a program that lies.
        assert_eq!(of(totals(10, 7), totals(40, 8)), (None, None));
        assert_eq!(of(totals(10, 7), None), (None, None));
        assert_eq!(of(totals(40, 7), totals(10, 7)), (None, None));
        assert_eq!(of(totals(0, 7), totals(1000, 7)), (None, None));
    }

    #[test]
    fn starts_without_ends_on_purpose_are_not_unmatched() {
        let mut sections =
            Sections { halves: Halves::new(vec!["a".into()]), ..Sections::default() };
        sections.add(&record(EventKind::Start, "a", 1, 10));
        sections.add(&record(EventKind::Start, "b", 1, 20));
        assert_eq!(sections.unmatched(), 1);
    }

    #[test]
    fn starts_from_before_their_ends_were_told_lack_none() {
        let mut halves = Halves::new(vec!["a".into()]);
        halves.change(Vec::new());
        let mut sections = Sections { halves, ..Sections::default() };
        sections.add(&record(EventKind::Start, "a", 1, 10));
        assert_eq!(sections.unmatched(), 0);
        sections.add(&record(EventKind::Start, "a", 1, u64::MAX - 1));
        assert_eq!(sections.unmatched(), 1);
        assert!(sections.add(&record(EventKind::End, "a", 1, u64::MAX)).is_some());
        assert_eq!(sections.unmatched(), 0);
    }

    #[test]
    fn end_without_start_and_start_without_end_are_counted() {
        use EventKind::{End, Start};
        let mut sections = Sections::default();
        assert_eq!(sections.add(&record(End, "a", 1, 10)), None);
        sections.add(&record(Start, "a", 1, 20));
        sections.add(&record(Start, "lost end", 1, 30));
        let section = sections.add(&record(End, "a", 1, 50)).unwrap();
        assert_eq!((section.duration.as_nanos(), section.growth), (30, vec![Some(30)]));
        assert_eq!(section.thread_time, Some(Duration::from_nanos(15)));
        sections.add(&record(Start, "open", 1, 60));
        assert_eq!(sections.unmatched(), 3);
    }

    #[test]
    fn start_and_end_with_a_gap_between_them_make_no_section() {
        use EventKind::{End, Start};
        let mut sections = Sections::default();
        let mut add = |kind, name, time, gap| {
            let record = record(kind, name, 1, time);
            let event = PerfEvent { gap, ..record.event };
            let section = sections.add(&EventRecord { event, ..record });
            section.map(|section| section.duration.as_nanos())
        };
        // Another name's gap is none of this one.
        add(Start, "outer", 10, 0);
        add(Start, "a", 20, 0);
        assert_eq!(add(End, "a", 30, 1), None);
        add(Start, "a", 40, 1);
        add(Start, "a", 50, 2);
        assert_eq!(add(End, "a", 60, 2), Some(10));
        assert_eq!(add(End, "a", 70, 2), None);
        assert_eq!(add(End, "outer", 80, 0), Some(70));
        // Starts without a chance take no room of others.
        for gap in 3..1000 {
            add(Start, "a", 100, gap);
        }
        assert_eq!(add(End, "a", 110, 999), Some(10));
        assert_eq!(sections.unmatched(), 4 + 996);
    }

    #[test]
    fn threads_that_lost_their_only_start_leave_room_for_others() {
        let mut sections = Sections::default();
        for thread in 0..2 * MOST_THREADS as u32 {
            sections.add(&record(EventKind::Start, "a", thread, 10));
            let end = record(EventKind::End, "a", thread, 20);
            let event = PerfEvent { gap: 1, ..end.event };
            assert_eq!(sections.add(&EventRecord { event, ..end }), None);
        }
        assert_eq!((sections.threads.len(), sections.unmatched()), (0, 4 * MOST_THREADS as u64));
        sections.add(&record(EventKind::Start, "a", u32::MAX, 30));
        assert!(sections.add(&record(EventKind::End, "a", u32::MAX, 40)).is_some());
    }

    #[test]
    fn thread_that_only_starts_sections_takes_no_more_than_its_room() {
        let mut sections = Sections::default();
        for time in 0..1000 {
            sections.add(&record(EventKind::Start, "a", 1, time));
        }
        assert_eq!(sections.unmatched(), 1000);
        assert_eq!(sections.threads.values().map(Vec::len).sum::<usize>(), MOST_OPEN);
        sections.add(&record(EventKind::Start, "b", 1, 1000));
        assert!(sections.add(&record(EventKind::End, "b", 1, 1001)).is_some());
    }
}
