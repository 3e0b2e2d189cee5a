//! Who reads a key that is one for the process, and who closes it behind the last one.

use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the last one who leaves waits until the key is closed. Closing it calls
/// Close of every provider, on which nobody can rely.
const CLOSES: Duration = Duration::from_secs(2);

/// Counts the readers of `HKEY_PERFORMANCE_DATA`. Whoever closes it takes the providers
/// from all others, so the last one does; and as Close of a provider may hang, it is done
/// on a thread of its own, with no lock held: neither who leaves nor who comes hangs.
pub(crate) struct Readers {
    state: Mutex<State>,
    close: fn(),
}

struct State {
    readers: usize,
    /// Whether a thread is about to close the key.
    closing: bool,
    /// Whether the last one left once more meanwhile.
    again: bool,
}

impl Readers {
    pub(crate) const fn new(close: fn()) -> Self {
        let state = State { readers: 0, closing: false, again: false };
        Self { state: Mutex::new(state), close }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self) {
        self.state().readers += 1;
    }

    /// Has the key closed by the last one; waits for that, but not for ever.
    pub(crate) fn leave(&'static self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_sub(1);
        if state.readers > 0 {
            return;
        }
        if state.closing {
            // A thread that hangs is enough.
            state.again = true;
            return;
        }
        state.closing = true;
        drop(state);
        let (done, is_done) = sync_channel(1);
        let body = move || {
            self.close_as_long_as_nobody_reads();
            let _ = done.send(());
        };
        match thread::Builder::new().name("perfhive close".to_string()).spawn(body) {
            // One that takes longer ends on its own, or never.
            Ok(_) => drop(is_done.recv_timeout(CLOSES)),
            // The key stays open, as if somebody still read.
            Err(_) => self.state().closing = false,
        }
    }

    fn close_as_long_as_nobody_reads(&self) {
        loop {
            let mut state = self.state();
            state.again = false;
            if state.readers > 0 {
                state.closing = false;
                return;
            }
            drop(state);
            // Who comes now has the providers loaded anew: that costs him time, and rates that
            // providers make themselves.
            (self.close)();
            let mut state = self.state();
            if !state.again {
                state.closing = false;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, mpsc};

    #[test]
    fn the_last_one_closes_and_nobody_before() {
        static CLOSED: AtomicUsize = AtomicUsize::new(0);
        static READERS: Readers = Readers::new(|| {
            CLOSED.fetch_add(1, Ordering::Relaxed);
        });
        for round in 1..=2 {
            READERS.enter();
            READERS.enter();
            READERS.leave();
            assert_eq!(CLOSED.load(Ordering::Relaxed), round - 1);
            READERS.leave();
            assert_eq!(CLOSED.load(Ordering::Relaxed), round);
        }
    }

    /// As a provider whose Close does not come back.
    #[test]
    fn who_hangs_while_it_is_closed_holds_up_nobody() {
        static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        static READERS: Readers = Readers::new(|| {
            BEGUN.fetch_add(1, Ordering::Relaxed);
            let open = GATE.0.lock().unwrap();
            drop(GATE.1.wait_while(open, |open| !*open).unwrap());
        });
        let (done, is_done) = mpsc::channel();
        // On a thread of its own, lest this test be what hangs if it fails.
        thread::spawn(move || {
            READERS.enter();
            READERS.leave();
            // Others come and go as ever; no more threads are spent on it.
            for _ in 0..3 {
                READERS.enter();
                READERS.leave();
            }
            READERS.enter();
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(60)).expect("neither leaving nor entering hangs");
        assert_eq!(BEGUN.load(Ordering::Relaxed), 1);
        // Where somebody reads by then, it stays open.
        *GATE.0.lock().unwrap() = true;
        GATE.1.notify_all();
        let is_over = (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            !READERS.state().closing
        });
        assert!(is_over);
        assert_eq!(BEGUN.load(Ordering::Relaxed), 1);
        READERS.leave();
        assert_eq!(BEGUN.load(Ordering::Relaxed), 2, "and the next last one closes it");
    }
}
