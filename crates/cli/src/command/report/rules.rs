//! The thresholds that the command line names.

use crate::args::Report as Args;
use crate::failure::{Failure, warn};
use perfhive_view::report::PalRules;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The most bytes of a file of thresholds; PAL's largest file has 600 kB.
const LARGEST: u64 = 16 << 20;

/// The thresholds of PAL's files, and the answers to their questions.
pub(in crate::command) struct Rules {
    /// The thresholds; if there are none, the built-in ones are used.
    pub(super) pal: PalRules,
    /// The answers to the questions; the key is the variable's name in lower case.
    pub(super) answers: HashMap<String, String>,
}

/// Reads the files of thresholds that the command line names, and those that they inherit from, and notes the
/// answers. An inherited file that cannot be read is left out with a warning.
pub(super) fn read(args: &Args) -> Result<Rules, Failure> {
    let mut rules = Rules { pal: PalRules::default(), answers: HashMap::new() };
    for answer in &args.answers {
        let Some((name, value)) = answer.split_once('=') else {
            let what = format!("--answer {answer}: write NAME=VALUE, such as PhysicalMemory=16");
            return Err(Failure::Usage(what));
        };
        rules.answers.insert(name.trim_start_matches('$').to_lowercase(), value.to_string());
    }
    let mut read = HashSet::new();
    for file in &args.pal {
        let mut waiting = vec![(file.clone(), None)];
        while let Some((file, heir)) = waiting.pop() {
            if !read.insert(std::fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                continue;
            }
            match add(&mut rules.pal, &file) {
                Ok(inherited) => {
                    waiting
                        .extend(inherited.into_iter().rev().map(|one| (one, Some(file.clone()))));
                }
                Err(failure) => match heir {
                    None => return Err(failure),
                    // The thresholds of the named file do not depend on the inherited ones.
                    Some(heir) => warn(&format!(
                        "{}: the thresholds that it inherits are left out: {}",
                        heir.display(),
                        failure.message()
                    )),
                },
            }
        }
    }
    if !args.pal.is_empty() && rules.pal.count() == 0 {
        let names: Vec<_> = args.pal.iter().map(|file| file.display().to_string()).collect();
        return Err(Failure::Source(format!("{} has no thresholds", names.join(", "))));
    }
    Ok(rules)
}

/// Adds the thresholds of a file. Returns the files in the same folder that it inherits from; names
/// with a folder are left out.
fn add(pal: &mut PalRules, file: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed =
        |why: &dyn std::fmt::Display| Failure::Source(format!("{}: {why}", file.display()));
    let found = std::fs::metadata(file).map_err(|error| failed(&error))?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(failed(&"is not a file of thresholds: PAL's are XML of at most 16 MiB"));
    }
    let bytes = std::fs::read(file).map_err(|error| failed(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| failed(&"is not UTF-8, as PAL's files are"))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let inherited = pal.add(&name, &text).map_err(|why| failed(&why))?;
    // Only files beside this one: a name must not lead anywhere else.
    let is_name = |name: &String| {
        Path::new(name).file_name().is_some_and(|only| only == name.as_str())
            && !name.contains('\\')
    };
    Ok(inherited.into_iter().filter(is_name).map(|name| file.with_file_name(name)).collect())
}
