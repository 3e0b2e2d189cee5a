//! System, Processor, Process and Thread without the registry: a provider over the native functions
//! of Windows.
//!
//! If the registry's counters are disabled or broken, `ntdll` still has the kernel's own numbers:
//! `NtQuerySystemInformation` answers with the list of all processes and their threads, with the
//! times of each processor, with counts of the whole system. [`NativeProvider`] makes the same
//! objects of them as Windows' own libraries, with the same indexes and types.
//!
//! Windows' headers document these structures only in part; what was observed is in the file of
//! each. The buffers are read as bytes, and nothing in them is trusted. Only the call itself needs
//! Windows ([`SystemInformation`]): everything else is tested on any system.
//!
//! **A field without a true value is left out.** A field that is zero for every process, or a count
//! since the machine's start that is still zero, counts as a field that this system does not fill:
//! Wine has many of them. The definitions then lack its counter.

pub(crate) mod information;
mod layout;
// These tests read the manual in the repository, which is missing under Wine.
#[cfg(all(test, not(windows)))]
mod manual;
#[cfg(windows)]
mod ntdll;
mod processes;
mod processors;
mod system;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod titles;
mod walk;

pub use information::{Class, QueryReply, Status, SystemInformation};
#[cfg(windows)]
pub use ntdll::{NativeClock, Ntdll, machine_name, windows_version};
pub use table::{counter_table, object_table};

use information::Buffer;
use perfhive_engine::standard::Layouts;
use perfhive_engine::{
    Collection, Numbering, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::TitleIndex;
use std::sync::Arc;
use table::{OBJECTS, PROCESS, PROCESSOR, SYSTEM, THREAD};

/// The provider of System, Processor, Process and Thread over the native functions.
pub struct NativeProvider {
    information: Arc<dyn SystemInformation>,
}

impl NativeProvider {
    /// A provider that asks `information`; on Windows,
    /// `Ntdll`.
    #[must_use]
    pub fn new(information: Arc<dyn SystemInformation>) -> Self {
        Self { information }
    }
}

impl Provider for NativeProvider {
    fn name(&self) -> &str {
        "windows-native"
    }

    fn describe(&self) -> ProviderDescription {
        ProviderDescription::new(
            Numbering::Windows,
            OBJECTS.map(|object| object.description()).into(),
        )
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        titles::all()
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        Ok(Box::new(NativeSession {
            information: Arc::clone(&self.information),
            list: Buffer::new(LIST_AT_FIRST),
            times: Buffer::new(0x1000),
            other: Buffer::new(0x400),
            processes: processes::Writer::new(Layouts::new(&PROCESS)),
            threads: threads::Writer::new(Layouts::new(&THREAD)),
            processors: processors::Writer::new(Layouts::new(&PROCESSOR)),
            system: system::Writer::new(Layouts::new(&SYSTEM)),
        }))
    }
}

/// The first size in bytes of the buffer for the list of processes. A desktop with 300 processes
/// and 4000 threads needs some 500 KiB.
const LIST_AT_FIRST: usize = 512 << 10;

struct NativeSession {
    information: Arc<dyn SystemInformation>,
    /// The buffer for the list of processes.
    list: Buffer,
    /// The buffer for the times of the processors.
    times: Buffer,
    /// The buffer for all other answers, one at a time.
    other: Buffer,
    processes: processes::Writer,
    threads: threads::Writer,
    processors: processors::Writer,
    system: system::Writer,
}

impl Session for NativeSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wants = |index: u32| collection.wants(TitleIndex(index));
        let [system, process, thread] = [SYSTEM.index, PROCESS.index, THREAD.index].map(wants);
        let information = &*self.information;
        if wants(PROCESSOR.index) {
            match self.times.ask(information, Class::ProcessorPerformance) {
                Ok(times) => self.processors.write(times, out)?,
                Err(why) => out.fault(TitleIndex(PROCESSOR.index), None, why),
            }
        }
        if !(system || process || thread) {
            return Ok(());
        }
        let list = self.list.ask(information, Class::Process);
        // The clock, read after the list, is later than every start time.
        let time = system::Time::ask(&mut self.other, information);
        let list =
            list.map(|list| walk::Processes::new(list.bytes, list.address, walk::Width::NATIVE));
        // Process and Thread need both answers; System can do without, since it has others too.
        if process || thread {
            match (&list, &time) {
                (Ok(list), Ok(time)) => {
                    let places = self.processes.write(list.clone(), *time, out)?;
                    if thread {
                        self.threads.write(list.clone(), *time, places, out)?;
                    }
                }
                (Err(why), _) | (_, Err(why)) => {
                    let objects = [(process, &PROCESS), (thread, &THREAD)];
                    for (_, object) in objects.iter().filter(|(wanted, _)| *wanted) {
                        out.fault(TitleIndex(object.index), None, why);
                    }
                }
            }
        }
        if system {
            self.system.write(information, &mut self.other, list, time, out)?;
        }
        Ok(())
    }
}
