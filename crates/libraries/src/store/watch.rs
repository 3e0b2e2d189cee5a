//! Reading all hives, and noticing their changes.

use super::{HiveFile, Refusal, Trust, not_loaded_by_name};
use perfhive_contract::{RegisterFault, Registration, Registrations};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The registrations that a reader uses, and the faults of registrations that cannot be used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadHives {
    /// The providers, with their libraries' paths free of symbolic links.
    pub registrations: Arc<Registrations>,
    /// The registrations that were left out, and warnings.
    pub faults: Arc<[RegisterFault]>,
}

impl ReadHives {
    /// Reads hives, given with the machine's first. A damaged entry, or a file or library that
    /// another user could have written, is left out with a fault. So is a provider with the name or an
    /// index of a provider in an earlier hive.
    #[must_use]
    pub fn read(hives: &[HiveFile], trust: Trust) -> Self {
        let mut all = Registrations::none();
        let mut faults = Vec::new();
        for file in hives {
            match file.read_if_there(trust) {
                Ok(Some((hive, damaged))) => {
                    let reported = damaged.iter().chain(&hive.warnings);
                    faults.extend(reported.map(|fault| file.fault(fault)));
                    let place = file.path().display().to_string();
                    hive.add_to(&mut all, &place, &mut faults);
                }
                Ok(None) => {}
                Err(error) => {
                    let place = file.path().display().to_string();
                    // The message begins with the place as well.
                    let text = error.to_string();
                    let message = text.strip_prefix(&place).unwrap_or(&text).trim_start();
                    faults.push(RegisterFault::new(place, message));
                }
            }
        }
        all.providers.retain_mut(|one| match trust.open(&one.library) {
            Ok((_, path)) => {
                one.library = path;
                true
            }
            // Only root or the reader can create the missing library. Loading reports that it is
            // missing.
            Err(Refusal::NotFound) => true,
            Err(refusal) => {
                faults.push(not_loaded_by_name(one, &refusal));
                false
            }
        });
        Self { registrations: Arc::new(all), faults: faults.into() }
    }
}

/// The stamp of a hive's file, which changes when the file does: device, inode, times of change
/// and size. `None` if there is no file.
type HiveStamp = Option<(u64, u64, i64, i64, i64, i64, u64)>;

fn stamp(file: &HiveFile) -> HiveStamp {
    // The path is short enough for the stack: nothing is allocated.
    let meta = std::fs::metadata(file.path()).ok()?;
    Some((
        meta.dev(),
        meta.ino(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
        meta.size(),
    ))
}

/// Notices changes of the hives while a reader is at work.
#[derive(Debug)]
pub struct Watch {
    hives: Vec<HiveFile>,
    trust: Trust,
    stamps: Vec<HiveStamp>,
    looked: Option<Instant>,
    /// The time at which the hives were last read, if there were faults; `None` without faults.
    /// Hives with faults are read again after a time, because a corrected mode of a library or
    /// folder does not change the stamp of the hive.
    refused: Option<Instant>,
    /// The providers that the last read found, to compare the next read with.
    providers: Vec<Registration>,
    faults: Vec<RegisterFault>,
}

impl Watch {
    /// The least time between two looks at the hives' files.
    pub const EVERY: Duration = Duration::from_millis(500);
    /// The time after which all files are read again if the last read had faults.
    pub const AGAIN: Duration = Duration::from_secs(10);

    /// A watch over these hives, given with the machine's first.
    #[must_use]
    pub fn new(hives: Vec<HiveFile>, trust: Trust) -> Self {
        let stamps = vec![None; hives.len()];
        let (providers, faults) = (Vec::new(), Vec::new());
        Self { hives, trust, stamps, looked: None, refused: None, providers, faults }
    }

    /// All registrations if they may have changed since the last call, and on the first call.
    /// Examines the files at most every [`EVERY`](Self::EVERY). While they are unchanged, nothing is
    /// allocated, unless the last read had faults: then all files are read again every
    /// [`AGAIN`](Self::AGAIN).
    /// `None` if nothing changed, or if it is too early to examine the files.
    pub fn changed(&mut self) -> Option<ReadHives> {
        self.changed_at(Instant::now())
    }

    /// As [`changed`](Self::changed), at a given time.
    pub fn changed_at(&mut self, now: Instant) -> Option<ReadHives> {
        let first = match self.looked {
            Some(looked) if now.saturating_duration_since(looked) < Self::EVERY => return None,
            looked => looked.is_none(),
        };
        self.looked = Some(now);
        let mut other = false;
        // The stamp is taken before reading, so that a change meanwhile shows the next time.
        for (file, known) in self.hives.iter().zip(&mut self.stamps) {
            let stamp = stamp(file);
            other |= *known != stamp;
            *known = stamp;
        }
        let again = self.refused.is_some_and(|at| now.saturating_duration_since(at) >= Self::AGAIN);
        if !first && !other && !again {
            return None;
        }
        let loaded = ReadHives::read(&self.hives, self.trust);
        self.refused = (!loaded.faults.is_empty()).then_some(now);
        let same =
            self.providers == loaded.registrations.providers && self.faults == *loaded.faults;
        if !first && !other && same {
            return None;
        }
        self.providers.clone_from(&loaded.registrations.providers);
        self.faults = loaded.faults.to_vec();
        Some(loaded)
    }
}
