//! Process V2 and Thread V2 have the values of Process and Thread, under names that do not change.

use crate::common::{Machine, Tree};
use perfhive_format::{InstanceName, PerfObject};

const PROCESS: u32 = 230;
const THREAD: u32 = 232;
const PROCESS_V2: u32 = 105_200;
const THREAD_V2: u32 = 105_202;
const VOLUNTARY: u32 = 105_010;

/// The counter blocks of an object's instances.
fn blocks(object: PerfObject<'_>) -> Vec<&[u8]> {
    object.instances().map(|instance| instance.counter_block().as_bytes()).collect()
}

#[test]
fn names_end_in_numbers_and_values_are_those_of_process_and_thread() {
    let tree = Tree::machine();
    for (pid, name) in [(20, "java"), (30, "java"), (40, "_Total"), (50, "Ä:7")] {
        tree.process(pid, name.as_bytes());
    }
    tree.file("30/stat", crate::common::stat(30, b"java", 1, 2));
    tree.thread(30, 31, b'S');
    tree.remove("50/io");
    let mut machine = Machine::new(&tree.root());
    let all = [PROCESS, THREAD, PROCESS_V2, THREAD_V2];
    let look = machine.look(&all, &[(PROCESS_V2, VOLUNTARY), (THREAD_V2, VOLUNTARY)]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    let names = ["Idle:0", "java:20", "java:30", "_Total (40):40", "Ä:7:50", "_Total"];
    assert_eq!(look.names(PROCESS_V2), names);
    assert_eq!(look.names(THREAD_V2), ["0", "1", "20", "30", "31", "40", "50", "_Total"]);
    for (one, other) in [(PROCESS, PROCESS_V2), (THREAD, THREAD_V2)] {
        assert_eq!(blocks(look.object(one)), blocks(look.object(other)));
        assert_eq!(look.object(one).clocks(), look.object(other).clocks());
    }
    assert_eq!(look.value(PROCESS_V2, "java:30", VOLUNTARY), Some(80));
    assert_eq!(look.value(PROCESS_V2, "Ä:7:50", 1412), None, "its io could not be read");
    let of = look.instance(THREAD_V2, "31");
    let (parent, process) = look.block().parent(&of).unwrap();
    assert_eq!(parent.name_index().0, PROCESS_V2);
    assert_eq!(InstanceName::to_text(process.name()), "java:30");

    // Another process called java ends: the names of the other processes stay.
    tree.remove("20");
    let look = machine.look(&all, &[]);
    assert_eq!(look.names(PROCESS_V2)[1], "java:30");
    let alone = machine.look(&[PROCESS], &[]);
    assert!(!alone.has(PROCESS_V2) && !alone.has(THREAD_V2));
}
