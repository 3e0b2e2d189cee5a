//! The named counter types of `winperf.h`.
//!
//! Numbers: `winperf.h` and the Win32 and WMI documentation of counter types;
//! .NET's names: `System.Diagnostics.PerformanceCounterType`. The formulas are
//! those of [`crate::cook`], written as a person reads them: N is the value, B
//! the base, D the clock, F its ticks a second; 0 is the older sample, 1 the
//! newer.

use super::CounterType;

/// A row of the table of named counter types: number, names, formula and meaning of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeInfo {
    /// The type.
    pub counter_type: CounterType,
    /// The type's name in `winperf.h`.
    pub winperf: &'static str,
    /// Further names that documentation and providers use for the type.
    pub aliases: &'static [&'static str],
    /// The type's name in .NET; `None` if .NET has no such type.
    pub dotnet: Option<&'static str>,
    /// The formula as text; empty for a type without a formula.
    pub formula: &'static str,
    /// The meaning of the value, in a few words.
    pub meaning: &'static str,
}

macro_rules! types {
    ($( $name:ident = $number:literal, $aliases:expr, $dotnet:expr, $formula:literal, $meaning:literal; )+) => {
        impl CounterType {
            $(
                #[doc = concat!("`", stringify!($name), "`: ", $meaning, ".")]
                pub const $name: Self = Self($number);
            )+
        }

        pub(super) static TYPES: &[TypeInfo] = &[$( TypeInfo {
            counter_type: CounterType($number),
            winperf: stringify!($name),
            aliases: &$aliases,
            dotnet: $dotnet,
            formula: $formula,
            meaning: $meaning,
        }, )+];
    };
}

