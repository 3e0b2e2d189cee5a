//! The account of a provider, which outlives a reader: failures, pauses and quarantine, the objects
//! that the provider offers, and the times of its collections. All programs of a user share the
//! account through a file.
//!
//! Every failure is written at once: the file is locked, read, changed and replaced. Collections
//! are counted in memory and added every few seconds. If the file cannot be kept or locked, a
//! program goes on with its own account in memory.

mod file;
mod record;

use crate::hosting::describe::KnownObjects;
use crate::hosting::lock::lock;
use crate::hosting::options::HostOptions;
use crate::hosting::pause;
use file::{AccountFile, FileStamp};
use perfhive_contract::Registration;
use perfhive_engine::{Fault, FaultKind, ProviderState, ProviderStatus, TestLevel};
use record::{CollectionTally, Record, hash};
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

/// The number of failures in a row, or of readers' waits in vain in a row, that puts a provider
/// into quarantine, a state in which its library is not called.
const QUARANTINE_AFTER: u32 = 5;
/// The divisor of the usual patience for a provider for which a reader has waited in vain.
const PROBATION: u32 = 4;
/// The divisor by which the longest recent time of a call fades: each call subtracts from this time
/// the time itself divided by `FADES`.
const FADES: u32 = 64;
/// The least time between two writes that only add the tally of collections.
const WRITE_EVERY: Duration = Duration::from_secs(5);
/// The longest time that a write of the account that must not be lost, such as that of a failure,
/// waits for other programs that hold the lock. A reader's other writes do not wait.
const LOCK_PATIENCE: Duration = Duration::from_millis(100);

/// The identity of a library's file: device, inode, seconds and nanoseconds of the last change,
/// size. On Windows: 0, time of creation, time of the last change, 0, size.
pub(crate) type LibraryStamp = (u64, u64, i64, i64, u64);

/// The account of one provider: its failures, pause, quarantine, objects and statistics. All programs
/// of a user share these through a file; without a usable file the account is in memory alone.
pub(crate) struct Account {
    name: String,
    first_pause: Duration,
    inner: Mutex<Inner>,
}

/// The part of an account that changes.
struct Inner {
    /// The file of the account; `None` if the account is kept in memory alone.
    file: Option<AccountFile>,
    /// The record as last read from the file or written to it, with the changes since then.
    record: Record,
    /// The collections that the file does not count yet.
    unwritten: CollectionTally,
    /// The fingerprint of the account that was in the file at first, if that account was about
    /// another library, registration or test level; `None` otherwise, and once that account was
    /// replaced. In the file, this account may replace only the account with that fingerprint.
    replaces: Option<u64>,
    /// The stamp of the file as last read or written; `None` while the file never had this account,
    /// or after the file was removed.
    stamp: Option<FileStamp>,
    /// The time of the last attempt to write the file; at first the time at which the account was
    /// opened.
    written: Instant,
}

impl Account {
    /// The account of a provider: the account in the file if it is about the same registration,
    /// library and test level, and a new one otherwise.
    pub(crate) fn open(
        options: &HostOptions,
        registration: &Registration,
        library: Option<LibraryStamp>,
        level: TestLevel,
    ) -> Self {
        let name = registration.name.clone();
        let fingerprint = fingerprint(registration, library, level);
        let file = options.accounts.as_deref().and_then(|folder| AccountFile::new(folder, &name));
        let found = file.as_ref().and_then(AccountFile::read);
        let mut record = Record::new(&name, fingerprint);
        let (mut replaces, mut stamp) = (None, None);
        match found.filter(|(found, _)| found.is_of(&name)) {
            Some((found, at)) if found.fingerprint == fingerprint => {
                (record, stamp) = (found, Some(at));
                record.known.retain(|name| registration.may_give(name));
            }
            Some((other, _)) => replaces = Some(other.fingerprint),
            None => {}
        }
        let (unwritten, written) = (CollectionTally::default(), Instant::now());
        let inner = Inner { file, record, unwritten, replaces, stamp, written };
        Self { name, first_pause: options.first_pause(), inner: Mutex::new(inner) }
    }

