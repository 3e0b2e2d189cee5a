//! Registering and unregistering a provider.
//!
//! **Allotting** follows Windows' documentation and practice: names get even numbers, help texts the
//! odd numbers after these. A new provider gets indexes above the highest that was ever allotted, and
//! Last Counter and Last Help rise. A provider that is registered again keeps its first index if all
//! the indexes that it now needs from there on are free.
//! **Unregistering** lowers Last Counter and Last Help if the provider had the highest indexes, as
//! `unlodctr` does. It never moves other providers, because running programs know their indexes.
//!
//! Indexes above Last Counter and Last Help, which a removed provider had, are allotted again only when no
//! higher ones are left: a running reader that still knows the old provider would take values of
//! the new provider for values of the old one.

use super::{Hive, MAX_HIVE, MAX_SERVICES, MAX_TEXT, OWN_INDEXES, Service, Titles, bad_name, span};
use perfhive_contract::{
    Change, Functions, ProviderDefinition, RegisterError, RegisterErrorKind, Registration,
};
use perfhive_format::TitleIndex;
use std::collections::BTreeMap;

fn invalid(message: impl Into<String>) -> RegisterError {
    RegisterError::new(RegisterErrorKind::Invalid, message)
}

impl Hive {
    /// Registers a provider: allots its indexes, or replaces its registration; see
    /// [`perfhive_contract::Registrar::register`]. Returns the registration, and whether it was
    /// added, updated or is the same as before. Only the hive in memory is changed.
    ///
    /// # Errors
    /// [`RegisterError`] for an invalid definition or function, or if no indexes or no room are
    /// left; the hive is unchanged then.
    pub fn register(
        &mut self,
        definition: &ProviderDefinition,
        functions: &Functions,
    ) -> Result<(Registration, Change), RegisterError> {
        let name = &definition.name;
        if let Some(why) = bad_name(name) {
            return Err(invalid(format!(
                "{name:?} cannot be the name of a provider: it {why}; change it in the definition file"
            )));
        }
        check_texts(definition)?;
        let before = self.place(name);
        let old = before.and_then(|at| self.services.get(at)).cloned();
        let old_registration = old.as_ref().map(|old| &old.registration);
        let mut one = functions.registration(name, old_registration)?;
        check_functions(&one)?;
        one.name.clone_from(name);

        let mut next = self.clone();
        if old.is_some() {
            next.remove(name);
        } else if next.services.len() >= MAX_SERVICES {
            return Err(invalid(format!(
                "there are {MAX_SERVICES} providers, which is the most; unregister one"
            )));
        }
        let last = definition.last_offset();
        let first = next.first(last, old_registration)?;
        one.first_counter = first;
        one.last_counter = first + last;
        one.first_help = first + 1;
        one.last_help = first + 1 + last;
        one.declared = definition.declared_at(first);
        one.objects = definition.objects.iter().map(|at| TitleIndex(first + at)).collect();
        next.last_counter = next.last_counter.max(one.last_counter);
        next.last_help = next.last_help.max(one.last_help);
        next.highest = next.highest.max(one.last_help);
        for titles in definition.titles_at(one.first_counter, one.first_help) {
            let Titles { names, help } = next.languages.entry(titles.language).or_default();
            for (list, made) in [(names, titles.names), (help, titles.help)] {
                list.extend(made.titles.into_iter().map(|title| (title.index.0, title.text)));
            }
        }
        next.languages.retain(|_, titles| !titles.names.is_empty() || !titles.help.is_empty());
        let other = old.map(|old| old.other).unwrap_or_default();
        next.services.push(Service { registration: one.clone(), other });
        next.services.sort_by(|a, b| a.registration.name.cmp(&b.registration.name));
        let text = next.to_text();
        if text.len() > MAX_HIVE {
            return Err(invalid(format!(
                "the registrations would exceed {} MiB; unregister a provider",
                MAX_HIVE >> 20
            )));
        }
        // What a reader would not find again must not be written: a path with the separator of lists,
        // a text that is too long once escaped.
        let (read, faults) = Self::parse(next.scope, text.as_bytes());
        let reads = read.get(name).map(|read| &read.reads);
        if reads != Some(&one.reads) || read.languages != next.languages {
            let why = match (faults.first(), reads == Some(&one.reads)) {
                (Some(fault), _) => fault.to_string(),
                (None, true) => "its names and help texts".to_owned(),
                (None, false) => "the files that it may read".to_owned(),
            };
            let what = "cannot be written so that it is read again";
            return Err(invalid(format!("{name} {what}: {why}")));
        }
        let change = match () {
            () if next == *self => Change::Unchanged,
            () if before.is_some() => Change::Updated,
            () => Change::Added,
        };
        *self = next;
        Ok((one, change))
    }

