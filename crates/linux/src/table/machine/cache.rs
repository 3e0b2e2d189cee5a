//! The table of the object Cache (title index 86).

use crate::table::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::CounterType as T;

const NO_MAPS: &str =
    "The file systems of Linux do not map or pin pages of the cache as those of Windows do.";
const NO_LOOKUPS: &str = "Linux does not count how often something was looked for in its \
    cache, and how often it was there.";
const NO_WRITERS: &str = "Linux counts pages that were written, but not which program asked for it: see Pages Written/sec.";

pub(crate) static CACHE: Object = Object {
    index: 86,
    help: 87,
    name: "Cache",
    meaning: "Counters of the cache of files: what must be written, and what is.",
    note: "This object has only Windows' counters of pages that wait to be written. Pages have the machine's page \
         size, mostly 4096 bytes.",
    reads: "`vmstat`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(100_320, 100_321, "Dirty Pages", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`vmstat`: `nr_dirty`")
        .means("Pages of the cache that must be written to a disk."),
    Counter::new(100_322, 100_323, "Dirty Page Threshold", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`vmstat`: `nr_dirty_threshold`")
        .since("2.6.37")
        .means(
            "The number of dirty pages from which on the kernel slows down programs that write.",
        ),
    Counter::new(
        100_324,
        100_325,
        "Background Dirty Page Threshold",
        T::PERF_COUNTER_LARGE_RAWCOUNT,
    )
    .unit("pages")
    .from("`vmstat`: `nr_dirty_background_threshold`")
    .since("2.6.37")
    .means("The number of dirty pages from which on the kernel writes them in the background."),
    Counter::new(100_326, 100_327, "Writeback Pages", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`vmstat`: `nr_writeback`")
        .means("Pages of the cache that are being written at this moment."),
    Counter::new(100_328, 100_329, "Pages Dirtied/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `nr_dirtied`")
        .since("2.6.37")
        .means("Pages of the cache that were changed and must be written since."),
    Counter::new(100_330, 100_331, "Pages Written/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `nr_written`")
        .since("2.6.37")
        .means(
            "Pages of the cache that were written, in the background or on request of a program.",
        ),
    Counter::new(100_332, 100_333, "Cached Pages", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`vmstat`: `nr_file_pages`")
        .means("Pages in the cache, those of shared memory included."),
];

const ABSENT: &[Absent] = &[
    absent(88, "Data Maps/sec", T::PERF_COUNTER_COUNTER, NO_MAPS),
    absent(90, "Sync Data Maps/sec", T::PERF_COUNTER_COUNTER, NO_MAPS),
    absent(92, "Async Data Maps/sec", T::PERF_COUNTER_COUNTER, NO_MAPS),
    absent(94, "Data Map Hits %", T::PERF_SAMPLE_FRACTION, NO_MAPS),
    absent(96, "Data Map Pins/sec", T::PERF_COUNTER_COUNTER, NO_MAPS),
    absent(98, "Pin Reads/sec", T::PERF_COUNTER_COUNTER, NO_MAPS),
    absent(100, "Sync Pin Reads/sec", T::PERF_COUNTER_COUNTER, NO_MAPS),
    absent(102, "Async Pin Reads/sec", T::PERF_COUNTER_COUNTER, NO_MAPS),
    absent(104, "Pin Read Hits %", T::PERF_SAMPLE_FRACTION, NO_MAPS),
    absent(106, "Copy Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(108, "Sync Copy Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(110, "Async Copy Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(112, "Copy Read Hits %", T::PERF_SAMPLE_FRACTION, NO_LOOKUPS),
    absent(114, "MDL Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(116, "Sync MDL Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(118, "Async MDL Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(120, "MDL Read Hits %", T::PERF_SAMPLE_FRACTION, NO_LOOKUPS),
    absent(122, "Read Aheads/sec", T::PERF_COUNTER_COUNTER, "Linux does not count its read-ahead."),
    absent(124, "Fast Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(126, "Sync Fast Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(128, "Async Fast Reads/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(130, "Fast Read Resource Misses/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(132, "Fast Read Not Possibles/sec", T::PERF_COUNTER_COUNTER, NO_LOOKUPS),
    absent(134, "Lazy Write Flushes/sec", T::PERF_COUNTER_COUNTER, NO_WRITERS),
    absent(136, "Lazy Write Pages/sec", T::PERF_COUNTER_COUNTER, NO_WRITERS),
    absent(138, "Data Flushes/sec", T::PERF_COUNTER_COUNTER, NO_WRITERS),
    absent(140, "Data Flush Pages/sec", T::PERF_COUNTER_COUNTER, NO_WRITERS),
];
