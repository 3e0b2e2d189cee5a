//! The form of an account on disk: lines of text, one fact each. Bytes that are read are
//! hostile until they have passed every test here.

use crate::hosting::describe::KnownObjects;
use crate::hosting::pause;
use perfhive_engine::{Cost, ProviderStatus};
use std::fmt::Write as _;
use std::time::Duration;

/// The first line of an account's file.
const FIRST: &str = "perfhive account 1";
/// The last line. A file without it is cut off, and is not read.
const LAST: &str = "[End]";
/// The largest size of the text of a [`Record`], in bytes. If the definitions of a library's objects do
/// not fit, none of them is kept: each program asks such a library itself.
pub(super) const MOST: usize = 1 << 20;
/// The length to which a name and the text of a fault are cut, in characters.
const LONGEST: usize = 500;

/// The facts about a provider that all programs of a user share. Times of day are in milliseconds
/// since 1970.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) name: String,
    /// The fingerprint of the registration, the library's file and the test level. It differs for
    /// another registration, file or level.
    pub(super) fingerprint: u64,
    /// The number of times that a user or program ended the quarantine.
    pub(super) released: u64,
    pub(super) tally: CollectionTally,
    pub(super) faults: u64,
    pub(super) in_a_row: u32,
    pub(super) quarantined: bool,
    /// The end of the last pause, in milliseconds since 1970; 0 without a pause.
    pub(super) not_before: u64,
    /// The number of times in a row that a reader waited in vain.
    pub(super) late: u32,
    /// The longest recent time of a call.
    pub(super) slowest: Duration,
    pub(super) fault: Option<String>,
    pub(super) known: KnownObjects,
}

/// The number of collections; the time of all of them, of the last and of the slowest; and the
/// number of bytes of the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CollectionTally {
    pub(super) collections: u64,
    pub(super) last: Duration,
    pub(super) total: Duration,
    pub(super) worst: Duration,
    pub(super) bytes: u64,
}

impl CollectionTally {
    /// Adds one collection: the last one that `status` describes.
    pub(super) fn count(&mut self, status: &ProviderStatus) {
        self.add(&Self {
            collections: 1,
            last: status.last,
            total: status.last,
            worst: status.worst,
            bytes: status.bytes as u64,
        });
    }

    /// Adds the counts of later collections.
    pub(super) fn add(&mut self, later: &Self) {
        if later.collections == 0 {
            return;
        }
        self.collections = self.collections.saturating_add(later.collections);
        self.total = self.total.saturating_add(later.total);
        self.worst = self.worst.max(later.worst);
        (self.last, self.bytes) = (later.last, later.bytes);
    }
}

impl Record {
    pub(super) fn new(name: &str, fingerprint: u64) -> Self {
        Self { name: line(name), fingerprint, ..Self::default() }
    }

    pub(super) fn is_of(&self, name: &str) -> bool {
        self.name == line(name)
    }

    pub(super) fn set_fault(&mut self, text: &str) {
        self.fault = Some(line(text));
    }

    /// Counts a failure and notes its message.
    pub(super) fn failed(&mut self, message: &str) {
        self.faults = self.faults.saturating_add(1);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.set_fault(message);
    }

    /// Ends the series of waits in vain, and any pause. Also forgets the message of the last fault
    /// if only waits caused it.
    pub(super) fn answered_in_time(&mut self) {
        if self.late > 0 && self.in_a_row == 0 {
            self.fault = None;
        }
        (self.late, self.not_before) = (0, 0);
    }

    /// Ends the provider's quarantine and pause and its series of failures and waits in vain, and
    /// counts this in `released`.
    pub(super) fn release(&mut self) {
        self.released = self.released.saturating_add(1);
        (self.in_a_row, self.quarantined) = (0, false);
        (self.not_before, self.late) = (0, 0);
    }

