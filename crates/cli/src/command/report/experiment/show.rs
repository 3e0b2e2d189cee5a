//! Shows the report of an experiment as tables and as JSON.

use super::super::super::experiment::around::{Around, AroundRow};
use super::super::super::experiment::figures::{self, Scale, SensorFigures, short};
use super::{Events, Records, Timeline};
use crate::output::Output;
use crate::text::escape::Escaped;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::experiment::SummaryFigures;
use perfhive::measure::SensorName;
use perfhive::recording::RecordLines;
use perfhive_view::number::{push_float, push_grouped};
use serde_json::{Map, Value, json};

/// The rows of readings around events, and the collection that they were made from.
type Found = (Vec<AroundRow>, Around);

pub(super) fn page(
    text: &mut String,
    records: &Records,
    timeline: &Timeline,
    around: Option<&Found>,
    output: &Output,
) {
    let palette = output.palette;
    let mut head = format!("{} ", Escaped(&records.program.join(" "))).trim_start().to_string();
    push_float(&mut head, records.seconds(), 3);
    head.push_str(" s");
    if let Some(started) = &records.started {
        head.push_str(&format!(", started {}", Escaped(started)));
    }
    palette.push(text, Style::Heading, &head);
    text.push('\n');
    if records.events.is_empty() {
        text.push_str("No event came.\n");
    } else {
        let mut table = figures::table();
        for events in &records.events {
            let sensors = events.sensors.iter().map(|(name, figures)| {
                let about = records.sensors.get(name);
                let unit = about.map(|one| one.unit.as_str()).unwrap_or_default();
                let counts_time = about.and_then(|one| one.per_second).is_some_and(|one| one > 0);
                SensorFigures { sensor: shown(name), unit, counts_time, figures }
            });
            let [time, part] = &events.times;
            figures::add(&mut table, &events.title(), events.kind, [time, part], sensors);
        }
        table.render(text, output.layout(true));
        text.push('\n');
        rows(records, timeline).render(text, output.layout(true));
    }
    if let Some((rows, around)) = around {
        text.push('\n');
        let unit = |name: &str| records.sensors.get(name).map(|one| one.unit.clone());
        let about = |name: &str| (shown(name), unit(name).unwrap_or_default());
        if !rows.is_empty() {
            around.table(rows, about).render(text, output.layout(true));
        }
        if let Some(note) = around.note(rows) {
            palette.push(text, Style::Attention, &format!("! {note}"));
            text.push('\n');
        }
    }
    if let (Some((seconds, _, sources)), [Some(event), call]) = (&records.end, records.costs) {
        let busy: f64 = sources.iter().filter_map(|source| source["busy"].as_f64()).sum();
        figures::push_cost(text, event, (busy / seconds.max(1e-9), "experiment's"), call);
    }
    let mut attention = |line: String| {
        palette.push(text, Style::Attention, &line);
        text.push('\n');
    };
    if let Some((_, unmatched, sources)) = &records.end {
        for source in sources {
            let name = source["source"].as_str().unwrap_or_default();
            for (key, what) in [
                ("lost", "records found no room"),
                ("missed", "events were missed"),
                ("filtered", "events were filtered"),
            ] {
                if let Some(count) = source[key].as_u64().filter(|count| *count > 0) {
                    attention(format!("! {}: {count} {what}", Escaped(name)));
                }
            }
            if let Some(count) = source["undelivered"].as_u64().filter(|count| *count > 0) {
                attention(figures::undelivered(name, count));
            }
            if let Some(every) = source["listed_every"].as_f64() {
                attention(figures::listed(name, every));
            }
            if let Some(error) = source["error"].as_str() {
                attention(format!("! {}: {}", Escaped(name), Escaped(error)));
            }
        }
        if *unmatched > 0 {
            attention(figures::unmatched(*unmatched));
        }
    }
    if records.left_out > 0 {
        let what = "events and readings have no figures: there are too many names";
        attention(format!("! {} {what}", records.left_out));
    }
}

/// A sensor's name for people, without its source; any other text unchanged.
fn shown(name: &str) -> String {
    name.parse::<SensorName>().map_or_else(|_| name.to_string(), |name| short(&name))
}

