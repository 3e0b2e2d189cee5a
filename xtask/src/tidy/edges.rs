//! Checks the imports between crates, from `cargo metadata`, against the table of floors.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Finding, Floor, House};

/// The kind of a dependency, by the section of the manifest in which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Build,
    Dev,
}

/// One dependency of a crate.
#[derive(Clone, Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether the dependency is given by a path and so belongs to this workspace; others come from a registry.
    pub(super) local: bool,
}

/// A crate of the workspace, as far as the checks need it.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) name: String,
    /// The path of the crate's Cargo.toml, relative to the workspace root, with `/` between its
    /// parts.
    pub(super) manifest: String,
    pub(super) manifest_text: String,
    pub(super) dependencies: Vec<Dependency>,
}

impl Package {
    /// The packages in the output of `cargo metadata`.
    pub(super) fn read_all(metadata: &Value, root: &Path) -> Result<Vec<Package>> {
        let packages = metadata["packages"].as_array().context("no packages in metadata")?;
        packages.iter().map(|package| Package::read(package, root)).collect()
    }

    fn read(package: &Value, root: &Path) -> Result<Package> {
        let text = |value: &Value| value.as_str().map(str::to_owned).context("bad metadata");
        let path = text(&package["manifest_path"])?;
        let relative = Path::new(&path).strip_prefix(root).unwrap_or(Path::new(&path));
        let manifest = relative.to_string_lossy().replace('\\', "/");
        let manifest_text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {manifest}"))?;
        let mut dependencies = Vec::new();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            dependencies.push(Dependency {
                name: text(&dependency["name"])?,
                kind: match dependency["kind"].as_str() {
                    Some("dev") => Kind::Dev,
                    Some("build") => Kind::Build,
                    _ => Kind::Normal,
                },
                local: dependency["path"].is_string(),
            });
        }
        Ok(Package { name: text(&package["name"])?, manifest, manifest_text, dependencies })
    }

    /// The number of the manifest's first line that begins with this word; 1 if there is none.
    fn line_of(&self, word: &str) -> usize {
        let begins = |line: &str| {
            let rest = line.trim_start().trim_start_matches('"').strip_prefix(word);
            rest.is_some_and(|rest| rest.starts_with([' ', '=', '.', '"']))
        };
        self.manifest_text.lines().position(begins).map_or(1, |index| index + 1)
    }
}

/// Checks every crate of the workspace.
pub(super) fn check(floors: &[House], packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some(house) = floors.iter().find(|house| house.name == package.name) else {
            findings.push(Finding::error(
                &package.manifest,
                package.line_of("name"),
                format!("the crate {} stands on no floor", package.name),
                "add it to FLOORS in xtask/src/tidy.rs, and to ARCHITECTURE.md",
            ));
            continue;
        };
        if package.manifest != format!("{}/Cargo.toml", house.folder) {
            findings.push(Finding::error(
                &package.manifest,
                package.line_of("name"),
                format!("{} is not in its folder", package.name),
                format!("move it to {}", house.folder),
            ));
        }
        if !has_workspace_lints(&package.manifest_text) {
            findings.push(Finding::error(
                &package.manifest,
                1,
                "the crate does not use the lints of the workspace",
                "add `[lints]` with `workspace = true`",
            ));
        }
        for dependency in &package.dependencies {
            if let Err((what, way_out)) = allowed(floors, house, dependency) {
                let line = package.line_of(&dependency.name);
                findings.push(Finding::error(&package.manifest, line, what, way_out));
            }
        }
    }
    findings
}

