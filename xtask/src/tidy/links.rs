//! Checks that the targets of relative links in Markdown are in the repository.
//!
//! Links to the web are not followed: a test must not fail because a server is down.

use std::collections::BTreeSet;

use super::Finding;

/// A finding for each broken link of one Markdown file; `tracked` has all files of the repository.
pub(super) fn check(path: &str, text: &str, tracked: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in targets(text) {
        let Some(resolved) = resolve(path, &target) else {
            continue;
        };
        let folder = format!("{resolved}/");
        let exists = resolved.is_empty()
            || tracked.contains(resolved.as_str())
            || tracked.range(folder.as_str()..).next().is_some_and(|f| f.starts_with(&folder));
        if !exists {
            findings.push(Finding::error(
                path,
                line,
                format!("the link to `{target}` leads nowhere"),
                format!("there is no tracked {resolved}: correct the link or add the file"),
            ));
        }
    }
    findings
}

/// The targets of all links outside code, with their line numbers.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let plain = without_code(line);
                found.extend(line_targets(&plain).into_iter().map(|target| (index + 1, target)));
            }
        }
    }
    found
}

/// The line without `code`, so that links in code are not checked.
fn without_code(line: &str) -> String {
    let mut plain = String::new();
    for (index, part) in line.split('`').enumerate() {
        if index % 2 == 0 {
            plain.push_str(part);
        }
        plain.push(' ');
    }
    plain
}

/// The targets in a line: `[text](target)`, `![](target)`, `[name]: target`, `href="target"`, `src="target"`.
fn line_targets(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, opening) in line.match_indices("](") {
        let rest = line[at + opening.len()..].trim_start();
        let target = match rest.strip_prefix('<') {
            Some(inner) => inner.split('>').next(),
            None => rest.split([')', ' ']).next(),
        };
        found.extend(target.map(str::to_owned));
    }
    let trimmed = line.trim_start();
    if trimmed.starts_with('[')
        && let Some((name, rest)) = trimmed.split_once("]:")
        && !name.contains("](")
    {
        let target = rest.split_whitespace().next();
        found.extend(target.map(|t| t.trim_matches(['<', '>']).to_owned()));
    }
    for attribute in ["href=\"", "src=\""] {
        for (at, _) in line.match_indices(attribute) {
            found.extend(line[at + attribute.len()..].split('"').next().map(str::to_owned));
        }
    }
    found
}

/// The path in the repository that a link leads to; `None` for a link that is not checked, to
/// another site or a place in the same file.
fn resolve(path: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let scheme = target.split('/').next().is_some_and(|first| first.contains(':'));
    if target.is_empty() || scheme || target.starts_with("//") {
        return None;
    }
    let target = target.replace("%20", " ");
    let mut parts: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => path.split('/').collect(),
    };
    parts.pop(); // The file itself; the link is relative to its folder.
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> Vec<String> {
        let tracked =
            BTreeSet::from(["README.md", "docs/a.md", "docs/my pic.svg", "crates/x/y.rs"]);
        check(path, text, &tracked).iter().map(|f| format!("{}: {}", f.line, f.what)).collect()
    }

    #[test]
    fn good_links_pass() {
        let text = "[a](docs/a.md) [b](<docs/my pic.svg>) ![c](docs/my%20pic.svg \"title\")\n\
                    [d](#here) [e](https://example.com/x) <a href=\"crates/\">x</a>\n\
                    [f]: docs/a.md#part\n[g](mailto:a@b) [h](/docs/a.md) [i](.)\n";
        assert_eq!(broken("README.md", text), Vec::<String>::new());
        assert_eq!(
            broken("docs/a.md", "[up](../README.md) [x](../crates/x)"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_kind_of_broken_link_is_found() {
        for text in [
            "see [a](gone.md)",
            "![p](docs/gone.svg)",
            "[a]: gone.md",
            "<img src=\"gone.png\" width=\"3\">",
            "<a href=\"docs/gone\">",
            "[a](gone.md#part)",
            "[ok](docs/a.md) and [a](<gone file>)",
            "[out](../README.md)",
            "[part of a name](doc)",
        ] {
            let found = broken("README.md", &format!("first line\n{text}\n"));
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with("2: "), "{found:?}");
        }
    }

    #[test]
    fn code_holds_no_links() {
        let text = "```\n[a](gone.md)\n```\nand `[a](gone.md)` too\n~~~text\n[b]: gone\n~~~\n";
        assert_eq!(broken("README.md", text), Vec::<String>::new());
        assert_eq!(broken("README.md", "```\n```\n[a](gone.md)").len(), 1);
    }

    #[test]
    fn links_are_relative_to_their_file() {
        assert_eq!(broken("docs/a.md", "[x](README.md)").len(), 1);
    }
}
