//! The object Process, which `ps` and `workset` read without a query: in one
//! collection, and without loading names unless they are needed.

pub(crate) mod alias;

use crate::args::Global;
use crate::failure::{Failure, of_source};
use crate::paths::damaged_object;
use crate::session::Session;
use perfhive::format::winperf::PROCESS;
use perfhive::format::{CounterPlan, CounterType, Instance};
use perfhive::recording::is_made_up;
use perfhive::{
    Ask, CatalogueObject, NamePattern, Snapshot, SnapshotObject, Source as _, SourceError,
    TitleIndex,
};
use perfhive_view::Names;

/// A counter of Process with the same index on every Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessCounter {
    /// The title index on Windows.
    pub(crate) index: u32,
    /// The English name, for sources with indexes of their own.
    pub(crate) name: &'static str,
}

/// The counter `ID Process`.
pub(crate) const PID: ProcessCounter = ProcessCounter { index: 784, name: "ID Process" };
/// The counter `Working Set`.
pub(crate) const WORKING_SET: ProcessCounter = ProcessCounter { index: 180, name: "Working Set" };
/// The counter `Elapsed Time`; its raw value is the start time of the process.
pub(crate) const ELAPSED: ProcessCounter = ProcessCounter { index: 684, name: "Elapsed Time" };

/// The object Process in a source.
pub(crate) struct Processes {
    object: TitleIndex,
    /// The names of the source; `None` until they are needed.
    names: Option<Names>,
    /// Whether the counters are found by their names, since they do not have the indexes of Windows.
    by_name: bool,
}

impl Processes {
    /// The object Process of the source. A live source is taken to have it under the index that it has on every
    /// Windows. A recording has it under this index if its counters have the indexes of Windows; otherwise it is found
    /// by its name, and it is a failure if it is missing.
    pub(crate) fn find(session: &mut Session, global: &Global) -> Result<Self, Failure> {
        let windows = TitleIndex(PROCESS);
        let has_indexes =
            |of: &CatalogueObject| !of.counters.iter().any(|one| is_made_up(one.name));
        if session.source.is_live()
            || session
                .source
                .catalogue(&Ask::everything())?
                .object(windows)
                .is_some_and(has_indexes)
        {
            return Ok(Self { object: windows, names: None, by_name: false });
        }
        let mut names = Names::load(&mut session.source, session.language)?;
        let pattern = NamePattern::literal("Process");
        match names.objects(&mut session.source, &pattern).first() {
            Some(object) => Ok(Self { object: object.name, names: Some(names), by_name: true }),
            // If the object is damaged, the failure says that.
            None => Err(damaged_object(global, "Process")
                .or_else(|| damaged_object(global, &windows.to_string()))
                .unwrap_or_else(|| names.no_such_object("Process").into())),
        }
    }

    /// The title index of the object in this source.
    pub(crate) fn object(&self) -> TitleIndex {
        self.object
    }

    /// The title index of a counter of Process: that of Windows, unless counters are found by their names here and
    /// there is one of that name.
    pub(crate) fn known(&self, known: ProcessCounter) -> TitleIndex {
        let found = self.names.as_ref().filter(|_| self.by_name);
        found
            .and_then(|names| {
                let object = names.catalogue.object(self.object)?;
                let pattern = NamePattern::literal(known.name);
                object.counters.iter().find(|c| names.is_meant(&pattern, c.name))
            })
            .map_or(TitleIndex(known.index), |counter| counter.name)
    }

    /// The names of the source, which are loaded by the first call.
    pub(crate) fn names(&mut self, session: &mut Session) -> Result<&Names, Failure> {
        let names = match self.names.take() {
            Some(names) => names,
            None => Names::load(&mut session.source, session.language)?,
        };
        Ok(self.names.insert(names))
    }

    /// The entry of the object in the catalogue, and the names of the source; a failure if the source does not have
    /// the object.
    pub(crate) fn described(
        &mut self,
        session: &mut Session,
    ) -> Result<(CatalogueObject, &Names), Failure> {
        let object = self.object;
        self.names(session)?;
        if let Some(names) = &mut self.names
            && names.catalogue.object(object).is_none()
        {
            // The source may have to ask a provider for the object.
            let index = NamePattern::literal(&object.to_string());
            names.find_out(&mut session.source, &index);
        }
        let names = self.names(session)?;
        match names.catalogue.object(object) {
            Some(object) => Ok((object.clone(), names)),
            None => Err(names.no_such_object("Process").into()),
        }
    }

    /// Collects the object, with the counters on request in `extra`.
    pub(crate) fn collect(
        &self,
        session: &mut Session,
        extra: &[TitleIndex],
        snapshot: &mut Snapshot,
    ) -> Result<(), SourceError> {
        let mut request = Ask::objects(&[self.object]);
        request.extra_counters = extra.iter().map(|counter| (self.object, *counter)).collect();
        session.source.collect(&request, snapshot)
    }

    /// The object in a snapshot, or the failure with the reason why it is missing.
    pub(crate) fn of<'a>(
        &self,
        snapshot: &'a Snapshot,
        global: &Global,
    ) -> Result<SnapshotObject<'a>, Failure> {
        snapshot.object(self.object).ok_or_else(|| {
            let fault = snapshot.faults().iter().find(|fault| fault.object == Some(self.object));
            let why = fault.map_or_else(|| "it was not answered".to_string(), ToString::to_string);
            Failure::Source(of_source(&global.source, format_args!("no Process object: {why}")))
        })
    }
}

/// The plan of the counter with this index, bases left aside; `None` if there is none.
pub(crate) fn plan(plans: &[CounterPlan], index: TitleIndex) -> Option<&CounterPlan> {
    plans.iter().find(|plan| plan.name == index && !plan.counter_type.is_base())
}

/// The whole number that a counter has for a process; `None` if it has none. Text logs have numbers
/// as bits of doubles.
pub(crate) fn whole(plan: &CounterPlan, instance: &Instance<'_>) -> Option<u64> {
    let value = plan.value(instance.counter_block()).ok()?;
    if plan.counter_type != CounterType::PERF_DOUBLE_RAW {
        return Some(value);
    }
    let number = f64::from_bits(value);
    (number >= 0.0 && number <= u64::MAX as f64).then_some(number as u64)
}

/// Whether an instance is `_Total`, the sum of all processes, which has the ID 0 or none.
pub(crate) fn is_total(instance: &Instance<'_>, pid: Option<u64>) -> bool {
    pid.unwrap_or(0) == 0 && instance.name().eq_ignore_case("_Total")
}
