//! The calls of Windows about the console, each in a safe function.

use windows_sys::Win32::Globalization::{CP_UTF8, WideCharToMultiByte};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType};
use windows_sys::Win32::System::Console::{
    GetConsoleOutputCP, GetStdHandle, STD_ERROR_HANDLE, STD_OUTPUT_HANDLE,
};

/// A stream of text that a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// The code page in which the reader of a pipe expects text: the code page of the console's output.
/// `None` if the stream is no pipe, if there is no console, or if the console's code page is UTF-8.
/// PowerShell 5.1 decodes a program's output with the console's code page.
#[must_use]
pub fn code_page_of_pipe(stream: TextStream) -> Option<u32> {
    let stream = match stream {
        TextStream::Output => STD_OUTPUT_HANDLE,
        TextStream::Error => STD_ERROR_HANDLE,
    };
    // SAFETY: the calls take no pointers; an invalid handle has an unknown type.
    let (kind, page) = unsafe { (GetFileType(GetStdHandle(stream)), GetConsoleOutputCP()) };
    // Without a console, the code page is 0.
    (kind == FILE_TYPE_PIPE && page != 0 && page != CP_UTF8).then_some(page)
}

/// The bytes of a text in a code page. A character that the code page lacks becomes its nearest
/// character, or a question mark. `None` if the system does not have the code page.
#[must_use]
pub fn encoded(text: &str, code_page: u32) -> Option<Vec<u8>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    let count = i32::try_from(units.len()).ok()?;
    let (none, flag) = (std::ptr::null(), std::ptr::null_mut());
    let call = |bytes: *mut u8, room: i32| {
        // SAFETY: the text has `count` units; `bytes` has room for `room` bytes, and with 0 nothing is
        // written; the two last arguments may be null.
        unsafe { WideCharToMultiByte(code_page, 0, units.as_ptr(), count, bytes, room, none, flag) }
    };
    let room = call(std::ptr::null_mut(), 0);
    let mut bytes = vec![0; usize::try_from(room).ok().filter(|room| *room > 0)?];
    let length = call(bytes.as_mut_ptr(), room);
    (length == room).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn umlauts_have_the_bytes_of_their_code_page() {
        assert_eq!(encoded("Prozessorzeit für Ä\n", 850).unwrap(), b"Prozessorzeit f\x81r \x8e\n");
        assert_eq!(encoded("ü", 1252).unwrap(), b"\xfc");
        assert_eq!(encoded("字", 850).unwrap(), b"?");
        assert_eq!(encoded("", 850).unwrap(), b"");
        assert_eq!(encoded("ü", 12_345), None);
    }
}
