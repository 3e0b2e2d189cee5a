//! Labels of instances.

use perfhive_engine::{InstanceLabel, SnapshotObject};
use perfhive_format::Instance;

/// The instances of an object with their labels. An instance without a name is
/// labelled by its number, and instances of the same name get an order.
pub fn labelled<'a>(
    object: SnapshotObject<'a>,
) -> impl Iterator<Item = (InstanceLabel, Instance<'a>)> {
    object.labels().into_iter().zip(object.view().instances())
}
