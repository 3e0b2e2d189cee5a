//! Checks which files exist, and how large a file is.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::Finding;
use super::source::FORMAT_LIB;

/// The script that continuous integration starts.
pub(super) const CI_SCRIPT: &str = ".ci/run";

/// Files that must exist, because people or tools look for them.
const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    CI_SCRIPT,
    // The checks of this file's attributes would pass if the file were elsewhere.
    FORMAT_LIB,
];

/// The most bytes of a file: every clone carries every version of a file for ever.
const LARGEST: usize = 1 << 20;

/// A finding for each required file that is missing.
pub(super) fn required(tracked: &BTreeSet<&str>) -> Vec<Finding> {
    let missing = REQUIRED.iter().filter(|path| !tracked.contains(*path));
    missing.map(|path| Finding::error(path, 1, "there is no such file", "write it")).collect()
}

/// The finding for a file that is too large to keep; `None` if it is not.
pub(super) fn size(path: &str, bytes: usize) -> Option<Finding> {
    (bytes > LARGEST).then(|| {
        Finding::error(
            path,
            1,
            format!("{bytes} bytes are more than {LARGEST}"),
            "make it smaller, or generate it where it is used",
        )
    })
}

/// The finding for a script that is not executable; `None` if it is, or if the system has no such permission.
pub(super) fn executable(path: &Path) -> io::Result<Option<Finding>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if std::fs::metadata(path)?.permissions().mode() & 0o111 == 0 {
            return Ok(Some(Finding::error(
                CI_SCRIPT,
                1,
                "the script is not executable",
                "chmod +x, and commit that",
            )));
        }
    }
    let _ = path; // Elsewhere there is no such right.
    Ok(None)
}

/// The text of a file; `None` if it is not UTF-8 or contains a zero byte.
pub(super) fn as_text(bytes: &[u8]) -> Option<&str> {
    if bytes.contains(&0) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_required_file_is_missed() {
        let all: BTreeSet<&str> = REQUIRED.iter().copied().collect();
        assert_eq!(required(&all), []);
        for path in REQUIRED {
            let mut some = all.clone();
            some.remove(path);
            let findings = required(&some);
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].file, *path);
        }
    }

    #[test]
    fn large_files_are_refused() {
        assert_eq!(size("a.bin", LARGEST), None);
        assert!(size("a.bin", LARGEST + 1).is_some_and(|f| f.what.contains("1048577")));
    }

    #[cfg(unix)]
    #[test]
    fn a_script_without_the_right_to_run_is_refused() -> io::Result<()> {
        let root = crate::workspace::root().map_err(io::Error::other)?;
        assert!(executable(&root.join("Cargo.toml"))?.is_some());
        Ok(())
    }

    #[test]
    fn binary_files_are_no_text() {
        assert_eq!(as_text(b"text"), Some("text"));
        assert_eq!(as_text(b"te\0xt"), None);
        assert_eq!(as_text(b"te\xffxt"), None);
    }
}
