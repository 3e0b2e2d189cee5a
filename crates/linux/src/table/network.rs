//! The tables of the objects Network Interface (title index 510), Network Adapter, and the protocols.
//!
//! A row of a protocol has a counter, and the fields of the kernel's file that add up to the
//! counter's value. The documented source is made from the fields, and the provider reads by them.
//! The parts of a counter that two versions of a protocol share are one constant; the list of each
//! version adds the fields.

mod icmp;
pub(crate) mod interface;
mod ip;
mod tcp;
mod udp;

pub(crate) use tcp::{CONNECTIONS_ESTABLISHED, SOCKET_BUFFER_BYTES};

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};
use std::ffi::CStr;

pub(crate) static OBJECTS: &[&Object] =
    &[&INTERFACE, &ADAPTER, &IPV4, &IPV6, &ICMP, &ICMPV6, &TCPV4, &TCPV6, &UDPV4, &UDPV6];

const NO_UNICAST: &str = "Linux does not count unicast packets apart: received multicast ones \
    are counted, broadcast ones and all that are sent are not.";
const NO_RSC: &str = "Linux reports no such counts in a file; drivers have them, each under its own names. \
     (Windows numbers this counter differently from version to version.)";
const NO_SPLIT: &str = "Linux counts TCP over IPv4 and IPv6 together, and TCPv4 has the counts of \
    both: here, too, they would count twice.";

/// A note of a protocol: the sentence on network namespaces, which every protocol's note has, and
/// `$text` behind it.
macro_rules! namespace {
    ($text:literal) => {
        concat!(
            "`/proc/net` shows the network namespace of the program that reads it: in a \
             container, the container's.",
            $text
        )
    };
}

/// A file below `/proc/net` with counts of protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    Snmp,
    Snmp6,
    Netstat,
    Sockstat,
    Sockstat6,
}

impl File {
    pub(crate) const ALL: [Self; 5] =
        [Self::Snmp, Self::Snmp6, Self::Netstat, Self::Sockstat, Self::Sockstat6];

    pub(crate) fn path(self) -> &'static CStr {
        match self {
            Self::Snmp => c"net/snmp",
            Self::Snmp6 => c"net/snmp6",
            Self::Netstat => c"net/netstat",
            Self::Sockstat => c"net/sockstat",
            Self::Sockstat6 => c"net/sockstat6",
        }
    }

    /// Whether every kernel has the file: only `snmp`. The other files need IPv6 or a newer kernel.
    pub(crate) fn is_always_there(self) -> bool {
        self == Self::Snmp
    }
}

/// The part of a file that has counts of a protocol. A protocol has at most one section in each file.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) file: File,
    /// The word before the colon of the section's lines; in `net/snmp6`, the beginning of every
    /// field's name.
    pub(crate) name: &'static str,
    /// Whether a file without this section is damaged.
    pub(crate) required: bool,
}

/// A counter of a protocol, with the fields of a file that add up to its value. If `file` is
/// `None`, the counter is filled by other code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtocolRow {
    pub(crate) counter: Counter,
    pub(crate) file: Option<File>,
    pub(crate) fields: &'static [&'static str],
}

/// A protocol: its object, its sections in the files, and the rows of its counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol {
    pub(crate) object: &'static Object,
    pub(crate) sections: &'static [Section],
    pub(crate) rows: &'static [ProtocolRow],
}

/// All protocols, in the order of the manual.
pub(crate) static PROTOCOLS: [Protocol; 8] = [
    Protocol { object: &IPV4, sections: ip::IPV4_SECTIONS, rows: ip::IPV4_ROWS },
    Protocol { object: &IPV6, sections: ip::IPV6_SECTIONS, rows: ip::IPV6_ROWS },
    Protocol { object: &ICMP, sections: icmp::ICMP_SECTIONS, rows: icmp::ICMP_ROWS },
    Protocol { object: &ICMPV6, sections: icmp::ICMPV6_SECTIONS, rows: icmp::ICMPV6_ROWS },
    Protocol { object: &TCPV4, sections: tcp::TCPV4_SECTIONS, rows: tcp::TCPV4_ROWS },
    Protocol { object: &TCPV6, sections: tcp::TCPV6_SECTIONS, rows: tcp::TCPV6_ROWS },
    Protocol { object: &UDPV4, sections: udp::UDPV4_SECTIONS, rows: udp::UDPV4_ROWS },
    Protocol { object: &UDPV6, sections: udp::UDPV6_SECTIONS, rows: udp::UDPV6_ROWS },
];

