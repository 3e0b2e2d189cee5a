//! Checks that the stage under Wine lists each file of tests for Windows: others would never run.

use super::{FLOORS, Finding};

/// The name of the list of tests that run under Wine, for messages.
const LIST: &str = "PARTS in xtask/src/test/wine.rs";

/// The finding for a file with tests for Windows that no stage runs; `None` for other files. `runs`
/// returns whether the tests of a package, test program and module (with `::` behind it) run under
/// Wine.
pub(super) fn unlisted(
    path: &str,
    text: &str,
    runs: impl Fn(&str, &str, &str) -> bool,
) -> Option<Finding> {
    let (folder, file) = path.split_once("/tests/")?;
    let house = FLOORS.iter().find(|house| house.folder == folder)?;
    let line = text.lines().position(is_for_windows)?;
    let mut modules: Vec<&str> = file.strip_suffix(".rs")?.split('/').collect();
    let program = modules.remove(0);
    modules.retain(|module| !["main", "mod"].contains(module));
    let place: String = modules.iter().map(|module| format!("{module}::")).collect();
    let inner = text.lines().filter_map(|line| {
        let name = line.trim().strip_prefix("mod ")?.strip_suffix(" {")?;
        Some(format!("{place}{name}::"))
    });
    let all: Vec<String> = inner.chain([place.clone()]).collect();
    let is_run = all.iter().any(|module| runs(house.name, program, module));
    (!is_run).then(|| {
        Finding::error(
            path,
            line + 1,
            "tests for Windows that no stage runs",
            format!("add them to {LIST}"),
        )
    })
}

/// Whether a line has a `cfg` condition that holds on Windows, alone or among other systems.
fn is_for_windows(line: &str) -> bool {
    let line = line.trim_start();
    let Some((_, condition)) = line.split_once("cfg").filter(|_| !line.starts_with("//")) else {
        return false;
    };
    let condition = condition.replace("not(windows)", "").replace("\"windows\"", "windows");
    condition.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "windows")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOR_WINDOWS: &str = "//! Doc.\n#![cfg(windows)]\n";

    /// A list of one crate, one test program of another, and the tests of a third with a part of a name.
    fn runs(package: &str, program: &str, module: &str) -> bool {
        match package {
            "perfhive-windows" => true,
            "perfhive" => program == "native",
            "perfhive-cli" => module.contains("windows::"),
            _ => false,
        }
    }

    #[test]
    fn tests_for_windows_that_no_stage_runs_are_found() {
        for path in [
            "crates/perfhive/tests/other.rs",
            "crates/engine/tests/any.rs",
            "crates/cli/tests/cli/other.rs",
            "crates/cli/tests/windows.rs",
        ] {
            let found = unlisted(path, FOR_WINDOWS, runs).map(|finding| finding.line);
            assert_eq!(found, Some(2), "{path}");
        }
        for condition in [
            "#[cfg(windows)]",
            "    if cfg!(windows) {",
            "#![cfg(all(windows, target_pointer_width = \"64\"))]",
            "#[cfg(any(target_os = \"linux\", windows))]",
            "#[cfg(target_os = \"windows\")]",
            "#[cfg_attr(windows, expect(unused_mut))]",
        ] {
            let found = unlisted("crates/engine/tests/any.rs", condition, runs);
            assert!(found.is_some(), "{condition}");
        }
    }

    #[test]
    fn tests_that_are_run_and_those_of_others_pass() {
        for path in [
            "crates/windows/tests/any.rs",
            "crates/perfhive/tests/native.rs",
            "crates/cli/tests/cli/windows.rs",
            "crates/windows/src/lib.rs",
            "xtask/src/tidy/wine.rs",
        ] {
            assert_eq!(unlisted(path, FOR_WINDOWS, runs), None, "{path}");
        }
        let within = format!("{FOR_WINDOWS}mod windows {{\n}}\n");
        assert_eq!(unlisted("crates/cli/tests/native.rs", &within, runs), None);
        for text in ["#![cfg(unix)]", "#[cfg(not(windows))]", "// cfg(windows)", "let windows = 1;"]
        {
            assert_eq!(unlisted("crates/engine/tests/any.rs", text, runs), None, "{text}");
        }
    }
}
