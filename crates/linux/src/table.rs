//! The tables of all objects and counters: present ones with name, meaning, type and source, absent
//! ones with the reason. The providers' descriptions, templates and English titles are made from
//! the tables, and so is the manual.

mod cgroup;
mod disk;
mod machine;
mod maps;
mod memory;
pub(crate) mod network;
mod process;
mod processor;
mod system;
mod thread;

pub(crate) use cgroup::{
    CGROUP, CGROUP_IO, CGROUP_MEMORY, CGROUP_PRESSURE, CGROUP_PROCESS, CONTAINER,
    CONTAINER_PROCESS, JOB_OBJECT,
};
pub(crate) use disk::{LOGICAL_DISK, PAGING_FILE, PHYSICAL_DISK};
pub(crate) use machine::{
    CACHE, ENERGY, IDLE_STATE, NODE, OBJECTS_OF_WINDOWS, PRESSURE, PROCESSOR_INFORMATION, THERMAL,
};
pub(crate) use maps::{ADDRESS_SPACE, FULL_IMAGE, IMAGE, MEMORY_COUNTERS, THREAD_DETAILS};
pub(crate) use memory::MEMORY;
pub(crate) use network::{ADAPTER, INTERFACE, OBJECTS as NETWORK, TCPV4, TCPV6};
pub(crate) use process::{
    IO_COUNTERS, PEAK_COUNTERS, PROCESS, PROCESS_V2, SCHEDULE_COUNTERS, STAT_COUNTERS,
    STATM_COUNTERS,
};
pub(crate) use processor::PROCESSOR;
pub(crate) use system::SYSTEM;
pub(crate) use thread::{COMMON_COUNTERS, THREAD, THREAD_V2};

pub(crate) use perfhive_engine::standard::{Absent, Counter, Object, absent};
use perfhive_engine::standard::{CounterDoc, ObjectDoc, counters_of};

/// The title index of an object's counter, by the counter's English name. A name that the
/// object does not have is a compile error.
macro_rules! index_of {
    ($object:path, $name:literal) => {
        const { $crate::table::index_by_name(&$object, $name) }
    };
}
pub(crate) use index_of;

/// The title index of an object's counter, for the macro [`index_of`]; panics if the object has no
/// counter of this name.
pub(crate) const fn index_by_name(object: &Object, name: &str) -> u32 {
    let mut at = 0;
    while at < object.counters.len() {
        if is_same(object.counters[at].name.as_bytes(), name.as_bytes()) {
            return object.counters[at].index;
        }
        at += 1;
    }
    panic!("the object has no counter of this name")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The objects of each family, in the order of the manual.
static FAMILIES: [&[&Object]; 7] = [
    &[&SYSTEM, &MEMORY, &PROCESSOR],
    machine::OBJECTS,
    disk::OBJECTS,
    network::OBJECTS,
    &[&PROCESS, &THREAD, &PROCESS_V2, &THREAD_V2],
    cgroup::OBJECTS,
    maps::OBJECTS,
];

/// Every object of this crate, in the order of the manual.
pub(crate) fn objects() -> impl Iterator<Item = &'static Object> {
    FAMILIES.into_iter().flatten().copied()
}

/// Every object of this crate with its counters, as documentation, whatever features are enabled.
#[must_use]
pub fn object_table() -> Vec<ObjectDoc> {
    objects().map(ObjectDoc::of).collect()
}

/// The counters of this crate's objects, object by object, without bases, which are the denominators
/// of other counters. Counters that Windows has and Linux has no values for are included as absent.
#[must_use]
pub fn counter_table() -> Vec<CounterDoc> {
    objects().flat_map(counters_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::standard::MOST;
    use std::collections::HashSet;

    #[test]
    fn every_object_fits_its_masks_and_has_each_counter_once() {
        for object in objects() {
            assert!(!object.reads.is_empty(), "{}", object.name);
            assert!(object.counters.len() <= MOST, "{}", object.name);
            let mut seen = HashSet::new();
            let counters = object.counters.iter().filter(|c| !c.kind.is_base());
            for index in counters.map(|c| c.index).chain(object.absent.iter().map(|a| a.index)) {
                assert!(seen.insert(index), "{} {index} twice", object.name);
            }
            for (place, counter) in object.counters.iter().enumerate() {
                let next = object.counters.get(place + 1);
                let based = next.is_some_and(|next| next.kind.is_base());
                assert_eq!(counter.kind.needs_base(), based, "{}", counter.name);
                if !counter.kind.is_base() {
                    let texts = [counter.unit, counter.source, counter.meaning];
                    assert!(texts.iter().all(|text| !text.is_empty()), "{}", counter.name);
                }
            }
        }
    }

    #[test]
    fn values_saturate_or_wrap_at_their_width() {
        let find = |object: &'static Object, index| &object.counters[object.place(index).unwrap()];
        // A 32-bit number saturates. A 32-bit count for a rate wraps, since the writer cuts
        // it.
        assert_eq!(find(&PROCESS, 680).fit(1 << 40), u64::from(u32::MAX));
        assert_eq!(find(&SYSTEM, 146).fit(1 << 40), 1 << 40);
        assert_eq!(find(&PROCESS, 180).fit(1 << 40), 1 << 40);
        assert_eq!(MEMORY.bits(1406).count_ones(), 2);
        // The time of an average has 8 bytes; its count wraps.
        assert_eq!(find(&disk::PHYSICAL_DISK, 206).fit(1 << 40), 1 << 40);
        let place = disk::PHYSICAL_DISK.place(206).unwrap() + 1;
        assert_eq!(disk::PHYSICAL_DISK.counters[place].fit(1 << 40), 1 << 40);
    }
}
