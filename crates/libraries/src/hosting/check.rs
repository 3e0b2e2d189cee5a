//! The test of a library against the contract, for its author.
//!
//! The library is loaded into a host process and gets every request that a reader may make, at
//! every level of the tests, with buffers that are too small, that fit and that are large.

mod conduct;
mod content;
mod declared;
mod questions;

use crate::hosting::area::{LAST_ROOM, larger};
use crate::hosting::describe::KnownObjects;
use crate::hosting::hosted::{Call, CallFault, HostedLibrary, Patience};
use crate::hosting::options::HostOptions;
use crate::hosting::state::LibraryState;
use crate::hosting::wire::Lane;
use perfhive_contract::Registration;
use perfhive_contract::abi::{ERROR_MORE_DATA, ERROR_SUCCESS};
use perfhive_engine::{Cost, GuardedBuffer, ObjectDescription, RawClaim, TestLevel};
use perfhive_format::DataBlock;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The library does as it should.
    Good,
    /// The library works, but may not do what its author means.
    Warning,
    /// Readers lose data because of the finding.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// The result of one test of the library: something that is right, doubtful or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The severity of the finding.
    pub severity: Severity,
    /// The subject of the finding: the value string of a request, `Open` or `Close`, `manifest`, or,
    /// for collections at the same time, the number of threads, such as `4 threads`.
    pub asked: String,
    /// A text that says what the library did and, if that is wrong, the way out.
    pub message: String,
}

/// All findings about a library.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The findings, in the order of the requests.
    pub findings: Vec<Finding>,
    /// The objects that the library has.
    pub objects: Vec<ObjectDescription>,
    /// The time of the slowest of several collections of `Global`, everything that is not costly; zero
    /// if these were not made. Earlier collections of the check do not count.
    pub slowest: Duration,
    /// The number of bytes of a collection of everything that is not costly.
    pub bytes: usize,
}

impl Verdict {
    /// The severity of the worst finding; [`Severity::Good`] without findings.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Good)
    }
}

/// The levels of the tests with their numbers on Windows, from no tests to all.
const LEVELS: [(TestLevel, u32); 3] =
    [(TestLevel::None, 3), (TestLevel::Basic, 2), (TestLevel::All, 1)];
/// The claim of an answer without objects.
const NOTHING: RawClaim = RawClaim { moved: 0, bytes: 0, objects: 0 };
/// Requests that a library must not answer with objects: their objects exist in no library.
const NOT_ITS: [&str; 4] = ["Foreign", "Foreign NO-SUCH-MACHINE", "4294967294", "no such request"];
/// The number of times that `Global` is collected after the first time.
const TIMES: u32 = 5;

/// A text about another machine's block: its content, or what is wrong with it.
fn summary(block: &[u8]) -> String {
    match DataBlock::parse(block) {
        Ok(block) => {
            let names: Vec<String> =
                block.objects().map(|object| object.name_index().to_string()).collect();
            let list = if names.is_empty() { "no object".to_string() } else { names.join(", ") };
            format!("gives {list} of machine {}", block.system_name())
        }
        Err(error) => format!("its block cannot be read: {error}"),
    }
}

/// Checks the library of a registration, in a host process.
#[must_use]
pub fn check(registration: &Registration, options: &HostOptions) -> Verdict {
    check_with(registration, options, &[])
}

/// Checks the library of a registration, in a host process, and also asks it for the objects of
/// other machines: those with the names `machines`.
#[must_use]
pub fn check_with(
    registration: &Registration,
    options: &HostOptions,
    machines: &[String],
) -> Verdict {
    // What `check` tries is not part of the account.
    let options = HostOptions { accounts: None, ..options.clone() };
    let registration = Arc::new(registration.clone());
    let state = LibraryState::new(registration, Default::default(), None, options, TestLevel::All);
    let mut check = Check {
        library: None,
        verdict: Verdict {
            findings: Vec::new(),
            objects: Vec::new(),
            slowest: Duration::ZERO,
            bytes: 0,
        },
        known: KnownObjects::default(),
        state,
    };
    check.run(machines);
    check.verdict.objects = check.known.descriptions();
    check.verdict
}

/// A check at work.
struct Check {
    state: Arc<LibraryState>,
    library: Option<HostedLibrary>,
    known: KnownObjects,
    verdict: Verdict,
}

/// The result of one call, kept while the next call is made.
struct CheckedCall {
    code: u32,
    claim: RawClaim,
    reports: Vec<String>,
    buffer: GuardedBuffer,
    took: Duration,
}

impl Check {
    fn find(&mut self, severity: Severity, asked: &str, message: impl fmt::Display) {
        let (asked, message) = (asked.to_string(), message.to_string());
        self.verdict.findings.push(Finding { severity, asked, message });
    }

    fn good(&mut self, asked: &str, message: impl fmt::Display) {
        self.find(Severity::Good, asked, message);
    }

    fn warn(&mut self, asked: &str, message: impl fmt::Display) {
        self.find(Severity::Warning, asked, message);
    }

    fn wrong(&mut self, asked: &str, message: impl fmt::Display) {
        self.find(Severity::Error, asked, message);
    }

