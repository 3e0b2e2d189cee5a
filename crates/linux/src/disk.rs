//! The provider `linux-disk`: PhysicalDisk, LogicalDisk and Paging File.

mod devices;
mod mounts;
mod space;
mod stats;
mod swaps;
mod sys;
mod volumes;

use crate::clock::TimeBase;
use crate::faults::{Faults, describe, is_gone, unreadable};
use crate::files::Reader;
use crate::provider::LinuxProvider;
use crate::root::ProcRoot;
use crate::table::{LOGICAL_DISK, Object, PAGING_FILE, PHYSICAL_DISK, index_of};
use devices::{Devices, Sample};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{Collection, ObjectWriter, Provider, ProviderError, Session};
use perfhive_format::{FileTime, InstanceHead, NameRef, TitleIndex};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use space::{Space, fraction};
use stats::{DeviceCounts, FIELDS, FieldGroups, Means};
use std::path::Path;
use swaps::Swaps;
use sys::Sys;
use volumes::Volumes;

/// The nanoseconds in a millisecond; `PerfTime` counts nanoseconds.
const NANOS: u64 = 1_000_000;
/// The bytes of a sector in the kernel's counts.
const SECTOR: u64 = 512;
const MEGABYTE: u64 = 1 << 20;

static OBJECTS: [&Object; 3] = [&PHYSICAL_DISK, &LOGICAL_DISK, &PAGING_FILE];

/// The provider `linux-disk` for the machine below `root`.
pub(crate) fn provider(root: &ProcRoot) -> impl Provider + use<> {
    LinuxProvider::new("linux-disk", &OBJECTS, root, DiskSession::open)
}

/// The files of the provider. Files of procfs stay open after they were read for the first time.
#[derive(Default)]
struct Files {
    diskstats: Option<OwnedFd>,
    own_mounts: Option<OwnedFd>,
    first_mounts: Option<OwnedFd>,
    swaps: Option<OwnedFd>,
}

struct DiskSession {
    root: ProcRoot,
    reader: Reader,
    base: TimeBase,
    files: Files,
    sys: Option<Sys>,
    devices: Devices,
    volumes: Volumes,
    swaps: Swaps,
    faults: Faults,
    physical: ObjectRows,
    logical: ObjectRows,
    paging: ObjectRows,
}

impl DiskSession {
    fn open(root: &ProcRoot, reader: Reader) -> Self {
        Self {
            root: root.clone(),
            reader,
            base: TimeBase::of(root),
            files: Files::default(),
            sys: None,
            devices: Devices::default(),
            volumes: Volumes::default(),
            swaps: Swaps::default(),
            faults: Faults::default(),
            physical: ObjectRows::new(&PHYSICAL_DISK),
            logical: ObjectRows::new(&LOGICAL_DISK),
            paging: ObjectRows::new(&PAGING_FILE),
        }
    }
}

impl Session for DiskSession {
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wants = |object: &Object| collection.wants(TitleIndex(object.index));
        let (physical, logical) = (wants(&PHYSICAL_DISK), wants(&LOGICAL_DISK));
        if physical || logical {
            let now = self.base.now();
            let stats = self.read_devices(now, logical);
            if physical {
                if let Err(error) = stats {
                    unreadable(c"diskstats", error, &mut self.faults);
                } else {
                    self.write_physical(now, out)?;
                }
            }
            // A damaged line is a fault of PhysicalDisk, or of LogicalDisk where only LogicalDisk
            // is wanted.
            if physical {
                self.faults.report(PHYSICAL_DISK.index, out);
            }
            if logical {
                self.write_logical(now, stats, out)?;
                self.faults.report(LOGICAL_DISK.index, out);
            }
        }
        if wants(&PAGING_FILE) {
            self.write_paging(out)?;
            self.faults.report(PAGING_FILE.index, out);
        }
        Ok(())
    }
}

