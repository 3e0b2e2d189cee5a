//! The rows of the objects ICMP (title index 582) and ICMPv6 (1534).

use super::{Counter, DetailLevel, File, ProtocolRow, Section, count, rate, sum};

const MESSAGES: Counter = rate(584, 585, "Messages/sec", "messages/s")
    .scale(-1)
    .means("ICMP messages received and sent each second, those received in error included.")
    .differs("Messages that could not be sent are not in it.");
const MESSAGES_RECEIVED: Counter = rate(586, 587, "Messages Received/sec", "messages/s")
    .scale(-1)
    .means("ICMP messages received each second, those in error included.");
const MESSAGES_RECEIVED_ERRORS: Counter = count(588, 589, "Messages Received Errors", "messages")
    .means("ICMP messages received that had errors: a wrong checksum, length or content.")
    .differs("Messages about connections that this machine does not know are in it.");
const RECEIVED_DEST_UNREACHABLE: Counter =
    count(590, 591, "Received Dest. Unreachable", "messages")
        .means("ICMP messages \"destination unreachable\" received since the machine was started.");
const RECEIVED_TIME_EXCEEDED: Counter = count(592, 593, "Received Time Exceeded", "messages")
    .means("ICMP messages \"time exceeded\" received since the machine was started.");
const RECEIVED_PARAMETER_PROBLEM: Counter =
    count(594, 595, "Received Parameter Problem", "messages")
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"parameter problem\" received since the machine was started.");
const RECEIVED_SOURCE_QUENCH: Counter = count(596, 597, "Received Source Quench", "messages")
    .detail(DetailLevel::WIZARD)
    .means("ICMP messages \"source quench\" received since the machine was started.");
const RECEIVED_REDIRECT: Counter = rate(598, 599, "Received Redirect/sec", "messages/s")
    .scale(-1)
    .means("ICMP messages \"redirect\" received each second.");
const RECEIVED_ECHO: Counter = rate(600, 601, "Received Echo/sec", "messages/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"echo\" received each second.");
const RECEIVED_ECHO_REPLY: Counter = rate(602, 603, "Received Echo Reply/sec", "messages/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"echo reply\" received each second.");
const RECEIVED_TIMESTAMP: Counter = rate(604, 605, "Received Timestamp/sec", "messages/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"timestamp\" received each second.");
const RECEIVED_TIMESTAMP_REPLY: Counter =
    rate(606, 607, "Received Timestamp Reply/sec", "messages/s")
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"timestamp reply\" received each second.");
const RECEIVED_ADDRESS_MASK: Counter = count(608, 609, "Received Address Mask", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"address mask request\" received since the machine was started.");
const RECEIVED_ADDRESS_MASK_REPLY: Counter =
    count(610, 611, "Received Address Mask Reply", "messages")
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"address mask reply\" received since the machine was started.");
const MESSAGES_SENT: Counter = rate(612, 613, "Messages Sent/sec", "messages/s")
    .scale(-1)
    .means("ICMP messages sent each second.")
    .differs("Messages that could not be sent are not in it.");
const MESSAGES_OUTBOUND_ERRORS: Counter = count(614, 615, "Messages Outbound Errors", "messages")
    .means("ICMP messages not sent because of problems within ICMP, such as lack of memory.");
const SENT_DESTINATION_UNREACHABLE: Counter =
    count(616, 617, "Sent Destination Unreachable", "messages")
        .means("ICMP messages \"destination unreachable\" sent since the machine was started.");
const SENT_TIME_EXCEEDED: Counter = count(618, 619, "Sent Time Exceeded", "messages")
    .means("ICMP messages \"time exceeded\" sent since the machine was started.");
const SENT_PARAMETER_PROBLEM: Counter = count(620, 621, "Sent Parameter Problem", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"parameter problem\" sent since the machine was started.");
const SENT_SOURCE_QUENCH: Counter = count(622, 623, "Sent Source Quench", "messages")
    .detail(DetailLevel::WIZARD)
    .means("ICMP messages \"source quench\" sent since the machine was started.");
const SENT_REDIRECT: Counter = rate(624, 625, "Sent Redirect/sec", "messages/s")
    .scale(-1)
    .means("ICMP messages \"redirect\" sent each second.");
