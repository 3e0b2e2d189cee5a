//! The state and statistics of providers.

use crate::error::Fault;
use perfhive_format::TitleIndex;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The state and statistics of a provider: in this broker, or in all of a user's programs
/// for a provider that keeps an [account](crate::Provider::account).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderStatus {
    /// The provider's name.
    pub name: String,
    /// The provider's state.
    pub state: ProviderState,
    /// Whether the provider's collections are counted and timed. Where the system calls the
    /// providers, as Windows does, they are not: the numbers below are 0 and mean nothing.
    pub is_counted: bool,
    /// Collections that the provider took part in, except those in which it was [not
    /// ready](crate::FaultKind::NotYet).
    pub collections: u64,
    /// Collections in which the provider failed.
    pub faults: u64,
    /// Failures in a row, up to now.
    pub in_a_row: u32,
    /// The fault of the provider's last failure.
    pub last_fault: Option<Fault>,
    /// How long the last collection took.
    pub last: Duration,
    /// How long all collections took together.
    pub total: Duration,
    /// How long the slowest collection took.
    pub worst: Duration,
    /// Bytes that the last collection delivered.
    pub bytes: usize,
    /// Title indexes of the provider's names, from the first to the last; `None` for a
    /// provider without any.
    pub names: Option<RangeInclusive<u32>>,
    /// Title indexes of its objects, from the provider or its registration; empty where
    /// neither says which names belong to objects.
    pub objects: Vec<TitleIndex>,
}

/// The states of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderState {
    /// The provider has not collected yet.
    Idle,
    /// The provider is open and delivers.
    Open,
    /// The provider could not be opened; the next collection tries again.
    Failed,
    /// The provider is in quarantine after repeated faults, until it is released.
    Quarantined,
    /// The provider's registration disables it.
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
    /// The status of a provider before its first collection.
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

    /// How long a collection took on average.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos().checked_div(self.collections.into()).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
