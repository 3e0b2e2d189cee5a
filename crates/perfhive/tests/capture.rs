//! Captures: their values equal the live ones, an interrupted capture is valid, and no manifest
//! breaks the reader.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::format::{CounterSpec, ObjectSpec, ObjectTemplate};
use perfhive::provide::{Broker, Collection, Numbering, ObjectWriter};
use perfhive::recording::{Capture, CaptureOptions};
use perfhive::{
    Ask, Catalogue, CounterType, Identity, LanguageId, OpenOptions, Query, Snapshot, Source,
    SourceError, SourceErrorKind, TitleDatabase, TitleIndex, open,
};
use perfhive_testkit::script::ScriptProvider;
use perfhive_testkit::{conformance, real};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    /// A new path for the folder, which does not exist yet.
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-capture-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn address(&self) -> String {
        format!("file:{}", self.0.display())
    }

    fn edit(&self, file: &str, edit: impl FnOnce(String) -> String) {
        let path = self.0.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, edit(text)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A source that captures each of its answers.
struct Captured {
    source: Box<dyn Source>,
    capture: Arc<Mutex<Capture>>,
}

impl Captured {
    fn new(address: &str, folder: &Path, options: &CaptureOptions) -> Self {
        let mut source = open(address).unwrap();
        let capture = Capture::create(folder, &mut source, options).unwrap();
        Self { source, capture: Arc::new(Mutex::new(capture)) }
    }
}

impl Source for Captured {
    fn name(&self) -> &str {
        self.source.name()
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.source.collect(request, out)?;
        self.capture.lock().unwrap().add(&[out])
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.source.catalogue(&Ask::everything())
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        self.source.titles(language, &Ask::nothing())
    }
    fn recording(&mut self) -> Option<&mut dyn perfhive::Recording> {
        self.source.recording()
    }
}

/// The source of the machine that runs the tests.
const MACHINE: &str = if cfg!(windows) { "native:" } else { "proc:" };

const PATHS: [&str; 6] = [
    r"\Process(*)\% Processor Time",
    r"\Process(*)\Elapsed Time",
    r"\Process(*)\ID Process",
    r"\Processor(*)\% Idle Time",
    r"\System\System Up Time",
    r"\Thread(*)\ID Thread",
];

/// Every reading of two samples as text: identity, raw data and value, and with `names` its
/// names too.
fn readings(query: &mut Query, names: bool) -> Vec<String> {
    for path in PATHS {
        query.add(path).unwrap();
    }
    let mut all = Vec::new();
    for _ in 0..2 {
        query.collect().unwrap();
        for reading in query.readings() {
            let path = if names { query.path_of(reading).to_string() } else { String::new() };
            let identity = match &reading.identity {
                Some(Identity::Named { order, .. }) if !names => format!("{order}"),
                identity => format!("{identity:?}"),
            };
            all.push(format!("{path} {identity} {:?} {:?}", reading.raw, reading.value));
        }
    }
    all
}

#[cfg(any(target_os = "linux", windows))]
#[test]
fn values_of_a_capture_equal_the_live_ones() {
    for hash in [false, true] {
        let folder = Folder::new();
        let options = CaptureOptions::new().hash_names(hash);
        let source = Captured::new(MACHINE, &folder.0, &options);
        let live = readings(&mut Query::new(source).unwrap(), !hash);
        let mut query = Query::new(open(&folder.address()).unwrap()).unwrap();
        let replayed = readings(&mut query, !hash);
        assert_eq!(live, replayed);
        assert!(live.len() > 20 && live.iter().any(|line| line.contains("Ok(")));
        // The recording ends here.
        assert!(query.collect().is_err());
    }
}

#[cfg(any(target_os = "linux", windows))]
#[test]
fn a_capture_is_a_source_with_its_names() {
    let folder = Folder::new();
    let mut source = open(MACHINE).unwrap();
    let mut capture = Capture::create(&folder.0, &mut source, &CaptureOptions::new()).unwrap();
    let mut snapshot = Snapshot::new();
    for _ in 0..3 {
        source.collect(&Ask::new(perfhive::ObjectQuery::Global), &mut snapshot).unwrap();
        capture.add(&[&snapshot]).unwrap();
    }
    assert_eq!((capture.samples(), capture.blocks()), (3, 3));
    capture.finish().unwrap();
    conformance::source(|| open(&folder.address()).unwrap());
    conformance::source(|| Box::new(perfhive::Cached::new(open(&folder.address()).unwrap())));
    let mut replay = open(&folder.address()).unwrap();
    let was = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(replay.catalogue(&Ask::everything()).unwrap().languages, was.languages);
    for language in &was.languages {
        let (live, kept) = (
            source.titles(*language, &Ask::nothing()).unwrap(),
            replay.titles(*language, &Ask::nothing()).unwrap(),
        );
        assert_eq!((live.all(), live.all_help()), (kept.all(), kept.all_help()));
    }
}

/// A source whose objects come from another reader from the third sample on, as on Windows
/// where the registry breaks.
struct Breaking {
    readers: [Broker; 2],
    samples: usize,
}

impl Breaking {
    fn new() -> Self {
        let readers = ["registry", "native"].map(|label| {
            let names = [(230, "Process"), (12, "Reads/sec")];
            let spec = [CounterSpec::new(TitleIndex(12), CounterType::PERF_COUNTER_BULK_COUNT)];
            let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(230)), &spec).unwrap();
            let reads = AtomicU32::new(0);
            let script = move |_: &Collection<'_>, out: &mut ObjectWriter<'_>| {
                let reads = u64::from(reads.fetch_add(1, Ordering::Relaxed));
                out.object(&template)?.values(&[1000 * reads])?.finish()?;
                Ok(())
            };
            let provider = ScriptProvider::new(label, Numbering::Windows, &names, script);
            Broker::builder("local:", "HOST").provider(Arc::new(provider)).label(label).build()
        });
        Self { readers, samples: 0 }
    }
}

