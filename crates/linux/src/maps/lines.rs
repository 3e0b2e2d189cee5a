//! A reader of long files of `/proc`, line by line, in a buffer of limited size.
//!
//! The kernel delivers such a file in pieces of whole lines, about a page each, and continues where
//! it stopped if each read begins where the last one ended. Between two reads the process runs on
//! and may change its mappings.

use crate::faults::describe;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, pread, retry_on_intr};
use std::fmt;

/// The size of the buffer in bytes: more than the longest line. The path in a line has at most 4095
/// bytes, each of which the kernel may write as four bytes.
const BUFFER: usize = 64 << 10;
/// The size in bytes at which reading a file fails. In `smaps`, so many bytes would be more than a
/// million mappings.
const TOO_LONG: u64 = 1 << 30;

const _: () = assert!(BUFFER > 4 * 4096);

/// The reason why a file was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The system reported this error.
    Error(Errno),
    /// A line is invalid, for this reason.
    Text(&'static str),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error(error) => describe(*error),
            Self::Text(text) => text,
        })
    }
}

/// A reader of lines, with one buffer.
#[derive(Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
}

impl Lines {
    /// Calls `each` with every line, its end included, until `each` returns an error; returns `false`
    /// if the file is empty.
    pub(super) fn read(
        &mut self,
        fd: &OwnedFd,
        mut each: impl FnMut(&[u8]) -> Result<(), Broken>,
    ) -> Result<bool, Broken> {
        if self.buffer.is_empty() {
            self.buffer.resize(BUFFER, 0);
        }
        let mut offset = 0;
        // The number of bytes of an incomplete line, which stand at the front of the buffer.
        let mut held = 0;
        loop {
            let rest = self.buffer.get_mut(held..).unwrap_or_default();
            if rest.is_empty() {
                return Err(Broken::Text("a line is too long"));
            }
            if offset >= TOO_LONG {
                return Err(Broken::Text("too long"));
            }
            let more = retry_on_intr(|| pread(fd, &mut *rest, offset)).map_err(Broken::Error)?;
            if more == 0 {
                return if held == 0 {
                    Ok(offset > 0)
                } else {
                    Err(Broken::Text("ends in the middle of a line"))
                };
            }
            offset += more as u64;
            let filled = self.buffer.get(..held + more).unwrap_or_default();
            let whole = filled.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            for line in filled.get(..whole).unwrap_or_default().split_inclusive(|b| *b == b'\n') {
                each(line)?;
            }
            held = held + more - whole;
            self.buffer.copy_within(whole..whole + held, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn lines_of(text: &[u8]) -> (Vec<Vec<u8>>, Result<bool, Broken>) {
        let name = format!("perfhive-lines-{}-{:p}", std::process::id(), text);
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        let mut found = Vec::new();
        let fd = OwnedFd::from(File::open(&path).unwrap());
        let read = Lines::default().read(&fd, |line| {
            found.push(line.to_vec());
            if line == b"stop\n" { Err(Broken::Text("stopped")) } else { Ok(()) }
        });
        std::fs::remove_file(&path).unwrap();
        (found, read)
    }

    #[test]
    fn lines_across_the_ends_of_the_buffer() {
        let text: String = (0..20_000).map(|at| format!("line {at}\n")).collect();
        let (found, read) = lines_of(text.as_bytes());
        assert_eq!(read, Ok(true));
        assert_eq!(found.len(), 20_000);
        assert_eq!(found.concat(), text.as_bytes());
        assert_eq!(lines_of(b""), (vec![], Ok(false)));
    }

    #[test]
    fn damaged_line_ends_the_reading() {
        let (found, read) = lines_of(b"one\ntw");
        assert_eq!((found.len(), read), (1, Err(Broken::Text("ends in the middle of a line"))));
        let (found, read) = lines_of(&[b'x'; BUFFER + 1]);
        assert_eq!((found.len(), read), (0, Err(Broken::Text("a line is too long"))));
        let (found, read) = lines_of(b"one\nstop\ntwo\n");
        assert_eq!((found.len(), read), (2, Err(Broken::Text("stopped"))));
        let pipe = OwnedFd::from(std::io::pipe().unwrap().0);
        let read = Lines::default().read(&pipe, |_| Ok(()));
        assert_eq!(read, Err(Broken::Error(Errno::SPIPE)));
    }
}
