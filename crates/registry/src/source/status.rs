//! The status of registered providers.

use super::RegistrySource;
use crate::service::Service;
use perfhive_engine::{ProviderState, ProviderStatus};
use perfhive_format::TitleIndex;

/// The part of a provider's objects that was asked for so far: none, some or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedFor {
    Nothing,
    Some,
    All,
}

impl RegistrySource {
    /// The status of a registered provider, from its registration and from the objects that were
    /// seen.
    pub(super) fn status(&self, service: Service) -> ProviderStatus {
        let host = self.registry.host();
        let (seen, asked) = (self.is_seen(&service), self.asked_of(&service));
        let mut status = ProviderStatus::new(&service.name);
        status.is_counted = false;
        status.names = service.first.zip(service.last).map(|(first, last)| first..=last);
        status.objects.clone_from(&service.objects);
        status.state = match (service.disabled, seen, asked) {
            (true, ..) => ProviderState::Disabled,
            (false, true, _) => ProviderState::Open,
            (false, false, AskedFor::Some | AskedFor::All) if service.ours => ProviderState::Failed,
            // Windows does not tell whether a library has nothing at the moment or fails. Most
            // libraries that perfhive did not register have nothing.
            (false, false, _) => ProviderState::Idle,
        };
        let candidates = service.candidates();
        if service.disabled {
            status.last_fault = Some(service.is_disabled(host));
        } else if candidates.is_empty() {
            // No object of this provider can be asked for.
            status.state = ProviderState::Failed;
            status.last_fault = Some(service.has_no_names(host));
        } else if candidates.iter().any(|name| self.hangs.objects().contains(name)) {
            status.state = ProviderState::Failed;
            status.last_fault = Some(service.hangs(host));
        } else if !seen && asked != AskedFor::Nothing {
            status.last_fault = Some(service.gives_nothing(asked == AskedFor::All, host));
        }
        status
    }

    /// Whether an object of the provider was in any answer.
    fn is_seen(&self, service: &Service) -> bool {
        self.known.names().any(|name| service.owns(name))
    }

    /// The part of the provider's objects that was asked for so far.
    fn asked_of(&self, service: &Service) -> AskedFor {
        let is_looked_for = |name: &TitleIndex| self.looked_for.contains(name);
        // Without an `Object List`, only the provider's first index is certainly that of an object.
        let first = service.first.map(TitleIndex);
        let is_some = match &*service.objects {
            [] => first.as_ref().is_some_and(is_looked_for),
            list => list.iter().any(is_looked_for),
        };
        let is_all = !service.objects.is_empty() && service.objects.iter().all(is_looked_for);
        match () {
            () if self.asked_all || is_all => AskedFor::All,
            () if is_some => AskedFor::Some,
            () => AskedFor::Nothing,
        }
    }
}
