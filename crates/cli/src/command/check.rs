//! `perfhive check`, which tests a provider's library, and `perfhive host`, the process in which
//! libraries run.

use crate::args::{Check, Global};
use crate::failure::Outcome;

#[cfg(any(target_os = "linux", windows))]
pub(super) use supported::{be_host, host, run};

#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn run(_: &Global, _: &Check) -> Outcome {
    let message = "libraries of providers can be checked on Linux and Windows only so far";
    Err(crate::failure::Failure::Usage(message.to_string()))
}

#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn be_host() {}

#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn host() -> std::process::ExitCode {
    crate::failure::Exit::Usage.into()
}

#[cfg(any(target_os = "linux", windows))]
mod supported {
    use super::{Check, Global, Outcome};
    use crate::failure::{Exit, Failure};
    use crate::output::Output;
    use crate::text::style::Style;
    use crate::text::table::{Align, Table};
    use perfhive::extension::{self, HostCommand, Severity, Verdict};
    use perfhive::registration::{Functions, Registration, Scope, find_functions, registrar};
    use perfhive_view::Field;
    use std::fmt::Write as _;
    use std::path::Path;
    use std::process::ExitCode;

    /// The first index of names and the first index of help texts for a library that is not
    /// registered, far from all others.
    const NOT_REGISTERED: (u32, u32) = (50_000, 50_001);

    /// Lets libraries run in host processes that are started from this program's own file: a `perfhive` on the
    /// PATH may be another version.
    pub(in crate::command) fn be_host() {
        if let Ok(host) = HostCommand::this_program("host") {
            extension::run_in(host);
        }
    }

    pub(in crate::command) fn host() -> ExitCode {
        extension::host_main()
    }

    pub(in crate::command) fn run(global: &Global, args: &Check) -> Outcome {
        let mut registration = find(args)?;
        if let Some(timeout) = args.timeout {
            (registration.open_timeout, registration.collect_timeout) = (timeout, timeout);
        }
        if let Some(mib) = args.memory_limit {
            registration.memory_limit = Some(u64::from(mib) << 20);
        }
        registration.processes |= args.processes;
        registration.reads.extend(args.reads.iter().cloned());
        let verdict = extension::check_with(&registration, &extension::options(), &args.machine);
        let output = Output::new(global);
        let mut text = String::new();
        if output.is_table() {
            table(&registration, &verdict, args.brief, &output, &mut text);
        } else {
            rows(&verdict, args.brief, &output, &mut text);
        }
        output.write(&text)?;
        Ok(if verdict.severity() == Severity::Error { Exit::NoValue } else { Exit::Done })
    }

    /// The registration of the provider that the argument names, or one made up for the library's file. The
    /// argument is a file if a file of this name exists, or if it has a separator of folders.
    fn find(args: &Check) -> Result<Registration, Failure> {
        let file = Path::new(&args.library);
        let given = [&args.functions.open, &args.functions.collect, &args.functions.close];
        if !file.exists() && !args.library.contains(std::path::is_separator) {
            let registered = registered(&args.library)?;
            if given.iter().any(|name| name.is_some()) || !args.functions.linkage.is_empty() {
                let message = "functions and linkage of a registered provider are those of its \
                               registration; give its library instead";
                return Err(Failure::Usage(message.to_string()));
            }
            return Ok(registered);
        }
        let library = std::path::absolute(file)
            .map_err(|error| Failure::Usage(format!("{}: {error}", args.library)))?;
        let mut functions = Functions {
            library: Some(library.clone()),
            open: args.functions.open.clone(),
            collect: args.functions.collect.clone(),
            close: args.functions.close.clone(),
            ..Functions::default()
        };
        find_functions(&mut functions)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let collect = functions.collect.unwrap_or_default();
        let mut registration = Registration::new(&name, library, &collect);
        registration.open = functions.open.filter(|name| !name.is_empty());
        registration.close = functions.close.filter(|name| !name.is_empty());
        registration.linkage =
            (!args.functions.linkage.is_empty()).then(|| args.functions.linkage.join("\0"));
        (registration.first_counter, registration.first_help) = NOT_REGISTERED;
        Ok(registration)
    }

    /// The registration of this name, in any case of its letters: that of the system before that of
    /// the user; a failure if there is none.
    fn registered(name: &str) -> Result<Registration, Failure> {
        for scope in [Scope::System, Scope::User] {
            // Without a home folder there are no registrations of the user.
            let Ok(registrar) = registrar(scope) else { continue };
            let (all, _) = registrar.registrations()?;
            let found = all.providers.into_iter().find(|one| one.name.eq_ignore_ascii_case(name));
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Err(Failure::Usage(format!(
            "{name} is neither a file nor a registered provider; perfhive register --list shows \
             what is registered"
        )))
    }

    /// Whether findings of this severity are shown: all, or with `brief` all but good ones.
    fn is_shown(severity: Severity, brief: bool) -> bool {
        !brief || severity != Severity::Good
    }

    fn table(
        registration: &Registration,
        verdict: &Verdict,
        brief: bool,
        output: &Output,
        text: &mut String,
    ) {
        let mut table = Table::new(&[
            ("VERDICT", Align::Left),
            ("ASKED", Align::Left),
            ("WHAT IT DOES", Align::Left),
        ]);
        for finding in verdict.findings.iter().filter(|one| is_shown(one.severity, brief)) {
            let style = match finding.severity {
                Severity::Good => Style::Plain,
                Severity::Warning | Severity::Error => Style::Attention,
            };
            table.text(style, &finding.severity.to_string());
            table.text(Style::Name, &finding.asked);
            table.text(Style::Plain, &finding.message);
        }
        if table.rows() > 0 {
            table.render(text, output.layout(true));
            text.push('\n');
        }
        let count = |severity| {
            verdict.findings.iter().filter(|finding| finding.severity == severity).count()
        };
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let library = registration.library.display().to_string();
        let library = crate::text::escape::Escaped(&library);
        let _ = match (errors, warnings) {
            (0, 0) => write!(text, "{library} is sound"),
            (0, 1) => write!(text, "{library} is sound, with 1 warning"),
            (0, _) => write!(text, "{library} is sound, with {warnings} warnings"),
            (1, _) => write!(text, "{library} has 1 error"),
            _ => write!(text, "{library} has {errors} errors"),
        };
        if verdict.bytes > 0 {
            let micros = verdict.slowest.as_micros();
            let _ =
                write!(text, "; Global is {} bytes and took {micros} µs at most", verdict.bytes);
        }
        text.push_str(".\n");
    }

    fn rows(verdict: &Verdict, brief: bool, output: &Output, text: &mut String) {
        let mut records = output.records(["severity", "asked", "message"], text);
        for finding in verdict.findings.iter().filter(|one| is_shown(one.severity, brief)) {
            let severity = finding.severity.to_string();
            records.row(
                text,
                [
                    Field::Text(&severity),
                    Field::Text(&finding.asked),
                    Field::Text(&finding.message),
                ],
            );
        }
        records.end(text);
    }
}
