//! Disks of this machine, compared with the system's tools.

use crate::common::{Look, Machine};
use perfhive_engine::{Ask, ObjectQuery};
use perfhive_format::TitleIndex;
use perfhive_linux::ProcRoot;
use perfhive_testkit::alloc::count;
use rustix::fs::{OFlags, major, minor};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

const PHYSICAL: u32 = 234;
const LOGICAL: u32 = 236;
const PAGING: u32 = 700;
const ALL: [u32; 3] = [PHYSICAL, LOGICAL, PAGING];
const CHUNK: usize = 1 << 20;
const CHUNKS: usize = 24;
const BYTES: u64 = (CHUNK * CHUNKS) as u64;

/// The output of a tool in the C locale; `None` where it is not installed.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        _ => {
            eprintln!("{program} cannot be used here: nothing to compare with");
            None
        }
    }
}

/// The numbers of each device in `diskstats`, by name, behind the device's number.
fn diskstats() -> BTreeMap<String, ((u32, u32), Vec<u64>)> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap();
    let line = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let device = (number(0) as u32, number(1) as u32);
        (words[2].to_string(), (device, (3..words.len()).map(number).collect()))
    };
    text.lines().map(line).collect()
}

/// A file on a real device, which is removed when this is dropped.
struct Probe {
    path: PathBuf,
    /// The name of the device on which the file lies.
    device: String,
    /// The name of the disk to which the device belongs.
    disk: String,
    mount: String,
}

impl Probe {
    fn new(name: &str) -> Option<Self> {
        let folders = [std::env::temp_dir(), PathBuf::from(env!("CARGO_TARGET_TMPDIR"))];
        let probe = folders.iter().find_map(|folder| Self::below(folder, name));
        if probe.is_none() {
            eprintln!("no folder on a block device here: nothing to write to");
        }
        probe
    }

    fn below(folder: &Path, name: &str) -> Option<Self> {
        let dev = std::fs::metadata(folder).ok()?.dev();
        let number = (major(dev), minor(dev));
        let stats = diskstats();
        let (device, _) = stats.iter().find(|(_, (known, _))| *known == number)?;
        let look = Look::at(&ProcRoot::default(), &[PHYSICAL, LOGICAL], &[]);
        // The name of the partition begins with that of its disk.
        let disks = look.names(PHYSICAL).into_iter();
        let disk = disks.filter(|disk| device.starts_with(disk.as_str())).max()?;
        let text = said("df", &["--output=target", folder.to_str()?])?;
        let mount = text.lines().last()?.to_string();
        look.names(LOGICAL).contains(&mount).then_some(())?;
        let path = folder.join(format!("perfhive-disk-{name}-{}", std::process::id()));
        Some(Self { path, device: device.clone(), disk, mount })
    }

    fn open(&self) -> std::fs::File {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.custom_flags(OFlags::DIRECT.bits() as i32);
        options.open(&self.path).unwrap()
    }

    /// Writes the file to the device, past the cache.
    fn write(&self) {
        let mut buffer = vec![0x5a; CHUNK + 4096];
        let start = buffer.as_ptr().align_offset(4096);
        let mut file = self.open();
        for number in 0..CHUNKS {
            buffer[start] = number as u8;
            file.write_all(&buffer[start..start + CHUNK]).unwrap();
        }
        file.sync_all().unwrap();
    }

