//! The state and statistics of providers.

use crate::error::Fault;
use perfhive_format::TitleIndex;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The state and the statistics of a provider. The statistics count the collections of this broker
/// or, for a provider that keeps an [account](crate::Provider::account), of all programs of the
/// user.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderStatus {
    /// The provider's name.
    pub name: String,
    /// The provider's state.
    pub state: ProviderState,
    /// Whether the provider's collections are counted and timed. If the system itself calls the
    /// providers, as Windows does, they are not: all counts and durations are then 0 and mean
    /// nothing.
    pub is_counted: bool,
    /// The number of collections in which the provider took part, without those in which it was
    /// [not ready](crate::FaultKind::NotYet).
    pub collections: u64,
    /// The number of collections in which the provider failed.
    pub faults: u64,
    /// The number of failures since the last success, or since the release from quarantine.
    pub in_a_row: u32,
    /// The newest fault of the provider, even if it succeeded since: a failure or refusal, that it
    /// was not ready, or a warning about objects that it does not serve. A warning that no longer holds is
    /// taken back. `None` if there is no fault.
    pub last_fault: Option<Fault>,
    /// The duration of the last collection that [`collections`](Self::collections) counts.
    pub last: Duration,
    /// The duration of all collections that [`collections`](Self::collections) counts, together.
    pub total: Duration,
    /// The duration of the slowest collection, or of the longest wait for the provider while it was not
    /// ready, whichever is longer.
    pub worst: Duration,
    /// The number of bytes that the last collection delivered; 0 after a failure.
    pub bytes: usize,
    /// The first and the last title index of the provider's names; `None` if it has no names.
    pub names: Option<RangeInclusive<u32>>,
    /// The title indexes of the provider's objects, as the provider or its registration states
    /// them; empty if neither says which names belong to objects.
    pub objects: Vec<TitleIndex>,
}

/// The states of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderState {
    /// The provider has not collected yet, or not since it was released from quarantine.
    Idle,
    /// The provider could be opened. Its last collection may have failed all the same.
    Open,
    /// The provider is not open: it could not be opened, or it panicked. The next collection tries to
    /// open it.
    Failed,
    /// The provider is in quarantine after repeated faults, until it is released.
    Quarantined,
    /// The provider is disabled by its registration.
    Disabled,
    /// The provider's registration is not used: another user could have written it, or it
    /// cannot be read.
    Refused,
}

impl ProviderState {
    /// The word for this state in machine-readable output.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Open => "open",
            Self::Failed => "failed",
            Self::Quarantined => "quarantined",
            Self::Disabled => "disabled",
            Self::Refused => "refused",
        }
    }
}

impl ProviderStatus {
    /// The status of a provider that has not collected yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            state: ProviderState::Idle,
            is_counted: true,
            collections: 0,
            faults: 0,
            in_a_row: 0,
            last_fault: None,
            last: Duration::ZERO,
            total: Duration::ZERO,
            worst: Duration::ZERO,
            bytes: 0,
            names: None,
            objects: Vec::new(),
        }
    }

    /// The status of a registration that makes no provider.
    pub(crate) fn refused(fault: &Fault) -> Self {
        let last_fault = Some(fault.clone());
        Self { state: ProviderState::Refused, last_fault, ..Self::new(&fault.provider) }
    }

    /// The mean duration of a collection; zero before the first one.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos().checked_div(self.collections.into()).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
