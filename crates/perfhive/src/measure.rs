//! Measuring, from addresses to data sources.
//!
//! [`open`] makes the [`DataSources`] of addresses. This module also has clocks of this machine,
//! and everything of [`perfhive_engine::measure`], which explains states and anomalies.
//!
//! ```ignore-windows,ignore-macos
//! use perfhive::measure::{self, MeasurementContext, MeasurementOptions, Readings, SensorName};
//!
//! let mut sources = measure::open(&["local:"])?;
//! let names = [
//!     SensorName::new("linux.procfs", "System", "Context Switches/sec"),
//!     SensorName::new("linux.procfs", "Process", "Working Set")
//!         .with_instance(&std::process::id().to_string()),
//! ];
//! let options = MeasurementOptions::new().time(measure::ProcessCpuTime);
//! let mut context = MeasurementContext::with_options(&mut sources, &names, options)?;
//! let mut readings = Readings::new();
//! for _ in 0..3 {
//!     context.prepare()?;
//!     // ... what is to be measured ...
//!     let record = context.sample()?;
//!     println!("taken in {:?}", record.duration);
//!     let record = context.decode(&mut readings)?;
//!     for anomaly in &record.anomalies {
//!         println!("! {anomaly}");
//!     }
//!     for reading in readings.iter() {
//!         match &reading.value {
//!             Ok(value) => println!("{} = {value}", reading.slot.name),
//!             Err(why) => println!("{}: {why}", reading.slot.name),
//!         }
//!     }
//! }
//! # assert_eq!(readings.len(), 2);
//! # assert!(readings.iter().all(|reading| reading.value.is_ok()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(any(target_os = "linux", windows))]
mod time;

pub use perfhive_engine::measure::*;
#[cfg(any(target_os = "linux", windows))]
pub use time::{PerformanceCounterTime, ProcessCpuTime, ThreadCpuTime};

use crate::{OpenOptions, SharedSource, SourceAddress};
use perfhive_engine::{
    Ask, Cached, Catalogue, ObjectQuery, ProviderStatus, Recording, Snapshot, Source, SourceError,
    TitleDatabase,
};
use perfhive_format::LanguageId;
use std::sync::Arc;
use std::time::Duration;

/// A data source of counters, all probe contexts of which share one cache. From a live source, a
/// context gets data from before its request only if its own options permit data of that age
/// ([`MeasurementOptions::max_age`]).
pub type SharedCounters = CounterSource<Cached<Box<dyn Source>>>;

/// Opens the data sources of [addresses](SourceAddress), named by
/// [`name_of`], with the default options.
///
/// ```no_run
/// use perfhive::measure;
///
/// // Sensors linux.procfs/... and log.MACHINE/..., in one context if need be.
/// let sources = measure::open(&["local:", "file:a.bin,b.bin"])?;
/// # Ok::<(), measure::MeasureError>(())
/// ```
///
/// # Errors
/// A text that is not an address; a source that cannot be read; two sources of one name.
pub fn open(addresses: &[&str]) -> Result<DataSources, MeasureError> {
    let mut sources = DataSources::new();
    for address in addresses {
        sources.add(data_source(address, &OpenOptions::new())?)?;
    }
    Ok(sources)
}

/// Opens the data source of one address, to be added to [`DataSources`].
///
/// `local:` gives the source that the categories, counters and contexts of this machine share
/// ([`SharedSource::local`]). With a [patience](OpenOptions::patience), it is opened anew, as any
/// other address is.
///
/// ```no_run
/// use perfhive::OpenOptions;
/// use perfhive::measure::{self, DataSources};
///
/// let mut sources = DataSources::new();
/// let options = OpenOptions::new().titles("009.txt");
/// sources.add(measure::data_source("file:a.bin,b.bin", &options)?)?;
/// # Ok::<(), measure::MeasureError>(())
/// ```
///
/// # Errors
/// A text that is not an address; a source that cannot be read.
pub fn data_source(address: &str, options: &OpenOptions) -> Result<SharedCounters, MeasureError> {
    match address.parse() {
        Ok(address) if address == SourceAddress::local() && options.patience.is_none() => {
            let name = name_of(&address, "");
            Ok(CounterSource::new(&name, SharedSource::local()?.source()))
        }
        Ok(parsed) => {
            let mut source = options.open(address)?;
            let name = name_of(&parsed, &source.catalogue(&Ask::nothing())?.machine);
            if source.recording().is_none() {
                let shared = crate::later::shared(&parsed, options, source);
                return Ok(CounterSource::new(&name, shared));
            }
            Ok(counters_of(&name, source))
        }
        // Opening returns the error of the address.
        Err(_) => Ok(counters_of("", options.open(address)?)),
    }
}

/// The data source of any source, under a name of the caller's choice. This function is for two
/// recordings of one machine, which need different names, and for a source behind a
/// [`Worker`](crate::Worker), which keeps to deadlines.
///
/// Data of a live source is kept for other readers for 500 ms. The present sample of a recording is
/// kept as a whole until a reader that has already had it asks for a sample; the recording then
/// moves on. All readers are thus at the same sample.
///
/// ```ignore-windows,ignore-macos
/// use perfhive::measure::{self, DataSource};
/// use perfhive::{Worker, open};
/// use std::time::Duration;
///
/// // A second at most, whatever the machine does.
/// let worker = Worker::new(open("local:")?, Some(Duration::from_secs(1)))?;
/// let mut source = measure::counters_of("linux.patient", worker);
/// assert!(source.sensors()?.iter().any(|sensor| sensor.name.group() == "Memory"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn counters_of(name: &str, mut source: impl Source + 'static) -> SharedCounters {
    let cached = if source.recording().is_none() {
        Cached::new(Box::new(source) as Box<dyn Source>)
    } else {
        Cached::builder(Box::new(WholeSamples(source)) as Box<dyn Source>)
            .max_age(Duration::MAX)
            .build()
    };
    CounterSource::new(name, cached)
}

/// The name of an address's data source: `linux.procfs` for this machine, also where BPF reads
/// the processes (on Windows `windows.winperf`, or `windows.native` for `native:`);
/// `windows.HOST` for another Windows machine; `log.MACHINE` for a recording, or, where `machine`
/// is empty, `log.FILE` with the name of the first file without its ending; `copy.FOLDER` for a
/// copy of a machine's proc and sys. `machine` has no effect on other addresses than recordings.
///
/// ```ignore-windows
/// use perfhive::measure;
///
/// assert_eq!(measure::name_of(&"local:".parse()?, ""), "linux.procfs");
/// assert_eq!(measure::name_of(&"file:a.bin,b.bin".parse()?, "SERVER"), "log.SERVER");
/// assert_eq!(measure::name_of(&"file:x/a.bin".parse()?, ""), "log.a");
/// assert_eq!(measure::name_of(&"proc:/data/box".parse()?, "server"), "copy.box");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn name_of(address: &SourceAddress, machine: &str) -> String {
    address.data_source(machine)
}

/// A recording that answers every request with a whole sample. Through a cache, a reader that asks
/// for one object and then for another gets both from the same sample.
struct WholeSamples<S>(S);

impl<S: Source> Source for WholeSamples<S> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        let mut whole = ask.clone();
        whole.objects = ObjectQuery::Global;
        self.0.collect(&whole, out)
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.0.catalogue(ask)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.0.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.0.providers(ask)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.0.recording()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_handed_through_with_its_ask_and_a_collection_is_of_everything() {
        let wrap = |source| -> Box<dyn Source> { Box::new(WholeSamples(source)) };
        perfhive_testkit::forwarding::source(wrap, |_| ObjectQuery::Global);
    }
}
