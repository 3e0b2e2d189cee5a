//! The report as one HTML page without scripts or further files.

mod chart;

use super::text::{
    duration, figures, grouped, is_silent, limit, most, not_crossed, path, shown, time,
    without_note,
};
use crate::text::escape::Escaped;
use perfhive_view::Detail;
use perfhive_view::report::{
    CounterReport, ObjectReport, ProcessReport, Report, Summary, ThresholdFinding,
};
use std::fmt::{self, Write};

/// The most instances in a chart.
const LINES: usize = 6;

const STYLE: &str = "\
:root{color-scheme:light dark;--text:#1c2430;--faint:#5d6a7a;--line:#d5dbe3;--back:#fff;--bad:#c62828;\
--warn:#b26a00;--a:#1f6fd1;--b:#d1601f;--c:#2a9d55;--d:#8e44ad;--e:#b7950b;--f:#16818c}\
@media(prefers-color-scheme:dark){:root{--text:#e3e8ee;--faint:#98a5b5;--line:#3a4452;--back:#151a21;\
--bad:#ff8a80;--warn:#ffb74d;--a:#6fb1ff;--b:#ff9e6b;--c:#6fd597;--d:#cf9be8;--e:#e8ce5c;--f:#63c7d1}}\
body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--back);max-width:1200px;\
margin:2em auto;padding:0 1em}h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}\
table{border-collapse:collapse;font-size:.9em}th{text-align:left;color:var(--faint);font-weight:600}\
th,td{padding:.25em .7em;border-bottom:1px solid var(--line);vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
.scroll{overflow-x:auto}.critical{color:var(--bad);font-weight:600}.warning{color:var(--warn);font-weight:600}\
.faint{color:var(--faint)}.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));gap:1.2em}\
figure{margin:0}figcaption{font-size:.9em;font-weight:600}svg{width:100%;height:auto;display:block}\
svg text{fill:var(--faint);font-size:11px}.key{font-size:.8em;color:var(--faint)}.key span{margin-right:.8em}\
summary{cursor:pointer;color:var(--faint);margin:.8em 0}";

/// A text, escaped for HTML when it is displayed. Control characters and those that change the
/// direction of writing are escaped too, as on a terminal.
struct Html<'a>(&'a str);

impl fmt::Display for Html<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in Escaped(self.0).to_string().chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Returns the report as an HTML page. Writing to a text cannot fail.
pub(super) fn page(report: &Report, source: &str, top: usize) -> String {
    let mut page = String::new();
    let _ = write_page(&mut page, report, source, top);
    page
}

fn write_page(page: &mut String, report: &Report, source: &str, top: usize) -> fmt::Result {
    let machine = Html(&report.machine);
    write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width\"/><title>{machine}: performance report</title>\
         <style>{STYLE}</style></head><body>\n<h1>{machine}</h1>\n"
    )?;
    facts(page, report, source)?;
    page.push_str("<h2>Thresholds</h2>\n");
    findings(page, report)?;
    for object in &report.objects {
        write_object(page, report, object, top)?;
    }
    processes(page, report)?;
    unevaluated(page, report)?;
    page.push_str("</body></html>\n");
    Ok(())
}

fn facts(page: &mut String, report: &Report, source: &str) -> fmt::Result {
    let mut rows: Vec<(&str, String)> = vec![("Source", source.to_string())];
    let times = report.timeline.times();
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        rows.push(("Time", format!("{} to {}", time(*first), time(*last))));
        rows.push(("Duration", duration(last.0 - first.0)));
    }
    let every = report.timeline.interval().map(|every| format!(", one each {}", duration(every)));
    let samples = grouped(times.len() as u64);
    rows.push(("Samples", samples + &every.unwrap_or_default()));
    for gap in report.timeline.gaps().iter().take(20) {
        let what = if gap.pause < 0 { "the clock was set back by" } else { "no sample for" };
        rows.push(("Gap", format!("{}: {what} {}", time(gap.begin), duration(gap.pause.abs()))));
    }
    for boot in report.boots.iter().take(20) {
        rows.push(("Restart", format!("the machine was restarted before {}", time(*boot))));
    }
    for restart in report.restarts.iter().take(20) {
        let (new, old) = restart.ids;
        let (name, at) = (&restart.name, time(restart.last));
        let count = grouped(restart.count);
        rows.push((
            "Restart",
            format!("{name} (process {new}, before {old}) at {at}, {count} in all"),
        ));
    }
    page.push_str("<table>\n");
    for (name, value) in rows {
        writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", Html(&value))?;
    }
    page.push_str("</table>\n");
    Ok(())
}

