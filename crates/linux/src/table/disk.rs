//! The tables of the objects PhysicalDisk (title index 234), LogicalDisk (236) and Paging File (700).

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

pub(crate) static OBJECTS: &[&Object] = &[&PHYSICAL_DISK, &LOGICAL_DISK, &PAGING_FILE];

pub(crate) static PHYSICAL_DISK: Object = Object {
    index: 234,
    help: 235,
    name: "PhysicalDisk",
    meaning: "The disks of the machine: whole devices, without partitions and without devices \
         that are made of others.",
    note: "One instance for each disk, with the kernel's name (`sda`, `nvme0n1`, `vda`). Windows has a number and \
         the volumes in the name (`0 C:`). Such a name would change with every mount here, and divide the history \
         of the disk.\
         \n\nDisks are the whole devices of `diskstats` that are not made of other block devices, of memory or of a \
         file. Whole devices are those in `/sys/block`; without it, those whose names are not the names of \
         partitions of another device in the list. The following are not disks: partitions; `dm-`, `md`, \
         `bcache`, `drbd`, `zd`, `loop`, `ram` and `zram` devices (everything with `slaves` in sysfs); the paths \
         of an NVMe device with several paths (`nvme0c0n1`); boot areas of an eMMC (`mmcblk0boot0`); and, as on \
         Windows, optical drives (`sr`) and floppy disks (`fd`). A device without a size that never did anything \
         (an empty card reader, an unused `nbd`) is left out until this changes. Nothing is therefore counted \
         twice.\
         \n\n`_Total` has the sums. For % Disk Time, % Disk Read Time, % Disk Write Time and % Idle Time it has the \
         means, as on Windows. It grows by the counts of the present disks: if a disk appears or disappears, \
         `_Total` neither jumps nor goes back. The kernel's times have 32 bits and wrap after 50 days of waiting; \
         on 32-bit kernels counts wrap as well. Within a session they continue. If another disk takes the name of \
         a disk, its counts begin where those of the first one ended. It is recognised by `diskseq` of sysfs \
         (since Linux 5.15), otherwise by counts that go back without a wrap.",
    reads: "`diskstats`; for each disk that ever did anything `/sys/dev/block/*/diskseq`, for \
            each that did not its `size`; a device that is seen for the first time is looked up \
            in `/sys/block`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: &joined::<39>(&[TRANSFER_COUNTERS, &[FLUSHES, SEC_FLUSH, SEC_FLUSH_BASE]]),
    absent: ABSENT_IO,
};

pub(crate) static LOGICAL_DISK: Object = Object {
    index: 236,
    help: 237,
    name: "LogicalDisk",
    meaning: "Mounted file systems that lie on disks of this machine: their space, and the \
         transfers of the partitions they lie on.",
    note: "One instance for each mounted file system on block devices, with the name of its mount point. A file \
         system that is mounted in several places (bind mounts, subvolumes of btrfs) is one instance, with the \
         name of the place where it was mounted first.\
         \n\nIncluded are all file systems with the number of a block device, and btrfs, bcachefs, ZFS (each data \
         set) and UBIFS, which have their own numbers. Not included are memory, overlay and network file systems; \
         FUSE (including `fuseblk`), automounts, GFS2 and OCFS2, and everything that is mounted below one of \
         these, because a request may wait for ever there (and keeps an automount mounted); and images that never \
         have free space (SquashFS, EROFS, CramFS, RomFS, ISO 9660). The space of a mount point is not read if a \
         file system that may wait is mounted over it, or over a folder above it.\
         \n\nThe transfers are those of the partition or device of the file system. btrfs and bcachefs on several \
         devices, ZFS and UBIFS have no transfers: their instances end after Free Megabytes. If the space of a \
         place cannot be read (for lack of rights, or because another file system is mounted over it) and that of \
         other places can, the place has no values at all, because an instance can lack only the counters at its \
         end. Mounts are those that this program sees; if the root for mount points is not `/`, those of process \
         1. Instances have no parents, as on Windows. `_Total` has the sums, including space, and the means of % \
         Disk Time, % Disk Read Time, % Disk Write Time and % Idle Time. Wraps and replaced devices are treated \
         as in PhysicalDisk.",
    reads: "`self/mountinfo` (or `1/mountinfo`), `diskstats`, and the files of PhysicalDisk; one \
            `statfs` for each file system",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: &joined::<43>(&[
        &[FREE_SPACE, FREE_SPACE_BASE, FREE_MEGABYTES],
        TRANSFER_COUNTERS,
        &[RESERVED, FREE_INODES, FREE_INODES_BASE, INODES],
    ]),
    absent: ABSENT_IO,
};

