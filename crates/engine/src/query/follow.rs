//! Paths through catalogues that change while a query is open.
//!
//! What is asked of a source are indexes, and an index may go to another object
//! or counter. So the catalogue's generation is looked at before a collection,
//! and again after it: what came is what was asked for only if the indexes mean
//! the same still.

use super::names::names_match;
use super::sample::ObjectState;
use super::{Query, QueryError, Target, resolve};
use crate::ask::{Ask, ObjectQuery};
use crate::error::{SourceError, SourceErrorKind};
use crate::followed::ATTEMPTS;
use crate::path::CounterPath;
use crate::source::Catalogue;
use crate::titles::TitleSet;
use perfhive_format::TitleIndex;
use std::time::Instant;

/// What a new catalogue means for the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// Nothing.
    None,
    /// They lead to other objects and counters, or to more or fewer.
    Others,
    /// An index that they led to is another's: what was sampled with it is
    /// nobody's.
    Lost,
}

impl Query {
    /// Collects what the paths need of one source into the snapshot; again, if
    /// indexes got other meanings meanwhile.
    ///
    /// # Errors
    /// The source's own; a source that cannot say what its indexes mean now, or
    /// changes that all the time.
    pub(super) fn collect_slot(
        &mut self,
        number: usize,
        deadline: Option<Instant>,
    ) -> Result<(), SourceError> {
        self.follow(number, deadline)?;
        let mut change = Change::None;
        for _ in 0..ATTEMPTS {
            let Ok(slot) = self.sources.slot_mut(number) else { return Ok(()) };
            let request = Ask {
                extra_counters: slot.extra.clone(),
                until: deadline,
                ..Ask::new(ObjectQuery::Indexes(slot.wanted.clone()))
            };
            slot.source.collect(&request, &mut self.snapshot)?;
            slot.taken += 1;
            change = self.follow(number, deadline)?;
            if change == Change::None {
                return Ok(());
            }
        }
        match change {
            // What is new has no data yet, and says so.
            Change::None | Change::Others => Ok(()),
            Change::Lost => {
                let name = self.sources.slot(number).map(|slot| slot.source.name().to_string());
                Err(changing(&name.unwrap_or_default()))
            }
        }
    }

    /// Resolves the paths anew for a source whose catalogue or titles changed. A
    /// path that no longer leads anywhere keeps its old targets, which then
    /// report what is missing.
    ///
    /// An index may have gone to another provider meanwhile, which the names
    /// tell. What was sampled under it is forgotten then, lest a value be made
    /// of the samples of two.
    fn follow(&mut self, number: usize, until: Option<Instant>) -> Result<Change, SourceError> {
        let Ok(slot) = self.sources.slot_mut(number) else { return Ok(Change::None) };
        let Some(before) = slot.renamed(until)? else { return Ok(Change::None) };
        let mut found = Vec::new();
        for item in &self.items {
            if !item.targets.iter().any(|target| target.slot == number) {
                found.push(None);
                continue;
            }
            let targets = resolve(slot, &item.path, until);
            let error = match &targets {
                Err(QueryError::Source(error)) => Some(error),
                // Of a pattern there may be more.
                _ => slot.failure(),
            };
            if let Some(error) = error.filter(|error| is_over(error, until)) {
                let error = error.clone();
                slot.follow_again(before);
                return Err(error);
            }
            found.push(Some(targets));
        }
        let mut change = Change::None;
        for (item, found) in self.items.iter_mut().zip(found) {
            let Some(found) = found else { continue };
            let (mut mine, others): (Vec<_>, Vec<_>) =
                item.targets.iter().copied().partition(|target| target.slot == number);
            for target in &mut mine {
                for index in [target.object, target.counter.name] {
                    let known = before.name(index).filter(|_| !target.lost);
                    if let Some(name) = known.filter(|_| known != slot.titles.name(index)) {
                        self.former.insert((number, index), name.into());
                    }
                }
                let is_other = [target.object, target.counter.name]
                    .iter()
                    .any(|index| is_other(&before, &slot.titles, *index));
                let is_lost = match &found {
                    Ok(_) => is_other,
                    // The object of the name is of another kind.
                    Err(QueryError::NeedsInstance { .. } | QueryError::HasNoInstances { .. }) => {
                        true
                    }
                    // What nobody can tell now is not known to be another's.
                    Err(QueryError::Source(_)) => is_other,
                    Err(_) => {
                        is_other || is_in_use(&slot.catalogue, &slot.titles, &item.path, target)
                    }
                };
                if is_lost && (is_other || !target.lost) {
                    self.objects.insert((number, target.object), ObjectState::default());
                    change = Change::Lost;
                }
                target.lost |= is_lost;
            }
            let Ok(found) = found else {
                item.targets = others.into_iter().chain(mine).collect();
                continue;
            };
            let target = |(object, counter)| Target { slot: number, object, counter, lost: false };
            let found: Vec<Target> = found.into_iter().map(target).collect();
            let indexes = |target: &Target| (target.object, target.counter.name);
            if !found.iter().map(indexes).eq(mine.iter().map(indexes)) {
                change = change.max(Change::Others);
            }
            item.targets = others.into_iter().chain(found).collect();
        }
        slot.clear_wants();
        let of_slot = |target: &&Target| target.slot == number;
        let targets = || self.items.iter().flat_map(|item| &item.targets).filter(of_slot);
        let there = targets().filter(|target| !target.lost);
        there.for_each(|target| slot.want(target.object, &target.counter));
        if slot.wanted.is_empty() {
            // A cache knows of changes by collections only: without any, what is
            // lost would stay so.
            targets().for_each(|target| slot.want(target.object, &target.counter));
        }
        for target in targets() {
            self.objects.entry((number, target.object)).or_default();
        }
        let is_used = |index: TitleIndex| {
            targets().any(|target| target.object == index || target.counter.name == index)
        };
        self.former.retain(|(slot, index), _| *slot != number || is_used(*index));
        let wanted = &slot.wanted;
        self.objects.retain(|(slot, object), _| *slot != number || wanted.contains(object));
        Ok(change)
    }
}

/// Whether a source has no more time for this sample. One that does not answer for a single
/// object costs nobody else his.
fn is_over(error: &SourceError, until: Option<Instant>) -> bool {
    match error.kind() {
        SourceErrorKind::Busy => true,
        SourceErrorKind::Deadline => until.is_some_and(|until| until <= Instant::now()),
        _ => false,
    }
}

/// Whether an index has another name now.
fn is_other(before: &TitleSet, now: &TitleSet, index: TitleIndex) -> bool {
    matches!((before.name(index), now.name(index)), (Some(old), Some(new)) if old != new)
}

/// Whether the indexes of a target are those of an object or counter that the
/// path does not mean.
fn is_in_use(
    catalogue: &Catalogue,
    titles: &TitleSet,
    path: &CounterPath,
    target: &Target,
) -> bool {
    catalogue.object(target.object).is_some_and(|object| {
        !names_match(titles, &path.object, object.name)
            || object
                .counter(target.counter.name)
                .is_some_and(|counter| !names_match(titles, &path.counter, counter.name))
    })
}

pub(crate) const CHANGING: &str = "its title indexes change while it is collected; try again";

/// That indexes changed with every collection.
pub(crate) fn changing(source: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Busy, source, CHANGING)
}
