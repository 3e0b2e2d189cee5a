//! The system call `bpf`: making maps, loading programs, running them.
#![allow(unsafe_code)]

use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use rustix::io::Errno;

/// The description of a map, as the program's object file has it. The loader adds the number of
/// entries.
pub(super) struct Map {
    pub(super) name: &'static str,
    pub(super) kind: u32,
    pub(super) value_size: u32,
    pub(super) flags: u32,
}

/// A program with all its numbers in place, ready to be loaded.
pub(super) struct Loadable<'a> {
    pub(super) name: &'a str,
    pub(super) instructions: &'a [u8],
    /// The file descriptor of the loaded types (BTF), to which `functions` and `members` refer.
    pub(super) types: BorrowedFd<'a>,
    /// The records (`bpf_func_info`) that say where functions begin.
    pub(super) functions: &'a [u8],
    /// The records (`bpf_core_relo`) that say where members of the kernel's structures are used.
    pub(super) members: &'a [u8],
}

/// The licence that is stated to the kernel, as text with a zero behind it. Some of the kernel's
/// functions are only for programs that are also under the GPL.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";

/// The size in bytes of a BPF instruction.
const INSTRUCTION: usize = 8;
/// The size in bytes of a record in [`Loadable::functions`].
const FUNCTION: usize = 8;
/// The size in bytes of a record in [`Loadable::members`].
const MEMBER: usize = 16;
/// The size in bytes of the key of an array map: the index of an entry.
const KEY: u32 = 4;

/// The number of the command of the system call `bpf` that makes a map.
const MAP_CREATE: u32 = 0;
const MAP_UPDATE_ELEM: u32 = 2;
const PROG_LOAD: u32 = 5;
const PROG_RUN: u32 = 10;
const BTF_LOAD: u32 = 18;

const PROG_TYPE_SYSCALL: u32 = 31;
/// The flag of a program that may sleep, which a program that is run by a system call
/// ([`PROG_TYPE_SYSCALL`]) must have.
const MAY_SLEEP: u32 = 1 << 4;

/// The most times that loading is tried. A signal may interrupt the kernel's check of the program
/// ([`Errno::AGAIN`]); loading is then tried again.
const TRIES: u32 = 40;

type Name = [u8; 16];

/// The first 15 bytes of a text as a name in the form that the kernel takes, with zeros behind
/// them.
fn name(text: &str) -> Name {
    let mut name = Name::default();
    name.iter_mut().take(15).zip(text.bytes()).for_each(|(place, byte)| *place = byte);
    name
}

/// Makes the system call `bpf` with this command, and returns its result. `attributes` are the
/// first fields of `union bpf_attr`; the kernel takes the fields behind them for 0.
///
/// # Safety
/// The fields are laid out as in C, without padding, and belong to the command. If a field is an
/// address, there is as much memory at it as the other fields say, and the kernel may write to that
/// memory if the command does.
unsafe fn call<T>(command: u32, attributes: &mut T) -> Result<i32, Errno> {
    let place = std::ptr::from_mut(attributes);
    // SAFETY: `attributes` has as many bytes as are stated; the caller vouches for their meaning.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, place, size_of::<T>()) };
    i32::try_from(result).ok().filter(|result| *result >= 0).ok_or_else(|| {
        let error = std::io::Error::last_os_error();
        error.raw_os_error().map_or(Errno::INVAL, Errno::from_raw_os_error)
    })
}

/// Makes the system call `bpf`, as [`call`] does, with a command that returns a new descriptor;
/// returns the descriptor.
///
/// # Safety
/// As of [`call`], and the command returns a descriptor that nothing else owns.
unsafe fn call_for_descriptor<T>(command: u32, attributes: &mut T) -> Result<OwnedFd, Errno> {
    // SAFETY: the caller vouches for the fields, and for the descriptor that nothing else owns.
    unsafe { call(command, attributes).map(|number| OwnedFd::from_raw_fd(number)) }
}

fn address(bytes: &[u8]) -> u64 {
    bytes.as_ptr().expose_provenance() as u64
}

fn count(bytes: &[u8], each: usize) -> Result<u32, Errno> {
    u32::try_from(bytes.len() / each).map_err(|_| Errno::TOOBIG)
}

/// A map of BPF that is an array.
pub(super) struct Array {
    descriptor: OwnedFd,
    value_size: u32,
}

impl Array {
    /// Makes a map of `entries` entries, as `map` describes it.
    pub(super) fn new(map: &Map, entries: u32) -> Result<Self, Errno> {
        #[repr(C)]
        struct Attributes {
            kind: u32,
            key_size: u32,
            value_size: u32,
            entries: u32,
            flags: u32,
            inner_map: u32,
            node: u32,
            name: Name,
        }
        let Map { kind, value_size, flags, .. } = *map;
        let (inner_map, node, name) = (0, 0, name(map.name));
        let mut attributes =
            Attributes { kind, key_size: KEY, value_size, entries, flags, inner_map, node, name };
        // SAFETY: the fields of this command, none an address. It returns a new descriptor.
        let descriptor = unsafe { call_for_descriptor(MAP_CREATE, &mut attributes)? };
        Ok(Self { descriptor, value_size })
    }

