//! The `perfhive` command: Windows performance counters on the command line.
//!
//! `args` says what can be asked, `command` answers it, one module for each
//! command; `perfhive-view` makes rows and numbers of its results. What they share: `session` opens the source, `names` finds objects,
//! `sensors` opens a data source,
//! `output` and `text` print.
//! A failure is one line on standard error and an exit code (`failure`).
#![forbid(unsafe_code)]

mod absent;
mod args;
mod command;
mod complete;
mod failure;
mod interface;
mod output;
mod paths;
mod process;
mod sensors;
mod session;
mod signals;
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::one_line_for_panics();
    let completion = clap_complete::CompleteEnv::with_factory(complete::description);
    if let Ok(true) =
        completion.var(complete::VARIABLE).bin("perfhive").try_complete(std::env::args_os(), None)
    {
        return failure::Exit::Done.into();
    }
    // Not among the commands, so that nothing lists or suggests it: perfhive starts it itself.
    if std::env::args_os().skip(1).eq(["host"]) {
        return command::host();
    }
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|word| word == command::HOLD) {
        return command::hold(std::env::args_os().skip(2));
    }
    let arguments = match args::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return failure::of_arguments(&error),
    };
    // The files of many processes are kept open. Where the limit stays, fewer are.
    #[cfg(target_os = "linux")]
    let _ = perfhive::linux::raise_open_file_limit();
    match command::run(&arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report().into(),
    }
}
