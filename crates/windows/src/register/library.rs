//! The path of a registered library.

use crate::ffi::{self, Key};
use std::path::{Path, PathBuf};

/// The path of a registration's library, as Windows finds it for any reader: environment variables
/// are expanded if the value's type says so, and a partial path is searched. The folder of the
/// reader's program, which Windows searches first, differs between readers and is left out. A path
/// without an extension gets `.dll`, unless it ends with a point, which is removed instead. A
/// partial path that is not found stays partial. `None` if the registration names no library.
pub(super) fn library(key: &Key) -> Option<PathBuf> {
    let text = key.text("Library").filter(|text| !text.is_empty())?;
    let text = if key.expands("Library") { ffi::expanded(&text) } else { text };
    let folders = || {
        let mut folders = ffi::system_folders();
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
        folders
    };
    Some(find(&text, folders))
}

fn find(text: &str, folders: impl FnOnce() -> Vec<PathBuf>) -> PathBuf {
    // As in `LoadLibrary`: a point at the end stands for no extension.
    let name = match text.strip_suffix('.') {
        Some(text) => PathBuf::from(text),
        None if Path::new(text).extension().is_none() => PathBuf::from(format!("{text}.dll")),
        None => PathBuf::from(text),
    };
    if name.is_absolute() {
        return name;
    }
    let mut places = folders().into_iter().map(|folder| folder.join(&name));
    places.find(|path| path.is_file()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_as_windows_finds_them() {
        let found = |text: &str| find(text, ffi::system_folders);
        let system = PathBuf::from(ffi::expanded(r"%SystemRoot%\system32"));
        assert!(system.is_absolute(), "{}", system.display());
        for (text, file) in [
            ("kernel32.dll", "kernel32.dll"),
            ("kernel32", "kernel32.dll"),
            ("winspool.drv", "winspool.drv"),
        ] {
            let path = found(text);
            let (path, file) = (path.to_string_lossy(), system.join(file));
            assert!(path.eq_ignore_ascii_case(&file.to_string_lossy()), "{text}: {path}");
        }
        // A full path stays unchanged, whether the file exists or not.
        for text in [r"C:\nowhere\zoo.dll", r"\\host\share\zoo.dll"] {
            assert_eq!(found(text), Path::new(text));
        }
        assert_eq!(found(r"C:\nowhere\zoo"), Path::new(r"C:\nowhere\zoo.dll"));
        assert_eq!(found("kernel32."), Path::new("kernel32"), "there is none without extension");
        assert_eq!(found("no-such-library.dll"), Path::new("no-such-library.dll"));
    }

    #[test]
    fn unknown_variables_stay_in_the_path() {
        for text in ["", "a.dll", r"C:\100%\a.dll", r"%no such variable%\a.dll"] {
            assert_eq!(ffi::expanded(text), text);
        }
    }
}
