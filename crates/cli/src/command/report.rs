//! `perfhive report`: summarizes what happened in a recording.

mod experiment;
mod html;
pub(super) mod json;
mod rules;
pub(super) mod text;

use super::convert::{Progress, push_written};
use crate::args::{Global, Report as Args};
use crate::failure::{Exit, Failure, Outcome, of_source};
use crate::output::Output;
use crate::paths::corrected_failure;
use crate::session::Session;
use crate::unfinished::write_whole;
use perfhive::{
    Ask, CounterPath, LanguageId, Query, Snapshot, Source as _, SourceAddress, TitleSet,
};
use perfhive_view::report::{Analysis, Choice, Prepared, Report, ReportScope, Threshold};
use std::path::Path;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    if let Some(file) = args.file.as_deref().filter(|file| perfhive::recording::has_records(file)) {
        return experiment::run(global, args, file);
    }
    if args.around.is_some() {
        let what = "--around takes the records of an experiment, as perfhive experiment run -o writes them";
        return Err(Failure::Usage(what.to_string()));
    }
    let rules = rules::read(args)?;
    let mut global = global.clone();
    if let Some(file) = &args.file {
        global.source = source_of(file);
    }
    let (choice, machine) = choice(args.all, &args.paths, args.machine.as_deref())?;
    let wanted = Wanted { choice, rules: Some(&rules), top: args.top, machine };
    let report = of_recording(&global, &wanted)?;
    let output = Output::new(&global);
    let mut text = String::new();
    if let Some(file) = &args.html {
        let page = html::page(&report, &global.source, args.top);
        write_whole(file, &page)?;
        let sizes = (report.timeline.times().len() as u64, page.len() as u64);
        push_written(&mut text, &output, file, sizes);
    } else if output.is_table() {
        text::page(&mut text, &report, &global.source, &output, &wanted);
    } else if global.format == crate::args::Format::Json {
        json::push(&mut text, &report, &global.source);
    } else {
        json::push_rows(&mut text, &report, &output);
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The address of a recording that is named as a file or as an address.
pub(super) fn source_of(file: &Path) -> String {
    let name = file.display().to_string();
    match name.parse::<SourceAddress>() {
        Ok(address) => address.to_string(),
        Err(_) => SourceAddress::file(&name).to_string(),
    }
}

/// The counters that the command line chooses, and the machine that `--machine` or the paths name, `None` if they
/// name none. Without paths all counters are chosen if `all` is true, otherwise the usual ones. Paths of several
/// machines are an error.
pub(super) fn choice(
    all: bool,
    paths: &[String],
    machine: Option<&str>,
) -> Result<(Choice, Option<String>), Failure> {
    let machine = machine.map(|name| name.trim_start_matches('\\').to_string());
    if paths.is_empty() {
        return Ok((if all { Choice::All } else { Choice::Usual }, machine));
    }
    let parsed: Result<Vec<CounterPath>, _> = paths.iter().map(|path| path.parse()).collect();
    let parsed = parsed.map_err(|error| Failure::Usage(error.to_string()))?;
    let mut named: Vec<Option<&str>> = parsed
        .iter()
        .map(|path| path.machine.as_ref()?.as_literal())
        // With --machine a path need not name the machine.
        .filter(|of| of.is_some() || machine.is_none())
        .chain(machine.as_deref().map(Some))
        .collect();
    named.dedup_by(|a, b| match (a, b) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
        (a, b) => a == b,
    });
    match named.as_slice() {
        [one] => {
            let machine = one.map(str::to_string);
            Ok((Choice::Paths(parsed), machine))
        }
        _ => {
            let what = "the paths are those of several machines, and this is about one: --machine names it";
            Err(Failure::Usage(what.to_string()))
        }
    }
}

/// The part and the extent of a report that the command line asks for.
pub(super) struct Wanted<'a> {
    pub(super) choice: Choice,
    /// The thresholds to evaluate; `None` to evaluate none.
    pub(super) rules: Option<&'a rules::Rules>,
    /// The number of the busiest processes in the report, and of those with the largest working sets; also that of the
    /// instances that are shown of each object, sums not counted.
    pub(super) top: usize,
    /// The name of the machine to report on; `None` for the recording's own machine.
    pub(super) machine: Option<String>,
}

