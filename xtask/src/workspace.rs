//! Finds the workspace's folder, the files that git knows, the build folder, and the real data.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command;

/// The folder of the workspace's Cargo.toml.
///
/// The folder is looked up when xtask runs and not compiled in: the checkout may have moved
/// since, and a path of the building machine belongs in no binary.
pub(crate) fn root() -> Result<PathBuf> {
    let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(manifest) => PathBuf::from(manifest),
        None => std::env::current_dir().context("the current folder is gone")?,
    };
    start
        .ancestors()
        .find(|folder| folder.join("xtask/src/workspace.rs").is_file())
        .map(Path::to_path_buf)
        .context("this is not inside perfhive's workspace: run `cargo xtask` there")
}

/// The path relative to the workspace root where it lies below it, for messages; any other text unchanged.
pub(crate) fn relative(text: &str) -> String {
    let stripped = root().ok().and_then(|root| {
        Path::new(text).strip_prefix(root).ok().map(|path| path.to_string_lossy().into_owned())
    });
    match stripped {
        Some(path) if path.is_empty() => ".".to_owned(),
        Some(path) => path,
        None => text.to_owned(),
    }
}

/// The output of `cargo metadata` on the crates of the workspace.
pub(crate) fn metadata() -> Result<Value> {
    let mut cargo = command::cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let json = command::output(&mut cargo)?;
    serde_json::from_slice(&json).context("`cargo metadata` did not print JSON")
}

/// The folder into which cargo builds.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = metadata()?;
    let path = metadata["target_directory"].as_str().context("no target_directory in metadata")?;
    Ok(PathBuf::from(path))
}

/// Builds the `perfhive` command with optimisation; returns its path.
pub(crate) fn release_binary() -> Result<PathBuf> {
    command::run(&mut command::cargo(&["build", "--release", "--locked", "-p", "perfhive-cli"]))?;
    let name = format!("perfhive{}", std::env::consts::EXE_SUFFIX);
    let path = target_directory()?.join("release").join(name);
    if !path.is_file() {
        bail!("the build made no {}", relative(&path.to_string_lossy()));
    }
    Ok(path)
}

/// The path of every file that git tracks or would track after `git add .`, relative to the
/// root with `/` between the parts, sorted. New files are included so that
/// tidy complains before the commit.
pub(crate) fn files() -> Result<Vec<String>> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let list = command::output(&mut command::program("git", &args))?;
    let root = root()?;
    let mut files: Vec<String> = String::from_utf8_lossy(&list)
        .split('\0')
        .filter(|path| !path.is_empty() && root.join(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The folder of real Windows data; `None` if this machine has none.
pub(crate) fn real_data() -> Option<PathBuf> {
    let folder = match std::env::var_os("PERFHIVE_REAL_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => root().ok()?.join("../shared/data"),
    };
    folder.is_dir().then_some(folder)
}

/// One line for people that says whether tests of real data find it.
pub(crate) fn real_data_line() -> String {
    let asked = std::env::var("PERFHIVE_REAL_DATA").ok();
    match (real_data(), asked) {
        (Some(_), Some(folder)) => {
            format!("real data: found where PERFHIVE_REAL_DATA points, {folder}")
        }
        (Some(_), None) => "real data: found in ../shared/data".to_owned(),
        (None, Some(folder)) => format!(
            "real data: NOT found: PERFHIVE_REAL_DATA points to {folder}, which is not a folder; \
             tests of real data check nothing"
        ),
        (None, None) => "real data: NOT found (neither ../shared/data nor PERFHIVE_REAL_DATA); \
             tests of real data check nothing"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found_and_holds_the_workspace() -> Result<()> {
        let manifest = std::fs::read_to_string(root()?.join("Cargo.toml"))?;
        assert!(manifest.contains("[workspace]"));
        Ok(())
    }

    #[test]
    fn messages_do_not_show_the_root() -> Result<()> {
        let root = root()?;
        assert_eq!(relative(&root.join("target/x").to_string_lossy()), "target/x");
        assert_eq!(relative(&root.to_string_lossy()), ".");
        assert_eq!(relative("--flag"), "--flag");
        Ok(())
    }

    #[test]
    fn this_file_is_listed() -> Result<()> {
        assert!(files()?.iter().any(|file| file == "xtask/src/workspace.rs"));
        Ok(())
    }
}
