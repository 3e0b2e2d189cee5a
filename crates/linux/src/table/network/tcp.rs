//! TCPv4 638 and TCPv6 1530.

use super::{Counter, DetailLevel, T};

pub(super) const TCPV4: &[Counter] = &[
    Counter::new(640, 641, "Segments/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InSegs` + `OutSegs`")
        .means(
            "TCP segments received and sent each second. TCP over IPv6 is in it. From InSegs + \
             OutSegs of Tcp in /proc/net/snmp.",
        )
        .differs(
            "Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it. Received \
            segments that the card or the kernel merged (GRO) count once.",
        ),
    Counter::new(642, 643, "Connections Established", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("connections")
        .from("`net/tcp`, `net/tcp6`: rows with `st` 01 or 08")
        .means(
            "TCP connections in the states established and close-wait, by the version of IP of \
             their packets. Counted in /proc/net/tcp and /proc/net/tcp6 when asked for.",
        )
        .differs(
            "IPv4 connections only, also those of IPv6 sockets (mapped addresses). Asked for, \
            both lists of sockets are read in full.",
        ),
    Counter::new(644, 645, "Connections Active", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `ActiveOpens`")
        .means(
            "TCP connections that this machine opened since it was started. TCP over IPv6 is \
             in it. From ActiveOpens of Tcp in /proc/net/snmp.",
        )
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(646, 647, "Connections Passive", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `PassiveOpens`")
        .means(
            "TCP connections that others opened to this machine since it was started. TCP over \
             IPv6 is in it. From PassiveOpens of Tcp in /proc/net/snmp.",
        )
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(648, 649, "Connection Failures", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `AttemptFails`")
        .means(
            "TCP connections that failed while being opened since the machine was started. TCP \
             over IPv6 is in it. From AttemptFails of Tcp in /proc/net/snmp.",
        )
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(650, 651, "Connections Reset", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `EstabResets`")
        .means(
            "TCP connections that were established and reset since the machine was started. \
             TCP over IPv6 is in it. From EstabResets of Tcp in /proc/net/snmp.",
        )
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(652, 653, "Segments Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InSegs`")
        .means(
            "TCP segments received each second, those in error included. TCP over IPv6 is in \
             it. From InSegs of Tcp in /proc/net/snmp.",
        )
        .differs(
            "Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it. Segments \
            that the card or the kernel merged (GRO) count once.",
        ),
    Counter::new(654, 655, "Segments Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `OutSegs`")
        .means(
            "TCP segments sent each second, without repeated ones. TCP over IPv6 is in it. \
             From OutSegs of Tcp in /proc/net/snmp.",
        )
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(656, 657, "Segments Retransmitted/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `RetransSegs`")
        .means(
            "TCP segments sent again each second because no acknowledgement came. TCP over \
             IPv6 is in it. From RetransSegs of Tcp in /proc/net/snmp.",
        )
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(103100, 103101, "Connections Established IPv4 and IPv6", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `CurrEstab`")
        .means(
            "TCP connections in the states established and close-wait. TCP over IPv6 is in it. \
             From CurrEstab of Tcp in /proc/net/snmp.",
        ),
    Counter::new(103102, 103103, "Segments Received Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InErrs`")
        .means(
            "TCP segments received each second that were damaged. TCP over IPv6 is in it. From \
             InErrs of Tcp in /proc/net/snmp.",
        ),
    Counter::new(103104, 103105, "Segments Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InCsumErrors`")
        .since("3.10")
        .means(
            "TCP segments received each second with a wrong checksum. TCP over IPv6 is in it. \
             From InCsumErrors of Tcp in /proc/net/snmp.",
        ),
    Counter::new(103106, 103107, "Resets Sent/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `OutRsts`")
        .means(
            "TCP segments sent each second that reset a connection. TCP over IPv6 is in it. \
             From OutRsts of Tcp in /proc/net/snmp.",
        ),
    Counter::new(103108, 103109, "Listen Overflows/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("connections/s")
        .from("`net/netstat`: TcpExt `ListenOverflows`")
        .means(
            "Connections not accepted each second because the queue of a listening socket was \
             full. TCP over IPv6 is in it. From ListenOverflows of TcpExt in \
             /proc/net/netstat.",
        ),
    Counter::new(103110, 103111, "Listen Drops/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("connections/s")
        .from("`net/netstat`: TcpExt `ListenDrops`")
        .means(
            "Requests for connections to listening sockets that were thrown away each second, \
             for any reason. TCP over IPv6 is in it. From ListenDrops of TcpExt in \
             /proc/net/netstat.",
        ),
    Counter::new(103112, 103113, "SYN Cookies Sent/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `SyncookiesSent`")
        .means(
            "SYN cookies sent each second because a queue of requests was full. TCP over IPv6 \
             is in it. From SyncookiesSent of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103114, 103115, "Retransmission Time-outs/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("events/s")
        .from("`net/netstat`: TcpExt `TCPTimeouts`")
        .means(
            "Time-outs each second after which segments were sent again. TCP over IPv6 is in \
             it. From TCPTimeouts of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103116, 103117, "Fast Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPFastRetrans`")
        .means(
            "Segments sent again each second because acknowledgements told of a loss. TCP over \
             IPv6 is in it. From TCPFastRetrans of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103118, 103119, "Slow Start Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPSlowStartRetrans`")
        .means(
            "Segments sent again each second while a connection recovered after a time-out. \
             TCP over IPv6 is in it. From TCPSlowStartRetrans of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103120, 103121, "SYN Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPSynRetrans`")
        .since("3.15")
        .means(
            "Requests and answers of new connections sent again each second. TCP over IPv6 is \
             in it. From TCPSynRetrans of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103122, 103123, "Lost Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPLostRetransmit`")
        .means(
            "Segments sent again that were lost once more, each second. TCP over IPv6 is in \
             it. From TCPLostRetransmit of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103124, 103125, "Spurious Time-outs/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("events/s")
        .from("`net/netstat`: TcpExt `TCPSpuriousRTOs`")
        .means(
            "Time-outs each second that turned out to be needless. TCP over IPv6 is in it. \
             From TCPSpuriousRTOs of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103126, 103127, "Out of Order Segments/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPOFOQueue`")
        .means(
            "Segments received each second before earlier ones and queued. TCP over IPv6 is in \
             it. From TCPOFOQueue of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103128, 103129, "Backlog Drops/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPBacklogDrop`")
        .means(
            "Segments thrown away each second because a busy socket had too many waiting. TCP \
             over IPv6 is in it. From TCPBacklogDrop of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103130, 103131, "Aborts on Memory/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("connections/s")
        .from("`net/netstat`: TcpExt `TCPAbortOnMemory`")
        .means(
            "Connections aborted each second for lack of memory. TCP over IPv6 is in it. From \
             TCPAbortOnMemory of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103132, 103133, "Memory Pressures/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("events/s")
        .from("`net/netstat`: TcpExt `TCPMemoryPressures`")
        .means(
            "How often each second TCP came under memory pressure. TCP over IPv6 is in it. \
             From TCPMemoryPressures of TcpExt in /proc/net/netstat.",
        ),
    Counter::new(103134, 103135, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `inuse`")
        .means(
            "TCP sockets of IPv4 that are in use, listening ones included. From inuse of TCP \
             in /proc/net/sockstat.",
        ),
    Counter::new(103136, 103137, "Sockets Orphaned", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `orphan`")
        .means(
            "TCP sockets that no program has open any more and that are not closed yet, over \
             IPv4 and IPv6. From orphan of TCP in /proc/net/sockstat.",
        )
        .differs("Of all network namespaces."),
    Counter::new(103138, 103139, "Sockets in Time Wait", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `tw`")
        .means(
            "Closed TCP connections that are kept for a while in time-wait, over IPv4 and \
             IPv6. From tw of TCP in /proc/net/sockstat.",
        ),
    Counter::new(103140, 103141, "Sockets Allocated", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `alloc`")
        .means(
            "TCP sockets that exist, in use or not, over IPv4 and IPv6. From alloc of TCP in \
             /proc/net/sockstat.",
        )
        .differs("Of all network namespaces."),
    Counter::new(103142, 103143, "Socket Buffer Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`net/sockstat`: TCP `mem` · page size")
        .means(
            "Memory for data of TCP sockets, over IPv4 and IPv6. From mem of TCP in \
             /proc/net/sockstat.",
        )
        .differs("Of all network namespaces."),
];

pub(super) const TCPV6: &[Counter] = &[
    Counter::new(103134, 103145, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat6`: TCP6 `inuse`")
        .means(
            "TCP sockets of IPv6 that are in use, listening ones included. From inuse of TCP6 \
             in /proc/net/sockstat6.",
        ),
    Counter::new(642, 643, "Connections Established", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("connections")
        .from("`net/tcp6`: rows with `st` 01 or 08")
        .means(
            "TCP connections in the states established and close-wait, by the version of IP of \
             their packets. Counted in /proc/net/tcp and /proc/net/tcp6 when asked for.",
        )
        .differs(
            "Without connections of IPv6 sockets whose packets are IPv4 (mapped addresses): TCPv4 \
            counts them.",
        ),
];
