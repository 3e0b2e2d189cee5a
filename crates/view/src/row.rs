//! Readings as rows with named columns.

use crate::field::Field;
use crate::label::plain;
use crate::time::rfc3339;
use perfhive_engine::{CounterPath, NoValue, Query, Reading};
use perfhive_format::{CookedValue, CounterType};

/// The keys of a row's fields, in their order.
pub const KEYS: [&str; 12] = [
    "path",
    "value",
    "unit",
    "status",
    "time",
    "machine",
    "object",
    "instance",
    "counter",
    "counter_type",
    "raw",
    "base",
];

/// The value of a row, or why there is none.
#[derive(Clone, Debug)]
pub enum RowValue {
    /// A number.
    Number(CookedValue),
    /// A text counter's text.
    Text(String),
    /// No value, with the reason.
    None(NoValue),
}

/// One reading with the names of everything in it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The counter path.
    pub path: String,
    /// The value.
    pub value: RowValue,
    /// The counter type; `None` if the counter cannot be read.
    pub counter_type: Option<CounterType>,
    /// When the sample was taken, as RFC 3339.
    pub time: Option<String>,
    /// The machine; empty if unknown.
    pub machine: String,
    /// The object.
    pub object: String,
    /// The label of the instance; `None` for objects without instances.
    pub instance: Option<String>,
    /// The counter.
    pub counter: String,
    /// The raw value.
    pub raw: Option<u64>,
    /// The raw value of the base counter.
    pub base: Option<u64>,
}

impl Row {
    /// The row of a reading.
    #[must_use]
    pub fn new(query: &Query, reading: &Reading) -> Self {
        let (object, counter) = query.names_of(reading);
        let value = match (&reading.value, &reading.text) {
            (Ok(value), _) => RowValue::Number(*value),
            (Err(_), Some(text)) => RowValue::Text(text.clone()),
            (Err(why), None) => RowValue::None(why.clone()),
        };
        Self {
            path: query.path_of(reading).to_string(),
            value,
            counter_type: Some(reading.counter_type),
            time: query.time_of(reading).and_then(rfc3339),
            machine: reading.machine.to_string(),
            object,
            instance: reading.instance.as_ref().map(plain),
            counter,
            raw: reading.raw.map(|raw| raw.value),
            base: reading.raw.and_then(|raw| raw.base),
        }
    }

    /// The row of a path that cannot be read at the moment, with the reason.
    #[must_use]
    pub fn absent(text: &str, reason: &str) -> Self {
        let path: Option<CounterPath> = text.parse().ok();
        let part = |part: &dyn Fn(&CounterPath) -> String| path.as_ref().map(part);
        let why = NoValue::ObjectMissing(Some(reason.into()));
        Self {
            path: text.to_string(),
            value: RowValue::None(why),
            counter_type: None,
            time: None,
            machine: String::new(),
            object: part(&|path| path.object.to_string()).unwrap_or_default(),
            instance: path.as_ref().and_then(|path| Some(path.instance.as_ref()?.to_string())),
            counter: part(&|path| path.counter.to_string()).unwrap_or_default(),
            raw: None,
            base: None,
        }
    }

    /// Whether the row has a value.
    #[must_use]
    pub fn has_value(&self) -> bool {
        !matches!(self.value, RowValue::None(_))
    }

    /// The fields in the order of [`KEYS`]; `type_name` is the text of the
    /// counter type.
    #[must_use]
    pub fn fields<'a>(&'a self, type_name: Option<&'a str>) -> [Field<'a>; 12] {
        let (value, status) = match &self.value {
            RowValue::Number(CookedValue::Integer(value)) => (Field::Unsigned(*value), "ok"),
            RowValue::Number(CookedValue::Float(value)) => (Field::Float(*value), "ok"),
            RowValue::Text(text) => (Field::Text(text), "ok"),
            RowValue::None(why) => (Field::None, why.code()),
        };
        [
            Field::Text(&self.path),
            value,
            Field::text(self.counter_type.map(CounterType::unit)),
            Field::Text(status),
            Field::text(self.time.as_deref()),
            Field::Text(&self.machine),
            Field::Text(&self.object),
            Field::text(self.instance.as_deref()),
            Field::Text(&self.counter),
            Field::text(type_name),
            Field::unsigned(self.raw),
            Field::unsigned(self.base),
        ]
    }
}
