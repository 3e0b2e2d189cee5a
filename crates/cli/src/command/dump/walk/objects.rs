//! The walk through the objects of a block.

use super::{Item, ItemAddress, Kind, Sink, Walk, len_at, u32_at};
use perfhive::format::winperf::{
    PERF_COUNTER_BLOCK, PERF_COUNTER_DEFINITION, PERF_INSTANCE_DEFINITION, PERF_NO_INSTANCES,
    PERF_OBJECT_TYPE,
};
use perfhive::format::{CounterKind, InstanceName, PerfObject, TextEncoding};
use perfhive::{CounterType, TitleIndex};
use std::rc::Rc;

/// The parts of a counter definition that reading a value needs.
struct Counter {
    name: Rc<str>,
    counter_type: CounterType,
    offset: usize,
    size: usize,
}

/// The most bytes that a search for sound objects examines. Bytes that are examined twice count twice.
const PATIENCE: usize = 64 << 20;

impl<'a> Walk<'a> {
    /// Passes the objects, of which the first begins at the offset `start`, to the sink. Where the length of one is
    /// damaged, the walk goes on at the next sound object. Returns the offset up to which the data was passed.
    pub(super) fn objects(&mut self, start: usize, sink: Sink<'_>) -> usize {
        let count = u32_at(self.bytes, 28).unwrap_or(0);
        let mut at = start;
        let mut patience = PATIENCE;
        for number in 0..count {
            if at >= self.bytes.len() {
                self.missing_objects(at, count - number, sink);
                break;
            }
            let rest = self.bytes.get(at..).unwrap_or_default();
            let verdict = PerfObject::parse(rest);
            if let Err(mut error) = verdict {
                error.offset += at;
                self.expect(error);
            }
            let length = len_at(rest, 0)
                .filter(|length| (PERF_OBJECT_TYPE::SIZE..=rest.len()).contains(length));
            let limit = at + length.unwrap_or(rest.len());
            let reached = self.object(at, limit, sink);
            let Some(length) = length else {
                // The object's length is damaged, so that the next object must be searched for.
                let next = self.next_sound_object(reached, &mut patience);
                let what = if next.is_some() { "between objects" } else { "left at the end" };
                self.plain(reached, next.unwrap_or(self.bytes.len()), what, sink);
                match next {
                    Some(next) => at = next,
                    None => return self.bytes.len(),
                }
                continue;
            };
            at += length;
            if reached < at {
                let what = if verdict.is_ok() { "of padding" } else { "of this object left" };
                self.plain(reached, at, what, sink);
            }
        }
        at
    }

    /// Notes that the data ends at offset `at`, where `count` more objects should begin, and passes
    /// the message to the sink.
    fn missing_objects(&mut self, at: usize, count: u32, sink: Sink<'_>) {
        let text = match count {
            1 => "the data ends where another object should begin".to_string(),
            count => format!("the data ends where {count} more objects should begin"),
        };
        // The damage is reported even if the scan of the whole block has already reported one.
        self.damages.push(format!("{text} (at offset {at:#x})"));
        sink(&Item { text, ..self.item(Kind::Damage, at, 0, "") });
    }

    /// The offset (a multiple of 4) of the next object, at `from` or behind it, that has counters and is sound from its
    /// first byte to its last; `None` if there is none, or if `patience` is used up. `patience` is the number of bytes
    /// that may still be examined, and is lowered here.
    fn next_sound_object(&self, from: usize, patience: &mut usize) -> Option<usize> {
        let mut at = from.next_multiple_of(4);
        while at + PERF_OBJECT_TYPE::SIZE <= self.bytes.len() {
            let rest = self.bytes.get(at..)?;
            // First the header is checked, since parsing the rest takes time.
            let length = len_at(rest, 0)?;
            if (PERF_OBJECT_TYPE::SIZE..=rest.len()).contains(&length)
                && len_at(rest, 8) == Some(PERF_OBJECT_TYPE::SIZE)
            {
                if PerfObject::parse(rest).is_ok_and(|object| object.counter_count() > 0) {
                    return Some(at);
                }
                *patience = patience.checked_sub(length)?;
            }
            at += 4;
        }
        None
    }

    fn name(&self, index: u32) -> Rc<str> {
        self.titles.name_or_index(TitleIndex(index)).into()
    }

