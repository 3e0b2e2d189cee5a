//! [`Relay`]: a source on a thread of its own, which answers by a deadline.

use crate::codes::NOT_REACHED;
use crate::connect::{Dialer, Line, Remote};
use crate::explain::explain;
use crate::registry::PerfRegistry;
use crate::source::RegistrySource;
use crate::watched::{Make, Watched};
use perfhive_engine::{
    Ask, Catalogue, ProviderStatus, Recording, Snapshot, Source, SourceError, TitleDatabase, Worker,
};
use perfhive_format::LanguageId;
use std::sync::Arc;
use std::time::Duration;

/// A question without an answer for this long hangs, even if its timeout is longer.
pub const HANGS: Duration = Duration::from_secs(10);
/// How many timeouts a question may take: one for the whole, and the search for the providers that hang.
const SEARCH: u32 = 3;
/// The part of the timeout that a provider has when it is asked alone.
const PROBES: u32 = 2;

/// A source on a thread of its own. A question whose deadline passes goes on there, and its answer serves
/// the next one. Over a registry each call has a timeout, and providers that hang are left out.
pub struct Relay {
    worker: Worker,
    /// The timeout of one call.
    patience: Option<Duration>,
    /// The longest time until there is an answer, or it is known that there will be none.
    longest: Duration,
    /// The connection to another machine, if it is one.
    line: Option<Arc<Line>>,
}

impl Relay {
    /// A source that has no timeouts of its own.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn new(
        source: impl Source + 'static,
        patience: Option<Duration>,
    ) -> Result<Self, SourceError> {
        let longest = patience.map_or(HANGS, |patience| patience.min(HANGS));
        Ok(Self { worker: Worker::new(source, patience)?, patience, longest, line: None })
    }

    /// The source called `name` of a registry that `make` makes, whose calls have a timeout.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn watching(name: &str, patience: Duration, make: Make) -> Result<Self, SourceError> {
        let calls = Watched::new(make, patience);
        let source = RegistrySource::watching(name, calls, patience / PROBES);
        let longest = patience.min(HANGS).saturating_mul(SEARCH);
        let worker = Worker::new(source, Some(patience.saturating_mul(SEARCH)))?;
        Ok(Self { worker, patience: Some(patience), longest, line: None })
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
        let make =
            move || -> Box<dyn PerfRegistry> { Box::new(Remote::new(Arc::clone(&dialer), user)) };
        let mut relay = Self::watching(name, patience, Box::new(make))?;
        // A missing connection is made first, with a timeout of its own.
        let longest = patience.saturating_mul(SEARCH).saturating_add(line.limit);
        relay.worker.set_patience(Some(longest));
        Ok(Self { line: Some(line), ..relay })
    }

    /// The timeout of one call.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Sets the timeout of a question without a deadline.
    #[cfg(test)]
    pub(crate) fn wait_for(&mut self, patience: Option<Duration>) {
        self.worker.set_patience(patience);
    }

    /// Whether the last question has no answer so far; its error says so.
    pub(crate) fn is_late(&self) -> bool {
        self.worker.is_at_work()
    }

    /// Whether the source hangs: the last question has no answer, and will have none.
    pub(crate) fn hangs(&self) -> bool {
        let is_over = |asked: std::time::Instant| asked.elapsed() >= self.longest;
        self.is_late() && self.worker.last_asked_at().is_some_and(is_over)
    }

    /// The longest time until there is an answer, or it is known that there will be none.
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The last known generation of the catalogue.
    pub(crate) fn last_generation(&self) -> u64 {
        self.worker.last_generation()
    }

    /// The answer, or the error of a machine that is not reached so far.
    fn reached<T>(&self, answer: Result<T, SourceError>) -> Result<T, SourceError> {
        match &self.line {
            Some(line) if self.is_late() && line.is_dialing() => {
                let (kind, message) = explain(NOT_REACHED, Some(&line.host));
                Err(SourceError::new(kind, self.worker.name(), message))
            }
            _ => answer,
        }
    }
}

impl Source for Relay {
    fn name(&self) -> &str {
        self.worker.name()
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        let answer = self.worker.collect(ask, out);
        self.reached(answer)
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let answer = self.worker.catalogue(ask);
        self.reached(answer)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        let answer = self.worker.titles(language, ask);
        self.reached(answer)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let answer = self.worker.providers(ask);
        self.reached(answer)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.worker.recording()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::ObjectQuery;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::yield_now;
    use std::time::Instant;

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
    fn every_call_is_handed_through_with_its_ask() {
        let wrap = |source: Box<dyn Source>| -> Box<dyn Source> {
            Box::new(Relay::new(source, Some(Duration::from_secs(3600))).unwrap())
        };
        perfhive_testkit::forwarding::source(wrap, |objects| objects);
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
    fn a_source_late_with_each_of_several_questions_does_not_hang() {
        let (tell, told) = channel();
        let mut relay = Relay::new(Signalled(told), Some(Duration::from_secs(3600))).unwrap();
        relay.longest = Duration::from_secs(3600);
        let request = Ask::new(ObjectQuery::Global);
        let hurry = |relay: &mut Relay| {
            let request = request.clone().until(Instant::now());
            relay.collect(&request, &mut Snapshot::new()).unwrap_err();
            relay.worker.last_asked_at().unwrap()
        };
        let first = hurry(&mut relay);
        assert_eq!(hurry(&mut relay), first, "the same question");
        // The late answer came; the next ask is another question.
        tell.send(()).unwrap();
        while hurry(&mut relay) == first {
            yield_now();
        }
        assert!(relay.is_late() && !relay.hangs());
        relay.longest = Duration::ZERO;
        assert!(relay.hangs());
        tell.send(()).unwrap();
    }

    #[test]
    fn the_longest_patience_overflows_nothing() {
        let (tell, told) = channel();
        tell.send(()).unwrap();
        let mut relay = Relay::new(Signalled(told), Some(Duration::MAX)).unwrap();
        relay.collect(&Ask::new(ObjectQuery::Global), &mut Snapshot::new()).unwrap();
    }
}
