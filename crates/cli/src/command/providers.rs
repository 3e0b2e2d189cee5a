//! `perfhive providers`: prints the state and statistics of the providers.

use crate::args::{Global, Providers};
use crate::failure::{Exit, Failure, Outcome, warn};
use crate::output::Output;
use crate::session::Session;
use crate::text::escape::windows_word;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::{
    Ask, FaultKind, NamePattern, ObjectQuery, OpenOptions, ProviderState, ProviderStatus, Snapshot,
    Source, SourceAddress, SourceError, TitleIndex,
};
use perfhive_view::Field;
use std::time::Duration;

/// The longest time that the command waits for a provider that it has just enabled, unless the command line gives
/// another: longer than the default timeout of a provider's functions.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most indexes behind that of a provider's first name at which objects of the provider are looked for.
const MOST_NAMES: u32 = 4096;

pub(super) fn run(global: &Global, args: &Providers) -> Outcome {
    let address = global.source.parse::<SourceAddress>().ok();
    if let (Some(name), Some(host)) = (&args.enable, address.as_ref().and_then(|at| at.host())) {
        return Err(Failure::Usage(format!(
            "providers of {host} are enabled there: `lodctr /E:{}`, run as administrator",
            windows_word(name)
        )));
    }
    let mut session = Session::open_unnamed(global)?;
    let known = known(&mut session.source)?;
    let wanted = args.name.as_ref().or(args.enable.as_ref());
    let pattern = wanted.map(|name| match args.enable {
        Some(_) => NamePattern::literal(name),
        None => NamePattern::with_wildcards(name),
    });
    // If no provider has the name, none needs to be asked.
    if let (Some(name), Some(pattern)) = (wanted, &pattern)
        && pattern.as_literal().is_some()
        && !known.iter().any(|one| pattern.matches(&one.name))
    {
        return Err(no_such_provider(name));
    }
    let only = pattern.as_ref().and_then(|pattern| names_of(&known, pattern));
    let mut failed = None;
    if let (Some(_), Some(pattern)) = (&args.enable, &pattern)
        && let Some(found) = known.iter().find(|one| pattern.matches(&one.name))
    {
        enable(&found.name)?;
        failed = ask_patiently(global, found).err();
        // The new session reads the updated account.
        session = Session::open_unnamed(global)?;
    }
    if failed.is_none() {
        let collected = (0..args.count).try_for_each(|_| match &only {
            Some(names) => collect_some(&mut session.source, names),
            None => collect_everything(&mut session.source),
        });
        failed = collected.err().map(|error| in_words(&error));
    }
    let listed = session.source.providers(&Ask::nothing());
    // After a failed collection the list is still useful, and a successful --enable
    // must be reported.
    let failed = match (&listed, failed) {
        (Err(error), None) => Some(in_words(error)),
        (_, failed) => failed,
    };
    match (&failed, &args.enable) {
        (Some(why), Some(name)) => {
            warn(&format!("{name} is enabled, and cannot be asked at the moment: {why}"));
        }
        (Some(why), None) if listed.is_ok() => warn(why),
        _ => {}
    }
    let has_list = listed.is_ok();
    let mut providers = match (listed, &args.enable) {
        (Ok(providers), _) => providers,
        // The warning above gives the reason.
        (Err(_), Some(_)) => Vec::new(),
        (Err(error), None) => return Err(not_listed(&error)),
    };
    // Faults of the listed providers are in the table; only the others are reported.
    let mut others = session.faults.take();
    others.retain(|fault| !providers.iter().any(|one| fault.provider.as_ref() == Some(&one.name)));
    if let (Some(name), Some(pattern)) = (wanted, &pattern) {
        providers.retain(|provider| pattern.matches(&provider.name));
        if has_list && providers.is_empty() {
            return Err(no_such_provider(name));
        }
    }
    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        table(&providers, &output, &mut text);
    } else {
        rows(&providers, &output, &mut text);
    }
    others.iter().for_each(|fault| warn(&fault.text));
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The providers that are known before any of them is asked; a failure if they cannot be listed, or if the source
/// is not made of providers.
fn known(source: &mut dyn Source) -> Result<Vec<ProviderStatus>, Failure> {
    let known = source.providers(&Ask::nothing()).map_err(|error| not_listed(&error))?;
    if known.is_empty() {
        return Err(Failure::Usage(format!(
            "{} is not made of providers; --source local: is this machine",
            source.name()
        )));
    }
    Ok(known)
}

