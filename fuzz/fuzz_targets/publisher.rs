//! A program that publishes anything: a file of counters that is well-formed for the
//! most part, since what is not is refused at its first numbers (`published` has
//! those), and that changes, shrinks and grows while it is read. Whatever it does,
//! what a reader makes of it are objects like any others, no larger than they may
//! be, and the program beside it has all of its counters.

#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use perfhive_engine::{Ask, Broker, ObjectQuery, Snapshot, Source};
use perfhive_format::{CounterPlan, CounterType, DataBlock, LanguageId};
use perfhive_fuzz::walk_block;
use perfhive_shm::{CounterDeclaration, PublishedCategory, PublishedCounters};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// Bytes that all that is published may take of a block.
const LIMIT: usize = 64 << 10;
const LONGEST: usize = 256 << 10;

#[derive(Arbitrary, Debug)]
struct Hostile {
    /// What it is called: 0 like another's category, 1 like another's with the same
    /// counters, anything else otherwise.
    name: u8,
    has_instances: bool,
    counters: Vec<(u8, u32, u16)>,
    slots: u16,
    used: u16,
    name_size: u8,
    values_size: u16,
    gap: u8,
    pattern: u64,
    /// Writes before the first read.
    before: Vec<(Place, u64)>,
    /// What is done between one look and the next.
    later: Vec<Step>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Place {
    Header(u8),
    Counter(u16),
    Live(u8),
    Slot(u16),
    Name(u16),
    Value(u16),
    Anywhere(u32),
}

#[derive(Arbitrary, Debug)]
enum Step {
    Put(Place, u64),
    Length(u32),
}

/// Where the areas of a file are.
struct Areas {
    live_at: usize,
    names_at: usize,
    values_at: usize,
    length: usize,
}

impl Areas {
    fn at(&self, place: Place) -> usize {
        match place {
            Place::Header(at) => usize::from(at) % 256,
            Place::Counter(at) => 256 + usize::from(at) % (self.live_at - 256).max(1),
            Place::Live(at) => self.live_at + usize::from(at) % 64 / 8 * 8,
            Place::Slot(at) => self.live_at + 64 + usize::from(at) * 8,
            Place::Name(at) => self.names_at + usize::from(at),
            Place::Value(at) => self.values_at + usize::from(at) * 8,
            Place::Anywhere(at) => at as usize % self.length.max(1),
        }
    }
}

/// The counters of the category that a neighbour publishes too.
const SHARED: [(CounterType, CounterType); 2] = [
    (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, CounterType(0)),
    (CounterType::PERF_AVERAGE_BULK, CounterType::PERF_AVERAGE_BASE),
];

fn types(choice: u8) -> (CounterType, CounterType) {
    use CounterType as T;
    match choice % 8 {
        0 => SHARED[0],
        1 => SHARED[1],
        2 => (T::PERF_AVERAGE_TIMER, T::PERF_AVERAGE_BASE),
        3 => (T::PERF_COUNTER_BULK_COUNT, T(0)),
        4 => (T::PERF_100NSEC_MULTI_TIMER, T::PERF_COUNTER_MULTI_BASE),
        5 => (T::PERF_SAMPLE_FRACTION, T::PERF_SAMPLE_BASE),
        6 => (T::PERF_ELAPSED_TIME, T(0)),
        _ => (T::PERF_COUNTER_TIMER, T(0)),
    }
}

/// The file's bytes, which are what the layout says but for what `before` does.
fn encode(hostile: &Hostile) -> Option<(Vec<u8>, Areas)> {
    let name = match hostile.name {
        0 | 1 => "Shared".to_string(),
        other => format!("Category {other}"),
    };
    let mut counters: Vec<(CounterType, CounterType, u32, usize)> = Vec::new();
    if hostile.name == 1 {
        counters.extend([(SHARED[0].0, SHARED[0].1, 0, 56), (SHARED[1].0, SHARED[1].1, 0, 0)]);
    } else {
        let mut cell = 0;
        for (choice, flags, gap) in hostile.counters.iter().take(12) {
            let (kind, base) = types(*choice);
            counters.push((kind, base, *flags & 1, cell));
            cell += if base.0 == 0 { 8 } else { 56 } + usize::from(*gap % 3) * 8;
        }
    }
    let needed = counters.iter().map(|(_, base, _, cell)| cell + if base.0 == 0 { 8 } else { 56 });
    let values_size = needed.max()? + usize::from(hostile.values_size % 16) * 8;
    let has_instances = hostile.has_instances || hostile.name < 2;
    let slots = if has_instances { usize::from(hostile.slots) % 2000 + 1 } else { 1 };
    let name_size = if has_instances { (usize::from(hostile.name_size) / 8 + 1) * 8 } else { 0 };
    let mut texts = name.clone().into_bytes();
    let mut places = Vec::new();
    for number in 0..counters.len() {
        let text = if hostile.name < 2 {
            ["Orders", "Avg. Bytes/Order"].get(number).copied().unwrap_or("x").to_string()
        } else {
            format!("Counter {number}")
        };
        places.push((texts.len() as u32, text.len() as u32));
        texts.extend(text.bytes());
    }
    let texts_at = 256 + counters.len() * 48;
    let live_at = (texts_at + texts.len()).next_multiple_of(64);
    let names_at = live_at + 64 + slots * 16 + usize::from(hostile.gap % 8) * 8;
    let values_at = names_at + slots * name_size;
    let length = values_at + slots * values_size;
    if length > LONGEST {
        return None;
    }
    let mut out = vec![0; length];
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(place) = out.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    };
    put(0, b"PERFHSHM");
    for (at, number) in [
        (8, 2),
        (12, 256),
        (24, u32::from(has_instances)),
        (28, counters.len() as u32),
        (32, slots as u32),
        (36, name_size as u32),
        (88, values_size as u32),
        (92, u32::MAX),
        (96, 0),
        (100, name.len() as u32),
        (112, 100),
    ] {
        put(at, &number.to_le_bytes());
    }
    for (at, number) in [
        (16, length),
        (40, 256),
        (48, texts_at),
        (56, texts.len()),
        (64, live_at),
        (72, names_at),
        (80, values_at),
        (152, 1),
    ] {
        put(at, &(number as u64).to_le_bytes());
    }
    for (place, ((kind, base, flags, cell), (begin, size))) in
        counters.iter().zip(&places).enumerate()
    {
        let at = 256 + place * 48;
        for (field, number) in [
            (0, *begin),
            (4, *size),
            (16, kind.0),
            (20, base.0),
            (28, 100),
            (32, *cell as u32),
            (36, *flags),
        ] {
            put(at + field, &number.to_le_bytes());
        }
    }
    put(texts_at, &texts);
    put(live_at, &1u64.to_le_bytes());
    let used = usize::from(hostile.used) % (slots + 1);
    put(live_at + 8, &(used as u64).to_le_bytes());
    for slot in 0..used {
        let at = live_at + 64 + slot * 16;
        put(at, &(4 * slot as u64 + 6).to_le_bytes());
        put(at + 8, &u32::MAX.to_le_bytes());
        let text = format!("{slot}");
        let text = text.get(..name_size.min(text.len())).unwrap_or_default();
        let length = if slot % 3 == 0 { name_size } else { text.len() };
        put(at + 12, &(length as u32).to_le_bytes());
        put(names_at + slot * name_size, text.as_bytes());
        put(values_at + slot * values_size, &hostile.pattern.to_le_bytes());
    }
    let areas = Areas { live_at, names_at, values_at, length };
    for (place, number) in hostile.before.iter().take(64) {
        put(areas.at(*place), &number.to_le_bytes());
    }
    Some((out, areas))
}

