//! Faults that last over many collections.

use crate::error::{Fault, FaultKind};
use perfhive_format::TitleIndex;
use std::fmt::{self, Write as _};

/// The largest number of faults that are kept; any further fault is allocated each time that it
/// occurs.
const MOST: usize = 256;
/// The number of collections in a row that a fault may be missing from before it is
/// forgotten: collections ask for different objects.
const ROUNDS: u64 = 16;

/// Faults of earlier collections, kept for reuse. A fault that occurs in many collections is usually
/// allocated once and then shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptFaults {
    /// The kept faults, each with the number of the collection in which it occurred last.
    kept: Vec<(Fault, u64)>,
    round: u64,
    /// The index in `kept` from which the next fault is searched: faults tend to come in the same
    /// order.
    next: usize,
    text: String,
}

impl KeptFaults {
    /// Begins a collection, and forgets the faults that the last [`ROUNDS`] collections did not
    /// have.
    pub(crate) fn begin(&mut self) {
        self.round += 1;
        self.next = 0;
        let oldest = self.round.saturating_sub(ROUNDS);
        self.kept.retain(|(_, round)| *round >= oldest);
    }

    /// A fault with these properties. It is allocated only if no such fault is kept.
    pub(crate) fn make(
        &mut self,
        kind: FaultKind,
        provider: &str,
        (object, instance): (Option<TitleIndex>, Option<&str>),
        message: &dyn fmt::Display,
    ) -> Fault {
        self.text.clear();
        // Writing to a string does not fail; what a `Display` refuses is left out.
        let _ = write!(self.text, "{message}");
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
    fn a_lasting_fault_is_formatted_once() {
        let mut kept = KeptFaults::default();
        let mut round = |names: &[&str]| {
            kept.begin();
            let make = |name: &&str| {
                let of = (Some(TitleIndex(2)), Some(*name));
                kept.make(FaultKind::Partial, "p", of, &format_args!("no {name}"))
            };
            names.iter().map(make).collect::<Vec<Fault>>()
        };
        let first = round(&["a", "b", "c"]);
        assert_eq!(first[1].to_string(), "p, object 2, instance b: no b");
        for names in [&["a", "b", "c"][..], &["c", "a"], &["b", "b"], &["c", "b", "a"]] {
            let again = round(names);
            for (fault, name) in again.iter().zip(names) {
                let same = first.iter().find(|one| one.instance.as_deref() == Some(name));
                assert!(Arc::ptr_eq(&fault.message, &same.unwrap().message));
            }
        }
        // A fault that differs in any field is made anew.
        for (kind, provider, object, instance) in [
            (FaultKind::Warning, "p", Some(2), Some("a")),
            (FaultKind::Partial, "q", Some(2), Some("a")),
            (FaultKind::Partial, "p", None, Some("a")),
            (FaultKind::Partial, "p", Some(2), None),
        ] {
            let of = (object.map(TitleIndex), instance);
            let fault = kept.make(kind, provider, of, &"no a");
            assert_eq!((fault.kind, &*fault.provider), (kind, provider));
            assert_eq!((fault.object, fault.instance.as_deref()), of);
            assert!(!Arc::ptr_eq(&fault.message, &first[0].message));
        }
    }

    #[test]
    fn kept_faults_are_limited_and_forgotten_after_some_rounds() {
        let mut kept = KeptFaults::default();
        for round in 0..3 {
            kept.begin();
            for number in 0..2 * MOST {
                kept.make(FaultKind::Partial, "p", (None, None), &(round * 10_000 + number));
            }
            assert!(kept.kept.len() <= MOST);
        }
        (0..=ROUNDS).for_each(|_| kept.begin());
        assert_eq!(kept.kept.len(), 0);
    }
}
