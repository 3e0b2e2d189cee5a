//! Bad providers, each loaded beside a good one: what a reader still gets, the log, and the
//! final state.

use crate::support::{Folder, OBJECT, Reader, broker_of, neighbour, registration};
use perfhive_contract::Registration;
use perfhive_engine::ProviderState::{Failed, Open, Quarantined};
use perfhive_engine::{Ask, FaultKind, ObjectQuery, ProviderState, Source as _, TestLevel};
use perfhive_libraries::HostOptions;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// A kind of provider, and what its reader sees: the number of instances of its object, a
/// text in its fault, and its state after six collections.
type Row = (&'static str, Option<usize>, &'static str, ProviderState);

/// The text in the log; empty for no line.
fn log_of(row: &Row) -> &'static str {
    match row.0 {
        // Giving nothing is not a failure: the reader gets a fault, the log no line.
        "has nothing" => "",
        "changes its counters" => "the counters of object 50000 are not those of before",
        _ => row.2,
    }
}

/// Bad providers, none of which may harm the reader.
const BAD: &[Row] = &[
    ("wrong byte count", Some(2), "the byte count says", Open),
    ("moves and counts no bytes", Some(2), "the byte count says 0", Open),
    ("counts bytes and does not move", None, "1 objects were announced, 0 were found", Quarantined),
    ("moves and writes nothing", None, "the objects' lengths add up to 0", Quarantined),
    ("wrong object count", None, "3 objects were announced, 1 were found", Quarantined),
    ("wrong object length", None, "the objects' lengths add up to", Quarantined),
    ("object without length", None, "the objects' lengths add up to", Quarantined),
    ("odd length", None, "is not a multiple of 4", Quarantined),
    (
        "wrong instance length",
        None,
        "PERF_COUNTER_BLOCK.ByteLength = 0 at offset 0x84",
        Quarantined,
    ),
    ("zero-length instances", None, "PERF_INSTANCE_DEFINITION.ByteLength = 0", Quarantined),
    ("one instance too few", None, "the instances of object 50000 end at", Quarantined),
    ("a million instances", None, "NumInstances = 1000000", Quarantined),
    ("garbage", None, "lengths add up to 39564301 bytes, but 184", Quarantined),
    ("overrun by 1 byte", None, "the guard region was written to at offset 63488", Quarantined),
    ("underrun by 1 byte", None, "the guard region was written to at offset -1 ", Quarantined),
    ("overrun by 1 page", None, "signal 11 (access outside of its memory) in Collect", Quarantined),
    ("underrun by 1 page", None, "signal 11", Quarantined),
    ("points past its buffer", None, "buffer overrun: the data ends 8 bytes", Quarantined),
    ("points far past its buffer", None, "heap fault", Quarantined),
    ("points before its buffer", None, "heap fault: the data pointer moved by -8", Quarantined),
    ("crashes", None, "crashed with signal 11", Quarantined),
    ("exits", None, "left its process with exit status 7 in Collect", Quarantined),
    ("exits with success", None, "left its process with exit status 0", Quarantined),
    ("never returns", None, "did not come back from Collect within 300ms", Quarantined),
    ("sleeps past its deadline", None, "did not come back from Collect within", Quarantined),
    ("allocates without end", None, "crashed with signal", Quarantined),
    ("closes everything", None, "in Collect", Quarantined),
    (
        "closes everything and stays",
        None,
        "closed the connection to its host, and was ended",
        Quarantined,
    ),
    // The memory's size is sealed: neither has an effect.
    ("shrinks the memory", Some(2), "", Open),
    ("grows the memory", Some(2), "", Open),
    ("answers an error", None, "Collect answered with error 1234", Quarantined),
    ("says why", None, "the pump is dry", Quarantined),
    ("never has enough", None, "the library asks for more than", Quarantined),
    ("wants more and moves", None, "the library asks for more than", Quarantined),
    ("has nothing", None, "the provider gave no data for this object", Open),
    (
        "takes another object",
        None,
        "left out object 238, which its registration does not claim",
        Open,
    ),
    (
        "takes its neighbour's object",
        None,
        "left out object 52000, which belongs to Neighbour; it may give 50000 to 50200",
        Open,
    ),
    ("changes its counters", Some(2), "", Open),
    ("differs from call to call", Some(2), "", Open),
    ("is large", Some(20000), "", Open),
];

/// A reader of a bad provider and a good neighbour.
fn beside_a_good_one(
    folder: &Folder,
    bad: Registration,
    change: impl FnOnce(HostOptions) -> HostOptions,
) -> Reader {
    let good = neighbour(folder);
    // The first one is asked first, and could harm the second.
    broker_of(vec![bad, good], TestLevel::All, change)
}

