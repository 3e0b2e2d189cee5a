//! Every counter type: its facets, names and formula, against tables written
//! here once more and against exact arithmetic.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use num_bigint::BigInt;
use num_rational::BigRational;
use perfhive_format::{
    Clock, Clocks, CookError, CookOptions, CookedValue, CounterKind, CounterSpec, CounterType,
    Formula, NumericSubtype, RawSample, TitleIndex, UnknownCounterType, cook, cook_with,
};
use perfhive_testkit::{is_slow, proptest_config};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A row of the reference: type, number, samples, formula, suffix, clock, and whether the
/// type needs a base.
type Row = (&'static str, u32, u8, Result<Formula, CookError>, &'static str, Option<Clock>, bool);

/// Every named type, written down from the documentation and not from the crate.
fn reference() -> Vec<Row> {
    use Clock::{Ns100, Object, Perf};
    use Formula as F;
    let none = None;
    vec![
        ("PERF_COUNTER_RAWCOUNT_HEX", 0x0000_0000, 1, Ok(F::Raw), "", none, false),
        ("PERF_COUNTER_LARGE_RAWCOUNT_HEX", 0x0000_0100, 1, Ok(F::Raw), "", none, false),
        ("PERF_COUNTER_TEXT", 0x0000_0B00, 0, Err(CookError::IsText), "", none, false),
        ("PERF_COUNTER_RAWCOUNT", 0x0001_0000, 1, Ok(F::Raw), "", none, false),
        ("PERF_COUNTER_LARGE_RAWCOUNT", 0x0001_0100, 1, Ok(F::Raw), "", none, false),
        ("PERF_DOUBLE_RAW", 0x0001_2000, 1, Ok(F::Double), "", none, false),
        ("PERF_COUNTER_DELTA", 0x0040_0400, 2, Ok(F::Delta), "", none, false),
        ("PERF_COUNTER_LARGE_DELTA", 0x0040_0500, 2, Ok(F::Delta), "", none, false),
        ("PERF_SAMPLE_COUNTER", 0x0041_0400, 2, Ok(F::Rate(Perf)), "", Some(Perf), false),
        (
            "PERF_COUNTER_QUEUELEN_TYPE",
            0x0045_0400,
            2,
            Ok(F::QueueLength(Perf)),
            "",
            Some(Perf),
            false,
        ),
        (
            "PERF_COUNTER_LARGE_QUEUELEN_TYPE",
            0x0045_0500,
            2,
            Ok(F::QueueLength(Perf)),
            "",
            Some(Perf),
            false,
        ),
        (
            "PERF_COUNTER_100NS_QUEUELEN_TYPE",
            0x0055_0500,
            2,
            Ok(F::QueueLength(Ns100)),
            "",
            Some(Ns100),
            false,
        ),
        (
            "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE",
            0x0065_0500,
            2,
            Ok(F::QueueLength(Object)),
            "",
            Some(Object),
            false,
        ),
        ("PERF_COUNTER_COUNTER", 0x1041_0400, 2, Ok(F::Rate(Perf)), "/sec", Some(Perf), false),
        ("PERF_COUNTER_BULK_COUNT", 0x1041_0500, 2, Ok(F::Rate(Perf)), "/sec", Some(Perf), false),
        ("PERF_RAW_FRACTION", 0x2002_0400, 1, Ok(F::RawFraction), "%", none, true),
        ("PERF_LARGE_RAW_FRACTION", 0x2002_0500, 1, Ok(F::RawFraction), "%", none, true),
        ("PERF_COUNTER_TIMER", 0x2041_0500, 2, Ok(F::Timer(Perf)), "%", Some(Perf), false),
        ("PERF_PRECISION_SYSTEM_TIMER", 0x2047_0500, 2, Ok(F::PrecisionTimer), "%", none, true),
        ("PERF_100NSEC_TIMER", 0x2051_0500, 2, Ok(F::Timer(Ns100)), "%", Some(Ns100), false),
        ("PERF_PRECISION_100NS_TIMER", 0x2057_0500, 2, Ok(F::PrecisionTimer), "%", none, true),
        ("PERF_OBJ_TIME_TIMER", 0x2061_0500, 2, Ok(F::Timer(Object)), "%", Some(Object), false),
        ("PERF_PRECISION_OBJECT_TIMER", 0x2067_0500, 2, Ok(F::PrecisionTimer), "%", none, true),
        ("PERF_SAMPLE_FRACTION", 0x20C2_0400, 2, Ok(F::SampleFraction), "%", none, true),
        (
            "PERF_COUNTER_TIMER_INV",
            0x2141_0500,
            2,
            Ok(F::TimerInverse(Perf)),
            "%",
            Some(Perf),
            false,
        ),
        (
            "PERF_100NSEC_TIMER_INV",
            0x2151_0500,
            2,
            Ok(F::TimerInverse(Ns100)),
            "%",
            Some(Ns100),
            false,
        ),
        (
            "PERF_COUNTER_MULTI_TIMER",
            0x2241_0500,
            2,
            Ok(F::MultiTimer(Perf)),
            "%",
            Some(Perf),
            true,
        ),
        (
            "PERF_100NSEC_MULTI_TIMER",
            0x2251_0500,
            2,
            Ok(F::MultiTimer(Ns100)),
            "%",
            Some(Ns100),
            true,
        ),
        (
            "PERF_COUNTER_MULTI_TIMER_INV",
            0x2341_0500,
            2,
            Ok(F::MultiTimerInverse(Perf)),
            "%",
            Some(Perf),
            true,
        ),
        (
            "PERF_100NSEC_MULTI_TIMER_INV",
            0x2351_0500,
            2,
            Ok(F::MultiTimerInverse(Ns100)),
            "%",
            Some(Ns100),
            true,
        ),
        ("PERF_AVERAGE_TIMER", 0x3002_0400, 2, Ok(F::AverageTimer(Perf)), "sec", Some(Perf), true),
        ("PERF_ELAPSED_TIME", 0x3024_0500, 1, Ok(F::Elapsed(Object)), "sec", Some(Object), false),
        ("PERF_COUNTER_NODATA", 0x4000_0200, 0, Err(CookError::NoData), "", none, false),
        ("PERF_AVERAGE_BULK", 0x4002_0500, 2, Ok(F::AverageBulk), "", none, true),
        ("PERF_SAMPLE_BASE", 0x4003_0401, 0, Err(CookError::IsBase), "", none, false),
        ("PERF_AVERAGE_BASE", 0x4003_0402, 0, Err(CookError::IsBase), "", none, false),
        ("PERF_RAW_BASE", 0x4003_0403, 0, Err(CookError::IsBase), "", none, false),
        ("PERF_PRECISION_TIMESTAMP", 0x4003_0500, 0, Err(CookError::IsBase), "", none, false),
        ("PERF_LARGE_RAW_BASE", 0x4003_0503, 0, Err(CookError::IsBase), "", none, false),
        ("PERF_COUNTER_MULTI_BASE", 0x4203_0500, 0, Err(CookError::IsBase), "", none, false),
        ("PERF_COUNTER_HISTOGRAM_TYPE", 0x8000_0000, 0, Err(CookError::NoFormula), "", none, false),
    ]
}

