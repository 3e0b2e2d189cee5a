//! The files below `/proc/net` that pair names with numbers, in three ways.
//!
//! `snmp` and `netstat` have a line of names and below it a line of numbers,
//! `snmp6` a name and a number on each line, `sockstat` names and numbers by
//! turns on one line. Which names there are, and in which order, differs from
//! kernel to kernel: a number counts for the name that it stands with, and for
//! nothing where the two lines do not fit.

use super::fields::Part;
use crate::parse::{number, whole_lines};
use perfhive_engine::standard::{MOST, Row};
use std::ffi::CStr;
use std::fmt;

/// A file with counts of protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Snmp,
    Snmp6,
    Netstat,
    Sockstat,
    Sockstat6,
}

impl File {
    pub(super) const ALL: [Self; 5] =
        [Self::Snmp, Self::Snmp6, Self::Netstat, Self::Sockstat, Self::Sockstat6];

    pub(super) fn path(self) -> &'static CStr {
        match self {
            Self::Snmp => c"net/snmp",
            Self::Snmp6 => c"net/snmp6",
            Self::Netstat => c"net/netstat",
            Self::Sockstat => c"net/sockstat",
            Self::Sockstat6 => c"net/sockstat6",
        }
    }

    /// Whether every kernel has it: those for IPv6 are there only with it, and
    /// the others have come with time.
    pub(super) fn is_always_there(self) -> bool {
        self == Self::Snmp
    }
}

/// What is wrong with a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// There is no such part.
    Missing(&'static str),
    /// No numbers to the names, or another number of them.
    Uneven(&'static str),
    /// Something else than a number stands with a name.
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

/// The words of a whole line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Sets the counters of a part. `page` is the size of a page in bytes, and
/// `damaged` hears what is wrong.
pub(super) fn fill(
    text: &[u8],
    part: &'static Part,
    page: u64,
    row: &mut Row,
    damaged: &mut dyn FnMut(Damage),
) {
    let (lines, cut) = whole_lines(text);
    if cut {
        damaged(Damage::Cut);
    }
    let mut sums = Sums { part, values: [0; MOST], seen: [0; MOST] };
    let found = match part.file {
        File::Snmp | File::Netstat => two_lines(lines, &mut sums, damaged),
        File::Snmp6 => line_by_line(lines, &mut sums, damaged),
        File::Sockstat | File::Sockstat6 => one_line(lines, &mut sums, damaged),
    };
    if !found && part.must {
        damaged(Damage::Missing(part.section));
    }
    sums.finish(page, row);
}

type Damaged<'a> = &'a mut dyn FnMut(Damage);

/// What stands behind the section's name and a colon, if the line is of it.
fn of_section<'a>(line: &'a [u8], section: &str) -> Option<&'a [u8]> {
    line.strip_prefix(section.as_bytes())?.strip_prefix(b":")
}

fn two_lines<'a>(
    mut lines: impl Iterator<Item = &'a [u8]>,
    sums: &mut Sums,
    damaged: Damaged<'_>,
) -> bool {
    let section = sums.part.section;
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
        let name = words.next().and_then(|name| name.strip_prefix(sums.part.section.as_bytes()));
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
    let section = sums.part.section;
    let Some(rest) = lines.find_map(|line| of_section(line, section)) else {
        return false;
    };
    let mut words = words(rest);
    while let Some(name) = words.next() {
        sums.take(name, words.next().unwrap_or_default(), damaged);
    }
    true
}

/// Sums of fields, by counter.
struct Sums {
    part: &'static Part,
    values: [u64; MOST],
    /// Which fields of each counter have been met.
    seen: [u8; MOST],
}

impl Sums {
    /// Takes a field. Of several with one name, the first counts.
    fn take(&mut self, name: &[u8], value: &[u8], damaged: Damaged<'_>) {
        let mut bad = None;
        let places = self.values.iter_mut().zip(&mut self.seen);
        for ((_, names), (sum, seen)) in self.part.fields.iter().zip(places) {
            for (bit, wanted) in names.iter().enumerate() {
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
            damaged(Damage::NoNumber(self.part.section, name));
        }
    }

    /// Sets the counters of which every field was met.
    fn finish(&self, page: u64, row: &mut Row) {
        let sums = self.values.iter().zip(&self.seen);
        for ((counter, names), (sum, seen)) in self.part.fields.iter().zip(sums) {
            if seen.count_ones() as usize == names.len() {
                let sum = if *counter == MEMORY { sum.saturating_mul(page) } else { *sum };
                row.set(*counter, sum);
            }
        }
    }
}

/// Socket Buffer Bytes, which the kernel counts in pages.
const MEMORY: u32 = 103_142;

#[cfg(test)]
mod tests {
    use super::super::fields;
    use super::*;
    use crate::table::{IPV4, IPV6, TCPV4};

