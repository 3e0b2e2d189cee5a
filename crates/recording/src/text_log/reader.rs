//! Reads a text log line by line, so that a file of any size takes constant memory.

use super::header::{Header, ShortLines};
use super::objects::{Draft, Object};
use super::path::Parts;
use super::text::Text;
use crate::files::error;
use crate::names::MadeUpNames;
use crate::replay::{Sample, Samples};
use perfhive_engine::{
    CatalogueObject, Fault, FaultKind, Frame, SourceError, SourceErrorKind, Span,
};
use perfhive_format::{
    BlockHead, BlockWriter, CalendarTime, Clocks, FileEncoding, FileTime, InstanceHead, NameRef,
};
use std::collections::{HashMap, HashSet};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most faults of lines that are reported.
const MOST_FAULTS: usize = 64;

/// The value that a column fills, by the indexes of its block, object, instance and counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    block: usize,
    object: usize,
    instance: usize,
    counter: usize,
}

/// The samples of a text log.
pub(crate) struct TextLog {
    path: PathBuf,
    lines: csv::Reader<ShortLines<BufReader<Text>>>,
    /// The position of the first line with values.
    start: csv::Position,
    /// The difference from the log's times to UTC, in steps of 100 ns.
    bias: i64,
    /// The places of the columns' values; `None` for a column that is left out.
    columns: Vec<Option<Place>>,
    /// Whether a caption stands behind the columns' names; lines may then have a cell for it.
    has_caption: bool,
    /// The numbers, from 0, of the columns with the path of an earlier column.
    repeated: HashSet<usize>,
    /// The objects of each machine, the log's own first.
    machines: Vec<(String, Vec<Object>)>,
    objects: Vec<CatalogueObject>,
    /// The faults of the log as a whole.
    pub(crate) faults: Vec<Fault>,
    /// The number of faults of lines that were reported.
    told: usize,
    /// The faults of the lines behind the last sample.
    left: Vec<Fault>,
    /// The cells of the line with the columns' names.
    head: csv::ByteRecord,
    /// The number of the line with the names, from 1.
    first_line: u64,
    /// The number of the last line of the record that was read last, from 1.
    line: u64,
    record: csv::ByteRecord,
    writer: BlockWriter,
    generation: u64,
    /// The log's span and the latest time of its samples; `None` until all lines were read once.
    span: Option<(Span, FileTime)>,
    /// The sample that a seek found; it is the next one to return.
    found: Option<Sample>,
}

impl TextLog {
    /// Opens a log and reads its first line. Logs of one recording share the indexes in `names`.
    ///
    /// # Errors
    /// An error where the file cannot be read, or its first line is not the first line of a log.
    pub(crate) fn open(
        path: &Path,
        encoding: Option<FileEncoding>,
        names: &mut MadeUpNames,
    ) -> Result<Self, SourceError> {
        let Header { lines, line: first_line, cells, record: head, warning } =
            Header::read(path, encoding)?;
        let start = lines.position().clone();
        let mut cells = cells.into_iter();
        let banner = cells.next().unwrap_or_default();
        if banner.contains(';') {
            let message = "its columns are separated by semicolons, as spreadsheets of some languages \
                           save them; take the log as Windows wrote it, or save it with commas";
            return Err(error(path, SourceErrorKind::Malformed, message));
        }
        let bias = bias_of(&banner);
        let mut log = Self {
            path: path.to_path_buf(),
            lines,
            start,
            bias: bias.unwrap_or(0) * 60 * FileTime::PER_SECOND,
            columns: Vec::new(),
            has_caption: false,
            repeated: HashSet::new(),
            machines: Vec::new(),
            objects: Vec::new(),
            faults: Vec::new(),
            told: 0,
            left: Vec::new(),
            head,
            first_line,
            line: first_line,
            record: csv::ByteRecord::new(),
            writer: BlockWriter::new(),
            generation: 0,
            span: None,
            found: None,
        };
        log.columns(cells.collect(), names)
            .map_err(|why| error(path, SourceErrorKind::Malformed, why))?;
        if let Some(warning) = warning {
            log.warn(warning);
        }
        if bias.is_none() {
            log.warn("the banner has no time zone, so the log's local times are taken for UTC");
        }
        Ok(log)
    }

