//! Locking a mutex also after a thread panicked with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic. The data must be whole at every moment, so that a panic
/// cannot spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
