//! Tables for people, aligned by the width of their text on a terminal.
//!
//! All text of a table is in one string and a cell is a range of it, so that
//! a table of thousands of cells takes two allocations. The text of a
//! cell is escaped when it is added, so that a table cannot control a terminal.

use super::escape::{clip, escape_from, width};
use super::style::{Palette, Style};
use std::borrow::Cow;

/// The alignment of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Aligned to the left.
    Left,
    /// Aligned to the left, and shortened as [`shortened`] does it if the line would be too long.
    Label,
    /// Aligned to the right.
    Right,
    /// Aligned so that the decimal points are below one another.
    Point,
}

struct Column {
    title: String,
    align: Align,
}

/// A cell: its text, as a part of the table's text from `start` to `end`, its style and its width.
#[derive(Clone, Copy)]
struct Cell {
    start: u32,
    end: u32,
    /// The width in columns of the text before its decimal point; that of the whole text in a column that is not
    /// aligned at the point.
    lead: u32,
    /// The width of the text.
    width: u32,
    style: Style,
}

/// A table that is filled cell by cell, row by row.
#[derive(Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    text: String,
    cells: Vec<Cell>,
    /// The least width of each column, before and behind the decimal point.
    floors: Vec<(usize, usize)>,
}

/// The options by which a table is printed.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// The colours of the table.
    pub(crate) palette: Palette,
    /// Whether the titles are printed.
    pub(crate) titles: bool,
    /// The number of blanks before each line.
    pub(crate) indent: usize,
    /// The greatest width of a line in columns.
    pub(crate) width: usize,
}

const GAP: usize = 2;
/// The least readable width of a column of shortened labels.
const SHORTEST: usize = 8;
/// The least width of a column of labels where wider ones would cut values.
const LEAST: usize = 3;

