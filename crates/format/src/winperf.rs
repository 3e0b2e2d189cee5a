//! The constants and structures of `winperf.h` under their own names.
//!
//! Layouts: Windows SDK, `winperf.h`. Its pointer members (`ObjectNameTitle`,
//! `CounterNameTitle`, ...) are 32 bits wide on every Windows and carry nothing;
//! they are kept so that a structure read and written again stays the same.
//! All integers are little endian in a block that perfhive reads or writes.
#![allow(non_camel_case_types, non_snake_case, reason = "the names are those of winperf.h")]

use crate::bytes::{i32_at, i64_at, put, u16_at, u32_at};

/// The description of a structure of this module, for headers in other languages.
#[derive(Clone, Copy, Debug)]
pub struct StructLayout {
    /// The name of the structure.
    pub name: &'static str,
    /// The size of the structure in bytes.
    pub size: usize,
    /// What the structure is, one text for each line.
    pub doc: &'static [&'static str],
    /// The fields of the structure, in order.
    pub fields: &'static [FieldLayout],
}

/// A field of a [`StructLayout`].
#[derive(Clone, Copy, Debug)]
pub struct FieldLayout {
    /// The name of the field.
    pub name: &'static str,
    /// The type of the field: `u16`, `u32`, `i32`, `i64`, `WCHAR4` or `SYSTEMTIME`.
    pub kind: &'static str,
    /// The offset of the field in the structure, in bytes.
    pub offset: usize,
    /// What the field means, one text for each line.
    pub doc: &'static [&'static str],
}

