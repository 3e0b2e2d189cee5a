//! `cargo xtask tidy`: the rules of the house that no compiler checks.
//!
//! A rule that is only written down is forgotten. These rules are checked in every run of
//! the tests, and each complaint gives the place, the fault and the way out. The checks
//! are functions over given text, so that each has a test in which it fails.

mod edges;
mod files;
mod links;
mod source;
mod wine;

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Result, bail};

use crate::workspace;
use edges::Package;

pub(crate) const HELP: &str = "\
Checks the layout of the workspace.

Usage: cargo xtask tidy

Looks at every file that git tracks or would track after `git add .`: imports
between crates against the table of floors, `[lints] workspace = true`, no_std
and forbidden unsafe code in perfhive-format, unfinished code and blanket
allows, the size of files, paths of a developer's machine, files that must
exist, relative links in Markdown, tests for Windows that the stage under Wine
does not run.

Exit code 0: nothing to complain of (there may be warnings), 1: complaints.
";

/// The floor of a crate. A crate imports only from floors below its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Floor {
    /// A crate of the product, on the floor with this number.
    Number(u8),
    /// perfhive-testkit: used by tests only.
    Testkit,
    /// xtask: it uses no other crate and none uses it. Otherwise a broken crate would disable the tool that
    /// finds the fault.
    Tool,
}

/// A crate with its floor, and the rules that apply to it alone.
struct House {
    name: &'static str,
    folder: &'static str,
    floor: Floor,
    /// The only crates of the workspace that the crate may use; `None` for all below its floor.
    only: Option<&'static [&'static str]>,
    /// Further crates that the crate's tests and examples may use.
    tests: &'static [&'static str],
    /// The only crates from outside that the crate may use, apart from its tests; `None` for any.
    external: Option<&'static [&'static str]>,
}

const fn house(name: &'static str, folder: &'static str, floor: Floor) -> House {
    House { name, folder, floor, only: None, tests: &[], external: None }
}

/// The crates with their floors. ARCHITECTURE.md explains the floors; this table is enforced.
const FLOORS: &[House] = &[
    // Every crate compiles the format, in any environment; so it depends on little.
    House {
        external: Some(&["encoding_rs"]),
        ..house("perfhive-format", "crates/format", Floor::Number(0))
    },
    // Tests and examples of queries use recordings, which stand on a higher floor.
    House {
        tests: &["perfhive-recording"],
        ..house("perfhive-engine", "crates/engine", Floor::Number(1))
    },
    house("perfhive-contract", "crates/contract", Floor::Number(2)),
    house("perfhive-registry", "crates/registry", Floor::Number(2)),
    house("perfhive-recording", "crates/recording", Floor::Number(2)),
    house("perfhive-experiment", "crates/experiment", Floor::Number(2)),
    house("perfhive-libraries", "crates/libraries", Floor::Number(3)),
    house("perfhive-linux", "crates/linux", Floor::Number(3)),
    house("perfhive-windows", "crates/windows", Floor::Number(3)),
    house("perfhive-remote", "crates/remote", Floor::Number(3)),
    house("perfhive-shm", "crates/shm", Floor::Number(3)),
    house("perfhive", "crates/perfhive", Floor::Number(4)),
    // Headless presentation, a sibling of the facade: it imports the engine, so
    // that every face can use it whatever opened the source.
    House {
        only: Some(&["perfhive-format", "perfhive-engine"]),
        // Its example reads this machine.
        tests: &["perfhive-linux"],
        ..house("perfhive-view", "crates/view", Floor::Number(4))
    },
    // The command is the first user of the public API: what it cannot do
    // through the facade, no program can.
    House {
        only: Some(&["perfhive", "perfhive-view"]),
        ..house("perfhive-cli", "crates/cli", Floor::Number(5))
    },
    house("perfhive-serve", "crates/serve", Floor::Number(5)),
    House { only: Some(&["perfhive"]), ..house("perfhive-jni", "crates/jni", Floor::Number(5)) },
    House {
        only: Some(&["perfhive-format", "perfhive-engine", "perfhive-recording"]),
        ..house("perfhive-testkit", "crates/testkit", Floor::Testkit)
    },
    House { only: Some(&[]), ..house("xtask", "xtask", Floor::Tool) },
];

/// Whether a finding makes the check fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
}

/// One complaint, with the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    level: Level,
    file: String,
    line: usize,
    what: String,
    way_out: String,
}

impl Finding {
    fn error(file: &str, line: usize, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        let (what, way_out) = (what.into(), way_out.into());
        Finding { level: Level::Error, file: file.to_owned(), line, what, way_out }
    }

    fn warning(self) -> Self {
        Finding { level: Level::Warning, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.level == Level::Warning { "warning: " } else { "" };
        write!(f, "{}:{}: {level}{}; {}", self.file, self.line, self.what, self.way_out)
    }
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        bail!("tidy takes no arguments, but there is `{arg}`");
    }
    let (findings, files) = check()?;
    for finding in &findings {
        say!("{finding}");
    }
    let warnings = findings.iter().filter(|f| f.level == Level::Warning).count();
    let errors = findings.len() - warnings;
    say!("tidy: {files} files, {errors} errors, {warnings} warnings");
    if errors > 0 {
        bail!("the workspace is not tidy");
    }
    Ok(())
}

/// Every finding in the workspace, and the number of files that were checked.
fn check() -> Result<(Vec<Finding>, usize)> {
    let root = workspace::root()?;
    let paths = workspace::files()?;
    let tracked: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let mut findings = Vec::new();

    let packages = Package::read_all(&workspace::metadata()?, &root)?;
    findings.extend(edges::check(FLOORS, &packages));
    findings.extend(files::required(&tracked));
    for path in &paths {
        let bytes = std::fs::read(root.join(path))?;
        findings.extend(files::size(path, bytes.len()));
        if path == files::CI_SCRIPT {
            findings.extend(files::executable(&root.join(path))?);
        }
        let Some(text) = files::as_text(&bytes) else {
            continue;
        };
        findings.extend(source::developer_paths(path, text));
        if path.ends_with(".rs") {
            findings.extend(source::unfinished(path, text));
            findings.extend(source::blanket_allows(path, text));
            findings.extend(source::length(path, text));
            findings.extend(wine::unlisted(path, text, crate::test::wine::runs));
        }
        if path.ends_with(".md") {
            findings.extend(links::check(path, text, &tracked));
        }
        if path == source::FORMAT_LIB {
            findings.extend(source::format_attributes(path, text));
        }
    }
    findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok((findings, paths.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_where_what_and_the_way_out() {
        let finding = Finding::error("a/b.rs", 3, "this is wrong", "do that");
        assert_eq!(finding.to_string(), "a/b.rs:3: this is wrong; do that");
        assert_eq!(finding.warning().to_string(), "a/b.rs:3: warning: this is wrong; do that");
    }

    #[test]
    fn no_crate_is_listed_twice() {
        let names: BTreeSet<_> = FLOORS.iter().map(|house| house.name).collect();
        let folders: BTreeSet<_> = FLOORS.iter().map(|house| house.folder).collect();
        assert_eq!((names.len(), folders.len()), (FLOORS.len(), FLOORS.len()));
    }
}