const SENT_ECHO: Counter = rate(626, 627, "Sent Echo/sec", "messages/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"echo\" sent each second.");
const SENT_ECHO_REPLY: Counter = rate(628, 629, "Sent Echo Reply/sec", "messages/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"echo reply\" sent each second.");
const SENT_TIMESTAMP: Counter = rate(630, 631, "Sent Timestamp/sec", "messages/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"timestamp\" sent each second.");
const SENT_TIMESTAMP_REPLY: Counter = rate(632, 633, "Sent Timestamp Reply/sec", "messages/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"timestamp reply\" sent each second.");
const SENT_ADDRESS_MASK: Counter = count(634, 635, "Sent Address Mask", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"address mask request\" sent since the machine was started.");
const SENT_ADDRESS_MASK_REPLY: Counter = count(636, 637, "Sent Address Mask Reply", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"address mask reply\" sent since the machine was started.");
const MESSAGES_RECEIVED_CHECKSUM_ERRORS: Counter =
    rate(103_400, 103_401, "Messages Received Checksum Errors/sec", "messages/s")
        .since("3.10")
        .means("ICMP messages received with a wrong checksum each second.");
const MESSAGES_RATE_LIMITED_GLOBALLY: Counter =
    rate(103_402, 103_403, "Messages Rate Limited Globally/sec", "messages/s")
        .since("6.3")
        .means("ICMP messages not sent each second because of the limit for the whole machine.");
const MESSAGES_RATE_LIMITED_BY_HOST: Counter =
    rate(103_404, 103_405, "Messages Rate Limited by Host/sec", "messages/s")
        .since("6.3")
        .means("ICMP messages not sent each second because of the limit for one destination.");
const RECEIVED_PACKET_TOO_BIG: Counter = count(1536, 1537, "Received Packet Too Big", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"packet too big\" received since the machine was started.");
const RECEIVED_MEMBERSHIP_QUERY: Counter =
    count(1538, 1539, "Received Membership Query", "messages")
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"membership query\" received since the machine was started.");
const RECEIVED_MEMBERSHIP_REPORT: Counter =
    count(1540, 1541, "Received Membership Report", "messages")
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"membership report\" received since the machine was started.")
        .differs(
            "Reports of version 1 of MLD only; those of version 2 have a counter of their own.",
        );
const RECEIVED_MEMBERSHIP_REDUCTION: Counter =
    count(1542, 1543, "Received Membership Reduction", "messages")
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"membership reduction\" received since the machine was started.");
const RECEIVED_ROUTER_SOLICIT: Counter = count(1544, 1545, "Received Router Solicit", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"router solicitation\" received since the machine was started.");
const RECEIVED_ROUTER_ADVERT: Counter = count(1546, 1547, "Received Router Advert", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"router advertisement\" received since the machine was started.");
const RECEIVED_NEIGHBOR_SOLICIT: Counter =
    count(1550, 1551, "Received Neighbor Solicit", "messages")
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"neighbor solicitation\" received since the machine was started.");
const RECEIVED_NEIGHBOR_ADVERT: Counter = count(1552, 1553, "Received Neighbor Advert", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"neighbor advertisement\" received since the machine was started.");
const SENT_PACKET_TOO_BIG: Counter = count(1554, 1555, "Sent Packet Too Big", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"packet too big\" sent since the machine was started.");
const SENT_MEMBERSHIP_QUERY: Counter = count(1556, 1557, "Sent Membership Query", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"membership query\" sent since the machine was started.");
const SENT_MEMBERSHIP_REPORT: Counter = count(1558, 1559, "Sent Membership Report", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"membership report\" sent since the machine was started.")
    .differs("Reports of version 1 of MLD only; those of version 2 have a counter of their own.");
const SENT_MEMBERSHIP_REDUCTION: Counter =
    count(1560, 1561, "Sent Membership Reduction", "messages")
        .detail(DetailLevel::EXPERT)
        .means("ICMP messages \"membership reduction\" sent since the machine was started.");
const SENT_ROUTER_SOLICIT: Counter = count(1562, 1563, "Sent Router Solicit", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"router solicitation\" sent since the machine was started.");
const SENT_ROUTER_ADVERT: Counter = count(1564, 1565, "Sent Router Advert", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"router advertisement\" sent since the machine was started.");
const SENT_NEIGHBOR_SOLICIT: Counter = count(1566, 1567, "Sent Neighbor Solicit", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"neighbor solicitation\" sent since the machine was started.");
const SENT_NEIGHBOR_ADVERT: Counter = count(1568, 1569, "Sent Neighbor Advert", "messages")
    .detail(DetailLevel::EXPERT)
    .means("ICMP messages \"neighbor advertisement\" sent since the machine was started.");
