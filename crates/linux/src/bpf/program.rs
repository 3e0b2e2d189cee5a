//! The BPF program: loading and running it.

use super::memory::Mapped;
use super::{Chosen, ProcessDetail, ProcessSlot, Refusal, Room, ThreadSlot, Wants, allowed};
use crate::root::ProcRoot;
use libbpf_rs::{
    ErrorKind, MapCore as _, MapFlags, Object, ObjectBuilder, OpenObject, PrintCallback,
    PrintLevel, ProgramInput, set_print,
};
use rustix::io::Errno;
use std::sync::{Mutex, MutexGuard, PoisonError};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/processes.bpf.o"));

/// How often loading is tried; the library tries as often again in each.
const TRIES: u32 = 8;

/// Silences libbpf, which otherwise writes to the standard error output, the kernel verifier's log
/// included. Dropping it restores the output.
struct Quiet {
    before: Option<(PrintLevel, PrintCallback)>,
    /// One at a time: a second one would restore the silence of the first.
    _alone: MutexGuard<'static, ()>,
}

impl Quiet {
    fn begin() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self { before: set_print(None), _alone: alone }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        set_print(self.before.take());
    }
}

/// The loaded program and the memory that it writes to.
pub(crate) struct Program {
    object: Object,
    processes: Mapped<ProcessSlot>,
    details: Mapped<ProcessDetail>,
    threads: Mapped<ThreadSlot>,
    room: Room,
    /// The counts of the last run.
    filled: Room,
    moved: bool,
    /// The processes that the kernel's side was told to choose.
    chosen: Chosen,
}

/// The programs of the object: one walks all tasks, the other looks some up by their numbers.
const READ_ALL: &str = "read_all";
const READ_SOME: &str = "read_some";

pub(crate) use allowed::capabilities as may_go_on;

