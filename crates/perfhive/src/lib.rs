//! Windows performance counters for everyone.
//!
//! [`open`] gives the [`Source`] of an address; a [`Query`] over the source turns counter paths
//! into values. The same code reads this machine (`local:`) and recorded Windows data blocks
//! (`file:a.bin,b.bin`); [`SCHEMES`] lists all kinds of addresses.
//!
//! ```no_run
//! use perfhive::{Query, open};
//! use std::{thread, time::Duration};
//!
//! let mut query = Query::new(open("local:")?)?;
//! query.add(r"\Processor(_Total)\% Processor Time")?;
//! query.add(r"\Memory\Available Bytes")?;
//! query.collect()?;
//! thread::sleep(Duration::from_secs(1));
//! query.collect()?;
//! for reading in query.readings() {
//!     match &reading.value {
//!         Ok(value) => println!("{} = {value}", query.path_of(reading)),
//!         Err(why) => println!("{}: {why}", query.path_of(reading)),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to begin
//!
//! | to | use |
//! |---|---|
//! | read counters by their paths, as PDH does | [`Query`]; each of its [`Reading`]s has a value or [the reason](NoValue) why there is none |
//! | find the processes that use most | [`Query::top`], [`Reading::process_id`], [`Reading::role`] |
//! | label instances for people | [`Reading::instance`], [`InstanceLabel::plain`] |
//! | read categories and counters as .NET does | [`Category`], [`PerformanceCounter`] |
//! | measure a section of a program | [`measure`]: [`MeasurementContext::section`](measure::MeasurementContext::section) |
//! | measure a program at its own events | the module `experiment` |
//! | share one source between readers | [`SharedSource`], [`Cached`] |
//! | keep deadlines with a source that may hang | [`Worker`], [`OpenOptions::patience`] |
//! | list what a machine has | [`Source::catalogue`], [`Source::titles`] |
//! | read recordings and logs, or write them | [`open`] with `file:`, the module `recording` |
//! | count in shared memory, for every reader of the machine | the module `publish` |
//! | offer counters of a program as objects | [`provide`] |
//! | write or register a counter library | the modules `contract` and `registration` |
//! | look into data blocks | [`format`](mod@format) |
//! | write a source of one's own | [`Source`], [`engine`] |
//!
//! # Features
//!
//! The first four are on by default; without them a reader of processors and memory takes seven crates on Linux.
//!
//! | feature | adds |
//! |---|---|
//! | `objects` | on Linux, the objects of disks, network, caches, sensors, pressure and control groups, beside System, Memory and Processor |
//! | `processes` | on Linux, Process, Thread, and the objects of memory maps |
//! | `languages` | on Linux, names and help texts in other languages than English; [assumed](perfhive_engine::TitleDatabase::is_assumed) English names for a source of your own that has none |
//! | `sharing` | [`Cached`], [`SharedSource`], and what reads through them: [`Category`], [`PerformanceCounter`], [`measure`] |
//! | `libraries` | on Linux, `local:` reads registered counter libraries, each in a host process of its own; on Linux and Windows, `provider_dll!` makes such a library |
//! | `registration` | registering such libraries, as lodctr does |
//! | `publish` | counters in shared memory: `local:` reads what programs publish, and a program publishes its own |
//! | `experiment` | experiments: measuring a program at its own events |
//! | `recording` | `file:` reads recordings, captures, data blocks and perfmon's logs; the module `recording` writes them |
//! | `bpf` | processes and threads through BPF on Linux; takes clang to build |
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "sharing"),
    expect(dead_code, reason = "names of data sources are for measuring")
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod bounded;
#[cfg(feature = "sharing")]
mod category;
#[cfg(all(feature = "libraries", any(target_os = "linux", windows)))]
pub mod extension;
#[cfg(feature = "sharing")]
mod later;
mod machine;
#[cfg(feature = "sharing")]
pub mod measure;
mod open;
mod options;
pub mod provide;
#[cfg(feature = "recording")]
pub mod recording;
#[cfg(feature = "registration")]
pub mod registration;
mod scheme;
mod schemes;
#[cfg(feature = "sharing")]
mod shared_source;

#[cfg(feature = "sharing")]
pub use category::{
    Category, CategoryData, CounterColumn, CounterSample, DataByCounter, DataByInstance,
    InstanceData, InstanceRow, PerformanceCounter,
};
pub use open::{open, reader_of_processes};
pub use options::OpenOptions;
pub use scheme::{Capabilities, SourceAddress, SourceScheme};
pub use schemes::{BadAddress, SCHEMES};
#[cfg(feature = "sharing")]
pub use shared_source::SharedSource;

/// The whole engine, for programs with sources and providers of their own: frames, pools, rosters,
/// guarded buffers, Windows' objects as tables.
pub use perfhive_engine as engine;
/// Sources, the asks that they are given, and the snapshots and catalogues that they answer with.
pub use perfhive_engine::{
    Ask, Catalogue, CatalogueCounter, CatalogueObject, Cost, Fault, FaultKind, Frame, InstanceWish,
    NO_OBJECT, ObjectQuery, ProviderState, ProviderStatus, Recording, Snapshot, SnapshotObject,
    Source, SourceError, SourceErrorKind, Span, TitleDatabase, TitleSet, Worker, nearest,
};
/// One source for many consumers.
#[cfg(feature = "sharing")]
pub use perfhive_engine::{CacheBuilder, CacheStatistics, Cached};
/// Counter paths, and queries that turn them into values.
pub use perfhive_engine::{
    CounterPath, FormattedValue, Identity, InstanceLabel, InstancePattern, InstanceRole,
    NamePattern, NoFormat, NoValue, NumberFormat, ObjectItems, ObjectSample, OrderNumber,
    PathError, PathId, Query, QueryError, Reading, RunningStatistics, SampleRing, SampledCounter,
    SourceSet, Statistics, ValueFormat, is_identifier, oldest_first, unit_of,
};

/// The binary format: views, writer, counter types, formulas.
pub use perfhive_format as format;
pub use perfhive_format::{
    CalendarTime, Clocks, CookError, CookOptions, CookedValue, CounterType, FileTime, LanguageId,
    RawSample, TitleIndex, ValueError,
};

/// The C contract of provider libraries (Open, Collect, Close), and the registrations of such
/// libraries.
#[cfg(feature = "libraries")]
pub use perfhive_contract as contract;

/// Experiments: a program is measured at its own events.
#[cfg(feature = "experiment")]
pub use perfhive_experiment as experiment;

/// The embedded Linux providers.
#[cfg(target_os = "linux")]
pub use perfhive_linux as linux;

/// The reader of Windows' own counters: the registry, the native functions, and registrations.
#[cfg(windows)]
pub use perfhive_windows as windows;

/// Counters that a program publishes in shared memory, for every reader of the machine.
#[cfg(all(
    feature = "publish",
    any(
        all(target_os = "linux", target_endian = "little"),
        all(windows, target_pointer_width = "64")
    )
))]
pub use perfhive_shm as publish;

/// Runs the examples of the README as tests; the types below run those of the manual.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/manual/dotnet.md")]
struct ForDotnet;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/manual/pdh.md")]
struct ForPdh;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/manual/measuring.md")]
struct ForMeasuring;
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../../../docs/manual/experiments.md")]
struct ForExperiments;
#[cfg(all(doctest, target_os = "linux", target_endian = "little"))]
#[doc = include_str!("../../../docs/manual/shared-memory.md")]
struct ForPublishing;