pub(crate) static PAGING_FILE: Object = Object {
    index: 700,
    help: 701,
    name: "Paging File",
    meaning: "The swap areas that are in use, partitions and files.",
    note: "One instance for each swap area in use, partition or file, with its path in `swaps` as its name (without \
         the `(deleted)` of a file that was removed since). `_Total` is the sum. Without swap there is no \
         instance.",
    reads: "`swaps`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: &[USAGE, USAGE_BASE, SWAP_USED, SWAP_SIZE],
    absent: &[absent(
        704,
        "% Usage Peak",
        T::PERF_RAW_FRACTION,
        "Linux keeps no peak of the use of a swap area.",
    )],
};

/// The counters that PhysicalDisk and LogicalDisk share, in the order of the counter block.
const TRANSFER_COUNTERS: &[Counter] = &[
    QUEUE,
    TIME,
    TIME_BASE,
    QUEUED,
    READ_TIME,
    READ_TIME_BASE,
    READS_QUEUED,
    WRITE_TIME,
    WRITE_TIME_BASE,
    WRITES_QUEUED,
    SEC_TRANSFER,
    SEC_TRANSFER_BASE,
    SEC_READ,
    SEC_READ_BASE,
    SEC_WRITE,
    SEC_WRITE_BASE,
    TRANSFERS,
    READS,
    WRITES,
    BYTES,
    READ_BYTES,
    WRITE_BYTES,
    BYTES_TRANSFER,
    BYTES_TRANSFER_BASE,
    BYTES_READ,
    BYTES_READ_BASE,
    BYTES_WRITE,
    BYTES_WRITE_BASE,
    IDLE,
    IDLE_BASE,
    MERGED_READS,
    MERGED_WRITES,
    DISCARDS,
    DISCARD_BYTES,
    SEC_DISCARD,
    SEC_DISCARD_BASE,
];

/// The counters of several lists, one list after the other. `N` must be the number of counters in
/// all lists.
const fn joined<const N: usize>(lists: &[&[Counter]]) -> [Counter; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut next) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            all[next] = lists[list][at];
            (at, next) = (at + 1, next + 1);
        }
        list += 1;
    }
    assert!(next == N);
    all
}

const ABSENT_IO: &[Absent] = &[absent(
    1484,
    "Split IO/Sec",
    T::PERF_COUNTER_COUNTER,
    "Linux does not count the requests that it splits; what it counts is the contrary, requests \
     that it merges (Merged Reads/sec, Merged Writes/sec).",
)];

const IN_SECTORS: &str = "The kernel counts in sectors of 512 bytes whatever the disk has.";
const MERGED: &str = "Requests that the kernel merged are one, as the disk sees it.";
const IN_MS: &str = "Counted in milliseconds, when the request is done: a long request is not seen before its \
     end.";
const ADDED: &str = "The time that requests wait and are served, added up: above 100 where \
    several are under way at once, as on Windows, which shows no more than 100 of it.";

const fn precise(index: u32, name: &'static str) -> Counter {
    Counter::new(index, index + 1, name, T::PERF_PRECISION_100NS_TIMER).unit("%")
}

const fn clock(of: &Counter) -> Counter {
    Counter::base_as(of, T::PERF_PRECISION_TIMESTAMP)
}

const fn count(of: &Counter) -> Counter {
    Counter::base_as(of, T::PERF_AVERAGE_BASE)
}

