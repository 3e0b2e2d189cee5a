//! Network Interface and the protocols.

mod icmp;
mod icmp6;
mod interface;
mod ip;
mod tcp;
mod udp;

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

pub(crate) static OBJECTS: &[&Object] =
    &[&INTERFACE, &IPV4, &IPV6, &ICMP, &ICMPV6, &TCPV4, &TCPV6, &UDPV4, &UDPV6];

const NO_UNICAST: &str = "Linux does not count unicast packets apart: received multicast ones \
    are counted, broadcast ones and all that are sent are not.";
const NO_RSC: &str = "Linux tells of no such counts in a file; drivers have them, under names of \
    each its own. (Windows numbers this counter differently from version to version.)";
const NO_SPLIT: &str = "Linux counts TCP over IPv4 and IPv6 together, and TCPv4 has the counts of \
    both: here, too, they would count twice.";

/// What every protocol's note says.
macro_rules! namespace {
    ($text:literal) => {
        concat!(
            "`/proc/net` shows the network namespace of the program that reads it: in a \
             container, the container's.",
            $text
        )
    };
}

pub(crate) static INTERFACE: Object = Object {
    index: 510,
    help: 511,
    name: "Network Interface",
    meaning: "Counters of the network interfaces that this program sees: physical, virtual and \
         loopback ones. From /proc/net/dev and /sys/class/net.",
    note: namespace!(
        " Instances are the kernel's interfaces by name, loopback (`lo`), bridges and tunnels \
         included; as on Windows there is no `_Total`, for a packet may pass several. An \
         interface that has taken the name of another since the collection before has no values \
         in that one collection, so that no rate is made of the counts of two. Where a driver \
         begins its counts anew, or wraps them at 32 bits, a rate is missing once. `/sys` must \
         show the same namespace, as it does unless one of the two was mounted from elsewhere."
    ),
    reads: "`net/dev`; of each interface two attributes in `/sys/class/net`; one more for each \
            counter on request",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: interface::INTERFACE,
    absent: NO_INTERFACE,
};

const NO_INTERFACE: &[Absent] = &[
    absent(524, "Packets Received Unicast/sec", T::PERF_COUNTER_BULK_COUNT, NO_UNICAST),
    absent(526, "Packets Received Non-Unicast/sec", T::PERF_COUNTER_BULK_COUNT, NO_UNICAST),
    absent(
        532,
        "Packets Received Unknown",
        T::PERF_COUNTER_LARGE_RAWCOUNT,
        "Linux counts packets of unknown protocols among those discarded.",
    ),
    absent(536, "Packets Sent Unicast/sec", T::PERF_COUNTER_BULK_COUNT, NO_UNICAST),
    absent(538, "Packets Sent Non-Unicast/sec", T::PERF_COUNTER_BULK_COUNT, NO_UNICAST),
    absent(
        544,
        "Output Queue Length",
        T::PERF_COUNTER_LARGE_RAWCOUNT,
        "The lengths of queues are told for each queueing discipline, by traffic control over \
         netlink and in no file.",
    ),
    absent(103_900, "Offloaded Connections", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_RSC),
    absent(103_902, "TCP Active RSC Connections", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_RSC),
    absent(103_904, "TCP RSC Coalesced Packets/sec", T::PERF_COUNTER_BULK_COUNT, NO_RSC),
    absent(103_906, "TCP RSC Exceptions/sec", T::PERF_COUNTER_BULK_COUNT, NO_RSC),
    absent(103_908, "TCP RSC Average Packet Size", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_RSC),
];

pub(crate) static IPV4: Object = Object {
    index: 546,
    help: 547,
    name: "IPv4",
    meaning: "Counters of version 4 of the Internet Protocol. From /proc/net/snmp and \
         /proc/net/netstat.",
    note: namespace!(""),
    reads: "`net/snmp`, `net/netstat`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: ip::IPV4,
    absent: &[],
};

pub(crate) static IPV6: Object = Object {
    index: 548,
    help: 1529,
    name: "IPv6",
    meaning: "Counters of version 6 of the Internet Protocol. From /proc/net/snmp6.",
    note: namespace!(" A kernel without IPv6 has no such object."),
    reads: "`net/snmp6`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: ip::IPV6,
    absent: &[],
};

