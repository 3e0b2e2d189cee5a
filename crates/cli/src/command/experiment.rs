//! `perfhive experiment`: a program measured at its own events.

pub(super) mod around;
#[cfg(target_os = "linux")]
mod events;
pub(super) mod figures;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod manage;
#[cfg(target_os = "linux")]
mod managed;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod sources;
#[cfg(target_os = "linux")]
mod table;

use crate::args::{Experiment, Global};
#[cfg(not(target_os = "linux"))]
use crate::failure::Failure;
use crate::failure::Outcome;

#[cfg(target_os = "linux")]
pub(crate) use program::{HOLD, hold};

pub(super) fn run(global: &Global, args: &Experiment) -> Outcome {
    #[cfg(target_os = "linux")]
    {
        use crate::args::ExperimentCommand as It;
        match &args.command {
            It::Run(args) => run::run(global, args),
            It::List(args) => manage::list(global, args),
            It::Bind(args) => manage::bind(args),
            It::Start(args) => manage::set_running(args, true),
            It::Stop(args) => manage::set_running(args, false),
            It::Limit(args) => manage::limit(args),
            It::Fetch(args) => manage::fetch(args),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (global, args);
        let what = "experiments with programs are run on Linux only; perfhive measure reads sensors at \
                    equal distances";
        Err(Failure::Usage(what.to_string()))
    }
}