const fn queue(index: u32, name: &'static str) -> Counter {
    let queue = Counter::new(index, index + 1, name, T::PERF_COUNTER_100NS_QUEUELEN_TYPE);
    queue.scale(2).unit("requests").differs(IN_MS)
}

const fn seconds(index: u32, name: &'static str) -> Counter {
    let average = Counter::new(index, index + 1, name, T::PERF_AVERAGE_TIMER).wide();
    average.scale(3).detail(DetailLevel::ADVANCED).unit("s")
}

const fn rate(index: u32, name: &'static str) -> Counter {
    Counter::new(index, index + 1, name, T::PERF_COUNTER_COUNTER).unit("requests/s")
}

const fn bytes(index: u32, name: &'static str) -> Counter {
    let bytes = Counter::new(index, index + 1, name, T::PERF_COUNTER_BULK_COUNT);
    bytes.scale(-4).detail(DetailLevel::ADVANCED).unit("bytes/s")
}

const fn mean_size(index: u32, name: &'static str) -> Counter {
    let mean = Counter::new(index, index + 1, name, T::PERF_AVERAGE_BULK);
    mean.scale(-2).detail(DetailLevel::EXPERT).unit("bytes")
}

const QUEUE: Counter =
    Counter::new(198, 199, "Current Disk Queue Length", T::PERF_COUNTER_RAWCOUNT)
        .scale(1)
        .unit("requests")
        .from("`diskstats`: field 9, in flight")
        .means("Requests that the disk is serving or that wait for it at this moment.")
        .differs(
            "Some old kernels count below 0 at times; that is taken for 0, as newer ones do \
             themselves.",
        );
const TIME: Counter = precise(200, "% Disk Time")
    .from("`diskstats`: fields 4 and 8, time of reads and writes")
    .means(
        "Time that reads and writes took, waiting included, added up, as a share of the time that \
         passed. Above 100 where several were under way at once.",
    )
    .differs(ADDED);
const TIME_BASE: Counter = clock(&TIME);
const QUEUED: Counter = queue(1400, "Avg. Disk Queue Length")
    .from("`diskstats`: fields 4 and 8, time of reads and writes")
    .means("How many reads and writes were under way on average, waiting or being served.");
const READ_TIME: Counter = precise(202, "% Disk Read Time")
    .from("`diskstats`: field 4, time of reads")
    .means(
        "Time that reads took, waiting included, added up, as a share of the time that passed. \
         Above 100 where several were under way at once.",
    )
    .differs(ADDED);
const READ_TIME_BASE: Counter = clock(&READ_TIME);
const READS_QUEUED: Counter = queue(1402, "Avg. Disk Read Queue Length")
    .from("`diskstats`: field 4, time of reads")
    .means("How many reads were under way on average, waiting or being served.");
const WRITE_TIME: Counter = precise(204, "% Disk Write Time")
    .from("`diskstats`: field 8, time of writes")
    .means(
        "Time that writes took, waiting included, added up, as a share of the time that passed. \
         Above 100 where several were under way at once.",
    )
    .differs(ADDED);
const WRITE_TIME_BASE: Counter = clock(&WRITE_TIME);
const WRITES_QUEUED: Counter = queue(1404, "Avg. Disk Write Queue Length")
    .from("`diskstats`: field 8, time of writes")
    .means("How many writes were under way on average, waiting or being served.");
const SEC_TRANSFER: Counter = seconds(206, "Avg. Disk sec/Transfer")
    .from("`diskstats`: fields 4 and 8, by fields 1 and 5")
    .means(
        "How long a read or write took on average, from when the kernel handed it to the disk's \
         queue until it was done, in seconds.",
    )
    .differs("Counted in milliseconds.");
const SEC_TRANSFER_BASE: Counter = count(&SEC_TRANSFER);
const SEC_READ: Counter = seconds(208, "Avg. Disk sec/Read")
    .from("`diskstats`: field 4, by field 1")
    .means("How long a read took on average, its time in the queue included, in seconds.")
    .differs("Counted in milliseconds.");
