//! Parsers for the texts of `/proc`, which are bytes.
//!
//! A number that does not fit saturates. A text that ends in the middle of a
//! number (a truncated file) must not pass as a smaller number: a number counts
//! only where a blank or line end follows it.

/// The value of decimal digits, saturating; `None` if the text has another byte or is empty.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number.saturating_mul(10).saturating_add(u64::from(digit)))
    })
}

/// A reader of words separated by blanks: spaces, tabs and line ends.
pub(crate) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// The next word; `None` if there is no further word, or if no blank follows it: it may be cut off.
    pub(crate) fn next_word(&mut self) -> Option<&'a [u8]> {
        let word = after_blanks(self.rest);
        let mut rest = word;
        while let [byte, behind @ ..] = rest {
            if is_blank(*byte) {
                break;
            }
            rest = behind;
        }
        if rest.is_empty() {
            return None;
        }
        self.rest = rest;
        word.get(..word.len() - rest.len())
    }

    /// The next word as a number; `None` if it is no number or may be cut off.
    pub(crate) fn number(&mut self) -> Option<u64> {
        // Nearly every word is a few digits and a blank, which is read in one pass; other words take the
        // slow way.
        let word = after_blanks(self.rest);
        let (mut rest, mut value) = (word, 0u64);
        while let [digit @ b'0'..=b'9', behind @ ..] = rest {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            rest = behind;
        }
        let digits = word.len() - rest.len();
        if (1..=SAFE_DIGITS).contains(&digits) && rest.first().is_some_and(|byte| is_blank(*byte)) {
            self.rest = rest;
            return Some(value);
        }
        number(self.next_word()?)
    }

    /// The next word as a number; `Some(None)` if there is no further word, `None` if the word is
    /// no number or may be cut off.
    pub(crate) fn number_if_any(&mut self) -> Option<Option<u64>> {
        match self.rest.iter().all(|byte| is_blank(*byte)) {
            true => Some(None),
            false => self.number().map(Some),
        }
    }

    /// Skips a number of words; `None` if fewer words are left.
    pub(crate) fn skip(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.next_word()?;
        }
        Some(())
    }
}

/// The number of decimal digits up to which every number fits in 64 bits.
const SAFE_DIGITS: usize = 19;

fn after_blanks(mut text: &[u8]) -> &[u8] {
    while let [byte, behind @ ..] = text {
        if !is_blank(*byte) {
            break;
        }
        text = behind;
    }
    text
}

/// The last position of a byte; `None` if the text does not contain it. The text is examined 16
/// bytes at a time.
fn last_place(text: &[u8], byte: u8) -> Option<usize> {
    let mut end = text.len();
    for part in text.rchunks(16) {
        end -= part.len();
        if part.iter().fold(false, |found, other| found | (*other == byte)) {
            return part.iter().rposition(|other| *other == byte).map(|at| end + at);
        }
    }
    None
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\n' || byte == b'\t'
}

/// The complete lines, each with its end, and whether an incomplete line follows.
pub(crate) fn whole_lines(text: &[u8]) -> (impl Iterator<Item = &[u8]>, bool) {
    let end = last_place(text, b'\n').map_or(0, |at| at + 1);
    let (whole, rest) = text.split_at(end);
    (whole.split_inclusive(|byte| *byte == b'\n'), !rest.is_empty())
}

/// The fields of `/proc/PID/stat` and `/proc/PID/task/TID/stat` that counters need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    /// The name, which may contain any bytes but 0.
    pub(crate) name: &'a [u8],
    pub(crate) state: u8,
    pub(crate) parent: u64,
    pub(crate) flags: u64,
    /// The number of minor and major page faults, without those of children.
    pub(crate) faults: u64,
    /// The number of major page faults.
    pub(crate) major_faults: u64,
    /// The time in user mode, in ticks.
    pub(crate) user: u64,
    /// The time in the kernel, in ticks.
    pub(crate) kernel: u64,
    pub(crate) threads: u64,
    /// The time of the start, in ticks since the start of the machine.
    pub(crate) start: u64,
    pub(crate) virtual_bytes: u64,
}

