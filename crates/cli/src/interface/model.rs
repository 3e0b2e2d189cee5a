//! The state of the interface. This module knows no terminal, source or thread.
//!
//! `Model::update` (in `update.rs`) takes an [`Event`] and returns [`Effect`]s; `draw` shows the
//! model. Tests use both without a terminal.

use super::files::Existing;
use super::layout::{Kind, MOST_COUNTERS, View};
use super::looks::Looks;
use super::seen::Seen;
use super::tree::{Chooser, Tree};
use crate::text::escape::Escaped;
use jiff::tz::TimeZone;
use perfhive::{FileTime, Identity};
use perfhive_view::axis::{Axis, Scaled};
use perfhive_view::past::{Line, Past, Summary, Window};
use perfhive_view::{Sample, Value};
use ratatui_core::layout::Rect;
use ratatui_crossterm::crossterm::event::{KeyEvent, MouseEvent};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// An event that the interface has to handle.
#[derive(Debug)]
pub(crate) enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// A pasted text: counter paths, one a line.
    Paste(String),
    Resize(u16, u16),
    /// Samples, the oldest first, and how long the last one took.
    Samples(Vec<Sample>, Duration),
    /// Samples of a recording that has grown, in place of so many of the newest: what was written late may lie
    /// between them.
    Later(usize, Vec<Sample>),
    /// A recording is read anew: all samples so far are forgotten.
    Rewound,
    /// A recording was read in full; of more samples than are kept, every `every`-th was read.
    Loaded {
        every: u64,
    },
    /// The sample of a recording that [`Effect::Look`] asked for.
    Looked(Sample),
    /// Samples of the part of a recording that [`Effect::Near`] asked for.
    Near(Window, Vec<Sample>),
    /// That part was read: every so-many-th sample of it.
    NearLoaded(Window, u64),
    /// A path cannot be read, for this reason.
    Problem {
        path: String,
        why: String,
    },
    /// A path that [`Effect::Try`] asked about can be read.
    Ready(String),
    /// A path that [`Effect::Try`] asked about can be read, but its object is costly: one sample took this long.
    Costly {
        path: String,
        object: String,
        took: Duration,
        values: usize,
    },
    Tree(Arc<Tree>),
    /// The instances of the object at a place in the tree.
    Instances(usize, Vec<String>),
    /// A path names another machine than that of this source.
    Elsewhere(String),
    /// A message for the user, such as about a file that was written.
    Note(String),
    /// Why not all of the source can be read at present; `None` if all can be.
    Failed(Option<String>),
    /// A recording has grown, and has names now that it lacked before.
    Named,
    /// A settings file cannot be read, for this reason of one or more lines.
    Refused {
        file: String,
        why: String,
    },
    /// The file to which samples are now recorded; `None` if recording has ended.
    Recording(Option<String>),
}

/// A request of the interface to the outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Quit,
    Suspend,
    /// Sample these paths from now on.
    Paths(Vec<String>),
    /// Find out whether a path can be read, and what it costs.
    Try(String),
    Interval(Duration),
    /// Read a sample of a recording again, for tables: the one at `at`; rates begin at the sample `from`.
    Look {
        source: usize,
        from: FileTime,
        at: FileTime,
        /// Every how-many-th sample is shown.
        every: u64,
    },
    /// Read a part of a recording again: some samples of this many that it has.
    Near {
        source: usize,
        window: Window,
        samples: u64,
    },
    /// Read the tree of all objects and counters.
    Browse,
    /// Read the instances of an object, given its place in the tree and its name: of one source, or of all.
    Instances(usize, String, Option<usize>),
    /// Record the samples of a source to this file from now on; `None` ends recording.
    Record {
        source: usize,
        file: Option<String>,
    },
    Write {
        file: String,
        text: String,
        existing: Existing,
    },
    Screenshot(String, Existing),
    /// Open a settings file.
    Open(String),
    /// Copy a text to the clipboard.
    Copy(String),
    /// Draw the whole screen again.
    Redraw,
}

/// A thing on the screen that can be clicked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Pane(usize),
    /// An edge between panes, which a drag moves.
    Edge(super::panes::Edge),
    /// The plot area of a pane.
    Plot(usize),
    /// A line in the legend of a pane.
    Entry(usize, usize),
    /// The title of a table's column; `None` is the column of instances.
    Column(usize, Option<usize>),
    Row(usize, usize),
    /// A line of the list of counters.
    Choice(usize),
    Action(super::keys::Action),
}

