//! The instances that paths want: for a path to one process, a source need not read all
//! processes.

use crate::ask::InstanceWish;
use crate::frame::Snapshot;
use crate::identity::{Identity, IdentityMap};
use crate::path::{InstancePattern, NamePattern, OrderNumber};
use crate::standard::{PROCESS_V2, THREAD_V2};
use perfhive_format::TitleIndex;
use perfhive_format::winperf::{PROCESS, THREAD};
use std::sync::Arc;

/// Title index of the object Image. Its instances belong to instances of Process.
const IMAGE: u32 = 740;
/// Title index of the object Full Image. Its instances belong to instances of Process.
const FULL_IMAGE: u32 = 1408;
/// Title index of the object Process Address Space. It has an instance for each process, with the
/// process's name.
const ADDRESS_SPACE: u32 = 786;
/// Title index of the object Thread Details. Its instances belong to instances of Process.
const THREAD_DETAILS: u32 = 816;

/// The instances that the paths of a query want of one source, by object.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// The object of each path that wants only some instances, with its wishes: an instance is wanted if one of them
    /// selects it. The objects of all other paths are in `whole`.
    of_paths: Vec<(TitleIndex, Vec<InstanceWish>)>,
    /// Objects with a path that wants all instances.
    whole: Vec<TitleIndex>,
    /// Whether a path was added, or resolved again, since the last sample in which the instances of
    /// all paths were looked for.
    pub(super) is_new: bool,
}

impl Wishes {
    pub(super) fn clear(&mut self) {
        self.of_paths.clear();
        self.whole.clear();
    }

    /// Adds the instances that a path wants of an object.
    pub(super) fn add(&mut self, object: TitleIndex, instance: Option<&InstancePattern>) {
        self.is_new = true;
        match instance.and_then(|pattern| InstanceWish::of_pattern(object, pattern)) {
            Some(wishes) => {
                let entry = (object, wishes);
                if !self.of_paths.contains(&entry) {
                    self.of_paths.push(entry);
                }
            }
            None => self.whole.push(object),
        }
    }

    /// The wished instances, for [`Ask::instances`](crate::Ask::instances). An object that is not
    /// in the list is wanted with all of its instances.
    pub(super) fn asked(&self) -> Vec<(TitleIndex, InstanceWish)> {
        let mut asked = Vec::new();
        for (object, wishes) in &self.of_paths {
            if !self.whole.contains(object) {
                asked.extend(wishes.iter().map(|wish| (*object, wish.clone())));
            }
        }
        asked
    }

    /// Whether the answer may lack instances of an object, and one of the paths found none of its
    /// instances there.
    pub(super) fn missed(&self, answer: &Snapshot) -> bool {
        self.of_paths.iter().any(|(object, wishes)| {
            let processes = match object.0 {
                THREAD | IMAGE | FULL_IMAGE | ADDRESS_SPACE | THREAD_DETAILS => PROCESS,
                THREAD_V2 => PROCESS_V2,
                other => other,
            };
            answer.is_partial(*object)
                && !wishes.iter().any(|wish| is_there(answer, *object, processes, wish))
        })
    }
}

/// Whether an answer has an instance that a wish means. The instances of some objects belong to
/// processes: `processes` is the title index of Process or Process V2 for these, and the object
/// itself otherwise. If the answer lacks that object, the instances' own parents and process IDs
/// are compared.
fn is_there(answer: &Snapshot, object: TitleIndex, processes: u32, wish: &InstanceWish) -> bool {
    let holder = answer.object(TitleIndex(processes));
    let Some(object) = holder.or_else(|| answer.object(object)) else { return false };
    let labels = object.labels();
    let mut names = labels.iter().map(|label| label.parent.as_ref().unwrap_or(&label.name));
    match wish {
        InstanceWish::Process(number) if processes == PROCESS => {
            let identities = IdentityMap::of(object);
            let mut numbers = identities.identities().iter().map(Identity::process_id);
            numbers.any(|one| one == Some(*number))
        }
        InstanceWish::Process(number) => {
            let end = format!(":{number}");
            names.any(|name| name.ends_with(&end))
        }
        InstanceWish::Named(pattern) => names.any(|name| pattern.matches(name)),
    }
}

