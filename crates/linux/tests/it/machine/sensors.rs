//! Tests of pressure, temperatures and energy.

use super::{ENERGY, IDLE_STATE, PRESSURE, THERMAL, cooked, full, nothing};
use crate::common::{Look, Machine};
use perfhive_linux::ProcRoot;
use std::process::Command;

#[test]
fn pressure_files_fill_an_instance_per_line() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[PRESSURE], &[]);
    assert_eq!(look.fault_texts(), nothing());
    // The file also has a line `full`, which means nothing for a whole machine.
    assert_eq!(look.names(PRESSURE), ["cpu some", "irq full"]);
    assert_eq!(look.value(PRESSURE, "cpu some", 100_402), Some(17_608_614_440));
    let averages = |name| {
        [100_404, 100_406, 100_408]
            .map(|counter| cooked(None, &look, PRESSURE, Some(name), counter))
    };
    for (name, expected) in [("cpu some", [12.29, 2.54, 1.14]), ("irq full", [0.01, 100.0, 0.65])] {
        for (average, expected) in averages(name).into_iter().zip(expected) {
            assert!((average - expected).abs() < 1e-9, "{name} {average} {expected}");
        }
    }

    // The share is a tenth of the time that has passed.
    tree.runs_for(1002);
    let text =
        |stalled: u64| format!("full avg10=0.00 avg60=0.00 avg300=0.00 total={}\n", 65 + stalled);
    let clock = |look: &Look| look.block().clocks().time_100ns as u64;
    let elapsed = |after: &Look| (clock(after) - clock(&look)) as f64 / 10.0;
    tree.file("pressure/irq", text(10_000));
    let later = machine.look(&[PRESSURE], &[]);
    let share = cooked(Some(&look), &later, PRESSURE, Some("irq full"), 100_402);
    assert!((share - 10_000.0 / elapsed(&later) * 100.0).abs() < 1e-6, "{share}");

    // Damage leaves out only its line; truncation is a fault.
    tree.file("pressure/irq", "full avg10=0 total=5\n");
    tree.file("pressure/io", text(0) + "some avg10=0.00");
    let look = machine.look(&[PRESSURE], &[]);
    assert_eq!(look.names(PRESSURE), ["cpu some", "io full"]);
    let faults =
        ["100400/: pressure/io: ends in the middle of a line", "100400/irq full: not understood"];
    assert_eq!(look.fault_texts(), faults);
    tree.remove("pressure");
    let look = machine.look(&[PRESSURE], &[]);
    assert_eq!(look.object(PRESSURE).instance_count(), 0);
    assert_eq!(look.fault_texts(), nothing());
    // A folder stands where a file should be.
    tree.file("pressure/memory/x", "");
    let look = machine.look(&[PRESSURE], &[]);
    assert_eq!(look.object(PRESSURE).instance_count(), 0);
    assert_eq!(look.faults.len(), 1, "{:?}", look.fault_texts());
}

