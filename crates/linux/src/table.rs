//! What each object has, and what it leaves out and why: the one table behind
//! the providers' descriptions, their templates, and the manual.

mod cgroup;
mod disk;
mod machine;
mod maps;
mod memory;
mod network;
mod process;
mod processor;
mod system;
mod thread;

pub(crate) use cgroup::{
    CGROUP, CGROUP_IO, CGROUP_MEMORY, CGROUP_PRESSURE, CGROUP_PROCESS, CONTAINER, CONTAINER_PROCESS,
};
pub(crate) use disk::{LOGICAL_DISK, PAGING_FILE, PHYSICAL_DISK};
pub(crate) use machine::{
    CACHE, ENERGY, NODE, OBJECTS_OF_WINDOWS, PRESSURE, PROCESSOR_INFORMATION, THERMAL,
};
pub(crate) use maps::{ADDRESS_SPACE, FULL_IMAGE, IMAGE, MEMORY_COUNTERS, THREAD_DETAILS};
pub(crate) use memory::MEMORY;
pub(crate) use network::{
    ICMP, ICMPV6, INTERFACE, IPV4, IPV6, OBJECTS as NETWORK, TCPV4, TCPV6, UDPV4, UDPV6,
};
pub(crate) use process::{
    IO_COUNTERS, PEAK_COUNTERS, PROCESS, SCHEDULE_COUNTERS, STAT_COUNTERS, STATM_COUNTERS,
};
pub(crate) use processor::PROCESSOR;
pub(crate) use system::SYSTEM;
pub(crate) use thread::{COMMON_COUNTERS, THREAD};

use perfhive_engine::{Cost, ObjectDescription};
use perfhive_format::{CounterSpec, CounterType, DetailLevel, ObjectSpec, TitleIndex};

/// The objects of each provider, in the order of the manual.
static FAMILIES: [&[&Object]; 7] = [
    &[&SYSTEM, &MEMORY, &PROCESSOR],
    machine::OBJECTS,
    disk::OBJECTS,
    network::OBJECTS,
    &[&PROCESS, &THREAD],
    cgroup::OBJECTS,
    maps::OBJECTS,
];

/// Every object of this crate, in the order of the manual.
pub(crate) fn objects() -> impl Iterator<Item = &'static Object> {
    FAMILIES.into_iter().flatten().copied()
}

/// Titles from here to twice this are perfhive's own: of objects and counters
/// that Windows does not have, or numbers differently from machine to machine.
/// No Windows machine has that many. Names are even, help texts odd.
pub(crate) const OWN: u32 = 100_000;

/// An object: Windows' numbers and our sources.
pub(crate) struct Object {
    pub(crate) index: u32,
    pub(crate) help: u32,
    pub(crate) name: &'static str,
    /// What the instances are, and whatever else is worth knowing, for the
    /// manual.
    pub(crate) note: &'static str,
    /// What a collection takes: files read, and calls made for each instance.
    pub(crate) reads: &'static str,
    pub(crate) cost: Cost,
    pub(crate) has_instances: bool,
    /// Objects that its instances point to.
    pub(crate) brings: &'static [u32],
    /// The counters, bases included, in the order of the counter block. The
    /// first is the default.
    pub(crate) counters: &'static [Counter],
    pub(crate) absent: &'static [Absent],
}

impl Object {
    pub(crate) fn spec(&self) -> ObjectSpec {
        let mut spec = ObjectSpec::new(TitleIndex(self.index));
        spec.help = TitleIndex(self.help);
        spec.default_counter = Some(0);
        spec.has_instances = self.has_instances;
        // As on Windows, an object is for those whom its simplest counter is for.
        let details = self.counters.iter().map(|counter| counter.detail);
        spec.detail = details.min().unwrap_or(DetailLevel::NOVICE);
        spec
    }

    pub(crate) fn description(&self) -> ObjectDescription {
        let on_request = self.counters.iter().filter(|counter| counter.on_request);
        ObjectDescription {
            spec: self.spec(),
            counters: self.counters.iter().map(Counter::spec).collect(),
            on_request: on_request.map(|counter| TitleIndex(counter.index)).collect(),
            cost: self.cost,
            brings: self.brings.iter().copied().map(TitleIndex).collect(),
        }
    }

