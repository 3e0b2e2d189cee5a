//! Windows' own objects as tables, for providers that fill them without Windows'
//! performance library.
//!
//! Several providers fill the same objects from different systems. Each
//! describes them by tables of [`Object`] and [`Counter`]: what the counter is
//! on Windows, and where its value comes from here, or why there is none.
//! Descriptions, templates ([`Layouts`]), titles and the manual are made from
//! them. Windows' definitions of the counters that several providers fill are in
//! [`windows`].

mod layout;
mod titles;
pub mod windows;

pub use layout::{CounterValues, Layouts, MOST, write_single};
pub use titles::{parse_titles, titles_of};

use crate::provider::ObjectDescription;
use crate::source::Cost;
use perfhive_format::{CounterSpec, CounterType, DetailLevel, ObjectSpec, TitleIndex};

/// Titles from here to twice this are perfhive's own: of objects and counters
/// that Windows does not have, or numbers differently from machine to machine.
/// No Windows machine has that many. Names are even, help texts odd.
pub const OWN: u32 = 100_000;

/// Process V2: processes under names that end in their numbers. Windows gives the object
/// another index on each machine.
pub const PROCESS_V2: u32 = 105_200;
/// Thread V2: threads of those processes, under their numbers.
pub const THREAD_V2: u32 = 105_202;

/// An object: Windows' numbers and our sources.
#[derive(Debug)]
pub struct Object {
    /// Title index of the name.
    pub index: u32,
    /// Title index of the help text.
    pub help: u32,
    /// English name.
    pub name: &'static str,
    /// The English help text.
    pub meaning: &'static str,
    /// What the instances are, and whatever else is worth knowing, for the
    /// manual.
    pub note: &'static str,
    /// What a collection takes: files read, and calls made for each instance.
    pub reads: &'static str,
    /// Whether `Global` has the object, or only `Costly`.
    pub cost: Cost,
    /// Whether the object has instances.
    pub has_instances: bool,
    /// Objects that come along with this one, because its instances point to theirs.
    pub brings: &'static [u32],
    /// The counters, bases included, in the order of the counter block. The
    /// first is the default.
    pub counters: &'static [Counter],
    /// Counters that Windows has and that are not filled here.
    pub absent: &'static [Absent],
}

impl Object {
    /// What the object's header says.
    #[must_use]
    pub fn spec(&self) -> ObjectSpec {
        let mut spec = ObjectSpec::new(TitleIndex(self.index));
        spec.help = TitleIndex(self.help);
        spec.default_counter = Some(0);
        spec.has_instances = self.has_instances;
        // As on Windows, an object has the detail level of its simplest counter.
        let details = self.counters.iter().map(|counter| counter.detail);
        spec.detail = details.min().unwrap_or(DetailLevel::NOVICE);
        spec
    }

    /// What a provider offers with this object.
    #[must_use]
    pub fn description(&self) -> ObjectDescription {
        let on_request = self.counters.iter().filter(|counter| counter.on_request);
        ObjectDescription {
            spec: self.spec(),
            counters: self.counters.iter().map(Counter::spec).collect(),
            on_request: on_request.map(|counter| TitleIndex(counter.index)).collect(),
            cost: self.cost,
            brings: self.brings.iter().copied().map(TitleIndex).collect(),
        }
    }

    /// The place of a counter in the table; `None` if the table lacks it. For a counter with a base
    /// it is the place of the counter itself.
    #[must_use]
    pub fn place(&self, counter: u32) -> Option<usize> {
        self.counters.iter().position(|known| known.index == counter)
    }

    /// The places of the counters that are filled whether asked for or not, as set bits.
    #[must_use]
    pub fn standard(&self) -> u64 {
        self.mask(|counter| !counter.on_request)
    }

    /// The places of the counters that Windows has, as set bits.
    #[must_use]
    pub fn windows(&self) -> u64 {
        self.mask(|counter| counter.index < OWN)
    }

    /// The places of one counter and of its base, as set bits.
    #[must_use]
    pub fn bits(&self, counter: u32) -> u64 {
        self.mask(|known| known.index == counter)
    }

    fn mask(&self, wanted: impl Fn(&Counter) -> bool) -> u64 {
        let places = (0..).zip(self.counters).filter(|(_, counter)| wanted(counter));
        places.fold(0, |mask, (place, _)| mask | 1 << place)
    }
}

/// A counter that is filled here.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Title index of the name.
    pub index: u32,
    /// Title index of the help text.
    pub help: u32,
    /// English name.
    pub name: &'static str,
    /// The counter type.
    pub kind: CounterType,
    /// Power of ten by which a chart should scale the value.
    pub scale: i32,
    /// The level of detail.
    pub detail: DetailLevel,
    /// Whether it is filled only on request, because it costs extra.
    pub on_request: bool,
    /// Whether the data is 8 bytes long although the type says 4.
    pub wide: bool,
    /// The unit of the cooked value.
    pub unit: &'static str,
    /// File and field, or call and field, that the value is made from.
    pub source: &'static str,
    /// The first system that has the counter; empty where every system has it.
    pub since: &'static str,
    /// The English help text: what the counter means.
    pub meaning: &'static str,
    /// What is different here; empty where nothing is.
    pub difference: &'static str,
}

