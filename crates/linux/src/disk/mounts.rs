//! The table of mounts, `/proc/self/mountinfo`: the file systems that lie on disks of this machine.

use crate::parse::{Words, number, utf16_name, whole_lines};
use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The types of file systems that lie on devices of this machine, but have a device number of their
/// own, which is the number of no block device.
const POOLS: [&[u8]; 4] = [b"btrfs", b"bcachefs", b"zfs", b"ubifs"];
/// The types of file systems of images, which never have free space.
const IMAGES: [&[u8]; 5] = [b"squashfs", b"erofs", b"cramfs", b"romfs", b"iso9660"];
/// The types of file systems on block devices that need other machines or programs for an answer.
const FOREIGN: [&[u8]; 3] = [b"fuseblk", b"gfs2", b"ocfs2"];
/// The types of file systems without a block device in which looking up a path never waits for
/// another machine or program.
const HARMLESS: [&[u8]; 10] = [
    b"rootfs",
    b"tmpfs",
    b"ramfs",
    b"devtmpfs",
    b"overlay",
    b"proc",
    b"sysfs",
    b"jffs2",
    b"aufs",
    b"cgroup2",
];
/// The most levels of mounts that are followed; a mount below more levels is left out.
const DEEPEST: usize = 256;
/// The most mount points of a file system at which its space is queried.
const PLACES: usize = 8;

/// A file system on one or more disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    /// The name of the instance: the first mount point, as UTF-16.
    pub(super) name: Vec<u16>,
    /// The first mount point as text, for messages.
    pub(super) text: String,
    /// The device number (major, minor): of the file system's device, or for a [`Pool`] of the file
    /// system itself.
    pub(super) number: (u32, u32),
    pub(super) pool: Option<Pool>,
    /// The paths by which this program reaches the first [`PLACES`] mount points that it may look up:
    /// each begins with the root of mount points. Empty if it may look up none.
    pub(super) places: Vec<CString>,
}

/// A file system with a number of its own, which is not the number of its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    pub(super) is_btrfs: bool,
    /// Whether the file system is of a type that may lie on a single device: btrfs or bcachefs.
    pub(super) may_be_single: bool,
    /// The device that the table of mounts names.
    pub(super) source: Vec<u8>,
}

/// The file systems in a table of mounts that lie on disks of this machine.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    pub(super) volumes: Vec<Volume>,
    /// Messages about lines that could not be read.
    pub(super) damage: Vec<String>,
}

/// A line of the table of mounts.
struct Mount<'a> {
    id: u64,
    parent: u64,
    number: (u32, u32),
    place: &'a [u8],
    kind: &'a [u8],
    source: &'a [u8],
}

impl<'a> Mount<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut words = Words::new(line);
        let id = words.number()?;
        let parent = words.number()?;
        let device = words.next_word()?;
        let colon = device.iter().position(|byte| *byte == b':')?;
        let part = |digits: Option<&[u8]>| u32::try_from(number(digits?)?).ok();
        let number = (part(device.get(..colon))?, part(device.get(colon + 1..))?);
        words.skip(1)?;
        let place = words.next_word()?;
        words.skip(1)?;
        // Optional fields, and a dash as their end.
        while words.next_word()? != b"-" {}
        let kind = words.next_word()?;
        let source = words.next_word().unwrap_or_default();
        Some(Self { id, parent, number, place, kind, source })
    }

    fn is_pool(&self) -> bool {
        self.number.0 == 0 && POOLS.contains(&self.kind)
    }

    /// Whether looking up a path in this file system never waits for another machine or program.
    fn is_local(&self) -> bool {
        match self.number.0 {
            0 => self.is_pool() || HARMLESS.contains(&self.kind),
            _ => !FOREIGN.contains(&self.kind),
        }
    }

    fn is_volume(&self) -> bool {
        let on_device = self.number.0 != 0 && !FOREIGN.contains(&self.kind);
        (on_device || self.is_pool()) && !IMAGES.contains(&self.kind)
    }
}

