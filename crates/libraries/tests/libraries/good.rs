//! Good providers: in C and in Rust, in this process and in one of their own.

use crate::support::{Folder, broker, registration};
use perfhive_engine::{ObjectQuery, ProviderState, Request, Snapshot, Source as _};
use perfhive_testkit::alloc::count;

#[test]
fn a_good_one_is_read() {
    let folder = Folder::new("good");
    let library = folder.compile("tests/libraries/zoo.c");
    for in_process in [false, true] {
        let mut registration = registration(&library, "good");
        registration.in_process = in_process;
        let mut reader = broker(registration, |options| options);
        for _ in 0..3 {
            let seen = reader.see();
            assert_eq!(seen.instances, Some(2), "{seen:?} {:?}", reader.lines());
            assert!(seen.faults.is_empty(), "{seen:?}");
        }
        assert_eq!(reader.state(), ProviderState::Open);
        assert_eq!(reader.lines(), [""; 0]);
        let (snapshot, _) = reader.collect(&Request::new(ObjectQuery::Global));
        assert_eq!(snapshot.objects().count(), 1);
    }
}

/// Asking a library makes texts and lists each time.
#[test]
fn what_a_collection_takes_is_told() {
    let folder = Folder::new("growth");
    let library = folder.compile("tests/libraries/zoo.c");
    for in_process in [false, true] {
        let mut registration = registration(&library, "good");
        registration.in_process = in_process;
        let mut reader = broker(registration, |options| options);
        let mut snapshot = Snapshot::new();
        for request in [Request::new(ObjectQuery::Global), Request::new(ObjectQuery::Costly)] {
            for round in 0..20 {
                let (done, taken) = count(|| reader.broker.collect(&request, &mut snapshot));
                done.unwrap();
                let grown = snapshot.has_grown();
                assert!(taken.count == 0 || grown, "{in_process} {round}: {}", taken.count);
            }
        }
    }
}
