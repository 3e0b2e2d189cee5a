//! The provider `linux-system`: System, Memory, Processor, and the objects from
//! the same files: Processor Information, Cache and Objects.

mod memory;
mod processor;
mod system;
mod topology;

use crate::clock::TimeBase;
use crate::cpus::{Damage, SystemStat, Ticks, Totals};
use crate::faults::{Faults, Text, unreadable};
use crate::files::Reader;
use crate::interrupts::{Interrupts, SoftInterrupts};
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::{
    CACHE, MEMORY, OBJECTS_OF_WINDOWS, Object, PROCESSOR, PROCESSOR_INFORMATION, SYSTEM,
};
use perfhive_engine::standard::Layouts;
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::TitleIndex;
use processor::Details;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::param::page_size;
use std::ffi::CStr;

static OBJECTS: [&Object; 6] =
    [&SYSTEM, &MEMORY, &PROCESSOR, &PROCESSOR_INFORMATION, &CACHE, &OBJECTS_OF_WINDOWS];

/// The provider `linux-system` for the machine below `root`.
pub(crate) fn provider(root: &ProcRoot) -> impl Provider + use<> {
    LinuxProvider::new("linux-system", &OBJECTS, root, SystemSession::open)
}

/// The files of the provider. Files of procfs stay open after they were read for the first time.
#[derive(Default)]
struct Files {
    stat: Option<OwnedFd>,
    loadavg: Option<OwnedFd>,
    meminfo: Option<OwnedFd>,
    vmstat: Option<OwnedFd>,
    interrupts: Option<OwnedFd>,
    softirqs: Option<OwnedFd>,
    open_files: Option<OwnedFd>,
    inodes: Option<OwnedFd>,
    entries: Option<OwnedFd>,
}

struct SystemSession {
    reader: Reader,
    sys: Option<Reader>,
    ticks: Ticks,
    page: u64,
    base: TimeBase,
    files: Files,
    stat: SystemStat,
    totals: Totals,
    interrupts: Interrupts,
    soft_interrupts: SoftInterrupts,
    details: Details,
    processes: Vec<u32>,
    faults: Faults,
    system: Layouts,
    memory: Layouts,
    cache: Layouts,
    objects: Layouts,
    processor: Layouts,
    information: Layouts,
}

impl SystemSession {
    fn open(root: &ProcRoot, reader: Reader) -> Self {
        Self {
            reader,
            // Without `/sys`, all processors count to node 0, and no frequency is known.
            sys: root.sys().and_then(|sys| Reader::open(sys).ok()),
            ticks: Ticks::of_system(),
            page: page_size() as u64,
            base: TimeBase::of(root),
            files: Files::default(),
            stat: SystemStat::default(),
            totals: Totals::default(),
            interrupts: Interrupts::default(),
            soft_interrupts: SoftInterrupts::default(),
            details: Details::default(),
            processes: Vec::new(),
            faults: Faults::default(),
            system: Layouts::new(&SYSTEM),
            memory: Layouts::new(&MEMORY),
            cache: Layouts::new(&CACHE),
            objects: Layouts::new(&OBJECTS_OF_WINDOWS),
            processor: Layouts::new(&PROCESSOR),
            information: Layouts::new(&PROCESSOR_INFORMATION),
        }
    }
}

