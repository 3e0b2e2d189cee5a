//! A provider in Rust as a library: one object with an instance for each word of the linkage
//! string. The object's only counter is the number of earlier collections.
//!
//! ```text
//! cargo build --release --example gauges
//! perfhive check target/release/examples/libgauges.so
//! ```
//!
//! The linkage `panic` or `late-panic` shows that a panic is contained.

use perfhive_contract::provider_library;
use perfhive_engine::{
    Collection, Numbering, ObjectDescription, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::{
    CounterSpec, CounterType, InstanceHead, ObjectSpec, ObjectTemplate, TitleIndex,
};
use std::sync::atomic::{AtomicU64, Ordering};

provider_library! {
    provider: Gauges,
    open: OpenGauges,
    collect: CollectGauges,
    close: CloseGauges,
}

/// The offset of the object's name from First Counter, as in the .ini file.
const GAUGES: TitleIndex = TitleIndex(0);
/// The offset of the counter's name from First Counter, as in the .ini file.
const ASKED: TitleIndex = TitleIndex(2);

struct Gauges;

impl Provider for Gauges {
    fn name(&self) -> &str {
        "Gauges"
    }

    fn describe(&self) -> ProviderDescription {
        let counter = CounterSpec::new(ASKED, CounterType::PERF_COUNTER_BULK_COUNT);
        ProviderDescription::new(
            Numbering::Allotted,
            vec![ObjectDescription::new(ObjectSpec::new(GAUGES).with_instances(), vec![counter])],
        )
    }

    /// No titles: the registration of a library has its names.
    fn titles(&self) -> Vec<ProvidedTitles> {
        Vec::new()
    }

    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let name = |offset: TitleIndex| TitleIndex(context.first_counter + offset.0);
        let spec = ObjectSpec::new(name(GAUGES)).with_instances();
        let counter = CounterSpec::new(name(ASKED), CounterType::PERF_COUNTER_BULK_COUNT);
        let names = context.linkage.unwrap_or("one");
        Ok(Box::new(Reading {
            template: ObjectTemplate::new(&spec, &[counter])?,
            names: names.split(['\0', ' ']).map(str::to_string).collect(),
        }))
    }
}

/// The number of collections so far, of all sessions.
static TIMES: AtomicU64 = AtomicU64::new(0);

/// A session; each collecting thread has its own.
struct Reading {
    template: ObjectTemplate,
    names: Vec<String>,
}

impl Session for Reading {
    fn collect(
        &mut self,
        _: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let times = TIMES.fetch_add(1, Ordering::Relaxed);
        let mut object = out.object(&self.template)?;
        for name in &self.names {
            // The first panics at once, the second after it was asked for its objects.
            let broken = name == "panic" || name == "late-panic" && times >= 1;
            assert!(!broken, "the gauge called {name} is broken");
            object.instance(&InstanceHead::named(name), &[times])?;
        }
        object.finish()?;
        Ok(())
    }
}
