//! A walk through a data block that may be damaged.
//!
//! `DataBlock::scan` and, for each object, `PerfObject::parse` decide what is damaged, and where. The walk follows
//! the lengths in the block as far as they are possible, so that everything before and behind a damage is shown.

mod objects;

use super::meaning;
use perfhive::TitleSet;
use perfhive::format::winperf::{PERF_DATA_BLOCK, SYSTEMTIME};
use perfhive::format::{DataBlock, InstanceName, ParseError, ParseErrorKind};
use std::rc::Rc;

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The beginning of a structure.
    Structure,
    /// A field of a structure.
    Field,
    /// Data that belongs to no known structure.
    Bytes,
    /// A message about damage.
    Damage,
}

/// The names of the object and of the instance to which an item belongs; `None` where it belongs to none.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemAddress {
    pub(super) object: Option<Rc<str>>,
    pub(super) instance: Option<Rc<str>>,
}

/// An item of a block, which the walk passes to its sink.
pub(super) struct Item<'a> {
    pub(super) kind: Kind,
    pub(super) offset: usize,
    pub(super) size: usize,
    /// The bytes of the item; empty for a structure, since its fields follow.
    pub(super) bytes: &'a [u8],
    pub(super) structure: &'static str,
    pub(super) field: Rc<str>,
    pub(super) number: Option<i128>,
    pub(super) text: String,
    pub(super) meaning: String,
    pub(super) place: ItemAddress,
    pub(super) counter: Option<Rc<str>>,
}

type Sink<'s> = &'s mut dyn FnMut(&Item<'_>);

/// A walk through a data block.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    titles: &'a TitleSet,
    place: ItemAddress,
    /// The damages at places that the walk has not reached yet.
    ahead: Vec<ParseError>,
    /// The messages about all damages so far.
    damages: Vec<String>,
    /// The number of counters so far that lie outside their counter block.
    valueless: usize,
}

/// The result of a walk.
pub(super) struct Findings {
    /// The messages about all damages.
    pub(super) damages: Vec<String>,
    /// The number of counters that lie outside their counter block, which is not damage.
    pub(super) valueless: usize,
}

/// The little-endian number at an offset; `None` if the data ends before its last byte.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let chunk = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*chunk))
}

/// The number at an offset, as [`u32_at`] reads it, for a length or an offset.
fn len_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32_at(bytes, at)?).ok()
}

impl<'a> Walk<'a> {
    pub(super) fn new(bytes: &'a [u8], titles: &'a TitleSet) -> Self {
        Self {
            bytes,
            titles,
            place: ItemAddress::default(),
            ahead: Vec::new(),
            damages: Vec::new(),
            valueless: 0,
        }
    }

    /// Walks through the block and calls `sink` with each item; returns the damages that were found. Of data that
    /// is no block, or a block in the other byte order, only the header is shown in its parts.
    pub(super) fn run(mut self, sink: Sink<'_>) -> Findings {
        let verdict = DataBlock::scan(self.bytes);
        if let Err(error) = &verdict {
            self.expect(*error);
        }
        self.header(sink);
        // Of a block in the other byte order, and of data that is no block, only the header
        // is shown.
        let hopeless = verdict.is_err_and(|error| {
            matches!(error.kind, ParseErrorKind::BadSignature | ParseErrorKind::BigEndian)
        });
        let start = len_at(self.bytes, 24).filter(|start| *start >= PERF_DATA_BLOCK::SIZE);
        let end = match start.filter(|start| *start <= self.bytes.len() && !hopeless) {
            Some(start) => self.objects(start, sink),
            None => PERF_DATA_BLOCK::SIZE.min(self.bytes.len()),
        };
        self.place = ItemAddress::default();
        if end < self.bytes.len() {
            let what =
                if hopeless { "that are not a data block" } else { "behind the last object" };
            self.plain(end, self.bytes.len(), what, sink);
        }
        // The damages that lie in none of the items.
        for error in std::mem::take(&mut self.ahead) {
            self.damage(&error, sink);
        }
        Findings { damages: self.damages, valueless: self.valueless }
    }

    /// Keeps a damage until the walk reaches its place.
    fn expect(&mut self, error: ParseError) {
        self.ahead.push(error);
    }

    /// Passes an item to the sink, and then the damages that lie in it. The damages of a structure
    /// are passed with the fields in which they lie.
    fn emit(&mut self, item: &Item<'_>, sink: Sink<'_>) {
        sink(item);
        if item.kind == Kind::Structure {
            return;
        }
        let inside = |error: &ParseError| {
            (item.offset..item.offset + item.size.max(1)).contains(&error.offset)
        };
        let (here, ahead): (Vec<_>, Vec<_>) = self.ahead.drain(..).partition(inside);
        self.ahead = ahead;
        for error in here {
            self.damage(&error, sink);
        }
    }

