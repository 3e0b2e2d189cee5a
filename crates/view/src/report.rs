//! Reports of what happened in a recording, and of what differs between two recordings.
//!
//! A [`ReportScope`] says which counters are read. An [`Analysis`] takes one sample after the other and returns
//! a [`Report`] with the figures, the busiest processes, the restarts and each crossed [`Threshold`].
//! [`compare`] finds the differences between two reports.

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

/// A summary of a recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The name of the recorded machine.
    pub machine: String,
    /// The times of the samples.
    pub timeline: Timeline,
    /// The time of the first sample after each restart of the machine that the counter `System Up Time`
    /// shows by a smaller value than before. A restart is missed if by the next sample the machine has run for
    /// longer than it had at the last sample before the restart. Without the counter the list is empty.
    pub boots: Vec<FileTime>,
    /// The figures of each object, Windows' usual ones first. The object of the processes in the lists below is
    /// left out, unless a path names counters of it.
    pub objects: Vec<ObjectReport>,
    /// The processes with the most processor time, the busiest first, followed by those with the largest
    /// working sets that are not among the busiest.
    pub processes: Vec<ProcessReport>,
    /// The totals of all processes of each name, in the order of the names.
    pub by_name: Vec<NameTotal>,
    /// The names with processes that started or ended, those with the most starts and ends first.
    pub changes: Vec<StartsAndEnds>,
    /// The programs that ran in the first sample that has any process and were started again, the latest
    /// restart first.
    pub restarts: Vec<Restart>,
    /// The thresholds that values crossed, the most severe first.
    pub findings: Vec<ThresholdFinding>,
    /// How many thresholds were evaluated.
    pub evaluated: usize,
    /// The thresholds that were not evaluated, and an entry for the processes without figures if
    /// there are such.
    pub unevaluated: Vec<Unevaluated>,
    /// How many thresholds are about counters that the recording does not have.
    pub without_counters: usize,
}

/// The figures of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObjectReport {
    /// The object's name in the shown language.
    pub name: String,
    /// The object's English name.
    pub english: String,
    /// The title index of the object.
    pub index: TitleIndex,
    /// The object's instances: sums first, then the others, with the largest mean first. The mean
    /// is that of the first counter in each instance's `counters`. An object without instances has
    /// one entry without a label.
    pub instances: Vec<InstanceReport>,
    /// How many instances have no figures, because there were more than a report keeps.
    pub left_out: usize,
}

/// The figures of an instance.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InstanceReport {
    /// The instance's label; `None` for an object without instances.
    pub label: Option<String>,
    /// Whether the instance is a single thing, a sum or idle time.
    pub role: InstanceRole,
    /// The counters of the instance that had values.
    pub counters: Vec<CounterReport>,
}

/// The figures of a counter.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CounterReport {
    /// The counter's name in the shown language.
    pub name: String,
    /// The counter's English name.
    pub english: String,
    /// The title index of the counter's name.
    pub index: TitleIndex,
    /// The unit of the counter's values.
    pub unit: &'static str,
    /// The counter type.
    pub counter_type: CounterType,
    /// The statistics of the counter's values.
    pub summary: Summary,
    /// The change of the value per hour, from the mean of the first thirtieth of the samples that has values to the
    /// mean of the last such thirtieth; `None` if all values lie in one thirtieth, or if no time passed between both.
    pub trend: Option<f64>,
    /// The course of the counter's values over time. All curves of a report have parts of the same
    /// width.
    pub curve: Curve,
}

/// A threshold that values of one counter crossed.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
    /// The instances with values that crossed the threshold, those with the most such values first.
    pub instances: Vec<CrossedBy>,
}

/// An instance with values that crossed a threshold.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CrossedBy {
    /// The instance's label; `None` for an object without instances.
    pub label: Option<String>,
    /// The values that are beyond the limit, in figures.
    pub crossing: Crossing,
    /// How many values the instance had, within and beyond the limit.
    pub values: u64,
}

impl Unevaluated {
    /// The entry that says how many instances of an object have no figures, because there are more
    /// than a report keeps.
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
