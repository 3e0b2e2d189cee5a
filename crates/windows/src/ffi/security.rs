//! The calls of Windows about the owner and the access control list of a file, each in a safe
//! function.

use perfhive_registry::ValueName;
use std::ptr::null_mut;
use windows_sys::Win32::Foundation::{CloseHandle, ERROR_SUCCESS, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW, ConvertSidToStringSidW,
    GetNamedSecurityInfoW, SDDL_REVISION_1, SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetTokenInformation, OWNER_SECURITY_INFORMATION, TOKEN_QUERY,
    TOKEN_USER, TokenUser,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Copies a text that Windows allocated, in UTF-16 with a NUL at its end, and frees it. NULL gives
/// an empty text.
///
/// # Safety
/// The text must be allocated by `LocalAlloc`, end in a NUL, and not be used by anything else.
unsafe fn taken(text: *mut u16) -> String {
    if text.is_null() {
        return String::new();
    }
    let mut units = Vec::new();
    // SAFETY: by the contract, there are units up to a NUL.
    while let unit @ 1.. = unsafe { *text.add(units.len()) } {
        units.push(unit);
    }
    // SAFETY: by the contract, it was allocated so, and nothing refers to it any more.
    unsafe { LocalFree(text.cast()) };
    String::from_utf16_lossy(&units)
}

/// The owner and the access control list of a file or folder, in the security descriptor definition
/// language; the error is Windows' code if they cannot be read.
pub(crate) fn descriptor(path: &str) -> Result<String, u32> {
    let name = ValueName::new(path);
    let what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    let (none, mut found) = (null_mut(), null_mut());
    // SAFETY: the name ends in NUL and lives beyond the call; parts that are not wanted have no
    // place, and `found` is the place for the descriptor.
    let code = unsafe {
        GetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            what,
            none,
            null_mut(),
            null_mut(),
            null_mut(),
            &mut found,
        )
    };
    if code != ERROR_SUCCESS {
        return Err(code);
    }
    let mut text = null_mut();
    // SAFETY: `found` is the descriptor of the call above; `text` is the place for a text that is
    // allocated by the call.
    let done = unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            found,
            SDDL_REVISION_1,
            what,
            &mut text,
            null_mut(),
        )
    };
    // SAFETY: the descriptor was allocated by `LocalAlloc`, and nothing refers to it any more.
    unsafe { LocalFree(found) };
    if done == 0 {
        return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0).unsigned_abs());
    }
    // SAFETY: a text from the conversion, which ends in NUL and belongs to the caller.
    Ok(unsafe { taken(text) })
}

/// The security identifier of this process's user, as text. `None` if a call fails.
pub(crate) fn own_user() -> Option<String> {
    let mut token = null_mut();
    // SAFETY: the handle of this process needs no closing; `token` is the place for a handle.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut token) } == 0 {
        return None;
    }
    // As large as the largest identifier takes, and aligned for the structure.
    let mut user = [0u64; 32];
    let mut length = 0;
    let room = size_of_val(&user) as u32;
    // SAFETY: the token is open, and the buffer has the given number of bytes.
    let done = unsafe {
        GetTokenInformation(token, TokenUser, user.as_mut_ptr().cast(), room, &mut length)
    };
    // SAFETY: the handle was opened above and is closed once.
    unsafe { CloseHandle(token) };
    if done == 0 {
        return None;
    }
    let mut text = null_mut();
    // SAFETY: the buffer holds a `TOKEN_USER`, whose identifier points into the same buffer, which
    // lives beyond the call; `text` is the place for a text that is allocated by the call.
    let done = unsafe {
        let user: *const TOKEN_USER = user.as_ptr().cast();
        ConvertSidToStringSidW((*user).User.Sid, &mut text)
    };
    // SAFETY: a text from the conversion, which ends in NUL and belongs to the caller.
    (done != 0).then(|| unsafe { taken(text) })
}
