//! Parsers for the lines of `/proc/PID/maps` and `smaps`, and for `syscall`.

use crate::parse::number;

/// The number of protections that a mapping may have in Windows.
pub(super) const PROTECTIONS: usize = 8;

/// A mapping of a process: the addresses from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping<'a> {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The position among Windows' protections: no access, read only, read/write, write copy, and the
    /// same four with execution.
    pub(super) protection: usize,
    pub(super) is_shared: bool,
    pub(super) is_executable: bool,
    /// The path of the mapped file, as the kernel writes it; `None` for a mapping without a file.
    pub(super) file: Option<&'a [u8]>,
}

impl<'a> Mapping<'a> {
    /// Parses a line of `maps`, which must include its line end; `None` for an invalid line.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        let (range, rest) = word(line)?;
        let dash = range.iter().position(|byte| *byte == b'-')?;
        let (start, end) = (hexadecimal(range.get(..dash)?)?, hexadecimal(range.get(dash + 1..)?)?);
        if end < start {
            return None;
        }
        let (&[read, write, execute, sharing], rest) = word(rest)? else {
            return None;
        };
        let flag = |byte, set| match byte {
            b'-' => Some(false),
            _ if byte == set => Some(true),
            _ => None,
        };
        let (read, write) = (flag(read, b'r')?, flag(write, b'w')?);
        let is_executable = flag(execute, b'x')?;
        let is_shared = match sharing {
            b's' => true,
            b'p' => false,
            _ => return None,
        };
        let (offset, rest) = word(rest)?;
        hexadecimal(offset)?;
        let (_, rest) = word(rest)?;
        // The inode is followed by blanks and, if there is one, the name, which may end
        // with blanks.
        let (inode, rest) = word(rest)?;
        let inode = number(inode)?;
        let name = rest.trim_ascii_start();
        let is_file = match name.first() {
            None | Some(b'[') => false,
            Some(b'/') => true,
            Some(_) => inode != 0,
        };
        let file = is_file.then_some(name);
        let access = match (read, write) {
            (false, false) => 0,
            (true, false) => 1,
            (_, true) if is_shared || file.is_none() => 2,
            (_, true) => 3,
        };
        let protection = access + if is_executable { 4 } else { 0 };
        Some(Self { start, end, protection, is_shared, is_executable, file })
    }
}

/// Whether a line of `smaps` begins a mapping. Lines with a mapping's numbers begin with a capital
/// letter.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.first().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The first word of a text, and the text behind the blank that follows; `None` if the text begins
/// with a blank or is empty.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(length)?;
    (!word.is_empty()).then(|| (word, rest.get(1..).unwrap_or_default()))
}

/// A hexadecimal number as the kernel writes it, without a prefix; `None` for another text, or for
/// more than 16 digits.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
}

/// Writes a path into `out`, with a line feed in place of each `\012` that the kernel wrote for it.
pub(super) fn unescape(path: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = path;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escaped) = rest.split_at(at);
        out.extend_from_slice(before);
        match escaped.strip_prefix(b"\\012") {
            Some(behind) => {
                out.push(b'\n');
                rest = behind;
            }
            None => {
                out.push(b'\\');
                rest = escaped.get(1..).unwrap_or_default();
            }
        }
    }
    out.extend_from_slice(rest);
}

/// The state of a thread, as `/proc/PID/task/TID/syscall` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadState {
    /// The thread waits; its instruction pointer has this address.
    At(u64),
    /// The thread runs or is about to run.
    Running,
    /// The thread belongs to the kernel, or has ended.
    Nowhere,
}