    /// Passes one object to the sink; it ends at offset `limit` at the latest. Returns the offset where its
    /// readable part ends.
    fn object(&mut self, at: usize, limit: usize, sink: Sink<'_>) -> usize {
        const NAME: &str = "PERF_OBJECT_TYPE";
        const SIZE: usize = PERF_OBJECT_TYPE::SIZE;
        let header = PERF_OBJECT_TYPE::read(&self.padded::<SIZE>(at)).unwrap_or_default();
        let name = self.name(header.ObjectNameTitleIndex);
        self.place = ItemAddress { object: Some(Rc::clone(&name)), instance: None };
        self.structure(at, limit - at, NAME, name.to_string(), sink);
        self.fields(at, NAME, SIZE, header.fields(), sink);
        if self.bytes.len() < at + SIZE {
            return self.bytes.len();
        }
        let header_end = at.saturating_add(header.HeaderLength as usize);
        if header_end < at + SIZE || header_end > limit {
            return at + SIZE;
        }
        let defined = at.saturating_add(header.DefinitionLength as usize);
        let sensible = (header_end..=limit).contains(&defined);
        let definitions_limit = if sensible { defined } else { limit };
        let (counters, reached) =
            self.definitions(header_end, definitions_limit, header.NumCounters, sink);
        if !sensible {
            return reached;
        }
        if reached < defined {
            self.plain(reached, defined, "of definitions left", sink);
        }
        match header.NumInstances {
            PERF_NO_INSTANCES => self.counter_block(defined, limit, &header, &counters, sink),
            count if count > 0 => {
                let mut at = defined;
                for _ in 0..count {
                    match self.instance(at, limit, &header, &counters, sink) {
                        Ok(next) => at = next,
                        Err(reached) => {
                            at = reached;
                            break;
                        }
                    }
                }
                self.place.instance = None;
                at
            }
            _ => defined,
        }
    }

    /// Passes the counter definitions to the sink, up to the first damaged one. Returns the sound ones,
    /// and the offset where the readable part ends.
    fn definitions(
        &mut self,
        start: usize,
        limit: usize,
        count: u32,
        sink: Sink<'_>,
    ) -> (Vec<Counter>, usize) {
        const NAME: &str = "PERF_COUNTER_DEFINITION";
        const SIZE: usize = PERF_COUNTER_DEFINITION::SIZE;
        let mut counters = Vec::new();
        let mut at = start;
        for _ in 0..count {
            if at + SIZE > limit {
                break;
            }
            let raw = PERF_COUNTER_DEFINITION::read(&self.padded::<SIZE>(at)).unwrap_or_default();
            let name = self.name(raw.CounterNameTitleIndex);
            self.structure(at, raw.ByteLength as usize, NAME, name.to_string(), sink);
            self.fields(at, NAME, SIZE, raw.fields(), sink);
            let length = raw.ByteLength as usize;
            if length < SIZE || length > limit - at {
                return (counters, at + SIZE);
            }
            counters.push(Counter {
                name,
                counter_type: CounterType(raw.CounterType),
                offset: raw.CounterOffset as usize,
                size: raw.CounterSize as usize,
            });
            at += length;
        }
        (counters, at)
    }

