//! Arguments of `perfhive experiment`.

use clap::{ArgAction, Args, Subcommand};
use perfhive::experiment::EventFilter;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Experiment {
    #[command(subcommand)]
    pub(crate) command: ExperimentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentCommand {
    /// Start a program and measure it at its events
    Run(ExperimentRun),
    /// List experiments under way, or what one has
    List(ExperimentOne),
    /// Add an event; an event that is not a call may have its own sensors
    Bind(ExperimentBind),
    /// Resume recording after a stop
    Start(ExperimentSource),
    /// Pause recording until a start
    Stop(ExperimentSource),
    /// Limit the number of recorded events, or change the filter
    Limit(ExperimentLimit),
    /// Print the records from now on, as JSON lines
    Fetch(ExperimentFetch),
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentOne {
    /// The process ID of the program, or of the perfhive that runs the experiment
    pub(crate) pid: Option<u32>,

    /// List the sensors that can be bound, with this text in their names
    #[arg(long, value_name = "TEXT", requires = "pid")]
    pub(crate) sensors: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentBind {
    /// The process ID of the program, or of the perfhive that runs the experiment
    pub(crate) pid: u32,

    /// The event, as for run --on; a call is measured with the sensors of the other calls
    #[arg(value_parser = event)]
    pub(crate) event: ExperimentEvent,

    /// A sensor or counter path, as for run
    #[arg(long, value_name = "SENSOR", action = ArgAction::Append)]
    pub(crate) sensor: Vec<String>,

    /// Filter for the events, as for run
    #[arg(long = "where", value_name = "FILTER", value_parser = filter_text)]
    pub(crate) filter: Option<String>,
}

/// The text itself if it is a valid filter or the word `none`; the error says what is wrong with the filter.
fn filter_text(text: &str) -> Result<String, String> {
    match text {
        "none" => Ok(text.to_string()),
        _ => text.parse::<EventFilter>().map(|_| text.to_string()).map_err(|why| why.to_string()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentSource {
    /// The process ID of the program, or of the perfhive that runs the experiment
    pub(crate) pid: u32,

    /// The event source by its name in `perfhive experiment list`, such as call or 'interval 10ms'; all sources by default
    #[arg(value_name = "SOURCE")]
    pub(crate) event_source: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentLimit {
    /// The process ID of the program, or of the perfhive that runs the experiment
    pub(crate) pid: u32,

    /// The limit, counted from the beginning of the experiment; `none` for no limit
    #[arg(value_name = "EVENTS", value_parser = limit)]
    pub(crate) limit: Limit,

    /// The event source by its name in `perfhive experiment list`, such as call or 'interval 10ms'; all sources by default
    #[arg(value_name = "SOURCE")]
    pub(crate) event_source: Option<String>,

    /// Filter for the events, as for run; `none` removes the filter. Without SOURCE it applies to all sources except intervals
    #[arg(long = "where", value_name = "FILTER", value_parser = filter_text)]
    pub(crate) filter: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentFetch {
    /// The process ID of the program, or of the perfhive that runs the experiment
    pub(crate) pid: u32,

    /// Stop after this many records
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = super::value::count)]
    pub(crate) count: Option<u64>,
}

/// The number of events after which no more are recorded; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<u64>);

fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "none" => Ok(Limit(None)),
        _ => text
            .parse()
            .map(|limit| Limit(Some(limit)))
            .map_err(|_| "expected a number of events, or none".to_string()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentRun {
    /// An event at which the sensors are read: 'interval 10ms', 'call NAME', 'uprobe FUNCTION', 'usdt PROVIDER:NAME', 'thread start', 'start NAME', 'end NAME', 'signal USR1', 'line FD', 'line PATH', 'above SENSOR LIMIT'
    ///
    /// `interval TIME`: at equal intervals.
    /// `call NAME`: the program calls perfhive at the point or section of that name; `call *` is every call.
    /// `uprobe FUNCTION`, `uretprobe FUNCTION`: an unmodified program enters or leaves a function (`PATH:FUNCTION`
    /// for a function of a library).
    /// `usdt PROVIDER:NAME`: the program reaches a probe that its authors placed.
    /// `thread start`, `thread end`: a thread of the program starts or ends.
    /// `start NAME`, `end NAME`: any process of the machine starts to run the program with the file name NAME
    /// (`start gzip`), or ends.
    /// `signal USR1`, `signal USR2`: perfhive receives the signal.
    /// `line FD`, `line PATH`: perfhive reads a line from its descriptor FD, or from the FIFO PATH.
    /// `above SENSOR LIMIT below LIMIT`: the value of the sensor, read every 10 ms, rises to the first limit (start)
    /// or falls below the second (end). Without `below`, the two limits are equal.
    #[arg(
        long, value_name = "EVENT", required = true, action = ArgAction::Append, value_parser = event
    )]
    pub(crate) on: Vec<ExperimentEvent>,

    /// A sensor or counter path; a sensor of Process without an instance is that of the program
    ///
    /// The default is the program's processor time and working set.
    #[arg(long, value_name = "SENSOR", action = ArgAction::Append)]
    pub(crate) sensor: Vec<String>,

    /// Record only events that match: 'seconds > 0.01', "'Working Set' > 100000000", 'call paid: every 10'
    ///
    /// A filter consists of comparisons and 'every N', with 'and' between them. It may compare pid, tid, name (* for any
    /// text), type (point, start, end), seconds (of a section) and sensors (in quotes). It applies to all events but those
    /// of intervals, or to the event of --on that stands before a colon. Events that do not match are counted as filtered.
    #[arg(long = "where", value_name = "FILTER", action = ArgAction::Append)]
    pub(crate) filters: Vec<ExperimentFilter>,

    /// Write every record to this file, as JSON lines, or as a recording if the name ends in .phr
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// For each other event, print the means of the sensors of `--on 'interval ...'` in this time before and after it: 50ms, 2s
    #[arg(long, value_name = "TIME", value_parser = super::value::duration)]
    pub(crate) around: Option<Duration>,

    /// Poll for the next call or probe for this time before sleeping: 200us
    ///
    /// An event is then measured sooner and costs the program less, because the program need not wake perfhive. While
    /// polling, perfhive uses one processor, or two with both calls and probes. Useful if events are closer together than
    /// this time.
    #[arg(long, value_name = "TIME", value_parser = super::value::spin)]
    pub(crate) spin: Option<Duration>,

    /// Send every record, as JSON lines, to a listening socket: unix:PATH or tcp:127.0.0.1:PORT
    #[arg(long, value_name = "ADDRESS", action = ArgAction::Append)]
    pub(crate) deliver: Vec<String>,

    /// Number of records of each event source that may wait in memory until they are written
    #[arg(
        long, value_name = "RECORDS", default_value = "16384",
        value_parser = clap::value_parser!(u32).range(2..=10_000_000)
    )]
    pub(crate) capacity: u32,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub(crate) program: Vec<OsString>,
}

/// A filter of `--where`. With `on` it is for that event alone, without it for all events but those of intervals.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExperimentFilter {
    pub(crate) on: Option<ExperimentEvent>,
    pub(crate) filter: EventFilter,
}

impl std::str::FromStr for ExperimentFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(": ").and_then(|(on, rest)| Some((event(on).ok()?, rest)));
        let (on, text) = parts.map_or((None, text), |(on, rest)| (Some(on), rest));
        Ok(Self { on, filter: text.parse().map_err(|why| format!("{why}"))? })
    }
}