const RECEIVED_MLDV2_REPORTS: Counter =
    rate(103_406, 103_407, "Received MLDv2 Reports/sec", "messages/s")
        .means("Membership reports of version 2 of MLD received each second.");
const SENT_MLDV2_REPORTS: Counter = rate(103_408, 103_409, "Sent MLDv2 Reports/sec", "messages/s")
    .means("Membership reports of version 2 of MLD sent each second.");

pub(crate) static ICMP_SECTIONS: &[Section] =
    &[Section { file: File::Snmp, name: "Icmp", required: true }];
pub(crate) const ICMP_ROWS: &[ProtocolRow] = &[
    sum!(MESSAGES, Snmp "Icmp", "InMsgs" + "OutMsgs"),
    sum!(MESSAGES_RECEIVED, Snmp "Icmp", "InMsgs"),
    sum!(MESSAGES_RECEIVED_ERRORS, Snmp "Icmp", "InErrors"),
    sum!(RECEIVED_DEST_UNREACHABLE, Snmp "Icmp", "InDestUnreachs"),
    sum!(RECEIVED_TIME_EXCEEDED, Snmp "Icmp", "InTimeExcds"),
    sum!(RECEIVED_PARAMETER_PROBLEM, Snmp "Icmp", "InParmProbs"),
    sum!(RECEIVED_SOURCE_QUENCH, Snmp "Icmp", "InSrcQuenchs"),
    sum!(RECEIVED_REDIRECT, Snmp "Icmp", "InRedirects"),
    sum!(RECEIVED_ECHO, Snmp "Icmp", "InEchos"),
    sum!(RECEIVED_ECHO_REPLY, Snmp "Icmp", "InEchoReps"),
    sum!(RECEIVED_TIMESTAMP, Snmp "Icmp", "InTimestamps"),
    sum!(RECEIVED_TIMESTAMP_REPLY, Snmp "Icmp", "InTimestampReps"),
    sum!(RECEIVED_ADDRESS_MASK, Snmp "Icmp", "InAddrMasks"),
    sum!(RECEIVED_ADDRESS_MASK_REPLY, Snmp "Icmp", "InAddrMaskReps"),
    sum!(MESSAGES_SENT, Snmp "Icmp", "OutMsgs"),
    sum!(MESSAGES_OUTBOUND_ERRORS, Snmp "Icmp", "OutErrors"),
    sum!(SENT_DESTINATION_UNREACHABLE, Snmp "Icmp", "OutDestUnreachs"),
    sum!(SENT_TIME_EXCEEDED, Snmp "Icmp", "OutTimeExcds"),
    sum!(SENT_PARAMETER_PROBLEM, Snmp "Icmp", "OutParmProbs"),
    sum!(SENT_SOURCE_QUENCH, Snmp "Icmp", "OutSrcQuenchs"),
    sum!(SENT_REDIRECT, Snmp "Icmp", "OutRedirects"),
    sum!(SENT_ECHO, Snmp "Icmp", "OutEchos"),
    sum!(SENT_ECHO_REPLY, Snmp "Icmp", "OutEchoReps"),
    sum!(SENT_TIMESTAMP, Snmp "Icmp", "OutTimestamps"),
    sum!(SENT_TIMESTAMP_REPLY, Snmp "Icmp", "OutTimestampReps"),
    sum!(SENT_ADDRESS_MASK, Snmp "Icmp", "OutAddrMasks"),
    sum!(SENT_ADDRESS_MASK_REPLY, Snmp "Icmp", "OutAddrMaskReps"),
    sum!(MESSAGES_RECEIVED_CHECKSUM_ERRORS, Snmp "Icmp", "InCsumErrors"),
    sum!(MESSAGES_RATE_LIMITED_GLOBALLY, Snmp "Icmp", "OutRateLimitGlobal"),
    sum!(MESSAGES_RATE_LIMITED_BY_HOST, Snmp "Icmp", "OutRateLimitHost"),
];

pub(crate) static ICMPV6_SECTIONS: &[Section] =
    &[Section { file: File::Snmp6, name: "Icmp6", required: true }];