/// The places of things that can be clicked, the topmost last.
pub(crate) type Hits = Vec<(Rect, Target)>;

/// The state of a pane that is not part of its settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct PaneState {
    /// The selected line of the legend, or the selected row of the table.
    pub(crate) selected: usize,
    /// What [`Row::key`] says of the selected row.
    pub(crate) picked: Option<RowKey>,
    pub(crate) is_highlighted: bool,
    pub(crate) filter: String,
}

/// The part of the interface that receives keys.
#[derive(Clone, Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Normal,
    Help(usize),
    Prompt(Prompt),
    Choose(Chooser),
    /// A text to read: its title, its lines, and how many lines are scrolled out above.
    Text(String, Vec<String>, usize),
    /// The first of the model's questions.
    Confirm,
}

/// The question whether paths to a costly object are to be added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(crate) object: String,
    pub(crate) paths: Vec<String>,
    /// What one sample of the object cost.
    pub(crate) cost: String,
}

/// A line that the user is typing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    /// Whether the line is a filter for the table instead of a command.
    pub(crate) is_filter: bool,
    pub(crate) text: String,
    /// The lines to which Tab can complete it.
    pub(crate) candidates: Vec<String>,
}

/// The whole state of the interface.
pub(crate) struct Model {
    pub(crate) view: View,
    pub(crate) states: Vec<PaneState>,
    pub(crate) focus: usize,
    pub(crate) is_full: bool,
    /// The sources, at least one.
    pub(crate) sources: Vec<Seen>,
    pub(crate) is_frozen: bool,
    /// How many seconds charts show; `None` for everything.
    pub(crate) seconds: Option<f64>,
    /// The time at which charts end; `None` for the newest sample.
    pub(crate) end: Option<FileTime>,
    pub(crate) cursor: Option<FileTime>,
    /// The marked spans, at most two.
    pub(crate) spans: [Option<Window>; 2],
    /// The beginning of a span that is being marked; `None` if there is none.
    pub(crate) mark: Option<FileTime>,
    pub(crate) mode: Mode,
    /// The list of counters from which a text was opened; closing the text goes back to it.
    pub(crate) behind: Option<Chooser>,
    pub(crate) message: String,
    /// The questions that the user has not answered yet, one for each costly object.
    pub(crate) questions: VecDeque<Question>,
    /// Why paths have no values, by path.
    pub(crate) problems: HashMap<String, String>,
    /// The sources that have no values of a path, by path, with the reason where the path is about them.
    pub(crate) refused: HashMap<String, BTreeMap<usize, Option<String>>>,
    /// The objects and counters of all sources.
    pub(crate) tree: Option<Arc<Tree>>,
    /// The object and counter that will be explained once the tree is read.
    pub(crate) to_explain: Option<(String, String)>,
    pub(crate) interval: Duration,
    pub(crate) size: (u16, u16),
    pub(crate) hits: Hits,
    /// The time at which a mouse button was pressed in a plot.
    pub(crate) drag: Option<FileTime>,
    /// The edge that the mouse moves, and the place of the mouse: the column or the line.
    pub(crate) edge: Option<(super::panes::Edge, u16)>,
    pub(crate) zone: TimeZone,
}

/// An entry of a legend: a line through samples, or a path without a line yet.
pub(crate) struct Entry<'a> {
    /// The place of the entry's counter in the pane.
    pub(crate) counter: usize,
    /// The number of the line's source.
    pub(crate) source: usize,
    /// The samples to which the line belongs.
    pub(crate) past: Option<&'a Past>,
    pub(crate) line: Option<&'a Line>,
    pub(crate) colour: u8,
    pub(crate) marker: char,
    /// The name: the part by which the lines of a pane differ.
    pub(crate) name: String,
    pub(crate) is_visible: bool,
}

impl Model {
    /// A model without samples.
    pub(crate) fn new(view: View, sources: Vec<Seen>, interval: Duration) -> Self {
        let mut model = Self {
            states: Vec::new(),
            seconds: None,
            view,
            focus: 0,
            is_full: false,
            sources: Seen::together(sources),
            is_frozen: false,
            end: None,
            cursor: None,
            spans: [None; 2],
            mark: None,
            mode: Mode::Normal,
            behind: None,
            message: String::new(),
            questions: VecDeque::new(),
            problems: HashMap::new(),
            refused: HashMap::new(),
            tree: None,
            to_explain: None,
            interval,
            size: (80, 24),
            hits: Vec::new(),
            drag: None,
            edge: None,
            zone: TimeZone::system(),
        };
        model.seconds = model.view.seconds.filter(|_| model.is_live());
        model.fit_states();
        model
    }

