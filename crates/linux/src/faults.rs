//! The faults of a collection, kept until their object is written.

use crate::parse::keyed;
use perfhive_engine::ObjectWriter;
use perfhive_format::TitleIndex;
use rustix::io::Errno;
use std::ffi::CStr;
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::OnceLock;

/// The most faults of instances that are reported one by one for an object in a collection. Of
/// further faults only the number is reported: if descriptors run out, every process has the same
/// fault.
const SINGLE: usize = 16;

/// The collected faults of one object. Their texts stay in one buffer, so that a fault
/// that recurs allocates nothing.
#[derive(Default)]
pub(crate) struct Faults {
    text: String,
    /// The ranges in `text` of the instance's name, if the fault is of an instance, and of the
    /// message.
    list: Vec<(Option<Range<usize>>, Range<usize>)>,
    /// The number of instance faults, including those beyond [`SINGLE`].
    instances: usize,
}

impl Faults {
    /// Adds a fault of the whole object.
    pub(crate) fn object(&mut self, message: impl fmt::Display) {
        self.add(None, &message);
    }

    /// Adds a fault of one instance; the text is made only for the first [`SINGLE`] such faults.
    pub(crate) fn instance(&mut self, name: impl fmt::Display, message: impl fmt::Display) {
        self.instances += 1;
        if self.instances <= SINGLE {
            self.add(Some(&name), &message);
        }
    }

    #[cold]
    fn add(&mut self, name: Option<&dyn fmt::Display>, message: &dyn fmt::Display) {
        let entry = (name.map(|name| self.put(name)), self.put(message));
        self.list.push(entry);
    }

    fn put(&mut self, words: &dyn fmt::Display) -> Range<usize> {
        let start = self.text.len();
        // Writing to a string does not fail; only a `Display` could.
        let _ = write!(self.text, "{words}");
        start..self.text.len()
    }

    /// Reports all faults as faults of an object, and removes them.
    pub(crate) fn report(&mut self, object: u32, out: &mut ObjectWriter<'_>) {
        self.tell(object, out);
        self.clear();
    }

    /// Reports all faults as faults of an object, and keeps them to be reported for other objects,
    /// too.
    pub(crate) fn tell(&mut self, object: u32, out: &mut ObjectWriter<'_>) {
        let more = self.instances.saturating_sub(SINGLE);
        let more = (more > 0)
            .then(|| self.put(&format_args!("{more} more instances could not be read in full")));
        let words = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        for (instance, message) in &self.list {
            out.fault(TitleIndex(object), instance.as_ref().map(words), words(message));
        }
        if let Some(message) = more {
            out.fault(TitleIndex(object), None, words(&message));
        }
    }

    /// Whether there is no fault.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.instances == 0
    }

    /// Removes all faults.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.list.clear();
        self.instances = 0;
    }
}

/// The system's text for an error number; `an unknown error` for a number beyond those of Linux.
/// Each text is looked up once.
pub(crate) fn describe(error: Errno) -> &'static str {
    /// The number of error numbers that are kept with their texts: those of Linux, and 0.
    const MOST: usize = 134;
    static WORDS: [OnceLock<String>; MOST] = [const { OnceLock::new() }; MOST];
    let known = usize::try_from(error.raw_os_error()).ok().and_then(|code| WORDS.get(code));
    known.map_or("an unknown error", |words| {
        words.get_or_init(|| format!("{}", std::io::Error::from(error)))
    })
}

/// Whether an error means that the permission is missing.
pub(crate) fn is_denied(error: Errno) -> bool {
    matches!(error, Errno::ACCESS | Errno::PERM)
}

/// Whether an error means that a file does not exist, or that the process to which it belongs has
/// ended.
pub(crate) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::SRCH)
}

/// Shows a path or name; each invalid part is shown as U+FFFD.
pub(crate) struct Text<'a, T: ?Sized>(pub(crate) &'a T);

impl fmt::Display for Text<'_, [u8]> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.utf8_chunks().try_for_each(|chunk| {
            f.write_str(chunk.valid())?;
            if chunk.invalid().is_empty() { Ok(()) } else { f.write_char('\u{FFFD}') }
        })
    }
}

impl fmt::Display for Text<'_, [u16]> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut units = char::decode_utf16(self.0.iter().copied());
        units.try_for_each(|unit| f.write_char(unit.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

impl fmt::Display for Text<'_, CStr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text(self.0.to_bytes()).fmt(f)
    }
}

/// Adds the fault that a file could not be read.
pub(crate) fn unreadable(file: &CStr, error: Errno, faults: &mut Faults) {
    faults.object(format_args!("{}: {}", Text(file), describe(error)));
}

/// The values of the lines that begin with these words, in the order of the words; `None` for a
/// missing line, which is not a fault. A line with one of the words but no complete number is a
/// fault, and so is a text that ends within a line.
pub(crate) fn numbers<const N: usize>(
    file: &CStr,
    text: &[u8],
    keys: [&[u8]; N],
    faults: &mut Faults,
) -> [Option<u64>; N] {
    let values = keyed(text, keys);
    missing_numbers(file, text, &keys, &values, faults);
    values
}

/// Adds the faults of lines without a number and of a text that ends within a line, as [`numbers`]
/// says.
fn missing_numbers(
    file: &CStr,
    text: &[u8],
    keys: &[&[u8]],
    values: &[Option<u64>],
    faults: &mut Faults,
) {
    let is_line = |line: &[u8], key: &[u8]| {
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
    };
    for (key, value) in keys.iter().zip(values) {
        let mut lines = text.split(|byte| *byte == b'\n');
        if value.is_none() && lines.any(|line| is_line(line, key)) {
            let key = String::from_utf8_lossy(key.strip_suffix(b":").unwrap_or(key));
            faults.object(format_args!("{}: {key} has no number", Text(file)));
        }
    }
    // The text behind the last line end is an incomplete line. Unless it begins with one of the words,
    // it is unknown which line it is.
    let rest = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if !rest.is_empty() && !keys.iter().any(|key| is_line(rest, key)) {
        faults.object(format_args!("{}: ends in the middle of a line", Text(file)));
    }
}
