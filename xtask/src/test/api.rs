//! The stage `api`: the listing of every public item for review, `docs/api/CRATE.txt`.
//!
//! A change of the public interface must not slip in beside another change. rustdoc describes a
//! crate as JSON, the crate public-api turns that into lines, and these are compared with the
//! files. Implementations of traits that the compiler makes by itself or by `derive`, or that hold
//! for every type, are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{command, tools, workspace};

/// The folder of the listings.
const LISTINGS: &str = "docs/api";

/// Features of the crate perfhive that need nothing but Rust.
const FEATURES: &str = "perfhive/experiment,perfhive/libraries,perfhive/publish,perfhive/recording,perfhive/registration";

/// Compares the public items of each library that is published with its listing, or writes the
/// listings where `UPDATE` is set, and checks the version numbers. An error also for type names
/// that several of these libraries use. Returns a note for the summary.
pub(super) fn api() -> super::stages::Result {
    let libraries = libraries(&workspace::metadata()?);
    let listed: Vec<(&String, String)> = libraries.iter().zip(list(&libraries)?).collect();
    let same = namesakes(&listed);
    if !same.is_empty() {
        bail!("types of one name in several crates: {}", same.join(", "));
    }
    let folder = workspace::root()?.join(LISTINGS);
    let update = std::env::var_os("UPDATE").is_some();
    let mut differing = Vec::new();
    for (name, now) in &listed {
        let file = folder.join(format!("{name}.txt"));
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        // The order of lines is ignored: it depends on the modules of the standard library.
        let changes = difference(&before, now);
        if changes.is_empty() {
            continue;
        }
        if update {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&file, now).with_context(|| file.display().to_string())?;
            continue;
        }
        say!("{name}:");
        changes.iter().for_each(|line| say!("{line}"));
        differing.push(name.as_str());
    }
    if !differing.is_empty() {
        bail!(
            "other public items than in {LISTINGS}: {}; `UPDATE=1 cargo xtask test --only api` \
             writes the listings, which belong to the change",
            differing.join(", ")
        );
    }
    semver(&libraries)
}

/// The names of the workspace's libraries that are published.
fn libraries(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let is_library = |package: &&Value| {
        let mut targets = package["targets"].as_array().into_iter().flatten();
        package["publish"].is_null()
            && targets
                .any(|target| target["kind"].as_array().is_some_and(|k| k.contains(&"lib".into())))
    };
    let names = packages.filter(is_library).filter_map(|package| package["name"].as_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names
}

/// The listing of each library: its public items, one a line.
fn list(libraries: &[String]) -> Result<Vec<String>> {
    tools::nightly_components(&[])?;
    let target = workspace::target_directory()?.join("api");
    let mut cargo = command::nightly_cargo(&["doc", "--locked", "--no-deps", "--lib"]);
    cargo.args(["--features", FEATURES, "--target-dir"]).arg(&target);
    // Documentation runs no code, but build scripts compile C.
    cargo.args(["--config", "profile.dev.package.zstd-sys.opt-level=0"]);
    libraries.iter().for_each(|name| {
        cargo.args(["-p", name]);
    });
    cargo.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    command::run(&mut cargo)?;
    let file = |name: &String| target.join("doc").join(name.replace('-', "_") + ".json");
    libraries.iter().map(|name| lines(&file(name))).collect()
}

/// The public items in a JSON file of rustdoc, one a line.
fn lines(json: &Path) -> Result<String> {
    let items = public_api::Builder::from_rustdoc_json(json)
        .sorted(true)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| {
            let nightly = command::nightly();
            format!(
                "{}: what the toolchain {nightly} writes cannot be read; PERFHIVE_NIGHTLY chooses \
                 another, such as nightly-2026-05-19",
                json.display()
            )
        })?;
    Ok(items.items().map(|item| own_paths(&item.to_string()) + "\n").collect())
}

/// The line with items of the standard library named without their modules, since the modules differ
/// between toolchains.
fn own_paths(line: &str) -> String {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut out = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let (path, behind) = rest.split_at(end);
        let is_std = ["alloc::", "core::", "std::"].iter().any(|own| path.starts_with(own));
        out.push_str(path.rsplit("::").next().filter(|_| is_std).unwrap_or(path));
        rest = behind;
    }
    out
}

