//! One source for all the categories and counters of a program.

use crate::{OpenOptions, SourceAddress};
use perfhive_engine::{
    Ask, CacheStatistics, Cached, Directory, Fault, Lookup, NamePattern, ObjectQuery, ObjectSample,
    QueryError, Snapshot, Source, SourceError, SourceErrorKind, TitleSet, same_name,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

type Inner = Cached<Box<dyn Source>>;

/// An object of a sample. If the sample lacks the object, the error is the reason, or `None` if no
/// reason is known.
pub(crate) type SampledObject = Result<ObjectSample, Option<Arc<str>>>;

/// A handle to a source that many [categories](crate::Category) and
/// [counters](crate::PerformanceCounter) share. A clone is another reader of the same source; it
/// may go to another thread.
///
/// `local:` is opened once in a process, when it is first needed, and stays open. It is the source
/// of every category and counter that is made without naming a source.
///
/// # Fresh data, or shared
///
/// By default every request is answered from a collection that began after the request; requests
/// that wait at the same time share one collection. With [`max_age`](Self::max_age), counters of one
/// category share kept data too: ten counters that are read in turn cost one collection, and none of
/// them gets the same sample twice.
///
/// # Recordings
///
/// All readers of a recording are at the same sample. A reader that asks for a sample gets the
/// present sample if the reader has not had it yet. Otherwise the request moves the recording to
/// the next sample, for all readers. Listing the instances of a category never moves it.
///
/// ```ignore-windows,ignore-macos
/// use perfhive::{Category, PerformanceCounter, SharedSource};
/// use std::time::Duration;
///
/// let source = SharedSource::local()?.max_age(Duration::from_millis(500));
/// assert!(Category::exists_in(&source, "Memory")?);
/// let mut free = PerformanceCounter::new_in(&source, "Memory", "Available Bytes", "")?;
/// assert!(free.next_value()? > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedSource {
    inner: Inner,
    max_age: Duration,
    /// The language of shown names; `None` for the language that the source prefers.
    language: Option<LanguageId>,
    /// The faults of the last sample.
    faults: Vec<Fault>,
    /// Why the last sample may lack an instance that is there.
    last: Lacks,
}

/// Why a sample may lack an instance that is there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lacks {
    /// Whether the sample came from kept data, so that the instance may be younger than the data.
    pub(crate) young: bool,
    /// Whether the source left out instances that were not asked for.
    pub(crate) others: bool,
}

/// The shared source of this machine; `None` before it is opened.
static LOCAL: Mutex<Option<SharedSource>> = Mutex::new(None);

impl SharedSource {
    /// Makes an opened source a shared one, for any number of readers.
    ///
    /// ```no_run
    /// let source = perfhive::open("file:a.bin,b.bin")?;
    /// let shared = perfhive::SharedSource::new(source);
    /// # Ok::<(), perfhive::SourceError>(())
    /// ```
    #[must_use]
    pub fn new(source: impl Source + 'static) -> Self {
        let inner = Cached::new(Box::new(source) as Box<dyn Source>);
        Self {
            inner,
            max_age: Duration::ZERO,
            language: None,
            faults: Vec::new(),
            last: Lacks::default(),
        }
    }

    /// The shared source of this machine, which is opened once in a process.
    ///
    /// ```ignore-windows,ignore-macos
    /// let source = perfhive::SharedSource::local()?;
    /// assert!(source.is_live());
    /// println!("{} shows {}", source.name(), source.machine()?);
    /// # Ok::<(), perfhive::SourceError>(())
    /// ```
    ///
    /// # Errors
    /// Where this machine's counters cannot be read. The next call tries again.
    pub fn local() -> Result<Self, SourceError> {
        let mut local = LOCAL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = &*local {
            return Ok(source.clone());
        }
        let source = Self::opened(&SourceAddress::local())?;
        Ok(local.insert(source).clone())
    }

    /// Opens the source of an [address](SourceAddress). `local:` gives the
    /// source that [`local`](Self::local) gives; any other address is opened
    /// anew at each call.
    ///
    /// ```ignore-windows,ignore-macos
    /// assert!(perfhive::SharedSource::open("local:").is_ok());
    /// assert!(perfhive::SharedSource::open("file:missing.bin").is_err());
    /// ```
    ///
    /// # Errors
    /// A text that is not an address; a source that cannot be read.
    pub fn open(address: &str) -> Result<Self, SourceError> {
        match address.parse() {
            Ok(address) if address == SourceAddress::local() => Self::local(),
            Ok(address) => Self::opened(&address),
            // Opening returns the error of the address.
            Err(_) => OpenOptions::new().open(address).map(Self::new),
        }
    }

    fn opened(address: &SourceAddress) -> Result<Self, SourceError> {
        let options = OpenOptions::new();
        let source = options.open(&address.to_string())?;
        let inner = crate::later::shared(address, &options, source);
        Ok(Self {
            inner,
            max_age: Duration::ZERO,
            language: None,
            faults: Vec::new(),
            last: Lacks::default(),
        })
    }

