//! The Linux part: files in memory, `flock`, user numbers, `/proc`.

#[cfg(feature = "reader")]
use super::Facts;
use super::Owner;
use rustix::fs::{AtFlags, FallocateFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::getpid;
#[cfg(feature = "reader")]
use rustix::process::{Pid, test_kill_process};
#[cfg(feature = "reader")]
use std::collections::BTreeMap;
#[cfg(feature = "reader")]
use std::fmt;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder that holds every user's folder.
const SHARED_MEMORY: &str = "/dev/shm";
/// The start of the name of a user's folder; the user's number follows.
const USER_FOLDER: &str = "perfhive-";
/// The most users' folders that are read in all.
#[cfg(feature = "reader")]
const MOST_FOLDERS: usize = 1024;
/// The most folders of one user that are read.
#[cfg(feature = "reader")]
const MOST_OF_A_USER: usize = 4;

/// A folder that an administrator may create for programs.
#[cfg(feature = "reader")]
pub(crate) fn system_folder() -> Option<PathBuf> {
    Some("/run/perfhive/counters".into())
}

/// The folder in which this process publishes by default: `/dev/shm/perfhive-UID`. Any user may
/// create folders in `/dev/shm`: if something of this name exists that is not a folder of this
/// user, a folder with an unpredictable name takes its place.
pub(crate) fn own_folder() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let memory = Path::new(SHARED_MEMORY);
    let usual = memory.join(format!("{USER_FOLDER}{user}"));
    if !is_others(&usual, user) {
        return Ok(usual);
    }
    let beginning = format!("{USER_FOLDER}{user}-");
    let is_instead = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&beginning) && !is_others(path, user)
    };
    let paths = std::fs::read_dir(memory)?.flatten().map(|entry| entry.path());
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let new = || memory.join(format!("{beginning}{:x}{:08x}", time.tv_sec, time.tv_nsec));
    Ok(paths.filter(is_instead).min().unwrap_or_else(new))
}

/// Whether this program has more rights than its caller, by bits or capabilities of its file.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: reads a word that the kernel gave the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Whether a path exists and is not a folder of this user.
fn is_others(path: &Path, user: u32) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_dir() || meta.uid() != user)
}

/// The folder that changes when a user's folder appears or vanishes. It is checked at collections,
/// which must not allocate.
#[cfg(feature = "reader")]
pub(crate) fn users_root() -> Option<&'static Path> {
    Some(Path::new(SHARED_MEMORY))
}

/// The time of the last change of a folder, a file, or a link itself. `None` if it cannot be read.
#[cfg(feature = "reader")]
pub(crate) fn changed(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok()
}

/// The owner of a file. `None` if it cannot be read.
#[cfg(feature = "reader")]
pub(crate) fn owner_of(path: &Path) -> Option<User> {
    std::fs::symlink_metadata(path).ok().map(|meta| User(meta.uid()))
}

/// The users' folders, `perfhive-UID` and their replacements, each with its owner. Only folders
/// that belong to the user in their name are listed: at most `MOST_OF_A_USER` of each user, and
/// `MOST_FOLDERS` in all.
#[cfg(feature = "reader")]
pub(crate) fn users_folders() -> BTreeMap<PathBuf, User> {
    let entries = std::fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten();
    let mut folders: Vec<(User, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let user = name.to_str()?.strip_prefix(USER_FOLDER)?.split('-').next()?.parse().ok()?;
            let meta = std::fs::symlink_metadata(entry.path()).ok()?;
            (meta.is_dir() && meta.uid() == user).then(|| (User(user), entry.path()))
        })
        .collect();
    // At most `MOST_OF_A_USER` folders per user are read, so that no user crowds out the others.
    folders.sort();
    let mut counts = BTreeMap::new();
    folders.retain(|(user, _)| {
        let count: &mut usize = counts.entry(user.clone()).or_default();
        *count += 1;
        *count <= MOST_OF_A_USER
    });
    folders.into_iter().take(MOST_FOLDERS).map(|(user, path)| (path, user)).collect()
}

/// A user, by number.
#[cfg(feature = "reader")]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct User(u32);