pub(crate) const ICMPV6_ROWS: &[ProtocolRow] = &[
    sum!(MESSAGES, Snmp6 "Icmp6", "InMsgs" + "OutMsgs"),
    sum!(MESSAGES_RECEIVED, Snmp6 "Icmp6", "InMsgs"),
    sum!(MESSAGES_RECEIVED_ERRORS, Snmp6 "Icmp6", "InErrors"),
    sum!(RECEIVED_DEST_UNREACHABLE, Snmp6 "Icmp6", "InDestUnreachs"),
    sum!(RECEIVED_PACKET_TOO_BIG, Snmp6 "Icmp6", "InPktTooBigs"),
    sum!(RECEIVED_TIME_EXCEEDED, Snmp6 "Icmp6", "InTimeExcds"),
    sum!(RECEIVED_PARAMETER_PROBLEM, Snmp6 "Icmp6", "InParmProblems"),
    sum!(RECEIVED_REDIRECT, Snmp6 "Icmp6", "InRedirects"),
    sum!(RECEIVED_ECHO, Snmp6 "Icmp6", "InEchos"),
    sum!(RECEIVED_ECHO_REPLY, Snmp6 "Icmp6", "InEchoReplies"),
    sum!(RECEIVED_MEMBERSHIP_QUERY, Snmp6 "Icmp6", "InGroupMembQueries"),
    sum!(RECEIVED_MEMBERSHIP_REPORT, Snmp6 "Icmp6", "InGroupMembResponses"),
    sum!(RECEIVED_MEMBERSHIP_REDUCTION, Snmp6 "Icmp6", "InGroupMembReductions"),
    sum!(RECEIVED_ROUTER_SOLICIT, Snmp6 "Icmp6", "InRouterSolicits"),
    sum!(RECEIVED_ROUTER_ADVERT, Snmp6 "Icmp6", "InRouterAdvertisements"),
    sum!(RECEIVED_NEIGHBOR_SOLICIT, Snmp6 "Icmp6", "InNeighborSolicits"),
    sum!(RECEIVED_NEIGHBOR_ADVERT, Snmp6 "Icmp6", "InNeighborAdvertisements"),
    sum!(MESSAGES_SENT, Snmp6 "Icmp6", "OutMsgs"),
    sum!(MESSAGES_OUTBOUND_ERRORS, Snmp6 "Icmp6", "OutErrors"),
    sum!(SENT_DESTINATION_UNREACHABLE, Snmp6 "Icmp6", "OutDestUnreachs"),
    sum!(SENT_PACKET_TOO_BIG, Snmp6 "Icmp6", "OutPktTooBigs"),
    sum!(SENT_TIME_EXCEEDED, Snmp6 "Icmp6", "OutTimeExcds"),
    sum!(SENT_PARAMETER_PROBLEM, Snmp6 "Icmp6", "OutParmProblems"),
    sum!(SENT_REDIRECT, Snmp6 "Icmp6", "OutRedirects"),
    sum!(SENT_ECHO, Snmp6 "Icmp6", "OutEchos"),
    sum!(SENT_ECHO_REPLY, Snmp6 "Icmp6", "OutEchoReplies"),
    sum!(SENT_MEMBERSHIP_QUERY, Snmp6 "Icmp6", "OutGroupMembQueries"),
    sum!(SENT_MEMBERSHIP_REPORT, Snmp6 "Icmp6", "OutGroupMembResponses"),
    sum!(SENT_MEMBERSHIP_REDUCTION, Snmp6 "Icmp6", "OutGroupMembReductions"),
    sum!(SENT_ROUTER_SOLICIT, Snmp6 "Icmp6", "OutRouterSolicits"),
    sum!(SENT_ROUTER_ADVERT, Snmp6 "Icmp6", "OutRouterAdvertisements"),
    sum!(SENT_NEIGHBOR_SOLICIT, Snmp6 "Icmp6", "OutNeighborSolicits"),
    sum!(SENT_NEIGHBOR_ADVERT, Snmp6 "Icmp6", "OutNeighborAdvertisements"),
    sum!(MESSAGES_RECEIVED_CHECKSUM_ERRORS, Snmp6 "Icmp6", "InCsumErrors"),
    sum!(MESSAGES_RATE_LIMITED_BY_HOST, Snmp6 "Icmp6", "OutRateLimitHost"),
    sum!(RECEIVED_MLDV2_REPORTS, Snmp6 "Icmp6", "InMLDv2Reports"),
    sum!(SENT_MLDV2_REPORTS, Snmp6 "Icmp6", "OutMLDv2Reports"),
];
