//! Manifests (`.man`): the counter sets and counters of providers of Windows' version 2.
//!
//! The elements and attributes are those of two schemas in Windows' documentation. The performance
//! counters schema has `counters`, `provider`, `counterSet`, `structs`, `counter` and
//! `counterAttributes`. The instrumentation manifest has `localization`, with the strings that replace
//! `$(string.ID)`. Events and everything else are ignored.

use super::error::{DefinitionError, Warnings, WithWarnings};
use super::ini::MAX_OFFSET;
use super::text;
use super::{ReadOptions, group_texts};
use crate::hive::{MAX_TEXT, fold};
use perfhive_contract::{DeclaredCounter, DeclaredObject, InstanceKind, ProviderDefinition};
use perfhive_format::{CounterType, FileEncoding, LanguageId};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// The most XML nodes that a manifest may have: more than any real one has.
const MAX_NODES: u32 = 1 << 20;

/// The most bytes of all names and descriptions together: more than a hive takes.
const MAX_TEXTS: usize = 16 << 20;
/// The most attributes that an element may have: more than an element of a real manifest has. The XML
/// reader compares each attribute with each other one, which would take hours for millions.
const MAX_ATTRIBUTES: usize = 256;

/// The most times that `xmlns` may stand in a manifest: more often than in a real one. The XML reader
/// copies all namespaces to each element.
const MAX_NAMESPACES: usize = 1000;

/// Reads a manifest file: one definition for each provider.
///
/// # Errors
/// [`DefinitionError`] if the file cannot be read or is invalid.
pub fn read_manifest(
    file: &Path,
    options: &ReadOptions,
) -> Result<WithWarnings<Vec<ProviderDefinition>>, DefinitionError> {
    parse_manifest(file, &text::read(file)?, options.encoding)
}

/// Reads the bytes of a manifest: one definition for each provider. `file` is only named in
/// messages. Without an `encoding` it is recognised.
///
/// # Errors
/// [`DefinitionError`] if the manifest is invalid.
pub fn parse_manifest(
    file: &Path,
    bytes: &[u8],
    encoding: Option<FileEncoding>,
) -> Result<WithWarnings<Vec<ProviderDefinition>>, DefinitionError> {
    let encoding = encoding.or_else(|| declared_encoding(bytes));
    let text = text::decode(file, bytes, encoding, |_| Vec::new())?;
    if text.matches("xmlns").take(MAX_NAMESPACES + 1).count() > MAX_NAMESPACES {
        let message = format!("names more than {MAX_NAMESPACES} namespaces; no manifest does");
        return Err(DefinitionError::new(file, None, message));
    }
    if let Some(at) = crowded_tag(&text) {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let message = format!(
            "an element has more than {MAX_ATTRIBUTES} attributes; no element of a manifest has so many"
        );
        return Err(DefinitionError::new(file, u32::try_from(line).ok(), message));
    }
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&text, options).map_err(|error| {
        DefinitionError::new(file, Some(error.pos().row), format!("is not sound XML: {error}"))
    })?;
    let mut reader = Reader {
        document: &document,
        strings: strings(&document),
        warnings: Warnings::new(file),
        room: MAX_TEXTS,
    };
    let mut definitions = Vec::new();
    let of_counters = |node: &Node<'_, '_>| {
        let parent = node.parent_element();
        named(node, "provider") && parent.is_some_and(|parent| named(&parent, "counters"))
    };
    let mut names = HashSet::new();
    for provider in document.descendants().filter(of_counters) {
        let definition = reader.provider(provider)?;
        if !names.insert(fold(&definition.name)) {
            let message = format!(
                "the provider {} is there already, and would be replaced; name this one otherwise",
                definition.name
            );
            return Err(reader.error(provider, message));
        }
        definitions.push(definition);
    }
    if definitions.is_empty() {
        let message = "has no provider of counters; those stand in \
                       <instrumentation><counters><provider>";
        return Err(DefinitionError::new(file, None, message));
    }
    Ok(WithWarnings { value: definitions, warnings: reader.warnings.finish() })
}

/// The position, in bytes, of the first tag with more than [`MAX_ATTRIBUTES`] attributes. `None`
/// without such a tag, and if a comment, `CDATA` or processing instruction before it is not closed:
/// the XML reader refuses such a file.
fn crowded_tag(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + found;
        let rest = text.get(start..)?;
        let others = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((begin, end)) = others.iter().find(|(begin, _)| rest.starts_with(begin)) {
            at = start + begin.len() + rest.get(begin.len()..)?.find(end)? + end.len();
            continue;
        }
        let (mut quote, mut attributes) = (None, 0);
        let mut length = rest.len();
        for (place, c) in rest.char_indices() {
            match (quote, c) {
                (Some(mark), c) if c == mark => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '=') => attributes += 1,
                (None, '>') => {
                    length = place;
                    break;
                }
                (None, _) => {}
            }
            if attributes > MAX_ATTRIBUTES {
                return Some(start);
            }
        }
        at = start + length;
    }
    None
}

