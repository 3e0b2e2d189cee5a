//! The rows of the objects TCPv4 (title index 638) and TCPv6 (1530).

use super::{Counter, DetailLevel, File, ProtocolRow, Section, T, count, rate, sum};

const SEGMENTS: Counter = rate(640, 641, "Segments/sec", "segments/s")
    .scale(-1)
    .means("TCP segments received and sent each second. TCP over IPv6 is in it.")
    .differs(
        "Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it. Received \
         segments that the card or the kernel merged (GRO) count once.",
    );
pub(crate) const CONNECTIONS_ESTABLISHED: Counter =
    count(642, 643, "Connections Established", "connections").on_request().means(
        "TCP connections in the states established and close-wait, by the version of IP of \
         their packets. Counted in /proc/net/tcp and /proc/net/tcp6 when asked for.",
    );
const CONNECTIONS_ACTIVE: Counter = count(644, 645, "Connections Active", "connections")
    .means("TCP connections that this machine opened since it was started. TCP over IPv6 is in it.")
    .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it.");
const CONNECTIONS_PASSIVE: Counter = count(646, 647, "Connections Passive", "connections")
    .means(
        "TCP connections that others opened to this machine since it was started. TCP over IPv6 \
         is in it.",
    )
    .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it.");
const CONNECTION_FAILURES: Counter = count(648, 649, "Connection Failures", "connections")
    .means(
        "TCP connections that failed while being opened since the machine was started. TCP over \
         IPv6 is in it.",
    )
    .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it.");
const CONNECTIONS_RESET: Counter = count(650, 651, "Connections Reset", "connections")
    .means(
        "TCP connections that were established and reset since the machine was started. TCP over \
         IPv6 is in it.",
    )
    .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it.");
const SEGMENTS_RECEIVED: Counter = rate(652, 653, "Segments Received/sec", "segments/s")
    .scale(-1)
    .means("TCP segments received each second, those in error included. TCP over IPv6 is in it.")
    .differs(
        "Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it. Segments \
         that the card or the kernel merged (GRO) count once.",
    );
const SEGMENTS_SENT: Counter = rate(654, 655, "Segments Sent/sec", "segments/s")
    .scale(-1)
    .means("TCP segments sent each second, without repeated ones. TCP over IPv6 is in it.")
    .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it.");
const SEGMENTS_RETRANSMITTED: Counter = rate(656, 657, "Segments Retransmitted/sec", "segments/s")
    .scale(-1)
    .means(
        "TCP segments sent again each second because no acknowledgement came. TCP over IPv6 is in \
         it.",
    )
    .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it.");
const CONNECTIONS_ESTABLISHED_IPV4_AND_IPV6: Counter =
    count(103_100, 103_101, "Connections Established IPv4 and IPv6", "connections")
        .means("TCP connections in the states established and close-wait. TCP over IPv6 is in it.");
const SEGMENTS_RECEIVED_ERRORS: Counter =
    rate(103_102, 103_103, "Segments Received Errors/sec", "segments/s")
        .means("TCP segments received each second that were damaged. TCP over IPv6 is in it.");
const SEGMENTS_RECEIVED_CHECKSUM_ERRORS: Counter =
    rate(103_104, 103_105, "Segments Received Checksum Errors/sec", "segments/s")
        .since("3.10")
        .means("TCP segments received each second with a wrong checksum. TCP over IPv6 is in it.");
const RESETS_SENT: Counter = rate(103_106, 103_107, "Resets Sent/sec", "segments/s")
    .means("TCP segments sent each second that reset a connection. TCP over IPv6 is in it.");
const LISTEN_OVERFLOWS: Counter = rate(103_108, 103_109, "Listen Overflows/sec", "connections/s")
    .means(
        "Connections not accepted each second because the queue of a listening socket was full. \
         TCP over IPv6 is in it.",
    );
const LISTEN_DROPS: Counter = rate(103_110, 103_111, "Listen Drops/sec", "connections/s").means(
    "Requests for connections to listening sockets that were thrown away each second, for any \
         reason. TCP over IPv6 is in it.",
);
const SYN_COOKIES_SENT: Counter = rate(103_112, 103_113, "SYN Cookies Sent/sec", "segments/s")
    .means(
        "SYN cookies sent each second because a queue of requests was full. TCP over IPv6 is in \
         it.",
    );
