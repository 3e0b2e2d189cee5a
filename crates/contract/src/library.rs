//! The three functions of the contract, implemented over any [`Provider`].

mod exports;

use crate::abi::{
    ERROR_FILE_NOT_FOUND, ERROR_GEN_FAILURE, ERROR_INVALID_PARAMETER, ERROR_MORE_DATA,
    ERROR_SUCCESS, Host, read_wide, read_wide_list,
};
use crate::log::Limiter;
use core::ffi::{c_char, c_void};
use perfhive_engine::{
    Ask, Collection, Cost, Fault, Numbering, ObjectQuery, ObjectWriter, OpenContext, Provider,
    ProviderDescription, ProviderError, Session, TestLevel,
};
use perfhive_format::winperf::PERF_DATA_BLOCK;
use perfhive_format::{BlockHead, BlockWriter, TitleIndex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::Instant;

/// The first indexes that registration allotted to a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllottedIndexes {
    /// `First Counter`: the index of the provider's first name.
    pub first_counter: u32,
    /// `First Help`: the index of the provider's first help text.
    pub first_help: u32,
}

/// A function that takes a provider's name and returns the indexes that are allotted to the
/// provider, for loaders that do not pass them: on Windows it looks into the registry. `None` if no
/// indexes are allotted.
pub type IndexLookup = fn(provider: &str) -> Option<AllottedIndexes>;

/// A function that takes a provider's name and returns the linkage of the provider, the
/// NUL-separated strings that Open gets. It is for loaders that do not mark the end of this list:
/// on Windows it looks into the registry. `None` if there is no linkage.
pub type LinkageLookup = fn(provider: &str) -> Option<String>;

/// A function that runs a closure at lowered priority, on this thread or another, and returns when
/// the closure has ended.
pub type Lowered = fn(work: &mut dyn FnMut());

/// A function that keeps a library loaded until the process ends: the one that contains the address
/// `inside`.
pub type PinLibrary = fn(inside: *const c_void);

/// A function that takes a provider's name and a message for the administrator. The messages are
/// already rate-limited.
pub type MessageSink = fn(provider: &str, message: &str);

/// A [`Provider`] behind Open, Collect and Close; [`provider_library!`](crate::provider_library)
/// makes one for a library.
///
/// Open may be called several times, and Collect from many threads. The first Open makes the
/// provider and the last Close drops it. Calls of Collect at the same time use different sessions,
/// from a pool that grows to the largest number of such calls. A panic is caught and reported, and
/// the session that panicked is dropped. (With `panic = "abort"` a panic ends the process.)
pub struct Library {
    make: fn() -> Box<dyn Provider>,
    lookup: IndexLookup,
    report: MessageSink,
    linkage: LinkageLookup,
    lowered: Lowered,
    pin: PinLibrary,
    pinned: Once,
    host: OnceLock<HostCopy>,
    state: Mutex<State>,
    limiter: OnceLock<Mutex<Limiter>>,
}

/// The open provider, and the number of its Opens.
#[derive(Default)]
struct State {
    /// The number of successful calls of Open that were not yet followed by their call of Close.
    opens: u32,
    running: Option<Arc<Running>>,
}

/// A copy of the loader's [`Host`].
struct HostCopy(Host);

// SAFETY: the context is only passed to `report`, which the loader promises to be callable
// from any thread.
unsafe impl Send for HostCopy {}
// SAFETY: as above; the copy itself is never written again.
unsafe impl Sync for HostCopy {}

/// The provider while it is open.
struct Running {
    name: String,
    provider: Box<dyn Provider>,
    description: ProviderDescription,
    linkage: Option<String>,
    indexes: AllottedIndexes,
    pool: Mutex<Vec<Work>>,
}

/// A session, and the buffer that it writes into.
struct Work {
    session: Box<dyn Session>,
    buffer: Vec<u8>,
}

/// The outcome of one call of Collect.
enum CollectOutcome {
    /// Objects, or blocks of other machines: the bytes from `start` on, and the number of objects
    /// in them.
    Data { bytes: Vec<u8>, start: usize, objects: u32 },
    /// No data: the provider has nothing that the request wants, or it failed and the failure is
    /// reported.
    Nothing,
    /// The caller's buffer is too small.
    Full,
}

