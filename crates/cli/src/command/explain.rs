//! `perfhive explain`: prints what a counter means and how it is calculated.

use crate::absent;
use crate::args::{Explain, Global};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::paths::{corrected_failure, more_than_an_object, without_separators};
use crate::session::Session;
use crate::text::escape::{Escaped, shell_word};
use crate::text::style::Style;
use crate::text::wrap::push_wrapped;
use perfhive::{
    CatalogueCounter, CatalogueObject, CookError, CounterPath, CounterType, NamePattern,
    QueryError, Source as _, TitleIndex,
};
use perfhive_view::{Field, LOCAL_KEYS, Names};
use std::fmt::Write as _;

/// The object Process, which has two readers on Linux (/proc and BPF) and two on Windows (the
/// registry and native functions).
const PROCESS: TitleIndex = TitleIndex(230);
/// The object Thread, which has the same readers as Process.
const THREAD: TitleIndex = TitleIndex(232);

/// An object that is explained, or one of its counters.
struct Topic {
    object: CatalogueObject,
    counter: Option<CatalogueCounter>,
    /// The instance as the path has it; `None` if the path names none.
    instance: Option<String>,
}

pub(super) fn run(global: &Global, args: &Explain) -> Outcome {
    let mut session = Session::open(global)?;
    let mut names = Names::load(&mut session.source, session.language)?;
    let mut topics = Vec::new();
    let mut worst = None;
    for path in &args.paths {
        match find(&mut session, &mut names, global, path) {
            Ok(found) => topics.extend(found),
            Err(failure) => worst = worst.max(Some(failure.report())),
        }
    }
    if let Some(exit) = worst {
        return Err(Failure::Said(exit));
    }
    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        for (place, topic) in topics.iter().enumerate() {
            if place > 0 {
                text.push('\n');
            }
            page(&mut text, global, &output, &names, session.source.name(), topic);
        }
    } else {
        records(&mut text, global, &output, &names, &topics);
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The objects and counters that a text names: a path, with or without its instance, an
/// object, or a counter.
fn find(
    session: &mut Session,
    names: &mut Names,
    global: &Global,
    text: &str,
) -> Result<Vec<Topic>, Failure> {
    let (object, instance, counter) = match text.parse::<CounterPath>() {
        Ok(path) => {
            let instance = path.instance.as_ref().map(ToString::to_string);
            (path.object, instance, Some(path.counter))
        }
        // A text that is not a path may be the name of an object or counter.
        Err(error) => {
            let name = text.trim_matches('\\');
            if name.is_empty() || name.contains(['\\', '(']) {
                let typed = perfhive_view::typed_path(text);
                if typed != text {
                    return find(session, names, global, &typed);
                }
                let all = NamePattern::with_wildcards("*");
                if cfg!(not(windows)) && !name.contains('\\') && !name.is_empty() {
                    names.find_out(&mut session.source, &all);
                    if let Some(path) = without_separators(names.titles(), &names.catalogue, text) {
                        return find(session, names, global, &path);
                    }
                }
                let more = more_than_an_object(session, names, text);
                return Err(more.unwrap_or_else(|| QueryError::Path(error).into()));
            }
            let pattern = NamePattern::with_wildcards(name);
            if names.objects(&mut session.source, &pattern).is_empty() {
                // The text may be a path as people type it. A counter's name may have a slash, too.
                let typed = perfhive_view::typed_path(text);
                if typed != text && counters_of_name(names, &pattern).is_empty() {
                    return find(session, names, global, &typed);
                }
                // A provider that was not asked yet may have a counter of this name.
                let is_none = |name: &str| names.titles().meant_by(name).is_empty();
                if !pattern.as_literal().is_some_and(is_none) {
                    names.find_out(&mut session.source, &NamePattern::with_wildcards("*"));
                }
                let found = counters_of_name(names, &pattern);
                if !found.is_empty() {
                    return Ok(found);
                }
                return match without_separators(names.titles(), &names.catalogue, text) {
                    Some(path) => find(session, names, global, &path),
                    None => Err(super::list::no_such_object(global, session, names, name)),
                };
            }
            (pattern, None, None)
        }
    };
    let objects = names.objects(&mut session.source, &object);
    let Some(first) = objects.first() else {
        let path = perfhive_view::typed_path(text);
        if let Some(failure) = counter.and_then(|_| corrected_failure(global, &path)) {
            return Err(failure);
        }
        return Err(super::list::no_such_object(global, session, names, &object.to_string()));
    };
    let Some(counter) = counter else {
        let topic = |object| Topic { object, counter: None, instance: None };
        return Ok(objects.into_iter().map(topic).collect());
    };
    let mut topics = Vec::new();
    for object in &objects {
        let found = object.counters.iter().filter(|c| names.is_meant(&counter, c.name));
        topics.extend(found.map(|counter| Topic {
            object: object.clone(),
            counter: Some(*counter),
            instance: instance.clone(),
        }));
    }
    if topics.is_empty() {
        let name = counter.to_string();
        let reason = absent::reason(global, &names.english(first.name), &name);
        let path = perfhive_view::typed_path(text);
        let corrected = || corrected_failure(global, &path);
        return Err(reason
            .map(Failure::Usage)
            .or_else(corrected)
            .unwrap_or_else(|| names.no_such_counter(first, &name).into()));
    }
    Ok(topics)
}

/// The counters with a matching name, from all known objects.
fn counters_of_name(names: &Names, pattern: &NamePattern) -> Vec<Topic> {
    let mut topics = Vec::new();
    for object in &names.catalogue.objects {
        let named = |counter: &&CatalogueCounter| {
            names.titles().names(counter.name).any(|name| pattern.matches(name))
        };
        topics.extend(object.counters.iter().filter(named).map(|counter| Topic {
            object: object.clone(),
            counter: Some(*counter),
            instance: None,
        }));
    }
    topics
}

/// The users for whom a detail level is meant, in words.
fn audience(level: u32) -> &'static str {
    match level {
        0..=100 => "everyone",
        101..=200 => "advanced users",
        201..=300 => "experts",
        _ => "system designers",
    }
}

