//! Definitions of providers, and the [`Registrar`], which keeps their registrations: in the
//! registry of Windows or in files elsewhere.

use crate::registration::{
    InstanceKind, RegisteredCounter, RegisteredObject, Registration, Registrations,
};
use perfhive_engine::ProvidedTitles;
use perfhive_format::{CounterType, TitleIndex};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The content of a definition file, before indexes are allotted: a name or an object has its
/// offset from First Counter, and a help text its offset from First Help.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderDefinition {
    /// The name of the service (`drivername`).
    pub name: String,
    /// Offsets of the objects' names; empty if the file does not list the objects.
    pub objects: Vec<u32>,
    /// Names and help texts under their offsets, one entry per language. The help text of the name
    /// at an offset has the same offset.
    pub titles: Vec<Texts>,
    /// The objects' counters with their types; empty if the file does not declare them.
    pub declared: Vec<DeclaredObject>,
}

/// Names and help texts of a definition in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    /// The language of the names and help texts.
    pub language: perfhive_format::LanguageId,
    /// The offset of each name, and the name, sorted by offset.
    pub names: Vec<(u32, String)>,
    /// The offset of each help text, and the help text, sorted by offset.
    pub help: Vec<(u32, String)>,
}

/// An object as a manifest declares it (`counterSet`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredObject {
    /// The offset of the object's name.
    pub offset: u32,
    /// `guid` of the counter set, as written.
    pub guid: String,
    /// The kind of the object's instances.
    pub instances: InstanceKind,
    /// The object's counters.
    pub counters: Vec<DeclaredCounter>,
}

impl DeclaredObject {
    /// An object with this offset, GUID and kind of instances, and without counters yet.
    #[must_use]
    pub fn new(offset: u32, guid: &str, instances: InstanceKind) -> Self {
        Self { offset, guid: guid.to_string(), instances, counters: Vec::new() }
    }
}

/// A counter as a manifest declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredCounter {
    /// The offset of the counter's name.
    pub offset: u32,
    /// `id`: the provider's own number of the counter.
    pub id: u32,
    /// `type`: the counter type.
    pub counter_type: CounterType,
    /// `baseID`: the `id` of the counter that this counter is divided by; `None` without a base.
    pub base: Option<u32>,
    /// `multiCounterID`: the `id` of the counter with the number of items; `None` if not declared.
    pub multi: Option<u32>,
    /// `perfTimeID`: the `id` of the counter with the time; `None` if not declared.
    pub time: Option<u32>,
    /// `perfFreqID`: the `id` of the counter with the frequency; `None` if not declared.
    pub frequency: Option<u32>,
    /// `defaultScale`: values are shown times ten to the power of this; 0 if not declared.
    pub scale: i32,
    /// Whether `detailLevel` is `advanced`.
    pub advanced: bool,
    /// `aggregate`: how several values become one; `None` if not declared.
    pub aggregate: Option<String>,
    /// `struct` and `field`: where the value lies in the provider's own data; `None` if not
    /// declared.
    pub field: Option<(String, String)>,
    /// Whether `noDisplay` is declared or the counter is a base: the counter serves another counter
    /// and is not listed.
    pub no_display: bool,
    /// Further attributes, as written (`reference`, `displayAsHex`, ...).
    pub attributes: Vec<String>,
}

impl DeclaredCounter {
    /// A counter with these numbers and this type, and nothing else declared.
    #[must_use]
    pub fn new(offset: u32, id: u32, counter_type: CounterType) -> Self {
        Self {
            offset,
            id,
            counter_type,
            base: None,
            multi: None,
            time: None,
            frequency: None,
            scale: 0,
            advanced: false,
            aggregate: None,
            field: None,
            no_display: false,
            attributes: Vec::new(),
        }
    }
}

