//! The calls of Windows that the crate makes, each in a safe function.

pub(crate) mod console;
mod paths;
mod security;
mod write;

pub(crate) use paths::{expanded, system_folders};
pub(crate) use security::{descriptor, own_user};
#[cfg(test)]
pub(crate) use write::profile_string;
pub(crate) use write::{LoadPerf, Value, report_event};

use crate::native::information::Class;
use crate::wine::layout::Layout;
use core::ffi::c_void;
use perfhive_registry::codes::{BAD_LENGTH, MORE_DATA, SUCCESS};
use perfhive_registry::{Size, ValueName, read};
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use windows_sys::Wdk::System::SystemInformation::NtQuerySystemInformation;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::{ERROR_NO_MORE_ITEMS, FILETIME};
use windows_sys::Win32::Globalization::GetUserDefaultUILanguage;
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleHandleA,
    GetModuleHandleExW, GetProcAddress,
};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Registry::{
    HKEY, HKEY_LOCAL_MACHINE, HKEY_PERFORMANCE_DATA, HKEY_PERFORMANCE_NLSTEXT,
    HKEY_PERFORMANCE_TEXT, KEY_READ, REG_EXPAND_SZ, RegCloseKey, RegConnectRegistryW,
    RegEnumKeyExW, RegEnumValueW, RegOpenKeyExW, RegQueryInfoKeyW, RegQueryValueExW,
};
use windows_sys::Win32::System::SystemInformation::{
    GetSystemTimeAdjustment, GetSystemTimeAsFileTime, OSVERSIONINFOW,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessTimes, GetThreadPriority, GetThreadTimes,
    SetThreadPriority, THREAD_PRIORITY_LOWEST,
};
use windows_sys::Win32::System::WindowsProgramming::GetComputerNameW;

/// The largest length of the name of a registry key in UTF-16 units, with its NUL.
const KEY_NAME: usize = 256;
/// The largest number of keys that are listed below a key. A machine has some hundred services;
/// another machine may report keys without end.
const KEYS: u32 = 1 << 16;

/// Whether the library with this name is loaded in this process and exports the function.
pub(crate) fn exports(library: &CStr, function: &CStr) -> bool {
    // SAFETY: both names are NUL-terminated and live beyond the calls; the handle is borrowed from
    // the system, and ntdll stays loaded as long as the process lives. A handle of 0 is tested
    // before it is used.
    unsafe {
        let module = GetModuleHandleA(library.as_ptr().cast());
        !module.is_null() && GetProcAddress(module, function.as_ptr().cast()).is_some()
    }
}

/// Keeps the library or program that contains an address loaded until the process ends. Returns
/// `false` if no library or program contains the address.
pub(crate) fn pin_module(inside: *const c_void) -> bool {
    let flags = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
    let mut module = null_mut();
    // SAFETY: by the flags, the name is an address that is looked up among those of the modules and
    // never read; `module` is a place for the answer, a handle that needs no closing for a pinned
    // module.
    unsafe { GetModuleHandleExW(flags, inside.cast(), &mut module) != 0 }
}

/// The user's language: a Windows language identifier.
pub(crate) fn user_language() -> u16 {
    // SAFETY: takes nothing and only returns a number.
    unsafe { GetUserDefaultUILanguage() }
}

/// A registry key: a predefined one, or one that was opened and is closed on drop.
#[derive(Debug)]
pub(crate) struct Key {
    handle: HKEY,
    owned: bool,
}

// SAFETY: a registry handle is a number that belongs to the process; Windows
// documents no tie to a thread, and each call on it is complete in itself.
unsafe impl Send for Key {}

impl Key {
    /// `HKEY_PERFORMANCE_DATA` of this machine, which Windows opens with the first read.
    pub(crate) const DATA: Self = Self { handle: HKEY_PERFORMANCE_DATA, owned: false };
    /// `HKEY_PERFORMANCE_TEXT`.
    pub(crate) const TEXT: Self = Self { handle: HKEY_PERFORMANCE_TEXT, owned: false };
    /// `HKEY_PERFORMANCE_NLSTEXT`.
    pub(crate) const NLSTEXT: Self = Self { handle: HKEY_PERFORMANCE_NLSTEXT, owned: false };
    /// `HKEY_LOCAL_MACHINE`.
    pub(crate) const MACHINE: Self = Self { handle: HKEY_LOCAL_MACHINE, owned: false };

    /// The key of an open handle, which is closed on drop.
    fn opened(handle: HKEY) -> Self {
        #[cfg(test)]
        open_keys::opened();
        Self { handle, owned: true }
    }

