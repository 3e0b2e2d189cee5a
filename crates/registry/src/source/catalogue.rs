//! The catalogue of a machine: all global objects, costly objects, and objects that were looked for
//! by index.

use super::RegistrySource;
use crate::service::BASE_INDEX;
use crate::{parts, titles};
use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Cost, NO_OBJECT, ObjectQuery, Snapshot, SourceError,
    SourceErrorKind,
};
use perfhive_format::TitleIndex;
use std::collections::HashSet;
use std::sync::Arc;

/// The largest number of objects that are remembered because they were looked for by index. If
/// there are more, only those of the newest request are remembered.
const LOOKED_FOR: usize = 1024;

impl RegistrySource {
    /// Collects `Global`, and returns the title indexes of its objects; empty if the collection
    /// fails.
    pub(super) fn names_of_global(&mut self) -> Vec<TitleIndex> {
        let mut snapshot = Snapshot::new();
        // If this fails, some global objects are classed as costly.
        let _ = self.fetch(&Ask::new(ObjectQuery::Global), &mut snapshot);
        snapshot.objects().map(|object| object.view().name_index()).collect()
    }

    /// Notes the objects of a reply to `Costly`, which replace the costly objects of the catalogue.
    pub(super) fn learn_costly(&mut self, snapshot: &Snapshot) {
        let entry = |object: perfhive_engine::SnapshotObject<'_>| {
            let mut entry = CatalogueObject::of(object.view());
            entry.cost = Cost::Costly;
            entry
        };
        let costly: Vec<_> = snapshot.objects().map(entry).collect();
        if self.costly.as_ref() == Some(&costly) {
            return;
        }
        self.costly = Some(costly);
        self.titles_generation += 1;
        if let Some(kept) = &mut self.catalogue {
            let catalogue = Arc::make_mut(kept);
            catalogue.generation = self.titles_generation;
            catalogue.objects.retain(|object| object.cost != Cost::Costly);
            let is_costly = |name| self.costly.iter().flatten().any(|one| one.name == name);
            catalogue
                .objects
                .retain(|object| object.cost != Cost::Unknown || !is_costly(object.name));
            add_costly(&self.costly, catalogue);
        }
    }

    /// The cost of an object that was looked for by index: costly if it is known to be, global for
    /// any other of Windows' own objects, and otherwise [`Cost::Unknown`].
    fn cost_of(&self, name: TitleIndex) -> Cost {
        let is_costly = self.costly.iter().flatten().any(|one| one.name == name);
        match name.0 {
            index if is_costly || parts::COSTLY.contains(&index) => Cost::Costly,
            // The costly objects of Windows itself are known.
            ..=BASE_INDEX => Cost::Global,
            _ => Cost::Unknown,
        }
    }

    /// Replaces the catalogue by the objects of a reply. If `only` is given, instead adds those
    /// objects of the reply that `only` lists. Returns the catalogue.
    pub(super) fn keep(
        &mut self,
        snapshot: &Snapshot,
        only: Option<&[TitleIndex]>,
    ) -> Arc<Catalogue> {
        // Registrations on another machine are noticed only once it was reached.
        self.notice_changes();
        let before = self.catalogue.take();
        let had_any = before.is_some();
        let mut catalogue = Catalogue::of_snapshot(snapshot);
        if let Some(only) = only {
            catalogue.objects.retain(|object| only.contains(&object.name));
            for object in &mut catalogue.objects {
                object.cost = self.cost_of(object.name);
            }
            let fresh = std::mem::take(&mut catalogue.objects);
            self.unsure |= self.is_whole && fresh.iter().any(|one| one.cost == Cost::Unknown);
            let is_fresh = |name| fresh.iter().any(|object| object.name == name);
            let kept = before.iter().flat_map(|before| &before.objects);
            catalogue.objects = kept.filter(|object| !is_fresh(object.name)).cloned().collect();
            catalogue.objects.extend(fresh);
        }
        add_costly(&self.costly, &mut catalogue);
        self.note(snapshot, &ObjectQuery::Global);
        // A whole catalogue stays whole if an object is added.
        self.is_whole = only.is_none() || self.is_whole && had_any;
        match before {
            Some(before) => catalogue.languages.clone_from(&before.languages),
            None => {
                let languages = titles::languages(&mut *self.registry);
                catalogue.languages = languages.iter().map(|language| language.id).collect();
                self.languages = Some(languages);
            }
        }
        // A catalogue that was handed out before had fewer objects.
        self.titles_generation += u64::from(had_any);
        catalogue.generation = self.titles_generation;
        Arc::clone(self.catalogue.insert(Arc::new(catalogue)))
    }

    /// Collects `Global`, and returns the catalogue with its objects and the objects that were
    /// looked for by index.
    pub(super) fn look_for_all(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let mut snapshot = Snapshot::new();
        self.fetch(&Ask::new(ObjectQuery::Global), &mut snapshot)?;
        self.asked_all = true;
        let catalogue = self.keep(&snapshot, None);
        let is_left =
            |name: &&TitleIndex| self.known.contains(**name) && catalogue.object(**name).is_none();
        let left: Vec<TitleIndex> = self.looked_for.iter().filter(is_left).copied().collect();
        // If these cannot be read, the others are still listed.
        let catalogue = match left.is_empty() {
            true => catalogue,
            false => self.look_for(&left).unwrap_or(catalogue),
        };
        self.unsure = false;
        Ok(catalogue)
    }

    /// Finds out which of the `wanted` objects exist, and returns the catalogue with them. If there
    /// is no catalogue yet, the objects that were looked for before are asked for, too; no other
    /// objects are.
    pub(super) fn look_for(
        &mut self,
        wanted: &[TitleIndex],
    ) -> Result<Arc<Catalogue>, SourceError> {
        // The list may name an object twice.
        let mut once = HashSet::new();
        let wanted: Vec<TitleIndex> = wanted
            .iter()
            .copied()
            .filter(|name| *name != NO_OBJECT && once.insert(*name))
            .collect();
        let is_new = |name: &&TitleIndex| !self.looked_for.contains(name);
        let fresh: Vec<TitleIndex> = wanted.iter().filter(is_new).copied().collect();
        if self.looked_for.len() + fresh.len() > LOOKED_FOR {
            self.looked_for.clone_from(&wanted);
        } else {
            self.looked_for.extend(fresh);
        }
        let list = match &self.catalogue {
            Some(kept) => {
                let missing = wanted.iter().filter(|name| kept.object(**name).is_none());
                let missing: Vec<TitleIndex> = missing.copied().collect();
                if missing.is_empty() {
                    return Ok(Arc::clone(kept));
                }
                missing
            }
            // The answer for no object still tells the name of the machine.
            None if self.looked_for.is_empty() => vec![NO_OBJECT],
            None => self.looked_for.clone(),
        };
        let mut snapshot = Snapshot::new();
        let found = self.fetch(&Ask::new(ObjectQuery::Indexes(list.clone())), &mut snapshot);
        let list = match (found, &self.catalogue) {
            (Ok(()), _) => list,
            // Some of the objects are known, so the catalogue is returned; an ask for the others
            // alone gives their error. If access is denied, no object can be read, so the error is
            // returned.
            (Err(error), Some(kept))
                if error.kind() != SourceErrorKind::Denied
                    && wanted.iter().any(|name| kept.object(*name).is_some()) =>
            {
                return Ok(Arc::clone(kept));
            }
            // Objects that were looked for before must not make this request fail.
            (Err(_), None) if list != wanted && list != [NO_OBJECT] => {
                let list = if wanted.is_empty() { vec![NO_OBJECT] } else { wanted };
                let request = Ask::new(ObjectQuery::Indexes(list.clone()));
                self.fetch(&request, &mut snapshot)?;
                list
            }
            (Err(error), _) => return Err(error),
        };
        let has_more = list.iter().any(|name| snapshot.object(*name).is_some());
        match &self.catalogue {
            Some(kept) if !has_more => Ok(Arc::clone(kept)),
            _ => Ok(self.keep(&snapshot, Some(&list))),
        }
    }
}

/// Adds the costly objects that the catalogue does not list yet to it; none before they were
/// collected (`None`).
fn add_costly(costly: &Option<Vec<CatalogueObject>>, catalogue: &mut Catalogue) {
    for entry in costly.iter().flatten() {
        if catalogue.object(entry.name).is_none() {
            catalogue.objects.push(entry.clone());
        }
    }
}
