//! Two samples of an object: the newest, and the one before it.

use super::no_value::NoValue;
use super::sampled::SampledCounter;
use crate::frame::{Frame, Snapshot, SnapshotObject};
use crate::identity::{Identifier, Identity, IdentityMap};
use crate::label::InstanceLabel;
use perfhive_format::{CounterBlock, CounterPlan, PerfObject, SystemTime, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// What a query keeps of one object of one source.
#[derive(Default)]
pub(crate) struct ObjectState {
    layout: Option<Arc<Layout>>,
    current: Option<ObjectSample>,
    previous: Option<ObjectSample>,
    /// Why the newest collection has not got the object, if it has not.
    pub(crate) missing: Option<Arc<str>>,
}

/// What is resolved once for a schema, and used for every sample of it.
struct Layout {
    identifier: Identifier,
    plans: Vec<CounterPlan>,
    /// Places of the counters that are no bases, by name; of several counters
    /// of one name the first counts.
    by_name: HashMap<TitleIndex, usize>,
}

impl Layout {
    fn new(object: PerfObject<'_>) -> Self {
        let plans = CounterPlan::all(object);
        let counters = plans.iter().enumerate().rev();
        let by_name = counters
            .filter(|(_, plan)| !plan.counter_type.is_base())
            .map(|(place, plan)| (plan.name, place))
            .collect();
        Self { identifier: Identifier::new(object), plans, by_name }
    }
}

/// One object in one sample, with its instances told apart and named.
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
    layout: Arc<Layout>,
    pub(crate) identities: IdentityMap,
    pub(crate) labels: Vec<InstanceLabel>,
    /// Where the counter blocks lie in the object, so that looking an
    /// instance up is no walk.
    blocks: Vec<(u32, u32)>,
}

impl ObjectState {
    pub(crate) fn current(&self) -> Option<&ObjectSample> {
        self.current.as_ref()
    }

    pub(crate) fn previous(&self) -> Option<&ObjectSample> {
        self.previous.as_ref()
    }

    /// Takes the object out of a new snapshot.
    ///
    /// Answers whether its counters are not those of the sample before.
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
                Arc::new(Layout::new(object.view()))
            }
        };
        self.current = Some(ObjectSample::new(&layout, object));
        self.layout = Some(layout);
        is_new
    }

    /// A counter of an instance in the sample before, for a value of two;
    /// `None` where there is no sample to calculate with.
    ///
    /// # Errors
    /// [`NoValue::Born`] where that sample does not have the instance.
    pub(crate) fn older(
        &self,
        identity: &Identity,
        counter: TitleIndex,
    ) -> Result<Option<SampledCounter>, NoValue> {
        let Some(previous) = self.previous() else { return Ok(None) };
        let place = previous.identities.place(identity).ok_or(NoValue::Born)?;
        Ok(previous.counter(place, counter))
    }

    /// Goes on without a new sample: the newest becomes the one before it.
    pub(crate) fn skip(&mut self) {
        self.missing = None;
        if let Some(current) = self.current.take() {
            self.previous = Some(current);
        }
    }

    /// The instances of the newest sample as a path writes them.
    pub(crate) fn labels(&self) -> Vec<String> {
        let sample = self.current.as_ref().or(self.previous.as_ref());
        sample.map_or(Vec::new(), |s| s.labels.iter().map(ToString::to_string).collect())
    }
}

impl ObjectSample {
    /// Reads an object of a snapshot; its frame is kept, not copied.
    #[must_use]
    pub fn of(object: SnapshotObject<'_>) -> Self {
        Self::new(&Arc::new(Layout::new(object.view())), object)
    }

    fn new(layout: &Arc<Layout>, object: SnapshotObject<'_>) -> Self {
        Self {
            frame: Arc::clone(object.frame()),
            place: object.place(),
            identities: IdentityMap::new(&layout.identifier, object),
            labels: object.labels(),
            blocks: blocks(object.view()),
            layout: Arc::clone(layout),
        }
    }

    /// What the instances are called, in their order; empty for an object
    /// without instances.
    #[must_use]
    pub fn labels(&self) -> &[InstanceLabel] {
        &self.labels
    }

    /// Who the instances are, in the same order; of an object without
    /// instances [`Identity::Single`].
    #[must_use]
    pub fn identities(&self) -> &IdentityMap {
        &self.identities
    }

    /// The counters of the object in their order, without bases.
    pub fn counters(&self) -> impl Iterator<Item = &CounterPlan> {
        self.layout.plans.iter().filter(|plan| !plan.counter_type.is_base())
    }

    /// Whether the object can have instances.
    #[must_use]
    pub fn has_instances(&self) -> bool {
        self.object().is_some_and(PerfObject::has_instances)
    }

    pub(super) fn object(&self) -> Option<PerfObject<'_>> {
        self.frame.object(self.place)
    }

    /// The counter block of the instance at a place.
    fn block(&self, place: usize) -> Option<CounterBlock<'_>> {
        let (start, end) = *self.blocks.get(place)?;
        let bytes = self.object()?.as_bytes().get(start as usize..end as usize)?;
        Some(CounterBlock::from_validated(bytes))
    }

    /// A counter that is no base, of the instance at a place (from 0; the only place of an
    /// object without instances). `None` where the sample has no such place or no such
    /// counter.
    #[must_use]
    pub fn counter(&self, place: usize, counter: TitleIndex) -> Option<SampledCounter> {
        self.sampled(place, self.plan(counter)?)
    }

    pub(super) fn sampled(&self, place: usize, plan: &CounterPlan) -> Option<SampledCounter> {
        let (object, block) = (self.object()?, self.block(place)?);
        let identity = self.identities.identity(place)?.clone();
        let crowd = match plan.counter_type.samples() {
            2 => self.crowd(&identity),
            _ => 0,
        };
        let origin = self.frame.origin();
        Some(SampledCounter::new(plan, object, block, (identity, crowd), origin))
    }

    /// Calendar time of the sample, UTC.
    #[must_use]
    pub fn system_time(&self) -> SystemTime {
        self.frame.system_time()
    }

    /// The plan of a counter that is no base.
    pub(crate) fn plan(&self, counter: TitleIndex) -> Option<&CounterPlan> {
        self.layout.by_name.get(&counter).and_then(|place| self.layout.plans.get(*place))
    }

    /// Whether as many instances share the name of this one as in another
    /// sample. If one of several equals went, those behind it moved up, and
    /// which is which cannot be told.
    pub(crate) fn is_same_crowd(&self, identity: &Identity, other: &Self) -> bool {
        self.crowd(identity) == other.crowd(identity)
    }

    /// How many instances share the name of this one; 1 for an instance that is
    /// known by number.
    fn crowd(&self, identity: &Identity) -> u32 {
        let Identity::Named { parent, name, .. } = identity else { return 1 };
        let has = |order| {
            let equal = Identity::Named { parent: parent.clone(), name: name.clone(), order };
            self.identities.place(&equal).is_some()
        };
        // Orders are without gaps: the last is found by halving.
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

    /// Whether no more than one instance has the name of this one.
    pub(crate) fn is_alone(&self, identity: &Identity) -> bool {
        let Identity::Named { parent, name, order } = identity else { return true };
        let next = Identity::Named { parent: parent.clone(), name: name.clone(), order: 1 };
        *order == 0 && self.identities.place(&next).is_none()
    }
}

/// Start and end of each counter block, from the start of the object.
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
