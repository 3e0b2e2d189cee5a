//! `perfhive providers`: how the providers are doing.

use crate::args::{Global, Providers};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::session::Session;
use crate::text::records::Field;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::{
    NamePattern, ObjectQuery, ProviderState, ProviderStatus, Request, Snapshot, Source as _,
};
use std::time::Duration;

pub(super) fn run(global: &Global, args: &Providers) -> Outcome {
    let mut session = Session::open_unnamed(global)?;
    let mut snapshot = Snapshot::new();
    for _ in 0..args.count {
        for query in [ObjectQuery::Global, ObjectQuery::Costly] {
            session.source.collect(&Request::new(query), &mut snapshot)?;
        }
    }
    let mut providers = session.source.providers();
    if providers.is_empty() {
        let source = &global.source;
        return Err(Failure::Usage(format!(
            "{source} is not made of providers; --source local: is this machine"
        )));
    }
    if let Some(name) = &args.name {
        let pattern = NamePattern::with_wildcards(name);
        providers.retain(|provider| pattern.matches(&provider.name));
        if providers.is_empty() {
            let message = format!("there is no provider {name:?}; perfhive providers lists all");
            return Err(Failure::Missing(message));
        }
    }
    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        table(&providers, &output, &mut text);
    } else {
        rows(&providers, &output, &mut text);
    }
    // What went wrong is in the table already.
    drop(session.faults.take());
    output.write(&text)?;
    Ok(Exit::Done)
}

const fn state(state: ProviderState) -> &'static str {
    match state {
        ProviderState::Idle => "idle",
        ProviderState::Open => "open",
        ProviderState::Failed => "failed",
        ProviderState::Quarantined => "quarantined",
        ProviderState::Disabled => "disabled",
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
        let fault = one.last_fault.as_ref().map_or("", |fault| &*fault.message);
        table.text(Style::Faint, fault);
    }
    table.render(text, output.layout(true));
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
        "last_s",
        "mean_s",
        "worst_s",
        "bytes",
        "last_fault",
    ];
    let mut records = output.records(keys, text);
    for one in providers {
        let seconds = |time: Duration| Field::Float(time.as_secs_f64());
        records.row(
            text,
            [
                Field::Text(&one.name),
                Field::Text(state(one.state)),
                Field::Unsigned(one.collections),
                Field::Unsigned(one.faults),
                seconds(one.last),
                seconds(one.mean()),
                seconds(one.worst),
                Field::Unsigned(one.bytes as u64),
                Field::text(one.last_fault.as_ref().map(|fault| &*fault.message)),
            ],
        );
    }
    records.end(text);
}
