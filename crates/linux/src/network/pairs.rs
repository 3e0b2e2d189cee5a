//! The files below `/proc/net` that pair names with numbers, in three formats.
//!
//! `snmp` and `netstat` have a line of names and below it a line of numbers;
//! `snmp6` has a name and a number on each line; `sockstat` has names and numbers in turn on
//! one line. The names and their order differ between kernels: a number belongs to
//! the name at its place. If a line of names and its line of numbers do not have equally
//! many words, neither is used.

use crate::parse::{number, whole_lines};
use crate::table::network::{File, ProtocolRow, SOCKET_BUFFER_BYTES, Section};
use perfhive_engine::standard::{CounterValues, MOST};
use std::fmt;

/// A fault of a file or of a section in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The section with this name is missing.
    Missing(&'static str),
    /// The section with this name has no line of numbers, or one that has not as many words as the
    /// line of names.
    Uneven(&'static str),
    /// The section, and a name in it that has no valid number.
    NoNumber(&'static str, &'static str),
    /// The text ends within a line.
    Cut,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(section) => write!(f, "{section} is missing"),
            Self::Uneven(section) => write!(f, "names and numbers of {section} do not fit"),
            Self::NoNumber(section, name) => write!(f, "{section} {name} has no number"),
            Self::Cut => f.write_str("ends in the middle of a line"),
        }
    }
}

/// The words of a line, which blanks separate.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Sets the counters of `rows` that are sums of fields of a section, from the `text` of the
/// section's file. `page` is the size of a page in bytes; `damaged` is called with each fault. A
/// counter that lacks a field is not set.
pub(super) fn fill(
    text: &[u8],
    section: &'static Section,
    rows: &'static [ProtocolRow],
    page: u64,
    row: &mut CounterValues,
    damaged: &mut dyn FnMut(Damage),
) {
    let (lines, cut) = whole_lines(text);
    if cut {
        damaged(Damage::Cut);
    }
    let mut sums = Sums { section, rows, values: [0; MOST], seen: [0; MOST] };
    let found = match section.file {
        File::Snmp | File::Netstat => two_lines(lines, &mut sums, damaged),
        File::Snmp6 => line_by_line(lines, &mut sums, damaged),
        File::Sockstat | File::Sockstat6 => one_line(lines, &mut sums, damaged),
    };
    if !found && section.required {
        damaged(Damage::Missing(section.name));
    }
    sums.finish(page, row);
}

type Damaged<'a> = &'a mut dyn FnMut(Damage);

/// The text of a line behind the section's name and a colon; `None` for a line of another section.
fn of_section<'a>(line: &'a [u8], section: &str) -> Option<&'a [u8]> {
    line.strip_prefix(section.as_bytes())?.strip_prefix(b":")
}

fn two_lines<'a>(
    mut lines: impl Iterator<Item = &'a [u8]>,
    sums: &mut Sums,
    damaged: Damaged<'_>,
) -> bool {
    let section = sums.section.name;
    let Some(names) = lines.find_map(|line| of_section(line, section)) else {
        return false;
    };
    match lines.next().and_then(|line| of_section(line, section)) {
        Some(numbers) if words(names).count() == words(numbers).count() => {
            words(names).zip(words(numbers)).for_each(|(name, value)| {
                sums.take(name, value, damaged);
            });
        }
        _ => damaged(Damage::Uneven(section)),
    }
    true
}

fn line_by_line<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    sums: &mut Sums,
    damaged: Damaged<'_>,
) -> bool {
    let mut found = false;
    for line in lines {
        let mut words = words(line);
        let name = words.next().and_then(|name| name.strip_prefix(sums.section.name.as_bytes()));
        if let Some(name) = name {
            found = true;
            sums.take(name, words.next().unwrap_or_default(), damaged);
        }
    }
    found
}

fn one_line<'a>(
    mut lines: impl Iterator<Item = &'a [u8]>,
    sums: &mut Sums,
    damaged: Damaged<'_>,
) -> bool {
    let section = sums.section.name;
    let Some(rest) = lines.find_map(|line| of_section(line, section)) else {
        return false;
    };
    let mut words = words(rest);
    while let Some(name) = words.next() {
        sums.take(name, words.next().unwrap_or_default(), damaged);
    }
    true
}

/// The sums of a section's fields: for each of the `rows`, at the row's position.
struct Sums {
    section: &'static Section,
    rows: &'static [ProtocolRow],
    values: [u64; MOST],
    /// The fields of each row that were found, as bits in the order of [`ProtocolRow::fields`].
    seen: [u8; MOST],
}

impl Sums {
    /// The rows that this section fills, each with its position among all rows.
    fn filled(&self) -> impl Iterator<Item = (usize, &'static ProtocolRow)> + use<> {
        let file = self.section.file;
        self.rows.iter().enumerate().filter(move |(_, row)| row.file == Some(file))
    }

    /// Adds a field to the sums of all rows that have it. If several fields have the same name, the
    /// first with a number is used.
    fn take(&mut self, name: &[u8], value: &[u8], damaged: Damaged<'_>) {
        let mut bad = None;
        for (place, row) in self.filled() {
            let (Some(sum), Some(seen)) = (self.values.get_mut(place), self.seen.get_mut(place))
            else {
                continue;
            };
            for (bit, wanted) in row.fields.iter().enumerate() {
                if wanted.as_bytes() != name || *seen & (1 << bit) != 0 {
                    continue;
                }
                match number(value) {
                    Some(value) => {
                        // Counts wrap, at 32 bits on some machines.
                        *sum = sum.wrapping_add(value);
                        *seen |= 1 << bit;
                    }
                    None => bad = Some(*wanted),
                }
            }
        }
        if let Some(name) = bad {
            damaged(Damage::NoNumber(self.section.name, name));
        }
    }

