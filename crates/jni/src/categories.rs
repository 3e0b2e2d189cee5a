//! The operations on categories and counters, which Java has as .NET has them.

use crate::failure::{Failure, reason};
use crate::handles::{self, Object};
use crate::wire::{Answer, Request};
use perfhive::{
    Category, CategoryData, CounterSample, CounterType, Fault, Identity, InstanceData,
    InstanceLabel, NoValue, PerformanceCounter, SharedSource,
};
use std::sync::Mutex;

pub(crate) type CategoryObject = Category;
pub(crate) type CounterObject = PerformanceCounter;
pub(crate) type DataObject = CategoryData;

/// Opens the category with this name, or all categories if no name is given. Puts each into the
/// table of objects, and its handle and the facts that Java shows into the answer.
pub(crate) fn open(
    source: &SharedSource,
    name: Option<&str>,
    answer: &mut Answer,
) -> Result<(), Failure> {
    let found = match name {
        Some(name) => vec![Category::new_in(source, name)?],
        None => Category::all_in(source)?,
    };
    answer.count(found.len());
    for category in found {
        answer.text(&category.name()).index(category.index()).text(category.help().unwrap_or(""));
        answer.bool(category.has_instances()).texts(category.counter_names().iter());
        answer.i64(handles::insert(Object::Category(Mutex::new(category)))?);
    }
    Ok(())
}

/// Puts a counter into the table of objects, and its handle and the facts that Java shows into the
/// answer.
pub(crate) fn counter(counter: PerformanceCounter, answer: &mut Answer) -> Result<(), Failure> {
    answer.text(&counter.category_name()).text(&counter.counter_name());
    answer.text(counter.instance_name()).text(counter.counter_help().unwrap_or(""));
    counter_type(counter.counter_type(), answer);
    answer.i64(handles::insert(Object::Counter(Mutex::new(counter)))?);
    Ok(())
}

fn counter_type(kind: CounterType, answer: &mut Answer) {
    answer.i32(kind.0.cast_signed()).text(kind.dotnet_name().unwrap_or("")).text(kind.unit());
}

/// Puts a value into the answer by `write`, or the reason why there is no value.
fn value<T>(value: Result<T, NoValue>, answer: &mut Answer, write: impl FnOnce(T, &mut Answer)) {
    answer.bool(value.is_ok());
    match value {
        Ok(value) => write(value, answer),
        Err(why) => {
            let (code, message) = reason(&why);
            answer.text(code).text(&message);
        }
    }
}

fn sample(sample: CounterSample, answer: &mut Answer) {
    answer.bits(sample.raw_value()).bits(sample.base_value());
    for number in [
        sample.counter_frequency(),
        sample.system_frequency(),
        sample.time_stamp(),
        sample.time_stamp_100nsec(),
        sample.counter_time_stamp(),
    ] {
        answer.i64(number);
    }
    answer.i32(sample.counter_type().0.cast_signed());
}

fn read_sample(request: &mut Request<'_>) -> Result<CounterSample, Failure> {
    let mut parts = [0; 7];
    for part in &mut parts {
        *part = request.i64()?;
    }
    let [raw, base, counter_frequency, system_frequency, time, time_100ns, counter_time] = parts;
    let kind = CounterType(request.i32()?.cast_unsigned());
    let (raw, base) = (raw.cast_unsigned(), base.cast_unsigned());
    let frequencies = (counter_frequency, system_frequency);
    let (counter, system) = frequencies;
    Ok(CounterSample::new(raw, base, counter, system, time, time_100ns, kind)
        .with_counter_time_stamp(counter_time))
}

/// Puts the value of the samples in the request into the answer, or the reason why there is none.
/// The request has one sample, or two samples with the older one first.
pub(crate) fn calculate(request: &mut Request<'_>, answer: &mut Answer) -> Result<(), Failure> {
    let older = match request.bool()? {
        true => Some(read_sample(request)?),
        false => None,
    };
    let newer = read_sample(request)?;
    let result = match older {
        Some(older) => CounterSample::calculate_between(older, newer),
        None => CounterSample::calculate(newer),
    };
    value(result, answer, |value, answer| _ = answer.bits(value.to_bits()));
    Ok(())
}

/// Puts one thing about a counter into the answer, which `what` selects: 0 the next value, 1 the next
/// sample, 2 the next text, each of them or the reason why there is none; 3 the identity of its
/// instance, if it is known; 4 its faults. Any other `what` resets the counter.
pub(crate) fn next(
    counter: &mut PerformanceCounter,
    what: i32,
    answer: &mut Answer,
) -> Result<(), Failure> {
    match what {
        0 => value(counter.next_value(), answer, |v, answer| _ = answer.bits(v.to_bits())),
        1 => value(counter.next_sample(), answer, sample),
        2 => value(counter.next_text(), answer, |text, answer| _ = answer.text(&text)),
        3 => {
            answer.bool(counter.identity().is_some());
            counter.identity().into_iter().for_each(|one| identity(one, answer));
        }
        4 => faults(counter.faults(), answer),
        _ => counter.reset(),
    }
    Ok(())
}

