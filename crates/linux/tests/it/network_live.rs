//! Compares Network Interface and the protocols on this machine with the system's
//! tools.
//!
//! If permitted, a test runs in a network namespace of its own:
//! it has no traffic but the test's, and interfaces can come and go.

use crate::common::{Look, Machine};
use perfhive_engine::{Ask, ObjectQuery};
use perfhive_format::TitleIndex;
use perfhive_linux::ProcRoot;
use perfhive_testkit::alloc::count;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

const INTERFACE: u32 = 510;
const IPV4: u32 = 546;
const IPV6: u32 = 548;
const ICMP: u32 = 582;
const TCPV4: u32 = 638;
const UDPV4: u32 = 658;
const TCPV6: u32 = 1530;
const UDPV6: u32 = 1532;
const ICMPV6: u32 = 1534;
const ALL: [u32; 9] = [INTERFACE, IPV4, IPV6, ICMP, TCPV4, UDPV4, TCPV6, UDPV6, ICMPV6];

const PRIVATE: &str = "PERFHIVE_LINUX_NAMESPACE";

/// Runs the body of a test in a network namespace of its own, with a `/sys` for it
/// and with loopback up. Prints a message where that is not permitted.
fn in_namespace(test: &str, body: impl FnOnce()) {
    if std::env::var(PRIVATE).is_ok_and(|name| name == test) {
        body();
        return;
    }
    let namespace = || {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "--mount", "sh", "-c"]);
        command.arg("mount -t sysfs sysfs /sys && ip link set lo up && exec \"$@\"").arg("sh");
        command.stdin(Stdio::null());
        command
    };
    let allowed = namespace().arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("{test}: no network namespace can be made here (unshare, ip): not tested");
        return;
    }
    let output = namespace()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("network_live::{test}"), "--nocapture"])
        .env(PRIVATE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// The output of a tool; `None` where it is not installed.
fn tool(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => {
            eprintln!("{program} cannot be used here: not compared with it");
            None
        }
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

/// The first number behind the last of the keys, which are searched one after the other.
fn number_behind(text: &str, keys: &[&str]) -> Option<u64> {
    let rest = keys.iter().try_fold(text, |rest, key| Some(rest.split_once(key)?.1))?;
    let digits = rest.trim_start_matches([':', ' ', '"']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// Sends datagrams of a size from a socket to itself and receives them.
fn datagrams(address: IpAddr, datagrams: usize, size: usize) {
    let socket = UdpSocket::bind((address, 0)).unwrap();
    let to = socket.local_addr().unwrap();
    let mut buffer = vec![0; size];
    for _ in 0..datagrams {
        assert_eq!(socket.send_to(&buffer.clone(), to).unwrap(), size);
        assert_eq!(socket.recv(&mut buffer).unwrap(), size);
    }
}

fn has_ipv6() -> bool {
    UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

fn look() -> Look {
    Look::at(&ProcRoot::default(), &ALL, &[(INTERFACE, 0), (TCPV4, 642), (TCPV6, 642)])
}

/// How much a counter grew between two looks.
fn grown(before: &Look, after: &Look, object: u32, counter: u32) -> u64 {
    let value = |look: &Look| match object {
        INTERFACE => look.value(object, "lo", counter).unwrap(),
        _ => look.single(object, counter).unwrap(),
    };
    value(after) - value(before)
}

#[test]
fn known_traffic_is_counted_exactly() {
    in_namespace("known_traffic_is_counted_exactly", || {
        let before = look();
        assert_eq!(before.names(INTERFACE), ["lo"]);
        datagrams(Ipv4Addr::LOCALHOST.into(), 50, 1000);
        let after = look();
        assert_eq!(after.fault_texts(), Vec::<String>::new());
        for (object, counter, count) in [
            (UDPV4, 438, 100),
            (UDPV4, 446, 50),
            (UDPV4, 442, 50),
            (UDPV4, 664, 0),
            (IPV4, 438, 100),
            (IPV4, 446, 50),
            (IPV4, 442, 50),
            (IPV4, 562, 50),
            (IPV4, 264, 50 * 1028),
            (IPV4, 506, 50 * 1028),
            (INTERFACE, 266, 50),
            (INTERFACE, 452, 50),
            (INTERFACE, 400, 100),
            // Loopback does not count the header of the frame.
            (INTERFACE, 264, 50 * 1028),
            (INTERFACE, 388, 100 * 1028),
            (INTERFACE, 528, 0),
        ] {
            assert_eq!(grown(&before, &after, object, counter), count, "{object} {counter}");
        }
        // A datagram larger than the interface allows is split and put together.
        ip("link set lo mtu 1500");
        datagrams(Ipv4Addr::LOCALHOST.into(), 3, 4000);
        let split = look();
        for (counter, count) in [(576, 3), (580, 9), (570, 9), (572, 3), (574, 0), (562, 3)] {
            assert_eq!(grown(&after, &split, IPV4, counter), count, "{counter}");
        }
        assert_eq!(split.value(INTERFACE, "lo", 103_016), Some(1500));
        // No socket listens there: ICMP answers, which counts as sent and as received.
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let closed = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        socket.send_to(b"?", closed).unwrap();
        let unreachable = look();
        for (object, counter) in [(UDPV4, 664), (ICMP, 590), (ICMP, 616), (ICMP, 586), (ICMP, 612)]
        {
            assert_eq!(grown(&split, &unreachable, object, counter), 1, "{object} {counter}");
        }
        assert_eq!(grown(&split, &unreachable, ICMP, 584), 2);
        if !has_ipv6() {
            eprintln!("no IPv6 here: not tested");
            return;
        }
        let before = look();
        datagrams(Ipv6Addr::LOCALHOST.into(), 20, 500);
        let after = look();
        for (object, counter, count) in [
            (UDPV6, 438, 40),
            (UDPV6, 446, 20),
            (UDPV4, 438, 0),
            (IPV6, 438, 40),
            (IPV6, 264, 20 * 548),
            (IPV4, 438, 0),
        ] {
            assert_eq!(grown(&before, &after, object, counter), count, "{object} {counter}");
        }
    });
}

/// TCP connections to an address, held open.
fn connections(address: IpAddr, to: IpAddr, count: usize) -> Vec<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = |_| (TcpStream::connect((to, port)).unwrap(), listener.accept().unwrap().0);
    (0..count).map(connect).collect()
}

#[test]
fn connections_are_counted_by_version_of_ip() {
    in_namespace("connections_by_version", || {
        let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
        let before = look();
        assert_eq!(before.single(TCPV4, 642), Some(0));
        let mut held = connections(v4, v4, 3);
        // Each connection has two ends.
        let after = look();
        assert_eq!(after.single(TCPV4, 642), Some(6));
        for (counter, count) in [(644, 3), (646, 3), (648, 0), (650, 0)] {
            assert_eq!(grown(&before, &after, TCPV4, counter), count, "{counter}");
        }
        assert_eq!(after.single(TCPV4, 103_100), Some(6));
        assert_eq!(after.single(TCPV4, 103_134), Some(6));
        // Without losses, all segments that are sent arrive.
        let (client, server) = &mut held[0];
        for _ in 0..100 {
            client.write_all(b"ping").unwrap();
            server.read_exact(&mut [0; 4]).unwrap();
            server.write_all(b"pong").unwrap();
            client.read_exact(&mut [0; 4]).unwrap();
        }
        // A look may come when an acknowledgement is sent but not yet received.
        let ends = |look: &Look| [654, 652].map(|counter| grown(&after, look, TCPV4, counter));
        let mut looks = std::iter::repeat_with(look).take(30);
        let is_quiet = |look: &Look| ends(look)[0] == ends(look)[1];
        let talked = looks.find(is_quiet).expect("what is sent is received");
        let sent = grown(&after, &talked, TCPV4, 654);
        assert!((200..=420).contains(&sent), "{sent}");
        assert_eq!(grown(&after, &talked, TCPV4, 652), sent);
        assert_eq!(grown(&after, &talked, TCPV4, 640), 2 * sent);
        assert_eq!(grown(&after, &talked, TCPV4, 656), 0);
        // No socket listens there.
        let closed = TcpListener::bind((v4, 0)).unwrap().local_addr().unwrap();
        assert!(TcpStream::connect(closed).is_err());
        let refused = look();
        assert_eq!(grown(&talked, &refused, TCPV4, 648), 1);
        assert_eq!(grown(&talked, &refused, TCPV4, 103_106), 1);
        if let Some(summary) = tool("ss", &["-t", "-n", "-H", "state", "established"]) {
            assert_eq!(summary.lines().count() as u64, refused.single(TCPV4, 642).unwrap());
        }
        if !has_ipv6() {
            eprintln!("no IPv6 here: not tested");
            return;
        }
        let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
        held.extend(connections(v6, v6, 2));
        let six = look();
        assert_eq!((six.single(TCPV4, 642), six.single(TCPV6, 642)), (Some(6), Some(4)));
        assert_eq!(six.single(TCPV4, 103_100), Some(10));
        assert_eq!(six.single(TCPV6, 103_134), Some(4));
        // An IPv6 socket that IPv4 clients reach. Only this namespace has such a connection.
        held.extend(connections(Ipv6Addr::UNSPECIFIED.into(), v4, 1));
        let mapped = look();
        assert_eq!((mapped.single(TCPV4, 642), mapped.single(TCPV6, 642)), (Some(8), Some(4)));
    });
}

#[test]
fn interfaces_that_appear_vanish_or_swap_names_are_followed() {
    in_namespace("interfaces_that_come_go_and_change_places", || {
        let mut machine = Machine::new(&ProcRoot::default());
        let mut look = || machine.look(&[INTERFACE], &[(INTERFACE, 0)]);
        assert_eq!(look().names(INTERFACE), ["lo"]);
        // The kernel puts a number in place of %d.
        let made = Command::new("ip")
            .args(["link", "add", "a0", "type", "veth", "peer", "name", "%d(x)#1\u{e4}"])
            .status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("no veth interfaces here: not tested");
            return;
        }
        let three = look();
        assert_eq!(three.fault_texts(), Vec::<String>::new());
        let mut names = three.names(INTERFACE);
        names.sort();
        let ours: Vec<_> =
            names.iter().filter(|name| *name != "a0" && *name != "lo").cloned().collect();
        assert_eq!(names.len(), 3, "{names:?}");
        // While it is down, it has no speed; such interfaces have 10 Gbit/s when up.
        assert_eq!(three.value(INTERFACE, "a0", 103_020), Some(2));
        assert_eq!(three.value(INTERFACE, "a0", 520), None);
        ip("link set a0 up");
        ip(&format!("link set {} up", ours[0]));
        // The kernel updates the state of a link a little later.
        let is_up = |look: &Look| look.value(INTERFACE, "a0", 103_018) == Some(1);
        let mut up = look();
        for _ in 0..100 {
            if is_up(&up) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
            up = look();
        }
        assert!(is_up(&up));
        assert_eq!(up.value(INTERFACE, "a0", 103_020), Some(1));
        assert_eq!(up.value(INTERFACE, "a0", 520), Some(10_000_000_000));
        assert_eq!(up.value(INTERFACE, "lo", 520), None);
        assert!(up.value(INTERFACE, "a0", 103_022).unwrap() > 0);
        // The interface's peer takes its name.
        ip("link set a0 down");
        ip("link set a0 name b0");
        ip(&format!("link set {} down", ours[0]));
        ip(&format!("link set {} name a0", ours[0]));
        let renamed = look();
        assert_eq!(renamed.value(INTERFACE, "a0", 266), None);
        assert!(renamed.value(INTERFACE, "b0", 266).is_some());
        assert!(look().value(INTERFACE, "a0", 266).is_some());
        ip("link del a0");
        let gone = look();
        assert_eq!(gone.names(INTERFACE), ["lo"]);
        assert_eq!(gone.fault_texts(), Vec::<String>::new());
    });
}

#[test]
fn values_of_system_tools_lie_between_two_collections() {
    let fields: [(&str, u32, u32); 22] = [
        ("IpInReceives", IPV4, 446),
        ("IpOutRequests", IPV4, 442),
        ("IpInDelivers", IPV4, 562),
        ("IpExtInOctets", IPV4, 264),
        ("IpExtOutOctets", IPV4, 506),
        ("IcmpInMsgs", ICMP, 586),
        ("IcmpOutMsgs", ICMP, 612),
        ("IcmpInDestUnreachs", ICMP, 590),
        ("TcpActiveOpens", TCPV4, 644),
        ("TcpPassiveOpens", TCPV4, 646),
        ("TcpAttemptFails", TCPV4, 648),
        ("TcpEstabResets", TCPV4, 650),
        ("TcpInSegs", TCPV4, 652),
        ("TcpOutSegs", TCPV4, 654),
        ("TcpRetransSegs", TCPV4, 656),
        ("TcpExtListenDrops", TCPV4, 103_110),
        ("UdpInDatagrams", UDPV4, 446),
        ("UdpOutDatagrams", UDPV4, 442),
        ("UdpNoPorts", UDPV4, 664),
        ("Ip6InReceives", IPV6, 446),
        ("Icmp6OutMsgs", ICMPV6, 612),
        ("Udp6InDatagrams", UDPV6, 446),
    ];
    let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
    let before = look();
    assert_eq!(before.fault_texts(), Vec::<String>::new());
    datagrams(v4, 100, 700);
    drop(connections(v4, v4, 5));
    let Some(text) = tool("nstat", &["-a", "-z", "-s", "--json"]) else { return };
    let link = tool("ip", &["-s", "-j", "link", "show", "dev", "lo"]);
    datagrams(v4, 100, 700);
    let after = look();
    let mut compared = 0;
    for (name, object, counter) in fields {
        // Some kernels do not have IPv6.
        let Some(said) = number_behind(&text, &[&format!("\"{name}\":")]) else { continue };
        if !before.has(object) {
            continue;
        }
        // Windows' counts of protocols have 32 bits, and so have all counts of nstat.
        let bits = |value: u64| value & 0xffff_ffff;
        let of = |look: &Look| bits(look.single(object, counter).unwrap());
        let (said, range) = (bits(said), of(&before)..=of(&after));
        // A count may wrap while this runs.
        assert!(range.is_empty() || range.contains(&said), "{name}: {said} in {range:?}");
        compared += 1;
    }
    assert!(compared >= 19, "{compared}");
    assert!(grown(&before, &after, UDPV4, 446) >= 200);
    assert!(grown(&before, &after, TCPV4, 644) >= 5);
    assert!(grown(&before, &after, INTERFACE, 388) >= 2 * 200 * 728);

    let Some(link) = link else { return };
    for (keys, counter) in [
        (["\"rx\"", "\"bytes\""], 264),
        (["\"rx\"", "\"packets\""], 266),
        (["\"rx\"", "\"errors\""], 530),
        (["\"tx\"", "\"bytes\""], 506),
        (["\"tx\"", "\"packets\""], 452),
        (["\"tx\"", "\"dropped\""], 540),
    ] {
        let said = number_behind(&link, &keys).unwrap();
        let value = |look: &Look| look.value(INTERFACE, "lo", counter).unwrap();
        let range = value(&before)..=value(&after);
        assert!(range.contains(&said), "{counter}: {said} in {range:?}");
    }
    let mtu = number_behind(&link, &["\"mtu\""]);
    assert_eq!(after.value(INTERFACE, "lo", 103_016), mtu);
}

#[test]
fn every_interface_of_this_machine_is_an_instance() {
    let mut missing = Vec::new();
    // Interfaces may come or go between the two lists.
    for _ in 0..5 {
        let look = look();
        let names = look.names(INTERFACE);
        let entries = std::fs::read_dir("/sys/class/net").unwrap();
        let entries = entries.map(|entry| entry.unwrap());
        // The driver for bonding has a file in the folder.
        let folders = entries.filter(|entry| entry.path().is_dir());
        missing = folders
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !names.contains(name))
            .collect();
        if missing.is_empty() {
            return;
        }
    }
    panic!("{missing:?}");
}

#[test]
fn warm_collection_allocates_nothing() {
    let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
    let _held = connections(v4, v4, 20);
    let wanted = ALL.map(TitleIndex);
    let mut request = Ask::new(ObjectQuery::Indexes(wanted.to_vec()));
    let mut machine = Machine::new(&ProcRoot::default());
    for extra in [false, true] {
        if extra {
            request.extra_counters = wanted.map(|object| (object, TitleIndex(0))).to_vec();
        }
        for _ in 0..3 {
            machine.collect(&request, &wanted);
        }
        // Other interfaces and sockets may appear meanwhile.
        let least =
            (0..10).map(|_| count(|| machine.collect(&request, &wanted)).1.count).min().unwrap();
        assert_eq!(least, 0, "extra: {extra}");
    }
}

#[test]
fn packets_that_wait_to_be_sent_are_the_queue() {
    in_namespace("packets_that_wait_to_be_sent_are_the_queue", || {
        let queue = || {
            let look = Look::at(&ProcRoot::default(), &[INTERFACE], &[(INTERFACE, 544)]);
            assert_eq!(look.fault_texts(), Vec::<String>::new());
            look.value(INTERFACE, "lo", 544).unwrap()
        };
        assert_eq!(queue(), 0, "loopback has no discipline");
        // The limit is about one packet in 10 s.
        let slow = ["qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1kbit"];
        let slow = slow.into_iter().chain(["burst", "2000", "limit", "1000000"]);
        if tool("tc", &slow.collect::<Vec<_>>()).is_none() {
            return;
        }
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let to = socket.local_addr().unwrap();
        for _ in 0..20 {
            socket.send_to(&[0; 1200], to).unwrap();
        }
        let told = || {
            let text = tool("tc", &["-s", "qdisc", "show", "dev", "lo"]).unwrap();
            number_behind(&text, &["backlog", "b"]).unwrap()
        };
        // Packets that were sent meanwhile lie between the two readings.
        let (most, waiting, least) = (told(), queue(), told());
        assert!((least..=most).contains(&waiting), "{least} {waiting} {most}");
        assert!(waiting >= 10, "{waiting}");
    });
}
