//! Links the BPF programs: each becomes one piece of code, with lists of the places that the loader
//! fills in. The kernel itself fills in where the members of its structures lie.

use crate::btf::{FUNCTION, Read, Types};
use object::elf::{R_BPF_64_32, R_BPF_64_64};
use object::{
    File, Object as _, ObjectSection as _, ObjectSymbol as _, Relocation, RelocationFlags,
    RelocationTarget, SectionIndex,
};
use std::error::Error;
use std::fmt::Write as _;

type Write = fn(u32) -> [u8; 4];
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// The sections of the programs, each with the constant that it becomes.
const PROGRAMS: [(&str, &str); 2] = [("all", "READ_ALL"), ("some", "READ_SOME")];
/// The section of the functions that both programs call.
const SHARED: &str = ".text";
/// The section of the maps: for each map its type, the size of a value, and its flags.
const MAPS: &str = ".maps";
const MAP_SIZE: u64 = 12;
/// The section of the variables. It becomes one more map, of a single value.
const VARIABLES: &str = ".bss";
const MAP_TYPE_ARRAY: u32 = 2;

/// The source register of an instruction that loads a map: its number is the number of the map.
const MAP_NUMBER: u8 = 1;
/// The source register of an instruction that loads the address of a value in a map.
const MAP_VALUE: u8 = 2;
/// The source register of a call of a function of the program itself.
const CALL_LOCAL: u8 = 1;
/// The source register of a call of a function of the kernel.
const CALL_KERNEL: u8 = 2;

/// The size in bytes of an instruction.
const INSTRUCTION: usize = 8;
/// The offset in bytes of the number in an instruction.
const NUMBER: usize = 4;

/// The number of the BTF kind of a type of which only the name is declared.
const FORWARD: u32 = 7;
/// The number of the BTF kind that lists the variables of a section.
const SECTION: u32 = 15;
/// The linkage, in BTF data, of a function that is defined elsewhere.
const EXTERN: u32 = 2;

/// Rust code with the types, maps and programs of an object file.
pub(crate) fn link(bytes: &[u8]) -> Result<String> {
    let object = Linker::new(bytes)?;
    let mut code = String::new();
    writeln!(code, "static TYPES: &[u8] = {};", literal(&object.types()?))?;
    writeln!(code, "static MAPS: &[Map] = &[")?;
    let section = object.section(MAPS)?;
    for (name, address) in object.maps()? {
        let numbers = section.data_range(address, MAP_SIZE)?.ok_or("no map")?;
        let [kind, value_size, flags] = [0, 4, 8].map(|at| object.number(numbers, at));
        let (kind, value_size, flags) = (kind?, value_size?, flags?);
        writeln!(
            code,
            "Map {{ name: {name:?}, kind: {kind}, value_size: {value_size}, flags: {flags} }},"
        )?;
    }
    let size = object.section(VARIABLES)?.size();
    writeln!(
        code,
        "Map {{ name: {VARIABLES:?}, kind: {MAP_TYPE_ARRAY}, value_size: {size}, flags: 0 }},"
    )?;
    writeln!(code, "];")?;
    for (section, constant) in PROGRAMS {
        object.program(section, constant, &mut code)?;
    }
    Ok(code)
}

fn literal(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

/// A record of the section `.BTF.ext`: the name of the section that it describes, the offset in
/// bytes there, and the rest of the record.
struct Record<'a> {
    section: &'a [u8],
    at: u32,
    rest: &'a [u8],
}

struct Linker<'a> {
    file: File<'a>,
    read: Read,
    write: Write,
}

