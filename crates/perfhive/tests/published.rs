//! What programs publish, beside this machine's own objects.
#![cfg(any(
    all(target_os = "linux", target_endian = "little"),
    all(windows, target_pointer_width = "64")
))]
#![allow(clippy::unwrap_used)]

use perfhive::publish::{CounterDeclaration, PublishedCategory};
use perfhive::{CounterType, Query, TitleIndex, open};
use std::path::PathBuf;
use std::process::Command;

const FOLDER: &str = "PERFHIVE_COUNTERS";

fn publish(name: &str, folder: &PathBuf) -> PublishedCategory {
    let counter = CounterDeclaration::new("Threads", CounterType::PERF_COUNTER_RAWCOUNT);
    let category =
        PublishedCategory::builder(name).counter(counter).folder(folder).publish().unwrap();
    category.counter("Threads").unwrap().set(424_242);
    category
}

/// The variable `FOLDER` is looked at when a source is opened, so this test runs itself in a
/// process that has the variable.
#[test]
fn published_objects_do_not_replace_those_of_the_machine() {
    const TEST: &str = "published_objects_do_not_replace_those_of_the_machine";
    if std::env::var_os(FOLDER).is_none() {
        let folder =
            std::env::temp_dir().join(format!("perfhive-published-{}", std::process::id()));
        let categories = ["System", "Web Shop"].map(|name| publish(name, &folder));
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env(FOLDER, &folder)
            .output()
            .unwrap();
        drop(categories);
        std::fs::remove_dir(&folder).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let addresses: &[&str] = if cfg!(windows) { &["local:"] } else { &["local:", "proc:"] };
    for address in addresses {
        let mut query = Query::new(open(address).unwrap()).unwrap();
        for path in [r"\System\Threads", r"\Web Shop\Threads"] {
            query.add(path).unwrap();
        }
        query.collect().unwrap();
        let values: Vec<_> =
            query.readings().iter().map(|r| r.value.as_ref().unwrap().as_f64()).collect();
        assert!(values[0] < 424_242.0, "{values:?}");
        assert_eq!(values[1..], [424_242.0]);
    }
    let mut machine = open("local:").unwrap();
    let catalogue = machine.catalogue(&perfhive::Ask::everything()).unwrap();
    assert!(catalogue.object(TitleIndex(2)).is_some(), "System");
    let published =
        catalogue.objects.iter().filter(|o| o.name.0 >= perfhive::engine::CHOSEN_INDEXES);
    assert_eq!(published.count(), 1);
    if cfg!(windows) {
        return;
    }
    // A copy of a machine has only what is in it.
    let folder = std::env::temp_dir().join(format!("perfhive-copy-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("proc")).unwrap();
    assert!(open(&format!("proc:{}", folder.display())).is_err(), "an empty proc is not a machine");
    std::fs::write(folder.join("proc/stat"), "cpu 1 2 3 4\nbtime 1\n").unwrap();
    let mut copy = open(&format!("proc:{}", folder.display())).unwrap();
    let objects = &copy.catalogue(&perfhive::Ask::everything()).unwrap().objects;
    assert!(objects.iter().all(|object| object.name.0 < perfhive::engine::CHOSEN_INDEXES));
    std::fs::remove_dir_all(folder).unwrap();
}
