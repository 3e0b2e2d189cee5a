//! [`Relay`]: a source on a thread of its own, and a careful source after it hung.

use crate::codes::NOT_REACHED;
use crate::connect::{Dialer, Line, Remote};
use crate::explain::explain;
use crate::registry::PerfRegistry;
use crate::source::RegistrySource;
use crate::watched::{Make, Watched};
use perfhive_engine::{
    Ask, Catalogue, NO_OBJECT, ObjectQuery, ProviderStatus, Recording, Snapshot, Source,
    SourceError, TitleDatabase, Worker,
};
use perfhive_format::LanguageId;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A question without an answer for this long hangs, even if its timeout is longer.
pub const HANGS: Duration = Duration::from_secs(10);
/// How many timeouts a careful source may take for a question: it waits for each hanging provider.
const CAREFULLY: u32 = 2;

fn carefully(patience: Duration) -> Duration {
    patience.saturating_mul(CAREFULLY)
}

/// The part of the timeout that a provider has when it is asked alone.
const PROBES: u32 = 2;

/// Makes a careful source, from the query that hung, if a query did.
type Careful = Box<dyn FnOnce(Option<ObjectQuery>) -> Box<dyn Source> + Send>;

/// A source on a thread of its own, which is replaced when it hangs: by a careful one that asks each
/// provider alone, with a timeout for each call, and leaves the hanging provider out.
///
/// The source hangs if one question has no answer for the timeout (`patience`), however many callers
/// waited for a part of that. Its thread is left behind, and the careful source is asked the same,
/// unless the deadline of the caller has passed. So a question without a deadline takes three timeouts
/// at most, and a question with a deadline no longer than that. From then on hanging objects are
/// known, and not asked for.
///
/// The careful source is not used from the beginning, since a hand-over to another thread with every
/// call takes longer.
pub struct Relay {
    worker: Worker,
    careful: Option<Careful>,
    /// The timeout of a question without a deadline.
    patience: Option<Duration>,
    /// The question without an answer, if there is one.
    late: Option<LateQuestion>,
    /// Whether the last question has no answer.
    unanswered: bool,
    /// The generations of the source before the replacement.
    generations: u64,
    /// A catalogue of the careful source, and the same with a generation that goes on from those.
    shifted: Option<(Arc<Catalogue>, Arc<Catalogue>)>,
    /// The connection to another machine, if it is one.
    line: Option<Arc<Line>>,
}

/// A question without an answer so far.
#[derive(Clone, Debug)]
struct LateQuestion {
    /// Its number.
    number: u64,
    since: Instant,
    /// The query, unless the question was for titles or providers.
    query: Option<ObjectQuery>,
}

