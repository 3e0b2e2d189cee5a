//! PhysicalDisk, LogicalDisk and Paging File.

use super::Object;

pub(crate) static OBJECTS: &[&Object] = &[];
