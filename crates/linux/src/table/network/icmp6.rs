//! ICMPv6 1534.

use super::{Counter, DetailLevel, T};

pub(super) const ICMPV6: &[Counter] = &[
    Counter::new(584, 585, "Messages/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InMsgs` + `Icmp6OutMsgs`")
        .means(
            "ICMP messages received and sent each second, those received in error included. \
             From InMsgs + OutMsgs of Icmp in /proc/net/snmp; with IPv6, Icmp6InMsgs + \
             Icmp6OutMsgs in /proc/net/snmp6.",
        )
        .differs("Messages that could not be sent are not in it."),
    Counter::new(586, 587, "Messages Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InMsgs`")
        .means(
            "ICMP messages received each second, those in error included. From InMsgs of Icmp \
             in /proc/net/snmp; with IPv6, Icmp6InMsgs in /proc/net/snmp6.",
        ),
    Counter::new(588, 589, "Messages Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InErrors`")
        .means(
            "ICMP messages received that had errors: a wrong checksum, length or content. From \
             InErrors of Icmp in /proc/net/snmp; with IPv6, Icmp6InErrors in /proc/net/snmp6.",
        )
        .differs("Messages about connections that this machine does not know are in it."),
    Counter::new(590, 591, "Received Dest. Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InDestUnreachs`")
        .means(
            "ICMP messages \"destination unreachable\" received since the machine was started. \
             From InDestUnreachs of Icmp in /proc/net/snmp; with IPv6, Icmp6InDestUnreachs in \
             /proc/net/snmp6.",
        ),
    Counter::new(1536, 1537, "Received Packet Too Big", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InPktTooBigs`")
        .means(
            "ICMP messages \"packet too big\" received since the machine was started. From \
             Icmp6InPktTooBigs in /proc/net/snmp6.",
        ),
    Counter::new(592, 593, "Received Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InTimeExcds`")
        .means(
            "ICMP messages \"time exceeded\" received since the machine was started. From \
             InTimeExcds of Icmp in /proc/net/snmp; with IPv6, Icmp6InTimeExcds in \
             /proc/net/snmp6.",
        ),
    Counter::new(594, 595, "Received Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InParmProblems`")
        .means(
            "ICMP messages \"parameter problem\" received since the machine was started. From \
             InParmProbs of Icmp in /proc/net/snmp; with IPv6, Icmp6InParmProblems in \
             /proc/net/snmp6.",
        ),
    Counter::new(598, 599, "Received Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InRedirects`")
        .means(
            "ICMP messages \"redirect\" received each second. From InRedirects of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6InRedirects in /proc/net/snmp6.",
        ),
    Counter::new(600, 601, "Received Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InEchos`")
        .means(
            "ICMP messages \"echo\" received each second. From InEchos of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6InEchos in /proc/net/snmp6.",
        ),
    Counter::new(602, 603, "Received Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InEchoReplies`")
        .means(
            "ICMP messages \"echo reply\" received each second. From InEchoReps of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6InEchoReplies in /proc/net/snmp6.",
        ),
    Counter::new(1538, 1539, "Received Membership Query", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InGroupMembQueries`")
        .means(
            "ICMP messages \"membership query\" received since the machine was started. From \
             Icmp6InGroupMembQueries in /proc/net/snmp6.",
        ),
    Counter::new(1540, 1541, "Received Membership Report", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InGroupMembResponses`")
        .means(
            "ICMP messages \"membership report\" received since the machine was started. From \
             Icmp6InGroupMembResponses in /proc/net/snmp6.",
        )
        .differs("Those of version 1 of MLD only; reports of version 2 are counted apart."),
    Counter::new(1542, 1543, "Received Membership Reduction", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InGroupMembReductions`")
        .means(
            "ICMP messages \"membership reduction\" received since the machine was started. \
             From Icmp6InGroupMembReductions in /proc/net/snmp6.",
        ),
    Counter::new(1544, 1545, "Received Router Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InRouterSolicits`")
        .means(
            "ICMP messages \"router solicitation\" received since the machine was started. \
             From Icmp6InRouterSolicits in /proc/net/snmp6.",
        ),
    Counter::new(1546, 1547, "Received Router Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InRouterAdvertisements`")
        .means(
            "ICMP messages \"router advertisement\" received since the machine was started. \
             From Icmp6InRouterAdvertisements in /proc/net/snmp6.",
        ),
    Counter::new(1550, 1551, "Received Neighbor Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InNeighborSolicits`")
        .means(
            "ICMP messages \"neighbor solicitation\" received since the machine was started. \
             From Icmp6InNeighborSolicits in /proc/net/snmp6.",
        ),
    Counter::new(1552, 1553, "Received Neighbor Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InNeighborAdvertisements`")
        .means(
            "ICMP messages \"neighbor advertisement\" received since the machine was started. \
             From Icmp6InNeighborAdvertisements in /proc/net/snmp6.",
        ),
    Counter::new(612, 613, "Messages Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutMsgs`")
        .means(
            "ICMP messages sent each second. From OutMsgs of Icmp in /proc/net/snmp; with \
             IPv6, Icmp6OutMsgs in /proc/net/snmp6.",
        )
        .differs("Messages that could not be sent are not in it."),
    Counter::new(614, 615, "Messages Outbound Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutErrors`")
        .means(
            "ICMP messages not sent because of problems within ICMP, such as lack of memory. \
             From OutErrors of Icmp in /proc/net/snmp; with IPv6, Icmp6OutErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(616, 617, "Sent Destination Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutDestUnreachs`")
        .means(
            "ICMP messages \"destination unreachable\" sent since the machine was started. \
             From OutDestUnreachs of Icmp in /proc/net/snmp; with IPv6, Icmp6OutDestUnreachs \
             in /proc/net/snmp6.",
        ),
    Counter::new(1554, 1555, "Sent Packet Too Big", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutPktTooBigs`")
        .means(
            "ICMP messages \"packet too big\" sent since the machine was started. From \
             Icmp6OutPktTooBigs in /proc/net/snmp6.",
        ),
    Counter::new(618, 619, "Sent Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutTimeExcds`")
        .means(
            "ICMP messages \"time exceeded\" sent since the machine was started. From \
             OutTimeExcds of Icmp in /proc/net/snmp; with IPv6, Icmp6OutTimeExcds in \
             /proc/net/snmp6.",
        ),
    Counter::new(620, 621, "Sent Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutParmProblems`")
        .means(
            "ICMP messages \"parameter problem\" sent since the machine was started. From \
             OutParmProbs of Icmp in /proc/net/snmp; with IPv6, Icmp6OutParmProblems in \
             /proc/net/snmp6.",
        ),
    Counter::new(624, 625, "Sent Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutRedirects`")
        .means(
            "ICMP messages \"redirect\" sent each second. From OutRedirects of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6OutRedirects in /proc/net/snmp6.",
        ),
    Counter::new(626, 627, "Sent Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutEchos`")
        .means(
            "ICMP messages \"echo\" sent each second. From OutEchos of Icmp in /proc/net/snmp; \
             with IPv6, Icmp6OutEchos in /proc/net/snmp6.",
        ),
    Counter::new(628, 629, "Sent Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutEchoReplies`")
        .means(
            "ICMP messages \"echo reply\" sent each second. From OutEchoReps of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6OutEchoReplies in /proc/net/snmp6.",
        ),
    Counter::new(1556, 1557, "Sent Membership Query", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutGroupMembQueries`")
        .means(
            "ICMP messages \"membership query\" sent since the machine was started. From \
             Icmp6OutGroupMembQueries in /proc/net/snmp6.",
        ),
    Counter::new(1558, 1559, "Sent Membership Report", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutGroupMembResponses`")
        .means(
            "ICMP messages \"membership report\" sent since the machine was started. From \
             Icmp6OutGroupMembResponses in /proc/net/snmp6.",
        )
        .differs("Those of version 1 of MLD only; reports of version 2 are counted apart."),
    Counter::new(1560, 1561, "Sent Membership Reduction", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutGroupMembReductions`")
        .means(
            "ICMP messages \"membership reduction\" sent since the machine was started. From \
             Icmp6OutGroupMembReductions in /proc/net/snmp6.",
        ),
    Counter::new(1562, 1563, "Sent Router Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutRouterSolicits`")
        .means(
            "ICMP messages \"router solicitation\" sent since the machine was started. From \
             Icmp6OutRouterSolicits in /proc/net/snmp6.",
        ),
    Counter::new(1564, 1565, "Sent Router Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutRouterAdvertisements`")
        .means(
            "ICMP messages \"router advertisement\" sent since the machine was started. From \
             Icmp6OutRouterAdvertisements in /proc/net/snmp6.",
        ),
    Counter::new(1566, 1567, "Sent Neighbor Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutNeighborSolicits`")
        .means(
            "ICMP messages \"neighbor solicitation\" sent since the machine was started. From \
             Icmp6OutNeighborSolicits in /proc/net/snmp6.",
        ),
    Counter::new(1568, 1569, "Sent Neighbor Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutNeighborAdvertisements`")
        .means(
            "ICMP messages \"neighbor advertisement\" sent since the machine was started. From \
             Icmp6OutNeighborAdvertisements in /proc/net/snmp6.",
        ),
    Counter::new(103400, 103401, "Messages Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InCsumErrors`")
        .since("3.10")
        .means(
            "ICMP messages received with a wrong checksum each second. From InCsumErrors of \
             Icmp in /proc/net/snmp; with IPv6, Icmp6InCsumErrors in /proc/net/snmp6.",
        ),
    Counter::new(103404, 103405, "Messages Rate Limited by Host/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutRateLimitHost`")
        .since("6.3")
        .means(
            "ICMP messages not sent each second because of the limit for one destination. From \
             OutRateLimitHost of Icmp in /proc/net/snmp; with IPv6, Icmp6OutRateLimitHost in \
             /proc/net/snmp6.",
        ),
    Counter::new(103406, 103407, "Received MLDv2 Reports/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InMLDv2Reports`")
        .means(
            "Membership reports of version 2 of MLD received each second. From \
             Icmp6InMLDv2Reports in /proc/net/snmp6.",
        ),
    Counter::new(103408, 103409, "Sent MLDv2 Reports/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutMLDv2Reports`")
        .means(
            "Membership reports of version 2 of MLD sent each second. From \
             Icmp6OutMLDv2Reports in /proc/net/snmp6.",
        ),
];
