//! The object Processor Idle State: the idle states of the processors, from `cpuidle` in
//! `/sys/devices/system/cpu`.

use crate::faults::{Faults, Text, describe, is_gone};
use crate::files::{PidPath, Reader, decimal};
use crate::parse::{number, utf16_name};
use crate::table::{IDLE_STATE, index_of};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{Collection, ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, NameRef, TitleIndex};
use rustix::io::Errno;

/// The most idle states that are read of a processor; no kernel has so many (`CPUIDLE_STATE_MAX` is
/// 10).
const MOST_STATES: u32 = 16;

/// A file of an idle state, its counter, and the factor from the file's unit to the counter's.
struct File {
    name: &'static [u8],
    counter: u32,
    unit: u64,
}

const FILES: [File; 6] = [
    // Microseconds become 100 ns units.
    File { name: b"time", counter: index_of!(IDLE_STATE, "% Time"), unit: 10 },
    File { name: b"usage", counter: index_of!(IDLE_STATE, "Entries/sec"), unit: 1 },
    File { name: b"latency", counter: index_of!(IDLE_STATE, "Exit Latency"), unit: 1 },
    File { name: b"above", counter: index_of!(IDLE_STATE, "Too Deep/sec"), unit: 1 },
    File { name: b"below", counter: index_of!(IDLE_STATE, "Too Shallow/sec"), unit: 1 },
    File { name: b"rejected", counter: index_of!(IDLE_STATE, "Rejected/sec"), unit: 1 },
];

#[derive(Default)]
pub(super) struct IdleStates {
    processors: Vec<u32>,
    name: Vec<u16>,
    /// The name of the state that is being read, without the processor.
    state: Vec<u16>,
}

impl IdleStates {
    pub(super) fn write(
        &mut self,
        sys: &mut Reader,
        collection: &Collection<'_>,
        layouts: &mut Layouts,
        faults: &mut Faults,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        match sys.numbered(c"devices/system/cpu", b"cpu", &mut self.processors) {
            Ok(()) => {}
            Err(error) if is_gone(error) => self.processors.clear(),
            Err(error) => {
                faults.object(format_args!("devices/system/cpu: {}", describe(error)));
                return Ok(());
            }
        }
        let asked = FILES.each_ref().map(|file| {
            collection.wants_extra(TitleIndex(IDLE_STATE.index), TitleIndex(file.counter))
        });
        let extra = FILES.iter().zip(asked).filter(|(_, asked)| *asked);
        let mask = extra
            .fold(IDLE_STATE.standard(), |mask, (file, _)| mask | IDLE_STATE.bits(file.counter));
        let mut object = out.object(layouts.template(mask)?)?;
        let mut row = CounterValues::new(&IDLE_STATE);
        let mut values = [0; MOST];
        for processor in &self.processors {
            for state in 0..MOST_STATES {
                let mut path = PidPath::numbered(b"devices/system/cpu/cpu", *processor);
                path.push(b"cpuidle/state");
                path.push_number(state);
                path.push(b"/");
                let length = path.len();
                match sys.once_here(path.file(length, b"name")) {
                    Ok(()) => utf16_name(sys.text().trim_ascii_end(), &mut self.state),
                    // The last state was read before, or there is no driver for idle states.
                    Err(error) if is_gone(error) => break,
                    Err(error) => {
                        faults.instance(processor, format_args!("cpuidle: {}", describe(error)));
                        break;
                    }
                }
                self.name.clear();
                let mut digits = [0; 10];
                self.name.extend(decimal(*processor, &mut digits).iter().copied().map(u16::from));
                self.name.push(u16::from(b','));
                self.name.extend_from_slice(&self.state);

                row.clear();
                for file in &FILES {
                    if mask & IDLE_STATE.bits(file.counter) == 0 {
                        continue;
                    }
                    let wrong = match sys.once_here(path.file(length, file.name)) {
                        Ok(()) => match number(sys.text().trim_ascii_end()) {
                            Some(value) => {
                                row.set(file.counter, value.wrapping_mul(file.unit));
                                continue;
                            }
                            None => "not understood",
                        },
                        // An older kernel lacks the file, or the processor was just switched off.
                        Err(error) if is_gone(error) || error == Errno::NODEV => continue,
                        Err(error) => describe(error),
                    };
                    let name = Text(file.name);
                    faults.instance(Text(&*self.name), format_args!("cpuidle: {name}: {wrong}"));
                }
                let name = NameRef::Utf16(&self.name);
                let head = InstanceHead { name, unique_id: None, parent: None };
                object.instance_prefix(&head, row.values(mask, &mut values))?;
            }
        }
        object.finish()?;
        Ok(())
    }
}
