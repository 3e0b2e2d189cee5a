//! Adds the counter paths of the command line to a query, and explains wrong ones.

mod meant;
mod silent;

pub(crate) use meant::{corrected_failure, without_separators};
pub(crate) use silent::silent;

use crate::absent;
use crate::args::Global;
use crate::args::value::{file_of, source_of_file};
use crate::failure::{Failure, warn};
use crate::session::{Session, told};
use crate::text::escape::shell_word;
use meant::{split_by_shell, swallowed, with_correction, with_instance};
use perfhive::{
    Ask, CatalogueObject, CounterPath, Fault, InstancePattern, NamePattern, NoValue, ObjectQuery,
    PathId, ProviderState, ProviderStatus, Query, QueryError, Reading, Snapshot, Source as _,
    nearest,
};
use perfhive_view::{Names, SHORT_NAMES, did_you_mean};
use silent::{missed_by, silent_in};
use std::sync::atomic::{AtomicBool, Ordering};

/// A path of the command line: its ID in the query, or the reason why its object cannot be read at
/// the moment.
pub(crate) type Added = Result<PathId, Absent>;

/// A path to an object that cannot be read at the moment, because its provider fails or hangs.
pub(crate) struct Absent {
    pub(crate) path: String,
    object: String,
    /// The reason why the object cannot be read.
    pub(crate) why: String,
}

impl Absent {
    pub(crate) fn message(&self) -> String {
        format!("object {:?} is not there at the moment: {}", self.object, self.why)
    }

    /// The path as an absent one, if adding it to the query failed with `error` because its object cannot be read at
    /// the moment; `None` if it failed for another reason.
    fn of(query: &mut Query, path: &str, error: &QueryError) -> Option<Self> {
        let object = path.parse::<CounterPath>().ok()?.object;
        let why = match error {
            QueryError::UnknownObject { .. } => silent_in(query, &object)?,
            QueryError::Source(error) if error.is_transient() => error.to_string(),
            _ => return None,
        };
        Some(Self { path: path.to_string(), object: object.to_string(), why })
    }
}

/// Adds to a query those of the absent paths that lead to objects which can be read now; returns the others.
pub(crate) fn add_absent(query: &mut Query, absent: Vec<Absent>) -> Vec<Absent> {
    let again = |one: Absent| {
        let error = query.add(&one.path).err()?;
        Some(Absent::of(query, &one.path, &error).unwrap_or(one))
    };
    absent.into_iter().filter_map(again).collect()
}

/// The paths unchanged, or a failure if none of their objects can be read; then each reason is printed.
pub(crate) fn fail_if_all_absent(added: Vec<Added>) -> Result<Vec<Added>, Failure> {
    if added.iter().any(Result::is_ok) {
        return Ok(added);
    }
    let mut worst = None;
    for absent in added.into_iter().filter_map(Result::err) {
        worst = worst.max(Some(Failure::Source(absent.message()).report()));
    }
    worst.map_or(Ok(Vec::new()), |exit| Err(Failure::Said(exit)))
}

