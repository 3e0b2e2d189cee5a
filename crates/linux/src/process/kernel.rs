//! The features of the kernel that some counters need, and whether this kernel has them. Answers
//! that cannot change are kept.

use crate::files::Reader;
use crate::parse::{Words, memory_of_status, number, waiting};

/// The answers about this kernel that were found so far; `None` for a question that was not asked.
#[derive(Default)]
pub(super) struct Kernel {
    handles: Option<bool>,
    swap: Option<bool>,
    waiting: Option<bool>,
}

impl Kernel {
    /// Whether the kernel gives the number of open descriptors as the size of the folder `fd` (Linux
    /// 6.2 or later): the size must be above 0 for this process, which has a descriptor open.
    pub(super) fn counts_descriptors(&mut self, files: &Reader) -> bool {
        let look = || files.is_procfs() && files.size(c"self/fd").is_ok_and(|size| size > 0);
        *self.handles.get_or_insert_with(look)
    }
}

/// A kernel, and the reader of the files that answer questions about it.
pub(super) struct Probe<'a> {
    pub(super) kernel: &'a mut Kernel,
    pub(super) files: &'a mut Reader,
}

impl Probe<'_> {
    /// Whether the kernel gives the number of bytes of a process that are swapped out.
    pub(super) fn has_swap(&mut self) -> bool {
        if let Some(has) = self.kernel.swap {
            return has;
        }
        let read = self.files.once_here(c"self/status");
        let has = read.is_ok() && memory_of_status(self.files.text())[2].is_some();
        *self.kernel.swap.insert(has)
    }

    /// Whether the kernel measures how long threads wait for a processor. A kernel that does not
    /// measure gives 0 even for this process, which has run.
    pub(super) fn has_waiting(&mut self) -> bool {
        if let Some(has) = self.kernel.waiting {
            return has;
        }
        let read = self.files.once_here(c"self/schedstat");
        let text = self.files.text();
        let ran = Words::new(text).number().is_some_and(|time| time > 0);
        let has = read.is_ok() && ran && waiting(text).is_some();
        *self.kernel.waiting.insert(has)
    }

    /// Whether the kernel has measured waiting for block devices since it was started. A thread
    /// that began before the measuring has 0 for ever.
    pub(super) fn has_delay(&mut self) -> bool {
        let on = self.files.once_here(c"sys/kernel/task_delayacct").is_ok()
            && number(self.files.text().trim_ascii()) == Some(1);
        let started = self.files.once_here(c"cmdline").is_ok();
        let mut words = self.files.text().split(u8::is_ascii_whitespace);
        on && started && words.any(|word| word == b"delayacct")
    }
}