impl ProviderDefinition {
    /// A definition of a provider with this name, and without objects, counters or titles.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            objects: Vec::new(),
            titles: Vec::new(),
            declared: Vec::new(),
        }
    }

    /// The highest offset of a name, a help text or an object; 0 if there is none.
    #[must_use]
    pub fn last_offset(&self) -> u32 {
        let titles = self.titles.iter().flat_map(|texts| texts.names.iter().chain(&texts.help));
        titles.map(|(offset, _)| *offset).chain(self.objects.iter().copied()).max().unwrap_or(0)
    }

    /// The declared objects and counters, under the indexes that follow from `first_counter`.
    #[must_use]
    pub fn declared_at(&self, first_counter: u32) -> Vec<RegisteredObject> {
        let index = |offset: u32| TitleIndex(first_counter.saturating_add(offset));
        let counter = |one: &DeclaredCounter| {
            RegisteredCounter::new(index(one.offset), one.counter_type)
                .scale(one.scale)
                .advanced(one.advanced)
        };
        let object = |one: &DeclaredObject| {
            let counters = one.counters.iter().map(counter).collect();
            RegisteredObject::new(index(one.offset), one.instances, counters)
        };
        self.declared.iter().map(object).collect()
    }

    /// Names and help texts under the indexes that follow from `first_counter` and `first_help`,
    /// one item per language.
    pub fn titles_at(
        &self,
        first_counter: u32,
        first_help: u32,
    ) -> impl Iterator<Item = ProvidedTitles> + '_ {
        use perfhive_format::titles::{Title, TitleList};
        let at = |list: &[(u32, String)], first: u32| {
            TitleList::from(
                list.iter()
                    .map(|(offset, text)| Title {
                        index: TitleIndex(first.saturating_add(*offset)),
                        text: text.clone(),
                    })
                    .collect::<Vec<_>>(),
            )
        };
        self.titles.iter().map(move |texts| {
            ProvidedTitles::new(
                texts.language,
                at(&texts.names, first_counter),
                at(&texts.help, first_help),
            )
        })
    }
}

/// The values of a registration that say what the library is and how it is called. A value that is
/// `None` stays as it is in an earlier registration of the same name. Without an earlier
/// registration it gets its default; `library` has no default and must be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// `Library`: the absolute path of the library; `None` to leave it as it was.
    pub library: Option<PathBuf>,
    /// `Open`: the function's name, an empty text if there is no such function; `None` to leave it
    /// as it was.
    pub open: Option<String>,
    /// `Collect`: the function's name; `None` to leave it as it was.
    pub collect: Option<String>,
    /// `Close`: the function's name, an empty text if there is no such function; `None` to leave it
    /// as it was.
    pub close: Option<String>,
    /// `Linkage\Export`: the strings that are the argument of Open, an empty list for none; `None`
    /// to leave them as they were.
    pub linkage: Option<Vec<String>>,
    /// `Open Timeout`: how long Open may take; `None` to leave it as it was.
    pub open_timeout: Option<Duration>,
    /// `Collect Timeout`: how long Collect may take; `None` to leave it as it was.
    pub collect_timeout: Option<Duration>,
    /// `Disable Performance Counters`: whether the provider is not asked although it is registered;
    /// `None` to leave it as it was.
    pub disabled: Option<bool>,
    /// `Memory Limit`, in bytes, rounded up to whole MiB, 0 for the reader's default; `None` to
    /// leave it as it was.
    pub memory_limit: Option<u64>,
    /// `Start Processes`: whether the library's host process may start other processes; `None` to
    /// leave it as it was.
    pub processes: Option<bool>,
    /// `Read Files`: the absolute paths that the library's host process may read, an empty list for
    /// no limit; `None` to leave them as they were.
    pub reads: Option<Vec<PathBuf>>,
}

impl Functions {
    /// The usual names of Open, Collect and Close: those of Windows'
    /// documentation.
    pub const USUAL: [&'static str; 3] =
        ["OpenPerformanceData", "CollectPerformanceData", "ClosePerformanceData"];

    /// The registration of the provider `name` with these values. Values that are `None` come from
    /// the registration `before`; without it they are the defaults.
    ///
    /// # Errors
    /// [`RegisterErrorKind::Invalid`] if neither these values nor `before` name a library, or if a
    /// path of `reads` is not absolute.
    pub fn registration(
        &self,
        name: &str,
        before: Option<&Registration>,
    ) -> Result<Registration, RegisterError> {
        let library = self
            .library
            .clone()
            .or_else(|| before.map(|before| before.library.clone()))
            .ok_or_else(|| {
                let message = format!(
                    "no library is known for {name}; name the file that holds its functions \
                     (--library FILE); a program without any publishes its counters in \
                     shared memory"
                );
                RegisterError::new(RegisterErrorKind::Invalid, message)
            })?;
        let [open, collect, close] = Self::USUAL;
        let mut made = before.cloned().unwrap_or_else(|| {
            let mut made = Registration::new(name, library.clone(), collect);
            made.open = Some(open.to_string());
            made.close = Some(close.to_string());
            made
        });
        made.library = library;
        let function = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        if let Some(open) = &self.open {
            made.open = function(open);
        }
        if let Some(close) = &self.close {
            made.close = function(close);
        }
        if let Some(collect) = &self.collect {
            made.collect.clone_from(collect);
        }
        if let Some(linkage) = &self.linkage {
            made.linkage = Some(linkage.join("\0")).filter(|text| !text.is_empty());
        }
        made.open_timeout = self.open_timeout.unwrap_or(made.open_timeout);
        made.collect_timeout = self.collect_timeout.unwrap_or(made.collect_timeout);
        made.disabled = self.disabled.unwrap_or(made.disabled);
        if let Some(bytes) = self.memory_limit {
            let mib = bytes.div_ceil(1 << 20).min(u32::MAX.into());
            made.memory_limit = Some(mib << 20).filter(|bytes| *bytes > 0);
        }
        made.processes = self.processes.unwrap_or(made.processes);
        if let Some(reads) = &self.reads {
            if let Some(bad) = reads.iter().find(|path| !path.is_absolute()) {
                let message = format!("{} is not an absolute path", bad.display());
                return Err(RegisterError::new(RegisterErrorKind::Invalid, message));
            }
            made.reads.clone_from(reads);
        }
        Ok(made)
    }
}

/// The effect of a registration on the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The registration is new.
    Added,
    /// The registration replaces another registration of the same name.
    Updated,
    /// The same registration was there already.
    Unchanged,
}

