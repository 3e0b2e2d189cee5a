//! Compiles providers, and reads them through a broker.

use perfhive_contract::{Registration, Registrations};
use perfhive_engine::{
    Ask, Broker, Fault, ProviderState, ProviderStatus, Snapshot, Source as _, TestLevel,
};
use perfhive_format::TitleIndex;
use perfhive_libraries::{ExtensionRoster, HostCommand, HostOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The object of the providers in zoo.c.
pub(crate) const OBJECT: TitleIndex = TitleIndex(50000);
/// The object of the good [`neighbour`]; beside it, the levels that it gives.
pub(crate) const NEIGHBOUR: TitleIndex = TitleIndex(52000);
const LEVELS: [u64; 2] = [70, 71];

/// A folder of one test, removed at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = format!("perfhive-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Compiles a source file of this crate into a library.
    pub(crate) fn compile(&self, source: &str) -> PathBuf {
        self.compile_as(source, "so", &["-shared", "-fPIC"])
    }

    /// Compiles a source file of this crate into a program.
    pub(crate) fn compile_program(&self, source: &str) -> PathBuf {
        self.compile_as(source, "", &[])
    }

    fn compile_as(&self, source: &str, extension: &str, options: &[&str]) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = root.join(source);
        let library = self.0.join(source.with_extension(extension).file_name().unwrap());
        let output = Command::new("cc")
            .args(["-std=gnu11", "-O1", "-g0", "-Wall", "-Wextra", "-Werror"])
            .args(["-Wno-infinite-recursion", "-Wno-array-bounds", "-Wno-stringop-overflow"])
            .args(options)
            .arg("-I")
            .arg(root.join("../contract/include"))
            .arg("-o")
            .args([&library, &source])
            .output()
            .expect("a C compiler is needed for this test: cc");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        library
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Lines for the system's log.
pub(crate) type Lines = Arc<Mutex<Vec<String>>>;

/// The program that libraries run in.
pub(crate) fn host() -> HostCommand {
    HostCommand::new(env!("CARGO_BIN_EXE_perfhive-host"))
}

/// The registration of a provider in zoo.c.
pub(crate) fn registration(library: &Path, kind: &str) -> Registration {
    let mut registration = Registration::new("Zoo", library, "CollectZoo");
    registration.open = Some("OpenZoo".to_string());
    registration.close = Some("CloseZoo".to_string());
    registration.linkage = Some(kind.to_string());
    registration.first_counter = OBJECT.0;
    registration.last_counter = OBJECT.0 + 200;
    registration.first_help = OBJECT.0 + 1;
    registration.last_help = OBJECT.0 + 201;
    registration
}

/// The registration of the example in C: a good neighbour of bad libraries, in the same
/// folder.
pub(crate) fn neighbour(folder: &Folder) -> Registration {
    let library = folder.0.join("gauges.so");
    if !library.exists() {
        folder.compile("examples/c/gauges.c");
    }
    let mut registration = Registration::new("Neighbour", library, "CollectGauges");
    registration.open = Some("OpenGauges".to_string());
    registration.close = Some("CloseGauges".to_string());
    (registration.first_counter, registration.last_counter) = (NEIGHBOUR.0, NEIGHBOUR.0 + 4);
    (registration.first_help, registration.last_help) = (NEIGHBOUR.0 + 1, NEIGHBOUR.0 + 5);
    registration.objects = vec![NEIGHBOUR];
    registration
}

/// A broker of one registration, and the lines that were logged.
pub(crate) fn broker(
    registration: Registration,
    change: impl FnOnce(HostOptions) -> HostOptions,
) -> Reader {
    broker_of(vec![registration], TestLevel::All, change)
}

pub(crate) fn broker_of(
    providers: Vec<Registration>,
    level: TestLevel,
    change: impl FnOnce(HostOptions) -> HostOptions,
) -> Reader {
    let mut registrations = Registrations::none();
    registrations.providers = providers;
    registrations.test_level = level;
    let lines = Lines::default();
    let sink = Arc::clone(&lines);
    let options = HostOptions::new()
        .host(host())
        .patience(Duration::from_secs(30))
        .log(move |provider, text| sink.lock().unwrap().push(format!("{provider}: {text}")));
    let mut news = Some(Arc::new(registrations));
    let roster = ExtensionRoster::new(move || news.take(), change(options));
    let broker = Broker::builder("test:", "HERE").test_level(level).roster(roster).build();
    Reader { broker, lines }
}

/// A broker, with what it logged.
pub(crate) struct Reader {
    pub(crate) broker: Broker,
    pub(crate) lines: Lines,
}

/// The result of one collection.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The number of instances of the zoo's object; `None` if the object is missing.
    pub(crate) instances: Option<usize>,
    pub(crate) faults: Vec<Fault>,
}

impl Reader {
    pub(crate) fn collect(&mut self, request: &Ask) -> (Snapshot, Vec<Fault>) {
        let mut snapshot = Snapshot::new();
        self.broker.collect(request, &mut snapshot).unwrap();
        let faults = snapshot.faults().to_vec();
        (snapshot, faults)
    }

    /// Collects once, and returns what the zoo's object shows.
    pub(crate) fn see(&mut self) -> Seen {
        let (snapshot, faults) = self.collect(&Ask::objects(&[OBJECT]));
        let object = snapshot.object(OBJECT);
        Seen { instances: object.map(|object| object.view().instances().count()), faults }
    }

    /// Collects once, as [`see`](Self::see), and checks that the neighbour's object is
    /// there as if it were alone.
    pub(crate) fn see_with_neighbour(&mut self) -> Seen {
        let (snapshot, faults) = self.collect(&Ask::objects(&[OBJECT, NEIGHBOUR]));
        let good = snapshot.object(NEIGHBOUR).expect("the good neighbour is read");
        let level = good.view().counters().next().unwrap();
        let levels = good.view().instances().map(|one| one.counter_block().value(&level).unwrap());
        assert_eq!(levels.collect::<Vec<_>>(), LEVELS);
        assert!(faults.iter().all(|fault| &*fault.provider != "Neighbour"), "{faults:?}");
        let object = snapshot.object(OBJECT);
        Seen { instances: object.map(|object| object.view().instances().count()), faults }
    }

    /// Checks that neither the state nor the log of the neighbour shows a fault.
    pub(crate) fn neighbour_is_sound(&self, kind: &str) {
        let status = self.broker.providers().find(|one| &*one.name == "Neighbour").unwrap();
        assert_eq!((status.state, status.faults), (ProviderState::Open, 0), "{kind}: {status:?}");
        assert_eq!(self.logged("Neighbour: "), 0, "{kind}: {:?}", self.lines());
    }

    /// The status of the zoo's provider.
    pub(crate) fn status(&self) -> ProviderStatus {
        let mut all = self.broker.providers();
        all.find(|one| &*one.name != "Neighbour").unwrap().clone()
    }

    pub(crate) fn state(&self) -> ProviderState {
        self.status().state
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The number of lines of the log that contain a text.
    pub(crate) fn logged(&self, text: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(text)).count()
    }
}
