//! The pauses in which a library is not called after failures.

use std::time::Duration;

/// The longest pause before a library that hung, or did not give its objects, is called again.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);

/// The pause after `failures` failures in a row: `first`, doubled with each further failure, but at
/// most [`LONGEST`].
pub(crate) fn after_failures(first: Duration, failures: u32) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST)
}
