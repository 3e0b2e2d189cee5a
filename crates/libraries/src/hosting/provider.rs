//! The provider of a registered library.

use crate::hosting::session::ExtensionSession;
use crate::hosting::state::LibraryState;
use perfhive_engine::{
    Fault, FaultKind, Numbering, ObjectDescription, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, ProviderState, ProviderStatus, Session, TestLevel,
};
use perfhive_format::TitleIndex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The provider of a registered library, with the objects that are known of it.
pub(crate) struct ExtensionProvider {
    pub(crate) state: Arc<LibraryState>,
    pub(crate) objects: Vec<ObjectDescription>,
    pub(crate) titles: Vec<ProvidedTitles>,
    /// The provider's state, and the reason in words, if no objects of the provider are known: for
    /// example, it is disabled, in quarantine or in a pause. `None` otherwise.
    pub(crate) refusal: Option<(ProviderState, String)>,
    /// Whether the library answered when it was asked for its objects, or some are known. If so, it is
    /// asked for objects of other machines, even if it has no objects of this machine.
    pub(crate) works: bool,
}

impl Provider for ExtensionProvider {
    fn name(&self) -> &str {
        &self.state.registration.name
    }

    fn describe(&self) -> ProviderDescription {
        // Registration chose the indexes: they are final.
        ProviderDescription::new(Numbering::Windows, self.objects.clone())
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        self.titles.clone()
    }

    fn registered_objects(&self) -> Vec<TitleIndex> {
        let registration = &self.state.registration;
        match registration.objects.as_slice() {
            // By custom the first name is an object's.
            [] => vec![TitleIndex(registration.first_counter)],
            objects => objects.to_vec(),
        }
    }

    fn answers_foreign(&self) -> bool {
        self.works
    }

    fn test_level(&self) -> Option<TestLevel> {
        Some(self.state.level)
    }

    fn refusal(&self) -> Option<(ProviderState, String)> {
        self.refusal.clone()
    }

    fn account(&self) -> Option<ProviderStatus> {
        Some(self.state.account.status())
    }

    fn collected(&self, status: &ProviderStatus, fault: Option<&Fault>) {
        self.state.account.collected(status, fault);
        if let Some(fault) = fault.filter(|fault| fault.kind != FaultKind::NotYet) {
            self.state.log(&fault.message);
            if status.state == ProviderState::Quarantined {
                self.state.log_quarantine();
            }
        }
    }

    fn released(&self) {
        self.state.account.release();
        self.state.has_turned.store(true, Ordering::Relaxed);
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let opened = ExtensionSession::open(&self.state);
        Ok(Box::new(opened.inspect_err(|error| self.state.log(&error.to_string()))?))
    }
}
