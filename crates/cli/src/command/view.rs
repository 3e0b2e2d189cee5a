//! `perfhive view`: starts the interface on a terminal.

use crate::args::{Global, View as Args, When};
use crate::failure::{Failure, Outcome};
use crate::interface::{self, Start, View};
use crate::replay::Replay;
use crate::session::Session;
use std::time::Duration;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let mut view = match &args.view {
        Some(name) => named(name)?,
        None if args.paths.is_empty() => View::built_in("overview").unwrap_or_default(),
        None => View::of_paths(&args.paths),
    };
    if args.view.is_some() && !args.paths.is_empty() {
        view.add_pane(&args.paths);
    }
    let mut session = Session::open(global)?;
    let replay = Replay::of(global, args.speed, session.source.is_live())?;
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let has_colours = match global.color {
        When::Always => true,
        When::Never => false,
        When::Auto => set("NO_COLOR").is_none(),
    };
    interface::run(Start {
        session,
        view,
        interval: args.interval.unwrap_or(Duration::from_secs(1)),
        replay,
        theme: interface::Theme::of_environment(has_colours, set),
        source: global.source.clone(),
    })
}

/// The built-in view of this name, or the view of the settings file with this path.
fn named(name: &str) -> Result<View, Failure> {
    if let Some(view) = View::built_in(&name.to_ascii_lowercase()) {
        return Ok(view);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let built_in = interface::BUILT_IN.join(", ");
        Failure::Usage(format!("{name}: {error}; the built-in views are {built_in}"))
    })?;
    View::parse(&text).map_err(|why| {
        // The parser's message has several lines, which become one.
        let why: Vec<&str> = why.split_whitespace().collect();
        Failure::Usage(format!("{name}: {}", why.join(" ")))
    })
}
