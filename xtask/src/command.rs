//! Starts other programs so that a reader can repeat by hand what was done.
//!
//! [`run`] prints each command before it runs, in a form that can be pasted into a shell. `cargo
//! run` describes the xtask package to its child through the environment; none of that is passed
//! on, because build scripts that watch those variables would otherwise rebuild after every change
//! between `cargo xtask test` and a plain `cargo test`.

use std::fmt;
use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Writes a line to standard output; see the macro `say`. Ends xtask if the reader closed the pipe.
pub(crate) fn say(text: fmt::Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    if writeln!(stdout, "{text}").and_then(|()| stdout.flush()).is_err() {
        std::process::exit(1); // The reader closed the pipe.
    }
}

/// A command that runs the cargo by which xtask was started, and so its toolchain.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args);
    clean(&mut command);
    command
}

/// A command that runs cargo of the nightly toolchain, for what stable does not offer.
pub(crate) fn nightly_cargo(args: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", &nightly(), "cargo"]).args(args);
    clean(&mut command);
    // The variable names the toolchain of xtask itself, and would override `rustup run`'s choice in
    // programs that this cargo starts.
    command.env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// The name of the nightly toolchain; `PERFHIVE_NIGHTLY` chooses another,
/// such as `nightly-2026-05-16` when today's is broken.
pub(crate) fn nightly() -> String {
    std::env::var("PERFHIVE_NIGHTLY").unwrap_or_else(|_| "nightly".to_owned())
}

/// A command that runs any other program.
pub(crate) fn program(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args);
    clean(&mut command);
    command
}

/// Makes a command start in the workspace root, without the variables in which cargo describes xtask.
fn clean(command: &mut Command) {
    if let Ok(root) = workspace::root() {
        command.current_dir(root);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|p| name.starts_with(p))
                || name == "CARGO_PRIMARY_PACKAGE"
                || name == "CARGO_CRATE_NAME"
        }) {
            command.env_remove(name);
        }
    }
}

/// Prints a command and runs it; an error unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    say!("$ {}", display(command));
    let status = start(command)?;
    check(command, status)
}

/// Runs a command without printing it and returns what it wrote to standard output; an error unless it
/// succeeds.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", display(command)))?;
    check(command, output.status)?;
    Ok(output.stdout)
}

/// Whether a command starts and succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a command to its end; an error only if it cannot be started.
fn start(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot start `{}`", display(command)))
}

/// An error that names the command, unless the status is success.
fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("`{}` failed ({status})", display(command))
}

/// The command line as a person would type it in the workspace root.
pub(crate) fn display(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!(
                "{}={}",
                name.to_string_lossy(),
                quote(&workspace::relative(&value.to_string_lossy()))
            ));
        }
    }
    let program = command.get_program().to_string_lossy();
    let is_cargo = std::env::var("CARGO").is_ok_and(|cargo| cargo == program);
    words.push(if is_cargo { "cargo".to_owned() } else { quote(&workspace::relative(&program)) });
    words.extend(command.get_args().map(|arg| quote(&workspace::relative(&arg.to_string_lossy()))));
    words.join(" ")
}

/// The word, quoted for a POSIX shell where that is needed.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("prog");
        command.args(["a b", "it's", "-x=1", "", r"\Memory\Available Bytes"]);
        command.env("NAME", "-D warnings").env_remove("GONE");
        assert_eq!(
            display(&command),
            r"NAME='-D warnings' prog 'a b' 'it'\''s' -x=1 '' '\Memory\Available Bytes'"
        );
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error_not_a_panic() {
        let error = run(&mut Command::new("perfhive-no-such-program"));
        assert!(error.is_err_and(|e| e.to_string().contains("cannot start")));
        assert!(!succeeds(&mut Command::new("perfhive-no-such-program")));
    }

    #[test]
    fn failure_names_the_command() {
        let mut command = program("false", &["x"]);
        assert!(run(&mut command).is_err_and(|e| e.to_string().contains("`false x` failed")));
    }
}
