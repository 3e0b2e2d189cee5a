//! Files that say what a provider has: `.ini` with its symbol file, and `.man`.

mod error;
mod ini;
mod symbols;
mod text;

pub use error::{DefinitionError, Read};
pub(crate) use ini::MAX_OFFSET;
pub use ini::{parse_ini, read_ini};
pub use text::{TextEncoding, UnknownEncoding};

use perfhive_contract::Definition;
use std::path::{Path, PathBuf};

/// What a definition file does not tell itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The encoding of a file that has no byte order mark and is no UTF-8.
    pub encoding: Option<TextEncoding>,
    /// The symbol file of an `.ini` file, if it is not where that says.
    pub symbols: Option<PathBuf>,
}

/// Reads a definition file, and what it names.
///
/// # Errors
/// [`DefinitionError`] with file, line, and the way out.
pub fn read(file: &Path, options: &ReadOptions) -> Result<Read<Vec<Definition>>, DefinitionError> {
    let Read { value, warnings } = read_ini(file, options)?;
    Ok(Read { value: vec![value], warnings })
}
