//! The cost of a collection from a provider in Rust, and from a library in its host
//! process. Prints a table for BENCHMARKS.md.
//!
//! Both write the same object through a broker, with everything tested. They take turns,
//! so that a slow moment hits both alike; the median counts.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that fails may panic")]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("libraries are loaded on Linux only so far");
}

#[cfg(target_os = "linux")]
mod linux {
    use perfhive_contract::{Registration, Registrations};
    use perfhive_engine::{Ask, Broker, Numbering, Snapshot, Source as _};
    use perfhive_format::{
        CounterSpec, CounterType, InstanceHead, ObjectSpec, ObjectTemplate, TitleIndex,
    };
    use perfhive_libraries::{ExtensionRoster, HostCommand, Options};
    use perfhive_testkit::script::ScriptProvider;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    const OBJECT: TitleIndex = TitleIndex(50000);
    const ROUNDS: usize = 4000;
    const WARM_UP: usize = 500;
    const GOAL: f64 = 30.0;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    pub(crate) fn main() {
        let folder = std::env::temp_dir().join(format!("perfhive-bench-{}", std::process::id()));
        let folder = Folder(folder);
        std::fs::create_dir_all(&folder.0).unwrap();
        println!("\n`cargo xtask bench extension`\n");
        println!("| instances | bytes | in Rust | in its host process | the process more | goal |");
        println!("|---:|---:|---:|---:|---:|---|");
        for (instances, kind) in [(1, "has one"), (1000, "has a thousand")] {
            row(&folder.0, instances, kind);
        }
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: String = load.split(' ').take(1).collect();
        println!("\nMedian of {ROUNDS} turns each, through a broker; load average {load}.");
    }

    fn row(folder: &Path, instances: usize, kind: &str) {
        let mut brokers = [in_rust(instances), in_library(folder, kind)];
        let mut times: [Vec<Duration>; 2] = std::array::from_fn(|_| Vec::with_capacity(ROUNDS));
        let mut snapshot = Snapshot::new();
        let request = Ask::objects(&[OBJECT]);
        for round in 0..WARM_UP + ROUNDS {
            for (broker, times) in brokers.iter_mut().zip(&mut times) {
                let start = Instant::now();
                broker.collect(&request, &mut snapshot).unwrap();
                let took = start.elapsed();
                assert!(snapshot.faults().is_empty(), "{:?}", snapshot.faults());
                let object = snapshot.object(OBJECT).unwrap();
                assert_eq!(object.view().instances().count(), instances);
                if round >= WARM_UP {
                    times.push(took);
                }
            }
        }
        let micros = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        });
        let bytes = brokers[1].providers().next().unwrap().bytes;
        let [rust, process] = micros;
        let more = process - rust;
        let goal = match instances {
            1 if more <= GOAL => format!("<= {GOAL:.0} µs: met"),
            1 => format!("<= {GOAL:.0} µs: MISSED"),
            _ => String::new(),
        };
        println!(
            "| {instances} | {bytes} | {rust:.1} µs | {process:.1} µs | {more:.1} µs | {goal} |"
        );
    }

    /// As the one in zoo.c.
    fn in_rust(instances: usize) -> Broker {
        let counter =
            CounterSpec::new(TitleIndex(OBJECT.0 + 2), CounterType::PERF_COUNTER_RAWCOUNT);
        let spec = ObjectSpec::new(OBJECT).with_instances();
        let template = ObjectTemplate::new(&spec, &[counter]).unwrap();
        let names = [(OBJECT.0, "Zoo"), (OBJECT.0 + 2, "Value")];
        let provider = ScriptProvider::new("Zoo", Numbering::Windows, &names, move |_, out| {
            const NAMES: [&str; 4] = ["a", "b", "c", "d"];
            let mut object = out.object(&template)?;
            for place in 0..instances {
                let name = NAMES[place % NAMES.len()];
                object.instance(&InstanceHead::named(name), &[place as u64])?;
            }
            object.finish()?;
            Ok(())
        });
        Broker::builder("bench:", "HERE").provider(Arc::new(provider)).build()
    }

    fn in_library(folder: &Path, kind: &str) -> Broker {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let library = folder.join(format!("{kind}.so"));
        if !library.exists() {
            let status = Command::new("cc")
                .args(["-O2", "-w", "-shared", "-fPIC", "-I"])
                .arg(root.join("../contract/include"))
                .arg("-o")
                .args([&library, &root.join("tests/libraries/zoo.c")])
                .status()
                .expect("a C compiler: cc");
            assert!(status.success());
        }
        let mut registration = Registration::new("Zoo", library, "CollectZoo");
        registration.open = Some("OpenZoo".to_string());
        registration.close = Some("CloseZoo".to_string());
        registration.linkage = Some(kind.to_string());
        let mut registrations = Registrations::none();
        registrations.providers.push(registration);
        let mut news = Some(Arc::new(registrations));
        let options = Options::new().host(HostCommand::new(env!("CARGO_BIN_EXE_perfhive-host")));
        let roster = ExtensionRoster::new(move || news.take(), options);
        Broker::builder("bench:", "HERE").roster(roster).build()
    }
}
