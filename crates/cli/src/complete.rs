//! Candidates for a shell's Tab key: objects, counters, instances and columns of the source that the
//! command line names.
//!
//! The script of `perfhive completions` runs the program with [`VARIABLE`] set to the name of the
//! shell. Names that the source does not give in time are not offered.

use crate::args::{self, Arguments, Global, parse};
use crate::process::alias::ALIASES;
use crate::session::Session;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use perfhive::{Ask, CatalogueObject, Snapshot, Source as _, TitleIndex};
use perfhive_view::{Names, SHORT_NAMES};
use std::ffi::{OsStr, OsString};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The environment variable by which a shell asks this program for candidates.
pub(crate) const VARIABLE: &str = "PERFHIVE_COMPLETE";

/// The deadline for candidates: a person waits for Tab.
const DEADLINE: Duration = Duration::from_millis(800);

/// A function that lists candidates for the word being completed.
type Candidates = fn(&OsStr) -> Vec<CompletionCandidate>;

/// The arguments that Tab completes with names of the source: the command, its argument, and
/// the function for the candidates.
const NAMES_OF_SOURCE: &[(&str, &str, Candidates)] = &[
    ("list", "object", objects),
    ("explain", "paths", paths),
    ("get", "paths", paths),
    ("watch", "paths", paths),
    ("view", "paths", paths),
    ("plot", "paths", paths),
    ("enum", "objects", objects),
    ("record", "objects", objects),
    ("capture", "objects", objects),
    ("typeperf", "paths", paths),
    ("get", "sort", counters),
    ("watch", "sort", counters),
    ("workset", "name", processes),
    ("ps", "columns", columns),
    ("ps", "sort", columns),
    ("ps", "names", processes),
    ("measure", "sensors", paths),
];

/// The description of the command line, with the candidates for its arguments.
pub(crate) fn description() -> clap::Command {
    NAMES_OF_SOURCE.iter().fold(args::description(), |all, (command, argument, candidates)| {
        all.mut_subcommand(command, |command| {
            command.mut_arg(argument, |arg| arg.add(ArgValueCompleter::new(*candidates)))
        })
    })
}

/// The word on the command line that is completed.
struct Word {
    /// The text that the shell would pass to the program.
    text: String,
    /// Whether candidates need a backslash before characters that have a meaning in bash.
    escaped: bool,
}

impl Word {
    fn of(current: &OsStr) -> Self {
        let typed = std::env::var_os("PERFHIVE_WORD");
        let raw = typed.as_deref().unwrap_or(current).to_string_lossy();
        if let Some(quoted) = raw.strip_prefix(['\'', '"']) {
            return Self { text: quoted.to_string(), escaped: false };
        }
        let escaped = typed.is_some();
        let mut text = String::new();
        let mut characters = raw.chars();
        while let Some(c) = characters.next() {
            text.extend(if c == '\\' && !cfg!(windows) { characters.next() } else { Some(c) });
        }
        Self { text, escaped }
    }

    /// The candidates that begin with the word, without regard to case; if any begins with it in
    /// the same case, only such candidates.
    fn matching(&self, all: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
        let wanted = self.text.to_lowercase();
        let fits = all.into_iter().filter(|one| one.to_lowercase().starts_with(&wanted));
        let mut fits: Vec<String> = fits.collect();
        // A shell replaces the word by the beginning that all candidates share. If candidates differ in case,
        // this beginning is shorter than the typed text.
        if fits.iter().any(|one| one.starts_with(&self.text)) {
            fits.retain(|one| one.starts_with(&self.text));
        }
        let written = |one: String| if self.escaped { escaped(&one) } else { one };
        fits.into_iter().map(|one| CompletionCandidate::new(written(one))).collect()
    }
}

/// The text with a backslash before each ASCII character that bash may not take as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !"-_./:,%+@".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The result of `work` if it is ready before [`DEADLINE`] has passed; `None` otherwise.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(DEADLINE).ok().flatten()
}

/// The options of the completed command line that choose the source and the language of its names; `None` if they are
/// invalid. An option is found only if its value is a word of its own, not in `--source=ADDRESS`.
fn global() -> Option<Global> {
    let words: Vec<OsString> =
        std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let mut chosen: Vec<OsString> = vec!["perfhive".into(), "list".into(), "--quiet".into()];
    for (place, option) in words.iter().enumerate() {
        if ["-s", "--source", "--titles", "--language"].iter().any(|name| option == name) {
            let mut value = words.get(place + 1)?.clone();
            // bash splits words at a colon, and passes the colon as a word.
            for pair in words.get(place + 2..)?.chunks(2) {
                let [colon, rest] = pair else { break };
                if colon != ":" {
                    break;
                }
                value.push(":");
                value.push(rest);
            }
            chosen.extend([option.clone(), value]);
        }
    }
    let Arguments { mut global, .. } = parse(chosen.into_iter()).ok()?;
    global.patience = Some(DEADLINE / 2);
    Some(global)
}

/// A source with the names of its objects.
struct Known {
    session: Session,
    names: Names,
}

impl Known {
    fn open() -> Option<Self> {
        let mut session = Session::open(&global()?).ok()?;
        let mut names = Names::load(&mut session.source, session.language).ok()?;
        // Objects that cannot be found out are not offered.
        names.find_out(&mut session.source, &perfhive::NamePattern::any());
        Some(Self { session, names })
    }

