//! The provider over made-up answers, sound and hostile.

use super::information::{QueryReply, Status, SystemInformation};
use super::walk::{Processes, Width};
use super::*;
use perfhive_engine::{
    Ask, Broker, Fault, Identity, ObjectQuery, Query, Reading, Snapshot, Source,
};
use perfhive_format::{CounterBlock, CounterPlan, PerfObject};
use perfhive_testkit::alloc::count;
use perfhive_testkit::conformance;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

/// A thread of the made-up list.
#[derive(Clone, Copy, Default)]
struct MadeThread {
    id: u64,
    start: u64,
    user: u64,
    kernel: u64,
    switches: u32,
    state: u32,
}

/// Builds a list of processes and their threads, for a width and the address at which the list
/// will lie.
#[derive(Clone)]
struct List {
    width: Width,
    bytes: Vec<u8>,
    /// Offset of the entry before.
    last: Option<usize>,
    /// Offsets of the pointers in the list, whose values depend on its address.
    pointers: Vec<usize>,
}

impl List {
    fn new(width: Width) -> Self {
        Self { width, bytes: Vec::new(), last: None, pointers: Vec::new() }
    }

    fn put(&mut self, at: usize, value: u64, size: usize) {
        self.bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    fn process(mut self, id: u64, name: &str, start: u64, threads: &[MadeThread]) -> Self {
        let wide = self.width == Width::Bits64;
        let word = if wide { 8 } else { 4 };
        let of = |bits32: usize, bits64: usize| if wide { bits64 } else { bits32 };
        let begin = self.bytes.len();
        if let Some(last) = self.last.replace(begin) {
            self.put(last, (begin - last) as u64, 4);
        }
        let size = self.width.process() + threads.len() * self.width.thread();
        self.bytes.resize(begin + size, 0);
        self.put(begin + 4, threads.len() as u64, 4);
        self.put(begin + 8, id * 1000, 8);
        self.put(begin + 32, start, 8);
        self.put(begin + 40, threads.iter().map(|thread| thread.user).sum(), 8);
        self.put(begin + 48, threads.iter().map(|thread| thread.kernel).sum(), 8);
        self.put(begin + of(64, 72), 8, 4);
        self.put(begin + of(68, 80), id, word);
        self.put(begin + of(72, 88), id / 2, word);
        self.put(begin + of(76, 96), 10 + id, 4);
        // Memory: each field has a number of its own, as far as it is read.
        for (number, at) in [(1, 88), (2, 92), (4, 100), (5, 104), (7, 112), (9, 120), (10, 124)]
            .into_iter()
            .chain([(11, 128), (12, 132)])
        {
            let at = if wide { 112 + 2 * (at - 88) } else { at };
            self.put(begin + at, number << 20 | id, word);
        }
        self.put(begin + of(96, 128), 77, 4);
        for io in 0..6 {
            self.put(begin + of(136, 208) + 8 * io, (io as u64 + 1) * 100, 8);
        }
        for (place, thread) in threads.iter().enumerate() {
            let at = begin + self.width.process() + place * self.width.thread();
            self.put(at, thread.kernel, 8);
            self.put(at + 8, thread.user, 8);
            self.put(at + 16, thread.start, 8);
            self.put(at + of(28, 32), 0x7000_1000, word);
            self.put(at + of(32, 40), id, word);
            self.put(at + of(36, 48), thread.id, word);
            self.put(at + of(40, 56), 10, 4);
            self.put(at + of(44, 60), 9, 4);
            self.put(at + of(48, 64), u64::from(thread.switches), 4);
            self.put(at + of(52, 68), u64::from(thread.state), 4);
            self.put(at + of(56, 72), 6, 4);
        }
        let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        self.put(begin + 56, units.len() as u64, 2);
        if !units.is_empty() {
            let pointer = begin + of(60, 64);
            let place = self.bytes.len() as u64;
            self.put(pointer, place, word);
            self.pointers.push(pointer);
            self.bytes.extend(units);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self
    }

    /// The list at an address.
    fn at(&self, address: u64) -> Vec<u8> {
        let word = if self.width == Width::Bits64 { 8 } else { 4 };
        let mut bytes = self.bytes.clone();
        for at in &self.pointers {
            let mut place = [0; 8];
            place[..word].copy_from_slice(&bytes[*at..at + word]);
            let moved = (u64::from_le_bytes(place) + address).to_le_bytes();
            bytes[*at..at + word].copy_from_slice(&moved[..word]);
        }
        bytes
    }
}

const BOOT: u64 = 133_000_000_000_000_000;
const NOW: u64 = BOOT + 36_000_000_000;

fn made_thread(id: u64, user: u64, kernel: u64, state: u32) -> MadeThread {
    MadeThread { id, start: BOOT + id, user, kernel, switches: 5, state }
}

fn sound(width: Width) -> List {
    List::new(width)
        .process(0, "", 0, &[MadeThread { kernel: 5000, ..MadeThread::default() }; 2])
        .process(4, "System", 0, &[made_thread(8, 0, 70, 5), made_thread(12, 0, 30, 1)])
        .process(100, "Notepad.EXE", BOOT + 7, &[made_thread(104, 20, 5, 2)])
        .process(200, "a.b.exe", BOOT + 8, &[made_thread(204, 1, 1, 7), made_thread(208, 2, 2, 5)])
        .process(300, ".exe", BOOT + 9, &[])
        .process(1000, "", BOOT + 10, &[made_thread(1004, 0, 0, 5)])
}

/// A machine that gives prepared answers.
#[derive(Default)]
struct Fake {
    list: Mutex<Option<List>>,
    answers: Mutex<HashMap<Class, Result<Vec<u8>, Status>>>,
    calls: AtomicU64,
}

impl SystemInformation for Fake {
    fn query(&self, class: Class, buffer: &mut [u8]) -> QueryReply {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let list = self.list.lock().unwrap();
        let answers = self.answers.lock().unwrap();
        let moved;
        let bytes = match (answers.get(&class), &*list) {
            (Some(Ok(bytes)), _) => bytes,
            (Some(Err(status)), _) => return QueryReply { status: *status, length: 0 },
            (None, Some(list)) if class == Class::Process => {
                if buffer.len() < list.bytes.len() {
                    let length = list.bytes.len() as u32;
                    return QueryReply { status: Status::INFO_LENGTH_MISMATCH, length };
                }
                // Pointers are moved in place, without an allocation.
                let address = buffer.as_ptr().addr() as u64;
                buffer[..list.bytes.len()].copy_from_slice(&list.bytes);
                for at in &list.pointers {
                    let place = &mut buffer[*at..at + 8];
                    let offset = u64::from_le_bytes(*place.first_chunk().unwrap());
                    place.copy_from_slice(&(offset + address).to_le_bytes());
                }
                let length = list.bytes.len() as u32;
                return QueryReply { status: Status::SUCCESS, length };
            }
            (None, _) => {
                moved = usual(class);
                &moved[..]
            }
        };
        let length = bytes.len() as u32;
        match buffer.get_mut(..bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => return QueryReply { status: Status::INFO_LENGTH_MISMATCH, length },
        }
        QueryReply { status: Status::SUCCESS, length }
    }
}

/// The answers of a machine without peculiarities.
fn usual(class: Class) -> Box<[u8]> {
    let mut bytes = vec![0u8; 0];
    match class {
        Class::Performance => {
            bytes.resize(344, 0);
            for (at, value) in [(8, 1000u64), (16, 2000), (24, 3000)] {
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            for (at, value) in [(32, 10u32), (36, 20), (40, 30), (296, 123), (308, 456)] {
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
        Class::TimeOfDay => {
            bytes.extend(BOOT.to_le_bytes());
            bytes.extend(NOW.to_le_bytes());
            bytes.resize(48, 0);
        }
        Class::ProcessorPerformance => {
            for cpu in 1..=2u64 {
                for time in [1000 * cpu, 1500 * cpu, 300 * cpu, 20 * cpu, 10 * cpu, 7 * cpu] {
                    bytes.extend(time.to_le_bytes());
                }
            }
        }
        _ => bytes.extend([0u32, 9, 0, 0].into_iter().flat_map(u32::to_le_bytes)),
    }
    bytes.into()
}

fn machine(fake: Arc<Fake>) -> Broker {
    Broker::builder("native:", "BOX").provider(Arc::new(NativeProvider::new(fake))).build()
}

fn with(list: List) -> Arc<Fake> {
    let fake = Fake::default();
    *fake.list.lock().unwrap() = Some(list);
    Arc::new(fake)
}

fn collect(machine: &mut Broker, objects: &[u32]) -> Snapshot {
    let objects = objects.iter().copied().map(TitleIndex).collect();
    let mut snapshot = Snapshot::new();
    machine.collect(&Ask::new(ObjectQuery::Indexes(objects)), &mut snapshot).unwrap();
    snapshot
}

fn faults(snapshot: &Snapshot) -> Vec<String> {
    snapshot.faults().iter().map(Fault::to_string).collect()
}

/// The instances, each with its values by counter. Absent values are left out.
fn table(object: PerfObject<'_>) -> Vec<(String, HashMap<u32, u64>)> {
    let plans = CounterPlan::all(object);
    let values = |block: CounterBlock<'_>| {
        let of = |plan: &CounterPlan| Some((plan.name.0, plan.value(block).ok()?));
        plans.iter().filter_map(of).collect()
    };
    if !object.has_instances() {
        let block = object.counter_block().unwrap();
        return vec![(String::new(), values(block))];
    }
    let row = |instance: perfhive_format::Instance<'_>| {
        (instance.name().to_string(), values(instance.counter_block()))
    };
    object.instances().map(row).collect()
}

#[test]
fn the_list_is_read_in_both_widths() {
    for width in [Width::Bits32, Width::Bits64] {
        let list = sound(width);
        let bytes = list.at(0x10_0000);
        let processes: Vec<_> =
            Processes::new(&bytes, 0x10_0000, width).collect::<Result<_, _>>().unwrap();
        let ids: Vec<_> = processes.iter().map(|process| process.id).collect();
        assert_eq!(ids, [0, 4, 100, 200, 300, 1000]);
        let notepad = &processes[2];
        assert_eq!(notepad.name, b"N\0o\0t\0e\0p\0a\0d\0.\0E\0X\0E\0");
        assert_eq!((notepad.parent, notepad.handles, notepad.priority), (50, 110, 8));
        assert_eq!((notepad.start, notepad.user, notepad.kernel), (BOOT + 7, 20, 5));
        assert_eq!(notepad.page_faults, 77);
        let memory = notepad.memory;
        let field = |number: u64| number << 20 | 100;
        assert_eq!((memory.virtual_peak, memory.virtual_size), (field(1), field(2)));
        assert_eq!((memory.working_set_peak, memory.working_set), (field(4), field(5)));
        assert_eq!((memory.paged_pool, memory.nonpaged_pool), (field(7), field(9)));
        assert_eq!((memory.page_file, memory.page_file_peak), (field(10), field(11)));
        assert_eq!((memory.private, memory.working_set_private), (field(12), 100_000));
        assert_eq!(notepad.io, [100, 200, 300, 400, 500, 600]);
        let threads: Vec<_> = processes[3].threads.clone().collect();
        assert_eq!(threads.len(), 2);
        let second = threads[1];
        assert_eq!((second.id, second.process, second.start), (208, 200, BOOT + 208));
        assert_eq!((second.user, second.kernel, second.switches), (2, 2, 5));
        assert_eq!((second.state, second.wait_reason), (5, 6));
        assert_eq!((second.priority, second.base_priority), (10, 9));
        assert_eq!(second.start_address, 0x7000_1000);
    }
}

#[test]
fn processes_threads_and_their_totals() {
    let mut machine = machine(with(sound(Width::NATIVE)));
    let snapshot = collect(&mut machine, &[232]);
    assert_eq!(faults(&snapshot), Vec::<String>::new());
    // Process comes along.
    let object = snapshot.object(TitleIndex(230)).unwrap();
    let processes = table(object.view());
    let names: Vec<_> = processes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Idle", "System", "Notepad", "a.b", ".exe", "1000", "_Total"]);
    assert_eq!(object.view().clocks().object_time, NOW as i64);
    let of = |place: usize, counter: u32| processes[place].1.get(&counter).copied();
    assert_eq!((of(2, 6), of(2, 142), of(2, 144)), (Some(25), Some(20), Some(5)));
    assert_eq!((of(2, 684), of(2, 784), of(2, 1410)), (Some(BOOT + 7), Some(100), Some(50)));
    // Processes without a start time started with the machine.
    assert_eq!((of(0, 684), of(1, 684)), (Some(BOOT), Some(BOOT)));
    assert_eq!((of(2, 1416), of(2, 1424), of(2, 1418)), (Some(300), Some(900), Some(300)));
    assert_eq!((of(2, 682), of(6, 682)), (Some(8), None));
    assert_eq!((of(6, 6), of(6, 680), of(6, 784)), (Some(10_131), Some(8), Some(0)));
    assert_eq!((of(6, 684), of(6, 1412)), (Some(NOW), Some(600)));

    let object = snapshot.object(TitleIndex(232)).unwrap();
    let threads = table(object.view());
    let names: Vec<_> = threads.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["0", "1", "0", "1", "0", "0", "1", "0", "_Total"]);
    let parents: Vec<_> =
        object.view().instances().map(|instance| instance.parent().unwrap().1).collect();
    assert_eq!(parents, [0, 0, 1, 1, 2, 3, 3, 5, 6]);
    let of = |place: usize, counter: u32| threads[place].1.get(&counter).copied();
    assert_eq!((of(4, 804), of(4, 784), of(4, 46)), (Some(104), Some(100), Some(2)));
    assert_eq!((of(4, 706), of(4, 694), of(4, 682)), (Some(0x7000_1000), Some(10), Some(9)));
    assert_eq!((of(8, 6), of(8, 146), of(8, 46)), (Some(10_131), Some(30), None));
}

#[test]
fn system_and_processor_have_the_values_of_ntdll() {
    let mut machine = machine(with(sound(Width::NATIVE)));
    let snapshot = collect(&mut machine, &[2, 238]);
    assert_eq!(faults(&snapshot), Vec::<String>::new());
    let object = snapshot.object(TitleIndex(2)).unwrap();
    let [(_, system)] = &table(object.view())[..] else { panic!("one block") };
    for (counter, value) in [
        (10, 10),
        (12, 20),
        (14, 30),
        (16, 1000),
        (18, 2000),
        (20, 3000),
        (406, 30),
        (146, 123),
        (150, 456),
        (674, BOOT),
        (248, 6),
        (250, 8),
        // One ready, one ready without a chosen processor.
        (44, 2),
        (686, 0),
        (688, 9),
    ] {
        assert_eq!(system.get(&counter), Some(&value), "{counter}");
    }
    assert_eq!(object.view().clocks().object_time, NOW as i64);
    let processors = table(snapshot.object(TitleIndex(238)).unwrap().view());
    let names: Vec<_> = processors.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["0", "1", "_Total"]);
    // A time is an average, a count a sum.
    for (counter, values) in [
        (6, [1000, 2000, 1500]),
        (1746, [1000, 2000, 1500]),
        (144, [500, 1000, 750]),
        (142, [300, 600, 450]),
        (696, [20, 40, 30]),
        (698, [10, 20, 15]),
        (148, [7, 14, 21]),
    ] {
        let there: Vec<_> = processors.iter().map(|(_, row)| row[&counter]).collect();
        assert_eq!(there, values, "{counter}");
    }
}

#[test]
fn fields_without_any_value_are_left_out() {
    // A system without memory, states and switches, as Wine.
    let mut list = List::new(Width::NATIVE);
    for id in [4u64, 8] {
        let thread = MadeThread { id, start: BOOT, user: 3, kernel: 4, switches: 0, state: 0 };
        list = list.process(id, "x.exe", BOOT + id, &[thread]);
    }
    for entry in [0, list.last.unwrap()] {
        for at in (entry + 8..entry + 16).chain(entry + 112..entry + 256) {
            list.bytes[at] = 0;
        }
    }
    let fake = with(list);
    let performance = vec![0u8; 312];
    fake.answers.lock().unwrap().insert(Class::Performance, Ok(performance));
    let unknown = Err(Status(0xC000_0003));
    fake.answers.lock().unwrap().insert(Class::Exception, unknown);
    // Idle time outside of kernel time, and no interrupts.
    let times: Vec<u8> =
        [900u64, 100, 50, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    fake.answers.lock().unwrap().insert(Class::ProcessorPerformance, Ok(times));
    let mut machine = machine(fake);
    let snapshot = collect(&mut machine, &[2, 232, 238]);
    assert_eq!(faults(&snapshot), Vec::<String>::new());
    let counters = |object: u32| {
        let object = snapshot.object(TitleIndex(object)).unwrap().view();
        object.counters().map(|counter| counter.name_index().0).collect::<Vec<_>>()
    };
    assert_eq!(counters(230), [6, 142, 144, 684, 784, 1410, 680, 952, 682]);
    assert_eq!(counters(232), [6, 142, 144, 684, 784, 804, 694, 682, 706]);
    assert_eq!(counters(2), [674, 248, 250]);
    assert_eq!(counters(238), [6, 142, 1746]);
}

#[test]
fn a_failed_query_loses_its_own_objects_only() {
    let denied = Err(Status(0xC000_0022));
    for (class, lost, left) in [
        (Class::Process, &[230, 232][..], &[2, 238][..]),
        (Class::TimeOfDay, &[230, 232], &[2, 238]),
        (Class::ProcessorPerformance, &[238], &[2, 230, 232]),
        (Class::Performance, &[], &[2, 230, 232, 238]),
    ] {
        let fake = with(sound(Width::NATIVE));
        fake.answers.lock().unwrap().insert(class, denied.clone());
        let mut machine = machine(fake);
        let snapshot = collect(&mut machine, &[2, 230, 232, 238]);
        for object in lost {
            assert!(snapshot.object(TitleIndex(*object)).is_none(), "{class} {object}");
            let told = snapshot.faults().iter().any(|fault| {
                fault.object == Some(TitleIndex(*object))
                    && fault.to_string().contains("access denied")
            });
            assert!(told, "{class} {object}: {:?}", faults(&snapshot));
        }
        for object in left {
            assert!(snapshot.object(TitleIndex(*object)).is_some(), "{class} {object}");
        }
        assert!(!faults(&snapshot).is_empty(), "{class}");
    }
    // An array of half a processor, and a time of four bytes.
    let fake = with(sound(Width::NATIVE));
    fake.answers.lock().unwrap().insert(Class::ProcessorPerformance, Ok(vec![0; 72]));
    fake.answers.lock().unwrap().insert(Class::TimeOfDay, Ok(vec![0; 4]));
    let snapshot = collect(&mut machine(fake), &[2, 230, 238]);
    assert!(snapshot.object(TitleIndex(238)).is_none());
    let said = faults(&snapshot).join("\n");
    assert!(said.contains("72 bytes") && said.contains("4 bytes"), "{said}");
}

#[test]
fn a_list_that_is_damaged_keeps_its_sound_part() {
    let list = sound(Width::NATIVE);
    // In the second process: its successor, threads, and name.
    let second = list.width.process() + 2 * list.width.thread();
    for (at, value, what) in [
        (second, 0x10u64, "leads into the entry"),
        (second, 0x7FFF_FFFF, "leads out of the buffer"),
        (second + 4, 0xFFFF_FFFF, "fewer threads"),
        (second + 4, 1000, "fewer threads"),
    ] {
        let mut list = sound(Width::NATIVE);
        list.bytes[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
        let mut machine = machine(with(list));
        let snapshot = collect(&mut machine, &[2, 232]);
        let object = snapshot.object(TitleIndex(230)).unwrap();
        let names: Vec<_> = table(object.view()).into_iter().map(|(name, _)| name).collect();
        // A part of the processes has no sum.
        assert_eq!(names, ["Idle"], "{what}");
        assert_eq!(snapshot.object(TitleIndex(232)).unwrap().view().instances().count(), 2);
        let system = table(snapshot.object(TitleIndex(2)).unwrap().view());
        assert!(!system[0].1.contains_key(&248) && system[0].1.contains_key(&146));
        let said = faults(&snapshot);
        assert_eq!(said.iter().filter(|fault| fault.contains(what)).count(), 3, "{said:?}");
    }
    // A pointer to another place.
    let bytes = list.at(0x5000);
    let walked: Vec<_> = Processes::new(&bytes, 0x50_0000, Width::NATIVE).collect();
    assert!(walked[0].is_ok() && walked[1].is_err() && walked.len() == 2);
}

#[test]
fn damaged_lists_are_read_without_a_panic() {
    for width in [Width::Bits32, Width::Bits64] {
        let sound = sound(width).at(0x10_0000);
        let walk = |bytes: &[u8]| {
            let mut entries = 0;
            for process in Processes::new(bytes, 0x10_0000, width).flatten() {
                entries += 1 + process.threads.count();
                assert!(process.name.len() % 2 == 0 && process.name.len() < 1 << 16);
            }
            // The bytes limit the number of threads.
            assert!(entries <= bytes.len() / width.thread());
        };
        for length in 0..sound.len() {
            walk(&sound[..length]);
        }
        for at in 0..sound.len() {
            for value in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut bytes = sound.clone();
                bytes[at] = value;
                walk(&bytes);
                let more = bytes.len().min(at + 4);
                bytes[at..more].fill(value);
                walk(&bytes);
            }
        }
    }
}

#[test]
fn the_provider_passes_the_conformance_suite_of_sources() {
    let machine = || machine(with(sound(Width::NATIVE)));
    conformance::source(|| Box::new(machine()));
    conformance::source(|| Box::new(perfhive_engine::Cached::new(machine())));
}

#[test]
fn a_new_process_of_the_same_number_gets_no_value_of_the_old_one() {
    let fake = with(sound(Width::NATIVE));
    let mut query = Query::new(machine(Arc::clone(&fake))).unwrap();
    query.add(r"\Process(Notepad)\% Processor Time").unwrap();
    query.add(r"\Prozess(Notepad)\Prozesskennung").unwrap();
    query.collect().unwrap();
    let identity = |reading: &Reading| reading.identity.clone();
    let expected = Identity::Process { id: 100, start: BOOT + 7 };
    assert!(query.readings().iter().all(|reading| identity(reading) == Some(expected.clone())));
    // The number returns with another process.
    let other = List::new(Width::NATIVE).process(
        100,
        "Notepad.exe",
        BOOT + 99,
        &[made_thread(104, 900, 900, 2)],
    );
    *fake.list.lock().unwrap() = Some(other);
    query.collect().unwrap();
    assert!(query.readings()[0].value.is_err(), "no time of another process");
}

#[test]
fn warm_samples_allocate_nothing() {
    let fake = with(sound(Width::NATIVE));
    let all = [Class::Performance, Class::TimeOfDay, Class::ProcessorPerformance, Class::Exception];
    for class in all {
        let answer = usual(class).to_vec();
        fake.answers.lock().unwrap().insert(class, Ok(answer));
    }
    let mut machine = machine(fake);
    let objects = [2, 230, 232, 238].map(TitleIndex).to_vec();
    let request = Ask::new(ObjectQuery::Indexes(objects));
    let mut snapshot = Snapshot::new();
    for _ in 0..3 {
        machine.collect(&request, &mut snapshot).unwrap();
    }
    let ((), allocated) = count(|| machine.collect(&request, &mut snapshot).unwrap());
    assert_eq!(allocated.count, 0);
    assert_eq!(snapshot.objects().count(), 4);
}

/// The number of allocations of a sample, but 0 if the snapshot reports that it has grown; and
/// whether the snapshot reports this.
fn unreported(machine: &mut Broker, request: &Ask, snapshot: &mut Snapshot) -> (u64, bool) {
    let ((), taken) = count(|| machine.collect(request, snapshot).unwrap());
    (if snapshot.has_grown() { 0 } else { taken.count }, snapshot.has_grown())
}

#[test]
fn samples_with_lasting_faults_allocate_nothing() {
    let fake = with(sound(Width::NATIVE));
    let all = [Class::Performance, Class::TimeOfDay, Class::ProcessorPerformance, Class::Exception];
    for class in all {
        let answer = usual(class).to_vec();
        fake.answers.lock().unwrap().insert(class, Ok(answer));
    }
    let mut machine = machine(Arc::clone(&fake));
    let objects = [2, 230, 232, 238].map(TitleIndex).to_vec();
    let request = Ask::new(ObjectQuery::Indexes(objects));
    let mut snapshot = Snapshot::new();
    // More processes than there is room for; then a function that does not answer, and a damaged
    // list, both for good.
    let mut many = sound(Width::NATIVE);
    for id in 0..4000 {
        many = many.process(
            2000 + 4 * id,
            "many.exe",
            BOOT + id,
            &[made_thread(2002 + 4 * id, 1, 1, 2)],
        );
    }
    let mut damaged = sound(Width::NATIVE);
    damaged.put(0, 8, 4);
    let denied = Err(Status(0xC000_0022));
    let steps: [(&str, &dyn Fn()); 6] = [
        ("first", &|| {}),
        ("many", &|| *fake.list.lock().unwrap() = Some(many.clone())),
        ("processors", &|| {
            let mut times = usual(Class::ProcessorPerformance).to_vec();
            times.resize(48 * 2000, 1);
            let class = Class::ProcessorPerformance;
            fake.answers.lock().unwrap().insert(class, Ok(times));
        }),
        ("no counts", &|| {
            fake.answers.lock().unwrap().insert(Class::Performance, denied.clone());
            fake.answers.lock().unwrap().insert(Class::ProcessorPerformance, denied.clone());
        }),
        ("damaged", &|| *fake.list.lock().unwrap() = Some(damaged.clone())),
        ("no time", &|| {
            fake.answers.lock().unwrap().insert(Class::TimeOfDay, denied.clone());
        }),
    ];
    for (step, happens) in steps {
        happens();
        for round in 0..6 {
            let (unreported, reported) = unreported(&mut machine, &request, &mut snapshot);
            assert!(!reported && unreported == 0 || round < 4, "{step}, {round}");
        }
    }
    assert!(snapshot.faults().len() >= 4, "{:?}", snapshot.faults());
}
