//! Many values of one counter at once.

use super::formula::step;
use super::{Clocks, CookError, CookOptions, CookedValue, Formula, RawSample};

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
    /// The usual formulas (rates, shares of time, queue lengths) run in a
    /// tight loop with the clocks divided once.
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
        let capped = options.cap_percent && self.is_percentage();
        match (self, previous) {
            (Self::Rate(_) | Self::QueueLength(_) | Self::Timer(_), Some(previous)) if !capped => {
                match self.per_unit(previous, current) {
                    Ok((factor, unit)) => {
                        steps(options, previous, current, out, |delta| {
                            factor * (delta / unit)
                        });
                    }
                    Err(_) => out.fill(f64::NAN),
                }
            }
            (Self::TimerInverse(clock), Some(previous)) if !capped => {
                match clock.elapsed(&previous.clocks, &current.clocks) {
                    Ok(unit) => {
                        let cook = |delta| 100.0 * (1.0 - delta / unit);
                        steps(options, previous, current, out, cook);
                    }
                    Err(_) => out.fill(f64::NAN),
                }
            }
            _ => {
                for (place, slot) in out.iter_mut().enumerate() {
                    let older = previous.and_then(|column| column.sample(place));
                    *slot = match current.sample(place) {
                        Some(sample) => self
                            .apply(options, older.as_ref(), &sample)
                            .map_or(f64::NAN, CookedValue::as_f64),
                        None => f64::NAN,
                    };
                }
            }
        }
        places
    }

    /// Factor and divisor of the formulas that only divide by time. The
    /// divisor is formed as in [`apply`](Self::apply), so that both give the
    /// same bits.
    #[allow(
        clippy::cast_precision_loss,
        reason = "the formulas are defined in doubles"
    )]
    fn per_unit(
        self,
        previous: &SampleColumn<'_>,
        current: &SampleColumn<'_>,
    ) -> Result<(f64, f64), CookError> {
        let clock = self.clock().ok_or(CookError::NoFormula)?;
        let elapsed = clock.elapsed(&previous.clocks, &current.clocks)?;
        Ok(match self {
            Self::Rate(_) => (1.0, elapsed / clock.frequency(&current.clocks)? as f64),
            Self::Timer(_) => (100.0, elapsed),
            _ => (1.0, elapsed),
        })
    }
}

#[inline]
#[allow(
    clippy::cast_precision_loss,
    reason = "the formulas are defined in doubles"
)]
fn steps(
    options: CookOptions,
    previous: &SampleColumn<'_>,
    current: &SampleColumn<'_>,
    out: &mut [f64],
    cook: impl Fn(f64) -> f64,
) {
    let size = current.value_size;
    for ((slot, older), newer) in out.iter_mut().zip(previous.values).zip(current.values) {
        // A plain step forward, the usual case, is one subtraction: as a
        // signed number it is negative for every step that `step` refuses or
        // has to look at more closely.
        let plain = newer.wrapping_sub(*older) as i64;
        *slot = if plain >= 0 && newer >= older {
            cook(plain as f64)
        } else {
            step(*older, *newer, size, options).map_or(f64::NAN, |delta| cook(delta as f64))
        };
    }
}