    fn warn(&mut self, what: impl std::fmt::Display) {
        let name = self.path.display().to_string();
        self.faults.push(Fault::new(FaultKind::Warning, &name, what));
    }

    /// Arranges the columns with these paths as objects with instances and counters. Columns that are not counter paths
    /// are left out with a fault. The error says why the log cannot be read.
    fn columns(&mut self, mut paths: Vec<String>, titles: &mut MadeUpNames) -> Result<(), String> {
        // PDH puts the caption of a log behind its paths.
        if let Some(caption) = paths.pop_if(|last| !last.starts_with('\\'))
            && !paths.is_empty()
        {
            self.has_caption = true;
            self.warn(format_args!(
                "{}, behind the counters, is not one, and is left out",
                quoted(&caption)
            ));
        }
        let mut machines: Vec<(String, Vec<Draft>)> = Vec::new();
        let (mut doubled, mut strange) = (Vec::new(), Vec::new());
        let (mut lookup, mut known) = (Lookup::default(), HashSet::new());
        for (number, path) in paths.iter().enumerate() {
            let Some(parts) = Parts::of(path) else {
                strange.push(number);
                self.columns.push(None);
                continue;
            };
            // Readers take names without regard to case, so a second spelling would hide what stands under it.
            let [machine, object_key, counter_key] =
                [parts.machine, parts.object, parts.counter].map(str::to_lowercase);
            let block = lookup.place((0, 0, &machine), || {
                machines.push((parts.machine.to_string(), Vec::new()));
                machines.len() - 1
            });
            let Some((_, objects)) = machines.get_mut(block) else { continue };
            let kind = 1 + usize::from(parts.instance.is_some());
            let count = objects.len();
            let object = lookup.place((kind, block, &object_key), || {
                objects.push(Draft::new(titles.index(parts.object), parts.instance.is_some()));
                objects.len() - 1
            });
            // Readers find the first object of a name.
            if objects.len() > count && lookup.has((3 - kind, block, &object_key)) {
                doubled.push((parts.object, parts.instance.is_some()));
            }
            let Some(draft) = objects.get_mut(object) else { continue };
            // Each object of each machine has counters and instances of its own.
            let own = block << 32 | object << 2 | kind;
            let instance = parts.instance.map_or(0, |name| {
                lookup.place((3, own, name), || {
                    draft.instances.push(name.to_string());
                    draft.instances.len() - 1
                })
            });
            let counter = lookup.place((4, own, &counter_key), || {
                draft.counters.push(titles.index(parts.counter));
                draft.counters.len() - 1
            });
            let place = Place { block, object, instance, counter };
            if !known.insert(place) {
                self.repeated.insert(number);
            }
            self.columns.push(Some(place));
        }
        for (object, has_instances) in doubled.into_iter().take(MOST_FAULTS) {
            self.warn(format_args!(
                "object {} has counters with instances and without; those {} are left out",
                quoted(object),
                if has_instances { "with" } else { "without" }
            ));
        }
        if machines.is_empty() {
            return Err("has no columns with counters".to_string());
        }
        for number in strange.into_iter().take(MOST_FAULTS) {
            let path = paths.get(number).map_or("", String::as_str);
            self.warn(format_args!(
                "column {}: {} is not a counter path, and is left out",
                number + 2,
                quoted(path)
            ));
        }
        let drafts = machines.iter().flat_map(|(_, drafts)| drafts);
        let cells = drafts.fold(0_usize, |sum, draft| sum.saturating_add(draft.cells()));
        // A log in which each instance has its own counters would need the square of its columns.
        if cells > 64 * paths.len().max(1024) {
            return Err("the columns do not make objects with instances and counters".to_string());
        }
        for (machine, drafts) in machines {
            let objects = drafts.into_iter().map(Draft::build).collect::<Result<Vec<_>, _>>()?;
            self.machines.push((machine, objects));
        }
        Ok(())
    }

