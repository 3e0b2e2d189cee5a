//! Draws the screen: a line about the source, the panes, and a line of keys or a message.

mod bars;
mod canvas;
mod chart;
mod legend;
mod overlay;
mod table;
mod timeline;

use super::keys::Action;
use super::layout::{Kind, Pane};
use super::model::{Hits, Mode, Model, Target};
use super::panes::{Edge, LEAST_HEIGHT, LEAST_WIDTH, places};
use super::theme::Theme;
use crate::text::escape::{Escaped, clip, width};
use crate::text::wrap::push_wrapped;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use std::fmt::Write as _;

/// The most lines of a message.
const MOST_MESSAGE: usize = 4;

/// Draws the model; returns the places of everything that can be clicked.
pub(crate) fn draw(model: &Model, theme: Theme, frame: &mut Frame<'_>) -> Hits {
    let area = frame.area();
    let mut hits = Hits::new();
    let mut screen = Screen { buffer: frame.buffer_mut(), theme, hits: &mut hits };
    screen.whole(model, area);
    hits
}

/// The screen while it is being drawn.
pub(super) struct Screen<'a> {
    buffer: &'a mut Buffer,
    theme: Theme,
    hits: &'a mut Hits,
}

impl Screen<'_> {
    /// Draws the head, the panes, the foot, and the text or list that is open; on a screen without
    /// room for a pane only `too small`.
    fn whole(&mut self, model: &Model, area: Rect) {
        if area.width < LEAST_WIDTH || area.height < LEAST_HEIGHT + 2 {
            self.text(area, 0, "too small", Style::new());
            return;
        }
        self.head(model, row(area, 0));
        let middle = Rect { y: area.y + 1, height: area.height - 2, ..area };
        self.panes(model, middle);
        self.foot(model, row(area, area.height - 1));
        match &model.mode {
            Mode::Normal | Mode::Prompt(_) => {}
            Mode::Help(above) => self.help(*above, middle),
            Mode::Text(title, lines, above) => self.lines(title, lines, *above, middle),
            Mode::Confirm => {
                let Some(asked) = model.questions.front() else { return };
                let paths = asked.paths.iter().map(|path| Escaped(path).to_string());
                let mut lines: Vec<String> = paths.collect();
                let adds = if lines.len() == 1 { "it" } else { "them" };
                lines.extend([
                    String::new(),
                    asked.cost.clone(),
                    String::new(),
                    format!("y adds {adds}, any other key does not"),
                ]);
                // The end of the text is shown, so that the question is seen also below many paths.
                let above = lines.len();
                self.lines("Add a costly object?", &lines, above, middle);
            }
            Mode::Choose(chooser) => self.chooser(model, chooser, middle),
        }
    }

    fn head(&mut self, model: &Model, area: Rect) {
        let mut left = String::from("perfhive ");
        for (number, seen) in model.sources.iter().enumerate() {
            let machine = seen.latest.values.first().map_or("", |value| &*value.what.machine);
            let name = match (model.has_several(), machine) {
                (true, _) => &seen.label,
                (false, "") => &seen.address,
                (false, machine) => machine,
            };
            let gap = if number > 0 { ", " } else { "" };
            let _ = write!(left, "{gap}{}", Escaped(name));
        }
        if !model.view.name.is_empty() {
            let _ = write!(left, "  {}", Escaped(&model.view.name));
        }
        if let [seen] = &*model.sources
            && !seen.is_live
        {
            let _ = write!(left, "  {}", Escaped(&seen.address));
        }
        let mut right = String::new();
        match &*model.recordings() {
            [] => {}
            [file] => drop(write!(right, "recording {}  ", Escaped(file))),
            files => drop(write!(right, "recording {} files  ", files.len())),
        }
        let unkept: usize = model.sources.iter().map(|one| one.past.left_out()).sum();
        if unkept > 0 {
            let _ = write!(right, "{unkept} lines not kept  ");
        }
        let every =
            model.sources.iter().map(|one| one.past_in(model.window()).1).max().unwrap_or(1);
        if every > 1 {
            let end = match (every % 100, every % 10) {
                (11..=13, _) => "th",
                (_, 1) => "st",
                (_, 2) => "nd",
                (_, 3) => "rd",
                _ => "th",
            };
            let _ = write!(right, "every {every}{end} sample  ");
        }
        right.push_str(match (model.is_frozen, model.is_loading(), model.end) {
            (true, ..) => "frozen  ",
            (_, true, _) => "reading  ",
            (_, _, Some(_)) if model.is_live() => "scrolled  ",
            _ => "",
        });
        // A live chart moves away from the cursor. The legend still shows the values at the cursor.
        let outside = |at| model.window().is_some_and(|seen| at < seen.from || at > seen.to);
        if model.cursor.is_some_and(outside) {
            right.push_str("at the cursor  ");
        }
        let live = model.sources.iter().filter(|one| one.is_live);
        let took: std::time::Duration = live.map(|one| one.took).sum();
        if !took.is_zero() {
            let _ = write!(right, "sample {:.1} ms  ", took.as_secs_f64() * 1e3);
        }
        if let Some(time) = model.shown_time() {
            right.push_str(&model.formatted(time, "%F %T"));
        }
        // The right part shows the present state, which is more important than a long file name.
        let (left, _) =
            clip(&left, usize::from(area.width).saturating_sub(width(&right) + 2).max(20));
        let end = self.text(area, 0, left, self.theme.title()) + 2;
        let (right, _) = clip(&right, usize::from(area.width.saturating_sub(end)));
        self.text_to(area, area.width, right, self.theme.faint());
    }

    fn foot(&mut self, model: &Model, area: Rect) {
        if let Mode::Prompt(prompt) = &model.mode {
            let sign = if prompt.is_filter { "/" } else { ":" };
            let text = format!("{sign}{}", Escaped(&prompt.text));
            let end = self.text(area, 0, &text, Style::new());
            self.text(area, end, " ", self.theme.selected());
            let more: Vec<&str> = prompt.candidates.iter().map(String::as_str).collect();
            let names: Vec<&str> = more
                .iter()
                .map(|one| one.rsplit_once(' ').map_or(*one, |(_, word)| word))
                .collect();
            self.text(area, end + 2, &names.join("  "), self.theme.faint());
            return;
        }
        let failure = || model.sources.iter().find_map(|one| one.failure.as_deref());
        if let Some(message) =
            Some(&*model.message).filter(|text| !text.is_empty()).or_else(failure)
        {
            self.message(message, area);
            return;
        }
        let is_table =
            model.view.panes.get(model.focus).is_some_and(|pane| pane.kind == Kind::Table);
        let keys: &[(&str, &str, Action)] = if is_table {
            &[
                ("?", "keys", Action::Help),
                ("a", "add", Action::Add),
                ("e", "explain", Action::Explain),
                ("/", "filter", Action::Filter),
                ("s", "sort", Action::Sort),
                ("t", "tree", Action::Tree),
                ("l", "chart", Action::Chart),
                ("Enter", "full", Action::Full),
                ("Space", "freeze", Action::Freeze),
                (":", "command", Action::Command),
                ("q", "quit", Action::Quit),
            ]
        } else {
            &[
                ("?", "keys", Action::Help),
                ("a", "add", Action::Add),
                ("e", "explain", Action::Explain),
                ("c", "kind", Action::Kind),
                ("h", "highlight", Action::Highlight),
                ("Space", "freeze", Action::Freeze),
                ("+-", "zoom", Action::ZoomIn),
                ("Enter", "full", Action::Full),
                (":", "command", Action::Command),
                ("q", "quit", Action::Quit),
            ]
        };
        let mut at = 0;
        for (key, does, action) in keys {
            let length = (width(key) + width(does) + 1) as u16;
            if at + length > area.width {
                break;
            }
            let end = self.text(area, at, key, self.theme.title());
            self.text(area, end + 1, does, self.theme.faint());
            self.hits
                .push((Rect { x: area.x + at, width: length, ..area }, Target::Action(*action)));
            at += length + 2;
        }
    }

    /// Draws a message in the line `area` and, if it is longer, in the lines above as well. Only its first
    /// [`MOST_MESSAGE`] lines are drawn, or fewer if there is no room for them. An ellipsis stands for what is cut off.
    fn message(&mut self, message: &str, area: Rect) {
        let mut text = String::new();
        push_wrapped(&mut text, message, "", usize::from(area.width));
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        let room = MOST_MESSAGE.min(usize::from(area.y));
        let is_cut = lines.len() > room;
        lines.truncate(room);
        if let Some(last) = lines.last_mut().filter(|_| is_cut) {
            last.push('…');
        }
        for (up, line) in (0..).zip(lines.iter().rev()) {
            let at = Rect { y: area.y - up, ..area };
            self.text(at, 0, &" ".repeat(usize::from(at.width)), Style::new());
            let (line, is_cut) = clip(line, usize::from(at.width));
            let end = self.text(at, 0, line, self.theme.attention());
            if is_cut {
                self.text(at, end, "…", self.theme.attention());
            }
        }
    }

    fn panes(&mut self, model: &Model, area: Rect) {
        for (place, at) in places(model, area) {
            self.pane(model, place, at);
            // A drag of the line above a row, or of the first column of a pane, moves the edge.
            if at.y > area.y {
                self.hits.push((row(at, 0), Target::Edge(Edge::Top(place))));
            }
            if at.x > area.x {
                let left = Rect { width: 1, ..at };
                self.hits.push((left, Target::Edge(Edge::Left(place))));
            }
        }
    }

    fn pane(&mut self, model: &Model, place: usize, area: Rect) {
        let Some(pane) = model.view.panes.get(place) else { return };
        if area.width < LEAST_WIDTH || area.height < 2 {
            return;
        }
        self.hits.push((area, Target::Pane(place)));
        self.pane_title(model, place, pane, row(area, 0));
        let inside = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if pane.counters.is_empty() {
            // The counters of a built-in view that no source has are taken out of it.
            let why = match model.view.is_built_in {
                true => "none of this view's counters is in the source; a lists what it has",
                false => "no counters yet: a adds some",
            };
            self.text(row(inside, 0), 1, why, self.theme.faint());
            return;
        }
        match pane.kind {
            Kind::Chart => self.chart(model, place, inside),
            Kind::Histogram => self.histogram(model, place, inside),
            Kind::Report => self.report(model, place, inside),
            Kind::Table => self.table(model, place, inside),
            Kind::Timeline => self.timeline(model, place, inside),
        }
    }

    fn pane_title(&mut self, model: &Model, place: usize, pane: &Pane, area: Rect) {
        let is_focused = place == model.focus && model.view.panes.len() > 1;
        let rule = if is_focused { "━" } else { "─" };
        let style = if is_focused { Style::new() } else { self.theme.faint() };
        for x in 0..area.width {
            self.text(area, x, rule, style);
        }
        let mut title = match pane.title.as_str() {
            "" => model.entries(place).first().and_then(|entry| entry.line).map_or_else(
                || "counters".to_string(),
                |line| Escaped(&line.what.object).to_string(),
            ),
            title => Escaped(title).to_string(),
        };
        if let Some(state) = model.states.get(place).filter(|state| !state.filter.is_empty()) {
            let _ = write!(title, "  /{}", Escaped(&state.filter));
        }
        if pane.kind == Kind::Table && model.time().is_some() {
            if let Some(time) = model.shown_time() {
                let _ = write!(title, "  at {}", model.day_and_time(time));
            }
            // Of live sources only; a recording is read again for each shown time.
            let live = model.sources.iter().filter(|one| one.is_live);
            let shown = live.filter(|one| model.place_in(&one.past).is_some());
            if let Some(oldest) = shown.filter_map(|one| one.samples.oldest()).max() {
                let _ = write!(title, ", kept from {}", model.day_and_time(oldest));
            }
        }
        let (text, _) = clip(&title, usize::from(area.width.saturating_sub(4)));
        let style = if is_focused { self.theme.title() } else { Style::new() };
        self.text(area, 1, &format!(" {text} "), style);
    }

    /// Writes a text into a line from column `at` on, as far as it fits. Returns the column behind
    /// the text.
    fn text(&mut self, line: Rect, at: u16, text: &str, style: Style) -> u16 {
        if at >= line.width || line.height == 0 {
            return at;
        }
        let room = usize::from(line.width - at);
        let (end, _) = self.buffer.set_stringn(line.x + at, line.y, text, room, style);
        end.saturating_sub(line.x)
    }

    /// Writes a text into a line so that it ends in front of column `end`; a longer text begins at
    /// the line's beginning and is cut.
    fn text_to(&mut self, line: Rect, end: u16, text: &str, style: Style) {
        let wide = width(text) as u16;
        if let Some(start) = end.checked_sub(wide) {
            self.text(line, start, text, style);
        } else {
            self.text(Rect { width: end.min(line.width), ..line }, 0, text, style);
        }
    }
}

/// The line with this number in an area; empty if the area is not so high.
fn row(area: Rect, line: u16) -> Rect {
    Rect { y: area.y + line.min(area.height), height: u16::from(line < area.height), ..area }
}
