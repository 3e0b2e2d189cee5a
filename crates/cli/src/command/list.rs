//! `perfhive list`: lists objects, counters and instances of a source.

use crate::args::value::file_of;
use crate::args::{Global, List};
use crate::failure::{Exit, Failure, Outcome, warn};
use crate::output::Output;
use crate::paths::explain_error;
use crate::session::Session;
use crate::text::escape::{Escaped, shell_word, width};
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::engine::IdentityMap;
use perfhive::{
    Ask, CatalogueObject, Cost, CounterPath, Identity, InstancePattern, NamePattern, ObjectQuery,
    QueryError, Snapshot, Source as _, SourceError,
};
use perfhive_view::label::labelled;
use perfhive_view::number::push_grouped;
use perfhive_view::time::rfc3339;
use perfhive_view::{Field, LOCAL_KEYS, Names};
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn run(global: &Global, args: &List) -> Outcome {
    let mut session = Session::open(global)?;
    let mut names = Names::load(&mut session.source, session.language)?;
    session.faults.add_lacks(&names);
    let output = Output::new(global);
    let mut text = String::new();
    match &args.object {
        None => {
            names.find_out(&mut session.source, &NamePattern::with_wildcards("*"));
            names.list_costly(&mut session.source);
            if let Some(error) = &names.unlisted {
                warn(&format!("not all objects can be listed: {error}"));
            }
            let all = Ask::new(ObjectQuery::Global);
            if !session.source.is_live() {
                // Damaged objects of a recording are in no catalogue; its first
                // sample reports them.
                first_sample(&mut session, &all)?;
            } else if cfg!(windows) {
                // The objects of a failing provider are in no catalogue either. The list
                // is valid without them.
                let _ = first_sample(&mut session, &all);
            }
            objects(&names, &output, &mut text);
            // The objects of refused registrations are in no catalogue.
            let refused = crate::paths::refused(
                &session.source.providers(&Ask::nothing()).unwrap_or_default(),
            );
            refused.into_iter().for_each(|why| session.faults.add(why));
        }
        Some(name) => {
            let pattern = NamePattern::with_wildcards(name);
            let mut found = names.objects(&mut session.source, &pattern);
            if found.is_empty() {
                return Err(no_such_object(global, &mut session, &mut names, name));
            }
            sort_by_name(&mut found, &names);
            details(&mut session, &names, &found, &output, &mut text)?;
        }
    }
    session.faults.report();
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The failure for a text that names no known object: the text may name an unknown or a damaged object, more
/// than an object, or a file.
pub(super) fn no_such_object(
    global: &Global,
    session: &mut Session,
    names: &mut Names,
    name: &str,
) -> Failure {
    if let Some(failure) = object_of_machine(global, name) {
        return failure;
    }
    if let Some(failure) = crate::paths::more_than_an_object(session, names, name) {
        return failure;
    }
    // The slash at the beginning of a file's name was taken for that of a path.
    let rooted = Some(format!("/{name}")).filter(|file| Path::new(file).is_file());
    if let Some(file) = rooted.or_else(|| file_of(name)) {
        return crate::paths::is_a_file(&file, "an object");
    }
    crate::paths::damaged_object(global, name).unwrap_or_else(|| {
        names.look_near(&mut session.source, name);
        names.no_such_object(name).into()
    })
}

/// The failure for an object with a machine in front of it, `\\HOST\Memory`, where an object is expected; `None` for
/// other texts, and for a path to a counter of a machine that the source has.
fn object_of_machine(global: &Global, text: &str) -> Option<Failure> {
    // On Windows, files of other machines have such names, too.
    if !text.starts_with(r"\\") || Path::new(text).is_file() {
        return None;
    }
    let whole = text.parse::<CounterPath>().ok();
    let mut path = match &whole {
        Some(path) => path.clone(),
        None => format!(r"{text}\*").parse().ok()?,
    };
    let session = Session::open(&Global { quiet: true, ..global.clone() }).ok()?;
    let mut query = session.query().ok()?;
    let mut added = query.add(&path.to_string());
    if matches!(added, Err(QueryError::NeedsInstance { .. })) {
        path.instance = Some(InstancePattern::any());
        added = query.add(&path.to_string());
    }
    match added {
        Err(error) => Some(explain_error(error, global, &path.to_string(), false)),
        Ok(_) if whole.is_some() => None,
        Ok(_) => {
            let (object, read) =
                (shell_word(&path.object.to_string()), shell_word(&path.to_string()));
            Some(Failure::Usage(format!(
                "{text} has a machine, and an object such as {object} is expected; read it by perfhive get {read}"
            )))
        }
    }
}

/// Sorts objects by name, without regard to case; objects without a name come last, by index.
fn sort_by_name(objects: &mut [CatalogueObject], names: &Names) {
    objects.sort_by_cached_key(|object| {
        // Objects without a name come last, ordered by index.
        let name = names.titles().name(object.name);
        (name.is_none(), name.map(str::to_lowercase), object.name)
    });
}

pub(super) const fn cost(cost: Cost) -> &'static str {
    match cost {
        Cost::Global => "global",
        Cost::Costly => "costly",
        Cost::Foreign => "foreign",
        Cost::Unknown => "unknown",
    }
}

