//! The report for programs.

use crate::output::Output;
use crate::text::records::push_value;
use perfhive::FileTime;
use perfhive_view::report::{ProcessReport, Report, Summary, ThresholdFinding, path_of};
use perfhive_view::time::rfc3339;
use perfhive_view::{Field, LOCAL_KEYS};
use serde_json::{Value, json};

/// A time for programs, as RFC 3339 writes it; `None` if it is no valid date.
pub(in crate::command) fn time(time: FileTime) -> Option<String> {
    rfc3339(time.to_system_time())
}

/// The seconds in a number of steps of 100 ns.
fn seconds(steps: i64) -> f64 {
    steps as f64 / 1e7
}

/// A summary as a JSON object.
pub(in crate::command) fn summary(of: &Summary) -> Value {
    json!({
        "count": of.count,
        "minimum": of.minimum,
        "minimum_at": time(of.minimum_at),
        "mean": of.mean,
        "percentile_95": of.percentile_95,
        "percentile_is_exact": of.is_exact,
        "maximum": of.maximum,
        "maximum_at": time(of.maximum_at),
        "deviation": of.deviation,
    })
}

fn process(of: &ProcessReport) -> Value {
    let figures = |figures: Option<Summary>| figures.as_ref().map(summary);
    json!({
        "name": of.name,
        "pid": of.id,
        "first_seen": time(of.seen.0),
        "last_seen": time(of.seen.1),
        "processor_time_of_all": of.share,
        "processor_time": figures(of.processor),
        "working_set": figures(of.working_set),
        "private_bytes": figures(of.private_bytes),
        "private_bytes_per_hour": of.growth,
        "threads": figures(of.threads),
        "handles": figures(of.handles),
        "io_bytes_per_second": figures(of.io),
    })
}

fn finding(of: &ThresholdFinding) -> Value {
    let instances: Vec<Value> = of
        .instances
        .iter()
        .map(|one| {
            json!({
                "instance": one.label,
                "crossed": one.crossing.count,
                "values": one.values,
                "first": time(one.crossing.first),
                "last": time(one.crossing.last),
                "worst": one.crossing.worst,
                "worst_at": time(one.crossing.worst_at),
            })
        })
        .collect();
    json!({
        "severity": of.threshold.severity.as_str(),
        "threshold": of.threshold.title.as_ref(),
        "origin": of.threshold.origin.as_ref(),
        "object": of.object,
        "counter": of.counter,
        "unit": of.unit,
        "comparison": of.threshold.comparison.sign(),
        "limit": of.threshold.limit,
        "per_hour": of.threshold.is_trend,
        "instances": instances,
    })
}

/// Appends the whole report as one JSON object.
pub(super) fn push(text: &mut String, report: &Report, source: &str) {
    let times = report.timeline.times();
    let gaps = report.timeline.gaps();
    let counters: Vec<Value> = report
        .objects
        .iter()
        .flat_map(|object| object.instances.iter().map(move |instance| (object, instance)))
        .flat_map(|(object, instance)| {
            instance.counters.iter().map(move |counter| {
                let label = instance.label.as_deref();
                json!({
                    "path": path_of(&object.english, label, &counter.english),
                    "object": object.english,
                    "object_index": object.index.0,
                    "instance": instance.label,
                    "counter": counter.english,
                    "counter_index": counter.index.0,
                    "unit": counter.unit,
                    "figures": summary(&counter.summary),
                    "per_hour": counter.trend,
                })
            })
        })
        .collect();
    let value = json!({
        "source": source,
        "machine": report.machine,
        "begin": times.first().and_then(|one| time(*one)),
        "end": times.last().and_then(|one| time(*one)),
        "samples": times.len(),
        "interval": report.timeline.interval().map(seconds),
        "gaps": gaps.iter().map(|gap| json!({
            "begin": time(gap.begin),
            "seconds": seconds(gap.pause),
        })).collect::<Vec<_>>(),
        "machine_restarts": report.boots.iter().map(|one| time(*one)).collect::<Vec<_>>(),
        "restarts": report.restarts.iter().map(|one| json!({
            "name": one.name,
            "count": one.count,
            "last": time(one.last),
            "pid": one.ids.0,
            "pid_before": one.ids.1,
        })).collect::<Vec<_>>(),
        "changes": report.changes.iter().map(|one| json!({
            "name": one.name,
            "started": one.started,
            "ended": one.ended,
        })).collect::<Vec<_>>(),
        "counters": counters,
        "processes": report.processes.iter().map(process).collect::<Vec<_>>(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "thresholds_evaluated": report.evaluated,
        "thresholds_without_counters": report.without_counters,
        "not_evaluated": report.unevaluated.iter().map(|one| json!({
            "threshold": one.title,
            "origin": one.origin.as_ref(),
            "reason": one.reason,
        })).collect::<Vec<_>>(),
    });
    push_value(text, &value);
    text.push('\n');
}

/// Appends the statistics of the counters: one row for each counter of each instance.
pub(super) fn push_rows(text: &mut String, report: &Report, output: &Output) {
    let keys = [
        "object",
        "instance",
        "counter",
        "unit",
        "count",
        "minimum",
        "minimum_at",
        "mean",
        "percentile_95",
        "maximum",
        "maximum_at",
        "deviation",
        "per_hour",
        "path",
        "object_index",
        "counter_index",
        "machine",
    ];
    let local = output.local(LOCAL_KEYS);
    let mut records = output.records(keys.into_iter().chain(local), text);
    for object in &report.objects {
        for instance in &object.instances {
            for counter in &instance.counters {
                let of = &counter.summary;
                let (minimum_at, maximum_at) = (time(of.minimum_at), time(of.maximum_at));
                let path = path_of(&object.english, instance.label.as_deref(), &counter.english);
                let fields = [
                    Field::Text(&object.english),
                    Field::text(instance.label.as_deref()),
                    Field::Text(&counter.english),
                    Field::Text(counter.unit),
                    Field::Unsigned(of.count),
                    Field::Float(of.minimum),
                    Field::text(minimum_at.as_deref()),
                    Field::Float(of.mean),
                    Field::Float(of.percentile_95),
                    Field::Float(of.maximum),
                    Field::text(maximum_at.as_deref()),
                    Field::Float(of.deviation),
                    counter.trend.map_or(Field::None, Field::Float),
                    Field::Text(&path),
                    Field::Unsigned(object.index.0.into()),
                    Field::Unsigned(counter.index.0.into()),
                    Field::Text(&report.machine),
                ];
                let local = [Field::Text(&object.name), Field::Text(&counter.name)];
                records.row(text, fields.into_iter().chain(output.local(local)));
            }
        }
    }
    records.end(text);
}
