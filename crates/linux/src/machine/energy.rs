//! The object Energy Meter: the energy meters of the processors, from `/sys/class/powercap`.

use crate::clock::TimeBase;
use crate::faults::{Faults, Text, describe, is_denied, is_gone};
use crate::files::{KeptFile, Reader};
use crate::parse::{number, utf16_name};
use crate::table::{ENERGY, index_of};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, NameRef};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fmt;

const ENERGY_USED: u32 = index_of!(ENERGY, "Energy");
const TIME: u32 = index_of!(ENERGY, "Time");
const POWER: u32 = index_of!(ENERGY, "Power");

/// The most meters that are read; no machine has so many.
const MOST_METERS: usize = 4096;

#[derive(Default)]
pub(super) struct Meters {
    meters: Vec<Meter>,
    /// Whether each meter was in the last listing of the folder, in the order of `meters`.
    seen: Vec<bool>,
}

struct Meter {
    /// The name of the meter's folder, such as `intel-rapl:0:1`.
    folder: Vec<u8>,
    path: CString,
    name: Vec<u16>,
    /// Whether `name` is the meter's own name, and not its folder's.
    is_named: bool,
    file: KeptFile,
    /// The largest number of the meter, in microjoules; behind it the meter begins again at 0. 0 if
    /// the number is unknown; `None` before the first reading.
    range: Option<u64>,
    /// The last reading in microjoules, and its time, a FILETIME; `None` before the first reading
    /// and after a failed reading.
    last: Option<(u64, u64)>,
    /// The energy in microjoules: the first reading plus the growth since, without the growth
    /// across a failed reading, and across a new beginning of a meter with an unknown `range`.
    used: u128,
    /// The mean power since the previous reading, in milliwatts; `None` if there was no previous
    /// reading, if that failed, if no time has passed since, or if the growth since is unknown.
    power: Option<u64>,
}

impl Meters {
    pub(super) fn write(
        &mut self,
        sys: &mut Reader,
        base: &TimeBase,
        layouts: &mut Layouts,
        faults: &mut Faults,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        match self.list(sys) {
            Ok(()) => {}
            Err(error) if is_gone(error) => self.meters.clear(),
            Err(error) => {
                faults.object(format_args!("class/powercap: {}", describe(error)));
                return Ok(());
            }
        }
        let mask = ENERGY.standard();
        let mut object = out.object(layouts.template(mask)?)?;
        let mut row = CounterValues::new(&ENERGY);
        let mut values = [0; MOST];
        for meter in &mut self.meters {
            let Some(now) = meter.read(sys, base, faults) else {
                continue;
            };
            row.clear();
            row.set(ENERGY_USED, picowatt_hours(meter.used));
            row.set(TIME, now);
            row.set_some(POWER, meter.power);
            let head =
                InstanceHead { name: NameRef::Utf16(&meter.name), unique_id: None, parent: None };
            object.instance_prefix(&head, row.values(mask, &mut values))?;
        }
        object.finish()?;
        Ok(())
    }

    /// Updates the list of meters: removes meters without a folder, adds new meters, and names the
    /// meters that have no name yet. An error if `class/powercap` cannot be listed.
    fn list(&mut self, sys: &mut Reader) -> Result<(), Errno> {
        let Self { meters, seen } = self;
        seen.clear();
        seen.resize(meters.len(), false);
        sys.each_name(c"class/powercap", |name| {
            if name.strip_prefix(b"intel-rapl:").is_none_or(<[u8]>::is_empty) {
                return;
            }
            let at = meters.iter().position(|meter| meter.folder == name);
            match at.and_then(|at| seen.get_mut(at)) {
                Some(seen) => *seen = true,
                None if meters.len() < MOST_METERS => {
                    meters.extend(Meter::new(name));
                    seen.resize(meters.len(), true);
                }
                None => {}
            }
        })?;
        let mut is_seen = seen.iter();
        meters.retain(|_| is_seen.next().is_some_and(|seen| *seen));
        for meter in meters.iter_mut().filter(|meter| !meter.is_named) {
            let name = name_of(sys, &meter.folder);
            meter.is_named = name.is_some();
            utf16_name(name.as_ref().unwrap_or(&meter.folder), &mut meter.name);
        }
        meters.sort_unstable_by(|one, other| one.folder.cmp(&other.folder));
        Ok(())
    }
}

