//! Libraries at work: providers, their sessions and accounts, and host processes.
//!
//! The reader's side, from top to bottom: `roster`, `provider`, `session`, `state`,
//! `account` and `hosted`, which drives a `process`. The host's side: `host`, `calls` and
//! `library`. Both speak `wire` and share the memory of `area`.

mod account;
#[allow(unsafe_code, reason = "maps memory that foreign code writes to")]
#[cfg_attr(windows, path = "hosting/windows/area.rs")]
mod area;
#[allow(unsafe_code, reason = "calls foreign code")]
mod calls;
mod check;
mod describe;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
#[allow(unsafe_code, reason = "closes what the host process must not have")]
#[cfg_attr(windows, path = "hosting/windows/host.rs")]
pub mod host;
mod hosted;
mod layout;
#[allow(unsafe_code, reason = "calls foreign code")]
mod library;
mod lock;
mod options;
mod pause;
#[cfg_attr(windows, allow(unsafe_code, reason = "calls Windows"))]
mod priority;
#[cfg_attr(
    windows,
    path = "hosting/windows/process.rs",
    allow(unsafe_code, reason = "calls Windows")
)]
mod process;
mod provider;
mod roster;
mod session;
mod state;
mod wire;

pub use account::{account_text, enable, forget};
pub use check::{Finding, Severity, Verdict, check, check_with};
pub use options::{HostCommand, HostOptions, LogSink};
pub use roster::{ExtensionRoster, RegistrationSource};
