//! The block devices of `diskstats` from sample to sample: which of them are disks,
//! and which were replaced.

use super::stats::{Damage, DeviceCounts, Line, Totals, Track};
use super::sys::{KeptFile, Sys, block_path};
use crate::faults::{Faults, Text};
use crate::parse::{utf16_name, whole_lines};
use std::collections::HashMap;
use std::ffi::CString;

/// The most vanished devices that are remembered; if there are more, all of them are forgotten. A
/// remembered device that returns continues its counts.
const REMEMBERED: usize = 256;

/// The beginnings of the names of devices that are not disks; a digit or `_` follows.
/// Such devices consist of other devices, of files or of memory, or have a removable
/// medium.
const NO_DISKS: [&[u8]; 11] =
    [b"loop", b"ram", b"zram", b"dm-", b"md", b"sr", b"fd", b"zd", b"drbd", b"bcache", b"scd"];

/// A block device, followed from sample to sample.
pub(super) struct Device {
    /// A number that no other device of the session has.
    pub(super) serial: u64,
    pub(super) name: Vec<u8>,
    /// The device's name as UTF-16, for the instance.
    pub(super) units: Vec<u16>,
    /// The device number: major, minor.
    number: (u32, u32),
    /// Whether the device is a disk: a whole device (no partition) that does not consist of other
    /// devices, and has a name that [`is_no_disk`] does not rule out.
    pub(super) is_disk: bool,
    /// The name of the device of which this device is a partition; `None` if it is no partition.
    parent: Option<Vec<u8>>,
    track: Track,
    /// The number of the last sample that had the device.
    seen: u64,
    /// Whether the device is a disk that has no medium and was never used.
    pub(super) is_empty: bool,
    /// The content of `diskseq`: a number that no other disk had since the machine's start; `None`
    /// until it was read.
    sequence: Option<u64>,
    sequence_path: CString,
    sequence_file: KeptFile,
    size_path: CString,
}

/// The time of a sample, and the devices that are wanted of it.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// The time of the sample, in 100 ns units after the start of the machine.
    pub(super) now: u64,
    /// Whether devices that are not disks are wanted as well.
    pub(super) partitions: bool,
}

/// All block devices of a session.
#[derive(Default)]
pub(super) struct Devices {
    list: Vec<Device>,
    /// The position in `list` of the device with each name.
    names: HashMap<Vec<u8>, usize>,
    /// The positions in `list` of the present devices, in the kernel's order.
    order: Vec<usize>,
    /// The positions in `list` of the present devices by device number (major, minor), ascending.
    numbers: Vec<((u32, u32), usize)>,
    sample: u64,
    serials: u64,
    /// Whether a device was added since the last call of `take_changed`.
    changed: bool,
    /// The sums and means over [`disks`](Self::disks).
    pub(super) totals: Totals,
}

impl Devices {
    /// The devices in the newest sample.
    pub(super) fn all(&self) -> impl Iterator<Item = &Device> {
        self.order.iter().filter_map(|place| self.list.get(*place))
    }

    /// The disks in the newest sample, except those that have no medium and were never used.
    pub(super) fn disks(&self) -> impl Iterator<Item = &Device> {
        self.all().filter(|device| device.is_disk && !device.is_empty)
    }

    pub(super) fn by_number(&self, number: (u32, u32)) -> Option<&Device> {
        let at = self.numbers.binary_search_by_key(&number, |(known, _)| *known).ok()?;
        self.numbers.get(at).and_then(|(_, place)| self.list.get(*place))
    }

    pub(super) fn by_name(&self, name: &[u8]) -> Option<&Device> {
        let device = self.names.get(name).and_then(|place| self.list.get(*place));
        device.filter(|device| device.seen == self.sample)
    }

