//! The state of the interface. Nothing here knows a terminal, a source or a thread.
//!
//! `Model::update` (in `update.rs`) takes an [`Event`] and answers with [`Effect`]s; `draw` shows the
//! model. Tests drive both without a terminal.

use super::layout::{Kind, MOST_COUNTERS, View};
use super::tree::{Chooser, Tree};
use crate::text::escape::Escaped;
use jiff::tz::TimeZone;
use perfhive::{FileTime, Identity};
use perfhive_view::axis::{Axis, Scaled};
use perfhive_view::past::{Line, Past, Summary, Window};
use perfhive_view::{Sample, Value};
use ratatui_core::layout::Rect;
use ratatui_crossterm::crossterm::event::{KeyEvent, MouseEvent};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// What happens to the interface.
#[derive(Debug)]
pub(crate) enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// A pasted text: counter paths, one a line.
    Paste(String),
    Resize(u16, u16),
    /// Samples, the oldest first, and how long the last one took.
    Samples(Vec<Sample>, Duration),
    /// A recording is read anew: what was seen is forgotten.
    Rewound,
    /// All of a recording is read; of more samples than are kept, every so-many-th.
    Loaded {
        every: u64,
    },
    /// The sample of a recording that was asked for with [`Effect::Look`].
    Looked(Sample),
    /// A path cannot be read, and why.
    Problem {
        path: String,
        why: String,
    },
    /// A path that was asked for with [`Effect::Try`] can be read.
    Ready(String),
    /// The same, of an object that is costly: what one sample of it took.
    Costly {
        path: String,
        object: String,
        took: Duration,
        values: usize,
    },
    Tree(Arc<Tree>),
    /// The instances of an object, by its place in the tree.
    Instances(usize, Vec<String>),
    /// Something to tell: faults of the source, files that were written.
    Note(String),
    /// Whether samples are written to a file, and to which.
    Recording(Option<String>),
}

/// What the interface wants of the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Quit,
    Suspend,
    /// The paths that are sampled from now on.
    Paths(Vec<String>),
    /// Find out whether a path can be read, and what it costs.
    Try(String),
    Interval(Duration),
    /// Read the sample of a recording at a time again, for tables; rates begin at the sample `from`.
    Look {
        from: FileTime,
        at: FileTime,
    },
    /// Tell what there is to see.
    Browse,
    /// Tell the instances of an object, by its place in the tree and its name.
    Instances(usize, String),
    /// Write the samples to this file from now on, or no longer.
    Record(Option<String>),
    Write {
        file: String,
        text: String,
        /// Whether a file of this name may be there already.
        replaces: bool,
    },
    Screenshot(String),
    /// Read a settings file.
    Open(String),
    /// Put a text on the clipboard.
    Copy(String),
    /// Draw everything anew.
    Redraw,
}

/// What can be clicked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Pane(usize),
    /// The area in which lines are drawn.
    Plot(usize),
    /// A line in a legend.
    Entry(usize, usize),
    /// A column of a table; `None` is the instance's.
    Column(usize, Option<usize>),
    Row(usize, usize),
    /// A line of the list of counters.
    Choice(usize),
    Action(super::keys::Action),
}

/// The places of what can be clicked, the topmost last.
pub(crate) type Hits = Vec<(Rect, Target)>;

/// What a pane remembers beyond its settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct PaneState {
    /// The selected line of the legend, or row of the table.
    pub(crate) selected: usize,
    /// The instance of the selected row.
    pub(crate) picked: Option<Identity>,
    pub(crate) is_highlighted: bool,
    pub(crate) filter: String,
}

/// What has the keyboard.
#[derive(Clone, Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Normal,
    Help(usize),
    Prompt(Prompt),
    Choose(Chooser),
    /// A text to read: its title, its lines, and how many of them are above the window.
    Text(String, Vec<String>, usize),
    /// Whether a costly path is added.
    Confirm {
        path: String,
        question: String,
    },
}

/// A line that is typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    /// Whether it is a filter for the table, not a command.
    pub(crate) is_filter: bool,
    pub(crate) text: String,
    /// What Tab would complete it to.
    pub(crate) candidates: Vec<String>,
}

