//! Names of sensors: `datasource/group/sensor#instance`.

use std::fmt;
use std::str::FromStr;

/// The name of a sensor, or of one instance of it, unique over all data
/// sources: `datasource/group/sensor` or `datasource/group/sensor#instance`.
///
/// `%`, `/` and `#` within a part are percent-encoded, and everything else is written as it is. Any
/// other `%xx` is decoded too. `#*` means every instance, now and later. `win32.winperf` is another
/// name of `windows.winperf`.
///
/// ```
/// use perfhive_engine::measure::SensorName;
///
/// let name: SensorName = "linux.procfs/Process/%25 Processor Time#4711".parse()?;
/// assert_eq!(name.sensor(), "% Processor Time");
/// assert_eq!(name.instance(), Some("4711"));
/// assert_eq!(name.to_string(), "linux.procfs/Process/%25 Processor Time#4711");
/// # Ok::<(), perfhive_engine::measure::BadSensorName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SensorName {
    source: String,
    group: String,
    sensor: String,
    instance: Option<String>,
}

impl SensorName {
    /// A sensor's name from the plain texts of its parts, without percent-encoding and without an
    /// instance.
    #[must_use]
    pub fn new(source: &str, group: &str, sensor: &str) -> Self {
        let source = source_name(source);
        let [source, group, sensor] = [source, group, sensor].map(str::to_string);
        Self { source, group, sensor, instance: None }
    }

    /// The same sensor's name with an instance.
    #[must_use]
    pub fn with_instance(mut self, instance: &str) -> Self {
        self.instance = Some(instance.to_string());
        self
    }

    /// The same sensor's name without an instance.
    #[must_use]
    pub fn without_instance(mut self) -> Self {
        self.instance = None;
        self
    }

    /// The name of the data source.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The name of the group; for a counter, of its object.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The name of the sensor within its group; for a counter, its own name.
    #[must_use]
    pub fn sensor(&self) -> &str {
        &self.sensor
    }

    /// The instance in the name; `None` if the name has none.
    #[must_use]
    pub fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }

    /// Whether the name ends in `#*`, which means every instance.
    #[must_use]
    pub fn is_every_instance(&self) -> bool {
        self.instance() == Some("*")
    }
}

/// The name by which data sources are compared: `windows.winperf` for its other name
/// `win32.winperf`, in upper or lower case; `name` itself for any other name.
pub(super) fn source_name(name: &str) -> &str {
    match name.eq_ignore_ascii_case("win32.winperf") {
        true => "windows.winperf",
        false => name,
    }
}

impl fmt::Display for SensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.source, &self.group, &self.sensor];
        for (place, part) in parts.into_iter().enumerate() {
            if place > 0 {
                f.write_str("/")?;
            }
            encode(part, f)?;
        }
        if let Some(instance) = &self.instance {
            f.write_str("#")?;
            encode(instance, f)?;
        }
        Ok(())
    }
}

fn encode(part: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for piece in part.split_inclusive(['%', '/', '#']) {
        match piece.char_indices().next_back() {
            Some((at, mark @ ('%' | '/' | '#'))) => {
                f.write_str(piece.get(..at).unwrap_or_default())?;
                write!(f, "%{:02X}", mark as u32)?;
            }
            _ => f.write_str(piece)?,
        }
    }
    Ok(())
}

/// The error of a text that is not a sensor name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSensorName {
    text: String,
    why: &'static str,
}

impl fmt::Display for BadSensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a sensor: {}; expected datasource/group/sensor or \
             datasource/group/sensor#instance, with %25, %2F and %23 for %, / and # in a part",
            self.text, self.why
        )
    }
}

impl std::error::Error for BadSensorName {}

impl FromStr for SensorName {
    type Err = BadSensorName;

    fn from_str(text: &str) -> Result<Self, BadSensorName> {
        let bad = |why| BadSensorName { text: text.to_string(), why };
        let (path, instance) = match text.split_once('#') {
            Some((path, instance)) => (path, Some(instance)),
            None => (text, None),
        };
        let mut parts = path.split('/');
        let [Some(source), Some(group), Some(sensor), None] =
            [parts.next(), parts.next(), parts.next(), parts.next()]
        else {
            return Err(bad("it takes three parts with / between them"));
        };
        if [source, group, sensor].iter().any(|part| part.is_empty()) {
            return Err(bad("a part is empty"));
        }
        if instance.is_some_and(|instance| instance.contains(['#', '/'])) {
            return Err(bad("# or / in the instance is not encoded"));
        }
        let decode = |part| decode(part).map_err(bad);
        let name = Self::new(&decode(source)?, &decode(group)?, &decode(sensor)?);
        Ok(match instance {
            Some(instance) => name.with_instance(&decode(instance)?),
            None => name,
        })
    }
}

fn decode(part: &str) -> Result<String, &'static str> {
    const CODE: &str = "% is not followed by two hexadecimal digits";
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (code, behind) = rest.split_at_checked(2).ok_or(CODE)?;
        rest = behind;
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        match code {
            [high, low] => {
                let (high, low) = (digit(high).ok_or(CODE)?, digit(low).ok_or(CODE)?);
                bytes.push((high * 16 + low) as u8);
            }
            _ => return Err(CODE),
        }
    }
    String::from_utf8(bytes).map_err(|_| "the encoded bytes are not UTF-8")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_understood() {
        let parse = |text: &str| text.parse::<SensorName>();
        let name = parse("win32.winperf/System/Context Switches%2fsec").unwrap();
        assert_eq!(name, SensorName::new("windows.winperf", "System", "Context Switches/sec"));
        assert_eq!(name.to_string(), "windows.winperf/System/Context Switches%2Fsec");
        assert!(parse("a/b/c#*").unwrap().is_every_instance());
        assert_eq!(parse("a/b/c#").unwrap().instance(), Some(""));
        assert_eq!(parse("a/b/c#%23").unwrap().instance(), Some("#"));
        for bad in ["", "a/b", "a/b/c/d", "a//c", "a/b/%2", "a/b/%zz", "a/b/%FF", "a/b/c#d#e"] {
            let error = parse(bad).unwrap_err();
            assert!(error.to_string().contains("is not a sensor"), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_name_prints_and_parses(
            source in "\\PC{1,12}", group in "(?s).{1,12}", sensor in "(?s).{1,12}",
            instance in prop::option::of("(?s).{0,12}"),
        ) {
            let mut name = SensorName::new(&source, &group, &sensor);
            if let Some(instance) = &instance {
                name = name.with_instance(instance);
            }
            prop_assert_eq!(name.to_string().parse::<SensorName>(), Ok(name));
        }
    }
}
