//! The `perfhive` command: Windows performance counters on the command line.
//!
//! `args` describes the command line, and `command` has a module for each
//! command; `perfhive-view` turns results into rows and numbers. The commands share `session`, which opens the
//! source, `paths` and `sensors`, which find what is asked for, and
//! `output` and `text`, which print.
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
mod replay;
mod sensors;
mod session;
mod signals;
mod text;
mod unfinished;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::one_line_for_panics();
    let completion = clap_complete::CompleteEnv::with_factory(complete::description);
    if let Ok(true) =
        completion.var(complete::VARIABLE).bin("perfhive").try_complete(std::env::args_os(), None)
    {
        return failure::Exit::Done.into();
    }
    // `host` is not among the commands, so that nothing lists or suggests it: only perfhive starts it.
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
    if arguments.global.quiet {
        failure::silence_warnings();
    }
    // The files of many processes stay open. If the limit cannot be raised, fewer do.
    #[cfg(target_os = "linux")]
    let _ = perfhive::linux::raise_open_file_limit();
    // A file that reaches the limit of its size (`ulimit -f`) is then an error of writing, as on a full disk.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    match command::run(&arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report().into(),
    }
}
