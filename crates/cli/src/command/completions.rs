//! `perfhive completions`: prints scripts by which shells complete perfhive's command line.

use crate::args::{Completions, Global};
use crate::complete::VARIABLE;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use clap_complete::Shell;
use clap_complete::env::Shells;

/// The part of the script that bash needs in addition. bash puts candidates on the command line
/// unchanged, so that the program must escape them unless a quote is open. Only the word as typed
/// shows whether a quote is open.
const BASH: &[u8] = b"_perfhive() {
    local -x PERFHIVE_WORD=\"${COMP_WORDS[COMP_CWORD]}\"
    _clap_complete_perfhive \"$@\"
}
complete -o nospace -o bashdefault -F _perfhive perfhive
";

pub(super) fn run(global: &Global, args: &Completions) -> Outcome {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let Some(shell) = shells.completer(&name) else {
        return Err(Failure::Usage(format!("no completions for {name}")));
    };
    shell.write_registration(VARIABLE, "perfhive", "perfhive", "perfhive", &mut script)?;
    if args.shell == Shell::Bash {
        script.extend_from_slice(BASH);
    }
    Output::new(global).write(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
