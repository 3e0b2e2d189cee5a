//! Windows' own counters: `HKEY_PERFORMANCE_DATA` and the functions below it.
//!
//! All calls of Windows' functions are in this crate; what it hands out is a
//! [`Source`](perfhive_engine::Source) like any other. On other systems the
//! crate is empty: what needs no Windows in it is tested there all the same.
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(any(windows, test))]
mod allot;
#[cfg(any(windows, test))]
mod explain;
#[cfg(any(windows, test))]
mod fallback;
#[cfg(windows)]
mod ffi;
#[cfg(any(windows, test))]
pub mod native;
#[cfg(any(windows, test))]
mod parts;
#[cfg(windows)]
mod priority;
#[cfg(any(windows, test))]
mod read;
#[cfg(windows)]
mod register;
#[cfg(any(windows, test))]
mod registry;
#[cfg(any(windows, test))]
mod source;
#[cfg(test)]
mod tests;
#[cfg(windows)]
mod time;
#[cfg(any(windows, test))]
mod titles;
#[cfg(any(windows, test))]
mod wine;
#[cfg(windows)]
mod winreg;

#[cfg(any(windows, test))]
pub use fallback::Fallback;
#[cfg(windows)]
pub use priority::at_lower_priority;
#[cfg(windows)]
pub use register::{WindowsRegistrar, allotted_indexes, registered_linkage, report_event};
#[cfg(any(windows, test))]
pub use source::RegistrySource;
#[cfg(windows)]
pub use time::{PerformanceCounterTime, ProcessCpuTime, ThreadCpuTime};
#[cfg(windows)]
pub use wine::is_wine;
