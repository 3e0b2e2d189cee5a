//! The locks of the cache; under `--cfg loom`, loom's models of them.

#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(loom))]
pub(super) use std::thread::ThreadId;

#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(super) use loom::thread::ThreadId;

/// A lock without shared readers, in place of loom's `RwLock`: that of loom 0.7.2 wakes threads
/// that wait in `join`, which stops the model. A model finds no fewer faults if its readers exclude
/// each other.
#[cfg(loom)]
#[derive(Debug, Default)]
pub(super) struct RwLock<T>(Mutex<T>);

#[cfg(loom)]
impl<T> RwLock<T> {
    pub(super) fn read(&self) -> std::sync::LockResult<MutexGuard<'_, T>> {
        self.0.lock()
    }

    pub(super) fn write(&self) -> std::sync::LockResult<MutexGuard<'_, T>> {
        self.0.lock()
    }
}

/// The ID of the calling thread.
pub(super) fn current_thread() -> ThreadId {
    #[cfg(not(loom))]
    return std::thread::current().id();
    #[cfg(loom)]
    return loom::thread::current().id();
}