impl Mounts {
    /// Finds the file systems on disks in the text of a table of mounts. A mount is left out if it
    /// lies on a file system that needs another machine or program. A mount point is left out of
    /// [`Volume::places`] if such a file system is mounted over it, or over a folder above it. The
    /// paths of mount points begin with `root` in place of `/`.
    pub(super) fn parse(text: &[u8], root: &Path) -> Self {
        let mut this = Self::default();
        let (lines, cut) = whole_lines(text);
        let mut mounts = Vec::new();
        let mut damaged = 0;
        for (at, line) in lines.enumerate() {
            match Mount::parse(line) {
                Some(mount) => mounts.push(mount),
                None if damaged == 0 => {
                    damaged += 1;
                    this.damage.push(format!("mountinfo: line {} is damaged", at + 1));
                }
                None => damaged += 1,
            }
        }
        if damaged > 1 {
            this.damage.push(format!("mountinfo: {} more lines are damaged", damaged - 1));
        }
        if cut {
            this.damage.push("mountinfo: ends in the middle of a line".to_string());
        }
        let mut by_id: Vec<_> = mounts.iter().map(|m| (m.id, m.parent, m.is_local())).collect();
        by_id.sort_unstable();
        let tree = Tree::of(&mounts, &by_id);
        let mut places = HashMap::new();
        for mount in mounts.iter().filter(|mount| mount.is_volume()) {
            if !is_below_local(&by_id, mount.parent) {
                continue;
            }
            let bytes = unescaped(mount.place);
            let Some(place) = below(root, &bytes) else { continue };
            let volume = *places.entry(mount.number).or_insert(this.volumes.len());
            let known = this.volumes.get_mut(volume);
            let is_wanted = known.as_ref().is_none_or(|known| known.places.len() < PLACES);
            let place = Some(place).filter(|_| is_wanted && tree.is_local(mount.place));
            if let Some(known) = known {
                known.places.extend(place);
                continue;
            }
            let mut name = Vec::new();
            utf16_name(&bytes, &mut name);
            this.volumes.push(Volume {
                name,
                text: String::from_utf8_lossy(&bytes).into_owned(),
                number: mount.number,
                pool: mount.is_pool().then(|| Pool {
                    is_btrfs: mount.kind == b"btrfs",
                    may_be_single: matches!(mount.kind, b"btrfs" | b"bcachefs"),
                    source: unescaped(mount.source),
                }),
                places: place.into_iter().collect(),
            });
        }
        this
    }
}

/// Whether the path to a mount on the mount `parent` leads through local file systems only. `by_id` has the
/// number of each mount, its parent and whether it is local.
fn is_below_local(by_id: &[(u64, u64, bool)], mut parent: u64) -> bool {
    for _ in 0..DEEPEST {
        let found = by_id.binary_search_by_key(&parent, |(id, ..)| *id).ok();
        match found.and_then(|at| by_id.get(at)) {
            Some((_, _, false)) => return false,
            Some((id, above, true)) if id != above => parent = *above,
            // The root of all mounts, or a mount that the table of this program does not list.
            _ => return true,
        }
    }
    // The parents form a ring: the kernel writes no such table.
    false
}

/// The mounts by the mounts on which they lie.
struct Tree<'a> {
    /// Each mount with its parent; 0 for a parent that the table does not list. Of the mounts with
    /// one parent, those with shorter paths are first.
    children: Vec<(u64, &'a Mount<'a>)>,
}

impl<'a> Tree<'a> {
    fn of(mounts: &'a [Mount<'a>], by_id: &[(u64, u64, bool)]) -> Self {
        let is_listed = |id: u64| by_id.binary_search_by_key(&id, |(id, ..)| *id).is_ok();
        let parent = |mount: &Mount<'_>| match mount.parent {
            parent if parent == mount.id || !is_listed(parent) => 0,
            parent => parent,
        };
        let mut children: Vec<_> = mounts.iter().map(|mount| (parent(mount), mount)).collect();
        children.sort_by_key(|(parent, mount)| (*parent, mount.place.len()));
        Self { children }
    }

    /// Whether looking up the path `place` leads through local file systems only: at each folder of
    /// the path, the lookup goes on in what is mounted there.
    fn is_local(&self, place: &[u8]) -> bool {
        let mut parent = 0;
        for _ in 0..DEEPEST {
            let first = self.children.partition_point(|(of, _)| *of < parent);
            let mut below = self.children.iter().skip(first).take_while(|(of, _)| *of == parent);
            match below.find(|(_, mount)| lies_in(place, mount.place)) {
                Some((_, mount)) if mount.is_local() => parent = mount.id,
                Some(_) => return false,
                None => return true,
            }
        }
        false
    }
}

