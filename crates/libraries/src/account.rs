//! What is known of a provider beyond one reader: how it did, what it offers,
//! until when it is left alone. Kept on disk, if there is a place for it, so
//! that all of a user's programs know it.

mod file;
mod record;

use crate::describe::Known;
use crate::options::Options;
use crate::provider::lock;
use file::{AccountFile, Stamp};
use perfhive_contract::Registration;
use perfhive_engine::{Fault, FaultKind, ProviderState, ProviderStatus, TestLevel, note_growth};
use record::Record;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

/// Failures in a row, to say what it offers or to collect, after which a
/// provider is asked no more; as many as a broker allows by default. As often it is
/// waited for in vain.
const QUARANTINE_AFTER: u32 = 5;
/// The part of the usual time that one is waited for that was waited for in vain.
const PROBATION: u32 = 4;
/// The part of the longest time that is forgotten with each call.
const FADES: u32 = 64;
/// The longest pause before a library is asked again what it offers.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How often what happened is written to disk, but for what others need to know.
const WRITE_EVERY: Duration = Duration::from_secs(5);
/// How long the last words of a provider that is closed may wait for others.
const LAST_PATIENCE: Duration = Duration::from_millis(100);

/// A library's file: which, and when it was written.
pub(crate) type LibraryStamp = (u64, u64, i64, i64, u64);

/// The account of one provider.
pub(crate) struct Account {
    name: String,
    /// The pause before a library is asked again what it offers; it doubles
    /// with each failure.
    first_pause: Duration,
    inner: Mutex<Inner>,
}

struct Inner {
    /// `None` where it is kept in memory alone.
    file: Option<AccountFile>,
    /// As it was on disk, with what happened since.
    record: Record,
    pending: Pending,
    /// The account of another library or registration that this one may
    /// replace, by its fingerprint.
    replaces: Option<u64>,
    stamp: Option<Stamp>,
    written: Instant,
}

/// What happened since the account was written.
#[derive(Default)]
struct Pending {
    any: bool,
    collections: u64,
    faults: u64,
    /// Failures since the last success, or since then.
    failures: u32,
    success: bool,
    total: Duration,
    worst: Duration,
    /// Whether these are to be taken over as they are.
    objects: bool,
    pause: bool,
    late: bool,
}

impl Account {
    /// The account of a registration and a library, as far as it goes.
    pub(crate) fn open(
        options: &Options,
        registration: &Registration,
        library: Option<LibraryStamp>,
        level: TestLevel,
    ) -> Self {
        let folder = options.accounts.as_deref();
        let name = registration.name.clone();
        let fingerprint = fingerprint(registration, library, level);
        let file = folder.and_then(|folder| AccountFile::new(folder, &name));
        let found = file.as_ref().and_then(AccountFile::read);
        let found = found.filter(|(record, _)| record.is_of(&name));
        let mut record = Record::new(&name, fingerprint);
        let (mut replaces, mut stamp) = (None, None);
        match found {
            Some((found, at)) if found.fingerprint == fingerprint => {
                (record, stamp) = (found, Some(at));
                record.known.retain(|name| registration.may_give(name));
            }
            Some((other, _)) => replaces = Some(other.fingerprint),
            None => {}
        }
        let pending = Pending::default();
        let written = Instant::now();
        let inner = Inner { file, record, pending, replaces, stamp, written };
        Self { name, first_pause: options.first_pause(), inner: Mutex::new(inner) }
    }

    /// What the library offers, as far as that is known.
    pub(crate) fn known(&self) -> Known {
        lock(&self.inner).record.known.clone()
    }

    /// Takes over what the library offers.
    pub(crate) fn note_objects(&self, known: &Known) {
        let mut inner = lock(&self.inner);
        inner.record.known = known.clone();
        (inner.pending.any, inner.pending.objects) = (true, true);
    }

    /// How the provider did.
    pub(crate) fn status(&self) -> ProviderStatus {
        let inner = lock(&self.inner);
        let record = &inner.record;
        let state = match record {
            Record { quarantined: true, .. } => ProviderState::Quarantined,
            Record { in_a_row: 1.., .. } | Record { late: 1.., .. } => ProviderState::Failed,
            _ => ProviderState::Idle,
        };
        let fault = |text: &String| Fault::new(FaultKind::CollectFailed, &self.name, text);
        ProviderStatus {
            state,
            collections: record.collections,
            // Waits in vain are counted apart: the first answer takes them back.
            faults: record.faults.saturating_add(record.late.into()),
            in_a_row: record.in_a_row,
            last_fault: record.fault.as_ref().map(fault),
            last: record.last,
            total: record.total,
            worst: record.worst,
            bytes: usize::try_from(record.bytes).unwrap_or(usize::MAX),
            ..ProviderStatus::new(&self.name)
        }
    }