impl Program {
    /// Loads the program, if it may be used for the machine below `root`. `may_choose` is for runs
    /// that are not for all processes: it takes longer.
    pub(crate) fn load(root: &ProcRoot, room: Room, may_choose: bool) -> Result<Self, Refusal> {
        allowed::check(root)?;
        let _quiet = Quiet::begin();
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::open(room, may_choose).and_then(OpenObject::load) {
                Ok(object) => return Self::map(object, room),
                // A signal interrupts the kernel's check of a program.
                Err(error) if error.kind() == ErrorKind::WouldBlock && tries < TRIES => {}
                Err(error) => return Err(allowed::failed(&format!("{error:#}"))),
            }
        }
    }

    fn open(room: Room, may_choose: bool) -> Result<OpenObject, libbpf_rs::Error> {
        let mut object = ObjectBuilder::default().open_memory(OBJECT)?;
        for mut program in object.progs_mut().filter(|program| program.name() == READ_SOME) {
            program.set_autoload(may_choose);
        }
        for mut map in object.maps_mut() {
            match map.name().to_str() {
                Some("processes" | "details" | "places") => map.set_max_entries(room.processes)?,
                Some("threads") => map.set_max_entries(room.threads)?,
                _ => {}
            }
        }
        Ok(object)
    }

    fn map(object: Object, room: Room) -> Result<Self, Refusal> {
        let map = |name: &str| object.maps().find(|map| map.name() == name);
        let (Some(processes), Some(details), Some(threads)) =
            (map("processes"), map("details"), map("threads"))
        else {
            return Err(Refusal::surprise("the BPF program lacks its arrays"));
        };
        let failed = |error: Errno| Refusal::surprise(format!("memory of BPF: {error}"));
        let processes = Mapped::new(&processes, room.processes).map_err(failed)?;
        let details = Mapped::new(&details, room.processes).map_err(failed)?;
        let threads = Mapped::new(&threads, room.threads).map_err(failed)?;
        let filled = Room { processes: 0, threads: 0 };
        let chosen = Chosen::default();
        Ok(Self { object, processes, details, threads, room, filled, moved: true, chosen })
    }

    /// Reads all processes, or those that are chosen and few others. Returns the number of
    /// processes and threads, which may exceed the room. `processors` is the highest number of an
    /// active processor, plus 1.
    pub(crate) fn run(
        &mut self,
        wants: Wants,
        processors: u32,
        chosen: Option<&Chosen>,
    ) -> Result<Room, Refusal> {
        // Those of the struct `arguments`.
        let mut arguments = [wants.bits(), 0, 0, processors, 0, 0, 0];
        match chosen {
            None => self.call(READ_ALL, &mut arguments)?,
            Some(chosen) => {
                self.choose(chosen)?;
                let [.., some, goes_on] = &mut arguments;
                (*some, *goes_on) = (1, 0);
                if chosen.has_numbers() || !chosen.has_names() {
                    self.call(READ_SOME, &mut arguments)?;
                }
                if chosen.has_names() {
                    let [.., goes_on] = &mut arguments;
                    *goes_on = u32::from(chosen.has_numbers());
                    self.call(READ_ALL, &mut arguments)?;
                }
            }
        }
        let [_, processes, threads, _, moved, ..] = arguments;
        let there = Room { processes, threads };
        self.moved = moved != 0 || there.processes != self.filled.processes;
        self.filled = there;
        Ok(there)
    }

    /// Tells the kernel's side which processes are chosen.
    fn choose(&mut self, chosen: &Chosen) -> Result<(), Refusal> {
        if self.chosen == *chosen {
            return Ok(());
        }
        let Some(map) = self.object.maps().find(|map| map.name() == "chosen") else {
            return Err(Refusal::surprise("the BPF object has no place for chosen processes"));
        };
        map.update(&0u32.to_ne_bytes(), chosen.bytes(), MapFlags::ANY)
            .map_err(|error| Refusal::surprise(format!("processes cannot be chosen: {error:#}")))?;
        self.chosen.clone_from(chosen);
        Ok(())
    }

    /// Runs one of the programs.
    fn call(&mut self, name: &str, arguments: &mut [u32; 7]) -> Result<(), Refusal> {
        let Some(program) = self.object.progs_mut().find(|program| program.name() == name) else {
            return Err(Refusal::surprise("the BPF object has no program"));
        };
        let mut bytes = [0; 28];
        for (place, value) in bytes.chunks_exact_mut(4).zip(&*arguments) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        let input = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
        program
            .test_run(input)
            .map_err(|error| Refusal::surprise(format!("the BPF program cannot run: {error:#}")))?;
        for (value, place) in arguments.iter_mut().zip(bytes.chunks_exact(4)) {
            *value = place.try_into().map_or(0, u32::from_ne_bytes);
        }
        Ok(())
    }

    /// The number of slots.
    pub(crate) fn room(&self) -> Room {
        self.room
    }

    /// The processes of the last run.
    pub(crate) fn processes(&self) -> &[ProcessSlot] {
        self.processes.entries(self.filled.processes as usize)
    }

    /// Whether a slot of the last run holds another process than in the run before.
    pub(crate) fn moved(&self) -> bool {
        self.moved
    }

    /// The same processes: the part that they change by running.
    pub(crate) fn details(&self) -> &[ProcessDetail] {
        self.details.entries(self.filled.processes as usize)
    }

    /// The threads of the last run.
    pub(crate) fn threads(&self) -> &[ThreadSlot] {
        self.threads.entries(self.filled.threads as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::NamePattern;
    use std::process::{Command, Stdio};

    /// The sum over processors is counted once, however many are said to exist.
    #[test]
    fn processors_that_are_not_there_have_no_pages() {
        let room = Room::of(4000, 0).unwrap();
        let mut program = match Program::load(&ProcRoot::default(), room, false) {
            Ok(program) => program,
            Err(refusal) => {
                eprintln!("BPF cannot be used here, and is not tested: {refusal}");
                return;
            }
        };
        let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
        let last = possible.trim().rsplit(['-', ',']).next().unwrap();
        let count = last.parse::<u32>().unwrap() + 1;
        let mut child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        let mut pages = |processors: u32| {
            program.run(Wants::default(), processors, None).unwrap();
            let slot = program.processes().iter().find(|slot| slot.pid == pid)?;
            Some([slot.anonymous, slot.file, slot.shared, slot.swapped])
        };
        // The program may be busy with its start.
        let mut rested = |processors: u32| {
            let mut looks = (0..1000).map(|_| [count, processors, count].map(&mut pages));
            looks.find(|[before, _, after]| {
                before == after && before.is_some_and(|[_, file, ..]| file > 0)
            })
        };
        let looks = [count + 1, 2 * count, 8192].map(|processors| (processors, rested(processors)));
        child.kill().unwrap();
        child.wait().unwrap();
        for (processors, look) in looks {
            let [before, now, _] = look.expect("a process that rests");
            assert_eq!(now, before, "{processors}");
        }
    }

    /// Slots are filled of the processes that are chosen, and of no others.
    #[test]
    fn chosen_processes_alone_are_read() {
        let room = Room::of(4000, 0).unwrap();
        let mut program = match Program::load(&ProcRoot::default(), room, true) {
            Ok(program) => program,
            Err(refusal) => {
                eprintln!("BPF cannot be used here, and is not tested: {refusal}");
                return;
            }
        };
        let mut child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let named = |name: &str| std::sync::Arc::new(NamePattern::with_wildcards(name));
        let (own, pid) = (std::process::id(), child.id());
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert_ne!(thread, own, "tests have threads of their own");
        let wants = Wants { threads: true, ..Wants::default() };
        let mut read = |numbers: &[u32], names: &[&str]| {
            let mut chosen = Chosen::default();
            let names: Vec<_> = names.iter().map(|name| named(name)).collect();
            assert!(chosen.set(numbers, &names));
            let there = program.run(wants, 1, Some(&chosen)).unwrap();
            let slots = program.processes();
            assert_eq!(there.processes as usize, slots.len());
            let threads: u32 = slots.iter().map(|slot| slot.thread_slots).sum();
            assert_eq!(threads, there.threads);
            slots.iter().map(|slot| slot.pid).collect::<Vec<_>>()
        };
        let numbers = [
            (read(&[own], &[]), vec![own]),
            (read(&[pid, own], &[]), vec![pid, own]),
            (read(&[thread, pid], &[]), vec![pid]),
            (read(&[u32::MAX], &[]), vec![]),
            (read(&[], &["no such process"]), vec![]),
            (read(&[own], &["no such process"]), vec![own]),
        ];
        // The kernel names a program after its parent goes on.
        let comm = format!("/proc/{pid}/comm");
        while std::fs::read_to_string(&comm).is_ok_and(|name| name != "sleep\n") {
            std::thread::yield_now();
        }
        // Other tests may begin and end such programs meanwhile.
        let names = read(&[own], &["SLEE*"]);
        let kernel = read(&[], &["kthreadd"]);
        child.kill().unwrap();
        child.wait().unwrap();
        for (read, wanted) in numbers {
            assert_eq!(read, wanted);
        }
        assert!(names.contains(&pid) && names.contains(&own), "{names:?}");
        assert_eq!(kernel, [2]);
    }
}