/// Whether `path` is the folder itself or lies below it.
fn lies_in(path: &[u8], folder: &[u8]) -> bool {
    let rest = path.strip_prefix(folder.strip_suffix(b"/").unwrap_or(folder));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// The path of `place` below `root`; `None` if it contains a zero byte.
fn below(root: &Path, place: &[u8]) -> Option<CString> {
    let mut path = root.as_os_str().as_bytes().to_vec();
    while path.last() == Some(&b'/') {
        path.pop();
    }
    if place.first() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(place);
    CString::new(path).ok()
}

/// The text with each `\NNN` (octal) replaced by the byte. The kernel writes blanks, line ends and
/// backslashes in this way.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        let code = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        plain.push(code.unwrap_or(*first));
        rest = match code {
            Some(_) => behind.get(3..).unwrap_or_default(),
            None => behind,
        };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Mounts {
        Mounts::parse(text.as_bytes(), Path::new("/"))
    }

    fn names(mounts: &Mounts) -> Vec<&str> {
        mounts.volumes.iter().map(|volume| volume.text.as_str()).collect()
    }

    #[test]
    fn file_systems_on_block_devices_are_volumes() {
        let mounts = parse(
            "1 1 0:2 / / rw - rootfs rootfs rw\n\
             22 1 8:2 / / rw,relatime shared:1 master:2 - ext4 /dev/root rw\n\
             23 22 0:20 / /proc rw - proc proc rw\n\
             24 22 0:21 / /tmp rw - tmpfs tmpfs rw\n\
             25 22 0:22 / /net rw - nfs4 host:/x rw\n\
             26 22 8:17 / /media/ntfs rw - fuseblk /dev/sdb1 rw\n\
             27 22 7:1 / /snap/x rw - squashfs /dev/loop1 ro\n\
             28 22 0:23 /@home /home rw - btrfs /dev/sda3 rw\n\
             29 22 0:23 /@srv /srv rw - btrfs /dev/sda3 rw\n\
             30 22 8:2 /var/x /x rw - ext4 /dev/root rw\n\
             31 22 0:24 / /tank rw - zfs tank rw\n\
             32 22 0:25 / /auto rw - autofs systemd-1 rw\n\
             33 32 8:33 / /auto rw - vfat /dev/sdc1 rw\n\
             34 25 8:49 / /net/disk rw - ext4 /dev/sdd1 rw\n\
             35 24 8:65 / /tmp/disk rw - xfs /dev/sde1 rw\n\
             36 22 0:26 / /merged rw - overlay overlay rw\n",
        );
        assert_eq!(mounts.damage, Vec::<String>::new());
        assert_eq!(names(&mounts), ["/", "/home", "/tank", "/tmp/disk"]);
        assert_eq!(mounts.volumes[0].places, [c"/".to_owned(), c"/x".to_owned()]);
        assert_eq!((mounts.volumes[0].number, &mounts.volumes[0].pool), ((8, 2), &None));
        let pool = mounts.volumes[1].pool.as_ref().unwrap();
        assert!(pool.is_btrfs && pool.may_be_single && pool.source == b"/dev/sda3");
        assert!(!mounts.volumes[2].pool.as_ref().unwrap().may_be_single);
    }

    #[test]
    fn a_mount_point_below_a_foreign_mount_is_no_place() {
        let root = "22 1 8:2 / / rw - ext4 /dev/root rw\n";
        let table = |more: &[&str]| {
            let places: Vec<Vec<_>> = parse(&format!("{root}{}\n", more.join("\n")))
                .volumes
                .into_iter()
                .map(|volume| volume.places.into_iter().map(|p| p.into_string().unwrap()).collect())
                .collect();
            places
        };
        let disk = "30 22 8:17 / /m/disk rw - ext4 /dev/sdb1 rw";
        for (more, places) in [
            (&[disk][..], &["/m/disk"][..]),
            // Over the mount point itself, or over a folder above it.
            (&[disk, "31 30 0:40 / /m/disk rw - fuse.sshfs host: rw"], &[]),
            (&[disk, "31 22 0:40 / /m rw - nfs4 host:/ rw"], &[]),
            (&["31 22 0:40 / /m rw - nfs4 host:/ rw", disk], &[]),
            // Below the mount point, or beside it.
            (&[disk, "31 30 0:40 / /m/disk/far rw - nfs4 host:/ rw"], &["/m/disk"]),
            (&[disk, "31 22 0:40 / /m/dis rw - nfs4 host:/ rw"], &["/m/disk"]),
            // Over a folder that another file system hides.
            (
                &[
                    "31 22 0:40 / /n/far rw - nfs4 host:/ rw",
                    "33 22 0:41 / /n rw - tmpfs x rw",
                    "34 33 8:17 / /n/far rw - ext4 /dev/sdb1 rw",
                ],
                &["/n/far"],
            ),
            // The other mount point of the file system is free.
            (
                &[
                    disk,
                    "31 22 0:40 / /m rw - nfs4 host:/ rw",
                    "32 22 8:17 / /o rw - ext4 /dev/sdb1 rw",
                ],
                &["/o"],
            ),
        ] {
            assert_eq!(table(more), [&["/"][..], places], "{more:?}");
        }
        // The file system of the root hides behind another one.
        let over = "22 1 8:2 / / rw - ext4 /dev/root rw\n23 22 0:40 / / rw - nfs4 host:/ rw\n";
        let volumes = parse(over).volumes;
        assert_eq!((volumes.len(), volumes[0].places.len()), (1, 0));
    }

    #[test]
    fn escaped_names_are_decoded() {
        let line = |at: &str| format!("22 1 8:2 / {at} rw - ext4 /dev/x rw\n");
        let one = |at: &str| parse(&line(at)).volumes.remove(0);
        for (at, name) in [
            ("/a\\040b", "/a b"),
            ("/a\\011b\\012c\\134d", "/a\tb\nc\\d"),
            ("/a\\04", "/a\\04"),
            ("/a\\999", "/a\\999"),
            ("/%s{}#(1)", "/%s{}#(1)"),
            ("/ä", "/ä"),
        ] {
            assert_eq!(one(at).text, name);
            assert_eq!(one(at).places, [CString::new(name).unwrap()]);
        }
        let bytes = b"22 1 8:2 / /\xff rw - ext4 /dev/x rw\n";
        let mounts = Mounts::parse(bytes, Path::new("/host/"));
        assert_eq!(mounts.volumes[0].name, [0x2f, 0xdcff]);
        assert_eq!(mounts.volumes[0].places[0].as_bytes(), b"/host/\xff");
    }

    #[test]
    fn damaged_lines_leave_other_mounts() {
        let good = "22 1 8:2 / / rw - ext4 /dev/x rw\n";
        for bad in [
            "x\n",
            "22 1 8 / / rw - ext4 x rw\n",
            "22 1 8:x / / rw - e x\n",
            "\n",
            "23 1 8:3 / /b rw no dash\n",
            "23 1 8:3 / /b rw -\n",
        ] {
            let mounts = parse(&format!("{bad}{good}"));
            assert_eq!((names(&mounts), mounts.damage.len()), (vec!["/"], 1), "{bad:?}");
        }
        let mounts = parse(&format!("{good}23 1 8:3 / /b rw - ext4 /dev/y r"));
        assert_eq!((names(&mounts), mounts.damage.len()), (vec!["/"], 1));
        // The parents of two mounts form a ring.
        let ring = "22 23 8:2 / /a rw - ext4 x rw\n23 22 8:3 / /b rw - ext4 x rw\n";
        assert_eq!(names(&parse(ring)), Vec::<&str>::new());
        // The line has no source.
        assert_eq!(names(&parse("22 1 8:2 / / rw - ext4 \n")), ["/"]);
    }
}
