//! Memory that is taken on the way to a sample.
//!
//! A sample is to allocate nothing, and where it must, to say so. What takes memory
//! may be deep in a provider: it notes that for its thread, and who made the
//! collection there looks whether anything was noted.

use crate::error::{Fault, FaultKind};
use perfhive_format::TitleIndex;
use std::cell::Cell;
use std::fmt::{self, Write as _};

std::thread_local! {
    // Constant and without a destructor: nothing is allocated for it.
    static NOTED: Cell<u64> = const { Cell::new(0) };
}

/// Says that memory was taken on this thread, as part of a collection. The sample
/// that it is for reports that a buffer had to grow.
///
/// For [sessions](crate::Session), [rosters](crate::Roster) and
/// [sources](crate::Source): a list that had to become longer, something new that
/// is to be remembered, words that were put together. What is told already is the
/// growth of a [`Frame`](crate::Frame) and of the lists of a
/// [`Snapshot`](crate::Snapshot), and each [`Fault`] and
/// [`SourceError`](crate::SourceError) that is made.
///
/// ```
/// use perfhive_engine::note_growth;
///
/// /// Adds a name to those that are known.
/// fn learn(names: &mut Vec<String>, name: &str) {
///     if names.iter().all(|known| known != name) {
///         names.push(name.to_string());
///         note_growth();
///     }
/// }
/// # learn(&mut Vec::new(), "x");
/// ```
pub fn note_growth() {
    // Only on a thread whose locals are gone this fails: it collects nothing more.
    let _ = NOTED.try_with(|noted| noted.set(noted.get().wrapping_add(1)));
}

fn noted() -> u64 {
    NOTED.try_with(Cell::get).unwrap_or_default()
}

/// What is noted on this thread from a moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowthWatch(u64);

impl GrowthWatch {
    pub(crate) fn begin() -> Self {
        Self(noted())
    }

    pub(crate) fn has_noted(self) -> bool {
        self.0 != noted()
    }
}

/// Most faults whose words are kept.
const MOST: usize = 256;
/// Collections that a fault may be missing in, and is still kept: not each asks for
/// the same.
const ROUNDS: u64 = 16;

/// Faults of earlier collections: one that lasts is put into words once.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptFaults {
    /// With the collection that it was last made in.
    kept: Vec<(Fault, u64)>,
    round: u64,
    /// Where the next one probably is.
    next: usize,
    text: String,
}

impl KeptFaults {
    /// Begins a collection.
    pub(crate) fn begin(&mut self) {
        self.round += 1;
        self.next = 0;
        let oldest = self.round.saturating_sub(ROUNDS);
        self.kept.retain(|(_, round)| *round >= oldest);
    }

    /// The fault with these words, made only where there is none like it.
    pub(crate) fn make(
        &mut self,
        kind: FaultKind,
        provider: &str,
        (object, instance): (Option<TitleIndex>, Option<&str>),
        message: impl fmt::Display,
    ) -> Fault {
        self.text.clear();
        let room = self.text.capacity();
        // Writing to a string does not fail; what a `Display` refuses is left out.
        let _ = write!(self.text, "{message}");
        if self.text.capacity() > room {
            note_growth();
        }
        let is_it = |(known, _): &(Fault, u64)| {
            known.kind == kind
                && known.object == object
                && known.instance.as_deref() == instance
                && *known.message == *self.text
                && *known.provider == *provider
        };
        let (front, back) = self.kept.split_at(self.next.min(self.kept.len()));
        let place = back.iter().position(is_it).map(|place| front.len() + place);
        let place = place.or_else(|| front.iter().position(is_it));
        if let Some((known, round)) = place.and_then(|place| self.kept.get_mut(place)) {
            *round = self.round;
            self.next = place.unwrap_or_default() + 1;
            return known.clone();
        }
        let mut fault = Fault::new(kind, provider, &self.text);
        fault.object = object;
        fault.instance = instance.map(Into::into);
        if self.kept.len() < MOST {
            self.kept.push((fault.clone(), self.round));
            self.next = self.kept.len();
        }
        fault
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_fault_that_lasts_is_the_same() {
        let mut kept = KeptFaults::default();
        let mut round = |names: &[&str]| {
            kept.begin();
            let watch = GrowthWatch::begin();
            let make = |name: &&str| {
                let of = (Some(TitleIndex(2)), Some(*name));
                kept.make(FaultKind::Partial, "p", of, format_args!("no {name}"))
            };
            let faults: Vec<Fault> = names.iter().map(make).collect();
            (faults, watch.has_noted())
        };
        let (first, grown) = round(&["a", "b", "c"]);
        assert!(grown);
        assert_eq!(first[1].to_string(), "p, object 2, instance b: no b");
        for names in [&["a", "b", "c"][..], &["c", "a"], &["b", "b"], &["c", "b", "a"]] {
            let (again, grown) = round(names);
            assert!(!grown, "{names:?}");
            for (fault, name) in again.iter().zip(names) {
                let same = first.iter().find(|one| one.instance.as_deref() == Some(name));
                assert!(Arc::ptr_eq(&fault.message, &same.unwrap().message));
            }
        }
        // Whatever is another one in any way.
        for (kind, provider, object, instance) in [
            (FaultKind::Warning, "p", Some(2), Some("a")),
            (FaultKind::Partial, "q", Some(2), Some("a")),
            (FaultKind::Partial, "p", None, Some("a")),
            (FaultKind::Partial, "p", Some(2), None),
        ] {
            let of = (object.map(TitleIndex), instance);
            let fault = kept.make(kind, provider, of, "no a");
            assert_eq!((fault.kind, &*fault.provider), (kind, provider));
            assert_eq!((fault.object, fault.instance.as_deref()), of);
            assert!(!Arc::ptr_eq(&fault.message, &first[0].message));
        }
    }

    #[test]
    fn what_is_kept_has_a_limit_and_goes() {
        let mut kept = KeptFaults::default();
        for round in 0..3 {
            kept.begin();
            for number in 0..2 * MOST {
                kept.make(FaultKind::Partial, "p", (None, None), round * 10_000 + number);
            }
            assert!(kept.kept.len() <= MOST);
        }
        (0..=ROUNDS).for_each(|_| kept.begin());
        assert_eq!(kept.kept.len(), 0);
    }
}
