//! Providers that come and go while a broker is at work.

use crate::ask::Ask;
use crate::error::Fault;
use crate::provider::Provider;
use std::sync::Arc;

/// A changing set of providers: what is registered on this machine, or what
/// running programs publish. A broker looks at it before each answer.
///
/// A provider that changed is another provider: the set holds a new [`Arc`]
/// then, and the broker closes the session of the old one.
pub trait Roster: Send {
    /// The providers, if they may have changed since the last call; `None` if they have
    /// not. Called before every answer, so the usual result must be cheap and must not
    /// allocate; look at the system at most as often as a person would notice.
    ///
    /// A roster that has to find out what its providers offer waits, until the ask's
    /// deadline, for those that may offer something of what is wanted, and for no others.
    fn changed(&mut self, ask: &Ask) -> Option<Vec<Arc<dyn Provider>>>;

    /// Registrations that make no provider, such as one that cannot be read. They are part
    /// of every collection of `Global`.
    fn faults(&self) -> &[Fault] {
        &[]
    }
}