/// Type names that several crates use, each with these crates: a reader could take the documentation
/// of one for that of the other.
fn namesakes(listed: &[(&String, String)]) -> Vec<String> {
    let mut crates: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, lines) in listed {
        for line in lines.lines() {
            let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
            let kinds = ["pub struct ", "pub enum ", "pub union ", "pub trait ", "pub type "];
            let Some(path) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else {
                continue;
            };
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let path = path.split(|c| !is_path(c)).next().unwrap_or_default();
            let mut names = path.trim_end_matches(':').rsplit("::");
            let own = names.next().unwrap_or_default();
            // An associated type is named with the type or trait that it belongs to.
            if names.next().is_some_and(|of| of.starts_with(char::is_uppercase)) {
                continue;
            }
            crates.entry(own).or_default().insert(name);
        }
    }
    let several = crates.into_iter().filter(|(_, crates)| crates.len() > 1);
    several
        .map(|(name, crates)| format!("{name} ({})", Vec::from_iter(crates).join(", ")))
        .collect()
}

/// The lines that only `before` has, with `-`, and then those that only `now` has, with `+`.
fn difference(before: &str, now: &str) -> Vec<String> {
    let not_in = |other: &str, mark: char, text: &str| -> Vec<String> {
        let known: std::collections::HashSet<&str> = other.lines().collect();
        let lines = text.lines().filter(|line| !known.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect()
    };
    let mut lines = not_in(now, '-', before);
    lines.extend(not_in(before, '+', now));
    lines
}

/// Checks that the version numbers fit the changes since the last release (semantic versioning).
fn semver(libraries: &[String]) -> super::stages::Result {
    let tags = command::output(&mut command::program(
        "git",
        &["tag", "--list", "v[0-9]*", "--sort=-version:refname", "--merged", "HEAD"],
    ))?;
    let tags = String::from_utf8_lossy(&tags).into_owned();
    let Some(tag) = tags.lines().next() else {
        return Ok(Some("no release to compare versions with".to_owned()));
    };
    tools::cargo_tool("semver-checks")?;
    let mut cargo = command::cargo(&["semver-checks", "--baseline-rev", tag]);
    libraries.iter().for_each(|name| {
        cargo.args(["-p", name]);
    });
    command::run(&mut cargo)?;
    Ok(Some(format!("versions compared with {tag}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_the_standard_library_are_left_out() {
        for (line, shown) in [
            ("pub a::B::c: alloc::sync::Arc<str>", "pub a::B::c: Arc<str>"),
            (
                "pub fn a::b(&core::option::Option<a::C>) -> core::fmt::Result",
                "pub fn a::b(&Option<a::C>) -> Result",
            ),
            ("impl core::fmt::Debug for a::stdlib::D", "impl Debug for a::stdlib::D"),
        ] {
            assert_eq!(own_paths(line), shown);
        }
    }

    #[test]
    fn published_libraries_are_listed() -> Result<()> {
        let metadata = serde_json::json!({"packages": [
            {"name": "b", "publish": null, "targets": [{"kind": ["lib"]}, {"kind": ["test"]}]},
            {"name": "command", "publish": null, "targets": [{"kind": ["bin"]}]},
            {"name": "ours", "publish": [], "targets": [{"kind": ["lib"]}]},
            {"name": "a", "publish": null, "targets": [{"kind": ["bin"]}, {"kind": ["lib"]}]},
        ]});
        assert_eq!(libraries(&metadata), ["a", "b"]);
        let ours = libraries(&workspace::metadata()?);
        assert!(ours.contains(&"perfhive".to_owned()) && !ours.contains(&"xtask".to_owned()));
        Ok(())
    }

    #[test]
    fn types_of_one_name_in_two_crates_are_found() {
        let [a, b] = ["a", "b"].map(str::to_owned);
        let listed = [
            (&a, "pub struct a::Clock\npub struct a::x::Clock<T>\npub fn a::now()\n".to_owned()),
            (&b, "#[non_exhaustive] pub enum b::Kind\npub trait b::Clock: Send\n".to_owned()),
            (&a, "pub type a::Kind = u8\npub type a::Clock::Error = u8\n".to_owned()),
            (&b, "pub type b::Clock::Error = u16\n".to_owned()),
        ];
        assert_eq!(namesakes(&listed), ["Clock (a, b)", "Kind (a, b)"]);
        assert!(namesakes(&listed[..1]).is_empty());
    }

    #[test]
    fn lines_that_are_gone_come_before_new_ones() {
        let lines =
            difference("pub fn a()\npub fn b(u8)\n", "pub fn a()\npub fn b(u16)\npub fn c()\n");
        assert_eq!(lines, ["- pub fn b(u8)", "+ pub fn b(u16)", "+ pub fn c()"]);
        assert!(difference("x\n", "x\n").is_empty());
    }
}
