//! `.ini` files as `lodctr` takes them, with their symbol files.
//!
//! Layout: `lodctr` in Windows' documentation ("Adding Counter Names and Descriptions to the
//! Registry"): `[info]` with `drivername` and `symbolfile`, `[languages]`, `[objects]`, and
//! `[text]` with `SYMBOL_LLL_NAME` and `SYMBOL_LLL_HELP`. The file is read as Windows' profile
//! functions read it: names without regard to case, without blanks around names and values and
//! without quotation marks around a value. Only `SYMBOL` must be written as in the symbol file.
//! Lines without `=` are ignored.

use super::error::{DefinitionError, Warnings, WithWarnings};
use super::symbols::Symbols;
use super::text;
use super::{ReadOptions, group_texts};
use crate::hive::MAX_TEXT;
use perfhive_contract::{ProviderDefinition, Texts};
use perfhive_format::{FileEncoding, LanguageId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The highest offset of a name, far above that of any known provider.
pub(crate) const MAX_OFFSET: u32 = 0xfffe;

/// A line `key=value`; its number counts from 1.
struct Line<'a> {
    number: u32,
    key: &'a str,
    value: &'a str,
}

/// The sections of a file, under their names in lower case.
struct Sections<'a>(BTreeMap<String, Vec<Line<'a>>>);

impl<'a> Sections<'a> {
    fn parse(text: &'a str) -> Self {
        let mut sections: BTreeMap<String, Vec<Line<'a>>> = BTreeMap::new();
        let mut current = String::new();
        for (place, line) in text.lines().enumerate() {
            let line =
                line.trim_matches(|c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}');
            if let Some(rest) = line.strip_prefix('[') {
                current = rest.split(']').next().unwrap_or_default().trim().to_lowercase();
                sections.entry(current.clone()).or_default();
                continue;
            }
            if line.starts_with(';') || line.starts_with("//") {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let number = u32::try_from(place + 1).unwrap_or(u32::MAX);
            let line = Line { number, key: key.trim(), value: unquoted(value.trim()) };
            sections.entry(current.clone()).or_default().push(line);
        }
        Self(sections)
    }

    fn section(&self, name: &str) -> Option<&[Line<'a>]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The lines of a section; empty also if there is no such section.
    fn lines(&self, name: &str) -> &[Line<'a>] {
        self.section(name).unwrap_or_default()
    }

    /// The first line of a section that has this key and a value that is not empty. `None` if there
    /// is no such line.
    fn value(&self, section: &str, key: &str) -> Option<&Line<'a>> {
        let found = |line: &&Line<'_>| line.key.eq_ignore_ascii_case(key) && !line.value.is_empty();
        self.lines(section).iter().find(found)
    }
}

fn unquoted(value: &str) -> &str {
    for mark in ['"', '\''] {
        let inner = value.strip_prefix(mark).and_then(|value| value.strip_suffix(mark));
        if let Some(inner) = inner {
            return inner;
        }
    }
    value
}

/// Whether a text is a name or a help text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Help,
}

/// The symbol, language and kind in a key of the form `SYMBOL_LLL_NAME` or `SYMBOL_LLL_HELP`, where
/// `LLL` is three or four hexadecimal digits; `None` for any other key. A symbol may hold
/// underscores and digits.
fn text_key(key: &str) -> Option<(&str, &str, Kind)> {
    let (rest, kind) = key.rsplit_once('_')?;
    let kind = match () {
        () if kind.eq_ignore_ascii_case("name") => Kind::Name,
        () if kind.eq_ignore_ascii_case("help") => Kind::Help,
        () => return None,
    };
    let (symbol, language) = rest.rsplit_once('_')?;
    let is_language =
        (3..=4).contains(&language.len()) && language.bytes().all(|b| b.is_ascii_hexdigit());
    (is_language && !symbol.is_empty()).then_some((symbol, language, kind))
}

/// Reads an `.ini` file and its symbol file: the symbol file of the options, or else the symbol
/// file that the `.ini` file names.
///
/// # Errors
/// [`DefinitionError`] if a file cannot be read or is invalid.
pub fn read_ini(
    file: &Path,
    options: &ReadOptions,
) -> Result<WithWarnings<ProviderDefinition>, DefinitionError> {
    let bytes = text::read(file)?;
    parse_ini(file, &bytes, options.encoding, |name| {
        let header = match &options.symbols {
            Some(symbols) => symbols.clone(),
            None => symbol_file(file, name)?,
        };
        let bytes = text::read(&header)?;
        Ok((header, bytes))
    })
}

