//! The part of a thinned recording that is seen, read again more closely.
//!
//! Of a recording with many samples only every second, third or later one is read. Where charts
//! show a part of it, that part is read again with as many samples as are read of a whole
//! recording, and shown in place of the thinned one.

use super::entries::LineKey;
use super::layout::View;
use super::model::{Effect, Model};
use super::views::is_drawn;
use perfhive::FileTime;
use perfhive_view::Sample;
use perfhive_view::past::{Line, Past, Window};
use std::collections::HashMap;

/// A part of a recording that is read closely: with more of its samples than are shown of the whole recording.
pub(crate) struct Near {
    /// The span of time that was asked for. It is longer than the visible span, so that scrolling
    /// does not read again at once.
    window: Window,
    past: Past,
    /// The distance of the samples that were read: 1 for every sample, 2 for every second one.
    /// `None` while the part is being read.
    every: Option<u64>,
    /// The places in `past` of the lines that continue a line of the whole recording, by the number of the latter.
    lines: HashMap<u64, usize>,
}

impl Near {
    /// Adds the values of samples, for the paths that `views` draw. Samples are ignored if they were read for
    /// another part: if `window` is not the window of this part.
    pub(crate) fn note(&mut self, window: Window, samples: Vec<Sample>, views: &[&View]) {
        // A read that was given up may still have sent samples.
        if window == self.window {
            for sample in samples {
                self.past.note(&sample, |path| is_drawn(views, path));
            }
        }
    }

    /// Notes that the part `window` was read to its end, and finds the lines that continue those of `whole`; does
    /// nothing if `window` is not the window of this part.
    pub(crate) fn complete(&mut self, window: Window, every: u64, whole: &Past) {
        if window != self.window {
            return;
        }
        self.every = Some(every);
        let key = |line: &Line| (line.path.clone(), line.what.index, line.instance.clone());
        let places = self.past.lines().iter().enumerate();
        let places: HashMap<_, usize> = places.map(|(place, line)| (key(line), place)).collect();
        let all = whole.lines().iter();
        self.lines = all.filter_map(|line| Some((line.number, *places.get(&key(line))?))).collect();
    }

    /// Whether the part covers a window and is close enough for it: it has each sample, or is less than three times
    /// as long as the window.
    fn suits(&self, window: Window) -> bool {
        let is_close = self.every == Some(1) || self.window.width() / 3 < window.width();
        self.covers(window) && is_close
    }

    /// Whether a window lies within this part.
    fn covers(&self, window: Window) -> bool {
        self.window.from <= window.from && window.to <= self.window.to
    }

    /// The lines of the whole recording in their order, each with its samples in this part if the part has the line;
    /// and then the lines that only this part has.
    fn lines<'a>(&'a self, whole: &'a Past) -> Vec<(LineKey, &'a Past, &'a Line)> {
        let of = |line: &'a Line| {
            let near = self.lines.get(&line.number).and_then(|place| self.past.lines().get(*place));
            let (past, here) = near.map_or((whole, line), |line| (&self.past, line));
            ((false, line.number), past, here)
        };
        let known: Vec<usize> = self.lines.values().copied().collect();
        let own = self.past.lines().iter().enumerate();
        let own = own.filter(|(place, _)| !known.contains(place));
        let own = own.map(|(_, line)| ((true, line.number), &self.past, line));
        whole.lines().iter().map(of).chain(own).collect()
    }
}

impl super::seen::Seen {
    /// The part that was read closely (with more of its samples), if it covers a window; `None` also while the part is
    /// being read.
    fn near_in(&self, window: Option<Window>) -> Option<&Near> {
        let near = self.near.as_ref().filter(|near| near.every.is_some())?;
        window.filter(|window| near.covers(*window)).map(|_| near)
    }

    /// The lines that are shown in a window, the oldest first.
    pub(crate) fn lines_in(&self, window: Option<Window>) -> Vec<(LineKey, &Past, &Line)> {
        match self.near_in(window) {
            Some(near) => near.lines(&self.past),
            None => {
                let lines = self.past.lines().iter();
                lines.map(|line| ((false, line.number), &self.past, line)).collect()
            }
        }
    }

    /// The samples that are shown in a window, and their distance in the recording: 1 for every
    /// sample, 2 for every second one.
    pub(crate) fn past_in(&self, window: Option<Window>) -> (&Past, u64) {
        let near = self.near_in(window);
        near.map_or((&self.past, self.every), |near| (&near.past, near.every.unwrap_or(1)))
    }
}

impl Model {
    /// Asks for the visible part of each recording of which not every sample was read, so that it is read closely (with
    /// more of its samples). Does not ask if that is done already, or if more than a quarter of the recording is
    /// visible.
    pub(super) fn approach(&mut self, effects: &mut Vec<Effect>) {
        let Some(window) = self.window() else { return };
        for (source, seen) in self.sources.iter_mut().enumerate() {
            let Some(span) = seen.past.span().filter(|_| seen.every > 1 && !seen.is_loading) else {
                continue;
            };
            let is_asked = seen.near.as_ref().is_some_and(|near| near.suits(window));
            // What is read is twice as long as what is seen; less than half of the whole has more detail.
            if is_asked || window.width() > span.width() / 4 {
                continue;
            }
            let margin = window.width() / 2;
            let window = Window {
                from: FileTime(window.from.0.saturating_sub(margin)),
                to: FileTime(window.to.0.saturating_add(margin)),
            };
            let times = seen.past.times();
            let before = |time: FileTime| times.partition_point(|known| *known < time) as u64;
            let samples = (before(window.to) - before(window.from) + 1).saturating_mul(seen.every);
            let past = Past::new(seen.most_bytes.0);
            seen.near = Some(Near { window, past, every: None, lines: HashMap::new() });
            effects.push(Effect::Near { source, window, samples });
        }
    }
}