pub(crate) static ICMP: Object = Object {
    index: 582,
    help: 583,
    name: "ICMP",
    meaning: "Counters of ICMP, the control messages of IPv4. From /proc/net/snmp.",
    note: namespace!(""),
    reads: "`net/snmp`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: icmp::ICMP,
    absent: &[],
};

pub(crate) static ICMPV6: Object = Object {
    index: 1534,
    help: 1535,
    name: "ICMPv6",
    meaning: "Counters of ICMPv6, the control messages of IPv6. From /proc/net/snmp6.",
    note: namespace!(" A kernel without IPv6 has no such object."),
    reads: "`net/snmp6`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: icmp6::ICMPV6,
    absent: &[],
};

pub(crate) static TCPV4: Object = Object {
    index: 638,
    help: 639,
    name: "TCPv4",
    meaning: "Counters of TCP. Linux counts TCP over IPv4 and IPv6 together; only the connections \
         established and the sockets are told apart. From /proc/net/snmp, /proc/net/netstat \
         and /proc/net/sockstat.",
    note: namespace!(
        " **Linux counts TCP over IPv4 and IPv6 together**, and these counts are here, where \
         programs made for Windows look for them: on a machine that speaks both, they are \
         those of both, and TCPv6 leaves them out. Told apart are Connections Established, by \
         the version of the packets, and Sockets In Use, by the family of the socket."
    ),
    reads: "`net/snmp`, `net/netstat`, `net/sockstat`; on request `net/tcp` and `net/tcp6`, with a \
            line for each socket: milliseconds",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: tcp::TCPV4,
    absent: &[],
};

pub(crate) static TCPV6: Object = Object {
    index: 1530,
    help: 1531,
    name: "TCPv6",
    meaning: "Counters of TCP over IPv6, as far as Linux counts it apart: everything else is in \
         TCPv4. From /proc/net/sockstat6 and /proc/net/tcp6.",
    note: namespace!(" A kernel without IPv6 has no such object. See TCPv4 for what is not here."),
    reads: "`net/sockstat6`; on request `net/tcp6`, with a line for each socket: milliseconds",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: tcp::TCPV6,
    absent: &[
        absent(640, "Segments/sec", T::PERF_COUNTER_COUNTER, NO_SPLIT),
        absent(644, "Connections Active", T::PERF_COUNTER_RAWCOUNT, NO_SPLIT),
        absent(646, "Connections Passive", T::PERF_COUNTER_RAWCOUNT, NO_SPLIT),
        absent(648, "Connection Failures", T::PERF_COUNTER_RAWCOUNT, NO_SPLIT),
        absent(650, "Connections Reset", T::PERF_COUNTER_RAWCOUNT, NO_SPLIT),
        absent(652, "Segments Received/sec", T::PERF_COUNTER_COUNTER, NO_SPLIT),
        absent(654, "Segments Sent/sec", T::PERF_COUNTER_COUNTER, NO_SPLIT),
        absent(656, "Segments Retransmitted/sec", T::PERF_COUNTER_COUNTER, NO_SPLIT),
    ],
};

pub(crate) static UDPV4: Object = Object {
    index: 658,
    help: 659,
    name: "UDPv4",
    meaning: "Counters of UDP over IPv4. From /proc/net/snmp and /proc/net/sockstat.",
    note: namespace!(" UDP-Lite is not in it."),
    reads: "`net/snmp`, `net/sockstat`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: udp::UDPV4,
    absent: &[],
};

pub(crate) static UDPV6: Object = Object {
    index: 1532,
    help: 1533,
    name: "UDPv6",
    meaning: "Counters of UDP over IPv6. From /proc/net/snmp6 and /proc/net/sockstat6.",
    note: namespace!(" A kernel without IPv6 has no such object. UDP-Lite is not in it."),
    reads: "`net/snmp6`, `net/sockstat6`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: udp::UDPV6,
    absent: &[],
};
