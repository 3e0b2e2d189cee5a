//! Outputs that are written to their end or not at all.

use crate::failure::Failure;
use perfhive::SourceError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The files and folders of unfinished outputs, which are removed if a signal ends the program.
static BEGUN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn begun() -> MutexGuard<'static, Vec<PathBuf>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished outputs. Until the returned guard is dropped, no output is begun or finished.
pub(crate) fn discard_all() -> impl Drop {
    let mut begun = begun();
    begun.drain(..).for_each(|path| remove(&path));
    begun
}

/// Removes a file or folder. An error is ignored: the error of writing is reported instead.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// An output that is written under another name in its folder, and gets its own when it is finished: half an output
/// would be taken for all that there was.
pub(crate) struct Unfinished {
    target: PathBuf,
    /// The path under which the output is written; `target` itself where no file can be replaced: at
    /// a device, a pipe, or a link to nothing. For Windows' device NUL a file that is removed at the end.
    beside: PathBuf,
}

impl Unfinished {
    /// An output that the caller creates under [`path`](Self::path), such as a folder.
    #[cfg(feature = "parquet")]
    pub(crate) fn new(path: &Path) -> Result<Self, Failure> {
        Self::begin(path, |_| Ok(()))
    }

    /// An output to a file, which is created empty; when it is finished, it replaces a file that
    /// exists.
    pub(crate) fn replace(path: &Path) -> Result<Self, Failure> {
        Self::begin(path, |beside| File::create_new(beside).map(drop))
    }

    /// An output that begins as a copy of the file that exists, and replaces this file when it is finished.
    pub(crate) fn append(path: &Path) -> Result<Self, Failure> {
        Self::begin(path, |beside| fs::copy(path, beside).map(drop))
    }

    /// An output that the caller has created under its own name, which did not exist before.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_new(path: &Path) -> Self {
        begun().push(path.to_path_buf());
        Self { target: path.to_path_buf(), beside: path.to_path_buf() }
    }

    /// Begins an output; `create` makes it under the path that it is given, and is not called where
    /// no file can be replaced. A recording that exists is an error.
    fn begin(path: &Path, create: impl FnOnce(&Path) -> io::Result<()>) -> Result<Self, Failure> {
        let failed =
            |error| Failure::Source(format!("{}: cannot be written: {error}", path.display()));
        refuse_recording(path)?;
        let mut output = Self { target: path.to_path_buf(), beside: path.to_path_buf() };
        if is_nul(path) {
            // It has neither a length nor a place to go to, which writers of files need.
            let name = format!("perfhive-{}.nul", std::process::id());
            output.beside = std::env::temp_dir().join(name);
            begun().push(output.beside.clone());
            return create(&output.beside).map(|()| output).map_err(failed);
        }
        match fs::metadata(path) {
            // A link stays; what it leads to is replaced.
            Ok(found) if found.is_file() => {
                // What another program goes on to write would be lost with the file that is replaced. A file that
                // cannot be opened may be replaced all the same.
                if let Ok(file) = File::options().write(true).open(path) {
                    lock(&file, path)?;
                }
                output.target = fs::canonicalize(path).map_err(failed)?
            }
            Ok(_) => return Ok(output),
            // A link to nothing stays, too: only what it leads to is created.
            Err(_) if path.is_symlink() => return Ok(output),
            Err(_) => {}
        }
        let mut beside = output.target.clone().into_os_string();
        beside.push(format!(".{}.new", std::process::id()));
        output.beside = PathBuf::from(beside);
        begun().push(output.beside.clone());
        // Where this fails, dropping the output removes what there is of it.
        create(&output.beside).map(|()| output).map_err(failed)
    }

    /// The path under which the output is written.
    pub(crate) fn path(&self) -> &Path {
        &self.beside
    }

    /// An error of writing, with the name of the output instead of the one under which it is written.
    pub(crate) fn named(&self, error: SourceError) -> SourceError {
        match self.beside.display().to_string() == error.source_name() {
            true => {
                SourceError::new(error.kind(), &self.target.display().to_string(), error.message())
            }
            false => error,
        }
    }

    /// Finishes the output: gives it its name, and the permissions of the file that it replaces.
    /// Does nothing if the output is finished already, or is written under its own name.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let mut begun = begun();
        let Some(place) = begun.iter().position(|path| *path == self.beside) else { return Ok(()) };
        if is_nul(&self.target) {
            remove(&begun.remove(place));
            return Ok(());
        }
        if self.beside == self.target {
            begun.remove(place);
            return Ok(());
        }
        if let Ok(about) = fs::metadata(&self.target) {
            // The output is whole, whatever becomes of its permissions.
            let _ = fs::set_permissions(&self.beside, about.permissions());
        }
        let failed = |error| {
            Failure::Source(format!("{}: cannot be replaced: {error}", self.target.display()))
        };
        fs::rename(&self.beside, &self.target).map_err(failed)?;
        begun.remove(place);
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut begun = begun();
        if let Some(place) = begun.iter().position(|path| *path == self.beside) {
            remove(&begun.remove(place));
        }
    }
}