/// How many samples a value of this counter type takes, in words.
fn kind(counter_type: CounterType) -> &'static str {
    match (counter_type.samples(), perfhive::format::Formula::of(counter_type)) {
        (1, _) => "one",
        (2, _) => "two: a value is about the time between them",
        (_, Err(CookError::IsText)) => "one, of text",
        (_, Err(CookError::NoData)) => "none: a label without data",
        _ => "no formula is known; `perfhive enum` shows the raw value",
    }
}

/// The meaning of the letters that a formula uses; empty if it uses none of them.
fn legend(formula: &str) -> String {
    let letters =
        [('N', "N raw value"), ('B', "B base"), ('D', "D clock"), ('F', "F its ticks a second")];
    let used = letters.iter().filter(|(letter, _)| formula.contains(*letter));
    let mut legend = used.map(|(_, text)| *text).collect::<Vec<_>>().join(", ");
    if formula.contains('0') && formula.contains("N0") {
        legend.push_str("; 0 the older sample, 1 the newer");
    }
    legend
}

fn page(
    text: &mut String,
    global: &Global,
    output: &Output,
    names: &Names,
    source: &str,
    topic: &Topic,
) {
    let palette = output.palette;
    let columns = output.reading_width();
    let object = &topic.object;
    let object_name = names.name(object.name);
    let mut title = format!("\\{object_name}");
    if let Some(instance) = &topic.instance {
        let _ = write!(title, "({instance})");
    } else if topic.counter.is_some() && object.has_instances {
        title.push_str("(*)");
    }
    if let Some(counter) = &topic.counter {
        let _ = write!(title, "\\{}", names.name(counter.name));
    }
    palette.push(text, Style::Heading, &Escaped(&title).to_string());
    text.push_str("\n\n");

    let help = topic.counter.map_or(object.help, |counter| counter.help);
    match names.titles().help(help) {
        Some(help) => push_wrapped(text, help, "  ", columns),
        None => {
            palette.push(text, Style::Faint, "  The source has no help text for it.");
            text.push('\n');
        }
    }
    text.push('\n');

    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(counter) = &topic.counter {
        let counter_type = counter.counter_type;
        let mut type_text = format!("{counter_type}");
        if let Some(info) = counter_type.info() {
            let _ = write!(type_text, " ({:#010x})", counter_type.0);
            if let Some(dotnet) = info.dotnet {
                let _ = write!(type_text, ", {dotnet} in .NET");
            }
            facts.push(("Type", type_text));
            facts.push(("", info.meaning.to_string()));
            if !info.formula.is_empty() {
                if info.formula == "N" {
                    facts.push(("Formula", "N, the raw value as it is".to_string()));
                } else {
                    facts.push(("Formula", info.formula.to_string()));
                    facts.push(("", legend(info.formula)));
                }
            }
        } else {
            facts.push(("Type", type_text));
        }
        let unit = match names.unit(object.name, counter) {
            "" => "none, a plain number",
            unit => unit,
        };
        facts.push(("Unit", unit.to_string()));
        facts.push(("Samples", kind(counter_type).to_string()));
        let scale = match counter.scale {
            0 => "as it is".to_string(),
            power => format!("times 10^{power} in a chart"),
        };
        facts.push(("Scale", scale));
        facts.push(("For", audience(counter.detail.0).to_string()));
        if let Some(source) = absent::made_from(global, object.name, counter.name) {
            facts.push(("Made from", source));
        }
        if counter.on_request {
            facts.push(("Collected", "on request, because it costs extra".to_string()));
        }
        facts.push((
            "Indexes",
            format!("object {}, counter {}, help text {}", object.name, counter.name, counter.help),
        ));
    } else {
        let instances = if object.has_instances { "yes" } else { "no" };
        facts.push(("Counters", object.counters.len().to_string()));
        facts.push(("Instances", instances.to_string()));
        facts.push(("Cost", super::list::cost(object.cost).to_string()));
        facts.push(("For", audience(object.detail.0).to_string()));
        facts.push(("Indexes", format!("object {}, help text {}", object.name, object.help)));
    }
    let machine = &names.catalogue.machine;
    let on = if machine.is_empty() { String::new() } else { format!(", machine {machine}") };
    facts.push(("Where", format!("{source}{on}")));
    if [PROCESS, THREAD].contains(&object.name)
        && let Some(reader) = Session::options(global).reader_of_processes(source)
    {
        facts.push(("", reader));
    }
    for (label, fact) in facts {
        text.push_str("  ");
        palette.push(text, Style::Faint, &format!("{label:<11}"));
        let _ = writeln!(text, "{}", Escaped(&fact));
    }
    if topic.counter.is_none() {
        let _ =
            write!(text, "\n  `perfhive list {}` lists its counters.\n", shell_word(&object_name));
    }
}

