//! Windows' own counters: `HKEY_PERFORMANCE_DATA` and the functions below it.
//!
//! All calls of Windows' functions are in this crate; what it hands out is a
//! [`Source`](perfhive_engine::Source) like any other. On other systems the
//! crate is empty: what needs no Windows in it is tested there all the same.
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(windows)]
mod ffi;
#[cfg(any(windows, test))]
mod wine;

#[cfg(windows)]
pub use wine::is_wine;
