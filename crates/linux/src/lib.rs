//! Windows' own performance objects, filled from `/proc` and `/sys`.
//!
//! A provider for each family of objects writes them with Windows' indexes,
//! counter types and units; objects and counters that only Linux has follow under indexes
//! of perfhive's own. What Linux does not report is left out: a counter that this
//! kernel lacks is in no definition, and a value that cannot be read for one instance
//! is missing from that instance's counter block. A 0 never means "unknown".
//! [`object_table`] lists every object and
//! counter with its source, or with the reason why it is absent; the manual's
//! `linux-counters.md` is that table.
//!
//! | to | use |
//! |---|---|
//! | read this machine | [`providers`] and [`LinuxClock`], in a [`Broker`](perfhive_engine::Broker) |
//! | read a copy of `/proc`, or the host of a container | [`ProcRoot`] |
//! | choose between BPF and `/proc` for processes | [`LinuxOptions`], [`ReaderChoice`], [`providers_with`] |
//! | find out why processes cannot be read through BPF | [`bpf_refusal`] |
//! | list objects and counters with their sources | [`object_table`], [`counter_table`] |
//! | limit the files that stay open, or allow more | [`keep_open_at_most`], `raise_open_file_limit` |
//! | read the clocks that measurements use | the module `clocks` |
//!
//! ```
//! use perfhive_engine::{Broker, ObjectQuery, Ask, Snapshot, Source};
//! use perfhive_linux::{LinuxClock, ProcRoot, machine_name, providers};
//!
//! let mut machine = Broker::builder("local:", &machine_name())
//!     .clock(LinuxClock::of(&ProcRoot::default()))
//!     .providers(providers(&ProcRoot::default()))
//!     .build();
//! let mut snapshot = Snapshot::new();
//! machine.collect(&Ask::new(ObjectQuery::Global), &mut snapshot)?;
//! assert!(snapshot.objects().count() >= 4);
//! # Ok::<(), perfhive_engine::SourceError>(())
//! ```
#![cfg(target_os = "linux")]
// Modules that need unsafe code allow it: the clock of a process, and the BPF reader.
#![deny(unsafe_code)]
#![cfg_attr(
    not(all(feature = "objects", feature = "processes")),
    expect(unused, reason = "tables, parsers and the file reader are those of all providers")
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

// Features gate whole modules, because an implementation of a trait is compiled even if nothing uses it.
mod bpf;
#[cfg(feature = "objects")]
mod cgroup;
mod choice;
mod clock;
#[cfg(feature = "sharing")]
pub mod clocks;
mod cpus;
#[cfg(feature = "objects")]
mod disk;
mod faults;
mod files;
mod interrupts;
#[cfg(feature = "objects")]
mod machine;
#[cfg(feature = "processes")]
mod maps;
#[cfg(feature = "objects")]
mod network;
mod os;
mod parse;
#[cfg(feature = "processes")]
mod process;
mod provider;
mod root;
mod table;
mod titles;

pub use choice::{LinuxOptions, ReaderChoice};
pub use clock::{LinuxClock, TimeBase};
pub use files::keep_open_at_most;
#[cfg(any(feature = "objects", feature = "processes"))]
pub use files::raise_open_file_limit;
pub use perfhive_engine::standard::{Availability, CounterDoc, ObjectDoc};
pub use root::{ProcRoot, machine_name};
pub use table::{counter_table, object_table};

use perfhive_engine::Provider;
use std::sync::Arc;

/// The providers of this crate with default options, for the machine below `root`. With the features
/// `objects` and `processes`, they have every object that [`object_table`] lists.
#[must_use]
pub fn providers(root: &ProcRoot) -> Vec<Arc<dyn Provider>> {
    providers_with(root, &LinuxOptions::new())
}

/// The providers of this crate with these options, for the machine below `root`.
#[must_use]
pub fn providers_with(root: &ProcRoot, options: &LinuxOptions) -> Vec<Arc<dyn Provider>> {
    Vec::from([
        Arc::new(os::provider(root)) as Arc<dyn Provider>,
        #[cfg(feature = "objects")]
        Arc::new(disk::provider(root)),
        #[cfg(feature = "objects")]
        Arc::new(network::provider(root)),
        #[cfg(feature = "objects")]
        Arc::new(machine::provider(root)),
        #[cfg(feature = "objects")]
        Arc::new(cgroup::provider(root)),
        #[cfg(feature = "processes")]
        Arc::new(process::provider(root, options)),
    ])
}

/// The reason why processes and threads cannot be read through BPF below `root`, in one
/// line; `None` if they can. To find out, the function loads the program once,
/// which takes some 20 ms.
#[must_use]
pub fn bpf_refusal(root: &ProcRoot) -> Option<String> {
    bpf::refusal(root).map(|refusal| format!("{refusal}"))
}