/// Adds the paths of the command line to a query, in their order; a failure if a path is wrong. A path to an object
/// that exists but cannot be read at the moment keeps its place in the result as [`Absent`]. A text from which a shell
/// removed the backslashes is added as the path that it means, if only one is possible.
pub(crate) fn add_paths(
    query: &mut Query,
    global: &Global,
    paths: &[String],
) -> Result<Vec<Added>, Failure> {
    let mut worst = None;
    let mut added: Vec<Added> = Vec::new();
    let mut missed: Vec<String> = Vec::new();
    for (place, path) in paths.iter().enumerate() {
        let meant = |error, query: &mut Query| match swallowed(query, path, &error) {
            Some(path) => query.add(&path),
            None => Err(error),
        };
        let error = match query.add(path).or_else(|error| meant(error, query)) {
            Ok(id) => {
                missed.extend(missed_by(query, id));
                added.push(Ok(id));
                continue;
            }
            Err(error) => error,
        };
        if let Some(whole) = split_by_shell(query, paths.get(place..).unwrap_or_default(), &error) {
            let meant = shell_word(&whole);
            return Err(Failure::Usage(format!(
                "{path}: the shell divided a path at its blanks; write {meant}"
            )));
        }
        match Absent::of(query, path, &error) {
            Some(absent) => added.push(Err(absent)),
            None => {
                let providers = query.providers(0);
                // If the providers cannot be listed now, the source is made of providers.
                let of_providers = !matches!(&providers, Ok(none) if none.is_empty());
                let providers = providers.unwrap_or_default();
                let is_unknown = matches!(&error, QueryError::UnknownObject { .. });
                let failure = match (file_of(path), &error) {
                    (Some(file), _) => is_a_file(&file, "a counter"),
                    (None, QueryError::Path(_)) => not_a_path(query, error, path),
                    _ => explain_error(error, global, path, of_providers),
                };
                if paths.len() == 1 {
                    if is_unknown {
                        warn_of_refused(&providers);
                    }
                    return Err(failure);
                }
                worst = worst.max(Some(failure.report()));
                if is_unknown {
                    warn_of_refused(&providers);
                }
            }
        }
    }
    if let Some(mut worst) = worst {
        for absent in added.into_iter().filter_map(Result::err) {
            worst = worst.max(Failure::Source(absent.message()).report());
        }
        return Err(Failure::Said(worst));
    }
    missed.sort();
    missed.dedup();
    missed.iter().for_each(|why| warn(why));
    Ok(added)
}

/// The failure for the name of a file in the place of something else: `expected` is what, such as `an object`.
pub(crate) fn is_a_file(file: &str, expected: &str) -> Failure {
    let source = shell_word(&source_of_file(file));
    Failure::Usage(format!("{file} names a file, not {expected}; -s {source} reads it"))
}

/// Warns of refused registrations and refused published files, since a name that was not found may be one of theirs.
/// Further calls in a run print nothing.
pub(crate) fn warn_of_refused(providers: &[ProviderStatus]) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        refused(providers).iter().for_each(|why| warn(why));
    }
}

