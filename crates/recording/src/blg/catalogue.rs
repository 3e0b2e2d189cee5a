//! The counters that a log was asked to record, as its record of kind 0x20 lists them: sub-records
//! of a sample follow the same order.

use super::{i64_at, u32_at};
use perfhive_format::CounterType;

/// Bytes in front of the first entry.
const HEAD: usize = 8;
/// The flag of an entry for a whole object.
const WHOLE: u32 = 0x10;
/// Bytes of an entry in front of its strings.
const ENTRY: usize = 52;

/// One path that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// A whole object was recorded, not one counter.
    pub(super) is_whole: bool,
    pub(super) machine: String,
    pub(super) object: String,
    /// `*` for all; `None` for an object without instances.
    pub(super) instance: Option<String>,
    pub(super) counter: String,
    pub(super) counter_type: CounterType,
    /// Ticks a second of the counter's clock.
    pub(super) frequency: i64,
    pub(super) scale: i32,
}

/// The entries of a record; what is damaged ends the list.
pub(super) fn read(record: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut rest = record.get(HEAD..).unwrap_or_default();
    while let Some(length) = u32_at(rest, 0).map(|length| length as usize) {
        let Some((own, behind)) = rest.split_at_checked(length).filter(|_| length >= ENTRY) else {
            break;
        };
        let Some(entry) = entry(own) else { break };
        entries.push(entry);
        rest = behind;
    }
    entries
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
