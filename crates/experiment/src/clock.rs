//! The clock of events.

/// The time now, in nanoseconds of `CLOCK_MONOTONIC`, which all processes of
/// the machine share.
#[cfg(target_os = "linux")]
pub(crate) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    crate::wire::nanos(time)
}

/// The time now, in nanoseconds since the first call in this process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn now() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(Instant::now);
    u64::try_from(first.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
