//! A line chart for a report.

use crate::axis::{Axis, LineScale, Scaled};
use crate::drawing::{Drawing, GLYPH, Shape};
use crate::palette::{Rgb, colour, dashes};
use crate::past::{Line, Past, Window};
use crate::scale::{Detail, Quantity};
use perfhive_format::{CookedValue, FileTime};

/// A line of a chart, and how it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Stroke<'a> {
    /// The line.
    pub line: &'a Line,
    /// The place of the line's colour in [`COLOURS`](crate::palette::COLOURS). Behind the last
    /// place, the colours are used again, with the lines drawn in
    /// [`DASHES`](crate::palette::DASHES).
    pub colour: u8,
    /// How the line is scaled.
    pub scale: LineScale,
}

/// What a chart for a report shows.
pub struct Chart<'a> {
    /// The samples, which have the values of the lines.
    pub past: &'a Past,
    /// The lines, in the order of the legend.
    pub strokes: &'a [Stroke<'a>],
    /// The part of time that is shown.
    pub window: Window,
    /// The text above the chart.
    pub title: &'a str,
    /// The width and the height of the chart in pixels.
    pub size: (u16, u16),
    /// A function that returns the text of a point in time for the time axis.
    pub clock: &'a dyn Fn(FileTime) -> String,
}

const GROUND: Rgb = (255, 255, 255);
const GRID: Rgb = (225, 225, 225);
const TEXT: Rgb = (60, 60, 60);

