//! A published file that is read, with its definition, owner and share of a block.

use super::definition::{FileDefinition, LayoutError};
use crate::layout::{HEADER, live};
use crate::os::{Facts, Opened, Owner, User};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The identity of a file: device, number, and the time of creation that the writer noted.
pub(super) type FileKey = (u64, u64, u64);

/// An open file of a published category.
pub(super) struct PublishedFile {
    pub(super) definition: FileDefinition,
    pub(super) key: FileKey,
    pub(super) path: PathBuf,
    /// The user who owns the file.
    pub(super) user: User,
    /// The length of the file in bytes.
    pub(super) length: u64,
    pub(super) made: Option<SystemTime>,
    pub(super) file: Opened,
    /// The most bytes of a block that the file may take.
    pub(super) share: AtomicU64,
    /// The unique numbers that the reader gave to instances without a number from their program, by
    /// slot: the slot's state, which differs for each instance that uses the slot, and the number.
    numbers: Mutex<HashMap<usize, (u64, i32)>>,
}

/// The reason why a file is not read.
pub(super) enum FileError {
    /// The path cannot be opened, or does not lead to a file that may be read.
    Io(io::Error),
    /// The file's contents are invalid.
    Layout(LayoutError),
    /// The limit to the bytes of this user is reached.
    TooMuch(User),
}

impl PublishedFile {
    /// Opens a file and reads its definition. With `of_user`, the file must belong to a user that may
    /// own files in the folder of `of_user`. `admit` gets the file's owner and the number of bytes of
    /// the definition; the definition is read only if `admit` returns `true`.
    pub(super) fn open(
        path: &Path,
        of_user: Option<&User>,
        admit: impl FnOnce(&User, u64) -> bool,
    ) -> Result<Self, FileError> {
        let file = Opened::open(path).map_err(FileError::Io)?;
        let facts = file.facts().map_err(FileError::Io)?;
        if !facts.is_file || of_user.is_some_and(|user| !facts.user.may_be_in_folder_of(user)) {
            let what = "not a file of the user whose folder it is in";
            return Err(FileError::Io(io::Error::new(io::ErrorKind::PermissionDenied, what)));
        }
        if facts.length < HEADER as u64 {
            return Err(FileError::Layout(LayoutError::short(facts.length)));
        }
        let mut bytes = vec![0; HEADER];
        let read = |bytes: &mut [u8]| file.read_bytes(0, bytes).map_err(FileError::Io);
        read(&mut bytes)?;
        let length = FileDefinition::prefix(&bytes, facts.length).map_err(FileError::Layout)?;
        if !admit(&facts.user, length as u64) {
            return Err(FileError::TooMuch(facts.user));
        }
        bytes.resize(length, 0);
        read(&mut bytes)?;
        let definition = FileDefinition::parse(&bytes, facts.length).map_err(FileError::Layout)?;
        let key = (facts.device, facts.number, definition.created);
        let Facts { user, length, made, .. } = facts;
        let (path, share, numbers) = (path.to_path_buf(), AtomicU64::new(0), Mutex::default());
        Ok(Self { definition, key, path, user, length, made, file, share, numbers })
    }

    /// The number of slots that were ever used, according to the file; 0 if it cannot be read.
    pub(super) fn slots_used(&self) -> usize {
        let mut used = [0];
        let at = self.definition.live_at + live::USED;
        // A file that cannot be read counts as one without instances, since none can be read.
        let _ = self.file.read_words(at as u64, &mut used);
        usize::try_from(used[0]).unwrap_or(usize::MAX).min(self.definition.slots)
    }

    /// Sets the most bytes of a block that the file may take.
    pub(super) fn set_share(&self, bytes: u64) {
        self.share.store(bytes, Ordering::Relaxed);
    }

    /// The message that the file's share is too small, and what a user can do. `what` says what was
    /// left out for that reason.
    pub(super) fn cut(&self, what: impl std::fmt::Display) -> String {
        let (path, user) = (self.path.display(), &self.user);
        let share = self.share.load(Ordering::Relaxed);
        format!(
            "{path}: {what}: more is published than a block has room for, and user {user} more \
             than others; fewer instances, counters or categories fit ({share} bytes are left for \
             this file)"
        )
    }

    /// Whether the writing process has certainly ended.
    pub(super) fn is_dead(&self, here: &Owner) -> bool {
        self.file.is_abandoned() || self.definition.owner.is_gone(here)
    }

    /// The key by which the files of one category are sorted: first by user (administrator, this
    /// user, others), then files with the counters that are shown already before others, then older
    /// files before newer ones.
    pub(super) fn rank(
        &self,
        shown: Option<&FileDefinition>,
    ) -> (u8, bool, Option<SystemTime>, FileKey) {
        let other = shown.is_some_and(|shown| !self.definition.has_same_counters(shown));
        (self.user.rank(), other, self.made, self.key)
    }

    /// The unique number that the reader gives to the instance in a slot, since its program gave it
    /// none. The number is the same as long as the slot has this `state`; `next` counts the numbers
    /// given.
    pub(super) fn number(&self, slot: usize, state: u64, next: &AtomicI32) -> i32 {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, number) = numbers.entry(slot).or_insert((state.wrapping_add(1), 0));
        if *known != state {
            // Far from the numbers that programs give.
            const FROM: i32 = 1 << 30;
            *number = FROM | (next.fetch_add(1, Ordering::Relaxed) & (FROM - 1));
            *known = state;
        }
        *number
    }
}
