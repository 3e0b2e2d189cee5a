//! The form of an account on disk: lines of text, one fact each. What is read
//! is anybody's, until it stood every test here.

use crate::describe::Known;
use perfhive_contract::log::{Limiter, kind_of};
use perfhive_engine::Cost;
use std::fmt::Write as _;
use std::time::Duration;

/// The first line, and the last: without it, the file has lost its end.
const FIRST: &str = "perfhive account 1";
const LAST: &str = "[End]";
/// Size that no account exceeds, in bytes. Definitions that would not fit are
/// not kept: such a library is asked anew by each program.
pub(super) const MOST: usize = 1 << 20;
/// Length that a fault's text is cut to, in characters.
const LONGEST: usize = 500;
/// Kinds of messages that are told apart in the log.
const KINDS: usize = 64;
/// The period in which [`Limiter::BURST`] messages of a kind are logged.
const LOG_PERIOD: u64 = 60_000;

/// What is known of a provider from all of a user's programs. Times of day are
/// in milliseconds since 1970.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) name: String,
    /// Tells this library and registration from any other.
    pub(super) fingerprint: u64,
    /// How often it was let out of quarantine.
    pub(super) released: u64,
    pub(super) collections: u64,
    pub(super) faults: u64,
    pub(super) in_a_row: u32,
    pub(super) quarantined: bool,
    /// Until when it is not asked again.
    pub(super) not_before: u64,
    /// How often in a row it was waited for in vain.
    pub(super) late: u32,
    /// The longest time after which it came back, of late.
    pub(super) slowest: Duration,
    pub(super) last: Duration,
    pub(super) total: Duration,
    pub(super) worst: Duration,
    pub(super) bytes: u64,
    pub(super) fault: Option<String>,
    pub(super) known: Known,
    log: Vec<LogKind>,
}

/// What was logged of one kind of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogKind {
    key: u64,
    since: u64,
    passed: u32,
    held: u64,
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

    /// Begins anew after somebody let it out of quarantine.
    pub(super) fn release(&mut self) {
        self.released = self.released.saturating_add(1);
        (self.in_a_row, self.quarantined) = (0, false);
        (self.not_before, self.late) = (0, 0);
    }

    /// The message as it is to be logged at the time `now`, or `None` if enough
    /// was said of its kind, by whichever program.
    pub(super) fn pass(&mut self, message: &str, now: u64) -> Option<String> {
        let key = kind_of(message);
        let place = match self.log.iter().position(|kind| kind.key == key) {
            Some(place) => place,
            None => {
                if self.log.len() >= KINDS {
                    // The one that was silent the longest makes room.
                    let oldest =
                        (0..self.log.len()).min_by_key(|at| self.log.get(*at).map(|k| k.since));
                    oldest.map(|at| self.log.swap_remove(at));
                }
                self.log.push(LogKind { key, since: now, ..LogKind::default() });
                self.log.len() - 1
            }
        };
        let kind = self.log.get_mut(place)?;
        // A clock that was set back does not silence anybody.
        if now.wrapping_sub(kind.since) >= LOG_PERIOD {
            (kind.since, kind.passed) = (now, Limiter::BURST - 1);
        }
        if kind.passed >= Limiter::BURST {
            kind.held = kind.held.saturating_add(1);
            return None;
        }
        kind.passed += 1;
        Some(match std::mem::take(&mut kind.held) {
            0 => message.to_string(),
            held => format!("{message} (and {held} more like this, of other programs too)"),
        })
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{FIRST}\nname {}\n", self.name);
        let numbers: [(&str, u64); 13] = [
            ("fingerprint", self.fingerprint),
            ("released", self.released),
            ("collections", self.collections),
            ("faults", self.faults),
            ("in-a-row", self.in_a_row.into()),
            ("quarantined", self.quarantined.into()),
            ("not-before", self.not_before),
            ("late", self.late.into()),
            ("slowest", nanos(self.slowest)),
            ("last", nanos(self.last)),
            ("total", nanos(self.total)),
            ("worst", nanos(self.worst)),
            ("bytes", self.bytes),
        ];
        for (key, number) in numbers {
            let _ = writeln!(text, "{key} {number}");
        }
        if let Some(fault) = &self.fault {
            let _ = writeln!(text, "fault {fault}");
        }
        for kind in &self.log {
            let LogKind { key, since, passed, held } = kind;
            let _ = writeln!(text, "log {key} {since} {passed} {held}");
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

    /// Reads an account; `None` where it is none, or damaged.
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
                "collections" => record.collections = number()?,
                "faults" => record.faults = number()?,
                "in-a-row" => record.in_a_row = small()?,
                "quarantined" => record.quarantined = number()? != 0,
                "not-before" => record.not_before = number()?,
                "late" => record.late = small()?,
                "slowest" => record.slowest = time()?,
                "last" => record.last = time()?,
                "total" => record.total = time()?,
                "worst" => record.worst = time()?,
                "bytes" => record.bytes = number()?,
                "log" if record.log.len() < KINDS => record.log.push(log_kind(value)?),
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
                // Of a later version, which does not mind.
                _ => {}
            }
        }
        Some(record)
    }
}

