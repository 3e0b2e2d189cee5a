//! `perfhive view`: starts the interface on a terminal.

use crate::args::{Global, View as Args, When};
use crate::failure::{Failure, Outcome};
use crate::interface::{self, Start, View};
use crate::replay::Replay;
use crate::session::Session;
use std::time::Duration;

/// The most sources that a view shows.
const MOST_SOURCES: usize = 16;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let mut view = match &args.view {
        Some(name) => named(name)?,
        None if args.paths.is_empty() => View::built_in("overview").unwrap_or_default(),
        None => View::of_paths(&args.paths),
    };
    if args.view.is_some() && !args.paths.is_empty() {
        view.add_pane(&args.paths);
    }
    if global.sources.len() > MOST_SOURCES {
        return Err(Failure::Usage(format!("a view shows at most {MOST_SOURCES} sources")));
    }
    if global.sources.len() > 1 && args.speed.is_some() {
        let what = "--speed replays one recording, not several sources side by side";
        return Err(Failure::Usage(what.to_string()));
    }
    let takes_titles = |source: &&String| {
        let address = source.parse::<perfhive::SourceAddress>();
        address.is_ok_and(|at| at.scheme().capabilities.takes_titles)
    };
    let some_take_titles = global.sources.iter().any(|one| takes_titles(&one));
    let mut sources = Vec::new();
    for source in &global.sources {
        let mut global = Global { source: source.clone(), ..global.clone() };
        if some_take_titles && !takes_titles(&source) {
            global.titles.clear();
        }
        let mut session = Session::open(&global)?;
        let replay = Replay::of(&global, args.speed, session.source.is_live())?;
        sources.push((source.clone(), session, replay));
    }
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let has_colours = match global.color {
        When::Always => true,
        When::Never => false,
        When::Auto => set("NO_COLOR").is_none(),
    };
    interface::run(Start {
        sources,
        view,
        interval: args.interval.unwrap_or(Duration::from_secs(1)),
        theme: interface::Theme::of_environment(has_colours, set),
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