/// The path of a counter, of all instances if the object has instances.
pub(super) fn path_of(object: &str, has_instances: bool, counter: &str) -> String {
    let instances = has_instances.then(InstancePattern::any);
    CounterPath::new(object, instances, counter).to_string()
}

/// Appends all objects, each in a row, sorted by name.
fn objects(names: &Names, output: &Output, text: &mut String) {
    let mut objects = names.catalogue.objects.clone();
    sort_by_name(&mut objects, names);
    if output.is_table() {
        let mut table = Table::new(&[
            ("INDEX", Align::Right),
            ("OBJECT", Align::Left),
            ("COUNTERS", Align::Right),
            ("INSTANCES", Align::Left),
            ("COST", Align::Left),
        ]);
        for object in &objects {
            table.cell(Style::Faint, |out| out.push_str(&object.name.to_string()));
            table.text(Style::Name, &names.name(object.name));
            table.cell(Style::Plain, |out| push_grouped(out, object.counters.len() as u64));
            table.text(Style::Plain, if object.has_instances { "yes" } else { "no" });
            let style = if object.cost == Cost::Global { Style::Faint } else { Style::Attention };
            table.text(style, cost(object.cost));
        }
        table.render(text, output.layout(true));
        return;
    }
    let keys = ["object", "index", "counters", "instances", "cost", "detail", "machine"];
    let local = output.local(["local_object"]);
    let mut records = output.records(keys.into_iter().chain(local), text);
    for object in &objects {
        let fields = [
            Field::Text(&names.english(object.name)),
            Field::Unsigned(object.name.0.into()),
            Field::Unsigned(object.counters.len() as u64),
            Field::Bool(object.has_instances),
            Field::Text(cost(object.cost)),
            Field::Unsigned(object.detail.0.into()),
            Field::Text(&names.catalogue.machine),
        ];
        let local = names.name(object.name);
        records.row(text, fields.into_iter().chain(output.local([Field::Text(&local)])));
    }
    records.end(text);
}

/// The first sample of the source; empty for a recording without samples, which may still have objects and counters to
/// list.
fn first_sample(session: &mut Session, ask: &Ask) -> Result<Snapshot, SourceError> {
    let mut sample = Snapshot::new();
    match session.source.collect(ask, &mut sample) {
        Err(error) if !error.is_end_of_data() => Err(error),
        _ => Ok(sample),
    }
}

