//! The state of the interface. This module knows no terminal, source or thread.
//!
//! `Model::update` (in `update.rs`) takes an [`Event`] and returns [`Effect`]s; `draw` shows the
//! model. Tests use both without a terminal.

use super::entries::LineKey;
use super::files::Existing;
use super::layout::{Kind, View};
use super::pasted::Pasted;
use super::seen::Seen;
use super::tree::{Chooser, Tree};
use super::views::Left;
use jiff::tz::TimeZone;
use perfhive::{FileTime, Identity};
use perfhive_view::past::Window;
use perfhive_view::{Sample, Value};
use ratatui_core::layout::Rect;
use ratatui_crossterm::crossterm::event::{KeyEvent, MouseEvent};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// An event that the interface has to handle.
#[derive(Debug)]
pub(crate) enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// A pasted text, such as counter paths, one a line.
    Paste(String),
    Resize(u16, u16),
    /// Samples, the oldest first, and how long the last one took.
    Samples(Vec<Sample>, Duration),
    /// Samples of a recording that has grown. They replace as many of the newest known samples as the number says,
    /// since samples that were written late may lie between those.
    Later(usize, Vec<Sample>),
    /// A recording is read anew: the interface forgets all samples so far.
    Rewound,
    /// A recording was read to its end. If it has more samples than are kept, only every `every`-th was read; otherwise
    /// `every` is 1.
    Loaded {
        every: u64,
    },
    /// The sample of a recording that [`Effect::Look`] asked for.
    Looked(Sample),
    /// Samples of the part of a recording, with this window, that [`Effect::Near`] asked for.
    Near(Window, Vec<Sample>),
    /// The part of a recording, with this window, that [`Effect::Near`] asked for was read to its end. The number is 1
    /// if each of its samples was read, 2 if every second one was.
    NearLoaded(Window, u64),
    /// A path cannot be read, for this reason.
    Problem {
        path: String,
        why: String,
    },
    /// A path that [`Effect::Try`] asked about can be read.
    Ready(String),
    /// A path that [`Effect::Try`] asked about can be read, but its object is costly: one sample of it took the
    /// time `took` and has `values` values.
    Costly {
        path: String,
        object: String,
        took: Duration,
        values: usize,
    },
    Tree(Arc<Tree>),
    /// The instances of the object at a place in the tree.
    Instances(usize, Vec<String>),
    /// This path, which the interface asked for, names another machine than that of this source.
    Elsewhere(String),
    /// A message for the user, such as about a file that was written.
    Note(String),
    /// The reason why a part of the source cannot be read at present; `None` if all can be.
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

/// A request of the interface to the program around it, which reads sources and writes files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Quit,
    Suspend,
    /// Sample these paths from now on.
    Paths(Vec<String>),
    /// Find out whether a path can be read, and what it costs.
    Try(String),
    Interval(Duration),
    /// Read a sample of a recording again, for tables: the sample at `at`. Rates are calculated
    /// from the sample at `from`.
    Look {
        source: usize,
        from: FileTime,
        at: FileTime,
        /// The distance of the shown samples in the recording: 1 if every sample is shown, 2 if every second one
        /// is.
        every: u64,
    },
    /// Read a part of a recording again. The part has about `samples` samples; of many, not every one is read.
    Near {
        source: usize,
        window: Window,
        samples: u64,
    },
    /// Read the tree of all objects and counters.
    Browse,
    /// Read the instances of an object, given its place in the tree, its name, and its source;
    /// `None` for all sources.
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
    /// The plot area of the pane with this place.
    Plot(usize),
    /// A line in the legend of a pane: the places of the pane and of the line.
    Entry(usize, usize),
    /// The title of a table's column: the places of the pane and of the column; `None` is the column of instances.
    Column(usize, Option<usize>),
    Row(usize, usize),
    /// The line with this place in the list of counters.
    Choice(usize),
    Action(super::keys::Action),
}

/// The places of things that can be clicked, the topmost last.
pub(crate) type Hits = Vec<(Rect, Target)>;

/// The state of a pane that is not part of its settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct PaneState {
    /// The place of the selected line in the legend, or of the selected row in the table.
    pub(crate) selected: usize,
    /// The key of the selected row, as [`Row::key`] returns it; `None` without a chosen row.
    pub(crate) picked: Option<RowKey>,
    /// The selected line of the legend, as the number of its source and its key; `None` until the user has chosen
    /// one.
    pub(crate) line: Option<(usize, LineKey)>,
    /// The looks (the colour and the marker) that lines were given, by the number of the line's source and the line's
    /// key.
    pub(crate) looks: RefCell<HashMap<(usize, LineKey), (u8, char)>>,
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
    /// The first of the model's questions is shown, and waits for an answer.
    Confirm,
}

/// The question whether paths to a costly object are to be added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(crate) object: String,
    pub(crate) paths: Vec<String>,
    /// The cost of one sample of the object, as a text for people.
    pub(crate) cost: String,
}

/// A line that the user is typing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    /// Whether the line is a filter for the table instead of a command.
    pub(crate) is_filter: bool,
    pub(crate) text: String,
    /// The lines to which Tab can complete the typed line.
    pub(crate) candidates: Vec<String>,
}