    /// Why it is not asked what it offers: the state and the reason.
    pub(crate) fn refusal(&self) -> Option<(ProviderState, String)> {
        let inner = lock(&self.inner);
        let record = &inner.record;
        let last = record.fault.as_deref().unwrap_or("it did not say what it offers");
        if record.quarantined {
            let message = format!("disabled after repeated faults, at last: {last}");
            return Some((ProviderState::Quarantined, message));
        }
        let waits = inner.left().is_some();
        waits.then(|| (ProviderState::Failed, format!("{last}; it is asked again after a pause")))
    }

    /// How long it is still left alone.
    pub(crate) fn pause_left(&self) -> Option<Duration> {
        lock(&self.inner).left()
    }

    /// Failures in a row, and the last of them.
    pub(crate) fn failures(&self) -> (u32, String) {
        let inner = lock(&self.inner);
        (inner.record.in_a_row, inner.record.fault.clone().unwrap_or_default())
    }

    /// How long a reader without a deadline waits for it: `usual`, or twice as long
    /// as it took of late; a part of `usual` if it was waited for in vain.
    pub(crate) fn patience(&self, usual: Duration) -> Duration {
        let inner = lock(&self.inner);
        let least = if inner.record.late > 0 { usual / PROBATION } else { usual };
        inner.record.slowest.min(LONGEST_PAUSE).saturating_mul(2).max(least)
    }

    /// Takes note that the library came back from a call, and after how long.
    pub(crate) fn came_back(&self, took: Duration) {
        let mut inner = lock(&self.inner);
        let Inner { record, pending, .. } = &mut *inner;
        // What took long once is forgotten in the course of some hundred calls.
        record.slowest = took.max(record.slowest - record.slowest / FADES);
        if record.late > 0 {
            record.is_there_again();
            (pending.any, pending.late, pending.pause) = (true, true, true);
        }
    }

    /// Has every program leave it alone for a while.
    pub(crate) fn pause(&self, pause: Duration) {
        lock(&self.inner).pause(pause);
    }

    /// Takes note of a collection.
    pub(crate) fn collected(&self, status: &ProviderStatus, fault: Option<&Fault>) {
        let mut inner = lock(&self.inner);
        let before = (inner.record.in_a_row, inner.record.quarantined);
        let waits = fault.is_some_and(|fault| fault.kind == FaultKind::NotYet);
        let failed = fault.filter(|_| !waits).map(|fault| &*fault.message);
        let Inner { record, pending, .. } = &mut *inner;
        pending.any = true;
        pending.worst = pending.worst.max(status.worst);
        record.worst = record.worst.max(status.worst);
        if !waits {
            pending.collections += 1;
            pending.total = pending.total.saturating_add(status.last);
            record.collections += 1;
            record.last = status.last;
            record.total = record.total.saturating_add(status.last);
            record.bytes = status.bytes as u64;
        }
        match failed {
            Some(message) => record.failed(pending, message),
            None if waits => {}
            None => {
                (record.in_a_row, record.not_before) = (0, 0);
                (pending.failures, pending.success, pending.pause) = (0, true, true);
            }
        }
        // The broker may be stricter, or milder. Who waits did not fail.
        if !waits {
            record.quarantined = status.state == ProviderState::Quarantined;
        }
        let changed = (record.in_a_row, record.quarantined) != before;
        // What went wrong is worth knowing at once.
        if (changed && failed.is_some()) || inner.written.elapsed() >= WRITE_EVERY {
            inner.write(&self.name, Duration::ZERO);
        }
    }

    /// Takes note of whether the library said what it offers.
    pub(crate) fn discovered(&self, failure: Option<&str>, known: &Known) {
        let mut inner = lock(&self.inner);
        let Inner { record, pending, .. } = &mut *inner;
        pending.any = true;
        match failure {
            Some(message) => {
                record.failed(pending, message);
                record.quarantined |= record.in_a_row >= QUARANTINE_AFTER;
                let pause = pause_after(self.first_pause, record.in_a_row);
                inner.pause(pause);
            }
            None => {
                // Of one that offered something before, collecting tells how it is.
                if record.known.is_empty() {
                    record.in_a_row = 0;
                    (pending.failures, pending.success) = (0, true);
                }
                record.known = known.clone();
                // Of one that was disabled for being slow there is an answer now.
                record.quarantined &= record.in_a_row >= QUARANTINE_AFTER;
                record.is_there_again();
                (pending.late, pending.pause, pending.objects) = (true, true, true);
            }
        }
        inner.write(&self.name, LAST_PATIENCE);
    }