types! {
    PERF_COUNTER_RAWCOUNT_HEX = 0x0000_0000, [], Some("NumberOfItemsHEX32"),
        "N", "a number, shown in hexadecimal";
    PERF_COUNTER_LARGE_RAWCOUNT_HEX = 0x0000_0100, [], Some("NumberOfItemsHEX64"),
        "N", "a 64-bit number, shown in hexadecimal";
    PERF_COUNTER_TEXT = 0x0000_0B00, [], None,
        "", "text";
    PERF_COUNTER_RAWCOUNT = 0x0001_0000, [], Some("NumberOfItems32"),
        "N", "a number";
    PERF_COUNTER_LARGE_RAWCOUNT = 0x0001_0100, [], Some("NumberOfItems64"),
        "N", "a 64-bit number";
    PERF_DOUBLE_RAW = 0x0001_2000, [], None,
        "N", "a value that is already cooked, a double (from text logs)";
    PERF_COUNTER_DELTA = 0x0040_0400, [], Some("CounterDelta32"),
        "N1 - N0", "the change between two samples";
    PERF_COUNTER_LARGE_DELTA = 0x0040_0500, [], Some("CounterDelta64"),
        "N1 - N0", "the change of a 64-bit number between two samples";
    PERF_SAMPLE_COUNTER = 0x0041_0400, [], Some("SampleCounter"),
        "(N1 - N0) / ((D1 - D0) / F)", "the average number of operations in a second";
    PERF_COUNTER_QUEUELEN_TYPE = 0x0045_0400, [], Some("CountPerTimeInterval32"),
        "(N1 - N0) / (D1 - D0)", "the average length of a queue";
    PERF_COUNTER_LARGE_QUEUELEN_TYPE = 0x0045_0500, [], Some("CountPerTimeInterval64"),
        "(N1 - N0) / (D1 - D0)", "the average length of a queue, 64-bit";
    PERF_COUNTER_100NS_QUEUELEN_TYPE = 0x0055_0500, [], None,
        "(N1 - N0) / (D1 - D0)", "the average length of a queue, by 100 ns time";
    PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE = 0x0065_0500, ["PERF_COUNTER_OBJECT_TIME_QUEUELEN_TYPE"], None,
        "(N1 - N0) / (D1 - D0)", "the average length of a queue, by the object's clock";
    PERF_COUNTER_COUNTER = 0x1041_0400, [], Some("RateOfCountsPerSecond32"),
        "(N1 - N0) / ((D1 - D0) / F)", "a rate of counts per second";
    PERF_COUNTER_BULK_COUNT = 0x1041_0500, [], Some("RateOfCountsPerSecond64"),
        "(N1 - N0) / ((D1 - D0) / F)", "a rate of counts per second, 64-bit";
    PERF_RAW_FRACTION = 0x2002_0400, [], Some("RawFraction"),
        "100 * N / B", "a part of a base";
    PERF_LARGE_RAW_FRACTION = 0x2002_0500, [], None,
        "100 * N / B", "a part of a base, 64-bit";
    PERF_COUNTER_TIMER = 0x2041_0500, [], Some("CounterTimer"),
        "100 * (N1 - N0) / (D1 - D0)", "the share of time in which something was active";
    PERF_PRECISION_SYSTEM_TIMER = 0x2047_0500, ["PERF_PRECISION_TIMER"], None,
        "100 * (N1 - N0) / (B1 - B0)", "a share of time, by a private clock in system ticks";
    PERF_100NSEC_TIMER = 0x2051_0500, [], Some("Timer100Ns"),
        "100 * (N1 - N0) / (D1 - D0)", "a share of time, in 100 ns units";
    PERF_PRECISION_100NS_TIMER = 0x2057_0500, [], None,
        "100 * (N1 - N0) / (B1 - B0)", "a share of time, by a private clock in 100 ns units";
    PERF_OBJ_TIME_TIMER = 0x2061_0500, ["PERF_OBJ_TIME_TIME"], None,
        "100 * (N1 - N0) / (D1 - D0)", "a share of time, by the object's clock";
    PERF_PRECISION_OBJECT_TIMER = 0x2067_0500, [], None,
        "100 * (N1 - N0) / (B1 - B0)", "a share of time, by a private clock in object ticks";
    PERF_SAMPLE_FRACTION = 0x20C2_0400, [], Some("SampleFraction"),
        "100 * (N1 - N0) / (B1 - B0)", "hits among the operations between two samples";
    PERF_COUNTER_TIMER_INV = 0x2141_0500, [], Some("CounterTimerInverse"),
        "100 * (1 - (N1 - N0) / (D1 - D0))", "the share of time in which something was not idle";
    PERF_100NSEC_TIMER_INV = 0x2151_0500, ["PERF_100NS_TIMER_INV"], Some("Timer100NsInverse"),
        "100 * (1 - (N1 - N0) / (D1 - D0))", "the share of time not idle, in 100 ns units";
    PERF_COUNTER_MULTI_TIMER = 0x2241_0500, [], Some("CounterMultiTimer"),
        "100 * ((N1 - N0) / ((D1 - D0) / F)) / B1", "a share of the time of several items";
    PERF_100NSEC_MULTI_TIMER = 0x2251_0500, [], Some("CounterMultiTimer100Ns"),
        "100 * ((N1 - N0) / (D1 - D0)) / B1", "a share of the time of several items, in 100 ns units";
    PERF_COUNTER_MULTI_TIMER_INV = 0x2341_0500, [], Some("CounterMultiTimerInverse"),
        "100 * (B1 - (N1 - N0) / ((D1 - D0) / F)) / B1", "the share of several items' time not idle";
    PERF_100NSEC_MULTI_TIMER_INV = 0x2351_0500, [], Some("CounterMultiTimer100NsInverse"),
        "100 * (B1 - (N1 - N0) / (D1 - D0)) / B1", "the share of several items' time not idle, in 100 ns units";
    PERF_AVERAGE_TIMER = 0x3002_0400, [], Some("AverageTimer32"),
        "((N1 - N0) / F) / (B1 - B0)", "the average time of an operation";
    PERF_ELAPSED_TIME = 0x3024_0500, [], Some("ElapsedTime"),
        "(D - N) / F", "the time since a start";
    PERF_COUNTER_NODATA = 0x4000_0200, [], None,
        "", "a label without a value";
    PERF_AVERAGE_BULK = 0x4002_0500, [], Some("AverageCount64"),
        "(N1 - N0) / (B1 - B0)", "the average amount of an operation";
    PERF_SAMPLE_BASE = 0x4003_0401, [], Some("SampleBase"),
        "", "the base of the counter before it";
    PERF_AVERAGE_BASE = 0x4003_0402, [], Some("AverageBase"),
        "", "the base of the counter before it";
    PERF_RAW_BASE = 0x4003_0403, [], Some("RawBase"),
        "", "the base of the counter before it";
    PERF_PRECISION_TIMESTAMP = 0x4003_0500, [], None,
        "", "a private clock, the base of the counter before it";
    PERF_LARGE_RAW_BASE = 0x4003_0503, [], None,
        "", "the base of the counter before it, 64-bit";
    PERF_COUNTER_MULTI_BASE = 0x4203_0500, [], Some("CounterMultiBase"),
        "", "the number of items of the counter before it";
    PERF_COUNTER_HISTOGRAM_TYPE = 0x8000_0000, [], None,
        "", "reserved for histograms; no formula is documented";
}
