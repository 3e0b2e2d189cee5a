//! How each scheme that reads a machine is opened on this system.
//!
//! Every system has the same functions; for a scheme that the system lacks, the function
//! returns an error that says what to do instead.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(any(target_os = "linux", windows)))]
mod other;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) use other::*;
#[cfg(windows)]
pub(crate) use windows::*;

use crate::scheme::SourceAddress;
use perfhive_engine::{Source, SourceError, SourceErrorKind};

/// The result of every function that opens a source.
type Opened = Result<Box<dyn Source>, SourceError>;

pub(crate) fn unavailable(address: &SourceAddress, message: &dyn std::fmt::Display) -> SourceError {
    SourceError::new(SourceErrorKind::Unavailable, &format!("{address}"), message)
}
