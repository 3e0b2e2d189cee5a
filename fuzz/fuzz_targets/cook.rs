//! Any counter type and any samples: a value or a reason, never a panic, and
//! the same value by every way there is to it.

#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use perfhive_format::{
    Clocks, CookOptions, CookedValue, CounterType, Formula, RawSample, cook, cook_with,
};

/// A type by number, or one of those that have a name: few numbers do.
#[derive(Arbitrary, Debug)]
enum Type {
    Number(u32),
    Named(u8),
}

#[derive(Arbitrary, Debug)]
struct Sample {
    value: u64,
    base: Option<u64>,
    /// 64-bit numbers where set.
    wide: bool,
    clocks: [i64; 5],
}

#[derive(Arbitrary, Debug)]
struct Input {
    counter_type: Type,
    cap_percent: bool,
    same_instance: bool,
    /// The clocks of the newer sample are the older's and a step of this size.
    step: Option<[u32; 3]>,
    older: Option<Sample>,
    newer: Sample,
}

fuzz_target!(|input: Input| {
    let named = CounterType::named();
    let kind = match input.counter_type {
        Type::Number(number) => CounterType(number),
        Type::Named(place) => named[usize::from(place) % named.len()].counter_type,
    };
    assert_eq!(kind.to_string().parse(), Ok(kind), "a type is read as it is written");
    let _ = (kind.kind(), kind.size(), kind.suffix(), kind.unit(), kind.dotnet_name());

    let older = input.older.as_ref().map(|sample| raw(sample));
    let mut newer = raw(&input.newer);
    if let (Some(older), Some([perf, ns100, object])) = (&older, input.step) {
        // Real clocks go forward by a little; unrelated numbers rarely do.
        let old = older.clocks;
        newer.clocks = Clocks {
            perf_time: old.perf_time.wrapping_add(perf.into()),
            time_100ns: old.time_100ns.wrapping_add(ns100.into()),
            object_time: old.object_time.wrapping_add(object.into()),
            ..old
        };
    }
    let options = CookOptions::default()
        .with_same_instance(input.same_instance)
        .with_cap_percent(input.cap_percent);

    let cooked = cook_with(kind, options, older.as_ref(), &newer);
    if options == CookOptions::default() {
        assert_eq!(cook(kind, older.as_ref(), &newer), cooked);
    }
    if let Ok(CookedValue::Float(value)) = cooked {
        assert!(value.is_finite());
    }
    let formula = match Formula::of(kind) {
        Ok(formula) => formula,
        Err(error) => {
            assert_eq!(cooked, Err(error));
            assert_eq!(kind.samples(), 0);
            return;
        }
    };
    assert_eq!(kind.samples(), formula.samples());
    assert_eq!(cooked, formula.apply(options, older.as_ref(), &newer));
    if let (Ok(value), true) = (cooked, options.cap_percent && formula.is_percentage()) {
        assert!((0.0..=100.0).contains(&value.as_f64()));
    }
    match formula.samples() {
        1 => assert_eq!(cooked, cook_with(kind, options, None, &newer), "one sample is enough"),
        _ => assert!(older.is_some() || cooked.is_err(), "one sample is not enough"),
    }
});

fn raw(sample: &Sample) -> RawSample {
    let [perf_time, perf_freq, time_100ns, object_time, object_freq] = sample.clocks;
    let size = if sample.wide { 8 } else { 4 };
    let clocks = Clocks { perf_time, perf_freq, time_100ns, object_time, object_freq };
    let mut raw = RawSample::new(sample.value, clocks).with_sizes(size, size);
    raw.base = sample.base;
    raw
}
