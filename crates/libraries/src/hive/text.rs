//! Reading the text form of a hive; docs/manual/registration.md describes it line by line.

use super::declared;
use super::value::Value;
use super::{Hive, HiveFault, MAX_SERVICES, MAX_TEXT, Scope, Service, Titles, bad_name, overlap};
use perfhive_contract::{RegisteredObject, Registration};
use perfhive_engine::TestLevel;
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The first line of a hive's text form: its name and version.
pub(super) const FIRST: &str = "perfhive hive 1";
/// The last line of a hive's text form. If it is missing, the end of the file was lost, which is a
/// fault.
pub(super) const LAST: &str = "[End]";
/// The longest line, in bytes: many characters of a text may be escaped.
const MAX_LINE: usize = MAX_TEXT * 4;
/// The number of faulty lines after which a file is not read further.
const MAX_FAULTS: usize = 100;

/// The section that a line belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Section {
    /// Before the first section.
    Start,
    /// A section that is unknown or one too many. It was reported as a fault; its lines are ignored.
    Unknown,
    Perflib,
    Names(LanguageId),
    Help(LanguageId),
    /// A section of the provider at this index in the list of drafts.
    Service(usize, Part),
}

/// The kinds of a provider's sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Performance,
    Linkage,
    Counters,
}

impl Section {
    /// The section that the text between a line's brackets names; `None` if it names no section,
    /// or if `draft` returns `None`. `draft` gets a provider's name and returns its index in the list
    /// of drafts, after adding it if it is new; `None` if there are too many providers.
    fn parse(text: &str, draft: impl FnOnce(&str) -> Option<usize>) -> Option<Self> {
        let parts: Vec<&str> = text.split('\\').collect();
        let is = |part: &str, name: &str| part.eq_ignore_ascii_case(name);
        match *parts.as_slice() {
            [perflib] if is(perflib, "Perflib") => Some(Self::Perflib),
            [perflib, language, kind] if is(perflib, "Perflib") => {
                let hex = language.len() == 3 && language.bytes().all(|b| b.is_ascii_hexdigit());
                let language = language.parse().ok().filter(|_| hex)?;
                match () {
                    () if is(kind, "Counter") => Some(Self::Names(language)),
                    () if is(kind, "Help") => Some(Self::Help(language)),
                    () => None,
                }
            }
            [services, name, kind] if is(services, "Services") && bad_name(name).is_none() => {
                let part = match () {
                    () if is(kind, "Performance") => Part::Performance,
                    () if is(kind, "Linkage") => Part::Linkage,
                    () if is(kind, "Counters") => Part::Counters,
                    () => return None,
                };
                draft(name).map(|place| Self::Service(place, part))
            }
            _ => None,
        }
    }
}

/// A provider that is being read, line by line.
#[derive(Default)]
struct Draft {
    /// The number of the provider's first line.
    line: u32,
    name: String,
    values: BTreeMap<&'static str, (u32, Value)>,
    linkage: Option<Vec<String>>,
    declared: Vec<RegisteredObject>,
    other: Vec<(String, String)>,
    /// The number of the line that sets [`IN_PROCESS`] to another value than 0; `None` without such
    /// a line. The value is ignored with a warning.
    in_process: Option<u32>,
    /// Whether one of the provider's lines is damaged. The provider is then left out: with the other
    /// lines alone its library might be called wrongly.
    damaged: bool,
}

/// The name of a value that is ignored. In earlier versions of perfhive it let a trusted library run
/// in the reader's process.
const IN_PROCESS: &str = "In Process";

/// The names of the values of `Services\NAME\Performance` that belong to the contract.
const KNOWN: [&str; 15] = [
    "Library",
    "Open",
    "Collect",
    "Close",
    "Object List",
    "First Counter",
    "Last Counter",
    "First Help",
    "Last Help",
    "Disable Performance Counters",
    "Open Timeout",
    "Collect Timeout",
    "Memory Limit",
    "Start Processes",
    "Read Files",
];

