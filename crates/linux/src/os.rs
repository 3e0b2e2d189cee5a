//! The provider `linux-system`: System, Memory and Processor.

use crate::clock::TimeBase;
use crate::cpus::{Damage, Interrupts, SystemStat, Ticks, Times, Totals};
use crate::faults::{Faults, describe, numbers, unreadable};
use crate::files::{Reader, decimal};
use crate::layout::{Layouts, MOST, Row, write_single};
use crate::parse::{kib_to_bytes, threads_of_loadavg};
use crate::root::ProcRoot;
use crate::table::{MEMORY, PROCESSOR, SYSTEM};
use crate::titles;
use perfhive_engine::{
    Collection, Numbering, ObjectWriter, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, Session,
};
use perfhive_format::{InstanceHead, TitleIndex};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::param::page_size;

/// Processor 238, Interrupts/sec.
const INTERRUPTS: u32 = 148;

pub(crate) struct SystemProvider {
    root: ProcRoot,
}

impl SystemProvider {
    pub(crate) fn new(root: ProcRoot) -> Self {
        Self { root }
    }
}

impl Provider for SystemProvider {
    fn name(&self) -> &str {
        "linux-system"
    }

    fn describe(&self) -> ProviderDescription {
        ProviderDescription {
            numbering: Numbering::Windows,
            objects: [&SYSTEM, &MEMORY, &PROCESSOR].map(|object| object.description()).into(),
        }
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        titles::of_objects(&[&SYSTEM, &MEMORY, &PROCESSOR])
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        let reader = Reader::open(self.root.proc()).map_err(|error| {
            ProviderError::io(self.root.proc().display().to_string(), error.into())
        })?;
        Ok(Box::new(SystemSession {
            reader,
            ticks: Ticks::of_system(),
            page: page_size() as u64,
            base: TimeBase::process(),
            files: Files::default(),
            stat: SystemStat::default(),
            totals: Totals::default(),
            interrupts: Interrupts::default(),
            processes: Vec::new(),
            faults: Faults::default(),
            system: Layouts::new(&SYSTEM),
            memory: Layouts::new(&MEMORY),
            processor: Layouts::new(&PROCESSOR),
        }))
    }
}

/// Files of the system, open since they were read first.
#[derive(Default)]
struct Files {
    stat: Option<OwnedFd>,
    loadavg: Option<OwnedFd>,
    meminfo: Option<OwnedFd>,
    vmstat: Option<OwnedFd>,
    interrupts: Option<OwnedFd>,
}

struct SystemSession {
    reader: Reader,
    ticks: Ticks,
    page: u64,
    base: TimeBase,
    files: Files,
    stat: SystemStat,
    totals: Totals,
    interrupts: Interrupts,
    processes: Vec<u32>,
    faults: Faults,
    system: Layouts,
    memory: Layouts,
    processor: Layouts,
}

impl Session for SystemSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wants = |index| collection.wants(TitleIndex(index));
        let (system, processor) = (wants(SYSTEM.index), wants(PROCESSOR.index));
        let stat = if system || processor { self.read_stat() } else { Ok(()) };
        if system {
            self.system_faults(stat);
            self.write_system(out)?;
        }
        if processor {
            self.processor_faults(stat);
            let extra = collection.wants_extra(TitleIndex(PROCESSOR.index), TitleIndex(INTERRUPTS));
            self.write_processors(extra, out)?;
        }
        if wants(MEMORY.index) {
            self.write_memory(out)?;
        }
        Ok(())
    }
}

impl SystemSession {
    fn read_stat(&mut self) -> Result<(), Errno> {
        self.stat.clear();
        let text = self.reader.system(c"stat", &mut self.files.stat)?;
        self.stat.parse(text, self.ticks);
        Ok(())
    }

    /// What is wrong with `stat` and concerns System.
    fn system_faults(&mut self, stat: Result<(), Errno>) {
        if let Err(error) = stat {
            unreadable(c"stat", error, &mut self.faults);
        }
        let lines = self.stat.damage.iter().filter(|damage| !matches!(damage, Damage::Cpu(_)));
        lines.for_each(|damage| self.faults.object(damage.to_string()));
    }

    /// What is wrong with `stat` and concerns Processor.
    fn processor_faults(&mut self, stat: Result<(), Errno>) {
        if let Err(error) = stat {
            unreadable(c"stat", error, &mut self.faults);
        }
        for damage in &self.stat.damage {
            match damage {
                Damage::Cpu(number) => {
                    self.faults.instance(|| (number.clone(), damage.to_string()));
                }
                Damage::Cut => self.faults.object(damage.to_string()),
                Damage::Line(_) => {}
            }
        }
    }

    fn write_system(&mut self, out: &mut ObjectWriter<'_>) -> Result<(), ProviderError> {
        let now = self.base.now();
        let cpus = self.stat.cpus.len() as u64;
        let mut row = Row::new(&SYSTEM);
        row.set_some(146, self.stat.switches);
        row.set(674, self.base.boot().0 as u64);
        // How many run, or idle, is known where all processors are.
        let has_cpus = cpus > 0 && self.stat.has_all_cpus;
        if has_cpus {
            row.set_some(44, self.stat.running.map(|running| running.saturating_sub(cpus)));
        }
        match self.reader.numbers(&mut self.processes) {
            Ok(()) => row.set(248, self.processes.len() as u64 + 1),
            Err(error) => self.faults.object(format!("processes: {}", describe(error))),
        }
        match self.reader.system(c"loadavg", &mut self.files.loadavg) {
            Ok(text) => match threads_of_loadavg(text) {
                Some(threads) if has_cpus => row.set(250, threads.saturating_add(cpus)),
                Some(_) => {}
                None => self.faults.object("loadavg: not understood".to_string()),
            },
            Err(error) => unreadable(c"loadavg", error, &mut self.faults),
        }
        write_single(&mut self.system, &row, Some(now), out)?;
        self.faults.report(SYSTEM.index, out);
        Ok(())
    }

