//! Places of functions and USDT probes in ELF files.
//!
//! A USDT probe is a note in the section `.note.stapsdt`, with the name `stapsdt` and the kind 3.
//! It has three addresses in the file's width: that of the probe, that of the section
//! `.stapsdt.base` when the file was linked, and that of the semaphore, or 0. Behind them are the
//! names of provider and probe and a text about arguments, each with a zero byte at its end.

use object::read::{File, Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};
use object::{BinaryFormat, SymbolFlags};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// The most bytes of a file that is read; a larger file is an error.
const LARGEST: u64 = 4 << 30;
/// The most probes that an error names.
const MOST_NAMED: usize = 8;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The offset of the probed instruction in the file, in bytes.
    pub(super) offset: u64,
    /// The offset of the semaphore in the file, in bytes; 0 without one.
    pub(super) semaphore: u32,
}

/// The places of the functions with this name in the symbols of a file, at least one, and whether code of the file
/// unwinds the stack. An error where there are no places, or where the name is that of an indirect function, one that
/// chooses another function when the program starts.
pub(super) fn functions(path: &Path, symbol: &str) -> io::Result<(Vec<Place>, bool)> {
    let bytes = read(path)?;
    functions_in(&bytes, symbol).map_err(|why| why.of(path))
}

/// The places of the USDT probes with this name in a file, at least one; an error where there are
/// none.
pub(super) fn usdt_probes(path: &Path, provider: &str, name: &str) -> io::Result<Vec<Place>> {
    let bytes = read(path)?;
    usdt_probes_in(&bytes, provider, name).map_err(|why| why.of(path))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let of_path =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let about = std::fs::metadata(path).map_err(of_path)?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(Why::NoProgram("no file of up to 4 GiB".to_string()).of(path));
    }
    std::fs::read(path).map_err(of_path)
}

/// The reason why there is no place.
#[derive(Debug, PartialEq, Eq)]
enum Why {
    NoProgram(String),
    Missing(String),
}

impl Why {
    fn of(self, path: &Path) -> io::Error {
        let (kind, why) = match self {
            Self::NoProgram(why) => (io::ErrorKind::InvalidData, why),
            Self::Missing(why) => (io::ErrorKind::NotFound, why),
        };
        io::Error::new(kind, format!("{}: {why}", path.display()))
    }
}

fn parse(bytes: &[u8]) -> Result<File<'_>, Why> {
    if bytes.starts_with(b"#!") {
        let what = "a script; probes are in the file of its interpreter, by its path";
        return Err(Why::NoProgram(what.to_string()));
    }
    match File::parse(bytes) {
        Ok(file) if file.format() == BinaryFormat::Elf => Ok(file),
        Ok(_) => Err(Why::NoProgram("no ELF file".to_string())),
        Err(error) => Err(Why::NoProgram(format!("no ELF file: {error}"))),
    }
}

/// The offset in the file of an address in memory; `None` where no segment has it.
fn offset(file: &File<'_>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (start, length) = segment.file_range();
        let within = address.checked_sub(segment.address())?;
        (within < length).then(|| start.checked_add(within)).flatten()
    })
}

fn functions_in(bytes: &[u8], name: &str) -> Result<(Vec<Place>, bool), Why> {
    /// What C++ and Rust unwind with, whether the file has it or takes it from a library.
    const UNWINDING: [&[u8]; 2] = [b"_Unwind_Resume", b"_Unwind_RaiseException"];
    /// Programs of Go have this section; they read the stack to move it.
    const GO: &str = ".note.go.buildid";
    const FUNCTION: u8 = 2;
    /// `STT_GNU_IFUNC`: the symbol names a function that chooses another one.
    const CHOSEN: u8 = 10;
    let file = parse(bytes)?;
    let mut places = Vec::new();
    let mut is_chosen = false;
    let mut unwinds = file.section_by_name(GO).is_some();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        // A version may stand behind the name.
        let is_one = |name: &[u8], one: &[u8]| {
            name.strip_prefix(one).is_some_and(|rest| rest.first().is_none_or(|next| *next == b'@'))
        };
        unwinds |=
            (symbol.name_bytes()).is_ok_and(|name| UNWINDING.iter().any(|one| is_one(name, one)));
        if symbol.is_undefined() || symbol.name_bytes() != Ok(name.as_bytes()) {
            continue;
        }
        match st_info.0 & 0xf {
            FUNCTION => {
                let offset = offset(&file, symbol.address());
                places.extend(offset.map(|offset| Place { offset, semaphore: 0 }));
            }
            CHOSEN => is_chosen = true,
            _ => {}
        }
    }
    let why = match (places.is_empty(), is_chosen) {
        (false, false) => return Ok((places, unwinds)),
        // If there is a function, too, it is another version of the symbol.
        (_, true) => format!(
            "{name} stands for one of several functions, which is chosen when the program starts; name that one"
        ),
        (true, false) => format!(
            "there is no function {name} among its symbols; nm and nm -D list them (names of C++ and Rust as they \
             are in the file), and a stripped file has only those that others call"
        ),
    };
    Err(Why::Missing(why))
}

