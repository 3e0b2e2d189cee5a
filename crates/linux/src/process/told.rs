//! What was told of processes and threads, which is never taken back: processor
//! time only grows.

/// Processor time as told before, in 100 ns units: it never gets less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) user: u64,
    pub(super) kernel: u64,
}

/// What was told of a process or thread.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// Numbers of the process and, for a thread, of that.
    pub(super) id: (u32, u32),
    pub(super) start: u64,
    pub(super) told: Told,
    /// Whether `/proc` would tell what it read and wrote.
    pub(super) open: bool,
}

/// What is known, by ascending number.
#[derive(Default)]
pub(super) struct Knowledge {
    pub(super) now: Vec<Known>,
    before: Vec<Known>,
    /// Those of `before` in front of this were passed.
    passed: usize,
    /// All that was known stays, but what is noted anew.
    goes_on: bool,
}

impl Knowledge {
    pub(super) fn begin(&mut self) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        self.passed = 0;
        self.goes_on = false;
    }

    /// As [`begin`](Self::begin), where nobody came or went: only who changed is
    /// asked for and noted.
    pub(super) fn go_on(&mut self) {
        self.goes_on = true;
    }

    /// Notes what is told of one. In ascending order.
    pub(super) fn note(&mut self, known: Known) {
        if !self.goes_on {
            self.now.push(known);
            return;
        }
        match self.now.binary_search_by_key(&known.id, |known| known.id) {
            Ok(place) => self.now.get_mut(place).into_iter().for_each(|now| *now = known),
            Err(place) => self.now.insert(place, known),
        }
    }

    /// What was told of one the last time. To be asked in ascending order.
    pub(super) fn of(&mut self, id: (u32, u32), start: u64) -> Option<Known> {
        if self.goes_on {
            let place = self.now.binary_search_by_key(&id, |known| known.id).ok()?;
            return self.now.get(place).filter(|known| known.start == start).copied();
        }
        let rest = self.before.get(self.passed..).unwrap_or_default();
        self.passed += rest.iter().take_while(|known| known.id < id).count();
        let known = self.before.get(self.passed)?;
        (known.id == id && known.start == start).then_some(*known)
    }
}

pub(super) fn told(user: u64, kernel: u64) -> Told {
    Told { user: user / 100, kernel: kernel / 100 }
}

/// Processor time as the kernel itself tells it: the runtime is exact, and is
/// divided as the ticks were that found the processor in the program and in the
/// kernel. Neither part ever gets less. Nanoseconds in, 100 ns units out.
pub(super) fn time(user: u64, kernel: u64, runtime: u64, told: Told) -> Told {
    let all = runtime / 100;
    if told.user.saturating_add(told.kernel) >= all {
        return told;
    }
    let ticks = u128::from(user) + u128::from(kernel);
    let in_kernel = match (user, kernel) {
        (_, 0) => 0,
        (0, _) => all,
        // No more than `all`, since `kernel` is no more than `ticks`.
        _ => (u128::from(kernel) * u128::from(all) / ticks) as u64,
    };
    let in_kernel = in_kernel.max(told.kernel);
    let in_program = all.saturating_sub(in_kernel).max(told.user);
    Told { user: in_program, kernel: all.saturating_sub(in_program) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_divided_and_never_less() {
        let none = Told::default();
        assert_eq!(time(300, 100, 100_000, none), Told { user: 750, kernel: 250 });
        assert_eq!(time(0, 100, 100_000, none), Told { user: 0, kernel: 1000 });
        assert_eq!(time(100, 0, 100_000, none), Told { user: 1000, kernel: 0 });
        assert_eq!(time(0, 0, 100_000, none), Told { user: 1000, kernel: 0 });
        // The whole is exact, both parts stay at least what they were.
        let told = Told { user: 100, kernel: 800 };
        assert_eq!(time(300, 100, 100_000, told), Told { user: 200, kernel: 800 });
        let told = Told { user: 900, kernel: 0 };
        assert_eq!(time(100, 300, 100_000, told), Told { user: 900, kernel: 100 });
        // What was told is more: it stays.
        assert_eq!(time(100, 300, 50_000, told), told);
        let most = time(u64::MAX, u64::MAX, u64::MAX, none);
        assert_eq!(most.user + most.kernel, u64::MAX / 100);
    }

    #[test]
    fn knowledge_follows_numbers_and_start_times() {
        let mut known = Knowledge::default();
        let told = |user| Told { user, kernel: 0 };
        for id in [2, 5, 9] {
            let told = told(u64::from(id));
            known.now.push(Known { id: (id, 0), start: 7, told, open: true });
        }
        known.begin();
        let mut of = |id, start| known.of(id, start).map(|known| known.told);
        assert_eq!(of((1, 0), 7), None);
        assert_eq!(of((5, 0), 7), Some(told(5)));
        assert_eq!(of((9, 0), 8), None);
        assert_eq!(of((9, 0), 7), Some(told(9)));
        assert_eq!(of((9, 1), 7), None);
        known.begin();
        assert!(known.of((5, 0), 7).is_none());

        for id in [2, 5] {
            known.note(Known { id: (id, 0), start: 7, told: told(1), open: true });
        }
        known.go_on();
        known.note(Known { id: (5, 0), start: 8, told: told(2), open: true });
        let mut of = |id, start| known.of((id, 0), start).map(|known| known.told);
        assert_eq!([of(5, 8), of(5, 7)], [Some(told(2)), None]);
        assert_eq!([of(2, 7), of(3, 7)], [Some(told(1)), None]);
        known.begin();
        let mut of = |id, start| known.of((id, 0), start).map(|known| known.told);
        assert_eq!([of(2, 7), of(5, 8)], [Some(told(1)), Some(told(2))]);
    }

    #[test]
    fn the_time_of_reading_does_not_matter_to_the_sum() {
        // However the parts wander, each only grows, and the sum is exact.
        let mut told = Told::default();
        for step in 1..1000u64 {
            let runtime = step * 777;
            let now = time(step * 7 % 50 + 1, step * 13 % 70 + 1, runtime, told);
            assert!(now.user >= told.user && now.kernel >= told.kernel);
            assert_eq!(now.user + now.kernel, runtime / 100);
            told = now;
        }
    }
}
