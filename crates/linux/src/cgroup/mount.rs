//! Finds the mount points of the control groups, of version 1 or 2.

use super::group::{GroupReader, Hierarchy};
use crate::faults::describe;
use crate::files::Reader;
use crate::parse::whole_lines;
use crate::root::ProcRoot;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The controllers of version 1 with hierarchies that are read. A machine may mount both versions;
/// a controller that is in use in version 1 is then missing in version 2.
const CONTROLLERS: [&[u8]; 4] = [b"cpuacct", b"memory", b"cpu", b"pids"];
/// The number of controllers at the front of [`CONTROLLERS`] that decide the version: version 1 is
/// read if one of them is mounted in version 1, otherwise version 2.
const DECISIVE: usize = 2;

/// Opens a reader of the mounted control groups, of version 1 or 2; the error says why there is
/// none.
pub(super) fn find(root: &ProcRoot, proc: &mut Reader) -> Result<GroupReader, Problem> {
    // Some copies have only `mounts`, the shorter list.
    let mut file = None;
    let read = proc.system(c"self/mountinfo", &mut file);
    let mounts = match read {
        Ok(text) => mounts(text, from_mountinfo),
        Err(error) => match proc.system(c"mounts", &mut file) {
            Ok(text) => mounts(text, from_mounts),
            Err(_) => return Err(Problem::Mounts(error)),
        },
    };
    let mut problem = None;
    let mut open = |mount: &Mounted| {
        let opened = Hierarchy::open(&below(root, &mount.point)?, mount.controllers.clone());
        match opened {
            Ok(hierarchy) => Some(hierarchy),
            Err(error) => {
                problem.get_or_insert((mount.point.clone(), error));
                None
            }
        }
    };
    let mut hierarchies = Vec::new();
    let has_version_1 =
        CONTROLLERS.iter().take(DECISIVE).any(|one| mounts.iter().any(|m| m.has(one)));
    if has_version_1 {
        let mut taken: Vec<&Mounted> = Vec::new();
        for controller in CONTROLLERS {
            let of = mounts.iter().find(|mount| mount.has(controller));
            // A hierarchy with several controllers is opened once.
            if let Some(mount) = of.filter(|mount| !taken.contains(mount)) {
                taken.push(mount);
                hierarchies.extend(open(mount));
            }
        }
    } else {
        let version_2 = mounts.iter().filter(|mount| mount.controllers.is_none());
        hierarchies.extend(version_2.filter_map(&mut open).next());
    }
    match (hierarchies.is_empty(), problem) {
        (false, _) => Ok(GroupReader::new(hierarchies)),
        (true, Some((point, error))) => Err(Problem::Folder(point, error)),
        (true, None) => Err(Problem::None),
    }
}

/// The reason why no control groups can be read.
#[derive(Debug)]
pub(super) enum Problem {
    /// The table of mounts cannot be read, for this error.
    Mounts(Errno),
    /// This mount point cannot be opened, for this error.
    Folder(PathBuf, Errno),
    /// No control groups are mounted.
    None,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounts(error) => write!(f, "self/mountinfo: {}", describe(*error)),
            Self::Folder(point, error) => write!(f, "{}: {}", point.display(), describe(*error)),
            Self::None => f.write_str("no control groups are mounted: neither version 2, nor cpuacct or memory of version 1"),
        }
    }
}

/// The path by which this program reaches `point`, a mount point of the machine; `None` if the
/// folders of `root` do not contain it.
fn below(root: &ProcRoot, point: &Path) -> Option<PathBuf> {
    if let (Some(sys), Ok(rest)) = (root.sys(), point.strip_prefix("/sys")) {
        return Some(sys.join(rest));
    }
    // A copy of a machine may have the mount point beside its `sys`.
    let folder = root.mounts().or_else(|| root.sys()?.parent())?;
    Some(folder.join(point.strip_prefix("/").ok()?))
}

/// A mounted hierarchy of control groups, as the table of mounts lists it.
#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    point: PathBuf,
    /// The mount options, some of which are controllers; `None` for version 2.
    controllers: Option<Vec<u8>>,
}

