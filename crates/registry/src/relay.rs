//! A source on a thread of its own, and another way to ask once that one hangs.

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

/// A request that took this long hangs, however long it may take.
pub const HANGS: Duration = Duration::from_secs(10);
/// How much longer one that asks carefully may take: it waits for each provider
/// that hangs.
const CAREFULLY: u32 = 2;

fn carefully(patience: Duration) -> Duration {
    patience.saturating_mul(CAREFULLY)
}

/// What part of the time for a request one provider has that is asked alone.
const PROBES: u32 = 2;

/// Makes a source that asks carefully; of what hung, if it was a collection.
type Careful = Box<dyn FnOnce(Option<ObjectQuery>) -> Box<dyn Source> + Send>;

/// A [`Worker`] whose source is replaced when it hangs: by one that asks each
/// provider alone and finds out which of them it is. The thread of the first one is
/// left behind. What was asked is then asked of the second one, unless the request
/// had a deadline that has passed. So one without a deadline takes three times the
/// patience at most, and one with a deadline no longer than that.
///
/// It is the same question that must have no answer for the patience, however many asked
/// it who did not wait so long.
///
/// To collect on a thread that is watched with every call takes longer, which is why
/// it is not done from the beginning.
pub struct Relay {
    worker: Worker,
    careful: Option<Careful>,
    /// How long a request without a deadline may take.
    patience: Option<Duration>,
    /// What somebody waits for in vain.
    late: Option<Late>,
    /// Whether nobody answered what was asked last.
    unanswered: bool,
    /// Of the source before.
    generations: u64,
    /// A catalogue of the source, and the same with its generation behind those.
    shifted: Option<(Arc<Catalogue>, Arc<Catalogue>)>,
    /// The way to another machine, where there is one.
    line: Option<Arc<Line>>,
}

/// A question that has no answer yet.
#[derive(Clone, Debug)]
struct Late {
    /// Its number.
    number: u64,
    since: Instant,
    /// What was to be collected, if anything.
    query: Option<ObjectQuery>,
}

impl Relay {
    /// A source that nothing can stand in for.
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

    /// A source that is replaced, once it hangs, by one that asks provider by provider over
    /// registries that `make` makes.
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

    /// As [`watching`](Self::watching), for another machine that must be connected to first.
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

    /// How long a request without a deadline of its own may take, before another way is
    /// tried.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Whether the last error was nobody's answer: there was none, or none yet.
    pub(crate) fn is_late(&self) -> bool {
        self.unanswered
    }

    /// Whether one has none, and nobody needs to wait for it any more.
    pub(crate) fn hangs(&self) -> bool {
        let is_over = |late: &Late| late.since.elapsed() >= self.enough();
        self.unanswered && self.careful.is_none() && self.late.as_ref().is_some_and(is_over)
    }

    /// How long it takes at most until there is an answer, or it is known that there will
    /// be none.
    pub(crate) fn longest(&self) -> Duration {
        let first = self.patience.map_or(HANGS, |patience| patience.min(HANGS));
        let is_watched = self.careful.is_some() || self.generations > 0;
        if is_watched { first.saturating_add(carefully(first)) } else { first }
    }

    /// After what time without an answer the source hangs that is asked now.
    fn enough(&self) -> Duration {
        let enough = self.patience.map_or(HANGS, |patience| patience.min(HANGS));
        if self.generations > 0 { carefully(enough) } else { enough }
    }

    /// Sets how long a request may take, before another way is tried.
    pub(crate) fn wait_for(&mut self, patience: Option<Duration>) {
        let is_careful = self.generations > 0;
        let patience = patience.map(|one| if is_careful { carefully(one) } else { one });
        self.worker.set_patience(patience);
    }

