//! A good provider.

use crate::support::{Folder, broker, registration};
use perfhive_engine::{Ask, ObjectQuery, ProviderState};

#[test]
fn good_library_is_read_without_faults_or_log_lines() {
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
