//! Numbers with units, scaled for people.

use crate::number::{bytes_scaled, push_brief, push_float, unit_for_people};
use perfhive_engine::{Query, Reading};
use perfhive_format::{CookedValue, LanguageId};

/// A value as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The number, with grouped digits.
    pub number: String,
    /// The unit behind it, such as `MiB/s`; may be empty.
    pub unit: String,
}

/// The value of a reading as people read it: amounts of memory and data scaled
/// to KiB, MiB and so on, other numbers with their type's unit.
#[must_use]
pub fn shown(query: &Query, reading: &Reading, value: CookedValue) -> Shown {
    let mut number = String::new();
    match suffix_of_amount(query, reading) {
        Some(suffix) => {
            let (scaled, unit) = bytes_scaled(value.as_f64());
            push_float(&mut number, scaled, usize::from(unit != "B"));
            Shown { number, unit: format!("{unit}{suffix}") }
        }
        None => {
            push_brief(&mut number, value);
            Shown { number, unit: unit_for_people(reading.counter_type.unit()).to_string() }
        }
    }
}

/// What stands behind the scaled unit if the counter is an amount of memory or
/// data; `None` if it is not. Counter types do not say it, English names do.
fn suffix_of_amount(query: &Query, reading: &Reading) -> Option<&'static str> {
    const WORKING_SETS: [u32; 3] = [178, 180, 1478];
    let suffix = match reading.counter_type.unit() {
        "" => "",
        "1/s" => "/s",
        _ => return None,
    };
    let databases = query.titles(reading.source)?.databases();
    let english = databases.iter().find(|d| d.language() == LanguageId::ENGLISH)?;
    let name = english.name(reading.counter)?;
    let is_bytes = name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Bytes");
    let is_working_set =
        WORKING_SETS.contains(&reading.counter.0) && name.starts_with("Working Set");
    (is_bytes || is_working_set).then_some(suffix)
}
