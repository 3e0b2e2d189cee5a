//! Memory 4 and Cache 86.

use super::{SystemSession, readable, text_of};
use crate::faults::{Faults, numbers};
use crate::parse::{Words, kib_to_bytes, whole_lines};
use crate::table::{CACHE, MEMORY};
use perfhive_engine::standard::{Row, write_single};
use perfhive_engine::{ObjectWriter, ProviderError};

/// Lines of `meminfo` that are a counter of their own, in kibibytes.
const SIZES: [(u32, &[u8]); 20] = [
    (100_100, b"MemTotal:"),
    (100_102, b"SwapTotal:"),
    (100_104, b"SwapFree:"),
    (100_106, b"SwapCached:"),
    (100_108, b"Buffers:"),
    (100_110, b"Active:"),
    (100_112, b"Inactive:"),
    (100_114, b"Unevictable:"),
    (100_116, b"AnonPages:"),
    (100_118, b"AnonHugePages:"),
    (100_120, b"Mapped:"),
    (100_122, b"Shmem:"),
    (100_124, b"Writeback:"),
    (100_126, b"Slab:"),
    (100_128, b"SReclaimable:"),
    (100_130, b"PageTables:"),
    (100_132, b"KernelStack:"),
    (100_138, b"Hugepagesize:"),
    (100_140, b"Zswap:"),
    (100_142, b"Zswapped:"),
];

/// Lines of `vmstat` that are a counter of Memory.
const EVENTS: [(u32, &[u8]); 11] = [
    (28, b"pgfault"),
    (42, b"pgmajfault"),
    (100_150, b"pswpin"),
    (100_152, b"pswpout"),
    (100_154, b"pgpgin"),
    (100_156, b"pgpgout"),
    (100_158, b"oom_kill"),
    (100_168, b"compact_stall"),
    (100_170, b"numa_hit"),
    (100_172, b"numa_miss"),
    (100_176, b"thp_fault_alloc"),
];

/// Counters that are the sum of several lines of `vmstat`: those that are one
/// of these words, or begin with one and an underscore. Kernels differ in
/// whether they count by zone or kind.
const SUMS: [(u32, &[&[u8]]); 5] = [
    (100_160, &[b"allocstall"]),
    (100_162, &[b"pgscan_direct"]),
    (100_164, &[b"pgscan_kswapd"]),
    (100_166, &[b"pgsteal_direct", b"pgsteal_kswapd"]),
    (100_174, &[b"workingset_refault"]),
];

/// Counts waits, not pages.
const NO_PART: &[u8] = b"pgscan_direct_throttle";

/// Lines of `vmstat` that are a counter of Cache.
const PAGES: [(u32, &[u8]); 7] = [
    (100_320, b"nr_dirty"),
    (100_322, b"nr_dirty_threshold"),
    (100_324, b"nr_dirty_background_threshold"),
    (100_326, b"nr_writeback"),
    (100_328, b"nr_dirtied"),
    (100_330, b"nr_written"),
    (100_332, b"nr_file_pages"),
];

impl SystemSession {
    /// Writes Memory and Cache, those that are wanted: `vmstat` is read once
    /// for both.
    pub(super) fn write_memory(
        &mut self,
        memory: bool,
        cache: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let Self { reader, files, faults, page, .. } = self;
        let mut row = Row::new(&MEMORY);
        if memory && let Some(text) = text_of(reader, c"meminfo", &mut files.meminfo, faults) {
            set_meminfo(text, *page, &mut row, faults);
        }
        let events = reader.system(c"vmstat", &mut files.vmstat);
        if memory {
            if let Some(text) = readable(c"vmstat", events, faults) {
                set_lines(text, EVENTS, &mut row, faults);
                for (counter, stems) in SUMS {
                    row.set_some(counter, sum(text, stems, faults));
                }
            }
            if row.mask() != 0 {
                write_single(&mut self.memory, &row, None, out)?;
            }
            faults.report(MEMORY.index, out);
        }
        if cache {
            let mut row = Row::new(&CACHE);
            if let Some(text) = readable(c"vmstat", events, faults) {
                set_lines(text, PAGES, &mut row, faults);
            }
            if row.mask() != 0 {
                write_single(&mut self.cache, &row, None, out)?;
            }
            faults.report(CACHE.index, out);
        }
        Ok(())
    }
}

