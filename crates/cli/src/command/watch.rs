//! `perfhive watch`: reads counters again and again.

mod screen;
mod view;

use crate::args::{Choice, Global, Watch};
use crate::failure::{Exit, Failure, Outcome, complain, of_source};
use crate::output::Output;
use crate::paths::{Absent, add_absent, add_paths, missing_instances, with_syntax};
use crate::replay::Replay;
use crate::session::{Faults, Session};
use crate::signals::{Event, Signals, end_by};
use crate::text::records::Records;
use crate::text::wide::Wide;
use perfhive::{Query, QueryError};
use perfhive_view::{Arrangement, Detail, History, Row, Selection};
use screen::Screen;
use std::collections::HashSet;
use std::time::{Duration, Instant};
use view::{Sample, View};

/// The time between samples if the user chooses none.
const USUAL: Duration = Duration::from_secs(1);
/// The most values of a curve, on a very wide window.
const LONGEST_CURVE: usize = 400;

/// The form in which the samples are shown.
enum Face {
    /// A table that is redrawn in place.
    Redrawn(Box<Screen>, Signals),
    /// Tables that follow one another.
    Tables,
    /// Rows for programs.
    Rows(Records),
    /// A line for each sample.
    Wide(Wide),
}

/// A running watch.
struct Watching {
    output: Output,
    /// The first line of CSV and TSV, which has the keys; empty for JSON, and where `face` is not [`Face::Rows`]. It is
    /// written with the first sample, so that a file is replaced only once there is a sample.
    head: String,
    face: Face,
    faults: Faults,
    history: History,
    /// The paths that cannot be read so far. They are tried again with each sample.
    absent: Vec<Absent>,
    /// The choice of the readings that are shown, and their order.
    arrangement: Arrangement,
    choice: Choice,
    /// The notes on missing instances, and on a filter without a match, that were already reported.
    mentioned: HashSet<String>,
    interval: Duration,
    /// The time between samples, which decides whether shown times have milliseconds; `None` for a recording without
    /// `--interval`.
    pace: Option<Duration>,
    /// The time between samples as the heading shows it; `None` for a recording: its samples may have other
    /// distances.
    said_pace: Option<Duration>,
    /// The schedule of a recording's samples; `None` without `--speed`.
    replay: Option<Replay>,
    /// The number of samples shown so far.
    shown: u64,
}

pub(super) fn run(global: &Global, args: &Watch) -> Outcome {
    let session = Session::open(global).map_err(|failure| with_syntax(failure, &args.paths))?;
    let faults = session.faults.clone();
    let mut query = session.query()?;
    let mut absent = Vec::new();
    let selection = if args.paths.is_empty() {
        Selection::usual(&mut query).ok_or_else(|| {
            let what = "has none of the counters that are usually watched; name some paths \
                        (perfhive list shows what there is)";
            Failure::Usage(of_source(&global.source, what))
        })?
    } else {
        absent.extend(
            add_paths(&mut query, global, &args.paths)?.into_iter().filter_map(Result::err),
        );
        Selection::default()
    };
    let output = Output::to(global, args.choice.output.as_deref())?;
    let mut head = String::new();
    let live = query.is_live();
    let face = if args.choice.wide {
        Face::Wide(Wide::new(args.interval.or(live.then_some(USUAL))))
    } else if !output.is_table() {
        Face::Rows(output.stream(output.row_keys(), &mut head))
    } else if Screen::is_possible(&output) {
        Face::Redrawn(Box::default(), Signals::listen())
    } else {
        Face::Tables
    };
    let replay = Replay::of(global, args.speed, live)?;
    let busiest_first =
        matches!(face, Face::Redrawn(..) | Face::Wide(_)) && output.is_terminal_table();
    let mut watching = Watching {
        output,
        head,
        face,
        faults,
        history: History::default(),
        absent,
        arrangement: args.choice.arrangement(busiest_first),
        choice: args.choice.clone(),
        mentioned: HashSet::new(),
        interval: args.interval.unwrap_or(USUAL),
        pace: args.interval.or(live.then_some(USUAL)),
        said_pace: live.then(|| args.interval.unwrap_or(USUAL)),
        replay,
        shown: 0,
    };
    watching.run(&mut query, &selection, args)?;
    // The end of a recording may have faults, too.
    watching.faults.report();
    let any = args.paths.is_empty() || watching.absent.len() < args.paths.len();
    Ok(if any { Exit::Done } else { Exit::NoValue })
}

