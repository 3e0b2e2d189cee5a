//! Many values of one counter at once.

use super::{Clock, Clocks, CookOptions, CookedValue, Formula, RawSample};

/// One counter of many instances: the raw values of one sample, side by side.
#[derive(Clone, Copy, Debug)]
pub struct SampleColumn<'a> {
    /// Raw values, one for each instance.
    pub values: &'a [u64],
    /// Raw bases, one for each instance; empty for a counter without a base.
    pub bases: &'a [u64],
    /// Width of the values in bytes, 4 or 8.
    pub value_size: u8,
    /// Width of the bases in bytes.
    pub base_size: u8,
    /// The clocks of the sample.
    pub clocks: Clocks,
}

impl SampleColumn<'_> {
    /// The sample of the instance at `place`.
    #[must_use]
    pub fn sample(&self, place: usize) -> Option<RawSample> {
        Some(RawSample {
            value: *self.values.get(place)?,
            value_size: self.value_size,
            base: self.bases.get(place).copied(),
            base_size: self.base_size,
            clocks: self.clocks,
        })
    }
}

impl Formula {
    /// Cooks a column. `previous` and `current` are lined up: the same place
    /// is the same instance in both. `out` gets one value for each place, or
    /// NaN where there is none; [`apply`](Self::apply) on the samples of that
    /// place then says why. Answers the number of places written, the length
    /// of the shortest column given.
    ///
    /// The usual formulas run in a tight loop without branches, with what
    /// concerns the clocks done once. Values that need a closer look, such as
    /// steps backwards, are found in passing and looked at one by one.
    pub fn apply_column(
        self,
        options: CookOptions,
        previous: Option<&SampleColumn<'_>>,
        current: &SampleColumn<'_>,
        out: &mut [f64],
    ) -> usize {
        let mut places = current.values.len().min(out.len());
        if let (Some(previous), 2) = (previous, self.samples()) {
            places = places.min(previous.values.len());
        }
        let out = out.get_mut(..places).unwrap_or_default();
        let slow = |place: usize| {
            let older = previous.and_then(|column| column.sample(place));
            let Some(newer) = current.sample(place) else {
                return f64::NAN;
            };
            let cooked = self.apply(options, older.as_ref(), &newer);
            cooked.map_or(f64::NAN, CookedValue::as_f64)
        };
        if self.tight(previous, current, out, slow).is_none() {
            for (place, slot) in out.iter_mut().enumerate() {
                *slot = slow(place);
            }
        } else if options.cap_percent && self.is_percentage() {
            for slot in out.iter_mut() {
                *slot = slot.clamp(0.0, 100.0);
            }
        }
        places
    }

    /// The loops; `None`, and nothing written, where a sample, a base or a
    /// clock is missing and place by place has to do. The operations and their
    /// order are those of [`apply`](Self::apply), so that both give the same
    /// bits.
    fn tight(
        self,
        previous: Option<&SampleColumn<'_>>,
        current: &SampleColumn<'_>,
        out: &mut [f64],
        slow: impl Fn(usize) -> f64,
    ) -> Option<()> {
        let length = out.len();
        let newer = current.values.get(..length)?;
        let bases = || current.bases.get(..length);
        match self {
            Self::Raw => lanes([newer], out, slow, |[n]| (to_f64(n), 0)),
            Self::RawThousandth => lanes([newer], out, slow, |[n]| (to_f64(n) / 1000.0, 0)),
            Self::RawFraction => lanes([newer, bases()?], out, slow, |[n, base]| {
                let below = small(base);
                let value = 100.0 * (small(n) / below);
                (nan_if(below == 0.0, value), n >> 52 | base >> 52)
            }),
            Self::Elapsed(clock) => {
                let frequency = clock.frequency(&current.clocks).ok()? as f64;
                let now = u64::try_from(clock.time(&current.clocks)).ok()?;
                lanes([newer], out, slow, |[start]| {
                    let ticks = now.wrapping_sub(start);
                    // No start, or one beyond all times or in the future.
                    let odd = (start.wrapping_sub(1) | start | ticks) >> 63;
                    (to_f64(ticks) / frequency, odd)
                });
            }
            Self::Double => return None,
            _ => {
                let previous = previous?;
                let older = previous.values.get(..length)?;
                let steps = [older, newer];
                let elapsed = |clock: Clock| clock.elapsed(&previous.clocks, &current.clocks).ok();
                let frequency = |clock: Clock| Some(clock.frequency(&current.clocks).ok()? as f64);
                let stepped = || Some([older, newer, previous.bases.get(..length)?, bases()?]);
                match self {
                    Self::Delta => lanes(steps, out, slow, step_by(|delta| delta)),
                    Self::Rate(clock) | Self::QueueLength(clock) => {
                        let unit = match self {
                            Self::Rate(_) => elapsed(clock)? / frequency(clock)?,
                            _ => elapsed(clock)?,
                        };
                        lanes(steps, out, slow, step_by(|delta| delta / unit));
                    }
                    Self::Timer(clock) => {
                        let elapsed = elapsed(clock)?;
                        lanes(steps, out, slow, step_by(|delta| 100.0 * (delta / elapsed)));
                    }
                    Self::TimerInverse(clock) => {
                        let elapsed = elapsed(clock)?;
                        let cook = step_by(|delta| 100.0 * (1.0 - delta / elapsed));
                        lanes(steps, out, slow, cook);
                    }
                    Self::SampleFraction | Self::PrecisionTimer => {
                        let cook = steps_by(|delta, base| 100.0 * (delta / base));
                        lanes(stepped()?, out, slow, cook);
                    }
                    Self::PrecisionTimerInverse => {
                        let cook = steps_by(|delta, base| 100.0 * (1.0 - delta / base));
                        lanes(stepped()?, out, slow, cook);
                    }
                    Self::AverageBulk => {
                        lanes(stepped()?, out, slow, steps_by(|delta, base| delta / base));
                    }
                    Self::AverageTimer(clock) => {
                        let frequency = frequency(clock)?;
                        let cook = steps_by(|delta, base| (delta / frequency) / base);
                        lanes(stepped()?, out, slow, cook);
                    }
                    // Too rare to be worth a loop of their own.
                    _ => return None,
                }
            }
        }
        Some(())
    }
}

