//! What perfhive's own tests share: generated blocks, real blocks, damaged
//! blocks, and a count of allocations.
//!
//! Not published, and free to change with the tests that use it.

pub mod alloc;
pub mod conformance;
pub mod faults;
pub mod forwarding;
pub mod model;
pub mod real;
pub mod renumbered;
pub mod script;
pub mod shown;
pub mod walk;

/// The number of cases that a property gets: `cases`, or at most two where tests are slow
/// ([`is_slow`]). The environment variable `PERFHIVE_CASES` (a number) replaces both;
/// `PROPTEST_CASES` has no effect.
#[must_use]
pub fn cases(cases: u32) -> u32 {
    let wanted = std::env::var("PERFHIVE_CASES");
    match wanted.ok().and_then(|text| text.parse().ok()) {
        Some(wanted) => wanted,
        None if is_slow() => cases.min(2),
        None => cases,
    }
}

/// The configuration of every property test, with the number of cases that [`cases`] makes of
/// `wanted`. Nothing is written to the source tree. Runs with the same `PROPTEST_RNG_SEED` have the same cases.
#[must_use]
pub fn proptest_config(wanted: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        cases: cases(wanted),
        failure_persistence: None,
        // A model is large; the failing case that is found in this many shrinking steps is small
        // enough.
        max_shrink_iters: 4096,
        ..proptest::test_runner::Config::default()
    }
}

/// Whether the tests run where every step is slow: under Miri, or where
/// `PERFHIVE_MIRI` is set to try the shortened tests without Miri.
#[must_use]
pub fn is_slow() -> bool {
    cfg!(miri) || std::env::var_os("PERFHIVE_MIRI").is_some()
}
