//! Identities of instances, from one sample to the next.
//!
//! A name is not an identity: fifty processes are called `svchost`, and the `#3` behind such a name
//! depends on which other processes are alive. An instance is therefore identified by the first of
//! these rules that fits:
//!
//! * an instance with a `UniqueID` that no earlier instance has, by that number;
//! * an instance of Process (230) or Process V2, by its process ID and start time (`ID Process` and
//!   the raw value of `Elapsed Time`), and an instance of Thread (232) or Thread V2, by process ID,
//!   thread ID and start time. `_Total` and `Idle` are excepted: both have ID 0, and `_Total` has
//!   no start time of its own. So is an instance with the IDs and start time of an earlier one;
//! * any other instance, by its parent, its name, and its order among the instances with this
//!   parent and name.

use perfhive_format::winperf::{ELAPSED_TIME, ID_PROCESS, ID_THREAD, PROCESS, THREAD};
use perfhive_format::{CounterBlock, CounterPlan, CounterType, Instance, PerfObject, Schema};
use std::collections::HashMap;

use crate::frame::SnapshotObject;
use crate::shared_text::SharedText;
use crate::standard::{PROCESS_V2, THREAD_V2};

/// The identity of an instance among all others of its object, in this sample and in the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Identity {
    /// The counter block of an object without instances.
    Single,
    /// A process.
    Process {
        /// Process ID.
        id: u64,
        /// The raw value of the counter Elapsed Time: the start time. 0 if the object does not have
        /// it, or has the final value instead.
        start: u64,
    },
    /// A thread.
    Thread {
        /// ID of the process to which the thread belongs.
        process: u64,
        /// Thread ID.
        id: u64,
        /// The raw value of the counter Elapsed Time: the start time. 0 if the object does not have
        /// it, or has the final value instead.
        start: u64,
    },
    /// An instance with a number of its own (`UniqueID`).
    Unique(i32),
    /// Any other instance, or one with the same numbers as an earlier one: the names, as the bytes
    /// in the block, and the order among the instances that are identified by these names.
    Named {
        /// The parent's name; empty if there is none.
        parent: SharedText<[u8]>,
        /// The instance's name.
        name: SharedText<[u8]>,
        /// Index (from 0) among the instances that are identified by the same parent and name.
        order: u32,
    },
}

impl Identity {
    /// The process ID in a [`Process`](Self::Process) or [`Thread`](Self::Thread); `None` for any
    /// other kind of identity.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        match self {
            Self::Process { id, .. } | Self::Thread { process: id, .. } => u32::try_from(*id).ok(),
            _ => None,
        }
    }

    /// Whether two samples with this identity are certainly of the same instance. `false` for a
    /// name, and for a process or thread without a start time, since names and IDs are used again.
    pub(crate) fn is_certain(&self) -> bool {
        match self {
            Self::Single | Self::Unique(_) => true,
            Self::Process { start, .. } | Self::Thread { start, .. } => *start != 0,
            Self::Named { .. } => false,
        }
    }
}

/// The rule by which the instances of an object with a certain schema are identified.
#[derive(Clone, Debug)]
pub(crate) struct Identifier {
    schema: Schema,
    process: Option<CounterPlan>,
    thread: Option<CounterPlan>,
    start: Option<CounterPlan>,
}

impl Identifier {
    pub(crate) fn new(object: PerfObject<'_>) -> Self {
        let is = |indexes: [u32; 2]| indexes.contains(&object.name_index().0);
        let (process, thread) = (is([PROCESS, PROCESS_V2]), is([THREAD, THREAD_V2]));
        let plans = if process || thread { CounterPlan::all(object) } else { Vec::new() };
        let find = |name: u32| {
            let is_it = |plan: &&CounterPlan| plan.name.0 == name && !plan.counter_type.is_base();
            plans.iter().find(is_it).copied()
        };
        Self {
            schema: Schema::of(object),
            process: find(ID_PROCESS),
            thread: if thread { find(ID_THREAD) } else { None },
            // A double is the final value and not the start.
            start: find(ELAPSED_TIME)
                .filter(|plan| plan.counter_type != CounterType::PERF_DOUBLE_RAW),
        }
    }

    /// Whether the rule was made for an object with the schema of `object`.
    pub(crate) fn fits(&self, object: PerfObject<'_>) -> bool {
        self.schema.matches(object)
    }

