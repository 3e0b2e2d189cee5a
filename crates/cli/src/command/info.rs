//! `perfhive info`: prints what a recording contains.

use super::report::source_of;
use crate::args::{Global, Info as Args};
use crate::failure::{Exit, Failure, Outcome, of_source};
use crate::output::Output;
use crate::session::Session;
use crate::text::records::Records;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use crate::text::time::local;
use perfhive::recording::is_made_up;
use perfhive::{
    Ask, Catalogue, CatalogueObject, FileTime, LanguageId, Snapshot, Source as _, SourceAddress,
};
use perfhive_view::Field;
use perfhive_view::number::push_grouped;
use perfhive_view::report::{Gap, Timeline};
use perfhive_view::time::rfc3339;

/// The most gaps that are listed for people.
const MOST_GAPS: usize = 10;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let output = Output::new(global);
    let mut text = String::new();
    let mut records = (!output.is_table()).then(|| output.records(KEYS, &mut text));
    let of_file = |file| Global { source: source_of(file), ..global.clone() };
    let sources: Vec<Global> = match args.files.as_slice() {
        [] => vec![global.clone()],
        files => files.iter().map(|file| of_file(file)).collect(),
    };
    let mut exit = Exit::Done;
    for (number, source) in sources.iter().enumerate() {
        // A file that cannot be read is reported, and the others are printed all the same.
        let facts = match facts_of(source) {
            Ok(facts) => facts,
            Err(failure) => {
                exit = exit.max(failure.report());
                continue;
            }
        };
        match &mut records {
            Some(records) => facts.record(&mut text, records),
            None => {
                if number > 0 {
                    text.push('\n');
                }
                facts.page(&mut text, &output);
            }
        }
        output.write(&std::mem::take(&mut text))?;
    }
    if let Some(records) = records {
        records.end(&mut text);
    }
    output.write(&text)?;
    Ok(exit)
}

fn facts_of(global: &Global) -> Result<Facts, Failure> {
    let mut session = Session::open(global)?;
    if session.source.is_live() {
        let what = "is not a recording; name a file, or --source file:NAME";
        return Err(Failure::Usage(of_source(&global.source, what)));
    }
    let facts = Facts::of(&mut session, global)?;
    session.faults.report();
    Ok(facts)
}

/// The keys of the row that describes a recording to programs.
const KEYS: [&str; 11] = [
    "source", "machine", "begin", "end", "samples", "interval", "objects", "counters", "values",
    "bytes", "gaps",
];

/// The facts that are printed about a recording.
struct Facts {
    source: String,
    /// The machines with counters in the recording; the recording's own machine is the first.
    machines: Vec<String>,
    bytes: Option<u64>,
    timeline: Timeline,
    objects: usize,
    counters: usize,
    /// The number of values in the largest sample: each counter of each instance.
    values: u64,
    /// The languages of the recording's names, for people.
    names: Vec<String>,
}