impl Meter {
    fn new(folder: &[u8]) -> Option<Self> {
        let path = [b"class/powercap/", folder, b"/energy_uj"].concat();
        Some(Self {
            folder: folder.to_vec(),
            path: CString::new(path).ok()?,
            name: Vec::new(),
            is_named: false,
            file: KeptFile::default(),
            range: None,
            last: None,
            used: 0,
            power: None,
        })
    }

    /// Reads the meter; returns the time of the reading, a FILETIME, or `None` if the meter has no
    /// value. Since Linux 5.10 only the superuser may read a meter.
    fn read(&mut self, sys: &mut Reader, base: &TimeBase, faults: &mut Faults) -> Option<u64> {
        let mut failed = |folder: &[u8], message: fmt::Arguments<'_>| {
            faults.instance(Text(folder), message);
        };
        let shown = match sys.kept_at(&self.path, &mut self.file, false) {
            Ok(()) => number(sys.text().strip_suffix(b"\n").unwrap_or_default()),
            Err(error) => {
                let is_off = matches!(error, Errno::NODEV | Errno::NODATA | Errno::AGAIN);
                if !is_gone(error) && !is_denied(error) && !is_off {
                    failed(&self.folder, format_args!("energy_uj: {}", describe(error)));
                }
                self.last = None;
                return None;
            }
        };
        let Some(shown) = shown else {
            failed(&self.folder, format_args!("energy_uj: not understood"));
            self.last = None;
            return None;
        };
        let now = u64::try_from(base.now().0).unwrap_or(0);
        self.power = None;
        if self.last.is_none() && self.range.is_none_or(|range| range == 0) {
            if self.range.is_none() {
                self.used = u128::from(shown);
            }
            let path = [b"class/powercap/", &*self.folder, b"/max_energy_range_uj"];
            self.range = Some(read_number(sys, &path.concat()).unwrap_or(0));
        }
        if let Some((before, then)) = self.last {
            let grown = match self.range.unwrap_or(0) {
                _ if shown >= before => Some(shown - before),
                // How much was used until the meter began again is not known.
                0 => None,
                range => Some(range.saturating_sub(before).saturating_add(shown)),
            };
            self.used = self.used.saturating_add(u128::from(grown.unwrap_or(0)));
            // Converts microjoules per 100 ns unit to milliwatts.
            let elapsed = u128::from(now.saturating_sub(then));
            let power = grown.and_then(|grown| (u128::from(grown) * 10_000).checked_div(elapsed));
            self.power = power.map(|power| u64::try_from(power).unwrap_or(u64::MAX));
        }
        self.last = Some((shown, now));
        Some(now)
    }
}

/// The name of a meter behind the name of the meter that contains it, such as `package-0 core`; an
/// outermost meter has only its own name. `None` if a name cannot be read.
fn name_of(sys: &mut Reader, folder: &[u8]) -> Option<Vec<u8>> {
    let own = read_name(sys, folder)?;
    let parent = folder.iter().rposition(|byte| *byte == b':').and_then(|at| folder.get(..at));
    match parent.filter(|parent| parent.contains(&b':')) {
        Some(parent) => Some([&*read_name(sys, parent)?, b" ", &*own].concat()),
        None => Some(own),
    }
}

fn read_name(sys: &mut Reader, folder: &[u8]) -> Option<Vec<u8>> {
    let path = CString::new([b"class/powercap/", folder, b"/name"].concat()).ok()?;
    sys.once_here(&path).ok()?;
    Some(sys.text().trim_ascii_end().to_vec())
}

fn read_number(sys: &mut Reader, path: &[u8]) -> Option<u64> {
    let path: &CStr = &CString::new(path).ok()?;
    sys.once_here(path).ok()?;
    number(sys.text().strip_suffix(b"\n")?)
}

/// Converts microjoules to picowatt hours: one microjoule is 1000000 / 3600 pWh. A result beyond 64
/// bits becomes `u64::MAX`.
fn picowatt_hours(microjoules: u128) -> u64 {
    let value = microjoules.saturating_mul(2500) / 9;
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microjoules_become_picowatt_hours() {
        // 3600 J are 1 Wh.
        assert_eq!(picowatt_hours(3_600_000_000), 1_000_000_000_000);
        assert_eq!(picowatt_hours(u128::MAX), u64::MAX);
    }
}