impl Library {
    /// A library of the provider that `make` makes. `lookup` finds the allotted indexes and
    /// `report` takes the messages, unless the loader passes a [`Host`] that does so.
    #[must_use]
    pub const fn new(
        make: fn() -> Box<dyn Provider>,
        lookup: IndexLookup,
        report: MessageSink,
    ) -> Self {
        Self {
            make,
            lookup,
            report,
            linkage: |_| None,
            lowered: |work| work(),
            pin: |_| {},
            pinned: Once::new(),
            host: OnceLock::new(),
            state: Mutex::new(State { opens: 0, running: None }),
            limiter: OnceLock::new(),
        }
    }

    /// The same library, which looks up the provider's linkage with `linkage`. The provider gets
    /// the list that is found if its first string is what the loader passed to Open, and otherwise
    /// what the loader passed.
    #[must_use]
    pub const fn linkage(mut self, linkage: LinkageLookup) -> Self {
        self.linkage = linkage;
        self
    }

    /// The same library, which collects costly objects with `lowered`: for loaders that call
    /// Collect on the reader's thread. Perfhive's own loader uses a thread of lowered priority.
    #[must_use]
    pub const fn lowered(mut self, lowered: Lowered) -> Self {
        self.lowered = lowered;
        self
    }

    /// The same library, which stays loaded from the first Open on: for loaders that unload it
    /// after Close, or after each request. Otherwise threads of the provider would go on in
    /// unloaded code, and each loading would cost memory that unloading does not return.
    #[must_use]
    pub const fn pin(mut self, pin: PinLibrary) -> Self {
        self.pin = pin;
        self
    }

    /// Keeps a copy of the [`Host`] that the loader passes. NULL and a structure that is shorter
    /// than [`Host`] are ignored. Once a copy is kept, later calls change nothing.
    ///
    /// # Safety
    /// `host` is NULL or points to a [`Host`] with a function that can be called with its context,
    /// from any thread, as long as this library is in use.
    pub unsafe fn host(&self, host: *const Host) {
        if host.is_null() {
            return;
        }
        // SAFETY: the caller promises a structure of at least its first field.
        let size = unsafe { host.cast::<u32>().read_unaligned() };
        if size as usize >= size_of::<Host>() {
            // SAFETY: the structure is as long as it says.
            let copy = HostCopy(unsafe { host.read_unaligned() });
            // The first host stays: its context is in use.
            let _ = self.host.set(copy);
        }
    }

    /// Answers a loader's call of Open. If the provider is not open, it is made, and a session is
    /// opened. Returns a Windows error code: `ERROR_FILE_NOT_FOUND` if the provider needs allotted
    /// indexes and has none, `ERROR_GEN_FAILURE` if the provider fails or panics. The reason is
    /// reported.
    ///
    /// # Safety
    /// `linkage` is NULL or a string: on Windows up to a NUL, elsewhere up to
    /// two (`REG_MULTI_SZ`).
    pub unsafe fn open(&self, linkage: *const u16) -> u32 {
        // SAFETY: as promised by the caller. A Windows registration may hold a single
        // string, so that only one NUL is certain there.
        let linkage =
            unsafe { if cfg!(windows) { read_wide(linkage) } else { read_wide_list(linkage) } };
        // `self` is a static of the library: its address lies in it.
        self.pinned.call_once(|| (self.pin)(core::ptr::from_ref(self).cast()));
        let mut state = lock(&self.state);
        if state.running.is_none() {
            match self.contained("provider library", || self.start(linkage)) {
                Some(Ok(running)) => state.running = Some(Arc::new(running)),
                Some(Err(code)) => return code,
                None => return ERROR_GEN_FAILURE,
            }
        }
        state.opens = state.opens.saturating_add(1);
        ERROR_SUCCESS
    }