#[test]
fn every_named_type() {
    let reference = reference();
    let named: Vec<(&str, u32)> =
        CounterType::named().iter().map(|info| (info.winperf, info.counter_type.0)).collect();
    let expected: Vec<(&str, u32)> = reference.iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(named, expected);

    for (name, number, samples, formula, suffix, clock, base) in reference {
        let kind = CounterType(number);
        assert_eq!(name.parse(), Ok(kind), "{name}");
        assert_eq!(kind.to_string(), name);
        assert_eq!(format!("{number:#010x}").parse(), Ok(kind), "{name}");
        assert_eq!(number.to_string().parse(), Ok(kind), "{name}");
        assert_eq!(Formula::of(kind), formula, "{name}");
        assert_eq!(kind.samples(), samples, "{name}");
        assert_eq!(kind.suffix(), suffix, "{name}");
        assert_eq!(kind.needs_base(), base, "{name}");
        assert_eq!(kind.is_base(), formula == Err(CookError::IsBase), "{name}");
        if let Ok(formula) = formula {
            assert_eq!(formula.samples(), samples, "{name}");
            assert_eq!(formula.clock(), clock, "{name}");
            assert_eq!(formula.needs_base(), base, "{name}");
            assert_eq!(formula.is_percentage(), suffix == "%", "{name}");
        }
        let info = kind.info().unwrap();
        assert_eq!(info.formula.is_empty(), formula.is_err(), "{name}");
        assert!(!info.meaning.is_empty(), "{name}");
        // The unit is that of the suffix.
        let unit = [("", ""), ("/sec", "1/s"), ("%", "%"), ("sec", "s")];
        assert!(unit.contains(&(suffix, kind.unit())), "{name}");
    }
}

/// .NET's `PerformanceCounterType`, all 28 of it.
const DOTNET: &[(&str, u32)] = &[
    ("NumberOfItemsHEX32", 0x0000_0000),
    ("NumberOfItemsHEX64", 0x0000_0100),
    ("NumberOfItems32", 0x0001_0000),
    ("NumberOfItems64", 0x0001_0100),
    ("CounterDelta32", 0x0040_0400),
    ("CounterDelta64", 0x0040_0500),
    ("SampleCounter", 0x0041_0400),
    ("CountPerTimeInterval32", 0x0045_0400),
    ("CountPerTimeInterval64", 0x0045_0500),
    ("RateOfCountsPerSecond32", 0x1041_0400),
    ("RateOfCountsPerSecond64", 0x1041_0500),
    ("RawFraction", 0x2002_0400),
    ("CounterTimer", 0x2041_0500),
    ("Timer100Ns", 0x2051_0500),
    ("SampleFraction", 0x20C2_0400),
    ("CounterTimerInverse", 0x2141_0500),
    ("Timer100NsInverse", 0x2151_0500),
    ("CounterMultiTimer", 0x2241_0500),
    ("CounterMultiTimer100Ns", 0x2251_0500),
    ("CounterMultiTimerInverse", 0x2341_0500),
    ("CounterMultiTimer100NsInverse", 0x2351_0500),
    ("AverageTimer32", 0x3002_0400),
    ("ElapsedTime", 0x3024_0500),
    ("AverageCount64", 0x4002_0500),
    ("SampleBase", 0x4003_0401),
    ("AverageBase", 0x4003_0402),
    ("RawBase", 0x4003_0403),
    ("CounterMultiBase", 0x4203_0500),
];

