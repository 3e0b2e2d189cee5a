//! The statistics of a comparison in interleaved rounds.

use std::time::Duration;

/// The result of comparing the times of two programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The median time of the own program.
    pub(super) own: Duration,
    /// The median time of the peer.
    pub(super) peer: Duration,
    /// The median of the rounds' ratios (own time to the peer's). It is not the ratio of the medians, so that
    /// a round in which both programs were slow counts like any other.
    pub(super) ratio: f64,
    /// The lower quartile of the ratios.
    pub(super) low: f64,
    /// The upper quartile of the ratios: half of the rounds lie between both quartiles.
    pub(super) high: f64,
}

impl Comparison {
    /// The comparison of the times (own, peer) of the rounds; `None` if there are none.
    pub(super) fn of(times: &[(Duration, Duration)]) -> Option<Self> {
        let sorted = |pick: fn(&(Duration, Duration)) -> f64| {
            let mut values: Vec<f64> = times.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let own = sorted(|(own, _)| own.as_secs_f64());
        let peer = sorted(|(_, peer)| peer.as_secs_f64());
        let ratios = sorted(|(own, peer)| own.as_secs_f64() / peer.as_secs_f64());
        Some(Comparison {
            own: Duration::try_from_secs_f64(quantile(&own, 0.5)?).ok()?,
            peer: Duration::try_from_secs_f64(quantile(&peer, 0.5)?).ok()?,
            ratio: quantile(&ratios, 0.5)?,
            low: quantile(&ratios, 0.25)?,
            high: quantile(&ratios, 0.75)?,
        })
    }
}

/// The value at a fraction of a sorted list, interpolated between two neighbours; `None` if it is empty.
fn quantile(sorted: &[f64], fraction: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = last as f64 * fraction;
    let (low, high) = (*sorted.get(place.floor() as usize)?, *sorted.get(place.ceil() as usize)?);
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.5), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0, 9.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0, 9.0], 0.5), Some(3.0));
        assert_eq!(quantile(&[0.0, 1.0, 2.0, 3.0, 4.0], 0.25), Some(1.0));
    }

    #[test]
    fn the_ratio_is_taken_per_round() {
        let ms = Duration::from_millis;
        // A slow round on both sides changes the ratio of the medians, but not the median of the ratios.
        let times = [(ms(2), ms(1)), (ms(200), ms(100)), (ms(2), ms(1)), (ms(100), ms(50))];
        let all = Comparison::of(&times);
        assert!(all.is_some_and(|c| (c.ratio - 2.0).abs() < 1e-12 && (c.low - 2.0).abs() < 1e-12));
        let odd = [(ms(10), ms(10)), (ms(30), ms(10)), (ms(20), ms(40))];
        assert!(Comparison::of(&odd).is_some_and(|c| {
            (c.own, c.peer) == (ms(20), ms(10)) && (c.ratio - 1.0).abs() < 1e-12
        }));
        assert_eq!(Comparison::of(&[]), None);
    }
}