    /// The objects that the library is known to offer.
    pub(crate) fn known(&self) -> KnownObjects {
        lock(&self.inner).record.known.clone()
    }

    /// Notes the objects that the library offers.
    pub(crate) fn note_objects(&self, known: &KnownObjects) {
        self.change(Duration::ZERO, |record| record.known = known.clone());
    }

    /// The provider's state and statistics.
    pub(crate) fn status(&self) -> ProviderStatus {
        let inner = lock(&self.inner);
        let record = &inner.record;
        let state = match record {
            Record { quarantined: true, .. } => ProviderState::Quarantined,
            Record { in_a_row: 1.., .. } | Record { late: 1.., .. } => ProviderState::Failed,
            _ => ProviderState::Idle,
        };
        let fault = |text: &String| Fault::new(FaultKind::CollectFailed, &self.name, text);
        let mut status = ProviderStatus::new(&self.name);
        status.state = state;
        status.collections = record.tally.collections;
        // Waits in vain count as faults until the library answers again.
        status.faults = record.faults.saturating_add(record.late.into());
        status.in_a_row = record.in_a_row;
        status.last_fault = record.fault.as_ref().map(fault);
        status.last = record.tally.last;
        status.total = record.tally.total;
        status.worst = record.tally.worst;
        status.bytes = usize::try_from(record.tally.bytes).unwrap_or(usize::MAX);
        status
    }

    /// The state and the reason for which the library is not asked for its objects; `None` if it
    /// may be asked.
    pub(crate) fn refusal(&self) -> Option<(ProviderState, String)> {
        let inner = lock(&self.inner);
        let record = &inner.record;
        let last = record.fault.as_deref().unwrap_or("did not say what it offers");
        if record.quarantined {
            let message = format!("disabled after repeated faults, at last: {last}");
            return Some((ProviderState::Quarantined, message));
        }
        let is_paused = record.pause_left(now()).is_some();
        let message = || format!("{last}; it is asked again after a pause");
        is_paused.then(|| (ProviderState::Failed, message()))
    }

    /// The rest of the pause in which the library must not be called; `None` without a pause.
    pub(crate) fn pause_left(&self) -> Option<Duration> {
        lock(&self.inner).record.pause_left(now())
    }

    /// The number of failures in a row, and the message of the last failure or wait in vain, also if
    /// calls succeeded since then. The message is empty if none is known.
    pub(crate) fn failures(&self) -> (u32, String) {
        let inner = lock(&self.inner);
        (inner.record.in_a_row, inner.record.fault.clone().unwrap_or_default())
    }

    /// The time that a reader without a deadline waits for the provider: `usual`, or twice the longest
    /// recent time of a call if that is longer. After a reader waited in vain, and until a call
    /// returns, a quarter of `usual` takes the place of `usual`. A call of more than five minutes
    /// counts as one of five minutes.
    pub(crate) fn patience(&self, usual: Duration) -> Duration {
        let inner = lock(&self.inner);
        let least = if inner.record.late > 0 { usual / PROBATION } else { usual };
        inner.record.slowest.min(pause::LONGEST).saturating_mul(2).max(least)
    }

    /// Notes that a call of the library returned after the time `took`. This ends a series of waits
    /// in vain with its pause, and updates the longest recent time.
    pub(crate) fn came_back(&self, took: Duration) {
        let mut inner = lock(&self.inner);
        let slowest = &mut inner.record.slowest;
        // A single slow call is forgotten in the course of some hundred calls.
        *slowest = took.max(*slowest - *slowest / FADES);
        if inner.record.late > 0 {
            inner.change(&self.name, Duration::ZERO, Record::answered_in_time);
        }
    }

    /// Notes a pause, in which no program of the user calls the library.
    pub(crate) fn pause(&self, pause: Duration) {
        self.change(Duration::ZERO, |record| record.pause(pause, now()));
    }

