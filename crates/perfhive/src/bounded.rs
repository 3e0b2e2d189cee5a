//! A timeout for every call of a source.

use perfhive_engine::{
    Ask, Catalogue, Identity, InstanceReader, ProviderStatus, Recording, Snapshot, Source,
    SourceError, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A source that gives every ask a deadline: the ask's own, or the end of the timeout if that is
/// earlier.
pub(crate) struct Bounded {
    source: Box<dyn Source>,
    timeout: Duration,
}

impl Bounded {
    pub(crate) fn new(source: Box<dyn Source>, timeout: Duration) -> Self {
        Self { source, timeout }
    }

    fn bound(&self, ask: &Ask) -> Ask {
        let end = Instant::now().checked_add(self.timeout);
        ask.clone().until(ask.until_at_most(end))
    }
}

impl Source for Bounded {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.source.collect(&self.bound(ask), out)
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.source.catalogue(&self.bound(ask))
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source.titles(language, &self.bound(ask))
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.source.providers(&self.bound(ask))
    }

    /// A reader of one instance has no deadline, here as elsewhere.
    fn instance_reader(
        &mut self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        self.source.instance_reader(object, identity, counters)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.source.recording()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::ObjectQuery;

    #[test]
    fn every_call_is_handed_through() {
        let wrap = |source| -> Box<dyn Source> {
            Box::new(Bounded::new(source, Duration::from_secs(24 * 3600)))
        };
        perfhive_testkit::forwarding::source(wrap, |objects| objects);
        perfhive_testkit::forwarding::instance_reader(wrap);
    }

    #[test]
    fn the_earlier_deadline_counts() {
        let hour = Duration::from_secs(3600);
        let bound = |timeout, until| {
            let source = Box::new(perfhive_testkit::script::recording());
            Bounded::new(source, timeout).bound(&Ask::new(ObjectQuery::Global).until(until)).until
        };
        let soon = Instant::now() + hour;
        assert_eq!(bound(2 * hour, Some(soon)), Some(soon));
        assert!(bound(hour / 2, Some(soon)).unwrap() < soon);
        assert!(bound(hour, None).unwrap() >= soon);
        assert_eq!(bound(Duration::MAX, None), None);
    }
}