/// The encoding that the XML declaration names; the declaration is read as ASCII. `None` if there is
/// no declaration, or if it names no encoding, an unknown one or UTF-16.
fn declared_encoding(bytes: &[u8]) -> Option<FileEncoding> {
    let head = bytes.get(..bytes.len().min(200))?;
    let head = String::from_utf8_lossy(head);
    let declaration = head.strip_prefix("<?xml")?.split("?>").next()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let mark = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let name = value.get(1..)?.split(mark).next()?;
    // UTF-16 without a byte order mark is recognised by its zeros. This declaration is in
    // single bytes, so that it is wrong if it names UTF-16.
    name.parse().ok().filter(|_| !name.to_lowercase().starts_with("utf-16"))
}

/// Whether a node is an element with this name, in any namespace.
fn named(node: &Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

/// The direct child elements with this name. A search of all descendants at every level would cost
/// too much in a deeply nested file.
fn children<'a>(node: Node<'a, 'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |node| named(node, name))
}

/// The strings of a manifest, by `id`, in each language.
type Strings<'a> = BTreeMap<LanguageId, HashMap<&'a str, &'a str>>;

/// Collects the strings of the `stringTable`s in `localization`. Their language is the `culture` of
/// the `resources` around them, or English without `culture`; an unknown culture is skipped. Of
/// several strings with the same `id` in a language the first counts.
fn strings<'a>(document: &'a Document<'a>) -> Strings<'a> {
    let mut found = Strings::new();
    let of_root = |name| children(document.root_element(), name);
    for resources in of_root("localization").flat_map(|node| children(node, "resources")) {
        let culture = resources.attribute("culture").unwrap_or("en-US");
        let Ok(language) = culture.parse() else { continue };
        let list = found.entry(language).or_default();
        let tables = children(resources, "stringTable");
        for string in tables.flat_map(|node| children(node, "string")) {
            if let (Some(id), Some(value)) = (string.attribute("id"), string.attribute("value")) {
                list.entry(id).or_insert(value);
            }
        }
    }
    found
}

/// A reader of a manifest's providers, with the warnings so far.
struct Reader<'a> {
    document: &'a Document<'a>,
    strings: Strings<'a>,
    warnings: Warnings<'a>,
    /// The number of bytes of texts that may still be added.
    room: usize,
}

/// The texts of a definition by language and offset, while they are collected.
type Texts = BTreeMap<LanguageId, BTreeMap<u32, String>>;

impl<'a> Reader<'a> {
    fn line(&self, node: Node<'_, '_>) -> u32 {
        self.document.text_pos_at(node.range().start).row
    }

    fn error(&self, node: Node<'_, '_>, message: impl Into<String>) -> DefinitionError {
        self.warnings.error(self.line(node), message)
    }

    fn warn(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        // Finding the line reads the whole file, so only a warning that is kept gets a line.
        let line = self.warnings.has_room().then(|| self.line(node));
        self.warnings.add(line, message);
    }