/// Whether a path is that of Windows' device NUL, which takes everything and keeps nothing.
fn is_nul(path: &Path) -> bool {
    cfg!(windows) && path.as_os_str().eq_ignore_ascii_case("nul")
}

/// Creates a file, or empties the one that exists. An error where another program writes to it.
pub(crate) fn created(path: &Path) -> Result<File, Failure> {
    let failed = |error: io::Error| Failure::Source(format!("{}: {error}", path.display()));
    if is_nul(path) {
        // It exists, and cannot be emptied.
        return File::options().write(true).open(path).map_err(failed);
    }
    let file = exclusive(path)?;
    // A pipe or a device has no length.
    if file.metadata().is_ok_and(|about| about.is_file()) {
        file.set_len(0).map_err(failed)?;
    }
    Ok(file)
}

/// Opens the file at a path for one writer at a time; a missing file is created, and what a file has stays for now. An
/// error where another program writes to the file, as for a recording.
pub(crate) fn exclusive(path: &Path) -> Result<File, Failure> {
    let file = File::options().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| Failure::Source(format!("{}: {error}", path.display())))?;
    lock(&file, path)?;
    Ok(file)
}

/// Locks a file until it is closed. An error where another program writes to it.
fn lock(file: &File, path: &Path) -> Result<(), Failure> {
    // A pipe or a device loses nothing to a second writer. On Windows a lock would keep readers out, too.
    let locks = cfg!(not(windows)) && file.metadata().is_ok_and(|about| about.is_file());
    // Any other error is that of a file system without locks, and does not keep its files from being written.
    if locks && matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
        let what = "is being written by another program; name another file";
        return Err(Failure::Source(format!("{}: {what}", path.display())));
    }
    Ok(())
}

/// Whether a path has the ending of a recording.
pub(crate) fn is_phr(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("phr"))
}

/// Fails if the path is that of a recording that exists.
pub(crate) fn refuse_recording(path: &Path) -> Result<(), Failure> {
    if is_phr(path) && path.is_file() {
        let what = "is a recording and is not overwritten; name another file";
        return Err(Failure::Usage(format!("{} {what}", path.display())));
    }
    Ok(())
}

/// Fails if a file for rows or a table has the name of a recording or binary log, or is a recording that exists.
pub(crate) fn refuse_for_text(path: &Path) -> Result<(), Failure> {
    refuse_recording(path)?;
    let is_blg = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("blg"));
    let instead = match (is_phr(path), is_blg) {
        (true, _) => "a recording, which perfhive record -o writes",
        (_, true) => "a binary log, which perfhive typeperf -f BIN -o writes",
        _ => return Ok(()),
    };
    let what = "values are written as text, not as";
    Err(Failure::Usage(format!("{}: {what} {instead}", path.display())))
}

/// Writes a file as a whole. A file that exists is replaced, except a recording, which is an error.
pub(crate) fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let unfinished = Unfinished::replace(path)?;
    fs::write(unfinished.path(), bytes)
        .map_err(|error| Failure::Source(format!("{}: {error}", path.display())))?;
    unfinished.finish()
}

/// Fails if the output is one of the files that are read, also if another path or a symbolic link leads to it. A hard
/// link is not recognised.
pub(crate) fn refuse_input(inputs: &[PathBuf], output: &Path) -> Result<(), Failure> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let Some(written) = real(output) else { return Ok(()) };
    match inputs.iter().any(|input| real(input).as_ref() == Some(&written)) {
        true => {
            let what =
                format!("{} is the input; name another file for the output", output.display());
            Err(Failure::Usage(what))
        }
        false => Ok(()),
    }
}
