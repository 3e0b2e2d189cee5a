//! Tests of Network Interface on recorded machines: of every value, and of every kind of damage.

use crate::common::{Look, Machine};
use crate::network::{ADAPTER, DEV, ETH, ICMP, INTERFACE, LO, network, nothing};
use perfhive_format::{CounterPlan, RawSample, TitleIndex, cook};

#[test]
fn net_dev_fills_every_counter() {
    let tree = network();
    let look = Look::at(&tree.frozen(), &[INTERFACE], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(INTERFACE), ["lo", "eth0"]);
    for (counter, value) in [
        (388, 210),
        (400, 212),
        (266, 102),
        (452, 110),
        (264, 101),
        (506, 109),
        (528, 104),
        (530, 103),
        (540, 112),
        (542, 111),
        (103_000, 108),
        (103_002, 105),
        (103_004, 106),
        (103_006, 107),
        (103_008, 113),
        (103_010, 114),
        (103_012, 115),
        (103_014, 116),
    ] {
        assert_eq!(look.value(INTERFACE, "lo", counter), Some(value), "{counter}");
    }
    assert_eq!(look.object(INTERFACE).counter_count(), 19);
    assert_eq!(look.value(INTERFACE, "lo", 520), None);
    assert_eq!(look.value(INTERFACE, "eth0", 520), Some(2_500_000_000));
    assert_eq!(look.value(INTERFACE, "eth0", 388), Some(11_000_000_000));
    // The machine has no `/sys`.
    let look = Look::at(&tree.root(), &[INTERFACE], &[(INTERFACE, 0)]);
    assert_eq!(look.object(INTERFACE).counter_count(), 18);
    assert_eq!(look.value(INTERFACE, "eth0", 388), Some(11_000_000_000));
}