/// The session for the machine `wanted`; a failure if the recording has no such machine. If `wanted` is `None`, it
/// is the session for the recording's own machine, and a warning names the other machines if there are any.
fn of_machine(
    mut session: Session,
    global: &Global,
    wanted: Option<&str>,
) -> Result<Session, Failure> {
    let machines = session.machines()?;
    let Some(wanted) = wanted else {
        if let [own, others @ ..] = machines.as_slice()
            && !others.is_empty()
        {
            let others = others.join(", ");
            session.faults.add(format!(
                "this is about {own} alone; --machine names one of the others: {others}"
            ));
        }
        return Ok(session);
    };
    match machines.iter().find(|known| known.eq_ignore_ascii_case(wanted)) {
        Some(known) => Ok(session.of_machine(known)),
        None => {
            let what = format!("has no machine {wanted}; it has {}", machines.join(", "));
            Err(Failure::Missing(of_source(&global.source, what)))
        }
    }
}

/// Reads a recording, and returns the report on it. A live source is an error, and so is a recording without a
/// sample.
pub(super) fn of_recording(global: &Global, wanted: &Wanted<'_>) -> Result<Report, Failure> {
    let mut session = Session::open(global)?;
    if session.source.is_live() {
        let what = "is not a recording; name a file, or --source file:NAME";
        return Err(Failure::Usage(of_source(&global.source, what)));
    }
    let mut session = of_machine(session, global, wanted.machine.as_deref())?;
    let catalogue = session.source.catalogue(&Ask::everything())?;
    let languages = [session.language, LanguageId::ENGLISH];
    let titles = TitleSet::load(languages, |one| session.source.titles(one, &Ask::nothing()))?;
    // The first sample tells how many instances there are.
    let mut first = Snapshot::new();
    match session.source.collect(&Ask::everything(), &mut first) {
        Ok(()) => {}
        Err(error) if error.is_end_of_data() => {
            let what = match global.begin.or(global.end) {
                Some(_) => {
                    "has no sample in that part; perfhive info shows when it begins and ends"
                }
                None => "has no sample",
            };
            // Damage may be the reason.
            session.faults.report();
            return Err(Failure::Missing(of_source(&global.source, what)));
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(recording) = session.source.recording() {
        recording.seek(None)?;
    }
    let prepared = match wanted.rules {
        None => Prepared::default(),
        Some(rules) if rules.pal.count() > 0 => {
            rules.pal.prepare(&catalogue, &titles, &first, &rules.answers)
        }
        Some(_) => Prepared { thresholds: Threshold::built_in(), ..Prepared::default() },
    };
    drop(first);
    let scope = ReportScope::new(&catalogue, &titles, &wanted.choice, prepared.thresholds);
    let faults = session.faults.clone();
    if !scope.is_empty() {
        for path in scope.unmatched() {
            let what = "the recording has no such counter; perfhive list shows what there is";
            faults.add(of_source(&global.source, format!("{path} is left out: {what}")));
        }
    }
    let mut query: Query = session.query()?;
    for path in scope.paths() {
        query.add_path(path)?;
    }
    if scope.is_empty() {
        if let Choice::Paths(paths) = &wanted.choice {
            let wrong =
                paths.iter().filter_map(|path| corrected_failure(global, &path.to_string()));
            if let Some(exit) = wrong.map(Failure::report).max() {
                return Err(Failure::Said(exit));
            }
        }
        let what = match wanted.choice {
            Choice::Paths(_) => "has none of these counters; perfhive list shows what there is",
            _ => "has no counters",
        };
        return Err(Failure::Missing(of_source(&global.source, what)));
    }
    let mut analysis = Analysis::new(scope);
    let progress = Progress::of(global);
    let mut samples = 0;
    loop {
        match query.collect() {
            Ok(()) => {}
            Err(error) if error.is_end_of_data() => break,
            Err(error) => return Err(error.into()),
        }
        // A collection without a time has no sample: the recording ends with damage.
        let Some(time) = faults.time().and_then(|time| time.to_file_time()) else { continue };
        analysis.add(&query, time);
        samples += 1;
        progress.show("read", samples);
    }
    drop(progress);
    faults.report();
    let mut report = analysis.finish(wanted.top);
    report.unevaluated.extend(prepared.unevaluated);
    report.without_counters += prepared.without_counters;
    Ok(report)
}
