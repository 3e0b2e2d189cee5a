//! The providers of a broker, and the provider that owns each object.

use super::entry::{Entry, Owners, close};
use super::registry::{self, CHOSEN_INDEXES, Registered};
use super::roster::Roster;
use crate::ask::{Ask, ObjectQuery};
use crate::error::{Fault, FaultKind};
use crate::provider::{ProvidedTitles, Provider};
use crate::suggest::fold;
use perfhive_format::TitleIndex;
use perfhive_format::titles::Title;
use std::collections::HashSet;
use std::sync::Arc;

/// The providers of a broker: those that stay as long as the broker, and those of its rosters.
pub(super) struct Members {
    pub(super) entries: Vec<Entry>,
    pub(super) rosters: Vec<Box<dyn Roster>>,
    pub(super) owners: Owners,
    /// The names of objects of another source, as [`spelling`] returns them. An object of a roster
    /// with a chosen index (from [`CHOSEN_INDEXES`] on) is not served if it has one of these names.
    reserved: HashSet<String>,
    /// The names that objects of another source may have, as [`spelling`] returns them. An object
    /// of a roster with a chosen index (from [`CHOSEN_INDEXES`] on) is not served if it has one of
    /// these names.
    doubtful: HashSet<String>,
}

impl Members {
    pub(super) fn new(entries: Vec<Entry>, rosters: Vec<Box<dyn Roster>>) -> Self {
        let mut members = Self {
            entries,
            rosters,
            owners: Owners::new(),
            reserved: HashSet::new(),
            doubtful: HashSet::new(),
        };
        members.claim();
        members
    }

    /// Updates the providers from the rosters, before an answer. Returns whether any provider came,
    /// went or changed.
    pub(super) fn look_at_rosters(&mut self, ask: &Ask) -> bool {
        let mut changed = false;
        // Objects with a known owner need no search.
        let nothing = Ask::nothing().until(ask.until);
        let ask = match &ask.objects {
            ObjectQuery::Indexes(list) if list.iter().all(|o| self.owners.contains_key(o)) => {
                &nothing
            }
            _ => ask,
        };
        for number in 0..self.rosters.len() {
            let roster = self.rosters.get_mut(number);
            if let Some(providers) = roster.and_then(|roster| roster.changed(ask)) {
                changed |= self.replace(number, providers);
            }
        }
        if changed {
            self.claim();
        }
        changed
    }

    /// Replaces the providers of the roster with this index. A provider that is listed again keeps
    /// its session. Returns whether any provider came or went.
    fn replace(&mut self, roster: usize, providers: Vec<Arc<dyn Provider>>) -> bool {
        let mut changed = false;
        let is_listed =
            |entry: &Entry| providers.iter().any(|one| Arc::ptr_eq(one, &entry.provider));
        let owners = &mut self.owners;
        let mut late = Vec::new();
        self.entries.retain_mut(|entry| {
            let stays = entry.roster != Some(roster) || is_listed(entry);
            if !stays {
                close(entry.session.take());
                if entry.is_late {
                    late.push(std::mem::take(&mut entry.status.name));
                }
                for object in &entry.registered.description.objects {
                    owners.remove(&object.spec.name);
                }
                changed = true;
            }
            stays
        });
        for provider in providers {
            if !self.entries.iter().any(|entry| Arc::ptr_eq(&provider, &entry.provider)) {
                let is_late = late.iter().any(|name| name == provider.name());
                self.add(provider, Some(roster));
                if let Some(entry) = self.entries.last_mut() {
                    entry.is_late = is_late;
                }
                changed = true;
            }
        }
        changed
    }

    /// Sets the names that are not served because another source has them, and the `doubtful`
    /// names, which the other source may have. Returns whether either set changed.
    pub(super) fn reserve(&mut self, names: &HashSet<String>, doubtful: &HashSet<String>) -> bool {
        let folded = |names: &HashSet<String>| names.iter().map(|name| spelling(name)).collect();
        let (reserved, doubtful) = (folded(names), folded(doubtful));
        if (&reserved, &doubtful) == (&self.reserved, &self.doubtful) {
            return false;
        }
        (self.reserved, self.doubtful) = (reserved, doubtful);
        self.claim();
        true
    }

    /// Adds a provider that comes from the roster with the given index, or, for `None`, one that
    /// stays as long as the broker. [`claim`](Self::claim) must be called next.
    pub(super) fn add(&mut self, provider: Arc<dyn Provider>, roster: Option<usize>) {
        let last = self.entries.iter().map(|entry| entry.registered.highest()).max();
        let registered = registry::register(&[Arc::clone(&provider)], last.unwrap_or(0));
        for registered in registered {
            let mut entry = Entry::new((Arc::clone(&provider), registered));
            entry.roster = roster;
            self.entries.push(entry);
        }
    }

