//! Tests of the protocols on recorded machines: of every value, and of every kind of damage.

use crate::common::{Look, Machine, Tree};
use perfhive_testkit::real;
use std::collections::BTreeMap;

pub(crate) const INTERFACE: u32 = 510;
pub(crate) const ADAPTER: u32 = 103_800;
const IPV4: u32 = 546;
const IPV6: u32 = 548;
pub(crate) const ICMP: u32 = 582;
const TCPV4: u32 = 638;
const UDPV4: u32 = 658;
const TCPV6: u32 = 1530;
const UDPV6: u32 = 1532;
const ICMPV6: u32 = 1534;
const PROTOCOLS: [u32; 8] = [IPV4, IPV6, ICMP, TCPV4, UDPV4, TCPV6, UDPV6, ICMPV6];

pub(crate) const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
";
pub(crate) const LO: &str =
    "    lo: 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116\n";
pub(crate) const ETH: &str = "  eth0: 5000000000 7 0 0 0 0 0 0 6000000000 9 0 0 0 0 0 0\n";

const SNMP: &str = "\
Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates OutTransmits
Ip: 1 64 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
Icmp: InMsgs InErrors InCsumErrors InDestUnreachs InTimeExcds InParmProbs InSrcQuenchs InRedirects InEchos InEchoReps InTimestamps InTimestampReps InAddrMasks InAddrMaskReps OutMsgs OutErrors OutRateLimitGlobal OutRateLimitHost OutDestUnreachs OutTimeExcds OutParmProbs OutSrcQuenchs OutRedirects OutEchos OutEchoReps OutTimestamps OutTimestampReps OutAddrMasks OutAddrMaskReps
Icmp: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29
IcmpMsg: InType3
IcmpMsg: 2
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 5 6 7 8 9 10 11 12 13 14 15
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 1 2 3 4 5 6 7 8 9
UdpLite: InDatagrams NoPorts InErrors OutDatagrams
UdpLite: 91 92 93 94
";

const NETSTAT: &str = "\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts TCPFastRetrans TCPSlowStartRetrans TCPSynRetrans TCPLostRetransmit TCPSpuriousRTOs TCPOFOQueue TCPBacklogDrop TCPAbortOnMemory TCPMemoryPressures
TcpExt: 1 2 3 4 5 6 7 8 9 10 11 12 13
IpExt: InNoRoutes InTruncatedPkts InMcastPkts OutMcastPkts InBcastPkts OutBcastPkts InOctets OutOctets InCEPkts
IpExt: 1 2 3 4 5 6 8000000000 9000000000 10
";

/// The names of `snmp6` and their numbers: 1, 2 and so on in this order.
const SNMP6: [(&str, &str); 3] = [
    (
        "Ip6",
        "InReceives InHdrErrors InTooBigErrors InNoRoutes InAddrErrors InUnknownProtos \
         InTruncatedPkts InDiscards InDelivers OutForwDatagrams OutRequests OutDiscards \
         OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates \
         InMcastPkts OutMcastPkts InOctets OutOctets InCEPkts OutTransmits",
    ),
    (
        "Icmp6",
        "InMsgs InErrors OutMsgs OutErrors InCsumErrors OutRateLimitHost InDestUnreachs \
         InPktTooBigs InTimeExcds InParmProblems InEchos InEchoReplies InGroupMembQueries \
         InGroupMembResponses InGroupMembReductions InRouterSolicits InRouterAdvertisements \
         InNeighborSolicits InNeighborAdvertisements InRedirects InMLDv2Reports OutDestUnreachs \
         OutPktTooBigs OutTimeExcds OutParmProblems OutEchos OutEchoReplies OutGroupMembQueries \
         OutGroupMembResponses OutGroupMembReductions OutRouterSolicits OutRouterAdvertisements \
         OutNeighborSolicits OutNeighborAdvertisements OutRedirects OutMLDv2Reports",
    ),
    (
        "Udp6",
        "InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors \
         IgnoredMulti MemErrors",
    ),
];

const SOCKETS: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr\n";

pub(crate) fn nothing() -> Vec<String> {
    Vec::new()
}

