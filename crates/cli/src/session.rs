//! The source that a command reads, and the language in which it shows names.

use crate::args::{Format, Global};
use crate::failure::{Failure, of_source, warn};
use perfhive::engine::InstanceReader;
use perfhive::recording::{Excerpt, MachinePart, MachineParts};
use perfhive::{
    Ask, CalendarTime, Catalogue, Fault, FaultKind, Identity, LanguageId, OpenOptions,
    ProviderStatus, Query, Recording, Snapshot, Source, SourceAddress, SourceError,
    SourceErrorKind, SourceSet, TitleDatabase, TitleIndex,
};
use perfhive_view::Names;
use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A source that notes the faults and the time of each sample. Queries and
/// measurements do not hand out their snapshots, so both are noted here.
pub(crate) struct Observed {
    source: Box<dyn Source>,
    faults: Faults,
    /// Whether a late answer makes the program print a message. This is true only for the first
    /// answer on Windows, for which the system loads the libraries of all providers.
    mentions: bool,
}

impl Source for Observed {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        let collected = self.mentioned(|source| source.collect(ask, out));
        match collected {
            Ok(()) => self.faults.note(out),
            // The end of a recording may have faults, too.
            Err(_) => self.faults.note_faults(out),
        }
        collected
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.mentioned(|source| source.catalogue(ask))
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

    fn instance_reader(
        &mut self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        self.source.instance_reader(object, identity, counters)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        self.source.recording()
    }
}

impl Observed {
    /// The answer of the source to a question. If `mentions` is set, it is cleared, and a message is printed if the
    /// answer takes long.
    fn mentioned<T>(&mut self, question: impl FnOnce(&mut dyn Source) -> T) -> T {
        if !std::mem::take(&mut self.mentions) {
            return question(&mut *self.source);
        }
        let message = format!(
            "waiting for the first answer of {}, for which Windows loads the libraries of all providers: \
             a minute at most",
            self.source.name()
        );
        while_late(Duration::from_secs(3), move || warn(&message), || question(&mut *self.source))
    }

    /// Reads another source from now on; its faults are added to those before.
    pub(crate) fn replace(&mut self, source: Box<dyn Source>) {
        self.source = source;
    }

    /// Whether the source is live, so that waiting brings new samples; `false` for a recording.
    pub(crate) fn is_live(&mut self) -> bool {
        self.source.recording().is_none()
    }
}

/// The result of `work`; if that takes longer than `limit`, `mention` is called meanwhile.
fn while_late<T>(
    limit: Duration,
    mention: impl FnOnce() + Send + 'static,
    work: impl FnOnce() -> T,
) -> T {
    let (answered, waiting) = channel::<()>();
    std::thread::spawn(move || {
        if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            mention();
        }
    });
    let done = work();
    drop(answered);
    done
}

/// The text of a fault, and the provider that it is about; `None` if it is about no provider.
pub(crate) struct FaultLine {
    pub(crate) provider: Option<String>,
    pub(crate) text: String,
}

/// The faults of the collections, each noted once, and the time of the newest sample. Clones share
/// them.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Noted>>);

/// What was noted of the collections so far: the identities of all faults, the faults that were not taken yet, and the
/// time of the newest sample.
#[derive(Default)]
struct Noted {
    known: HashSet<String>,
    fresh: Vec<FaultLine>,
    /// Whether the newest sample has no fault.
    is_clear: bool,
    time: Option<CalendarTime>,
    quiet: bool,
}

impl Faults {
    /// Notes the faults and the time of a sample.
    fn note(&self, snapshot: &Snapshot) {
        self.note_faults(snapshot);
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.time = snapshot.system_time();
        noted.is_clear = snapshot.faults().is_empty();
    }

    fn note_faults(&self, snapshot: &Snapshot) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in snapshot.faults() {
            if noted.known.insert(identity(fault)) {
                let provider = Some(fault.provider.to_string());
                noted.fresh.push(FaultLine { provider, text: told(fault) });
            }
        }
    }

    /// Adds a message, unless it was added before.
    pub(crate) fn add(&self, text: String) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.known.insert(text.clone()) {
            noted.fresh.push(FaultLine { provider: None, text });
        }
    }

    /// Adds a warning if a title list could not be read, so that names are missing.
    pub(crate) fn add_lacks(&self, names: &Names) {
        if let Some(why) = names.titles().lacks() {
            self.add(format!("not all names can be read: {why}"));
        }
    }

    /// The time of the newest sample, as its block gives it; `None` before the first sample and after
    /// [`forget_time`](Self::forget_time), and if the block has no time.
    pub(crate) fn time(&self) -> Option<CalendarTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).time
    }

    /// Forgets the time of the newest sample, so that [`time`](Self::time) is that of a later one.
    pub(crate) fn forget_time(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).time = None;
    }

    /// Whether the newest sample has no fault.
    pub(crate) fn are_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_clear
    }

    /// The faults that are new since the last call; none of them with --quiet.
    pub(crate) fn take(&self) -> Vec<FaultLine> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = std::mem::take(&mut noted.fresh);
        if noted.quiet { Vec::new() } else { fresh }
    }

    /// Prints the faults that are new since the last call as warnings.
    pub(crate) fn report(&self) {
        for fault in self.take() {
            warn(&fault.text);
        }
    }
}

