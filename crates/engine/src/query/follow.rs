//! How the paths of a query are resolved again when a catalogue changes.

use super::error::QueryError;
use super::lookup::Directory;
use super::names::names_match;
use super::sample::ObjectState;
use super::{AddedPath, Query, Target};
use crate::ask::{Ask, ObjectQuery};
use crate::error::{SourceError, SourceErrorKind};
use crate::followed::{IndexChange, changing, is_renamed, sample_followed};
use crate::frame::Snapshot;
use crate::identity::IdentityMap;
use crate::path::CounterPath;
use perfhive_format::TitleIndex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

impl Query {
    /// Collects what the paths need of one source into the snapshot.
    ///
    /// # Errors
    /// The failure of the source to collect, or to return the present meaning of its indexes;
    /// [`SourceErrorKind::Changing`] if the indexes change with every attempt.
    pub(super) fn collect_slot(
        &mut self,
        number: usize,
        deadline: Option<Instant>,
    ) -> Result<(), SourceError> {
        let follow = |query: &mut Self| query.follow(number, deadline);
        let collect = |query: &mut Self| query.collect_wanted(number, deadline);
        let Some(_) = sample_followed(self, follow, collect)? else {
            let name = self.sources.slot(number).map(|slot| slot.lookup.source.name().to_string());
            return Err(changing(&name.unwrap_or_default()));
        };
        Ok(())
    }

    /// Collects the wanted objects of one source into the snapshot. If the source left instances
    /// out and a path found none, all instances are collected. If a path that is new finds none in
    /// data that a cache had collected before, fresh data is collected.
    fn collect_wanted(
        &mut self,
        number: usize,
        deadline: Option<Instant>,
    ) -> Result<(), SourceError> {
        let max_age = self.max_age;
        let Ok(slot) = self.sources.slot_mut(number) else { return Ok(()) };
        let mut request = Ask {
            extra_counters: slot.extra.clone(),
            instances: slot.wishes.asked(),
            enough: slot.enough.clone(),
            until: deadline,
            max_age,
            ..Ask::new(ObjectQuery::Indexes(slot.wanted.clone()))
        };
        slot.lookup.source.collect(&request, &mut self.snapshot)?;
        // The names of all instances are needed to say what a path could have meant.
        if slot.wishes.missed(&self.snapshot) {
            request.instances.clear();
            slot.lookup.source.collect(&request, &mut self.snapshot)?;
        }
        slot.taken += 1;
        let first = self.snapshot.frames().first();
        slot.reached = first.map(|frame| frame.time()).or(slot.reached);
        if std::mem::take(&mut slot.wishes.is_new) && !self.snapshot.age().is_zero() {
            self.look_for_young(number, request);
        }
        Ok(())
    }

    /// Collects fresh data with all instances if a path to this source found no instance in the
    /// snapshot: the instance may have begun after the snapshot's data was collected. If the
    /// collection fails, or the new data lacks an object, the snapshot stays.
    fn look_for_young(&mut self, number: usize, mut request: Ask) {
        let mut instances = HashMap::new();
        let paths = self.items.iter().flat_map(|item| item.targets.iter().map(|t| (&item.path, t)));
        let mut paths = paths.filter(|(_, target)| target.slot == number);
        let is_missing = paths.any(|(path, target)| {
            let (Some(pattern), Some(object)) =
                (&path.instance, self.snapshot.object(target.object))
            else {
                return false;
            };
            let (labels, identities) = instances
                .entry(target.object)
                .or_insert_with(|| (object.labels(), IdentityMap::of(object)));
            pattern.among(labels, identities.identities()).next().is_none()
        });
        let Ok(slot) = self.sources.slot_mut(number) else { return };
        if !is_missing {
            return;
        }
        (request.max_age, request.instances) = (Some(Duration::ZERO), Vec::new());
        let mut fresh = Snapshot::new();
        let collected = slot.lookup.source.collect(&request, &mut fresh);
        let is_in = |name: TitleIndex| fresh.object(name).is_some();
        let has_all = self.snapshot.objects().all(|object| is_in(object.view().name_index()));
        if collected.is_ok() && has_all {
            self.snapshot = fresh;
            return;
        }
        slot.wishes.is_new = true;
        if let Err(error) = collected {
            self.snapshot.push_source_failed(&request.objects, &error);
        }
    }

