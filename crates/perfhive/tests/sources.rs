//! Every source that an address opens keeps the rules of a source, and real
//! recordings give the values that others computed from them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::{OpenOptions, Query, SourceErrorKind, open};
use perfhive_testkit::{conformance, real};
use std::path::PathBuf;

fn vista() -> Option<(String, PathBuf)> {
    let root = real::root()?;
    let file = |n: u32| root.join(format!("windows-vista/s{n:02}_global.bin"));
    let address = format!("file:{},{},{}", file(0).display(), file(1).display(), file(2).display());
    Some((address, root.join("titles/vista_009_from_pal_SampleLog.txt")))
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_is_a_source() {
    conformance::source(|| open("local:").unwrap());
}

/// `proc:` and `bpf:`, which read this machine's processes in two ways, both keep the rules
/// of a source; `bpf:` does so through a cache too.
#[cfg(target_os = "linux")]
#[test]
fn this_machine_with_either_reader_is_a_source() {
    conformance::source(|| open("proc:").unwrap());
    match open("bpf:") {
        Ok(_) => {
            conformance::source(|| open("bpf:").unwrap());
            conformance::source(|| Box::new(perfhive::Cached::new(open("bpf:").unwrap())));
        }
        Err(error) => {
            assert_eq!(error.kind(), SourceErrorKind::Unavailable);
            let message = error.to_string();
            assert!(message.starts_with("bpf: "), "{message}");
            eprintln!("BPF cannot be used here: {message}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_copy_of_a_machine_is_a_source() {
    let folder = std::env::temp_dir().join(format!("perfhive-copy-{}", std::process::id()));
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("proc/stat", "cpu 4 0 0 8\ncpu0 4 0 0 8\nctxt 7\n");
    write("proc/loadavg", "0.5 0.4 0.3 1/5 9\n");
    let address = format!("proc:{}", folder.display());
    let mut source = open(&address).unwrap();
    assert_eq!(source.name(), address);
    assert!(
        source
            .catalogue(&perfhive::Ask::everything())
            .unwrap()
            .machine
            .starts_with("perfhive-copy-")
    );
    write("proc/sys/kernel/hostname", "copied\n");
    assert_eq!(
        open(&address).unwrap().catalogue(&perfhive::Ask::everything()).unwrap().machine,
        "copied"
    );
    let mut query = Query::new(open(&address).unwrap()).unwrap();
    let id = query.add(r"\Process(Idle)\Thread Count").unwrap();
    query.collect().unwrap();
    let value = query.readings_of(id).next().unwrap().value.as_ref().unwrap().to_string();
    assert_eq!(value, "1");
    conformance::source(|| open(&address).unwrap());
    conformance::source(|| Box::new(perfhive::Cached::new(open(&address).unwrap())));
    std::fs::remove_dir_all(&folder).unwrap();
    let message = open(&address).err().unwrap().to_string();
    assert!(message.contains("is not a folder; proc:FOLDER is a copy of a machine"), "{message}");
    std::fs::create_dir(&folder).unwrap();
    let message = open(&address).err().unwrap().to_string();
    assert!(message.contains("has no folder proc; proc:FOLDER is"), "{message}");
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn recordings_are_a_source() {
    let Some((address, titles)) = vista() else { return };
    conformance::source(|| OpenOptions::new().titles(&titles).open(&address).unwrap());
    // Without titles too: they are then known by their indexes.
    conformance::source(|| open(&address).unwrap());
}

#[test]
fn samba_blocks_are_a_source() {
    let Some(root) = real::root() else { return };
    let address = format!(
        "file:{},{}",
        root.join("samba/sample_t0.bin").display(),
        root.join("samba/sample_t1.bin").display()
    );
    let titles = root.join("samba/Counter_009.bin");
    conformance::source(|| OpenOptions::new().titles(&titles).open(&address).unwrap());
}

#[test]
fn a_real_recording_gives_the_known_values() {
    let Some((address, titles)) = vista() else { return };
    let source = OpenOptions::new().titles(titles).open(&address).unwrap();
    let mut query = Query::new(source).unwrap();
    // Value at sample 1, computed independently from the same raw data.
    let known = [
        (r"\System\File Read Operations/sec", 241.525_867_351_006_07),
        (r"\System\Processes", 50.0),
        (r"\System\System Up Time", 2_062.115_783_1),
        (r"\Memory\Available Bytes", 113_057_792.0),
        (r"\Memory\% Committed Bytes In Use", 42.143_595_908_399_26),
        (r"\Process(Idle)\% Processor Time", 17.851_886_844_677_406),
        (r"\PhysicalDisk(0 C:)\% Disk Read Time", 25.638_583_390_958_598),
        (r"\PhysicalDisk(0 C:)\Avg. Disk sec/Transfer", 0.008_170_940_934_075_234),
        (r"\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read", 16_351.286_004_056_796),
        (r"\Processor(_Total)\% Processor Time", 82.148_113_155_322_59),
    ];
    let ids: Vec<_> = known.iter().map(|(path, _)| query.add(path).unwrap()).collect();
    assert_eq!(query.samples_needed(), 2);
    query.collect().unwrap();
    query.collect().unwrap();
    for ((path, expected), id) in known.iter().zip(ids) {
        let reading = query.readings_of(id).next().unwrap();
        let value = reading.value.as_ref().unwrap_or_else(|why| panic!("{path}: {why}"));
        let error = (value.as_f64() - expected).abs();
        assert!(error <= 1e-12 * expected.abs(), "{path}: {value}, expected {expected}");
    }
}

/// The log's duplicates: when one `svchost` exits, the numbers of the others
/// shift, and a reader that goes by '#n' computes nonsense (edge case 7).
#[test]
fn no_value_crosses_identities_in_a_real_recording() {
    let Some((address, titles)) = vista() else { return };
    let source = OpenOptions::new().titles(titles).open(&address).unwrap();
    let mut query = Query::new(source).unwrap();
    for counter in ["% Processor Time", "Page Faults/sec", "IO Read Bytes/sec"] {
        query.add(&format!(r"\Process(*)\{counter}")).unwrap();
    }
    let mut values = 0;
    while query.collect().is_ok() {
        for reading in query.readings() {
            let total = reading.instance.as_ref().is_some_and(|i| i.name == "_Total");
            match &reading.value {
                Ok(_) => values += 1,
                Err(why) if total => {
                    assert!(["needs-two-samples", "went-backwards"].contains(&why.code()), "{why}")
                }
                Err(why) => assert!(
                    ["needs-two-samples", "born", "vanished"].contains(&why.code()),
                    "{:?}: {why}",
                    reading.instance
                ),
            }
        }
    }
    assert!(values > 200, "{values}");
}

#[test]
fn bad_files_are_told_apart() {
    let directory = std::env::temp_dir();
    let unique = format!("perfhive-sources-{}", std::process::id());
    let empty = directory.join(format!("{unique}-empty"));
    let garbage = directory.join(format!("{unique}-garbage"));
    std::fs::write(&empty, b"").unwrap();
    std::fs::write(&garbage, [0x05; 200]).unwrap();
    let fails = |path: &std::path::Path| {
        let error = open(&format!("file:{}", path.display())).err().unwrap();
        (error.kind(), error.to_string())
    };
    let (kind, message) = fails(&empty);
    assert_eq!(kind, SourceErrorKind::Malformed);
    assert!(message.contains("empty"), "{message}");
    let (kind, message) = fails(&garbage);
    assert_eq!(kind, SourceErrorKind::Malformed);
    assert!(message.contains("no PERF signature"), "{message}");
    let (kind, message) = fails(&directory);
    assert_eq!(kind, SourceErrorKind::Unavailable);
    assert!(message.contains("directory"), "{message}");
    let (kind, message) = fails(&directory.join(format!("{unique}-absent")));
    assert_eq!(kind, SourceErrorKind::Unavailable);
    assert!(message.contains("no such file"), "{message}");
    std::fs::remove_file(empty).unwrap();
    std::fs::remove_file(garbage).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_gives_values() {
    let mut query = Query::new(open("local:").unwrap()).unwrap();
    query.add(r"\Memory\Available Bytes").unwrap();
    query.add(r"\Processor(_Total)\% Processor Time").unwrap();
    let own = format!("{}", std::process::id());
    query.add(r"\Process(*)\ID Process").unwrap();
    query.collect().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    query.collect().unwrap();
    let value = |n: usize| query.readings()[n].value.as_ref().map(|v| v.as_f64());
    assert!(value(0).unwrap() > 1e6);
    let percent = value(1).unwrap();
    // The kernel counts in ticks of 10 ms: one more or less is 2 % here.
    assert!((-5.0..=105.0).contains(&percent), "{percent}");
    let found =
        query.readings().iter().any(|r| r.value.as_ref().is_ok_and(|v| v.to_string() == own));
    assert!(found, "this process is in the list");
    match query.add(r"\Memry\Available Bytes") {
        Err(perfhive::QueryError::UnknownObject { nearest, .. }) => {
            assert_eq!(nearest[0], "Memory")
        }
        other => panic!("{other:?}"),
    }
}