    /// Makes the provider and opens its first session. `Err` is the error code of Open.
    fn start(&self, linkage: Option<String>) -> Result<Running, u32> {
        let provider = (self.make)();
        let told = self
            .contained("provider library", || (provider.name().to_string(), provider.describe()));
        let Some((name, mut description)) = told else {
            let _ = self.contained("provider library", || drop(provider));
            return Err(ERROR_GEN_FAILURE);
        };
        let told = self.host.get().map(|HostCopy(host)| AllottedIndexes {
            first_counter: host.first_counter,
            first_help: host.first_help,
        });
        let allotted = told
            .filter(|indexes| *indexes != AllottedIndexes::default())
            .or_else(|| (self.lookup)(&name));
        let indexes = match (description.numbering, allotted) {
            (Numbering::Windows, _) => AllottedIndexes::default(),
            (Numbering::Allotted, Some(indexes)) => indexes,
            (Numbering::Allotted, None) => {
                let message = format!(
                    "no indexes are allotted to it: it must be registered under this name \
                     (drivername={name} in its .ini file)"
                );
                self.tell(&name, &message);
                return Err(ERROR_FILE_NOT_FOUND);
            }
        };
        shift(&mut description, indexes.first_counter);
        let linkage = linkage.map(|first| {
            let whole = (self.linkage)(&name);
            // A list that begins with another string belongs to another registration of the same
            // library.
            let is_this = |list: &String| list.split('\0').next() == Some(&first);
            whole.filter(is_this).unwrap_or(first)
        });
        let running =
            Running { name, provider, description, linkage, indexes, pool: Mutex::default() };
        match self.contained(&running.name, || running.open()) {
            Some(Ok(work)) => {
                lock(&running.pool).push(work);
                return Ok(running);
            }
            Some(Err(error)) => self.tell(&running.name, &format!("Open failed: {error}")),
            None => {}
        }
        self.drop_contained(running);
        Err(ERROR_GEN_FAILURE)
    }

    /// Answers a loader's call of Collect: writes the requested objects of the provider into the
    /// caller's buffer. Returns a Windows error code: `ERROR_MORE_DATA` if the buffer is too small,
    /// `ERROR_INVALID_PARAMETER` if `data`, `bytes` or `object_types` is NULL, or if `*data` is
    /// NULL and there is data to write. On success `*data` points behind the written data.
    /// `ERROR_SUCCESS` with counts of 0 means that the request is invalid, or that the provider is
    /// not open, has nothing to give or failed; a failure is reported.
    ///
    /// # Safety
    /// `value` is NULL or a string up to a NUL; the other pointers are NULL or
    /// may be read and written, and `*data` points to `*bytes` bytes that may
    /// be written.
    pub unsafe fn collect(
        &self,
        value: *const u16,
        data: *mut *mut c_void,
        bytes: *mut u32,
        object_types: *mut u32,
    ) -> u32 {
        if data.is_null() || bytes.is_null() || object_types.is_null() {
            return ERROR_INVALID_PARAMETER;
        }
        // SAFETY: neither is NULL, so the caller promises that they can be read
        // and written.
        let room = unsafe {
            object_types.write_unaligned(0);
            let room = bytes.read_unaligned();
            bytes.write_unaligned(0);
            room as usize
        };
        // SAFETY: as promised by the caller.
        let query = unsafe { read_wide(value) }.and_then(|text| text.parse::<ObjectQuery>().ok());
        let Some(query) = query else { return ERROR_SUCCESS };
        let Some(running) = lock(&self.state).running.clone() else { return ERROR_SUCCESS };
        // SAFETY: as promised by the caller; `*bytes` was the room.
        let code = unsafe { self.fill(&running, query, room, (data, bytes, object_types)) };
        self.leave(running);
        code
    }

