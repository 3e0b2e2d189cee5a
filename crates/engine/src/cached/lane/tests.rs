//! The order in which requests wait and lead.

use super::*;
use std::sync::mpsc::channel;

#[derive(Default)]
struct Bits(u32);

impl Wishes for Bits {
    fn merge(&mut self, other: &Self) {
        self.0 |= other.0;
    }
    fn overlaps(&self, other: &Self) -> bool {
        self.0 & other.0 != 0
    }
    fn clear(&mut self) {
        self.0 = 0;
    }
}

#[test]
fn no_result_is_kept_for_a_request_that_timed_out() {
    let lane: Lane<(), Bits, u32> = Lane::new("source", ());
    let ask = |wants, joins, patience: Option<u64>, run: &dyn Fn()| {
        let deadline = patience.map(|ms| Instant::now() + Duration::from_millis(ms));
        let run = |(): &mut (), wants: &mut Bits| {
            run();
            Ok(wants.0)
        };
        let outcome = lane.request(&Bits(wants), |_| joins, || Duration::ZERO, deadline, run);
        outcome.map(|outcome| outcome.result.unwrap()).map_err(|error| error.kind())
    };
    std::thread::scope(|scope| {
        let (entered, enter) = channel();
        let (open, opened) = channel::<()>();
        scope.spawn(move || {
            let wait = || {
                entered.send(()).unwrap();
                opened.recv().unwrap();
            };
            assert_eq!(ask(1, false, None, &wait), Ok(1));
        });
        enter.recv().unwrap();
        // One request joins the run in progress, the other waits for the next one.
        assert_eq!(ask(1, true, Some(5), &|| {}), Err(SourceErrorKind::Deadline));
        assert_eq!(ask(6, false, Some(5), &|| {}), Err(SourceErrorKind::Deadline));
        open.send(()).unwrap();
    });
    assert_eq!(ask(8, false, None, &|| {}), Ok(8));
    let state = lane.lock();
    assert!(state.outcomes.is_empty() && state.running.is_none());
    assert_eq!((state.next.0, state.next_waiting), (0, 0));
}

#[test]
fn a_request_for_something_else_is_not_failed_by_a_failed_run() {
    let lane: Lane<(), Bits, u32> = Lane::new("source", ());
    std::thread::scope(|scope| {
        let (open, opened) = channel::<()>();
        let lane = &lane;
        let ask = move |wants, run: &dyn Fn() -> bool| {
            let run = |(): &mut (), wants: &mut Bits| match run() {
                true => Ok(wants.0),
                false => Err(lane.error(SourceErrorKind::Unavailable, "told to fail")),
            };
            let outcome = lane.request(&Bits(wants), |_| true, || Duration::ZERO, None, run);
            outcome.unwrap().result
        };
        let fails = scope.spawn(move || {
            let wait = || {
                opened.recv().unwrap();
                false
            };
            ask(1, &wait).unwrap_err();
        });
        while lane.lock().running.is_none() {
            std::thread::yield_now();
        }
        // The run brings nothing of this request, so it cannot be joined.
        let other = scope.spawn(move || ask(2, &|| true));
        let is_waiting = |state: &State<(), Bits, u32>| {
            state.next_waiting + state.running.as_ref().map_or(0, |run| run.waiting) > 0
        };
        while !is_waiting(&lane.lock()) {
            std::thread::yield_now();
        }
        open.send(()).unwrap();
        fails.join().unwrap();
        assert_eq!(other.join().unwrap().ok(), Some(2));
    });
}

#[test]
fn runs_and_exclusive_uses_of_the_source_alternate() {
    let lane: Lane<Vec<char>, Bits, u32> = Lane::new("source", Vec::new());
    let run = |name: char| {
        let run = |order: &mut Vec<char>, wants: &mut Bits| {
            order.push(name);
            Ok(wants.0)
        };
        lane.request(&Bits(1), |_| false, || Duration::ZERO, None, run).unwrap();
    };
    let alone = |name: char| lane.with(None, |order| order.push(name)).unwrap();
    type IsSo<'a> = &'a dyn Fn(&State<Vec<char>, Bits, u32>) -> bool;
    let wait_until = |is_so: IsSo<'_>| {
        while !is_so(&lane.lock()) {
            std::thread::yield_now();
        }
    };
    let (run, alone) = (&run, &alone);
    std::thread::scope(|scope| {
        let (open, opened) = channel::<()>();
        let lane = &lane;
        scope.spawn(move || {
            let hold = |order: &mut Vec<char>| {
                order.push('a');
                opened.recv().unwrap();
            };
            lane.with(None, hold).unwrap();
        });
        wait_until(&|state| state.running.is_some());
        // Two exclusive uses come before a run; the run is second.
        scope.spawn(move || alone('b'));
        wait_until(&|state| state.alone.len() == 1);
        scope.spawn(move || alone('d'));
        wait_until(&|state| state.alone.len() == 2);
        scope.spawn(move || run('c'));
        wait_until(&|state| state.next_waiting == 1);
        open.send(()).unwrap();
    });
    let order: String = lane.with(None, |order| order.drain(..).collect()).unwrap();
    assert_eq!(order, "acbd");

    std::thread::scope(|scope| {
        let (open, opened) = channel::<()>();
        let lane = &lane;
        scope.spawn(move || {
            let hold = |order: &mut Vec<char>, wants: &mut Bits| {
                order.push('a');
                opened.recv().unwrap();
                Ok(wants.0)
            };
            lane.request(&Bits(1), |_| false, || Duration::ZERO, None, hold).unwrap();
        });
        wait_until(&|state| state.running.is_some());
        // The next run comes before the exclusive use, and is behind it all the same.
        scope.spawn(move || run('c'));
        wait_until(&|state| state.next_waiting == 1);
        scope.spawn(move || alone('b'));
        wait_until(&|state| state.alone.len() == 1);
        open.send(()).unwrap();
    });
    let order: String = lane.with(None, |order| order.drain(..).collect()).unwrap();
    assert_eq!(order, "abc");
}

