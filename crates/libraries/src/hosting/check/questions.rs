//! The requests of a check, one function each, with the tests of the answers.

use super::{Check, CheckedCall, NOT_ITS, NOTHING, TIMES, summary};
use crate::hosting::describe::{name_of, objects};
use crate::hosting::wire::Lane;
use perfhive_contract::abi::{ERROR_MORE_DATA, ERROR_SUCCESS};
use perfhive_engine::{Cost, ObjectQuery, TestLevel};
use perfhive_format::{DataBlock, TitleIndex};
use std::sync::Arc;
use std::time::Duration;

impl Check {
    /// Requests all objects with the value `Global` or `Costly`, tests the answer and its content,
    /// and notes the objects as known, with this cost. The results become findings.
    pub(super) fn ask_for_all(&mut self, value: &str, lane: Lane, cost: Cost) {
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
                    "object {name} comes with Global too: it is not costly then, and Costly must \
                     leave it out"
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
        let Some(again) = self.collect(value, lane) else { return };
        self.look_at_content(value, &bytes, &again);
    }

    /// Makes the requests of [`NOT_ITS`], which the library should answer without objects; for an
    /// unknown machine, a sound block passes too. The results become findings.
    pub(super) fn ask_for_nothing(&mut self) {
        for value in NOT_ITS {
            let is_foreign = value.starts_with("Foreign ");
            let answer = match is_foreign {
                true => self.collect(value, Lane::Usual),
                false => self.call(value, Lane::Usual, crate::hosting::area::FIRST_ROOM),
            };
            let Some(answer) = answer else { continue };
            if answer.code == ERROR_SUCCESS && answer.claim == NOTHING {
                self.good(value, "gives nothing, with pointer and counts as required");
            } else if is_foreign && answer.code == ERROR_SUCCESS {
                self.test_foreign(value, &answer);
            } else if answer.claim.bytes != 0 {
                let message = "gives data that was not requested: a request for other objects \
                               is answered with ERROR_SUCCESS, both counts 0 and the pointer \
                               unchanged";
                self.wrong(value, message);
            } else {
                let message = format!(
                    "is answered with error {}, the pointer moved by {}: a request for other \
                     objects is answered with ERROR_SUCCESS, both counts 0 and the pointer \
                     unchanged",
                    answer.code, answer.claim.moved
                );
                self.wrong(value, message);
            }
        }
    }