/// A machine with two interfaces, and a different number in every field.
pub(crate) fn network() -> Tree {
    let tree = Tree::new();
    tree.file("net/dev", format!("{DEV}{LO}{ETH}"));
    tree.file("net/snmp", SNMP);
    tree.file("net/netstat", NETSTAT);
    let mut text = String::new();
    for (prefix, names) in SNMP6 {
        for (number, name) in (1..).zip(names.split(' ')) {
            text += &format!("{:<32}\t{number}\n", format!("{prefix}{name}"));
        }
    }
    text += "UdpLite6InDatagrams             \t99\n";
    tree.file("net/snmp6", text);
    tree.file(
        "net/sockstat",
        "sockets: used 20\nTCP: inuse 1 orphan 2 tw 3 alloc 4 mem 5\nUDP: inuse 6 mem 7\n",
    );
    tree.file("net/sockstat6", "TCP6: inuse 8\nUDP6: inuse 9\n");
    let socket = |address: &str, state| format!("   0: {address}:0016 {address}:9999 {state} 0\n");
    let list = |rows: &[String]| format!("{SOCKETS}{}", rows.concat());
    let v4 = "0100007F";
    tree.file("net/tcp", list(&[socket(v4, "0A"), socket(v4, "01"), socket(v4, "08")]));
    let v6 = "00000000000000000000000001000000";
    let mapped = "0000000000000000FFFF00000100007F";
    tree.file("net/tcp6", list(&[socket(v6, "01"), socket(v6, "06"), socket(mapped, "01")]));
    tree.sys("class/net/lo/ifindex", "1\n");
    tree.sys("class/net/eth0/ifindex", "2\n");
    tree.sys("class/net/eth0/speed", "2500\n");
    tree
}

fn all_of(look: &Look, object: u32, expected: &[(u32, u64)]) {
    for (counter, value) in expected {
        assert_eq!(look.single(object, *counter), Some(*value), "{object} {counter}");
    }
    let known = look.object(object).counters().map(|c| c.name_index().0);
    let forgotten: Vec<_> =
        known.filter(|index| !expected.iter().any(|(counter, _)| counter == index)).collect();
    assert_eq!(forgotten, Vec::<u32>::new(), "of {object}");
}

/// The counters of IPv4 and their values from [`SNMP`].
const IPV4_VALUES: [(u32, u64); 18] = [
    (438, 13),
    (446, 3),
    (552, 4),
    (554, 5),
    (556, 6),
    (558, 7),
    (560, 8),
    (562, 9),
    (442, 10),
    (566, 11),
    (568, 12),
    (570, 14),
    (572, 15),
    (574, 16),
    (576, 17),
    (578, 18),
    (580, 19),
    (103_312, 13),
];

const ICMP_VALUES: [(u32, u64); 30] = [
    (584, 16),
    (586, 1),
    (588, 2),
    (590, 4),
    (592, 5),
    (594, 6),
    (596, 7),
    (598, 8),
    (600, 9),
    (602, 10),
    (604, 11),
    (606, 12),
    (608, 13),
    (610, 14),
    (612, 15),
    (614, 16),
    (616, 19),
    (618, 20),
    (620, 21),
    (622, 22),
    (624, 23),
    (626, 24),
    (628, 25),
    (630, 26),
    (632, 27),
    (634, 28),
    (636, 29),
    (103_400, 3),
    (103_402, 17),
    (103_404, 18),
];

const UDP_VALUES: [(u32, u64); 10] = [
    (438, 5),
    (446, 1),
    (664, 2),
    (666, 3),
    (442, 4),
    (103_200, 5),
    (103_202, 6),
    (103_204, 7),
    (103_206, 8),
    (103_208, 9),
];

fn and(values: &[(u32, u64)], more: &[(u32, u64)]) -> Vec<(u32, u64)> {
    [values, more].concat()
}