#[cfg(feature = "reader")]
impl User {
    /// The rank of this user's files if several users claim the same category: 0 for the
    /// administrator's files, 1 for those of this process's user, 2 for others.
    pub(crate) fn rank(&self) -> u8 {
        match self.0 {
            0 => 0,
            user if user == rustix::process::geteuid().as_raw() => 1,
            _ => 2,
        }
    }

    /// Whether this user's files are accepted in a folder of `owner`.
    pub(crate) fn may_be_in_folder_of(&self, owner: &Self) -> bool {
        self == owner
    }
}

#[cfg(feature = "reader")]
impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Creates a folder if it is missing. A folder directly in `/dev/shm`, where any user may create
/// folders, must belong to this user, and no other user may write to it; otherwise it is an error.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let everybodys = folder.parent() == Some(Path::new(SHARED_MEMORY));
    match DirBuilder::new().mode(0o755).recursive(!everybodys).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = std::fs::symlink_metadata(folder)?;
    if everybodys {
        let own = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw();
        let what = match meta.mode() & 0o7777 {
            _ if !own => {
                "it is not a folder of this user's; PERFHIVE_COUNTERS names another".into()
            }
            mode if mode & 0o022 != 0 => {
                let folder = folder.display();
                format!("others may write to it (mode {mode:04o}); chmod go-w {folder}")
            }
            _ => return Ok(()),
        };
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(())
}

/// The identity of this process.
pub(super) fn this_process() -> Owner {
    let pid = getpid().as_raw_nonzero().get().unsigned_abs();
    Owner {
        pid: pid.into(),
        start: start_of(None).unwrap_or(0),
        pid_namespace: namespace("pid"),
        time_namespace: namespace("time"),
    }
}

/// Whether a process has certainly ended, as far as the process `here` can tell.
#[cfg(feature = "reader")]
pub(super) fn is_gone(owner: &Owner, here: &Owner) -> bool {
    let known = owner.pid_namespace != 0 && owner.pid_namespace == here.pid_namespace;
    let Some(pid) = i32::try_from(owner.pid).ok().and_then(Pid::from_raw).filter(|_| known) else {
        return false;
    };
    // A process of another user cannot be signalled, but it exists.
    if test_kill_process(pid) == Err(Errno::SRCH) {
        return true;
    }
    let comparable = owner.start != 0 && owner.time_namespace == here.time_namespace;
    let pid = Some(pid.as_raw_nonzero().get().unsigned_abs());
    comparable && start_of(pid).is_some_and(|start| start != owner.start)
}

/// The number of this process's namespace of a kind (`pid`, `time`); 0 if it cannot be read.
fn namespace(which: &str) -> u64 {
    std::fs::metadata(format!("/proc/self/ns/{which}")).map_or(0, |meta| meta.ino())
}

/// The start time of a process, in clock ticks since the start of the machine: field 22 of
/// `/proc/PID/stat`. `pid` is `None` for this process. The result is `None` if the time cannot be
/// read. This function is called again and again for every publisher, so it does not allocate.
fn start_of(pid: Option<u32>) -> Option<u64> {
    let mut path = [0u8; 32];
    let mut rest = &mut path[..];
    match pid {
        Some(pid) => io::Write::write_fmt(&mut rest, format_args!("/proc/{pid}/stat")).ok()?,
        None => io::Write::write_fmt(&mut rest, format_args!("/proc/self/stat")).ok()?,
    }
    let left = rest.len();
    let path = std::str::from_utf8(path.get(..path.len() - left)?).ok()?;
    // The fields before the start time take some 300 bytes.
    let mut text = [0; 1024];
    let length = File::open(path).ok()?.read_at(&mut text, 0).ok()?;
    let stat = text.get(..length)?;
    // The second field is a name in parentheses with any characters.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// A guard that holds in the process that made it, and not in processes forked from it. The page has
/// a number of the process, and `token` is a copy of that number. In a forked process the kernel
/// wipes the page. A forked process that makes a guard of its own writes another number into it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForkGuard {
    page: &'static AtomicU64,
    token: u64,
}