    /// Resolves the paths again if the catalogue or titles of a source changed, and returns what
    /// that means for a sample taken before. A path that means nothing now keeps its old targets,
    /// the counters that it meant; their readings then say what is missing. After an error of the
    /// source, the next call tries again.
    ///
    /// If an index belongs to another object now, the samples taken by that index are dropped, so
    /// that no value is made of samples of two objects.
    fn follow(
        &mut self,
        number: usize,
        until: Option<Instant>,
    ) -> Result<IndexChange, SourceError> {
        let Ok(slot) = self.sources.slot_mut(number) else { return Ok(IndexChange::None) };
        if !slot.take_change(until)? {
            return Ok(IndexChange::None);
        }
        let mut found = Vec::new();
        for item in &self.items {
            if !item.targets.iter().any(|target| target.slot == number) {
                found.push(None);
                continue;
            }
            let targets = slot.resolve(&item.path, until);
            let error = match &targets {
                Err(QueryError::Source(error)) => Some(error),
                // A pattern may match more objects than could be found out.
                _ => slot.lookup.failure(),
            };
            if let Some(error) = error.filter(|error| is_over(error, until)).cloned() {
                slot.lookup.put_change_back();
                return Err(error);
            }
            found.push(Some(targets));
        }
        let mut change = IndexChange::None;
        for (item, found) in self.items.iter_mut().zip(found) {
            let Some(found) = found else { continue };
            let targets = std::mem::take(&mut item.targets);
            let (mut mine, mut others) = (Vec::new(), Vec::new());
            for target in targets {
                let list = if target.slot == number { &mut mine } else { &mut others };
                list.push(target);
            }
            for target in &mut mine {
                let is_lost = target.is_lost(slot.directory(), &item.path, found.as_ref().err());
                if is_lost || target.lost {
                    self.objects.insert((number, target.object), ObjectState::default());
                }
                let is_taken = match found {
                    // A lost target that is found again has no sample of its own.
                    Ok(_) => is_lost || target.lost,
                    Err(_) => is_lost && !target.lost,
                };
                if is_taken {
                    change = IndexChange::Taken;
                }
                target.lost |= is_lost;
            }
            let mut now = match found {
                Ok(found) => slot.targets(number, found),
                Err(_) => {
                    others.append(&mut mine);
                    item.targets = others;
                    continue;
                }
            };
            if !now.iter().map(Target::indexes).eq(mine.iter().map(Target::indexes)) {
                change = change.max(IndexChange::Others);
            }
            others.append(&mut now);
            item.targets = others;
        }
        slot.clear_wants();
        let mut targets = Vec::new();
        for AddedPath { path, targets: all, .. } in &self.items {
            for target in all.iter().filter(|target| target.slot == number) {
                targets.push((target, path.instance.as_ref()));
                self.objects.entry((number, target.object)).or_default();
            }
        }
        for (target, instance) in targets.iter().filter(|(target, _)| !target.lost) {
            slot.want(target.object, &target.counter, *instance);
        }
        if slot.wanted.is_empty() {
            // A cache notices changes only when it collects: without any collection a lost
            // target would stay lost.
            for (target, instance) in targets {
                slot.want(target.object, &target.counter, instance);
            }
        }
        let wanted = &slot.wanted;
        self.objects.retain(|(slot, object), _| *slot != number || wanted.contains(object));
        Ok(change)
    }
}

impl Target {
    /// Whether the object's index still has its name, while the counter's index has another name.
    pub(super) fn keeps_object(&self, now: &Directory) -> bool {
        let names = self.names.iter().zip(self.indexes());
        let renamed =
            names.map(|(name, index)| is_renamed(name.as_deref(), now.titles.name(index)));
        renamed.eq([false, true])
    }

    /// Whether an index of this target belongs to another object or counter now. If the path means
    /// nothing now, `error` is the reason.
    fn is_lost(&self, now: &Directory, path: &CounterPath, error: Option<&QueryError>) -> bool {
        let mut names = self.names.iter().zip(self.indexes());
        if names.any(|(name, index)| is_renamed(name.as_deref(), now.titles.name(index))) {
            return true;
        }
        match error {
            // An error of the source does not prove that the index has another owner.
            None | Some(QueryError::Source(_)) => false,
            // The object of this name has instances now, or has none any more: it is another
            // object.
            Some(QueryError::NeedsInstance { .. } | QueryError::HasNoInstances { .. }) => true,
            Some(_) => now.catalogue.object(self.object).is_some_and(|object| {
                let counter = object.counter(self.counter.name);
                !names_match(&now.titles, &path.object, object.name)
                    || counter.is_some_and(|counter| {
                        !names_match(&now.titles, &path.counter, counter.name)
                    })
            }),
        }
    }
}

/// Whether an error ends the attempt to take a sample. It does if the source is busy or changing,
/// or if the source is late and the deadline has passed. A source that is late for one object while
/// time is left does not end the sample of the other objects.
fn is_over(error: &SourceError, until: Option<Instant>) -> bool {
    match error.kind() {
        SourceErrorKind::Busy | SourceErrorKind::Changing => true,
        SourceErrorKind::Deadline => until.is_some_and(|until| until <= Instant::now()),
        _ => false,
    }
}