/// A store of registrations: the registry of Windows, or a file.
pub trait Registrar {
    /// The name of the store, for messages.
    fn place(&self) -> String;

    /// Registers a provider: allots indexes, and writes names, help texts and functions into the
    /// store. An earlier registration of the name is replaced, except for the values that
    /// `functions` leaves as they were. The provider's indexes then change only if they must: in
    /// the registry of Windows if names or help texts differ, in a file for instance if the new
    /// names would take an index of another provider.
    ///
    /// # Errors
    /// [`RegisterError`]. A file is unchanged then. In the registry of Windows a change of names or
    /// help texts that fails may leave the provider with other indexes, or unregistered.
    fn register(
        &mut self,
        definition: &ProviderDefinition,
        functions: &Functions,
    ) -> Result<(Registration, Change), RegisterError>;

    /// Tests whether [`register`](Self::register) would succeed, without changing anything. If
    /// neither `functions` nor an earlier registration names a library, this is no error, and
    /// everything else is tested. Whether the caller may write is not tested.
    ///
    /// # Errors
    /// An error that `register` would return.
    fn check(
        &self,
        definition: &ProviderDefinition,
        functions: &Functions,
    ) -> Result<(), RegisterError>;

    /// Removes a provider's registration and returns it.
    ///
    /// # Errors
    /// [`RegisterError`]. A file is unchanged then. In the registry of Windows a part of the
    /// registration may be removed already.
    fn unregister(&mut self, name: &str) -> Result<Registration, RegisterError>;

    /// Enables a provider that its registration disables ([`Registration::disabled`]), as `lodctr
    /// /E:NAME` does. Returns whether the provider was registered and disabled.
    ///
    /// # Errors
    /// [`RegisterError`]; nothing has changed then.
    fn enable(&mut self, name: &str) -> Result<bool, RegisterError>;

    /// All registrations of this store, and the faults of those that cannot be used.
    ///
    /// # Errors
    /// [`RegisterError`] if nothing can be read at all.
    fn registrations(&self) -> Result<(Registrations, Vec<RegisterFault>), RegisterError>;
}

/// A registration, or a part of a registration, that cannot be used. Other registrations stay
/// usable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisterFault {
    /// Where the fault is: a file, or a file and a line of it.
    pub place: String,
    /// What is wrong, and the way out.
    pub message: String,
}

impl RegisterFault {
    /// A fault with this place and message.
    #[must_use]
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for RegisterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Why a provider could not be registered or unregistered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    kind: RegisterErrorKind,
    message: String,
}

/// The kinds of [`RegisterError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegisterErrorKind {
    /// The request is invalid: a bad name, no library.
    Invalid,
    /// No provider is registered under the name.
    NotRegistered,
    /// The name or an index belongs to another provider.
    Taken,
    /// The caller may not write, or a file is not trusted, for instance because other users may
    /// write it.
    Denied,
    /// The existing registrations are damaged, and writing would lose them.
    Damaged,
    /// The operating system refused a call.
    Io,
}

impl RegisterError {
    /// An error; `message` says what happened and the way out.
    pub fn new(kind: RegisterErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> RegisterErrorKind {
        self.kind
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RegisterError {}