/// Collects until the provider is quarantined or known to stay open.
fn live(reader: &mut Reader, row: &Row) {
    let (kind, instances, text, state) = *row;
    let mut told = false;
    for _ in 0..6 {
        let seen = reader.see_with_neighbour();
        if !seen.faults.iter().any(|fault| fault.kind == FaultKind::Quarantined) {
            assert_eq!(seen.instances, instances, "{kind}: {seen:?}");
            told |= seen.faults.iter().any(|fault| fault.message.contains(text));
            // A sound answer has no fault; every other one has.
            let sound = instances.is_some() && text.is_empty();
            assert_eq!(seen.faults.is_empty(), sound, "{kind}: {seen:?}");
        } else {
            assert_eq!(seen.instances, None, "{kind}");
        }
    }
    assert!(told || text.is_empty(), "{kind}: {:?}", reader.status());
    let status = reader.status();
    assert_eq!(status.state, state, "{kind}: {status:?}");
    reader.neighbour_is_sound(kind);
    let text = log_of(row);
    if text.is_empty() {
        assert_eq!(reader.lines(), [""; 0], "{kind}");
    } else {
        // The log is limited to three lines of a kind. For "closes everything" the crash and the
        // closed connection race.
        let kinds = if kind == "closes everything" { 2 } else { 1 };
        let logged = reader.logged(text);
        assert!((1..=3 * kinds).contains(&logged), "{kind}: {:?}", reader.lines());
    }
    let disabled = usize::from(state == Quarantined);
    assert_eq!(reader.logged("is asked no more"), disabled, "{kind}: {:?}", reader.lines());
}

#[test]
fn bad_library_costs_only_its_own_objects() {
    let folder = Folder::new("isolated");
    let library = folder.compile("tests/libraries/zoo.c");
    for row in BAD {
        let mut registration = registration(&library, row.0);
        if row.2.starts_with("did not come back") {
            registration.collect_timeout = Duration::from_millis(300);
        }
        let mut reader = beside_a_good_one(&folder, registration, |options| {
            options.memory_limit(160 << 20).pause(Duration::ZERO)
        });
        live(&mut reader, row);
    }
}

/// Every other call gives an object of another name: the reader gets the requested object,
/// or a fault.
#[test]
fn library_that_changes_its_objects_gives_the_object_or_a_fault() {
    let folder = Folder::new("changes-objects");
    let library = folder.compile("tests/libraries/zoo.c");
    let kind = "changes its objects";
    let registration = registration(&library, kind);
    let mut reader = beside_a_good_one(&folder, registration, |options| options);
    for round in 0..12 {
        let seen = reader.see_with_neighbour();
        if round % 2 == 0 {
            assert_eq!(seen.instances, Some(2), "{seen:?}");
            assert!(seen.faults.is_empty(), "{seen:?}");
        } else {
            assert_eq!(seen.instances, None, "{seen:?}");
            assert_eq!(&*seen.faults[0].message, "the provider gave no data for this object");
        }
    }
    assert_eq!((reader.state(), reader.status().faults), (Open, 0));
    reader.neighbour_is_sound(kind);
    let logged = reader.logged("gives object 500");
    assert!((1..=3).contains(&logged), "{:?}", reader.lines());
}

/// A new description does not move an object that its neighbour registered.
#[test]
fn neighbours_object_stays_the_neighbours_after_a_new_description() {
    let folder = Folder::new("takes");
    let library = folder.compile("tests/libraries/zoo.c");
    let kind = "takes its neighbour's object";
    let mut reader = beside_a_good_one(&folder, registration(&library, kind), |options| {
        options.look_every(Duration::ZERO)
    });
    for _ in 0..8 {
        assert_eq!(reader.see_with_neighbour().instances, None);
    }
    reader.neighbour_is_sound(kind);
}

/// Objects of other providers are left out even while their owner is disabled; the library's
/// own object is read.
#[test]
fn objects_of_others_are_left_out_with_a_warning() {
    let folder = Folder::new("more");
    let library = folder.compile("tests/libraries/zoo.c");
    let kind = "!gives more than its own";
    let mut absent = neighbour(&folder);
    absent.disabled = true;
    let bad = registration(&library, kind);
    let mut reader = broker_of(vec![bad, absent.clone()], TestLevel::All, |options| options);
    let (snapshot, faults) = reader.collect(&Ask::new(ObjectQuery::Global));
    let names: Vec<u32> = snapshot.objects().map(|one| one.view().name_index().0).collect();
    assert_eq!(names, [OBJECT.0], "{faults:?}");
    let told: Vec<_> = faults.iter().map(|one| (one.object.unwrap().0, one.kind)).collect();
    assert_eq!(told, [(238, FaultKind::Warning), (52000, FaultKind::Warning)]);
    assert!(faults[1].message.contains("which belongs to Neighbour; it may give 50000 to"));
    assert_eq!(reader.state(), Open);
    assert!((1..=3).contains(&reader.logged("left out object 238")), "{:?}", reader.lines());
    assert_eq!(reader.broker.catalogue(&Ask::everything()).unwrap().objects.len(), 1);
    // A provider without names and list may give unregistered objects.
    let mut free = reader_of_free(&library, kind, &absent);
    let (snapshot, _) = free.collect(&Ask::new(ObjectQuery::Global));
    let names: Vec<u32> = snapshot.objects().map(|one| one.view().name_index().0).collect();
    assert_eq!(names, [238, OBJECT.0]);
}

