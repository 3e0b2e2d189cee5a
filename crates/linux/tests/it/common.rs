//! Frozen machines for the tests, and views of what is collected from them.

use perfhive_engine::{
    Ask, Collection, Fault, ObjectQuery, ObjectWriter, OpenContext, Provider, Session, TestLevel,
};
use perfhive_format::{
    BlockHead, BlockWriter, CounterPlan, DataBlock, Instance, PerfObject, TitleIndex,
};
use perfhive_linux::{LinuxClock, LinuxOptions, ProcRoot, ReaderChoice, providers_with};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A folder with a machine's `proc` and `sys`, which is removed when this is dropped.
pub(crate) struct Tree {
    folder: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-linux-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(folder.join("proc")).unwrap();
        let tree = Self { folder };
        tree.runs_for(1000);
        tree
    }

    /// Sets how many seconds the machine has run.
    pub(crate) fn runs_for(&self, seconds: u32) {
        self.file("uptime", format!("{seconds}.00 {seconds}.00\n"));
    }

    /// A machine with two processors, 4 GB of memory, and no process.
    pub(crate) fn machine() -> Self {
        let tree = Self::new();
        tree.file(
            "stat",
            "cpu  300 20 130 900 100 10 20 0 0 0\ncpu0 100 10 80 500 60 4 6 1 0 0\n\
             cpu1 200 10 50 400 40 6 14 2 0 0\nintr 5000 1 2 3\nctxt 123456\nbtime 1700000000\n\
             processes 99\nprocs_running 5\nprocs_blocked 0\n",
        );
        tree.file("loadavg", "0.50 0.40 0.30 5/321 4711\n");
        tree.file(
            "meminfo",
            "MemTotal:        4194304 kB\nMemFree:          524288 kB\n\
             MemAvailable:    2097153 kB\nBuffers:            1024 kB\n\
             Cached:           524288 kB\nSwapCached:            0 kB\n\
             Dirty:               128 kB\nShmem:              2048 kB\n\
             SUnreclaim:         4096 kB\nCommitLimit:     2097152 kB\n\
             Committed_AS:    1048576 kB\n",
        );
        tree.file("vmstat", "nr_free_pages 1\npgfault 4294967300\npgmajfault 77\n");
        tree.file(
            "interrupts",
            "            CPU0       CPU1       \n  0:         38          1  IO  timer\n\
             LOC:        100        200   Local timer interrupts\nERR:          7\n",
        );
        tree
    }

    /// Adds a process with every file that is read.
    pub(crate) fn process(&self, pid: u32, name: &[u8]) {
        self.file(&format!("{pid}/stat"), stat(pid, name, 1, 1));
        self.file(&format!("{pid}/statm"), "2000 500 100 10 0 300 0\n");
        self.file(
            &format!("{pid}/io"),
            "rchar: 1000\nwchar: 200\nsyscr: 30\nsyscw: 4\nread_bytes: 0\nwrite_bytes: 0\n",
        );
        self.file(
            &format!("{pid}/status"),
            "Name:\tx\nState:\tS (sleeping)\nVmPeak:\t    9000 kB\nVmHWM:\t    3000 kB\n\
             voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n",
        );
        self.thread(pid, pid, b'S');
    }

    /// Adds a thread to a process.
    pub(crate) fn thread(&self, pid: u32, tid: u32, state: u8) {
        let text = stat(tid, b"thread", 1, 1);
        let at = text.iter().rposition(|byte| *byte == b')').unwrap() + 2;
        let mut text = text;
        text[at] = state;
        self.file(&format!("{pid}/task/{tid}/stat"), &text);
        self.file(
            &format!("{pid}/task/{tid}/status"),
            "voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n",
        );
    }

    /// Writes a file below `proc`.
    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        self.write(&format!("proc/{path}"), text);
    }

    /// Writes a file below `sys`.
    pub(crate) fn sys(&self, path: &str, text: impl AsRef<[u8]>) {
        self.write(&format!("sys/{path}"), text);
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Removes a file or folder below `proc`.
    pub(crate) fn remove(&self, path: &str) {
        let path = self.folder.join("proc").join(path);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// The machine with its `proc` alone.
    pub(crate) fn root(&self) -> ProcRoot {
        ProcRoot::new(self.folder.join("proc"))
    }

    /// The machine with its `proc` and `sys`.
    pub(crate) fn frozen(&self) -> ProcRoot {
        ProcRoot::frozen(&self.folder)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The `stat` text of a process that used `pid` ticks in itself and 5 in the
/// kernel, and was started `pid` ticks after the machine.
pub(crate) fn stat(pid: u32, name: &[u8], parent: u32, threads: u32) -> Vec<u8> {
    let mut text = format!("{pid} (").into_bytes();
    text.extend_from_slice(name);
    text.extend_from_slice(
        format!(
            ") S {parent} {pid} {pid} 0 -1 4194560 100 9 7 9 {pid} 5 1 2 20 0 {threads} 0 {pid} \
             8192000 123 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n"
        )
        .as_bytes(),
    );
    text
}

/// The open providers of a machine, which can collect again and again.
pub(crate) struct Machine {
    providers: Vec<Arc<dyn Provider>>,
    sessions: Vec<Box<dyn Session>>,
    writer: BlockWriter,
    faults: Vec<Fault>,
    clock: LinuxClock,
}

impl Machine {
    /// The providers with the reader of `/proc`.
    pub(crate) fn new(root: &ProcRoot) -> Self {
        Self::with(root, &LinuxOptions::new().reader(ReaderChoice::Proc))
    }

    pub(crate) fn with(root: &ProcRoot, options: &LinuxOptions) -> Self {
        let providers = providers_with(root, options);
        let sessions = providers.iter().map(|p| p.open(&OpenContext::default()).unwrap()).collect();
        let clock = LinuxClock::of(root);
        Self { providers, sessions, writer: BlockWriter::new(), faults: Vec::new(), clock }
    }

    pub(crate) fn collect(&mut self, request: &Ask, wanted: &[TitleIndex]) {
        let (clocks, system_time) = self.clock.read();
        self.writer.start(&BlockHead {
            system_name: "machine",
            default_object: None,
            system_time,
            clocks,
        });
        self.faults.clear();
        let mut foreign = Vec::new();
        for (provider, session) in self.providers.iter().zip(&mut self.sessions) {
            let collection = Collection::new(request, wanted);
            let mut out = ObjectWriter::new(
                &mut self.writer,
                provider.name(),
                TestLevel::All,
                &mut self.faults,
                &mut foreign,
            );
            session.collect(&collection, &mut out).unwrap();
        }
        self.writer.finish();
    }

    /// Collects objects with these counters on request, each as (object, counter), and
    /// returns the block and the faults.
    pub(crate) fn look(&mut self, objects: &[u32], extra: &[(u32, u32)]) -> Look {
        let indexes: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
        let mut request = Ask::new(ObjectQuery::Indexes(indexes.clone()));
        request.extra_counters =
            extra.iter().map(|(o, c)| (TitleIndex(*o), TitleIndex(*c))).collect();
        self.look_with(&request, &indexes)
    }

    /// Collects by an ask, and returns the block and the faults.
    pub(crate) fn look_with(&mut self, request: &Ask, wanted: &[TitleIndex]) -> Look {
        self.collect(request, wanted);
        Look { block: self.writer.finish().to_vec(), faults: self.faults.clone() }
    }
}

/// A collected block and the faults of the collection.
pub(crate) struct Look {
    block: Vec<u8>,
    pub(crate) faults: Vec<Fault>,
}

impl Look {
    /// Opens the providers of a machine and collects once.
    pub(crate) fn at(root: &ProcRoot, objects: &[u32], extra: &[(u32, u32)]) -> Self {
        Machine::new(root).look(objects, extra)
    }

    pub(crate) fn block(&self) -> DataBlock<'_> {
        DataBlock::parse(&self.block).unwrap()
    }

    pub(crate) fn object(&self, object: u32) -> PerfObject<'_> {
        self.block().object(TitleIndex(object)).unwrap()
    }

    pub(crate) fn has(&self, object: u32) -> bool {
        self.block().object(TitleIndex(object)).is_some()
    }

    /// How many counters the object defines.
    pub(crate) fn counters(&self, object: u32) -> usize {
        self.object(object).counters().count()
    }

    pub(crate) fn names(&self, object: u32) -> Vec<String> {
        self.object(object).instances().map(|instance| instance.name().to_text()).collect()
    }

    /// The first instance with a name.
    pub(crate) fn instance(&self, object: u32, name: &str) -> Instance<'_> {
        let mut instances = self.object(object).instances();
        instances.find(|instance| instance.name().to_text() == name).unwrap()
    }

    /// The instance of Process with a process ID.
    pub(crate) fn process(&self, pid: u32) -> Option<Instance<'_>> {
        let is =
            |instance: &Instance<'_>| self.value_of(230, *instance, 784) == Some(u64::from(pid));
        self.object(230).instances().find(|instance| is(instance))
    }

    /// The value of a counter; `None` if the object does not define the counter or
    /// the instance does not have the value.
    pub(crate) fn value_of(
        &self,
        object: u32,
        instance: Instance<'_>,
        counter: u32,
    ) -> Option<u64> {
        let object = self.object(object);
        let place = object.counters().position(|c| c.name_index() == TitleIndex(counter))?;
        CounterPlan::new(object, place as u32)?.value(instance.counter_block()).ok()
    }

    /// The value of a counter of the first instance with a name.
    pub(crate) fn value(&self, object: u32, name: &str, counter: u32) -> Option<u64> {
        self.value_of(object, self.instance(object, name), counter)
    }

    /// The value of a counter of an object without instances.
    pub(crate) fn single(&self, object: u32, counter: u32) -> Option<u64> {
        let object = self.object(object);
        let definition = object.counters().find(|c| c.name_index() == TitleIndex(counter))?;
        object.counter_block()?.value(&definition).ok()
    }

    /// Object, instance and message of each fault.
    pub(crate) fn fault_texts(&self) -> Vec<String> {
        let text = |fault: &Fault| {
            let object = fault.object.map_or(0, |object| object.0);
            format!("{object}/{}: {}", fault.instance.as_deref().unwrap_or(""), fault.message)
        };
        self.faults.iter().map(text).collect()
    }
}

/// Waits until `is_so` returns true, for a minute at most: other programs may need the machine.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a child process runs the program and sleeps. `spawn` returns a moment
/// before the process has the program's name, and then it still opens its libraries.
pub(crate) fn wait_for_sleep(pid: u32, program: &str) {
    let asleep = format!("{pid} ({program}) S ");
    wait_until(&asleep, || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| s.starts_with(&asleep))
    });
}

/// Converts ticks of 1/100 s to 100 ns units.
pub(crate) fn units(ticks: u64) -> Option<u64> {
    Some(ticks * 100_000)
}