    /// Passes one instance with its counter block to the sink. Returns the offset of the next instance; the
    /// error is the offset where the readable part of a damaged instance ends.
    fn instance(
        &mut self,
        at: usize,
        limit: usize,
        header: &PERF_OBJECT_TYPE,
        counters: &[Counter],
        sink: Sink<'_>,
    ) -> Result<usize, usize> {
        const NAME: &str = "PERF_INSTANCE_DEFINITION";
        const SIZE: usize = PERF_INSTANCE_DEFINITION::SIZE;
        if at + SIZE > limit {
            return Err(at);
        }
        let raw = PERF_INSTANCE_DEFINITION::read(&self.padded::<SIZE>(at)).unwrap_or_default();
        let length = raw.ByteLength as usize;
        let sensible = (SIZE..=limit - at).contains(&length);
        let own = if sensible { length } else { limit - at };
        let from = raw.NameOffset as usize;
        let to = from.saturating_add(raw.NameLength as usize);
        let bytes = self.bytes.get(at..at + own).and_then(|own| own.get(from..to));
        let name = InstanceName::new(bytes.unwrap_or_default(), header.CodePage).to_text();
        self.place.instance = Some(name.as_str().into());
        self.structure(at, length, NAME, name.clone(), sink);
        self.fields(at, NAME, SIZE, raw.fields(), sink);
        match bytes {
            Some(bytes) if !bytes.is_empty() && from >= SIZE => {
                let item = Item {
                    bytes,
                    field: "Name".into(),
                    text: name,
                    ..self.item(Kind::Field, at + from, bytes.len(), NAME)
                };
                self.emit(&item, sink);
            }
            None => {
                let text = "the name lies outside the instance's definition".to_string();
                self.damages.push(format!("{text} (at offset {:#x})", at + 16));
                sink(&Item { text, ..self.item(Kind::Damage, at + 16, 0, NAME) });
            }
            Some(_) => {}
        }
        if !sensible {
            return Err(at + SIZE);
        }
        let block = at + length;
        let reached = self.counter_block(block, limit, header, counters, sink);
        match len_at(self.bytes, block).filter(|length| *length <= limit - block) {
            Some(length) if length >= PERF_COUNTER_BLOCK::SIZE => Ok(block + length),
            _ => Err(reached),
        }
    }

    /// Passes a counter block with its values to the sink. Returns the offset where the readable part ends.
    fn counter_block(
        &mut self,
        at: usize,
        limit: usize,
        header: &PERF_OBJECT_TYPE,
        counters: &[Counter],
        sink: Sink<'_>,
    ) -> usize {
        const NAME: &str = "PERF_COUNTER_BLOCK";
        const SIZE: usize = PERF_COUNTER_BLOCK::SIZE;
        if at + SIZE > limit {
            return at;
        }
        let raw = PERF_COUNTER_BLOCK::read(&self.padded::<SIZE>(at)).unwrap_or_default();
        let length = raw.ByteLength as usize;
        self.structure(at, length, NAME, String::new(), sink);
        self.fields(at, NAME, SIZE, raw.fields(), sink);
        if !(SIZE..=limit - at).contains(&length) {
            return at + SIZE;
        }
        let block = self.bytes.get(at..at + length).unwrap_or_default();
        for counter in counters {
            self.value(at, block, header, counter, sink);
        }
        at + length
    }

    fn value(
        &mut self,
        at: usize,
        block: &'a [u8],
        header: &PERF_OBJECT_TYPE,
        counter: &Counter,
        sink: Sink<'_>,
    ) {
        let end = counter.offset.saturating_add(counter.size);
        let bytes = block
            .get(counter.offset..end)
            .filter(|_| counter.offset >= PERF_COUNTER_BLOCK::SIZE || counter.size == 0);
        let mut item = Item {
            field: Rc::clone(&counter.name),
            counter: Some(Rc::clone(&counter.name)),
            bytes: bytes.unwrap_or_default(),
            ..self.item(Kind::Field, at + counter.offset, counter.size, "PERF_COUNTER_BLOCK")
        };
        match (counter.counter_type.kind(), bytes) {
            (_, None) => {
                // This is allowed: a shorter counter block leaves values out.
                item.meaning = "no value: lies outside this counter block".to_string();
                self.valueless += 1;
            }
            (CounterKind::Text(encoding), Some(bytes)) => {
                let code_page = match (encoding, header.CodePage) {
                    (TextEncoding::Unicode, _) => 0,
                    (_, 0) => 1252,
                    (_, code_page) => code_page,
                };
                item.text = InstanceName::new(bytes, code_page).to_text();
            }
            (_, Some([])) => item.meaning = "no data".to_string(),
            (_, Some(bytes)) => {
                let four = bytes.first_chunk::<4>().filter(|_| bytes.len() == 4);
                let eight = bytes.first_chunk::<8>().filter(|_| bytes.len() == 8);
                item.number = match (four, eight) {
                    (Some(four), _) => Some(u32::from_le_bytes(*four).into()),
                    (_, Some(eight)) => Some(u64::from_le_bytes(*eight).into()),
                    _ => None,
                };
                item.meaning = counter.counter_type.to_string();
            }
        }
        if item.bytes.is_empty() {
            // There are no bytes at this place, so that a damage here belongs to another item.
            sink(&item);
        } else {
            self.emit(&item, sink);
        }
    }
}