    /// Gives every pane a state, and the focus to an existing pane.
    pub(crate) fn fit_states(&mut self) {
        self.states.resize_with(self.view.panes.len(), PaneState::default);
        self.focus = self.focus.min(self.view.panes.len().saturating_sub(1));
    }

    /// Shows another view.
    pub(crate) fn show(&mut self, view: View) {
        self.view = view;
        self.states.clear();
        self.focus = 0;
        self.is_full = false;
        self.problems.clear();
        self.seconds = self.view.seconds.filter(|_| self.is_live());
        self.fit_states();
        self.drop_lines();
    }

    /// Drops the lines of paths that no pane draws.
    pub(crate) fn drop_lines(&mut self) {
        let view = &self.view;
        for one in &mut self.sources {
            one.past.keep(|line| is_drawn(view, &line.path));
        }
    }

    /// The span of time that charts show; `None` before there are samples.
    pub(crate) fn window(&self) -> Option<Window> {
        let newest = self.newest()?;
        let to = self.end.unwrap_or(newest);
        let from = match self.seconds {
            Some(seconds) => {
                FileTime(to.0.saturating_sub((seconds * FileTime::PER_SECOND as f64) as i64))
            }
            None => self.oldest()?,
        };
        let from = FileTime(from.0.min(to.0 - 1));
        Some(Window { from, to })
    }

    /// The shown time: that of the cursor, or else the end of the charts; `None` for the newest
    /// sample.
    pub(crate) fn time(&self) -> Option<FileTime> {
        self.cursor.or(self.end)
    }

    pub(crate) fn has_table(&self) -> bool {
        self.view.panes.iter().any(|pane| pane.kind == Kind::Table)
    }

