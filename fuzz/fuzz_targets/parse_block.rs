//! Any bytes as a data block: an error, or views that keep every promise.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_format::{DataBlock, PerfObject};

fuzz_target!(|data: &[u8]| {
    let parsed = DataBlock::parse(data);
    let scanned = DataBlock::scan(data);
    match (&parsed, scanned) {
        (Ok(block), Ok((header, objects))) => {
            assert_eq!(header.object_count(), block.object_count());
            assert_eq!(header.clocks(), block.clocks());
            let mut scanned = objects;
            for object in block.objects() {
                let same = scanned.next().and_then(Result::ok);
                assert!(same.is_some_and(|same| same.as_bytes() == object.as_bytes()));
            }
            assert!(scanned.next().is_none());
            perfhive_fuzz::walk_block(*block);
        }
        (Err(error), Ok((header, objects))) => {
            // The good objects of a damaged block are as good as any.
            let mut first = None;
            for object in objects {
                match object {
                    Ok(object) => perfhive_fuzz::walk_object(object, header.clocks()),
                    Err(error) => first = first.or(Some(error)),
                }
            }
            assert_eq!(first, Some(*error), "both name the same fault first");
        }
        (Err(error), Err(same)) => assert_eq!(*error, same),
        (Ok(_), Err(error)) => panic!("a good block has a bad header: {error}"),
    }
    if let Err(error) = parsed {
        assert!(error.offset <= data.len(), "{error}");
        assert!(!error.to_string().is_empty());
    }
    if let Ok(object) = PerfObject::parse(data) {
        perfhive_fuzz::walk_object(object, Default::default());
    }
    // Never validated: wrong values are allowed, panics are not.
    let wild = PerfObject::from_validated(data, data);
    let _ = (wild.header(), wild.clocks(), wild.layout(), wild.counter_block().is_some());
    for counter in wild.counters().take(64) {
        for instance in wild.instances().take(64) {
            let _ = (instance.counter_block().value(&counter), instance.name().is_empty());
        }
    }
});
