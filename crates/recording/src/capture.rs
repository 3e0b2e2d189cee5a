//! Recorded answers in a folder: raw data blocks, titles, and a manifest.
//!
//! A [`Capture`] writes a source's answers unchanged, so that they can be read on another
//! machine: `file:FOLDER` opens them with the names of their own machine. Every sample is
//! complete in the manifest before the next one begins, so that a killed program leaves a
//! readable capture.
//!
//! ```no_run
//! use perfhive_engine::{ObjectQuery, Query, Ask, Snapshot, Source};
//! use perfhive_recording::{Capture, CaptureOptions, open};
//! # fn of(mut source: Box<dyn Source>) -> Result<(), Box<dyn std::error::Error>> {
//! let mut capture = Capture::create("today", &mut source, &CaptureOptions::new())?;
//! let mut snapshot = Snapshot::new();
//! for _ in 0..2 {
//!     source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot)?;
//!     capture.add(&[&snapshot])?;
//! }
//! capture.finish()?;
//! let query = Query::new(open("file:today", &["today".into()], &[], None)?)?;
//! # Ok(()) }
//! ```

use crate::files::write_error;
use crate::manifest::{self, Manifest, is_capture};
use crate::pseudonyms::Pseudonyms;
use perfhive_engine::{
    Ask, ObjectQuery, Snapshot, Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::TitleIndex;
use perfhive_format::titles::{Title, TitleList};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of a capture.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    hash_names: bool,
    queries: Vec<ObjectQuery>,
    interval: Option<Duration>,
    system: Option<String>,
}

impl CaptureOptions {
    /// The default options: names are not hashed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the name of the machine and those of instances are replaced by hashes, and texts in counters are
    /// blanked. Names that every machine has (`_Total`, `0`, `svchost`) stay. A name has one hash in a capture and
    /// another hash in the next, so that names cannot be looked up. The manifest then has no messages of faults, and of
    /// the source's address only the scheme.
    #[must_use]
    pub fn hash_names(mut self, hash: bool) -> Self {
        self.hash_names = hash;
        self
    }

    /// Sets which queries make up a sample, for the manifest. If all of them are lists of objects,
    /// the source is asked for the titles of these objects only.
    #[must_use]
    pub fn queries(mut self, queries: &[ObjectQuery]) -> Self {
        self.queries = queries.to_vec();
        self
    }

    /// Notes in the manifest the time between two samples.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// Notes in the manifest the operating system that the source runs on, with version and
    /// architecture (`linux 6.1 x86_64`).
    #[must_use]
    pub fn system(mut self, system: Option<String>) -> Self {
        self.system = system;
        self
    }

    /// The objects that samples ask for; `None` if samples may have any objects.
    fn objects(&self) -> Option<Vec<TitleIndex>> {
        let list = |query: &ObjectQuery| match query {
            ObjectQuery::Indexes(list) => Some(list.clone()),
            ObjectQuery::Global | ObjectQuery::Costly | ObjectQuery::Foreign(_) => None,
        };
        let lists: Option<Vec<_>> = self.queries.iter().map(list).collect();
        lists.filter(|lists| !lists.is_empty()).map(|lists| lists.concat())
    }
}

/// The largest number of faults of a sample in the manifest, which bounds the length of a line.
const FAULTS: usize = 1000;

/// A folder that samples are written to, with a manifest and title lists.
#[derive(Debug)]
pub struct Capture {
    folder: PathBuf,
    manifest: Manifest,
    names: Option<Pseudonyms>,
    samples: u64,
    blocks: u64,
    bytes: u64,
    faults: Vec<SourceError>,
}

