//! Definition files of providers: `.ini` with its symbol file, and manifests (`.man`).

mod error;
mod ini;
mod manifest;
mod symbols;
mod text;

pub use error::{DefinitionError, WithWarnings};
pub(crate) use ini::MAX_OFFSET;
pub use ini::{parse_ini, read_ini};
pub use manifest::{parse_manifest, read_manifest};
pub use perfhive_format::{FileEncoding, UnknownEncoding};

use perfhive_contract::{ProviderDefinition, Texts};
use perfhive_format::LanguageId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Options for reading a definition file, for facts that the file itself may not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The encoding of a definition file (not of a symbol file) without a byte order mark. With `None`
    /// the encoding is recognised: UTF-16, UTF-8, the encoding that a manifest declares, or the code
    /// page of the languages of an `.ini` file.
    pub encoding: Option<FileEncoding>,
    /// The symbol file of an `.ini` file; `None` for the file that the `.ini` file names.
    pub symbols: Option<PathBuf>,
}

/// Reads a definition file. If the file's name ends in `.man` or `.xml`, it is a manifest, with one or
/// more providers. Otherwise it is an `.ini` file, with one provider, and its symbol file is read, too.
///
/// # Errors
/// [`DefinitionError`] if a file cannot be read or is invalid.
pub fn read(
    file: &Path,
    options: &ReadOptions,
) -> Result<WithWarnings<Vec<ProviderDefinition>>, DefinitionError> {
    let is =
        |other: &str| file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(other));
    if is("man") || is("xml") {
        return read_manifest(file, options);
    }
    let WithWarnings { value, warnings } = read_ini(file, options)?;
    Ok(WithWarnings { value: vec![value], warnings })
}

/// Groups names and help texts, given by language and offset, into one entry for each language.
fn group_texts(
    mut names: BTreeMap<LanguageId, BTreeMap<u32, String>>,
    mut help: BTreeMap<LanguageId, BTreeMap<u32, String>>,
) -> Vec<Texts> {
    let languages: BTreeSet<LanguageId> = names.keys().chain(help.keys()).copied().collect();
    let list = |map: Option<BTreeMap<u32, String>>| map.into_iter().flatten().collect();
    languages
        .into_iter()
        .map(|language| Texts {
            language,
            names: list(names.remove(&language)),
            help: list(help.remove(&language)),
        })
        .collect()
}