    /// The source of the machine with this name, in the form of .NET's `machineName`. `.`,
    /// `localhost`, the empty text and this machine's own name, with or without two backslashes in
    /// front, are this machine. On Windows any other name opens `registry://NAME`, anew each time
    /// and without a call to that machine. On other systems no other machine can be reached by
    /// name; [`new`](Self::new) shares a source with another machine's data.
    ///
    /// ```ignore-windows,ignore-macos
    /// let local = perfhive::SharedSource::of_machine(".")?;
    /// assert!(perfhive::SharedSource::of_machine(&local.machine()?).is_ok());
    /// assert!(perfhive::SharedSource::of_machine(r"\\no.such.machine").is_err());
    /// # Ok::<(), perfhive::SourceError>(())
    /// ```
    ///
    /// # Errors
    /// [`SourceErrorKind::NotFound`] for another machine where none can be reached by name; on
    /// Windows a text that is not a machine name; and as [`local`](Self::local).
    pub fn of_machine(name: &str) -> Result<Self, SourceError> {
        let bare = name.trim_start_matches('\\');
        let local = Self::local()?;
        let own = ["", ".", "localhost"].contains(&bare.to_ascii_lowercase().as_str());
        if own || same_name(bare, &local.machine()?) {
            return Ok(local);
        }
        if cfg!(windows) {
            return Self::open(&SourceAddress::registry(bare).to_string());
        }
        let message = "no source is known for this machine; share one with SharedSource::new";
        Err(SourceError::new(SourceErrorKind::NotFound, name, message))
    }

