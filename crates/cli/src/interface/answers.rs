//! Handles the answers of sources: what they have, and what they lack.

use super::layout::View;
use super::model::{Effect, Mode, Model};
use super::tree::Tree;
use crate::text::escape::Escaped;
use std::sync::Arc;

impl Model {
    /// Whether the focused pane has a counter with this path.
    pub(super) fn has_path(&self, path: &str) -> bool {
        let pane = self.view.panes.get(self.focus);
        pane.is_some_and(|pane| pane.counters.iter().any(|counter| counter.path == path))
    }

    /// Notes that a source does not have a path. `why` is the reason; `None` if the path is about another machine. Once
    /// all sources lack the path, it is handled by `problem`.
    pub(super) fn refuse(&mut self, source: usize, path: String, why: Option<String>) {
        let refused = self.refused.entry(path.clone()).or_default();
        refused.insert(source, why.clone());
        if refused.len() >= self.sources.len() {
            let why = refused.values().flatten().next().cloned();
            let why = why.unwrap_or_else(|| {
                let all: Vec<&str> = self.sources.iter().map(|one| one.label.as_str()).collect();
                format!("no source is the machine of {path}: there are {}", all.join(", "))
            });
            self.problem(path, why);
        } else if let Some(why) = why.filter(|_| self.is_told(&path)) {
            let label = self.source(source).map_or("", |one| &one.label);
            self.message = Escaped(&format!("{label}: {why}")).to_string();
        }
    }

    /// Takes the tree (the objects and counters) of a source. With several sources the shown tree is made of all their
    /// trees, as [`Tree::of_several`] does.
    pub(super) fn take_tree(&mut self, source: usize, tree: Arc<Tree>) {
        if let Some(seen) = self.sources.get_mut(source) {
            seen.tree = Some(Arc::clone(&tree));
        }
        if !self.has_several() {
            self.tree = Some(tree);
            return self.complete();
        }
        let all = self.sources.iter().enumerate();
        let all = all.filter_map(|(source, one)| Some((source, &*one.label, one.tree.as_deref()?)));
        self.tree = Some(Arc::new(Tree::of_several(all)));
        self.complete();
        let shown = match &mut self.mode {
            Mode::Choose(chooser) => Some(chooser),
            _ => self.behind.as_mut(),
        };
        if let Some(chooser) = shown {
            // The places of objects are others now.
            chooser.open.clear();
            chooser.instances = None;
        }
    }

    /// Asks the sources for all paths again, including those that were taken out of the shown built-in view because
    /// no source had them. Earlier built-in views are forgotten, since they may lack paths for the same reason.
    pub(super) fn choose_anew(&mut self, effects: &mut Vec<Effect>) {
        let whole = View::built_in(&self.view.name).filter(|_| self.view.is_built_in);
        if let Some(whole) = whole.filter(|whole| whole.paths() != self.view.paths()) {
            self.view.panes = whole.panes;
            self.states.clear();
            self.fit_states();
        }
        self.problems.clear();
        self.message.clear();
        // The built-in views that were left may have further counters, too: they are forgotten.
        self.left.retain(|one| !one.view.is_built_in);
        effects.push(Effect::Paths(self.paths()));
    }

    /// Whether the user is told that a source lacks a path: not if the path belongs to a built-in view that is
    /// shown, or only to views that were shown before.
    fn is_told(&self, path: &str) -> bool {
        match self.view.has(path) {
            true => !self.view.is_built_in,
            false => !self.left.iter().any(|one| one.view.has(path)),
        }
    }

    /// Handles a path that no source has: takes it out of the view if the view is a built-in one,
    /// and otherwise notes the reason.
    fn problem(&mut self, path: String, why: String) {
        if self.view.is_built_in && self.view.has(&path) {
            for pane in &mut self.view.panes {
                let sorted =
                    pane.sort.and_then(|sort| pane.counters.get(sort)?.path.clone().into());
                pane.counters.retain(|counter| counter.path != path);
                pane.sort = pane.sort.map(|_| {
                    let place =
                        pane.counters.iter().position(|one| Some(&one.path) == sorted.as_ref());
                    place.unwrap_or(0)
                });
            }
            if self.view.panes.iter().any(|pane| !pane.counters.is_empty()) {
                self.view.panes.retain(|pane| !pane.counters.is_empty());
                self.states.clear();
                self.fit_states();
            } else {
                self.message = format!("the source has none of the counters of {}", self.view.name);
            }
            return;
        }
        let is_told = self.is_told(&path);
        if is_told {
            self.message = Escaped(&why).to_string();
        }
        if !is_told || self.view.has(&path) {
            self.problems.insert(path, why);
        }
    }
}