/// The text of a fault; for a quarantine, with the command that ends it.
pub(crate) fn told(fault: &Fault) -> String {
    match fault.kind {
        FaultKind::Quarantined => {
            let name = &fault.provider;
            format!("{fault}; perfhive providers --enable {name:?} enables it")
        }
        _ => fault.to_string(),
    }
}

/// The text by which a repeated fault is recognized: faults with the same text are
/// reported once. It leaves out the message of [`FaultKind::NotYet`], which counts
/// down the remaining wait.
fn identity(fault: &Fault) -> String {
    match fault.kind {
        FaultKind::NotYet => {
            format!("{} {:?} {:?} not yet", fault.provider, fault.object, fault.instance)
        }
        _ => told(fault),
    }
}

/// An open source, and the settings by which it is shown.
pub(crate) struct Session {
    /// The source.
    pub(crate) source: Observed,
    /// The faults of the source's collections.
    pub(crate) faults: Faults,
    /// The language in which names are shown.
    pub(crate) language: LanguageId,
    /// The options of the command line with which the source was opened; `None` for the source of a test.
    global: Option<Box<Global>>,
}

impl Session {
    /// The session for a source that a test provides.
    #[cfg(test)]
    pub(crate) fn of(source: Box<dyn Source>) -> Self {
        let faults = Faults::default();
        let source = Observed { source, faults: faults.clone(), mentions: false };
        Self { source, faults, language: LanguageId::ENGLISH, global: None }
    }