fn reader_of_free(library: &Path, kind: &str, other: &Registration) -> Reader {
    let mut free = registration(library, kind);
    (free.first_counter, free.last_counter) = (0, 0);
    broker_of(vec![free, other.clone()], TestLevel::All, |options| options)
}

/// Each thread gets answers that are whole and come from one call.
#[test]
fn readers_in_several_threads_get_whole_answers() {
    let folder = Folder::new("differs");
    let library = folder.compile("tests/libraries/zoo.c");
    let kind = "differs from call to call";
    let bad = registration(&library, kind);
    let good = neighbour(&folder);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let both = vec![bad.clone(), good.clone()];
                let mut reader = broker_of(both, TestLevel::All, |options| options);
                for _ in 0..100 {
                    let seen = reader.see_with_neighbour();
                    assert_eq!(seen.instances, Some(2), "{seen:?}");
                }
                assert_eq!((reader.state(), reader.status().faults), (Open, 0));
                reader.neighbour_is_sound(kind);
                assert_eq!(reader.lines(), [""; 0]);
            });
        }
    });
}

/// A Rust library panics in its first call, and after it said what it offers.
#[test]
fn panic_in_a_rust_library_costs_only_its_own_objects() {
    let folder = Folder::new("panics");
    for (kind, text, state) in [
        ("panic", "the provider panicked: the gauge called panic is broken", Failed),
        ("late-panic", "the provider panicked: the gauge called late-panic", Quarantined),
    ] {
        let library = format!("{kind}.so");
        let bad = crate::registered::gauges_of(&folder, &library, kind);
        let mut reader = beside_a_good_one(&folder, bad, |options| options);
        let mut told = false;
        for _ in 0..8 {
            let seen = reader.see_with_neighbour();
            told |= seen.faults.iter().any(|fault| fault.message.contains(text));
            assert_eq!(seen.instances, None, "{kind}: {seen:?}");
        }
        let status = reader.status();
        assert_eq!(status.state, state, "{kind}: {status:?}");
        // Before it said what it offers, only the account has the fault.
        let account = status.last_fault.unwrap().message;
        assert!(told || account.contains(text), "{kind}: {account}");
        reader.neighbour_is_sound(kind);
        assert!((1..=3).contains(&reader.logged(text)), "{kind}: {:?}", reader.lines());
    }
}

/// A library that writes after its answer cannot change what was read, which is sound or
/// missing.
#[test]
fn late_writes_do_not_change_what_was_read() {
    let folder = Folder::new("writer");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut registration = registration(&library, "writes later, too");
    registration.processes = true;
    let mut reader = beside_a_good_one(&folder, registration, |options| options);
    for _ in 0..100 {
        let seen = reader.see_with_neighbour();
        match seen.instances {
            Some(count) => assert_eq!(count, 2),
            None => assert!(!seen.faults.is_empty()),
        }
        reader.broker.release("Zoo");
    }
    reader.neighbour_is_sound("writes later, too");
}

#[test]
fn test_level_decides_which_answers_are_read() {
    let folder = Folder::new("levels");
    let library = folder.compile("tests/libraries/zoo.c");
    // The instances that are read at the levels 1, 2 and 3.
    let rows: [(&str, [Option<usize>; 3]); 6] = [
        ("wrong byte count", [Some(2); 3]),
        ("wrong object count", [None, Some(2), Some(2)]),
        ("overrun by 1 byte", [None, None, Some(2)]),
        ("points past its buffer", [None; 3]),
        // Never read: our own validation has no level.
        ("zero-length instances", [None; 3]),
        ("garbage", [None; 3]),
    ];
    for (kind, instances) in rows {
        for (level, instances) in
            [TestLevel::All, TestLevel::Basic, TestLevel::None].into_iter().zip(instances)
        {
            let registration = registration(&library, kind);
            let mut reader = broker_of(vec![registration], level, |options| options);
            assert_eq!(reader.see().instances, instances, "{kind} at {level:?}");
        }
    }
}
