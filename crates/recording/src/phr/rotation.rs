//! The limits at which a recording begins a new file, and the removal of old files.

use crate::files::write_error;
use perfhive_engine::SourceError;
use perfhive_format::FileTime;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of characters of the time in the name of a finished file: `20261123T140500Z`.
const STAMP: usize = 16;

/// The limits at which a recording begins a new file. The finished file gets the time of its first
/// sample in its name: `today.phr` becomes `today-20261123T140500Z.phr`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rotation {
    /// The number of bytes at which a file is finished; `None` for no limit.
    pub bytes: Option<u64>,
    /// The time after the first sample at which a file is finished; `None` for no limit.
    pub time: Option<Duration>,
    /// The number of finished files that are kept; `None` keeps all of them. One that cannot be removed stays.
    pub keep: Option<usize>,
}

impl Rotation {
    /// Whether a file has reached a limit: by its length `bytes`, or by the time between its first sample (`begin`) and
    /// its next one (`next`), in either direction.
    pub(super) fn is_due(&self, bytes: u64, begin: FileTime, next: FileTime) -> bool {
        // In either direction: a clock that was set back would keep a file open until it reaches the old time again.
        let span = next.0.abs_diff(begin.0);
        let limit = |time: Duration| u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX);
        self.bytes.is_some_and(|limit| bytes >= limit)
            || self.time.is_some_and(|time| span >= limit(time))
    }

    /// Names a finished file after the time of its first sample, with a number from 2 on if that name is taken, and
    /// removes the oldest finished files beyond the number to keep.
    pub(super) fn finish(&self, path: &Path, begin: FileTime) -> Result<(), SourceError> {
        let failed = |cause: std::io::Error| write_error(path, &cause);
        let mut finished = dated(path, begin, 0);
        let mut number = 1;
        while finished.exists() {
            number += 1;
            finished = dated(path, begin, number);
        }
        fs::rename(path, &finished).map_err(failed)?;
        let Some(keep) = self.keep else { return Ok(()) };
        let all = finished_files(path).map_err(failed)?;
        let old = all.len().saturating_sub(keep);
        for file in all.into_iter().take(old) {
            // One that cannot be removed stays; the next rotation tries again.
            let _ = fs::remove_file(&file);
        }
        Ok(())
    }
}

/// The name that a finished file gets. With a `number` other than 0, the name has the number too.
fn dated(path: &Path, begin: FileTime, number: u32) -> PathBuf {
    let time = begin.to_system_time();
    let stamp = format!(
        "-{:04}{:02}{:02}T{:02}{:02}{:02}Z",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    );
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(stamp);
    if number > 0 {
        name.push(format!("-{number}"));
    }
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The finished files of a recording, with names that [`dated`] made, the oldest first.
fn finished_files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_stamp = |stamp: &str| {
        stamp.len() == STAMP
            && stamp.bytes().enumerate().all(|(at, byte)| match at {
                8 => byte == b'T',
                15 => byte == b'Z',
                _ => byte.is_ascii_digit(),
            })
    };
    let number = |rest: &str| match rest {
        "" => Some(0),
        rest => rest.strip_prefix('-')?.parse::<u32>().ok(),
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let file = entry.path();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let rest = name.strip_prefix(&stem).and_then(|rest| rest.strip_prefix('-'));
        let is_finished = rest.and_then(|rest| rest.split_at_checked(STAMP));
        if let Some((stamp, rest)) = is_finished
            && let Some(number) = number(rest)
            && file.extension() == path.extension()
            && is_stamp(stamp)
        {
            found.push((stamp.to_string(), number, file));
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, _, file)| file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_files_are_those_of_the_recording_alone_oldest_first() {
        let folder = std::env::temp_dir().join(format!("perfhive-rotation-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.phr");
        let begin = FileTime(128_315_940_386_596_596);
        let own = [0, 2, 10].map(|number| dated(&path, begin, number));
        assert!(own[1].ends_with("a-20070814T194038Z-2.phr"), "{own:?}");
        let others = ["a-2007.phr", "ab-20070814T194038Z.phr", "a-20070814T194038Z.csv", "a.phr"];
        let others = others.map(|name| folder.join(name));
        for file in own.iter().chain(&others) {
            fs::write(file, "").unwrap();
        }
        assert_eq!(finished_files(&path).unwrap(), own);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_is_full_by_bytes_or_by_time() {
        let second = FileTime::PER_SECOND;
        let by = |bytes, time| Rotation { bytes, time, keep: None };
        let minute = Some(Duration::from_secs(60));
        assert!(!Rotation::default().is_due(u64::MAX, FileTime(0), FileTime(i64::MAX)));
        assert!(by(Some(10), None).is_due(10, FileTime(0), FileTime(0)));
        assert!(by(None, minute).is_due(0, FileTime(0), FileTime(60 * second)));
        assert!(!by(Some(10), minute).is_due(9, FileTime(0), FileTime(60 * second - 1)));
        // The clock was set back: a little, and by an hour.
        assert!(!by(None, minute).is_due(0, FileTime(second), FileTime(0)));
        assert!(by(None, minute).is_due(0, FileTime(3600 * second), FileTime(0)));
    }
}
