//! IPv4 546 and IPv6 548.

use super::{Counter, DetailLevel, T};

pub(super) const IPV4: &[Counter] = &[
    Counter::new(438, 549, "Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `InReceives` + `OutRequests`")
        .means(
            "IP datagrams received and sent each second; forwarded ones count as received \
             only. From InReceives + OutRequests of Ip in /proc/net/snmp; with IPv6, \
             Ip6InReceives + Ip6OutRequests in /proc/net/snmp6.",
        )
        .differs(
            "Packets that the card or the kernel merged (GRO) count once. Before Linux 6.7, \
            forwarded datagrams are in it.",
        ),
    Counter::new(446, 551, "Datagrams Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `InReceives`")
        .means(
            "IP datagrams received each second, those in error and those to be forwarded \
             included. From InReceives of Ip in /proc/net/snmp; with IPv6, Ip6InReceives in \
             /proc/net/snmp6.",
        )
        .differs("Packets that the card or the kernel merged (GRO) count once."),
    Counter::new(552, 553, "Datagrams Received Header Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Ip `InHdrErrors`")
        .means(
            "Received datagrams thrown away for errors in their headers, an expired lifetime \
             included. From InHdrErrors of Ip in /proc/net/snmp; with IPv6, Ip6InHdrErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(554, 555, "Datagrams Received Address Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Ip `InAddrErrors`")
        .means(
            "Received datagrams thrown away because their destination was not valid for this \
             machine. From InAddrErrors of Ip in /proc/net/snmp; with IPv6, Ip6InAddrErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(556, 557, "Datagrams Forwarded/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `ForwDatagrams`")
        .means(
            "Received datagrams that this machine passed on to others each second. From \
             ForwDatagrams of Ip in /proc/net/snmp; with IPv6, Ip6OutForwDatagrams in \
             /proc/net/snmp6.",
        ),
    Counter::new(558, 559, "Datagrams Received Unknown Protocol", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Ip `InUnknownProtos`")
        .means(
            "Datagrams for this machine that were thrown away because nothing here handles \
             their protocol. From InUnknownProtos of Ip in /proc/net/snmp; with IPv6, \
             Ip6InUnknownProtos in /proc/net/snmp6.",
        ),
    Counter::new(560, 561, "Datagrams Received Discarded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Ip `InDiscards`")
        .means(
            "Received datagrams thrown away though nothing was wrong with them, for lack of \
             memory for example. From InDiscards of Ip in /proc/net/snmp; with IPv6, \
             Ip6InDiscards in /proc/net/snmp6.",
        ),
    Counter::new(562, 563, "Datagrams Received Delivered/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `InDelivers`")
        .means(
            "Received datagrams that were handed to the protocols above each second. From \
             InDelivers of Ip in /proc/net/snmp; with IPv6, Ip6InDelivers in /proc/net/snmp6.",
        )
        .differs("Packets that the card or the kernel merged (GRO) count once."),
    Counter::new(442, 565, "Datagrams Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `OutRequests`")
        .means(
            "Datagrams that the protocols of this machine asked IP to send each second. From \
             OutRequests of Ip in /proc/net/snmp; with IPv6, Ip6OutRequests in \
             /proc/net/snmp6.",
        )
        .differs("Before Linux 6.7, forwarded datagrams are in it."),
    Counter::new(566, 567, "Datagrams Outbound Discarded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Ip `OutDiscards`")
        .means(
            "Datagrams to send that were thrown away though nothing was wrong with them. From \
             OutDiscards of Ip in /proc/net/snmp; with IPv6, Ip6OutDiscards in \
             /proc/net/snmp6.",
        ),
    Counter::new(568, 569, "Datagrams Outbound No Route", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp`: Ip `OutNoRoutes`")
        .means(
            "Datagrams to send that were thrown away because there was no route to their \
             destination. From OutNoRoutes of Ip in /proc/net/snmp; with IPv6, Ip6OutNoRoutes \
             in /proc/net/snmp6.",
        ),
    Counter::new(570, 571, "Fragments Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("fragments/s")
        .from("`net/snmp`: Ip `ReasmReqds`")
        .means(
            "Fragments received each second that had to be put together here. From ReasmReqds \
             of Ip in /proc/net/snmp; with IPv6, Ip6ReasmReqds in /proc/net/snmp6.",
        ),
    Counter::new(572, 573, "Fragments Re-assembled/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `ReasmOKs`")
        .means(
            "Datagrams that were put together from fragments each second. From ReasmOKs of Ip \
             in /proc/net/snmp; with IPv6, Ip6ReasmOKs in /proc/net/snmp6.",
        ),
    Counter::new(574, 575, "Fragment Re-assembly Failures", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("failures")
        .from("`net/snmp`: Ip `ReasmFails`")
        .means(
            "How often fragments could not be put together, because of time-outs, errors or \
             lack of memory. From ReasmFails of Ip in /proc/net/snmp; with IPv6, Ip6ReasmFails \
             in /proc/net/snmp6.",
        ),
    Counter::new(576, 577, "Fragmented Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `FragOKs`")
        .means(
            "Datagrams that were split into fragments here each second. From FragOKs of Ip in \
             /proc/net/snmp; with IPv6, Ip6FragOKs in /proc/net/snmp6.",
        ),
    Counter::new(578, 579, "Fragmentation Failures", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("datagrams")
        .from("`net/snmp`: Ip `FragFails`")
        .means(
            "Datagrams thrown away because they had to be split and could not be. From \
             FragFails of Ip in /proc/net/snmp; with IPv6, Ip6FragFails in /proc/net/snmp6.",
        ),
    Counter::new(580, 581, "Fragments Created/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("fragments/s")
        .from("`net/snmp`: Ip `FragCreates`")
        .means(
            "Fragments that were made here each second by splitting datagrams. From \
             FragCreates of Ip in /proc/net/snmp; with IPv6, Ip6FragCreates in \
             /proc/net/snmp6.",
        ),
    Counter::new(264, 103301, "Bytes Received/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`net/netstat`: IpExt `InOctets`")
        .means(
            "Bytes of IP datagrams received each second, IP headers included. From InOctets of \
             IpExt in /proc/net/netstat; with IPv6, Ip6InOctets in /proc/net/snmp6.",
        ),
    Counter::new(506, 103303, "Bytes Sent/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`net/netstat`: IpExt `OutOctets`")
        .means(
            "Bytes of IP datagrams sent each second, IP headers and forwarded ones included. \
             From OutOctets of IpExt in /proc/net/netstat; with IPv6, Ip6OutOctets in \
             /proc/net/snmp6.",
        ),
    Counter::new(103304, 103305, "Datagrams Received Multicast/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/netstat`: IpExt `InMcastPkts`")
        .means(
            "Multicast datagrams received each second. From InMcastPkts of IpExt in \
             /proc/net/netstat; with IPv6, Ip6InMcastPkts in /proc/net/snmp6.",
        ),
    Counter::new(103306, 103307, "Datagrams Sent Multicast/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/netstat`: IpExt `OutMcastPkts`")
        .means(
            "Multicast datagrams sent each second. From OutMcastPkts of IpExt in \
             /proc/net/netstat; with IPv6, Ip6OutMcastPkts in /proc/net/snmp6.",
        ),
    Counter::new(103308, 103309, "Datagrams Received Broadcast/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/netstat`: IpExt `InBcastPkts`")
        .means(
            "Broadcast datagrams received each second. From InBcastPkts of IpExt in \
             /proc/net/netstat.",
        ),
    Counter::new(103310, 103311, "Datagrams Sent Broadcast/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/netstat`: IpExt `OutBcastPkts`")
        .means(
            "Broadcast datagrams sent each second. From OutBcastPkts of IpExt in \
             /proc/net/netstat.",
        ),
    Counter::new(103312, 103313, "Re-assembly Time-outs/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("failures/s")
        .from("`net/snmp`: Ip `ReasmTimeout`")
        .means(
            "Reassemblies given up each second because fragments did not come in time. From \
             ReasmTimeout of Ip in /proc/net/snmp; with IPv6, Ip6ReasmTimeout in \
             /proc/net/snmp6.",
        ),
    Counter::new(103314, 103315, "Datagrams Received No Route/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/netstat`: IpExt `InNoRoutes`")
        .means(
            "Received datagrams thrown away each second because there was no route for them. \
             From InNoRoutes of IpExt in /proc/net/netstat; with IPv6, Ip6InNoRoutes in \
             /proc/net/snmp6.",
        ),
    Counter::new(103316, 103317, "Datagrams Received Truncated/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/netstat`: IpExt `InTruncatedPkts`")
        .means(
            "Received datagrams thrown away each second because they were shorter than they \
             said. From InTruncatedPkts of IpExt in /proc/net/netstat; with IPv6, \
             Ip6InTruncatedPkts in /proc/net/snmp6.",
        ),
    Counter::new(103318, 103319, "Datagrams Received Congestion/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/netstat`: IpExt `InCEPkts`")
        .since("3.12")
        .means(
            "Datagrams received each second that a router marked because of congestion (ECN). \
             From InCEPkts of IpExt in /proc/net/netstat; with IPv6, Ip6InCEPkts in \
             /proc/net/snmp6.",
        ),
    Counter::new(103320, 103321, "Datagrams Transmitted/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp`: Ip `OutTransmits`")
        .since("6.7")
        .means(
            "Datagrams handed to the interfaces each second, forwarded ones included. From \
             OutTransmits of Ip in /proc/net/snmp; with IPv6, Ip6OutTransmits in \
             /proc/net/snmp6.",
        ),
];

pub(super) const IPV6: &[Counter] = &[
    Counter::new(438, 549, "Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InReceives` + `Ip6OutRequests`")
        .means(
            "IP datagrams received and sent each second; forwarded ones count as received \
             only. From InReceives + OutRequests of Ip in /proc/net/snmp; with IPv6, \
             Ip6InReceives + Ip6OutRequests in /proc/net/snmp6.",
        )
        .differs("Packets that the card or the kernel merged (GRO) count once."),
    Counter::new(446, 551, "Datagrams Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InReceives`")
        .means(
            "IP datagrams received each second, those in error and those to be forwarded \
             included. From InReceives of Ip in /proc/net/snmp; with IPv6, Ip6InReceives in \
             /proc/net/snmp6.",
        )
        .differs("Packets that the card or the kernel merged (GRO) count once."),
    Counter::new(552, 553, "Datagrams Received Header Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Ip6InHdrErrors`")
        .means(
            "Received datagrams thrown away for errors in their headers, an expired lifetime \
             included. From InHdrErrors of Ip in /proc/net/snmp; with IPv6, Ip6InHdrErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(554, 555, "Datagrams Received Address Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Ip6InAddrErrors`")
        .means(
            "Received datagrams thrown away because their destination was not valid for this \
             machine. From InAddrErrors of Ip in /proc/net/snmp; with IPv6, Ip6InAddrErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(556, 557, "Datagrams Forwarded/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6OutForwDatagrams`")
        .means(
            "Received datagrams that this machine passed on to others each second. From \
             ForwDatagrams of Ip in /proc/net/snmp; with IPv6, Ip6OutForwDatagrams in \
             /proc/net/snmp6.",
        ),
    Counter::new(558, 559, "Datagrams Received Unknown Protocol", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Ip6InUnknownProtos`")
        .means(
            "Datagrams for this machine that were thrown away because nothing here handles \
             their protocol. From InUnknownProtos of Ip in /proc/net/snmp; with IPv6, \
             Ip6InUnknownProtos in /proc/net/snmp6.",
        ),
    Counter::new(560, 561, "Datagrams Received Discarded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Ip6InDiscards`")
        .means(
            "Received datagrams thrown away though nothing was wrong with them, for lack of \
             memory for example. From InDiscards of Ip in /proc/net/snmp; with IPv6, \
             Ip6InDiscards in /proc/net/snmp6.",
        ),
    Counter::new(562, 563, "Datagrams Received Delivered/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InDelivers`")
        .means(
            "Received datagrams that were handed to the protocols above each second. From \
             InDelivers of Ip in /proc/net/snmp; with IPv6, Ip6InDelivers in /proc/net/snmp6.",
        )
        .differs("Packets that the card or the kernel merged (GRO) count once."),
    Counter::new(442, 565, "Datagrams Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6OutRequests`")
        .means(
            "Datagrams that the protocols of this machine asked IP to send each second. From \
             OutRequests of Ip in /proc/net/snmp; with IPv6, Ip6OutRequests in \
             /proc/net/snmp6.",
        ),
    Counter::new(566, 567, "Datagrams Outbound Discarded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Ip6OutDiscards`")
        .means(
            "Datagrams to send that were thrown away though nothing was wrong with them. From \
             OutDiscards of Ip in /proc/net/snmp; with IPv6, Ip6OutDiscards in \
             /proc/net/snmp6.",
        ),
    Counter::new(568, 569, "Datagrams Outbound No Route", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams")
        .from("`net/snmp6`: `Ip6OutNoRoutes`")
        .means(
            "Datagrams to send that were thrown away because there was no route to their \
             destination. From OutNoRoutes of Ip in /proc/net/snmp; with IPv6, Ip6OutNoRoutes \
             in /proc/net/snmp6.",
        ),
    Counter::new(570, 571, "Fragments Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("fragments/s")
        .from("`net/snmp6`: `Ip6ReasmReqds`")
        .means(
            "Fragments received each second that had to be put together here. From ReasmReqds \
             of Ip in /proc/net/snmp; with IPv6, Ip6ReasmReqds in /proc/net/snmp6.",
        ),
    Counter::new(572, 573, "Fragments Re-assembled/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6ReasmOKs`")
        .means(
            "Datagrams that were put together from fragments each second. From ReasmOKs of Ip \
             in /proc/net/snmp; with IPv6, Ip6ReasmOKs in /proc/net/snmp6.",
        ),
    Counter::new(574, 575, "Fragment Re-assembly Failures", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("failures")
        .from("`net/snmp6`: `Ip6ReasmFails`")
        .means(
            "How often fragments could not be put together, because of time-outs, errors or \
             lack of memory. From ReasmFails of Ip in /proc/net/snmp; with IPv6, Ip6ReasmFails \
             in /proc/net/snmp6.",
        ),
    Counter::new(576, 577, "Fragmented Datagrams/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6FragOKs`")
        .means(
            "Datagrams that were split into fragments here each second. From FragOKs of Ip in \
             /proc/net/snmp; with IPv6, Ip6FragOKs in /proc/net/snmp6.",
        ),
    Counter::new(578, 579, "Fragmentation Failures", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("datagrams")
        .from("`net/snmp6`: `Ip6FragFails`")
        .means(
            "Datagrams thrown away because they had to be split and could not be. From \
             FragFails of Ip in /proc/net/snmp; with IPv6, Ip6FragFails in /proc/net/snmp6.",
        ),
    Counter::new(580, 581, "Fragments Created/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("fragments/s")
        .from("`net/snmp6`: `Ip6FragCreates`")
        .means(
            "Fragments that were made here each second by splitting datagrams. From \
             FragCreates of Ip in /proc/net/snmp; with IPv6, Ip6FragCreates in \
             /proc/net/snmp6.",
        ),
    Counter::new(264, 103301, "Bytes Received/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`net/snmp6`: `Ip6InOctets`")
        .means(
            "Bytes of IP datagrams received each second, IP headers included. From InOctets of \
             IpExt in /proc/net/netstat; with IPv6, Ip6InOctets in /proc/net/snmp6.",
        ),
    Counter::new(506, 103303, "Bytes Sent/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`net/snmp6`: `Ip6OutOctets`")
        .means(
            "Bytes of IP datagrams sent each second, IP headers and forwarded ones included. \
             From OutOctets of IpExt in /proc/net/netstat; with IPv6, Ip6OutOctets in \
             /proc/net/snmp6.",
        ),
    Counter::new(103304, 103305, "Datagrams Received Multicast/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InMcastPkts`")
        .means(
            "Multicast datagrams received each second. From InMcastPkts of IpExt in \
             /proc/net/netstat; with IPv6, Ip6InMcastPkts in /proc/net/snmp6.",
        ),
    Counter::new(103306, 103307, "Datagrams Sent Multicast/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6OutMcastPkts`")
        .means(
            "Multicast datagrams sent each second. From OutMcastPkts of IpExt in \
             /proc/net/netstat; with IPv6, Ip6OutMcastPkts in /proc/net/snmp6.",
        ),
    Counter::new(103312, 103313, "Re-assembly Time-outs/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("failures/s")
        .from("`net/snmp6`: `Ip6ReasmTimeout`")
        .means(
            "Reassemblies given up each second because fragments did not come in time. From \
             ReasmTimeout of Ip in /proc/net/snmp; with IPv6, Ip6ReasmTimeout in \
             /proc/net/snmp6.",
        ),
    Counter::new(103314, 103315, "Datagrams Received No Route/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InNoRoutes`")
        .means(
            "Received datagrams thrown away each second because there was no route for them. \
             From InNoRoutes of IpExt in /proc/net/netstat; with IPv6, Ip6InNoRoutes in \
             /proc/net/snmp6.",
        ),
    Counter::new(103316, 103317, "Datagrams Received Truncated/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InTruncatedPkts`")
        .means(
            "Received datagrams thrown away each second because they were shorter than they \
             said. From InTruncatedPkts of IpExt in /proc/net/netstat; with IPv6, \
             Ip6InTruncatedPkts in /proc/net/snmp6.",
        ),
    Counter::new(103318, 103319, "Datagrams Received Congestion/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InCEPkts`")
        .since("3.12")
        .means(
            "Datagrams received each second that a router marked because of congestion (ECN). \
             From InCEPkts of IpExt in /proc/net/netstat; with IPv6, Ip6InCEPkts in \
             /proc/net/snmp6.",
        ),
    Counter::new(103320, 103321, "Datagrams Transmitted/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6OutTransmits`")
        .since("6.7")
        .means(
            "Datagrams handed to the interfaces each second, forwarded ones included. From \
             OutTransmits of Ip in /proc/net/snmp; with IPv6, Ip6OutTransmits in \
             /proc/net/snmp6.",
        ),
    Counter::new(103322, 103323, "Datagrams Received Too Big/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("datagrams/s")
        .from("`net/snmp6`: `Ip6InTooBigErrors`")
        .means(
            "Datagrams not passed on because they were too big for the next link, each second. \
             From Ip6InTooBigErrors in /proc/net/snmp6.",
        ),
];
