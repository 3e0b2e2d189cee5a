//! Good providers: in C and in Rust, in this process and in one of their own.

use crate::support::{Folder, broker, registration};
use perfhive_engine::{Ask, ObjectQuery, ProviderState};

#[test]
fn a_good_one_is_read() {
    let folder = Folder::new("good");
    let library = folder.compile("tests/libraries/zoo.c");
    let registration = registration(&library, "good");
    let mut reader = broker(registration, |options| options);
    for _ in 0..3 {
        let seen = reader.see();
        assert_eq!(seen.instances, Some(2), "{seen:?} {:?}", reader.lines());
        assert!(seen.faults.is_empty(), "{seen:?}");
    }
    assert_eq!(reader.state(), ProviderState::Open);
    assert_eq!(reader.lines(), [""; 0]);
    let (snapshot, _) = reader.collect(&Ask::new(ObjectQuery::Global));
    assert_eq!(snapshot.objects().count(), 1);
}
