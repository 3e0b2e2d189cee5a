//! Providers that come and go while a broker is at work, and whose objects
//! are whose.

use super::entry::{Entry, close};
use super::registry::{CHOSEN_INDEXES, Registered};
use super::{Broker, registry};
use crate::ask::{Ask, ObjectQuery};
use crate::error::{Fault, FaultKind};
use crate::growth::note_growth;
use crate::provider::{ProvidedTitles, Provider};
use crate::titles::fold;
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::HashSet;
use std::sync::Arc;

/// A changing set of providers: what is registered on this machine, or what
/// running programs publish. A broker looks at it before each answer.
///
/// A provider that changed is another provider: the set holds a new [`Arc`]
/// then, and the broker closes the session of the old one.
pub trait Roster: Send {
    /// The providers, if they may have changed since the last call; `None` if they have
    /// not. Called before every answer, so the usual result must be cheap and must not
    /// allocate; look at the system at most as often as a person would notice.
    ///
    /// A roster that has to find out what its providers offer waits, until the ask's
    /// deadline, for those that may offer something of what is wanted, and for no others.
    fn changed(&mut self, ask: &Ask) -> Option<Vec<Arc<dyn Provider>>>;

    /// What is there and makes no provider, such as a registration that cannot
    /// be read. Part of every collection of `Global`.
    fn faults(&self) -> &[Fault] {
        &[]
    }
}

/// What is said of an object whose index or name is another's begins so.
const NOT_SERVED: &str = "not served";

impl Broker {
    /// Looks whether providers have come, gone or changed.
    pub(super) fn look_at_rosters(&mut self, ask: &Ask) {
        let mut changed = false;
        // Objects with a known owner need no search.
        let nothing = Ask::nothing().until(ask.until);
        let ask = match &ask.objects {
            ObjectQuery::Indexes(list) if list.iter().all(|o| self.owners.contains_key(o)) => {
                &nothing
            }
            _ => ask,
        };
        for place in 0..self.rosters.len() {
            let Some(providers) =
                self.rosters.get_mut(place).and_then(|roster| roster.changed(ask))
            else {
                continue;
            };
            note_growth();
            let is_listed =
                |entry: &Entry| providers.iter().any(|one| Arc::ptr_eq(one, &entry.provider));
            let (entries, owners) = (&mut self.entries, &mut self.owners);
            let mut late = Vec::new();
            entries.retain_mut(|entry| {
                let stays = entry.roster != Some(place) || is_listed(entry);
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
                    self.add(provider, Some(place));
                    if let Some(entry) = self.entries.last_mut() {
                        entry.is_late = is_late;
                    }
                    changed = true;
                }
            }
        }
        if changed {
            note_growth();
            self.catalogue_changed();
        }
    }

    /// Keeps names for objects that are not this broker's, such as those of another
    /// source beside it: what a roster chose an index for is not served under them; nor
    /// under `doubtful` ones, of which that is not known so far.
    pub fn reserve_names(&mut self, names: &HashSet<String>, doubtful: &HashSet<String>) {
        let folded = |names: &HashSet<String>| names.iter().map(|name| fold(name)).collect();
        let (reserved, doubtful) = (folded(names), folded(doubtful));
        if (&reserved, &doubtful) != (&self.reserved, &self.doubtful) {
            (self.reserved, self.doubtful) = (reserved, doubtful);
            self.catalogue_changed();
        }
    }

    pub(super) fn add(&mut self, provider: Arc<dyn Provider>, roster: Option<usize>) {
        let last = self.entries.iter().map(|entry| entry.registered.highest()).max();
        let registered = registry::register(&[Arc::clone(&provider)], last.unwrap_or(0));
        for registered in registered {
            let mut entry = Entry::new((Arc::clone(&provider), registered));
            entry.roster = roster;
            self.entries.push(entry);
        }
    }

    pub(super) fn catalogue_changed(&mut self) {
        self.claim();
        self.catalogue = None;
        self.titles.clear();
        self.catalogue_generation += 1;
    }

