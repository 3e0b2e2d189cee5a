//! Rows for programs: readings, anomalies and costs.

use crate::sensors::Asked;
use crate::text::records::Records;
use perfhive::measure::{Anomaly, SensorReading};
use perfhive::{CookedValue, InstancePattern};
use perfhive_view::{Field, Names, Quantity};

/// The keys of the fields of a row, in their order.
pub(super) const KEYS: [&str; 14] = [
    "sensor",
    "value",
    "unit",
    "status",
    "time",
    "kind",
    "sample",
    "value_type",
    "raw",
    "message",
    "path",
    "object_index",
    "counter_index",
    "pid",
];

/// A writer of the rows that `measure` prints for programs: readings, anomalies and the cost.
pub(super) struct Rows {
    pub(super) records: Records,
    /// Whether values are scaled (KiB, MiB and so on).
    pub(super) scales: bool,
    /// The names for the fields of the chosen language; `None` if the command line chooses none.
    pub(super) names: Option<Names>,
}

/// The sample to which rows belong.
#[derive(Clone, Copy)]
pub(super) struct SampleRef<'a> {
    /// The number of the sample, from 1.
    pub(super) sample: u64,
    /// The time of the sample as text; `None` if the sample has no valid time.
    pub(super) time: Option<&'a str>,
}

impl Rows {
    pub(super) fn reading(
        &mut self,
        text: &mut String,
        sample: SampleRef<'_>,
        asked: Option<&Asked>,
        reading: &SensorReading,
    ) {
        let message = reading.value.as_ref().err().map(ToString::to_string);
        let (name, instance) = (&reading.slot.name, &reading.slot.instance);
        let unit = asked.map(|asked| asked.unit.as_str());
        let of =
            Quantity { counter_type: None, unit: unit.unwrap_or_default(), is_identifier: false };
        let scaled = reading.value.as_ref().ok().filter(|_| self.scales);
        let scaled = scaled.and_then(|value| of.rounded(*value));
        let value = reading.value.as_ref().map(|value| scaled.as_ref().map_or(*value, |one| one.0));
        let unit = scaled.as_ref().map(|(_, unit)| unit.as_str()).or(unit);
        let (value, status) = match value {
            Ok(CookedValue::Integer(value)) => (Field::Unsigned(value), "ok"),
            Ok(CookedValue::Float(value)) => (Field::Float(value), "ok"),
            Err(why) => (Field::None, why.code()),
        };
        let path = asked.and_then(|asked| asked.path(&reading.slot));
        let sensor = name.to_string();
        let fields = [
            Field::Text(&sensor),
            value,
            Field::text(unit),
            Field::Text(status),
            Field::text(sample.time),
            Field::Text("reading"),
            Field::Unsigned(sample.sample),
            Field::Text(&reading.slot.value_type.to_string()),
            Field::unsigned(reading.raw),
            Field::text(message.as_deref()),
            Field::text(path.as_deref()),
            Field::unsigned(asked.map(|asked| asked.indexes.0.0.into())),
            Field::unsigned(asked.map(|asked| asked.indexes.1.0.into())),
            Field::unsigned(instance.as_ref().and_then(InstancePattern::process_id)),
        ];
        let local = self
            .names
            .as_ref()
            .zip(asked)
            .map(|(names, asked)| [names.name(asked.indexes.0), names.name(asked.indexes.1)]);
        let local = local.as_ref().into_iter().flatten().map(|name| Field::Text(name));
        self.records.row(text, fields.into_iter().chain(local));
    }

    /// Empty fields for the keys behind `message`, which only readings have.
    fn none<'a>(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        std::iter::repeat_n(Field::None, if self.names.is_some() { 6 } else { 4 })
    }

    pub(super) fn anomaly(&mut self, text: &mut String, sample: SampleRef<'_>, anomaly: &Anomaly) {
        let (of, count) = subject(anomaly);
        let fields = [
            Field::Text(of),
            Field::unsigned(count),
            Field::Text(""),
            Field::Text(anomaly.code()),
            Field::text(sample.time),
            Field::Text("anomaly"),
            Field::Unsigned(sample.sample),
            Field::None,
            Field::None,
            Field::Text(&anomaly.to_string()),
        ];
        self.records.row(text, fields.into_iter().chain(self.none()));
    }

    /// Adds a figure of the cost: the time `nanos`, or if it is `None` the number of samples.
    pub(super) fn cost(
        &mut self,
        text: &mut String,
        clock: &str,
        figure: &str,
        samples: u64,
        nanos: Option<u64>,
    ) {
        let (value, unit) = match nanos {
            Some(nanos) => (Field::Float(nanos as f64 / 1e9), "s"),
            None => (Field::Unsigned(samples), ""),
        };
        let fields = [
            Field::Text(clock),
            value,
            Field::Text(unit),
            Field::Text(figure),
            Field::None,
            Field::Text("cost"),
            Field::None,
            Field::None,
            Field::unsigned(nanos),
            Field::None,
        ];
        self.records.row(text, fields.into_iter().chain(self.none()));
    }
}

/// The group of sensors or the data source that an anomaly is about (empty for any other anomaly),
/// and how many things the anomaly counts (`None` if it counts none).
fn subject(anomaly: &Anomaly) -> (&str, Option<u64>) {
    match anomaly {
        Anomaly::Born { group, count } | Anomaly::Gone { group, count } => {
            (group, Some(*count as u64))
        }
        Anomaly::More { source, count } => (source, Some(*count as u64)),
        Anomaly::StructureChanged { group } => (group, None),
        Anomaly::BufferGrown { source }
        | Anomaly::Late { source }
        | Anomaly::Failed { source, .. }
        | Anomaly::Partial { source, .. } => (source, None),
        _ => ("", None),
    }
}
