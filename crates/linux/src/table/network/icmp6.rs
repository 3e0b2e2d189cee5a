//! ICMPv6 1534.

use super::{Counter, DetailLevel, T};

pub(super) const ICMPV6: &[Counter] = &[
    Counter::new(584, 585, "Messages/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InMsgs` + `Icmp6OutMsgs`")
        .means("Messages received, those in error included, and sent.")
        .differs("Messages that could not be sent are not in it."),
    Counter::new(586, 587, "Messages Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InMsgs`")
        .means("Messages received, those in error included."),
    Counter::new(588, 589, "Messages Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InErrors`")
        .means("Messages received with errors.")
        .differs("Messages about connections that this machine does not know are in it."),
    Counter::new(590, 591, "Received Dest. Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InDestUnreachs`")
        .means("Messages \"destination unreachable\" received."),
    Counter::new(1536, 1537, "Received Packet Too Big", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InPktTooBigs`")
        .means("Messages \"packet too big\" received."),
    Counter::new(592, 593, "Received Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InTimeExcds`")
        .means("Messages \"time exceeded\" received."),
    Counter::new(594, 595, "Received Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InParmProblems`")
        .means("Messages \"parameter problem\" received."),
    Counter::new(598, 599, "Received Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InRedirects`")
        .means("Messages \"redirect\" received."),
    Counter::new(600, 601, "Received Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InEchos`")
        .means("Messages \"echo\" received."),
    Counter::new(602, 603, "Received Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InEchoReplies`")
        .means("Messages \"echo reply\" received."),
    Counter::new(1538, 1539, "Received Membership Query", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InGroupMembQueries`")
        .means("Messages \"membership query\" received."),
    Counter::new(1540, 1541, "Received Membership Report", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InGroupMembResponses`")
        .means("Messages \"membership report\" received.")
        .differs("Those of version 1 of MLD only; reports of version 2 are counted apart."),
    Counter::new(1542, 1543, "Received Membership Reduction", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InGroupMembReductions`")
        .means("Messages \"membership reduction\" received."),
    Counter::new(1544, 1545, "Received Router Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InRouterSolicits`")
        .means("Messages \"router solicitation\" received."),
    Counter::new(1546, 1547, "Received Router Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InRouterAdvertisements`")
        .means("Messages \"router advertisement\" received."),
    Counter::new(1550, 1551, "Received Neighbor Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InNeighborSolicits`")
        .means("Messages \"neighbor solicitation\" received."),
    Counter::new(1552, 1553, "Received Neighbor Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6InNeighborAdvertisements`")
        .means("Messages \"neighbor advertisement\" received."),
    Counter::new(612, 613, "Messages Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutMsgs`")
        .means("Messages that were to be sent.")
        .differs("Messages that could not be sent are not in it."),
    Counter::new(614, 615, "Messages Outbound Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutErrors`")
        .means("Messages not sent because of problems within ICMP."),
    Counter::new(616, 617, "Sent Destination Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutDestUnreachs`")
        .means("Messages \"destination unreachable\" sent."),
    Counter::new(1554, 1555, "Sent Packet Too Big", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutPktTooBigs`")
        .means("Messages \"packet too big\" sent."),
    Counter::new(618, 619, "Sent Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutTimeExcds`")
        .means("Messages \"time exceeded\" sent."),
    Counter::new(620, 621, "Sent Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutParmProblems`")
        .means("Messages \"parameter problem\" sent."),
    Counter::new(624, 625, "Sent Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutRedirects`")
        .means("Messages \"redirect\" sent."),
    Counter::new(626, 627, "Sent Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutEchos`")
        .means("Messages \"echo\" sent."),
    Counter::new(628, 629, "Sent Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutEchoReplies`")
        .means("Messages \"echo reply\" sent."),
    Counter::new(1556, 1557, "Sent Membership Query", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutGroupMembQueries`")
        .means("Messages \"membership query\" sent."),
    Counter::new(1558, 1559, "Sent Membership Report", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutGroupMembResponses`")
        .means("Messages \"membership report\" sent.")
        .differs("Those of version 1 of MLD only; reports of version 2 are counted apart."),
    Counter::new(1560, 1561, "Sent Membership Reduction", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutGroupMembReductions`")
        .means("Messages \"membership reduction\" sent."),
    Counter::new(1562, 1563, "Sent Router Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutRouterSolicits`")
        .means("Messages \"router solicitation\" sent."),
    Counter::new(1564, 1565, "Sent Router Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutRouterAdvertisements`")
        .means("Messages \"router advertisement\" sent."),
    Counter::new(1566, 1567, "Sent Neighbor Solicit", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutNeighborSolicits`")
        .means("Messages \"neighbor solicitation\" sent."),
    Counter::new(1568, 1569, "Sent Neighbor Advert", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp6`: `Icmp6OutNeighborAdvertisements`")
        .means("Messages \"neighbor advertisement\" sent."),
    Counter::new(103400, 103401, "Messages Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InCsumErrors`")
        .since("3.10")
        .means("Messages received with a wrong checksum."),
    Counter::new(103404, 103405, "Messages Rate Limited by Host/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutRateLimitHost`")
        .since("6.3")
        .means("Messages not sent because of the limit for one destination."),
    Counter::new(103406, 103407, "Received MLDv2 Reports/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6InMLDv2Reports`")
        .means("Membership reports of version 2 of MLD received."),
    Counter::new(103408, 103409, "Sent MLDv2 Reports/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp6`: `Icmp6OutMLDv2Reports`")
        .means("Membership reports of version 2 of MLD sent."),
];