    /// Reads the file from the device, past the cache.
    fn read(&self) {
        let mut buffer = vec![0; CHUNK + 4096];
        let start = buffer.as_ptr().align_offset(4096);
        let mut file = self.open();
        for number in 0..CHUNKS {
            file.read_exact(&mut buffer[start..start + CHUNK]).unwrap();
            assert_eq!(buffer[start], number as u8);
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[test]
fn values_lie_between_readings_before_and_after() {
    let mut machine = Machine::new(&ProcRoot::default());
    for _ in 0..3 {
        let before = diskstats();
        let look = machine.look(&ALL, &[]);
        let after = diskstats();
        assert_eq!(look.fault_texts(), Vec::<String>::new());
        for name in look.names(PHYSICAL).iter().filter(|name| *name != "_Total") {
            // The device appeared or vanished between the two readings.
            let (Some((_, before)), Some((_, after))) = (before.get(name), after.get(name)) else {
                continue;
            };
            for (counter, field, unit) in [
                (220, 2, 512),
                (222, 6, 512),
                (208, 3, 1_000_000),
                (210, 7, 1_000_000),
                (1402, 3, 10_000),
                (1404, 7, 10_000),
            ] {
                let value = look.value(PHYSICAL, name, counter).unwrap();
                let range = before[field] * unit..=after[field] * unit;
                assert!(range.contains(&value), "{name} {counter}: {value} {range:?}");
            }
        }
    }
}

#[test]
fn written_and_read_bytes_are_counted() {
    let Some(probe) = Probe::new("load") else { return };
    let mut machine = Machine::new(&ProcRoot::default());
    let sectors = |field: usize| diskstats()[&probe.disk].1[field] * 512;
    let outer = (sectors(2), sectors(6));
    let first = machine.look(&ALL, &[]);
    probe.write();
    let second = machine.look(&ALL, &[]);
    probe.read();
    let third = machine.look(&ALL, &[]);
    let (read, written) = (sectors(2) - outer.0, sectors(6) - outer.1);
    for (object, name) in [
        (PHYSICAL, probe.disk.as_str()),
        (LOGICAL, probe.mount.as_str()),
        (PHYSICAL, "_Total"),
        (LOGICAL, "_Total"),
    ] {
        let grown = |counter, before: &Look, after: &Look| {
            after.value(object, name, counter).unwrap()
                - before.value(object, name, counter).unwrap()
        };
        // The written bytes are counted; other programs may have written, too, but no
        // more than the kernel counted around this.
        let ours = grown(222, &first, &second);
        assert!(ours >= BYTES, "{name}: {ours} written");
        assert!(grown(220, &second, &third) >= BYTES, "{name}");
        if name != "_Total" {
            assert!(grown(222, &first, &third) <= written, "{name}: {written}");
            assert!(grown(220, &first, &third) <= read, "{name}: {read}");
        }
        // Each transfer has that many bytes, and took time.
        let count = |counter| grown(counter, &first, &third);
        assert!(count(216) >= 1 && count(214) >= 1, "{name}");
        assert_eq!(count(218), count(220) + count(222), "{name}");
    }
}

/// The values in the line of a device, by the heading of their column.
fn columns<'a>(text: &'a str, device: &str) -> BTreeMap<&'a str, f64> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("Device"));
    let head = lines.next().unwrap().split_whitespace();
    let line = lines.find(|line| line.split_whitespace().next() == Some(device));
    let words = line.unwrap_or_else(|| panic!("no {device} in {text}")).split_whitespace();
    head.zip(words).skip(1).map(|(head, word)| (head, word.parse().unwrap())).collect()
}

#[test]
fn disk_values_agree_with_iostat() {
    let Some(probe) = Probe::new("iostat") else { return };
    if said("iostat", &["-V"]).is_none() {
        return;
    }
    let mut machine = Machine::new(&ProcRoot::default());
    let first = machine.look(&[PHYSICAL], &[]);
    probe.write();
    let before = machine.look(&[PHYSICAL], &[]);
    let totals = said("iostat", &["-d", "-k", &probe.disk]).unwrap();
    let times = said("iostat", &["-d", "-x", "-k", &probe.disk]).unwrap();
    probe.read();
    let after = machine.look(&[PHYSICAL], &[]);
    let value = |look: &Look, counter| look.value(PHYSICAL, &probe.disk, counter).unwrap() as f64;
    // The tool's totals since the start lie between ours, except for the last
    // kilobyte.
    let totals = columns(&totals, &probe.disk);
    for (counter, column) in [(220, "kB_read"), (222, "kB_wrtn")] {
        let (theirs, low, high) =
            (totals[column], value(&before, counter) / 1024.0, value(&after, counter) / 1024.0);
        assert!(low - 1.0 <= theirs && theirs <= high + 1.0, "{column}: {low} {theirs} {high}");
    }
    assert!(totals["kB_wrtn"] - value(&first, 222) / 1024.0 >= BYTES as f64 / 1024.0 - 1.0);
    // The tool prints means since the start with two digits.
    let times = columns(&times, &probe.disk);
    for (column, time, count, unit) in [
        ("r_await", 208, 214, 1e6),
        ("w_await", 210, 216, 1e6),
        ("rareq-sz", 220, 214, 1024.0),
        ("wareq-sz", 222, 216, 1024.0),
    ] {
        let mean = |look: &Look| value(look, time) / unit / value(look, count);
        let (low, high) = (mean(&before).min(mean(&after)), mean(&before).max(mean(&after)));
        // A mean may leave the range between two readings by a part of what was
        // added in between.
        let slack = 0.01 + (high - low) + high * 0.01;
        let theirs = times[column];
        assert!(low - slack <= theirs && theirs <= high + slack, "{column}: {low} {theirs} {high}");
    }
    // The tool prints busy time as a part of all time since the start.
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    let busy = 100.0 - value(&after, 1482) / 1e7 / uptime * 100.0;
    let theirs = times["%util"];
    assert!((busy - theirs).abs() < 1.0 + theirs * 0.05, "{busy} {theirs}");
}

#[test]
fn space_agrees_with_df() {
    let Some(probe) = Probe::new("df") else { return };
    let fields = "--output=size,used,avail,itotal,iavail";
    let mut machine = Machine::new(&ProcRoot::default());
    let mut differences = Vec::new();
    probe.write();
    // Other programs fill and free the same file system: one moment is enough in which its space goes
    // one way.
    for _ in 0..40 {
        let before = machine.look(&[LOGICAL], &[]);
        let Some(text) = said("df", &["-B1", fields, probe.mount.as_str()]) else { return };
        let after = machine.look(&[LOGICAL], &[]);
        let theirs: Vec<u64> = text
            .lines()
            .last()
            .unwrap()
            .split_whitespace()
            .map(|word| word.parse().unwrap_or(0))
            .collect();
        let [_, used, available, inodes, free_inodes] = theirs[..] else { panic!("{text}") };
        let of = |look: &Look, counter| look.value(LOGICAL, &probe.mount, counter);
        let free = |look: &Look| of(look, 410).unwrap();
        let fraction = |look: &Look| {
            let object = look.object(LOGICAL);
            let block = look.instance(LOGICAL, &probe.mount).counter_block();
            let mut values = object.counters().take(2).map(|c| block.value(&c).unwrap());
            values.next().unwrap() as f64 / values.next().unwrap() as f64
        };
        let share = available as f64 / (used + available) as f64;
        let between = |theirs: f64, ours: &dyn Fn(&Look) -> f64, slack: f64| {
            let (one, other) = (ours(&before), ours(&after));
            one.min(other) - slack <= theirs && theirs <= one.max(other) + slack
        };
        let left = |look: &Look| of(look, 102_018).unwrap() as f64;
        if between((available >> 20) as f64, &|look| free(look) as f64, 0.0)
            && between(share, &fraction, 1e-5)
            && (inodes == 0 || between(free_inodes as f64, &left, 100.0))
        {
            return;
        }
        differences.push((free(&before), free(&after), available >> 20, fraction(&after), share));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{differences:?}");
}

#[test]
fn writing_a_file_reduces_free_space() {
    let Some(probe) = Probe::new("space") else { return };
    let mut machine = Machine::new(&ProcRoot::default());
    let mut free =
        |probe: &Probe| machine.look(&[LOGICAL], &[]).value(LOGICAL, &probe.mount, 410).unwrap();
    // Other programs may free space meanwhile, but not every time.
    let mut seen = Vec::new();
    for _ in 0..20 {
        let _ = std::fs::remove_file(&probe.path);
        let before = free(&probe);
        probe.write();
        let after = free(&probe);
        let taken = before as i64 - after as i64;
        let file = BYTES as i64 >> 20;
        if (file - 1..=file + 8).contains(&taken) {
            return;
        }
        seen.push(taken);
    }
    panic!("{seen:?} MB taken of {}", probe.device);
}

#[test]
fn paging_files_agree_with_swapon() {
    let look = Look::at(&ProcRoot::default(), &[PAGING], &[]);
    let arguments = ["--show=NAME,SIZE,USED", "--bytes", "--noheadings", "--raw"];
    let Some(text) = said("swapon", &arguments) else { return };
    let theirs: Vec<_> = text
        .lines()
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap().replace("\\x20", " ");
            (name, words.next().unwrap().parse::<u64>().unwrap())
        })
        .collect();
    let names = look.names(PAGING);
    let ours = names.iter().filter(|name| *name != "_Total");
    let ours: Vec<_> =
        ours.map(|name| (name.clone(), look.value(PAGING, name, 102_022).unwrap())).collect();
    assert_eq!(ours, theirs);
}

