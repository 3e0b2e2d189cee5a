//! `cargo xtask picture`: the README's picture, made from the program's own output.

use anyhow::{Context, Result, bail};

use crate::{command, tidy, workspace};

pub(crate) const HELP: &str = "\
Makes docs/picture.svg: the second table of `perfhive watch`, as SVG.

Usage: cargo xtask picture

Builds the program with optimisation and runs
`perfhive watch -n 2 -i 1 --color always`. Of its two tables the picture shows
the last: the first lacks the values that need two samples.
";

const OUTPUT: &str = "docs/picture.svg";

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        bail!("picture takes no arguments, and there is `{arg}`\n\n{HELP}");
    }
    let perfhive = workspace::release_binary()?.to_string_lossy().into_owned();
    let args = ["watch", "-n", "2", "-i", "1", "--color", "always"];
    let mut process = command::program(&perfhive, &args);
    say!("$ {}", command::display(&process));
    process.env("COLUMNS", "100");
    let text = String::from_utf8(command::output(&mut process)?)
        .context("the program did not print UTF-8")?;
    if let Some(path) = tidy::developer_path(&text) {
        bail!("the picture would show `{path}...`, a path of this machine");
    }
    let table = last_table(&text).context("the program printed no table")?;
    let svg = anstyle_svg::Term::new().render_svg(&format!("$ perfhive watch\n{table}"));
    std::fs::write(workspace::root()?.join(OUTPUT), &svg)
        .with_context(|| format!("cannot write {OUTPUT}"))?;
    say!("{OUTPUT}: {} lines, {} bytes", table.lines().count() + 1, svg.len());
    Ok(())
}

/// The last table. Every table begins with a bold line that names the machine.
fn last_table(text: &str) -> Option<&str> {
    const BOLD: &str = "\x1b[1m";
    let title = text.lines().next().filter(|line| line.starts_with(BOLD))?;
    let machine = title.split("  ").next()?;
    let start = text.rfind(&format!("\n{machine}")).map_or(0, |newline| newline + 1);
    Some(text.get(start..)?.trim_end())
}

#[cfg(test)]
mod tests {
    use super::last_table;

    #[test]
    fn the_last_of_two_tables_is_shown() {
        let table = |time| format!("\x1b[1mhost  {time}\x1b[0m\n\na  \x1b[1m1\x1b[0m\n");
        let text = format!("{}\n{}", table("12:00:01"), table("12:00:02"));
        assert_eq!(last_table(&text), Some(table("12:00:02").trim_end()));
        assert_eq!(last_table(&table("12:00:01")), Some(table("12:00:01").trim_end()));
        assert_eq!(last_table(""), None);
    }
}
