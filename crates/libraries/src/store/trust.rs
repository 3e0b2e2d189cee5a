//! The rule for trusted files: no user may have a library loaded into another user's process.
//!
//! The reader is here the user of the reading process. A file is trusted if the file, its folder,
//! every folder above, and every symbolic link on the way belong to root or to the reader, and no
//! other user may write them. One exception: a folder above the file's own folder may be writable if
//! it is sticky, as `/tmp` is. The path is opened step by step, and each part is examined after it
//! was opened, so that the examined file is the file that is used. If an access control list lets
//! others write, this shows in the group bits of the mode, which are the list's mask.

use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// The most symbolic links on the way, as many as Linux follows.
const MAX_LINKS: u32 = 40;

/// The users that a file may belong to: root and the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trust {
    reader: u32,
}

/// The reason why a file is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The file is missing, and only root or the reader could create it.
    NotFound,
    /// The file, or a folder or link on the way, belongs to a user that is neither root nor
    /// the reader.
    Owner {
        /// The path of the part that belongs to another user.
        path: PathBuf,
        /// The number of the user that the part belongs to.
        owner: u32,
        /// The number of the user of the reading process.
        reader: u32,
    },
    /// Other users may write the file or a folder on the way, or could create the missing file.
    Writable {
        /// The path of the part that others may write.
        path: PathBuf,
        /// The mode bits of the part.
        mode: u32,
    },
    /// The path is not absolute, leads over too many links, or leads to something other than a
    /// file.
    Kind {
        /// The path of the part, on the way to the file, that is wrong.
        path: PathBuf,
        /// A text that says what is wrong with the path.
        what: &'static str,
    },
    /// The system refused to open the file.
    Io {
        /// The path of the part, on the way to the file, that the system refused to open.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("is not there"),
            Self::Owner { path, owner, reader } => {
                let readers = if *reader == 0 {
                    "root".to_string()
                } else {
                    format!("root or to the reader, user {reader}")
                };
                let path = path.display();
                write!(f, "{path} belongs to user {owner}; it must belong to {readers}")
            }
            Self::Writable { path, mode } => {
                let (path, mode) = (path.display(), mode & 0o7777);
                write!(f, "{path} may be written by others (mode {mode:04o}); ")?;
                // A sticky folder such as /tmp is everybody's on purpose.
                if mode & 0o1000 == 0 {
                    write!(f, "chmod go-w {path}")
                } else {
                    f.write_str("move it to a folder that only root or its reader may write")
                }
            }
            Self::Kind { path, what } => write!(f, "{} {what}", path.display()),
            Self::Io { path, error } => write!(f, "cannot open {}: {error}", path.display()),
        }
    }
}

impl Trust {
    /// Trusts files of root and of the effective user of this process.
    #[must_use]
    pub fn of_caller() -> Self {
        Self { reader: rustix::process::geteuid().as_raw() }
    }

    /// Trusts files of root and of a user, by number.
    #[must_use]
    pub fn of_user(reader: u32) -> Self {
        Self { reader }
    }

    /// Opens a trusted file for reading. Returns the file, and its path without symbolic
    /// links. Only root and the reader can replace a part of that path.
    ///
    /// # Errors
    /// [`Refusal`] if the file is missing, is not trusted or cannot be opened.
    pub fn open(self, path: &Path) -> Result<(File, PathBuf), Refusal> {
        let mut walk = Walk::new(self, path)?;
        while let Some(name) = walk.todo.pop_front() {
            if let Some(opened) = walk.step(&name)? {
                return Ok((opened, walk.path));
            }
        }
        Err(Refusal::Kind { path: walk.path, what: "is a folder, not a file" })
    }

    /// Whether the file belongs to root or the reader.
    fn is_owner(self, stat: &Stat) -> bool {
        stat.st_uid == 0 || stat.st_uid == self.reader
    }
}

/// A walk along a path from the root of the file system.
struct Walk {
    trust: Trust,
    /// The opened folders from the root to the present position of the walk, the root first.
    folders: Vec<(OwnedFd, Stat)>,
    path: PathBuf,
    todo: VecDeque<OsString>,
    links: u32,
}

impl Walk {
    fn new(trust: Trust, path: &Path) -> Result<Self, Refusal> {
        if !path.is_absolute() {
            return Err(Refusal::Kind { path: path.into(), what: "is not an absolute path" });
        }
        let mut walk = Self {
            trust,
            folders: Vec::new(),
            path: PathBuf::from("/"),
            todo: VecDeque::new(),
            links: 0,
        };
        walk.back_to_root()?;
        walk.ahead(path);
        Ok(walk)
    }

