//! Probes in unmodified programs, as events.
//!
//! The kernel puts a breakpoint at a place of a file (uprobe) into each process that has the file in its memory, and
//! writes a record each time that a process meets the breakpoint. The perf events of probes do not follow a process to
//! its threads and children: each child would have to place the probe again, and a child that may not place probes
//! could not be made. So the perf events are for all processes. Records of other processes are left out here; the forks
//! that the kernel reports show which processes belong to the program.

mod elf;

use crate::EventKind;
use crate::event::{Closer, EventSource, PerfEvent};
use crate::perf_rings::{PerfPlace, PerfRings, PerfTold};
use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The most places of a file at which one probe may be; a name with more places is an error.
const MOST_PLACES: usize = 64;
/// What a return adds to the stack pointer: on x86-64 it takes the return address from the stack.
const RETURNED: u64 = if cfg!(target_arch = "x86_64") { 8 } else { 0 };

/// A function or a USDT probe in a program file, to be an event each time that a process meets it.
#[derive(Clone, Debug)]
pub struct Probe {
    name: Arc<str>,
    kind: EventKind,
    file: PathBuf,
    is_function: bool,
    /// Whether code of the function's file unwinds the stack.
    unwinds: bool,
    at_return: bool,
    places: Vec<elf::Place>,
}

impl Probe {
    /// A point at the beginning of a function, given by its name in the symbols of a program or library file.
    ///
    /// # Errors
    /// `NotFound` where there is no such file or function, or where the name stands for one of
    /// several functions, which is chosen when the program starts; `InvalidData` where the file is
    /// no program; `InvalidInput` where more than 64 places have the name; others where the file
    /// cannot be read.
    pub fn function(file: &Path, symbol: &str) -> io::Result<Self> {
        let (places, unwinds) = elf::functions(file, symbol)?;
        Ok(Self { is_function: true, unwinds, ..Self::new(file, symbol, places)? })
    }

    /// A point at a USDT probe, which the authors of a program placed (`sys/sdt.h`).
    ///
    /// # Errors
    /// `NotFound` where there is no such file or probe; `InvalidData` where the file is no program;
    /// `InvalidInput` where the probe is at more than 64 places; others where the file cannot be
    /// read.
    pub fn usdt(file: &Path, provider: &str, name: &str) -> io::Result<Self> {
        let places = elf::usdt_probes(file, provider, name)?;
        Self::new(file, &format!("{provider}:{name}"), places)
    }

