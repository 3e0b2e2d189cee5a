//! Process V2 and Thread V2: the instances of Process and Thread under names that stay, copied
//! from the written objects.

use crate::files::decimal;
use crate::table::{PROCESS, PROCESS_V2};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::winperf::{ID_PROCESS, ID_THREAD};
use perfhive_format::{
    FileTime, InstanceHead, NameRef, ObjectTemplate, ParseError, PerfObject, TitleIndex,
};

/// Buffers for the bytes of an object and for a name, kept between collections.
#[derive(Default)]
pub(super) struct ByNumber {
    bytes: Vec<u8>,
    name: Vec<u8>,
}

impl ByNumber {
    /// Writes the object of `template`, with the instances of the object that was written since
    /// `mark`: Process or Thread, which must have the same counters as the template. A process is
    /// named `name:number`, a thread by its number; `_Total` and the threads of Idle keep their
    /// names.
    pub(super) fn write(
        &mut self,
        mark: (usize, u32),
        template: &ObjectTemplate,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let Self { bytes, name } = self;
        bytes.clear();
        bytes.extend_from_slice(out.since(mark));
        let failed = |error: ParseError| ProviderError::Failed(error.to_string());
        let object = PerfObject::parse(bytes).map_err(failed)?;
        let find = |index| object.counters().find(|known| known.name_index() == TitleIndex(index));
        let (process, thread) = (find(ID_PROCESS), find(ID_THREAD));
        let mut copy = out.object(template)?;
        for instance in object.instances() {
            let block = instance.counter_block();
            let number = |counter| block.value(&counter).ok().map(|number| number as u32);
            name.clear();
            name.extend_from_slice(instance.name().as_bytes());
            if !instance.name().eq_ignore_case("_Total") {
                match (thread.and_then(number), process.and_then(number)) {
                    // The threads of Idle all have the number 0 and keep their names.
                    (Some(0), _) => {}
                    (Some(thread), _) => {
                        name.clear();
                        push_number(name, thread);
                    }
                    (None, Some(process)) => {
                        push(name, b":");
                        push_number(name, process);
                    }
                    (None, None) => {}
                }
            }
            let parent = instance.parent().map(|(object, place)| match object.0 == PROCESS.index {
                true => (TitleIndex(PROCESS_V2.index), place),
                false => (object, place),
            });
            let head = InstanceHead { name: NameRef::Bytes(name), unique_id: None, parent };
            // The writer puts the length, the first 4 bytes of a block, in front again.
            copy.instance_bytes(&head, block.as_bytes().get(4..).unwrap_or_default())?;
        }
        copy.clock(object.clocks().object_time, FileTime::PER_SECOND).finish()?;
        Ok(())
    }
}

/// Appends ASCII text to a name in UTF-16, stored as little-endian bytes.
fn push(name: &mut Vec<u8>, text: &[u8]) {
    name.extend(text.iter().flat_map(|byte| [*byte, 0]));
}

fn push_number(name: &mut Vec<u8>, number: u32) {
    push(name, decimal(number, &mut [0; 10]));
}