impl Source for Breaking {
    fn name(&self) -> &str {
        "local:"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.samples += 1;
        self.readers[usize::from(self.samples > 2)].collect(request, out)
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.readers[0].catalogue(&Ask::everything())
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        self.readers[0].titles(language, &Ask::nothing())
    }
}

#[test]
fn samples_of_two_readers_make_no_value_in_a_capture() {
    let folder = Folder::new();
    let mut source = Breaking::new();
    let mut capture = Capture::create(&folder.0, &mut source, &CaptureOptions::new()).unwrap();
    let mut snapshot = Snapshot::new();
    for _ in 0..4 {
        source.collect(&Ask::new(perfhive::ObjectQuery::Global), &mut snapshot).unwrap();
        capture.add(&[&snapshot]).unwrap();
    }
    capture.finish().unwrap();
    let manifest = std::fs::read_to_string(folder.0.join("manifest.jsonl")).unwrap();
    let of = |word| manifest.matches(&format!("\"origin\":\"{word}\"")).count();
    assert_eq!((of("registry"), of("native")), (2, 2), "{manifest}");
    let mut query = Query::new(open(&folder.address()).unwrap()).unwrap();
    query.add(r"\Process\Reads/sec").unwrap();
    let mut is_there = || {
        query.collect().unwrap();
        query.readings()[0].value.is_ok()
    };
    assert_eq!([is_there(), is_there(), is_there(), is_there()], [false, true, false, true]);
    let reader = perfhive::reader_of_processes(&folder.address());
    assert_eq!(reader.as_deref(), Some("processes from the registry's counters, as captured"));
    // An unknown word in the manifest is ignored.
    folder.edit("manifest.jsonl", |text| text.replace("\"registry\"", "\"\\u001b[2J\""));
    assert!(!perfhive::reader_of_processes(&folder.address()).unwrap().contains("registry"));
    folder.edit("manifest.jsonl", |text| text.replace("\"origin\"", "\"other\""));
    assert_eq!(perfhive::reader_of_processes(&folder.address()), None);
}