    fn new(file: &Path, name: &str, mut places: Vec<elf::Place>) -> io::Result<Self> {
        places.sort_unstable();
        places.dedup();
        if places.len() > MOST_PLACES {
            let what = format!(
                "{}: {name} is at {} places; at most {MOST_PLACES} can be probed",
                file.display(),
                places.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(Self {
            name: name.into(),
            kind: EventKind::Point,
            file: file.into(),
            is_function: false,
            unwinds: false,
            at_return: false,
            places,
        })
    }

    /// The same probe at the return of the function instead of its beginning. A function that is left by `longjmp`
    /// does not return. An exception that leaves the function ends the program: see
    /// [`may_end_program`](Self::may_end_program).
    #[must_use]
    pub fn at_return(mut self) -> Self {
        self.at_return = true;
        self
    }

    /// Whether the probe may end the program. While a function with a probe at its return runs, the kernel's own
    /// address stands in the place of its caller's. An exception of C++ or a panic of Rust that leaves the function
    /// finds no caller then, and the program ends; one of Go ends where it reads the stack. `true` for a probe at the
    /// return of a function in a file that has such code.
    #[must_use]
    pub fn may_end_program(&self) -> bool {
        self.at_return && self.unwinds
    }

    /// The same probe with events of this kind: a start and an end of the same name make a section.
    #[must_use]
    pub fn of_kind(mut self, kind: EventKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same probe with this name for its events.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }
}

/// The event source of probes: an event happens each time that one of the probes is met by a thread
/// of the process, or, with [`watch`](Self::watch), by a thread of a process that it starts.
pub struct Probes {
    name: Arc<str>,
    /// The name and kind of each probe's events, and how far the stack pointer at a hit is from that at the beginning
    /// of the function.
    probes: Vec<(Arc<str>, EventKind, u64)>,
    rings: PerfRings,
    process: u32,
    /// Whether hits are events. With [`after_exec`](Self::after_exec), this is `false` until the
    /// process becomes another program; otherwise always `true`.
    is_program: bool,
    /// The number of threads that the kernel has reported and that have not ended, of each process
    /// that the watched process has started, and of the watched process itself.
    children: HashMap<u32, u32>,
    /// The number of hits by unknown processes, after records were lost.
    unknown: u64,
}

/// The message where the kernel does not let this user place probes: what to do instead.
const NOT_PERMITTED: &str = "the kernel lets only root (CAP_SYS_ADMIN) place probes in programs; run perfhive with sudo, and \
                             the program as its user: -- sudo -u USER PROGRAM, with the program's path in the event";

impl Probes {
    /// The events of a process, which must have only its first thread so far, and of the processes
    /// that it starts. They begin at once.
    ///
    /// Other processes with the same file in their memory meet the probes, too, which costs them time. Their hits are
    /// no events.
    ///
    /// # Errors
    /// `PermissionDenied` without `CAP_SYS_ADMIN`; `Unsupported` where the kernel has no uprobes; others where the
    /// kernel cannot place a probe, or no descriptor or memory for events is left.
    pub fn watch(process: u32, probes: &[Probe]) -> io::Result<Self> {
        Self::with(process, probes, true)
    }

    fn with(process: u32, probes: &[Probe], has_children: bool) -> io::Result<Self> {
        let places = probes.iter().map(|probe| probe.places.len()).sum::<usize>();
        let mut rings = PerfRings::new(places)?;
        if has_children {
            rings.add_threads(process).map_err(|error| failed("threads of the program", &error))?;
        }
        let source = source()?;
        for (number, probe) in probes.iter().enumerate() {
            let path = CString::new(probe.file.as_os_str().as_bytes())?;
            for place in &probe.places {
                let what = format!("{} in {}", probe.name, probe.file.display());
                let place = PerfPlace {
                    source,
                    path: &path,
                    offset: place.offset,
                    semaphore: place.semaphore,
                    at_return: probe.at_return,
                    // A function may be called within itself, and a call may never return.
                    has_stack: probe.is_function && probe.kind != EventKind::Point,
                };
                rings.add_probe(number, place).map_err(|error| failed(&what, &error))?;
            }
        }
        let probes = probes.iter().map(|probe| {
            (Arc::clone(&probe.name), probe.kind, if probe.at_return { RETURNED } else { 0 })
        });
        let probes = probes.collect();
        let (name, children) = ("probe".into(), HashMap::new());
        Ok(Self { name, probes, rings, process, is_program: true, children, unknown: 0 })
    }

    /// The events of the probes that a running process meets, in all its threads, including threads
    /// that it makes later. Probes that the process's children meet are no events.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn of_process(process: u32, probes: &[Probe]) -> io::Result<Self> {
        Self::with(process, probes, false)
    }

    /// Makes the source look for the next hit for this long before its thread sleeps, as
    /// [`Calls::with_spin`](crate::Calls::with_spin) does; zero by default.
    #[must_use]
    pub fn with_spin(mut self, time: Duration) -> Self {
        self.rings.set_spin(time);
        self
    }

    /// Names the event source, which is called `probe` otherwise.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Leaves out all hits before the process becomes another program (`execve`), also those of
    /// processes that it starts. For [`watch`](Self::watch) only: with [`of_process`](Self::of_process)
    /// there would never be an event.
    #[must_use]
    pub fn after_exec(mut self) -> Self {
        self.is_program = false;
        self
    }
}

/// The number of the kernel's source of events of probes in programs.
fn source() -> io::Result<u32> {
    const FILE: &str = "/sys/bus/event_source/devices/uprobe/type";
    let read = std::fs::read_to_string(FILE).map_err(|error| error.to_string());
    let number = read.and_then(|text| text.trim().parse().map_err(|_| "no number".to_string()));
    number.map_err(|why| {
        let what =
            format!("{FILE}: {why}; the kernel tells of probes with CONFIG_UPROBE_EVENTS only");
        io::Error::new(io::ErrorKind::Unsupported, what)
    })
}

fn failed(what: &str, error: &io::Error) -> io::Error {
    let text = match error.kind() {
        io::ErrorKind::PermissionDenied => NOT_PERMITTED.to_string(),
        kind => return io::Error::new(kind, format!("no events of {what}: {error}")),
    };
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

impl EventSource for Probes {
    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        while let Some(record) = self.rings.next()? {
            let (process, thread) = (record.process, record.thread);
            match record.told {
                PerfTold::Exec => self.is_program |= process == self.process,
                PerfTold::Fork => *self.children.entry(process).or_default() += 1,
                PerfTold::Exit => {
                    let left = self.children.get_mut(&process).map(|threads| {
                        *threads = threads.saturating_sub(1);
                        *threads
                    });
                    if left == Some(0) {
                        self.children.remove(&process);
                    }
                }
                PerfTold::Hit(_) if !self.is_program => {}
                PerfTold::Hit(probe) => {
                    if process != self.process && !self.children.contains_key(&process) {
                        // The process may be a child with a lost record.
                        self.unknown += u64::from(self.rings.lost() > 0);
                        continue;
                    }
                    let Some((name, kind, returned)) = self.probes.get(probe) else { continue };
                    return Ok(Some(PerfEvent {
                        kind: *kind,
                        time: record.time,
                        process,
                        thread,
                        gap: self.rings.gap(record.time),
                        frame: record.stack.map(|stack| stack.wrapping_sub(*returned)),
                        ..PerfEvent::now(name)
                    }));
                }
            }
        }
        Ok(None)
    }

    fn closer(&self) -> Closer {
        self.rings.closer()
    }

    fn halves(&self) -> Vec<Arc<str>> {
        let has = |name: &Arc<str>, kind| {
            self.probes.iter().any(|(one, its, _)| (one, *its) == (name, kind))
        };
        let halves = self.probes.iter().map(|(name, ..)| name);
        let halves = halves.filter(|name| has(name, EventKind::Start) != has(name, EventKind::End));
        halves.cloned().collect()
    }

    fn missed(&self) -> u64 {
        self.rings.lost() + self.unknown
    }
}
