//! [`Beside`]: a source together with the objects that programs publish.

use crate::condition::{NameEvent, Owner};
use perfhive_engine::{
    Ask, Broker, CHOSEN_INDEXES, Catalogue, NO_OBJECT, ObjectQuery, ProviderStatus, Snapshot,
    Source, SourceError, SourceErrorKind, TitleDatabase, TitleSet,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The objects of two sources: on Windows those of the registry (the first source) and those that
/// programs publish in shared memory (the second source), which the registry does not know.
///
/// Published objects have indexes from [`CHOSEN_INDEXES`] on, which no registry allots. So the
/// index of an object tells its source. If objects of both are asked for and one source fails, a sample
/// has the objects of the other, with a fault.
///
/// A deadline does not change which source answers an ask. The calls of the first source have
/// timeouts of their own, and callers with deadlines ask through a
/// [`Worker`](perfhive_engine::Worker).
///
/// # Names
///
/// A published name is refused while the first source has an object of that name, or cannot tell
/// yet whether it has one. So a path with that name keeps its meaning.
///
/// The first source is asked for the objects of published names only. The section about published
/// names in `condition.rs` has a table of what follows from its answers. The names are asked for
/// again when the generation of the first source changes, when a new name is published, and, after an
/// incomplete answer, with each request for the catalogue. A sample asks only if it comes before any
/// request for the catalogue:
/// otherwise a provider that hangs would make each sample miss its deadline.
pub struct Beside<A, B> {
    first: A,
    second: B,
    /// The parts of the last ask, one for each source, kept for their allocations.
    asked: [Ask; 2],
    /// The last answer of the second source, kept for its allocations.
    answer: Snapshot,
    catalogue: Option<MergedCatalogue>,
    /// The generations of both sources when they were last compared; `None` before that.
    generations: Option<[u64; 2]>,
    /// The published names, each with its owner in the first source.
    names: HashMap<String, Owner>,
    /// Whether no name has to be asked for again in the first source.
    is_settled: bool,
    generation: u64,
}

/// If more names than this are known, those that are no longer published and have no owner in the
/// first source are dropped.
const NAMES: usize = 1024;

/// A catalogue of both sources, with the two catalogues from which it was made.
struct MergedCatalogue {
    of: [Arc<Catalogue>; 2],
    merged: Arc<Catalogue>,
}

/// A source that can leave out objects with names that another source has.
pub trait Yielding: Source {
    /// Sets the names that this source must not serve: the `taken` names belong to objects of
    /// another source, and the `unknown` names may belong to such objects. The two sets replace the
    /// sets of the last call.
    fn reserve(&mut self, taken: &HashSet<String>, unknown: &HashSet<String>);
}

impl Yielding for Broker {
    fn reserve(&mut self, taken: &HashSet<String>, unknown: &HashSet<String>) {
        self.reserve_names(taken, unknown);
    }
}

impl<A: Source, B: Yielding> Beside<A, B> {
    /// A source with the objects of both sources.
    pub fn new(first: A, second: B) -> Self {
        let nothing = || Ask::new(ObjectQuery::Indexes(Vec::new()));
        Self {
            first,
            second,
            asked: [nothing(), nothing()],
            answer: Snapshot::new(),
            catalogue: None,
            generations: None,
            names: HashMap::new(),
            is_settled: true,
            generation: 0,
        }
    }

    /// Divides the `wanted` objects by their source into the two asks of `asked`. Returns for each
    /// source whether any of the objects are its own. Allocates nothing once the lists are large
    /// enough.
    fn divide(&mut self, ask: &Ask, wanted: &[TitleIndex]) -> [bool; 2] {
        let is_second = |name: &TitleIndex| name.0 >= CHOSEN_INDEXES;
        let mut any = [false; 2];
        for ((asked, any), is_for_second) in self.asked.iter_mut().zip(&mut any).zip([false, true])
        {
            asked.copy_conditions(ask);
            let ObjectQuery::Indexes(list) = &mut asked.objects else { continue };
            list.clear();
            list.extend(wanted.iter().filter(|name| is_second(name) == is_for_second));
            *any = !list.is_empty();
        }
        any
    }

    /// The generations of both sources' catalogues. For a source that does not answer, it is the
    /// generation that was noted last.
    fn generations(&mut self) -> [u64; 2] {
        let ask = Ask::nothing();
        let [mine, theirs] = self.generations.unwrap_or_default();
        let now = |catalogue: Result<Arc<Catalogue>, SourceError>, before| {
            catalogue.map_or(before, |catalogue| catalogue.generation)
        };
        [now(self.first.catalogue(&ask), mine), now(self.second.catalogue(&ask), theirs)]
    }

    /// Finds the owners of the published names again, if a generation changed, and for a request
    /// for the catalogue also if some owners are not known yet. Returns the generation of this
    /// source.
    fn look(&mut self, is_for_catalogue: bool) -> u64 {
        let now = self.generations();
        let is_other = self.generations != Some(now);
        if is_other || is_for_catalogue && !self.is_settled {
            if is_other {
                self.learn_names();
                self.is_settled &= self.generations.is_some_and(|[first, _]| first == now[0]);
            }
            if !self.is_settled {
                self.is_settled = self.judge_names().is_some();
            }
            let having = |owner| {
                let names = self.names.iter().filter(move |(_, known)| **known == owner);
                names.map(|(name, _)| name.clone()).collect()
            };
            let (taken, unknown) = (having(Owner::Registry), having(Owner::Unknown));
            self.second.reserve(&taken, &unknown);
            // Looking for objects may have changed the first generation, and refusing names the
            // second.
            let now = self.generations();
            self.generation += u64::from(is_other || self.generations != Some(now));
            self.generations = Some(now);
        }
        self.generation
    }

    /// Adds the names of the published objects, in all languages of the second source, to the known
    /// names; a new name has no known owner yet.
    fn learn_names(&mut self) {
        let ask = Ask::everything();
        let Ok(theirs) = self.second.catalogue(&ask) else { return };
        let mut published: Vec<String> = Vec::new();
        for language in &theirs.languages {
            let Ok(titles) = self.second.titles(*language, &ask) else { continue };
            let names = theirs.objects.iter().filter_map(|one| titles.name(one.name));
            published.extend(names.map(str::to_string));
        }
        if self.names.len() > NAMES {
            // An object with a refused name is in no list, although it may still be published.
            self.names.retain(|name, owner| *owner != Owner::Nothing || published.contains(name));
        }
        for name in published {
            self.names.entry(name).or_insert_with(|| {
                self.is_settled = false;
                Owner::Unknown
            });
        }
    }

    /// Asks the first source for the objects of all published names, and updates the owners of the
    /// names. `None` if an answer about any name is late, so that it must be asked for again. A
    /// source or title list that cannot be read is no reason to ask again.
    fn judge_names(&mut self) -> Option<()> {
        if self.names.is_empty() {
            return Some(());
        }
        let nothing = Ask::nothing();
        let mine = match self.first.catalogue(&nothing) {
            Ok(mine) => mine,
            Err(error) if error.is_transient() => return None,
            Err(_) => {
                self.names.values_mut().for_each(|owner| owner.on(NameEvent::Unreadable));
                return Some(());
            }
        };
        let is_broken = self.first.catalogue(&Ask::objects(&[NO_OBJECT])).is_err();
        let mut titles = TitleSet::default();
        for language in &mine.languages {
            // After a late list, the others are not waited for.
            titles.add([*language], |language| self.first.titles(language, &nothing)).ok()?;
        }
        // The names of a late list are missing only for now. Those of a damaged list will not come.
        let is_late =
            |titles: &Arc<TitleDatabase>| titles.lacks().is_some_and(|e| e.is_transient());
        let is_late = !is_broken && titles.databases().iter().any(is_late);
        let is_partial = titles.lacks().is_some();
        let mut settled = Some(());
        for (name, owner) in &mut self.names {
            let meant = titles.indexes(name.trim());
            let has = |mine: Arc<Catalogue>| meant.iter().any(|one| mine.object(*one).is_some());
            let answer = match meant.is_empty() {
                true => Ok(false),
                false => self.first.catalogue(&Ask::objects(&meant)).map(has),
            };
            let event = match answer {
                Ok(true) => NameEvent::Listed,
                Ok(false) if is_late => NameEvent::Late,
                Ok(false) if is_partial => NameEvent::Unreadable,
                Ok(false) => NameEvent::Absent,
                Err(_) if is_broken => NameEvent::Unreadable,
                Err(_) => NameEvent::Late,
            };
            owner.on(event);
            if event == NameEvent::Late {
                settled = None;
            }
        }
        settled
    }
}

/// Whether an ask lists at least one object by index, and the catalogue `theirs` has none of the
/// listed objects.
fn is_for_none(ask: &Ask, theirs: &Catalogue) -> bool {
    let ObjectQuery::Indexes(list) = &ask.objects else { return false };
    !list.is_empty() && list.iter().all(|name| theirs.object(*name).is_none())
}

impl<A: Source, B: Yielding> Source for Beside<A, B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        if self.generations.is_none() {
            self.look(false);
        }
        let [first, second] = match &request.objects {
            ObjectQuery::Indexes(wanted) => self.divide(request, wanted),
            ObjectQuery::Global => [true, true],
            // Published objects are neither costly nor foreign.
            ObjectQuery::Costly | ObjectQuery::Foreign(_) => [true, false],
        };
        if !second {
            return self.first.collect(request, out);
        }
        if !first {
            return self.second.collect(request, out);
        }
        let [for_first, for_second] = match request.objects {
            ObjectQuery::Indexes(_) => self.asked.each_ref(),
            _ => [request, request],
        };
        let mine = self.first.collect(for_first, out);
        let theirs = self.second.collect(for_second, &mut self.answer);
        match (mine, theirs) {
            (Ok(()), Ok(())) => out.push_all_of(&self.answer),
            (Ok(()), Err(error)) => out.push_source_failed(&for_second.objects, &error),
            (Err(error), Ok(())) => {
                out.clear();
                out.push_all_of(&self.answer);
                out.push_source_failed(&for_first.objects, &error);
            }
            (Err(error), Err(_)) => return Err(error),
        }
        self.answer.clear();
        Ok(())
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let mut mine = self.first.catalogue(ask);
        // The request may have found more objects in the first source, which take more names.
        let generation = self.look(!ask.is_nothing());
        let theirs = self.second.catalogue(ask);
        if let (Err(_), Ok(theirs), ObjectQuery::Indexes(_)) = (&mine, &theirs, &ask.objects)
            && !ask.is_nothing()
            && !is_for_none(ask, theirs)
        {
            // The other objects of the first source are listed all the same.
            mine = self.first.catalogue(&Ask::nothing()).or(mine);
        }
        let (mine, theirs) = match (mine, theirs) {
            (Ok(mine), Ok(theirs)) => (mine, theirs),
            (Err(error), Err(_)) => return Err(error),
            // An ask for objects gets the reason why they are not known. While one catalogue is
            // late, the other alone is no answer.
            (Err(error), Ok(theirs))
                if error.is_transient()
                    || is_for_none(ask, &theirs)
                    || ask.objects == ObjectQuery::Costly =>
            {
                return Err(error);
            }
            // The catalogue of one source alone is returned, but not kept.
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => {
                return Ok(Arc::new(Catalogue::clone(&one).with_generation(generation)));
            }
        };
        if let Some(MergedCatalogue { of: [first, second], merged }) = &self.catalogue
            && (first, second) == (&mine, &theirs)
            && merged.generation == generation
        {
            return Ok(Arc::clone(merged));
        }
        let mut merged = Catalogue::clone(&mine);
        merged.objects.retain(|object| object.name.0 < CHOSEN_INDEXES);
        merged.objects.extend(theirs.objects.iter().cloned());
        for language in &theirs.languages {
            if !merged.languages.contains(language) {
                merged.languages.push(*language);
            }
        }
        merged.generation = generation;
        let merged = Arc::new(merged);
        self.catalogue = Some(MergedCatalogue { of: [mine, theirs], merged: Arc::clone(&merged) });
        Ok(merged)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        let theirs = self.second.titles(language, ask);
        match self.first.titles(language, ask) {
            Ok(mine) => {
                // A program publishes its names in one language.
                let theirs = theirs.or_else(|_| self.second.titles(LanguageId::ENGLISH, ask));
                Ok(theirs.map_or(mine.clone(), |theirs| Arc::new(mine.completed_by(&theirs))))
            }
            // The names of the first source may come later.
            Err(error) if error.is_transient() => Err(error),
            Err(error) if error.kind() == SourceErrorKind::NotFound => theirs.map_err(|_| error),
            // No name of the first source is known.
            Err(error) => match theirs {
                Ok(theirs) => Ok(Arc::new(theirs.lacking(error))),
                Err(_) => Err(error),
            },
        }
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let mut providers = self.first.providers(ask)?;
        providers.extend(self.second.providers(ask)?);
        Ok(providers)
    }
}

#[cfg(test)]
mod tests;