/// The timeline as a table: the counts of events, and below the means of readings.
fn rows(records: &Records, timeline: &Timeline) -> Table {
    let mut table = Table::new(&[("TIME", Align::Left), ("", Align::Left), ("MEAN", Align::Right)]);
    let decimals = (-timeline.width.log10().floor()).max(0.0) as usize;
    for part in 0..timeline.parts {
        let begin = timeline.begin + timeline.width * part as f64;
        table.column(&format!("{begin:.decimals$} s"), Align::Right);
    }
    for (place, counts) in &timeline.counts {
        let Some(events) = records.events.get(*place) else { continue };
        table.text(Style::Name, &events.title());
        table.text(Style::Faint, "events");
        table.cell(Style::Plain, |out| match records.rate(events) {
            Some(rate) => {
                push_float(out, rate, 2);
                out.push_str("/s");
            }
            None => out.push('-'),
        });
        for count in counts {
            table.cell(Style::Plain, |out| push_grouped(out, *count));
        }
    }
    for (name, means) in &timeline.readings {
        let unit = records.sensors.get(name).map(|one| one.unit.as_str()).unwrap_or_default();
        let mut figures = SummaryFigures::default();
        means.iter().filter_map(mean).for_each(|mean| figures.add(mean));
        let scale = Scale::of(unit, &figures);
        table.text(Style::Name, &shown(name));
        table.text(Style::Faint, &scale.unit);
        let all = means.iter().fold((0.0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        for one in [&all].into_iter().chain(means) {
            table.cell(Style::Plain, |out| match mean(one) {
                Some(mean) => push_float(out, mean / scale.divisor, 2),
                None => out.push('-'),
            });
        }
    }
    table
}

/// The mean of `count` values with this sum; `None` without values.
fn mean((sum, count): &(f64, u64)) -> Option<f64> {
    (*count > 0).then(|| sum / *count as f64)
}

fn object(figures: &SummaryFigures) -> Value {
    json!({
        "count": figures.count(),
        "mean": figures.mean(),
        "p50": figures.quantile(0.5),
        "p95": figures.quantile(0.95),
        "p99": figures.quantile(0.99),
        "min": figures.min(),
        "max": figures.max(),
    })
}

fn kind(events: &Events) -> &'static str {
    events.kind.map_or("section", |kind| kind.code())
}

fn event(records: &Records, events: &Events) -> Value {
    let [time, part] = events.times.each_ref().map(object);
    let sensors: Map<String, Value> =
        events.sensors.iter().map(|(name, figures)| (name.clone(), object(figures))).collect();
    let mut line = json!({
        "event": events.name,
        "type": kind(events),
        "count": events.count,
        "rate": records.rate(events),
    });
    let named = match events.kind {
        Some(_) => [("delay", time), ("sample", part), ("values", sensors.into())],
        None => [("seconds", time), ("thread_seconds", part), ("growth", sensors.into())],
    };
    named.into_iter().for_each(|(name, value)| line[name] = value);
    if events.kind.is_some() {
        line["source"] = events.source.as_str().into();
    }
    line
}

pub(super) fn push_json(
    text: &mut String,
    records: &Records,
    timeline: &Timeline,
    around: Option<&Found>,
    lines: &RecordLines,
) {
    let end = records.end.as_ref();
    let units: Map<String, Value> = (records.sensors.iter())
        .map(|(name, about)| (name.clone(), about.unit.as_str().into()))
        .collect();
    let counts = timeline.counts.iter().filter_map(|(place, counts)| {
        let events = records.events.get(*place)?;
        Some(json!({"event": events.name, "type": kind(events), "counts": counts}))
    });
    let counts: Vec<Value> = counts.collect();
    let readings = timeline.readings.iter().map(|(name, means)| {
        let means: Vec<Option<f64>> = means.iter().map(mean).collect();
        json!({"sensor": name, "means": means})
    });
    let readings: Vec<Value> = readings.collect();
    let report = json!({
        "program": records.program,
        "started": records.started,
        "seconds": records.seconds(),
        "event_seconds": records.costs[0],
        "call_thread_seconds": records.costs[1],
        "has_end": end.is_some(),
        "damaged_lines": lines.damaged,
        "torn_line": lines.is_torn,
        "left_out": records.left_out,
        "unmatched": end.map(|(_, unmatched, _)| unmatched),
        "sources": end.map(|(.., sources)| sources),
        "units": units,
        "events": records.events.iter().map(|one| event(records, one)).collect::<Vec<Value>>(),
        "timeline": {
            "begin": timeline.begin,
            "part_seconds": timeline.width,
            "parts": timeline.parts,
            "events": counts,
            "readings": readings,
        },
        "around": around.map(|(rows, around)| around.json(rows)),
    });
    text.push_str(&format!("{report:#}\n"));
}
