//! Labels of instances.

use crate::frame::SnapshotObject;
use crate::identity::Orders;
use crate::path::InstancePattern;
use crate::shared_text::SharedText;
use std::fmt;

/// The name of an instance in one sample, for people and paths. The name may mean another instance
/// in the next sample; the [`Identity`](crate::Identity) tells instances apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceLabel {
    /// The parent's name; `None` if there is no parent, if the block does not hold the parent, or
    /// if the parent has no name.
    pub parent: Option<SharedText<str>>,
    /// The instance's name; for an instance without a name, its `UniqueID` as text, if there is
    /// one.
    pub name: SharedText<str>,
    /// Index (from 0) among the instances with the same parent and name: the `n` of `#n`.
    pub order: u32,
}

/// The meaning of an instance: a single thing, a sum over others, or idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstanceRole {
    /// The instance stands for itself alone.
    Single,
    /// The sum or mean of other instances: `_Total`, and names such as `0,_Total` of a group of
    /// processors.
    Total,
    /// The instance stands for idle time: the process Idle (`Idle` or `Idle:0`), or one of its
    /// threads.
    Idle,
}

impl InstanceLabel {
    /// The meaning of the instance, judged by its name and its parent's name.
    #[must_use]
    pub fn role(&self) -> InstanceRole {
        let of = self.parent.as_deref().unwrap_or(&self.name);
        match (&*self.name, of) {
            (name, _) if name == "_Total" || name.ends_with(",_Total") => InstanceRole::Total,
            (_, "Idle" | "Idle:0") => InstanceRole::Idle,
            _ => InstanceRole::Single,
        }
    }

    /// The label for people: `parent/name#n` without the escapes of a path, and without `#0`. Two
    /// instances may have the same text.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut text = String::new();
        if let Some(parent) = &self.parent {
            text.push_str(parent);
            text.push('/');
        }
        text.push_str(&self.name);
        if self.order > 0 {
            text.push_str(&format!("#{}", self.order));
        }
        text
    }

    /// The pattern that matches this instance and no other of the same sample.
    #[must_use]
    pub fn pattern(&self) -> InstancePattern {
        InstancePattern::literal(self.parent.as_deref(), &self.name, self.order)
    }
}

/// Writes the label as in a path.
impl fmt::Display for InstanceLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern().fmt(f)
    }
}

impl SnapshotObject<'_> {
    /// The labels of the object's instances, in their order. An instance without a name has its
    /// `UniqueID` as its name, if there is one.
    #[must_use]
    pub fn labels(self) -> Vec<InstanceLabel> {
        let mut parents = self.parents();
        let mut orders = Orders::default();
        let label = |instance: perfhive_format::Instance<'_>| {
            let parent = parents.name(&instance);
            let name: SharedText<str> = match (instance.name(), instance.unique_id()) {
                (name, Some(id)) if name.is_empty() => id.to_string().into(),
                (name, _) => name.to_text().into(),
            };
            let bytes = |text: &SharedText<str>| text.clone().into_bytes();
            let order = orders.next(parent.as_ref().map(bytes), bytes(&name));
            InstanceLabel { parent, name, order }
        };
        self.view().instances().map(label).collect()
    }
}
