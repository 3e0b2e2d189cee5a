//! The files of processes below `/proc`, with the units of their values and the faults of reading
//! them.

use crate::clock::TimeBase;
use crate::cpus::{Damage, SystemStat, Ticks};
use crate::faults::{Faults, describe, is_denied};
use crate::files::{PidPath, Reader};
use crate::parse::keyed;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::fmt;

/// The error that a process no longer exists.
pub(super) struct Gone;

/// The result of reading a file of a process that exists.
#[derive(PartialEq, Eq)]
pub(super) enum Outcome {
    /// The file was read.
    Read,
    /// Permissions do not allow reading the file, or this kernel does not have it. Neither is a
    /// fault, and another attempt soon is useless.
    Refused,
    /// The file could not be read; the fault was reported.
    Failed,
}

/// A reader of the files of processes.
pub(super) struct ProcFiles {
    pub(super) reader: Reader,
    pub(super) faults: Faults,
    ticks: Ticks,
    /// The size of a page in bytes.
    pub(super) page: u64,
    base: TimeBase,
}

impl ProcFiles {
    pub(super) fn new(reader: Reader, ticks: Ticks, page: u64, base: TimeBase) -> Self {
        Self { reader, faults: Faults::default(), ticks, page, base }
    }

    /// Lists the numbers of all processes in `pids`, ascending.
    pub(super) fn numbers(&mut self, pids: &mut Vec<u32>) -> Result<(), Errno> {
        self.reader.numbers(pids)
    }

    /// Whether a process or thread with this number exists.
    pub(super) fn is_there(&self, pid: u32) -> bool {
        self.reader.size(PidPath::of(pid, b"stat").text()).is_ok()
    }

    /// Whether a number that is not from the list of processes is the number of a process, and not
    /// of a further thread. Such a thread has files, too, with the values of the whole process.
    /// `true` if `status` cannot be read.
    pub(super) fn is_process(&mut self, number: u32) -> bool {
        let read = self.reader.once_here(PidPath::of(number, b"status").text());
        let [process] = keyed(self.reader.text(), [b"Tgid:"]);
        read.is_err() || process.is_none_or(|process| process == u64::from(number))
    }

    /// Whether permissions allow reading the `io` of a process; `true` after any other failure.
    pub(super) fn tells_io(&mut self, pid: u32) -> bool {
        !self.reader.once_here(PidPath::of(pid, b"io").text()).is_err_and(is_denied)
    }

    /// Reads the system's `stat`, from which the values of Idle are made. If it names no processor,
    /// there is no Idle.
    pub(super) fn idle(&mut self, file: &mut Option<OwnedFd>, stat: &mut SystemStat) {
        stat.clear();
        match self.reader.system(c"stat", file) {
            Ok(text) => stat.parse(text, self.ticks),
            Err(error) => {
                self.faults.instance("Idle", format_args!("stat: {}", describe(error)));
                return;
            }
        }
        for damage in stat.damage.iter().filter(|damage| !matches!(damage, Damage::Line(_))) {
            self.faults.instance("Idle", damage);
        }
        if stat.cpus.is_empty() {
            self.faults.instance("Idle", "stat: names no processor");
        }
    }

    /// The text that was read last.
    pub(super) fn text(&self) -> &[u8] {
        self.reader.text()
    }

    /// The start time, as a FILETIME, of a process or thread that began `nanos` nanoseconds after the
    /// start of the machine; rounded down to ticks, as in its `stat`.
    pub(super) fn start_time_of_nanos(&self, nanos: u64) -> u64 {
        self.start_time(self.ticks.of_nanos(nanos))
    }

    /// The start time of a process or thread as a FILETIME, from the ticks in its `stat`.
    pub(super) fn start_time(&self, ticks: u64) -> u64 {
        let units = i64::try_from(self.ticks.to_units(ticks)).unwrap_or(i64::MAX);
        self.base.after_boot(units).0 as u64
    }

    /// A processor time in 100 ns units, from ticks.
    pub(super) fn units(&self, ticks: u64) -> u64 {
        self.ticks.to_units(ticks)
    }

    /// The outcome of reading a file of a process; [`Gone`] if the process no longer exists. A
    /// failure is reported as a fault.
    pub(super) fn outcome(
        &mut self,
        pid: u32,
        file: &str,
        read: Result<(), Errno>,
    ) -> Result<Outcome, Gone> {
        match read {
            Ok(()) => Ok(Outcome::Read),
            Err(Errno::SRCH) => Err(Gone),
            Err(Errno::NOENT) => match self.reader.size(PidPath::of(pid, b"stat").text()) {
                Ok(_) => Ok(Outcome::Refused),
                Err(_) => Err(Gone),
            },
            Err(error) if is_denied(error) => Ok(Outcome::Refused),
            Err(error) => {
                self.fault(pid, file, describe(error));
                Ok(Outcome::Failed)
            }
        }
    }

    /// Adds a fault of a process: the file and the message.
    pub(super) fn fault(&mut self, pid: u32, file: impl fmt::Display, message: &str) {
        self.faults.instance(format_args!("PID {pid}"), format_args!("{file}: {message}"));
    }
}
