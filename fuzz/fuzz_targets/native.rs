//! Any bytes as replies of `NtQuerySystemInformation`: lists of processes and
//! threads, times of processors, counts of the system. The objects made of them
//! are sound blocks, in proportion to the replies; damage is a fault.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_engine::{Ask, Broker, Snapshot, Source};
use perfhive_format::TitleIndex;
use perfhive_windows::native::{Class, NativeProvider, QueryReply, Status, SystemInformation};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of an answer: a status, what it claims to be long, and the answer.
#[derive(Clone, Default)]
struct MadeReply {
    fails: u8,
    claims: u8,
    bytes: Vec<u8>,
}

/// The answers by class, in the order of the input, and the most bytes that a reader
/// was told of each.
struct Machine([MadeReply; 5], [AtomicUsize; 5]);

const CLASSES: [Class; 5] = [
    Class::ProcessorPerformance,
    Class::Performance,
    Class::TimeOfDay,
    Class::Exception,
    Class::Process,
];

impl Machine {
    /// Of each class but the last: a byte for the status, one for the claim and
    /// the length in steps of 8 bytes, and the answer; the rest is the list.
    fn new(mut data: &[u8]) -> Self {
        let mut take = |is_last: bool| -> MadeReply {
            let Some((&[fails, claims, length], rest)) = data.split_first_chunk() else {
                return MadeReply::default();
            };
            let length = if is_last { rest.len() } else { usize::from(length) * 8 };
            let (bytes, rest) = rest.split_at(length.min(rest.len()));
            data = rest;
            MadeReply { fails, claims, bytes: bytes.to_vec() }
        };
        let answers = [take(false), take(false), take(false), take(false), take(true)];
        Self(answers, Default::default())
    }

    /// Bytes that a reader was told of a class.
    fn told(&self, class: Class) -> usize {
        let place = CLASSES.iter().position(|known| *known == class);
        place.map_or(0, |place| self.1[place].load(Ordering::Relaxed))
    }
}

impl SystemInformation for Machine {
    fn query(&self, class: Class, buffer: &mut [u8]) -> QueryReply {
        assert_eq!(buffer.as_ptr().addr() % 8, 0, "buffers are aligned");
        let place = CLASSES.iter().position(|known| *known == class);
        let place = place.expect("no other class is asked for");
        let told = &self.0[place];
        let length = told.bytes.len() as u32;
        match told.fails {
            200..255 => return QueryReply { status: Status(0xC000_0022), length },
            // One that is never content, which takes the largest buffer.
            255 => return QueryReply { status: Status::INFO_LENGTH_MISMATCH, length },
            _ => {}
        }
        let Some(room) = buffer.get_mut(..told.bytes.len()) else {
            return QueryReply { status: Status::INFO_LENGTH_MISMATCH, length };
        };
        room.copy_from_slice(&told.bytes);
        if class == Class::Process {
            point(room);
        }
        // Some claim more or less than they wrote. What a reader is told that it has, and has
        // room for, it must take for written.
        let claim = if told.claims < 200 { length } else { length ^ 1 << (told.claims - 200) / 2 };
        self.1[place].fetch_max((claim as usize).min(buffer.len()), Ordering::Relaxed);
        QueryReply { status: Status::SUCCESS, length: claim }
    }
}

/// Makes pointers to names of what are places in the list, as far as its chain
/// leads: the fuzzer could not guess the address of a buffer.
fn point(list: &mut [u8]) {
    let address = list.as_ptr().addr() as u64;
    let mut at = 0usize;
    for _ in 0..1000 {
        let Some(place) = list.get_mut(at + 64..).and_then(|rest| rest.first_chunk_mut::<8>())
        else {
            return;
        };
        *place = u64::from_le_bytes(*place).wrapping_add(address).to_le_bytes();
        let next = list.get(at..).and_then(|rest| rest.first_chunk::<4>());
        match next.map(|next| u32::from_le_bytes(*next) as usize) {
            Some(next) if next > 0 && next < list.len() => at += next,
            _ => return,
        }
    }
}

const OBJECTS: [u32; 4] = [2, 230, 232, 238];

fuzz_target!(|data: &[u8]| {
    let machine = Arc::new(Machine::new(data));
    let information: Arc<dyn SystemInformation> = machine.clone();
    let provider = NativeProvider::new(information);
    let mut source = Broker::builder("fuzz:", "BOX").provider(Arc::new(provider)).build();
    let request = Ask::objects(&OBJECTS.map(TitleIndex));
    let mut snapshot = Snapshot::new();
    // Twice, since which counters are filled is learnt.
    for _ in 0..2 {
        source.collect(&request, &mut snapshot).expect("a broker answers");
        for object in snapshot.objects() {
            let view = object.view();
            perfhive_fuzz::walk_object(view, object.frame().clocks());
            let bytes = match view.name_index().0 {
                // Of a process, of a thread, and of a processor there are as many bytes.
                230 => machine.told(Class::Process) / 256,
                232 => machine.told(Class::Process) / 80,
                238 => machine.told(Class::ProcessorPerformance) / 48,
                _ => 0,
            };
            // And `_Total`.
            assert!(view.instances().count() <= bytes + 1, "more instances than there are bytes");
            let mut parents = object.parents();
            for instance in view.instances() {
                let is_thread = view.name_index().0 == 232;
                assert_eq!(parents.of(&instance).is_some(), is_thread, "a thread has a process");
            }
        }
        for name in OBJECTS.map(TitleIndex) {
            let is_told = snapshot.faults().iter().any(|fault| fault.object == Some(name));
            assert!(is_told || snapshot.object(name).is_some(), "{name:?} is nowhere");
        }
    }
});
