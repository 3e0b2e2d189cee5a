//! Network Interface and the protocols.

use super::Object;

pub(crate) static OBJECTS: &[&Object] = &[];
