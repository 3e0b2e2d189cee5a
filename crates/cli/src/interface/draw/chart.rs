//! Draws the line chart of a pane: a vertical axis, lines, a time axis, a legend.

use super::canvas::Canvas;
use super::{Screen, row};
use crate::interface::entries::Entry;
use crate::interface::model::{Model, Target};
use crate::interface::theme::Theme;
use crate::interface::time::{unwrapped, wrapped};
use crate::text::escape::width;
use perfhive_view::axis::Axis;
use perfhive_view::past::Window;
use ratatui_core::layout::Rect;
use ratatui_core::style::Modifier;

/// The least distance between two markers of a coloured line, in cells.
const MARKER_STEP: u16 = 10;

impl Screen<'_> {
    pub(super) fn chart(&mut self, model: &Model, place: usize, area: Rect) {
        let (entries, rest) = model.entries_and_rest(place);
        self.more(area, 0, rest);
        let Some(window) = model.window() else {
            self.waiting(model, place, area);
            return;
        };
        let (axis, summaries) = model.axis(place, &entries, window);
        let (legend, bar, rest) = split(area, entries.len());
        self.legend(model, place, &entries, &axis, legend);
        self.value_bar(model, place, &entries, &summaries, bar);
        if rest.height < 2 {
            return;
        }
        // A label for the top, the bottom, and each fourth line between them.
        let lines = rest.height - 1;
        let steps = match lines {
            0..=3 => 1,
            4..=8 => 2,
            _ => 4,
        };
        let labels: Vec<String> =
            (0..=steps).map(|step| axis.label(f64::from(step) / f64::from(steps))).collect();
        let gutter = labels.iter().map(|label| width(label)).max().unwrap_or(0) as u16 + 1;
        let gutter = gutter.max(super::timeline::gutter(model, rest.width));
        if rest.width < gutter + 4 {
            return;
        }
        let plot =
            Rect { x: rest.x + gutter, y: rest.y, width: rest.width - gutter - 1, height: lines };
        for (step, label) in labels.iter().enumerate() {
            let up = (lines - 1) * step as u16 / steps;
            let line = row(rest, lines - 1 - up);
            self.text_to(line, gutter - 1, label, self.theme.faint());
            for x in 0..plot.width {
                self.text(row(plot, lines - 1 - up), x, "·", self.theme.faint());
            }
        }
        let bar = model.bar(window);
        self.time_axis(model, window, bar, row(rest, lines), plot);
        self.plot(model, place, &entries, &axis, window, plot);
        self.cursor(model, window, bar, plot);
        self.hits.push((plot, Target::Plot(place)));
    }

    fn plot(
        &mut self,
        model: &Model,
        place: usize,
        entries: &[Entry<'_>],
        axis: &Axis,
        window: Window,
        area: Rect,
    ) {
        let state = model.states.get(place);
        let highlighted =
            state.filter(|state| state.is_highlighted).map(|_| model.selected(place, entries));
        let mut canvas = Canvas::new(area);
        let (wide, high) = canvas.size();
        // The highlighted line is drawn last, above the others.
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|number| Some(*number) == highlighted);
        let with_line = |number: usize| {
            entries.iter().take(number).filter(|entry| entry.line.is_some()).count()
        };
        let mut markers = Vec::new();
        // A line is drawn over the whole width; with a time bar it is drawn twice, new values left of the bar and old
        // ones right of it.
        let copies = match model.bar(window) {
            None => vec![(0.0, 0..wide)],
            Some(bar) => {
                let at = (bar * f64::from(wide - 1)).round() as i32;
                let x = (bar * f64::from(area.width - 1)).round() as u16;
                (0..area.height).for_each(|y| self.put(area, x, y, '│', self.theme.attention()));
                vec![(bar - 1.0, 0..at + 1), (bar, at + 1..wide)]
            }
        };
        for number in order {
            let Some(entry) = entries.get(number).filter(|entry| entry.is_visible) else {
                continue;
            };
            let (Some(line), Some(past)) = (entry.line, entry.past) else {
                continue;
            };
            let owner = number as u16;
            let on_axis = with_line(number);
            // Without colours each value has the line's marker. With colours only a line that
            // shares its colour with an earlier entry of the legend has markers; the markers of
            // lines that lie over one another are in different columns.
            let shares = |other: &Entry<'_>| other.line.is_some() && other.colour == entry.colour;
            let (is_marked, begin, step) = match self.theme {
                Theme::Plain => (true, 0, 0),
                _ => {
                    let first = number as u16 % MARKER_STEP;
                    (entries.iter().take(number).any(shares), first, MARKER_STEP)
                }
            };
            let points = past.points(line, window, wide as usize * 2);
            for (shift, columns) in &copies {
                let (mut before, mut next): (Option<(i32, i32)>, _) = (None, begin);
                canvas.columns = columns.clone();
                for point in &points {
                    let Some(value) = point.value else {
                        before = None;
                        continue;
                    };
                    // Points outside the window are moved near to its edges, however far away they are.
                    let part = point.x.clamp(-1.0, 2.0) + shift;
                    let x = (part * f64::from(wide - 1)).round() as i32;
                    let up = axis.place(on_axis, value);
                    let y = ((1.0 - up) * f64::from(high - 1)).round() as i32;
                    let dot = (x, y);
                    canvas.line(before.unwrap_or(dot), dot, owner);
                    if Some(number) == highlighted {
                        // A highlighted line is two dots thick.
                        let below = |dot: (i32, i32)| (dot.0, (dot.1 + 1).min(high - 1));
                        canvas.line(below(before.unwrap_or(dot)), below(dot), owner);
                    }
                    if is_marked && columns.contains(&x) && x as u16 / 2 >= next {
                        markers.push((x as u16 / 2, y as u16 / 4, entry.marker, number));
                        next = x as u16 / 2 + step;
                    }
                    before = Some(dot);
                }
            }
        }
        let style = |number: usize| {
            let entry = entries.get(number);
            let style = entry.map_or_else(Default::default, |entry| self.theme.line(entry.colour));
            if Some(number) == highlighted { style.add_modifier(Modifier::BOLD) } else { style }
        };
        let styles: Vec<_> = (0..entries.len()).map(style).collect();
        let of = |number: usize| styles.get(number).copied().unwrap_or_default();
        for (x, y, character, owner) in canvas.cells() {
            self.put(area, x, y, character, of(usize::from(owner)));
        }
        for (x, y, marker, number) in markers {
            self.put(area, x, y, marker, of(number));
        }
    }

    fn put(
        &mut self,
        area: Rect,
        x: u16,
        y: u16,
        character: char,
        style: ratatui_core::style::Style,
    ) {
        if x < area.width
            && y < area.height
            && let Some(cell) = self.buffer.cell_mut((area.x + x, area.y + y))
        {
            cell.set_char(character);
            cell.set_style(style);
        }
    }

    /// Draws the times below the chart, and the marked spans between them. With a time bar, the times are those at
    /// the bar and at the left edge.
    pub(super) fn time_axis(
        &mut self,
        model: &Model,
        window: Window,
        bar: Option<f64>,
        line: Rect,
        plot: Rect,
    ) {
        let line = Rect { x: plot.x, width: plot.width, ..line };
        let label = |place: f64| model.clock(window.at(unwrapped(bar, place)), window);
        let first = label(0.0);
        let wide = width(&first) as u16;
        let last = f64::from(line.width - 1);
        let below_bar = bar.map(|bar| {
            let x = ((bar * last).round() as u16).saturating_sub(wide / 2);
            x.min(line.width.saturating_sub(wide))
        });
        if below_bar.is_none_or(|x| x > wide) {
            self.text(line, 0, &first, self.theme.faint());
        }
        if let (Some(bar), Some(x)) = (bar, below_bar) {
            self.text(line, x, &label(bar), self.theme.faint());
        } else {
            if line.width >= 3 * wide + 4 {
                self.text(line, line.width / 2 - wide / 2, &label(0.5), self.theme.faint());
            }
            if line.width >= 2 * wide + 2 {
                self.text_to(line, line.width, &label(1.0), self.theme.faint());
            }
        }
        let column = |time: perfhive::FileTime| {
            let part = (time.0 - window.from.0) as f64 / window.width() as f64;
            (wrapped(bar, part.clamp(0.0, 1.0)) * last) as u16
        };
        for (span, name) in model.spans.iter().zip(["A", "B"]) {
            let Some(span) = span.filter(|span| span.to > window.from && span.from < window.to)
            else {
                continue;
            };
            let is_inside = |x: &u16| {
                let time = window.at(unwrapped(bar, f64::from(*x) / last));
                span.from <= time && time <= span.to
            };
            let mut inside: Vec<u16> = (0..line.width).filter(is_inside).collect();
            let middle = inside.get(inside.len() / 2).copied().unwrap_or(column(span.from));
            inside.extend([column(span.from), column(span.to)]);
            for x in inside {
                self.text(line, x, "━", self.theme.attention());
            }
            self.text(line, middle, name, self.theme.attention());
        }
        if let Some(mark) = model.mark.filter(|mark| window.from <= *mark && *mark <= window.to) {
            self.text(line, column(mark), "┣", self.theme.attention());
        }
    }

    pub(super) fn cursor(&mut self, model: &Model, window: Window, bar: Option<f64>, plot: Rect) {
        let Some(cursor) = model.cursor.filter(|at| window.from <= *at && *at <= window.to) else {
            return;
        };
        let part = (cursor.0 - window.from.0) as f64 / window.width() as f64;
        let x = plot.x + (wrapped(bar, part) * f64::from(plot.width - 1)).round() as u16;
        for y in plot.y..plot.y + plot.height {
            if let Some(cell) = self.buffer.cell_mut((x, y)) {
                cell.set_style(self.theme.selected());
            }
        }
    }
}

/// The areas of the legend, of the value bar, and of the chart in a pane. The legend has a line for each of the
/// `entries`, but at least one, and no more than a third of the height allows. The value bar of a pane of less than
/// nine lines is empty.
fn split(area: Rect, entries: usize) -> (Rect, Rect, Rect) {
    let bar = u16::from(area.height >= 9);
    let most = (area.height / 3).saturating_sub(bar).max(1);
    let lines = u16::try_from(entries).unwrap_or(most).clamp(1, most).min(area.height);
    let rest = area.height.saturating_sub(lines + bar);
    let part = |from: u16, height: u16| Rect { y: area.y + from, height, ..area };
    (part(rest, lines), part(rest + lines, bar), part(0, rest))
}
