//! Windows' own counters: `HKEY_PERFORMANCE_DATA` and the functions below it.
//!
//! The crate makes the calls of Windows' functions and hands out a
//! [`Source`](perfhive_engine::Source) like any other. On other systems the crate has only the
//! portable part: the provider over the native functions' answers, which are hostile input and are
//! fuzzed there.
//!
//! | to | use |
//! |---|---|
//! | read this machine | `local_source` (the example `read_counters`) |
//! | read another machine through its Remote Registry | `remote_source` |
//! | go on where a provider hangs | `local_with_timeouts`, `remote_with_timeouts`: [`Timeouts`] |
//! | read the kernel's numbers without the registry | [`native::NativeProvider`] over `native::Ntdll`, with `native::NativeClock` |
//! | read the kernel's numbers only for objects that the registry lacks | [`Fallback`] |
//! | add objects that programs publish | [`Beside`] |
//! | register or unregister a library | `WindowsRegistrar`; `enable` for a provider that was disabled |
//! | write a provider library | `allotted_indexes`, `registered_linkage`, `report_event`, `pin_library`, `at_lower_priority` |
//! | read the clocks that measurements use | the module `clocks` |
//! | print text that the reader of a pipe can decode | `code_page_of_pipe`, `encoded` |
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(any(windows, test))]
mod allot;
#[cfg(windows)]
pub mod clocks;
#[cfg(windows)]
mod ffi;
pub mod native;
#[cfg(windows)]
mod pin;
#[cfg(windows)]
mod priority;
#[cfg(any(windows, test))]
mod readers;
#[cfg(windows)]
mod register;
#[cfg(any(windows, test))]
mod wine;
#[cfg(windows)]
mod winreg;

#[cfg(windows)]
pub use ffi::console::{TextStream, code_page_of_pipe, encoded};
pub use perfhive_registry::{Beside, Fallback, RegistrySource, Timeouts};
#[cfg(windows)]
pub use pin::pin_library;
#[cfg(windows)]
pub use priority::at_lower_priority;
#[cfg(windows)]
pub use register::{WindowsRegistrar, allotted_indexes, enable, registered_linkage, report_event};
#[cfg(windows)]
pub use wine::is_wine;
#[cfg(windows)]
pub use winreg::{local_source, local_with_timeouts, remote_source, remote_with_timeouts};
