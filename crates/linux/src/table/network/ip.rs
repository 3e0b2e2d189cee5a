//! The rows of the objects IPv4 (title index 546) and IPv6 (548): their counters, and the fields from
//! which each counter is made.

use super::{Counter, DetailLevel, File, ProtocolRow, Section, T, count, rate, sum};

const DATAGRAMS: Counter = rate(438, 549, "Datagrams/sec", "datagrams/s")
    .scale(-1)
    .means("IP datagrams received and sent each second; forwarded ones count as received only.");
const DATAGRAMS_RECEIVED: Counter = rate(446, 551, "Datagrams Received/sec", "datagrams/s")
    .scale(-1)
    .means("IP datagrams received each second, those in error and those to be forwarded included.")
    .differs("Packets that the card or the kernel merged (GRO) count once.");
const DATAGRAMS_RECEIVED_HEADER_ERRORS: Counter =
    count(552, 553, "Datagrams Received Header Errors", "datagrams").means(
        "Received datagrams thrown away for errors in their headers, an expired lifetime \
         included.",
    );
const DATAGRAMS_RECEIVED_ADDRESS_ERRORS: Counter =
    count(554, 555, "Datagrams Received Address Errors", "datagrams").means(
        "Received datagrams thrown away because their destination was not valid for this \
         machine.",
    );
const DATAGRAMS_FORWARDED: Counter = rate(556, 557, "Datagrams Forwarded/sec", "datagrams/s")
    .scale(-1)
    .means("Received datagrams that this machine passed on to others each second.");
const DATAGRAMS_RECEIVED_UNKNOWN_PROTOCOL: Counter =
    count(558, 559, "Datagrams Received Unknown Protocol", "datagrams").means(
        "Datagrams for this machine that were thrown away because nothing here handles their \
         protocol.",
    );
const DATAGRAMS_RECEIVED_DISCARDED: Counter =
    count(560, 561, "Datagrams Received Discarded", "datagrams").means(
        "Received datagrams thrown away though nothing was wrong with them, for lack of memory \
         for example.",
    );
const DATAGRAMS_RECEIVED_DELIVERED: Counter =
    rate(562, 563, "Datagrams Received Delivered/sec", "datagrams/s")
        .scale(-1)
        .means("Received datagrams that were handed to the protocols above each second.")
        .differs("Packets that the card or the kernel merged (GRO) count once.");
const DATAGRAMS_SENT: Counter = rate(442, 565, "Datagrams Sent/sec", "datagrams/s")
    .scale(-1)
    .means("Datagrams that the protocols of this machine asked IP to send each second.");
const DATAGRAMS_OUTBOUND_DISCARDED: Counter =
    count(566, 567, "Datagrams Outbound Discarded", "datagrams")
        .means("Datagrams to send that were thrown away though nothing was wrong with them.");
const DATAGRAMS_OUTBOUND_NO_ROUTE: Counter =
    count(568, 569, "Datagrams Outbound No Route", "datagrams").means(
        "Datagrams to send that were thrown away because there was no route to their \
         destination.",
    );