/// The state of a thread, from the text of `syscall`; `None` for an invalid text.
pub(super) fn thread_state(text: &[u8]) -> Option<ThreadState> {
    let line = text.strip_suffix(b"\n")?;
    if line == b"running" {
        return Some(ThreadState::Running);
    }
    let mut words = line.split(|byte| *byte == b' ');
    let last = words.next_back()?;
    // The number of the system call, or -1, comes first; at least the stack pointer follows.
    let call = words.next()?;
    number(call.strip_prefix(b"-").unwrap_or(call))?;
    words.next()?;
    match hexadecimal(last.strip_prefix(b"0x")?)? {
        0 => Some(ThreadState::Nowhere),
        address => Some(ThreadState::At(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "7f00-7f20 r-xp 00001000 fe:00 42                     /lib/a b.so\n";

    fn mapping(line: &str) -> Option<Mapping<'_>> {
        Mapping::parse(line.as_bytes())
    }

    #[test]
    fn lines_of_files_and_others() {
        let whole = mapping(LINE).unwrap();
        assert_eq!((whole.start, whole.end, whole.protection), (0x7f00, 0x7f20, 5));
        assert_eq!(whole.file, Some(&b"/lib/a b.so"[..]));
        assert!(whole.is_executable && !whole.is_shared);
        let of = |name: &str| {
            let line = format!("1000-2000 rw-p 00000000 00:00 {name}\n");
            let found = mapping(&line).unwrap();
            (found.file.map(<[u8]>::to_vec), found.protection)
        };
        assert_eq!(of("0 "), (None, 2));
        assert_eq!(of("0"), (None, 2));
        assert_eq!(of("0     [heap]"), (None, 2));
        assert_eq!(of("0     [anon: a /b]"), (None, 2));
        assert_eq!(of("7     anon_inode:[io_uring]"), (Some(b"anon_inode:[io_uring]".to_vec()), 3));
        assert_eq!(of("0     /x "), (Some(b"/x ".to_vec()), 3));
        assert_eq!(of("9     /a\\012b (deleted)").0.unwrap(), b"/a\\012b (deleted)");
    }

    #[test]
    fn every_protection() {
        let of = |perms: &str, name: &str| {
            mapping(&format!("0-1 {perms} 0 0:0 1 {name}\n")).map(|found| found.protection)
        };
        let cases = [
            ("---p", 0),
            ("---s", 0),
            ("r--p", 1),
            ("r--s", 1),
            ("rw-s", 2),
            ("-w-s", 2),
            ("rw-p", 3),
            ("-w-p", 3),
            ("--xp", 4),
            ("r-xs", 5),
            ("rwxs", 6),
            ("-wxs", 6),
            ("rwxp", 7),
        ];
        for (perms, protection) in cases {
            assert_eq!(of(perms, "/f"), Some(protection), "{perms}");
        }
        assert_eq!((of("rw-p", ""), of("rwxp", "")), (Some(2), Some(6)));
        for bad in ["rwx", "rwxpp", "wr-p", "r--x", "r--P"] {
            assert_eq!(of(bad, "/f"), None, "{bad}");
        }
    }

    #[test]
    fn damaged_lines_give_no_mapping() {
        // If a name is cut off, only the missing line end tells it from a shorter name.
        for end in 0..LINE.len() {
            assert_eq!(mapping(&LINE[..end]), None, "{end}");
        }
        let number = LINE.find("42").unwrap();
        for end in 0..number {
            assert_eq!(mapping(&format!("{}\n", &LINE[..end])), None, "{end}");
        }
        for (good, bad) in [
            ("7f00", "7F00"),
            ("7f20", "7e00"),
            ("7f20", "00000000000000001"),
            ("42", "4x"),
            ("42", "-1"),
        ] {
            assert_eq!(mapping(&LINE.replace(good, bad)), None, "{bad}");
        }
    }

    #[test]
    fn escapes() {
        let plain = |path: &[u8]| {
            let mut out = vec![1];
            unescape(path, &mut out);
            out
        };
        assert_eq!(plain(b"/a\\012b\\012"), b"/a\nb\n");
        assert_eq!(plain(b"\\\\012\\01\\"), b"\\\n\\01\\");
        assert_eq!(plain(b"/\xff [x]"), b"/\xff [x]");
    }

    #[test]
    fn places_of_threads() {
        assert_eq!(thread_state(b"running\n"), Some(ThreadState::Running));
        assert_eq!(
            thread_state(b"0 0x3 0x7f 0x2 0x7 0xf 0x0 0x7ffc 0x7f6ad\n"),
            Some(ThreadState::At(0x7f6ad))
        );
        assert_eq!(thread_state(b"-1 0x7ffc 0xab\n"), Some(ThreadState::At(0xab)));
        assert_eq!(
            thread_state(b"0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"),
            Some(ThreadState::Nowhere)
        );
        for bad in
            ["", "running", "0 0x1 0x2", "x 0x1 0x2\n", "0 0x1 2\n", "0x2\n", "0 0x1\n", "\n"]
        {
            assert_eq!(thread_state(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
