//! The commands, each in a module of its own.

mod capture;
mod check;
mod columns;
mod completions;
mod convert;
mod diff;
mod dump;
mod enumerate;
mod experiment;
mod explain;
mod get;
mod info;
mod list;
mod man;
mod measure;
mod plot;
mod providers;
mod ps;
mod record;
mod register;
mod relog;
mod report;
mod sensors;
mod typeperf;
mod view;
mod watch;
mod workset;

use crate::args::{Arguments, Command};
use crate::failure::Outcome;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
pub(crate) use experiment::{HOLD, hold};
pub(crate) use plot::{scale as scale_of_plot, size as size_of_plot};
pub(crate) use watch::following;

/// Runs the command that the command line names.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let global = &arguments.global;
    check::be_host();
    match &arguments.command {
        Command::List(args) => list::run(global, args),
        Command::Explain(args) => explain::run(global, args),
        Command::Get(args) => get::run(global, args),
        Command::Watch(args) => watch::run(global, args),
        Command::View(args) => view::run(global, args),
        Command::Plot(args) => plot::run(global, args),
        Command::Enumerate(args) => enumerate::run(global, args),
        Command::Workset(args) => workset::run(global, args),
        Command::Ps(args) => ps::run(global, args),
        Command::Sensors(args) => sensors::run(global, args),
        Command::Measure(args) => measure::run(global, args),
        Command::Experiment(args) => experiment::run(global, args),
        Command::Capture(args) => capture::run(global, args),
        Command::Record(args) => record::run(global, args),
        Command::Convert(args) => convert::run(global, args),
        Command::Info(args) => info::run(global, args),
        Command::Report(args) => report::run(global, args),
        Command::Diff(args) => diff::run(global, args),
        Command::Typeperf(args) => typeperf::run(global, args),
        Command::Relog(args) => relog::run(global, args),
        Command::Dump(args) => dump::run(global, args),
        Command::Register(args) => register::run(global, args),
        Command::Unregister(args) => register::back(global, args),
        Command::Providers(args) => providers::run(global, args),
        Command::Check(args) => check::run(global, args),
        Command::Completions(args) => completions::run(global, args),
        Command::Man(args) => man::run(global, args),
    }
}

/// Runs this process as the host process of a provider's library, and returns its exit code when it ends.
pub(crate) fn host() -> ExitCode {
    check::host()
}