#[test]
fn protocol_files_fill_every_counter() {
    let tree = network();
    let look = Look::at(&tree.root(), &PROTOCOLS, &[(TCPV4, 642), (TCPV6, 642)]);
    assert_eq!(look.fault_texts(), nothing());
    let page = rustix::param::page_size() as u64;
    let own = [
        (103_320, 20),
        (264, 8_000_000_000),
        (506, 9_000_000_000),
        (103_304, 3),
        (103_306, 4),
        (103_308, 5),
        (103_310, 6),
        (103_314, 1),
        (103_316, 2),
        (103_318, 10),
    ];
    all_of(&look, IPV4, &and(&IPV4_VALUES, &own));
    all_of(&look, ICMP, &ICMP_VALUES);
    let sockets = [(103_134, 6), (103_142, 7 * page)];
    all_of(&look, UDPV4, &and(&UDP_VALUES, &sockets));
    all_of(&look, UDPV6, &and(&UDP_VALUES, &[(103_134, 9)]));
    let tcp = [
        (640, 21),
        (642, 3),
        (644, 5),
        (646, 6),
        (648, 7),
        (650, 8),
        (652, 10),
        (654, 11),
        (656, 12),
        (103_100, 9),
        (103_102, 13),
        (103_104, 15),
        (103_106, 14),
        (103_108, 2),
        (103_110, 3),
        (103_112, 1),
        (103_114, 4),
        (103_116, 5),
        (103_118, 6),
        (103_120, 7),
        (103_122, 8),
        (103_124, 9),
        (103_126, 10),
        (103_128, 11),
        (103_130, 12),
        (103_132, 13),
        (103_134, 1),
        (103_136, 2),
        (103_138, 3),
        (103_140, 4),
        (103_142, 5 * page),
    ];
    all_of(&look, TCPV4, &tcp);
    all_of(&look, TCPV6, &[(642, 1), (103_134, 8)]);
    let ipv6 = [
        (438, 12),
        (446, 1),
        (552, 2),
        (554, 5),
        (556, 10),
        (558, 6),
        (560, 8),
        (562, 9),
        (442, 11),
        (566, 12),
        (568, 13),
        (570, 15),
        (572, 16),
        (574, 17),
        (576, 18),
        (578, 19),
        (580, 20),
        (264, 23),
        (506, 24),
        (103_304, 21),
        (103_306, 22),
        (103_312, 14),
        (103_314, 4),
        (103_316, 7),
        (103_318, 25),
        (103_320, 26),
        (103_322, 3),
    ];
    all_of(&look, IPV6, &ipv6);
    let received = [(586, 1), (588, 2), (590, 7), (1536, 8), (592, 9), (594, 10), (600, 11)];
    let received = and(&received, &[(602, 12), (1538, 13), (1540, 14), (1542, 15), (1544, 16)]);
    let received = and(&received, &[(1546, 17), (1550, 18), (1552, 19), (598, 20), (103_406, 21)]);
    let sent = [(612, 3), (614, 4), (616, 22), (1554, 23), (618, 24), (620, 25), (626, 26)];
    let sent = and(&sent, &[(628, 27), (1556, 28), (1558, 29), (1560, 30), (1562, 31)]);
    let sent = and(&sent, &[(1564, 32), (1566, 33), (1568, 34), (624, 35), (103_408, 36)]);
    let rest = [(584, 4), (103_400, 5), (103_404, 6)];
    all_of(&look, ICMPV6, &and(&and(&received, &sent), &rest));
}

#[test]
fn connections_are_counted_on_request_only() {
    let tree = network();
    let mut machine = Machine::new(&tree.root());
    let look = machine.look(&[TCPV4, TCPV6], &[]);
    assert_eq!((look.single(TCPV4, 642), look.single(TCPV6, 642)), (None, None));
    assert_eq!((look.single(TCPV4, 103_100), look.single(TCPV6, 103_134)), (Some(9), Some(8)));
    // One version is asked for alone.
    let look = machine.look(&[TCPV4, TCPV6], &[(TCPV6, 642)]);
    assert_eq!((look.single(TCPV4, 642), look.single(TCPV6, 642)), (None, Some(1)));
    let look = machine.look(&[TCPV4], &[(TCPV4, 642), (TCPV6, 642)]);
    assert_eq!((look.single(TCPV4, 642), look.has(TCPV6)), (Some(3), false));
    // The machine has no IPv6.
    tree.remove("net/tcp6");
    let look = machine.look(&[TCPV4, TCPV6], &[(TCPV4, 0), (TCPV6, 0)]);
    assert_eq!((look.single(TCPV4, 642), look.single(TCPV6, 642)), (Some(2), None));
    assert_eq!(look.fault_texts(), nothing());
    // A list that breaks off gives no count.
    tree.file("net/tcp6", format!("{SOCKETS}   0: 0000"));
    let look = machine.look(&[TCPV4, TCPV6], &[(TCPV4, 642), (TCPV6, 642)]);
    assert_eq!((look.single(TCPV4, 642), look.single(TCPV6, 642)), (None, None));
    let texts = ["638/: net/tcp6: not understood", "1530/: net/tcp6: not understood"];
    assert_eq!(look.fault_texts(), texts);
    tree.remove("net/tcp");
    let look = machine.look(&[TCPV4], &[(TCPV4, 642)]);
    assert_eq!(look.fault_texts(), ["638/: net/tcp: No such file or directory (os error 2)"]);
}

