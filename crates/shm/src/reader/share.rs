//! The shares of a block and of a reader's time that each published file gets.
//!
//! A block has a limited size, and one user's files must not take it all. If more is wanted than
//! the limit, all users get the same share; users who want less get what they want. The same holds
//! among the files of one user, and for the time until a reader's deadline.

use super::definition::FileDefinition;
use super::published_file::PublishedFile;
use crate::os::User;
use perfhive_format::winperf::{
    PERF_COUNTER_BLOCK, PERF_COUNTER_DEFINITION, PERF_INSTANCE_DEFINITION, PERF_OBJECT_TYPE,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The default limit to the bytes of a block that all published categories take: half of a broker's
/// block.
pub(super) const MOST: u64 = 32 << 20;

/// The bytes of a block that a file takes without any instance: its definitions and, in a category
/// without instances, the values.
pub(super) fn without_instances(definition: &FileDefinition) -> u64 {
    let counters = definition.counters.len() + definition.pairs();
    let values = if definition.has_instances { 0 } else { values(definition) };
    (PERF_OBJECT_TYPE::SIZE + counters * PERF_COUNTER_DEFINITION::SIZE + values) as u64
}

/// An upper limit to the bytes of a block that an instance takes with a name of `name_length` bytes
/// of UTF-8.
pub(super) fn of_instance(definition: &FileDefinition, name_length: usize) -> u64 {
    // In UTF-16 a text has at most one unit for each byte, and one at its end; what follows is
    // aligned to 8.
    let name = 2 * name_length + 2 + 7;
    (PERF_INSTANCE_DEFINITION::SIZE + name + values(definition)) as u64
}

/// The bytes of a block that the values of an instance take.
fn values(definition: &FileDefinition) -> usize {
    let counters = definition.counters.len() + definition.pairs();
    (PERF_COUNTER_BLOCK::SIZE + 4 + counters * 8).next_multiple_of(8)
}

/// The bytes of a block that a file takes with this many instances of the longest names.
fn with_instances(definition: &FileDefinition, instances: usize) -> u64 {
    let instances = if definition.has_instances { instances as u64 } else { 0 };
    without_instances(definition) + instances * of_instance(definition, definition.name_size)
}

/// Sets the share of a block that each file may take, in bytes; all shares together are at most
/// `total`. If all possible instances fit, no file is read to find its share.
pub(super) fn allot<'a>(files: impl Iterator<Item = &'a PublishedFile> + Clone, total: u64) {
    let most = |file: &PublishedFile| with_instances(&file.definition, file.definition.slots);
    if files.clone().fold(0, |sum: u64, file| sum.saturating_add(most(file))) <= total {
        files.for_each(|file| file.set_share(most(file)));
        return;
    }
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

/// Divides `total` among the wishes in `wanted`; returns a share for each, in their order. A wish
/// that is smaller than an equal share is met in full; the other wishes divide what remains. If all
/// wishes are met, the remainder is added in equal parts to every share, since a wish may grow a
/// moment later.
pub(super) fn fair(wanted: &[u64], total: u64) -> Vec<u64> {
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

/// The work that is left when a file's turn comes: users, files of the file's own user, and bytes
/// behind the file. The time that the file gets follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The number of users whose files are still to be read, the file's own included.
    users: u32,
    /// The number of the user's files that are still to be read, this file included.
    files: u32,
    /// The bytes of the files that are read after this file.
    behind: u64,
}

/// The longest time in nanoseconds to read a byte on a machine that is not busy.
const NANOSECONDS_FOR_A_BYTE: u64 = 20;

impl Turn {
    /// The turn of each file, in the order of `files`, which is the order in which the files are
    /// read. `files` has the user and the length in bytes of each.
    pub(super) fn of<U: Ord + Copy>(files: impl DoubleEndedIterator<Item = (U, u64)>) -> Vec<Self> {
        let mut counts: BTreeMap<U, u32> = BTreeMap::new();
        let mut behind: u64 = 0;
        let turns = files.rev().map(|(user, length)| {
            let count = counts.entry(user).or_default();
            *count += 1;
            let files = *count;
            let turn = Self { users: counts.len() as u32, files, behind };
            behind = behind.saturating_add(length);
            turn
        });
        let mut turns: Vec<Self> = turns.collect();
        turns.reverse();
        turns
    }

    /// The deadline for reading the file. The files behind it keep the time that they need, but the
    /// file gets at least its equal share of the time until `deadline`.
    pub(super) fn until(self, deadline: Instant, now: Instant) -> Instant {
        let left = deadline.saturating_duration_since(now);
        let equal = left / self.users.max(1) / self.files.max(1);
        let need = self.behind.saturating_mul(NANOSECONDS_FOR_A_BYTE);
        now + left.saturating_sub(Duration::from_nanos(need)).max(equal)
    }
}

#[cfg(test)]
mod tests {
    use super::{Turn, fair};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    #[test]
    fn small_wants_are_met_and_the_rest_is_shared_evenly() {
        assert_eq!(fair(&[], 100), [0; 0]);
        assert_eq!(fair(&[1000], 100), [100]);
        assert_eq!(fair(&[1000, 10], 100), [90, 10]);
        assert_eq!(fair(&[1000, 10, 2000], 100), [45, 10, 45]);
        assert_eq!(fair(&[10, 20], 100), [45, 55], "and what is over");
    }

    /// The last file has its share, whatever the others take.
    #[test]
    fn time_is_everybodys() {
        let (one, two) = ("one", "two");
        let (now, large, small) = (Instant::now(), 1 << 24, 1 << 10);
        let second = Duration::from_secs(1);
        let millis = |files: &[(&str, u64)]| {
            let mut at = now;
            let turns = Turn::of(files.iter().copied());
            let parts = turns.iter().map(|turn| {
                let until = turn.until(now + second, at);
                // It takes all that it gets.
                let took = until - std::mem::replace(&mut at, until);
                took.as_millis() as u64
            });
            parts.collect::<Vec<_>>()
        };
        assert_eq!(millis(&[]), [0; 0]);
        assert_eq!(millis(&[(one, large)]), [1000]);
        // The others need little.
        assert_eq!(millis(&[(one, large), (two, small)]), [999, 0]);
        // 16 MiB each need a third of a second, which is left.
        assert_eq!(millis(&[(one, small), (two, large)]), [664, 335]);
        // Three files of one user, and one of another behind them.
        let many = [(one, 4 * large), (one, 4 * large), (one, 4 * large), (two, 4 * large)];
        assert_eq!(millis(&many), [166, 208, 312, 312]);
        // After the deadline no time is left for any file.
        let late = Turn::of([(one, large), (two, large)].into_iter());
        assert_eq!(late[0].until(now, now + second), now + second);
    }

    proptest! {
        #[test]
        fn each_user_gets_at_least_an_even_share_or_what_it_wants(
            wanted in prop::collection::vec(0u64..1000, 1..20),
            total in 0u64..5000,
        ) {
            let shares = fair(&wanted, total);
            prop_assert!(shares.iter().sum::<u64>() <= total);
            let even = total / wanted.len() as u64;
            for (share, wanted) in shares.iter().zip(&wanted) {
                prop_assert!(*share >= even.min(*wanted));
            }
            // Hardly anything remains while a wish is not met.
            let left = total - shares.iter().sum::<u64>();
            let hungry = shares.iter().zip(&wanted).any(|(share, wanted)| share < wanted);
            prop_assert!(!hungry || left < 2 * wanted.len() as u64);
        }
    }
}
