//! The Windows part: mapped files that cannot be shortened, locks of `LockFileEx`, security
//! identifiers, start times of processes.

use super::Owner;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use windows_sys::Win32::Foundation::{
    CloseHandle, FILETIME, GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, DELETE, FILE_ATTRIBUTE_NOT_CONTENT_INDEXED, FILE_ATTRIBUTE_TEMPORARY,
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_DELETE_ON_CLOSE, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, LOCKFILE_EXCLUSIVE_LOCK,
    LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, OPEN_EXISTING,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile,
    PAGE_READONLY, PAGE_READWRITE, UnmapViewOfFile,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentProcessId, GetProcessTimes,
};

#[cfg(feature = "reader")]
mod reading;
mod user;

#[cfg(feature = "reader")]
pub(crate) use reading::*;
pub(crate) use user::User;

/// The offset of the byte that a program locks in its file. It lies behind the end of every file,
/// because a lock keeps others from reading the locked bytes.
const LOCKED_AT: u32 = 1 << 30;

/// The folder of this user's programs, closed to other users. `None` if the environment names none.
fn local_data() -> Option<PathBuf> {
    let named = std::env::var_os("LOCALAPPDATA").filter(|folder| !folder.is_empty());
    let home = || Some(std::env::home_dir()?.join("AppData").join("Local"));
    named.map(PathBuf::from).or_else(home).filter(|folder| folder.is_absolute())
}

/// Whether this program has more rights than its caller, which is always `false`: no file of
/// Windows gives its program more rights.
pub(crate) fn has_more_rights() -> bool {
    false
}

/// The folder in which this process publishes by default.
pub(crate) fn own_folder() -> io::Result<PathBuf> {
    let folder = local_data().ok_or_else(|| {
        let message = "the environment names no folder of the user's (LOCALAPPDATA); name one in \
                       PERFHIVE_COUNTERS";
        io::Error::new(io::ErrorKind::NotFound, message)
    })?;
    Ok(folder.join("perfhive").join("counters"))
}

/// Creates a folder if it is missing. The usual folder ([`own_folder`]) must belong to this user,
/// the system or the group of administrators; otherwise it is an error.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    if !own_folder().is_ok_and(|own| own == folder) {
        return Ok(());
    }
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    let opened =
        OpenOptions::new().read(true).share_mode(share).custom_flags(flags).open(folder)?;
    let is_folder = opened.metadata()?.is_dir();
    if !is_folder || User::of_file(&opened)?.rank() == User::STRANGER {
        let what = "not a folder of this user's";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(())
}

/// The identity of this process. Windows has no namespaces, so their numbers are 0.
pub(super) fn this_process() -> Owner {
    // SAFETY: takes nothing and only answers a number.
    let pid = unsafe { GetCurrentProcessId() };
    // SAFETY: a constant that stands for this process and needs no closing.
    let start = start_of(unsafe { GetCurrentProcess() }).unwrap_or(0);
    Owner { pid: pid.into(), start, pid_namespace: 0, time_namespace: 0 }
}

/// The start time of a process as a FILETIME; `None` if it cannot be read.
fn start_of(process: HANDLE) -> Option<u64> {
    let no_time = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let [mut start, mut end, mut kernel, mut user] = [no_time; 4];
    // SAFETY: each time is a structure of its own that is written and lives beyond the call; an
    // invalid handle is refused.
    let told = unsafe { GetProcessTimes(process, &mut start, &mut end, &mut kernel, &mut user) };
    (told != 0).then(|| u64::from(start.dwHighDateTime) << 32 | u64::from(start.dwLowDateTime))
}

/// A guard that always holds, since Windows processes do not fork: handles belong to the process
/// that made them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForkGuard;

impl ForkGuard {
    /// The guard of this process.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux it takes memory")]
    pub(crate) fn this() -> io::Result<Self> {
        Ok(Self)
    }

    /// Whether the calling process created the guard: always `true`.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        true
    }
}

