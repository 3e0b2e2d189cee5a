//! The answers of a query as rows.

use crate::instances::plain;
use crate::paths::{Absent, Added};
use crate::text::records::Field;
use crate::text::time::rfc3339;
use perfhive::{CookedValue, CounterPath, CounterType, NoValue, Query, Reading};

/// The keys of a row, in their order.
pub(crate) const KEYS: [&str; 12] = [
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

/// A value, or none.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Number(CookedValue),
    Text(String),
    None(NoValue),
}

/// One reading, with everything named.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) path: String,
    pub(crate) answer: Answer,
    /// `None` where there is no telling.
    pub(crate) counter_type: Option<CounterType>,
    pub(crate) time: Option<String>,
    pub(crate) machine: String,
    pub(crate) object: String,
    pub(crate) instance: Option<String>,
    pub(crate) counter: String,
    pub(crate) raw: Option<u64>,
    pub(crate) base: Option<u64>,
}

impl Row {
    /// Names a reading.
    pub(crate) fn new(query: &Query, reading: &Reading) -> Self {
        let (object, counter) = query.names_of(reading);
        let answer = match (&reading.value, &reading.text) {
            (Ok(value), _) => Answer::Number(*value),
            (Err(_), Some(text)) => Answer::Text(text.clone()),
            (Err(why), None) => Answer::None(why.clone()),
        };
        Self {
            path: query.path_of(reading).to_string(),
            answer,
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

    /// The rows of the last collection, in the order of the paths.
    pub(crate) fn all(query: &Query, paths: &[Added]) -> Vec<Self> {
        let mut rows = Vec::new();
        for path in paths {
            match path {
                Ok(id) => {
                    let readings = query.readings_of(*id);
                    rows.extend(readings.map(|reading| Self::new(query, reading)));
                }
                Err(absent) => rows.push(Self::absent(absent)),
            }
        }
        rows
    }

    /// A path to what is not there at the moment.
    pub(crate) fn absent(absent: &Absent) -> Self {
        let path: Option<CounterPath> = absent.path.parse().ok();
        let part = |part: &dyn Fn(&CounterPath) -> String| path.as_ref().map(part);
        let why = NoValue::ObjectMissing(Some(absent.why.as_str().into()));
        Self {
            path: absent.path.clone(),
            answer: Answer::None(why),
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

    /// Whether there is a value.
    pub(crate) fn has_value(&self) -> bool {
        !matches!(self.answer, Answer::None(_))
    }

    /// The fields, in the order of [`KEYS`].
    pub(crate) fn fields<'a>(&'a self, type_name: Option<&'a str>) -> [Field<'a>; 12] {
        let (value, status) = match &self.answer {
            Answer::Number(CookedValue::Integer(value)) => (Field::Unsigned(*value), "ok"),
            Answer::Number(CookedValue::Float(value)) => (Field::Float(*value), "ok"),
            Answer::Text(text) => (Field::Text(text), "ok"),
            Answer::None(why) => (Field::None, why.code()),
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

/// Adds rows for programs.
pub(crate) fn push_rows(
    records: &mut crate::text::records::Records,
    out: &mut String,
    rows: &[Row],
) {
    for row in rows {
        let type_name = row.counter_type.map(|one| one.to_string());
        records.row(out, row.fields(type_name.as_deref()));
    }
}