/// The whole state.
pub(crate) struct Model {
    pub(crate) view: View,
    pub(crate) states: Vec<PaneState>,
    pub(crate) focus: usize,
    pub(crate) is_full: bool,
    pub(crate) past: Past,
    /// The newest sample, and the one that tables show while the view is frozen.
    pub(crate) latest: Sample,
    pub(crate) frozen: Option<Sample>,
    /// The sample of a recording at the cursor.
    pub(crate) looked: Option<Sample>,
    /// The seconds that charts show; `None` shows everything.
    pub(crate) seconds: Option<f64>,
    /// Where charts end; `None` follows the newest sample.
    pub(crate) end: Option<FileTime>,
    pub(crate) cursor: Option<FileTime>,
    /// The marked spans, and the beginning of one under way.
    pub(crate) spans: [Option<Window>; 2],
    pub(crate) mark: Option<FileTime>,
    pub(crate) mode: Mode,
    pub(crate) message: String,
    /// Why paths have no value at all.
    pub(crate) problems: HashMap<String, String>,
    pub(crate) tree: Option<Arc<Tree>>,
    /// The counter that is to be explained once the tree is there.
    pub(crate) to_explain: Option<(String, String)>,
    pub(crate) source: String,
    pub(crate) is_live: bool,
    /// Of a recording with more samples than are kept, every so-many-th is shown.
    pub(crate) every: u64,
    pub(crate) is_loading: bool,
    pub(crate) interval: Duration,
    pub(crate) took: Duration,
    pub(crate) recording: Option<String>,
    pub(crate) size: (u16, u16),
    pub(crate) hits: Hits,
    /// Where a mouse button went down in a plot.
    pub(crate) drag: Option<FileTime>,
    pub(crate) zone: TimeZone,
}

/// A line of a legend: a line through samples, or a path that has none yet.
pub(crate) struct Entry<'a> {
    /// The place of the counter in the pane.
    pub(crate) counter: usize,
    pub(crate) line: Option<&'a Line>,
    pub(crate) colour: u8,
    pub(crate) marker: char,
    /// The name: what tells the lines of a pane apart.
    pub(crate) name: String,
    pub(crate) is_visible: bool,
}

impl Model {
    /// A model before its first sample.
    pub(crate) fn new(view: View, source: &str, is_live: bool, interval: Duration) -> Self {
        let mut model = Self {
            states: Vec::new(),
            seconds: view.seconds.filter(|_| is_live),
            view,
            focus: 0,
            is_full: false,
            past: Past::default(),
            latest: Sample::default(),
            frozen: None,
            looked: None,
            end: None,
            cursor: None,
            spans: [None; 2],
            mark: None,
            mode: Mode::Normal,
            message: String::new(),
            problems: HashMap::new(),
            tree: None,
            to_explain: None,
            source: source.to_string(),
            is_live,
            every: 1,
            is_loading: !is_live,
            interval,
            took: Duration::ZERO,
            recording: None,
            size: (80, 24),
            hits: Vec::new(),
            drag: None,
            zone: TimeZone::system(),
        };
        model.fit_states();
        model
    }

