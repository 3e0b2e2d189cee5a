//! Measures a warm sample of Windows' registry against the `RegQueryValueExW` call that it makes,
//! in the same process and for the same value: through `RegistrySource`, and through `local:` as
//! programs open it, with its own thread, the native functions and published counters. Each sample
//! includes the check whether the catalogue changed, as readers make it.
//!
//! `cargo xtask bench wine` prints one Markdown table. Each round makes all calls, so that other
//! load on the machine affects all of them; the order changes with each round, so that no call
//! always finds the processor's caches as the same other call left them. The figures are medians
//! over the rounds, the ratios medians of the rounds' ratios.
//!
//! Bare calls under Wine vary by more than the goal allows. So there are many rounds, and beside
//! each ratio stand the limits of the true median with 99 % certainty for any distribution (the
//! order statistics of the sign test). The bare call is made twice in a round: the ratio of the two
//! shows the noise of the measurement. A third bare call runs on another thread, where it takes a
//! quarter less under Wine; `local:` is compared with this one, since it reads there. The goal is
//! shown where the upper limit is at most 1.05, missed where the lower limit is above it, and open
//! otherwise.
//!
//! Where the library is loaded with each call, several processes make some rounds each, in
//! sequence, and count as one row. The benchmark registers a provider, so it runs under Wine only.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[cfg(not(windows))]
fn main() {
    println!("This measures Windows' registry: cargo xtask bench wine.");
}

#[cfg(windows)]
fn main() {
    windows::main();
}

#[cfg(windows)]
mod windows {
    use perfhive::contract::{Functions, ProviderDefinition, Registrar as _, Texts};
    use perfhive::windows::{WindowsRegistrar, allotted_indexes, is_wine, local_source};
    use perfhive::{Ask, LanguageId, ObjectQuery, Snapshot, Source, TitleIndex};
    use perfhive_testkit::alloc;
    use std::hint::black_box;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::ptr::{null, null_mut};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::spawn;
    use std::time::{Duration, Instant};
    use windows_sys::Win32::System::LibraryLoader::LoadLibraryW;
    use windows_sys::Win32::System::Registry::{HKEY_PERFORMANCE_DATA, RegQueryValueExW};

    #[global_allocator]
    static ALLOCATOR: alloc::Counting = alloc::Counting;

    /// The number of different calls in a round.
    const ACTS: usize = 5;
    const ROUNDS: usize = 2001;
    /// The number of rounds of one process in which each call loads and unloads the library: each
    /// load takes one of Wine's 1088 TLS indexes for good, as the library's threads have variables
    /// with destructors. Several processes therefore run in sequence.
    const LOADING: usize = 161;
    const PROCESSES: usize = 8;
    const WARM_UP: usize = 20;
    /// The number of samples, in each process, in which allocations are counted.
    const COUNTED: usize = 20;
    /// The argument that starts such a process; the object's index follows it.
    const LOADED_EACH_TIME: &str = "--loaded-each-time";

    pub(super) fn main() {
        assert!(is_wine(), "this changes the registry: run it under Wine");
        let mut args = std::env::args().skip(1);
        if args.next().as_deref() == Some(LOADED_EACH_TIME) {
            let index = args.next().unwrap().parse().unwrap();
            return measure(TitleIndex(index), LOADING).tell();
        }
        println!(
            "| sample | bare call | the same again | `RegistrySource` | ratio | bare on another \
             thread | `local:` | ratio | at most 1.05 | allocations |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---|---:|"
        );
        for (name, close, what) in [
            ("Bees", "CloseBees", "1 object, 2 instances"),
            ("Large", "CloseZoo", "1 object, 10000 instances"),
        ] {
            let registered = Registered::new(name, close);
            // The zoo's large object has an index of its own.
            let index = match name {
                "Large" => TitleIndex(7000),
                _ => TitleIndex(allotted_indexes(&registered.service).unwrap().first_counter),
            };
            let mut loading = Measured::default();
            (0..PROCESSES).for_each(|_| loading.add_process(index));
            loading.show(&format!("{what}, library loaded each time"));
            pin(&registered.library);
            measure(index, ROUNDS).show(&format!("{what}, library kept loaded"));
        }
    }

    /// Takes one warm sample, after the check for a changed catalogue.
    fn sample(source: &mut dyn Source, request: &Ask, snapshot: &mut Snapshot) {
        black_box(source.catalogue(&Ask::nothing()).unwrap().generation);
        source.collect(black_box(request), snapshot).unwrap();
        assert_eq!(snapshot.objects().count(), 1);
    }

