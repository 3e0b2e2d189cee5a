//! The functions that a library exports. With them users need not name the functions, and a wrong
//! name is noticed at registration rather than at the first read.

use object::NameOrOrdinal;
use object::read::{Object as _, ReadCache};
use perfhive_contract::{Functions, RegisterError, RegisterErrorKind};
use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

/// The most functions of a library that a message lists.
const SHOWN: usize = 12;

/// Fills in the missing names of Open, Collect and Close. Collect becomes the usual name
/// ([`Functions::USUAL`]) if the library exports it, and otherwise the only exported `Collect...`. Open
/// and Close become Collect's name with `Open` or `Close` instead of `Collect`, or empty if the library
/// exports no such function. If `functions` has no library, nothing changes.
///
/// # Errors
/// If the library cannot be read or lacks a function that `functions` names, or if Collect is missing
/// and the library exports none or several that it could be. `functions` is then unchanged.
pub fn fill(functions: &mut Functions) -> Result<(), RegisterError> {
    let Some(library) = functions.library.clone() else { return Ok(()) };
    let exports = exports(&library)?;
    let chosen = choose(functions, &exports).map_err(|message| {
        let library = library.display();
        RegisterError::new(RegisterErrorKind::Invalid, format!("{library} {message}"))
    })?;
    *functions = chosen;
    Ok(())
}

