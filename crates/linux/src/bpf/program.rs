//! The BPF program: loading and running it.

use super::btf::{FUNCTION, Types};
use super::kernel::{self, Array, Loadable, Map};
use super::memory::Mapped;
use super::{Chosen, ProcessDetail, ProcessSlot, Refusal, Room, ThreadSlot, Wants, allowed};
use crate::root::ProcRoot;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use std::collections::HashMap;

/// The code of one program. There are two: one walks all tasks, the other looks up some tasks by
/// their numbers.
struct Code {
    name: &'static str,
    instructions: &'static [u8],
    functions: &'static [u8],
    members: &'static [u8],
    /// The positions in the instructions at which the numbers of maps and of the kernel's functions
    /// are put, each with the name of the map or function.
    numbers: &'static [(usize, &'static str)],
}

// `TYPES`, `MAPS`, `READ_ALL` and `READ_SOME`, which `build/link.rs` writes.
include!(concat!(env!("OUT_DIR"), "/processes.rs"));

const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The loaded program and the memory that it writes to.
pub(crate) struct Program {
    read_all: OwnedFd,
    /// The loaded program that looks up some tasks; `None` if only the program for all processes
    /// was loaded.
    read_some: Option<OwnedFd>,
    /// The map from which the program reads which processes are chosen.
    choice: Array,
    processes: Mapped<ProcessSlot>,
    details: Mapped<ProcessDetail>,
    threads: Mapped<ThreadSlot>,
    room: Room,
    /// The numbers of processes and threads that the last run found, which may exceed the room.
    filled: Room,
    moved: bool,
    /// The chosen processes, as they were last written to the map.
    chosen: Chosen,
}

pub(crate) use allowed::capabilities as may_go_on;

impl Program {
    /// Loads the program with room for this number of slots; an error if it may not be used for the
    /// machine below `root`. `may_choose` loads the program for chosen processes, too, which takes longer.
    pub(crate) fn load(root: &ProcRoot, room: Room, may_choose: bool) -> Result<Self, Refusal> {
        allowed::check(root)?;
        let failed = |error: Errno| allowed::failed(&error.to_string());
        let mut maps = HashMap::new();
        for map in MAPS {
            let entries = match map.name {
                "processes" | "details" | "places" => room.processes,
                "threads" => room.threads,
                _ => 1,
            };
            maps.insert(map.name, Array::new(map, entries).map_err(failed)?);
        }
        let kernel_types = std::fs::read(KERNEL_TYPES)
            .map_err(|error| allowed::failed(&format!("{KERNEL_TYPES}: {error}")))?;
        let mut numbers = function_numbers(&kernel_types);
        numbers.extend(maps.iter().map(|(name, map)| (*name, map.number())));
        let types = kernel::load_types(TYPES).map_err(failed)?;
        let load = |code: &Code| {
            let &Code { name, functions, members, .. } = code;
            let (instructions, types) = (&*code.complete(&numbers)?, types.as_fd());
            let program = Loadable { name, instructions, types, functions, members };
            kernel::load_program(&program).map_err(failed)
        };
        let read_all = load(&READ_ALL)?;
        let read_some = may_choose.then(|| load(&READ_SOME)).transpose()?;
        let mut map = |name| maps.remove(name).ok_or_else(|| allowed::failed(name));
        let failed = |error: Errno| Refusal::surprise(format!("memory of BPF: {error}"));
        Ok(Self {
            read_all,
            read_some,
            choice: map("chosen")?,
            processes: Mapped::new(map("processes")?, room.processes).map_err(failed)?,
            details: Mapped::new(map("details")?, room.processes).map_err(failed)?,
            threads: Mapped::new(map("threads")?, room.threads).map_err(failed)?,
            room,
            filled: Room { processes: 0, threads: 0 },
            moved: true,
            chosen: Chosen::default(),
        })
    }

    /// Runs the program, which fills the slots: with all processes, or with `chosen` the chosen
    /// processes and perhaps some others. Returns the numbers of processes and threads found, which
    /// may exceed the room. Counts of processors with the number `processors` or a higher one are
    /// not read.
    pub(crate) fn run(
        &mut self,
        wants: Wants,
        processors: u32,
        chosen: Option<&Chosen>,
    ) -> Result<Room, Refusal> {
        // The members of the struct `arguments` in `processes.bpf.c`, in its order.
        let mut arguments = [wants.bits(), 0, 0, processors, 0, 0, 0];
        match chosen {
            None => call(&self.read_all, &mut arguments)?,
            Some(chosen) => {
                self.choose(chosen)?;
                let [.., some, goes_on] = &mut arguments;
                (*some, *goes_on) = (1, 0);
                if chosen.has_numbers() || !chosen.has_names() {
                    let read_some = self.read_some.as_ref();
                    let lacking = || Refusal::surprise("BPF was loaded for all processes");
                    call(read_some.ok_or_else(lacking)?, &mut arguments)?;
                }
                if chosen.has_names() {
                    let [.., goes_on] = &mut arguments;
                    *goes_on = u32::from(chosen.has_numbers());
                    call(&self.read_all, &mut arguments)?;
                }
            }
        }
        let [_, processes, threads, _, moved, ..] = arguments;
        let there = Room { processes, threads };
        self.moved = moved != 0 || there.processes != self.filled.processes;
        self.filled = there;
        Ok(there)
    }