    /// Gives each object to the provider that was registered with it first. A later provider with
    /// the same object does not serve it until the first provider is gone. A provider with the name
    /// of an earlier one serves no object.
    ///
    /// An object of a roster with a chosen index (from [`CHOSEN_INDEXES`] on) is not registered
    /// anywhere. It is not served if one of its names, in any language, is a number, is reserved or
    /// doubtful, or is the name of an object that is registered or belongs to a provider that
    /// stays. So a path keeps its meaning, whatever programs publish.
    pub(super) fn claim(&mut self) {
        let taken = self.taken_names();
        for place in 0..self.entries.len() {
            let (before, rest) = self.entries.split_at_mut(place);
            let Some(entry) = rest.first_mut() else { break };
            let name: Arc<str> = entry.status.name.as_str().into();
            let is_namesake = before.iter().any(|other| other.status.name == entry.status.name);
            let owners = &mut self.owners;
            let Registered { description, titles, .. } = &mut entry.registered;
            let objects = &mut description.objects;
            objects.append(&mut entry.lost);
            let mut fault = None;
            for object in std::mem::take(objects) {
                let index = object.spec.name;
                let owner = owners.get(&index).cloned();
                let is_chosen = entry.roster.is_some() && index.0 >= CHOSEN_INDEXES;
                let refused =
                    if is_chosen { refused(titles, index, &taken, &self.doubtful) } else { None };
                let why = if let Some(why) = refused {
                    if owner.as_ref() == Some(&name) {
                        owners.remove(&index);
                    }
                    why
                } else if is_namesake {
                    format!("not served: another provider is called {name}")
                } else if let Some(owner) = owner.filter(|owner| *owner != name) {
                    format!("not served: the object is {owner}'s")
                } else {
                    owners.insert(index, Arc::clone(&name));
                    objects.push(object);
                    continue;
                };
                fault = Some(Fault::new(FaultKind::Warning, &name, why).of_object(index));
                entry.lost.push(object);
            }
            entry.tell_lost(fault);
        }
    }

    /// The names, in all languages and as [`spelling`] returns them, of `reserved` and of the
    /// objects that are registered or belong to a provider that stays. An object of a roster with a
    /// chosen index (from [`CHOSEN_INDEXES`] on) is not served if it has one of these names.
    fn taken_names(&self) -> HashSet<String> {
        let mut taken = self.reserved.clone();
        for entry in &self.entries {
            let Registered { description, titles, objects, .. } = &entry.registered;
            let stays = entry.roster.is_none();
            let mut indexes = objects.clone();
            for object in &description.objects {
                if stays || object.spec.name.0 < CHOSEN_INDEXES {
                    indexes.push(object.spec.name);
                }
            }
            if stays {
                indexes.extend(entry.lost.iter().map(|object| object.spec.name));
            }
            for title in titles.iter().flat_map(|titles| &titles.names.titles) {
                if indexes.contains(&title.index) {
                    taken.insert(spelling(&title.text));
                }
            }
        }
        taken
    }
}

/// The reason why an object with the chosen index `index` is not served: one of its names is taken,
/// is a number, or is doubtful. `None` if no name gives such a reason.
fn refused(
    titles: &[ProvidedTitles],
    index: TitleIndex,
    taken: &HashSet<String>,
    doubtful: &HashSet<String>,
) -> Option<String> {
    let of_index = |title: &&Title| title.index == index;
    let named = |fits: &dyn Fn(&str) -> bool| {
        let mut names = titles.iter().flat_map(|titles| &titles.names.titles).filter(of_index);
        names.find(|title| fits(&title.text)).map(|title| &title.text)
    };
    if let Some(title) = named(&|name| taken.contains(&spelling(name))) {
        return Some(format!(
            "not served: {title} is an object of this machine or registered for it; publish it \
             under another name"
        ));
    }
    if let Some(number) = named(&is_number) {
        return Some(format!(
            "not served: in a path, {number:?} is the title index of another object; publish it \
             under another name"
        ));
    }
    let title = named(&|name| doubtful.contains(&spelling(name)))?;
    Some(format!(
        "not served now: it cannot be found out whether {title} is registered for this machine, \
         since a provider that may have it does not answer"
    ))
}

/// The form in which names are compared: in one case, and without blanks at both ends.
fn spelling(name: &str) -> String {
    fold(name.trim())
}

/// Whether a path takes the name for a title index instead of a name.
fn is_number(name: &str) -> bool {
    let digits = name.trim();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
