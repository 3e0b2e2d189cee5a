//! [`CounterDeclaration`] and the layout of a category's file.

use crate::error::PublishError;
use crate::layout::{
    ALIGN, COUNTER, HEADER, LARGEST, LIVE, LONGEST_NAME, LONGEST_TEXT, MOST_COUNTERS, MOST_SLOTS,
    MOST_TEXT, MULTI_INSTANCE, NANOSECONDS, PAIR, SINGLE, SLOT, header,
};
use crate::layout::{MAGIC, VERSION, counter as entry};
use perfhive_format::{
    Clock, CounterKind, CounterType, DetailLevel, Formula, NumericSubtype, SizeFacet, TimerFacet,
};
use std::collections::HashSet;

/// The declaration of one counter of a category: name, type, help text, scale and level of detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterDeclaration {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) counter_type: CounterType,
    pub(crate) base_type: Option<CounterType>,
    pub(crate) scale: i32,
    pub(crate) detail: DetailLevel,
}

impl CounterDeclaration {
    /// Declares a counter without a help text, at the level of detail for everyone, unscaled. It
    /// gets a base if its type needs one.
    #[must_use]
    pub fn new(name: &str, counter_type: CounterType) -> Self {
        Self {
            name: name.to_string(),
            help: String::new(),
            counter_type,
            base_type: counter_type.usual_base(),
            scale: 0,
            detail: DetailLevel::NOVICE,
        }
    }

    /// The same counter with a help text.
    #[must_use]
    pub fn help(mut self, help: &str) -> Self {
        self.help = help.to_string();
        self
    }

    /// The same counter with a default scale: charts show values times ten to the power of `scale`.
    #[must_use]
    pub fn scale(mut self, scale: i32) -> Self {
        self.scale = scale;
        self
    }

    /// The same counter with another level of detail.
    #[must_use]
    pub fn detail(mut self, detail: DetailLevel) -> Self {
        self.detail = detail;
        self
    }

    /// The same counter with a base of another type than the type's usual one.
    #[must_use]
    pub fn base_type(mut self, base_type: CounterType) -> Self {
        self.base_type = Some(base_type);
        self
    }

    pub(crate) fn flags(&self) -> u32 {
        if nanoseconds_per_tick(self.counter_type).is_some() { NANOSECONDS } else { 0 }
    }
}

/// The number of nanoseconds in a tick of a type with a time as value, which programs count in
/// nanoseconds: 100, or 0 if the ticks are those of the reader's performance counter. `None` for all
/// other types, among them those for which [`wants_seconds`] is `true`.
pub(crate) fn nanoseconds_per_tick(counter_type: CounterType) -> Option<u64> {
    let CounterKind::Counter(subtype) = counter_type.kind() else { return None };
    if wants_seconds(counter_type) {
        return None;
    }
    let is_time = match subtype {
        NumericSubtype::Rate => counter_type.unit() == "%",
        NumericSubtype::Fraction => counter_type.unit() == "s",
        _ => false,
    };
    match counter_type.timer() {
        TimerFacet::Tick => is_time.then_some(0),
        TimerFacet::Ns100 | TimerFacet::Object => is_time.then_some(100),
        TimerFacet::Unknown => None,
    }
}

/// Whether the formula of a type divides the value by seconds and makes percent of it: a multi timer by
/// another clock than that of 100 ns. A time in nanoseconds would be shown 10^9 times too large.
fn wants_seconds(counter_type: CounterType) -> bool {
    matches!(
        Formula::of(counter_type),
        Ok(Formula::MultiTimer(clock) | Formula::MultiTimerInverse(clock)) if clock != Clock::Ns100
    )
}

/// The definition of a category, which does not change once it is published.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) detail: DetailLevel,
    pub(crate) default_counter: Option<u32>,
    pub(crate) counters: Vec<CounterDeclaration>,
    /// The largest number of instances; `None` for a category without instances.
    pub(crate) instances: Option<usize>,
    pub(crate) longest_name: usize,
}

/// The layout of a category's file: the offsets and sizes of its parts in bytes, and the number of
/// its slots.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) slots: usize,
    pub(crate) name_size: usize,
    pub(crate) live_at: usize,
    pub(crate) names_at: usize,
    pub(crate) values_at: usize,
    pub(crate) values_size: usize,
    pub(crate) file_size: usize,
    /// The offset in bytes of each counter's cells among the values of an instance.
    pub(crate) cells: Vec<usize>,
}