/// An event of the command line: when the sensors are read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExperimentEvent {
    /// At intervals of this length.
    Interval(Duration),
    /// When the program calls perfhive at the point or section of this name; `*` is every name.
    Call(String),
    /// When any process of the machine begins to run the program with this file name.
    Start(String),
    /// When a process that runs the program with this file name ends.
    End(String),
    /// When the program enters this function. The path is the file with the function; `None` is the program's own.
    Uprobe(Option<PathBuf>, String),
    /// When the program leaves this function. The path is as in `Uprobe`.
    Uretprobe(Option<PathBuf>, String),
    /// When the program comes to the USDT probe of this provider and name. The path is as in `Uprobe`.
    Usdt(Option<PathBuf>, String, String),
    /// When a thread of the program starts.
    ThreadStart,
    /// When a thread of the program ends.
    ThreadEnd,
    /// When perfhive gets this signal: USR1 or USR2.
    Signal(String),
    /// When perfhive reads a line on this file descriptor of its own.
    Line(u32),
    /// When perfhive reads a line from the FIFO with this path.
    LineOf(PathBuf),
    /// When the value of the sensor with this name rises to the first limit, and when it falls below the second.
    Above(String, f64, f64),
}

impl std::fmt::Display for ExperimentEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interval(every) => {
                let millis = every.as_secs_f64() * 1e3;
                match millis < 1000.0 {
                    true => write!(f, "interval {millis}ms"),
                    false => write!(f, "interval {}s", millis / 1e3),
                }
            }
            Self::Call(name) => write!(f, "call {name}"),
            Self::Start(name) => write!(f, "start {name}"),
            Self::End(name) => write!(f, "end {name}"),
            Self::Uprobe(file, function) => write!(f, "uprobe {}{function}", Before(file)),
            Self::Uretprobe(file, function) => write!(f, "uretprobe {}{function}", Before(file)),
            Self::Usdt(file, provider, name) => {
                write!(f, "usdt {}{provider}:{name}", Before(file))
            }
            Self::ThreadStart => f.write_str("thread start"),
            Self::ThreadEnd => f.write_str("thread end"),
            Self::Signal(name) => write!(f, "signal {name}"),
            Self::Line(descriptor) => write!(f, "line {descriptor}"),
            Self::LineOf(path) => write!(f, "line {}", path.display()),
            Self::Above(sensor, above, below) if above == below => {
                write!(f, "above {sensor} {above}")
            }
            Self::Above(sensor, above, below) => write!(f, "above {sensor} {above} below {below}"),
        }
    }
}

