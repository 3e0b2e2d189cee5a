//! Handles: the numbers by which Java knows native objects.
//!
//! A handle is the position of an object in a table and the generation of that position, never an
//! address. A position that is used again has another generation, so that a handle of a closed
//! object finds nothing. A number that was never a handle finds nothing either.
//!
//! An object that is closed while another thread works with it lives until that thread is done.

use crate::categories::{CategoryObject, CounterObject, DataObject};
use crate::experiment::JavaExperiment;
use crate::failure::{Failure, Kind};
use crate::outbox::Outbox;
use crate::points::CallQueue;
use crate::probe::Probe;
use crate::snapshot::CounterSnapshot;
use crate::source::OpenSource;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A native object. Its kind is checked at each use.
pub(crate) enum Object {
    Source(Mutex<OpenSource>),
    Probe(Mutex<Probe>),
    Snapshot(Mutex<CounterSnapshot>),
    Category(Mutex<CategoryObject>),
    Counter(Mutex<CounterObject>),
    Data(DataObject),
    Experiment(JavaExperiment),
    Outbox(Arc<Outbox>),
    Calls(Arc<CallQueue>),
}

impl Object {
    fn kind(&self) -> &'static str {
        match self {
            Self::Source(_) => "data source",
            Self::Probe(_) => "probe context",
            Self::Snapshot(_) => "snapshot",
            Self::Category(_) => "category",
            Self::Counter(_) => "counter",
            Self::Data(_) => "category's data",
            Self::Experiment(_) => "experiment",
            Self::Outbox(_) => "listener",
            Self::Calls(_) => "queue of calls",
        }
    }
}

#[derive(Default)]
struct Place {
    generation: u32,
    object: Option<Arc<Object>>,
}

struct Table {
    places: Vec<Place>,
    free: Vec<u32>,
}

static TABLE: RwLock<Table> = RwLock::new(Table { places: Vec::new(), free: Vec::new() });

/// The last generation of a position, chosen so that handles are positive numbers.
const LAST_GENERATION: u32 = i32::MAX.cast_unsigned();

impl Table {
    fn insert(&mut self, object: Object) -> Result<i64, Failure> {
        let full = || Failure::new(Kind::Internal, "there are too many native objects");
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.places.len()).map_err(|_| full())?;
                self.places.push(Place::default());
                index
            }
        };
        let place = self.places.get_mut(index as usize).ok_or_else(full)?;
        place.generation += 1;
        place.object = Some(Arc::new(object));
        Ok(i64::from(place.generation) << 32 | i64::from(index))
    }

    fn get(&self, handle: i64) -> Option<&Arc<Object>> {
        let (generation, index) = parts(handle);
        let place = self.places.get(index as usize)?;
        place.object.as_ref().filter(|_| place.generation == generation)
    }

    fn remove(&mut self, handle: i64) -> Option<Arc<Object>> {
        self.get(handle)?;
        let (generation, index) = parts(handle);
        // A place whose generations are used up is not used again.
        if generation < LAST_GENERATION {
            self.free.push(index);
        }
        self.places.get_mut(index as usize)?.object.take()
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the two halves")]
fn parts(handle: i64) -> (u32, u32) {
    ((handle.cast_unsigned() >> 32) as u32, handle as u32)
}

/// Puts an object into the table and returns its handle, which is positive; an error if the table
/// is full.
pub(crate) fn insert(object: Object) -> Result<i64, Failure> {
    TABLE.write().unwrap_or_else(PoisonError::into_inner).insert(object)
}

/// Removes the object of a handle from the table; an error for a number that is not the handle of
/// an object in it, such as a handle that is already closed.
pub(crate) fn close(handle: i64) -> Result<(), Failure> {
    let removed = TABLE.write().unwrap_or_else(PoisonError::into_inner).remove(handle);
    // Dropped without the lock: closing a source may take time.
    removed.map(drop).ok_or_else(|| unknown(handle))
}

/// The number of objects in the table. A place with no generation left counts as an object.
pub(crate) fn count() -> usize {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.places.len() - table.free.len()
}

fn unknown(handle: i64) -> Failure {
    Failure::new(
        Kind::Handle,
        format!("{handle:#x} is the handle of no native object: it is closed, or never was one"),
    )
}

fn get(handle: i64) -> Result<Arc<Object>, Failure> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.get(handle).cloned().ok_or_else(|| unknown(handle))
}

fn foreign(handle: i64, object: &Object, wanted: &str) -> Failure {
    Failure::new(
        Kind::Handle,
        format!("{handle:#x} is the handle of a {}, and a {wanted} is wanted", object.kind()),
    )
}

