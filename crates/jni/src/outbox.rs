//! The outboxes of Java's listeners, with records of an experiment.
//!
//! Each listener has an outbox of batches, which a thread of Java takes. The experiment never waits
//! for that thread: records that find no room are counted as lost.

use crate::wire::Answer;
use perfhive::experiment::{
    Delivery, EventKind, EventRecord, PerfEvent, RecordBatch, RecordColumn, Section,
};
use perfhive::measure::{TimeSource as _, WallTime};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The batches that wait for one listener.
pub(crate) struct Outbox {
    /// The most records that may wait, if they are of several batches: an empty outbox takes a batch
    /// of any size.
    room: usize,
    waiting: Mutex<Waiting>,
    woken: Condvar,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<(Vec<u8>, usize)>,
    records: usize,
    lost: u64,
    has_ended: bool,
}

impl Outbox {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, waiting: Mutex::default(), woken: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message with a batch of `records` records. If other batches wait and the room does not
    /// suffice, the batch is dropped, and all its records are counted as lost.
    fn push(&self, message: &[u8], records: usize) {
        let mut waiting = self.lock();
        if !waiting.batches.is_empty() && waiting.records + records > self.room {
            waiting.lost += records as u64;
            return;
        }
        waiting.records += records;
        waiting.batches.push_back((message.to_vec(), records));
        drop(waiting);
        self.woken.notify_all();
    }

    /// Takes the next batch; if none is there, waits for one. `None` if the outbox has ended and
    /// all its batches were taken.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        let is_idle = |waiting: &mut Waiting| waiting.batches.is_empty() && !waiting.has_ended;
        let waited = self.woken.wait_while(self.lock(), is_idle);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
        let (message, records) = waiting.batches.pop_front()?;
        waiting.records -= records;
        Some(message)
    }

    /// Ends the outbox: [`take`](Self::take) returns the batches that still wait, and then `None`.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.woken.notify_all();
    }

    /// Drops the batches that wait, and ends the outbox: the listener takes no more.
    pub(crate) fn abandon(&self) {
        let mut waiting = self.lock();
        waiting.has_ended = true;
        (waiting.records, waiting.batches) = (0, VecDeque::new());
        drop(waiting);
        self.woken.notify_all();
    }

    /// The number of records that were lost because they found no room.
    pub(crate) fn lost(&self) -> u64 {
        self.lock().lost
    }
}

/// The outboxes of an experiment's listeners, as one delivery of records.
#[derive(Clone, Default)]
pub(crate) struct Outboxes(Arc<Mutex<Vec<Arc<Outbox>>>>);

impl Outboxes {
    pub(crate) fn add(&self, outbox: Arc<Outbox>) {
        self.lock().push(outbox);
    }

