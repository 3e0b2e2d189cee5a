//! Readers of directories and files below `/proc` that are read again and again.
//!
//! Reading an open file of a process at position 0 costs one system call instead of three, and less
//! than half of the time. The descriptors come out of the program's limit, so a budget bounds the
//! number of open files; beyond the budget, files are opened and closed at each reading. A
//! descriptor belongs to one process for ever: after the process has ended, reading fails, even if
//! another process has its process ID by then.

mod budget;

use budget::KeptFd;
pub use budget::keep_open_at_most;
#[cfg(any(feature = "objects", feature = "processes"))]
pub use budget::raise_open_file_limit;
pub(crate) use budget::{Budget, KeptFile};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, PROC_SUPER_MAGIC, RawDir, SeekFrom, fstat, fstatfs, openat, seek,
    statat,
};
use rustix::io::{Errno, pread, retry_on_intr};
use std::ffi::CStr;
use std::time::Instant;

/// The size in bytes of the buffer for directory entries: several thousand processes fit.
const LISTING: usize = 128 << 10;
/// The initial size in bytes of the buffer for the contents of a file.
const CONTENTS: usize = 16 << 10;
/// The number by which `fstatfs` identifies sysfs.
const SYSFS_MAGIC: i64 = 0x6265_6572;
/// The size in bytes at which reading a file piece by piece ([`read_whole`]) fails. Only the list of
/// TCP sockets can have so many bytes: at 150 bytes a socket, 447,000 sockets.
const TOO_LARGE: usize = 64 << 20;
/// The size in bytes below which a file that the kernel makes in one piece can be read; all such files
/// are smaller.
const TOO_LARGE_AT_ONCE: usize = 4 << 20;

/// A reader of files and directories below one directory. It has one buffer for texts: each reading
/// replaces the text of the one before.
pub(crate) struct Reader {
    dir: OwnedFd,
    is_procfs: bool,
    /// Whether the directory is in procfs or sysfs, so that files may stay open. In a copy, a file
    /// may be replaced by a new one.
    stays: bool,
    budget: Budget,
    /// The deadline of the collection; `None` for no deadline.
    deadline: Option<Instant>,
    contents: Vec<u8>,
    /// The length of the text that was read last.
    length: usize,
    listing: Vec<u8>,
}

impl Reader {
    /// A reader below the directory at `path`; an error if the directory cannot be opened. The
    /// buffers are allocated at first use.
    pub(crate) fn open(path: impl rustix::path::Arg) -> Result<Self, Errno> {
        let dir = open_dir(CWD, path)?;
        // Files of procfs and sysfs are made by the kernel; other files may be replaced by new
        // ones.
        let kind = fstatfs(&dir).map(|system| system.f_type);
        let is_procfs = kind.is_ok_and(|kind| kind == PROC_SUPER_MAGIC);
        let stays = is_procfs || kind.is_ok_and(|kind| i128::from(kind) == i128::from(SYSFS_MAGIC));
        Ok(Self {
            dir,
            is_procfs,
            stays,
            budget: if stays { Budget::of_program() } else { Budget { limit: 0 } },
            deadline: None,
            contents: Vec::new(),
            length: 0,
            listing: Vec::new(),
        })
    }

    /// Lets this reader keep files open although its directory is not in procfs but in another file
    /// system of the kernel. It keeps a further file open only while the program uses less than half
    /// of its budget of open files, so that the other half is left for processes.
    pub(crate) fn keep_files(&mut self) {
        self.budget = Budget { limit: Budget::of_program().limit / 2 };
    }

    /// Sets the deadline of the collection, for [`is_late`](Self::is_late); `None` for no deadline.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Whether the deadline has passed; `false` without a deadline. A read that the kernel delays
    /// cannot be interrupted, but further reads can be left out.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Lists in `out`, in place of its contents, the names in the directory that are numbers above
    /// 0, ascending: below `/proc`, the process IDs.
    pub(crate) fn numbers(&mut self, out: &mut Vec<u32>) -> Result<(), Errno> {
        seek(&self.dir, SeekFrom::Start(0))?;
        list_numbers(&self.dir, &mut self.listing, out)
    }

