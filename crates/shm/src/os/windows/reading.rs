//! Files of other programs, read while they change.

use super::super::{Facts, Owner};
use super::{
    User, View, local_data, lock_if_free, locked_byte, name_in_place, open, own_folder, start_of,
};
use crate::layout::LARGEST;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::windows::fs::MetadataExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};
use windows_sys::Win32::Foundation::{CloseHandle, ERROR_INVALID_PARAMETER, STILL_ACTIVE};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_OFFLINE, FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_REMOTE_PROTOCOL_INFO, FileRemoteProtocolInfo,
    GetFileAttributesExW, GetFileExInfoStandard, GetFileInformationByHandle,
    GetFileInformationByHandleEx, UnlockFileEx, WIN32_FILE_ATTRIBUTE_DATA,
};
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
};

/// A folder that an administrator may create for programs of all users.
pub(crate) fn system_folder() -> Option<PathBuf> {
    let data = std::env::var_os("ProgramData").filter(|folder| !folder.is_empty())?;
    Some(Path::new(&data).join("perfhive").join("counters"))
}

/// A folder of which a change makes the reader list the folders of users again: this user's
/// `%LOCALAPPDATA%`, since those of other users are closed. It is checked at collections, which must
/// not allocate.
pub(crate) fn users_root() -> Option<&'static Path> {
    static ROOT: OnceLock<Option<PathBuf>> = OnceLock::new();
    ROOT.get_or_init(local_data).as_deref()
}