/// The bit of [`Stat::flags`] that marks a thread of the kernel.
pub(crate) const PF_KTHREAD: u64 = 0x0020_0000;
/// The bit of [`Stat::flags`] that marks a thread that is about to end, before it becomes a zombie.
pub(crate) const PF_EXITING: u64 = 0x0000_0004;

impl<'a> Stat<'a> {
    /// Parses the text of `stat`; `None` if it is invalid. The name may contain blanks, parentheses
    /// and line ends: it ends at the last closing parenthesis.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = last_place(text, b')')?;
        let name = text.get(open + 1..close)?;
        let mut words = Words::new(text.get(close + 1..)?);
        let [state] = *words.next_word()? else {
            return None;
        };
        let parent = words.number()?;
        words.skip(4)?;
        let flags = words.number()?;
        let minor = words.number()?;
        words.skip(1)?;
        let major = words.number()?;
        words.skip(1)?;
        let user = words.number()?;
        let kernel = words.number()?;
        words.skip(4)?;
        let threads = words.number()?;
        words.skip(1)?;
        let start = words.number()?;
        let virtual_bytes = words.number()?;
        Some(Self {
            name,
            state,
            parent,
            flags,
            faults: minor.wrapping_add(major),
            major_faults: major,
            user,
            kernel,
            threads,
            start,
            virtual_bytes,
        })
    }
}

/// The scheduling of a thread: the later fields of `/proc/PID/stat`, parsed only on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// The nice value (−20 to 19) plus 20.
    pub(crate) nice_level: u64,
    /// The number of the processor on which the thread runs or ran last.
    pub(crate) processor: u64,
    /// The real-time priority, 1 to 99; 0 for a thread without one.
    pub(crate) real_time: u64,
    pub(crate) policy: u64,
    /// The ticks that the thread waited for block devices; `None` if the text ends before this field.
    pub(crate) delay: Option<u64>,
}

impl Schedule {
    /// Parses the text of `stat`; `None` if it is invalid.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let close = text.iter().rposition(|byte| *byte == b')')?;
        let mut words = Words::new(text.get(close + 1..)?);
        words.skip(16)?;
        let nice_level = match words.next_word()? {
            [b'-', digits @ ..] => 20u64.checked_sub(number(digits)?)?,
            digits => number(digits)?.saturating_add(20),
        };
        words.skip(19)?;
        let processor = words.number()?;
        let real_time = words.number()?;
        let policy = words.number()?;
        Some(Self { nice_level, processor, real_time, policy, delay: words.number() })
    }
}

/// The time for which a thread was ready but had no processor, in nanoseconds, from the text of
/// `/proc/PID/schedstat`; `None` if the text is invalid.
pub(crate) fn waiting(schedstat: &[u8]) -> Option<u64> {
    let mut words = Words::new(schedstat);
    words.number()?;
    words.number()
}

/// The sizes in `/proc/PID/statm`, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statm {
    pub(crate) size: u64,
    pub(crate) resident: u64,
    pub(crate) shared: u64,
    /// The size of the private writable mappings, including the stack.
    pub(crate) data: u64,
}

impl Statm {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut words = Words::new(text);
        let size = words.number()?;
        let resident = words.number()?;
        let shared = words.number()?;
        words.skip(2)?;
        Some(Self { size, resident, shared, data: words.number()? })
    }
}

/// The counts in `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Io {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// The bytes read from storage, the bytes written to it, and the written bytes that were cancelled before
    /// they reached it; `None` unless the file has all three.
    pub(crate) storage: Option<[u64; 3]>,
}

/// The first words of the lines of `io`, in the kernel's order.
const IO_KEYS: [&[u8]; 7] = [
    b"rchar:",
    b"wchar:",
    b"syscr:",
    b"syscw:",
    b"read_bytes:",
    b"write_bytes:",
    b"cancelled_write_bytes:",
];

impl Io {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let values = in_order(text, IO_KEYS).unwrap_or_else(|| keyed(text, IO_KEYS));
        let [Some(read_bytes), Some(written_bytes), Some(reads), Some(writes), read, write, less] =
            values
        else {
            return None;
        };
        let storage = match (read, write, less) {
            (Some(read), Some(write), Some(less)) => Some([read, write, less]),
            _ => None,
        };
        Some(Self { read_bytes, written_bytes, reads, writes, storage })
    }
}

