//! Registrations of providers, from the registry of Windows or from files elsewhere.

use perfhive_engine::{ProvidedTitles, TestLevel};
use perfhive_format::{CounterType, TitleIndex};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// One provider's registration: the values of `Services\NAME\Performance`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registration {
    /// The name of the provider's service.
    pub name: String,
    /// `Library`: the file that holds the functions.
    pub library: PathBuf,
    /// `Open`: the name of the function; `None` for a provider without one.
    pub open: Option<String>,
    /// `Collect`: the name of the function.
    pub collect: String,
    /// `Close`: the name of the function; `None` for a provider without one.
    pub close: Option<String>,
    /// `Linkage\Export`: the argument of Open, with NUL between several strings; `None` for a
    /// provider without one.
    pub linkage: Option<String>,
    /// `Object List`: the only objects that the provider is asked for by index; empty if it may be
    /// asked for any.
    pub objects: Vec<TitleIndex>,
    /// `First Counter`: index of the first name; 0 if no names are registered.
    pub first_counter: u32,
    /// `Last Counter`: index of the last name; 0 if no names are registered.
    pub last_counter: u32,
    /// `First Help`: index of the first help text; 0 if no names are registered.
    pub first_help: u32,
    /// `Last Help`: index of the last help text; 0 if no names are registered.
    pub last_help: u32,
    /// Whether `Disable Performance Counters` is set: the provider is registered and not
    /// asked.
    pub disabled: bool,
    /// `Open Timeout`: how long Open may take.
    pub open_timeout: Duration,
    /// `Collect Timeout`: how long Collect may take.
    pub collect_timeout: Duration,
    /// `Memory Limit`: bytes of address space that the library's host process may
    /// have; `None` for the reader's default.
    pub memory_limit: Option<u64>,
    /// `Start Processes`: whether the library's host process may start other processes. The memory
    /// limit holds for each of these processes, not for all together.
    pub processes: bool,
    /// `Read Files`: the files and folders that the library's host process may read, beside the
    /// library's own folder and folders of the system such as `/usr`. Empty if there is no such
    /// limit: the host process may then read what its user may read or, if this user is root, only
    /// what every user may read.
    pub reads: Vec<PathBuf>,
    /// The objects and counters that a manifest declares; empty without a manifest. Readers use the
    /// definitions in the data blocks instead.
    pub declared: Vec<RegisteredObject>,
}

/// An object as it was declared when its provider was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisteredObject {
    /// The title index of the object's name.
    pub name: TitleIndex,
    /// The kind of the object's instances.
    pub instances: InstanceKind,
    /// The object's counters, including bases.
    pub counters: Vec<RegisteredCounter>,
}

impl RegisteredObject {
    /// An object with its counters, including bases.
    #[must_use]
    pub const fn new(
        name: TitleIndex,
        instances: InstanceKind,
        counters: Vec<RegisteredCounter>,
    ) -> Self {
        Self { name, instances, counters }
    }
}

/// The kinds of counter sets (`instances` of a manifest).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceKind {
    /// `single`: the object has no instances.
    #[default]
    Single,
    /// `multiple`: the object has instances.
    Multiple,
    /// `globalAggregate`: the values of several programs are combined into one.
    GlobalAggregate,
    /// `multipleAggregate`: instances, and `_Total` of them.
    MultipleAggregate,
    /// `globalAggregateHistory`: as `globalAggregate`, with the last values of programs that have
    /// ended.
    GlobalAggregateHistory,
    /// `instanceAggregate`: the values of instances with the same name are combined into one.
    InstanceAggregate,
}

impl InstanceKind {
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

impl fmt::Display for InstanceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, kind)| kind == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// A counter as it was declared when its provider was registered.
// The hive writes every field (`hive/declared.rs` of perfhive-libraries).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisteredCounter {
    /// The title index of the counter's name.
    pub name: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// The power of ten by which a chart should multiply the counter's values.
    pub scale: i32,
    /// Whether the counter is for advanced users.
    pub advanced: bool,
}

impl RegisteredCounter {
    /// An unscaled counter for every user.
    #[must_use]
    pub const fn new(name: TitleIndex, counter_type: CounterType) -> Self {
        Self { name, counter_type, scale: 0, advanced: false }
    }

    /// The same counter with another scale.
    #[must_use]
    pub const fn scale(mut self, scale: i32) -> Self {
        self.scale = scale;
        self
    }

    /// The same counter, for advanced users or for every user.
    #[must_use]
    pub const fn advanced(mut self, advanced: bool) -> Self {
        self.advanced = advanced;
        self
    }
}

impl Registration {
    /// The timeout of Open and of Collect unless another is registered: Windows' ten seconds.
    pub const TIMEOUT: Duration = Duration::from_secs(10);

    /// A registration with the library and its Collect function; everything else is unset or the
    /// default.
    #[must_use]
    pub fn new(name: &str, library: impl Into<PathBuf>, collect: &str) -> Self {
        Self {
            name: name.to_string(),
            library: library.into(),
            open: None,
            collect: collect.to_string(),
            close: None,
            linkage: None,
            objects: Vec::new(),
            first_counter: 0,
            last_counter: 0,
            first_help: 0,
            last_help: 0,
            disabled: false,
            open_timeout: Self::TIMEOUT,
            collect_timeout: Self::TIMEOUT,
            memory_limit: None,
            processes: false,
            reads: Vec::new(),
            declared: Vec::new(),
        }
    }
}

impl Registration {
    /// Whether the provider may give an object: its `Object List` or the indexes of its names
    /// contain it. A provider that registered neither may give any object.
    #[must_use]
    pub fn may_give(&self, object: TitleIndex) -> bool {
        self.claims(object) || (self.objects.is_empty() && !self.has_names())
    }

    /// Whether the provider's `Object List`, or the indexes of its names, contain an object.
    #[must_use]
    pub fn claims(&self, object: TitleIndex) -> bool {
        let names = self.first_counter..=self.last_counter;
        self.objects.contains(&object) || (self.has_names() && names.contains(&object.0))
    }

    /// Whether names were registered with the provider.
    #[must_use]
    pub fn has_names(&self) -> bool {
        self.last_counter > 0 && self.last_counter >= self.first_counter
    }
}

/// The registrations of a machine or of one store, with the names and help texts of each language;
/// in the registry of Windows `Services\*\Performance` and `Perflib`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Registrations {
    /// The providers, in the order of their names.
    pub providers: Vec<Registration>,
    /// Names and help texts under their final indexes, one entry per language.
    pub titles: Vec<ProvidedTitles>,
    /// `ExtCounterTestLevel`: how much of the providers' data is tested.
    pub test_level: TestLevel,
}

impl Registrations {
    /// No registrations.
    #[must_use]
    pub fn none() -> Self {
        Self { providers: Vec::new(), titles: Vec::new(), test_level: TestLevel::default() }
    }
}