    /// Lists in `out` the numbers above 0 among the names in the directory `path` of a process,
    /// ascending, as [`numbers`](Self::numbers) does for `self.dir`. If the budget allows it, the
    /// directory `path` stays open in `kept`, and the result is `None`; otherwise the result is the
    /// open directory.
    pub(crate) fn numbers_in(
        &mut self,
        kept: &mut KeptFile,
        path: impl FnOnce() -> PidPath,
        out: &mut Vec<u32>,
    ) -> Result<Option<OwnedFd>, Errno> {
        if let Some(KeptFd(dir)) = &kept.fd {
            let listed = seek(dir, SeekFrom::Start(0))
                .and_then(|_| list_numbers(dir, &mut self.listing, out));
            if listed.is_err() {
                kept.close();
            }
            return listed.map(|()| None);
        }
        let dir = open_dir(&self.dir, path().text())?;
        list_numbers(&dir, &mut self.listing, out)?;
        Ok(self.budget.keep(dir, kept))
    }

    /// Lists in `out` the numbers above 0 among the names in the directory `path` below this one,
    /// ascending, as [`numbers`](Self::numbers) does for `self.dir`; returns the open directory.
    pub(crate) fn list(&mut self, path: &CStr, out: &mut Vec<u32>) -> Result<OwnedFd, Errno> {
        let dir = open_dir(&self.dir, path)?;
        list_numbers(&dir, &mut self.listing, out)?;
        Ok(dir)
    }

    /// The number of entries of a directory below this one, without `.` and `..`.
    pub(crate) fn count_in(&mut self, path: &CStr) -> Result<u64, Errno> {
        let dir = open_dir(&self.dir, path)?;
        self.listing.clear();
        self.listing.reserve(LISTING);
        let mut entries = RawDir::new(&dir, self.listing.spare_capacity_mut());
        let mut count = 0;
        while let Some(entry) = entries.next() {
            count += u64::from(!matches!(entry?.file_name().to_bytes(), b"." | b".."));
        }
        Ok(count)
    }

    /// Reads a small file of a process at `path` below the directory, and keeps it open in `kept` if the budget
    /// allows that. The error is `SRCH` if the process of the kept file has ended. The text is in
    /// [`text`](Self::text).
    pub(crate) fn kept(
        &mut self,
        kept: &mut KeptFile,
        path: impl FnOnce() -> PidPath,
    ) -> Result<(), Errno> {
        match &kept.fd {
            Some(KeptFd(fd)) => {
                let read = read_small(fd, &mut self.contents);
                if read.is_err() {
                    kept.close();
                }
                self.length = read?;
            }
            None => {
                let fd = open_file(&self.dir, path().text())?;
                self.length = read_small(&fd, &mut self.contents)?;
                self.budget.keep(fd, kept);
            }
        }
        Ok(())
    }

    /// Reads a file at `path` below the directory, and keeps it open in `kept` if the budget allows
    /// that, as [`kept`](Self::kept) does. `whole` must be true for a file that the kernel makes
    /// line by line. The text is in [`text`](Self::text).
    pub(crate) fn kept_at(
        &mut self,
        path: &CStr,
        kept: &mut KeptFile,
        whole: bool,
    ) -> Result<(), Errno> {
        let read = if whole { read_whole } else { read_small };
        match &kept.fd {
            Some(KeptFd(fd)) => {
                let length = read(fd, &mut self.contents);
                if length.is_err() {
                    kept.close();
                }
                self.length = length?;
            }
            None => {
                let fd = open_file(&self.dir, path)?;
                self.length = read(&fd, &mut self.contents)?;
                self.budget.keep(fd, kept);
            }
        }
        Ok(())
    }

