//! Parents of instances, found by the object and the index that an instance states.

use super::Frame;
use perfhive_format::{Instance, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// A finder of the parents that instances refer to. The objects, and the instances of each parent
/// object, are listed once. So no lookup walks the block again, even if the block is hostile.
pub struct Parents<'a> {
    frame: &'a Arc<Frame>,
    places: Option<HashMap<TitleIndex, usize>>,
    tables: HashMap<TitleIndex, Vec<Instance<'a>>>,
}

impl<'a> Parents<'a> {
    pub(super) fn new(frame: &'a Arc<Frame>) -> Self {
        Self { frame, places: None, tables: HashMap::new() }
    }

    /// The parent of `instance`; `None` if it has none, or the block does not hold the parent.
    pub fn of(&mut self, instance: &Instance<'_>) -> Option<Instance<'a>> {
        self.place_of(instance).map(|(_, parent)| parent)
    }

    /// The parent of `instance`, with the parent's object and its index among the instances of that
    /// object, which together are unique in the block. `None` if `instance` has no parent, or the
    /// block does not hold it.
    pub(crate) fn place_of(
        &mut self,
        instance: &Instance<'_>,
    ) -> Option<((TitleIndex, u32), Instance<'a>)> {
        let (object, place) = instance.parent()?;
        let frame: &'a Frame = self.frame;
        let places = self.places.get_or_insert_with(|| {
            // If several objects have the name, the first counts.
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
