//! Process, written as the second reader tells it.

use super::kept::Kept;
use super::sample::Sample;
use super::second::Second;
use super::tracked::Tracked;
use super::wanted::Wanted;
use super::{Known, Owner, Writing};
use perfhive_engine::ProviderError;
use perfhive_format::{InstanceHead, NameRef};

impl Writing<'_, '_, '_> {
    /// The processes as the second reader tells them, and those from `/proc`
    /// that it does not meet.
    pub(super) fn by_second(
        &mut self,
        tracked: &mut [Tracked],
        second: &mut Second,
        kept: &mut Kept,
        wanted: Wanted,
    ) -> Result<(), ProviderError> {
        kept.begin(second.run_number(), wanted);
        // Names and places of all are not worth the trouble.
        let settled = second.is_settled() && self.owners.is_none() && !self.maps.is_wanted();
        if settled && kept.may_go_on(&self.object) {
            self.changes(tracked, second, kept, wanted)?;
        } else {
            self.all(tracked, second, kept, wanted, settled)?;
        }
        kept.end(&mut self.total);
        Ok(())
    }

    /// Those that changed, among the others as they were written before.
    fn changes(
        &mut self,
        tracked: &mut [Tracked],
        second: &mut Second,
        kept: &mut Kept,
        wanted: Wanted,
    ) -> Result<(), ProviderError> {
        second.go_on();
        kept.go_on(second.changes());
        let mut sample = Sample::default();
        let mut done = 0;
        while let Some(known) = kept.next_anew(&mut done, &mut self.object)? {
            let there = match known {
                Known::Tracked(at) => tracked
                    .get_mut(at)
                    .is_some_and(|known| self.reader.process(known, wanted, &mut sample)),
                Known::Second(at) => second.process(at, wanted, self.reader, &mut sample),
            };
            let position = self.object.position();
            if there {
                self.instance(&sample)?;
            }
            match known {
                Known::Second(at) if there && second.is_whole(at) => {
                    let slot = second.slot(at).unwrap_or(0);
                    kept.put(slot, &sample, position, &self.object);
                }
                _ => {
                    if let Known::Second(at) = known {
                        kept.forget(second.slot(at).unwrap_or(0));
                    }
                    if there {
                        self.total.add(&sample);
                    }
                }
            }
            kept.redone(position, &self.object);
        }
        Ok(())
    }

    /// All of them. `settled`: the next time the same ones are expected.
    fn all(
        &mut self,
        tracked: &mut [Tracked],
        second: &mut Second,
        kept: &mut Kept,
        wanted: Wanted,
        settled: bool,
    ) -> Result<(), ProviderError> {
        second.begin();
        kept.begin_rows();
        let (mut next_tracked, mut next) = (0, 0);
        let mut whole = settled;
        let start = self.object.position();
        let mut sample = Sample::default();
        loop {
            // By ascending number, whoever knows the next one.
            let (pid, known, there) = match (tracked.get_mut(next_tracked), second.pid(next)) {
                (None, None) => break,
                (Some(known), pid) if pid.is_none_or(|pid| known.pid < pid) => {
                    let there = self.reader.process(known, wanted, &mut sample);
                    next_tracked += 1;
                    (known.pid, Known::Tracked(next_tracked - 1), there)
                }
                (_, pid) => {
                    next += 1;
                    let known = Known::Second(next - 1);
                    let slot = second.slot(next - 1).unwrap_or(0);
                    // What names are wanted of is not worth the trouble.
                    let may_be_kept = !self.maps.is_wanted() && kept.has(slot, &self.object);
                    if let Some(threads) = may_be_kept.then(|| second.is_same(next - 1)).flatten() {
                        if settled {
                            kept.row(known, self.object.position() + kept.waiting_bytes());
                        }
                        kept.again(slot, &mut self.object)?;
                        let place = self.object.instance_count() + kept.waiting() - 1;
                        if let Some(owners) = &mut self.owners {
                            owners.push(Owner { known, place, threads, first: None });
                        }
                        continue;
                    }
                    let there = second.process(next - 1, wanted, self.reader, &mut sample);
                    (pid.unwrap_or(0), known, there)
                }
            };
            if !there {
                whole = false;
                continue;
            }
            kept.flush(&mut self.object)?;
            let (place, position) = (self.object.instance_count(), self.object.position());
            if settled {
                kept.row(known, position);
            }
            self.instance(&sample)?;
            match known {
                Known::Second(at) if second.is_whole(at) => {
                    let slot = second.slot(at).unwrap_or(0);
                    kept.put(slot, &sample, position, &self.object);
                }
                _ => self.total.add(&sample),
            }
            self.maps.add(pid, place, self.reader.name());
            if let Some(owners) = &mut self.owners {
                owners.push(Owner { known, place, threads: sample.threads(), first: None });
            }
        }
        kept.flush(&mut self.object)?;
        // Where all are there again, they are expected the next time, too.
        if whole {
            kept.end_rows(start, &self.object, |known| match known {
                Known::Second(at) => second.slot(at),
                Known::Tracked(_) => None,
            });
        }
        Ok(())
    }

    /// Writes the process that the reader has the name of.
    fn instance(&mut self, sample: &Sample) -> Result<(), ProviderError> {
        let name = NameRef::Utf16(self.reader.name());
        let head = InstanceHead { name, unique_id: None, parent: None };
        Ok(self.object.instance_prefix(&head, sample.values())?)
    }
}
