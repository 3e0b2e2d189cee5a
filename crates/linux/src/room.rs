//! How much the lists of a session have room for: where that is another amount after
//! a collection, it took memory, and its sample is to say so.
//!
//! What is made anew for something that appears (a group, a disk) is
//! [noted](perfhive_engine::note_growth) where that is done.

use perfhive_engine::{Collection, ObjectWriter, ProviderError, Session, note_growth};
use std::collections::HashMap;

/// Has lists that are filled again and again.
pub(crate) trait Room {
    /// How many items of whatever kind there is room for.
    fn room(&self) -> usize;
}

impl<T> Room for Vec<T> {
    fn room(&self) -> usize {
        self.capacity()
    }
}

impl Room for String {
    fn room(&self) -> usize {
        self.capacity()
    }
}

impl<K, V> Room for HashMap<K, V> {
    fn room(&self) -> usize {
        self.capacity()
    }
}

impl<T: Room> Room for Option<T> {
    fn room(&self) -> usize {
        self.as_ref().map_or(0, Room::room)
    }
}

impl<T: Room, const N: usize> Room for [T; N] {
    fn room(&self) -> usize {
        self.iter().map(Room::room).sum()
    }
}

/// Adds up the room of a type's lists.
macro_rules! room {
    ($type:ty: $($field:ident),+) => {
        impl crate::room::Room for $type {
            fn room(&self) -> usize {
                0 $(+ crate::room::Room::room(&self.$field))+
            }
        }
    };
}

pub(crate) use room;

/// A session that tells when its lists grew.
pub(crate) struct Telling<S>(pub(crate) S);

impl<S: Session + Room> Session for Telling<S> {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let before = self.0.room();
        let collected = self.0.collect(collection, out);
        if self.0.room() != before {
            note_growth();
        }
        collected
    }
}
