//! The file systems of LogicalDisk, with the counts of their devices.

use super::devices::{Device, Devices};
use super::mounts::{Mounts, Volume};
use super::stats::{DeviceCounts, FIELDS, Growth, IN_FLIGHT, Totals};
use super::sys::Sys;
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// The most unmounted volumes that are remembered. A volume that returns continues its counts,
/// on whatever device it then is.
const REMEMBERED: usize = 64;

/// A file system, and the counts of its device.
pub(super) struct Mounted {
    pub(super) volume: Volume,
    /// The name of the only device of a [`Pool`](super::mounts::Pool); `None` for any other file
    /// system, and for a pool with several devices or an unknown device.
    device: Option<Vec<u8>>,
    /// The device in the previous sample, and its counts then; `None` if no device was found then.
    last: Option<Last>,
    io: Option<DeviceCounts>,
    /// Whether the file system's device was found in this sample.
    has_device: bool,
    /// Whether the file system is mounted.
    is_there: bool,
}

struct Last {
    serial: u64,
    counts: [u64; FIELDS],
    idle: u64,
}

/// All file systems of a session that lie on disks.
#[derive(Default)]
pub(super) struct Volumes {
    list: Vec<Mounted>,
    /// The text of the table of mounts at the last reading, which is parsed only when it changes.
    text: Vec<u8>,
    pub(super) damage: Vec<String>,
    pub(super) totals: Totals,
}

impl Volumes {
    /// The file systems that are mounted.
    pub(super) fn all(&self) -> impl Iterator<Item = &Mounted> {
        self.list.iter().filter(|mounted| mounted.is_there)
    }

    /// Updates the volumes from the text of the table of mounts, and finds the devices of pools
    /// among `devices`.
    pub(super) fn update(
        &mut self,
        text: &[u8],
        root: &Path,
        devices: &mut Devices,
        sys: Option<&Sys>,
    ) {
        let is_new = self.text != text;
        if is_new {
            self.text.clear();
            self.text.extend_from_slice(text);
            let Mounts { volumes, damage } = Mounts::parse(text, root);
            self.damage = damage;
            self.replace(volumes);
        }
        // A new device may be the one that a volume lacked.
        if devices.take_changed() || is_new {
            for mounted in &mut self.list {
                mounted.device = device_of_pool(&mounted.volume, devices, sys);
            }
        }
    }

    /// Marks all file systems as not mounted, because the table of mounts cannot be read.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.damage.clear();
        self.replace(Vec::new());
    }

    fn replace(&mut self, volumes: Vec<Volume>) {
        // Several file systems may have the same mount point, and thus the same name.
        let mut before: HashMap<_, VecDeque<_>> = HashMap::new();
        for mounted in std::mem::take(&mut self.list) {
            before.entry(mounted.volume.name.clone()).or_default().push_back(mounted);
        }
        for volume in volumes {
            let mounted = match before.get_mut(&volume.name).and_then(VecDeque::pop_front) {
                Some(known) => Mounted { volume, is_there: true, ..known },
                None => Mounted {
                    volume,
                    device: None,
                    last: None,
                    io: None,
                    has_device: false,
                    is_there: true,
                },
            };
            self.list.push(mounted);
        }
        let gone = before.into_values().flatten().take(REMEMBERED);
        self.list.extend(gone.map(|gone| Mounted { is_there: false, last: None, ..gone }));
    }

    /// Takes the counts of the devices; `None` means that they could not be read.
    pub(super) fn take_devices(&mut self, devices: Option<&Devices>) {
        for mounted in self.list.iter_mut().filter(|mounted| mounted.is_there) {
            let device = devices.and_then(|devices| match &mounted.device {
                Some(name) => devices.by_name(name),
                None if mounted.volume.pool.is_none() => devices.by_number(mounted.volume.number),
                None => None,
            });
            mounted.take(device);
        }
        self.totals.update(self.list.iter().filter_map(Mounted::io));
    }
}

impl Mounted {
    /// The counts of the volume's device, continued from sample to sample; `None` if the device was
    /// not found in this sample, or the volume is not mounted.
    pub(super) fn io(&self) -> Option<&DeviceCounts> {
        self.io.as_ref().filter(|_| self.has_device && self.is_there)
    }

    fn take(&mut self, device: Option<&Device>) {
        self.has_device = device.is_some();
        let Some(device) = device else {
            self.last = None;
            return;
        };
        let now = device.io();
        let io = self.io.get_or_insert_with(|| DeviceCounts { step: None, ..now.clone() });
        io.known = now.known;
        io.counts[IN_FLIGHT] = now.counts[IN_FLIGHT];
        io.step = None;
        if let Some(last) = self.last.as_ref().filter(|last| last.serial == device.serial) {
            let mut step = Growth { counts: [0; FIELDS], idle: now.idle.saturating_sub(last.idle) };
            for (place, more) in
                step.counts.iter_mut().enumerate().filter(|(at, _)| *at != IN_FLIGHT)
            {
                let of = |counts: &[u64; FIELDS]| counts.get(place).copied().unwrap_or(0);
                *more = of(&now.counts).saturating_sub(of(&last.counts));
            }
            for (count, more) in io.counts.iter_mut().zip(step.counts) {
                *count = count.saturating_add(more);
            }
            io.idle = io.idle.saturating_add(step.idle);
            io.step = Some(step);
        }
        self.last = Some(Last { serial: device.serial, counts: now.counts, idle: now.idle });
    }
}

/// The name of the device of a pool; `None` if the volume is no pool, has several devices, or its
/// device is not known.
fn device_of_pool(volume: &Volume, devices: &Devices, sys: Option<&Sys>) -> Option<Vec<u8>> {
    let pool = volume.pool.as_ref().filter(|pool| pool.may_be_single)?;
    let path = pool.source.strip_prefix(b"/dev/")?;
    let name = match path.strip_prefix(b"mapper/") {
        Some(mapped) => {
            let sys = sys?;
            let is = |name: &[u8]| sys.mapped_name(name).is_some_and(|name| name == mapped);
            let mut candidates = devices.all().filter(|device| device.name.starts_with(b"dm-"));
            candidates.find(|device| is(&device.name))?.name.clone()
        }
        None => devices.by_name(path)?.name.clone(),
    };
    // The system tells the number of devices of a btrfs. A bcachefs with several devices names all of them
    // in its source, which then is not the name of a device.
    match pool.is_btrfs {
        true => (sys?.devices_of_btrfs(&name) == Some(1)).then_some(name),
        false => Some(name),
    }
}
