//! The names of the events on a command line, and the test whether two of them can be told apart.

use crate::args::ExperimentEvent as Event;
use crate::failure::Failure;
use std::path::Path;

/// The most bytes of a process's name that the kernel keeps.
const LONGEST_PROCESS: usize = 15;

/// The name of an event in records; `None` for `call *`, the calls of every name. The name of a process is cut to at
/// most [`LONGEST_PROCESS`] bytes. If a file was given for a function, its name stands before that of the function,
/// since the program may have a function of the same name.
pub(super) fn name_of(event: &Event) -> Option<String> {
    let name = match event {
        Event::Call(name) if name == "*" => return None,
        Event::Call(name) => name.clone(),
        Event::Start(name) | Event::End(name) => {
            let cut = (0..=LONGEST_PROCESS.min(name.len())).rev();
            let cut = cut.into_iter().find(|at| name.is_char_boundary(*at));
            name.get(..cut.unwrap_or_default()).unwrap_or_default().to_string()
        }
        Event::Uprobe(file, function) | Event::Uretprobe(file, function) => {
            let file = file.as_deref().and_then(Path::file_name);
            file.map_or(function.clone(), |file| format!("{}:{function}", file.display()))
        }
        Event::Usdt(_, provider, name) => format!("{provider}:{name}"),
        Event::ThreadStart | Event::ThreadEnd => "thread".to_string(),
        Event::Interval(_)
        | Event::Signal(_)
        | Event::Line(_)
        | Event::LineOf(_)
        | Event::Above(..) => event.to_string(),
    };
    Some(name)
}

/// Whether one event is a start and the other an end, in either order: of processes, of threads, or of functions
/// in the same file. The names of processes and functions are not compared.
fn is_pair(one: &Event, other: &Event) -> bool {
    match (one, other) {
        (Event::Start(_), Event::End(_))
        | (Event::End(_), Event::Start(_))
        | (Event::ThreadStart, Event::ThreadEnd)
        | (Event::ThreadEnd, Event::ThreadStart) => true,
        (Event::Uprobe(one, _), Event::Uretprobe(other, _))
        | (Event::Uretprobe(one, _), Event::Uprobe(other, _)) => one == other,
        _ => false,
    }
}

/// The reason why two events cannot stand in one experiment; `None` if they can.
pub(super) fn conflict(one: &Event, other: &Event) -> Option<String> {
    if one == other || one.to_string() == other.to_string() {
        return Some(format!("'{one}' is an event already; each is named once"));
    }
    let name = name_of(one).filter(|name| name_of(other).as_ref() == Some(name))?;
    if is_pair(one, other) {
        return None;
    }
    let is_plain =
        |event: &Event| matches!(event, Event::Uprobe(None, _) | Event::Uretprobe(None, _));
    let way_out = match is_plain(one) || is_plain(other) {
        true => format!("with its file the function has another one: 'uprobe PATH:{name}'"),
        false => "leave one out, or measure it in a run of its own".to_string(),
    };
    Some(format!(
        "the events of '{one}' and '{other}' have one name in the records, {name}, and could not be told apart; \
         {way_out}"
    ))
}

/// Whether two events are the start and the end of one section.
pub(super) fn are_halves(one: &Event, other: &Event) -> bool {
    is_pair(one, other) && name_of(one) == name_of(other)
}

/// Fails if two of the events could not be told apart in the records.
pub(super) fn check(events: &[Event]) -> Result<(), Failure> {
    let pairs = events
        .iter()
        .enumerate()
        .flat_map(|(place, other)| events.iter().take(place).map(move |one| (one, other)));
    match pairs.into_iter().find_map(|(one, other)| conflict(one, other)) {
        Some(why) => Err(Failure::Usage(format!("--on: {why}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::experiment_event;

    #[test]
    fn events_of_one_name_are_pairs_or_refused() {
        let of = |one: &str, other: &str| {
            conflict(&experiment_event(one).unwrap(), &experiment_event(other).unwrap())
        };
        for (one, other) in [
            ("start shop", "end shop"),
            ("thread end", "thread start"),
            ("uprobe work", "uretprobe work"),
            ("uprobe work", "uprobe ./shop:work"),
            ("interval 1s", "interval 2s"),
            ("call *", "call paid"),
            ("call paid", "usdt shop:paid"),
        ] {
            assert_eq!(of(one, other), None, "{one} {other}");
        }
        for (one, other, words) in [
            ("interval 1s", "interval 1000ms", "'interval 1s' is an event already"),
            ("call paid", "call paid", "already"),
            ("call work", "uprobe work", "'uprobe PATH:work'"),
            ("call thread", "thread start", "'call thread' and 'thread start'"),
            ("uprobe /a/lib.so:f", "uprobe /b/lib.so:f", "lib.so:f"),
            ("uprobe /a/lib.so:f", "uretprobe /b/lib.so:f", "lib.so:f"),
            ("start a-name-of-many-letters", "start a-name-of-many-words", "a-name-of-many-"),
            ("call interval 1s", "interval 1s", "in the records, interval 1s"),
        ] {
            let why = of(one, other).unwrap_or_default();
            assert!(why.contains(words), "{one} {other}: {why}");
        }
    }
}
