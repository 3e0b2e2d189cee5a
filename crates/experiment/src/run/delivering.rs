//! The thread that delivers records.

use super::{Bound, DeliveryOutcome, Shared, panicked};
use crate::deliver::Delivery;
use crate::event::locked;
use crate::record::{EventRecord, RecordBatch};
use crate::section::{Section, Sections};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The time after which records are delivered, however few there are.
const AT_LATEST: Duration = Duration::from_secs(1);

/// Delivers records until the experiment ends.
pub(super) fn deliver_all(shared: &Shared, deliveries: Vec<Box<dyn Delivery>>) -> DeliveryOutcome {
    let mut outcome = DeliveryOutcome { deliveries, ..DeliveryOutcome::default() };
    loop {
        let is_end = {
            let wanted = locked(&shared.wanted);
            let waited =
                shared.woken.wait_timeout_while(wanted, AT_LATEST, |one| !one.now && !one.end);
            let mut wanted = waited.unwrap_or_else(PoisonError::into_inner).0;
            wanted.now = false;
            wanted.end
        };
        // Guests are taken after the wait, so that one that was added meanwhile misses nothing.
        outcome.guests.append(&mut locked(&shared.guests));
        for place in 0.. {
            // The list is not locked while records are delivered: bindings are added to it.
            let taken = locked(&shared.bound).get_mut(place).map(|one| {
                one.bound.store.exchange(&mut one.empty);
                let (half, sections) = (&mut one.empty, &mut one.sections);
                (Arc::clone(&one.bound), std::mem::take(half), std::mem::take(sections))
            });
            let Some((binding, half, mut sections)) = taken else { break };
            let batch = RecordBatch {
                begin: shared.begin,
                source: &binding.source,
                interval: binding.interval,
                columns: &binding.columns,
                half: &half,
            };
            outcome.deliver(&batch, &mut sections, &binding);
            if let Some(one) = locked(&shared.bound).get_mut(place) {
                (one.empty, one.sections) = (half, sections);
            }
        }
        if is_end {
            let bound = locked(&shared.bound);
            outcome.summary.unmatched = bound.iter().map(|one| one.sections.unmatched()).sum();
            return outcome;
        }
    }
}

impl DeliveryOutcome {
    /// Adds the records of one batch that the filter lets through, and the sections that they end,
    /// to the figures, and delivers them to all deliveries. An empty batch is not delivered.
    fn deliver(&mut self, batch: &RecordBatch<'_>, sections: &mut Sections, binding: &Bound) {
        if batch.is_empty() {
            return;
        }
        sections.halves.clone_from(&locked(&binding.halves));
        let mut ended = Vec::new();
        let mut beyond = 0;
        let mut choice = Vec::with_capacity(batch.len());
        for record in batch.records() {
            let section = sections.add(&record);
            let is_wanted = binding.chooses(&record, section.as_ref());
            let is_chosen = is_wanted && binding.is_within_limit();
            choice.push(is_chosen);
            if !is_chosen {
                beyond += u64::from(is_wanted);
                continue;
            }
            self.summary.add(batch, &record);
            if let Some(section) = section {
                self.summary.add_section(batch, &section);
                ended.push(section);
            }
        }
        let left_out = choice.iter().filter(|is_chosen| !**is_chosen).count() as u64;
        binding.filtered_late.fetch_add(left_out - beyond, Ordering::Relaxed);
        binding.events.fetch_sub(beyond, Ordering::Relaxed);
        binding.skipped.fetch_add(beyond, Ordering::Relaxed);
        let chosen;
        let mut batch = batch;
        let filtered;
        if left_out > 0 {
            chosen = batch.half.chosen(&choice, batch.columns.len());
            filtered = RecordBatch { half: &chosen, ..*batch };
            batch = &filtered;
        }
        if batch.is_empty() {
            return;
        }
        self.guests.retain_mut(|guest| delivered(guest, batch, &ended).is_ok());
        let failures = &mut self.failures;
        failures.iter_mut().for_each(|(_, missing)| *missing += batch.len() as u64);
        self.deliveries.retain_mut(|delivery| match delivered(delivery, batch, &ended) {
            Ok(lost) => {
                binding.undelivered.fetch_add(lost, Ordering::Relaxed);
                true
            }
            Err(error) => {
                failures.push((error.to_string(), batch.len() as u64));
                false
            }
        });
    }
}

/// Delivers a batch to one delivery.
fn delivered(
    delivery: &mut Box<dyn Delivery>,
    batch: &RecordBatch<'_>,
    sections: &[Section],
) -> io::Result<u64> {
    caught(|| delivery.deliver(batch, sections))
}

/// Calls a delivery. A panic there is an error: other deliveries and the figures lose nothing by it.
pub(super) fn caught<T>(call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        Err(io::Error::other(format!("the delivery {}", panicked(&*panic))))
    })
}

impl Bound {
    /// Whether the filter lets a record through by the duration of the section that the record ends, less the time of
    /// the calls in the section, and by the record's readings; `true` without a filter, or if the filter has no term
    /// `seconds` for the record's name. With that term, only ends of sections pass, and only if the duration is known
    /// and matches.
    fn chooses(&self, record: &EventRecord, section: Option<&Section>) -> bool {
        let mut filter = locked(&self.filter);
        let name = &record.event.name;
        match filter.as_mut() {
            Some(filter) if filter.has_seconds(name) => {
                section.and_then(Section::corrected).is_some_and(|time| {
                    filter.wants_section(name, time.as_secs_f64(), &record.readings)
                })
            }
            _ => true,
        }
    }
}
