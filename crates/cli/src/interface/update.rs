//! Applies events to the model.

use super::files::Existing;
use super::keys::Action;
use super::layout::{BUILT_IN, Counter, Kind, MOST_COUNTERS, MOST_PANES, Pane};
use super::looks::Looks;
use super::model::{Effect, Event, Mode, Model, Prompt, Question};
use super::saving::file_part;
use super::tree::Chooser;
use super::views;
use crate::text::escape::Escaped;
use perfhive::{CounterPath, FileTime};
use perfhive_view::axis::LineScale;
use perfhive_view::number;
use ratatui_crossterm::crossterm::event::KeyEventKind;
use std::collections::HashSet;
use std::time::Duration;

impl Model {
    /// Applies an event of the user or of the first source. Returns the requests to the program around the interface.
    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        self.update_from(0, event)
    }

    /// Applies an event of the source with this number. Returns the requests to the program around the interface.
    pub(crate) fn update_from(&mut self, source: usize, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        let before = (self.time(), self.has_table());
        let pasted = self.pasted_path(&event);
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key, &mut effects),
            Event::Key(_) => {}
            Event::Mouse(mouse) => self.mouse(mouse, &mut effects),
            Event::Paste(text) => self.paste(&text, &mut effects),
            Event::Resize(width, height) => {
                self.size = (width, height);
                effects.push(Effect::Redraw);
            }
            Event::Samples(samples, took) => {
                self.note(source, samples, took);
                self.make_room(&mut effects);
            }
            Event::Later(forgotten, samples) => {
                if let Some(seen) = self.sources.get_mut(source) {
                    seen.past.forget_newest(forgotten);
                }
                self.note(source, samples, Duration::ZERO);
            }
            Event::Rewound => {
                if let Some(seen) = self.sources.get_mut(source) {
                    seen.forget();
                    seen.is_loading = true;
                }
                // The lines of a recording that is read anew have other numbers.
                for state in &mut self.states {
                    state.line = state.line.filter(|(of, _)| *of != source);
                    state.looks.get_mut().retain(|(of, _), _| *of != source);
                }
            }
            Event::Loaded { every } => {
                if let Some(seen) = self.sources.get_mut(source) {
                    (seen.every, seen.is_loading) = (every, false);
                }
                self.look(&mut effects);
            }
            Event::Looked(sample) => {
                let is_past = self.time().is_some();
                if let Some(seen) = self.sources.get_mut(source).filter(|_| is_past) {
                    seen.looked = Some(sample);
                }
            }
            Event::Near(window, samples) => {
                let (view, seen) = (&self.view, self.sources.get_mut(source));
                if let Some(near) = seen.and_then(|seen| seen.near.as_mut()) {
                    near.note(window, samples, &views::all(view, &self.left));
                }
            }
            Event::NearLoaded(window, every) => {
                if let Some(seen) = self.sources.get_mut(source)
                    && let Some(near) = &mut seen.near
                {
                    near.complete(window, every, &seen.past);
                }
                self.look(&mut effects);
            }
            Event::Problem { path, why } => self.refuse(source, path, Some(why)),
            Event::Elsewhere(path) => self.refuse(source, path, None),
            // Several sources may have the path, and an earlier one has added it.
            Event::Ready(path) | Event::Costly { path, .. }
                if self.has_several() && self.has_path(&path) => {}
            Event::Ready(path) => self.add(&path, &mut effects),
            Event::Costly { path, object, took, values } => self.ask(path, object, took, values),
            Event::Tree(tree) => {
                self.take_tree(source, tree);
                if let Some((object, counter)) = self.to_explain.take() {
                    self.explain(&object, counter.as_deref(), &mut effects);
                }
            }
            Event::Instances(object, names) => {
                if let Mode::Choose(Chooser { instances: Some((known, _, list)), .. }) =
                    &mut self.mode
                    && *known == object
                {
                    let list = list.get_or_insert_default();
                    let known: HashSet<String> = list.iter().cloned().collect();
                    list.extend(names.into_iter().filter(|name| !known.contains(name)));
                }
            }
            Event::Note(text) => self.message = Escaped(&text).to_string(),
            Event::Failed(why) => {
                if let Some(seen) = self.sources.get_mut(source) {
                    seen.failure = why.map(|why| Escaped(&why).to_string());
                }
            }
            Event::Named => self.choose_anew(&mut effects),
            Event::Refused { file, why } => {
                let lines: Vec<String> =
                    why.trim_end().lines().map(|line| Escaped(line).to_string()).collect();
                match &*lines {
                    [line] => self.message = format!("{}: {line}", Escaped(&file)),
                    _ => self.mode = Mode::Text(Escaped(&file).to_string(), lines, 0),
                }
            }
            Event::Recording(file) => {
                let Some(seen) = self.sources.get_mut(source) else { return effects };
                let before = std::mem::replace(&mut seen.recording, file);
                seen.recorded = before.filter(|_| seen.recording.is_none());
                let recorded = self.sources.iter().filter_map(|one| one.recorded.as_deref());
                let recorded: Vec<&str> = recorded.collect();
                self.message = match (&*self.recordings(), &*recorded) {
                    ([], []) => String::new(),
                    ([], files) => format!("recorded: perfhive view {}", Escaped(&files.join(" "))),
                    (files, _) => format!("recording to {}", Escaped(&files.join(", "))),
                };
            }
        }
        if let Some(path) = pasted {
            self.tell_pasted(&path);
        }
        if (self.time(), self.has_table()) != before {
            self.look(&mut effects);
        }
        // A question interrupts nothing that the user is typing or reading.
        if matches!(self.mode, Mode::Normal) && !self.questions.is_empty() {
            self.mode = Mode::Confirm;
        }
        self.approach(&mut effects);
        for effect in &effects {
            // The answer about a path that is asked for again will come again.
            match effect {
                Effect::Try(path) => drop(self.refused.remove(path)),
                Effect::Paths(_) => self.refused.clear(),
                _ => {}
            }
        }
        effects
    }

    /// Asks the user whether a path to a costly object is to be added, once for all paths to the object.
    fn ask(&mut self, path: String, object: String, took: Duration, values: usize) {
        if let Some(asked) = self.questions.iter_mut().find(|asked| asked.object == object) {
            asked.paths.push(path);
            return;
        }
        let milliseconds = took.as_secs_f64() * 1e3;
        let share = took.as_secs_f64() / self.interval.as_secs_f64() * 100.0;
        let mut count = String::new();
        number::push_grouped(&mut count, values as u64);
        count.push_str(if values == 1 { " value" } else { " values" });
        let cost = format!(
            "{} is costly: one sample of it took {milliseconds:.1} ms for {count}. \
             At one in {} s that is {share:.1} % of a processor.",
            Escaped(&object),
            self.interval.as_secs_f64()
        );
        self.questions.push_back(Question { object, paths: vec![path], cost });
    }

    /// Adds samples of a source; collecting the newest of them took the time `took`. Moves the end of the charts and
    /// the cursor to the oldest kept sample of all sources if they lie before it, unless a recording is being loaded.
    fn note(&mut self, source: usize, samples: Vec<perfhive_view::Sample>, took: Duration) {
        let Some(seen) = self.sources.get_mut(source) else { return };
        seen.took = took;
        seen.note(samples, &views::all(&self.view, &self.left));
        // The rings may have dropped the samples at the shown time; a recording that is read anew may bring them back.
        if let Some(oldest) = self.oldest().filter(|_| !self.is_loading()) {
            self.end = self.end.map(|end| end.max(oldest));
            self.cursor = self.cursor.map(|cursor| cursor.max(oldest));
        }
    }

    /// Shows a text that explains an object or a counter; reads the tree first if necessary.
    pub(super) fn explain(
        &mut self,
        object: &str,
        counter: Option<&str>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(tree) = &self.tree else {
            self.to_explain = Some((object.to_string(), counter.map(str::to_string)));
            self.message = "asking the source for its help texts".to_string();
            effects.push(Effect::Browse);
            return;
        };
        let title = counter.map_or(object.to_string(), |counter| format!("{object}\\{counter}"));
        match tree.explain(object, counter) {
            Some(lines) => {
                let lines = lines.iter().map(|line| Escaped(line).to_string()).collect();
                self.mode = Mode::Text(Escaped(&title).to_string(), lines, 0);
            }
            None => self.message = format!("the source does not list {}", Escaped(&title)),
        }
    }

    /// Adds a counter to the focused pane, unless the pane has it or has [`MOST_COUNTERS`] already; a message tells
    /// the result. Makes a pane if the view has none.
    pub(super) fn add(&mut self, path: &str, effects: &mut Vec<Effect>) {
        if self.view.panes.is_empty() {
            self.push_pane(Pane::default());
        }
        let entries = self.entries(self.focus);
        let looks = Looks::of(entries.iter().map(|entry| (entry.colour, entry.marker)));
        let look = looks.next(0);
        let Some(pane) = self.view.panes.get_mut(self.focus) else { return };
        if pane.counters.iter().any(|counter| counter.path == path) {
            self.message = format!("{} is in this pane already", Escaped(path));
            return;
        }
        if pane.counters.len() >= MOST_COUNTERS {
            self.message = format!("a pane has at most {MOST_COUNTERS} counters");
            return;
        }
        pane.counters.push(Counter::new(path, look));
        self.message = format!("added {}", Escaped(path));
        self.changed(effects);
    }

    /// Updates everything that depends on the counters. A changed view is no longer a built-in one.
    pub(super) fn changed(&mut self, effects: &mut Vec<Effect>) {
        self.view.is_built_in = false;
        let views = views::all(&self.view, &self.left);
        self.problems.retain(|path, _| views.iter().any(|view| view.has(path)));
        self.drop_lines();
        effects.push(Effect::Paths(self.paths()));
    }

    /// Changes how the focused pane shows its counters.
    pub(super) fn set_kind(&mut self, kind: Kind, effects: &mut Vec<Effect>) {
        let Some(pane) = self.view.panes.get_mut(self.focus) else { return };
        let before = std::mem::replace(&mut pane.kind, kind);
        self.view.is_built_in = false;
        self.drop_lines();
        if before == Kind::Table {
            // A table has no lines: those of a recording are read now.
            effects.push(Effect::Paths(self.paths()));
        }
    }

    /// Carries out the action of a key.
    pub(crate) fn act(&mut self, action: Action, effects: &mut Vec<Effect>) {
        self.message.clear();
        self.sources.iter_mut().for_each(|one| one.failure = None);
        let panes = self.view.panes.len().max(1);
        match action {
            Action::Quit => effects.push(Effect::Quit),
            Action::Suspend => effects.push(Effect::Suspend),
            Action::Redraw => effects.push(Effect::Redraw),
            Action::Help => self.mode = Mode::Help(0),
            Action::Command => {
                let candidates = self.completions("");
                self.mode = Mode::Prompt(Prompt { candidates, ..Prompt::default() });
            }
            Action::Next => self.focus = (self.focus + 1) % panes,
            Action::Previous => self.focus = (self.focus + panes - 1) % panes,
            Action::Full => self.is_full = !self.is_full,
            Action::SplitRight | Action::SplitBelow => self.split(action == Action::SplitBelow),
            Action::Close => self.close(effects),
            Action::Wider | Action::Narrower => self.resize(false, action == Action::Wider),
            Action::Higher | Action::Lower => self.resize(true, action == Action::Higher),
            Action::Add => {
                self.mode = Mode::Choose(Chooser::default());
                if self.tree.is_none() {
                    effects.push(Effect::Browse);
                }
            }
            Action::Remove => self.remove(effects),
            Action::Explain => self.explain_selected(effects),
            Action::Kind => {
                let kind = self.view.panes.get(self.focus).map(|pane| pane.kind.next());
                self.set_kind(kind.unwrap_or_default(), effects);
            }
            Action::Up => self.select(-1),
            Action::Down => self.select(1),
            Action::Top => self.select(isize::MIN),
            Action::Left | Action::Right => self.move_cursor(action == Action::Right),
            Action::Uncursor => {
                (self.cursor, self.mark, self.spans) = (None, None, [None; 2]);
                self.set_filter(String::new());
            }
            Action::Older | Action::Newer => {
                let half = self.window().map_or(0, |window| window.width() / 2);
                self.scroll(if action == Action::Newer { half } else { -half });
            }
            Action::Oldest => {
                if let (Some(window), Some(span)) = (self.window(), self.span()) {
                    self.end = Some(FileTime((span.from.0 + window.width()).min(span.to.0)));
                    // A table shows the time of the cursor.
                    if self.cursor.is_some() || self.has_table() {
                        self.cursor = Some(span.from);
                    }
                }
            }
            Action::Newest => (self.end, self.cursor, self.is_frozen) = (None, None, false),
            Action::ZoomIn | Action::ZoomOut => {
                self.zoom(if action == Action::ZoomIn { 0.5 } else { 2.0 });
            }
            Action::Whole => (self.seconds, self.end) = (None, None),
            Action::Freeze => {
                self.is_frozen = !self.is_frozen;
                let newest = self.newest();
                self.end = self.end.or(newest).filter(|_| self.is_frozen);
                self.cursor = self.cursor.filter(|_| self.is_frozen);
            }
            Action::Wrap => {
                self.view.wraps = !self.view.wraps;
                if self.seconds.is_none() {
                    self.message = "the whole time has no bar; + or :span shows a part".to_string();
                }
            }
            Action::Clear => {
                // What is cleared of a recording would not be read again.
                for one in self.sources.iter_mut().filter(|one| one.is_live) {
                    one.past.clear();
                    one.samples.clear();
                }
                if self.sources.iter().any(|one| !one.is_live) {
                    self.message =
                        "recordings stay; x forgets what was seen of live sources".to_string();
                }
                if self.is_live() {
                    (self.end, self.cursor, self.mark, self.spans) = (None, None, None, [None; 2]);
                    self.left.iter_mut().for_each(|one| one.rests = true);
                    self.drop_lines();
                    effects.push(Effect::Paths(self.paths()));
                }
            }
            Action::Mark => self.set_mark(),
            Action::Compare => self.compare(),
            Action::Highlight => {
                if let Some(state) = self.states.get_mut(self.focus) {
                    state.is_highlighted = !state.is_highlighted;
                }
            }
            Action::Visible => {
                if let Some(counter) = self.selected_counter() {
                    counter.is_visible = !counter.is_visible;
                }
            }
            Action::ScaleUp | Action::ScaleDown => {
                let power = self.selected_power();
                if let Some(counter) = self.selected_counter() {
                    counter.scale = LineScale::stepped(power, action == Action::ScaleUp);
                }
            }
            Action::ScaleAutomatic => {
                if let Some(counter) = self.selected_counter() {
                    counter.scale = LineScale::Automatic;
                }
            }
            Action::Colour => {
                if let Some(counter) = self.selected_counter() {
                    counter.colour =
                        (counter.colour + 1) % perfhive_view::palette::COLOURS.len() as u8;
                }
                self.forget_looks();
            }
            Action::Marker => {
                if let Some(counter) = self.selected_counter() {
                    let all = perfhive_view::palette::MARKERS;
                    let place = all.iter().position(|one| *one == counter.marker);
                    let next = place.map_or(0, |place| (place + 1) % all.len());
                    counter.marker = all.get(next).copied().unwrap_or('*');
                }
                self.forget_looks();
            }
            Action::Filter => {
                if let (Some(pane), Some(state)) =
                    (self.view.panes.get(self.focus), self.states.get(self.focus))
                {
                    if pane.kind == Kind::Table {
                        let text = state.filter.clone();
                        self.mode =
                            Mode::Prompt(Prompt { is_filter: true, text, ..Prompt::default() });
                    } else {
                        self.message = "only a table has rows to filter; c changes the pane".into();
                    }
                }
            }
            Action::Sort => {
                if let Some(pane) = self.view.panes.get_mut(self.focus) {
                    pane.sort = match pane.sort {
                        None if pane.counters.is_empty() => None,
                        None => Some(0),
                        Some(last) if last + 1 >= pane.counters.len() => None,
                        Some(place) => Some(place + 1),
                    };
                }
            }
            Action::Reverse => {
                if let Some(pane) = self.view.panes.get_mut(self.focus) {
                    pane.is_reversed = !pane.is_reversed;
                }
            }
            Action::Tree => {
                if let Some(pane) = self.view.panes.get_mut(self.focus) {
                    pane.is_tree = !pane.is_tree;
                    let knows = |counter: &Counter| counter.path.ends_with(r"\Creating Process ID");
                    if pane.is_tree && !pane.counters.iter().any(knows) {
                        self.message =
                            r"the tree needs the column \Process(*)\Creating Process ID".into();
                    }
                }
            }
            Action::Chart => self.chart_of_row(effects),
            Action::Record if self.recordings().is_empty() => {
                self.record(&self.name_at(self.newest(), "phr"), effects);
            }
            Action::Record => {
                let sources = self.sources.iter().enumerate();
                let recording = sources.filter(|(_, seen)| seen.recording.is_some());
                effects.extend(recording.map(|(source, _)| Effect::Record { source, file: None }));
            }
            // The name is shown to be changed or confirmed: a file of it may exist.
            Action::Save => {
                let text = format!("save {}.toml", file_part(&self.view.name));
                self.mode = Mode::Prompt(Prompt { text, ..Prompt::default() });
            }
            Action::Csv => self.save_csv(None, effects),
            Action::Screenshot => {
                let time = self.time().or(self.newest());
                effects.push(Effect::Screenshot(self.name_at(time, "svg"), Existing::Numbered));
            }
            Action::Copy => {
                let paths = self.view.panes.get(self.focus).map(|pane| &pane.counters);
                let paths: Vec<&str> =
                    paths.into_iter().flatten().map(|counter| counter.path.as_str()).collect();
                let what = if paths.len() == 1 { "counter" } else { "counters" };
                self.message = format!("copied {} {what}", paths.len());
                effects.push(Effect::Copy(paths.join("\n")));
            }
            Action::Built(place) => {
                let name = BUILT_IN.get(usize::from(place)).copied().unwrap_or_default();
                self.show_named(name, effects);
            }
            Action::Back => match self.left.last().map(|one| one.view.name.clone()) {
                Some(name) => drop(self.show_named(&name, effects)),
                None => self.message = "no other view was shown before".to_string(),
            },
        }
    }

    /// The place of the selected counter in the focused pane: the counter of the selected line of the
    /// legend, or in a table the column by which it is sorted, or else the first column. `None` if
    /// there is no such line or column.
    fn selected_place(&self) -> Option<usize> {
        let pane = self.view.panes.get(self.focus)?;
        if pane.kind == Kind::Table {
            return Some(pane.sort.unwrap_or(0)).filter(|place| *place < pane.counters.len());
        }
        let entries = self.entries(self.focus);
        entries.get(self.selected(self.focus, &entries)).map(|entry| entry.counter)
    }

    pub(super) fn selected_counter(&mut self) -> Option<&mut Counter> {
        let place = self.selected_place()?;
        self.view.panes.get_mut(self.focus)?.counters.get_mut(place)
    }

    /// Forgets the looks of the focused pane's lines, so that they avoid the look that a counter has taken.
    pub(super) fn forget_looks(&mut self) {
        let state = self.states.get_mut(self.focus);
        state.into_iter().for_each(|state| state.looks.get_mut().clear());
    }

    /// The exponent of the power of ten by which the selected line is multiplied at present; 0 without a line.
    fn selected_power(&self) -> i8 {
        let Some(window) = self.window() else { return 0 };
        let entries = self.entries(self.focus);
        let (axis, _) = self.axis(self.focus, &entries, window);
        let before = entries
            .iter()
            .take(self.selected(self.focus, &entries))
            .filter(|entry| entry.line.is_some());
        axis.powers.get(before.count()).copied().unwrap_or(0)
    }

    /// Shows the text that explains the selected counter; a message instead before its first
    /// sample.
    fn explain_selected(&mut self, effects: &mut Vec<Effect>) {
        let Some(place) = self.selected_place() else { return };
        let path = self.view.panes.get(self.focus).and_then(|pane| pane.counters.get(place));
        let Some(path) = path.map(|counter| counter.path.clone()) else { return };
        let mut lines = self.sources.iter().flat_map(|one| one.past.lines());
        let by_line = lines.find(|line| *line.path == *path);
        let mut values = self.sources.iter().flat_map(|one| &one.latest.values);
        let by_value = values.find(|value| *value.path == *path);
        let what = by_line.map(|line| &line.what).or(by_value.map(|value| &value.what)).cloned();
        match what {
            Some(what) => self.explain(&what.object, Some(&what.counter), effects),
            None => self.message = format!("{} has no sample yet", Escaped(&path)),
        }
    }

    /// Removes the selected counter; a pane that has no other goes with it, unless it is the last
    /// pane.
    fn remove(&mut self, effects: &mut Vec<Effect>) {
        let Some(place) = self.selected_place() else { return };
        let Some(pane) = self.view.panes.get_mut(self.focus) else { return };
        if place < pane.counters.len() {
            pane.counters.remove(place);
        }
        pane.sort = pane.sort.filter(|sort| *sort < pane.counters.len());
        if pane.counters.is_empty() && self.view.panes.len() > 1 {
            self.take_pane();
        }
        self.select(0);
        self.changed(effects);
    }

    /// Moves the selection in the focused pane by this many lines; negative is up.
    pub(super) fn select(&mut self, by: isize) {
        let is_table = self.view.panes.get(self.focus).is_some_and(|one| one.kind == Kind::Table);
        let mut lines = Vec::new();
        let (count, now, identities) = if is_table {
            let rows = self.rows(self.focus);
            let picked = self.states.get(self.focus).and_then(|state| state.picked.clone());
            let place = rows.iter().position(|row| picked.is_some() && row.key() == picked);
            let identities: Vec<_> = rows.iter().map(super::model::Row::key).collect();
            (rows.len(), place, identities)
        } else {
            let entries = self.entries(self.focus);
            lines = entries.iter().map(|entry| entry.key).collect();
            (entries.len(), Some(self.selected(self.focus, &entries)), Vec::new())
        };
        let Some(state) = self.states.get_mut(self.focus) else { return };
        let now = now.unwrap_or(state.selected).min(count.saturating_sub(1));
        state.selected = now.saturating_add_signed(by).min(count.saturating_sub(1));
        state.picked = identities.get(state.selected).cloned().flatten();
        state.line = lines.get(state.selected).copied().flatten();
    }

    /// Adds to a chart the selected row's value in the column by which the table is sorted, or in the first column if
    /// it is not sorted. A message tells if the focused pane is no table, or if the row has no value there.
    fn chart_of_row(&mut self, effects: &mut Vec<Effect>) {
        let Some(place) = self.selected_place() else { return };
        let is_table = self.view.panes.get(self.focus).is_some_and(|one| one.kind == Kind::Table);
        let rows = self.rows(self.focus);
        let Some(state) = self.states.get(self.focus).filter(|_| is_table) else {
            self.message = "l makes a chart of a row of a table".to_string();
            return;
        };
        let picked = |row: &&super::model::Row<'_>| row.key() == state.picked;
        let row = rows.iter().find(|row| state.picked.is_some() && picked(row));
        let row = row.or(rows.get(state.selected));
        let source = row.and_then(|row| self.source(row.source)).filter(|_| self.has_several());
        let machine = source.map(|seen| perfhive::NamePattern::literal(&seen.label));
        let Some(value) = row.and_then(|row| row.cells.get(place).copied().flatten()) else {
            self.message = "this row has no value of the column".to_string();
            return;
        };
        let pattern = value.instance.as_ref().map(perfhive::InstanceLabel::pattern);
        let path = CounterPath::new(&value.what.object, pattern, &value.what.counter);
        let path = CounterPath { machine, ..path }.to_string();
        let free = self.view.panes.iter().position(|pane| {
            pane.kind == Kind::Chart
                && pane.title == "Chosen"
                && pane.counters.len() < MOST_COUNTERS
        });
        match free {
            Some(place) => self.focus = place,
            None if self.view.panes.len() >= MOST_PANES => {
                self.message = format!("a view has at most {MOST_PANES} panes");
                return;
            }
            None => {
                self.push_pane(Pane { title: "Chosen".to_string(), ..Pane::default() });
                self.focus = self.view.panes.len() - 1;
            }
        }
        self.is_full = false;
        self.add(&path, effects);
    }

    /// Changes the interval between samples.
    pub(super) fn set_interval(&mut self, interval: Duration, effects: &mut Vec<Effect>) {
        self.interval = interval;
        effects.push(Effect::Interval(interval));
    }
}
