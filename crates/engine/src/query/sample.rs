//! Two samples of an object: the newest, and the one before it.

use super::no_value::NoValue;
use super::sampled::SampledCounter;
use crate::frame::{Frame, Snapshot, SnapshotObject};
use crate::identity::{Identifier, Identity, IdentityMap};
use crate::label::InstanceLabel;
use perfhive_format::{
    CalendarTime, CookedValue, CounterBlock, CounterPlan, Formula, PerfObject, TitleIndex,
};
use std::sync::Arc;

/// The samples that a reader keeps of one object of one source.
#[derive(Default)]
pub(crate) struct ObjectState {
    layout: Option<Arc<SampleLayout>>,
    current: Option<ObjectSample>,
    previous: Option<ObjectSample>,
    /// The reason why the newest sample lacks the object. `None` if the sample has the object, and
    /// if the reason is not known.
    pub(crate) missing: Option<Arc<str>>,
}

/// Facts about the counters and instances of an object, found once for a schema and used for every
/// sample with that schema.
struct SampleLayout {
    identifier: Identifier,
    plans: Vec<CounterPlan>,
    /// The indexes in `plans` of the counters that are not bases, sorted by the title index of
    /// their names. If several counters have the same title index, the list has only the first.
    by_name: Vec<(TitleIndex, usize)>,
}

impl SampleLayout {
    fn new(object: PerfObject<'_>) -> Self {
        let plans = CounterPlan::all(object);
        let counters = (0..).zip(&plans).filter(|(_, plan)| !plan.counter_type.is_base());
        let mut by_name: Vec<_> = counters.map(|(place, plan)| (plan.name, place)).collect();
        by_name.sort_unstable();
        by_name.dedup_by_key(|(name, _)| *name);
        Self { identifier: Identifier::new(object), plans, by_name }
    }
}

/// One object in one sample, with the identities and labels of its instances.
///
/// ```
/// use perfhive_engine::{ObjectSample, Query, Ask, Snapshot, Source};
/// use perfhive_recording::ReplaySource;
/// use perfhive_format::{BlockHead, BlockWriter, CounterSpec, CounterType};
/// use perfhive_format::{ObjectSpec, ObjectTemplate, TitleIndex};
/// # let memory = ObjectTemplate::new(
/// #     &ObjectSpec::new(TitleIndex(4)),
/// #     &[CounterSpec::new(TitleIndex(24), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)],
/// # )?;
/// # let mut writer = BlockWriter::new();
/// # writer.start(&BlockHead { system_name: "HOST", ..BlockHead::default() });
/// # writer.object(&memory)?.values(&[1 << 30])?.finish()?;
/// # let block = writer.finish().to_vec();
/// # let mut source = ReplaySource::new("recording", [("first".to_string(), block)])?;
/// let mut snapshot = Snapshot::new();
/// source.collect(&Ask::objects(&[TitleIndex(4)]), &mut snapshot)?;
/// let sample = ObjectSample::of(snapshot.object(TitleIndex(4)).unwrap());
/// let available = sample.counter(0, TitleIndex(24)).unwrap();
/// assert_eq!(available.value(None)?.as_u64(), Some(1 << 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ObjectSample {
    frame: Arc<Frame>,
    place: usize,
    layout: Arc<SampleLayout>,
    /// The instances of the sample; two samples with the same instances share them.
    instances: Arc<SampledInstances>,
}

/// The instances of a sample, and where their counter blocks are.
pub(crate) struct SampledInstances {
    identities: IdentityMap,
    labels: Vec<InstanceLabel>,
    /// Start and end of each instance's counter block, or of the only block of an object without
    /// instances, in bytes from the start of the object, so that an instance is found without a
    /// walk over the others.
    blocks: Vec<(u32, u32)>,
}

impl ObjectState {
    pub(crate) fn current(&self) -> Option<&ObjectSample> {
        self.current.as_ref()
    }

    pub(crate) fn previous(&self) -> Option<&ObjectSample> {
        self.previous.as_ref()
    }

