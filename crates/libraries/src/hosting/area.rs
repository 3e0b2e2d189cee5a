//! The buffer of a host process: shared memory with a guard region on each
//! side, and inaccessible pages outside of these. [`layout`](crate::hosting::layout) has the
//! picture.
//!
//! The shared memory has the size of the largest room from the start, and its size is
//! sealed: a library can neither shrink nor grow it, and untouched pages take no memory.

use core::ffi::c_void;
use perfhive_engine::GuardedBuffer;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::hosting::layout::{FENCE, length};
pub(crate) use crate::hosting::layout::{FIRST_ROOM, LAST_ROOM, front, larger, rear};

const GUARD: usize = GuardedBuffer::GUARD;

/// New shared memory for the largest buffer and its guards; its size is sealed.
pub(crate) fn memory() -> io::Result<OwnedFd> {
    let memory = memfd_create("perfhive", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&memory, length(LAST_ROOM) as u64)?;
    fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(memory)
}

/// The shared memory of a host process, mapped into this process.
pub(crate) struct Area {
    /// The beginning of the mapping, including the inaccessible pages before the buffer.
    whole: *mut c_void,
    length: usize,
    room: usize,
    /// The number of bytes from the start of the buffer that may have been written.
    used: usize,
}

impl Area {
    /// Maps the beginning of a [`memory`], as much as a buffer of `room` bytes needs. It is an
    /// error if `room` is above [`LAST_ROOM`] or no multiple of 8.
    pub(crate) fn map(memory: &OwnedFd, room: usize) -> io::Result<Self> {
        // The buffer ends at a fixed address: only a multiple of 8 also begins at one.
        if !room.is_multiple_of(8) || room > LAST_ROOM {
            return Err(io::Errno::INVAL);
        }
        let total = length(room);
        let length = FENCE + total + FENCE;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let whole = unsafe {
            mmap_anonymous(core::ptr::null_mut(), length, ProtFlags::empty(), MapFlags::PRIVATE)?
        };
        let area = Self { whole, length, room, used: room };
        // SAFETY: inside of the mapping made above, which no other code uses.
        unsafe {
            mmap(
                area.whole.byte_add(FENCE),
                total,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::FIXED,
                memory,
                0,
            )?;
        }
        Ok(area)
    }

    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// A pointer to the beginning of the buffer.
    pub(crate) fn start(&self) -> *mut u8 {
        // SAFETY: inside of the mapping.
        unsafe { self.whole.cast::<u8>().add(FENCE + front(self.room) + GUARD) }
    }

    /// Clears the part of the buffer that may have been written, and fills the guards with the
    /// pattern. Otherwise bytes that a provider skips would still hold its answer to an earlier
    /// request.
    pub(crate) fn renew(&mut self) {
        // SAFETY: the guards and the buffer are mapped, one behind the other,
        // and may be written. A thread that the library left behind may write
        // too, which is a race in its code: the reader tests the bytes anyway.
        unsafe {
            let start = self.start();
            let guards = [start.sub(GUARD), start.add(self.room)];
            for guard in guards {
                GuardedBuffer::paint(core::slice::from_raw_parts_mut(guard, GUARD));
            }
            start.write_bytes(0, self.used);
        }
    }

    /// Notes how much of the buffer the next [`renew`](Self::renew) has to clear, by the distance
    /// in bytes that a provider moved its pointer.
    pub(crate) fn note_used(&mut self, moved: isize) {
        // A short buffer is always cleared as a whole.
        let claimed = usize::try_from(moved).unwrap_or(self.room);
        self.used = claimed.max(FIRST_ROOM).min(self.room);
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `map`; no call of the library is in progress.
        let _ = unsafe { munmap(self.whole, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosting::layout::STEP;
    use rustix::io::pread;

    #[test]
    fn larger_rooms_end_at_the_largest_block() {
        let rooms: Vec<usize> =
            std::iter::successors(Some(FIRST_ROOM), |room| larger(*room)).collect();
        assert_eq!(rooms.first(), Some(&(65536 - 2048)));
        assert_eq!(rooms.last(), Some(&LAST_ROOM));
        assert!(rooms.iter().all(|room| (room + 2048).is_multiple_of(STEP)));
    }

    #[test]
    fn writes_are_shared_and_cleared_by_renew() {
        let memory = memory().unwrap();
        for size in [0, 65536, 1 << 30] {
            assert!(ftruncate(&memory, size).is_err());
        }
        assert!(Area::map(&memory, FIRST_ROOM + 4).is_err());
        assert!(Area::map(&memory, LAST_ROOM + 8).is_err());
        // A small room ends where the large one does.
        let small = Area::map(&memory, 24).unwrap();
        assert_eq!((front(24), rear(24)), (65536 - 2048 - 24, 65536 - 1024));
        // SAFETY: in the guard behind the buffer.
        unsafe { small.start().add(24).write(5) };
        let mut seen = [0u8; 1];
        pread(&memory, &mut seen[..], rear(24) as u64).unwrap();
        assert_eq!(seen, [5]);
        drop(small);
        let mut area = Area::map(&memory, FIRST_ROOM).unwrap();
        area.renew();
        let start = area.start();
        assert!(start.addr().is_multiple_of(1024));
        // SAFETY: inside of the buffer and of its guards.
        unsafe {
            start.write(7);
            start.sub(1).write(8);
            start.add(area.room() + GUARD - 1).write(9);
        }
        let mut seen = vec![0u8; GUARD + 1];
        pread(&memory, &mut seen[..], 0).unwrap();
        assert_eq!((seen[GUARD - 1], seen[GUARD]), (8, 7));
        area.note_used(8);
        area.renew();
        let mut again = vec![0u8; GUARD + FIRST_ROOM + GUARD];
        pread(&memory, &mut again[..], 0).unwrap();
        let mut fresh = GuardedBuffer::new(FIRST_ROOM);
        assert_eq!(again, fresh.whole_mut());
    }
}
