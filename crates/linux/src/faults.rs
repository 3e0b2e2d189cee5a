//! The faults of one collection, kept until the object at hand is written.

use crate::parse::keyed;
use perfhive_engine::ObjectWriter;
use perfhive_format::TitleIndex;
use rustix::io::Errno;
use std::ffi::CStr;

/// Faults of instances that are reported one by one; of more, only the number:
/// where descriptors run out, every process has the same one.
const SINGLE: usize = 16;

/// Collected faults of one object.
#[derive(Default)]
pub(crate) struct Faults {
    list: Vec<(Option<String>, String)>,
    /// Instance faults, those beyond the limit included.
    instances: usize,
}

impl Faults {
    /// A fault of the whole object.
    pub(crate) fn object(&mut self, message: String) {
        self.list.push((None, message));
    }

    /// A fault of one instance. `what` makes the instance's name and the
    /// message, and runs only where the fault is reported by itself.
    pub(crate) fn instance(&mut self, what: impl FnOnce() -> (String, String)) {
        self.instances += 1;
        if self.instances <= SINGLE {
            let (instance, message) = what();
            self.list.push((Some(instance), message));
        }
    }

    /// Reports everything and forgets it.
    pub(crate) fn report(&mut self, object: u32, out: &mut ObjectWriter<'_>) {
        self.tell(object, out);
        self.clear();
    }

    /// Reports everything, of an object that is not the only one concerned.
    pub(crate) fn tell(&self, object: u32, out: &mut ObjectWriter<'_>) {
        for (instance, message) in &self.list {
            out.fault(TitleIndex(object), instance.as_deref(), message);
        }
        if self.instances > SINGLE {
            let more = self.instances - SINGLE;
            let message = format!("{more} more instances could not be read in full");
            out.fault(TitleIndex(object), None, &message);
        }
    }

    /// Whether nothing went wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.instances == 0
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.instances = 0;
    }
}

/// What the system says about an error.
pub(crate) fn describe(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

/// Whether a file cannot be read because of who asks.
pub(crate) fn is_denied(error: Errno) -> bool {
    matches!(error, Errno::ACCESS | Errno::PERM)
}

/// Whether a file is not there, or its process is not there any more.
pub(crate) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::SRCH)
}

/// Reports that a file could not be read.
pub(crate) fn unreadable(file: &CStr, error: Errno, faults: &mut Faults) {
    faults.object(format!("{}: {}", file.to_string_lossy(), describe(error)));
}

/// The numbers of lines that begin with these words. A line that is not there
/// is no fault; one without a whole number is, and so is a text that was cut off.
pub(crate) fn numbers<const N: usize>(
    file: &CStr,
    text: &[u8],
    keys: [&[u8]; N],
    faults: &mut Faults,
) -> [Option<u64>; N] {
    let values = keyed(text, keys);
    let is_line = |line: &[u8], key: &[u8]| {
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
    };
    for (key, value) in keys.iter().zip(values) {
        let mut lines = text.split(|byte| *byte == b'\n');
        if value.is_none() && lines.any(|line| is_line(line, key)) {
            let (file, key) = (file.to_string_lossy(), String::from_utf8_lossy(key));
            faults.object(format!("{file}: {} has no number", key.trim_end_matches(':')));
        }
    }
    // What is behind the last line end is no line: unless it was named already, it
    // is not known what is missing.
    let rest = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if !rest.is_empty() && !keys.iter().any(|key| is_line(rest, key)) {
        faults.object(format!("{}: ends in the middle of a line", file.to_string_lossy()));
    }
    values
}
