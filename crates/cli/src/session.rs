//! The source that a command reads, and in which language it shows names.

use crate::args::Global;
use crate::failure::{Failure, warn};
use perfhive::{
    Ask, Catalogue, Fault, FaultKind, LanguageId, OpenOptions, ProviderStatus, Query, Recording,
    Snapshot, Source, SourceAddress, SourceError, SourceErrorKind, SourceSet, SystemTime,
    TitleDatabase,
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

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.source.collect(ask, out)?;
        self.faults.note(out);
        Ok(())
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.source.catalogue(ask)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.source.providers(ask)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.source.recording()
    }
}

impl Observed {
    /// Whether waiting brings a new sample; `false` for a recording.
    pub(crate) fn is_live(&mut self) -> bool {
        self.source.recording().is_none()
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
            if noted.known.insert(news_of(fault)) {
                noted.fresh.push(told(fault));
            }
        }
    }

    /// Notes what is known from elsewhere, unless a collection told of it already.
    pub(crate) fn add(&self, text: String) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.known.insert(text.clone()) {
            noted.fresh.push(text);
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

/// A fault in words, with the way out if there is one.
pub(crate) fn told(fault: &Fault) -> String {
    match fault.kind {
        // Of one that Windows disabled its own words say what enables it, and where.
        FaultKind::Quarantined if !fault.message.contains("enables it") => {
            let name = &fault.provider;
            format!("{fault}; perfhive providers --enable {name:?} has it asked again")
        }
        _ => fault.to_string(),
    }
}

/// What of a fault is news if it was not told before. How long one still has to wait
/// is other at each sample, and none; whose it is is no number.
fn news_of(fault: &Fault) -> String {
    match fault.kind {
        FaultKind::NotYet => {
            let waits = without_numbers(&fault.message);
            format!("{} {:?} {:?} {waits}", fault.provider, fault.object, fault.instance)
        }
        _ => told(fault),
    }
}

fn without_numbers(text: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    text.split(is_number).filter(|part| !part.is_empty()).collect()
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
        Self::open_with(global, OpenOptions::new())
    }

    /// What the command line says of sources.
    pub(crate) fn options(global: &Global) -> OpenOptions {
        match global.patience {
            Some(patience) => OpenOptions::new().patience(patience),
            None => OpenOptions::new(),
        }
    }

    /// The same with options of the command's own.
    pub(crate) fn open_with(global: &Global, mut options: OpenOptions) -> Result<Self, Failure> {
        let address = global.source.parse::<SourceAddress>();
        let takes_titles = |at: SourceAddress| at.scheme().capabilities.takes_titles;
        if !global.titles.is_empty() && !address.is_ok_and(takes_titles) {
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
        if let Some(patience) = global.patience {
            options = options.patience(patience);
        }
        let faults = Faults::default();
        faults.0.lock().unwrap_or_else(PoisonError::into_inner).quiet = global.quiet;
        let source = options.open(&global.source)?;
        let source = Observed { source, faults: faults.clone() };
        Ok(Self { source, faults, language: LanguageId::ENGLISH })
    }

    fn choose_language(&mut self, wanted: Option<LanguageId>) -> Result<LanguageId, Failure> {
        if let Some(language) = wanted {
            return match self.source.titles(language, &Ask::nothing()) {
                Ok(_) => Ok(language),
                Err(error) if error.kind() == SourceErrorKind::NotFound => {
                    Err(Failure::Usage(self.no_such_language(language)))
                }
                Err(error) => Err(error.into()),
            };
        }
        let environment = language_of_environment(|name| std::env::var(name).ok());
        self.usual_language(environment, cfg!(windows))
    }

    /// The language if nobody names one. Windows keeps the user's own language
    /// elsewhere than in variables; its sources list that one first.
    fn usual_language(
        &mut self,
        environment: Option<LanguageId>,
        windows: bool,
    ) -> Result<LanguageId, Failure> {
        let mine = match environment {
            None if windows && self.source.is_live() => {
                self.source.catalogue(&Ask::nothing())?.languages.first().copied()
            }
            environment => environment,
        };
        for language in mine.into_iter().chain([LanguageId::ENGLISH]) {
            match self.source.titles(language, &Ask::nothing()) {
                Ok(_) => return Ok(language),
                // Asked again, who hangs would only say that it is busy.
                Err(error) if error.is_transient() => return Err(error.into()),
                Err(_) => {}
            }
        }
        // A recording may have names in one other language only.
        let catalogue = self.source.catalogue(&Ask::everything())?;
        Ok(catalogue.languages.first().copied().unwrap_or(LanguageId::ENGLISH))
    }

    fn no_such_language(&mut self, language: LanguageId) -> String {
        let name = |id: LanguageId| id.name().map_or_else(|| id.to_string(), str::to_string);
        let have =
            self.source.catalogue(&Ask::nothing()).map(|catalogue| catalogue.languages.clone());
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
    let list = perfhive::read_titles(file)?;
    if let (Some(first), false) = (list.faults.first(), quiet) {
        let more = match list.fault_count() {
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

    /// Windows' own words name the command, and the machine it is to be run on.
    #[test]
    fn one_way_out_is_told() {
        let fault = |words: &str| Fault::new(FaultKind::Quarantined, "Shop", words);
        let line = told(&fault("was slow too often"));
        assert!(line.ends_with("--enable \"Shop\" has it asked again"), "{line}");
        let line = told(&fault("is disabled; `lodctr /E:Shop`, run on BOX, enables it"));
        assert!(line.ends_with("enables it"), "{line}");
    }

    /// Hangs at first, and is busy with that from then on.
    struct Hangs(bool);

    impl Hangs {
        fn error(&mut self) -> SourceError {
            let (kind, message) = match std::mem::replace(&mut self.0, true) {
                false => (SourceErrorKind::Deadline, "did not answer in time"),
                true => (SourceErrorKind::Busy, "still busy"),
            };
            SourceError::new(kind, "hangs:", message)
        }
    }

    impl Source for Hangs {
        fn name(&self) -> &str {
            "hangs:"
        }

        fn collect(&mut self, _: &Ask, _: &mut Snapshot) -> Result<(), SourceError> {
            Err(self.error())
        }

        fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            Err(self.error())
        }
        fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
            Err(self.error())
        }
    }

    #[test]
    fn a_source_that_hangs_is_told_as_that() {
        let source = Observed { source: Box::new(Hangs(false)), faults: Faults::default() };
        let faults = Faults::default();
        let mut session = Session { source, faults, language: LanguageId::ENGLISH };
        let failure = session.usual_language(None, false).unwrap_err();
        // The first failure, and not that it is busy with that still.
        let told = matches!(&failure, Failure::Source(text) if text.contains("in time"));
        assert!(told, "{failure:?}");
    }

    /// Has names in two languages, of which the user's own comes first.
    struct German;

    impl Source for German {
        fn name(&self) -> &str {
            "german:"
        }

        fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
            out.clear();
            Ok(())
        }

        fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            let languages = vec![LanguageId::GERMAN, LanguageId::ENGLISH];
            Ok(Arc::new(Catalogue { languages, ..Catalogue::default() }))
        }

        fn titles(
            &mut self,
            language: LanguageId,
            _: &Ask,
        ) -> Result<Arc<TitleDatabase>, SourceError> {
            Ok(Arc::new(TitleDatabase::from_lists(language, &[], &[])))
        }
    }

    #[test]
    fn windows_tells_the_users_language_where_no_variable_does() {
        let source = Observed { source: Box::new(German), faults: Faults::default() };
        let faults = Faults::default();
        let mut session = Session { source, faults, language: LanguageId::ENGLISH };
        let mut usual = |environment, windows| session.usual_language(environment, windows).ok();
        assert_eq!(usual(None, true), Some(LanguageId::GERMAN));
        assert_eq!(usual(Some(LanguageId::ENGLISH), true), Some(LanguageId::ENGLISH));
        assert_eq!(usual(None, false), Some(LanguageId::ENGLISH));
    }

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
