//! Keeps provider libraries loaded until the process ends.

use crate::ffi;
use core::ffi::c_void;

/// Keeps the library or program that contains the address `inside` loaded until the process ends. The
/// function is meant for the entry `pin` of `provider_library!`. Wine loads and unloads provider libraries for
/// each request, and each load of a library with thread-local variables takes one of the process's TLS
/// indexes for good. Windows unloads the libraries when the key is closed, even if their threads run.
pub fn pin_library(inside: *const c_void) {
    // Without the pin the library works as before.
    let _ = ffi::pin_module(inside);
}
