//! Process 230, written from what `/proc` tells.

use super::columns::ProcessColumns;
use super::instances::{Owner, ReadBy};
use super::read::{BATCH, ProcessReader, Slot};
use super::sample::Sum;
use super::tracked::Tracked;
use crate::maps::Maps;
use perfhive_engine::ProviderError;
use perfhive_format::{InstanceHead, NameRef, ObjectWriting};

/// Process while it is written.
pub(super) struct Writing<'a, 'w, 't> {
    pub(super) object: ObjectWriting<'w, 't>,
    pub(super) total: Sum,
    pub(super) reader: &'a mut ProcessReader,
    /// Processes for Thread, if that is wanted: they take several cache lines each.
    pub(super) owners: Option<&'a mut Vec<Owner>>,
    pub(super) maps: &'a mut Maps,
}

impl Writing<'_, '_, '_> {
    /// Writes the processes from `/proc`, in batches.
    pub(super) fn by_proc(
        &mut self,
        tracked: &mut [Tracked],
        wanted: ProcessColumns,
    ) -> Result<(), ProviderError> {
        let all = tracked.len();
        for (batch, known) in tracked.chunks_mut(BATCH).enumerate() {
            if self.reader.files.reader.is_late() {
                let left = all.saturating_sub(batch * BATCH);
                let what = format_args!("{left} processes were not read");
                self.reader.files.faults.object(format_args!("the deadline passed: {what}"));
                break;
            }
            self.reader.read(known, wanted);
            for (Slot { at, sample, thread, .. }, name) in self.reader.processes() {
                let place = self.object.instance_count();
                let head =
                    InstanceHead { name: NameRef::Utf16(name), unique_id: None, parent: None };
                let mut sample = *sample;
                self.object.instance_prefix(&head, sample.block())?;
                self.total.add(&sample);
                let pid = known.get(*at).map_or(0, |known| known.pid);
                self.maps.add(pid, place, name);
                if let Some(owners) = &mut self.owners {
                    let read_by = ReadBy::Proc(batch * BATCH + at);
                    let threads = sample.threads();
                    owners.push(Owner { read_by, place, threads, first: *thread });
                }
            }
        }
        Ok(())
    }
}
