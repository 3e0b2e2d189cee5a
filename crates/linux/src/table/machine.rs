//! Objects of the whole machine beside System, Memory and Processor.

use super::Object;

pub(crate) static OBJECTS: &[&Object] = &[];
