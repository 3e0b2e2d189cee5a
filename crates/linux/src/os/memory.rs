//! The objects Memory (title index 4) and Cache (86).

use super::{SystemSession, readable, text_of};
use crate::faults::{Faults, numbers};
use crate::parse::{Words, kib_to_bytes, whole_lines};
use crate::table::{CACHE, MEMORY, index_of};
use perfhive_engine::standard::{CounterValues, write_single};
use perfhive_engine::{ObjectWriter, ProviderError};

/// The lines of `meminfo`, in kibibytes, that are a counter of Memory each.
const SIZES: [(u32, &[u8]); 20] = [
    (index_of!(MEMORY, "Total Bytes"), b"MemTotal:"),
    (index_of!(MEMORY, "Swap Total Bytes"), b"SwapTotal:"),
    (index_of!(MEMORY, "Swap Free Bytes"), b"SwapFree:"),
    (index_of!(MEMORY, "Swap Cached Bytes"), b"SwapCached:"),
    (index_of!(MEMORY, "Buffer Bytes"), b"Buffers:"),
    (index_of!(MEMORY, "Active Bytes"), b"Active:"),
    (index_of!(MEMORY, "Inactive Bytes"), b"Inactive:"),
    (index_of!(MEMORY, "Unevictable Bytes"), b"Unevictable:"),
    (index_of!(MEMORY, "Anonymous Bytes"), b"AnonPages:"),
    (index_of!(MEMORY, "Anonymous Huge Page Bytes"), b"AnonHugePages:"),
    (index_of!(MEMORY, "Mapped Bytes"), b"Mapped:"),
    (index_of!(MEMORY, "Shared Bytes"), b"Shmem:"),
    (index_of!(MEMORY, "Writeback Bytes"), b"Writeback:"),
    (index_of!(MEMORY, "Slab Bytes"), b"Slab:"),
    (index_of!(MEMORY, "Slab Reclaimable Bytes"), b"SReclaimable:"),
    (index_of!(MEMORY, "Page Table Bytes"), b"PageTables:"),
    (index_of!(MEMORY, "Kernel Stack Bytes"), b"KernelStack:"),
    (index_of!(MEMORY, "Huge Page Size"), b"Hugepagesize:"),
    (index_of!(MEMORY, "Zswap Bytes"), b"Zswap:"),
    (index_of!(MEMORY, "Zswapped Bytes"), b"Zswapped:"),
];

/// The lines of `vmstat` that are a counter of Memory each.
const EVENTS: [(u32, &[u8]); 11] = [
    (index_of!(MEMORY, "Page Faults/sec"), b"pgfault"),
    (index_of!(MEMORY, "Page Reads/sec"), b"pgmajfault"),
    (index_of!(MEMORY, "Swap Pages In/sec"), b"pswpin"),
    (index_of!(MEMORY, "Swap Pages Out/sec"), b"pswpout"),
    (index_of!(MEMORY, "Block KBytes In/sec"), b"pgpgin"),
    (index_of!(MEMORY, "Block KBytes Out/sec"), b"pgpgout"),
    (index_of!(MEMORY, "Out of Memory Kills/sec"), b"oom_kill"),
    (index_of!(MEMORY, "Compaction Stalls/sec"), b"compact_stall"),
    (index_of!(MEMORY, "NUMA Hits/sec"), b"numa_hit"),
    (index_of!(MEMORY, "NUMA Misses/sec"), b"numa_miss"),
    (index_of!(MEMORY, "Huge Page Faults/sec"), b"thp_fault_alloc"),
];

/// Counters that are the sum of several lines of `vmstat`, each with the stems of these
/// lines: the name of such a line is a stem, or a stem followed by an underscore and more, but
/// not [`NO_PART`]. Some kernels count by zone or kind, others do not.
const SUMS: [(u32, &[&[u8]]); 5] = [
    (index_of!(MEMORY, "Allocation Stalls/sec"), &[b"allocstall"]),
    (index_of!(MEMORY, "Pages Scanned Directly/sec"), &[b"pgscan_direct"]),
    (index_of!(MEMORY, "Pages Scanned in Background/sec"), &[b"pgscan_kswapd"]),
    (index_of!(MEMORY, "Pages Reclaimed/sec"), &[b"pgsteal_direct", b"pgsteal_kswapd"]),
    (index_of!(MEMORY, "Working Set Refaults/sec"), &[b"workingset_refault"]),
];

