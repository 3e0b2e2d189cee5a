//! A parser of `/proc/net/dev`: a heading that names the columns, and a line for each interface.

use crate::parse::{number, whole_lines};
use crate::table::{INTERFACE, index_of};
use perfhive_engine::standard::CounterValues;

use super::pairs::words;

/// The most columns that are parsed; no kernel has so many.
const MOST_COLUMNS: usize = 32;

/// The columns of received packets that fill counters, each with its counter, in the order of
/// [`Values`].
const RECEIVED: [(&str, u32); 8] = [
    ("bytes", index_of!(INTERFACE, "Bytes Received/sec")),
    ("packets", index_of!(INTERFACE, "Packets Received/sec")),
    ("errs", index_of!(INTERFACE, "Packets Received Errors")),
    ("drop", index_of!(INTERFACE, "Packets Received Discarded")),
    ("fifo", index_of!(INTERFACE, "Packets Received FIFO Errors")),
    ("frame", index_of!(INTERFACE, "Packets Received Frame Errors")),
    ("compressed", index_of!(INTERFACE, "Packets Received Compressed/sec")),
    ("multicast", index_of!(INTERFACE, "Packets Received Multicast/sec")),
];
/// The columns of sent packets that fill counters, each with its counter, in the order of
/// [`Values`].
const SENT: [(&str, u32); 8] = [
    ("bytes", index_of!(INTERFACE, "Bytes Sent/sec")),
    ("packets", index_of!(INTERFACE, "Packets Sent/sec")),
    ("errs", index_of!(INTERFACE, "Packets Outbound Errors")),
    ("drop", index_of!(INTERFACE, "Packets Outbound Discarded")),
    ("fifo", index_of!(INTERFACE, "Packets Outbound FIFO Errors")),
    ("colls", index_of!(INTERFACE, "Collisions")),
    ("carrier", index_of!(INTERFACE, "Carrier Errors")),
    ("compressed", index_of!(INTERFACE, "Packets Sent Compressed/sec")),
];
/// Counters that are the sum of two columns, each with the positions of both in [`Values`].
const TOTALS: [(u32, usize, usize); 2] =
    [(index_of!(INTERFACE, "Bytes Total/sec"), 0, 8), (index_of!(INTERFACE, "Packets/sec"), 1, 9)];

/// The values of an interface: the columns of [`RECEIVED`], and behind them the columns of
/// [`SENT`].
pub(super) type Values = [u64; 16];

/// The columns that this kernel's `net/dev` has.
pub(super) struct Columns {
    /// For each column of the file, the position in [`Values`]; `None` for a column that fills no
    /// counter.
    places: [Option<u8>; MOST_COLUMNS],
    count: usize,
}

impl Columns {
    /// The columns that the heading of `net/dev` names; `None` if there is no heading, or more than
    /// [`MOST_COLUMNS`] columns.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (mut lines, _) = whole_lines(text);
        let names = lines.nth(1)?;
        let mut parts = names.split(|byte| *byte == b'|');
        let (_, received, sent) = (parts.next()?, parts.next()?, parts.next()?);
        let mut columns = Self { places: [None; MOST_COLUMNS], count: 0 };
        for (first, table, part) in [(0, RECEIVED, received), (8, SENT, sent)] {
            for name in words(part) {
                let is_it = |(known, _): &(&str, u32)| known.as_bytes() == name;
                let place = (first..).zip(table).find(|(_, known)| is_it(known));
                let place = place.map(|(place, _)| place);
                // If two columns have one name, the first is used.
                let place = place.filter(|place| !columns.places.contains(&Some(*place)));
                *columns.places.get_mut(columns.count)? = place;
                columns.count += 1;
            }
        }
        Some(columns)
    }

    /// The values in `line`, the text behind an interface's name; `None` if it has not exactly one
    /// number for each column.
    fn values(&self, line: &[u8]) -> Option<Values> {
        let mut values = [0; 16];
        let mut words = words(line);
        for place in self.places.get(..self.count)? {
            let value = number(words.next()?)?;
            if let Some(slot) = place.and_then(|place| values.get_mut(usize::from(place))) {
                *slot = value;
            }
        }
        words.next().is_none().then_some(values)
    }

    /// Sets the counters for which the file has columns, sums of two columns included.
    pub(super) fn set(&self, values: &Values, row: &mut CounterValues) {
        let counters = RECEIVED.iter().chain(&SENT).zip(values);
        for (place, ((_, counter), value)) in (0..).zip(counters) {
            if self.has(place) {
                row.set(*counter, *value);
            }
        }
        for (counter, received, sent) in TOTALS {
            if self.has(received as u8)
                && self.has(sent as u8)
                && let (Some(received), Some(sent)) = (values.get(received), values.get(sent))
            {
                row.set(counter, received.wrapping_add(*sent));
            }
        }
    }

    fn has(&self, place: u8) -> bool {
        self.places.contains(&Some(place))
    }

    /// The counters for which the file has columns, as a mask.
    pub(super) fn mask(&self) -> u64 {
        let mut row = CounterValues::new(&INTERFACE);
        self.set(&[0; 16], &mut row);
        row.mask()
    }
}