/// A [`ProtocolRow`] with a counter that is the sum of fields in a section of a file. The counter's
/// documented source is made from the file, the section and the fields.
macro_rules! sum {
    (@row $counter:expr, $file:ident, $head:expr, $others:expr, $($field:literal)+) => {
        ProtocolRow {
            counter: $counter.from(concat!($head, $others, "`")),
            file: Some(File::$file),
            fields: &[$($field),+],
        }
    };
    (@in $path:literal, $counter:expr, $file:ident $section:literal,
        $first:literal $(+ $other:literal)*) => {
        sum!(@row $counter, $file, concat!("`", $path, "`: ", $section, " `", $first),
            concat!($("` + `", $other,)* ""), $first $($other)*)
    };
    ($counter:expr, Snmp6 $section:literal, $first:literal $(+ $other:literal)*) => {
        sum!(@row $counter, Snmp6, concat!("`net/snmp6`: `", $section, $first),
            concat!($("` + `", $section, $other,)* ""), $first $($other)*)
    };
    ($counter:expr, Snmp $($rest:tt)+) => {
        sum!(@in "net/snmp", $counter, Snmp $($rest)+)
    };
    ($counter:expr, Netstat $($rest:tt)+) => {
        sum!(@in "net/netstat", $counter, Netstat $($rest)+)
    };
    ($counter:expr, Sockstat $($rest:tt)+) => {
        sum!(@in "net/sockstat", $counter, Sockstat $($rest)+)
    };
    ($counter:expr, Sockstat6 $($rest:tt)+) => {
        sum!(@in "net/sockstat6", $counter, Sockstat6 $($rest)+)
    };
}
use sum;

/// The counters of `N` rows, in their order.
const fn counters<const N: usize>(rows: &[ProtocolRow]) -> [Counter; N] {
    let mut counters = [rows[0].counter; N];
    let mut at = 0;
    while at < N {
        counters[at] = rows[at].counter;
        at += 1;
    }
    counters
}

