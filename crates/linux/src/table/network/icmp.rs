//! ICMP 582.

use super::{Counter, DetailLevel, T};

pub(super) const ICMP: &[Counter] = &[
    Counter::new(584, 585, "Messages/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InMsgs` + `OutMsgs`")
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
        .from("`net/snmp`: Icmp `InMsgs`")
        .means(
            "ICMP messages received each second, those in error included. From InMsgs of Icmp \
             in /proc/net/snmp; with IPv6, Icmp6InMsgs in /proc/net/snmp6.",
        ),
    Counter::new(588, 589, "Messages Received Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `InErrors`")
        .means(
            "ICMP messages received that had errors: a wrong checksum, length or content. From \
             InErrors of Icmp in /proc/net/snmp; with IPv6, Icmp6InErrors in /proc/net/snmp6.",
        )
        .differs("Messages about connections that this machine does not know are in it."),
    Counter::new(590, 591, "Received Dest. Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `InDestUnreachs`")
        .means(
            "ICMP messages \"destination unreachable\" received since the machine was started. \
             From InDestUnreachs of Icmp in /proc/net/snmp; with IPv6, Icmp6InDestUnreachs in \
             /proc/net/snmp6.",
        ),
    Counter::new(592, 593, "Received Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `InTimeExcds`")
        .means(
            "ICMP messages \"time exceeded\" received since the machine was started. From \
             InTimeExcds of Icmp in /proc/net/snmp; with IPv6, Icmp6InTimeExcds in \
             /proc/net/snmp6.",
        ),
    Counter::new(594, 595, "Received Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `InParmProbs`")
        .means(
            "ICMP messages \"parameter problem\" received since the machine was started. From \
             InParmProbs of Icmp in /proc/net/snmp; with IPv6, Icmp6InParmProblems in \
             /proc/net/snmp6.",
        ),
    Counter::new(596, 597, "Received Source Quench", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("messages")
        .from("`net/snmp`: Icmp `InSrcQuenchs`")
        .means(
            "ICMP messages \"source quench\" received since the machine was started. From \
             InSrcQuenchs of Icmp in /proc/net/snmp.",
        ),
    Counter::new(598, 599, "Received Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InRedirects`")
        .means(
            "ICMP messages \"redirect\" received each second. From InRedirects of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6InRedirects in /proc/net/snmp6.",
        ),
    Counter::new(600, 601, "Received Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InEchos`")
        .means(
            "ICMP messages \"echo\" received each second. From InEchos of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6InEchos in /proc/net/snmp6.",
        ),
    Counter::new(602, 603, "Received Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InEchoReps`")
        .means(
            "ICMP messages \"echo reply\" received each second. From InEchoReps of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6InEchoReplies in /proc/net/snmp6.",
        ),
    Counter::new(604, 605, "Received Timestamp/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InTimestamps`")
        .means(
            "ICMP messages \"timestamp\" received each second. From InTimestamps of Icmp in \
             /proc/net/snmp.",
        ),
    Counter::new(606, 607, "Received Timestamp Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InTimestampReps`")
        .means(
            "ICMP messages \"timestamp reply\" received each second. From InTimestampReps of \
             Icmp in /proc/net/snmp.",
        ),
    Counter::new(608, 609, "Received Address Mask", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `InAddrMasks`")
        .means(
            "ICMP messages \"address mask request\" received since the machine was started. \
             From InAddrMasks of Icmp in /proc/net/snmp.",
        ),
    Counter::new(610, 611, "Received Address Mask Reply", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `InAddrMaskReps`")
        .means(
            "ICMP messages \"address mask reply\" received since the machine was started. From \
             InAddrMaskReps of Icmp in /proc/net/snmp.",
        ),
    Counter::new(612, 613, "Messages Sent/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutMsgs`")
        .means(
            "ICMP messages sent each second. From OutMsgs of Icmp in /proc/net/snmp; with \
             IPv6, Icmp6OutMsgs in /proc/net/snmp6.",
        )
        .differs("Messages that could not be sent are not in it."),
    Counter::new(614, 615, "Messages Outbound Errors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutErrors`")
        .means(
            "ICMP messages not sent because of problems within ICMP, such as lack of memory. \
             From OutErrors of Icmp in /proc/net/snmp; with IPv6, Icmp6OutErrors in \
             /proc/net/snmp6.",
        ),
    Counter::new(616, 617, "Sent Destination Unreachable", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutDestUnreachs`")
        .means(
            "ICMP messages \"destination unreachable\" sent since the machine was started. \
             From OutDestUnreachs of Icmp in /proc/net/snmp; with IPv6, Icmp6OutDestUnreachs \
             in /proc/net/snmp6.",
        ),
    Counter::new(618, 619, "Sent Time Exceeded", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutTimeExcds`")
        .means(
            "ICMP messages \"time exceeded\" sent since the machine was started. From \
             OutTimeExcds of Icmp in /proc/net/snmp; with IPv6, Icmp6OutTimeExcds in \
             /proc/net/snmp6.",
        ),
    Counter::new(620, 621, "Sent Parameter Problem", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutParmProbs`")
        .means(
            "ICMP messages \"parameter problem\" sent since the machine was started. From \
             OutParmProbs of Icmp in /proc/net/snmp; with IPv6, Icmp6OutParmProblems in \
             /proc/net/snmp6.",
        ),
    Counter::new(622, 623, "Sent Source Quench", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutSrcQuenchs`")
        .means(
            "ICMP messages \"source quench\" sent since the machine was started. From \
             OutSrcQuenchs of Icmp in /proc/net/snmp.",
        ),
    Counter::new(624, 625, "Sent Redirect/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutRedirects`")
        .means(
            "ICMP messages \"redirect\" sent each second. From OutRedirects of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6OutRedirects in /proc/net/snmp6.",
        ),
    Counter::new(626, 627, "Sent Echo/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutEchos`")
        .means(
            "ICMP messages \"echo\" sent each second. From OutEchos of Icmp in /proc/net/snmp; \
             with IPv6, Icmp6OutEchos in /proc/net/snmp6.",
        ),
    Counter::new(628, 629, "Sent Echo Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutEchoReps`")
        .means(
            "ICMP messages \"echo reply\" sent each second. From OutEchoReps of Icmp in \
             /proc/net/snmp; with IPv6, Icmp6OutEchoReplies in /proc/net/snmp6.",
        ),
    Counter::new(630, 631, "Sent Timestamp/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutTimestamps`")
        .means(
            "ICMP messages \"timestamp\" sent each second. From OutTimestamps of Icmp in \
             /proc/net/snmp.",
        ),
    Counter::new(632, 633, "Sent Timestamp Reply/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .detail(DetailLevel::EXPERT)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutTimestampReps`")
        .means(
            "ICMP messages \"timestamp reply\" sent each second. From OutTimestampReps of Icmp \
             in /proc/net/snmp.",
        ),
    Counter::new(634, 635, "Sent Address Mask", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutAddrMasks`")
        .means(
            "ICMP messages \"address mask request\" sent since the machine was started. From \
             OutAddrMasks of Icmp in /proc/net/snmp.",
        ),
    Counter::new(636, 637, "Sent Address Mask Reply", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("messages")
        .from("`net/snmp`: Icmp `OutAddrMaskReps`")
        .means(
            "ICMP messages \"address mask reply\" sent since the machine was started. From \
             OutAddrMaskReps of Icmp in /proc/net/snmp.",
        ),
    Counter::new(103400, 103401, "Messages Received Checksum Errors/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `InCsumErrors`")
        .since("3.10")
        .means(
            "ICMP messages received with a wrong checksum each second. From InCsumErrors of \
             Icmp in /proc/net/snmp; with IPv6, Icmp6InCsumErrors in /proc/net/snmp6.",
        ),
    Counter::new(103402, 103403, "Messages Rate Limited Globally/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutRateLimitGlobal`")
        .since("6.3")
        .means(
            "ICMP messages not sent each second because of the limit for the whole machine. \
             From OutRateLimitGlobal of Icmp in /proc/net/snmp.",
        ),
    Counter::new(103404, 103405, "Messages Rate Limited by Host/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::ADVANCED)
        .unit("messages/s")
        .from("`net/snmp`: Icmp `OutRateLimitHost`")
        .since("6.3")
        .means(
            "ICMP messages not sent each second because of the limit for one destination. From \
             OutRateLimitHost of Icmp in /proc/net/snmp; with IPv6, Icmp6OutRateLimitHost in \
             /proc/net/snmp6.",
        ),
];
