//! The example in C that reaches other machines: connections are made inside Collect, kept,
//! tested on every request, lost and made again.

use crate::support::{Folder, Reader, broker, host, registration};
use perfhive_contract::Registration;
use perfhive_engine::{Ask, ObjectQuery, Snapshot};
use perfhive_format::TitleIndex;
use perfhive_libraries::{HostOptions, Severity, check};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

const LINK: TitleIndex = TitleIndex(50000);
const TANK: TitleIndex = TitleIndex(50004);

/// A machine that answers each request with a level, from 1 on, until it is dropped.
struct Machine {
    address: SocketAddr,
    connections: Arc<AtomicU32>,
    off: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Machine {
    fn start(address: &str, clocks: &'static str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, off) = (Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
        let (count, is_off) = (Arc::clone(&connections), Arc::clone(&off));
        let thread = thread::spawn(move || {
            let mut level = 0;
            while let Ok((stream, _)) = listener.accept() {
                if is_off.load(Ordering::SeqCst) {
                    break;
                }
                count.fetch_add(1, Ordering::SeqCst);
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                // Switched off, it does not answer any more.
                while lines.read_line(&mut line).is_ok_and(|length| length > 0)
                    && !is_off.load(Ordering::SeqCst)
                {
                    assert_eq!(line, "LEVEL\n");
                    line.clear();
                    level += 1;
                    (&stream).write_all(format!("{level} {clocks}\n").as_bytes()).unwrap();
                }
            }
        });
        Self { address, connections, off, thread: Some(thread) }
    }

    fn connections(&self) -> u32 {
        self.connections.load(Ordering::SeqCst)
    }

    /// Switches the machine off. Its thread ends with the next word or connection.
    fn switch_off(&mut self) -> JoinHandle<()> {
        self.off.store(true, Ordering::SeqCst);
        self.thread.take().unwrap()
    }
}

fn tanks(folder: &Folder, linkage: &str) -> Registration {
    let library = folder.compile("examples/c/tanks.c");
    let copy = folder.0.join(format!("tanks-{}.so", linkage.len()));
    std::fs::rename(library, &copy).unwrap();
    let mut registration = registration(&copy, linkage);
    registration.collect = "CollectTanks".to_string();
    registration.open = Some("OpenTanks".to_string());
    registration.close = Some("CloseTanks".to_string());
    registration
}

fn ask(reader: &mut Reader, machine: &str) -> Snapshot {
    let (snapshot, faults) = reader.collect(&Ask::new(ObjectQuery::Foreign(machine.to_string())));
    assert!(faults.is_empty(), "{faults:?}");
    snapshot
}

/// The value of an object with one counter.
fn value(snapshot: &Snapshot, object: TitleIndex) -> Option<u64> {
    let object = snapshot.object(object)?;
    let counter = object.view().counters().next().unwrap();
    Some(object.view().counter_block().unwrap().value(&counter).unwrap())
}

#[test]
fn connection_is_kept_lost_and_made_again() {
    let folder = Folder::new("remote");
    let mut mars = Machine::start("127.0.0.1:0", "4711 1000");
    let address = mars.address.to_string();
    let linkage = format!("MARS={address}");
    let mut reader = broker(tanks(&folder, &linkage), |options| options);
    // Open does not connect: it knows no machine's name.
    assert_eq!(ask(&mut reader, "VENUS").objects().count(), 0);
    assert_eq!(mars.connections(), 0);

    for level in 1..=3 {
        let snapshot = ask(&mut reader, "MARS");
        assert_eq!((value(&snapshot, LINK), value(&snapshot, TANK)), (Some(1), Some(level)));
        let tank = snapshot.object(TANK).unwrap();
        assert_eq!(tank.machine(), "MARS");
        let clocks = tank.frame().clocks();
        assert_eq!((clocks.perf_time, clocks.perf_freq), (4711, 1000), "its own clock");
        assert_eq!(mars.connections(), 1, "the connection is kept");
    }

    // Lost: a Status of 0, the last valid data, and a line in the log, once.
    let gone = mars.switch_off();
    for _ in 0..3 {
        let snapshot = ask(&mut reader, "MARS");
        assert_eq!((value(&snapshot, LINK), value(&snapshot, TANK)), (Some(0), Some(3)));
        assert_eq!(snapshot.object(TANK).unwrap().frame().clocks().perf_time, 4711);
    }
    gone.join().unwrap();
    let lost = "MARS is lost: its last data is given";
    assert_eq!(reader.logged(lost), 1, "{:?}", reader.lines());

    // Connected again at the next request. Without its clock the local one is used.
    let mars = Machine::start(&address, "");
    let snapshot = ask(&mut reader, "MARS");
    assert_eq!((value(&snapshot, LINK), value(&snapshot, TANK)), (Some(1), Some(1)));
    let clocks = snapshot.object(TANK).unwrap().frame().clocks();
    assert_eq!(clocks.perf_freq, 1_000_000_000);
    assert!(clocks.perf_time > 0 && clocks.time_100ns > 0);
    assert_eq!(mars.connections(), 1);
    // The machine ends with its last connection.
    drop(reader);
    let mut mars = mars;
    let thread = mars.switch_off();
    let _ = std::net::TcpStream::connect(mars.address);
    thread.join().unwrap();
}

/// A machine that was never reached has only a Status.
#[test]
fn machine_that_was_never_reached_has_only_a_status() {
    let folder = Folder::new("unreached");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut reader = broker(tanks(&folder, &format!("MARS={address}")), |options| options);
    let snapshot = ask(&mut reader, "MARS");
    assert_eq!((value(&snapshot, LINK), value(&snapshot, TANK)), (Some(0), None));
    assert_eq!(snapshot.object(LINK).unwrap().machine(), "MARS");
    // No object of it is local.
    let (local, _) = reader.collect(&Ask::new(ObjectQuery::Global));
    assert_eq!(local.objects().count(), 0);
}

#[test]
fn example_has_one_warning_in_check() {
    let folder = Folder::new("tanks-checked");
    let verdict = check(&tanks(&folder, "MARS=127.0.0.1:9"), &HostOptions::new().host(host()));
    let wrong: Vec<_> =
        verdict.findings.iter().filter(|one| one.severity != Severity::Good).collect();
    // It has no object of this machine.
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].message.contains("it offers nothing"), "{wrong:?}");
}
