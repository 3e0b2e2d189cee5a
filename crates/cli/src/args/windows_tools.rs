//! The flags of typeperf and relog, as Windows' tools take them: `-sc 3`, `/SC 3`, `-config FILE`.

use super::{Global, value};
use crate::text::{decoded, read_list};
use clap::{Arg, ArgAction, Args, Command, ValueEnum};
use perfhive::recording::TimeBound;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The Windows tools that perfhive has as commands, each with its flags without the dash.
const TOOLS: [(&str, &[&str]); 2] = [
    ("typeperf", &["f", "cf", "si", "o", "q", "qx", "sc", "config", "s", "y"]),
    ("relog", &["a", "c", "cf", "f", "t", "o", "b", "e", "config", "q", "y"]),
];

fn tool(text: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    TOOLS.iter().find(|(name, _)| text.eq_ignore_ascii_case(name))
}

/// An error message of the parser in which the options of this program (`--sc`) are replaced by the flags of Windows'
/// tools: as they were typed (`/SC`), or with one dash if they were not. Unchanged if no such tool was called.
pub(crate) fn as_typed(message: &str, args: impl Iterator<Item = OsString>) -> String {
    let args: Vec<OsString> = args.collect();
    let called = args.first().map(Path::new).and_then(Path::file_stem);
    let named = args.get(place_of_command(&args)).map(OsString::as_os_str);
    let named = [called, named].into_iter().flatten();
    let Some((_, flags)) = named.filter_map(|word| tool(word.to_str()?)).next() else {
        return message.to_string();
    };
    let typed = |flag: &str| {
        let mut words = args.iter().filter_map(|word| word.to_str());
        let is_it = |word: &str| {
            word.strip_prefix(['-', '/']).is_some_and(|word| word.eq_ignore_ascii_case(flag))
        };
        words.find(|word| is_it(word)).map_or(format!("-{flag}"), str::to_string)
    };
    // Options stand in quotes, alone or before the name of their value.
    flags.iter().fold(message.to_string(), |message, flag| {
        let (option, typed) = (format!("'--{flag}"), format!("'{}", typed(flag)));
        let alone = message.replace(&format!("{option}'"), &format!("{typed}'"));
        alone.replace(&format!("{option} "), &format!("{typed} "))
    })
}

/// The place in `args` of the command's name: the first word behind the program's name that is neither a global
/// option nor its value. This is behind the last word if there is no command.
fn place_of_command(args: &[OsString]) -> usize {
    let globals = Global::augment_args(Command::new("perfhive"));
    let takes_value = |is_it: &dyn Fn(&Arg) -> bool| {
        globals.get_arguments().any(|arg| is_it(arg) && arg.get_action().takes_values())
    };
    let mut place = 1;
    while let Some(option) = args.get(place).and_then(|word| word.to_str()?.strip_prefix('-')) {
        let is_value_next = match option.strip_prefix('-') {
            // One with its value in the same word (`--format=csv`) has another name than all options.
            Some(name) => takes_value(&|arg| arg.get_long() == Some(name)),
            // What follows the letter of an option with a value is that value.
            None => (option.char_indices())
                .find(|(_, letter)| takes_value(&|arg| arg.get_short() == Some(*letter)))
                .is_some_and(|(at, letter)| at + letter.len_utf8() == option.len()),
        };
        place += 1 + usize::from(is_value_next);
    }
    place
}

