//! `perfhive plot`: draws a chart in a file.

mod png;

use super::capture::wait;
use super::watch::following;
use crate::args::{Global, Plot as Args};
use crate::failure::{Exit, Failure, Outcome, complain, warn};
use crate::paths::{add_paths, fail_if_all_absent, missing_instances, with_syntax};
use crate::session::Session;
use crate::signals::Signals;
use crate::text::escape::Escaped;
use crate::text::time::{local, local_clock};
use crate::unfinished::write_whole;
use perfhive::{FileTime, Query, QueryError};
use perfhive_view::Sampler;
use perfhive_view::axis::LineScale;
use perfhive_view::chart::{Chart, Stroke};
use perfhive_view::palette::{COLOURS, DASHES};
use perfhive_view::past::{Line, Past};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::time::{Duration, Instant};

/// The most lines in a chart: each looks different.
const MOST_LINES: usize = COLOURS.len() * DASHES.len();

/// The longest time that Ctrl-C waits until the chart is drawn and written.
const PATIENCE: Duration = Duration::from_secs(30);

/// The format of the picture, by the extension of its file.
#[derive(Clone, Copy)]
enum Form {
    Svg,
    Png,
}

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let name = args.output.display().to_string();
    let form = match args.output.extension().and_then(OsStr::to_str) {
        Some(end) if end.eq_ignore_ascii_case("svg") => Form::Svg,
        Some(end) if end.eq_ignore_ascii_case("png") => Form::Png,
        _ => {
            let what = "the name of a picture ends in .svg or .png";
            return Err(Failure::Usage(format!("{name}: {what}")));
        }
    };
    let session = Session::open(global).map_err(|failure| with_syntax(failure, &args.paths))?;
    let faults = session.faults.clone();
    let mut query = session.query()?;
    let added = fail_if_all_absent(add_paths(&mut query, global, &args.paths)?)?;
    let mut sampler = Sampler::default();
    for (added, path) in added.iter().zip(&args.paths) {
        match added {
            Ok(id) => sampler.add(&query, *id, path),
            Err(absent) => complain(&absent.message()),
        }
    }
    let mut past = Past::default();
    read(&mut query, &mut sampler, &mut past, args)?;
    faults.report();
    missing_instances(&query).iter().for_each(|note| complain(note));
    let Some(window) = past.span() else {
        return Err(Failure::Missing("there are fewer than two samples".to_string()));
    };
    let largest = |line| Some((line, past.summary(line, window)?.maximum));
    let mut all: Vec<(&Line, f64)> = past.lines().iter().filter_map(largest).collect();
    if all.is_empty() {
        return Err(Failure::Missing("no counter had a value in any sample".to_string()));
    }
    let left_out = all.len().saturating_sub(MOST_LINES) + past.left_out();
    if left_out > 0 {
        warn(&format!(
            "a chart has at most {MOST_LINES} lines; the largest of each counter are drawn, {left_out} are left out"
        ));
    }
    all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    // Values of several counters do not compare: each counter gives its largest line in turn.
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let mut ranked: Vec<(usize, &Line)> = all
        .into_iter()
        .map(|(line, _)| {
            let count = counts.entry((&line.what.object, &line.what.counter)).or_default();
            *count += 1;
            (*count, line)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(MOST_LINES);
    // The lines that are drawn keep their order.
    ranked.sort_by_key(|(_, line)| line.number);
    let strokes: Vec<Stroke<'_>> = ranked
        .into_iter()
        .enumerate()
        .map(|(place, (_, line))| Stroke { line, colour: place as u8, scale: args.scale })
        .collect();
    let machine = strokes.first().map_or("", |stroke| &*stroke.line.what.machine);
    let step = Duration::from_millis(if window.seconds() < 10.0 { 1 } else { 1000 });
    let usual = match local(window.from.to_system_time(), Some(step)) {
        Some(begin) if machine.is_empty() => begin,
        Some(begin) => format!("{machine}, {begin}"),
        None => machine.to_string(),
    };
    let is_long = window.seconds() > 86_400.0;
    let clock = |time: FileTime| {
        let time = time.to_system_time();
        let text = if is_long { local(time, Some(step)) } else { local_clock(time, Some(step)) };
        text.unwrap_or_default()
    };
    let title = args.title.as_deref().unwrap_or(&usual);
    let title = Escaped(title).to_string();
    let chart = Chart {
        past: &past,
        strokes: &strokes,
        window,
        title: &title,
        size: args.size,
        clock: &clock,
    };
    let drawing = chart.drawing();
    let bytes = match form {
        Form::Svg => drawing.svg().into_bytes(),
        Form::Png => {
            let lost = png::lost(&drawing);
            if !lost.is_empty() {
                warn(&format!("a PNG has no letters for {lost}: an SVG has all"));
            }
            png::encode(&drawing)
                .ok_or_else(|| Failure::Usage("the picture is too large".to_string()))?
        }
    };
    write_whole(&args.output, bytes)?;
    Ok(Exit::Done)
}

/// Takes the samples: all of a recording, or those of a live source until the time is over or Ctrl-C is pressed.
fn read(
    query: &mut Query,
    sampler: &mut Sampler,
    past: &mut Past,
    args: &Args,
) -> Result<(), Failure> {
    let is_live = query.is_live();
    let signals = is_live.then(|| Signals::listen_with(PATIENCE));
    let end = Instant::now() + args.duration;
    let mut next = Instant::now();
    loop {
        match query.collect() {
            Ok(()) => past.note(&sampler.sample(query), |_| true),
            Err(error) if error.is_end_of_data() => return Ok(()),
            // The source may answer the next sample in time; the lines have a gap here.
            Err(QueryError::Source(error)) if is_live && error.is_transient() => {
                warn(&error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(signals) = &signals {
            next = following(next, args.interval, Instant::now());
            if next > end || wait(signals, next).is_some() {
                return Ok(());
            }
        }
    }
}

/// The width and height of a picture in pixels, from a text such as `1000x400`; 200x120 is the
/// smallest and 8000x8000 the largest.
pub(crate) fn size(text: &str) -> Result<(u16, u16), String> {
    let (width, height) = text.split_once(['x', 'X']).unwrap_or((text, ""));
    match (width.trim().parse(), height.trim().parse()) {
        (Ok(width @ 200..=8000), Ok(height @ 120..=8000)) => Ok((width, height)),
        _ => Err("expected WIDTHxHEIGHT in pixels, from 200x120 to 8000x8000".to_string()),
    }
}

/// The scale of the lines from the text of `--scale`.
pub(crate) fn scale(text: &str) -> Result<LineScale, String> {
    text.to_ascii_lowercase().parse()
}