/// A line that begins with a stem of [`SUMS`], but counts waits, not pages; it is not added.
const NO_PART: &[u8] = b"pgscan_direct_throttle";

/// The lines of `vmstat` that are a counter of Cache each.
const PAGES: [(u32, &[u8]); 7] = [
    (index_of!(CACHE, "Dirty Pages"), b"nr_dirty"),
    (index_of!(CACHE, "Dirty Page Threshold"), b"nr_dirty_threshold"),
    (index_of!(CACHE, "Background Dirty Page Threshold"), b"nr_dirty_background_threshold"),
    (index_of!(CACHE, "Writeback Pages"), b"nr_writeback"),
    (index_of!(CACHE, "Pages Dirtied/sec"), b"nr_dirtied"),
    (index_of!(CACHE, "Pages Written/sec"), b"nr_written"),
    (index_of!(CACHE, "Cached Pages"), b"nr_file_pages"),
];

impl SystemSession {
    /// Writes Memory and Cache, if wanted. `vmstat` is read once for both.
    pub(super) fn write_memory(
        &mut self,
        memory: bool,
        cache: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let Self { reader, files, faults, page, .. } = self;
        let mut row = CounterValues::new(&MEMORY);
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
            let mut row = CounterValues::new(&CACHE);
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

/// Sets the counters that are a line of `vmstat` each.
fn set_lines<const N: usize>(
    text: &[u8],
    lines: [(u32, &[u8]); N],
    row: &mut CounterValues,
    faults: &mut Faults,
) {
    let values = numbers(c"vmstat", text, lines.map(|(_, key)| key), faults);
    for ((counter, _), value) in lines.into_iter().zip(values) {
        row.set_some(counter, value);
    }
}

/// The sum of the lines of `vmstat` with these stems, as [`SUMS`] has them. `None` if there are no
/// such lines; also `None`, with a fault, if one of them has no number.
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

/// Sets the counters from `meminfo`; a counter without a line in this kernel's file is left out.
fn set_meminfo(text: &[u8], page: u64, row: &mut CounterValues, faults: &mut Faults) {
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
    row.set_some(index_of!(MEMORY, "Available Bytes"), bytes(available));
    row.set_some(index_of!(MEMORY, "Available KBytes"), available);
    row.set_some(index_of!(MEMORY, "Available MBytes"), available.map(|kib| kib / 1024));
    row.set_some(index_of!(MEMORY, "Committed Bytes"), bytes(committed));
    row.set_some(index_of!(MEMORY, "Commit Limit"), bytes(limit));
    row.set_some(index_of!(MEMORY, "Pool Nonpaged Bytes"), bytes(slab));
    row.set_some(index_of!(MEMORY, "Free & Zero Page List Bytes"), bytes(free));
    row.set_some(index_of!(MEMORY, "Modified Page List Bytes"), bytes(dirty));
    row.set_some(index_of!(MEMORY, "Huge Pages Total"), huge);
    row.set_some(index_of!(MEMORY, "Huge Pages Free"), huge_free);
    if let (Some(committed), Some(limit)) = (committed, limit) {
        // The unit is a page, as on Windows, or a larger unit if a number of pages would have more
        // than 32 bits.
        let pages = |kib: u64| kib_to_bytes(kib) / page.max(1);
        let (mut value, mut base) = (pages(committed), pages(limit));
        while value.max(base) > u64::from(u32::MAX) {
            (value, base) = (value / 2, base / 2);
        }
        row.set_with_base(index_of!(MEMORY, "% Committed Bytes In Use"), value, base);
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
        row.set(index_of!(MEMORY, "Cache Bytes"), kib_to_bytes(pages));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_by_zone_and_kind_are_summed() {
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
