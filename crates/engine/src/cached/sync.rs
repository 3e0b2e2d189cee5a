//! What the hand-over is made of; under `--cfg loom`, loom's models of it.

#[cfg(not(loom))]
pub(super) use std::sync::atomic::{AtomicPtr, AtomicU64};
#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(super) use std::thread::ThreadId;

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicPtr, AtomicU64};
#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(super) use loom::thread::ThreadId;

/// Between sequentially consistent accesses, where it adds nothing. Loom's
/// models take these for acquire and release, and only fences for more.
#[inline]
pub(super) fn full_fence() {
    #[cfg(loom)]
    loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// The thread that asks.
pub(super) fn this_thread() -> ThreadId {
    #[cfg(not(loom))]
    return std::thread::current().id();
    #[cfg(loom)]
    return loom::thread::current().id();
}
