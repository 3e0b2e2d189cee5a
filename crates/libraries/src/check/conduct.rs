//! Open, Close and Collect as more than one reader of a process calls them.

use super::{Check, Finding, Severity};
use crate::caller::{CallFault, Caller};
use crate::describe::{name_of, objects};
use crate::isolated::Isolated;
use crate::wire::Lane;
use perfhive_contract::abi::ERROR_SUCCESS;
use perfhive_engine::ObjectQuery;
use perfhive_format::TitleIndex;
use std::time::Duration;

/// Threads that collect at once, and how often each.
const THREADS: u32 = 4;
const TIMES: u32 = 100;
/// A library slower than this is not asked so often.
const QUICK: Duration = Duration::from_millis(5);

impl Check {
    /// The library in its host, ready for what only this file asks.
    fn host(&mut self) -> Option<&mut Isolated> {
        match &mut self.caller {
            Some(Caller::Isolated(host)) => Some(host),
            _ => None,
        }
    }

    /// Notes a call that did not come back; the next one gets a new process.
    fn failed(&mut self, asked: &str, fault: CallFault) {
        let (CallFault::Failed(message) | CallFault::NotYet(message)) = fault;
        self.wrong(asked, message);
        self.caller = None;
    }

    /// A second reader opens it, and goes again: the first still has its data.
    pub(super) fn open_twice(&mut self) {
        let before = self.given();
        let Some(host) = self.host() else { return };
        match host.open_again() {
            Ok(ERROR_SUCCESS) => self.good("Open", "may be called a second time"),
            Ok(code) => {
                let message = format!(
                    "answers the second time with error {code}: it is called once by each \
                     reader in a process, and what is needed once belongs behind a guard"
                );
                return self.wrong("Open", message);
            }
            Err(fault) => return self.failed("Open", fault),
        }
        let limit = self.shared.registration.collect_timeout;
        let Some(host) = self.host() else { return };
        match host.close_once() {
            Ok(()) => {}
            Err(CallFault::Failed(message)) if message.starts_with("did not come back") => {
                let message = format!(
                    "does not come back within {limit:?}: readers of a process of its own do not \
                     wait for it, others do"
                );
                self.warn("Close", message);
                self.caller = None;
                return;
            }
            Err(fault) => return self.failed("Close", fault),
        }
        let findings = self.verdict.findings.len();
        let after = self.given();
        if self.verdict.findings.iter().skip(findings).any(|one| one.severity == Severity::Error) {
            let message = "after Open twice and Close once it fails: the first reader is still \
                           there; only the last Close may give up what all share";
            self.wrong("Close", message);
        } else if let Some(name) = before.iter().find(|name| !after.contains(name)) {
            let message = format!(
                "after Open twice and Close once object {name} is gone: the first reader is \
                 still there; only the last Close may give up what all share"
            );
            self.wrong("Close", message);
        } else {
            self.good("Close", "leaves the other readers what they have");
        }
    }

    /// The objects that it gives for Global.
    fn given(&mut self) -> Vec<TitleIndex> {
        let Some(answer) = self.collect("Global", Lane::Usual) else { return Vec::new() };
        let Some(bytes) = self.test("Global", &answer) else { return Vec::new() };
        objects(&bytes).map(name_of).collect()
    }

    /// Several readers ask for different things at once.
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
        let Some(host) = self.host() else { return };
        match host.together(THREADS, times, values) {
            Ok((calls, 0, _)) => self.good(
                &asked,
                format!("collected {calls} times at once, with different requests: all are sound"),
            ),
            Ok((calls, wrong, first)) => {
                let first = first.unwrap_or_default();
                let alone = |one: &Finding| {
                    one.severity == Severity::Error
                        && first.starts_with(&format!("{}: ", one.asked))
                };
                let why = match self.verdict.findings.iter().any(alone) {
                    true => "to one thread it is wrong, too, which is to be mended first",
                    false => {
                        "Collect is called from several threads at once, so that what they share \
                         needs a lock"
                    }
                };
                let message = format!(
                    "collected {calls} times at once, {wrong} answers are wrong, the first one to \
                     {first}: {why}"
                );
                self.wrong(&asked, message);
            }
            Err(fault) => self.failed(&asked, fault),
        }
    }
}
