//! The rows of the objects UDPv4 (title index 658) and UDPv6 (1532).

use super::{Counter, DetailLevel, File, ProtocolRow, Section, T, count, rate, sum};

const DATAGRAMS: Counter = rate(438, 661, "Datagrams/sec", "datagrams/s")
    .scale(-1)
    .means("UDP datagrams received and sent each second.")
    .differs("A received one counts when a program reads it.");
const DATAGRAMS_RECEIVED: Counter = rate(446, 663, "Datagrams Received/sec", "datagrams/s")
    .scale(-1)
    .means("UDP datagrams delivered to programs each second.")
    .differs("A datagram counts when a program reads it.");
const DATAGRAMS_NO_PORT: Counter = rate(664, 665, "Datagrams No Port/sec", "datagrams/s")
    .scale(-1)
    .means("UDP datagrams received each second for ports where no program listens.");
const DATAGRAMS_RECEIVED_ERRORS: Counter =
    count(666, 667, "Datagrams Received Errors", "datagrams").means(
        "UDP datagrams that could not be delivered: no room in the buffer, or a wrong checksum.",
    );
const DATAGRAMS_SENT: Counter = rate(442, 669, "Datagrams Sent/sec", "datagrams/s")
    .scale(-1)
    .means("UDP datagrams sent each second.");
const RECEIVE_BUFFER_ERRORS: Counter =
    rate(103_200, 103_201, "Receive Buffer Errors/sec", "datagrams/s")
        .means("UDP datagrams lost each second because the receive buffer of a socket was full.");
const SEND_BUFFER_ERRORS: Counter = rate(103_202, 103_203, "Send Buffer Errors/sec", "datagrams/s")
    .means("UDP datagrams not sent each second because a send buffer was full.");
const DATAGRAMS_RECEIVED_CHECKSUM_ERRORS: Counter =
    rate(103_204, 103_205, "Datagrams Received Checksum Errors/sec", "datagrams/s")
        .since("3.10")
        .means("UDP datagrams received each second with a wrong checksum.");
const MULTICAST_DATAGRAMS_IGNORED: Counter =
    rate(103_206, 103_207, "Multicast Datagrams Ignored/sec", "datagrams/s")
        .since("3.19")
        .means("UDP datagrams to multicast groups each second that no socket wanted.");
const MEMORY_ERRORS: Counter = rate(103_208, 103_209, "Memory Errors/sec", "datagrams/s")
    .since("5.11")
    .means("UDP datagrams lost each second for lack of memory for all sockets.");
const SOCKETS_IN_USE: Counter = count(103_134, 103_147, "Sockets In Use", "sockets")
    .means("UDP sockets of IPv4 that are in use, listening ones included.");
const SOCKET_BUFFER_BYTES: Counter =
    Counter::new(103_142, 103_151, "Socket Buffer Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .means("Memory for data of UDP sockets, over IPv4 and IPv6.")
        .differs("Of all network namespaces.");
const SOCKETS_IN_USE_V6: Counter = count(103_134, 103_149, "Sockets In Use", "sockets")
    .means("UDP sockets of IPv6 that are in use, listening ones included.");

pub(crate) static UDPV4_SECTIONS: &[Section] = &[
    Section { file: File::Snmp, name: "Udp", required: true },
    Section { file: File::Sockstat, name: "UDP", required: false },
];
pub(crate) const UDPV4_ROWS: &[ProtocolRow] = &[
    sum!(DATAGRAMS, Snmp "Udp", "InDatagrams" + "OutDatagrams"),
    sum!(DATAGRAMS_RECEIVED, Snmp "Udp", "InDatagrams"),
    sum!(DATAGRAMS_NO_PORT, Snmp "Udp", "NoPorts"),
    sum!(DATAGRAMS_RECEIVED_ERRORS, Snmp "Udp", "InErrors"),
    sum!(DATAGRAMS_SENT, Snmp "Udp", "OutDatagrams"),
    sum!(RECEIVE_BUFFER_ERRORS, Snmp "Udp", "RcvbufErrors"),
    sum!(SEND_BUFFER_ERRORS, Snmp "Udp", "SndbufErrors"),
    sum!(DATAGRAMS_RECEIVED_CHECKSUM_ERRORS, Snmp "Udp", "InCsumErrors"),
    sum!(MULTICAST_DATAGRAMS_IGNORED, Snmp "Udp", "IgnoredMulti"),
    sum!(MEMORY_ERRORS, Snmp "Udp", "MemErrors"),
    sum!(SOCKETS_IN_USE, Sockstat "UDP", "inuse"),
    ProtocolRow {
        counter: SOCKET_BUFFER_BYTES.from("`net/sockstat`: UDP `mem` · page size"),
        file: Some(File::Sockstat),
        fields: &["mem"],
    },
];

pub(crate) static UDPV6_SECTIONS: &[Section] = &[
    Section { file: File::Snmp6, name: "Udp6", required: true },
    Section { file: File::Sockstat6, name: "UDP6", required: false },
];
pub(crate) const UDPV6_ROWS: &[ProtocolRow] = &[
    sum!(DATAGRAMS, Snmp6 "Udp6", "InDatagrams" + "OutDatagrams"),
    sum!(DATAGRAMS_RECEIVED, Snmp6 "Udp6", "InDatagrams"),
    sum!(DATAGRAMS_NO_PORT, Snmp6 "Udp6", "NoPorts"),
    sum!(DATAGRAMS_RECEIVED_ERRORS, Snmp6 "Udp6", "InErrors"),
    sum!(DATAGRAMS_SENT, Snmp6 "Udp6", "OutDatagrams"),
    sum!(RECEIVE_BUFFER_ERRORS, Snmp6 "Udp6", "RcvbufErrors"),
    sum!(SEND_BUFFER_ERRORS, Snmp6 "Udp6", "SndbufErrors"),
    sum!(DATAGRAMS_RECEIVED_CHECKSUM_ERRORS, Snmp6 "Udp6", "InCsumErrors"),
    sum!(MULTICAST_DATAGRAMS_IGNORED, Snmp6 "Udp6", "IgnoredMulti"),
    sum!(MEMORY_ERRORS, Snmp6 "Udp6", "MemErrors"),
    sum!(SOCKETS_IN_USE_V6, Sockstat6 "UDP6", "inuse"),
];
