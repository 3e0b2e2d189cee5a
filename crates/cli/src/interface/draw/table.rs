//! Draws a table of all instances of an object.

use super::bars::bar;
use super::{Screen, row};
use crate::interface::layout::{Counter, Pane};
use crate::interface::model::{Model, Row, Target};
use crate::text::escape::{Escaped, clip, width};
use perfhive::NoValue;
use perfhive_view::Value;
use perfhive_view::chart::shown;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

/// The width of the narrowest column of values.
const LEAST_COLUMN: u16 = 11;
/// The width of the widest column of values.
const WIDEST_COLUMN: u16 = 22;
/// The width of the narrowest column of names.
const LEAST_NAME: u16 = 16;

/// The width of the widest column of machines.
const WIDEST_MACHINE: u16 = 16;

/// A column of values: the screen column where it begins, its width, and its title.
struct Column {
    start: u16,
    width: u16,
    title: String,
}

/// The arrow behind the title of a column; empty unless the table is sorted by this column. A
/// `column` of `None` is that of the instances, which has an arrow only in reversed order.
fn arrow(pane: &Pane, column: Option<usize>) -> &'static str {
    match (pane.sort == column, pane.is_reversed) {
        (true, true) => "▴",
        (true, false) if column.is_some() => "▾",
        _ => "",
    }
}