#[test]
fn capture_goes_on_after_a_sample_that_could_not_be_written() {
    let folder = Folder::new();
    let mut source = Breaking::new();
    let mut capture = Capture::create(&folder.0, &mut source, &CaptureOptions::new()).unwrap();
    let mut snapshot = Snapshot::new();
    source.collect(&Ask::new(perfhive::ObjectQuery::Global), &mut snapshot).unwrap();
    capture.add(&[&snapshot]).unwrap();
    let bytes = capture.bytes();
    // The second block of the sample has no place.
    let taken = folder.0.join("000002_2.bin");
    std::fs::create_dir(&taken).unwrap();
    capture.add(&[&snapshot, &snapshot]).unwrap_err();
    assert_eq!((capture.samples(), capture.blocks(), capture.bytes()), (1, 1, bytes));
    std::fs::remove_dir(&taken).unwrap();
    capture.add(&[&snapshot, &snapshot]).unwrap();
    capture.finish().unwrap();
    let mut source = open(&folder.address()).unwrap();
    assert_eq!(source.recording().unwrap().span().unwrap().samples, 2);
}

#[test]
fn manifest_with_hashed_names_tells_no_machine_and_no_address() {
    struct Named(Breaking);
    impl Source for Named {
        fn name(&self) -> &str {
            "secret-address"
        }
        fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
            self.0.collect(request, out)
        }
        fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            self.0.catalogue(ask)
        }
        fn titles(&mut self, of: LanguageId, ask: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
            self.0.titles(of, ask)
        }
    }
    let folder = Folder::new();
    let queries = [perfhive::ObjectQuery::Foreign("SECRETHOST".to_string())];
    let options = CaptureOptions::new().hash_names(true).queries(&queries);
    let capture = Capture::create(&folder.0, &mut Named(Breaking::new()), &options).unwrap();
    capture.finish().unwrap();
    let manifest = std::fs::read_to_string(folder.0.join("manifest.jsonl")).unwrap();
    assert!(manifest.contains("\"queries\":[\"Foreign h"), "{manifest}");
    assert!(!manifest.to_lowercase().contains("secret"), "{manifest}");
}

/// Captures two recorded samples of Windows into a folder. Returns `false` where the tests have no
/// recorded data.
fn vista(folder: &Folder, options: &CaptureOptions) -> bool {
    let Some(root) = real::root() else { return false };
    let file = |n: u32| root.join(format!("windows-vista/s{n:02}_global.bin"));
    let address = format!("file:{},{}", file(0).display(), file(1).display());
    let titles = root.join("titles/vista_009_from_pal_SampleLog.txt");
    let mut source = OpenOptions::new().titles(titles).open(&address).unwrap();
    let mut capture = Capture::create(&folder.0, &mut source, options).unwrap();
    let mut snapshot = Snapshot::new();
    while source.collect(&Ask::new(perfhive::ObjectQuery::Global), &mut snapshot).is_ok() {
        capture.add(&[&snapshot]).unwrap();
    }
    assert_eq!(capture.samples(), 2);
    capture.finish().unwrap();
    true
}