    /// Writes the chosen processes to the map from which the program reads them, unless they are
    /// there already.
    fn choose(&mut self, chosen: &Chosen) -> Result<(), Refusal> {
        if self.chosen == *chosen {
            return Ok(());
        }
        self.choice
            .set_first(chosen.bytes())
            .map_err(|error| Refusal::surprise(format!("processes cannot be chosen: {error}")))?;
        self.chosen.clone_from(chosen);
        Ok(())
    }

    /// The numbers of slots for processes and for threads.
    pub(crate) fn room(&self) -> Room {
        self.room
    }

    /// The slots of the processes of the last run.
    pub(crate) fn processes(&self) -> &[ProcessSlot] {
        self.processes.entries(self.filled.processes as usize)
    }

    /// Whether a slot of the last run holds another process than in the run before; also `true` if
    /// the number of processes changed.
    pub(crate) fn moved(&self) -> bool {
        self.moved
    }

    /// The details of the processes of the last run, in the order of
    /// [`processes`](Self::processes): the values that change while a process runs.
    pub(crate) fn details(&self) -> &[ProcessDetail] {
        self.details.entries(self.filled.processes as usize)
    }

    /// The slots of the threads of the last run.
    pub(crate) fn threads(&self) -> &[ThreadSlot] {
        self.threads.entries(self.filled.threads as usize)
    }
}

/// Runs one of the two loaded programs with these arguments, into which it writes its results.
fn call(program: &OwnedFd, arguments: &mut [u32; 7]) -> Result<(), Refusal> {
    kernel::run(program.as_fd(), arguments)
        .map_err(|error| Refusal::surprise(format!("the BPF program cannot run: {error}")))
}

impl Code {
    /// The instructions with the numbers of maps and of the kernel's functions put in their places;
    /// the error names the first map or function that has no number in `numbers`.
    fn complete(&self, numbers: &HashMap<&str, u32>) -> Result<Vec<u8>, Refusal> {
        let mut code = self.instructions.to_vec();
        for (at, name) in self.numbers {
            let number = numbers.get(name);
            let number = number.ok_or_else(|| allowed::failed(&format!("it has no {name}")))?;
            let place = code.get_mut(*at..).and_then(|rest| rest.first_chunk_mut());
            *place.ok_or_else(|| allowed::failed(name))? = number.to_ne_bytes();
        }
        Ok(code)
    }
}

/// The numbers of the kernel's functions that the programs call, from the description of the
/// kernel's types. The number of a type is its position in the description, from 1.
fn function_numbers(kernel_types: &[u8]) -> HashMap<&'static str, u32> {
    let called = [&READ_ALL, &READ_SOME].into_iter().flat_map(|code| code.numbers);
    let called: HashMap<&[u8], &str> = called.map(|(_, name)| (name.as_bytes(), *name)).collect();
    let types = Types::of(kernel_types, u32::from_ne_bytes).into_iter().flatten();
    let functions = (1..).zip(types).filter(|(_, (_, kind, ..))| *kind == FUNCTION);
    functions.filter_map(|(number, (.., name))| Some((*called.get(name)?, number))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::btf::Type;
    use super::*;
    use perfhive_engine::NamePattern;
    use std::process::{Command, Stdio};

    /// A description of types is walked to its end, wherever that is and whatever is in it.
    #[test]
    fn damaged_types_end() {
        let types = |data: &'static [u8]| Types::of(data, u32::from_ne_bytes);
        let own = [READ_ALL.name, READ_SOME.name].map(str::as_bytes);
        let is_own = |(_, kind, _, name): &Type<'_>| *kind == FUNCTION && own.contains(name);
        assert_eq!(types(TYPES).map(|types| types.filter(is_own).count()), Some(2));
        let whole = types(TYPES).map_or(0, Iterator::count);
        for length in 0..TYPES.len() {
            assert!(types(&TYPES[..length]).map_or(0, Iterator::count) <= whole, "{length}");
        }
        let mut damaged = TYPES.to_vec();
        for at in 0..TYPES.len() {
            damaged[at] ^= 0xff;
            // No type is shorter than 12 bytes.
            let count = Types::of(&damaged, u32::from_ne_bytes).map_or(0, Iterator::count);
            assert!(count <= TYPES.len() / 12, "{at}");
            damaged[at] ^= 0xff;
        }
    }

    /// The pages of a process, of which each processor counts a part, have the same sum if the
    /// program is told of more processors than exist.
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
            // Names with letters beyond ASCII are told apart later, so that their processes have slots, too.
            let is_ascii = |pid: &u32| {
                let name = std::fs::read(format!("/proc/{pid}/comm"));
                name.is_ok_and(|name| name.is_ascii())
            };
            slots.iter().map(|slot| slot.pid).filter(is_ascii).collect::<Vec<_>>()
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
