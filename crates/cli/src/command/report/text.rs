//! The report for people on a terminal.

use super::Wanted;
use crate::output::Output;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use crate::text::time::local;
use perfhive::{CookedValue, CounterType, FileTime, InstanceRole};
use perfhive_view::number::{push_float, push_grouped};
use perfhive_view::report::{
    Choice, CounterReport, InstanceReport, ObjectReport, ProcessReport, Report, Summary,
    ThresholdFinding, ThresholdLevel,
};
use perfhive_view::{Detail, Quantity};

/// The most gaps, the most restarts of the machine, and the most restarted programs that are
/// listed.
const MOST: usize = 10;

pub(super) fn page(
    text: &mut String,
    report: &Report,
    source: &str,
    output: &Output,
    wanted: &Wanted<'_>,
) {
    let top = wanted.top;
    let shows_silent = !matches!(wanted.choice, Choice::Usual);
    let page = Page { output, detail: output.detail(Detail::Brief), shows_silent };
    page.facts(text, report, source);
    page.findings(text, report);
    for object in &report.objects {
        page.object(text, object, top);
    }
    page.processes(text, report);
    page.unevaluated(text, report);
}

struct Page<'a> {
    output: &'a Output,
    detail: Detail,
    /// Whether counters that were 0 all the time are listed.
    shows_silent: bool,
}

/// Whether a counter was 0 all the time.
pub(super) fn is_silent(counter: &CounterReport) -> bool {
    counter.summary.minimum == 0.0 && counter.summary.maximum == 0.0
}

/// A count for people, its digits in groups.
pub(in crate::command) fn grouped(number: u64) -> String {
    let mut text = String::new();
    push_grouped(&mut text, number);
    text
}

/// A time for people, in the local time zone; `unknown` if it is no valid date.
pub(in crate::command) fn time(time: FileTime) -> String {
    local(time.to_system_time(), None).unwrap_or_else(|| "unknown".to_string())
}

/// The text of a length of time that is given in steps of 100 ns: `12.345 s` below a minute,
/// otherwise as clocks show it.
pub(in crate::command) fn duration(steps: i64) -> String {
    let seconds = steps as f64 / 1e7;
    if seconds.abs() < 60.0 {
        return format!("{seconds:.3} s");
    }
    let mut text = String::new();
    perfhive_view::number::push_elapsed(&mut text, seconds);
    text
}

/// A value with its unit.
pub(in crate::command) fn shown(
    value: f64,
    unit: &str,
    counter_type: Option<CounterType>,
    detail: Detail,
) -> String {
    let quantity = Quantity { counter_type, unit, is_identifier: false };
    let shown = quantity.shown(CookedValue::Float(value), detail);
    format!("{} {}", shown.number, shown.unit).trim_end().to_string()
}

/// The path of a counter; a `label` of `None` means an object without instances.
pub(in crate::command) fn path(object: &str, label: Option<&str>, counter: &str) -> String {
    match label {
        Some(label) => format!("\\{object}({label})\\{counter}"),
        None => format!("\\{object}\\{counter}"),
    }
}

/// The limit of a finding: `> 80 %`, for a trend `> 100 MiB per hour`.
pub(in crate::command) fn limit(finding: &ThresholdFinding, detail: Detail) -> String {
    let threshold = &finding.threshold;
    let value = shown(threshold.limit, finding.unit, Some(finding.counter_type), detail);
    let per_hour = if threshold.is_trend { " per hour" } else { "" };
    format!("{} {value}{per_hour}", threshold.comparison.sign())
}

/// The instances that a report shows: all sums, and the first `top` of the others.
pub(in crate::command) fn most(object: &ObjectReport, top: usize) -> Vec<&InstanceReport> {
    let mut single = 0;
    let is_shown = |instance: &&InstanceReport| {
        single += usize::from(instance.role != InstanceRole::Total);
        instance.role == InstanceRole::Total || single <= top
    };
    object.instances.iter().filter(is_shown).collect()
}

