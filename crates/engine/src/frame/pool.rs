//! Frames that are filled again once no consumer holds them.

use super::Frame;
use perfhive_format::{BlockHead, BlockWriter, ParseError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Frames for reuse. The pool keeps handles to the frames that it filled, up to a largest number. A
/// frame is free if no other handle to it exists; free frames are refilled in place, so that a
/// source that is read repeatedly stops allocating. As many frames as stay free for long are dropped.
#[derive(Debug)]
pub struct FramePool {
    frames: Vec<Arc<Frame>>,
    bound: usize,
    origin: u64,
    label: Option<Arc<str>>,
    /// The smallest number of free frames that any of the last `fills` fills left unused.
    idle: usize,
    fills: u32,
}

/// The number of fills after which as many frames are dropped as stayed free at all of these fills.
/// Consumers read at different intervals, so this number shows only over many fills.
const WATCHED_FILLS: u32 = 256;

impl Default for FramePool {
    /// A pool of at most 64 frames, more than the consumers of a source need in practice.
    fn default() -> Self {
        Self::new(64)
    }
}

impl FramePool {
    /// A pool that keeps at most `bound` frames. It needs one frame for each sample that consumers
    /// hold at the same time, and one more to be filled.
    #[must_use]
    pub fn new(bound: usize) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let origin = NEXT.fetch_add(1, Ordering::Relaxed);
        let frames = Vec::with_capacity(bound);
        Self { frames, bound, origin, label: None, idle: usize::MAX, fills: 0 }
    }

    /// The same pool, with frames that have this [label](Frame::label): a word for what fills them.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Lets `fill` write a block into a free frame or, without one, into a new frame. The buffer of
    /// a free frame still holds an old block, which `fill` must replace. The frame gets this
    /// `generation`.
    ///
    /// # Errors
    /// What is wrong with the header of the block that `fill` wrote.
    pub fn fill(
        &mut self,
        generation: u64,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Arc<Frame>, ParseError> {
        let mut frame = self.free_frame().unwrap_or_default();
        // The handle is unique: it was just made, or found unique above, and the pool's
        // handles are reached only through `&mut self`.
        if let Some(inner) = Arc::get_mut(&mut frame) {
            inner.origin = self.origin;
            inner.label.clone_from(&self.label);
            inner.refill(generation, fill)?;
        }
        if self.frames.len() < self.bound {
            self.frames.push(Arc::clone(&frame));
        }
        Ok(frame)
    }

    /// Takes the free frame with the largest buffer out of the pool; `None` if no frame is free.
    /// Each [`WATCHED_FILLS`] calls, as many frames are dropped as stayed free at all of these
    /// calls.
    fn free_frame(&mut self) -> Option<Arc<Frame>> {
        let mut free = 0usize;
        let mut largest: Option<(usize, usize)> = None;
        for (place, frame) in self.frames.iter_mut().enumerate() {
            let Some(frame) = Arc::get_mut(frame) else { continue };
            free += 1;
            let room = frame.bytes.capacity();
            if largest.is_none_or(|(most, _)| room > most) {
                largest = Some((room, place));
            }
        }
        self.idle = self.idle.min(free.saturating_sub(1));
        self.fills += 1;
        let found = largest.map(|(_, place)| self.frames.swap_remove(place));
        if self.fills == WATCHED_FILLS {
            let mut idle = std::mem::replace(&mut self.idle, usize::MAX);
            self.fills = 0;
            self.frames.retain_mut(|frame| {
                let goes = idle > 0 && Arc::get_mut(frame).is_some();
                idle -= usize::from(goes);
                !goes
            });
        }
        found
    }

    /// Writes a block with the header `head` and the objects that `write` adds into a free frame,
    /// or a new one. The frame gets this `generation`.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn write(
        &mut self,
        generation: u64,
        head: &BlockHead<'_>,
        write: impl FnOnce(&mut BlockWriter),
    ) -> Result<Arc<Frame>, ParseError> {
        self.fill(generation, |bytes| {
            let mut writer = BlockWriter::with_buffer(std::mem::take(bytes));
            writer.start(head);
            write(&mut writer);
            writer.finish();
            *bytes = writer.into_buffer();
        })
    }
}
