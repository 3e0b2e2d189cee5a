//! Collections of some processes through BPF.

use super::{ALL, Children, instances, machine, refused};
use crate::common::{Look, wait_for_sleep};
use perfhive_engine::{Ask, InstanceWish, NamePattern};
use perfhive_format::TitleIndex;
use perfhive_linux::ReaderChoice;
use std::sync::Arc;

const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);

fn ask(wishes: &[InstanceWish]) -> Ask {
    let mut ask = Ask::objects(&[PROCESS, THREAD]);
    ask.extra_counters = ALL.iter().map(|(o, c)| (TitleIndex(*o), TitleIndex(*c))).collect();
    let of_both = wishes.iter().flat_map(|wish| [(PROCESS, wish.clone()), (THREAD, wish.clone())]);
    ask.instances.extend(of_both);
    ask
}

#[test]
fn chosen_processes_have_the_values_of_a_whole_collection() {
    if refused() {
        return;
    }
    let mut children = Children(Vec::new());
    let pids = [0; 3].map(|_| children.spawn("sleep", &["600"]));
    pids.iter().for_each(|pid| wait_for_sleep(*pid, "sleep"));
    let number = InstanceWish::Process;
    let named = |name| InstanceWish::Named(Arc::new(NamePattern::with_wildcards(name)));
    let mut bpf = machine(ReaderChoice::Bpf);
    let of = |look: &Look, object: u32| {
        let all = instances(look, object).into_iter();
        all.map(|(id, (name, _, values))| (id, (name, values)))
            .filter(|(id, _)| pids.map(u64::from).contains(&id.0))
            .collect::<Vec<_>>()
    };
    let all = bpf.look(&[PROCESS.0, THREAD.0], ALL);
    let all = [of(&all, 230), of(&all, 232)];
    assert_eq!(all.each_ref().map(Vec::len), [3, 3]);
    for (wishes, places) in [
        (vec![number(pids[1])], 1..2),
        (vec![number(pids[2]), number(pids[0]), number(pids[1])], 0..3),
        (vec![named("SLEEP")], 0..3),
        (vec![named("sle*"), number(pids[1]), number(1)], 0..3),
        (vec![number(std::process::id())], 0..0),
        // More than the kernel's side has room for.
        ((1..200).map(number).chain(pids.map(number)).collect(), 0..3),
    ] {
        // What the collection before read does not matter.
        for _ in 0..2 {
            let look = bpf.look_with(&ask(&wishes), &[PROCESS, THREAD]);
            assert_eq!(look.fault_texts(), Vec::<String>::new());
            for (object, all) in [230, 232].into_iter().zip(&all) {
                assert_eq!(of(&look, object), all[places.clone()], "{wishes:?}");
            }
            assert!(!look.names(230).iter().any(|name| name == "_Total"));
        }
    }
    let names = |wish| bpf_names(&ask(&[wish]));
    assert_eq!(names(named("kthreadd")), ["kthreadd"]);
    assert_eq!(names(number(1)).len(), 1);
    // A kernel worker's work is a part of its name.
    let workers = names(named("kworker/*"));
    assert!(!workers.is_empty() && workers.iter().all(|name| name.starts_with("kworker/")));
    assert_eq!(names(named("kworker/R-rcu_gp")), ["kworker/R-rcu_gp"]);
    // A thread's number is of no process.
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    assert!(thread == std::process::id() || names(number(thread)).is_empty());
}

fn bpf_names(ask: &Ask) -> Vec<String> {
    machine(ReaderChoice::Bpf).look_with(ask, &[PROCESS, THREAD]).names(PROCESS.0)
}
