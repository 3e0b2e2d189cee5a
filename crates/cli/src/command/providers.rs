//! `perfhive providers`: how the providers are doing.

use crate::args::{Global, Providers};
use crate::failure::{Exit, Failure, Outcome, warn};
use crate::output::Output;
use crate::session::Session;
use crate::text::records::Field;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::{
    FaultKind, NamePattern, ObjectQuery, OpenOptions, ProviderState, ProviderStatus, Request,
    Snapshot, Source, SourceAddress, SourceError, TitleIndex, Wanted,
};
use std::time::Duration;

/// How long a provider is waited for that was just enabled: longer than its
/// functions may take if nothing is registered.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many names a provider is taken to have at most.
const MOST_NAMES: u32 = 4096;

pub(super) fn run(global: &Global, args: &Providers) -> Outcome {
    if let (Some(name), Ok(SourceAddress::Registry(host))) = (&args.enable, global.source.parse()) {
        return Err(Failure::Usage(format!(
            "providers of {host} are enabled there: `lodctr /E:{name}`, run as administrator"
        )));
    }
    let mut session = Session::open_unnamed(global)?;
    if let Some(name) = &args.enable {
        let known = session.source.providers()?;
        let found = known.iter().find(|one| one.name.eq_ignore_ascii_case(name));
        let found = found.ok_or_else(|| no_such_provider(name))?;
        enable(&found.name)?;
        ask_slow_one(global, found)?;
        // Another look, at what is known now.
        session = Session::open_unnamed(global)?;
    }
    let only = args.name.as_ref().or(args.enable.as_ref());
    let only = only.and_then(|name| names_of(&mut session.source, name));
    let collected = (0..args.count).try_for_each(|_| match &only {
        Some(names) => collect_some(&mut session.source, names),
        None => collect_everything(&mut session.source),
    });
    let mut providers = session.source.providers()?;
    if providers.is_empty() {
        collected?;
        let source = &global.source;
        return Err(Failure::Usage(format!(
            "{source} is not made of providers; --source local: is this machine"
        )));
    }
    // What went wrong with one of them is in the table.
    let of_one = |fault: &str| {
        let is_about = |one: &ProviderStatus| {
            fault.strip_prefix(&*one.name).is_some_and(|rest| rest.starts_with([':', ',']))
        };
        providers.iter().any(is_about)
    };
    let mut others = session.faults.take();
    others.retain(|fault| !of_one(fault));
    if let Some(name) = args.name.as_ref().or(args.enable.as_ref()) {
        let pattern = match args.enable {
            Some(_) => NamePattern::literal(name),
            None => NamePattern::with_wildcards(name),
        };
        providers.retain(|provider| pattern.matches(&provider.name));
        if providers.is_empty() {
            return Err(no_such_provider(name));
        }
    }
    if let (Err(error), false) = (collected, global.quiet) {
        // Where nobody answers it is worth knowing who is registered.
        warn(&error.to_string());
    }
    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        table(&providers, &output, &mut text);
    } else {
        rows(&providers, &output, &mut text);
    }
    others.iter().for_each(|fault| warn(fault));
    output.write(&text)?;
    Ok(Exit::Done)
}

/// Has a provider say what it offers, however slow it is: who enables one wants to
/// know, and what it says is known to everybody then.
fn ask_slow_one(global: &Global, provider: &ProviderStatus) -> Result<(), Failure> {
    let options = OpenOptions::new().patience(PATIENCE);
    let first = provider.names.as_ref().map(|names| TitleIndex(*names.start()));
    let wanted: Vec<TitleIndex> = first.into_iter().collect();
    let mut session = Session::open_with(global, options)?;
    session.source.catalogue_for(Wanted::Objects(&wanted))?;
    Ok(())
}

fn no_such_provider(name: &str) -> Failure {
    Failure::Missing(format!("there is no provider {name:?}; perfhive providers lists all"))
}

/// What one provider may have, where that is known: nobody else needs to be asked. On
/// Windows that is so of all, and what one costs nobody tells; elsewhere its account needs
/// collections.
fn names_of(source: &mut dyn Source, name: &str) -> Option<Vec<TitleIndex>> {
    let providers = if cfg!(windows) { source.providers().ok()? } else { Vec::new() };
    let found = providers.into_iter().find(|one| one.name.eq_ignore_ascii_case(name))?;
    let names = found.names?;
    let first = *names.start();
    let last = (*names.end()).min(first.saturating_add(MOST_NAMES));
    Some((first..=last).step_by(2).map(TitleIndex).collect())
}

/// Collects what there is of some objects.
fn collect_some(source: &mut dyn Source, names: &[TitleIndex]) -> Result<(), SourceError> {
    let catalogue = source.catalogue_for(Wanted::Objects(names))?;
    let is_there = |name: &&TitleIndex| catalogue.object(**name).is_some();
    let there: Vec<TitleIndex> = names.iter().filter(is_there).copied().collect();
    match there.is_empty() {
        true => Ok(()),
        false => source.collect(&Request::objects(&there), &mut Snapshot::new()),
    }
}

