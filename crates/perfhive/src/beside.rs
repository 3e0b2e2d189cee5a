//! What programs publish, beside another source.

use perfhive_engine::{
    Broker, CHOSEN_INDEXES, Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Request,
    Snapshot, Source, SourceError, TitleDatabase, Wanted, note_growth,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::HashSet;
use std::sync::Arc;

/// A source with the objects of a second one beside its own: on Windows the
/// registry's, and those that programs publish, which the registry knows nothing
/// of. The second one's have indexes from [`CHOSEN_INDEXES`] on, where no registry
/// allots any, so that it is known of every object whose it is.
///
/// Where one of them fails and was not asked alone, what the other has is there, with a
/// fault. What is published under the name of one of the first one's objects is not
/// served: a path is to mean what it always meant. The first one is asked for the objects
/// of such names, and for no others that nobody wants.
pub(crate) struct Beside<A, B> {
    first: A,
    second: B,
    /// What each is asked, and what the second one answered; kept for their
    /// memory.
    asked: [Request; 2],
    answer: Snapshot,
    /// What was said last of one that failed, put into words once.
    lost: Option<Fault>,
    catalogue: Option<Kept>,
    /// The generations of both, as of the last look.
    generations: Option<[u64; 2]>,
    /// Names that the first one has objects of, and names that it has none of, as far as
    /// somebody published under them.
    taken: HashSet<String>,
    free: HashSet<String>,
    /// How often they were others.
    generation: u64,
}

/// A catalogue of both, and those that it was made of.
struct Kept {
    of: [Arc<Catalogue>; 2],
    merged: Arc<Catalogue>,
}

/// A source that leaves names to others.
pub(crate) trait Yielding: Source {
    /// Serves nothing under these names any more.
    fn reserve(&mut self, names: &HashSet<String>);
}

impl Yielding for Broker {
    fn reserve(&mut self, names: &HashSet<String>) {
        self.reserve_names(names);
    }
}

impl<A: Source, B: Yielding> Beside<A, B> {
    pub(crate) fn new(first: A, second: B) -> Self {
        let nothing = || Request::new(ObjectQuery::Indexes(Vec::new()));
        Self {
            first,
            second,
            asked: [nothing(), nothing()],
            answer: Snapshot::new(),
            lost: None,
            catalogue: None,
            generations: None,
            taken: HashSet::new(),
            free: HashSet::new(),
            generation: 0,
        }
    }

    /// Divides a list of objects; answers whether there is anything for each. No
    /// memory is taken once the lists are large enough.
    fn divide(&mut self, request: &Request, wanted: &[TitleIndex]) -> [bool; 2] {
        let is_second = |name: &TitleIndex| name.0 >= CHOSEN_INDEXES;
        let mut any = [false; 2];
        let before = self.room();
        for (place, asked) in self.asked.iter_mut().enumerate() {
            asked.extra_counters.clone_from(&request.extra_counters);
            asked.max_age = request.max_age;
            asked.deadline = request.deadline;
            let ObjectQuery::Indexes(list) = &mut asked.objects else { continue };
            list.clear();
            list.extend(wanted.iter().filter(|name| is_second(name) == (place == 1)));
            if let Some(any) = any.get_mut(place) {
                *any = !list.is_empty();
            }
        }
        if self.room() != before {
            note_growth();
        }
        any
    }

    /// How much there is room for in the lists.
    fn room(&self) -> usize {
        let room = |asked: &Request| match &asked.objects {
            ObjectQuery::Indexes(list) => list.capacity() + asked.extra_counters.capacity(),
            _ => asked.extra_counters.capacity(),
        };
        self.asked.iter().map(room).sum()
    }

    /// Has the second one leave the names of the first one's objects, in every language
    /// that it has; all of them anew where the first one is another.
    fn reserve(&mut self, is_other: bool) {
        note_growth();
        if is_other {
            self.free.clear();
            if !self.taken.is_empty() {
                self.taken.clear();
                self.second.reserve(&self.taken);
            }
        }
        let Ok(theirs) = self.second.catalogue() else { return };
        let mut published: Vec<String> = Vec::new();
        for language in &theirs.languages {
            let Ok(titles) = self.second.titles(*language) else { continue };
            let names = theirs.objects.iter().filter_map(|one| titles.name(one.name));
            published.extend(names.map(str::to_string));
        }
        published.retain(|name| !self.taken.contains(name) && !self.free.contains(name));
        if published.is_empty() {
            return;
        }
        let Ok(mine) = self.first.catalogue_for(Wanted::Nothing) else { return };
        let titles: Vec<_> =
            mine.languages.iter().filter_map(|one| self.first.titles(*one).ok()).collect();
        let before = self.taken.len();
        for name in published {
            let meant: Vec<TitleIndex> =
                titles.iter().flat_map(|titles| titles.indexes(&name)).copied().collect();
            let has = |mine: Arc<Catalogue>| meant.iter().any(|one| mine.object(*one).is_some());
            let is_taken = !meant.is_empty()
                && self.first.catalogue_for(Wanted::Objects(&meant)).is_ok_and(has);
            if is_taken {
                self.taken.insert(name)
            } else {
                self.free.insert(name)
            };
        }
        if self.taken.len() > before {
            self.second.reserve(&self.taken);
        }
    }
}

/// Whether objects are wanted of which a catalogue has none.
fn is_for_none(wanted: Wanted<'_>, theirs: &Catalogue) -> bool {
    let Wanted::Objects(list) = wanted else { return false };
    list.iter().all(|name| theirs.object(*name).is_none())
}

/// What there is to say of one that failed: of each object that it was asked for.
fn tell(error: &SourceError, asked: &Request, known: &mut Option<Fault>, out: &mut Snapshot) {
    let is_it = |fault: &Fault| {
        *fault.message == *error.message() && *fault.provider == *error.source_name()
    };
    let fault = match known.take().filter(is_it) {
        Some(fault) => fault,
        None => Fault::new(FaultKind::SourceFailed, error.source_name(), error.message()),
    };
    *known = Some(fault.clone());
    match &asked.objects {
        ObjectQuery::Indexes(list) => {
            list.iter().for_each(|name| out.push_fault(fault.clone().of_object(*name)));
        }
        _ => out.push_fault(fault),
    }
}

impl<A: Source, B: Yielding> Source for Beside<A, B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        if self.generations.is_none() {
            self.catalogue_generation();
        }
        let [first, second] = match &request.objects {
            ObjectQuery::Indexes(wanted) => self.divide(request, wanted),
            ObjectQuery::Global => [true, true],
            // What is published is neither.
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
        let grown = out.has_grown();
        let theirs = self.second.collect(for_second, &mut self.answer);
        if grown || self.answer.has_grown() {
            // The first one's, should its part be cleared.
            note_growth();
        }
        match (mine, theirs) {
            (Ok(()), Ok(())) => out.push_all_of(&self.answer),
            (Ok(()), Err(error)) => tell(&error, for_second, &mut self.lost, out),
            (Err(error), Ok(())) => {
                out.clear();
                out.push_all_of(&self.answer);
                tell(&error, for_first, &mut self.lost, out);
            }
            (Err(error), Err(_)) => return Err(error),
        }
        self.answer.clear();
        Ok(())
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.catalogue_for(Wanted::Everything)
    }

    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        let mut mine = self.first.catalogue_for(wanted);
        // The first one may have more by that, which leaves less to the second one.
        let generation = self.catalogue_generation();
        let theirs = self.second.catalogue_for(wanted);
        if let (Err(_), Ok(theirs), Wanted::Objects(_)) = (&mine, &theirs, wanted)
            && !is_for_none(wanted, theirs)
        {
            // What it has besides is there all the same.
            mine = self.first.catalogue_for(Wanted::Nothing).or(mine);
        }
        let (mine, theirs) = match (mine, theirs) {
            (Ok(mine), Ok(theirs)) => (mine, theirs),
            (Err(error), Err(_)) => return Err(error),
            // Who wants some objects is to hear why it is not known whether there are any.
            (Err(error), Ok(theirs)) if is_for_none(wanted, &theirs) => return Err(error),
            // Half of it, and only for now.
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => {
                return Ok(Arc::new(Catalogue { generation, ..Catalogue::clone(&one) }));
            }
        };
        if let Some(Kept { of: [first, second], merged }) = &self.catalogue
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
        self.catalogue = Some(Kept { of: [mine, theirs], merged: Arc::clone(&merged) });
        Ok(merged)
    }

    fn list_costly(&mut self) -> Result<(), SourceError> {
        // What is published is none of it.
        self.first.list_costly()
    }

    fn catalogue_generation(&mut self) -> u64 {
        let look = |this: &mut Self| {
            [this.first.catalogue_generation(), this.second.catalogue_generation()]
        };
        let now = look(self);
        if self.generations != Some(now) {
            note_growth();
            self.reserve(self.generations.is_none_or(|[known, _]| known != now[0]));
            // By that either may be another.
            self.generations = Some(look(self));
            self.generation += 1;
        }
        self.generation
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        let theirs = self.second.titles(language);
        match self.first.titles(language) {
            Ok(mine) => {
                // A program tells its names in one language.
                let theirs = theirs.or_else(|_| self.second.titles(LanguageId::ENGLISH));
                Ok(theirs.map_or(mine.clone(), |theirs| Arc::new(mine.completed_by(&theirs))))
            }
            Err(error) => theirs.map_err(|_| error),
        }
    }

    fn providers(&mut self) -> Result<Vec<ProviderStatus>, SourceError> {
        let mut providers = self.first.providers()?;
        providers.extend(self.second.providers()?);
        Ok(providers)
    }
}

#[cfg(test)]
mod tests;
