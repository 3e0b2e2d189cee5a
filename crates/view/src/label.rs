//! Labels of instances.

use perfhive_engine::{InstanceLabel, SnapshotObject};
use perfhive_format::Instance;

/// The instances of an object with their labels. An instance without a name is labelled by its
/// `UniqueID`, if it has one; instances with the same parent and name are numbered (`#1` is the second).
pub fn labelled<'a>(
    object: SnapshotObject<'a>,
) -> impl Iterator<Item = (InstanceLabel, Instance<'a>)> {
    object.labels().into_iter().zip(object.view().instances())
}
