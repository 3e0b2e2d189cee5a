//! The samples that were seen, in a ring of bounded size, and the lines through them.
//!
//! A line belongs to an identity, not to a name: `java#1` that becomes `java` stays in its line. If
//! a process is gone and a new one has its name, the new process continues the old one's line, with
//! a gap between them.

mod csv;
mod room;
mod samples;
mod shape;
mod window;

pub use csv::csv;
pub use samples::{MOST_SAMPLE_BYTES, Samples};
pub use shape::{LineSummary, Point};
pub use window::Window;

use crate::sample::{Sample, Value, What};
use perfhive_engine::Identity;
use perfhive_engine::measure::MOST_EVENT_NAMES;
use perfhive_format::FileTime;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The most bytes that the values and weights of a default [`Past`] take, unless its 600 newest samples take more: at
/// one sample a second enough for about a day of 24 counters, or two hours of 256.
pub const MOST_BYTES: usize = 24 << 20;
/// The most lines that a [`Past`] has: two for each event name of an experiment, and 256 others. If there are more
/// instances, each counter of a path has lines for an equal number of them, those with the largest values; the other
/// instances are counted, but their values are not kept.
pub const MOST_LINES: usize = 2 * MOST_EVENT_NAMES + 256;
/// The most samples that a [`Past`] keeps: a day at one sample a second.
pub const MOST_SAMPLES: usize = 86_400;
/// The most notes of reasons for missing values, and the most later names of its instance, that a line
/// keeps; for a further one, an old one is given up.
const MOST_REASONS: usize = 1024;

/// The values of one counter of one instance over time.
#[derive(Clone, Debug)]
pub struct Line {
    /// The path of the readings that the line shows, as [`Sampler`](crate::Sampler) got it.
    pub path: Arc<str>,
    /// The names of the object and the counter, and the unit.
    pub what: Arc<What>,
    /// The first name of the instance, for people; `None` for an object without instances.
    pub instance: Option<String>,
    /// A number that no other line of this past has or had.
    pub number: u64,
    identity: Option<Identity>,
    /// The line's value in each sample; NaN where a sample has none.
    values: VecDeque<f64>,
    /// The weight of each value in a mean; seven digits of it are enough.
    weights: VecDeque<f32>,
    /// The reasons why values are missing, in the order of time, each with the number of the first sample for which it
    /// holds.
    reasons: VecDeque<(u64, Arc<str>)>,
    /// The later names of the instance, each with the number of the first sample that has it.
    names: VecDeque<(u64, String)>,
    /// The numbers of the samples at which another instance of the same name took over the line, each with the
    /// identity of the instance before.
    breaks: VecDeque<(u64, Option<Identity>)>,
    /// Whether the newest sample has a value of the line's instance.
    is_there: bool,
    /// Whether the newest sample has no reading of the line's instance.
    is_gone: bool,
    /// The largest of the values; negative infinity where there is none.
    peak: f64,
    /// How many samples are newer than the last one with the largest value.
    since_peak: usize,
}

/// Past samples in a ring of bounded size, and the lines through them.
#[derive(Clone, Debug)]
pub struct Past {
    times: VecDeque<FileTime>,
    /// The number of the oldest sample.
    first: u64,
    lines: Vec<Line>,
    places: HashMap<Key, usize>,
    next_line: u64,
    most_bytes: usize,
    /// The paths of the instances of the newest sample that have no line, because there are [`MOST_LINES`].
    left_out: Vec<Arc<str>>,
}

/// What the values of one line have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    path: Arc<str>,
    /// The address of the [`What`] that the readings of a counter share.
    what: usize,
    identity: Option<Identity>,
}

impl Default for Past {
    fn default() -> Self {
        Self::new(MOST_BYTES)
    }
}

