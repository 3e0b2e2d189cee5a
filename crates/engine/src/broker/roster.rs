//! Providers that come and go while a broker is at work.

use crate::ask::Ask;
use crate::error::Fault;
use crate::provider::Provider;
use std::sync::Arc;

/// A changing set of providers: what is registered on this machine, or what running programs
/// publish. A broker asks for it before each answer.
///
/// A provider that changed is listed as a new [`Arc`]; the broker then closes the session of the
/// old provider.
pub trait Roster: Send {
    /// The providers, if they may have changed since the last call; `None` if they have not. The
    /// method is called before every answer, so a call without a change must be cheap and must not
    /// allocate. An implementation should examine the system at most a few times a second.
    ///
    /// A roster that must first find out what its providers offer waits at most until the ask's
    /// deadline, and only for providers that may offer a wanted object.
    fn changed(&mut self, ask: &Ask) -> Option<Vec<Arc<dyn Provider>>>;

    /// The faults of registrations that make no provider, for example because they cannot be read.
    /// These faults are part of every answer to `Global`.
    fn faults(&self) -> &[Fault] {
        &[]
    }
}