const RETRANSMISSION_TIME_OUTS: Counter =
    rate(103_114, 103_115, "Retransmission Time-outs/sec", "events/s").means(
        "Time-outs each second after which segments were sent again. TCP over IPv6 is in it.",
    );
const FAST_RETRANSMITS: Counter = rate(103_116, 103_117, "Fast Retransmits/sec", "segments/s")
    .means(
        "Segments sent again each second because acknowledgements told of a loss. TCP over IPv6 \
         is in it.",
    );
const SLOW_START_RETRANSMITS: Counter =
    rate(103_118, 103_119, "Slow Start Retransmits/sec", "segments/s").means(
        "Segments sent again each second while a connection recovered after a time-out. TCP over \
         IPv6 is in it.",
    );
const SYN_RETRANSMITS: Counter =
    rate(103_120, 103_121, "SYN Retransmits/sec", "segments/s").since("3.15").means(
        "Requests and answers of new connections sent again each second. TCP over IPv6 is in it.",
    );
const LOST_RETRANSMITS: Counter = rate(103_122, 103_123, "Lost Retransmits/sec", "segments/s")
    .means("Segments sent again that were lost once more, each second. TCP over IPv6 is in it.");
const SPURIOUS_TIME_OUTS: Counter = rate(103_124, 103_125, "Spurious Time-outs/sec", "events/s")
    .means("Time-outs each second that turned out to be needless. TCP over IPv6 is in it.");
const OUT_OF_ORDER_SEGMENTS: Counter =
    rate(103_126, 103_127, "Out of Order Segments/sec", "segments/s").means(
        "Segments received each second before earlier ones and queued. TCP over IPv6 is in it.",
    );
const BACKLOG_DROPS: Counter = rate(103_128, 103_129, "Backlog Drops/sec", "segments/s").means(
    "Segments thrown away each second because a busy socket had too many waiting. TCP over IPv6 \
         is in it.",
);
const ABORTS_ON_MEMORY: Counter = rate(103_130, 103_131, "Aborts on Memory/sec", "connections/s")
    .means("Connections aborted each second for lack of memory. TCP over IPv6 is in it.");
const MEMORY_PRESSURES: Counter = rate(103_132, 103_133, "Memory Pressures/sec", "events/s")
    .means("How often each second TCP came under memory pressure. TCP over IPv6 is in it.");
const SOCKETS_IN_USE: Counter = count(103_134, 103_135, "Sockets In Use", "sockets")
    .means("TCP sockets of IPv4 that are in use, listening ones included.");
const SOCKETS_ORPHANED: Counter = count(103_136, 103_137, "Sockets Orphaned", "sockets")
    .means(
        "TCP sockets that no program has open any more and that are not closed yet, over IPv4 and \
         IPv6.",
    )
    .differs("Of all network namespaces.");
const SOCKETS_IN_TIME_WAIT: Counter = count(103_138, 103_139, "Sockets in Time Wait", "sockets")
    .means("Closed TCP connections that are kept for a while in time-wait, over IPv4 and IPv6.");
const SOCKETS_ALLOCATED: Counter = count(103_140, 103_141, "Sockets Allocated", "sockets")
    .means("TCP sockets that exist, in use or not, over IPv4 and IPv6.")
    .differs("Of all network namespaces.");
