//! How much of a block each published file may take.
//!
//! A block has only so many bytes, and whoever publishes much is not to leave
//! others without theirs. So there is a limit for all that is published, and where
//! more is wanted each user gets the same of it, those who want less than that
//! what they want; and each file of a user likewise.

use super::definition::Definition;
use super::provider::PublishedFile;
use crate::os::User;
use perfhive_engine::note_growth;
use perfhive_format::winperf::{
    PERF_COUNTER_BLOCK, PERF_COUNTER_DEFINITION, PERF_INSTANCE_DEFINITION, PERF_OBJECT_TYPE,
};
use std::collections::BTreeMap;

/// Bytes of a block that all that is published may take: half of what a broker
/// has room for if nobody says otherwise.
pub(super) const MOST: u64 = 32 << 20;

/// Bytes of a block that a file takes without any instance: its category's
/// definitions and, where there are no instances, the values.
pub(super) fn without_instances(definition: &Definition) -> u64 {
    let counters = definition.counters.len() + definition.pairs();
    let values = if definition.has_instances { 0 } else { values(definition) };
    (PERF_OBJECT_TYPE::SIZE + counters * PERF_COUNTER_DEFINITION::SIZE + values) as u64
}

/// Bytes that an instance takes at most, with a name of so many bytes of UTF-8.
pub(super) fn of_instance(definition: &Definition, name_length: usize) -> u64 {
    // In UTF-16 a text has at most a unit for each byte. There is one more at its
    // end, and what follows is aligned to 8.
    let name = 2 * name_length + 2 + 7;
    (PERF_INSTANCE_DEFINITION::SIZE + name + values(definition)) as u64
}

fn values(definition: &Definition) -> usize {
    let counters = definition.counters.len() + definition.pairs();
    (PERF_COUNTER_BLOCK::SIZE + 4 + counters * 8).next_multiple_of(8)
}

/// Bytes that a file takes with so many instances whose names are as long as
/// they may be.
fn with_instances(definition: &Definition, instances: usize) -> u64 {
    let instances = if definition.has_instances { instances as u64 } else { 0 };
    without_instances(definition) + instances * of_instance(definition, definition.name_size)
}

/// Tells each file how many bytes of a block it may take, all together no more
/// than `total`. Where all that they could ever want fits, nothing is looked at.
pub(super) fn allot<'a>(files: impl Iterator<Item = &'a PublishedFile> + Clone, total: u64) {
    let most = |file: &PublishedFile| with_instances(&file.definition, file.definition.slots);
    if files.clone().fold(0, |sum: u64, file| sum.saturating_add(most(file))) <= total {
        files.for_each(|file| file.set_share(most(file)));
        return;
    }
    note_growth();
    let mut users: BTreeMap<&User, Vec<(&PublishedFile, u64)>> = BTreeMap::new();
    for file in files {
        let wanted = with_instances(&file.definition, file.slots_used());
        users.entry(&file.user).or_default().push((file, wanted));
    }
    let wanted: Vec<u64> =
        users.values().map(|files| files.iter().map(|(_, wanted)| wanted).sum()).collect();
    for (files, share) in users.values().zip(fair(&wanted, total)) {
        let wanted: Vec<u64> = files.iter().map(|(_, wanted)| *wanted).collect();
        for ((file, _), share) in files.iter().zip(fair(&wanted, share)) {
            file.set_share(share);
        }
    }
}

/// What each of those who want so much may have of `total`: as much as everybody
/// else, but for those who want less. What is over is everybody's, since who wants
/// little now may want more a moment later.
fn fair(wanted: &[u64], total: u64) -> Vec<u64> {
    let mut order: Vec<(usize, u64)> = wanted.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, wanted)| *wanted);
    let mut shares = vec![0; wanted.len()];
    let (mut left, mut others) = (total, wanted.len() as u64);
    for (place, wanted) in order {
        let share = wanted.min(left / others);
        left -= share;
        others -= 1;
        if let Some(one) = shares.get_mut(place) {
            *one = share;
        }
    }
    let over = left.checked_div(wanted.len() as u64).unwrap_or(0);
    shares.iter_mut().for_each(|share| *share += over);
    shares
}

#[cfg(test)]
mod tests {
    use super::fair;
    use proptest::prelude::*;

    #[test]
    fn who_wants_little_has_it_and_the_others_the_same() {
        assert_eq!(fair(&[], 100), [0; 0]);
        assert_eq!(fair(&[1000], 100), [100]);
        assert_eq!(fair(&[1000, 10], 100), [90, 10]);
        assert_eq!(fair(&[1000, 10, 2000], 100), [45, 10, 45]);
        assert_eq!(fair(&[10, 20], 100), [45, 55], "and what is over");
    }

    proptest! {
        #[test]
        fn nobody_has_less_for_what_others_want(
            wanted in prop::collection::vec(0u64..1000, 1..20),
            total in 0u64..5000,
        ) {
            let shares = fair(&wanted, total);
            prop_assert!(shares.iter().sum::<u64>() <= total);
            let even = total / wanted.len() as u64;
            for (share, wanted) in shares.iter().zip(&wanted) {
                prop_assert!(*share >= even.min(*wanted));
            }
            // Nothing worth the name is left over while somebody wants more.
            let left = total - shares.iter().sum::<u64>();
            let hungry = shares.iter().zip(&wanted).any(|(share, wanted)| share < wanted);
            prop_assert!(!hungry || left < 2 * wanted.len() as u64);
        }
    }
}
