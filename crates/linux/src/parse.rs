//! The texts of `/proc`, read as bytes.
//!
//! A number that does not fit saturates. A text that ends in the middle of a
//! number (a truncated file) must not pass as a smaller number: a number counts
//! only where a blank or line end follows it.

/// A decimal number, digits only; saturates.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number.saturating_mul(10).saturating_add(u64::from(digit)))
    })
}

/// Words separated by blanks.
pub(crate) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// The next word, with something behind it.
    fn next_word(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|byte| !is_blank(*byte))?;
        let rest = self.rest.get(start..)?;
        let length = rest.iter().position(|byte| is_blank(*byte))?;
        let (word, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(word)
    }

    /// The next word, a number.
    pub(crate) fn number(&mut self) -> Option<u64> {
        number(self.next_word()?)
    }

    /// The next word, a number, if there is another word at all.
    pub(crate) fn number_if_any(&mut self) -> Option<Option<u64>> {
        match self.rest.iter().all(|byte| is_blank(*byte)) {
            true => Some(None),
            false => self.number().map(Some),
        }
    }

    /// Passes over words.
    pub(crate) fn skip(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.next_word()?;
        }
        Some(())
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\n' || byte == b'\t'
}

/// Lines that are whole; the second part is whether something without a line
/// end was left over.
pub(crate) fn whole_lines(text: &[u8]) -> (impl Iterator<Item = &[u8]>, bool) {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (whole, rest) = text.split_at(end);
    (whole.split_inclusive(|byte| *byte == b'\n'), !rest.is_empty())
}

/// `/proc/PID/stat` and `/proc/PID/task/TID/stat`: what counters need of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    /// The name, any bytes but 0.
    pub(crate) name: &'a [u8],
    pub(crate) state: u8,
    pub(crate) parent: u64,
    pub(crate) flags: u64,
    /// Minor and major faults, without those of children.
    pub(crate) faults: u64,
    /// Ticks.
    pub(crate) user: u64,
    /// Ticks.
    pub(crate) kernel: u64,
    pub(crate) threads: u64,
    /// Ticks since the start of the machine.
    pub(crate) start: u64,
    pub(crate) virtual_bytes: u64,
}

/// Flag of a thread of the kernel in [`Stat::flags`].
pub(crate) const PF_KTHREAD: u64 = 0x0020_0000;

impl<'a> Stat<'a> {
    /// `None` where the text is not what it should be. The name may hold
    /// blanks, brackets and line ends: it ends at the last bracket.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')')?;
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
            user,
            kernel,
            threads,
            start,
            virtual_bytes,
        })
    }
}

/// `/proc/PID/statm`, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statm {
    pub(crate) resident: u64,
    pub(crate) shared: u64,
    /// Private writable mappings, the stack included.
    pub(crate) data: u64,
}

impl Statm {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut words = Words::new(text);
        words.number()?;
        let resident = words.number()?;
        let shared = words.number()?;
        words.skip(2)?;
        Some(Self { resident, shared, data: words.number()? })
    }
}

/// `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Io {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

impl Io {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let keys = [&b"rchar:"[..], b"wchar:", b"syscr:", b"syscw:"];
        let [Some(read_bytes), Some(written_bytes), Some(reads), Some(writes)] = keyed(text, keys)
        else {
            return None;
        };
        Some(Self { read_bytes, written_bytes, reads, writes })
    }
}

/// The peaks of `/proc/PID/status`, in bytes; absent where the process has no
/// memory of its own.
pub(crate) fn peaks(status: &[u8]) -> [Option<u64>; 2] {
    keyed(status, [b"VmPeak:", b"VmHWM:"]).map(|kib| kib.map(kib_to_bytes))
}

/// Voluntary and involuntary context switches of a thread's `status`.
pub(crate) fn switches(status: &[u8]) -> Option<u64> {
    let keys = [&b"voluntary_ctxt_switches:"[..], b"nonvoluntary_ctxt_switches:"];
    let [Some(voluntary), Some(others)] = keyed(status, keys) else {
        return None;
    };
    Some(voluntary.wrapping_add(others))
}

/// Kibibytes, which the kernel calls kB, in bytes.
pub(crate) fn kib_to_bytes(kib: u64) -> u64 {
    kib.saturating_mul(1024)
}

/// The numbers of whole lines that begin with these words. The first line of a
/// word counts.
pub(crate) fn keyed<const N: usize>(text: &[u8], keys: [&[u8]; N]) -> [Option<u64>; N] {
    let mut values = [None; N];
    let mut missing = N;
    for line in whole_lines(text).0 {
        for (key, value) in keys.iter().zip(&mut values) {
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
    values
}

/// The number of threads in `/proc/loadavg`: the part behind the slash.
pub(crate) fn threads_of_loadavg(text: &[u8]) -> Option<u64> {
    let mut words = Words::new(text);
    words.skip(3)?;
    let word = words.next_word()?;
    let slash = word.iter().position(|byte| *byte == b'/')?;
    number(word.get(slash + 1..)?)
}

/// Bytes as UTF-16: UTF-8 where it is valid, and each byte that is not, as the
/// lone surrogate 0xDC00 + byte, so that different names stay different.
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
    fn damaged_stat_is_no_smaller_stat() {
        let text = format!("12 (cat){TAIL}\n");
        // What is cut off behind the last field that counts does not matter.
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
    fn small_files() {
        let statm = Statm::parse(b"59700 2406 1291 360 0 7274 0\n").unwrap();
        assert_eq!((statm.resident, statm.shared, statm.data), (2406, 1291, 7274));
        assert_eq!(Statm::parse(b"59700 2406 1291 360 0 7274"), None);
        let io = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n";
        let parsed = Io { read_bytes: 1, written_bytes: 2, reads: 3, writes: 4 };
        assert_eq!(Io::parse(io), Some(parsed));
        assert_eq!(Io::parse(&io[..35]), None);
        assert_eq!(Io::parse(b"rchar: 1\nwchar: x\nsyscr: 3\nsyscw: 4\n"), None);
        assert_eq!(threads_of_loadavg(b"2.01 1.11 0.69 3/108 20052\n"), Some(108));
        assert_eq!(threads_of_loadavg(b"2.01 1.11 0.69 3/10"), None);
        let status = b"Name:\tVmPeak: 1\nVmPeak:\t   19364 kB\nVmHWM:\t    1540 kB\n";
        assert_eq!(peaks(status), [Some(19364 * 1024), Some(1540 * 1024)]);
        assert_eq!(peaks(b"Name:\tkthreadd\n"), [None, None]);
        let status = b"voluntary_ctxt_switches:\t945\nnonvoluntary_ctxt_switches:\t49\n";
        assert_eq!(switches(status), Some(994));
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
        // The beginning of a character that was cut off at 15 bytes.
        assert_eq!(name(b"a\xf0\x9f\xa6"), [97, 0xdcf0, 0xdc9f, 0xdca6]);
        assert_ne!(name(b"\xff"), name(b"\xfe"));
    }

    #[test]
    fn numbers() {
        assert_eq!(number(b"18446744073709551616"), Some(u64::MAX));
        for bad in ["", "-1", "+1", "1.0", "0x1", "1e3"] {
            assert_eq!(number(bad.as_bytes()), None, "{bad}");
        }
    }
}