    /// Notes a damage, and passes its message to the sink.
    fn damage(&mut self, error: &ParseError, sink: Sink<'_>) {
        let text = error.to_string();
        self.damages.push(text.clone());
        sink(&Item { text, ..self.item(Kind::Damage, error.offset, 0, "") });
    }

    fn item(&self, kind: Kind, offset: usize, size: usize, structure: &'static str) -> Item<'a> {
        Item {
            kind,
            offset,
            size,
            bytes: &[],
            structure,
            field: "".into(),
            number: None,
            text: String::new(),
            meaning: String::new(),
            place: self.place.clone(),
            counter: None,
        }
    }

    fn structure(
        &mut self,
        at: usize,
        size: usize,
        name: &'static str,
        text: String,
        sink: Sink<'_>,
    ) {
        let item = Item { text, ..self.item(Kind::Structure, at, size, name) };
        self.emit(&item, sink);
    }

    /// Passes a range of bytes to the sink as unknown data, unless it is empty.
    fn plain(&mut self, from: usize, to: usize, what: &str, sink: Sink<'_>) {
        let bytes = self.bytes.get(from..to).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        let item =
            Item { bytes, text: what.to_string(), ..self.item(Kind::Bytes, from, bytes.len(), "") };
        self.emit(&item, sink);
    }

    /// Passes the fields of a structure to the sink, as far as the data goes. If the data ends within a field, the
    /// rest is passed as unknown data.
    fn fields(
        &mut self,
        at: usize,
        structure: &'static str,
        size: usize,
        fields: impl Iterator<Item = (&'static str, usize, i128)>,
        sink: Sink<'_>,
    ) {
        let fields: Vec<_> = fields.collect();
        let ends = fields.iter().skip(1).map(|(_, offset, _)| *offset).chain([size]);
        for ((name, offset, value), end) in fields.iter().copied().zip(ends) {
            let end = if name == "SystemTime" { offset + SYSTEMTIME::SIZE } else { end };
            let Some(bytes) = self.bytes.get(at + offset..at + end) else {
                let rest = self.bytes.len();
                self.plain(at + offset, rest, "are all that is left", sink);
                return;
            };
            if name == "SystemTime" {
                self.system_time(at + offset, bytes, sink);
                continue;
            }
            let mut item = Item {
                bytes,
                field: name.into(),
                number: Some(value),
                meaning: meaning::of(self.titles, structure, name, value),
                ..self.item(Kind::Field, at + offset, bytes.len(), structure)
            };
            if name == "Signature" {
                item.number = None;
                item.text = InstanceName::new(bytes, 0).to_text();
            }
            self.emit(&item, sink);
        }
    }

    fn system_time(&mut self, at: usize, bytes: &'a [u8], sink: Sink<'_>) {
        let time = SYSTEMTIME::read(bytes).unwrap_or_default();
        for (name, offset, value) in time.fields() {
            let item = Item {
                bytes: bytes.get(offset..offset + 2).unwrap_or_default(),
                field: format!("SystemTime.{name}").into(),
                number: Some(value),
                ..self.item(Kind::Field, at + offset, 2, "PERF_DATA_BLOCK")
            };
            self.emit(&item, sink);
        }
    }

    /// The `N` bytes at an offset; bytes behind the end of the data are 0.
    fn padded<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut padded = [0; N];
        let bytes = self.bytes.get(at..).unwrap_or_default();
        for (place, byte) in padded.iter_mut().zip(bytes) {
            *place = *byte;
        }
        padded
    }

    fn header(&mut self, sink: Sink<'_>) {
        const NAME: &str = "PERF_DATA_BLOCK";
        const SIZE: usize = PERF_DATA_BLOCK::SIZE;
        let header = PERF_DATA_BLOCK::read(&self.padded::<SIZE>(0)).unwrap_or_default();
        self.structure(
            0,
            (header.HeaderLength as usize).min(self.bytes.len()),
            NAME,
            String::new(),
            sink,
        );
        self.fields(0, NAME, SIZE, header.fields(), sink);
        let from = header.SystemNameOffset as usize;
        let to = from.saturating_add(header.SystemNameLength as usize);
        let Some(bytes) = self.bytes.get(from..to).filter(|bytes| !bytes.is_empty()) else {
            return;
        };
        if from >= SIZE {
            let item = Item {
                bytes,
                field: "SystemName".into(),
                text: InstanceName::new(bytes, 0).to_text(),
                ..self.item(Kind::Field, from, bytes.len(), NAME)
            };
            self.emit(&item, sink);
        }
    }
}
