//! Names of files with a `*`. Other shells replace them by the names that match; those of Windows leave that to
//! the program.

use super::Command;
use super::value::is_file;
use perfhive::NamePattern;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Replaces each name of a file to read that has a `*` by the names of the files that match, in the arguments of
/// `convert`, `relog`, `info` and `view`.
///
/// # Errors
/// If no file matches a name, or a folder cannot be read.
pub(super) fn expand(command: &mut Command) -> Result<(), String> {
    match command {
        // The last file may be the one to write, and has no `*` then.
        Command::Convert(super::Convert { inputs: files, .. })
        | Command::Relog(super::Relog { inputs: files, .. })
        | Command::Info(super::Info { files }) => {
            let all: Result<Vec<_>, _> = files.iter().map(|file| matching(file)).collect();
            *files = all?.concat();
        }
        Command::View(super::View { paths, .. }) => {
            let names = |path: &String| match is_file(path) {
                true => Ok(matching(Path::new(path))?
                    .into_iter()
                    .map(|file| file.display().to_string())
                    .collect()),
                false => Ok(vec![path.clone()]),
            };
            let all: Result<Vec<Vec<String>>, String> = paths.iter().map(names).collect();
            *paths = all?.concat();
        }
        _ => {}
    }
    Ok(())
}

/// The files that a name with a `*` in its last part matches, without regard to case, in the order of their names;
/// an error if there is none. A name without a `*` there is returned alone, whether or not the file exists.
fn matching(file: &Path) -> Result<Vec<PathBuf>, String> {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let pattern = NamePattern::with_wildcards(name);
    if !pattern.is_wild() {
        return Ok(vec![file.to_path_buf()]);
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let failed = |error| format!("{}: {error}", here.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(here).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = folder.join(entry.file_name());
        if entry.file_name().to_str().is_some_and(|name| pattern.matches(name)) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(format!("{}: no file has such a name", file.display())),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_an_asterisk_are_those_of_files() {
        let folder = std::env::temp_dir().join(format!("perfhive-patterns-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("c.phr")).unwrap();
        for name in ["b.PHR", "a.phr", "a.csv"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let at = |name: &str| folder.join(name);
        let found = ["*.phr", "a*", "a.phr", "out.csv", "*.blg"].map(|name| matching(&at(name)));
        let mut files = vec![at("*.phr"), at("out.csv")];
        let mut command = Command::Info(super::super::Info { files: std::mem::take(&mut files) });
        let told = expand(&mut command);
        std::fs::remove_dir_all(&folder).unwrap();
        let [phr, a, one, missing, none] = found;
        assert_eq!(phr, Ok(vec![at("a.phr"), at("b.PHR")]));
        assert_eq!(a, Ok(vec![at("a.csv"), at("a.phr")]));
        assert_eq!(one, Ok(vec![at("a.phr")]));
        assert_eq!(missing, Ok(vec![at("out.csv")]), "what reads it tells that it is missing");
        assert!(none.unwrap_err().ends_with("*.blg: no file has such a name"));
        assert_eq!(told, Ok(()));
        let Command::Info(info) = command else { panic!("another command") };
        assert_eq!(info.files, [at("a.phr"), at("b.PHR"), at("out.csv")]);
    }

    #[test]
    fn names_without_a_folder_stay_without_it() {
        assert_eq!(matching(Path::new("Cargo.t*")), Ok(vec![PathBuf::from("Cargo.toml")]));
    }
}
