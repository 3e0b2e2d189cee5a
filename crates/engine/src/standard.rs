//! Windows' own objects as tables, for providers that fill these objects without Windows'
//! performance library.
//!
//! Several providers fill the same objects from different systems. Each provider describes the
//! objects by tables of [`Object`] and [`Counter`]: what a counter is on Windows, and from what it
//! is filled on this system, or why it is not. Descriptions, templates ([`Layouts`]), titles and
//! the manual are made from these tables. Windows' definitions of the counters that several
//! providers fill are in [`windows`].

mod layout;
mod titles;
pub mod windows;

pub use layout::{CounterValues, Layouts, MOST, write_single};
pub use titles::{parse_titles, titles_of};

use crate::provider::ObjectDescription;
use crate::source::Cost;
use perfhive_format::{CounterSpec, CounterType, DetailLevel, ObjectSpec, TitleIndex};

/// The first of perfhive's own title indexes, which end before twice this number. They are for
/// objects and counters that Windows does not have, or to which it gives other indexes on each
/// machine. No Windows machine has that many titles. Names have even indexes, help texts odd ones.
pub const OWN: u32 = 100_000;

/// Title index of the object Process V2. Its instances are processes, with names that end in their
/// process IDs. Windows gives the object another index on each machine.
pub const PROCESS_V2: u32 = 105_200;
/// Title index of the object Thread V2. Its instances are the threads of the processes of Process
/// V2, with their thread IDs as names, except the threads of Idle, which keep their names.
pub const THREAD_V2: u32 = 105_202;

/// One object in a table: its definition on Windows, and the sources of its values on this system.
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
    /// Text for the manual about the object: its instances, and other facts for readers.
    pub note: &'static str,
    /// Text for the manual: which files a collection reads, and which calls it makes for each
    /// instance.
    pub reads: &'static str,
    /// How expensive the object is: whether it is part of `Global` or only of `Costly`.
    pub cost: Cost,
    /// Whether the object can have instances.
    pub has_instances: bool,
    /// Objects that come along with this object, because its instances have parents there.
    pub brings: &'static [u32],
    /// The counters, bases included, in the order of the counter block. The first is the default
    /// counter.
    pub counters: &'static [Counter],
    /// Counters that Windows has and that are not filled on this system.
    pub absent: &'static [Absent],
}

impl Object {
    /// The definition of the object itself, without its counters. The first counter is the default
    /// counter, and the level of detail is the lowest of the counters'.
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

    /// The object as [`Provider::describe`](crate::Provider::describe) returns it.
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

    /// The index of a counter in the table, found by the title index of its name; `None` if the
    /// table lacks it. For a counter with a base it is the index of the counter, not of the base.
    #[must_use]
    pub fn place(&self, counter: u32) -> Option<usize> {
        self.counters.iter().position(|known| known.index == counter)
    }

    /// A mask of the counters that are filled without being asked for ([`Counter::on_request`] is
    /// `false`): bit N is set for the counter with the index N in the table.
    #[must_use]
    pub fn standard(&self) -> u64 {
        self.mask(|counter| !counter.on_request)
    }

    /// A mask of the counters that Windows has under the same title index: bit N is set for the
    /// counter with the index N in the table.
    #[must_use]
    pub fn windows(&self) -> u64 {
        self.mask(|counter| counter.index < OWN)
    }

    /// A mask of a counter and its base: bit N is set for the counter with the index N in the
    /// table. 0 if the table lacks the counter.
    #[must_use]
    pub fn bits(&self, counter: u32) -> u64 {
        self.mask(|known| known.index == counter)
    }

    fn mask(&self, wanted: impl Fn(&Counter) -> bool) -> u64 {
        let places = (0..).zip(self.counters).filter(|(_, counter)| wanted(counter));
        places.fold(0, |mask, (place, _)| mask | 1 << place)
    }
}

/// A counter that is filled on this system.
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
    /// Exponent of the power of ten by which a chart should multiply the value.
    pub scale: i32,
    /// The level of detail: the experience that users need, from novice to wizard.
    pub detail: DetailLevel,
    /// Whether the counter is filled only on request, because it costs extra.
    pub on_request: bool,
    /// Whether the data is 8 bytes long although the type says 4.
    pub wide: bool,
    /// The unit of the cooked value, for the manual; empty if there is none.
    pub unit: &'static str,
    /// The file and field, or call and field, from which the value is made.
    pub source: &'static str,
    /// The first version of the system that has the counter; empty if every version has it.
    pub since: &'static str,
    /// The English help text: what the counter means.
    pub meaning: &'static str,
    /// How the counter differs from Windows' counter; empty if it does not.
    pub difference: &'static str,
}

impl Counter {
    /// A counter with the title index `index` of its name and `help` of its help text. It is filled
    /// at each collection, has the scale 0 and the lowest level of detail, and all other texts are
    /// empty.
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

