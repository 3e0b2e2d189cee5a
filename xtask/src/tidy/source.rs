//! Checks what a source file contains.
//!
//! The forbidden words are put together from pieces, because this file is a
//! source file too.

use super::Finding;

/// The main file of the crate that must work without an operating system and without unsafe code.
pub(super) const FORMAT_LIB: &str = "crates/format/src/lib.rs";

/// The most lines of a file without a warning.
const LONG: usize = 600;
/// The most lines of a file without an error.
const TOO_LONG: usize = 800;

/// Attributes that [`FORMAT_LIB`] must have.
const FORMAT_ATTRIBUTES: &[&str] = &["#![no_std]", "#![forbid(unsafe_code)]"];

/// The words of unfinished code and of tests that are not run, each with the way out.
const UNFINISHED: &[(&str, &str)] = &[
    (concat!("todo", "!("), "finish it, or return an error that says it is not supported"),
    (concat!("unimplemented", "!("), "finish it, or return an error that says it is not supported"),
    (concat!("dbg", "!("), "take it out"),
    (
        concat!("#[", "ignore"),
        "a test that is not run checks nothing: repair it or take it out (what only Miri or \
         another system cannot run: cfg_attr)",
    ),
];

/// Lints that may not be allowed: each hides more than the one place for which it would be allowed.
const BLANKET: &[&str] = &["dead_code", "unused", "warnings", "clippy::all"];

/// Folders in which developers keep their checkouts.
const DEVELOPER_FOLDERS: &[&str] = &["work", "home", "root", "Users"];

/// A finding for each attribute of [`FORMAT_ATTRIBUTES`] that the text lacks.
pub(super) fn format_attributes(path: &str, text: &str) -> Vec<Finding> {
    let has = |attribute: &str| text.lines().any(|line| line.trim().starts_with(attribute));
    let missing = FORMAT_ATTRIBUTES.iter().filter(|attribute| !has(attribute));
    missing
        .map(|attribute| {
            Finding::error(path, 1, format!("no `{attribute}`"), "put it back: floor 0 keeps it")
        })
        .collect()
}

/// A finding for each word of unfinished code.
pub(super) fn unfinished(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (word, way_out) in UNFINISHED {
            let found = line.match_indices(word).any(|(at, _)| !line[..at].ends_with(is_word));
            if found {
                let what = format!("`{}` in the source", word.trim_end_matches('('));
                findings.push(Finding::error(path, index + 1, what, *way_out));
            }
        }
    }
    findings
}

/// A finding for each `allow` of a lint that would also hide faults in code that is written later.
pub(super) fn blanket_allows(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, opening) in text.match_indices("allow(") {
        // An `allow` in an attribute follows `#[`, `#![` or a comma of cfg_attr.
        let before = text[..at].trim_end();
        if !before.ends_with(['[', ',']) {
            continue;
        }
        let list = text[at + opening.len()..].split(')').next().unwrap_or_default();
        for lint in list.split(',').map(str::trim).filter(|lint| BLANKET.contains(lint)) {
            let line = text[..at].matches('\n').count() + 1;
            findings.push(Finding::error(
                path,
                line,
                format!("`{lint}` is allowed"),
                "take out what is not used, or expect(LINT, reason = \"...\") at the one place",
            ));
        }
    }
    findings
}

/// The finding for a file with more than [`LONG`] lines: a warning, and an error if the file has
/// more than [`TOO_LONG`]; `None` for shorter files and for tests.
pub(super) fn length(path: &str, text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    if path.split('/').any(|part| part == "tests" || part == "tests.rs") || lines <= LONG {
        return None;
    }
    let finding = Finding::error(
        path,
        lines,
        format!("{lines} lines (a file is about one thing; at most {TOO_LONG})"),
        "split it",
    );
    Some(if lines > TOO_LONG { finding } else { finding.warning() })
}

/// A finding for each line with an absolute path of a developer's machine.
pub(super) fn developer_paths(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = developer_path(line) {
            findings.push(Finding::error(
                path,
                index + 1,
                format!("`{found}` is a path of a developer's machine"),
                "use a path relative to the workspace, or an example that names no home",
            ));
        }
    }
    findings
}

