//! Writes the objects that have an instance for each group.

use super::group::{Group, GroupReader};
use super::source::Source;
use crate::table::{CGROUP, Object, index_of};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{Collection, ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, NameRef, TitleIndex};

/// The title index of the counter ID Cgroup.
const ID: u32 = index_of!(CGROUP, "ID Cgroup");

/// The groups that are instances of an object: all groups, or the groups that stand for a
/// container.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupSelection {
    All,
    Containers,
}

impl GroupSelection {
    /// The name of a group's instance in the object: among containers, the name of the container
    /// that the group stands for; among all groups, the name of the group.
    fn name(self, group: &Group) -> &[u16] {
        let container = group.container.as_ref().filter(|_| self == Self::Containers);
        container.map_or(&group.name, |container| &container.name)
    }
}

/// A group that has values.
struct Instance {
    /// The position of the group among all groups of the collection.
    at: usize,
    /// The counters that have a value, as a mask.
    mask: u64,
    /// The position of the instance's first value in [`Rows::values`].
    start: usize,
}

/// An object with an instance for each group or container, and the values read for it. All groups
/// are read before the first is written, because the definitions list every counter that at least
/// one group has.
pub(super) struct Rows {
    object: &'static Object,
    sources: Vec<(u64, &'static Source)>,
    which: GroupSelection,
    layouts: Layouts,
    row: CounterValues,
    instances: Vec<Instance>,
    values: Vec<u64>,
    /// A buffer for the instance name that is compared with the wanted names.
    name: String,
}

impl Rows {
    pub(super) fn new(
        object: &'static Object,
        sources: &'static [Source],
        which: GroupSelection,
    ) -> Self {
        let bits = |source: &Source| {
            source.counters().fold(0, |mask, counter| mask | object.bits(counter))
        };
        Self {
            object,
            sources: sources.iter().map(|source| (bits(source), source)).collect(),
            which,
            layouts: Layouts::new(object),
            row: CounterValues::new(object),
            instances: Vec::new(),
            values: Vec::new(),
            name: String::new(),
        }
    }

    pub(super) fn object(&self) -> &'static Object {
        self.object
    }

    /// Reads the groups, and writes the groups that have values as instances. With `whole`, all
    /// groups are written, even if the collection wants only some. An object of all groups
    /// ([`GroupSelection::All`]) is left out if all were read and none has values; a fault gives the
    /// reason.
    pub(super) fn write(
        &mut self,
        collection: &Collection<'_>,
        whole: bool,
        groups: &mut [Group],
        reader: &mut GroupReader,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let object = self.object;
        let asked = |index| collection.wants_extra(TitleIndex(object.index), TitleIndex(index));
        let extra = object.counters.iter().filter(|counter| counter.on_request);
        let extra = extra.filter(|counter| asked(counter.index));
        let wanted =
            extra.fold(object.standard(), |mask, counter| mask | object.bits(counter.index));
        let index = TitleIndex(object.index);
        let some = Some(collection).filter(|collection| !whole && !collection.wants_all_of(index));
        if some.is_some() {
            out.partial(index);
        }
        let there = self.read(wanted, some, groups, reader);
        // If there is no container, the object has no instances. If no group has the files, the object
        // is missing and a fault gives the reason.
        let mask = match self.instances.is_empty() {
            true if self.which == GroupSelection::All && some.is_none() => {
                let first = self.sources.iter().find(|(bits, _)| bits & object.standard() != 0);
                let file = first.map_or("", |(_, source)| source.file.name());
                reader.faults.object(format_args!("no control group has {file}"));
                return Ok(());
            }
            true => wanted,
            false => there,
        };
        let mut writing = out.object(self.layouts.template(mask)?)?;
        for instance in &self.instances {
            let Some(group) = groups.get_mut(instance.at) else {
                continue;
            };
            let place = writing.instance_count();
            match self.which {
                // The other objects of all groups may lack groups, and place those behind otherwise.
                GroupSelection::All if object.index == CGROUP.index => group.place = Some(place),
                GroupSelection::All => {}
                GroupSelection::Containers => group.container_place = Some(place),
            }
            let name = self.which.name(group);
            let head = InstanceHead { name: NameRef::Utf16(name), unique_id: None, parent: None };
            let known = self.values.get(instance.start..).unwrap_or_default();
            let mut values = [0; MOST];
            let count = prefix(mask, instance.mask, known, &mut values);
            writing.instance_prefix(&head, values.get(..count).unwrap_or_default())?;
        }
        writing.finish()?;
        Ok(())
    }

    /// Reads all groups of the selection `which`, or with `some` only those with names that this
    /// collection wants. Returns the counters that any group has, as a mask. A group without the
    /// first of these counters is left out.
    fn read(
        &mut self,
        wanted: u64,
        some: Option<&Collection<'_>>,
        groups: &mut [Group],
        reader: &mut GroupReader,
    ) -> u64 {
        self.instances.clear();
        self.values.clear();
        let mut there = 0;
        for (at, group) in groups.iter_mut().enumerate() {
            if self.which == GroupSelection::Containers && group.container.is_none() {
                continue;
            }
            if let Some(collection) = some {
                let name = char::decode_utf16(self.which.name(group).iter().copied());
                self.name.clear();
                self.name.extend(name.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
                if !collection.wants_instance(TitleIndex(self.object.index), &self.name) {
                    continue;
                }
            }
            self.row.clear();
            for (bits, source) in &self.sources {
                if bits & wanted != 0 {
                    source.fill(reader, group, &mut self.row);
                }
            }
            let mask = self.row.mask() & wanted;
            if mask == 0 {
                continue;
            }
            self.row.set(ID, group.inode);
            let mask = self.row.mask() & wanted;
            there |= mask;
            let mut values = [0; MOST];
            let start = self.values.len();
            self.values.extend_from_slice(self.row.values(mask, &mut values));
            self.instances.push(Instance { at, mask, start });
        }
        // An instance may only lack values at its end. Without the first value it has none, and is
        // left out.
        let first = there & there.wrapping_neg();
        self.instances.retain(|instance| instance.mask & first != 0);
        there
    }
}

/// Copies the values of the counters in `mask` into `out`, up to the first counter that `known`
/// lacks; returns the number of copied values. `values` has a value for each counter in `known`.
fn prefix(mask: u64, known: u64, values: &[u64], out: &mut [u64; MOST]) -> usize {
    let mut values = values.iter();
    let mut count = 0;
    for place in 0..MOST {
        let bit = 1 << place;
        let value = if known & bit != 0 { values.next() } else { None };
        if mask & bit == 0 {
            continue;
        }
        let (Some(value), Some(slot)) = (value, out.get_mut(count)) else {
            break;
        };
        *slot = *value;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_before_the_first_unknown_one() {
        let mut out = [0; MOST];
        assert_eq!(prefix(0b1011, 0b1111, &[1, 2, 3, 4], &mut out), 3);
        assert_eq!(out[..3], [1, 2, 4]);
        assert_eq!(prefix(0b1111, 0b1011, &[1, 2, 4], &mut out), 2);
        assert_eq!(prefix(0b1, 0b10, &[1], &mut out), 0);
        assert_eq!(prefix(1 << 63, 1 << 63, &[7], &mut out), 1);
    }
}