/// The failure for an error of listing providers.
fn not_listed(error: &SourceError) -> Failure {
    Failure::Source(in_words(error))
}

/// The message of an error; a transient one is followed by the option that waits longer.
fn in_words(error: &SourceError) -> String {
    match error.is_transient() {
        true => format!("{error}; --patience SECONDS waits longer"),
        false => error.to_string(),
    }
}

/// Asks a provider for the object with its first name, and waits up to [`PATIENCE`] for a slow one, or as long as the
/// command line says. The error says why the provider cannot be asked.
fn ask_patiently(global: &Global, provider: &ProviderStatus) -> Result<(), String> {
    let options = OpenOptions::new().patience(PATIENCE);
    let first = provider.names.as_ref().map(|names| TitleIndex(*names.start()));
    let wanted: Vec<TitleIndex> = first.into_iter().collect();
    let mut session = Session::open_with(global, options).map_err(|failure| failure.message())?;
    let found = session.source.catalogue(&Ask::objects(&wanted));
    found.map(drop).map_err(|error| in_words(&error))
}

fn no_such_provider(name: &str) -> Failure {
    Failure::Missing(format!("there is no provider {name:?}; perfhive providers lists all"))
}

/// The indexes of the objects that the provider named by the pattern may have, so that no other provider is asked;
/// empty if it is registered with neither names nor objects. `None` for a pattern with wildcards, if no provider has
/// the name, and on other systems than Windows, where everything is collected.
fn names_of(known: &[ProviderStatus], pattern: &NamePattern) -> Option<Vec<TitleIndex>> {
    pattern.as_literal().filter(|_| cfg!(windows))?;
    let found = known.iter().find(|one| pattern.matches(&one.name))?;
    let Some(names) = found.names.as_ref().filter(|_| found.objects.is_empty()) else {
        return Some(found.objects.clone());
    };
    let first = *names.start();
    let last = (*names.end()).min(first.saturating_add(MOST_NAMES));
    Some((first..=last).step_by(2).map(TitleIndex).collect())
}

/// Collects the objects with these indexes, as far as the source has them.
fn collect_some(source: &mut dyn Source, names: &[TitleIndex]) -> Result<(), SourceError> {
    if names.is_empty() {
        return Ok(());
    }
    let catalogue = source.catalogue(&Ask::objects(names))?;
    let is_there = |name: &&TitleIndex| catalogue.object(**name).is_some();
    let there: Vec<TitleIndex> = names.iter().filter(is_there).copied().collect();
    match there.is_empty() {
        true => Ok(()),
        false => source.collect(&Ask::objects(&there), &mut Snapshot::new()),
    }
}

/// Collects every object. An object that is in neither the collection Global nor Costly is asked for by its index.
fn collect_everything(source: &mut dyn Source) -> Result<(), SourceError> {
    let mut snapshot = Snapshot::new();
    let catalogue = source.catalogue(&Ask::everything())?;
    let mut missing: Vec<TitleIndex> = catalogue.objects.iter().map(|one| one.name).collect();
    for query in [ObjectQuery::Global, ObjectQuery::Costly] {
        source.collect(&Ask::new(query), &mut snapshot)?;
        // If an object failed, its fault is known, and it is not asked for again.
        let of_part = |kind| matches!(kind, FaultKind::Partial | FaultKind::Busy);
        let faults = || snapshot.faults().iter().filter(|fault| !of_part(fault.kind));
        missing.retain(|name| {
            let failed = faults().any(|fault| fault.object == Some(*name));
            !failed && snapshot.object(*name).is_none()
        });
    }
    if !missing.is_empty() {
        source.collect(&Ask::objects(&missing), &mut snapshot)?;
    }
    Ok(())
}