impl Table {
    /// An empty table with these columns, each given by its title and alignment.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let mut table = Self::default();
        for (title, align) in columns {
            table.column(title, *align);
        }
        table
    }

    /// Adds a column; there must be no cells yet.
    pub(crate) fn column(&mut self, title: &str, align: Align) {
        let mut title = title.to_string();
        escape_from(&mut title, 0);
        self.columns.push(Column { title, align });
    }

    /// Adds the next cell; `write` appends its text, in which unsafe characters are then escaped.
    pub(crate) fn cell(&mut self, style: Style, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        escape_from(&mut self.text, start);
        let text = self.text.get(start..).unwrap_or_default();
        let align = self.columns.get(self.cells.len() % self.columns.len().max(1));
        let width = width(text);
        let lead = match align.map(|column| column.align) {
            Some(Align::Point) => {
                let is_digit = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-');
                text.find(|c: char| !is_digit(c)).unwrap_or(text.len())
            }
            _ => width,
        };
        let place = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (start, end) = (place(start), place(self.text.len()));
        let (lead, width) = (place(lead), place(width));
        self.cells.push(Cell { start, end, lead, width, style });
    }

    /// Adds the next cell with a text.
    pub(crate) fn text(&mut self, style: Style, text: &str) {
        self.cell(style, |out| out.push_str(text));
    }

    /// Makes every column at least as wide as `widths`, and sets `widths` to the new widths. So nothing
    /// moves in a table that is redrawn.
    pub(crate) fn keep_widths(&mut self, widths: &mut Vec<(usize, usize)>) {
        self.floors.clone_from(widths);
        *widths = self.measure(false);
        self.floors.clone_from(widths);
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.cells.len() / self.columns.len().max(1)
    }

    /// Whether the lines fit into the layout, if labels and a last column of text are cut to
    /// [`SHORTEST`].
    pub(crate) fn fits(&self, layout: Layout) -> bool {
        let measures = self.measure(layout.titles);
        let columns = self.columns.iter().zip(&measures).enumerate();
        let needed = columns.map(|(place, (column, (lead, tail)))| match column.align {
            Align::Label => GAP + (lead + tail).min(SHORTEST),
            Align::Left if place + 1 == measures.len() => GAP + (lead + tail).min(SHORTEST),
            _ => GAP + lead + tail,
        });
        layout.indent + needed.sum::<usize>() <= layout.width + GAP
    }

    /// Appends the lines of the table.
    pub(crate) fn render(&self, out: &mut String, layout: Layout) {
        let mut measures = self.measure(layout.titles);
        self.shrink(&mut measures, layout);
        if layout.titles {
            let titles = self.columns.iter().zip(&measures).map(|(column, measure)| {
                let own = width(&column.title);
                let before = match column.align {
                    Align::Left | Align::Label => 0,
                    Align::Right | Align::Point => measure.0 + measure.1 - own,
                };
                (
                    Cow::Borrowed(column.title.as_str()),
                    Style::Heading,
                    before,
                    own,
                    measure.0 + measure.1,
                )
            });
            push_line(out, layout, titles);
        }
        for row in self.cells.chunks(self.columns.len().max(1)) {
            let cells = row.iter().zip(&self.columns).zip(&measures);
            let cells = cells.map(|((cell, column), (lead, tail))| {
                let text = self.text.get(cell.start as usize..cell.end as usize);
                let (text, own) = (text.unwrap_or_default(), cell.width as usize);
                let before = match column.align {
                    Align::Left => 0,
                    Align::Label if own > lead + tail => {
                        let text = shortened(text, lead + tail);
                        let own = width(&text);
                        return (Cow::Owned(text), cell.style, 0, own, lead + tail);
                    }
                    Align::Label => 0,
                    Align::Right => lead + tail - own,
                    Align::Point => lead - cell.lead as usize,
                };
                (Cow::Borrowed(text), cell.style, before, own, lead + tail)
            });
            push_line(out, layout, cells);
        }
    }

    /// Makes the columns of labels in `measures` narrower if the lines would be too long, the widest column first.
    fn shrink(&self, measures: &mut [(usize, usize)], layout: Layout) {
        let columns = self.columns.len().max(1);
        let is_curve = |place: &usize| {
            self.cells.iter().skip(*place).step_by(columns).any(|c| c.style == Style::Curve)
        };
        // A curve takes the width that is left, and so does not count.
        let fixed = (0..measures.len()).filter(|place| !is_curve(place));
        let widths = fixed.filter_map(|place| measures.get(place)).map(|(lead, tail)| lead + tail);
        let gaps = GAP * measures.len().saturating_sub(1);
        let mut excess =
            (layout.indent + gaps + widths.sum::<usize>()).saturating_sub(layout.width);
        // Labels shrink further, until they can hardly be read, before a value is cut.
        for least in [SHORTEST, LEAST] {
            while excess > 0 {
                let labels = self.columns.iter().zip(&mut *measures);
                let labels = labels.filter(|(column, _)| column.align == Align::Label);
                let widest =
                    labels.map(|(_, measure)| measure).max_by_key(|(lead, tail)| lead + tail);
                let Some(widest) = widest.filter(|(lead, tail)| lead + tail > least) else { break };
                *widest = (widest.0 + widest.1 - 1, 0);
                excess -= 1;
            }
        }
    }

    /// The width of each column before the decimal point, and from the point on, in columns of the
    /// terminal. A column that is not aligned at the point has its whole width before it. The widths
    /// are at least those of `floors`; with `titles`, both together are at least the title's.
    fn measure(&self, titles: bool) -> Vec<(usize, usize)> {
        let mut measures = self.floors.clone();
        measures.resize(self.columns.len(), (0, 0));
        for row in self.cells.chunks(self.columns.len().max(1)) {
            for (cell, measure) in row.iter().zip(&mut measures) {
                let lead = cell.lead as usize;
                measure.0 = measure.0.max(lead);
                measure.1 = measure.1.max(cell.width as usize - lead);
            }
        }
        if titles {
            for (column, measure) in self.columns.iter().zip(&mut measures) {
                measure.0 += width(&column.title).saturating_sub(measure.0 + measure.1);
            }
        }
        measures
    }
}