    /// The entries of a pane's legend, in the order of its counters.
    pub(crate) fn entries(&self, place: usize) -> Vec<Entry<'_>> {
        let Some(pane) = self.view.panes.get(place) else { return Vec::new() };
        let window = self.window();
        let mut entries: Vec<Entry<'_>> = Vec::new();
        let mut further = Vec::new();
        let mut are_shown = Vec::new();
        for (number, counter) in pane.counters.iter().enumerate() {
            let before = entries.len();
            let sources = self.sources.iter().enumerate();
            let all = sources.flat_map(|(source, one)| {
                let lines = match one.near_in(window) {
                    Some(near) => near.lines(&one.past),
                    None => one.past.lines().iter().map(|line| (&one.past, line)).collect(),
                };
                let lines = lines.into_iter().enumerate();
                lines.map(move |(age, (past, line))| (age, source, past, line))
            });
            let lines: Vec<_> = all.filter(|(.., line)| *line.path == *counter.path).collect();
            let is_seen =
                |past: &Past, line: &Line| window.is_none_or(|window| past.is_seen(line, window));
            // Instances that have ended before the shown time are left out, unless all have.
            let some = lines.iter().any(|(_, _, past, line)| is_seen(past, line));
            let is_shown = |(ordinal, (_, _, past, line)): (usize, &(_, _, &Past, &Line))| {
                if some { is_seen(past, line) } else { ordinal == 0 }
            };
            let mut shown: Vec<bool> = lines.iter().enumerate().map(is_shown).collect();
            // A timeline has a lane for each event.
            if let Some(window) = window.filter(|_| pane.kind != Kind::Timeline) {
                let most = |(_, _, past, line): &(_, _, &Past, &Line)| {
                    past.summary(line, window).map(|summary| summary.maximum)
                };
                keep_largest(&mut shown, |place| lines.get(place).and_then(most));
            }
            for (ordinal, (age, source, past, line)) in lines.into_iter().enumerate() {
                if ordinal > 0 {
                    further.push((age, source, entries.len()));
                }
                entries.push(Entry {
                    counter: number,
                    source,
                    past: Some(past),
                    line: Some(line),
                    colour: counter.colour,
                    marker: counter.marker,
                    name: String::new(),
                    is_visible: counter.is_visible,
                });
            }
            are_shown.extend(shown);
            if entries.len() == before {
                entries.push(Entry {
                    counter: number,
                    source: 0,
                    past: None,
                    line: None,
                    colour: counter.colour,
                    marker: counter.marker,
                    name: counter.path.clone(),
                    is_visible: counter.is_visible,
                });
                are_shown.push(true);
            }
        }
        // Further lines of a path take looks of their own, the oldest line first: so a new line changes no other one.
        further.sort_unstable();
        let mut looks = Looks::of(pane.counters.iter().map(|one| (one.colour, one.marker)));
        for (.., place) in further {
            if let Some(entry) = entries.get_mut(place) {
                (entry.colour, entry.marker) = looks.take_next(entry.colour);
            }
        }
        let mut are_shown = are_shown.into_iter();
        entries.retain(|_| are_shown.next() == Some(true));
        let names: Vec<String> = entries.iter().map(|entry| self.instance_of(entry)).collect();
        name_entries(&mut entries, &names);
        self.name_sources(&mut entries);
        entries
    }

    /// The name that an entry's instance has at the shown time; until it has one, that of the path, which says what
    /// is missing.
    fn instance_of(&self, entry: &Entry<'_>) -> String {
        let (Some(past), Some(line)) = (entry.past, entry.line) else { return String::new() };
        let place = self.place_in(past);
        let name = place.map_or(line.instance.as_deref(), |place| past.name_at(line, place));
        let of_path = || {
            let path: perfhive::CounterPath = line.path.parse().ok()?;
            path.instance.map(|instance| instance.to_string())
        };
        name.map(str::to_string).or_else(of_path).unwrap_or_default()
    }

    /// The axis of a pane for the visible entries of its legend, and the statistics of all entries.
    pub(crate) fn axis(
        &self,
        place: usize,
        entries: &[Entry<'_>],
        window: Window,
    ) -> (Axis, Vec<Option<Summary>>) {
        let summaries: Vec<Option<Summary>> =
            entries.iter().map(|entry| self.summary(entry, window)).collect();
        let pane = self.view.panes.get(place);
        let mut scaled = Vec::new();
        for (entry, summary) in entries.iter().zip(&summaries) {
            let counter = pane.and_then(|pane| pane.counters.get(entry.counter));
            if let (Some(line), Some(counter)) = (entry.line, counter) {
                scaled.push(Scaled {
                    quantity: &line.what.quantity,
                    default: line.what.scale,
                    scale: counter.scale,
                    // A hidden line does not affect the axis.
                    summary: summary.filter(|_| entry.is_visible),
                });
            }
        }
        (Axis::of(&scaled), summaries)
    }

    /// Puts the names of their sources before the names of entries, if there are several sources. If the entries differ
    /// only in their sources, these are their names.
    fn name_sources(&self, entries: &mut [Entry<'_>]) {
        if !self.has_several() {
            return;
        }
        let named: Vec<(usize, String)> = entries
            .iter()
            .filter(|entry| entry.line.is_some())
            .map(|entry| (entry.source, entry.name.clone()))
            .collect();
        let names: HashSet<&String> = named.iter().map(|(_, name)| name).collect();
        let sources: HashSet<usize> = named.iter().map(|(source, _)| *source).collect();
        let differ_only = names.len() == 1 && named.len() > 1 && sources.len() == named.len();
        for entry in entries.iter_mut().filter(|entry| entry.line.is_some()) {
            let label = self.source(entry.source).map_or("", |one| &one.label);
            let label = Escaped(label).to_string();
            entry.name = match differ_only {
                true => format!(r"\\{label}"),
                false => format!(r"\\{label}\{}", entry.name),
            };
        }
    }

    /// The statistics of an entry's line in a window; `None` without values.
    pub(crate) fn summary(&self, entry: &Entry<'_>, window: Window) -> Option<Summary> {
        entry.past?.summary(entry.line?, window)
    }

    /// The value of an entry at the shown time, or why there is none; `None` for an entry without a line.
    pub(crate) fn value(&self, entry: &Entry<'_>) -> Option<Result<f64, Arc<str>>> {
        let (past, line) = (entry.past?, entry.line?);
        let Some(place) = self.place_in(past) else {
            return Some(Err("no sample at this time".into()));
        };
        Some(past.value_at(line, place))
    }

    /// The rows of the table in a pane.
    pub(crate) fn rows(&self, place: usize) -> Vec<Row<'_>> {
        super::rows::rows(self, place)
    }

    /// A time in the user's zone: the time of day, with the date if the window is longer
    /// than a day, with milliseconds if it is shorter than ten seconds, with microseconds below a tenth of one.
    pub(crate) fn clock(&self, time: FileTime, window: Window) -> String {
        let format = match window.seconds() {
            s if s > 86_400.0 => "%F %H:%M",
            s if s < 0.1 => "%T%.6f",
            s if s < 10.0 => "%T%.3f",
            _ => "%T",
        };
        self.formatted(time, format)
    }

    /// A time in the user's zone, with the date unless it is that of the newest live sample.
    pub(crate) fn day_and_time(&self, time: FileTime) -> String {
        let live = self.sources.iter().filter(|one| one.is_live);
        let now = live.filter_map(|one| one.past.times().back().copied()).max();
        let day = |time| self.formatted(time, "%F");
        let is_today = now.is_some_and(|now| day(now) == day(time));
        self.formatted(time, if is_today { "%T" } else { "%F %T" })
    }

    pub(crate) fn formatted(&self, time: FileTime, format: &str) -> String {
        match jiff::Timestamp::from_nanosecond(time.to_unix_nanos()) {
            Ok(time) => time.to_zoned(self.zone.clone()).strftime(format).to_string(),
            Err(_) => String::new(),
        }
    }
}

