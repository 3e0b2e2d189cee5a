//! The places of panes on the screen, and their changes by the user.
//!
//! Panes stand in rows. As long as no pane has a row, rows are made from the kinds of panes and the size of the screen.
//! The first change by the user gives each pane the row and the share of the screen that it has.

use super::layout::{Kind, MOST_PANES, Pane, Share, View};
use super::model::{Effect, Model};
use ratatui_core::layout::Rect;

/// The width of the narrowest pane that is drawn.
pub(super) const LEAST_WIDTH: u16 = 12;
/// The height of the lowest pane that is drawn.
pub(super) const LEAST_HEIGHT: u16 = 3;
/// The number of cells by which a key moves an edge.
const STEP: i32 = 2;

/// An edge between panes, which can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// The upper edge of the row in which this pane is.
    Top(usize),
    /// The left edge of this pane.
    Left(usize),
}

/// The rows of a view on a screen of this width: the panes of each, from left to right.
fn rows(view: &View, width: u16) -> Vec<Vec<usize>> {
    let panes = || view.panes.iter().enumerate();
    let mut rows: Vec<Vec<usize>> = Vec::new();
    if let Some(mut numbers) = view.rows() {
        numbers.sort_unstable();
        numbers.dedup();
        let of =
            |row| panes().filter(move |(_, pane)| pane.share.is_some_and(|one| one.row == row));
        let most = usize::from(width / LEAST_WIDTH).max(1);
        for row in numbers {
            let places: Vec<usize> = of(row).map(|(place, _)| place).collect();
            // A narrow screen breaks a row with many panes.
            rows.extend(places.chunks(most).map(<[usize]>::to_vec));
        }
        return rows;
    }
    let of =
        |is_table: bool| panes().filter(move |(_, pane)| (pane.kind == Kind::Table) == is_table);
    let charts: Vec<usize> = of(false).map(|(place, _)| place).collect();
    let tables: Vec<usize> = of(true).map(|(place, _)| place).collect();
    // Charts below a timeline have its time axis, and so its width.
    let has_timeline = panes().any(|(_, pane)| pane.kind == Kind::Timeline);
    let per_row = if charts.len() > 1 && width >= 60 && !has_timeline { 2 } else { 1 };
    // If there are few tables, each is as wide as the screen.
    let beside = if tables.len() > 2 && width >= 120 { 2 } else { 1 };
    let chunks = charts.chunks(per_row).chain(tables.chunks(beside));
    chunks.map(<[usize]>::to_vec).collect()
}

/// The beginnings and sizes of parts of so many cells: each has the least size, and its share of
/// the rest (an equal one if all shares are 0). If there are too few cells, the last parts are smaller.
fn parts(cells: u16, least: u16, shares: &[u16]) -> Vec<(u16, u16)> {
    let count = shares.len() as u64;
    let rest = u64::from(cells).saturating_sub(u64::from(least) * count);
    let all: u64 = shares.iter().map(|share| u64::from(*share)).sum();
    let mut before = 0;
    let mut begin = 0;
    let mut parts = Vec::with_capacity(shares.len());
    for (number, share) in (1..).zip(shares) {
        before += u64::from(*share);
        let (part, whole) = if all == 0 { (number, count) } else { (before, all) };
        let end = u64::from(least) * number + rest * part / whole;
        let end = end.min(u64::from(cells)) as u16;
        parts.push((begin, end - begin));
        begin = end;
    }
    parts
}

/// The panes of a view with their places in an area, from above and from the left; only the focused
/// pane if it is shown on the full screen. If not all rows have room, the shown ones include that
/// of the focused pane.
pub(super) fn places(model: &Model, area: Rect) -> Vec<(usize, Rect)> {
    let view = &model.view;
    if model.is_full || view.panes.len() <= 1 {
        return vec![(model.focus, area)];
    }
    let rows = rows(view, area.width);
    let fit = usize::from(area.height / LEAST_HEIGHT).max(1);
    let focused = rows.iter().position(|row| row.contains(&model.focus)).unwrap_or(0);
    let first = (focused + 1).saturating_sub(fit);
    let shown: Vec<Vec<usize>> = rows.into_iter().skip(first).take(fit).collect();
    let share = |place: &usize| view.panes.get(*place).and_then(|pane| pane.share);
    let height = |row: &Vec<usize>| row.iter().filter_map(share).map(|one| one.height).max();
    let heights: Vec<u16> = shown.iter().map(|row| height(row).unwrap_or(1)).collect();
    let mut all = Vec::new();
    for (row, (top, height)) in shown.iter().zip(parts(area.height, LEAST_HEIGHT, &heights)) {
        let widths: Vec<u16> =
            row.iter().map(|place| share(place).map_or(1, |one| one.width)).collect();
        for (place, (left, width)) in row.iter().zip(parts(area.width, LEAST_WIDTH, &widths)) {
            all.push((*place, Rect { x: area.x + left, y: area.y + top, width, height }));
        }
    }
    all
}

