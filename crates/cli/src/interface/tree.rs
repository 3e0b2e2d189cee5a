//! The tree of everything that a source has, and the list in which the user chooses counters from it.

use std::collections::HashSet;

/// The objects of a source, or of several sources, with their counters.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) objects: Vec<TreeObject>,
}

/// An object of the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeObject {
    /// The number and the label of the source; `None` for objects of the only source, and for objects with paths that
    /// all sources are asked for.
    pub(crate) source: Option<(usize, String)>,
    /// The name of the object in the shown language.
    pub(crate) name: String,
    /// The texts that a search looks in, in lower case, one a line: the names of the object in every language of the
    /// source (of the first source that has it, if `source` is `None`), and the label in `source`.
    pub(crate) search: String,
    pub(crate) help: String,
    pub(crate) is_costly: bool,
    pub(crate) has_instances: bool,
    pub(crate) counters: Vec<TreeCounter>,
}

/// A counter of an object of the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeCounter {
    pub(crate) name: String,
    pub(crate) search: String,
    pub(crate) help: String,
    /// The lines that explain the counter: its type, formula, unit and scale.
    pub(crate) facts: Vec<String>,
    /// Whether the counter has a value only in samples for which it is asked for.
    pub(crate) on_request: bool,
}

impl Tree {
    /// The tree of several sources, from their numbers, labels and trees. First come objects for all sources together,
    /// one for each name that any source has, then the objects of each source.
    pub(crate) fn of_several<'a>(all: impl Iterator<Item = (usize, &'a str, &'a Self)>) -> Self {
        let mut objects: Vec<TreeObject> = Vec::new();
        let mut own = Vec::new();
        for (source, name, tree) in all {
            for object in &tree.objects {
                let search = format!("{}\n{}", object.search, name.to_lowercase());
                let source = Some((source, name.to_string()));
                own.push(TreeObject { source, search, ..object.clone() });
                match objects.iter_mut().find(|known| known.name == object.name) {
                    None => objects.push(object.clone()),
                    Some(known) => {
                        known.is_costly |= object.is_costly;
                        for counter in &object.counters {
                            if !known.counters.iter().any(|one| one.name == counter.name) {
                                known.counters.push(counter.clone());
                            }
                        }
                    }
                }
            }
        }
        objects.sort_by_key(|object| object.name.to_lowercase());
        objects.extend(own);
        Self { objects }
    }

    /// The lines that explain an object or one of its counters, given by names in the shown language; `None` if the
    /// tree has no such object or counter.
    pub(crate) fn explain(&self, object: &str, counter: Option<&str>) -> Option<Vec<String>> {
        let object = self.objects.iter().find(|known| known.name == object)?;
        let counter = match counter {
            Some(name) => Some(object.counters.iter().find(|known| known.name == name)?),
            None => None,
        };
        let help = counter.map_or(&object.help, |counter| &counter.help);
        let none = "The source has no help text for it.";
        let help = if help.is_empty() { none } else { help };
        let mut lines: Vec<String> = help.lines().map(str::to_string).collect();
        lines.push(String::new());
        lines.extend(counter.iter().flat_map(|counter| counter.facts.clone()));
        if counter.is_some_and(|counter| counter.on_request) {
            lines.push("Collected on request, because it costs extra".to_string());
        }
        if object.is_costly {
            lines.push(format!("{} is a costly object: collected only on request", object.name));
        }
        Some(lines)
    }
}

/// The state of the list in which a counter is chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chooser {
    pub(crate) search: String,
    pub(crate) selected: usize,
    /// The places in the tree of the objects that are open, so that the list has their counters.
    pub(crate) open: HashSet<usize>,
    /// The counter for which an instance is being chosen: the places of its object and of the counter, and the
    /// instances; these are `None` until the source has answered.
    pub(crate) instances: Option<(usize, usize, Option<Vec<String>>)>,
}

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Object(usize),
    Counter(usize, usize),
    /// The instance with this place among those listed; `None` for all instances.
    Instance(Option<usize>),
}

