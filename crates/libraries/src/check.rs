//! What is right and wrong with a library, for who writes it.
//!
//! It is loaded into a host process and asked everything that a reader may ask,
//! at every level of the tests, with buffers that are too small, that fit and
//! that are large. What it does is said as it would be said to its author.

mod conduct;
mod declared;

use crate::area::{LAST_ROOM, larger};
use crate::caller::{Call, CallFault, Caller, Patience};
use crate::describe::{Known, name_of, objects};
use crate::options::Options;
use crate::provider::Shared;
use crate::wire::Lane;
use perfhive_contract::Registration;
use perfhive_contract::abi::{ERROR_MORE_DATA, ERROR_SUCCESS};
use perfhive_engine::{Cost, GuardedBuffer, ObjectDescription, ObjectQuery, RawClaim, TestLevel};
use perfhive_format::{DataBlock, TitleIndex};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Good,
    /// It works, and may not be what is meant.
    Warning,
    /// Readers lose data by it.
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

/// One thing that was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it is to be taken.
    pub severity: Severity,
    /// What was asked: a value string, or a function's name.
    pub asked: String,
    /// What came of it and, where it is wrong, the way out.
    pub message: String,
}

/// Everything that was found out about a library.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// In the order in which it was asked.
    pub findings: Vec<Finding>,
    /// The objects that it has.
    pub objects: Vec<ObjectDescription>,
    /// Time of a collection of everything that is not costly, the slowest of
    /// several; that of the first one is not among them.
    pub slowest: Duration,
    /// Bytes of such a collection.
    pub bytes: usize,
}

impl Verdict {
    /// The worst of the findings.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Good)
    }
}

const LEVELS: [(TestLevel, u32); 3] =
    [(TestLevel::None, 3), (TestLevel::Basic, 2), (TestLevel::All, 1)];
const NOTHING: RawClaim = RawClaim { moved: 0, bytes: 0, objects: 0 };
/// Texts that ask for nothing that anybody has.
const NOT_ITS: [&str; 4] = ["Foreign", "Foreign NO-SUCH-MACHINE", "4294967294", "no such request"];
/// How often everything is asked again.
const TIMES: u32 = 5;

