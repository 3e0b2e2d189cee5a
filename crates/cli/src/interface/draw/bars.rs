//! Draws two kinds of panes: the histogram, with a bar for each line, and the report, with a number for each
//! line.

use super::{Screen, row};
use crate::interface::entries::Entry;
use crate::interface::model::{Model, Target};
use crate::text::escape::{Escaped, clip, width};
use crate::text::wrap::push_wrapped;
use perfhive_view::chart::shown;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

/// The characters that end a bar, for 0 to 7 eighths of a cell.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The text of a bar that fills `part` (0 to 1) of `cells` cells.
pub(super) fn bar(cells: u16, part: f64) -> String {
    let eighths = (part.clamp(0.0, 1.0) * f64::from(cells) * 8.0).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    text.push_str(PARTS.get(eighths % 8).copied().unwrap_or_default());
    text
}

impl Screen<'_> {
    pub(super) fn histogram(&mut self, model: &Model, place: usize, area: Rect) {
        let (entries, rest) = model.entries_and_rest(place);
        let Some(window) = model.window() else {
            self.waiting(model, place, area);
            return;
        };
        let (axis, _) = model.axis(place, &entries, window);
        // Bars of different units are multiplied by different powers of ten.
        let mut powers = axis.powers.iter();
        let scale = |entry: &Entry<'_>| match entry.line.and_then(|_| powers.next()) {
            None | Some(0) => String::new(),
            Some(power) => format!(" ×10^{power}"),
        };
        let scales: Vec<String> = entries.iter().map(scale).collect();
        let all = entries.iter().zip(&scales);
        let names = all.map(|(entry, scale)| width(&entry.name) + width(scale)).max();
        let names = names.unwrap_or(0).min(usize::from(area.width / 3)) as u16;
        let lines = usize::from(area.height);
        let selected = model.selected(place, &entries);
        let first = (selected + 1).saturating_sub(lines);
        let mut on_axis = 0;
        for (number, (entry, scale)) in entries.iter().zip(&scales).enumerate() {
            let Some(line) = entry.line else { continue };
            let place_on_axis = on_axis;
            on_axis += 1;
            if number < first || number - first >= lines {
                continue;
            }
            let screen = row(area, (number - first) as u16);
            self.hits.push((screen, Target::Entry(place, number)));
            let is_selected = number == selected && place == model.focus;
            let style =
                if is_selected { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
            let (name, _) = clip(&entry.name, usize::from(names).saturating_sub(width(scale)));
            let end = self.text(screen, 1, name, style);
            self.text(screen, end, scale, style);
            if !entry.is_visible {
                continue;
            }
            match model.value(entry) {
                Some(Ok(value)) => {
                    let text = shown(&line.what.quantity, value);
                    let text_room = 12.min(screen.width / 3);
                    let cells = screen.width.saturating_sub(names + 4 + text_room);
                    let bar = bar(cells, axis.place(place_on_axis, value));
                    self.text(screen, names + 2, &bar, self.theme.line(entry.colour));
                    self.text_to(screen, screen.width.saturating_sub(1), &text, style);
                }
                Some(Err(why)) => {
                    self.text(screen, names + 2, &Escaped(&why).to_string(), self.theme.faint());
                }
                None => {}
            }
        }
        self.more(area, entries.len().saturating_sub(first + lines), rest);
    }

    /// Writes into the line above an area how many entries follow below (`hidden`), and how many
    /// lines of smaller values a pane leaves out (`rest`); nothing if both are 0.
    pub(super) fn more(&mut self, area: Rect, hidden: usize, rest: usize) {
        let text = match (hidden, rest) {
            (0, 0) => return,
            (_, 0) => format!(" {hidden} more "),
            (0, _) => format!(" {rest} smaller not shown "),
            _ => format!(" {hidden} more, {rest} smaller not shown "),
        };
        let title = Rect { y: area.y.saturating_sub(1), height: 1, ..area };
        self.text_to(title, area.width.saturating_sub(2), &text, self.theme.faint());
    }

    /// Draws a pane before the first sample: the reasons why its counters cannot be read, or, if there are none,
    /// what the pane waits for.
    pub(super) fn waiting(&mut self, model: &Model, place: usize, area: Rect) {
        let counters = model.view.panes.get(place).into_iter().flat_map(|pane| &pane.counters);
        let room = usize::from(area.width.saturating_sub(1));
        let mut text = String::new();
        for why in counters.filter_map(|counter| model.problems.get(&counter.path)) {
            push_wrapped(&mut text, why, " ", room);
        }
        if text.is_empty() {
            text = format!(" {}", model.waiting());
        }
        for (number, line) in (0..area.height).zip(text.lines()) {
            self.text(row(area, number), 0, line, self.theme.faint());
        }
    }

    pub(super) fn report(&mut self, model: &Model, place: usize, area: Rect) {
        let (entries, rest) = model.entries_and_rest(place);
        let lines = usize::from(area.height);
        let selected = model.selected(place, &entries);
        let first = (selected + 1).saturating_sub(lines);
        for (number, entry) in entries.iter().enumerate().skip(first).take(lines) {
            let screen = row(area, (number - first) as u16);
            self.hits.push((screen, Target::Entry(place, number)));
            let is_selected = number == selected && place == model.focus;
            let style =
                if is_selected { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
            let counter =
                model.view.panes.get(place).and_then(|pane| pane.counters.get(entry.counter));
            let (value, style_of_value) = match (entry.line, model.value(entry)) {
                (Some(line), Some(value)) => match value {
                    Ok(value) => {
                        let is_above = counter
                            .and_then(|counter| counter.threshold)
                            .is_some_and(|threshold| value > threshold);
                        let style = if is_above { self.theme.attention() } else { style };
                        (shown(&line.what.quantity, value), style)
                    }
                    Err(why) => (Escaped(&why).to_string(), self.theme.faint()),
                },
                _ => {
                    let problem = counter.and_then(|counter| model.problems.get(&counter.path));
                    let text = problem.map_or("no value yet".into(), |p| Escaped(p).to_string());
                    (text, self.theme.faint())
                }
            };
            let room = usize::from(screen.width.saturating_sub(3));
            let (value, _) = clip(&value, room.saturating_sub(width(&entry.name)).max(room / 2));
            let (name, _) = clip(&entry.name, room.saturating_sub(width(value) + 1));
            self.text(screen, 1, name, style);
            self.text_to(screen, screen.width.saturating_sub(1), value, style_of_value);
        }
        self.more(area, entries.len().saturating_sub(first + lines), rest);
    }
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_end_in_parts_of_a_cell() {
        assert_eq!(bar(4, 0.5), "██");
        assert_eq!(bar(1, 0.125), "▏");
        assert_eq!([bar(2, 7.0), bar(2, -1.0)], ["██", ""]);
    }
}
