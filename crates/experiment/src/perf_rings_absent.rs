//! Takes the place of [`perf_rings`](self) on processors for which the library of perf events has
//! no constants: no rings can be made there.

use crate::event::Closer;
use std::convert::Infallible;
use std::ffi::CStr;
use std::io;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "nothing tells of it here")]
pub(crate) enum PerfTold {
    Fork,
    Exec,
    Hit(usize),
    Exit,
}

pub(crate) struct PerfRecord {
    pub(crate) time: u64,
    pub(crate) told: PerfTold,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) stack: Option<u64>,
}

#[expect(dead_code, reason = "nothing reads it here")]
pub(crate) struct PerfPlace<'a> {
    pub(crate) source: u32,
    pub(crate) path: &'a CStr,
    pub(crate) offset: u64,
    pub(crate) semaphore: u32,
    pub(crate) at_return: bool,
    pub(crate) has_stack: bool,
}

/// Rings that cannot be made on this processor.
pub(crate) struct PerfRings(Infallible);

impl PerfRings {
    pub(crate) fn new(_probes: usize) -> io::Result<Self> {
        let what = "perfhive takes events from the kernel on x86-64, 64-bit Arm and RISC-V only";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub(crate) fn add_threads(&mut self, _process: u32) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn add_probe(&mut self, _probe: usize, _place: PerfPlace<'_>) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn set_spin(&mut self, _time: Duration) {
        match self.0 {}
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<PerfRecord>> {
        match self.0 {}
    }

    pub(crate) fn lost(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn gap(&mut self, _time: u64) -> u64 {
        match self.0 {}
    }

    pub(crate) fn closer(&self) -> Closer {
        match self.0 {}
    }
}