    /// Connects to another machine, and returns the same predefined key there.
    ///
    /// # Errors
    /// The error code of `RegConnectRegistryW`.
    pub(crate) fn connect(&self, host: &str) -> Result<Self, u32> {
        let host = ValueName::new(&format!(r"\\{host}"));
        let mut handle: HKEY = null_mut();
        // SAFETY: the name ends in NUL and lives beyond the call; `handle` is
        // a place for the answer.
        let code = unsafe { RegConnectRegistryW(host.as_ptr(), self.handle, &mut handle) };
        if code == SUCCESS { Ok(Self::opened(handle)) } else { Err(code) }
    }

    /// Opens a key below this one for reading.
    ///
    /// # Errors
    /// The error code of `RegOpenKeyExW`.
    pub(crate) fn open(&self, name: &str) -> Result<Self, u32> {
        let name = ValueName::new(name);
        let mut handle: HKEY = null_mut();
        // SAFETY: as in `connect`; `self.handle` is open as long as `self` lives.
        let code = unsafe { RegOpenKeyExW(self.handle, name.as_ptr(), 0, KEY_READ, &mut handle) };
        if code == SUCCESS { Ok(Self::opened(handle)) } else { Err(code) }
    }

    /// Reads a value into `reply` with one call of `RegQueryValueExW`, and returns the error code.
    /// The capacity of `reply` is the size of the buffer. `layout` says whether the reply has to be
    /// repaired, as under Wine.
    ///
    /// Bytes of the buffer beyond the vector's length are set to zero before the call, since a
    /// provider may claim more bytes than it wrote. That takes microseconds; the call takes a
    /// hundred or more.
    pub(crate) fn read(&self, name: &ValueName, layout: Layout, reply: &mut Vec<u8>) -> u32 {
        fill_up(reply);
        let Some(room) = reply.len().checked_sub(layout.reserve()) else { return MORE_DATA };
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let mut length = room;
        layout.mark(reply);
        // SAFETY: the name ends in NUL and lives beyond the call. The buffer is the vector's, which
        // has at least `room` bytes, all initialised, and is borrowed exclusively, as `length` is.
        // Bytes that Wine writes beyond `room` are fewer than the reserve. The type of the value is
        // not requested.
        let code = unsafe {
            RegQueryValueExW(
                self.handle,
                name.as_ptr(),
                null(),
                null_mut(),
                reply.as_mut_ptr(),
                &mut length,
            )
        };
        // A length beyond the buffer is invalid.
        let code = if code == SUCCESS && length > room { BAD_LENGTH } else { code };
        if code != SUCCESS {
            return code;
        }
        reply.truncate(length as usize + layout.excess());
        layout.repair(reply);
        SUCCESS
    }

    /// The value `name` as a 32-bit number; `None` if it cannot be read or has another size. Does
    /// not allocate.
    pub(crate) fn number(&self, name: &ValueName) -> Option<u32> {
        let mut bytes = [0u8; 4];
        let mut length = 4;
        // SAFETY: as in `read`, with an array of the announced number of bytes.
        let code = unsafe {
            RegQueryValueExW(
                self.handle,
                name.as_ptr(),
                null(),
                null_mut(),
                bytes.as_mut_ptr(),
                &mut length,
            )
        };
        (code == SUCCESS && length == 4).then(|| u32::from_le_bytes(bytes))
    }

    /// The time at which a value of the key was last written or removed, or a key below it added or
    /// removed, as a FILETIME; `None` if it cannot be read. Does not allocate.
    pub(crate) fn written(&self) -> Option<u64> {
        let mut time = NO_TIME;
        // SAFETY: the handle is open as long as `self` lives. Only the time is requested, a
        // structure that is borrowed exclusively and lives beyond the call; NULL declines all else,
        // a length without a buffer included.
        let code = unsafe {
            RegQueryInfoKeyW(
                self.handle,
                null_mut(),
                null_mut(),
                null(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                &mut time,
            )
        };
        (code == SUCCESS).then(|| units(time))
    }

    /// The value `name` as a text, up to its first NUL. What some installers leave behind that NUL
    /// is ignored, as Windows ignores it. `None` if the value cannot be read.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let mut text = self.texts(name)?;
        text.truncate(text.find('\0').unwrap_or(text.len()));
        Some(text)
    }