impl Declared {
    /// Validates the definition and returns the layout of its file.
    pub(crate) fn places(&self) -> Result<Places, PublishError> {
        let bad = PublishError::bad_definition;
        check_text("the name of the category", &self.name)?;
        if self.name.trim() != self.name || self.name.bytes().all(|byte| byte.is_ascii_digit()) {
            let what = "has blanks at its ends or is a number, so that readers would refuse it";
            return Err(bad(format!("the name of the category, {:?}, {what}", self.name)));
        }
        let slots = self.instances.unwrap_or(1);
        if slots == 0 || slots > MOST_SLOTS {
            return Err(bad(format!("{slots} instances: expected 1 to {MOST_SLOTS}")));
        }
        if self.longest_name == 0 || self.longest_name > LONGEST_NAME {
            let length = self.longest_name;
            return Err(bad(format!("names of {length} bytes: expected 1 to {LONGEST_NAME}")));
        }
        if self.counters.is_empty() || self.counters.len() > MOST_COUNTERS {
            let count = self.counters.len();
            return Err(bad(format!("{count} counters: expected 1 to {MOST_COUNTERS}")));
        }
        let place = self.default_counter.map_or(0, |place| place as usize);
        if place >= self.counters.len() {
            return Err(bad(format!("no counter {place} to be the default")));
        }
        let mut seen = HashSet::new();
        for counter in &self.counters {
            check_text("the name of a counter", &counter.name)?;
            check_type(counter)?;
            if !seen.insert(counter.name.to_lowercase()) {
                return Err(bad(format!("two counters are called {:?}", counter.name)));
            }
        }
        let mut texts = self.texts();
        if let Some(text) = texts.find(|text| text.len() > LONGEST_TEXT || text.contains('\0')) {
            let start: String = text.chars().take(40).collect();
            let what = format!("a text has a NUL or more than {LONGEST_TEXT} bytes: {start:?}");
            return Err(bad(what));
        }
        let text_size: usize = self.texts().map(str::len).sum();
        if text_size > MOST_TEXT {
            return Err(bad(format!("{text_size} bytes of text: at most {MOST_TEXT}")));
        }
        // The cells of a counter with a base have a cache line for themselves. The cells of all
        // other counters follow behind these, without gaps.
        let mut cells = Vec::with_capacity(self.counters.len());
        let pairs = self.counters.iter().filter(|counter| counter.base_type.is_some()).count();
        let (mut pair, mut single) = (0, pairs * ALIGN);
        for counter in &self.counters {
            let (next, size) = if counter.base_type.is_some() {
                (&mut pair, ALIGN)
            } else {
                (&mut single, SINGLE)
            };
            cells.push(*next);
            *next += size;
        }
        let align = |offset: usize| offset.next_multiple_of(ALIGN);
        let name_size = align(self.longest_name);
        let live_at = align(HEADER + self.counters.len() * COUNTER + text_size);
        let names_at = align(live_at + LIVE + slots * SLOT);
        let values_at =
            if self.instances.is_some() { names_at + slots * name_size } else { names_at };
        let values_size = align(single);
        let file_size = values_at + slots * values_size;
        if file_size > LARGEST {
            let what = format!("{slots} instances take {file_size} bytes: at most {LARGEST}");
            return Err(bad(what));
        }
        let name_size = if self.instances.is_some() { name_size } else { 0 };
        Ok(Places { slots, name_size, live_at, names_at, values_at, values_size, file_size, cells })
    }

    /// All names and help texts, in the order of the file.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let counters = self.counters.iter().flat_map(|counter| [&*counter.name, &*counter.help]);
        [&*self.name, &*self.help].into_iter().chain(counters)
    }

    /// Encodes the part of the file that never changes: header, counters, texts.
    pub(crate) fn encode(
        &self,
        places: &Places,
        owner: &crate::os::Owner,
        created: u64,
    ) -> Vec<u8> {
        let mut out = vec![0; places.live_at];
        let texts_at = HEADER + self.counters.len() * COUNTER;
        let mut text_size = 0usize;
        let mut text = |out: &mut [u8], at: usize, text: &str| {
            put(out, at, &(text_size as u32).to_le_bytes());
            put(out, at + 4, &(text.len() as u32).to_le_bytes());
            put(out, texts_at + text_size, text.as_bytes());
            text_size += text.len();
        };
        text(&mut out, header::NAME, &self.name);
        text(&mut out, header::HELP, &self.help);
        for (place, counter) in self.counters.iter().enumerate() {
            let at = HEADER + place * COUNTER;
            text(&mut out, at + entry::NAME, &counter.name);
            text(&mut out, at + entry::HELP, &counter.help);
            let base = counter.base_type.map_or(0, |base| base.0);
            let cell = places.cells.get(place).map_or(0, |cell| *cell as u32);
            for (field, number) in [
                (entry::TYPE, counter.counter_type.0),
                (entry::BASE_TYPE, base),
                (entry::SCALE, counter.scale as u32),
                (entry::DETAIL, counter.detail.0),
                (entry::CELL, cell),
                (entry::FLAGS, counter.flags()),
            ] {
                put(&mut out, at + field, &number.to_le_bytes());
            }
        }
        put(&mut out, 0, &MAGIC);
        let flags = if self.instances.is_some() { MULTI_INSTANCE } else { 0 };
        for (at, number) in [
            (header::VERSION, VERSION),
            (header::LENGTH, HEADER as u32),
            (header::FLAGS, flags),
            (header::COUNTERS, self.counters.len() as u32),
            (header::SLOTS, places.slots as u32),
            (header::NAME_SIZE, places.name_size as u32),
            (header::VALUES_SIZE, places.values_size as u32),
            (header::DEFAULT_COUNTER, self.default_counter.unwrap_or(u32::MAX)),
            (header::DETAIL, self.detail.0),
        ] {
            put(&mut out, at, &number.to_le_bytes());
        }
        for (at, number) in [
            (header::FILE_SIZE, places.file_size as u64),
            (header::COUNTERS_AT, HEADER as u64),
            (header::TEXTS_AT, texts_at as u64),
            (header::TEXTS_SIZE, text_size as u64),
            (header::LIVE_AT, places.live_at as u64),
            (header::NAMES_AT, places.names_at as u64),
            (header::VALUES_AT, places.values_at as u64),
            (header::PID, owner.pid),
            (header::START, owner.start),
            (header::PID_NAMESPACE, owner.pid_namespace),
            (header::TIME_NAMESPACE, owner.time_namespace),
            (header::CREATED, created),
        ] {
            put(&mut out, at, &number.to_le_bytes());
        }
        out
    }
}

