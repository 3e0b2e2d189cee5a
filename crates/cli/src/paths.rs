//! Paths of the command line, and what is wrong with them.

use crate::absent;
use crate::args::Global;
use crate::failure::Failure;
use crate::names::{Names, did_you_mean};
use crate::session::Session;
use perfhive::{
    Fault, FaultKind, NamePattern, NoValue, ObjectQuery, Query, QueryError, Reading, Request,
    Snapshot, Source as _, TitleIndex, nearest,
};

/// Adds the paths of the command line; every one that is wrong is named.
pub(crate) fn add_paths(
    query: &mut Query,
    global: &Global,
    paths: &[String],
) -> Result<(), Failure> {
    let mut worst = None;
    for path in paths {
        if let Err(error) = query.add(path) {
            let failure = explain_error(error, global, path);
            worst = worst.max(Some(failure.report()));
        }
    }
    worst.map_or(Ok(()), |exit| Err(Failure::Said(exit)))
}

/// A path's error, with what can be known beyond it.
fn explain_error(error: QueryError, global: &Global, path: &str) -> Failure {
    match &error {
        QueryError::Path(_) if path.is_empty() => {
            Failure::Usage("a path is empty; expected \\Object(Instance)\\Counter".to_string())
        }
        // The shell has eaten the backslashes.
        QueryError::Path(_) if !path.contains('\\') => Failure::Usage(format!(
            "{error}; single quotes keep the shell from taking the backslashes away"
        )),
        QueryError::UnknownObject { name, .. } => {
            damaged_object(global, name).unwrap_or_else(|| error.into())
        }
        QueryError::UnknownCounter { object, name, .. } => {
            absent::reason(global, object, name).map_or_else(|| error.into(), Failure::Usage)
        }
        _ => error.into(),
    }
}

/// An object may be unknown because it is damaged in the first sample: then the
/// damage is what to tell.
pub(crate) fn damaged_object(global: &Global, name: &str) -> Option<Failure> {
    let mut session = Session::open(&Global { quiet: true, ..global.clone() }).ok()?;
    let mut snapshot = Snapshot::new();
    session.source.collect(&Request::new(ObjectQuery::Global), &mut snapshot).ok()?;
    if snapshot.faults().is_empty() {
        return None;
    }
    let names = Names::load(&mut session.source, session.language).ok()?;
    let pattern = NamePattern::with_wildcards(name);
    let meant =
        |fault: &&Fault| fault.object.is_some_and(|object| names.is_meant(&pattern, object));
    if let Some(fault) = snapshot.faults().iter().find(meant) {
        return Some(Failure::Source(fault.to_string()));
    }
    // It has a name, so it is registered; who has it may be one of those that
    // do not answer.
    let counters = || names.catalogue.objects.iter().flat_map(|object| &object.counters);
    let is_counter = |index: &TitleIndex| counters().any(|counter| counter.name == *index);
    names.titles().indexes(name).iter().find(|index| !is_counter(index))?;
    let silent = snapshot
        .faults()
        .iter()
        .filter(|fault| fault.object.is_none() && fault.kind == FaultKind::OpenFailed);
    let silent: Vec<String> = silent.map(ToString::to_string).collect();
    let why = || format!("object {name:?} is not there at the moment: {}", silent.join("; "));
    (!silent.is_empty()).then(|| Failure::Source(why()))
}

/// Paths whose instance is not there, with the names that are.
pub(crate) fn missing_instances(query: &Query) -> Vec<String> {
    let missing = |reading: &&Reading| matches!(reading.value, Err(NoValue::NoSuchInstance));
    let mut notes: Vec<String> = Vec::new();
    for reading in query.readings().iter().filter(missing) {
        let Some(pattern) = query.path(reading.path).and_then(|path| path.instance.clone()) else {
            continue;
        };
        let object = query.titles(reading.source).map_or_else(
            || reading.object.to_string(),
            |titles| titles.name_or_index(reading.object),
        );
        let mut note = format!("object {object:?} has no instance \"{pattern}\"");
        let names = query.instance_names(reading);
        let wanted = pattern.to_string();
        if names.is_empty() {
            note.push_str(" (it has none at the moment)");
        }
        note.push_str(&did_you_mean(&nearest(&wanted, names.iter().map(String::as_str), 3)));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
