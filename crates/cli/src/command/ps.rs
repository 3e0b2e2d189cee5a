//! `perfhive ps`: processes, one a line.
//!
//! One collection of one object (two for rates), no names unless a column is
//! given by name, and one write.

mod columns;

use crate::args::{Global, Ps};
use crate::failure::{Exit, Failure, Outcome, complain, of_source};
use crate::output::Output;
use crate::process::{ELAPSED, PID, Processes, is_total, plan};
use crate::session::Session;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use columns::{Column, Form};
use perfhive::format::{CounterBlock, CounterPlan, Instance, PerfObject, cook_with};
use perfhive::{CookOptions, CookedValue, Snapshot, TitleIndex};
use perfhive_view::Field;
use perfhive_view::number::{push_brief, push_bytes, push_elapsed, push_float};
use perfhive_view::time::rfc3339;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Instant;

pub(super) fn run(global: &Global, args: &Ps) -> Outcome {
    let by_name = columns::needs_names(args);
    let mut session = if by_name { Session::open(global)? } else { Session::open_unnamed(global)? };
    let mut processes = Processes::find(&mut session, global)?;
    let chosen = columns::choose(&mut processes, &mut session, global, args)?;
    let extra: Vec<TitleIndex> = chosen.columns.iter().filter_map(|c| c.counter).collect();

    let start = Instant::now();
    let mut first = Snapshot::new();
    processes.collect(&mut session, &extra, &mut first)?;
    let mut second = None;
    let mut exit = Exit::Done;
    let object = processes.of(&first, global)?;
    let plans = CounterPlan::all(object.view());
    let two = |column: &Column| {
        let plan = column.counter.and_then(|counter| plan(&plans, counter));
        plan.is_some_and(|plan| plan.counter_type.samples() == 2)
    };
    if chosen.columns.iter().any(two) {
        if session.source.is_live() {
            std::thread::sleep(args.interval.saturating_sub(start.elapsed()));
        }
        let mut snapshot = Snapshot::new();
        match processes.collect(&mut session, &extra, &mut snapshot) {
            Ok(()) => second = Some(snapshot),
            // A recording of one sample: everything but the rates is there.
            Err(error) if error.is_end_of_data() => {
                complain(&format!("{error}, and some of these columns need two"));
                exit = Exit::NoValue;
            }
            Err(error) => return Err(error.into()),
        }
    }
    session.faults.report();

    let older = second.is_some().then(|| object.view());
    let object = match &second {
        Some(snapshot) => processes.of(snapshot, global)?,
        None => object,
    };
    let (time, machine) = (rfc3339(object.frame().system_time()), object.machine());
    let list = List::new(global, &processes, object.view(), older, &chosen)?;
    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        list.table().render(&mut text, output.layout(true));
    } else {
        list.records(&output, time.as_deref(), machine, &mut text);
    }
    output.write(&text)?;
    Ok(exit)
}

/// That the source lacks the counter of a column.
fn no_counter(global: &Global, column: &Column) -> Failure {
    let reason = crate::absent::reason(global, "Process", &column.english);
    Failure::Usage(reason.unwrap_or_else(|| {
        let what = format_args!("Process has no counter {:?} in this sample", column.english);
        of_source(&global.source, what)
    }))
}

/// One process.
struct Process<'a> {
    instance: Instance<'a>,
    block: CounterBlock<'a>,
    /// The counter block of the same process in the older sample.
    older: Option<CounterBlock<'a>>,
    /// Whether `older` is certainly of the same process: without a start time, another process may
    /// have got the ID.
    sure: bool,
}

/// The processes, in the order in which they are printed.
struct List<'a> {
    object: PerfObject<'a>,
    older: Option<PerfObject<'a>>,
    columns: Vec<(&'a Column, Option<CounterPlan>, Option<CounterPlan>)>,
    processes: Vec<Process<'a>>,
}

/// What tells processes apart in two samples: ID and start.
type Key = (u64, u64);

impl<'a> List<'a> {
    fn new(
        global: &Global,
        processes: &Processes,
        object: PerfObject<'a>,
        older: Option<PerfObject<'a>>,
        chosen: &'a columns::Chosen,
    ) -> Result<Self, Failure> {
        let plans = CounterPlan::all(object);
        let older_plans = older.map(CounterPlan::all).unwrap_or_default();
        let (pid, start) = (processes.known(PID), processes.known(ELAPSED));
        let key = |plans: &[CounterPlan], block| -> Option<Key> {
            let pid = plan(plans, pid)?.value(block).ok()?;
            let start = plan(plans, start).and_then(|start| start.value(block).ok());
            Some((pid, start.unwrap_or(0)))
        };
        let mut before: HashMap<Key, CounterBlock<'a>> = HashMap::new();
        for instance in older.iter().flat_map(|object| object.instances()) {
            let block = instance.counter_block();
            // The sum of all has the ID of Idle.
            let key = key(&older_plans, block);
            if let Some(key) = key.filter(|key| !is_total(&instance, Some(key.0))) {
                before.insert(key, block);
            }
        }
        let pid_plan = plan(&plans, pid);
        let mut list = Vec::with_capacity(object.instance_count() as usize);
        for instance in object.instances() {
            let block = instance.counter_block();
            let pid = pid_plan.and_then(|pid| pid.value(block).ok());
            if is_total(&instance, pid) {
                continue;
            }
            let key = key(&plans, block);
            let older = key.and_then(|key| before.get(&key).copied());
            let sure = key.is_some_and(|(_, start)| start != 0);
            list.push(Process { instance, block, older, sure });
        }
        let mut columns = Vec::new();
        for column in &chosen.columns {
            let plan = |plans: &[CounterPlan]| {
                column.counter.and_then(|counter| plan(plans, counter)).copied()
            };
            let current = plan(&plans);
            if column.counter.is_some() && current.is_none() {
                if column.optional {
                    continue;
                }
                return Err(no_counter(global, column));
            }
            columns.push((column, current, plan(&older_plans)));
        }
        if columns.is_empty() {
            return Err(Failure::Usage("no column is left to print".to_string()));
        }
        let mut list = Self { object, older, columns, processes: list };
        if let Some(descending) = chosen.sort {
            list.sort(descending);
        }
        list.columns.retain(|(column, ..)| !column.hidden);
        Ok(list)
    }