/// Copies bytes to the offset `at` of `out`; does nothing if they do not fit.
fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
}

/// Checks that a name has characters other than blanks, and no control characters.
fn check_text(what: &str, text: &str) -> Result<(), PublishError> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        let message = format!("{what} is {text:?}: expected text without control characters");
        return Err(PublishError::bad_definition(message));
    }
    Ok(())
}

/// Whether a file can have a counter of this type with this base. The type must be that of a number
/// of 4 or 8 bytes, and not itself a base. `base_type` must be the type of a base if the counter's
/// type needs one, and `None` otherwise.
pub(crate) fn is_countable(counter_type: CounterType, base_type: Option<CounterType>) -> bool {
    let has_number = matches!(counter_type.size(), SizeFacet::Dword | SizeFacet::Large)
        && matches!(counter_type.kind(), CounterKind::Number(_) | CounterKind::Counter(_));
    let base_fits = base_type.is_none_or(CounterType::is_base);
    has_number
        && !counter_type.is_base()
        && base_fits
        && counter_type.needs_base() == base_type.is_some()
}

fn check_type(counter: &CounterDeclaration) -> Result<(), PublishError> {
    let CounterDeclaration { name, counter_type, base_type, .. } = counter;
    let in_seconds = wants_seconds(*counter_type);
    if is_countable(*counter_type, *base_type) && !in_seconds {
        return Ok(());
    }
    let why = match base_type {
        _ if in_seconds => "its formula takes whole seconds; PERF_100NSEC_MULTI_TIMER and \
                            PERF_100NSEC_MULTI_TIMER_INV take times"
            .to_string(),
        _ if counter_type.is_base() => "a base comes with the counter it belongs to".to_string(),
        Some(base) => format!("{base} cannot be its base"),
        None => "its values are not numbers".to_string(),
    };
    let message = format!("counter {name:?} of type {counter_type} cannot be published: {why}");
    Err(PublishError::bad_definition(message))
}

/// The cells of a counter with a base fit into the alignment; the reader relies on it.
const _: () = assert!(PAIR <= ALIGN);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_type_with_a_number_can_be_declared() {
        let mut refused = Vec::new();
        for info in CounterType::named() {
            let counter = CounterDeclaration::new("x", info.counter_type);
            if let Err(error) = check_type(&counter) {
                assert!(error.to_string().contains(info.winperf), "{error}");
                refused.push(info.winperf);
            }
        }
        // Bases come with their counters. The remaining types have no number, or one in seconds.
        refused.retain(|name| !name.ends_with("_BASE"));
        assert_eq!(
            refused,
            [
                "PERF_COUNTER_TEXT",
                "PERF_COUNTER_MULTI_TIMER",
                "PERF_COUNTER_MULTI_TIMER_INV",
                "PERF_COUNTER_NODATA",
                "PERF_PRECISION_TIMESTAMP",
            ]
        );
    }

    #[test]
    fn times_are_counted_in_nanoseconds() {
        use CounterType as T;
        for kind in [T::PERF_AVERAGE_TIMER, T::PERF_COUNTER_TIMER, T::PERF_COUNTER_TIMER_INV] {
            assert_eq!(nanoseconds_per_tick(kind), Some(0), "{kind}");
        }
        for kind in [T::PERF_100NSEC_TIMER_INV, T::PERF_OBJ_TIME_TIMER, T::PERF_100NSEC_MULTI_TIMER]
        {
            assert_eq!(nanoseconds_per_tick(kind), Some(100), "{kind}");
        }
        for kind in [
            T::PERF_COUNTER_COUNTER,
            T::PERF_AVERAGE_BULK,
            T::PERF_ELAPSED_TIME,
            T::PERF_SAMPLE_FRACTION,
            T::PERF_RAW_FRACTION,
            T::PERF_PRECISION_100NS_TIMER,
            T::PERF_COUNTER_LARGE_QUEUELEN_TYPE,
            T::PERF_COUNTER_MULTI_TIMER,
        ] {
            assert_eq!(nanoseconds_per_tick(kind), None, "{kind}");
        }
    }
}
