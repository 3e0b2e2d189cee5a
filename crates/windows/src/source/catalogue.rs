//! Which objects a machine has: all of them, what is costly, and those that
//! somebody looked for.

use super::RegistrySource;
use crate::{parts, titles};
use perfhive_engine::{
    Catalogue, CatalogueObject, Cost, ObjectQuery, Request, Snapshot, Source, SourceError,
};
use perfhive_format::TitleIndex;
use std::sync::Arc;

/// How many objects that somebody looked for are remembered.
const LOOKED_FOR: usize = 1024;

impl RegistrySource {
    /// The objects of `Global`.
    pub(super) fn names_of_global(&mut self) -> Vec<TitleIndex> {
        let mut snapshot = Snapshot::new();
        // Without it more is taken for costly than is.
        let _ = self.fetch(&Request::new(ObjectQuery::Global), &mut snapshot);
        snapshot.objects().map(|object| object.view().name_index()).collect()
    }

    /// Takes down which objects a reply to `Costly` holds.
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
            add_costly(&self.costly, catalogue);
        }
    }

    /// The catalogue of what a reply holds of the objects `only`, or of all.
    pub(super) fn keep(
        &mut self,
        snapshot: &Snapshot,
        only: Option<&[TitleIndex]>,
    ) -> Arc<Catalogue> {
        // Now that it was reached, another machine has told what was counted last.
        self.catalogue_generation();
        let before = self.catalogue.take();
        let had_any = before.is_some();
        let mut catalogue = Catalogue::of_snapshot(snapshot);
        if let Some(only) = only {
            catalogue.objects.retain(|object| only.contains(&object.name));
            for object in &mut catalogue.objects {
                let known = self.costly.iter().flatten().any(|one| one.name == object.name);
                if known || parts::COSTLY.contains(&object.name.0) {
                    object.cost = Cost::Costly;
                }
            }
            for object in before.iter().flat_map(|before| &before.objects) {
                if catalogue.object(object.name).is_none() {
                    catalogue.objects.push(object.clone());
                }
            }
        }
        add_costly(&self.costly, &mut catalogue);
        self.note(snapshot, &ObjectQuery::Global);
        self.is_whole = only.is_none();
        match before {
            Some(before) => catalogue.languages.clone_from(&before.languages),
            None => {
                let languages = titles::languages(&mut *self.registry);
                catalogue.languages = languages.iter().map(|language| language.id).collect();
                self.languages = Some(languages);
            }
        }
        // What was handed out before had less.
        self.titles_generation += u64::from(had_any);
        catalogue.generation = self.titles_generation;
        Arc::clone(self.catalogue.insert(Arc::new(catalogue)))
    }

    /// Finds out which of some objects there are, and nothing else; together with those
    /// that were looked for before the catalogue was outdated.
    pub(super) fn look_for(
        &mut self,
        wanted: &[TitleIndex],
    ) -> Result<Arc<Catalogue>, SourceError> {
        let is_new = |name: &&TitleIndex| !self.looked_for.contains(name);
        let fresh: Vec<TitleIndex> = wanted.iter().filter(is_new).copied().collect();
        if self.looked_for.len() + fresh.len() > LOOKED_FOR {
            self.looked_for.clear();
        }
        self.looked_for.extend(fresh);
        let list = match &self.catalogue {
            Some(kept) => {
                let missing = wanted.iter().filter(|name| kept.object(**name).is_none());
                let missing: Vec<TitleIndex> = missing.copied().collect();
                if missing.is_empty() {
                    return Ok(Arc::clone(kept));
                }
                missing
            }
            // What nobody has tells of the machine itself.
            None if self.looked_for.is_empty() => vec![TitleIndex(parts::NOBODYS)],
            None => self.looked_for.clone(),
        };
        let mut snapshot = Snapshot::new();
        self.fetch(&Request::new(ObjectQuery::Indexes(list.clone())), &mut snapshot)?;
        let has_more = list.iter().any(|name| snapshot.object(*name).is_some());
        match &self.catalogue {
            Some(kept) if !has_more => Ok(Arc::clone(kept)),
            _ => Ok(self.keep(&snapshot, Some(&list))),
        }
    }
}

fn add_costly(costly: &Option<Vec<CatalogueObject>>, catalogue: &mut Catalogue) {
    for entry in costly.iter().flatten() {
        if catalogue.object(entry.name).is_none() {
            catalogue.objects.push(entry.clone());
        }
    }
}
