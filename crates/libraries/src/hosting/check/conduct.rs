//! The test of Open, Close and Collect, called as by several readers in one process.

use super::{Check, Finding, Severity};
use crate::hosting::describe::{name_of, objects};
use crate::hosting::hosted::{CallFault, Patience, TogetherResult};
use crate::hosting::wire::Lane;
use perfhive_contract::abi::ERROR_SUCCESS;
use perfhive_engine::ObjectQuery;
use perfhive_format::TitleIndex;
use std::time::Duration;

/// The number of threads that collect at once.
const THREADS: u32 = 4;
/// The number of collections of each thread.
const TIMES: u32 = 100;
/// If the slowest collection of `Global` took longer than this, each thread makes a tenth of the
/// [`TIMES`] collections.
const QUICK: Duration = Duration::from_millis(5);

impl Check {
    /// Notes a failed call as a finding; the next call gets a new process.
    fn failed(&mut self, asked: &str, fault: CallFault) {
        self.wrong(asked, fault.into_message());
        self.library = None;
    }

    /// Opens the library for a second reader, which closes it again: the first reader must still
    /// get its objects. The results become findings.
    pub(super) fn open_twice(&mut self) {
        let before = self.given();
        let Some(library) = &mut self.library else { return };
        match library.open_again() {
            Ok(ERROR_SUCCESS) => self.good("Open", "may be called a second time"),
            Ok(code) => {
                let message = format!(
                    "returns error {code} the second time: each reader in a process calls it, \
                     so that one-time preparations belong behind a guard"
                );
                return self.wrong("Open", message);
            }
            Err(fault) => return self.failed("Open", fault),
        }
        let limit = self.state.registration.collect_timeout;
        let Some(library) = &mut self.library else { return };
        match library.close_once(Patience::default()) {
            Ok(()) => {}
            Err(CallFault::TimedOut(_)) => {
                let message = format!(
                    "does not come back within {limit:?}: perfhive's readers do not wait for it, \
                     readers on Windows do"
                );
                self.warn("Close", message);
                self.library = None;
                return;
            }
            Err(fault) => return self.failed("Close", fault),
        }
        let findings = self.verdict.findings.len();
        let after = self.given();
        if self.verdict.findings.iter().skip(findings).any(|one| one.severity == Severity::Error) {
            let message = "after Open twice and Close once it fails: the first reader is still \
                           there; only the last Close may free shared data";
            self.wrong("Close", message);
        } else if let Some(name) = before.iter().find(|name| !after.contains(name)) {
            let message = format!(
                "after Open twice and Close once object {name} is gone: the first reader is \
                 still there; only the last Close may free shared data"
            );
            self.wrong("Close", message);
        } else {
            self.good("Close", "leaves the other readers their objects");
        }
    }

    /// The objects that the library gives for `Global`; empty if the call fails or its answer does
    /// not pass.
    fn given(&mut self) -> Vec<TitleIndex> {
        let Some(answer) = self.collect("Global", Lane::Usual) else { return Vec::new() };
        let Some(bytes) = self.test("Global", &answer) else { return Vec::new() };
        objects(&bytes).map(name_of).collect()
    }

    /// Makes several threads collect at the same time, with different requests. Whether all answers
    /// are right becomes a finding.
    pub(super) fn collect_together(&mut self) {
        let names: Vec<TitleIndex> =
            self.known.descriptions().iter().map(|object| object.spec.name).collect();
        let mut lists: Vec<Vec<TitleIndex>> =
            names.iter().take(8).map(|name| vec![*name]).collect();
        if names.len() > 1 {
            lists.push(names.into_iter().take(64).collect());
        }
        let indexes = lists.into_iter().map(|list| ObjectQuery::Indexes(list).to_string());
        let values = ["Global", "Costly", "Foreign NO-SUCH-MACHINE"].map(str::to_string);
        let values = values.into_iter().chain(indexes).collect();
        let times = if self.verdict.slowest > QUICK { TIMES / 10 } else { TIMES };
        let asked = format!("{THREADS} threads");
        let Some(library) = &mut self.library else { return };
        match library.together(THREADS, times, values) {
            Ok(TogetherResult { calls, wrong: 0, .. }) => self.good(
                &asked,
                format!("collected {calls} times at once, with different requests: all are sound"),
            ),
            Ok(TogetherResult { calls, wrong, first_wrong }) => {
                let (value, what) = first_wrong.unwrap_or_default();
                let alone = |one: &Finding| one.severity == Severity::Error && one.asked == value;
                let why = match self.verdict.findings.iter().any(alone) {
                    true => "with one thread the answer is wrong too; correct that first",
                    false => {
                        "Collect is called from several threads at once, so that shared data needs \
                         a lock"
                    }
                };
                let message = format!(
                    "collected {calls} times at once, {wrong} answers are wrong, the first one to \
                     {value}: {what}: {why}"
                );
                self.wrong(&asked, message);
            }
            Err(fault) => self.failed(&asked, fault),
        }
    }
}
