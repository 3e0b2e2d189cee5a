//! The common part of this crate's providers: fixed objects with the names and help of their
//! tables, and a session that reads below a root.

use crate::files::Reader;
use crate::root::ProcRoot;
use crate::table::Object;
use crate::titles;
use perfhive_engine::{
    Numbering, OpenContext, ProvidedTitles, Provider, ProviderDescription, ProviderError, Session,
};

/// A provider of this crate. Its function `open` makes each session from the root and
/// a reader of the root's `proc`.
pub(crate) struct LinuxProvider<F> {
    name: &'static str,
    objects: &'static [&'static Object],
    root: ProcRoot,
    open: F,
}

impl<F, S> LinuxProvider<F>
where
    F: Fn(&ProcRoot, Reader) -> S + Send + Sync,
    S: Session + 'static,
{
    pub(crate) fn new(
        name: &'static str,
        objects: &'static [&'static Object],
        root: &ProcRoot,
        open: F,
    ) -> Self {
        Self { name, objects, root: root.clone(), open }
    }
}

impl<F, S> Provider for LinuxProvider<F>
where
    F: Fn(&ProcRoot, Reader) -> S + Send + Sync,
    S: Session + 'static,
{
    fn name(&self) -> &str {
        self.name
    }

    fn describe(&self) -> ProviderDescription {
        ProviderDescription::new(
            Numbering::Windows,
            self.objects.iter().map(|object| object.description()).collect(),
        )
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        titles::of_objects(self.objects)
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let proc = self.root.proc();
        let reader = Reader::open(proc)
            .map_err(|error| ProviderError::io(proc.display().to_string(), error.into()))?;
        Ok(Box::new((self.open)(&self.root, reader)))
    }
}
