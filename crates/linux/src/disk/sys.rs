//! A reader of the attributes of block devices in `/sys`.

use crate::parse::number;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, fstatfs, openat, statat};
use rustix::io::{Errno, pread, retry_on_intr};
use std::ffi::{CStr, CString};
use std::path::Path;

/// The most files that stay open; further files are opened for each reading.
const KEPT: usize = 64;
/// The number by which `fstatfs` identifies sysfs (`SYSFS_MAGIC`).
const MAGIC: u64 = 0x6265_6572;

/// A folder with the layout of `/sys`.
pub(super) struct Sys {
    dir: OwnedFd,
    /// Whether the folder is the kernel's own: there an open file is always current, while a
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

    /// Whether a device is a whole device, which has a folder in `block`, and not a partition.
    pub(super) fn is_whole(&self, name: &[u8]) -> bool {
        let path = block_path(name, b"");
        retry_on_intr(|| statat(&self.dir, &path, AtFlags::empty())).is_ok()
    }

    /// Whether a device consists of other block devices.
    pub(super) fn has_slaves(&self, name: &[u8]) -> bool {
        !names(&self.dir, &block_path(name, b"/slaves")).is_empty()
    }

    /// The device-mapper name of a device; `None` if it has none.
    pub(super) fn mapped_name(&self, name: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = [0; 256];
        let length = self.read(&block_path(name, b"/dm/name"), &mut buffer)?;
        buffer.get(..length).map(|text| text.trim_ascii().to_vec())
    }

    /// The number of devices of the btrfs that lies on a device; `None` if no btrfs lies on it.
    pub(super) fn devices_of_btrfs(&self, device: &[u8]) -> Option<usize> {
        names(&self.dir, c"fs/btrfs").iter().find_map(|id| {
            let path = CString::new([b"fs/btrfs/", &id[..], b"/devices"].concat()).ok()?;
            let devices = names(&self.dir, &path);
            devices.iter().any(|name| name == device).then_some(devices.len())
        })
    }

    /// The number in a file; `None` if it cannot be read.
    pub(super) fn number(&self, path: &CStr) -> Option<u64> {
        let mut buffer = [0; 32];
        let length = self.read(path, &mut buffer)?;
        parse(buffer.get(..length)?)
    }

    /// The number in a file; `None` if it cannot be read. The file stays open in `file` if the folder
    /// is the kernel's own `/sys` and fewer than [`KEPT`] files are open.
    pub(super) fn number_kept(&mut self, path: &CStr, file: &mut KeptFile) -> Option<u64> {
        let mut buffer = [0; 32];
        if let Some(open) = &file.0 {
            // After an error the file is opened anew: the device vanished, but another may have its name.
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

    /// Closes a file, and counts it as closed.
    pub(super) fn close(&mut self, file: &mut KeptFile) {
        self.kept -= usize::from(file.0.take().is_some());
    }

    fn read(&self, path: &CStr, buffer: &mut [u8]) -> Option<usize> {
        let open = open_file(&self.dir, path).ok()?;
        retry_on_intr(|| pread(&open, &mut *buffer, 0)).ok()
    }
}

/// A file that may be open. [`Sys::close`] must close it, since that function counts the open files.
#[derive(Default)]
pub(super) struct KeptFile(Option<OwnedFd>);

fn parse(text: &[u8]) -> Option<u64> {
    number(text.trim_ascii())
}

fn open_file(dir: impl AsFd, path: &CStr) -> Result<OwnedFd, Errno> {
    // A pipe in place of a file must not block the reader.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    retry_on_intr(|| openat(&dir, path, flags, Mode::empty()))
}

/// The path of a block device below `/sys`, with `rest` behind it. A slash in a device's name is
/// written as an exclamation mark.
pub(super) fn block_path(name: &[u8], rest: &[u8]) -> CString {
    let mut path = b"block/".to_vec();
    path.extend(name.iter().map(|byte| if *byte == b'/' { b'!' } else { *byte }));
    path.extend_from_slice(rest);
    CString::new(path).unwrap_or_default()
}

/// The names in a folder; empty if there is no such folder.
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