const SEC_READ_BASE: Counter = count(&SEC_READ);
const SEC_WRITE: Counter = seconds(210, "Avg. Disk sec/Write")
    .from("`diskstats`: field 8, by field 5")
    .means("How long a write took on average, its time in the queue included, in seconds.")
    .differs("Counted in milliseconds.");
const SEC_WRITE_BASE: Counter = count(&SEC_WRITE);
const TRANSFERS: Counter = rate(212, "Disk Transfers/sec")
    .from("`diskstats`: fields 1 and 5, reads and writes completed")
    .means(
        "Reads and writes that were completed, per second. Requests that the kernel merged count \
         as one.",
    )
    .differs(MERGED);
const READS: Counter = rate(214, "Disk Reads/sec")
    .from("`diskstats`: field 1, reads completed")
    .means("Reads that were completed, per second. Reads that the kernel merged count as one.")
    .differs(MERGED);
const WRITES: Counter = rate(216, "Disk Writes/sec")
    .from("`diskstats`: field 5, writes completed")
    .means("Writes that were completed, per second. Writes that the kernel merged count as one.")
    .differs(MERGED);
const BYTES: Counter = bytes(218, "Disk Bytes/sec")
    .from("`diskstats`: fields 3 and 7, sectors read and written")
    .means("Bytes read from the disk and written to it, per second.")
    .differs(IN_SECTORS);
const READ_BYTES: Counter = bytes(220, "Disk Read Bytes/sec")
    .from("`diskstats`: field 3, sectors read")
    .means("Bytes read from the disk, per second.")
    .differs(IN_SECTORS);
const WRITE_BYTES: Counter = bytes(222, "Disk Write Bytes/sec")
    .from("`diskstats`: field 7, sectors written")
    .means("Bytes written to the disk, per second.")
    .differs(IN_SECTORS);
const BYTES_TRANSFER: Counter = mean_size(224, "Avg. Disk Bytes/Transfer")
    .from("`diskstats`: fields 3 and 7, by fields 1 and 5")
    .means("Size of a read or write on average, in bytes.");
const BYTES_TRANSFER_BASE: Counter = count(&BYTES_TRANSFER);
const BYTES_READ: Counter = mean_size(226, "Avg. Disk Bytes/Read")
    .from("`diskstats`: field 3, by field 1")
    .means("Size of a read on average, in bytes.");
const BYTES_READ_BASE: Counter = count(&BYTES_READ);
const BYTES_WRITE: Counter = mean_size(228, "Avg. Disk Bytes/Write")
    .from("`diskstats`: field 7, by field 5")
    .means("Size of a write on average, in bytes.");
const BYTES_WRITE_BASE: Counter = count(&BYTES_WRITE);
const IDLE: Counter = precise(1482, "% Idle Time")
    .detail(DetailLevel::ADVANCED)
    .from("`diskstats`: field 10, time in which the disk was busy, taken from the time that passed")
    .means("Share of time in which nothing was under way on the disk.")
    .differs(
        "Discards and flushes make a disk busy, too. The kernel counts busy time in steps of up \
         to 10 ms.",
    );
const IDLE_BASE: Counter = clock(&IDLE).detail(DetailLevel::NOVICE);

const MERGED_READS: Counter = rate(102_000, "Merged Reads/sec")
    .detail(DetailLevel::ADVANCED)
    .from("`diskstats`: field 2, reads merged")
    .means(
        "Reads that the kernel joined with a neighbouring one before they went to the disk, per \
         second.",
    );
const MERGED_WRITES: Counter = rate(102_002, "Merged Writes/sec")
    .detail(DetailLevel::ADVANCED)
    .from("`diskstats`: field 6, writes merged")
    .means(
        "Writes that the kernel joined with a neighbouring one before they went to the disk, per \
         second.",
    );
const DISCARDS: Counter = rate(102_004, "Disk Discards/sec")
    .detail(DetailLevel::ADVANCED)
    .from("`diskstats`: field 12, discards completed")
    .since("4.18")
    .means("Requests that told the disk which blocks are of no use any more, per second.")
    .differs("TRIM, UNMAP.");
