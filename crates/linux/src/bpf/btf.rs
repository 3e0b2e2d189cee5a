//! Walks the types of BTF data. These are the types of the running kernel when the program is
//! loaded, and the types of the program itself when it is built: the build script includes this
//! file, too.

/// The number of the kind "function" in BTF data.
pub(crate) const FUNCTION: u32 = 12;

/// A function that reads a number in the byte order of the data.
pub(crate) type Read = fn([u8; 4]) -> u32;

/// A walk through the types of BTF data: the data, and the types that are left.
pub(crate) struct Types<'a> {
    data: &'a [u8],
    read: Read,
    next: usize,
    end: usize,
    strings: usize,
}

/// A type: its position in the data, its kind, the number of its members (for a function, its
/// linkage), and its name.
pub(crate) type Type<'a> = (usize, u32, u32, &'a [u8]);

impl<'a> Types<'a> {
    /// The types of BTF data, with `read` for its numbers; `None` if the bytes are no BTF data.
    pub(crate) fn of(data: &'a [u8], read: Read) -> Option<Self> {
        let mut types = Self { data, read, next: 0, end: 0, strings: 0 };
        if !matches!(data.get(..2)?, [0x9f, 0xeb] | [0xeb, 0x9f]) {
            return None;
        }
        let [header, from, length, strings] =
            [4, 8, 12, 16].map(|at| types.number(at).and_then(|n| usize::try_from(n).ok()));
        types.next = header?.checked_add(from?)?;
        types.end = types.next.checked_add(length?)?.min(data.len());
        types.strings = header?.checked_add(strings?)?;
        Some(types)
    }

    fn number(&self, at: usize) -> Option<u32> {
        self.data.get(at..)?.first_chunk().map(|bytes| (self.read)(*bytes))
    }

    /// The text at an offset of the data's strings, up to its zero or the end of the data; `None`
    /// if the offset is beyond the data.
    fn text(&self, at: u32) -> Option<&'a [u8]> {
        let begin = self.strings.checked_add(usize::try_from(at).ok()?)?;
        let rest = self.data.get(begin..)?;
        rest.split(|byte| *byte == 0).next()
    }
}

impl<'a> Iterator for Types<'a> {
    type Item = Type<'a>;

    fn next(&mut self) -> Option<Type<'a>> {
        let at = self.next;
        let (name, info) = (self.number(at)?, self.number(at + 4)?);
        let (kind, count) = (info >> 24 & 0x1f, info & 0xffff);
        let each = |bytes| count as usize * bytes;
        let more = match kind {
            1 | 14 | 17 => 4,
            3 => 12,
            4 | 5 | 15 | 19 => each(12),
            6 | 13 => each(8),
            _ => 0,
        };
        self.next = at + 12 + more;
        let ends = self.next <= self.end;
        ends.then_some((at, kind, count, self.text(name)?))
    }
}
