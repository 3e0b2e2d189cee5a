//! Keeps provider libraries loaded until the process ends.

use crate::ffi;
use core::ffi::c_void;

/// Keeps the library or program that contains an address loaded until the process ends; for `pin`
/// of a provider library. Wine loads and unloads provider libraries for each request, and each load
/// of a library with thread-local variables takes one of a process's TLS indexes for good. Windows
/// unloads the libraries when the key is closed, whatever threads they have.
pub fn pin_library(inside: *const c_void) {
    // Without the pin the library works as before.
    let _ = ffi::pin_module(inside);
}