    /// Takes the newest sample of the object from a snapshot; the sample that was the newest
    /// becomes the previous one. Returns whether the counters of the object differ from those of
    /// the last sample that had the object; `false` if the snapshot lacks the object, and for the
    /// first sample that has it.
    pub(crate) fn advance(&mut self, name: TitleIndex, snapshot: &Snapshot) -> bool {
        self.skip();
        let Some(object) = snapshot.object(name) else {
            let fault = snapshot.faults().iter().find(|fault| fault.object == Some(name));
            self.missing = fault.map(|fault| fault.message.clone());
            return false;
        };
        let is_first = self.layout.is_none();
        let mut is_new = false;
        let layout = match self.layout.take() {
            Some(layout) if layout.identifier.fits(object.view()) => layout,
            _ => {
                is_new = !is_first;
                Arc::new(SampleLayout::new(object.view()))
            }
        };
        let before = self.previous.as_ref();
        self.current = Some(ObjectSample::new(&layout, object, before));
        self.layout = Some(layout);
        is_new
    }

    /// The value of a counter of an instance of the newest sample, and its weight in a mean. If the
    /// type of the counter takes two samples, the other sample is the one before.
    ///
    /// # Errors
    /// As [`SampledCounter::value`]; [`NoValue::Born`] if the sample before lacks the instance.
    pub(crate) fn value(
        &self,
        newer: &SampledCounter,
        counter: TitleIndex,
    ) -> Result<(CookedValue, f64), NoValue> {
        // What this sample lacks is reported before what the older one lacks.
        newer.raw()?;
        let previous = self.previous().filter(|_| newer.samples() == 2);
        let Some(previous) = previous else { return Ok((newer.value(None)?, 1.0)) };
        let place = previous.identities().place(newer.identity()).ok_or(NoValue::Born)?;
        let older = previous.counter(place, counter);
        Ok((newer.value(older.as_ref())?, newer.weight(older.as_ref())))
    }

    /// The value as [`value`](Self::value) returns it, and the raw value of the sample before,
    /// `None` if there is no such sample or it has no raw value. `place` is the index of the
    /// instance in the newest sample.
    pub(crate) fn value_and_before(
        &self,
        newer: &SampledCounter,
        counter: TitleIndex,
        place: usize,
    ) -> (Result<CookedValue, NoValue>, Option<u64>) {
        let Some(previous) = self.previous() else { return (newer.value(None), None) };
        let shared =
            self.current().is_some_and(|now| Arc::ptr_eq(&now.instances, &previous.instances));
        let place = match shared {
            true => Some(place),
            false => previous.identities().place(newer.identity()),
        };
        let older = place.and_then(|place| previous.counter(place, counter));
        let before = older.as_ref().and_then(|older| older.raw().ok()).map(|raw| raw.value);
        let value = match newer.samples() {
            2 if place.is_none() => newer.raw().and(Err(NoValue::Born)),
            2 => newer.value(older.as_ref()),
            _ => newer.value(None),
        };
        (value, before)
    }

    /// Makes the newest sample the previous one, without a newest sample in its place. If there is
    /// no newest sample, the previous one stays.
    pub(crate) fn skip(&mut self) {
        self.missing = None;
        if let Some(current) = self.current.take() {
            self.previous = Some(current);
        }
    }

    /// The labels of the instances, as a path writes them: those of the newest sample, or else of
    /// the sample before. Empty without a sample.
    pub(crate) fn labels(&self) -> Vec<String> {
        let sample = self.current.as_ref().or(self.previous.as_ref());
        sample.map_or(Vec::new(), |s| s.labels().iter().map(ToString::to_string).collect())
    }
}

impl ObjectSample {
    /// The sample of an object of a snapshot. The sample keeps the object's frame instead of
    /// copying data.
    #[must_use]
    pub fn of(object: SnapshotObject<'_>) -> Self {
        Self::new(&Arc::new(SampleLayout::new(object.view())), object, None)
    }

