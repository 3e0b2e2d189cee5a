//! UDPv4 658 and UDPv6 1532.

use super::{Counter, DetailLevel, T};

pub(super) const UDPV4: &[Counter] = &[
    Counter::new(438, 661, "Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `InDatagrams` + `OutDatagrams`")
        .means(
            "UDP datagrams received and sent each second. From InDatagrams + OutDatagrams of \
             Udp in /proc/net/snmp; with IPv6, Udp6InDatagrams + Udp6OutDatagrams in \
             /proc/net/snmp6.",
        )
        .differs("A received one counts when a program reads it."),
    Counter::new(446, 663, "Datagrams Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `InDatagrams`")
        .means(
            "UDP datagrams delivered to programs each second. From InDatagrams of Udp in \
             /proc/net/snmp; with IPv6, Udp6InDatagrams in /proc/net/snmp6.",
        )
        .differs("A datagram counts when a program reads it."),
    Counter::new(664, 665, "Datagrams No Port/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `NoPorts`")
        .means(
            "UDP datagrams received each second for ports where no program listens. From \
             NoPorts of Udp in /proc/net/snmp; with IPv6, Udp6NoPorts in /proc/net/snmp6.",
        ),
    Counter::new(666, 667, "Datagrams Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Udp `InErrors`")
        .means(
            "UDP datagrams that could not be delivered: no room in the buffer, or a wrong \
             checksum. From InErrors of Udp in /proc/net/snmp; with IPv6, Udp6InErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(442, 669, "Datagrams Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `OutDatagrams`")
        .means(
            "UDP datagrams sent each second. From OutDatagrams of Udp in /proc/net/snmp; with \
             IPv6, Udp6OutDatagrams in /proc/net/snmp6.",
        ),
    Counter::new(103200, 103201, "Receive Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `RcvbufErrors`")
        .means(
            "UDP datagrams lost each second because the receive buffer of a socket was full. \
             From RcvbufErrors of Udp in /proc/net/snmp; with IPv6, Udp6RcvbufErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(103202, 103203, "Send Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `SndbufErrors`")
        .means(
            "UDP datagrams not sent each second because a send buffer was full. From \
             SndbufErrors of Udp in /proc/net/snmp; with IPv6, Udp6SndbufErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(103204, 103205, "Datagrams Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `InCsumErrors`")
        .since("3.10")
        .means(
            "UDP datagrams received each second with a wrong checksum. From InCsumErrors of \
             Udp in /proc/net/snmp; with IPv6, Udp6InCsumErrors in /proc/net/snmp6.",
        ),
    Counter::new(103206, 103207, "Multicast Datagrams Ignored/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `IgnoredMulti`")
        .since("3.19")
        .means(
            "UDP datagrams to multicast groups each second that no socket wanted. From \
             IgnoredMulti of Udp in /proc/net/snmp; with IPv6, Udp6IgnoredMulti in \
             /proc/net/snmp6.",
        ),
    Counter::new(103208, 103209, "Memory Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Udp `MemErrors`")
        .since("5.11")
        .means(
            "UDP datagrams lost each second for lack of memory for all sockets. From MemErrors \
             of Udp in /proc/net/snmp; with IPv6, Udp6MemErrors in /proc/net/snmp6.",
        ),
    Counter::new(103134, 103147, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: UDP `inuse`")
        .means(
            "UDP sockets of IPv4 that are in use, listening ones included. From inuse of UDP \
             in /proc/net/sockstat.",
        ),
    Counter::new(103142, 103151, "Socket Buffer Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`net/sockstat`: UDP `mem` · page size")
        .means(
            "Memory for data of UDP sockets, over IPv4 and IPv6. From mem of UDP in \
             /proc/net/sockstat.",
        )
        .differs("Of all network namespaces."),
];

pub(super) const UDPV6: &[Counter] = &[
    Counter::new(438, 661, "Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6InDatagrams` + `Udp6OutDatagrams`")
        .means(
            "UDP datagrams received and sent each second. From InDatagrams + OutDatagrams of \
             Udp in /proc/net/snmp; with IPv6, Udp6InDatagrams + Udp6OutDatagrams in \
             /proc/net/snmp6.",
        )
        .differs("A received one counts when a program reads it."),
    Counter::new(446, 663, "Datagrams Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6InDatagrams`")
        .means(
            "UDP datagrams delivered to programs each second. From InDatagrams of Udp in \
             /proc/net/snmp; with IPv6, Udp6InDatagrams in /proc/net/snmp6.",
        )
        .differs("A datagram counts when a program reads it."),
    Counter::new(664, 665, "Datagrams No Port/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6NoPorts`")
        .means(
            "UDP datagrams received each second for ports where no program listens. From \
             NoPorts of Udp in /proc/net/snmp; with IPv6, Udp6NoPorts in /proc/net/snmp6.",
        ),
    Counter::new(666, 667, "Datagrams Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Udp6InErrors`")
        .means(
            "UDP datagrams that could not be delivered: no room in the buffer, or a wrong \
             checksum. From InErrors of Udp in /proc/net/snmp; with IPv6, Udp6InErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(442, 669, "Datagrams Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6OutDatagrams`")
        .means(
            "UDP datagrams sent each second. From OutDatagrams of Udp in /proc/net/snmp; with \
             IPv6, Udp6OutDatagrams in /proc/net/snmp6.",
        ),
    Counter::new(103200, 103201, "Receive Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6RcvbufErrors`")
        .means(
            "UDP datagrams lost each second because the receive buffer of a socket was full. \
             From RcvbufErrors of Udp in /proc/net/snmp; with IPv6, Udp6RcvbufErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(103202, 103203, "Send Buffer Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6SndbufErrors`")
        .means(
            "UDP datagrams not sent each second because a send buffer was full. From \
             SndbufErrors of Udp in /proc/net/snmp; with IPv6, Udp6SndbufErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(103204, 103205, "Datagrams Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6InCsumErrors`")
        .since("3.10")
        .means(
            "UDP datagrams received each second with a wrong checksum. From InCsumErrors of \
             Udp in /proc/net/snmp; with IPv6, Udp6InCsumErrors in /proc/net/snmp6.",
        ),
    Counter::new(103206, 103207, "Multicast Datagrams Ignored/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6IgnoredMulti`")
        .since("3.19")
        .means(
            "UDP datagrams to multicast groups each second that no socket wanted. From \
             IgnoredMulti of Udp in /proc/net/snmp; with IPv6, Udp6IgnoredMulti in \
             /proc/net/snmp6.",
        ),
    Counter::new(103208, 103209, "Memory Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Udp6MemErrors`")
        .since("5.11")
        .means(
            "UDP datagrams lost each second for lack of memory for all sockets. From MemErrors \
             of Udp in /proc/net/snmp; with IPv6, Udp6MemErrors in /proc/net/snmp6.",
        ),
    Counter::new(103134, 103149, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat6`: UDP6 `inuse`")
        .means(
            "UDP sockets of IPv6 that are in use, listening ones included. From inuse of UDP6 \
             in /proc/net/sockstat6.",
        ),
];
