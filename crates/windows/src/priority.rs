//! A lower priority for expensive work.

use crate::ffi;

/// Calls a function with this thread's priority at the lowest above idle, and restores the priority
/// afterwards, also after a panic. `at_lower_priority` is meant for the entry `lowered` of
/// `provider_library!`, since Windows calls libraries on the thread of the reader. A priority that is
/// that low already, or that cannot be read, is not changed.
pub fn at_lower_priority(work: &mut dyn FnMut()) {
    let _lowered = Lowered::begin();
    work();
}

/// Restores the priority of this thread on drop.
struct Lowered(i32);

impl Lowered {
    fn begin() -> Option<Self> {
        let before = ffi::thread_priority()?;
        let lowers = before > ffi::LOWEST_PRIORITY;
        (lowers && ffi::set_thread_priority(ffi::LOWEST_PRIORITY)).then_some(Self(before))
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        ffi::set_thread_priority(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_is_lowered_and_restored() {
        let before = ffi::thread_priority().unwrap();
        let mut meanwhile = None;
        at_lower_priority(&mut || meanwhile = ffi::thread_priority());
        assert_eq!(meanwhile, Some(ffi::LOWEST_PRIORITY));
        assert_eq!(ffi::thread_priority(), Some(before));
        let panicked = std::panic::catch_unwind(|| at_lower_priority(&mut || panic!("on the way")));
        assert!(panicked.is_err());
        assert_eq!(ffi::thread_priority(), Some(before));
        // Already lower.
        at_lower_priority(&mut || at_lower_priority(&mut || {}));
        assert_eq!(ffi::thread_priority(), Some(before));
    }
}
