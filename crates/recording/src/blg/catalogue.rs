//! The catalogue of a log, its record of kind 0x20, read and written: the counters that the log was asked to
//! record. Sub-records of a sample follow in the same order.

use super::{i64_at, u32_at};
use perfhive_format::{CounterType, Formula};
use std::collections::HashMap;

/// The number of bytes of a catalogue in front of its first entry.
const HEAD: usize = 8;
/// The first two numbers of the catalogue's record, the same in every log seen. The meaning of the
/// first is unknown; the second is, in the words of pdh.h,
/// `PDH_LOG_WRITE_ACCESS | PDH_LOG_TYPE_BINARY`.
const START: [u32; 2] = [0x6ff, 0x0002_0008];
/// The flag of an entry for a whole object.
const WHOLE: u32 = 0x10;
/// The flag of an entry for all instances of a counter.
const INSTANCES: u32 = 1;
/// The instance name of an entry for all instances.
pub(super) const ALL: &str = "*";
/// The number of bytes of an entry in front of its strings.
const ENTRY: usize = 52;

/// An entry of the catalogue: one counter path that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Whether the whole object was recorded, not one of its counters.
    pub(super) is_whole: bool,
    pub(super) machine: String,
    pub(super) object: String,
    /// The name of the instance with its parent and `#n`, as paths write it, or [`ALL`] for all
    /// instances; `None` for an object without instances.
    pub(super) instance: Option<String>,
    pub(super) counter: String,
    pub(super) counter_type: CounterType,
    /// The frequency of the counter's clock in Hz.
    pub(super) frequency: i64,
    pub(super) scale: i32,
}

/// The bytes of a catalogue with these entries.
pub(super) fn write(entries: &[Entry]) -> Vec<u8> {
    let mut record: Vec<u8> = START.iter().flat_map(|number| number.to_le_bytes()).collect();
    for entry in entries {
        entry.write(&mut record);
    }
    record
}

/// The entries of a catalogue up to the first damaged one. Names of machines, objects and counters
/// that differ in case only are spelled in all entries as in the first one, since readers take them
/// for the same.
pub(super) fn read(record: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut spellings: HashMap<[String; 3], String> = HashMap::new();
    let mut rest = record.get(HEAD..).unwrap_or_default();
    while let Some(length) = u32_at(rest, 0).map(|length| length as usize) {
        let Some((own, behind)) = rest.split_at_checked(length).filter(|_| length >= ENTRY) else {
            break;
        };
        let Some(mut entry) = entry(own) else { break };
        let [machine, object, counter] =
            [&entry.machine, &entry.object, &entry.counter].map(|name| name.to_lowercase());
        let none = String::new;
        for (key, name) in [
            ([machine, none(), none()], &mut entry.machine),
            ([none(), object.clone(), none()], &mut entry.object),
            ([none(), object, counter], &mut entry.counter),
        ] {
            *name = spellings.entry(key).or_insert_with(|| name.clone()).clone();
        }
        entries.push(entry);
        rest = behind;
    }
    entries
}

impl Entry {
    /// Whether the raw numbers of both entries have the same meaning: the counter types are equal, the frequencies too
    /// where the type takes a clock, and both entries have an instance or neither has one.
    pub(super) fn has_numbers_of(&self, other: &Self) -> bool {
        self.counter_type == other.counter_type
            && (!self.has_clock() || self.frequency == other.frequency)
            && self.instance.is_some() == other.instance.is_some()
    }

    /// Whether the formula of the counter's type takes a clock, and so depends on `frequency`.
    pub(super) fn has_clock(&self) -> bool {
        Formula::of(self.counter_type).is_ok_and(|formula| formula.clock().is_some())
    }

    fn write(&self, record: &mut Vec<u8>) {
        // The texts of an entry with an instance begin four bytes later.
        let gap = if self.instance.is_some() { 4 } else { 0 };
        let mut strings = vec![0; gap];
        let mut text = |text: &str| {
            let at = strings.len() as u32;
            strings.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
            at
        };
        let machine = text(&format!(r"\\{}", self.machine));
        let object = text(&self.object);
        let instance = self.instance.as_deref().map_or(u32::MAX, &mut text);
        let counter = text(&self.counter);
        // PDH leaves eight bytes more, in front of the texts or behind them.
        let length = (ENTRY + 8 - gap + strings.len()).next_multiple_of(8);
        let flags = match self.instance.as_deref() {
            _ if self.is_whole => WHOLE,
            Some(ALL) => INSTANCES,
            _ => 0,
        };
        let number = |value: u32| value.to_le_bytes();
        let start = record.len();
        for value in [length as u32, flags, 0, self.counter_type.0] {
            record.extend(number(value));
        }
        record.extend(self.frequency.to_le_bytes());
        record.extend(self.scale.to_le_bytes());
        for value in [machine, object, instance, u32::MAX, 0, counter] {
            record.extend(number(value));
        }
        record.extend(strings);
        record.resize(start + length, 0);
    }
}

fn entry(own: &[u8]) -> Option<Entry> {
    let strings = own.get(ENTRY..)?;
    // -1 stands for no text.
    let text = |at: usize| {
        let offset = u32_at(own, at)? as usize;
        let units = strings.get(offset..)?.chunks_exact(2);
        let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        Some(String::from_utf16_lossy(&units.take_while(|unit| *unit != 0).collect::<Vec<_>>()))
    };
    let instance = text(36).map(|name| {
        let parent = text(40).map_or(String::new(), |parent| format!("{parent}/"));
        let number = u32_at(own, 44).filter(|number| *number > 0);
        let number = number.map_or(String::new(), |number| format!("#{number}"));
        format!("{parent}{name}{number}")
    });
    Some(Entry {
        is_whole: u32_at(own, 4)? == WHOLE,
        machine: text(28)?.trim_start_matches('\\').to_string(),
        object: text(32)?,
        instance,
        counter: text(48)?,
        counter_type: CounterType(u32_at(own, 12)?),
        frequency: i64_at(own, 16)?,
        scale: u32_at(own, 24)? as i32,
    })
}
