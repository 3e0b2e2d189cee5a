//! The object Process (230), written from the slots that the BPF program fills.

use super::bpf_reader::BpfReader;
use super::columns::ProcessColumns;
use super::copies::Copies;
use super::instances::{Owner, ReadBy};
use super::sample::Sample;
use super::tracked::Tracked;
use super::write::{Writing, meet, meet_unread};
use perfhive_engine::ProviderError;
use perfhive_format::{InstanceHead, NameRef};

impl Writing<'_, '_, '_> {
    /// Writes the processes that BPF has read, and from `/proc` the processes that BPF does not
    /// meet, all by ascending number. If all processes and no memory maps are wanted, the instances
    /// of processes that did nothing since the previous run are copied as bytes.
    pub(super) fn by_bpf(
        &mut self,
        tracked: &mut [Tracked],
        bpf: &mut BpfReader,
        copies: &mut Copies,
        wanted: ProcessColumns,
    ) -> Result<(), ProviderError> {
        if self.few.is_none() {
            copies.begin(bpf.run_number(), wanted);
        }
        // BPF is refused in a namespace of processes.
        *self.sees_all = true;
        bpf.begin();
        let (mut next_tracked, mut next) = (0, 0);
        let mut sample = Sample::default();
        loop {
            let (pid, read_by, there) = match (tracked.get_mut(next_tracked), bpf.pid(next)) {
                (None, None) => break,
                (Some(known), pid) if pid.is_none_or(|pid| known.pid < pid) => {
                    let there = self.reader.process(known, wanted, &mut sample);
                    next_tracked += 1;
                    (known.pid, ReadBy::Proc(next_tracked - 1), there)
                }
                (_, pid) => {
                    next += 1;
                    let read_by = ReadBy::Bpf(next - 1);
                    let slot = bpf.slot(next - 1).unwrap_or(0);
                    // Memory maps need the names, which are not copied.
                    let may_copy = !self.maps.is_wanted() && self.few.is_none();
                    let may_copy = may_copy && copies.has(slot, &self.object);
                    if let Some(threads) = may_copy.then(|| bpf.is_same(next - 1)).flatten() {
                        copies.again(slot, &mut self.object)?;
                        self.ended.meet_unchanged(pid.unwrap_or(0).into());
                        let place = self.object.instance_count() + copies.waiting() - 1;
                        if let Some(owners) = &mut self.owners {
                            owners.push(Owner { read_by, place, threads, first: None });
                        }
                        continue;
                    }
                    let there = bpf.process(next - 1, wanted, self.reader, &mut sample);
                    (pid.unwrap_or(0), read_by, there)
                }
            };
            let is_wanted = self.few.as_mut().is_none_or(|few| few.has(pid, self.reader.name()));
            let was_read = match read_by {
                ReadBy::Proc(at) => tracked.get(at).is_none_or(|known| !known.is_unread),
                // The program has met it, so it counts as ended once the program does not meet it.
                ReadBy::Bpf(_) => there,
            };
            if !was_read && self.few.is_none() {
                meet_unread(self.ended, self.unread, pid);
            }
            if !there || !is_wanted {
                continue;
            }
            copies.flush(&mut self.object)?;
            let (place, position) = (self.object.instance_count(), self.object.position());
            self.instance(&mut sample)?;
            match read_by {
                ReadBy::Bpf(at) if self.few.is_none() && bpf.is_whole(at) => {
                    let slot = bpf.slot(at).unwrap_or(0);
                    copies.put(slot, &sample, position, &self.object);
                }
                _ => self.total.add(&sample),
            }
            if self.few.is_none() {
                meet(self.ended, &self.growing, &sample);
            }
            self.maps.add(pid, place, self.reader.name());
            if let Some(owners) = &mut self.owners {
                owners.push(Owner { read_by, place, threads: sample.threads(), first: None });
            }
        }
        if self.few.is_none() {
            copies.flush(&mut self.object)?;
            copies.end(&mut self.total);
        }
        Ok(())
    }

    /// Writes a process under the name that the reader read last.
    fn instance(&mut self, sample: &mut Sample) -> Result<(), ProviderError> {
        let name = NameRef::Utf16(self.reader.name());
        let head = InstanceHead { name, unique_id: None, parent: None };
        Ok(self.object.instance_prefix(&head, sample.block())?)
    }
}