    /// A sample of an object with the layout `layout`. If the sample `before` has the same
    /// instances, the new one shares them, and nothing is allocated.
    fn new(layout: &Arc<SampleLayout>, object: SnapshotObject<'_>, before: Option<&Self>) -> Self {
        let same = before.filter(|before| {
            Arc::ptr_eq(layout, &before.layout) && before.has_instances_of(object)
        });
        let instances = match same {
            Some(before) => Arc::clone(&before.instances),
            None => Arc::new(SampledInstances {
                identities: IdentityMap::new(&layout.identifier, object),
                labels: object.labels(),
                blocks: blocks(object.view()),
            }),
        };
        Self {
            frame: Arc::clone(object.frame()),
            place: object.place(),
            instances,
            layout: Arc::clone(layout),
        }
    }

    /// Whether `object`, which has the layout of this sample, has the same instances in the same
    /// order, with counter blocks of the same lengths.
    fn has_instances_of(&self, object: SnapshotObject<'_>) -> bool {
        let Some(own) = self.object() else { return false };
        let other = object.view();
        let mut parents = None;
        let identifier = &self.layout.identifier;
        let length = |block: CounterBlock<'_>| block.as_bytes().len();
        let mut pairs = own.instances().zip(other.instances());
        own.instance_count() == other.instance_count()
            && own.layout() == other.layout()
            && own.counter_block().map(length) == other.counter_block().map(length)
            && pairs.all(|(own, other)| {
                // An instance's name is part of its definition; the name of its parent stands
                // elsewhere.
                let parent = other.parent().map(|(parent, _)| parent);
                let known = parent.is_none() || parents.is_some_and(|known| parent == Some(known));
                let same_parents = known
                    || parents.is_none()
                        && parent.is_some_and(|parent| {
                            parents = Some(parent);
                            same_names(&self.frame, object.frame(), parent)
                        });
                same_parents
                    && own.definition_bytes() == other.definition_bytes()
                    && length(own.counter_block()) == length(other.counter_block())
                    && identifier.numbers(&own) == identifier.numbers(&other)
            })
    }

    /// The labels of the instances, in their order; empty for an object without instances.
    #[must_use]
    pub fn labels(&self) -> &[InstanceLabel] {
        &self.instances.labels
    }

    /// The identities of the instances, in their order; only [`Identity::Single`] for an object
    /// without instances.
    #[must_use]
    pub fn identities(&self) -> &IdentityMap {
        &self.instances.identities
    }

    /// The instances. If this is the same `Arc` as in the sample before, instances and order are
    /// the same.
    pub(crate) fn instances(&self) -> &Arc<SampledInstances> {
        &self.instances
    }

    /// The counters of the object in their order, without bases.
    pub fn counters(&self) -> impl Iterator<Item = &CounterPlan> {
        self.layout.plans.iter().filter(|plan| !plan.counter_type.is_base())
    }

    /// Whether the object can have instances; `true` even if the sample has none.
    #[must_use]
    pub fn has_instances(&self) -> bool {
        self.object().is_some_and(PerfObject::has_instances)
    }