    /// The value of the required attribute `name` of an element; an error if the element does not
    /// have it.
    fn needed(&self, node: Node<'a, 'a>, name: &str) -> Result<&'a str, DefinitionError> {
        node.attribute(name).ok_or_else(|| {
            self.error(node, format!("<{}> has no {name}; add it", node.tag_name().name()))
        })
    }

    /// The number in the attribute `name` of an element; `None` if the element has no such
    /// attribute, an error if the text is no number of the type `T`.
    fn number<T: std::str::FromStr>(
        &self,
        node: Node<'a, 'a>,
        name: &str,
    ) -> Result<Option<T>, DefinitionError> {
        let Some(text) = node.attribute(name) else { return Ok(None) };
        text.trim()
            .parse()
            .map(Some)
            .map_err(|_| self.error(node, format!("{name} is {text:?}; it should be a number")))
    }

    /// Reads a `provider` element with its counter sets. An error if it has no name or no counter
    /// set, or if a counter set is invalid.
    fn provider(&mut self, provider: Node<'a, 'a>) -> Result<ProviderDefinition, DefinitionError> {
        let name = ["providerName", "symbol", "applicationIdentity"]
            .iter()
            .find_map(|name| provider.attribute(*name))
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .ok_or_else(|| self.error(provider, "<provider> has no name; add providerName"))?;
        let mut definition = ProviderDefinition::new(name);
        let (mut names, mut help) = (Texts::new(), Texts::new());
        let mut next = 0;
        for set in provider.children().filter(|node| named(node, "counterSet")) {
            let declared = self.counter_set(set, &mut next, &mut names, &mut help)?;
            definition.objects.push(declared.offset);
            definition.declared.push(declared);
        }
        if definition.objects.is_empty() {
            return Err(self.error(provider, format!("the provider {name} has no counterSet")));
        }
        if !names.contains_key(&LanguageId::ENGLISH) {
            let message = "has no English texts (en-US), the language that readers rely on";
            self.warn(provider, message);
        }
        definition.titles = group_texts(names, help);
        Ok(definition)
    }

    /// Reads a counter set with its counters. `next` is the offset of the next name, and is raised
    /// past the names that are read. The names and descriptions are added to `names` and `help`.
    fn counter_set(
        &mut self,
        set: Node<'a, 'a>,
        next: &mut u32,
        names: &mut Texts,
        help: &mut Texts,
    ) -> Result<DeclaredObject, DefinitionError> {
        let guid = self.needed(set, "guid")?;
        let kind = set.attribute("instances").unwrap_or("single");
        let instances = InstanceKind::NAMES.iter().find(|(name, _)| *name == kind);
        let (_, instances) = instances.ok_or_else(|| {
            let names: Vec<&str> = InstanceKind::NAMES.iter().map(|(name, _)| *name).collect();
            self.error(set, format!("instances is {kind:?}; it is one of {}", names.join(", ")))
        })?;
        let offset = self.allot(set, next)?;
        if !self.texts(set, offset, names, help)? {
            return Err(self.error(set, "<counterSet> has no name; add it"));
        }
        let mut object = DeclaredObject::new(offset, guid, *instances);
        let structs: Vec<&str> = children(set, "structs")
            .flat_map(|node| children(node, "struct"))
            .filter_map(|node| node.attribute("type").or_else(|| node.attribute("name")))
            .collect();
        let mut ids = HashSet::new();
        let mut places = Vec::new();
        for counter in set.children().filter(|node| named(node, "counter")) {
            let offset = self.allot(counter, next)?;
            let one = self.counter(counter, offset, &structs)?;
            if !ids.insert(one.id) {
                return Err(self.error(counter, format!("the id {} is there twice", one.id)));
            }
            let named = self.texts(counter, offset, names, help)?;
            if !named && !one.no_display {
                let message = format!("counter {} has no name, so it is in no title list", one.id);
                self.warn(counter, message);
            }
            places.push(counter);
            object.counters.push(one);
        }
        for (one, place) in object.counters.iter().zip(places) {
            for (name, id) in [
                ("baseID", one.base),
                ("multiCounterID", one.multi),
                ("perfTimeID", one.time),
                ("perfFreqID", one.frequency),
            ] {
                if let Some(id) = id.filter(|id| !ids.contains(id)) {
                    let message = format!("{name} is {id}, but no counter of the set has that id");
                    return Err(self.error(place, message));
                }
            }
            if one.counter_type.needs_base() && one.base.is_none() {
                let message = format!(
                    "{} is calculated with a base; name its base counter with baseID",
                    one.counter_type
                );
                self.warn(place, message);
            }
        }
        if object.counters.is_empty() {
            self.warn(set, "<counterSet> has no counters");
        }
        Ok(object)
    }

    /// Returns `next`, the offset for the name of this element, and adds 2 to `next`. An error if
    /// `next` is above [`MAX_OFFSET`].
    fn allot(&self, node: Node<'_, '_>, next: &mut u32) -> Result<u32, DefinitionError> {
        let offset = *next;
        if offset > MAX_OFFSET {
            return Err(self.error(node, format!("there are more than {} names", MAX_OFFSET / 2)));
        }
        *next += 2;
        Ok(offset)
    }

    /// The counter that an element `<counter>` declares. `offset` is the offset of its name; `structs` are the names of
    /// the structures of its set, and a `field` without a `struct` lies in the first of them. An error if a required
    /// attribute is missing, or an attribute is invalid.
    fn counter(
        &mut self,
        node: Node<'a, 'a>,
        offset: u32,
        structs: &[&str],
    ) -> Result<DeclaredCounter, DefinitionError> {
        let id = self.number(node, "id")?;
        let id = id.ok_or_else(|| self.error(node, "<counter> has no id; add it"))?;
        let name = self.needed(node, "type")?.trim();
        let counter_type = counter_type(name).ok_or_else(|| {
            self.error(
                node,
                format!("{name:?} is not a counter type; perf_counter_rawcount is one"),
            )
        })?;
        let mut one = DeclaredCounter::new(offset, id, counter_type);
        one.base = self.number(node, "baseID")?;
        one.multi = self.number(node, "multiCounterID")?;
        one.time = self.number(node, "perfTimeID")?;
        one.frequency = self.number(node, "perfFreqID")?;
        one.scale = self.number(node, "defaultScale")?.unwrap_or(0);
        if !(-10..=10).contains(&one.scale) {
            return Err(
                self.error(node, format!("defaultScale is {}; -10 to 10 can be", one.scale))
            );
        }
        one.advanced = match node.attribute("detailLevel") {
            None | Some("standard") => false,
            Some("advanced") => true,
            Some(other) => {
                let message = format!("detailLevel is {other:?}; it is standard or advanced");
                return Err(self.error(node, message));
            }
        };
        one.aggregate = node.attribute("aggregate").map(str::to_string);
        if let Some(field) = node.attribute("field") {
            let of = node.attribute("struct").or_else(|| structs.first().copied());
            match of {
                Some(of) => one.field = Some((of.to_string(), field.to_string())),
                None => self.warn(node, format!("field {field} is of no struct; add <structs>")),
            }
        }
        let attributes = children(node, "counterAttributes");
        for attribute in attributes.flat_map(|node| children(node, "counterAttribute")) {
            match attribute.attribute("name") {
                Some("noDisplay") => one.no_display = true,
                Some(other) => one.attributes.push(other.to_string()),
                None => {}
            }
        }
        // A base counter serves another counter and is never shown, even if nothing says
        // `noDisplay`.
        one.no_display |= counter_type.is_base();
        Ok(one)
    }

    /// Adds the name and the description of an element to `names` and `help`, in each language,
    /// under `offset`. Returns whether the element has a name. An error if a text, or all texts
    /// together, are too long, or if a text refers to a string that is not defined.
    fn texts(
        &mut self,
        node: Node<'a, 'a>,
        offset: u32,
        names: &mut Texts,
        help: &mut Texts,
    ) -> Result<bool, DefinitionError> {
        let mut is_named = false;
        for (attribute, texts) in [("name", &mut *names), ("description", help)] {
            let Some(text) = node.attribute(attribute).map(str::trim) else { continue };
            for (language, text) in self.in_languages(node, attribute, text)? {
                if text.len() > MAX_TEXT {
                    let message = format!("{attribute} has more than {MAX_TEXT} bytes");
                    return Err(self.error(node, message));
                }
                if !text.is_empty() {
                    // Each use counts, since many names may use one string.
                    self.room = self.room.checked_sub(text.len() + 1).ok_or_else(|| {
                        let limit = MAX_TEXTS >> 20;
                        self.error(node, format!("there are more than {limit} MiB of texts"))
                    })?;
                    is_named |= attribute == "name";
                    texts.entry(language).or_default().insert(offset, text.to_string());
                }
            }
        }
        Ok(is_named)
    }

    /// The `text` of an attribute in each language: the strings that `$(string.ID)` refers to, or
    /// for any other text this text, as English. An error if no language has the string.
    fn in_languages(
        &self,
        node: Node<'a, 'a>,
        attribute: &str,
        text: &'a str,
    ) -> Result<Vec<(LanguageId, &'a str)>, DefinitionError> {
        let id = text.strip_prefix("$(string.").and_then(|text| text.strip_suffix(')'));
        let Some(id) = id else { return Ok(vec![(LanguageId::ENGLISH, text)]) };
        let found: Vec<(LanguageId, &'a str)> = self
            .strings
            .iter()
            .filter_map(|(language, list)| list.get(id).map(|text| (*language, text.trim())))
            .collect();
        if found.is_empty() {
            let message = format!(
                "{attribute} is {text}, and no <stringTable> has a string {id}; add it to \
                 <localization><resources>"
            );
            return Err(self.error(node, message));
        }
        Ok(found)
    }
}

/// A counter type by its name in winperf.h or by one of its aliases, in any case of letters. `None`
/// for any other name.
fn counter_type(name: &str) -> Option<CounterType> {
    let is = |other: &str| other.eq_ignore_ascii_case(name);
    let known = CounterType::named().iter();
    known
        .clone()
        .find(|info| is(info.winperf) || info.aliases.iter().any(|alias| is(alias)))
        .map(|info| info.counter_type)
}

#[cfg(test)]
mod tests;