    /// The place of a counter; of one with a base, that of the counter itself.
    pub(crate) fn place(&self, counter: u32) -> Option<usize> {
        self.counters.iter().position(|known| known.index == counter)
    }

    /// The places of the counters that are filled whether asked for or not.
    pub(crate) fn standard(&self) -> u64 {
        self.mask(|counter| !counter.on_request)
    }

    /// The places of the counters that Windows has.
    pub(crate) fn windows(&self) -> u64 {
        self.mask(|counter| counter.index < OWN)
    }

    /// The places of one counter, its base included.
    pub(crate) fn bits(&self, counter: u32) -> u64 {
        self.mask(|known| known.index == counter)
    }

    fn mask(&self, wanted: impl Fn(&Counter) -> bool) -> u64 {
        let places = (0..).zip(self.counters).filter(|(_, counter)| wanted(counter));
        places.fold(0, |mask, (place, _)| mask | 1 << place)
    }
}

/// A counter that is there.
pub(crate) struct Counter {
    pub(crate) index: u32,
    help: u32,
    name: &'static str,
    kind: CounterType,
    scale: i32,
    detail: DetailLevel,
    pub(crate) on_request: bool,
    /// Whether the data is 8 bytes long although the type says 4.
    wide: bool,
    unit: &'static str,
    source: &'static str,
    since: &'static str,
    meaning: &'static str,
    difference: &'static str,
}

impl Counter {
    /// A counter with Windows' numbers.
    const fn new(index: u32, help: u32, name: &'static str, kind: CounterType) -> Self {
        Self {
            index,
            help,
            name,
            kind,
            scale: 0,
            detail: DetailLevel::NOVICE,
            on_request: false,
            wide: false,
            unit: "",
            source: "",
            since: "",
            meaning: "",
            difference: "",
        }
    }

    /// The base of the counter before it.
    const fn base(of: &Self) -> Self {
        Self::base_as(of, CounterType::PERF_RAW_BASE)
    }

    /// The base of the counter before it, of another type than most have.
    const fn base_as(of: &Self, kind: CounterType) -> Self {
        let mut base = Self::new(of.index, of.help, of.name, kind);
        base.detail = of.detail;
        base
    }

    /// With 8 bytes of data whatever the type says: Windows' own average timers
    /// are so.
    const fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    const fn scale(mut self, scale: i32) -> Self {
        self.scale = scale;
        self
    }

    const fn detail(mut self, detail: DetailLevel) -> Self {
        self.detail = detail;
        self
    }

    const fn on_request(mut self) -> Self {
        self.on_request = true;
        self
    }

    const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// File and field.
    const fn from(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// The first kernel that has it, where that is not every one.
    const fn since(mut self, kernel: &'static str) -> Self {
        self.since = kernel;
        self
    }

    const fn means(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    const fn differs(mut self, difference: &'static str) -> Self {
        self.difference = difference;
        self
    }

    pub(crate) fn spec(&self) -> CounterSpec {
        let spec = CounterSpec::new(TitleIndex(self.index), self.kind)
            .help(TitleIndex(self.help))
            .scale(self.scale)
            .detail(self.detail);
        if self.is_wide() { spec.size(8) } else { spec }
    }

    /// Whether its data has 8 bytes although its type says 4; so has every
    /// double.
    fn is_wide(&self) -> bool {
        self.wide || self.kind == CounterType::PERF_DOUBLE_RAW
    }

    /// A value as the counter's width takes it: a number saturates, a count
    /// that only differences matter of wraps.
    pub(crate) fn fit(&self, value: u64) -> u64 {
        // The base of an average is a count of operations, whose type does not
        // say that only differences matter.
        let counts = self.kind.is_delta() || self.kind == CounterType::PERF_AVERAGE_BASE;
        match self.kind.size_in_bytes() {
            Some(4) if !counts && !self.is_wide() => value.min(u64::from(u32::MAX)),
            _ => value,
        }
    }
}

/// A counter that Windows has and this machine has not.
pub(crate) struct Absent {
    index: u32,
    name: &'static str,
    kind: CounterType,
    reason: &'static str,
}

const fn absent(index: u32, name: &'static str, kind: CounterType, reason: &'static str) -> Absent {
    Absent { index, name, kind, reason }
}

/// An object of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDoc {
    /// Title index.
    pub index: TitleIndex,
    /// English name.
    pub name: &'static str,
    /// What its instances are, and how it differs from Windows' object, in
    /// Markdown.
    pub note: &'static str,
    /// What a collection takes, in Markdown.
    pub reads: &'static str,
    /// Whether `Global` has it, or only `Costly`.
    pub cost: Cost,
    /// Its counters, present or absent, without bases.
    pub counters: Vec<CounterDoc>,
}

/// One counter of an object of this crate: what it is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterDoc {
    /// Title index of the object.
    pub object: TitleIndex,
    /// The object's English name.
    pub object_name: &'static str,
    /// Title index of the counter.
    pub counter: TitleIndex,
    /// The counter's English name.
    pub name: &'static str,
    /// The counter type.
    pub counter_type: CounterType,
    /// Whether it is there, and how.
    pub availability: Availability,
}