impl InstanceWish {
    /// The wishes for the instances of an object that a pattern means: each of these instances is
    /// selected by at least one of the wishes. Further instances may be selected too, such as all
    /// threads of a process for one thread. `None` if the pattern means all instances, or wishes
    /// cannot express which it means.
    #[must_use]
    pub fn of_pattern(object: TitleIndex, instance: &InstancePattern) -> Option<Vec<Self>> {
        let (has_numbers, process) = match (object.0, &instance.parent) {
            (PROCESS_V2, None) => (true, &instance.name),
            // The instances of these objects belong to processes.
            (THREAD | IMAGE | FULL_IMAGE | THREAD_DETAILS, Some(parent)) => (false, parent),
            (THREAD_V2, Some(parent)) => (true, parent),
            (THREAD | THREAD_V2 | IMAGE | FULL_IMAGE | THREAD_DETAILS, None) => return None,
            (PROCESS | ADDRESS_SPACE, None) => (false, &instance.name),
            (_, None) if instance.process_id().is_none() => (false, &instance.name),
            _ => return None,
        };
        if has_numbers {
            let (_, number) = process.as_literal()?.rsplit_once(':')?;
            return Some(vec![Self::Process(number.parse().ok()?)]);
        }
        if let Some(number) = instance.process_id() {
            return Some(vec![Self::Process(u32::try_from(number).ok()?)]);
        }
        // Brackets in a name may stand for other characters.
        if needs_all(process) || process.as_literal().is_some_and(|name| name.contains(['(', '[']))
        {
            return None;
        }
        let named = |pattern| Self::Named(Arc::new(pattern));
        let mut wishes = vec![named(process.clone())];
        if let (OrderNumber::Nth(order), Some(name)) = (instance.order, process.as_literal()) {
            // The name of an instance may really end in `#` and this number.
            wishes.push(named(NamePattern::literal(&format!("{name}#{order}"))));
        }
        Some(wishes)
    }
}

/// Whether a name matches Idle or `_Total`: their values are made from all processes.
pub(crate) fn needs_all(process: &NamePattern) -> bool {
    ["_Total", "Idle"].iter().any(|name| process.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::CounterPath;

    #[test]
    fn paths_of_processes_and_threads_want_those_alone() {
        let of = |path: &str, object: u32| {
            let path: CounterPath = path.parse().unwrap();
            let pattern = path.instance.as_ref().unwrap();
            InstanceWish::of_pattern(TitleIndex(object), pattern).map(|wishes| {
                let text = |wish: &InstanceWish| match wish {
                    InstanceWish::Process(number) => number.to_string(),
                    InstanceWish::Named(pattern) => pattern.to_string(),
                };
                wishes.iter().map(text).collect::<Vec<_>>().join(" ")
            })
        };
        for (path, object, wanted) in [
            (r"\Process(java)\x", PROCESS, Some("java")),
            (r"\Process(ja*)\x", PROCESS, Some("ja*")),
            (r"\Process(java#2)\x", PROCESS, Some("java java#2")),
            (r"\Process(*)\x", PROCESS, None),
            (r"\Process(_total)\x", PROCESS, None),
            (r"\Process(I*)\x", PROCESS, None),
            (r"\Process([R])\x", PROCESS, None),
            (r"\Process(pid:12)\x", PROCESS, Some("12")),
            (r"\Thread(pid:12/*)\x", THREAD, Some("12")),
            (r"\Thread(java/0)\x", THREAD, Some("java")),
            (r"\Thread(java/*)\x", THREAD, Some("java")),
            (r"\Thread(*)\x", THREAD, None),
            (r"\Process V2(java:123)\x", PROCESS_V2, Some("123")),
            (r"\Process V2(a:b:123)\x", PROCESS_V2, Some("123")),
            (r"\Process V2(java:*)\x", PROCESS_V2, None),
            (r"\Process V2(java)\x", PROCESS_V2, None),
            (r"\Thread V2(java:123/124)\x", THREAD_V2, Some("123")),
            (r"\Image(java/libc.so)\x", IMAGE, Some("java")),
            (r"\Image(*/libc.so)\x", IMAGE, None),
            (r"\Process Address Space(pid:12)\x", ADDRESS_SPACE, Some("12")),
            (r"\Memory Node(0)\x", 86, Some("0")),
            (r"\Memory Node(pid:0)\x", 86, None),
            (r"\Memory Node(a/0)\x", 86, None),
            (r"\Memory Node(_Total)\x", 86, None),
        ] {
            assert_eq!(of(path, object).as_deref(), wanted, "{path}");
        }
    }
}
