//! The names of instances in sensor names. Each name means one instance.

use crate::identity::Identity;
use crate::label::InstanceLabel;
use crate::query::sample::ObjectSample;
use crate::suggest::fold;
use std::collections::HashMap;

/// The names of a sample's instances in sensor names, in the sample's order: the process or thread
/// ID, `_Total` for the sum over all others, otherwise the label as in a path.
pub(super) fn instance_names(sample: &ObjectSample) -> Vec<String> {
    (0..sample.labels().len()).map(|place| instance_name(sample, place)).collect()
}

/// The name of the instance with the index `place`, as [`instance_names`] makes it; empty if the
/// sample has no such instance.
pub(super) fn instance_name(sample: &ObjectSample, place: usize) -> String {
    match (sample.identities().identity(place), sample.labels().get(place)) {
        (Some(Identity::Process { id, .. } | Identity::Thread { id, .. }), _) => id.to_string(),
        (identity, Some(label)) if is_total(identity, label) => "_Total".to_string(),
        (_, Some(label)) => label.to_string(),
        (_, None) => String::new(),
    }
}

/// Whether an instance is the sum over all others: the first one that is called `_Total`. If it has
/// a parent, that must be called `_Total` too, since the sum over one parent's instances does not
/// count.
fn is_total(identity: Option<&Identity>, label: &InstanceLabel) -> bool {
    const TOTAL: &str = "_Total";
    let is_first = match identity {
        Some(Identity::Named { order, .. }) => *order == 0,
        _ => label.order == 0,
    };
    is_first && &*label.name == TOTAL && label.parent.as_deref().is_none_or(|name| name == TOTAL)
}

/// The indexes of instances by their names in sensor names. A name that several instances have
/// means none of them.
pub(super) struct InstancePlaces<'a> {
    exact: HashMap<&'a str, Option<usize>>,
    folded: HashMap<String, Option<usize>>,
}

impl<'a> InstancePlaces<'a> {
    pub(super) fn of(names: &'a [String]) -> Self {
        let (mut exact, mut folded) = (HashMap::new(), HashMap::new());
        for (place, name) in names.iter().enumerate() {
            exact.entry(name.as_str()).and_modify(|place| *place = None).or_insert(Some(place));
            folded.entry(fold(name)).and_modify(|place| *place = None).or_insert(Some(place));
        }
        Self { exact, folded }
    }

    /// The index of the instance with a name; `None` if no instance or more than one has it. Case
    /// matters only between names that differ in nothing else.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let exact = self.exact.get(name).copied().flatten();
        exact.or_else(|| self.folded.get(&fold(name)).copied().flatten())
    }
}
