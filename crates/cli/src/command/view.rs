//! `perfhive view`: starts the interface on a terminal.

use crate::args::value::{is_file, source_of_file};
use crate::args::{Global, View as Args, When};
use crate::failure::{Exit, Failure, Outcome, complain_in_lines};
use crate::interface::{self, Growth, Shown, Start, View};
use crate::replay::Replay;
use crate::session::Session;
use perfhive::recording::EventBlocks;
use perfhive::{Ask, CounterPath, InstancePattern, LanguageId, Source as _, SourceAddress};
use std::time::Duration;

/// The most sources that a view shows.
const MOST_SOURCES: usize = 16;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let mut global = global.clone();
    let (files, paths): (Vec<String>, Vec<String>) =
        args.paths.iter().cloned().partition(|path| is_file(path));
    if !files.is_empty() {
        // Recordings take the place of this machine, unless -s names it.
        global.sources.retain(|_| global.has_source);
        global.sources.extend(files.iter().map(|file| source_of_file(file)));
    }
    let global = &global;
    if global.sources.len() > MOST_SOURCES {
        return Err(Failure::Usage(format!("a view shows at most {MOST_SOURCES} sources")));
    }
    if global.sources.len() > 1 && args.speed.is_some() {
        let what = "--speed replays one recording, not several sources side by side";
        return Err(Failure::Usage(what.to_string()));
    }
    let takes_titles = |source: &str| {
        let address = source.parse::<SourceAddress>();
        address.is_ok_and(|at| at.scheme().capabilities.takes_titles)
    };
    let some_take_titles = global.sources.iter().any(|one| takes_titles(one));
    let mut sources = Vec::new();
    for source in &global.sources {
        let mut global = Global { source: source.clone(), ..global.clone() };
        if some_take_titles && !takes_titles(source) {
            global.titles.clear();
        }
        let growth = growth_of(&global);
        let mut session = Session::open(&global)?;
        let is_live = session.source.is_live();
        let replay = Replay::of(&global, args.speed, is_live)?;
        let growth = growth.filter(|_| !is_live);
        sources.push(Shown { address: source.clone(), session, replay, growth });
    }
    let mut view = match &args.view {
        Some(name) => named(name)?,
        None if paths.is_empty() => {
            match sources.iter_mut().find_map(|one| of_experiment(&mut one.session)) {
                Some(view) => view,
                None => View::built_in("overview").unwrap_or_default(),
            }
        }
        None => View::of_paths(&paths),
    };
    if args.view.is_some() && !paths.is_empty() {
        view.add_pane(&paths);
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

/// The files of a recording, which the interface watches for growth, and how they are opened again; `None` for other
/// sources, and if one is no regular file.
fn growth_of(global: &Global) -> Option<Growth> {
    let files = global.source.parse::<SourceAddress>().ok()?.files();
    let global = global.clone();
    let reopen = move || Session::reopen(&global).map_err(|failure| failure.message());
    Growth::of(files, Box::new(reopen))
}

/// The view of an experiment's records: a timeline of its events, and charts of its sensors below it.
/// `None` if the source is no such recording.
fn of_experiment(session: &mut Session) -> Option<View> {
    if session.source.is_live() {
        return None;
    }
    let catalogue = session.source.catalogue(&Ask::everything()).ok()?;
    let titles = session.source.titles(LanguageId::ENGLISH, &Ask::nothing()).ok()?;
    let events = titles.indexes(EventBlocks::OBJECT).first().copied()?;
    catalogue.object(events)?;
    let mut sensors = Vec::new();
    for object in catalogue.objects.iter().filter(|object| object.name != events) {
        for counter in &object.counters {
            let (Some(group), Some(name)) = (titles.name(object.name), titles.name(counter.name))
            else {
                continue;
            };
            let instance = object.has_instances.then(InstancePattern::any);
            sensors.push((format!("{group}  {name}"), CounterPath::new(group, instance, name)));
        }
    }
    let sensors = sensors.iter().map(|(title, path)| (title.clone(), path.to_string()));
    Some(View::of_experiment(sensors))
}

/// The built-in view of this name, in any case of its letters, or the view of the settings file with this path; a
/// failure if there is neither.
fn named(name: &str) -> Result<View, Failure> {
    if let Some(view) = View::built_in(&name.to_ascii_lowercase()) {
        return Ok(view);
    }
    let text = View::text_of(name).map_err(|error| {
        let built_in = interface::BUILT_IN.join(", ");
        Failure::Usage(format!("{name}: {error}; the built-in views are {built_in}"))
    })?;
    View::parse(&text).map_err(|why| {
        complain_in_lines(&format!("{name}: {why}"));
        Failure::Said(Exit::Usage)
    })
}