    /// Asks the source; once more if it hangs and there is another way.
    fn ask<T>(
        &mut self,
        query: Option<&ObjectQuery>,
        deadline: Option<Instant>,
        mut ask: impl FnMut(&mut Worker) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        loop {
            let begun = Instant::now();
            if let Some(line) = &self.line {
                // What is not there yet is made first, in a time of its own.
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
                    // Nobody hangs: nobody was asked so far.
                    self.late = None;
                    let (kind, message) = explain(NOT_REACHED, Some(&line.host));
                    return Err(SourceError::new(kind, self.worker.name(), message));
                }
                since = line.up_since().map_or(since, |up| up.max(since));
            }
            // One that is late again and again does not hang.
            let number = self.worker.last_asked();
            let late = match self.late.take().filter(|late| late.number == number) {
                Some(late) => late,
                None => Late { number, since, query: query.cloned() },
            };
            let took = late.since.elapsed();
            self.late = Some(late);
            // Then what stands in is asked, if there is time.
            if took < self.enough()
                || !self.replace()?
                || deadline.is_some_and(|deadline| deadline <= Instant::now())
            {
                return result;
            }
        }
    }

    /// The catalogue of the source, whose generation goes on from that of the source before.
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

    /// The generation of the catalogue as last heard of.
    pub(crate) fn last_generation(&self) -> u64 {
        self.generations + self.worker.last_generation()
    }

    /// Leaves the source behind that hangs; `false` where there is no other way.
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
            // All others first, and apart: who hangs there is another one.
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

    /// Collects when it is told to, once each time.
    struct Told(Receiver<()>);

    impl Source for Told {
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
            unreachable!("nobody asks for titles")
        }
        fn providers(&mut self, _: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
            Ok(vec![ProviderStatus::new("told")])
        }
    }

    /// Whoever asks how they are doing while one is late is told.
    #[test]
    fn providers_are_told_of_once_what_is_under_way_has_ended() {
        let (tell, told) = channel();
        let mut relay = Relay::new(Told(told), Some(Duration::from_secs(3600))).unwrap();
        let request = Ask::new(ObjectQuery::Global).until(Instant::now());
        relay.collect(&request, &mut Snapshot::new()).unwrap_err();
        assert!(relay.worker.is_at_work());
        tell.send(()).unwrap();
        let names: Vec<_> =
            relay.providers(&Ask::nothing()).unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["told"]);
    }

    /// Nobody waits for longer than the patience, and what hung for that long is not asked.
    #[test]
    fn providers_are_told_of_by_what_stands_in() {
        let ((_tell, told), (_, other)) = (channel(), channel());
        let mut relay = Relay::new(Told(told), Some(Duration::from_secs(3600))).unwrap();
        relay.careful = Some(Box::new(|_| Box::new(Told(other))));
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

    /// Whoever is asked, and whatever the question is.
    #[test]
    fn a_deadline_holds_for_what_stands_in_as_well() {
        let ((_tell, told), (_other, never)) = (channel(), channel());
        let hour = Duration::from_secs(3600);
        let mut relay = Relay::new(Told(told), Some(hour)).unwrap();
        relay.careful = Some(Box::new(|_| Box::new(Told(never))));
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
        assert!(!relay.hangs(), "somebody can stand in");
        // Replaced, and not asked before somebody has time.
        relay.collect(&everything, &mut Snapshot::new()).unwrap_err();
        assert!(relay.generations > 0 && relay.is_late() && !relay.hangs());
        assert!(!relay.worker.is_at_work());
        hurry(&mut relay);
        // It asks carefully, which takes twice as long.
        shift(&mut relay, HANGS);
        assert!(!relay.hangs());
        shift(&mut relay, HANGS);
        assert!(relay.hangs());
    }

    #[test]
    fn patience_may_be_as_long_as_there_is() {
        let ready = || {
            let (tell, told) = channel();
            tell.send(()).unwrap();
            Told(told)
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
    fn who_is_late_again_and_again_does_not_hang() {
        let (tell, told) = channel();
        let mut relay = Relay::new(Told(told), Some(Duration::from_secs(3600))).unwrap();
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
        // It came back, late; what is asked then is another question.
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