/// Displays a file as `FILE:`, to stand before the name of a function or probe in it; displays nothing for `None`.
struct Before<'a>(&'a Option<PathBuf>);

impl std::fmt::Display for Before<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |file| write!(f, "{}:", file.display()))
    }
}

/// Parses an event such as `interval 10ms`; the error says what is expected.
pub(crate) fn event(text: &str) -> Result<ExperimentEvent, String> {
    let expected = "expected 'interval TIME', 'call NAME', 'uprobe FUNCTION', 'uretprobe FUNCTION', \
                    'usdt PROVIDER:NAME', 'thread start', 'thread end', 'start NAME', 'end NAME', \
                    'signal USR1', 'line FD', 'line PATH' or 'above SENSOR LIMIT'";
    let (word, rest) = text.trim().split_once(' ').ok_or(expected)?;
    let rest = rest.trim();
    match word {
        "interval" => super::value::interval(rest).map(ExperimentEvent::Interval),
        "call" if rest.len() <= 96 => Ok(ExperimentEvent::Call(rest.to_string())),
        "call" => Err("the name of a call is at most 96 bytes long".to_string()),
        "uprobe" => probed(rest).map(|(file, name)| ExperimentEvent::Uprobe(file, name)),
        "uretprobe" => probed(rest).map(|(file, name)| ExperimentEvent::Uretprobe(file, name)),
        "usdt" => {
            let expected =
                "expected 'usdt PROVIDER:NAME', or with the file 'usdt PATH:PROVIDER:NAME'";
            let (before, name) = rest.rsplit_once(':').ok_or(expected)?;
            let (file, provider) = probed(before).map_err(|_| expected)?;
            Ok(ExperimentEvent::Usdt(file, provider, name.to_string()))
        }
        "thread" => match rest {
            "start" => Ok(ExperimentEvent::ThreadStart),
            "end" => Ok(ExperimentEvent::ThreadEnd),
            _ => Err("expected 'thread start' or 'thread end'".to_string()),
        },
        "start" | "end" if rest.contains('*') => {
            Err(format!("{word} takes the name of one process, without wildcards"))
        }
        "start" => match rest.rsplit_once('/') {
            Some((_, name)) => {
                Err(format!("start takes a file name without its path: 'start {name}'"))
            }
            None => Ok(ExperimentEvent::Start(rest.to_string())),
        },
        "end" => Ok(ExperimentEvent::End(rest.to_string())),
        "signal" => match rest.to_ascii_uppercase().trim_start_matches("SIG") {
            name @ ("USR1" | "USR2") => Ok(ExperimentEvent::Signal(name.to_string())),
            _ => Err("the signals of events are USR1 and USR2".to_string()),
        },
        "above" => above(rest),
        "line" => match rest.parse() {
            Ok(descriptor) => Ok(ExperimentEvent::Line(descriptor)),
            Err(_) if rest.contains('/') => Ok(ExperimentEvent::LineOf(rest.into())),
            Err(_) => Err(
                "line takes the number of a descriptor, as in 'line 3' 3< FILE, or the path of a \
                           FIFO with a slash in it, as in 'line ./FIFO'"
                    .to_string(),
            ),
        },
        _ => Err(expected.to_string()),
    }
}

