//! The processor times of processes and threads that BPF showed before. Later values through BPF are
//! not smaller. A collection from `/proc` in between shows whole ticks, which may be less.

/// Processor time in the program and in the kernel, in 100 ns units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTimes {
    pub(super) user: u64,
    pub(super) kernel: u64,
}

impl CpuTimes {
    /// Times from nanoseconds. The user time is rounded down, and so is the sum of both times; the
    /// time in the kernel is what remains of that sum.
    pub(super) fn from_nanos(user: u64, kernel: u64) -> Self {
        let all = user.saturating_add(kernel) / 100;
        Self { user: user / 100, kernel: all.saturating_sub(user / 100) }
    }

    /// The part of two times that `/proc` does not show, since it shows whole ticks. `user` and
    /// `kernel` are in nanoseconds; `tick` and the result are in 100 ns units.
    pub(super) fn behind_ticks(user: u64, kernel: u64, tick: u64) -> Self {
        let tick = tick.max(1);
        let ticks = |nanos: u64| nanos / 100 / tick * tick;
        Self::from_nanos(user, kernel).minus(Self { user: ticks(user), kernel: ticks(kernel) })
    }

    pub(super) fn plus(self, cut: Self) -> Self {
        Self {
            user: self.user.saturating_add(cut.user),
            kernel: self.kernel.saturating_add(cut.kernel),
        }
    }

    pub(super) fn minus(self, cut: Self) -> Self {
        Self {
            user: self.user.saturating_sub(cut.user),
            kernel: self.kernel.saturating_sub(cut.kernel),
        }
    }
}

/// A process or thread, and the times of it that were shown.
#[derive(Clone, Copy)]
pub(super) struct ShownTask {
    /// The number of the process, and the number of the thread; the latter is 0 if the times are
    /// those of all threads of the process.
    pub(super) id: (u32, u32),
    pub(super) start: u64,
    /// The processor times of the task, `cut` included.
    pub(super) times: CpuTimes,
    /// The part of the times that is never shown: the part of a tick that `/proc` had left out when
    /// it was last read. If it were shown once the BPF program runs, it would look like time that
    /// the task had used since.
    pub(super) cut: CpuTimes,
    /// Whether `/proc` permits reading the task's `io`.
    pub(super) open: bool,
}

/// The tasks that were shown in this collection and in the one before, by ascending number.
#[derive(Default)]
pub(super) struct ShownTasks {
    pub(super) now: Vec<ShownTask>,
    before: Vec<ShownTask>,
    /// The number of entries at the beginning of `before` that this collection has passed.
    passed: usize,
}

impl ShownTasks {
    pub(super) fn begin(&mut self) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        self.passed = 0;
    }

    /// The process or thread as it was shown in the collection before; `None` if it was not, or had
    /// another start time. The tasks must be asked for in ascending order.
    pub(super) fn of(&mut self, id: (u32, u32), start: u64) -> Option<ShownTask> {
        let rest = self.before.get(self.passed..).unwrap_or_default();
        self.passed += rest.iter().take_while(|known| known.id < id).count();
        let known = self.before.get(self.passed)?;
        (known.id == id && known.start == start).then_some(*known)
    }
}

/// The processor time of a task, divided as by the kernel's own `cputime_adjust`: the sum is the
/// exact `runtime`, in the proportion of the ticks (`user`, `kernel`) that found the processor in
/// the program and in the kernel. Neither part is less than `shown`; if `shown` already adds up to
/// `runtime` or more, it is returned as it is. The arguments are in nanoseconds, the result and
/// `shown` in 100 ns units.
pub(super) fn time(user: u64, kernel: u64, runtime: u64, shown: CpuTimes) -> CpuTimes {
    let all = runtime / 100;
    if shown.user.saturating_add(shown.kernel) >= all {
        return shown;
    }
    let ticks = u128::from(user) + u128::from(kernel);
    let in_kernel = match (user, kernel) {
        (_, 0) => 0,
        (0, _) => all,
        // No more than `all`, since `kernel` is no more than `ticks`.
        _ => (u128::from(kernel) * u128::from(all) / ticks) as u64,
    };
    let in_kernel = in_kernel.max(shown.kernel);
    let in_program = all.saturating_sub(in_kernel).max(shown.user);
    CpuTimes { user: in_program, kernel: all.saturating_sub(in_program) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_is_divided_by_ticks_and_neither_part_shrinks() {
        let none = CpuTimes::default();
        assert_eq!(time(300, 100, 100_000, none), CpuTimes { user: 750, kernel: 250 });
        assert_eq!(time(0, 100, 100_000, none), CpuTimes { user: 0, kernel: 1000 });
        assert_eq!(time(100, 0, 100_000, none), CpuTimes { user: 1000, kernel: 0 });
        assert_eq!(time(0, 0, 100_000, none), CpuTimes { user: 1000, kernel: 0 });
        // The whole is exact, both parts stay at least what they were.
        let told = CpuTimes { user: 100, kernel: 800 };
        assert_eq!(time(300, 100, 100_000, told), CpuTimes { user: 200, kernel: 800 });
        let told = CpuTimes { user: 900, kernel: 0 };
        assert_eq!(time(100, 300, 100_000, told), CpuTimes { user: 900, kernel: 100 });
        // More was shown already: it stays.
        assert_eq!(time(100, 300, 50_000, told), told);
        let most = time(u64::MAX, u64::MAX, u64::MAX, none);
        assert_eq!(most.user + most.kernel, u64::MAX / 100);
    }

    #[test]
    fn a_task_that_rests_keeps_its_times_however_they_are_rounded() {
        // Rounded one by one, the times are 100 ns less than the runtime.
        let (user, kernel) = (4_000_060, 10_000_070);
        let told = CpuTimes::from_nanos(user, kernel);
        assert_eq!(time(user, kernel, user + kernel, told), told);
        // `/proc` shows one tick in the kernel.
        let cut = CpuTimes::behind_ticks(user, kernel, 100_000);
        assert_eq!(told.minus(cut), CpuTimes { user: 0, kernel: 100_000 });
        let just_below = CpuTimes::behind_ticks(60, 9_999_990, 100_000);
        assert_eq!(CpuTimes::from_nanos(60, 9_999_990).minus(just_below), CpuTimes::default());
    }

    #[test]
    fn shown_times_are_found_by_number_and_start_time() {
        let mut known = ShownTasks::default();
        let told = |user| CpuTimes { user, kernel: 0 };
        for id in [2, 5, 9] {
            let times = told(u64::from(id));
            known.now.push(ShownTask { id: (id, 0), start: 7, times, cut: told(0), open: true });
        }
        known.begin();
        let mut of = |id, start| known.of(id, start).map(|known| known.times);
        assert_eq!(of((1, 0), 7), None);
        assert_eq!(of((5, 0), 7), Some(told(5)));
        assert_eq!(of((9, 0), 8), None);
        assert_eq!(of((9, 0), 7), Some(told(9)));
        assert_eq!(of((9, 1), 7), None);
        known.begin();
        assert!(known.of((5, 0), 7).is_none());
    }

    #[test]
    fn the_sum_of_both_parts_is_the_exact_runtime() {
        // However the parts wander, each only grows, and the sum is exact.
        let mut told = CpuTimes::default();
        for step in 1..1000u64 {
            let runtime = step * 777;
            let now = time(step * 7 % 50 + 1, step * 13 % 70 + 1, runtime, told);
            assert!(now.user >= told.user && now.kernel >= told.kernel);
            assert_eq!(now.user + now.kernel, runtime / 100);
            told = now;
        }
    }
}