impl DiskSession {
    fn read_devices(&mut self, now: FileTime, partitions: bool) -> Result<(), Errno> {
        if self.sys.is_none() {
            self.sys = self.root.sys().and_then(Sys::open);
        }
        let text = self.reader.system(c"diskstats", &mut self.files.diskstats)?;
        let up = u64::try_from(now.0.saturating_sub(self.base.boot().0)).unwrap_or(0);
        let sample = Sample { now: up, partitions };
        self.devices.update(text, sample, self.sys.as_mut(), &mut self.faults);
        Ok(())
    }

    fn write_physical(
        &mut self,
        now: FileTime,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let sheet = &mut self.physical;
        sheet.clear();
        let mut known = FieldGroups::default();
        for device in self.devices.disks() {
            known = known.max(device.io().known);
            sheet.add(|row| set_io_of(row, device.io(), now));
        }
        if sheet.used > 0 {
            let totals = &self.devices.totals;
            sheet.add(|row| set_io(row, &totals.counts, known, totals.means, now));
        }
        let names = self.devices.disks().map(|device| NameRef::Utf16(&device.units));
        sheet.write(names, out)
    }

    fn write_logical(
        &mut self,
        now: FileTime,
        stats: Result<(), Errno>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        if let Err(error) = stats {
            unreadable(c"diskstats", error, &mut self.faults);
        }
        if let Err(error) = self.read_mounts() {
            unreadable(c"self/mountinfo", error, &mut self.faults);
            self.volumes.clear();
            return Ok(());
        }
        self.volumes.damage.iter().for_each(|damage| self.faults.object(damage));
        self.volumes.take_devices(stats.is_ok().then_some(&self.devices));
        let with_space = self.root.mounts().is_some();
        let sheet = &mut self.logical;
        sheet.clear();
        let mut known = None;
        let mut sum = None;
        for mounted in self.volumes.all() {
            let space = with_space.then(|| space::ask(&mounted.volume));
            sheet.add(|row| {
                match space {
                    Some(Ok(space)) => {
                        set_space(row, &space);
                        sum.get_or_insert_with(Space::default).add(&space);
                    }
                    Some(Err(refusal)) => {
                        if let Some(error) = refusal.fault() {
                            let name = &mounted.volume.text;
                            let why = describe(error);
                            self.faults.instance(name, format_args!("statfs: {why}"));
                        }
                    }
                    None => {}
                }
                if let Some(io) = mounted.io() {
                    known = known.max(Some(io.known));
                    set_io_of(row, io, now);
                }
            });
        }
        if sheet.used > 0 {
            let totals = &self.volumes.totals;
            sheet.add(|row| {
                if let Some(space) = &sum {
                    set_space(row, space);
                }
                if let Some(known) = known {
                    set_io(row, &totals.counts, known, totals.means, now);
                }
            });
        }
        let names = self.volumes.all().map(|mounted| NameRef::Utf16(&mounted.volume.name));
        sheet.write(names, out)
    }

    fn read_mounts(&mut self) -> Result<(), Errno> {
        let root = self.root.mounts().unwrap_or(Path::new("/"));
        // If the mount points lie below another root than `/`, the mounts of process 1 are tried
        // before those of this program.
        let elsewhere = root != Path::new("/");
        let mut files = [
            (c"self/mountinfo", &mut self.files.own_mounts),
            (c"1/mountinfo", &mut self.files.first_mounts),
        ];
        if elsewhere {
            files.reverse();
        }
        let mut result = Err(Errno::NOENT);
        for (path, file) in files {
            // Both files are tried: a copy may have only one of them, and reading the file of
            // process 1 may not be permitted.
            match self.reader.system(path, file) {
                Ok(text) => {
                    self.volumes.update(text, root, &mut self.devices, self.sys.as_ref());
                    return Ok(());
                }
                Err(error) if result.is_err_and(is_gone) => result = Err(error),
                Err(_) => {}
            }
        }
        result
    }

    fn write_paging(&mut self, out: &mut ObjectWriter<'_>) -> Result<(), ProviderError> {
        match self.reader.system(c"swaps", &mut self.files.swaps) {
            Ok(text) => self.swaps.parse(text, &mut self.faults),
            Err(error) => {
                unreadable(c"swaps", error, &mut self.faults);
                return Ok(());
            }
        }
        let sheet = &mut self.paging;
        sheet.clear();
        let (mut size, mut used) = (0u64, 0u64);
        for swap in self.swaps.all() {
            sheet.add(|row| set_swap(row, swap.used, swap.size));
            size = size.saturating_add(swap.size);
            used = used.saturating_add(swap.used);
        }
        if sheet.used > 0 {
            sheet.add(|row| set_swap(row, used, size));
        }
        sheet.write(self.swaps.all().iter().map(|swap| NameRef::Utf16(&swap.name)), out)
    }
}