    /// The value of a column; none for the name, and where there is none.
    fn value(&self, process: &Process<'_>, column: usize) -> Option<CookedValue> {
        let (_, plan, older_plan) = self.columns.get(column)?;
        let plan = plan.as_ref()?;
        let current = plan.sample(self.object, process.block).ok()?;
        let previous = match (process.older, older_plan, self.older) {
            (Some(block), Some(plan), Some(object)) => plan.sample(object, block).ok(),
            _ => None,
        };
        let options = CookOptions { same_instance: process.sure, ..CookOptions::default() };
        cook_with(plan.counter_type, options, previous.as_ref(), &current).ok()
    }

    /// Sorts by the last column, which was added for it or is that one.
    fn sort(&mut self, descending: bool) {
        let Some(column) = self.columns.iter().position(|(column, ..)| column.sorted) else {
            return;
        };
        let by_name = self.columns.get(column).is_some_and(|(c, ..)| c.form == Form::Name);
        let mut order: Vec<(Option<CookedValue>, String, usize)> = Vec::new();
        for (place, process) in self.processes.iter().enumerate() {
            let name = if by_name {
                process.instance.name().to_text().to_lowercase()
            } else {
                String::new()
            };
            order.push((self.value(process, column), name, place));
        }
        order.sort_by(|a, b| {
            let (x, y) = (a.0.as_ref(), b.0.as_ref());
            // What has no value stands at the end in either direction.
            match (x, y) {
                (Some(_), None) => return Ordering::Less,
                (None, Some(_)) => return Ordering::Greater,
                _ => {}
            }
            let by_value = match (x, y) {
                (Some(CookedValue::Integer(x)), Some(CookedValue::Integer(y))) => x.cmp(y),
                (Some(x), Some(y)) => x.as_f64().total_cmp(&y.as_f64()),
                _ => Ordering::Equal,
            };
            let ordering = by_value.then_with(|| a.1.cmp(&b.1));
            if descending { ordering.reverse() } else { ordering }
        });
        let mut old: Vec<Option<Process<'a>>> =
            std::mem::take(&mut self.processes).into_iter().map(Some).collect();
        let taken = order.into_iter().filter_map(|(.., place)| old.get_mut(place)?.take());
        self.processes = taken.collect();
    }

    fn table(&self) -> Table {
        let mut table = Table::default();
        for (column, ..) in &self.columns {
            let align = match column.form {
                Form::Name => Align::Left,
                Form::Bytes | Form::Value => Align::Point,
                Form::Id | Form::Elapsed => Align::Right,
            };
            table.column(&column.title, align);
        }
        for process in &self.processes {
            for (place, (column, ..)) in self.columns.iter().enumerate() {
                if column.form == Form::Name {
                    table.cell(Style::Name, |out| process.instance.name().push_to(out));
                    continue;
                }
                let Some(value) = self.value(process, place) else {
                    table.text(Style::Faint, "-");
                    continue;
                };
                table.cell(Style::Plain, |out| match column.form {
                    Form::Id => match value {
                        CookedValue::Integer(id) => {
                            let _ = write!(out, "{id}");
                        }
                        CookedValue::Float(id) => push_float(out, id, 0),
                    },
                    Form::Bytes => push_bytes(out, value.as_f64()),
                    Form::Elapsed => push_elapsed(out, value.as_f64()),
                    Form::Value | Form::Name => push_brief(out, value),
                });
            }
        }
        table
    }

    /// One row a process; `status` is `incomplete` where a value is missing.
    fn records(&self, output: &Output, time: Option<&str>, machine: &str, text: &mut String) {
        let own = self.columns.iter().map(|(column, ..)| column.key.as_str());
        let keys = own.chain(["status", "time", "machine"]);
        let mut records = output.records(keys, text);
        let mut name = String::new();
        for process in &self.processes {
            name.clear();
            process.instance.name().push_to(&mut name);
            let mut status = "ok";
            let fields: Vec<Field<'_>> =
                (self.columns.iter().enumerate().map(|(place, (column, ..))| {
                    match (column.form, self.value(process, place)) {
                        (Form::Name, _) => Field::Text(&name),
                        (_, Some(CookedValue::Integer(value))) => Field::Unsigned(value),
                        (_, Some(CookedValue::Float(value))) => Field::Float(value),
                        (_, None) => {
                            status = "incomplete";
                            Field::None
                        }
                    }
                }))
                .collect();
            let sample = [Field::Text(status), Field::text(time), Field::Text(machine)];
            records.row(text, fields.into_iter().chain(sample));
        }
        records.end(text);
    }
}