impl Page<'_> {
    fn heading(&self, text: &mut String, heading: &str) {
        text.push('\n');
        self.output.palette.push(text, Style::Heading, heading);
        text.push('\n');
    }

    fn facts(&self, text: &mut String, report: &Report, source: &str) {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        let mut row = |name: &str, value: String| {
            table.text(Style::Name, name);
            table.text(Style::Plain, &value);
        };
        row("source", source.to_string());
        row("machine", report.machine.clone());
        let times = report.timeline.times();
        if let (Some(first), Some(last)) = (times.first(), times.last()) {
            row("begin", time(*first));
            row("end", format!("{}, {} later", time(*last), duration(last.0 - first.0)));
        }
        let interval = report.timeline.interval().map(duration);
        let every = interval.map(|interval| format!(", one each {interval}")).unwrap_or_default();
        row("samples", format!("{}{every}", grouped(times.len() as u64)));
        let gaps = report.timeline.gaps();
        for gap in gaps.iter().take(MOST) {
            let what = if gap.pause < 0 { "the clock was set back by" } else { "no sample for" };
            row("gap", format!("{}: {what} {}", time(gap.begin), duration(gap.pause.abs())));
        }
        if gaps.len() > MOST {
            row("gaps", format!("{} more", gaps.len() - MOST));
        }
        for boot in report.boots.iter().take(MOST) {
            row("restart", format!("the machine was restarted before {}", time(*boot)));
        }
        for restart in report.restarts.iter().take(MOST) {
            let (new, old) = restart.ids;
            let again = match restart.count {
                1 => String::new(),
                count => format!(", {} restarts in all", grouped(count)),
            };
            let at = time(restart.last);
            row(
                "restart",
                format!("{} (process {new}, before {old}) at {at}{again}", restart.name),
            );
        }
        if report.restarts.len() > MOST {
            row("restarts", format!("of {} more programs", report.restarts.len() - MOST));
        }
        if !report.changes.is_empty() {
            let (started, ended) =
                report.changes.iter().fold((0, 0), |(started, ended), change| {
                    (started + change.started, ended + change.ended)
                });
            let most = report
                .changes
                .iter()
                .take(5)
                .map(|change| format!("{} +{} -{}", change.name, change.started, change.ended));
            let most: Vec<_> = most.collect();
            row(
                "processes",
                format!(
                    "{} started, {} ended; most: {}",
                    grouped(started),
                    grouped(ended),
                    most.join(", ")
                ),
            );
        }
        table.render(text, self.output.layout(false));
    }

    fn findings(&self, text: &mut String, report: &Report) {
        self.heading(text, "Thresholds");
        if report.findings.is_empty() {
            text.push_str(&format!("{}\n", not_crossed(report)));
            return;
        }
        let columns = [
            ("", Align::Left),
            ("counter", Align::Left),
            ("limit", Align::Left),
            ("beyond it", Align::Right),
            ("worst", Align::Right),
            ("when", Align::Left),
            ("threshold", Align::Left),
        ];
        let mut table = Table::new(&columns);
        for finding in &report.findings {
            let Some(worst) = finding.instances.first() else { continue };
            let style = match finding.threshold.severity {
                ThresholdLevel::Critical => Style::Bad,
                ThresholdLevel::Warning => Style::Attention,
            };
            table.text(style, finding.threshold.severity.as_str());
            let more = match finding.instances.len() {
                0 | 1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let counter = path(&finding.object, worst.label.as_deref(), &finding.counter);
            table.text(Style::Plain, &format!("{counter}{more}"));
            table.text(Style::Plain, &limit(finding, self.detail));
            let beyond = match finding.threshold.is_trend {
                true => "trend".to_string(),
                false => format!("{} of {}", grouped(worst.crossing.count), grouped(worst.values)),
            };
            table.text(Style::Plain, &beyond);
            let value =
                shown(worst.crossing.worst, finding.unit, Some(finding.counter_type), self.detail);
            table.text(Style::Plain, &value);
            table.text(Style::Plain, &time(worst.crossing.worst_at));
            let title = format!("{} ({})", finding.threshold.title, finding.threshold.origin);
            table.text(Style::Faint, &title);
        }
        table.render(text, self.output.layout(true));
        let note = without_note(report.without_counters);
        text.push_str(&format!(
            "{} crossed of {}{note}\n",
            report.findings.len(),
            report.evaluated
        ));
    }

    fn object(&self, text: &mut String, object: &ObjectReport, top: usize) {
        self.heading(text, &object.name);
        let has_instances = object.instances.iter().any(|instance| instance.label.is_some());
        let mut table = Table::default();
        if has_instances {
            table.column("instance", Align::Left);
        }
        let numbers = ["minimum", "mean", "95th percentile", "maximum"];
        table.column("counter", Align::Left);
        numbers.iter().for_each(|name| table.column(name, Align::Right));
        table.column("maximum at", Align::Left);
        let shown_instances = most(object, top);
        let mut silent = 0;
        for instance in &shown_instances {
            for counter in &instance.counters {
                if is_silent(counter) && !self.shows_silent {
                    silent += 1;
                    continue;
                }
                if has_instances {
                    table.text(Style::Name, instance.label.as_deref().unwrap_or_default());
                }
                table.text(Style::Plain, &counter.name);
                for value in figures(&counter.summary) {
                    table.text(Style::Plain, &self.value(counter, value));
                }
                table.text(Style::Faint, &time(counter.summary.maximum_at));
            }
        }
        if table.rows() > 0 {
            table.render(text, self.output.layout(true));
        }
        if silent > 0 {
            let more = if table.rows() > 0 { "more " } else { "" };
            let counters = if silent == 1 { "counter was" } else { "counters were" };
            text.push_str(&format!("{} {more}{counters} 0 all the time\n", grouped(silent)));
        }
        let left_out = object.instances.len() - shown_instances.len();
        if left_out > 0 {
            text.push_str(&format!(
                "{} more instances; --top shows them\n",
                grouped(left_out as u64)
            ));
        }
        if object.left_out > 0 {
            let count = grouped(object.left_out as u64);
            text.push_str(&format!("{count} instances were too many to keep\n"));
        }
    }

    fn value(&self, counter: &CounterReport, value: f64) -> String {
        shown(value, counter.unit, Some(counter.counter_type), self.detail)
    }

    fn processes(&self, text: &mut String, report: &Report) {
        if report.processes.is_empty() {
            return;
        }
        self.heading(text, "Processes");
        let columns = [
            ("process", Align::Left),
            ("PID", Align::Right),
            ("CPU, whole time", Align::Right),
            ("maximum", Align::Right),
            ("at", Align::Left),
            ("working set", Align::Right),
            ("private", Align::Right),
            ("growth/hour", Align::Right),
            ("threads", Align::Right),
            ("handles", Align::Right),
            ("I/O", Align::Right),
            ("seen", Align::Left),
        ];
        let mut table = Table::new(&columns);
        for process in &report.processes {
            self.process(&mut table, process);
        }
        table.render(text, self.output.layout(true));
        text.push_str(
            "CPU in percent of one processor, on average over the whole recording; memory, threads and \
             handles at most; I/O on average\n",
        );
    }

    fn process(&self, table: &mut Table, process: &ProcessReport) {
        table.text(Style::Name, &process.name);
        table.text(Style::Plain, &process.id.map(|id| id.to_string()).unwrap_or_default());
        let percent = |value: Option<f64>| {
            let mut text = String::new();
            if let Some(value) = value {
                push_float(&mut text, value, 1);
                text.push_str(" %");
            }
            text
        };
        let maximum = |summary: Option<Summary>| summary.map(|one| one.maximum);
        table.text(Style::Plain, &percent(process.share));
        table.text(Style::Plain, &percent(maximum(process.processor)));
        let at = process.processor.map(|one| time(one.maximum_at)).unwrap_or_default();
        table.text(Style::Faint, &at);
        let bytes = |value: Option<f64>, unit: &str| {
            value.map(|value| shown(value, unit, None, self.detail)).unwrap_or_default()
        };
        table.text(Style::Plain, &bytes(maximum(process.working_set), "B"));
        table.text(Style::Plain, &bytes(maximum(process.private_bytes), "B"));
        table.text(Style::Plain, &bytes(process.growth, "B"));
        let count = |summary: Option<Summary>| {
            summary.map(|one| grouped(one.maximum.max(0.0) as u64)).unwrap_or_default()
        };
        table.text(Style::Plain, &count(process.threads));
        table.text(Style::Plain, &count(process.handles));
        table.text(Style::Plain, &bytes(process.io.map(|one| one.mean), "B/s"));
        let seen = match process.was_there_always {
            true => "always".to_string(),
            false => format!("{} to {}", time(process.seen.0), time(process.seen.1)),
        };
        table.text(Style::Faint, &seen);
    }

    fn unevaluated(&self, text: &mut String, report: &Report) {
        if report.unevaluated.is_empty() {
            return;
        }
        self.heading(text, "Not evaluated");
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        for one in &report.unevaluated {
            table.text(Style::Plain, &one.title);
            table.text(Style::Faint, &one.reason);
        }
        table.render(text, self.output.layout(false));
    }
}

/// The minimum, the mean, the 95th percentile and the maximum.
pub(in crate::command) fn figures(summary: &Summary) -> [f64; 4] {
    [summary.minimum, summary.mean, summary.percentile_95, summary.maximum]
}

/// The sentence for a report without a crossed threshold.
pub(super) fn not_crossed(report: &Report) -> String {
    match (report.evaluated, report.without_counters) {
        (0, without @ 1..) => format!(
            "None of {without} is about a counter of the recording. Their names are English: a text log has those of its \
             language"
        ),
        (count, without) => format!("None of {count} was crossed{}", without_note(without)),
    }
}

/// The note on thresholds about counters that the recording does not have, of which there are
/// `count`; empty for 0.
pub(super) fn without_note(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("; {count} more are about counters that the recording does not have"),
    }
}