impl ForkGuard {
    /// The guard of this process.
    pub(crate) fn this() -> io::Result<Self> {
        static PAGE: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
        let page = *PAGE.get_or_init(|| guard_page().ok());
        let page = page.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        // The token is never 0, and never that of the parent process, which took the time earlier.
        let token = (time.tv_sec as u64).wrapping_mul(1_000_000_000) + time.tv_nsec as u64 + 1;
        let token = match page.compare_exchange(0, token, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => token,
            Err(token) => token,
        };
        Ok(Self { page, token })
    }

    /// Whether the calling process created the guard.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.page.load(Ordering::Relaxed) == self.token
    }
}

/// The first number of a new page of zeros, which the kernel empties in a forked process.
fn guard_page() -> rustix::io::Result<&'static AtomicU64> {
    let length = rustix::param::page_size();
    // SAFETY: a fresh private mapping at an address that the kernel chooses.
    let page = unsafe {
        rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            length,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    }?;
    // SAFETY: the mapping made above, which is not shared yet. Kernels before 4.14 do not know the
    // advice; there, a forked process counts on.
    let _ = unsafe { rustix::mm::madvise(page, length, Advice::LinuxWipeOnFork) };
    // SAFETY: the mapping is zeroed, aligned to a page, longer than 8 bytes and
    // never unmapped; all access to it is through this atomic.
    Ok(unsafe { AtomicU64::from_ptr(page.cast()) })
}

/// A file mapped for writing, shared with its readers.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is not tied to a thread. Numbers in it are only accessed as atomics. Bytes are
// only written by `write`, and its callers make sure that one thread does so at a time.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File, length: usize) -> rustix::io::Result<Self> {
        // SAFETY: a new shared mapping at an address that the kernel chooses.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, length })
    }

    /// The number at an offset in bytes; `None` beyond the end, and for an offset that is no
    /// multiple of 8. The reference lives as long as the mapping.
    pub(crate) fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let fits = offset.is_multiple_of(8) && offset.checked_add(8)? <= self.length;
        // SAFETY: `offset` is within the mapping and, as mappings begin at a page, aligned. The
        // memory is zeroed or written by `write`, and lives as long as `self`. Numbers are only
        // accessed as atomics: the offsets of numbers and of bytes given to `write` never overlap
        // while both are in use (layout.rs).
        fits.then(|| unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) })
    }

    /// Copies bytes into the mapping; does nothing if they do not fit. Only one thread at a time
    /// may write to the same bytes, and no number in use may lie there.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        if offset.checked_add(bytes.len()).is_some_and(|end| end <= self.length) {
            // SAFETY: the range is within the mapping, and `bytes`, of this process's own memory,
            // does not overlap with it. No reference into it exists: readers are other processes,
            // or read the file.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    bytes.as_ptr(),
                    self.start.as_ptr().add(offset),
                    bytes.len(),
                );
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by `new` with this length; no reference into it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A complete file of this process, which readers find.
#[derive(Debug)]
pub(crate) struct PublishedFile {
    pub(crate) mapping: Mapping,
    pub(crate) path: PathBuf,
    /// Holds the lock that shows that the process is alive; the kernel releases the lock when the
    /// process ends.
    file: File,
}

impl PublishedFile {
    /// Removes the file; the mapping stays.
    pub(crate) fn withdraw(&self) {
        let _ = remove(&self.file, &self.path);
    }
}

/// Creates the file `stem` plus a suffix in `folder`, `length` bytes long, calls `fill` to write
/// its contents, and then gives the file its final name. A process that is killed before that
/// leaves a file that no reader looks at.
pub(crate) fn publish(
    folder: &Path,
    stem: &str,
    length: usize,
    fill: impl FnOnce(&Mapping),
) -> io::Result<PublishedFile> {
    let unfinished = folder.join(format!("{stem}{}", crate::layout::UNFINISHED));
    let path = folder.join(format!("{stem}{}", crate::layout::SUFFIX));
    // No other user may open the file before it is locked: such a user could take the lock first.
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(rustix::fs::open(&unfinished, flags, Mode::RUSR | Mode::WUSR)?);
    let finish = || -> io::Result<Mapping> {
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        // All memory is allocated now: later, a full file system would kill the program at its next
        // increment.
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length as u64) {
            Err(Errno::OPNOTSUPP) => file.write_all_at(&vec![0; length], 0)?,
            done => done?,
        }
        let mapping = Mapping::new(&file, length)?;
        fill(&mapping);
        rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644))?;
        // Another process may have removed the file before it was locked.
        std::fs::rename(&unfinished, &path)?;
        Ok(mapping)
    };
    match finish() {
        Ok(mapping) => Ok(PublishedFile { mapping, path, file }),
        Err(error) => {
            let _ = std::fs::remove_file(&unfinished);
            Err(error)
        }
    }
}

