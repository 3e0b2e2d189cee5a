//! Collections from files with random contents, and without permission to read.

use super::{ENERGY, INFORMATION, THERMAL, full, nothing};
use crate::common::{Look, Machine, Tree};
use perfhive_linux::ProcRoot;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

const OBJECTS: [u32; 11] = [
    2,
    4,
    86,
    238,
    260,
    INFORMATION,
    super::PRESSURE,
    super::NODE,
    THERMAL,
    ENERGY,
    super::IDLE_STATE,
];

/// A machine with sensors as well.
fn with_sensors() -> Tree {
    let tree = full();
    tree.file("vmstat", "pgfault 1\nallocstall_normal 2\nnr_dirty 3\n");
    tree.sys("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1800500\n");
    tree.sys("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3600000\n");
    tree.sys("class/thermal/thermal_zone0/type", "acpitz\n");
    tree.sys("class/thermal/thermal_zone0/temp", "45000\n");
    tree.sys("class/powercap/intel-rapl:0/name", "package-0\n");
    tree.sys("class/powercap/intel-rapl:0/energy_uj", "5\n");
    tree.sys("class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    tree
}

/// The paths of all files below a folder.
fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Pseudo-random numbers, which are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % end.max(1)
    }

    fn damage(&mut self, text: &mut Vec<u8>) {
        let at = self.below(text.len());
        match self.below(7) {
            0 => text.truncate(at),
            1 => {
                text.iter_mut().skip(at).take(1).for_each(|byte| *byte = b"\n \t:-,x\xff9"[at % 9])
            }
            2 => drop(text.splice(at..at, *b"99999999999999999999999")),
            3 => text.retain(|byte| *byte != b'\n'),
            4 => text.extend_from_within(at..),
            5 => drop(text.splice(at..at, b"CPU4294967296 -1 0x1 1e9\n\n".iter().copied())),
            _ => text.clear(),
        }
    }
}

#[test]
fn random_file_contents_give_faults_or_numbers() {
    let tree = with_sensors();
    let files = files(tree.path().to_path_buf());
    assert!(files.len() >= 25, "{files:?}");
    let extra: Vec<_> = OBJECTS.iter().map(|object| (*object, 0)).collect();
    let mut machine = Machine::new(&tree.frozen());
    assert_eq!(machine.look(&OBJECTS, &extra).fault_texts(), nothing());
    let mut dice = Dice(7);
    for round in 0..400 {
        let path = &files[dice.below(files.len())];
        let whole = std::fs::read(path).unwrap();
        let mut text = whole.clone();
        for _ in 0..=dice.below(3) {
            dice.damage(&mut text);
        }
        std::fs::write(path, &text).unwrap();
        let look = machine.look(&OBJECTS, &extra);
        // The block can be read, and its size is in proportion.
        for object in look.block().objects() {
            assert!(object.instance_count() < 200, "{round} {}", path.display());
        }
        assert!(look.faults.len() < 60, "{round} {:?}", look.fault_texts());
        std::fs::write(path, &whole).unwrap();
    }
    // The damage leaves nothing behind.
    assert_eq!(machine.look(&OBJECTS, &extra).fault_texts(), nothing());
}

#[test]
fn files_that_vanish_give_faults_or_no_values() {
    let tree = with_sensors();
    let extra: Vec<_> = OBJECTS.iter().map(|object| (*object, 0)).collect();
    let mut machine = Machine::new(&tree.frozen());
    for path in files(tree.path().join("sys")) {
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let look = machine.look(&OBJECTS, &extra);
        assert_eq!(look.fault_texts(), nothing(), "{}", path.display());
        std::fs::write(&path, &whole).unwrap();
    }
    let look = machine.look(&OBJECTS, &extra);
    assert_eq!(look.names(THERMAL), ["acpitz 0"]);
    assert_eq!(look.names(ENERGY), ["package-0"]);
}

const DENIED: &str = "PERFHIVE_LINUX_DENIED";

/// The superuser may read everything, so the test runs as another user.
#[test]
fn unreadable_files_leave_their_counters_out() {
    if let Some(folder) = std::env::var_os(DENIED) {
        let look = Look::at(
            &ProcRoot::frozen(folder),
            &[ENERGY, THERMAL, INFORMATION],
            &[(INFORMATION, 0)],
        );
        assert_eq!(look.fault_texts(), nothing());
        assert_eq!(look.object(ENERGY).instance_count(), 0);
        assert_eq!(look.value(THERMAL, "acpitz 0", 100_502), None);
        assert_eq!(look.value(INFORMATION, "0,0", 100_206), None);
        return;
    }
    let tree = with_sensors();
    for path in [
        "class/powercap/intel-rapl:0/energy_uj",
        "class/thermal/thermal_zone0/temp",
        "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
    ] {
        let path = tree.path().join("sys").join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    // A copy of this test program that every user may run.
    let program = tree.path().join("it");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let test = "machine::damage::unreadable_files_leave_their_counters_out";
    let run = |first: &str, arguments: &[&str]| {
        Command::new(first)
            .args(arguments)
            .arg(&program)
            .args(["--exact", test, "--nocapture"])
            .env(DENIED, tree.path())
            .current_dir("/")
            .output()
    };
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    match run("setpriv", &user) {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("1 passed"), "{said}");
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("setpriv:"), "{said}");
            eprintln!("setpriv may not be used here: no other user has looked");
        }
        Err(_) => eprintln!("setpriv is not installed: no other user has looked"),
    }
}