/// Of more lines than a pane shows of a counter, keeps those with the largest values, of equal ones the older.
fn keep_largest(shown: &mut [bool], value: impl Fn(usize) -> Option<f64>) {
    let places = || shown.iter().enumerate().filter(|(_, is_shown)| **is_shown);
    if places().count() <= MOST_COUNTERS {
        return;
    }
    let mut values: Vec<(usize, f64)> =
        places().map(|(place, _)| (place, value(place).unwrap_or(f64::NEG_INFINITY))).collect();
    values.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    for (place, _) in values.into_iter().skip(MOST_COUNTERS) {
        if let Some(is_shown) = shown.get_mut(place) {
            *is_shown = false;
        }
    }
}

/// Whether a pane of the view draws a path over time, so that its samples must be kept. Tables show one
/// sample only.
pub(crate) fn is_drawn(view: &View, path: &str) -> bool {
    let draws = |pane: &&super::layout::Pane| pane.kind != Kind::Table;
    let mut drawn = view.panes.iter().filter(draws).flat_map(|pane| &pane.counters);
    drawn.any(|counter| counter.path == path)
}

/// Names entries by their differences: the instance alone if all entries are of one counter, and the object
/// only if there are several.
fn name_entries(entries: &mut [Entry<'_>], names: &[String]) {
    let whats: Vec<_> = entries.iter().filter_map(|entry| Some(&entry.line?.what)).collect();
    let Some(first) = whats.first() else { return };
    let one_object = whats.iter().all(|what| what.object == first.object);
    let one_counter = one_object && whats.iter().all(|what| what.counter == first.counter);
    let mut named = entries.iter().zip(names).filter(|(entry, _)| entry.line.is_some());
    let first_instance = named.next().map(|(_, name)| name);
    let one_instance = named.all(|(_, name)| Some(name) == first_instance);
    let several = entries.len() > 1;
    for (entry, instance) in entries.iter_mut().zip(names) {
        let Some(line) = entry.line else { continue };
        entry.name = match (one_counter, one_object) {
            (true, _) if several && !one_instance && !instance.is_empty() => instance.clone(),
            (_, true) if instance.is_empty() || one_instance && instance == "_Total" => {
                line.what.counter.clone()
            }
            (_, true) => format!("{instance}  {}", line.what.counter),
            _ if instance.is_empty() => line.full_name(),
            _ => format!(r"{}({instance})\{}", line.what.object, line.what.counter),
        };
        entry.name = Escaped(&entry.name).to_string();
    }
}

/// The source of a row, the identity of its instance, and its counter if the row is of one counter.
pub(crate) type RowKey = (usize, Identity, Option<String>);

/// A row of a table: the readings of one instance, one for each column.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    /// The only counter of the row, if its path has several.
    pub(crate) counter: Option<&'a str>,
    /// The number of the instance's source.
    pub(crate) source: usize,
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) cells: Vec<Option<&'a Value>>,
    pub(crate) process: Option<u32>,
    /// How many ancestors the row has in the tree.
    pub(crate) depth: usize,
    /// Whether the instance is a sum or idle time.
    pub(crate) is_sum: bool,
}

impl Row<'_> {
    /// By what the row is found again in another sample.
    pub(crate) fn key(&self) -> Option<RowKey> {
        Some((self.source, self.identity?.clone(), self.counter.map(str::to_string)))
    }
}
