//! The sizes of buffers, and the layout of the memory around them.
//!
//! ```text
//! | no access | unused | pattern | the buffer | pattern | no access |
//!   64 KiB               1 KiB     room bytes   1 KiB     64 KiB
//! ```

use perfhive_engine::GuardedBuffer;

const GUARD: usize = GuardedBuffer::GUARD;
/// The size of the inaccessible pages on each side, in bytes: at least a page on every supported
/// system.
pub(crate) const FENCE: usize = 64 << 10;
/// The number of bytes of which the size of the memory between the inaccessible pages is a multiple.
/// The bytes that neither buffer nor guards need lie before the guards, so that the last guard ends
/// where the inaccessible pages begin.
pub(crate) const STEP: usize = 64 << 10;

/// The size in bytes of the buffer with which a library is asked at first.
pub(crate) const FIRST_ROOM: usize = STEP - 2 * GUARD;
/// The size of the largest buffer in bytes: a block is no larger than 64 MiB.
pub(crate) const LAST_ROOM: usize = (64 << 20) - 2 * GUARD;

/// The size in bytes of the next larger buffer; `None` if `room` is the largest size.
pub(crate) fn larger(room: usize) -> Option<usize> {
    let more = (room + 2 * GUARD).saturating_mul(4).min(LAST_ROOM + 2 * GUARD) - 2 * GUARD;
    (more > room).then_some(more)
}

/// The length in bytes of the memory between the inaccessible pages, for a buffer of `room` bytes.
pub(crate) fn length(room: usize) -> usize {
    (GUARD + room + GUARD).next_multiple_of(STEP)
}

/// The offset in bytes of the guard before the buffer, in the memory between the inaccessible
/// pages.
pub(crate) fn front(room: usize) -> usize {
    length(room) - GUARD - room - GUARD
}

/// The offset in bytes of the guard behind the buffer, in the memory between the inaccessible
/// pages.
#[cfg(target_os = "linux")]
pub(crate) fn rear(room: usize) -> usize {
    length(room) - GUARD
}
