//! What programs publish, beside another source.

use perfhive_engine::{
    Ask, Broker, CHOSEN_INDEXES, Catalogue, Fault, FaultKind, NO_OBJECT, ObjectQuery,
    ProviderStatus, Snapshot, Source, SourceError, SourceErrorKind, TitleDatabase, TitleSet,
    note_growth,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// A source with the objects of a second one beside its own: on Windows the
/// registry's, and those that programs publish, which the registry knows nothing
/// of. The second one's have indexes from [`CHOSEN_INDEXES`] on, where no registry
/// allots any, so that it is known of every object whose it is.
///
/// Where one of them fails and was not asked alone, what the other has is there, with a
/// fault. One that is only late is none that has nothing: then there is its error.
///
/// # Names
///
/// What is published under the name of one of the first one's objects is not
/// served: a path is to mean what it always meant. The first one is asked for the objects
/// of such names, and for no others that nobody wants. The rules, for each name:
///
/// - The first one has an object of that name: it is the first one's.
/// - It has none, or no object can be meant by the name: what is published is served.
/// - It answers, but not for what the name may mean (a provider hangs), or it did not
///   answer so far, or not with all names: an error is not "has none", and a name that is
///   missing is not nobody's. What was known of the name stays so; a name of which nothing
///   was ever known is not served.
/// - It cannot tell what it has at all, and that is its answer (it says so to who looks for
///   no object in particular, or it, or a list of its names, fails for another reason than
///   that it is late): nobody has the object then, and waiting would be in vain. A name
///   that was the first one's stays so; under all others what is published is served.
///
/// All names are asked for anew when the first one's generation changes, which a broken
/// registry's does when it is broken no more. Those that it gave no answer for are asked for
/// again with each look at the catalogue besides: never with a sample, as who hangs costs
/// whoever asks.
pub(crate) struct Beside<A, B> {
    first: A,
    second: B,
    /// What each is asked, and what the second one answered; kept for their
    /// memory.
    asked: [Ask; 2],
    answer: Snapshot,
    /// What was said last of one that failed, put into words once.
    lost: Option<Fault>,
    catalogue: Option<Kept>,
    /// The generations of both, as of the last look.
    generations: Option<[u64; 2]>,
    /// Names under which somebody published, and what is known of each.
    names: HashMap<String, Known>,
    /// How often it was another catalogue.
    generation: u64,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug)]
struct Known {
    whose: Whose,
    /// It is to be asked for.
    is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The first one has an object of that name.
    First,
    /// It has none.
    Nobodys,
    /// It never told.
    Unknown,
}

/// How many names are remembered beyond those that are in use.
const NAMES: usize = 1024;

/// A catalogue of both, and those that it was made of.
struct Kept {
    of: [Arc<Catalogue>; 2],
    merged: Arc<Catalogue>,
}

/// A source that leaves names to others.
pub(crate) trait Yielding: Source {
    /// Serves nothing under these names from now on, nor under those in doubt.
    fn reserve(&mut self, names: &HashSet<String>, doubtful: &HashSet<String>);
}

impl Yielding for Broker {
    fn reserve(&mut self, names: &HashSet<String>, doubtful: &HashSet<String>) {
        self.reserve_names(names, doubtful);
    }
}

impl<A: Source, B: Yielding> Beside<A, B> {
    pub(crate) fn new(first: A, second: B) -> Self {
        let nothing = || Ask::new(ObjectQuery::Indexes(Vec::new()));
        Self {
            first,
            second,
            asked: [nothing(), nothing()],
            answer: Snapshot::new(),
            lost: None,
            catalogue: None,
            generations: None,
            names: HashMap::new(),
            generation: 0,
        }
    }