/// The rows of one object, of which the first `used` are filled; the others are kept for later
/// collections. The last filled row becomes `_Total`.
struct ObjectRows {
    object: &'static Object,
    rows: Vec<CounterValues>,
    used: usize,
    layouts: Layouts,
}

impl ObjectRows {
    fn new(object: &'static Object) -> Self {
        Self { object, rows: Vec::new(), used: 0, layouts: Layouts::new(object) }
    }

    fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds an empty row and calls `fill` with it.
    fn add(&mut self, fill: impl FnOnce(&mut CounterValues)) {
        if self.rows.len() <= self.used {
            self.rows.push(CounterValues::new(self.object));
        }
        if let Some(row) = self.rows.get_mut(self.used) {
            self.used += 1;
            row.clear();
            fill(row);
        }
    }

    /// Writes the rows under these names, and the last row as `_Total`.
    fn write<'a>(
        &mut self,
        names: impl Iterator<Item = NameRef<'a>>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let rows = self.rows.get(..self.used).unwrap_or_default();
        let mut mask = rows.iter().fold(0, |mask, row| mask | row.mask());
        if mask == 0 {
            // If there is no value, the counters are those that the object has on Windows.
            mask = self.object.windows();
        }
        let mut object = out.object(self.layouts.template(mask)?)?;
        let mut values = [0; MOST];
        let names = names.chain([NameRef::Text("_Total")]);
        for (row, name) in rows.iter().zip(names) {
            let head = InstanceHead { name, unique_id: None, parent: None };
            object.instance_prefix(&head, row.values(mask, &mut values))?;
        }
        object.finish()?;
        Ok(())
    }
}

/// Sets the counters of reads and writes from the counts of a device.
fn set_io_of(row: &mut CounterValues, io: &DeviceCounts, now: FileTime) {
    set_io(row, &io.counts, io.known, Means::of(&io.counts, io.idle), now);
}