/// Messages about refused registrations and refused published files (counters that programs offer in shared memory): at
/// most eight, and the number of the others.
pub(crate) fn refused(providers: &[ProviderStatus]) -> Vec<String> {
    const MOST: usize = 8;
    let is_refused = |one: &&ProviderStatus| one.state == ProviderState::Refused;
    let all = providers.iter().filter(is_refused).filter_map(|one| one.last_fault.as_ref());
    let mut said: Vec<String> = Vec::new();
    let mut more = 0;
    for fault in all {
        if said.len() < MOST {
            said.push(told(fault));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        said.push(format!("{more} more are not read; perfhive providers shows them"));
    }
    said
}

/// Joins a failure to open the source with the syntax errors of the paths, which are errors with any
/// source ([`Failure::behind`]).
pub(crate) fn with_syntax(failure: Failure, paths: &[String]) -> Failure {
    let errors = paths.iter().filter_map(|path| Some((path.parse::<CounterPath>().err()?, path)));
    failure.behind(errors.map(|(error, path)| explain_syntax(error.into(), path)).collect())
}

/// The failure for the error of a path, with the cause if one is found: a damaged object, or a counter that this
/// machine lacks. `of_providers` is whether the source is made of providers: its error for an unknown object names
/// the cause already.
pub(crate) fn explain_error(
    error: QueryError,
    global: &Global,
    path: &str,
    of_providers: bool,
) -> Failure {
    match &error {
        // The error of a source made of providers already names the cause.
        QueryError::UnknownObject { name, .. } if !of_providers => {
            damaged_object(global, name).unwrap_or_else(|| with_correction(global, error, path))
        }
        QueryError::UnknownCounter { object, name, .. } => {
            match absent::reason(global, object, name) {
                Some(reason) => Failure::Usage(reason),
                None => with_correction(global, error, path),
            }
        }
        // If this machine lacks the counter, an instance would not help.
        QueryError::NeedsInstance { object, .. } => {
            let counter = path.parse::<CounterPath>().ok().map(|path| path.counter.to_string());
            match counter.and_then(|counter| absent::reason(global, object, &counter)) {
                Some(reason) => Failure::Usage(reason),
                None => with_correction(global, error, path),
            }
        }
        QueryError::UnknownMachine { name, .. } => {
            let known = recorded_machines(global);
            if known.len() < 2 {
                return error.into();
            }
            QueryError::UnknownMachine { name: name.clone(), known }.into()
        }
        _ => with_correction(global, error, path),
    }
}

/// The machines that a recording has counters of. A query knows only those that it has opened. Empty for a live source,
/// and where the recording cannot be read.
fn recorded_machines(global: &Global) -> Vec<String> {
    let session = Session::open_unnamed(&Global { quiet: true, ..global.clone() });
    let machines = session.ok().and_then(|mut session| {
        if session.source.is_live() { None } else { session.machines().ok() }
    });
    machines.unwrap_or_default()
}

/// The failure for a text that is not a path: it may be an object alone, or a mistyped short name.
fn not_a_path(query: &mut Query, error: QueryError, path: &str) -> Failure {
    let name = path.trim_matches(['/', '\\', ' ']);
    let (object_name, instance) = match name.split_once('(') {
        Some((object, _)) if name.ends_with(')') => (object, name.strip_prefix(object)),
        _ => (name, None),
    };
    if name.is_empty() || object_name.contains('\\') {
        return explain_syntax(error, path);
    }
    let pattern = NamePattern::literal(object_name);
    let object = |query: &Query| {
        let (titles, catalogue) = (query.titles(0)?, query.catalogue(0)?);
        let mut objects = catalogue.objects.iter();
        let is_it =
            |one: &&CatalogueObject| titles.names(one.name).any(|known| pattern.matches(known));
        objects.find(is_it).map(|object| object.has_instances)
    };
    if query.objects(None).is_ok()
        && let Some(has_instances) = object(query)
    {
        let instances = instance.unwrap_or(if has_instances { "(*)" } else { "" });
        let all = shell_word(&format!("{object_name}{instances}/*"));
        let list = shell_word(object_name);
        return Failure::Usage(format!(
            "{path} names no counter; perfhive list {list} shows the counters, perfhive get {all} \
             reads all of them"
        ));
    }
    if path.contains('\\') {
        return explain_syntax(error, path);
    }
    let near = nearest(name, SHORT_NAMES.iter().map(|(short, _)| *short), 2);
    let hint = match near.is_empty() {
        true => {
            "; expected Object/Counter, Object(Instance)/Counter, or a short name such as cpu; \
                 perfhive list shows the objects"
                .to_string()
        }
        false => did_you_mean(&near),
    };
    Failure::Usage(format!("{path} is neither a path nor a short name{hint}"))
}

/// The failure for the syntax error of a path.
pub(crate) fn explain_syntax(error: QueryError, path: &str) -> Failure {
    if path.is_empty() {
        return Failure::Usage("a path is empty; expected \\Object(Instance)\\Counter".to_string());
    }
    error.into()
}

/// The failure for an object that is unknown because it is damaged in the first
/// sample, or because its provider does not answer; `None` for other unknown objects.
pub(crate) fn damaged_object(global: &Global, name: &str) -> Option<Failure> {
    let mut session = Session::open(&Global { quiet: true, ..global.clone() }).ok()?;
    if session.source.is_live() {
        let mut providers = session.source.providers(&Ask::nothing()).unwrap_or_default();
        warn_of_refused(&providers);
        let mut names = Names::load(&mut session.source, session.language).ok()?;
        let pattern = NamePattern::with_wildcards(name);
        if pattern.as_literal().is_some() {
            // A provider reports its state only after it was asked.
            names.find_out(&mut session.source, &pattern);
            providers = session.source.providers(&Ask::nothing()).unwrap_or_default();
        }
        let why = silent(&providers, names.titles(), &names.catalogue, &pattern)?;
        let object = name.to_string();
        return Some(Failure::Source(Absent { path: String::new(), object, why }.message()));
    }
    let mut snapshot = Snapshot::new();
    session.source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).ok()?;
    if snapshot.faults().is_empty() {
        return None;
    }
    let names = Names::load(&mut session.source, session.language).ok()?;
    let pattern = NamePattern::with_wildcards(name);
    let meant =
        |fault: &&Fault| fault.object.is_some_and(|object| names.is_meant(&pattern, object));
    let fault = snapshot.faults().iter().find(meant);
    fault.map(|fault| Failure::Source(fault.to_string()))
}

