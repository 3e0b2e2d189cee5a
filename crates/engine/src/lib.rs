//! Sources, providers, names and queries over Windows performance data.
//!
//! One idea carries this crate: **everything that has counters is a [`Source`] of data blocks.** A
//! source answers an [`Ask`] with a [`Snapshot`]; whatever wraps a source is a source again. The
//! [`Broker`] is the source made of [`Provider`]s, the counterpart of Windows' performance library;
//! [`Query`] turns counter paths into values over any source.
//!
//! Partial failure is data: a provider that fails, an instance that vanished
//! and a counter without a value are facts attached to the result, never the
//! failure of the whole.
//!
//! | to | use |
//! |---|---|
//! | read values by path | [`Query`] over a [`Source`] |
//! | share a source, or keep deadlines with one that may hang | [`Cached`], [`Worker`] |
//! | measure a section of a program | [`measure`] |
//! | make objects | [`Provider`], [`Session`], and a [`Broker`] for them |
//! | write a source | [`Source`], which answers an [`Ask`] with a [`Snapshot`] of [`Frame`]s |
//!
//! ```
//! # let source = perfhive_testkit::script::recording();
//! use perfhive_engine::Query;
//!
//! let mut query = Query::new(source)?;
//! query.add(r"\System\Context Switches/sec")?;
//! query.collect()?;
//! query.collect()?;
//! for reading in query.readings() {
//!     match &reading.value {
//!         Ok(value) => println!("{} = {value}", query.path_of(reading)),
//!         Err(why) => println!("{}: {why}", query.path_of(reading)),
//!     }
//! }
//! # assert!(query.readings()[0].value.is_ok());
//! # Ok::<(), perfhive_engine::QueryError>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "sharing"),
    expect(dead_code, reason = "measuring uses more of queries than their readers do")
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod ask;
mod broker;
#[cfg(feature = "sharing")]
pub mod cached;
mod collect_tests;
mod desk;
mod error;
mod followed;
mod frame;
mod identity;
mod instance_reader;
mod kept_faults;
mod label;
#[cfg(feature = "sharing")]
pub mod measure;
mod path;
mod provider;
mod query;
mod shared_text;
mod source;
pub mod standard;
mod status;
mod suggest;
mod titles;
mod unit;
mod worker;

pub use ask::{Ask, InstanceWish, NO_OBJECT, ObjectQuery};
pub use broker::{BlockClock, Broker, BrokerBuilder, CHOSEN_INDEXES, Roster, StdClock};
#[cfg(feature = "sharing")]
pub use cached::{CacheBuilder, CacheStatistics, Cached};
pub use collect_tests::{CollectFault, CollectWarning, GuardedBuffer, RawClaim, TestLevel};
pub use desk::{Desk, NoAnswer};
pub use error::{Fault, FaultKind, ProviderError, SourceError, SourceErrorKind};
pub use followed::{Followed, INDEX_TAKEN, IndexChange, changing, sample_followed};
pub use frame::{Frame, FramePool, Parents, Snapshot, SnapshotObject};
pub use identity::{Identity, IdentityMap};
pub use instance_reader::InstanceReader;
pub use label::{InstanceLabel, InstanceRole};
pub use path::{CounterPath, InstancePattern, NamePattern, OrderNumber, PathError};
pub use provider::{
    Collection, Numbering, ObjectDescription, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, Session,
};
pub use query::{
    Directory, FormattedValue, Lookup, NoFormat, NoValue, NumberFormat, ObjectItems, ObjectSample,
    PathId, Query, QueryError, Reading, RunningStatistics, SampleRing, SampledCounter, SourceSet,
    Statistics, ValueFormat, oldest_first,
};
pub use shared_text::SharedText;
pub use source::{Catalogue, CatalogueCounter, CatalogueObject, Cost, Recording, Source, Span};
pub use status::{ProviderState, ProviderStatus};
pub use suggest::{nearest, same_name};
pub use titles::{TitleDatabase, TitleSet};
pub use unit::{is_identifier, unit_of};
pub use worker::Worker;