/// The path of the symbol file `name`: this path relative to the folder of the `.ini` file, or else
/// a file in that folder that is called like the last part of `name`, if need be in another case of
/// letters. An error if there is no such file.
fn symbol_file(ini: &Path, name: &str) -> Result<PathBuf, DefinitionError> {
    let folder = ini.parent().unwrap_or(Path::new(""));
    let name = name.replace('\\', "/");
    let base = name.rsplit('/').next().unwrap_or_default();
    for candidate in [folder.join(&name), folder.join(base)] {
        if !base.is_empty() && candidate.is_file() {
            return Ok(candidate);
        }
    }
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let beside = std::fs::read_dir(here).into_iter().flatten().flatten().find(|entry| {
        entry.file_name().to_str().is_some_and(|other| other.eq_ignore_ascii_case(base))
    });
    beside.map(|entry| entry.path()).ok_or_else(|| {
        let message = format!(
            "the symbol file {name:?} is not there; put it into the folder of this file, \
             or say where it is with --symbols"
        );
        DefinitionError::new(ini, None, message)
    })
}

/// Reads the bytes of an `.ini` file. `header` returns the path and the bytes of the symbol file
/// with a given name; `file` and this path are for messages.
///
/// # Errors
/// [`DefinitionError`] if a file is invalid, or from `header`.
pub fn parse_ini(
    file: &Path,
    bytes: &[u8],
    encoding: Option<FileEncoding>,
    header: impl FnOnce(&str) -> Result<(PathBuf, Vec<u8>), DefinitionError>,
) -> Result<WithWarnings<ProviderDefinition>, DefinitionError> {
    let text = text::decode(file, bytes, encoding, |rough| {
        let sections = Sections::parse(rough);
        sections.lines("languages").iter().filter_map(|line| line.key.parse().ok()).collect()
    })?;
    let sections = Sections::parse(&text);
    let mut warnings = Warnings::new(file);
    let section = |name: &str, why: &str| {
        sections.section(name).ok_or_else(|| {
            DefinitionError::new(file, None, format!("has no section [{name}]; it {why}"))
        })
    };
    section("info", "says the provider's name: drivername=NAME")?;
    let texts = section("text", "holds the names: SYMBOL_009_NAME=...")?;
    let missing = |key: &str, why: &str| {
        DefinitionError::new(file, None, format!("[info] has no {key}; add {key}={why}"))
    };
    let driver = sections
        .value("info", "drivername")
        .ok_or_else(|| missing("drivername", "NAME, the name of the service"))?;
    let symbol_file = sections
        .value("info", "symbolfile")
        .ok_or_else(|| missing("symbolfile", "FILE.h, which defines the offsets"))?;
    let (header_path, header_bytes) =
        header(symbol_file.value).map_err(|error| match error.line() {
            None if error.file() == file => {
                DefinitionError::new(file, Some(symbol_file.number), error.message())
            }
            _ => error,
        })?;
    // Symbols and numbers are ASCII in every code page.
    let header_text = text::decode(&header_path, &header_bytes, None, |_| Vec::new())
        .unwrap_or_else(|_| String::from_utf8_lossy(&header_bytes).into_owned());
    let (symbols, header_warnings) = Symbols::parse(&header_path, &header_text);

    let languages = languages(&sections, texts, &mut warnings);
    let mut made = Made::new(&header_path, symbols);
    for line in texts {
        made.text(line, &languages, &mut warnings)?;
    }
    if made.names.values().all(BTreeMap::is_empty) {
        return Err(warnings.error(None, "[text] has no name; it holds SYMBOL_009_NAME=..."));
    }
    let objects = made.objects(&sections, &mut warnings)?;
    made.remarks(&objects, sections.section("objects").is_some(), &mut warnings);

    let mut definition = ProviderDefinition::new(driver.value);
    definition.objects = objects.into_iter().collect();
    definition.titles = made.into_texts();
    let mut all = header_warnings;
    all.extend(warnings.finish());
    Ok(WithWarnings { value: definition, warnings: all })
}