    fn object(&self, name: &str) -> Option<&CatalogueObject> {
        self.names.catalogue.object_named(self.names.titles(), name).ok()
    }

    /// The names of an index: in the shown language, and in English if that differs.
    fn named(&self, index: TitleIndex) -> impl Iterator<Item = String> {
        let (shown, english) = (self.names.name(index), self.names.english(index));
        let other = (shown != english).then(|| english.into_owned());
        std::iter::once(shown.into_owned()).chain(other)
    }

    /// The names of an object's counters: in the shown language, and in English if that differs.
    fn counters(&self, object: &CatalogueObject) -> Vec<String> {
        object.counters.iter().flat_map(|one| self.named(one.name)).collect()
    }

    /// The labels of the present instances of an object; none if it cannot be collected.
    fn instances(&mut self, object: &CatalogueObject) -> Vec<String> {
        let mut snapshot = Snapshot::new();
        let asked = Ask::objects(&[object.name]);
        if self.session.source.collect(&asked, &mut snapshot).is_err() {
            return Vec::new();
        }
        let labels = snapshot.object(object.name).map(|object| object.labels());
        // Labels are offered as people type them: a slash in a name needs no escape.
        labels.into_iter().flatten().map(|label| label.plain()).collect()
    }
}

/// Candidates for the name of an object; none if the source does not answer before [`DEADLINE`].
fn objects(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = in_time(|| {
        let known = Known::open()?;
        let objects = known.names.catalogue.objects.iter();
        Some(objects.flat_map(|object| known.named(object.name)).collect::<Vec<_>>())
    });
    Word::of(current).matching(found.unwrap_or_default())
}

/// Candidates for the name of a process; none if the source does not answer before [`DEADLINE`].
pub(crate) fn processes(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = in_time(|| {
        let mut known = Known::open()?;
        let process = known.object("Process").cloned()?;
        let mut names = known.instances(&process);
        // Names with a number are left out: `ps` lists all processes of a name.
        names.retain(|name| name != "_Total" && !name.contains('#'));
        Some(names)
    });
    Word::of(current).matching(found.unwrap_or_default())
}

/// Candidates for `--sort`: its words, and the names of all counters.
fn counters(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = in_time(|| {
        let known = Known::open()?;
        let objects = known.names.catalogue.objects.iter();
        let mut all: Vec<String> = objects.flat_map(|object| known.counters(object)).collect();
        all.sort();
        all.dedup();
        Some(all)
    });
    let words = ["value", "name", "source"].map(str::to_string);
    Word::of(current).matching(words.into_iter().chain(found.unwrap_or_default()))
}

/// Candidates for the columns of `ps`: short names and counters of Process, behind the columns typed before.
fn columns(current: &OsStr) -> Vec<CompletionCandidate> {
    let word = Word::of(current);
    let found = in_time(|| {
        let known = Known::open()?;
        Some(known.object("Process").map(|process| known.counters(process)).unwrap_or_default())
    });
    // A candidate follows the columns before it, and the sign of a sort order.
    let start = word.text.rfind(',').map_or(0, |comma| comma + 1);
    let sign = word.text.get(start..).is_some_and(|last| last.starts_with(['-', '+']));
    let chosen = word.text.get(..start + usize::from(sign)).unwrap_or_default().to_string();
    let all = ALIASES.iter().map(|alias| alias.alias.to_string());
    word.matching(all.chain(found.unwrap_or_default()).map(|one| format!("{chosen}{one}")))
}

/// Candidates for a counter path, part by part (object, instance, counter), and short names.
fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    let word = Word::of(current);
    let typed = word.text.clone();
    let short = SHORT_NAMES.iter().map(|(name, _)| (*name).to_string());
    let found = in_time(move || Some(paths_in(&mut Known::open()?, &typed))).unwrap_or_default();
    word.matching(found.into_iter().chain(short))
}

/// The candidates for the last part of a typed path, each as a whole path up to this part. They
/// need not begin with what is typed.
fn paths_in(known: &mut Known, typed: &str) -> Vec<String> {
    // The path is continued with the separators that were typed: backslashes or slashes.
    let (root, mark) = match (typed.strip_prefix('\\'), typed.strip_prefix('/')) {
        (Some(_), _) => ("\\", '\\'),
        (_, Some(_)) => ("/", '/'),
        _ => ("", '/'),
    };
    let rest = typed.get(root.len()..).unwrap_or_default();
    let name = rest.split(['(', mark]).next().unwrap_or_default();
    let end = rest.get(name.len()..).unwrap_or_default();
    if end.is_empty() {
        let paths = |object: &CatalogueObject| {
            let next = if object.has_instances { '(' } else { mark };
            known.named(object.name).map(move |name| format!("{root}{name}{next}"))
        };
        return known.names.catalogue.objects.iter().flat_map(paths).collect();
    }
    let Some(object) = known.object(name).cloned() else { return Vec::new() };
    let closed = format!("){mark}");
    let head = match rest.rfind(&closed) {
        Some(close) => rest.get(..close + closed.len()),
        None if end.starts_with(mark) => rest.get(..=name.len()),
        None => None,
    };
    match head {
        Some(head) => {
            let counters = known.counters(&object).into_iter();
            counters.map(|counter| format!("{root}{head}{counter}")).collect()
        }
        None => {
            let all = known.instances(&object).into_iter().chain(["*".to_string()]);
            all.map(|instance| format!("{root}{name}({instance}{closed}")).collect()
        }
    }
}
