//! Collections of some processes instead of all processes.

use crate::common::{Look, Machine, Tree, stat};
use perfhive_engine::{Ask, Broker, Cached, InstanceWish, NamePattern, Query, Snapshot, Source};
use perfhive_format::{CounterPlan, TitleIndex};
use perfhive_linux::{LinuxClock, ProcRoot, providers};
use std::sync::Arc;

const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);
const PROCESS_V2: TitleIndex = TitleIndex(105_200);
const VOLUNTARY: TitleIndex = TitleIndex(105_010);

fn machine() -> Tree {
    let tree = Tree::machine();
    for (pid, name) in [(20, "java"), (30, "sh"), (40, "Java"), (50, "javac")] {
        tree.process(pid, name.as_bytes());
    }
    tree.file("40/stat", stat(40, b"Java", 1, 2));
    tree.thread(40, 41, b'S');
    tree
}

fn number(number: u32) -> InstanceWish {
    InstanceWish::Process(number)
}

fn named(pattern: &str) -> InstanceWish {
    InstanceWish::Named(Arc::new(NamePattern::with_wildcards(pattern)))
}

fn block(look: &Look, name: &str) -> Vec<u8> {
    look.instance(PROCESS.0, name).counter_block().as_bytes().to_vec()
}

#[test]
fn processes_of_numbers_and_names_have_the_values_of_a_whole_collection() {
    let tree = machine();
    let mut machine = Machine::new(&tree.root());
    let all = machine.look(&[PROCESS.0], &[]);
    let mut names = |wishes: &[InstanceWish]| {
        let ask = Ask::objects(&[PROCESS]);
        let ask = wishes.iter().fold(ask, |ask, wish| ask.with_instance(PROCESS, wish.clone()));
        let look = machine.look_with(&ask, &[PROCESS]);
        assert_eq!(look.fault_texts(), Vec::<String>::new());
        for name in look.names(PROCESS.0) {
            assert_eq!(block(&look, &name), block(&all, &name));
        }
        look.names(PROCESS.0)
    };
    assert_eq!(names(&[number(30)]), ["sh"]);
    assert_eq!(names(&[number(50), number(20), number(20)]), ["java", "javac"]);
    assert_eq!(names(&[number(7)]), [""; 0]);
    assert_eq!(names(&[named("java")]), ["java", "Java"], "names fold case");
    assert_eq!(names(&[named("ja*"), number(30)]), ["java", "sh", "Java", "javac"]);
    assert_eq!(names(&[named("nothing")]), [""; 0]);
    // The state kept for all processes is not disturbed.
    let again = machine.look(&[PROCESS.0], &[]);
    assert_eq!(block(&again, "_Total"), block(&all, "_Total"));
}

#[test]
fn threads_and_stable_names_come_with_the_wanted_processes() {
    let tree = machine();
    let mut machine = Machine::new(&tree.root());
    let mut ask = Ask::objects(&[THREAD]).with_instance(THREAD, number(40));
    ask.extra_counters.push((THREAD, VOLUNTARY));
    let look = machine.look_with(&ask, &[PROCESS, THREAD]);
    assert_eq!(
        (look.names(230), look.names(232)),
        (vec!["Java".into()], vec!["0".into(), "1".into()])
    );
    let second = look.instance(232, "1");
    assert_eq!(look.value_of(232, second, VOLUNTARY.0), Some(40));
    assert_eq!(look.block().parent(&second).unwrap().1.name().to_text(), "Java");
    let ask = Ask::objects(&[PROCESS_V2]).with_instance(PROCESS_V2, named("ja*"));
    let look = machine.look_with(&ask, &[PROCESS, PROCESS_V2]);
    assert_eq!(look.names(PROCESS_V2.0), ["java:20", "Java:40", "javac:50"]);
}

/// Working Set, IO Read Bytes/sec and % Processor Time.
const FROM_FILES: [(&str, u32); 3] = [("20/statm", 180), ("20/io", 1420), ("20/stat", 6)];

#[test]
fn files_without_a_wanted_counter_are_not_read() {
    let tree = machine();
    let mut machine = Machine::new(&tree.root());
    let one = Ask::objects(&[PROCESS]).with_instance(PROCESS, number(20));
    let whole = machine.look_with(&one, &[PROCESS]);
    let value = |look: &Look, counter| look.value(PROCESS.0, "java", counter);
    assert!(FROM_FILES.iter().all(|(_, counter)| value(&whole, *counter).is_some()));
    tree.file("20/statm", "damaged");
    tree.file("20/io", "damaged");
    for (file, counter) in FROM_FILES {
        let ask = one.clone().with_enough(PROCESS, TitleIndex(counter));
        let look = machine.look_with(&ask, &[PROCESS]);
        let faults = look.fault_texts().join(" ");
        for (other, _) in FROM_FILES.iter().take(2) {
            let name = other.strip_prefix("20/").unwrap();
            assert_eq!(
                faults.contains(&format!("{name}: not understood")),
                *other == file,
                "{faults}"
            );
        }
        assert_eq!(value(&look, 6), value(&whole, 6));
        assert_eq!((value(&look, 180), value(&look, 1420)), (None, None));
    }
    // Of an object with all instances every counter is filled.
    let all = Ask::objects(&[PROCESS]).with_enough(PROCESS, TitleIndex(6));
    let look = machine.look_with(&all, &[PROCESS]);
    assert!(look.value(PROCESS.0, "sh", 1420).is_some());
}