    /// Notes the last collection that `status` describes, and its fault, if it had one. A
    /// collection without a fault ends a series of failures. With a fault `NotYet` nothing is
    /// noted.
    pub(crate) fn collected(&self, status: &ProviderStatus, fault: Option<&Fault>) {
        let mut inner = lock(&self.inner);
        // A reader that did not wait for the answer proves nothing about the library.
        if fault.is_some_and(|fault| fault.kind == FaultKind::NotYet) {
            return;
        }
        let is_quarantined = status.state == ProviderState::Quarantined;
        let Inner { record, unwritten, .. } = &mut *inner;
        record.tally.count(status);
        unwritten.count(status);
        if let Some(fault) = fault {
            inner.change(&self.name, LOCK_PATIENCE, |record| {
                record.failed(&fault.message);
                record.quarantined |= is_quarantined || record.in_a_row >= QUARANTINE_AFTER;
            });
        } else if record.in_a_row > 0 || record.not_before > 0 || record.quarantined {
            inner.change(&self.name, Duration::ZERO, |record| {
                (record.in_a_row, record.not_before) = (0, 0);
                record.quarantined = is_quarantined;
            });
        } else if inner.written.elapsed() >= WRITE_EVERY {
            inner.change(&self.name, Duration::ZERO, |_| ());
        }
    }

    /// Notes the objects that the library gave when asked for them (it may have none at the moment), or the
    /// reason why it did not answer (`failure`). A failure begins a pause, and the quarantine after several failures in a row.
    pub(crate) fn discovered(&self, failure: Option<&str>, known: &KnownObjects) {
        self.change(LOCK_PATIENCE, |record| match failure {
            Some(message) => {
                record.failed(message);
                record.quarantined |= record.in_a_row >= QUARANTINE_AFTER;
                let pause = pause::after_failures(self.first_pause, record.in_a_row);
                record.pause(pause, now());
            }
            None => {
                // An answer without objects says nothing about those that another program was given.
                if !known.is_empty() {
                    // If objects were known before, only a collection proves that the library works.
                    if record.known.is_empty() {
                        record.in_a_row = 0;
                    }
                    record.known = known.clone();
                }
                // The answer ends a quarantine for being slow.
                record.quarantined &= record.in_a_row >= QUARANTINE_AFTER;
                record.answered_in_time();
            }
        });
    }

    /// Notes that a reader waited in vain, with the reason, and begins a pause. Both are written at
    /// once: this program may end soon, and the next program must know. Returns whether the
    /// quarantine begins now.
    pub(crate) fn late(&self, why: &str) -> bool {
        let mut inner = lock(&self.inner);
        let was_quarantined = inner.record.quarantined;
        inner.change(&self.name, LOCK_PATIENCE, |record| {
            record.late = record.late.saturating_add(1);
            record.set_fault(why);
            record.quarantined |= record.late >= QUARANTINE_AFTER;
            record.pause(pause::after_failures(self.first_pause, record.late), now());
        });
        inner.record.quarantined && !was_quarantined
    }

    /// Adds the collections that the account's file does not count yet to the file, if its lock is
    /// free within [`LOCK_PATIENCE`].
    pub(crate) fn flush(&self) {
        let mut inner = lock(&self.inner);
        if inner.unwritten.collections > 0 {
            inner.change(&self.name, LOCK_PATIENCE, |_| ());
        }
    }

    /// Ends the provider's quarantine and pause.
    pub(crate) fn release(&self) {
        self.change(LOCK_PATIENCE, Record::release);
    }

