//! `perfhive enum`: prints every raw value of one snapshot, as PERFENUM did.

use super::capture::{collect, requests};
use crate::args::{Enumerate, Global};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::session::Session;
use crate::text::escape::Escaped;
use crate::text::records::Records;
use crate::text::style::Style;
use crate::text::table::{Align, Layout, Table};
use perfhive::engine::IdentityMap;
use perfhive::format::{
    CounterBlock, CounterDefinition, CounterKind, CounterPlan, InstanceName, NumericSubtype,
    PerfObject, TextEncoding, ValueError,
};
use perfhive::{
    CookedValue, CounterPath, CounterType, Identity, InstanceLabel, InstancePattern, NamePattern,
    ObjectQuery, Snapshot, SnapshotObject, TitleIndex, is_identifier, unit_of,
};
use perfhive_view::is_hex;
use perfhive_view::label::labelled;
use perfhive_view::number::{push_cooked, push_grouped};
use perfhive_view::time::rfc3339;
use perfhive_view::{Field, LOCAL_KEYS, Names, Quantity};
use std::fmt::Write as _;

pub(super) fn run(global: &Global, args: &Enumerate) -> Outcome {
    let mut session = Session::open(global)?;
    let mut names = Names::load(&mut session.source, session.language)?;
    session.faults.add_lacks(&names);
    let requests = requests(global, &mut session, &mut names, &args.objects)?;
    let mut snapshots: Vec<Snapshot> = requests.iter().map(|_| Snapshot::new()).collect();
    collect(&mut session, &requests, &mut snapshots)?;
    session.faults.report();
    let objects = distinct(&snapshots);

    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        output.push_moment(&mut text, session.source.is_live(), session.faults.time());
        let machine = snapshots.iter().find_map(Snapshot::machine).unwrap_or_default();
        page(&mut text, &output, &names, (&machine, &objects), args.hex);
    } else {
        let keys = KEYS.into_iter().chain(output.local(LOCAL_KEYS));
        let mut records = output.records(keys, &mut text);
        for object in objects {
            push_records(&mut records, &mut text, &output, &names, object, args.hex);
        }
        records.end(&mut text);
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The objects of all snapshots, each once. If several snapshots have an object, that of the last one is taken: the
/// objects that the command line names come last, and have the counters that are collected only on request, too.
fn distinct(snapshots: &[Snapshot]) -> Vec<SnapshotObject<'_>> {
    let is_same = |a: SnapshotObject<'_>, b: SnapshotObject<'_>| {
        a.view().name_index() == b.view().name_index() && a.machine() == b.machine()
    };
    let mut objects = Vec::new();
    for (place, snapshot) in snapshots.iter().enumerate() {
        let later = snapshots.get(place + 1..).unwrap_or_default();
        let is_later = |one| later.iter().flat_map(Snapshot::objects).any(|two| is_same(one, two));
        objects.extend(snapshot.objects().filter(|object| !is_later(*object)));
    }
    objects
}

/// The query for the objects that the arguments of the command line name, or for all objects of the group `global` or
/// `costly` if the only argument is this word. If words name no object, each is reported, and the result is a failure.
pub(super) fn query(
    global: &Global,
    session: &mut Session,
    names: &mut Names,
    arguments: &[String],
) -> Result<ObjectQuery, Failure> {
    if let [word] = arguments {
        if word.eq_ignore_ascii_case("global") {
            return Ok(ObjectQuery::Global);
        }
        if word.eq_ignore_ascii_case("costly") {
            return Ok(ObjectQuery::Costly);
        }
    }
    let mut find = |name: &str| -> Vec<TitleIndex> {
        let pattern = NamePattern::with_wildcards(name);
        let found = names.objects(&mut session.source, &pattern);
        found.into_iter().map(|object| object.name).collect()
    };
    match find_objects(arguments, &mut find) {
        Ok(indexes) => Ok(ObjectQuery::Indexes(indexes)),
        Err(unknown) => {
            let failures = unknown
                .iter()
                .map(|name| super::list::no_such_object(global, session, names, name).report());
            Err(Failure::Said(failures.max().unwrap_or(Exit::Usage)))
        }
    }
}