/// Collects every object: those that nobody gets by asking for everything are
/// asked for by index.
fn collect_everything(source: &mut dyn Source) -> Result<(), SourceError> {
    let mut snapshot = Snapshot::new();
    let catalogue = source.catalogue()?;
    let mut missing: Vec<TitleIndex> = catalogue.objects.iter().map(|one| one.name).collect();
    for query in [ObjectQuery::Global, ObjectQuery::Costly] {
        source.collect(&Request::new(query), &mut snapshot)?;
        // Of one that just failed it is known why.
        let faults = || snapshot.faults().iter().filter(|fault| fault.kind != FaultKind::Partial);
        missing.retain(|name| {
            let failed = faults().any(|fault| fault.object == Some(*name));
            !failed && snapshot.object(*name).is_none()
        });
    }
    if !missing.is_empty() {
        source.collect(&Request::objects(&missing), &mut snapshot)?;
    }
    Ok(())
}

/// Lets a provider out of quarantine.
#[cfg(target_os = "linux")]
pub(super) fn enable(name: &str) -> Result<(), Failure> {
    let failed = |error| Failure::Source(format!("{name} cannot be enabled: {error}"));
    // Where there is no account, there is nothing against it.
    perfhive::extension::enable(name).map(drop).map_err(failed)
}

/// Has Windows call a provider again, which it or an administrator disabled.
#[cfg(windows)]
pub(super) fn enable(name: &str) -> Result<(), Failure> {
    Ok(perfhive::windows::enable(name).map(drop)?)
}

/// Elsewhere quarantine ends with the program.
#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn enable(_: &str) -> Result<(), Failure> {
    Ok(())
}

const fn state(state: ProviderState) -> &'static str {
    match state {
        ProviderState::Idle => "idle",
        ProviderState::Open => "open",
        ProviderState::Failed => "failed",
        ProviderState::Quarantined => "quarantined",
        ProviderState::Disabled => "disabled",
        ProviderState::Refused => "refused",
    }
}

fn table(providers: &[ProviderStatus], output: &Output, text: &mut String) {
    let mut table = Table::new(&[
        ("PROVIDER", Align::Left),
        ("STATE", Align::Left),
        ("ASKED", Align::Right),
        ("FAULTS", Align::Right),
        ("LAST", Align::Right),
        ("MEAN", Align::Right),
        ("WORST", Align::Right),
        ("BYTES", Align::Right),
        ("", Align::Left),
    ]);
    for one in providers {
        let style = match one.state {
            ProviderState::Idle | ProviderState::Open => Style::Plain,
            _ => Style::Attention,
        };
        table.text(Style::Name, &one.name);
        table.text(style, state(one.state));
        let number = |table: &mut Table, number: u64| {
            table.cell(Style::Plain, |out| crate::text::number::push_grouped(out, number));
        };
        number(&mut table, one.collections);
        number(&mut table, one.faults);
        for time in [one.last, one.mean(), one.worst] {
            table.text(Style::Plain, &short(time));
        }
        number(&mut table, one.bytes as u64);
        table.text(Style::Faint, &why(one).unwrap_or_default());
    }
    table.render(text, output.layout(true));
}

/// What it failed with last, and the way out if it takes one.
fn why(one: &ProviderStatus) -> Option<String> {
    let message = &one.last_fault.as_ref()?.message;
    let is_ours = match one.state {
        ProviderState::Quarantined => true,
        // Windows' own words name what enables it there.
        ProviderState::Disabled => cfg!(not(windows)),
        _ => false,
    };
    Some(match is_ours {
        true => format!("{message}; perfhive providers --enable {:?} has it asked again", one.name),
        false => message.to_string(),
    })
}

/// A time in the unit that suits it.
fn short(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..1000.0 => format!("{micros:.0} µs"),
        ..1e6 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

fn rows(providers: &[ProviderStatus], output: &Output, text: &mut String) {
    let keys = [
        "provider",
        "state",
        "collections",
        "faults",
        "in_a_row",
        "last_s",
        "mean_s",
        "worst_s",
        "bytes",
        "last_fault",
    ];
    let mut records = output.records(keys, text);
    for one in providers {
        let why = why(one);
        let seconds = |time: Duration| Field::Float(time.as_secs_f64());
        records.row(
            text,
            [
                Field::Text(&one.name),
                Field::Text(state(one.state)),
                Field::Unsigned(one.collections),
                Field::Unsigned(one.faults),
                Field::Unsigned(one.in_a_row.into()),
                seconds(one.last),
                seconds(one.mean()),
                seconds(one.worst),
                Field::Unsigned(one.bytes as u64),
                Field::text(why.as_deref()),
            ],
        );
    }
    records.end(text);
}
