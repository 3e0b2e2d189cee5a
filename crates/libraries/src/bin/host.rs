//! The process that a provider's library runs in; started by perfhive only.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(any(target_os = "linux", windows))]
fn main() -> ExitCode {
    perfhive_libraries::host::main()
}

#[cfg(not(any(target_os = "linux", windows)))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