#[test]
fn hashed_names_contain_no_name_of_the_machine() {
    let (plain, hashed) = (Folder::new(), Folder::new());
    if !vista(&plain, &CaptureOptions::new())
        || !vista(&hashed, &CaptureOptions::new().hash_names(true))
    {
        return;
    }
    let values = |folder: &Folder| {
        let mut query = Query::new(open(&folder.address()).unwrap()).unwrap();
        query.add(r"\Process(*)\% Processor Time").unwrap();
        query.add(r"\PhysicalDisk(*)\% Disk Time").unwrap();
        query.collect().unwrap();
        query.collect().unwrap();
        let of = |reading: &perfhive::Reading| {
            (query.path_of(reading).to_string(), format!("{:?}", reading.value))
        };
        query.readings().iter().map(of).collect::<Vec<_>>()
    };
    let (plain_values, hashed_values) = (values(&plain), values(&hashed));
    assert_eq!(plain_values.len(), hashed_values.len());
    for ((plain, value), (hashed, same)) in plain_values.iter().zip(&hashed_values) {
        assert_eq!(value, same);
        let everywhere = ["svchost", "_Total", "Idle", "System", "lsass"];
        if everywhere.iter().any(|name| plain.contains(&format!("({name}"))) {
            assert_eq!(plain, hashed);
        } else if plain.contains("(PowerStarter") {
            assert!(hashed.contains("(h") && !hashed.contains("PowerStarter"), "{hashed}");
        }
    }
    let machine =
        open(&plain.address()).unwrap().catalogue(&Ask::everything()).unwrap().machine.clone();
    let secrets = [machine.as_str(), "PowerStarter"];
    for entry in std::fs::read_dir(&hashed.0).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            let wide = perfhive::format::encode_utf16(secret);
            let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
            assert!(!has(secret.as_bytes()) && !has(&wide), "{secret} in {}", path.display());
        }
    }
}