/// A hive that is being read, line by line.
struct Reader {
    hive: Hive,
    drafts: Vec<Draft>,
    /// The index in `drafts` of each provider, by its name in lower case.
    places: HashMap<String, usize>,
    section: Section,
    faults: Vec<HiveFault>,
    ended: bool,
}

impl Hive {
    /// Reads the text form of a hive; returns the hive and the faults. A damaged entry is left out
    /// and reported as a fault. If the first line is not that of a hive, the hive is empty and this
    /// is the only fault.
    #[must_use]
    pub fn parse(scope: Scope, bytes: &[u8]) -> (Self, Vec<HiveFault>) {
        let mut reader = Reader {
            hive: Self::new(scope),
            drafts: Vec::new(),
            places: HashMap::new(),
            section: Section::Start,
            faults: Vec::new(),
            ended: false,
        };
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let first = first.strip_suffix(b"\r").unwrap_or(first);
        if first != FIRST.as_bytes() {
            let shown = String::from_utf8_lossy(first.get(..40).unwrap_or(first)).into_owned();
            let message = format!(
                "begins with {shown:?}, not with {FIRST:?}: it is not a hive, or of another version; \
                 move it away, or use the perfhive that made it"
            );
            return (reader.hive, vec![HiveFault { line: 1, message }]);
        }
        let mut last = 1;
        for (place, line) in lines.enumerate() {
            let number = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(2);
            if reader.ended || reader.faults.len() >= MAX_FAULTS {
                break;
            }
            last = number;
            match std::str::from_utf8(line) {
                _ if line.len() > MAX_LINE => {
                    reader.damaged(number, format!("is longer than {MAX_LINE} bytes"));
                }
                Ok(line) => {
                    if let Err(message) = reader.line(number, line.trim()) {
                        reader.damaged(number, message);
                    }
                }
                Err(_) => reader.damaged(number, "is not UTF-8".to_string()),
            }
        }
        reader.finish(last)
    }
}

impl Reader {
    fn fault(&mut self, line: u32, message: impl Into<String>) {
        self.faults.push(HiveFault { line, message: message.into() });
    }

    /// Reports a damaged line as a fault. If the line is in a provider's section, the provider is
    /// marked as damaged.
    fn damaged(&mut self, line: u32, message: String) {
        if let Section::Service(place, _) = self.section
            && let Some(draft) = self.drafts.get_mut(place)
        {
            draft.damaged = true;
        }
        self.fault(line, message);
    }

    fn line(&mut self, number: u32, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with(';') {
            return Ok(());
        }
        if line == LAST {
            self.ended = true;
            return Ok(());
        }
        if line.starts_with('[') {
            self.section = Section::Unknown;
            let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
            let (drafts, places) = (&mut self.drafts, &mut self.places);
            let mut too_many = false;
            let draft = |name: &str| {
                let next = drafts.len();
                let place = *places.entry(super::fold(name)).or_insert(next);
                if place == next {
                    if next >= MAX_SERVICES {
                        places.remove(&super::fold(name));
                        too_many = true;
                        return None;
                    }
                    let name = name.to_string();
                    drafts.push(Draft { line: number, name, ..Draft::default() });
                }
                Some(place)
            };
            let section = name.and_then(|name| Section::parse(name, draft));
            self.section = section.ok_or_else(|| {
                if too_many {
                    format!("there are more than {MAX_SERVICES} providers; {line} is left out")
                } else {
                    format!("{line} is not a section of a hive; what follows it is left out")
                }
            })?;
            return Ok(());
        }
        match self.section {
            Section::Start => return Err("stands before the first section".to_string()),
            Section::Unknown => return Ok(()),
            _ => {}
        }
        let (key, raw) = line.split_once('=').ok_or("is not of the form NAME = VALUE")?;
        let (key, raw) = (key.trim(), raw.trim());
        let value = Value::parse(raw);
        match self.section {
            Section::Start | Section::Unknown => {}
            Section::Perflib => self.perflib(key, &value?)?,
            Section::Names(language) => {
                self.title(language, key, &value?, |titles| &mut titles.names)?
            }
            Section::Help(language) => {
                self.title(language, key, &value?, |titles| &mut titles.help)?
            }
            Section::Service(place, part) => {
                let value = value?;
                let Some(draft) = self.drafts.get_mut(place) else { return Ok(()) };
                draft.take(number, part, key, raw, value)?;
            }
        }
        Ok(())
    }