#[test]
fn an_answer_with_some_counters_in_a_cache_serves_no_ask_for_others() {
    let tree = machine();
    let mut first = Cached::new(broker(&tree));
    let mut second = first.clone();
    let mut snapshot = Snapshot::new();
    let one = Ask::objects(&[PROCESS]).with_instance(PROCESS, number(20));
    let some = one.clone().with_enough(PROCESS, TitleIndex(6));
    let mut value = |source: &mut Cached<Broker>, ask: &Ask, counter| {
        source.collect(ask, &mut snapshot).unwrap();
        let object = snapshot.object(PROCESS).unwrap().view();
        let place = object.counters().position(|c| c.name_index() == TitleIndex(counter)).unwrap();
        let plan = CounterPlan::new(object, place as u32).unwrap();
        plan.value(object.instances().next().unwrap().counter_block()).ok()
    };
    assert_eq!(value(&mut first, &some, 1420), None);
    assert!(value(&mut second, &one, 1420).is_some());
}

#[test]
fn objects_without_all_of_their_instances_say_so() {
    let tree = machine();
    let mut broker = broker(&tree);
    let mut snapshot = Snapshot::new();
    let mut partial = |ask: &Ask| {
        broker.collect(ask, &mut snapshot).unwrap();
        [PROCESS, THREAD, TitleIndex(2)].map(|object| snapshot.is_partial(object))
    };
    let one = Ask::objects(&[THREAD, TitleIndex(2)]).with_instance(THREAD, number(40));
    assert_eq!(partial(&one), [true, true, false]);
    assert_eq!(partial(&Ask::objects(&[THREAD])), [false; 3]);
    assert_eq!(partial(&Ask::everything()), [false; 3]);
    // An ask for all of one object and some of another gives all of both.
    let both = Ask::objects(&[THREAD, PROCESS]).with_instance(THREAD, number(40));
    assert_eq!(partial(&both), [false; 3]);
}

#[test]
fn this_process_alone_is_read_on_this_machine() {
    let mut machine = Machine::new(&ProcRoot::default());
    let ask = Ask::objects(&[PROCESS]).with_instance(PROCESS, number(std::process::id()));
    let look = machine.look_with(&ask, &[PROCESS]);
    assert_eq!(look.object(230).instance_count(), 1);
    let own = look.process(std::process::id()).unwrap();
    assert!(look.value_of(230, own, 180).unwrap() > 0);
    // The number of a further thread has files below `/proc`, too, but is of no process.
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let ask = Ask::objects(&[PROCESS]).with_instance(PROCESS, number(thread));
    let look = machine.look_with(&ask, &[PROCESS]);
    assert_eq!((look.names(230), look.fault_texts()), (vec![], vec![]));
    assert_ne!(thread, std::process::id());
}

/// A broker with the providers of a frozen machine.
fn broker(tree: &Tree) -> Broker {
    Broker::builder("local:", "machine")
        .clock(LinuxClock::of(&tree.root()))
        .providers(providers(&tree.root()))
        .build()
}

/// Readings as (path, value).
fn readings(query: &Query) -> Vec<(String, Option<f64>)> {
    let value = |reading: &perfhive_engine::Reading| Some(reading.value.as_ref().ok()?.as_f64());
    let readings = query.readings().iter();
    readings.map(|reading| (query.path_of(reading).to_string(), value(reading))).collect()
}

#[test]
fn a_query_of_some_processes_has_the_labels_and_values_of_all() {
    let tree = machine();
    tree.process(60, b"java");
    let read = |paths: &[&str]| {
        let mut query = Query::new(broker(&tree)).unwrap();
        for path in paths {
            query.add(path).unwrap();
        }
        query.collect().unwrap();
        readings(&query)
    };
    let id = |path: &str, value: f64| (path.to_string(), Some(value));
    assert_eq!(read(&[r"\Process(java#1)\ID Process"]), [id(r"\Process(java#1)\ID Process", 60.0)]);
    assert_eq!(
        read(&[r"\Process V2(java:60)\ID Process"]),
        [id(r"\Process V2(java:60)\ID Process", 60.0)]
    );
    let two = [r"\Thread(Java/1)\ID Thread", r"\Process(sh)\ID Process"];
    assert_eq!(read(&two), [id(two[0], 41.0), id(two[1], 30.0)]);
    // A total needs all processes.
    let mixed = [r"\Process(_Total)\Thread Count", r"\Process(sh)\Thread Count"];
    assert_eq!(read(&mixed), [id(mixed[0], 8.0), id(mixed[1], 1.0)]);
}

