//! Experiments as programs run them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
mod calls;
mod handles;
#[cfg(target_os = "linux")]
mod header;
#[cfg(target_os = "linux")]
mod manage;
#[cfg(target_os = "linux")]
mod probes;
#[cfg(target_os = "linux")]
mod processes;
mod records;
mod threshold;

use perfhive_engine::measure::{CounterSource, DataSources, MeasurementContext, SensorName};
use perfhive_experiment::{Closer, EventSource, PerfEvent};
use perfhive_format::{CounterSpec, CounterType, TitleIndex};
use perfhive_testkit::script::{Row, block};
use perfhive_testkit::shown::ShownBlock;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

/// A live source with one counter of one instance, which reads 42.
fn shown() -> ShownBlock {
    ShownBlock::new(&[(10, "Engine"), (12, "Speed")], shows(42)).pooled()
}

/// A block in which the counter of [`shown`] has the value `speed`.
fn shows(speed: u64) -> Vec<u8> {
    let gauge = CounterSpec::new(TitleIndex(12), CounterType::PERF_COUNTER_RAWCOUNT);
    let rows: &[Row<'_>] = &[("main", None, &[speed])];
    block("HOST", 1, &[(TitleIndex(10), &[gauge], rows)])
}

/// A context of the counter of [`shown`], read from `source`.
fn context(source: ShownBlock) -> MeasurementContext {
    context_of(source, "main")
}

/// A context of an instance of the counter of [`shown`], or of all for `*`.
fn context_of(source: ShownBlock, instance: &str) -> MeasurementContext {
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("test.host", source)).unwrap();
    let name = SensorName::new("test.host", "Engine", "Speed").with_instance(instance);
    MeasurementContext::new(&mut sources, &[name]).unwrap()
}

/// An event source with a given number of events, without a pause between them.
struct Burst {
    left: usize,
    name: Arc<str>,
    /// Called on the thread that measures before each event.
    before: Box<dyn FnMut() + Send>,
}

impl Burst {
    fn new(events: usize) -> Self {
        Self { left: events, name: "burst".into(), before: Box::new(|| {}) }
    }
}

impl EventSource for Burst {
    fn name(&self) -> &str {
        "burst"
    }

    fn wait(&mut self) -> std::io::Result<Option<PerfEvent>> {
        (self.before)();
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        Ok(Some(PerfEvent::now(&self.name)))
    }

    fn closer(&self) -> Closer {
        Box::new(|| {})
    }

    fn missed(&self) -> u64 {
        0
    }
}