#[test]
fn without_ipv6_its_objects_have_no_counters() {
    let tree = network();
    for file in ["net/snmp6", "net/sockstat6", "net/netstat", "net/sockstat"] {
        tree.remove(file);
    }
    let look = Look::at(&tree.root(), &PROTOCOLS, &[]);
    assert_eq!(look.fault_texts(), nothing());
    for object in PROTOCOLS {
        assert!(look.has(object), "{object}: in the catalogue, and neither there nor a fault");
        let counters = look.counters(object);
        assert_eq!(counters > 0, [IPV4, ICMP, TCPV4, UDPV4].contains(&object), "{object}");
    }
    assert_eq!(look.single(TCPV4, 640), Some(21));
    assert_eq!(look.single(TCPV4, 103_134), None);
}

#[test]
fn damaged_sections_are_faults_and_other_protocols_keep_values() {
    let tree = network();
    let text = SNMP.replace("Tcp: 1 200", "Tcp: 200").replace("Ip: 1 64 3 ", "Ip: 1 64 x ");
    tree.file("net/snmp", text.trim_end_matches("93 94\n"));
    tree.file("net/snmp6", "Ip6InReceives 7\nIp6InDelivers \nUdp6InDatagrams 5\n");
    tree.file("net/netstat", "TcpExt: ListenDrops\nTcpExt:\n");
    tree.file("net/sockstat", "TCP: inuse one tw 3\n");
    let look = Look::at(&tree.root(), &PROTOCOLS, &[]);
    assert_eq!((look.single(TCPV4, 640), look.single(TCPV4, 103_138)), (None, Some(3)));
    assert_eq!((look.single(IPV4, 446), look.single(IPV4, 438)), (None, None));
    assert_eq!((look.single(IPV4, 552), look.single(IPV6, 446)), (Some(4), Some(7)));
    assert_eq!(look.single(UDPV6, 446), Some(5));
    assert!(!look.has(ICMPV6));
    let cut = "net/snmp: ends in the middle of a line";
    assert_eq!(
        look.fault_texts(),
        [
            format!("546/: {cut}"),
            "546/: net/snmp: Ip InReceives has no number".to_string(),
            "548/: net/snmp6: Ip6 InDelivers has no number".to_string(),
            format!("582/: {cut}"),
            "1534/: net/snmp6: Icmp6 is missing".to_string(),
            format!("638/: {cut}"),
            "638/: net/snmp: names and numbers of Tcp do not fit".to_string(),
            "638/: net/netstat: names and numbers of TcpExt do not fit".to_string(),
            "638/: net/sockstat: TCP inuse has no number".to_string(),
            format!("658/: {cut}"),
        ]
    );
    tree.file("net/snmp", "");
    tree.remove("net/dev");
    let look = Look::at(&tree.root(), &[ICMP, INTERFACE], &[]);
    assert!(!look.has(ICMP) && !look.has(INTERFACE));
    let texts = [
        "510/: net/dev: No such file or directory (os error 2)",
        "582/: net/snmp: Icmp is missing",
    ];
    assert_eq!(look.fault_texts(), texts);
    tree.remove("net/snmp");
    let look = Look::at(&tree.root(), &[ICMP, UDPV4], &[]);
    let gone = "net/snmp: No such file or directory (os error 2)";
    assert_eq!(look.fault_texts(), [format!("582/: {gone}"), format!("658/: {gone}")]);
}

/// Every value of a look, by object, instance and counter.
fn values(look: &Look) -> BTreeMap<(u32, String, u32), u64> {
    let mut all = BTreeMap::new();
    for object in look.block().objects() {
        let index = object.name_index().0;
        for counter in object.counters() {
            let name = counter.name_index().0;
            if let Some(value) = object.counter_block().and_then(|b| b.value(&counter).ok()) {
                all.insert((index, String::new(), name), value);
            }
            for instance in object.instances() {
                if let Ok(value) = instance.counter_block().value(&counter) {
                    all.insert((index, instance.name().to_text(), name), value);
                }
            }
        }
    }
    all
}