impl Screen<'_> {
    pub(super) fn table(&mut self, model: &Model, place: usize, area: Rect) {
        let (Some(pane), Some(state)) = (model.view.panes.get(place), model.states.get(place))
        else {
            return;
        };
        let rows = model.rows(place);
        let has_processes = rows.iter().any(|row| row.process.is_some());
        // With several sources, the first column has the source of a row.
        let labels = model.sources.iter().filter(|_| model.has_several());
        let machines = labels
            .map(|one| width(&one.label))
            .max()
            .map_or(0, |wide| u16::try_from(wide).unwrap_or(u16::MAX).clamp(7, WIDEST_MACHINE) + 2);
        let machines = machines.min(area.width / 2);
        let sides = (area.width, machines);
        let area = Rect { x: area.x + machines, width: area.width - machines, ..area };
        let numbers = if has_processes { 8 } else { 0 };
        // Columns that do not fit are left out, from the right.
        let mut columns: Vec<(u16, String)> = Vec::new();
        let mut room = area.width.saturating_sub(LEAST_NAME + numbers);
        for (column, counter) in pane.counters.iter().enumerate() {
            let title = format!("{}{}", title_of(model, counter), arrow(pane, Some(column)));
            let wide = (width(&title) as u16 + 2).clamp(LEAST_COLUMN, WIDEST_COLUMN);
            if wide > room {
                break;
            }
            room -= wide;
            columns.push((wide, title));
        }
        let names = (room + LEAST_NAME.min(area.width.saturating_sub(numbers))).saturating_sub(1);
        let mut at = numbers + names;
        let columns: Vec<Column> = columns
            .into_iter()
            .map(|(wide, title)| {
                at += wide;
                Column { start: at - wide, width: wide, title }
            })
            .collect();
        self.table_head(place, pane, row(area, 0), (numbers, names), &columns);
        if machines > 0 {
            let left = Rect { x: area.x + area.width - sides.0, width: machines, ..row(area, 0) };
            self.text(left, 0, "Machine", self.theme.title());
        }
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        if rows.is_empty() {
            let why = self.why_empty(model, pane);
            self.text(row(body, 0), 1, &why, self.theme.faint());
            return;
        }
        let picked =
            rows.iter().position(|row| state.picked.is_some() && row.key() == state.picked);
        let selected = picked.unwrap_or(state.selected).min(rows.len() - 1);
        let lines = usize::from(body.height);
        let first = (selected + 1).saturating_sub(lines);
        for (number, one) in rows.iter().enumerate().skip(first).take(lines) {
            let line = row(body, (number - first) as u16);
            let whole = Rect { x: area.x + area.width - sides.0, width: sides.0, ..line };
            self.hits.push((whole, Target::Row(place, number)));
            let is_selected = number == selected && place == model.focus;
            if let Some(seen) = model.source(one.source).filter(|_| machines > 0) {
                let label = Escaped(&seen.label).to_string();
                let (label, _) = clip(&label, usize::from(machines).saturating_sub(1));
                self.text(Rect { width: machines, ..whole }, 0, label, self.theme.faint());
            }
            self.table_row(pane, one, line, (numbers, names), &columns, is_selected);
        }
        // The cells are too narrow for the reason why a value is missing.
        let cells = rows.get(selected).filter(|_| place == model.focus).map(|row| &row.cells);
        let missing = |value: &&Value| value.text.is_none() && value.value.is_err();
        let missing = cells.and_then(|cells| cells.iter().flatten().copied().find(missing));
        let mut more = String::new();
        if let Some(Err(why)) = missing.map(|value| &value.value) {
            more = format!(" -: {} ", Escaped(&why.to_string()));
        }
        if first + lines < rows.len() {
            more.push_str(&format!(" {} more ", rows.len() - first - lines));
        }
        if !more.is_empty() {
            let room = usize::from(area.width).saturating_sub(width(&pane.title) + 6);
            let (more, _) = clip(&more, room);
            self.text_to(row(area, 0), area.width, "", Style::new());
            let title = Rect { y: area.y.saturating_sub(1), height: 1, ..area };
            self.text_to(title, area.width.saturating_sub(2), more, self.theme.faint());
        }
    }

    fn table_head(
        &mut self,
        place: usize,
        pane: &Pane,
        line: Rect,
        (numbers, names): (u16, u16),
        columns: &[Column],
    ) {
        if numbers > 0 {
            self.text_to(line, numbers - 1, "PID", self.theme.title());
        }
        let title = if pane.is_tree { "Tree" } else { "Instance" };
        self.text(line, numbers, &format!("{title}{}", arrow(pane, None)), self.theme.title());
        let instance = Rect { width: numbers + names, ..line };
        self.hits.push((instance, Target::Column(place, None)));
        for (number, column) in columns.iter().enumerate() {
            let (title, _) = clip(&column.title, usize::from(column.width) - 1);
            self.text_to(line, column.start + column.width, title, self.theme.title());
            let cell = Rect { x: line.x + column.start, width: column.width, ..line };
            self.hits.push((cell, Target::Column(place, Some(number))));
        }
    }

    fn table_row(
        &mut self,
        pane: &Pane,
        one: &Row<'_>,
        line: Rect,
        (numbers, names): (u16, u16),
        columns: &[Column],
        is_selected: bool,
    ) {
        let style = if is_selected { self.theme.selected() } else { Style::new() };
        if is_selected {
            self.buffer.set_style(line, style);
        }
        if let Some(id) = one.process.filter(|_| numbers > 0) {
            self.text_to(line, numbers - 1, &id.to_string(), style);
        }
        let indent = (2 * one.depth).min(usize::from(names) / 2);
        let (name, _) = clip(&one.name, usize::from(names).saturating_sub(indent + 1));
        let name_style = if one.is_sum && !is_selected { self.theme.faint() } else { style };
        self.text(line, numbers + indent as u16, name, name_style);
        for ((cell, counter), column) in one.cells.iter().zip(&pane.counters).zip(columns) {
            if let Some(value) = cell {
                self.cell(value, counter, line, column, is_selected);
            }
        }
    }

    fn cell(
        &mut self,
        value: &Value,
        counter: &Counter,
        line: Rect,
        column: &Column,
        is_selected: bool,
    ) {
        let number = value.number();
        let is_above = number.zip(counter.threshold).is_some_and(|(number, most)| number > most);
        let style = match (is_selected, is_above) {
            (true, _) => self.theme.selected(),
            (_, true) => self.theme.attention(),
            _ => Style::new(),
        };
        let text = match (number, &value.text) {
            (Some(number), _) => shown(&value.what.quantity, number),
            (None, Some(text)) => Escaped(text).to_string(),
            (None, None) => "-".to_string(),
        };
        let end = column.start + column.width;
        let (text, _) = clip(&text, usize::from(column.width) - 1);
        // A percentage has a bar in the space before it.
        if let Some(part) = number.filter(|_| value.what.quantity.unit == "%") {
            let room = column.width.saturating_sub(width(text) as u16 + 2);
            let bar = bar(room, part / 100.0);
            self.text(
                line,
                column.start + 1,
                &bar,
                if is_selected { style } else { self.theme.line(counter.colour) },
            );
        }
        let style = if number.is_none() && !is_selected { self.theme.faint() } else { style };
        self.text_to(line, end, text, style);
    }

    /// The text that a table without rows shows: why it has none.
    fn why_empty(&self, model: &Model, pane: &Pane) -> String {
        let shown: Vec<&perfhive_view::Sample> =
            (0..model.sources.len()).filter_map(|source| model.shown(source)).collect();
        let mut sources = model.sources.iter();
        let is_past = sources.clone().any(|one| one.looked.is_some());
        let is_elsewhere =
            sources.any(|one| !one.past.times().is_empty() && model.place_in(&one.past).is_none());
        let of_pane = |value: &&Value| pane.counters.iter().any(|one| one.path == *value.path);
        let mut problems = pane.counters.iter().filter_map(|one| model.problems.get(&one.path));
        if let Some(problem) = problems.next() {
            return Escaped(problem).to_string();
        }
        match shown.iter().flat_map(|one| &one.values).find(of_pane).map(|value| &value.value) {
            Some(Err(NoValue::NoSuchInstance)) => "there is no instance of it now".to_string(),
            Some(Err(why)) => Escaped(&why.to_string()).to_string(),
            Some(Ok(_)) => "no row has this text".to_string(),
            None if is_elsewhere => "no sample at this time".to_string(),
            None if shown.iter().all(|one| one.values.is_empty()) && is_past => {
                "the samples of this time are no longer kept for tables".to_string()
            }
            None if is_past => "not sampled at this time".to_string(),
            None => model.waiting().to_string(),
        }
    }
}

/// The title of a column: the counter's name in the shown language or, where it is unknown or the
/// path has a wildcard in the place of the counter, the name or pattern in the path.
fn title_of(model: &Model, counter: &Counter) -> String {
    let mut values = model.sources.iter().flat_map(|one| &one.latest.values);
    let value = values.find(|value| !counter.has_several && *value.path == *counter.path);
    let name = value.map(|value| value.what.counter.clone());
    let name = name.or_else(|| {
        let path: perfhive::CounterPath = counter.path.parse().ok()?;
        Some(path.counter.to_string())
    });
    Escaped(&name.unwrap_or_else(|| counter.path.clone())).to_string()
}