    /// Opens the source that the command line names, and chooses the language.
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        let mut session = Self::open_unnamed(global)?;
        session.language = session.choose_language(global)?;
        Ok(session)
    }

    /// Opens the source for a command that shows no names, without loading
    /// title lists.
    pub(crate) fn open_unnamed(global: &Global) -> Result<Self, Failure> {
        Self::open_with(global, OpenOptions::new())
    }

    /// The options for opening a source that the command line sets.
    pub(crate) fn options(global: &Global) -> OpenOptions {
        Self::completed(OpenOptions::new(), global)
    }

    /// The options `options`, with those of the command line added.
    fn completed(mut options: OpenOptions, global: &Global) -> OpenOptions {
        if let Some(patience) = global.patience {
            options = options.patience(patience);
        }
        if let Some(encoding) = global.encoding {
            options = options.encoding(encoding);
        }
        global.titles.iter().fold(options, |options, file| options.titles(file))
    }

    /// Opens the source with these options, to which those of the command line are added.
    pub(crate) fn open_with(global: &Global, options: OpenOptions) -> Result<Self, Failure> {
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
        }
        let options = Self::completed(options, global);
        let faults = Faults::default();
        faults.0.lock().unwrap_or_else(PoisonError::into_inner).quiet = global.quiet;
        let source = Self::source_of(global, &options)?;
        let mentions = cfg!(windows) && !global.quiet;
        let source = Observed { source, faults: faults.clone(), mentions };
        let global = Some(Box::new(global.clone()));
        Ok(Self { source, faults, language: LanguageId::ENGLISH, global })
    }

    /// Opens the recording that the command line names once more, since it may have grown.
    pub(crate) fn reopen(global: &Global) -> Result<Box<dyn Source>, Failure> {
        Self::source_of(global, &Self::options(global))
    }

    /// The source that the command line names, or the part of a recording that it chooses. It is a failure to
    /// choose a part of a live source.
    fn source_of(global: &Global, options: &OpenOptions) -> Result<Box<dyn Source>, Failure> {
        let mut source = options.open(&global.source)?;
        if Self::chooses_part(global) {
            let every = global.every.unwrap_or(NonZeroU64::MIN);
            if source.recording().is_none() {
                return Err(Self::no_past(global));
            }
            source = Box::new(Excerpt::new(source, global.begin, global.end, every)?);
        }
        Ok(source)
    }

    /// Whether the command line chooses a part of a recording, by `--begin`, `--end` or `--every`.
    pub(crate) fn chooses_part(global: &Global) -> bool {
        global.begin.is_some() || global.end.is_some() || global.every.is_some()
    }

    /// The failure for a command line that chooses a part of a live source, as if it were a recording.
    pub(crate) fn no_past(global: &Global) -> Failure {
        let what =
            "is not a recording, and --begin, --end and --every select a part of a recording";
        Failure::Usage(of_source(&global.source, what))
    }

    /// The language in which names are shown: the one that the command line chooses (a failure if the source lacks it).
    /// If it chooses none, it is English for output to programs and otherwise the user's, or else another one that
    /// [`usual_language`](Self::usual_language) finds.
    fn choose_language(&mut self, global: &Global) -> Result<LanguageId, Failure> {
        if let Some(language) = global.language {
            return match self.source.titles(language, &Ask::nothing()) {
                Ok(_) => Ok(language),
                Err(error) if error.kind() == SourceErrorKind::NotFound => {
                    Err(Failure::Usage(self.no_such_language(language)))
                }
                Err(error) => Err(error.into()),
            };
        }
        // Output for programs does not depend on the user's language.
        if global.format != Format::Table {
            return self.usual_language(Some(LanguageId::ENGLISH), false);
        }
        let environment = language_of_environment(|name| std::env::var(name).ok());
        self.usual_language(environment, cfg!(windows))
    }

    /// The language if the command line chooses none: that of the environment, or else English, or
    /// else the first that the source has. Windows has no variable for the user's language; its
    /// sources list that language first.
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
                // A source that hangs would answer the next question with Busy,
                // which would hide the cause.
                Err(error) if error.is_transient() => return Err(error.into()),
                Err(_) => {}
            }
        }
        // A recording may have names in one language only, which need not be English.
        let catalogue = self.source.catalogue(&Ask::everything())?;
        Ok(catalogue.languages.first().copied().unwrap_or(LanguageId::ENGLISH))
    }

    /// The message for a language that the source lacks, with those that it has.
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

    /// The machines that a recording has counters of; the recording's own machine is the first. Only
    /// the first sample is looked at, or all samples if the recording has several files, since a later
    /// file may have a further machine. Afterwards the recording is at its beginning.
    pub(crate) fn machines(&mut self) -> Result<Vec<String>, SourceError> {
        let address = self.global.as_ref().and_then(|global| global.source.parse().ok());
        let is_joined = address.is_some_and(|address: SourceAddress| address.files().len() > 1);
        let mut sample = Snapshot::new();
        let mut machines: Vec<String> = Vec::new();
        loop {
            match self.source.collect(&Ask::everything(), &mut sample) {
                Ok(()) => {}
                Err(error) if error.is_end_of_data() => break,
                Err(error) => return Err(error),
            }
            for frame in sample.frames() {
                if !machines.iter().any(|known| known == frame.machine()) {
                    machines.push(frame.machine().to_string());
                }
            }
            if !is_joined {
                break;
            }
        }
        if let Some(recording) = self.source.recording() {
            recording.seek(None)?;
        }
        Ok(machines)
    }

    /// The same session, with only the part of its recording that is about this machine.
    pub(crate) fn of_machine(mut self, machine: &str) -> Self {
        self.source.source = Box::new(MachinePart::new(self.source.source, machine));
        self
    }

    /// A query over the source. Paths of a recording may name each machine that it has counters of.
    pub(crate) fn query(mut self) -> Result<Query, Failure> {
        let is_live = self.source.is_live();
        // In a recording without samples no counter is found. If damage is the reason, collecting reports it.
        if self.source.recording().is_some_and(|one| one.span().is_ok_and(|span| span.samples == 0))
        {
            let _ = self.source.collect(&Ask::everything(), &mut Snapshot::new());
            self.faults.report();
        }
        let mut set = SourceSet::new(self.source);
        if let (false, Some(global)) = (is_live, self.global) {
            let global = Global { quiet: true, ..*global };
            let (faults, mut parts) = (self.faults, None);
            set = set.with_opener(move |machine| {
                let parts = match parts.take() {
                    Some(opened) => parts.insert(opened),
                    None => parts.insert(machine_parts(&global, &faults)?),
                };
                parts.part(machine).ok_or_else(|| {
                    let why = "has no such machine";
                    SourceError::new(SourceErrorKind::NotFound, &global.source, why)
                })
            });
        }
        Ok(Query::over(set, self.language)?)
    }
}

