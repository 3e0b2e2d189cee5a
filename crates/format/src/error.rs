//! Errors of blocks, values and writes: small `Copy` types that say what is wrong and where.

use core::fmt;

/// The error of bytes that are not a data block: what is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ParseError {
    /// The kind of the error.
    pub kind: ParseErrorKind,
    /// Byte offset, from the start of the bytes given, of the structure or
    /// field that is wrong.
    pub offset: usize,
    /// The `winperf.h` structure and field that are wrong, e.g. `PERF_OBJECT_TYPE.TotalByteLength`;
    /// the structure alone, e.g. `PERF_DATA_BLOCK`, if the bytes end before the structure does.
    pub field: &'static str,
    /// The value of the field that is wrong. If `field` is a structure alone, or `NumCounters` of
    /// an object, it is the number of bytes that were left for the structure.
    pub value: i64,
}

/// The kinds of [`ParseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The bytes end before a structure does, or before the length that a block or object states.
    Truncated,
    /// The block does not begin with `P\0E\0R\0F\0`.
    BadSignature,
    /// `LittleEndian` is 0: the block was made on a big-endian machine.
    BigEndian,
    /// `Version` or `Revision` is not 1, or `LittleEndian` is neither 0 nor 1.
    UnsupportedVersion,
    /// A length field is smaller than the structure that it measures.
    TooShort,
    /// A length field, or the number of counters, takes more bytes than are left in the surrounding
    /// structure.
    TooLong,
    /// `NumInstances` is a negative number other than those that `winperf.h` names.
    BadInstanceCount,
    /// The number of counters times the number of instances exceeds the number of the object's
    /// bytes. The data of such counters overlaps or is missing, and decoding it would take too much
    /// time for the size of the object.
    TooManyValues,
}

impl ParseError {
    pub(crate) const fn new(
        kind: ParseErrorKind,
        offset: usize,
        field: &'static str,
        value: i64,
    ) -> Self {
        Self { kind, offset, field, value }
    }

    /// The same error with `base` added to its offset, which is then counted from a start `base`
    /// bytes earlier.
    #[must_use]
    pub(crate) const fn at(mut self, base: usize) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the data ends before the structure does",
            Self::BadSignature => "this is not performance data (no PERF signature)",
            Self::BigEndian => "the block was written on a big-endian machine",
            Self::UnsupportedVersion => "only version 1, revision 1 is known",
            Self::TooShort => "a length is smaller than the structure it measures",
            Self::TooLong => "a length points past what holds it",
            Self::BadInstanceCount => "the number of instances makes no sense",
            Self::TooManyValues => "counters times instances outnumber the object's bytes",
        })
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} = {} at offset {:#x})", self.kind, self.field, self.value, self.offset)
    }
}

impl core::error::Error for ParseError {}

/// The reason why one counter has no raw number in one counter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueError {
    /// The counter's data does not lie within this counter block: the provider has no value of the
    /// counter for this instance, or the counter's definition is wrong.
    OutsideBlock {
        /// The end of the counter's data, in bytes from the start of the counter block.
        end: u64,
        /// The length of the counter block, in bytes.
        block: u32,
    },
    /// `CounterSize` is neither 4 nor 8; the raw bytes can still be read by
    /// [`CounterBlock::data`](crate::CounterBlock::data).
    NotANumber {
        /// The size in bytes that the definition states.
        size: u32,
    },
    /// The provider says that this instance has no value of the counter; see
    /// [`CounterType::ABSENT_VALUES`](crate::CounterType::ABSENT_VALUES).
    Absent,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideBlock { end, block } => write!(
                f,
                "no value here: the counter ends at byte {end} of a counter block of {block} bytes"
            ),
            Self::NotANumber { size } => write!(f, "{size} bytes of data are not a number"),
            Self::Absent => f.write_str("no value here"),
        }
    }
}

impl core::error::Error for ValueError {}

/// The reason why a block cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteError {
    /// The block would grow past the writer's limit.
    Full {
        /// The limit in bytes.
        limit: usize,
    },
    /// The number of values differs from the number of counters. If only the first counters are
    /// given values: there are more values than counters, or the counter block would also hold the
    /// data of a counter that is given none.
    ValueCount {
        /// The number of values that the template takes.
        expected: usize,
        /// The number of values given.
        got: usize,
    },
    /// A counter's data begins in the length field of the counter block, or ends at an offset that
    /// does not fit in 32 bits.
    BadLayout {
        /// The index (from 0) of the counter among those of the template.
        counter: usize,
    },
    /// Instances were added to an object without instances, an object with instances was given a
    /// counter block for the object itself, or the object already has other content.
    MixedLayouts,
    /// An object without instances was finished without its values.
    NoValues,
    /// The name cannot be written in the object's code page, ends in half a UTF-16 unit, or holds a
    /// NUL, which readers take for its end.
    BadName,
    /// The definitions of a template, or its counter block, are too long for a 32-bit length.
    TooLong,
    /// The number of counters times the number of instances exceeds the number of the object's
    /// bytes. A reader refuses such an object.
    TooManyValues,
    /// The bytes given as whole objects are not a sequence of objects; the error of the parser says
    /// why.
    NotObjects(ParseError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { limit } => write!(f, "the block would exceed its limit of {limit} bytes"),
            Self::ValueCount { expected, got } => {
                write!(f, "{got} values for {expected} counters")
            }
            Self::BadLayout { counter } => {
                write!(f, "counter {counter} has an impossible size or offset")
            }
            Self::MixedLayouts => {
                f.write_str("an object has either instances or one counter block, not both")
            }
            Self::NoValues => f.write_str("an object without instances needs its values"),
            Self::BadName => f.write_str("the name does not fit the object's code page"),
            Self::TooLong => f.write_str("a length does not fit in 32 bits"),
            Self::TooManyValues => {
                f.write_str("counters times instances outnumber the object's bytes")
            }
            Self::NotObjects(error) => write!(f, "not a sequence of objects: {error}"),
        }
    }
}

impl core::error::Error for WriteError {}