impl<'a> Linker<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self> {
        let file = File::parse(bytes)?;
        let (read, write): (Read, Write) = match file.is_little_endian() {
            true => (u32::from_le_bytes, u32::to_le_bytes),
            false => (u32::from_be_bytes, u32::to_be_bytes),
        };
        Ok(Self { file, read, write })
    }

    fn section(&self, name: &str) -> Result<object::Section<'a, '_>> {
        self.file.section_by_name(name).ok_or_else(|| format!("no section {name}").into())
    }

    fn number(&self, bytes: &[u8], at: usize) -> Result<u32> {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
        Ok((self.read)(*bytes.ok_or("ends early")?))
    }

    fn set_number(&self, bytes: &mut [u8], at: usize, value: u32) -> Result<()> {
        let place = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
        *place.ok_or("ends early")? = (self.write)(value);
        Ok(())
    }

    /// Names and addresses of the maps, in the order of their addresses.
    fn maps(&self) -> Result<Vec<(&str, u64)>> {
        let section = Some(self.section(MAPS)?.index());
        let symbols = self.file.symbols().filter(|symbol| symbol.section_index() == section);
        let named = symbols.filter(|symbol| symbol.kind() != object::SymbolKind::Section);
        let mut maps = Vec::new();
        for symbol in named {
            maps.push((symbol.name()?, symbol.address()));
        }
        maps.sort_unstable_by_key(|(_, address)| *address);
        Ok(maps)
    }

    /// The BTF data of the programs as the kernel takes it: without the list of sections, which is
    /// at its end, and with a declaration of the name alone in place of each function that is
    /// defined elsewhere.
    fn types(&self) -> Result<Vec<u8>> {
        let data = self.section(".BTF")?.data()?;
        let walk = Types::of(data, self.read).ok_or("no types")?;
        let mut types = data.to_vec();
        let mut end = None;
        for (at, kind, count, _) in walk {
            if kind == SECTION {
                end = end.or(Some(at));
            } else if end.is_some() {
                return Err("a type behind the sections".into());
            }
            if kind == FUNCTION && count == EXTERN {
                self.set_number(&mut types, at + 4, FORWARD << 24)?;
                self.set_number(&mut types, at + 8, 0)?;
            }
        }
        let header = self.number(data, 4)?;
        let begin = (header + self.number(data, 8)?) as usize;
        let strings = self.strings()?;
        let mut whole = types.get(..header as usize).ok_or("no header")?.to_vec();
        let kept = types.get(begin..end.ok_or("no sections")?).ok_or("no types")?;
        for (at, value) in [(8, 0), (12, kept.len()), (16, kept.len()), (20, strings.len())] {
            self.set_number(&mut whole, at, u32::try_from(value)?)?;
        }
        whole.extend(kept);
        whole.extend(strings);
        Ok(whole)
    }

    fn strings(&self) -> Result<&'a [u8]> {
        let data = self.section(".BTF")?.data()?;
        let [header, begin, length] = [4, 16, 20].map(|at| self.number(data, at));
        let begin = (header? + begin?) as usize;
        Ok(data.get(begin..begin + length? as usize).ok_or("no strings")?)
    }

    /// The records of one part of `.BTF.ext`; `part` is the offset of the field in the header that
    /// says where the part begins.
    fn records(&self, part: usize) -> Result<Vec<Record<'a>>> {
        let data = self.section(".BTF.ext")?.data()?;
        let (header, begin, length) =
            (self.number(data, 4)?, self.number(data, part)?, self.number(data, part + 4)?);
        let begin = (header + begin) as usize;
        let data = data.get(begin..begin + length as usize).ok_or("ends early")?;
        let size = self.number(data, 0)? as usize;
        let strings = self.strings()?;
        let (mut at, mut records) = (4, Vec::new());
        while at < data.len() {
            let (name, count) = (self.number(data, at)? as usize, self.number(data, at + 4)?);
            let section = strings.get(name..).and_then(|rest| rest.split(|byte| *byte == 0).next());
            at += 8;
            for _ in 0..count {
                let record = data.get(at..at + size).ok_or("ends early")?;
                let (section, place) = (section.ok_or("no name")?, self.number(record, 0)?);
                records.push(Record { section, at: place, rest: &record[4..] });
                at += size;
            }
        }
        Ok(records)
    }

    /// Appends to `out` the Rust constant of the program in `section`, together with the functions
    /// that both programs call.
    fn program(&self, section: &str, constant: &str, out: &mut String) -> Result<()> {
        let own = self.section(section)?;
        let shared = self.section(SHARED)?;
        let mut code = own.data()?.to_vec();
        let parts = [(own, 0), (shared, code.len())];
        code.extend(parts[1].0.data()?);
        let base = |index: SectionIndex| {
            parts.iter().find(|(section, _)| section.index() == index).map(|(_, base)| *base)
        };
        let mut numbers = Vec::new();
        for (section, begin) in &parts {
            for (offset, relocation) in section.relocations() {
                let at = begin + usize::try_from(offset)?;
                self.relocate(&mut code, at, &relocation, &base, &mut numbers)?;
            }
        }
        let name = self.file.symbols().find(|symbol| {
            symbol.is_definition()
                && symbol.kind() == object::SymbolKind::Text
                && symbol.section_index() == Some(parts[0].0.index())
                && symbol.address() == 0
        });
        let name = name.ok_or("no program")?.name()?.to_string();
        let place = |of: &[u8]| -> Option<u32> {
            let (_, base) = parts.iter().find(|(s, _)| s.name_bytes().is_ok_and(|s| s == of))?;
            u32::try_from(*base).ok()
        };
        // `bpf_func_info` counts instructions, `bpf_core_relo` bytes.
        let (mut functions, mut members) = (Vec::new(), Vec::new());
        for Record { section, at, rest } in self.records(8)? {
            if let Some(base) = place(section) {
                functions.push(((base + at) / INSTRUCTION as u32, rest));
            }
        }
        for Record { section, at, rest } in self.records(24)? {
            if let Some(base) = place(section) {
                members.push((base + at, rest));
            }
        }
        let list = |records: &mut Vec<(u32, &[u8])>| {
            records.sort_unstable_by_key(|(at, _)| *at);
            let bytes = records
                .iter()
                .flat_map(|(at, rest)| (self.write)(*at).into_iter().chain(rest.iter().copied()));
            literal(&bytes.collect::<Vec<_>>())
        };
        writeln!(out, "static {constant}: Code = Code {{ name: {name:?},")?;
        writeln!(out, "functions: {},", list(&mut functions))?;
        writeln!(out, "members: {},", list(&mut members))?;
        writeln!(out, "numbers: &{numbers:?},")?;
        writeln!(out, "instructions: {} }};", literal(&code))?;
        Ok(())
    }

    /// Fills in the relocation of the instruction at the offset `at`. A number that only the loader
    /// knows is added to `numbers`, with its offset and the name of the map or function.
    fn relocate(
        &self,
        code: &mut [u8],
        at: usize,
        relocation: &Relocation,
        base: &impl Fn(SectionIndex) -> Option<usize>,
        numbers: &mut Vec<(usize, String)>,
    ) -> Result<()> {
        let (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(symbol)) =
            (relocation.flags(), relocation.target())
        else {
            return Err("an unknown relocation".into());
        };
        let symbol = self.file.symbol_by_index(symbol)?;
        let (name, section) = (symbol.name()?, symbol.section_index());
        let number = self.number(code, at + NUMBER)?;
        let address = u32::try_from(symbol.address())?;
        match (r_type, section) {
            (R_BPF_64_64, Some(section)) if section == self.section(MAPS)?.index() => {
                let address = u64::from(address.wrapping_add(number));
                let maps = self.maps()?;
                let map = maps.iter().find(|(_, known)| *known == address);
                numbers.push((at + NUMBER, map.ok_or("no map")?.0.to_string()));
                self.set_source(code, at, MAP_NUMBER)?;
            }
            (R_BPF_64_64, Some(section)) if section == self.section(VARIABLES)?.index() => {
                numbers.push((at + NUMBER, VARIABLES.to_string()));
                self.set_source(code, at, MAP_VALUE)?;
                // The position in the map's value is the number in the second half of the instruction.
                let place = address.wrapping_add(number);
                self.set_number(code, at + INSTRUCTION + NUMBER, place)?;
            }
            (R_BPF_64_32, Some(section)) => {
                let base = base(section).ok_or_else(|| format!("a call of {name}"))?;
                let base = u32::try_from(base + INSTRUCTION)?;
                let instructions = INSTRUCTION as u32;
                let target = number.wrapping_mul(instructions).wrapping_add(base + address);
                let behind = u32::try_from(at + INSTRUCTION)?;
                let step = target.wrapping_sub(behind).cast_signed() / instructions.cast_signed();
                self.set_source(code, at, CALL_LOCAL)?;
                self.set_number(code, at + NUMBER, step.cast_unsigned())?;
            }
            (R_BPF_64_32, None) => {
                numbers.push((at + NUMBER, name.to_string()));
                self.set_source(code, at, CALL_KERNEL)?;
            }
            _ => return Err(format!("a relocation of {name} of type {r_type}").into()),
        }
        Ok(())
    }

    /// Sets the source register of the instruction at the offset `at`. The same byte also has the
    /// destination register, which stays.
    fn set_source(&self, code: &mut [u8], at: usize, register: u8) -> Result<()> {
        let byte = code.get_mut(at + 1).ok_or("ends early")?;
        *byte = match self.file.is_little_endian() {
            true => *byte & 0x0f | register << 4,
            false => *byte & 0xf0 | register,
        };
        Ok(())
    }
}
