//! `perfhive man`: prints the manual page, in roff.

use crate::args::{self, Global, Man};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use perfhive_view::did_you_mean;
use std::io::{self, Write};

pub(super) fn run(global: &Global, args: &Man) -> Outcome {
    let mut command = args::description();
    command.build();
    let mut title = "perfhive".to_string();
    for name in &args.about {
        let found = command.find_subcommand(name).ok_or_else(|| {
            let names = command.get_subcommands().map(clap::Command::get_name);
            let meant = match perfhive::nearest(name, names, 1).as_slice() {
                [] => format!("; see {} --help", title.replace('-', " ")),
                found => did_you_mean(found),
            };
            Failure::Usage(format!("no command {name:?}{meant}"))
        })?;
        title = format!("{title}-{name}");
        command = found.clone().name(&title).version(env!("CARGO_PKG_VERSION"));
    }
    let mut page = Vec::new();
    render(command, &mut page)?;
    Output::new(global).write(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}

fn render(command: clap::Command, out: &mut Vec<u8>) -> io::Result<()> {
    let subcommands = command.get_subcommands().next().is_some();
    let behind = command.get_after_long_help().or_else(|| command.get_after_help());
    let behind = behind.map(ToString::to_string).unwrap_or_default();
    let man = clap_mangen::Man::new(command).manual("perfhive");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if subcommands {
        man.render_subcommands_section(out)?;
    }
    sections(&behind, out)?;
    man.render_version_section(out)
}

/// Writes the text behind a command's help as roff. A line that is not indented and ends in a colon is the title of a
/// section, which is written in capitals. Lines indented by two spaces lose these, and are shown line by line; other
/// lines are joined to paragraphs.
fn sections(text: &str, out: &mut impl Write) -> io::Result<()> {
    let mut verbatim = false;
    let mut begin = |verbatim_now: bool, out: &mut dyn Write| {
        let command = match (std::mem::replace(&mut verbatim, verbatim_now), verbatim_now) {
            (false, true) => ".nf\n",
            (true, false) => ".fi\n",
            _ => "",
        };
        out.write_all(command.as_bytes())
    };
    for line in text.lines() {
        if let Some(title) = line.strip_suffix(':').filter(|title| !title.starts_with(' ')) {
            begin(false, out)?;
            writeln!(out, ".SH {}", escaped(&title.to_uppercase()))?;
        } else if let Some(line) = line.strip_prefix("  ") {
            begin(true, out)?;
            writeln!(out, "{}", escaped(line))?;
        } else if line.is_empty() {
            begin(false, out)?;
            writeln!(out, ".PP")?;
        } else {
            begin(false, out)?;
            writeln!(out, "{}", escaped(line))?;
        }
    }
    begin(false, out)
}

/// The text, escaped so that roff prints it unchanged.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    // A full stop at the start of a line would be a request.
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_roff() {
        let mut out = Vec::new();
        sections("Examples:\n  get '\\M' -i\n\n.plain\nmore\n", &mut out).unwrap();
        let expected = ".SH EXAMPLES\n.nf\nget \\(aq\\eM\\(aq \\-i\n.fi\n.PP\n\\&.plain\nmore\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