    /// Begins a pause of the length `pause` at the time `now`, in milliseconds since 1970. It
    /// replaces any other pause.
    pub(super) fn pause(&mut self, pause: Duration, now: u64) {
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        self.not_before = now.saturating_add(millis);
    }

    /// The rest of the pause at the time `now`, in milliseconds since 1970; `None` without a pause.
    /// A pause longer than any that perfhive sets comes from a clock that was changed, and does not
    /// count.
    pub(super) fn pause_left(&self, now: u64) -> Option<Duration> {
        let left = self.not_before.checked_sub(now).filter(|left| *left > 0)?;
        Some(Duration::from_millis(left)).filter(|left| *left <= pause::LONGEST)
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{FIRST}\nname {}\n", self.name);
        let numbers: [(&str, u64); 13] = [
            ("fingerprint", self.fingerprint),
            ("released", self.released),
            ("collections", self.tally.collections),
            ("faults", self.faults),
            ("in-a-row", self.in_a_row.into()),
            ("quarantined", self.quarantined.into()),
            ("not-before", self.not_before),
            ("late", self.late.into()),
            ("slowest", nanos(self.slowest)),
            ("last", nanos(self.tally.last)),
            ("total", nanos(self.tally.total)),
            ("worst", nanos(self.tally.worst)),
            ("bytes", self.tally.bytes),
        ];
        for (key, number) in numbers {
            let _ = writeln!(text, "{key} {number}");
        }
        if let Some(fault) = &self.fault {
            let _ = writeln!(text, "fault {fault}");
        }
        let size: usize = self.known.definitions().map(|(_, bytes)| 2 * bytes.len() + 20).sum();
        if text.len() + size + LAST.len() < MOST {
            for (cost, bytes) in self.known.definitions() {
                let cost = match cost {
                    Cost::Global => "global",
                    Cost::Costly => "costly",
                    Cost::Foreign => "foreign",
                    Cost::Unknown => "unknown",
                };
                let _ = write!(text, "object {cost} ");
                bytes.iter().for_each(|byte| {
                    let _ = write!(text, "{byte:02x}");
                });
                text.push('\n');
            }
        }
        text.push_str(LAST);
        text.push('\n');
        text
    }

    /// The record in the bytes of a file; `None` if they are not an account, or are damaged.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MOST {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let body = text.strip_prefix(FIRST)?.strip_prefix('\n')?;
        let body = body.strip_suffix('\n')?.strip_suffix(LAST)?;
        let mut record = Self::default();
        for entry in body.lines() {
            let (key, value) = entry.split_once(' ')?;
            let number = || value.parse::<u64>().ok();
            let small = || value.parse::<u32>().ok();
            let time = || number().map(Duration::from_nanos);
            match key {
                "name" => record.name = line(value),
                "fault" => record.set_fault(value),
                "fingerprint" => record.fingerprint = number()?,
                "released" => record.released = number()?,
                "collections" => record.tally.collections = number()?,
                "faults" => record.faults = number()?,
                "in-a-row" => record.in_a_row = small()?,
                "quarantined" => record.quarantined = number()? != 0,
                "not-before" => record.not_before = number()?,
                "late" => record.late = small()?,
                "slowest" => record.slowest = time()?,
                "last" => record.tally.last = time()?,
                "total" => record.tally.total = time()?,
                "worst" => record.tally.worst = time()?,
                "bytes" => record.tally.bytes = number()?,
                "object" => {
                    let (cost, definition) = value.split_once(' ')?;
                    let cost = match cost {
                        "global" => Cost::Global,
                        "costly" => Cost::Costly,
                        "foreign" => Cost::Foreign,
                        "unknown" => Cost::Unknown,
                        _ => return None,
                    };
                    if !record.known.restore(unhex(definition)?, cost) {
                        return None;
                    }
                }
                // A line of another version.
                _ => {}
            }
        }
        Some(record)
    }
}