    /// A base for the counter `of`, of type `PERF_RAW_BASE`, with the name, the help text and the
    /// level of detail of the counter. In the table, its row must follow that of the counter.
    #[must_use]
    pub const fn base(of: &Self) -> Self {
        Self::base_as(of, CounterType::PERF_RAW_BASE)
    }

    /// A base for the counter `of`, as [`base`](Self::base) makes it, but of the type `kind`.
    #[must_use]
    pub const fn base_as(of: &Self, kind: CounterType) -> Self {
        let mut base = Self::new(of.index, of.help, of.name, kind).means(of.meaning);
        base.detail = of.detail;
        base
    }

    /// The entry for this counter in the list of [absent](Object::absent) counters of an object or
    /// system that does not fill it, with the reason.
    #[must_use]
    pub const fn absent(&self, reason: &'static str) -> Absent {
        absent(self.index, self.name, self.kind, reason)
    }

    /// The same counter with 8 bytes of data although its type says 4, as Windows' own average
    /// timers have.
    #[must_use]
    pub const fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    /// The same counter with a scale for charts: the exponent of a power of ten.
    #[must_use]
    pub const fn scale(mut self, scale: i32) -> Self {
        self.scale = scale;
        self
    }

    /// The same counter with a level of detail.
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

    /// The same counter with the first version of the system that has it.
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

    /// The same counter with a text that says how it differs from Windows' counter.
    #[must_use]
    pub const fn differs(mut self, difference: &'static str) -> Self {
        self.difference = difference;
        self
    }

    /// The definition of the counter.
    #[must_use]
    pub fn spec(&self) -> CounterSpec {
        let spec = CounterSpec::new(TitleIndex(self.index), self.kind)
            .help(TitleIndex(self.help))
            .scale(self.scale)
            .detail(self.detail);
        if self.is_wide() { spec.size(8) } else { spec }
    }

    /// Whether the counter's data has 8 bytes: because the counter is marked as wide although its
    /// type says 4, or because its type is a double.
    fn is_wide(&self) -> bool {
        self.wide || self.kind == CounterType::PERF_DOUBLE_RAW
    }

    /// The number that is stored for `value`. For a counter of 4 bytes, a number that is too large
    /// becomes the largest that fits. But a count of which only differences matter is returned
    /// unchanged: it wraps when it is stored.
    #[must_use]
    pub fn fit(&self, value: u64) -> u64 {
        // Only differences matter of the base of an average, a count of operations, although its
        // type does not say so.
        let counts = self.kind.is_delta() || self.kind == CounterType::PERF_AVERAGE_BASE;
        match self.kind.size_in_bytes() {
            Some(4) if !counts && !self.is_wide() => value.min(u64::from(u32::MAX)),
            _ => value,
        }
    }
}

/// A counter that Windows has and that is not filled on this system.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// Title index of the name.
    pub index: u32,
    /// English name.
    pub name: &'static str,
    /// The counter type.
    pub kind: CounterType,
    /// The reason why the counter is not filled.
    pub reason: &'static str,
}

/// The entry for a counter that Windows has and this system does not fill, with the reason.
#[must_use]
pub const fn absent(
    index: u32,
    name: &'static str,
    kind: CounterType,
    reason: &'static str,
) -> Absent {
    Absent { index, name, kind, reason }
}

/// The documentation of an object as it is filled on this system.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectDoc {
    /// Title index of the object's name.
    pub index: TitleIndex,
    /// English name.
    pub name: &'static str,
    /// A text about the object's instances, and about differences from Windows' object, in
    /// Markdown.
    pub note: &'static str,
    /// A text about the files that a collection of the object reads and the calls that it makes, in
    /// Markdown.
    pub reads: &'static str,
    /// How expensive the object is: whether it is part of `Global` or only of `Costly`.
    pub cost: Cost,
    /// The object's counters, filled or not, without bases.
    pub counters: Vec<CounterDoc>,
}

/// The documentation of one counter, and whether the counter is filled on this system.
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
    /// Whether the counter is filled, with the source of its values or the reason why it is not
    /// filled.
    pub availability: Availability,
}

/// Whether a counter is filled on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The counter is filled.
    Present {
        /// The unit of the cooked value, for the manual; empty if there is none.
        unit: &'static str,
        /// The file and field, or call and field, from which the value is made.
        source: &'static str,
        /// Whether the counter is filled only on request, because it costs extra.
        on_request: bool,
        /// The first version of the system that has the counter; empty if every version has it.
        since: &'static str,
        /// The English help text.
        meaning: &'static str,
        /// How the counter differs from Windows' counter; empty if it does not.
        difference: &'static str,
    },
    /// The counter is not filled.
    Absent {
        /// The reason why the counter is not filled.
        reason: &'static str,
    },
}

impl CounterDoc {
    /// Whether the counter is perfhive's own: Windows has no such counter, or gives it another
    /// index on each machine.
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

/// The documentation of each counter of an object, whether the counter is filled or not, without
/// bases.
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