/// A view of the beginning of a file, unmapped on drop.
#[derive(Debug)]
struct View {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the view is not tied to a thread.
unsafe impl Send for View {}
// SAFETY: its users make sure that numbers are only accessed as atomics.
unsafe impl Sync for View {}

impl View {
    /// Maps the first `length` bytes of a file of at least that length. While the view exists,
    /// Windows refuses to shorten the file below that length.
    fn new(file: &File, length: usize, writable: bool) -> io::Result<Self> {
        let (protection, access) = match writable {
            true => (PAGE_READWRITE, FILE_MAP_READ | FILE_MAP_WRITE),
            false => (PAGE_READONLY, FILE_MAP_READ),
        };
        let (high, low) = ((length as u64 >> 32) as u32, length as u32);
        // SAFETY: the file is open; NULL stands for no security attributes and no name.
        let section = unsafe {
            CreateFileMappingW(file.as_raw_handle(), null(), protection, high, low, null())
        };
        if section.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the section made above; the address is the system's choice.
        let view = unsafe { MapViewOfFile(section, access, 0, 0, length) };
        let error = io::Error::last_os_error();
        // SAFETY: made above and closed once; the view keeps the section alive.
        unsafe { CloseHandle(section) };
        let start = NonNull::new(view.Value.cast::<u8>()).ok_or(error)?;
        Ok(Self { start, length })
    }

    /// The number at an offset in bytes; `None` beyond the end, and for an offset that is no
    /// multiple of 8.
    fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let fits = offset.is_multiple_of(8) && offset.checked_add(8)? <= self.length;
        // SAFETY: `offset` is within the view and, as views begin at a page, aligned. The memory
        // lives as long as `self`. In a writable view numbers are only accessed as atomics: the
        // offsets of numbers and of bytes given to `Mapping::write` never overlap while both are in
        // use (layout.rs). A read-only view is accessed by relaxed loads of 8 bytes alone, which
        // need no writable memory on 64-bit machines; the crate is for no others.
        fits.then(|| unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let view = MEMORY_MAPPED_VIEW_ADDRESS { Value: self.start.as_ptr().cast() };
        // SAFETY: made by `new`; no reference into it outlives `self`.
        unsafe { UnmapViewOfFile(view) };
    }
}

/// A file mapped for writing, shared with its readers.
#[derive(Debug)]
pub(crate) struct Mapping(View);

impl Mapping {
    /// The number at an offset in bytes; `None` beyond the end, and for an offset that is no
    /// multiple of 8. The reference lives as long as the mapping.
    pub(crate) fn word(&self, offset: usize) -> Option<&AtomicU64> {
        self.0.word(offset)
    }

    /// Copies bytes into the mapping; does nothing if they do not fit. Only one thread at a time
    /// may write to the same bytes, and no number in use may lie there.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        if offset.checked_add(bytes.len()).is_some_and(|end| end <= self.0.length) {
            // SAFETY: the range is within the view, which is writable, and `bytes`, of this
            // process's own memory, does not overlap with it. No reference to these bytes exists:
            // readers have views of their own, from which they load numbers.
            unsafe {
                let place = self.0.start.as_ptr().add(offset);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
            }
        }
    }
}

/// The position of the byte that a living program keeps locked, in the form that the calls take.
fn locked_byte() -> OVERLAPPED {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.Offset = LOCKED_AT;
    place
}

