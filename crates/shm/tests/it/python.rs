//! The manual's example in Python, written from the specification alone.

use crate::common::*;
use std::process::{Command, Stdio};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// Enough to overflow both parts of the tagged number.
#[test]
fn anchors_renewed_by_python_are_understood() {
    let folder = Folder::new();
    let program = "
import sys, publish
category = publish.Category('Python', '', [('Mean', '', publish.PERF_AVERAGE_BULK,
    publish.PERF_AVERAGE_BASE, 0)], slots=1)
one = category.instance('one')
for _ in range(100000):
    one.record('Mean', 2**28 + 7, 16)
print('>done', flush=True)
sys.stdin.read()
category.close()";
    let mut command = Command::new("python3");
    command.args(["-B", "-c", program]).env("PYTHONPATH", EXAMPLES);
    command.env("PERFHIVE_COUNTERS", folder.path());
    let Ok(child) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        eprintln!("no python3: its example is not tested");
        return;
    };
    let mut process = Process::of(child);
    process.line();
    let mut reader = Reader::new(&folder);
    let sum = 100_000 * ((1 << 28) + 7);
    assert_eq!(reader.rows("Python")[0].1, [Some((sum, Some(1_600_000)))]);
    process.finish();
}

#[test]
fn counters_published_by_python_are_read() {
    let script = &format!("{EXAMPLES}/publish.py");
    let folder = Folder::new();
    let mut command = Command::new("python3");
    command.args([script, "3001"]).env("PERFHIVE_COUNTERS", folder.path());
    let Ok(child) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        eprintln!("no python3: its example is not tested");
        return;
    };
    let mut process = Process::of(child);
    let mut reader = Reader::new(&folder);
    // While it counts, every pair is whole: the sum of even or odd numbers.
    while folder.files().is_empty() {
        assert!(process.is_running(), "it failed");
        std::thread::yield_now();
    }
    for _ in 0..200 {
        for (name, row) in reader.rows("Python Example") {
            let (value, base) = row[2].unwrap();
            let count = base.unwrap();
            if count < 1_000_000 {
                let sum =
                    if name == "even" { count.saturating_sub(1) * count } else { count * count };
                assert_eq!(value, sum, "{name}");
            }
        }
    }
    let path = process.line();
    assert_eq!(folder.files(), [std::path::PathBuf::from(path)]);
    let rows = reader.rows("Python Example");
    assert_eq!(reader.faults(), [""; 0]);
    let names: Vec<_> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["even", "odd – ungerade"]);
    let [even, odd] = [&rows[0].1, &rows[1].1];
    assert_eq!(even[..2], [Some((1501, None)), Some((1501, None))]);
    assert_eq!(odd[..2], [Some((1500, None)), Some((1500, None))]);
    assert_eq!(even[2], Some((1500 * 1501 + 1_000_000_000_000, Some(1_001_501))));
    assert_eq!(odd[2], Some((1500 * 1500, Some(1500))));
    let (nanoseconds, base) = even[3].unwrap();
    assert!(nanoseconds > 0 && base == Some(1501));
    process.finish();
    assert!(folder.files().is_empty());
    assert!(reader.rows("Python Example").is_empty());
}
