//! Why this machine lacks a Windows counter.

use crate::args::Global;

/// Why this machine lacks a counter of an object, both given by their English
/// names; `None` for another source, and if Windows has no such counter either.
#[cfg(any(target_os = "linux", windows))]
pub(crate) fn reason(global: &Global, object: &str, counter: &str) -> Option<String> {
    use perfhive::engine::standard::Availability;
    #[cfg(target_os = "linux")]
    use perfhive::linux::counter_table;
    #[cfg(windows)]
    use perfhive::windows::native::counter_table;
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
            // The reasons are sentences of the manual, with its code marks.
            let reason = reason.replace('`', "").trim_end_matches('.').to_string();
            Some(format!("this machine has no \\{object}\\{counter}: {reason}"))
        }
        Availability::Present { .. } => None,
    }
}

/// No reason: other systems have no table of missing counters.
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) fn reason(_: &Global, _: &str, _: &str) -> Option<String> {
    None
}

/// Whether the table is about this source.
#[cfg(any(target_os = "linux", windows))]
fn is_from_table(global: &Global) -> bool {
    let address = global.source.parse::<perfhive::SourceAddress>();
    address.is_ok_and(|address| address.scheme().capabilities.standard_objects)
}