    /// Takes note that a reader waited for the library in vain, and for what: a hang
    /// that ends with a short program is known to the next one so. Answers whether
    /// the library is disabled by it.
    pub(crate) fn late(&self, why: &str) -> bool {
        let mut inner = lock(&self.inner);
        let Inner { record, pending, .. } = &mut *inner;
        record.late = record.late.saturating_add(1);
        record.set_fault(why);
        let disabled = record.late >= QUARANTINE_AFTER && !record.quarantined;
        record.quarantined |= disabled;
        (pending.any, pending.late) = (true, true);
        let pause = pause_after(self.first_pause, record.late);
        inner.pause(pause);
        inner.write(&self.name, LAST_PATIENCE);
        disabled
    }

    /// Writes what is not on disk so far.
    pub(crate) fn flush(&self) {
        let mut inner = lock(&self.inner);
        if inner.pending.any {
            inner.write(&self.name, LAST_PATIENCE);
        }
    }

    /// Lets it out of quarantine.
    pub(crate) fn release(&self) {
        let mut inner = lock(&self.inner);
        inner.record.release();
        inner.pending = Pending { any: true, ..Pending::default() };
        let released = inner.record.released;
        inner.change(&self.name, LAST_PATIENCE, |record| {
            if record.released < released {
                record.release();
            }
        });
    }

    /// Takes over what other programs wrote; answers whether that changes what
    /// is to be thought of the provider.
    pub(crate) fn look(&self) -> bool {
        let mut inner = lock(&self.inner);
        let Some(file) = &inner.file else { return false };
        if file.stamp() == inner.stamp {
            return false;
        }
        note_growth();
        let Some((found, stamp)) = file.read() else { return false };
        inner.stamp = Some(stamp);
        let Inner { record, .. } = &mut *inner;
        if !found.is_of(&self.name) || found.fingerprint != record.fingerprint {
            return false;
        }
        let more = record.known.is_empty() && !found.known.is_empty();
        let released = found.released != record.released;
        let other = more || released || found.quarantined != record.quarantined;
        if other {
            // What is pending is merged when it is written.
            let pending = std::mem::take(&mut inner.pending);
            inner.record = found;
            inner.record.merge(&pending, None);
            inner.pending = pending;
            if released {
                (inner.pending.failures, inner.pending.success) = (0, false);
            }
        }
        other
    }

