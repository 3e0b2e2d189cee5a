//! On whose behalf a thread collects, so that a source that asks its own cache
//! is told so rather than left to wait for itself for ever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How deep caches may stand within caches.
const DEEPEST: usize = 8;

/// The source of one cache, among all in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(u64);

impl Link {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The collections of caches that a thread is at work for, the outermost
/// first.
///
/// A source that asks the very cache which it collects for would wait for
/// itself: it gets an error instead. That holds on the thread that collects,
/// and within a [`Worker`](crate::Worker). A source that has others do its work
/// on threads of its own carries this over to them:
///
/// ```
/// use perfhive_engine::Collecting;
///
/// let collecting = Collecting::current();
/// std::thread::spawn(move || {
///     let _entered = collecting.enter();
///     // Whatever is asked of a cache here is asked on the same behalf.
/// });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collecting {
    /// 0 behind the last.
    links: [u64; DEEPEST],
}

impl Collecting {
    /// Those that this thread is at work for.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.with(std::cell::Cell::get)
    }

    /// Makes them this thread's until the answer is dropped.
    pub fn enter(self) -> Entered {
        let before = CURRENT.with(|current| current.replace(self));
        Entered { before, not_send: std::marker::PhantomData }
    }

    fn iter(self) -> impl Iterator<Item = u64> {
        self.links.into_iter().take_while(|link| *link != 0)
    }

    /// The same and one more; `None` if that one is among them already, or
    /// there are too many.
    pub(crate) fn and(mut self, link: Link) -> Option<Self> {
        let depth = self.iter().count();
        if self.iter().any(|known| known == link.0) {
            return None;
        }
        *self.links.get_mut(depth)? = link.0;
        Some(self)
    }

    /// Notes that what is at work here waits for another collection; `None` if
    /// that one waits for it in turn.
    pub(crate) fn waits_for(self, link: Link) -> Option<Waiting> {
        if self.iter().next().is_none() {
            return Some(Waiting { of: self, link });
        }
        let mut waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
        crate::growth::note_growth();
        let mut reached = vec![link.0];
        let mut at = 0;
        while let Some(&from) = reached.get(at) {
            if self.iter().any(|mine| mine == from) {
                return None;
            }
            for (_, to) in waits.iter().filter(|(waiting, _)| *waiting == from) {
                if !reached.contains(to) {
                    reached.push(*to);
                }
            }
            at += 1;
        }
        waits.extend(self.iter().map(|mine| (mine, link.0)));
        Some(Waiting { of: self, link })
    }
}

/// Who waits for whom, over all threads: two caches whose sources ask each
/// other stand still together although neither asks itself. Only collections
/// within collections are listed.
static WAITS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

#[cfg(not(loom))]
std::thread_local! {
    static CURRENT: std::cell::Cell<Collecting> =
        const { std::cell::Cell::new(Collecting { links: [0; DEEPEST] }) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: std::cell::Cell<Collecting> = std::cell::Cell::new(Collecting::default());
}

/// For as long as a thread is at work on others' behalf; see
/// [`Collecting::enter`].
#[must_use = "the thread is at work for them until this is dropped"]
#[derive(Debug)]
pub struct Entered {
    before: Collecting,
    /// It belongs to the thread.
    not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

/// For as long as a thread waits; see [`Collecting::waits_for`].
#[derive(Debug)]
pub(crate) struct Waiting {
    of: Collecting,
    link: Link,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.of.iter().next().is_none() {
            return;
        }
        let mut waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
        for mine in self.of.iter() {
            if let Some(at) = waits.iter().position(|wait| *wait == (mine, self.link.0)) {
                waits.swap_remove(at);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_twice_in_a_chain() {
        let (a, b) = (Link::new(), Link::new());
        let chain = Collecting::default().and(a).and_then(|chain| chain.and(b)).unwrap();
        assert_eq!(chain.and(a), None);
        assert_eq!(chain.and(b), None);
        let deepest = (2..DEEPEST).fold(chain, |chain, _| chain.and(Link::new()).unwrap());
        assert_eq!(deepest.and(Link::new()), None);
    }

    #[test]
    fn a_circle_of_those_who_wait_is_seen_by_the_last() {
        let [a, b, c] = std::array::from_fn(|_| Link::new());
        let of = |link| Collecting::default().and(link).unwrap();
        let first = of(a).waits_for(b).unwrap();
        let second = of(b).waits_for(c).unwrap();
        assert!(of(c).waits_for(a).is_none());
        // Not for ever: who stopped waiting is in nobody's way.
        drop(first);
        let third = of(c).waits_for(a).unwrap();
        assert!(of(a).waits_for(b).is_none());
        drop((second, third));
        let listed = |link: Link| WAITS.lock().unwrap().iter().any(|(from, _)| *from == link.0);
        assert!(![a, b, c].into_iter().any(listed));
    }

    #[test]
    fn a_thread_has_what_it_entered_and_then_what_it_had() {
        let one = Collecting::default().and(Link::new()).unwrap();
        let outer = one.enter();
        let two = one.and(Link::new()).unwrap();
        {
            let _inner = two.enter();
            assert_eq!(Collecting::current(), two);
        }
        assert_eq!(Collecting::current(), one);
        drop(outer);
        assert_eq!(Collecting::current(), Collecting::default());
    }
}
