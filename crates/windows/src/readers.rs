//! The readers of a key that the process has only once; the last reader closes the key.

use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The longest time that the last reader waits until the key is closed. Closing calls Close of
/// every provider.
const CLOSES: Duration = Duration::from_secs(2);

/// The count of readers of `HKEY_PERFORMANCE_DATA`. Closing the key unloads the providers of all
/// readers, so only the last reader closes it. Close of a provider may hang: it is called on a
/// thread of its own without any lock held, so that neither leaving nor entering hangs.
pub(crate) struct Readers {
    state: Mutex<State>,
    close: fn(),
}

struct State {
    readers: usize,
    /// Whether a thread is at work to close the key, or about to be.
    closing: bool,
    /// Whether the last reader left, once more, while a thread was closing the key, so that the key
    /// has to be closed again.
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

    /// Removes a reader. The last reader has a new thread close the key, and waits for it at most
    /// [`CLOSES`]. If a thread is already closing the key, the last reader does not wait.
    pub(crate) fn leave(&'static self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_sub(1);
        if state.readers > 0 {
            return;
        }
        if state.closing {
            // One hanging thread is enough.
            state.again = true;
            return;
        }
        state.closing = true;
        drop(state);
        let (done, is_done) = sync_channel(1);
        let body = move || {
            self.close_while_unread();
            let _ = done.send(());
        };
        match thread::Builder::new().name("perfhive close".to_string()).spawn(body) {
            // If closing takes longer, the thread ends on its own, or never.
            Ok(_) => drop(is_done.recv_timeout(CLOSES)),
            // The key stays open, as if there were another reader.
            Err(_) => self.state().closing = false,
        }
    }

    fn close_while_unread(&self) {
        loop {
            let mut state = self.state();
            state.again = false;
            if state.readers > 0 {
                state.closing = false;
                return;
            }
            drop(state);
            // A reader that enters now has the providers loaded again, which takes time, and loses
            // rates that providers calculate themselves.
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
    fn the_last_reader_closes_the_key() {
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

    /// The made-up key's Close does not return.
    #[test]
    fn a_close_that_hangs_delays_no_other_reader() {
        static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        static READERS: Readers = Readers::new(|| {
            BEGUN.fetch_add(1, Ordering::Relaxed);
            let open = GATE.0.lock().unwrap();
            drop(GATE.1.wait_while(open, |open| !*open).unwrap());
        });
        let (done, is_done) = mpsc::channel();
        // On a thread of its own: if the test fails, that thread hangs instead of the test.
        thread::spawn(move || {
            READERS.enter();
            READERS.leave();
            // Readers come and go as usual, without further threads.
            for _ in 0..3 {
                READERS.enter();
                READERS.leave();
            }
            READERS.enter();
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(60)).expect("neither leaving nor entering hangs");
        assert_eq!(BEGUN.load(Ordering::Relaxed), 1);
        // With a reader at that time, the key stays open.
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
