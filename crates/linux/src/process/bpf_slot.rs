//! The values of the BPF program's slots, as `/proc` shows them.

use super::columns::{ProcessColumns, ThreadColumns};
use super::read::ProcessReader;
use super::sample::Sample;
use super::shown::CpuTimes;
use super::thread_sample;
use crate::bpf::{
    MARK_KERNEL, MARK_MEMORY, MARK_NO_RESIDENT, MARK_TORN, MARK_WORKING, ProcessDetail,
    ProcessSlot, ThreadSlot,
};
use crate::table::{IO_COUNTERS, PEAK_COUNTERS};

/// The flag of a task that marks the kernel's worker threads.
const PF_WQ_WORKER: u32 = 0x20;

/// Whether the process of a slot must be read from `/proc`, for one of three reasons:
/// - Its first thread has ended, and other threads live.
/// - Its values are of different moments.
/// - The slot lacks the numbers of resident and swapped pages, and a peak or the swapped size is
///   wanted.
pub(super) fn needs_proc(marks: u32, threads: u32, wanted: ProcessColumns) -> bool {
    // The first thread has ended; what the threads share is then read from another one in `/proc`.
    let is_headless = marks & (MARK_MEMORY | MARK_KERNEL) == 0 && threads > 1;
    is_headless
        || marks & MARK_TORN != 0
        || marks & MARK_NO_RESIDENT != 0 && (wanted.peaks || wanted.swap)
}

/// Makes `sample` from the slot of a process and its processor time `time`; returns `false` if the
/// slot lacks the memory and the process no longer exists. Without `open`, the counters from `io`
/// have no value.
pub(super) fn from_slot(
    (slot, detail): (&ProcessSlot, &ProcessDetail),
    time: CpuTimes,
    wanted: ProcessColumns,
    open: bool,
    reader: &mut ProcessReader,
    sample: &mut Sample,
) -> bool {
    let page = reader.files.page;
    let pages = |count: u64| count.saturating_mul(page);
    sample.begin(
        [time.user, time.kernel, reader.files.start_time_of_nanos(slot.start)],
        [slot.pid, slot.parent],
        [detail.minor_faults.wrapping_add(detail.major_faults), detail.major_faults],
        pages(slot.size),
        slot.threads,
    );
    if wanted.schedule {
        sample.push(schedule([detail.priority, detail.real_time, detail.policy]));
    }
    // A count is a sum over processors that go on counting meanwhile; it may be below zero.
    let counted = |count: i64| u64::try_from(count).unwrap_or(0);
    let shared = counted(slot.file).saturating_add(counted(slot.shared));
    let resident = shared.saturating_add(counted(slot.anonymous));
    if slot.marks & MARK_NO_RESIDENT == 0 {
        sample.push([pages(resident), pages(resident - shared), pages(slot.data)]);
    } else {
        if !reader.memory_once(slot.pid, sample) {
            return false;
        }
    }
    if wanted.handles {
        sample.push([slot.handles]);
    }
    let is_known = slot.marks & (MARK_MEMORY | MARK_KERNEL) != 0;
    if wanted.peaks {
        // As in `/proc`: the peaks of kernel threads are 0, since these have no memory of their
        // own, and the peaks of a process that has ended are not known any more.
        let most = |peak: u64, now: u64| pages(peak.max(now));
        match is_known {
            true => {
                sample.push([most(slot.size_peak, slot.size), most(slot.resident_peak, resident)]);
            }
            false => sample.push_absent(PEAK_COUNTERS),
        }
    }
    if wanted.swap {
        match is_known {
            true => sample.push([pages(counted(slot.swapped))]),
            false => sample.push_absent(1),
        }
    }
    if wanted.descriptors {
        sample.push([slot.handles]);
    }
    if open {
        sample.push_io(detail.read_bytes, detail.written_bytes, detail.reads, detail.writes);
        sample.push([detail.storage_read, detail.storage_written, detail.storage_cancelled]);
    } else {
        sample.push_absent(IO_COUNTERS);
    }
    true
}

/// The values of Nice Level, Real-Time Priority and Scheduling Policy. The kernel's priority of a
/// thread with the usual nice value is 120, which becomes 20.
fn schedule([priority, real_time, policy]: [u32; 3]) -> [u64; 3] {
    [priority.saturating_sub(100), real_time, policy].map(u64::from)
}

