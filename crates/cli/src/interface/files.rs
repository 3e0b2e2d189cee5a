//! Writes the files of the interface. After a failed write no file is left behind.

use super::layout::View;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// The treatment of a file that exists already under the wanted name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Existing {
    /// Nothing is written.
    Refused,
    /// The new file gets a number behind its name, before the extension.
    Numbered,
    /// A file with the settings of a view is replaced. If any other file has
    /// the name, nothing is written.
    Settings,
}

/// The first number that is not tried behind the name of a file; numbers begin at 2.
const MOST_NUMBERED: u32 = 1000;

/// Writes a file; returns a message about the result.
pub(super) fn written(file: &str, text: &str, existing: Existing) -> String {
    let result = match existing {
        Existing::Refused => create(Path::new(file), text).map(|()| file.to_string()),
        Existing::Numbered => create_numbered(file, text),
        Existing::Settings => save(file, text).map(|()| file.to_string()),
    };
    match result {
        Ok(file) => format!("saved {file}"),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            format!("{file} exists and is not overwritten; name another file")
        }
        Err(error) => format!("{file}: {error}"),
    }
}

/// Creates a file with a text; an error if the file exists.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut out = File::create_new(path)?;
    let result = out.write_all(text.as_bytes());
    if result.is_err() {
        drop(out);
        // The error of the write is the one to tell.
        let _ = fs::remove_file(path);
    }
    result
}

/// Creates a file with a text, under the name or, if it is taken, with the first free number;
/// returns the name.
fn create_numbered(file: &str, text: &str) -> io::Result<String> {
    let mut name = file.to_string();
    for number in 2..=MOST_NUMBERED {
        match create(Path::new(&name), text) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                name = match file.rsplit_once('.') {
                    Some((stem, end)) => format!("{stem}-{number}.{end}"),
                    None => format!("{file}-{number}"),
                };
            }
            result => return result.map(|()| name),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Creates a settings file, or replaces the file if it has a view; an error if it has anything
/// else.
fn save(file: &str, text: &str) -> io::Result<()> {
    let path = match fs::canonicalize(file) {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return create(Path::new(file), text);
        }
        Err(error) => return Err(error),
    };
    if View::text_of(file).ok().and_then(|known| View::parse(&known).ok()).is_none() {
        return Err(io::Error::other("exists and is not a settings file; name another file"));
    }
    // A write that fails leaves the old settings as they are.
    let mut neighbour = path.clone().into_os_string();
    neighbour.push(format!(".{}.new", std::process::id()));
    let neighbour = PathBuf::from(neighbour);
    create(&neighbour, text)?;
    let replaced = fs::metadata(&path)
        .and_then(|about| fs::set_permissions(&neighbour, about.permissions()))
        .and_then(|()| fs::rename(&neighbour, &path));
    if replaced.is_err() {
        let _ = fs::remove_file(&neighbour);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::{Existing, written};
    use crate::interface::layout::View;

    #[test]
    fn settings_replace_only_settings_and_new_files_get_numbers() {
        let folder = std::env::temp_dir().join(format!("perfhive-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name).display().to_string();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let view = View::built_in("memory").unwrap().to_toml();
        std::fs::write(at("a.phr"), "samples").unwrap();
        let note = written(&at("a.phr"), &view, Existing::Settings);
        assert!(note.ends_with("exists and is not a settings file; name another file"), "{note}");
        assert_eq!(read("a.phr"), "samples");
        let other = View::built_in("disk").unwrap().to_toml();
        for text in [&view, &other] {
            let note = written(&at("a.toml"), text, Existing::Settings);
            assert!(note.starts_with("saved "), "{note}");
            assert_eq!(read("a.toml"), *text);
        }
        for (text, name) in [("1", "b.svg"), ("2", "b-2.svg"), ("3", "b-3.svg")] {
            let note = written(&at("b.svg"), text, Existing::Numbered);
            assert!(note.ends_with(name), "{note}");
            assert_eq!(read(name), text);
        }
        let note = written(&at("b.svg"), "4", Existing::Refused);
        assert!(note.ends_with("b.svg exists and is not overwritten; name another file"), "{note}");
        assert_eq!(read("b.svg"), "1");
        let names = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 5, "a file was left behind");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
