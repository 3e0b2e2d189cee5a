//! Sums over the mappings of one process, from `maps` or `smaps`.

use super::lines::Broken;
use super::parse::{Mapping, PROTECTIONS, is_header};
use crate::parse::{keyed, kib_to_bytes};
use std::hash::{BuildHasher, RandomState};

/// The words of the lines in `smaps` that are summed: resident, proportional, private and dirty,
/// and swapped memory.
pub(super) const FIELDS: [&[u8]; 4] = [b"Rss:", b"Pss:", b"Private_Dirty:", b"Swap:"];

/// The most bytes of mapped files' paths in one process. A process with more is left out, with a
/// fault.
const MOST_BYTES: usize = 32 << 20;
/// The most mapped files of one process: four times the usual limit of mappings. A process with
/// more is left out, with a fault.
const MOST_FILES: usize = 1 << 18;

/// The first address that belongs to the kernel. Old kernels list a page there (`[vsyscall]`),
/// which is not memory of the process.
const KERNEL: u64 = 1 << 63;

/// A file that a process has mapped, with the sums over its mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct File {
    hash: u64,
    /// The range of the file's path in [`Tally::paths`].
    pub(super) path: (usize, usize),
    /// Whether a part of the file is mapped executable.
    pub(super) is_image: bool,
    pub(super) sums: Sums,
}

/// Sums over mappings: the bytes of address space, the number of mappings, and the bytes of memory
/// in the order of [`FIELDS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// The bytes of address space by protection ([`Mapping::protection`]).
    pub(super) sizes: [u64; PROTECTIONS],
    pub(super) mappings: u64,
    pub(super) memory: [u64; FIELDS.len()],
}

impl Sums {
    fn add(&mut self, mapping: &Mapping<'_>, bytes: u64) {
        if let Some(size) = self.sizes.get_mut(mapping.protection) {
            *size = size.saturating_add(bytes);
        }
        self.mappings += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let pairs = self.sizes.iter_mut().zip(&other.sizes);
        for (sum, value) in pairs.chain(self.memory.iter_mut().zip(&other.memory)) {
            *sum = sum.saturating_add(*value);
        }
        self.mappings += other.mappings;
    }
}

/// The sums to which the numbers below a mapping's line in `smaps` are added.
#[derive(Clone, Copy, Debug, Default)]
enum Current {
    /// The numbers are skipped: the mapping is not counted, or no mapping was read yet.
    #[default]
    Nothing,
    File(usize),
    Shared,
    Private,
}

/// A mapping that was counted: its start address, the sums that include it, and the bytes of memory
/// in the order of [`FIELDS`].
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    start: u64,
    of: Current,
    memory: [u64; FIELDS.len()],
}

/// An entry of the hash table of paths: a position in [`Tally::files`]. An entry of another
/// generation than the table's is free.
#[derive(Clone, Copy, Default)]
struct Slot {
    generation: u32,
    file: usize,
}

/// The sums over the mappings of one process, in all and for each file.
#[derive(Default)]
pub(super) struct Tally {
    paths: Vec<u8>,
    files: Vec<File>,
    slots: Vec<Slot>,
    generation: u32,
    hasher: RandomState,
    current: Current,
    /// The highest end address of the mappings so far; bytes below it are counted already.
    end: u64,
    /// The mapping that was counted last.
    latest: Latest,
    /// The sums over the shared mappings without a file.
    pub(super) shared: Sums,
    /// The sums over the private mappings without a file, including address space that is only
    /// reserved.
    pub(super) private: Sums,
    /// The number of lines with one of the [`FIELDS`] that were added to sums.
    told: u64,
    /// The number of lines with one of the [`FIELDS`] that `smaps` should have had: one line of each
    /// field for every counted mapping.
    expected: u64,
}

