//! Parents of instances, found by their place in a block.

use super::Frame;
use perfhive_format::{Instance, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// Finds the parents that instances point to. The objects, and the instances of each parent
/// object, are listed once, so that a lookup is not a walk even in a hostile block.
pub struct Parents<'a> {
    frame: &'a Arc<Frame>,
    places: Option<HashMap<TitleIndex, usize>>,
    tables: HashMap<TitleIndex, Vec<Instance<'a>>>,
}

impl<'a> Parents<'a> {
    pub(super) fn new(frame: &'a Arc<Frame>) -> Self {
        Self { frame, places: None, tables: HashMap::new() }
    }

    /// The instance to which `instance` points as its parent, if the block
    /// has it.
    pub fn of(&mut self, instance: &Instance<'_>) -> Option<Instance<'a>> {
        self.place_of(instance).map(|(_, parent)| parent)
    }

    /// The parent of `instance`, with the object it is in and its place there, which are
    /// unique in the block; `None` where the block does not have it.
    pub(crate) fn place_of(
        &mut self,
        instance: &Instance<'_>,
    ) -> Option<((TitleIndex, u32), Instance<'a>)> {
        let (object, place) = instance.parent()?;
        let frame: &'a Frame = self.frame;
        let places = self.places.get_or_insert_with(|| {
            // Of several objects with one name the first counts.
            let objects = frame.objects.iter().enumerate().rev();
            objects.map(|(at, entry)| (entry.name, at)).collect()
        });
        let instances = self.tables.entry(object).or_insert_with(|| {
            let view = places.get(&object).and_then(|at| frame.object(*at));
            view.map(|view| view.instances().collect()).unwrap_or_default()
        });
        let parent = instances.get(usize::try_from(place).ok()?)?;
        Some(((object, place), *parent))
    }
}
