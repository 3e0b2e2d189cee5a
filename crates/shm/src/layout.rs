//! The layout of a file of counters, version 2: the numbers of the manual's `shared-memory.md`,
//! which explains the layout.
//!
//! A file holds one category of one process. All numbers are little-endian and aligned to their
//! size; every area begins at a multiple of 64 bytes:
//!
//! header, counter table, texts | live header, slot table | names | values
//!
//! The part before the first bar never changes once the file has its final name.

/// The first eight bytes of a file of counters.
pub(crate) const MAGIC: [u8; 8] = *b"PERFHSHM";
/// The version of the layout.
pub(crate) const VERSION: u32 = 2;
/// The suffix of a published file.
pub(crate) const SUFFIX: &str = ".counters";
/// The suffix of an incomplete file.
pub(crate) const UNFINISHED: &str = ".counters-new";

/// The length of the header in bytes.
pub(crate) const HEADER: usize = 256;
/// The length of an entry of the counter table in bytes.
pub(crate) const COUNTER: usize = 48;
/// The length in bytes of the live header, which lies before the slot table.
pub(crate) const LIVE: usize = 64;
/// The length of an entry of the slot table in bytes.
pub(crate) const SLOT: usize = 16;
/// The length in bytes of the cell of a counter without a base.
pub(crate) const SINGLE: usize = 8;
/// The length in bytes of the cells of a counter with a base.
pub(crate) const PAIR: usize = 56;
/// The alignment in bytes of areas, and of the cells of counters with bases.
pub(crate) const ALIGN: usize = 64;

/// The greatest number of counters of a category, bases not counted.
pub(crate) const MOST_COUNTERS: usize = 512;
/// The greatest number of instances of a category.
pub(crate) const MOST_SLOTS: usize = 65_536;
/// The greatest length of an instance's name, in bytes.
pub(crate) const LONGEST_NAME: usize = 1024;
/// The greatest length of one name or help text of the definitions, in bytes.
pub(crate) const LONGEST_TEXT: usize = 16 << 10;
/// The greatest length of all names and help texts of a file together, in
/// bytes.
pub(crate) const MOST_TEXT: usize = 1 << 20;
/// The greatest size of a file, in bytes.
pub(crate) const LARGEST: usize = 16 << 20;

/// Offsets in the header.
pub(crate) mod header {
    pub(crate) const VERSION: usize = 8;
    pub(crate) const LENGTH: usize = 12;
    pub(crate) const FILE_SIZE: usize = 16;
    pub(crate) const FLAGS: usize = 24;
    pub(crate) const COUNTERS: usize = 28;
    pub(crate) const SLOTS: usize = 32;
    pub(crate) const NAME_SIZE: usize = 36;
    pub(crate) const COUNTERS_AT: usize = 40;
    pub(crate) const TEXTS_AT: usize = 48;
    pub(crate) const TEXTS_SIZE: usize = 56;
    pub(crate) const LIVE_AT: usize = 64;
    pub(crate) const NAMES_AT: usize = 72;
    pub(crate) const VALUES_AT: usize = 80;
    pub(crate) const VALUES_SIZE: usize = 88;
    pub(crate) const DEFAULT_COUNTER: usize = 92;
    pub(crate) const NAME: usize = 96;
    pub(crate) const HELP: usize = 104;
    pub(crate) const DETAIL: usize = 112;
    pub(crate) const PID: usize = 120;
    pub(crate) const START: usize = 128;
    pub(crate) const PID_NAMESPACE: usize = 136;
    pub(crate) const TIME_NAMESPACE: usize = 144;
    pub(crate) const CREATED: usize = 152;
}

/// Flag of the header: the category has instances.
pub(crate) const MULTI_INSTANCE: u32 = 1;

/// Offsets in an entry of the counter table.
pub(crate) mod counter {
    pub(crate) const NAME: usize = 0;
    pub(crate) const HELP: usize = 8;
    pub(crate) const TYPE: usize = 16;
    pub(crate) const BASE_TYPE: usize = 20;
    pub(crate) const SCALE: usize = 24;
    pub(crate) const DETAIL: usize = 28;
    pub(crate) const CELL: usize = 32;
    pub(crate) const FLAGS: usize = 36;
}

/// Flag of a counter: its value, without the base, is in nanoseconds, whatever the clock of its
/// type.
pub(crate) const NANOSECONDS: u32 = 1;

/// Offsets in the live header.
pub(crate) mod live {
    pub(crate) const STATE: usize = 0;
    pub(crate) const USED: usize = 8;
    pub(crate) const GENERATION: usize = 16;
}

/// State in the live header: the category is complete.
pub(crate) const READY: u64 = 1;
/// State in the live header: the program removed its category.
pub(crate) const WITHDRAWN: u64 = 2;

/// Offsets in an entry of the slot table.
pub(crate) mod slot {
    pub(crate) const STATE: usize = 0;
    pub(crate) const UNIQUE_ID: usize = 8;
    pub(crate) const NAME_LENGTH: usize = 12;
}

/// The mask of the low bits of a slot's state, which are its phase. The other
/// bits count how often the slot was used.
pub(crate) const PHASE: u64 = 3;
/// Phase of a slot: it is free.
pub(crate) const FREE: u64 = 0;
/// Phase of a slot: an instance is about to use it.
pub(crate) const CHANGING: u64 = 1;
/// Phase of a slot: an instance uses it.
pub(crate) const ALIVE: u64 = 2;
/// The number that each use of a slot adds to the slot's state: it counts uses above the phase.
pub(crate) const ONE_USE: u64 = 4;

/// Offsets in the cells of a counter with a base, in the writer's order.
#[cfg(feature = "reader")]
pub(crate) mod pair {
    pub(crate) const VALUE: usize = 0;
    pub(crate) const BASE: usize = 8;
    pub(crate) const TAGGED: usize = 16;
    pub(crate) const BEGUN: usize = 24;
    pub(crate) const ENDED: usize = 32;
    pub(crate) const LARGE_VALUE: usize = 40;
    pub(crate) const LARGE_BASE: usize = 48;
}
