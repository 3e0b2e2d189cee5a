//! Opening sources on systems without counters of their own, on which only
//! recordings can be read.

use super::{Opened, unavailable};
use crate::options::OpenOptions;
use crate::scheme::SourceAddress;

/// The name of the data source of `local:` in measurements.
pub(crate) const DATA_SOURCE: &str = "local";

fn refuse(address: &SourceAddress, _: &OpenOptions) -> Opened {
    let message = "this machine's counters can be read on Linux and Windows only so far; recorded \
                   blocks open with file:A.bin,B.bin";
    Err(unavailable(address, &message))
}

pub(crate) use refuse as open_local;
pub(crate) use refuse as open_proc;
pub(crate) use refuse as open_bpf;
pub(crate) use refuse as open_native;
pub(crate) use refuse as open_registry;

fn no_reader(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    None
}

pub(crate) use no_reader as reader_of_local;
pub(crate) use no_reader as reader_of_native;
pub(crate) use no_reader as reader_of_bpf;

pub(crate) fn version_of_system() -> String {
    String::new()
}
