//! The tables of the objects Thermal Zone Information, Energy Meter and Processor Idle State.

pub(crate) use energy::ENERGY;
pub(crate) use idle::IDLE_STATE;
pub(crate) use thermal::THERMAL;

mod thermal {
    use crate::table::{Absent, Counter, Object, absent};
    use perfhive_engine::Cost;
    use perfhive_format::CounterType as T;

    pub(crate) static THERMAL: Object = Object {
        index: 100_500,
        help: 100_501,
        name: "Thermal Zone Information",
        meaning: "Temperatures that the machine measures of itself.",
        note: "Instances have the type of a zone and its number, `x86_pkg_temp 1`. A zone that is switched off, or has \
         no reading yet, has an instance without values. Without `/sys/class/thermal` there is no instance. On \
         Windows the index of this object differs between machines; the name is the same everywhere.",
        reads: "`temp` of each zone in `/sys/class/thermal`, which asks the firmware for \
             some; one listing of that",
        cost: Cost::Costly,
        has_instances: true,
        brings: &[],
        counters: COUNTERS,
        absent: ABSENT,
    };

    const COUNTERS: &[Counter] = &[
        Counter::new(100_502, 100_503, "Temperature", T::PERF_COUNTER_RAWCOUNT)
            .unit("K")
            .from("`temp`")
            .means("Temperature of the zone, in kelvins rounded down."),
        Counter::new(100_504, 100_505, "High Precision Temperature", T::PERF_COUNTER_RAWCOUNT)
            .unit("K/10")
            .from("`temp`")
            .means("Temperature of the zone, in tenths of a kelvin."),
    ];

    const ABSENT: &[Absent] = &[
        absent(
            100_506,
            "% Passive Limit",
            T::PERF_COUNTER_RAWCOUNT,
            "Linux reports the state of each cooling device, but not the limit that a zone \
             demands.",
        ),
        absent(
            100_508,
            "Throttle Reasons",
            T::PERF_COUNTER_RAWCOUNT,
            "The reasons are those of Windows' own thermal manager.",
        ),
    ];
}

mod energy {
    use crate::table::{Counter, Object};
    use perfhive_engine::Cost;
    use perfhive_format::CounterType as T;

    pub(crate) static ENERGY: Object = Object {
        index: 100_520,
        help: 100_521,
        name: "Energy Meter",
        meaning: "Energy that processors and memory used, by their own meters.",
        note: "Instances are the zones of `intel-rapl`, which AMD's processors have as well. A part of a zone has the \
         zone's name before its own: `package-0`, `package-0 core`, `package-0 dram`. Since Linux 5.10 only root \
         may read them; for other users, and without `/sys/class/powercap`, there is no instance. On Windows the \
         index of this object differs between machines; the name is the same everywhere.",
        reads: "`energy_uj` of each zone in `/sys/class/powercap`, one listing of that",
        cost: Cost::Global,
        has_instances: true,
        brings: &[],
        counters: COUNTERS,
        absent: &[],
    };

    const COUNTERS: &[Counter] = &[
        Counter::new(100_522, 100_523, "Energy", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .unit("pWh")
            .from("`energy_uj`, continued across the wraps at `max_energy_range_uj`")
            .means("Energy that was used, in picowatt-hours.")
            .differs(
                "Counts on from what the meter shows at the first reading. A meter that \
             wraps twice between two readings (many minutes) loses a round.",
            ),
        Counter::new(100_524, 100_525, "Time", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .unit("100 ns")
            .from("`CLOCK_BOOTTIME`")
            .means("When the meter was read, as a number of 100 ns units since 1601."),
        Counter::new(100_526, 100_527, "Power", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .unit("mW")
            .from("`energy_uj`, since the collection before")
            .means("Mean power since the collection before, in milliwatts.")
            .differs("Not there at the first collection."),
    ];
}

mod idle {
    use crate::table::{Counter, Object};
    use perfhive_engine::Cost;
    use perfhive_format::{CounterType as T, DetailLevel};

    pub(crate) static IDLE_STATE: Object = Object {
        index: 100_540,
        help: 100_541,
        name: "Processor Idle State",
        meaning: "How long and how often each processor was in each of its idle states.",
        note: "Instances have the processor's number and the driver's name for the state, `0,C1E`, with the shallowest \
         state first. In `POLL` the processor waits without saving energy. The states are those of the driver \
         (`intel_idle`, `acpi_idle`, `haltpoll` and others), not Windows' C1 to C3, for which Processor therefore \
         has no values. Without `cpuidle` there is no instance.",
        reads: "`name` and a file for each counter, of each state of each processor in \
             `/sys/devices/system/cpu/cpuN/cpuidle`",
        cost: Cost::Costly,
        has_instances: true,
        brings: &[],
        counters: COUNTERS,
        absent: &[],
    };

    const COUNTERS: &[Counter] = &[
        Counter::new(100_542, 100_543, "% Time", T::PERF_100NSEC_TIMER)
            .unit("%")
            .from("`time`")
            .means("Share of time that the processor spent in the idle state.")
            .differs("Added when the state ends: a long stay counts all at once."),
        Counter::new(100_544, 100_545, "Entries/sec", T::PERF_COUNTER_BULK_COUNT)
            .unit("entries/s")
            .from("`usage`")
            .means("How often the processor entered the idle state, a second."),
        Counter::new(100_546, 100_547, "Exit Latency", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::ADVANCED)
            .on_request()
            .unit("µs")
            .from("`latency`")
            .means("Time that it takes to leave the idle state, in microseconds, as the driver says."),
        Counter::new(100_548, 100_549, "Too Deep/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .on_request()
            .unit("entries/s")
            .from("`above`")
            .since("5.0")
            .means("How often the idle state was too deep for the time that the processor was idle, a second."),
        Counter::new(100_550, 100_551, "Too Shallow/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .on_request()
            .unit("entries/s")
            .from("`below`")
            .since("5.0")
            .means("How often a deeper idle state would have fitted the time that the processor was idle, a second."),
        Counter::new(100_552, 100_553, "Rejected/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .on_request()
            .unit("entries/s")
            .from("`rejected`")
            .since("5.10")
            .means("How often the processor could not enter the idle state although it was chosen, a second."),
    ];
}
