//! `perfhive ps`: lists processes, one a line.
//!
//! For each list the command makes one collection of one object, for rates one more before the first list,
//! and writes once. It loads no names unless a column is given by name.

mod columns;
mod people;

use super::watch::following;
use crate::args::{Global, Ps};
use crate::failure::{Exit, Failure, Outcome, complain, of_source};
use crate::output::Output;
use crate::process::alias::Form;
use crate::process::{ELAPSED, PID, Processes, is_total, plan, whole};
use crate::replay::Replay;
use crate::session::Session;
use crate::text::escape::clip;
use crate::text::records::Records;
use crate::text::style::Style;
use crate::text::table::{Align, Layout, Table};
use columns::Column;
use perfhive::format::{CounterBlock, CounterPlan, CounterType, PerfObject, cook_with};
use perfhive::{
    CookOptions, CookedValue, NamePattern, Snapshot, TitleIndex, is_identifier, unit_of,
};
use perfhive_view::number::push_elapsed;
use perfhive_view::time::rfc3339;
use perfhive_view::{Detail, Field, Quantity, unit_for_people};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::time::Instant;

pub(super) fn run(global: &Global, args: &Ps) -> Outcome {
    let by_name = columns::needs_names(args);
    let mut session = if by_name { Session::open(global)? } else { Session::open_unnamed(global)? };
    let mut processes = Processes::find(&mut session, global)?;
    let chosen = columns::choose(&mut processes, &mut session, global, args)?;
    let extra: Vec<TitleIndex> = chosen.columns.iter().filter_map(|c| c.counter).collect();

    let output = Output::new(global);
    let filter = Filter::of(args);
    let start = Instant::now();
    let mut older = None;
    let mut newer = Snapshot::new();
    processes.collect(&mut session, &extra, &mut newer)?;
    let first = processes.of(&newer, global)?.view();
    let plans = CounterPlan::all(first);
    let shown = || chosen.columns.iter().filter_map(|column| plan(&plans, column.counter?));
    let needs_two = shown().any(|plan| plan.counter_type.samples() == 2);
    let is_live = session.source.is_live();
    // Rates are blank in the first line of a text log.
    let is_blank = |plan: &CounterPlan, block| {
        let value = plan.value(block).map(f64::from_bits);
        plan.counter_type == CounterType::PERF_DOUBLE_RAW && !value.is_ok_and(f64::is_finite)
    };
    let lacks_values = !is_live
        && first.instances().any(|one| shown().any(|plan| is_blank(plan, one.counter_block())));
    let mut replay = Replay::of(global, args.speed, is_live)?;
    let mut exit = Exit::Done;
    let mut next = start;
    let mut records = None;
    let mut lacking = Vec::new();
    for number in 0..args.count {
        if number > 0 || needs_two || lacks_values {
            next = following(next, args.interval, Instant::now());
            if is_live {
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            let mut snapshot = Snapshot::new();
            match processes.collect(&mut session, &extra, &mut snapshot) {
                Ok(()) => older = Some(std::mem::replace(&mut newer, snapshot)),
                Err(error) if error.is_end_of_data() && number > 0 => break,
                // The recording has one sample: all columns but the rates have values.
                Err(error) if error.is_end_of_data() => {
                    if needs_two {
                        complain(&format!("{error}, and some of these columns need two"));
                        exit = Exit::NoValue;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        let time = session.faults.time().and_then(|time| time.to_file_time());
        if let Some((replay, time)) = replay.as_mut().zip(time) {
            let due = replay.due(time, Instant::now());
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        session.faults.report();
        let before = match &older {
            Some(snapshot) => Some(processes.of(snapshot, global)?.view()),
            None => None,
        };
        let object = processes.of(&newer, global)?;
        let mut list = List::new(global, &processes, object.view(), before, &chosen, &filter)?;
        list.processes.truncate(args.top.unwrap_or(usize::MAX));
        lacking = std::mem::take(&mut list.lacking);
        let mut text = String::new();
        if output.is_table() {
            if number > 0 {
                text.push('\n');
            }
            output.push_moment(&mut text, is_live, session.faults.time());
            let layout = Layout { titles: true, ..output.layout_of_labels() };
            list.end_with_idle();
            let detail = output.detail(Detail::Brief);
            let mut table = list.table(detail);
            // The name is what people look for: in a narrow window other columns are left out.
            let mut left_out = Vec::new();
            while !table.fits(layout) {
                let Some(title) = list.leave_one_out(args.columns.is_empty()) else { break };
                left_out.push(title);
                table = list.table(detail);
            }
            table.render(&mut text, layout);
            if !left_out.is_empty() {
                let line = format!("… without {}", left_out.join(", "));
                let shown = clip(&line, layout.width).0;
                output.palette.push(&mut text, Style::Faint, shown);
                text.push('\n');
            }
        } else {
            let (time, machine) = (rfc3339(object.frame().system_time()), object.machine());
            let records = records.get_or_insert_with(|| list.begin(&output, args, &mut text));
            let scales = output.scales();
            list.records(records, (time.as_deref(), machine), scales, &mut text);
        }
        output.write(&text)?;
    }
    for what in lacking {
        complain(&format!("no process {what}; perfhive ps lists all"));
        exit = Exit::NoValue;
    }
    if let Some(records) = records {
        let mut text = String::new();
        records.end(&mut text);
        output.write(&text)?;
    }
    Ok(exit)
}

/// The usual columns that a narrow window leaves out, in this order.
const LEFT_OUT: [&str; 4] = ["owner", "elapsed", "threads", "ws"];

/// The choice of the processes that are listed.
struct Filter {
    /// The names and IDs that the command line has; without any, all processes are listed.
    wanted: Vec<Wanted>,
    no_idle: bool,
}

/// A name or an ID of processes on the command line.
#[derive(Clone)]
enum Wanted {
    /// A name, as it was written and as a pattern.
    Name(String, NamePattern),
    Id(u64),
}

impl Filter {
    fn of(args: &Ps) -> Self {
        let name = |text: &String| Wanted::Name(text.clone(), NamePattern::with_wildcards(text));
        let ids = args.pid.iter().map(|id| Wanted::Id(*id));
        let wanted = args.names.iter().map(name).chain(ids).collect();
        Self { wanted, no_idle: args.no_idle || args.top.is_some() }
    }

    /// The same, in which a name that no process has as it was written stands without its `.exe`.
    fn met(&self, object: PerfObject<'_>) -> Self {
        let has = |wanted: &Wanted| {
            object.instances().any(|instance| wanted.is(&instance.name().to_text(), None))
        };
        let meant = |wanted: &Wanted| {
            wanted.without_exe().filter(|_| !has(wanted)).unwrap_or_else(|| wanted.clone())
        };
        Self { wanted: self.wanted.iter().map(meant).collect(), no_idle: self.no_idle }
    }

    /// Whether a process with this name and ID is listed. If the command line has names or IDs, the process has one of
    /// them. Idle is not listed if `no_idle` is true.
    fn takes(&self, name: &str, pid: Option<u64>) -> bool {
        let is_chosen =
            self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted.is(name, pid));
        is_chosen && !(self.no_idle && is_idle(name, pid))
    }
}

impl Wanted {
    /// Whether this name or ID is that of a process with the name `name` and the ID `pid`. An unknown ID (`None`)
    /// equals none.
    fn is(&self, name: &str, pid: Option<u64>) -> bool {
        match self {
            Self::Name(_, pattern) => pattern.matches(name),
            Self::Id(id) => pid == Some(*id),
        }
    }

    /// The same without `.exe` at the end: the name of an instance on Windows has none. `None` for names without
    /// this end, for `*.exe`, and for IDs.
    fn without_exe(&self) -> Option<Self> {
        let Self::Name(name, _) = self else { return None };
        let (bare, end) = name.split_at_checked(name.len().checked_sub(4)?)?;
        // `*.exe` does not mean all processes.
        let is_exe = end.eq_ignore_ascii_case(".exe") && bare.contains(|c| c != '*');
        is_exe.then(|| Self::Name(name.clone(), NamePattern::with_wildcards(bare)))
    }

    /// The words that describe a process with this name or ID, to stand behind "a process": `has the ID 7`.
    fn to_text(&self) -> String {
        match self {
            Self::Name(name, _) => format!("is called {name:?}"),
            Self::Id(id) => format!("has the ID {id}"),
        }
    }
}

/// Whether a process is Idle: it has this name, and the ID 0 or none.
fn is_idle(name: &str, pid: Option<u64>) -> bool {
    pid.unwrap_or(0) == 0 && name == "Idle"
}

/// The failure for a column with a counter that the source lacks.
fn no_counter(global: &Global, column: &Column) -> Failure {
    let reason = crate::absent::reason(global, "Process", &column.english);
    Failure::Usage(reason.unwrap_or_else(|| {
        let what = format_args!("Process has no counter {:?} in this sample", column.english);
        of_source(&global.source, what)
    }))
}

/// A process in the newest sample.
struct Process<'a> {
    name: String,
    pid: Option<u64>,
    block: CounterBlock<'a>,
    /// The counter block of the same process in the older sample; `None` if the process was not there.
    older: Option<CounterBlock<'a>>,
    /// Whether `older` is certainly of the same process. Without a start time, an earlier process may
    /// have had the same ID.
    sure: bool,
}

/// The processes in the order in which they are printed, and the columns.
struct List<'a> {
    object: PerfObject<'a>,
    older: Option<PerfObject<'a>>,
    columns: Vec<(&'a Column, Option<CounterPlan>, Option<CounterPlan>)>,
    processes: Vec<Process<'a>>,
    /// A description, such as `has the ID 7`, for each name and ID on the command line that no process has.
    lacking: Vec<String>,
}

/// The identity of a process in two samples: its ID, and its start time or 0 if that is unknown.
type Key = (u64, u64);

impl<'a> List<'a> {
    fn new(
        global: &Global,
        processes: &Processes,
        object: PerfObject<'a>,
        older: Option<PerfObject<'a>>,
        chosen: &'a columns::Chosen,
        filter: &Filter,
    ) -> Result<Self, Failure> {
        let filter = &filter.met(object);
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
            // `_Total` has the ID of Idle, and is left out.
            let key = key(&older_plans, block);
            if let Some(key) = key.filter(|key| !is_total(&instance, Some(key.0))) {
                before.insert(key, block);
            }
        }
        let pid_plan = plan(&plans, pid);
        let mut list = Vec::with_capacity(object.instance_count() as usize);
        let mut lacking: Vec<&Wanted> = filter.wanted.iter().collect();
        for instance in object.instances() {
            let block = instance.counter_block();
            let pid = pid_plan.and_then(|pid| whole(pid, &instance));
            let name = instance.name().to_text();
            if is_total(&instance, pid) {
                continue;
            }
            lacking.retain(|wanted| !wanted.is(&name, pid));
            if !filter.takes(&name, pid) {
                continue;
            }
            let key = key(&plans, block);
            let older = key.and_then(|key| before.get(&key).copied());
            let sure = key.is_some_and(|(_, start)| start != 0);
            list.push(Process { name, pid, block, older, sure });
        }
        let mut columns = Vec::new();
        let has_people = people::are_known(global);
        for column in &chosen.columns {
            let plan = |plans: &[CounterPlan]| {
                column.counter.and_then(|counter| plan(plans, counter)).copied()
            };
            let current = plan(&plans);
            if !has_people && matches!(column.form, Form::Owner | Form::Command) {
                if column.optional {
                    continue;
                }
                let what = format_args!("has no {}; only this machine has it", column.key);
                return Err(Failure::Usage(of_source(&global.source, what)));
            }
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
        let lacking = lacking.into_iter().map(Wanted::to_text).collect();
        let mut list = Self { object, older, columns, processes: list, lacking };
        if let Some(descending) = chosen.sort {
            list.sort(descending);
        }
        list.columns.retain(|(column, ..)| !column.hidden);
        Ok(list)
    }

    /// Removes the least important column and returns its title: the next of [`LEFT_OUT`] if `is_usual`,
    /// otherwise the last of the chosen columns. `None` if all remaining columns are needed.
    fn leave_one_out(&mut self, is_usual: bool) -> Option<String> {
        let of_key = |key: &&str| self.columns.iter().position(|(column, ..)| column.key == *key);
        let place = match is_usual {
            true => LEFT_OUT.iter().find_map(of_key)?,
            false => self.columns.len().checked_sub(1).filter(|last| *last > 0)?,
        };
        Some(self.columns.remove(place).0.title.clone())
    }

    /// Puts Idle last, since people seldom look for it.
    fn end_with_idle(&mut self) {
        self.processes.sort_by_key(|process| is_idle(&process.name, process.pid));
    }

    /// The value of a process in a column; `None` for a column without a counter, and for a missing
    /// value.
    fn value(&self, process: &Process<'_>, column: usize) -> Option<CookedValue> {
        let (shown, plan, older_plan) = self.columns.get(column)?;
        let plan = plan.as_ref()?;
        // Text logs have doubles.
        if shown.form == Form::Id
            && let Some(id) = process.pid
        {
            return Some(CookedValue::Integer(id));
        }
        let current = plan.sample(self.object, process.block).ok()?;
        let previous = match (process.older, older_plan, self.older) {
            (Some(block), Some(plan), Some(object)) => plan.sample(object, block).ok(),
            _ => None,
        };
        let options = CookOptions::default().with_same_instance(process.sure);
        let value = cook_with(plan.counter_type, options, previous.as_ref(), &current).ok()?;
        Some(quantity(shown, plan).counted(value))
    }

    /// Sorts the processes by the column that is marked as sorted. Processes without a value come
    /// last in both directions.
    fn sort(&mut self, descending: bool) {
        let Some(column) = self.columns.iter().position(|(column, ..)| column.sorted) else {
            return;
        };
        let by_name = self.columns.get(column).is_some_and(|(c, ..)| c.form == Form::Name);
        let mut order: Vec<(Option<CookedValue>, String, usize)> = Vec::new();
        for (place, process) in self.processes.iter().enumerate() {
            let name = if by_name { process.name.to_lowercase() } else { String::new() };
            order.push((self.value(process, column), name, place));
        }
        order.sort_by(|a, b| {
            let (x, y) = (a.0.as_ref(), b.0.as_ref());
            // Processes without a value come last in either direction.
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

    fn table(&self, detail: Detail) -> Table {
        let mut table = Table::default();
        for (place, (column, plan, _)) in self.columns.iter().enumerate() {
            let is_last = place + 1 == self.columns.len();
            let align = match column.form {
                Form::Name | Form::Owner | Form::Command if is_last => Align::Left,
                Form::Name | Form::Owner | Form::Command => Align::Label,
                Form::Value => Align::Point,
                Form::Id | Form::Elapsed => Align::Right,
            };
            // The unit is in the title, except where each value has a unit of its own.
            let unit = plan.as_ref().map_or("", |plan| unit(column, plan));
            let title = match (column.form, unit) {
                (Form::Value, "%" | "1/s" | "s") if !column.title.starts_with('%') => {
                    format!("{} {}", column.title, unit_for_people(unit))
                }
                (Form::Elapsed, _) if detail == Detail::Raw => format!("{} s", column.title),
                _ => column.title.clone(),
            };
            table.column(&title, align);
        }
        for process in &self.processes {
            for (place, (column, plan, _)) in self.columns.iter().enumerate() {
                if let Some(text) = process.text(column.form) {
                    table.text(Style::Name, &text);
                    continue;
                }
                let Some((value, plan)) = self.value(process, place).zip(plan.as_ref()) else {
                    table.text(Style::Faint, "-");
                    continue;
                };
                let quantity = quantity(column, plan);
                if column.form == Form::Elapsed && detail != Detail::Raw {
                    table.cell(Style::Plain, |out| push_elapsed(out, value.as_f64()));
                    continue;
                }
                let shown = quantity.shown(value, detail);
                table.cell(Style::Plain, |out| {
                    out.push_str(&shown.number);
                    if !matches!(shown.unit.as_str(), "" | "%" | "/s" | "s") {
                        out.push(' ');
                        out.push_str(&shown.unit);
                    }
                });
            }
        }
        table
    }

    /// Begins the rows for programs: an array for one list, or a stream of lines for several.
    fn begin(&self, output: &Output, args: &Ps, text: &mut String) -> Records {
        let own = self.columns.iter().map(|(column, ..)| column.key.as_str());
        let keys = own.chain(["status", "time", "machine"]);
        match args.count {
            1 => output.records(keys, text),
            _ => output.stream(keys, text),
        }
    }

    /// Adds a row for each process; `status` is `incomplete` where a value is missing.
    /// With `scales`, scaled values are texts with their units.
    fn records(
        &self,
        records: &mut Records,
        (time, machine): (Option<&str>, &str),
        scales: bool,
        text: &mut String,
    ) {
        for process in &self.processes {
            let mut status = "ok";
            let scaled = |place: usize| {
                let (column, plan, _) = self.columns.get(place).filter(|_| scales)?;
                let (value, plan) = (self.value(process, place)?, plan.as_ref()?);
                let of = quantity(column, plan);
                of.scaled(value)?;
                let shown = of.shown(value, Detail::Full);
                Some(format!("{} {}", shown.number, shown.unit))
            };
            let columns = self.columns.iter().enumerate();
            let words: Vec<Option<String>> = columns
                .map(|(place, (column, ..))| process.text(column.form).or_else(|| scaled(place)))
                .collect();
            let cells = self.columns.iter().zip(&words).enumerate();
            let fields: Vec<Field<'_>> = cells
                .map(|(place, ((column, ..), word))| match (word, self.value(process, place)) {
                    (Some(word), _) => Field::Text(word),
                    (None, Some(CookedValue::Integer(value))) => Field::Unsigned(value),
                    (None, Some(CookedValue::Float(value))) => Field::Float(value),
                    (None, None) => {
                        if column.counter.is_some() {
                            status = "incomplete";
                        }
                        Field::None
                    }
                })
                .collect();
            let sample = [Field::Text(status), Field::text(time), Field::Text(machine)];
            records.row(text, fields.into_iter().chain(sample));
        }
    }
}

impl Process<'_> {
    /// The text of a column that has no counter; `None` for other columns, and where the text is unknown.
    fn text(&self, form: Form) -> Option<String> {
        match form {
            Form::Name => Some(self.name.clone()),
            Form::Owner => people::owner(self.pid?),
            Form::Command => people::command(self.pid?),
            Form::Id | Form::Elapsed | Form::Value => None,
        }
    }
}

fn quantity(column: &Column, plan: &CounterPlan) -> Quantity<'static> {
    Quantity {
        counter_type: Some(plan.counter_type),
        unit: unit(column, plan),
        is_identifier: column.form == Form::Id || is_identifier(&column.english),
    }
}

fn unit(column: &Column, plan: &CounterPlan) -> &'static str {
    unit_of(plan.counter_type, "Process", &column.english)
}