    /// The message as it is to be logged, or `None` if enough was said of its
    /// kind, by whichever of the user's programs.
    pub(crate) fn pass_log(&self, message: String) -> Option<String> {
        let mut inner = lock(&self.inner);
        if inner.file.is_none() {
            return Some(message);
        }
        let now = now();
        let mut passed = Some(message);
        inner.change(&self.name, Duration::ZERO, |record| {
            passed = passed.take().and_then(|message| record.pass(&message, now));
        });
        passed
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Inner {
    fn left(&self) -> Option<Duration> {
        let left = self.record.not_before.checked_sub(now()).filter(|left| *left > 0)?;
        // A time that nobody would have set is none.
        let left = Duration::from_millis(left);
        (left <= LONGEST_PAUSE).then_some(left)
    }

    fn pause(&mut self, pause: Duration) {
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        self.record.not_before = now().saturating_add(millis);
        (self.pending.any, self.pending.pause) = (true, true);
    }

    /// Writes what is pending, if nobody else is at it for longer than that.
    fn write(&mut self, name: &str, patience: Duration) {
        self.change(name, patience, |_| ());
    }

    /// Writes what is pending, and a change besides.
    fn change(&mut self, name: &str, patience: Duration, change: impl FnOnce(&mut Record)) {
        let Some(file) = self.file.clone() else {
            change(&mut self.record);
            return;
        };
        let own = &self.record;
        let pending = &self.pending;
        let replaces = self.replaces;
        let was_there = self.stamp.is_some();
        let (mut taken, mut is_gone) = (None, false);
        let written = file.change(patience, |found| {
            let found = found.filter(|found| found.is_of(name));
            if found.is_none() && was_there {
                is_gone = true;
                return None;
            }
            let mut record = match found {
                Some(found) if found.fingerprint == own.fingerprint => {
                    let mut found = found;
                    found.merge(pending, Some(own));
                    found
                }
                // Another library or registration took its place meanwhile:
                // this one is history.
                Some(found) if replaces != Some(found.fingerprint) => return None,
                _ => own.clone(),
            };
            change(&mut record);
            taken = Some(record.clone());
            Some(record)
        });
        self.written = Instant::now();
        if is_gone {
            // Somebody took it away: what was before is forgotten.
            let known = std::mem::take(&mut self.record.known);
            self.record = Record::new(name, self.record.fingerprint);
            self.record.known = known;
            (self.pending, self.stamp) = (Pending::default(), None);
            return;
        }
        // Otherwise it stays pending.
        if let Ok(stamp) = written {
            self.pending = Pending::default();
            self.stamp = stamp.or(self.stamp);
            if let Some(record) = taken {
                self.record = record;
                self.replaces = None;
            }
        }
    }
}

impl Record {
    fn failed(&mut self, pending: &mut Pending, message: &str) {
        self.faults += 1;
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.set_fault(message);
        pending.faults += 1;
        pending.failures = pending.failures.saturating_add(1);
    }

    /// Begins anew with one that was waited for in vain and came back.
    fn is_there_again(&mut self) {
        if self.late > 0 && self.in_a_row == 0 {
            self.fault = None;
        }
        (self.late, self.not_before) = (0, 0);
    }

    /// Adds what happened in one program to what is known from all; `own` is
    /// that program's own view.
    fn merge(&mut self, pending: &Pending, own: Option<&Self>) {
        self.collections = self.collections.saturating_add(pending.collections);
        self.faults = self.faults.saturating_add(pending.faults);
        self.total = self.total.saturating_add(pending.total);
        self.worst = self.worst.max(pending.worst);
        // What was before somebody let it out of quarantine counts no more.
        if own.is_some_and(|own| own.released != self.released) {
            return;
        }
        if pending.success {
            self.in_a_row = 0;
            self.quarantined = false;
        }
        self.in_a_row = self.in_a_row.saturating_add(pending.failures);
        self.quarantined |= pending.failures > 0 && self.in_a_row >= QUARANTINE_AFTER;
        let Some(own) = own else { return };
        self.quarantined |= (pending.failures > 0 || pending.late) && own.quarantined;
        if pending.collections > 0 {
            (self.last, self.bytes) = (own.last, own.bytes);
        }
        self.slowest = own.slowest;
        if pending.faults > 0 || pending.late {
            self.fault.clone_from(&own.fault);
        }
        if pending.pause {
            self.not_before = own.not_before;
        }
        if pending.late {
            self.late = own.late;
            self.quarantined &= own.late > 0 || self.in_a_row >= QUARANTINE_AFTER;
        }
        if pending.objects {
            self.known.clone_from(&own.known);
        }
    }
}

fn pause_after(first: Duration, failures: u32) -> Duration {
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_PAUSE)
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What tells a library and its registration from any other: if any of it
/// changes, the account begins anew.
fn fingerprint(of: &Registration, library: Option<LibraryStamp>, level: TestLevel) -> u64 {
    // Whoever disables and enables it has not changed it.
    let mut of = of.clone();
    of.disabled = false;
    let text = format!("{of:?} {library:?} {level:?}");
    hash(text.as_bytes())
}

/// FNV-1a, which stays the same from one build to the next.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What the bytes of an account's file say, as it would be written again;
/// `None` where they are none. For tools that look at these files.
#[must_use]
pub fn account_text(bytes: &[u8]) -> Option<String> {
    Record::parse(bytes).map(|record| record.to_text())
}

/// Forgets what is known of a provider whose accounts are kept in `folder`: it
/// is no longer registered, or is another now. Answers whether there was
/// anything.
///
/// # Errors
/// Where the account cannot be removed.
pub fn forget(folder: &Path, provider: &str) -> io::Result<bool> {
    let removed = AccountFile::present(folder, provider).and_then(|file| file.remove());
    match removed {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lets a provider out of quarantine whose accounts are kept in `folder`, for
/// all of the user's programs; those at work notice within seconds. Answers
/// whether there is an account of it.
///
/// # Errors
/// Where the account cannot be written.
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