fn set_io(
    row: &mut CounterValues,
    counts: &[u64; FIELDS],
    known: FieldGroups,
    means: Means,
    now: FileTime,
) {
    let (reads, writes) = (counts[stats::READS], counts[stats::WRITES]);
    let transfers = reads.saturating_add(writes);
    let read_bytes = counts[stats::READ_SECTORS].saturating_mul(SECTOR);
    let written_bytes = counts[stats::WRITE_SECTORS].saturating_mul(SECTOR);
    let bytes = read_bytes.saturating_add(written_bytes);
    row.set(index_of!(PHYSICAL_DISK, "Disk Transfers/sec"), transfers);
    row.set(index_of!(PHYSICAL_DISK, "Disk Reads/sec"), reads);
    row.set(index_of!(PHYSICAL_DISK, "Disk Writes/sec"), writes);
    row.set(index_of!(PHYSICAL_DISK, "Disk Bytes/sec"), bytes);
    row.set(index_of!(PHYSICAL_DISK, "Disk Read Bytes/sec"), read_bytes);
    row.set(index_of!(PHYSICAL_DISK, "Disk Write Bytes/sec"), written_bytes);
    row.set_with_base(index_of!(PHYSICAL_DISK, "Avg. Disk Bytes/Transfer"), bytes, transfers);
    row.set_with_base(index_of!(PHYSICAL_DISK, "Avg. Disk Bytes/Read"), read_bytes, reads);
    row.set_with_base(index_of!(PHYSICAL_DISK, "Avg. Disk Bytes/Write"), written_bytes, writes);
    if known < FieldGroups::Times {
        return;
    }
    let (read, write) = (counts[stats::READ_TIME], counts[stats::WRITE_TIME]);
    let both = read.saturating_add(write);
    let clock = u64::try_from(now.0).unwrap_or(0);
    row.set(index_of!(PHYSICAL_DISK, "Current Disk Queue Length"), stats::queue(counts));
    row.set_with_base(
        index_of!(PHYSICAL_DISK, "% Disk Time"),
        means.read.saturating_add(means.write),
        clock,
    );
    row.set_with_base(index_of!(PHYSICAL_DISK, "% Disk Read Time"), means.read, clock);
    row.set_with_base(index_of!(PHYSICAL_DISK, "% Disk Write Time"), means.write, clock);
    row.set_with_base(index_of!(PHYSICAL_DISK, "% Idle Time"), means.idle, clock);
    row.set(index_of!(PHYSICAL_DISK, "Avg. Disk Queue Length"), both.saturating_mul(stats::UNITS));
    row.set(
        index_of!(PHYSICAL_DISK, "Avg. Disk Read Queue Length"),
        read.saturating_mul(stats::UNITS),
    );
    row.set(
        index_of!(PHYSICAL_DISK, "Avg. Disk Write Queue Length"),
        write.saturating_mul(stats::UNITS),
    );
    row.set_with_base(
        index_of!(PHYSICAL_DISK, "Avg. Disk sec/Transfer"),
        both.saturating_mul(NANOS),
        transfers,
    );
    row.set_with_base(
        index_of!(PHYSICAL_DISK, "Avg. Disk sec/Read"),
        read.saturating_mul(NANOS),
        reads,
    );
    row.set_with_base(
        index_of!(PHYSICAL_DISK, "Avg. Disk sec/Write"),
        write.saturating_mul(NANOS),
        writes,
    );
    row.set(index_of!(PHYSICAL_DISK, "Merged Reads/sec"), counts[stats::READS_MERGED]);
    row.set(index_of!(PHYSICAL_DISK, "Merged Writes/sec"), counts[stats::WRITES_MERGED]);
    if known < FieldGroups::Discards {
        return;
    }
    let discards = counts[stats::DISCARDS];
    row.set(index_of!(PHYSICAL_DISK, "Disk Discards/sec"), discards);
    row.set(
        index_of!(PHYSICAL_DISK, "Disk Discard Bytes/sec"),
        counts[stats::DISCARD_SECTORS].saturating_mul(SECTOR),
    );
    row.set_with_base(
        index_of!(PHYSICAL_DISK, "Avg. Disk sec/Discard"),
        counts[stats::DISCARD_TIME].saturating_mul(NANOS),
        discards,
    );
    if known < FieldGroups::Flushes {
        return;
    }
    // LogicalDisk does not have these counters: they are for whole disks only.
    row.set(index_of!(PHYSICAL_DISK, "Disk Flushes/sec"), counts[stats::FLUSHES]);
    let flush_time = counts[stats::FLUSH_TIME].saturating_mul(NANOS);
    row.set_with_base(
        index_of!(PHYSICAL_DISK, "Avg. Disk sec/Flush"),
        flush_time,
        counts[stats::FLUSHES],
    );
}

fn set_space(row: &mut CounterValues, space: &Space) {
    let (free, usable) = fraction(space.free, space.usable);
    row.set_with_base(index_of!(LOGICAL_DISK, "% Free Space"), free, usable);
    row.set(index_of!(LOGICAL_DISK, "Free Megabytes"), space.free / MEGABYTE);
    row.set(index_of!(LOGICAL_DISK, "Reserved Megabytes"), space.reserved / MEGABYTE);
    if let Some((free, all)) = space.inodes {
        row.set(index_of!(LOGICAL_DISK, "Free Inodes"), free);
        let (free, all) = fraction(free, all);
        row.set_with_base(index_of!(LOGICAL_DISK, "% Free Inodes"), free, all);
    }
}

fn set_swap(row: &mut CounterValues, used: u64, size: u64) {
    let (part, whole) = fraction(used / 1024, size / 1024);
    row.set_with_base(index_of!(PAGING_FILE, "% Usage"), part, whole);
    row.set(index_of!(PAGING_FILE, "Used Bytes"), used);
    row.set(index_of!(PAGING_FILE, "Size Bytes"), size);
}
