//! Reading below `/proc`: directories and files that are read again and again.
//!
//! A file of a process that stays open and is read at position 0 costs one
//! system call instead of three, and less than half of the time. Each such
//! descriptor is one of those that the whole program has, so that a budget
//! says how many are kept; beyond it, files are opened and closed at each
//! reading. A descriptor belongs to one process for ever: when that ends,
//! reading fails, even if another process has got the number since.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, PROC_SUPER_MAGIC, RawDir, SeekFrom, fstatfs, openat, seek, statat,
};
use rustix::io::{Errno, pread, retry_on_intr};
use rustix::process::{Resource, getrlimit};
use std::ffi::CStr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of the buffer for directory entries: several thousand processes fit.
const LISTING: usize = 128 << 10;
/// Initial size of the buffer for files.
const CONTENTS: usize = 16 << 10;
/// Size that no file here has.
const TOO_LARGE: usize = 64 << 20;
/// Size that no file has that is made in one piece.
const TOO_LARGE_AT_ONCE: usize = 4 << 20;

/// Descriptors that all sessions of this program keep for processes.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// How many descriptors may be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limit: usize,
}

impl Budget {
    /// Half of what the program may open, less some for everything else that
    /// opens files, and no more than 16384: each costs some 4 KB of the
    /// kernel's memory.
    pub(crate) fn of_program() -> Self {
        let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let half = usize::try_from(soft / 2).unwrap_or(usize::MAX);
        Self { limit: half.saturating_sub(64).min(16_384) }
    }

    fn keep(self, fd: OwnedFd) -> Option<KeptFd> {
        let take = |kept| (kept < self.limit).then_some(kept + 1);
        KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok().map(|_| KeptFd(fd))
    }
}

/// A descriptor that counts in the budget.
struct KeptFd(OwnedFd);

impl Drop for KeptFd {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file of a process that is read again and again.
#[derive(Default)]
pub(crate) struct Kept {
    fd: Option<KeptFd>,
}

impl Kept {
    /// Gives the descriptor back.
    pub(crate) fn close(&mut self) {
        self.fd = None;
    }
}

/// Reads below one directory, into one buffer.
pub(crate) struct Reader {
    dir: OwnedFd,
    is_procfs: bool,
    budget: Budget,
    contents: Vec<u8>,
    /// Length of what was read last into `contents`.
    length: usize,
    listing: Vec<u8>,
}

impl Reader {
    /// Opens the directory. Buffers are made at first use.
    pub(crate) fn open(path: &Path) -> Result<Self, Errno> {
        let dir = open_dir(CWD, path)?;
        // A file of procfs is the kernel's answer at the moment; any other file
        // may be replaced by a new one.
        let is_procfs = fstatfs(&dir).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC);
        Ok(Self {
            dir,
            is_procfs,
            budget: if is_procfs { Budget::of_program() } else { Budget { limit: 0 } },
            contents: Vec::new(),
            length: 0,
            listing: Vec::new(),
        })
    }

    /// The entries of the directory that are numbers, ascending.
    pub(crate) fn numbers(&mut self, out: &mut Vec<u32>) -> Result<(), Errno> {
        seek(&self.dir, SeekFrom::Start(0))?;
        list_numbers(&self.dir, &mut self.listing, out)
    }

    /// As [`numbers`](Self::numbers), of a directory below.
    pub(crate) fn numbers_in(&mut self, path: &CStr, out: &mut Vec<u32>) -> Result<OwnedFd, Errno> {
        let dir = open_dir(&self.dir, path)?;
        list_numbers(&dir, &mut self.listing, out)?;
        Ok(dir)
    }

    /// Reads a small file of a process, `path` below the directory, and keeps
    /// it open if the budget allows. `Err(SRCH)` where the process that the
    /// kept file belongs to has ended. What was read is [`text`](Self::text).
    pub(crate) fn kept(&mut self, path: &CStr, kept: &mut Kept) -> Result<(), Errno> {
        self.length = match &kept.fd {
            Some(fd) => {
                let length = read_small(&fd.0, &mut self.contents);
                if length.is_err() {
                    kept.close();
                }
                length?
            }
            None => {
                let fd = open_file(&self.dir, path)?;
                let length = read_small(&fd, &mut self.contents)?;
                kept.fd = self.budget.keep(fd);
                length
            }
        };
        Ok(())
    }

    /// What was read last.
    pub(crate) fn text(&self) -> &[u8] {
        self.contents.get(..self.length).unwrap_or_default()
    }

