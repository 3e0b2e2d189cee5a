//! Draws the legend of a pane, and the value bar of its selected line.

use super::{Screen, row};
use crate::interface::entries::Entry;
use crate::interface::model::{Model, Target};
use crate::text::escape::{Escaped, clip, width};
use perfhive_view::axis::Axis;
use perfhive_view::chart::shown;
use perfhive_view::past::LineSummary;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

impl Screen<'_> {
    pub(super) fn legend(
        &mut self,
        model: &Model,
        place: usize,
        entries: &[Entry<'_>],
        axis: &Axis,
        area: Rect,
    ) {
        let is_highlighted = model.states.get(place).is_some_and(|state| state.is_highlighted);
        let selected = model.selected(place, entries);
        let lines = area.height;
        let first = (selected + 1).saturating_sub(usize::from(lines));
        let mut on_axis = entries.iter().take(first).filter(|entry| entry.line.is_some()).count();
        for (line, (number, entry)) in
            entries.iter().enumerate().skip(first).take(usize::from(lines)).enumerate()
        {
            let line = row(area, line as u16);
            self.hits.push((line, Target::Entry(place, number)));
            let power = axis.powers.get(on_axis).copied().unwrap_or(0);
            on_axis += usize::from(entry.line.is_some());
            let is_selected = number == selected && place == model.focus;
            let mut style = match entry.is_visible {
                true => Style::new(),
                false => self.theme.faint(),
            };
            if is_selected && is_highlighted {
                style = style.add_modifier(Modifier::BOLD);
            }
            let swatch = if entry.is_visible { entry.marker } else { '-' };
            self.text(line, 0, if is_selected { "▸" } else { " " }, style);
            self.text(line, 1, &format!("{swatch}━"), self.theme.line(entry.colour));
            let (value, is_value) = self.entry_value(model, place, entry);
            let hidden = model.left_out_after(number + 1, entries.len(), first, usize::from(lines));
            let mut behind = String::new();
            if power != 0 {
                behind.push_str(&format!(" ×10^{power}"));
            }
            if hidden > 0 {
                behind.push_str(&format!(" (and {hidden} more)"));
            }
            let room = usize::from(line.width.saturating_sub(5));
            let value_room = room.saturating_sub(width(&entry.name) + width(&behind)).max(room / 2);
            let (value, _) = clip(&value, value_room);
            // The end of a long name is cut off, so that the text behind the name stays.
            let room = room.saturating_sub(width(value) + 1);
            let (behind, _) = clip(&behind, room * 2 / 3);
            let (name, _) = clip(&entry.name, room.saturating_sub(width(behind)));
            let end = self.text(line, 4, name, style);
            self.text(line, end, behind, style);
            let style = if is_value { style } else { self.theme.faint() };
            self.text_to(line, line.width.saturating_sub(1), value, style);
        }
    }

    /// The value of an entry at the shown time, as text, or the reason why there is none; and whether the text is a
    /// value.
    fn entry_value(&self, model: &Model, place: usize, entry: &Entry<'_>) -> (String, bool) {
        let Some(line) = entry.line else {
            let counter =
                model.view.panes.get(place).and_then(|pane| pane.counters.get(entry.counter));
            let problem = counter.and_then(|counter| model.problems.get(&counter.path));
            return (problem.map_or("no value yet".to_string(), |p| Escaped(p).to_string()), false);
        };
        let value = model.value(entry);
        match value {
            Some(Ok(value)) => (shown(&line.what.quantity, value), true),
            Some(Err(why)) => (Escaped(&why).to_string(), false),
            None => ("no value yet".to_string(), false),
        }
    }

    /// Draws the value bar: the statistics of the selected line in the shown time.
    pub(super) fn value_bar(
        &mut self,
        model: &Model,
        place: usize,
        entries: &[Entry<'_>],
        summaries: &[Option<LineSummary>],
        line: Rect,
    ) {
        let selected = model.selected(place, entries);
        let entry = entries.get(selected);
        let summary = summaries.get(selected).copied().flatten();
        let (Some(quantity), Some(summary), Some(window)) =
            (entry.and_then(|entry| Some(&entry.line?.what.quantity)), summary, model.window())
        else {
            return;
        };
        let mut span = String::new();
        perfhive_view::number::push_elapsed(&mut span, window.seconds().round());
        let parts = [
            ("last", shown(quantity, summary.last)),
            ("average", shown(quantity, summary.average)),
            ("minimum", shown(quantity, summary.minimum)),
            ("maximum", shown(quantity, summary.maximum)),
            ("span", span),
        ];
        // The names are shortened if they do not fit.
        let long: usize = parts.iter().map(|(name, value)| width(name) + width(value) + 3).sum();
        let is_long = long <= usize::from(line.width);
        let mut at = 1;
        for (name, value) in parts {
            let name = match name {
                "average" if !is_long => "avg",
                "minimum" if !is_long => "min",
                "maximum" if !is_long => "max",
                name => name,
            };
            if usize::from(at) + width(name) + width(&value) + 1 > usize::from(line.width) {
                break;
            }
            at = self.text(line, at, name, self.theme.faint()) + 1;
            at = self.text(line, at, &value, Style::new()) + 2;
        }
    }
}

impl Model {
    /// The number of entries that a legend has no room for, if the entry `next` is the first of them; otherwise 0.
    /// The legend has `lines` lines and begins with the entry `first`.
    fn left_out_after(&self, next: usize, all: usize, first: usize, lines: usize) -> usize {
        if next == first + lines { all.saturating_sub(next) } else { 0 }
    }
}