    /// Writes the requested objects into the buffer. Returns the error code of Collect.
    ///
    /// # Safety
    /// The pointers may be read and written, and the first of them points to `room` bytes
    /// that may be written.
    unsafe fn fill(
        &self,
        running: &Running,
        query: ObjectQuery,
        room: usize,
        (data, bytes, object_types): (*mut *mut c_void, *mut u32, *mut u32),
    ) -> u32 {
        let answer = self.contained(&running.name, || self.answer(running, query, room));
        let (written, start, objects) = match answer {
            Some(CollectOutcome::Data { bytes, start, objects }) => (bytes, start, objects),
            Some(CollectOutcome::Full) => return ERROR_MORE_DATA,
            Some(CollectOutcome::Nothing) | None => return ERROR_SUCCESS,
        };
        let out = written.get(start..).unwrap_or_default();
        if out.len() > room {
            return ERROR_MORE_DATA;
        }
        // SAFETY: `*data` can be read; it points to `room` bytes that may be
        // written and that no other code uses, and `out` is not longer.
        unsafe {
            let place = data.read_unaligned();
            if place.is_null() {
                return if out.is_empty() { ERROR_SUCCESS } else { ERROR_INVALID_PARAMETER };
            }
            core::ptr::copy_nonoverlapping(out.as_ptr(), place.cast(), out.len());
            data.write_unaligned(place.cast::<u8>().add(out.len()).cast());
            bytes.write_unaligned(out.len() as u32);
            object_types.write_unaligned(objects);
        }
        running.keep_buffer(written);
        ERROR_SUCCESS
    }

    /// The provider's answer to a query: objects of at most `room` bytes, or the blocks of other
    /// machines.
    fn answer(&self, running: &Running, query: ObjectQuery, room: usize) -> CollectOutcome {
        let wanted = wanted(&running.description, &query);
        let foreign = matches!(query, ObjectQuery::Foreign(_));
        if wanted.is_empty() && !(foreign && running.provider.answers_foreign()) {
            return CollectOutcome::Nothing;
        }
        let taken = lock(&running.pool).pop();
        let opened = taken.map_or_else(|| running.open(), Ok);
        let name = &*running.name;
        let mut work = match opened {
            Ok(work) => work,
            Err(error) => {
                self.tell(name, &format!("no further session can be opened: {error}"));
                return CollectOutcome::Nothing;
            }
        };
        let mut writer = BlockWriter::with_buffer(std::mem::take(&mut work.buffer));
        writer.start(&BlockHead::default());
        let start = writer.len();
        writer.set_limit(start.saturating_add(room));
        let request = Ask::new(query);
        let (mut faults, mut blocks) = (Vec::new(), Vec::new());
        let mut out =
            ObjectWriter::new(&mut writer, name, TestLevel::All, &mut faults, &mut blocks);
        let mut outcome = None;
        let mut collect = || {
            let collection = Collection::new(&request, &wanted);
            outcome = self.contained(name, || work.session.collect(&collection, &mut out));
        };
        if is_costly(&running.description, &wanted) {
            (self.lowered)(&mut collect)
        } else {
            collect()
        }
        faults.iter().for_each(|fault: &Fault| self.tell(name, &fault.message));
        let objects = writer.object_count();
        let mut buffer = writer.into_buffer();
        let Some(outcome) = outcome else {
            // The session is dropped, since its state after a panic is unknown.
            let _ = self.contained(name, || drop(work));
            return CollectOutcome::Nothing;
        };
        lock(&running.pool).push(work);
        match outcome {
            Ok(()) => {}
            Err(ProviderError::Full) => return CollectOutcome::Full,
            Err(error) => {
                self.tell(name, &format!("Collect failed: {error}"));
                return CollectOutcome::Nothing;
            }
        }
        if !foreign {
            return CollectOutcome::Data { bytes: buffer, start, objects };
        }
        // Blocks with headers of their own, one behind the other.
        buffer.clear();
        let mut objects = 0u32;
        for block in &blocks {
            buffer.extend_from_slice(block);
            let count = PERF_DATA_BLOCK::read(block).map_or(0, |head| head.NumObjectTypes);
            objects = objects.saturating_add(count);
        }
        CollectOutcome::Data { bytes: buffer, start: 0, objects }
    }

    /// Answers a loader's call of Close. When Close was called as often as Open succeeded, the
    /// provider is dropped, once no Collect is in progress. Returns `ERROR_SUCCESS` always.
    pub fn close(&self) -> u32 {
        let mut state = lock(&self.state);
        state.opens = state.opens.saturating_sub(1);
        if state.opens == 0 {
            let running = state.running.take();
            drop(state);
            if let Some(running) = running {
                self.leave(running);
            }
        }
        ERROR_SUCCESS
    }

