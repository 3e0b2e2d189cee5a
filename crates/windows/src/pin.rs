//! Libraries that stay.

use crate::ffi;
use core::ffi::c_void;

/// Keeps the library or program in which an address lies loaded until the process ends;
/// for `pin` of a provider library. Wine loads and unloads those for each request, and
/// each loading of one that has variables of threads takes one of a process' TLS indexes
/// for good; Windows unloads them when the key is closed, whatever threads they have.
pub fn pin_library(inside: *const c_void) {
    // One that cannot be pinned is as good as before.
    let _ = ffi::pin_module(inside);
}
