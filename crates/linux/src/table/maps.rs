//! What memory maps tell: Image, Full Image, Process Address Space, Thread
//! Details.

use super::Object;

pub(crate) static OBJECTS: &[&Object] = &[];
