//! The tests that a provider's data passes before it is used.
//!
//! These tests are those of Windows' performance library (the documentation of the Collect
//! function) at its three levels, and perfhive's own full validation. The first test that fails is
//! reported with what is wrong, where, and by how much. The data is then discarded, and the
//! collection of other providers goes on.

use perfhive_format::winperf::PERF_DATA_BLOCK;
use perfhive_format::{DataBlock, ObjectLayout, ParseError, PerfObject, TitleIndex};
use std::fmt;

/// How thoroughly a provider's data is tested. The number of each level is its value in Windows' setting
/// `ExtCounterTestLevel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestLevel {
    /// 1: everything is tested. The default.
    #[default]
    All,
    /// 2: only the pointer, the buffer and the guard regions are tested. Data that is not a
    /// sequence of objects is discarded even so.
    Basic,
    /// 3: nothing is tested. Data that ends outside the buffer, or is not a sequence of objects, is
    /// discarded even so.
    None,
}

/// What a collect function of the C contract claims to have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawClaim {
    /// How far the collect function moved the data pointer, in bytes.
    pub moved: isize,
    /// The byte count that the function returned.
    pub bytes: u32,
    /// The number of objects that the function claims to have written.
    pub objects: u32,
}

/// Something wrong with the data or the claim for which the data is not discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectWarning {
    /// The byte count disagrees with the distance that the pointer moved. That distance is taken as
    /// the length of the data.
    ByteCount {
        /// The byte count returned.
        claimed: u32,
        /// How far the pointer moved, in bytes.
        moved: usize,
    },
    /// The length of an object is not a multiple of 8, so that the next object is not
    /// aligned as Windows requires.
    Alignment {
        /// The title index of the object's name.
        object: TitleIndex,
        /// The length of the object, in bytes.
        length: usize,
    },
}

impl fmt::Display for CollectWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteCount { claimed, moved } => write!(
                f,
                "the byte count says {claimed}, the data pointer moved by {moved}: \
                 the pointer was believed"
            ),
            Self::Alignment { object, length } => {
                write!(f, "the length of object {object}, {length} bytes, is not a multiple of 8")
            }
        }
    }
}

/// A test that failed; the data was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectFault {
    /// The data ends past the buffer, inside the guard region behind it.
    BufferOverrun {
        /// The number of bytes past the end.
        by: usize,
    },
    /// The data pointer was moved past the guard region behind the buffer, or backwards.
    HeapFault {
        /// How far the pointer moved, in bytes.
        moved: isize,
    },
    /// A guard region was written to.
    GuardWritten {
        /// Offset of the first byte changed, from the start of the buffer;
        /// negative in the region before it.
        at: isize,
    },
    /// The length of the data, or of an object, is not a multiple of 4.
    OddLength {
        /// The length, in bytes.
        length: usize,
    },
    /// The lengths of the objects, or of the blocks of other machines, do not add up to the length
    /// of the data.
    ObjectLengths {
        /// The sum of the lengths up to and including the first that is 0 or too large, in bytes.
        sum: usize,
        /// The length of the data, in bytes.
        bytes: usize,
    },
    /// The number of objects in the data is not the number that the function claims to have
    /// written.
    ObjectCount {
        /// The number of objects found.
        found: u32,
        /// The number of objects claimed.
        claimed: u32,
    },
    /// The instances of an object, or its counter block, do not end where the object ends.
    InstanceLengths {
        /// The title index of the object's name.
        object: TitleIndex,
        /// The end of the instances or of the counter block, in bytes from the start of the object.
        ends: usize,
        /// The length of the object, in bytes.
        length: usize,
    },
    /// An object, or the header of another machine's block, is malformed.
    Malformed(ParseError),
}

impl fmt::Display for CollectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferOverrun { by } => {
                write!(f, "buffer overrun: the data ends {by} bytes past the buffer")
            }
            Self::HeapFault { moved } => write!(
                f,
                "heap fault: the data pointer moved by {moved} bytes, past the guard region"
            ),
            Self::GuardWritten { at } => {
                write!(f, "the guard region was written to at offset {at} of the buffer")
            }
            Self::OddLength { length } => {
                write!(f, "a length of {length} bytes is not a multiple of 4")
            }
            Self::ObjectLengths { sum, bytes } => write!(
                f,
                "the objects' lengths add up to {sum} bytes, but {bytes} bytes were returned"
            ),
            Self::ObjectCount { found, claimed } => {
                write!(f, "{claimed} objects were announced, {found} were found")
            }
            Self::InstanceLengths { object, ends, length } => write!(
                f,
                "the instances of object {object} end at byte {ends} of its {length} bytes"
            ),
            Self::Malformed(error) => error.fmt(f),
        }
    }
}

