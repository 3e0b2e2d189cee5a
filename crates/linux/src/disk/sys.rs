//! Attributes of block devices in `/sys`.

use crate::parse::number;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, fstatfs, openat, statat};
use rustix::io::{Errno, pread, retry_on_intr};
use std::ffi::{CStr, CString};
use std::path::Path;

/// Limit of files that stay open; others are opened at each reading.
const KEPT: usize = 64;
/// `SYSFS_MAGIC`.
const MAGIC: u64 = 0x6265_6572;

/// A folder laid out as `/sys`.
pub(super) struct Sys {
    dir: OwnedFd,
    /// Whether it is the kernel's own: an open file there is always current, while a
    /// file of a copy may be replaced by a new one.
    is_sysfs: bool,
    kept: usize,
}

impl Sys {
    pub(super) fn open(path: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = retry_on_intr(|| openat(CWD, path, flags, Mode::empty())).ok()?;
        let is_sysfs = fstatfs(&dir).is_ok_and(|system| system.f_type as u64 == MAGIC);
        Some(Self { dir, is_sysfs, kept: 0 })
    }

    /// Whether a device is a whole one; a partition is not.
    pub(super) fn is_whole(&self, name: &[u8]) -> bool {
        let path = block_path(name, b"");
        retry_on_intr(|| statat(&self.dir, &path, AtFlags::empty())).is_ok()
    }

    /// Whether a device is made of other block devices.
    pub(super) fn has_slaves(&self, name: &[u8]) -> bool {
        !names(&self.dir, &block_path(name, b"/slaves")).is_empty()
    }

    /// The device-mapper name of a device.
    pub(super) fn mapped_name(&self, name: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = [0; 256];
        let length = self.read(&block_path(name, b"/dm/name"), &mut buffer)?;
        buffer.get(..length).map(|text| text.trim_ascii().to_vec())
    }

    /// The number of devices of the btrfs on a device.
    pub(super) fn devices_of_btrfs(&self, device: &[u8]) -> Option<usize> {
        names(&self.dir, c"fs/btrfs").iter().find_map(|id| {
            let path = CString::new([b"fs/btrfs/", &id[..], b"/devices"].concat()).ok()?;
            let devices = names(&self.dir, &path);
            devices.iter().any(|name| name == device).then_some(devices.len())
        })
    }

    /// A file that is a number.
    pub(super) fn number(&self, path: &CStr) -> Option<u64> {
        let mut buffer = [0; 32];
        let length = self.read(path, &mut buffer)?;
        parse(buffer.get(..length)?)
    }

    /// As [`number`](Self::number); the file stays open in `file` if there are
    /// not too many already, and it is the kernel's.
    pub(super) fn number_kept(&mut self, path: &CStr, file: &mut KeptFile) -> Option<u64> {
        let mut buffer = [0; 32];
        if let Some(open) = &file.0 {
            // An error means that the device vanished; another one may have its name.
            if let Ok(length) = retry_on_intr(|| pread(open, &mut buffer[..], 0)) {
                return parse(buffer.get(..length)?);
            }
            self.close(file);
        }
        let open = open_file(&self.dir, path).ok()?;
        let length = retry_on_intr(|| pread(&open, &mut buffer[..], 0)).ok()?;
        if self.is_sysfs && self.kept < KEPT {
            self.kept += 1;
            file.0 = Some(open);
        }
        parse(buffer.get(..length)?)
    }

    /// Closes a file.
    pub(super) fn close(&mut self, file: &mut KeptFile) {
        self.kept -= usize::from(file.0.take().is_some());
    }

    fn read(&self, path: &CStr, buffer: &mut [u8]) -> Option<usize> {
        let open = open_file(&self.dir, path).ok()?;
        retry_on_intr(|| pread(&open, &mut *buffer, 0)).ok()
    }
}

/// A file that may be open; to be closed by [`Sys::close`], which counts.
#[derive(Default)]
pub(super) struct KeptFile(Option<OwnedFd>);

fn parse(text: &[u8]) -> Option<u64> {
    number(text.trim_ascii())
}

fn open_file(dir: impl AsFd, path: &CStr) -> Result<OwnedFd, Errno> {
    // A pipe where a file should be must not hold up the reader.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    retry_on_intr(|| openat(&dir, path, flags, Mode::empty()))
}

/// The path of a device below the folder, and `rest` behind it. A slash in a
/// device's name is an exclamation mark there.
pub(super) fn block_path(name: &[u8], rest: &[u8]) -> CString {
    let mut path = b"block/".to_vec();
    path.extend(name.iter().map(|byte| if *byte == b'/' { b'!' } else { *byte }));
    path.extend_from_slice(rest);
    CString::new(path).unwrap_or_default()
}

/// The names in a folder; none where there is no such folder.
fn names(dir: impl AsFd, path: &CStr) -> Vec<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(dir) = retry_on_intr(|| openat(&dir, path, flags, Mode::empty())) else {
        return Vec::new();
    };
    let mut buffer = Vec::with_capacity(4096);
    let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names
}