    /// The descriptor's number, by which programs refer to the map.
    pub(super) fn number(&self) -> u32 {
        self.descriptor.as_raw_fd().cast_unsigned()
    }

    /// The size of an entry in bytes.
    pub(super) fn value_size(&self) -> u32 {
        self.value_size
    }

    /// Writes the value of the first entry. It is an error if `value` does not have the size of an
    /// entry.
    pub(super) fn set_first(&self, value: &[u8]) -> Result<(), Errno> {
        #[repr(C)]
        struct Attributes {
            map: u32,
            unused: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        if value.len() != self.value_size as usize {
            return Err(Errno::INVAL);
        }
        let key = [0; KEY as usize];
        let (map, value) = (self.number(), address(value));
        let mut attributes = Attributes { map, unused: 0, key: address(&key), value, flags: 0 };
        // SAFETY: the fields of this command. The kernel reads a key and a value of the sizes that
        // the map was made with; both have that size, and live until the call returns.
        unsafe { call(MAP_UPDATE_ELEM, &mut attributes).map(drop) }
    }
}

impl AsFd for Array {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Loads the types of a program (BTF) into the kernel; returns their descriptor.
pub(super) fn load_types(types: &[u8]) -> Result<OwnedFd, Errno> {
    #[repr(C)]
    struct Attributes {
        types: u64,
        log: u64,
        size: u32,
        log_size: u32,
    }
    let size = count(types, 1)?;
    let mut attributes = Attributes { types: address(types), log: 0, size, log_size: 0 };
    // SAFETY: the fields of this command. The kernel reads `size` bytes of the types, and writes no
    // log to a place that has no bytes. It returns a new descriptor.
    unsafe { call_for_descriptor(BTF_LOAD, &mut attributes) }
}

/// Loads a program into the kernel, in up to [`TRIES`] tries; returns its descriptor.
pub(super) fn load_program(program: &Loadable<'_>) -> Result<OwnedFd, Errno> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        instruction_count: u32,
        instructions: u64,
        licence: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: Name,
        device: u32,
        attach_type: u32,
        types: i32,
        function_size: u32,
        functions: u64,
        function_count: u32,
        line_size: u32,
        lines: u64,
        line_count: u32,
        attach_to: u32,
        attach_to_program: u32,
        member_count: u32,
        descriptors: u64,
        members: u64,
        member_size: u32,
        unused: u32,
    }
    let mut attributes = Attributes {
        kind: PROG_TYPE_SYSCALL,
        instruction_count: count(program.instructions, INSTRUCTION)?,
        instructions: address(program.instructions),
        licence: address(LICENCE),
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: MAY_SLEEP,
        name: name(program.name),
        device: 0,
        attach_type: 0,
        types: program.types.as_raw_fd(),
        function_size: FUNCTION as u32,
        functions: address(program.functions),
        function_count: count(program.functions, FUNCTION)?,
        line_size: 0,
        lines: 0,
        line_count: 0,
        attach_to: 0,
        attach_to_program: 0,
        member_count: count(program.members, MEMBER)?,
        descriptors: 0,
        members: address(program.members),
        member_size: MEMBER as u32,
        unused: 0,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        // SAFETY: the fields of this command. The kernel reads as many instructions and records as
        // are counted, and the licence up to its zero; all live until the call returns. It returns
        // a new descriptor.
        match unsafe { call_for_descriptor(PROG_LOAD, &mut attributes) } {
            Err(Errno::AGAIN) if tries < TRIES => {}
            loaded => return loaded,
        }
    }
}

/// Runs a loaded program; the program may write results into `arguments`.
pub(super) fn run(program: BorrowedFd<'_>, arguments: &mut [u32]) -> Result<(), Errno> {
    #[repr(C)]
    struct Attributes {
        program: i32,
        result: u32,
        input_size: u32,
        output_size: u32,
        input: u64,
        output: u64,
        repeat: u32,
        duration: u32,
        arguments_size: u32,
        arguments_out_size: u32,
        arguments: u64,
        arguments_out: u64,
        flags: u32,
        processor: u32,
        batch: u32,
        unused: u32,
    }
    let arguments_size = u32::try_from(size_of_val(arguments)).map_err(|_| Errno::TOOBIG)?;
    let mut attributes = Attributes {
        program: program.as_raw_fd(),
        result: 0,
        input_size: 0,
        output_size: 0,
        input: 0,
        output: 0,
        repeat: 0,
        duration: 0,
        arguments_size,
        arguments_out_size: 0,
        arguments: arguments.as_mut_ptr().expose_provenance() as u64,
        arguments_out: 0,
        flags: 0,
        processor: 0,
        batch: 0,
        unused: 0,
    };
    // SAFETY: the fields of this command. The kernel reads the arguments and writes them back, as
    // many bytes as are stated; they are borrowed exclusively until the call returns, and any bytes
    // are a number.
    unsafe { call(PROG_RUN, &mut attributes).map(drop) }
}
