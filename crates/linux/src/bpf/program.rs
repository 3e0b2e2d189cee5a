//! The BPF program: loading and running it.

use super::memory::Mapped;
use super::{ProcessDetail, ProcessSlot, Refusal, Room, ThreadSlot, Wants, allowed};
use crate::root::ProcRoot;
use libbpf_rs::{
    ErrorKind, MapCore as _, Object, ObjectBuilder, OpenObject, PrintCallback, PrintLevel,
    ProgramInput, set_print,
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
}

pub(crate) use allowed::capabilities as may_go_on;

impl Program {
    /// Loads the program, if it may be used for the machine below `root`.
    pub(crate) fn load(root: &ProcRoot, room: Room) -> Result<Self, Refusal> {
        allowed::check(root)?;
        let _quiet = Quiet::begin();
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::open(room).and_then(OpenObject::load) {
                Ok(object) => return Self::map(object, room),
                // A signal interrupts the kernel's check of a program.
                Err(error) if error.kind() == ErrorKind::WouldBlock && tries < TRIES => {}
                Err(error) => return Err(allowed::failed(&format!("{error:#}"))),
            }
        }
    }

    fn open(room: Room) -> Result<OpenObject, libbpf_rs::Error> {
        let mut object = ObjectBuilder::default().open_memory(OBJECT)?;
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
        Ok(Self { object, processes, details, threads, room, filled, moved: true })
    }

    /// Reads everything. Returns the number of processes and threads, which may exceed the room.
    /// `processors` is the highest number of an active processor, plus 1.
    pub(crate) fn run(&mut self, wants: Wants, processors: u32) -> Result<Room, Refusal> {
        let Some(program) = self.object.progs_mut().next() else {
            return Err(Refusal::surprise("the BPF object has no program"));
        };
        let mut arguments = [0; 20];
        let values = [wants.bits(), 0, 0, processors, 0];
        for (place, value) in arguments.chunks_exact_mut(4).zip(values) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        let input = ProgramInput { context_in: Some(&mut arguments), ..ProgramInput::default() };
        program
            .test_run(input)
            .map_err(|error| Refusal::surprise(format!("the BPF program cannot run: {error:#}")))?;
        let mut words = arguments
            .chunks_exact(4)
            .map(|word| word.try_into().map_or(0, u32::from_ne_bytes))
            .skip(1);
        let mut next = || words.next().unwrap_or(0);
        let there = Room { processes: next(), threads: next() };
        let (_, moved) = (next(), next());
        self.moved = moved != 0 || there.processes != self.filled.processes;
        self.filled = there;
        Ok(there)
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
    use std::process::{Command, Stdio};

    /// The sum over processors is counted once, however many are said to exist.
    #[test]
    fn processors_that_are_not_there_have_no_pages() {
        let room = Room::of(4000, 0).unwrap();
        let mut program = match Program::load(&ProcRoot::default(), room) {
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
            program.run(Wants::default(), processors).unwrap();
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
}