/// Locks an object, also after a panic, which leaves the object as usable as an error does.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Defines a function that works with objects of one kind.
macro_rules! with {
    ($($name:ident, $variant:ident, $object:ty, $wanted:literal;)*) => {
        $(
            /// Calls `work` with the object of a handle, while other threads wait for the object.
            ///
            /// # Errors
            /// If the number is not the handle of an object of this kind; and the errors of `work`.
            pub(crate) fn $name<R>(
                handle: i64,
                work: impl FnOnce(&mut $object) -> Result<R, Failure>,
            ) -> Result<R, Failure> {
                match &*get(handle)? {
                    Object::$variant(object) => work(&mut lock(object)),
                    other => Err(foreign(handle, other, $wanted)),
                }
            }
        )*
    };
}

with! {
    source, Source, OpenSource, "data source";
    probe, Probe, Probe, "probe context";
    snapshot, Snapshot, CounterSnapshot, "snapshot";
    category, Category, CategoryObject, "category";
    counter, Counter, CounterObject, "counter";
}

/// Calls `work`, which must be short, with a probe context. The table is locked for reading
/// meanwhile, which takes less time than counting the references to the object. If another thread
/// works with the context, this function waits for that thread as [`probe`] does, without the lock.
///
/// # Errors
/// As [`probe`].
pub(crate) fn probe_briefly<R>(
    handle: i64,
    work: impl FnOnce(&mut Probe) -> Result<R, Failure>,
) -> Result<R, Failure> {
    {
        let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
        match table.get(handle).map(|object| &**object) {
            Some(Object::Probe(object)) => {
                if let Ok(mut probe) = object.try_lock() {
                    return work(&mut probe);
                }
            }
            Some(other) => return Err(foreign(handle, other, "probe context")),
            None => return Err(unknown(handle)),
        }
    }
    probe(handle, work)
}

/// Calls `work`, which must be short, with a queue of calls. The table is locked meanwhile, as for
/// [`probe_briefly`].
///
/// # Errors
/// As [`calls`].
pub(crate) fn calls_briefly<R>(
    handle: i64,
    work: impl FnOnce(&CallQueue) -> R,
) -> Result<R, Failure> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    match table.get(handle).map(|object| &**object) {
        Some(Object::Calls(calls)) => Ok(work(calls)),
        Some(other) => Err(foreign(handle, other, "queue of calls")),
        None => Err(unknown(handle)),
    }
}

/// Defines a function that works with objects of one kind, which several threads may use at once.
macro_rules! with_shared {
    ($($name:ident, $variant:ident, $object:ty, $wanted:literal;)*) => {
        $(
            /// Calls `work` with the object of a handle, while other threads may work with it, too.
            ///
            /// # Errors
            /// If the number is not the handle of an object of this kind; and the errors of `work`.
            pub(crate) fn $name<R>(
                handle: i64,
                work: impl FnOnce(&$object) -> Result<R, Failure>,
            ) -> Result<R, Failure> {
                match &*get(handle)? {
                    Object::$variant(object) => work(object),
                    other => Err(foreign(handle, other, $wanted)),
                }
            }
        )*
    };
}

with_shared! {
    data, Data, DataObject, "category's data";
    experiment, Experiment, JavaExperiment, "experiment";
    outbox, Outbox, Outbox, "listener";
    calls, Calls, CallQueue, "queue of calls";
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn object() -> Object {
        Object::Source(Mutex::new(OpenSource::new("local:", &[]).unwrap()))
    }

    #[test]
    fn a_place_used_again_has_another_handle_and_a_used_up_place_is_left() {
        let mut table = Table { places: Vec::new(), free: Vec::new() };
        let first = table.insert(object()).unwrap();
        assert!(table.get(first).is_some() && first > 0);
        assert!(table.remove(first).is_some() && table.remove(first).is_none());
        let second = table.insert(object()).unwrap();
        assert_ne!(first, second);
        assert!(table.get(first).is_none() && table.get(second).is_some());
        for made_up in [0, -1, 1, i64::MAX, i64::MIN, second + 1, second + (1 << 32)] {
            assert!(table.get(made_up).is_none(), "{made_up}");
        }
        table.places[0].generation = LAST_GENERATION;
        let last = i64::from(LAST_GENERATION) << 32;
        assert!(last > 0 && table.remove(last).is_some());
        assert_eq!(parts(table.insert(object()).unwrap()), (1, 1));
    }
}