    fn perflib(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let number = value.number()?;
        match key.to_ascii_lowercase().as_str() {
            "base index" => self.hive.base_index = number,
            "last counter" => self.hive.last_counter = number,
            "last help" => self.hive.last_help = number,
            "highest index" => self.hive.highest = number,
            "extcountertestlevel" => {
                self.hive.test_level = Some(match number {
                    1 => TestLevel::All,
                    2 => TestLevel::Basic,
                    3 => TestLevel::None,
                    other => return Err(format!("{other} is not a test level; 1, 2 and 3 are")),
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn title(
        &mut self,
        language: LanguageId,
        key: &str,
        value: &Value,
        list: impl Fn(&mut Titles) -> &mut BTreeMap<u32, String>,
    ) -> Result<(), String> {
        let index = key.parse().map_err(|_| format!("{key:?} is not an index"))?;
        let text = value.text()?;
        let titles = self.hive.languages.entry(language).or_default();
        if list(titles).contains_key(&index) {
            return Err(format!("index {index} is there twice; the first counts"));
        }
        list(titles).insert(index, text);
        Ok(())
    }

    /// The hive of what was read, and the faults; `last` is the number of the last line that was
    /// read.
    fn finish(mut self, last: u32) -> (Hive, Vec<HiveFault>) {
        if !self.ended {
            let message = match self.faults.len() {
                MAX_FAULTS.. => "there are too many faults; the rest is not read".to_string(),
                _ => format!("the last line, {LAST}, is missing: the end of the file is lost"),
            };
            self.fault(last, message);
        }
        for draft in std::mem::take(&mut self.drafts) {
            if draft.damaged {
                let message =
                    format!("the provider {} is left out, because a line is damaged", draft.name);
                self.fault(draft.line, message);
                continue;
            }
            let line = draft.line;
            if let Some(line) = draft.in_process {
                let message = format!(
                    "{IN_PROCESS} is ignored: the library of {} runs in its host process, as every \
                     library does; remove the line",
                    draft.name
                );
                self.hive.warnings.push(HiveFault { line, message });
            }
            match draft.finish() {
                Ok(service) => {
                    let one = &service.registration;
                    let other = self.hive.services().find(|other| overlap(other, one));
                    if let Some(other) = other {
                        let message =
                            format!("{} is left out: its indexes are {}'s", one.name, other.name);
                        self.fault(line, message);
                    } else {
                        self.hive.services.push(service);
                    }
                }
                Err((line, message)) => self.fault(line, message),
            }
        }
        self.hive.services.sort_by(|a, b| a.registration.name.cmp(&b.registration.name));
        // Last Counter and Last Help are never below what is in use.
        for service in &self.hive.services {
            let one = &service.registration;
            self.hive.last_counter = self.hive.last_counter.max(one.last_counter);
            self.hive.last_help = self.hive.last_help.max(one.last_help);
        }
        self.faults.sort_by_key(|fault| fault.line);
        (self.hive, self.faults)
    }
}

impl Draft {
    /// Adds the line `key = value` of a section of the provider to this draft; `line` is its
    /// number, and `raw` is the value as written. `Err` says what is wrong with the line.
    fn take(
        &mut self,
        line: u32,
        part: Part,
        key: &str,
        raw: &str,
        value: Value,
    ) -> Result<(), String> {
        if part == Part::Linkage {
            if key.eq_ignore_ascii_case("Export") {
                self.linkage = Some(value.strings()?.to_vec());
            }
            return Ok(());
        }
        if part == Part::Counters {
            return declared::take(&mut self.declared, key, value.strings()?);
        }
        if key.eq_ignore_ascii_case(IN_PROCESS) {
            self.in_process = (value.number()? != 0).then_some(line);
            return Ok(());
        }
        match KNOWN.iter().find(|known| known.eq_ignore_ascii_case(key)) {
            Some(known) if self.values.contains_key(*known) => {
                return Err(format!("{known} is there twice"));
            }
            Some(known) => drop(self.values.insert(known, (line, value))),
            None => self.other.push((key.to_string(), raw.to_string())),
        }
        Ok(())
    }

    /// The provider of this draft. `Err` is the line and the message of the fault for which the
    /// provider is left out.
    fn finish(self) -> Result<Service, (u32, String)> {
        let Self { line, name, values, linkage, declared, other, .. } = self;
        let left_out = |line: u32, why: String| {
            (line, format!("{why}; the provider {name} is left out, until it is registered again"))
        };
        let text = |key: &str| match values.get(key) {
            None => Ok(None),
            Some((line, value)) => match value.text() {
                Ok(text) if text.contains('\0') => {
                    Err(left_out(*line, format!("{key} holds a NUL")))
                }
                Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
                Err(why) => Err(left_out(*line, format!("{key} {why}"))),
            },
        };
        let number = |key: &str| match values.get(key) {
            None => Ok(None),
            Some((line, value)) => {
                value.number().map(Some).map_err(|why| left_out(*line, format!("{key} {why}")))
            }
        };
        let needed = |key: &str| left_out(line, format!("there is no {key}"));
        let flag = |key: &str| number(key).map(|number| number.is_some_and(|number| number != 0));
        let time = |key: &str| {
            let time = number(key)?.map(|millis| Duration::from_millis(millis.into()));
            Ok::<_, (u32, String)>(time.unwrap_or(Registration::TIMEOUT))
        };

        let library = text("Library")?.ok_or_else(|| needed("Library"))?;
        if !library.starts_with('/') && !cfg!(windows) {
            return Err(left_out(line, format!("Library {library:?} is not an absolute path")));
        }
        let collect = text("Collect")?.ok_or_else(|| needed("Collect"))?;
        let mut one = Registration::new(&name, library, &collect);
        one.open = text("Open")?;
        one.close = text("Close")?;
        for index in text("Object List")?.unwrap_or_default().split_whitespace() {
            let index = index
                .parse()
                .map_err(|_| left_out(line, format!("{index:?} in Object List is not an index")))?;
            one.objects.push(TitleIndex(index));
        }
        for (key, place) in [
            ("First Counter", &mut one.first_counter),
            ("Last Counter", &mut one.last_counter),
            ("First Help", &mut one.first_help),
            ("Last Help", &mut one.last_help),
        ] {
            *place = number(key)?.ok_or_else(|| needed(key))?;
        }
        if one.first_counter > one.last_counter || one.first_help > one.last_help {
            return Err(left_out(line, "a first index is behind the last".to_string()));
        }
        one.disabled = flag("Disable Performance Counters")?;
        one.processes = flag("Start Processes")?;
        if let Some(paths) = text("Read Files")? {
            one.reads = std::env::split_paths(&paths).collect();
            if let Some(bad) = one.reads.iter().find(|path| !path.is_absolute()) {
                let message = format!("{bad:?} in Read Files is not an absolute path");
                return Err(left_out(line, message));
            }
        }
        let mib = number("Memory Limit")?.filter(|mib| *mib > 0);
        one.memory_limit = mib.map(|mib| u64::from(mib) << 20);
        one.open_timeout = time("Open Timeout")?;
        one.collect_timeout = time("Collect Timeout")?;
        if let Some(strings) = linkage {
            one.linkage = Some(strings.join("\0"));
        }
        one.declared = declared;
        Ok(Service { registration: one, other })
    }
}
