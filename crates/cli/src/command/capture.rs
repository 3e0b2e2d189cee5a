//! `perfhive capture`: saves raw data blocks in a folder.

use super::enumerate;
use super::watch::following;
use crate::args::{Capture as Args, Global};
use crate::failure::{Exit, Failure, Outcome, warn};
use crate::output::Output;
use crate::session::Session;
use crate::signals::{Event, Signals, end_by};
use crate::text::escape::{Escaped, shell_path};
use perfhive::recording::{Capture, CaptureOptions};
use perfhive::{
    Ask, CounterPath, NamePattern, ObjectQuery, Snapshot, Source as _, SourceAddress, SourceError,
};
use perfhive_view::number::push_grouped;
use perfhive_view::{Field, Names, typed_path};
use std::time::{Duration, Instant};

/// The longest time that the program waits for the current sample after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let mut session = Session::open(global)?;
    let mut names = Names::load(&mut session.source, session.language)?;
    let objects = objects_of(&mut session, &mut names, &args.objects)?;
    let requests = requests(global, &mut session, &mut names, &objects)?;
    let is_live = session.source.is_live();
    let pause = args.interval.or_else(|| is_live.then_some(Duration::from_secs(1)));
    let queries: Vec<ObjectQuery> =
        requests.iter().map(|request| request.objects.clone()).collect();
    let mut options = CaptureOptions::new().hash_names(args.hash_names).queries(&queries);
    options = options.system(global.source.parse().ok().and_then(|at: SourceAddress| at.system()));
    if let Some(pause) = pause {
        options = options.interval(pause);
    }
    let signals = Signals::listen_with(PATIENCE);
    let mut answers: Vec<Snapshot> = requests.iter().map(|_| Snapshot::new()).collect();
    // The first sample is taken before the folder is created: an unreadable source leaves no folder.
    collect(&mut session, &requests, &mut answers)?;
    let mut capture = Capture::create(&args.folder, &mut session.source, &options)?;
    if !global.quiet {
        capture.faults().iter().for_each(|fault| warn(&fault.to_string()));
    }
    let mut next = Instant::now();
    let mut signal = None;
    loop {
        capture.add(&answers.iter().collect::<Vec<_>>())?;
        session.faults.report();
        if capture.samples() >= args.count {
            break;
        }
        let now = Instant::now();
        next = pause.map_or(now, |pause| following(next, pause, now));
        signal = wait(&signals, next);
        if signal.is_some() {
            break;
        }
        match collect(&mut session, &requests, &mut answers) {
            Ok(()) => {}
            Err(error) if error.is_end_of_data() => break,
            Err(error) => return Err(error.into()),
        }
    }
    let result = (capture.samples(), capture.blocks(), capture.bytes());
    capture.finish()?;
    tell(global, args, result)?;
    match signal {
        Some(signal) => end_by(signal),
        None => Ok(Exit::Done),
    }
}

/// The asks for the given objects: one for the word `global`, one for `costly`, and one for all named objects together,
/// as far as `objects` has these. For a recording, several of these become one ask for everything, since a recording
/// answers each ask with its next sample.
pub(super) fn requests(
    global: &Global,
    session: &mut Session,
    names: &mut Names,
    objects: &[String],
) -> Result<Vec<Ask>, Failure> {
    let is_word = |text: &&String| {
        ["global", "costly"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
    };
    let mut queries: Vec<ObjectQuery> = Vec::new();
    for word in objects.iter().filter(is_word) {
        let word = [word.trim().to_string()];
        let query = enumerate::query(global, session, names, &word)?;
        if !queries.contains(&query) {
            queries.push(query);
        }
    }
    let objects: Vec<String> = objects.iter().filter(|word| !is_word(word)).cloned().collect();
    if !objects.is_empty() {
        queries.push(enumerate::query(global, session, names, &objects)?);
    }
    if queries.len() > 1 && session.source.recording().is_some() {
        return Ok(vec![Ask::everything()]);
    }
    let request = |query: ObjectQuery| {
        // For named objects the counters on request are captured as well.
        let named = match &query {
            ObjectQuery::Indexes(objects) => objects.clone(),
            _ => Vec::new(),
        };
        named.into_iter().fold(Ask::new(query), Ask::with_all_counters_of)
    };
    Ok(queries.into_iter().map(request).collect())
}

/// The arguments with the object's name in the place of each counter's path, since blocks are recorded whole.
pub(super) fn objects_of(
    session: &mut Session,
    names: &mut Names,
    arguments: &[String],
) -> Result<Vec<String>, Failure> {
    let mut object_of = |text: &String| {
        let pattern = NamePattern::with_wildcards(text.trim());
        if !names.objects(&mut session.source, &pattern).is_empty() {
            return Ok(text.clone());
        }
        let path = typed_path(text).parse::<CounterPath>();
        let path = path.or_else(|_| typed_path(&format!("{text}/*")).parse());
        let Ok(CounterPath { machine, object, .. }) = path else { return Ok(text.clone()) };
        if let Some(machine) = machine {
            let machines = session.machines()?;
            if !machines.first().is_some_and(|own| machine.matches(own)) {
                let what = format!("{text} is of another machine; name that one by --source");
                return Err(Failure::Usage(what));
            }
        }
        Ok(object.to_string())
    };
    arguments.iter().map(&mut object_of).collect()
}

/// Collects the answer to each ask, in the order of the asks. The first error is returned at once: the
/// answers to the asks behind it keep their old contents.
pub(super) fn collect(
    session: &mut Session,
    requests: &[Ask],
    answers: &mut [Snapshot],
) -> Result<(), SourceError> {
    for (request, answer) in requests.iter().zip(answers) {
        session.source.collect(request, answer)?;
    }
    Ok(())
}

/// Waits until a moment. Returns the signal that asked the program to end before that moment, or
/// `None` if none did.
pub(super) fn wait(signals: &Signals, until: Instant) -> Option<i32> {
    loop {
        match signals.wait_until(until) {
            Event::Timeout => return None,
            Event::End(signal) => return Some(signal),
            Event::Resized | Event::Continued => {}
        }
    }
}

fn tell(
    global: &Global,
    args: &Args,
    (samples, blocks, bytes): (u64, u64, u64),
) -> Result<(), Failure> {
    let output = Output::new(global);
    let folder = args.folder.display().to_string();
    let mut text = String::new();
    if output.is_table() {
        for (count, one, many) in
            [(samples, " sample, ", " samples, "), (blocks, " block, ", " blocks, ")]
        {
            push_grouped(&mut text, count);
            text.push_str(if count == 1 { one } else { many });
        }
        push_grouped(&mut text, bytes);
        let address = shell_path(&SourceAddress::file(&folder).to_string());
        text.push_str(&format!(" bytes in {}\nperfhive list -s {address}\n", Escaped(&folder)));
    } else {
        let mut records = output.records(["folder", "samples", "blocks", "bytes"], &mut text);
        let fields = [
            Field::Text(&folder),
            Field::Unsigned(samples),
            Field::Unsigned(blocks),
            Field::Unsigned(bytes),
        ];
        records.row(&mut text, fields);
        records.end(&mut text);
    }
    output.write(&text)
}