/// The folder, with slashes around it, of an absolute path in a line that leads to where developers keep
/// their checkouts; `None` if the line has no such path.
pub(super) fn developer_path(line: &str) -> Option<String> {
    DEVELOPER_FOLDERS.iter().find_map(|folder| {
        let pattern = format!("/{folder}/");
        let mut matches = line.match_indices(&pattern);
        // `a/home/b`, `../home/`, `$x/home/` and `{x}/home/` are not absolute.
        let found = matches
            .any(|(at, _)| !line[..at].ends_with(|c: char| is_word(c) || ".-})~*$%".contains(c)));
        found.then_some(pattern)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_code_is_found() {
        for (word, _) in UNFINISHED {
            let text = format!("fn f() {{\n    {word}x)\n}}\n");
            let findings = unfinished("a.rs", &text);
            assert_eq!(findings.len(), 1, "{word}");
            assert_eq!(findings[0].line, 2);
        }
        let with_reason = format!("{} = \"slow\"]", UNFINISHED[3].0);
        assert_eq!(unfinished("a.rs", &with_reason).len(), 1);
    }

    #[test]
    fn finished_code_is_not_taken_for_unfinished() {
        let other = format!("my_{}1)", UNFINISHED[0].0);
        assert_eq!(unfinished("a.rs", &other), []);
        assert_eq!(unfinished("a.rs", "#[cfg_attr(miri, ignore)]\nlet todo = 1;"), []);
    }

    #[test]
    fn blanket_allows_are_found() {
        let allow = concat!("allow", "(");
        for text in [
            format!("x\n#[{allow}dead_code)]"),
            format!("x\n#![{allow}unused)]"),
            format!("x\n#[{allow}clippy::unwrap_used, warnings)]"),
            format!("x\n#![cfg_attr(test, {allow}\n    clippy::all,\n))]"),
        ] {
            let findings = blanket_allows("a.rs", &text);
            assert_eq!(findings.len(), 1, "{text}");
            assert_eq!(findings[0].line, 2, "{text}");
        }
    }

    #[test]
    fn pointed_allows_pass() {
        let allow = concat!("allow", "(");
        for text in [
            format!("#[{allow}clippy::unwrap_used)]"),
            format!("self.{allow}dead_code)"),
            format!("#[{allow}unused_mut)]"),
        ] {
            assert_eq!(blanket_allows("a.rs", &text), [], "{text}");
        }
    }

    #[test]
    fn long_files_are_found() {
        let lines = |n: usize| "x\n".repeat(n);
        assert_eq!(length("a.rs", &lines(LONG)), None);
        let warned = length("a.rs", &lines(LONG + 1)).map(|f| f.level);
        assert_eq!(warned, Some(super::super::Level::Warning));
        let refused = length("a.rs", &lines(TOO_LONG + 1)).map(|f| f.level);
        assert_eq!(refused, Some(super::super::Level::Error));
        assert_eq!(length("crates/x/tests/a.rs", &lines(TOO_LONG + 1)), None);
    }

    #[test]
    fn developer_paths_are_found() {
        for folder in DEVELOPER_FOLDERS {
            for text in ["", "see ", "file://", "\"", "PATH=", "C:", "<text>"] {
                let line = format!("{text}/{folder}/x");
                assert_eq!(developer_paths("a.md", &format!("\n{line}")).len(), 1, "{line}");
            }
        }
        let findings = developer_paths("a.md", &format!("\n/{}/x", DEVELOPER_FOLDERS[0]));
        assert_eq!(findings[0].line, 2);
    }

    #[test]
    fn other_paths_pass() {
        for line in ["a/home/b", "../root/x", "https://example.com/home/x", "/proc/1/root/x"] {
            assert_eq!(developer_paths("a.md", line), [], "{line}");
        }
        assert_eq!(developer_paths("a.md", "{dir}/root/x, $HOME/root/x, /workshop/, /homes"), []);
    }

    #[test]
    fn floor_0_keeps_its_attributes() {
        let good = "//! Doc.\n#![no_std]\n#![forbid(unsafe_code)]\n";
        assert_eq!(format_attributes(FORMAT_LIB, good), []);
        for attribute in FORMAT_ATTRIBUTES {
            let bad = good.replace(attribute, "");
            assert_eq!(format_attributes(FORMAT_LIB, &bad).len(), 1, "{attribute}");
        }
        let commented = good.replace("#![no_std]", "// #![no_std]");
        assert_eq!(format_attributes(FORMAT_LIB, &commented).len(), 1);
    }
}
