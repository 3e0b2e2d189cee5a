//! Until when answers are of use to who asks.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Instant;

thread_local! {
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Until when the answers are of use that a thread asks for, while this is there.
///
/// A collection has a [deadline](crate::Request::deadline). What else a source is asked
/// for, its catalogue, its names, who its providers are, takes none along, and may be
/// what takes time: which objects there are is found out when they are wanted. A
/// [`Worker`](crate::Worker) waits for none of that for longer than this. So a
/// [`Query`](crate::Query) that is to
/// [collect until a deadline](crate::Query::collect_until) keeps it whatever it has to
/// ask on the way, through any sources that wrap others. Within another one the earlier
/// of both counts.
///
/// ```
/// use perfhive_engine::Until;
/// use std::time::{Duration, Instant};
///
/// let soon = Instant::now() + Duration::from_millis(100);
/// let until = Until::enter(Some(soon));
/// assert_eq!(Until::current(), Some(soon));
/// {
///     let _later = Until::enter(Some(soon + Duration::from_secs(1)));
///     assert_eq!(Until::current(), Some(soon));
/// }
/// drop(until);
/// assert_eq!(Until::current(), None);
/// ```
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Until {
    before: Option<Instant>,
    /// It is the thread's that made it.
    not_send: PhantomData<*const ()>,
}

impl Until {
    /// From now on, on this thread; `None` leaves it as it is.
    pub fn enter(deadline: Option<Instant>) -> Self {
        let before = UNTIL.get();
        UNTIL.set(earlier(before, deadline));
        Self { before, not_send: PhantomData }
    }

    /// Until when, on this thread; `None` without an end.
    #[must_use]
    pub fn current() -> Option<Instant> {
        UNTIL.get()
    }

    /// Whether nobody waits any more for what this thread asks.
    #[must_use]
    pub fn is_over() -> bool {
        Self::current().is_some_and(|until| until <= Instant::now())
    }

    /// The earlier one of a deadline and this thread's.
    #[must_use]
    pub fn or_earlier(deadline: Option<Instant>) -> Option<Instant> {
        earlier(Self::current(), deadline)
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        UNTIL.set(self.before);
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
