//! What a warm sample through [`RegistrySource`] costs, against the call of
//! `RegQueryValueExW` that it makes, in the same process and for the same value.
//!
//! `cargo xtask bench wine` prints one Markdown table. Every round makes both in
//! turn, first one and then the other, so that what else the machine does meets
//! both; the figures are medians over the rounds, the ratio the median of the
//! rounds' ratios. It registers a provider, hence under Wine only.
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
    use perfhive_contract::{Definition, Functions, Registrar as _, Texts};
    use perfhive_engine::{ObjectQuery, Request, Snapshot, Source as _};
    use perfhive_format::LanguageId;
    use perfhive_testkit::alloc;
    use perfhive_windows::{RegistrySource, WindowsRegistrar, is_wine};
    use std::hint::black_box;
    use std::path::{Path, PathBuf};
    use std::ptr::{null, null_mut};
    use std::time::{Duration, Instant};
    use windows_sys::Win32::System::LibraryLoader::LoadLibraryW;
    use windows_sys::Win32::System::Registry::{HKEY_PERFORMANCE_DATA, RegQueryValueExW};

    #[global_allocator]
    static ALLOCATOR: alloc::Counting = alloc::Counting;

    const ROUNDS: usize = 201;
    const WARM_UP: usize = 20;

    pub(super) fn main() {
        assert!(is_wine(), "this changes the registry: run it under Wine");
        println!(
            "| sample | bare call | perfhive | ratio | allocations |\n|---|---:|---:|---:|---:|"
        );
        for (name, close, what) in [
            ("Bees", "CloseBees", "1 object, 2 instances"),
            ("Large", "CloseZoo", "1 object, 10000 instances"),
        ] {
            let registered = Registered::new(name, close);
            row(&format!("{what}, library loaded each time"));
            pin(&registered.library);
            row(&format!("{what}, library kept loaded"));
        }
    }

    fn row(what: &str) {
        let name: Vec<u16> = "Global".encode_utf16().chain([0]).collect();
        let mut buffer = vec![0u8; 4 << 20];
        let mut source = RegistrySource::local("local:");
        let request = Request::new(ObjectQuery::Global);
        let mut snapshot = Snapshot::new();
        let mut ours = || source.collect(black_box(&request), &mut snapshot).unwrap();
        let mut bare = || assert!(query(black_box(&name), black_box(&mut buffer)) > 0);
        let (mut times, mut peer, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..WARM_UP + ROUNDS {
            let (a, b) = if round % 2 == 0 {
                let a = time(&mut ours);
                (a, time(&mut bare))
            } else {
                let b = time(&mut bare);
                (time(&mut ours), b)
            };
            if round >= WARM_UP {
                times.push(a);
                peer.push(b);
                ratios.push(a.as_secs_f64() / b.as_secs_f64());
            }
        }
        let ((), allocated) = alloc::count(&mut ours);
        ratios.sort_by(f64::total_cmp);
        println!(
            "| {what} | {} | {} | {:.3} | {} |",
            micros(peer),
            micros(times),
            ratios[ratios.len() / 2],
            allocated.count
        );
    }

    fn time(mut act: impl FnMut()) -> Duration {
        let start = Instant::now();
        act();
        start.elapsed()
    }

    fn micros(mut times: Vec<Duration>) -> String {
        times.sort_unstable();
        format!("{:.1} us", times[times.len() / 2].as_secs_f64() * 1e6)
    }

    /// The call as it stands in document and book; answers the reply's length.
    fn query(name: &[u16], buffer: &mut [u8]) -> u32 {
        let mut length = buffer.len() as u32 - 4096;
        // SAFETY: the name ends in NUL, the buffer has more bytes than are told
        // (Wine writes a little further), and both live beyond the call.
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

    /// Keeps a library loaded until the process ends, as Windows does between
    /// samples; Wine unloads it behind each.
    fn pin(library: &Path) {
        use std::os::windows::ffi::OsStrExt as _;
        let name: Vec<u16> = library.as_os_str().encode_wide().chain([0]).collect();
        // SAFETY: the name ends in NUL and lives beyond the call; the library
        // does nothing when it is loaded.
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
            let mut definition = Definition::new(&service);
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