/// The peaks of virtual and resident memory, and the swapped memory, from `/proc/PID/status`, in
/// bytes; `None` for a missing line, as of a process without memory of its own.
pub(crate) fn memory_of_status(status: &[u8]) -> [Option<u64>; 3] {
    keyed(status, [b"VmPeak:", b"VmHWM:", b"VmSwap:"]).map(|kib| kib.map(kib_to_bytes))
}

/// The numbers of voluntary and involuntary context switches in a thread's `status`; `None` if they are missing.
pub(crate) fn switches(status: &[u8]) -> Option<[u64; 2]> {
    let keys = [&b"voluntary_ctxt_switches:"[..], b"nonvoluntary_ctxt_switches:"];
    let [Some(voluntary), Some(others)] = keyed(status, keys) else {
        return None;
    };
    Some([voluntary, others])
}

/// Converts kibibytes, which the kernel calls kB, to bytes.
pub(crate) fn kib_to_bytes(kib: u64) -> u64 {
    kib.saturating_mul(1024)
}

/// The result of [`keyed`] for a text that begins with exactly these lines in this order; `None` for
/// any other text. It takes one comparison for each line, where [`keyed`] takes more.
fn in_order<const N: usize>(text: &[u8], keys: [&[u8]; N]) -> Option<[Option<u64>; N]> {
    let mut values = [None; N];
    let mut rest = text;
    for (key, value) in keys.iter().zip(&mut values) {
        rest = rest.strip_prefix(*key)?;
        let mut words =
            Words::new(rest.first().is_some_and(|byte| is_blank(*byte)).then_some(rest)?);
        *value = Some(words.number()?);
        rest = words.rest.strip_prefix(b"\n")?;
    }
    Some(values)
}

/// The numbers that follow these words at the beginnings of complete lines, in the order of the
/// words; `None` for a line that is missing or has no number. If several lines with a number begin
/// with the same word, the first is used.
pub(crate) fn keyed<const N: usize>(text: &[u8], keys: [&[u8]; N]) -> [Option<u64>; N] {
    let mut values = [None; N];
    fill_keyed(text, &keys, &mut values);
    values
}

/// Sets the values of [`keyed`]. It is a function of its own so that it is compiled only once, not for
/// each `N`.
fn fill_keyed(text: &[u8], keys: &[&[u8]], values: &mut [Option<u64>]) {
    let mut missing = keys.len();
    for line in whole_lines(text).0 {
        for (key, value) in keys.iter().zip(values.iter_mut()) {
            if value.is_none()
                && let Some(rest) = line.strip_prefix(*key)
                && rest.first().is_some_and(|byte| is_blank(*byte))
            {
                *value = Words::new(rest).number();
                missing -= usize::from(value.is_some());
            }
        }
        if missing == 0 {
            break;
        }
    }
}

/// The contents of `/proc/loadavg`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    /// The load averages over 1, 5 and 15 minutes.
    pub(crate) averages: [f64; 3],
    /// The number of all threads of the machine: the number behind the slash.
    pub(crate) threads: u64,
}

impl Load {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut words = Words::new(text);
        let mut averages = [0.0; 3];
        for average in &mut averages {
            *average = hundredths(words.next_word()?)? as f64 / 100.0;
        }
        let word = words.next_word()?;
        let slash = word.iter().position(|byte| *byte == b'/')?;
        Some(Self { averages, threads: number(word.get(slash + 1..)?)? })
    }
}

/// A number with two decimals, multiplied by 100; `None` for another text.
pub(crate) fn hundredths(word: &[u8]) -> Option<u64> {
    let dot = word.iter().position(|byte| *byte == b'.')?;
    let decimals = word.get(dot + 1..)?;
    let (whole, part) = (number(word.get(..dot)?)?, number(decimals)?);
    (decimals.len() == 2).then(|| whole.saturating_mul(100).saturating_add(part))
}

