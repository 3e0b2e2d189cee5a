//! TCPv4 638 and TCPv6 1530.

use super::{Counter, DetailLevel, T};

pub(super) const TCPV4: &[Counter] = &[
    Counter::new(640, 641, "Segments/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InSegs` + `OutSegs`")
        .means("Segments received and sent.")
        .differs(
            "Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it. Received \
            segments that the card or the kernel merged (GRO) count once.",
        ),
    Counter::new(642, 643, "Connections Established", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("connections")
        .from("`net/tcp`, `net/tcp6`: rows with `st` 01 or 08")
        .means("Connections in the states established and close-wait.")
        .differs(
            "IPv4 connections only, also those of IPv6 sockets (mapped addresses). Asked for, \
            both lists of sockets are read in full.",
        ),
    Counter::new(644, 645, "Connections Active", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `ActiveOpens`")
        .means("Connections that this machine opened.")
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(646, 647, "Connections Passive", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `PassiveOpens`")
        .means("Connections that others opened to this machine.")
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(648, 649, "Connection Failures", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `AttemptFails`")
        .means("Connections that failed while being opened.")
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(650, 651, "Connections Reset", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `EstabResets`")
        .means("Connections that ended without being closed by both sides.")
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(652, 653, "Segments Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InSegs`")
        .means("Segments received, those in error included.")
        .differs(
            "Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it. Segments \
            that the card or the kernel merged (GRO) count once.",
        ),
    Counter::new(654, 655, "Segments Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `OutSegs`")
        .means("Segments sent, without those that only repeat what was sent before.")
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(656, 657, "Segments Retransmitted/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `RetransSegs`")
        .means("Segments sent again because no acknowledgement came.")
        .differs("Linux counts TCP over IPv4 and IPv6 together: what goes over IPv6 is in it."),
    Counter::new(103100, 103101, "Connections Established IPv4 and IPv6", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("connections")
        .from("`net/snmp`: Tcp `CurrEstab`")
        .means("TCP connections in the states established and close-wait, over IPv4 and IPv6."),
    Counter::new(103102, 103103, "Segments Received Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InErrs`")
        .means("TCP segments received that were damaged, over IPv4 and IPv6."),
    Counter::new(103104, 103105, "Segments Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `InCsumErrors`")
        .since("3.10")
        .means("TCP segments received with a wrong checksum, over IPv4 and IPv6."),
    Counter::new(103106, 103107, "Resets Sent/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/snmp`: Tcp `OutRsts`")
        .means("TCP segments sent that reset a connection, over IPv4 and IPv6."),
    Counter::new(103108, 103109, "Listen Overflows/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("connections/s")
        .from("`net/netstat`: TcpExt `ListenOverflows`")
        .means(
            "Connections not accepted because the queue of a listening socket was full, over IPv4 \
            and IPv6.",
        ),
    Counter::new(103110, 103111, "Listen Drops/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("connections/s")
        .from("`net/netstat`: TcpExt `ListenDrops`")
        .means(
            "Requests for connections to listening sockets that were thrown away, for any reason, \
            over IPv4 and IPv6.",
        ),
    Counter::new(103112, 103113, "SYN Cookies Sent/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `SyncookiesSent`")
        .means("SYN cookies sent because a queue of requests was full, over IPv4 and IPv6."),
    Counter::new(103114, 103115, "Retransmission Time-outs/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("events/s")
        .from("`net/netstat`: TcpExt `TCPTimeouts`")
        .means("Time-outs after which segments were sent again, over IPv4 and IPv6."),
    Counter::new(103116, 103117, "Fast Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPFastRetrans`")
        .means("Segments sent again because acknowledgements told of a loss, over IPv4 and IPv6."),
    Counter::new(103118, 103119, "Slow Start Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPSlowStartRetrans`")
        .means(
            "Segments sent again while a connection recovered after a time-out, over IPv4 and \
            IPv6.",
        ),
    Counter::new(103120, 103121, "SYN Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPSynRetrans`")
        .since("3.15")
        .means("Requests and answers of new connections sent again, over IPv4 and IPv6."),
    Counter::new(103122, 103123, "Lost Retransmits/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPLostRetransmit`")
        .means("Segments sent again that were lost once more, over IPv4 and IPv6."),
    Counter::new(103124, 103125, "Spurious Time-outs/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("events/s")
        .from("`net/netstat`: TcpExt `TCPSpuriousRTOs`")
        .means("Time-outs that turned out to be needless, over IPv4 and IPv6."),
    Counter::new(103126, 103127, "Out of Order Segments/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPOFOQueue`")
        .means("Segments received before earlier ones and queued, over IPv4 and IPv6."),
    Counter::new(103128, 103129, "Backlog Drops/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("segments/s")
        .from("`net/netstat`: TcpExt `TCPBacklogDrop`")
        .means(
            "Segments thrown away because a busy socket had too many waiting, over IPv4 and IPv6.",
        ),
    Counter::new(103130, 103131, "Aborts on Memory/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("connections/s")
        .from("`net/netstat`: TcpExt `TCPAbortOnMemory`")
        .means("Connections aborted for lack of memory, over IPv4 and IPv6."),
    Counter::new(103132, 103133, "Memory Pressures/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("events/s")
        .from("`net/netstat`: TcpExt `TCPMemoryPressures`")
        .means("How often TCP came under memory pressure, over IPv4 and IPv6."),
    Counter::new(103134, 103135, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `inuse`")
        .means("Sockets of the IPv4 family in use, listening ones included."),
    Counter::new(103136, 103137, "Sockets Orphaned", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `orphan`")
        .means(
            "Sockets of both versions that no program has open any more, in all network \
            namespaces.",
        ),
    Counter::new(103138, 103139, "Sockets in Time Wait", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `tw`")
        .means("Closed connections of both versions in the state time-wait."),
    Counter::new(103140, 103141, "Sockets Allocated", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat`: TCP `alloc`")
        .means("Sockets of both versions that exist, in all network namespaces."),
    Counter::new(103142, 103143, "Socket Buffer Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`net/sockstat`: TCP `mem` · page size")
        .means("Memory for data of sockets of both versions, in all network namespaces."),
];

pub(super) const TCPV6: &[Counter] = &[
    Counter::new(103134, 103145, "Sockets In Use", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("sockets")
        .from("`net/sockstat6`: TCP6 `inuse`")
        .means("Sockets of the IPv6 family in use, listening ones included."),
    Counter::new(642, 643, "Connections Established", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("connections")
        .from("`net/tcp6`: rows with `st` 01 or 08")
        .means("Connections in the states established and close-wait.")
        .differs(
            "Without connections of IPv6 sockets whose packets are IPv4 (mapped addresses): TCPv4 \
            counts them.",
        ),
];