/// How many places are looked at together: few enough to stay in registers.
const LANES: usize = 4;

/// Cooks place by place: `cook` answers a value, and a word that is not zero
/// where that value is not to be trusted; `slow` is then asked instead.
#[inline(always)]
fn lanes<const K: usize>(
    inputs: [&[u64]; K],
    out: &mut [f64],
    slow: impl Fn(usize) -> f64,
    cook: impl Fn([u64; K]) -> (f64, u64),
) {
    let inputs = inputs.map(|input| input.as_chunks::<LANES>().0);
    let (groups, rest) = out.as_chunks_mut::<LANES>();
    let done = groups.len() * LANES;
    for (number, group) in groups.iter_mut().enumerate() {
        // Never missing: every input is as long as the output.
        let values = inputs.map(|input| input.get(number).copied().unwrap_or_default());
        let mut odd = 0;
        for (lane, slot) in group.iter_mut().enumerate() {
            let (value, mark) = cook(values.map(|values| values[lane]));
            *slot = value;
            odd |= mark;
        }
        if odd != 0 {
            for (lane, slot) in group.iter_mut().enumerate() {
                *slot = slow(number * LANES + lane);
            }
        }
    }
    for (lane, slot) in rest.iter_mut().enumerate() {
        *slot = slow(done + lane);
    }
}

/// A formula of the step from the older to the newer value.
#[inline(always)]
fn step_by(cook: impl Fn(f64) -> f64) -> impl Fn([u64; 2]) -> (f64, u64) {
    move |[older, newer]| {
        let step = newer.wrapping_sub(older);
        (cook(small(step)), odd_step(older, step))
    }
}

/// A formula of the steps of value and base.
#[inline(always)]
fn steps_by(cook: impl Fn(f64, f64) -> f64) -> impl Fn([u64; 4]) -> (f64, u64) {
    move |[older, newer, old_base, new_base]| {
        let (step, base) = (newer.wrapping_sub(older), new_base.wrapping_sub(old_base));
        let below = small(base);
        let value = nan_if(below == 0.0, cook(small(step), below));
        (value, odd_step(older, step) | odd_step(old_base, base))
    }
}

/// Zero for a step forward that [`small`] takes. Any other step is negative,
/// which shows in its upper bits, or too large, or began at more than half of
/// all numbers: there a step back over the end looks like one forward.
#[inline(always)]
const fn odd_step(older: u64, step: u64) -> u64 {
    step >> 52 | older >> 63
}

/// A number below 2^52 as a double: as the low bits of one that is 2^52 more.
/// Unlike the general conversion it takes two operations, of any lane width.
#[inline(always)]
const fn small(value: u64) -> f64 {
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    f64::from_bits(value | TWO_52.to_bits()) - TWO_52
}

/// NaN, or the value; without a branch.
#[inline(always)]
fn nan_if(wanted: bool, value: f64) -> f64 {
    f64::from_bits(value.to_bits() | if wanted { u64::MAX } else { 0 })
}

#[inline(always)]
#[allow(clippy::cast_precision_loss, reason = "the formulas are defined in doubles")]
const fn to_f64(value: u64) -> f64 {
    value as f64
}