/// The name and the values of each interface in the text of `net/dev`. The error of a damaged line
/// is the interface's name, or `None` if the line has no name or the text ends within it.
pub(super) fn devices<'a>(
    text: &'a [u8],
    columns: &Columns,
) -> impl Iterator<Item = Result<(&'a [u8], Values), Option<&'a [u8]>>> {
    let (lines, cut) = whole_lines(text);
    let cut = cut.then_some(Err(None));
    let device = |line: &'a [u8]| {
        // The last colon ends the name, which may contain colons.
        let colon = line.iter().rposition(|byte| *byte == b':').ok_or(None)?;
        let (name, rest) = line.split_at_checked(colon).ok_or(None)?;
        // The blanks around the name are padding: a name contains no blanks.
        let name = Some(name.trim_ascii()).filter(|name| !name.is_empty()).ok_or(None)?;
        let values = columns.values(rest.get(1..).unwrap_or_default()).ok_or(Some(name))?;
        Ok((name, values))
    };
    lines.skip(2).map(device).chain(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Inter-|   Receive                    |  Transmit\n \
                        face |bytes    packets errs drop fifo frame compressed multicast|bytes    \
                        packets errs drop fifo colls carrier compressed\n";

    fn parse(text: &str) -> Vec<Result<(String, Values), String>> {
        let columns = Columns::parse(text.as_bytes()).unwrap();
        let lossy = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        devices(text.as_bytes(), &columns)
            .map(|device| match device {
                Ok((name, values)) => Ok((lossy(name), values)),
                Err(name) => Err(lossy(name.unwrap_or(b"?"))),
            })
            .collect()
    }

    #[test]
    fn names_with_colons_are_parsed() {
        let text = format!(
            "{HEAD}    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
             eth0:1:18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        let all = parse(&text);
        let (name, values) = all[0].clone().unwrap();
        assert_eq!((name.as_str(), values), ("lo", std::array::from_fn(|at| at as u64 + 1)));
        let (name, values) = all[1].clone().unwrap();
        assert_eq!((name.as_str(), values[0]), ("eth0:1", u64::MAX));
        let columns = Columns::parse(text.as_bytes()).unwrap();
        assert_eq!(columns.mask().count_ones(), 18);
    }

    #[test]
    fn unknown_and_repeated_columns_are_skipped() {
        let text = "Inter-|   Receive |  Transmit\n face |packets errs new|packets packets\n\
                    x: 5 6 7 8 9\n";
        let (_, values) = parse(text)[0].clone().unwrap();
        assert_eq!((values[1], values[2], values[9]), (5, 6, 8));
        let columns = Columns::parse(text.as_bytes()).unwrap();
        // Packets received, errors, packets sent, packets.
        assert_eq!(columns.mask().count_ones(), 4);
    }

    #[test]
    fn damaged_lines_leave_other_interfaces() {
        let good = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";
        let text = format!(
            "{HEAD}a: {good}\nb: {good} 17\nc: 1 2\nd: x{good}\n\n: {good}\nnothing\ne: {good}\nf: {good}"
        );
        let names: Vec<_> =
            parse(&text).into_iter().map(|device| device.map(|(name, _)| name)).collect();
        let bad = |name: &str| Err(name.to_string());
        let (a, e) = (Ok("a".to_string()), Ok("e".to_string()));
        let rest = [bad("?"), bad("?"), bad("?"), e, bad("?")];
        assert_eq!(names[..4], [a, bad("b"), bad("c"), bad("d")]);
        assert_eq!(names[4..], rest);
        for text in ["", "Inter-|\n", "a\nb\n", "a\nface |bytes\n"] {
            assert!(Columns::parse(text.as_bytes()).is_none(), "{text}");
        }
        let many = format!("x\nface |{}|bytes\n", "n ".repeat(40));
        assert!(Columns::parse(many.as_bytes()).is_none());
    }
}
