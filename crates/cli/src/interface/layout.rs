//! The content of a view: panes with counters. `settings` reads and writes the files that hold one.

use perfhive::CounterPath;
use perfhive_view::axis::LineScale;
use perfhive_view::palette::{LOOKS, look};
use serde::{Deserialize, Serialize};

/// The kind of a pane: how it shows its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Lines over time.
    #[default]
    Chart,
    /// A bar for each line: the value of a counter or instance at the shown time.
    Histogram,
    /// A number for each line: the value of a counter or instance at the shown time.
    Report,
    /// A row for each instance, a column for each counter.
    Table,
    /// A lane over time for each instance: marks where the first counter grows, bars while another is above 0.
    Timeline,
}

impl Kind {
    /// All kinds with their names, in the order of [`next`](Self::next).
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Chart, "chart"),
        (Self::Histogram, "histogram"),
        (Self::Report, "report"),
        (Self::Table, "table"),
        (Self::Timeline, "timeline"),
    ];

    /// The kind with this name; `None` for another text.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// The next kind; the first kind follows the last.
    pub(crate) fn next(self) -> Self {
        let place = Self::ALL.iter().position(|(kind, _)| *kind == self).unwrap_or(0);
        Self::ALL.get((place + 1) % Self::ALL.len()).map_or(self, |(kind, _)| *kind)
    }
}

/// A counter of a pane, and the look of its lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counter {
    /// The counter path. A path with wildcards gives several lines, of which the first has the look of `colour` and
    /// `marker`.
    pub(crate) path: String,
    /// Whether the path has a wildcard in the place of the counter.
    pub(crate) has_several: bool,
    /// The place of the first line's colour in the palette.
    pub(crate) colour: u8,
    /// The marker of the first line.
    pub(crate) marker: char,
    pub(crate) scale: LineScale,
    pub(crate) is_visible: bool,
    /// The limit above which values are highlighted; `None` for no limit.
    pub(crate) threshold: Option<f64>,
}

impl Counter {
    /// A counter with this path, automatic scale and no threshold, and with the colour and marker that [`look`] gives
    /// for the number.
    pub(crate) fn new(path: &str, number: usize) -> Self {
        let (colour, marker) = look(number % LOOKS);
        Self {
            path: path.to_string(),
            has_several: path.parse::<CounterPath>().is_ok_and(|path| path.counter.is_wild()),
            colour,
            marker,
            scale: LineScale::Automatic,
            is_visible: true,
            threshold: None,
        }
    }
}

/// A pane: a part of the screen with counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pane {
    pub(crate) title: String,
    pub(crate) kind: Kind,
    pub(crate) counters: Vec<Counter>,
    /// The place of the column by which a table is ordered. `None` is the order of the source, or,
    /// with `is_reversed`, the order of the names from the last to the first.
    pub(crate) sort: Option<usize>,
    /// Whether the order is reversed, to the smallest value or the last name first.
    pub(crate) is_reversed: bool,
    /// The most rows of a table; `None` for no limit.
    pub(crate) top: Option<usize>,
    /// Whether processes are shown as a tree, below their parents.
    pub(crate) is_tree: bool,
    /// The pane's place on the screen; `None` if it follows from the kind of the pane.
    pub(crate) share: Option<Share>,
}

/// The place on the screen that the user has given to a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number of the row, from above.
    pub(crate) row: u16,
    /// The pane's share of the width that its row has beyond the least widths of its panes, in relation to the
    /// shares of the other panes.
    pub(crate) width: u16,
    /// The row's share of the height that the screen has beyond the least heights of the rows, in relation to the
    /// shares of the other rows. Of the panes of a row, the one with the largest share decides.
    pub(crate) height: u16,
}

/// A view: its panes, and the time that charts show.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    pub(crate) name: String,
    /// The length of the time that charts show, in seconds; `None` for a whole recording.
    pub(crate) seconds: Option<f64>,
    /// Whether charts stand still and are overwritten from the left, with a bar at the newest sample.
    pub(crate) wraps: bool,
    pub(crate) panes: Vec<Pane>,
    /// Whether this is a built-in view, or that of an experiment, of which the user has changed no pane and no choice
    /// of counters: counters that the source lacks are left out of it silently.
    pub(crate) is_built_in: bool,
}

/// The seconds that charts show by default: perfmon's hundred points, and some more.
pub(crate) const SECONDS: f64 = 120.0;
/// The most panes of a view.
pub(crate) const MOST_PANES: usize = 12;
/// The most counters of a pane.
pub(crate) const MOST_COUNTERS: usize = 64;