impl Model {
    /// The area of the panes on the screen.
    fn pane_area(&self) -> Rect {
        Rect::new(0, 1, self.size.0, self.size.1.saturating_sub(2))
    }

    /// Gives each pane the row that it has on the screen, and each pane that is shown, as its share, the cells that it
    /// has beyond the least size; the view is no longer a built-in one.
    fn fix_places(&mut self) {
        let area = self.pane_area();
        for (number, row) in (1..).zip(rows(&self.view, area.width)) {
            for place in row {
                if let Some(pane) = self.view.panes.get_mut(place) {
                    let (width, height) = pane.share.map_or((1, 1), |one| (one.width, one.height));
                    pane.share = Some(Share { row: number, width, height });
                }
            }
        }
        let is_full = std::mem::take(&mut self.is_full);
        for (place, at) in places(self, area) {
            if let Some(share) = self.view.panes.get_mut(place).and_then(|one| one.share.as_mut()) {
                share.width = at.width.saturating_sub(LEAST_WIDTH);
                share.height = at.height.saturating_sub(LEAST_HEIGHT);
            }
        }
        self.is_full = is_full;
        self.view.is_built_in = false;
    }

    /// Adds a pane: below all others in a row of its own, if they have rows; otherwise its place follows from its
    /// kind.
    pub(super) fn push_pane(&mut self, pane: Pane) {
        let share = self.view.row_below();
        self.view.panes.push(Pane { share, ..pane });
        self.fit_states();
    }

    /// Divides the focused pane. The new pane takes half of its width at its right, or, with `below`, half of the
    /// height of its row in a row of its own below, and gets the focus. In a view with [`MOST_PANES`] panes only a
    /// message is shown.
    pub(super) fn split(&mut self, below: bool) {
        if self.view.panes.len() >= MOST_PANES {
            self.message = format!("a view has at most {MOST_PANES} panes");
            return;
        }
        self.fix_places();
        let focus = self.focus;
        let Some(mut share) = self.view.panes.get(focus).and_then(|pane| pane.share) else {
            self.push_pane(Pane::default());
            return;
        };
        // Both parts together have the cells of the whole, and each has its least size.
        let halves = |share: u16, least: u16| {
            let rest = share.saturating_sub(least);
            (rest - rest / 2, rest / 2)
        };
        let (width, new_width) = halves(share.width, LEAST_WIDTH);
        let (height, new_height) = halves(share.height, LEAST_HEIGHT);
        for (place, pane) in self.view.panes.iter_mut().enumerate() {
            let Some(one) = pane.share.as_mut() else { continue };
            if below && one.row > share.row {
                one.row += 1;
            } else if below && one.row == share.row {
                one.height = height;
            } else if place == focus {
                one.width = width;
            }
        }
        if below {
            share = Share { row: share.row + 1, width: 1, height: new_height };
        } else {
            share.width = new_width;
        }
        let place = (focus + 1).min(self.view.panes.len());
        self.view.panes.insert(place, Pane { share: Some(share), ..Pane::default() });
        self.states.insert(place.min(self.states.len()), super::model::PaneState::default());
        self.focus = place;
        self.is_full = false;
        self.fit_states();
        self.message = "a adds counters to this pane".to_string();
    }

    /// Closes the focused pane. If it is the last one, it stays, and a message is shown.
    pub(super) fn close(&mut self, effects: &mut Vec<Effect>) {
        if self.view.panes.len() <= 1 {
            self.message = "this is the last pane; q ends".to_string();
            return;
        }
        self.take_pane();
        self.changed(effects);
    }

    /// Removes the focused pane. A neighbour gets its place if panes have rows, and the pane before it gets the focus.
    pub(super) fn take_pane(&mut self) {
        if self.view.rows().is_some() {
            self.fix_places();
        }
        if self.focus < self.view.panes.len() {
            let gone = self.view.panes.remove(self.focus);
            if let Some(share) = gone.share {
                self.give_place(share);
            }
        }
        if self.focus < self.states.len() {
            self.states.remove(self.focus);
        }
        self.focus = self.focus.saturating_sub(1);
        self.is_full = false;
        self.fit_states();
    }

