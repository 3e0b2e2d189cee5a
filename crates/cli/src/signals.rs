//! What the terminal and its user say while a table is redrawn.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The time is over.
    Timeout,
    /// The terminal has another size.
    #[cfg_attr(not(unix), expect(dead_code, reason = "a console reports this in its input only"))]
    Resized,
    /// The program was stopped and goes on: the terminal shows something else.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no stopping and going on"))]
    Continued,
    /// Ctrl-C, or a request to end.
    End(i32),
}

/// How long a request to end waits for the table under way.
const PATIENCE: Duration = Duration::from_millis(300);

/// Waits for a time or a signal, whichever comes first.
pub(crate) struct Signals(Receiver<Event>);

impl Signals {
    /// Begins to listen. Where that fails signals do what they usually do.
    pub(crate) fn listen() -> Self {
        Self::listen_with(PATIENCE)
    }

    /// As [`listen`](Self::listen), with `patience` as the time that the work
    /// under way may still take after a request to end.
    pub(crate) fn listen_with(patience: Duration) -> Self {
        let (sender, receiver) = channel();
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
            use signal_hook::iterator::Signals;
            let heard = [SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH].into_iter();
            // Under nohup the program is to go on.
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
                            // A source that hangs must not hold up the user.
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
            /// The number of Ctrl-C, of which the exit code is made.
            const SIGINT: i32 = 2;
            // Windows calls the handler on a thread of its own. If another handler
            // is set already, Ctrl-C keeps its usual effect.
            let _ = ctrlc::set_handler(move || {
                let _ = sender.send(Event::End(SIGINT));
                // A source that hangs must not hold up the user.
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

    /// Waits until a moment.
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

/// Ends the program by the signal that it got, as without a handler: the
/// shell then knows that its own work is to end as well, and reports 130 for
/// Ctrl-C.
pub(crate) fn end_by(signal: i32) -> ! {
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    std::process::exit(128 + signal)
}