/// A machine with a damaged list of names.
#[test]
fn unreadable_names_are_faults_and_the_rest_is_captured() {
    struct Damaged(Breaking);
    impl Source for Damaged {
        fn name(&self) -> &str {
            "local:"
        }
        fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
            self.0.collect(request, out)
        }
        fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            self.0.catalogue(&Ask::everything())
        }
        fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
            Err(SourceError::new(SourceErrorKind::Malformed, "local:", "it is damaged"))
        }
    }
    let folder = Folder::new();
    let mut source = Damaged(Breaking::new());
    let mut capture = Capture::create(&folder.0, &mut source, &CaptureOptions::new()).unwrap();
    let [fault] = capture.faults() else { panic!("{:?}", capture.faults()) };
    assert!(fault.message().ends_with("it is damaged"), "{fault}");
    let mut snapshot = Snapshot::new();
    source.collect(&Ask::new(perfhive::ObjectQuery::Global), &mut snapshot).unwrap();
    capture.add(&[&snapshot]).unwrap();
    capture.finish().unwrap();
    let manifest = std::fs::read_to_string(folder.0.join("manifest.jsonl")).unwrap();
    assert!(manifest.contains(r#""kind":"titles-fault""#), "{manifest}");
    assert_eq!(
        open(&folder.address()).unwrap().catalogue(&Ask::everything()).unwrap().objects.len(),
        1
    );
}

#[test]
fn a_capture_into_the_folder_of_another_is_an_error() {
    let folder = Folder::new();
    if !vista(&folder, &CaptureOptions::new()) {
        return;
    }
    let before = std::fs::read(folder.0.join("manifest.jsonl")).unwrap();
    let mut source = open(&folder.address()).unwrap();
    let error = Capture::create(&folder.0, &mut source, &CaptureOptions::new()).unwrap_err();
    assert!(error.to_string().contains("holds a capture"), "{error}");
    assert_eq!(std::fs::read(folder.0.join("manifest.jsonl")).unwrap(), before);
    let other = Folder::new();
    std::fs::create_dir(&other.0).unwrap();
    std::fs::write(other.0.join("mine"), "x").unwrap();
    let error = Capture::create(&other.0, &mut source, &CaptureOptions::new()).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
    assert_eq!(std::fs::read_dir(&other.0).unwrap().count(), 1);
}

#[test]
fn an_interrupted_capture_has_the_samples_taken_so_far() {
    let folder = Folder::new();
    if !vista(&folder, &CaptureOptions::new()) {
        return;
    }
    let whole = std::fs::read_to_string(folder.0.join("manifest.jsonl")).unwrap();
    // Killed at any byte of the manifest: complete lines count.
    let samples: Vec<usize> =
        whole.match_indices("\"kind\":\"sample\"").map(|(at, _)| at).collect();
    let line_end = |at: usize| at + whole[at..].find('\n').unwrap() + 1;
    for end in (0..whole.len()).step_by(7).chain([line_end(samples[0]), whole.len()]) {
        folder.edit("manifest.jsonl", |_| whole[..end].to_string());
        let expected = samples.iter().filter(|at| line_end(**at) <= end).count();
        match open(&folder.address()) {
            Ok(mut source) => {
                let request = Ask::new(perfhive::ObjectQuery::Global);
                let mut snapshot = Snapshot::new();
                let count = (0..9).take_while(|_| source.collect(&request, &mut snapshot).is_ok());
                assert_eq!(count.count(), expected);
            }
            Err(error) => {
                assert_eq!(expected, 0, "{error}");
                assert_eq!(error.kind(), SourceErrorKind::Malformed);
            }
        }
    }
}

#[test]
fn every_manifest_is_read_or_an_error() {
    let folder = Folder::new();
    if !vista(&folder, &CaptureOptions::new()) {
        return;
    }
    let whole = std::fs::read_to_string(folder.0.join("manifest.jsonl")).unwrap();
    let first = "000001_1.bin";
    for (from, to, words) in [
        (first, "../x.bin", "cannot be part of a capture"),
        (first, "/etc/passwd", "cannot be part of a capture"),
        (first, "a\\\\b.bin", "cannot be part of a capture"),
        (first, ".hidden", "cannot be part of a capture"),
        (first, "000002_1.bin", "a second time"),
        (first, "gone.bin", "no such file, which the manifest beside it lists"),
        ("\"version\":1", "\"version\":2", "has version 2; this reads version 1"),
        ("\"kind\":\"capture\"", "\"kind\":\"x\"", "is not the beginning of a capture"),
        ("\"language\":\"009\"", "\"language\":\"none\"", "names no language"),
        ("\"blocks\":[", "\"blocks\":7,\"x\":[", "lists no blocks"),
        ("{\"blocks\"", "[{\"blocks\"", "line 3: is not JSON"),
        ("\"bytes\":", "\"bytes\":1", "by the capture's manifest: it was cut or changed"),
    ] {
        // The size of a block, not of a title list.
        let edited = match from {
            "\"bytes\":" => {
                let at = whole.find("\"blocks\"").unwrap();
                format!("{}{}", &whole[..at], whole[at..].replacen(from, to, 1))
            }
            _ => whole.replacen(from, to, 1),
        };
        assert_ne!(edited, whole, "{from}");
        folder.edit("manifest.jsonl", |_| edited);
        let error = open(&folder.address()).err().unwrap().to_string();
        assert!(error.contains(words), "{to}: {error}");
    }
    // Lines of later versions, and repeated without end.
    folder.edit("manifest.jsonl", |_| format!("{whole}{{\"kind\":\"later\"}}\n[]\n7\n"));
    assert!(open(&folder.address()).is_ok());
    // A pipe, which would wait for ever, is not read.
    #[cfg(unix)]
    {
        let pipe = folder.0.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let edited = whole.replacen(first, "pipe", 1);
        folder.edit("manifest.jsonl", |_| edited);
        let error = open(&folder.address()).err().unwrap().to_string();
        assert!(error.contains("is not a file"), "{error}");
        std::fs::write(folder.0.join("manifest.jsonl"), &whole).unwrap();
    }
    // A path that is not a folder.
    std::fs::remove_file(folder.0.join("manifest.jsonl")).unwrap();
    let error = open(&folder.address()).err().unwrap().to_string();
    assert!(error.contains("without a capture's manifest"), "{error}");
}
