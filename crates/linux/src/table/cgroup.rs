//! Cgroup, and what belongs to it.

use super::Object;

pub(crate) static OBJECTS: &[&Object] = &[];
