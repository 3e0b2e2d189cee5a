//! Published categories as providers of a broker.

mod contents;
mod definition;
mod indexes;
mod provider;
mod published_file;
mod roster;
mod share;

pub use definition::{FileDefinition, LayoutError};
pub use roster::PublishedCounters;
use std::ops::ControlFlow;

/// The decoded contents of a whole file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileContents {
    /// The part of the file that never changes: the category and its counters.
    pub definition: FileDefinition,
    /// The instances; a category without instances has one instance, without a name. An instance is
    /// left out if one of its values does not belong to the same moment as the value's base.
    pub instances: Vec<InstanceValues>,
}

/// The values of one instance of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceValues {
    /// The instance's name; empty in a category without instances.
    pub name: String,
    /// The program's number for the instance; `None` if the program gave none.
    pub unique_id: Option<u32>,
    /// The numbers of the instance's counters, each followed by its base if it has one. Times of
    /// timers are in nanoseconds if the definition says so.
    pub values: Vec<u64>,
}

/// Decodes the bytes of a whole file of counters.
///
/// # Errors
/// If the bytes are not a file of version 2 of the layout.
pub fn decode(bytes: &[u8]) -> Result<FileContents, LayoutError> {
    let definition = FileDefinition::parse(bytes, bytes.len() as u64)?;
    let mut contents = contents::Contents::default();
    let mut instances = Vec::new();
    contents.read(bytes, &definition).map_err(|_| LayoutError::short(bytes.len() as u64))?;
    contents.each(bytes, &definition, |instance| {
        if let contents::Values::Whole(values) = instance.values {
            instances.push(InstanceValues {
                name: instance.name.to_string(),
                unique_id: instance.unique_id,
                values: values.to_vec(),
            });
        }
        ControlFlow::Continue(())
    });
    Ok(FileContents { definition, instances })
}
