//! The calls of Windows that the crate makes, each in a safe function.

use std::ffi::CStr;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};

/// Whether a library that is loaded already exports a function.
pub(crate) fn exports(library: &CStr, function: &CStr) -> bool {
    // SAFETY: both names are NUL-terminated and live beyond the calls; the
    // handle is asked for, not owned, and ntdll stays loaded as long as the
    // process lives. A handle of 0 is tested before it is used.
    unsafe {
        let module = GetModuleHandleA(library.as_ptr().cast());
        !module.is_null() && GetProcAddress(module, function.as_ptr().cast()).is_some()
    }
}