/// The objects that the arguments name; the error has the arguments or words that name none. If an
/// argument names none, a shell may have split names at their blanks: the longest run of words, from
/// the first on, that names objects is then taken as a name, and so on behind it.
fn find_objects(
    arguments: &[String],
    find: &mut impl FnMut(&str) -> Vec<TitleIndex>,
) -> Result<Vec<TitleIndex>, Vec<String>> {
    let mut found = Vec::new();
    let mut add = |indexes: Vec<TitleIndex>| {
        for index in indexes {
            if !found.contains(&index) {
                found.push(index);
            }
        }
    };
    let whole: Vec<_> = arguments.iter().map(|argument| find(argument.trim())).collect();
    if whole.iter().all(|indexes| !indexes.is_empty()) {
        whole.into_iter().for_each(&mut add);
        return Ok(found);
    }
    // Each word, with the argument that contains it.
    let of = |argument| move |word| (word, argument);
    let words: Vec<(&str, &String)> =
        arguments.iter().flat_map(|text| text.split_whitespace().map(of(text))).collect();
    let mut unknown: Vec<String> = Vec::new();
    let mut rest = words.as_slice();
    while let Some(((_, argument), next)) = rest.split_first() {
        let longest = (1..=rest.len()).rev().find_map(|length| {
            let (name, behind) = rest.split_at(length);
            let name: Vec<&str> = name.iter().map(|(word, _)| *word).collect();
            let indexes = find(&name.join(" "));
            (!indexes.is_empty()).then_some((indexes, behind))
        });
        match longest {
            Some((indexes, behind)) => {
                add(indexes);
                rest = behind;
            }
            // The remaining words may be one mistyped name.
            None if arguments.len() == 1 => {
                let left: Vec<&str> = rest.iter().map(|(word, _)| *word).collect();
                return Err(vec![left.join(" ")]);
            }
            None => {
                if !unknown.contains(argument) {
                    unknown.push((*argument).clone());
                }
                rest = next;
            }
        }
    }
    match () {
        () if !unknown.is_empty() => Err(unknown),
        () if found.is_empty() => Err(vec![arguments.join(" ")]),
        () => Ok(found),
    }
}

/// The word for the kind of values that a counter type has, such as `rate`, `value` or `text`.
fn subtype(counter_type: CounterType) -> &'static str {
    match counter_type.kind() {
        CounterKind::Number(_) => "number",
        CounterKind::Text(_) => "text",
        CounterKind::Zero => "ZERO",
        CounterKind::Counter(subtype) => match subtype {
            NumericSubtype::Value => "value",
            NumericSubtype::Rate => "rate",
            NumericSubtype::Fraction => "fraction",
            NumericSubtype::Base => "base",
            NumericSubtype::Elapsed => "elapsed",
            NumericSubtype::QueueLength => "queuelen",
            NumericSubtype::Histogram => "histogram",
            NumericSubtype::Precision => "precision",
        },
    }
}

/// `raw` for a number from which a value is calculated, so that it is not mistaken for the value;
/// otherwise the counter's unit.
fn mark(names: &Names, object: PerfObject<'_>, counter: CounterDefinition<'_>) -> &'static str {
    let counter_type = counter.counter_type();
    if counter_type.is_base() || !counter_type.unit().is_empty() {
        return "raw";
    }
    let name = |index| names.english(index);
    unit_of(counter_type, &name(object.name_index()), &name(counter.name_index()))
}

/// The raw value of one counter.
enum Raw<'a> {
    Number(u64),
    /// A double; its bits are the raw value of a `PERF_DOUBLE_RAW`.
    Double(f64),
    Text(String),
    Bytes(&'a [u8]),
    Nothing,
    /// No value: the counter block ends before the counter, or its value is marked as absent.
    Absent,
}

impl<'a> Raw<'a> {
    fn of(
        object: PerfObject<'_>,
        (counter, plan): (CounterDefinition<'_>, &CounterPlan),
        block: Option<CounterBlock<'a>>,
        hex: bool,
    ) -> Self {
        let Some(Ok(data)) = block.map(|block| block.data(&counter)) else {
            return Self::Absent;
        };
        let number = block.map(|block| plan.value(block));
        if number == Some(Err(ValueError::Absent)) {
            return Self::Absent;
        }
        let number = number.and_then(Result::ok);
        match (counter.counter_type().kind(), number) {
            (CounterKind::Text(encoding), _) => {
                let code_page = match (encoding, object.code_page()) {
                    (TextEncoding::Unicode, _) => 0,
                    (_, 0) => 1252,
                    (_, code_page) => code_page,
                };
                Self::Text(InstanceName::new(data, code_page).to_text())
            }
            _ if data.is_empty() => Self::Nothing,
            (_, Some(bits)) if !hex && counter.counter_type() == CounterType::PERF_DOUBLE_RAW => {
                Self::of_double(f64::from_bits(bits))
            }
            (_, Some(number)) => Self::Number(number),
            (_, None) => Self::Bytes(data),
        }
    }

    /// A text log has counts as doubles, too, and blank cells as NaN.
    fn of_double(value: f64) -> Self {
        let counter_type = Some(CounterType::PERF_DOUBLE_RAW);
        let of = Quantity { counter_type, unit: "", is_identifier: false };
        match of.counted(CookedValue::Float(value)) {
            _ if value.is_nan() => Self::Absent,
            CookedValue::Integer(value) => Self::Number(value),
            CookedValue::Float(value) => Self::Double(value),
        }
    }

    /// The status of the value in rows for programs: `no-data` for an absent value, otherwise `ok`.
    const fn status(&self) -> &'static str {
        match self {
            Self::Absent => "no-data",
            _ => "ok",
        }
    }