    /// Removes a provider from the hive in memory, and returns its registration; see
    /// [`perfhive_contract::Registrar::unregister`].
    ///
    /// # Errors
    /// [`RegisterError`] if no such provider is registered.
    pub fn unregister(&mut self, name: &str) -> Result<Registration, RegisterError> {
        self.remove(name).ok_or_else(|| {
            let known: Vec<&str> = self.services().map(|one| one.name.as_str()).collect();
            let message = if known.is_empty() {
                format!("{name} is not registered here; nothing is")
            } else {
                format!("{name} is not registered; there are: {}", known.join(", "))
            };
            RegisterError::new(RegisterErrorKind::NotRegistered, message)
        })
    }

    /// Enables a provider; see [`perfhive_contract::Registrar::enable`]. Returns whether it was
    /// disabled; `false` for a provider that is not registered.
    pub fn enable(&mut self, name: &str) -> bool {
        let Some(found) = self.place(name).and_then(|at| self.services.get_mut(at)) else {
            return false;
        };
        std::mem::take(&mut found.registration.disabled)
    }

    /// Removes a provider with its texts, and lowers Last Counter and Last Help if the provider had
    /// the highest indexes. Returns its registration; `None` if no such provider is registered.
    fn remove(&mut self, name: &str) -> Option<Registration> {
        let one = self.services.remove(self.place(name)?).registration;
        let indexes = span(&one);
        for titles in self.languages.values_mut() {
            for list in [&mut titles.names, &mut titles.help] {
                list.retain(|index, _| !indexes.contains(index));
            }
        }
        self.languages.retain(|_, titles| !titles.names.is_empty() || !titles.help.is_empty());
        // Only the provider with the highest indexes frees its indexes.
        let highest = |of: fn(&Registration) -> u32, none: u32| {
            self.services.iter().map(|other| of(&other.registration)).max().unwrap_or(none)
        };
        let base = self.base_index;
        if self.last_counter == one.last_counter {
            self.last_counter =
                highest(|one| one.last_counter, base.saturating_sub(1)).max(base.saturating_sub(1));
        }
        if self.last_help == one.last_help {
            self.last_help = highest(|one| one.last_help, base).max(base);
        }
        Some(one)
    }

    /// The first index for a provider with offsets up to `last`. `old` is the provider's earlier
    /// registration; its first index is kept if possible. An error if too few indexes are left.
    fn first(&self, last: u32, old: Option<&Registration>) -> Result<u32, RegisterError> {
        // A provider keeps its old indexes, if no other provider is in the way.
        if let Some(old) = old {
            let end = old.first_counter.saturating_add(last).saturating_add(1);
            let range = old.first_counter..=end;
            let free = self.services().all(|other| {
                let other = span(other);
                other.start() > range.end() || range.start() > other.end()
            });
            if free
                && old.first_help.checked_sub(1) == Some(old.first_counter)
                && self.allowed(&range)
            {
                return Ok(old.first_counter);
            }
        }
        let last_in_use = self.last_counter.max(self.last_help).max(self.base_index);
        // Indexes that were never allotted; once there are none left, any unused ones.
        let fresh = self.behind(last_in_use.max(self.highest), last);
        fresh.or_else(|| self.behind(last_in_use, last)).ok_or_else(|| {
            invalid(format!(
                "the indexes up to {} are all allotted; unregister what is not needed, the last \
                 registered first",
                self.scope.highest()
            ))
        })
    }

