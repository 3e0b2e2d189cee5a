//! A text log of any size takes the memory of a small one. The only test of its program: what a process
//! had at most is one number.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_engine::{Ask, Snapshot, Source as _};
use perfhive_recording::open;
use std::io::{BufWriter, Write as _};

/// The most memory that the process had so far, in bytes.
fn most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn a_text_log_of_any_size_takes_constant_memory() {
    const COLUMNS: usize = 2000;
    let path =
        std::env::temp_dir().join(format!("perfhive-text-memory-{}.csv", std::process::id()));
    let write = |lines: u64| {
        let mut file = BufWriter::new(std::fs::File::create(&path).unwrap());
        let columns = (0..COLUMNS).map(|column| format!(r#","\\BOX\Process(p{column})\Value""#));
        writeln!(
            file,
            "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"{}\r",
            columns.collect::<String>()
        )
        .unwrap();
        let cells = ",\"99.961234567890002722\"".repeat(COLUMNS);
        for line in 0..lines {
            let (minute, second, part) = (line / 6000, line / 100 % 60, line % 100 * 10);
            let time = format!("\"08/14/2007 15:{minute:02}:{second:02}.{part:03}\"");
            writeln!(file, "{time}{cells}\r").unwrap();
        }
        file.into_inner().unwrap().metadata().unwrap().len()
    };
    let read = || {
        let mut source = open("file:log", std::slice::from_ref(&path), &[], None).unwrap();
        let mut snapshot = Snapshot::new();
        let mut samples = 0;
        while source.collect(&Ask::everything(), &mut snapshot).is_ok() {
            samples += 1;
        }
        assert_eq!(source.recording().unwrap().span().unwrap().samples, samples);
        samples
    };
    let small = write(50);
    assert_eq!(read(), 50);
    let before = most();
    let large = write(1000);
    assert_eq!(read(), 1000);
    let after = most();
    // UTF-16 is decoded piece by piece.
    let letters = write(250);
    let text = std::fs::read(&path).unwrap();
    let half = text.iter().flat_map(|byte| [*byte, 0]);
    std::fs::write(&path, [0xff, 0xfe].into_iter().chain(half).collect::<Vec<u8>>()).unwrap();
    drop(text);
    let before_utf16 = most();
    assert_eq!(read(), 250);
    let of_utf16 = most() - before_utf16;
    std::fs::remove_file(&path).unwrap();
    assert!(letters > 10_000_000, "{letters}");
    assert!(of_utf16 < 2 << 20, "{of_utf16} bytes more for {letters} letters of UTF-16");
    assert!(large > 40_000_000 && large - small > 40_000_000, "{large}");
    assert!(after - before < 2 << 20, "{} bytes more for {large}", after - before);
}