    /// The same source with another limit to the age of kept data. The limit is zero by default:
    /// every request is then answered from a collection that began after it. The limit has no
    /// effect on recordings.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{PerformanceCounter, SharedSource};
    /// use std::time::Duration;
    /// let source = SharedSource::local()?.max_age(Duration::from_millis(500));
    /// let mut total = 0.0;
    /// // One collection serves all of these.
    /// for instance in ["Idle", "_Total"] {
    ///     let mut set = PerformanceCounter::new_in(&source, "Process", "Working Set", instance)?;
    ///     total += set.next_value().unwrap_or(0.0);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_age(mut self, limit: Duration) -> Self {
        self.max_age = limit;
        self
    }

    /// Whether samples may come from kept data.
    pub(crate) fn may_give_kept(&self) -> bool {
        self.is_live() && !self.max_age.is_zero()
    }

    /// Why the last sample may lack an instance that is there.
    pub(crate) fn lacks(&self) -> Lacks {
        self.last
    }

    /// Sets the limit to the age of kept data; returns the former one.
    pub(crate) fn replace_max_age(&mut self, limit: Duration) -> Duration {
        std::mem::replace(&mut self.max_age, limit)
    }

    /// The same source, with names shown in another language where it has them. The default is
    /// [`Catalogue::preferred_language`](crate::Catalogue::preferred_language): the user's own
    /// where Windows' registry is read, otherwise English if the source has it. Names are
    /// recognised in every language that the source has, whichever is shown.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Category, LanguageId, SharedSource};
    /// let german = SharedSource::local()?.language(LanguageId::GERMAN);
    /// assert_eq!(Category::new_in(&german, "Process")?.name(), "Prozess");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn language(mut self, language: LanguageId) -> Self {
        self.language = Some(language);
        self
    }

    /// The faults of the last sample that this handle took: objects or counters that could not be
    /// read, and warnings.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The name of the machine that the counters belong to.
    ///
    /// # Errors
    /// Where the source cannot list its objects.
    pub fn machine(&self) -> Result<String, SourceError> {
        Ok(self.inner.clone().catalogue(&Ask::nothing())?.machine.clone())
    }

    /// The name of the source, as messages show it.
    #[must_use]
    pub fn name(&self) -> String {
        self.inner.name().to_string()
    }

    /// Whether the source has new samples after a wait: `true` for a live source, `false` for a
    /// recording.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.inner.is_live()
    }

    /// Moves a recording on by one sample, for all its readers. Does nothing for a live source.
    ///
    /// A loop that waits for an instance needs this: listing instances does not move the
    /// recording, and would see the same sample for ever.
    ///
    /// ```ignore-windows,ignore-macos
    /// use perfhive::{Category, QueryError, SharedSource};
    /// fn wait_for(source: &mut SharedSource, process: &str) -> Result<(), QueryError> {
    ///     while !Category::instance_exists_in(source, process, "Process")? {
    ///         source.advance()?;
    ///         if source.is_live() {
    ///             std::thread::sleep(std::time::Duration::from_millis(100));
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// wait_for(&mut SharedSource::local()?, "_Total")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A source that fails, and the end of the recording
    /// ([`is_end_of_data`](SourceError::is_end_of_data)).
    pub fn advance(&mut self) -> Result<(), SourceError> {
        if self.is_live() {
            return Ok(());
        }
        // The present sample and the next one; the reader has had both afterwards.
        let mut reader = self.inner.clone();
        let mut snapshot = Snapshot::new();
        reader.collect(&recorded(), &mut snapshot)?;
        reader.collect(&recorded(), &mut snapshot)
    }

    /// How many collections the source has made, and how many objects and whole answers readers got
    /// without a collection, for all readers together.
    ///
    /// ```ignore-windows,ignore-macos
    /// let source = perfhive::SharedSource::local()?;
    /// println!("{} collections", source.statistics().collections);
    /// # Ok::<(), perfhive::SourceError>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        self.inner.statistics()
    }

    /// A source over the same data, for a [`Query`](crate::Query) beside the counters. From a live
    /// source the query takes data no older than [`max_age`](Self::max_age), as the counters do. A
    /// sample that the query takes of a recording may move the counters on too. A query that lists
    /// instances goes back to its own position, and so moves the recording for all readers.
    ///
    /// ```ignore-windows,ignore-macos
    /// let shared = perfhive::SharedSource::local()?;
    /// let mut query = perfhive::Query::new(shared.source())?;
    /// query.add(r"\Memory\Available Bytes")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn source(&self) -> Cached<Box<dyn Source>> {
        let source = self.inner.clone();
        if self.is_live() { source.max_age(self.max_age) } else { source }
    }

    /// The catalogue's generation, which changes when objects or names do.
    pub(crate) fn generation(&mut self) -> Result<u64, SourceError> {
        self.inner.catalogue(&Ask::nothing()).map(|catalogue| catalogue.generation)
    }

    /// A new lookup of the source, which has names in the shown language.
    fn lookup(&self) -> Result<Lookup<Inner>, SourceError> {
        let mut lookup = Lookup::new(self.inner.clone());
        lookup.prepare(self.language)?;
        Ok(lookup)
    }

    /// Searches for a category and calls `look` with a directory of what was found so far, until
    /// `look` succeeds or nothing more can be found. `category` is a name in any language of the
    /// source, or a title index as text. Returns the directory as it is then, and the result of the
    /// last call, or the source's error if the source cannot tell whether the category exists.
    ///
    /// # Errors
    /// A source that cannot list its objects.
    pub(crate) fn search<T>(
        &self,
        category: &str,
        look: impl Fn(&Directory) -> Result<T, QueryError>,
    ) -> Result<(Directory, Result<T, QueryError>), SourceError> {
        let mut lookup = self.lookup()?;
        let category = NamePattern::literal(category);
        let found = lookup.find_or_suggest(&category, look);
        Ok((lookup.directory().clone(), found))
    }

    /// As [`search`](Self::search), except that an error in place of the result is returned as an
    /// error.
    pub(crate) fn find<T>(
        &self,
        category: &str,
        look: impl Fn(&Directory) -> Result<T, QueryError>,
    ) -> Result<(Directory, T), QueryError> {
        let (directory, found) = self.search(category, look)?;
        Ok((directory, found?))
    }

    /// The titles of every language of the source, the shown language first, with the generation
    /// of the catalogue that they belong to.
    pub(crate) fn all_titles(&self) -> Result<(u64, Arc<TitleSet>), SourceError> {
        let mut lookup = self.lookup()?;
        lookup.load_all_languages(None);
        match lookup.failure() {
            Some(error) => Err(error.clone()),
            None => Ok((lookup.directory().generation, Arc::clone(&lookup.directory().titles))),
        }
    }

    /// A directory of everything that the source has, with names in the shown language.
    pub(crate) fn list(&self) -> Result<Directory, SourceError> {
        let mut lookup = self.lookup()?;
        lookup.list()?;
        Ok(lookup.directory().clone())
    }

    /// Takes a sample that this handle has not had before, and returns one object of it. A live
    /// source gets the ask, with this handle's limit to the age of data; a recording gives its present
    /// sample or the next one.
    pub(crate) fn sample(
        &mut self,
        object: TitleIndex,
        ask: Ask,
    ) -> Result<SampledObject, SourceError> {
        let request = if self.is_live() { ask.max_age(self.max_age) } else { recorded() };
        let mut snapshot = Snapshot::new();
        self.faults.clear();
        self.inner.collect(&request, &mut snapshot)?;
        self.faults.extend_from_slice(snapshot.faults());
        self.last = Lacks { young: !snapshot.age().is_zero(), others: snapshot.is_partial(object) };
        Ok(snapshot.object(object).map(ObjectSample::of).ok_or_else(|| {
            let mut faults = snapshot.faults().iter();
            let fault = faults.find(|fault| fault.object == Some(object));
            fault.map(|fault| Arc::clone(&fault.message))
        }))
    }
}

/// An ask for a whole sample of a recording. Separate asks for single objects would each move the
/// recording on by one sample.
fn recorded() -> Ask {
    Ask::new(ObjectQuery::Global).max_age(Duration::MAX)
}

impl fmt::Debug for SharedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSource")
            .field("name", &self.inner.name())
            .field("max_age", &self.max_age)
            .field("language", &self.language)
            .finish()
    }
}