/// The recording that the command line names, divided into one part for each machine. The faults and the time of their
/// samples are added to `faults`.
fn machine_parts(global: &Global, faults: &Faults) -> Result<MachineParts, SourceError> {
    let (global, faults) = (global.clone(), faults.clone());
    let session = move || {
        let mut session = Session::open_unnamed(&global).map_err(|failure| {
            let kind = SourceErrorKind::Unavailable;
            SourceError::new(kind, &global.source, failure.message())
        })?;
        session.source.faults = faults.clone();
        Ok::<_, SourceError>(session)
    };
    let mut first = session()?;
    let machines = first.machines()?;
    let open = move || Ok(Box::new(session()?.source) as Box<dyn Source>);
    Ok(MachineParts::new(Box::new(first.source), machines, open))
}

/// Warns of the lines of a title list that are skipped, unless `quiet`; a failure if the list cannot be read.
pub(crate) fn warn_about_titles(file: &Path, quiet: bool) -> Result<(), Failure> {
    let list = perfhive::recording::read_titles(file)?;
    if let (Some(first), false) = (list.faults.first(), quiet) {
        let more = match list.fault_count() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        warn(&format!("{}: {first}{more}", file.display()));
    }
    Ok(())
}

/// The language of the environment: the first of LC_ALL, LC_MESSAGES and LANG that is set decides,
/// as for other programs. `None` if it names no language, and if none is set.
fn language_of_environment(variable: impl Fn(&str) -> Option<String>) -> Option<LanguageId> {
    let value = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))?;
    // Only codes count: a number in the variable means something else.
    value.starts_with(|c: char| c.is_ascii_lowercase()).then(|| value.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_is_mentioned_and_one_in_time_is_not() {
        let (mention, mentioned) = channel();
        let again = mention.clone();
        let answer =
            while_late(Duration::ZERO, move || mention.send(()).unwrap(), || mentioned.recv());
        assert!(answer.is_ok());
        while_late(Duration::from_secs(3600), move || again.send(()).unwrap(), || ());
        assert!(mentioned.recv().is_err(), "the thread has ended without an error");
    }

    #[test]
    fn every_call_is_handed_through_with_its_ask() {
        let wrap = |source| -> Box<dyn Source> {
            Box::new(Observed { source, faults: Faults::default(), mentions: true })
        };
        perfhive_testkit::forwarding::source(wrap, |objects| objects);
        perfhive_testkit::forwarding::instance_reader(wrap);
    }

    #[test]
    fn quarantined_names_the_option_and_disabled_its_own_command() {
        let line = told(&Fault::new(FaultKind::Quarantined, "Shop", "was slow too often"));
        assert!(line.ends_with("--enable \"Shop\" enables it"), "{line}");
        let words = "is disabled; `lodctr /E:Shop`, run on BOX, enables it";
        let line = told(&Fault::new(FaultKind::Disabled, "Shop", words));
        assert!(line.ends_with(words), "{line}");
    }

    #[test]
    fn a_wait_that_gets_shorter_is_reported_once() {
        let wait = |words| identity(&Fault::new(FaultKind::NotYet, "Shop", words));
        assert_eq!(wait("starts again in 3 s"), wait("starts again in 2 s"));
    }

    /// A source that answers the first question with the error Deadline and all later ones with Busy; its field is
    /// whether it was asked before.
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
    fn a_hanging_source_is_reported_as_deadline_not_as_busy() {
        let mut session = Session::of(Box::new(Hangs(false)));
        let failure = session.usual_language(None, false).unwrap_err();
        let told = matches!(&failure, Failure::Source(text) if text.contains("in time"));
        assert!(told, "{failure:?}");
    }

    /// A source with names in two languages, of which the user's is the first.
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
            Ok(Arc::new(Catalogue::new("", languages, Vec::new())))
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
    fn without_variables_windows_takes_the_first_language_of_the_source() {
        let mut session = Session::of(Box::new(German));
        let mut usual = |environment, windows| session.usual_language(environment, windows).ok();
        assert_eq!(usual(None, true), Some(LanguageId::GERMAN));
        assert_eq!(usual(Some(LanguageId::ENGLISH), true), Some(LanguageId::ENGLISH));
        assert_eq!(usual(None, false), Some(LanguageId::ENGLISH));
    }

    #[test]
    fn the_first_variable_that_is_set_chooses_the_language() {
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