/// Writes bytes into `out` as UTF-16: valid UTF-8 is decoded, and each other byte becomes the lone surrogate
/// 0xDC00 + byte, so that different names stay different.
pub(crate) fn utf16_name(bytes: &[u8], out: &mut Vec<u16>) {
    out.clear();
    if bytes.is_ascii() {
        out.extend(bytes.iter().copied().map(u16::from));
        return;
    }
    for chunk in bytes.utf8_chunks() {
        out.extend(chunk.valid().encode_utf16());
        out.extend(chunk.invalid().iter().map(|byte| 0xDC00 + u16::from(*byte)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = " S 1 2 3 0 -1 4194560 100 5 7 9 250 50 1 2 20 0 4 0 9000 8192000 77 18";

    #[test]
    fn stat_with_names_that_look_like_more() {
        for name in ["cat", "a b", "a) S 1 (b", ")", "(", "", "x\ny", "%s{}"] {
            let text = format!("12 ({name}){TAIL}\n");
            let stat = Stat::parse(text.as_bytes()).unwrap();
            assert_eq!(stat.name, name.as_bytes());
            assert_eq!((stat.state, stat.parent, stat.flags), (b'S', 1, 4_194_560));
            assert_eq!((stat.faults, stat.user, stat.kernel), (107, 250, 50));
            assert_eq!((stat.threads, stat.start, stat.virtual_bytes), (4, 9000, 8_192_000));
        }
    }

    #[test]
    fn damaged_stat_is_refused_whole() {
        let text = format!("12 (cat){TAIL}\n");
        // A text cut off behind the last needed field is valid.
        let needed = text.find(" 77 ").unwrap() + 1;
        for end in 0..needed {
            assert_eq!(Stat::parse(&text.as_bytes()[..end]), None, "{end}");
        }
        assert!(Stat::parse(&text.as_bytes()[..needed]).is_some());
        for (good, bad) in [("250", "25x"), ("9000", "-9"), (" S ", " SS "), ("(cat)", "cat")] {
            assert_eq!(Stat::parse(text.replace(good, bad).as_bytes()), None, "{bad}");
        }
        let large = text.replace("8192000", "99999999999999999999999");
        assert_eq!(Stat::parse(large.as_bytes()).unwrap().virtual_bytes, u64::MAX);
    }

    #[test]
    fn schedules() {
        let text = |nice: &str| {
            let tail = TAIL.replace(" 20 0 4 ", &format!(" 20 {nice} 4 "));
            format!("12 (a) b){tail} 1 1 0 0 0 0 0 0 0 0 0 0 17 3 50 2 70 0 0\n")
        };
        let parsed =
            Schedule { nice_level: 20, processor: 3, real_time: 50, policy: 2, delay: Some(70) };
        assert_eq!(Schedule::parse(text("0").as_bytes()), Some(parsed));
        for (nice, nice_level) in [("-20", Some(0)), ("19", Some(39)), ("-21", None), ("x", None)] {
            let schedule = Schedule::parse(text(nice).as_bytes());
            assert_eq!(schedule.map(|schedule| schedule.nice_level), nice_level, "{nice}");
        }
        let whole = text("0");
        let old = whole.replace(" 70 0 0", "");
        assert_eq!(Schedule::parse(old.as_bytes()), Some(Schedule { delay: None, ..parsed }));
        assert_eq!(Schedule::parse(&old.as_bytes()[..old.len() - 1]), None);
        assert_eq!(waiting(b"1046 50172 1\n"), Some(50_172));
        assert_eq!(waiting(b"1046 501"), None);
    }

    #[test]
    fn small_files() {
        let statm = Statm::parse(b"59700 2406 1291 360 0 7274 0\n").unwrap();
        assert_eq!((statm.resident, statm.shared, statm.data), (2406, 1291, 7274));
        assert_eq!(Statm::parse(b"59700 2406 1291 360 0 7274"), None);
        let io = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n";
        let parsed = Io { read_bytes: 1, written_bytes: 2, reads: 3, writes: 4, storage: None };
        assert_eq!(Io::parse(io), Some(parsed));
        // In any order, and in the kernel's.
        let (write, less) = (&b"write_bytes: 6\n"[..], &b"cancelled_write_bytes: 7\n"[..]);
        let whole = Some(Io { storage: Some([5, 6, 7]), ..parsed });
        assert_eq!(Io::parse(&[io, write, less].concat()), whole);
        assert_eq!(Io::parse(&[less, write, io].concat()), whole);
        let damaged = [io, write, b"cancelled_write_bytes: -\n"].concat();
        assert_eq!(Io::parse(&damaged), Some(parsed));
        assert_eq!(Io::parse(&io[..35]), None);
        let shuffled = b"x: 1\nsyscw: 4\nrchar: 1\nwchar:\t2\nsyscr: 3\n";
        assert_eq!(Io::parse(shuffled), Some(parsed));
        assert_eq!(Io::parse(b"rchar:1\nwchar: 2\nsyscr: 3\nsyscw: 4\n"), None);
        for end in 0..36 {
            assert_eq!(Io::parse(&io[..end]), None, "{end}");
        }
        assert_eq!(Io::parse(b"rchar: 1\nwchar: x\nsyscr: 3\nsyscw: 4\n"), None);
        let load = Load { averages: [2.01, 11.1, 0.69], threads: 108 };
        assert_eq!(Load::parse(b"2.01 11.10 0.69 3/108 20052\n"), Some(load));
        for bad in ["2.01 1.11 0.69 3/10", "2.0 1.11 0.69 3/10 5\n", "2 1 0 3/10 5\n", ""] {
            assert_eq!(Load::parse(bad.as_bytes()), None, "{bad}");
        }
        let status = b"Name:\tVmPeak: 1\nVmPeak:\t   19364 kB\nVmHWM:\t    1540 kB\n";
        assert_eq!(memory_of_status(status), [Some(19364 * 1024), Some(1540 * 1024), None]);
        assert_eq!(memory_of_status(b"VmSwap:\t  3 kB\n"), [None, None, Some(3072)]);
        let status = b"voluntary_ctxt_switches:\t945\nnonvoluntary_ctxt_switches:\t49\n";
        assert_eq!(switches(status), Some([945, 49]));
        assert_eq!(switches(&status[..40]), None);
    }

    #[test]
    fn names_keep_every_byte_apart() {
        let mut units = Vec::new();
        let mut name = |bytes: &[u8]| {
            utf16_name(bytes, &mut units);
            units.clone()
        };
        assert_eq!(name(b"cat"), [99, 97, 116]);
        assert_eq!(name("ä🦀".as_bytes()), [0xe4, 0xd83e, 0xdd80]);
        assert_eq!(name(b"a\xffb\xfe"), [97, 0xdcff, 98, 0xdcfe]);
        // The first bytes of a character that was cut off, since the kernel limits a name to 15 bytes.
        assert_eq!(name(b"a\xf0\x9f\xa6"), [97, 0xdcf0, 0xdc9f, 0xdca6]);
        assert_ne!(name(b"\xff"), name(b"\xfe"));
    }

    #[test]
    fn numbers_saturate_and_other_words_are_skipped() {
        let mut words = Words::new(b" 0 \t18446744073709551615 99999999999999999999 x7 0012\n 5");
        let all: Vec<_> = (0..7).map(|_| words.number()).collect();
        // A line without a number as its value is skipped; an incomplete line does not count.
        let expected = [Some(0), Some(u64::MAX), Some(u64::MAX), None, Some(12), None, None];
        assert_eq!(all, expected);
        for text in ["", " ", "7", " \n\t"] {
            assert_eq!(Words::new(text.as_bytes()).number(), None, "{text:?}");
            assert_eq!(Words::new(text.as_bytes()).skip(1), None, "{text:?}");
        }
    }

    #[test]
    fn last_place_finds_the_byte_at_every_position() {
        for length in 0..70 {
            let mut text = vec![b'x'; length];
            assert_eq!(last_place(&text, b')'), None);
            for at in 0..length {
                text[at] = b')';
                assert_eq!(last_place(&text, b')'), Some(at), "{at} of {length}");
            }
        }
    }

    #[test]
    fn numbers_saturate_and_signs_points_and_exponents_are_refused() {
        assert_eq!(number(b"18446744073709551616"), Some(u64::MAX));
        for bad in ["", "-1", "+1", "1.0", "0x1", "1e3"] {
            assert_eq!(number(bad.as_bytes()), None, "{bad}");
        }
    }
}