/// The names of the functions and variables that a library exports.
///
/// # Errors
/// If the file cannot be read, or is not in the form of a library.
pub fn exports(library: &Path) -> Result<Vec<String>, RegisterError> {
    let failed = |kind, what: &str, error: &dyn std::fmt::Display| {
        RegisterError::new(kind, format!("{} {what}: {error}", library.display()))
    };
    let io = |error: std::io::Error| failed(RegisterErrorKind::Io, "cannot be read", &error);
    // Opening a pipe would block.
    if !std::fs::metadata(library).map_err(io)?.is_file() {
        let message = format!("{} is not a file", library.display());
        return Err(RegisterError::new(RegisterErrorKind::Invalid, message));
    }
    let cache = ReadCache::new(File::open(library).map_err(io)?);
    let no_library =
        |error: object::Error| failed(RegisterErrorKind::Invalid, "is not a library", &error);
    let file = object::File::parse(&cache).map_err(no_library)?;
    let exports = file.exports().map_err(no_library)?;
    let mut names = Vec::new();
    for export in exports {
        // An export without a name cannot be registered.
        if let NameOrOrdinal::Name(name) = export.map_err(no_library)?.name() {
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}

/// The functions with the missing names filled in from `exports`, the names that the library
/// exports. `Err` if Collect cannot be told from these, or if a function that is named is not among
/// them: a message to which the caller adds the library's path in front.
fn choose(functions: &Functions, exports: &[String]) -> Result<Functions, String> {
    let has = |name: &str| exports.iter().any(|other| other == name);
    let mut chosen = functions.clone();
    let collect = match &functions.collect {
        Some(collect) => collect.clone(),
        None if has(Functions::USUAL[1]) => Functions::USUAL[1].to_string(),
        None => only_collect(exports)?,
    };
    let beside = |word: &str| {
        let name =
            collect.replacen("Collect", word, 1).replacen("collect", &word.to_lowercase(), 1);
        // An empty name means that there is no such function.
        Some(if name != collect && has(&name) { name } else { String::new() })
    };
    chosen.open = functions.open.clone().or_else(|| beside("Open"));
    chosen.close = functions.close.clone().or_else(|| beside("Close"));
    chosen.collect = Some(collect);
    for name in [&chosen.open, &chosen.collect, &chosen.close].into_iter().flatten() {
        if !name.is_empty() && !has(name) {
            return Err(format!("exports no function {name}; {}", there_are(exports)));
        }
    }
    Ok(chosen)
}

/// The only exported function with a name that begins with `Collect`, in any case of letters. A
/// name that is another exported name with `Host` behind it does not count. `Err` if there is none
/// or several: a message as in [`choose`].
fn only_collect(exports: &[String]) -> Result<String, String> {
    let all: HashSet<&str> = exports.iter().map(String::as_str).collect();
    let found: Vec<&String> = exports
        .iter()
        .filter(|name| name.to_lowercase().starts_with("collect"))
        // `Collect...Host` is another form of the same function, which gets the `Host` too.
        .filter(|name| !name.strip_suffix("Host").is_some_and(|name| all.contains(name)))
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(format!(
            "exports no function whose name begins with Collect; say which one collects with \
             --collect; {}",
            there_are(exports)
        )),
        several => {
            let names: Vec<&str> = several.iter().take(SHOWN).map(|name| name.as_str()).collect();
            Err(format!("exports {}; say which one collects with --collect", names.join(", ")))
        }
    }
}

/// The part of a message that lists the exported functions, at most [`SHOWN`] of them by name.
fn there_are(exports: &[String]) -> String {
    let shown: Vec<&str> = exports.iter().take(SHOWN).map(String::as_str).collect();
    match exports.len().checked_sub(SHOWN) {
        _ if shown.is_empty() => "it exports nothing".to_string(),
        Some(more @ 1..) => format!("there are {} and {more} more", shown.join(", ")),
        _ => format!("there are {}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(functions: &Functions, exports: &[&str]) -> Result<[Option<String>; 3], String> {
        let exports: Vec<String> = exports.iter().map(ToString::to_string).collect();
        let chosen = choose(functions, &exports)?;
        Ok([chosen.open, chosen.collect, chosen.close])
    }

    fn named(open: &str, collect: &str, close: &str) -> [Option<String>; 3] {
        [Some(open.into()), Some(collect.into()), Some(close.into())]
    }

    #[test]
    fn functions_are_found_by_their_names() {
        let any = Functions::default();
        let gauges = ["OpenGauges", "CollectGauges", "CollectGaugesHost", "CloseGauges", "main"];
        assert_eq!(chosen(&any, &gauges), Ok(named("OpenGauges", "CollectGauges", "CloseGauges")));
        let [open, collect, close] = Functions::USUAL;
        let usual = [open, collect, close, "CollectOther"];
        assert_eq!(chosen(&any, &usual), Ok(named(open, collect, close)));
        assert_eq!(chosen(&any, &["collect_x", "open_x"]), Ok(named("open_x", "collect_x", "")));
        let said = Functions { collect: Some("Fill".into()), ..any.clone() };
        assert_eq!(chosen(&said, &["Fill", "Open"]), Ok(named("", "Fill", "")));

        for (functions, exports, needle) in [
            (&any, vec!["CollectA", "CollectB"], "CollectA, CollectB; say which"),
            (&any, vec!["main"], "there are main"),
            (&any, vec![], "exports nothing"),
            (&said, vec!["Full"], "no function Fill; there are Full"),
            (&Functions { open: Some("X".into()), ..said.clone() }, vec!["Fill"], "function X"),
        ] {
            let error = chosen(functions, &exports).unwrap_err();
            assert!(error.contains(needle), "{error}");
        }
        let many: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(chosen(&any, &many).unwrap_err().contains("f11 and 8 more"));
    }

    #[test]
    fn file_that_is_not_a_library_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.so");
        for (content, needle) in [("", "is not a library"), ("#!/bin/sh", "is not a library")] {
            std::fs::write(&file, content).unwrap();
            let error = exports(&file).unwrap_err().to_string();
            assert!(error.contains(needle), "{error}");
        }
        let error = exports(&folder.path().join("none")).unwrap_err();
        assert_eq!(error.kind(), RegisterErrorKind::Io);
        assert_eq!(exports(folder.path()).unwrap_err().kind(), RegisterErrorKind::Invalid);
        // This program is an executable file, with whatever it exports.
        assert!(exports(&std::env::current_exe().unwrap()).is_ok());
    }
}
