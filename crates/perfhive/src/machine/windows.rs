//! This machine and others on Windows: the registry, native functions, published counters.

use super::{Opened, unavailable};
use crate::options::OpenOptions;
use crate::scheme::SourceAddress;
use perfhive_engine::{Broker, Source, SourceError, Worker};
use perfhive_format::TitleIndex;
use perfhive_windows::native::{NativeClock, NativeProvider, Ntdll, machine_name};
use perfhive_windows::{
    Fallback, RegistrySource, Timeouts, local_with_timeouts, remote_with_timeouts,
};
use std::sync::Arc;
use std::time::Duration;

/// The name of the data source of `local:` in measurements.
pub(crate) const DATA_SOURCE: &str = "windows.winperf";

/// The timeout of a call of the registry: the time that Windows gives a provider for its Open.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of the first request for all objects, which loads all libraries.
const FIRST_OF_ALL: Duration = Duration::from_secs(60);
/// The most timeouts that one request takes: one to connect to another machine, one for the request
/// itself, and two for the search for the providers that hang.
const TIMEOUTS: u32 = 4;

/// The timeouts of single calls, chosen so that a whole request keeps the timeout of the options;
/// the default timeouts where the options have none.
fn timeouts(options: &OpenOptions) -> Timeouts {
    let mut timeouts = Timeouts::all(TIMEOUT);
    timeouts.first_of_all = FIRST_OF_ALL;
    options.patience.map_or(timeouts, |patience| Timeouts::all(patience / TIMEOUTS))
}

/// Moves a source to a thread of its own, so that calls return by their deadlines. A call without a
/// deadline waits at most as long as all the timeouts of one request together.
fn by_deadline(source: impl Source + 'static, timeouts: Timeouts) -> Result<Worker, SourceError> {
    let Timeouts { call, first_of_all, .. } = timeouts;
    Worker::new(source, Some(first_of_all.saturating_add(call.saturating_mul(TIMEOUTS - 1))))
}

pub(crate) fn open_local(address: &SourceAddress, options: &OpenOptions) -> Opened {
    let name = address.to_string();
    let timeouts = timeouts(options);
    Ok(Box::new(by_deadline(with_published(&name, local(&name, timeouts)), timeouts)?))
}

pub(crate) fn open_native(address: &SourceAddress, _: &OpenOptions) -> Opened {
    Ok(Box::new(native(&address.to_string())))
}

pub(crate) fn open_registry(address: &SourceAddress, options: &OpenOptions) -> Opened {
    let timeouts = timeouts(options);
    let host = address.host().unwrap_or_default();
    let source = remote_with_timeouts(&address.to_string(), host, timeouts);
    Ok(Box::new(by_deadline(source, timeouts)?))
}

pub(crate) fn open_proc(address: &SourceAddress, _: &OpenOptions) -> Opened {
    Err(no_proc(address))
}

pub(crate) fn open_bpf(address: &SourceAddress, _: &OpenOptions) -> Opened {
    Err(no_proc(address))
}

fn no_proc(address: &SourceAddress) -> SourceError {
    let message = "there is no /proc on Windows; `-s local:` is this machine, `-s native:` its \
                   processes without the registry";
    unavailable(address, &message)
}

/// A source of the given counters and of the counters that programs of this machine publish.
#[cfg(all(feature = "publish", target_pointer_width = "64"))]
fn with_published(name: &str, source: impl Source + 'static) -> Box<dyn Source> {
    let published = Broker::builder(name, &machine_name())
        .roster(perfhive_shm::PublishedCounters::new())
        .label("published")
        .build();
    Box::new(perfhive_windows::Beside::new(source, published))
}

#[cfg(not(all(feature = "publish", target_pointer_width = "64")))]
fn with_published(_: &str, source: impl Source + 'static) -> Box<dyn Source> {
    Box::new(source)
}

/// The source of this machine's counters: those of the registry, and those of the native functions
/// for the objects that the registry lacks.
fn local(name: &str, timeouts: Timeouts) -> Fallback<RegistrySource, Broker> {
    Fallback::new(local_with_timeouts(name, timeouts), native(name))
}

fn native(name: &str) -> Broker {
    Broker::builder(name, &machine_name())
        .provider(Arc::new(NativeProvider::new(Arc::new(Ntdll))))
        .clock(NativeClock::new())
        .label("native")
        // Processor, the object that Windows names as its default.
        .default_object(TitleIndex(238))
        .build()
}

pub(crate) fn reader_of_local(_: &SourceAddress, options: &OpenOptions) -> Option<String> {
    // A remark in a listing is worth no long wait.
    let timeout = timeouts(options).call.min(TIMEOUT / 3);
    Some(match local("local:", Timeouts::all(timeout)).reason() {
        Ok(None) => "processes from the registry's counters".to_string(),
        Ok(Some(reason)) => reason.to_string(),
        Err(error) => error.message().to_string(),
    })
}

pub(crate) fn reader_of_native(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    Some("processes by Windows' native functions".to_string())
}

pub(crate) fn reader_of_bpf(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    None
}

pub(crate) fn version_of_system() -> String {
    let wine = if perfhive_windows::is_wine() { " (Wine)" } else { "" };
    format!("{}{wine}", perfhive_windows::native::windows_version())
}
