//! Counter paths that are pasted as text, and the message about the result for all of them.

use super::layout::MOST_COUNTERS;
use super::model::{Effect, Event, Mode, Model, Prompt};
use super::tree::Chooser;
use super::typing::{LINE_ENDS, room};
use perfhive_view::typed_path;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent};
use std::collections::HashSet;

/// The paths that were pasted together.
#[derive(Clone, Debug, Default)]
pub(super) struct Pasted {
    /// The paths that have no answer yet.
    waiting: HashSet<String>,
    all: usize,
    added: usize,
    /// The number of pasted paths that cannot be added.
    refused: usize,
    /// The reason why the first refused path cannot be added.
    why: String,
}

impl Pasted {
    /// Counts paths that cannot be added; of all reasons the first is kept.
    fn refuse(&mut self, count: usize, why: &str) {
        if self.refused == 0 {
            self.why = why.to_string();
        }
        self.refused += count;
    }

    /// How many of the pasted paths are in the pane, and why the first of the others is not.
    fn message(&self) -> String {
        let mut text = format!("{} of {} pasted counters are in this pane", self.added, self.all);
        match self.refused {
            0 => {}
            1 => text.push_str(&format!("; one is not: {}", self.why)),
            more => text.push_str(&format!("; {more} are not, the first: {}", self.why)),
        }
        text
    }
}

impl Model {
    /// Handles a pasted text. While the user types a line, the first line of the text is typed there. In
    /// [`Mode::Normal`] each line is a path to add, up to [`MOST_COUNTERS`]; blank lines and those that begin with `#`
    /// or `;` are left out. In other modes the text is ignored.
    pub(super) fn paste(&mut self, text: &str, effects: &mut Vec<Effect>) {
        match &mut self.mode {
            Mode::Prompt(Prompt { text: typed, .. })
            | Mode::Choose(Chooser { search: typed, .. }) => {
                let line = text.split(LINE_ENDS).next().unwrap_or_default();
                for c in line.chars().filter(|c| !c.is_control()).take(room(typed)) {
                    self.key(KeyEvent::from(KeyCode::Char(c)), effects);
                }
            }
            Mode::Normal => {
                // The format is that of typeperf's files: a path a line, possibly in quotes.
                let lines = text.split(LINE_ENDS).map(|line| line.trim().trim_matches('"'));
                let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
                self.pasted = Pasted::default();
                let mut beyond = 0;
                for path in lines.map(|line| typed_path(line).into_owned()) {
                    if self.pasted.waiting.len() >= MOST_COUNTERS {
                        beyond += 1;
                    } else if self.pasted.waiting.insert(path.clone()) {
                        effects.push(Effect::Try(path));
                    }
                }
                self.pasted.all = self.pasted.waiting.len() + beyond;
                if beyond > 0 {
                    let why = format!("a pane has at most {MOST_COUNTERS} counters");
                    self.pasted.refuse(beyond, &why);
                }
            }
            _ => {}
        }
    }

    /// The path that an event answers, if it is one of several that were pasted; `None` for any other event.
    pub(super) fn pasted_path(&self, event: &Event) -> Option<String> {
        let (Event::Ready(path)
        | Event::Costly { path, .. }
        | Event::Problem { path, .. }
        | Event::Elsewhere(path)) = event
        else {
            return None;
        };
        let is_one = self.pasted.all > 1 && self.pasted.waiting.contains(path);
        is_one.then(|| path.clone())
    }

    /// Shows a message about the results for the pasted paths so far; `path` has just been answered by a source. Does
    /// nothing while other sources may still have the path.
    pub(super) fn tell_pasted(&mut self, path: &str) {
        let is_asked = self.questions.iter().any(|asked| asked.paths.iter().any(|one| one == path));
        let refused = self.refused.get(path).map_or(0, |sources| sources.len());
        if self.has_path(path) {
            self.pasted.added += 1;
        } else if is_asked {
            self.pasted.all -= 1;
        } else if refused == 0 || refused >= self.sources.len() {
            let why = std::mem::take(&mut self.message);
            self.pasted.refuse(1, &why);
        } else {
            return;
        }
        self.pasted.waiting.remove(path);
        self.message = self.pasted.message();
    }
}
