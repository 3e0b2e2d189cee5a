//! Looks up counters in the table of the counters that perfhive makes itself on this system: the reason why a
//! Windows counter is missing, and what a counter is made from.

use crate::args::Global;
use perfhive::TitleIndex;

#[cfg(target_os = "linux")]
use perfhive::linux::counter_table;
#[cfg(windows)]
use perfhive::windows::native::counter_table;

/// The reason why this machine, or the machine of a copied `/proc`, lacks a counter, as a sentence. It is taken
/// from the table of the counters that perfhive makes itself on this system. The object is given by its English
/// name, the counter by its English name or its title index. `None` if the source does not have the counters of
/// this table, and if the table does not list the counter as absent.
#[cfg(any(target_os = "linux", windows))]
pub(crate) fn reason(global: &Global, object: &str, counter: &str) -> Option<String> {
    use perfhive::engine::standard::Availability;
    if !is_from_table(global) {
        return None;
    }
    let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    let found = counter_table().into_iter().find(|doc| {
        let index = doc.counter.to_string();
        same(doc.object_name, object) && (same(doc.name, counter) || index == counter)
    })?;
    match found.availability {
        Availability::Absent { reason } => {
            let (object, counter) = (found.object_name, found.name);
            let reason = plain(reason);
            let address = global.source.parse::<perfhive::SourceAddress>();
            let machine = match address.is_ok_and(|address| address.is_this_machine()) {
                true => "this machine",
                false => "the machine of the copy",
            };
            Some(format!("{machine} has no \\{object}\\{counter}: {reason}"))
        }
        Availability::Present { .. } => None,
    }
}

/// The file and field, or the system call, from which perfhive makes a counter on this machine, as its table of
/// counters says. `None` if the source does not have the counters of this table, and for a counter that the table
/// lists as absent or not at all.
#[cfg(any(target_os = "linux", windows))]
pub(crate) fn made_from(
    global: &Global,
    object: TitleIndex,
    counter: TitleIndex,
) -> Option<String> {
    use perfhive::engine::standard::Availability;
    if !is_from_table(global) {
        return None;
    }
    let is_it = |doc: &perfhive::engine::standard::CounterDoc| {
        (doc.object, doc.counter) == (object, counter)
    };
    match counter_table().into_iter().find(is_it)?.availability {
        Availability::Present { source, .. } => Some(plain(source)),
        Availability::Absent { .. } => None,
    }
}

/// A text of the table of counters without its backticks and without the full stop at its end.
#[cfg(any(target_os = "linux", windows))]
fn plain(text: &str) -> String {
    text.replace('`', "").trim_end_matches('.').to_string()
}

/// Always `None`: only on Linux and Windows has perfhive a table that says what a counter is made from.
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) fn made_from(_: &Global, _: TitleIndex, _: TitleIndex) -> Option<String> {
    None
}

/// Always `None`: only on Linux and Windows has perfhive a table that lists absent counters.
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) fn reason(_: &Global, _: &str, _: &str) -> Option<String> {
    None
}

/// Whether the source that the command line names has the counters that perfhive makes itself, which its table of
/// counters lists; `false` for an address that is not valid.
#[cfg(any(target_os = "linux", windows))]
fn is_from_table(global: &Global) -> bool {
    let address = global.source.parse::<perfhive::SourceAddress>();
    address.is_ok_and(|address| address.scheme().capabilities.standard_objects)
}
