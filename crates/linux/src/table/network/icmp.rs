//! ICMP 582.

use super::{Counter, DetailLevel, T};

pub(super) const ICMP: &[Counter] = &[
    Counter::new(584, 585, "Messages/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InMsgs` + `OutMsgs`")
        .means("Messages received, those in error included, and sent.")
        .differs("Messages that could not be sent are not in it."),
    Counter::new(586, 587, "Messages Received/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InMsgs`")
        .means("Messages received, those in error included."),
    Counter::new(588, 589, "Messages Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `InErrors`")
        .means("Messages received with errors.")
        .differs("Messages about connections that this machine does not know are in it."),
    Counter::new(590, 591, "Received Dest. Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `InDestUnreachs`")
        .means("Messages \"destination unreachable\" received."),
    Counter::new(592, 593, "Received Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `InTimeExcds`")
        .means("Messages \"time exceeded\" received."),
    Counter::new(594, 595, "Received Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `InParmProbs`")
        .means("Messages \"parameter problem\" received."),
    Counter::new(596, 597, "Received Source Quench", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("messages")
        .from("`net/snmp`: Icmp `InSrcQuenchs`")
        .means("Messages \"source quench\" received."),
    Counter::new(598, 599, "Received Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InRedirects`")
        .means("Messages \"redirect\" received."),
    Counter::new(600, 601, "Received Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InEchos`")
        .means("Messages \"echo\" received."),
    Counter::new(602, 603, "Received Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InEchoReps`")
        .means("Messages \"echo reply\" received."),
    Counter::new(604, 605, "Received Timestamp/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InTimestamps`")
        .means("Messages \"timestamp\" received."),
    Counter::new(606, 607, "Received Timestamp Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InTimestampReps`")
        .means("Messages \"timestamp reply\" received."),
    Counter::new(608, 609, "Received Address Mask", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `InAddrMasks`")
        .means("Messages \"address mask request\" received."),
    Counter::new(610, 611, "Received Address Mask Reply", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `InAddrMaskReps`")
        .means("Messages \"address mask reply\" received."),
    Counter::new(612, 613, "Messages Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutMsgs`")
        .means("Messages that were to be sent.")
        .differs("Messages that could not be sent are not in it."),
    Counter::new(614, 615, "Messages Outbound Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutErrors`")
        .means("Messages not sent because of problems within ICMP."),
    Counter::new(616, 617, "Sent Destination Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutDestUnreachs`")
        .means("Messages \"destination unreachable\" sent."),
    Counter::new(618, 619, "Sent Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutTimeExcds`")
        .means("Messages \"time exceeded\" sent."),
    Counter::new(620, 621, "Sent Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutParmProbs`")
        .means("Messages \"parameter problem\" sent."),
    Counter::new(622, 623, "Sent Source Quench", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutSrcQuenchs`")
        .means("Messages \"source quench\" sent."),
    Counter::new(624, 625, "Sent Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutRedirects`")
        .means("Messages \"redirect\" sent."),
    Counter::new(626, 627, "Sent Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutEchos`")
        .means("Messages \"echo\" sent."),
    Counter::new(628, 629, "Sent Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutEchoReps`")
        .means("Messages \"echo reply\" sent."),
    Counter::new(630, 631, "Sent Timestamp/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutTimestamps`")
        .means("Messages \"timestamp\" sent."),
    Counter::new(632, 633, "Sent Timestamp Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutTimestampReps`")
        .means("Messages \"timestamp reply\" sent."),
    Counter::new(634, 635, "Sent Address Mask", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutAddrMasks`")
        .means("Messages \"address mask request\" sent."),
    Counter::new(636, 637, "Sent Address Mask Reply", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutAddrMaskReps`")
        .means("Messages \"address mask reply\" sent."),
    Counter::new(103400, 103401, "Messages Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InCsumErrors`")
        .since("3.10")
        .means("Messages received with a wrong checksum."),
    Counter::new(103402, 103403, "Messages Rate Limited Globally/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutRateLimitGlobal`")
        .since("6.3")
        .means("Messages not sent because of the limit for the whole machine."),
    Counter::new(103404, 103405, "Messages Rate Limited by Host/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutRateLimitHost`")
        .since("6.3")
        .means("Messages not sent because of the limit for one destination."),
];