/// The failure for a path, or for an object with an instance, where an object is expected; `None` for other texts,
/// and if there is no such object.
pub(crate) fn more_than_an_object(
    session: &mut Session,
    names: &mut Names,
    text: &str,
) -> Option<Failure> {
    let typed = perfhive_view::typed_path(text);
    // A short name may be the name of an object, so that only texts with separators are paths.
    let path = typed.parse::<CounterPath>().ok().filter(|_| text.contains(['/', '\\']));
    let (name, what, read) = match (&path, text.split_once('(')) {
        (Some(path), _) => (path.object.to_string(), "a counter", path.to_string()),
        (None, Some((object, _))) if text.ends_with(')') => {
            (object.trim_start_matches(['\\', '/']).to_string(), "an instance", format!("{text}/*"))
        }
        _ => return None,
    };
    let object = names.objects(&mut session.source, &NamePattern::with_wildcards(&name));
    (!object.is_empty()).then(|| {
        let (list, read) = (shell_word(&name), shell_word(&read));
        Failure::Usage(format!(
            "{text} names {what}, and an object such as {list} is expected; read it by perfhive get {read}"
        ))
    })
}

/// A message for each path to an instance that does not exist, with the nearest names of instances.
pub(crate) fn missing_instances(query: &Query) -> Vec<String> {
    let missing = |reading: &&Reading| matches!(reading.value, Err(NoValue::NoSuchInstance));
    let mut notes: Vec<String> = Vec::new();
    for reading in query.readings().iter().filter(missing) {
        let Some(path) = query.path(reading.path).filter(|path| path.instance.is_some()) else {
            continue;
        };
        let (object, _) = query.names_of(reading);
        if let Some(process) = path.instance.as_ref().and_then(InstancePattern::process_id) {
            let note = match process {
                0 => format!("{path}: the process with the ID 0 is Idle; write its name"),
                _ => format!("{path}: no process has the ID {process}; perfhive ps lists them"),
            };
            if !notes.contains(&note) {
                notes.push(note);
            }
            continue;
        }
        let names = query.instance_names(reading);
        let wanted = path.instance.as_ref().map(ToString::to_string).unwrap_or_default();
        let near = nearest(&wanted, names.iter().map(String::as_str), 3);
        let corrected = |name: &&str| with_instance(path, &object, name);
        let note = match near.first().map(corrected) {
            _ if names.is_empty() => {
                format!("{path}: object {object:?} has no instances at the moment")
            }
            None if !query.is_live() => format!(
                "{path}: object {object:?} has no instance {wanted:?} in the sample that is read; --begin chooses a \
                 later one, and perfhive watch shows all"
            ),
            None => format!(
                "{path}: object {object:?} has no instance {wanted:?}; perfhive list {object:?} lists \
                 the instances"
            ),
            Some(meant) => format!(
                "{path}: object {object:?} has no instance {wanted:?}{} Write {}",
                did_you_mean(&near),
                shell_word(&meant)
            ),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
