//! The common part of this crate's providers: fixed objects with the names and help of their
//! tables, and a session that reads below a root.

use crate::files::Reader;
use crate::root::ProcRoot;
use crate::table::Object;
use crate::titles;
use perfhive_engine::{
    Identity, InstanceReader, Numbering, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::TitleIndex;

/// A provider of this crate. Its function `open` makes each session from the root and
/// a reader of the root's `proc`.
pub(crate) struct LinuxProvider<F> {
    name: &'static str,
    objects: &'static [&'static Object],
    root: ProcRoot,
    open: F,
    instance_reader: Option<MakeInstanceReader>,
}

/// A function that makes a reader of some counters of one instance of an object; `None` if these
/// counters cannot be read without a collection.
type MakeInstanceReader =
    fn(&ProcRoot, TitleIndex, &Identity, &[TitleIndex]) -> Option<Box<dyn InstanceReader>>;

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
        Self { name, objects, root: root.clone(), open, instance_reader: None }
    }

    /// The same provider with readers of single instances.
    pub(crate) fn with_instance_reader(self, make: MakeInstanceReader) -> Self {
        Self { instance_reader: Some(make), ..self }
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

    fn instance_reader(
        &self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        (self.instance_reader?)(&self.root, object, identity, counters)
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let proc = self.root.proc();
        let reader = Reader::open(proc)
            .map_err(|error| ProviderError::io(format!("{}", proc.display()), error.into()))?;
        Ok(Box::new((self.open)(&self.root, reader)))
    }
}
