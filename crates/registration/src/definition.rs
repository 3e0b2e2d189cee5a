//! Files that say what a provider has: `.ini` with its symbol file, and `.man`.

mod error;
mod ini;
mod symbols;
mod text;

pub use error::{DefinitionError, Read};
pub(crate) use ini::MAX_OFFSET;
pub use ini::{parse_ini, read_ini};
pub use text::encoding;