/// Ends the quarantine of a provider, and enables its registration if that is disabled.
#[cfg(target_os = "linux")]
pub(super) fn enable(name: &str) -> Result<(), Failure> {
    let failed = |error| Failure::Source(format!("{name} cannot be enabled: {error}"));
    // Without an account the provider is not in quarantine.
    perfhive::extension::enable(name).map(drop).map_err(failed)
}

/// Enables a provider that Windows or an administrator disabled.
#[cfg(windows)]
pub(super) fn enable(name: &str) -> Result<(), Failure> {
    Ok(perfhive::windows::enable(name).map(drop)?)
}

/// Does nothing: on other systems quarantine ends with the program.
#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn enable(_: &str) -> Result<(), Failure> {
    Ok(())
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
        table.text(style, one.state.code());
        let is_counted = one.is_counted;
        let number = |table: &mut Table, number: u64| match is_counted {
            true => {
                table.cell(Style::Plain, |out| perfhive_view::number::push_grouped(out, number))
            }
            false => table.text(Style::Faint, "-"),
        };
        number(&mut table, one.collections);
        number(&mut table, one.faults);
        for time in [one.last, one.mean(), one.worst] {
            match is_counted {
                true => table.text(Style::Plain, &short(time)),
                false => table.text(Style::Faint, "-"),
            }
        }
        number(&mut table, one.bytes as u64);
        table.text(Style::Faint, &why(one).unwrap_or_default());
    }
    table.render(text, output.layout(true));
}

/// The message of a provider's last fault; for a quarantined provider, the command that enables it stands behind
/// the message. `None` if there was no fault.
fn why(one: &ProviderStatus) -> Option<String> {
    let message = &one.last_fault.as_ref()?.message;
    Some(match one.state {
        ProviderState::Quarantined => {
            format!("{message}; perfhive providers --enable {:?} enables it", one.name)
        }
        _ => message.to_string(),
    })
}

/// A time in µs, ms or s, whichever suits its size.
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
        let is_counted = one.is_counted;
        let known = |field| if is_counted { field } else { Field::None };
        let seconds = |time: Duration| known(Field::Float(time.as_secs_f64()));
        records.row(
            text,
            [
                Field::Text(&one.name),
                Field::Text(one.state.code()),
                known(Field::Unsigned(one.collections)),
                known(Field::Unsigned(one.faults)),
                known(Field::Unsigned(one.in_a_row.into())),
                seconds(one.last),
                seconds(one.mean()),
                seconds(one.worst),
                known(Field::Unsigned(one.bytes as u64)),
                Field::text(why.as_deref()),
            ],
        );
    }
    records.end(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive::{Catalogue, LanguageId, SourceErrorKind, TitleDatabase};
    use std::sync::Arc;

    struct Says(fn() -> Result<Vec<ProviderStatus>, SourceError>);

    impl Source for Says {
        fn name(&self) -> &str {
            "says:"
        }

        fn collect(&mut self, _: &Ask, _: &mut Snapshot) -> Result<(), SourceError> {
            unreachable!("the source is not asked")
        }

        fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            Ok(Arc::default())
        }
        fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
            unreachable!("the source is not asked")
        }

        fn providers(&mut self, _: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
            (self.0)()
        }
    }

    #[test]
    fn late_unavailable_and_empty_lists_give_different_failures() {
        let late = || Err(SourceError::new(SourceErrorKind::Deadline, "says:", "late"));
        let told = known(&mut Says(late)).unwrap_err();
        let words = "says: late; --patience SECONDS waits longer";
        assert!(matches!(&told, Failure::Source(text) if text == words), "{told:?}");
        let gone = || Err(SourceError::new(SourceErrorKind::Unavailable, "says:", "is off"));
        let told = known(&mut Says(gone)).unwrap_err();
        assert!(matches!(&told, Failure::Source(text) if text == "says: is off"), "{told:?}");
        let told = known(&mut Says(|| Ok(Vec::new()))).unwrap_err();
        let is_none = |text: &str| text.contains("says: is not made of providers");
        assert!(matches!(&told, Failure::Usage(text) if is_none(text)), "{told:?}");
    }
}