/// Writes the head of a table. A title that begins with `#` is that of a column of numbers.
fn head(page: &mut String, titles: &[&str]) -> fmt::Result {
    page.push_str("<div class=\"scroll\"><table><tr>");
    for title in titles {
        match title.strip_prefix('#') {
            Some(title) => write!(page, "<th class=\"n\">{title}</th>")?,
            None => write!(page, "<th>{title}</th>")?,
        }
    }
    page.push_str("</tr>\n");
    Ok(())
}

fn findings(page: &mut String, report: &Report) -> fmt::Result {
    if report.findings.is_empty() {
        return writeln!(page, "<p>{}.</p>", not_crossed(report));
    }
    head(page, &["", "Counter", "Limit", "#Beyond it", "#Worst", "When", "Threshold"])?;
    for finding in &report.findings {
        write_finding(page, finding)?;
    }
    let (count, note) = (report.findings.len(), without_note(report.without_counters));
    writeln!(
        page,
        "</table></div>\n<p class=\"faint\">{count} crossed of {}{note}.</p>",
        report.evaluated
    )
}

fn write_finding(page: &mut String, finding: &ThresholdFinding) -> fmt::Result {
    let Some(worst) = finding.instances.first() else { return Ok(()) };
    let severity = finding.threshold.severity.as_str();
    let counter = path(&finding.object, worst.label.as_deref(), &finding.counter);
    let more = match finding.instances.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let beyond = match finding.threshold.is_trend {
        true => "trend".to_string(),
        false => format!("{} of {}", grouped(worst.crossing.count), grouped(worst.values)),
    };
    let value =
        shown(worst.crossing.worst, finding.unit, Some(finding.counter_type), Detail::Brief);
    writeln!(
        page,
        "<tr><td class=\"{severity}\">{severity}</td><td>{}{more}</td><td>{}</td><td class=\"n\">{beyond}</td>\
         <td class=\"n\">{}</td><td>{}</td><td>{} <span class=\"faint\">({})</span></td></tr>",
        Html(&counter),
        Html(&limit(finding, Detail::Brief)),
        Html(&value),
        Html(&time(worst.crossing.worst_at)),
        Html(&finding.threshold.title),
        Html(&finding.threshold.origin),
    )
}

