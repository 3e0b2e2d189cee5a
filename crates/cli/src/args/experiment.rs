//! Arguments of `perfhive experiment`.

use clap::{ArgAction, Args, Subcommand};
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
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentRun {
    /// An event at which the sensors are read: 'interval 10ms', 'call NAME', 'call *'
    ///
    /// `interval TIME` is an event at equal distances. `call NAME` is an event each time that the program
    /// calls perfhive at the point or section of that name; `call *` is each of its calls.
    #[arg(
        long, value_name = "EVENT", required = true, action = ArgAction::Append, value_parser = event
    )]
    pub(crate) on: Vec<ExperimentEvent>,

    /// A sensor or counter path; of Process without an instance, it is the program's
    ///
    /// By default the program's processor time, working set and page faults.
    #[arg(long, value_name = "SENSOR", action = ArgAction::Append)]
    pub(crate) sensor: Vec<String>,

    /// Write every record to this file, as JSON lines
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// How many records of each kind of event wait in memory for the file
    #[arg(
        long, value_name = "RECORDS", default_value = "16384",
        value_parser = clap::value_parser!(u32).range(2..=10_000_000)
    )]
    pub(crate) capacity: u32,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub(crate) program: Vec<OsString>,
}

/// An event of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExperimentEvent {
    /// At equal distances.
    Interval(Duration),
    /// At the calls of this name.
    Call(String),
}

/// Reads an event.
pub(crate) fn event(text: &str) -> Result<ExperimentEvent, String> {
    let expected = "expected 'interval TIME' or 'call NAME'";
    let (word, rest) = text.trim().split_once(' ').ok_or(expected)?;
    let rest = rest.trim();
    match word {
        "interval" => super::value::interval(rest).map(ExperimentEvent::Interval),
        "call" if rest.len() <= 96 => Ok(ExperimentEvent::Call(rest.to_string())),
        "call" => Err("the name of a call is at most 96 bytes long".to_string()),
        _ => Err(expected.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_a_word_and_what_it_takes() {
        let ms = Duration::from_millis(10);
        assert_eq!(event("interval 10ms"), Ok(ExperimentEvent::Interval(ms)));
        assert_eq!(event(" call  check out "), Ok(ExperimentEvent::Call("check out".to_string())));
        for wrong in ["", "call", "interval", "interval soon", "interval 1us", "wink 3"] {
            assert!(event(wrong).is_err(), "{wrong}");
        }
    }
}