    /// Gives every object to the provider that was registered with it first.
    /// Another that claims it too does not serve it, and its account says so;
    /// should the first one go, it gets its turn.
    ///
    /// An object that a roster chose an index for, since nobody registered it, is not
    /// served under the English name of an object that stays or is registered: a path is
    /// to mean what it always meant, whoever publishes what.
    pub(super) fn claim(&mut self) {
        let staying = self.entries.iter().filter(|entry| entry.roster.is_none());
        let names = staying.flat_map(|entry| {
            let Registered { description, titles, .. } = &entry.registered;
            let objects = description.objects.iter().chain(&entry.lost);
            objects.filter_map(|object| english(titles, object.spec.name))
        });
        let registered = self.entries.iter().flat_map(|entry| {
            let Registered { description, titles, objects, .. } = &entry.registered;
            let described = description.objects.iter().map(|object| &object.spec.name);
            let all = described.filter(|name| name.0 < CHOSEN_INDEXES).chain(objects);
            all.filter_map(|object| english(titles, *object))
        });
        let mine = names.chain(registered).map(fold);
        let reserved: HashSet<String> = mine.chain(self.reserved.iter().cloned()).collect();
        for place in 0..self.entries.len() {
            let (before, rest) = self.entries.split_at_mut(place);
            let Some(entry) = rest.first_mut() else { break };
            let name: Arc<str> = entry.status.name.as_str().into();
            let taken = before.iter().any(|other| other.status.name == entry.status.name);
            let owners = &mut self.owners;
            let Registered { description, titles, .. } = &mut entry.registered;
            let objects = &mut description.objects;
            let was_lost = !entry.lost.is_empty();
            objects.append(&mut entry.lost);
            let of_roster = entry.roster.is_some();
            let mut lost = None;
            for object in std::mem::take(objects) {
                let index = object.spec.name;
                let owner = owners.get(&index).cloned();
                let chosen = of_roster && index.0 >= CHOSEN_INDEXES;
                let title = if chosen { english(titles, index) } else { None };
                let message = match owner {
                    _ if title.is_some_and(|title| reserved.contains(&fold(title))) => {
                        if owner.as_ref() == Some(&name) {
                            owners.remove(&index);
                        }
                        let title = title.unwrap_or_default();
                        Some(format!(
                            "{NOT_SERVED}: {title} is an object of this machine or registered \
                             for it; publish it under another name"
                        ))
                    }
                    _ if title.is_some_and(|title| self.doubtful.contains(&fold(title))) => {
                        if owner.as_ref() == Some(&name) {
                            owners.remove(&index);
                        }
                        let title = title.unwrap_or_default();
                        Some(format!(
                            "{NOT_SERVED} now: it cannot be found out whether {title} is \
                             registered for this machine, since who would have it does not answer"
                        ))
                    }
                    _ if taken => Some(format!("{NOT_SERVED}: another provider is called {name}")),
                    Some(owner) if owner != name => {
                        Some(format!("{NOT_SERVED}: the object is {owner}'s"))
                    }
                    _ => None,
                };
                if let Some(message) = message {
                    let fault = Fault::new(FaultKind::Warning, &name, message);
                    lost = Some(fault.of_object(index));
                    entry.lost.push(object);
                } else {
                    owners.insert(index, Arc::clone(&name));
                    objects.push(object);
                }
            }
            let is_about_that = |fault: &Fault| fault.message.starts_with(NOT_SERVED);
            if lost.is_some()
                || was_lost && entry.status.last_fault.as_ref().is_some_and(is_about_that)
            {
                entry.status.last_fault = lost;
            }
        }
    }
}

/// The English name of an index.
fn english(titles: &[ProvidedTitles], index: TitleIndex) -> Option<&str> {
    let english = titles.iter().filter(|titles| titles.language == LanguageId::ENGLISH);
    let mut names = english.flat_map(|titles| &titles.names.titles);
    names.find(|title| title.index == index).map(|title| title.text.as_str())
}
