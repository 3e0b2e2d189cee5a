//! Providers in libraries of their own, as Windows loads them: registered with
//! the names of three functions, and asked through these.
//!
//! By default a library runs in a host process of its own ([`HostCommand`]),
//! so that a crash, an endless loop, a leak or a write outside of its buffer
//! costs its own objects and nothing else. A library that is trusted
//! ([`Registration::in_process`](perfhive_contract::Registration)) runs in the
//! reader. Either way what it delivers passes the tests of Windows' performance
//! library before anybody reads it.
//!
//! On Windows the system's own performance library loads what is registered; there
//! this crate is for [`check`].
//!
//! [`ExtensionRoster`] makes a provider of each registration, for a broker.
#![cfg(any(target_os = "linux", windows))]
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod account;
#[allow(unsafe_code, reason = "maps memory that foreign code writes to")]
#[cfg_attr(windows, path = "windows/area.rs")]
mod area;
mod caller;
#[allow(unsafe_code, reason = "calls foreign code")]
mod calls;
mod check;
mod describe;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
#[allow(unsafe_code, reason = "closes what the host process must not have")]
#[cfg_attr(windows, path = "windows/host.rs")]
pub mod host;
mod in_process;
mod isolated;
#[allow(unsafe_code, reason = "calls foreign code")]
mod library;
mod options;
#[cfg_attr(windows, path = "windows/process.rs", allow(unsafe_code, reason = "calls Windows"))]
mod process;
mod provider;
mod room;
mod roster;
mod session;
mod wire;

pub use account::{account_text, enable, forget};
pub use check::{Finding, Severity, Verdict, check, check_with};
pub use options::{HostCommand, LogSink, Options};
pub use roster::{ExtensionRoster, RegistrationSource};
