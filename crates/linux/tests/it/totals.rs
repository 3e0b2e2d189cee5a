//! `_Total` of Process and Thread while processes cannot be read for a while.

use crate::common::{Machine, Tree, stat, units};

const PROCESS: u32 = 230;
const THREAD: u32 = 232;
const READS: u32 = 1412;
const SWITCHES: u32 = 146;
const USER: u32 = 142;

/// The values of `_Total`: reads and user time of Process, context switches of Thread.
fn totals(machine: &mut Machine) -> [Option<u64>; 3] {
    let look = machine.look(&[PROCESS, THREAD], &[(THREAD, SWITCHES)]);
    [(PROCESS, READS), (PROCESS, USER), (THREAD, SWITCHES)]
        .map(|(object, counter)| look.value(object, "_Total", counter))
}

fn io(tree: &Tree, pid: u32, reads: u32) {
    let text =
        format!("rchar: 0\nwchar: 0\nsyscr: {reads}\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n");
    tree.file(&format!("{pid}/io"), text);
}

#[test]
fn a_process_that_cannot_be_read_for_a_while_stays_in_the_totals() {
    let tree = Tree::machine();
    tree.process(7, b"low");
    tree.process(8, b"middle");
    tree.process(9, b"high");
    tree.thread(8, 18, b'S');
    tree.file("8/stat", stat(8, b"middle", 1, 2));
    let [low, middle, high] = [7, 8, 9].map(|pid| units(pid).unwrap());
    let mut machine = Machine::new(&tree.root());
    let whole = [Some(90), Some(low + middle + high), Some(4 * 42)];
    assert_eq!(totals(&mut machine), whole);
    io(&tree, 9, 50);
    let more = [Some(110), whole[1], whole[2]];
    for bad in ["", "8 (middle) S\n", "no process\n"] {
        tree.file("8/stat", bad);
        assert_eq!(totals(&mut machine), more, "{bad:?}");
        // The highest number is the last of all.
        tree.file("9/stat", bad);
        assert_eq!(totals(&mut machine), more, "{bad:?}");
        tree.file("8/stat", stat(8, b"middle", 1, 2));
        tree.file("9/stat", stat(9, b"high", 1, 1));
        assert_eq!(totals(&mut machine), more, "{bad:?}");
    }
    // One that ends in the meantime keeps its counts, too.
    tree.file("8/stat", "");
    assert_eq!(totals(&mut machine), more);
    tree.remove("8");
    assert_eq!(totals(&mut machine), more);
}

#[test]
fn threads_that_cannot_be_read_for_a_while_stay_in_the_total() {
    let tree = Tree::machine();
    tree.process(8, b"both");
    tree.process(9, b"other");
    tree.thread(8, 18, b'S');
    tree.file("8/stat", stat(8, b"both", 1, 2));
    let mut machine = Machine::new(&tree.root());
    let whole = totals(&mut machine);
    assert_eq!(whole[2], Some(3 * 42));
    let good = std::fs::read(tree.path().join("proc/8/task/18/stat")).unwrap();
    tree.file("8/task/18/stat", "no thread\n");
    assert_eq!(totals(&mut machine), whole);
    tree.file("8/task/18/stat", &good);
    assert_eq!(totals(&mut machine), whole);
    // The counter alone is missing.
    let good = std::fs::read(tree.path().join("proc/8/task/18/status")).unwrap();
    tree.remove("8/task/18/status");
    assert_eq!(totals(&mut machine), whole);
    tree.file("8/task/18/status", &good);
    assert_eq!(totals(&mut machine), whole);
    // The list of threads cannot be read.
    let [task, aside] = ["proc/8/task", "proc/aside"].map(|path| tree.path().join(path));
    std::fs::rename(&task, &aside).unwrap();
    tree.file("8/task", "");
    assert_eq!(totals(&mut machine), whole);
    tree.remove("8/task");
    std::fs::rename(&aside, &task).unwrap();
    assert_eq!(totals(&mut machine), whole);
}

#[test]
fn io_that_cannot_be_read_for_a_while_stays_in_the_total() {
    let tree = Tree::machine();
    tree.process(7, b"one");
    tree.process(8, b"other");
    io(&tree, 8, 5000);
    let mut machine = Machine::new(&tree.root());
    assert_eq!(totals(&mut machine)[0], Some(5030));
    io(&tree, 7, 40);
    tree.file("8/io", "nothing\n");
    assert_eq!(totals(&mut machine)[0], Some(5040));
    io(&tree, 8, 5001);
    assert_eq!(totals(&mut machine)[0], Some(5041));
}

#[test]
fn kernel_sums_are_those_of_the_processes_only_where_process_2_is_a_kernel_thread() {
    const KERNEL_THREAD: &str = "2129984";
    for (flags, unseen) in [("4194560", 0), (KERNEL_THREAD, 200)] {
        let tree = Tree::machine();
        // Without a parent: a kernel thread, or a process that came into a namespace from outside.
        let text = String::from_utf8(stat(2, b"two", 0, 1)).unwrap();
        tree.process(2, b"two");
        tree.file("2/stat", text.replace("4194560", flags));
        tree.process(7, b"ends");
        let mut machine = Machine::new(&tree.root());
        let before = totals(&mut machine)[1].unwrap();
        tree.remove("7");
        let system = std::fs::read_to_string(tree.path().join("proc/stat")).unwrap();
        tree.file("stat", system.replace("cpu0 100", "cpu0 300").replace("cpu  300", "cpu  500"));
        let after = totals(&mut machine)[1].unwrap();
        assert_eq!(Some(after - before), units(unseen), "{flags}");
    }
}

#[test]
fn counts_of_ended_threads_are_added_to_no_other_counter() {
    const VOLUNTARY: u32 = 105_010;
    let tree = Tree::machine();
    tree.process(8, b"both");
    tree.thread(8, 18, b'S');
    tree.file("8/stat", stat(8, b"both", 1, 2));
    let mut machine = Machine::new(&tree.root());
    let mut total = |counter| {
        let look = machine.look(&[PROCESS, THREAD], &[(THREAD, counter)]);
        look.value(THREAD, "_Total", counter)
    };
    assert_eq!(total(SWITCHES), Some(2 * 42));
    tree.remove("8/task/18");
    assert_eq!(total(SWITCHES), Some(2 * 42));
    assert_eq!(total(VOLUNTARY), Some(40));
}
