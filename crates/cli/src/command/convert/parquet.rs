//! Parquet: a file for each object, a row for each instance of a sample, a column for each counter.

use super::{Progress, for_each_sample, warn_of_fewer};
use crate::args::Global;
use crate::failure::{Failure, of_source};
use crate::unfinished::Unfinished;
use arrow_array::builder::{Float64Builder, StringDictionaryBuilder, UInt32Builder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, TimestampMicrosecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;
use perfhive::{CookedValue, CounterType, FileTime, Identity, NoValue, Query, Reading, TitleIndex};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most values that are kept until they are written, of all objects together: some 50 MB.
const MOST_VALUES: usize = 2 << 20;

/// The counter types with values that are whole numbers.
const WHOLE: [CounterType; 4] = [
    CounterType::PERF_COUNTER_RAWCOUNT,
    CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
    CounterType::PERF_COUNTER_RAWCOUNT_HEX,
    CounterType::PERF_COUNTER_LARGE_RAWCOUNT_HEX,
];

/// Writes a folder with a file for each object. Returns the numbers of samples and bytes.
pub(super) fn write(
    global: &Global,
    paths: &[String],
    output: &Path,
) -> Result<(u64, u64), Failure> {
    let failed = |error: std::io::Error| Failure::Source(format!("{}: {error}", output.display()));
    // The columns of a file are known once every sample was looked at.
    let mut objects = Objects::new();
    let progress = Progress::of(global);
    let mut samples = 0;
    for_each_sample(global, paths, true, |query, _| {
        for reading in query.readings() {
            if reading.identity.is_none() {
                continue;
            }
            let object = objects.entry(key(reading)).or_insert_with(|| Object::of(query, reading));
            object.add_column(query, reading);
        }
        samples += 1;
        progress.show("looked at", samples);
        Ok(())
    })?;
    objects.retain(|_, object| !object.columns.is_empty());
    if objects.is_empty() {
        return Err(Failure::Missing(of_source(&global.source, "has no counters to write")));
    }
    let unfinished = Unfinished::new(output)?;
    std::fs::create_dir(unfinished.path()).map_err(failed)?;
    let filled = fill(global, paths, unfinished.path(), objects, &progress)?;
    warn_of_fewer(global, filled.0, samples);
    unfinished.finish()?;
    Ok(filled)
}

/// Writes the file of each object into a folder; all columns of the objects are known by now. Returns the numbers of
/// samples and bytes.
fn fill(
    global: &Global,
    paths: &[String],
    folder: &Path,
    mut objects: Objects,
    progress: &Progress,
) -> Result<(u64, u64), Failure> {
    let mut files: HashSet<String> = HashSet::new();
    for object in objects.values_mut() {
        object.create(folder, &mut files, &global.source)?;
    }
    let mut written = 0;
    for_each_sample(global, paths, false, |query, time| {
        add(&mut objects, query, time)?;
        while objects.values().map(Object::values).sum::<usize>() > MOST_VALUES {
            match objects.values_mut().max_by_key(|object| object.values()) {
                Some(largest) => largest.flush()?,
                None => break,
            }
        }
        written += 1;
        progress.show("wrote", written);
        Ok(())
    })?;
    let mut bytes = 0;
    for object in objects.into_values() {
        bytes += object.finish()?;
    }
    Ok((written, bytes))
}

/// The objects of all machines, by machine and title index.
type Objects = BTreeMap<(Arc<str>, TitleIndex), Object>;

fn key(reading: &Reading) -> (Arc<str>, TitleIndex) {
    (Arc::clone(&reading.machine), reading.object)
}

/// Adds the readings of a query's newest sample, taken at `time`, to the rows of their objects. Readings of an
/// instance that has ended, and those for which `objects` has no object or column, are left out.
fn add(objects: &mut Objects, query: &Query, time: FileTime) -> Result<(), Failure> {
    for object in objects.values_mut() {
        object.of_sample.clear();
    }
    for reading in query.readings() {
        let is_gone = matches!(reading.value, Err(NoValue::Vanished));
        let Some(object) = objects.get_mut(&key(reading)) else { continue };
        if is_gone || reading.instance.is_some() != object.has_instances {
            continue;
        }
        object.add(reading, time);
    }
    Ok(())
}

/// A column of a file: a counter of the file's object.
struct Column {
    counter: TitleIndex,
    name: String,
    unit: &'static str,
    counter_type: CounterType,
}

impl Column {
    fn is_whole(&self) -> bool {
        WHOLE.contains(&self.counter_type)
    }
}

/// A row that is not written yet.
struct Row {
    instance: String,
    process: Option<u32>,
    time: FileTime,
    values: Vec<Option<CookedValue>>,
}

/// An object, its rows that are not written yet, and its file.
struct Object {
    name: String,
    machine: String,
    /// Whether the object is of another machine than the recording's own.
    is_foreign: bool,
    index: TitleIndex,
    has_instances: bool,
    has_processes: bool,
    columns: Vec<Column>,
    places: HashMap<TitleIndex, usize>,
    rows: Vec<Row>,
    /// The places in `rows` of the rows of the sample that is being added, by instance.
    of_sample: HashMap<Option<Identity>, usize>,
    file: Option<(PathBuf, ArrowWriter<File>, Arc<Schema>)>,
}

impl Object {
    fn of(query: &Query, reading: &Reading) -> Self {
        let (name, _) = query.english_names_of(reading);
        Self {
            name,
            machine: reading.machine.to_string(),
            is_foreign: query.machines().first().is_some_and(|own| **own != *reading.machine),
            index: reading.object,
            has_instances: false,
            has_processes: false,
            columns: Vec::new(),
            places: HashMap::new(),
            rows: Vec::new(),
            of_sample: HashMap::new(),
            file: None,
        }
    }

    /// Adds the column of a reading's counter, unless it exists or the counter has no numbers, and
    /// notes whether the object has instances and processes.
    fn add_column(&mut self, query: &Query, reading: &Reading) {
        self.has_instances |= reading.instance.is_some();
        self.has_processes |= reading.process_id().is_some();
        if reading.counter_type.samples() == 0 || self.places.contains_key(&reading.counter) {
            return;
        }
        let (_, name) = query.english_names_of(reading);
        self.places.insert(reading.counter, self.columns.len());
        self.columns.push(Column {
            counter: reading.counter,
            unit: query.unit_of(reading),
            name,
            counter_type: reading.counter_type,
        });
    }

    /// The number of values that are not written yet. For its instance, process and time, each row
    /// counts as four values more.
    fn values(&self) -> usize {
        self.rows.len() * (self.columns.len() + 4)
    }

    /// Adds a reading to the row of its instance in the current sample; a reading of a counter
    /// without a column is left out.
    fn add(&mut self, reading: &Reading, time: FileTime) {
        let Some(place) = self.places.get(&reading.counter).copied() else { return };
        let columns = self.columns.len();
        let row = *self.of_sample.entry(reading.identity.clone()).or_insert_with(|| {
            self.rows.push(Row {
                instance: reading.instance.as_ref().map(|label| label.plain()).unwrap_or_default(),
                process: reading.process_id(),
                time,
                values: vec![None; columns],
            });
            self.rows.len() - 1
        });
        let value = reading.value.as_ref().ok().copied();
        if let Some(cell) = self.rows.get_mut(row).and_then(|row| row.values.get_mut(place)) {
            *cell = value;
        }
    }

    fn schema(&self, source: &str) -> Schema {
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let mut fields = Vec::new();
        if self.has_instances {
            let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            fields.push(Field::new("instance", text, false));
        }
        if self.has_processes {
            fields.push(Field::new("pid", DataType::UInt32, true));
        }
        fields.push(Field::new("time", utc, false));
        let mut names: HashSet<String> =
            fields.iter().map(|field| field.name().to_lowercase()).collect();
        for column in &self.columns {
            let kind = if column.is_whole() { DataType::UInt64 } else { DataType::Float64 };
            let about = [
                ("unit", column.unit.to_string()),
                ("counter_type", column.counter_type.to_string()),
                ("index", column.counter.to_string()),
            ];
            let about: HashMap<_, _> =
                about.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
            let name = unique(&mut names, &column.name);
            fields.push(Field::new(name, kind, true).with_metadata(about));
        }
        let about = [
            ("machine", self.machine.clone()),
            ("object", self.name.clone()),
            ("index", self.index.to_string()),
            ("source", source.to_string()),
            ("perfhive", env!("CARGO_PKG_VERSION").to_string()),
        ];
        let about: HashMap<_, _> =
            about.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        Schema::new_with_metadata(fields, about)
    }

    /// Creates the file of the object in a folder. Its name is that of the object, behind that of the machine if this
    /// is not the recording's own, with `_` for unsafe characters and with a number if `files` has the name already.
    /// The name is added to `files`.
    fn create(
        &mut self,
        folder: &Path,
        files: &mut HashSet<String>,
        source: &str,
    ) -> Result<(), Failure> {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '$');
        let machine = if self.is_foreign { format!("{} ", self.machine) } else { String::new() };
        let name = machine + &self.name;
        let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let name = unique(files, name.trim_start_matches('.'));
        let path = folder.join(format!("{name}.parquet"));
        let schema = Arc::new(self.schema(source));
        // The rows of a group are ordered by instance, process and time.
        let last = i32::from(self.has_instances) + i32::from(self.has_processes);
        let sorted =
            |column_idx| SortingColumn { column_idx, descending: false, nulls_first: true };
        let about = schema.metadata().iter();
        let about = about.map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_sorting_columns(Some((0..=last).map(sorted).collect()))
            .set_key_value_metadata(Some(about))
            .build();
        let file = File::create_new(&path)
            .map_err(|error| Failure::Source(format!("{}: {error}", path.display())))?;
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
            .map_err(|error| failed(&path, &error))?;
        self.file = Some((path, writer, schema));
        Ok(())
    }

    /// Writes the rows that are not written yet, as one row group of the file.
    fn flush(&mut self) -> Result<(), Failure> {
        let Some((path, writer, schema)) = &mut self.file else { return Ok(()) };
        let mut rows = std::mem::take(&mut self.rows);
        self.of_sample.clear();
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by(|a, b| {
            (&a.instance, a.process, a.time).cmp(&(&b.instance, b.process, b.time))
        });
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len() + 3);
        if self.has_instances {
            let mut instances = StringDictionaryBuilder::<Int32Type>::new();
            for row in &rows {
                instances.append_value(&row.instance);
            }
            arrays.push(Arc::new(instances.finish()));
        }
        if self.has_processes {
            let mut processes = UInt32Builder::with_capacity(rows.len());
            rows.iter().for_each(|row| processes.append_option(row.process));
            arrays.push(Arc::new(processes.finish()));
        }
        let times = rows.iter().map(|row| (row.time.0 - FileTime::UNIX_EPOCH.0).div_euclid(10));
        let times = TimestampMicrosecondArray::from_iter_values(times);
        arrays.push(Arc::new(times.with_timezone("UTC")));
        for (place, column) in self.columns.iter().enumerate() {
            let values = rows.iter().map(|row| row.values.get(place).copied().flatten());
            arrays.push(array_of(column, values, rows.len()));
        }
        let batch = RecordBatch::try_new(Arc::clone(schema), arrays)
            .map_err(|error| Failure::Source(format!("{}: {error}", path.display())))?;
        writer.write(&batch).and_then(|()| writer.flush()).map_err(|error| failed(path, &error))
    }

    /// Ends the file. Returns its length in bytes, 0 without a file.
    fn finish(mut self) -> Result<u64, Failure> {
        self.flush()?;
        let Some((path, writer, _)) = self.file else { return Ok(0) };
        writer.close().map_err(|error| failed(&path, &error))?;
        let found = std::fs::metadata(&path);
        Ok(found.map_or(0, |found| found.len()))
    }
}