    /// Reads a small file at `path` below the open directory `dir`, and keeps it open in `kept` if
    /// the budget allows that, as [`kept`](Self::kept) does. The text is in [`text`](Self::text).
    pub(crate) fn kept_in(
        &mut self,
        dir: impl AsFd,
        kept: &mut KeptFile,
        path: impl FnOnce() -> PidPath,
    ) -> Result<(), Errno> {
        if kept.fd.is_some() {
            return self.kept(kept, path);
        }
        let fd = open_file(dir, path().text())?;
        self.length = read_small(&fd, &mut self.contents)?;
        self.budget.keep(fd, kept);
        Ok(())
    }

    /// Whether [`kept`](Self::kept) would keep another file open.
    pub(crate) fn may_keep(&self) -> bool {
        self.budget.has_room()
    }

    /// The text that was read last.
    pub(crate) fn text(&self) -> &[u8] {
        self.contents.get(..self.length).unwrap_or_default()
    }

    /// Opens, reads and closes a small file below the open directory `dir`. The text is in
    /// [`text`](Self::text).
    pub(crate) fn once(&mut self, dir: impl AsFd, path: &CStr) -> Result<(), Errno> {
        let fd = open_file(dir, path)?;
        self.length = read_small(&fd, &mut self.contents)?;
        Ok(())
    }

    /// Opens, reads and closes a small file below this directory. The text is in
    /// [`text`](Self::text).
    pub(crate) fn once_here(&mut self, path: &CStr) -> Result<(), Errno> {
        let fd = open_file(&self.dir, path)?;
        self.length = read_small(&fd, &mut self.contents)?;
        Ok(())
    }

    /// Opens a file below this directory.
    pub(crate) fn open_here(&self, path: &CStr) -> Result<OwnedFd, Errno> {
        open_file(&self.dir, path)
    }

    /// The size of a file or directory below this one, as the system reports it: in bytes, or for
    /// some directories of procfs the number of entries.
    pub(crate) fn size(&self, path: &CStr) -> Result<u64, Errno> {
        let stat = retry_on_intr(|| statat(&self.dir, path, AtFlags::empty()))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// The size of a directory of a process, as by [`size`](Self::size). The directory is kept open if the budget
    /// allows.
    pub(crate) fn size_kept(
        &self,
        kept: &mut KeptFile,
        path: impl FnOnce() -> PidPath,
    ) -> Result<u64, Errno> {
        let stat = match kept.fd() {
            Some(fd) => fstat(fd),
            None => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let path = path();
                let open = || openat(&self.dir, path.text(), flags, Mode::empty());
                let fd = retry_on_intr(open)?;
                let stat = fstat(&fd);
                self.budget.keep(fd, kept);
                stat
            }
        };
        if stat.is_err() {
            kept.close();
        }
        Ok(u64::try_from(stat?.st_size).unwrap_or(0))
    }

    /// Whether the directory is in the `/proc` of the system, and not in a copy.
    pub(crate) fn is_procfs(&self) -> bool {
        self.is_procfs
    }

    /// Lists in `out`, ascending, the numbers behind `word` in the names of a directory below this
    /// one: of `cpu0` and `cpu1` the numbers 0 and 1.
    pub(crate) fn numbered(
        &mut self,
        path: &CStr,
        word: &[u8],
        out: &mut Vec<u32>,
    ) -> Result<(), Errno> {
        out.clear();
        self.each_name(path, |name| {
            let number = match name.strip_prefix(word) {
                Some(b"0") => Some(0),
                Some(digits) => file_number(digits),
                None => None,
            };
            out.extend(number);
        })?;
        out.sort_unstable();
        Ok(())
    }

    /// Calls `look` with the name of each entry of a directory below this one, `.` and `..`
    /// included.
    pub(crate) fn each_name(
        &mut self,
        path: &CStr,
        mut look: impl FnMut(&[u8]),
    ) -> Result<(), Errno> {
        let dir = open_dir(&self.dir, path)?;
        self.listing.clear();
        self.listing.reserve(LISTING);
        let mut entries = RawDir::new(&dir, self.listing.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            look(entry?.file_name().to_bytes());
        }
        Ok(())
    }