    /// The duration of each call in each round, in the order bare call, bare call again, bare call
    /// on another thread, `RegistrySource`, `local:`; and the number of allocations that
    /// `RegistrySource` and `local:` make together once warm.
    #[derive(Default)]
    struct Measured {
        times: [Vec<Duration>; ACTS],
        allocated: u64,
    }

    fn measure(index: TitleIndex, rounds: usize) -> Measured {
        let request = Ask::new(ObjectQuery::one(index));
        let name: Vec<u16> = index.to_string().encode_utf16().chain([0]).collect();
        let mut buffer = vec![0u8; 4 << 20];
        let elsewhere = Elsewhere::new(name.clone());
        let mut direct = local_source("direct:");
        let mut local = perfhive::open("local:").unwrap();
        let (mut one, mut other) = (Snapshot::new(), Snapshot::new());
        let bare = std::cell::RefCell::new(&mut buffer);
        let bare = || assert!(query(black_box(&name), black_box(&mut bare.borrow_mut())) > 0);
        let mut acts: [Box<dyn FnMut() -> Duration + '_>; ACTS] = [
            Box::new(|| time(bare)),
            Box::new(|| time(bare)),
            Box::new(|| elsewhere.query()),
            Box::new(|| time(|| sample(&mut direct, &request, &mut one))),
            Box::new(|| time(|| sample(&mut *local, &request, &mut other))),
        ];
        let mut times: [Vec<Duration>; ACTS] = Default::default();
        for round in 0..WARM_UP + rounds {
            for which in order(round) {
                let took = acts[which]();
                if round >= WARM_UP {
                    times[which].push(took);
                }
            }
        }
        // Many in a row, to include checks that are made only from time to time.
        let before = alloc::process();
        for _ in 0..COUNTED {
            acts[3]();
            acts[4]();
        }
        let allocated = alloc::process().since(before).count;
        Measured { times, allocated }
    }

    /// The order of the calls in a round: over the rounds, each permutation in turn.
    fn order(round: usize) -> [usize; ACTS] {
        let mut order = std::array::from_fn(|act| act);
        // The digits of the round's number to the bases 5, 4, 3 and 2 select the next call.
        let mut rest = round;
        for place in 0..ACTS {
            let left = ACTS - place;
            order[place..].rotate_left(rest % left);
            rest /= left;
        }
        order
    }

    /// The bare call on another thread, as `local:` makes it.
    struct Elsewhere(Sender<()>, Receiver<Duration>);

    impl Elsewhere {
        fn new(name: Vec<u16>) -> Self {
            let ((ask, asked), (tell, told)) = (channel(), channel());
            spawn(move || {
                let mut buffer = vec![0u8; 4 << 20];
                for () in asked {
                    let took = time(|| assert!(query(black_box(&name), &mut buffer) > 0));
                    tell.send(took).unwrap();
                }
            });
            Self(ask, told)
        }

        fn query(&self) -> Duration {
            self.0.send(()).unwrap();
            self.1.recv().unwrap()
        }
    }

    impl Measured {
        /// Runs another process of this benchmark, and adds its results.
        fn add_process(&mut self, index: TitleIndex) {
            let mut process = Command::new(std::env::current_exe().unwrap());
            let output = process.args([LOADED_EACH_TIME, &index.to_string()]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {said}", output.status);
            let text = String::from_utf8(output.stdout).unwrap();
            let mut lines = text.lines();
            self.allocated += lines.next().unwrap().parse::<u64>().unwrap();
            let mut rounds = 0;
            for line in lines {
                let mut nanos = line.split(' ').map(|nanos| nanos.parse().unwrap());
                for times in &mut self.times {
                    times.push(Duration::from_nanos(nanos.next().unwrap()));
                }
                rounds += 1;
            }
            assert_eq!(rounds, LOADING);
        }

        /// Prints the results for the process that started this one.
        fn tell(&self) {
            println!("{}", self.allocated);
            for round in 0..self.times[0].len() {
                let nanos = self.times.each_ref().map(|times| times[round].as_nanos().to_string());
                println!("{}", nanos.join(" "));
            }
        }

        fn show(&self, what: &str) {
            let Self { times, allocated } = self;
            let ratio = |ours: usize, bare: usize| Ratio::of(&times[ours], &times[bare]);
            // Each is compared with the bare call on the same kind of thread.
            let (again, ours, whole) = (ratio(1, 0), ratio(3, 0), ratio(4, 2));
            println!(
                "| {what} | {} | {again} | {} | {ours} | {} | {} | {whole} | {} | {allocated} |",
                micros(&times[0]),
                micros(&times[3]),
                micros(&times[2]),
                micros(&times[4]),
                verdict(&[ours, whole]),
            );
        }
    }