#[test]
fn threads_are_labelled_anew_when_their_process_has_another_name() {
    let tree = Tree::machine();
    tree.process(20, b"sh");
    let mut query = Query::new(broker(&tree)).unwrap();
    query.add(r"\Thread(*/0)\ID Thread").unwrap();
    let mut labels = || {
        query.collect().unwrap();
        let labels = query.readings().iter().filter_map(|reading| reading.instance.clone());
        labels.map(|label| label.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(labels(), "Idle/0 sh/0");
    assert_eq!(labels(), "Idle/0 sh/0");
    // The thread is still written: the name in the ask is that of the process alone.
    tree.process(20, b"ls");
    assert_eq!(labels(), "Idle/0 ls/0");
}

#[test]
fn names_to_suggest_are_those_of_all_processes() {
    let tree = machine();
    let mut query = Query::new(broker(&tree)).unwrap();
    query.add(r"\Process(javva)\ID Process").unwrap();
    query.collect().unwrap();
    let [missing] = query.readings() else { panic!("{:?}", query.readings()) };
    assert!(matches!(missing.value, Err(perfhive_engine::NoValue::NoSuchInstance)));
    assert!(query.instance_names(missing).contains(&"javac".to_string()));
    // A process with the missing name starts.
    tree.process(70, b"javva");
    query.collect().unwrap();
    assert_eq!(readings(&query), [(r"\Process(javva)\ID Process".to_string(), Some(70.0))]);
}

#[test]
fn a_partial_answer_in_a_cache_does_not_serve_an_ask_for_all() {
    let tree = machine();
    let mut one = Cached::new(broker(&tree));
    let mut other = one.clone();
    let mut snapshot = Snapshot::new();
    let mut names = |cache: &mut Cached<Broker>, ask: &Ask| {
        cache.collect(ask, &mut snapshot).unwrap();
        let object = snapshot.object(PROCESS).unwrap();
        let names = object.view().instances().map(|instance| instance.name().to_text());
        (names.collect::<Vec<_>>().join(" "), snapshot.is_partial(PROCESS))
    };
    let all = "Idle java sh Java javac _Total".to_string();
    let whole = Ask::objects(&[PROCESS]);
    let sh = whole.clone().with_instance(PROCESS, number(30));
    assert_eq!(names(&mut one, &sh), ("sh".to_string(), true));
    assert_eq!(names(&mut other, &whole), (all.clone(), false), "not what was kept of one");
    // A kept answer about all processes serves an ask for one.
    assert_eq!(names(&mut one, &sh), (all, false));
    let java = whole.with_instance(PROCESS, number(20));
    assert_eq!(names(&mut one, &java), ("java".to_string(), true));
    assert_eq!(names(&mut one, &sh), ("sh".to_string(), true));
}

#[test]
fn the_largest_readings_leave_out_sums_and_idle_time() {
    let tree = machine();
    tree.file("20/statm", "2000 700 100 10 0 300 0\n");
    tree.file("50/statm", "2000 900 100 10 0 300 0\n");
    tree.process(60, b"Idle");
    tree.remove("60/statm");
    let mut query = Query::new(broker(&tree)).unwrap();
    let id = query.add(r"\Process(*)\Working Set").unwrap();
    query.collect().unwrap();
    let labels = |count| {
        let top = query.top(id, count).into_iter();
        let label = |reading: &perfhive_engine::Reading| {
            (reading.instance.as_ref().unwrap().plain(), reading.process_id().unwrap())
        };
        top.map(label).collect::<Vec<_>>()
    };
    let largest = [("javac".to_string(), 50), ("java".to_string(), 20)];
    assert_eq!(labels(2), largest);
    // The instance without a value is not listed.
    assert_eq!(labels(10).len(), 4);
    let role = |name: &str| {
        let mut readings = query.readings().iter();
        readings.find(|r| r.instance.as_ref().unwrap().plain() == name).unwrap().role()
    };
    assert_eq!(role("_Total"), perfhive_engine::InstanceRole::Total);
    assert_eq!(role("Idle"), perfhive_engine::InstanceRole::Idle);
    assert_eq!(role("sh"), perfhive_engine::InstanceRole::Single);
    assert_eq!(role("Idle (60)"), perfhive_engine::InstanceRole::Single);
}
