//! How the instances of an object are called.

use perfhive::format::Instance;
use perfhive::{InstanceLabel, SnapshotObject};

/// The instances of an object with their names: the parent's before a slash,
/// a number where there is no name, `#n` behind those of one name.
pub(crate) fn labelled<'a>(
    object: SnapshotObject<'a>,
) -> impl Iterator<Item = (InstanceLabel, Instance<'a>)> {
    object.labels().into_iter().zip(object.view().instances())
}

/// A label as people read it, without the carets that a path would need.
pub(crate) fn plain(label: &InstanceLabel) -> String {
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
