//! The object Process (230), written from the values that `/proc` shows.

use super::columns::ProcessColumns;
use super::ended::Ended;
use super::few::Few;
use super::instances::{Owner, ReadBy};
use super::read::{BATCH, ProcessReader, Slot};
use super::sample::{GROWING, Sample, Sum};
use super::tracked::Tracked;
use crate::maps::Maps;
use perfhive_engine::ProviderError;
use perfhive_format::{InstanceHead, NameRef, ObjectWriting};

/// The object Process while it is written.
pub(super) struct Writing<'a, 'w, 't> {
    pub(super) object: ObjectWriting<'w, 't>,
    pub(super) total: Sum,
    pub(super) reader: &'a mut ProcessReader,
    /// The written processes, for Thread; `None` if Thread is not wanted, since they take several
    /// cache lines each.
    pub(super) owners: Option<&'a mut Vec<Owner>>,
    pub(super) maps: &'a mut Maps,
    pub(super) ended: &'a mut Ended<GROWING>,
    /// The positions in a sample of the counts that only grow; `None` for a count that is not
    /// wanted.
    pub(super) growing: [Option<usize>; GROWING],
    /// The processes that exist, but could not be read, by ascending number.
    pub(super) unread: &'a mut Vec<u32>,
    /// Whether process 2 is a kernel thread. If so, all processes of the machine are seen.
    pub(super) sees_all: &'a mut bool,
    /// Whether the reading went through all processes, so that the sums are complete: it did not
    /// end at the deadline.
    pub(super) complete: bool,
    /// The processes that are written; `None` if all processes are.
    pub(super) few: Option<&'a mut Few>,
}

impl Writing<'_, '_, '_> {
    /// Writes the tracked processes from `/proc`, in batches. After the deadline the other
    /// processes are left out, with a fault.
    pub(super) fn by_proc(
        &mut self,
        tracked: &mut [Tracked],
        wanted: ProcessColumns,
    ) -> Result<(), ProviderError> {
        for (batch, known) in tracked.chunks_mut(BATCH).enumerate() {
            if self.reader.files.reader.is_late() {
                // The message has no number of processes: it would differ each time.
                let message = "the deadline passed: some processes were not read";
                self.reader.files.faults.object(message);
                self.complete = false;
                break;
            }
            self.reader.read(known, wanted, self.few.as_deref_mut());
            let is_all = self.few.is_none();
            let mut unread = known.iter().filter(|known| is_all && known.is_unread).peekable();
            for (Slot { at, sample, thread, .. }, name) in self.reader.processes() {
                let place = self.object.instance_count();
                let head =
                    InstanceHead { name: NameRef::Utf16(name), unique_id: None, parent: None };
                let mut sample = *sample;
                self.object.instance_prefix(&head, sample.block())?;
                self.total.add(&sample);
                let pid = known.get(*at).map_or(0, |known| known.pid);
                if is_all {
                    while let Some(before) = unread.next_if(|known| known.pid < pid) {
                        meet_unread(self.ended, self.unread, before.pid);
                    }
                    meet(self.ended, &self.growing, &sample);
                }
                if let Some(known) = known.get(*at).filter(|known| known.pid == 2) {
                    // A process that entered this namespace from outside has no parent here either.
                    *self.sees_all = known.is_kernel_thread;
                }
                self.maps.add(pid, place, name);
                if let Some(owners) = &mut self.owners {
                    let read_by = ReadBy::Proc(batch * BATCH + at);
                    let threads = sample.threads();
                    owners.push(Owner { read_by, place, threads, first: *thread });
                }
            }
            unread.for_each(|known| meet_unread(self.ended, self.unread, known.pid));
        }
        Ok(())
    }
}

/// Notes a process that exists, with its counts, so that they are known once it has ended.
pub(super) fn meet(
    ended: &mut Ended<GROWING>,
    growing: &[Option<usize>; GROWING],
    sample: &Sample,
) {
    let (pid, start, _) = sample.identity();
    ended.meet(pid, start, |slot| sample.told(growing.get(slot).copied().flatten()?));
}

/// Notes in `ended` and in `unread` a process that exists, but could not be read, so that its
/// counts stay as they were.
pub(super) fn meet_unread(ended: &mut Ended<GROWING>, unread: &mut Vec<u32>, pid: u32) {
    ended.meet_unread(u64::from(pid)..=u64::from(pid));
    unread.push(pid);
}