impl Past {
    /// An empty past. It keeps samples with at most `most_bytes` bytes of values and weights, but the
    /// newest 600 samples in any case, and never more than [`MOST_SAMPLES`].
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self {
            times: VecDeque::new(),
            first: 0,
            lines: Vec::new(),
            places: HashMap::new(),
            next_line: 0,
            most_bytes,
            left_out: Vec::new(),
        }
    }

    /// Adds the readings of a sample, but only those of a path for which `keeps` returns true. Time
    /// never goes back: a sample that is not newer than the newest is noted as 100 ns newer.
    pub fn note(&mut self, sample: &Sample, mut keeps: impl FnMut(&str) -> bool) {
        let newest = self.times.back().map_or(i64::MIN, |time| time.0.saturating_add(1));
        self.times.push_back(FileTime(sample.time.0.max(newest)));
        let number = self.first + self.times.len() as u64 - 1;
        self.left_out.clear();
        for line in &mut self.lines {
            line.is_there = false;
        }
        let mut last: Option<(Arc<str>, bool)> = None;
        let mut without: Vec<&Value> = Vec::new();
        for value in &sample.values {
            let keep = match &last {
                Some((path, keep)) if Arc::ptr_eq(path, &value.path) => *keep,
                _ => keeps(&value.path),
            };
            last = Some((Arc::clone(&value.path), keep));
            if keep && !self.add(value, number) {
                without.push(value);
            }
        }
        self.divide(&without, number);
        let length = self.times.len();
        for line in &mut self.lines {
            if line.values.len() < length {
                line.push(f64::NAN, 0.0);
                line.note_reason(number, "gone");
                line.is_gone = true;
            }
        }
        self.shrink();
    }

    /// Adds a value of the sample with this number to its line, or the reason why it is missing. A second value for the
    /// same line is ignored. Returns `false` if the instance gets no line.
    fn add(&mut self, value: &Value, number: u64) -> bool {
        if let (true, None, Err(why)) = (value.is_wild, &value.instance, &value.value)
            && self.lack(value, number, &why.to_string())
        {
            return true;
        }
        let Some(place) = self.place_of(value) else {
            return false;
        };
        let length = self.times.len();
        let Some(line) = self.lines.get_mut(place).filter(|line| line.values.len() < length) else {
            // Two readings have one identity: the first is kept.
            return true;
        };
        if line.identity != value.identity && value.identity.is_some() {
            if line.identity.is_some() {
                line.breaks.push_back((number, line.identity.clone()));
            }
            line.identity.clone_from(&value.identity);
        }
        if line.instance.is_none() {
            line.instance = value.instance.as_ref().map(|label| label.plain());
        } else if let Some(name) = value.instance.as_ref().map(|label| label.plain())
            && line.names.back().map(|(_, name)| name).or(line.instance.as_ref()) != Some(&name)
        {
            if line.names.len() == MOST_REASONS {
                line.names.pop_front();
            }
            line.names.push_back((number, name));
        }
        line.is_there = value.value.is_ok();
        line.is_gone = false;
        match (value.number(), &value.value) {
            (Some(number), _) => line.push(number, value.weight),
            (None, why) => {
                line.push(f64::NAN, 0.0);
                match why {
                    Err(why) => line.note_reason(number, &why.to_string()),
                    Ok(_) => line.note_reason(number, "not a finite number"),
                }
            }
        }
        true
    }

    /// Notes why no instance of the path and counter of `value` has a value in the sample with this number. Returns
    /// `false` if none of these instances has a line.
    fn lack(&mut self, value: &Value, number: u64, why: &str) -> bool {
        let length = self.times.len();
        let is_of_path = |line: &&mut Line| {
            line.path == value.path
                && Arc::ptr_eq(&line.what, &value.what)
                && line.instance.is_some()
        };
        let mut any = false;
        for line in self.lines.iter_mut().filter(is_of_path) {
            any = true;
            if line.values.len() < length {
                line.push(f64::NAN, 0.0);
                line.note_reason(number, why);
                line.is_gone = true;
            }
        }
        any
    }

    /// The place of the line for a value: the line of its identity; else a line of its path and counter without a value
    /// in this sample, which has the same name or had no instance so far; else a new line. `None` if a new line is
    /// needed and there are [`MOST_LINES`] already.
    fn place_of(&mut self, value: &Value) -> Option<usize> {
        let key = Key {
            path: Arc::clone(&value.path),
            what: Arc::as_ptr(&value.what) as usize,
            identity: if value.is_wild { value.identity.clone() } else { None },
        };
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let name = value.instance.as_ref().map(|label| label.plain());
        let returns = |line: &Line| {
            !line.is_there
                && line.path == value.path
                && line.what.is_same(&value.what)
                && (line.instance == name || line.instance.is_none())
        };
        let place = match self.lines.iter().position(returns) {
            Some(place) => {
                self.places.retain(|_, known| *known != place);
                if let Some(line) = self.lines.get_mut(place) {
                    // A path that was not sampled for a while has its names looked up anew.
                    line.what = Arc::clone(&value.what);
                }
                place
            }
            None if self.lines.len() < MOST_LINES => {
                let missed = self.times.len().saturating_sub(1);
                self.lines.push(Line {
                    path: Arc::clone(&value.path),
                    what: Arc::clone(&value.what),
                    instance: name,
                    number: self.next_line,
                    identity: None,
                    values: std::iter::repeat_n(f64::NAN, missed).collect(),
                    weights: std::iter::repeat_n(0.0, missed).collect(),
                    reasons: VecDeque::new(),
                    names: VecDeque::new(),
                    breaks: VecDeque::new(),
                    is_there: false,
                    is_gone: false,
                    peak: f64::NEG_INFINITY,
                    since_peak: 0,
                });
                self.next_line += 1;
                self.lines.len() - 1
            }
            None => return None,
        };
        self.places.insert(key, place);
        Some(place)
    }

    /// Drops the oldest samples beyond the bytes or [`MOST_SAMPLES`] (600 always stay), and lines
    /// without any value where there are [`MOST_LINES`].
    fn shrink(&mut self) {
        let most = (self.most_bytes / 12 / (self.lines.len() + 1)).clamp(600, MOST_SAMPLES);
        while self.times.len() > most {
            self.times.pop_front();
            self.first += 1;
            for line in &mut self.lines {
                line.values.pop_front();
                line.weights.pop_front();
                if line.peak.is_finite() && line.since_peak >= line.values.len() {
                    line.find_peak();
                }
            }
        }
        let first = self.first;
        for line in &mut self.lines {
            while line.breaks.front().is_some_and(|(number, _)| *number < first) {
                line.breaks.pop_front();
            }
        }
        // Lines without any value make room for others.
        if self.lines.len() == MOST_LINES {
            let is_empty = |line: &Line| !line.is_there && line.peak == f64::NEG_INFINITY;
            if self.lines.iter().any(is_empty) {
                self.keep(|line| !is_empty(line));
            }
        }
    }

    /// Drops the lines for which `wanted` returns false.
    pub fn keep(&mut self, wanted: impl Fn(&Line) -> bool) {
        let mut moved: Vec<Option<usize>> = Vec::new();
        let mut kept = 0;
        for line in &self.lines {
            let stays = wanted(line);
            moved.push(stays.then_some(kept));
            kept += usize::from(stays);
        }
        self.lines.retain(|line| wanted(line));
        self.places.retain(|_, place| match moved.get(*place).copied().flatten() {
            Some(now) => {
                *place = now;
                true
            }
            None => false,
        });
    }

    /// Removes the newest `count` samples, and the lines that were first seen in them. The caller then
    /// [notes](Self::note) these samples again, together with samples that were missing between them.
    pub fn forget_newest(&mut self, count: usize) {
        let kept = self.times.len().saturating_sub(count);
        let end = self.first + kept as u64;
        self.times.truncate(kept);
        for line in &mut self.lines {
            line.values.truncate(kept);
            line.weights.truncate(kept);
            while line.reasons.back().is_some_and(|(number, _)| *number >= end) {
                line.reasons.pop_back();
            }
            while line.names.back().is_some_and(|(number, _)| *number >= end) {
                line.names.pop_back();
            }
            while line.breaks.back().is_some_and(|(number, _)| *number >= end) {
                line.identity = line.breaks.pop_back().and_then(|(_, before)| before);
            }
            line.is_there = line.last().is_some();
            line.find_peak();
        }
        // The others were seen for the first time in what is forgotten.
        self.keep(|line| !line.reasons.is_empty() || line.values.iter().any(|one| !one.is_nan()));
    }

    /// Removes all samples; the lines of instances that the newest sample has stay.
    pub fn clear(&mut self) {
        self.keep(|line| !line.is_gone);
        self.first += self.times.len() as u64;
        self.times.clear();
        for line in &mut self.lines {
            line.values.clear();
            line.weights.clear();
            line.reasons.clear();
            line.breaks.clear();
            line.find_peak();
        }
    }

    /// The lines, in the order in which they were added.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The times of the samples, the oldest first.
    #[must_use]
    pub fn times(&self) -> &VecDeque<FileTime> {
        &self.times
    }

    /// How many instances of the newest sample have no line, because there are [`MOST_LINES`].
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Whether `is_wanted` returns true for the path of an instance of the newest sample that has
    /// no line (see [`left_out`](Self::left_out)).
    #[must_use]
    pub fn leaves_out(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.left_out.iter().any(|path| is_wanted(path))
    }

    /// The time from the oldest to the newest sample; `None` before there are two samples.
    #[must_use]
    pub fn span(&self) -> Option<Window> {
        let (from, to) = (*self.times.front()?, *self.times.back()?);
        (to > from).then_some(Window { from, to })
    }

    /// The places of the samples in a window, including samples at its beginning and its end.
    fn places(&self, window: Window) -> std::ops::Range<usize> {
        let begin = self.times.partition_point(|time| *time < window.from);
        let end = self.times.partition_point(|time| *time <= window.to);
        begin..end.max(begin)
    }

    /// Whether the newest sample has the instance of a line, or a window has a value of the instance or a
    /// new reason why it has none, as where it came or went.
    #[must_use]
    pub fn is_seen(&self, line: &Line, window: Window) -> bool {
        let inside = self.places(window);
        let is_value = |place| line.values.get(place).is_some_and(|value| !value.is_nan());
        let is_inside = |number: u64| {
            let place =
                number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
            place.is_some_and(|place| inside.contains(&place))
        };
        // An instance that had no value has a reason where it came and where it went.
        !line.is_gone
            || line.reasons.iter().any(|(number, _)| is_inside(*number))
            || inside.clone().rev().any(is_value)
    }

    /// The place, in [`times`](Self::times), of the sample that is nearest to a time, the earlier of two equally near
    /// ones; `None` if there is no sample.
    #[must_use]
    pub fn nearest(&self, time: FileTime) -> Option<usize> {
        let after = self.times.partition_point(|known| *known < time);
        let away = |place: usize| Some(self.times.get(place)?.0.abs_diff(time.0));
        let before = after.checked_sub(1);
        match (before.and_then(away), away(after)) {
            (Some(one), Some(other)) if one <= other => before,
            (_, Some(_)) => Some(after),
            _ => before,
        }
    }

    /// The name of a line's instance in the sample at a place of [`times`](Self::times): `java#1` may have become
    /// `java`. `None` for a line without an instance.
    #[must_use]
    pub fn name_at<'a>(&self, line: &'a Line, place: usize) -> Option<&'a str> {
        let number = self.first + place as u64;
        let later = line.names.iter().rev().find(|(from, _)| *from <= number);
        later.map(|(_, name)| name.as_str()).or(line.instance.as_deref())
    }

    /// The name of a line for people, `Object(Instance)\Counter`, with the last name that its instance has in a window.
    #[must_use]
    pub fn full_name(&self, line: &Line, window: Window) -> String {
        let last = self.places(window).end.checked_sub(1);
        let name = last.map_or(line.instance.as_deref(), |place| self.name_at(line, place));
        let instance = name.map(|name| format!("({name})")).unwrap_or_default();
        format!("{}{instance}\\{}", line.what.object, line.what.counter)
    }

    /// The value of a line in the sample at a place of [`times`](Self::times).
    ///
    /// # Errors
    /// Why there is no value, as a text for people.
    pub fn value_at(&self, line: &Line, place: usize) -> Result<f64, Arc<str>> {
        match line.values.get(place) {
            Some(value) if !value.is_nan() => Ok(*value),
            _ => Err(line.reason(self.first + place as u64)),
        }
    }
}

