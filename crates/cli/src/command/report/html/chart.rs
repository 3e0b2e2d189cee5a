//! Charts as SVG. The line of a curve goes through the means of its parts; an area above the line
//! reaches up to the greatest values of the parts.

use super::Html;
use crate::command::report::text::{shown, time};
use perfhive::FileTime;
use perfhive_view::Detail;
use perfhive_view::report::{CounterReport, Curve, Timeline};
use std::fmt::{self, Write};

const COLOURS: [&str; 6] = ["--a", "--b", "--c", "--d", "--e", "--f"];
/// The rectangle of the values in a chart: left, top, width, height.
const PLOT: (f64, f64, f64, f64) = (8.0, 6.0, 404.0, 110.0);

/// The scales of a chart: the places of times and values.
struct Scale {
    begin: FileTime,
    steps: f64,
    /// The longest pause between two samples of a line, in steps of 100 ns; a longer one breaks the
    /// line.
    longest: f64,
    low: f64,
    high: f64,
    plot: (f64, f64, f64, f64),
}

impl Scale {
    fn new(timeline: &Timeline, (low, high): (f64, f64), plot: (f64, f64, f64, f64)) -> Self {
        let times = timeline.times();
        let (begin, end) = times.first().zip(times.last()).unwrap_or((&FileTime(0), &FileTime(0)));
        let longest = timeline.interval().unwrap_or(0).max(1) as f64 * 3.0;
        let steps = ((end.0 - begin.0) as f64).max(1.0);
        let high = if high > low { high } else { low + 1.0 };
        Self { begin: *begin, steps, longest, low, high, plot }
    }

    /// The horizontal place of a time; a time beyond the scale stands at its nearer end.
    fn x(&self, time: FileTime) -> f64 {
        let part = ((time.0 - self.begin.0) as f64 / self.steps).clamp(0.0, 1.0);
        self.plot.0 + part * self.plot.2
    }

    /// The vertical place of a value; a value beyond the scale stands at its nearer end.
    fn y(&self, value: f64) -> f64 {
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.plot.1 + (1.0 - part) * self.plot.3
    }

    /// The points of a curve, in pieces without gaps: time, mean and greatest value.
    fn pieces(&self, timeline: &Timeline, curve: &Curve) -> Vec<Vec<(FileTime, f64, f64)>> {
        let mut pieces: Vec<Vec<(FileTime, f64, f64)>> = Vec::new();
        let mut last: Option<(u64, FileTime)> = None;
        for part in curve.parts() {
            let sample = usize::try_from(part.number * curve.width()).ok();
            let Some(time) = sample.and_then(|sample| timeline.times().get(sample)) else {
                continue;
            };
            let point = (*time, part.mean(), part.maximum);
            let follows = last.is_some_and(|(number, before)| {
                let pause = (time.0 - before.0) as f64;
                part.number == number + 1
                    && (0.0..=self.longest * curve.width() as f64).contains(&pause)
            });
            last = Some((part.number, *time));
            match pieces.last_mut() {
                Some(piece) if follows => piece.push(point),
                _ => pieces.push(vec![point]),
            }
        }
        pieces
    }
}

/// The lowest and the highest value on a chart. A chart of percentages has at least the range from 0
/// to 100. Any other begins at 0, or at the least value if that is negative; if the least value is
/// more than half of the greatest, the chart begins near it. Limits that are far from the values do
/// not count.
fn range(unit: &str, lines: &[(Option<&str>, &CounterReport)], limits: &[f64]) -> (f64, f64) {
    let low = lines.iter().map(|(_, counter)| counter.summary.minimum);
    let high = lines.iter().map(|(_, counter)| counter.summary.maximum);
    let low = low.fold(f64::INFINITY, f64::min);
    let high = high.fold(f64::NEG_INFINITY, f64::max);
    // A limit far away would make a flat line of the values.
    let near = limits.iter().copied().filter(|limit| *limit <= high * 2.0 && *limit >= low / 2.0);
    let (low, high) = near.fold((low, high), |(low, high), one| (low.min(one), high.max(one)));
    match unit {
        "%" => (low.min(0.0), high.max(100.0)),
        _ if low > high * 0.5 => (low - (high - low) * 0.1, high),
        _ => (low.min(0.0), high),
    }
}