impl Mounted {
    /// Whether this is a hierarchy of version 1 with this controller.
    fn has(&self, controller: &[u8]) -> bool {
        let mut options = self.controllers.iter().flat_map(|all| all.split(|byte| *byte == b','));
        options.any(|option| option == controller)
    }
}

/// The mount point, type and options in a line of a table of mounts.
type Mount<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// The mounted hierarchies in the text of a table of mounts; `parse` reads a line of the table.
fn mounts(text: &[u8], parse: fn(&[u8]) -> Option<Mount<'_>>) -> Vec<Mounted> {
    let lines = whole_lines(text).0.filter_map(|line| parse(line.trim_ascii_end()));
    let of_groups = lines.filter_map(|(point, kind, options)| {
        let controllers = match kind {
            b"cgroup2" => None,
            b"cgroup" => Some(options.to_vec()),
            _ => return None,
        };
        Some(Mounted { point: PathBuf::from(OsString::from_vec(unescape(point))), controllers })
    });
    of_groups.collect()
}

/// Mount point, type and options of the file system in a line of `mountinfo`; `None` for an invalid line.
fn from_mountinfo(line: &[u8]) -> Option<Mount<'_>> {
    let mut words = line.split(|byte| *byte == b' ');
    let point = words.nth(4)?;
    // A varying number of optional fields stands before the type.
    words.find(|word| *word == b"-")?;
    let (kind, _source) = (words.next()?, words.next()?);
    Some((point, kind, words.next()?))
}

/// Mount point, type and options in a line of `mounts`; `None` for an invalid line.
fn from_mounts(line: &[u8]) -> Option<Mount<'_>> {
    let mut words = line.split(|byte| *byte == b' ');
    Some((words.nth(1)?, words.next()?, words.next()?))
}

/// The text with each `\NNN` (octal) replaced by the byte. The kernel writes blanks, tabs, line
/// feeds and backslashes of a path in this way.
pub(super) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        let octal = match (first, more) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        out.push(octal.unwrap_or(*first));
        if octal.is_some() {
            rest = more.get(3..).unwrap_or_default();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_with_their_controllers() {
        let text = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 master:1 - cgroup cgroup rw,cpu,cpuacct\n\
            41 31 0:38 / /sys/fs/my\\040groups rw,relatime shared:4 - cgroup2 cgroup2 rw\n\
            42 31 0:38 / /cut rw,relatime - cgroup2";
        let found = mounts(text, from_mountinfo);
        let [one, two] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.has(b"cpu"), one.has(b"cpuacct"), one.has(b"acct")), (true, true, false));
        assert_eq!(two.point, PathBuf::from("/sys/fs/my groups"));
        assert_eq!((&two.controllers, two.has(b"cpu")), (&None, false));
        let text = b"cgroup /sys/fs/cgroup cgroup2 rw 0 0\nnone\ncgroup /c cgroup rw,memory 0 0\n";
        let found = mounts(text, from_mounts);
        assert_eq!(found.len(), 2);
        assert!(found[1].has(b"memory") && !found[0].has(b"memory"));
        for (text, plain) in
            [("a\\134b", "a\\b"), ("\\04", "\\04"), ("\\", "\\"), ("\\477", "\\477")]
        {
            assert_eq!(unescape(text.as_bytes()), plain.as_bytes());
        }
    }

    #[test]
    fn mount_points_below_another_root_are_found() {
        let root = ProcRoot::frozen("/frozen");
        let of = |root: &ProcRoot, point: &str| below(root, Path::new(point));
        assert_eq!(of(&root, "/sys/fs/cgroup"), Some("/frozen/sys/fs/cgroup".into()));
        assert_eq!(of(&root, "/run/groups"), Some("/frozen/run/groups".into()));
        assert_eq!(of(&ProcRoot::new("/proc"), "/run/groups"), None);
        let root = root.with_mounts("/host");
        assert_eq!(of(&root, "/run/groups"), Some("/host/run/groups".into()));
        assert_eq!(of(&root, "run"), None);
    }
}