/// The number of lines at which a search stops; more letters narrow it.
const MOST_FOUND: usize = 500;

impl TreeObject {
    /// The name as the list shows it: behind the source's label (`\\label\name`) if the object is of one
    /// of several sources.
    pub(crate) fn shown(&self) -> String {
        match &self.source {
            Some((_, source)) => format!(r"\\{source}\{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Chooser {
    /// The lines of the list. Without a search they are the objects, each open one followed by its counters. A
    /// search lists the objects with every word of it in their names, in any language, and the counters with every
    /// word in their own names or those of their objects. If only the object's names have the words, a counter is
    /// listed only if the object is open. The search stops once it has [`MOST_FOUND`] lines. While an instance is
    /// chosen, the lines are all instances as one, and the instances with every word in their names.
    pub(crate) fn choices(&self, tree: &Tree) -> Vec<Choice> {
        let search = self.search.to_lowercase();
        // A path is searched by its parts.
        let words = search.split(|c: char| c.is_whitespace() || c == '\\');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let mut choices = Vec::new();
        if let Some((_, _, instances)) = &self.instances {
            choices.push(Choice::Instance(None));
            let all = instances.iter().flatten().enumerate();
            let found = all.filter(|(_, name)| {
                let name = name.to_lowercase();
                words.iter().all(|word| name.contains(word))
            });
            choices.extend(found.map(|(place, _)| Choice::Instance(Some(place))));
            return choices;
        }
        for (place, object) in tree.objects.iter().enumerate() {
            if words.is_empty() {
                choices.push(Choice::Object(place));
                if self.open.contains(&place) {
                    let counters = 0..object.counters.len();
                    choices.extend(counters.map(|counter| Choice::Counter(place, counter)));
                }
                continue;
            }
            if words.iter().all(|word| object.search.contains(word)) {
                choices.push(Choice::Object(place));
            }
            for (number, counter) in object.counters.iter().enumerate() {
                let is_found =
                    |word: &&str| counter.search.contains(*word) || object.search.contains(*word);
                // If only the object has the words, its counters are listed only where the object is open.
                let own = words.iter().any(|word| counter.search.contains(word));
                if (own || self.open.contains(&place)) && words.iter().all(is_found) {
                    choices.push(Choice::Counter(place, number));
                }
            }
            if choices.len() >= MOST_FOUND {
                break;
            }
        }
        choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let counter = |name: &str, search: &str| TreeCounter {
            name: name.into(),
            search: search.into(),
            ..TreeCounter::default()
        };
        let object = |name: &str, search: &str, counters| TreeObject {
            name: name.into(),
            search: search.into(),
            counters,
            ..TreeObject::default()
        };
        Tree {
            objects: vec![
                object(
                    "Memory",
                    "memory speicher",
                    vec![counter("Pages/sec", "pages/sec seiten/s")],
                ),
                object(
                    "Process",
                    "process prozess",
                    vec![
                        counter("Working Set", "working set arbeitsseiten"),
                        counter("% User Time", "% user time benutzerzeit"),
                    ],
                ),
            ],
        }
    }

    #[test]
    fn words_of_any_language_find_counters_by_object_and_name() {
        let found =
            |search: &str| Chooser { search: search.into(), ..Chooser::default() }.choices(&tree());
        assert_eq!(found(""), [Choice::Object(0), Choice::Object(1)]);
        assert_eq!(found("proc work"), [Choice::Counter(1, 0)]);
        assert_eq!(found("Arbeitsseiten"), [Choice::Counter(1, 0)]);
        assert_eq!(found(r"\memory\page"), [Choice::Counter(0, 0)]);
        assert_eq!(found("speicher"), [Choice::Object(0)]);
        assert_eq!(found("xyzzy"), []);
        let open = Chooser { open: [1].into(), ..Chooser::default() };
        assert_eq!(open.choices(&tree()).len(), 4);
    }
}
