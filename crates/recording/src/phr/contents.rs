//! The contents of payloads apart from the bytes of samples: head, definitions, titles, faults.

use super::varint::{Input, put, put_bytes};
use crate::names::{NamesByIndex, TwoNames};
use perfhive_engine::{CatalogueObject, Fault, FaultKind, Snapshot, TitleDatabase};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::winperf::{
    PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES, PERF_OBJECT_TYPE,
};
use perfhive_format::{LanguageId, PerfObject, TitleIndex};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The largest number of blocks of a sample.
const MOST_BLOCKS: usize = 4096;

/// The largest number of faults of a sample that are recorded.
const MOST_FAULTS: usize = 1000;

/// The kinds of faults that a recording distinguishes. A fault of another kind is recorded with the
/// first of these.
const FAULT_KINDS: [FaultKind; 11] = [
    FaultKind::CollectFailed,
    FaultKind::OpenFailed,
    FaultKind::NotYet,
    FaultKind::Panicked,
    FaultKind::TestFailed,
    FaultKind::Warning,
    FaultKind::Quarantined,
    FaultKind::Disabled,
    FaultKind::Partial,
    FaultKind::SourceFailed,
    FaultKind::Busy,
];

/// The bytes that a title is taken to need in memory, if its text has fewer.
const TITLE: usize = 64;

/// A block of a sample: its label and its length in bytes.
pub(super) struct ListedBlock<'a> {
    pub(super) label: Option<&'a str>,
    pub(super) length: usize,
}

/// Appends the beginning of a sample's payload: the list of its blocks, and at most [`MOST_FAULTS`]
/// of its faults. Faults about damage in its blocks are left out.
pub(super) fn put_sample_head(snapshot: &Snapshot, out: &mut Vec<u8>) {
    put(out, snapshot.frames().len() as u64);
    for frame in snapshot.frames() {
        put_bytes(out, frame.label().as_bytes());
        put(out, frame.as_bytes().len() as u64);
    }
    // A reader of the block finds its damage again.
    let is_recorded = |fault: &&Fault| {
        !matches!(fault.kind, FaultKind::DamagedObject(_) | FaultKind::DamagedName(_))
    };
    let faults: Vec<_> = snapshot.faults().iter().filter(is_recorded).take(MOST_FAULTS).collect();
    put(out, faults.len() as u64);
    for fault in faults {
        let kind = FAULT_KINDS.iter().position(|kind| *kind == fault.kind).unwrap_or(0);
        put(out, kind as u64);
        put(out, fault.object.map_or(0, |object| u64::from(object.0) + 1));
        put_bytes(out, fault.provider.as_bytes());
        // An empty text stands for no instance.
        put_bytes(out, fault.instance.as_deref().unwrap_or_default().as_bytes());
        put_bytes(out, fault.message.as_bytes());
    }
}

/// Reads the beginning of a sample's payload: the list of its blocks, and its faults; `None` if it
/// is damaged.
pub(super) fn sample_head<'a>(input: &mut Input<'a>) -> Option<(Vec<ListedBlock<'a>>, Vec<Fault>)> {
    let mut blocks = Vec::new();
    for _ in 0..input.count(MOST_BLOCKS)? {
        let label = Some(input.text()?).filter(|label| !label.is_empty());
        blocks.push(ListedBlock { label, length: input.count(super::MOST)? });
    }
    let mut faults = Vec::new();
    for _ in 0..input.count(MOST_FAULTS)? {
        let kind = FAULT_KINDS.get(input.count(usize::MAX)?).unwrap_or(&FAULT_KINDS[0]);
        let object = input.number()?.checked_sub(1);
        let (provider, instance) = (input.text()?, input.text()?);
        let mut fault = Fault::new(*kind, provider, input.text()?);
        fault.object = object.and_then(|object| Some(TitleIndex(object.try_into().ok()?)));
        fault.instance = Some(instance).filter(|text| !text.is_empty()).map(Arc::from);
        faults.push(fault);
    }
    Some((blocks, faults))
}

/// The definition part of an object as an object of its own, without instances; `None` if the
/// object has too few bytes.
pub(super) fn definition(object: PerfObject<'_>) -> Option<Vec<u8>> {
    let mut header: PERF_OBJECT_TYPE = object.header();
    let mut bytes = object.as_bytes().get(..header.DefinitionLength as usize)?.to_vec();
    header.TotalByteLength = header.DefinitionLength;
    // What differs from sample to sample is not part of the definition.
    header.PerfTime = 0;
    header.NumInstances = match object.has_instances() {
        true => PERF_METADATA_MULTIPLE_INSTANCES,
        false => PERF_METADATA_NO_INSTANCES,
    };
    header.write(&mut bytes)?;
    Some(bytes)
}