fn log_kind(value: &str) -> Option<LogKind> {
    let mut parts = value.split(' ');
    let mut next = || parts.next()?.parse::<u64>().ok();
    let (key, since) = (next()?, next()?);
    let passed = u32::try_from(next()?).ok()?;
    Some(LogKind { key, since, passed, held: next()? })
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

/// A text as one line that is not too long.
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

    fn known() -> Known {
        let counter = CounterSpec::new(TitleIndex(52), CounterType::PERF_COUNTER_RAWCOUNT);
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        let mut known = Known::default();
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
        (record.released, record.collections, record.faults) = (1, 2, 3);
        (record.in_a_row, record.quarantined, record.late) = (4, true, 5);
        (record.not_before, record.bytes) = (6, u64::MAX);
        (record.last, record.total) = (Duration::from_nanos(7), Duration::from_secs(8));
        record.set_fault(&"x\n".repeat(1000));
        record.known = known();
        record.pass("one", 10);
        record.pass("two", 20);
        record
    }

    #[test]
    fn what_is_written_is_read() {
        let record = record();
        let text = record.to_text();
        let read = Record::parse(text.as_bytes()).unwrap();
        let again = Record::parse(read.to_text().as_bytes()).unwrap();
        assert_eq!(again.to_text(), read.to_text());
        // All but the samples that the definitions came with.
        let plain = |text: &str| text.split("\nobject").next().map(str::to_string);
        assert_eq!(plain(&read.to_text()), plain(&text));
        assert!(read.is_of("Gauges\nof steel") && !read.is_of("Gauges"));
        let described = |known: &Known| format!("{:?}", known.descriptions());
        assert_eq!(described(&read.known), described(&known()));
        assert_eq!(read.known.cost(TitleIndex(60)), Some(Cost::Costly));
        assert_eq!(read.fault.map(|fault| fault.len()), Some(LONGEST));
    }

    #[test]
    fn hostile_bytes_are_no_account_or_a_sound_one() {
        let text = record().to_text().into_bytes();
        for end in 0..text.len() {
            assert!(Record::parse(&text[..end]).is_none(), "cut off at {end}");
        }
        for at in 0..text.len() {
            for byte in [0, b' ', b'\n', b'9', b'f', 0xff] {
                let mut bytes = text.clone();
                bytes[at] = byte;
                if let Some(record) = Record::parse(&bytes) {
                    // Whatever it says now, it can be written and read again.
                    assert!(Record::parse(record.to_text().as_bytes()).is_some());
                }
            }
        }
        assert!(Record::parse(&vec![b'x'; MOST + 1]).is_none());
    }

    #[test]
    fn definitions_that_are_too_large_are_left_out() {
        let mut record = record();
        let mut known = Known::default();
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

    #[test]
    fn the_log_is_for_all_programs() {
        let mut record = Record::new("Gauges", 1);
        for number in 0..10 {
            let line = record.pass(&format!("failed at byte {number}"), 1000);
            assert_eq!(line.is_some(), number < 3);
            // Each as another program would: what is kept is on disk.
            record = Record::parse(record.to_text().as_bytes()).unwrap();
        }
        let later = record.pass("failed at byte 9", 61_000).unwrap();
        assert_eq!(later, "failed at byte 9 (and 7 more like this, of other programs too)");
        // From then on one a minute.
        assert_eq!(record.pass("failed at byte 9", 61_000), None);
        assert!(record.pass("failed at byte 9", 121_000).is_some());
        // A clock that was set back does not silence it.
        for _ in 0..3 {
            record.pass("failed at byte 9", 61_000);
        }
        assert!(record.pass("failed at byte 9", 5).is_some());
        for number in 0..1000 {
            assert!(record.pass(&"x".repeat(number), 61_000).is_some());
        }
        assert_eq!(record.log.len(), KINDS);
    }
}
