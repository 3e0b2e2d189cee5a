//! `perfhive record`: records samples in one file, in a few bytes for each value that changed.

use super::capture::{collect, objects_of, requests, wait};
use super::watch::following;
use crate::args::value::foreign_form;
use crate::args::{Global, Record as Args};
use crate::failure::{Exit, Failure, Outcome, warn};
use crate::output::Output;
use crate::session::Session;
use crate::signals::{Signals, end_by};
use crate::text::escape::{Escaped, shell_path};
use perfhive::recording::{RecordingOptions, RecordingWriter};
use perfhive::{Ask, Snapshot, Source as _, SourceAddress, SourceError, TitleDatabase};
use perfhive_view::number::push_grouped;
use perfhive_view::{Field, Names};
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time that the program waits for the current sample after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    if let Some(why) = foreign_form(&args.output) {
        return Err(Failure::Usage(why));
    }
    let mut session = Session::open(global)?;
    let mut names = Names::load(&mut session.source, session.language)?;
    let objects = objects_of(&mut session, &mut names, &args.objects)?;
    let requests = requests(global, &mut session, &mut names, &objects)?;
    let is_live = session.source.is_live();
    let pause = args.interval.or_else(|| is_live.then_some(Duration::from_secs(1)));
    let mut options = RecordingOptions::new();
    options.sync = args.sync;
    let rotation = &mut options.rotation;
    (rotation.bytes, rotation.time, rotation.keep) =
        (args.rotate_size, args.rotate_time, args.keep);
    options.interval = pause;
    options.system = global.source.parse().ok().and_then(|at: SourceAddress| at.system());
    let mut writer = RecordingWriter::open(&args.output, session.source.name(), &options)?;
    let signals = Signals::listen_with(PATIENCE);
    let mut answers: Vec<Snapshot> = requests.iter().map(|_| Snapshot::new()).collect();
    let mut sample = Snapshot::new();
    let mut titles = Titles::default();
    let progress = Progress::new(global);
    let (mut restarts, mut taken) = (0, 0);
    let end = args.duration.and_then(|duration| Instant::now().checked_add(duration));
    let mut next = Instant::now();
    let signal = loop {
        match collect(&mut session, &requests, &mut answers) {
            Ok(()) => {
                sample.clear();
                answers.iter().for_each(|answer| sample.push_all_of(answer));
                let added = writer.add(&sample, titles.of(&mut session)?);
                added.map_err(|error| {
                    progress.clear();
                    stopped(&error, writer.samples())
                })?;
                taken += 1;
                if writer.restarts() > restarts {
                    restarts = writer.restarts();
                    progress.clear();
                    let file = args.output.display();
                    warn(&format!(
                        "{file} was removed, renamed, replaced or cut; it is begun again"
                    ));
                }
                session.faults.report();
            }
            Err(error) if error.is_end_of_data() => break None,
            // The source may answer the next sample in time; the recording has a gap here.
            Err(error) if is_live && error.is_transient() && writer.samples() > 0 => {
                progress.clear();
                warn(&error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
        progress.show(&writer);
        // Samples of a file that was moved away were taken, too.
        if args.count.is_some_and(|count| taken >= count) {
            break None;
        }
        let now = Instant::now();
        next = pause.map_or(now, |pause| following(next, pause, now));
        if end.is_some_and(|end| next >= end) {
            break None;
        }
        let signal = wait(&signals, next);
        if signal.is_some() {
            break signal;
        }
    };
    progress.clear();
    let samples = writer.samples();
    let bytes = writer.finish().map_err(|error| stopped(&error, samples))?;
    tell(global, args, samples, bytes)?;
    match signal {
        Some(signal) => end_by(signal),
        None => Ok(Exit::Done),
    }
}

/// The failure for an error that ended recording. Its message also says how many samples are recorded until then,
/// in all files together.
fn stopped(error: &SourceError, samples: u64) -> Failure {
    let mut text = format!("{error}; ");
    push_count(&mut text, samples, " sample", " samples");
    text.push_str(" until then are recorded");
    Failure::Source(text)
}

/// The source's titles in all languages, kept until the source's catalogue changes.
#[derive(Default)]
struct Titles {
    generation: Option<u64>,
    databases: Vec<Arc<TitleDatabase>>,
}

impl Titles {
    /// The source's titles in the languages that can be read. They are loaded again if the catalogue has changed.
    fn of(&mut self, session: &mut Session) -> Result<&[Arc<TitleDatabase>], Failure> {
        let catalogue = session.source.catalogue(&Ask::nothing())?;
        if self.generation != Some(catalogue.generation) {
            // A language that is listed but cannot be read is left out, as in captures.
            let load = |language: &_| session.source.titles(*language, &Ask::nothing()).ok();
            self.databases = catalogue.languages.iter().filter_map(load).collect();
            self.generation = Some(catalogue.generation);
        }
        Ok(&self.databases)
    }
}

/// The line on a terminal that shows the progress of a recording.
struct Progress {
    is_shown: bool,
    begun: Instant,
}

impl Progress {
    fn new(global: &Global) -> Self {
        Self { is_shown: !global.quiet && std::io::stderr().is_terminal(), begun: Instant::now() }
    }

    /// Shows the samples, the bytes, and the mean bytes per second so far. Does nothing with `--quiet` or without a
    /// terminal.
    fn show(&self, writer: &RecordingWriter) {
        if !self.is_shown {
            return;
        }
        let mut text = String::from("\r\x1b[K");
        push_count(&mut text, writer.samples(), " sample, ", " samples, ");
        push_grouped(&mut text, writer.bytes());
        let seconds = self.begun.elapsed().as_secs_f64().max(1.0);
        let rate = (writer.bytes() as f64 / seconds) as u64;
        text.push_str(" bytes, ");
        push_grouped(&mut text, rate);
        text.push_str(" bytes/s; Ctrl-C ends");
        // An error is ignored: the terminal may be gone.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn clear(&self) {
        if self.is_shown {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

fn push_count(text: &mut String, count: u64, one: &str, many: &str) {
    push_grouped(text, count);
    text.push_str(if count == 1 { one } else { many });
}

fn tell(global: &Global, args: &Args, samples: u64, bytes: u64) -> Result<(), Failure> {
    let output = Output::new(global);
    let file = args.output.display().to_string();
    let mut text = String::new();
    if output.is_table() {
        push_count(&mut text, samples, " sample, ", " samples, ");
        push_grouped(&mut text, bytes);
        let address = shell_path(&SourceAddress::file(&file).to_string());
        text.push_str(&format!(" bytes in {}\nperfhive info {address}\n", Escaped(&file)));
    } else {
        let mut records = output.records(["file", "samples", "bytes"], &mut text);
        let fields = [Field::Text(&file), Field::Unsigned(samples), Field::Unsigned(bytes)];
        records.row(&mut text, fields);
        records.end(&mut text);
    }
    output.write(&text)
}
