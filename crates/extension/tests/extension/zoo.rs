//! Bad providers, each loaded for real: what a reader still gets, what is
//! logged, and what state they end in.

use crate::support::{Folder, Reader, broker, broker_at, registration};
use perfhive_engine::ProviderState::{Open, Quarantined};
use perfhive_engine::{FaultKind, ProviderState, TestLevel};
use std::time::Duration;

/// A kind of provider, and what its reader sees: instances of its object, text
/// in its fault, the state after six collections.
type Row = (&'static str, Option<usize>, &'static str, ProviderState);

/// In a process of its own; nothing of it may harm the reader.
const ISOLATED: &[Row] = &[
    ("wrong byte count", Some(2), "the byte count says", Open),
    ("moves and counts no bytes", Some(2), "the byte count says 0", Open),
    ("counts bytes and does not move", None, "1 objects were announced, 0 were found", Quarantined),
    ("moves and writes nothing", None, "the objects' lengths add up to 0", Quarantined),
    ("wrong object count", None, "3 objects were announced, 1 were found", Quarantined),
    ("wrong object length", None, "the objects' lengths add up to", Quarantined),
    ("object without length", None, "the objects' lengths add up to", Quarantined),
    ("odd length", None, "is no multiple of 4", Quarantined),
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
    ("shrinks the memory", None, "cut off the buffer that it shares", Quarantined),
    ("answers an error", None, "Collect answered with error 1234", Quarantined),
    ("says why", None, "the pump is dry", Quarantined),
    ("never has enough", None, "bytes are not enough", Quarantined),
    ("wants more and moves", None, "bytes are not enough", Quarantined),
    ("has nothing", None, "its provider gave no data for it", Open),
    ("takes another object", None, "its provider gave no data for it", Open),
    ("differs from call to call", Some(2), "", Open),
    ("is large", Some(20000), "", Open),
];

/// Those that a process survives which trusts them.
const IN_PROCESS: &[&str] = &[
    "wrong byte count",
    "moves and counts no bytes",
    "counts bytes and does not move",
    "moves and writes nothing",
    "wrong object count",
    "wrong object length",
    "object without length",
    "odd length",
    "wrong instance length",
    "zero-length instances",
    "one instance too few",
    "a million instances",
    "garbage",
    "overrun by 1 byte",
    "underrun by 1 byte",
    "points past its buffer",
    "points far past its buffer",
    "points before its buffer",
    "answers an error",
    "says why",
    "never has enough",
    "wants more and moves",
    "has nothing",
    "takes another object",
    "differs from call to call",
    "is large",
];

/// Collects until the provider's fate is sealed.
fn live(reader: &mut Reader, row: &Row) {
    let (kind, instances, text, state) = *row;
    let mut told = false;
    for _ in 0..6 {
        let seen = reader.see();
        if !seen.faults.iter().any(|fault| fault.kind == FaultKind::Quarantined) {
            assert_eq!(seen.instances, instances, "{kind}: {seen:?}");
            told |= seen.faults.iter().any(|fault| fault.message.contains(text));
            // Nothing is said of who does nothing wrong, and something of all others.
            let sound = instances.is_some() && text.is_empty();
            assert_eq!(seen.faults.is_empty(), sound, "{kind}: {seen:?}");
        } else {
            assert_eq!(seen.instances, None, "{kind}");
        }
    }
    assert!(told || text.is_empty(), "{kind}: {:?}", reader.status());
    let status = reader.status();
    assert_eq!(status.state, state, "{kind}: {status:?}");
    if state == Quarantined {
        // The first faults are logged, and then no more than is worth it.
        let logged = reader.logged(text);
        assert!((1..=3).contains(&logged), "{kind}: {:?}", reader.lines());
        assert_eq!(reader.logged("is asked no more"), 1, "{kind}: {:?}", reader.lines());
    }
}

#[test]
fn isolated() {
    let folder = Folder::new("isolated");
    let library = folder.compile("tests/extension/zoo.c");
    for row in ISOLATED {
        let mut registration = registration(&library, row.0);
        if row.2.starts_with("did not come back") {
            registration.collect_timeout = Duration::from_millis(300);
        }
        let mut reader =
            broker(registration, |options| options.memory_limit(160 << 20).pause(Duration::ZERO));
        live(&mut reader, row);
    }
}

#[test]
fn in_process() {
    let folder = Folder::new("in-process");
    let library = folder.compile("tests/extension/zoo.c");
    for kind in IN_PROCESS {
        // One process has one library of a name, whose linkage would stay that
        // of the first: each gets a copy.
        let copy = folder.0.join(format!("{kind}.so"));
        std::fs::copy(&library, &copy).unwrap();
        let mut registration = registration(&copy, kind);
        registration.in_process = true;
        let row = ISOLATED.iter().find(|row| row.0 == *kind).unwrap();
        let mut reader = broker(registration, |options| options);
        live(&mut reader, row);
    }
}

/// One that goes on writing after it answered: what was read does not change
/// any more, and is either sound or not there.
#[test]
fn a_writer_that_does_not_stop() {
    let folder = Folder::new("writer");
    let library = folder.compile("tests/extension/zoo.c");
    let mut reader = broker(registration(&library, "writes later, too"), |options| options);
    for _ in 0..100 {
        let seen = reader.see();
        match seen.instances {
            Some(count) => assert_eq!(count, 2),
            None => assert!(!seen.faults.is_empty()),
        }
        reader.broker.release("Zoo");
    }
}

#[test]
fn levels() {
    let folder = Folder::new("levels");
    let library = folder.compile("tests/extension/zoo.c");
    // What of each kind is read at the levels 1, 2 and 3.
    let rows: [(&str, [Option<usize>; 3]); 6] = [
        ("wrong byte count", [Some(2); 3]),
        ("wrong object count", [None, Some(2), Some(2)]),
        ("overrun by 1 byte", [None, None, Some(2)]),
        ("points past its buffer", [None; 3]),
        // Nobody can read these: our own validation has no level.
        ("zero-length instances", [None; 3]),
        ("garbage", [None; 3]),
    ];
    for (kind, instances) in rows {
        for (level, instances) in
            [TestLevel::All, TestLevel::Basic, TestLevel::None].into_iter().zip(instances)
        {
            let registration = registration(&library, kind);
            let mut reader = broker_at(registration, level, |options| options);
            assert_eq!(reader.see().instances, instances, "{kind} at {level:?}");
        }
    }
}
