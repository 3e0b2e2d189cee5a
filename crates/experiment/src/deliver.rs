//! Deliveries: the places to which an experiment's records go.

use crate::record::{EventRecord, RecordBatch};
use crate::run::ExperimentEnd;
use crate::section::Section;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, TrySendError};

/// A place to which the records of an experiment go. Its methods do not run on threads that
/// measure.
///
/// Closures that take a batch and its sections are deliveries, and so is the sending side of a
/// bounded channel, which does not wait for the receiver: records for which the channel has no room
/// are lost.
pub trait Delivery: Send {
    /// Takes a batch of records, and the sections that end with them. Returns the number of records
    /// for which the delivery had no room.
    ///
    /// # Errors
    /// An error where the delivery cannot go on; a panic is taken for one. The delivery gets no more
    /// records, and the end of the experiment names the error, unless the delivery was
    /// [added later](crate::ExperimentHandle::deliver).
    fn deliver(&mut self, batch: &RecordBatch<'_>, sections: &[Section]) -> io::Result<u64>;

    /// Takes the result of the experiment, after the last records.
    ///
    /// # Errors
    /// An error where the result cannot be delivered; a panic is taken for one. The end of the experiment names the error,
    /// unless the delivery was [added later](crate::ExperimentHandle::deliver).
    fn end(&mut self, end: &ExperimentEnd) -> io::Result<()> {
        let _ = end;
        Ok(())
    }
}

impl<F: FnMut(&RecordBatch<'_>, &[Section]) + Send> Delivery for F {
    fn deliver(&mut self, batch: &RecordBatch<'_>, sections: &[Section]) -> io::Result<u64> {
        self(batch, sections);
        Ok(0)
    }
}

impl Delivery for SyncSender<EventRecord> {
    fn deliver(&mut self, batch: &RecordBatch<'_>, _: &[Section]) -> io::Result<u64> {
        let mut lost = 0;
        for record in batch.records() {
            match self.try_send(record) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => lost += 1,
                Err(TrySendError::Disconnected(_)) => {
                    return Err(io::Error::new(io::ErrorKind::BrokenPipe, "no one receives"));
                }
            }
        }
        Ok(lost)
    }
}

/// A delivery that writes JSON lines to a file or socket. It writes each batch at once, so that
/// every delivered record is readable even if the program ends abruptly.
/// `docs/manual/experiments.md` describes the lines.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    text: Vec<u8>,
    /// The event sources for which the line with the sensors was written, with the sensors' names.
    /// Two bindings may have event sources of one name and other sensors.
    known: Vec<(String, Vec<String>)>,
}

impl<W: Write + Send> JsonLines<W> {
    /// A delivery that writes lines to `out`. Times in the lines are seconds since the beginning of
    /// the experiment, also if the delivery was added later.
    pub fn new(out: W) -> Self {
        Self { out, text: Vec::new(), known: Vec::new() }
    }

    /// Writes a line that the caller made, such as a description of the experiment. Its `kind`
    /// should differ from those of the delivery's own lines: `source`, `record`, `section`, `end`.
    ///
    /// # Errors
    /// An error where the line cannot be written.
    pub fn line(&mut self, line: &Value) -> io::Result<()> {
        self.push(line)?;
        self.write()
    }

    /// Writes a line as [`line`](Self::line) does, but together with the next records, or at the end.
    ///
    /// # Errors
    /// An error where the line cannot be made.
    pub fn line_with_records(&mut self, line: &Value) -> io::Result<()> {
        self.push(line)
    }

    fn push(&mut self, line: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.text, line)?;
        self.text.push(b'\n');
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.text).and_then(|()| self.out.flush());
        self.text.clear();
        written
    }
}

impl JsonLines<Vec<u8>> {
    /// Removes the lines that were written to memory, and returns them.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Forgets which lines with sensors were written: the next records of each source have their
    /// sensors written before them again.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

impl<W: Write + Send> Delivery for JsonLines<W> {
    fn deliver(&mut self, batch: &RecordBatch<'_>, sections: &[Section]) -> io::Result<u64> {
        let names: Vec<String> = batch.columns().iter().map(|one| one.name.to_string()).collect();
        if !self.known.iter().any(|(source, of)| source == batch.source() && *of == names) {
            self.known.push((batch.source().to_string(), names.clone()));
            let sensors = batch.columns().iter().zip(&names).map(|(column, name)| {
                json!({"name": name, "unit": &*column.unit, "raw_per_second": column.raw_per_second})
            });
            let sensors: Vec<Value> = sensors.collect();
            self.push(&json!({
                "kind": "source",
                "source": batch.source(),
                "interval": batch.interval().map(|every| every.as_secs_f64()),
                "sensors": sensors,
            }))?;
        }
        // Events that waited in the pipe may lie before the experiment's beginning.
        let seconds = |time: u64| (time as f64 - batch.begin as f64) / 1e9;
        for record in batch.records() {
            let readings = || names.iter().zip(&record.readings);
            let values: Map<String, Value> =
                readings().map(|(name, one)| (name.clone(), json!(one.value))).collect();
            let raw: Map<String, Value> = readings()
                .filter_map(|(name, one)| Some((name.clone(), json!(one.raw?))))
                .collect();
            let line = json!({
                "kind": "record",
                "source": batch.source(),
                "event": &*record.event.name,
                "type": record.event.kind.code(),
                "time": seconds(record.event.time),
                "pid": record.event.process,
                "tid": record.event.thread,
                "gap": record.event.gap,
                "delay": record.delay().as_secs_f64(),
                "sample": record.sample.as_secs_f64(),
                "values": values,
                "raw": raw,
            });
            self.push(&line)?;
        }
        for section in sections {
            let growth = names.iter().zip(&section.growth);
            let growth: Map<String, Value> =
                growth.filter_map(|(name, one)| Some((name.clone(), json!((*one)?)))).collect();
            let line = json!({
                "kind": "section",
                "event": &*section.name,
                "time": seconds(section.start),
                "pid": section.process,
                "tid": section.thread,
                "seconds": section.duration.as_secs_f64(),
                "thread_seconds": section.thread_time.map(|time| time.as_secs_f64()),
                "calls": section.calls,
                "call_seconds": section.call_time.map(|time| time.as_secs_f64()),
                "call_thread_seconds": section.call_thread_time.map(|time| time.as_secs_f64()),
                "growth": growth,
            });
            self.push(&line)?;
        }
        self.write()?;
        Ok(0)
    }

    fn end(&mut self, end: &ExperimentEnd) -> io::Result<()> {
        let sources: Vec<Value> = (end.bindings.iter())
            .map(|one| {
                json!({
                    "source": &*one.source, "events": one.events, "lost": one.lost, "undelivered": one.undelivered,
                    "missed": one.missed, "listed_every": one.listed_every.map(|every| every.as_secs_f64()),
                    "filtered": one.filtered, "skipped": one.skipped,
                    "busy": one.busy.as_secs_f64(), "error": one.failure,
                })
            })
            .collect();
        let line = json!({
            "kind": "end",
            "seconds": end.elapsed.as_secs_f64(),
            "event_seconds": end.summary.overhead.mean(),
            "call_thread_seconds": end.summary.calls.mean().map(|time| time.as_secs_f64()),
            "unmatched": end.summary.unmatched,
            "sources": sources,
        });
        self.line(&line)
    }
}
