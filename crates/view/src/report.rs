//! What happened in a recording, at a glance; and what is different in another.
//!
//! A [`ReportScope`] says which counters are read, an [`Analysis`] takes one sample after the other, and its
//! [`Report`] has the figures, the busiest processes, the restarts and what crossed a [`Threshold`].
//! [`compare`] sets two reports against each other.

mod analysis;
mod chosen;
mod compare;
mod figures;
mod pal;
mod processes;
mod scope;
mod threshold;
mod timeline;

pub use analysis::Analysis;
pub use compare::{CounterChange, Differences, ProcessChange, compare};
pub use figures::{Curve, CurvePart, Summary};
#[cfg(fuzzing)]
pub use pal::fuzz_pal;
pub use pal::{PalRules, Prepared, Unevaluated};
pub use processes::{NameTotal, ProcessReport, Restart, StartsAndEnds};
pub use scope::{Choice, ReportScope};
pub use threshold::{Comparison, Crossing, Threshold, ThresholdLevel};
pub use timeline::{Gap, Timeline};

use perfhive_engine::InstanceRole;
use perfhive_format::{CounterType, FileTime, TitleIndex};
use std::sync::Arc;

/// What happened in a recording.
#[derive(Clone, Debug)]
pub struct Report {
    /// The machine.
    pub machine: String,
    /// The times of the samples.
    pub timeline: Timeline,
    /// The first sample behind each restart of the machine. Only `System Up Time` tells.
    pub boots: Vec<FileTime>,
    /// The figures of each object, Windows' usual ones first.
    pub objects: Vec<ObjectReport>,
    /// The processes with the most processor time, the busiest first, and behind them those with the
    /// largest working sets that are not among these.
    pub processes: Vec<ProcessReport>,
    /// What all processes of each name took together.
    pub by_name: Vec<NameTotal>,
    /// The names whose processes came or went, those with the most first.
    pub changes: Vec<StartsAndEnds>,
    /// The programs that were started again, the latest first.
    pub restarts: Vec<Restart>,
    /// What crossed a threshold, the worst first.
    pub findings: Vec<ThresholdFinding>,
    /// How many thresholds were evaluated.
    pub evaluated: usize,
    /// The thresholds that were not evaluated.
    pub unevaluated: Vec<Unevaluated>,
    /// How many thresholds are about counters that the recording does not have.
    pub without_counters: usize,
}

/// The figures of an object.
#[derive(Clone, Debug)]
pub struct ObjectReport {
    /// Its name in the shown language.
    pub name: String,
    /// Its English name.
    pub english: String,
    /// Its title index.
    pub index: TitleIndex,
    /// Its instances: sums first, then by the mean of the first counter. An object without
    /// instances has one without a label.
    pub instances: Vec<InstanceReport>,
    /// Instances that were too many to keep.
    pub left_out: usize,
}

/// The figures of an instance.
#[derive(Clone, Debug)]
pub struct InstanceReport {
    /// Its label; `None` for an object without instances.
    pub label: Option<String>,
    /// What it stands for.
    pub role: InstanceRole,
    /// Its counters that had values.
    pub counters: Vec<CounterReport>,
}

/// The figures of a counter.
#[derive(Clone, Debug)]
pub struct CounterReport {
    /// Its name in the shown language.
    pub name: String,
    /// Its English name.
    pub english: String,
    /// The title index of its name.
    pub index: TitleIndex,
    /// The unit of its values.
    pub unit: &'static str,
    /// Its type.
    pub counter_type: CounterType,
    /// Its values in a few numbers.
    pub summary: Summary,
    /// The change per hour: the mean of the last thirtieth of the samples less that of the first.
    pub trend: Option<f64>,
    /// The course of its values. All curves of a report have parts of the same width.
    pub curve: Curve,
}

/// A threshold that values crossed.
#[derive(Clone, Debug)]
pub struct ThresholdFinding {
    /// The threshold.
    pub threshold: Arc<Threshold>,
    /// The object's name in the shown language.
    pub object: String,
    /// The counter's name in the shown language.
    pub counter: String,
    /// The unit of the values.
    pub unit: &'static str,
    /// The counter's type.
    pub counter_type: CounterType,
    /// The instances, those with the most values beyond the limit first.
    pub instances: Vec<CrossedBy>,
}

/// An instance whose values crossed a threshold.
#[derive(Clone, Debug)]
pub struct CrossedBy {
    /// Its label; `None` for an object without instances.
    pub label: Option<String>,
    /// The values beyond the limit.
    pub crossing: Crossing,
    /// How many values there were.
    pub values: u64,
}

impl Unevaluated {
    /// Instances that were too many to keep.
    fn instances(object: &str, count: usize) -> Self {
        Self {
            title: format!("{count} instances of {object}"),
            origin: "perfhive".into(),
            reason: "are more than a report keeps".to_string(),
        }
    }
}

/// The path of a counter in a report: `\Object(Label)\Counter`.
#[must_use]
pub fn path_of(object: &str, label: Option<&str>, counter: &str) -> String {
    let of = label.map(|label| format!("({label})")).unwrap_or_default();
    format!("\\{object}{of}\\{counter}")
}
