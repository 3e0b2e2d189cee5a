//! The counters that a manifest declares, as lines of `Services\NAME\Counters`:
//!
//! ```text
//! 1848 = "object", "multiple"
//! 1850 = "counter", "272696320", "-1", "advanced"
//! ```
//!
//! Each line begins with the title index of a name. An object has its kind of instances; a counter has
//! its type, scale and level of detail, and belongs to the nearest object above it.

use perfhive_contract::{InstanceKind, RegisteredCounter, RegisteredObject, Registration};
use perfhive_format::{CounterType, TitleIndex};
use std::fmt::Write as _;

/// Writes the section `Services\NAME\Counters` of a provider, with the objects and counters that
/// the provider's manifest declares. Writes nothing if there are none.
pub(super) fn write(one: &Registration, out: &mut String) {
    if one.declared.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n[Services\\{}\\Counters]", one.name);
    for object in &one.declared {
        let _ = writeln!(out, "{} = \"object\", \"{}\"", object.name, object.instances);
        for counter in &object.counters {
            let level = if counter.advanced { "advanced" } else { "standard" };
            let (name, kind, scale) = (counter.name, counter.counter_type.0, counter.scale);
            let _ = writeln!(out, "{name} = \"counter\", \"{kind}\", \"{scale}\", \"{level}\"");
        }
    }
}

/// Adds the object or counter of a line to `declared`: a counter to the last object there. `key` is
/// the title index in front of the `=`, and `texts` are the values behind it. `Err` says what is
/// wrong with the line.
pub(super) fn take(
    declared: &mut Vec<RegisteredObject>,
    key: &str,
    texts: &[String],
) -> Result<(), String> {
    let name = TitleIndex(key.parse().map_err(|_| format!("{key:?} is not an index"))?);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    match texts.as_slice() {
        ["object", kind] => {
            let (_, instances) = InstanceKind::NAMES
                .iter()
                .find(|(name, _)| name == kind)
                .ok_or_else(|| format!("{kind:?} is not a kind of instances"))?;
            declared.push(RegisteredObject::new(name, *instances, Vec::new()));
        }
        ["counter", kind, scale, level] => {
            let number = |what: &str, text: &str| format!("{text:?} is not a {what}");
            let kind = CounterType(kind.parse().map_err(|_| number("type", kind))?);
            let counter = RegisteredCounter::new(name, kind)
                .scale(scale.parse().map_err(|_| number("scale", scale))?)
                .advanced(match *level {
                    "standard" => false,
                    "advanced" => true,
                    other => return Err(number("level of detail", other)),
                });
            let object = declared.last_mut().ok_or("a counter stands before the first object")?;
            object.counters.push(counter);
        }
        _ => return Err("is neither an object nor a counter".to_string()),
    }
    Ok(())
}
