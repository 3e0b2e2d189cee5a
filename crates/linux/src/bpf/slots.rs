//! The slots that the BPF program writes; `processes.bpf.c` has the same layout.

/// The parts of processes that a run reads on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub(crate) threads: bool,
    pub(crate) handles: bool,
    /// Whether scheduling, and the time that threads waited for a processor, are read.
    pub(crate) schedule: bool,
}

impl Wants {
    #[cfg(perfhive_bpf)]
    pub(super) fn bits(self) -> u32 {
        let bits = [self.threads, self.handles, self.schedule];
        (0..).zip(bits).fold(0, |all, (place, bit)| all | u32::from(bit) << place)
    }
}

/// Mark of a slot: the process has memory of its own.
pub(crate) const MARK_MEMORY: u32 = 1;
/// Mark of a slot: a thread ended while the process was read, so that the sums may be wrong.
pub(crate) const MARK_TORN: u32 = 2;
/// Mark of a slot: the program does not know how this kernel counts resident pages.
pub(crate) const MARK_NO_RESIDENT: u32 = 4;
/// Mark of a slot: a kernel worker is busy with the work that it is named after.
pub(crate) const MARK_WORKING: u32 = 8;

/// Mark of a slot: the process is a thread of the kernel.
pub(crate) const MARK_KERNEL: u32 = 16;

/// The slot of a process: the part that each run reads. Memory is in pages.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ProcessSlot {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) threads: u32,
    pub(crate) marks: u32,
    /// The [`Wants`], as bits, of the run that last read the process in full. If the next run wants
    /// other parts, it reads the process in full again.
    pub(crate) wanted: u16,
    /// Not 0 if all values but `first_thread` and `thread_slots` are the same as in the run before.
    pub(crate) same: u16,
    /// The index of the first slot of the process's threads among the slots of all threads, if
    /// threads were wanted.
    pub(crate) first_thread: u32,
    pub(crate) thread_slots: u32,
    pub(crate) unused: u32,
    /// The start time of the process, in nanoseconds after the start of the machine.
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) data: u64,
    pub(crate) size_peak: u64,
    pub(crate) resident_peak: u64,
    pub(crate) anonymous: i64,
    pub(crate) file: i64,
    pub(crate) shared: i64,
    pub(crate) swapped: i64,
    pub(crate) handles: u64,
}

/// The details of a process: the values that change while it runs, and its scheduling. Times are in
/// nanoseconds.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ProcessDetail {
    pub(crate) flags: u32,
    pub(crate) sequence: u32,
    /// The priority on the kernel's scale, on which 120 is the default.
    pub(crate) priority: u32,
    pub(crate) real_time: u32,
    pub(crate) policy: u32,
    pub(crate) unused: u32,
    pub(crate) user: u64,
    pub(crate) kernel: u64,
    pub(crate) runtime: u64,
    /// The time in user mode that `/proc` showed when the process was last read there.
    pub(crate) user_told: u64,
    pub(crate) kernel_told: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) storage_read: u64,
    pub(crate) storage_written: u64,
    pub(crate) storage_cancelled: u64,
    pub(crate) switches_voluntary: u64,
    pub(crate) switches_other: u64,
    pub(crate) name: [u8; 16],
    pub(crate) long_name: [u8; 64],
    pub(crate) work: [u8; 32],
}

/// The slot of a thread. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ThreadSlot {
    pub(crate) tid: u32,
    pub(crate) state: u32,
    pub(crate) start: u64,
    pub(crate) user: u64,
    pub(crate) kernel: u64,
    pub(crate) runtime: u64,
    pub(crate) user_told: u64,
    pub(crate) kernel_told: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) switches_voluntary: u64,
    pub(crate) switches_other: u64,
    /// The time that the thread was ready and waited for a processor.
    pub(crate) waited: u64,
    pub(crate) priority: u32,
    pub(crate) real_time: u32,
    pub(crate) policy: u32,
    pub(crate) unused: u32,
}

// The kernel rounds entries of an array map up to 8 bytes; with multiples of 8, slots lie without gaps.
const _: () = assert!(
    size_of::<ProcessSlot>() == 112
        && size_of::<ProcessDetail>() == 264
        && size_of::<ThreadSlot>() == 112
);
