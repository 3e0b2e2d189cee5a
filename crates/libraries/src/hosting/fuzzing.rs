//! A fuzz target for the answers of a host process: any packet with any content of the
//! shared memory.

use crate::hosting::area::FIRST_ROOM;
use crate::hosting::describe::{KnownObjects, name_of, objects};
use crate::hosting::wire::{LONGEST, MESSAGES, Request, Response};
use perfhive_contract::abi::ERROR_SUCCESS;
use perfhive_engine::{Cost, GuardedBuffer, ObjectWriter, RawClaim, TestLevel};
use perfhive_format::{BlockHead, BlockWriter, DataBlock};

const LEVELS: [TestLevel; 3] = [TestLevel::All, TestLevel::Basic, TestLevel::None];

/// Takes an answer as a reader does: decodes it, tests its claim against the memory, and writes
/// objects that pass into a block. Returns `false` if the packet is no answer.
///
/// # Panics
/// If the reader would accept a wrong answer.
pub fn answer(packet: &[u8], memory: &[u8]) -> bool {
    let packet = packet.get(..LONGEST).unwrap_or(packet);
    // A library that found the socket might send requests back.
    if let Some(request) = Request::decode(packet) {
        assert!(request.encode().len() <= 3 * packet.len() + 64);
    }
    let Some(response) = Response::decode(packet) else { return false };
    assert!(response.reports.len() <= MESSAGES);
    // An invalid byte of UTF-8 becomes a character of three bytes.
    let texts = response.reports.iter().chain(&response.failure).map(String::len).sum::<usize>();
    assert!(texts <= 3 * packet.len());
    if response.code != ERROR_SUCCESS {
        return true;
    }
    let claim = RawClaim {
        moved: isize::try_from(response.moved).unwrap_or(isize::MIN),
        bytes: response.bytes,
        objects: response.objects,
    };
    let room = memory.len().min(FIRST_ROOM) / 8 * 8;
    let mut buffer = GuardedBuffer::new(room);
    for (to, from) in buffer.whole_mut().iter_mut().skip(GuardedBuffer::GUARD).zip(memory) {
        *to = *from;
    }
    let mut known = KnownObjects::default();
    for level in LEVELS {
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let (mut faults, mut foreign) = (Vec::new(), Vec::new());
        let mut out = ObjectWriter::new(&mut block, "fuzz", level, &mut faults, &mut foreign);
        if let Ok((bytes, _)) = out.take(&buffer, &claim) {
            assert!(bytes.len() <= room);
            let mut length = 0;
            for object in objects(bytes) {
                length += object.len();
                known.note(object, Cost::Global);
                assert!(known.cost(name_of(object)).is_some());
            }
            assert_eq!(length, bytes.len());
        }
        // Readers parse what was taken.
        assert!(DataBlock::parse(block.finish()).is_ok());
        let mut block = BlockWriter::new();
        block.start(&BlockHead::default());
        let (mut faults, mut foreign) = (Vec::new(), Vec::new());
        let mut out = ObjectWriter::new(&mut block, "fuzz", level, &mut faults, &mut foreign);
        let _ = out.take_foreign(&buffer, &claim);
        assert!(foreign.iter().all(|block| DataBlock::parse(block).is_ok()));
    }
    known.descriptions().iter().all(|object| object.counters.len() <= room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_answer_is_taken_without_panic(
            moved in prop_oneof![-8i64..300, any::<i64>()],
            (bytes, objects) in (0u32..300, 0u32..3),
            memory in proptest::collection::vec(any::<u8>(), 0..300),
            reports in proptest::collection::vec(".*", 0..3),
        ) {
            let response = Response { moved, bytes, objects, reports, ..Response::default() };
            prop_assert!(answer(&response.encode(), &memory));
        }

        #[test]
        fn any_packet_is_taken_without_panic(packet in proptest::collection::vec(any::<u8>(), 0..200)) {
            answer(&packet, &[]);
        }
    }
}
