//! The space of a file system, from `statfs`.

use super::mounts::Volume;
use crate::faults::{is_denied, is_gone};
use rustix::fs::{CWD, Mode, OFlags, fstat, fstatfs, fstatvfs, major, minor, openat};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::CStr;

/// The numbers by which `fstatfs` identifies btrfs and bcachefs (`BTRFS_SUPER_MAGIC` and
/// `BCACHEFS_SUPER_MAGIC`).
const POOL_MAGICS: [u64; 2] = [0x9123_683e, 0xca45_1a4e];

/// The space of a file system. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Space {
    /// Free space that every user may use.
    pub(super) free: u64,
    /// The space that every user may use, free or used.
    pub(super) usable: u64,
    /// Free space that only the administrator may use.
    pub(super) reserved: u64,
    /// The number of free inodes, and the number of all inodes; `None` if their number has no
    /// limit.
    pub(super) inodes: Option<(u64, u64)>,
}

impl Space {
    /// Adds the space of another file system.
    pub(super) fn add(&mut self, other: &Self) {
        self.free = self.free.saturating_add(other.free);
        self.usable = self.usable.saturating_add(other.usable);
        self.reserved = self.reserved.saturating_add(other.reserved);
        if let Some((free, all)) = other.inodes {
            let (free_before, all_before) = self.inodes.unwrap_or_default();
            let sums = (free_before.saturating_add(free), all_before.saturating_add(all));
            self.inodes = Some(sums);
        }
    }
}

/// The reason why the space of a file system is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A system call failed with this error.
    System(Errno),
    /// Another file system is mounted over the mount point.
    Covered,
}

impl Refusal {
    /// The error to report as a fault; `None` for a file system that has been unmounted since, is
    /// covered, or may not be read by this user.
    pub(super) fn fault(self) -> Option<Errno> {
        match self {
            Self::System(error) if !is_gone(error) && !is_denied(error) => Some(error),
            _ => None,
        }
    }
}

/// The space of a file system, from the first of its mount points that can be reached. The error is
/// the first failure, or [`Refusal::Covered`] if it has no mount point that may be looked up.
pub(super) fn ask(volume: &Volume) -> Result<Space, Refusal> {
    let mut refusal = None;
    for place in &volume.places {
        match ask_at(volume, place) {
            Ok(space) => return Ok(space),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal.unwrap_or(Refusal::Covered))
}

fn ask_at(volume: &Volume, place: &CStr) -> Result<Space, Refusal> {
    // `O_PATH` opens no device, pipe or automount. As long as the handle is open, the file system
    // cannot be unmounted; so the handle is closed when this function returns.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = retry_on_intr(|| openat(CWD, place, flags, Mode::empty()));
    let handle = handle.map_err(Refusal::System)?;
    let stat = fstat(&handle).map_err(Refusal::System)?;
    if (major(stat.st_dev), minor(stat.st_dev)) != volume.number {
        // The files of a subvolume have another device number than the file system.
        let system = fstatfs(&handle).map_err(Refusal::System)?;
        let magic = system.f_type as u64 & 0xffff_ffff;
        if volume.pool.is_none() || !POOL_MAGICS.contains(&magic) {
            return Err(Refusal::Covered);
        }
    }
    let system = fstatvfs(&handle).map_err(Refusal::System)?;
    let bytes = |blocks: u64| blocks.saturating_mul(system.f_frsize);
    let used = system.f_blocks.saturating_sub(system.f_bfree);
    let free = system.f_bavail.min(system.f_bfree);
    Ok(Space {
        free: bytes(free),
        usable: bytes(used.saturating_add(free)),
        reserved: bytes(system.f_bfree - free),
        inodes: (system.f_files > 0).then_some((system.f_ffree, system.f_files)),
    })
}

/// The numbers `part` and `whole`, both halved until they fit into 32 bits.
pub(super) fn fraction(mut part: u64, mut whole: u64) -> (u64, u64) {
    while part.max(whole) > u64::from(u32::MAX) {
        (part, whole) = (part / 2, whole / 2);
    }
    (part, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_fractions_are_scaled_to_32_bits() {
        assert_eq!(fraction(0, 0), (0, 0));
        assert_eq!(fraction(1, u64::from(u32::MAX)), (1, u64::from(u32::MAX)));
        assert_eq!(fraction(1 << 40, 1 << 42), (1 << 29, 1 << 31));
        assert_eq!(fraction(u64::MAX, u64::MAX), (u64::from(u32::MAX), u64::from(u32::MAX)));
    }

    #[test]
    fn a_missing_path_has_no_space() {
        let volume = |place: &CStr, number| Volume {
            name: Vec::new(),
            text: String::new(),
            number,
            pool: None,
            places: vec![place.to_owned()],
        };
        let error = ask(&volume(c"/proc/nothing", (8, 1)));
        assert_eq!(error, Err(Refusal::System(Errno::NOENT)));
        assert_eq!(error.unwrap_err().fault(), None);
        assert_eq!(Refusal::System(Errno::IO).fault(), Some(Errno::IO));
        // Instead of a disk, `/proc` is mounted there.
        assert_eq!(ask(&volume(c"/proc", (8, 1))), Err(Refusal::Covered));
    }

    #[test]
    fn spaces_add_up() {
        let mut sum = Space::default();
        sum.add(&Space { free: 1, usable: 2, reserved: 3, inodes: None });
        assert_eq!(sum.inodes, None);
        sum.add(&Space { free: 10, usable: 20, reserved: 30, inodes: Some((4, 5)) });
        assert_eq!(sum, Space { free: 11, usable: 22, reserved: 33, inodes: Some((4, 5)) });
    }
}