/// A counter of a protocol that is shown as the number itself, not as a rate.
const fn count(index: u32, help: u32, name: &'static str, unit: &'static str) -> Counter {
    Counter::new(index, help, name, T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit(unit)
}

/// A counter of a protocol that is shown as its growth per second.
const fn rate(index: u32, help: u32, name: &'static str, unit: &'static str) -> Counter {
    Counter::new(index, help, name, T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit(unit)
}

/// The object of a protocol, without notes and without absent counters.
const fn protocol(
    index: u32,
    help: u32,
    name: &'static str,
    reads: &'static str,
    counters: &'static [Counter],
) -> Object {
    Object {
        index,
        help,
        name,
        meaning: "",
        note: "",
        reads,
        cost: Cost::Global,
        has_instances: false,
        brings: &[],
        counters,
        absent: &[],
    }
}

pub(crate) static INTERFACE: Object = Object {
    index: 510,
    help: 511,
    name: "Network Interface",
    meaning: "Counters of the network interfaces that this program sees: physical, virtual and \
         loopback ones.",
    note: namespace!(
        " Instances are the kernel's interfaces by name, including loopback (`lo`), bridges and \
         tunnels. As on Windows there is no `_Total`, because a packet may pass several interfaces. \
         If an interface has taken the name of another one since the previous collection, it has no \
         values in this collection, so that no rate mixes the counts of both. If a driver restarts \
         its counts, or wraps them at 32 bits, a rate is missing once. `/sys` must show the same \
         namespace, which is the case unless one of the two was mounted from elsewhere."
    ),
    reads: "`net/dev`; of each interface two attributes in `/sys/class/net`; one more for each \
            counter on request",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: interface::INTERFACE,
    absent: NO_INTERFACE,
};

pub(crate) static ADAPTER: Object = Object {
    index: 103_800,
    help: 103_801,
    name: "Network Adapter",
    meaning: "Counters of the network adapters: the interfaces with a device behind them, of the \
         machine or of a virtual machine's host.",
    note: namespace!(
        " Instances are those of Network Interface that have a `device` in `/sys/class/net/NAME`: \
         loopback, bridges, tunnels and the like are not included. The values are those of Network \
         Interface, of the same collection."
    ),
    reads: "what Network Interface reads, and `device/uevent` of each interface",
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
    absent(103_900, "Offloaded Connections", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_RSC),
    absent(103_902, "TCP Active RSC Connections", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_RSC),
    absent(103_904, "TCP RSC Coalesced Packets/sec", T::PERF_COUNTER_BULK_COUNT, NO_RSC),
    absent(103_906, "TCP RSC Exceptions/sec", T::PERF_COUNTER_BULK_COUNT, NO_RSC),
    absent(103_908, "TCP RSC Average Packet Size", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_RSC),
];

pub(crate) static IPV4: Object = Object {
    meaning: "Counters of version 4 of the Internet Protocol.",
    note: namespace!(""),
    ..protocol(
        546,
        547,
        "IPv4",
        "`net/snmp`, `net/netstat`",
        &counters::<{ ip::IPV4_ROWS.len() }>(ip::IPV4_ROWS),
    )
};

pub(crate) static IPV6: Object = Object {
    meaning: "Counters of version 6 of the Internet Protocol.",
    note: namespace!(" A kernel without IPv6 has no such object."),
    ..protocol(
        548,
        1529,
        "IPv6",
        "`net/snmp6`",
        &counters::<{ ip::IPV6_ROWS.len() }>(ip::IPV6_ROWS),
    )
};

pub(crate) static ICMP: Object = Object {
    meaning: "Counters of ICMP, the control messages of IPv4.",
    note: namespace!(""),
    ..protocol(
        582,
        583,
        "ICMP",
        "`net/snmp`",
        &counters::<{ icmp::ICMP_ROWS.len() }>(icmp::ICMP_ROWS),
    )
};

pub(crate) static ICMPV6: Object = Object {
    meaning: "Counters of ICMPv6, the control messages of IPv6.",
    note: namespace!(" A kernel without IPv6 has no such object."),
    ..protocol(
        1534,
        1535,
        "ICMPv6",
        "`net/snmp6`",
        &counters::<{ icmp::ICMPV6_ROWS.len() }>(icmp::ICMPV6_ROWS),
    )
};

pub(crate) static TCPV4: Object = Object {
    meaning: "Counters of TCP. Linux counts TCP over IPv4 and IPv6 together; only the connections \
         established and the sockets are told apart.",
    note: namespace!(
        " **Linux counts TCP over IPv4 and IPv6 together.** These counts are in this object, where \
         programs for Windows look for them. On a machine with both versions they are those of both, \
         and TCPv6 does not have them. Only Connections Established (by the version of the packets) and \
         Sockets In Use (by the family of the socket) are counted by version."
    ),
    ..protocol(
        638,
        639,
        "TCPv4",
        "`net/snmp`, `net/netstat`, `net/sockstat`; on request `net/tcp` and `net/tcp6`, with a \
            line for each socket: milliseconds",
        &counters::<{ tcp::TCPV4_ROWS.len() }>(tcp::TCPV4_ROWS),
    )
};

pub(crate) static TCPV6: Object = Object {
    meaning: "Counters of TCP over IPv6, as far as Linux counts it apart: everything else is in \
         TCPv4.",
    note: namespace!(
        " A kernel without IPv6 has no such object. See TCPv4 for the other counters."
    ),
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
    ..protocol(
        1530,
        1531,
        "TCPv6",
        "`net/sockstat6`; on request `net/tcp6`, with a line for each socket: milliseconds",
        &counters::<{ tcp::TCPV6_ROWS.len() }>(tcp::TCPV6_ROWS),
    )
};

pub(crate) static UDPV4: Object = Object {
    meaning: "Counters of UDP over IPv4.",
    note: namespace!(" UDP-Lite is not included."),
    ..protocol(
        658,
        659,
        "UDPv4",
        "`net/snmp`, `net/sockstat`",
        &counters::<{ udp::UDPV4_ROWS.len() }>(udp::UDPV4_ROWS),
    )
};

pub(crate) static UDPV6: Object = Object {
    meaning: "Counters of UDP over IPv6.",
    note: namespace!(" A kernel without IPv6 has no such object. UDP-Lite is not included."),
    ..protocol(
        1532,
        1533,
        "UDPv6",
        "`net/snmp6`, `net/sockstat6`",
        &counters::<{ udp::UDPV6_ROWS.len() }>(udp::UDPV6_ROWS),
    )
};
