//! Who could have written a file: nobody may have a library loaded into
//! another user's process.
//!
//! A file is trusted if it, the folder it is in, every folder above, and every
//! symbolic link on the way belong to root or to the reader, and nobody else may
//! write them. It is opened step by step, each looked at after it was opened, so
//! that what was looked at is what is used. Access control lists that let others
//! write show in the mode's group bits, which are their mask.

use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// Symbolic links on the way: as many as Linux follows.
const MAX_LINKS: u32 = 40;

/// Whom a file must belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trust {
    reader: u32,
}

/// Why a file is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It is not there, and only root or the reader could put it there.
    NotFound,
    /// It, or a folder or link on the way, belongs to somebody else.
    Owner {
        /// What belongs to somebody else.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who reads.
        reader: u32,
    },
    /// It, or a folder on the way, may be written by others.
    Writable {
        /// What may be written.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It is not what it should be: no file, too many links, no absolute path.
    Kind {
        /// What is not.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The system refused.
    Io {
        /// What could not be opened.
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
                    format!("root or user {reader}, who reads it")
                };
                let path = path.display();
                write!(f, "{path} belongs to user {owner}; it must belong to {readers}")
            }
            Self::Writable { path, mode } => {
                let path = path.display();
                write!(
                    f,
                    "{path} may be written by others (mode {:04o}); chmod go-w {path}",
                    mode & 0o7777
                )
            }
            Self::Kind { path, what } => write!(f, "{} {what}", path.display()),
            Self::Io { path, error } => write!(f, "cannot open {}: {error}", path.display()),
        }
    }
}

impl Trust {
    /// For the user whose rights this process has.
    #[must_use]
    pub fn of_caller() -> Self {
        Self { reader: rustix::process::geteuid().as_raw() }
    }

    /// For a user by number.
    #[must_use]
    pub fn of_user(reader: u32) -> Self {
        Self { reader }
    }

    /// Opens a file for reading, if it can be trusted; answers it and its path
    /// without symbolic links. As long as the reader changes nothing, that path
    /// stands for this file, for nobody else can change what it leads through.
    ///
    /// # Errors
    /// [`Refusal`] with what cannot be trusted, and the way out.
    pub fn open(self, path: &Path) -> Result<(File, PathBuf), Refusal> {
        let mut walk = Walk::new(self, path)?;
        while let Some(name) = walk.todo.pop_front() {
            if let Some(opened) = walk.step(&name)? {
                return Ok((opened, walk.path));
            }
        }
        Err(Refusal::Kind { path: walk.path, what: "is a folder, not a file" })
    }

    fn is_owner(self, stat: &Stat) -> bool {
        stat.st_uid == 0 || stat.st_uid == self.reader
    }
}

/// A path on its way from the root.
struct Walk {
    trust: Trust,
    /// The folders above, the root first.
    folders: Vec<(OwnedFd, Stat)>,
    path: PathBuf,
    todo: VecDeque<OsString>,
    links: u32,
}

impl Walk {
    fn new(trust: Trust, path: &Path) -> Result<Self, Refusal> {
        if !path.is_absolute() {
            return Err(Refusal::Kind { path: path.into(), what: "is no absolute path" });
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

    /// Puts the parts of a path in front of what is still to be walked.
    fn ahead(&mut self, path: &Path) {
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.todo.push_front(name.into()),
                Component::ParentDir => self.todo.push_front("..".into()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }

    /// Enters a folder, if it can be trusted.
    fn folder(&mut self, folder: OwnedFd, stat: Stat) -> Result<(), Refusal> {
        self.check_owner(&stat)?;
        // In a sticky folder such as /tmp nobody touches what is another's.
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

    /// Takes one step; answers the file at the end.
    fn step(&mut self, name: &OsStr) -> Result<Option<File>, Refusal> {
        if name == ".." {
            // Above the root is the root.
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
            // Somebody else might make it where others may write.
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
            _ => Err(Refusal::Kind { path: self.path.clone(), what: "is no file" }),
        }
    }

    /// Opens the file at the end. What is looked at is what was opened.
    fn file(&self, name: &OsStr, seen: &Stat) -> Result<File, Refusal> {
        let Some((folder, folder_stat)) = self.folders.last() else {
            return Err(Refusal::NotFound);
        };
        self.check_owner(seen)?;
        // Others could put something beside it that it loads.
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
            return Err(Refusal::Kind { path: self.path.clone(), what: "is no file" });
        }
        Ok(File::from(file))
    }
}

/// Whether others than the owner may write.
fn is_writable(stat: &Stat) -> bool {
    stat.st_mode & 0o022 != 0
}