#[test]
fn thermal_zones_give_temperatures_or_no_value() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let mut look = || machine.look(&[THERMAL], &[]);
    let none = |look: Look| look.object(THERMAL).instance_count() == 0 && look.faults.is_empty();
    assert!(none(look()));
    let zone = |number: u32, kind: &[u8], temp: &str| {
        tree.sys(&format!("class/thermal/thermal_zone{number}/type"), kind);
        tree.sys(&format!("class/thermal/thermal_zone{number}/temp"), temp);
    };
    tree.sys("class/thermal/cooling_device0/type", "fan\n");
    let seen = look();
    assert_eq!(seen.object(THERMAL).instance_count(), 0);
    zone(10, b"x86_pkg_temp\n", "45000\n");
    zone(0, b"acpitz\n", "-5500\n");
    zone(2, b"odd \xff (name)#1\n", "27849\n");
    let seen = look();
    assert_eq!(seen.fault_texts(), nothing());
    assert_eq!(seen.names(THERMAL)[0], "acpitz 0");
    assert_eq!(seen.names(THERMAL)[2], "x86_pkg_temp 10");
    let odd = seen.object(THERMAL).instances().nth(1).unwrap();
    assert_eq!(odd.name().as_bytes()[8..10], 0xdcffu16.to_le_bytes());
    let of = |name| [100_502, 100_504].map(|counter| seen.value(THERMAL, name, counter));
    assert_eq!(of("x86_pkg_temp 10"), [Some(318), Some(3182)]);
    assert_eq!(of("acpitz 0"), [Some(267), Some(2677)]);
    assert_eq!(seen.value_of(THERMAL, odd, 100_504), Some(3010));
    // One zone is damaged, one has vanished; a pipe does not block the reader.
    zone(0, b"acpitz\n", "cold\n");
    let folder = tree.path().join("sys/class/thermal");
    std::fs::remove_dir_all(folder.join("thermal_zone2")).unwrap();
    std::fs::remove_file(folder.join("thermal_zone10/temp")).unwrap();
    let pipe = folder.join("thermal_zone10/temp");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let seen = look();
    assert_eq!(seen.names(THERMAL), ["acpitz 0", "x86_pkg_temp 10"]);
    assert_eq!(seen.value(THERMAL, "acpitz 0", 100_502), None);
    let faults = [
        "100500/acpitz 0: temp: not understood",
        "100500/x86_pkg_temp 10: temp: Illegal seek (os error 29)",
    ];
    assert_eq!(seen.fault_texts(), faults);
}

#[test]
fn energy_meters_go_on_across_wraps() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let mut look = || machine.look(&[ENERGY], &[]);
    let none = |look: Look| look.object(ENERGY).instance_count() == 0 && look.faults.is_empty();
    assert!(none(look()));
    let meter = |folder: &str, name: &str, energy: &str| {
        tree.sys(&format!("class/powercap/{folder}/name"), name);
        tree.sys(&format!("class/powercap/{folder}/energy_uj"), energy);
        tree.sys(&format!("class/powercap/{folder}/max_energy_range_uj"), "262143328850\n");
    };
    tree.sys("class/powercap/intel-rapl/enabled", "1\n");
    meter("intel-rapl-mmio:0", "package-0\n", "5\n");
    assert_eq!(look().object(ENERGY).instance_count(), 0);
    meter("intel-rapl:0:1", "dram\n", "0\n");
    meter("intel-rapl:0", "package-0\n", "262143000000\n");
    meter("intel-rapl:0:0", "core\n", "36\n");
    let first = look();
    assert_eq!(first.fault_texts(), nothing());
    assert_eq!(first.names(ENERGY), ["package-0", "package-0 core", "package-0 dram"]);
    assert_eq!(first.value(ENERGY, "package-0 core", 100_522), Some(10_000));
    assert_eq!(first.value(ENERGY, "package-0 core", 100_526), None);
    tree.runs_for(1003);
    // The meter of the package wraps; the core used 9 mJ.
    meter("intel-rapl:0", "package-0\n", "671150\n");
    meter("intel-rapl:0:0", "core\n", "9036\n");
    let second = look();
    let grown = |name| {
        let of = |look: &Look| look.value(ENERGY, name, 100_522).unwrap();
        of(&second) - of(&first)
    };
    // One joule is 1/3600 Wh; rounding down may cost one.
    assert!(grown("package-0").abs_diff(1_000_000 * 2500 / 9) <= 1, "{}", grown("package-0"));
    assert!(grown("package-0 core").abs_diff(2_500_000) <= 1);
    assert_eq!(grown("package-0 dram"), 0);
    let time = |look: &Look| look.value(ENERGY, "package-0 core", 100_524).unwrap();
    let seconds = (time(&second) - time(&first)) as f64 / 1e7;
    assert_eq!(seconds, 3.0);
    let power = second.value(ENERGY, "package-0 core", 100_526).unwrap() as f64;
    assert!((power - 9.0 / seconds).abs() < 1.0 + power * 1e-3, "{power} {seconds}");
    assert_eq!(second.value(ENERGY, "package-0 dram", 100_526), Some(0));
    // One meter is damaged, another vanished.
    meter("intel-rapl:0:0", "core\n", "much\n");
    std::fs::remove_dir_all(tree.path().join("sys/class/powercap/intel-rapl:0:1")).unwrap();
    let third = look();
    assert_eq!(third.names(ENERGY), ["package-0"]);
    assert_eq!(third.fault_texts(), ["100520/intel-rapl:0:0: energy_uj: not understood"]);
}

