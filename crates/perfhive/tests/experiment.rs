//! An experiment over a real process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::experiment::{Closer, EventSource, Experiment, PerfEvent};
use perfhive::measure::{self, MeasurementContext, SensorName};
use perfhive_testkit::alloc;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

const EVENTS: usize = 300;

/// An event source with [`EVENTS`] events without a pause between them. `counts` has the number of
/// allocations that the measuring thread had made at each wait; the numbers are sent at the end.
struct Counted {
    name: Arc<str>,
    counts: Vec<u64>,
    done: Sender<Vec<u64>>,
}

impl EventSource for Counted {
    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> std::io::Result<Option<PerfEvent>> {
        self.counts.push(alloc::thread().count);
        if self.counts.len() > EVENTS {
            self.done.send(std::mem::take(&mut self.counts)).unwrap();
            return Ok(None);
        }
        Ok(Some(PerfEvent::now(&self.name)))
    }

    fn closer(&self) -> Closer {
        Box::new(|| {})
    }

    fn missed(&self) -> u64 {
        0
    }
}

#[test]
fn a_warm_event_with_sensors_of_one_process_allocates_nothing() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let process = child.id().to_string();
    let mut sources = measure::open(&["local:"]).unwrap();
    let names = ["% Processor Time", "Working Set", "Page Faults/sec"]
        .map(|sensor| SensorName::new("linux.procfs", "Process", sensor).with_instance(&process));
    let context = MeasurementContext::new(&mut sources, &names).unwrap();
    let experiment = Experiment::builder().start().unwrap();
    let (done, counts) = std::sync::mpsc::channel();
    let counts_before = Vec::with_capacity(2 * EVENTS);
    experiment.bind(Counted { name: "now".into(), counts: counts_before, done }, context).unwrap();
    let counts = counts.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    let end = experiment.end();
    child.kill().unwrap();
    child.wait().unwrap();
    let event = &end.summary.events[0];
    assert_eq!(event.count, EVENTS as u64);
    assert_eq!(event.sensors[1].1.count(), EVENTS as u64, "each has a working set");
    assert!(counts[0] > 0, "the counting allocator counts");
    let each: Vec<u64> = counts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(each[50..].iter().sum::<u64>(), 0, "{each:?}");
}
