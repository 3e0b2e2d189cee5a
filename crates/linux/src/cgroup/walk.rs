//! A walk through the folders of all control groups.

use super::group::{GroupReader, Hierarchy, shown};
use crate::faults::{Faults, describe, is_denied, is_gone};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, fstat, openat, statat};
use rustix::io::{Errno, retry_on_intr};
use std::cmp::Ordering;
use std::ffi::CStr;

/// The most groups that are read; if there are more, the others are left out and a fault is
/// reported. In version 1, a group counts once for each hierarchy that has it.
const MOST: usize = 65_536;
/// The deepest level of groups that are read; deeper groups are left out and a fault is reported.
const DEEPEST: u16 = 64;
/// The longest path of a group in bytes; a group with a longer path is left out, without a fault.
const LONGEST: usize = 3_840;
/// The size in bytes of the buffer for directory entries.
const LISTING: usize = 32 << 10;

/// A group that the walk found.
pub(super) struct FoundGroup {
    start: usize,
    length: usize,
    /// The position of the first hierarchy in which the group was found.
    hierarchy: usize,
    depth: u16,
    /// Whether the group is known to have no children.
    is_leaf: bool,
    pub(super) inode: u64,
}

/// A walk through all groups, and its result.
#[derive(Default)]
pub(super) struct Walk {
    /// The paths of the groups, each with a zero byte behind it.
    paths: Vec<u8>,
    found: Vec<FoundGroup>,
    listing: Vec<u8>,
    /// The path of the folder that is being listed.
    path: Vec<u8>,
}

impl Walk {
    /// The groups that the last walk found, each before its children.
    pub(super) fn found(&self) -> impl Iterator<Item = &FoundGroup> {
        self.found.iter()
    }

    /// The path of a group below the mount point; empty for the root group.
    pub(super) fn path(&self, found: &FoundGroup) -> &[u8] {
        self.paths.get(found.start..found.start + found.length).unwrap_or_default()
    }

    /// Finds all groups of all hierarchies, each path once. An error means that the root of a
    /// hierarchy cannot be read; a group that ends during the walk is no error.
    pub(super) fn run(&mut self, reader: &GroupReader, faults: &mut Faults) -> Result<(), Errno> {
        self.paths.clear();
        self.found.clear();
        for number in 0..reader.hierarchies.len() {
            self.run_one(reader, number, faults)?;
        }
        let paths = &self.paths;
        let path = |found: &FoundGroup| {
            paths.get(found.start..found.start + found.length).unwrap_or_default()
        };
        self.found.sort_unstable_by(|one, other| {
            order(path(one), path(other)).then(one.hierarchy.cmp(&other.hierarchy))
        });
        self.found.dedup_by(|next, one| path(next) == path(one));
        Ok(())
    }

