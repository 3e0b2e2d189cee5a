//! The path that was probably meant by a wrong one.

use super::{explain_error, warn_of_refused};
use crate::args::Global;
use crate::failure::Failure;
use crate::session::Session;
use crate::text::escape::shell_word;
use perfhive::{
    Catalogue, CounterPath, InstancePattern, NamePattern, NoValue, Query, QueryError, Reading,
    TitleSet, nearest,
};

/// The failure for the error of a path, with the path that was probably meant.
pub(super) fn with_correction(global: &Global, error: QueryError, path: &str) -> Failure {
    match correction(global, &error, path) {
        Some(meant) => {
            let (error, meant) = (error.to_string(), shell_word(&meant));
            let write = if error.ends_with('?') { " Write" } else { "; write" };
            Failure::Usage(format!("{error}{write} {meant}"))
        }
        None => error.into(),
    }
}

/// The path that was probably meant: with all mistakes corrected, so that it can be read. `None` if
/// there is no such path. It is looked for with a query of its own, since the query of the command
/// would keep the paths that are tried.
fn correction(global: &Global, error: &QueryError, path: &str) -> Option<String> {
    /// The most corrections that are tried after the first: object, counter and instance may each
    /// be wrong.
    const MOST: usize = 3;
    let mut meant = corrected(error, path)?.to_string();
    let mut query = quiet_query(global)?;
    let mut tried = 0;
    let id = loop {
        match query.add(&meant) {
            Ok(id) => break id,
            Err(error) => meant = corrected(&error, &meant).filter(|_| tried < MOST)?.to_string(),
        }
        tried += 1;
    };
    // A collection that fails says nothing about the names, so its error is ignored.
    let _ = query.collect();
    let is_missing = |one: &&Reading| matches!(one.value, Err(NoValue::NoSuchInstance));
    if let Some(missing) = query.readings_of(id).find(is_missing) {
        let whole: CounterPath = meant.parse().ok()?;
        let wanted = whole.instance.as_ref()?.to_string();
        let names = query.instance_names(missing);
        let near = nearest(&wanted, names.iter().map(String::as_str), 1);
        return Some(with_instance(&whole, &whole.object.to_string(), near.first()?));
    }
    Some(meant)
}

/// The text of a path with another object and instance, on the machine that the path names.
pub(super) fn with_instance(path: &CounterPath, object: &str, instance: &str) -> String {
    let machine = path.machine.as_ref().map(|machine| format!("\\\\{machine}"));
    format!("{}\\{object}({instance})\\{}", machine.unwrap_or_default(), path.counter)
}

/// The failure for a path with an unknown object or counter, for commands that show no readings; `None` for any other
/// path. It has the path that was probably meant, if one is found.
pub(crate) fn corrected_failure(global: &Global, path: &str) -> Option<Failure> {
    let mut query = quiet_query(global)?;
    let error = query.add(path).err()?;
    if !matches!(&error, QueryError::UnknownObject { .. } | QueryError::UnknownCounter { .. }) {
        return None;
    }
    let providers = query.providers(0);
    let of_providers = !matches!(&providers, Ok(none) if none.is_empty());
    if matches!(&error, QueryError::UnknownObject { .. }) {
        warn_of_refused(&providers.unwrap_or_default());
    }
    Some(explain_error(error, global, path, of_providers))
}

/// A query over the source, without messages; `None` where it cannot be opened.
fn quiet_query(global: &Global) -> Option<Query> {
    let session = Session::open(&Global { quiet: true, ..global.clone() });
    session.ok()?.query().ok()
}

/// The path with one mistake corrected. The nearest name replaces an unknown object or counter, the instance `*` is
/// added where one is needed, and an instance is removed where there are none. `None` if the error is another one, or
/// no name is near.
fn corrected(error: &QueryError, path: &str) -> Option<CounterPath> {
    let mut meant: CounterPath = path.parse().ok()?;
    match error {
        QueryError::UnknownObject { nearest, .. } => {
            meant.object = NamePattern::literal(nearest.first()?);
        }
        QueryError::UnknownCounter { nearest, .. } => {
            meant.counter = NamePattern::literal(nearest.first()?);
        }
        QueryError::NeedsInstance { .. } => meant.instance = Some(InstancePattern::any()),
        QueryError::HasNoInstances { .. } => meant.instance = None,
        _ => return None,
    }
    Some(meant)
}