const ALONE: &str = "PERFHIVE_LINUX_DISK_ALONE";

/// Runs the body of a test in a process of its own, because it measures the whole process.
fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var(ALONE).is_ok_and(|name| name == test) {
        body();
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("disk::live::{test}"), "--nocapture"])
        .env(ALONE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn warm_collection_allocates_nothing() {
    alone("warm_collection_allocates_nothing", || {
        for objects in [&[PHYSICAL][..], &[LOGICAL], &[PAGING], &ALL] {
            let mut machine = Machine::new(&ProcRoot::default());
            let wanted: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
            let request = Ask::new(ObjectQuery::Indexes(wanted.clone()));
            for _ in 0..3 {
                machine.collect(&request, &wanted);
            }
            // A file system that is mounted meanwhile may make a list longer.
            let least = (0..5).map(|_| count(|| machine.collect(&request, &wanted)).1.count).min();
            assert_eq!(least, Some(0), "{objects:?}");
        }
    });
}

#[test]
fn only_files_of_proc_and_sys_stay_open() {
    // An open file on a disk would keep its file system from being unmounted.
    alone("only_files_of_proc_and_sys_stay_open", || {
        let links = || {
            let entries = std::fs::read_dir("/proc/self/fd").unwrap();
            let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
            links.map(|link| link.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let mut machine = Machine::new(&ProcRoot::default());
        let before = links();
        machine.look(&ALL, &[]);
        let after = links();
        let new = || after.iter().filter(|link| !before.contains(link));
        assert!(new().any(|link| link.ends_with("/diskstats")), "{after:?}");
        let is_kernel_s = |link: &&String| link.starts_with("/proc/") || link.starts_with("/sys");
        let others: Vec<_> = new().filter(|link| !is_kernel_s(link)).collect();
        assert_eq!(others, Vec::<&String>::new());
    });
}