/// Whether a counter is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It is there.
    Present {
        /// The unit of the cooked value.
        unit: &'static str,
        /// File and field that it is made from.
        source: &'static str,
        /// Whether it is filled only on request, because it costs extra.
        on_request: bool,
        /// The first kernel that tells it; empty where all do.
        since: &'static str,
        /// What it means on Windows; of a counter that Windows does not have,
        /// what it means.
        meaning: &'static str,
        /// What is different here; empty where nothing is.
        difference: &'static str,
    },
    /// Linux has no honest equivalent.
    Absent {
        /// Why.
        reason: &'static str,
    },
}

impl CounterDoc {
    /// Whether Windows has no such counter, or none under the same number on
    /// every machine.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.counter.0 >= OWN
    }
}

/// The objects of this crate with their counters.
#[must_use]
pub fn object_table() -> Vec<ObjectDoc> {
    let document = |object: &'static Object| {
        let &Object { index, name, note, reads, cost, .. } = object;
        ObjectDoc { index: TitleIndex(index), name, note, reads, cost, counters: counters(object) }
    };
    objects().map(document).collect()
}

/// Every counter of the objects of this crate, present or absent, without
/// bases; object by object.
#[must_use]
pub fn counter_table() -> Vec<CounterDoc> {
    objects().flat_map(counters).collect()
}

fn counters(object: &Object) -> Vec<CounterDoc> {
    let doc = |index, name, kind, availability| CounterDoc {
        object: TitleIndex(object.index),
        object_name: object.name,
        counter: TitleIndex(index),
        name,
        counter_type: kind,
        availability,
    };
    let mut table = Vec::new();
    for counter in object.counters.iter().filter(|counter| !counter.kind.is_base()) {
        let &Counter { index, name, kind, unit, source, on_request, since, meaning, .. } = counter;
        let difference = counter.difference;
        let present =
            Availability::Present { unit, source, on_request, since, meaning, difference };
        table.push(doc(index, name, kind, present));
    }
    for absent in object.absent {
        let &Absent { index, name, kind, reason } = absent;
        table.push(doc(index, name, kind, Availability::Absent { reason }));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::MOST;
    use std::collections::HashSet;

    #[test]
    fn every_object_fits_its_masks_and_names_each_counter_once() {
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
    fn values_fit_their_width() {
        let find = |object: &'static Object, index| &object.counters[object.place(index).unwrap()];
        // A number of 32 bits saturates, a 32-bit count for a rate is cut by
        // the writer and wraps.
        assert_eq!(find(&PROCESS, 680).fit(1 << 40), u64::from(u32::MAX));
        assert_eq!(find(&SYSTEM, 146).fit(1 << 40), 1 << 40);
        assert_eq!(find(&PROCESS, 180).fit(1 << 40), 1 << 40);
        assert_eq!(MEMORY.bits(1406).count_ones(), 2);
        // An average's time has 8 bytes, its count wraps.
        assert_eq!(find(&disk::PHYSICAL_DISK, 206).fit(1 << 40), 1 << 40);
        let place = disk::PHYSICAL_DISK.place(206).unwrap() + 1;
        assert_eq!(disk::PHYSICAL_DISK.counters[place].fit(1 << 40), 1 << 40);
    }
}
