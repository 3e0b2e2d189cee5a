//! The objects made from the memory maps of processes: Image, Full Image, Process Address Space, and
//! Thread Details. Their instances refer to those of Process, so that the session that writes Process
//! also writes them.
//!
//! The maps of each process are read once, whatever objects are wanted. Then the objects are
//! written one after the other.

mod lines;
mod parse;
mod tally;
mod threads;

use crate::faults::{Faults, is_denied, is_gone};
use crate::files::{PidPath, Reader};
use crate::parse::{keyed, kib_to_bytes, utf16_name};
use crate::table::{
    ADDRESS_SPACE, FULL_IMAGE, IMAGE, MEMORY_COUNTERS, Object, PROCESS, THREAD_DETAILS,
};
use lines::{Broken, Lines};
use parse::{PROTECTIONS, unescape};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{Collection, ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, NameRef, TitleIndex};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, pread, retry_on_intr};
use tally::{FIELDS, Sums, Tally};

/// The most bytes of image paths that one collection keeps; further images are left out, with a
/// fault. In the block, which has the paths in UTF-16, they take up to twice as many.
const MOST_PATHS: usize = 128 << 20;

/// Which of this module's objects a collection wants, and for which of them it wants the memory
/// counters.
#[derive(Clone, Copy, Default)]
pub(crate) struct WantedMaps {
    image: bool,
    full: bool,
    space: bool,
    details: bool,
    /// Whether the memory counters of Image are wanted.
    image_memory: bool,
    /// Whether the memory counters of Full Image are wanted.
    full_memory: bool,
    /// Whether the memory counters of Process Address Space are wanted.
    space_memory: bool,
}

impl WantedMaps {
    pub(crate) fn of(collection: &Collection<'_>) -> Self {
        let wants = |object: &Object| collection.wants(TitleIndex(object.index));
        let memory = |object: &Object| {
            let asked = |counter: &u32| {
                collection.wants_extra(TitleIndex(object.index), TitleIndex(*counter))
            };
            wants(object) && MEMORY_COUNTERS.iter().any(asked)
        };
        Self {
            image: wants(&IMAGE),
            full: wants(&FULL_IMAGE),
            space: wants(&ADDRESS_SPACE),
            details: wants(&THREAD_DETAILS),
            image_memory: memory(&IMAGE),
            full_memory: memory(&FULL_IMAGE),
            space_memory: memory(&ADDRESS_SPACE),
        }
    }

    pub(crate) fn any(self) -> bool {
        self.maps() || self.details
    }

    fn maps(self) -> bool {
        self.images() || self.space
    }

    fn images(self) -> bool {
        self.image || self.full
    }
}

/// A process with maps that are to be read.
struct Listed {
    pid: u32,
    /// The position of the process among the instances of Process.
    place: u32,
    /// The range of the process's name in [`Maps::names`].
    name: (usize, usize),
}

/// The sums over all mappings of a process. `images`, `mapped` and `private` are the bytes of address
/// space by protection: of images, of other files and shared memory, and of private mappings without
/// a file. `memory` is in bytes, in the order of [`FIELDS`]; `None` if it was not read.
struct Space {
    /// The position of the process in [`Maps::listed`].
    process: usize,
    images: [u64; PROTECTIONS],
    mapped: [u64; PROTECTIONS],
    private: [u64; PROTECTIONS],
    mappings: u64,
    memory: Option<[u64; FIELDS.len()]>,
}

/// An image that a process has mapped: a file of which a part may be executed.
struct Image {
    /// The position of the process among the instances of Process.
    parent: u32,
    path: (usize, usize),
    sums: Sums,
    has_memory: bool,
}

/// Reads the maps of processes and writes the objects made from them.
pub(crate) struct Maps {
    wanted: WantedMaps,
    listed: Vec<Listed>,
    /// The names of the listed processes.
    names: Vec<u16>,
    lines: Lines,
    tally: Tally,
    spaces: Vec<Space>,
    images: Vec<Image>,
    /// The paths of the images, as the kernel writes them.
    paths: Vec<u8>,
    /// The numbers of the threads of the process that is being written.
    threads: Vec<u32>,
    plain: Vec<u8>,
    name: Vec<u16>,
    faults: Faults,
    image: Layouts,
    full: Layouts,
    space: Layouts,
    details: Layouts,
}