    /// Gives every pane a state, and the focus to one that exists.
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
        self.seconds = self.view.seconds.filter(|_| self.is_live);
        self.fit_states();
        self.drop_lines();
    }

    /// Drops the lines of paths that no pane draws any more.
    pub(crate) fn drop_lines(&mut self) {
        let view = &self.view;
        self.past.keep(|line| is_drawn(view, &line.path));
    }

    /// The time that charts show; `None` before there is any.
    pub(crate) fn window(&self) -> Option<Window> {
        let newest = *self.past.times().back()?;
        let to = self.end.unwrap_or(newest);
        let from = match self.seconds {
            Some(seconds) => {
                FileTime(to.0.saturating_sub((seconds * FileTime::PER_SECOND as f64) as i64))
            }
            None => *self.past.times().front()?,
        };
        let from = FileTime(from.0.min(to.0 - 1));
        Some(Window { from, to })
    }

    /// The sample that tables show.
    pub(crate) fn shown(&self) -> &Sample {
        self.looked.as_ref().or(self.frozen.as_ref()).unwrap_or(&self.latest)
    }

    /// The lines of a pane's legend, in the order of its counters.
    pub(crate) fn entries(&self, place: usize) -> Vec<Entry<'_>> {
        let Some(pane) = self.view.panes.get(place) else { return Vec::new() };
        let mut entries = Vec::new();
        for (number, counter) in pane.counters.iter().enumerate() {
            let before = entries.len();
            for line in self.past.lines().iter().filter(|line| *line.path == *counter.path) {
                let ordinal = entries.len() - before;
                // The lines of one path take the colours behind its own.
                let step = (ordinal % 64) as u8;
                entries.push(Entry {
                    counter: number,
                    line: Some(line),
                    colour: counter.colour.wrapping_add(step),
                    marker: match ordinal {
                        0 => counter.marker,
                        _ => perfhive_view::palette::marker(counter.colour.wrapping_add(step)),
                    },
                    name: String::new(),
                    is_visible: counter.is_visible,
                });
                if entries.len() - before >= MOST_COUNTERS {
                    break;
                }
            }
            if entries.len() == before {
                entries.push(Entry {
                    counter: number,
                    line: None,
                    colour: counter.colour,
                    marker: counter.marker,
                    name: counter.path.clone(),
                    is_visible: counter.is_visible,
                });
            }
        }
        name_entries(&mut entries);
        entries
    }

    /// The axis of a pane for the visible lines of its legend, and the statistics of all of them.
    pub(crate) fn axis(
        &self,
        place: usize,
        entries: &[Entry<'_>],
        window: Window,
    ) -> (Axis, Vec<Option<Summary>>) {
        let summaries: Vec<Option<Summary>> =
            entries.iter().map(|entry| self.past.summary(entry.line?, window)).collect();
        let pane = self.view.panes.get(place);
        let mut scaled = Vec::new();
        for (entry, summary) in entries.iter().zip(&summaries) {
            let counter = pane.and_then(|pane| pane.counters.get(entry.counter));
            if let (Some(line), Some(counter)) = (entry.line, counter) {
                scaled.push(Scaled {
                    quantity: &line.what.quantity,
                    default: line.what.scale,
                    scale: counter.scale,
                    // A hidden line has no say.
                    summary: summary.filter(|_| entry.is_visible),
                });
            }
        }
        (Axis::of(&scaled), summaries)
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, place: usize) -> Vec<Row<'_>> {
        super::rows::rows(self, place)
    }

    /// A point in time in the user's zone: the time of day, with the date where a window is longer
    /// than a day, with milliseconds where it is shorter than ten seconds.
    pub(crate) fn clock(&self, time: FileTime, window: Window) -> String {
        let format = match window.seconds() {
            s if s > 86_400.0 => "%F %H:%M",
            s if s < 10.0 => "%T%.3f",
            _ => "%T",
        };
        self.formatted(time, format)
    }

    pub(crate) fn formatted(&self, time: FileTime, format: &str) -> String {
        match jiff::Timestamp::from_nanosecond(time.to_unix_nanos()) {
            Ok(time) => time.to_zoned(self.zone.clone()).strftime(format).to_string(),
            Err(_) => String::new(),
        }
    }
}

/// Whether a pane of the view draws a path over time, so that its past is kept. Tables show one
/// sample only.
pub(crate) fn is_drawn(view: &View, path: &str) -> bool {
    let draws = |pane: &&super::layout::Pane| pane.kind != Kind::Table;
    let mut drawn = view.panes.iter().filter(draws).flat_map(|pane| &pane.counters);
    drawn.any(|counter| counter.path == path)
}

/// Names entries by what differs: the instance alone where all are of one counter, and the object
/// only where several are mixed.
fn name_entries(entries: &mut [Entry<'_>]) {
    let whats: Vec<_> = entries.iter().filter_map(|entry| Some(&entry.line?.what)).collect();
    let Some(first) = whats.first() else { return };
    let one_object = whats.iter().all(|what| what.object == first.object);
    let one_counter = one_object && whats.iter().all(|what| what.counter == first.counter);
    let instances = |entry: &Entry<'_>| entry.line.and_then(|line| line.instance.clone());
    let first_instance = entries.iter().find_map(instances);
    let one_instance =
        entries.iter().all(|entry| entry.line.is_none() || instances(entry) == first_instance);
    let several = entries.len() > 1;
    for entry in entries.iter_mut() {
        let Some(line) = entry.line else { continue };
        let instance = line.instance.as_deref().unwrap_or_default();
        entry.name = match (one_counter, one_object) {
            (true, _) if several && !one_instance && !instance.is_empty() => instance.to_string(),
            (_, true) if one_instance || instance.is_empty() => line.what.counter.clone(),
            (_, true) => format!("{instance}  {}", line.what.counter),
            _ => line.full_name(),
        };
        entry.name = Escaped(&entry.name).to_string();
    }
}

/// A row of a table: the readings of one instance, one for each column.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) cells: Vec<Option<&'a Value>>,
    pub(crate) process: Option<u32>,
    /// How far it stands below its ancestors.
    pub(crate) depth: usize,
    /// Whether it is a sum or idle time.
    pub(crate) is_sum: bool,
}
