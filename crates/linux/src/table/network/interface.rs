//! The counters of the object Network Interface (title index 510).

use super::{Counter, DetailLevel, T};

pub(super) const INTERFACE: &[Counter] = &[
    Counter::new(388, 513, "Bytes Total/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`net/dev`: receive `bytes` + transmit `bytes`")
        .means("Bytes that the interface received and sent each second.")
        .differs(
            "As the driver counts: most leave the frame check sequence out, some virtual \
            interfaces the frame header too.",
        ),
    Counter::new(400, 515, "Packets/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("packets/s")
        .from("`net/dev`: receive `packets` + transmit `packets`")
        .means("Packets that the interface received and sent each second.")
        .differs("Good packets only; what the card or driver merged may count once."),
    Counter::new(266, 517, "Packets Received/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("packets/s")
        .from("`net/dev`: receive `packets`")
        .means("Packets that the interface received each second, without those in error.")
        .differs("Good packets only; what the card or driver merged may count once."),
    Counter::new(452, 519, "Packets Sent/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-1)
        .detail(DetailLevel::ADVANCED)
        .unit("packets/s")
        .from("`net/dev`: transmit `packets`")
        .means("Packets that the interface sent each second.")
        .differs("Packets that the driver completed; on Windows packets that were requested."),
    Counter::new(264, 523, "Bytes Received/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`net/dev`: receive `bytes`")
        .means("Bytes that the interface received each second.")
        .differs(
            "As the driver counts: most leave the frame check sequence out, some virtual \
            interfaces the frame header too.",
        ),
    Counter::new(506, 535, "Bytes Sent/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`net/dev`: transmit `bytes`")
        .means("Bytes that the interface sent each second.")
        .differs(
            "As the driver counts: most leave the frame check sequence out, some virtual \
            interfaces the frame header too.",
        ),
    Counter::new(528, 529, "Packets Received Discarded", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: receive `drop`")
        .means(
            "Packets received and thrown away since the interface began, for lack of buffers or \
             because no program handles their protocol.",
        )
        .differs(
            "Packets of protocols that no program handles, and packets that the card had no room \
             for, are in it.",
        ),
    Counter::new(530, 531, "Packets Received Errors", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: receive `errs`")
        .means("Packets that arrived with an error since the interface began."),
    Counter::new(540, 541, "Packets Outbound Discarded", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: transmit `drop`")
        .means("Packets that were to be sent and were thrown away since the interface began."),
    Counter::new(542, 543, "Packets Outbound Errors", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: transmit `errs`")
        .means("Packets that could not be sent because of an error since the interface began."),
    Counter::new(103000, 103001, "Packets Received Multicast/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets/s")
        .from("`net/dev`: receive `multicast`")
        .means("Multicast packets received each second, as far as the driver counts them."),
    Counter::new(103002, 103003, "Packets Received FIFO Errors", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: receive `fifo`")
        .means("Packets lost on reception because a queue of the card overflowed."),
    Counter::new(103004, 103005, "Packets Received Frame Errors", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: receive `frame`")
        .means("Packets received with a wrong length, checksum or framing."),
    Counter::new(103006, 103007, "Packets Received Compressed/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets/s")
        .from("`net/dev`: receive `compressed`")
        .means("Compressed packets received each second, on serial lines for example."),
    Counter::new(103008, 103009, "Packets Outbound FIFO Errors", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: transmit `fifo`")
        .means("Packets lost on sending because a queue of the card failed."),
    Counter::new(103010, 103011, "Collisions", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("collisions")
        .from("`net/dev`: transmit `colls`")
        .means("Collisions on the medium that were seen while sending."),
    Counter::new(103012, 103013, "Carrier Errors", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets")
        .from("`net/dev`: transmit `carrier`")
        .means("Packets not sent because the link was lost or sending was aborted."),
    Counter::new(103014, 103015, "Packets Sent Compressed/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("packets/s")
        .from("`net/dev`: transmit `compressed`")
        .means("Compressed packets sent each second, on serial lines for example."),
    Counter::new(103016, 103017, "MTU", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("bytes")
        .from("`/sys/class/net/NAME/mtu`")
        .means("Size of the largest packet that the interface sends, without framing."),
    Counter::new(103018, 103019, "Operational Status", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`/sys/class/net/NAME/operstate`")
        .means(
            "State of the link: 1 up, 2 down, 3 testing, 4 unknown, 5 dormant, 6 not present, 7 \
             lower layer down.",
        ),
    Counter::new(103020, 103021, "Administrative Status", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`/sys/class/net/NAME/flags`: `IFF_UP`")
        .means("Whether the interface is switched on: 1 up, 2 down."),
    Counter::new(103022, 103023, "Carrier Changes", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("changes")
        .from("`/sys/class/net/NAME/carrier_changes`")
        .since("3.15")
        .means("How often the link was lost or came back since the interface began."),
    Counter::new(103024, 103025, "Packets Received Missed", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("packets")
        .from("`/sys/class/net/NAME/statistics/rx_missed_errors`")
        .means("Packets that the card had no room for, which are part of those discarded."),
    Counter::new(103026, 103027, "Packets Received CRC Errors", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("packets")
        .from("`/sys/class/net/NAME/statistics/rx_crc_errors`")
        .means("Packets received with a wrong checksum of the frame."),
    Counter::new(103028, 103029, "Packets Received No Handler", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("packets")
        .from("`/sys/class/net/NAME/statistics/rx_nohandler`")
        .since("4.6")
        .means("Packets thrown away because they came in on an inactive part of a bond or team."),
    Counter::new(544, 545, "Output Queue Length", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("packets")
        .from("netlink `RTM_GETQDISC`: `qlen` of the discipline at the interface's root")
        .means(
            "Packets that wait in the interface's queueing disciplines to be sent. Those that the \
             card has already do not count.",
        )
        .differs(
            "Of this machine only, not of a copy of `/proc`; a class of traffic that is held \
            back on purpose counts too.",
        ),
    Counter::new(520, 521, "Current Bandwidth", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::ADVANCED)
        .unit("bit/s")
        .from("`/sys/class/net/NAME/speed` · 1,000,000")
        .means(
            "Bandwidth of the interface in bits per second, as its driver says; without a value \
             where it says none, as with most virtual interfaces.",
        )
        .differs(
            "Left out where the driver names none: links that are down, loopback, most virtual \
            interfaces. Last in the counter block for that reason.",
        ),
];
