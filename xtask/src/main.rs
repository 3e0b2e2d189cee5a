//! `cargo xtask`: everything that is done *to* this workspace rather than by it.
//!
//! One program in the language of the project replaces a folder of shell scripts: it is checked by
//! the same compiler and lints, it is tested, and it needs nothing but Rust to start. It installs
//! everything else that a command needs, and says so. It depends on few crates: it is built before
//! anything can be checked, so its build must be short.

/// Like `println!`, but ends xtask instead of panicking when the reader closes the pipe, as `| head`
/// does.
macro_rules! say {
    ($($text:tt)*) => { $crate::command::say(format_args!($($text)*)) };
}

mod bench;
mod command;
mod docs;
mod java;
mod test;
mod tidy;
mod tools;
mod wine;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
Builds, checks, tests and measures perfhive.

Usage: cargo xtask <COMMAND> [OPTIONS]

Commands:
  tidy        Checks the layout of the workspace: which crate may import which, what a
              source file may hold, which files and links must exist
  test        Runs everything that must pass, installing what it needs
  bench       Measures, and prints tables for BENCHMARKS.md
  dist-docs   Writes the man page and shell completions to target/dist

`cargo xtask <COMMAND> --help` tells more about a command.
";

fn main() -> ExitCode {
    match dispatch(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The function of a command; it gets the arguments after the command's name.
type Run = fn(&[String]) -> Result<()>;

/// Runs the command that the first argument names, with the other arguments, or prints help where
/// that is asked for.
fn dispatch(args: Vec<String>) -> Result<()> {
    let Some((command, rest)) = args.split_first() else {
        bail!("a command is missing\n\n{HELP}");
    };
    let (run, help): (Run, &str) = match command.as_str() {
        "tidy" => (tidy::main, tidy::HELP),
        "test" => (test::main, test::HELP),
        "bench" => (bench::main, bench::HELP),
        "dist-docs" => (docs::main, docs::HELP),
        "help" | "-h" | "--help" => {
            say!("{}", HELP.trim_end());
            return Ok(());
        }
        other => bail!("there is no command `{other}`\n\n{HELP}"),
    };
    // The arguments behind `--` are for another program.
    let own = rest.iter().take_while(|arg| *arg != "--");
    if own.into_iter().any(|arg| arg == "-h" || arg == "--help") {
        say!("{}", help.trim_end());
        return Ok(());
    }
    run(rest)
}