/// The languages that the section `[languages]` lists; if it lists none, the languages of `texts`,
/// the lines of `[text]`. Unknown or repeated languages, an empty list and missing English are
/// added to `warnings`.
fn languages(
    sections: &Sections<'_>,
    texts: &[Line<'_>],
    warnings: &mut Warnings<'_>,
) -> BTreeSet<LanguageId> {
    let mut found: BTreeSet<LanguageId> = BTreeSet::new();
    for line in sections.lines("languages") {
        match line.key.parse::<LanguageId>() {
            Ok(language) if found.insert(language) => {}
            Ok(language) => warnings
                .add(Some(line.number), format!("{} is the language {language} again", line.key)),
            Err(error) => warnings.add(Some(line.number), format!("{}: {error}", line.key)),
        }
    }
    if found.is_empty() {
        let keys = texts.iter().filter_map(|line| text_key(line.key));
        found = keys.filter_map(|(_, language, _)| language.parse().ok()).collect();
        let names: Vec<String> = found.iter().map(ToString::to_string).collect();
        let message = format!("[languages] lists none; taken from [text]: {}", names.join(", "));
        warnings.add(None, message);
    }
    if !found.contains(&LanguageId::ENGLISH) {
        let message = "has no English texts (009), the language that readers rely on";
        warnings.add(None, message);
    }
    found
}

/// The names and help texts of a file while they are collected.
struct Made<'a> {
    header: &'a Path,
    symbols: Symbols,
    /// The names by language and offset, each with the number of its line.
    names: BTreeMap<LanguageId, BTreeMap<u32, (u32, String)>>,
    /// The help texts by language and offset, each with the number of its line.
    help: BTreeMap<LanguageId, BTreeMap<u32, (u32, String)>>,
    /// The symbols by their offsets.
    symbol_at: BTreeMap<u32, String>,
    /// The languages of texts that `[languages]` does not list. Texts in these languages are left out.
    foreign: BTreeSet<LanguageId>,
}

impl<'a> Made<'a> {
    fn new(header: &'a Path, symbols: Symbols) -> Self {
        Self {
            header,
            symbols,
            names: BTreeMap::new(),
            help: BTreeMap::new(),
            symbol_at: BTreeMap::new(),
            foreign: BTreeSet::new(),
        }
    }

    /// The offset of a symbol that a line of the `.ini` file refers to. An error if the symbol has no
    /// number, or if the number is odd, higher than [`MAX_OFFSET`] or also that of another symbol to
    /// which an earlier line refers.
    fn offset(
        &mut self,
        name: &str,
        line: u32,
        warnings: &Warnings<'_>,
    ) -> Result<u32, DefinitionError> {
        let Some(symbol) = self.symbols.get(name) else {
            let header = self.header.display();
            return Err(match self.symbols.unclear(name) {
                Some((at, why)) => {
                    DefinitionError::new(self.header, Some(at), format!("{name}: {why}"))
                }
                None => warnings.error(
                    line,
                    format!("{name} is not defined in {header}; add #define {name} and its offset"),
                ),
            });
        };
        let wrong = |message| DefinitionError::new(self.header, Some(symbol.line), message);
        if symbol.value % 2 != 0 {
            return Err(wrong(format!(
                "{name} is {}: offsets are even, for the odd numbers are those of help texts",
                symbol.value
            )));
        }
        if symbol.value > MAX_OFFSET {
            return Err(wrong(format!("{name} is {}; at most {MAX_OFFSET} can be", symbol.value)));
        }
        let owner = self.symbol_at.entry(symbol.value).or_insert_with(|| name.to_string());
        if owner != name {
            return Err(wrong(format!(
                "{name} and {owner} are both {}; each name needs an offset of its own",
                symbol.value
            )));
        }
        Ok(symbol.value)
    }

