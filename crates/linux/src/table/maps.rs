//! The tables of the objects from memory maps: Image (title index 740), Full Image (1408), Process
//! Address Space (786) and Thread Details (816).

use super::{Absent, Counter, Object, PROCESS, absent, index_of};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

pub(crate) static OBJECTS: &[&Object] = &[&IMAGE, &FULL_IMAGE, &ADDRESS_SPACE, &THREAD_DETAILS];

/// The title indexes of the memory counters of Image, Full Image and Process Address Space, the last counters in their
/// counter blocks. The values come from `smaps`; for Process Address Space from `smaps_rollup`, unless `smaps` is read
/// anyway.
pub(crate) const MEMORY_COUNTERS: [u32; 4] = [
    index_of!(IMAGE, "Resident Bytes"),
    index_of!(IMAGE, "Proportional Bytes"),
    index_of!(IMAGE, "Private Dirty Bytes"),
    index_of!(IMAGE, "Swapped Bytes"),
];

pub(crate) static IMAGE: Object = Object {
    index: 740,
    help: 741,
    name: "Image",
    meaning: "Programs and libraries of each process: the files of which it has something mapped \
         with the right to be executed, by the file's name. Their counters tell the address space \
         by protection.",
    note: "An instance for each image of a process: a file of which something is mapped as executable, that is, its \
         program and its libraries. Executable shared memory has its own name in the maps (`/memfd:NAME`, \
         `/dev/zero`), and counts as an image as well. All mappings of a path in a process are one instance, in \
         the order of the lowest address. The name is that of the file without the folders, as the kernel writes \
         it. ` (deleted)` after it means that the file is no longer at that path (for example, because an update \
         replaced it). The kernel writes a line feed in a name as `\\012`; here it is a line feed again. A byte \
         that is not UTF-8 becomes the UTF-16 unit 0xDC00 + byte. The parent is the instance of the process; \
         Process is always collected with this object.\
         \n\nReading the maps of a process needs permission to trace it (an ordinary user has it for the user's own \
         processes). Other processes have no instances here. Kernel threads and ended processes that were not yet \
         waited for have none either, nor has a process whose first thread has ended while others continue, \
         because the kernel shows no maps of it. There is no `_Total`: libraries are shared, so that a sum of \
         address space has no meaning.\
         \n\nThe counters on request are read from `PID/smaps` instead of `PID/maps`. For this the kernel walks the \
         page tables of the process, which takes some milliseconds for each 100 MB of resident memory; meanwhile \
         the process may have to wait to change its mappings.",
    reads: "with Process, for each process all of `PID/maps`; on request `PID/smaps` in its place",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[PROCESS.index],
    counters: IMAGE_COUNTERS,
    absent: &[],
};

pub(crate) static FULL_IMAGE: Object = Object {
    index: 1408,
    help: 1409,
    name: "Full Image",
    meaning: "Programs and libraries of each process as in Image, by the full path of the file.",
    note: "As Image, but the name of an instance is the whole path, as the reader sees it; for a process with its \
         own mounts (a container), the path within these.",
    reads: "as Image, and at once with it",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[PROCESS.index],
    counters: IMAGE_COUNTERS,
    absent: &[],
};