/// The FNV-1a hash of bytes, which stays the same from one build to the next.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// A text made one line, and cut to [`LONGEST`] characters.
fn line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).take(LONGEST).collect()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::{
        BlockHead, BlockWriter, CounterSpec, CounterType, InstanceHead, ObjectSpec, ObjectTemplate,
        TitleIndex,
    };

    fn known() -> KnownObjects {
        let counter = CounterSpec::new(TitleIndex(52), CounterType::PERF_COUNTER_RAWCOUNT);
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        let mut known = KnownObjects::default();
        for (name, instances) in [(50, false), (60, true)] {
            let spec = ObjectSpec::new(TitleIndex(name));
            let spec = if instances { spec.with_instances() } else { spec };
            let template = ObjectTemplate::new(&spec, &[counter]).unwrap();
            let mark = writer.mark();
            let mut object = writer.object(&template).unwrap();
            if instances {
                object.instance(&InstanceHead::named("one"), &[7]).unwrap();
                object.finish().unwrap();
            } else {
                object.values(&[7]).unwrap().finish().unwrap();
            }
            assert!(known.note(writer.since(mark), Cost::Costly).is_some());
        }
        known
    }

    fn record() -> Record {
        let mut record = Record::new("Gauges\nof steel", u64::MAX);
        (record.released, record.tally.collections, record.faults) = (1, 2, 3);
        (record.in_a_row, record.quarantined, record.late) = (4, true, 5);
        (record.not_before, record.tally.bytes) = (6, u64::MAX);
        (record.tally.last, record.tally.total) = (Duration::from_nanos(7), Duration::from_secs(8));
        record.set_fault(&"x\n".repeat(1000));
        record.known = known();
        record
    }

    #[test]
    fn a_written_record_reads_back() {
        let record = record();
        let text = record.to_text();
        let read = Record::parse(text.as_bytes()).unwrap();
        let again = Record::parse(read.to_text().as_bytes()).unwrap();
        assert_eq!(again.to_text(), read.to_text());
        // All but the samples that the definitions came with.
        let plain = |text: &str| text.split("\nobject").next().map(str::to_string);
        assert_eq!(plain(&read.to_text()), plain(&text));
        assert!(read.is_of("Gauges\nof steel") && !read.is_of("Gauges"));
        let described = |known: &KnownObjects| format!("{:?}", known.descriptions());
        assert_eq!(described(&read.known), described(&known()));
        assert_eq!(read.known.cost(TitleIndex(60)), Some(Cost::Costly));
        assert_eq!(read.fault.map(|fault| fault.len()), Some(LONGEST));
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_as_a_sound_record() {
        let text = record().to_text().into_bytes();
        for end in 0..text.len() {
            assert!(Record::parse(&text[..end]).is_none(), "cut off at {end}");
        }
        for at in 0..text.len() {
            for byte in [0, b' ', b'\n', b'9', b'f', 0xff] {
                let mut bytes = text.clone();
                bytes[at] = byte;
                if let Some(record) = Record::parse(&bytes) {
                    // Whatever was changed, the record can be written and read again.
                    assert!(Record::parse(record.to_text().as_bytes()).is_some());
                }
            }
        }
        assert!(Record::parse(&vec![b'x'; MOST + 1]).is_none());
    }

    #[test]
    fn definitions_beyond_the_size_limit_are_left_out() {
        let mut record = record();
        let mut known = KnownObjects::default();
        let definition = known_definition();
        for name in 0..10_000u32 {
            let mut bytes = definition.clone();
            bytes[12..16].copy_from_slice(&(2 * name).to_le_bytes());
            assert!(known.restore(bytes, Cost::Global));
        }
        record.known = known;
        let text = record.to_text();
        assert!(text.len() < MOST);
        let read = Record::parse(text.as_bytes()).unwrap();
        assert!(read.known.is_empty());
        assert_eq!(read.faults, 3);
    }

    fn known_definition() -> Vec<u8> {
        known().definitions().next().unwrap().1.to_vec()
    }
}