    /// Divides a list of objects; answers whether there is anything for each. No
    /// memory is taken once the lists are large enough.
    fn divide(&mut self, request: &Ask, wanted: &[TitleIndex]) -> [bool; 2] {
        let is_second = |name: &TitleIndex| name.0 >= CHOSEN_INDEXES;
        let mut any = [false; 2];
        let before = self.room();
        for (place, asked) in self.asked.iter_mut().enumerate() {
            asked.extra_counters.clone_from(&request.extra_counters);
            asked.max_age = request.max_age;
            asked.until = request.until;
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
        let room = |asked: &Ask| match &asked.objects {
            ObjectQuery::Indexes(list) => list.capacity() + asked.extra_counters.capacity(),
            _ => asked.extra_counters.capacity(),
        };
        self.asked.iter().map(room).sum()
    }

    /// The generations of both, as of now; of one that does not tell, as last heard of.
    fn generations(&mut self, until: Option<Instant>) -> [u64; 2] {
        let ask = Ask::nothing().until(until);
        let [mine, theirs] = self.generations.unwrap_or_default();
        let now = |catalogue: Result<Arc<Catalogue>, SourceError>, before| {
            catalogue.map_or(before, |catalogue| catalogue.generation)
        };
        [now(self.first.catalogue(&ask), mine), now(self.second.catalogue(&ask), theirs)]
    }

    /// Sees to it that the second one leaves the first one's names alone, where either is
    /// another since, or, for who looks at the catalogue, where names are open. Answers the
    /// generation.
    fn look(&mut self, is_for_catalogue: bool, until: Option<Instant>) -> u64 {
        let now = self.generations(until);
        let is_other = self.generations != Some(now);
        if is_other || is_for_catalogue && self.names.values().any(|known| known.is_open) {
            note_growth();
            if self.generations.is_none_or(|[first, _]| first != now[0]) {
                self.names.values_mut().for_each(|known| known.is_open = true);
            }
            if is_other {
                self.learn_names(until);
            }
            self.ask_for_names(until);
            let having = |whose| {
                let names = self.names.iter().filter(move |(_, known)| known.whose == whose);
                names.map(|(name, _)| name.clone()).collect()
            };
            let (taken, doubtful) = (having(Whose::First), having(Whose::Unknown));
            self.second.reserve(&taken, &doubtful);
            // By that either may be another.
            let now = self.generations(until);
            self.generation += u64::from(is_other || self.generations != Some(now));
            self.generations = Some(now);
        }
        self.generation
    }

    /// Takes down what is published, in every language that it has names in.
    fn learn_names(&mut self, until: Option<Instant>) {
        let ask = Ask::everything().until(until);
        let Ok(theirs) = self.second.catalogue(&ask) else { return };
        let mut published: Vec<String> = Vec::new();
        for language in &theirs.languages {
            let Ok(titles) = self.second.titles(*language, &ask) else { continue };
            let names = theirs.objects.iter().filter_map(|one| titles.name(one.name));
            published.extend(names.map(str::to_string));
        }
        if self.names.len() > NAMES {
            // What is not served is in no list, and may be published still.
            let is_needed = |name: &String, known: &mut Known| {
                known.whose != Whose::Nobodys || published.contains(name)
            };
            self.names.retain(is_needed);
        }
        for name in published {
            let news = Known { whose: Whose::Unknown, is_open: true };
            self.names.entry(name).or_insert(news);
        }
    }

    /// Asks the first one for the objects of all open names, as long as it answers and
    /// somebody waits for that.
    fn ask_for_names(&mut self, until: Option<Instant>) {
        if !self.names.values().any(|known| known.is_open) {
            return;
        }
        let nothing = Ask::nothing().until(until);
        let mine = match self.first.catalogue(&nothing) {
            Ok(mine) => mine,
            Err(error) => return self.nobody_tells(&error),
        };
        let all = self.first.catalogue(&Ask::objects(&[NO_OBJECT]).until(until)).err();
        if all.is_some() && nothing.is_over() {
            return;
        }
        let mut titles = TitleSet::default();
        for language in &mine.languages {
            // Of one that is late the others are not waited for.
            if titles.add([*language], |language| self.first.titles(language, &nothing)).is_err() {
                return;
            }
        }
        // That what a name means has no object says nothing where names are missing. Those
        // of a list that is damaged will not come.
        let mut why = titles.databases().iter().filter_map(|one| one.lacks());
        let is_in_vain = all.is_some() || !why.any(SourceError::is_transient);
        for (name, known) in &mut self.names {
            if !known.is_open {
                continue;
            }
            let meant = titles.indexes(name);
            let has = |mine: Arc<Catalogue>| meant.iter().any(|one| mine.object(*one).is_some());
            let answer = match meant.is_empty() {
                true => Ok(false),
                false => self.first.catalogue(&Ask::objects(&meant).until(until)).map(has),
            };
            match answer {
                Ok(false) if titles.lacks().is_some() => {
                    if is_in_vain {
                        known.settle_for_nobodys();
                    }
                }
                Ok(is_taken) => {
                    known.whose = if is_taken { Whose::First } else { Whose::Nobodys };
                    known.is_open = false;
                }
                Err(_) if nothing.is_over() => return,
                Err(_) if all.is_some() => known.settle_for_nobodys(),
                Err(_) => {}
            }
        }
    }

    /// The first one does not even tell which languages it has.
    fn nobody_tells(&mut self, error: &SourceError) {
        if !error.is_transient() {
            self.names.values_mut().for_each(Known::settle_for_nobodys);
        }
    }
}

impl Known {
    /// Whoever might have it cannot tell, and will not for a while.
    fn settle_for_nobodys(&mut self) {
        if self.whose == Whose::Unknown {
            self.whose = Whose::Nobodys;
        }
        self.is_open = false;
    }
}

/// Whether objects are wanted of which a catalogue has none.
fn is_for_none(ask: &Ask, theirs: &Catalogue) -> bool {
    let ObjectQuery::Indexes(list) = &ask.objects else { return false };
    !list.is_empty() && list.iter().all(|name| theirs.object(*name).is_none())
}

/// What there is to say of one that failed: of each object that it was asked for.
fn tell(error: &SourceError, asked: &Ask, known: &mut Option<Fault>, out: &mut Snapshot) {
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

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        if self.generations.is_none() {
            self.look(false, request.until);
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

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let mut mine = self.first.catalogue(ask);
        // The first one may have more by that, which leaves less to the second one.
        let generation = self.look(!ask.is_nothing(), ask.until);
        let theirs = self.second.catalogue(ask);
        if let (Err(_), Ok(theirs), ObjectQuery::Indexes(_)) = (&mine, &theirs, &ask.objects)
            && !ask.is_nothing()
            && !is_for_none(ask, theirs)
        {
            // What it has besides is there all the same.
            mine = self.first.catalogue(&Ask::nothing().until(ask.until)).or(mine);
        }
        let (mine, theirs) = match (mine, theirs) {
            (Ok(mine), Ok(theirs)) => (mine, theirs),
            (Err(error), Err(_)) => return Err(error),
            // Who wants some objects is to hear why it is not known whether there are any;
            // and half of it is no answer where the whole is only late.
            (Err(error), Ok(theirs))
                if error.is_transient()
                    || is_for_none(ask, &theirs)
                    || ask.objects == ObjectQuery::Costly =>
            {
                return Err(error);
            }
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

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        let theirs = self.second.titles(language, ask);
        match self.first.titles(language, ask) {
            Ok(mine) => {
                // A program tells its names in one language.
                let theirs = theirs.or_else(|_| self.second.titles(LanguageId::ENGLISH, ask));
                Ok(theirs.map_or(mine.clone(), |theirs| Arc::new(mine.completed_by(&theirs))))
            }
            // It may have names for all that it has.
            Err(error) if error.is_transient() => Err(error),
            Err(error) if error.kind() == SourceErrorKind::NotFound => theirs.map_err(|_| error),
            // Of all that the first one has no name is known.
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
