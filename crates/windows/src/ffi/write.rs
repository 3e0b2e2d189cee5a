//! The calls of Windows that write, each in a safe function: keys and values of registrations, and
//! the event log.

use super::Key;
use perfhive_registry::ValueName;
use perfhive_registry::codes::{INVALID_DATA, NOT_FOUND, SUCCESS};
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::FreeLibrary;
use windows_sys::Win32::System::EventLog::{
    DeregisterEventSource, EVENTLOG_WARNING_TYPE, RegisterEventSourceW, ReportEventW,
};
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExA,
};
use windows_sys::Win32::System::Registry::{
    HKEY, KEY_READ, KEY_WRITE, REG_DWORD, REG_MULTI_SZ, REG_OPTION_NON_VOLATILE, REG_SZ,
    RegCreateKeyExW, RegDeleteKeyW, RegDeleteTreeW, RegDeleteValueW, RegOpenKeyExW, RegSetValueExW,
};

/// A value to write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// `REG_SZ`.
    Text(&'a str),
    /// `REG_MULTI_SZ`: strings separated by NUL.
    List(&'a str),
    /// `REG_DWORD`.
    Number(u32),
}

impl Value<'_> {
    fn encode(self) -> (u32, Vec<u8>) {
        let wide = |text: &str, end: usize| {
            let units = text.encode_utf16().chain(std::iter::repeat_n(0, end));
            units.flat_map(u16::to_le_bytes).collect()
        };
        match self {
            Self::Text(text) => (REG_SZ, wide(text, 1)),
            Self::List(text) => (REG_MULTI_SZ, wide(text, 2)),
            Self::Number(number) => (REG_DWORD, number.to_le_bytes().to_vec()),
        }
    }
}

impl Key {
    /// Opens a key below this one for reading and writing, and creates it if it is missing.
    ///
    /// # Errors
    /// The error code of `RegCreateKeyExW`.
    pub(crate) fn create(&self, name: &str) -> Result<Self, u32> {
        let name = ValueName::new(name);
        let mut handle: HKEY = null_mut();
        // SAFETY: the name ends in NUL and lives beyond the call; NULL stands for no class and no
        // security attributes; `handle` is a place for the answer.
        let code = unsafe {
            RegCreateKeyExW(
                self.handle,
                name.as_ptr(),
                0,
                null(),
                REG_OPTION_NON_VOLATILE,
                KEY_READ | KEY_WRITE,
                null(),
                &mut handle,
                null_mut(),
            )
        };
        if code == SUCCESS { Ok(Self::opened(handle)) } else { Err(code) }
    }

    /// Opens a key below this one for reading and writing, if it exists.
    ///
    /// # Errors
    /// The error code of `RegOpenKeyExW`.
    pub(crate) fn open_to_write(&self, name: &str) -> Result<Self, u32> {
        let name = ValueName::new(name);
        let mut handle: HKEY = null_mut();
        let rights = KEY_READ | KEY_WRITE;
        // SAFETY: as in `create`.
        let code = unsafe { RegOpenKeyExW(self.handle, name.as_ptr(), 0, rights, &mut handle) };
        if code == SUCCESS { Ok(Self::opened(handle)) } else { Err(code) }
    }

    /// Writes a value.
    ///
    /// # Errors
    /// The error code of `RegSetValueExW`.
    pub(crate) fn set(&self, name: &str, value: Value<'_>) -> Result<(), u32> {
        let name = ValueName::new(name);
        let (kind, bytes) = value.encode();
        let length = u32::try_from(bytes.len()).map_err(|_| INVALID_DATA)?;
        // SAFETY: the name ends in NUL; the data has the given number of bytes and is only read;
        // both live beyond the call.
        let code =
            unsafe { RegSetValueExW(self.handle, name.as_ptr(), 0, kind, bytes.as_ptr(), length) };
        if code == SUCCESS { Ok(()) } else { Err(code) }
    }

    /// Removes a value of the key; a missing value is no error.
    ///
    /// # Errors
    /// The error code of `RegDeleteValueW`.
    pub(crate) fn remove(&self, name: &str) -> Result<(), u32> {
        let name = ValueName::new(name);
        // SAFETY: the name ends in NUL and lives beyond the call.
        match unsafe { RegDeleteValueW(self.handle, name.as_ptr()) } {
            SUCCESS | NOT_FOUND => Ok(()),
            code => Err(code),
        }
    }

    /// Removes a key below this one with all its contents; a missing key is no error.
    ///
    /// # Errors
    /// The error code of `RegDeleteTreeW`.
    pub(crate) fn remove_tree(&self, name: &str) -> Result<(), u32> {
        let name = ValueName::new(name);
        // SAFETY: the name ends in NUL and lives beyond the call.
        match unsafe { RegDeleteTreeW(self.handle, name.as_ptr()) } {
            SUCCESS | NOT_FOUND => Ok(()),
            code => Err(code),
        }
    }

