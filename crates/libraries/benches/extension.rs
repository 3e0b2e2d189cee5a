//! The cost of a collection from a provider in Rust, and from a library in its host
//! process. Prints a table for BENCHMARKS.md.
//!
//! Both write the same object through a broker, with everything tested. A third turn hands a packet
//! to another process and back, and does nothing else: the time that the machine takes to wake two
//! processes differs by a factor of twenty from one machine to the next, and is not perfhive's. The
//! three take turns, so that a slow moment hits all of them alike; the median counts.
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
    use perfhive_libraries::{ExtensionRoster, HostCommand, HostOptions};
    use perfhive_testkit::script::ScriptProvider;
    use std::io::{Read as _, Write as _};
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    const OBJECT: TitleIndex = TitleIndex(50000);
    const ROUNDS: usize = 4000;
    const WARM_UP: usize = 500;
    /// The most microseconds that a collection of one instance from the host process should take
    /// beyond a collection in Rust and a bare exchange of packets together.
    const GOAL: f64 = 30.0;
    /// The argument of the process that hands packets back.
    const ECHO: &str = "--echo";
    /// A packet that is as long as a question to a host process.
    const NOTHING: [u8; 64] = [0; 64];

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A process that hands packets back.
    struct Echo {
        process: Child,
        socket: UnixStream,
    }

    impl Echo {
        fn start() -> Self {
            let (socket, theirs) = UnixStream::pair().unwrap();
            let mut command = Command::new(std::env::current_exe().unwrap());
            let process = command.arg(ECHO).stdin(OwnedFd::from(theirs)).spawn().unwrap();
            Self { process, socket }
        }

        /// The work of the process; it ends when its socket is closed.
        fn run() {
            let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
            let mut socket = UnixStream::from(socket);
            let mut packet = NOTHING;
            while socket.read_exact(&mut packet).is_ok() && socket.write_all(&packet).is_ok() {}
        }

        fn exchange(&mut self) {
            let mut packet = NOTHING;
            self.socket.write_all(&packet).unwrap();
            self.socket.read_exact(&mut packet).unwrap();
        }
    }

    impl Drop for Echo {
        fn drop(&mut self) {
            let _ = self.socket.shutdown(std::net::Shutdown::Both);
            let _ = self.process.wait();
        }
    }

    pub(crate) fn main() {
        if std::env::args().any(|arg| arg == ECHO) {
            return Echo::run();
        }
        let folder = std::env::temp_dir().join(format!("perfhive-bench-{}", std::process::id()));
        let folder = Folder(folder);
        std::fs::create_dir_all(&folder.0).unwrap();
        println!("\n`cargo xtask bench extension`\n");
        println!(
            "| instances | bytes | in Rust | in its host process | a bare exchange | the process more \
             than both | goal |"
        );
        println!("|---:|---:|---:|---:|---:|---:|---|");
        for (instances, kind) in [(1, "has one"), (1000, "has a thousand")] {
            row(&folder.0, instances, kind);
        }
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: String = load.split(' ').take(1).collect();
        println!("\nMedian of {ROUNDS} turns each, through a broker; load average {load}.");
    }

    /// Measures the three with this many instances, and prints a row of the table.
    fn row(folder: &Path, instances: usize, kind: &str) {
        let mut brokers = [in_rust(instances), in_library(folder, kind)];
        let mut echo = Echo::start();
        let mut times: [Vec<Duration>; 3] = std::array::from_fn(|_| Vec::with_capacity(ROUNDS));
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
            let start = Instant::now();
            echo.exchange();
            if round >= WARM_UP {
                times[2].push(start.elapsed());
            }
        }
        let micros = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        });
        let bytes = brokers[1].providers().next().unwrap().bytes;
        let [rust, process, bare] = micros;
        let more = process - rust - bare;
        let goal = match instances {
            1 if more <= GOAL => format!("<= {GOAL:.0} µs: met"),
            1 => format!("<= {GOAL:.0} µs: MISSED"),
            _ => String::new(),
        };
        println!(
            "| {instances} | {bytes} | {rust:.1} µs | {process:.1} µs | {bare:.1} µs | {more:.1} µs | {goal} |"
        );
    }

    /// A broker of a provider in Rust that writes the same object as the provider in zoo.c.
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

    /// A broker of the library zoo.c, compiled into `folder`; `kind` is the linkage.
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
        let options =
            HostOptions::new().host(HostCommand::new(env!("CARGO_BIN_EXE_perfhive-host")));
        let roster = ExtensionRoster::new(move || news.take(), options);
        Broker::builder("bench:", "HERE").roster(roster).build()
    }
}
