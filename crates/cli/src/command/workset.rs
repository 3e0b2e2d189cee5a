//! `perfhive workset`: prints the working set of each process with a name, as WORKSET
//! did.

use crate::args::{Global, Workset};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::process::{PID, Processes, WORKING_SET, is_total, plan, whole};
use crate::session::Session;
use perfhive::format::CounterPlan;
use perfhive::{
    CookedValue, CounterPath, InstanceLabel, InstancePattern, Snapshot, SnapshotObject, nearest,
};
use perfhive_view::did_you_mean;
use perfhive_view::label::labelled;
use perfhive_view::time::rfc3339;
use perfhive_view::{Detail, Field, LOCAL_KEYS, Quantity};
use std::fmt::Write as _;

/// The quantity of a working set.
const BYTES: Quantity<'static> = Quantity { counter_type: None, unit: "B", is_identifier: false };

/// A process with the name that the command line asks for; `bytes` is its working set, `None` if the source does
/// not have it.
struct Found {
    label: InstanceLabel,
    pid: Option<u64>,
    bytes: Option<u64>,
}

pub(super) fn run(global: &Global, args: &Workset) -> Outcome {
    let mut session = Session::open(global)?;
    let mut processes = Processes::find(&mut session, global)?;
    let mut snapshot = Snapshot::new();
    processes.collect(&mut session, &[], &mut snapshot)?;
    session.faults.report();
    let object = processes.of(&snapshot, global)?;
    let plans = CounterPlan::all(object.view());
    let pid = plan(&plans, processes.known(PID));
    let working_set = plan(&plans, processes.known(WORKING_SET))
        .ok_or_else(|| Failure::Usage(format!("{}: has no Working Set", global.source)))?;

    let mut found = Vec::new();
    for (label, instance) in labelled(object) {
        let pid = pid.and_then(|pid| whole(pid, &instance));
        if instance.name().eq_ignore_case(&args.name) && !is_total(&instance, pid) {
            let bytes = whole(working_set, &instance);
            found.push(Found { label, pid, bytes });
        }
    }
    if found.is_empty() {
        return Err(not_found(object, &args.name));
    }

    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        output.push_moment(&mut text, session.source.is_live(), session.faults.time());
        push_lines(&mut text, &found, args.hex, output.detail(Detail::Full));
    } else {
        let index = (processes.object(), working_set.name);
        let names = processes.names(&mut session)?;
        let local = (names.name(index.0), names.name(index.1));
        let names = (names.english(index.0), names.english(index.1));
        let keys = ["path", "value", "unit", "status", "time", "machine", "name", "pid"];
        let behind = ["object_index", "counter_index"].into_iter().chain(output.local(LOCAL_KEYS));
        let mut records = output.records(keys.into_iter().chain(behind), &mut text);
        let time = rfc3339(object.frame().system_time());
        for process in &found {
            let label = &process.label;
            let instance =
                InstancePattern::literal(label.parent.as_deref(), &label.name, label.order);
            let path = CounterPath::new(&names.0, Some(instance), &names.1).to_string();
            let hex = process.bytes.map(|bytes| format!("{bytes:#x}"));
            let scaled = process.bytes.filter(|_| output.scales());
            let scaled = scaled.and_then(|bytes| BYTES.rounded(CookedValue::Integer(bytes)));
            let value = match (&hex, &scaled) {
                (Some(hex), _) if args.hex => Field::Text(hex),
                (_, Some((CookedValue::Float(scaled), _))) => Field::Float(*scaled),
                _ => Field::unsigned(process.bytes),
            };
            let unit = scaled.as_ref().map_or("B", |(_, unit)| unit).to_string();
            let status = if process.bytes.is_some() { "ok" } else { "no-data" };
            let fields = [
                Field::Text(&path),
                value,
                Field::Text(if args.hex { "B" } else { &unit }),
                Field::Text(status),
                Field::text(time.as_deref()),
                Field::Text(object.machine()),
                Field::Text(&label.name),
                Field::unsigned(process.pid),
                Field::Unsigned(index.0.0.into()),
                Field::Unsigned(index.1.0.into()),
            ];
            let local = output.local([Field::Text(&local.0), Field::Text(&local.1)]);
            records.row(&mut text, fields.into_iter().chain(local));
        }
        records.end(&mut text);
    }
    output.write(&text)?;
    let complete = found.iter().all(|process| process.bytes.is_some());
    Ok(if complete { Exit::Done } else { Exit::NoValue })
}

/// Appends a line `Working set: 1.2 MiB  (PID 42)` for each process, the numbers aligned.
fn push_lines(out: &mut String, found: &[Found], hex: bool, detail: Detail) {
    let sizes: Vec<String> = found
        .iter()
        .map(|process| match process.bytes {
            Some(bytes) if hex => format!("{bytes:#x} bytes"),
            Some(bytes) => {
                let shown = BYTES.shown(CookedValue::Integer(bytes), detail);
                format!("{} {}", shown.number, shown.unit)
            }
            None => "not available here".to_string(),
        })
        .collect();
    let widest = sizes.iter().map(String::len).max().unwrap_or(0);
    for (process, size) in found.iter().zip(&sizes) {
        // Writing to a string cannot fail.
        let _ = write!(out, "Working set: {size:>widest$}");
        if let Some(pid) = process.pid {
            let _ = write!(out, "  (PID {pid})");
        }
        out.push('\n');
    }
}

/// The failure for a name that no process has, with the nearest names of processes.
fn not_found(object: SnapshotObject<'_>, name: &str) -> Failure {
    let names: Vec<String> = object.view().instances().map(|i| i.name().to_text()).collect();
    let names = names.iter().map(String::as_str).filter(|name| *name != "_Total");
    let mut message = format!("no process is called {name:?}");
    // An instance of Process has the name of the executable without .exe.
    let wanted = name.strip_suffix(".exe").unwrap_or(name);
    let near = nearest(wanted, names, 3);
    if near.is_empty() {
        message.push_str("; perfhive ps lists the processes");
    }
    message.push_str(&did_you_mean(&near));
    Failure::Missing(message)
}
