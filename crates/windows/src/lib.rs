//! Windows' own counters: `HKEY_PERFORMANCE_DATA` and the functions below it.
//!
//! All calls of Windows' functions are in this crate; what it hands out is a
//! [`Source`](perfhive_engine::Source) like any other. On other systems the
//! crate has only what needs no Windows: the provider over the native functions'
//! answers, which are hostile input like any other, and are fuzzed there.
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(any(windows, test))]
mod allot;
#[cfg(windows)]
pub mod clocks;
#[cfg(any(windows, test))]
mod connect;
#[cfg(any(windows, test))]
mod explain;
#[cfg(any(windows, test))]
mod fallback;
#[cfg(windows)]
mod ffi;
#[cfg(any(windows, test))]
mod hangs;
pub mod native;
#[cfg(any(windows, test))]
mod parts;
#[cfg(windows)]
mod pin;
#[cfg(windows)]
mod priority;
#[cfg(any(windows, test))]
mod read;
#[cfg(any(windows, test))]
mod readers;
#[cfg(windows)]
mod register;
#[cfg(any(windows, test))]
mod registry;
#[cfg(any(windows, test))]
mod relay;
#[cfg(any(windows, test))]
mod source;
#[cfg(test)]
mod tests;
#[cfg(any(windows, test))]
mod titles;
#[cfg(any(windows, test))]
mod watched;
#[cfg(any(windows, test))]
mod wine;
#[cfg(windows)]
mod winreg;

#[cfg(any(windows, test))]
pub use fallback::Fallback;
#[cfg(windows)]
pub use pin::pin_library;
#[cfg(windows)]
pub use priority::at_lower_priority;
#[cfg(windows)]
pub use register::{WindowsRegistrar, allotted_indexes, enable, registered_linkage, report_event};
#[cfg(any(windows, test))]
pub use relay::Relay;
#[cfg(any(windows, test))]
pub use source::RegistrySource;
#[cfg(windows)]
pub use wine::is_wine;