#[test]
fn energy_without_a_known_range_never_goes_back() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let mut energy = |shown: &str| {
        tree.sys("class/powercap/intel-rapl:0/name", "package-0\n");
        tree.sys("class/powercap/intel-rapl:0/energy_uj", shown);
        tree.runs_for(1000);
        let look = machine.look(&[ENERGY], &[]);
        let has = look.object(ENERGY).instance_count() > 0;
        has.then(|| [100_522, 100_526].map(|counter| look.value(ENERGY, "package-0", counter)))
    };
    // In 1/3600 microwatt hours: 36 uJ are 10,000.
    assert_eq!(energy("36\n"), Some([Some(10_000), None]));
    assert_eq!(energy("72\n").unwrap()[0], Some(20_000));
    assert_eq!(energy("much\n"), None);
    assert_eq!(energy("720\n"), Some([Some(20_000), None]));
    // Begun again, at an unknown number.
    assert_eq!(energy("5\n"), Some([Some(20_000), None]));
    assert_eq!(energy("41\n").unwrap()[0], Some(30_000));
}

#[test]
fn idle_states_are_told_by_processor_and_name() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[IDLE_STATE], &[]);
    assert_eq!((look.object(IDLE_STATE).instance_count(), look.faults.len()), (0, 0));
    let state = |cpu: u32, number: u32, file: &str, text: &str| {
        tree.sys(&format!("devices/system/cpu/cpu{cpu}/cpuidle/state{number}/{file}"), text);
    };
    for (cpu, number, name) in [(0, 0, "POLL"), (0, 1, "C1E"), (1, 0, "POLL"), (1, 1, "C1E")] {
        state(cpu, number, "name", &format!("{name}\n"));
        state(cpu, number, "time", &format!("{}\n", 1000 * cpu + number));
        state(cpu, number, "usage", "7\n");
        state(cpu, number, "latency", "33\n");
    }
    state(0, 1, "above", "5\n");
    let all = machine.look(&[IDLE_STATE], &[(IDLE_STATE, 0)]);
    assert_eq!(all.fault_texts(), nothing());
    assert_eq!(all.names(IDLE_STATE), ["0,POLL", "0,C1E", "1,POLL", "1,C1E"]);
    let row = |name| [100_542, 100_544, 100_546, 100_548].map(|c| all.value(IDLE_STATE, name, c));
    assert_eq!(row("0,C1E"), [Some(10), Some(7), Some(33), Some(5)]);
    assert_eq!(row("1,C1E"), [Some(10_010), Some(7), Some(33), None]);
    state(1, 0, "usage", "many\n");
    let look = machine.look(&[IDLE_STATE], &[]);
    assert_eq!(look.counters(IDLE_STATE), 2);
    assert_eq!(look.fault_texts(), ["100540/1,POLL: cpuidle: usage: not understood"]);
    assert_eq!(look.value(IDLE_STATE, "1,C1E", 100_544), Some(7));
}

#[test]
fn idle_states_are_those_of_this_machine() {
    let file = |name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cpuidle/state1/{name}");
        std::fs::read_to_string(path).map(|text| text.trim().to_owned())
    };
    let Ok(name) = file("name") else {
        eprintln!("no idle states here: not tested");
        return;
    };
    let time = || file("time").unwrap().parse::<u64>().unwrap() * 10;
    let before = time();
    let look = Look::at(&ProcRoot::default(), &[IDLE_STATE], &[]);
    let told = look.value(IDLE_STATE, &format!("0,{name}"), 100_542).unwrap();
    assert!((before..=time()).contains(&told), "{before} {told}");
}
