//! Counting allocations.
//!
//! A test binary that wants to count makes [`Counting`] its allocator:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;
//!
//! let (sum, allocated) = perfhive_testkit::alloc::count(|| (0..10).sum::<u32>());
//! assert_eq!((sum, allocated.count), (45, 0));
//! let (text, allocated) = perfhive_testkit::alloc::count(|| "abc".to_string());
//! assert_eq!((allocated.count, allocated.bytes), (1, 3));
//! # drop(text);
//! ```
//!
//! Counts are kept for each thread, so that tests which run side by side do
//! not see each other; [`process`] has those of all threads together.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    // Constant and without a destructor: reading it allocates nothing and is
    // still allowed while the thread ends.
    static THREAD: Cell<Allocations> = const { Cell::new(Allocations { count: 0, bytes: 0 }) };
}
static COUNT: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The number of requests for memory, and their bytes. Giving memory back does not count;
/// changing its size counts as another request, for the bytes that it grew by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    /// The number of requests for memory.
    pub count: u64,
    /// The number of bytes that were requested.
    pub bytes: u64,
}

impl Allocations {
    /// The allocations since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { count: self.count - earlier.count, bytes: self.bytes - earlier.bytes }
    }
}

/// The system's allocator, with a count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

fn note(bytes: usize) {
    let bytes = bytes as u64;
    COUNT.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes, Ordering::Relaxed);
    // This fails only in a thread that has dropped its thread-local values; the request is then not
    // counted.
    let _ = THREAD.try_with(|cell| {
        let so_far = cell.get();
        cell.set(Allocations { count: so_far.count + 1, bytes: so_far.bytes + bytes });
    });
}

// SAFETY: every method passes its arguments on to `System` unchanged and
// answers what `System` answers; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size.saturating_sub(layout.size()));
        // SAFETY: as above; `ptr` came from `System` with this layout, because
        // all of this allocator's memory does.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// The allocations of this thread so far; always zero if [`Counting`] is not the allocator.
#[must_use]
pub fn thread() -> Allocations {
    THREAD.try_with(Cell::get).unwrap_or_default()
}

/// The allocations of all threads together so far; always zero if [`Counting`] is not the
/// allocator.
#[must_use]
pub fn process() -> Allocations {
    Allocations { count: COUNT.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

/// Runs `work` and returns its result, and the allocations that it made on this thread.
///
/// # Panics
/// If [`Counting`] is not the allocator of this binary: every count would then be zero, whatever
/// `work` does.
pub fn count<T>(work: impl FnOnce() -> T) -> (T, Allocations) {
    let before = thread();
    drop(std::hint::black_box(Box::new(1u8)));
    let start = thread();
    assert!(
        start.count > before.count,
        "this binary has no #[global_allocator] static A: perfhive_testkit::alloc::Counting"
    );
    let result = work();
    (result, thread().since(start))
}