fn pane(title: &str, kind: Kind, paths: &[&str]) -> Pane {
    let counters = paths.iter().enumerate().map(|(place, path)| Counter::new(path, place));
    Pane { title: title.to_string(), kind, counters: counters.collect(), ..Pane::default() }
}

/// The names of the built-in views, in the order of their keys.
pub(crate) const BUILT_IN: [&str; 7] =
    ["overview", "processor", "memory", "disk", "network", "processes", "containers"];

impl View {
    /// A view with one chart of these paths.
    pub(crate) fn of_paths(paths: &[String]) -> Self {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        Self {
            name: "counters".to_string(),
            seconds: Some(SECONDS),
            panes: vec![pane("", Kind::Chart, &paths)],
            ..Self::default()
        }
    }

    /// Adds a chart of these paths; it replaces the last pane if the view has [`MOST_PANES`] panes already.
    pub(crate) fn add_pane(&mut self, paths: &[String]) {
        self.panes.truncate(MOST_PANES - 1);
        let share = self.row_below();
        self.panes
            .extend(Self::of_paths(paths).panes.into_iter().map(|pane| Pane { share, ..pane }));
        self.is_built_in = false;
    }

    /// The view of an experiment's records: a timeline of the events, and below it a chart of each
    /// sensor, given by title and path, up to [`MOST_PANES`] panes.
    pub(crate) fn of_experiment(sensors: impl Iterator<Item = (String, String)>) -> Self {
        let events = [r"\Experiment Events(*)\Events", r"\Experiment Events(*)\Open Sections"];
        let mut panes = vec![pane("Events", Kind::Timeline, &events)];
        panes.extend(
            sensors.take(MOST_PANES - 1).map(|(title, path)| pane(&title, Kind::Chart, &[&path])),
        );
        Self::of_panes("experiment", panes)
    }