#[test]
fn attributes_are_filled_on_request() {
    let tree = network();
    for (file, text) in [
        ("mtu", "1500\n"),
        ("operstate", "lowerlayerdown\n"),
        ("flags", "0x1003\n"),
        ("carrier_changes", "5\n"),
        ("statistics/rx_missed_errors", "6\n"),
        ("statistics/rx_crc_errors", "7\n"),
        ("statistics/rx_nohandler", "8\n"),
    ] {
        tree.sys(&format!("class/net/eth0/{file}"), text);
    }
    tree.sys("class/net/lo/mtu", "65536\n");
    tree.sys("class/net/lo/operstate", "levitating\n");
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[INTERFACE], &[(INTERFACE, 0)]);
    let eth = |counter| look.value(INTERFACE, "eth0", counter);
    assert_eq!([eth(103_016), eth(103_018), eth(103_020)], [Some(1500), Some(7), Some(1)]);
    assert_eq!([eth(103_022), eth(103_024), eth(103_026)], [Some(5), Some(6), Some(7)]);
    assert_eq!([eth(103_028), eth(520)], [Some(8), Some(2_500_000_000)]);
    assert_eq!(look.value(INTERFACE, "lo", 103_016), Some(65_536));
    assert_eq!(look.value(INTERFACE, "lo", 103_018), None);
    assert_eq!(look.fault_texts(), ["510/lo: sys/class/net/lo/operstate: not understood"]);
    let look = machine.look(&[INTERFACE], &[(INTERFACE, 103_016)]);
    assert_eq!(look.value(INTERFACE, "eth0", 103_016), Some(1500));
    assert_eq!(look.value(INTERFACE, "eth0", 103_018), None);
    assert_eq!(look.value(INTERFACE, "eth0", 520), Some(2_500_000_000));
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn an_unknown_speed_gives_no_value() {
    let tree = network();
    let mut machine = Machine::new(&tree.frozen());
    for text in ["-1\n", "0\n", "4294967295\n", "65535\n"] {
        tree.sys("class/net/eth0/speed", text);
        let look = machine.look(&[INTERFACE], &[]);
        assert_eq!(look.value(INTERFACE, "eth0", 520), None, "{text}");
        assert_eq!(look.object(INTERFACE).counter_count(), 18);
        assert_eq!(look.fault_texts(), nothing());
    }
    for text in ["", "fast\n", "-7\n"] {
        tree.sys("class/net/eth0/speed", text);
        let look = machine.look(&[INTERFACE], &[]);
        assert_eq!(look.value(INTERFACE, "eth0", 520), None, "{text}");
        assert_eq!(look.value(INTERFACE, "eth0", 266), Some(7));
        assert_eq!(look.fault_texts(), ["510/eth0: sys/class/net/eth0/speed: not understood"]);
    }
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_block() {
    let tree = network();
    tree.sys("class/net/lo/mtu", "1\n");
    let pipe = |path: &str| {
        let path = tree.path().join(path);
        let _ = std::fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe("sys/class/net/lo/speed");
    pipe("proc/net/snmp");
    let look = Look::at(&tree.frozen(), &[INTERFACE, ICMP], &[]);
    assert_eq!(look.value(INTERFACE, "lo", 266), Some(102));
    assert_eq!(look.value(INTERFACE, "eth0", 520), Some(2_500_000_000));
    assert_eq!(look.faults.len(), 2, "{:?}", look.fault_texts());
}

#[test]
fn interface_names_of_any_bytes_are_kept() {
    let tree = network();
    let names: [&[u8]; 11] = [
        b"eth0:1",
        b"%d{}",
        b"a(b)#2\\*",
        "br\u{fc}cke".as_bytes(),
        b"bad\xff",
        b"bad\xfe",
        b"_Total",
        b"..",
        b"../../proc",
        b"twice",
        b"twice",
    ];
    let mut text = DEV.as_bytes().to_vec();
    for (number, name) in names.iter().enumerate() {
        text.extend_from_slice(name);
        text.extend_from_slice(format!(": {number} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n").as_bytes());
    }
    tree.file("net/dev", &text);
    let mut machine = Machine::new(&tree.frozen());
    for _ in 0..2 {
        let look = machine.look(&[INTERFACE], &[(INTERFACE, 0)]);
        assert_eq!(look.fault_texts(), nothing());
        let bytes: Vec<Vec<u8>> =
            look.object(INTERFACE).instances().map(|i| i.name().as_bytes().to_vec()).collect();
        assert_eq!(look.names(INTERFACE)[3], "br\u{fc}cke");
        assert_eq!(bytes[4][6..8], 0xdcffu16.to_le_bytes());
        assert_ne!(bytes[4], bytes[5]);
        for (number, instance) in look.object(INTERFACE).instances().enumerate() {
            assert_eq!(look.value_of(INTERFACE, instance, 264), Some(number as u64));
        }
        assert_eq!(look.object(INTERFACE).instance_count(), 11);
    }
}

#[test]
fn damaged_lines_are_faults_and_other_interfaces_keep_values() {
    let tree = network();
    tree.file("net/dev", format!("{DEV}{LO}  bad: 1 2 3\nnameless\n{ETH}  cut: 1 2"));
    let look = Look::at(&tree.frozen(), &[INTERFACE], &[]);
    assert_eq!(look.names(INTERFACE), ["lo", "eth0"]);
    assert_eq!(
        look.fault_texts(),
        [
            "510/bad: net/dev: the line is damaged",
            "510/: net/dev: a line is damaged",
            "510/: net/dev: a line is damaged"
        ]
    );
    tree.file("net/dev", DEV);
    let look = Look::at(&tree.frozen(), &[INTERFACE], &[]);
    assert_eq!((look.object(INTERFACE).instance_count(), look.faults.len()), (0, 0));
    for text in ["", "Inter-|\n face |bytes\n", "\0\0\0\0"] {
        tree.file("net/dev", text);
        let look = Look::at(&tree.frozen(), &[INTERFACE], &[]);
        assert!(!look.has(INTERFACE));
        assert_eq!(look.fault_texts(), ["510/: net/dev: not understood"]);
    }
}

/// The rate of a counter of eth0 between two looks; `None` where it has none.
fn rate(before: &Look, after: &Look, counter: u32) -> Option<f64> {
    let sample = |look: &Look| -> Option<RawSample> {
        let object = look.object(INTERFACE);
        let plans = CounterPlan::all(object);
        let plan = plans.into_iter().find(|plan| plan.name == TitleIndex(counter))?;
        let instance = object.instances().find(|i| i.name().to_text() == "eth0")?;
        plan.sample(object, instance.counter_block()).ok()
    };
    let kind = after.object(INTERFACE).counters().find(|c| c.name_index().0 == counter)?;
    let (before, after) = (sample(before)?, sample(after)?);
    cook(kind.counter_type(), Some(&before), &after).ok().map(|value| value.as_f64())
}

#[test]
fn an_interface_that_takes_over_a_name_has_no_rate_at_first() {
    let tree = network();
    let eth = |bytes: u64| {
        tree.file("net/dev", format!("{DEV}{LO}  eth0: {bytes} 7 0 0 0 0 0 0 1 9 0 0 0 0 0 0\n"));
    };
    let mut machine = Machine::new(&tree.frozen());
    let mut seconds = 1000;
    let mut look = || {
        seconds += 1;
        tree.runs_for(seconds);
        machine.look(&[INTERFACE], &[])
    };
    eth(1000);
    let first = look();
    eth(3000);
    let second = look();
    assert!(rate(&first, &second, 264).unwrap() > 0.0);
    // Another interface of the same name, with a higher count than the first one.
    eth(9000);
    tree.sys("class/net/eth0/ifindex", "7\n");
    let third = look();
    assert_eq!(third.names(INTERFACE), ["lo", "eth0"]);
    assert_eq!(rate(&second, &third, 264), None);
    assert_eq!(third.value(INTERFACE, "eth0", 388), None);
    assert_eq!(third.value(INTERFACE, "lo", 264), Some(101));
    eth(9500);
    let fourth = look();
    assert_eq!(fourth.fault_texts(), nothing());
    assert_eq!(rate(&third, &fourth, 264), None);
    eth(9900);
    let fifth = look();
    assert!(rate(&fourth, &fifth, 264).unwrap() > 0.0);
    // An interface that was gone for a collection is a new one. If a driver restarts its counts, there is
    // no rate either.
    tree.file("net/dev", format!("{DEV}{LO}"));
    assert_eq!(look().names(INTERFACE), ["lo"]);
    eth(20_000);
    tree.sys("class/net/eth0/ifindex", "8\n");
    let sixth = look();
    assert_eq!(sixth.value(INTERFACE, "eth0", 264), Some(20_000));
    eth(5);
    assert_eq!(rate(&sixth, &look(), 264), None);
}

#[test]
fn network_adapter_has_interfaces_with_a_device() {
    let tree = network();
    let look = Look::at(&tree.frozen(), &[INTERFACE, ADAPTER], &[]);
    assert_eq!(look.names(ADAPTER), Vec::<String>::new());
    tree.sys("class/net/eth0/device/uevent", "DRIVER=virtio_net\n");
    let look = Look::at(&tree.frozen(), &[INTERFACE, ADAPTER], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(ADAPTER), ["eth0"]);
    let row = |object| look.instance(object, "eth0").counter_block().as_bytes().to_vec();
    assert_eq!(row(ADAPTER), row(INTERFACE));
    let alone = Look::at(&tree.frozen(), &[ADAPTER], &[(ADAPTER, 544)]);
    assert!(!alone.has(INTERFACE));
    // The queues of a copy of `/proc` are unknown.
    assert_eq!(alone.value(ADAPTER, "eth0", 544), None);
    assert_eq!(alone.value(ADAPTER, "eth0", 520), Some(2_500_000_000));
}
