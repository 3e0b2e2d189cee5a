//! Records of experiments: the JSON lines that `perfhive experiment run -o` writes, into a text file or a recording, and
//! what they say as data blocks.
//!
//! | file | what |
//! |---|---|
//! | `lines.rs` | the lines of a file, one at a time |
//! | `blocks.rs` | [`EventBlocks`]: events and readings as objects with counters |
//! | `reader.rs` | a file of records as the samples of a recording |

mod blocks;
mod lines;
mod reader;

pub use blocks::EventBlocks;
pub(crate) use lines::lacks_records;
pub use lines::{RecordKind, RecordLine, RecordLines, SensorLine, has_records};
pub(crate) use reader::EventRecords;