/// What a block of another machine has, or what is wrong with it.
fn told(block: &[u8]) -> String {
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
pub fn check(registration: &Registration, options: &Options) -> Verdict {
    check_with(registration, options, &[])
}

/// The same, asking also for what it has of other machines.
#[must_use]
pub fn check_with(registration: &Registration, options: &Options, machines: &[String]) -> Verdict {
    let mut registration = registration.clone();
    registration.in_process = false;
    // What is tried here is no part of its account.
    let options = Options { accounts: None, ..options.clone() };
    let shared =
        Shared::new(Arc::new(registration), Default::default(), None, options, TestLevel::All);
    let mut check = Check {
        caller: None,
        verdict: Verdict {
            findings: Vec::new(),
            objects: Vec::new(),
            slowest: Duration::ZERO,
            bytes: 0,
        },
        known: Known::default(),
        shared,
    };
    check.run(machines);
    check.verdict.objects = check.known.descriptions();
    check.verdict
}

struct Check {
    shared: Arc<Shared>,
    caller: Option<Caller>,
    known: Known,
    verdict: Verdict,
}

/// What one call came to, kept while the next is made.
struct Answer {
    code: u32,
    claim: RawClaim,
    said: Vec<String>,
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
        match self.shared.caller() {
            Ok(caller) => self.caller = Some(caller),
            Err(error) => return self.wrong("Open", error),
        }
        self.ask_for_all("Global", Lane::Usual, Cost::Global);
        if self.verdict.severity() == Severity::Error && self.caller.is_none() {
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
        // Close: a library that does not come back from it is killed.
        match self.caller.take().map(Caller::close) {
            Some(false) => {
                let message = "does not come back within half a second: readers do not wait for it";
                self.warn("Close", message);
            }
            Some(true) => self.good("Close", "comes back"),
            None => {}
        }
        if self.known.is_empty() && reached == 0 {
            let message = "it offers nothing: neither Global nor Costly gave an object. If what \
                           it counts is not running at the moment, that is as it should be; one \
                           that is for other machines is asked with --machine NAME";
            self.warn("Global", message);
        }
    }

    /// One call, with its failures as findings.
    fn call(&mut self, value: &str, lane: Lane, room: usize) -> Option<Answer> {
        if self.caller.is_none() {
            self.caller = self.shared.caller().ok();
        }
        let start = Instant::now();
        let outcome = match &mut self.caller {
            Some(caller) => {
                let asked = caller.collect(value, lane, room, Patience::default(), false);
                asked.map(|call| {
                    let Call { code, claim, said, note, buffer, .. } = call;
                    let took = start.elapsed();
                    (Answer { code, claim, said, buffer, took }, note)
                })
            }
            None => return None,
        };
        match outcome {
            Ok((answer, note)) => {
                // Each process says so; its author is told once.
                let told =
                    self.verdict.findings.iter().any(|one| Some(&one.message) == note.as_ref());
                note.filter(|_| !told).into_iter().for_each(|note| self.warn("Open", note));
                Some(answer)
            }
            Err(CallFault::Failed(message) | CallFault::NotYet(message)) => {
                self.wrong(value, message);
                // The next call gets a new process, without a pause.
                self.caller = None;
                None
            }
        }
    }

    /// One call with as much room as it wants.
    fn collect(&mut self, value: &str, lane: Lane) -> Option<Answer> {
        let mut room = crate::area::FIRST_ROOM;
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

    fn look_at_refusal(&mut self, value: &str, answer: &Answer) {
        if answer.claim.moved != 0 {
            self.wrong(value, "with ERROR_MORE_DATA the data pointer must stay as it was");
        }
        if answer.claim.bytes != 0 || answer.claim.objects != 0 {
            self.wrong(value, "with ERROR_MORE_DATA both counts must be 0");
        }
    }

    /// Tests an answer at every level; the bytes of its objects, if they stand
    /// the tests that readers make.
    fn test(&mut self, value: &str, answer: &Answer) -> Option<Vec<u8>> {
        answer.said.iter().for_each(|said| self.warn(value, format!("it reports: {said}")));
        if answer.code != ERROR_SUCCESS {
            let message = format!(
                "it answers error {}; all but ERROR_MORE_DATA (234) are to be ERROR_SUCCESS (0) \
                 with both counts 0, and the reason in the log",
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

    fn ask_for_all(&mut self, value: &str, lane: Lane, cost: Cost) {
        let Some(answer) = self.collect(value, lane) else { return };
        let Some(bytes) = self.test(value, &answer) else { return };
        let mut names = Vec::new();
        for object in objects(&bytes) {
            let name = name_of(object);
            if names.contains(&name) {
                self.wrong(value, format!("object {name} is there twice"));
            }
            if cost == Cost::Costly && self.known.cost(name) == Some(Cost::Global) {
                let message = format!(
                    "object {name} comes with Global too: it is not costly then, and Costly is \
                     to leave it out"
                );
                self.warn(value, message);
            }
            names.push(name);
            self.known.note(object, cost);
        }
        if cost == Cost::Global {
            self.verdict.bytes = bytes.len();
        }
        let list: Vec<String> = names.iter().map(ToString::to_string).collect();
        let list = if list.is_empty() { "no object".to_string() } else { list.join(", ") };
        self.good(value, format!("gives {list} ({} bytes)", bytes.len()));
    }

    fn ask_for_nothing(&mut self) {
        for value in NOT_ITS {
            let is_foreign = value.starts_with("Foreign ");
            let answer = match is_foreign {
                true => self.collect(value, Lane::Usual),
                false => self.call(value, Lane::Usual, crate::area::FIRST_ROOM),
            };
            let Some(answer) = answer else { continue };
            if answer.code == ERROR_SUCCESS && answer.claim == NOTHING {
                self.good(value, "is not its: pointer and counts say nothing");
            } else if is_foreign && answer.code == ERROR_SUCCESS {
                self.test_foreign(value, &answer);
            } else if answer.claim.bytes != 0 {
                let message = "gives data that nobody asked for: what is not its is answered \
                               with ERROR_SUCCESS, both counts 0 and the pointer as it was";
                self.wrong(value, message);
            } else {
                let message = format!(
                    "is answered with error {}, the pointer moved by {}: what is not its is \
                     answered with ERROR_SUCCESS, both counts 0 and the pointer as it was",
                    answer.code, answer.claim.moved
                );
                self.wrong(value, message);
            }
        }
    }

    fn ask_by_index(&mut self) {
        let names: Vec<(TitleIndex, Cost)> = self
            .known
            .descriptions()
            .iter()
            .map(|object| (object.spec.name, object.cost))
            .collect();
        let mut lists: Vec<Vec<TitleIndex>> = names.iter().map(|(name, _)| vec![*name]).collect();
        if names.len() > 1 {
            lists.push(names.iter().map(|(name, _)| *name).collect());
        }
        // Among indexes of others, as a reader's list has them.
        if let Some((first, _)) = names.first() {
            lists.push(vec![TitleIndex(2), *first, TitleIndex(4_294_967_294)]);
        }
        for list in lists {
            let value = ObjectQuery::Indexes(list.clone()).to_string();
            let costly =
                names.iter().any(|(name, cost)| *cost == Cost::Costly && list.contains(name));
            let lane = if costly { Lane::Costly } else { Lane::Usual };
            let Some(answer) = self.collect(&value, lane) else { continue };
            let Some(bytes) = self.test(&value, &answer) else { continue };
            let given: Vec<TitleIndex> = objects(&bytes).map(name_of).collect();
            let missing = list
                .iter()
                .find(|name| names.iter().any(|(n, _)| n == *name) && !given.contains(name));
            let shared = Arc::clone(&self.shared);
            let of = &shared.registration;
            let other = given.iter().find(|name| !names.iter().any(|(known, _)| known == *name));
            match (missing, other) {
                (Some(name), Some(other)) => {
                    let message = format!(
                        "gives object {other} and leaves out object {name}, which it gives \
                         otherwise: an object has one index, by which it is asked for and given"
                    );
                    self.wrong(&value, message);
                }
                (Some(name), None) => {
                    let message = format!(
                        "leaves out object {name}, which it gives otherwise: the value is a list \
                         of decimal indexes, apart by blanks"
                    );
                    self.wrong(&value, message);
                }
                // Windows' own performance library leaves nothing out.
                (None, Some(other)) if !cfg!(windows) && of.has_names() && !of.may_give(*other) => {
                    let why = shared.left_out(*other);
                    self.wrong(&value, format!("readers do not get all of it: {why}"));
                }
                (None, _) => {
                    let given: Vec<String> = given.iter().map(ToString::to_string).collect();
                    self.good(&value, format!("gives {}", given.join(", ")));
                }
            }
        }
    }

    /// Asks for what it has of another machine; answers whether it has anything.
    fn ask_for_machine(&mut self, machine: &str) -> bool {
        let value = ObjectQuery::Foreign(machine.to_string()).to_string();
        let Some(answer) = self.collect(&value, Lane::Usual) else { return false };
        answer.said.iter().for_each(|said| self.warn(&value, format!("it reports: {said}")));
        if answer.code == ERROR_SUCCESS && answer.claim == NOTHING {
            let message = "gives nothing: it is none of its machines, or cannot be reached";
            self.warn(&value, message);
            return false;
        }
        if answer.code != ERROR_SUCCESS {
            let message = format!(
                "is answered with error {}: what cannot be had is answered with ERROR_SUCCESS, \
                 both counts 0 and the pointer as it was, or with a Status that says so",
                answer.code
            );
            self.wrong(&value, message);
            return false;
        }
        self.test_foreign(&value, &answer)
    }

    /// Tests an answer that is of another machine; answers whether it is sound.
    fn test_foreign(&mut self, value: &str, answer: &Answer) -> bool {
        let (blocks, warnings) = match answer.buffer.check_foreign(TestLevel::All, &answer.claim) {
            Ok(found) => found,
            Err(fault) => {
                let message = format!(
                    "{fault}: what is of another machine begins with a PERF_DATA_BLOCK for it, \
                     whose TotalByteLength spans the objects behind it; readers do not get it"
                );
                self.wrong(value, message);
                return false;
            }
        };
        let told: Vec<String> = blocks.iter().map(|block| told(block)).collect();
        let is_bad = blocks.iter().any(|block| DataBlock::parse(block).is_err());
        warnings.iter().for_each(|warning| self.warn(value, warning));
        match is_bad {
            true => self.wrong(value, told.join("; ")),
            false => self.good(value, told.join("; ")),
        }
        !is_bad
    }

    /// Buffers that end within the data, and the one that fits.
    fn ask_with_little_room(&mut self) {
        let Some(answer) = self.collect("Global", Lane::Usual) else { return };
        let Ok(needed) = usize::try_from(answer.claim.moved) else { return };
        if answer.code != ERROR_SUCCESS || needed == 0 || !needed.is_multiple_of(8) {
            return;
        }
        let before = self.verdict.findings.len();
        for room in [0, 8, needed / 2 / 8 * 8, needed - 8] {
            let Some(answer) = self.call("Global", Lane::Usual, room) else { return };
            if answer.code == ERROR_MORE_DATA {
                self.look_at_refusal("Global", &answer);
            } else if answer.claim == NOTHING && answer.code == ERROR_SUCCESS {
                let message = format!(
                    "with {room} bytes of room it gives nothing; only ERROR_MORE_DATA gets it a \
                     larger buffer"
                );
                self.wrong("Global", message);
            } else if answer.claim.moved > room as isize {
                let message = format!(
                    "it writes past a buffer of {room} bytes: the room is in *lpcbBytes as it is \
                     called"
                );
                self.wrong("Global", message);
            }
            if self.test_guards(&answer).is_err() {
                let message = format!(
                    "with {room} bytes of room it writes outside of its buffer: count the bytes \
                     before writing"
                );
                self.wrong("Global", message);
            }
            if self.verdict.findings.len() > before {
                return;
            }
        }
        self.good("Global", "asks for a larger buffer when it needs one");
    }

    fn test_guards(&self, answer: &Answer) -> Result<(), ()> {
        let nothing = NOTHING;
        answer.buffer.check(TestLevel::Basic, &nothing).map(drop).map_err(drop)
    }

    /// The same again: objects that change cost readers their plans.
    fn ask_again(&mut self) {
        let mut changes = 0;
        for _ in 0..TIMES {
            let Some(answer) = self.collect("Global", Lane::Usual) else { return };
            self.verdict.slowest = self.verdict.slowest.max(answer.took);
            let Ok((bytes, _)) = answer.buffer.check(TestLevel::All, &answer.claim) else {
                return self.wrong("Global", "not every answer stands the tests");
            };
            for object in objects(bytes) {
                changes += u32::from(self.known.note(object, Cost::Global).is_some());
            }
        }
        if changes > 0 {
            let message = "its objects or counters differ from one answer to the next: readers \
                           must find their counters anew each time";
            self.warn("Global", message);
        }
        let limit = self.shared.registration.collect_timeout;
        let slowest = self.verdict.slowest;
        if slowest > Duration::from_millis(100) {
            let message = format!(
                "takes {slowest:.1?} of the {limit:.1?} that it has: what takes so long should \
                 be given for Costly and by index only"
            );
            self.warn("Global", message);
        }
    }

    /// Indexes must be those that were allotted.
    fn look_at_indexes(&mut self) {
        let shared = Arc::clone(&self.shared);
        let of = &shared.registration;
        if !of.has_names() {
            return;
        }
        let names = of.first_counter..=of.last_counter;
        let help = of.first_help..=of.last_help;
        for object in self.known.descriptions() {
            // Windows' own performance library leaves nothing out.
            if !cfg!(windows) && !of.may_give(object.spec.name) {
                let why = shared.left_out(object.spec.name);
                return self.wrong("Global", format!("readers do not get all of it: {why}"));
            }
            let counters = object.counters.iter().map(|counter| (counter.name, counter.help));
            for (name, text) in counters.chain([(object.spec.name, object.spec.help)]) {
                if !names.contains(&name.0) && !of.objects.contains(&name) {
                    let message = format!(
                        "uses the index {name}, which is not one of its names ({} to {}): take \
                         First Counter from the registration and add the offset",
                        of.first_counter, of.last_counter
                    );
                    return self.wrong("Global", message);
                }
                if text.0 != 0 && !help.contains(&text.0) {
                    let message = format!(
                        "uses the index {text}, which is not one of its help texts ({} to {})",
                        of.first_help, of.last_help
                    );
                    return self.warn("Global", message);
                }
            }
        }
    }
}
