//! Processor time without a file: the kernel's clock of a process, and the resources that this
//! program has used.
//!
//! Both give the values that `stat` shows in hundredths of a second, with a finer resolution and at
//! a fifth of the cost.
#![allow(unsafe_code)]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The bits that mark a clock's number as that of a process, counted by the scheduler:
/// `CPUCLOCK_SCHED` of the kernel.
const SCHEDULER: i32 = 2;

/// The processor time clock of one process.
pub(super) struct CpuClock {
    clock: libc::clockid_t,
    /// The descriptor of the process (pidfd), which tells whether the process has ended: `clock` may
    /// then be the clock of another process with the same number.
    process: OwnedFd,
}

impl CpuClock {
    /// The clock of the process that has this number in this program's own namespace; `None` if it
    /// cannot be opened or read.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // As clock_getcpuclockid makes it: the inverted number above three bits of kind.
        let clock = if pid == std::process::id().cast_signed() {
            libc::CLOCK_PROCESS_CPUTIME_ID
        } else {
            (!pid << 3) | SCHEDULER
        };
        Some(Self { clock, process }).filter(|made| made.read().is_some())
    }

    /// The processor time in 100 ns units of the process that has the number now: of another
    /// process if this process [has ended](Self::has_ended) and its number was reused. `None` if no
    /// process has the number.
    pub(super) fn read(&self) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes one timespec to the pointer, which is valid and not used
        // elsewhere during the call, and keeps nothing.
        let done = unsafe { libc::clock_gettime(self.clock, &raw mut time) };
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let nanos = u64::try_from(time.tv_nsec).ok()?;
        let units = seconds.checked_mul(10_000_000)?.checked_add(nanos / 100)?;
        (done == 0).then_some(units)
    }

    /// Whether the process has ended; always `false` for this program.
    pub(super) fn has_ended(&self) -> bool {
        if self.clock == libc::CLOCK_PROCESS_CPUTIME_ID {
            return false;
        }
        let mut polled = [PollFd::new(&self.process, PollFlags::IN)];
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut polled, Some(&none)) {
            Ok(count) => count != 0,
            Err(error) => error != Errno::INTR,
        }
    }
}

/// The processor time and page faults that this program has used so far.
pub(super) struct Usage {
    /// Processor time in programs and in the kernel, in 100 ns units.
    pub(super) times: [u64; 2],
    /// The number of all page faults, and of those for which a disk was read.
    pub(super) faults: [u64; 2],
}

impl Usage {
    /// The sums over all threads of this program; `None` if the kernel does not give them.
    pub(super) fn of_this_program() -> Option<Self> {
        // SAFETY: all fields are integers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes one rusage to the pointer, which is valid and not used elsewhere
        // during the call, and keeps nothing.
        let done = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        let units = |time: libc::timeval| {
            let (seconds, micros) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec));
            Some(seconds.ok()?.checked_mul(10_000_000)?.saturating_add(micros.ok()? * 10))
        };
        let number = |count: libc::c_long| u64::try_from(count).ok();
        let times = [units(usage.ru_utime)?, units(usage.ru_stime)?];
        let (minor, major) = (number(usage.ru_minflt)?, number(usage.ru_majflt)?);
        (done == 0).then_some(Self { times, faults: [minor.saturating_add(major), major] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_and_ends() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; read line"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let clock = CpuClock::of(child.id()).unwrap();
        let (mut last, mut grew) = (0, false);
        while last < 100_000 {
            let now = clock.read().unwrap();
            grew |= now > last;
            assert!(now >= last);
            last = now;
        }
        assert!(grew);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(clock.read(), None);
        assert!(CpuClock::of(child.id()).is_none());
    }

    #[test]
    fn the_own_clock_runs_with_the_own_work() {
        let clock = CpuClock::of(std::process::id()).unwrap();
        let before = clock.read().unwrap();
        while clock.read().unwrap() - before < 20_000 {}
    }
}
