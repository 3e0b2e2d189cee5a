//! A source that is opened when it is first asked: the one that collects a shared source's
//! costly objects.

use crate::{OpenOptions, SourceAddress};
use perfhive_engine::{
    Cached, Catalogue, ProviderStatus, Request, Snapshot, Source, SourceError, TitleDatabase,
    Wanted,
};
use perfhive_format::LanguageId;
use std::sync::Arc;

/// Shares an opened source of an address. Where the scheme permits it, a second source of the same
/// address collects costly objects, opened when the first of them is asked for: reading memory maps
/// then does not delay readers of other counters.
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

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        self.source()?.collect(request, out)
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.source()?.catalogue()
    }

    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        self.source()?.catalogue_for(wanted)
    }

    fn list_costly(&mut self) -> Result<(), SourceError> {
        self.source()?.list_costly()
    }

    fn catalogue_generation(&mut self) -> u64 {
        // The caller is about to collect, so the source may as well be opened.
        self.source().map_or(0, |source| source.catalogue_generation())
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source()?.titles(language)
    }

    fn providers(&mut self) -> Result<Vec<ProviderStatus>, SourceError> {
        self.source.as_mut().map_or(Ok(Vec::new()), |source| source.providers())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        match &mut self.source {
            Some(source) => source.rewind(),
            None => Ok(()),
        }
    }
}
