//! A control group, and the reader of its files.

use super::container::Container;
use super::file::File;
use crate::faults::{Faults, Text, describe, is_denied};
use crate::files::{KeptFile, Reader};
use crate::parse::utf16_name;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FsWord, Mode, OFlags, fstatfs, openat};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::CStr;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

/// The numbers by which `fstatfs` identifies cgroup file systems: version 2, version 1.
const MAGIC: [FsWord; 2] = [0x6367_7270, 0x0027_e0eb];

/// A control group, with its state from one collection to the next.
pub(super) struct Group {
    /// The path of the group below the mount point; empty for the root group.
    pub(super) path: Vec<u8>,
    /// The name of the group's instance in Cgroup: the path with `/` in front.
    pub(super) name: Vec<u16>,
    pub(super) inode: u64,
    /// The container of which this is the group; `None` for other groups.
    pub(super) container: Option<Box<Container>>,
    /// The nearest container around the group, other than the group itself, as a position among the
    /// groups; `None` if there is none.
    pub(super) around: Option<u32>,
    /// The container to which the group's processes belong, as a position among the groups: the
    /// group itself if it is a container, or else the nearest one around it; `None` if there is
    /// none.
    pub(super) owner: Option<u32>,
    /// The position of the group among the instances of Cgroup; `None` if it has no instance in
    /// this collection.
    pub(super) place: Option<u32>,
    /// The position of the group among the instances of Container; `None` if it has no instance in
    /// this collection.
    pub(super) container_place: Option<u32>,
    /// The files that were missing or refused when they were last tried, as a mask of
    /// [`File::bit`].
    absent: u32,
    /// The number of collections that still pass until the files in `absent` are tried again.
    pause: u8,
    files: [KeptFile; File::COUNT],
}

impl Group {
    pub(super) fn new(path: &[u8], inode: u64) -> Self {
        let mut name = Vec::new();
        utf16_name(&[b"/", path].concat(), &mut name);
        name.shrink_to_fit();
        Self {
            path: path.to_vec(),
            name,
            inode,
            container: Container::of(path).map(Box::new),
            around: None,
            owner: None,
            place: None,
            container_place: None,
            absent: 0,
            pause: 0,
            files: Default::default(),
        }
    }

    /// Prepares the group for a collection: it has no instances yet, and its missing files are
    /// tried again if their pause is over.
    pub(super) fn begin(&mut self) {
        self.place = None;
        self.container_place = None;
        match self.pause.checked_sub(1) {
            Some(less) => self.pause = less,
            None => self.absent = 0,
        }
    }

    /// Notes that a file is missing or refused. The missing files of a group are skipped in the 8
    /// to 15 collections after the first of them was noted. Then all are tried again, because a
    /// controller may have been switched on. The number of collections depends on the group's inode,
    /// so that not all groups try in the same collection.
    fn miss(&mut self, file: File) {
        self.absent |= file.bit();
        if self.pause == 0 {
            self.pause = 8 + (self.inode % 8) as u8;
        }
    }
}

/// A mounted hierarchy of control groups, of version 1 or 2. Version 1 may have several.
pub(super) struct Hierarchy {
    pub(super) dir: OwnedFd,
    /// Whether the folder is in the kernel's file system, and not a copy.
    pub(super) is_kernel: bool,
    reader: Reader,
    /// The mount options of a hierarchy of version 1, separated by commas, with its controllers
    /// among them; `None` for version 2.
    controllers: Option<Vec<u8>>,
}

impl Hierarchy {
    pub(super) fn open(folder: &Path, controllers: Option<Vec<u8>>) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = retry_on_intr(|| openat(CWD, folder, flags, Mode::empty()))?;
        let is_kernel = fstatfs(&dir).is_ok_and(|system| MAGIC.contains(&system.f_type));
        let mut reader = Reader::open(folder)?;
        if is_kernel {
            reader.keep_files();
        }
        Ok(Self { dir, is_kernel, reader, controllers })
    }

    /// Whether the hierarchy has the controller of this file; always `true` in version 2.
    fn has(&self, file: File) -> bool {
        let (Some(controllers), Some(wanted)) = (&self.controllers, file.controller()) else {
            return true;
        };
        controllers.split(|byte| *byte == b',').any(|one| one == wanted.as_bytes())
    }
}

/// A reader of the files of control groups.
pub(super) struct GroupReader {
    /// The hierarchy of version 2, or the hierarchies of version 1 that are read. A group has the
    /// same path in each that has it.
    pub(super) hierarchies: Vec<Hierarchy>,
    path: Vec<u8>,
    pub(super) faults: Faults,
}

impl GroupReader {
    pub(super) fn new(hierarchies: Vec<Hierarchy>) -> Self {
        Self { hierarchies, path: Vec::new(), faults: Faults::default() }
    }

    /// Whether the control groups are of version 1.
    pub(super) fn is_version_1(&self) -> bool {
        self.hierarchies.iter().any(|hierarchy| hierarchy.controllers.is_some())
    }

    /// The text of a file of a group; `None` if it cannot be read. That is no fault if the file is
    /// missing or refused, or if the group has ended; any other error becomes a fault.
    pub(super) fn read(&mut self, group: &mut Group, file: File) -> Option<&[u8]> {
        if group.absent & file.bit() != 0 {
            return None;
        }
        self.path.clear();
        self.path.extend_from_slice(&group.path);
        if !group.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(file.name().as_bytes());
        self.path.push(0);
        let path = CStr::from_bytes_until_nul(&self.path).unwrap_or_default();
        let kept = group.files.get_mut(file as usize)?;
        let at = self.hierarchies.iter().position(|hierarchy| hierarchy.has(file))?;
        let reader = &mut self.hierarchies.get_mut(at)?.reader;
        let mut read = reader.kept_at(path, kept, file == File::Procs);
        if read == Err(Errno::NODEV) {
            // The group ended, or its controller was switched off and perhaps on
            // again.
            read = reader.kept_at(path, kept, file == File::Procs);
        }
        match read {
            Ok(()) => return self.hierarchies.get(at).map(|hierarchy| hierarchy.reader.text()),
            Err(Errno::NODEV) => {}
            Err(Errno::NOENT | Errno::OPNOTSUPP | Errno::NOTDIR) => group.miss(file),
            Err(error) if is_denied(error) => group.miss(file),
            Err(error) => self.fault(group, file, describe(error)),
        }
        None
    }

    /// Adds a fault of a group: the name of the file, and `message`.
    pub(super) fn fault(&mut self, group: &Group, file: File, message: impl Display) {
        self.faults.instance(shown(&group.path), format_args!("{}: {message}", file.name()));
    }
}

/// The path of a group as faults show it, with `/` in front.
pub(super) fn shown(path: &[u8]) -> impl Display {
    struct Shown<'a>(Text<'a, [u8]>);
    impl Display for Shown<'_> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            write!(f, "/{}", self.0)
        }
    }
    Shown(Text(path))
}