    /// Sets in `row` the counter of each protocol row of which all fields were found. `page` is the
    /// size of a page in bytes.
    fn finish(&self, page: u64, row: &mut CounterValues) {
        for (place, ProtocolRow { counter, fields, .. }) in self.filled() {
            let (Some(sum), Some(seen)) = (self.values.get(place), self.seen.get(place)) else {
                continue;
            };
            if seen.count_ones() as usize == fields.len() {
                // The kernel counts socket buffers in pages.
                let in_pages = counter.index == SOCKET_BUFFER_BYTES.index;
                let sum = if in_pages { sum.saturating_mul(page) } else { *sum };
                row.set(counter.index, sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TCPV4;
    use crate::table::network::{IPV6, PROTOCOLS, Protocol};

    fn protocol(row: &CounterValues) -> &'static Protocol {
        PROTOCOLS.iter().find(|known| known.object.index == row.object().index).unwrap()
    }

    /// Fills a row of a protocol from the text of one of its files; returns the damage that was
    /// found.
    fn run(text: &str, file: File, row: &mut CounterValues) -> Vec<Damage> {
        let Protocol { sections, rows, .. } = protocol(row);
        let section = sections.iter().find(|section| section.file == file).unwrap();
        let mut damage = Vec::new();
        fill(text.as_bytes(), section, rows, 4096, row, &mut |bad| damage.push(bad));
        damage
    }

    fn value(row: &CounterValues, counter: u32) -> Option<u64> {
        let object = row.object();
        let mut values = [0; MOST];
        row.values(object.bits(counter), &mut values).first().copied()
    }

    #[test]
    fn fields_in_any_order_are_found_by_name() {
        let mut row = CounterValues::new(&TCPV4);
        let text = "Tcp: MaxConn OutSegs New InSegs InSegs\nTcp: -1 5 9 18446744073709551614 8\n";
        assert_eq!(run(text, File::Snmp, &mut row), []);
        assert_eq!(value(&row, 654), Some(5));
        assert_eq!(value(&row, 652), Some(u64::MAX - 1));
        assert_eq!(value(&row, 640), Some(3));
        assert_eq!(value(&row, 656), None);
        // A truncated text gives no values.
        for end in 0..text.len() {
            let mut row = CounterValues::new(&TCPV4);
            assert!(!run(&text[..end], File::Snmp, &mut row).is_empty(), "{end}");
            assert_eq!(row.mask(), 0);
        }
    }

    #[test]
    fn lines_of_different_lengths_are_damaged() {
        let uneven = [Damage::Uneven("Tcp")];
        for text in [
            "Tcp: InSegs OutSegs\nTcp: 1\n",
            "Tcp: InSegs\nTcp: 1 2\n",
            "Tcp: InSegs\nUdp: 1\n",
            "Tcp: InSegs\n",
            "Tcp: InSegs\n\nTcp: 1\n",
        ] {
            let mut row = CounterValues::new(&TCPV4);
            assert_eq!(run(text, File::Snmp, &mut row), uneven, "{text}");
            assert_eq!(row.mask(), 0);
        }
        let mut row = CounterValues::new(&TCPV4);
        let text = "Tcp: InSegs OutSegs\nTcp: -4 2\n";
        assert_eq!(run(text, File::Snmp, &mut row), [Damage::NoNumber("Tcp", "InSegs")]);
        assert_eq!((value(&row, 654), value(&row, 640)), (Some(2), None));
        assert_eq!(run("TcpExt: a\nTcpExt: 1\n", File::Snmp, &mut row), [Damage::Missing("Tcp")]);
    }

    #[test]
    fn names_beside_numbers_fill_counters() {
        let mut row = CounterValues::new(&IPV6);
        let text = "Ip6InReceives   \t7\nIp6OutRequests\t1\nIp6InDelivers\nUdp6InDatagrams 5\n";
        let damage = run(text, File::Snmp6, &mut row);
        assert_eq!(damage, [Damage::NoNumber("Ip6", "InDelivers")]);
        assert_eq!((value(&row, 446), value(&row, 438)), (Some(7), Some(8)));
        assert_eq!(value(&row, 562), None);
        assert_eq!(run("", File::Snmp6, &mut row), [Damage::Missing("Ip6")]);
        assert_eq!(run("Ip6InReceives 4", File::Snmp6, &mut row).len(), 2);

        let mut row = CounterValues::new(&TCPV4);
        let text = "sockets: used 20\nTCP: inuse 1 orphan 2 tw 3 alloc 4 mem 5\nUDP: inuse 6\n";
        assert_eq!(run(text, File::Sockstat, &mut row), []);
        assert_eq!((value(&row, 103_134), value(&row, 103_142)), (Some(1), Some(5 * 4096)));
        let text = "TCP: inuse 1 orphan\n";
        assert_eq!(run(text, File::Sockstat, &mut row), [Damage::NoNumber("TCP", "orphan")]);
        assert_eq!(run("", File::Sockstat, &mut row), []);
    }

    #[test]
    fn every_row_has_a_section_of_its_file_or_is_filled_on_request() {
        for Protocol { object, sections, rows } in &PROTOCOLS {
            assert!(rows.len() <= MOST && rows.len() == object.counters.len(), "{}", object.name);
            for ProtocolRow { counter, file, fields } in *rows {
                assert_eq!(fields.is_empty(), counter.on_request, "{}", counter.name);
                assert_eq!(file.is_none(), counter.on_request, "{}", counter.name);
                let count = sections.iter().filter(|section| Some(section.file) == *file).count();
                assert_eq!(count, usize::from(file.is_some()), "{}", counter.name);
            }
        }
    }
}