    /// Reads the next line with a time into `self.record`. Returns the line's time in UTC; `None` at the end of the
    /// file, and where a log with other columns or another zone begins in it. Lines without a time, and a last line
    /// that is cut off, are passed over; the first [`MOST_FAULTS`] of them are added to `faults`.
    fn line(&mut self, faults: &mut Vec<Fault>) -> Result<Option<FileTime>, SourceError> {
        loop {
            let (line, before) = (self.line, self.lines.position().line());
            let is_there = match self.lines.read_byte_record(&mut self.record) {
                Ok(is_there) => is_there,
                Err(cause) => return Err(error(&self.path, SourceErrorKind::Malformed, cause)),
            };
            if !is_there {
                return Ok(None);
            }
            // Empty lines are skipped, and a missing quote joins lines.
            self.line += self.lines.position().line().saturating_sub(before).max(1);
            let first =
                String::from_utf8_lossy(self.record.get(0).unwrap_or_default().trim_ascii());
            // The last line of a file may be cut within a number if no line end follows it.
            let end = self.lines.get_ref().file.get_ref().end();
            let is_cut = end.is_some_and(|is_closed| !is_closed || !self.is_whole());
            if let Some(time) = time_of(&first).filter(|_| !is_cut) {
                return Ok(Some(FileTime(time.0.saturating_add(self.bias))));
            }
            if first.trim_start_matches(['\u{feff}', '"']).starts_with("(PDH-") {
                // Several logs in one file. Cells of other columns would pass for values of these.
                let bias = bias_of(first.trim_matches(['\u{feff}', '"'])).unwrap_or(0);
                if bias * 60 * FileTime::PER_SECOND == self.bias
                    && self.record.iter().skip(1).eq(self.head.iter().skip(1))
                {
                    continue;
                }
                let (number, name) = (self.record_line(), self.path.display().to_string());
                let what = format!(
                    "another log begins at line {number} and is left out: make a file of its own of it"
                );
                faults.push(Fault::new(FaultKind::Warning, &name, what));
                // The next read begins at this line again.
                if let Some(start) = self.record.position().cloned() {
                    let failed = |cause| error(&self.path, SourceErrorKind::Unavailable, cause);
                    self.lines.seek(start).map_err(failed)?;
                    self.line = line;
                }
                return Ok(None);
            }
            // typeperf ends its standard output with a message.
            let is_end = first.starts_with("Exiting") || first.starts_with("The command");
            if self.told < MOST_FAULTS && !is_end && !first.is_empty() {
                self.told += 1;
                let line = self.record_line();
                let what = match is_cut {
                    true => format!("line {line}, the last one, is not complete and left out"),
                    false => format!(
                        "line {line}: {} is not a time; the line is left out",
                        quoted(&first)
                    ),
                };
                let name = self.path.display().to_string();
                faults.push(Fault::new(FaultKind::Warning, &name, what));
            }
        }
    }

    /// The number of the first line of `self.record`, from 1.
    fn record_line(&self) -> u64 {
        let ends = self.record.as_slice().iter().filter(|byte| **byte == b'\n').count();
        self.line.saturating_sub(ends as u64)
    }

    /// Whether the line in `self.record` has one cell for the time, one for each column, perhaps
    /// one for a caption, and no others.
    fn is_whole(&self) -> bool {
        let cells = self.columns.len() + 1;
        self.record.len() == cells || self.has_caption && self.record.len() == cells + 1
    }