    /// Adds the groups of the hierarchy at the position `number`. An error means that its root
    /// cannot be read. If another group cannot be listed, there is a fault, unless the group has
    /// ended or the permission is missing.
    fn run_one(
        &mut self,
        reader: &GroupReader,
        number: usize,
        faults: &mut Faults,
    ) -> Result<(), Errno> {
        let Some(hierarchy) = reader.hierarchies.get(number) else { return Ok(()) };
        let inode = retry_on_intr(|| fstat(&hierarchy.dir))?.st_ino;
        let root = self.found.len();
        self.push(number, (b"", b""), inode, 0, false);
        let mut at = root;
        while let Some(&FoundGroup { depth, is_leaf, .. }) = self.found.get(at) {
            if is_leaf {
                at += 1;
                continue;
            }
            if depth >= DEEPEST {
                self.fault(at, faults, "groups in it are left out: too many levels");
            } else {
                match self.list(at, hierarchy) {
                    Ok(true) => {}
                    Ok(false) => {
                        faults.object(format_args!(
                            "more than {MOST} control groups; the others are left out"
                        ));
                        break;
                    }
                    Err(error) if at == root => return Err(error),
                    Err(error) if is_gone(error) || is_denied(error) || error == Errno::NODEV => {}
                    Err(error) => self.fault(at, faults, describe(error)),
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn fault(&self, at: usize, faults: &mut Faults, message: &str) {
        let path = self.found.get(at).map(|found| self.path(found)).unwrap_or_default();
        faults.instance(shown(path), message);
    }

    fn push(
        &mut self,
        hierarchy: usize,
        (above, name): (&[u8], &[u8]),
        inode: u64,
        depth: u16,
        is_leaf: bool,
    ) {
        let start = self.paths.len();
        self.paths.extend_from_slice(above);
        if !above.is_empty() {
            self.paths.push(b'/');
        }
        self.paths.extend_from_slice(name);
        let length = self.paths.len() - start;
        self.paths.push(0);
        self.found.push(FoundGroup { start, length, hierarchy, depth, is_leaf, inode });
    }

    /// Adds the children of the group at the position `at` of the groups found. Returns `false` if
    /// there are more groups than [`MOST`]; an error if the group cannot be listed.
    fn list(&mut self, at: usize, hierarchy: &Hierarchy) -> Result<bool, Errno> {
        let Some(found) = self.found.get(at) else {
            return Ok(true);
        };
        let place = (found.hierarchy, found.depth + 1);
        let with_end = self.paths.get(found.start..=found.start + found.length);
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.extend_from_slice(with_end.unwrap_or_default());
        let listed = self.list_folder(&path, place, hierarchy);
        self.path = path;
        listed
    }

    fn list_folder(
        &mut self,
        path: &[u8],
        (number, depth): (usize, u16),
        hierarchy: &Hierarchy,
    ) -> Result<bool, Errno> {
        let folder =
            open_folder(&hierarchy.dir, CStr::from_bytes_until_nul(path).unwrap_or_default())?;
        let above = path.split_last().map_or(&[][..], |(_, path)| path);
        let mut listing = std::mem::take(&mut self.listing);
        listing.clear();
        listing.reserve(LISTING);
        let mut entries = RawDir::new(&folder, listing.spare_capacity_mut());
        let mut outcome = Ok(true);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            };
            let name = entry.file_name();
            let bytes = name.to_bytes();
            let kind = entry.file_type();
            if matches!(bytes, b"." | b"..")
                || !matches!(kind, FileType::Directory | FileType::Unknown)
                || above.len() + bytes.len() + 1 > LONGEST
            {
                continue;
            }
            // In the kernel's tree the link count of a folder tells whether it has children: a
            // folder without children need not be listed. Symbolic links are not
            // followed.
            let mut is_leaf = false;
            if hierarchy.is_kernel || kind == FileType::Unknown {
                match retry_on_intr(|| statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)) {
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                        is_leaf = hierarchy.is_kernel && stat.st_nlink == 2;
                    }
                    _ => continue,
                }
            }
            if self.found.len() >= MOST {
                outcome = Ok(false);
                break;
            }
            self.push(number, (above, bytes), entry.ino(), depth, is_leaf);
        }
        self.listing = listing;
        outcome
    }
}

fn open_folder(at: impl AsFd, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let path = if path.is_empty() { c"." } else { path };
    retry_on_intr(|| openat(&at, path, flags, Mode::empty()))
}

/// Compares the paths of two groups. In this order a group is followed by all groups below it, and
/// then by its siblings.
pub(super) fn order(one: &[u8], other: &[u8]) -> Ordering {
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    one.iter().map(key).cmp(other.iter().map(key))
}

/// Whether the group at `path` is below the group at `above`. Every group, the root group included,
/// is below the root group.
pub(super) fn is_below(path: &[u8], above: &[u8]) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_stand_before_their_children() {
        let mut paths = [&b"b"[..], b"a.b", b"a/z", b"", b"a", b"a-b/c", b"a/b", b"a-b"];
        paths.sort_by(|one, other| order(one, other));
        assert_eq!(paths, [&b""[..], b"a", b"a/b", b"a/z", b"a-b", b"a-b/c", b"a.b", b"b"]);
        assert!(is_below(b"a/b", b"a") && is_below(b"a", b""));
        assert!(!is_below(b"ab", b"a") && !is_below(b"a", b"a"));
        assert_eq!(shown(b"a/b").to_string(), "/a/b");
    }
}
