//! Handles of an experiment, used where the experiment is at work itself.

use super::{context, shown};
use perfhive_experiment::{
    Closer, EventSource, Experiment, ExperimentHandle, Interval, PerfEvent, RecordBatch, Section,
};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An event source whose closer asks the experiment for its bindings.
struct Asking {
    name: &'static str,
    handle: ExperimentHandle,
    closed: Receiver<()>,
    close: Arc<Mutex<Sender<()>>>,
}

impl Asking {
    fn new(name: &'static str, handle: ExperimentHandle) -> Self {
        let (close, closed) = channel();
        Self { name, handle, closed, close: Arc::new(Mutex::new(close)) }
    }
}

impl EventSource for Asking {
    fn name(&self) -> &str {
        self.name
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        self.closed.recv().map(|()| None).map_err(io::Error::other)
    }

    fn closer(&self) -> Closer {
        let (handle, close) = (self.handle.clone(), Arc::clone(&self.close));
        Box::new(move || {
            assert_eq!(handle.bindings().len(), 1);
            let _ = close.lock().unwrap().send(());
        })
    }

    fn missed(&self) -> u64 {
        0
    }
}

#[test]
fn closers_may_use_the_handle() {
    let experiment = Experiment::builder().start().unwrap();
    let handle = experiment.handle();
    experiment.bind(Asking::new("asking", handle.clone()), context(shown())).unwrap();
    handle.replace("asking", Asking::new("asking", handle.clone())).unwrap();
    let end = experiment.end();
    assert_eq!(end.bindings[0].failure, None);
}

#[test]
fn an_ended_source_does_not_hide_a_running_one_of_its_name() {
    let experiment = Experiment::builder().start().unwrap();
    let handle = experiment.handle();
    experiment.bind(super::Burst::new(1), context(shown())).unwrap();
    let name = experiment.bindings()[0].source.to_string();
    while !experiment.bindings()[0].ended {
        std::thread::sleep(Duration::from_millis(1));
    }
    let every = || Interval::new(&name, Duration::from_millis(2));
    assert!(handle.replace(&name, every()).is_err());
    experiment.bind(every(), context(shown())).unwrap();
    handle.replace(&name, every()).unwrap();
    assert!(experiment.end().bindings[1].failure.is_none());
}

#[test]
fn a_delivery_behind_the_end_is_refused() {
    let experiment = Experiment::builder().start().unwrap();
    let handle = experiment.handle();
    let nothing = |_: &RecordBatch<'_>, _: &[Section]| {};
    handle.deliver(nothing).unwrap();
    drop(experiment.end());
    assert!(handle.deliver(nothing).is_err());
}
