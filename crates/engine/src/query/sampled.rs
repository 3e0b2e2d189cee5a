//! One counter of one instance in one sample.

use super::no_value::NoValue;
use super::statistics::weight;
use crate::identity::Identity;
use perfhive_format::{
    CookError, CookOptions, CookedValue, CounterBlock, CounterKind, CounterPlan, CounterType,
    Formula, InstanceName, PerfObject, RawSample, TextEncoding,
};

/// One counter of one instance in one sample, with the facts that tell whether an older
/// `SampledCounter` is of the same instance. See
/// [`ObjectSample::counter`](crate::ObjectSample::counter).
///
/// ```
/// # let recording = perfhive_testkit::script::recording();
/// use perfhive_engine::{Ask, NoValue, ObjectSample, Snapshot, Source};
/// use perfhive_format::TitleIndex;
/// let mut source = recording; // of the context switches of a system
/// let mut take = || -> Result<_, Box<dyn std::error::Error>> {
///     let mut snapshot = Snapshot::new();
///     source.collect(&Ask::objects(&[TitleIndex(2)]), &mut snapshot)?;
///     Ok(ObjectSample::of(snapshot.object(TitleIndex(2)).ok_or("no such object")?))
/// };
/// let (older, newer) = (take()?, take()?);
/// let older = older.counter(0, TitleIndex(146)).ok_or("no such counter")?;
/// let newer = newer.counter(0, TitleIndex(146)).ok_or("no such counter")?;
/// assert!(matches!(newer.value(None), Err(NoValue::NeedsTwoSamples)));
/// // 50 switches in two seconds.
/// assert_eq!(newer.value(Some(&older))?.as_f64(), 25.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SampledCounter {
    counter_type: CounterType,
    formula: Result<Formula, CookError>,
    identity: Identity,
    /// Whether the identity proves the instance: two samples with the same identity, both with
    /// `true` here, are certainly of the same instance.
    sure: bool,
    /// The number of instances with this instance's parent and name, or 1 if a number identifies
    /// the instance. Always 0 if the type does not take two samples.
    crowd: u32,
    /// The origin of the frame that the sample came in; see
    /// [`Frame::origin`](crate::Frame::origin).
    origin: u64,
    raw: Result<RawSample, NoValue>,
    text: Option<String>,
}

impl SampledCounter {
    /// The counter of an instance with a name that `crowd` instances have, in a frame with this origin.
    pub(super) fn new(
        plan: &CounterPlan,
        object: PerfObject<'_>,
        block: CounterBlock<'_>,
        (identity, crowd): (Identity, u32),
        origin: u64,
    ) -> Self {
        let raw = plan.sample(object, block).map_err(|error| match plan.formula {
            // That the type is no number is a better reason than the size of the data.
            Err(no_number) if plan.value.is_none() => NoValue::Cook(no_number),
            _ => NoValue::Data(error),
        });
        let is_text = plan.formula == Err(CookError::IsText);
        Self {
            counter_type: plan.counter_type,
            formula: plan.formula,
            sure: is_sure(&identity, crowd),
            crowd,
            origin,
            identity,
            raw,
            text: if is_text { text_of(plan, object, block) } else { None },
        }
    }

    /// The counter type.
    #[must_use]
    pub fn counter_type(&self) -> CounterType {
        self.counter_type
    }

    /// The identity of the instance.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The text of a text counter; `None` for any other counter, and if the block does not hold the
    /// text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The raw data: value, base and clocks.
    ///
    /// # Errors
    /// If the data block has no value for this instance, or the counter is not a number.
    pub fn raw(&self) -> Result<&RawSample, NoValue> {
        self.raw.as_ref().map_err(Clone::clone)
    }

    /// The number of samples that a value takes: 2, 1, or 0 for a counter without a formula.
    #[must_use]
    pub fn samples(&self) -> u8 {
        self.formula.map_or(0, Formula::samples)
    }

    /// The weight that the [`value`](Self::value) made of `older` and this sample has in a mean; 1
    /// without an older sample or a number.
    pub(super) fn weight(&self, older: Option<&Self>) -> f64 {
        let (Ok(formula), Ok(newer), Some(older)) = (self.formula, &self.raw, older) else {
            return 1.0;
        };
        let options = CookOptions::default().with_same_instance(older.sure && self.sure);
        weight(formula, options, older.raw.as_ref().ok(), newer)
    }

    /// The value. For a type that takes two samples it is calculated from `older` and this one;
    /// `older` must be the same counter of the same instance.
    ///
    /// # Errors
    /// The reason why there is no value: among others [`NoValue::NeedsTwoSamples`] without an older
    /// sample, or if the older sample has another type, comes from another source, or has no data;
    /// [`NoValue::Born`] if the older sample is of another instance, or if several instances of the
    /// name cannot be told apart.
    pub fn value(&self, older: Option<&Self>) -> Result<CookedValue, NoValue> {
        let raw = self.raw()?;
        let formula = self.formula.map_err(NoValue::Cook)?;
        let mut options = CookOptions::default();
        let mut before = None;
        if formula.samples() == 2 {
            let older = older.ok_or(NoValue::NeedsTwoSamples)?;
            // If one of several instances of a name came or went, those behind it moved.
            if older.identity != self.identity || older.crowd != self.crowd {
                return Err(NoValue::Born);
            }
            // Two sources count from different beginnings.
            if older.origin != self.origin {
                return Err(NoValue::NeedsTwoSamples);
            }
            // A counter with another type is another counter.
            if older.counter_type != self.counter_type {
                return Err(NoValue::NeedsTwoSamples);
            }
            options.same_instance = older.sure && self.sure;
            // If the older sample has no data, a further sample is needed.
            before = Some(older.raw.as_ref().map_err(|_| NoValue::NeedsTwoSamples)?);
        }
        formula.apply(options, before, raw).map_err(NoValue::Cook)
    }
}

/// Whether an identity proves the same instance in two samples. A number does, except the ID of a
/// process or thread without a start time. A name that only one instance has does, except `_Total`,
/// which is a sum over changing instances.
fn is_sure(identity: &Identity, crowd: u32) -> bool {
    match identity {
        Identity::Named { name, .. } => crowd == 1 && !is_total(name),
        numbered => numbered.is_certain(),
    }
}

fn is_total(name: &[u8]) -> bool {
    let total = "_Total";
    name == total.as_bytes() || name.iter().copied().eq(total.bytes().flat_map(|byte| [byte, 0]))
}

/// The text of a text counter, read as UTF-16 or in the code page of the object (1252 if the object
/// states none); `None` if the block does not hold it.
fn text_of(plan: &CounterPlan, object: PerfObject<'_>, block: CounterBlock<'_>) -> Option<String> {
    let definition = object.counters().nth(plan.place as usize)?;
    let data = block.data(&definition).ok()?;
    let code_page = match plan.counter_type.kind() {
        CounterKind::Text(TextEncoding::Unicode) => 0,
        CounterKind::Text(TextEncoding::Ascii) if object.code_page() == 0 => 1252,
        CounterKind::Text(_) => object.code_page(),
        _ => return None,
    };
    Some(InstanceName::new(data, code_page).to_text())
}