#[test]
fn dotnet_names_parse_and_print() {
    for (name, number) in DOTNET {
        let kind = CounterType(*number);
        assert_eq!(name.parse(), Ok(kind));
        assert_eq!(name.to_uppercase().parse(), Ok(kind));
        assert_eq!(format!(" {name}\n").parse(), Ok(kind));
        assert_eq!(kind.dotnet_name(), Some(*name));
    }
    let named = CounterType::named().iter().filter_map(|info| info.dotnet);
    let ours: BTreeSet<&str> = named.collect();
    let theirs: BTreeSet<&str> = DOTNET.iter().map(|(name, _)| *name).collect();
    assert_eq!(ours, theirs);
    for alias in ["PERF_OBJ_TIME_TIME", "perf_100ns_timer_inv", "PERF_PRECISION_TIMER"] {
        assert!(alias.parse::<CounterType>().is_ok(), "{alias}");
    }
    for bad in ["NumberOfItems", "NumberOfItems32 64", "0x1g", "#5"] {
        assert_eq!(bad.parse::<CounterType>(), Err(UnknownCounterType), "{bad}");
    }
}

// ---- exact arithmetic ----

fn ratio(number: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(number.into())
}

/// The result of the exact reference: a value, or the set of reasons why there is none. It
/// does not matter which of several reasons is named.
type Exact = Result<BigRational, BTreeSet<&'static str>>;

fn reason(error: CookError) -> &'static str {
    match error {
        CookError::NeedsTwoSamples => "two samples",
        CookError::WentBackwards => "backwards",
        CookError::NoTimePassed => "no time",
        CookError::ClockWentBackwards => "clock backwards",
        CookError::NoFrequency => "no frequency",
        CookError::NoBase => "no base",
        CookError::ZeroBase => "zero base",
        CookError::NoStartTime => "no start",
        CookError::IsBase => "is base",
        CookError::IsText => "is text",
        CookError::NoData => "no data",
        CookError::NoFormula => "no formula",
        CookError::NotFinite => "not finite",
        _ => "unknown",
    }
}

/// The formulas in fractions of big integers, one number of `winperf.h` at a
/// time: nothing of it is derived from facets.
struct Reference<'a> {
    older: Option<&'a RawSample>,
    newer: &'a RawSample,
    same_instance: bool,
    reasons: BTreeSet<&'static str>,
}

