//! Real data, which is not ours to copy into the repository.
//!
//! It lies in `../shared/data`, seen from the workspace's root, or where the
//! environment variable `PERFHIVE_REAL_DATA` points. A test that needs it and
//! does not find it says so in one line and passes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment variable with the path of the folder with the real data.
pub const VARIABLE: &str = "PERFHIVE_REAL_DATA";

/// The folder with the real data; `None` if there is none, which is reported once on standard
/// error.
#[must_use]
pub fn root() -> Option<&'static Path> {
    static ROOT: OnceLock<Option<PathBuf>> = OnceLock::new();
    ROOT.get_or_init(|| {
        let wanted = std::env::var_os(VARIABLE).map(PathBuf::from);
        // Under Miri a program sees files only if Miri's isolation is switched off. It then also
        // sees the environment, so the variable has to name the folder.
        let root = match wanted {
            None if cfg!(miri) => None,
            None => Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")),
            wanted => wanted,
        };
        let found = root.filter(|root| root.is_dir());
        if found.is_none() {
            say(&format!(
                "real data is absent, tests on it are skipped ({VARIABLE} says where it is)"
            ));
        }
        found
    })
    .as_deref()
}

/// The bytes of one file of the real data, such as `windows-vista/s00_global.bin`. `None` if the
/// file is absent, which is reported on standard error.
///
/// # Panics
/// If the file exists and cannot be read: a test must not pass because of that.
#[must_use]
pub fn file(name: &str) -> Option<Vec<u8>> {
    let path = root()?.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            say(&format!("real data is absent: {name}"));
            None
        }
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// One file of the real data, as text. `None` if the file is absent, which is reported on standard
/// error.
///
/// # Panics
/// If the file exists and cannot be read, or is not UTF-8.
#[must_use]
pub fn text(name: &str) -> Option<String> {
    match String::from_utf8(file(name)?) {
        Ok(text) => Some(text),
        Err(error) => panic!("{name}: {error}"),
    }
}

/// The files of a folder of the real data with names that end in `ending`, sorted: for each the
/// folder and name with `/` between them, and the contents. Empty where the folder is absent.
#[must_use]
pub fn files(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let Some(root) = root() else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        say(&format!("real data is absent: {folder}"));
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(ending))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort();
    names.into_iter().filter_map(|name| file(&name).map(|bytes| (name, bytes))).collect()
}

/// Writes a line to the process's standard error: the test harness hides what a passing test prints
/// with `eprintln!`.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