/// The only path that a text can mean if a shell removed the backslashes from it; `error` is the one with which adding
/// the text failed. `None` if this error has another cause, if no path or several are possible, and on Windows.
pub(super) fn swallowed(query: &mut Query, text: &str, error: &QueryError) -> Option<String> {
    let is_whole = text.contains('\\') && matches!(error, QueryError::Path(_));
    // The shells of Windows do not remove backslashes, and listing all objects asks every provider there.
    if cfg!(windows)
        || is_whole
        || !matches!(error, QueryError::Path(_) | QueryError::UnknownObject { .. })
    {
        return None;
    }
    // Objects that take time to find out are needed, too.
    query.objects(None).ok()?;
    without_separators(query.titles(0)?, query.catalogue(0)?, text)
}

/// The path that equals a text when its separators are removed, if there is exactly one; `None` otherwise.
pub(crate) fn without_separators(
    titles: &TitleSet,
    catalogue: &Catalogue,
    text: &str,
) -> Option<String> {
    let key = |text: &str| text.replace(['\\', '/'], "").to_lowercase();
    let (object, instance, counter) = match (text.find('('), text.rfind(')')) {
        (Some(open), Some(close)) if open < close => {
            (key(text.get(..open)?), text.get(open..=close)?, key(text.get(close + 1..)?))
        }
        _ => (String::new(), "", key(text)),
    };
    let mut found = None;
    for known in &catalogue.objects {
        for counter_index in known.counters.iter().map(|counter| counter.name) {
            let is_it = titles.names(known.name).any(|of| match instance {
                "" => titles.names(counter_index).any(|name| key(of) + &key(name) == counter),
                _ => {
                    key(of) == object
                        && titles.names(counter_index).any(|name| key(name) == counter)
                }
            });
            let meant = (known.name, counter_index);
            if is_it && found.replace(meant).is_some_and(|other| other != meant) {
                return None;
            }
        }
    }
    let (object, counter) = found?;
    let (object, counter) = (titles.name_or_index(object), titles.name_or_index(counter));
    Some(format!("\\{object}{instance}\\{counter}"))
}

/// The path that several words of the command line form together, after a shell split it at its
/// blanks and removed the backslashes. `None` if they form no path.
pub(super) fn split_by_shell(
    query: &mut Query,
    words: &[String],
    error: &QueryError,
) -> Option<String> {
    /// The most words that are joined to a path.
    const MOST: usize = 6;
    if !matches!(
        error,
        QueryError::Path(_) | QueryError::UnknownCounter { .. } | QueryError::NeedsInstance { .. }
    ) {
        return None;
    }
    // An empty word, such as that of a variable without a value, is no part of a path.
    if words.first().is_none_or(|first| first.trim().is_empty()) {
        return None;
    }
    (2..=words.len().min(MOST)).find_map(|count| {
        let (first, others) = words.get(..count)?.split_first()?;
        let mut whole = first.clone();
        for word in others {
            // A word with a slash, such as `Switches/sec`, was taken for a path of its own.
            let part = word.strip_prefix('\\').map(|path| path.replace('\\', "/"));
            whole.push(' ');
            whole.push_str(part.as_deref().unwrap_or(word));
        }
        let typed = perfhive_view::typed_path(&whole).into_owned();
        match query.add(&typed) {
            Ok(_) => Some(typed),
            Err(error @ QueryError::NeedsInstance { .. }) => {
                let meant = corrected(&error, &typed)?.to_string();
                query.add(&meant).ok().map(|_| meant)
            }
            Err(error) => swallowed(query, &whole, &error),
        }
    })
}
