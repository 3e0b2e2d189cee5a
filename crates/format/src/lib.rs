//! The format of Windows performance data, on any system.
//!
//! Windows answers a read of `HKEY_PERFORMANCE_DATA` with one self-describing
//! *data block*: a header, objects, the definitions of their counters, their
//! instances and the raw counter data. This crate reads such blocks
//! ([`DataBlock`]), writes them ([`BlockWriter`]), knows every counter type of
//! `winperf.h` ([`CounterType`]) and turns two raw samples into the value that
//! a person wants to see ([`cook()`]). It also reads and writes the title lists
//! that give names to the numbers in a block ([`titles`]).
//!
//! Everything here treats its input as hostile. [`DataBlock::parse`] validates a block once, in one
//! pass. After that, walking its objects, counters and instances cannot fail, and no view panics or
//! reads outside its bytes. There is no unsafe code, no I/O and no clock, and the crate needs only
//! `alloc`.
//!
//! ```
//! use perfhive_format::{BlockWriter, BlockHead, CounterSpec, CounterType, DataBlock};
//! use perfhive_format::{ObjectSpec, ObjectTemplate, TitleIndex};
//!
//! // An object "Memory" (4) without instances and with one counter.
//! let memory = ObjectTemplate::new(
//!     &ObjectSpec::new(TitleIndex(4)),
//!     &[CounterSpec::new(TitleIndex(24), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)],
//! )?;
//! let mut writer = BlockWriter::new();
//! writer.start(&BlockHead { system_name: "HOST", ..BlockHead::default() });
//! writer.object(&memory)?.values(&[1 << 30])?.finish()?;
//! let bytes = writer.finish();
//!
//! let block = DataBlock::parse(bytes)?;
//! let object = block.object(TitleIndex(4)).unwrap();
//! let available = object.counters().next().unwrap();
//! let value = object.counter_block().unwrap().value(&available)?;
//! assert_eq!(value, 1 << 30);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
mod column;
pub mod cook;
mod counter_type;
#[cfg(feature = "code-pages")]
mod encoding;
mod error;
mod name;
mod time;
pub mod titles;
mod view;
pub mod winperf;
mod write;

pub use column::{BaseColumn, Column, CounterPlan, Schema};
pub use cook::{
    Clock, Clocks, CookError, CookOptions, CookedValue, Formula, RawSample, cook, cook_with,
};
pub use counter_type::{
    CounterKind, CounterType, DisplayFacet, NumberBase, NumericSubtype, SizeFacet, TextEncoding,
    TimerFacet, TypeInfo, UnknownCounterType,
};
#[cfg(feature = "code-pages")]
pub use encoding::{FileEncoding, UnknownEncoding};
pub use error::{ParseError, ParseErrorKind, ValueError, WriteError};
pub use name::{InstanceName, decode_code_page, encode_utf16};
pub use time::{CalendarTime, FileTime};
pub use titles::{LanguageId, TitleIndex};
pub use view::{
    BlockHeader, CounterBlock, CounterDefinition, Counters, DataBlock, DetailLevel, Instance,
    Instances, ObjectLayout, Objects, PerfObject, ScanObjects,
};
pub use write::{
    BlockHead, BlockWriter, CounterSpec, InstanceHead, NameRef, ObjectSpec, ObjectTemplate,
    ObjectWriting,
};
