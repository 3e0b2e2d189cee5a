//! `perfhive register` and `unregister`, the counterparts of `lodctr` and `unlodctr`.

mod definition;

use crate::args::{Global, Register, RegistrationPlace, Unregister};
use crate::failure::{Exit, Failure, Outcome, complain, warn};
use crate::output::Output;
use crate::text::escape::Escaped;
use crate::text::records::Records;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::registration::{
    Change, Functions, ReadOptions, RegisterErrorKind, Registration, Scope, definitions,
    find_functions, registrar, usual_scope,
};
use perfhive_view::Field;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

pub(super) fn run(global: &Global, args: &Register) -> Outcome {
    let Some(file) = &args.file else {
        return list(global, args.place);
    };
    if let Some(option) = not_for_windows(args).filter(|_| cfg!(windows)) {
        return Err(Failure::Usage(format!(
            "{option} is not supported on Windows, which loads a library into every program that \
             reads; perfhive check tests the library in a process of its own"
        )));
    }
    let mut options = ReadOptions::default();
    (options.encoding, options.symbols) = (global.encoding, args.symbols.clone());
    let read = definitions(file, &options)?;
    if !global.quiet {
        read.warnings.iter().for_each(|warning| warn(&warning.to_string()));
    }
    let mut functions = functions(args)?;
    find_functions(&mut functions)?;
    let scope = scope(args.place).unwrap_or_else(usual_scope);
    let mut registrar = match registrar(scope) {
        // The content of a file can be shown on every system, even without a registrar.
        Err(_) if args.dry_run && !cfg!(any(target_os = "linux", windows)) => {
            return definition::print(global, &read.value);
        }
        registrar => registrar?,
    };
    if args.dry_run {
        for definition in &read.value {
            registrar.check(definition, &functions)?;
        }
        return definition::print(global, &read.value);
    }
    let output = Output::new(global);
    let mut text = String::new();
    let mut done = Rows::begin(&output, &mut text);
    for definition in &read.value {
        let (one, change) = registrar.register(definition, &functions)?;
        match change {
            Change::Added => forget(&one.name),
            _ if args.enable => super::providers::enable(&one.name)?,
            _ => {}
        }
        let place = registrar.place();
        let word = match change {
            Change::Added => "registered",
            Change::Updated => "updated",
            Change::Unchanged => "unchanged",
        };
        if output.is_table() {
            let indexes = format!(
                "names {} to {}, help texts {} to {}",
                one.first_counter, one.last_counter, one.first_help, one.last_help
            );
            let name = Escaped(&one.name);
            let _ = match change {
                Change::Added => writeln!(text, "{name} is registered: {indexes}, in {place}"),
                Change::Updated => writeln!(text, "{name} is updated: {indexes}, in {place}"),
                Change::Unchanged => {
                    writeln!(text, "{name} was already registered like this: {indexes}, in {place}")
                }
            };
        }
        done.row(&mut text, &one, Some(word), scope, &place);
    }
    done.end(&mut text);
    output.write(&text)?;
    Ok(Exit::Done)
}

/// Removes the registration of a provider, and prints what was removed; a failure if there is none.
pub(super) fn back(global: &Global, args: &Unregister) -> Outcome {
    let scope = scope(args.place).unwrap_or_else(usual_scope);
    let mut registrar = registrar(scope)?;
    let one = registrar.unregister(&args.name).map_err(|error| {
        let missing = error.kind() == RegisterErrorKind::NotRegistered;
        if !missing {
            return error.into();
        }
        let hint = elsewhere(&args.name, scope).unwrap_or_else(|| {
            "perfhive register --list shows what is registered, and under which name".to_string()
        });
        Failure::Missing(format!("{error}; {hint}"))
    })?;
    forget(&one.name);
    let output = Output::new(global);
    let mut text = String::new();
    let place = registrar.place();
    if output.is_table() {
        let _ = writeln!(text, "{} is no longer registered in {place}", Escaped(&one.name));
    }
    let mut rows = Rows::begin(&output, &mut text);
    rows.row(&mut text, &one, Some("unregistered"), scope, &place);
    rows.end(&mut text);
    output.write(&text)?;
    Ok(Exit::Done)
}

/// Removes what is kept about the library of a provider from one program to the next, such as its quarantine: it
/// belongs to a registration of this name that is gone. Does nothing on other systems than Linux. An error is ignored:
/// the provider is registered or unregistered all the same.
fn forget(name: &str) {
    #[cfg(target_os = "linux")]
    let _ = perfhive::extension::forget(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}

/// A hint at the option for the other scope (the machine or the user), if the provider is registered there; `None`
/// otherwise.
fn elsewhere(name: &str, scope: Scope) -> Option<String> {
    let (other, option) = match scope {
        Scope::System => (Scope::User, "--user"),
        Scope::User => (Scope::System, "--system"),
    };
    let registrar = registrar(other).ok()?;
    let (all, _) = registrar.registrations().ok()?;
    let is_there = all.providers.iter().any(|one| one.name.eq_ignore_ascii_case(name));
    is_there.then(|| format!("it is in {}: give {option}", registrar.place()))
}

/// The scope that the command line names; `None` if it names none.
fn scope(place: RegistrationPlace) -> Option<Scope> {
    match (place.system, place.user) {
        (true, _) => Some(Scope::System),
        (_, true) => Some(Scope::User),
        _ => None,
    }
}

const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "system",
        Scope::User => "user",
    }
}

/// The first option about the host process that is given; `None` if none is. Windows supports none of them: it
/// loads libraries into the readers.
fn not_for_windows(args: &Register) -> Option<&'static str> {
    match () {
        () if args.memory_limit.is_some() => Some("--memory-limit"),
        () if args.processes => Some("--processes"),
        () if args.no_processes => Some("--no-processes"),
        () if !args.reads.is_empty() => Some("--reads"),
        () => None,
    }
}

