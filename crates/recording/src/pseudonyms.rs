//! Hashes in place of the names of machines and instances, for captures that are given to others.

use perfhive_engine::Frame;
use perfhive_format::winperf::{PERF_DATA_BLOCK, PERF_INSTANCE_DEFINITION};
use perfhive_format::{CounterKind, DataBlock, Instance, PerfObject, encode_utf16};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

/// Names that tell nothing about a machine: processes that every Windows has, in lower case.
const EVERYWHERE: &[&str] = &[
    "_global_",
    "conhost",
    "csrss",
    "ctfmon",
    "dllhost",
    "dwm",
    "explorer",
    "fontdrvhost",
    "idle",
    "lsaiso",
    "lsass",
    "memory compression",
    "msmpeng",
    "registry",
    "runtimebroker",
    "searchindexer",
    "secure system",
    "services",
    "sihost",
    "smss",
    "spoolsv",
    "svchost",
    "system",
    "taskhostw",
    "wininit",
    "winlogon",
    "wmiprvse",
];

/// The most digits of a name that is taken for the number of a processor, disk or thread. More
/// digits may identify a person or a machine.
const MOST_DIGITS: usize = 4;

/// Makes a hash for each name, the same in the whole capture. The random keys of the hashes are
/// stored nowhere, so that names cannot be found by comparing the hashes of guesses.
#[derive(Debug)]
pub(super) struct Pseudonyms(RandomState);

impl Pseudonyms {
    pub(super) fn new() -> Self {
        Self(RandomState::new())
    }

    /// The hash of a name, or the name itself if it is empty or every machine has it.
    pub(super) fn of(&self, name: &str) -> String {
        if name.is_empty() || is_everywhere(name) {
            return name.to_string();
        }
        format!("h{:012x}", self.0.hash_one(name) & 0xFFFF_FFFF_FFFF)
    }

    /// The block of a frame with hashes for the names of its machine and its instances, and
    /// zeros for texts in counters. Damaged objects are left out; of a block with a damaged header,
    /// only an empty header is left, all zeros.
    pub(super) fn rewrite(&self, frame: &Frame) -> Vec<u8> {
        let mut bytes = vec![0; PERF_DATA_BLOCK::SIZE];
        let Ok((header, _)) = DataBlock::scan(frame.as_bytes()) else {
            return bytes;
        };
        let mut header = header.header();
        bytes.extend(encode_utf16(&self.of(frame.machine())));
        bytes.extend([0, 0]);
        header.SystemNameOffset = PERF_DATA_BLOCK::SIZE as u32;
        header.SystemNameLength = (bytes.len() - PERF_DATA_BLOCK::SIZE) as u32;
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        header.HeaderLength = bytes.len() as u32;
        header.NumObjectTypes = 0;
        for object in (0..frame.object_count()).filter_map(|place| frame.object(place)) {
            self.rewrite_object(object, &mut bytes);
            header.NumObjectTypes += 1;
        }
        header.TotalByteLength = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let _ = header.write(&mut bytes);
        bytes
    }

    fn rewrite_object(&self, object: PerfObject<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let whole = object.as_bytes();
        let definition = (object.header().DefinitionLength as usize).min(whole.len());
        let (head, rest) = whole.split_at(definition);
        out.extend_from_slice(head);
        if object.has_instances() {
            for instance in object.instances() {
                self.rewrite_instance(object, &instance, out);
            }
        } else {
            let block = out.len();
            out.extend_from_slice(rest);
            blank_texts(object, out, block);
        }
        let length = (out.len() - start) as u32;
        if let Some(place) = out.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }

    fn rewrite_instance(&self, object: PerfObject<'_>, instance: &Instance<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let name = instance.name();
        out.resize(start + PERF_INSTANCE_DEFINITION::SIZE, 0);
        if !name.is_empty() {
            let text = name.to_text();
            let wide = name.code_page() == 0;
            match self.of(&text) {
                // Byte for byte: the name may be no valid text.
                same if same == text => out.extend_from_slice(name.as_bytes()),
                hash if wide => out.extend(encode_utf16(&hash)),
                hash => out.extend(hash.as_bytes()),
            }
            out.extend(if wide { &[0, 0][..] } else { &[0] });
        }
        let length = out.len() - start - PERF_INSTANCE_DEFINITION::SIZE;
        out.resize(out.len().next_multiple_of(8), 0);
        let mut definition = instance.raw();
        definition.ByteLength = (out.len() - start) as u32;
        definition.NameLength = length as u32;
        definition.NameOffset = if length == 0 { 0 } else { PERF_INSTANCE_DEFINITION::SIZE as u32 };
        if let Some(place) = out.get_mut(start..) {
            let _ = definition.write(place);
        }
        let block = out.len();
        out.extend_from_slice(instance.counter_block().as_bytes());
        blank_texts(object, out, block);
    }
}