    /// The sample of the line in `self.record`, with the faults of the lines before it in `faults`. Damage is a fault,
    /// and damaged cells have no value.
    fn sample(&mut self, time: FileTime, mut faults: Vec<Fault>) -> Result<Sample, SourceError> {
        for (_, objects) in &mut self.machines {
            objects.iter_mut().for_each(|object| object.values.fill(f64::NAN.to_bits()));
        }
        let line = self.record_line();
        let (has, wanted) = (self.record.len(), self.columns.len() + 1);
        let mut damage = None;
        // The places for which several columns have different values.
        let mut disputed = HashSet::new();
        if !self.is_whole() || self.record.as_slice().contains(&b'\n') {
            // A missing quote moves cells to other columns, and may join the next line to this one.
            damage = Some(format!(
                "line {line} is damaged and has no values: {has} columns instead of {wanted}, or a quote is missing"
            ));
        } else {
            let cells = self.columns.iter().zip(self.record.iter().skip(1));
            for (number, (place, cell)) in cells.enumerate() {
                let Some(place) = place else { continue };
                let cell = String::from_utf8_lossy(cell.trim_ascii());
                // A blank cell is a counter without a value.
                if cell.is_empty() {
                    continue;
                }
                let Some(value) = cell.parse::<f64>().ok().filter(|value| value.is_finite()) else {
                    damage = damage.or_else(|| {
                        let cell = quoted(&cell);
                        Some(format!("line {line}: {cell} is not a number, and no value"))
                    });
                    continue;
                };
                let object = self.machines.get_mut(place.block);
                let object = object.and_then(|(_, objects)| objects.get_mut(place.object));
                let Some(object) = object else { continue };
                let at = place.instance * object.counters + place.counter;
                let Some(cell) = object.values.get_mut(at) else { continue };
                let is_first = f64::from_bits(*cell).is_nan() && !disputed.contains(place);
                if self.repeated.contains(&number) && !is_first && *cell != value.to_bits() {
                    *cell = f64::NAN.to_bits();
                    disputed.insert(*place);
                    damage = damage.or_else(|| {
                        let column = number + 2;
                        Some(format!(
                            "line {line}: column {column} has the path of another one and \
                                      another value, so that the counter has none"
                        ))
                    });
                } else {
                    *cell = value.to_bits();
                }
            }
        }
        if let Some(what) = damage.filter(|_| self.told < MOST_FAULTS) {
            self.told += 1;
            let name = self.path.display().to_string();
            faults.push(Fault::new(FaultKind::Warning, &name, what));
        }
        self.generation += 1;
        let frames = self.frames(time);
        frames
            .map(|frames| Sample { frames, faults })
            .ok_or_else(|| error(&self.path, SourceErrorKind::Malformed, "a line makes no block"))
    }

    /// The data blocks of the objects' values, one for each machine; `None` if an object's values do not make a block.
    fn frames(&mut self, time: FileTime) -> Option<Vec<Arc<Frame>>> {
        let clocks = Clocks {
            perf_time: time.0,
            perf_freq: FileTime::PER_SECOND,
            time_100ns: time.0,
            ..Clocks::default()
        };
        let mut frames = Vec::new();
        for (machine, objects) in &self.machines {
            self.writer.start(&BlockHead {
                system_name: machine,
                system_time: time.to_system_time(),
                clocks,
                ..BlockHead::default()
            });
            for object in objects {
                let mut writing = self.writer.object(&object.template).ok()?;
                writing = writing.clock(time.0, FileTime::PER_SECOND);
                if object.has_instances {
                    for (name, values) in object.rows() {
                        let name = NameRef::Text(name);
                        let head = InstanceHead { name, unique_id: None, parent: None };
                        writing.instance(&head, values).ok()?;
                    }
                } else {
                    writing = writing.values(&object.values).ok()?;
                }
                writing.finish().ok()?;
            }
            let frame = Frame::new(self.writer.finish().to_vec(), self.generation).ok()?;
            frames.push(Arc::new(frame));
        }
        Some(frames)
    }

    fn go_to_start(&mut self) -> Result<(), SourceError> {
        let failed = |cause| error(&self.path, SourceErrorKind::Unavailable, cause);
        self.line = self.first_line;
        self.lines.seek(self.start.clone()).map_err(failed)
    }
}

impl Samples for TextLog {
    fn next(&mut self) -> Result<Option<Sample>, SourceError> {
        if let Some(found) = self.found.take() {
            return Ok(Some(found));
        }
        let mut faults = Vec::new();
        match self.line(&mut faults)? {
            Some(time) => self.sample(time, faults).map(Some),
            None => {
                self.left = faults;
                Ok(None)
            }
        }
    }