/// A buffer for code that may write outside of it, with a guard region of
/// 1 KiB on each side.
#[derive(Clone, Debug)]
pub struct GuardedBuffer {
    bytes: Vec<u8>,
    size: usize,
    /// The number of bytes, from the start of the buffer, that may have been written.
    used: usize,
}

impl GuardedBuffer {
    /// The length of each guard region, in bytes.
    pub const GUARD: usize = 1024;
    /// The least number of bytes that count as written after a claim
    /// ([`note_used`](Self::note_used)), as far as the buffer has them; clearing them takes a few
    /// µs.
    const SHORT: usize = 64 << 10;
    const PATTERN: [u8; 4] = [0xA5, 0x5A, 0xC3, 0x3C];

    /// A cleared buffer of `size` bytes.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let mut buffer = Self { bytes: Vec::new(), size, used: 0 };
        buffer.reset(size);
        buffer
    }

    /// The number of bytes that may be written, without the guard regions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.size
    }

    /// Whether the buffer is 0 bytes long, without the guard regions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// The bytes that may be written, without the guard regions.
    pub fn body_mut(&mut self) -> &mut [u8] {
        self.used = self.size;
        self.bytes.get_mut(Self::GUARD..Self::GUARD + self.size).unwrap_or_default()
    }

    /// All bytes, guards included: the memory that foreign code reaches when it writes past
    /// its buffer.
    pub fn whole_mut(&mut self) -> &mut [u8] {
        self.used = self.size;
        &mut self.bytes
    }

    /// Makes the buffer ready for another collection with `size` bytes. If it has that size
    /// already, its memory is kept, and only the bytes that may have been written are cleared
    /// ([`note_used`](Self::note_used)).
    pub fn reset(&mut self, size: usize) {
        if self.bytes.len() == Self::GUARD + size + Self::GUARD {
            let used = self.used.min(size);
            self.bytes.get_mut(Self::GUARD..Self::GUARD + used).unwrap_or_default().fill(0);
        } else {
            self.bytes = vec![0; Self::GUARD + size + Self::GUARD];
        }
        (self.size, self.used) = (size, 0);
        let (before, rest) = self.bytes.split_at_mut(Self::GUARD);
        Self::paint(before);
        Self::paint(rest.get_mut(size..).unwrap_or_default());
    }

    /// Notes how many bytes the foreign code claims to have written, so that the next
    /// [`reset`](Self::reset) need not clear a long buffer whole. Bytes that the code wrote beyond
    /// its claim may stay.
    pub fn note_used(&mut self, moved: isize) {
        let claimed = usize::try_from(moved).unwrap_or(self.size);
        self.used = claimed.max(Self::SHORT).min(self.size);
    }

    /// Fills `guard` with the pattern of a guard region. Every byte of a region is tested, so
    /// `guard` should be [`GUARD`](Self::GUARD) bytes long.
    pub fn paint(guard: &mut [u8]) {
        for (byte, pattern) in guard.iter_mut().zip(Self::PATTERN.iter().cycle()) {
            *byte = *pattern;
        }
    }

    /// Tests the claim and the data in the buffer. Returns the bytes of the objects, and the
    /// warnings.
    ///
    /// # Errors
    /// The first test that failed.
    pub fn check(
        &self,
        level: TestLevel,
        claim: &RawClaim,
    ) -> Result<(&[u8], Vec<CollectWarning>), CollectFault> {
        let (data, mut warnings) = self.check_extent(level, claim)?;
        if level == TestLevel::All {
            let found = check_objects(data)?;
            if found != claim.objects {
                return Err(CollectFault::ObjectCount { found, claimed: claim.objects });
            }
            warnings.extend(check_alignment(data));
        }
        Ok((data, warnings))
    }

    /// As [`check`](Self::check), for blocks of other machines, which have a header each. The headers
    /// are tested at every level, and the alignment of the objects at none. Returns the blocks, and
    /// the warnings.
    ///
    /// # Errors
    /// The first test that failed.
    pub fn check_foreign(
        &self,
        level: TestLevel,
        claim: &RawClaim,
    ) -> Result<(Vec<&[u8]>, Vec<CollectWarning>), CollectFault> {
        let (data, warnings) = self.check_extent(level, claim)?;
        let mut rest = data;
        let mut blocks = Vec::new();
        let mut found = 0u32;
        while !rest.is_empty() {
            // Headers are tested at every level, since only a header tells where its block ends.
            DataBlock::scan(rest).map_err(CollectFault::Malformed)?;
            let raw = PERF_DATA_BLOCK::read(rest).unwrap_or_default();
            let length = raw.TotalByteLength as usize;
            let sum = (data.len() - rest.len()).saturating_add(length);
            let block = rest.get(..length).filter(|block| !block.is_empty());
            let block = block.ok_or(CollectFault::ObjectLengths { sum, bytes: data.len() })?;
            if level == TestLevel::All {
                let objects = block.get(raw.HeaderLength as usize..).unwrap_or_default();
                found = found.saturating_add(check_objects(objects)?);
            }
            blocks.push(block);
            rest = rest.get(length..).unwrap_or_default();
        }
        if level == TestLevel::All && found != claim.objects {
            return Err(CollectFault::ObjectCount { found, claimed: claim.objects });
        }
        Ok((blocks, warnings))
    }

    /// Tests the pointer, the buffer and the guards as far as `level` asks. Returns the data, and
    /// the warnings.
    fn check_extent(
        &self,
        level: TestLevel,
        claim: &RawClaim,
    ) -> Result<(&[u8], Vec<CollectWarning>), CollectFault> {
        // A pointer outside of the buffer cannot be used at any level.
        let heap = CollectFault::HeapFault { moved: claim.moved };
        let moved = usize::try_from(claim.moved).map_err(|_| heap)?;
        let mut warnings = Vec::new();
        if level != TestLevel::None && claim.bytes as usize != moved {
            warnings.push(CollectWarning::ByteCount { claimed: claim.bytes, moved });
        }
        if moved > self.size {
            let by = moved - self.size;
            return Err(if by > Self::GUARD { heap } else { CollectFault::BufferOverrun { by } });
        }
        if level != TestLevel::None {
            self.check_guards()?;
        }
        Ok((self.bytes.get(Self::GUARD..Self::GUARD + moved).unwrap_or_default(), warnings))
    }

    fn check_guards(&self) -> Result<(), CollectFault> {
        let written = |guard: &[u8]| {
            guard
                .iter()
                .zip(Self::PATTERN.iter().cycle())
                .position(|(byte, pattern)| byte != pattern)
        };
        let (before, rest) = self.bytes.split_at(Self::GUARD);
        let behind = rest.get(self.size..).unwrap_or_default();
        if let Some(at) = written(before) {
            return Err(CollectFault::GuardWritten { at: at as isize - Self::GUARD as isize });
        }
        if let Some(at) = written(behind) {
            return Err(CollectFault::GuardWritten { at: (self.size + at) as isize });
        }
        Ok(())
    }
}