    fn io(&self, error: rustix::io::Errno) -> Refusal {
        Refusal::Io { path: self.path.clone(), error: error.into() }
    }

    fn back_to_root(&mut self) -> Result<(), Refusal> {
        self.path = PathBuf::from("/");
        self.folders.clear();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open("/", flags, Mode::empty()).map_err(|error| self.io(error))?;
        let stat = rustix::fs::fstat(&root).map_err(|error| self.io(error))?;
        self.folder(root, stat)
    }

    /// Puts the parts of `path` in front of the parts of the walk that are still to be walked.
    fn ahead(&mut self, path: &Path) {
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.todo.push_front(name.into()),
                Component::ParentDir => self.todo.push_front("..".into()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }

    /// Enters a folder, which `stat` describes. It is refused if it belongs to a user that is not
    /// trusted, or if others may write it and it is not sticky.
    fn folder(&mut self, folder: OwnedFd, stat: Stat) -> Result<(), Refusal> {
        self.check_owner(&stat)?;
        // In a sticky folder such as /tmp only a file's owner can replace the file.
        if is_writable(&stat) && stat.st_mode & 0o1000 == 0 {
            return Err(Refusal::Writable { path: self.path.clone(), mode: stat.st_mode });
        }
        self.folders.push((folder, stat));
        Ok(())
    }

    fn check_owner(&self, stat: &Stat) -> Result<(), Refusal> {
        if self.trust.is_owner(stat) {
            return Ok(());
        }
        let (path, owner) = (self.path.clone(), stat.st_uid);
        Err(Refusal::Owner { path, owner, reader: self.trust.reader })
    }

    /// Takes one step along the path, to the part `name`: enters a folder, follows a link, or opens
    /// the file. Returns the file if the step reached the end of the path, and `None` before.
    fn step(&mut self, name: &OsStr) -> Result<Option<File>, Refusal> {
        if name == ".." {
            // The parent of the root is the root.
            if self.folders.len() > 1 {
                self.folders.pop();
                self.path.pop();
            }
            return Ok(None);
        }
        let Some((folder, folder_stat)) = self.folders.last() else {
            return Err(Refusal::NotFound);
        };
        self.path.push(name);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let at = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(at) => at,
            // Others could create the missing part.
            Err(rustix::io::Errno::NOENT) if is_writable(folder_stat) => {
                self.path.pop();
                return Err(Refusal::Writable {
                    path: self.path.clone(),
                    mode: folder_stat.st_mode,
                });
            }
            Err(rustix::io::Errno::NOENT) => return Err(Refusal::NotFound),
            Err(error) => return Err(self.io(error)),
        };
        let stat = rustix::fs::fstat(&at).map_err(|error| self.io(error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.folder(at, stat).map(|()| None),
            FileType::Symlink => {
                self.check_owner(&stat)?;
                self.links += 1;
                if self.links > MAX_LINKS {
                    let what = "is reached over too many symbolic links";
                    return Err(Refusal::Kind { path: self.path.clone(), what });
                }
                let target =
                    rustix::fs::readlinkat(&at, "", Vec::new()).map_err(|error| self.io(error))?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    self.back_to_root()?;
                } else {
                    self.path.pop();
                }
                self.ahead(&target);
                Ok(None)
            }
            FileType::RegularFile if self.todo.is_empty() => self.file(name, &stat).map(Some),
            FileType::RegularFile => {
                Err(Refusal::Kind { path: self.path.clone(), what: "is a file, not a folder" })
            }
            _ => Err(Refusal::Kind { path: self.path.clone(), what: "is not a file" }),
        }
    }

    /// Opens the file at the end of the path, and checks owner, mode and kind of the opened file.
    /// `seen` describes the file as it was before it was opened.
    fn file(&self, name: &OsStr, seen: &Stat) -> Result<File, Refusal> {
        let Some((folder, folder_stat)) = self.folders.last() else {
            return Err(Refusal::NotFound);
        };
        self.check_owner(seen)?;
        // Others could put a library into the folder that the checked library then loads.
        if is_writable(folder_stat) {
            let path = self.path.parent().unwrap_or(Path::new("/")).to_path_buf();
            return Err(Refusal::Writable { path, mode: folder_stat.st_mode });
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, name, flags, Mode::empty())
            .map_err(|error| self.io(error))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| self.io(error))?;
        self.check_owner(&stat)?;
        if is_writable(&stat) {
            return Err(Refusal::Writable { path: self.path.clone(), mode: stat.st_mode });
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Refusal::Kind { path: self.path.clone(), what: "is not a file" });
        }
        Ok(File::from(file))
    }
}

/// Whether others than the owner may write a file or folder.
fn is_writable(stat: &Stat) -> bool {
    stat.st_mode & 0o022 != 0
}
