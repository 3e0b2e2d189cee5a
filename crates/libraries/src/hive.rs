//! The hive in memory: the registry keys of registered providers.
//!
//! `hive/text.rs` reads its text form and `hive/write.rs` writes it; `hive/change.rs`
//! registers and unregisters.

mod change;
mod declared;
mod text;
mod value;
mod write;

use perfhive_contract::{RegisterFault, Registration, Registrations};
use perfhive_engine::{CHOSEN_INDEXES, ProvidedTitles, TestLevel};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::RangeInclusive;

/// The size of the largest hive that is read or written, in bytes.
pub const MAX_HIVE: usize = 16 << 20;
/// The longest name or help text, in bytes.
pub const MAX_TEXT: usize = 32 << 10;
/// The most providers that a hive may have.
pub const MAX_SERVICES: usize = 4096;

/// The scope of a hive. It decides which indexes the hive may allot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The hive of the whole machine.
    System,
    /// The hive of one user.
    User,
}

impl Scope {
    /// `Base Index` of a new hive: indexes up to it are not allotted. Windows' own indexes end
    /// at 1847. A user's hive begins behind the last index of the machine's, so that both
    /// hives can be read together.
    #[must_use]
    pub const fn base_index(self) -> u32 {
        match self {
            Self::System => 1847,
            Self::User => 999_999,
        }
    }

    /// The highest index that a hive of this scope may allot.
    const fn highest(self) -> u32 {
        match self {
            Self::System => 999_999,
            Self::User => CHOSEN_INDEXES - 1,
        }
    }
}

/// The indexes of perfhive's own objects. They lie in the range of the machine's hive, and are
/// never allotted.
const OWN_INDEXES: RangeInclusive<u32> = 100_000..=199_999;

/// The names and help texts of one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Titles {
    pub(crate) names: BTreeMap<u32, String>,
    pub(crate) help: BTreeMap<u32, String>,
}

/// A registered provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) registration: Registration,
    /// The names and values of the provider's key `Performance` that are not part of the contract,
    /// as they stand in the hive. A provider may keep values of its own in this key.
    pub(crate) other: Vec<(String, String)>,
}

/// A fault in the text of a hive: the line, and what is wrong there. The faulty part is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HiveFault {
    /// The line, from 1.
    pub line: u32,
    /// The text that says what is wrong, with the way out.
    pub message: String,
}

impl fmt::Display for HiveFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// The content of a hive, a file that has the registrations of providers where there is no registry:
/// the keys of each provider (`Services\*`), `Perflib`, and the names and help texts of each language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hive {
    pub(crate) scope: Scope,
    pub(crate) base_index: u32,
    pub(crate) last_counter: u32,
    pub(crate) last_help: u32,
    /// The highest index that was ever allotted.
    pub(crate) highest: u32,
    /// `ExtCounterTestLevel`; `None` if it is not set.
    pub(crate) test_level: Option<TestLevel>,
    /// The registered providers, in the order of their names.
    pub(crate) services: Vec<Service>,
    pub(crate) languages: BTreeMap<LanguageId, Titles>,
    /// Faults that cost nothing but one value, which is ignored. The faults that [`Hive::parse`]
    /// returns prevent a change of the hive's file; these do not.
    pub(crate) warnings: Vec<HiveFault>,
}

impl Hive {
    /// A hive of this scope without registrations.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        let base = scope.base_index();
        Self {
            scope,
            base_index: base,
            last_counter: base - 1,
            last_help: base,
            highest: base,
            test_level: None,
            services: Vec::new(),
            languages: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// `Last Counter`: the highest index of a provider's name; `Base Index` - 1 without providers.
    #[must_use]
    pub fn last_counter(&self) -> u32 {
        self.last_counter
    }

    /// `Last Help`: the highest index of a provider's help text; `Base Index` without providers.
    #[must_use]
    pub fn last_help(&self) -> u32 {
        self.last_help
    }

    /// The registration of the provider `name`, without regard to case, as registry keys are
    /// compared. `None` if no such provider is registered.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Registration> {
        self.place(name).and_then(|at| self.services.get(at)).map(|found| &found.registration)
    }