    /// Adds the name or help text of a line of `[text]`. A line with an unknown key, an empty text or
    /// a language that is not in `languages` is left out, mostly with a warning. So is a line for a
    /// symbol that an earlier line gave such a text in this language. An error if the symbol has no
    /// usable offset, or the text is too long.
    fn text(
        &mut self,
        line: &Line<'_>,
        languages: &BTreeSet<LanguageId>,
        warnings: &mut Warnings<'_>,
    ) -> Result<(), DefinitionError> {
        let Some((symbol, language, kind)) = text_key(line.key) else {
            let message =
                format!("{:?} is not SYMBOL_LLL_NAME or SYMBOL_LLL_HELP; left out", line.key);
            warnings.add(Some(line.number), message);
            return Ok(());
        };
        let Ok(language) = language.parse::<LanguageId>() else { return Ok(()) };
        if !languages.contains(&language) {
            if self.foreign.insert(language) {
                let message = format!("the language {language} is not in [languages]; left out");
                warnings.add(Some(line.number), message);
            }
            return Ok(());
        }
        let offset = self.offset(symbol, line.number, warnings)?;
        let (list, what) = match kind {
            Kind::Name => (&mut self.names, "name"),
            Kind::Help => (&mut self.help, "help text"),
        };
        if line.value.is_empty() {
            let message = format!("the {what} of {symbol} is empty; left out");
            warnings.add(Some(line.number), message);
            return Ok(());
        }
        if line.value.len() > MAX_TEXT {
            let message = format!("the {what} of {symbol} has more than {MAX_TEXT} bytes");
            return Err(warnings.error(line.number, message));
        }
        let list = list.entry(language).or_default();
        if let Some((first, old)) = list.get(&offset) {
            if *old != line.value {
                let message =
                    format!("{symbol} has a {what} in line {first} already, which counts");
                warnings.add(Some(line.number), message);
            }
            return Ok(());
        }
        list.insert(offset, (line.number, line.value.to_string()));
        Ok(())
    }

    /// The offsets of the objects that `[objects]` lists; empty if there is no such section. A line
    /// with a key other than `SYMBOL_LLL_NAME` is left out with a warning. An error if a symbol has
    /// no usable offset.
    fn objects(
        &mut self,
        sections: &Sections<'_>,
        warnings: &mut Warnings<'_>,
    ) -> Result<BTreeSet<u32>, DefinitionError> {
        let mut objects = BTreeSet::new();
        for line in sections.lines("objects") {
            let Some((symbol, _, Kind::Name)) = text_key(line.key) else {
                let message = format!("{:?} is not SYMBOL_LLL_NAME; left out", line.key);
                warnings.add(Some(line.number), message);
                continue;
            };
            let offset = self.offset(symbol, line.number, warnings)?;
            if !self.names.values().any(|names| names.contains_key(&offset)) {
                let message = format!(
                    "the object {symbol} has no name, so that readers show its index; add \
                     {symbol}_009_NAME=... to [text]"
                );
                warnings.add(Some(line.number), message);
            }
            objects.insert(offset);
        }
        Ok(objects)
    }

    /// Adds a warning for each part that the provider's author may have forgotten: objects in
    /// `[objects]` (`listed` says whether there is such a section), a symbol with the offset 0, the
    /// help text of a name.
    fn remarks(&self, objects: &BTreeSet<u32>, listed: bool, warnings: &mut Warnings<'_>) {
        if objects.is_empty() {
            let what = if listed { "[objects] is empty" } else { "there is no section [objects]" };
            let message =
                format!("{what}, so the provider will be asked whatever objects are wanted");
            warnings.add(None, message);
        }
        if let Some((offset, symbol)) = self.symbol_at.iter().next().filter(|(at, _)| **at != 0) {
            let message = format!("the first offset is {offset} ({symbol}); it should be 0");
            warnings.add(None, message);
        }
        for (language, names) in &self.names {
            let help = self.help.get(language);
            for (offset, (line, name)) in names {
                if !help.is_some_and(|help| help.contains_key(offset)) {
                    warnings.add(Some(*line), format!("{name:?} has no help text in {language}"));
                }
            }
        }
    }

    fn into_texts(self) -> Vec<Texts> {
        let without_lines = |all: BTreeMap<LanguageId, BTreeMap<u32, (u32, String)>>| {
            let list = |list: BTreeMap<u32, (u32, String)>| {
                list.into_iter().map(|(offset, (_, text))| (offset, text)).collect()
            };
            all.into_iter().map(|(language, texts)| (language, list(texts))).collect()
        };
        group_texts(without_lines(self.names), without_lines(self.help))
    }
}

#[cfg(test)]
mod tests;
