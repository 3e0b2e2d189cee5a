//! Explains the numbers in the fields of a structure.

use perfhive::format::winperf as w;
use perfhive::{CounterType, FileTime, TitleIndex, TitleSet};
use perfhive_view::number::push_grouped;

/// The meaning of a field's value, for people; empty if the value has none that is known. For a title index it is
/// the name or help text that `titles` has.
pub(super) fn of(titles: &TitleSet, structure: &str, field: &str, value: i128) -> String {
    let name = |value: i128| {
        let index = TitleIndex(u32::try_from(value).unwrap_or(0));
        titles.name(index).unwrap_or_default().to_string()
    };
    match (structure, field) {
        (_, "LittleEndian") => match value {
            1 => "little endian",
            0 => "big endian",
            _ => "no truth value",
        }
        .to_string(),
        (_, "DefaultObject" | "ParentObjectTitleIndex") if value > 0 => name(value),
        (_, "ParentObjectTitleIndex") if value == 0 => "no parent".to_string(),
        (_, "ObjectNameTitleIndex" | "CounterNameTitleIndex") => name(value),
        (_, "ObjectHelpTitleIndex" | "CounterHelpTitleIndex") => {
            let index = TitleIndex(u32::try_from(value).unwrap_or(0));
            titles.help(index).unwrap_or_default().to_string()
        }
        (_, "DefaultObject" | "DefaultCounter") if value == -1 => "none".to_string(),
        (_, "PerfFreq") if value > 0 => ticks(value),
        (_, "PerfTime100nSec") => {
            i64::try_from(value).map_or_else(|_| String::new(), |time| FileTime(time).to_string())
        }
        (_, "DetailLevel") => match u32::try_from(value).unwrap_or(0) {
            w::PERF_DETAIL_NOVICE => "novice",
            w::PERF_DETAIL_ADVANCED => "advanced",
            w::PERF_DETAIL_EXPERT => "expert",
            w::PERF_DETAIL_WIZARD => "wizard",
            _ => "",
        }
        .to_string(),
        (_, "NumInstances") => match i32::try_from(value).unwrap_or(0) {
            w::PERF_NO_INSTANCES => "no instances: one counter block",
            w::PERF_METADATA_MULTIPLE_INSTANCES => "only the definition, of several instances",
            w::PERF_METADATA_NO_INSTANCES => "only the definition, without instances",
            _ => "",
        }
        .to_string(),
        (_, "CodePage") if value == 0 => "names in UTF-16".to_string(),
        (_, "CounterType") => {
            let counter_type = CounterType(u32::try_from(value).unwrap_or(0));
            match counter_type.winperf_name() {
                Some(name) => format!("{:#010x}, {name}", counter_type.0),
                None => format!("{:#010x}, no named type", counter_type.0),
            }
        }
        (_, "DefaultScale") if value != 0 => format!("times 10^{value} in a chart"),
        (_, "UniqueID") if value == -1 => "none: the name identifies".to_string(),
        _ => String::new(),
    }
}

fn ticks(value: i128) -> String {
    let mut text = String::new();
    push_grouped(&mut text, u64::try_from(value).unwrap_or(0));
    text + " ticks a second"
}