/// The command line with the flags of Windows' tools turned into options of this program: otherwise a flag of
/// several letters behind one dash would be read as several options. If this program was called by the name of a
/// tool, that name is inserted as the command.
///
/// # Errors
/// If `-config` names no file, or its settings file cannot be read or parsed or names another settings file.
pub(super) fn translated(args: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let mut args: Vec<OsString> = args.collect();
    let called = args.first().map(Path::new).and_then(Path::file_stem);
    if let Some((name, _)) = called.and_then(|name| tool(name.to_str()?)) {
        args.insert(1, name.into());
    }
    let begin = place_of_command(&args) + 1;
    let Some((_, flags)) = args.get(begin - 1).and_then(|word| tool(word.to_str()?)) else {
        return Ok(args);
    };
    let is_settings = |word: &OsString| {
        let flag = word.to_str().and_then(|word| word.strip_prefix(['-', '/']));
        flag.is_some_and(|flag| flag.eq_ignore_ascii_case("config"))
    };
    while let Some(place) = args.iter().skip(begin).position(is_settings).map(|place| place + begin)
    {
        let Some(file) = args.get(place + 1) else {
            return Err("-config: name a settings file".to_string());
        };
        let words = settings(Path::new(file))?;
        if words.iter().any(is_settings) {
            return Err(format!("{}: a settings file names no other", Path::new(file).display()));
        }
        args.splice(place..place + 2, words);
    }
    for word in args.iter_mut().skip(begin) {
        let Some(flag) = word.to_str().and_then(|word| word.strip_prefix(['-', '/'])) else {
            continue;
        };
        let flag = flag.to_ascii_lowercase();
        if flag == "?" {
            *word = "--help".into();
        } else if flags.contains(&flag.as_str()) {
            *word = format!("--{flag}").into();
        }
    }
    Ok(args)
}

/// The words of a settings file: flags and their values, as on a command line. Lines that
/// begin with `;` are comments. The word `-i` is dropped: it stands for the files of the command line, which
/// are read in any case.
fn settings(file: &Path) -> Result<Vec<OsString>, String> {
    let text = read_list(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let text = decoded(&text).ok_or_else(|| {
        format!("{}: is neither UTF-8 nor UTF-16 with its mark; save it as UTF-8", file.display())
    })?;
    let lines = text.lines();
    let mut words: Vec<String> = Vec::new();
    for line in lines.filter(|line| !line.trim_start().starts_with(';')) {
        let (mut is_quoted, mut is_word) = (false, false);
        for letter in line.chars() {
            if letter == '"' {
                is_quoted = !is_quoted;
            } else if letter.is_whitespace() && !is_quoted {
                is_word = false;
                continue;
            }
            if !std::mem::replace(&mut is_word, true) {
                words.push(String::new());
            }
            words
                .last_mut()
                .into_iter()
                .filter(|_| letter != '"')
                .for_each(|word| word.push(letter));
        }
        if is_quoted {
            return Err(format!("{}: a quote is not closed in {line:?}", file.display()));
        }
    }
    words.retain(|word| !matches!(word.as_str(), "-i" | "/i" | "-I" | "/I"));
    Ok(words.into_iter().map(OsString::from).collect())
}

/// The forms of log files that `-f` of Windows' tools can name. A database is a valid form, but perfhive refuses to
/// write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolForm {
    Csv,
    Tsv,
    /// perfmon's binary form.
    Bin,
    /// A database.
    Sql,
}