    /// Gives the place of a pane that is gone to its neighbour in the row, or, if it was alone, to
    /// the row above (to the first row if there is none above).
    fn give_place(&mut self, gone: Share) {
        let shares = || self.view.panes.iter().filter_map(|pane| pane.share);
        if shares().any(|one| one.row == gone.row) {
            let is_before = |(place, pane): &(usize, &Pane)| {
                *place < self.focus && pane.share.is_some_and(|one| one.row == gone.row)
            };
            let before = self.view.panes.iter().enumerate().rfind(is_before);
            let place = before.map_or(self.focus, |(place, _)| place);
            let share = self.view.panes.get_mut(place).and_then(|pane| pane.share.as_mut());
            if let Some(share) = share.filter(|one| one.row == gone.row) {
                share.width = share.width.saturating_add(gone.width).saturating_add(LEAST_WIDTH);
            }
            return;
        }
        let above = shares().map(|one| one.row).filter(|row| *row < gone.row).max();
        let below = shares().map(|one| one.row).min();
        for share in self.view.panes.iter_mut().filter_map(|pane| pane.share.as_mut()) {
            if Some(share.row) == above.or(below) {
                share.height =
                    share.height.saturating_add(gone.height).saturating_add(LEAST_HEIGHT);
            }
        }
    }

    /// Makes the focused pane larger (`grows`) or smaller by a step, in height if `vertical`, otherwise in width,
    /// at the cost of the pane or row next to it.
    pub(super) fn resize(&mut self, vertical: bool, grows: bool) {
        let area = self.pane_area();
        let places = places(self, area);
        let Some((_, own)) = places.iter().find(|(place, _)| *place == self.focus) else { return };
        // The edge behind the pane is moved; for the last pane, the edge before it.
        let behind = places.iter().find(|(_, at)| match vertical {
            true => at.y == own.y + own.height,
            false => at.y == own.y && at.x == own.x + own.width,
        });
        let step = if grows { STEP } else { -STEP };
        let edge = |place: usize| if vertical { Edge::Top(place) } else { Edge::Left(place) };
        match behind {
            Some((place, _)) => self.move_edge(edge(*place), step),
            None => self.move_edge(edge(self.focus), -step),
        };
    }

    /// Moves an edge by so many cells, to the right or down, or to the left or up if `by` is negative, as far as
    /// the panes beside it allow. Returns how far it was moved.
    pub(super) fn move_edge(&mut self, edge: Edge, by: i32) -> i32 {
        self.fix_places();
        let area = self.pane_area();
        let places = places(self, area);
        let (Edge::Top(place) | Edge::Left(place)) = edge;
        let Some((_, own)) = places.iter().find(|(known, _)| *known == place) else { return 0 };
        let is_before = |at: &Rect| match edge {
            Edge::Top(_) => at.y + at.height == own.y,
            Edge::Left(_) => at.y == own.y && at.x + at.width == own.x,
        };
        let is_behind = |at: &Rect| match edge {
            Edge::Top(_) => at.y == own.y,
            Edge::Left(_) => at == own,
        };
        let least = |at: &Rect| match edge {
            Edge::Top(_) => i32::from(at.height) - i32::from(LEAST_HEIGHT),
            Edge::Left(_) => i32::from(at.width) - i32::from(LEAST_WIDTH),
        };
        let Some((_, before)) = places.iter().find(|(_, at)| is_before(at)) else { return 0 };
        let by = by.clamp(-least(before).max(0), least(own).max(0));
        for (place, at) in &places {
            let by = match (is_before(at), is_behind(at)) {
                (true, _) => by,
                (_, true) => -by,
                _ => continue,
            };
            let share = self.view.panes.get_mut(*place).and_then(|pane| pane.share.as_mut());
            let Some(share) = share else { continue };
            let size =
                if matches!(edge, Edge::Top(_)) { &mut share.height } else { &mut share.width };
            *size = u16::try_from(i32::from(*size) + by).unwrap_or(0);
        }
        by
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn parts_fill_the_cells_by_their_shares_above_the_least_size() {
        assert_eq!(parts(22, 3, &[1, 1, 1]), [(0, 7), (7, 7), (14, 8)]);
        assert_eq!(parts(26, 3, &[0, 20]), [(0, 3), (3, 23)]);
        assert_eq!(parts(10, 3, &[0, 0]), [(0, 5), (5, 5)]);
        // Less room than the least sizes take.
        assert_eq!(parts(5, 3, &[9, 1]), [(0, 3), (3, 2)]);
    }
}
