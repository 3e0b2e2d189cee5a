//! Counters that a program publishes in shared memory: what .NET offers to its own programs, for
//! programs in any language.
//!
//! A program declares a [`PublishedCategory`] with its counters, and then counts with these.
//! Readers see the category like any other object, without asking the program. A change is one
//! relaxed atomic operation in a mapped file, or a few for a counter with a base. The manual's
//! `shared-memory.md` describes the file's layout, by which programs in other languages publish
//! too.
//!
//! ```
//! use perfhive_shm::{PublishedCategory, CounterDeclaration, CounterType};
//! # let folder = std::env::temp_dir().join(format!("perfhive-doc-{}", std::process::id()));
//!
//! let shop = PublishedCategory::builder("Web Shop")
//!     .help("Orders of the shop, by city.")
//!     .instances(100)
//!     .counter(CounterDeclaration::new("Orders/sec", CounterType::PERF_COUNTER_BULK_COUNT))
//!     .counter(CounterDeclaration::new("Avg. sec/Order", CounterType::PERF_AVERAGE_TIMER))
//! #   .folder(&folder)
//!     .publish()?;
//!
//! let berlin = shop.instance("Berlin")?;
//! let (orders, time) = (berlin.counter("Orders/sec")?, berlin.pair("Avg. sec/Order")?);
//! for _ in 0..3 {
//!     let _time = time.time(); // Until the end of the scope.
//!     orders.increment();
//! }
//! assert_eq!((orders.get(), time.get().1), (3, 3));
//! # drop(shop);
//! # std::fs::remove_dir(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Place and lifetime of the file
//!
//! The file lies in `/dev/shm/perfhive-UID`, on Windows in `%LOCALAPPDATA%\perfhive\counters`, or
//! in the folder that the variable `PERFHIVE_COUNTERS` names. The file is removed when the last
//! handle to the category is dropped. If the process dies first, the kernel releases the file's lock:
//! the instances vanish, and the next reader or writer with the right to do so removes the file.
//!
//! # After a fork
//!
//! A forked process has the handles of its parent, and counting with them has no effect: the
//! numbers belong to the parent. Requests for further instances fail with
//! [`PublishErrorKind::Forked`]. A category that the forked process publishes itself is its own.
// The numbers of a file are little-endian: a big-endian machine could not add to them by one atomic
// operation. On Windows readers use a read-only mapping, from which only 64-bit machines load 8
// bytes at once.
#![cfg(any(
    all(target_os = "linux", target_endian = "little"),
    all(windows, target_pointer_width = "64")
))]
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod category;
mod counter;
mod definition;
mod error;
mod layout;
mod os;
mod pair;
#[cfg(feature = "reader")]
mod reader;

pub use category::{CategoryBuilder, Lifetime, PublishedCategory, PublishedInstance};
pub use counter::{ActiveTime, OperationTime, PairCounter, PublishedCounter};
pub use definition::CounterDeclaration;
pub use error::{PublishError, PublishErrorKind};
pub use perfhive_format::{CounterType, DetailLevel};
#[cfg(feature = "reader")]
pub use reader::{
    FileContents, FileDefinition, InstanceValues, LayoutError, PublishedCounters, decode,
};
