//! Texts: tables for people, and rows for programs.

pub(crate) mod escape;
pub(crate) mod records;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod wide;
pub(crate) mod wrap;