fn usdt_probes_in(bytes: &[u8], provider: &str, name: &str) -> Result<Vec<Place>, Why> {
    let file = parse(bytes)?;
    let section = |name| file.section_by_name(name);
    let notes = section(".note.stapsdt").and_then(|section| section.data().ok());
    let base = section(".stapsdt.base").map(|section| section.address());
    let mut places = Vec::new();
    let mut others = BTreeSet::new();
    let notes = Notes {
        rest: notes.unwrap_or_default(),
        is_wide: file.is_64(),
        is_little: file.is_little_endian(),
    };
    for note in notes {
        if (note.provider, note.name) != (provider.as_bytes(), name.as_bytes()) {
            if others.len() < MOST_NAMED {
                let text = String::from_utf8_lossy;
                others.insert(format!("{}:{}", text(note.provider), text(note.name)));
            }
            continue;
        }
        // The addresses in a file may have been changed since it was linked (prelink), but not
        // those in its notes. The section `.stapsdt.base` shows by how much.
        let moved = base.filter(|_| note.base != 0).map_or(0, |base| base.wrapping_sub(note.base));
        let offset_of = |address: u64| offset(&file, address.wrapping_add(moved));
        let semaphore = match note.semaphore {
            0 => Some(0),
            address => offset_of(address).and_then(|offset| u32::try_from(offset).ok()),
        };
        if let (Some(offset), Some(semaphore)) = (offset_of(note.address), semaphore) {
            places.push(Place { offset, semaphore });
        }
    }
    if !places.is_empty() {
        return Ok(places);
    }
    let others: Vec<String> = others.into_iter().collect();
    Err(Why::Missing(match others.is_empty() {
        true => "it has no USDT probes".to_string(),
        false => format!("it has no USDT probe {provider}:{name}, but {}", others.join(", ")),
    }))
}

/// A note about a USDT probe.
struct Note<'a> {
    address: u64,
    base: u64,
    semaphore: u64,
    provider: &'a [u8],
    name: &'a [u8],
}

/// The notes of a section about USDT probes, up to the first note that is cut off. A damaged note
/// about a probe is passed over.
struct Notes<'a> {
    rest: &'a [u8],
    /// Whether addresses have 8 bytes.
    is_wide: bool,
    is_little: bool,
}

impl<'a> Notes<'a> {
    fn number4(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(if self.is_little { u32::from_le_bytes(*bytes) } else { u32::from_be_bytes(*bytes) })
    }

    fn address(&mut self) -> Option<u64> {
        if !self.is_wide {
            return self.number4().map(u64::from);
        }
        let (bytes, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(if self.is_little { u64::from_le_bytes(*bytes) } else { u64::from_be_bytes(*bytes) })
    }

    /// Takes `length` bytes, and passes over the padding to the next multiple of four.
    fn padded(&mut self, length: u32) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let (bytes, _) = self.rest.split_at_checked(length)?;
        // The last bytes may lack the padding.
        self.rest = self.rest.get(length.checked_next_multiple_of(4)?..).unwrap_or_default();
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let (text, rest) = (self.rest.get(..end)?, self.rest.get(end + 1..)?);
        self.rest = rest;
        Some(text)
    }

    /// The next note; `Some(None)` where it is not about a probe or its description is damaged,
    /// `None` at the end or where the note is cut off.
    fn note(&mut self) -> Option<Option<Note<'a>>> {
        let [owner, about, kind] = [self.number4()?, self.number4()?, self.number4()?];
        let owner = self.padded(owner)?;
        let rest = self.padded(about)?;
        if (owner, kind) != (&b"stapsdt\0"[..], 3) {
            return Some(None);
        }
        let mut about = Self { rest, ..*self };
        let mut read = || {
            let [address, base, semaphore] = [about.address()?, about.address()?, about.address()?];
            let [provider, name] = [about.text()?, about.text()?];
            Some(Note { address, base, semaphore, provider, name })
        };
        Some(read())
    }
}

impl<'a> Iterator for Notes<'a> {
    type Item = Note<'a>;

    fn next(&mut self) -> Option<Note<'a>> {
        loop {
            if let Some(note) = self.note()? {
                return Some(note);
            }
        }
    }
}
