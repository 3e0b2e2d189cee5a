//! [`PublishedCategory`] and [`PublishedInstance`]: the counters that this process publishes.

use crate::counter::{PairCounter, PublishedCounter};
use crate::definition::{CounterDeclaration, Declared, Places};
use crate::error::{PublishError, PublishErrorKind};
use crate::layout::{
    ALIGN, ALIVE, CHANGING, FREE, LIVE, ONE_USE, PHASE, READY, SLOT, WITHDRAWN, live, slot,
};
use crate::os::{self, ForkGuard, Owner, PublishedFile};
use perfhive_format::{DetailLevel, FileTime};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

/// The lifetime of an instance: until its removal, or only until its last handle is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lifetime {
    /// The instance lasts until it is removed, its category's file is removed, or the process ends.
    #[default]
    Process,
    /// The instance also ends when the last handle to it or to one of its counters is dropped.
    Handles,
}

/// A builder of a [`PublishedCategory`].
#[derive(Clone, Debug)]
pub struct CategoryBuilder {
    declared: Declared,
    folder: Option<PathBuf>,
}

impl CategoryBuilder {
    /// Sets the category's help text.
    #[must_use]
    pub fn help(mut self, help: &str) -> Self {
        self.declared.help = help.to_string();
        self
    }

    /// Sets the category's level of detail, novice (for everyone) by default.
    #[must_use]
    pub fn detail(mut self, detail: DetailLevel) -> Self {
        self.declared.detail = detail;
        self
    }

    /// Gives the category instances, at most `most` at a time. Memory for `most` instances is taken
    /// when the category is published.
    #[must_use]
    pub fn instances(mut self, most: usize) -> Self {
        self.declared.instances = Some(most);
        self
    }

    /// Sets the greatest length of an instance's name, in bytes of UTF-8; 256 by default.
    #[must_use]
    pub fn longest_name(mut self, bytes: usize) -> Self {
        self.declared.longest_name = bytes;
        self
    }

    /// Adds a counter to the category.
    #[must_use]
    pub fn counter(mut self, counter: CounterDeclaration) -> Self {
        self.declared.counters.push(counter);
        self
    }

    /// Adds several counters to the category.
    #[must_use]
    pub fn counters(mut self, counters: impl IntoIterator<Item = CounterDeclaration>) -> Self {
        self.declared.counters.extend(counters);
        self
    }

    /// Sets the counter that a tool should show first, by its position from 0.
    #[must_use]
    pub fn default_counter(mut self, place: u32) -> Self {
        self.declared.default_counter = Some(place);
        self
    }

    /// Publishes in another folder than the usual one. Readers must know the folder, for instance
    /// by the variable `PERFHIVE_COUNTERS`.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Creates the file, which readers find from now on. Also removes files from the folder that
    /// ended processes of this user left there.
    ///
    /// # Errors
    /// If the definitions are invalid, or the folder or file cannot be created or used.
    pub fn publish(self) -> Result<PublishedCategory, PublishError> {
        PublishedCategory::publish(self.declared, self.folder)
    }
}

/// A category of counters that this process publishes. Clones are handles to the same category. Its
/// file is removed when the last of these handles is dropped; handles to instances and counters do
/// not keep it.
#[derive(Clone, Debug)]
pub struct PublishedCategory(Arc<Published>);

/// A category that is published; dropping it removes the category's file.
#[derive(Debug)]
struct Published(Arc<Shared>);

/// The state that instances and handles keep alive: the mapping of the file, and the table of
/// slots.
#[derive(Debug)]
pub(crate) struct Shared {
    declared: Declared,
    places: Places,
    file: PublishedFile,
    guard: ForkGuard,
    table: Mutex<Table>,
}

/// The instances of a category, and the use of its slots.
#[derive(Debug, Default)]
struct Table {
    instances: HashMap<String, Entry>,
    /// The numbers of slots that are free and to which no handle is left.
    free: Vec<usize>,
    /// The number of slots that were ever used. The slots from this number on were never used.
    used: usize,
}

/// An instance in the table.
#[derive(Debug)]
enum Entry {
    /// An instance with [`Lifetime::Process`], which the table keeps alive.
    Kept(Arc<InstanceShared>),
    /// An instance with [`Lifetime::Handles`], which only its handles keep alive.
    Followed(Weak<InstanceShared>),
}

impl Entry {
    fn get(&self) -> Option<Arc<InstanceShared>> {
        match self {
            Self::Kept(instance) => Some(Arc::clone(instance)),
            Self::Followed(instance) => instance.upgrade(),
        }
    }
}

