//! The object Thermal Zone Information: the temperatures of the zones, from `/sys/class/thermal`.

use crate::faults::{Faults, Text, describe, is_denied, is_gone};
use crate::files::{KeptFile, PidPath, Reader};
use crate::parse::{number, utf16_name};
use crate::table::{THERMAL, index_of};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, NameRef};
use rustix::io::Errno;

const TEMPERATURE: u32 = index_of!(THERMAL, "Temperature");
const PRECISE: u32 = index_of!(THERMAL, "High Precision Temperature");
/// 0 °C in thousandths of a kelvin.
const FREEZING: i64 = 273_150;

#[derive(Default)]
pub(super) struct Zones {
    numbers: Vec<u32>,
    zones: Vec<Zone>,
}

struct Zone {
    number: u32,
    /// The name of the instance: type and number of the zone.
    name: Vec<u16>,
    /// Whether `name` has the zone's type; the type is read again until then.
    is_named: bool,
    file: KeptFile,
    /// The temperature in tenths of a kelvin; `None` if the zone has no reading.
    temperature: Option<u64>,
}

impl Zones {
    pub(super) fn write(
        &mut self,
        sys: &mut Reader,
        layouts: &mut Layouts,
        faults: &mut Faults,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        match sys.numbered(c"class/thermal", b"thermal_zone", &mut self.numbers) {
            Ok(()) => {}
            Err(error) if is_gone(error) => {}
            Err(error) => {
                faults.object(format_args!("class/thermal: {}", describe(error)));
                return Ok(());
            }
        }
        let numbers = &self.numbers;
        self.zones.retain(|zone| numbers.binary_search(&zone.number).is_ok());
        for number in numbers {
            if let Err(at) = self.zones.binary_search_by_key(number, |zone| zone.number) {
                self.zones.insert(at, Zone::new(*number));
            }
        }
        self.zones.retain_mut(|zone| zone.read(sys, faults));

        let mask = THERMAL.standard();
        let mut object = out.object(layouts.template(mask)?)?;
        let mut row = CounterValues::new(&THERMAL);
        let mut values = [0; MOST];
        for zone in &self.zones {
            row.clear();
            row.set_some(TEMPERATURE, zone.temperature.map(|tenths| tenths / 10));
            row.set_some(PRECISE, zone.temperature);
            let head =
                InstanceHead { name: NameRef::Utf16(&zone.name), unique_id: None, parent: None };
            object.instance_prefix(&head, row.values(mask, &mut values))?;
        }
        object.finish()?;
        Ok(())
    }
}

impl Zone {
    fn new(number: u32) -> Self {
        Self {
            number,
            name: Vec::new(),
            is_named: false,
            file: KeptFile::default(),
            temperature: None,
        }
    }

    /// Reads the zone's files; returns `false` if the zone no longer exists.
    fn read(&mut self, sys: &mut Reader, faults: &mut Faults) -> bool {
        let mut path = PidPath::numbered(b"class/thermal/thermal_zone", self.number);
        let length = path.len();
        let temperature = match sys.kept_at(path.file(length, b"temp"), &mut self.file, false) {
            Ok(()) => match tenths_of_kelvin(sys.text()) {
                Some(tenths) => Ok(Some(tenths)),
                None => Err("not understood"),
            },
            // The number may belong to another zone now.
            Err(Errno::NODEV) => {
                self.is_named = false;
                Ok(None)
            }
            Err(error) if is_gone(error) => return false,
            // The zone may not be read, is switched off, or has no reading yet.
            Err(error)
                if is_denied(error)
                    || matches!(error, Errno::AGAIN | Errno::INVAL | Errno::NODATA) =>
            {
                Ok(None)
            }
            Err(error) => Err(describe(error)),
        };
        if !self.is_named {
            let kind = sys.once_here(path.file(length, b"type"));
            self.is_named = kind.is_ok();
            let kind = if self.is_named { sys.text().trim_ascii_end() } else { b"thermal_zone" };
            utf16_name(kind, &mut self.name);
            self.name.extend(format!(" {}", self.number).encode_utf16());
        }
        self.temperature = temperature.unwrap_or_else(|message| {
            faults.instance(Text(&*self.name), format_args!("temp: {message}"));
            None
        });
        true
    }
}

/// Tenths of a kelvin, rounded to the nearest, from a text with thousandths of a degree Celsius;
/// `None` for another text, and for a temperature far below absolute zero.
fn tenths_of_kelvin(text: &[u8]) -> Option<u64> {
    let digits = text.strip_suffix(b"\n")?;
    let milli = match digits.strip_prefix(b"-") {
        Some(digits) => -i64::try_from(number(digits)?).ok()?,
        None => i64::try_from(number(digits)?).ok()?,
    };
    // Some drivers report "no reading" as a temperature below absolute zero, which gives `None`.
    u64::try_from(milli.checked_add(FREEZING)?.checked_add(50)? / 100).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millidegrees_become_tenths_of_a_kelvin() {
        for (text, tenths) in [
            ("45000\n", Some(3182)),
            ("0\n", Some(2732)),
            ("-5500\n", Some(2677)),
            ("27849\n", Some(3010)),
            ("-273150\n", Some(0)),
            ("-274000\n", None),
            ("-900000\n", None),
            ("45000", None),
            ("\n", None),
            ("--5\n", None),
            ("warm\n", None),
            ("99999999999999999999\n", None),
            ("9223372036854775807\n", None),
        ] {
            assert_eq!(tenths_of_kelvin(text.as_bytes()), tenths, "{text:?}");
        }
    }
}
