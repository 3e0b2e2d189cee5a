//! `perfhive completions`: scripts that complete its command line.

use crate::args::{self, Completions, Global};
use crate::failure::{Exit, Outcome};
use crate::output::Output;

pub(super) fn run(global: &Global, args: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::description(), "perfhive", &mut script);
    Output::new(global).write(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