    /// Whether a device was added since the last call of this function.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Takes the text of `diskstats` as the next sample; a damaged line is a fault. `sys` tells
    /// which devices consist of others or are partitions, and which were replaced; without it, the
    /// names tell which devices are disks.
    pub(super) fn update(
        &mut self,
        text: &[u8],
        at: Sample,
        sys: Option<&mut Sys>,
        faults: &mut Faults,
    ) {
        self.sample += 1;
        self.order.clear();
        let mut sys = sys;
        let (lines, cut) = whole_lines(text);
        let mut damaged = 0;
        for (place, line) in lines.enumerate() {
            match Line::parse(line) {
                Ok(line) => self.take(&line, at, sys.as_deref_mut()),
                Err(Damage::Of(name)) => {
                    let name = Text(name);
                    let message = format_args!("diskstats: the line of {name} is damaged");
                    faults.instance(&name, message);
                }
                Err(Damage::Line) => {
                    damaged += 1;
                    if damaged == 1 {
                        faults.object(format_args!("diskstats: line {} is damaged", place + 1));
                    }
                }
            }
        }
        if damaged > 1 {
            faults.object(format_args!("diskstats: {} more lines are damaged", damaged - 1));
        }
        if cut {
            faults.object("diskstats: ends in the middle of a line");
        }
        for device in self.list.iter_mut().filter(|device| device.seen != self.sample) {
            device.track.miss();
            device.close(sys.as_deref_mut());
        }
        if self.list.len() - self.order.len() > REMEMBERED {
            self.forget();
        }
        self.numbers.clear();
        let number = |place: &usize| Some((self.list.get(*place)?.number, *place));
        self.numbers.extend(self.order.iter().filter_map(number));
        self.numbers.sort_unstable();
        let places = self.order.iter().filter_map(|place| self.list.get(*place));
        let disks = places.filter(|device| device.is_disk && !device.is_empty);
        self.totals.update(disks.map(|device| &device.track.io));
    }

    fn take(&mut self, line: &Line<'_>, at: Sample, mut sys: Option<&mut Sys>) {
        // The order seldom changes, so the device is mostly at its old place.
        let expected = self.order.len();
        let place = match self.list.get(expected) {
            Some(device) if device.name == line.name => Some(expected),
            _ => self.names.get(line.name).copied(),
        };
        let Some(place) = place else {
            self.add(line, at, sys);
            return;
        };
        // If the disk was replaced, so were its partitions. The kernel lists a disk before its
        // partitions.
        let parent = self.list.get(place).and_then(|device| device.parent.as_deref());
        let parent = parent.and_then(|parent| self.by_name(parent));
        let new_parent = parent.is_some_and(|parent| parent.track.io.step.is_none());
        let Some(device) = self.list.get_mut(place) else { return };
        // If two lines have one name, the first is used.
        if device.seen == self.sample {
            return;
        }
        let known = device.seen + 1 == self.sample && device.number == line.number && !new_parent;
        device.seen = self.sample;
        // First, since `diskseq` is read by the number.
        if device.number != line.number {
            device.close(sys.as_deref_mut());
            device.renumber(line.number);
        }
        let sequence = match sys.as_deref_mut() {
            Some(sys) if device.has_sequence(line, at) => {
                sys.number_kept(&device.sequence_path, &mut device.sequence_file)
            }
            _ => None,
        };
        let replaced =
            device.sequence.is_some() && sequence.is_some_and(|s| Some(s) != device.sequence);
        device.sequence = sequence.or(device.sequence);
        device.track.update(line, at.now, known && !replaced);
        device.is_empty = device.is_disk && is_empty(line, &device.size_path, sys);
        self.order.push(place);
    }

    fn add(&mut self, line: &Line<'_>, at: Sample, mut sys: Option<&mut Sys>) {
        let parent = disk_of(line.name).filter(|disk| self.by_name(disk).is_some());
        let is_whole = |sys: &mut Sys| sys.is_whole(line.name);
        let parent = parent.filter(|_| !sys.as_deref_mut().is_some_and(is_whole));
        let is_made = |sys: &mut Sys| sys.has_slaves(line.name);
        let is_disk =
            parent.is_none() && !is_no_disk(line.name) && !sys.as_deref_mut().is_some_and(is_made);
        let mut units = Vec::new();
        utf16_name(line.name, &mut units);
        let mut device = Device {
            serial: self.serials,
            name: line.name.to_vec(),
            units,
            number: line.number,
            is_disk,
            parent: parent.map(<[u8]>::to_vec),
            track: Track::new(line, at.now),
            seen: self.sample,
            is_empty: false,
            sequence: None,
            sequence_path: CString::default(),
            sequence_file: KeptFile::default(),
            size_path: block_path(line.name, b"/size"),
        };
        device.renumber(line.number);
        if let Some(sys) = sys.as_deref_mut()
            && device.has_sequence(line, at)
        {
            device.sequence = sys.number_kept(&device.sequence_path, &mut device.sequence_file);
        }
        device.is_empty = device.is_disk && is_empty(line, &device.size_path, sys);
        self.serials += 1;
        self.changed = true;
        self.order.push(self.list.len());
        self.names.insert(device.name.clone(), self.list.len());
        self.list.push(device);
    }

    /// Forgets the devices that the newest sample does not have.
    fn forget(&mut self) {
        let sample = self.sample;
        self.list.retain(|device| device.seen == sample);
        self.order.clear();
        self.order.extend(0..self.list.len());
        self.names.clear();
        let names =
            self.list.iter().enumerate().map(|(place, device)| (device.name.clone(), place));
        self.names.extend(names);
    }
}

