//! Readings, anomalies and costs as rows for programs.

use crate::sensors::Asked;
use crate::text::records::Records;
use perfhive::CookedValue;
use perfhive::measure::{Anomaly, SensorReading};
use perfhive_view::Field;

/// The keys of a row, in their order.
pub(super) const KEYS: [&str; 10] =
    ["sensor", "value", "unit", "status", "time", "kind", "sample", "value_type", "raw", "message"];

/// Writes rows.
pub(super) struct Rows(pub(super) Records);

/// The sample that rows belong to.
#[derive(Clone, Copy)]
pub(super) struct SampleRef<'a> {
    /// Its number, from 1.
    pub(super) sample: u64,
    /// Its time.
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
        let (value, status) = match &reading.value {
            Ok(CookedValue::Integer(value)) => (Field::Unsigned(*value), "ok"),
            Ok(CookedValue::Float(value)) => (Field::Float(*value), "ok"),
            Err(why) => (Field::None, why.code()),
        };
        let fields = [
            Field::Text(&reading.slot.name.to_string()),
            value,
            Field::text(asked.map(|asked| asked.unit.as_str())),
            Field::Text(status),
            Field::text(sample.time),
            Field::Text("reading"),
            Field::Unsigned(sample.sample),
            Field::Text(&reading.slot.value_type.to_string()),
            Field::unsigned(reading.raw),
            Field::text(message.as_deref()),
        ];
        self.0.row(text, fields);
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
        self.0.row(text, fields);
    }

    /// One figure of the cost: a number of samples, or a time in ns.
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
        self.0.row(text, fields);
    }
}

/// What an anomaly is about, and how many it counts.
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
