//! Draws the windows over the panes: the list of keys, texts, the list of counters.

use super::{Screen, row};
use crate::interface::commands::COMMANDS;
use crate::interface::keys::BINDINGS;
use crate::interface::model::{Model, Target};
use crate::interface::tree::{Choice, Chooser};
use crate::text::escape::{Escaped, clip, width};
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

impl Screen<'_> {
    /// Draws an empty window with a title. It is `wide` cells wide and `high` cells high, but no
    /// larger than `area`. Returns the area inside its frame.
    fn window(&mut self, title: &str, wide: u16, high: u16, area: Rect) -> Rect {
        let (wide, high) = (wide.min(area.width), high.min(area.height));
        let outer = Rect {
            x: area.x + (area.width - wide) / 2,
            y: area.y + (area.height - high) / 2,
            width: wide,
            height: high,
        };
        for y in outer.y..outer.y + outer.height {
            for x in outer.x..outer.x + outer.width {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
            let line = Rect { y, height: 1, ..outer };
            let is_edge = y == outer.y || y + 1 == outer.y + outer.height;
            if is_edge {
                let middle = "─".repeat(usize::from(outer.width).saturating_sub(2));
                let (left, right) = if y == outer.y { ("┌", "┐") } else { ("└", "┘") };
                self.text(line, 0, &format!("{left}{middle}{right}"), self.theme.faint());
            } else {
                self.text(line, 0, "│", self.theme.faint());
                self.text(line, outer.width.saturating_sub(1), "│", self.theme.faint());
            }
        }
        let (title, _) = clip(title, usize::from(outer.width).saturating_sub(4));
        self.text(row(outer, 0), 1, &format!(" {title} "), self.theme.title());
        Rect {
            x: outer.x + 2,
            y: outer.y + 1,
            width: outer.width.saturating_sub(4),
            height: outer.height.saturating_sub(2),
        }
    }

    pub(super) fn help(&mut self, above: usize, area: Rect) {
        let mut lines: Vec<String> = BINDINGS
            .iter()
            .map(|one| match one.name {
                "" => format!("{:<10} {}", one.label, one.does),
                name => format!("{:<10} {:<42} :{name}", one.label, one.does),
            })
            .collect();
        lines.push(String::new());
        lines.extend(COMMANDS.iter().map(|(name, help)| format!(":{name:<10} {help}")));
        lines.push(String::new());
        lines.push("Mouse: click selects, sorts and sets the cursor; a drag marks a span;".into());
        lines
            .push("the wheel scrolls, with Ctrl it zooms. A drag of the line above a pane,".into());
        lines.push("or of its first column, moves that edge.".into());
        self.lines("Keys (any other key closes)", &lines, above, area);
    }

    /// Draws a text in a window, broken into lines that fit. The first `above` lines are scrolled out, or
    /// fewer, so that no line of the window stays empty.
    pub(super) fn lines(&mut self, title: &str, text: &[String], above: usize, area: Rect) {
        let wide = area.width.min(100);
        let room = usize::from(wide).saturating_sub(4).max(1);
        let mut lines: Vec<String> = Vec::new();
        for line in text {
            if width(line) <= room {
                lines.push(line.clone());
                continue;
            }
            // Columns keep their places: such a line is broken where it is full.
            if line.trim_start().contains("  ") {
                let mut rest = line.as_str();
                while !rest.is_empty() {
                    let (part, _) = clip(rest, room);
                    lines.push(part.to_string());
                    rest = rest.get(part.len().max(1)..).unwrap_or_default();
                }
                continue;
            }
            let mut wrapped = String::new();
            crate::text::wrap::push_wrapped(&mut wrapped, line, "", room);
            lines.extend(wrapped.lines().map(str::to_string));
        }
        let high = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let inside = self.window(title, wide, high, area);
        let most = lines.len().saturating_sub(usize::from(inside.height));
        let above = above.min(most);
        for (number, line) in lines.iter().skip(above).take(usize::from(inside.height)).enumerate()
        {
            self.text(row(inside, number as u16), 0, line, Style::new());
        }
    }

    pub(super) fn chooser(&mut self, model: &Model, chooser: &Chooser, area: Rect) {
        let title = match &chooser.instances {
            Some(_) => "Which instance? Enter takes it, Esc goes back",
            None => "Add a counter: type to search, Enter takes, Tab explains, Esc closes",
        };
        let inside = self.window(title, area.width.min(100), area.height, area);
        let Some(tree) = &model.tree else {
            self.text(row(inside, 0), 0, "asking the source what it has", self.theme.faint());
            return;
        };
        let search = format!("/{}", Escaped(&chooser.search));
        let end = self.text(row(inside, 0), 0, &search, Style::new());
        self.text(row(inside, 0), end, " ", self.theme.selected());
        let choices = chooser.choices(tree);
        let body = Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
        let lines = usize::from(body.height);
        let selected = chooser.selected.min(choices.len().saturating_sub(1));
        let first = (selected + 1).saturating_sub(lines);
        if choices.is_empty() {
            self.text(row(body, 0), 0, "nothing has these words", self.theme.faint());
        }
        for (number, choice) in choices.iter().enumerate().skip(first).take(lines) {
            let line = row(body, (number - first) as u16);
            self.hits.push((line, Target::Choice(number)));
            let (text, note) = match *choice {
                Choice::Object(place) => {
                    let Some(object) = tree.objects.get(place) else { continue };
                    let sign = if chooser.open.contains(&place) { "▾" } else { "▸" };
                    let cost = if object.is_costly { "costly" } else { "" };
                    (format!("{sign} {}", Escaped(&object.shown())), cost.to_string())
                }
                Choice::Counter(place, counter) => {
                    let Some(object) = tree.objects.get(place) else { continue };
                    let Some(counter) = object.counters.get(counter) else { continue };
                    let name = Escaped(&counter.name).to_string();
                    let text = match chooser.search.is_empty() {
                        true => format!("    {name}"),
                        false => format!("    {}\\{name}", Escaped(&object.shown())),
                    };
                    let note = match (object.is_costly, counter.on_request) {
                        (true, _) => "costly",
                        (_, true) => "on request",
                        _ => "",
                    };
                    (text, note.to_string())
                }
                Choice::Instance(None) => {
                    let known = chooser.instances.as_ref().and_then(|(_, _, all)| all.as_ref());
                    let note = match known {
                        None => "asking the source".to_string(),
                        Some(all) => format!("{} now, and those that come", all.len()),
                    };
                    ("*  all instances".to_string(), note)
                }
                Choice::Instance(Some(place)) => {
                    let names = chooser.instances.as_ref().and_then(|(_, _, all)| all.as_ref());
                    let Some(name) = names.and_then(|all| all.get(place)) else { continue };
                    (Escaped(name).to_string(), String::new())
                }
            };
            let style = if number == selected { self.theme.selected() } else { Style::new() };
            if number == selected {
                self.buffer.set_style(line, style);
            }
            self.text(line, 0, &text, style);
            let note_style = if number == selected { style } else { self.theme.faint() };
            if width(&text) + width(&note) < usize::from(line.width) {
                self.text_to(line, line.width, &note, note_style);
            }
        }
    }
}