impl Device {
    /// The device's counts: the kernel's counts when the device was first seen, plus their growth
    /// since.
    pub(super) fn io(&self) -> &DeviceCounts {
        &self.track.io
    }

    /// Whether the device's `diskseq` is read: the device is no partition, was used, and is a disk;
    /// with [`Sample::partitions`] it need not be a disk.
    fn has_sequence(&self, line: &Line<'_>, at: Sample) -> bool {
        self.parent.is_none() && !line.is_unused() && (self.is_disk || at.partitions)
    }

    fn renumber(&mut self, number: (u32, u32)) {
        let (major, minor) = number;
        self.number = number;
        let path = format!("dev/block/{major}:{minor}/diskseq");
        self.sequence_path = CString::new(path).unwrap_or_default();
    }

    fn close(&mut self, sys: Option<&mut Sys>) {
        if let Some(sys) = sys {
            sys.close(&mut self.sequence_file);
        }
    }
}

/// Whether a device has no medium (its size is 0) and has never done anything; `false` if the size
/// cannot be read.
fn is_empty(line: &Line<'_>, size_path: &CString, sys: Option<&mut Sys>) -> bool {
    line.is_unused() && sys.is_some_and(|sys| sys.number(size_path) == Some(0))
}

/// The name of the disk, from the name of a partition: `sda` for `sda1`, `nvme0n1` for `nvme0n1p2`.
/// `None` for a name without digits at its end, or with digits only.
fn disk_of(name: &[u8]) -> Option<&[u8]> {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let disk = name.get(..name.len().saturating_sub(digits)).filter(|_| digits > 0)?;
    match disk {
        [.., digit, b'p'] if digit.is_ascii_digit() => disk.strip_suffix(b"p"),
        [] => None,
        _ => Some(disk),
    }
}

/// Whether the name alone tells that a device is no disk: it begins as one of [`NO_DISKS`], or is a
/// path of NVMe or an area of eMMC.
fn is_no_disk(name: &[u8]) -> bool {
    let kind = NO_DISKS.iter().any(|kind| {
        let rest = name.strip_prefix(*kind);
        rest.is_some_and(|rest| {
            rest.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'_')
        })
    });
    kind || is_path_of_nvme(name) || is_area_of_emmc(name)
}

/// Whether a device of this name is a path to a disk, as `nvme0c1n1` is to `nvme0n1`.
fn is_path_of_nvme(name: &[u8]) -> bool {
    let rest = name.strip_prefix(b"nvme").map(without_digits);
    let rest = rest.and_then(|rest| rest.strip_prefix(b"c")).map(without_digits);
    rest.is_some_and(|rest| rest.starts_with(b"n"))
}

/// Whether a device of this name is an area beside the disk on the same chip: `mmcblk0boot0`,
/// `mmcblk0rpmb`.
fn is_area_of_emmc(name: &[u8]) -> bool {
    let rest = name.strip_prefix(b"mmcblk").map(without_digits).unwrap_or_default();
    [&b"boot"[..], b"rpmb", b"gp"].iter().any(|area| rest.starts_with(area))
}

fn without_digits(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.get(digits..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_names_lead_to_their_disk() {
        for (part, device) in [
            ("sda1", "sda"),
            ("sdaa12", "sdaa"),
            ("nvme0n1p2", "nvme0n1"),
            ("mmcblk0p1", "mmcblk0"),
            ("xvda15", "xvda"),
            ("vdp1", "vdp"),
            // No such disks will be there.
            ("nvme0n1", "nvme0n"),
            ("mmcblk0boot0", "mmcblk0boot"),
        ] {
            assert_eq!(disk_of(part.as_bytes()), Some(device.as_bytes()), "{part}");
        }
        for other in ["sda", "", "1", "nvme0n1p"] {
            assert_eq!(disk_of(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn virtual_devices_are_not_disks() {
        for name in [
            "loop0",
            "ram15",
            "zram0",
            "dm-12",
            "md0",
            "md127",
            "md_d0",
            "sr0",
            "fd0",
            "zd16",
            "drbd1",
            "bcache0",
            "nvme0c1n1",
            "nvme10c0n2",
            "mmcblk0boot1",
            "mmcblk1rpmb",
        ] {
            assert!(is_no_disk(name.as_bytes()), "{name}");
        }
        for name in [
            "sda",
            "sdaa",
            "vda",
            "xvda1",
            "nvme0n1",
            "mmcblk0",
            "dasda",
            "nbd0",
            "rbd1",
            "pmem0",
            "cciss!c0d0",
            "ramdisk",
            "mdx",
            "srv",
            "nvme0",
            "hda",
        ] {
            assert!(!is_no_disk(name.as_bytes()), "{name}");
        }
    }
}
