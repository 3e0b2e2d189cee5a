//! Parents of instances, found by the object and the index that an instance states.

use super::Frame;
use crate::shared_text::SharedText;
use perfhive_format::{Instance, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// A finder of the parents that instances refer to. The objects, and the instances of each parent
/// object, are listed once. So no lookup walks the block again, even if the block is hostile.
pub struct Parents<'a> {
    frame: &'a Arc<Frame>,
    /// The objects of the frame; `None` before the first lookup.
    objects: Option<HashMap<TitleIndex, ParentObject<'a>>>,
    /// The empty name, for instances without a parent.
    no_name: Option<SharedText<[u8]>>,
}

struct ParentObject<'a> {
    /// The object's index in the frame.
    at: usize,
    /// `None` before the first lookup in this object.
    instances: Option<Vec<Parent<'a>>>,
}

/// A parent. Its name is allocated once, however many children it has.
struct Parent<'a> {
    instance: Instance<'a>,
    bytes: Option<SharedText<[u8]>>,
    text: Option<SharedText<str>>,
}

impl<'a> Parents<'a> {
    pub(super) fn new(frame: &'a Arc<Frame>) -> Self {
        Self { frame, objects: None, no_name: None }
    }

    /// The parent of `instance`; `None` if it has none, or the block does not hold the parent.
    pub fn of(&mut self, instance: &Instance<'_>) -> Option<Instance<'a>> {
        self.find(instance).map(|parent| parent.instance)
    }

    /// The name of the parent of `instance`, as the bytes in the block; empty without a parent.
    pub(crate) fn name_bytes(&mut self, instance: &Instance<'_>) -> SharedText<[u8]> {
        let Some(parent) = self.find(instance) else {
            return self.no_name.get_or_insert_with(|| [].as_slice().into()).clone();
        };
        let name = parent.instance.name();
        parent.bytes.get_or_insert_with(|| name.as_bytes().into()).clone()
    }

    /// The name of the parent of `instance`; `None` without a parent, and for a parent without a
    /// name, which could not be written in a path.
    pub(crate) fn name(&mut self, instance: &Instance<'_>) -> Option<SharedText<str>> {
        let parent = self.find(instance)?;
        let name = Some(parent.instance.name()).filter(|name| !name.is_empty())?;
        Some(parent.text.get_or_insert_with(|| name.to_text().into()).clone())
    }

    fn find(&mut self, instance: &Instance<'_>) -> Option<&mut Parent<'a>> {
        let (object, place) = instance.parent()?;
        let frame: &'a Frame = self.frame;
        let objects = self.objects.get_or_insert_with(|| {
            // If several objects have the name, the first counts.
            let objects = frame.objects.iter().enumerate().rev();
            objects.map(|(at, entry)| (entry.name, ParentObject { at, instances: None })).collect()
        });
        let ParentObject { at, instances } = objects.get_mut(&object)?;
        let instances = instances.get_or_insert_with(|| {
            let parent = |instance| Parent { instance, bytes: None, text: None };
            let object = frame.object(*at);
            object.map_or_else(Vec::new, |object| object.instances().map(parent).collect())
        });
        instances.get_mut(usize::try_from(place).ok()?)
    }
}