/// Parses `PATH:NAME` or `NAME` into the path, if there is one, and the name. The error says what is expected;
/// names with `::` are refused.
fn probed(text: &str) -> Result<(Option<PathBuf>, String), String> {
    let (file, name) = match text.rsplit_once(':') {
        Some((file, name)) => (Some(file), name),
        None => (None, text),
    };
    if file.is_some_and(|file| file.ends_with(':')) {
        let what = "has a ::, but names of C++ and Rust are given as nm lists them, such as _ZN4shop4paidEv";
        return Err(what.to_string());
    }
    if name.is_empty() || file == Some("") {
        return Err("expected the name of a function, or 'PATH:FUNCTION'".to_string());
    }
    Ok((file.map(PathBuf::from), name.to_string()))
}

/// Parses `SENSOR LIMIT` or `SENSOR LIMIT below LIMIT`; the sensor's name may have spaces. Without `below` the
/// second limit equals the first. It is an error if the second limit is the greater one.
fn above(text: &str) -> Result<ExperimentEvent, String> {
    let expected =
        || "expected 'above SENSOR LIMIT' or 'above SENSOR LIMIT below LIMIT'".to_string();
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let (rest, below) = match text.rsplit_once(" below ") {
        Some((rest, below)) => (rest, Some(number(below.trim()).ok_or_else(expected)?)),
        None => (text, None),
    };
    let (sensor, limit) = rest.trim().rsplit_once(' ').ok_or_else(expected)?;
    let limit = number(limit).ok_or_else(expected)?;
    let below = below.unwrap_or(limit);
    if below > limit {
        return Err("the limit behind 'below' is at most the other one".to_string());
    }
    Ok(ExperimentEvent::Above(sensor.trim().to_string(), limit, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_a_word_and_what_it_takes() {
        let ms = Duration::from_millis(10);
        assert_eq!(event("interval 10ms"), Ok(ExperimentEvent::Interval(ms)));
        assert_eq!(ExperimentEvent::Interval(ms).to_string(), "interval 10ms");
        assert_eq!(event(" call  check out "), Ok(ExperimentEvent::Call("check out".to_string())));
        assert_eq!(event("signal sigusr2"), Ok(ExperimentEvent::Signal("USR2".to_string())));
        assert_eq!(event("line 3"), Ok(ExperimentEvent::Line(3)));
        assert_eq!(event("line ./3 4"), Ok(ExperimentEvent::LineOf("./3 4".into())));
        assert_eq!(event("line ./3").map(|event| event.to_string()), Ok("line ./3".to_string()));
        let (file, name) = (Some(PathBuf::from("./a b:c")), "work".to_string());
        for (text, wanted) in [
            ("uprobe work", ExperimentEvent::Uprobe(None, name.clone())),
            ("uretprobe ./a b:c:work", ExperimentEvent::Uretprobe(file.clone(), name.clone())),
            ("usdt shop:work", ExperimentEvent::Usdt(None, "shop".to_string(), name.clone())),
            ("usdt ./a b:c:shop:work", ExperimentEvent::Usdt(file, "shop".to_string(), name)),
            ("thread start", ExperimentEvent::ThreadStart),
        ] {
            assert_eq!(event(text), Ok(wanted.clone()), "{text}");
            assert_eq!(wanted.to_string(), text);
        }
        for wrong in [
            "signal KILL",
            "line three",
            "line -1",
            "",
            "call",
            "interval",
            "interval soon",
            "interval 1us",
            "wink 3",
            "start ./shop",
            "start *",
            "end sh*",
            "uprobe :work",
            "uprobe shop::work",
            "uprobe work:",
            "usdt work",
            "usdt :work",
            "thread x",
        ] {
            assert!(event(wrong).is_err(), "{wrong}");
        }
    }
}