impl Reference<'_> {
    fn fail(&mut self, reason: &'static str) -> BigRational {
        self.reasons.insert(reason);
        // Any number but zero: the reasons decide.
        ratio(1)
    }

    fn step(&mut self, older: u64, newer: u64, size: u8, backwards: &'static str) -> BigRational {
        let modulus = if size == 4 { 1i128 << 32 } else { 1 << 64 };
        let (older, newer) = (i128::from(older), i128::from(newer));
        let step = newer - older;
        if (0..1 << 63).contains(&step) {
            return ratio(step);
        }
        let unwrapped = step + modulus;
        if step < 0 && self.same_instance && older < modulus && unwrapped < modulus / 2 {
            return ratio(unwrapped);
        }
        self.fail(backwards)
    }

    fn delta(&mut self) -> BigRational {
        match self.older {
            Some(older) => {
                let (newer, size) = (self.newer.value, self.newer.value_size);
                self.step(older.value, newer, size, "backwards")
            }
            None => self.fail("two samples"),
        }
    }

    /// The step of the base; `zero` and `backwards` are the reasons that its faults have.
    fn base_delta(&mut self, zero: &'static str, backwards: &'static str) -> BigRational {
        let (Some(newer), older) = (self.newer.base, self.older) else {
            return self.fail("no base");
        };
        let Some(older) = older else {
            return self.fail("two samples");
        };
        let Some(older) = older.base else {
            return self.fail("no base");
        };
        let step = self.step(older, newer, self.newer.base_size, backwards);
        if step == ratio(0) { self.fail(zero) } else { step }
    }

    fn base(&mut self) -> BigRational {
        match self.newer.base {
            None => self.fail("no base"),
            Some(0) => self.fail("zero base"),
            Some(base) => ratio(base),
        }
    }

    fn time(&mut self, clock: impl Fn(&Clocks) -> i64) -> BigRational {
        let Some(older) = self.older else {
            return self.fail("two samples");
        };
        let (older, newer) = (clock(&older.clocks), clock(&self.newer.clocks));
        match i128::from(newer) - i128::from(older) {
            0 => self.fail("no time"),
            ticks if (1..=i128::from(i64::MAX)).contains(&ticks) => ratio(ticks),
            _ => self.fail("clock backwards"),
        }
    }

    fn frequency(&mut self, frequency: i64) -> BigRational {
        if frequency > 0 { ratio(frequency) } else { self.fail("no frequency") }
    }

    fn perf(&mut self) -> BigRational {
        self.time(|clocks| clocks.perf_time)
    }

    fn ns100(&mut self) -> BigRational {
        self.time(|clocks| clocks.time_100ns)
    }

    fn object(&mut self) -> BigRational {
        self.time(|clocks| clocks.object_time)
    }

    fn perf_seconds(&mut self) -> BigRational {
        let frequency = self.newer.clocks.perf_freq;
        self.perf() / self.frequency(frequency)
    }

    fn elapsed(&mut self) -> BigRational {
        let clocks = self.newer.clocks;
        let start = i128::from(self.newer.value);
        let ticks = i128::from(clocks.object_time) - start;
        let known = start != 0 && start <= i128::from(i64::MAX);
        if known && (0..=i128::from(i64::MAX)).contains(&ticks) {
            ratio(ticks) / self.frequency(clocks.object_freq)
        } else {
            self.frequency(clocks.object_freq);
            self.fail("no start")
        }
    }

    fn value(mut self, kind: u32) -> Exact {
        let n = ratio(self.newer.value);
        let hundred = ratio(100);
        let value = match kind {
            0x0000_0000 | 0x0000_0100 | 0x0001_0000 | 0x0001_0100 => n,
            0x0040_0400 | 0x0040_0500 => self.delta(),
            0x0041_0400 | 0x1041_0400 | 0x1041_0500 => self.delta() / self.perf_seconds(),
            0x0045_0400 | 0x0045_0500 => self.delta() / self.perf(),
            0x0055_0500 => self.delta() / self.ns100(),
            0x0065_0500 => self.delta() / self.object(),
            0x2002_0400 | 0x2002_0500 => hundred * n / self.base(),
            0x2041_0500 => hundred * self.delta() / self.perf(),
            0x2051_0500 => hundred * self.delta() / self.ns100(),
            0x2061_0500 => hundred * self.delta() / self.object(),
            0x2047_0500 | 0x2057_0500 | 0x2067_0500 => {
                hundred * self.delta() / self.base_delta("no time", "clock backwards")
            }
            0x20C2_0400 => hundred * self.delta() / self.base_delta("zero base", "backwards"),
            0x2141_0500 => hundred * (ratio(1) - self.delta() / self.perf()),
            0x2151_0500 => hundred * (ratio(1) - self.delta() / self.ns100()),
            0x2241_0500 => hundred * (self.delta() / self.perf_seconds()) / self.base(),
            0x2251_0500 => hundred * (self.delta() / self.ns100()) / self.base(),
            0x2341_0500 => {
                let items = self.base();
                hundred * (items.clone() - self.delta() / self.perf_seconds()) / items
            }
            0x2351_0500 => {
                let items = self.base();
                hundred * (items.clone() - self.delta() / self.ns100()) / items
            }
            0x3002_0400 => {
                let frequency = self.frequency(self.newer.clocks.perf_freq);
                (self.delta() / frequency) / self.base_delta("zero base", "backwards")
            }
            0x3024_0500 => self.elapsed(),
            0x4002_0500 => self.delta() / self.base_delta("zero base", "backwards"),
            0x0000_0B00 => self.fail("is text"),
            0x4000_0200 => self.fail("no data"),
            0x4003_0401 | 0x4003_0402 | 0x4003_0403 | 0x4003_0500 | 0x4003_0503 | 0x4203_0500 => {
                self.fail("is base")
            }
            0x0001_2000 => {
                let double = f64::from_bits(self.newer.value);
                BigRational::from_float(double).unwrap_or_else(|| self.fail("not finite"))
            }
            _ => self.fail("no formula"),
        };
        if self.reasons.is_empty() { Ok(value) } else { Err(self.reasons) }
    }
}

/// Whether a cooked value is close to the exact one: relative to it by 1e-12. Where a part
/// is subtracted from a whole, the error is relative to the part.
fn close(kind: u32, cooked: CookedValue, exact: &BigRational) -> bool {
    let cooked = match cooked {
        CookedValue::Integer(value) => return ratio(value) == *exact,
        CookedValue::Float(value) => BigRational::from_float(value).unwrap(),
    };
    let inverse = kind & 0x0100_0000 != 0;
    let abs = |value: BigRational| if value < ratio(0) { -value } else { value };
    let mut scale = abs(exact.clone());
    if inverse {
        scale += ratio(100);
    }
    let difference = abs(cooked - exact);
    difference * ratio(1_000_000_000_000u64) <= scale
}

fn any_step() -> impl Strategy<Value = (u64, u64)> {
    let steps = prop_oneof![
        4 => 0..1u64 << 40,
        1 => Just(0),
        1 => any::<u64>(),
        1 => (1..1u64 << 33).prop_map(|back| back.wrapping_neg()),
    ];
    let from = prop_oneof![
        3 => 0..1u64 << 50,
        1 => Just(0),
        1 => any::<u64>(),
        2 => (0..1u64 << 20).prop_map(|below| u64::from(u32::MAX) - below),
        1 => (0..1u64 << 20).prop_map(|below| u64::MAX - below),
    ];
    let narrow = prop::bool::weighted(0.4);
    (from, steps, narrow).prop_map(|(from, step, narrow)| {
        let to = from.wrapping_add(step);
        if narrow { (from & 0xffff_ffff, to & 0xffff_ffff) } else { (from, to) }
    })
}