impl Watching {
    fn run(
        &mut self,
        query: &mut Query,
        selection: &Selection,
        args: &Watch,
    ) -> Result<(), Failure> {
        let live = query.is_live();
        // The first sample of a live source lacks the values that take two samples. It does not count, and is
        // shown only where it is redrawn soon. The same holds for the first sample of a recording if its largest
        // instances become the columns.
        let chooses = args.choice.wide
            && (args.choice.top.is_some()
                || selection.top.is_some()
                || self.output.is_terminal_table());
        let mut first = (live || chooses) && query.samples_needed() > 1;
        let mut next = Instant::now();
        loop {
            if !self.absent.is_empty() && self.shown > 0 {
                self.absent = add_absent(query, std::mem::take(&mut self.absent));
            }
            match query.collect() {
                Ok(()) => {}
                Err(error) if error.is_end_of_data() && self.shown > 0 => return Ok(()),
                // The source may have values for the next sample.
                Err(QueryError::Source(error)) if live && error.is_transient() => {
                    self.faults.add(error.to_string());
                }
                Err(error) => return Err(error.into()),
            }
            let time = self.faults.time().and_then(|time| time.to_file_time());
            if let (Some(replay), Some(time)) = (&mut self.replay, time) {
                let due = replay.due(time, Instant::now());
                self.wait(due)?;
            }
            if self.shown == 0 {
                args.choice.check_order(query)?;
            }
            self.show(query, selection, first)?;
            if !std::mem::take(&mut first) {
                self.shown += 1;
            }
            if args.count.is_some_and(|count| self.shown >= count) {
                return Ok(());
            }
            if live || args.interval.is_some() {
                next = following(next, self.interval, Instant::now());
                self.wait(next)?;
            }
        }
    }

    fn show(&mut self, query: &Query, selection: &Selection, first: bool) -> Result<(), Failure> {
        let mut notes = missing_instances(query);
        if !first {
            notes.extend(self.choice.without_match(query));
        }
        notes.retain(|note| self.mentioned.insert(note.clone()));
        let output = &self.output;
        let rows = |arrangement: &Arrangement, absent: &[Absent]| -> Vec<Row> {
            let readings = arrangement.of(query, selection.readings(query), None).readings;
            let rows = readings.into_iter().map(|reading| Row::new(query, reading));
            rows.chain(absent.iter().map(|one| Row::absent(query, &one.path, &one.why))).collect()
        };
        let sample = Sample {
            query,
            selection,
            arrangement: &self.arrangement,
            absent: &self.absent,
            detail: output.detail(Detail::Brief),
            interval: self.pace,
            width: output.screen_width(),
        };
        if let Face::Redrawn(screen, _) = &mut self.face {
            let faults = self.faults.take().into_iter().map(|fault| fault.text);
            screen.warn(faults.chain(notes).collect());
            self.history.note(query, output.screen_width().min(LONGEST_CURVE));
            let lines = screen.lines(output);
            let view = View::new(&sample, Some((&self.history, lines)), first);
            return screen.show(view, output, self.said_pace);
        }
        self.faults.report();
        notes.iter().for_each(|note| complain(note));
        if first {
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.head);
        match &mut self.face {
            Face::Rows(records) => {
                let mut rows = rows(&self.arrangement, &self.absent);
                output.readings(records, &mut text, &mut rows);
            }
            Face::Wide(wide) => {
                // The largest instances are chosen once, together with the columns.
                let top = self.arrangement.top.filter(|_| !wide.has_columns());
                let arrangement = Arrangement { top, ..self.arrangement.clone() };
                let is_chosen = self.arrangement.top.is_none() || !wide.has_columns();
                let chosen = match is_chosen {
                    true => arrangement.of(query, selection.readings(query), None).readings,
                    false => Vec::new(),
                };
                let absent = self.absent.iter().map(|one| Row::absent(query, &one.path, &one.why));
                let chosen = (chosen.as_slice(), absent.collect());
                wide.push(&mut text, output, query, chosen, self.faults.time());
            }
            Face::Tables | Face::Redrawn(..) => {
                if self.shown > 0 {
                    text.push('\n');
                }
                View::new(&sample, None, false).render(&mut text, output, None);
            }
        }
        output.write(&text)
    }

    /// Waits until the moment `next`, when the next sample is due. Meanwhile a table that is redrawn in place is
    /// drawn again if the size of the terminal changes. A signal to end ends the program here.
    fn wait(&mut self, next: Instant) -> Result<(), Failure> {
        let Face::Redrawn(screen, signals) = &mut self.face else {
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            return Ok(());
        };
        loop {
            match signals.wait_until(next) {
                Event::Timeout => return Ok(()),
                Event::Resized => screen.redraw_cleared(&self.output, self.said_pace)?,
                Event::Continued => screen.redraw_below(&self.output, self.said_pace)?,
                Event::End(signal) => end_by(signal),
            }
        }
    }
}

/// The moment when the next sample is due, if the one before was due at `last`: a whole number of intervals after
/// `last`, at least one, and not before `now`.
pub(crate) fn following(last: Instant, interval: Duration, now: Instant) -> Instant {
    let next = last + interval;
    if next >= now {
        return next;
    }
    let late = now.duration_since(last).as_secs_f64() / interval.as_secs_f64();
    last + interval.mul_f64(late.ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_their_beat() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let due = |now| following(start, ms(100), start + now).duration_since(start);
        assert_eq!(due(ms(30)), ms(100));
        assert_eq!(due(ms(100)), ms(100));
        // Two moments were missed.
        assert!(due(ms(250)).abs_diff(ms(300)) < Duration::from_micros(1));
    }
}
