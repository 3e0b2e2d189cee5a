//! UDPv4 658 and UDPv6 1532.

use super::{Counter, DetailLevel, T};

pub(super) const UDPV4: &[Counter] = &[
    Counter::new(438, 661, "Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `InDatagrams` + `OutDatagrams`")
        .means("Datagrams delivered to programs, and sent.")
        .differs("A received one counts when a program reads it."),
    Counter::new(446, 663, "Datagrams Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `InDatagrams`")
        .means("Datagrams delivered to programs.")
        .differs("A datagram counts when a program reads it."),
    Counter::new(664, 665, "Datagrams No Port/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `NoPorts`")
        .means("Datagrams received for ports where no program listens."),
    Counter::new(666, 667, "Datagrams Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Udp `InErrors`")
        .means(
            "Datagrams that could not be delivered for another reason than that nobody listens.",
        ),
    Counter::new(442, 669, "Datagrams Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `OutDatagrams`")
        .means("Datagrams sent."),
    Counter::new(103200, 103201, "Receive Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `RcvbufErrors`")
        .means("Datagrams lost because the receive buffer of a socket was full."),
    Counter::new(103202, 103203, "Send Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `SndbufErrors`")
        .means("Datagrams not sent because a send buffer was full."),
    Counter::new(103204, 103205, "Datagrams Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `InCsumErrors`")
        .since("3.10")
        .means("Datagrams received with a wrong checksum."),
    Counter::new(103206, 103207, "Multicast Datagrams Ignored/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `IgnoredMulti`")
        .since("3.19")
        .means("Datagrams to multicast groups that no socket wanted."),
    Counter::new(103208, 103209, "Memory Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `MemErrors`")
        .since("5.11")
        .means("Datagrams lost for lack of memory for all sockets."),
    Counter::new(103134, 103147, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: UDP `inuse`")
        .means("Sockets of the IPv4 family in use, listening ones included."),
    Counter::new(103142, 103151, "Socket Buffer Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`net/sockstat`: UDP `mem` · page size")
        .means("Memory for data of sockets of both versions, in all network namespaces."),
];

pub(super) const UDPV6: &[Counter] = &[
    Counter::new(438, 661, "Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6InDatagrams` + `Udp6OutDatagrams`")
        .means("Datagrams delivered to programs, and sent.")
        .differs("A received one counts when a program reads it."),
    Counter::new(446, 663, "Datagrams Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6InDatagrams`")
        .means("Datagrams delivered to programs.")
        .differs("A datagram counts when a program reads it."),
    Counter::new(664, 665, "Datagrams No Port/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6NoPorts`")
        .means("Datagrams received for ports where no program listens."),
    Counter::new(666, 667, "Datagrams Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Udp6InErrors`")
        .means(
            "Datagrams that could not be delivered for another reason than that nobody listens.",
        ),
    Counter::new(442, 669, "Datagrams Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6OutDatagrams`")
        .means("Datagrams sent."),
    Counter::new(103200, 103201, "Receive Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6RcvbufErrors`")
        .means("Datagrams lost because the receive buffer of a socket was full."),
    Counter::new(103202, 103203, "Send Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6SndbufErrors`")
        .means("Datagrams not sent because a send buffer was full."),
    Counter::new(103204, 103205, "Datagrams Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6InCsumErrors`")
        .since("3.10")
        .means("Datagrams received with a wrong checksum."),
    Counter::new(103206, 103207, "Multicast Datagrams Ignored/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6IgnoredMulti`")
        .since("3.19")
        .means("Datagrams to multicast groups that no socket wanted."),
    Counter::new(103208, 103209, "Memory Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6MemErrors`")
        .since("5.11")
        .means("Datagrams lost for lack of memory for all sockets."),
    Counter::new(103134, 103149, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat6`: UDP6 `inuse`")
        .means("Sockets of the IPv6 family in use, listening ones included."),
];
