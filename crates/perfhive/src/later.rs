//! A source that is opened at its first ask. A shared source collects its costly objects through
//! such a source.

use crate::{OpenOptions, SourceAddress};
use perfhive_engine::{
    Ask, Cached, Catalogue, ProviderStatus, Recording, Snapshot, Source, SourceError, TitleDatabase,
};
use perfhive_format::LanguageId;
use std::sync::Arc;

/// Shares an opened source of an address. Where the scheme permits it, a second source of the same
/// address collects the costly objects; the second source is opened when a costly object is first
/// asked for. Reading memory maps then does not delay readers of other counters.
pub(crate) fn shared(
    address: &SourceAddress,
    options: &OpenOptions,
    source: Box<dyn Source>,
) -> Cached<Box<dyn Source>> {
    let builder = Cached::builder(source);
    if !address.scheme().capabilities.costly_in_parallel {
        return builder.build();
    }
    let (address, options) = (address.to_string(), options.clone());
    builder.costly_by(Box::new(Later { address, options, source: None })).build()
}

struct Later {
    address: String,
    options: OpenOptions,
    source: Option<Box<dyn Source>>,
}

impl Later {
    fn source(&mut self) -> Result<&mut Box<dyn Source>, SourceError> {
        let source = match self.source.take() {
            Some(source) => source,
            None => self.options.open(&self.address)?,
        };
        Ok(self.source.insert(source))
    }
}

impl Source for Later {
    fn name(&self) -> &str {
        &self.address
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.source()?.collect(ask, out)
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.source()?.catalogue(ask)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source()?.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.source.as_mut().map_or(Ok(Vec::new()), |source| source.providers(ask))
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.source.as_mut()?.recording()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_handed_through_with_its_ask() {
        let wrap = |source| -> Box<dyn Source> {
            let (address, options) = (String::new(), OpenOptions::new());
            Box::new(Later { address, options, source: Some(source) })
        };
        perfhive_testkit::forwarding::source(wrap, |objects| objects);
    }
}