    fn write_memory(&mut self, out: &mut ObjectWriter<'_>) -> Result<(), ProviderError> {
        let mut row = Row::new(&MEMORY);
        match self.reader.system(c"meminfo", &mut self.files.meminfo) {
            Ok(text) => set_meminfo(text, self.page, &mut row, &mut self.faults),
            Err(error) => unreadable(c"meminfo", error, &mut self.faults),
        }
        match self.reader.system(c"vmstat", &mut self.files.vmstat) {
            Ok(text) => {
                let [all, major] =
                    numbers(c"vmstat", text, [b"pgfault", b"pgmajfault"], &mut self.faults);
                row.set_some(28, all);
                row.set_some(42, major);
            }
            Err(error) => unreadable(c"vmstat", error, &mut self.faults),
        }
        if row.mask() != 0 {
            write_single(&mut self.memory, &row, None, out)?;
        }
        self.faults.report(MEMORY.index, out);
        Ok(())
    }

    fn write_processors(
        &mut self,
        with_interrupts: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        self.totals.update(&self.stat.cpus);
        let with_interrupts = with_interrupts && self.read_interrupts();
        if !self.stat.cpus.is_empty() {
            let mut row = Row::new(&PROCESSOR);
            set_times(&mut row, self.totals.mean);
            let mask = row.mask() | if with_interrupts { PROCESSOR.bits(INTERRUPTS) } else { 0 };
            let mut object = out.object(self.processor.template(mask)?)?;
            let mut values = [0; MOST];
            for cpu in &self.stat.cpus {
                row.clear();
                set_times(&mut row, cpu.times);
                row.set_some(INTERRUPTS, self.interrupts.of(cpu.number));
                let mut digits = [0; 10];
                let name = decimal(cpu.number, &mut digits);
                let name = std::str::from_utf8(name).unwrap_or_default();
                object
                    .instance_prefix(&InstanceHead::named(name), row.values(mask, &mut values))?;
            }
            row.clear();
            set_times(&mut row, self.totals.mean);
            row.set(INTERRUPTS, self.interrupts.sum());
            let total = InstanceHead::named("_Total");
            object.instance_prefix(&total, row.values(mask, &mut values))?;
            object.finish()?;
        }
        self.faults.report(PROCESSOR.index, out);
        Ok(())
    }

    fn read_interrupts(&mut self) -> bool {
        match self.reader.system(c"interrupts", &mut self.files.interrupts) {
            Ok(text) => {
                let understood = self.interrupts.parse(text);
                if !understood {
                    self.faults.object("interrupts: not understood".to_string());
                }
                understood
            }
            Err(error) => {
                unreadable(c"interrupts", error, &mut self.faults);
                false
            }
        }
    }
}

/// Sets what `meminfo` has; a field that the kernel does not have leaves its
/// counters out.
fn set_meminfo(text: &[u8], page: u64, row: &mut Row, faults: &mut Faults) {
    let [free, available, buffers, cached, shared, dirty, slab, limit, committed] = numbers(
        c"meminfo",
        text,
        [
            b"MemFree:",
            b"MemAvailable:",
            b"Buffers:",
            b"Cached:",
            b"Shmem:",
            b"Dirty:",
            b"SUnreclaim:",
            b"CommitLimit:",
            b"Committed_AS:",
        ],
        faults,
    );
    let bytes = |kib: Option<u64>| kib.map(kib_to_bytes);
    row.set_some(24, bytes(available));
    row.set_some(1380, available);
    row.set_some(1382, available.map(|kib| kib / 1024));
    row.set_some(26, bytes(committed));
    row.set_some(30, bytes(limit));
    row.set_some(58, bytes(slab));
    row.set_some(1676, bytes(free));
    row.set_some(1678, bytes(dirty));
    if let (Some(committed), Some(limit)) = (committed, limit) {
        // Pages, as Windows counts; in larger units where 32 bits do not do.
        let pages = |kib: u64| kib_to_bytes(kib) / page.max(1);
        let (mut value, mut base) = (pages(committed), pages(limit));
        while value.max(base) > u64::from(u32::MAX) {
            (value, base) = (value / 2, base / 2);
        }
        row.set_with_base(1406, value, base);
    }
    if let (Some(cached), Some(buffers), Some(shared)) = (cached, buffers, shared) {
        let pages = cached.saturating_add(buffers).saturating_sub(shared);
        row.set(818, kib_to_bytes(pages));
    }
}

fn set_times(row: &mut Row, times: Times) {
    row.set(6, times.idle);
    row.set(142, times.user);
    row.set(144, times.privileged);
    row.set(1746, times.idle);
    row.set_some(698, times.interrupt);
    row.set_some(696, times.soft_interrupt);
}