    /// The text of a file below this directory, read to its end. A file of procfs or sysfs stays
    /// open in `file`.
    pub(crate) fn system(
        &mut self,
        path: &CStr,
        file: &mut Option<OwnedFd>,
    ) -> Result<&[u8], Errno> {
        let fd = match file.take() {
            Some(fd) => fd,
            None => open_file(&self.dir, path)?,
        };
        self.length = read_whole(&fd, &mut self.contents)?;
        *file = self.stays.then_some(fd);
        Ok(self.text())
    }
}

fn open_dir(at: impl AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(&at, path.as_cow_c_str()?.as_ref(), flags, Mode::empty()))
}

fn open_file(at: impl AsFd, path: &CStr) -> Result<OwnedFd, Errno> {
    // A pipe in place of a file must not block the reader.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    retry_on_intr(|| openat(&at, path, flags, Mode::empty()))
}

/// Reads a file that the kernel makes in one piece into the front of `buffer`, and returns the
/// file's length. A file that fills the whole buffer is read again with a larger buffer; if the
/// buffer already has [`TOO_LARGE_AT_ONCE`] bytes or more, the error is [`Errno::FBIG`].
fn read_small(fd: &OwnedFd, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    if buffer.is_empty() {
        buffer.resize(CONTENTS, 0);
    }
    loop {
        let length = retry_on_intr(|| pread(fd, buffer.as_mut_slice(), 0))?;
        if length < buffer.len() {
            return Ok(length);
        }
        if length >= TOO_LARGE_AT_ONCE {
            return Err(Errno::FBIG);
        }
        buffer.resize(length * 2, 0);
    }
}

/// Reads a file piece by piece to its end into the front of `buffer`, which grows if need be.
/// Returns the file's length; a file of [`TOO_LARGE`] bytes or more is [`Errno::FBIG`].
fn read_whole(fd: &OwnedFd, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    if buffer.is_empty() {
        buffer.resize(CONTENTS, 0);
    }
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= TOO_LARGE {
                return Err(Errno::FBIG);
            }
            buffer.resize(length * 2, 0);
        }
        let rest = buffer.get_mut(length..).unwrap_or_default();
        let more = retry_on_intr(|| pread(fd, &mut *rest, length as u64))?;
        if more == 0 {
            return Ok(length);
        }
        length += more;
    }
}

fn list_numbers(dir: &OwnedFd, listing: &mut Vec<u8>, out: &mut Vec<u32>) -> Result<(), Errno> {
    out.clear();
    listing.clear();
    listing.reserve_exact(LISTING);
    let mut entries = RawDir::new(dir, listing.spare_capacity_mut());
    let mut sorted = true;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if let Some(number) = file_number(entry.file_name().to_bytes()) {
            sorted &= out.last().is_none_or(|last| *last < number);
            out.push(number);
        }
    }
    // The kernel lists processes in order but does not promise it.
    if !sorted {
        out.sort_unstable();
        out.dedup();
    }
    Ok(())
}

/// The number that a name consists of. `None` for 0, leading zeros, a number of more than 32 bits,
/// and any other text.
fn file_number(name: &[u8]) -> Option<u32> {
    match name {
        [] | [b'0', ..] => None,
        _ => name.iter().try_fold(0u32, |number, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit < 10).then_some(())?;
            number.checked_mul(10)?.checked_add(u32::from(digit))
        }),
    }
}

/// A short path, such as that of a process or thread, built without allocating.
pub(crate) struct PidPath {
    bytes: [u8; 64],
    length: usize,
}

impl PidPath {
    /// The path `PID/`.
    pub(crate) fn new(pid: u32) -> Self {
        Self::numbered(b"", pid)
    }

    /// The path that consists of a word, a number and a slash.
    pub(crate) fn numbered(word: &[u8], number: u32) -> Self {
        let mut path = Self { bytes: [0; 64], length: 0 };
        path.push(word);
        path.push_number(number);
        path.push(b"/");
        path
    }

    /// The path `PID/name`.
    pub(crate) fn of(pid: u32, name: &[u8]) -> Self {
        let mut path = Self::new(pid);
        path.push(name);
        path
    }