    /// The first even index above `behind` that has room for offsets up to `last`; `None` if no
    /// allowed indexes are left.
    fn behind(&self, behind: u32, last: u32) -> Option<u32> {
        let end = |first: u32| first.checked_add(last)?.checked_add(1);
        let mut first = behind.checked_add(1)?.checked_next_multiple_of(2)?;
        if end(first)? >= *OWN_INDEXES.start() && first <= *OWN_INDEXES.end() {
            first = *OWN_INDEXES.end() + 1;
        }
        self.allowed(&(first..=end(first)?)).then_some(first)
    }

    /// Whether the range begins above the base index, ends at the highest index of the scope or
    /// before, and has none of [`OWN_INDEXES`].
    fn allowed(&self, range: &std::ops::RangeInclusive<u32>) -> bool {
        let is_own = range.end() >= OWN_INDEXES.start() && range.start() <= OWN_INDEXES.end();
        *range.start() > self.base_index && *range.end() <= self.scope.highest() && !is_own
    }
}

/// Checks the texts of a definition. An error for a language that is there twice, an odd or too
/// high offset, a text that is too long or has a NUL, and for a definition without names.
fn check_texts(definition: &ProviderDefinition) -> Result<(), RegisterError> {
    let name = &definition.name;
    if definition.last_offset() > crate::definition::MAX_OFFSET {
        return Err(invalid(format!(
            "{name} has an offset of more than {}",
            crate::definition::MAX_OFFSET
        )));
    }
    let mut seen = BTreeMap::new();
    for texts in &definition.titles {
        if seen.insert(texts.language, ()).is_some() {
            return Err(invalid(format!("{name} has the language {} twice", texts.language)));
        }
        for (offset, text) in texts.names.iter().chain(&texts.help) {
            let what = match () {
                () if offset % 2 != 0 => "is odd; names have even offsets",
                () if text.len() > MAX_TEXT => "has a text that is too long",
                () if text.contains('\0') => "has a text with a NUL, which ends texts",
                () => continue,
            };
            return Err(invalid(format!("{name}: offset {offset} {what}")));
        }
    }
    if definition.titles.iter().all(|texts| texts.names.is_empty()) {
        return Err(invalid(format!("{name} has no names")));
    }
    Ok(())
}

/// Checks a registration: the library's path is absolute and UTF-8, Collect has a name, the path
/// and the names have no NUL, and neither they nor the linkage are too long. The library is not
/// opened. The first of these that is not so is an error.
fn check_functions(one: &Registration) -> Result<(), RegisterError> {
    let name = &one.name;
    let Some(library) = one.library.to_str() else {
        return Err(invalid(format!("the path of the library of {name} is not UTF-8; rename it")));
    };
    if !one.library.is_absolute() {
        return Err(invalid(format!(
            "the library of {name}, {library:?}, is not an absolute path"
        )));
    }
    if one.collect.is_empty() {
        return Err(invalid(format!("{name} needs the name of a Collect function")));
    }
    let functions = [one.open.as_deref(), Some(one.collect.as_str()), one.close.as_deref()];
    for text in functions.into_iter().flatten().chain([library]) {
        if text.contains('\0') {
            return Err(invalid(format!("{text:?} holds a NUL")));
        }
        if text.len() > MAX_TEXT {
            return Err(invalid(format!("a text of {name} has more than {MAX_TEXT} bytes")));
        }
    }
    if one.linkage.as_ref().is_some_and(|linkage| linkage.len() > MAX_TEXT) {
        return Err(invalid(format!("the linkage of {name} has more than {MAX_TEXT} bytes")));
    }
    Ok(())
}
