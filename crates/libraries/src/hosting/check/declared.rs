//! The comparison of a library's counters with the manifest that it was registered with. Readers
//! use the library's definitions; people read the manifest.

use super::Check;
use perfhive_contract::{RegisteredCounter, RegisteredObject};
use perfhive_engine::ObjectDescription;
use perfhive_format::{CounterSpec, DetailLevel};
use std::sync::Arc;

/// The subject of the findings about the manifest (`Finding::asked`), where other findings have a
/// request.
const MANIFEST: &str = "manifest";

impl Check {
    /// Compares the manifest with the objects that the library gave; differences become warnings.
    pub(super) fn look_at_manifest(&mut self) {
        let registration = Arc::clone(&self.state.registration);
        if registration.declared.is_empty() {
            return;
        }
        let given = self.known.descriptions();
        let mut differences = Vec::new();
        for declared in &registration.declared {
            match given.iter().find(|object| object.spec.name == declared.name) {
                Some(object) => compare(declared, object, &mut differences),
                None => differences.push(format!(
                    "it declares object {}, which the library does not give",
                    declared.name
                )),
            }
        }
        let is_declared = |object: &&ObjectDescription| {
            registration.declared.iter().any(|d| d.name == object.spec.name)
        };
        for object in given.iter().filter(|object| !is_declared(object)) {
            differences
                .push(format!("it lacks object {}, which the library gives", object.spec.name));
        }
        if differences.is_empty() {
            self.good(MANIFEST, "instances, types, scales and detail levels are the library's");
        }
        differences.iter().for_each(|difference| self.warn(MANIFEST, difference));
    }
}

/// Adds the differences between a declared object and the library's object to `out`.
fn compare(declared: &RegisteredObject, object: &ObjectDescription, out: &mut Vec<String>) {
    let name = declared.name;
    let multiple = declared.instances.is_multiple();
    if multiple != object.spec.has_instances {
        let has = if object.spec.has_instances { "has" } else { "has no" };
        out.push(format!(
            "object {name} is declared as {}, and {has} instances in the library's block",
            declared.instances
        ));
    }
    for counter in &declared.counters {
        match object.counters.iter().find(|one| one.name == counter.name) {
            Some(one) => compare_counters(counter, one, out),
            // A base has no name of its own in a block.
            None if counter.counter_type.is_base() => {}
            None => out.push(format!(
                "it declares counter {} of object {name}, which the library does not give",
                counter.name
            )),
        }
    }
    for one in object.counters.iter().filter(|one| !one.counter_type.is_base()) {
        if !declared.counters.iter().any(|counter| counter.name == one.name) {
            out.push(format!(
                "it lacks counter {} of object {name}, which the library gives",
                one.name
            ));
        }
    }
}

/// Adds the differences between a declared counter and the library's counter to `out`.
fn compare_counters(declared: &RegisteredCounter, given: &CounterSpec, out: &mut Vec<String>) {
    let name = declared.name;
    let mut differ = |what: &str, says: String, gives: String| {
        out.push(format!(
            "it says that the {what} of counter {name} is {says}, the library that it is {gives}; \
             readers go by the library"
        ));
    };
    if declared.counter_type != given.counter_type {
        differ("type", declared.counter_type.to_string(), given.counter_type.to_string());
    }
    if declared.scale != given.scale {
        differ("scale", declared.scale.to_string(), given.scale.to_string());
    }
    if declared.advanced != (given.detail > DetailLevel::NOVICE) {
        let level = |advanced: bool| if advanced { "advanced" } else { "standard" }.to_string();
        differ("detail level", level(declared.advanced), level(!declared.advanced));
    }
}