/// Appends definitions of objects, and in each language the titles that the definitions refer to.
pub(super) fn put_definitions(
    definitions: &[Vec<u8>],
    titles: &[Arc<TitleDatabase>],
    out: &mut Vec<u8>,
) {
    let mut indexes = BTreeSet::new();
    put(out, definitions.len() as u64);
    for definition in definitions {
        put_bytes(out, definition);
        if let Ok(object) = PerfObject::parse(definition) {
            indexes.extend([object.name_index(), object.help_index()]);
            indexes.extend(object.counters().flat_map(|of| [of.name_index(), of.help_index()]));
        }
    }
    put(out, titles.len() as u64);
    for database in titles {
        put(out, u64::from(database.language().0));
        for lookup in [TitleDatabase::name, TitleDatabase::help] {
            let text = |index: &TitleIndex| Some((*index, lookup(database, *index)?));
            let found: Vec<_> = indexes.iter().filter_map(text).collect();
            put(out, found.len() as u64);
            for (index, text) in found {
                put(out, u64::from(index.0));
                put_bytes(out, text.as_bytes());
            }
        }
    }
}

/// The objects and titles of all frames with definitions together.
#[derive(Default)]
pub(super) struct Definitions {
    pub(super) objects: Vec<CatalogueObject>,
    /// Names and help texts by language, in the order of the recorded source.
    pub(super) titles: Vec<(LanguageId, TitleList, TitleList)>,
    known: NamesByIndex,
}

impl Definitions {
    /// Adds the definitions and titles of a frame. Returns the objects that are left out because a frame before gave
    /// their indexes other names. `room` is how many bytes titles may still take in memory beyond their texts, and is
    /// lowered by what these titles take. `None` if the payload is damaged, or `room` is too small.
    pub(super) fn add(
        &mut self,
        mut input: Input<'_>,
        room: &mut usize,
    ) -> Option<Vec<(TitleIndex, TwoNames)>> {
        let mut objects = Vec::new();
        for _ in 0..input.count(input.0.len())? {
            let object = PerfObject::parse(input.bytes()?).ok()?;
            objects.push(CatalogueObject::of(object));
        }
        let mut databases = Vec::new();
        for _ in 0..input.count(u16::MAX.into())? {
            let language = LanguageId(u16::try_from(input.number()?).ok()?);
            let (names, help) = (list(&mut input, room)?, list(&mut input, room)?);
            databases.push(TitleDatabase::new(language, &names, &TitleList::default()));
            match self.titles.iter_mut().find(|(of, ..)| *of == language) {
                Some((_, known, known_help)) => {
                    known.titles.extend(names.titles);
                    known_help.titles.extend(help.titles);
                }
                None => self.titles.push((language, names, help)),
            }
        }
        let mut left_out = Vec::new();
        for object in objects {
            match databases.iter().find_map(|database| self.known.conflict(&object, database)) {
                Some(names) => left_out.push((object.name, names)),
                None => self.objects.push(object),
            }
        }
        databases.iter().for_each(|database| self.known.add(database));
        Some(left_out)
    }

    pub(super) fn databases(&self) -> Vec<Arc<TitleDatabase>> {
        let database = |(language, names, help): &_| TitleDatabase::new(*language, names, help);
        self.titles.iter().map(|of| Arc::new(database(of))).collect()
    }
}

/// Reads a list of titles. A text of fewer than [`TITLE`] bytes takes more in memory than in the file: the difference
/// is taken off `room`. `None` if the list is damaged, or `room` is too small.
fn list(input: &mut Input<'_>, room: &mut usize) -> Option<TitleList> {
    let mut list = TitleList::default();
    for _ in 0..input.count(input.0.len())? {
        let index = TitleIndex(u32::try_from(input.number()?).ok()?);
        let text = input.text()?;
        *room = room.checked_sub(TITLE.saturating_sub(text.len()))?;
        list.titles.push(Title { index, text: text.to_string() });
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_without_text_take_room_too() {
        let mut payload = Vec::new();
        // No objects; one language, with 1,000 names and no help texts.
        [0, 1, 9, 1000].into_iter().for_each(|number| put(&mut payload, number));
        for index in 0..1000 {
            put(&mut payload, index);
            put_bytes(&mut payload, b"");
        }
        put(&mut payload, 0);
        let add = |room: &mut usize| Definitions::default().add(Input(&payload), room);
        let mut room = 1000 * TITLE + 5;
        assert!(add(&mut room).is_some());
        assert_eq!(room, 5);
        assert!(add(&mut (1000 * TITLE - 1)).is_none());
    }
}
