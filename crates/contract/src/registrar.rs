//! What a provider's files say of it, and who writes that down: the registry
//! of Windows or files elsewhere.

use crate::registration::{RegisteredCounter, RegisteredObject};
use crate::{Registration, Registrations};
use perfhive_engine::ProvidedTitles;
use perfhive_format::{CounterType, TitleIndex};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What a definition file says of a provider, before indexes are allotted: all
/// numbers are offsets from First Counter and First Help.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Definition {
    /// The name of the service (`drivername`).
    pub name: String,
    /// Offsets of the objects; empty if the file does not say which names are
    /// objects.
    pub objects: Vec<u32>,
    /// Names and help texts under their offsets, one entry a language. The help
    /// text of the name at an offset has the same offset.
    pub titles: Vec<Texts>,
    /// Types and the like of the objects' counters, where the file has them.
    pub declared: Vec<DeclaredObject>,
}

/// Names and help texts of a definition in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    /// The language.
    pub language: perfhive_format::LanguageId,
    /// Offset and name, by offset.
    pub names: Vec<(u32, String)>,
    /// Offset and help text, by offset.
    pub help: Vec<(u32, String)>,
}

/// An object as a manifest declares it (`counterSet`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredObject {
    /// Offset of the name.
    pub offset: u32,
    /// `guid` of the counter set, as written.
    pub guid: String,
    /// What instances there are.
    pub instances: Instances,
    /// The counters.
    pub counters: Vec<DeclaredCounter>,
}

impl DeclaredObject {
    /// An object without counters yet.
    #[must_use]
    pub fn new(offset: u32, guid: &str, instances: Instances) -> Self {
        Self { offset, guid: guid.to_string(), instances, counters: Vec::new() }
    }
}

/// The kinds of counter sets (`instances` of a manifest).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instances {
    /// `single`: the object has no instances.
    #[default]
    Single,
    /// `multiple`.
    Multiple,
    /// `globalAggregate`: values of several programs become one.
    GlobalAggregate,
    /// `multipleAggregate`: instances, and `_Total` of them.
    MultipleAggregate,
    /// `globalAggregateHistory`: as `globalAggregate`, with what ended programs left.
    GlobalAggregateHistory,
    /// `instanceAggregate`: values of instances of one name become one.
    InstanceAggregate,
}

impl Instances {
    /// Whether objects of this kind have instances in a block.
    #[must_use]
    pub const fn is_multiple(self) -> bool {
        matches!(self, Self::Multiple | Self::MultipleAggregate | Self::InstanceAggregate)
    }

    /// Every kind, under its name in a manifest.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("single", Self::Single),
        ("multiple", Self::Multiple),
        ("globalAggregate", Self::GlobalAggregate),
        ("multipleAggregate", Self::MultipleAggregate),
        ("globalAggregateHistory", Self::GlobalAggregateHistory),
        ("instanceAggregate", Self::InstanceAggregate),
    ];
}

impl fmt::Display for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, kind)| kind == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// A counter as a manifest declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredCounter {
    /// Offset of the name.
    pub offset: u32,
    /// `id`: the number by which the provider knows the counter.
    pub id: u32,
    /// `type`.
    pub counter_type: CounterType,
    /// `baseID`: the `id` of the counter that this one is divided by.
    pub base: Option<u32>,
    /// `multiCounterID`: the `id` of the counter with the number of items.
    pub multi: Option<u32>,
    /// `perfTimeID`: the `id` of the counter with the time.
    pub time: Option<u32>,
    /// `perfFreqID`: the `id` of the counter with the frequency.
    pub frequency: Option<u32>,
    /// `defaultScale`: values are shown times ten to the power of this.
    pub scale: i32,
    /// Whether `detailLevel` is `advanced`.
    pub advanced: bool,
    /// `aggregate`: how values become one, if it is said.
    pub aggregate: Option<String>,
    /// `struct` and `field`: where the value lies in the provider's own data.
    pub field: Option<(String, String)>,
    /// `noDisplay`: serves another counter, and is shown in no list.
    pub no_display: bool,
    /// Further attributes, as written (`reference`, `displayAsHex`, ...).
    pub attributes: Vec<String>,
}