    /// The path `PID/task/TID/name`.
    pub(crate) fn of_thread(pid: u32, tid: u32, name: &[u8]) -> Self {
        let mut path = Self::of(pid, b"task/");
        path.push_number(tid);
        path.push(b"/");
        path.push(name);
        path
    }

    /// The path as a C string.
    pub(crate) fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Appends text. Text beyond 63 bytes is left out; no path here is that long.
    pub(crate) fn push(&mut self, text: &[u8]) {
        for (place, byte) in self.bytes.iter_mut().take(63).skip(self.length).zip(text) {
            *place = *byte;
            self.length += 1;
        }
        if let Some(end) = self.bytes.get_mut(self.length) {
            *end = 0;
        }
    }

    /// Cuts the path to its first `length` bytes and appends `name`; returns the path.
    pub(crate) fn file(&mut self, length: usize, name: &[u8]) -> &CStr {
        self.length = length;
        self.push(name);
        self.text()
    }

    /// The length of the path, for [`file`](Self::file).
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Appends the decimal digits of a number to the path.
    pub(crate) fn push_number(&mut self, number: u32) {
        let mut digits = [0; 10];
        self.push(decimal(number, &mut digits));
    }
}

/// The decimal digits of a number, written into `digits`.
pub(crate) fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut start = digits.len();
    for (at, place) in digits.iter_mut().enumerate().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        start = at;
        if number == 0 {
            break;
        }
    }
    digits.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_paths() {
        assert_eq!(file_number(b"123"), Some(123));
        for other in ["", "0", "012", "12a", "self", "99999999999", "-1", "."] {
            assert_eq!(file_number(other.as_bytes()), None, "{other}");
        }
        let mut digits = [0; 10];
        assert_eq!(decimal(0, &mut digits), b"0");
        assert_eq!(decimal(u32::MAX, &mut digits), b"4294967295");
        assert_eq!(PidPath::of(u32::MAX, b"statm").text(), c"4294967295/statm");
        let mut path = PidPath::of_thread(u32::MAX, u32::MAX, b"schedstat");
        assert_eq!(path.text(), c"4294967295/task/4294967295/schedstat");
        path.push(&[b'x'; 100]);
        assert_eq!(path.text().count_bytes(), 63);
    }

    #[test]
    fn descriptors_are_kept_within_the_budget_only() {
        let mut reader = Reader::open("/proc").unwrap();
        reader.budget = Budget { limit: 0 };
        let mut kept = KeptFile::default();
        let own = || PidPath::of(std::process::id(), b"stat");
        reader.kept(&mut kept, own).unwrap();
        assert!(kept.fd.is_none() && reader.text().len() > 50);
        assert!(Budget::of_program().limit <= 16_384);
        reader.budget = Budget { limit: usize::MAX };
        for _ in 0..2 {
            reader.kept(&mut kept, own).unwrap();
            assert!(kept.fd.is_some() && reader.text().len() > 50);
        }
        kept.close();
        let none = || PidPath::of(4_194_305, b"stat");
        assert_eq!(reader.kept(&mut kept, none), Err(Errno::NOENT));
    }

    #[test]
    fn files_larger_than_the_buffer_are_read_in_full() {
        let path = std::env::temp_dir().join(format!("perfhive-files-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let text: Vec<u8> = (0..CONTENTS * 3 + 5).map(|at| b'a' + (at % 26) as u8).collect();
        std::fs::write(path.join("large"), &text).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        reader.once_here(c"large").unwrap();
        assert_eq!(reader.text(), text);
        let mut file = None;
        assert_eq!(reader.system(c"large", &mut file).unwrap(), text);
        std::fs::write(path.join("empty"), "").unwrap();
        reader.once_here(c"empty").unwrap();
        assert_eq!(reader.text(), b"");
        assert_eq!(reader.once_here(c"none"), Err(Errno::NOENT));
        std::fs::remove_dir_all(&path).unwrap();
    }
}
