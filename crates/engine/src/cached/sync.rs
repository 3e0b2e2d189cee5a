//! What the hand-over is made of; under `--cfg loom`, loom's models of it.

#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(loom))]
pub(super) use std::thread::ThreadId;

#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(super) use loom::thread::ThreadId;

/// Loom's own wakes threads that wait for others to end (in 0.7.2), which then
/// stop the model. Readers that shut each other out show no less.
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

/// The thread that calls.
pub(super) fn current_thread() -> ThreadId {
    #[cfg(not(loom))]
    return std::thread::current().id();
    #[cfg(loom)]
    return loom::thread::current().id();
}
