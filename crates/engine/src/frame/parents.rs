//! Parents of instances, found by the object and the index that an instance states.

use super::Frame;
use crate::shared_text::SharedText;
use perfhive_format::{Instance, TitleIndex};
use std::sync::Arc;

/// A finder of the parents that instances refer to. The objects, and the instances of each parent
/// object, are listed once. So no lookup walks the block again, even if the block is hostile.
pub struct Parents<'a> {
    frame: &'a Arc<Frame>,
    /// The title index and the place in the frame of each object, sorted; empty before the first
    /// lookup.
    objects: Vec<(TitleIndex, usize)>,
    /// For each of `objects`, its instances; `None` before the first lookup of one of them.
    instances: Vec<Option<Vec<Parent<'a>>>>,
    /// The empty name, for instances without a parent.
    no_name: Option<SharedText<[u8]>>,
}

/// A parent. Its name is allocated once, however many children it has.
struct Parent<'a> {
    instance: Instance<'a>,
    bytes: Option<SharedText<[u8]>>,
    text: Option<SharedText<str>>,
}

impl<'a> Parents<'a> {
    pub(super) fn new(frame: &'a Arc<Frame>) -> Self {
        Self { frame, objects: Vec::new(), instances: Vec::new(), no_name: None }
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

    /// The name of the parent of `instance`; `None` if it has none, if the block does not hold the
    /// parent, or if the parent has no name, which could not be written in a path.
    pub(crate) fn name(&mut self, instance: &Instance<'_>) -> Option<SharedText<str>> {
        let parent = self.find(instance)?;
        let name = Some(parent.instance.name()).filter(|name| !name.is_empty())?;
        Some(parent.text.get_or_insert_with(|| name.to_text().into()).clone())
    }

    fn find(&mut self, instance: &Instance<'_>) -> Option<&mut Parent<'a>> {
        let (name, place) = instance.parent()?;
        let frame: &'a Frame = self.frame;
        if self.objects.is_empty() {
            let names = frame.objects.iter().map(|object| object.name);
            self.objects = names.zip(0..).collect();
            self.objects.sort_unstable();
            self.instances.resize_with(self.objects.len(), || None);
        }
        // If several objects have the name, the first counts.
        let found = self.objects.partition_point(|(listed, _)| *listed < name);
        let (_, at) = self.objects.get(found).filter(|(listed, _)| *listed == name)?;
        let instances = self.instances.get_mut(found)?.get_or_insert_with(|| {
            let parent = |instance| Parent { instance, bytes: None, text: None };
            let object = frame.object(*at);
            object.map_or_else(Vec::new, |object| object.instances().map(parent).collect())
        });
        instances.get_mut(usize::try_from(place).ok()?)
    }
}