#[derive(Debug, Args)]
pub(crate) struct Typeperf {
    #[arg(value_parser = value::path)]
    pub(crate) paths: Vec<String>,
    #[arg(long = "f", value_enum, ignore_case = true, default_value = "csv")]
    pub(crate) form: ToolForm,
    #[arg(long = "cf")]
    pub(crate) counters: Option<PathBuf>,
    #[arg(long = "si", value_parser = value::clock, default_value = "1")]
    pub(crate) interval: Duration,
    #[arg(long = "o")]
    pub(crate) output: Option<PathBuf>,
    #[arg(long = "q", num_args = 0..=1, default_missing_value = "*", conflicts_with = "expanded")]
    pub(crate) listed: Option<String>,
    #[arg(long = "qx", num_args = 0..=1, default_missing_value = "*")]
    pub(crate) expanded: Option<String>,
    #[arg(long, value_name = "N", value_parser = value::speed, conflicts_with = "interval")]
    pub(crate) speed: Option<f64>,
    #[arg(long = "sc", value_parser = value::count)]
    pub(crate) count: Option<u64>,
    #[arg(long = "s")]
    pub(crate) host: Option<String>,
    #[arg(long = "y")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Relog {
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    #[arg(long = "a")]
    pub(crate) append: bool,
    #[arg(long = "c", num_args = 1.., action = ArgAction::Append, value_parser = value::path)]
    pub(crate) paths: Vec<String>,
    #[arg(long = "cf")]
    pub(crate) counters: Option<PathBuf>,
    #[arg(long = "f", value_enum, ignore_case = true, default_value = "bin")]
    pub(crate) form: ToolForm,
    #[arg(long = "t", value_parser = value::every)]
    pub(crate) every: Option<NonZeroU64>,
    #[arg(long = "o")]
    pub(crate) output: Option<PathBuf>,
    #[arg(long = "b", value_parser = value::date_of_windows)]
    pub(crate) begin: Option<TimeBound>,
    #[arg(long = "e", value_parser = value::date_of_windows)]
    pub(crate) end: Option<TimeBound>,
    #[arg(long = "q")]
    pub(crate) listed: bool,
    #[arg(long = "y")]
    pub(crate) yes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vec<String> {
        let words = words.iter().map(OsString::from);
        translated(words).unwrap().into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn flags_of_windows_become_options_only_of_its_tools() {
        assert_eq!(
            of(&["perfhive", "typeperf", r"\a\b", "-SC", "3", "/si", "1", "-?"]),
            ["perfhive", "typeperf", r"\a\b", "--sc", "3", "--si", "1", "--help"]
        );
        assert_eq!(of(&["/x/typeperf", "-q"]), ["/x/typeperf", "typeperf", "--q"]);
        assert_eq!(of(&["Relog.exe", "a.blg", "-o"]), ["Relog.exe", "relog", "a.blg", "--o"]);
        assert_eq!(of(&["perfhive", "get", "-q", "x"]), ["perfhive", "get", "-q", "x"]);
        // Global options in front keep their own letters.
        assert_eq!(
            of(&["perfhive", "-q", "--titles", "relog", "-qs", "relog", "typeperf", "-f", "TSV"]),
            ["perfhive", "-q", "--titles", "relog", "-qs", "relog", "typeperf", "--f", "TSV"]
        );
        assert_eq!(
            of(&["perfhive", "--every=2", "-sfile:a", "--raw", "relog", "-q"]),
            ["perfhive", "--every=2", "-sfile:a", "--raw", "relog", "--q"]
        );
        assert_eq!(of(&["perfhive", "-s", "relog", "get", "-f"]).last().unwrap(), "-f");
        assert_eq!(of(&["perfhive", "relog", "/tmp/b"]), ["perfhive", "relog", "/tmp/b"]);
    }

    #[test]
    fn words_of_a_settings_file_take_its_place() {
        let file = std::env::temp_dir().join(format!("perfhive-settings-{}", std::process::id()));
        let text = "; counters\r\n-c \"\\A(x y)\\% b\" \\c\\d\r\n  -f  CSV -i\r\n";
        std::fs::write(&file, text).unwrap();
        let name = file.display().to_string();
        assert_eq!(
            of(&["perfhive", "relog", "a.blg", "/Config", &name, "-y"]),
            ["perfhive", "relog", "a.blg", "--c", r"\A(x y)\% b", r"\c\d", "--f", "CSV", "--y"]
        );
        let wrong = |text: &str, words: &[&str]| {
            std::fs::write(&file, text).unwrap();
            translated(words.iter().map(OsString::from)).unwrap_err()
        };
        let all = ["perfhive", "relog", "-config", &name];
        assert!(wrong("-o \"a", &all).contains("not closed"));
        assert!(wrong("-config b", &all).contains("names no other"));
        assert!(wrong("", &["perfhive", "relog", "-config"]).contains("name a settings file"));
        std::fs::remove_file(&file).unwrap();
        assert!(translated(all.iter().map(OsString::from)).unwrap_err().contains(&name));
    }
}
