//! One way to call a library's functions, wherever it runs.

use crate::in_process::InProcess;
use crate::isolated::Isolated;
use crate::wire::Lane;
use perfhive_engine::{GuardedBuffer, RawClaim};
use std::time::{Duration, Instant};

/// A library at work: open, and to be collected from by one thread at a time.
pub(crate) enum Caller {
    /// In this process.
    InProcess(InProcess),
    /// In a host process.
    Isolated(Box<Isolated>),
}

/// How long a call is waited for, if not as long as it may take at all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// Until when its reader waits.
    pub(crate) deadline: Option<Instant>,
    /// From when on a call is overdue, since it began: a reader without a deadline
    /// goes on then, and none waits for it once more.
    pub(crate) usual: Option<Duration>,
}

/// What a call of Collect came to.
pub(crate) struct Call {
    /// What the function answered.
    pub(crate) code: u32,
    pub(crate) claim: RawClaim,
    /// What the provider reported meanwhile.
    pub(crate) said: Vec<String>,
    /// What of its process could not be limited, if that was not said so far.
    pub(crate) note: Option<String>,
    /// What it wrote into, in this process' own memory; to be
    /// [given back](Caller::give_back).
    pub(crate) buffer: GuardedBuffer,
    /// How long it took.
    pub(crate) took: Duration,
}

/// Why there was no call, or no end of it.
#[derive(Debug)]
pub(crate) enum CallFault {
    /// It failed; why, in words.
    Failed(String),
    /// Not now; why, in words.
    NotYet(String),
}

impl CallFault {
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl Caller {
    /// Begins with a call of Collect, as far as that takes no waiting.
    pub(crate) fn begin(&mut self, value: &str, lane: Lane, room: usize) {
        match self {
            Self::InProcess(library) => library.begin(value, lane, room),
            Self::Isolated(host) => host.begin(value, lane, room),
        }
    }

    /// Goes on with what was begun, once the library is open.
    pub(crate) fn go_on(&mut self, value: &str, lane: Lane, room: usize, patience: Patience) {
        if let Self::Isolated(host) = self {
            host.go_on(value, lane, room, patience);
        }
    }

    /// Calls Collect with a buffer of `room` bytes, or waits for the end of the
    /// same call if it was `begun`.
    pub(crate) fn collect(
        &mut self,
        value: &str,
        lane: Lane,
        room: usize,
        patience: Patience,
        begun: bool,
    ) -> Result<Call, CallFault> {
        match self {
            Self::InProcess(library) => {
                if !begun {
                    library.forget_begun();
                }
                library.collect(value, lane, room, patience)
            }
            Self::Isolated(host) => {
                if !begun {
                    host.forget_begun();
                }
                host.collect(value, lane, room, patience)
            }
        }
    }

    /// Gives a call's buffer back, for the next one.
    pub(crate) fn give_back(&mut self, buffer: GuardedBuffer) {
        match self {
            Self::InProcess(library) => library.buffer = Some(buffer),
            Self::Isolated(host) => host.buffer = Some(buffer),
        }
    }

    /// Whether a call is overdue now that was not when this was asked before.
    pub(crate) fn is_newly_late(&mut self) -> bool {
        match self {
            Self::InProcess(library) => library.is_newly_late(),
            Self::Isolated(host) => host.is_newly_late(),
        }
    }

    /// How long the last call of Collect took.
    pub(crate) fn took(&self) -> Duration {
        match self {
            Self::InProcess(library) => library.took(),
            Self::Isolated(host) => host.took(),
        }
    }

    /// Calls Close, and answers whether that came back.
    pub(crate) fn close(self) -> bool {
        match self {
            Self::InProcess(mut library) => library.close(),
            Self::Isolated(mut host) => host.close(),
        }
    }

    /// How long the library is left alone from now on.
    pub(crate) fn pause_left(&self) -> Option<Duration> {
        match self {
            Self::InProcess(_) => None,
            Self::Isolated(host) => host.pause_left(),
        }
    }

    /// Whether it can be collected from again without further ado.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Self::InProcess(library) => library.is_sound(),
            Self::Isolated(host) => host.is_sound(),
        }
    }
}
