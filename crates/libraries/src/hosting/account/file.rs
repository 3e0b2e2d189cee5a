//! The folder of the accounts: the user's own, with a file for each provider. A file is
//! changed under a lock, by writing a new one and renaming it.
//!
//! No reader fails because it cannot keep an account: every program then has its own account
//! in memory.

use super::record::{MOST, Record, hash};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The stamp of a file, which changes when the file is replaced: inode, seconds and nanoseconds of the
/// last change, size. On Windows: time of creation, time of the last change, 0, size.
pub(super) type FileStamp = (u64, i64, i64, u64);

/// The file of one provider's account.
#[derive(Clone, Debug)]
pub(super) struct AccountFile {
    folder: PathBuf,
    name: String,
}

impl AccountFile {
    /// The file of a provider's account in `folder`; a missing folder is made. `None` if the path is
    /// relative, or if the folder cannot be made or does not pass [`owned`].
    pub(super) fn new(folder: &Path, provider: &str) -> Option<Self> {
        make(folder).ok()?;
        Some(Self { folder: folder.into(), name: file_name(provider) })
    }

    /// The file of a provider's account in `folder`. It is an error if the folder is missing or does
    /// not pass [`owned`].
    pub(super) fn present(folder: &Path, provider: &str) -> io::Result<Self> {
        owned(folder, &std::fs::symlink_metadata(folder)?)?;
        Ok(Self { folder: folder.into(), name: file_name(provider) })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The stamp of the file; `None` if there is no file.
    pub(super) fn stamp(&self) -> Option<FileStamp> {
        std::fs::symlink_metadata(self.path()).ok().map(|meta| stamp_of(&meta))
    }

    /// The record in the file, with the stamp of the file. `None` for a file that is missing or
    /// damaged, that is a link, or that does not pass [`owned`].
    pub(super) fn read(&self) -> Option<(Record, FileStamp)> {
        let file = no_link(OpenOptions::new().read(true)).open(self.path()).ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || owned(&self.folder, &meta).is_err() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST as u64 + 1).read_to_end(&mut bytes).ok()?;
        Some((Record::parse(&bytes)?, stamp_of(&meta)))
    }

    /// Changes the file under the folder's lock, for which it waits no longer than `patience`.
    /// `change` gets the current record, or `None` if there is none that can be read, and returns
    /// the new one, or `None` to leave the file as it is. Returns the stamp of the new file, `None`
    /// if the file was left. It is an error if the lock is not free in time, or the file cannot be
    /// written.
    pub(super) fn change(
        &self,
        patience: Duration,
        change: impl FnOnce(Option<Record>) -> Option<Record>,
    ) -> io::Result<Option<FileStamp>> {
        let lock = self.lock(patience)?;
        let Some(record) = change(self.read().map(|(record, _)| record)) else { return Ok(None) };
        let new = self.folder.join("new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = mine_alone(OpenOptions::new().write(true).create_new(true)).open(&new)?;
        file.write_all(record.to_text().as_bytes())?;
        let stamp = stamp_of(&file.metadata()?);
        // The file is not synced to the disk: what a loss of power costs, a reader finds out again.
        std::fs::rename(&new, self.path())?;
        drop(lock);
        Ok(Some(stamp))
    }

    /// Removes the file of the account. It is an error if there is no such file, or if another
    /// program holds the lock for two seconds.
    pub(super) fn remove(&self) -> io::Result<()> {
        // Without the lock, a program that changes the file at this moment would restore it.
        let lock = self.lock(Duration::from_secs(2))?;
        std::fs::remove_file(self.path())?;
        drop(lock);
        Ok(())
    }

    /// Takes the lock of the folder. It is an error if another program holds the lock for
    /// `patience`.
    fn lock(&self, patience: Duration) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = mine_alone(no_link(&mut options)).open(self.folder.join("lock"))?;
        let end = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Makes a missing folder, if the nearest existing folder above it passes [`owned`]. An existing folder
/// is left as it is. It is an error if the path is relative, or if one of these folders does not pass.
fn make(folder: &Path) -> io::Result<()> {
    if !folder.is_absolute() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    match std::fs::symlink_metadata(folder) {
        Ok(meta) => return owned(folder, &meta),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    // Another user's folder, such as the home of the caller of sudo, gets no files of ours.
    for above in folder.ancestors().skip(1) {
        match std::fs::metadata(above) {
            Ok(meta) => {
                owned(above, &meta)?;
                break;
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    owned(folder, &std::fs::symlink_metadata(folder)?)
}

/// Sets options so that opening a file with them does not follow links, and does not block on a
/// pipe. Returns the same options.
fn no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed())
    }
    #[cfg(windows)]
    {
        use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;
        std::os::windows::fs::OpenOptionsExt::custom_flags(options, FILE_FLAG_OPEN_REPARSE_POINT)
    }
}

/// Sets options so that a file that is created with them is readable and writable for this user
/// alone. Returns the same options. On Windows nothing is set: the file inherits its access rights
/// from the user's folder.
fn mine_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Checks that a file or folder is not a link. On Windows the file or folder inherits its
/// access rights from the user's folder.
#[cfg(windows)]
fn owned(path: &Path, meta: &Metadata) -> io::Result<()> {
    if !meta.is_symlink() {
        return Ok(());
    }
    let message = format!("{} is a link", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Checks that the file or folder at `path` belongs to this user, is not a link, and that no other
/// user may write it; otherwise it is an error.
#[cfg(unix)]
fn owned(path: &Path, meta: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let mine = meta.uid() == rustix::process::geteuid().as_raw();
    if mine && meta.mode() & 0o022 == 0 && !meta.is_symlink() {
        return Ok(());
    }
    let message = format!("{} is not this user's alone to write", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

#[cfg(windows)]
fn stamp_of(meta: &Metadata) -> FileStamp {
    use std::os::windows::fs::MetadataExt as _;
    (meta.creation_time(), meta.last_write_time().cast_signed(), 0, meta.file_size())
}

#[cfg(unix)]
fn stamp_of(meta: &Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt as _;
    (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.size())
}

/// The file name for a provider: at most the first 40 characters of the provider's name, with `_`
/// for all but ASCII letters and digits, and a hash of the whole name.
fn file_name(provider: &str) -> String {
    let readable = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let head: String = provider.chars().map(readable).take(40).collect();
    format!("{head}-{:016x}", hash(provider.as_bytes()))
}