impl Capture {
    /// Makes the folder of a capture, and writes the titles of every language that can be read from
    /// the source.
    ///
    /// # Errors
    /// If the folder exists and is not empty, cannot be written to, or if the source cannot be
    /// read.
    pub fn create(
        folder: impl AsRef<Path>,
        source: &mut dyn Source,
        options: &CaptureOptions,
    ) -> Result<Self, SourceError> {
        let folder = folder.as_ref();
        // Before the folder is made: a source that cannot be read leaves no folder behind.
        let wanted = options.objects();
        let ask = wanted.as_deref().map_or(Ask::everything(), Ask::objects);
        let catalogue = source.catalogue(&ask)?;
        let mut titles = Vec::new();
        let mut faults = Vec::new();
        for language in &catalogue.languages {
            match source.titles(*language, &ask) {
                Ok(database) => {
                    faults.extend(database.lacks().map(|why| (*language, why.clone())));
                    titles.push(database);
                }
                // A language that is listed but missing is left out.
                Err(error) if error.kind() == SourceErrorKind::NotFound => {}
                Err(error) if error.is_transient() => return Err(error),
                // A damaged one is left out as well, with a fault: the damage may be the reason for the capture.
                Err(error) => faults.push((*language, error)),
            }
        }
        make_folder(folder)?;
        let names = options.hash_names.then(Pseudonyms::new);
        let hashed = |text: &str| names.as_ref().map_or(text.to_string(), |names| names.of(text));
        let address = source.name();
        let scheme =
            address.split_once(':').map_or(String::new(), |(scheme, _)| format!("{scheme}:"));
        let shown = |query: &ObjectQuery| match query {
            ObjectQuery::Foreign(name) => ObjectQuery::Foreign(hashed(name)).to_string(),
            other => other.to_string(),
        };
        let queries: Vec<String> = options.queries.iter().map(shown).collect();
        let head = json!({
            "kind": "capture",
            "version": manifest::VERSION,
            "perfhive": env!("CARGO_PKG_VERSION"),
            "source": if options.hash_names { &scheme } else { address },
            "machine": hashed(&catalogue.machine),
            "system": options.system,
            "queries": queries,
            "interval": options.interval.map(|interval| interval.as_secs_f64()),
            "names": if options.hash_names { "hashed" } else { "plain" },
        });
        let mut capture = Self {
            folder: folder.to_path_buf(),
            manifest: Manifest::create(folder, &head)?,
            names,
            samples: 0,
            blocks: 0,
            bytes: 0,
            faults: Vec::new(),
        };
        for database in titles {
            capture.add_titles(&database)?;
        }
        for (language, error) in faults {
            let mut line = json!({ "kind": "titles-fault", "language": language.to_string() });
            if let (Value::Object(line), None) = (&mut line, &capture.names) {
                line.insert("message".to_string(), json!(error.message()));
            }
            capture.manifest.push(&line)?;
            let message = format!(
                "names in language {language} are not captured, or not all: {}",
                error.message()
            );
            capture.faults.push(SourceError::new(error.kind(), error.source_name(), message));
        }
        Ok(capture)
    }

    /// The errors of titles that could not be captured, one for each language that is missing or not complete. The
    /// manifest has them as well.
    #[must_use]
    pub fn faults(&self) -> &[SourceError] {
        &self.faults
    }

    fn add_titles(&mut self, database: &TitleDatabase) -> Result<(), SourceError> {
        let language = database.language();
        let mut line = json!({ "kind": "titles", "language": language.to_string() });
        for (what, list) in [("names", database.all()), ("help", database.all_help())] {
            let titles = list_of(&list);
            if titles.titles.is_empty() {
                continue;
            }
            let name = format!("{language}_{what}.bin");
            let bytes = titles.to_multi_sz();
            self.write(&name, &bytes)?;
            if let Value::Object(line) = &mut line {
                line.insert(what.to_string(), json!({ "file": name, "bytes": bytes.len() }));
            }
        }
        self.manifest.push(&line)
    }