/// A constant of this module: its name, its value, and what it is, one text for each line.
pub type Constant = (&'static str, u32, &'static [&'static str]);

macro_rules! structure {
    (
        $(#[doc = $doc:literal])*
        $name:ident, $size:literal {
            $( $(#[doc = $fdoc:literal])* $field:ident : $ty:tt @ $at:literal ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $fdoc])* pub $field: $ty, )+
        }

        impl $name {
            /// Size of the structure in bytes.
            pub const SIZE: usize = $size;

            /// The layout of the structure, for headers in other languages.
            pub const LAYOUT: StructLayout = StructLayout {
                name: stringify!($name),
                size: $size,
                doc: &[$($doc),*],
                fields: &[$( FieldLayout {
                    name: stringify!($field),
                    kind: stringify!($ty),
                    offset: $at,
                    doc: &[$($fdoc),*],
                }, )+],
            };

            /// Reads the structure from the start of `bytes`; `None` if there are too few bytes.
            #[must_use]
            pub fn read(bytes: &[u8]) -> Option<Self> {
                let bytes = bytes.get(..Self::SIZE)?;
                Some(Self { $( $field: structure!(@read $ty, bytes, $at), )+ })
            }

            /// Writes the structure to the start of `bytes`, with zeros as padding; `None`, and
            /// nothing written, if there are too few bytes.
            pub fn write(&self, bytes: &mut [u8]) -> Option<()> {
                let bytes = bytes.get_mut(..Self::SIZE)?;
                bytes.fill(0);
                $( structure!(@write $ty, bytes, $at, self.$field); )+
                Some(())
            }

            /// Name, offset and value of every field, for dumps. A time is given by its year, a
            /// signature by its first unit.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, usize, i128)> + use<> {
                [ $( (stringify!($field), $at, structure!(@int $ty, self.$field)), )+ ].into_iter()
            }
        }
    };
    (@read u32, $b:ident, $at:literal) => { u32_at($b, $at) };
    (@read i32, $b:ident, $at:literal) => { i32_at($b, $at) };
    (@read i64, $b:ident, $at:literal) => { i64_at($b, $at) };
    (@read SYSTEMTIME, $b:ident, $at:literal) => {
        SYSTEMTIME::read($b.get($at..).unwrap_or_default()).unwrap_or_default()
    };
    (@read WCHAR4, $b:ident, $at:literal) => {
        [u16_at($b, $at), u16_at($b, $at + 2), u16_at($b, $at + 4), u16_at($b, $at + 6)]
    };
    (@read u16, $b:ident, $at:literal) => { u16_at($b, $at) };
    (@write SYSTEMTIME, $b:ident, $at:literal, $v:expr) => {
        if let Some(rest) = $b.get_mut($at..) { let _ = $v.write(rest); }
    };
    (@write WCHAR4, $b:ident, $at:literal, $v:expr) => {
        for (place, unit) in $b.iter_mut().skip($at).zip($v.iter().flat_map(|u| u.to_le_bytes())) {
            *place = unit;
        }
    };
    (@write $ty:tt, $b:ident, $at:literal, $v:expr) => { put($b, $at, $v.to_le_bytes()); };
    (@int SYSTEMTIME, $v:expr) => { i128::from($v.wYear) };
    (@int WCHAR4, $v:expr) => { i128::from($v[0]) };
    (@int $ty:tt, $v:expr) => { i128::from($v) };
}

/// Four UTF-16 units, the signature of a block.
pub type WCHAR4 = [u16; 4];

structure! {
    /// A date and time, UTC in a data block.
    SYSTEMTIME, 16 {
        /// Year.
        wYear: u16 @ 0,
        /// Month, 1 to 12.
        wMonth: u16 @ 2,
        /// Day of the week, 0 is Sunday.
        wDayOfWeek: u16 @ 4,
        /// Day of the month.
        wDay: u16 @ 6,
        /// Hour.
        wHour: u16 @ 8,
        /// Minute.
        wMinute: u16 @ 10,
        /// Second.
        wSecond: u16 @ 12,
        /// Milliseconds.
        wMilliseconds: u16 @ 14,
    }
}

structure! {
    /// The header of a data block.
    PERF_DATA_BLOCK, 88 {
        /// `P`, `E`, `R`, `F`.
        Signature: WCHAR4 @ 0,
        /// 1: integers are little endian. 0: big endian.
        LittleEndian: u32 @ 8,
        /// Version of the structures, 1.
        Version: u32 @ 12,
        /// Revision of the structures, 1.
        Revision: u32 @ 16,
        /// Length of the block in bytes; in a block of Samba, without the header.
        TotalByteLength: u32 @ 20,
        /// Length of the header and of the system name behind it; the first
        /// object begins here.
        HeaderLength: u32 @ 24,
        /// Number of objects.
        NumObjectTypes: u32 @ 28,
        /// Title index of the object that a tool should show first; -1 if none.
        DefaultObject: i32 @ 32,
        /// When the block was made, UTC.
        SystemTime: SYSTEMTIME @ 36,
        /// The performance counter, in ticks of `PerfFreq`.
        PerfTime: i64 @ 56,
        /// Ticks a second of `PerfTime`.
        PerfFreq: i64 @ 64,
        /// When the block was made, in units of 100 ns since the start of 1601, UTC.
        PerfTime100nSec: i64 @ 72,
        /// Length in bytes of the system's name.
        SystemNameLength: u32 @ 80,
        /// Where the system's name begins, from the start of the block.
        SystemNameOffset: u32 @ 84,
    }
}

structure! {
    /// The header of an object.
    PERF_OBJECT_TYPE, 64 {
        /// Length of the object with everything in it.
        TotalByteLength: u32 @ 0,
        /// Length of header and counter definitions: instances or the counter
        /// block begin here.
        DefinitionLength: u32 @ 4,
        /// Length of this header; the first counter definition begins here.
        HeaderLength: u32 @ 8,
        /// Title index of the object's name.
        ObjectNameTitleIndex: u32 @ 12,
        /// Unused.
        ObjectNameTitle: u32 @ 16,
        /// Title index of the object's help text.
        ObjectHelpTitleIndex: u32 @ 20,
        /// Unused.
        ObjectHelpTitle: u32 @ 24,
        /// Level of detail: 100 novice to 400 wizard.
        DetailLevel: u32 @ 28,
        /// Number of counter definitions.
        NumCounters: u32 @ 32,
        /// Index (from 0) of the counter that a tool should show first; -1 if none.
        DefaultCounter: i32 @ 36,
        /// Number of instances, [`PERF_NO_INSTANCES`] for an object that never has any, or
        /// -2 or -3 for a bare definition.
        NumInstances: i32 @ 40,
        /// Code page of the instance names, 0 is UTF-16.
        CodePage: u32 @ 44,
        /// The object's own clock.
        PerfTime: i64 @ 48,
        /// Ticks a second of the object's clock.
        PerfFreq: i64 @ 56,
    }
}

structure! {
    /// The definition of a counter.
    PERF_COUNTER_DEFINITION, 40 {
        /// Length of this definition.
        ByteLength: u32 @ 0,
        /// Title index of the counter's name.
        CounterNameTitleIndex: u32 @ 4,
        /// Unused.
        CounterNameTitle: u32 @ 8,
        /// Title index of the counter's help text.
        CounterHelpTitleIndex: u32 @ 12,
        /// Unused.
        CounterHelpTitle: u32 @ 16,
        /// Power of ten by which a chart should scale the value.
        DefaultScale: i32 @ 20,
        /// Level of detail: 100 novice to 400 wizard.
        DetailLevel: u32 @ 24,
        /// The counter type.
        CounterType: u32 @ 28,
        /// Size in bytes of the counter's data.
        CounterSize: u32 @ 32,
        /// Where the data begins, from the start of the counter block.
        CounterOffset: u32 @ 36,
    }
}

structure! {
    /// The definition of an instance.
    PERF_INSTANCE_DEFINITION, 24 {
        /// Length of this definition with the name; the counter block follows.
        ByteLength: u32 @ 0,
        /// Title index of the object in which the parent is, 0 if none.
        ParentObjectTitleIndex: u32 @ 4,
        /// Index (from 0) of the parent among the instances of that object.
        ParentObjectInstance: u32 @ 8,
        /// A number that identifies the instance, or [`PERF_NO_UNIQUE_ID`].
        UniqueID: i32 @ 12,
        /// Where the name begins, from the start of this definition.
        NameOffset: u32 @ 16,
        /// Length in bytes of the name with its terminator.
        NameLength: u32 @ 20,
    }
}

structure! {
    /// The head of the raw counter data of an instance or object.
    PERF_COUNTER_BLOCK, 4 {
        /// Length of the block with this field.
        ByteLength: u32 @ 0,
    }
}

/// `NumInstances` of an object that never has instances and therefore has one counter block.
pub const PERF_NO_INSTANCES: i32 = -1;
/// `NumInstances` of an object with instances of which the block holds only the definition (Windows
/// 10 20H1 and later).
pub const PERF_METADATA_MULTIPLE_INSTANCES: i32 = -2;
/// `NumInstances` of an object without instances of which the block holds only the definition
/// (Windows 10 20H1 and later).
pub const PERF_METADATA_NO_INSTANCES: i32 = -3;
/// `UniqueID` of an instance that is identified by its name.
pub const PERF_NO_UNIQUE_ID: i32 = -1;

/// Detail level: for everyone.
pub const PERF_DETAIL_NOVICE: u32 = 100;
/// Detail level: for advanced users.
pub const PERF_DETAIL_ADVANCED: u32 = 200;
/// Detail level: for experts.
pub const PERF_DETAIL_EXPERT: u32 = 300;
/// Detail level: for the system's designers.
pub const PERF_DETAIL_WIZARD: u32 = 400;

macro_rules! constants {
    ($( $(#[doc = $doc:literal])* $name:ident = $value:literal; )+) => {
        $( $(#[doc = $doc])* pub const $name: u32 = $value; )+

        /// The constants of the facets of counter types, with their descriptions.
        pub const FACETS: &[Constant] = &[$( (stringify!($name), $value, &[$($doc),*]), )+];
    };
}

constants! {
    /// Mask of the size facet.
    PERF_SIZE_MASK = 0x0000_0300;
    /// 32-bit data.
    PERF_SIZE_DWORD = 0x0000_0000;
    /// 64-bit data.
    PERF_SIZE_LARGE = 0x0000_0100;
    /// No data.
    PERF_SIZE_ZERO = 0x0000_0200;
    /// Data whose length the definition states.
    PERF_SIZE_VARIABLE_LEN = 0x0000_0300;
    /// Mask of the kind facet.
    PERF_TYPE_MASK = 0x0000_0C00;
    /// A number shown as it is.
    PERF_TYPE_NUMBER = 0x0000_0000;
    /// A number to be calculated with.
    PERF_TYPE_COUNTER = 0x0000_0400;
    /// Text.
    PERF_TYPE_TEXT = 0x0000_0800;
    /// A field without a value.
    PERF_TYPE_ZERO = 0x0000_0C00;
    /// Mask of the subtype; three bits, for the precision types use the third.
    PERF_SUBTYPE_MASK = 0x0007_0000;
    /// A number shown in hexadecimal.
    PERF_NUMBER_HEX = 0x0000_0000;
    /// A number shown in decimal.
    PERF_NUMBER_DECIMAL = 0x0001_0000;
    /// A number shown divided by 1000.
    PERF_NUMBER_DEC_1000 = 0x0002_0000;
    /// The counter's value itself.
    PERF_COUNTER_VALUE = 0x0000_0000;
    /// The change between two samples, divided by the time between them.
    PERF_COUNTER_RATE = 0x0001_0000;
    /// The value, or its change between two samples, divided by a base.
    PERF_COUNTER_FRACTION = 0x0002_0000;
    /// The base of the counter before it.
    PERF_COUNTER_BASE = 0x0003_0000;
    /// A start time, subtracted from now.
    PERF_COUNTER_ELAPSED = 0x0004_0000;
    /// The average length of a queue between two samples.
    PERF_COUNTER_QUEUELEN = 0x0005_0000;
    /// A histogram; no formula is documented.
    PERF_COUNTER_HISTOGRAM = 0x0006_0000;
    /// The change between two samples, divided by the change of a private clock, the base that
    /// follows.
    PERF_COUNTER_PRECISION = 0x0007_0000;
    /// Text in UTF-16.
    PERF_TEXT_UNICODE = 0x0000_0000;
    /// Text in the code page of the object.
    PERF_TEXT_ASCII = 0x0001_0000;
    /// Mask of the timer facet.
    PERF_TIMER_MASK = 0x0030_0000;
    /// The system's performance counter.
    PERF_TIMER_TICK = 0x0000_0000;
    /// The system's time in 100 ns units.
    PERF_TIMER_100NS = 0x0010_0000;
    /// The object's own clock.
    PERF_OBJECT_TIMER = 0x0020_0000;
    /// Two samples are subtracted.
    PERF_DELTA_COUNTER = 0x0040_0000;
    /// The bases of two samples are subtracted.
    PERF_DELTA_BASE = 0x0080_0000;
    /// The value is the whole less what is counted.
    PERF_INVERSE_COUNTER = 0x0100_0000;
    /// The value is a sum over several items.
    PERF_MULTI_COUNTER = 0x0200_0000;
    /// Mask of the display facet.
    PERF_DISPLAY_MASK = 0x7000_0000;
    /// Shown without a suffix.
    PERF_DISPLAY_NO_SUFFIX = 0x0000_0000;
    /// Shown with `/sec`.
    PERF_DISPLAY_PER_SEC = 0x1000_0000;
    /// Shown with `%`.
    PERF_DISPLAY_PERCENT = 0x2000_0000;
    /// Shown with `sec`.
    PERF_DISPLAY_SECONDS = 0x3000_0000;
    /// Not shown.
    PERF_DISPLAY_NOSHOW = 0x4000_0000;
}

/// Title index of the Process object.
pub const PROCESS: u32 = 230;
/// Title index of the Thread object.
pub const THREAD: u32 = 232;
/// Title index of `ID Process`.
pub const ID_PROCESS: u32 = 784;
/// Title index of `ID Thread`.
pub const ID_THREAD: u32 = 804;
/// Title index of `Elapsed Time`.
pub const ELAPSED_TIME: u32 = 684;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_survive_a_round_trip() {
        let mut bytes = [0u8; 88];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = at as u8;
        }
        let block = PERF_DATA_BLOCK::read(&bytes).unwrap();
        let mut again = [0xffu8; 88];
        block.write(&mut again).unwrap();
        // Bytes 52 to 55 are padding.
        bytes[52..56].fill(0);
        assert_eq!(bytes, again);
        assert!(PERF_DATA_BLOCK::read(&bytes[..87]).is_none());
        assert!(block.write(&mut again[..87]).is_none());
        assert_eq!(block.fields().count(), 14);
    }
}