impl Maps {
    pub(crate) fn new() -> Self {
        Self {
            wanted: WantedMaps::default(),
            listed: Vec::new(),
            names: Vec::new(),
            lines: Lines::default(),
            tally: Tally::default(),
            spaces: Vec::new(),
            images: Vec::new(),
            paths: Vec::new(),
            threads: Vec::new(),
            plain: Vec::new(),
            name: Vec::new(),
            faults: Faults::default(),
            image: Layouts::new(&IMAGE),
            full: Layouts::new(&FULL_IMAGE),
            space: Layouts::new(&ADDRESS_SPACE),
            details: Layouts::new(&THREAD_DETAILS),
        }
    }

    /// Starts a collection: no process is listed yet.
    pub(crate) fn begin(&mut self, wanted: WantedMaps) {
        self.wanted = wanted;
        self.listed.clear();
        self.names.clear();
    }

    /// Whether this collection needs the processes to be [added](Self::add).
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.any()
    }

    /// Lists a process that was written as an instance of Process, at the position `place`. Does
    /// nothing if no object of this module is wanted.
    pub(crate) fn add(&mut self, pid: u32, place: u32, name: &[u16]) {
        if self.wanted.any() {
            let start = self.names.len();
            self.names.extend_from_slice(name);
            self.listed.push(Listed { pid, place, name: (start, self.names.len()) });
        }
    }

    /// Reads the maps of the listed processes and writes the wanted objects.
    pub(crate) fn write(
        &mut self,
        reader: &mut Reader,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wanted = self.wanted;
        if wanted.maps() {
            self.read(reader);
            let objects = [
                (wanted.image, IMAGE.index),
                (wanted.full, FULL_IMAGE.index),
                (wanted.space, ADDRESS_SPACE.index),
            ];
            for (_, object) in objects.iter().filter(|(wanted, _)| *wanted) {
                self.faults.tell(*object, out);
            }
            self.faults.clear();
        }
        if wanted.image {
            self.write_images(false, out)?;
        }
        if wanted.full {
            self.write_images(true, out)?;
        }
        if wanted.space {
            self.write_spaces(out)?;
        }
        if wanted.details {
            let written = self.write_threads(reader, out);
            self.faults.report(THREAD_DETAILS.index, out);
            written?;
        }
        Ok(())
    }

    fn read(&mut self, reader: &mut Reader) {
        self.spaces.clear();
        self.images.clear();
        self.paths.clear();
        let mut is_refused = false;
        for process in 0..self.listed.len() {
            let Some(&Listed { pid, place, .. }) = self.listed.get(process) else {
                continue;
            };
            if reader.is_late() {
                self.faults.object("the deadline passed: the maps of some processes were not read");
                break;
            }
            match self.read_maps(reader, pid, &mut is_refused) {
                Ok(true) => self.keep(reader, process, pid, place),
                Ok(false) => {}
                Err((file, broken)) => {
                    let name = format_args!("PID {pid}");
                    self.faults.instance(name, format_args!("{file}: {broken}"));
                }
            }
        }
        // Beside others, processes of other users are left out without a word.
        if is_refused && self.spaces.is_empty() {
            self.faults.object("the permission to look at these processes is missing");
        }
    }

    /// Adds up the mappings of a process in `tally`; returns `false` if the process has no
    /// mappings, has ended, or may not be read, and sets `is_refused` in the last case. An error names the file.
    fn read_maps(
        &mut self,
        reader: &Reader,
        pid: u32,
        is_refused: &mut bool,
    ) -> Result<bool, (&'static str, Broken)> {
        if self.wanted.image_memory || self.wanted.full_memory {
            match self.read_file(reader, pid, "smaps") {
                // The kernel may be built without `smaps`.
                Err(Broken::Error(Errno::NOENT)) => {}
                read => return settle("smaps", read, is_refused),
            }
        }
        settle("maps", self.read_file(reader, pid, "maps"), is_refused)
    }

    fn read_file(&mut self, reader: &Reader, pid: u32, file: &str) -> Result<bool, Broken> {
        self.tally.clear();
        let mut path = PidPath::new(pid);
        let folder = path.len();
        let fd = reader.open_here(path.file(folder, file.as_bytes())).map_err(Broken::Error)?;
        let tally = &mut self.tally;
        let any = self.lines.read(&fd, |line| tally.line(line))?;
        // If a process ends while its maps are read, the file ends early.
        Ok(any && !self.tally.is_empty() && has_more(&fd).map_err(Broken::Error)?)
    }

    /// Stores the sums of the process that was read last: one [`Space`], and one [`Image`] for each
    /// image if these are wanted.
    fn keep(&mut self, reader: &mut Reader, process: usize, pid: u32, parent: u32) {
        let has_memory = self.tally.has_memory();
        if self.tally.lacks_memory() {
            let message = "smaps: numbers of some mappings are missing";
            self.faults.instance(format_args!("PID {pid}"), message);
        }
        let mut all = Sums::default();
        all.merge(&self.tally.shared);
        all.merge(&self.tally.private);
        let mut images = [0u64; PROTECTIONS];
        let mut mapped = self.tally.shared.sizes;
        let mut fits = true;
        for file in self.tally.files() {
            all.merge(&file.sums);
            let kind = if file.is_image { &mut images } else { &mut mapped };
            for (sum, size) in kind.iter_mut().zip(file.sums.sizes) {
                *sum = sum.saturating_add(size);
            }
            if file.is_image && self.wanted.images() {
                let path = self.tally.path(file);
                let start = self.paths.len();
                if start + path.len() > MOST_PATHS {
                    fits = false;
                    continue;
                }
                self.paths.extend_from_slice(path);
                let path = (start, self.paths.len());
                self.images.push(Image { parent, path, sums: file.sums, has_memory });
            }
        }
        if !fits {
            self.faults.instance(format_args!("PID {pid}"), "more images than can be told");
        }
        let memory = match has_memory {
            true => Some(all.memory),
            false if self.wanted.space_memory => self.rollup(reader, pid),
            false => None,
        };
        let private = self.tally.private.sizes;
        let mappings = all.mappings;
        self.spaces.push(Space { process, images, mapped, private, mappings, memory });
    }

    /// The memory of a whole process in bytes, from `smaps_rollup`, in the order of [`FIELDS`].
    /// `None` if the process has ended or may not be read, or if this kernel lacks the file; any
    /// other failure also adds a fault.
    fn rollup(&mut self, reader: &mut Reader, pid: u32) -> Option<[u64; FIELDS.len()]> {
        let mut path = PidPath::new(pid);
        let folder = path.len();
        let message = match reader.once_here(path.file(folder, b"smaps_rollup")) {
            Ok(()) => match keyed(reader.text(), FIELDS) {
                [Some(resident), Some(proportional), Some(dirty), Some(swapped)] => {
                    return Some([resident, proportional, dirty, swapped].map(kib_to_bytes));
                }
                // The process has ended and is a zombie, which has no memory.
                _ if reader.text().is_empty() => return None,
                _ => Broken::Text("not understood"),
            },
            Err(error) if is_gone(error) || is_denied(error) => return None,
            Err(error) => Broken::Error(error),
        };
        let name = format_args!("PID {pid}");
        self.faults.instance(name, format_args!("smaps_rollup: {message}"));
        None
    }

    fn write_images(
        &mut self,
        is_full: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let (layouts, object, wanted) = match is_full {
            true => (&mut self.full, &FULL_IMAGE, self.wanted.full_memory),
            false => (&mut self.image, &IMAGE, self.wanted.image_memory),
        };
        let with_memory = wanted && self.images.iter().any(|image| image.has_memory);
        let mask = object.standard() | if with_memory { memory_of(object) } else { 0 };
        let mut object = out.object(layouts.template(mask)?)?;
        for image in &self.images {
            let path = self.paths.get(image.path.0..image.path.1).unwrap_or_default();
            let file = match is_full {
                true => path,
                // The name behind the last `/` is never empty.
                false => path.rsplit(|byte| *byte == b'/').next().unwrap_or_default(),
            };
            unescape(file, &mut self.plain);
            utf16_name(&self.plain, &mut self.name);
            let mut values = [0; PROTECTIONS + 1 + FIELDS.len()];
            let Sums { sizes, mappings, memory } = image.sums;
            let all = sizes.into_iter().chain([mappings]).chain(memory);
            values.iter_mut().zip(all).for_each(|(place, value)| *place = value);
            let known = match with_memory && image.has_memory {
                true => &values[..],
                false => &values[..=PROTECTIONS],
            };
            let head = InstanceHead {
                name: NameRef::Utf16(&self.name),
                unique_id: None,
                parent: Some((TitleIndex(PROCESS.index), image.parent)),
            };
            object.instance_prefix(&head, known)?;
        }
        object.finish()?;
        Ok(())
    }

    fn write_spaces(&mut self, out: &mut ObjectWriter<'_>) -> Result<(), ProviderError> {
        let with_memory =
            self.wanted.space_memory && self.spaces.iter().any(|space| space.memory.is_some());
        let memory = if with_memory { memory_of(&ADDRESS_SPACE) } else { 0 };
        let mask = ADDRESS_SPACE.standard() | memory;
        let mut object = out.object(self.space.template(mask)?)?;
        let mut row = CounterValues::new(&ADDRESS_SPACE);
        for space in &self.spaces {
            let Some(process) = self.listed.get(space.process) else {
                continue;
            };
            row.clear();
            row.set(784, u64::from(process.pid));
            let reserved = space.private.first().copied().unwrap_or(0);
            row.set(726, reserved);
            row.set(780, reserved);
            row.set(106_000, space.mappings);
            // Each kind of space has one counter for each protection. Counters that Linux has no values for are
            // in the table as absent.
            for (first, sizes) in [(710, space.mapped), (760, space.images)] {
                (first..).step_by(2).zip(sizes).for_each(|(counter, size)| row.set(counter, size));
            }
            let [_, read, write, _, execute, execute_read, execute_write, _] = space.private;
            let private = [
                (746, read),
                (748, write),
                (752, execute),
                (754, execute_read),
                (756, execute_write),
            ];
            private.into_iter().for_each(|(counter, size)| row.set(counter, size));
            if let Some(memory) = space.memory.filter(|_| with_memory) {
                MEMORY_COUNTERS
                    .iter()
                    .zip(memory)
                    .for_each(|(counter, value)| row.set(*counter, value));
            }
            let name = self.names.get(process.name.0..process.name.1).unwrap_or_default();
            let head = InstanceHead { name: NameRef::Utf16(name), unique_id: None, parent: None };
            object.instance_prefix(&head, row.values(mask, &mut [0; MOST]))?;
        }
        object.finish()?;
        Ok(())
    }
}

/// The outcome of reading a process's `file`: `false` instead of an error if the process has ended
/// or may not be read, and the file's name with any other error. Sets `is_refused` if the process
/// may not be read.
fn settle(
    file: &'static str,
    read: Result<bool, Broken>,
    is_refused: &mut bool,
) -> Result<bool, (&'static str, Broken)> {
    match read {
        Ok(any) => Ok(any),
        Err(Broken::Error(error)) if is_gone(error) || is_denied(error) => {
            *is_refused |= is_denied(error);
            Ok(false)
        }
        Err(broken) => Err((file, broken)),
    }
}

/// Whether a file of a process still has text: if the process has ended, the file is empty.
fn has_more(fd: &OwnedFd) -> Result<bool, Errno> {
    let mut byte = [0];
    Ok(retry_on_intr(|| pread(fd, &mut byte, 0))? > 0)
}

/// The memory counters of an object ([`MEMORY_COUNTERS`]), as a mask.
fn memory_of(object: &Object) -> u64 {
    MEMORY_COUNTERS.iter().fold(0, |mask, counter| mask | object.bits(*counter))
}