impl Relay {
    /// A source without a careful one to replace it.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn new(
        source: impl Source + 'static,
        patience: Option<Duration>,
    ) -> Result<Self, SourceError> {
        let worker = Worker::new(source, patience)?;
        Ok(Self {
            worker,
            careful: None,
            patience,
            late: None,
            unanswered: false,
            generations: 0,
            shifted: None,
            line: None,
        })
    }

    /// A source that is replaced, once it hangs, by a careful one over registries that `make` makes.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn watching(
        source: RegistrySource,
        patience: Duration,
        make: Make,
    ) -> Result<Self, SourceError> {
        let name = source.name().to_string();
        let careful = move |hung: Option<ObjectQuery>| -> Box<dyn Source> {
            let watched = Watched::new(make, patience);
            Box::new(RegistrySource::carefully(&name, watched, patience / PROBES, hung))
        };
        Ok(Self { careful: Some(Box::new(careful)), ..Self::new(source, Some(patience))? })
    }

    /// As [`watching`](Self::watching), for another machine that is connected to first.
    ///
    /// # Errors
    /// As [`watching`](Self::watching).
    pub fn over_line<R: PerfRegistry + 'static>(
        name: &str,
        dialer: Arc<Dialer<R>>,
        user: u16,
        patience: Duration,
    ) -> Result<Self, SourceError> {
        let line = dialer.line();
        let source = RegistrySource::over(name, Box::new(Remote::new(Arc::clone(&dialer), user)));
        let make =
            move || -> Box<dyn PerfRegistry> { Box::new(Remote::new(Arc::clone(&dialer), user)) };
        let relay = Self::watching(source, patience, Box::new(make))?;
        Ok(Self { line: Some(line), ..relay })
    }

    /// The timeout of a question without a deadline.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Whether the last question has no answer so far; its error says so.
    pub(crate) fn is_late(&self) -> bool {
        self.unanswered
    }

    /// Whether the source hangs, and no careful one is left to replace it.
    pub(crate) fn hangs(&self) -> bool {
        let is_over = |late: &LateQuestion| late.since.elapsed() >= self.enough();
        self.unanswered && self.careful.is_none() && self.late.as_ref().is_some_and(is_over)
    }

    /// The longest time until there is an answer, or it is known that there will be none.
    pub(crate) fn longest(&self) -> Duration {
        let first = self.patience.map_or(HANGS, |patience| patience.min(HANGS));
        let is_watched = self.careful.is_some() || self.generations > 0;
        if is_watched { first.saturating_add(carefully(first)) } else { first }
    }

    /// The time without an answer after which the present source hangs.
    fn enough(&self) -> Duration {
        let enough = self.patience.map_or(HANGS, |patience| patience.min(HANGS));
        if self.generations > 0 { carefully(enough) } else { enough }
    }

    /// Sets the timeout of a question without a deadline.
    pub(crate) fn wait_for(&mut self, patience: Option<Duration>) {
        let is_careful = self.generations > 0;
        let patience = patience.map(|one| if is_careful { carefully(one) } else { one });
        self.worker.set_patience(patience);
    }

    /// Asks the source, and after a replacement the careful one.
    fn ask<T>(
        &mut self,
        query: Option<&ObjectQuery>,
        deadline: Option<Instant>,
        mut ask: impl FnMut(&mut Worker) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        loop {
            let begun = Instant::now();
            if let Some(line) = &self.line {
                // A missing connection is made first, with a timeout of its own.
                let more = if line.up_since().is_some() { Duration::ZERO } else { line.limit };
                let usual = self.patience.map(|patience| patience.saturating_add(more));
                self.wait_for(usual);
            }
            let result = ask(&mut self.worker);
            self.unanswered = self.worker.is_at_work();
            if !self.unanswered {
                self.late = None;
                return result;
            }
            let mut since = self.worker.last_asked_at().map_or(begun, |asked| asked.max(begun));
            if let Some(line) = &self.line {
                if line.is_dialing() {
                    // No provider hangs: none was asked so far.
                    self.late = None;
                    let (kind, message) = explain(NOT_REACHED, Some(&line.host));
                    return Err(SourceError::new(kind, self.worker.name(), message));
                }
                since = line.up_since().map_or(since, |up| up.max(since));
            }
            // A source that is late with each of several questions does not hang.
            let number = self.worker.last_asked();
            let late = match self.late.take().filter(|late| late.number == number) {
                Some(late) => late,
                None => LateQuestion { number, since, query: query.cloned() },
            };
            let took = late.since.elapsed();
            self.late = Some(late);
            // The careful source is asked, if there is time.
            if took < self.enough()
                || !self.replace()?
                || deadline.is_some_and(|deadline| deadline <= Instant::now())
            {
                return result;
            }
        }
    }

    /// The catalogue with a generation that goes on from the source before.
    fn shifted(&mut self, catalogue: Arc<Catalogue>) -> Arc<Catalogue> {
        if self.generations == 0 {
            return catalogue;
        }
        match &self.shifted {
            Some((of, shifted)) if Arc::ptr_eq(of, &catalogue) => Arc::clone(shifted),
            _ => {
                let mut shifted = Catalogue::clone(&catalogue);
                shifted.generation += self.generations;
                let shifted = Arc::new(shifted);
                self.shifted = Some((catalogue, Arc::clone(&shifted)));
                shifted
            }
        }
    }

    /// The last known generation of the catalogue.
    pub(crate) fn last_generation(&self) -> u64 {
        self.generations + self.worker.last_generation()
    }

    /// Replaces the source that hangs; `false` without a careful one.
    fn replace(&mut self) -> Result<bool, SourceError> {
        let Some(careful) = self.careful.take() else { return Ok(false) };
        let is_any = |query: &ObjectQuery| *query != ObjectQuery::Indexes(Vec::new());
        let query = self.late.take().and_then(|late| late.query);
        let query = query.map(|query| match is_any(&query) {
            true => query,
            false => ObjectQuery::one(NO_OBJECT),
        });
        self.generations += self.worker.last_generation() + 1;
        let patience = self.patience.map(carefully);
        self.worker = Worker::new(careful(query), patience)?;
        Ok(true)
    }
}

