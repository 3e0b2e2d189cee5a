//! The tables of the objects of the whole machine other than System, Memory and Processor.

mod cache;
mod node;
mod objects;
mod pressure;
mod processor_information;
mod sensors;

pub(crate) use cache::CACHE;
pub(crate) use node::NODE;
pub(crate) use objects::OBJECTS_OF_WINDOWS;
pub(crate) use pressure::PRESSURE;
pub(crate) use processor_information::PROCESSOR_INFORMATION;
pub(crate) use sensors::{ENERGY, IDLE_STATE, THERMAL};

use super::Object;

pub(crate) static OBJECTS: &[&Object] = &[
    &PROCESSOR_INFORMATION,
    &CACHE,
    &OBJECTS_OF_WINDOWS,
    &PRESSURE,
    &NODE,
    &THERMAL,
    &ENERGY,
    &IDLE_STATE,
];
