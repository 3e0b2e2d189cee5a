//! A folder of its own for each test, a broker that reads it, and processes.

use perfhive_engine::*;
use perfhive_format::{BaseColumn, CounterPlan, LanguageId, TitleIndex};
use perfhive_shm::{
    CategoryBuilder, CounterDeclaration, CounterType, PublishedCategory, PublishedCounters,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A folder that is removed in the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-shm-test-{}-{count}", std::process::id());
        let memory = if cfg!(windows) { std::env::temp_dir() } else { "/dev/shm".into() };
        let folder = memory.join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes over a part of a file.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) {
    #[cfg(unix)]
    let written = std::os::unix::fs::FileExt::write_at(file, bytes, offset);
    #[cfg(windows)]
    let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset);
    assert_eq!(written.unwrap(), bytes.len());
}

/// Puts a file into a folder and holds its lock, as the publishing process would.
pub(crate) fn put(folder: &Folder, name: &str, bytes: &[u8]) -> File {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

pub(crate) const COUNT: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
pub(crate) const AVERAGE: CounterType = CounterType::PERF_AVERAGE_BULK;

/// A category of one number and one average.
pub(crate) fn shop(folder: &Folder) -> CategoryBuilder {
    PublishedCategory::builder("Web Shop")
        .help("A shop.")
        .counter(CounterDeclaration::new("Orders", COUNT).help("How many."))
        .counter(CounterDeclaration::new("Avg. Bytes/Order", AVERAGE))
        .folder(folder.path())
}

/// Another category, without instances, whose counter is 7.
pub(crate) fn zoo(folder: &Folder) -> PublishedCategory {
    let counter = CounterDeclaration::new("Animals", COUNT);
    let zoo =
        PublishedCategory::builder("Zoo").counter(counter).folder(folder.path()).publish().unwrap();
    zoo.counter("Animals").unwrap().set(7);
    zoo
}

pub(crate) struct Reader {
    pub(crate) broker: Broker,
    pub(crate) snapshot: Snapshot,
}

/// Raw values by instance; a category without instances has one without a name. `None` is a missing
/// value.
pub(crate) type Rows = Vec<(String, Vec<Option<(u64, Option<u64>)>>)>;

impl Reader {
    pub(crate) fn new(folder: &Folder) -> Self {
        Self::of(folder, |counters| counters, |broker| broker)
    }

    /// A reader with other limits.
    pub(crate) fn of(
        folder: &Folder,
        counters: impl FnOnce(PublishedCounters) -> PublishedCounters,
        broker: impl FnOnce(BrokerBuilder) -> BrokerBuilder,
    ) -> Self {
        let published = PublishedCounters::in_folder(folder.path()).every(Duration::ZERO);
        let builder = Broker::builder("test:", "HOST").roster(counters(published));
        Self { broker: broker(builder).build(), snapshot: Snapshot::new() }
    }

    /// All objects, by name.
    pub(crate) fn read(&mut self) -> BTreeMap<String, Rows> {
        self.broker.collect(&Ask::new(ObjectQuery::Global), &mut self.snapshot).unwrap();
        let titles = self.broker.titles(LanguageId::ENGLISH, &Ask::nothing());
        let mut objects = BTreeMap::new();
        for object in self.snapshot.objects() {
            let view = object.view();
            let plans: Vec<_> = CounterPlan::all(view)
                .into_iter()
                .filter(|plan| !plan.counter_type.is_base())
                .collect();
            let row = |block| -> Vec<_> {
                plans
                    .iter()
                    .map(|plan| {
                        let base = match plan.base {
                            BaseColumn::At(column) => column.read(block),
                            _ => None,
                        };
                        Some((plan.value(block).ok()?, base))
                    })
                    .collect()
            };
            let mut rows = Rows::new();
            if let Some(block) = view.counter_block() {
                rows.push((String::new(), row(block)));
            }
            for instance in view.instances() {
                rows.push((instance.name().to_text().to_string(), row(instance.counter_block())));
            }
            // The publisher may have ended meanwhile.
            if let Some(name) = titles.as_ref().ok().and_then(|t| t.name(view.name_index())) {
                objects.insert(name.to_string(), rows);
            }
        }
        objects
    }

    /// The instances of one object.
    pub(crate) fn rows(&mut self, name: &str) -> Rows {
        self.read().remove(name).unwrap_or_default()
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        self.snapshot.faults().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn index(&mut self, name: &str) -> Option<TitleIndex> {
        let titles = self.broker.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
        let catalogue = self.broker.catalogue(&Ask::everything()).unwrap();
        let mut indexes = catalogue.objects.iter().map(|object| object.name);
        indexes.find(|index| titles.name(*index) == Some(name))
    }
}

const ROLE: &str = "PERFHIVE_SHM_ROLE";
const FOLDER: &str = "PERFHIVE_SHM_FOLDER";

/// This process's role and folder, if a test started it.
pub(crate) fn role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, std::env::var_os(FOLDER)?.into()))
}

/// A process that runs a test of this program in another role. It is killed when
/// this is dropped.
pub(crate) struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn start(test: &str, role: &str, folder: &Folder) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(FOLDER, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self::of(child)
    }

    /// The same as another user, in the default folder. Only root can do that, and only if the user
    /// may run this program.
    #[cfg(unix)]
    pub(crate) fn start_as(test: &str, user: u32) -> Option<Self> {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(ROLE, "other")
            .env(FOLDER, "/")
            .env_remove("PERFHIVE_COUNTERS")
            .current_dir("/")
            .uid(user)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        child.ok().map(Self::of)
    }

    /// A process whose output is piped.
    pub(crate) fn of(mut child: Child) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for a line that begins with `>`; returns the rest of it.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let length = self.lines.read_line(&mut line).unwrap();
            assert!(length > 0, "the process ended");
            if let Some((_, text)) = line.split_once('>') {
                return text.trim().to_string();
            }
        }
    }

    #[cfg(unix)]
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends its input and waits for its end.
    pub(crate) fn finish(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells the parent process, and waits until it closes this one's input.
pub(crate) fn tell_and_wait(text: &str) {
    println!("\n>{text}");
    let _ = std::io::stdin().read_line(&mut String::new());
}