    /// The registrations, in the order of their names.
    pub fn services(&self) -> impl Iterator<Item = &Registration> {
        self.services.iter().map(|service| &service.registration)
    }

    /// The index in `services` of the provider `name`, without regard to case. `None` if no such
    /// provider is registered.
    fn place(&self, name: &str) -> Option<usize> {
        let folded = fold(name);
        self.services.iter().position(|service| fold(&service.registration.name) == folded)
    }

    /// Adds the registrations and texts of this hive to `all`, and the test level if this is the
    /// machine's hive. If `all` already has the name or an index of a provider, this provider and its
    /// texts are left out, and a fault is added; `place` is the file that the fault names.
    pub fn add_to(&self, all: &mut Registrations, place: &str, faults: &mut Vec<RegisterFault>) {
        if let Some(level) = self.test_level.filter(|_| self.scope == Scope::System) {
            all.test_level = level;
        }
        let mut left_out: Vec<RangeInclusive<u32>> = Vec::new();
        let names: HashMap<String, usize> =
            all.providers.iter().enumerate().map(|(at, one)| (fold(&one.name), at)).collect();
        let before = all.providers.len();
        for service in &self.services {
            let one = &service.registration;
            let others = all.providers.get(..before).unwrap_or_default();
            let taken = match names.get(&fold(&one.name)) {
                Some(at) => others.get(*at),
                None => others.iter().find(|other| overlap(other, one)),
            };
            if let Some(other) = taken {
                let message = format!(
                    "{} is left out, because its name or its indexes are those of {}, which is \
                     registered for the whole machine; unregister it, and register it again \
                     under another name",
                    one.name, other.name
                );
                faults.push(RegisterFault::new(place, message));
                left_out.push(span(one));
                continue;
            }
            all.providers.push(one.clone());
        }
        all.providers.sort_by(|a, b| a.name.cmp(&b.name));
        let list = |titles: &BTreeMap<u32, String>| {
            TitleList::from(
                titles
                    .iter()
                    .filter(|(index, _)| !left_out.iter().any(|range| range.contains(index)))
                    .map(|(index, text)| Title { index: TitleIndex(*index), text: text.clone() })
                    .collect::<Vec<_>>(),
            )
        };
        for (language, titles) in &self.languages {
            let (mut names, mut help) = (list(&titles.names), list(&titles.help));
            match all.titles.iter_mut().find(|one| one.language == *language) {
                Some(one) => {
                    one.names.titles.append(&mut names.titles);
                    one.help.titles.append(&mut help.titles);
                }
                None => all.titles.push(ProvidedTitles::new(*language, names, help)),
            }
        }
    }
}

/// The form in which a name is compared: in lower case, because registry keys have no case.
pub(crate) fn fold(name: &str) -> String {
    name.to_lowercase()
}

/// The range of all indexes of a provider: of its names and of its help texts.
pub(crate) fn span(one: &Registration) -> RangeInclusive<u32> {
    one.first_counter.min(one.first_help)..=one.last_counter.max(one.last_help)
}

/// Whether the ranges of indexes of two providers have an index in common.
fn overlap(a: &Registration, b: &Registration) -> bool {
    let (a, b) = (span(a), span(b));
    a.start() <= b.end() && b.start() <= a.end()
}

/// The reason why a text cannot be the name of a service: the name must be a registry key on
/// Windows, and fit a section of the hive. `None` for a valid name.
pub(crate) fn bad_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("is empty");
    }
    if name.chars().count() > 255 {
        return Some("is longer than 255 characters");
    }
    if name.trim() != name {
        return Some("begins or ends with a blank");
    }
    if name.chars().any(|c| c.is_control() || matches!(c, '\\' | '/' | '[' | ']')) {
        return Some("holds one of \\ / [ ] or a control character");
    }
    if name == "." || name == ".." {
        return Some("is a folder");
    }
    None
}

#[cfg(test)]
mod tests;