#[test]
fn truncated_files_give_right_values_or_none() {
    let tree = network();
    let mut machine = Machine::new(&tree.frozen());
    let connections = &[TCPV4, TCPV6][..];
    for (file, objects) in [
        ("dev", &[INTERFACE][..]),
        ("snmp", &[IPV4, ICMP, TCPV4, UDPV4]),
        ("snmp6", &[IPV6, ICMPV6, UDPV6]),
        ("netstat", &[IPV4, TCPV4]),
        ("sockstat", &[TCPV4, UDPV4]),
        ("sockstat6", &[TCPV6, UDPV6]),
        ("tcp", connections),
        ("tcp6", connections),
    ] {
        let is_list = objects == connections;
        let extra = if is_list { &[(TCPV4, 642), (TCPV6, 642)][..] } else { &[] };
        let whole = values(&machine.look(objects, extra));
        assert!(whole.len() > 10, "{file}");
        let path = format!("net/{file}");
        let text = std::fs::read(tree.path().join("proc").join(&path)).unwrap();
        for end in (0..text.len()).step_by(5) {
            tree.file(&path, &text[..end]);
            let look = machine.look(objects, extra);
            let is_right = |(key, value): (&(u32, String, u32), &u64)| {
                // The list of sockets may end behind any line.
                whole.get(key) == Some(value) || (is_list && key.2 == 642)
            };
            assert!(values(&look).iter().all(is_right), "{file} {end}");
            let within_a_line = end > 0 && text[end - 1] != b'\n';
            assert!(!within_a_line || !look.faults.is_empty(), "{file} {end}");
        }
        for (at, byte) in (0..text.len()).step_by(11).zip(b"\n \xff:-9\0|x".iter().cycle()) {
            let mut text = text.clone();
            text[at] = *byte;
            tree.file(&path, &text);
            machine.look(objects, extra).block();
        }
        tree.file(&path, &text);
        assert_eq!(values(&machine.look(objects, extra)), whole);
    }
}

#[test]
fn recorded_files_of_other_kernels_give_their_values() {
    let Some(snmp) = real::text("proc-trees/procnet-snmp-5.14.0") else { return };
    let tree = Tree::new();
    tree.file("net/snmp", snmp);
    let snmp6 = real::text("proc-trees/procnet-snmp6-3.19.0").unwrap();
    tree.file("net/snmp6", &snmp6);
    let netstat = real::text("proc-trees/proc_net_netstat").unwrap();
    tree.file("net/netstat", &netstat);
    let look = Look::at(&tree.root(), &PROTOCOLS, &[]);
    assert_eq!(look.fault_texts(), nothing());
    for (counter, value) in IPV4_VALUES {
        assert_eq!(look.single(IPV4, counter), Some(value), "{counter}");
    }
    assert_eq!(look.single(IPV4, 103_320), None);
    all_of(&look, ICMP, &ICMP_VALUES);
    all_of(&look, UDPV4, &UDP_VALUES);
    assert_eq!((look.single(TCPV4, 640), look.single(TCPV4, 103_104)), (Some(21), Some(15)));
    // Linux 3.19 counts neither memory errors of UDP nor limits of ICMP.
    assert_eq!((look.single(UDPV6, 103_206), look.single(UDPV6, 103_208)), (Some(0), None));
    assert_eq!(look.single(ICMPV6, 103_404), None);
    assert_eq!(look.single(ICMPV6, 1562), Some(499_671));
    assert_eq!(look.single(IPV6, 446), Some(13_460_884));
    assert_eq!(look.single(IPV6, 264), Some(102_044_242_908));
    assert_eq!(look.single(UDPV6, 664), Some(4));
    // Names and numbers, paired by another method than the provider's.
    let lines: Vec<Vec<&str>> =
        netstat.lines().map(|line| line.split_whitespace().collect()).collect();
    let field = |section: &str, name: &str| -> u64 {
        let at = lines.iter().position(|line| line[0] == section).unwrap();
        let column = lines[at].iter().position(|word| *word == name).unwrap();
        lines[at + 1][column].parse().unwrap()
    };
    let wrapped = |section, name| Some(field(section, name) & 0xffff_ffff);
    assert_eq!(look.single(TCPV4, 103_110), wrapped("TcpExt:", "ListenDrops"));
    assert_eq!(look.single(TCPV4, 103_114), wrapped("TcpExt:", "TCPTimeouts"));
    assert_eq!(look.single(IPV4, 506), Some(field("IpExt:", "OutOctets")));
}