const DISCARD_BYTES: Counter = bytes(102_006, "Disk Discard Bytes/sec")
    .from("`diskstats`: field 14, sectors discarded")
    .since("4.18")
    .means("Bytes that the disk was told are of no use any more, per second.");
const SEC_DISCARD: Counter = seconds(102_008, "Avg. Disk sec/Discard")
    .from("`diskstats`: field 15, by field 12")
    .since("4.18")
    .means("How long a discard took on average, its time in the queue included, in seconds.");
const SEC_DISCARD_BASE: Counter = count(&SEC_DISCARD);
const FLUSHES: Counter = rate(102_010, "Disk Flushes/sec")
    .detail(DetailLevel::ADVANCED)
    .from("`diskstats`: field 16, flushes completed")
    .since("5.5")
    .means("Requests that the disk write its own cache to the medium, per second.");
const SEC_FLUSH: Counter = seconds(102_012, "Avg. Disk sec/Flush")
    .from("`diskstats`: field 17, by field 16")
    .since("5.5")
    .means("How long it took the disk to write out its cache on average, in seconds.");
const SEC_FLUSH_BASE: Counter = count(&SEC_FLUSH);

const FREE_SPACE: Counter = Counter::new(408, 409, "% Free Space", T::PERF_RAW_FRACTION)
    .unit("%")
    .from("`statfs`: `f_bavail` / (`f_blocks` - `f_bfree` + `f_bavail`)")
    .means(
        "Free space of the file system as a share of what can be used of it. What is reserved for \
         the administrator counts as neither.",
    )
    .differs(
        "What is reserved for the administrator is neither free nor usable: 100 less what `df` \
         shows as Use%. Value and base are not in megabytes but in the smallest unit that fits.",
    );
const FREE_SPACE_BASE: Counter = Counter::base(&FREE_SPACE);
const FREE_MEGABYTES: Counter = Counter::new(410, 411, "Free Megabytes", T::PERF_COUNTER_RAWCOUNT)
    .unit("MB")
    .from("`statfs`: `f_bavail`")
    .means(
        "Free space of the file system in megabytes (1024 * 1024 bytes), without what is reserved \
         for the administrator.",
    )
    .differs("Without what is reserved for the administrator, see Reserved Megabytes.");
const RESERVED: Counter =
    Counter::new(102_014, 102_015, "Reserved Megabytes", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("MB")
        .from("`statfs`: `f_bfree` - `f_bavail`")
        .means("Free space that only the administrator can use, in megabytes (1024 * 1024 bytes).");
const FREE_INODES: Counter = Counter::new(102_016, 102_017, "% Free Inodes", T::PERF_RAW_FRACTION)
    .detail(DetailLevel::ADVANCED)
    .unit("%")
    .from("`statfs`: `f_ffree` / `f_files`")
    .means(
        "Files that can still be made on the file system, as a share of all that it can have. File \
         systems without a limit do not have it.",
    );
const FREE_INODES_BASE: Counter = Counter::base(&FREE_INODES);
const INODES: Counter =
    Counter::new(102_018, 102_019, "Free Inodes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .scale(-4)
        .unit("inodes")
        .from("`statfs`: `f_ffree`")
        .means(
            "Files that can still be made on the file system. File systems without a limit do not \
             have it.",
        );

const USAGE: Counter = Counter::new(702, 703, "% Usage", T::PERF_RAW_FRACTION)
    .unit("%")
    .from("`swaps`: `Used` / `Size`")
    .means("Share of the swap area that is in use.")
    .differs("Counted in units of 1024 bytes, not of pages.");
const USAGE_BASE: Counter = Counter::base(&USAGE);
const SWAP_USED: Counter =
    Counter::new(102_020, 102_021, "Used Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`swaps`: `Used`")
        .means("How much of the swap area is in use, in bytes.");
const SWAP_SIZE: Counter =
    Counter::new(102_022, 102_023, "Size Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`swaps`: `Size`")
        .means("Size of the swap area, in bytes.");
