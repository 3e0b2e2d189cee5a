//! What memory maps tell: Image 740, Full Image 1408, Process Address Space
//! 786, Thread Details 816.

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

pub(crate) static OBJECTS: &[&Object] = &[&IMAGE, &FULL_IMAGE, &ADDRESS_SPACE, &THREAD_DETAILS];

/// Counters of memory at the end of the counter blocks, which take `smaps`.
pub(crate) const MEMORY_COUNTERS: [u32; 4] = [106_002, 106_004, 106_006, 106_008];

pub(crate) static IMAGE: Object = Object {
    index: 740,
    help: 741,
    name: "Image",
    note: "An instance for each image of a process: a file of which something is mapped with the right to \
         be executed, which is to say its program and its libraries. Shared memory that may be executed has a name of its own \
         in the maps (`/memfd:NAME`, `/dev/zero`), and counts as an image, too. All mappings of a path in a process \
         are one instance, in the order of the lowest address. Its name is the file's without the folders, \
         as the kernel writes it: ` (deleted)` behind it means that no file of that path is there any more \
         (one that was replaced by an update, for example). A line feed in a name is told as `\\012`, and is \
         one again here; a byte that is no UTF-8 becomes the UTF-16 unit 0xDC00 + byte. The parent is the \
         process' instance, and Process comes along.\n\n\
         The maps of a process take permission to trace it (an ordinary user's own processes); others \
         have no instances here. Nor have threads of the kernel, and processes that have ended and are not \
         yet waited for; nor one whose first thread has ended while others go on, of which the kernel tells no \
         maps. There is no `_Total`: libraries are shared, and a sum of address space says \
         nothing.\n\n\
         The counters on request take `PID/smaps` in place of `PID/maps`, for which the kernel walks the \
         page tables of the process: some milliseconds for each 100 MB that are resident, while \
         the process may have to wait to change its mappings.",
    reads: "with Process, for each process all of `PID/maps`; on request `PID/smaps` in its place",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[230],
    counters: IMAGE_COUNTERS,
    absent: &[],
};

pub(crate) static FULL_IMAGE: Object = Object {
    index: 1408,
    help: 1409,
    name: "Full Image",
    note: "As Image, but an instance's name is the whole path, as the reader sees it; of a process with mounts of \
         its own (a container), the path within those.",
    reads: "as Image, and at once with it",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[230],
    counters: IMAGE_COUNTERS,
    absent: &[],
};