/// The whole state of the interface.
pub(crate) struct Model {
    pub(crate) view: View,
    pub(crate) states: Vec<PaneState>,
    pub(super) left: Left,
    pub(crate) focus: usize,
    pub(crate) is_full: bool,
    /// The sources, at least one.
    pub(crate) sources: Vec<Seen>,
    pub(crate) is_frozen: bool,
    /// The length of the time that charts show, in seconds; `None` for everything.
    pub(crate) seconds: Option<f64>,
    /// The time at which charts end; `None` for the newest sample.
    pub(crate) end: Option<FileTime>,
    pub(crate) cursor: Option<FileTime>,
    /// The marked spans, at most two.
    pub(crate) spans: [Option<Window>; 2],
    /// The beginning of a span that is being marked; `None` if there is none.
    pub(crate) mark: Option<FileTime>,
    pub(crate) mode: Mode,
    /// The list of counters from which a text was opened; closing the text goes back to it. `None` if the text was
    /// opened from elsewhere.
    pub(crate) behind: Option<Chooser>,
    pub(crate) message: String,
    /// The paths that were pasted together, with their answers so far.
    pub(super) pasted: Pasted,
    /// The questions that the user has not answered yet, one for each costly object.
    pub(crate) questions: VecDeque<Question>,
    /// The reasons why paths have no values, by path.
    pub(crate) problems: HashMap<String, String>,
    /// The sources that have no values of a path, by path and number, each with the reason; `None`
    /// where the path names another machine.
    pub(crate) refused: HashMap<String, BTreeMap<usize, Option<String>>>,
    /// The objects and counters of all sources; `None` until a source has listed them.
    pub(crate) tree: Option<Arc<Tree>>,
    /// The object, and its counter or `None` for the object itself, that will be explained once the tree is read;
    /// `None` if nothing waits for that.
    pub(crate) to_explain: Option<(String, Option<String>)>,
    pub(crate) interval: Duration,
    pub(crate) size: (u16, u16),
    pub(crate) hits: Hits,
    /// The time under the mouse when its button was pressed in a plot; `None` if it was not pressed in one.
    pub(crate) drag: Option<FileTime>,
    /// The edge that the mouse moves, and the column or the line of the edge at present; `None` if the mouse moves
    /// none.
    pub(crate) edge: Option<(super::panes::Edge, u16)>,
    pub(crate) zone: TimeZone,
}

impl Model {
    /// A model without samples.
    pub(crate) fn new(view: View, sources: Vec<Seen>, interval: Duration) -> Self {
        let mut model = Self {
            states: Vec::new(),
            left: Vec::new(),
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
            pasted: Pasted::default(),
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

    /// The shown time: the time of the cursor, or else the time at which the charts end; `None` for
    /// the newest sample.
    pub(crate) fn time(&self) -> Option<FileTime> {
        self.cursor.or(self.end)
    }

    pub(crate) fn has_table(&self) -> bool {
        self.view.panes.iter().any(|pane| pane.kind == Kind::Table)
    }

    /// The rows of the table in a pane.
    pub(crate) fn rows(&self, place: usize) -> Vec<Row<'_>> {
        super::rows::rows(self, place)
    }

    /// A time in the user's zone: date, hours and minutes if the window is longer than a day,
    /// otherwise the time of day, with milliseconds below ten seconds and microseconds below a
    /// tenth of a second.
    pub(crate) fn clock(&self, time: FileTime, window: Window) -> String {
        let format = match window.seconds() {
            s if s > 86_400.0 => "%F %H:%M",
            s if s < 0.1 => "%T%.6f",
            s if s < 10.0 => "%T%.3f",
            _ => "%T",
        };
        self.formatted(time, format)
    }

    /// A time in the user's zone, with the date unless the newest live sample is of the same date.
    pub(crate) fn day_and_time(&self, time: FileTime) -> String {
        let live = self.sources.iter().filter(|one| one.is_live);
        let now = live.filter_map(|one| one.past.times().back().copied()).max();
        let day = |time| self.formatted(time, "%F");
        let is_today = now.is_some_and(|now| day(now) == day(time));
        self.formatted(time, if is_today { "%T" } else { "%F %T" })
    }

    /// A time in the user's zone, by a format of strftime; empty if the time is no valid date.
    pub(crate) fn formatted(&self, time: FileTime, format: &str) -> String {
        match jiff::Timestamp::from_nanosecond(time.to_unix_nanos()) {
            Ok(time) => time.to_zoned(self.zone.clone()).strftime(format).to_string(),
            Err(_) => String::new(),
        }
    }
}

/// The source of a row, the identity of its instance, and its counter if the row is of one counter.
pub(crate) type RowKey = (usize, Identity, Option<String>);

/// A row of a table: the readings of one instance, one for each column.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    /// The counter of the row, if the row's path has several counters, each with rows of its own; otherwise `None`.
    pub(crate) counter: Option<&'a str>,
    /// The number of the instance's source.
    pub(crate) source: usize,
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) cells: Vec<Option<&'a Value>>,
    pub(crate) process: Option<u32>,
    /// The number of ancestors that the row has in the tree; 0 for a row that begins a tree, and where no tree is
    /// shown.
    pub(crate) depth: usize,
    /// Whether the instance is a sum or idle time.
    pub(crate) is_sum: bool,
}

impl Row<'_> {
    /// The key by which the row is found again in another sample; `None` for a row without an
    /// identity.
    pub(crate) fn key(&self) -> Option<RowKey> {
        Some((self.source, self.identity?.clone(), self.counter.map(str::to_string)))
    }
}
