//! [`PublishedCounters`]: the categories that are published now.

use super::definition::FileDefinition;
use super::indexes::Indexes;
use super::provider::{CategoryProvider, Members};
use super::published_file::{FileError, PublishedFile};
use super::share;
use crate::layout::{SUFFIX, UNFINISHED};
use crate::os::{self, Owner, User};
use perfhive_engine::{Ask, Fault, FaultKind, Provider, Roster};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The default period of looking at folders.
const EVERY: Duration = Duration::from_millis(250);
/// A folder is listed again as long as its last change is not older than this: a further change may
/// have the same time.
const RECENT: Duration = Duration::from_secs(1);
/// The most files of a user in a folder that are read; more are a fault.
const MOST_FILES: usize = 256;
/// The most entries of a folder that are looked at; more are a fault.
const MOST_ENTRIES: usize = 1 << 16;
/// The most published files of a folder that are looked at, shared equally among users; more are a
/// fault.
const MOST_NAMES: usize = 16 * MOST_FILES;
/// The most bytes of all files of a user that are read, so that a user cannot slow readers down;
/// more are a fault.
const MOST_BYTES: u64 = 64 << 20;
/// The most categories that stay listed although no program publishes them any more.
const MOST_GONE: usize = 64;

/// The categories that programs of this machine publish, as the providers of a
/// [`Broker`](perfhive_engine::Broker): one provider for each category, whatever number of
/// processes publish into it.
///
/// Up to 64 categories that lost their publishers stay listed, without instances or values. If such
/// a category is published again, its object and the counters that it had before keep their title
/// indexes, unless only one of the two has instances. A file that cannot be read is a fault of
/// every answer to [`Global`](perfhive_engine::ObjectQuery::Global).
///
/// The broker's clock must count nanoseconds, as the default clock and Linux' clock do: with another
/// clock, such as `NativeClock` of Windows, times of the performance counter would be wrong.
pub struct PublishedCounters {
    folders: Folders,
    looked: Option<Instant>,
    every: Duration,
    /// The most bytes of a block that all files together may take.
    limit: u64,
    /// The identity of this process, found once there is a file to compare with.
    here: OnceCell<Owner>,
    files: BTreeMap<PathBuf, Known>,
    /// The categories, by their names in lower case.
    categories: BTreeMap<String, Arc<CategoryProvider>>,
    /// Categories without publishers and their last owners, in order of their end.
    gone: Vec<(String, User)>,
    indexes: Indexes,
    faults: Vec<Fault>,
}

/// A path of a published file: it is read, or it is refused.
enum Known {
    Read(Arc<PublishedFile>),
    Refused(Refused),
}

/// A file that is not read, with the reason.
struct Refused {
    why: String,
    /// Whether a process still holds the file, as far as is known.
    in_use: bool,
}

impl Refused {
    fn new(why: impl ToString) -> Self {
        Self { why: why.to_string(), in_use: true }
    }

    /// Removes the file if its process has ended since and this user may remove it; returns what
    /// became of the file. If the file stays after its process, the reason says so, and later calls
    /// return [`os::Cleared::InUse`].
    fn look(&mut self, path: &Path) -> os::Cleared {
        let cleared = if self.in_use { os::clear_away(path) } else { os::Cleared::InUse };
        if cleared == os::Cleared::Left {
            self.in_use = false;
            self.why.push_str("; its program is gone: remove the file");
        }
        cleared
    }
}

/// The folders that are looked at.
enum Folders {
    /// The folder that the caller or the environment names.
    One(Folder),
    /// The usual folders: the system's, and the users' by path. `list` tells whether the folder
    /// above the users' folders changed.
    Known { system: Option<Folder>, users: BTreeMap<PathBuf, Folder>, list: Listing },
}

/// A folder that is looked at.
struct Folder {
    path: PathBuf,
    /// The only user with files that are read; `None` if the files of all users are read.
    user: Option<User>,
    listing: Listing,
}

/// The contents of a folder, as listed.
struct Listed {
    folder: PathBuf,
    /// The paths of the published files, ascending.
    paths: Vec<PathBuf>,
    /// Whether the folder holds more files than are listed.
    is_cut: bool,
    user: Option<User>,
}

/// The folder's time of change at the last listing, and whether any later change must have another
/// time; `None` before the first listing.
#[derive(Default)]
struct Listing(Option<(SystemTime, bool)>);

impl Listing {
    /// Whether the folder must be listed, because it changed or may have changed; notes its time of
    /// change.
    fn is_due(&mut self, path: impl AsRef<Path>) -> bool {
        let Some(changed) = os::changed(path.as_ref()) else {
            // The folder is gone, and its files with it.
            return self.0.take().is_some();
        };
        let settled = SystemTime::now().duration_since(changed).is_ok_and(|age| age > RECENT);
        let due = self.0 != Some((changed, true));
        self.0 = Some((changed, settled));
        due
    }
}