    /// Reads a small file of a process once, below `dir`.
    pub(crate) fn once(&mut self, dir: impl AsFd, path: &CStr) -> Result<(), Errno> {
        let fd = open_file(dir, path)?;
        self.length = read_small(&fd, &mut self.contents)?;
        Ok(())
    }

    /// Reads a small file below the directory once.
    pub(crate) fn once_here(&mut self, path: &CStr) -> Result<(), Errno> {
        let fd = open_file(&self.dir, path)?;
        self.length = read_small(&fd, &mut self.contents)?;
        Ok(())
    }

    /// Opens a file below the directory.
    pub(crate) fn open_here(&self, path: &CStr) -> Result<OwnedFd, Errno> {
        open_file(&self.dir, path)
    }

    /// Size of a file or directory below the directory, as the system tells it.
    pub(crate) fn size(&self, path: &CStr) -> Result<u64, Errno> {
        let stat = retry_on_intr(|| statat(&self.dir, path, AtFlags::empty()))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Whether the directory is of the system's own `/proc`.
    pub(crate) fn is_procfs(&self) -> bool {
        self.is_procfs
    }

    /// Reads a file of the system in full; one of procfs stays open in `file`.
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
        *file = self.is_procfs.then_some(fd);
        Ok(self.text())
    }
}

fn open_dir(at: impl AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(&at, path.as_cow_c_str()?.as_ref(), flags, Mode::empty()))
}

fn open_file(at: impl AsFd, path: &CStr) -> Result<OwnedFd, Errno> {
    // A pipe where a file should be must not hold up the reader.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    retry_on_intr(|| openat(&at, path, flags, Mode::empty()))
}

/// Reads a file that the kernel makes in one piece; only what fills the whole
/// buffer is read again, with a larger one.
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

/// Reads a file piece by piece to its end.
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
    listing.reserve(LISTING);
    let mut entries = RawDir::new(dir, listing.spare_capacity_mut());
    let mut sorted = true;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if let Some(number) = file_number(entry.file_name().to_bytes()) {
            sorted &= out.last().is_none_or(|last| *last < number);
            out.push(number);
        }
    }
    // The kernel lists processes in order, but does not promise to.
    if !sorted {
        out.sort_unstable();
        out.dedup();
    }
    Ok(())
}

/// The number that a name is, if it is one as the kernel writes it.
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

/// A path of a process or thread, made without allocating.
pub(crate) struct PidPath {
    bytes: [u8; 64],
    length: usize,
}

impl PidPath {
    /// `PID/`.
    pub(crate) fn new(pid: u32) -> Self {
        let mut path = Self { bytes: [0; 64], length: 0 };
        path.push_number(pid);
        path.push(b"/");
        path
    }

    /// Appends text. What does not fit is left out; no path here is that long.
    pub(crate) fn push(&mut self, text: &[u8]) {
        for (place, byte) in self.bytes.iter_mut().take(63).skip(self.length).zip(text) {
            *place = *byte;
            self.length += 1;
        }
        if let Some(end) = self.bytes.get_mut(self.length) {
            *end = 0;
        }
    }

    /// Appends a number.
    pub(crate) fn push_number(&mut self, number: u32) {
        let mut digits = [0; 10];
        self.push(decimal(number, &mut digits));
    }

    /// The path with `name` behind what was there when it had `length` bytes.
    pub(crate) fn file(&mut self, length: usize, name: &[u8]) -> &CStr {
        self.length = length;
        self.push(name);
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Length so far, for [`file`](Self::file).
    pub(crate) fn len(&self) -> usize {
        self.length
    }
}

/// A number in digits.
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
        let mut path = PidPath::new(4_294_967_295);
        let length = path.len();
        assert_eq!(path.file(length, b"statm"), c"4294967295/statm");
        assert_eq!(path.file(length, b"io"), c"4294967295/io");
        path.push(&[b'x'; 100]);
        assert_eq!(path.len(), 63);
    }

    #[test]
    fn descriptors_are_kept_within_the_budget_only() {
        let mut reader = Reader::open(Path::new("/proc")).unwrap();
        reader.budget = Budget { limit: 0 };
        let mut kept = Kept::default();
        reader.kept(c"self/stat", &mut kept).unwrap();
        assert!(kept.fd.is_none() && reader.text().len() > 50);
        assert!(Budget::of_program().limit <= 16_384);
        reader.budget = Budget { limit: usize::MAX };
        for _ in 0..2 {
            reader.kept(c"self/stat", &mut kept).unwrap();
            assert!(kept.fd.is_some() && reader.text().len() > 50);
        }
        kept.close();
        assert_eq!(reader.kept(c"4194305/stat", &mut kept), Err(Errno::NOENT));
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