/// Sets the counters of some lines of `vmstat`.
fn set_lines<const N: usize>(
    text: &[u8],
    lines: [(u32, &[u8]); N],
    row: &mut Row,
    faults: &mut Faults,
) {
    let values = numbers(c"vmstat", text, lines.map(|(_, key)| key), faults);
    for ((counter, _), value) in lines.into_iter().zip(values) {
        row.set_some(counter, value);
    }
}

/// The sum of the lines of `vmstat` of these stems; `None` where there is none.
fn sum(text: &[u8], stems: &[&[u8]], faults: &mut Faults) -> Option<u64> {
    let mut sum = None;
    for line in whole_lines(text).0 {
        let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let is_part = |stem: &&[u8]| {
            let tail = name.strip_prefix(*stem);
            tail.is_some_and(|tail| matches!(tail.first(), None | Some(b'_')))
        };
        if !stems.iter().any(is_part) || name == NO_PART {
            continue;
        }
        match Words::new(rest).number() {
            Some(count) => sum = Some(sum.unwrap_or(0u64).wrapping_add(count)),
            None => {
                let name = String::from_utf8_lossy(name);
                faults.object(format_args!("vmstat: {name} has no number"));
                return None;
            }
        }
    }
    sum
}

/// Sets what `meminfo` has; a field that the kernel does not have leaves its
/// counters out.
fn set_meminfo(text: &[u8], page: u64, row: &mut Row, faults: &mut Faults) {
    let keys = [
        &b"MemFree:"[..],
        b"MemAvailable:",
        b"Cached:",
        b"Dirty:",
        b"SUnreclaim:",
        b"CommitLimit:",
        b"Committed_AS:",
        b"HugePages_Total:",
        b"HugePages_Free:",
    ];
    let [free, available, cached, dirty, slab, limit, committed, huge, huge_free] =
        numbers(c"meminfo", text, keys, faults);
    let bytes = |kib: Option<u64>| kib.map(kib_to_bytes);
    row.set_some(24, bytes(available));
    row.set_some(1380, available);
    row.set_some(1382, available.map(|kib| kib / 1024));
    row.set_some(26, bytes(committed));
    row.set_some(30, bytes(limit));
    row.set_some(58, bytes(slab));
    row.set_some(1676, bytes(free));
    row.set_some(1678, bytes(dirty));
    row.set_some(100_134, huge);
    row.set_some(100_136, huge_free);
    if let (Some(committed), Some(limit)) = (committed, limit) {
        // Pages, as Windows counts; in larger units where 32 bits do not do.
        let pages = |kib: u64| kib_to_bytes(kib) / page.max(1);
        let (mut value, mut base) = (pages(committed), pages(limit));
        while value.max(base) > u64::from(u32::MAX) {
            (value, base) = (value / 2, base / 2);
        }
        row.set_with_base(1406, value, base);
    }
    let sizes = numbers(c"meminfo", text, SIZES.map(|(_, key)| key), faults);
    let (mut buffers, mut shared) = (None, None);
    for ((counter, key), kib) in SIZES.into_iter().zip(sizes) {
        row.set_some(counter, bytes(kib));
        match key {
            b"Buffers:" => buffers = kib,
            b"Shmem:" => shared = kib,
            _ => {}
        }
    }
    if let (Some(cached), Some(buffers), Some(shared)) = (cached, buffers, shared) {
        let pages = cached.saturating_add(buffers).saturating_sub(shared);
        row.set(818, kib_to_bytes(pages));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_zones_and_kinds() {
        let mut faults = Faults::default();
        let mut sum = |text: &str, stem: &[u8]| super::sum(text.as_bytes(), &[stem], &mut faults);
        let text = "pgscan_direct_normal 5\npgscan_direct_dma 2\npgscan_direct_throttle 9\n\
                    pgscan_directly 7\nallocstall 3\npgscan_direct 4";
        assert_eq!(sum(text, b"pgscan_direct"), Some(7));
        assert_eq!(sum(text, b"allocstall"), Some(3));
        assert_eq!(sum(text, b"workingset_refault"), None);
        assert_eq!(sum("allocstall_dma x\nallocstall_normal 1\n", b"allocstall"), None);
    }
}