const FRAGMENTS_RECEIVED: Counter = rate(570, 571, "Fragments Received/sec", "fragments/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("Fragments received each second that had to be put together here.");
const FRAGMENTS_RE_ASSEMBLED: Counter = rate(572, 573, "Fragments Re-assembled/sec", "datagrams/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("Datagrams that were put together from fragments each second.");
const FRAGMENT_RE_ASSEMBLY_FAILURES: Counter =
    count(574, 575, "Fragment Re-assembly Failures", "failures").detail(DetailLevel::EXPERT).means(
        "How often fragments could not be put together, because of time-outs, errors or lack of \
         memory.",
    );
const FRAGMENTED_DATAGRAMS: Counter = rate(576, 577, "Fragmented Datagrams/sec", "datagrams/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("Datagrams that were split into fragments here each second.");
const FRAGMENTATION_FAILURES: Counter = count(578, 579, "Fragmentation Failures", "datagrams")
    .detail(DetailLevel::EXPERT)
    .means("Datagrams thrown away because they had to be split and could not be.");
const FRAGMENTS_CREATED: Counter = rate(580, 581, "Fragments Created/sec", "fragments/s")
    .scale(-1)
    .detail(DetailLevel::EXPERT)
    .means("Fragments that were made here each second by splitting datagrams.");
const BYTES_RECEIVED: Counter =
    Counter::new(264, 103_301, "Bytes Received/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .means("Bytes of IP datagrams received each second, IP headers included.");
const BYTES_SENT: Counter =
    Counter::new(506, 103_303, "Bytes Sent/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .means("Bytes of IP datagrams sent each second, IP headers and forwarded ones included.");
const DATAGRAMS_RECEIVED_MULTICAST: Counter =
    rate(103_304, 103_305, "Datagrams Received Multicast/sec", "datagrams/s")
        .means("Multicast datagrams received each second.");
const DATAGRAMS_SENT_MULTICAST: Counter =
    rate(103_306, 103_307, "Datagrams Sent Multicast/sec", "datagrams/s")
        .means("Multicast datagrams sent each second.");
const DATAGRAMS_RECEIVED_BROADCAST: Counter =
    rate(103_308, 103_309, "Datagrams Received Broadcast/sec", "datagrams/s")
        .means("Broadcast datagrams received each second.");
const DATAGRAMS_SENT_BROADCAST: Counter =
    rate(103_310, 103_311, "Datagrams Sent Broadcast/sec", "datagrams/s")
        .means("Broadcast datagrams sent each second.");
const RE_ASSEMBLY_TIME_OUTS: Counter =
    rate(103_312, 103_313, "Re-assembly Time-outs/sec", "failures/s")
        .means("Reassemblies given up each second because fragments did not come in time.");
const DATAGRAMS_RECEIVED_NO_ROUTE: Counter =
    rate(103_314, 103_315, "Datagrams Received No Route/sec", "datagrams/s")
        .means("Received datagrams thrown away each second because there was no route for them.");
const DATAGRAMS_RECEIVED_TRUNCATED: Counter =
    rate(103_316, 103_317, "Datagrams Received Truncated/sec", "datagrams/s").means(
        "Received datagrams thrown away each second because they were shorter than they said.",
    );
const DATAGRAMS_RECEIVED_CONGESTION: Counter =
    rate(103_318, 103_319, "Datagrams Received Congestion/sec", "datagrams/s")
        .since("3.12")
        .means("Datagrams received each second that a router marked because of congestion (ECN).");
const DATAGRAMS_TRANSMITTED: Counter =
    rate(103_320, 103_321, "Datagrams Transmitted/sec", "datagrams/s")
        .since("6.7")
        .means("Datagrams handed to the interfaces each second, forwarded ones included.");
const DATAGRAMS_RECEIVED_TOO_BIG: Counter =
    rate(103_322, 103_323, "Datagrams Received Too Big/sec", "datagrams/s")
        .means("Datagrams not passed on because they were too big for the next link, each second.");

pub(crate) static IPV4_SECTIONS: &[Section] = &[
    Section { file: File::Snmp, name: "Ip", required: true },
    Section { file: File::Netstat, name: "IpExt", required: false },
];
pub(crate) const IPV4_ROWS: &[ProtocolRow] = &[
    sum!(DATAGRAMS
        .differs(
            "Packets that the card or the kernel merged (GRO) count once. Before Linux 6.7, \
             forwarded datagrams are in it.",
        ), Snmp "Ip", "InReceives" + "OutRequests"),
    sum!(DATAGRAMS_RECEIVED, Snmp "Ip", "InReceives"),
    sum!(DATAGRAMS_RECEIVED_HEADER_ERRORS, Snmp "Ip", "InHdrErrors"),
    sum!(DATAGRAMS_RECEIVED_ADDRESS_ERRORS, Snmp "Ip", "InAddrErrors"),
    sum!(DATAGRAMS_FORWARDED, Snmp "Ip", "ForwDatagrams"),
    sum!(DATAGRAMS_RECEIVED_UNKNOWN_PROTOCOL, Snmp "Ip", "InUnknownProtos"),
    sum!(DATAGRAMS_RECEIVED_DISCARDED, Snmp "Ip", "InDiscards"),
    sum!(DATAGRAMS_RECEIVED_DELIVERED, Snmp "Ip", "InDelivers"),
    sum!(DATAGRAMS_SENT
        .differs("Before Linux 6.7, forwarded datagrams are in it."), Snmp "Ip", "OutRequests"),
    sum!(DATAGRAMS_OUTBOUND_DISCARDED, Snmp "Ip", "OutDiscards"),
    sum!(DATAGRAMS_OUTBOUND_NO_ROUTE, Snmp "Ip", "OutNoRoutes"),
    sum!(FRAGMENTS_RECEIVED, Snmp "Ip", "ReasmReqds"),
    sum!(FRAGMENTS_RE_ASSEMBLED, Snmp "Ip", "ReasmOKs"),
    sum!(FRAGMENT_RE_ASSEMBLY_FAILURES, Snmp "Ip", "ReasmFails"),
    sum!(FRAGMENTED_DATAGRAMS, Snmp "Ip", "FragOKs"),
    sum!(FRAGMENTATION_FAILURES, Snmp "Ip", "FragFails"),
    sum!(FRAGMENTS_CREATED, Snmp "Ip", "FragCreates"),
    sum!(BYTES_RECEIVED, Netstat "IpExt", "InOctets"),
    sum!(BYTES_SENT, Netstat "IpExt", "OutOctets"),
    sum!(DATAGRAMS_RECEIVED_MULTICAST, Netstat "IpExt", "InMcastPkts"),
    sum!(DATAGRAMS_SENT_MULTICAST, Netstat "IpExt", "OutMcastPkts"),
    sum!(DATAGRAMS_RECEIVED_BROADCAST, Netstat "IpExt", "InBcastPkts"),
    sum!(DATAGRAMS_SENT_BROADCAST, Netstat "IpExt", "OutBcastPkts"),
    sum!(RE_ASSEMBLY_TIME_OUTS, Snmp "Ip", "ReasmTimeout"),
    sum!(DATAGRAMS_RECEIVED_NO_ROUTE, Netstat "IpExt", "InNoRoutes"),
    sum!(DATAGRAMS_RECEIVED_TRUNCATED, Netstat "IpExt", "InTruncatedPkts"),
    sum!(DATAGRAMS_RECEIVED_CONGESTION, Netstat "IpExt", "InCEPkts"),
    sum!(DATAGRAMS_TRANSMITTED, Snmp "Ip", "OutTransmits"),
];

pub(crate) static IPV6_SECTIONS: &[Section] =
    &[Section { file: File::Snmp6, name: "Ip6", required: true }];
pub(crate) const IPV6_ROWS: &[ProtocolRow] = &[
    sum!(DATAGRAMS
        .differs("Packets that the card or the kernel merged (GRO) count once."), Snmp6 "Ip6", "InReceives" + "OutRequests"),
    sum!(DATAGRAMS_RECEIVED, Snmp6 "Ip6", "InReceives"),
    sum!(DATAGRAMS_RECEIVED_HEADER_ERRORS, Snmp6 "Ip6", "InHdrErrors"),
    sum!(DATAGRAMS_RECEIVED_ADDRESS_ERRORS, Snmp6 "Ip6", "InAddrErrors"),
    sum!(DATAGRAMS_FORWARDED, Snmp6 "Ip6", "OutForwDatagrams"),
    sum!(DATAGRAMS_RECEIVED_UNKNOWN_PROTOCOL, Snmp6 "Ip6", "InUnknownProtos"),
    sum!(DATAGRAMS_RECEIVED_DISCARDED, Snmp6 "Ip6", "InDiscards"),
    sum!(DATAGRAMS_RECEIVED_DELIVERED, Snmp6 "Ip6", "InDelivers"),
    sum!(DATAGRAMS_SENT, Snmp6 "Ip6", "OutRequests"),
    sum!(DATAGRAMS_OUTBOUND_DISCARDED, Snmp6 "Ip6", "OutDiscards"),
    sum!(DATAGRAMS_OUTBOUND_NO_ROUTE, Snmp6 "Ip6", "OutNoRoutes"),
    sum!(FRAGMENTS_RECEIVED, Snmp6 "Ip6", "ReasmReqds"),
    sum!(FRAGMENTS_RE_ASSEMBLED, Snmp6 "Ip6", "ReasmOKs"),
    sum!(FRAGMENT_RE_ASSEMBLY_FAILURES, Snmp6 "Ip6", "ReasmFails"),
    sum!(FRAGMENTED_DATAGRAMS, Snmp6 "Ip6", "FragOKs"),
    sum!(FRAGMENTATION_FAILURES, Snmp6 "Ip6", "FragFails"),
    sum!(FRAGMENTS_CREATED, Snmp6 "Ip6", "FragCreates"),
    sum!(BYTES_RECEIVED, Snmp6 "Ip6", "InOctets"),
    sum!(BYTES_SENT, Snmp6 "Ip6", "OutOctets"),
    sum!(DATAGRAMS_RECEIVED_MULTICAST, Snmp6 "Ip6", "InMcastPkts"),
    sum!(DATAGRAMS_SENT_MULTICAST, Snmp6 "Ip6", "OutMcastPkts"),
    sum!(RE_ASSEMBLY_TIME_OUTS, Snmp6 "Ip6", "ReasmTimeout"),
    sum!(DATAGRAMS_RECEIVED_NO_ROUTE, Snmp6 "Ip6", "InNoRoutes"),
    sum!(DATAGRAMS_RECEIVED_TRUNCATED, Snmp6 "Ip6", "InTruncatedPkts"),
    sum!(DATAGRAMS_RECEIVED_CONGESTION, Snmp6 "Ip6", "InCEPkts"),
    sum!(DATAGRAMS_TRANSMITTED, Snmp6 "Ip6", "OutTransmits"),
    sum!(DATAGRAMS_RECEIVED_TOO_BIG, Snmp6 "Ip6", "InTooBigErrors"),
];
