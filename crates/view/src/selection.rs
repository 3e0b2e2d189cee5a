//! The choice of the readings of a query that are shown, and the busiest processes.

use perfhive_engine::{Identity, InstanceRole, NoValue, PathId, Query, Reading};
use perfhive_format::CookedValue;
use std::cmp::Ordering;
use std::collections::HashMap;

/// The choice of the readings of a query that are shown, by path. The default is every reading.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The paths of which all readings are shown. If this list is empty, and there is no list of the
    /// busiest processes, the readings of all paths of the query are shown.
    pub summary: Vec<PathId>,
    /// The paths for the list of the busiest processes; `None` without such a list.
    pub top: Option<TopProcesses>,
}

/// The paths from which the list of the busiest processes is made.
#[derive(Clone, Copy, Debug)]
pub struct TopProcesses {
    /// The path of `% Processor Time` of every process.
    pub time: PathId,
    /// The path of `ID Process` of every process.
    pub id: PathId,
    /// The path of `Working Set` of every process.
    pub working_set: PathId,
}

/// The readings of one process in one sample.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BusyProcess<'q> {
    /// The reading of the process's processor time.
    pub time: &'q Reading,
    /// The reading of the process's ID; `None` if there is none.
    pub id: Option<&'q Reading>,
    /// The reading of the process's working set; `None` if there is none.
    pub working_set: Option<&'q Reading>,
}

/// The length of the list of the busiest processes, at most.
const PROCESSES: usize = 10;

impl Selection {
    /// The readings of the paths in `summary`, or of all paths if `summary` is empty and `top` is
    /// `None`.
    #[must_use]
    pub fn summary<'q>(&self, query: &'q Query) -> Vec<&'q Reading> {
        let all = self.summary.is_empty() && self.top.is_none();
        let selected = |reading: &&Reading| all || self.summary.contains(&reading.path);
        query.readings().iter().filter(selected).collect()
    }

    /// All readings that are shown: those of [`summary`](Self::summary), and those of the busiest processes.
    #[must_use]
    pub fn readings<'q>(&self, query: &'q Query) -> Vec<&'q Reading> {
        let mut readings = self.summary(query);
        for process in self.top.iter().flat_map(|top| top.busiest(query)) {
            readings.push(process.time);
            readings.extend(process.id);
            readings.extend(process.working_set);
        }
        readings
    }
}

impl TopProcesses {
    /// The ten processes with the most processor time, or all if there are fewer, the busiest
    /// first; equally busy ones by working set. The sum of all processes, idle time and processes that
    /// are gone are left out.
    #[must_use]
    pub fn busiest<'q>(&self, query: &'q Query) -> Vec<BusyProcess<'q>> {
        let by_identity = |path: PathId| -> HashMap<&'q Identity, &'q Reading> {
            let readings = query.readings_of(path);
            readings.filter_map(|reading| Some((reading.identity.as_ref()?, reading))).collect()
        };
        let (ids, working_sets) = (by_identity(self.id), by_identity(self.working_set));
        let is_process = |reading: &&Reading| {
            let has_name = reading.instance.as_ref().is_some_and(|label| !label.name.is_empty());
            let gone = matches!(reading.value, Err(NoValue::Vanished));
            has_name && !gone && reading.role() == InstanceRole::Single
        };
        let busy = query.readings_of(self.time).filter(is_process).filter_map(|time| {
            let identity = time.identity.as_ref()?;
            let id = ids.get(identity).copied();
            Some(BusyProcess { time, id, working_set: working_sets.get(identity).copied() })
        });
        let mut busy: Vec<BusyProcess<'q>> = busy.collect();
        let size = |reading: Option<&Reading>| {
            let value = reading.and_then(|reading| reading.value.as_ref().ok().copied());
            value.map_or(-1.0, CookedValue::as_f64)
        };
        busy.sort_by(|a, b| {
            let by = |x: Option<&Reading>, y: Option<&Reading>| -> Ordering {
                size(y).total_cmp(&size(x))
            };
            by(Some(a.time), Some(b.time)).then_with(|| by(a.working_set, b.working_set))
        });
        busy.truncate(PROCESSES);
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::{CounterSpec, CounterType, TitleIndex};
    use perfhive_testkit::script::{block, replay};

    #[test]
    fn a_process_that_is_called_like_idle_or_the_sum_is_one_of_the_busiest() {
        let names =
            [(230, "Process"), (6, "% Processor Time"), (784, "ID Process"), (180, "Working Set")];
        let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let counters = [
            CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
            CounterSpec::new(TitleIndex(784), raw),
            CounterSpec::new(TitleIndex(180), raw),
        ];
        let at = |second: u64| {
            let values = |share: u64, id: u64| [second * share * 100_000, id, 4096];
            let [idle, total, like_idle, like_total, other] =
                [(90, 0), (100, 0), (5, 12), (3, 13), (1, 14)].map(|(share, id)| values(share, id));
            let rows = [
                ("Idle", None, &idle[..]),
                ("Idle", None, &like_idle[..]),
                ("_Total", None, &like_total[..]),
                ("bash", None, &other[..]),
                ("_Total", None, &total[..]),
            ];
            block("A", second as i64, &[(TitleIndex(230), &counters, &rows)])
        };
        let mut query = Query::new(replay([at(0), at(1)], &names)).expect("the source has titles");
        let mut add = |counter: &str| {
            query.add(&format!(r"\Process(*)\{counter}")).expect("the source has the counter")
        };
        let top = TopProcesses {
            time: add("% Processor Time"),
            id: add("ID Process"),
            working_set: add("Working Set"),
        };
        for _ in 0..2 {
            query.collect().expect("there are two samples");
        }
        let ids: Vec<_> = top.busiest(&query).iter().map(|one| one.time.process_id()).collect();
        assert_eq!(ids, [Some(12), Some(13), Some(14)]);
    }
}