/// The time of the last change of a folder, a file, or a link itself. Does not allocate for a path
/// of usual length. `None` if it cannot be read.
pub(crate) fn changed(path: &Path) -> Option<SystemTime> {
    let Some(name) = name_in_place(path) else {
        return std::fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok();
    };
    let mut told = WIN32_FILE_ATTRIBUTE_DATA::default();
    let place = (&raw mut told).cast();
    // SAFETY: the name ends in NUL; the structure is the one for this level of information, and
    // both live beyond the call.
    if unsafe { GetFileAttributesExW(name.as_ptr(), GetFileExInfoStandard, place) } == 0 {
        return None;
    }
    let time = told.ftLastWriteTime;
    let time = u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    // FILETIME counts 100 ns from the year 1601.
    let since = Duration::from_nanos(time.checked_sub(116_444_736_000_000_000)?.checked_mul(100)?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// The folders of users: only this user's, since others' are closed. The folder is listed even if
/// it does not exist.
pub(crate) fn users_folders() -> BTreeMap<PathBuf, User> {
    own_folder().ok().zip(User::this()).into_iter().collect()
}

/// The owner of a file. `None` if it cannot be read.
pub(crate) fn owner_of(path: &Path) -> Option<User> {
    open(path).ok().and_then(|file| User::of_file(&file).ok())
}

/// Whether a process has certainly ended.
pub(crate) fn is_gone(owner: &Owner, _: &Owner) -> bool {
    let Some(pid) = u32::try_from(owner.pid).ok().filter(|pid| *pid != 0) else { return false };
    // SAFETY: takes numbers only; the handle is tested before it is used.
    let process = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if process.is_null() {
        // A process of another user may refuse to be opened, but it exists.
        let code = io::Error::last_os_error().raw_os_error();
        return code == Some(ERROR_INVALID_PARAMETER.cast_signed());
    }
    let mut code = 0;
    // SAFETY: the handle was opened above, and `code` is a place for the answer.
    let ended = unsafe { GetExitCodeProcess(process, &mut code) } != 0
        && code != STILL_ACTIVE.cast_unsigned();
    let another = owner.start != 0 && start_of(process).is_some_and(|start| start != owner.start);
    // SAFETY: opened above and closed once.
    unsafe { CloseHandle(process) };
    ended || another
}

/// A file of any program, read while it changes. It is mapped: views of one file are coherent,
/// which `ReadFile` does not promise, and a mapped file cannot be shortened. A page that cannot be
/// loaded for another reason would end this process, so only regular files of this machine are
/// mapped.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    /// The view of the beginning of the file; `None` for an empty file, and for anything but a
    /// plain file.
    view: Option<View>,
}

impl Opened {
    /// Opens a path of any kind, and maps a plain file. A file on another machine is an error.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let meta = file.metadata()?;
        // A longer file is refused later, with its data.
        let length = usize::try_from(meta.len()).unwrap_or(usize::MAX).min(LARGEST);
        let plain = meta.is_file() && is_plain(meta.file_attributes());
        let view = (plain && length > 0).then(|| {
            if is_remote(&file) {
                let message = "it is on another machine, whose files are not read";
                return Err(io::Error::new(io::ErrorKind::Unsupported, message));
            }
            View::new(&file, length, false)
        });
        Ok(Self { file, view: view.transpose()? })
    }

    /// Whether no writer holds the file's lock.
    pub(crate) fn is_abandoned(&self) -> bool {
        let free = lock_if_free(&self.file);
        if free {
            let mut place = locked_byte();
            // SAFETY: the file is open for synchronous calls; this handle has the byte locked.
            unsafe { UnlockFileEx(self.file.as_raw_handle(), 0, 1, 0, &mut place) };
        }
        free
    }

    /// The file system's data about the file.
    pub(crate) fn facts(&self) -> io::Result<Facts> {
        let meta = self.file.metadata()?;
        let mut told = BY_HANDLE_FILE_INFORMATION::default();
        // SAFETY: the file is open; the structure is written and lives beyond the
        // call.
        if unsafe { GetFileInformationByHandle(self.file.as_raw_handle(), &mut told) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Facts {
            is_file: meta.is_file() && is_plain(meta.file_attributes()),
            user: User::of_file(&self.file)?,
            device: told.dwVolumeSerialNumber.into(),
            number: u64::from(told.nFileIndexHigh) << 32 | u64::from(told.nFileIndexLow),
            length: meta.len(),
            made: meta.created().ok(),
        })
    }

    fn view(&self) -> io::Result<&View> {
        self.view.as_ref().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Fills the buffer with the bytes at an offset. It is an error if the file ends before.
    pub(crate) fn read_bytes(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let view = self.view()?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if offset.checked_add(out.len()).is_none_or(|end| end > view.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (at, byte) in (offset..).zip(out) {
            // SAFETY: `at` is within the view, which lives as long as `self`; it is only loaded
            // from.
            let place = unsafe { AtomicU8::from_ptr(view.start.as_ptr().add(at)) };
            *byte = place.load(Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fills the buffer with numbers of 8 bytes in the file's byte order. It is an error if the
    /// file ends before.
    pub(crate) fn read_words(&self, offset: u64, out: &mut [u64]) -> io::Result<()> {
        let view = self.view()?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        for (place, word) in out.iter_mut().enumerate() {
            let at = offset.saturating_add(place * 8);
            let number = view.word(at).ok_or(io::ErrorKind::UnexpectedEof)?;
            *word = number.load(Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Whether a path with these attributes is neither a link nor a file that is fetched from elsewhere
/// when read.
fn is_plain(attributes: u32) -> bool {
    let elsewhere = FILE_ATTRIBUTE_REPARSE_POINT
        | FILE_ATTRIBUTE_OFFLINE
        | FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS;
    attributes & elsewhere == 0
}

/// Whether a file is on another machine.
fn is_remote(file: &File) -> bool {
    let mut told = FILE_REMOTE_PROTOCOL_INFO::default();
    let size = size_of_val(&told) as u32;
    let place = (&raw mut told).cast();
    // SAFETY: the file is open; the structure has the given number of bytes and lives beyond the
    // call. For a local file the call fails.
    let answered = unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), FileRemoteProtocolInfo, place, size)
    };
    answered != 0
}
