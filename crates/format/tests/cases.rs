//! The cases of `cases.json`: a type, two raw samples, and the value that other programs
//! found.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(not(miri))]

use perfhive_format::{Clocks, CookError, CounterType, RawSample, cook};
use perfhive_testkit::real;
use serde_json::Value;

fn sample(case: &Value) -> Option<RawSample> {
    let raw = case.as_object()?;
    let time = |field: &str| raw[field].as_i64().unwrap_or(0);
    Some(RawSample {
        value: raw["raw"].as_u64().unwrap_or(0),
        base: raw["base"].as_u64(),
        ..RawSample::new(
            0,
            Clocks {
                perf_time: time("time"),
                perf_freq: time("freq"),
                time_100ns: time("time100ns"),
                object_time: time("objtime"),
                object_freq: time("freq"),
            },
        )
    })
}

#[test]
fn all_cases_hold() {
    let Some(text) = real::text("cases.json") else {
        return;
    };
    let cases: Value = serde_json::from_str(&text).unwrap();
    let (mut values, mut none, mut stamps) = (0, 0, 0);
    for case in cases.as_array().unwrap() {
        let name = format!("{} {}", case["type"], case["source"]);
        let (older, newer) = (sample(&case["s0"]), sample(&case["s1"]).unwrap());
        let expected = case["expected"].as_f64();
        // What was published is rounded or was found another way, and says how
        // far off it may be. The rest is held to the last digits.
        let tolerance = match (case["tolerance"].as_f64(), case["kind"].as_str().unwrap()) {
            (Some(tolerance), "published") => tolerance,
            (None, "reference-computed") => 1e-12 * expected.unwrap_or(0.0).abs(),
            other => panic!("{name}: {other:?}"),
        };
        if case["type"] == "(timestamp only)" {
            let clocks = newer.clocks;
            let seconds = clocks.perf_time as f64 / clocks.perf_freq as f64;
            assert!((seconds - expected.unwrap()).abs() <= tolerance, "{name}: {seconds}");
            stamps += 1;
            continue;
        }
        let kind: CounterType = case["type"].as_str().unwrap().parse().unwrap();
        assert_eq!(case["hex"].as_str().unwrap().parse(), Ok(kind), "{name}");
        let cooked = cook(kind, older.as_ref(), &newer);
        match expected {
            Some(expected) => {
                let cooked = cooked.unwrap_or_else(|error| panic!("{name}: {error}")).as_f64();
                assert!(
                    (cooked - expected).abs() <= tolerance,
                    "{name}: {cooked} is not {expected}"
                );
                values += 1;
            }
            None => {
                let error = match case["note"].as_str().unwrap() {
                    "new instance" => CookError::NeedsTwoSamples,
                    "raw went backwards" => CookError::WentBackwards,
                    other => panic!("{name}: {other}"),
                };
                assert_eq!(cooked, Err(error), "{name}");
                none += 1;
            }
        }
        if let Some(suffix) = case["unit"].as_str() {
            // The units of the published cases are ours, but for the rate's.
            let unit = if suffix == "/s" { "1/s" } else { suffix };
            assert_eq!(kind.unit(), unit, "{name}");
        }
    }
    assert_eq!((values, none, stamps), (34, 10, 2));
}
