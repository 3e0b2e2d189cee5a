//! The stage `package`: what is published can be built by its users.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use super::stages::Result;
use crate::{command, tools, workspace};

/// The oldest version of Rust that builds what is published: `rust-version` in Cargo.toml.
const OLDEST: &str = "1.89.0";

/// The most crates that the library without features may consist of, itself included.
const LEAN: usize = 12;

/// The manifests of programs with workspaces of their own, which no other stage builds.
pub(super) const BENCHES: [&str; 3] =
    ["benches/peers/Cargo.toml", "benches/publish/Cargo.toml", "benches/record/Cargo.toml"];

pub(super) fn package() -> Result {
    let tree = ["tree", "--locked", "-p", "perfhive", "-e", "normal", "--prefix", "none"];
    let tree =
        command::output(command::cargo(&tree).args(["--no-default-features", "--no-dedupe"]))?;
    let tree = String::from_utf8_lossy(&tree);
    let crates: BTreeSet<&str> = tree.lines().collect();
    if crates.len() > LEAN {
        bail!("perfhive without features takes {} crates, at most {LEAN}: {tree}", crates.len());
    }
    let alone = ["clippy", "--locked", "-p", "perfhive", "--lib", "--no-default-features"];
    for features in ["", "objects", "processes", "sharing"] {
        let mut cargo = command::cargo(&alone);
        command::run(cargo.args(["--features", features, "--", "-D", "warnings"]))?;
    }
    let oldest = tools::rustc(OLDEST)?;
    check_published(oldest.as_deref())?;
    for manifest in BENCHES {
        let check = ["check", "--locked", "--manifest-path", manifest];
        command::run(command::cargo(&check).args(["--target-dir", "target/peers"]))?;
    }
    let tried = if oldest.is_some() { "with Rust " } else { "no rustup to try Rust " };
    Ok(Some(format!("{} crates without features; {tried}{OLDEST}", crates.len())))
}

/// Packs the crates that are published, and checks each from its packed files alone, with the oldest
/// compiler where there is one. Cargo's own trial builds the dependencies of each crate anew, which takes
/// three times as long.
fn check_published(compiler: Option<&Path>) -> anyhow::Result<()> {
    let target = workspace::target_directory()?.join("published");
    let sources = target.join("sources");
    if target.exists() {
        // Packed files of an earlier version.
        fs::remove_dir_all(&target).with_context(|| target.display().to_string())?;
    }
    fs::create_dir_all(&sources).with_context(|| sources.display().to_string())?;
    let names = names(&workspace::metadata()?);
    for trial in [&["package"][..], &["publish", "--dry-run"]] {
        let mut cargo = command::cargo(trial);
        cargo.args(["--no-verify", "--locked", "--allow-dirty", "--target-dir"]).arg(&target);
        names.iter().for_each(|(name, _)| {
            cargo.args(["-p", name]);
        });
        command::run(&mut cargo)?;
    }
    let mut manifest =
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[patch.crates-io]\n".to_owned();
    for (name, version) in &names {
        let folder = format!("{name}-{version}");
        let packed = target.join("package").join(format!("{folder}.crate"));
        let mut tar = command::program("tar", &["-xzf"]);
        command::run(tar.arg(packed).arg("-C").arg(&sources))?;
        writeln!(manifest, "{name} = {{ path = \"{folder}\" }}")?;
    }
    fs::write(sources.join("Cargo.toml"), manifest)?;
    fs::copy(workspace::root()?.join("Cargo.lock"), sources.join("Cargo.lock"))?;
    for (name, _) in &names {
        // One by one: together, a crate would have the features that another one asks for.
        let mut cargo = command::cargo(&["check", "-p", name, "--manifest-path"]);
        cargo.arg(sources.join("Cargo.toml")).arg("--target-dir").arg(target.join("built"));
        cargo.envs(compiler.map(|rustc| ("RUSTC", rustc)));
        command::run(cargo.env("CARGO_PROFILE_DEV_DEBUG", "false"))?;
    }
    Ok(())
}

/// The names and versions of the crates of the workspace that are published.
fn names(metadata: &serde_json::Value) -> Vec<(String, String)> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let published = packages.filter(|package| package["publish"].is_null());
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    published.filter_map(|package| text(&package["name"]).zip(text(&package["version"]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_rust_is_that_of_the_manifest() {
        let manifest = include_str!("../../../Cargo.toml");
        let version =
            manifest.split_once("rust-version = \"").unwrap().1.split_once('"').unwrap().0;
        assert_eq!(OLDEST, format!("{version}.0"));
    }
}