fn write_object(
    page: &mut String,
    report: &Report,
    object: &ObjectReport,
    top: usize,
) -> fmt::Result {
    let shown_instances = most(object, top);
    write!(page, "<h2>{}</h2>\n<div class=\"charts\">\n", Html(&object.name))?;
    let mut names: Vec<&str> = Vec::new();
    let counters = object.instances.iter().flat_map(|instance| &instance.counters);
    for counter in counters.filter(|counter| !is_silent(counter)) {
        if !names.contains(&counter.name.as_str()) {
            names.push(&counter.name);
        }
    }
    for name in names {
        let lines = shown_instances.iter().filter_map(|instance| {
            let counter = instance.counters.iter().find(|counter| counter.name == name)?;
            Some((instance.label.as_deref(), counter))
        });
        let lines: Vec<(Option<&str>, &CounterReport)> = lines.take(LINES).collect();
        let limits: Vec<f64> = report
            .findings
            .iter()
            .filter(|finding| finding.object == object.name && finding.counter == name)
            .filter(|finding| !finding.threshold.is_trend)
            .map(|finding| finding.threshold.limit)
            .collect();
        chart::push(page, &report.timeline, name, &lines, &limits)?;
    }
    page.push_str("</div>\n<details><summary>Figures</summary>\n");
    head(
        page,
        &["Instance", "Counter", "#Minimum", "#Mean", "#95th percentile", "#Maximum", "Maximum at"],
    )?;
    for instance in &shown_instances {
        for counter in &instance.counters {
            let label = instance.label.as_deref().unwrap_or_default();
            write!(page, "<tr><td>{}</td><td>{}</td>", Html(label), Html(&counter.name))?;
            for value in figures(&counter.summary) {
                let value = shown(value, counter.unit, Some(counter.counter_type), Detail::Brief);
                write!(page, "<td class=\"n\">{}</td>", Html(&value))?;
            }
            writeln!(page, "<td>{}</td></tr>", Html(&time(counter.summary.maximum_at)))?;
        }
    }
    page.push_str("</table></div></details>\n");
    let left_out = object.instances.len() - shown_instances.len() + object.left_out;
    if left_out > 0 {
        writeln!(page, "<p class=\"faint\">{} more instances.</p>", grouped(left_out as u64))?;
    }
    Ok(())
}

fn processes(page: &mut String, report: &Report) -> fmt::Result {
    if report.processes.is_empty() {
        return Ok(());
    }
    page.push_str("<h2>Processes</h2>\n");
    head(
        page,
        &[
            "Process",
            "#PID",
            "Course",
            "#CPU, whole time",
            "#Maximum",
            "#Working set",
            "#Private",
            "#Growth/hour",
            "#Threads",
            "#Handles",
            "#I/O",
            "Seen",
        ],
    )?;
    for process in &report.processes {
        write_process(page, report, process)?;
    }
    page.push_str(
        "</table></div>\n<p class=\"faint\">CPU in percent of one processor, on average over the whole \
         recording; memory, threads and handles at most; I/O on average.</p>\n",
    );
    Ok(())
}

fn write_process(page: &mut String, report: &Report, process: &ProcessReport) -> fmt::Result {
    let id = process.id.map(|id| id.to_string()).unwrap_or_default();
    write!(page, "<tr><td>{}</td><td class=\"n\">{id}</td><td>", Html(&process.name))?;
    chart::push_spark(page, &report.timeline, &process.curve)?;
    page.push_str("</td>");
    let maximum = |summary: Option<Summary>| summary.map(|one| one.maximum);
    let cells = [
        (process.share, "%"),
        (maximum(process.processor), "%"),
        (maximum(process.working_set), "B"),
        (maximum(process.private_bytes), "B"),
        (process.growth, "B"),
        (maximum(process.threads), "1"),
        (maximum(process.handles), "1"),
        (process.io.map(|one| one.mean), "B/s"),
    ];
    for (value, unit) in cells {
        let text = value.map(|value| match unit {
            "1" => grouped(value.max(0.0) as u64),
            "%" => format!("{value:.1} %"),
            unit => shown(value, unit, None, Detail::Brief),
        });
        write!(page, "<td class=\"n\">{}</td>", Html(&text.unwrap_or_default()))?;
    }
    let seen = match process.was_there_always {
        true => "always".to_string(),
        false => format!("{} to {}", time(process.seen.0), time(process.seen.1)),
    };
    writeln!(page, "<td class=\"faint\">{}</td></tr>", Html(&seen))
}

fn unevaluated(page: &mut String, report: &Report) -> fmt::Result {
    if report.unevaluated.is_empty() {
        return Ok(());
    }
    let count = report.unevaluated.len();
    writeln!(page, "<details><summary>Not evaluated: {count}</summary>")?;
    head(page, &["What", "Why"])?;
    for one in &report.unevaluated {
        writeln!(page, "<tr><td>{}</td><td>{}</td></tr>", Html(&one.title), Html(&one.reason))?;
    }
    page.push_str("</table></div></details>\n");
    Ok(())
}
