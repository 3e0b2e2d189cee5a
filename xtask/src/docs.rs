//! `cargo xtask dist-docs`: the man page and the shell completions.
//!
//! The program writes them itself, from the same definitions that read its command line, so they
//! cannot describe an option that does not exist. This command only puts them where a packager
//! looks, under the names that man and the shells expect.

use anyhow::{Context, Result, bail};

use crate::{command, workspace};

pub(crate) const HELP: &str = "\
Writes the man page and shell completions to target/dist.

Usage: cargo xtask dist-docs

Builds the command with optimisation and asks it for `perfhive man` and
`perfhive completions bash|zsh|fish`.
";

/// Of each document, the arguments with which the program prints it, and its file name in the
/// folder `dist`.
const DOCUMENTS: &[(&[&str], &str)] = &[
    (&["man"], "perfhive.1"),
    (&["completions", "bash"], "perfhive.bash"),
    (&["completions", "zsh"], "_perfhive"),
    (&["completions", "fish"], "perfhive.fish"),
];

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        bail!("dist-docs takes no arguments, but there is `{arg}`");
    }
    let perfhive = workspace::release_binary()?;
    let folder = workspace::target_directory()?.join("dist");
    std::fs::create_dir_all(&folder).context("cannot create the folder dist")?;
    for (args, name) in DOCUMENTS {
        let text = command::output(&mut command::program(&perfhive.to_string_lossy(), args))?;
        if text.trim_ascii().is_empty() {
            bail!("`perfhive {}` printed nothing", args.join(" "));
        }
        let path = folder.join(name);
        let shown = workspace::relative(&path.to_string_lossy());
        std::fs::write(&path, &text).with_context(|| format!("cannot write {shown}"))?;
        say!("{shown}: {} bytes", text.len());
    }
    Ok(())
}