/// Locks the byte at [`LOCKED_AT`]. If the lock of another handle prevents this, the function waits
/// if `wait` is `true`, and fails otherwise.
fn lock(file: &File, exclusive: bool, wait: bool) -> io::Result<()> {
    let flags = if exclusive { LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
    let flags = if wait { flags } else { flags | LOCKFILE_FAIL_IMMEDIATELY };
    let mut place = locked_byte();
    // SAFETY: the file is open for synchronous calls, so that `place` is used during this one only.
    let done = unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut place) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A complete file of this process, which readers find.
#[derive(Debug)]
pub(crate) struct PublishedFile {
    pub(crate) mapping: Mapping,
    pub(crate) path: PathBuf,
    /// Holds the lock that shows that the process is alive. The file vanishes with this handle,
    /// however the process ends.
    file: Mutex<Option<File>>,
    /// Dropped last: a mapped file cannot be removed.
    _last: Last,
}

impl PublishedFile {
    /// Hides the file from readers. The mapping stays, and the file itself is removed when the
    /// mapping ends.
    pub(crate) fn withdraw(&self) {
        drop(self.file.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Removes the file on drop, after the file's other handles were dropped.
#[derive(Debug)]
struct Last(PathBuf);

impl Drop for Last {
    fn drop(&mut self) {
        // Usually the file is gone already.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Creates the file `stem` plus a suffix in `folder`, `length` bytes long, calls `fill` to write
/// its contents, and then gives the file its final name. A process that is killed before that
/// leaves no file.
pub(crate) fn publish(
    folder: &Path,
    stem: &str,
    length: usize,
    fill: impl FnOnce(&Mapping),
) -> io::Result<PublishedFile> {
    let unfinished = folder.join(format!("{stem}{}", crate::layout::UNFINISHED));
    let path = folder.join(format!("{stem}{}", crate::layout::SUFFIX));
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .access_mode(GENERIC_READ | GENERIC_WRITE | DELETE)
        // No other process can write to the file while this process has it open.
        .share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE)
        // A hint that the file should stay in memory.
        .attributes(FILE_ATTRIBUTE_TEMPORARY | FILE_ATTRIBUTE_NOT_CONTENT_INDEXED)
        .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
        .open(&unfinished)?;
    lock(&file, true, true)?;
    // All room is allocated now: later, a full disk would end the program at its next increment.
    // New bytes are zeros.
    file.set_len(length as u64)?;
    let mapping = Mapping(View::new(&file, length, true)?);
    fill(&mapping);
    std::fs::rename(&unfinished, &path).map_err(|error| match error.kind() {
        // Another process may have found the file before it was locked, and be about to remove it.
        io::ErrorKind::PermissionDenied => io::Error::new(io::ErrorKind::NotFound, error),
        _ => error,
    })?;
    Ok(PublishedFile { mapping, _last: Last(path.clone()), path, file: Mutex::new(Some(file)) })
}

/// Opens a path of any kind, without following a link. Does not allocate for a path of usual
/// length: refused files are opened with each look, and samples must not allocate.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    let flags = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;
    let Some(name) = name_in_place(path) else {
        return OpenOptions::new().read(true).share_mode(share).custom_flags(flags).open(path);
    };
    let how = OPEN_EXISTING;
    // SAFETY: the name ends in NUL and lives beyond the call; the other addresses may be
    // null, for no security attributes (the handle is not inherited) and no template.
    let handle =
        unsafe { CreateFileW(name.as_ptr(), GENERIC_READ, share, null(), how, flags, null_mut()) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was opened above and has no other owner.
    Ok(unsafe { File::from_raw_handle(handle) })
}

/// The room for a path with its NUL, in UTF-16 units. Windows accepts paths of this length
/// unchanged.
const PLAIN: usize = 240;

/// A path for Windows, with a NUL at its end; `None` for a path that is too long or contains a NUL.
fn name_in_place(path: &Path) -> Option<[u16; PLAIN]> {
    let mut name = [0; PLAIN];
    for (length, unit) in path.as_os_str().encode_wide().enumerate() {
        // The last unit stays NUL.
        if unit == 0 || length + 1 == PLAIN {
            return None;
        }
        *name.get_mut(length)? = unit;
    }
    Some(name)
}

/// Removes the file at `path`, which was opened before. The path still leads to the same file, since
/// folders to which other users may write are not read, and names are never reused.
pub(super) fn remove(_: &File, path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Whether the file is a regular one.
pub(super) fn is_plain_file(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file())
}

/// Whether the file belongs to this user.
pub(super) fn is_mine(file: &File) -> bool {
    User::of_file(file).is_ok_and(|user| user.is_here())
}

/// Takes a shared lock on the file, unless the file's writer holds its lock; several processes may
/// hold the shared lock at once. Closing the file releases it. Returns whether it was taken.
pub(super) fn lock_if_free(file: &File) -> bool {
    lock(file, false, false).is_ok()
}

/// The first 12 bytes of a file; `None` if the file has fewer.
pub(super) fn head(file: &File) -> Option<[u8; 12]> {
    let mut head = [0; 12];
    (file.seek_read(&mut head, 0).ok()? == head.len()).then_some(head)
}
