//! The source that a command reads, and in which language it shows names.

use crate::args::Global;
use crate::failure::{Failure, warn};
use perfhive::{
    Catalogue, LanguageId, OpenOptions, ProviderStatus, Query, Request, Snapshot, Source,
    SourceError, SourceErrorKind, SourceSet, SystemTime, TitleDatabase,
};
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A source that notes what could not be collected, and when. Queries and
/// measurements keep their snapshots to themselves, so both are caught on the
/// way.
pub(crate) struct Observed {
    source: Box<dyn Source>,
    faults: Faults,
}

impl Source for Observed {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        self.source.collect(request, out)?;
        self.faults.note(out);
        Ok(())
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.source.catalogue()
    }

    fn catalogue_generation(&mut self) -> u64 {
        self.source.catalogue_generation()
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source.titles(language)
    }

    fn providers(&mut self) -> Vec<ProviderStatus> {
        self.source.providers()
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.source.rewind()
    }

    fn is_live(&self) -> bool {
        self.source.is_live()
    }
}

/// What could not be collected so far, each fault once.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    known: HashSet<String>,
    fresh: Vec<String>,
    time: Option<SystemTime>,
    quiet: bool,
}

impl Faults {
    fn note(&self, snapshot: &Snapshot) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.time = snapshot.system_time();
        for fault in snapshot.faults() {
            let text = fault.to_string();
            if noted.known.insert(text.clone()) {
                noted.fresh.push(text);
            }
        }
    }

    /// When the newest sample was taken, as its source says.
    pub(crate) fn time(&self) -> Option<SystemTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).time
    }

    /// What was noted since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = std::mem::take(&mut noted.fresh);
        if noted.quiet { Vec::new() } else { fresh }
    }

    /// Says on standard error what was noted since the last call.
    pub(crate) fn report(&self) {
        for fault in self.take() {
            warn(&fault);
        }
    }
}

/// An open source.
pub(crate) struct Session {
    /// The source.
    pub(crate) source: Observed,
    /// What could not be collected.
    pub(crate) faults: Faults,
    /// The language in which names are shown.
    pub(crate) language: LanguageId,
}

impl Session {
    /// Opens the source that the command line names.
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        let mut session = Self::open_unnamed(global)?;
        session.language = session.choose_language(global.language)?;
        Ok(session)
    }

    /// As [`open`](Self::open), for a command that shows no names: no title
    /// list is looked at.
    pub(crate) fn open_unnamed(global: &Global) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        if !global.titles.is_empty() && !global.source.starts_with("file:") {
            return Err(Failure::Usage(format!(
                "--titles gives names to recorded blocks, but {} has its own; name the blocks \
                 with --source file:A.bin,B.bin",
                global.source
            )));
        }
        for file in &global.titles {
            warn_about_titles(file, global.quiet)?;
            options = options.titles(file);
        }
        let faults = Faults::default();
        faults.0.lock().unwrap_or_else(PoisonError::into_inner).quiet = global.quiet;
        let source = options.open(&global.source)?;
        let source = Observed { source, faults: faults.clone() };
        Ok(Self { source, faults, language: LanguageId::ENGLISH })
    }

    fn choose_language(&mut self, wanted: Option<LanguageId>) -> Result<LanguageId, Failure> {
        if let Some(language) = wanted {
            return match self.source.titles(language) {
                Ok(_) => Ok(language),
                Err(error) if error.kind() == SourceErrorKind::NotFound => {
                    Err(Failure::Usage(self.no_such_language(language)))
                }
                Err(error) => Err(error.into()),
            };
        }
        let mine = language_of_environment(|name| std::env::var(name).ok());
        for language in mine.into_iter().chain([LanguageId::ENGLISH]) {
            if self.source.titles(language).is_ok() {
                return Ok(language);
            }
        }
        // A recording may have names in one other language only.
        let catalogue = self.source.catalogue()?;
        Ok(catalogue.languages.first().copied().unwrap_or(LanguageId::ENGLISH))
    }

    fn no_such_language(&mut self, language: LanguageId) -> String {
        let name = |id: LanguageId| id.name().map_or_else(|| id.to_string(), str::to_string);
        let have = self.source.catalogue().map(|catalogue| catalogue.languages.clone());
        let have: Vec<String> = have.unwrap_or_default().into_iter().map(name).collect();
        let source = self.source.name();
        let missing = format!("{source} has no names in {}", name(language));
        if have.is_empty() {
            format!("{missing}, nor in any other language; --titles FILE gives it names")
        } else {
            format!("{missing}; it has {}", have.join(", "))
        }
    }

    /// A query over the source.
    pub(crate) fn query(self) -> Result<Query, Failure> {
        Ok(Query::over(SourceSet::new(self.source), self.language)?)
    }
}

/// Title lists are read whatever is wrong with them; what was skipped is said.
pub(crate) fn warn_about_titles(file: &Path, quiet: bool) -> Result<(), Failure> {
    let faults = perfhive::read_titles(file)?.faults;
    if let (Some(first), false) = (faults.first(), quiet) {
        let more = match faults.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        warn(&format!("{}: {first}{more}", file.display()));
    }
    Ok(())
}

/// The language that the environment asks for: the first of these variables
/// that is set decides, as for every program.
fn language_of_environment(variable: impl Fn(&str) -> Option<String>) -> Option<LanguageId> {
    let value = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))?;
    // Codes only: a variable that holds a number means something else.
    value.starts_with(|c: char| c.is_ascii_lowercase()).then(|| value.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_chooses_a_language() {
        let of = |pairs: &[(&str, &str)]| {
            let find = |name: &str| pairs.iter().find(|(key, _)| *key == name);
            language_of_environment(|name| find(name).map(|(_, value)| value.to_string()))
        };
        assert_eq!(of(&[("LANG", "de_DE.UTF-8")]), Some(LanguageId::GERMAN));
        assert_eq!(of(&[("LANG", "de_DE"), ("LC_ALL", "en_US")]), Some(LanguageId::ENGLISH));
        assert_eq!(of(&[("LANG", "de_DE"), ("LC_ALL", "")]), Some(LanguageId::GERMAN));
        assert_eq!(of(&[("LANG", "de_DE"), ("LC_MESSAGES", "C.UTF-8")]), None);
        assert_eq!(of(&[("LANG", "C")]), None);
        assert_eq!(of(&[]), None);
    }
}
