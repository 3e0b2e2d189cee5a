//! Draws the timeline of a pane: a lane for each instance, a time axis.
//!
//! The pane's first counter is a count: a mark stands where it grows. A bar stands while any other
//! counter is above 0.

use super::{Screen, row};
use crate::interface::entries::Entry;
use crate::interface::layout::Kind;
use crate::interface::model::{Model, Target};
use crate::text::escape::{Escaped, clip, width};
use perfhive_view::number::push_grouped;
use perfhive_view::past::{Line, Past, Window};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

/// The least space to the left of lanes in columns, which has room for the labels of charts below.
const LEAST_GUTTER: u16 = 12;

/// A lane: the lines of one instance of a source.
struct Lane<'a> {
    name: String,
    /// The samples to which the lines belong.
    past: &'a Past,
    colour: u8,
    /// The place of the lane's first entry in the legend.
    entry: usize,
    count: Option<&'a Line>,
    bars: Vec<&'a Line>,
}

/// The lanes of the visible entries, in the order of the first entry of each instance.
fn lanes<'a>(model: &Model, entries: &[Entry<'a>]) -> Vec<Lane<'a>> {
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    let mut instances: Vec<(usize, Option<&str>)> = Vec::new();
    for (number, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.is_visible) {
        let (Some(line), Some(past)) = (entry.line, entry.past) else { continue };
        let instance = (entry.source, line.instance.as_deref());
        let place = instances.iter().position(|known| *known == instance);
        let place = place.unwrap_or_else(|| {
            instances.push(instance);
            let name = instance.1.unwrap_or(&line.what.counter);
            let mut name = Escaped(name).to_string();
            if let Some(source) = model.source(entry.source).filter(|_| model.has_several()) {
                name = format!(r"\\{}\{name}", Escaped(&source.label));
            }
            // Each lane takes the colour that follows the one of the lane above.
            let colour = lanes.last().map_or(entry.colour, |lane| lane.colour.wrapping_add(1));
            lanes.push(Lane { name, past, colour, entry: number, count: None, bars: Vec::new() });
            lanes.len() - 1
        });
        let Some(lane) = lanes.get_mut(place) else { continue };
        match entry.counter {
            0 => lane.count = Some(line),
            _ => lane.bars.push(line),
        }
    }
    lanes
}

/// Whether the first sample of a lane's source is the source's first event, and an event of this lane: if the count of
/// the lane is 1 there, and the counts of the source's other lanes are 0. In a part of a recording this is not so,
/// since it begins with the counts of earlier events.
fn has_first(lane: &Lane<'_>, lanes: &[Lane<'_>]) -> bool {
    let first = |lane: &Lane<'_>| lane.past.value_at(lane.count?, 0).ok();
    let of_source = lanes.iter().filter(|one| std::ptr::eq(one.past, lane.past));
    first(lane) == Some(1.0) && of_source.filter_map(first).sum::<f64>() == 1.0
}

/// The space to the left of the lanes in columns, on a screen of width `wide`. Charts of the view use the same, so
/// that their time axes agree. 0 for a view without lanes.
pub(super) fn gutter(model: &Model, wide: u16) -> u16 {
    let is_timeline = |(_, pane): &(usize, &_)| -> bool {
        let pane: &crate::interface::layout::Pane = pane;
        pane.kind == Kind::Timeline
    };
    let panes = model.view.panes.iter().enumerate().filter(is_timeline);
    let names = panes.flat_map(|(place, _)| lanes(model, &model.entries(place)));
    let longest = names.map(|lane| width(&lane.name) as u16 + 9).max();
    longest.map_or(0, |longest| longest.min(wide / 3).max(LEAST_GUTTER))
}