    fn run(&mut self, machines: &[String]) {
        match self.state.library() {
            Ok(library) => self.library = Some(library),
            Err(error) => return self.wrong("Open", error),
        }
        self.ask_for_all("Global", Lane::Usual, Cost::Global);
        if self.verdict.severity() == Severity::Error && self.library.is_none() {
            return;
        }
        self.ask_for_all("Costly", Lane::Costly, Cost::Costly);
        self.ask_for_nothing();
        let reached = machines.iter().filter(|machine| self.ask_for_machine(machine)).count();
        self.ask_by_index();
        self.ask_with_little_room();
        self.ask_again();
        self.open_twice();
        self.collect_together();
        self.look_at_indexes();
        self.look_at_manifest();
        match self.library.take().map(HostedLibrary::close) {
            Some(Ok(())) => self.good("Close", "comes back"),
            Some(Err(CallFault::Failed(message) | CallFault::NoHost(message))) => {
                self.wrong("Close", message);
            }
            Some(Err(CallFault::TimedOut(_) | CallFault::NotYet(_))) => {
                let message = "does not come back within half a second: readers do not wait for it";
                self.warn("Close", message);
            }
            None => {}
        }
        if self.known.is_empty() && reached == 0 {
            let message = "it offers nothing: neither Global nor Costly gave an object. That \
                           is right if what it counts is not running at the moment; a library for \
                           other machines is checked with --machine NAME";
            self.warn("Global", message);
        }
    }

    /// Calls Collect once for `value`, with a buffer of `room` bytes. `None` if the call fails,
    /// which becomes a finding, or if there is no library to call.
    fn call(&mut self, value: &str, lane: Lane, room: usize) -> Option<CheckedCall> {
        if self.library.is_none() {
            self.library = self.state.library().ok();
        }
        let start = Instant::now();
        let library = self.library.as_mut()?;
        let called = library.collect(value, lane, room, Patience::default());
        let took = start.elapsed();
        let reports = library.take_open_reports().into_iter();
        reports.for_each(|text| self.warn_once("Open", format!("it reports: {text}")));
        match called {
            Ok(Call { code, claim, reports, note, buffer, .. }) => {
                note.into_iter().for_each(|note| self.warn_once("Open", note));
                Some(CheckedCall { code, claim, reports, buffer, took })
            }
            Err(fault) => {
                self.wrong(value, fault.into_message());
                // The next call gets a new process, without a pause.
                self.library = None;
                None
            }
        }
    }

    /// Adds a warning, unless it was added before: every new process gives it again.
    fn warn_once(&mut self, value: &str, message: String) {
        if self.verdict.findings.iter().all(|one| one.message != message) {
            self.warn(value, message);
        }
    }

    /// Calls Collect for `value`, again with a larger buffer each time the library asks for one.
    /// `None` as for [`call`](Self::call), and if the largest buffer is not enough, which becomes a
    /// finding.
    fn collect(&mut self, value: &str, lane: Lane) -> Option<CheckedCall> {
        let mut room = crate::hosting::area::FIRST_ROOM;
        loop {
            let answer = self.call(value, lane, room)?;
            if answer.code != ERROR_MORE_DATA {
                return Some(answer);
            }
            self.look_at_refusal(value, &answer);
            let Some(more) = larger(room) else {
                let message =
                    format!("it answers ERROR_MORE_DATA even with {LAST_ROOM} bytes of room");
                self.wrong(value, message);
                return None;
            };
            room = more;
        }
    }

    /// Tests that an answer `ERROR_MORE_DATA` left the pointer unmoved and both counts 0. Otherwise
    /// adds findings.
    fn look_at_refusal(&mut self, value: &str, answer: &CheckedCall) {
        if answer.claim.moved != 0 {
            self.wrong(value, "with ERROR_MORE_DATA the data pointer must stay as it was");
        }
        if answer.claim.bytes != 0 || answer.claim.objects != 0 {
            self.wrong(value, "with ERROR_MORE_DATA both counts must be 0");
        }
    }

    /// Tests an answer at every level; the first fault, and the warnings, become findings. Returns
    /// the bytes of the objects; `None` if the answer is an error, or does not pass the tests that
    /// readers make.
    fn test(&mut self, value: &str, answer: &CheckedCall) -> Option<Vec<u8>> {
        answer.reports.iter().for_each(|text| self.warn(value, format!("it reports: {text}")));
        if answer.code != ERROR_SUCCESS {
            let message = format!(
                "it returns error {}; besides ERROR_MORE_DATA (234) only ERROR_SUCCESS (0) is \
                 allowed, with both counts 0 and the reason in the log",
                answer.code
            );
            self.wrong(value, message);
            return None;
        }
        let mut failed: Option<(u32, String)> = None;
        for (level, number) in LEVELS {
            match answer.buffer.check(level, &answer.claim) {
                Ok((bytes, warnings)) if level == TestLevel::All => {
                    let bytes = bytes.to_vec();
                    warnings.iter().for_each(|warning| self.warn(value, warning));
                    return Some(bytes);
                }
                Ok(_) => {}
                Err(fault) => {
                    failed.get_or_insert((number, fault.to_string()));
                }
            }
        }
        if let Some((level, fault)) = failed {
            let message = format!("{fault} (found at test level {level}; the data is discarded)");
            self.wrong(value, message);
        }
        None
    }
}