    /// Requests each known object by its index, then all of them at once, and then one of them in a
    /// list with indexes that the library does not have. The results become findings.
    pub(super) fn ask_by_index(&mut self) {
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
        // A reader's list also has indexes of other providers.
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
            let state = Arc::clone(&self.state);
            let of = &state.registration;
            let other = given.iter().find(|name| !names.iter().any(|(known, _)| known == *name));
            match (missing, other) {
                (Some(name), Some(other)) => {
                    let message = format!(
                        "gives object {other} and leaves out object {name}, which it gives \
                         otherwise: a request and its answer must use the same index"
                    );
                    self.wrong(&value, message);
                }
                (Some(name), None) => {
                    let message = format!(
                        "leaves out object {name}, which it gives otherwise: the value is a list \
                         of decimal indexes, separated by blanks"
                    );
                    self.wrong(&value, message);
                }
                // Windows' own performance library leaves nothing out.
                (None, Some(other)) if !cfg!(windows) && of.has_names() && !of.may_give(*other) => {
                    let why = state.left_out(*other);
                    self.wrong(&value, format!("readers do not get all of it: {why}"));
                }
                (None, _) => {
                    let given: Vec<String> = given.iter().map(ToString::to_string).collect();
                    self.good(&value, format!("gives {}", given.join(", ")));
                }
            }
        }
    }

    /// Requests the objects of another machine. Returns whether the library gave a sound block of
    /// them.
    pub(super) fn ask_for_machine(&mut self, machine: &str) -> bool {
        let value = ObjectQuery::Foreign(machine.to_string()).to_string();
        let Some(answer) = self.collect(&value, Lane::Usual) else { return false };
        answer.reports.iter().for_each(|text| self.warn(&value, format!("it reports: {text}")));
        if answer.code == ERROR_SUCCESS && answer.claim == NOTHING {
            let message = "gives nothing: the machine is unknown to it, or cannot be reached";
            self.warn(&value, message);
            return false;
        }
        if answer.code != ERROR_SUCCESS {
            let message = format!(
                "is answered with error {}: an unreachable machine is answered with \
                 ERROR_SUCCESS, both counts 0 and the pointer unchanged, or with a Status that \
                 says so",
                answer.code
            );
            self.wrong(&value, message);
            return false;
        }
        self.test_foreign(&value, &answer)
    }

    /// Tests an answer with blocks of other machines. Returns whether all blocks are sound.
    pub(super) fn test_foreign(&mut self, value: &str, answer: &CheckedCall) -> bool {
        let (blocks, warnings) = match answer.buffer.check_foreign(TestLevel::All, &answer.claim) {
            Ok(found) => found,
            Err(fault) => {
                let message = format!(
                    "{fault}: the block of another machine begins with a PERF_DATA_BLOCK, whose \
                     TotalByteLength includes the objects behind it; readers do not get it"
                );
                self.wrong(value, message);
                return false;
            }
        };
        let summaries: Vec<String> = blocks.iter().map(|block| summary(block)).collect();
        let is_bad = blocks.iter().any(|block| DataBlock::parse(block).is_err());
        warnings.iter().for_each(|warning| self.warn(value, warning));
        match is_bad {
            true => self.wrong(value, summaries.join("; ")),
            false => self.good(value, summaries.join("; ")),
        }
        !is_bad
    }

    /// Collects `Global` with buffers that are too small. The library must ask for a larger one and
    /// write no byte outside; whether it does becomes a finding.
    pub(super) fn ask_with_little_room(&mut self) {
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
                    "it writes past a buffer of {room} bytes: the size is in *lpcbBytes at the \
                     call"
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

    /// Tests that the library left the guards before and behind the buffer as they were; `Err` if
    /// it wrote into them.
    pub(super) fn test_guards(&self, answer: &CheckedCall) -> Result<(), ()> {
        let nothing = NOTHING;
        answer.buffer.check(TestLevel::Basic, &nothing).map(drop).map_err(drop)
    }

    /// Collects `Global` several times, and warns if objects or counters change from one answer to
    /// the next, or if a collection is slow.
    pub(super) fn ask_again(&mut self) {
        let mut changes = 0;
        for _ in 0..TIMES {
            let Some(answer) = self.collect("Global", Lane::Usual) else { return };
            self.verdict.slowest = self.verdict.slowest.max(answer.took);
            let Ok((bytes, _)) = answer.buffer.check(TestLevel::All, &answer.claim) else {
                return self.wrong("Global", "not every answer passes the tests");
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
        let limit = self.state.registration.collect_timeout;
        let slowest = self.verdict.slowest;
        if slowest > Duration::from_millis(100) {
            let message = format!(
                "takes {slowest:.1?} of its timeout of {limit:.1?}: objects that take so long \
                 should be given only for Costly and by index"
            );
            self.warn("Global", message);
        }
    }

    /// Tests whether the title indexes of the library's objects and counters are those of its
    /// registration. The first one that is not becomes a finding.
    pub(super) fn look_at_indexes(&mut self) {
        let state = Arc::clone(&self.state);
        let of = &state.registration;
        if !of.has_names() {
            return;
        }
        let names = of.first_counter..=of.last_counter;
        let help = of.first_help..=of.last_help;
        for object in self.known.descriptions() {
            // Windows' own performance library leaves nothing out.
            if !cfg!(windows) && !of.may_give(object.spec.name) {
                let why = state.left_out(object.spec.name);
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
