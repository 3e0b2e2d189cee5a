//! The states of a measurement context, and its operations.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The state of a [`MeasurementContext`](super::MeasurementContext); see the [module](super). A
/// [`StateMonitor`] shows it to other threads, also while an operation is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// The context is being made.
    Initializing,
    /// Structure and values are readable; `prepare` is next.
    Initialized,
    /// The context is at work on `prepare`.
    Preparing,
    /// The context is ready to `sample`.
    Prepared,
    /// The context is at work on `sample`.
    Sampling,
    /// A sample is taken; `decode` is next, or `prepare` for another sample in its place.
    Sampled,
    /// The context is at work on `decode`.
    Decoding,
}

impl State {
    pub(super) fn of(number: u8) -> Self {
        const ALL: [State; 7] = [
            State::Initializing,
            State::Initialized,
            State::Preparing,
            State::Prepared,
            State::Sampling,
            State::Sampled,
            State::Decoding,
        ];
        ALL.get(usize::from(number)).copied().unwrap_or(Self::Initializing)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An operation of a [`MeasurementContext`](super::MeasurementContext).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Making everything ready for a sample.
    Prepare,
    /// Taking the data.
    Sample,
    /// Making values of the sample's data.
    Decode,
    /// Reading the structure or the values of the context.
    Read,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prepare => "prepare",
            Self::Sample => "sample",
            Self::Decode => "decode",
            Self::Read => "reading values",
        })
    }
}

/// A handle that shows the state of a context to another thread.
#[derive(Clone, Debug)]
pub struct StateMonitor(pub(super) Arc<AtomicU8>);

impl StateMonitor {
    /// The state of the context at this moment.
    #[must_use]
    pub fn get(&self) -> State {
        State::of(self.0.load(Ordering::Acquire))
    }
}
