//! What programs publish, as providers of a broker.

mod contents;
mod definition;
mod indexes;
mod provider;
mod roster;
mod share;

pub use definition::{Definition, LayoutError};
pub use roster::PublishedCounters;
use std::ops::ControlFlow;

/// What a whole file says.
#[derive(Clone, Debug)]
pub struct FileContents {
    /// What does not change.
    pub definition: Definition,
    /// The instances; the one of a category without has no name. One of which a
    /// value and its base do not fit together is not among them.
    pub instances: Vec<InstanceValues>,
}

/// One instance of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceValues {
    /// The name.
    pub name: String,
    /// The number that the program gave it, if it did.
    pub unique_id: Option<u32>,
    /// The numbers of its counters, each counter's base behind it. Times of
    /// timers are nanoseconds where the definition says so.
    pub values: Vec<u64>,
}

/// Decodes the bytes of a whole file. For tools; a broker reads files as they
/// change.
///
/// # Errors
/// Where the bytes are no file of version 2 of the layout.
pub fn decode(bytes: &[u8]) -> Result<FileContents, LayoutError> {
    let definition = Definition::parse(bytes, bytes.len() as u64)?;
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