impl Screen<'_> {
    pub(super) fn timeline(&mut self, model: &Model, place: usize, area: Rect) {
        let entries = model.entries(place);
        let lanes = lanes(model, &entries);
        let (Some(window), false) = (model.window(), lanes.is_empty()) else {
            self.text(row(area, 0), 1, "waiting for the first event", self.theme.faint());
            return;
        };
        let gutter = gutter(model, area.width);
        let high = area.height.saturating_sub(1);
        if area.width < gutter + 4 || high == 0 {
            return;
        }
        let plot = Rect {
            x: area.x + gutter,
            width: area.width - gutter - 1,
            height: high.min(lanes.len() as u16),
            ..area
        };
        let selected = model.selected(place, &entries);
        let focused = lanes.iter().position(|lane| lane.entry == selected).unwrap_or(0);
        let first = (focused + 1).saturating_sub(usize::from(high));
        for (number, lane) in lanes.iter().skip(first).take(usize::from(high)).enumerate() {
            let line = row(area, number as u16);
            self.hits.push((line, Target::Entry(place, lane.entry)));
            let is_selected = place == model.focus && lane.entry == selected;
            self.lane_title(model, lane, Rect { width: gutter, ..line }, is_selected);
            self.lane(lane, window, row(plot, number as u16), has_first(lane, &lanes));
        }
        self.time_axis(model, window, None, row(area, plot.height), plot);
        let shown = first + usize::from(plot.height);
        if shown < lanes.len() {
            let more = format!("{} more", lanes.len() - shown);
            let (more, _) = clip(&more, usize::from(gutter - 1));
            self.text(row(area, plot.height), 1, more, self.theme.faint());
        }
        self.cursor(model, window, None, plot);
        self.hits.push((plot, Target::Plot(place)));
    }

    /// Draws the name of a lane, and the count at the cursor or the end of the window.
    fn lane_title(&mut self, model: &Model, lane: &Lane<'_>, line: Rect, is_selected: bool) {
        let at = model.place_in(lane.past);
        let value = |line: &Line| lane.past.value_at(line, at?).ok();
        let mut count = String::new();
        if let Some(value) = lane.count.and_then(value) {
            push_grouped(&mut count, value as u64);
        }
        let is_open = lane.bars.iter().any(|bar| value(bar).is_some_and(|open| open > 0.0));
        let mut style = self.theme.line(lane.colour);
        if is_open {
            style = style.add_modifier(Modifier::BOLD);
        }
        self.text(line, 0, if is_selected { "▸" } else { " " }, Style::new());
        let room = usize::from(line.width.saturating_sub(3)).saturating_sub(width(&count));
        let (name, _) = clip(&lane.name, room);
        self.text(line, 1, name, style);
        self.text_to(line, line.width - 1, &count, Style::new());
    }

    /// Draws the marks and bars of a lane. If `has_first` is true, as the function [`has_first`] says, the first
    /// sample has a mark, too.
    fn lane(&mut self, lane: &Lane<'_>, window: Window, line: Rect, has_first: bool) {
        let style = self.theme.line(lane.colour);
        for x in 0..line.width {
            self.text(line, x, "·", self.theme.faint());
        }
        let last = f64::from(line.width.saturating_sub(1));
        let most = usize::from(line.width) * 2;
        for bar in &lane.bars {
            let mut open: Option<f64> = None;
            for point in lane.past.points(bar, window, most) {
                if let Some(from) = open.filter(|from| *from <= 1.0 && point.x >= 0.0) {
                    let from = (from.max(0.0) * last).round() as u16;
                    let to = (point.x.min(1.0) * last).round() as u16;
                    for x in from..=to {
                        self.text(line, x, "━", style);
                    }
                }
                open = point.value.filter(|value| *value > 0.0).map(|_| point.x);
            }
        }
        let is_in = lane.past.times().front().is_some_and(|first| *first >= window.from);
        let mut before = (has_first && is_in).then_some(0.0);
        let points = lane.count.map(|count| lane.past.points(count, window, most));
        for point in points.into_iter().flatten() {
            let Some(value) = point.value else { continue };
            let grows = before.is_some_and(|before| value > before);
            if grows && (0.0..=1.0).contains(&point.x) {
                self.text(line, (point.x * last).round() as u16, "│", style);
            }
            before = Some(value);
        }
    }
}
