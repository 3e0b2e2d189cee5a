//! Finding an instance by its name.

use perfhive_engine::{
    InstanceLabel, InstancePattern, InstanceWish, NamePattern, OrderNumber, same_name,
};
use perfhive_format::TitleIndex;

/// The result of a search for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstanceMatch {
    Nothing,
    One(usize),
    /// Several instances match, and none of them matches exactly.
    Several,
}

/// Wishes that select the instances that [`find`] may choose for `text`. An empty list means all
/// instances: `text` is empty, it may mean any of them, it has a parent or a character that paths
/// and .NET write in different ways, or it names `_Total` or Idle, which are made from all
/// processes.
pub(super) fn wishes(object: TitleIndex, text: &str) -> Vec<InstanceWish> {
    // A text with a parent, or with a character that a path and .NET write in different ways.
    if text.is_empty() || text.contains(['/', '^', '(', ')', '[', ']']) {
        return Vec::new();
    }
    let numbered = text.rsplit_once('#').and_then(|(name, digits)| {
        let order: u32 = digits.parse().ok()?;
        // `01` and `+1` are part of a name.
        (order.to_string() == digits).then_some((name, order))
    });
    let (name, order) = numbered.unwrap_or((text, 0));
    // In a pattern with an order number, `pid:4` is a name, not the ID of a process.
    let order = OrderNumber::Nth(order);
    let pattern = InstancePattern { parent: None, name: NamePattern::literal(name), order };
    InstanceWish::of_pattern(object, &pattern).unwrap_or_default()
}

/// Finds the instance that `text` means: as paths and [`InstanceLabel`] write it (`java#1`,
/// `explorer/0`, carets before special characters), as .NET writes it (without carets), with `#0`
/// for the first of its name, or without the parent if only one instance has the name.
///
/// An exact match precedes one that differs in case. Comparing a label costs time in proportion to
/// `text`, not to the label.
pub(super) fn find(labels: &[InstanceLabel], text: &str) -> InstanceMatch {
    let mut found = InstanceMatch::Nothing;
    // A caret before a special character is what a label prints. Any other caret is part of the
    // name.
    if text.contains('^') {
        let parent = |label: &InstanceLabel| label.parent.as_deref().map_or(0, str::len);
        // The same name in another case may have more bytes.
        let may = |label: &InstanceLabel| parent(label).max(label.name.len()) <= 4 * text.len();
        let prints = |label: &InstanceLabel| may(label) && same_name(&label.to_string(), text);
        found = choose(labels, text, prints);
    }
    let plain = |text: &str| choose(labels, text, |label| is_plainly(label, text));
    if found == InstanceMatch::Nothing {
        found = plain(text);
    }
    if let (InstanceMatch::Nothing, Some(first)) = (found, text.strip_suffix("#0")) {
        found = plain(first);
    }
    if found == InstanceMatch::Nothing {
        let mut bare = (0..).zip(labels).filter(|(_, label)| same_name(&label.name, text));
        found = match (bare.next(), bare.next()) {
            (None, _) => InstanceMatch::Nothing,
            (Some((place, _)), None) => InstanceMatch::One(place),
            _ => InstanceMatch::Several,
        };
    }
    found
}

/// Picks the label for `text` among the labels that match. If several match, it is the label that
/// prints exactly as the text, or else the only label that prints like the text without regard to
/// case.
fn choose(
    labels: &[InstanceLabel],
    text: &str,
    matches: impl Fn(&InstanceLabel) -> bool,
) -> InstanceMatch {
    let places: Vec<(usize, &InstanceLabel)> =
        (0..).zip(labels).filter(|(_, label)| matches(label)).collect();
    match places.as_slice() {
        [] => return InstanceMatch::Nothing,
        [(one, _)] => return InstanceMatch::One(*one),
        _ => {}
    }
    if let Some((exact, _)) = places.iter().find(|(_, label)| label.to_string() == text) {
        return InstanceMatch::One(*exact);
    }
    let mut same = places.iter().filter(|(_, label)| same_name(&label.to_string(), text));
    match (same.next(), same.next()) {
        (Some((one, _)), None) => InstanceMatch::One(*one),
        _ => InstanceMatch::Several,
    }
}

/// Whether a label, written without carets, equals `text` without regard to case.
fn is_plainly(label: &InstanceLabel, text: &str) -> bool {
    let rest = match &label.parent {
        Some(parent) => strip(text, parent).and_then(|rest| rest.strip_prefix('/')),
        None => Some(text),
    };
    let Some(rest) = rest.and_then(|rest| strip(rest, &label.name)) else { return false };
    // An empty name can be written only with its number.
    if label.order > 0 || (label.name.is_empty() && label.parent.is_none()) {
        rest == format!("#{}", label.order)
    } else {
        rest.is_empty()
    }
}

