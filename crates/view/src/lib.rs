//! Headless presentation of performance counters.
//!
//! A terminal, a browser and an exporter show the same things: [`Row`]s with
//! named columns, labels of instances, scaled numbers with units, the past
//! values of a counter ([`History`]), the busiest processes ([`Selection`]),
//! names and the names nearest to an unknown one ([`Names`]).
//! It also keeps past samples ([`past`]), draws charts of them ([`chart`]), and summarizes a recording
//! ([`report`]).
//! All of this is made from a source's catalogue and a query's readings. The crate has no code for
//! terminals or HTML, and none that depends on the kind of source.
//!
//! | to | use |
//! |---|---|
//! | print readings with names and units | [`Row`] |
//! | find the busiest processes | [`TopProcesses`] |
//! | keep past values, by instance | [`History`], [`past`] |
//! | draw charts | [`chart`], [`drawing`] |
//! | summarize a recording | [`report`] |
//!
//! ```
//! # let source = perfhive_testkit::script::recording();
//! use perfhive_engine::Query;
//! use perfhive_view::{Detail, Row};
//!
//! let mut query = Query::new(source)?;
//! query.add(r"\System\Context Switches/sec")?;
//! query.collect()?;
//! query.collect()?;
//! let row = Row::new(&query, &query.readings()[0]);
//! if let Some(shown) = row.shown(Detail::Full) {
//!     println!("{}: {} {}", row.path, shown.number, shown.unit);
//! }
//! # assert!(row.has_value() && row.shown(Detail::Full).unwrap().unit == "/s");
//! # Ok::<(), perfhive_engine::QueryError>(())
//! ```
//!
//! The example `busiest` shows the processes of a Linux machine.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod arrange;
pub mod axis;
pub mod chart;
pub mod drawing;
mod field;
mod history;
pub mod label;
mod names;
pub mod number;
pub mod palette;
pub mod past;
pub mod report;
mod row;
mod sample;
mod scale;
mod selection;
mod suggest;
pub mod time;
mod typed;
mod usual;

pub use arrange::{Arranged, Arrangement, Order};
pub use field::Field;
pub use history::{History, sparkline};
pub use names::Names;
pub use row::{KEYS, LOCAL_KEYS, Row, RowValue};
pub use sample::{Sample, Sampler, Value, What};
pub use scale::{Detail, Quantity, Shown, is_hex, unit_for_people};
pub use selection::{BusyProcess, Selection, TopProcesses};
pub use suggest::did_you_mean;
pub use typed::{SHORT_NAMES, typed_path};