impl PublishedCategory {
    /// Starts building a category without instances or counters.
    #[must_use]
    pub fn builder(name: &str) -> CategoryBuilder {
        let declared = Declared {
            name: name.to_string(),
            help: String::new(),
            detail: DetailLevel::NOVICE,
            default_counter: None,
            counters: Vec::new(),
            instances: None,
            longest_name: 256,
        };
        CategoryBuilder { declared, folder: None }
    }

    fn publish(declared: Declared, folder: Option<PathBuf>) -> Result<Self, PublishError> {
        let places = declared.places()?;
        let folder = folder.map_or_else(os::folder_to_publish_in, Ok).map_err(|error| {
            PublishError::io("cannot publish in", Path::new("the user's folder"), error)
        })?;
        os::make_folder(&folder)
            .map_err(|error| PublishError::io("cannot publish in", &folder, error))?;
        os::tidy_up(&folder);
        let guard = ForkGuard::this()
            .map_err(|error| PublishError::io("no memory to publish in", &folder, error))?;
        let owner = Owner::this();
        let file = make_file(&declared, &places, &folder, &owner)
            .map_err(|error| PublishError::io("cannot publish in", &folder, error))?;
        let multiple = declared.instances.is_some();
        let shared = Shared { declared, places, file, guard, table: Mutex::default() };
        let category = Self(Arc::new(Published(Arc::new(shared))));
        if !multiple {
            category.instance_with("", Lifetime::Process, None)?;
        }
        Ok(category)
    }

    /// The category's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared().declared.name
    }

    /// The path of the category's file, which exists as long as the category.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared().file.path
    }

    /// A counter of a category without instances, by its name in any case of ASCII letters.
    ///
    /// # Errors
    /// [`PublishErrorKind::BadName`] if there is no such counter, it has a base (see
    /// [`pair`](Self::pair)), or the category has instances. [`PublishErrorKind::Forked`] if the
    /// category belongs to the process from which this process was forked.
    pub fn counter(&self, name: &str) -> Result<PublishedCounter, PublishError> {
        self.only()?.counter(name)
    }

    /// A counter with a base, of a category without instances.
    ///
    /// # Errors
    /// As [`counter`](Self::counter), but [`PublishErrorKind::BadName`] for a counter without a
    /// base.
    pub fn pair(&self, name: &str) -> Result<PairCounter, PublishError> {
        self.only()?.pair(name)
    }

    /// The only instance of a category without instances.
    fn only(&self) -> Result<PublishedInstance, PublishError> {
        if self.shared().declared.instances.is_some() {
            let message = format!("{:?} has instances: name one", self.name());
            return Err(PublishError::new(PublishErrorKind::BadName, message));
        }
        self.instance_with("", Lifetime::Process, None)
    }

    /// The instance called `name`. A missing instance is created, with [`Lifetime::Process`].
    ///
    /// # Errors
    /// If the category has no instances or is full, the name is invalid, or the category belongs to
    /// the process from which this process was forked.
    pub fn instance(&self, name: &str) -> Result<PublishedInstance, PublishError> {
        self.check_name(name)?;
        self.instance_with(name, Lifetime::Process, None)
    }

    /// As [`instance`](Self::instance), with another lifetime and, if given, a unique number, by
    /// which readers tell the instance from instances of the same name that other processes
    /// publish. If the category already has an instance of this name, that instance is returned,
    /// with its own lifetime and number.
    ///
    /// # Errors
    /// As [`instance`](Self::instance).
    pub fn instance_of(
        &self,
        name: &str,
        lifetime: Lifetime,
        unique_id: Option<u32>,
    ) -> Result<PublishedInstance, PublishError> {
        self.check_name(name)?;
        self.instance_with(name, lifetime, unique_id)
    }

    fn check_name(&self, name: &str) -> Result<(), PublishError> {
        let declared = &self.shared().declared;
        let bad = |message: String| Err(PublishError::new(PublishErrorKind::BadName, message));
        if declared.instances.is_none() {
            return bad(format!("{:?} has no instances", declared.name));
        }
        if name.is_empty() || name.contains('\0') {
            return bad(format!("{name:?} is not a name of an instance"));
        }
        if name.len() > declared.longest_name {
            let (length, most) = (name.len(), declared.longest_name);
            return bad(format!(
                "a name of {length} bytes: {:?} has at most {most}",
                declared.name
            ));
        }
        Ok(())
    }

    fn instance_with(
        &self,
        name: &str,
        lifetime: Lifetime,
        unique_id: Option<u32>,
    ) -> Result<PublishedInstance, PublishError> {
        let shared = self.shared();
        if !shared.guard.holds() {
            return Err(PublishError::forked());
        }
        let mut table = shared.table();
        if let Some(instance) = table.instances.get(name).and_then(Entry::get) {
            return Ok(PublishedInstance(instance));
        }
        let slot = match table.free.pop() {
            Some(slot) => slot,
            None if table.used < shared.places.slots => {
                table.used += 1;
                table.used - 1
            }
            None => {
                let most = shared.places.slots;
                let message = format!(
                    "{:?} was declared with {most} instances, and as many are in use (one \
                     that was removed is for as long as there are handles to it)",
                    shared.declared.name
                );
                return Err(PublishError::new(PublishErrorKind::Full, message));
            }
        };
        shared.occupy(slot, name, unique_id, table.used);
        let instance =
            Arc::new(InstanceShared { category: Arc::clone(shared), slot, name: name.to_string() });
        let entry = match lifetime {
            Lifetime::Process => Entry::Kept(Arc::clone(&instance)),
            Lifetime::Handles => Entry::Followed(Arc::downgrade(&instance)),
        };
        table.instances.insert(name.to_string(), entry);
        Ok(PublishedInstance(instance))
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }
}