impl Facts {
    fn of(session: &mut Session, global: &Global) -> Result<Self, Failure> {
        let catalogue = session.source.catalogue(&Ask::everything())?;
        let mut snapshot = Snapshot::new();
        let (mut timeline, mut values) = (Timeline::default(), 0);
        let mut machines = vec![catalogue.machine.clone()];
        loop {
            match session.source.collect(&Ask::everything(), &mut snapshot) {
                Ok(()) => {}
                Err(error) if error.is_end_of_data() => break,
                Err(error) => return Err(error.into()),
            }
            if let Some(frame) = snapshot.frames().first() {
                timeline.push(frame.time());
            }
            for frame in snapshot.frames() {
                if !machines.iter().any(|known| known == frame.machine()) {
                    machines.push(frame.machine().to_string());
                }
            }
            let of_object = |object: perfhive::SnapshotObject<'_>| {
                let view = object.view();
                let rows = if view.has_instances() { view.instance_count() } else { 1 };
                u64::from(rows) * u64::from(view.counter_count())
            };
            values = values.max(snapshot.objects().map(of_object).sum());
        }
        let files = global.source.parse().map(|at: SourceAddress| at.files()).unwrap_or_default();
        let size = |file: &std::path::PathBuf| {
            let found = std::fs::metadata(file).ok()?;
            found.is_file().then_some(found.len())
        };
        Ok(Self {
            source: global.source.clone(),
            machines,
            bytes: files.iter().map(size).sum(),
            timeline,
            objects: catalogue.objects.len(),
            counters: catalogue.objects.iter().map(|object| object.counters.len()).sum(),
            values,
            names: names_of(&catalogue),
        })
    }

    fn page(&self, text: &mut String, output: &Output) {
        let grouped = |number: u64| {
            let mut text = String::new();
            push_grouped(&mut text, number);
            text
        };
        let time = |time: Option<&FileTime>| {
            let shown = time.and_then(|time| local(time.to_system_time(), None));
            shown.unwrap_or_else(|| "unknown".to_string())
        };
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        let mut row = |name: &str, value: String| {
            table.text(Style::Name, name);
            table.text(Style::Plain, &value);
        };
        row("source", self.source.clone());
        row("machine", self.machines.join(", "));
        row("begin", time(self.timeline.times().first()));
        row("end", time(self.timeline.times().last()));
        row("samples", grouped(self.timeline.times().len() as u64));
        if let Some(interval) = self.timeline.interval() {
            row("interval", seconds(interval));
        }
        row("objects", grouped(self.objects as u64));
        row("counters", grouped(self.counters as u64));
        row("values", format!("{} in the largest sample", grouped(self.values)));
        row("names", self.names.join(", "));
        if let Some(bytes) = self.bytes {
            row("size", format!("{} bytes", grouped(bytes)));
        }
        let gaps = self.timeline.gaps();
        for Gap { begin, pause } in gaps.iter().take(MOST_GAPS) {
            let what = if *pause < 0 { "the clock was set back by" } else { "no sample for" };
            let begin = time(Some(begin));
            row("gap", format!("{begin}: {what} {}", seconds(pause.abs())));
        }
        if gaps.len() > MOST_GAPS {
            row("gaps", format!("{} more", gaps.len() - MOST_GAPS));
        }
        table.render(text, output.layout(false));
    }

    fn record(&self, text: &mut String, records: &mut Records) {
        let time = |time: Option<&FileTime>| time.and_then(|of| rfc3339(of.to_system_time()));
        let (begin, end) =
            (time(self.timeline.times().first()), time(self.timeline.times().last()));
        let interval = self.timeline.interval().map(|steps| steps as f64 / 1e7);
        records.row(
            text,
            [
                Field::Text(&self.source),
                Field::text(self.machines.first().map(String::as_str)),
                Field::text(begin.as_deref()),
                Field::text(end.as_deref()),
                Field::Unsigned(self.timeline.times().len() as u64),
                interval.map_or(Field::None, Field::Float),
                Field::Unsigned(self.objects as u64),
                Field::Unsigned(self.counters as u64),
                Field::Unsigned(self.values),
                Field::unsigned(self.bytes),
                Field::Unsigned(self.timeline.gaps().len() as u64),
            ],
        );
    }
}

/// The languages of a recording's names, for people. The language of names that a log has without title indexes is not
/// known: for them there is the entry `as the file has them`.
fn names_of(catalogue: &Catalogue) -> Vec<String> {
    let is_own = |object: &CatalogueObject| is_made_up(object.name);
    let name = |id: &LanguageId| id.name().map_or(id.to_string(), str::to_string);
    let mut names: Vec<String> = Vec::new();
    if !catalogue.objects.iter().all(is_own) {
        names.extend(catalogue.languages.iter().map(name));
    }
    if catalogue.objects.iter().any(is_own) {
        names.push("as the file has them".to_string());
    }
    names
}

/// A number of 100 ns steps as seconds, with the unit.
fn seconds(steps: i64) -> String {
    format!("{:.3} s", steps as f64 / 1e7)
}