/// Adds the chart of one counter of some instances.
pub(super) fn push(
    page: &mut String,
    timeline: &Timeline,
    name: &str,
    lines: &[(Option<&str>, &CounterReport)],
    limits: &[f64],
) -> fmt::Result {
    let Some((_, first)) = lines.first() else { return Ok(()) };
    let scale = Scale::new(timeline, range(first.unit, lines, limits), PLOT);
    let (left, top, width, height) = PLOT;
    let (right, bottom) = (left + width, top + height);
    let value = |value: f64| shown(value, first.unit, Some(first.counter_type), Detail::Brief);
    writeln!(page, "<figure><figcaption>{}</figcaption>", Html(name))?;
    writeln!(page, "<svg viewBox=\"0 0 420 136\" role=\"img\" aria-label=\"{}\">", Html(name))?;
    for edge in [top, bottom] {
        writeln!(
            page,
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{edge}\" y2=\"{edge}\" stroke=\"var(--line)\"/>"
        )?;
    }
    for limit in limits.iter().filter(|limit| (scale.low..=scale.high).contains(limit)) {
        let y = scale.y(*limit);
        writeln!(
            page,
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--bad)\" \
             stroke-dasharray=\"4 3\"><title>{}</title></line>",
            Html(&value(*limit))
        )?;
    }
    for ((label, counter), colour) in lines.iter().zip(COLOURS) {
        for piece in scale.pieces(timeline, &counter.curve) {
            push_piece(page, &scale, &piece, colour, label.unwrap_or(name))?;
        }
    }
    writeln!(page, "<text x=\"{left}\" y=\"{}\">{}</text>", top + 10.0, Html(&value(scale.high)))?;
    writeln!(page, "<text x=\"{left}\" y=\"{}\">{}</text>", bottom - 3.0, Html(&value(scale.low)))?;
    if let (Some(begin), Some(end)) = (timeline.times().first(), timeline.times().last()) {
        writeln!(page, "<text x=\"{left}\" y=\"130\">{}</text>", Html(&time(*begin)))?;
        writeln!(
            page,
            "<text x=\"{right}\" y=\"130\" text-anchor=\"end\">{}</text>",
            Html(&time(*end))
        )?;
    }
    page.push_str("</svg><div class=\"key\">");
    for ((label, _), colour) in lines.iter().zip(COLOURS) {
        if let Some(label) = label {
            write!(
                page,
                "<span><b style=\"color:var({colour})\">&#9644;</b> {}</span>",
                Html(label)
            )?;
        }
    }
    page.push_str("</div></figure>\n");
    Ok(())
}

fn push_piece(
    page: &mut String,
    scale: &Scale,
    piece: &[(FileTime, f64, f64)],
    colour: &str,
    label: &str,
) -> fmt::Result {
    if let [(time, mean, _)] = piece {
        return writeln!(
            page,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"1.5\" fill=\"var({colour})\"/>",
            scale.x(*time),
            scale.y(*mean)
        );
    }
    if piece.iter().any(|(_, mean, greatest)| greatest > mean) {
        write!(page, "<path fill=\"var({colour})\" fill-opacity=\".18\" d=\"M")?;
        for (time, mean, _) in piece {
            write!(page, "{:.1} {:.1} ", scale.x(*time), scale.y(*mean))?;
        }
        for (time, _, greatest) in piece.iter().rev() {
            write!(page, "{:.1} {:.1} ", scale.x(*time), scale.y(*greatest))?;
        }
        page.push_str("Z\"/>\n");
    }
    write!(
        page,
        "<polyline fill=\"none\" stroke=\"var({colour})\" stroke-width=\"1.3\" points=\""
    )?;
    for (time, mean, _) in piece {
        write!(page, "{:.1},{:.1} ", scale.x(*time), scale.y(*mean))?;
    }
    writeln!(page, "\"><title>{}</title></polyline>", Html(label))
}

/// Adds a curve without axes, for a row of a table.
pub(super) fn push_spark(page: &mut String, timeline: &Timeline, curve: &Curve) -> fmt::Result {
    let high = curve.parts().iter().map(|part| part.maximum).fold(0.0, f64::max);
    let scale = Scale::new(timeline, (0.0, high), (1.0, 1.0, 118.0, 20.0));
    page.push_str("<svg viewBox=\"0 0 120 22\" style=\"width:120px\">");
    for piece in scale.pieces(timeline, curve) {
        push_piece(page, &scale, &piece, COLOURS[0], "% Processor Time")?;
    }
    page.push_str("</svg>");
    Ok(())
}