/// The sample of the thread in a slot, with the processor time `time` and the start time `start`, a
/// FILETIME.
pub(super) fn thread_from_slot(
    slot: &ThreadSlot,
    time: CpuTimes,
    start: u64,
    (pid, tid): (u32, u32),
    wanted: ThreadColumns,
) -> thread_sample::Sample {
    let mut sample = thread_sample::Sample::new([
        time.user.saturating_add(time.kernel),
        time.user,
        time.kernel,
        start,
        u64::from(pid),
        u64::from(tid),
        slot.minor_faults.wrapping_add(slot.major_faults),
        slot.major_faults,
    ]);
    if wanted.switches {
        sample.push_summed(slot.switches_voluntary.wrapping_add(slot.switches_other));
    }
    if wanted.counts.apart {
        sample.push_summed(slot.switches_voluntary);
        sample.push_summed(slot.switches_other);
    }
    if wanted.counts.waiting {
        sample.push_summed(slot.waited / 100);
    }
    sample.push(thread_sample::windows_state(state(slot.state)));
    if wanted.schedule {
        let values = schedule([slot.priority, slot.real_time, slot.policy]);
        values.into_iter().for_each(|value| sample.push(value));
    }
    sample
}

/// Writes the name of a process as `/proc/PID/stat` shows it.
pub(super) fn name_of(slot: &ProcessSlot, detail: &ProcessDetail, out: &mut Vec<u8>) {
    let text = |bytes: &'_ [u8]| bytes.split(|byte| *byte == 0).next().map_or(0, <[u8]>::len);
    out.clear();
    if slot.marks & MARK_KERNEL == 0 {
        out.extend_from_slice(detail.name.get(..text(&detail.name)).unwrap_or_default());
        return;
    }
    let name: &[u8] = if detail.long_name[0] == 0 { &detail.name } else { &detail.long_name };
    out.extend_from_slice(name.get(..text(name)).unwrap_or_default());
    if detail.flags & PF_WQ_WORKER != 0 && detail.work[0] != 0 {
        out.push(if slot.marks & MARK_WORKING == 0 { b'-' } else { b'+' });
        out.extend_from_slice(detail.work.get(..text(&detail.work)).unwrap_or_default());
    }
    out.truncate(63);
}

/// The letter of a thread's state, from the bits of the slot, as the kernel's `task_index_to_char`
/// has it.
fn state(bits: u32) -> u8 {
    const REPORTED: u32 = 0x7f;
    const UNINTERRUPTIBLE: u32 = 0x2;
    const IDLE: u32 = 0x402;
    const RTLOCK_WAIT: u32 = 0x1000;
    const FROZEN: u32 = 0x8000;
    let mut index = bits & REPORTED;
    if bits & IDLE == IDLE {
        index = REPORTED + 1;
    }
    if bits & (RTLOCK_WAIT | FROZEN) != 0 {
        index = UNINTERRUPTIBLE;
    }
    let place = (u32::BITS - index.leading_zeros()) as usize;
    b"RSDTtXZPI".get(place).copied().unwrap_or(b'?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_letters_of_proc() {
        for (bits, letter) in [
            (0, b'R'),
            (1, b'S'),
            (0x2001, b'S'),
            (2, b'D'),
            (0x102, b'D'),
            (4, b'T'),
            (8, b't'),
            (0x10, b'X'),
            (0x80 | 0x20, b'Z'),
            (0x40, b'P'),
            (0x402, b'I'),
            (0x8000, b'D'),
            (0x1000, b'D'),
        ] {
            assert_eq!(state(bits), letter, "{bits:#x}");
        }
    }

    #[test]
    fn values_that_bpf_lacks_are_read_from_proc() {
        let (plain, peaks, swap) = (
            ProcessColumns::default(),
            ProcessColumns { peaks: true, ..ProcessColumns::default() },
            ProcessColumns { swap: true, ..ProcessColumns::default() },
        );
        for wanted in [plain, peaks, swap] {
            assert!(needs_proc(MARK_MEMORY | MARK_TORN, 2, wanted));
            assert!(!needs_proc(MARK_MEMORY, 2, wanted));
            // Threads without a first one.
            assert!(needs_proc(0, 2, wanted));
            assert!(!needs_proc(0, 1, wanted));
        }
        let no_resident = MARK_MEMORY | MARK_NO_RESIDENT;
        assert!(needs_proc(no_resident, 2, peaks) && needs_proc(no_resident, 2, swap));
        assert!(!needs_proc(no_resident, 2, plain));
    }
}