    /// The identity of an instance by numbers: its `UniqueID`, or else the IDs of its process and
    /// thread. `None` if it has no such numbers, or if these IDs are 0, as those of Idle and `_Total`.
    pub(crate) fn numbers(&self, instance: &Instance<'_>) -> Option<Identity> {
        if let Some(id) = instance.unique_id() {
            return Some(Identity::Unique(id));
        }
        let value = |plan: &Option<CounterPlan>, block: CounterBlock<'_>| {
            let plan = plan.as_ref()?;
            let value = plan.value(block).ok()?;
            match plan.counter_type {
                // Logs of final values have doubles.
                CounterType::PERF_DOUBLE_RAW => whole(f64::from_bits(value)),
                _ => Some(value),
            }
        };
        let block = instance.counter_block();
        let process = value(&self.process, block)?;
        let start = value(&self.start, block).unwrap_or(0);
        if self.thread.is_some() {
            let id = value(&self.thread, block)?;
            // The threads of Idle all have ID 0, and so has _Total.
            (id != 0 || process != 0).then_some(Identity::Thread { process, id, start })
        } else {
            // PID 0: Idle and _Total, identified by name.
            (process != 0).then_some(Identity::Process { id: process, start })
        }
    }
}

/// The number that a double stands for; `None` unless it is a whole one of 32 bits, as IDs have.
fn whole(value: f64) -> Option<u64> {
    let number = value as u32;
    (f64::from(number) == value).then_some(number.into())
}

/// The largest number of instances among which an identity is searched one by one instead of by its
/// hash.
const FEW: usize = 4;

/// The names of an instance's parent, if it has one, and of the instance, as bytes.
type FullName = (Option<SharedText<[u8]>>, SharedText<[u8]>);

/// For each full name, how many instances with it were counted.
#[derive(Default)]
pub(crate) struct Orders(HashMap<FullName, u32>);

impl Orders {
    /// The index, from 0, of the next instance with this parent and name.
    pub(crate) fn next(&mut self, parent: Option<SharedText<[u8]>>, name: SharedText<[u8]>) -> u32 {
        let count = self.0.entry((parent, name)).or_insert(0);
        *count += 1;
        *count - 1
    }
}

/// The identities of the instances of one object in one sample, in both directions: by index and by
/// identity.
#[derive(Clone, Debug, Default)]
pub struct IdentityMap {
    identities: Vec<Identity>,
    places: HashMap<Identity, u32>,
}

impl IdentityMap {
    /// The identities of all instances of an object; for an object without instances,
    /// [`Identity::Single`] at the index 0.
    #[must_use]
    pub fn of(object: SnapshotObject<'_>) -> Self {
        Self::new(&Identifier::new(object.view()), object)
    }

    /// As [`of`](Self::of), with the rule `identifier`, which was made for the object's schema.
    pub(crate) fn new(identifier: &Identifier, object: SnapshotObject<'_>) -> Self {
        let view = object.view();
        if !view.has_instances() {
            // One identity is found without its hash.
            return Self { identities: vec![Identity::Single], places: HashMap::new() };
        }
        let mut map = Self::default();
        let mut parents = object.parents();
        let mut orders = Orders::default();
        for (place, instance) in view.instances().enumerate() {
            let numbered = identifier.numbers(&instance);
            let identity =
                numbered.filter(|id| !map.places.contains_key(id)).unwrap_or_else(|| {
                    // Without numbers, or with the same numbers twice, names are the fallback.
                    let parent = parents.name_bytes(&instance);
                    let name: SharedText<[u8]> = instance.name().as_bytes().into();
                    let order = orders.next(Some(parent.clone()), name.clone());
                    Identity::Named { parent, name, order }
                });
            map.places.insert(identity.clone(), place as u32);
            map.identities.push(identity);
        }
        map
    }

    /// The identity of the instance with the index `place`, from 0; `None` if the object has fewer
    /// instances.
    #[must_use]
    pub fn identity(&self, place: usize) -> Option<&Identity> {
        self.identities.get(place)
    }

    /// The index, from 0, of the instance with this identity; `None` if there is none.
    #[must_use]
    pub fn place(&self, identity: &Identity) -> Option<usize> {
        // With few instances, comparing all costs less than one hash.
        if self.identities.len() <= FEW {
            return self.identities.iter().position(|known| known == identity);
        }
        self.places.get(identity).map(|place| *place as usize)
    }

    /// The identities in the order of the instances.
    #[must_use]
    pub fn identities(&self) -> &[Identity] {
        &self.identities
    }
}