    /// The bytes in hexadecimal behind `0x`, in their order in memory.
    fn bytes_as_text(data: &[u8]) -> String {
        let mut text = String::from("0x");
        for byte in data {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

/// The counter blocks of an object, each with the label of its instance; one block with the label
/// `None` for an object without instances.
fn blocks<'a>(
    object: SnapshotObject<'a>,
) -> Box<dyn Iterator<Item = (Option<InstanceLabel>, Option<CounterBlock<'a>>)> + 'a> {
    if object.view().has_instances() {
        Box::new(
            labelled(object).map(|(label, instance)| (Some(label), Some(instance.counter_block()))),
        )
    } else {
        Box::new(std::iter::once((None, object.view().counter_block())))
    }
}

fn page(
    out: &mut String,
    output: &Output,
    names: &Names,
    (machine, objects): (&str, &[SnapshotObject<'_>]),
    hex: bool,
) {
    let _ = writeln!(out, "Object count: {}", objects.len());
    let _ = writeln!(out, "System name: {}", Escaped(machine));
    let layout = Layout { indent: 2, ..output.layout(false) };
    for &object in objects {
        let name = names.name(object.view().name_index());
        let heading = format!("----------- {} object --------------", Escaped(&name));
        out.push('\n');
        output.palette.push(out, Style::Heading, &heading);
        out.push('\n');
        let mut any = false;
        for (label, block) in blocks(object) {
            if any {
                out.push('\n');
            }
            any = true;
            if let Some(label) = label {
                out.push_str("Instance name: ");
                let name = Escaped(&label.plain()).to_string();
                output.palette.push(out, Style::Name, &name);
                out.push('\n');
            }
            values(names, object.view(), block, hex).render(out, layout);
        }
        if !any {
            output.palette.push(out, Style::Faint, "No instances at the moment");
            out.push('\n');
        }
    }
}

/// The counters of an object, including bases, but without the counter that marks absent values.
fn counters(object: PerfObject<'_>) -> impl Iterator<Item = (CounterDefinition<'_>, CounterPlan)> {
    let all = object.counters().zip(CounterPlan::all(object));
    all.filter(|(counter, _)| counter.counter_type() != CounterType::ABSENT_VALUES)
}

/// A table of the raw values of the counters of one instance, or of an object without instances; in hexadecimal
/// with `hex`.
fn values(
    names: &Names,
    object: PerfObject<'_>,
    block: Option<CounterBlock<'_>>,
    hex: bool,
) -> Table {
    let mut table =
        Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Right), ("", Align::Left)]);
    for (counter, plan) in counters(object) {
        let counter_type = counter.counter_type();
        table.text(Style::Plain, &names.name(counter.name_index()));
        table.text(Style::Faint, subtype(counter_type));
        let raw = Raw::of(object, (counter, &plan), block, hex);
        let mut behind = mark(names, object, counter).to_string();
        match raw {
            Raw::Number(value) if hex || is_hex(counter_type) => {
                table.cell(Style::Plain, |out| {
                    let _ = write!(out, "{value:#x}");
                });
            }
            Raw::Number(value) if is_identifier(&names.english(counter.name_index())) => {
                table.text(Style::Plain, &value.to_string());
            }
            Raw::Number(value) => table.cell(Style::Plain, |out| push_grouped(out, value)),
            Raw::Double(value) => {
                table.cell(Style::Plain, |out| push_cooked(out, CookedValue::Float(value)));
            }
            Raw::Text(text) => {
                table.text(Style::Plain, "");
                behind = text;
            }
            Raw::Bytes(data) => {
                table.text(Style::Plain, "");
                behind = Raw::bytes_as_text(data);
            }
            Raw::Nothing => {
                table.text(Style::Plain, "");
                behind = "no data".to_string();
            }
            Raw::Absent => {
                table.text(Style::Faint, "-");
                behind = "not available here".to_string();
            }
        }
        table.text(Style::Faint, &behind);
    }
    table
}

const KEYS: [&str; 15] = [
    "path",
    "value",
    "unit",
    "status",
    "time",
    "machine",
    "object",
    "object_index",
    "instance",
    "counter",
    "counter_index",
    "counter_type",
    "subtype",
    "size",
    "pid",
];

fn push_records(
    records: &mut Records,
    out: &mut String,
    output: &Output,
    names: &Names,
    object: SnapshotObject<'_>,
    hex: bool,
) {
    let view = object.view();
    let object_name = names.english(view.name_index());
    let local_object = names.name(view.name_index());
    let time = rfc3339(object.frame().system_time());
    let counters: Vec<(CounterDefinition<'_>, CounterPlan)> = counters(view).collect();
    let identities = IdentityMap::of(object);
    for (place, (label, block)) in blocks(object).enumerate() {
        let pid = identities.identity(place).and_then(Identity::process_id).map(u64::from);
        let pattern = label.as_ref().map(|label| {
            InstancePattern::literal(label.parent.as_deref(), &label.name, label.order)
        });
        let instance = label.as_ref().map(|label| label.plain());
        for (counter, plan) in &counters {
            let counter_name = names.english(counter.name_index());
            let local_counter = names.name(counter.name_index());
            let path = CounterPath::new(&object_name, pattern.clone(), &counter_name).to_string();
            let counter_type = counter.counter_type();
            let type_name = counter_type.to_string();
            let raw = Raw::of(view, (*counter, plan), block, hex);
            let text = match &raw {
                Raw::Number(value) if hex => format!("{value:#x}"),
                Raw::Text(text) => text.clone(),
                Raw::Bytes(data) => Raw::bytes_as_text(data),
                _ => String::new(),
            };
            let value = match &raw {
                Raw::Number(value) if !hex => Field::Unsigned(*value),
                Raw::Double(value) => Field::Float(*value),
                Raw::Nothing | Raw::Absent => Field::None,
                _ => Field::Text(&text),
            };
            let fields = [
                Field::Text(&path),
                value,
                Field::Text(mark(names, object.view(), *counter)),
                Field::Text(raw.status()),
                Field::text(time.as_deref()),
                Field::Text(object.machine()),
                Field::Text(&object_name),
                Field::Unsigned(view.name_index().0.into()),
                Field::text(instance.as_deref()),
                Field::Text(&counter_name),
                Field::Unsigned(counter.name_index().0.into()),
                Field::Text(&type_name),
                Field::Text(subtype(counter_type)),
                Field::Unsigned(counter.size().into()),
                Field::unsigned(pid),
            ];
            let local = [Field::Text(&local_object), Field::Text(&local_counter)];
            records.row(out, fields.into_iter().chain(output.local(local)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_joined_to_the_longest_object_name() {
        let known = ["Processor", "Memory", "Network Interface", "Network", "Process", "230"];
        let find = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            find_objects(&arguments, &mut |name| {
                let place = known.iter().position(|known| known.eq_ignore_ascii_case(name));
                place.map(|place| vec![TitleIndex(place as u32)]).unwrap_or_default()
            })
        };
        let unknown = |names: &[&str]| Err(names.iter().map(ToString::to_string).collect());
        let indexes = |list: &[u32]| Ok(list.iter().copied().map(TitleIndex).collect());
        assert_eq!(find(&["processor memory"]), indexes(&[0, 1]));
        assert_eq!(find(&["processor", "memory"]), indexes(&[0, 1]));
        assert_eq!(find(&["network", "interface"]), indexes(&[2]));
        assert_eq!(find(&["memory", "interface"]), unknown(&["interface"]));
        assert_eq!(find(&["memry", "prcess", "memory"]), unknown(&["memry", "prcess"]));
        assert_eq!(find(&["memory", "network intrface"]), unknown(&["network intrface"]));
        assert_eq!(find(&["memory", "network interface"]), indexes(&[1, 2]));
        assert_eq!(find(&["memory network interface 230"]), indexes(&[1, 2, 5]));
        assert_eq!(find(&["memory", "memory"]), indexes(&[1]));
        assert_eq!(find(&["memory nonsense here"]), unknown(&["nonsense here"]));
        assert_eq!(find(&[" "]), unknown(&[" "]));
    }
}