    /// Gives up one reference to the provider. The provider is dropped with the last reference,
    /// which after Close may be that of a thread that still collects.
    fn leave(&self, running: Arc<Running>) {
        if let Some(running) = Arc::into_inner(running) {
            self.drop_contained(running);
        }
    }

    /// Drops each session and the provider separately, since a second panic during the first would
    /// end the process.
    fn drop_contained(&self, running: Running) {
        let Running { name, provider, pool, .. } = running;
        for work in pool.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let _ = self.contained(&name, || drop(work));
        }
        let _ = self.contained(&name, || drop(provider));
    }

    /// Runs code that may panic, and returns its result. `None` after a panic, which is reported.
    fn contained<T>(&self, name: &str, body: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(value) => Some(value),
            Err(panic) => {
                let text = panic
                    .downcast_ref::<&str>()
                    .copied()
                    .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
                let message = format!("the provider panicked: {}", text.unwrap_or("no message"));
                // Dropping the payload of a panic may panic as well.
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(panic)));
                dropped.unwrap_or_else(std::mem::forget);
                self.tell(name, &message);
                None
            }
        }
    }

    /// Passes a message to the loader or, if the loader takes none, at a limited rate to the report
    /// function of the library.
    fn tell(&self, provider: &str, message: &str) {
        if let Some(HostCopy(host)) = self.host.get()
            && let Some(report) = host.report
        {
            // SAFETY: the loader promises that the host's function can be called with its
            // context and a text of this length.
            unsafe { report(host.context, message.as_ptr().cast::<c_char>(), message.len()) };
            return;
        }
        let limiter = self.limiter.get_or_init(Mutex::default);
        let line = lock(limiter).pass(message, Instant::now());
        if let Some(line) = line {
            (self.report)(provider, &line);
        }
    }
}

impl Running {
    /// Opens a session of the provider.
    fn open(&self) -> Result<Work, ProviderError> {
        let context = OpenContext::new(
            self.linkage.as_deref(),
            self.indexes.first_counter,
            self.indexes.first_help,
        );
        Ok(Work { session: self.provider.open(&context)?, buffer: Vec::new() })
    }

    /// Gives a buffer to the last session of the pool if that session has a smaller one; otherwise
    /// drops the buffer.
    fn keep_buffer(&self, buffer: Vec<u8>) {
        if let Some(work) = lock(&self.pool).last_mut()
            && work.buffer.capacity() < buffer.capacity()
        {
            work.buffer = buffer;
        }
    }
}

/// The title indexes of the provider's objects that a query wants, and of the objects that come
/// along with them (`brings`). A list of indexes does not select objects of other machines
/// ([`Cost::Foreign`]).
fn wanted(description: &ProviderDescription, query: &ObjectQuery) -> Vec<TitleIndex> {
    let is_wanted = |cost: Cost, name: TitleIndex| match query {
        ObjectQuery::Global => cost == Cost::Global,
        ObjectQuery::Costly => cost == Cost::Costly,
        ObjectQuery::Foreign(_) => cost == Cost::Foreign,
        ObjectQuery::Indexes(list) => cost != Cost::Foreign && list.contains(&name),
    };
    let mut wanted = Vec::new();
    for object in &description.objects {
        if is_wanted(object.cost, object.spec.name) {
            for name in object.brings.iter().chain([&object.spec.name]) {
                if !wanted.contains(name) {
                    wanted.push(*name);
                }
            }
        }
    }
    wanted
}

/// Whether any of the wanted objects has the cost [`Cost::Costly`].
fn is_costly(description: &ProviderDescription, wanted: &[TitleIndex]) -> bool {
    let objects = description.objects.iter();
    objects.filter(|o| o.cost == Cost::Costly).any(|object| wanted.contains(&object.spec.name))
}

/// Adds `first_counter` to the numbers of a description's objects, also of those that come along,
/// which turns offsets into title indexes. The numbers of the counters are left as they are.
fn shift(description: &mut ProviderDescription, first_counter: u32) {
    let shift = |index: &mut TitleIndex| index.0 = index.0.saturating_add(first_counter);
    for object in &mut description.objects {
        shift(&mut object.spec.name);
        object.brings.iter_mut().for_each(shift);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is whole at every moment, so that a panic cannot spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
