//! Experiments: a program is measured at its own events rather than at a clock's.
//!
//! # Words
//!
//! - A **performance event** ([`PerfEvent`]) is a point in the life of a program at which it is
//!   to be measured. It has a name; some events are the start or the end of a section.
//! - An **event source** ([`EventSource`]) returns events. It is waited for, not polled:
//!   [`Interval`] returns an event at equal distances of time, `Calls` returns an event each time that
//!   the program under test calls [`call`], [`start`] or [`end`] with a name that was asked for.
//! - A **binding** connects an event source with a
//!   [`MeasurementContext`](perfhive_engine::measure::MeasurementContext): at each event the
//!   context's sensors are read. Each binding has a thread, so that no event waits for another source.
//! - A **record** ([`EventRecord`]) is an event with the readings that belong to it, and the times
//!   at which they were taken. Records lie in memory that was allocated before; taking one
//!   allocates nothing.
//! - A **delivery** ([`Delivery`]) is where records go: a file or socket ([`JsonLines`]), a callback,
//!   a channel. It gets the records when their memory is half full, after a second at the latest, and
//!   at the end. Records for which there is no room are counted as lost.
//! - A **filter** ([`EventFilter`]) says which events of a binding are recorded.
//! - A **section** ([`Section`]) is what lies between a start and its end on one thread.
//!
//! # In the program under test
//!
//! ```
//! use perfhive_experiment as experiment;
//!
//! let _checkout = experiment::section("checkout"); // Until the end of the scope.
//! experiment::call("paid");
//! ```
//!
//! Without an experiment a call costs a nanosecond or two. The header
//! `include/perfhive_experiment.h` has the same for C and C++, and links with nothing.
//!
//! # Running an experiment
//!
//! [`Experiment`] has an example. The command `perfhive experiment run` starts a program and
//! measures it.
// Only the descriptors of perf events need unsafe code.
#![cfg_attr(not(all(feature = "runner", target_os = "linux")), forbid(unsafe_code))]
#![cfg_attr(all(feature = "runner", target_os = "linux"), deny(unsafe_code))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod call;
#[cfg(all(feature = "runner", target_os = "linux"))]
mod calls;
#[cfg(feature = "runner")]
mod clock;
#[cfg(feature = "runner")]
mod deliver;
#[cfg(feature = "runner")]
mod event;
#[cfg(feature = "runner")]
mod filter;
#[cfg(all(feature = "runner", target_os = "linux"))]
mod folder;
#[cfg(all(feature = "runner", target_os = "linux"))]
mod manage;
#[cfg(all(feature = "runner", target_os = "linux"))]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
    path = "perf_rings_absent.rs"
)]
mod perf_rings;
#[cfg(all(feature = "runner", target_os = "linux"))]
mod probe;
#[cfg(all(feature = "runner", target_os = "linux"))]
mod processes;
#[cfg(feature = "runner")]
mod record;
#[cfg(feature = "runner")]
mod run;
#[cfg(feature = "runner")]
mod section;
#[cfg(feature = "runner")]
mod socket;
#[cfg(all(feature = "runner", target_os = "linux"))]
mod spin;
#[cfg(feature = "runner")]
mod summary;
#[cfg(all(feature = "runner", target_os = "linux"))]
mod threads;
#[cfg(feature = "runner")]
mod threshold;
#[cfg(any(target_os = "linux", test))]
mod wire;

pub use call::{CALLS_VARIABLE, SectionGuard, call, end, section, start};
#[cfg(all(feature = "runner", target_os = "linux"))]
pub use calls::{CallNames, Calls};
#[cfg(feature = "runner")]
pub use deliver::{Delivery, JsonLines};
#[cfg(feature = "runner")]
pub use event::{Closer, EventSource, Interval, PerfEvent};
#[cfg(feature = "runner")]
pub use filter::{BadFilter, EventFilter};
#[cfg(all(feature = "runner", target_os = "linux"))]
pub use folder::ExperimentFolder;
#[cfg(all(feature = "runner", target_os = "linux"))]
pub use manage::{BindRequest, ExperimentManager, ManagedExperiment};
#[cfg(all(feature = "runner", target_os = "linux"))]
pub use probe::{Probe, Probes};
#[cfg(all(feature = "runner", target_os = "linux"))]
pub use processes::{AliveProcesses, Processes};
#[cfg(feature = "runner")]
pub use record::{EventRecord, RecordBatch, RecordColumn, RecordedReading};
#[cfg(feature = "runner")]
pub use run::{BindingCounts, Experiment, ExperimentBuilder, ExperimentEnd, ExperimentHandle};
#[cfg(feature = "runner")]
pub use section::Section;
#[cfg(feature = "runner")]
pub use socket::SocketLines;
#[cfg(feature = "runner")]
pub use summary::{EventSummary, ExperimentSummary, SummaryFigures};
#[cfg(all(feature = "runner", target_os = "linux"))]
pub use threads::Threads;
#[cfg(feature = "runner")]
pub use threshold::ThresholdCrossing;
pub use told::{CallTotals, EventKind};

/// The form of an event, which the program under test and the experiment share.
mod told {
    /// The totals of a thread's calls: their number and their cost, as the thread itself has
    /// measured.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct CallTotals {
        /// The number of calls.
        pub count: u64,
        /// The sum of the times from the beginning to the end of each call, in nanoseconds.
        pub time: u64,
        /// The processor time that the thread used in the calls, in nanoseconds.
        pub thread_time: u64,
        /// The number of the count that these totals belong to: a thread has a count in each
        /// library that calls.
        pub(crate) counter: u64,
    }

    /// The kind of an event: a point, or the start or end of a section.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum EventKind {
        /// A point.
        #[default]
        Point,
        /// The start of a section.
        Start,
        /// The end of a section.
        End,
    }

    impl EventKind {
        /// The word for the kind in records: `point`, `start`, `end`.
        #[must_use]
        pub fn code(self) -> &'static str {
            match self {
                Self::Point => "point",
                Self::Start => "start",
                Self::End => "end",
            }
        }
    }
}
