//! What is expensive, at a lower priority.

use crate::ffi;

/// Does something while this thread's priority is the lowest of its class, and puts
/// that back, whatever comes of it; for `lowered` of a provider library. Windows
/// calls those on the thread of whoever reads. A thread whose priority is that low
/// already, or is not told, keeps it.
pub fn at_lower_priority(work: &mut dyn FnMut()) {
    let _lowered = Lowered::begin();
    work();
}

/// Puts the priority of this thread back when dropped.
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
    fn priority_is_lowered_and_put_back() {
        let before = ffi::thread_priority().unwrap();
        let mut meanwhile = None;
        at_lower_priority(&mut || meanwhile = ffi::thread_priority());
        assert_eq!(meanwhile, Some(ffi::LOWEST_PRIORITY));
        assert_eq!(ffi::thread_priority(), Some(before));
        let panicked = std::panic::catch_unwind(|| at_lower_priority(&mut || panic!("on the way")));
        assert!(panicked.is_err());
        assert_eq!(ffi::thread_priority(), Some(before));
        // Lower already.
        at_lower_priority(&mut || at_lower_priority(&mut || {}));
        assert_eq!(ffi::thread_priority(), Some(before));
    }
}
