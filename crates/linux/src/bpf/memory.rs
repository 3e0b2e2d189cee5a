//! Memory that the BPF program in the kernel writes and this process reads.
#![allow(unsafe_code)]

use super::kernel::Array;
use super::{ProcessDetail, ProcessSlot, ThreadSlot};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ptr::NonNull;

/// A type for which any bytes are a valid value.
///
/// # Safety
/// The type consists of integers and arrays of integers only, without padding.
pub(super) unsafe trait Plain: Copy {}
// SAFETY: see their definition; their sizes are the sums of their fields'.
unsafe impl Plain for ProcessSlot {}
// SAFETY: as above.
unsafe impl Plain for ProcessDetail {}
// SAFETY: as above.
unsafe impl Plain for ThreadSlot {}

/// An array map of BPF, mapped into this process.
pub(super) struct Mapped<T> {
    start: NonNull<T>,
    count: usize,
    bytes: usize,
}

impl<T: Plain> Mapped<T> {
    /// Maps an array of `count` entries into this process; an error if its entries do not have the
    /// size of `T`.
    pub(super) fn new(map: Array, count: u32) -> Result<Self, Errno> {
        if map.value_size() as usize != size_of::<T>() {
            return Err(Errno::INVAL);
        }
        let count = count as usize;
        let bytes = count.checked_mul(size_of::<T>()).ok_or(Errno::OVERFLOW)?;
        // SAFETY: a new mapping at a place that the kernel chooses. It succeeds only if the map has
        // that many bytes (rounded up to pages), and a map never shrinks.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, map, 0)?
        };
        let start = NonNull::new(start.cast::<T>()).ok_or(Errno::FAULT)?;
        Ok(Self { start, count, bytes })
    }

    /// The first `count` entries, or all if there are fewer.
    pub(super) fn entries(&self, count: usize) -> &[T] {
        // SAFETY: the mapping begins at a page, is that long, and lives as long as `self`. Any
        // bytes are a `T`. Only the BPF program writes them, while it runs. `Program` owns this
        // mapping and runs the BPF program through an exclusive reference, so that no slice is in
        // use then. The map has no name to find it by; a process that may look up maps by number
        // and change them can change this program's memory in any case.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), count.min(self.count)) }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `new`, and no slice outlives `self`. With a valid place
        // and length the call cannot fail, so its result is ignored.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: the mapping is ordinary memory with this as its only owner.
unsafe impl<T: Plain + Send> Send for Mapped<T> {}