/// Whether a name tells nothing about a machine: a processor, a drive, a sum, or a process that
/// every Windows has.
fn is_everywhere(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let part = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit())
            || ["_total", "total"].contains(&part)
            || matches!(part.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
    };
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    EVERYWHERE.contains(&name.as_str()) || digits <= MOST_DIGITS && name.split([',', ' ']).all(part)
}

/// Fills the texts in the counter block that begins at the offset `block` with zeros.
fn blank_texts(object: PerfObject<'_>, out: &mut [u8], block: usize) {
    let texts = object
        .counters()
        .filter(|counter| matches!(counter.counter_type().kind(), CounterKind::Text(_)));
    for counter in texts {
        // The first four bytes are the block's own length.
        let from = block.saturating_add(counter.offset().max(4) as usize);
        let end = from.saturating_add(counter.size() as usize).min(out.len());
        if let Some(text) = out.get_mut(from..end) {
            text.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::{CounterPlan, CounterSpec, CounterType, TitleIndex};
    use perfhive_testkit::script::block;

    fn frame(bytes: Vec<u8>) -> Frame {
        Frame::new(bytes, 1).unwrap()
    }

    fn names(frame: &Frame) -> Vec<String> {
        let object = frame.object(0).unwrap();
        object.instances().map(|instance| instance.name().to_text()).collect()
    }

    #[test]
    fn names_become_hashes_and_all_else_stays() {
        let counters = [
            CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
            CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_RAWCOUNT),
        ];
        let rows: &[_] = &[
            ("secret", None, &[1u64, 2][..]),
            ("svchost", None, &[3, 4]),
            ("s", Some((TitleIndex(2), 0)), &[5, 6]),
            ("secret", None, &[7, 8]),
            ("0,_Total", None, &[9, 10]),
            ("gehe\u{ef}m\u{1F600}", None, &[11, 12]),
        ];
        let bytes = block("SECRETBOX", 5, &[(TitleIndex(2), &counters, rows)]);
        let before = frame(bytes);
        let hide = Pseudonyms::new();
        let after = frame(hide.rewrite(&before));
        let text = names(&after);
        assert_eq!((text[1].as_str(), text[4].as_str()), ("svchost", "0,_Total"));
        assert!(text[0].starts_with('h') && text[0].len() == 13);
        assert_eq!(text[0], text[3], "one name, one hash");
        assert_ne!(text[0], text[2]);
        assert_eq!(text[2].len(), 13, "the length of a name tells nothing");
        assert!(after.machine().starts_with('h'), "{}", after.machine());
        // Nothing of the names is left anywhere, in either encoding.
        for name in ["secret", "SECRETBOX", "gehe"] {
            let wide = encode_utf16(name);
            assert!(!after.as_bytes().windows(wide.len()).any(|part| part == wide), "{name}");
        }
        // Validated, with the same clocks, definitions, parents and values.
        assert!(DataBlock::parse(after.as_bytes()).is_ok());
        assert_eq!(after.clocks(), before.clocks());
        let (old, new) = (before.object(0).unwrap(), after.object(0).unwrap());
        assert_eq!(new.definition_bytes(), old.definition_bytes());
        for (old, new) in old.instances().zip(new.instances()) {
            assert_eq!(new.parent(), old.parent());
            assert_eq!(new.counter_block().as_bytes(), old.counter_block().as_bytes());
        }
        assert_eq!(CounterPlan::all(new).len(), 2);
        // Another capture, another hash.
        let other = frame(Pseudonyms::new().rewrite(&before));
        assert_ne!(names(&other)[0], text[0]);
    }

    #[test]
    fn texts_in_counters_become_blanks() {
        let text = CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_TEXT).size(8);
        let number = CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
        let value = u64::from_le_bytes(*b"s\0e\0c\0r\0");
        let rows: &[_] = &[("a", None, &[value, 7][..])];
        let bytes = block("BOX", 1, &[(TitleIndex(2), &[text, number], rows)]);
        let after = frame(Pseudonyms::new().rewrite(&frame(bytes)));
        let object = after.object(0).unwrap();
        let block = object.instances().next().unwrap().counter_block();
        let values: Vec<_> =
            object.counters().map(|counter| block.data(&counter).unwrap().to_vec()).collect();
        assert_eq!(values, [vec![0; 8], 7u64.to_le_bytes().to_vec()]);
    }

    #[test]
    fn names_that_every_machine_has() {
        for name in
            ["_Total", "0", "12", "0,3", "0 C:", "C:", "1,_Total", "Idle", "System", "LSASS"]
        {
            assert!(is_everywhere(name), "{name}");
        }
        let numbers = ["4711471", "0664 123", "2026,11"];
        let others = ["notepad", "_Totals", "0 C:x", "payroll", "\u{664}", "cc:"];
        for name in others.into_iter().chain(numbers) {
            assert!(!is_everywhere(name), "{name}");
        }
    }
}
