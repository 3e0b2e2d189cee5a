//! The objects of a library, known from the blocks that it delivered.

use perfhive_engine::{Cost, ObjectDescription};
use perfhive_format::{CounterSpec, ObjectSpec, PerfObject, TitleIndex};
use std::ops::Range;

/// The bytes of an object's header that define it: from `DefinitionLength` to `DefaultCounter`, and
/// `CodePage`.
const STEADY: [Range<usize>; 2] = [4..40, 44..48];
/// The length in bytes of the shortest header of an object; the definitions of the counters follow
/// it.
const DEFINITIONS: usize = 64;

/// The objects of a library, each as the library delivered it last.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownObjects {
    objects: Vec<KnownObject>,
}

/// The news about an object that a library delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The object is delivered for the first time.
    Object,
    /// The object's counters or header differ from before.
    ProviderDefinition,
}

/// An object with the bytes that define it: its header and the definitions of its counters.
#[derive(Clone, Debug)]
struct KnownObject {
    description: ObjectDescription,
    definition: Vec<u8>,
}

impl KnownObjects {
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(crate) fn descriptions(&self) -> Vec<ObjectDescription> {
        self.objects.iter().map(|object| object.description.clone()).collect()
    }

    /// The cost of an object; `None` if the object is not known.
    pub(crate) fn cost(&self, object: TitleIndex) -> Option<Cost> {
        let known = self.objects.iter().find(|known| known.description.spec.name == object);
        known.map(|known| known.description.cost)
    }

    /// Keeps only the objects for which `keeps` returns true.
    pub(crate) fn retain(&mut self, keeps: impl Fn(TitleIndex) -> bool) {
        self.objects.retain(|known| keeps(known.description.spec.name));
    }

    pub(crate) fn clear(&mut self) {
        self.objects.clear();
    }

    /// The definition of each object, with its cost.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (Cost, &[u8])> {
        self.objects.iter().map(|known| (known.description.cost, &*known.definition))
    }

    /// Takes the definition of an object from an account. Returns `false` if the bytes, which may
    /// be hostile, are no definition, or one that is known already.
    pub(crate) fn restore(&mut self, mut bytes: Vec<u8>, cost: Cost) -> bool {
        let definition = bytes.len();
        // The definition is completed to a whole object: without any instances if the object is of the
        // kind that has instances, and otherwise with an empty counter block.
        if has_instances(&bytes) {
            bytes.get_mut(40..44).into_iter().for_each(|count| count.fill(0));
        } else {
            bytes.extend_from_slice(&[8, 0, 0, 0, 0, 0, 0, 0]);
        }
        let field = |bytes: &[u8], at: usize| {
            let field = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
            field.map(|field| u32::from_le_bytes(*field) as usize)
        };
        let Ok(length) = u32::try_from(bytes.len()) else { return false };
        if let Some(total) = bytes.get_mut(..4) {
            total.copy_from_slice(&length.to_le_bytes());
        }
        field(&bytes, 4) == Some(definition) && self.note(&bytes, cost).is_some()
    }

    /// Notes an object that the library delivered. `cost` becomes the cost of an object that was not
    /// known; a known object keeps its cost. Returns what is new about the object; `None` if nothing
    /// is, or if the bytes are no object. An object that is not delivered stays known, because it may
    /// be absent only for the moment.
    pub(crate) fn note(&mut self, bytes: &[u8], cost: Cost) -> Option<News> {
        let name = name_of(bytes);
        let known = self.objects.iter_mut().find(|known| known.description.spec.name == name);
        if known.as_ref().is_some_and(|known| is_same(&known.definition, bytes)) {
            return None;
        }
        let object = PerfObject::parse(bytes).ok()?;
        let length = object.header().DefinitionLength as usize;
        let definition = bytes.get(..length).unwrap_or_default().to_vec();
        match known {
            Some(known) => {
                known.description = describe(object, known.description.cost);
                known.definition = definition;
                Some(News::ProviderDefinition)
            }
            None => {
                let description = describe(object, cost);
                self.objects.push(KnownObject { description, definition });
                Some(News::Object)
            }
        }
    }
}

/// The bytes of each object in validated bytes; the walk looks at their lengths only.
pub(crate) fn objects(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
        let (object, rest) = bytes.split_at_checked(length.max(DEFINITIONS))?;
        bytes = rest;
        Some(object)
    })
}

/// The title index of the name of the object with these bytes, such as one from [`objects`]; 0 if they
/// are too short.
pub(crate) fn name_of(object: &[u8]) -> TitleIndex {
    let name = object.get(12..).and_then(|rest| rest.first_chunk::<4>());
    TitleIndex(name.map_or(0, |name| u32::from_le_bytes(*name)))
}

/// Whether an object still has this definition. The parts that change with every sample are
/// ignored.
fn is_same(definition: &[u8], object: &[u8]) -> bool {
    let Some(counters) = definition.get(DEFINITIONS..) else { return false };
    STEADY.iter().all(|range| definition.get(range.clone()) == object.get(range.clone()))
        && has_instances(definition) == has_instances(object)
        && object.get(DEFINITIONS..definition.len()) == Some(counters)
}

/// Whether an object is of the kind that has instances, even if it has none at the moment, by its
/// instance count.
fn has_instances(object: &[u8]) -> bool {
    let count = object.get(40..).and_then(|rest| rest.first_chunk::<4>());
    count.is_some_and(|count| !matches!(i32::from_le_bytes(*count), -1 | -3))
}

fn describe(object: PerfObject<'_>, cost: Cost) -> ObjectDescription {
    let counters = object.counters().map(|counter| {
        let raw = counter.raw();
        CounterSpec {
            name: counter.name_index(),
            help: counter.help_index(),
            counter_type: counter.counter_type(),
            scale: counter.default_scale(),
            detail: counter.detail_level(),
            size: raw.CounterSize,
            offset: Some(raw.CounterOffset),
        }
    });
    ObjectDescription::new(
        ObjectSpec {
            name: object.name_index(),
            help: object.help_index(),
            detail: object.detail_level(),
            default_counter: object.default_counter(),
            has_instances: object.has_instances(),
            code_page: object.header().CodePage,
        },
        counters.collect(),
    )
    .with_cost(cost)
}
