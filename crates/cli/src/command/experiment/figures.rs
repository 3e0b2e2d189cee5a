//! Tables of figures by event, of a running experiment and of its records.

use crate::text::escape::Escaped;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::experiment::{EventKind, SummaryFigures};
use perfhive::measure::SensorName;
use perfhive_view::number::{bytes_scaled, push_float, push_grouped};

/// The line about an event source that finds processes or threads by listing them every `every` seconds.
pub(in crate::command) fn listed(source: &str, every: f64) -> String {
    let ms = every * 1e3;
    format!(
        "! {}: found in lists, every {ms} ms; what began and ended between two is not counted",
        Escaped(source)
    )
}

/// The line that says how many records of an event source found no room with a receiver of records.
pub(in crate::command) fn undelivered(source: &str, records: u64) -> String {
    format!("! {}: {records} records found no room with a receiver", Escaped(source))
}

/// The figures of a sensor at the events of one name.
pub(in crate::command) struct SensorFigures<'a> {
    /// The sensor's name, as it is shown.
    pub(in crate::command) sensor: String,
    pub(in crate::command) unit: &'a str,
    /// Whether the sensor's raw value counts time; its growth is then in seconds.
    pub(in crate::command) counts_time: bool,
    pub(in crate::command) figures: &'a SummaryFigures,
}

/// A table of figures with its headings and without rows.
pub(in crate::command) fn table() -> Table {
    Table::new(&[
        ("EVENT", Align::Left),
        ("", Align::Left),
        ("COUNT", Align::Right),
        ("MEAN", Align::Point),
        ("P50", Align::Point),
        ("P95", Align::Point),
        ("P99", Align::Point),
        ("MIN", Align::Point),
        ("MAX", Align::Point),
        ("", Align::Left),
    ])
}

/// The title of the events of a name and kind: the name alone for points, otherwise with `start` or `end` behind it. If
/// the kind is `None`, it is the title of the sections (each from a start to its end) of this name.
pub(in crate::command) fn titled(name: &str, kind: Option<EventKind>) -> String {
    match kind {
        Some(EventKind::Point) => name.to_string(),
        Some(kind) => format!("{name} {}", kind.code()),
        None => format!("{name} section"),
    }
}

/// Adds the rows of the events of a kind, or of sections (each from a start to its end) if `kind` is `None`. For
/// events, `times` are the delay (from the event to the end of its sample) and the time that the sample took; for
/// sections, their duration and the processor time of their thread.
pub(in crate::command) fn add<'a>(
    table: &mut Table,
    title: &str,
    kind: Option<EventKind>,
    times: [&SummaryFigures; 2],
    sensors: impl Iterator<Item = SensorFigures<'a>>,
) {
    let [time, part] = match kind {
        Some(_) => ["delay", "sample"],
        None => ["time", "thread time"],
    };
    row(table, title, time, times[0], Scale::TIME);
    if times[1].count() > 0 {
        row(table, "", part, times[1], Scale::TIME);
    }
    for SensorFigures { mut sensor, unit, counts_time, figures } in sensors {
        let scale = match (kind, counts_time) {
            (None, true) => Scale::TIME,
            (None, false) => Scale::growth(unit, figures),
            (Some(_), _) => Scale::of(unit, figures),
        };
        if kind.is_none() {
            sensor.insert(0, '+');
        }
        row(table, "", &sensor, figures, scale);
    }
}

/// A sensor's name without its source.
pub(in crate::command) fn short(name: &SensorName) -> String {
    let instance = name.instance().map(|instance| format!("#{instance}")).unwrap_or_default();
    format!("{}/{}{instance}", name.group(), name.sensor())
}

/// The unit of a line of a table, and the number by which the line's values are divided.
pub(in crate::command) struct Scale {
    pub(in crate::command) unit: String,
    pub(in crate::command) divisor: f64,
}

impl Scale {
    /// The scale for times in seconds, shown in µs.
    const TIME: Self = Self { unit: String::new(), divisor: 1e-6 };

    /// The scale for values as far from zero as the farthest of these figures. Only bytes, and
    /// bytes per second, are scaled.
    pub(in crate::command) fn of(unit: &str, figures: &SummaryFigures) -> Self {
        let bytes = unit.strip_prefix('B').filter(|rest| rest.is_empty() || *rest == "/s");
        let (least, most) = (figures.min().unwrap_or(0.0), figures.max().unwrap_or(0.0));
        match (bytes, Some(most.max(-least)).filter(|most| *most > 0.0)) {
            (Some(rest), Some(max)) => {
                let (scaled, unit) = bytes_scaled(max);
                Self { unit: format!("{unit}{rest}"), divisor: max / scaled }
            }
            _ => Self { unit: unit.to_string(), divisor: 1.0 },
        }
    }

    /// The scale of the growth of raw values: bytes are scaled; anything else is a number without a
    /// unit.
    fn growth(unit: &str, figures: &SummaryFigures) -> Self {
        match unit {
            "B" | "B/s" => Self::of("B", figures),
            _ => Self { unit: String::new(), divisor: 1.0 },
        }
    }
}

fn row(table: &mut Table, event: &str, what: &str, figures: &SummaryFigures, scale: Scale) {
    table.text(Style::Name, event);
    table.text(Style::Plain, what);
    table.cell(Style::Plain, |out| push_grouped(out, figures.count()));
    let shares = [0.5, 0.95, 0.99].map(|share| figures.quantile(share));
    let numbers = [figures.mean()].into_iter().chain(shares);
    for number in numbers.chain([figures.min(), figures.max()]) {
        table.cell(Style::Plain, |out| match number {
            Some(number) => push_float(out, number / scale.divisor, 2),
            None => out.push('-'),
        });
    }
    let unit = if scale.unit.is_empty() && scale.divisor < 1.0 { "µs" } else { &scale.unit };
    table.text(Style::Faint, unit);
}

/// The line about the number of starts and ends that are in no section.
pub(in crate::command) fn unmatched(count: u64) -> String {
    format!(
        "! {count} starts without an end, or ends without a start; they make no section either where events between them \
         were left out"
    )
}

/// Appends the cost of measuring. `event` is the mean time in seconds that perfhive spends on an event, `share` the
/// part (from 0 to 1) that perfhive took of the time named `of`, and `call` the mean processor time in seconds that a
/// call costs the program.
pub(in crate::command) fn push_cost(
    text: &mut String,
    event: f64,
    (share, of): (f64, &str),
    call: Option<f64>,
) {
    text.push_str("Cost: ");
    push_float(text, event * 1e6, 2);
    text.push_str(" µs for an event in perfhive, in all ");
    push_float(text, share * 100.0, 2);
    text.push_str(&format!(" % of the {of} time"));
    if let Some(call) = call {
        text.push_str("; a call costs the program ");
        push_float(text, call * 1e6, 2);
        text.push_str(" µs of its processor time");
    }
    text.push_str(".\n");
}