/// Appends one line of cells. Each cell is its text, its style, the number of blanks before it, its own
/// width and the column's width. The line is no wider than the layout, and has no blanks at the end.
fn push_line<'a>(
    out: &mut String,
    layout: Layout,
    cells: impl Iterator<Item = (Cow<'a, str>, Style, usize, usize, usize)>,
) {
    let mut at = 0;
    let mut next = layout.indent;
    for (text, style, before, own, column) in cells {
        let from = next + before;
        next += column + GAP;
        if text.is_empty() {
            continue;
        }
        let Some(room) = layout.width.checked_sub(from).filter(|room| *room > 0) else {
            break;
        };
        out.extend(std::iter::repeat_n(' ', from - at));
        if own <= room {
            layout.palette.push(out, style, &text);
            at = from + own;
            continue;
        }
        if style == Style::Curve {
            // The newest values of a curve are at its end.
            let old = text.chars().count().saturating_sub(room);
            let newest: String = text.chars().skip(old).collect();
            layout.palette.push(out, style, &newest);
            break;
        }
        let (head, cut) = clip(&text, room);
        layout.palette.push(out, style, head);
        if cut {
            out.push('…');
        }
        break;
    }
    out.push('\n');
}

/// The text, shortened if it is wider than `room` columns (at least 1). An ellipsis then replaces all that stands
/// before the first parenthesis. Without a parenthesis, or if what remains is still too wide, it replaces the middle:
/// the end of a name distinguishes it as often as the beginning.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_string();
    }
    // The part in parentheses says more than the name of the object before it.
    if let Some(instance) = text.find('(').and_then(|open| text.get(open..))
        && width(instance) < room
    {
        return format!("…{instance}");
    }
    let (head, _) = clip(text, room.div_ceil(2));
    let rest = room.saturating_sub(width(head) + 1);
    let starts: Vec<usize> =
        text.char_indices().map(|(at, _)| at).filter(|at| *at >= head.len()).collect();
    // Later tails are narrower; the text may be of millions of characters.
    let tail = |at: &usize| text.get(*at..).unwrap_or_default();
    let first = starts.partition_point(|at| width(tail(at)) > rest);
    format!("{head}…{}", starts.get(first).map(tail).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: usize, titles: bool) -> Layout {
        Layout { palette: Palette(false), titles, indent: 0, width }
    }

    fn sample() -> Table {
        let mut table =
            Table::new(&[("NAME", Align::Left), ("VALUE", Align::Point), ("", Align::Left)]);
        for (name, value, unit) in
            [("日本", "1,241.754", "/s"), ("a\x1bb", "50", ""), ("x", "-", "needs two samples")]
        {
            table.text(Style::Plain, name);
            table.text(Style::Plain, value);
            table.text(Style::Plain, unit);
        }
        table
    }

    #[test]
    fn columns_are_aligned() {
        let mut out = String::new();
        sample().render(&mut out, layout(80, true));
        let expected = "\
NAME        VALUE
日本    1,241.754  /s
a\\x1bb     50
x           -      needs two samples
";
        assert_eq!(out, expected);
    }

    #[test]
    fn column_widths_stay_between_redraws() {
        let mut widths = Vec::new();
        sample().keep_widths(&mut widths);
        let mut small = Table::new(&[("", Align::Left), ("", Align::Point), ("", Align::Left)]);
        for text in ["a", "1.5", "s"] {
            small.text(Style::Plain, text);
        }
        small.keep_widths(&mut widths);
        let mut out = String::new();
        small.render(&mut out, layout(80, false));
        assert_eq!(out, "a           1.5    s\n");
    }

    #[test]
    fn labels_are_shortened_before_values_are_cut_off() {
        let mut table = Table::new(&[("", Align::Label), ("", Align::Point), ("", Align::Left)]);
        for text in [r"\Process(a-long-name)\Working Set", "1.5", "MiB"] {
            table.text(Style::Plain, text);
        }
        let mut out = String::new();
        table.render(&mut out, layout(30, false));
        assert_eq!(out, "\\Process(…orking Set  1.5  MiB\n");
        out.clear();
        table.render(&mut out, layout(80, false));
        assert_eq!(out, "\\Process(a-long-name)\\Working Set  1.5  MiB\n");
        assert_eq!(shortened("日本語日本語", 7), "日…本語");
    }

    #[test]
    fn long_lines_are_clipped() {
        let mut out = String::new();
        sample().render(&mut out, layout(24, false));
        let expected = "\
日本    1,241.754  /s
a\\x1bb     50
x           -      need…
";
        assert_eq!(out, expected);
    }
}