fn any_clock() -> impl Strategy<Value = (i64, i64)> {
    let step = prop_oneof![
        6 => 1..1i64 << 40,
        1 => Just(0),
        1 => -1000..0i64,
        1 => any::<i64>(),
    ];
    let from = prop_oneof![4 => 0..1i64 << 57, 1 => any::<i64>()];
    (from, step).prop_map(|(from, step)| (from, from.wrapping_add(step)))
}

fn any_frequency() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => prop::sample::select(vec![3_579_545, 2_725_536, 10_000_000, 1_000_000_000, 1]),
        2 => 1..=i64::MAX,
        1 => -1..=0i64,
    ]
}

prop_compose! {
    fn any_pair()(
        value in any_step(),
        base in any_step(),
        has_base in (prop::bool::weighted(0.95), prop::bool::weighted(0.95)),
        narrow in (any::<bool>(), any::<bool>()),
        perf in any_clock(),
        ns100 in any_clock(),
        object in any_clock(),
        perf_freq in any_frequency(),
        object_freq in any_frequency(),
    ) -> (RawSample, RawSample) {
        let size = |narrow: bool| if narrow { 4 } else { 8 };
        let clocks = |perf_time, time_100ns, object_time| Clocks {
            perf_time, perf_freq, time_100ns, object_time, object_freq,
        };
        let sample = |value, base, clocks| RawSample {
            value,
            value_size: size(narrow.0),
            base,
            base_size: size(narrow.1),
            clocks,
        };
        (
            sample(value.0, has_base.0.then_some(base.0), clocks(perf.0, ns100.0, object.0)),
            sample(value.1, has_base.1.then_some(base.1), clocks(perf.1, ns100.1, object.1)),
        )
    }
}

fn check(kind: u32, same_instance: bool, older: Option<&RawSample>, newer: &RawSample) {
    let options = CookOptions::default().with_same_instance(same_instance);
    let cooked = cook_with(CounterType(kind), options, older, newer);
    let reference = Reference { older, newer, same_instance, reasons: BTreeSet::new() };
    let exact = reference.value(kind);
    let name = CounterType(kind);
    match (&cooked, &exact) {
        (Ok(cooked), Ok(exact)) => assert!(
            close(kind, *cooked, exact),
            "{name}: {cooked:?} is not {exact}, {older:?} {newer:?}"
        ),
        (Err(error), Err(reasons)) => assert!(
            reasons.contains(reason(*error)),
            "{name}: {error:?} is none of {reasons:?}, {older:?} {newer:?}"
        ),
        _ => panic!("{name}: {cooked:?} but {exact:?}, {older:?} {newer:?}"),
    }
    // Capping changes percentages only, and only those beyond the limits.
    let capped = CookOptions::default().with_same_instance(same_instance).with_cap_percent(true);
    let capped = cook_with(CounterType(kind), capped, older, newer);
    match (cooked, capped) {
        (Ok(plain), Ok(capped)) if name.suffix() == "%" => {
            assert_eq!(plain.as_f64().clamp(0.0, 100.0), capped.as_f64(), "{name}");
        }
        (plain, capped) => assert_eq!(plain, capped, "{name}"),
    }
}

proptest! {
    #![proptest_config(proptest_config(1500))]

    /// Every named type, from two samples and from one.
    #[test]
    fn cook_agrees_with_exact_arithmetic(
        (older, newer) in any_pair(),
        same in any::<bool>(),
        first in 0..9usize,
    ) {
        // Big fractions are slow where everything is.
        let (first, step) = if is_slow() { (first, 9) } else { (0, 1) };
        for (_, kind, ..) in reference().into_iter().skip(first).step_by(step) {
            check(kind, same, Some(&older), &newer);
            check(kind, same, None, &newer);
        }
    }

    /// Whatever the type, cooking gives a value or a reason.
    #[test]
    fn any_type_cooks_or_says_why(kind in any::<u32>(), (older, newer) in any_pair()) {
        let kind = CounterType(kind);
        let cooked = cook(kind, Some(&older), &newer);
        if kind.0 & UNNAMED_BITS != 0 && !kind.is_base() && kind.info().is_none() {
            prop_assert_eq!(cooked, Err(CookError::NoFormula));
        }
        if let Ok(value) = cooked {
            prop_assert!(value.as_f64().is_finite());
        }
        prop_assert_eq!(kind.to_string().parse(), Ok(kind));
    }
}

/// Bits that no facet of `winperf.h` names.
const UNNAMED_BITS: u32 =
    !(0x0300 | 0x0C00 | 0x0007_0000 | 0x0030_0000 | 0x03C0_0000 | 0x7000_0000);

/// All 65,536 combinations of facets.
fn combinations() -> impl Iterator<Item = CounterType> {
    let step = if is_slow() { 31 } else { 1 };
    (0..1u32 << 16).step_by(step).map(|bits| {
        let field = |from: u32, width: u32, to: u32| (bits >> from & ((1 << width) - 1)) << to;
        let size_and_kind = field(0, 4, 8);
        let subtype = field(4, 3, 16);
        let timer = field(7, 2, 20);
        let flags = field(9, 4, 22);
        let display = field(13, 3, 28);
        CounterType(size_and_kind | subtype | timer | flags | display)
    })
}

