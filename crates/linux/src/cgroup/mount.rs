//! Finds the mount point of the control groups.

use super::group::GroupReader;
use crate::faults::describe;
use crate::files::Reader;
use crate::parse::whole_lines;
use crate::root::ProcRoot;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Opens the folder of the control groups of version 2, or says why not.
pub(super) fn find(root: &ProcRoot, proc: &mut Reader) -> Result<GroupReader, Problem> {
    // Some recorded trees have the shorter list only.
    let mut file = None;
    let read = proc.system(c"self/mountinfo", &mut file);
    let (points, has_others) = match read {
        Ok(text) => mounts(text, from_mountinfo),
        Err(error) => match proc.system(c"mounts", &mut file) {
            Ok(text) => mounts(text, from_mounts),
            Err(_) => return Err(Problem::Mounts(error)),
        },
    };
    let mut problem = None;
    for point in points {
        let Some(folder) = below(root, &point) else {
            continue;
        };
        match GroupReader::open(&folder) {
            Ok(reader) => return Ok(reader),
            Err(error) => {
                problem.get_or_insert(Problem::Folder(point, error));
            }
        }
    }
    Err(problem.unwrap_or(Problem::None { has_others }))
}

/// Why there are no groups.
#[derive(Debug)]
pub(super) enum Problem {
    /// The table of mounts cannot be read.
    Mounts(Errno),
    /// The mount point cannot be opened.
    Folder(PathBuf, Errno),
    /// No control groups of version 2 are mounted.
    None { has_others: bool },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounts(error) => write!(f, "self/mountinfo: {}", describe(*error)),
            Self::Folder(point, error) => write!(f, "{}: {}", point.display(), describe(*error)),
            Self::None { has_others } => {
                let others = if *has_others { ", only version 1, which is not read" } else { "" };
                write!(f, "no control groups of version 2 are mounted{others}")
            }
        }
    }
}

/// The mount point as it is reached from here.
fn below(root: &ProcRoot, point: &Path) -> Option<PathBuf> {
    if let (Some(sys), Ok(rest)) = (root.sys(), point.strip_prefix("/sys")) {
        return Some(sys.join(rest));
    }
    Some(root.mounts()?.join(point.strip_prefix("/").ok()?))
}

/// Mount point and type.
type Mount<'a> = (&'a [u8], &'a [u8]);

/// The mount points of version 2, and whether there are any of version 1.
fn mounts(text: &[u8], parse: fn(&[u8]) -> Option<Mount<'_>>) -> (Vec<PathBuf>, bool) {
    let mut points = Vec::new();
    let mut has_others = false;
    for line in whole_lines(text).0 {
        match parse(line.trim_ascii_end()) {
            Some((point, b"cgroup2")) => {
                points.push(PathBuf::from(OsString::from_vec(unescape(point))));
            }
            Some((_, b"cgroup")) => has_others = true,
            _ => {}
        }
    }
    (points, has_others)
}

/// Mount point and type of a line of `mountinfo`.
fn from_mountinfo(line: &[u8]) -> Option<Mount<'_>> {
    let mut words = line.split(|byte| *byte == b' ');
    let point = words.nth(4)?;
    // The type follows a varying number of words.
    words.find(|word| *word == b"-")?;
    Some((point, words.next()?))
}

/// Mount point and type of a line of `mounts`.
fn from_mounts(line: &[u8]) -> Option<Mount<'_>> {
    let mut words = line.split(|byte| *byte == b' ');
    Some((words.nth(1)?, words.next()?))
}

/// Blanks and the like stand as a backslash and three octal digits.
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
    fn only_mount_points_of_version_2_are_found() {
        let text = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 master:1 - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /sys/fs/my\\040groups rw,relatime shared:4 - cgroup2 cgroup2 rw\n\
            42 31 0:38 / /cut rw,relatime - cgroup2";
        let (points, others) = mounts(text, from_mountinfo);
        assert_eq!(points, [PathBuf::from("/sys/fs/my groups")]);
        assert!(others);
        let text = b"cgroup /sys/fs/cgroup cgroup2 rw 0 0\nnone\n";
        let (points, others) = mounts(text, from_mounts);
        assert_eq!((points.len(), others), (1, false));
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
        assert_eq!(of(&root, "/run/groups"), None);
        let root = root.with_mounts("/host");
        assert_eq!(of(&root, "/run/groups"), Some("/host/run/groups".into()));
        assert_eq!(of(&root, "run"), None);
    }
}