/// The library as the command line describes it: its file, its functions, its limits and its rights; `None` for
/// what the command line leaves out.
fn functions(args: &Register) -> Result<Functions, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Failure::Usage(format!("--library {}: {error}", path.display())))
    };
    let either = |yes: bool, no: bool| (yes || no).then_some(yes);
    Ok(Functions {
        library: args.library.as_deref().map(absolute).transpose()?,
        open: args.functions.open.clone(),
        collect: args.functions.collect.clone(),
        close: args.functions.close.clone(),
        linkage: (!args.functions.linkage.is_empty()).then(|| args.functions.linkage.clone()),
        open_timeout: args.open_timeout,
        collect_timeout: args.collect_timeout,
        disabled: either(args.disable, args.enable),
        memory_limit: args.memory_limit.map(|mib| u64::from(mib) << 20),
        processes: either(args.processes, args.no_processes),
        reads: (!args.reads.is_empty()).then(|| {
            let paths = args.reads.iter().filter(|path| !path.as_os_str().is_empty());
            paths.cloned().collect()
        }),
    })
}

fn list(global: &Global, place: RegistrationPlace) -> Outcome {
    let scopes = scope(place).map_or(vec![Scope::System, Scope::User], |scope| vec![scope]);
    let output = Output::new(global);
    let mut text = String::new();
    let mut table = Table::new(&[
        ("PROVIDER", Align::Left),
        ("NAMES", Align::Left),
        ("OBJECTS", Align::Left),
        ("FOR", Align::Left),
        ("LIBRARY", Align::Left),
        ("", Align::Left),
    ]);
    let mut rows = Rows::begin(&output, &mut text);
    let mut exit = Exit::Done;
    for scope in scopes {
        // Without a home folder there are no registrations of the user.
        let Ok(registrar) = registrar(scope) else { continue };
        // If one hive is damaged, the other is still listed.
        let (all, faults) = match registrar.registrations() {
            Ok(read) => read,
            Err(error) => {
                complain(&error.to_string());
                exit = Exit::Source;
                continue;
            }
        };
        if !global.quiet {
            faults.iter().for_each(|fault| warn(&fault.to_string()));
        }
        for one in &all.providers {
            rows.row(&mut text, one, None, scope, &registrar.place());
            table.text(Style::Name, &one.name);
            let names = format!("{}-{}", one.first_counter, one.last_counter);
            table.text(Style::Plain, if one.has_names() { &names } else { "" });
            table.text(Style::Plain, &objects(one));
            table.text(Style::Faint, scope_name(scope));
            table.text(Style::Plain, &one.library.to_string_lossy());
            table.text(Style::Attention, state(one));
        }
    }
    rows.end(&mut text);
    if output.is_table() {
        if table.rows() == 0 && exit == Exit::Done {
            text.push_str("Nothing is registered.\n");
        } else if table.rows() > 0 {
            table.render(&mut text, output.layout(true));
        }
    }
    output.write(&text)?;
    Ok(exit)
}

const fn state(one: &Registration) -> &'static str {
    if one.disabled { "disabled" } else { "" }
}

fn objects(one: &Registration) -> String {
    let list: Vec<String> = one.objects.iter().map(ToString::to_string).collect();
    list.join(" ")
}

/// A writer of registrations as rows for programs; it writes nothing if a table is printed.
struct Rows {
    records: Option<Records>,
}

impl Rows {
    fn begin(output: &Output, text: &mut String) -> Self {
        let keys = [
            "name",
            "change",
            "scope",
            "library",
            "open",
            "collect",
            "close",
            "linkage",
            "objects",
            "first_counter",
            "last_counter",
            "first_help",
            "last_help",
            "disabled",
            "open_timeout_ms",
            "collect_timeout_ms",
            "memory_limit",
            "start_processes",
            "read_files",
            "place",
        ];
        Self { records: (!output.is_table()).then(|| output.records(keys, text)) }
    }

    fn row(
        &mut self,
        text: &mut String,
        one: &Registration,
        change: Option<&str>,
        scope: Scope,
        place: &str,
    ) {
        let Some(records) = &mut self.records else { return };
        let library = one.library.to_string_lossy();
        let linkage = one.linkage.as_ref().map(|linkage| linkage.replace('\0', "\n"));
        let objects = objects(one);
        let reads = std::env::join_paths(&one.reads).ok().filter(|reads| !reads.is_empty());
        let millis = |time: Duration| Field::Unsigned(time.as_millis().try_into().unwrap_or(0));
        records.row(
            text,
            [
                Field::Text(&one.name),
                Field::text(change),
                Field::Text(scope_name(scope)),
                Field::Text(&library),
                Field::text(one.open.as_deref()),
                Field::Text(&one.collect),
                Field::text(one.close.as_deref()),
                Field::text(linkage.as_deref()),
                Field::Text(&objects),
                Field::Unsigned(one.first_counter.into()),
                Field::Unsigned(one.last_counter.into()),
                Field::Unsigned(one.first_help.into()),
                Field::Unsigned(one.last_help.into()),
                Field::Bool(one.disabled),
                millis(one.open_timeout),
                millis(one.collect_timeout),
                one.memory_limit.map_or(Field::None, Field::Unsigned),
                Field::Bool(one.processes),
                Field::text(reads.as_ref().and_then(|reads| reads.to_str())),
                Field::Text(place),
            ],
        );
    }

    fn end(self, text: &mut String) {
        if let Some(records) = self.records {
            records.end(text);
        }
    }
}