impl Counter {
    /// A counter with Windows' numbers.
    #[must_use]
    pub const fn new(index: u32, help: u32, name: &'static str, kind: CounterType) -> Self {
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
    #[must_use]
    pub const fn base(of: &Self) -> Self {
        Self::base_as(of, CounterType::PERF_RAW_BASE)
    }

    /// The base of the counter `of`, with the type `kind`, where it is not the usual one.
    #[must_use]
    pub const fn base_as(of: &Self, kind: CounterType) -> Self {
        let mut base = Self::new(of.index, of.help, of.name, kind).means(of.meaning);
        base.detail = of.detail;
        base
    }

    /// The same counter in an object where it is not filled, with the reason.
    #[must_use]
    pub const fn absent(&self, reason: &'static str) -> Absent {
        absent(self.index, self.name, self.kind, reason)
    }

    /// The counter with 8 bytes of data whatever the type says, as Windows' own average timers have.
    #[must_use]
    pub const fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    /// The same counter with a scale for charts, as a power of ten.
    #[must_use]
    pub const fn scale(mut self, scale: i32) -> Self {
        self.scale = scale;
        self
    }

    /// The same counter with another level of detail than that for everyone.
    #[must_use]
    pub const fn detail(mut self, detail: DetailLevel) -> Self {
        self.detail = detail;
        self
    }

    /// The same counter, filled only on request.
    #[must_use]
    pub const fn on_request(mut self) -> Self {
        self.on_request = true;
        self
    }

    /// The same counter with the unit of its cooked value.
    #[must_use]
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// The same counter with its source: file and field, or call and field.
    #[must_use]
    pub const fn from(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// The same counter with the first system that has it, where not every system has it.
    #[must_use]
    pub const fn since(mut self, kernel: &'static str) -> Self {
        self.since = kernel;
        self
    }

    /// The same counter with its English help text.
    #[must_use]
    pub const fn means(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    /// The same counter with a text on what is different here.
    #[must_use]
    pub const fn differs(mut self, difference: &'static str) -> Self {
        self.difference = difference;
        self
    }

    /// What the counter's definition says.
    #[must_use]
    pub fn spec(&self) -> CounterSpec {
        let spec = CounterSpec::new(TitleIndex(self.index), self.kind)
            .help(TitleIndex(self.help))
            .scale(self.scale)
            .detail(self.detail);
        if self.is_wide() { spec.size(8) } else { spec }
    }

    /// Whether the counter's data has 8 bytes although its type says 4; so has every double.
    fn is_wide(&self) -> bool {
        self.wide || self.kind == CounterType::PERF_DOUBLE_RAW
    }

    /// The value as it is stored in the counter's width: a number that is too large becomes the
    /// largest one, and a count of which only differences matter wraps.
    #[must_use]
    pub fn fit(&self, value: u64) -> u64 {
        // The base of an average is a count of operations, whose type does not
        // say that only differences matter.
        let counts = self.kind.is_delta() || self.kind == CounterType::PERF_AVERAGE_BASE;
        match self.kind.size_in_bytes() {
            Some(4) if !counts && !self.is_wide() => value.min(u64::from(u32::MAX)),
            _ => value,
        }
    }
}

/// A counter that Windows has and that is not filled here.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// Title index of the name.
    pub index: u32,
    /// English name.
    pub name: &'static str,
    /// The counter type.
    pub kind: CounterType,
    /// The reason why it is not filled here.
    pub reason: &'static str,
}

/// A counter that is not filled here, and the reason.
#[must_use]
pub const fn absent(
    index: u32,
    name: &'static str,
    kind: CounterType,
    reason: &'static str,
) -> Absent {
    Absent { index, name, kind, reason }
}

/// The documentation of an object as it is filled here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectDoc {
    /// Title index.
    pub index: TitleIndex,
    /// English name.
    pub name: &'static str,
    /// What its instances are, and how it differs from Windows' object, in
    /// Markdown.
    pub note: &'static str,
    /// What a collection of the object reads and calls, in Markdown.
    pub reads: &'static str,
    /// Whether `Global` has the object, or only `Costly`.
    pub cost: Cost,
    /// Its counters, present or absent, without bases.
    pub counters: Vec<CounterDoc>,
}

/// The documentation of one counter as it is filled here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Whether the counter is filled here, and how.
    pub availability: Availability,
}

/// Whether a counter is filled here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The counter is filled.
    Present {
        /// The unit of the cooked value.
        unit: &'static str,
        /// File and field that it is made from.
        source: &'static str,
        /// Whether it is filled only on request, because it costs extra.
        on_request: bool,
        /// The first system that tells it; empty where all do.
        since: &'static str,
        /// The English help text.
        meaning: &'static str,
        /// What is different here; empty where nothing is.
        difference: &'static str,
    },
    /// No value here has the counter's meaning.
    Absent {
        /// The reason why the counter is not filled.
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

impl ObjectDoc {
    /// The documentation of an object.
    #[must_use]
    pub fn of(object: &Object) -> Self {
        let &Object { index, name, note, reads, cost, .. } = object;
        let counters = counters_of(object);
        Self { index: TitleIndex(index), name, note, reads, cost, counters }
    }
}

/// The documentation of the counters of an object, present or absent, without bases.
#[must_use]
pub fn counters_of(object: &Object) -> Vec<CounterDoc> {
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
