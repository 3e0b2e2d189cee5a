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

/// What a call of Collect came to.
pub(crate) struct Call<'a> {
    /// What the function answered.
    pub(crate) code: u32,
    pub(crate) claim: RawClaim,
    /// What the provider reported meanwhile.
    pub(crate) said: Vec<String>,
    /// What it wrote into, in this process' own memory.
    pub(crate) buffer: &'a GuardedBuffer,
}

/// Why there was no call, or no end of it.
#[derive(Debug)]
pub(crate) enum CallFault {
    /// It failed; why, in words.
    Failed(String),
    /// Not now; why, in words.
    NotYet(String),
}

impl Caller {
    /// Calls Collect with a buffer of `room` bytes.
    pub(crate) fn collect(
        &mut self,
        value: &str,
        lane: Lane,
        room: usize,
        deadline: Option<Instant>,
    ) -> Result<Call<'_>, CallFault> {
        match self {
            Self::InProcess(library) => library.collect(value, lane, room),
            Self::Isolated(host) => host.collect(value, lane, room, deadline),
        }
    }

    /// Calls Close, and answers whether that came back.
    pub(crate) fn close(self) -> bool {
        match self {
            Self::InProcess(_) => true,
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
            Self::InProcess(_) => true,
            Self::Isolated(host) => host.is_sound(),
        }
    }
}
