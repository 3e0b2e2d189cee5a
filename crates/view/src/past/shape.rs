//! What a window shows of a line: its points and its statistics.

use super::{Line, Past, Window};
use perfhive_format::FileTime;

/// A point of a line, or a gap in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The horizontal place in the window: 0 is the window's beginning, 1 its end. The samples next
    /// to the window lie outside of this range.
    pub x: f64,
    /// The value; `None` for a gap, where a piece of the line ends.
    pub value: Option<f64>,
}

/// The statistics of a line in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LineSummary {
    /// The newest value.
    pub last: f64,
    /// The mean of the values as the counter's type defines it, as in a report: for rates the mean
    /// over time, for averages the mean over operations. The plain mean if all weights are 0.
    pub average: f64,
    /// The smallest value.
    pub minimum: f64,
    /// The largest value.
    pub maximum: f64,
    /// How many values the line has in the window.
    pub count: usize,
}

impl Past {
    /// The points of a line in a window, and those next to the window on both sides, so that the line
    /// reaches the edges. If these are more than `most` samples, they are divided into `most / 2` parts,
    /// and each part is given by its smallest and largest value, in the order in which they occurred.
    #[must_use]
    pub fn points(&self, line: &Line, window: Window, most: usize) -> Vec<Point> {
        let inside = self.places(window);
        let begin = inside.start.saturating_sub(1);
        let end = (inside.end + 1).min(self.times.len());
        let width = window.width() as f64;
        let x = |time: FileTime| (time.0 - window.from.0) as f64 / width;
        let count = end - begin;
        let parts = (most / 2).max(1);
        if count <= most {
            let mut points = Vec::with_capacity(count + 2);
            for place in begin..end {
                let (Some(time), Some(value)) = (self.times.get(place), line.values.get(place))
                else {
                    continue;
                };
                if line.is_broken_at(self.first + place as u64) {
                    points.push(Point { x: x(*time), value: None });
                }
                points.push(Point { x: x(*time), value: (!value.is_nan()).then_some(*value) });
            }
            return points;
        }
        let mut points = Vec::with_capacity(2 * parts + 2);
        for part in 0..parts {
            let range = begin + part * count / parts..begin + (part + 1) * count / parts;
            let mut low: Option<(usize, f64)> = None;
            let mut high: Option<(usize, f64)> = None;
            let mut is_broken = false;
            for place in range.clone() {
                let Some(value) = line.values.get(place).copied() else { continue };
                is_broken |= value.is_nan() || line.is_broken_at(self.first + place as u64);
                if value.is_nan() {
                    continue;
                }
                if low.is_none_or(|(_, known)| value < known) {
                    low = Some((place, value));
                }
                if high.is_none_or(|(_, known)| value > known) {
                    high = Some((place, value));
                }
            }
            let time = |place: usize| self.times.get(place).map_or(0.0, |time| x(*time));
            if is_broken {
                points.push(Point { x: time(range.start), value: None });
            }
            if let (Some(low), Some(high)) = (low, high) {
                let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
                points.push(Point { x: time(first.0), value: Some(first.1) });
                if second.0 != first.0 {
                    points.push(Point { x: time(second.0), value: Some(second.1) });
                }
            }
        }
        points
    }

    /// The statistics of a line in a window; `None` where the line has no value in it.
    #[must_use]
    pub fn summary(&self, line: &Line, window: Window) -> Option<LineSummary> {
        let values = self.places(window).filter_map(|place| {
            line.values.get(place).copied().zip(line.weights.get(place).copied())
        });
        let mut summary: Option<LineSummary> = None;
        let (mut sum, mut weighted, mut weights) = (0.0, 0.0, 0.0);
        for (value, weight) in values.filter(|(value, _)| !value.is_nan()) {
            let weight = f64::from(weight);
            let known = summary.get_or_insert(LineSummary {
                last: value,
                average: 0.0,
                minimum: value,
                maximum: value,
                count: 0,
            });
            known.last = value;
            known.minimum = known.minimum.min(value);
            known.maximum = known.maximum.max(value);
            known.count += 1;
            sum += value;
            weighted += value * weight;
            weights += weight;
        }
        let mut summary = summary?;
        let mean = weighted / weights;
        // Where all weights are 0, it is the plain mean.
        summary.average = if mean.is_finite() { mean } else { sum / summary.count as f64 };
        Some(summary)
    }
}