    fn left(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.left)
    }

    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        self.found = None;
        self.go_to_start()?;
        // Faults of lines that are read again are reported again.
        self.told = 0;
        let Some(to) = to else { return Ok(()) };
        let mut faults = Vec::new();
        while let Some(time) = self.line(&mut faults)? {
            if time >= to {
                self.found = Some(self.sample(time, faults)?);
                break;
            }
        }
        Ok(())
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        if let Some((span, _)) = self.span {
            return Ok(span);
        }
        let mut latest = FileTime(i64::MIN);
        let (before, line) = (self.lines.position().clone(), self.line);
        self.go_to_start()?;
        let mut span = Span::new(FileTime(0), FileTime(0), 0);
        let mut faults = Vec::new();
        while let Some(time) = self.line(&mut faults)? {
            if span.samples == 0 {
                span.begin = time;
            }
            span.goes_back |= time < latest;
            span.end = time;
            span.samples += 1;
            latest = latest.max(time);
        }
        // The faults of lines are reported when their samples are read.
        (self.told, self.line) = (0, line);
        let failed = |cause| error(&self.path, SourceErrorKind::Unavailable, cause);
        self.lines.seek(before).map_err(failed)?;
        Ok(self.span.insert((span, latest)).0)
    }

    fn latest(&mut self) -> Result<FileTime, SourceError> {
        let span = self.span()?;
        Ok(self.span.map_or(span.end, |(_, latest)| latest))
    }

    fn objects(&mut self) -> Result<(String, Vec<CatalogueObject>), SourceError> {
        if self.objects.is_empty() {
            let mut objects = Vec::new();
            for frame in self.frames(FileTime(0)).unwrap_or_default() {
                let all = (0..frame.object_count()).filter_map(|place| frame.object(place));
                objects.extend(all.map(CatalogueObject::of));
            }
            self.objects = objects;
        }
        let machine = self.machines.first().map(|(machine, _)| machine.clone());
        Ok((machine.unwrap_or_default(), self.objects.clone()))
    }
}

/// The place of each name in its list. The key is the kind of the name, a number that only the name's owner has, and
/// the name.
#[derive(Default)]
struct Lookup(HashMap<(usize, usize, String), usize>);

impl Lookup {
    fn place(&mut self, key: (usize, usize, &str), add: impl FnOnce() -> usize) -> usize {
        let (kind, of, name) = key;
        *self.0.entry((kind, of, name.to_string())).or_insert_with(add)
    }

    fn has(&self, key: (usize, usize, &str)) -> bool {
        let (kind, of, name) = key;
        self.0.contains_key(&(kind, of, name.to_string()))
    }
}

/// The first 80 characters of a text in quotes, and the number of bytes left out, for a message.
fn quoted(text: &str) -> String {
    let end = text.char_indices().nth(80).map_or(text.len(), |(end, _)| end);
    let shown = text.get(..end).unwrap_or(text);
    match text.len() - shown.len() {
        0 => format!("{text:?}"),
        left => format!("{shown:?} and {left} bytes more"),
    }
}

/// The minutes from local time to UTC in a banner's last parentheses; `None` without such a number,
/// or if it is more than a day.
pub(super) fn bias_of(banner: &str) -> Option<i64> {
    let (_, last) = banner.strip_suffix(')')?.rsplit_once('(')?;
    last.parse().ok().filter(|minutes: &i64| minutes.abs() <= 24 * 60)
}

/// The time that a text of the form `MM/DD/YYYY HH:MM:SS.mmm` has, with or without the fraction; `None` for any other
/// text.
fn time_of(text: &str) -> Option<FileTime> {
    let (date, time) = text.split_once(' ')?;
    let mut date = date.split('/').map(|part| part.parse::<u16>().ok());
    let (month, day, year) = (date.next()??, date.next()??, date.next()??);
    let (time, milliseconds) = match time.split_once('.') {
        Some((time, fraction)) => (time, format!("{fraction:0<3}").get(..3)?.parse().ok()?),
        None => (time, 0),
    };
    let mut time = time.split(':').map(|part| part.parse::<u16>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let day_of_week = 0;
    CalendarTime { year, month, day_of_week, day, hour, minute, second, milliseconds }
        .to_file_time()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_banners_are_read() {
        let time = time_of("09/22/2026 21:42:32.824").unwrap();
        assert_eq!(time.to_string(), "2026-09-22T21:42:32.824Z");
        assert_eq!(time_of("02/29/2026 00:00:00.000"), None);
        assert_eq!(time_of("Exiting, please wait..."), None);
        assert_eq!(bias_of("(PDH-CSV 4.0) (Eastern Daylight Time)(240)"), Some(240));
        assert_eq!(bias_of("(PDH-CSV 4.0) (RTZ 2 ("), None);
        assert_eq!(bias_of("(PDH-CSV 4.0)"), None);
    }
}