const IMAGE_COUNTERS: &[Counter] = &[
    image(788, "No Access")
        .from("`PID/maps`: mappings `---`")
        .means("Bytes of address space of the image that may not be touched, touched or not.")
        .differs("Gaps that the loader leaves between the parts of a library."),
    image(790, "Read Only")
        .from("`PID/maps`: mappings `r--`")
        .means("Bytes of address space of the image that may be read only, touched or not."),
    image(792, "Read/Write")
        .from("`PID/maps`: mappings `rw-s`")
        .means("Bytes of address space of the image that may be read and written, touched or not."),
    image(794, "Write Copy")
        .from("`PID/maps`: mappings `rw-p`")
        .means(
            "Bytes of address space of the image of which the process gets a copy of its own when \
             it writes, touched or not.",
        )
        .differs(
            "What was written already counts here, too; Windows then counts it as Read/Write.",
        ),
    image(796, "Executable").from("`PID/maps`: mappings `--x`").means(
        "Bytes of address space of the image that may be executed and not read, touched or not.",
    ),
    image(798, "Exec Read Only").from("`PID/maps`: mappings `r-x`").means(
        "Bytes of address space of the image that may be executed and read, touched or not.",
    ),
    image(800, "Exec Read/Write").from("`PID/maps`: mappings `rwxs`").means(
        "Bytes of address space of the image that may be executed, read and written, touched or \
             not.",
    ),
    image(802, "Exec Write Copy")
        .from("`PID/maps`: mappings `rwxp`")
        .means(
            "Bytes of address space of the image that may be executed, and of which the process \
             gets a copy of its own when it writes, touched or not.",
        )
        .differs(
            "What was written already counts here, too; Windows then counts it as Exec Read/Write.",
        ),
    Counter::new(106_000, 106_001, "Mappings", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("mappings")
        .from("`PID/maps`: lines")
        .means("Mappings of the image in the process: pieces with a protection of their own."),
    memory(106_002, 106_003, "Resident Bytes").from("`PID/smaps`: `Rss`").means(
        "Bytes of the image that are in memory in this process, whether others share them or \
             not.",
    ),
    memory(106_004, 106_005, "Proportional Bytes")
        .from("`PID/smaps`: `Pss`")
        .means(
            "Bytes of the image that are in memory, each page divided by the number of processes \
             that share it.",
        )
        .differs("The sum over all processes is what the image takes."),
    memory(106_006, 106_007, "Private Dirty Bytes")
        .from("`PID/smaps`: `Private_Dirty`")
        .means("Bytes of the image that this process alone has in memory and has written."),
    memory(106_008, 106_009, "Swapped Bytes")
        .from("`PID/smaps`: `Swap`")
        .means("Bytes of the image that the process has written and that are swapped out."),
];

/// A counter of Image and Full Image: bytes of an image's address space.
const fn image(index: u32, name: &'static str) -> Counter {
    space(index, name)
}

/// A counter of Process Address Space: bytes of a process's address space.
const fn space(index: u32, name: &'static str) -> Counter {
    Counter::new(index, index + 1, name, T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::EXPERT)
        .unit("bytes")
}

/// A counter of memory in bytes, on request, that Windows does not have.
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
    meaning: "The address space of each process by kind and protection: images, mapped files and \
         shared memory, reserved space, and the rest.",
    note: "An instance for each process whose maps may be read (see Image), with the name of the process and \
         without a parent; ID Process identifies the process. Process is always collected with this object, for \
         the names.\
         \n\nEvery mapped byte of a process is part of one counter of space, and their sum is its Virtual Bytes. \
         *Image* are files of which something may be executed. *Mapped* are other files, and all memory that is \
         shared by its kind (`s`). *Reserved* is private memory that has no file and may not be accessed. \
         *Unassigned* is other private memory without a file: heaps, stacks, and what the kernel adds (`[vdso]`, \
         `[vvar]`).",
    reads: "as Image, and at once with it; on request `PID/smaps_rollup`, or `PID/smaps` where that is read anyway",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[PROCESS.index],
    counters: SPACE_COUNTERS,
    absent: SPACE_ABSENT,
};

/// The source of the counters of mapped space, as the manual names it.
const MAPPED: &str = "`PID/maps`: mappings of files that are not images, and shared ones";
const IMAGES: &str = "`PID/maps`: mappings of files of which something may be executed";
const PRIVATE: &str = "`PID/maps`: private mappings without a file";

