//! Signatures, strings and error codes of the three functions.
//!
//! Source: Microsoft, "The Collect Function" and its siblings for Open and
//! Close (Platform SDK, performance monitoring). `system` is `stdcall` on
//! 32-bit Windows and the C convention everywhere else.

use core::ffi::{c_char, c_void};

/// The call succeeded. If both counts of Collect are 0, there is nothing to give, or Collect
/// failed.
pub const ERROR_SUCCESS: u32 = 0;
/// Something that Open needs is missing.
pub const ERROR_FILE_NOT_FOUND: u32 = 2;
/// There is no memory left.
pub const ERROR_NOT_ENOUGH_MEMORY: u32 = 8;
/// A failure without a code of its own.
pub const ERROR_GEN_FAILURE: u32 = 31;
/// A required pointer is NULL.
pub const ERROR_INVALID_PARAMETER: u32 = 87;
/// The buffer of Collect is too small; Collect left the buffer's pointer unmoved and both counts 0.
pub const ERROR_MORE_DATA: u32 = 234;

/// `DWORD Open(LPWSTR lpDeviceNames)`: prepares the provider. The argument is the linkage of the
/// registration, with NULs between several strings, or NULL. Each reader in a process calls Open
/// once, so that Open may run several times; each call that returns [`ERROR_SUCCESS`] is followed
/// by one call of Close.
pub type OpenFunction = unsafe extern "system" fn(linkage: *mut u16) -> u32;

/// `DWORD Collect(LPWSTR lpwszValue, LPVOID *lppData, LPDWORD lpcbBytes, LPDWORD lpcObjectTypes)`:
/// writes the objects asked for. Several threads may call it at once.
pub type CollectFunction = unsafe extern "system" fn(
    value: *mut u16,
    data: *mut *mut c_void,
    bytes: *mut u32,
    object_types: *mut u32,
) -> u32;

/// `DWORD Close(void)`: the counterpart of one Open.
pub type CloseFunction = unsafe extern "system" fn() -> u32;

/// What perfhive's loader passes to a library that exports a [`HostFunction`]: the allotted
/// indexes, and a function that takes messages.
///
/// A library may export a [`HostFunction`] under the name of its Collect function followed by
/// `Host`; the loader calls it once, before the first Open. The structure, and what it points to,
/// stays until the library is unloaded.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Host {
    /// Size of this structure in bytes; later versions may have more fields at the end.
    pub size: u32,
    /// `First Counter` of the registration: the index of the provider's first name; 0 if the
    /// provider has to look it up itself, as a registered one does on Windows.
    pub first_counter: u32,
    /// `First Help` of the registration: the index of the provider's first help text; 0 if the
    /// provider has to look it up itself, as a registered one does on Windows.
    pub first_help: u32,
    /// Reserved: zero.
    pub reserved: u32,
    /// The first argument of `report`.
    pub context: *mut c_void,
    /// Takes a message for the administrator: why Open or Collect failed, in UTF-8 without a
    /// terminator. May be called from any thread. A Collect that gives no data and reports a
    /// message counts as failed. `None` if the loader takes no messages.
    pub report: Option<ReportFunction>,
}

/// The type of [`Host::report`]: a message of `length` bytes in UTF-8.
pub type ReportFunction =
    unsafe extern "system" fn(context: *mut c_void, text: *const c_char, length: usize);

/// The type of the function through which a library gets the [`Host`].
pub type HostFunction = unsafe extern "system" fn(host: *const Host);

/// The suffix of a [`HostFunction`]'s name, behind the name of Collect.
pub const HOST_SUFFIX: &str = "Host";

/// A text as UTF-16 with a NUL at its end.
#[must_use]
pub fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

/// NUL-separated strings as a `REG_MULTI_SZ`, which ends with two NULs.
#[must_use]
pub fn wide_list(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0, 0]).collect()
}

/// The length, in UTF-16 units, below which a string has to end in order to be read.
const LONGEST: usize = 1 << 20;

/// The string at `text`, up to its NUL. `None` if `text` is NULL, or if the first 1,048,576 units
/// hold no NUL. Lone surrogates become U+FFFD.
///
/// # Safety
/// `text` is NULL or points to UTF-16 units that can be read up to a NUL.
#[must_use]
pub unsafe fn read_wide(text: *const u16) -> Option<String> {
    // SAFETY: as promised by the caller.
    unsafe { read_until(text, false) }
}

/// The list of NUL-separated strings at `list`, up to two NULs, as one text with the NULs between
/// the strings. A NUL at the start is an empty list. NULL and a missing end give `None`, as in
/// [`read_wide`].
///
/// # Safety
/// `list` is NULL or points to UTF-16 units that can be read up to two NULs.
#[must_use]
pub unsafe fn read_wide_list(list: *const u16) -> Option<String> {
    // SAFETY: as promised by the caller.
    unsafe { read_until(list, true) }
}

/// A string up to a NUL, or with `list` a list of strings up to two NULs, where a NUL at the start
/// is an empty list. `None` for NULL, and if there is no end within `LONGEST` units.
///
/// # Safety
/// `text` is NULL, or points to units that can be read up to a NUL, and with `list` up to two NULs.
unsafe fn read_until(text: *const u16, list: bool) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let mut units = Vec::new();
    while units.len() < LONGEST {
        // SAFETY: no end was met so far, so this unit can be read too. Some
        // callers hand out strings at odd addresses.
        let unit = unsafe { text.add(units.len()).read_unaligned() };
        if unit == 0 && (!list || matches!(units.last(), None | Some(0))) {
            if list && units.last() == Some(&0) {
                units.pop();
            }
            return Some(String::from_utf16_lossy(&units));
        }
        units.push(unit);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_up_to_their_end() {
        let text = wide("Foreign Ä🦀");
        // SAFETY: terminated.
        assert_eq!(unsafe { read_wide(text.as_ptr()) }.as_deref(), Some("Foreign Ä🦀"));
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { read_wide(core::ptr::null()) }, None);
        for list in ["", "a", "a\0b"] {
            let text = wide_list(list);
            // SAFETY: terminated by two NULs.
            assert_eq!(unsafe { read_wide_list(text.as_ptr()) }.as_deref(), Some(list));
        }
        let endless = vec![b'x'.into(); LONGEST + 1];
        // SAFETY: reading stops before the end of the vector.
        assert_eq!(unsafe { read_wide(endless.as_ptr()) }, None);
    }
}