    /// Reads what other programs wrote to the file. Returns whether objects became known where none
    /// were known before, or a quarantine began or was ended.
    pub(crate) fn look(&self) -> bool {
        let mut inner = lock(&self.inner);
        let Some(file) = &inner.file else { return false };
        if file.stamp() == inner.stamp {
            return false;
        }
        let Some((mut found, stamp)) = file.read() else { return false };
        inner.stamp = Some(stamp);
        let Inner { record, unwritten, .. } = &mut *inner;
        if !found.is_of(&self.name) || found.fingerprint != record.fingerprint {
            return false;
        }
        let has_more = record.known.is_empty() && !found.known.is_empty();
        let differs = found.released != record.released || found.quarantined != record.quarantined;
        found.tally.add(unwritten);
        *record = found;
        has_more || differs
    }

    fn change(&self, patience: Duration, change: impl Fn(&mut Record)) {
        lock(&self.inner).change(&self.name, patience, change);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Inner {
    /// Changes the record in memory. If the lock is free within `patience`, the file gets the same
    /// change and the unwritten collections. An account of another library or registration in the
    /// file is left, unless `replaces` is its fingerprint. If the file was removed, the account
    /// begins anew in memory, with the known objects.
    fn change(&mut self, name: &str, patience: Duration, change: impl Fn(&mut Record)) {
        change(&mut self.record);
        let Some(file) = self.file.clone() else { return };
        let (mut is_gone, mut taken) = (false, None);
        let Self { record: own, unwritten, stamp, replaces, .. } = &*self;
        let written = file.change(patience, |found| {
            let record = match found.filter(|found| found.is_of(name)) {
                Some(mut found) if found.fingerprint == own.fingerprint => {
                    found.slowest = own.slowest;
                    found.tally.add(unwritten);
                    change(&mut found);
                    found
                }
                // A program with another library or registration wrote its account: this one no longer
                // belongs in the file.
                Some(found) if *replaces != Some(found.fingerprint) => return None,
                None if stamp.is_some() => {
                    is_gone = true;
                    return None;
                }
                _ => own.clone(),
            };
            taken = Some(record.clone());
            Some(record)
        });
        self.written = Instant::now();
        if is_gone {
            // The account was removed: it begins anew.
            let known = std::mem::take(&mut self.record.known);
            self.record = Record::new(name, self.record.fingerprint);
            self.record.known = known;
            (self.unwritten, self.stamp) = (CollectionTally::default(), None);
        } else if let (Ok(stamp), Some(record)) = (written, taken) {
            (self.record, self.stamp, self.replaces) = (record, stamp, None);
            self.unwritten = CollectionTally::default();
        }
    }
}

/// The time now, in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The fingerprint of a registration, its library's file and the test level; that a provider is
/// disabled does not count. An account with another fingerprint is not used: a new one begins.
fn fingerprint(of: &Registration, library: Option<LibraryStamp>, level: TestLevel) -> u64 {
    // A provider that is disabled or enabled keeps its account.
    let mut of = of.clone();
    of.disabled = false;
    let text = format!("{of:?} {library:?} {level:?}");
    hash(text.as_bytes())
}

/// The text of an account's file as it would be written again; `None` if the bytes are not an
/// account. For tools that examine these files.
#[must_use]
pub fn account_text(bytes: &[u8]) -> Option<String> {
    Record::parse(bytes).map(|record| record.to_text())
}

/// Removes the account of a provider from `folder`, after the provider was unregistered or its
/// registration changed. Returns whether there was an account.
///
/// # Errors
/// If the account cannot be removed.
pub fn forget(folder: &Path, provider: &str) -> io::Result<bool> {
    let removed = AccountFile::present(folder, provider).and_then(|file| file.remove());
    match removed {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Ends the quarantine and pause of a provider for all programs that share the accounts in `folder`;
/// running programs notice this within seconds. Returns whether there is an account of the provider.
///
/// # Errors
/// If the account cannot be written.
pub fn enable(folder: &Path, provider: &str) -> io::Result<bool> {
    let file = match AccountFile::present(folder, provider) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut found = false;
    file.change(Duration::from_secs(2), |record| {
        let mut record = record.filter(|record| record.is_of(provider))?;
        found = true;
        record.release();
        Some(record)
    })?;
    Ok(found)
}