/// Whether `text` may mean an instance with this name: alone or behind any parent, with or without a
/// number.
pub(super) fn may_mean(text: &str, name: &str) -> bool {
    let is_it =
        |text: &str| strip(text, name).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'));
    let mut parents = text.match_indices('/');
    is_it(text) || parents.any(|(at, _)| text.get(at + 1..).is_some_and(is_it))
}

/// The part of `text` behind `start`, which is compared without regard to case; `None` if `text`
/// does not begin with `start`.
fn strip<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    // The case is right in most calls, and comparing bytes is fast.
    if let Some(rest) = text.strip_prefix(start) {
        return Some(rest);
    }
    let mut wanted = start.chars().flat_map(char::to_lowercase).peekable();
    let mut rest = text.chars();
    while wanted.peek().is_some() {
        if !rest.next()?.to_lowercase().all(|c| wanted.next() == Some(c)) {
            return None;
        }
    }
    Some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_an_instance_without_parent_and_number() {
        for text in ["java", "Java#2", "explorer/java", "a/explorer/java#0"] {
            assert!(may_mean(text, "java"), "{text}");
        }
        for text in ["", "javac", "java/0", "jav", "#0", "java\u{e9}"] {
            assert!(!may_mean(text, "java"), "{text}");
        }
        assert!(may_mean("p/b/c", "b/c"));
    }

    fn labels(names: &[(Option<&str>, &str, u32)]) -> Vec<InstanceLabel> {
        let label = |(parent, name, order): &(Option<&str>, &str, u32)| InstanceLabel {
            parent: parent.map(Into::into),
            name: (*name).into(),
            order: *order,
        };
        names.iter().map(label).collect()
    }

    #[test]
    fn instances_are_found_as_paths_and_as_dotnet_write_them() {
        let labels = labels(&[
            (None, "java", 0),
            (None, "java", 1),
            (None, "a#3", 0),
            (None, "b/c", 0),
            (Some("explorer"), "0", 0),
            (Some("explorer"), "0", 2),
            (Some("p"), "only", 0),
            (None, "", 0),
            (None, "(x", 0),
            (None, "İstanbul", 0),
        ]);
        let one = |text: &str, place| {
            assert_eq!(find(&labels, text), InstanceMatch::One(place), "{text}")
        };
        // The printed label finds its instance.
        for (place, label) in labels.iter().enumerate() {
            one(&label.to_string(), place);
            one(&label.to_string().to_uppercase(), place);
        }
        for (text, place) in [
            ("JAVA#1", 1),
            ("java#0", 0),
            ("a#3", 2),
            ("b/c", 3),
            ("Explorer/0#2", 5),
            ("only", 6),
            ("(x", 8),
        ] {
            one(text, place);
        }
        for text in ["java#2", "jav", "javax", "*", "explorer", "explorer/1", "0#2", "#1", "java#"]
        {
            assert_eq!(find(&labels, text), InstanceMatch::Nothing, "{text}");
        }
        // Two instances have this name, under different parents.
        assert_eq!(find(&labels, "0"), InstanceMatch::Several);
    }

    #[test]
    fn printed_label_finds_its_instance_among_all() {
        let mut names = vec![String::new()];
        for length in 0..3 {
            let longer = |name: &String| "aA#0/^(".chars().map(|c| format!("{name}{c}")).collect();
            let more: Vec<Vec<String>> =
                names.iter().filter(|name| name.len() == length).map(longer).collect();
            names.extend(more.into_iter().flatten());
        }
        let mut labels = Vec::new();
        for parent in [None, Some("a"), Some("a^"), Some("A/0"), Some("(")] {
            for name in &names {
                for order in 0..if name.len() < 3 { 2 } else { 1 } {
                    let parent = parent.map(Into::into);
                    labels.push(InstanceLabel { parent, name: name.as_str().into(), order });
                }
            }
        }
        for (place, label) in labels.iter().enumerate().step_by(7) {
            assert_eq!(
                find(&labels, &label.to_string()),
                InstanceMatch::One(place),
                "{label:?} {label}"
            );
        }
    }

    #[test]
    fn exact_name_precedes_other_spellings() {
        let labels =
            labels(&[(None, "App", 0), (None, "app", 0), (None, "a#1", 0), (None, "a", 1)]);
        assert_eq!(find(&labels, "App"), InstanceMatch::One(0));
        assert_eq!(find(&labels, "app"), InstanceMatch::One(1));
        assert_eq!(find(&labels, "APP"), InstanceMatch::Several);
        // The second instance `a`, not the one with the name `a#1`.
        assert_eq!(find(&labels, "a#1"), InstanceMatch::One(3));
        assert_eq!(find(&labels, "a^#1"), InstanceMatch::One(2));
        assert_eq!(find(&labels, "A#1"), InstanceMatch::One(3));
        assert_eq!(find(&[], "x"), InstanceMatch::Nothing);
    }
}