    /// Removes a key below this one if it has neither values nor keys.
    pub(crate) fn remove_if_empty(&self, name: &str) {
        let empty =
            self.open(name).is_ok_and(|key| key.keys() == (Vec::new(), None) && !key.has_values());
        if empty {
            let name = ValueName::new(name);
            // SAFETY: the name ends in NUL and lives beyond the call. A key that was filled
            // meanwhile is refused.
            let _ = unsafe { RegDeleteKeyW(self.handle, name.as_ptr()) };
        }
    }
}

/// The functions of `loadperf.dll` that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadPerf {
    /// `LoadPerfCounterTextStringsW`, which `lodctr` calls.
    Load,
    /// `UnloadPerfCounterTextStringsW`, which `unlodctr` calls.
    Unload,
}

impl LoadPerf {
    const fn name(self) -> &'static CStr {
        match self {
            Self::Load => c"LoadPerfCounterTextStringsW",
            Self::Unload => c"UnloadPerfCounterTextStringsW",
        }
    }

    /// Calls the function with a command line. Returns the function's error code; `None` if the
    /// library or the function is missing.
    pub(crate) fn call(self, command: &str) -> Option<u32> {
        type Function = unsafe extern "system" fn(command: *mut u16, quiet: i32) -> u32;
        let units = command.encode_utf16().filter(|unit| *unit != 0);
        let mut command: Vec<u16> = units.chain([0]).collect();
        // SAFETY: both names are NUL-terminated and live beyond the calls, and the library is
        // searched among the system's own only. Both functions have this signature (loadperf.h),
        // and are called while the library is loaded; the command line ends in NUL, is borrowed
        // exclusively, and lives beyond the call.
        unsafe {
            let library = c"loadperf.dll".as_ptr().cast();
            let module = LoadLibraryExA(library, null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32);
            if module.is_null() {
                return None;
            }
            let found = GetProcAddress(module, self.name().as_ptr().cast());
            let code = found.map(|found| {
                let call =
                    std::mem::transmute::<unsafe extern "system" fn() -> isize, Function>(found);
                call(command.as_mut_ptr(), 1)
            });
            FreeLibrary(module);
            code
        }
    }
}

/// The value of a key in a section of an `.ini` file; empty if the key is missing. Windows'
/// `GetPrivateProfileString` reads it, as `loadperf` does. Values longer than 999 UTF-16 units are
/// cut. For tests.
#[cfg(test)]
pub(crate) fn profile_string(file: &std::path::Path, section: &str, key: &str) -> String {
    use windows_sys::Win32::System::WindowsProgramming::GetPrivateProfileStringW;
    let [file, section, key] = [&*file.to_string_lossy(), section, key].map(ValueName::new);
    let mut units = [0u16; 1000];
    // SAFETY: the names end in NUL and live beyond the call; the buffer has the given number of
    // units, and is borrowed exclusively; no default is given.
    let length = unsafe {
        GetPrivateProfileStringW(
            section.as_ptr(),
            key.as_ptr(),
            null(),
            units.as_mut_ptr(),
            units.len() as u32,
            file.as_ptr(),
        )
    };
    String::from_utf16_lossy(&units[..length as usize])
}

/// Writes a warning to the event log (Application).
pub(crate) fn report_event(source: &str, message: &str) {
    let (source, message) = (ValueName::new(source), ValueName::new(message));
    let strings = [message.as_ptr()];
    // SAFETY: the names end in NUL and live beyond the calls, of which the second gets one string
    // and no data; an invalid handle is not used.
    unsafe {
        let log = RegisterEventSourceW(null(), source.as_ptr());
        if !log.is_null() {
            let no_user = null_mut();
            ReportEventW(log, EVENTLOG_WARNING_TYPE, 0, 1, no_user, 1, 0, strings.as_ptr(), null());
            DeregisterEventSource(log);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_at_its_first_nul_and_a_list_does_not() {
        if !crate::is_wine() {
            eprintln!("this test writes to the registry, and is run under Wine only");
            return;
        }
        let name = format!(r"SOFTWARE\perfhive-texts-{}", std::process::id());
        let key = Key::MACHINE.create(&name).unwrap();
        key.set("Text", Value::Text("C:\\zoo.dll\0rest of a buffer")).unwrap();
        key.set("List", Value::List("one\0two")).unwrap();
        let (text, list, missing) = (key.text("Text"), key.texts("List"), key.text("None"));
        let one = key.texts("Text");
        drop(key);
        Key::MACHINE.remove_tree(&name).unwrap();
        assert_eq!(text.as_deref(), Some(r"C:\zoo.dll"));
        assert_eq!(list.as_deref(), Some("one\0two"));
        assert_eq!((missing, one.is_some()), (None, true));
    }
}