/// Creates the file under a name that was never used.
fn make_file(
    declared: &Declared,
    places: &Places,
    folder: &Path,
    owner: &Owner,
) -> std::io::Result<PublishedFile> {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let start: String = declared.name.chars().take(40).map(safe).collect();
    let mut tries = 0;
    loop {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let nanos = i128::try_from(now.as_nanos()).unwrap_or(0);
        let created = FileTime::from_unix_nanos(nanos);
        let definition = declared.encode(places, owner, created.0 as u64);
        let stem = format!("{start}-{}-{nanos:x}", owner.pid);
        let made = os::publish(folder, &stem, places.file_size, |mapping| {
            mapping.write(0, &definition);
            if let Some(state) = mapping.word(places.live_at + live::STATE) {
                state.store(READY, Ordering::Release);
            }
        });
        tries += 1;
        match made {
            // Another process uses this file name, or removed the file before it was locked.
            Err(error)
                if tries < 8
                    && matches!(
                        error.kind(),
                        std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotFound
                    ) => {}
            made => return made,
        }
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        // No code between two changes of the table can panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // Offsets are laid out within the file (`Declared::places`). Any other offset writes to a
        // number that is never read.
        static NOWHERE: AtomicU64 = AtomicU64::new(0);
        self.file.mapping.word(offset).unwrap_or(&NOWHERE)
    }

    fn slot_state(&self, slot: usize) -> &AtomicU64 {
        self.word(self.slot_at(slot) + slot::STATE)
    }

    /// The offset in bytes of a slot's entry in the slot table.
    fn slot_at(&self, slot: usize) -> usize {
        self.places.live_at + LIVE + slot * SLOT
    }

    /// Gives a slot, to which no handle refers, to a new instance. `used` is the number of slots
    /// that were ever used, this slot included.
    fn occupy(&self, slot: usize, name: &str, unique_id: Option<u32>, used: usize) {
        let state = self.slot_state(slot);
        let use_number = state.load(Ordering::Relaxed) & !PHASE;
        state.store(use_number | CHANGING, Ordering::Relaxed);
        fence(Ordering::Release);
        let values = self.places.values_at + slot * self.places.values_size;
        for offset in (values..values + self.places.values_size).step_by(8) {
            self.word(offset).store(0, Ordering::Relaxed);
        }
        let mapping = &self.file.mapping;
        if self.places.name_size > 0 {
            mapping.write(self.places.names_at + slot * self.places.name_size, name.as_bytes());
        }
        // Two numbers of 32 bits: the instance's number, and the length of its name.
        let unique_id = unique_id.map_or(u32::MAX, |id| id.min(u32::MAX - 1));
        let both = u64::from(unique_id) | (name.len() as u64) << 32;
        let at = self.slot_at(slot);
        const _: () = assert!(slot::NAME_LENGTH == slot::UNIQUE_ID + 4);
        self.word(at + slot::UNIQUE_ID).store(both, Ordering::Relaxed);
        state.store(use_number.wrapping_add(ONE_USE) | ALIVE, Ordering::Release);
        let live = self.places.live_at;
        self.word(live + live::USED).store(used as u64, Ordering::Release);
        self.count_change();
    }

    /// Hides the instance of a slot from readers.
    fn vacate(&self, slot: usize) {
        let state = self.slot_state(slot);
        let old = state.load(Ordering::Relaxed);
        if old & PHASE == ALIVE {
            state.store(old & !PHASE | FREE, Ordering::Release);
            self.count_change();
        }
    }

    /// Raises the count of changes, by which readers see that instances came or went. Must be
    /// called with the table locked.
    fn count_change(&self) {
        let generation = self.word(self.places.live_at + live::GENERATION);
        let next = generation.load(Ordering::Relaxed).wrapping_add(1);
        generation.store(next, Ordering::Release);
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        let shared = &self.0;
        if !shared.guard.holds() {
            return; // It is the category of the process this one was forked from.
        }
        let state = shared.word(shared.places.live_at + live::STATE);
        state.store(WITHDRAWN, Ordering::Release);
        shared.file.withdraw();
        // The instances take the table's lock when they are dropped, so it is released first.
        let instances = std::mem::take(&mut shared.table().instances);
        drop(instances);
    }
}