#[test]
fn requests_after_timed_out_ones_are_served() {
    let lane: Lane<(), Bits, u32> = Lane::new("source", ());
    let run = |deadline| {
        let run = |(): &mut (), wants: &mut Bits| Ok(wants.0);
        lane.request(&Bits(1), |_| false, || Duration::ZERO, deadline, run).map(drop)
    };
    let soon = || Some(Instant::now() + Duration::from_millis(5));
    let held = |check: &dyn Fn()| {
        std::thread::scope(|scope| {
            let (open, opened) = channel::<()>();
            let lane = &lane;
            scope.spawn(move || lane.with(None, |()| opened.recv().unwrap()).unwrap());
            while lane.lock().running.is_none() {
                std::thread::yield_now();
            }
            check();
            open.send(()).unwrap();
        });
    };
    held(&|| {
        assert!(run(soon()).is_err());
        assert!(lane.with(soon(), |()| ()).is_err());
    });
    lane.with(None, |()| ()).unwrap();
    run(None).unwrap();
    let state = lane.lock();
    assert!(state.alone.is_empty() && state.next_waiting == 0 && state.asleep == 0);
}

#[test]
fn an_exclusive_use_times_out_while_a_free_source_is_kept_for_a_run() {
    let lane: Lane<(), Bits, u32> = Lane::new("source", ());
    // A run is next, and its thread has not woken yet.
    lane.lock().next_waiting = 1;
    let late = lane.with(Some(Instant::now()), |()| ()).unwrap_err();
    assert_eq!(late.kind(), SourceErrorKind::Deadline);
    lane.lock().next_waiting = 0;
    // On its own turn it gets the source, even with no time left.
    lane.with(Some(Instant::now()), |()| ()).unwrap();
}

/// A request with hardly any time left must not lead: its deadline would fail the run for all.
#[test]
fn the_request_with_the_latest_deadline_leads() {
    let lane: Lane<(), Bits, u32> = Lane::new("source", ());
    let hours = |hours: u64| Some(Instant::now() + Duration::from_secs(3600 * hours));
    let orders = [[hours(1), hours(2), None], [None, hours(2), hours(1)], [hours(2), None, None]];
    for order in orders.iter().cycle().take(60) {
        std::thread::scope(|scope| {
            let lane = &lane;
            let ask = |deadline, run: Box<dyn Fn() + Send>| {
                scope.spawn(move || {
                    let run = |(): &mut (), wants: &mut Bits| {
                        run();
                        Ok(wants.0)
                    };
                    lane.request(&Bits(1), |_| false, || Duration::ZERO, deadline, run).unwrap()
                })
            };
            let (open, opened) = channel::<()>();
            ask(None, Box::new(move || opened.recv().unwrap()));
            while lane.lock().running.is_none() {
                std::thread::yield_now();
            }
            for (place, deadline) in order.iter().enumerate() {
                let deadline = *deadline;
                let latest = move || assert_eq!(deadline, None, "this one leads");
                ask(deadline, Box::new(latest));
                while lane.lock().next_waiting <= place {
                    std::thread::yield_now();
                }
            }
            open.send(()).unwrap();
        });
    }
}

#[test]
fn another_request_leads_if_the_intended_leader_panics() {
    let lane: Lane<(), Bits, u32> = Lane::new("source", ());
    for _ in 0..20 {
        std::thread::scope(|scope| {
            let lane = &lane;
            let (open, opened) = channel::<()>();
            let ask = |deadline, now: fn() -> Duration, run: Box<dyn Fn() + Send>| {
                scope.spawn(move || {
                    let run = |(): &mut (), wants: &mut Bits| {
                        run();
                        Ok(wants.0)
                    };
                    lane.request(&Bits(1), |_| false, now, deadline, run).is_ok()
                })
            };
            let zero = || Duration::ZERO;
            ask(None, zero, Box::new(move || opened.recv().unwrap()));
            while lane.lock().running.is_none() {
                std::thread::yield_now();
            }
            let soon = Some(Instant::now() + Duration::from_secs(3600));
            let stays = ask(soon, zero, Box::new(|| {}));
            while lane.lock().next_waiting == 0 {
                std::thread::yield_now();
            }
            let goes = ask(None, || std::panic::panic_any("no clock"), Box::new(|| {}));
            while lane.lock().next_waiting < 2 {
                std::thread::yield_now();
            }
            open.send(()).unwrap();
            assert!(goes.join().is_err());
            assert!(stays.join().unwrap());
        });
    }
}