/// Prints the counters of objects, and their present instances.
fn details(
    session: &mut Session,
    names: &Names,
    objects: &[CatalogueObject],
    output: &Output,
    text: &mut String,
) -> Result<(), Failure> {
    let indexes: Vec<_> = objects.iter().map(|object| object.name).collect();
    let snapshot = first_sample(session, &Ask::objects(&indexes))?;
    if output.is_table() {
        output.push_moment(text, session.source.is_live(), session.faults.time());
        for (place, object) in objects.iter().enumerate() {
            if place > 0 {
                text.push('\n');
            }
            one_object(names, object, &snapshot, output, text);
        }
        return Ok(());
    }
    let keys = [
        "kind",
        "name",
        "index",
        "type",
        "unit",
        "samples",
        "scale",
        "detail",
        "on_request",
        "object",
        "object_index",
        "machine",
        "pid",
        "path",
        "time",
    ];
    let mut records = output.records(keys.into_iter().chain(output.local(LOCAL_KEYS)), text);
    let time = session.faults.time().and_then(rfc3339);
    for object in objects {
        let object_name = names.english(object.name);
        let local_object = names.name(object.name);
        let behind = [
            Field::Text(&object_name),
            Field::Unsigned(object.name.0.into()),
            Field::Text(&names.catalogue.machine),
        ];
        for counter in &object.counters {
            let type_name = counter.counter_type.to_string();
            let fields = [
                Field::Text("counter"),
                Field::Text(&names.english(counter.name)),
                Field::Unsigned(counter.name.0.into()),
                Field::Text(&type_name),
                Field::Text(names.unit(object.name, counter)),
                Field::Unsigned(counter.counter_type.samples().into()),
                Field::Signed(counter.scale.into()),
                Field::Unsigned(counter.detail.0.into()),
                Field::Bool(counter.on_request),
            ];
            let local_counter = names.name(counter.name);
            let local = [Field::Text(&local_object), Field::Text(&local_counter)];
            let path = path_of(&object_name, object.has_instances, &names.english(counter.name));
            let path = [Field::None, Field::Text(&path), Field::None];
            let fields = fields.into_iter().chain(behind).chain(path);
            records.row(text, fields.chain(output.local(local)));
        }
        let Some(sampled) = snapshot.object(object.name) else { continue };
        let identities = IdentityMap::of(sampled);
        for (place, (label, _)) in labelled(sampled).enumerate() {
            let name = label.plain();
            let pid = identities.identity(place).and_then(Identity::process_id);
            let head = [Field::Text("instance"), Field::Text(&name)];
            let local = output.local([Field::Text(&local_object), Field::None]);
            let fields = head.into_iter().chain([Field::None; 7]).chain(behind);
            let pid = Field::unsigned(pid.map(u64::from));
            let behind = [pid, Field::None, Field::text(time.as_deref())];
            records.row(text, fields.chain(behind).chain(local));
        }
    }
    records.end(text);
    Ok(())
}

fn one_object(
    names: &Names,
    object: &CatalogueObject,
    snapshot: &Snapshot,
    output: &Output,
    text: &mut String,
) {
    let palette = output.palette;
    let name = Escaped(&names.name(object.name)).to_string();
    palette.push(text, Style::Heading, &name);
    let mut about = format!("  object {}", object.name);
    if object.cost != Cost::Global {
        let _ = write!(about, ", {}", cost(object.cost));
    }
    if !names.catalogue.machine.is_empty() {
        let _ = write!(about, ", machine {}", Escaped(&names.catalogue.machine));
    }
    palette.push(text, Style::Faint, &about);
    text.push_str("\n\n");

    let mut table = Table::new(&[
        ("INDEX", Align::Right),
        ("COUNTER", Align::Left),
        ("UNIT", Align::Left),
        ("TYPE", Align::Left),
    ]);
    let extra = object.counters.iter().any(|counter| counter.on_request);
    if extra {
        table.column("", Align::Left);
    }
    for counter in &object.counters {
        table.cell(Style::Faint, |out| out.push_str(&counter.name.to_string()));
        table.text(Style::Name, &names.name(counter.name));
        table.text(Style::Plain, names.unit(object.name, counter));
        table.cell(Style::Faint, |out| out.push_str(&counter.counter_type.to_string()));
        if extra {
            table.text(Style::Attention, if counter.on_request { "on request" } else { "" });
        }
    }
    table.render(text, output.layout(true));
    if !object.has_instances {
        return;
    }
    let instances: Vec<String> = snapshot
        .object(object.name)
        .into_iter()
        .flat_map(labelled)
        .map(|(label, _)| Escaped(&label.plain()).to_string())
        .collect();
    let count = match instances.len() {
        0 => "No instances at the moment".to_string(),
        1 => "1 instance".to_string(),
        count => {
            let mut text = String::new();
            push_grouped(&mut text, count as u64);
            text + " instances"
        }
    };
    text.push('\n');
    palette.push(text, Style::Heading, &count);
    text.push('\n');
    push_columns(text, &instances, output.reading_width());
}

/// Appends short texts in columns, to be read from the top down. `room` is the width of all columns together.
fn push_columns(out: &mut String, items: &[String], room: usize) {
    const GAP: usize = 2;
    let widest = items.iter().map(|item| width(item)).max().unwrap_or(0);
    let columns = ((room + GAP).saturating_sub(GAP) / (widest + GAP)).max(1);
    let lines = items.len().div_ceil(columns);
    for line in 0..lines {
        let mut pending = 0;
        for item in items.iter().skip(line).step_by(lines) {
            out.extend(std::iter::repeat_n(' ', pending + GAP));
            out.push_str(item);
            pending = widest - width(item);
        }
        out.push('\n');
    }
}