#[test]
fn every_combination_of_facets_is_decided() {
    let mut cooks = 0u32;
    for kind in combinations() {
        let formula = Formula::of(kind);
        assert_eq!(kind.samples(), formula.map_or(0, Formula::samples), "{kind}");
        match formula {
            Ok(formula) => {
                cooks += 1;
                assert_eq!(formula.needs_base(), kind.needs_base(), "{kind}");
                // Two samples: by the flag, or an average over a base.
                let average = matches!(formula, Formula::AverageTimer(_) | Formula::AverageBulk);
                let two = kind.is_delta() || average;
                assert_eq!(formula.samples() == 2, two, "{kind}");
                // Only percentages are made times 100, and capped.
                let percent = kind.suffix() == "%" || formula == Formula::RawFraction;
                assert!(!formula.is_percentage() || percent, "{kind}");
            }
            Err(CookError::IsBase) => assert!(kind.is_base(), "{kind}"),
            Err(CookError::IsText) => assert!(matches!(kind.kind(), CounterKind::Text(_))),
            Err(CookError::NoData) => {
                let zero = kind.kind() == CounterKind::Zero || kind.size_in_bytes() == Some(0);
                assert!(zero, "{kind}");
            }
            Err(error) => assert_eq!(error, CookError::NoFormula, "{kind}"),
        }
        if kind.kind() == CounterKind::Counter(NumericSubtype::Histogram) {
            assert!(formula.is_err(), "{kind}");
        }
    }
    // Many more than have names; neither none nor all.
    assert!(is_slow() || (500..10_000).contains(&cooks), "{cooks}");
}

/// Combinations that no header names, but whose facets make sense.
#[test]
fn unnamed_combinations_cook_by_their_facets() {
    use Formula as F;
    for (number, formula) in [
        // 32 bits wide where the named type has 64, and the other way round.
        (0x2041_0400, F::Timer(Clock::Perf)),
        (0x2051_0400, F::Timer(Clock::Ns100)),
        (0x0041_0500, F::Rate(Clock::Perf)),
        (0x20C2_0500, F::SampleFraction),
        (0x3002_0500, F::AverageTimer(Clock::Perf)),
        (0x4002_0400, F::AverageBulk),
        (0x0002_0500, F::AverageBulk),
        // Another clock.
        (0x1051_0500, F::Rate(Clock::Ns100)),
        (0x1061_0500, F::Rate(Clock::Object)),
        (0x2161_0500, F::TimerInverse(Clock::Object)),
        (0x2261_0500, F::MultiTimer(Clock::Object)),
        (0x2361_0500, F::MultiTimerInverse(Clock::Object)),
        (0x3012_0500, F::AverageTimer(Clock::Ns100)),
        (0x3014_0500, F::Elapsed(Clock::Ns100)),
        (0x3004_0500, F::Elapsed(Clock::Perf)),
        // Inverse precision timers, thousandths, a value with another display.
        (0x2157_0500, F::PrecisionTimerInverse),
        (0x0002_0000, F::RawThousandth),
        (0x0002_0100, F::RawThousandth),
        (0x0000_0400, F::Raw),
        (0x2000_0500, F::Raw),
        (0x1001_0100, F::Raw),
        (0x0041_0100, F::Delta),
    ] {
        let kind = CounterType(number);
        assert_eq!(kind.info(), None, "{kind}");
        assert_eq!(Formula::of(kind), Ok(formula), "{kind}");
    }
    for (number, error) in [
        (0x0000_0800, CookError::IsText),
        // ASCII text.
        (0x0001_0B00, CookError::IsText),
        (0x0000_0C00, CookError::NoData),
        (0x0001_0200, CookError::NoData),
        // Histogram, both timers, a number with an unknown base, an inverse
        // queue, a delta of a base without percent.
        (0x0006_0500, CookError::NoFormula),
        (0x2071_0500, CookError::NoFormula),
        (0x0003_0000, CookError::NoFormula),
        (0x0145_0500, CookError::NoFormula),
        (0x0082_0400, CookError::NoFormula),
        (0x8001_0000, CookError::NoFormula),
        (0x4003_0400, CookError::IsBase),
        (0x4003_04ff, CookError::IsBase),
    ] {
        let kind = CounterType(number);
        assert_eq!(Formula::of(kind), Err(error), "{kind}");
        assert_eq!(cook(kind, None, &RawSample::default()), Err(error), "{kind}");
    }
    let thousandth = RawSample::new(1500, Clocks::default());
    let cooked = cook(CounterType(0x0002_0000), None, &thousandth);
    assert_eq!(cooked, Ok(CookedValue::Float(1.5)));
}