    /// The value as texts with a NUL between each two (`REG_MULTI_SZ`); `None` if it cannot be read. A value of one
    /// text is that text.
    pub(crate) fn texts(&self, name: &str) -> Option<String> {
        let (name, mut bytes) = (ValueName::new(name), Vec::new());
        let call = |reply: &mut Vec<u8>| self.read(&name, Layout::Windows, reply);
        read(&mut Size::default(), &mut bytes, None, &mut |_| {}, call).ok()?;
        let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let text = String::from_utf16_lossy(&units.collect::<Vec<u16>>());
        Some(text.trim_end_matches('\0').to_string())
    }

    /// The type of a value (`REG_SZ` and others); `None` if the value cannot be read.
    fn kind(&self, name: &ValueName) -> Option<u32> {
        let mut kind = 0;
        // SAFETY: as in `read`; the type is written to a number, and neither the data nor its
        // length is requested.
        let code = unsafe {
            RegQueryValueExW(self.handle, name.as_ptr(), null(), &mut kind, null_mut(), null_mut())
        };
        (code == SUCCESS).then_some(kind)
    }

    /// Whether environment variables in the text of the value `name` are to be expanded: its type
    /// is `REG_EXPAND_SZ`. `false` also if it cannot be read.
    pub(crate) fn expands(&self, name: &str) -> bool {
        self.kind(&ValueName::new(name)) == Some(REG_EXPAND_SZ)
    }

    /// Whether the key has any value.
    fn has_values(&self) -> bool {
        let mut name = [0u16; 1];
        let mut length = 1;
        // SAFETY: the buffer has `length` units, and both are borrowed exclusively; nothing else is
        // requested.
        let code = unsafe {
            RegEnumValueW(
                self.handle,
                0,
                name.as_mut_ptr(),
                &mut length,
                null(),
                null_mut(),
                null_mut(),
                null_mut(),
            )
        };
        // A name longer than the buffer is a value too.
        code == SUCCESS || code == MORE_DATA
    }

    /// The names of the keys below this one, and the error code that ended the list early; `None`
    /// if the list is complete, or ended at [`KEYS`] names.
    pub(crate) fn keys(&self) -> (Vec<String>, Option<u32>) {
        let mut names = Vec::new();
        for place in 0..KEYS {
            let mut name = [0u16; KEY_NAME];
            let mut length = KEY_NAME as u32;
            // SAFETY: the buffer has `length` units, and both are borrowed exclusively; nothing
            // else is requested.
            let code = unsafe {
                RegEnumKeyExW(
                    self.handle,
                    place,
                    name.as_mut_ptr(),
                    &mut length,
                    null(),
                    null_mut(),
                    null_mut(),
                    null_mut(),
                )
            };
            match code {
                SUCCESS => {}
                ERROR_NO_MORE_ITEMS => break,
                code => return (names, Some(code)),
            }
            names.push(String::from_utf16_lossy(name.get(..length as usize).unwrap_or_default()));
        }
        (names, None)
    }
}

/// Extends a vector with zeros to its capacity.
fn fill_up(bytes: &mut Vec<u8>) {
    let room = bytes.capacity();
    let spare = bytes.spare_capacity_mut();
    // SAFETY: the spare room belongs to the vector, which is borrowed exclusively, and ends at its
    // capacity; all of it is written before it counts as part of the vector.
    unsafe {
        spare.as_mut_ptr().write_bytes(0, spare.len());
        bytes.set_len(room);
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: this handle was opened for this key and is closed once. A failure needs no
            // handling.
            let _code = unsafe { RegCloseKey(self.handle) };
            #[cfg(test)]
            open_keys::closed(_code);
        }
    }
}

/// Closes `HKEY_PERFORMANCE_DATA`, so that Windows unloads the providers' libraries. Returns the
/// error code of `RegCloseKey`.
pub(crate) fn close_performance_data() -> u32 {
    // SAFETY: a predefined key, which later readers open again.
    unsafe { RegCloseKey(HKEY_PERFORMANCE_DATA) }
}

/// Calls `NtQuerySystemInformation` with `buffer`. Returns the status (`NTSTATUS`), and the number
/// of bytes that were written or are needed.
pub(crate) fn system_information(class: Class, buffer: &mut [u8]) -> (u32, u32) {
    let room = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    let mut length = 0;
    // SAFETY: the buffer has at least `room` bytes and is borrowed exclusively, as `length` is. For
    // every `Class` the function only fills that buffer, and refuses one that is not aligned;
    // classes that take addresses from the buffer are not among them.
    let status = unsafe {
        NtQuerySystemInformation(class as i32, buffer.as_mut_ptr().cast(), room, &mut length)
    };
    (status.cast_unsigned(), length)
}