    /// The built-in view with this name; `None` if there is none.
    pub(crate) fn built_in(name: &str) -> Option<Self> {
        use Kind::{Chart, Histogram, Report, Table};
        let processes = |title: &str| Pane {
            sort: Some(0),
            ..pane(
                title,
                Table,
                &[
                    r"\Process(*)\% Processor Time",
                    r"\Process(*)\Working Set",
                    r"\Process(*)\Thread Count",
                    r"\Process(*)\IO Data Bytes/sec",
                    r"\Process(*)\Creating Process ID",
                ],
            )
        };
        let cpu = [
            r"\Processor(_Total)\% Processor Time",
            r"\Processor(_Total)\% User Time",
            r"\Processor(_Total)\% Privileged Time",
        ];
        let panes = match name {
            "overview" => vec![
                pane("Processor", Chart, &cpu),
                pane("Memory", Chart, &[r"\Memory\Available Bytes", r"\Memory\Committed Bytes"]),
                pane(
                    "Disk",
                    Chart,
                    &[
                        r"\PhysicalDisk(_Total)\Disk Read Bytes/sec",
                        r"\PhysicalDisk(_Total)\Disk Write Bytes/sec",
                    ],
                ),
                pane(
                    "Network",
                    Chart,
                    &[
                        r"\Network Interface(*)\Bytes Received/sec",
                        r"\Network Interface(*)\Bytes Sent/sec",
                    ],
                ),
                processes("Processes"),
            ],
            "processor" => vec![
                pane("All processors", Chart, &cpu),
                pane("Each processor", Histogram, &[r"\Processor(*)\% Processor Time"]),
                pane("Each processor", Chart, &[r"\Processor(*)\% Processor Time"]),
                pane(
                    "System",
                    Report,
                    &[
                        r"\System\Processor Queue Length",
                        r"\System\Context Switches/sec",
                        r"\System\Processes",
                        r"\System\Threads",
                        r"\System\Load Average 1 min",
                        r"\System\Load Average 5 min",
                        r"\System\Load Average 15 min",
                        r"\System\System Up Time",
                    ],
                ),
            ],
            "memory" => vec![
                pane(
                    "Memory",
                    Chart,
                    &[
                        r"\Memory\Available Bytes",
                        r"\Memory\Committed Bytes",
                        r"\Memory\Cache Bytes",
                    ],
                ),
                pane(
                    "Paging",
                    Chart,
                    &[r"\Memory\Page Faults/sec", r"\Memory\Page Reads/sec", r"\Memory\Pages/sec"],
                ),
                Pane {
                    sort: Some(0),
                    ..pane(
                        "Processes",
                        Table,
                        &[
                            r"\Process(*)\Working Set",
                            r"\Process(*)\Private Bytes",
                            r"\Process(*)\Virtual Bytes",
                            r"\Process(*)\Page Faults/sec",
                        ],
                    )
                },
            ],
            "disk" => vec![
                pane(
                    "Transferred",
                    Chart,
                    &[
                        r"\PhysicalDisk(*)\Disk Read Bytes/sec",
                        r"\PhysicalDisk(*)\Disk Write Bytes/sec",
                    ],
                ),
                pane(
                    "Time of a transfer",
                    Chart,
                    &[
                        r"\PhysicalDisk(*)\Avg. Disk sec/Read",
                        r"\PhysicalDisk(*)\Avg. Disk sec/Write",
                    ],
                ),
                pane(
                    "Disks",
                    Table,
                    &[
                        r"\PhysicalDisk(*)\% Disk Time",
                        r"\PhysicalDisk(*)\Disk Reads/sec",
                        r"\PhysicalDisk(*)\Disk Writes/sec",
                        r"\PhysicalDisk(*)\Current Disk Queue Length",
                    ],
                ),
                pane(
                    "Volumes",
                    Table,
                    &[r"\LogicalDisk(*)\% Free Space", r"\LogicalDisk(*)\Free Megabytes"],
                ),
            ],
            "network" => vec![
                pane("Received", Chart, &[r"\Network Interface(*)\Bytes Received/sec"]),
                pane("Sent", Chart, &[r"\Network Interface(*)\Bytes Sent/sec"]),
                pane(
                    "Interfaces",
                    Table,
                    &[
                        r"\Network Interface(*)\Bytes Received/sec",
                        r"\Network Interface(*)\Bytes Sent/sec",
                        r"\Network Interface(*)\Packets Received/sec",
                        r"\Network Interface(*)\Packets Sent/sec",
                        r"\Network Interface(*)\Packets Received Errors",
                    ],
                ),
                pane(
                    "TCP",
                    Report,
                    &[
                        r"\TCPv4\Connections Established",
                        r"\TCPv4\Segments Received/sec",
                        r"\TCPv4\Segments Sent/sec",
                        r"\TCPv4\Segments Retransmitted/sec",
                        r"\TCPv4\Connection Failures",
                    ],
                ),
            ],
            "processes" => vec![processes("Processes")],
            // These objects are costly, and are asked for only when this view is opened.
            "containers" => vec![
                Pane {
                    sort: Some(0),
                    ..pane(
                        "Containers",
                        Table,
                        &[
                            r"\Container(*)\% Processor Time",
                            r"\Container(*)\Memory Bytes",
                            r"\Container(*)\Tasks",
                            r"\Container(*)\Storage Read Bytes/sec",
                        ],
                    )
                },
                Pane {
                    sort: Some(0),
                    ..pane(
                        "Control groups",
                        Table,
                        &[
                            r"\Cgroup(*)\% Processor Time",
                            r"\Cgroup(*)\Tasks",
                            r"\Cgroup(*)\% CPU Throttled Time",
                        ],
                    )
                },
                Pane {
                    sort: Some(0),
                    ..pane(
                        "Job objects",
                        Table,
                        &[r"\Job Object(*)\Current % Processor Time", r"\Job Object(*)\Pages/Sec"],
                    )
                },
            ],
            _ => return None,
        };
        Some(Self::of_panes(name, panes))
    }

    fn of_panes(name: &str, panes: Vec<Pane>) -> Self {
        let (name, seconds) = (name.to_string(), Some(SECONDS));
        Self { name, seconds, panes, is_built_in: true, wraps: false }
    }

    /// The place for a new pane in a row below all others, with the mean height share of the panes; `None` if a pane
    /// has no row, or if there are no panes.
    pub(crate) fn row_below(&self) -> Option<Share> {
        let last = self.rows()?.into_iter().max()?;
        let heights = self.panes.iter().filter_map(|pane| Some(u64::from(pane.share?.height)));
        let mean = heights.sum::<u64>() / self.panes.len().max(1) as u64;
        Some(Share { row: last.saturating_add(1), width: 1, height: mean as u16 })
    }

    /// The row of each pane; `None` if a pane has none, so that the places of all follow from their kinds.
    pub(crate) fn rows(&self) -> Option<Vec<u16>> {
        self.panes.iter().map(|pane| Some(pane.share?.row)).collect()
    }

    /// Whether a pane has a counter with this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.panes.iter().flat_map(|pane| &pane.counters).any(|counter| counter.path == path)
    }

    /// The paths of all panes, without duplicates.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for counter in self.panes.iter().flat_map(|pane| &pane.counters) {
            if !paths.contains(&counter.path) {
                paths.push(counter.path.clone());
            }
        }
        paths
    }
}