/// Wraps, resets, zero bases and clocks at their limits, calculated by hand.
#[test]
fn limits() {
    let kind = CounterType::PERF_COUNTER_COUNTER;
    let at = |perf_time| Clocks { perf_time, perf_freq: 10, ..Clocks::default() };
    let narrow = |value, time| RawSample::new(value, at(time)).with_sizes(4, 4);
    let same = CookOptions::default().with_same_instance(true);
    let (old, new) = (narrow(u64::from(u32::MAX) - 4, 0), narrow(5, 10));
    assert_eq!(cook(kind, Some(&old), &new), Err(CookError::WentBackwards));
    assert_eq!(cook_with(kind, same, Some(&old), &new), Ok(CookedValue::Float(10.0)));
    // More than half the range back is taken for a reset.
    let (old, new) = (narrow(1 << 30, 0), narrow(5, 10));
    assert_eq!(cook_with(kind, same, Some(&old), &new), Err(CookError::WentBackwards));
    let (old, new) = (narrow((1 << 31) + 5, 0), narrow(5, 10));
    assert_eq!(cook_with(kind, same, Some(&old), &new), Err(CookError::WentBackwards));
    let (old, new) = (narrow((1 << 31) + 6, 0), narrow(5, 10));
    let most = f64::from(i32::MAX);
    assert_eq!(cook_with(kind, same, Some(&old), &new), Ok(CookedValue::Float(most)));
    // A 64-bit counter wraps elsewhere.
    let wide = |value, time| RawSample::new(value, at(time));
    let (old, new) = (wide(u64::MAX - 4, 0), wide(5, 10));
    assert_eq!(cook_with(kind, same, Some(&old), &new), Ok(CookedValue::Float(10.0)));
    let (old, new) = (wide(u64::from(u32::MAX), 0), wide(5, 10));
    assert_eq!(cook_with(kind, same, Some(&old), &new), Err(CookError::WentBackwards));

    let (old, new) = (wide(1, 10), wide(2, 10));
    assert_eq!(cook(kind, Some(&old), &new), Err(CookError::NoTimePassed));
    let (old, new) = (wide(1, 11), wide(2, 10));
    assert_eq!(cook(kind, Some(&old), &new), Err(CookError::ClockWentBackwards));
    let frozen = RawSample::new(2, Clocks { perf_time: 20, ..Clocks::default() });
    assert_eq!(cook(kind, Some(&old), &frozen), Err(CookError::NoFrequency));

    // An instance that started this moment; one that will have, and none.
    let elapsed = CounterType::PERF_ELAPSED_TIME;
    let clocks = Clocks { object_time: 7, object_freq: 1, ..Clocks::default() };
    let since = |start| cook(elapsed, None, &RawSample::new(start, clocks));
    assert_eq!(since(7), Ok(CookedValue::Float(0.0)));
    assert_eq!(since(8), Err(CookError::NoStartTime));
    assert_eq!(since(0), Err(CookError::NoStartTime));

    let fraction = CounterType::PERF_RAW_FRACTION;
    let part = wide(1, 0);
    assert_eq!(cook(fraction, None, &part), Err(CookError::NoBase));
    assert_eq!(cook(fraction, None, &part.with_base(0)), Err(CookError::ZeroBase));
    // A base sent as -1 is the largest unsigned number, not a negative one.
    let share = cook(fraction, None, &part.with_base(u64::from(u32::MAX))).unwrap();
    assert!(share.as_f64() > 0.0);

    let average = CounterType::PERF_AVERAGE_BULK;
    let (old, new) = (wide(5, 0).with_base(7), wide(5, 10).with_base(7));
    assert_eq!(cook(average, Some(&old), &new), Err(CookError::ZeroBase));
    let double = CounterType::PERF_DOUBLE_RAW;
    assert_eq!(CounterSpec::new(TitleIndex(2), double).size, 8);
    let not = RawSample::new(f64::NAN.to_bits(), Clocks::default());
    assert_eq!(cook(double, None, &not), Err(CookError::NotFinite));
    let half = RawSample::new(0.5f64.to_bits(), Clocks::default());
    assert_eq!(cook(double, None, &half), Ok(CookedValue::Float(0.5)));
}

/// The two samples from which the table of document 5 is worked out by hand:
/// 4 seconds of a 100 Hz counter, and of the 100 ns clock.
fn document_5_samples() -> (RawSample, RawSample) {
    let clocks = |seconds: i64| Clocks {
        perf_time: 1000 + seconds * 100,
        perf_freq: 100,
        time_100ns: 500 + seconds * 10_000_000,
        object_time: 3000 + seconds * 100,
        object_freq: 100,
    };
    (RawSample::new(2000, clocks(0)).with_base(10), RawSample::new(2600, clocks(4)).with_base(15))
}