pub(crate) const SOCKET_BUFFER_BYTES: Counter =
    Counter::new(103_142, 103_143, "Socket Buffer Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .means("Memory for data of TCP sockets, over IPv4 and IPv6.")
        .differs("Of all network namespaces.");
const SOCKETS_IN_USE_V6: Counter = count(103_134, 103_145, "Sockets In Use", "sockets")
    .means("TCP sockets of IPv6 that are in use, listening ones included.");

pub(crate) static TCPV4_SECTIONS: &[Section] = &[
    Section { file: File::Snmp, name: "Tcp", required: true },
    Section { file: File::Netstat, name: "TcpExt", required: false },
    Section { file: File::Sockstat, name: "TCP", required: false },
];
pub(crate) const TCPV4_ROWS: &[ProtocolRow] = &[
    sum!(SEGMENTS, Snmp "Tcp", "InSegs" + "OutSegs"),
    ProtocolRow {
        counter: CONNECTIONS_ESTABLISHED
            .differs(
                "IPv4 connections only, also those of IPv6 sockets (mapped addresses). Asked for, \
             both lists of sockets are read in full.",
            )
            .from("`net/tcp`, `net/tcp6`: rows with `st` 01 or 08"),
        file: None,
        fields: &[],
    },
    sum!(CONNECTIONS_ACTIVE, Snmp "Tcp", "ActiveOpens"),
    sum!(CONNECTIONS_PASSIVE, Snmp "Tcp", "PassiveOpens"),
    sum!(CONNECTION_FAILURES, Snmp "Tcp", "AttemptFails"),
    sum!(CONNECTIONS_RESET, Snmp "Tcp", "EstabResets"),
    sum!(SEGMENTS_RECEIVED, Snmp "Tcp", "InSegs"),
    sum!(SEGMENTS_SENT, Snmp "Tcp", "OutSegs"),
    sum!(SEGMENTS_RETRANSMITTED, Snmp "Tcp", "RetransSegs"),
    sum!(CONNECTIONS_ESTABLISHED_IPV4_AND_IPV6, Snmp "Tcp", "CurrEstab"),
    sum!(SEGMENTS_RECEIVED_ERRORS, Snmp "Tcp", "InErrs"),
    sum!(SEGMENTS_RECEIVED_CHECKSUM_ERRORS, Snmp "Tcp", "InCsumErrors"),
    sum!(RESETS_SENT, Snmp "Tcp", "OutRsts"),
    sum!(LISTEN_OVERFLOWS, Netstat "TcpExt", "ListenOverflows"),
    sum!(LISTEN_DROPS, Netstat "TcpExt", "ListenDrops"),
    sum!(SYN_COOKIES_SENT, Netstat "TcpExt", "SyncookiesSent"),
    sum!(RETRANSMISSION_TIME_OUTS, Netstat "TcpExt", "TCPTimeouts"),
    sum!(FAST_RETRANSMITS, Netstat "TcpExt", "TCPFastRetrans"),
    sum!(SLOW_START_RETRANSMITS, Netstat "TcpExt", "TCPSlowStartRetrans"),
    sum!(SYN_RETRANSMITS, Netstat "TcpExt", "TCPSynRetrans"),
    sum!(LOST_RETRANSMITS, Netstat "TcpExt", "TCPLostRetransmit"),
    sum!(SPURIOUS_TIME_OUTS, Netstat "TcpExt", "TCPSpuriousRTOs"),
    sum!(OUT_OF_ORDER_SEGMENTS, Netstat "TcpExt", "TCPOFOQueue"),
    sum!(BACKLOG_DROPS, Netstat "TcpExt", "TCPBacklogDrop"),
    sum!(ABORTS_ON_MEMORY, Netstat "TcpExt", "TCPAbortOnMemory"),
    sum!(MEMORY_PRESSURES, Netstat "TcpExt", "TCPMemoryPressures"),
    sum!(SOCKETS_IN_USE, Sockstat "TCP", "inuse"),
    sum!(SOCKETS_ORPHANED, Sockstat "TCP", "orphan"),
    sum!(SOCKETS_IN_TIME_WAIT, Sockstat "TCP", "tw"),
    sum!(SOCKETS_ALLOCATED, Sockstat "TCP", "alloc"),
    ProtocolRow {
        counter: SOCKET_BUFFER_BYTES.from("`net/sockstat`: TCP `mem` · page size"),
        file: Some(File::Sockstat),
        fields: &["mem"],
    },
];

pub(crate) static TCPV6_SECTIONS: &[Section] =
    &[Section { file: File::Sockstat6, name: "TCP6", required: false }];
pub(crate) const TCPV6_ROWS: &[ProtocolRow] = &[
    sum!(SOCKETS_IN_USE_V6, Sockstat6 "TCP6", "inuse"),
    ProtocolRow {
        counter: CONNECTIONS_ESTABLISHED
            .differs(
                "Without connections of IPv6 sockets whose packets are IPv4 (mapped addresses): \
             TCPv4 counts them.",
            )
            .from("`net/tcp6`: rows with `st` 01 or 08"),
        file: None,
        fields: &[],
    },
];
