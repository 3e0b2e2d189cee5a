//! The calls of Windows about paths, each in a safe function.

use perfhive_registry::ValueName;
use std::path::PathBuf;
use std::ptr::null_mut;
use windows_sys::Win32::System::Environment::ExpandEnvironmentStringsW;
use windows_sys::Win32::System::SystemInformation::{GetSystemDirectoryW, GetWindowsDirectoryW};

/// The length of the longest path of Windows in UTF-16 units, with its NUL.
const LONGEST: u32 = 1 << 15;

/// A text with its environment variables expanded; unchanged if the call fails or the result would
/// be longer than any path.
pub(crate) fn expanded(text: &str) -> String {
    let source = ValueName::new(text);
    // SAFETY: the text ends in NUL and lives beyond the call; without room, nothing is written.
    let length = unsafe { ExpandEnvironmentStringsW(source.as_ptr(), null_mut(), 0) };
    if length == 0 || length > LONGEST {
        return text.to_string();
    }
    let mut units = vec![0u16; length as usize];
    // SAFETY: as above; the buffer has the given number of units, and is borrowed exclusively.
    let length = unsafe { ExpandEnvironmentStringsW(source.as_ptr(), units.as_mut_ptr(), length) };
    // With the NUL; a variable may have become longer meanwhile.
    let end = (length as usize).checked_sub(1).filter(|end| *end < units.len());
    let text_of = |end| units.get(..end).map(String::from_utf16_lossy);
    end.and_then(text_of).unwrap_or_else(|| text.to_string())
}

/// The folders in which Windows looks for libraries: `System32` and its parent.
pub(crate) fn system_folders() -> Vec<PathBuf> {
    let folder = |call: unsafe extern "system" fn(*mut u16, u32) -> u32| {
        let mut units = [0u16; 260];
        // SAFETY: both functions write a path of at most the given number of units to the buffer,
        // which has that many and is borrowed exclusively.
        let length = unsafe { call(units.as_mut_ptr(), units.len() as u32) } as usize;
        // The length is 0 after a failure, and more than the room if that was too small.
        let path = units.get(..length).filter(|path| !path.is_empty())?;
        Some(PathBuf::from(String::from_utf16_lossy(path)))
    };
    [folder(GetSystemDirectoryW), folder(GetWindowsDirectoryW)].into_iter().flatten().collect()
}