impl Default for PublishedCounters {
    fn default() -> Self {
        Self::new()
    }
}

impl PublishedCounters {
    /// The categories in the usual folders, or in the folder that the variable `PERFHIVE_COUNTERS`
    /// names.
    #[must_use]
    pub fn new() -> Self {
        match os::named_folder() {
            Some(folder) => Self::in_folder(folder),
            None => Self::of(Folders::Known {
                system: os::system_folder().map(|folder| Folder::new(folder, None)),
                users: BTreeMap::new(),
                list: Listing::default(),
            }),
        }
    }

    /// The categories in this folder alone.
    #[must_use]
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self::of(Folders::One(Folder::new(folder.into(), None)))
    }

    fn of(folders: Folders) -> Self {
        Self {
            folders,
            looked: None,
            every: EVERY,
            limit: share::MOST,
            here: OnceCell::new(),
            files: BTreeMap::new(),
            categories: BTreeMap::new(),
            gone: Vec::new(),
            indexes: Indexes::new(),
            faults: Vec::new(),
        }
    }

    /// Sets the period of looking at folders; 250 ms by default.
    #[must_use]
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Sets the most bytes of a block that all categories together may take; 32 MiB by default. If
    /// more is published, all users get the same share, except users who publish less.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes as u64;
        self
    }

    /// Lists folders that changed, removes files of ended processes, and allots shares; returns
    /// whether the set of files changed.
    fn look(&mut self) -> bool {
        let mut listed = Vec::new();
        match &mut self.folders {
            Folders::One(folder) => folder.list(&mut listed),
            Folders::Known { system, users, list } => {
                system.iter_mut().for_each(|folder| folder.list(&mut listed));
                if os::users_root().is_some_and(|root| list.is_due(root)) {
                    let found = os::users_folders();
                    for (path, folder) in users.iter_mut() {
                        if !found.contains_key(path) {
                            let folder = folder.path.clone();
                            let paths = Vec::new();
                            listed.push(Listed { folder, paths, is_cut: false, user: None });
                        }
                    }
                    users.retain(|path, _| found.contains_key(path));
                    for (path, user) in found {
                        let make = || Folder::new(path.clone(), Some(user));
                        users.entry(path.clone()).or_insert_with(make);
                    }
                }
                users.values_mut().for_each(|folder| folder.list(&mut listed));
            }
        }
        let mut changed = false;
        // Files of ended processes go first, so that they do not count against the limits.
        self.files.retain(|path, known| {
            let Known::Read(file) = known else { return true };
            let dead = file.is_dead(self.here.get_or_init(Owner::this));
            if dead {
                os::remove_abandoned(path);
                changed = true;
            }
            !dead
        });
        changed |= !listed.is_empty() && self.take(listed);
        self.files.retain(|path, known| {
            let Known::Refused(refused) = known else { return true };
            let cleared = refused.look(path);
            changed |= cleared != os::Cleared::InUse;
            cleared != os::Cleared::Removed
        });
        let read = self.files.values().filter_map(|known| match known {
            Known::Read(file) => Some(&**file),
            Known::Refused(_) => None,
        });
        share::allot(read, self.limit);
        changed
    }

    /// Takes over the contents of the listed folders: opens new files and drops files that are
    /// gone; returns whether anything changed.
    fn take(&mut self, listed: Vec<Listed>) -> bool {
        let mut changed = false;
        for Listed { folder, paths, is_cut, user } in listed {
            let before = self.files.len();
            let is_listed = |path: &PathBuf| paths.binary_search(path).is_ok();
            // Known files stay where a folder holds too many to list.
            let is_there = |path: &PathBuf, known: &Known| {
                is_cut && matches!(known, Known::Read(_)) && os::changed(path).is_some()
            };
            self.files.retain(|path, known| {
                path.parent() != Some(&*folder) || is_listed(path) || is_there(path, known)
            });
            changed |= self.files.len() != before;
            let mut counts = self.counts_in(&folder);
            let mut refused = 0;
            let mut unread: BTreeMap<User, usize> = BTreeMap::new();
            // The bytes of definitions that are read because the folder changed are limited, too.
            let mut looked_at: BTreeMap<User, u64> = BTreeMap::new();
            let mut admit = |user: &User, bytes| {
                let sum = looked_at.entry(user.clone()).or_default();
                *sum += bytes;
                *sum <= MOST_BYTES
            };
            for path in &paths {
                // A refused file is opened again: it may have been written since.
                if matches!(self.files.get(path), Some(Known::Read(_))) {
                    continue;
                }
                let known = match PublishedFile::open(path, user.as_ref(), &mut admit) {
                    Ok(file) if file.is_dead(self.here.get_or_init(Owner::this)) => {
                        os::remove_abandoned(path);
                        continue;
                    }
                    Ok(file) => {
                        let count = counts.entry(file.user.clone()).or_default();
                        *count += 1;
                        if *count > MOST_FILES {
                            *unread.entry(file.user.clone()).or_default() += 1;
                            continue;
                        }
                        match self.bytes_of(&file.user) + file.length {
                            bytes if bytes > MOST_BYTES => {
                                let (user, name) = (&file.user, &file.definition.name);
                                let why = format!(
                                    "{name:?} is left out: user {user} has {bytes} bytes, of \
                                     which as many are read as fit into {MOST_BYTES}; declare \
                                     fewer instances"
                                );
                                Known::Refused(Refused::new(why))
                            }
                            _ => Known::Read(Arc::new(file)),
                        }
                    }
                    Err(FileError::TooMuch(user)) => {
                        *unread.entry(user).or_default() += 1;
                        continue;
                    }
                    Err(FileError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                        continue; // It went meanwhile.
                    }
                    Err(FileError::Io(error)) => Known::Refused(Refused::new(error)),
                    Err(FileError::Layout(error)) => {
                        let why = format!("{error}; {}", error.way_out());
                        Known::Refused(Refused::new(why))
                    }
                };
                changed = true;
                refused += usize::from(matches!(known, Known::Refused(_)));
                if refused > MOST_FILES && matches!(known, Known::Refused(_)) {
                    continue;
                }
                self.files.insert(path.clone(), known);
            }
            // Too many files are one user's fault, reported once.
            let mut tell = |whose: String, what: String| {
                let known = Known::Refused(Refused { why: what, in_use: false });
                self.files.insert(folder.join(format!("*.counters of {whose}")), known);
            };
            if is_cut {
                changed = true;
                let what = format!(
                    "there is more in this folder than {MOST_NAMES} such files or {MOST_ENTRIES} \
                     of all kinds; remove files without a program"
                );
                tell("others".to_string(), what);
            }
            for (user, more) in unread {
                let what = format!("{more} more, beyond {MOST_FILES} or {MOST_BYTES} bytes");
                tell(format!("user {user}"), what);
            }
            if refused > MOST_FILES {
                let more = refused - MOST_FILES;
                tell("any user".to_string(), format!("{more} more that cannot be read"));
            }
        }
        changed
    }

    /// The number of files in a folder that are read, by user.
    fn counts_in(&self, folder: &Path) -> BTreeMap<User, usize> {
        let mut counts = BTreeMap::new();
        for (path, known) in &self.files {
            if let (Known::Read(file), true) = (known, path.parent() == Some(folder)) {
                *counts.entry(file.user.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// The number of bytes of a user's files that are read.
    fn bytes_of(&self, user: &User) -> u64 {
        let read = self.files.values().filter_map(|known| match known {
            Known::Read(file) if file.user == *user => Some(file.length),
            _ => None,
        });
        read.sum()
    }

    /// Makes one provider of the files of each category, and a fault of each file that is not read;
    /// returns all providers.
    fn arrange(&mut self) -> Vec<Arc<dyn Provider>> {
        self.faults.clear();
        let mut groups: BTreeMap<String, Vec<Arc<PublishedFile>>> = BTreeMap::new();
        for (path, known) in &self.files {
            match known {
                Known::Read(file) => {
                    let name = file.definition.name.to_lowercase();
                    groups.entry(name).or_default().push(Arc::clone(file));
                }
                Known::Refused(Refused { why, .. }) => {
                    let message = format!("{} is not read: {why}", path.display());
                    let fault = Fault::new(FaultKind::OpenFailed, "published counters", message);
                    self.faults.push(fault);
                }
            }
        }
        let mut before = std::mem::take(&mut self.categories);
        for (name, mut files) in groups {
            let known = before.remove(&name);
            let shown = known.as_ref().map(|known| &known.definition);
            files.sort_by_cached_key(|file| file.rank(shown));
            let Some(first) = files.first() else { continue };
            let is_same =
                |known: &CategoryProvider| first.definition.has_same_counters(&known.definition);
            let stays = known.as_ref().filter(|known| is_same(known));
            let chosen = stays.map_or(&first.definition, |known| &known.definition);
            let members = members(chosen, &files);
            let provider = match (stays, &known) {
                (Some(provider), _) => {
                    provider.set_members(members);
                    Arc::clone(provider)
                }
                (None, replaced) => {
                    let replaced = replaced.as_deref();
                    let definition = first.definition.clone();
                    let others = || before.values().chain(self.categories.values());
                    let in_use = || others().chain(&known).map(|one| Arc::clone(&one.indexes));
                    let in_use = || in_use().collect();
                    let old = replaced.map(|one| (&one.definition, &*one.indexes));
                    let indexes = self.indexes.of(&definition, &first.user, old, in_use);
                    let Some(indexes) = indexes else {
                        let what = format!("{name:?}: there are no title indexes left");
                        let fault = Fault::new(FaultKind::OpenFailed, "published counters", what);
                        self.faults.push(fault);
                        continue;
                    };
                    Arc::new(CategoryProvider::new(definition, indexes, members, replaced))
                }
            };
            self.gone.retain(|(gone, _)| *gone != name);
            self.categories.insert(name, provider);
        }
        // A category without publishers keeps its titles, so that a viewer does not show bare title
        // indexes while the program is gone.
        for (name, provider) in before {
            let none = Members::new(Vec::new(), Vec::new());
            if let Some(last) = provider.set_members(none) {
                self.gone.push((name.clone(), last));
            }
            self.categories.insert(name, provider);
        }
        while self.gone.len() > MOST_GONE {
            let (name, _) = self.gone.remove(of_the_most(&self.gone));
            self.categories.remove(&name);
        }
        let as_provider = |one: &Arc<CategoryProvider>| Arc::clone(one) as Arc<dyn Provider>;
        self.categories.values().map(as_provider).collect()
    }
}

/// The position of the oldest entry of the user with the most entries.
fn of_the_most(gone: &[(String, User)]) -> usize {
    let mut counts: BTreeMap<&User, usize> = BTreeMap::new();
    for (_, user) in gone {
        *counts.entry(user).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(user, _)| user);
    gone.iter().position(|(_, user)| Some(user) == most).unwrap_or(0)
}

/// Chooses the files of a category that are shown, from `files` by rank, and gives the reason for
/// each other file. Shown files have the counters of `chosen`; without instances only one is shown.
fn members(chosen: &FileDefinition, files: &[Arc<PublishedFile>]) -> Members {
    let mut shown: Vec<Arc<PublishedFile>> = Vec::new();
    let mut left_out = Vec::new();
    for file in files {
        let pid = file.definition.owner.pid;
        if !file.definition.has_same_counters(chosen) {
            left_out.push(format!("process {pid} publishes other counters: left out"));
        } else if !chosen.has_instances && !shown.is_empty() {
            left_out.push(format!("process {pid} publishes it too, without instances: left out"));
        } else {
            shown.push(Arc::clone(file));
        }
    }
    Members::new(shown, left_out)
}

impl Roster for PublishedCounters {
    fn changed(&mut self, _: &Ask) -> Option<Vec<Arc<dyn Provider>>> {
        let now = Instant::now();
        let looked = self.looked.replace(now);
        if looked.is_some_and(|looked| now.duration_since(looked) < self.every) {
            self.looked = looked;
            return None;
        }
        self.look().then(|| self.arrange())
    }

    fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl Folder {
    fn new(path: PathBuf, user: Option<User>) -> Self {
        Self { path, user, listing: Listing::default() }
    }

    /// Adds the contents of the folder to `out`, if they may have changed, and removes incomplete
    /// files of ended processes.
    fn list(&mut self, out: &mut Vec<Listed>) {
        if !self.listing.is_due(&self.path) {
            return;
        }
        let mut paths = Vec::new();
        let (mut seen, mut unfinished) = (0, 0);
        let entries = std::fs::read_dir(&self.path).into_iter().flatten();
        for entry in entries.flatten().take(MOST_ENTRIES) {
            seen += 1;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(SUFFIX) {
                paths.push(entry.path());
            } else if name.ends_with(UNFINISHED) && unfinished < MOST_NAMES {
                unfinished += 1;
                // A process that was killed while creating a file may never publish again.
                os::clear_away(&entry.path());
            }
        }
        let is_cut = seen == MOST_ENTRIES || paths.len() > MOST_NAMES;
        if paths.len() > MOST_NAMES {
            paths = part_of_each(paths, MOST_NAMES);
        }
        paths.sort();
        let (folder, user) = (self.path.clone(), self.user.clone());
        out.push(Listed { folder, paths, is_cut, user });
    }
}

/// Chooses at most `most` of a folder's files, shared among users as [`share::fair`] says, so that
/// many files of one user do not displace those of others.
fn part_of_each(paths: Vec<PathBuf>, most: usize) -> Vec<PathBuf> {
    let mut users: BTreeMap<Option<User>, Vec<PathBuf>> = BTreeMap::new();
    for path in paths {
        users.entry(os::owner_of(&path)).or_default().push(path);
    }
    let wanted: Vec<u64> = users.values().map(|paths| paths.len() as u64).collect();
    let shares = share::fair(&wanted, most as u64);
    let parts = users.into_values().zip(shares).flat_map(|(mut paths, share)| {
        paths.sort();
        paths.truncate(usize::try_from(share).unwrap_or(usize::MAX));
        paths
    });
    parts.collect()
}