    /// Writes a sample: the blocks of one or more answers that were taken together.
    ///
    /// # Errors
    /// If the sample cannot be written. The samples before it stay readable, and the capture can go on.
    pub fn add(&mut self, answers: &[&Snapshot]) -> Result<(), SourceError> {
        let (mut blocks, bytes) = (Vec::new(), self.bytes);
        let added = self.add_blocks(answers, &mut blocks);
        match added {
            Ok(()) => {
                self.samples += 1;
                self.blocks += blocks.len() as u64;
            }
            // The next sample gets the same names.
            Err(_) => {
                let names = blocks.iter().filter_map(|block| block["file"].as_str());
                names.for_each(|name| drop(fs::remove_file(self.folder.join(name))));
                self.bytes = bytes;
            }
        }
        added
    }

    /// Writes a sample; the entries of its files in the manifest are added to `blocks`.
    fn add_blocks(
        &mut self,
        answers: &[&Snapshot],
        blocks: &mut Vec<Value>,
    ) -> Result<(), SourceError> {
        let number = self.samples + 1;
        let frames = answers.iter().flat_map(|answer| answer.frames());
        for (place, frame) in (1..).zip(frames) {
            let name = format!("{number:06}_{place}.bin");
            let hashed = self.names.as_ref().map(|names| names.rewrite(frame));
            let bytes = hashed.as_deref().unwrap_or(frame.as_bytes());
            self.write(&name, bytes)?;
            let mut block = json!({
                "file": name,
                "bytes": bytes.len(),
                "objects": frame.object_count(),
            });
            if let (Value::Object(block), false) = (&mut block, frame.label().is_empty()) {
                block.insert("origin".to_string(), frame.label().into());
            }
            blocks.push(block);
        }
        let faults: Vec<Value> = answers
            .iter()
            .flat_map(|answer| answer.faults())
            .take(FAULTS)
            .map(|fault| {
                // A message may name a process, a file, a machine.
                let message = self.names.is_none().then(|| fault.to_string());
                json!({ "object": fault.object.map(|object| object.0), "message": message })
            })
            .collect();
        let time = answers.iter().find_map(|answer| answer.system_time());
        self.manifest.push(&json!({
            "kind": "sample",
            "number": number,
            "time": time.map(|time| time.to_string()),
            "blocks": blocks,
            "faults": faults,
        }))
    }

    /// Marks the capture as finished in the manifest.
    ///
    /// # Errors
    /// If the manifest cannot be written.
    pub fn finish(mut self) -> Result<(), SourceError> {
        let samples = self.samples;
        self.manifest.push(&json!({ "kind": "end", "samples": samples }))
    }

    /// The number of samples written so far.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The number of blocks written so far.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The number of bytes of blocks and titles written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), SourceError> {
        let path = self.folder.join(name);
        let failed = |cause: std::io::Error| write_error(&path, &cause);
        let mut file = File::create_new(&path).map_err(failed)?;
        if let Err(cause) = file.write_all(bytes) {
            drop(file);
            let _ = fs::remove_file(&path);
            return Err(failed(cause));
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

fn list_of(titles: &[(TitleIndex, &str)]) -> TitleList {
    // An empty text would end a list of strings.
    let titles = titles.iter().filter(|(_, text)| !text.is_empty());
    let titles = titles.map(|(index, text)| Title { index: *index, text: (*text).to_string() });
    TitleList::from(titles.collect::<Vec<_>>())
}

/// Makes the folder of a capture; an error if the folder exists and is not empty.
fn make_folder(folder: &Path) -> Result<(), SourceError> {
    match fs::create_dir_all(folder).and_then(|()| fs::read_dir(folder)?.next().transpose()) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => {
            let what = if is_capture(folder) { "holds a capture" } else { "is not empty" };
            let message = format!("{what}; a capture takes a folder of its own");
            let name = folder.display().to_string();
            Err(SourceError::new(SourceErrorKind::NotFound, &name, message))
        }
        Err(cause) => Err(write_error(folder, &cause)),
    }
}
