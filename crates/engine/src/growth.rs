//! Memory that is taken on the way to a sample.
//!
//! A sample is to allocate nothing, and where it must, to say so. What takes memory
//! may be deep in a provider: it notes that for its thread, and who made the
//! collection there looks whether anything was noted.

use std::cell::Cell;

std::thread_local! {
    // Constant and without a destructor: nothing is allocated for it.
    static NOTED: Cell<u64> = const { Cell::new(0) };
}

/// Says that memory was taken on this thread, as part of a collection. The sample
/// that it is for reports that a buffer had to grow.
///
/// For [sessions](crate::Session), [rosters](crate::Roster) and
/// [sources](crate::Source): a list that had to become longer, something new that
/// is to be remembered, words that were put together. What is told already is the
/// growth of a [`Frame`](crate::Frame) and of the lists of a
/// [`Snapshot`](crate::Snapshot).
///
/// ```
/// use perfhive_engine::note_growth;
///
/// /// Adds a name to those that are known.
/// fn learn(names: &mut Vec<String>, name: &str) {
///     if names.iter().all(|known| known != name) {
///         names.push(name.to_string());
///         note_growth();
///     }
/// }
/// # learn(&mut Vec::new(), "x");
/// ```
pub fn note_growth() {
    // Only on a thread whose locals are gone this fails: it collects nothing more.
    let _ = NOTED.try_with(|noted| noted.set(noted.get().wrapping_add(1)));
}

fn noted() -> u64 {
    NOTED.try_with(Cell::get).unwrap_or_default()
}

/// What is noted on this thread from a moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowthWatch(u64);

impl GrowthWatch {
    pub(crate) fn begin() -> Self {
        Self(noted())
    }

    pub(crate) fn has_noted(self) -> bool {
        self.0 != noted()
    }
}
