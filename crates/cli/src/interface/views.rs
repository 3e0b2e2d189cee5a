//! The views that were shown before. Live sources go on collecting for them, so that their charts have no gap on
//! return.

use super::layout::{Kind, View};
use super::model::{Effect, Model, PaneState};
use std::collections::HashSet;

/// The most earlier views that are kept.
const MOST_LEFT: usize = 8;

/// A view that was shown before, with the states of its panes.
pub(super) struct LeftView {
    pub(super) view: View,
    states: Vec<PaneState>,
    /// Whether live sources are not sampled for the view until it is shown again.
    pub(super) rests: bool,
}

/// The views that were shown before, the latest last.
pub(super) type Left = Vec<LeftView>;

/// The shown view, and the earlier views for which sources are still sampled.
pub(super) fn all<'a>(view: &'a View, left: &'a Left) -> Vec<&'a View> {
    let left = left.iter().filter(|one| !one.rests).map(|one| &one.view);
    std::iter::once(view).chain(left).collect()
}

/// Whether a pane of the views draws a path over time, so that its samples must be kept. Tables show one sample only.
pub(super) fn is_drawn(views: &[&View], path: &str) -> bool {
    let panes = views.iter().flat_map(|view| &view.panes).filter(|pane| pane.kind != Kind::Table);
    panes.flat_map(|pane| &pane.counters).any(|counter| counter.path == path)
}

impl Model {
    /// Shows a view. Charts show the length of time of the view if a source is live, otherwise all of the
    /// recordings. The previous view is kept, unless it has the same name.
    pub(crate) fn show(&mut self, view: View) {
        self.seconds = view.seconds.filter(|_| self.is_live());
        self.put(view, Vec::new());
    }

    /// Shows the view with this name at the shown time, as it was when it was last shown. A built-in view is shown as
    /// it is built in if it is the shown view, or if counters were taken out of it. `false` if there is no such view.
    pub(super) fn show_named(&mut self, name: &str, effects: &mut Vec<Effect>) -> bool {
        let whole = View::built_in(name);
        let place = self.left.iter().position(|one| one.view.name == name);
        let left =
            place.map(|place| self.left.remove(place)).filter(|LeftView { view, .. }| {
                let is_whole = |whole: &View| whole.paths() == view.paths();
                !view.is_built_in || whole.as_ref().is_none_or(is_whole)
            });
        let left = left.map(|LeftView { view, states, .. }| (view, states));
        let Some((view, states)) = left.or(whole.map(|view| (view, Vec::new()))) else {
            return self.view.name == name;
        };
        self.put(view, states);
        effects.push(Effect::Paths(self.paths()));
        true
    }

    /// Shows a view with these states of its panes; the first pane has the focus. The previous view is kept, unless
    /// it has the same name. At most [`MOST_LEFT`] earlier views are kept.
    fn put(&mut self, view: View, states: Vec<PaneState>) {
        let before = std::mem::replace(&mut self.view, view);
        let states = std::mem::replace(&mut self.states, states);
        self.left.push(LeftView { view: before, states, rests: false });
        self.left.retain(|one| one.view.name != self.view.name);
        if self.left.len() > MOST_LEFT {
            self.left.remove(0);
        }
        (self.focus, self.is_full) = (0, false);
        let shown = self.view.paths();
        self.problems.retain(|path, _| !shown.contains(path));
        self.fit_states();
        self.drop_lines();
    }

    /// The paths to collect: those of the shown view and, with live sources, those of earlier views that can be read.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = self.view.paths();
        let mut known: HashSet<String> = paths.iter().cloned().collect();
        let left = self.left.iter().filter(|one| !one.rests && self.is_live());
        let left = left.flat_map(|one| one.view.paths());
        let left = left.filter(|path| !self.problems.contains_key(path));
        paths.extend(left.filter(|path| known.insert(path.clone())));
        paths
    }

    /// Drops the lines of paths that no chart draws, neither of the shown view nor of an earlier view
    /// that is still sampled.
    pub(crate) fn drop_lines(&mut self) {
        let views = all(&self.view, &self.left);
        for one in &mut self.sources {
            one.past.keep(|line| is_drawn(&views, &line.path));
        }
    }

    /// Stops sampling for the oldest earlier view that has lines of its own, if the shown view needs their room.
    pub(super) fn make_room(&mut self, effects: &mut Vec<Effect>) {
        let live = || self.sources.iter().filter(|one| one.is_live);
        if !live().any(|one| one.past.leaves_out(|path| self.view.has(path))) {
            return;
        }
        let gives = |left: &LeftView| {
            let is_own = |path: &str| left.view.has(path) && !self.view.has(path);
            live().any(|one| one.past.lines().iter().any(|line| is_own(&line.path)))
        };
        let place = self.left.iter().position(|left| !left.rests && gives(left));
        if let Some(left) = place.and_then(|place| self.left.get_mut(place)) {
            left.rests = true;
            self.drop_lines();
            effects.push(Effect::Paths(self.paths()));
        }
    }
}
