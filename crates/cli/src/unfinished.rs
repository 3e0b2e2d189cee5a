//! Files that are written to their end or not at all.

use crate::failure::Failure;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// An output until it is written to its end. If that fails, what was there before is there again: half an output
/// would be taken for all that there was.
pub(crate) struct Unfinished {
    path: PathBuf,
    before: Before,
}

/// What was at the path before.
enum Before {
    Nothing,
    /// A file, which has this name meanwhile.
    Aside(PathBuf),
    /// A file of this length, which is continued.
    Continued(u64),
    /// Something that stays: a device or a pipe, or an output that is finished.
    Stays,
}

impl Unfinished {
    /// Before the output is created: a file that exists is set aside.
    pub(crate) fn replace(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let what = "cannot be replaced; name another file";
            Failure::Source(format!("{}: {what}: {error}", path.display()))
        };
        let found = match fs::metadata(path) {
            Ok(found) => found,
            // A link to nothing stays, too: only what it leads to is created.
            Err(_) if path.is_symlink() => {
                return Ok(Self { path: path.to_path_buf(), before: Before::Stays });
            }
            Err(_) => return Ok(Self { path: path.to_path_buf(), before: Before::Nothing }),
        };
        if !found.is_file() {
            return Ok(Self { path: path.to_path_buf(), before: Before::Stays });
        }
        // A link stays; what it leads to is replaced.
        let path = fs::canonicalize(path).map_err(failed)?;
        let mut aside = path.clone().into_os_string();
        aside.push(format!(".{}.before", std::process::id()));
        let aside = PathBuf::from(aside);
        fs::rename(&path, &aside).map_err(failed)?;
        Ok(Self { path, before: Before::Aside(aside) })
    }

    /// Before the output is appended to, or created.
    pub(crate) fn append(path: &Path) -> Self {
        let before = match fs::metadata(path) {
            Ok(found) if found.is_file() => Before::Continued(found.len()),
            Ok(_) => Before::Stays,
            Err(_) => Before::Nothing,
        };
        Self { path: path.to_path_buf(), before }
    }

    /// Where the output is written.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the output, which is written to its end, with the permissions of the file that it replaces.
    pub(crate) fn finished(mut self) {
        if let Before::Aside(aside) = std::mem::replace(&mut self.before, Before::Stays) {
            // The output is whole, whatever becomes of its permissions and of the file that it replaces.
            let _ = fs::metadata(&aside)
                .and_then(|about| fs::set_permissions(&self.path, about.permissions()));
            let _ = fs::remove_file(aside);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // The error that is told is the one of writing.
        let _ = match &self.before {
            Before::Stays => Ok(()),
            Before::Nothing => fs::remove_file(&self.path),
            Before::Aside(aside) => {
                fs::remove_file(&self.path).or(Ok(())).and_then(|()| fs::rename(aside, &self.path))
            }
            Before::Continued(length) => {
                let file = OpenOptions::new().write(true).open(&self.path);
                file.and_then(|file| file.set_len(*length))
            }
        };
    }
}

/// Writes a file as a whole; a file that exists is replaced.
pub(crate) fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let unfinished = Unfinished::replace(path)?;
    fs::write(unfinished.path(), bytes)
        .map_err(|error| Failure::Source(format!("{}: {error}", path.display())))?;
    unfinished.finished();
    Ok(())
}
