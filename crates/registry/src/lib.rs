//! The portable reader of `HKEY_PERFORMANCE_DATA`, over a trait.
//!
//! [`PerfRegistry`] is what the reader needs of a registry: values by name, read into a buffer; the
//! names of keys; the registered providers; and numbers that change with each registration. It is
//! implemented over Windows' own calls, and a remote protocol can implement it too.
//! [`RegistrySource`] makes a [`Source`](perfhive_engine::Source) of it: growing buffers, retries,
//! titles in several languages, a timeout for each call, and reading a query in parts if it fails
//! as a whole. [`Fallback`] adds a second source for objects that the registry lacks. Deadlines of
//! callers are kept by a [`Worker`](perfhive_engine::Worker) around the source.
//!
//! ```
//! use perfhive_engine::{Ask, Snapshot, Source, SourceError};
//! use perfhive_registry::{PerfRegistry, RegistrySource};
//!
//! fn count(registry: impl PerfRegistry + 'static) -> Result<usize, SourceError> {
//!     let mut source = RegistrySource::over("registry://HOST", Box::new(registry));
//!     let mut snapshot = Snapshot::new();
//!     source.collect(&Ask::everything(), &mut snapshot)?;
//!     Ok(snapshot.objects().count())
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | read a machine through its registry | [`RegistrySource::over`] |
//! | go on where a provider hangs | [`RegistrySource::with_timeouts`], [`Timeouts`] |
//! | reach a registry in another way | [`PerfRegistry`]; error codes that decide are in [`codes`] |
//! | keep a connection to another machine | [`Remote`] over a [`Dialer`] |
//! | read one value into a growing buffer | [`read`], with [`Size`] and [`ReadError`] |
//! | list the languages of a machine, and read their names | [`languages`], [`raw`] |
//! | know what a registered provider may give | [`Service`] |
//! | add a second source for objects that the registry lacks | [`Fallback`] |
//! | add published objects | [`Beside`] |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

mod beside;
pub mod codes;
mod condition;
mod connect;
mod explain;
mod fallback;
mod hangs;
mod parts;
mod read;
mod registry;
mod service;
mod source;
#[cfg(test)]
mod tests;
mod titles;
mod watched;

pub use beside::{Beside, Yielding};
pub use connect::{Connect, Dialer, Remote};
pub use fallback::{Fallback, TimedSource};
pub use parts::argument;
pub use read::{ReadError, Size, read};
pub use registry::{LastTitles, PerfRegistry, RegistryKey, RegistryPart, Unreadable, ValueName};
pub use service::{BASE_INDEX, Service};
pub use source::{RegistrySource, Timeouts};
pub use titles::{Language, languages, raw};
pub use watched::Make;
