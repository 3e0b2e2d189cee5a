//! Rows: readings with named fields, as commands write them.

use crate::field::Field;
use crate::scale::{Detail, Quantity, Shown};
use crate::time::rfc3339;
use perfhive_engine::{CounterPath, NoValue, Query, Reading, is_identifier};
use perfhive_format::{CookedValue, CounterType};
use std::borrow::Cow;

/// The keys of a row's fields, in the order of [`Row::fields`].
pub const KEYS: [&str; 15] = [
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
    "pid",
    "object_index",
    "counter_index",
];

/// The keys of the names in the chosen language, in the order of [`Row::local_fields`].
pub const LOCAL_KEYS: [&str; 2] = ["local_object", "local_counter"];

/// The value of a row, or the reason why there is none.
#[derive(Clone, Debug)]
pub enum RowValue {
    /// A number.
    Number(CookedValue),
    /// A text counter's text.
    Text(String),
    /// No value, with the reason.
    None(NoValue),
}

/// One reading with the names of its object, counter and instance.
#[derive(Clone, Debug)]
pub struct Row {
    /// The counter path, in English where the source has English names.
    pub path: String,
    /// The counter path in the shown language.
    pub local_path: String,
    /// The value. A percentage below zero, which clocks that differ a little make, is zero.
    pub value: RowValue,
    /// The quantity of the value, which decides how it is written.
    pub quantity: Quantity<'static>,
    /// The unit of `value`, which [`scale`](Self::scale) changes together with it.
    pub unit: Cow<'static, str>,
    /// The time of the sample as RFC 3339; `None` if the sample has no valid time.
    pub time: Option<String>,
    /// The name of the machine; empty if unknown.
    pub machine: String,
    /// The name of the object, in English.
    pub object: String,
    /// The label of the instance; `None` for objects without instances.
    pub instance: Option<String>,
    /// The name of the counter, in English.
    pub counter: String,
    /// The names of object and counter in the shown language.
    pub local_names: (String, String),
    /// The raw value; `None` if there is none.
    pub raw: Option<u64>,
    /// The raw value of the base counter; `None` for a counter without one.
    pub base: Option<u64>,
    /// The ID of the process that the instance is or belongs to; `None` for objects other than
    /// processes and threads, and for Idle and `_Total`.
    pub pid: Option<u32>,
    /// The title indexes of object and counter; `None` for a path that cannot be read.
    pub indexes: Option<(u32, u32)>,
}

impl Row {
    /// The row of a reading.
    #[must_use]
    pub fn new(query: &Query, reading: &Reading) -> Self {
        let (object, counter) = query.english_names_of(reading);
        let unit = query.unit_of(reading);
        let counter_type = Some(reading.counter_type);
        let quantity = Quantity { counter_type, unit, is_identifier: is_identifier(&counter) };
        let value = match (&reading.value, &reading.text) {
            (Ok(value), _) if unit == "%" && value.as_f64() < 0.0 => {
                RowValue::Number(CookedValue::Float(0.0))
            }
            (Ok(value), _) => RowValue::Number(quantity.counted(*value)),
            (Err(_), Some(text)) => RowValue::Text(text.clone()),
            (Err(why), None) => RowValue::None(why.clone()),
        };
        Self {
            path: query.english_path_of(reading).to_string(),
            local_path: query.path_of(reading).to_string(),
            value,
            quantity,
            unit: unit.into(),
            time: query.time_of(reading).or(query.time()).and_then(rfc3339),
            machine: reading.machine.to_string(),
            object,
            instance: reading.instance.as_ref().map(|label| label.plain()),
            counter,
            local_names: query.names_of(reading),
            raw: reading.raw.map(|raw| raw.value),
            base: reading.raw.and_then(|raw| raw.base),
            pid: reading.process_id(),
            indexes: Some((reading.object.0, reading.counter.0)),
        }
    }

    /// The row of a path that the query does not have, since it cannot be read at the moment;
    /// `reason` says why its value is missing.
    #[must_use]
    pub fn absent(query: &Query, text: &str, reason: &str) -> Self {
        let path: Option<CounterPath> = text.parse().ok();
        let part = |part: &dyn Fn(&CounterPath) -> String| path.as_ref().map(part);
        let why = NoValue::ObjectMissing(Some(reason.into()));
        let object = part(&|path| path.object.to_string()).unwrap_or_default();
        let counter = part(&|path| path.counter.to_string()).unwrap_or_default();
        Self {
            path: text.to_string(),
            local_path: text.to_string(),
            value: RowValue::None(why),
            quantity: Quantity { counter_type: None, unit: "", is_identifier: false },
            unit: Cow::Borrowed(""),
            time: query.time().and_then(rfc3339),
            machine: String::new(),
            local_names: (object.clone(), counter.clone()),
            object,
            instance: path.as_ref().and_then(|path| Some(path.instance.as_ref()?.to_string())),
            counter,
            raw: None,
            base: None,
            pid: None,
            indexes: None,
        }
    }

    /// Whether the row has a number or a text.
    #[must_use]
    pub fn has_value(&self) -> bool {
        !matches!(self.value, RowValue::None(_))
    }

    /// The row's number and its unit, written for people; `None` for a text, and if there is no
    /// value.
    #[must_use]
    pub fn shown(&self, detail: Detail) -> Option<Shown> {
        match &self.value {
            RowValue::Number(value) => Some(self.quantity.shown(*value, detail)),
            _ => None,
        }
    }

    /// Converts an amount of memory or data, and its unit, to those in which people read them
    /// (bytes to KiB and so on), with one decimal, for output in fields. Any other value stays as
    /// it is.
    pub fn scale(&mut self) {
        if let RowValue::Number(value) = &mut self.value
            && let Some((scaled, unit)) = self.quantity.rounded(*value)
        {
            *value = scaled;
            self.unit = unit.into();
        }
    }

    /// The fields in the order of [`KEYS`]; `type_name` is the name of the counter type.
    #[must_use]
    pub fn fields<'a>(&'a self, type_name: Option<&'a str>) -> [Field<'a>; 15] {
        let (value, status) = match &self.value {
            RowValue::Number(CookedValue::Integer(value)) => (Field::Unsigned(*value), "ok"),
            RowValue::Number(CookedValue::Float(value)) => (Field::Float(*value), "ok"),
            RowValue::Text(text) => (Field::Text(text), "ok"),
            RowValue::None(why) => (Field::None, why.code()),
        };
        let index =
            |index: fn((u32, u32)) -> u32| Field::unsigned(self.indexes.map(|i| index(i).into()));
        [
            Field::Text(&self.path),
            value,
            self.quantity.counter_type.map_or(Field::None, |_| Field::Text(&self.unit)),
            Field::Text(status),
            Field::text(self.time.as_deref()),
            Field::Text(&self.machine),
            Field::Text(&self.object),
            Field::text(self.instance.as_deref()),
            Field::Text(&self.counter),
            Field::text(type_name),
            Field::unsigned(self.raw),
            Field::unsigned(self.base),
            Field::unsigned(self.pid.map(u64::from)),
            index(|(object, _)| object),
            index(|(_, counter)| counter),
        ]
    }

    /// The fields in the order of [`LOCAL_KEYS`].
    #[must_use]
    pub fn local_fields(&self) -> [Field<'_>; 2] {
        [Field::Text(&self.local_names.0), Field::Text(&self.local_names.1)]
    }

    /// The name of the counter type for [`fields`](Self::fields); `None` if the type is unknown.
    #[must_use]
    pub fn type_name(&self) -> Option<String> {
        self.quantity.counter_type.map(|one: CounterType| one.to_string())
    }
}