const IMAGE_COUNTERS: &[Counter] = &[
    image(788, "No Access")
        .from("`PID/maps`: mappings `---`")
        .means("Bytes of the image that may not be touched.")
        .differs("Gaps that the loader leaves between the parts of a library."),
    image(790, "Read Only")
        .from("`PID/maps`: mappings `r--`")
        .means("Bytes of the image that may be read."),
    image(792, "Read/Write")
        .from("`PID/maps`: mappings `rw-s`")
        .means("Bytes of the image that may be written for all who map it."),
    image(794, "Write Copy")
        .from("`PID/maps`: mappings `rw-p`")
        .means("Bytes of the image of which the process gets its own copy when it writes.")
        .differs("What was written already counts here, too; Windows then counts it as Read/Write."),
    image(796, "Executable")
        .from("`PID/maps`: mappings `--x`")
        .means("Bytes of the image that may be executed and not read."),
    image(798, "Exec Read Only")
        .from("`PID/maps`: mappings `r-x`")
        .means("Bytes of the image that may be executed and read."),
    image(800, "Exec Read/Write")
        .from("`PID/maps`: mappings `rwxs`")
        .means("Bytes of the image that may be executed, and written for all who map it."),
    image(802, "Exec Write Copy")
        .from("`PID/maps`: mappings `rwxp`")
        .means("Bytes of the image that may be executed, and of which the process gets its own copy when it writes.")
        .differs("What was written already counts here, too; Windows then counts it as Exec Read/Write."),
    Counter::new(106_000, 106_001, "Mappings", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("mappings")
        .from("`PID/maps`: lines")
        .means("Mappings of the image in the process."),
    memory(106_002, 106_003, "Resident Bytes")
        .from("`PID/smaps`: `Rss`")
        .means("Bytes of the image that the process has in memory, shared ones included."),
    memory(106_004, 106_005, "Proportional Bytes")
        .from("`PID/smaps`: `Pss`")
        .means(
            "As Resident Bytes, each page divided by the number of processes that have it: over all \
             processes, this sums up to what the image takes.",
        ),
    memory(106_006, 106_007, "Private Dirty Bytes")
        .from("`PID/smaps`: `Private_Dirty`")
        .means("Bytes that this process alone has, and has written."),
    memory(106_008, 106_009, "Swapped Bytes")
        .from("`PID/smaps`: `Swap`")
        .means("Bytes of the image's written pages that are swapped out."),
];

/// A counter of address space of an image.
const fn image(index: u32, name: &'static str) -> Counter {
    space(index, name)
}

/// A counter of address space.
const fn space(index: u32, name: &'static str) -> Counter {
    Counter::new(index, index + 1, name, T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::EXPERT)
        .unit("bytes")
}

/// A counter of memory, of Linux' own.
const fn memory(index: u32, help: u32, name: &'static str) -> Counter {
    Counter::new(index, help, name, T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("bytes")
}

pub(crate) static ADDRESS_SPACE: Object = Object {
    index: 786,
    help: 787,
    name: "Process Address Space",
    note: "An instance for each process whose maps may be read (see Image), under its name, without a parent; \
         ID Process says which one it is. Process comes along, for the names.\n\n\
         Every mapped byte of a process is in one counter of space, and their sum is its Virtual Bytes. \
         *Image* are files of which something may be executed, *mapped* are other files and all memory that \
         is shared by its kind (`s`), *reserved* is private memory without a file that may not be touched, \
         and *unassigned* is other private memory without a file: heaps, stacks, and what the kernel adds \
         (`[vdso]`, `[vvar]`).",
    reads: "as Image, and at once with it; on request `PID/smaps_rollup`, or `PID/smaps` where that is read anyway",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[230],
    counters: SPACE_COUNTERS,
    absent: SPACE_ABSENT,
};

/// Which mappings have the kind of space that a counter counts.
const MAPPED: &str = "`PID/maps`: mappings of files that are no images, and shared ones";
const IMAGES: &str = "`PID/maps`: mappings of files of which something may be executed";
const PRIVATE: &str = "`PID/maps`: private mappings without a file";
const IN_MAPPED: &str = "Bytes of mapped files and shared memory with this protection.";
const IN_IMAGES: &str = "Bytes of programs and libraries with this protection.";
const IN_PRIVATE: &str = "Bytes of the process' own memory with this protection.";

const SPACE_COUNTERS: &[Counter] = &[
    Counter::new(784, 785, "ID Process", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-1)
        .unit("number")
        .from("the entry of `/proc`")
        .means("Number of the process; another process may get it later."),
    space(710, "Mapped Space No Access").from(MAPPED).means(IN_MAPPED),
    space(712, "Mapped Space Read Only").from(MAPPED).means(IN_MAPPED),
    space(714, "Mapped Space Read/Write").from(MAPPED).means(IN_MAPPED),
    space(716, "Mapped Space Write Copy")
        .from(MAPPED)
        .means(IN_MAPPED)
        .differs("Private mappings of a file, what was written already included."),
    space(718, "Mapped Space Executable")
        .from(MAPPED)
        .means(IN_MAPPED)
        .differs("Shared memory that is no file; a file that may be executed is an image."),
    space(720, "Mapped Space Exec Read Only")
        .from(MAPPED)
        .means(IN_MAPPED)
        .differs("Shared memory that is no file; a file that may be executed is an image."),
    space(722, "Mapped Space Exec Read/Write")
        .from(MAPPED)
        .means(IN_MAPPED)
        .differs("Shared memory that is no file; a file that may be executed is an image."),
    space(726, "Reserved Space No Access")
        .from("`PID/maps`: private mappings without a file, `---`")
        .means("Bytes that are kept for later.")
        .differs(
            "Linux has no reservation as such: a program reserves with a mapping that may not be \
             touched. Guard pages, and memory that was protected later, look the same.",
        ),
    space(746, "Unassigned Space Read Only").from(PRIVATE).means(IN_PRIVATE),
    space(748, "Unassigned Space Read/Write")
        .from(PRIVATE)
        .means(IN_PRIVATE)
        .differs("Touched or not: Linux gives pages at the first touch."),
    space(752, "Unassigned Space Executable").from(PRIVATE).means(IN_PRIVATE),
    space(754, "Unassigned Space Exec Read Only").from(PRIVATE).means(IN_PRIVATE),
    space(756, "Unassigned Space Exec Read/Write").from(PRIVATE).means(IN_PRIVATE),
    space(760, "Image Space No Access").from(IMAGES).means(IN_IMAGES),
    space(762, "Image Space Read Only").from(IMAGES).means(IN_IMAGES),
    space(764, "Image Space Read/Write").from(IMAGES).means(IN_IMAGES),
    space(766, "Image Space Write Copy")
        .from(IMAGES)
        .means(IN_IMAGES)
        .differs("What was written already counts here, too."),
    space(768, "Image Space Executable").from(IMAGES).means(IN_IMAGES),
    space(770, "Image Space Exec Read Only").from(IMAGES).means(IN_IMAGES),
    space(772, "Image Space Exec Read/Write").from(IMAGES).means(IN_IMAGES),
    space(774, "Image Space Exec Write Copy")
        .from(IMAGES)
        .means(IN_IMAGES)
        .differs("What was written already counts here, too."),
    space(780, "Bytes Reserved")
        .from("`PID/maps`: private mappings without a file, `---`")
        .means("All bytes that are kept for later.")
        .differs("The same as Reserved Space No Access: there are no others."),
    Counter::new(106_000, 106_021, "Mappings", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("mappings")
        .from("`PID/maps`: lines")
        .means("Mappings of the process; `vm.max_map_count` limits them."),
    memory(106_002, 106_023, "Resident Bytes")
        .from("`PID/smaps_rollup`: `Rss`")
        .since("4.14")
        .means("Bytes of the process that are in memory, shared ones included."),
    memory(106_004, 106_025, "Proportional Bytes")
        .from("`PID/smaps_rollup`: `Pss`")
        .since("4.14")
        .means(
            "As Resident Bytes, each page divided by the number of processes that have it: over all \
             processes, this sums up to what they take.",
        ),
    memory(106_006, 106_027, "Private Dirty Bytes")
        .from("`PID/smaps_rollup`: `Private_Dirty`")
        .since("4.14")
        .means("Bytes that this process alone has, and has written."),
    memory(106_008, 106_029, "Swapped Bytes")
        .from("`PID/smaps_rollup`: `Swap`")
        .since("4.14")
        .means("Bytes of the process' memory that are swapped out."),
];

const NO_RESERVE: &str = "A reservation has no protection on Linux but that it may not be touched: see \
    Reserved Space No Access.";
const NO_COPY: &str = "Memory without a file is no copy of anything; that a child still shares it with \
    its parent is not seen in the maps.";
const NO_LIMIT: &str = "Linux does not tell how large an address space may become: that depends on the \
    processor, the kernel and the program.";

const SPACE_ABSENT: &[Absent] = &[
    lacks(
        724,
        "Mapped Space Exec Write Copy",
        "A private mapping of a file that may be executed makes the file an image: see Image Space \
         Exec Write Copy.",
    ),
    lacks(728, "Reserved Space Read Only", NO_RESERVE),
    lacks(730, "Reserved Space Read/Write", NO_RESERVE),
    lacks(732, "Reserved Space Write Copy", NO_RESERVE),
    lacks(734, "Reserved Space Executable", NO_RESERVE),
    lacks(736, "Reserved Space Exec Read Only", NO_RESERVE),
    lacks(738, "Reserved Space Exec Read/Write", NO_RESERVE),
    lacks(742, "Reserved Space Exec Write Copy", NO_RESERVE),
    lacks(
        744,
        "Unassigned Space No Access",
        "Cannot be told from a reservation: see Reserved Space No Access.",
    ),
    lacks(750, "Unassigned Space Write Copy", NO_COPY),
    lacks(758, "Unassigned Space Exec Write Copy", NO_COPY),
    lacks(
        776,
        "Bytes Image Reserved",
        "Nothing is reserved for an image on Linux: gaps in it are mapped, and count in Image Space \
         No Access.",
    ),
    lacks(778, "Bytes Image Free", NO_LIMIT),
    lacks(782, "Bytes Free", NO_LIMIT),
];

const fn lacks(index: u32, name: &'static str, reason: &'static str) -> Absent {
    absent(index, name, T::PERF_COUNTER_LARGE_RAWCOUNT, reason)
}

pub(crate) static THREAD_DETAILS: Object = Object {
    index: 816,
    help: 817,
    name: "Thread Details",
    note: "An instance for each thread of a process, under the name that it has in Thread: its number within \
         the process, by ascending thread number. The parent is the process' instance, and Process comes \
         along. Idle, the threads of the kernel and `_Total` have no address in a program, and no \
         instances; nor have the threads of processes that the reader may not trace.",
    reads: "with Process, for each process a listing of `PID/task`, and for each thread `PID/task/TID/syscall`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[230],
    counters: DETAILS_COUNTERS,
    absent: &[],
};

const DETAILS_COUNTERS: &[Counter] = &[Counter::new(
    708,
    709,
    "User PC",
    T::PERF_COUNTER_LARGE_RAWCOUNT_HEX,
)
.detail(DetailLevel::EXPERT)
.unit("address")
.from("`PID/task/TID/syscall`: the last number")
.means("Address in the program at which the thread goes on.")
.differs(
    "Of threads that wait. Of one that runs or is about to, the kernel does not say it, and the \
     instance has no value.",
)];