/// The table of .NET's types in document 5: what it says, what perfhive calculates, and
/// every difference on purpose. dN = 600, dB = 5, B1 = 15, F = 100, and 4 seconds are 400 ticks or
/// 40,000,000 units of 100 ns.
#[test]
fn document_5_table() {
    let (older, newer) = document_5_samples();
    let ours = |name: &str| {
        let kind: CounterType = name.parse().unwrap();
        cook(kind, Some(&older), &newer).map(CookedValue::as_f64)
    };
    let capped = |name: &str| {
        let options = CookOptions::default().with_cap_percent(true);
        let kind: CounterType = name.parse().unwrap();
        cook_with(kind, options, Some(&older), &newer).unwrap().as_f64()
    };
    let mut listed = BTreeSet::new();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();

    // Where both say the same.
    for (name, value) in [
        ("AverageCount64", 600.0 / 5.0),
        ("CounterDelta32", 600.0),
        ("CounterDelta64", 600.0),
        ("CounterMultiTimer", 100.0 * (600.0 / 15.0) / (400.0 / 100.0)),
        ("CounterMultiTimer100Ns", 100.0 * (600.0 / 15.0) / 40_000_000.0),
        ("NumberOfItems32", 2600.0),
        ("NumberOfItems64", 2600.0),
        ("NumberOfItemsHEX32", 2600.0),
        ("NumberOfItemsHEX64", 2600.0),
        ("RateOfCountsPerSecond32", 600.0 / (400.0 / 100.0)),
        ("RateOfCountsPerSecond64", 600.0 / (400.0 / 100.0)),
        ("SampleCounter", 600.0 / (400.0 / 100.0)),
        ("SampleFraction", 100.0 * 600.0 / 5.0),
        ("Timer100Ns", 100.0 * 600.0 / 40_000_000.0),
        ("Timer100NsInverse", 100.0 * (1.0 - 600.0 / 40_000_000.0)),
    ] {
        assert!(listed.insert(name));
        let value_of = ours(name).unwrap();
        assert!(close(value_of, value), "{name}: {value_of} is not {value}");
    }
    // Bases are not values of their own.
    for name in ["AverageBase", "CounterMultiBase", "RawBase", "SampleBase"] {
        assert!(listed.insert(name));
        assert_eq!(ours(name), Err(CookError::IsBase), "{name}");
    }

    // Differences: name, what the document says, what we answer.
    for (name, theirs, answer) in [
        // Upside down there: operations a second instead of seconds each.
        ("AverageTimer32", 5.0 / (600.0 / 100.0), (600.0 / 100.0) / 5.0),
        // Divides by the base as the time; these types have no base, their
        // time is the performance counter's.
        ("CountPerTimeInterval32", 600.0 / 5.0, 600.0 / 400.0),
        ("CountPerTimeInterval64", 600.0 / 5.0, 600.0 / 400.0),
        // Ticks subtracted from a number of items, and nothing brought to 100.
        ("CounterMultiTimerInverse", (15.0 - 600.0) / 4.0, 100.0 * (15.0 - 600.0 / 4.0) / 15.0),
        (
            "CounterMultiTimer100NsInverse",
            (15.0 - 600.0) / 15.0 / 40_000_000.0,
            100.0 * (15.0 - 600.0 / 40_000_000.0) / 15.0,
        ),
        // Ticks divided by seconds; both are ticks. Capped there.
        ("CounterTimer", 100.0, 100.0 * 600.0 / 400.0),
        // As CounterTimer: 1 minus it.
        ("CounterTimerInverse", 100.0 * (1.0 - 600.0 / 4.0), 100.0 * (1.0 - 600.0 / 400.0)),
        // A fraction there, a percentage here as its suffix says.
        ("RawFraction", 2600.0 / 15.0, 100.0 * 2600.0 / 15.0),
        // The start of the older sample there, the newer one's here.
        ("ElapsedTime", (3400.0 - 2000.0) / 100.0, (3400.0 - 2600.0) / 100.0),
    ] {
        assert!(listed.insert(name));
        let value = ours(name).unwrap();
        assert!(close(value, answer), "{name}: {value} is not {answer}");
        assert!(!close(value, theirs), "{name} agrees with the document after all");
    }

    // Every one of its types is listed.
    let dotnet: BTreeSet<&str> = DOTNET.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, dotnet);

    // Capping is an option here. With it the three types that the document
    // caps agree, and so do its limits from below.
    assert_eq!(capped("CounterTimer"), 100.0);
    assert_eq!(capped("CounterTimerInverse"), 0.0);
    assert_eq!(capped("Timer100Ns"), ours("Timer100Ns").unwrap());
    // A start does not change while an instance lives: then both agree.
    let steady = RawSample { value: newer.value, ..older };
    let kind = CounterType::PERF_ELAPSED_TIME;
    let elapsed = cook(kind, Some(&steady), &newer).unwrap().as_f64();
    assert!(close(elapsed, (3400.0 - 2600.0) / 100.0));
    // And one sample suffices.
    assert_eq!(cook(kind, None, &newer), cook(kind, Some(&older), &newer));
}

/// The inverse of a timer and the timer make a whole.
#[test]
fn inverses_are_what_is_missing_to_100() {
    let (older, newer) = document_5_samples();
    for (direct, inverse) in [
        ("PERF_COUNTER_TIMER", "PERF_COUNTER_TIMER_INV"),
        ("PERF_100NSEC_TIMER", "PERF_100NSEC_TIMER_INV"),
        ("PERF_COUNTER_MULTI_TIMER", "PERF_COUNTER_MULTI_TIMER_INV"),
        ("PERF_100NSEC_MULTI_TIMER", "PERF_100NSEC_MULTI_TIMER_INV"),
        ("PERF_PRECISION_100NS_TIMER", "0x21570500"),
    ] {
        let value = |name: &str| {
            let kind: CounterType = name.parse().unwrap();
            cook(kind, Some(&older), &newer).unwrap().as_f64()
        };
        let sum = value(direct) + value(inverse);
        assert!((sum - 100.0).abs() < 1e-9, "{direct}: {sum}");
    }
}
