//! What a sample of this machine takes is told with it, whatever comes and goes and on
//! whichever thread: through all that `local:` is made of.
#![cfg(all(target_os = "linux", target_endian = "little"))]
#![allow(clippy::unwrap_used)]

use perfhive::CounterType;
use perfhive::measure::{
    self, Anomaly, MeasurementContext, MeasurementOptions, Readings, Selection,
};
use perfhive::publish::{Category, CounterDefinition};
use perfhive_testkit::alloc::{Counting, count};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FOLDER: &str = "PERFHIVE_COUNTERS";

/// A child that waits, ended with the test.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn publish(name: &str, folder: &Path) -> Category {
    let counter = CounterDefinition::new("Visitors", CounterType::PERF_COUNTER_RAWCOUNT);
    Category::builder(name).counter(counter).folder(folder).publish().unwrap()
}

/// Samples; what it took, unless it says that it took something.
fn untold(context: &mut MeasurementContext) -> u64 {
    let (done, taken) = count(|| context.sample().map(|_| ()));
    done.unwrap();
    let anomalies = &context.record().unwrap().anomalies;
    let grown = anomalies.iter().any(|what| matches!(what, Anomaly::BufferGrown { .. }));
    if grown { 0 } else { taken.count }
}

fn cycle(context: &mut MeasurementContext) -> u64 {
    context.prepare().unwrap();
    let untold = untold(context);
    context.decode(&mut Readings::new()).unwrap();
    untold
}

fn contexts() -> Vec<MeasurementContext> {
    let mut sources = measure::open(&["local:"]).unwrap();
    let names = [
        &["Process/Working Set#*", "Memory/Available Bytes"][..],
        &["Stays/Visitors"],
        &["Process Address Space/Mapped Space Exec Read Only#*"],
    ];
    let mut contexts = Vec::new();
    for names in names {
        let names = names.iter().map(|name| format!("linux.procfs/{name}").parse().unwrap());
        let names: Vec<_> = names.collect();
        contexts.push(MeasurementContext::new(&mut sources, &names).unwrap());
    }
    let (all, options) = (Selection::Global, MeasurementOptions::new());
    let global = MeasurementContext::of_selection(&mut sources, "linux.procfs", &all, options);
    contexts.push(global.unwrap());
    contexts
}

/// The variable is looked at when a source is opened, so this test runs in a
/// process that has it.
#[test]
fn whatever_comes_and_goes() {
    const TEST: &str = "whatever_comes_and_goes";
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        let folder = std::env::temp_dir().join(format!("perfhive-told-{}", std::process::id()));
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env(FOLDER, &folder)
            .output()
            .unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    };
    let stays = publish("Stays", &folder);
    let mut contexts = contexts();
    let (mut children, mut published) = (Vec::new(), Vec::new());
    for step in 0..12u32 {
        // All are ready before something happens, and each sees it first once.
        contexts.iter_mut().for_each(|context| context.prepare().unwrap());
        match step % 6 {
            0 => children.extend((0..3).map(|_| Sleeper::new())),
            1 => published.push(publish(&format!("Comes {step}"), &folder)),
            2 => children.truncate(1),
            3 => drop(published.pop()),
            4 => stays.counter("Visitors").unwrap().set(u64::from(step)),
            _ => {}
        }
        contexts.rotate_left(1);
        for (place, context) in contexts.iter_mut().enumerate() {
            assert_eq!(untold(context), 0, "step {step}, context {place}");
        }
        for context in &mut contexts {
            context.decode(&mut Readings::new()).unwrap();
        }
    }
    // On threads that are new, together.
    contexts.iter_mut().for_each(|context| context.prepare().unwrap());
    let taken: Vec<u64> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for context in &mut contexts {
            threads.push(scope.spawn(|| {
                let first = untold(context);
                context.decode(&mut Readings::new()).unwrap();
                first + (0..5).map(|_| cycle(context)).sum::<u64>()
            }));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(taken, [0; 4]);
}
