//! What can be wrong with a block, a value or a write: small, copyable facts.

use core::fmt;

/// Why bytes are not a data block: what is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Byte offset, from the start of the bytes given, of the structure or
    /// field that is wrong.
    pub offset: usize,
    /// The `winperf.h` structure and field concerned, e.g.
    /// `PERF_OBJECT_TYPE.TotalByteLength`.
    pub field: &'static str,
    /// The value found there.
    pub value: i64,
}

/// The kinds of [`ParseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The bytes end before the structure does.
    Truncated,
    /// The block does not begin with `P\0E\0R\0F\0`.
    BadSignature,
    /// `LittleEndian` is 0: the block was made on a big-endian machine.
    BigEndian,
    /// `Version` or `Revision` is not 1.
    UnsupportedVersion,
    /// A length is smaller than the structure it measures.
    TooShort,
    /// A length or offset points past what holds it.
    TooLong,
    /// `NumInstances` is a negative number without a meaning.
    BadInstanceCount,
    /// Counters times instances outnumber the object's bytes, which only
    /// overlapping or missing data can do; decoding it would take time out of
    /// proportion.
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

    /// The same error with its offset counted from `base` bytes earlier.
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

/// Why one counter has no raw number in one counter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueError {
    /// The counter lies outside this instance's counter block: the provider
    /// has no value of it for this instance, or its definition is wrong.
    OutsideBlock {
        /// Where the counter's data ends, from the start of the counter block.
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
    /// The counter needs a base, and the next definition is not a base.
    NoBase,
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
            Self::NoBase => f.write_str("the counter's base is missing"),
            Self::Absent => f.write_str("no value here"),
        }
    }
}

impl core::error::Error for ValueError {}

/// Why a block cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteError {
    /// The block would grow past the writer's limit.
    Full {
        /// The limit in bytes.
        limit: usize,
    },
    /// The number of values differs from the number of counters.
    ValueCount {
        /// Values that the template takes.
        expected: usize,
        /// Values given.
        got: usize,
    },
    /// A counter's size and offset lie outside what `PERF_COUNTER_BLOCK` can
    /// hold, or offsets of its own overlap the block's length field.
    BadLayout {
        /// The counter's place among the template's counters.
        counter: usize,
    },
    /// Instances and a single counter block were mixed in one object.
    MixedLayouts,
    /// An object without instances was finished without its values.
    NoValues,
    /// The name cannot be written in the object's code page, or has a NUL in
    /// it, where every reader would take it to end.
    BadName,
    /// A length does not fit the 32-bit fields of the format.
    TooLong,
    /// Counters times instances outnumber the object's bytes, which a reader
    /// refuses: nearly all values were left out.
    TooManyValues,
    /// The bytes given as whole objects are not objects; the parser's error says why.
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