    pub(super) fn object(&self) -> Option<PerfObject<'_>> {
        self.frame.object(self.place)
    }

    /// The origin of the sample's frame; see [`Frame::origin`].
    pub(super) fn origin(&self) -> u64 {
        self.frame.origin()
    }

    /// Start and end of each instance's counter block, or of the only block of an object without
    /// instances, in bytes from the start of the object.
    pub(super) fn blocks(&self) -> &[(u32, u32)] {
        &self.instances.blocks
    }

    /// The counter block of the instance with the index `place`; `None` if there is no such
    /// instance.
    fn block(&self, place: usize) -> Option<CounterBlock<'_>> {
        let (start, end) = *self.instances.blocks.get(place)?;
        let bytes = self.object()?.as_bytes().get(start as usize..end as usize)?;
        Some(CounterBlock::from_validated(bytes))
    }

    /// A counter, other than a base, of the instance with the index `place`, from 0. The values of
    /// an object without instances have the index 0. `None` if the sample has no such instance or
    /// counter.
    #[must_use]
    pub fn counter(&self, place: usize, counter: TitleIndex) -> Option<SampledCounter> {
        self.sampled(place, self.plan(counter)?)
    }

    /// As [`counter`](Self::counter), with the plan of the counter.
    pub(super) fn sampled(&self, place: usize, plan: &CounterPlan) -> Option<SampledCounter> {
        let (object, block) = (self.object()?, self.block(place)?);
        let identity = self.identities().identity(place)?.clone();
        let crowd = match plan.formula.map_or(0, Formula::samples) {
            2 => self.crowd(&identity),
            _ => 0,
        };
        Some(SampledCounter::new(plan, object, block, (identity, crowd), self.origin()))
    }

    /// The calendar time of the block that the sample came in, UTC.
    #[must_use]
    pub fn system_time(&self) -> CalendarTime {
        self.frame.system_time()
    }

    /// The plan of a counter, other than a base; `None` if the object has no such counter.
    pub(crate) fn plan(&self, counter: TitleIndex) -> Option<&CounterPlan> {
        let SampleLayout { by_name, plans, .. } = &*self.layout;
        let at = by_name.binary_search_by_key(&counter, |(name, _)| *name).ok()?;
        plans.get(by_name.get(at)?.1)
    }

    /// Whether the name of this instance belongs to as many instances here as in the sample
    /// `other`. If one of several instances of a name is gone, those behind it have moved up, and
    /// none of them can be told apart.
    pub(crate) fn is_same_crowd(&self, identity: &Identity, other: &Self) -> bool {
        self.crowd(identity) == other.crowd(identity)
    }

    /// The number of instances of the sample with the same parent and name as the one with this
    /// identity; 1 for an instance that is identified by a number.
    fn crowd(&self, identity: &Identity) -> u32 {
        let Identity::Named { parent, name, .. } = identity else { return 1 };
        let has = |order| {
            let equal = Identity::Named { parent: parent.clone(), name: name.clone(), order };
            self.identities().place(&equal).is_some()
        };
        // Orders have no gaps, so the last order is found by bisection.
        let mut end = 1;
        while has(end) && end < u32::MAX / 2 {
            end *= 2;
        }
        let mut begin = end / 2;
        while begin < end {
            let middle = begin + (end - begin) / 2;
            if has(middle) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        begin
    }

    /// Whether no other instance of the sample has the name of the instance with this identity,
    /// which need not be in the sample itself. `true` for an instance that is identified by a
    /// number, `false` for one that is not the first of its name.
    pub(crate) fn is_alone(&self, identity: &Identity) -> bool {
        let Identity::Named { parent, name, order } = identity else { return true };
        let next = Identity::Named { parent: parent.clone(), name: name.clone(), order: 1 };
        *order == 0 && self.identities().place(&next).is_none()
    }
}

/// Whether an object has the same instances in two blocks, judged by their definitions; `false` if
/// a block lacks the object.
fn same_names(one: &Frame, other: &Frame, object: TitleIndex) -> bool {
    let Some((one, other)) = one.first_of(object).zip(other.first_of(object)) else { return false };
    let pairs = one.instances().zip(other.instances());
    one.instance_count() == other.instance_count()
        && pairs.into_iter().all(|(one, other)| one.definition_bytes() == other.definition_bytes())
}

/// Start and end of each counter block, in bytes from the start of the object.
fn blocks(object: PerfObject<'_>) -> Vec<(u32, u32)> {
    let mut at = object.header().DefinitionLength;
    if let Some(block) = object.counter_block() {
        return vec![(at, at + block.as_bytes().len() as u32)];
    }
    let ranges = object.instances().map(|instance| {
        let start = at + instance.definition_bytes().len() as u32;
        at = start + instance.counter_block().as_bytes().len() as u32;
        (start, at)
    });
    ranges.collect()
}