/// The present value of the performance counter, and the number of its ticks in a second.
pub(crate) fn performance_counter() -> (i64, i64) {
    let (mut now, mut frequency) = (0, 0);
    // SAFETY: both write one number to the given place, which lives beyond the call. Since Windows
    // XP neither fails.
    unsafe {
        QueryPerformanceCounter(&mut now);
        QueryPerformanceFrequency(&mut frequency);
    }
    (now, frequency)
}

const NO_TIME: FILETIME = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };

fn units(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// The present calendar time in UTC, as a FILETIME (units of 100 ns).
pub(crate) fn system_time() -> u64 {
    let mut time = NO_TIME;
    // SAFETY: writes the given structure, which lives beyond the call.
    unsafe { GetSystemTimeAsFileTime(&mut time) };
    units(time)
}

/// The processor time of this process, in user and kernel mode together, in units of 100 ns; `None`
/// if the call fails.
pub(crate) fn process_time() -> Option<u64> {
    let [mut start, mut end, mut kernel, mut user] = [NO_TIME; 4];
    // SAFETY: the handle is a constant that needs no closing; each of the other arguments is a
    // structure of its own that is written and lives beyond the call.
    let told = unsafe {
        GetProcessTimes(GetCurrentProcess(), &mut start, &mut end, &mut kernel, &mut user)
    };
    (told != 0).then(|| units(kernel).saturating_add(units(user)))
}

/// The processor time of the calling thread, in user and kernel mode together, in units of 100 ns;
/// `None` if the call fails.
pub(crate) fn thread_time() -> Option<u64> {
    let [mut start, mut end, mut kernel, mut user] = [NO_TIME; 4];
    // SAFETY: as for the process.
    let told =
        unsafe { GetThreadTimes(GetCurrentThread(), &mut start, &mut end, &mut kernel, &mut user) };
    (told != 0).then(|| units(kernel).saturating_add(units(user)))
}

/// The lowest priority of a thread above idle.
pub(crate) const LOWEST_PRIORITY: i32 = THREAD_PRIORITY_LOWEST;

/// The priority of the calling thread within its process; `None` if the call fails.
pub(crate) fn thread_priority() -> Option<i32> {
    // What the call returns if it fails (THREAD_PRIORITY_ERROR_RETURN).
    const FAILED: i32 = i32::MAX;
    // SAFETY: the handle is a constant that stands for this thread.
    let priority = unsafe { GetThreadPriority(GetCurrentThread()) };
    (priority != FAILED).then_some(priority)
}

/// Sets the priority of the calling thread. Returns whether Windows accepted it.
pub(crate) fn set_thread_priority(priority: i32) -> bool {
    // SAFETY: as above; an invalid number is refused.
    unsafe { SetThreadPriority(GetCurrentThread(), priority) != 0 }
}

/// The time between two ticks of the system's clock, in units of 100 ns; `None` if the call fails.
pub(crate) fn clock_interval() -> Option<u32> {
    let (mut adjustment, mut increment, mut disabled) = (0, 0, 0);
    // SAFETY: each argument is a number that is written and lives beyond the call.
    let told = unsafe { GetSystemTimeAdjustment(&mut adjustment, &mut increment, &mut disabled) };
    (told != 0).then_some(increment)
}

/// The NetBIOS name of this machine, as Windows' blocks have it; empty if it is not known.
pub(crate) fn computer_name() -> String {
    // At most 15 characters and the NUL (MAX_COMPUTERNAME_LENGTH); Wine's may
    // have more.
    let mut name = [0u16; 256];
    let mut length = name.len() as u32;
    // SAFETY: the buffer has `length` units, and both are borrowed exclusively.
    let told = unsafe { GetComputerNameW(name.as_mut_ptr(), &mut length) } != 0;
    let name = name.get(..length as usize).filter(|_| told).unwrap_or_default();
    String::from_utf16_lossy(name)
}

/// The major version, the minor version and the build number of Windows, in this order.
pub(crate) fn version() -> [u32; 3] {
    let size = size_of::<OSVERSIONINFOW>() as u32;
    let mut version = OSVERSIONINFOW { dwOSVersionInfoSize: size, ..OSVERSIONINFOW::default() };
    // SAFETY: the structure states its size and lives beyond the call, which always succeeds.
    unsafe { RtlGetVersion(&mut version) };
    [version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber]
}

/// The number of open keys of this crate, according to the system.
#[cfg(test)]
pub(crate) mod open_keys {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static OPEN: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn opened() {
        OPEN.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn closed(code: u32) {
        if code == super::SUCCESS {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count() -> usize {
        OPEN.load(Ordering::Relaxed)
    }
}