/// Opens a file of any kind for reading. It follows no link and does not wait for a pipe's writer.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Removes `file`, which was opened at `path`; fails if the path leads to another file by now. The
/// owner of the folder may replace the file at any time, also by a file of another user.
pub(super) fn remove(file: &File, path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let opened = rustix::fs::fstat(file)?;
    let there = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (opened.st_dev, opened.st_ino) != (there.st_dev, there.st_ino) {
        return Err(io::ErrorKind::NotFound.into());
    }
    // The folder still holds this file: a user who could replace the file now could also remove the
    // file that takes its place.
    Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
}

/// Whether the file is a regular one.
pub(super) fn is_plain_file(file: &File) -> bool {
    rustix::fs::fstat(file)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

/// Whether the file belongs to this user.
pub(super) fn is_mine(file: &File) -> bool {
    rustix::fs::fstat(file).is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}

/// Takes a shared lock on the file, unless the file's writer holds its lock; several processes may
/// hold the shared lock at once. Closing the file releases it. Returns whether it was taken.
pub(super) fn lock_if_free(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockShared).is_ok()
}

/// The first 12 bytes of a file; `None` if the file has fewer.
pub(super) fn head(file: &File) -> Option<[u8; 12]> {
    let mut head = [0; 12];
    file.read_exact_at(&mut head, 0).is_ok().then_some(head)
}

/// A file of any user, read while it changes. It is never mapped: a mapped page that is cut off
/// ends the program that reads it.
#[cfg(feature = "reader")]
#[derive(Debug)]
pub(crate) struct Opened(File);

#[cfg(feature = "reader")]
impl Opened {
    /// Opens a file of any kind for reading. It follows no link and does not wait for a pipe's
    /// writer.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        open(path).map(Self)
    }

    /// Whether no writer holds the file's lock.
    pub(crate) fn is_abandoned(&self) -> bool {
        let free = lock_if_free(&self.0);
        if free {
            let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
        }
        free
    }

    /// The file system's data about the file.
    pub(crate) fn facts(&self) -> io::Result<Facts> {
        let meta = self.0.metadata()?;
        Ok(Facts {
            is_file: meta.is_file(),
            user: User(meta.uid()),
            device: meta.dev(),
            number: meta.ino(),
            length: meta.len(),
            made: meta.created().ok(),
        })
    }

    /// Fills the buffer with the bytes at an offset. It is an error if the file ends before.
    pub(crate) fn read_bytes(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    /// Fills the buffer, which is aligned memory, with numbers of 8 bytes in the file's byte order.
    /// It is an error if the file ends before.
    pub(crate) fn read_words(&self, offset: u64, out: &mut [u64]) -> io::Result<()> {
        let length = std::mem::size_of_val(out);
        // SAFETY: the same memory, valid for writing while `out` is borrowed; bytes have no
        // alignment, and every pattern of bytes is a number.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<u8>(), length) };
        self.0.read_exact_at(bytes, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_replaced_the_own_one_is_not_removed() {
        let name = format!("perfhive-shm-unit-{}", std::process::id());
        let here = std::env::temp_dir().join(name);
        let (mine, yours, link) = (here.join("mine"), here.join("yours"), here.join("link"));
        for folder in [&mine, &yours] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("a.counters"), "").unwrap();
        }
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        let path = link.join("a.counters");
        let file = open(&path).unwrap();
        // The same name leads elsewhere by now.
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&yours, &link).unwrap();
        let elsewhere = remove(&file, &path);
        let left = yours.join("a.counters").exists();
        // The file is removed in the folder that has it.
        let there = remove(&file, &mine.join("a.counters"));
        let gone = !mine.join("a.counters").exists();
        std::fs::remove_dir_all(&here).unwrap();
        assert!(elsewhere.is_err() && left && there.is_ok() && gone);
    }
}