    pub(crate) fn end(&self) {
        self.lock().iter().for_each(|outbox| outbox.end());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Outbox>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Delivery for Outboxes {
    fn deliver(&mut self, batch: &RecordBatch<'_>, sections: &[Section]) -> io::Result<u64> {
        let mut list = self.lock();
        list.retain(|outbox| !outbox.lock().has_ended);
        if !list.is_empty() {
            let message = encode(batch, sections);
            list.iter().for_each(|outbox| outbox.push(&message, batch.len()));
        }
        Ok(0)
    }
}

/// The number that stands for an unknown time.
const NO_TIME: i64 = -1;

/// The position of an event's kind in Java's `EventKind`.
pub(crate) fn kind(kind: EventKind) -> u8 {
    match kind {
        EventKind::Start => 1,
        EventKind::End => 2,
        _ => 0,
    }
}

pub(crate) fn column(column: &RecordColumn, answer: &mut Answer) {
    answer.text(column.name.source()).text(column.name.group()).text(column.name.sensor());
    answer.optional_text(column.name.instance());
    answer.text(&column.unit).bits(column.raw_per_second.unwrap_or(0));
}

/// The bytes of a batch, as `RecordBatch` of Java reads them: first `true`, then the source and its
/// columns, then each part of the records as one run of values, then the sections.
fn encode(batch: &RecordBatch<'_>, sections: &[Section]) -> Vec<u8> {
    let mut answer = Answer::default();
    answer.bool(true).text(batch.source()).count(batch.columns().len());
    batch.columns().iter().for_each(|one| column(one, &mut answer));
    answer.i64(epoch_offset());
    let records: Vec<EventRecord> = batch.records().collect();
    let mut names: Vec<&str> = Vec::new();
    // There are few names, and mostly the one before.
    let places = records.iter().map(|record| {
        let name = &*record.event.name;
        names.iter().rposition(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    });
    let places: Vec<usize> = places.collect();
    answer.texts(names.iter());
    answer.count(records.len());
    places.iter().for_each(|place| _ = answer.count(*place));
    for record in &records {
        answer.i32(record.event.process.cast_signed());
    }
    for record in &records {
        answer.i32(record.event.thread.cast_signed());
    }
    let thread_time = |record: &EventRecord| record.event.thread_time.map_or(NO_TIME, i64_of);
    let times: [fn(&EventRecord) -> u64; 5] = [
        |record| record.event.time,
        |record| record.taken,
        |record| u64::try_from(record.sample.as_nanos()).unwrap_or(u64::MAX),
        |record| record.sampled,
        |record| record.done,
    ];
    for time in times {
        records.iter().for_each(|record| _ = answer.i64(i64_of(time(record))));
    }
    records.iter().for_each(|record| _ = answer.i64(thread_time(record)));
    let readings = || records.iter().flat_map(|record| &record.readings);
    readings().for_each(|one| _ = answer.bits(one.value.unwrap_or(f64::NAN).to_bits()));
    readings().for_each(|one| _ = answer.bits(one.raw.unwrap_or(0)));
    for record in &records {
        answer.u8(kind(record.event.kind));
    }
    readings().for_each(|one| _ = answer.bool(one.raw.is_some()));
    answer.count(sections.len());
    sections.iter().for_each(|one| section(one, &mut answer));
    answer.into_bytes()
}

/// The number of nanoseconds to add to a time of events, so that it counts from 1970. The wall
/// clock may be set, so this number is read anew for each batch.
fn epoch_offset() -> i64 {
    let now = PerfEvent::now(&Arc::from("")).time;
    WallTime.now().unwrap_or(0).saturating_sub(i64_of(now))
}

fn section(section: &Section, answer: &mut Answer) {
    let nanos = |time: std::time::Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    answer.text(&section.name);
    answer.i32(section.process.cast_signed()).i32(section.thread.cast_signed());
    answer.i64(i64_of(section.start)).i64(nanos(section.duration));
    answer.i64(section.thread_time.map_or(NO_TIME, nanos)).bits(section.calls);
    answer.count(section.growth.len());
    for growth in &section.growth {
        answer.bool(growth.is_some()).i64(growth.unwrap_or(0));
    }
}

fn i64_of(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_full_outbox_counts_what_it_has_no_room_for() {
        let outbox = Outbox::new(10);
        // More than the room, and taken by an empty outbox.
        outbox.push(b"a", 12);
        outbox.push(b"b", 1);
        assert_eq!(outbox.lost(), 1);
        assert_eq!(outbox.take().unwrap(), b"a");
        outbox.push(b"c", 6);
        outbox.push(b"d", 4);
        outbox.push(b"e", 1);
        assert_eq!(outbox.lost(), 2);
        outbox.end();
        assert_eq!((outbox.take().unwrap(), outbox.take().unwrap()), (b"c".into(), b"d".into()));
        assert_eq!(outbox.take(), None);
    }

    #[test]
    fn an_abandoned_outbox_keeps_nothing() {
        let outbox = Outbox::new(10);
        outbox.push(b"a", 1);
        outbox.abandon();
        assert_eq!(outbox.take(), None);
    }
}
