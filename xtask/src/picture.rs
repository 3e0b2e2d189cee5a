//! `cargo xtask picture`: the README's picture, made from the program's own output.
//!
//! A drawn or photographed terminal shows a program that was never there, or
//! no longer is. This one runs the program and renders what it printed, so the
//! picture can be made again whenever the output changes, by one command.

mod ansi;
mod svg;

use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::{command, tidy, workspace};

pub(crate) const HELP: &str = "\
Makes a picture of a terminal from a program's output, as SVG.

Usage: cargo xtask picture [OPTIONS] [-- COMMAND [ARG]...]

Without a command it builds the program with optimisation and runs
`perfhive watch -n 2 -i 1 --color always`, of which it takes the last table:
the first one lacks the values that need two samples.

Options:
  --output FILE   Where to (default: docs/picture.svg)
  --title TEXT    The command line that the picture shows (default: the
                  command's own, or `perfhive watch`)
";

const OUTPUT: &str = "docs/picture.svg";

/// What the command line asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    output: Option<String>,
    title: Option<String>,
    command: Vec<String>,
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    let options = parse(args)?;
    let (program, args, shown) = match options.command.split_first() {
        Some((program, args)) => {
            let file = program.rsplit('/').next().unwrap_or(program);
            let words = std::iter::once(file).chain(args.iter().map(String::as_str));
            let shown = words.map(command::quote).collect::<Vec<_>>().join(" ");
            (program.clone(), args.to_vec(), shown)
        }
        None => {
            let perfhive = workspace::release_binary()?.to_string_lossy().into_owned();
            let args = ["watch", "-n", "2", "-i", "1", "--color", "always"];
            (perfhive, args.map(str::to_owned).to_vec(), "perfhive watch".to_owned())
        }
    };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut process = command::program(&program, &args);
    say!("$ {}", command::display(&process));
    // No terminal is at hand, so the width is said in the usual variables.
    process.env("COLUMNS", "100").env("CLICOLOR_FORCE", "1").stdin(Stdio::null());
    let text = String::from_utf8(command::output(&mut process)?)
        .context("the program did not print UTF-8")?;

    let lines = ansi::lines(ansi::last_screen(&text));
    if lines.is_empty() {
        bail!("the program printed nothing to make a picture of");
    }
    let title = options.title.as_deref().unwrap_or(&shown);
    let texts = lines.iter().map(|line| line.iter().map(|span| span.text.as_str()).collect());
    if let Some(path) =
        texts.chain([title.to_owned()]).find_map(|text: String| tidy::developer_path(&text))
    {
        bail!("the picture would show `{path}...`, a path of this machine: choose another output");
    }
    let svg = svg::render(title, &lines);
    let output = options.output.as_deref().unwrap_or(OUTPUT);
    let path = workspace::root()?.join(output);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("no folder for {output}"))?;
    }
    std::fs::write(&path, &svg).with_context(|| format!("cannot write {output}"))?;
    say!("{output}: {} lines, {} bytes", lines.len(), svg.len());
    Ok(())
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (name, attached) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let mut value = || {
            attached
                .clone()
                .or_else(|| args.next().cloned())
                .with_context(|| format!("{name} needs a value"))
        };
        match name {
            "--output" => options.output = Some(value()?),
            "--title" => options.title = Some(value()?),
            "--" => {
                options.command = args.by_ref().cloned().collect();
                if options.command.is_empty() {
                    bail!("there is no command after `--`");
                }
            }
            _ => bail!("picture does not know `{arg}`\n\n{HELP}"),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(args: &[&str]) -> Vec<String> {
        args.iter().map(|arg| (*arg).to_owned()).collect()
    }

    #[test]
    fn arguments_are_read() -> Result<()> {
        let options = parse(&strings(&["--title=a b", "--output", "x.svg", "--", "ls", "--all"]))?;
        assert_eq!(options.title.as_deref(), Some("a b"));
        assert_eq!(options.output.as_deref(), Some("x.svg"));
        assert_eq!(options.command, ["ls", "--all"]);
        for args in [&["--"][..], &["--title"], &["ls"]] {
            assert!(parse(&strings(args)).is_err(), "{args:?}");
        }
        Ok(())
    }
}