const SPACE_COUNTERS: &[Counter] = &[
    Counter::new(784, 785, "ID Process", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-1)
        .unit("number")
        .from("the entry of `/proc`")
        .means("The number of the process. When the process has ended, another one may get it."),
    space(710, "Mapped Space No Access").from(MAPPED).means(
        "Bytes of mapped files that are not images, and of shared memory, that may not be \
             touched.",
    ),
    space(712, "Mapped Space Read Only").from(MAPPED).means(
        "Bytes of mapped files that are not images, and of shared memory, that may be read only.",
    ),
    space(714, "Mapped Space Read/Write").from(MAPPED).means(
        "Bytes of mapped files that are not images, and of shared memory, that may be read and \
             written.",
    ),
    space(716, "Mapped Space Write Copy")
        .from(MAPPED)
        .means(
            "Bytes of mapped files that are not images, and of shared memory, of which the process \
             gets a copy of its own when it writes.",
        )
        .differs("Private mappings of a file, what was written already included."),
    space(718, "Mapped Space Executable")
        .from(MAPPED)
        .means(
            "Bytes of mapped files that are not images, and of shared memory, that may be executed \
             and not read.",
        )
        .differs("Shared memory that is not a file; a file that may be executed is an image."),
    space(720, "Mapped Space Exec Read Only")
        .from(MAPPED)
        .means(
            "Bytes of mapped files that are not images, and of shared memory, that may be executed \
             and read.",
        )
        .differs("Shared memory that is not a file; a file that may be executed is an image."),
    space(722, "Mapped Space Exec Read/Write")
        .from(MAPPED)
        .means(
            "Bytes of mapped files that are not images, and of shared memory, that may be \
             executed, read and written.",
        )
        .differs("Shared memory that is not a file; a file that may be executed is an image."),
    space(726, "Reserved Space No Access")
        .from("`PID/maps`: private mappings without a file, `---`")
        .means(
            "Bytes of private memory without a file that may not be touched, by which programs \
             keep address space for later, or guard their stacks.",
        )
        .differs(
            "Linux has no reservation as such: a program reserves with a mapping that may not be \
             touched. Guard pages, and memory that was protected later, look the same.",
        ),
    space(746, "Unassigned Space Read Only").from(PRIVATE).means(
        "Bytes of the process' own memory that belongs to no file (heaps, stacks and the like) \
             that may be read only.",
    ),
    space(748, "Unassigned Space Read/Write")
        .from(PRIVATE)
        .means(
            "Bytes of the process' own memory that belongs to no file (heaps, stacks and the \
             like) that may be read and written.",
        )
        .differs("Touched or not: Linux gives pages at the first touch."),
    space(752, "Unassigned Space Executable").from(PRIVATE).means(
        "Bytes of the process' own memory that belongs to no file (heaps, stacks and the like) \
             that may be executed and not read.",
    ),
    space(754, "Unassigned Space Exec Read Only").from(PRIVATE).means(
        "Bytes of the process' own memory that belongs to no file (heaps, stacks and the like) \
             that may be executed and read.",
    ),
    space(756, "Unassigned Space Exec Read/Write").from(PRIVATE).means(
        "Bytes of the process' own memory that belongs to no file (heaps, stacks and the like) \
             that may be executed, read and written.",
    ),
    space(760, "Image Space No Access")
        .from(IMAGES)
        .means("Bytes of the programs and libraries of the process that may not be touched."),
    space(762, "Image Space Read Only")
        .from(IMAGES)
        .means("Bytes of the programs and libraries of the process that may be read only."),
    space(764, "Image Space Read/Write")
        .from(IMAGES)
        .means("Bytes of the programs and libraries of the process that may be read and written."),
    space(766, "Image Space Write Copy")
        .from(IMAGES)
        .means(
            "Bytes of the programs and libraries of the process of which the process gets a copy \
             of its own when it writes.",
        )
        .differs("What was written already counts here, too."),
    space(768, "Image Space Executable").from(IMAGES).means(
        "Bytes of the programs and libraries of the process that may be executed and not read.",
    ),
    space(770, "Image Space Exec Read Only")
        .from(IMAGES)
        .means("Bytes of the programs and libraries of the process that may be executed and read."),
    space(772, "Image Space Exec Read/Write").from(IMAGES).means(
        "Bytes of the programs and libraries of the process that may be executed, read and \
             written.",
    ),
    space(774, "Image Space Exec Write Copy")
        .from(IMAGES)
        .means(
            "Bytes of the programs and libraries of the process that may be executed, and of \
             which the process gets a copy of its own when it writes.",
        )
        .differs("What was written already counts here, too."),
    space(780, "Bytes Reserved")
        .from("`PID/maps`: private mappings without a file, `---`")
        .means(
            "All bytes of address space that the process keeps for later: here those of Reserved \
             Space No Access.",
        )
        .differs("The same as Reserved Space No Access: there are no others."),
    Counter::new(106_000, 106_021, "Mappings", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("mappings")
        .from("`PID/maps`: lines")
        .means("All mappings of the process; the kernel's vm.max_map_count limits them."),
    memory(106_002, 106_023, "Resident Bytes")
        .from("`PID/smaps_rollup`: `Rss`")
        .since("4.14")
        .means("Bytes of the process that are in memory, whether others share them or not."),
    memory(106_004, 106_025, "Proportional Bytes")
        .from("`PID/smaps_rollup`: `Pss`")
        .since("4.14")
        .means(
            "Bytes of the process that are in memory, each page divided by the number of \
             processes that share it.",
        )
        .differs("The sum over all processes is what they take."),
    memory(106_006, 106_027, "Private Dirty Bytes")
        .from("`PID/smaps_rollup`: `Private_Dirty`")
        .since("4.14")
        .means("Bytes that this process alone has in memory and has written."),
    memory(106_008, 106_029, "Swapped Bytes")
        .from("`PID/smaps_rollup`: `Swap`")
        .since("4.14")
        .means("Bytes of the process that are swapped out."),
];

const NO_RESERVE: &str = "A reservation has no protection on Linux but that it may not be touched: see \
    Reserved Space No Access.";
const NO_COPY: &str = "Memory without a file is not a copy of anything; that a child still shares it with \
    its parent is not seen in the maps.";
const NO_LIMIT: &str = "Linux does not report how large an address space may become: that depends on the processor, \
     the kernel and the program.";

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
        "Cannot be distinguished from a reservation: see Reserved Space No Access.",
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
    meaning: "Details of each thread that are laborious to get. Instances as in Thread.",
    note: "An instance for each thread of a process, with its name in Thread: its number within the process, in the \
         order of thread IDs. The parent is the instance of the process; Process is always collected with this \
         object. Idle, kernel threads and `_Total` have no address in a program, and therefore no instances; nor \
         have the threads of processes that the reader may not trace.",
    reads: "with Process, for each process a listing of `PID/task`, and for each thread `PID/task/TID/syscall`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[PROCESS.index],
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
.means(
    "Address in the program at which the thread goes on once it does not wait any more. Of \
         running threads it is not known. Takes permission to trace the process.",
)
.differs(
    "Only of threads that wait. For a thread that runs or is about to run, the kernel has no \
     address, and the instance has no value.",
)];
