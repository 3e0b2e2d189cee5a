//! The object Pressure: how long the machine's tasks waited for processors, memory and devices,
//! from `/proc/pressure`.

use crate::faults::{Faults, Text, is_denied, is_gone, unreadable};
use crate::files::Reader;
use crate::parse::{hundredths, number, whole_lines};
use crate::table::{PRESSURE, index_of};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::InstanceHead;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::ffi::CStr;

/// The file of each resource, and the names of the instances for its lines `some` and `full`.
/// The line `full` of the processors is left out: for a whole machine the kernel calls it
/// undefined (since 5.13) and prints zeros (since 5.19).
const RESOURCES: [(&CStr, Names); 4] = [
    (c"pressure/cpu", [Some("cpu some"), None]),
    (c"pressure/memory", [Some("memory some"), Some("memory full")]),
    (c"pressure/io", [Some("io some"), Some("io full")]),
    (c"pressure/irq", [Some("irq some"), Some("irq full")]),
];
type Names = [Option<&'static str>; 2];

/// The words before the averages of a line, each with its counter. The averages are read in
/// hundredths of a percent.
const AVERAGES: [(&[u8], u32); 3] = [
    (b"avg10=", index_of!(PRESSURE, "% Stalled Time 10 s Average")),
    (b"avg60=", index_of!(PRESSURE, "% Stalled Time 60 s Average")),
    (b"avg300=", index_of!(PRESSURE, "% Stalled Time 300 s Average")),
];
const STALLED: u32 = index_of!(PRESSURE, "% Stalled Time");
/// The base of a percentage that is given in hundredths.
const WHOLE: u64 = 10_000;

#[derive(Default)]
pub(super) struct Pressure {
    files: [Option<OwnedFd>; RESOURCES.len()],
    /// The parsed lines of this collection, each behind its instance name.
    lines: Vec<(&'static str, Line)>,
}

/// The numbers of a line: the total waiting time in 100 ns units, the averages in hundredths of a
/// percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    stalled: u64,
    averages: [u64; AVERAGES.len()],
}

impl Pressure {
    pub(super) fn write(
        &mut self,
        proc: &mut Reader,
        layouts: &mut Layouts,
        faults: &mut Faults,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        self.lines.clear();
        for ((path, names), file) in RESOURCES.into_iter().zip(&mut self.files) {
            match proc.system(path, file) {
                Ok(text) => {
                    if read(text, names, &mut self.lines, faults) {
                        let path = Text(path);
                        faults.object(format_args!("{path}: ends in the middle of a line"));
                    }
                }
                // The kernel was built without pressure information, or started with `psi=0`.
                Err(error) if is_gone(error) || is_denied(error) || error == Errno::OPNOTSUPP => {}
                Err(error) => unreadable(path, error, faults),
            }
        }
        let mut object = out.object(layouts.template(PRESSURE.standard())?)?;
        let mut row = CounterValues::new(&PRESSURE);
        let mut values = [0; MOST];
        for (name, line) in &self.lines {
            row.clear();
            row.set(STALLED, line.stalled);
            for ((_, counter), average) in AVERAGES.into_iter().zip(line.averages) {
                row.set_with_base(counter, average, WHOLE);
            }
            let head = InstanceHead::named(name);
            object.instance_prefix(&head, row.values(PRESSURE.standard(), &mut values))?;
        }
        object.finish()?;
        Ok(())
    }
}

/// Parses the lines of a file into `out`, with the instance names of `some` and `full`; returns
/// whether the text ends within a line.
fn read(
    text: &[u8],
    [some, full]: Names,
    out: &mut Vec<(&'static str, Line)>,
    faults: &mut Faults,
) -> bool {
    let (lines, cut) = whole_lines(text);
    for line in lines {
        let (name, rest) = if let Some(rest) = line.strip_prefix(b"some ") {
            (some, rest)
        } else if let Some(rest) = line.strip_prefix(b"full ") {
            (full, rest)
        } else {
            continue;
        };
        let Some(name) = name else {
            continue;
        };
        match parse(rest) {
            Some(line) => out.push((name, line)),
            None => faults.instance(name, "not understood"),
        }
    }
    cut
}

/// The numbers of a line, from the text behind its first word: a text such as
/// `avg10=0.00 avg60=0.00 avg300=0.00 total=0`, with the line end. `None` for another text.
fn parse(rest: &[u8]) -> Option<Line> {
    let mut words = rest.strip_suffix(b"\n")?.split(|byte| *byte == b' ');
    let mut averages = [0; AVERAGES.len()];
    for ((word, _), average) in AVERAGES.into_iter().zip(&mut averages) {
        *average = hundredths(words.next()?.strip_prefix(word)?)?;
    }
    let microseconds = number(words.next()?.strip_prefix(b"total=")?)?;
    Some(Line { stalled: microseconds.saturating_mul(10), averages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_lines_are_parsed() {
        let line = parse(b"avg10=12.29 avg60=2.05 avg300=0.00 total=1760861444\n").unwrap();
        assert_eq!(line, Line { stalled: 17_608_614_440, averages: [1229, 205, 0] });
        for bad in [
            "avg10=1.00 avg60=1.00 avg300=0.00 total=12",
            "avg10=1.00 avg60=1.00 avg300=0.00\n",
            "avg10=1.0 avg60=1.00 avg300=0.00 total=1\n",
            "avg10=x avg60=1.00 avg300=0.00 total=1\n",
            "total=1\n",
            "",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        let large = parse(b"avg10=0.00 avg60=0.00 avg300=0.00 total=99999999999999999999\n");
        assert_eq!(large.unwrap().stalled, u64::MAX);
    }
}