    /// The median of the rounds' ratios, and the limits of the true median.
    #[derive(Clone, Copy)]
    struct Ratio {
        median: f64,
        least: f64,
        most: f64,
    }

    impl Ratio {
        fn of(ours: &[Duration], bare: &[Duration]) -> Self {
            let pairs = ours.iter().zip(bare);
            let mut ratios: Vec<f64> =
                pairs.map(|(ours, bare)| ours.as_secs_f64() / bare.as_secs_f64()).collect();
            ratios.sort_by(f64::total_cmp);
            // The number of ratios below the true median is binomial: mean n/2, standard
            // deviation half the root of n; 2.576 deviations to both sides hold 99 %.
            let count = ratios.len() as f64;
            let apart = (2.576 * count.sqrt() / 2.0).ceil() as usize;
            let middle = ratios.len() / 2;
            let at = |place: usize| ratios[place.min(ratios.len() - 1)];
            let (least, most) = (at(middle.saturating_sub(apart)), at(middle + apart));
            Self { median: at(middle), least, most }
        }
    }

    impl std::fmt::Display for Ratio {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{:.3} ({:.3} to {:.3})", self.median, self.least, self.most)
        }
    }

    /// The word for whether the goal is met, missed or open, by the limits.
    fn verdict(ratios: &[Ratio]) -> &'static str {
        const GOAL: f64 = 1.05;
        if ratios.iter().all(|ratio| ratio.most <= GOAL) {
            "shown"
        } else if ratios.iter().any(|ratio| ratio.least > GOAL) {
            "missed"
        } else {
            "open"
        }
    }

    fn time(mut act: impl FnMut()) -> Duration {
        let start = Instant::now();
        act();
        start.elapsed()
    }

    fn micros(times: &[Duration]) -> String {
        let mut times = times.to_vec();
        times.sort_unstable();
        format!("{:.1} us", times[times.len() / 2].as_secs_f64() * 1e6)
    }

    /// Calls `RegQueryValueExW` as its documentation shows it, and returns the reply's length.
    fn query(name: &[u16], buffer: &mut [u8]) -> u32 {
        let mut length = buffer.len() as u32 - 4096;
        // SAFETY: the name ends in NUL, the buffer has more bytes than announced (Wine writes a
        // little further), and both live beyond the call.
        let code = unsafe {
            RegQueryValueExW(
                HKEY_PERFORMANCE_DATA,
                name.as_ptr(),
                null(),
                null_mut(),
                buffer.as_mut_ptr(),
                &mut length,
            )
        };
        assert_eq!(code, 0);
        length
    }

    /// Keeps a library loaded until the process ends, as Windows does between samples; Wine unloads
    /// it after each.
    fn pin(library: &Path) {
        use std::os::windows::ffi::OsStrExt as _;
        let name: Vec<u16> = library.as_os_str().encode_wide().chain([0]).collect();
        // SAFETY: the name ends in NUL and lives beyond the call; the library does nothing when it
        // is loaded.
        assert!(!unsafe { LoadLibraryW(name.as_ptr()) }.is_null());
    }

    struct Registered {
        service: String,
        library: PathBuf,
    }

    impl Registered {
        fn new(name: &str, close: &str) -> Self {
            let bench = std::env::current_exe().unwrap();
            let library = bench.parent().unwrap().with_file_name("examples").join("zoo.dll");
            assert!(library.is_file(), "{} is not built", library.display());
            let service = format!("Perfhive{name}");
            let mut definition = ProviderDefinition::new(&service);
            definition.titles = vec![Texts {
                language: LanguageId::ENGLISH,
                names: vec![(0, "Bench".to_string())],
                help: Vec::new(),
            }];
            let functions = Functions {
                library: Some(library.clone()),
                open: Some(format!("Open{name}")),
                collect: Some(format!("Collect{name}")),
                close: Some(close.to_string()),
                ..Functions::default()
            };
            WindowsRegistrar::new().register(&definition, &functions).unwrap();
            Self { service, library }
        }
    }

    impl Drop for Registered {
        fn drop(&mut self) {
            let _ = WindowsRegistrar::new().unregister(&self.service);
        }
    }
}