/// Whether a crate may have a dependency; the error is the complaint and the way out.
fn allowed(floors: &[House], house: &House, to: &Dependency) -> Result<(), (String, String)> {
    let Some(target) = floors.iter().find(|house| house.name == to.name) else {
        if to.local {
            return Err((
                format!("{} uses {}, which stands on no floor", house.name, to.name),
                "add it to FLOORS in xtask/src/tidy.rs".to_owned(),
            ));
        }
        return match house.external {
            Some(list) if to.kind != Kind::Dev && !list.contains(&to.name.as_str()) => Err((
                format!("{} uses {} from outside", house.name, to.name),
                format!("of crates from outside it may use only {}", list.join(", ")),
            )),
            _ => Ok(()),
        };
    };
    if target.floor == Floor::Testkit && to.kind == Kind::Dev && house.floor != Floor::Tool {
        return Ok(());
    }
    // A crate may name itself for its tests, to choose its features.
    if to.kind == Kind::Dev && (target.name == house.name || house.tests.contains(&target.name)) {
        return Ok(());
    }
    if let Some(only) = house.only {
        return if only.contains(&target.name) {
            Ok(())
        } else {
            let may = if only.is_empty() { "none".to_owned() } else { only.join(", ") };
            Err((
                format!("{} uses {}", house.name, target.name),
                format!("of the workspace's crates it may use only: {may}"),
            ))
        };
    }
    match (house.floor, target.floor) {
        (Floor::Number(from), Floor::Number(to)) if to < from => Ok(()),
        (Floor::Number(from), Floor::Number(to)) => Err((
            format!("{} (floor {from}) uses {} (floor {to})", house.name, target.name),
            "a crate imports only from floors below its own: move the shared part down".to_owned(),
        )),
        (_, Floor::Testkit) => Err((
            format!("{} uses {} outside tests", house.name, target.name),
            "put it under [dev-dependencies]".to_owned(),
        )),
        _ => Err((
            format!("{} uses {}", house.name, target.name),
            "nothing may use a tool: move the shared part into a crate of its own".to_owned(),
        )),
    }
}