impl Session for SystemSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wants = |object: &Object| collection.wants(TitleIndex(object.index));
        let asked = |object: &Object, counter| {
            collection.wants_extra(TitleIndex(object.index), TitleIndex(counter))
        };
        let (processor, information) = (wants(&PROCESSOR), wants(&PROCESSOR_INFORMATION));
        let (system, objects) = (wants(&SYSTEM), wants(&OBJECTS_OF_WINDOWS));
        let needs_stat = system || objects || processor || information;
        let stat = if needs_stat { self.read_stat() } else { Ok(()) };
        if system || objects {
            let population = self.read_population();
            if system {
                self.system_faults(stat);
                self.write_system(population, out)?;
            }
            if objects {
                self.write_objects(population, out)?;
            }
        }
        let extra = processor::Extra::asked(|counter| asked(&PROCESSOR_INFORMATION, counter));
        let plain = processor && asked(&PROCESSOR, processor::INTERRUPTS);
        let table = plain || (information && extra.interrupts());
        let table = if table { self.read_interrupts() } else { Ok(false) };
        if processor {
            self.processor_faults(stat);
            let has_table = plain && self.has_interrupts(&table);
            self.write_processors(has_table, out)?;
        }
        if information {
            self.processor_faults(stat);
            let has_table = extra.interrupts() && self.has_interrupts(&table);
            self.write_information(extra, has_table, out)?;
        }
        let (memory, cache) = (wants(&MEMORY), wants(&CACHE));
        if memory || cache {
            self.write_memory(memory, cache, out)?;
        }
        Ok(())
    }
}

impl SystemSession {
    fn read_stat(&mut self) -> Result<(), Errno> {
        self.stat.clear();
        let text = self.reader.system(c"stat", &mut self.files.stat)?;
        self.stat.parse(text, self.ticks);
        self.totals.update(&self.stat.cpus);
        Ok(())
    }

    /// Reads the table of interrupts; returns whether it could be parsed, or the error of reading
    /// it.
    fn read_interrupts(&mut self) -> Result<bool, Errno> {
        let text = self.reader.system(c"interrupts", &mut self.files.interrupts)?;
        Ok(self.interrupts.parse(text))
    }

    /// Whether the table of interrupts was read and parsed; otherwise a fault is added.
    fn has_interrupts(&mut self, table: &Result<bool, Errno>) -> bool {
        match table {
            Ok(true) => true,
            Ok(false) => {
                self.faults.object("interrupts: not understood");
                false
            }
            Err(error) => {
                unreadable(c"interrupts", *error, &mut self.faults);
                false
            }
        }
    }

    /// Adds the fault that `stat` could not be read, or that it names no processor.
    fn stat_faults(&mut self, stat: Result<(), Errno>) {
        match stat {
            Ok(()) if self.stat.cpus.is_empty() => {
                self.faults.object("stat: names no processor");
            }
            Ok(()) => {}
            Err(error) => unreadable(c"stat", error, &mut self.faults),
        }
    }

    /// Adds the faults of `stat` that concern System: all but those of lines of processors.
    fn system_faults(&mut self, stat: Result<(), Errno>) {
        self.stat_faults(stat);
        let lines = self.stat.damage.iter().filter(|damage| !matches!(damage, Damage::Cpu(_)));
        lines.for_each(|damage| self.faults.object(damage));
    }

    /// Adds the faults of `stat` that concern processors: that it could not be read or names no
    /// processor, damaged lines of processors, and a text that ends within a line.
    fn processor_faults(&mut self, stat: Result<(), Errno>) {
        self.stat_faults(stat);
        for damage in &self.stat.damage {
            match damage {
                Damage::Cpu(number) => {
                    self.faults.instance(number, damage);
                }
                Damage::Cut => self.faults.object(damage),
                Damage::Line(_) => {}
            }
        }
    }
}

/// The text of a file; `None`, with a fault, if reading fails or the text is empty.
fn text_of<'a>(
    reader: &'a mut Reader,
    path: &CStr,
    file: &mut Option<OwnedFd>,
    faults: &mut Faults,
) -> Option<&'a [u8]> {
    readable(path, reader.system(path, file), faults)
}

/// The text that was read; `None`, with a fault, if reading failed or the text is empty.
fn readable<'a>(
    path: &CStr,
    text: Result<&'a [u8], Errno>,
    faults: &mut Faults,
) -> Option<&'a [u8]> {
    match text {
        Ok([]) => {
            faults.object(format_args!("{}: is empty", Text(path)));
            None
        }
        Ok(text) => Some(text),
        Err(error) => {
            unreadable(path, error, faults);
            None
        }
    }
}