impl Line {
    /// The name of the line for people, `Object(Instance)\Counter`, with its instance's first name.
    #[must_use]
    pub fn full_name(&self) -> String {
        let instance = self.instance.as_ref().map(|name| format!("({name})")).unwrap_or_default();
        format!("{}{instance}\\{}", self.what.object, self.what.counter)
    }

    /// The line's value in the newest sample; `None` if the newest sample has none.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.values.back().copied().filter(|value| !value.is_nan())
    }

    fn push(&mut self, value: f64, weight: f64) {
        self.values.push_back(value);
        self.weights.push_back(weight as f32);
        self.raise(value);
    }

    /// Brings `peak` and `since_peak` up to date with a value that was appended; NaN is only a newer sample.
    fn raise(&mut self, value: f64) {
        if value >= self.peak {
            (self.peak, self.since_peak) = (value, 0);
        } else {
            self.since_peak += 1;
        }
    }

    /// Finds `peak` and `since_peak` anew in all values, after some were removed.
    fn find_peak(&mut self) {
        (self.peak, self.since_peak) = (f64::NEG_INFINITY, 0);
        for place in 0..self.values.len() {
            self.raise(self.values.get(place).copied().unwrap_or(f64::NAN));
        }
    }

    /// Notes why the value of the sample with this number is missing, unless the last note says the same.
    /// Values between two missing ones need no note: a reason is looked up only where a value is missing.
    fn note_reason(&mut self, number: u64, why: &str) {
        if self.reasons.back().is_some_and(|(_, known)| &**known == why) {
            return;
        }
        if self.reasons.len() == MOST_REASONS {
            // The first note stands for all that are no longer kept.
            self.reasons.remove(1);
            if let Some((_, first)) = self.reasons.front_mut() {
                *first = "the reason is no longer kept".into();
            }
        }
        self.reasons.push_back((number, why.into()));
    }

    /// Whether another instance took over the line at the sample with this number.
    fn is_broken_at(&self, number: u64) -> bool {
        self.breaks.iter().any(|(at, _)| *at == number)
    }

    /// Why the value of the sample with this number is missing, by the last note up to that sample.
    fn reason(&self, number: u64) -> Arc<str> {
        let after = self.reasons.partition_point(|(from, _)| *from <= number);
        let known = after.checked_sub(1).and_then(|place| self.reasons.get(place));
        known.map_or_else(|| "not seen yet".into(), |(_, why)| Arc::clone(why))
    }
}

#[cfg(test)]
mod tests;
