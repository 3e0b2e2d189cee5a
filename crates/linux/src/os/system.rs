//! The objects System (title index 2) and Objects (260).

use super::SystemSession;
use crate::faults::{Faults, Text, describe, is_gone, unreadable};
use crate::files::Reader;
use crate::parse::{Load, Words};
use crate::table::{OBJECTS_OF_WINDOWS, SYSTEM, index_of};
use perfhive_engine::standard::{CounterValues, write_single};
use perfhive_engine::{ObjectWriter, ProviderError};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::ffi::CStr;

/// The number of processes, Idle included, and the contents of `loadavg`, or the errors of reading
/// them.
#[derive(Clone, Copy)]
pub(super) struct Population {
    processes: Result<u64, Errno>,
    load: Result<Option<Load>, Errno>,
}

/// The title indexes of the counters of the load averages, in the order of `loadavg`.
const LOAD_AVERAGES: [u32; 3] = [
    index_of!(SYSTEM, "Load Average 1 min"),
    index_of!(SYSTEM, "Load Average 5 min"),
    index_of!(SYSTEM, "Load Average 15 min"),
];

impl SystemSession {
    pub(super) fn write_system(
        &mut self,
        population: Population,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let now = self.base.now();
        let cpus = self.stat.cpus.len() as u64;
        let mut row = CounterValues::new(&SYSTEM);
        row.set_some(index_of!(SYSTEM, "Context Switches/sec"), self.stat.switches);
        row.set(index_of!(SYSTEM, "System Up Time"), self.base.boot().0 as u64);
        // These numbers need the complete list of processors.
        if cpus > 0 && self.stat.has_all_cpus {
            row.set_some(
                index_of!(SYSTEM, "Processor Queue Length"),
                self.stat.running.map(|running| running.saturating_sub(cpus)),
            );
            row.set(index_of!(SYSTEM, "Processors"), cpus);
        }
        row.set_some(index_of!(SYSTEM, "Runnable Threads"), self.stat.running);
        row.set_some(index_of!(SYSTEM, "Blocked Threads"), self.stat.blocked);
        row.set_some(index_of!(SYSTEM, "Threads Created/sec"), self.stat.made);
        row.set_some(index_of!(SYSTEM, "Hardware Interrupts/sec"), self.stat.interrupts);
        row.set_some(index_of!(SYSTEM, "Soft Interrupts/sec"), self.stat.soft_interrupts);
        if let Some(load) = self.set_population(population, &mut row) {
            for (counter, average) in LOAD_AVERAGES.into_iter().zip(load.averages) {
                row.set(counter, average.to_bits());
            }
        }
        write_single(&mut self.system, &row, Some(now), out)?;
        self.faults.report(SYSTEM.index, out);
        Ok(())
    }

    /// Reads the number of processes and `loadavg`, for System and Objects.
    pub(super) fn read_population(&mut self) -> Population {
        let processes = self.reader.numbers(&mut self.processes);
        let processes = processes.map(|()| self.processes.len() as u64 + 1);
        let text = self.reader.system(c"loadavg", &mut self.files.loadavg);
        Population { processes, load: text.map(Load::parse) }
    }

    /// Sets the counters Processes and Threads, which System and Objects share, as far as they are
    /// known; returns the contents of `loadavg`, or `None` if they cannot be read.
    fn set_population(&mut self, population: Population, row: &mut CounterValues) -> Option<Load> {
        let cpus = self.stat.cpus.len() as u64;
        match population.processes {
            Ok(processes) => row.set(index_of!(SYSTEM, "Processes"), processes),
            Err(error) => self.faults.object(format_args!("processes: {}", describe(error))),
        }
        match population.load {
            Ok(Some(load)) => {
                if cpus > 0 && self.stat.has_all_cpus {
                    row.set(index_of!(SYSTEM, "Threads"), load.threads.saturating_add(cpus));
                }
                return Some(load);
            }
            Ok(None) => self.faults.object("loadavg: not understood"),
            Err(error) => unreadable(c"loadavg", error, &mut self.faults),
        }
        None
    }

    pub(super) fn write_objects(
        &mut self,
        population: Population,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let mut row = CounterValues::new(&OBJECTS_OF_WINDOWS);
        self.set_population(population, &mut row);
        let (reader, files, faults) = (&mut self.reader, &mut self.files, &mut self.faults);
        let [open, _, limit] = words(reader, c"sys/fs/file-nr", &mut files.open_files, faults);
        row.set_some(index_of!(OBJECTS_OF_WINDOWS, "Open Files"), open);
        row.set_some(index_of!(OBJECTS_OF_WINDOWS, "Open File Limit"), limit);
        let [inodes, unused] = words(reader, c"sys/fs/inode-nr", &mut files.inodes, faults);
        row.set_some(index_of!(OBJECTS_OF_WINDOWS, "Inodes"), inodes);
        row.set_some(index_of!(OBJECTS_OF_WINDOWS, "Unused Inodes"), unused);
        let [entries, unused] = words(reader, c"sys/fs/dentry-state", &mut files.entries, faults);
        row.set_some(index_of!(OBJECTS_OF_WINDOWS, "Directory Entries"), entries);
        row.set_some(index_of!(OBJECTS_OF_WINDOWS, "Unused Directory Entries"), unused);
        if row.mask() != 0 {
            write_single(&mut self.objects, &row, None, out)?;
        }
        self.faults.report(OBJECTS_OF_WINDOWS.index, out);
        Ok(())
    }
}

/// The first `N` numbers of a file; `None` for each that is missing. A missing number is a fault, a
/// missing file is not: some containers hide `sys`.
fn words<const N: usize>(
    reader: &mut Reader,
    path: &CStr,
    file: &mut Option<OwnedFd>,
    faults: &mut Faults,
) -> [Option<u64>; N] {
    let text = match reader.system(path, file) {
        Ok(text) => text,
        Err(error) => {
            if !is_gone(error) {
                unreadable(path, error, faults);
            }
            return [None; N];
        }
    };
    let mut words = Words::new(text);
    let numbers = [(); N].map(|()| words.number());
    if numbers.iter().any(Option::is_none) {
        faults.object(format_args!("{}: not understood", Text(path)));
    }
    numbers
}
