//! `perfhive info`: what a recording holds.

use crate::args::{Global, Info as Args};
use crate::failure::{Exit, Failure, Outcome, of_source};
use crate::output::Output;
use crate::session::Session;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use crate::text::time::local;
use perfhive::{Ask, FileTime, Snapshot, Source as _, SourceAddress};
use perfhive_view::Field;
use perfhive_view::number::push_grouped;
use perfhive_view::time::rfc3339;

/// A pause of this many times the usual one is a gap.
const GAP: i64 = 3;

/// The most gaps that are listed for people.
const MOST_GAPS: usize = 10;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let mut global = global.clone();
    if let Some(file) = &args.file {
        let name = file.display().to_string();
        global.source = match name.parse::<SourceAddress>() {
            Ok(address) => address.to_string(),
            Err(_) => SourceAddress::file(&name).to_string(),
        };
    }
    let mut session = Session::open(&global)?;
    if session.source.is_live() {
        let what = "is not a recording; name a file, or --source file:NAME";
        return Err(Failure::Usage(of_source(&global.source, what)));
    }
    let facts = Facts::of(&mut session, &global)?;
    session.faults.report();
    let output = Output::new(&global);
    let mut text = String::new();
    if output.is_table() {
        facts.page(&mut text, &output);
    } else {
        facts.record(&mut text, &output);
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

/// What a recording holds.
struct Facts {
    source: String,
    machine: String,
    bytes: Option<u64>,
    times: Vec<FileTime>,
    objects: usize,
    counters: usize,
    /// Values of the largest sample: counters of instances.
    values: u64,
    languages: Vec<String>,
}

impl Facts {
    fn of(session: &mut Session, global: &Global) -> Result<Self, Failure> {
        let catalogue = session.source.catalogue(&Ask::everything())?;
        let mut snapshot = Snapshot::new();
        let (mut times, mut values) = (Vec::new(), 0);
        loop {
            match session.source.collect(&Ask::everything(), &mut snapshot) {
                Ok(()) => {}
                Err(error) if error.is_end_of_data() => break,
                Err(error) => return Err(error.into()),
            }
            times.extend(snapshot.frames().first().map(|frame| frame.time()));
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
        let name = |id: &perfhive::LanguageId| id.name().map_or(id.to_string(), str::to_string);
        Ok(Self {
            source: global.source.clone(),
            machine: catalogue.machine.clone(),
            bytes: files.iter().map(size).sum(),
            times,
            objects: catalogue.objects.len(),
            counters: catalogue.objects.iter().map(|object| object.counters.len()).sum(),
            values,
            languages: catalogue.languages.iter().map(name).collect(),
        })
    }

    /// The usual time between two samples, in steps of 100 ns: the one in the middle.
    fn interval(&self) -> Option<i64> {
        let mut pauses = self.pauses();
        pauses.sort_unstable();
        pauses.get(pauses.len() / 2).copied()
    }

    fn pauses(&self) -> Vec<i64> {
        self.times.iter().zip(self.times.iter().skip(1)).map(|(a, b)| b.0 - a.0).collect()
    }

    /// The beginning and length of each pause that is much longer than usual, or goes back in
    /// time.
    fn gaps(&self) -> Vec<(FileTime, i64)> {
        let usual = self.interval().unwrap_or(0).max(1);
        let pauses = self.times.iter().copied().zip(self.pauses());
        pauses.filter(|(_, pause)| *pause < 0 || *pause >= usual.saturating_mul(GAP)).collect()
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
        row("machine", self.machine.clone());
        row("begin", time(self.times.first()));
        row("end", time(self.times.last()));
        row("samples", grouped(self.times.len() as u64));
        if let Some(interval) = self.interval() {
            row("interval", seconds(interval));
        }
        row("objects", grouped(self.objects as u64));
        row("counters", grouped(self.counters as u64));
        row("values", format!("{} in the largest sample", grouped(self.values)));
        row("names", self.languages.join(", "));
        if let Some(bytes) = self.bytes {
            row("size", format!("{} bytes", grouped(bytes)));
        }
        let gaps = self.gaps();
        for (begin, pause) in gaps.iter().take(MOST_GAPS) {
            let what = if *pause < 0 { "the clock was set back by" } else { "no sample for" };
            let begin = time(Some(begin));
            row("gap", format!("{begin}: {what} {}", seconds(pause.abs())));
        }
        if gaps.len() > MOST_GAPS {
            row("gaps", format!("{} more", gaps.len() - MOST_GAPS));
        }
        table.render(text, output.layout(false));
    }

    fn record(&self, text: &mut String, output: &Output) {
        let time = |time: Option<&FileTime>| time.and_then(|of| rfc3339(of.to_system_time()));
        let (begin, end) = (time(self.times.first()), time(self.times.last()));
        let interval = self.interval().map(|steps| steps as f64 / 1e7);
        let keys = [
            "source", "machine", "begin", "end", "samples", "interval", "objects", "counters",
            "values", "bytes", "gaps",
        ];
        let mut records = output.records(keys, text);
        records.row(
            text,
            [
                Field::Text(&self.source),
                Field::Text(&self.machine),
                Field::text(begin.as_deref()),
                Field::text(end.as_deref()),
                Field::Unsigned(self.times.len() as u64),
                interval.map_or(Field::None, Field::Float),
                Field::Unsigned(self.objects as u64),
                Field::Unsigned(self.counters as u64),
                Field::Unsigned(self.values),
                Field::unsigned(self.bytes),
                Field::Unsigned(self.gaps().len() as u64),
            ],
        );
        records.end(text);
    }
}

/// Steps of 100 ns as seconds.
fn seconds(steps: i64) -> String {
    format!("{:.3} s", steps as f64 / 1e7)
}
