//! The buffer of a host process: memory with a guard region on each side, and inaccessible pages
//! outside of the guards. [`layout`](crate::hosting::layout) has the picture.

use crate::hosting::layout::{FENCE, length};
pub(crate) use crate::hosting::layout::{FIRST_ROOM, LAST_ROOM, front, larger};
use core::ffi::c_void;
use perfhive_engine::GuardedBuffer;
use std::io;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

const GUARD: usize = GuardedBuffer::GUARD;

/// Memory for a buffer of one size.
pub(crate) struct Area {
    /// The beginning of the memory, inaccessible pages included.
    whole: *mut c_void,
    room: usize,
}

impl Area {
    /// Allocates the memory for a buffer of `room` bytes. It is an error if `room` is above
    /// [`LAST_ROOM`] or no multiple of 8.
    pub(crate) fn new(room: usize) -> io::Result<Self> {
        // The buffer ends at a fixed address: only a multiple of 8 also begins at one.
        if !room.is_multiple_of(8) || room > LAST_ROOM {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let total = length(room);
        let size = FENCE + total + FENCE;
        // SAFETY: addresses of the system's choice, none of which is accessible.
        let whole = unsafe { VirtualAlloc(core::ptr::null(), size, MEM_RESERVE, PAGE_NOACCESS) };
        if whole.is_null() {
            return Err(io::Error::last_os_error());
        }
        let area = Self { whole, room };
        // SAFETY: inside of the memory reserved above, which no other code uses.
        let memory =
            unsafe { VirtualAlloc(area.whole.byte_add(FENCE), total, MEM_COMMIT, PAGE_READWRITE) };
        if memory.is_null() { Err(io::Error::last_os_error()) } else { Ok(area) }
    }

    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// A pointer to the beginning of the buffer.
    pub(crate) fn start(&self) -> *mut u8 {
        // SAFETY: inside of the memory.
        unsafe { self.whole.cast::<u8>().add(FENCE + front(self.room) + GUARD) }
    }

    /// Clears the buffer and fills its guards with the pattern.
    pub(crate) fn renew(&mut self) {
        // SAFETY: the guards and the buffer lie one behind the other, and may be
        // written. A thread that the library left behind may write too, which is a
        // race in its code: the reader tests the bytes anyway.
        unsafe {
            let start = self.start();
            for guard in [start.sub(GUARD), start.add(self.room)] {
                GuardedBuffer::paint(core::slice::from_raw_parts_mut(guard, GUARD));
            }
            start.write_bytes(0, self.room);
        }
    }

    /// A copy of the buffer with its guards.
    pub(crate) fn copy(&self) -> Vec<u8> {
        let length = GUARD + self.room + GUARD;
        let mut copy = Vec::with_capacity(length);
        // SAFETY: the guards and the buffer may be read, and the copy has room for as many bytes,
        // which the call initialises. For threads that write meanwhile see `renew`.
        unsafe {
            core::ptr::copy_nonoverlapping(self.start().sub(GUARD), copy.as_mut_ptr(), length);
            copy.set_len(length);
        }
        copy
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: reserved by `new`; no call of the library is in progress.
        unsafe { VirtualFree(self.whole, 0, MEM_RELEASE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_copied_and_cleared_by_renew() {
        assert!(Area::new(FIRST_ROOM + 4).is_err());
        assert!(Area::new(LAST_ROOM + 8).is_err());
        let mut area = Area::new(FIRST_ROOM).unwrap();
        area.renew();
        let mut fresh = GuardedBuffer::new(FIRST_ROOM);
        assert_eq!(area.copy(), fresh.whole_mut());
        let start = area.start();
        assert!(start.addr().is_multiple_of(1024));
        // SAFETY: inside of the buffer and of its guards.
        unsafe {
            start.write(7);
            start.sub(1).write(8);
            start.add(area.room() + GUARD - 1).write(9);
        }
        let copy = area.copy();
        assert_eq!((copy[GUARD - 1], copy[GUARD], copy.last()), (8, 7, Some(&9)));
        area.renew();
        assert_eq!(area.copy(), fresh.whole_mut());
    }
}