/// Takes a sample of a category with all its data. Puts the data into the table of objects, and its
/// handle, time, counters and instances into the answer.
pub(crate) fn read(category: &mut Category, answer: &mut Answer) -> Result<(), Failure> {
    let data = category.read()?;
    let time = data.time();
    for part in [time.year, time.month, time.day, time.hour, time.minute, time.second] {
        answer.i32(i32::from(part));
    }
    answer.i32(i32::from(time.milliseconds));
    let counters = data.by_counter();
    answer.count(counters.len());
    for counter in &counters {
        answer.text(&counter.name());
        counter_type(counter.counter_type(), answer);
    }
    let names: Vec<String> = data.by_instance().iter().map(|row| row.name()).collect();
    answer.texts(names.iter());
    answer.i64(handles::insert(Object::Data(data))?);
    Ok(())
}

/// Puts the positions of an instance and of a counter, among those of the data, into the answer.
/// The counter's name may be in any language. -1 means that the name is not found.
pub(crate) fn places(data: &CategoryData, instance: &str, counter: &str, answer: &mut Answer) {
    let at = |place: Option<usize>| place.map_or(-1, |place| i32::try_from(place).unwrap_or(-1));
    // A row is found by name; its place is that of the row with the same name.
    let row = data.by_instance().get(instance).map(|row| row.name());
    let row = row.and_then(|name| data.by_instance().iter().position(|row| row.name() == name));
    let column = data.by_counter().get(counter).map(|column| column.name());
    let columns = data.by_counter();
    let column = column.and_then(|name| columns.iter().position(|column| column.name() == name));
    answer.i32(at(row)).i32(at(column));
}

/// Puts all values into the answer, instance by instance, and the reason for each that is missing.
/// Without `older` they are the values of this data alone; with `older` they are calculated from
/// the older data and this data.
pub(crate) fn values(
    data: &CategoryData,
    older: Option<&CategoryData>,
    answer: &mut Answer,
) -> Result<(), Failure> {
    for row in &data.by_instance() {
        for one in &row {
            let result = older.map_or_else(|| one.value(), |older| one.value_since(older));
            value(result, answer, |value, answer| _ = answer.bits(value.to_bits()));
        }
    }
    Ok(())
}

/// Puts the text of one counter of one instance into the answer if `is_text` is set, and otherwise
/// the counter's sample. A flag before it says whether there is one; no reason is given.
pub(crate) fn one(found: Option<InstanceData<'_>>, is_text: bool, answer: &mut Answer) {
    if is_text {
        answer.optional_text(found.and_then(|one| one.text()).as_deref());
        return;
    }
    let found = found.and_then(|one| one.sample().ok());
    answer.bool(found.is_some());
    if let Some(found) = found {
        sample(found, answer);
    }
}

/// Puts instances into the answer: for each the label by which it is found, and the parts of the
/// label.
pub(crate) fn instances(labels: &[InstanceLabel], answer: &mut Answer) {
    answer.count(labels.len());
    for label in labels {
        answer.text(&label.to_string()).optional_text(label.parent.as_deref()).text(&label.name);
        answer.count(label.order as usize);
    }
}

/// The text of a name that a block holds as UTF-16.
fn utf16(bytes: &[u8]) -> String {
    let units =
        bytes.chunks_exact(2).filter_map(|pair| Some(u16::from_le_bytes(pair.try_into().ok()?)));
    String::from_utf16_lossy(&units.collect::<Vec<u16>>())
}

/// Puts an identity into the answer: its text, and the ID of the process that the instance is or
/// belongs to; -1 without a process.
fn identity(identity: &Identity, answer: &mut Answer) {
    let text = match identity {
        Identity::Single => "the only one".to_string(),
        Identity::Process { id, start } => format!("process {id}, start {start}"),
        Identity::Thread { process, id, start } => {
            format!("thread {id} of process {process}, start {start}")
        }
        Identity::Unique(number) => format!("number {number}"),
        Identity::Named { parent, name, order } => {
            format!("{:?} of parent {:?}, number {order}", utf16(name), utf16(parent))
        }
        other => format!("{other:?}"),
    };
    answer.text(&text).i64(identity.process_id().map_or(-1, i64::from));
}

/// Puts faults into the answer.
pub(crate) fn faults(faults: &[Fault], answer: &mut Answer) {
    answer.count(faults.len());
    for fault in faults {
        answer.text(&fault.provider).i64(fault.object.map_or(-1, |object| i64::from(object.0)));
        answer.optional_text(fault.instance.as_deref());
        answer.bool(fault.lost_data()).text(&fault.message);
    }
}