/// A folder in which a sound program publishes.
struct Neighbour {
    folder: PathBuf,
    _categories: [PublishedCategory; 2],
}

fn neighbour() -> &'static Neighbour {
    static NEIGHBOUR: OnceLock<Neighbour> = OnceLock::new();
    NEIGHBOUR.get_or_init(|| {
        // Nothing tells a target that its process ends: what it leaves is in the
        // folder of what was built, and gone with the next one.
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/publisher"));
        let _ = std::fs::remove_dir_all(&folder);
        let category = |name: &str| {
            let category = PublishedCategory::builder(name)
                .instances(2)
                .counter(CounterDeclaration::new("Orders", SHARED[0].0))
                .counter(CounterDeclaration::new("Avg. Bytes/Order", SHARED[1].0))
                .folder(&folder)
                .publish()
                .expect("published");
            let instance = category.instance("Berlin").expect("an instance");
            instance.counter("Orders").expect("a counter").set(4711);
            instance.pair("Avg. Bytes/Order").expect("a counter").add(100, 7);
            category
        };
        let _categories = [category("Shared"), category("Neighbour")];
        Neighbour { folder, _categories }
    })
}

/// Reads everything, and sees to it that the neighbour's is among it.
fn look(broker: &mut Broker) {
    let mut snapshot = Snapshot::new();
    broker.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).expect("collected");
    let titles = broker.titles(LanguageId::ENGLISH, &Ask::nothing()).expect("titles");
    let mut found = 0;
    let mut bytes = 0;
    for frame in snapshot.frames() {
        walk_block(DataBlock::parse(frame.as_bytes()).expect("a block"));
        bytes += frame.as_bytes().len();
    }
    assert!(bytes < LIMIT + 4096, "{bytes} bytes");
    for object in snapshot.objects() {
        let view = object.view();
        if !matches!(titles.name(view.name_index()), Some("Shared" | "Neighbour")) {
            continue;
        }
        let plans = CounterPlan::all(view);
        let mut berlins = view.instances().filter(|one| one.name().to_text() == "Berlin");
        let values = |block| plans.iter().map(|plan| plan.value(block).ok()).collect::<Vec<_>>();
        let is_whole =
            berlins.any(|one| values(one.counter_block()) == [Some(4711), Some(100), Some(7)]);
        found += usize::from(is_whole);
    }
    assert_eq!(found, 2, "the neighbour's counters: {:?}", snapshot.faults());
}

fuzz_target!(|hostile: Hostile| {
    let Some((bytes, areas)) = encode(&hostile) else { return };
    let folder = &neighbour().folder;
    let path = folder.join("hostile.counters");
    std::fs::write(&path, &bytes).expect("written");
    let file = File::options().read(true).write(true).open(&path).expect("opened");
    file.lock().expect("locked");
    let published =
        PublishedCounters::in_folder(folder.as_path()).every(Duration::ZERO).limit(LIMIT);
    let mut broker = Broker::builder("fuzz:", "HOST").roster(published).build();
    look(&mut broker);
    for step in hostile.later.iter().take(4) {
        match step {
            Step::Put(place, number) => {
                let _ = file.write_at(&number.to_le_bytes(), areas.at(*place) as u64);
            }
            Step::Length(length) => {
                let length = *length as usize % (2 * LONGEST);
                file.set_len(length as u64).expect("another length");
            }
        }
        look(&mut broker);
    }
    std::fs::remove_file(&path).expect("removed");
});
