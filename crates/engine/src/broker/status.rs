//! How providers are doing.

use crate::error::{Fault, FaultKind};
use crate::provider::Provider;
use std::time::Duration;

/// How a provider is doing.
#[derive(Clone, Debug)]
pub struct ProviderStatus {
    /// The provider's name.
    pub name: String,
    /// What state it is in.
    pub state: ProviderState,
    /// Collections it took part in.
    pub collections: u64,
    /// Collections in which it failed.
    pub faults: u64,
    /// What it failed with last.
    pub last_fault: Option<Fault>,
    /// Time the last collection took.
    pub last: Duration,
    /// Time of all collections together.
    pub total: Duration,
    /// Time the slowest collection took.
    pub worst: Duration,
    /// Bytes that the last collection delivered.
    pub bytes: usize,
}

/// The states of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderState {
    /// Never asked so far.
    Idle,
    /// Open and delivering.
    Open,
    /// It could not be opened; the next collection tries again.
    Failed,
    /// Disabled after repeated faults, until it is released.
    Quarantined,
    /// Its registration says that it is not to be asked.
    Disabled,
}

impl ProviderStatus {
    /// A provider that nobody asked so far.
    pub(super) fn of(provider: &dyn Provider) -> Self {
        let name = provider.name().to_string();
        let (state, last_fault) = match provider.refusal() {
            None => (ProviderState::Idle, None),
            Some((state, why)) => (state, Some(Fault::new(FaultKind::OpenFailed, &name, why))),
        };
        Self {
            name,
            state,
            collections: 0,
            faults: 0,
            last_fault,
            last: Duration::ZERO,
            total: Duration::ZERO,
            worst: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Time that a collection took on average.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let count = u32::try_from(self.collections).unwrap_or(u32::MAX);
        self.total.checked_div(count).unwrap_or_default()
    }
}
