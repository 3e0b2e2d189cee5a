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

/// A label as `parent/name#n`, without the carets that a counter path needs.
#[must_use]
pub fn plain(label: &InstanceLabel) -> String {
    let mut text = String::new();
    if let Some(parent) = &label.parent {
        text.push_str(parent);
        text.push('/');
    }
    text.push_str(&label.name);
    if label.order > 0 {
        text.push_str(&format!("#{}", label.order));
    }
    text
}
