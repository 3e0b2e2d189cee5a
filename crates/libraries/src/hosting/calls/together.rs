//! Collecting from several threads at once, which the contract allows.

use crate::hosting::area::{FIRST_ROOM, larger};
use crate::hosting::describe::{name_of, objects};
use crate::hosting::library::{LoadedLibrary, Returned};
use crate::hosting::wire::Response;
use perfhive_contract::abi::{ERROR_MORE_DATA, ERROR_SUCCESS, wide};
use perfhive_engine::{GuardedBuffer, RawClaim, TestLevel};
use std::thread;
use std::time::{Duration, Instant};

/// The result of one thread: the number of calls and of wrong answers, and the request and
/// the fault of the first wrong answer.
#[derive(Default)]
struct Tally {
    calls: u32,
    wrong: u32,
    first: Option<(String, String)>,
}

/// Makes `threads` threads call Collect, each thread `times` times with the values in turn, but
/// after its first call only until `budget` is over. The response counts the calls and the wrong
/// answers, and has the request of one wrong answer with what was wrong.
pub(super) fn collect(
    library: &LoadedLibrary,
    threads: u32,
    times: u32,
    budget: Duration,
    values: &[String],
) -> Response {
    let end = Instant::now() + budget;
    let run = |thread: usize| {
        let mut tally = Tally::default();
        let mut buffer = GuardedBuffer::new(FIRST_ROOM);
        // Each thread starts at another value, so that the requests differ.
        for value in values.iter().cycle().skip(thread).take(times as usize) {
            if tally.calls > 0 && Instant::now() >= end {
                break;
            }
            tally.calls += 1;
            if let Err(what) = one(library, value, &mut buffer) {
                tally.wrong += 1;
                tally.first.get_or_insert_with(|| (value.clone(), what));
            }
        }
        tally
    };
    let run = &run;
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let start = |thread| {
            let name = "perfhive together".to_string();
            thread::Builder::new().name(name).spawn_scoped(scope, move || run(thread)).ok()
        };
        let started: Vec<_> = (0..threads as usize).filter_map(start).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let first = tallies.iter().find_map(|tally| tally.first.clone());
    let (value, failure) = first.unzip();
    Response {
        bytes: tallies.iter().map(|tally| tally.calls).sum(),
        objects: tallies.iter().map(|tally| tally.wrong).sum(),
        failure,
        reports: value.into_iter().collect(),
        ..Response::default()
    }
}

/// Calls Collect once for `value`, and again with a larger buffer as long as the library asks for
/// one, and tests the answer. `Err` says what is wrong with the answer.
fn one(library: &LoadedLibrary, value: &str, buffer: &mut GuardedBuffer) -> Result<(), String> {
    let mut room = FIRST_ROOM;
    loop {
        buffer.reset(room);
        let mut text = wide(value);
        let whole = buffer.whole_mut().as_mut_ptr();
        // SAFETY: the buffer has `room` bytes behind its first guard, and no other code uses
        // it; this process may be lost if the library does harm.
        let (returned, _) =
            unsafe { library.collect(&mut text, whole.add(GuardedBuffer::GUARD), room as u32) };
        let Returned { code, moved, bytes, objects: announced } = returned;
        let claim = RawClaim { moved, bytes, objects: announced };
        if code == ERROR_MORE_DATA {
            room = larger(room).ok_or("no buffer is large enough")?;
            continue;
        }
        if code != ERROR_SUCCESS {
            return Err(format!("it answers error {code}"));
        }
        if value.starts_with("Foreign ") {
            let checked = buffer.check_foreign(TestLevel::All, &claim);
            return checked.map(drop).map_err(|fault| fault.to_string());
        }
        let (bytes, _) = buffer.check(TestLevel::All, &claim).map_err(|fault| fault.to_string())?;
        // One thread alone got each of these objects before.
        let wanted: Vec<u32> = value.split(' ').filter_map(|index| index.parse().ok()).collect();
        let given: Vec<u32> = objects(bytes).map(|object| name_of(object).0).collect();
        return match wanted.iter().find(|index| !given.contains(index)) {
            Some(index) => Err(format!("it leaves out object {index}")),
            None => Ok(()),
        };
    }
}