impl Tally {
    /// Clears the sums, for another process.
    pub(super) fn clear(&mut self) {
        self.paths.clear();
        self.files.clear();
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.clear();
            self.generation = 1;
        }
        self.current = Current::Nothing;
        self.end = 0;
        self.latest = Latest::default();
        self.shared = Sums::default();
        self.private = Sums::default();
        self.told = 0;
        self.expected = 0;
    }

    /// Adds a line of `maps` or `smaps`; an error if it is invalid, or if the process has mapped
    /// too many files.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<(), Broken> {
        if !is_header(line) {
            return self.field(line);
        }
        let Some(mapping) = Mapping::parse(line) else {
            return Err(Broken::Text("a line is not understood"));
        };
        // Between two reads of the file, a mapping that was listed may have grown, or merged with the
        // next mapping. Only bytes behind the mappings so far are counted, so no byte counts twice. The
        // numbers of a mapping that grew replace those that it had.
        let start = mapping.start.max(self.end);
        if mapping.start >= KERNEL || mapping.end <= start {
            self.current = Current::Nothing;
            return Ok(());
        }
        if mapping.start < self.end && mapping.start <= self.latest.start {
            self.take_back();
        }
        self.end = mapping.end;
        self.expected += FIELDS.len() as u64;
        let bytes = mapping.end - start;
        let sums = match mapping.file {
            Some(path) => {
                let file = self.file(path)?;
                self.current = Current::File(file);
                let Some(file) = self.files.get_mut(file) else {
                    return Ok(());
                };
                file.is_image |= mapping.is_executable;
                &mut file.sums
            }
            None if mapping.is_shared => {
                self.current = Current::Shared;
                &mut self.shared
            }
            None => {
                self.current = Current::Private;
                &mut self.private
            }
        };
        sums.add(&mapping, bytes);
        self.latest = Latest { start: mapping.start, of: self.current, memory: [0; FIELDS.len()] };
        Ok(())
    }

    /// Takes the mapping that was counted last out of the sums of memory and out of the number of
    /// mappings. Its address space stays in the sums.
    fn take_back(&mut self) {
        let Latest { of, memory, .. } = self.latest;
        let Some(sums) = self.sums(of) else { return };
        for (sum, bytes) in sums.memory.iter_mut().zip(memory) {
            *sum = sum.saturating_sub(bytes);
        }
        sums.mappings = sums.mappings.saturating_sub(1);
    }

    fn sums(&mut self, of: Current) -> Option<&mut Sums> {
        match of {
            Current::Nothing => None,
            Current::File(file) => self.files.get_mut(file).map(|file| &mut file.sums),
            Current::Shared => Some(&mut self.shared),
            Current::Private => Some(&mut self.private),
        }
    }

    /// Adds a line of `smaps` below the line of a mapping. A line of another field than [`FIELDS`]
    /// is skipped. A line of no field is an error, and so is one of the [`FIELDS`] without a number.
    fn field(&mut self, line: &[u8]) -> Result<(), Broken> {
        let Some(which) = FIELDS.iter().position(|field| line.starts_with(field)) else {
            // Either a line with another field of `smaps`, or a line that does not belong there.
            let is_field = line.first().is_some_and(u8::is_ascii_uppercase) && line.contains(&b':');
            return if is_field { Ok(()) } else { Err(Broken::Text("a line is not understood")) };
        };
        let [value] = FIELDS.get(which).map_or([None], |field| keyed(line, [*field]));
        let Some(value) = value else {
            return Err(Broken::Text("a number is not understood"));
        };
        let bytes = kib_to_bytes(value);
        if let Some(sum) = self.sums(self.current).and_then(|sums| sums.memory.get_mut(which)) {
            *sum = sum.saturating_add(bytes);
            self.told += 1;
            if let Some(latest) = self.latest.memory.get_mut(which) {
                *latest = latest.saturating_add(bytes);
            }
        }
        Ok(())
    }

    /// Whether the process has mappings and `smaps` gave all numbers of every mapping.
    pub(super) fn has_memory(&self) -> bool {
        self.expected > 0 && self.told == self.expected
    }

    /// Whether `smaps` gave some of the numbers, but not all.
    pub(super) fn lacks_memory(&self) -> bool {
        self.told > 0 && self.told != self.expected
    }

    /// Whether the process has no mappings.
    pub(super) fn is_empty(&self) -> bool {
        self.expected == 0
    }

    /// The files, in the order of their lowest address.
    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    /// The path of a file, as the kernel writes it.
    pub(super) fn path(&self, file: &File) -> &[u8] {
        self.paths.get(file.path.0..file.path.1).unwrap_or_default()
    }

    /// The position in `files` of the file with this path; a new file is added. An error beyond
    /// [`MOST_FILES`] or [`MOST_BYTES`].
    fn file(&mut self, path: &[u8]) -> Result<usize, Broken> {
        // The mappings of a file mostly follow one another.
        if let Current::File(last) = self.current
            && self.files.get(last).is_some_and(|file| self.path(file) == path)
        {
            return Ok(last);
        }
        let hash = self.hasher.hash_one(path);
        if self.files.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(hash, |file| file.hash == hash && self.path(file) == path);
        let found = self.slots.get(slot).copied().unwrap_or_default();
        if found.generation == self.generation {
            return Ok(found.file);
        }
        let start = self.paths.len();
        if self.files.len() >= MOST_FILES || start + path.len() > MOST_BYTES {
            return Err(Broken::Text("too many files are mapped"));
        }
        self.paths.extend_from_slice(path);
        let place = (start, self.paths.len());
        let number = self.files.len();
        self.files.push(File { hash, path: place, ..File::default() });
        self.put(slot, number);
        Ok(number)
    }

    /// The position in the hash table of the file for which `is_it` is true, or else the free
    /// position where it belongs. At least half of the table is free.
    fn slot(&self, hash: u64, is_it: impl Fn(&File) -> bool) -> usize {
        let most = self.slots.len().saturating_sub(1);
        let mut at = hash as usize & most;
        while let Some(slot) = self.slots.get(at) {
            if slot.generation != self.generation || self.files.get(slot.file).is_none_or(&is_it) {
                break;
            }
            at = (at + 1) & most;
        }
        at
    }

    fn put(&mut self, slot: usize, file: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot { generation: self.generation, file };
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(256);
        self.slots.clear();
        self.slots.resize(size, Slot::default());
        for number in 0..self.files.len() {
            let hash = self.files.get(number).map_or(0, |file| file.hash);
            let slot = self.slot(hash, |_| false);
            self.put(slot, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(tally: &mut Tally, text: &str) -> Result<(), Broken> {
        tally.clear();
        text.split_inclusive('\n').try_for_each(|line| tally.line(line.as_bytes()))
    }

    fn files(tally: &Tally) -> Vec<(String, bool, u64)> {
        let name = |file: &File| String::from_utf8_lossy(tally.path(file)).into_owned();
        tally.files().iter().map(|f| (name(f), f.is_image, f.sums.sizes.iter().sum())).collect()
    }

    #[test]
    fn all_mappings_of_a_file_are_summed() {
        let mut sums = Tally::default();
        tally(
            &mut sums,
            "1000-2000 r--p 0 0:1 1 /a\n2000-4000 r-xp 0 0:1 1 /a\n4000-5000 rw-p 0 0:0 0 \n\
             5000-6000 rw-p 0 0:1 1 /a\n6000-7000 r--s 0 0:1 2 /b\n7000-8000 rw-s 0 0:0 0 [x]\n\
             8000-9000 rw-p 0 0:1 1 /a\nffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]\n",
        )
        .unwrap();
        assert_eq!(files(&sums), [("/a".into(), true, 0x5000), ("/b".into(), false, 0x1000)]);
        assert_eq!(sums.files()[0].sums.sizes, [0, 0x1000, 0, 0x2000, 0, 0x2000, 0, 0]);
        assert_eq!(sums.files()[0].sums.mappings, 4);
        assert_eq!((sums.shared.sizes[2], sums.private.sizes[2]), (0x1000, 0x1000));
        assert!(!sums.has_memory());
        assert_eq!(sums.private.sizes.iter().sum::<u64>(), 0x1000);
    }

    #[test]
    fn nothing_counts_twice() {
        let mut sums = Tally::default();
        let text =
            "1000-3000 r--p 0 0:1 1 /a\n2000-4000 r--p 0 0:1 1 /a\n1000-2000 r--p 0 0:1 1 /b\n";
        tally(&mut sums, text).unwrap();
        assert_eq!(files(&sums), [("/a".into(), false, 0x3000)]);
    }

    #[test]
    fn a_mapping_that_grew_and_is_listed_again_has_its_new_memory_only() {
        let fields =
            |rss: u64| format!("Rss: {rss} kB\nPss: {rss} kB\nPrivate_Dirty: 0 kB\nSwap: 0 kB\n");
        let heap = |end: &str, rss| format!("3000-{end} rw-p 0 0:0 0 [heap]\n{}", fields(rss));
        let file = format!("1000-2000 r-xp 0 0:1 1 /a\n{}", fields(4));
        let mut sums = Tally::default();
        let mut told = |text: &str| {
            tally(&mut sums, text).unwrap();
            assert!(sums.has_memory());
            let private = sums.private;
            (private.sizes.iter().sum::<u64>(), private.mappings, private.memory[0] / 1024)
        };
        assert_eq!(
            told(&format!("{file}{}{}", heap("5000", 8), heap("9000", 24))),
            (0x6000, 1, 24)
        );
        let again = format!("{file}{}{}{}", heap("5000", 8), heap("6000", 12), heap("9000", 24));
        assert_eq!(told(&again), (0x6000, 1, 24));
        // The same mapping again, and another one that begins within it.
        assert_eq!(told(&format!("{file}{}{}", heap("5000", 8), heap("5000", 8))), (0x2000, 1, 8));
        let other = format!("4000-6000 rw-p 0 0:0 0 \n{}", fields(8));
        assert_eq!(told(&format!("{file}{}{other}", heap("5000", 8))), (0x3000, 2, 16));
        // It merged with the mapping before it: the memory of the file's mapping stays.
        let merged = format!("2000-6000 rw-p 0 0:0 0 [heap]\n{}", fields(16));
        assert_eq!(told(&format!("{file}{}{merged}", heap("5000", 8))), (0x3000, 1, 16));
        assert_eq!(sums.files()[0].sums.memory[0], 4096);
    }

    #[test]
    fn numbers_of_smaps() {
        let mut sums = Tally::default();
        let fields = "Size: 8 kB\nRss: 4 kB\nPss: 2 kB\nPss_Dirty: 9 kB\nPrivate_Dirty: 1 kB\nSwap: 3 kB\n\
                      VmFlags: rd \n";
        let text =
            format!("1000-3000 r-xp 0 0:1 1 /a\n{fields}3000-4000 rw-p 0 0:0 0 [heap]\n{fields}");
        tally(&mut sums, &text).unwrap();
        assert!(sums.has_memory());
        assert_eq!(sums.files()[0].sums.memory, [4096, 2048, 1024, 3072]);
        assert_eq!(sums.private.memory, [4096, 2048, 1024, 3072]);
        tally(&mut sums, &text.replacen("Swap: 3 kB\n", "", 1)).unwrap();
        assert!(!sums.has_memory());
        for bad in ["Rss: x kB\n", "Rss:\n", "nonsense\n", "\n", "12 rw\n", "Rss 4\n"] {
            assert!(
                tally(&mut sums, &format!("1000-3000 r-xp 0 0:1 1 /a\n{bad}")).is_err(),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn thousands_of_files_are_summed_again_after_each_clear() {
        let mut sums = Tally::default();
        for round in 1..4u64 {
            sums.clear();
            for at in 0..3000u64 {
                let line =
                    format!("{:x}-{:x} r--p 0 0:1 1 /f{}\n", at, at + 1, at % (1000 * round));
                sums.line(line.as_bytes()).unwrap();
            }
            assert_eq!(sums.files().len() as u64, 1000 * round);
            assert!(sums.files().iter().all(|f| f.sums.sizes[1] == f.sums.mappings));
        }
        sums.clear();
        assert!(sums.is_empty() && sums.files().is_empty());
    }

    #[test]
    fn kept_names_of_a_process_are_limited() {
        let mut sums = Tally::default();
        sums.clear();
        let long = "x".repeat(4090);
        let mut line = |at: u64| {
            sums.line(format!("{:x}-{:x} r--p 0 0:1 1 /{at:05}{long}\n", at, at + 1).as_bytes())
        };
        let most = (MOST_BYTES / 4096) as u64;
        assert!((0..most).all(|at| line(at).is_ok()));
        assert_eq!(line(most), Err(Broken::Text("too many files are mapped")));
    }
}