impl Chart<'_> {
    /// The chart as shapes: the title, the lines with both axes, and a legend with statistics,
    /// which takes at most a third of the height and only counts further lines.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let (width, height) = (f32::from(self.size.0), f32::from(self.size.1));
        let summaries: Vec<_> =
            self.strokes.iter().map(|one| self.past.summary(one.line, self.window)).collect();
        let scaled: Vec<Scaled<'_>> = self
            .strokes
            .iter()
            .zip(&summaries)
            .map(|(one, summary)| Scaled {
                path: &one.line.path,
                quantity: &one.line.what.quantity,
                default: one.line.what.scale,
                scale: one.scale,
                summary: *summary,
            })
            .collect();
        let axis = Axis::of(&scaled);
        let mut shapes = vec![Shape::Rectangle { x: 0.0, y: 0.0, width, height, colour: GROUND }];
        let text = |x: f32, y: f32, text: String, end: bool, colour: Rgb| Shape::Text {
            x,
            y,
            text,
            end,
            colour,
        };
        let longest = (0..=4).map(|tick| axis.label(f64::from(tick) / 4.0).chars().count()).max();
        let left = GLYPH.0 * (longest.unwrap_or(0) as f32 + 1.5);
        // The legend takes a third of the height at most.
        let rows = ((height / 3.0 / GLYPH.1) as usize).max(1).min(self.strokes.len());
        let top = GLYPH.1 * 2.0;
        let bottom = (height - GLYPH.1 * (rows as f32 + 2.75)).max(top + 16.0);
        let right = width - GLYPH.0 * 1.5;
        shapes.push(text(left, GLYPH.1 * 1.25, self.title.to_string(), false, (0, 0, 0)));
        for tick in 0..=4 {
            let part = f64::from(tick) / 4.0;
            let y = bottom - (bottom - top) * part as f32;
            let grid = vec![(left, y), (right, y)];
            shapes.push(Shape::Lines { points: grid, thickness: 1.0, dashes: &[], colour: GRID });
            shapes.push(text(left - GLYPH.0, y + 4.5, axis.label(part), true, TEXT));
        }
        let label = (self.clock)(self.window.from).chars().count() as f32 * GLYPH.0;
        // The labels at both ends stand inside the chart, and so nearer to their neighbours.
        let ticks = (((right - left) / (label * 1.5 + 2.0 * GLYPH.0)) as u8).clamp(1, 8);
        for tick in 0..=ticks {
            let part = f64::from(tick) / f64::from(ticks);
            let x = left + (right - left) * part as f32;
            let grid = vec![(x, top), (x, bottom)];
            shapes.push(Shape::Lines { points: grid, thickness: 1.0, dashes: &[], colour: GRID });
            let clock = (self.clock)(self.window.at(part));
            let y = bottom + GLYPH.1;
            shapes.push(match tick {
                0 => text(left, y, clock, false, TEXT),
                last if last == ticks => text(right, y, clock, true, TEXT),
                _ => text(x + label / 2.0, y, clock, true, TEXT),
            });
        }
        let most = usize::from(self.size.0) * 2;
        for (place, one) in self.strokes.iter().enumerate() {
            let mut piece: Vec<(f32, f32)> = Vec::new();
            let mut pieces = Vec::new();
            let mut before: Option<(f32, f32)> = None;
            for point in self.past.points(one.line, self.window, most) {
                let Some(value) = point.value else {
                    pieces.push(std::mem::take(&mut piece));
                    before = None;
                    continue;
                };
                let x = left + (right - left) * point.x as f32;
                let y = bottom - (bottom - top) * axis.place(place, value) as f32;
                // A line from a sample outside the window begins, or ends, at the window's edge.
                if let Some(from) = before.filter(|from| from.0 < left && x > left) {
                    let part = (left - from.0) / (x - from.0);
                    piece = vec![(left, from.1 + (y - from.1) * part)];
                }
                match before {
                    Some(from) if x > right => {
                        let part = (right - from.0) / (x - from.0).max(f32::MIN_POSITIVE);
                        if (0.0..=1.0).contains(&part) {
                            piece.push((right, from.1 + (y - from.1) * part));
                        }
                    }
                    _ if x >= left && x <= right => piece.push((x, y)),
                    _ => {}
                }
                before = Some((x, y));
            }
            pieces.push(piece);
            for mut points in pieces.into_iter().filter(|points| !points.is_empty()) {
                // A single point is drawn as a dot.
                if let [only] = points.as_slice() {
                    points.push((only.0 + 0.1, only.1));
                }
                let (colour, dashes) = (colour(one.colour).1, dashes(one.colour));
                shapes.push(Shape::Lines { points, thickness: 1.75, dashes, colour });
            }
        }
        let mut y = bottom + GLYPH.1 * 2.5;
        let room = ((right - left) / GLYPH.0) as usize;
        for (place, one) in self.strokes.iter().enumerate().take(rows) {
            if place + 1 == rows && rows < self.strokes.len() {
                let more = format!("and {} more", self.strokes.len() - rows + 1);
                shapes.push(text(left + 3.0 * GLYPH.0, y, more, false, TEXT));
                break;
            }
            let (colour, dashes) = (colour(one.colour).1, dashes(one.colour));
            let points = vec![(left - GLYPH.0, y - 4.5), (left + 2.0 * GLYPH.0, y - 4.5)];
            shapes.push(Shape::Lines { points, thickness: 3.0, dashes, colour });
            let mut name = self.past.full_name(one.line, self.window);
            match axis.powers.get(place) {
                Some(0) | None => {}
                Some(power) => name.push_str(&format!("  × 10^{power}")),
            }
            let values = summaries.get(place).copied().flatten().map(|summary| {
                let shown = |value| shown(&one.line.what.quantity, value);
                format!(
                    "average {}  minimum {}  maximum {}",
                    shown(summary.average),
                    shown(summary.minimum),
                    shown(summary.maximum)
                )
            });
            let values = values.unwrap_or_else(|| "no value".to_string());
            let fits = room.saturating_sub(values.chars().count() + 5);
            let name = match name.chars().count() > fits {
                true => name.chars().take(fits.saturating_sub(1)).chain(['…']).collect(),
                false => name,
            };
            shapes.push(text(left + 3.0 * GLYPH.0, y, name, false, TEXT));
            shapes.push(text(right, y, values, true, TEXT));
            y += GLYPH.1;
        }
        Drawing { width, height, shapes }
    }
}

/// A value with its unit, for people.
#[must_use]
pub fn shown(quantity: &Quantity<'_>, value: f64) -> String {
    // An average of identifiers may have a fraction, and is then shown as a number.
    let whole = quantity.is_identifier && value.fract() == 0.0 && (0.0..1e18).contains(&value);
    let value = if whole { CookedValue::Integer(value as u64) } else { CookedValue::Float(value) };
    let shown = quantity.shown(value, Detail::Brief);
    // A plain count has no decimals of its own.
    let number = match quantity.unit.is_empty() {
        true => shown.number.strip_suffix(".000").unwrap_or(&shown.number),
        false => &shown.number,
    };
    match shown.unit.as_str() {
        "" => number.to_string(),
        unit => format!("{number} {unit}"),
    }
}