/// The values of a column as an array of Arrow: of whole numbers or, for other counter types, of doubles.
fn array_of(
    column: &Column,
    values: impl Iterator<Item = Option<CookedValue>>,
    count: usize,
) -> ArrayRef {
    if column.is_whole() {
        let mut array = UInt64Builder::with_capacity(count);
        for value in values {
            array.append_option(match value {
                Some(CookedValue::Integer(value)) => Some(value),
                _ => None,
            });
        }
        return Arc::new(array.finish());
    }
    let mut array = Float64Builder::with_capacity(count);
    values.for_each(|value| array.append_option(value.map(CookedValue::as_f64)));
    Arc::new(array.finish())
}

/// The name, or the name with a number behind it if `names` has it already, without regard to case. What is
/// returned is added to `names` in lower case.
fn unique(names: &mut HashSet<String>, name: &str) -> String {
    let numbered = (1_u64..).map(|count| format!("{name} #{count}"));
    let mut all = std::iter::once(name.to_string()).chain(numbered);
    all.find(|name| names.insert(name.to_lowercase())).unwrap_or_default()
}

fn failed(path: &Path, error: &ParquetError) -> Failure {
    Failure::Source(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_numbered_is_not_returned_twice() {
        let mut names = HashSet::new();
        let names = ["a #1", "A", "a", "a"].map(|name| unique(&mut names, name));
        assert_eq!(names, ["a #1", "A", "a #2", "a #3"]);
    }
}