impl DeclaredCounter {
    /// A counter with nothing but its number and type.
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

impl Definition {
    /// A definition with nothing in it yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            objects: Vec::new(),
            titles: Vec::new(),
            declared: Vec::new(),
        }
    }

    /// The highest offset in use, and 0 if there is none.
    #[must_use]
    pub fn last_offset(&self) -> u32 {
        let titles = self.titles.iter().flat_map(|texts| texts.names.iter().chain(&texts.help));
        titles.map(|(offset, _)| *offset).chain(self.objects.iter().copied()).max().unwrap_or(0)
    }

    /// What is declared of objects and counters, under their indexes.
    #[must_use]
    pub fn declared_at(&self, first_counter: u32) -> Vec<RegisteredObject> {
        let index = |offset: u32| TitleIndex(first_counter.saturating_add(offset));
        let counter = |one: &DeclaredCounter| RegisteredCounter {
            name: index(one.offset),
            counter_type: one.counter_type,
            scale: one.scale,
            advanced: one.advanced,
        };
        let object = |one: &DeclaredObject| RegisteredObject {
            name: index(one.offset),
            instances: one.instances,
            counters: one.counters.iter().map(counter).collect(),
        };
        self.declared.iter().map(object).collect()
    }

    /// Names and help texts under their indexes.
    pub fn titles_at(
        &self,
        first_counter: u32,
        first_help: u32,
    ) -> impl Iterator<Item = ProvidedTitles> + '_ {
        use perfhive_format::titles::{Title, TitleList};
        let at = |list: &[(u32, String)], first: u32| TitleList {
            titles: list
                .iter()
                .map(|(offset, text)| Title {
                    index: TitleIndex(first.saturating_add(*offset)),
                    text: text.clone(),
                })
                .collect(),
            faults: Vec::new(),
        };
        self.titles.iter().map(move |texts| ProvidedTitles {
            language: texts.language,
            names: at(&texts.names, first_counter),
            help: at(&texts.help, first_help),
        })
    }
}

/// What no definition file says: the library, and how it is called. What is
/// `None` stays as it was registered before, or gets the usual value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// `Library`: an absolute path.
    pub library: Option<PathBuf>,
    /// `Open`; an empty text if there is no such function.
    pub open: Option<String>,
    /// `Collect`.
    pub collect: Option<String>,
    /// `Close`; an empty text if there is no such function.
    pub close: Option<String>,
    /// `Linkage\Export`: the strings that Open is given.
    pub linkage: Option<Vec<String>>,
    /// `Open Timeout`.
    pub open_timeout: Option<Duration>,
    /// `Collect Timeout`.
    pub collect_timeout: Option<Duration>,
    /// `Disable Performance Counters`.
    pub disabled: Option<bool>,
    /// `Memory Limit`, in bytes, of which whole MiB are registered; 0 for what
    /// the reader grants.
    pub memory_limit: Option<u64>,
    /// Whether the library's own process may start others.
    pub processes: Option<bool>,
}

impl Functions {
    /// The usual names of Open, Collect and Close: those of Windows'
    /// documentation.
    pub const USUAL: [&'static str; 3] =
        ["OpenPerformanceData", "CollectPerformanceData", "ClosePerformanceData"];

    /// The registration of a library, on top of what was registered before.
    ///
    /// # Errors
    /// [`RegisterError`] where there is no library.
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
        Ok(made)
    }
}

/// What became of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It replaces what was registered under the name.
    Updated,
    /// It was there already, the same in every part.
    Unchanged,
}

/// Writes registrations down.
pub trait Registrar {
    /// Where they are kept, for messages.
    fn place(&self) -> String;

    /// Registers a provider: allots indexes, and writes names, help texts and
    /// the library. What is registered under the name is replaced, and keeps
    /// its indexes where the new names fit.
    ///
    /// # Errors
    /// [`RegisterError`]; nothing has changed then.
    fn register(
        &mut self,
        definition: &Definition,
        functions: &Functions,
    ) -> Result<(Registration, Change), RegisterError>;

    /// Whether [`register`](Self::register) would do it, found out by its own tests
    /// and without changing anything. Where no library is named or known, all is
    /// tested that has nothing to do with that; whether the caller may write is not.
    ///
    /// # Errors
    /// [`RegisterError`], as of `register`.
    fn check(&self, definition: &Definition, functions: &Functions) -> Result<(), RegisterError>;

    /// Takes everything of a provider back; answers what was registered.
    ///
    /// # Errors
    /// [`RegisterError`]; nothing has changed then.
    fn unregister(&mut self, name: &str) -> Result<Registration, RegisterError>;

    /// Has a provider asked again whose registration says that it is not to be
    /// ([`Registration::disabled`]), what `lodctr /E:NAME` does. Answers whether it was
    /// so; nobody is disabled who is not registered.
    ///
    /// # Errors
    /// [`RegisterError`]; nothing has changed then.
    fn enable(&mut self, name: &str) -> Result<bool, RegisterError>;

    /// What is registered here, and what of it could not be read.
    ///
    /// # Errors
    /// [`RegisterError`] where nothing can be read at all.
    fn registrations(&self) -> Result<(Registrations, Vec<RegisterFault>), RegisterError>;
}

/// A part of what is registered that cannot be used; the rest goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisterFault {
    /// Where: a file, or a file and a line.
    pub place: String,
    /// What is wrong, and the way out.
    pub message: String,
}

impl RegisterFault {
    /// A fault at a place.
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

/// Why something could not be registered or taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    kind: RegisterErrorKind,
    message: String,
}

/// The kinds of [`RegisterError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegisterErrorKind {
    /// What was asked for cannot be: a name that is none, no library.
    Invalid,
    /// There is no such registration.
    NotRegistered,
    /// The name or an index is somebody else's.
    Taken,
    /// Permissions: the caller's, or those of a file that others may write.
    Denied,
    /// What is registered already is damaged, and would be lost.
    Damaged,
    /// The system refused.
    Io,
}

impl RegisterError {
    /// An error; `message` says what happened and the way out.
    pub fn new(kind: RegisterErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What kind of error it is.
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
