//! Handles keys: actions, typed lines, the list of counters.

use super::keys::action_of;
use super::model::{Effect, Mode, Model};
use super::tree::{Choice, Chooser};
use perfhive::{CounterPath, InstancePattern};
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The most characters of a text that is typed or pasted into a line.
const MOST_TYPED: usize = 1000;
/// The characters that end a pasted line: terminals send a carriage return, as the key Enter does.
pub(super) const LINE_ENDS: [char; 2] = ['\n', '\r'];

impl Model {
    pub(super) fn key(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            effects.push(Effect::Quit);
            return;
        }
        if key.modifiers.contains(KeyModifiers::ALT) {
            // Terminals report Escape followed at once by a key in this way.
            self.key(KeyEvent::from(KeyCode::Esc), effects);
            let modifiers = key.modifiers - KeyModifiers::ALT;
            return self.key(KeyEvent { modifiers, ..key }, effects);
        }
        match &mut self.mode {
            Mode::Normal => {
                if let Some(action) = action_of(key) {
                    self.act(action, effects);
                }
            }
            Mode::Help(above) | Mode::Text(_, _, above) => match key.code {
                KeyCode::Up | KeyCode::Char('k') => *above = above.saturating_sub(1),
                KeyCode::Down | KeyCode::Char('j') => *above += 1,
                KeyCode::PageUp => *above = above.saturating_sub(10),
                KeyCode::PageDown | KeyCode::Char(' ') => *above += 10,
                KeyCode::Home => *above = 0,
                _ => self.close_text(),
            },
            Mode::Confirm => {
                self.mode = Mode::Normal;
                let asked = self.questions.pop_front().unwrap_or_default();
                if matches!(key.code, KeyCode::Char('y') | KeyCode::Enter) {
                    asked.paths.iter().for_each(|path| self.add(path, effects));
                }
            }
            Mode::Prompt(_) => self.prompt_key(key, effects),
            Mode::Choose(_) => self.choose_key(key, effects),
        }
    }

    /// Closes a text or the list of keys; goes back to the list of counters if the text was opened
    /// from there.
    pub(super) fn close_text(&mut self) {
        self.mode = self.behind.take().map_or(Mode::Normal, Mode::Choose);
    }

    pub(super) fn prompt_key(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) {
        let Mode::Prompt(prompt) = &mut self.mode else { return };
        match key.code {
            KeyCode::Esc => {
                if prompt.is_filter {
                    self.set_filter(String::new());
                }
                self.mode = Mode::Normal;
                return;
            }
            KeyCode::Enter => {
                let prompt = std::mem::take(prompt);
                self.mode = Mode::Normal;
                if !prompt.is_filter {
                    self.command(&prompt.text, effects);
                }
                return;
            }
            KeyCode::Backspace if prompt.text.is_empty() => {
                self.mode = Mode::Normal;
                return;
            }
            KeyCode::Backspace => drop(prompt.text.pop()),
            KeyCode::Tab => {
                // Of several completions, each further Tab takes the next one.
                let place = prompt.candidates.iter().position(|one| *one == prompt.text);
                let next = place.map_or(0, |place| place + 1);
                let next = prompt.candidates.get(next).or(prompt.candidates.first());
                if let Some(next) = next {
                    prompt.text.clone_from(next);
                }
                if prompt.candidates.len() > 1 {
                    return;
                }
            }
            KeyCode::Char(c) if !is_modified(key) && room(&prompt.text) > 0 => {
                prompt.text.push(c);
            }
            _ => return,
        }
        let (is_filter, text) = (prompt.is_filter, prompt.text.clone());
        if is_filter {
            self.set_filter(text);
        } else {
            if text == "add " && self.tree.is_none() {
                effects.push(Effect::Browse);
            }
            self.complete();
        }
    }

    /// Finds the lines to which Tab can complete the typed command, and notes them as its candidates; none for a
    /// filter.
    pub(super) fn complete(&mut self) {
        let Mode::Prompt(prompt) = &self.mode else { return };
        let candidates = match prompt.is_filter {
            true => Vec::new(),
            false => self.completions(&prompt.text),
        };
        if let Mode::Prompt(prompt) = &mut self.mode {
            prompt.candidates = candidates;
        }
    }

    /// Sets the filter of the focused pane, and selects the first row.
    pub(super) fn set_filter(&mut self, filter: String) {
        if let Some(state) = self.states.get_mut(self.focus) {
            state.filter = filter;
            (state.selected, state.picked) = (0, None);
        }
    }

    pub(super) fn choose_key(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) {
        let Some(tree) = self.tree.clone() else {
            self.mode = Mode::Normal;
            return;
        };
        let Mode::Choose(chooser) = &mut self.mode else { return };
        let choices = chooser.choices(&tree);
        let last = choices.len().saturating_sub(1);
        chooser.selected = chooser.selected.min(last);
        let choice = choices.get(chooser.selected).copied();
        match key.code {
            KeyCode::Esc if chooser.instances.take().is_some() => chooser.restart(),
            KeyCode::Esc if !chooser.search.is_empty() => chooser.restart(),
            KeyCode::Esc => self.mode = Mode::Normal,
            KeyCode::Up => chooser.selected = chooser.selected.saturating_sub(1),
            KeyCode::Down => chooser.selected = (chooser.selected + 1).min(last),
            KeyCode::PageUp => chooser.selected = chooser.selected.saturating_sub(10),
            KeyCode::PageDown => chooser.selected = (chooser.selected + 10).min(last),
            KeyCode::Home => chooser.selected = 0,
            KeyCode::End => chooser.selected = last,
            KeyCode::Backspace => {
                chooser.search.pop();
                chooser.selected = 0;
            }
            KeyCode::Right | KeyCode::Left => {
                if let Some(Choice::Object(place)) = choice {
                    match key.code {
                        KeyCode::Right => chooser.open.insert(place),
                        _ => chooser.open.remove(&place),
                    };
                }
            }
            KeyCode::F(1) | KeyCode::Tab => {
                let found = match choice {
                    Some(Choice::Object(place)) => {
                        tree.objects.get(place).map(|object| (object.name.clone(), None))
                    }
                    Some(Choice::Counter(place, number)) => tree.objects.get(place).map(|object| {
                        let counter = object.counters.get(number);
                        (object.name.clone(), counter.map(|counter| counter.name.clone()))
                    }),
                    _ => None,
                };
                if let Some((object, counter)) = found {
                    let chooser = chooser.clone();
                    self.explain(&object, counter.as_deref(), effects);
                    self.behind = Some(chooser).filter(|_| matches!(self.mode, Mode::Text(..)));
                }
            }
            KeyCode::Enter => self.choose(choice, effects),
            KeyCode::Char(c) if !is_modified(key) && room(&chooser.search) > 0 => {
                chooser.search.push(c);
                chooser.selected = 0;
            }
            _ => {}
        }
    }

    /// Carries out the choice of a line in the list: opens or closes an object, lists the instances of a counter,
    /// or adds a path. `None`, which is no line, does nothing.
    pub(super) fn choose(&mut self, choice: Option<Choice>, effects: &mut Vec<Effect>) {
        let (Some(tree), Mode::Choose(chooser)) = (self.tree.clone(), &mut self.mode) else {
            return;
        };
        match choice {
            Some(Choice::Object(place)) => {
                let is_open = chooser.open.remove(&place);
                let opened = (!is_open).then_some(place);
                chooser.open.extend(opened);
            }
            Some(Choice::Counter(place, number)) => {
                let Some(object) = tree.objects.get(place) else { return };
                if object.has_instances {
                    chooser.instances = Some((place, number, None));
                    chooser.restart();
                    let source = object.source.as_ref().map(|(source, _)| *source);
                    effects.push(Effect::Instances(place, object.name.clone(), source));
                } else if let Some(counter) = object.counters.get(number) {
                    let path = CounterPath::new(&object.name, None, &counter.name);
                    effects.push(Effect::Try(of_source(path, object).to_string()));
                    self.mode = Mode::Normal;
                }
            }
            Some(Choice::Instance(chosen)) => {
                let Some((place, number, names)) = chooser.instances.take() else { return };
                let counter = tree
                    .objects
                    .get(place)
                    .and_then(|object| Some((object, &object.counters.get(number)?.name)));
                let Some((object, counter)) = counter else { return };
                let named = |chosen: usize| names.as_ref()?.get(chosen).cloned();
                let instance = match chosen.map(named) {
                    None => "*".to_string(),
                    Some(Some(name)) => name,
                    Some(None) => return,
                };
                // The name of the instance is already written as in a path.
                let path = CounterPath::new(&object.name, Some(InstancePattern::any()), counter);
                let path = of_source(path, object).to_string().replacen(
                    "(*)",
                    &format!("({instance})"),
                    1,
                );
                effects.push(Effect::Try(path));
                self.mode = Mode::Normal;
            }
            None => {}
        }
    }
}

impl Chooser {
    /// Begins a new search with an empty text.
    fn restart(&mut self) {
        self.search.clear();
        self.selected = 0;
    }
}

/// The path with the label of the object's source as its machine; without a machine if the object names no source.
fn of_source(path: CounterPath, object: &super::tree::TreeObject) -> CounterPath {
    let machine = object.source.as_ref().map(|(_, name)| perfhive::NamePattern::literal(name));
    CounterPath { machine, ..path }
}

/// The number of characters that can be added to a typed text, which has at most [`MOST_TYPED`].
pub(super) fn room(text: &str) -> usize {
    MOST_TYPED.saturating_sub(text.chars().count())
}

/// Whether a key is pressed together with Ctrl, so that it is a command and no letter.
fn is_modified(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL)
}
