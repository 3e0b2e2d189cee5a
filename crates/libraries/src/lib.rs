//! Registered provider libraries.
//!
//! - [`definition`] reads what a provider says about itself: `.ini` files and manifests.
//! - [`hive`] is the form of registrations on systems without a registry; `store` keeps
//!   them in files and decides which files can be trusted.
//! - [`functions`] finds the functions that a library exports.
//! - [`ExtensionRoster`] makes a provider of each registration, for a broker.
//! - [`check`] tests one library against the contract.
//!
//! A library runs in a host process of its own ([`HostCommand`]): a crash, an endless
//! loop, a leak or a write outside of its buffer costs its own objects and nothing else.
//! What it delivers passes the tests of Windows' performance library before a reader
//! sees it. On Windows the system's own performance library loads what is registered;
//! there this crate is for definitions and for [`check`].
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

pub mod definition;
pub mod functions;
pub mod hive;
#[cfg(target_os = "linux")]
pub mod store;

#[cfg(any(target_os = "linux", windows))]
mod account;
#[cfg(any(target_os = "linux", windows))]
#[allow(unsafe_code, reason = "maps memory that foreign code writes to")]
#[cfg_attr(windows, path = "windows/area.rs")]
mod area;
#[cfg(any(target_os = "linux", windows))]
mod caller;
#[cfg(any(target_os = "linux", windows))]
#[allow(unsafe_code, reason = "calls foreign code")]
mod calls;
#[cfg(any(target_os = "linux", windows))]
mod check;
#[cfg(any(target_os = "linux", windows))]
mod describe;
#[cfg(any(target_os = "linux", windows))]
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
#[cfg(any(target_os = "linux", windows))]
#[allow(unsafe_code, reason = "closes what the host process must not have")]
#[cfg_attr(windows, path = "windows/host.rs")]
pub mod host;
#[cfg(any(target_os = "linux", windows))]
mod in_process;
#[cfg(any(target_os = "linux", windows))]
mod isolated;
#[cfg(any(target_os = "linux", windows))]
#[allow(unsafe_code, reason = "calls foreign code")]
mod library;
#[cfg(any(target_os = "linux", windows))]
mod options;
#[cfg(any(target_os = "linux", windows))]
#[cfg_attr(windows, path = "windows/process.rs", allow(unsafe_code, reason = "calls Windows"))]
mod process;
#[cfg(any(target_os = "linux", windows))]
mod provider;
#[cfg(any(target_os = "linux", windows))]
mod room;
#[cfg(any(target_os = "linux", windows))]
mod roster;
#[cfg(any(target_os = "linux", windows))]
mod session;
#[cfg(any(target_os = "linux", windows))]
mod wire;

#[cfg(any(target_os = "linux", windows))]
pub use account::{account_text, enable, forget};
#[cfg(any(target_os = "linux", windows))]
pub use check::{Finding, Severity, Verdict, check, check_with};
#[cfg(any(target_os = "linux", windows))]
pub use options::{HostCommand, LogSink, Options};
#[cfg(any(target_os = "linux", windows))]
pub use roster::{ExtensionRoster, RegistrationSource};
