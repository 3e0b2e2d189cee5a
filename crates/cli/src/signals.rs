//! Signals from the terminal and its user while a command waits.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The event that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The time is over, and there was no signal.
    Timeout,
    /// The size of the terminal has changed.
    #[cfg_attr(not(unix), expect(dead_code, reason = "a console reports this in its input only"))]
    Resized,
    /// The program was stopped and continues: the terminal shows something else.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no stopping and going on"))]
    Continued,
    /// Ctrl-C or another signal to end, by its number.
    End(i32),
}

/// The longest time that the program continues its current work after a signal to end.
const PATIENCE: Duration = Duration::from_millis(300);

/// The signals of this process, for which a command can wait.
pub(crate) struct Signals(Receiver<Event>);

impl Signals {
    /// Begins to receive signals, as [`listen_with`](Self::listen_with) does; the current work may
    /// take [`PATIENCE`] after a signal to end.
    pub(crate) fn listen() -> Self {
        Self::listen_with(PATIENCE)
    }

    /// Begins to receive signals. After a signal to end, the current work may take `patience`
    /// before the program is ended. Signals that cannot be received have their usual effect.
    pub(crate) fn listen_with(patience: Duration) -> Self {
        let (sender, receiver) = channel();
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
            use signal_hook::iterator::Signals;
            let heard = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCONT, SIGWINCH].into_iter();
            // A signal that nohup makes the program ignore stays ignored.
            let heard = heard.filter(|signal| !is_ignored(*signal));
            if let Ok(mut signals) = Signals::new(heard.collect::<Vec<_>>()) {
                std::thread::spawn(move || {
                    for signal in signals.forever() {
                        let event = match signal {
                            SIGCONT => Event::Continued,
                            SIGWINCH => Event::Resized,
                            signal => Event::End(signal),
                        };
                        let heard = sender.send(event).is_ok();
                        if let Event::End(signal) = event {
                            // The program ends even if a source hangs.
                            std::thread::sleep(patience);
                            end_by(signal);
                        } else if !heard {
                            break;
                        }
                    }
                });
            }
        }
        #[cfg(windows)]
        {
            /// The number of the signal that Ctrl-C sends on Unix, from which the exit code is made.
            const SIGINT: i32 = 2;
            // Windows calls the handler on a thread of its own. If there already is another handler,
            // Ctrl-C keeps its usual effect.
            let _ = ctrlc::set_handler(move || {
                let _ = sender.send(Event::End(SIGINT));
                // The program ends even if a source hangs.
                std::thread::sleep(patience);
                end_by(SIGINT);
            });
        }
        #[cfg(not(any(unix, windows)))]
        {
            let _ = patience;
            drop(sender);
        }
        Self(receiver)
    }

    /// Waits until a moment or a signal; returns which came first.
    pub(crate) fn wait_until(&self, moment: Instant) -> Event {
        let left = moment.saturating_duration_since(Instant::now());
        match self.0.recv_timeout(left) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => Event::Timeout,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(left);
                Event::Timeout
            }
        }
    }
}

/// Whether the program was started with the signal ignored; `false` if the
/// system does not tell.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Removes unfinished outputs, and ends the program by the signal that it received, as without a handler: then the
/// shell knows that its own script must end as well, and reports 130 for Ctrl-C.
pub(crate) fn end_by(signal: i32) -> ! {
    let _nothing_more = crate::unfinished::discard_all();
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    std::process::exit(128 + signal)
}
