//! The columns of `ps`.

use crate::args::{Global, Ps};
use crate::failure::Failure;
use crate::process::Processes;
use crate::process::alias::{ALIASES, Alias, Form};
use crate::session::Session;
use perfhive::{NamePattern, TitleIndex, nearest};
use perfhive_view::did_you_mean;

/// A column of the list.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The title of the column in a table.
    pub(super) title: String,
    /// The key of the column in rows for programs.
    pub(super) key: String,
    /// The English name of the column's counter; empty for a column without one.
    pub(super) english: String,
    /// The column's counter; `None` for a column without one, such as the name.
    pub(super) counter: Option<TitleIndex>,
    /// The form in which the column's values are written.
    pub(super) form: Form,
    /// Whether the column is left out if the source lacks its counter; otherwise that is an error.
    pub(super) optional: bool,
    /// Whether the column is not shown, but only sorted by.
    pub(super) hidden: bool,
    /// Whether the processes are sorted by this column.
    pub(super) sorted: bool,
}

/// The columns and the order that the command line chose.
pub(super) struct Chosen {
    /// The columns, in their order.
    pub(super) columns: Vec<Column>,
    /// Whether the list is sorted in descending order (`true`) or in ascending order; `None` if it is not sorted.
    pub(super) sort: Option<bool>,
}

/// The columns that are shown if the user chooses none. A column that the source lacks is left out.
const USUAL: &[&str] = &["pid", "owner", "cpu", "ws", "threads", "elapsed", "name"];

/// The words for the columns on the command line, and the word of `--sort`.
fn words(args: &Ps) -> Vec<&str> {
    let words = args.columns.iter().flat_map(|list| list.split(','));
    words.map(str::trim).chain(order(args).map(sort_key)).collect()
}

/// The text of `--sort`; without it `-cpu` (the most processor time first) if `--top` is given,
/// otherwise `None`.
fn order(args: &Ps) -> Option<&str> {
    args.sort.as_deref().or(args.top.map(|_| "-cpu"))
}

/// The column in the text of `--sort`, without the signs before it.
fn sort_key(text: &str) -> &str {
    text.trim().trim_start_matches(['-', '+'])
}

fn find_alias(word: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.alias.eq_ignore_ascii_case(word))
}

fn is_index(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a column is given by neither a short name nor a title index, so that the source's names are needed.
pub(super) fn needs_names(args: &Ps) -> bool {
    words(args).into_iter().any(|word| find_alias(word).is_none() && !is_index(word))
}

/// The columns that the command line asks for, and the order; a failure for an unknown column, and for one that is
/// given twice.
pub(super) fn choose(
    processes: &mut Processes,
    session: &mut Session,
    global: &Global,
    args: &Ps,
) -> Result<Chosen, Failure> {
    let mut columns = Vec::new();
    if args.columns.is_empty() {
        for word in USUAL {
            let column = column(processes, session, global, word)?;
            columns.push(Column { optional: true, ..column });
        }
    } else {
        for word in args.columns.iter().flat_map(|list| list.split(',')).map(str::trim) {
            let column = column(processes, session, global, word)?;
            // The keys of a row are distinct.
            if columns.iter().any(|other: &Column| other.key == column.key) {
                let message = format!("the column {} is given twice", column.key);
                return Err(Failure::Usage(message));
            }
            let is_same =
                |other: &&Column| column.counter.is_some() && other.counter == column.counter;
            if let Some(other) = columns.iter().find(is_same) {
                let (word, other) = (&column.key, &other.key);
                let message = format!("the column {word:?} is given twice: it is {other}, too");
                return Err(Failure::Usage(message));
            }
            columns.push(column);
        }
    }
    let mut sort = None;
    if let Some(text) = order(args) {
        let wanted = column(processes, session, global, sort_key(text))?;
        let same = |c: &&mut Column| c.counter == wanted.counter && c.form == wanted.form;
        match columns.iter_mut().find(same) {
            Some(column) => column.sorted = true,
            None => columns.push(Column { hidden: true, sorted: true, ..wanted }),
        }
        sort = Some(text.trim().starts_with('-'));
    }
    Ok(Chosen { columns, sort })
}

/// The column for a word of the command line: a short name, a title index, or the name of a
/// counter. A failure for any other word.
fn column(
    processes: &mut Processes,
    session: &mut Session,
    global: &Global,
    word: &str,
) -> Result<Column, Failure> {
    let column = Column {
        title: String::new(),
        key: String::new(),
        english: String::new(),
        counter: None,
        form: Form::Name,
        optional: false,
        hidden: false,
        sorted: false,
    };
    if let Some(alias) = find_alias(word) {
        let title = alias.alias.to_ascii_uppercase();
        let english = alias.counter.map_or("", |known| known.name).to_string();
        let counter = alias.counter.map(|known| processes.known(known));
        let key = alias.alias.to_string();
        return Ok(Column { title, key, english, counter, form: alias.form, ..column });
    }
    if word.is_empty() {
        return Err(Failure::Usage(
            "a column's name is empty; write them as in pid,name,ws".to_string(),
        ));
    }
    // The word is an index or a name of the source.
    let (object, names) = processes.described(session)?;
    let pattern = NamePattern::literal(word);
    let found = object.counters.iter().find(|counter| names.is_meant(&pattern, counter.name));
    let Some(counter) = found else {
        let counters = object.counters.iter().flat_map(|c| names.titles().names(c.name));
        let known = ALIASES.iter().map(|alias| alias.alias).chain(counters);
        if let Some(reason) = crate::absent::reason(global, "Process", word) {
            return Err(Failure::Usage(reason));
        }
        let meant = match nearest(word, known, 3).as_slice() {
            [] => "; perfhive ps --help lists columns".to_string(),
            found => did_you_mean(found),
        };
        return Err(Failure::Usage(format!("no column {word:?}{meant}")));
    };
    let title = names.name(counter.name).into_owned();
    let english = names.english(counter.name).into_owned();
    let same = |alias: &&Alias| alias.counter.is_some_and(|k| processes.known(k) == counter.name);
    let form = ALIASES.iter().find(same).map_or(Form::Value, |alias| alias.form);
    let counter = Some(counter.name);
    Ok(Column { title, key: english.clone(), english, counter, form, ..column })
}