fn records(text: &mut String, global: &Global, output: &Output, names: &Names, topics: &[Topic]) {
    let keys = [
        "object",
        "object_index",
        "counter",
        "counter_index",
        "help",
        "help_index",
        "type",
        "type_code",
        "dotnet_type",
        "meaning",
        "formula",
        "unit",
        "samples",
        "scale",
        "detail",
        "on_request",
        "made_from",
        "instances",
        "cost",
        "machine",
        "path",
    ];
    let local = output.local(LOCAL_KEYS);
    let mut records = output.records(keys.into_iter().chain(local), text);
    for topic in topics {
        let object = &topic.object;
        let counter = topic.counter.as_ref();
        let object_name = names.english(object.name);
        let counter_name = counter.map(|counter| names.english(counter.name));
        let local_object = names.name(object.name);
        let path = counter_name
            .as_ref()
            .map(|counter| super::list::path_of(&object_name, object.has_instances, counter));
        let local_counter = counter.map(|counter| names.name(counter.name));
        let counter_type = counter.map(|counter| counter.counter_type);
        let type_name = counter_type.map(|counter_type| counter_type.to_string());
        let type_code = counter_type.map(|counter_type| format!("{:#010x}", counter_type.0));
        let info = counter_type.and_then(CounterType::info);
        let help = counter.map_or(object.help, |counter| counter.help);
        let formula = info.map(|info| info.formula).filter(|formula| !formula.is_empty());
        let samples = counter_type.map(|counter_type| u64::from(counter_type.samples()));
        let detail = counter.map_or(object.detail, |counter| counter.detail);
        let made_from = counter.and_then(|one| absent::made_from(global, object.name, one.name));
        let fields = [
            Field::Text(&object_name),
            Field::Unsigned(object.name.0.into()),
            Field::text(counter_name.as_deref()),
            Field::unsigned(counter.map(|counter| counter.name.0.into())),
            Field::text(names.titles().help(help)),
            Field::Unsigned(help.0.into()),
            Field::text(type_name.as_deref()),
            Field::text(type_code.as_deref()),
            Field::text(info.and_then(|info| info.dotnet)),
            Field::text(info.map(|info| info.meaning)),
            Field::text(formula),
            Field::text(counter.map(|one| names.unit(object.name, one))),
            Field::unsigned(samples),
            counter.map_or(Field::None, |counter| Field::Signed(counter.scale.into())),
            Field::Unsigned(detail.0.into()),
            counter.map_or(Field::None, |counter| Field::Bool(counter.on_request)),
            Field::text(made_from.as_deref()),
            Field::Bool(object.has_instances),
            Field::Text(super::list::cost(object.cost)),
            Field::Text(&names.catalogue.machine),
            Field::text(path.as_deref()),
        ];
        let local = [Field::Text(&local_object), Field::text(local_counter.as_deref())];
        records.row(text, fields.into_iter().chain(output.local(local)));
    }
    records.end(text);
}