/// Whether a manifest uses the workspace's lints, by `workspace = true` under `[lints]` or by
/// `lints.workspace = true` at its beginning.
fn has_workspace_lints(manifest: &str) -> bool {
    let mut section = "";
    manifest.lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('[') {
            section = line;
        }
        let plain: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        match section {
            "[lints]" => plain == "workspace=true",
            "" => plain == "lints.workspace=true",
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::FLOORS;
    use super::*;

    /// The dependencies of a crate in short: name, kind, and whether it is of the workspace.
    type Uses<'a> = &'a [(&'a str, Kind, bool)];

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn package(name: &str, dependencies: Uses<'_>) -> Package {
        let folder = FLOORS.iter().find(|h| h.name == name).map_or("crates/x", |h| h.folder);
        let mut text = format!("[package]\nname = \"{name}\"\n{LINTS}[dependencies]\n");
        for (name, ..) in dependencies {
            text += &format!("{name}.workspace = true\n");
        }
        Package {
            name: name.to_owned(),
            manifest: format!("{folder}/Cargo.toml"),
            manifest_text: text,
            dependencies: dependencies
                .iter()
                .map(|&(name, kind, local)| Dependency { name: name.to_owned(), kind, local })
                .collect(),
        }
    }

    fn findings(name: &str, dependencies: Uses<'_>) -> Vec<String> {
        check(FLOORS, &[package(name, dependencies)]).iter().map(Finding::to_string).collect()
    }

    #[track_caller]
    fn complains(name: &str, to: &str, kind: Kind, local: bool, about: &str) {
        let findings = findings(name, &[(to, kind, local)]);
        assert_eq!(findings.len(), 1, "{name} -> {to}: {findings:?}");
        assert!(findings[0].contains(about), "{findings:?}");
        assert!(findings[0].contains("Cargo.toml:6: "), "the line of the edge: {findings:?}");
    }

    #[test]
    fn imports_of_lower_floors_are_allowed() {
        use Kind::{Build, Dev, Normal};
        let houses: &[(&str, Uses<'_>)] = &[
            ("perfhive-format", &[("encoding_rs", Normal, false), ("proptest", Dev, false)]),
            ("perfhive-format", &[("perfhive-testkit", Dev, true)]),
            ("perfhive-engine", &[("perfhive-format", Normal, true), ("loom", Normal, false)]),
            ("perfhive-linux", &[("perfhive-engine", Build, true)]),
            ("perfhive", &[("perfhive-linux", Normal, true), ("perfhive-testkit", Dev, true)]),
            ("perfhive-cli", &[("perfhive", Normal, true), ("perfhive-testkit", Dev, true)]),
            ("perfhive-jni", &[("perfhive", Normal, true)]),
            ("perfhive-serve", &[("perfhive", Normal, true), ("perfhive-engine", Normal, true)]),
            ("perfhive-testkit", &[("perfhive-engine", Normal, true)]),
            ("xtask", &[("anyhow", Normal, false)]),
        ];
        for (name, dependencies) in houses {
            assert_eq!(findings(name, dependencies), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn a_floor_above_is_refused() {
        complains("perfhive-format", "perfhive-engine", Kind::Normal, true, "(floor 1)");
        complains("perfhive-engine", "perfhive-linux", Kind::Build, true, "(floor 3)");
        complains("perfhive-linux", "perfhive", Kind::Dev, true, "(floor 4)");
    }

    #[test]
    fn siblings_are_refused() {
        complains("perfhive-linux", "perfhive-remote", Kind::Normal, true, "floors below");
        complains("perfhive-serve", "perfhive-jni", Kind::Dev, true, "floors below");
    }

    #[test]
    fn the_command_uses_the_facade_only() {
        complains(
            "perfhive-cli",
            "perfhive-engine",
            Kind::Normal,
            true,
            "only: perfhive, perfhive-view",
        );
        complains(
            "perfhive-cli",
            "perfhive-format",
            Kind::Dev,
            true,
            "only: perfhive, perfhive-view",
        );
    }

    #[test]
    fn the_testkit_is_for_tests() {
        complains("perfhive-engine", "perfhive-testkit", Kind::Normal, true, "dev-dependencies");
        complains("perfhive-engine", "perfhive-testkit", Kind::Build, true, "dev-dependencies");
        complains("perfhive-testkit", "perfhive-linux", Kind::Normal, true, "perfhive-engine");
    }

    #[test]
    fn tools_stand_alone() {
        complains("xtask", "perfhive-format", Kind::Normal, true, "only: none");
        complains("xtask", "perfhive-testkit", Kind::Dev, true, "only: none");
        complains("perfhive", "xtask", Kind::Normal, true, "nothing may use a tool");
    }

    #[test]
    fn the_format_takes_little_from_outside() {
        complains("perfhive-format", "serde", Kind::Normal, false, "encoding_rs");
        complains("perfhive-format", "cc", Kind::Build, false, "encoding_rs");
    }

    #[test]
    fn unknown_crates_are_errors() {
        let unknown = findings("perfhive-new", &[]);
        assert!(unknown.iter().any(|f| f.contains("stands on no floor")), "{unknown:?}");
        complains("perfhive", "perfhive-new", Kind::Normal, true, "stands on no floor");
    }

    #[test]
    fn a_crate_in_another_folder_is_an_error() {
        let mut moved = package("perfhive-remote", &[]);
        moved.manifest = "crates/log-files/Cargo.toml".to_owned();
        let findings = check(FLOORS, &[moved]);
        assert!(findings.iter().any(|f| f.way_out.contains("crates/remote")), "{findings:?}");
    }

    #[test]
    fn lints_are_required() {
        assert!(has_workspace_lints("[package]\n[lints]\nworkspace=true # all\n"));
        assert!(has_workspace_lints("lints.workspace = true\n[package]\n"));
        assert!(!has_workspace_lints("[package]\nversion.workspace = true\n"));
        assert!(!has_workspace_lints("[dependencies]\nworkspace = true\n[lints]\n"));
        assert!(!has_workspace_lints("[lints]\n# workspace = true\n"));
        let mut bare = package("perfhive-remote", &[]);
        bare.manifest_text = bare.manifest_text.replace(LINTS, "");
        assert!(check(FLOORS, &[bare])[0].way_out.contains("workspace = true"));
    }

    #[test]
    fn metadata_is_read() -> Result<()> {
        let folder = crate::workspace::root()?;
        let manifest = folder.join("xtask/Cargo.toml");
        let metadata = serde_json::json!({"packages": [{
            "name": "xtask",
            "manifest_path": manifest.to_string_lossy(),
            "dependencies": [
                {"name": "anyhow", "kind": null},
                {"name": "cc", "kind": "build"},
                {"name": "perfhive", "kind": "dev", "path": "anywhere"},
            ],
        }]});
        let packages = Package::read_all(&metadata, &folder)?;
        assert_eq!(packages[0].manifest, "xtask/Cargo.toml");
        let kinds: Vec<_> =
            packages[0].dependencies.iter().map(|d| (d.name.as_str(), d.kind, d.local)).collect();
        assert_eq!(
            kinds,
            [
                ("anyhow", Kind::Normal, false),
                ("cc", Kind::Build, false),
                ("perfhive", Kind::Dev, true)
            ]
        );
        assert!(Package::read_all(&serde_json::json!({}), &folder).is_err());
        Ok(())
    }
}
