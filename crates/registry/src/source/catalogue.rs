//! Which objects a machine has: all of them, what is costly, and those that
//! somebody looked for.

use super::RegistrySource;
use crate::service::BASE_INDEX;
use crate::{parts, titles};
use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Cost, ObjectQuery, Snapshot, SourceError, SourceErrorKind,
};
use perfhive_format::TitleIndex;
use std::collections::HashSet;
use std::sync::Arc;

/// What is asked for where it is about the machine itself: an object that nobody has.
const NOBODY: TitleIndex = perfhive_engine::NO_OBJECT;

/// How many objects that somebody looked for are remembered.
const LOOKED_FOR: usize = 1024;

impl RegistrySource {
    /// The objects of `Global`.
    pub(super) fn names_of_global(&mut self) -> Vec<TitleIndex> {
        let mut snapshot = Snapshot::new();
        // Without it more is taken for costly than is.
        let _ = self.fetch(&Ask::new(ObjectQuery::Global), &mut snapshot);
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
            let is_costly = |name| self.costly.iter().flatten().any(|one| one.name == name);
            catalogue
                .objects
                .retain(|object| object.cost != Cost::Unknown || !is_costly(object.name));
            add_costly(&self.costly, catalogue);
        }
    }

    /// What is known of the cost of an object that was found by itself.
    fn cost_of(&self, name: TitleIndex) -> Cost {
        let is_costly = self.costly.iter().flatten().any(|one| one.name == name);
        match name.0 {
            index if is_costly || parts::COSTLY.contains(&index) => Cost::Costly,
            // Windows' own are known.
            ..=BASE_INDEX => Cost::Global,
            _ => Cost::Unknown,
        }
    }

    /// The catalogue of what a reply holds of the objects `only`, or of all.
    pub(super) fn keep(
        &mut self,
        snapshot: &Snapshot,
        only: Option<&[TitleIndex]>,
    ) -> Arc<Catalogue> {
        // Now that it was reached, another machine has told what was counted last.
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
        // What is found besides takes nothing from what is whole.
        self.is_whole = only.is_none() || self.is_whole && had_any;
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

    /// All that there is, as far as it is part of `Global` or was found by itself.
    pub(super) fn look_for_all(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let mut snapshot = Snapshot::new();
        self.fetch(&Ask::new(ObjectQuery::Global), &mut snapshot)?;
        self.asked_all = true;
        let catalogue = self.keep(&snapshot, None);
        let is_left =
            |name: &&TitleIndex| self.known.contains(**name) && catalogue.object(**name).is_none();
        let left: Vec<TitleIndex> = self.looked_for.iter().filter(is_left).copied().collect();
        // Without them the rest is as good.
        let catalogue = match left.is_empty() {
            true => catalogue,
            false => self.look_for(&left).unwrap_or(catalogue),
        };
        self.unsure = false;
        Ok(catalogue)
    }

    /// Finds out which of some objects there are, and nothing else; together with those
    /// that were looked for before the catalogue was outdated.
    pub(super) fn look_for(
        &mut self,
        wanted: &[TitleIndex],
    ) -> Result<Arc<Catalogue>, SourceError> {
        // Each once, as one may be wanted for several reasons.
        let mut once = HashSet::new();
        let wanted: Vec<TitleIndex> =
            wanted.iter().copied().filter(|name| *name != NOBODY && once.insert(*name)).collect();
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
            // What nobody has tells of the machine itself.
            None if self.looked_for.is_empty() => vec![NOBODY],
            None => self.looked_for.clone(),
        };
        let mut snapshot = Snapshot::new();
        let found = self.fetch(&Ask::new(ObjectQuery::Indexes(list.clone())), &mut snapshot);
        let list = match (found, &self.catalogue) {
            (Ok(()), _) => list,
            // Part of what is wanted is known, and asking for the rest tells why it is
            // not there. Who is denied that is denied all.
            (Err(error), Some(kept))
                if error.kind() != SourceErrorKind::Denied
                    && wanted.iter().any(|name| kept.object(*name).is_some()) =>
            {
                return Ok(Arc::clone(kept));
            }
            // What others looked for before is not to cost anybody what he wants.
            (Err(_), None) if list != wanted && list != [NOBODY] => {
                let list = if wanted.is_empty() { vec![NOBODY] } else { wanted };
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

fn add_costly(costly: &Option<Vec<CatalogueObject>>, catalogue: &mut Catalogue) {
    for entry in costly.iter().flatten() {
        if catalogue.object(entry.name).is_none() {
            catalogue.objects.push(entry.clone());
        }
    }
}