impl Source for Relay {
    fn name(&self) -> &str {
        self.worker.name()
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.ask(Some(&request.objects), request.until, |worker| worker.collect(request, out))
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        if ask.objects == ObjectQuery::Costly {
            // The global objects first, and apart: another provider may hang there.
            self.catalogue(&Ask::everything().until(ask.until))?;
        }
        let query = Some(&ask.objects);
        let catalogue = self.ask(query, ask.until, |worker| worker.catalogue(ask))?;
        Ok(self.shifted(catalogue))
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.ask(None, ask.until, |worker| worker.titles(language, ask))
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.ask(None, ask.until, |worker| worker.providers(ask))
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.worker.recording()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::yield_now;

    /// A source that collects once for each message.
    struct Signalled(Receiver<()>);

    impl Source for Signalled {
        fn name(&self) -> &str {
            "told:"
        }
        fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
            out.clear();
            self.0.recv().unwrap();
            Ok(())
        }
        fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            Ok(Arc::default())
        }
        fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
            unreachable!("no titles are asked for")
        }
        fn providers(&mut self, _: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
            Ok(vec![ProviderStatus::new("told")])
        }
    }

    #[test]
    fn providers_are_listed_once_the_late_collection_has_ended() {
        let (tell, told) = channel();
        let mut relay = Relay::new(Signalled(told), Some(Duration::from_secs(3600))).unwrap();
        let request = Ask::new(ObjectQuery::Global).until(Instant::now());
        relay.collect(&request, &mut Snapshot::new()).unwrap_err();
        assert!(relay.worker.is_at_work());
        tell.send(()).unwrap();
        let names: Vec<_> =
            relay.providers(&Ask::nothing()).unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["told"]);
    }

    #[test]
    fn providers_are_listed_by_the_careful_source_after_a_hang() {
        let ((_tell, told), (_, other)) = (channel(), channel());
        let mut relay = Relay::new(Signalled(told), Some(Duration::from_secs(3600))).unwrap();
        relay.careful = Some(Box::new(|_| Box::new(Signalled(other))));
        let request = Ask::new(ObjectQuery::Global).until(Instant::now());
        relay.collect(&request, &mut Snapshot::new()).unwrap_err();
        relay.worker.set_patience(Some(Duration::ZERO));
        let error = relay.providers(&Ask::nothing()).unwrap_err();
        assert!(error.is_transient(), "{error}");
        let late = relay.late.as_mut().unwrap();
        late.since = late.since.checked_sub(HANGS).unwrap();
        let names: Vec<_> =
            relay.providers(&Ask::nothing()).unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["told"]);
    }

    #[test]
    fn deadlines_of_all_questions_are_kept_by_both_sources() {
        let ((_tell, told), (_other, never)) = (channel(), channel());
        let hour = Duration::from_secs(3600);
        let mut relay = Relay::new(Signalled(told), Some(hour)).unwrap();
        relay.careful = Some(Box::new(|_| Box::new(Signalled(never))));
        assert_eq!(relay.longest(), HANGS * 3);
        let now = Instant::now();
        let everything = Ask::everything().until(now);
        let hurry = |relay: &mut Relay| {
            relay.collect(&everything, &mut Snapshot::new()).unwrap_err();
            relay.catalogue(&everything).unwrap_err();
            relay.catalogue(&Ask::nothing().until(now)).unwrap_err();
            relay.catalogue(&Ask::new(ObjectQuery::Costly).until(now)).unwrap_err();
            relay.providers(&Ask::nothing().until(now)).unwrap_err();
            assert!(relay.is_late());
        };
        let shift = |relay: &mut Relay, time| {
            let late = relay.late.as_mut().unwrap();
            late.since = late.since.checked_sub(time).unwrap();
        };
        hurry(&mut relay);
        shift(&mut relay, HANGS);
        assert!(!relay.hangs(), "the careful source is left");
        // Replaced; the careful source is not asked after the deadline.
        relay.collect(&everything, &mut Snapshot::new()).unwrap_err();
        assert!(relay.generations > 0 && relay.is_late() && !relay.hangs());
        assert!(!relay.worker.is_at_work());
        hurry(&mut relay);
        // The careful source has twice the time.
        shift(&mut relay, HANGS);
        assert!(!relay.hangs());
        shift(&mut relay, HANGS);
        assert!(relay.hangs());
    }

    #[test]
    fn the_longest_patience_overflows_nothing() {
        let ready = || {
            let (tell, told) = channel();
            tell.send(()).unwrap();
            Signalled(told)
        };
        let mut relay = Relay::new(ready(), Some(Duration::MAX)).unwrap();
        relay.careful = Some(Box::new(move |_| Box::new(ready())));
        let mut snapshot = Snapshot::new();
        relay.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
        // As if it hung.
        assert!(relay.replace().unwrap());
        relay.wait_for(Some(Duration::MAX));
        relay.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
    }

    #[test]
    fn a_source_late_with_each_of_several_questions_does_not_hang() {
        let (tell, told) = channel();
        let mut relay = Relay::new(Signalled(told), Some(Duration::from_secs(3600))).unwrap();
        let mut snapshot = Snapshot::new();
        let mut in_a_hurry = |relay: &mut Relay| {
            let request = Ask::new(ObjectQuery::Global).until(Instant::now());
            relay.collect(&request, &mut snapshot).unwrap_err();
            relay.late.clone().unwrap()
        };
        let first = in_a_hurry(&mut relay);
        assert_eq!(first.query, Some(ObjectQuery::Global));
        let again = in_a_hurry(&mut relay);
        assert_eq!((again.number, again.since), (first.number, first.since));
        // The late answer came; the next ask is another question.
        tell.send(()).unwrap();
        let second = loop {
            let late = in_a_hurry(&mut relay);
            if late.number != first.number {
                break late;
            }
            yield_now();
        };
        assert!(second.since > first.since);
        tell.send(()).unwrap();
    }
}
