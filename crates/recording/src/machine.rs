//! [`MachinePart`]: what a recording has of another machine than its first one.

use perfhive_engine::{
    Ask, Catalogue, ObjectQuery, ProviderStatus, Recording, Snapshot, Source, SourceError,
    TitleDatabase,
};
use perfhive_format::LanguageId;
use std::sync::Arc;

/// The samples of one machine, taken from a recording with blocks of several machines, such as a log of the counters of
/// several machines. The recording itself answers an ask for indexes with objects of its first machine. This source
/// answers every ask with all objects of the machine that [`new`](Self::new) names.
pub struct MachinePart {
    source: Box<dyn Source>,
    machine: String,
    /// The sample with the objects of all machines.
    whole: Snapshot,
}

impl MachinePart {
    /// The part of the recording `source` with blocks of the machine called `machine`.
    #[must_use]
    pub fn new(source: Box<dyn Source>, machine: &str) -> Self {
        Self { source, machine: machine.to_string(), whole: Snapshot::new() }
    }
}

impl Source for MachinePart {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let mut ask = ask.clone();
        ask.objects = ObjectQuery::Global;
        self.source.collect(&ask, &mut self.whole)?;
        let own = self.whole.frames().iter().filter(|frame| frame.machine() == self.machine);
        out.push_frames(own.cloned(), self.source.name());
        self.whole.faults().iter().for_each(|fault| out.push_fault(fault.clone()));
        Ok(())
    }

    /// The catalogue with the objects of all machines, since a recording lists them together.
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let mut catalogue = Catalogue::clone(&*self.source.catalogue(ask)?);
        catalogue.machine.clone_from(&self.machine);
        Ok(Arc::new(catalogue))
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.source.providers(ask)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.source.recording()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_handed_through() {
        let wrap = |source| -> Box<dyn Source> { Box::new(MachinePart::new(source, "B")) };
        perfhive_testkit::forwarding::source(wrap, |_| ObjectQuery::Global);
    }
}
