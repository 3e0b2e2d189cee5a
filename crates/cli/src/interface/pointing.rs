//! Handles the mouse.

use super::layout::Kind;
use super::model::{Effect, Mode, Model, Target};
use super::panes::Edge;
use super::time::unwrapped;
use ratatui_core::layout::Position;
use ratatui_crossterm::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

impl Model {
    pub(super) fn mouse(&mut self, mouse: MouseEvent, effects: &mut Vec<Effect>) {
        let at = Position::new(mouse.column, mouse.row);
        let under = || self.hits.iter().rev().filter(|(area, _)| area.contains(at));
        let edge = under().find_map(|(_, target)| match target {
            Target::Edge(edge) => Some(*edge),
            _ => None,
        });
        let mut hits = under().filter(|(_, target)| !matches!(target, Target::Edge(_)));
        let hit = hits.next().map(|(area, target)| (*area, target.clone()));
        let time = |model: &Self| {
            let (area, Target::Plot(pane)) = hit.as_ref()? else { return None };
            let part = f64::from(mouse.column - area.x) / f64::from(area.width.max(2) - 1);
            let is_chart = model.view.panes.get(*pane).is_some_and(|one| one.kind == Kind::Chart);
            let window = model.window()?;
            let bar = model.bar(window).filter(|_| is_chart);
            Some(window.at(unwrapped(bar, part)))
        };
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => match &self.mode {
                Mode::Normal => {
                    self.edge = edge.map(|edge| (edge, line_of(edge, mouse)));
                    self.drag = time(self).filter(|_| edge.is_none());
                    self.cursor = self.drag.or(self.cursor);
                    if let Some((_, target)) = hit {
                        self.click(target, effects);
                    }
                }
                Mode::Choose(_) => {
                    if let Some((_, Target::Choice(place))) = hit
                        && let Mode::Choose(chooser) = &mut self.mode
                    {
                        let again = chooser.selected == place;
                        chooser.selected = place;
                        if again {
                            self.choose_key(KeyEvent::from(KeyCode::Enter), effects);
                        }
                    }
                }
                Mode::Help(_) | Mode::Text(..) => self.close_text(),
                _ => {}
            },
            MouseEventKind::Drag(MouseButton::Left) if self.edge.is_some() => {
                if let Some((edge, from)) = self.edge {
                    let by = i32::from(line_of(edge, mouse)) - i32::from(from);
                    let moved = self.move_edge(edge, by);
                    self.edge =
                        Some((edge, u16::try_from(i32::from(from) + moved).unwrap_or(from)));
                }
            }
            MouseEventKind::Up(MouseButton::Left) if self.edge.take().is_some() => {}
            MouseEventKind::Drag(MouseButton::Left) => {
                self.cursor = time(self).filter(|_| self.drag.is_some()).or(self.cursor);
            }
            MouseEventKind::Up(MouseButton::Left) => {
                if let (Some(from), Some(to)) = (self.drag.take(), time(self))
                    && from != to
                {
                    self.set_span(from, to);
                }
            }
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
                let up = mouse.kind == MouseEventKind::ScrollUp;
                match (&self.mode, hit) {
                    (Mode::Normal, Some((_, Target::Plot(pane)))) => {
                        self.focus = pane;
                        if mouse.modifiers.contains(KeyModifiers::CONTROL) {
                            self.zoom(if up { 0.5 } else { 2.0 });
                        } else {
                            let step = self.window().map_or(0, |window| window.width() / 8);
                            self.scroll(if up { -step } else { step });
                        }
                    }
                    (Mode::Normal, Some((_, Target::Row(pane, _) | Target::Pane(pane)))) => {
                        self.focus = pane.min(self.view.panes.len().saturating_sub(1));
                        self.select(if up { -1 } else { 1 });
                    }
                    (Mode::Normal, _) => {}
                    _ => {
                        let code = if up { KeyCode::Up } else { KeyCode::Down };
                        self.key(KeyEvent::from(code), effects);
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn click(&mut self, target: Target, effects: &mut Vec<Effect>) {
        self.message.clear();
        match target {
            Target::Pane(pane) | Target::Plot(pane) => self.focus = pane,
            Target::Entry(pane, place) => {
                self.focus = pane;
                let entries = self.entries(pane);
                let is_other = self.selected(pane, &entries) != place;
                let line = entries.get(place).and_then(|entry| entry.key);
                if let Some(state) = self.states.get_mut(pane) {
                    state.is_highlighted = is_other || !state.is_highlighted;
                    (state.selected, state.line) = (place, line);
                }
            }
            Target::Column(pane, column) => {
                self.focus = pane;
                if let Some(pane) = self.view.panes.get_mut(pane) {
                    pane.is_reversed = pane.sort == column && !pane.is_reversed;
                    pane.sort = column;
                }
            }
            Target::Row(pane, place) => {
                self.focus = pane;
                let picked = self.rows(pane).get(place).and_then(super::model::Row::key);
                if let Some(state) = self.states.get_mut(pane) {
                    (state.selected, state.picked) = (place, picked);
                }
            }
            Target::Choice(_) | Target::Edge(_) => {}
            Target::Action(action) => self.act(action, effects),
        }
        self.fit_states();
    }
}

/// The line of the mouse for an upper edge, and its column for a left edge: its place in the direction in which the
/// edge moves.
fn line_of(edge: Edge, mouse: MouseEvent) -> u16 {
    match edge {
        Edge::Top(_) => mouse.row,
        Edge::Left(_) => mouse.column,
    }
}