/// An instance of a category; a category without instances has exactly one, without a name. Clones
/// are handles to the same instance.
#[derive(Clone, Debug)]
pub struct PublishedInstance(Arc<InstanceShared>);

/// The state of an instance that its handles share. The instance's slot is not used again while
/// this state is alive, so that handles to a removed instance write to a place that no reader looks
/// at.
#[derive(Debug)]
pub(crate) struct InstanceShared {
    category: Arc<Shared>,
    slot: usize,
    name: String,
}

impl PublishedInstance {
    /// The instance's name; empty in a category without instances.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// A counter of this instance, by its name in any case of ASCII letters.
    ///
    /// # Errors
    /// [`PublishErrorKind::BadName`] if there is no such counter, or it has a base: see
    /// [`pair`](Self::pair).
    pub fn counter(&self, name: &str) -> Result<PublishedCounter, PublishError> {
        let (at, definition) = self.find(name)?;
        if definition.base_type.is_some() {
            let message = format!("{name:?} has a base: use pair()");
            return Err(PublishError::new(PublishErrorKind::BadName, message));
        }
        Ok(PublishedCounter::new(self.0.clone(), self.0.word(at), self.0.category.guard))
    }

    /// A counter of this instance that has a base.
    ///
    /// # Errors
    /// [`PublishErrorKind::BadName`] if there is no such counter, or it has no base.
    pub fn pair(&self, name: &str) -> Result<PairCounter, PublishError> {
        let (at, definition) = self.find(name)?;
        if definition.base_type.is_none() {
            let message = format!("{name:?} has no base: use counter()");
            return Err(PublishError::new(PublishErrorKind::BadName, message));
        }
        let words = std::array::from_fn(|place| self.0.word(at + place * 8));
        Ok(PairCounter::new(self.0.clone(), words, self.0.category.guard))
    }

    /// The offset in the file of the cells of a counter, and the counter's declaration. The case of
    /// ASCII letters in the name is ignored.
    fn find(&self, name: &str) -> Result<(usize, &CounterDeclaration), PublishError> {
        let Shared { declared, places, .. } = &*self.0.category;
        let mut counters = declared.counters.iter().zip(&places.cells);
        let found = counters.find(|(counter, _)| counter.name.eq_ignore_ascii_case(name));
        let (counter, cell) = found.ok_or_else(|| {
            let message = format!("{:?} has no counter {name:?}", declared.name);
            PublishError::new(PublishErrorKind::BadName, message)
        })?;
        debug_assert!(cell.is_multiple_of(8) && places.values_size.is_multiple_of(ALIGN));
        Ok((places.values_at + self.0.slot * places.values_size + cell, counter))
    }

    /// Removes the instance: readers no longer see it, and its name is free. Counts through
    /// remaining handles are lost. Does nothing in a process that did not create the category, such as a
    /// forked child.
    pub fn remove(self) {
        let shared = &self.0.category;
        if !shared.guard.holds() {
            return;
        }
        let mut table = shared.table();
        let entry = self.0.take_entry(&mut table);
        shared.vacate(self.0.slot);
        drop(table);
        drop(entry); // Never the last handle, as `self` is one.
    }
}

impl InstanceShared {
    /// The 64-bit number at an offset of the file, in bytes.
    fn word(&self, offset: usize) -> &AtomicU64 {
        self.category.word(offset)
    }

    /// Removes the entry of this instance from the table, and returns it; `None` if the name
    /// belongs to another instance by now, or to none.
    fn take_entry(&self, table: &mut Table) -> Option<Entry> {
        let entry = table.instances.get(&self.name)?;
        let own = match entry {
            Entry::Kept(instance) => std::ptr::eq(Arc::as_ptr(instance), self),
            Entry::Followed(instance) => std::ptr::eq(instance.as_ptr(), self),
        };
        if own { table.instances.remove(&self.name) } else { None }
    }
}

impl Drop for InstanceShared {
    fn drop(&mut self) {
        if !self.category.guard.holds() {
            return;
        }
        let mut table = self.category.table();
        let entry = self.take_entry(&mut table);
        self.category.vacate(self.slot);
        table.free.push(self.slot);
        drop(table);
        drop(entry); // A weak one.
    }
}