/// The tests of level 1 on a sequence of objects. Returns the number of objects.
pub(crate) fn check_objects(data: &[u8]) -> Result<u32, CollectFault> {
    if !data.len().is_multiple_of(4) {
        return Err(CollectFault::OddLength { length: data.len() });
    }
    // The sum of the lengths is tested first, as Windows does: it reveals an object with a
    // wrong length.
    let mut sum = 0usize;
    let mut found = 0;
    while sum < data.len() {
        let length = data
            .get(sum..)
            .and_then(|rest| rest.first_chunk::<4>())
            .map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
        if length == 0 || length > data.len() - sum {
            let sum = sum.saturating_add(length);
            return Err(CollectFault::ObjectLengths { sum, bytes: data.len() });
        }
        if !length.is_multiple_of(4) {
            return Err(CollectFault::OddLength { length });
        }
        sum += length;
        found += 1;
    }
    let mut rest = data;
    while !rest.is_empty() {
        let object = PerfObject::parse(rest).map_err(CollectFault::Malformed)?;
        check_instances(object)?;
        rest = rest.get(object.as_bytes().len()..).unwrap_or_default();
    }
    Ok(found)
}

/// The warning about the first object with a length that is not a multiple of 8; `None` if there is
/// no such object. The objects must have been validated.
fn check_alignment(data: &[u8]) -> Option<CollectWarning> {
    let mut rest = data;
    while let Ok(object) = PerfObject::parse(rest) {
        let length = object.as_bytes().len();
        if !length.is_multiple_of(8) {
            return Some(CollectWarning::Alignment { object: object.name_index(), length });
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    None
}

/// Tests that the instances of an object, or its counter block, end where the object ends.
fn check_instances(object: PerfObject<'_>) -> Result<(), CollectFault> {
    let length = object.as_bytes().len();
    let start = object.header().DefinitionLength as usize;
    let ends = match object.layout() {
        ObjectLayout::Instances(_) => object.instances().fold(start, |at, instance| {
            at + instance.definition_bytes().len() + instance.counter_block().as_bytes().len()
        }),
        ObjectLayout::NoInstances => {
            start + object.counter_block().map_or(0, |block| block.as_bytes().len())
        }
        ObjectLayout::MetadataInstances | ObjectLayout::MetadataNoInstances => start,
    };
    if ends == length {
        Ok(())
    } else {
        Err(CollectFault::InstanceLengths { object: object.name_index(), ends, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::{
        BlockHead, BlockWriter, CounterSpec, CounterType, InstanceHead, ObjectSpec, ObjectTemplate,
    };

    /// One object with two instances, as a provider writes it.
    fn object() -> Vec<u8> {
        let template = ObjectTemplate::new(
            &ObjectSpec::new(TitleIndex(2000)).with_instances(),
            &[CounterSpec::new(TitleIndex(2002), CounterType::PERF_COUNTER_RAWCOUNT)],
        )
        .unwrap();
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        let mark = writer.mark();
        let mut object = writer.object(&template).unwrap();
        object.instance(&InstanceHead::named("a"), &[1]).unwrap();
        object.instance(&InstanceHead::named("b"), &[2]).unwrap();
        object.finish().unwrap();
        writer.since(mark).to_vec()
    }

    fn filled(size: usize) -> (GuardedBuffer, RawClaim) {
        let object = object();
        let mut buffer = GuardedBuffer::new(size);
        buffer.body_mut()[..object.len()].copy_from_slice(&object);
        let moved = object.len() as isize;
        (buffer, RawClaim { moved, bytes: object.len() as u32, objects: 1 })
    }

    #[test]
    fn sound_data_passes_every_level() {
        let (buffer, claim) = filled(4096);
        for level in [TestLevel::All, TestLevel::Basic, TestLevel::None] {
            let (bytes, warnings) = buffer.check(level, &claim).unwrap();
            assert_eq!((bytes, warnings), (&*object(), Vec::new()));
        }
    }

    #[test]
    fn a_wrong_byte_count_is_a_warning() {
        let (buffer, claim) = filled(4096);
        let claim = RawClaim { bytes: claim.bytes + 8, ..claim };
        let (bytes, warnings) = buffer.check(TestLevel::All, &claim).unwrap();
        assert_eq!(bytes, object());
        let moved = claim.moved as usize;
        assert_eq!(warnings, [CollectWarning::ByteCount { claimed: claim.bytes, moved }]);
        assert_eq!(buffer.check(TestLevel::None, &claim).unwrap().1, []);
    }

    #[test]
    fn an_object_that_is_not_aligned_is_a_warning() {
        // Four bytes more in the last counter block.
        let mut odd = object();
        let length = odd.len() + 4;
        let last = odd.len() - 8;
        odd.extend([0; 4]);
        odd[..4].copy_from_slice(&(length as u32).to_le_bytes());
        let block = u32::from_le_bytes(odd[last..last + 4].try_into().unwrap());
        odd[last..last + 4].copy_from_slice(&(block + 4).to_le_bytes());
        let mut buffer = GuardedBuffer::new(4096);
        buffer.body_mut()[..length].copy_from_slice(&odd);
        let claim = RawClaim { moved: length as isize, bytes: length as u32, objects: 1 };
        let (bytes, warnings) = buffer.check(TestLevel::All, &claim).unwrap();
        assert_eq!(bytes, odd);
        assert_eq!(warnings, [CollectWarning::Alignment { object: TitleIndex(2000), length }]);
        assert_eq!(buffer.check(TestLevel::Basic, &claim).unwrap().1, []);
    }

    #[test]
    fn pointers_past_the_buffer() {
        let (buffer, claim) = filled(object().len());
        for level in [TestLevel::All, TestLevel::Basic, TestLevel::None] {
            let check = |moved| buffer.check(level, &RawClaim { moved, ..claim }).unwrap_err();
            let end = claim.moved;
            assert_eq!(check(end + 8), CollectFault::BufferOverrun { by: 8 });
            assert_eq!(check(end + 1024), CollectFault::BufferOverrun { by: 1024 });
            assert_eq!(check(end + 1028), CollectFault::HeapFault { moved: end + 1028 });
            assert_eq!(check(-4), CollectFault::HeapFault { moved: -4 });
        }
    }

    #[test]
    fn written_guards() {
        for (place, at) in [(0, -1024), (1023, -1), (1024 + 4096, 4096), (6143, 5119)] {
            let (mut buffer, claim) = filled(4096);
            buffer.whole_mut()[place] ^= 1;
            let fault = CollectFault::GuardWritten { at };
            assert_eq!(buffer.check(TestLevel::All, &claim).unwrap_err(), fault);
            assert_eq!(buffer.check(TestLevel::Basic, &claim).unwrap_err(), fault);
            assert!(buffer.check(TestLevel::None, &claim).is_ok());
        }
    }

    #[test]
    fn blocks_of_other_machines() {
        let block = |machine: &str| {
            let mut writer = BlockWriter::new();
            writer.start(&BlockHead { system_name: machine, ..BlockHead::default() });
            writer.raw_objects(&object()).unwrap();
            writer.finish().to_vec()
        };
        let both = [block("A"), block("B")];
        let all = both.concat();
        let length = all.len();
        let mut buffer = GuardedBuffer::new(4096);
        buffer.body_mut()[..length].copy_from_slice(&all);
        let claim = RawClaim { moved: length as isize, bytes: length as u32, objects: 2 };
        let (blocks, warnings) = buffer.check_foreign(TestLevel::All, &claim).unwrap();
        assert_eq!((blocks, warnings), (both.iter().map(|b| &b[..]).collect(), Vec::new()));

        let one = RawClaim { objects: 1, ..claim };
        let fault = CollectFault::ObjectCount { found: 2, claimed: 1 };
        assert_eq!(buffer.check_foreign(TestLevel::All, &one).unwrap_err(), fault);
        assert!(buffer.check_foreign(TestLevel::Basic, &one).is_ok());
        // Objects without a header, and a block that ends behind the data.
        let (objects, bare) = filled(4096);
        for level in [TestLevel::All, TestLevel::None] {
            assert!(matches!(objects.check_foreign(level, &bare), Err(CollectFault::Malformed(_))));
        }
        let cut = RawClaim { moved: length as isize - 8, bytes: length as u32 - 8, objects: 2 };
        assert!(buffer.check_foreign(TestLevel::All, &cut).is_err());
        buffer.body_mut()[20..24].copy_from_slice(&0u32.to_le_bytes());
        assert!(buffer.check_foreign(TestLevel::All, &claim).is_err());
    }

    #[test]
    fn a_buffer_is_used_again() {
        let (mut buffer, claim) = filled(4096);
        buffer.reset(4096);
        assert_eq!(buffer.bytes, GuardedBuffer::new(4096).bytes);
        // A long buffer is cleared as far as it was claimed; a short one is cleared whole.
        let mut long = GuardedBuffer::new(1 << 20);
        long.body_mut().fill(7);
        long.note_used(100_000);
        long.reset(1 << 20);
        assert!(long.body_mut()[..100_000].iter().all(|byte| *byte == 0));
        assert_eq!(long.body_mut()[100_000], 7);
        buffer.whole_mut()[0] ^= 1;
        buffer.reset(8192);
        assert_eq!(buffer.len(), 8192);
        assert!(buffer.body_mut().iter().all(|byte| *byte == 0));
        let nothing = RawClaim { moved: 0, bytes: 0, objects: 0 };
        assert_eq!(buffer.check(TestLevel::All, &nothing).unwrap().0, []);
        assert!(buffer.check(TestLevel::All, &claim).is_err());
    }

    #[test]
    fn lengths_that_do_not_add_up() {
        // Level 1 only.
        let spoil = |at: usize, value: u32| {
            let (mut buffer, claim) = filled(4096);
            buffer.body_mut()[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert!(buffer.check(TestLevel::Basic, &claim).is_ok());
            buffer.check(TestLevel::All, &claim).unwrap_err()
        };
        let length = object().len();
        let fault = spoil(0, length as u32 + 8);
        assert_eq!(fault, CollectFault::ObjectLengths { sum: length + 8, bytes: length });
        assert!(matches!(spoil(0, 0), CollectFault::ObjectLengths { .. }));
        assert!(matches!(spoil(0, length as u32 - 2), CollectFault::OddLength { .. }));
        // One instance less than there is: the instances end too early.
        assert!(matches!(spoil(40, 1), CollectFault::InstanceLengths { .. }));
        assert!(matches!(spoil(40, 3), CollectFault::Malformed(_)));

        let (buffer, claim) = filled(4096);
        let claim = RawClaim { objects: 2, ..claim };
        let fault = CollectFault::ObjectCount { found: 1, claimed: 2 };
        assert_eq!(buffer.check(TestLevel::All, &claim).unwrap_err(), fault);
        let odd = RawClaim { moved: claim.moved - 2, ..claim };
        assert!(matches!(
            buffer.check(TestLevel::All, &odd).unwrap_err(),
            CollectFault::OddLength { .. }
        ));
    }
}