    fn run(text: &str, part: &'static Part, row: &mut Row) -> Vec<Damage> {
        let mut damage = Vec::new();
        fill(text.as_bytes(), part, 4096, row, &mut |bad| damage.push(bad));
        damage
    }

    fn value(row: &Row, counter: u32) -> Option<u64> {
        let object = row.object();
        let mut values = [0; MOST];
        row.values(object.bits(counter), &mut values).first().copied()
    }

    #[test]
    fn names_decide_and_not_their_order() {
        let part = &fields::TCPV4[0];
        let mut row = Row::new(&TCPV4);
        let text = "Tcp: MaxConn OutSegs New InSegs InSegs\nTcp: -1 5 9 18446744073709551614 8\n";
        assert_eq!(run(text, part, &mut row), []);
        assert_eq!(value(&row, 654), Some(5));
        assert_eq!(value(&row, 652), Some(u64::MAX - 1));
        assert_eq!(value(&row, 640), Some(3));
        assert_eq!(value(&row, 656), None);
        // Every truncation gives what is whole, or nothing.
        for end in 0..text.len() {
            let mut row = Row::new(&TCPV4);
            assert!(!run(&text[..end], part, &mut row).is_empty(), "{end}");
            assert_eq!(row.mask(), 0);
        }
    }

    #[test]
    fn lines_that_do_not_fit_are_damaged() {
        let part = &fields::TCPV4[0];
        let uneven = [Damage::Uneven("Tcp")];
        for text in [
            "Tcp: InSegs OutSegs\nTcp: 1\n",
            "Tcp: InSegs\nTcp: 1 2\n",
            "Tcp: InSegs\nUdp: 1\n",
            "Tcp: InSegs\n",
            "Tcp: InSegs\n\nTcp: 1\n",
        ] {
            let mut row = Row::new(&TCPV4);
            assert_eq!(run(text, part, &mut row), uneven, "{text}");
            assert_eq!(row.mask(), 0);
        }
        let mut row = Row::new(&TCPV4);
        let text = "Tcp: InSegs OutSegs\nTcp: -4 2\n";
        assert_eq!(run(text, part, &mut row), [Damage::NoNumber("Tcp", "InSegs")]);
        assert_eq!((value(&row, 654), value(&row, 640)), (Some(2), None));
        assert_eq!(run("TcpExt: a\nTcpExt: 1\n", part, &mut row), [Damage::Missing("Tcp")]);
    }

    #[test]
    fn names_with_numbers_beside_them() {
        let mut row = Row::new(&IPV6);
        let text = "Ip6InReceives   \t7\nIp6OutRequests\t1\nIp6InDelivers\nUdp6InDatagrams 5\n";
        let damage = run(text, &fields::IPV6[0], &mut row);
        assert_eq!(damage, [Damage::NoNumber("Ip6", "InDelivers")]);
        assert_eq!((value(&row, 446), value(&row, 438)), (Some(7), Some(8)));
        assert_eq!(value(&row, 562), None);
        assert_eq!(run("", &fields::IPV6[0], &mut row), [Damage::Missing("Ip6")]);
        assert_eq!(run("Ip6InReceives 4", &fields::IPV6[0], &mut row).len(), 2);

        let mut row = Row::new(&TCPV4);
        let part = fields::TCPV4.iter().find(|part| part.file == File::Sockstat).unwrap();
        let text = "sockets: used 20\nTCP: inuse 1 orphan 2 tw 3 alloc 4 mem 5\nUDP: inuse 6\n";
        assert_eq!(run(text, part, &mut row), []);
        assert_eq!((value(&row, 103_134), value(&row, 103_142)), (Some(1), Some(5 * 4096)));
        let text = "TCP: inuse 1 orphan\n";
        assert_eq!(run(text, part, &mut row), [Damage::NoNumber("TCP", "orphan")]);
        assert_eq!(run("", part, &mut row), []);
    }

    #[test]
    fn every_counter_is_filled_from_its_own_object_s_file() {
        for (object, parts) in super::super::PROTOCOLS {
            let mut filled = std::collections::HashSet::new();
            for (counter, _) in parts.iter().flat_map(|part| part.fields) {
                assert!(object.place(*counter).is_some(), "{} {counter}", object.name);
                assert!(filled.insert(*counter), "{} {counter} twice", object.name);
            }
            for counter in object.counters.iter().filter(|counter| !counter.on_request) {
                assert!(filled.contains(&counter.index), "{} {}", object.name, counter.index);
            }
        }
        assert!(std::ptr::eq(super::super::PROTOCOLS[0].0, &raw const IPV4));
    }
}
