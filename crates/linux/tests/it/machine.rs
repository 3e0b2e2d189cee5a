//! Tests of processors in detail, load, pressure, memory by node, and sensors.

mod agreement;
mod damage;
mod memory;
mod processors;
mod real;
mod sensors;
mod warm;

use crate::common::{Look, Tree};
use perfhive_format::{CookOptions, CounterPlan, TitleIndex, cook_with};

const SYSTEM: u32 = 2;
const MEMORY: u32 = 4;
const CACHE: u32 = 86;
const PROCESS: u32 = 230;
const PROCESSOR: u32 = 238;
const OBJECTS: u32 = 260;
const INFORMATION: u32 = 100_200;
const PRESSURE: u32 = 100_400;
const NODE: u32 = 100_420;
const THERMAL: u32 = 100_500;
const IDLE_STATE: u32 = 100_540;
const ENERGY: u32 = 100_520;

fn nothing() -> Vec<String> {
    Vec::new()
}

/// A machine with two nodes and everything that these providers read.
pub(crate) fn full() -> Tree {
    let tree = Tree::machine();
    tree.file("sys/fs/file-nr", "789\t0\t2466170\n");
    tree.file("sys/fs/inode-nr", "132914\t12\n");
    tree.file("sys/fs/dentry-state", "213631\t212221\t45\t0\t71908\t0\n");
    tree.file(
        "softirqs",
        "                    CPU0       CPU1       \n          HI:         12          0\n       \
         TIMER:   22759101   11940767\n      NET_RX:          7    4294967295\n         \
         RCU:          1          2\n",
    );
    tree.file(
        "pressure/cpu",
        "some avg10=12.29 avg60=2.54 avg300=1.14 total=1760861444\n\
         full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    );
    tree.file("pressure/irq", "full avg10=0.01 avg60=100.00 avg300=0.65 total=65\n");
    for (node, cpus) in [(0, "0\n"), (1, "1\n")] {
        let path = |file: &str| format!("devices/system/node/node{node}/{file}");
        tree.sys(&path("cpulist"), cpus);
        tree.sys(
            &path("meminfo"),
            format!(
                "Node {node} MemTotal:       2097153 kB\nNode {node} MemFree:        {node}024 kB\n\
                 Node {node} MemUsed:            77 kB\nNode {node} Active:              5 kB\n\
                 Node {node} HugePages_Total:     3\nNode {node} HugePages_Free:      2\n"
            ),
        );
        tree.sys(
            &path("numastat"),
            format!(
                "numa_hit 10{node}\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 3\n\
                 local_node 4\nother_node 5\n"
            ),
        );
    }
    tree.sys("devices/system/node/possible", "0-1\n");
    tree
}

/// The value of a counter, of an instance or of an object without instances, cooked from one sample, or
/// from two if `before` is given.
fn cooked(
    before: Option<&Look>,
    after: &Look,
    object: u32,
    instance: Option<&str>,
    counter: u32,
) -> f64 {
    let sample = |look: &Look| {
        let object = look.object(object);
        let plans = CounterPlan::all(object);
        let plan = plans.iter().find(|plan| plan.name == TitleIndex(counter)).unwrap();
        let block = match instance {
            Some(name) => look.instance(object.name_index().0, name).counter_block(),
            None => object.counter_block().unwrap(),
        };
        (plan.counter_type, plan.sample(object, block).unwrap())
    };
    let (kind, now) = sample(after);
    let before = before.map(|look| sample(look).1);
    let options = CookOptions::default().with_same_instance(true);
    cook_with(kind, options, before.as_ref(), &now).unwrap().as_f64()
}

/// The title indexes of the counters that an object defines.
fn defined(look: &Look, object: u32) -> Vec<u32> {
    look.object(object).counters().map(|counter| counter.name_index().0).collect()
}
